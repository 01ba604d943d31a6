//! Words that are looked for, and what is shown of where they are.

use std::collections::BTreeSet;

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::masking::Masking;

/// Characters that a result shows before and after the first word.
const CONTEXT_CHARS: usize = 40;

/// The words that are looked for.
pub(super) struct Words {
    /// Each as it stands inside a string of JSON.
    pub(super) in_json: Vec<RegexMatcher>,
    /// Each as it reads, in the same order.
    in_text: Vec<RegexMatcher>,
}

impl Words {
    /// Returns `None` if there is no word.
    pub(super) fn new(words: &str) -> Option<Self> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let each = |word: fn(&str) -> String| {
            words.iter().map(|text| matcher(&word(text))).collect::<Option<Vec<_>>>()
        };
        let (in_json, in_text) = (each(json_of)?, each(str::to_owned)?);
        (!words.is_empty()).then_some(Self { in_json, in_text })
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.in_text.len()
    }

    /// Returns which words are in a text, by their places in the list, and where the first of them is.
    pub(super) fn in_text(&self, text: &str) -> (BTreeSet<usize>, Option<(usize, usize)>) {
        let hits = self.in_text.iter().enumerate().filter_map(|(place, word)| {
            let hit = word.find(text.as_bytes()).ok().flatten()?;
            Some((place, (hit.start(), hit.end())))
        });
        let hits: Vec<_> = hits.collect();
        (hits.iter().map(|hit| hit.0).collect(), hits.iter().map(|hit| hit.1).min())
    }
}

fn matcher(word: &str) -> Option<RegexMatcher> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(true).fixed_strings(true).build_many(&[word]).ok()
}

/// Returns a word as it stands inside a string of JSON.
fn json_of(word: &str) -> String {
    let json = serde_json::to_string(word).unwrap_or_default();
    json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Returns what stands around the first place of a word.
pub(super) fn excerpt(
    text: &str,
    (start, end): (usize, usize),
    masking: &Masking,
) -> Option<String> {
    let (before, after) = (text.get(..start)?, text.get(end..)?);
    let from = before.char_indices().nth_back(CONTEXT_CHARS - 1).map_or(0, |(at, _)| at);
    let to = after.char_indices().nth(CONTEXT_CHARS).map_or(text.len(), |(at, _)| end + at);
    let part = masking.part(text, from..to);
    let words: Vec<&str> = part.split_whitespace().collect();
    let (left, right) = (if from > 0 { "… " } else { "" }, if to < text.len() { " …" } else { "" });
    Some(format!("{left}{}{right}", words.join(" ")))
}
