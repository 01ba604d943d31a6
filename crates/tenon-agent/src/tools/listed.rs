//! What of the sentences of walls at a result is in the list of what was refused, for programs.
//!
//! Not what the sentence itself does not know ("if it was tried"), nor hosts, which were read from what a command
//! printed. What has an entry by another event is left out by who asks.

use std::path::Path;

use tenon_sandbox::LimitReached;

use crate::policy::in_one_line;

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
const PERHAPS: [&str; 6] = [
    "if it was tried",
    "if it was there",
    "if one was meant",
    "if there is one",
    "perhaps in passing",
    "perhaps failed by that",
];

/// What stands around a name in a sentence until it is told. No name has them, as it is shown.
const AROUND: [char; 2] = ['\u{1}', '\u{2}'];

/// Letters that a name has without quotes around it.
const UNQUOTED: &str = "/._-+@%:,=~";

/// Begins what is said of hosts.
const NETWORK: &str = "network";

/// Stands before the folder that would be added, where a sentence names it.
const ADDS: &str = "--add-dir ";

/// What takes the walls away, on the command line.
pub(crate) const WITHOUT_WALLS: &str = "--sandbox off";

/// What sentences name that would allow it.
const FLAGS: [&str; 3] = ["--add-dir FOLDER", WITHOUT_WALLS, "--net on"];

/// Returns a path as it stands in a sentence: in one line, in quotes where it could be taken for words of the
/// sentence, and so that what a command calls a file is never read as a flag.
pub(super) fn name(path: &Path) -> String {
    let shown = in_one_line(&path.to_string_lossy());
    let is_plain = |letter: char| letter.is_alphanumeric() || UNQUOTED.contains(letter);
    let [open, close] = AROUND;
    match shown.chars().all(is_plain) {
        true => format!("{open}{shown}{close}"),
        false => format!("{open}'{}'{close}", shown.replace('\'', r"'\''")),
    }
}

/// Returns a sentence without the names in it.
pub(super) fn without_names(sentence: &str) -> String {
    let [open, close] = AROUND;
    let mut parts = sentence.split(open);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(close).map_or("", |(_, rest)| rest))
}

/// Returns a sentence as it is told.
pub(super) fn told(sentence: &str) -> String {
    in_one_line(&sentence.replace(AROUND, ""))
}

/// Returns the entry for a sentence.
pub(super) fn listed(sentence: &str) -> Option<Held> {
    let fixed = without_names(sentence);
    let (wall, _) = fixed.split_once(": ")?;
    if wall == NETWORK || PERHAPS.iter().any(|words| fixed.contains(words)) {
        return None;
    }
    let flag = FLAGS.iter().filter_map(|flag| Some((fixed.find(flag)?, *flag))).min();
    let flag = added(sentence).or_else(|| flag.map(|(_, flag)| flag.to_owned()));
    let told = told(sentence);
    let (wall, what) = told.split_once(": ")?;
    Some(Held { wall: wall.to_owned(), what: what.to_owned(), flag })
}

/// Returns the flag that adds the folder which a sentence names for that.
fn added(sentence: &str) -> Option<String> {
    let [open, close] = AROUND;
    let (_, behind) = sentence.split_once(&format!("{ADDS}{open}"))?;
    let (folder, _) = behind.split_once(close)?;
    Some(format!("{ADDS}{folder}"))
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
        let named = |path: &str| format!("files: x (refused: {}); no more", name(path.as_ref()));
        check(&named("/a; --sandbox off would"), Some(("files", None)));
        let opens = format!("files: x (refused: /a b); --add-dir {} would", name("/a b".as_ref()));
        check(&opens, Some(("files", Some("--add-dir '/a b'"))));
        check(&named("--add-dir /a"), Some(("files", None)));
        assert_eq!(told(&named("/a/文.rs")), "files: x (refused: /a/文.rs); no more");
        assert_eq!(told(&named("/a'b) c\u{1}")), r"files: x (refused: '/a'\''b) c␁'); no more");
        assert_eq!(without_names(&named("/a")), without_names(&named("/b) c")));
    }
}
