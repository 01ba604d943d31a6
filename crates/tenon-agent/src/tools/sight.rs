//! What a command is told of a place that walls keep out of its sight: by where that lies, never whether
//! something is there. Each sentence is true whenever it is said.

use std::path::Path;

use tenon_sandbox::{OutOfSight, Wish, is_closed_to_user};

use super::unfound::is_of_program;
use crate::policy::in_one_line;

/// What a person can do about most of it.
const OPENS: &str = "--add-dir FOLDER would open a folder, read_file asks the user for a file";

/// What is said instead of a folder that the user may not enter without walls either.
const CLOSED: &str = "the user's own permissions close it, too";

/// What every sentence says of what is out of sight.
pub(super) const UNSEEN: &str = "as if it were not there";

/// Whether `line` of a result is one of these sentences, or of those about programs. Which of them is said, and whether one is, depends
/// on where the workspace and the home lie.
pub(crate) fn is_of_place(line: &str) -> bool {
    line.starts_with("[walls] files: ") && line.contains(UNSEEN) || is_of_program(line)
}

/// Says why a place is out of sight. In tier C, `in_c`, what is closed may also be refused; without
/// `is_sure` nobody knows whether the command looked there.
pub(super) fn sentence(why: &OutOfSight, in_c: bool, is_sure: bool) -> String {
    let shown = |path: &Path| in_one_line(&path.to_string_lossy());
    let tried = if is_sure { "" } else { "if it was tried: " };
    let (looks, or_empty) = match in_c {
        true => ("is refused or looks", "is refused or looks"),
        false => ("looks", "looks empty or"),
    };
    let said = match why {
        OutOfSight::Covered(path) => format!(
            "commands see nothing of what the machine has in {} unless it is opened to them, so it \
             {looks} {UNSEEN}; {}",
            shown(path),
            if is_closed_to_user(path, Wish::Enter) { CLOSED } else { OPENS }
        ),
        OutOfSight::Home => format!(
            "of the user's home commands see only toolchains and what is opened to them, so the rest \
             {looks} {UNSEEN}; {OPENS}"
        ),
        OutOfSight::Private(path) => format!(
            "commands have a {} of the session's own, so what the machine has there looks {UNSEEN} \
             unless it is opened to them; {OPENS}",
            shown(path)
        ),
        OutOfSight::Secret(path) => format!(
            "{} is closed to commands, so it {or_empty} {UNSEEN}; read_file asks the user for a file",
            shown(path)
        ),
        OutOfSight::Device if in_c => format!(
            "commands have the usual devices alone, so what else is in /dev {looks} {UNSEEN}; \
             --sandbox off would open it"
        ),
        OutOfSight::Device => format!(
            "commands have a /dev of their own with the usual devices alone, so what else the machine \
             has there looks {UNSEEN}; --sandbox off would open it"
        ),
        OutOfSight::Hidden(path) => format!(
            "{} is closed to commands, so it {or_empty} {UNSEEN}; --sandbox off would open it",
            shown(path)
        ),
    };
    format!("files: {tried}{said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_is_known_as_one_of_a_place() {
        for why in [
            OutOfSight::Covered("/mnt".into()),
            OutOfSight::Home,
            OutOfSight::Private("/tmp".into()),
            OutOfSight::Secret("/root/.ssh".into()),
            OutOfSight::Hidden("/var/lib/x".into()),
            OutOfSight::Device,
        ] {
            for (in_c, is_sure) in [(false, true), (false, false), (true, true), (true, false)] {
                let said = sentence(&why, in_c, is_sure);
                assert!(is_of_place(&format!("[walls] {said}")), "{said}");
                assert_eq!(said.contains("if it was tried"), !is_sure);
            }
        }
        assert!(!is_of_place("[walls] files: outside of the workspace"));
    }
}
