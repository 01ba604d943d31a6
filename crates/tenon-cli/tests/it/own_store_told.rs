//! Where the workspace is on a mount of its own, what undo keeps lies in it: a command that would change that is
//! told so, in every tier, and it is no folder of a session.

use serde_json::{Value, json};

use crate::{
    program::{Place, Run},
    skipped::skipped,
    undo::bash,
};

/// Runs `$2…` in the folder `$1`, which is a mount of its own there.
const ON_A_MOUNT: &str =
    "mount --bind \"$1\" \"$1\" && cd \"$1\" && echo mounted && shift && exec \"$@\"";

/// Runs the program where its workspace is a mount of its own; nothing if there can be none here.
fn on_a_mount(place: &Place, arguments: &[&str]) -> Option<Run> {
    let namespace = if rustix::process::geteuid().is_root() { "-m" } else { "-Urm" };
    let work = place.path("work").display().to_string();
    let program = [namespace, "sh", "-c", ON_A_MOUNT, "sh", &work, env!("CARGO_BIN_EXE_tenon")];
    let mut run =
        Run::of(place.program("unshare", &[&program, arguments].concat()).output().unwrap());
    let Some(out) = run.out.strip_prefix("mounted\n") else {
        skipped(format_args!("no mount namespace can be had here: {run:?}"));
        return None;
    };
    run.out = out.to_owned();
    Some(run)
}

#[test]
fn a_change_of_tenons_own_store_in_the_workspace_is_told_as_such_in_every_tier() {
    let commands = [
        "rm -rf .tenon/undo",
        "rm -rf .tenon",
        "cd .tenon && rm -r undo",
        "mkdir .tenon/undo/zzz",
        "echo x > .tenon/undo/x",
        "rmdir \"$PWD/.tenon/undo\"",
        "mv .tenon/undo u",
        "chmod 777 .tenon/undo",
    ];
    for tier in ["a", "b", "c"] {
        let place = Place::new();
        let mut turns = vec![bash("echo a > a")];
        turns.extend(commands.map(bash));
        turns.push(json!({"text": "Done."}));
        let script = place.script(turns.into());
        let flags = ["-p", "--sandbox", tier, "--allow", "bash", "--output-format", "stream-json"];
        let arguments = [&flags[..], &["--model", &script, "go"]].concat();
        let Some(run) = on_a_mount(&place, &arguments) else { return };
        if run.status == 3 {
            skipped(format_args!("tier {tier} cannot be had here"));
            continue;
        }
        let events = run.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let results: Vec<Value> = events.filter(|event| event["type"] == "tool_result").collect();
        assert_eq!(results.len(), 1 + commands.len(), "{run:?}");
        let own = format!(
            "[walls] files: {}/.tenon/undo",
            place.path("work").canonicalize().unwrap().display()
        );
        let why = " is tenon's own and closed to commands; no rule or --add-dir opens it, --sandbox off would";
        for (command, result) in commands.iter().zip(&results[1..]) {
            let told = result["content"].as_str().unwrap();
            let walls: Vec<&str> =
                told.lines().filter(|line| line.starts_with("[walls]")).collect();
            let is_own = |line: &str| line.starts_with(&own) && line.ends_with(why);
            assert!(walls.len() == 1 && is_own(walls[0]), "{tier} {command}: {told}");
        }
    }
}

#[test]
fn tenons_own_store_is_no_folder_of_a_session() {
    let place = Place::new();
    let script = place.script(json!([{"text": "Done."}]));
    std::fs::create_dir_all(place.path("work/.tenon/undo/x")).unwrap();
    for folder in [".tenon/undo", ".tenon/undo/x"] {
        let path = place.path("work").canonicalize().unwrap().join(folder).display().to_string();
        for flag in ["--add-dir", "--cwd"] {
            let run = place.run(&["-p", "--model", &script, flag, &path, "go"]).ends_with(2);
            let said =
                format!("error: the workspace cannot be opened: Closed: {path} is tenon's own\n");
            assert_eq!(run.error, said, "{flag}");
        }
    }
    place.run(&["-p", "--model", &script, "--add-dir", ".tenon", "go"]).ends_with(0);
}
