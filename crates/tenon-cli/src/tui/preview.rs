//! What a call would write, from its arguments, for the person who is asked about it: the question
//! itself names only the path. Pure.

use serde_json::Value;

use super::line::{Line, Wrap};
use crate::{
    render::Meaning,
    texts::{Language, Text},
};

/// Rows that are shown; the pager shows the whole change once it is made.
const ROWS_MAX: usize = 16;

/// Draws the texts among `arguments` but for `subject`, which stands above: what would go, by the
/// argument's name, behind a minus, and everything else behind a plus.
pub(crate) fn draw(
    arguments: &Value,
    subject: &str,
    columns: usize,
    language: Language,
) -> Vec<Line> {
    let mut rows = Vec::new();
    let mut texts: Vec<_> = arguments.as_object().into_iter().flatten().collect();
    // What goes stands above what comes.
    texts.sort_by_key(|(name, _)| !name.starts_with("old"));
    for (name, value) in texts {
        // The subject is where the path leads.
        let text = value.as_str().filter(|text| name.as_str() != "path" && *text != subject);
        let Some(text) = text else { continue };
        let (sign, meaning) =
            if name.starts_with("old") { ("- ", Meaning::Error) } else { ("+ ", Meaning::Done) };
        let mut lead = Line::of(Meaning::Aside, "│ ");
        let mut rest = lead.clone();
        lead.push(meaning, sign);
        rest.push(meaning, "  ");
        for line in text.lines() {
            rows.extend(Line::of(meaning, line).wrapped(columns, Wrap::Anywhere, &lead, &rest));
        }
    }
    let more = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    if more > 0 {
        let said = Text::MoreLines.say(language, &[("n", &more)]);
        rows.push(Line::of(Meaning::Aside, &format!("│ {said}")).cut(columns));
    }
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_shows_what_goes_and_what_comes_and_a_long_text_its_beginning() {
        let shown = |arguments: Value| -> Vec<String> {
            let rows = draw(&arguments, "a.txt", 12, Language::English);
            rows.iter().map(Line::text).collect()
        };
        let edit = json!({"path": "a.txt", "old_text": "one", "new_text": "zwei 汉字汉\nb"});
        assert_eq!(shown(edit), ["│ - one", "│ + zwei 汉", "│   字汉", "│ + b"]);
        let long = shown(json!({"path": "a.txt", "content": "x\n".repeat(20)}));
        assert_eq!(long.len(), ROWS_MAX + 1);
        assert_eq!(long.last().map(String::as_str), Some("│ … 4 more …"));
        assert!(shown(json!({"path": "a.txt"})).is_empty());
    }
}
