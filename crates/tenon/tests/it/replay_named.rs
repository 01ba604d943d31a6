//! A log that somebody else wrote names folders as he likes: none of them has a copy made of what a copy of a home
//! folder leaves out.

use std::{fs, os::unix::fs::symlink};

use serde_json::json;

use crate::{
    program::{Place, Run, files_beneath},
    undo::bash,
};

/// A home folder with secrets, and a log of commands in another folder that look for them.
fn place() -> Place {
    let place = Place::new();
    place.write("home/.ssh/id_rsa", "private\n");
    place.write("home/.config/tenon/note", "private\n");
    place.write("home/notes", "mine\n");
    let look = "find -H . ../added -name id_rsa -o -name note -o -name replay; pwd";
    let script = place.script(json!([bash(look), {"text": "Done."}]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    place
}

/// Replays the log of `place` as if its workspace were these folders, in which `@` is the place that all lie in.
fn replayed(place: &Place, folders: &[&str]) -> Run {
    let top = place.path("").canonicalize().unwrap().display().to_string();
    let logs = files_beneath(&place.path("home/.local/state/tenon/sessions"));
    let log = logs.iter().find(|path| path.extension().is_some_and(|it| it == "jsonl")).unwrap();
    let lines = fs::read_to_string(log).unwrap();
    let workspace = json!([place.path("work").canonicalize().unwrap()]).to_string();
    let named: Vec<String> = folders.iter().map(|it| it.replace('@', &top)).collect();
    let changed = lines.replace(&workspace, &json!(named).to_string());
    assert_ne!(lines, changed);
    fs::write(place.path("work/foreign.jsonl"), changed).unwrap();
    place.run(&["replay", "foreign.jsonl"])
}

#[test]
fn a_home_that_a_log_names_by_any_path_is_copied_without_secrets_and_tenons_own() {
    for home in [
        "@/home",
        "@/work/../home",
        "@/work/../work/../home/.",
        "@//home",
        "@/link",
        "@/above/home",
    ] {
        for folders in [&[home][..], &["@/work", home]] {
            let place = place();
            let top = place.path("").canonicalize().unwrap();
            symlink(top.join("home"), top.join("link")).unwrap();
            symlink(&top, top.join("above")).unwrap();
            let run = replayed(&place, folders);
            let left_out = |name: &str| format!("{}/home/{name} was left out", top.display());
            run.says(&[&left_out(".ssh"), &left_out(".config/tenon")]);
            let cache = place.path("home/.cache/tenon/replay");
            let left: Vec<_> = files_beneath(&cache);
            assert!(left.is_empty(), "{folders:?}: {left:?}");
        }
    }
}

#[test]
fn a_place_of_secrets_or_of_tenons_own_or_of_the_kernel_is_no_workspace_of_a_replay() {
    let place = place();
    let top = place.path("").canonicalize().unwrap();
    symlink(top.join("home/.ssh"), top.join("keys")).unwrap();
    fs::create_dir_all(top.join("work/.tenon/undo")).unwrap();
    let check = |named: &str, folder: &str, why: &str| {
        for folders in [&[named][..], &["@/work", named]] {
            let run = replayed(&place, folders).ends_with(1);
            let folder = folder.replace('@', &top.display().to_string());
            let sentence =
                format!("error: {folder}, a folder of the session, is {why}: it is not copied\n");
            assert!(run.error.starts_with(&sentence) && run.out.is_empty(), "{folders:?}: {run:?}");
        }
    };
    let (secrets, own, kernel) = ("where programs keep secrets", "tenon's own", "the kernel's");
    check("@/home/.ssh", "@/home/.ssh", secrets);
    check("@/keys", "@/home/.ssh", secrets);
    check("@/work/../home/.ssh", "@/home/.ssh", secrets);
    check("@/home/.config/tenon", "@/home/.config/tenon", own);
    check("@/home/.local/state/tenon/sessions", "@/home/.local/state/tenon/sessions", own);
    check("@/work/.tenon/undo", "@/work/.tenon/undo", own);
    check("/proc/self/root@/home", "/proc/self/root@/home", kernel);
    check("/dev/../proc/self", "/dev/../proc/self", kernel);
    check("/sys", "/sys", kernel);
    check("/dev", "/dev", kernel);
}

/// A later session whose workspace has that folder in it can put a link in its place.
#[test]
fn a_folder_of_a_session_that_a_command_exchanged_for_a_link_is_in_no_copy() {
    let place = Place::new();
    let top = place.path("").canonicalize().unwrap();
    place.write("documents/letter", "private\n");
    place.write("work/lib/a", "a\n");
    let run = |folder: &str, script: &str| {
        place
            .run(&["-p", "--cwd", folder, "--allow", "bash", "--model", script, "go"])
            .ends_with(0);
    };
    run("lib", &place.script(json!([bash("echo one > b"), {"text": "Done."}])));
    let folder = place.path("home/.local/state/tenon/sessions");
    let logs = files_beneath(&folder);
    let log = logs.iter().find(|path| path.extension().is_some_and(|it| it == "jsonl")).unwrap();
    let first = log.file_stem().unwrap().to_str().unwrap().to_owned();
    let exchange = format!("rm -r lib; ln -s {}/documents lib", top.display());
    run(".", &place.script(json!([bash(&exchange), {"text": "Done."}])));
    assert!(place.path("work/lib").is_symlink());
    for args in [&["replay", &first][..], &["export", &first, "--bundle", "b.tgz"]] {
        let run = place.run(args).ends_with(2);
        let link = format!("leads through the symbolic link {}/work/lib, ", top.display());
        run.says(&[&link]);
    }
    assert!(!place.path("work/b.tgz").exists());
}
