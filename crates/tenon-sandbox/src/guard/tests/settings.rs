//! Settings of git, as git itself writes them into files of any shape.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;

use super::written::COMMITTED;
use super::{Guard, Journaled};

const LINES: [&str; 14] = [
    "[core]\n",
    "[CORE] bare = false\n",
    "[user]\r\n",
    "[remote \"origin\"]\n",
    "[alias]\n",
    "\tname = Ada ; of the house\n",
    "key\n",
    "\turl=https://host/a.git",
    "\n",
    "# mine\n",
    "    long = a \\\n b\n",
    "\teditor = vi\n",
    "hooksPath = mine\n",
    "\tst = status\n",
];

const FORBIDDEN: [&str; 10] = [
    "core.fsmonitor ./x",
    "core.editor x",
    "--unset-all core.editor",
    "core.hooksPath x",
    "--add alias.st '!x'",
    "--unset-all alias.st",
    "filter.a.clean x",
    "--add include.path /x",
    "remote.origin.uploadpack x",
    "url.x.insteadOf y",
];

const ALLOWED: [&str; 4] = [
    "--add user.email a@b",
    "branch.main.merge refs/heads/main",
    "--add core.bare false",
    "remote.new.url https://host/b.git",
];

/// Runs a script in the folder and returns what it prints.
fn shell(root: &Path, script: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "plays the person and the command")]
    let done = std::process::Command::new("bash")
        .args(["-c", script])
        .current_dir(root)
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    assert!(done.status.success(), "{script}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// What git reads there: what runs programs, sorted, and the rest in its order.
fn settings(root: &Path) -> (Vec<String>, Vec<String>) {
    let found = shell(root, "git config -f .git/config --list -z");
    let found = found.split_terminator('\0').map(str::to_owned);
    let programs = ["core.fsmonitor", "core.editor", "core.hookspath", "remote.origin.uploadpack"];
    let sections = ["alias.", "filter.", "include.", "url."];
    let (mut programs, rest): (Vec<_>, Vec<_>) = found.partition(|setting| {
        programs.contains(&setting.lines().next().unwrap_or_default())
            || sections.iter().any(|section| setting.starts_with(section))
    });
    programs.sort();
    (programs, rest)
}

fn chosen(words: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<&'static str>> {
    proptest::collection::vec(proptest::sample::select(words), 0..most)
}

/// A file of settings. Before the first section git takes some, too; there we take none.
fn file() -> impl Strategy<Value = String> {
    chosen(&LINES, 12).prop_map(|lines| match lines.as_slice() {
        [] => String::new(),
        lines => format!("[user]\n{}", lines.concat()),
    })
}

#[expect(clippy::disallowed_methods, reason = "plays the person, and looks from outside")]
fn check(before: &str, forbidden: &[&str], allowed: &[&str]) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    shell(&root, "git init -q");
    let config = root.join(".git/config");
    std::fs::write(&config, before).unwrap();
    std::fs::set_permissions(&config, PermissionsExt::from_mode(0o640)).unwrap();
    let is_read = shell(&root, "git config -f .git/config --list >/dev/null 2>&1; echo $?");
    prop_assume!(is_read == "0\n");
    let (programs_before, _) = settings(&root);
    let mut guard = Guard::default();
    guard.begin(std::slice::from_ref(&root), &[], Journaled::Nowhere).unwrap();
    // What is set and taken away again leaves nothing to put back, and git's own line ends.
    let (unset, set): (Vec<&str>, Vec<&str>) = forbidden
        .iter()
        .chain(allowed)
        .copied()
        .partition(|arguments| arguments.starts_with("--unset"));
    for arguments in unset.into_iter().chain(set) {
        // Ends with 5 where there is nothing to take away.
        shell(&root, &format!("git config -f .git/config {arguments} || [ $? = 5 ]"));
    }
    let (_, rest_wanted) = settings(&root);
    guard.end(None);
    prop_assert_eq!(settings(&root), (programs_before, rest_wanted));
    if allowed.is_empty() {
        prop_assert_eq!(std::fs::read_to_string(&config).unwrap(), before);
        let mode = std::fs::metadata(&config).unwrap().permissions().mode();
        prop_assert_eq!(mode & 0o7777, 0o640);
    }
    Ok(())
}

#[test]
fn what_a_fetch_or_push_writes_is_no_replacement() {
    let setup = format!("{COMMITTED}; git clone -q --bare . n");
    let check = |work: &str, told: &[&str], stays: &str| {
        let found = super::check_with(&setup, work, |root| {
            let said = shell(root, "git config -l -f .git/config | grep -c ^remote; true");
            assert_eq!(said.trim_end(), stays, "{work}");
        });
        assert_eq!(found, told, "{work}");
    };
    let config = [".git/config"];
    let remote = "git remote add ci $PWD/n; git config --add";
    check(&format!("{remote} remote.ci.fetch '+refs/heads/a:refs/replace/0123'"), &config, "2");
    check(&format!("{remote} remote.ci.push 'a:refs/replace/0123'"), &config, "2");
    check(&format!("{remote} remote.ci.fetch '+refs/*:refs/*'"), &config, "2");
    check(&format!("{remote} notes.rewriteRef refs/heads/main"), &config, "2");
    let requests = "remote.ci.fetch '+refs/pull/*/head:refs/remotes/ci/pr/*'";
    check(&format!("{remote} {requests}; git config remote.ci.push HEAD"), &[], "4");
    check("git remote add --mirror=fetch ci $PWD/n", &config, "1");
    // In a clone without a work tree nobody pulls.
    let mirror = "git clone -q --mirror . m; git -C m config remote.origin.fetch | grep -qF '+refs/*:refs/*'";
    check(mirror, &[], "0");
    check("git -C n config remote.origin.fetch '+refs/*:refs/*'", &["n/config"], "0");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_only_forbidden_settings_changed_is_put_back_to_the_byte(
        before in file(),
        forbidden in chosen(&FORBIDDEN, 5),
    ) {
        check(&before, &forbidden, &[])?;
    }

    #[test]
    fn allowed_settings_besides_are_kept(
        before in file(),
        forbidden in chosen(&FORBIDDEN, 5),
        allowed in chosen(&ALLOWED, 3),
    ) {
        check(&before, &forbidden, &allowed)?;
    }
}
