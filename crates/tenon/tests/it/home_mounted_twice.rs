//! A home that is mounted at two places, as by `/etc/fstab`, an automounter or an immutable system: what holds for it
//! holds by both paths.

use serde_json::{Value, json};

use crate::program::{Place, Run};
use crate::skipped::skipped;

/// The home of the session is `/home/ada`, from `/srv/data/home`, but for its `.ssh`, which comes from `/srv/keys`.
const MOUNTED: &str = "set -e
mount -t tmpfs none /srv
mkdir -p /srv/data/home/ada/.ssh /srv/data/home/ada/.cargo/bin /srv/data/home/ada/.config /srv/data/home/ada/w /srv/keys /srv/w
mkdir -p /srv/data/home/bob
for file in data/home/ada/.netrc keys/id_rsa data/home/bob/diary; do echo PRIVATE > /srv/$file; done
for file in .bashrc .cargo/bin/cargo w/a; do echo own > /srv/data/home/ada/$file; done
mount --bind /srv/data/home /home
mount --bind /srv/keys /home/ada/.ssh
mkdir /srv/bob /srv/below
mount --bind /home/bob /srv/bob
mkdir -p /srv/below/home
mount -t tmpfs none /srv/below/home
mount --bind /srv/data /srv/below
mkdir -p /srv/persist/state/tenon /srv/persist/config/tenon /srv/data/home/ada/.local/state
mkdir -p /srv/persist/config/autostart
echo own > /srv/persist/config/autostart/a
mount --bind /srv/persist/state /home/ada/.local/state
mount --bind /srv/persist/config /home/ada/.config
export HOME=/home/ada
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_DATA_HOME
cd \"$1\"
shift
status=0; \"$@\" || status=$?
on_disk=$(cat /home/ada/.bashrc /home/ada/.cargo/bin/cargo /home/ada/.config/autostart/* | tr '\\n' ' ')
echo \"on disk: $on_disk$(cat /home/ada/.config/tenon/* /home/ada/.local/state/tenon/evil 2> /dev/null)\" >&2
exit $status";

/// Runs a command in `folder`, between the mounts; nothing if nothing can be mounted here.
fn mounted(place: &Place, folder: &str, command: &[&str]) -> Option<Run> {
    let as_root = rustix::process::geteuid().is_root();
    let flags_of_unshare = if as_root { ["-m"].as_slice() } else { ["-Urm"].as_slice() };
    let probe = [flags_of_unshare, &["sh", "-c", "mount -t tmpfs none /mnt"]].concat();
    if !place.program("unshare", &probe).output().is_ok_and(|run| run.status.success()) {
        skipped("no mount namespace can be had here");
        return None;
    }
    let arguments = [flags_of_unshare, &["sh", "-c", MOUNTED, "sh", folder], command].concat();
    Some(Run::of(place.program("unshare", &arguments).output().unwrap()))
}

fn script(place: &Place, calls: &[(&str, Value)]) -> String {
    let call = |(name, arguments): &(&str, Value)| json!({"calls": [{"name": name, "arguments": arguments}]});
    place.script(calls.iter().map(call).chain([json!({"text": "Done."})]).collect())
}

/// Runs calls in `folder`; nothing if nothing can be mounted here.
fn run(place: &Place, folder: &str, flags: &[&str], calls: &[(&str, Value)]) -> Option<Run> {
    let (program, model) = (env!("CARGO_BIN_EXE_tenon"), script(place, calls));
    let session = [program, "-p", "--output-format", "stream-json", "--model", &model, "go"];
    mounted(place, folder, &[&session, flags].concat()).map(|run| run.ends_with(0))
}

fn results(run: &Run) -> Vec<String> {
    let events = run.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let results = events.filter(|event| event["type"] == "tool_result");
    results.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({ "command": command }))
}

/// To a user who makes mounts in a namespace of users, bubblewrap is nobody's, and not taken.
fn tiers() -> &'static [&'static str] {
    let can_enclose =
        std::path::Path::new("/usr/bin/bwrap").exists() && rustix::process::geteuid().is_root();
    if can_enclose {
        return &["a", "b", "c"];
    }
    skipped("tier B needs bubblewrap, and root to mount");
    &["a", "c"]
}

#[test]
fn commands_read_homes_and_keys_by_neither_path() {
    let place = Place::new();
    let look = "cat /home/ada/.ssh/id_rsa /srv/keys/id_rsa /home/ada/.netrc /srv/data/home/ada/.netrc /home/bob/diary \
                /srv/data/home/bob/diary /srv/bob/diary /srv/below/home/ada/.netrc /srv/below/home/bob/diary; ls /srv/data/home /srv/data/home/ada; cat a";
    for tier in tiers() {
        let Some(run) = run(&place, "/home/ada/w", &["--sandbox", tier], &[bash(look)]) else {
            return;
        };
        let found = results(&run).concat();
        assert!(found.contains("own") && !found.contains("PRIVATE"), "{tier}: {found}");
        assert!(!found.contains(".netrc\n") && !found.contains("diary\n"), "{tier}: {found}");
    }
}

#[test]
fn a_folder_of_the_home_is_that_folder_by_its_other_path_too() {
    let place = Place::new();
    let write = |path: &str| ("write_file", json!({"path": path, "content": "EVIL"}));
    let calls = [
        ("read_file", json!({"path": ".ssh/id_rsa"})),
        ("read_file", json!({"path": ".netrc"})),
        ("grep", json!({"pattern": "PRIVATE"})),
        write(".bashrc"),
        write(".cargo/bin/cargo"),
        write(".config/tenon/config.toml"),
        bash("cat .ssh/id_rsa .netrc; echo EVIL >> .bashrc; echo EVIL >> .cargo/bin/cargo; pwd"),
    ];
    for folder in ["/srv/data/home/ada", "/srv/below/home/ada", "/home/ada"] {
        let Some(run) = run(&place, folder, &[], &calls) else { return };
        let found = results(&run);
        assert!(!found.concat().contains("PRIVATE"), "{folder}: {found:?}");
        assert!(found[6].contains("/home/ada\n"), "{folder}: {found:?}");
        for refused in [&found[0], &found[1], &found[3], &found[4], &found[5]] {
            assert!(refused.contains("--allow"), "{folder}: {refused}");
        }
        assert!(run.error.contains("on disk: own own own \n"), "{folder}: {}", run.error);
    }
    // What lies in it keeps the path that it was named by.
    let here = bash("pwd; cat /srv/data/home/ada/w/a; cat /home/ada/.netrc ../.netrc 2> /dev/null");
    for (folder, flags) in
        [("/srv/data/home/ada/w", &[][..]), ("/srv/w", &["--add-dir", "/srv/data/home/ada/w"])]
    {
        let Some(run) = run(&place, folder, flags, std::slice::from_ref(&here)) else { return };
        let found = results(&run).concat();
        assert!(found.contains(&format!("{folder}\nown\n")), "{found}");
        assert!(!found.contains("PRIVATE"), "{found}");
    }
    let added = ["--add-dir", "/srv/data/home/ada"];
    let Some(run) =
        run(&place, "/srv/w", &added, &[bash("cat /home/ada/.netrc; cd /home/ada; pwd")])
    else {
        return;
    };
    let found = results(&run).concat();
    assert!(found.contains("/home/ada\n") && !found.contains("PRIVATE"), "{found}");
}

#[test]
fn a_workspace_around_the_home_by_its_other_path_has_it_closed() {
    let place = Place::new();
    let calls = [
        ("read_file", json!({"path": "data/home/ada/.netrc"})),
        ("read_file", json!({"path": "keys/id_rsa"})),
        ("write_file", json!({"path": "data/home/ada/.bashrc", "content": "EVIL"})),
        ("grep", json!({"pattern": "PRIVATE"})),
        bash(
            "cat data/home/ada/.netrc keys/id_rsa; echo EVIL >> data/home/ada/.bashrc; echo b > w/b; cat w/b",
        ),
    ];
    let Some(run) = run(&place, "/srv", &["--sandbox", "a"], &calls) else { return };
    let found = results(&run);
    for refused in &found[..3] {
        assert!(refused.contains("is where programs keep secrets"), "{refused}");
    }
    assert!(!found[3].contains("netrc") && !found[3].contains("id_rsa"), "{found:?}");
    assert!(found[4].contains("b\n") && !found[4].contains("PRIVATE"), "{found:?}");
    assert!(run.error.contains("on disk: own own own \n"), "{}", run.error);
}

#[test]
fn a_replay_copies_a_home_without_secrets_by_its_other_path_too() {
    let place = Place::new();
    let model =
        script(&place, &[bash("cat .netrc a .ssh/id_rsa; find -name id_rsa -o -name log; pwd")]);
    let replayed = "\"$0\" -p --model \"$1\" go > /dev/null
        log=$(find \"$HOME/.local/state/tenon/sessions\" -name '*.jsonl')
        sed \"s#\\\"/srv/w\\\"#\\\"$2\\\"#\" \"$log\" > foreign.jsonl
        cmp -s \"$log\" foreign.jsonl && exit 7
        \"$0\" replay foreign.jsonl";
    for named in ["/srv/data/home/ada", "/srv"] {
        let command = ["sh", "-c", replayed, env!("CARGO_BIN_EXE_tenon"), &model, named];
        let Some(run) = mounted(&place, "/srv/w", &command) else { return };
        assert!(!run.out.contains("PRIVATE") && !run.error.contains("PRIVATE"), "{named}: {run:?}");
        assert!(run.error.contains(".ssh was left out") || named == "/srv", "{named}: {run:?}");
        assert!(run.error.contains("was left out"), "{named}: {run:?}");
    }
}

#[test]
fn what_is_tenons_own_is_closed_where_it_comes_from_a_folder_of_the_workspace() {
    let place = Place::new();
    let forge = "for file in state/tenon/evil config/tenon/config.toml config/autostart/a; do echo EVIL >> $file; done; \
                 rm -rf state/tenon/own; echo b > b; cat b";
    let write = |path: &str| ("write_file", json!({"path": path, "content": "EVIL"}));
    let calls = [
        bash(forge),
        write("state/tenon/evil"),
        write("config/tenon/config.toml"),
        write("config/autostart/a"),
    ];
    for tier in tiers().iter().filter(|tier| **tier != "c") {
        let Some(run) = run(&place, "/srv/persist", &["--sandbox", tier], &calls) else { return };
        let found = results(&run);
        assert!(found[0].contains("b\n"), "{tier}: {found:?}");
        assert!(!found.iter().any(|result| result.starts_with("Wrote ")), "{tier}: {found:?}");
        assert!(run.error.contains("on disk: own own own \n"), "{tier}: {run:?}");
    }
    // Where nothing can be put on top of anything, no command runs.
    let (program, model) = (env!("CARGO_BIN_EXE_tenon"), script(&place, &calls));
    for folder in ["/srv/persist", "/srv"] {
        let command = [program, "-p", "--model", &model, "--sandbox", "c", "go"];
        let Some(run) = mounted(&place, folder, &command) else { return };
        assert!(run.status == 3 && run.error.contains("on disk: own own own \n"), "{run:?}");
    }
    let config = "/srv/persist/config/tenon/config.toml";
    let flags = ["--allow", "write(/srv/**)", "--allow", &format!("write({config})")];
    let Some(run) = run(&place, "/home/ada/w", &flags, &[write(config)]) else { return };
    assert!(!results(&run)[0].starts_with("Wrote "), "{run:?}");
    assert!(run.error.contains("on disk: own own own \n"), "{run:?}");
}
