//! What a command is told of the user's toolchains, which are read-only to it where no layer lies in front of them.

use std::path::Path;

use tenon_sandbox::Location;

use super::{
    listed, ran_in,
    said::{Said, first_words},
};

/// Of those outside of the workspace.
const HELD: &str = "files: the user's toolchains are read-only to commands here; a place of its own in \
                    the workspace (CARGO_HOME and the like) can be written";

/// Of those that the workspace is around: there what is written is to stay, so no layer lies in front of them.
const HELD_WITHIN: &str = "files: the user's toolchains are read-only to commands also in the workspace; a place of its \
                           own beside them (CARGO_HOME and the like) can be written, write_file writes there with \
                           the user's yes, --add-dir FOLDER would open it";

/// Stands for the toolchain's folder in the sentence above.
const FOLDER: &str = "FOLDER";

/// Of their folders themselves, and of those above: each is mounted.
const STAYS: &str = "files: a toolchain's folder in the workspace is not moved or removed by commands; --sandbox off \
                     would let them";
const STAYS_ABOVE: &str = "files: folders in the workspace above toolchains and closed places (keys and the like) \
                           are not moved or removed by commands; --sandbox off would let them";

/// What stands in those before the path that is known.
const BY_COMMANDS: &str = "by commands";

/// Stands in the complaint of `ln` between the link and the file.
const LINKS_TO: &str = " => ";

/// What stands before the path that is known, in the first two sentences.
const BEHIND: [&str; 2] =
    ["are read-only to commands here", "are read-only to commands also in the workspace"];

/// Returns what to say of a change in a toolchain, and what stands in it before the path that is known; `None` of
/// another path.
pub(super) fn of_change(said: &Said<'_>, path: &Path) -> Option<(String, &'static str)> {
    let [behind, behind_within] = BEHIND;
    match of_held(said, path) {
        Some(sentence) => Some((sentence, behind_within)),
        None if said.context.sandbox.is_in_toolchain(path) => Some((HELD.to_owned(), behind)),
        None => None,
    }
}

/// Returns what to say of a line that complains of a folder that is mounted, if that is a toolchain's in the workspace
/// or one above.
pub(super) fn of_move(said: &Said<'_>, line: &str) -> Option<String> {
    if line.contains(LINKS_TO) {
        return None;
    }
    let speakers = ran_in::speakers(said.commands, line);
    let paths = first_words(line).flat_map(|word| ran_in::meant(&speakers, word, said.context));
    let mut found = paths.filter_map(|path| said.context.workspace.locate(&path).ok());
    found.find_map(|found| of_mounted(said, &found.absolute))
}

/// Returns the same of a path at which something is mounted.
pub(super) fn of_mounted(said: &Said<'_>, path: &Path) -> Option<String> {
    match is_held_within(said, path) {
        true => Some(stays(STAYS, path)),
        false => of_pinned(said, path),
    }
}

/// Returns what to say of a folder above that the line says it moves or removes, where complaints of that were thrown
/// away: nobody knows whether it tried.
pub(super) fn thrown_away(said: &Said<'_>) -> Option<String> {
    if !said.throws_away() {
        return None;
    }
    let gone = said.commands.iter().filter_map(|command| {
        let words = command.arguments();
        match command.program()? {
            "rm" | "rmdir" => Some((command, words)),
            // The last one is where they go.
            "mv" => Some((command, words.split_last()?.1)),
            _ => None,
        }
    });
    let mut paths = gone.flat_map(|(command, words)| {
        words.iter().flat_map(move |word| ran_in::led_to(command, word, said.context))
    });
    let sentence = paths.find_map(|path| {
        let found = said.context.workspace.locate(&path).ok()?;
        of_pinned(said, &found.absolute)
    })?;
    Some(sentence.replacen("files: ", "files: if it was tried: ", 1))
}

fn of_pinned(said: &Said<'_>, path: &Path) -> Option<String> {
    said.context.sandbox.is_pinned(path).then(|| stays(STAYS_ABOVE, path))
}

/// Returns a sentence of what stays with the path that was refused.
fn stays(sentence: &str, path: &Path) -> String {
    let refused = format!("{BY_COMMANDS} (refused: {})", listed::name(path));
    sentence.replacen(BY_COMMANDS, &refused, 1)
}

/// Returns what to say of a change in a toolchain that the workspace is around, by its name in the workspace or its path.
pub(super) fn of_name(said: &Said<'_>, name: &str) -> Option<String> {
    let found = said.context.workspace.locate(name).ok()?;
    of_held(said, &found.absolute)
}

/// Returns the same by its path, with the folder that would be opened.
fn of_held(said: &Said<'_>, path: &Path) -> Option<String> {
    let folder = said.context.sandbox.toolchain_in_root(path)?;
    Some(HELD_WITHIN.replacen(FOLDER, &listed::name(&folder), 1))
}

/// Whether a place is protected from commands, and lies in no toolchain that the workspace is around.
pub(super) fn is_protected_elsewhere(place: &Location) -> bool {
    place.protected && !place.in_toolchain && !place.of_git_references
}

/// Whether a path lies in a toolchain that the workspace is around.
pub(super) fn is_held_within(said: &Said<'_>, path: &Path) -> bool {
    said.context.sandbox.toolchain_in_root(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sentence_has_a_place_for_the_path() {
        for (sentence, behind) in [HELD, HELD_WITHIN].into_iter().zip(BEHIND) {
            assert_eq!(sentence.matches(behind).count(), 1, "{sentence}");
        }
        for sentence in [STAYS, STAYS_ABOVE] {
            assert_eq!(sentence.matches(BY_COMMANDS).count(), 1, "{sentence}");
        }
        assert_eq!(HELD_WITHIN.matches(FOLDER).count(), 1);
    }
}
