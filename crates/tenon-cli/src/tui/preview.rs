//! What a call would write, for the person who is asked about it: the question itself names only the
//! path. It is read and compared once, within bounds, because it is drawn with every key. Pure.

use tenon_agent::{Question, diff_hunks};

use super::line::{Line, Wrap};
use crate::{
    question::folded,
    render::{
        Meaning,
        diff::{self, DiffLine},
    },
    texts::{Language, Text},
    would_write::{replaces_all, texts, too_long},
};

/// Rows that are shown in the question; the pager shows all of them.
const ROWS_MAX: usize = 16;
/// Bytes of two texts that are compared: it takes tens of milliseconds, and no key is read meanwhile.
const COMPARED_BYTES_MAX: usize = 64 * 1024;
/// Characters that are shown of what is too long.
const BEGINNING_CHARS: usize = 2_000;

/// What would be written, in lines.
#[derive(Debug)]
pub(crate) struct Preview {
    /// What is said of it first, each with what it speaks of.
    said: Vec<(Text, String)>,
    lines: Vec<DiffLine>,
    is_too_long: bool,
}

impl Preview {
    /// Reads the texts among the arguments: an edit as a diff with what differs marked, everything else
    /// behind a plus. Runs of blanks are counted, so that they push nothing out of sight.
    pub(crate) fn of(question: &Question) -> Self {
        let too_long = too_long(question);
        let sets = |setting: &String| (Text::AskProgramSet, folded(setting));
        let said = question.programs_set.iter().map(sets).collect();
        let mut preview = Self { said, lines: Vec::new(), is_too_long: false };
        if replaces_all(question) {
            preview.said.push((Text::AskReplacesAll, String::new()));
        }
        if let Some(bytes) = too_long {
            preview.said.push((Text::AskTooLong, bytes.to_string()));
            preview.is_too_long = true;
        }
        let mut shown = texts(question);
        if let Some((old, new)) = take(&mut shown, "old_text", "new_text") {
            preview.add_edit(old, new);
        }
        shown.into_iter().for_each(|(_, text)| preview.add(text, '+'));
        preview
    }

    /// Whether not even the pager shows all of it.
    pub(crate) fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// Returns the first rows for a screen of `columns`, and whether that is all. Else a sentence says
    /// how the rest is seen.
    pub(crate) fn first_rows(&self, columns: usize, language: Language) -> (Vec<Line>, bool) {
        let mut rows = self.said(columns, language);
        let mut shown = 0;
        for line in &self.lines {
            let before = rows.len();
            push(&mut rows, line, columns);
            if rows.len() > ROWS_MAX {
                rows.truncate(ROWS_MAX.max(before));
                break;
            }
            shown += 1;
        }
        let more = self.lines.len() - shown;
        if more > 0 {
            let said = Text::AskMoreLines.say(language, &[("n", &more)]);
            rows.extend(wrapped(&Line::of(Meaning::Warning, &said), columns));
        }
        (rows, more == 0 && !self.is_too_long)
    }

    /// Returns all rows.
    pub(crate) fn all_rows(&self, columns: usize, language: Language) -> Vec<Line> {
        let mut rows = self.said(columns, language);
        self.lines.iter().for_each(|line| push(&mut rows, line, columns));
        rows
    }

    fn said(&self, columns: usize, language: Language) -> Vec<Line> {
        let said = |(text, of): &(Text, String)| {
            let said = text.say(language, &[("n", of), ("setting", of)]);
            wrapped(&Line::of(Meaning::Warning, &said), columns)
        };
        self.said.iter().flat_map(said).collect()
    }

    fn add_edit(&mut self, old: &str, new: &str) {
        if self.is_too_long || old.len() + new.len() > COMPARED_BYTES_MAX {
            if !self.is_too_long {
                self.said.push((Text::AskNotCompared, String::new()));
            }
            self.add(old, '-');
            self.add(new, '+');
            return;
        }
        // A text without a line end is no news here: it is a part of a file.
        let hunks = diff_hunks(&format!("{}\n", folded(old)), &format!("{}\n", folded(new)));
        let mut shown = diff::lines(&hunks);
        for gap in shown.iter_mut().filter(|line| line.meaning == Meaning::Hint) {
            gap.text = "⋮".to_owned();
        }
        self.lines.extend(shown.into_iter().skip(1));
    }

    fn add(&mut self, text: &str, sign: char) {
        let folded = match self.is_too_long {
            true => folded(&text.chars().take(BEGINNING_CHARS).collect::<String>()),
            false => folded(text),
        };
        let signed: String = folded.lines().map(|line| format!("{sign}{line}\n")).collect();
        self.lines.extend(diff::lines(&signed));
    }
}

/// Takes the texts of two names out of `texts`, if one of them is there: an empty one is left out there.
fn take<'a>(
    texts: &mut Vec<(&'a str, &'a str)>,
    first: &str,
    second: &str,
) -> Option<(&'a str, &'a str)> {
    let of = |name: &str| texts.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let (found, other) = (of(first), of(second));
    texts.retain(|(name, _)| *name != first && *name != second);
    (found.is_some() || other.is_some())
        .then(|| (found.unwrap_or_default(), other.unwrap_or_default()))
}

fn wrapped(line: &Line, columns: usize) -> Vec<Line> {
    let lead = Line::of(Meaning::Aside, "│ ");
    line.wrapped_uncut(columns, Wrap::Words, &lead, &lead)
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
    rows.extend(body.wrapped_uncut(columns, Wrap::Anywhere, &lead, &rest));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tenon_agent::{Action, Mode, Places, Rules, decide};

    use super::*;
    use crate::{
        render::{Style, Theme},
        would_write::SHOWN_BYTES_MAX,
    };

    fn preview(arguments: Value) -> Preview {
        let action = Action::Write { path: "a.txt".into(), written: None, protected: true };
        let decision =
            decide("write_file", &action, &Rules::default(), Mode::Auto, &Places::default());
        let (call_id, tool, subject) = ("1".into(), "write_file".into(), "a.txt".into());
        Preview::of(&Question {
            call_id,
            tool,
            subject,
            arguments,
            decision,
            programs_set: Vec::new(),
            is_masked: false,
        })
    }

    fn shown(arguments: Value, columns: usize) -> (Vec<String>, bool) {
        let (rows, is_whole) = preview(arguments).first_rows(columns, Language::English);
        (rows.iter().map(Line::text).collect(), is_whole)
    }

    #[test]
    fn an_edit_shows_what_goes_and_what_comes_and_a_long_text_its_beginning() {
        let lines = |arguments| shown(arguments, 12).0;
        let edit = json!({"path": "a.txt", "old_text": "one", "new_text": "zwei 汉字汉\nb"});
        assert_eq!(lines(edit), ["│ - one", "│ + zwei 汉", "│   字汉", "│ + b"]);
        let edit = json!({"path": "a.txt", "old_text": "a\nb 1;\nc", "new_text": "a\nb 2;\nc"});
        assert_eq!(lines(edit.clone()), ["│   a", "│ - b 1;", "│ + b 2;", "│   c"]);
        let style = Style {
            width: 12,
            colour: true,
            redraws: true,
            language: Language::English,
            theme: Theme::Terminal,
        };
        let painted = preview(edit).first_rows(12, Language::English).0[2].paint(&style);
        assert!(painted.contains("\u{1b}[32;7m2\u{1b}[0m"), "{painted:?}");
        let goes = json!({"path": "a.txt", "old_text": "one", "new_text": ""});
        assert_eq!(lines(goes)[0], "│ - one");
        let (old, new) = ("#a\n1\n2\n3\n4\n5\n#b", "a\n1\n2\n3\n4\n5\nb");
        let parts = json!({"path": "a.txt", "old_text": old, "new_text": new});
        assert_eq!(lines(parts)[..6], ["│ - #a", "│ + a", "│   1", "│   2", "│  ⋮", "│   4"]);
        assert!(lines(json!({"path": "a.txt"})).is_empty());
        assert_eq!(lines(json!({"path": "a.txt", "content": "a.txt"})), ["│ + a.txt"]);
        let long = json!({"path": "a.txt", "content": "x\n".repeat(20)});
        let (rows, is_whole) = shown(long.clone(), 60);
        assert_eq!((rows.len(), is_whole), (ROWS_MAX + 1, false));
        assert_eq!(rows[16], "│ … 4 more lines of it (Ctrl-O shows everything)");
        assert_eq!(preview(long).all_rows(60, Language::English).len(), 20);
        let wide = json!({"path": "a.txt", "content": "x".repeat(5_000)});
        let (rows, is_whole) = shown(wide, 60);
        assert_eq!((rows.len(), is_whole), (ROWS_MAX + 1, false));
        assert!(rows[16].contains("… 1 more line of it"), "{rows:?}");
    }

    #[test]
    fn blanks_push_nothing_out_of_sight_and_every_place_is_said() {
        let content = format!("export A=1{}; touch x\n", " ".repeat(2_000));
        let (rows, is_whole) = shown(json!({"path": "a.txt", "content": content}), 60);
        assert_eq!((&*rows[0], is_whole), ("│ + export A=1 ␣×2000 ; touch x", true));
        let edit = json!({"path": "a", "old_text": "a", "new_text": "b", "replace_all": true});
        let (rows, is_whole) = shown(edit, 80);
        assert_eq!(rows[0], "│ Every place where the old text stands is replaced.");
        assert!(is_whole);
    }

    #[test]
    fn what_is_too_long_is_not_compared_and_then_not_shown() {
        let old: String = (0..3_000).map(|n| format!("line {n} of it\n")).collect();
        let edit = json!({"path": "a", "old_text": old, "new_text": old.replace("9", "8")});
        let (rows, is_whole) = shown(edit.clone(), 80);
        assert!(rows[0].contains("too long to be compared") && !is_whole, "{rows:?}");
        assert!(!preview(edit).is_too_long());
        let edit = json!({"path": "a", "old_text": "x", "new_text": "y".repeat(SHOWN_BYTES_MAX)});
        let (rows, is_whole) = shown(edit.clone(), 80);
        assert!(rows[0].contains("It is 262145 bytes long") && !is_whole, "{rows:?}");
        assert!(preview(edit).is_too_long());
    }
}
