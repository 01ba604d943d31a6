//! What a command is told whose program has rights of another user or group (set-user-id, set-group-id) without
//! walls: inside them it has not.

use super::{refused_calls::DENIED, refused_words::NOT_PERMITTED, said::Said};

/// What such programs say, beside what all say that were refused something. Not what mount says, which refuses a
/// user without walls, too.
const WANTS_RIGHTS: [&str; 5] =
    ["cannot open", "cannot lock", "setuid", "authentication token", "authentication failure"];

/// Returns what is said of the first such program of a command that failed, if `complaints`, in small letters, are of
/// what it may have wanted those rights for. As root it is told what else was in the way.
pub(super) fn sentence(said: &Said<'_>, complaints: &str) -> Option<String> {
    let is_refused = |line: &str| {
        line.contains(NOT_PERMITTED)
            || DENIED.iter().chain(&WANTS_RIGHTS).any(|words| line.contains(words))
    };
    if said.as_root || !said.is_error || !complaints.lines().any(is_refused) {
        return None;
    }
    let sandbox = &said.context.sandbox;
    let program = said.programs().into_iter().find(|name| sandbox.has_rights_of_another(name))?;
    Some(format!(
        "rights: {program} has the rights of another user or group where there are no walls (set-user-id, set-group-id), \
         and inside them no program has; --sandbox off would leave it those"
    ))
}
