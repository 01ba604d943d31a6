//! The environment that a real shell sees.

use std::process::Command;

use crate::skipped::skipped;
use crate::support;

#[test]
fn spec_26_a_command_sees_its_environment_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = support::command(folder.path(), "export -p; declare -F");
    command.environment = vec![("PATH".into(), "/usr/bin:/bin".into()), ("A".into(), "1".into())];
    let (_, out, _) = support::shown(&support::run(command));
    let names: Vec<&str> = out
        .lines()
        .map(|line| line.trim_start_matches("declare -x ").split('=').next().unwrap())
        .collect();
    // OLDPWD, PWD and SHLVL are bash's own.
    assert_eq!(names, ["A", "OLDPWD", "PATH", "PWD", "SHLVL"]);
}

#[test]
fn spec_24_an_editor_ends_quickly_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let script = "git init -q . && git config user.email a@b && git config user.name a \
        && touch f && git add f && git commit";
    let (exit, _, error) = support::shown(&support::run(support::command(folder.path(), script)));
    if Command::new("git").arg("--version").output().is_err() {
        skipped("git is not installed");
        return;
    }
    assert_ne!(exit, tenon_sandbox::Exit::Code(0));
    assert!(error.contains("Error: interactive commands are not supported"), "{error}");
}
