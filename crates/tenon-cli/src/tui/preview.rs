//! What a call would write, from its arguments, for the person who is asked about it: the question
//! itself names only the path. Pure.

use serde_json::Value;
use tenon_agent::diff_hunks;

use super::line::{Line, Wrap};
use crate::{
    render::{
        Meaning,
        diff::{self, DiffLine},
    },
    texts::{Language, Text},
};

/// Rows that are shown; the pager shows the whole change once it is made.
const ROWS_MAX: usize = 16;

/// Draws the texts among `arguments` but for `subject`, which stands above: an edit as a diff with
/// what differs marked, everything else behind a plus.
pub(crate) fn draw(
    arguments: &Value,
    subject: &str,
    columns: usize,
    language: Language,
) -> Vec<Line> {
    let mut rows = Vec::new();
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let edit = text("old_text").zip(text("new_text"));
    if let Some((old, new)) = edit {
        // A text without a line end is no news here: it is a part of a file.
        let hunks = diff_hunks(&format!("{old}\n"), &format!("{new}\n"));
        let shown = diff::lines(&hunks).into_iter().filter(|line| line.meaning != Meaning::Hint);
        for line in shown {
            push(&mut rows, &line, columns);
        }
    }
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let is_drawn = edit.is_some() && ["old_text", "new_text"].contains(&name.as_str());
        // The subject is where the path leads.
        let text = value.as_str().filter(|text| name.as_str() != "path" && *text != subject);
        let Some(text) = text.filter(|_| !is_drawn) else { continue };
        for line in diff::lines(&text.lines().map(|line| format!("+{line}\n")).collect::<String>())
        {
            push(&mut rows, &line, columns);
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

fn push(rows: &mut Vec<Line>, line: &DiffLine, columns: usize) {
    let mut lead = Line::of(Meaning::Aside, "│ ");
    let mut rest = lead.clone();
    lead.push(line.meaning, &format!("{} ", line.sign));
    rest.push(Meaning::Plain, "  ");
    let mut body = Line::default();
    for piece in line.pieces() {
        body.push(piece.meaning, &piece.text);
    }
    rows.extend(body.wrapped(columns, Wrap::Anywhere, &lead, &rest));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::render::{Style, Theme};

    #[test]
    fn an_edit_shows_what_goes_and_what_comes_and_a_long_text_its_beginning() {
        let shown = |arguments: Value| -> Vec<String> {
            let rows = draw(&arguments, "a.txt", 12, Language::English);
            rows.iter().map(Line::text).collect()
        };
        let edit = json!({"path": "a.txt", "old_text": "one", "new_text": "zwei 汉字汉\nb"});
        assert_eq!(shown(edit), ["│ - one", "│ + zwei 汉", "│   字汉", "│ + b"]);
        let edit = json!({"path": "a.txt", "old_text": "a\nb 1;\nc", "new_text": "a\nb 2;\nc"});
        assert_eq!(shown(edit.clone()), ["│   a", "│ - b 1;", "│ + b 2;", "│   c"]);
        let style = Style {
            width: 12,
            colour: true,
            redraws: true,
            language: Language::English,
            theme: Theme::Terminal,
        };
        let painted = draw(&edit, "a.txt", 12, Language::English)[2].paint(&style);
        assert!(painted.contains("\u{1b}[32;7m2\u{1b}[0m"), "{painted:?}");
        let long = shown(json!({"path": "a.txt", "content": "x\n".repeat(20)}));
        assert_eq!(long.len(), ROWS_MAX + 1);
        assert_eq!(long.last().map(String::as_str), Some("│ … 4 more …"));
        assert!(shown(json!({"path": "a.txt"})).is_empty());
    }
}
