//! Words of a command: what is known of them before bash runs.
//!
//! A word is a row of pieces. Quotes are gone, escapes are applied, and what only bash can know
//! (variables, substitutions) stays as a piece of its own, so that a rule never mistakes a guess
//! for a fact. Nothing here looks at the file system.

use std::ops::Range;

use super::made::{self, Holds, Made, Signs};

/// The most words that one word may become through braces and splitting; a bound on `{a,b}{c,d}…`.
const WORDS_PER_WORD_MAX: usize = 64;

/// What stands for an unknown part in [`Word::source`]: a variable that is never known.
pub(crate) const UNKNOWN: &str = "${TENON_UNKNOWN}";
pub(crate) const UNKNOWN_NAME: &str = "TENON_UNKNOWN";
/// What stands for the folder that the line begins in there.
pub(crate) const BEGIN_NAME: &str = "TENON_BEGIN";

/// One word of a simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) pieces: Vec<Piece>,
}

/// A part of a [`Word`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Literal text, quotes removed.
    Text(String),
    /// An unquoted pattern, such as `*`.
    Glob(String),
    /// The home folder of a user; empty for one's own (`~`, `$HOME`).
    Home(String),
    /// The folder that the command runs in (`$PWD`, `~+`).
    Folder,
    /// The folder that the line begins in, wherever the command runs.
    Begin,
    /// What only bash knows.
    Unknown(Unknown),
    /// An unquoted `{`, `,` or `}`; gone once the word is finished.
    Brace(char),
    /// A boundary made by splitting an unquoted variable; gone once the word is finished.
    Break,
}

/// The source of a piece that is only known when it runs, and what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unknown {
    /// The commands whose output it is, as indices into [`super::Parsed::commands`].
    pub(crate) from: Range<usize>,
    /// The variable it is the value of, if it is one that the command line did not set itself.
    pub(crate) inherited: Option<String>,
    /// What of the line may be in it.
    pub(crate) made: Made,
    /// How many words it may be.
    pub(crate) extent: Extent,
    pub(crate) holds: Holds,
}

/// How many words a piece may be that is only known when it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Extent {
    /// One: it is in quotes.
    #[default]
    One,
    /// Several, which a call or a pipe tells: parameters, and what `xargs` reads.
    Told,
    /// Several: it is not quoted, or all of an array.
    Several,
}

impl Piece {
    /// Returns how much known text it has, in bytes; what is not text counts as one.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Piece::Text(text) | Piece::Glob(text) => text.len(),
            Piece::Break => 0,
            _ => 1,
        }
    }
}

impl Word {
    /// Returns a word of literal text.
    pub(crate) fn text(text: impl Into<String>) -> Word {
        Word { pieces: vec![Piece::Text(text.into())] }
    }

    /// Returns the whole word, if all of it is known.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the literal text that the word begins with; empty if it begins otherwise.
    pub(crate) fn prefix(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// Returns the file name of the word taken as the path of a program, if that much is known.
    pub(crate) fn program(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => None,
            [Piece::Text(text)] => Some(text.rsplit('/').next().unwrap_or(text)),
            [.., Piece::Text(text)] => text.rsplit_once('/').map(|(_, name)| name),
            _ => None,
        }
    }

    /// Says whether the word surely is not an option: it begins with known text other than `-`.
    pub(crate) fn is_no_option(&self) -> bool {
        match self.pieces.first() {
            None => true,
            Some(Piece::Text(text)) => !text.starts_with('-'),
            Some(Piece::Home(_) | Piece::Folder | Piece::Begin) => true,
            Some(_) => false,
        }
    }

    /// Says whether the word may be several ones, or none.
    pub(crate) fn is_many(&self) -> bool {
        self.unknown().any(|unknown| unknown.extent != Extent::One)
    }

    /// Says whether the word may be several ones that nothing tells.
    pub(crate) fn is_open(&self) -> bool {
        self.unknown().any(|unknown| unknown.extent == Extent::Several)
    }

    /// Returns the sources of what is unknown in the word.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = &Unknown> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Unknown(unknown) => Some(unknown),
            _ => None,
        })
    }

    /// Returns the word with literal text removed from its front, if it begins so.
    pub(crate) fn strip_prefix(&self, prefix: &str) -> Option<Word> {
        let rest = self.prefix().strip_prefix(prefix)?;
        let mut pieces = self.pieces.clone();
        match pieces.first_mut() {
            Some(Piece::Text(text)) => *text = rest.to_owned(),
            _ => return prefix.is_empty().then(|| self.clone()),
        }
        Some(Word { pieces }.merged())
    }

    /// Returns the word as it is when none of its inherited variables is set; `None` if it has none.
    pub(crate) fn without_inherited(&self) -> Option<Word> {
        let inherited =
            |piece: &Piece| matches!(piece, Piece::Unknown(unknown) if unknown.inherited.is_some());
        self.pieces.iter().any(inherited).then(|| {
            let pieces = self.pieces.iter().filter(|piece| !inherited(piece)).cloned().collect();
            Word { pieces }.merged()
        })
    }

    /// Returns this word followed by another, as one word.
    pub(crate) fn joined(&self, other: &Word) -> Word {
        let mut pieces = self.pieces.clone();
        pieces.extend(other.pieces.iter().cloned());
        Word { pieces }.merged()
    }

    /// Puts `value` wherever the literal `mark` stands, as `find` and `xargs` do.
    pub(crate) fn replaced(&self, mark: &str, value: &Word) -> Word {
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) if !mark.is_empty() => {
                    for (index, part) in text.split(mark).enumerate() {
                        if index > 0 {
                            pieces.extend(value.pieces.iter().cloned());
                        }
                        pieces.push(Piece::Text(part.to_owned()));
                    }
                }
                other => pieces.push(other.clone()),
            }
        }
        Word { pieces }.merged()
    }

    /// Returns bash source for the word when it is itself a script (`sh -c WORD`); what is
    /// unknown in it stays a variable. `None` if the script begins with something unknown.
    pub(crate) fn script(&self) -> Option<String> {
        let begins_unknown = matches!(self.pieces.first(), Some(Piece::Unknown(_)));
        (!begins_unknown).then(|| self.source())
    }

    /// Returns bash source for the word where nothing in it is split; what is unknown stays a
    /// variable.
    pub(crate) fn source(&self) -> String {
        let mut script = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) | Piece::Glob(text) => script.push_str(text),
                Piece::Home(user) => {
                    script.push('~');
                    script.push_str(user);
                }
                Piece::Folder => script.push_str("${PWD}"),
                Piece::Begin => script.push_str(&format!("${{{BEGIN_NAME}}}")),
                Piece::Unknown(_) => script.push_str(UNKNOWN),
                Piece::Brace(character) => script.push(*character),
                Piece::Break => script.push(' '),
            }
        }
        script
    }

    /// Returns what the word is made of.
    pub(crate) fn made(&self) -> Made {
        let mut made = Made::default();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => made.signs = made.signs.max(Signs::of(text)),
                Piece::Glob(_) => made.join(&Made::variable(made::FILES)),
                Piece::Unknown(unknown) => {
                    made.join(&unknown.made);
                    if let Some(name) = &unknown.inherited {
                        made.join(&Made::variable(name));
                    }
                }
                Piece::Home(_) | Piece::Folder | Piece::Begin | Piece::Brace(_) | Piece::Break => {}
            }
        }
        made
    }

    /// Returns what that is made of which is not known of it.
    pub(crate) fn made_unknown(&self) -> Made {
        let is_text = |piece: &&Piece| matches!(piece, Piece::Text(_));
        Word { pieces: self.pieces.iter().filter(|piece| !is_text(piece)).cloned().collect() }
            .made()
    }

    /// Returns the word for people: unknown parts as `…`.
    pub(crate) fn shown(&self) -> String {
        let mut shown = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) | Piece::Glob(text) => shown.push_str(text),
                Piece::Home(user) => {
                    shown.push('~');
                    shown.push_str(user);
                }
                Piece::Folder | Piece::Begin => shown.push_str("$PWD"),
                Piece::Unknown(Unknown { inherited: Some(name), .. }) => {
                    shown.push('$');
                    shown.push_str(name);
                }
                Piece::Unknown(_) => shown.push('…'),
                Piece::Brace(character) => shown.push(*character),
                Piece::Break => shown.push(' '),
            }
        }
        shown
    }

    fn merged(self) -> Word {
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            match (pieces.last_mut(), piece) {
                (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
                (_, Piece::Text(text)) if text.is_empty() => {}
                (_, piece) => pieces.push(piece),
            }
        }
        // Alone it is the name of a builtin; a pattern needs its other bracket.
        if let [Piece::Glob(text)] = pieces.as_slice()
            && text == "["
        {
            pieces = vec![Piece::Text(text.clone())];
        }
        Word { pieces }
    }
}

/// Returns the pieces of a value of which only that is known what it is made of.
pub(crate) fn made_of(made: Made) -> Vec<Piece> {
    vec![Piece::Unknown(Unknown { made, ..Unknown::default() })]
}

/// Returns the pieces of a value of which nothing is known.
pub(crate) fn unknown() -> Vec<Piece> {
    vec![Piece::Unknown(Unknown::default())]
}

/// Returns pieces of which that is known of what is not known.
pub(crate) fn holding(pieces: Vec<Piece>, holds: Holds) -> Vec<Piece> {
    let holding = |piece| match piece {
        Piece::Unknown(unknown) => Piece::Unknown(Unknown { holds, ..unknown }),
        other => other,
    };
    pieces.into_iter().map(holding).collect()
}

/// Returns pieces of which what is not known may be so many words.
pub(crate) fn spread(pieces: Vec<Piece>, extent: Extent) -> Vec<Piece> {
    let spread = |piece| match piece {
        Piece::Unknown(unknown) => Piece::Unknown(Unknown { extent, ..unknown }),
        other => other,
    };
    pieces.into_iter().map(spread).collect()
}

/// Makes words of raw pieces: expands braces, splits at breaks, joins neighbouring text. A word
/// that only splitting made empty is none.
pub(crate) fn finish(pieces: Vec<Piece>) -> Vec<Word> {
    let split = pieces.contains(&Piece::Break);
    let mut expanded = Vec::new();
    if pieces.iter().any(|piece| matches!(piece, Piece::Brace('{'))) {
        expand_braces(pieces, &mut expanded);
    } else {
        expanded.push(pieces);
    }
    let mut words = Vec::new();
    for pieces in expanded {
        if !split {
            words.push(Word { pieces: plain_braces(pieces) }.merged());
            continue;
        }
        let parts = pieces.split(|piece| *piece == Piece::Break);
        let parts = parts.map(|part| Word { pieces: plain_braces(part.to_vec()) }.merged());
        words.extend(parts.filter(|word| !word.pieces.is_empty()));
    }
    words
}

/// Makes one word of raw pieces, as bash does where it neither splits nor expands braces.
pub(crate) fn unsplit(pieces: Vec<Piece>) -> Word {
    let text = |piece| match piece {
        Piece::Brace(character) => Piece::Text(character.to_string()),
        Piece::Break => Piece::Text(" ".to_owned()),
        other => other,
    };
    Word { pieces: pieces.into_iter().map(text).collect() }.merged()
}

/// Turns unquoted text, as written, into pieces. `start` says that the word begins here, where
/// `~` has its meaning.
pub(crate) fn unquoted(text: &str, start: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    if start && let Some(after) = text.strip_prefix('~') {
        let end = after.find('/').unwrap_or(after.len());
        let (user, tail) = after.split_at(end);
        let number = user.strip_prefix(['+', '-']).unwrap_or(user);
        let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        // `~2` is a folder that `pushd` keeps.
        let piece = match user {
            "+" => Some(Piece::Folder),
            _ if user == "-" || is_number => Some(Piece::Unknown(Unknown::default())),
            _ if user.starts_with('-') || !user.chars().all(is_of_name) => None,
            _ => Some(Piece::Home(user.to_owned())),
        };
        if let Some(piece) = piece {
            pieces.push(piece);
            rest = tail;
        }
    }
    let mut characters = rest.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('\n') => {}
                Some(escaped) => push_text(&mut pieces, escaped),
                None => push_text(&mut pieces, '\\'),
            },
            '*' | '?' | '[' => pieces.push(Piece::Glob(character.to_string())),
            '{' | '}' | ',' => pieces.push(Piece::Brace(character)),
            other => push_text(&mut pieces, other),
        }
    }
    pieces
}

/// Turns the inside of `$'…'` into text; `None` if a quote ends it early, which is then not what
/// the grammar took it for.
pub(crate) fn dollar_quoted(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' => return None,
            '\\' => {}
            other => {
                out.push(other);
                continue;
            }
        }
        let number = |characters: &mut std::iter::Peekable<std::str::Chars>, radix, digits_max| {
            let mut value = 0u32;
            for _ in 0..digits_max {
                let Some(digit) = characters.peek().and_then(|c| c.to_digit(radix)) else { break };
                value = value.wrapping_mul(radix).wrapping_add(digit);
                characters.next();
            }
            char::from_u32(value)
        };
        let escaped = match characters.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'e' | 'E' => '\u{1b}',
            'x' => number(&mut characters, 16, 2)?,
            'u' => number(&mut characters, 16, 4)?,
            'U' => number(&mut characters, 16, 8)?,
            'c' => {
                let letter = characters.next().filter(char::is_ascii_alphabetic)?;
                char::from_u32(u32::from(letter) & 0x1f)?
            }
            first @ '0'..='7' => {
                let mut value = first.to_digit(8)?;
                for _ in 0..2 {
                    let Some(digit) = characters.peek().and_then(|c| c.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    characters.next();
                }
                char::from_u32(value & 0xff)?
            }
            other @ ('\\' | '\'' | '"' | '?') => other,
            other => {
                out.push('\\');
                other
            }
        };
        if escaped == '\0' {
            return None;
        }
        out.push(escaped);
    }
    Some(out)
}

/// Turns the known value of a variable into pieces, split and globbed as bash does unquoted.
pub(crate) fn split_value(pieces: &[Piece]) -> Vec<Piece> {
    let mut out = Vec::new();
    for piece in spread(pieces.to_vec(), Extent::Several) {
        let Piece::Text(text) = &piece else {
            out.push(piece);
            continue;
        };
        for character in text.chars() {
            match character {
                ' ' | '\t' | '\n' => out.push(Piece::Break),
                '*' | '?' | '[' => out.push(Piece::Glob(character.to_string())),
                other => push_text(&mut out, other),
            }
        }
    }
    out
}

fn push_text(pieces: &mut Vec<Piece>, character: char) {
    match pieces.last_mut() {
        Some(Piece::Text(text)) => text.push(character),
        _ => pieces.push(Piece::Text(character.to_string())),
    }
}

fn plain_braces(mut pieces: Vec<Piece>) -> Vec<Piece> {
    // `{1..3}` becomes several words of which nothing more is known.
    let sequence = |part: &[Piece]| match part {
        [Piece::Brace('{'), Piece::Text(text), Piece::Brace('}')] => text.contains(".."),
        _ => false,
    };
    let mut at = 0;
    while let Some(next) = pieces.windows(3).skip(at).position(sequence) {
        at += next;
        pieces.splice(at..at + 3, [Piece::Glob("{..}".to_owned())]);
    }
    pieces
        .into_iter()
        .map(|piece| match piece {
            Piece::Brace(character) => Piece::Text(character.to_string()),
            other => other,
        })
        .collect()
}

/// Expands the first brace list of a word, then the rest of each result, up to the bound.
fn expand_braces(pieces: Vec<Piece>, out: &mut Vec<Vec<Piece>>) {
    let mut pending = vec![pieces];
    while let Some(pieces) = pending.pop() {
        if out.len() + pending.len() >= WORDS_PER_WORD_MAX {
            out.push(vec![Piece::Unknown(Unknown::default())]);
            return;
        }
        let Some((open, commas, close)) = brace_list(&pieces) else {
            out.push(pieces);
            continue;
        };
        let mut starts = vec![open];
        starts.extend(&commas);
        let mut ends = commas;
        ends.push(close);
        // The last alternative is pushed first, so that words come out in the order of bash.
        for (start, end) in starts.into_iter().zip(ends).rev() {
            let before = pieces.iter().take(open);
            let middle = pieces.iter().take(end).skip(start + 1);
            let after = pieces.iter().skip(close + 1);
            pending.push(before.chain(middle).chain(after).cloned().collect());
        }
    }
}

/// Finds the first `{` that has a comma and a `}` of its own.
fn brace_list(pieces: &[Piece]) -> Option<(usize, Vec<usize>, usize)> {
    for (open, piece) in pieces.iter().enumerate() {
        if *piece != Piece::Brace('{') {
            continue;
        }
        let mut depth = 0usize;
        let mut commas = Vec::new();
        for (index, piece) in pieces.iter().enumerate().skip(open) {
            match piece {
                Piece::Brace('{') => depth += 1,
                Piece::Brace(',') if depth == 1 => commas.push(index),
                Piece::Brace('}') => {
                    depth -= 1;
                    if depth == 0 {
                        if !commas.is_empty() {
                            return Some((open, commas, index));
                        }
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Word, dollar_quoted, finish, unquoted};

    #[test]
    fn braces_become_words_in_the_order_of_bash() {
        for (text, want) in [
            ("a{b,c}d", "abd acd"),
            ("{a,b}{c,d}", "ac ad bc bd"),
            ("a{b,{c,d}}", "ab ac ad"),
            ("{a}", "{a}"),
            ("{}", "{}"),
            ("a,b", "a,b"),
            ("{a{b,c}", "{ab {ac"),
            ("{,x}", " x"),
            ("\\{a,b\\}", "{a,b}"),
        ] {
            let words: Vec<_> = finish(unquoted(text, true)).iter().map(Word::shown).collect();
            assert_eq!(words.join(" "), want, "{text}");
        }
    }

    #[test]
    fn a_flood_of_braces_is_bounded() {
        assert!(finish(unquoted(&"{a,b}".repeat(100), true)).len() <= 64);
        assert!(finish(unquoted(&"{".repeat(2000), true)).len() == 1);
    }

    #[test]
    fn dollar_quotes_are_decoded_or_doubted() {
        for (text, want) in [
            (r"\x72m", Some("rm")),
            (r"\162m", Some("rm")),
            (r"\u0072m", Some("rm")),
            (r"a\'b", Some("a'b")),
            (r"a\\' ; rm", None),
            (r"a\0b", None),
            (r"\q", Some(r"\q")),
        ] {
            assert_eq!(dollar_quoted(text).as_deref(), want, "{text}");
        }
    }
}
