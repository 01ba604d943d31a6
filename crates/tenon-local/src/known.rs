//! What the conversation shows of the files' text, to tell the model what it overlooks.
//!
//! Pure: prompts show files, reads and writes show them whole, edits are repeated on what is
//! known. Nothing here is certain (commands change files, too), so it only ever gives hints.

use std::collections::HashMap;

use crate::tags::Block;

/// Shorter words stand everywhere, unless they hold a digit: `v1`.
const WORD_BYTES_MIN: usize = 3;
/// Places that a hint names.
const PLACES_MAX: usize = 4;

/// The text of files as far as it was shown.
#[derive(Debug, Default)]
pub(crate) struct Known {
    texts: HashMap<String, String>,
    prompt: String,
}

impl Known {
    /// Takes what is shown in front of a prompt.
    pub(crate) fn prompt(&mut self, prompt: &str) {
        self.prompt = prompt.rsplit("\n\n").next().unwrap_or(prompt).to_owned();
        for part in prompt.split("Content of ").skip(1) {
            let Some((path, rest)) = part.split_once(":\n```\n") else { continue };
            let text = rest.split("\n```").next().unwrap_or(rest);
            self.texts.insert(path.to_owned(), text.to_owned());
        }
    }

    /// Takes what a call that went well did or, for a read, showed. Returns what should be said
    /// with its result.
    pub(crate) fn done(&mut self, block: &Block, shown: &str) -> Option<String> {
        match block {
            Block::ReadFile { path } => {
                self.texts.insert(path.clone(), shown.to_owned());
                None
            }
            Block::WriteFile { path, content } => {
                self.texts.insert(path.clone(), content.clone());
                None
            }
            Block::EditFile { path, old, new } => {
                let text = self.texts.get_mut(path)?;
                *text = text.replace(old.as_str(), new);
                remains(&self.prompt, path, text, old, new)
            }
            _ => None,
        }
    }
}

/// Returns where a word still stands that the person named and that the edit took away at its own
/// place: a rename that forgot the calls.
fn remains(prompt: &str, path: &str, text: &str, old: &str, new: &str) -> Option<String> {
    let named = |word: &&str| {
        (word.len() >= WORD_BYTES_MIN || word.contains(|letter: char| letter.is_ascii_digit()))
            && words(prompt).any(|other| other == *word)
            && !words(new).any(|other| other == *word)
    };
    let word = words(old).find(named)?;
    let places: Vec<&str> = text
        .lines()
        .filter(|line| words(line).any(|other| other == word))
        .map(str::trim)
        .take(PLACES_MAX)
        .collect();
    let lines = places.join("\n");
    (!places.is_empty())
        .then(|| format!("{word} still stands in {path}, edit it there, too:\n{lines}"))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'))
        .filter(|word| !word.is_empty() && !word.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> Block {
        Block::EditFile { path: "a.py".into(), old: old.into(), new: new.into() }
    }

    fn check(prompt: &str, block: &Block, expected: Option<&str>) {
        let mut known = Known::default();
        let shown =
            "Files: a.py\n\nContent of a.py:\n```\ndef sum_all(x):\n    pass\n\nsum_all(1)\n```";
        known.prompt(&format!("{shown}\n\n{prompt}"));
        assert_eq!(known.done(block, "").as_deref(), expected);
    }

    #[test]
    fn a_forgotten_place_of_a_rename_is_named() {
        let hint = "sum_all still stands in a.py, edit it there, too:\nsum_all(1)";
        let block = edit("def sum_all(x)", "def add_all(x)");
        check("Rename sum_all to add_all", &block, Some(hint));
        check("Rename it", &block, None);
        check("Rename sum_all to add_all", &edit("sum_all", "add_all"), None);
        check("Change sum_all", &edit("def sum_all(x)", "def sum_all(x, y)"), None);
    }

    #[test]
    fn reads_writes_and_edits_are_followed() {
        let mut known = Known::default();
        assert_eq!(known.texts.get("a.py").map(String::as_str), None);
        known.done(&Block::ReadFile { path: "a.py".into() }, "x = 1");
        known.done(&edit("1", "2"), "");
        assert_eq!(known.texts.get("a.py").map(String::as_str), Some("x = 2"));
        known.done(&Block::WriteFile { path: "a.py".into(), content: "y".into() }, "");
        assert_eq!(known.texts.get("a.py").map(String::as_str), Some("y"));
    }
}
