//! A home that is `/`, as for a user whom a container's image does not know: what a home has closed is closed there,
//! and commands have another one.

use serde_json::{Value, json};

use crate::program::{Place, Run};
use crate::skipped::skipped;

/// A root folder with what the machine has, and with the home's files.
const ROOT: &str = "set -e
PATH=$PATH:/usr/sbin:/sbin
mount -t tmpfs -o mode=755 none /mnt
cd /mnt
for name in /*; do
    case $name in
        /mnt) ;;
        *) if [ -L $name ]; then cp -P $name .; elif [ -d $name ]; then mkdir .$name; mount --rbind $name .$name; fi ;;
    esac
done
mkdir -p old .ssh .docker .config/gh .local/state
for file in .ssh/id_rsa .docker/config.json .config/gh/hosts.yml .netrc .bash_history; do echo PRIVATE > $file; done
printf '[user]\\n\\tname = Ada\\n' > .gitconfig
printf 'registry=https://own.example/\\n//own.example/:_authToken=PRIVATE\\n' > .npmrc
pivot_root . old
umount -l /old
rmdir /old
cd \"$1\"
shift
export HOME=/
exec \"$@\"";

/// Runs calls in the workspace; nothing if there can be no other root folder here.
fn results(place: &Place, tier: &str, calls: &[(&str, Value)]) -> Option<Vec<String>> {
    let as_root = rustix::process::geteuid().is_root();
    let flags = if as_root { ["-m"].as_slice() } else { ["-Urm"].as_slice() };
    let (shell, work) = (["sh", "-c", ROOT, "sh"], place.path("work").display().to_string());
    let started = |command: &[&str]| {
        let arguments = [flags, &shell, &[&work], command].concat();
        place.program("unshare", &arguments).output().unwrap()
    };
    if !started(&["true"]).status.success() {
        skipped("no root folder of one's own can be had here");
        return None;
    }
    let call = |(name, arguments): &(&str, Value)| json!({"calls": [{"name": name, "arguments": arguments}]});
    let turns = calls.iter().map(call).chain([json!({"text": "Done."})]).collect();
    let (program, model) = (env!("CARGO_BIN_EXE_tenon"), place.script(turns));
    let session = [
        program,
        "-p",
        "--output-format",
        "stream-json",
        "--sandbox",
        tier,
        "--model",
        &model,
        "go",
    ];
    let run = Run::of(started(&session)).ends_with(0);
    let events = run.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let results = events.filter(|event| event["type"] == "tool_result");
    Some(results.map(|event| event["content"].as_str().unwrap().to_owned()).collect())
}

#[test]
fn what_is_closed_in_a_home_is_closed_in_the_root_folder() {
    const LOOK: &str = "exec 2>&1; find /.ssh /.docker /.config /.local /.netrc /.npmrc /.bash_history -type f -exec cat {} +
        ls -A /.ssh /.config/gh /.config/tenon /.local/state/tenon; echo end";
    const WORK: &str = "exec 2>&1; pwd; echo \"home $HOME\"; cat ~/.npmrc; git config user.name; ls -A ~; echo made > ~/made && cat ~/made";
    let can_enclose =
        std::path::Path::new("/usr/bin/bwrap").exists() && rustix::process::geteuid().is_root();
    for tier in ["a", "b", "c"] {
        if tier == "b" && !can_enclose {
            skipped("tier B needs bubblewrap, and root to mount");
            continue;
        }
        let place = Place::new();
        let bash = |command: &str| ("bash", json!({ "command": command }));
        let calls = [bash(LOOK), bash(WORK), bash("cat ~/made; seq 20000")];
        let Some(found) = results(&place, tier, &calls) else { return };
        let all = found.concat();
        assert!(!all.contains("PRIVATE") && !all.contains("running"), "{tier}: {all}");
        assert!(found[0].contains("end\n"), "{tier}: {all}");
        assert!(found[1].contains("Ada\n") && found[1].contains("made\n"), "{tier}: {all}");
        assert!(
            found[1].contains("own.example") && !found[1].contains("home /\n"),
            "{tier}: {all}"
        );
        assert!(found[2].starts_with("made\n"), "{tier}: {all}");
    }
}
