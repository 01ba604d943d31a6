//! Which of the changes that the kernel was asked for outside of what the walls let a command write a complaint
//! is about.
//!
//! Programs say a path or none. What was asked for is known of each command that is watched; that it was to the
//! user's harm is not: programs try and go on. So something is said only where a complaint is, or where a
//! command failed without a word.

use std::path::Path;

use tenon_sandbox::{Exit, OutsideWrite, Wish};

use super::{
    kernel, ran_in,
    said::{Said, first_words},
};

/// How the name ends that a program says which did not make a file.
const TEMPLATE: &str = "XXX";

/// What is told of a link, and what stands in it before the path.
pub(super) const LINK_HELD: (&str, &str) = (
    "files: commands make no hard link to a file outside of the workspace; a copy is possible, --sandbox off would \
     let them",
    "a file outside of the workspace",
);

/// What programs say of something that did not work.
const FAILS: [&str; 8] = [
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "failed to",
    "failure writing",
    "unable to",
    "not writable",
];

/// What they would have done.
const WRITES: [&str; 13] = [
    "write", "writing", "writable", "create", "creating", "open", "save", "store", "mkdir",
    "remove", "rename", "lock", "cache",
];

/// What they say where nothing was refused.
const MISSING: [&str; 2] = ["no such file", "not found"];

/// Where Python and others keep what they can do without.
const CACHES: [&str; 2] = ["__pycache__", "node_modules/.cache"];

/// Git takes this to note what it looked at, and goes on without.
const IN_PASSING: &str = "index.lock";

/// What `make` says of each recipe that failed, whatever the recipe said.
const OF_MAKE: [&str; 2] = ["make", "] Error "];

/// What answers by failing: that says of nothing else that it went wrong.
const ANSWERS: [&str; 15] = [
    "false", "grep", "egrep", "fgrep", "rg", "test", "[", "[[", "diff", "cmp", "expr", "pgrep",
    "which", "command", "type",
];

/// Returns the change that a line complains of which says that something is read-only: the one that it names, or
/// the last, if it names none. `named` is what it seems to name, and whether that is sure.
pub(super) fn of_line<'a>(
    said: &'a Said<'_>,
    line: &str,
    (named, is_sure): (Option<&Path>, bool),
) -> Option<&'a OutsideWrite> {
    let writes = changes(said)?;
    let by_path = || writes.iter().copied().find(|write| named == Some(write.path.as_path()));
    // A name may have blanks.
    let is_in_line = |write: &&OutsideWrite| line.contains(&*write.path.to_string_lossy());
    let by_text = || {
        let found = writes.iter().copied().filter(is_in_line);
        found.max_by_key(|write| write.path.as_os_str().len())
    };
    // With the folders above it, as `mkdir -p` makes them.
    let by_folder =
        || writes.iter().copied().find(|write| named.is_some_and(|it| it.starts_with(&write.path)));
    let by_name = || {
        let name = |write: &OutsideWrite| {
            write.path.file_name().map(|it| it.to_string_lossy().into_owned())
        };
        writes.iter().copied().find(|write| {
            name(write).is_some_and(|name| first_words(line).any(|word| ends_with(word, &name)))
        })
    };
    // Whose name a program would have made up, in a folder that it says.
    let by_template = || {
        let is_template = |name: &&Path| name.to_string_lossy().ends_with(TEMPLATE);
        let folder = named.filter(is_template).and_then(Path::parent)?;
        writes.iter().copied().rfind(|write| write.path.parent() == Some(folder))
    };
    let last = || writes.iter().copied().rfind(|write| !is_sure && !is_cache(&write.path));
    let by_names = by_path().or_else(by_text).or_else(by_folder).or_else(by_name);
    by_names.or_else(by_template).or_else(last)
}

/// Whether a line names a change by its last name, or the script does.
pub(super) fn is_named(said: &Said<'_>, line: &str, write: &OutsideWrite) -> bool {
    let name = write.path.file_name().unwrap_or_default().to_string_lossy();
    [line, said.script].iter().any(|text| text.contains(&*name))
}

/// Returns the change that a command which failed may mean where it says neither a path nor that something is
/// read-only (`cannot write cache`).
pub(super) fn unnamed<'a>(said: &'a Said<'_>) -> Option<&'a OutsideWrite> {
    if !said.is_error || said.output.only_reads || !said.output.protected.is_empty() {
        return None;
    }
    let has = |line: &str, words: &[&str]| words.iter().any(|it| line.contains(it));
    let printed = said.own().to_lowercase();
    let complains =
        printed.lines().any(|line| has(line, &FAILS) && has(line, &WRITES) && !has(line, &MISSING));
    let writes = changes(said)?;
    writes.into_iter().rfind(|write| is_meant(said, write)).filter(|_| complains)
}

/// Returns what was asked for but for links, which programs make where they can and copy else.
fn changes<'a>(said: &'a Said<'_>) -> Option<Vec<&'a OutsideWrite>> {
    let writes = said.output.outside.as_deref()?;
    Some(writes.iter().filter(|write| write.wish != Wish::Link).collect())
}

/// Whether a command said nothing but that a recipe failed.
pub(super) fn is_silent(said: &Said<'_>) -> bool {
    let [make, failed] = OF_MAKE;
    let lines = said.text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.into_iter().all(|line| line.starts_with(make) && line.contains(failed))
}

/// Returns the change that a command may mean which failed without a word, and whether it is sure: then the line
/// names it. Not of one that ends with what answers by failing.
pub(super) fn silently<'a>(said: &'a Said<'_>) -> Option<(&'a OutsideWrite, bool)> {
    let has_failed = matches!(said.output.exit, Exit::Code(code) if code != 0);
    if !has_failed || said.output.only_reads || !is_silent(said) {
        return None;
    }
    let writes = said.output.outside.as_deref()?;
    let is_named = |write: &&OutsideWrite| names(said.script, &write.path.to_string_lossy());
    if let Some(named) = writes.iter().rfind(is_named) {
        return Some((named, true));
    }
    let last = || writes.iter().rfind(|write| is_meant(said, write));
    if ends_with_answer(said) { None } else { last().map(|write| (write, false)) }
}

/// Whether a command ends with what answers by failing.
pub(super) fn ends_with_answer(said: &Said<'_>) -> bool {
    let last = said.commands.last().and_then(|it| it.program());
    last.is_some_and(|program| ANSWERS.contains(&program))
}

/// Whether a script has this path, and not as the beginning of another.
pub(super) fn names(script: &str, path: &str) -> bool {
    let goes_on =
        |rest: &str| rest.starts_with(|sign: char| sign.is_alphanumeric() || "/_-.".contains(sign));
    script
        .match_indices(path)
        .any(|(at, _)| script.get(at + path.len()..).is_some_and(|rest| !goes_on(rest)))
}

/// Returns what is said of a change that a line complains of, where the kernel was asked for none of it though somebody
/// watched: the program only asked whether it may, or says again what another one said.
pub(super) fn unless_noted(said: &Said<'_>, sentence: String) -> String {
    match said.output.outside {
        Some(_) => sentence.replacen("files: ", "files: if it was tried: ", 1),
        None => sentence,
    }
}

/// Returns the change that a command's script names somewhere, as in a text for another program.
pub(super) fn in_text<'a>(said: &'a Said<'_>) -> Option<&'a OutsideWrite> {
    let is_named = |write: &&OutsideWrite| script_names(said, &write.path) && is_meant(said, write);
    said.output.outside.as_deref()?.iter().find(is_named)
}

/// Whether the script of a command names a path, as it is or from the workspace.
pub(super) fn script_names(said: &Said<'_>, path: &Path) -> bool {
    let path = path.to_string_lossy();
    let shown = ran_in::shown(&path, said.context);
    names(said.script, &path) || !shown.is_empty() && names_whole(said.script, &shown)
}

/// Whether a script has this name, and not as a part of another.
fn names_whole(script: &str, name: &str) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || "/_-.".contains(sign);
    script.match_indices(name).any(|(at, _)| {
        let (front, behind) = (script.get(..at), script.get(at + name.len()..));
        let front = front.unwrap_or_default().trim_end_matches("./").trim_end_matches("~/");
        !front.ends_with(is_part) && !behind.unwrap_or_default().starts_with(is_part)
    })
}

/// Whether a change is none of those that programs try and do without.
fn is_meant(said: &Said<'_>, write: &OutsideWrite) -> bool {
    let path = &write.path;
    let is_tried = said.context.sandbox.is_in_toolchain(path) || is_cache(path);
    !is_tried && !kernel::is_of_kernel(path) && !path.ends_with(IN_PASSING)
}

/// Whether the last name of what a word calls is this one.
fn ends_with(word: &str, name: &str) -> bool {
    Path::new(word).file_name().is_some_and(|last| last == name)
}

fn is_cache(path: &Path) -> bool {
    let path = path.to_string_lossy();
    CACHES.iter().any(|name| path.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_whole_in_a_script_and_no_part_of_another() {
        for (script, name, expected) in [
            ("ln a .local/b", "a", true),
            ("ln a .local/b", ".local/b", true),
            ("ln ./a .local/b", "a", true),
            ("ln x/ab c", "a", false),
            ("ln a.txt c", "a", false),
            ("ln a/b c", "a", false),
            ("ln x/a c", "a", false),
            ("ln ../a c", "a", false),
            ("ln a ~/.local/b", ".local/b", true),
            ("rename(\"a\", \"b\")", "b", true),
        ] {
            assert_eq!(names_whole(script, name), expected, "{script}: {name}");
        }
    }
}
