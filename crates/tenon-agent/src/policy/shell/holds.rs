//! What can be in a value that is only known when the line runs, as far as names of files go.
//!
//! Numbers and dates hold no `/`, so what is written beside one lies in a folder that is known.

use super::SimpleCommand;
use super::made::Holds;
use super::word::{Extent, Piece, Word};

/// Variables that bash gives a number, whatever the surroundings say.
const NUMBERS: &[&str] = &[
    "#",
    "$",
    "?",
    "BASHPID",
    "BASH_SUBSHELL",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "LINENO",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
    "UID",
];

/// What stands behind `%` in a format of `date` that prints no `/` and no blank.
const OF_DATES: &str = "CFGHIMNSTUVWYdgjmsuwyz";
/// What may stand around it, and around digits alone.
const IN_DATES: &str = "-_.:+,";
/// Signs of numbers.
pub(crate) const OF_NUMBERS: &str = "0123456789-.,";
/// Programs that print one word of which no sign is `/`.
const PLAIN_OUTPUT: &[&str] = &["arch", "hostname", "nproc", "uname", "whoami"];

impl Holds {
    /// Returns what a variable holds that the line does not set.
    pub(super) fn of_variable(name: &str) -> Holds {
        if NUMBERS.contains(&name) { Holds::Number } else { Holds::Anything }
    }

    /// Returns what is in the output of commands.
    pub(super) fn of_output(commands: &[SimpleCommand]) -> Holds {
        let [one] = commands else { return Holds::Anything };
        let words: Option<Vec<&str>> = one.words.iter().map(Word::literal).collect();
        if !one.redirects.is_empty() || !one.assignments.is_empty() {
            return Holds::Anything;
        }
        match words.as_deref() {
            Some(["date", "-u", format] | ["date", format]) => of_date(format),
            Some(["id", "-u" | "-g"]) => Holds::Plain,
            Some(["git", "rev-parse", short, "HEAD"]) if short.starts_with("--short") => {
                Holds::Plain
            }
            Some(["seq", numbers @ ..]) if numbers.iter().all(|text| is_number(text)) => {
                Holds::Numbers
            }
            Some([name] | [name, "-m" | "-n" | "-r" | "-s"]) if PLAIN_OUTPUT.contains(name) => {
                Holds::Plain
            }
            _ => Holds::Anything,
        }
    }

    /// Returns what is known of a value by what it is made of.
    pub(super) fn of_pieces(pieces: &[Piece]) -> Holds {
        let is_any = |pair: &[Piece]| {
            // Several folders, with `globstar`.
            pair.iter().all(|piece| *piece == Piece::Glob("*".to_owned()))
        };
        let each = |piece: &Piece| match piece {
            Piece::Text(text) if is_number(text) => Holds::Number,
            Piece::Text(text) | Piece::Glob(text) if !text.contains('/') => Holds::Name,
            Piece::Unknown(unknown) => match (unknown.holds, unknown.extent) {
                (Holds::Numbers, Extent::One) => Holds::Name,
                (holds, _) => holds,
            },
            _ => Holds::Anything,
        };
        match pieces {
            _ if pieces.windows(2).any(is_any) => Holds::Anything,
            _ => pieces.iter().map(each).min().unwrap_or(Holds::Name),
        }
    }

    /// Returns what is known of one of the words that such values become.
    pub(super) fn of_each(words: &[Word]) -> Holds {
        let one = |word: &Word| match (Holds::of_pieces(&word.pieces), word.pieces.len()) {
            (Holds::Numbers, 1) => Holds::Number,
            (Holds::Numbers, _) => Holds::Name,
            (holds, _) => holds,
        };
        words.iter().map(one).min().unwrap_or_default()
    }

    /// Returns what is left of a value, or of any, behind a part of it that is cut off: `${x%.*}`, `${x##*/}`.
    pub(super) fn of_cut(value: Option<&[Piece]>, operator: &str) -> Holds {
        let is_cut = operator.starts_with(['#', '%', '^', ',']);
        let is_name = operator == "##*/"
            || is_cut && value.is_some_and(|value| Holds::of_pieces(value) >= Holds::Name);
        if is_name { Holds::Name } else { Holds::Anything }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn of_date(format: &str) -> Holds {
    let Some((first, parts)) =
        format.strip_prefix('+').map(|it| it.split_once('%').unwrap_or((it, "")))
    else {
        return Holds::Anything;
    };
    let is_of = |signs: &str, text: &str| text.chars().all(|sign| signs.contains(sign));
    let is_text =
        |text: &str| text.chars().all(|it| it.is_ascii_alphanumeric() || IN_DATES.contains(it));
    let mut holds = if is_of(OF_NUMBERS, first) { Holds::Number } else { Holds::Plain };
    let mut texts = vec![first];
    for part in parts.split('%') {
        let mut rest =
            part.trim_start_matches(|sign: char| sign == '-' || sign.is_ascii_digit()).chars();
        match rest.next() {
            Some(letter) if OF_DATES.contains(letter) => {}
            _ => return Holds::Anything,
        }
        if part.contains('T') || !is_of(OF_NUMBERS, rest.as_str()) {
            holds = Holds::Plain;
        }
        texts.push(rest.as_str());
    }
    if texts.into_iter().all(is_text) { holds } else { Holds::Anything }
}
