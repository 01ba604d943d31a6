//! What a command is told of what it made where nothing lasts.

use std::path::{Path, PathBuf};

use super::said::Said;
use crate::policy::{
    in_one_line,
    shell::{SimpleCommand, arguments::behind_git_options},
};

/// Names that do not last and are told one by one.
const UNKEPT_TOLD_MAX: usize = 3;

/// What sets or installs something in the home: a program, what it is told to do, and a flag without which that is
/// for the project alone.
const FOR_GOOD: [(&str, &[&str], &[&str]); 12] = [
    ("cargo", &["install"], &[]),
    ("cargo", &["uninstall"], &[]),
    ("gem", &["install"], &[]),
    ("git", &["config"], &["--global"]),
    ("go", &["env"], &["-w", "-u"]),
    ("go", &["install"], &[]),
    ("npm", &["config", "set"], &[]),
    ("pip", &["config", "set"], &[]),
    ("pip", &["install"], &["--user"]),
    ("pipx", &["install"], &[]),
    ("rustup", &["default"], &[]),
    ("uv", &["tool", "install"], &[]),
];

/// What only asks for a setting.
const ASKS: [&str; 6] = ["--get", "--list", "-l", "get", "list", "--show-origin"];

/// What names another place to write to.
const ELSEWHERE: [&str; 10] = [
    "--location",
    "--root",
    "--prefix",
    "--target",
    "--install-dir",
    "GOBIN=",
    "CARGO_INSTALL_ROOT=",
    "CARGO_HOME=",
    "GIT_CONFIG_GLOBAL=",
    "HOME=",
];

/// Returns a sentence about what was made outside of the workspace and does not last.
pub(super) fn sentence(found: &[PathBuf]) -> Option<String> {
    let shown = |path: &PathBuf| in_one_line(&path.to_string_lossy());
    let mut names: Vec<String> = found.iter().take(UNKEPT_TOLD_MAX).map(shown).collect();
    if let Some(more @ 1..) = found.len().checked_sub(UNKEPT_TOLD_MAX) {
        names.push(format!("{more} more"));
    }
    let last = names.pop()?;
    let (names, lie) = match names.as_slice() {
        [] => (last, "is outside of the workspace, in a private folder that is"),
        names => {
            let names = format!("{} and {last}", names.join(", "));
            (names, "are outside of the workspace, in private folders that are")
        }
    };
    Some(format!(
        "files: {names} {lie} gone at the end of the session; --add-dir FOLDER would let commands \
         write a folder for good"
    ))
}

/// Returns a sentence about a command that went well, as far as it says, and is meant to last, where the home that it
/// wrote to is the session's own.
pub(super) fn of_command(said: &Said<'_>) -> Option<String> {
    let fails =
        said.own().lines().any(|line| line.trim_start().to_lowercase().starts_with("error"));
    let home = said.context.sandbox.home()?;
    let roots = said.context.workspace.roots();
    let is_kept = roots
        .iter()
        .any(|root| home.starts_with(root) || is_in_tools(root.strip_prefix(home).ok()));
    if said.is_error
        || fails
        || is_kept
        || ELSEWHERE.iter().any(|words| said.script.contains(words))
    {
        return None;
    }
    let name = said.commands.iter().find_map(for_good)?;
    Some(format!(
        "files: what {name} writes to the home is private and gone at the end of the session; --sandbox off would \
         let it last"
    ))
}

/// Whether a path beneath the home is one of settings or tools.
fn is_in_tools(beneath: Option<&Path>) -> bool {
    let first = beneath.and_then(|beneath| beneath.iter().next());
    first.is_some_and(|name| name == "go" || name.as_encoded_bytes().starts_with(b"."))
}

/// Returns how such a command is called.
fn for_good(command: &SimpleCommand) -> Option<String> {
    let program = command.program()?;
    let arguments = match program {
        "git" => behind_git_options(command.arguments()),
        _ => command.arguments(),
    };
    let arguments: Vec<&str> = arguments.iter().map(|word| word.literal().unwrap_or("…")).collect();
    let (_, words, flags) = FOR_GOOD.iter().find(|(name, words, flags)| {
        let is_program = program == *name || *name == "pip" && program == "pip3";
        let has_flag = flags.is_empty() || flags.iter().any(|flag| arguments.contains(flag));
        is_program && arguments.starts_with(words) && has_flag
    })?;
    let is_asking = |it: &&str| ASKS.contains(it) || it.starts_with("--get-");
    let asks = || arguments.iter().any(is_asking);
    // `git config --global user.name` asks as well, if it has no value behind.
    let asks_git = || program == "git" && !arguments.contains(&"--unset") && values(&arguments) < 3;
    if asks() || asks_git() {
        return None;
    }
    let flag = flags.iter().find(|flag| arguments.contains(flag));
    let name = [program].into_iter().chain(words.iter().chain(flag).copied());
    Some(name.collect::<Vec<_>>().join(" "))
}

fn values(arguments: &[&str]) -> usize {
    arguments.iter().filter(|word| !word.starts_with('-')).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell;

    #[test]
    fn what_is_meant_to_last_is_known_by_its_words() {
        for (script, expected) in [
            ("git config --global user.name 'A B'", Some("git config --global")),
            ("git -C x config --global --unset user.name", Some("git config --global")),
            ("git config --global user.name", None),
            ("git config --global --get user.name", None),
            ("git config --global --list", None),
            ("git config --global --get-all user.name", None),
            ("git config --global user.name \"$NAME\"", Some("git config --global")),
            ("git config --global user.name getty", Some("git config --global")),
            ("git config user.name x", None),
            ("cd x && cargo install ripgrep --locked", Some("cargo install")),
            ("cargo build", None),
            ("go env -w GOFLAGS=-mod=mod", Some("go env -w")),
            ("go env GOPATH", None),
            ("pip3 install --user black", Some("pip3 install --user")),
            ("pip install black", None),
            ("npm config set fund false", Some("npm config set")),
            ("npm config get fund", None),
            ("rustup default nightly", Some("rustup default")),
            ("uv tool install ruff", Some("uv tool install")),
        ] {
            let commands = shell::parse(script).commands;
            let found = commands.iter().find_map(for_good);
            assert_eq!(found.as_deref(), expected, "{script}");
        }
    }

    #[test]
    fn what_does_not_last_is_told_by_its_first_names() {
        let check = |names: &[&str], expected: &str| {
            let names: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
            let end = "gone at the end of the session; --add-dir FOLDER would let commands write a \
                       folder for good";
            assert_eq!(sentence(&names), Some(format!("files: {expected} {end}")));
        };
        let (one, several) = (
            "is outside of the workspace, in a private folder that is",
            "are outside of the workspace, in private folders that are",
        );
        check(&["/h/a"], &format!("/h/a {one}"));
        check(&["/h/a", "/h/b"], &format!("/h/a and /h/b {several}"));
        check(&["/a", "/b", "/c"], &format!("/a, /b and /c {several}"));
        check(&["/a", "/b", "/c", "/d", "/e"], &format!("/a, /b, /c and 2 more {several}"));
        check(&["/h/a\n[walls] b\u{1b}[2K"], &format!("/h/a␊[walls] b␛[2K {one}"));
        assert_eq!(sentence(&[]), None);
    }
}
