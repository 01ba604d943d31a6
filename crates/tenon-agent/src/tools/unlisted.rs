//! What a command in tier C is told of a folder that it may not list since something in it is closed.

use std::path::Path;

use tenon_sandbox::{Wish, is_closed_to_user};

use super::{listed, said::Said};

/// What stands in a complaint about a folder that a program would change, not list.
const CHANGES: [&str; 3] = ["cannot touch", "cannot create", "setting times"];

/// Of a toolchain's folder that holds a key.
pub(super) const OF_TOOLCHAIN: &str = "files: commands in tier C do not list a toolchain's folder in HOME in which a key of the user's lies \
                                       or would lie; what else is in it can be read by its name, and --add-dir FOLDER would open \
                                       it whole, keys too";

/// Of any other.
const IN_PART: &str = "files: commands in tier C do not list folders in which something is closed to them; what else is in \
                       them can be read by its name";

/// What stands in it before the path that is known.
const CLOSED: &str = "is closed to them";

/// Whether a line, and what it says would have been done, complains that the folder of a toolchain was not listed.
pub(super) fn is_of_toolchain(said: &Said<'_>, path: &Path, complaint: (&str, Wish)) -> bool {
    may_list(complaint) && said.context.sandbox.is_unlisted(path)
}

/// Returns what to say of such a complaint about another folder, if the walls are why and the user may list it.
pub(super) fn elsewhere(said: &Said<'_>, path: &Path, complaint: (&str, Wish)) -> Option<String> {
    let is_of_walls = may_list(complaint)
        && said.context.sandbox.is_open_in_part(path)
        && !is_closed_to_user(path, Wish::Read);
    let refused = format!("{CLOSED} (refused: {})", listed::name(path));
    is_of_walls.then(|| IN_PART.replacen(CLOSED, &refused, 1))
}

fn may_list((line, wish): (&str, Wish)) -> bool {
    wish == Wish::Write && !CHANGES.iter().any(|words| line.contains(words))
}
