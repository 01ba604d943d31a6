//! What a command is told of what is tenon's own and lies in the workspace, where the walls kept it from changing it:
//! the kernel refuses that in other words in each tier, and nothing but `--sandbox off` would open it.

use std::path::{Path, PathBuf};

use tenon_sandbox::OutOfSight;

use super::{
    listed, ran_in,
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
        let own = own_path(said, line);
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
