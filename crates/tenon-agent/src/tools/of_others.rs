//! What a command of root's is told that was refused files of another user in the workspace: inside the walls
//! root has no rights over them.

use std::path::Path;

use tenon_sandbox::{OfAnother, stands_in_the_way};

use super::{
    listed, ran_in,
    refused_calls::DENIED,
    refused_files::is_named,
    said::{Said, first_words, quoted},
};
use crate::policy::shell::SimpleCommand;

/// What git says of its folders where it may not write.
const INSUFFICIENT: &str = "insufficient permission";

/// What tar says of a file in front of the reason.
const CANNOT_OPEN: &str = "Cannot open: ";

/// Who says of a program that it may not be run what others say of files.
const STARTERS: [&str; 10] =
    ["bash", "sh", "dash", "env", "xargs", "timeout", "nice", "nohup", "make", "exec"];

/// What stands in a complaint of a shell's about a file.
const OF_FILE: [&str; 3] = ["cannot create", "cannot open", ": cd: "];

/// Lines of output that are looked at. The first lines tell.
const LINES_MAX: usize = 20;

/// Returns what is said of the first file of another user that stood in the way, as far as `lines` are about
/// one.
pub(super) fn sentence<'a>(
    said: &Said<'_>,
    lines: impl Iterator<Item = &'a str>,
) -> Option<String> {
    if !said.as_root {
        return None;
    }
    let is_refused = |line: &&str| {
        let line = line.to_lowercase();
        DENIED.iter().any(|words| line.contains(words)) || line.contains(INSUFFICIENT)
    };
    let found = lines.filter(is_refused).take(LINES_MAX).find_map(|line| in_the_way(said, line))?;
    let OfAnother { path, owner } = found;
    let mut name = ran_in::shown(&path.to_string_lossy(), said.context);
    if name.is_empty() {
        name = path.to_string_lossy().into_owned();
    }
    Some(format!(
        "rights: {} belongs to user {owner}, and inside the walls root has no rights over files of others; \
         --sandbox off would leave them",
        listed::name(name.as_ref())
    ))
}

/// Returns what stands in the way of a line's first name that leads to such a thing in the workspace.
fn in_the_way(said: &Said<'_>, line: &str) -> Option<OfAnother> {
    let workspace = &said.context.workspace;
    let roots = workspace.roots();
    let speakers = ran_in::speakers(said.commands, line);
    let names = quoted(line).filter(|name| name.contains(' ')).chain(first_words(line));
    // Lines name tests and lines of code, too, that were refused something else.
    names.filter(|name| !name.is_empty() && is_refused(name, line)).find_map(|name| {
        let only_runs = is_run(said.commands, name, line);
        ran_in::meant(&speakers, name, said.context).iter().find_map(|path| {
            let location = workspace.locate(path).ok()?;
            let root: &Path = roots.get(location.root)?;
            stands_in_the_way(root, &location.absolute, only_runs)
        })
    })
}

/// Whether a line says that what it calls by this name was refused.
fn is_refused(name: &str, line: &str) -> bool {
    is_named(name, line)
        || line.contains(INSUFFICIENT) && name.contains('/')
        || line.contains(&format!("{name}: {CANNOT_OPEN}"))
}

/// Whether a line says that what it calls by this name may not be run.
fn is_run(commands: &[SimpleCommand], name: &str, line: &str) -> bool {
    let who = line.split(':').next().unwrap_or_default();
    let who = who.rsplit('/').next().unwrap_or(who);
    let who = who.split('[').next().unwrap_or(who);
    let mut redirects = commands.iter().flat_map(|command| &command.redirects);
    let mut is_redirect = || redirects.any(|redirect| redirect.target.literal() == Some(name));
    name.contains('/')
        && (STARTERS.contains(&who) || who.ends_with(".sh"))
        && !OF_FILE.iter().any(|words| line.contains(words))
        && !is_redirect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell;

    #[test]
    fn what_is_run_is_told_from_what_is_read_and_written() {
        let check = |script: &str, name: &str, line: &str, expected| {
            let commands = shell::parse(script).commands;
            assert_eq!(is_run(&commands, name, line), expected, "{script}: {line}");
        };
        let run = "bash: line 1: ./a: Permission denied";
        check("./a", "./a", run, true);
        check("echo > ./a", "./a", run, false);
        check("make", "./a", "/bin/sh: 1: ./a: Permission denied", true);
        check("make", "./a", "make[1]: ./a: Permission denied", true);
        check("make", "./a", "/bin/sh: 1: cannot create ./a: Permission denied", false);
        check("cat ./a", "./a", "cat: ./a: Permission denied", false);
        check("cd d/e", "d/e", "bash: line 1: cd: d/e: Permission denied", false);
    }

    #[test]
    fn what_was_refused_is_told_from_what_a_line_names_besides() {
        for (name, line, expected) in [
            ("x", "cat: x: Permission denied", true),
            ("x", "/bin/sh: 1: cannot create x: Permission denied", true),
            ("d", "ls: cannot open directory 'd': Permission denied", true),
            ("x", "tar: x: Cannot open: Permission denied", true),
            ("x", "Error: EACCES: permission denied, open 'x'", true),
            (
                ".git/objects",
                "error: insufficient permission for adding an object to repository database .git/objects",
                true,
            ),
            ("t/a.py::b", "FAILED t/a.py::b - PermissionError: Permission denied: '/x'", false),
            ("t/a.rs", "t/a.rs: it failed with: Permission denied", false),
        ] {
            assert_eq!(is_refused(name, line), expected, "{line}");
        }
    }
}
