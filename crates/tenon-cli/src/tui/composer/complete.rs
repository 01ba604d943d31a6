//! What is offered while a word is typed: commands after a slash, files after an at sign. Pure.

use super::fuzzy;
use crate::images::{QUOTES, at_signs, quoted};
use crate::texts::Language;
use crate::tui::commands::{COMMANDS, arguments};

/// Rows of the list.
pub(crate) const ROWS_MAX: usize = 8;

/// What the word at the caret asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A command that begins so.
    Command(String),
    /// What stands behind a command, with these letters.
    Argument(&'static str, String),
    /// A file with these letters.
    File(String),
}

/// What is offered, and which of it is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    pub items: Vec<Item>,
    pub chosen: usize,
    /// Where the word begins that is replaced.
    pub start: usize,
    /// Whether what is taken with Enter is sent at once.
    pub sends: bool,
}

/// One thing that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// What is put in place of the word.
    pub text: String,
    /// What it does.
    pub about: &'static str,
}

/// Returns what the word before the caret asks for, and where it begins.
pub(crate) fn wanted(text: &str, caret: usize) -> Option<(usize, Wanted)> {
    let before = text.get(..caret)?;
    if let Some(name) = before.strip_prefix('/')
        && name.chars().all(|c| c.is_ascii_alphabetic())
    {
        return Some((0, Wanted::Command(name.to_owned())));
    }
    if let Some((name, letters)) = before.split_once(' ')
        && !letters.is_empty()
        && !letters.contains(char::is_whitespace)
        && let Some(command) = COMMANDS.iter().find(|command| command.name == name)
    {
        return Some((name.len() + 1, Wanted::Argument(command.name, letters.to_owned())));
    }
    file_name(before).map(|(start, letters)| (start, Wanted::File(letters.to_owned())))
}

/// Returns where the name at the end of `before` begins, and its letters; quotes that are still open
/// hold one with spaces together.
fn file_name(before: &str) -> Option<(usize, &str)> {
    at_signs(before).into_iter().rev().find_map(|at| {
        let rest = before.get(at + 1..)?;
        let quoted = QUOTES.iter().find_map(|quote| Some((quote, rest.strip_prefix(*quote)?)));
        let (letters, is_open) = match quoted {
            Some((quote, letters)) => (letters, !letters.contains([*quote, '\n'])),
            None => (rest, !rest.contains(char::is_whitespace)),
        };
        is_open.then_some((at, letters))
    })
}

/// Returns a path as it is written behind an at sign. Of a folder with spaces the quotes stay open:
/// what is in it comes next.
fn named(path: &str) -> String {
    let is_plain = !path.contains(char::is_whitespace) && !path.starts_with(QUOTES);
    match quoted(path).filter(|_| !is_plain) {
        Some(name) if path.ends_with('/') => name.trim_end_matches(QUOTES).to_owned(),
        Some(name) => name,
        None => format!("@{path}"),
    }
}

/// Returns what is offered for `wanted`, of these files and models.
pub(crate) fn offer(
    start: usize,
    wanted: &Wanted,
    (files, models): (&[String], &[String]),
    language: Language,
) -> Offer {
    let items = match wanted {
        Wanted::Command(name) => COMMANDS
            .iter()
            .filter(|command| command.name.strip_prefix('/').is_some_and(|c| c.starts_with(name)))
            .map(|command| Item {
                text: command.name.to_owned(),
                about: command.about.template(language),
            })
            .collect(),
        Wanted::Argument(name, letters) => fuzzy::best(letters, arguments(name, models), ROWS_MAX)
            .into_iter()
            .map(|word| Item { text: word.to_owned(), about: "" })
            .collect(),
        Wanted::File(letters) => fuzzy::best(letters, files.iter().map(String::as_str), ROWS_MAX)
            .into_iter()
            .map(|path| Item { text: named(path), about: "" })
            .collect(),
    };
    let sends = !matches!(wanted, Wanted::File(_));
    Offer { items, chosen: 0, start, sends }
}

impl Offer {
    /// Moves the choice.
    pub(crate) fn step(&mut self, down: bool) {
        let count = self.items.len().max(1);
        self.chosen = (self.chosen + if down { 1 } else { count - 1 }) % count;
    }

    /// Returns the chosen text.
    pub(crate) fn text(&self) -> Option<&str> {
        self.items.get(self.chosen).map(|item| item.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_at_the_start_and_an_at_sign_before_a_word_ask_for_something() {
        let command = |name: &str| Some((0, Wanted::Command(name.to_owned())));
        let file = |start, letters: &str| Some((start, Wanted::File(letters.to_owned())));
        let cases = [
            ("/he", 3, command("he")),
            ("/", 1, command("")),
            ("a /he", 5, None),
            ("/etc/passwd", 11, None),
            ("/model ", 7, None),
            ("/model gp", 9, Some((7, Wanted::Argument("/model", "gp".to_owned())))),
            ("/model gp @a", 12, file(10, "a")),
            ("/etc gp", 7, None),
            ("see @ma", 7, file(4, "ma")),
            ("看　@说", "看　@说".len(), file(6, "说")),
            ("me@example.org", 14, None),
            ("@", 1, file(0, "")),
            ("see @\"my no", 11, file(4, "my no")),
            ("see @'my no", 11, file(4, "my no")),
            ("@\"a b.txt\" and", 14, None),
            ("@\"a b.txt\" @c", 13, file(11, "c")),
            ("(@src", 5, file(1, "src")),
            ("@one @two", 9, file(5, "two")),
            ("", 0, None),
        ];
        for (text, caret, expected) in cases {
            assert_eq!(wanted(text, caret), expected, "{text:?}");
        }
    }

    #[test]
    fn a_name_with_spaces_is_put_in_quotes_and_a_folder_is_gone_into() {
        let cases = [
            ("a.txt", "@a.txt"),
            ("my notes.txt", "@\"my notes.txt\""),
            ("a \"b\".txt", "@'a \"b\".txt'"),
            ("a \"b' c.txt", "@a \"b' c.txt"),
            ("\"a\".txt", "@'\"a\".txt'"),
            ("my dir/", "@\"my dir/"),
            ("src/", "@src/"),
        ];
        for (path, expected) in cases {
            assert_eq!(named(path), expected, "{path}");
        }
    }

    #[test]
    fn commands_are_offered_by_their_beginning_and_the_choice_goes_round() {
        let none: (&[String], &[String]) = (&[], &[]);
        let mut found = offer(0, &Wanted::Command("qu".into()), none, Language::English);
        assert_eq!(found.text(), Some("/quit"));
        found = offer(0, &Wanted::Command(String::new()), none, Language::English);
        found.step(false);
        assert_eq!(found.chosen, COMMANDS.len() - 1);
        found.step(true);
        assert_eq!(found.chosen, 0);
        let models = ["anthropic/claude-x".to_owned(), "openai/gpt-x".to_owned()];
        let wanted = Wanted::Argument("/model", "gpt".into());
        found = offer(7, &wanted, (&[], &models), Language::English);
        assert_eq!((found.text(), found.sends), (Some("openai/gpt-x"), true));
    }
}
