//! Files of another user in the workspace of a tenon that runs as root: that commands have no rights over them
//! is told, and no other wall is.

use std::{
    os::unix::fs::{PermissionsExt, chown},
    path::Path,
};

use crate::{
    program::{Place, Run},
    skipped::skipped,
    undo::bash,
};

const OTHER: u32 = 1000;

fn give(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    chown(path, Some(OTHER), Some(OTHER)).unwrap();
}

#[test]
fn root_is_told_that_commands_have_no_rights_over_files_of_others() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only root has rights over files of others");
    }
    let told_of = |name: &str| {
        format!(
            "[walls] rights: {name} belongs to user 1000, and inside the walls root has no rights over \
             files of others; --sandbox off would leave them"
        )
    };
    for tier in ["a", "b", "c"] {
        let place = Place::new();
        place.write("work/Makefile", "all:\n\t@echo ok > build.log\nrun:\n\t@./run.sh\n");
        place.write("work/own.sh", "");
        give(&place.write("work/build.log", "a\n"), 0o644);
        give(&place.write("work/run.sh", ""), 0o644);
        give(&place.write("work/.env.local", "a\n"), 0o600);
        give(&place.write("work/data/in", "a\n"), 0o600);
        give(&place.path("work/data"), 0o700);
        let rows = [
            ("echo x >> build.log", Some("build.log")),
            ("make", Some("build.log")),
            ("cat .env.local || true", Some(".env.local")),
            ("ls data; echo went on", Some("data")),
            ("touch data/new", Some("data")),
            ("cp /dev/null build.log", Some("build.log")),
            // Root runs nothing either that is nobody's to run.
            ("./run.sh", None),
            ("make run", None),
            ("./own.sh", None),
            ("cat build.log", None),
            ("rm -rf data", Some("data")),
        ];
        let commands = rows.iter().map(|(command, _)| *command);
        let Some(told) = place.results_of(commands, &["--sandbox", tier], |it| it) else {
            skipped(format!("this machine gives no tier {tier}"));
            continue;
        };
        for ((command, expected), told) in rows.iter().zip(told) {
            let walls: Vec<&str> =
                told.lines().filter(|line| line.starts_with("[walls]")).collect();
            let expected: Vec<String> = expected.iter().map(|name| told_of(name)).collect();
            assert_eq!(walls, expected, "{tier} {command}: {told}");
        }
    }
}

#[test]
fn what_a_group_may_write_is_undone_for_its_members() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only root has files of others to try it with");
    }
    let place = Place::new();
    place.write("work/a", "a\n");
    place.write("work/d/f", "own\n");
    for (name, mode) in
        [("work", 0o2775), ("work/a", 0o664), ("work/d", 0o2775), ("work/d/f", 0o664)]
    {
        give(&place.path(name), 0o755);
        std::fs::set_permissions(place.path(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    let member = |arguments: &[&str]| {
        let tenon = place.tenon(arguments);
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=4242", "--regid=4242", "--groups=1000"]).arg(tenon.get_program());
        command.args(tenon.get_args()).current_dir(place.path("work"));
        command.envs(tenon.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Run::of(command.output().unwrap())
    };
    for name in ["home", "home/.config", "home/.config/tenon"] {
        std::fs::create_dir_all(place.path(name)).unwrap();
        chown(place.path(name), Some(4242), Some(4242)).unwrap();
    }
    std::fs::set_permissions(place.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    let script = place.script(serde_json::json!([bash("echo b >> a; rm -rf d"), {"text": "ok"}]));
    member(&["--model", &script, "go"]).ends_with(0);
    let read = |name: &str| std::fs::read_to_string(place.path(name)).ok();
    assert_eq!((read("work/a").as_deref(), read("work/d/f")), (Some("a\nb\n"), None));
    member(&["undo"]).ends_with(0);
    assert_eq!(
        (read("work/a").as_deref(), read("work/d/f").as_deref()),
        (Some("a\n"), Some("own\n"))
    );
}
