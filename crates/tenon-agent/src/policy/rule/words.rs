//! Words of a command in a rule: `*` is any text within a word, `:*` at the end lets more follow.
//!
//! A permission takes them as they are written. What denies or asks rather says too much: there a
//! program is known by its last name, options may stand anywhere and others between the words, and a
//! `*` alone is any number of words.

use std::fmt;

use crate::policy::shell::{Piece, SimpleCommand, Word, arguments::behind_git_options};

/// The words of a rule for commands; whether more may follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    words: Vec<Wild>,
    open: bool,
}

/// Text with `*` for anything: the parts between the stars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wild {
    parts: Vec<String>,
    /// It begins with the sign of a home folder, not with a `~` like any other.
    is_of_home: bool,
}

impl Words {
    /// Returns the words that are these texts.
    pub(super) fn exactly<'a>(words: impl Iterator<Item = &'a str>, open: bool) -> Words {
        let wild = |word: &str| Wild { parts: vec![word.to_owned()], is_of_home: false };
        Words { words: words.map(wild).collect(), open }
    }

    /// Reads what stands in the parentheses; `None` if a quote is open.
    pub(super) fn read(text: &str) -> Option<Words> {
        let (line, open) = match text.strip_suffix(":*") {
            Some(line) => (line, true),
            None => (text, false),
        };
        Some(Words { words: split(line)?, open })
    }

    /// Returns the first word as text, if it has no star.
    pub(super) fn first(&self) -> Option<&str> {
        match self.words.first()?.parts.as_slice() {
            [text] => Some(text),
            _ => None,
        }
    }

    /// Says whether these are the words of a command as they are written, the program by its plain
    /// name or where the system keeps it.
    pub(super) fn are(&self, words: &[Word]) -> bool {
        let pattern = &self.words;
        if words.len() < pattern.len() || (!self.open && words.len() > pattern.len()) {
            return false;
        }
        pattern.iter().zip(words).enumerate().all(|(index, (wild, word))| match word.literal() {
            Some(text) if index == 0 => wild.names_program(text),
            Some(text) => wild.matches(text),
            None if wild.is_of_home => wild.is_home(word),
            // A lone star stands for a word that is not known, too, but never for the program.
            None => index > 0 && wild.is_lone_star(),
        })
    }

    /// Says whether they speak of a command, however the program is named and whatever options
    /// stand between them.
    pub(super) fn speak_of(&self, command: &SimpleCommand) -> bool {
        let plain = plain_name(command);
        let mut by_name = self.clone();
        if let Some(program) = by_name.words.first_mut() {
            program.take_folder();
        }
        by_name.open |= self.words.len() <= 1 || self.ends_in_a_star();
        let passes = |words: &[Word]| {
            let (rest, options) = by_name.apart();
            by_name.pass_over(words)
                || !options.is_empty()
                    && options.iter().all(|option| is_given(option, words))
                    && rest.pass_over(words)
        };
        self.are(&command.words)
            || passes(&plain)
            || git_words(&plain).is_some_and(|git| passes(&git))
    }

    /// Returns them without their options, and the options.
    fn apart(&self) -> (Words, Vec<&str>) {
        let option = |wild: &Wild| match wild.parts.as_slice() {
            [text] => text.starts_with('-') && text.len() > 1,
            _ => false,
        };
        let (options, words): (Vec<&Wild>, Vec<&Wild>) =
            self.words.iter().partition(|wild| option(wild));
        let options = options.into_iter().flat_map(|wild| wild.parts.first()).map(String::as_str);
        let words = words.into_iter().cloned().collect();
        (Words { words, open: self.open }, options.collect())
    }

    /// Says whether they are the words of a command, with more for stars alone, and with options and
    /// their values between them.
    fn pass_over(&self, words: &[Word]) -> bool {
        // reached[j]: what was looked at of the rule is the first j words.
        let mut reached = vec![false; words.len() + 1];
        if let Some(start) = reached.first_mut() {
            *start = true;
        }
        for (index, wild) in self.words.iter().enumerate() {
            let mut next = vec![false; words.len() + 1];
            let mut before = false;
            // What was passed over last is an option that may have a value.
            let mut has_value = false;
            for (at, slot) in next.iter_mut().enumerate() {
                let here = reached.get(at).copied().unwrap_or(false);
                if wild.is_lone_star() {
                    before |= here;
                    *slot = before;
                    continue;
                }
                let last = at.checked_sub(1).and_then(|last| words.get(last));
                let Some(word) = last else {
                    before = here;
                    continue;
                };
                *slot = before && wild.is(word, index == 0);
                let is_option = index > 0 && word.prefix().starts_with(['-', '+']);
                let passes = before && (is_option || has_value);
                has_value = passes && is_option;
                before = here || passes;
            }
            reached = next;
        }
        match self.open {
            true => reached.contains(&true),
            false => reached.last().copied().unwrap_or(false),
        }
    }

    /// Says whether they speak of a command if what is not known of its words is such.
    pub(super) fn may_speak_of(&self, command: &SimpleCommand) -> bool {
        let plain = plain_name(command);
        let fixed = self.fixed();
        let may_be = |given: &[Word]| {
            let given = match fixed.len() < self.words.len() {
                true => given,
                false => given.get(..fixed.len()).unwrap_or(given),
            };
            given.iter().any(|word| word.literal().is_none())
                && fixed.iter().zip(given).all(|(wild, word)| wild.may_be(word))
        };
        let may_have_options = || {
            let (rest, options) = self.apart();
            let is_open = |word: &Word| word.is_many() && !word.is_no_option();
            !options.is_empty() && plain.iter().any(is_open) && rest.pass_over(&plain)
        };
        command.program().is_some()
            && (may_be(&plain)
                || may_have_options()
                || without_options(&plain).is_some_and(|plain| may_be(&plain))
                || git_words(&plain).is_some_and(|git| may_be(&git)))
    }

    /// Says whether they speak of a command that may run, if what is not known of its words is such;
    /// some of them may be several.
    pub(super) fn may_be_meant(&self, words: &[Word]) -> bool {
        let may_be = |given: &[Word]| {
            let mut given = given.iter();
            for wild in self.fixed() {
                match given.next() {
                    Some(word) if !wild.may_be(word) => return false,
                    Some(word) if word.is_many() => return true,
                    Some(_) => {}
                    None => return false,
                }
            }
            true
        };
        let plain = plain_name(&SimpleCommand { words: words.to_vec(), ..Default::default() });
        may_be(&plain) || git_words(&plain).is_some_and(|git| may_be(&git))
    }

    /// Returns the words in front of the first star alone.
    fn fixed(&self) -> &[Wild] {
        let end = self.words.iter().position(Wild::is_lone_star).unwrap_or(self.words.len());
        self.words.get(..end).unwrap_or_default()
    }

    fn ends_in_a_star(&self) -> bool {
        self.words.last().is_some_and(|last| {
            last.parts.len() > 1 && last.parts.last().is_some_and(String::is_empty)
        })
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<_> = self.words.iter().map(Wild::to_string).collect();
        if let (Some(program), Some(shown)) = (self.words.first(), words.first_mut()) {
            let is_bare = !shown.contains('"') && program.parts.len() == 1;
            if is_bare && !program.is_of_home && shown.contains([':', ',', '=']) {
                // Such signs would be taken for what does not belong there.
                *shown = format!("\"{shown}\"");
            }
        }
        let words = words.join(" ");
        // Stars alone would be read as all commands, not as those of one word, and quotes around all
        // for those that somebody put around several words.
        let is_all = !self.open && matches!(words.as_str(), "*" | "**");
        let is_one = self.words.len() == 1 && words.starts_with('"') && words.len() > 2;
        let quote = if is_all || is_one { "\"\"" } else { "" };
        write!(f, "{quote}{words}{}", if self.open { ":*" } else { "" })
    }
}

impl Wild {
    pub(super) fn new(text: &str) -> Wild {
        Wild { parts: text.split('*').map(str::to_owned).collect(), is_of_home: false }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return text.is_empty() };
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
        for part in middle {
            let Some(position) = left.find(part.as_str()) else { return false };
            left = left.get(position + part.len()..).unwrap_or_default();
        }
        left.ends_with(last.as_str())
    }

    fn is(&self, word: &Word, is_program: bool) -> bool {
        match word.literal() {
            Some(text) if is_program => self.names_program(text),
            Some(text) => self.matches(text),
            None => self.is_of_home && self.is_home(word),
        }
    }

    /// Says whether a word is this beneath a home folder.
    fn is_home(&self, word: &Word) -> bool {
        match word.pieces.as_slice() {
            [Piece::Home(user)] => self.matches(&format!("~{user}")),
            [Piece::Home(user), Piece::Text(rest)] => self.matches(&format!("~{user}{rest}")),
            _ => false,
        }
    }

    /// Says whether this is a star and nothing else.
    fn is_lone_star(&self) -> bool {
        self.parts.len() > 1 && self.parts.iter().all(String::is_empty)
    }

    /// Says whether a word may be this; of some only the beginning is known.
    fn may_be(&self, word: &Word) -> bool {
        let (first, begins) = (self.parts.first().map_or("", String::as_str), word.prefix());
        let begins_so = || first.starts_with(begins) || self.parts.len() > 1;
        word.literal().map_or_else(begins_so, |text| self.matches(text))
    }

    /// Says whether this names a program: as written, or by its plain name where the system keeps
    /// it. A star of a plain name stands for no path: `l*` is not `l/x`.
    fn names_program(&self, program: &str) -> bool {
        let is_path = self.parts.iter().any(|part| part.contains('/'));
        let is_plain = |name: &str| !name.contains('/') && self.matches(name);
        is_plain(program)
            || (is_path && self.matches(program))
            || ["/bin/", "/usr/bin/", "/usr/local/bin/"]
                .iter()
                .any(|folder| program.strip_prefix(folder).is_some_and(is_plain))
    }

    /// Takes the folder from the name of a program.
    fn take_folder(&mut self) {
        let Some(at) = self.parts.iter().rposition(|part| part.contains('/')) else { return };
        self.parts.drain(..at);
        if let Some(first) = self.parts.first_mut() {
            *first = first.rsplit('/').next().unwrap_or_default().to_owned();
        }
        self.is_of_home = false;
    }
}

impl fmt::Display for Wild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_alphanumeric() || "_-./=@%+:,^~".contains(c);
        if self.parts.len() == 1 && self.parts.iter().all(String::is_empty) {
            return f.write_str("\"\"");
        }
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str("*")?;
            }
            let mut part = part.as_str();
            let begins_with_tilde = index == 0 && part.starts_with('~');
            if begins_with_tilde && self.is_of_home {
                f.write_str("~")?;
                part = part.get(1..).unwrap_or_default();
            }
            let is_home = begins_with_tilde && !self.is_of_home;
            // A colon at the end could be taken for the mark of an open rule.
            if part.chars().all(plain) && !part.ends_with(':') && !is_home {
                f.write_str(part)?;
            } else {
                write!(f, "\"{}\"", part.replace('\\', "\\\\").replace('"', "\\\""))?;
            }
        }
        Ok(())
    }
}

/// Says whether an option is among some words: letters also one by one and with others, a long one also
/// with its value.
fn is_given(option: &str, words: &[Word]) -> bool {
    let has = |word: &Word, letter| {
        let letters = word.prefix().strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| letters.contains(letter))
    };
    let letters = option.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    match letters {
        Some(letters) => letters.chars().all(|letter| words.iter().any(|word| has(word, letter))),
        None => words.iter().any(|word| {
            let value = word.prefix().strip_prefix(option);
            value.is_some_and(|value| value.is_empty() || value.starts_with('='))
        }),
    }
}

fn plain_name(command: &SimpleCommand) -> Vec<Word> {
    let mut words = command.words.clone();
    if let (Some(name), Some(first)) = (command.program(), words.first_mut()) {
        *first = Word::text(name);
    }
    words
}

/// Returns a git command without git's own options.
fn git_words(words: &[Word]) -> Option<Vec<Word>> {
    let (git, arguments) = words.split_first()?;
    if git.literal() != Some("git") {
        return None;
    }
    Some(std::iter::once(git).chain(behind_git_options(arguments)).cloned().collect())
}

/// Returns a command without the options in front of its first operand; git's own are known better.
fn without_options(words: &[Word]) -> Option<Vec<Word>> {
    let (program, arguments) = words.split_first()?;
    if program.literal() == Some("git") {
        return None;
    }
    let is_option = |word: &&Word| word.prefix().starts_with(['-', '+']);
    let behind = arguments.iter().skip_while(is_option);
    Some(std::iter::once(program).chain(behind).cloned().collect())
}

/// Splits a pattern into words; `None` if a quote is open.
fn split(text: &str) -> Option<Vec<Wild>> {
    let mut words = Vec::new();
    let mut word: Option<Wild> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_with(|| Wild {
            parts: vec![String::new()],
            is_of_home: character == '~',
        });
        if character == '*' {
            word.parts.push(String::new());
            continue;
        }
        let Some(last) = word.parts.last_mut() else { continue };
        match character {
            '\\' => last.push(characters.next()?),
            '\'' | '"' => loop {
                match characters.next()? {
                    other if other == character => break,
                    '\\' if character == '"' => last.push(characters.next()?),
                    other => last.push(other),
                }
            },
            other => last.push(other),
        }
    }
    words.extend(word);
    Some(words)
}
