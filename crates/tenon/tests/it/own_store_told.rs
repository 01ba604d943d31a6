//! Where the workspace is on a mount of its own, what undo keeps lies in it: a command that would change that is
//! told so in the tiers with namespaces, and none runs in the other. It is no folder of a session.

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

/// Runs the commands in each tier; all of them are told of a change of tenon's own, or none is told anything.
fn check(commands: &[&str], is_told: bool) {
    for tier in ["a", "b"] {
        let place = Place::new();
        let mut turns = vec![bash("echo a > a")];
        turns.extend(commands.iter().copied().map(bash));
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
            if told.contains("command not found") {
                skipped(format_args!("not installed: {command}"));
                continue;
            }
            let walls: Vec<&str> =
                told.lines().filter(|line| line.starts_with("[walls]")).collect();
            let is_own = |line: &str| line.starts_with(&own) && line.ends_with(why);
            let is_right = match is_told {
                true => walls.len() == 1 && is_own(walls[0]),
                false => walls.is_empty(),
            };
            assert!(is_right, "{tier} {command}: {told}");
        }
    }
}

#[test]
fn a_change_of_tenons_own_store_in_the_workspace_is_told_as_such() {
    let commands = [
        "rm -rf .tenon/undo",
        "rm -rf .tenon",
        "cd .tenon && rm -r undo",
        "mkdir .tenon/undo/zzz",
        "echo x > .tenon/undo/x",
        "rmdir \"$PWD/.tenon/undo\"",
        "mv .tenon/undo u",
        "chmod 777 .tenon/undo",
        "mv .tenon t2",
        "touch .tenon",
        "mv a .tenon/undo",
        "/usr/bin/python3 -c 'import shutil; shutil.rmtree(\".tenon/undo\")'",
        "/usr/bin/python3 -c 'import shutil; shutil.rmtree(\".tenon\")'",
        "/usr/bin/python3 -c 'import os; os.rename(\".tenon\", \"t2\")'",
    ];
    check(&commands, true);
}

#[test]
fn a_change_of_tenons_own_store_is_told_also_where_nothing_says_so_and_no_quote_of_it_is() {
    let commands = [
        "rm -rf .tenon/undo 2>/dev/null",
        "rm -rf .tenon 2>/dev/null; true",
        "cd .tenon && rm -rf undo 2>/dev/null",
        "mv .tenon t2 2>/dev/null",
        "echo x 2>/dev/null > .tenon/undo/x",
        "perl -e 'rename(\".tenon\", \"t2\") or exit 1'",
        "/usr/bin/python3 -c 'import shutil; shutil.rmtree(\".tenon/undo\", ignore_errors=True)'",
        "/usr/bin/python3 -c 'import shutil; shutil.rmtree(\".tenon\", ignore_errors=True)'",
    ];
    check(&commands, true);
    let commands = [
        "echo \"mv: cannot move '.tenon' to 't2': Permission denied\" >&2; false",
        "echo \"PermissionError: [Errno 13] Permission denied: 'undo'\" > log; cat log",
        "mkdir .tenon 2>/dev/null; ls -d .tenon",
        "mv none .tenon/undo 2>/dev/null",
        "ls -d .tenon 2>/dev/null",
    ];
    check(&commands, false);
}

/// What is open for reading has ways to what it is that name no path.
const OTHER_WAYS: &str = "
import os
found = [os.path.join(above, name) for above, _, names in os.walk('.tenon/undo') for name in names]
print(len(found) > 0 and 'seen')
for path in found:
    number = os.open(path, os.O_RDONLY)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    name = f'/proc/self/fd/{number}'
    ways = [
        lambda: os.link(path, 'l'),
        lambda: os.link(name, 'l', follow_symlinks=True),
        lambda: os.open(name, os.O_RDWR),
        lambda: os.truncate(name, 0),
        lambda: os.chmod(name, 0o777),
        lambda: os.fchmod(number, 0o777),
        lambda: os.utime(number, (0, 0)),
        lambda: os.setxattr(number, 'user.a', b'b'),
        lambda: os.fchmod(folder, 0o777),
        lambda: os.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=folder),
    ]
    for number_of, way in enumerate(ways):
        try:
            way()
            print('changed', path, number_of)
        except OSError:
            pass
";

#[test]
fn tenons_own_store_is_changed_by_none_of_the_ways_to_it_that_name_no_path() {
    for tier in ["a", "b"] {
        let place = Place::new();
        place.write("work/a", "before");
        place.write("work/ways.py", OTHER_WAYS);
        let turns =
            [bash("echo a > a"), bash("/usr/bin/python3 ways.py"), json!({"text": "Done."})];
        let script = place.script(json!(turns));
        let flags = ["-p", "--sandbox", tier, "--output-format", "stream-json", "--model", &script];
        let Some(run) = on_a_mount(&place, &[&flags[..], &["go"]].concat()) else { return };
        if run.status == 3 {
            skipped(format_args!("tier {tier} cannot be had here"));
            continue;
        }
        assert!(!run.out.contains("changed .tenon"), "{tier}: {run:?}");
        // In tier B it is there, to be read.
        assert_eq!(run.out.contains("seen"), tier != "a", "{tier}: {run:?}");
    }
}

#[test]
fn without_namespaces_no_command_runs_that_could_write_tenons_own_store() {
    let ran = |prepare: &dyn Fn(&Place), flags: &[&str]| {
        let place = Place::new();
        prepare(&place);
        let script = place.script(json!([bash("touch ran"), {"text": "Done."}]));
        let arguments = [&["-p", "--sandbox", "c", "--model", &script], flags, &["go"]].concat();
        let run = on_a_mount(&place, &arguments)?;
        let is_there = ["work/ran", "work/sub/ran"].map(|name| place.path(name).exists());
        Some((run, is_there))
    };
    let Some((run, is_there)) = ran(&|_| {}, &[]) else { return };
    run.ends_with(3).says(&[
        "tier C",
        "commands could write what is kept for undo",
        "`undo = false`",
    ]);
    assert_eq!(is_there, [false, false]);
    // Each way out that the hint names.
    let below = |place: &Place| std::fs::create_dir(place.path("work/sub")).unwrap();
    let (run, is_there) = ran(&below, &["--cwd", "sub"]).unwrap();
    assert_eq!(is_there, [false, true], "{run:?}");
    let off = |place: &Place| place.config("undo = false\n");
    let (run, is_there) = ran(&off, &[]).unwrap();
    assert_eq!(is_there, [true, false], "{run:?}");
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
