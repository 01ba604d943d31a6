//! What a command is told of the user's toolchains, which are read-only to it where no layer lies in front of them.

use std::path::Path;

use super::said::Said;

/// Of those outside of the workspace.
const HELD: &str = "files: the user's toolchains are read-only to commands here; a place of its own in \
                    the workspace (CARGO_HOME and the like) can be written";

/// Of those that the workspace is around: there what is written is to stay, so no layer lies in front of them.
const HELD_WITHIN: &str = "files: the user's toolchains are read-only to commands also in the workspace; a place of its \
                           own beside them (CARGO_HOME and the like) can be written, write_file writes there, too, \
                           --add-dir FOLDER with the toolchain's own folder would open it";

/// Of their folders themselves: each is mounted.
const STAYS: &str = "files: a toolchain's folder in the workspace is not moved or removed by commands; --sandbox off \
                     would let them";

/// Of those in tier C that hold a key.
pub(super) const UNLISTED: &str = "files: commands in tier C do not list a toolchain's folder in HOME in which a key of the user's lies \
                        or would lie; what else is in it can be read by its name, and --add-dir FOLDER would open \
                        it whole, keys too";

/// What stands before the path that is known, in the first two sentences.
const BEHIND: [&str; 2] =
    ["are read-only to commands here", "are read-only to commands also in the workspace"];

/// Returns what to say of a change in a toolchain, and what stands in it before the path that is known; `None` of
/// another path.
pub(super) fn of_change(said: &Said<'_>, path: &Path) -> Option<(&'static str, &'static str)> {
    let [behind, behind_within] = BEHIND;
    match said.context.sandbox.is_in_toolchain(path) {
        _ if is_held_within(said, path) => Some((HELD_WITHIN, behind_within)),
        true => Some((HELD, behind)),
        false => None,
    }
}

/// Returns what to say of a folder that a command would have moved or removed, if it is a toolchain's in the
/// workspace.
pub(super) fn of_move(said: &Said<'_>, path: &Path) -> Option<&'static str> {
    is_held_within(said, path).then_some(STAYS)
}

/// Returns what to say of a change in a toolchain that the workspace is around, by its name in the workspace or its path.
pub(super) fn of_name(said: &Said<'_>, name: &str) -> Option<&'static str> {
    let found = said.context.workspace.locate(name).ok()?;
    let is_held = is_held_within(said, &found.absolute);
    is_held.then_some(HELD_WITHIN)
}

/// Whether a path lies in a toolchain that the workspace is around.
pub(super) fn is_held_within(said: &Said<'_>, path: &Path) -> bool {
    said.context.sandbox.is_toolchain_in_root(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sentence_has_a_place_for_the_path() {
        for (sentence, behind) in [HELD, HELD_WITHIN].into_iter().zip(BEHIND) {
            assert_eq!(sentence.matches(behind).count(), 1, "{sentence}");
        }
    }
}
