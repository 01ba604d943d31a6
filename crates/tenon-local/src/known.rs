//! What the conversation shows of the files' text, to tell the model what it overlooks.
//!
//! Pure: prompts show files, reads and writes show them whole, edits are repeated on what is
//! known. What a command may have changed is forgotten.

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

    /// Returns whether `part` may stand in the file at `path`, and `word` in it or after it:
    /// unless it is known otherwise.
    pub(crate) fn may_hold(&self, path: &str, part: &str, word: Option<&str>) -> bool {
        let Some(text) = self.texts.get(path) else { return true };
        let text = format!("{text}\n");
        let Some(word) = word else { return text.contains(part) };
        text.match_indices(part).any(|(at, _)| {
            let (_, from) = text.split_at_checked(at).unwrap_or_default();
            from.contains(word)
        })
    }

    /// Returns `block`, or, where it is an edit that puts one word for another at some of the
    /// places, the same for all places: the person named both words, and no place.
    pub(crate) fn widened(&self, block: Block) -> Block {
        let Block::EditFile { path, old, new } = &block else { return block };
        match self.word_for_word(path, old, new) {
            Some((from, to)) => Block::EditFile { path: path.clone(), old: from, new: to },
            None => block,
        }
    }

    fn word_for_word(&self, path: &str, old: &str, new: &str) -> Option<(String, String)> {
        let text = self.texts.get(path)?;
        let (from, to) = words(old).zip(words(new)).find(|(from, to)| from != to)?;
        let named = |word| words(&self.prompt).any(|other| other == word);
        let places = text.matches(from).count();
        // As a part of another word it means something else.
        let is_whole = words(text).filter(|word| *word == from).count() == places;
        let is_all = old.replace(from, to) == new && named(from) && named(to) && is_whole;
        (is_all && places > old.matches(from).count()).then(|| (from.to_owned(), to.to_owned()))
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
            // A command may change any file.
            Block::Bash { .. } => {
                self.texts.clear();
                None
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
    fn one_word_for_another_is_meant_everywhere_if_both_are_named_and_no_place() {
        let mut known = Known::default();
        known.prompt("Content of a.py:\n```\n# v1\n\nIt is v1.\n```\n\n把v1改成v2");
        assert_eq!(known.widened(edit("# v1", "# v2")), edit("v1", "v2"));
        assert_eq!(known.widened(edit("# v1", "## v2")), edit("# v1", "## v2"));
        known.prompt("Say v2 in the heading");
        assert_eq!(known.widened(edit("# v1", "# v2")), edit("# v1", "# v2"));
        // As a part of `v12` it is another word.
        known.prompt("Content of a.py:\n```\n# v1\n\nIt is v12, v1.\n```\n\nv1 to v2");
        assert_eq!(known.widened(edit("# v1", "# v2")), edit("# v1", "# v2"));
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
