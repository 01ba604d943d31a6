//! What a command is told of what is tenon's own and lies in the workspace, where the walls kept it from changing it:
//! the kernel refuses that in other words in each tier, and nothing but `--sandbox off` would open it.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use tenon_sandbox::OutOfSight;

use super::{
    listed, outside, ran_in,
    refused_calls::DENIED,
    refused_words::NOT_PERMITTED,
    said::{Said, first_words},
};

/// What programs say besides of what is read-only, or mounted.
const HELD: [&str; 2] = ["read-only file system", "device or resource busy"];

/// Lines of output that are looked at, as of other files.
const LINES_MAX: usize = 20;

/// Begins what is said of a wall around files.
const FILES: &str = "files: ";

/// Returns what to say of the first path of tenon's own in the workspace that one of `lines` complains of, and
/// the other lines.
pub(super) fn of_lines<'a>(
    said: &Said<'_>,
    lines: impl Iterator<Item = &'a str>,
) -> (Option<String>, Vec<&'a str>) {
    let (mut sentence, mut looked_at) = (None, 0);
    let is_other = |line: &&str| {
        if looked_at == LINES_MAX || !complains(line) {
            return true;
        }
        looked_at += 1;
        let own = own_path(said, line).or_else(|| noted(said, line));
        if let (Some(path), None) = (&own, &sentence) {
            sentence = Some(closed(path));
        }
        own.is_none()
    };
    let others = lines.filter(is_other).collect();
    (sentence, others)
}

/// Returns what is said of a path of tenon's own that a command would change.
pub(super) fn closed(path: &Path) -> String {
    format!(
        "{FILES}{} is tenon's own and closed to commands; no rule or --add-dir opens it, --sandbox off would",
        listed::name(path)
    )
}

/// Whether a sentence is of a path in `folder` that is tenon's own.
pub(super) fn is_of(sentence: &str, folder: &Path) -> bool {
    let sentence = listed::told(sentence);
    let named = format!("{FILES}{}", listed::told(&listed::name(folder)));
    sentence.starts_with(&named) && sentence.contains(" is tenon's own ")
}

/// Returns what to say of a command that said nothing, or whose complaints may be thrown away, and whose script names
/// what the kernel was asked to change of tenon's own, or a folder that this is in.
pub(super) fn silent(said: &Said<'_>) -> Option<String> {
    if said.output.only_reads || !(outside::is_silent(said) || said.throws_away()) {
        return None;
    }
    let is_named =
        |path: &&Path| with_folders(said, path).any(|it| outside::script_names(said, it));
    changes(said).find(is_named).map(closed)
}

/// Whether a path in the workspace is tenon's own.
pub(super) fn is_own(said: &Said<'_>, path: &Path) -> bool {
    said.context.workspace.is_own(&path.to_string_lossy())
}

/// Returns what the kernel was asked to change of tenon's own in the workspace.
fn changes<'a>(said: &'a Said<'_>) -> impl Iterator<Item = &'a Path> {
    let writes = said.output.outside.as_deref().unwrap_or_default();
    writes.iter().map(|it| it.path.as_path()).filter(|path| is_own(said, path))
}

/// Returns such a path and the folders of the workspace that it is in.
fn with_folders<'a>(said: &Said<'_>, path: &'a Path) -> impl Iterator<Item = &'a Path> {
    let root = said.context.workspace.root().to_path_buf();
    path.ancestors().take_while(move |it| *it != root)
}

/// Returns one of those that a line names by its path, by its last name, or by a folder that it is in.
fn noted(said: &Said<'_>, line: &str) -> Option<PathBuf> {
    let mut own = changes(said).peekable();
    own.peek()?;
    let speakers = ran_in::speakers(said.commands, line);
    let root = said.context.workspace.root();
    let meant: Vec<PathBuf> = first_words(line)
        .flat_map(|word| ran_in::meant(&speakers, word, said.context))
        .map(|path| root.join(path))
        .collect();
    let is_meant = |own: &Path| {
        let is_last = || first_words(line).any(|word| own.file_name() == Some(OsStr::new(word)));
        with_folders(said, own).any(|folder| meant.iter().any(|it| it == folder)) || is_last()
    };
    own.find(|path| is_meant(path)).map(Path::to_path_buf)
}

/// Whether a path is closed to commands in whatever folder it lies.
pub(super) fn is_closed(said: &Said<'_>, path: &Path) -> bool {
    let why = said.context.sandbox.out_of_sight(path);
    matches!(why, Some(OutOfSight::Secret(_) | OutOfSight::Hidden(_)))
}

fn complains(line: &str) -> bool {
    let line = line.to_lowercase();
    let mut words = DENIED.iter().chain(&HELD).chain(&[NOT_PERMITTED]);
    words.any(|words| line.contains(words))
}

/// Returns the path that a line names which is tenon's own and lies in the workspace.
fn own_path(said: &Said<'_>, line: &str) -> Option<PathBuf> {
    let speakers = ran_in::speakers(said.commands, line);
    let mut meant = first_words(line).flat_map(|word| ran_in::meant(&speakers, word, said.context));
    let workspace = &said.context.workspace;
    let own = meant.find(|path| workspace.is_own(path))?;
    Some(workspace.root().join(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_of_the_folder_that_its_path_is_in() {
        let sentence = closed(Path::new("/w/.tenon/undo/x"));
        for (folder, expected) in [("/w/.tenon/undo", true), ("/w/.tenon/other", false)] {
            assert_eq!(is_of(&sentence, Path::new(folder)), expected, "{folder}");
        }
        assert!(!is_of("files: /w/.tenon/undo is closed to commands", Path::new("/w/.tenon/undo")));
    }
}
