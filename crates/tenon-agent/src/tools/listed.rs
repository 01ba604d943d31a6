//! What of the sentences of walls at a result is in the list of what was refused, for programs.
//!
//! Not what the sentence itself does not know ("if it was tried"), nor hosts, which were read from what a command
//! printed. What has an entry by another event is left out by who asks.

use tenon_sandbox::LimitReached;

/// What walls refused a command, for the list.
///
/// ```
/// use tenon_agent::Held;
///
/// let what = "commands write in the folders of the session".to_owned();
/// let held = Held { wall: "files".to_owned(), what, flag: Some("--add-dir FOLDER".to_owned()) };
/// assert_eq!(held.wall, "files");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Which wall: `files`, `rights`, `limits` and the like, as the sentence begins.
    pub wall: String,
    /// The rest of the sentence.
    pub what: String,
    /// What to give on the command line so that it is allowed; `None` where no flag would.
    pub flag: Option<String>,
}

/// What sentences say that do not know whether it was so.
const PERHAPS: [&str; 4] =
    ["if it was tried", "if it was there", "if one was meant", "if there is one"];

/// Begins what is said of hosts.
const NETWORK: &str = "network";

/// What sentences name that would allow it.
const FLAGS: [&str; 3] = ["--add-dir FOLDER", "--sandbox off", "--net on"];

/// Returns the entry for a sentence.
pub(super) fn listed(sentence: &str) -> Option<Held> {
    let (wall, what) = sentence.split_once(": ")?;
    if wall == NETWORK || PERHAPS.iter().any(|words| sentence.contains(words)) {
        return None;
    }
    let flag = FLAGS.iter().filter_map(|flag| Some((sentence.find(flag)?, *flag))).min();
    let flag = flag.map(|(_, flag)| flag.to_owned());
    Some(Held { wall: wall.to_owned(), what: what.to_owned(), flag })
}

/// Returns the entry for a limit that ended a command, which is told as `line`; none for the user's own.
pub(super) fn of_limit(limit: &LimitReached, line: &str) -> Option<Held> {
    let is_own = matches!(limit, LimitReached::FileSize { file_bytes_max: None });
    let (wall, what) = ("limits".to_owned(), line.to_owned());
    (!is_own).then_some(Held { wall, what, flag: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_listed_with_its_wall_and_the_flag_unless_it_is_not_sure() {
        let check = |sentence: &str, expected: Option<(&str, Option<&str>)>| {
            let found = listed(sentence);
            let found = found.as_ref().map(|it| (it.wall.as_str(), it.flag.as_deref()));
            assert_eq!(found, expected, "{sentence}");
        };
        check("files: x; --add-dir FOLDER would add", Some(("files", Some("--add-dir FOLDER"))));
        check(
            "rights: a belongs to b; --sandbox off would",
            Some(("rights", Some("--sandbox off"))),
        );
        check("files: the user's own permissions refuse this, too", Some(("files", None)));
        check("files: if it was tried: x; --add-dir FOLDER would add", None);
        check("network: example.com, if it was tried, is out of reach", None);
    }
}
