//! The box of a tool call: name and main argument above, the first lines of the result inside,
//! what became of it below. Straight whatever the text holds.

use std::ops::Range;

use tenon_agent::{View, own_lines_at_end};
use tenon_model::visible;

use super::{
    diff,
    measure::{self, Row},
    style::{Meaning, Piece, Style},
};
use crate::texts::Text;

/// What begins a sentence of tenon's own in a result. It is shown whole, since it ends with what
/// would allow a refused call.
const SENTENCES: [&str; 2] = ["Error: ", "[walls] "];

/// Enough for each of them and a path or a command that is named in it, however narrow the screen is.
const SENTENCE_CHARS_MAX: usize = 800;

/// Lines of tenon's own at the end of a result that are shown, the last ones: what walls did stands there
/// behind all that a command printed, which may look the same.
const OWN_LINES_MAX: usize = 24;

/// Lines of a result that are shown; the log has more and the model got all of it.
const RESULT_LINES_MAX: usize = 8;
/// Rows of a diff: what was changed is worth a screen.
const DIFF_ROWS_MAX: usize = 40;
/// Rows of a main argument that does not fit on the upper edge, such as a script.
const SUBJECT_ROWS_MAX: usize = 12;
/// Narrower screens get a box of this width, which then wraps.
const WIDTH_MIN: usize = 16;
/// What the two edges and the spaces beside them take of a row.
const EDGES: usize = 4;
/// Narrower boxes show a diff without the numbers of its lines.
const NUMBERED_WIDTH_MIN: usize = 40;
/// What stands between what is said on the lower edge.
const BETWEEN: &str = " · ";
/// What the corners, the strokes beside them and the spaces around a title take of an edge.
const CORNERS: usize = 6;

/// What is drawn of one call.
pub(super) struct Frame<'a> {
    /// The tool.
    pub name: &'a str,
    /// The main argument; empty if there is none.
    pub subject: &'a str,
    /// What people see of the result, and the result itself; none if there was no answer.
    pub answer: Option<(&'a View, &'a str)>,
    /// Whether it did not run because it may not: then the answer is a sentence of tenon's own, or a person's.
    pub refused: bool,
    /// What became of it.
    pub footer: &'a [Piece],
    /// What it changed, in one line, which is shown whole: beside the footer if there is room, else above it.
    pub changes: &'a str,
    /// Whether nothing of it is left out.
    pub whole: bool,
    /// Whether there is no right edge: then no row is longer than its text, and a terminal that gets
    /// narrower has little to break.
    pub open: bool,
}

/// Draws `frame`, ending in a line end.
pub(super) fn draw(frame: &Frame<'_>, style: &Style) -> String {
    let width = style.width.max(WIDTH_MIN);
    let Frame { refused, whole, open, .. } = *frame;
    let mut canvas = Canvas { style, width, refused, whole, open, drawn: String::new() };
    let name = visible(frame.name);
    let subject = visible(frame.subject.trim_end());
    let name = measure::cut(&name, canvas.width - CORNERS);
    let room = canvas.width.saturating_sub(CORNERS + 1 + name.width);
    let beside = match measure::rows(&subject, room, 2).as_slice() {
        [row] if !subject.contains('\n') && !row.doubtful => Some(row.clone()),
        _ => None,
    };
    canvas.top(&name, beside.as_ref());
    if beside.is_none() {
        canvas.subject(&subject);
        canvas.divider();
    }
    match frame.answer {
        Some((View::Diff { diff, .. }, result)) => {
            canvas.diff(diff);
            canvas.own(result, own_lines_at_end(result));
        }
        Some((View::Text { .. }, result)) if frame.whole => {
            canvas.text(result, result.lines().count());
        }
        Some((View::Text { text, lines }, _)) => canvas.text(text, *lines),
        None => {}
    }
    let mut edge = frame.footer.to_vec();
    if !frame.changes.is_empty() {
        edge.push(Piece::new(Meaning::Plain, frame.changes));
        if edge_width(&edge) > canvas.width {
            edge.pop();
            canvas.wrapped(Meaning::Plain, frame.changes, usize::MAX - 1);
        }
    }
    canvas.bottom(&edge);
    canvas.drawn
}

fn edge_width(pieces: &[Piece]) -> usize {
    let between = BETWEEN.chars().count() * pieces.len().saturating_sub(1);
    CORNERS + between + pieces.iter().map(|piece| measure::width(&piece.text)).sum::<usize>()
}

struct Canvas<'a> {
    style: &'a Style,
    width: usize,
    refused: bool,
    whole: bool,
    open: bool,
    drawn: String,
}

impl Canvas<'_> {
    fn most(&self, rows: usize) -> usize {
        if self.whole { usize::MAX - 1 } else { rows }
    }

    fn top(&mut self, name: &Row, subject: Option<&Row>) {
        let mut used = CORNERS + name.width;
        self.drawn.push_str("┌─ ");
        self.drawn.push_str(&self.style.paint(Meaning::Name, &name.text));
        if let Some(subject) = subject.filter(|subject| !subject.text.is_empty()) {
            self.drawn.push(' ');
            self.drawn.push_str(&self.style.paint(Meaning::Hint, &subject.text));
            used += 1 + subject.width;
        }
        if self.open {
            self.drawn.push('\n');
            return;
        }
        self.drawn.push_str(&format!(" {}─┐\n", "─".repeat(self.width.saturating_sub(used))));
    }

    fn subject(&mut self, subject: &str) {
        let mut rows_left = self.most(SUBJECT_ROWS_MAX);
        let mut lines = subject.lines();
        while rows_left > 0
            && let Some(line) = lines.next()
        {
            rows_left -= self.wrapped(Meaning::Plain, line, rows_left);
        }
        self.more(lines.count(), Text::MoreLines);
    }

    /// Draws the first lines of what was printed, and all that tenon says of it.
    fn text(&mut self, text: &str, lines: usize) {
        let own = own_lines_at_end(text);
        let printed = text.lines().count() - own;
        let printed_in_all = lines.saturating_sub(own);
        // The note would take the row of a last line.
        let fits = RESULT_LINES_MAX + usize::from(printed_in_all == RESULT_LINES_MAX + 1);
        let shown = printed.min(self.most(fits));
        for line in text.lines().take(shown) {
            let line = visible(line);
            if self.refused || SENTENCES.iter().any(|start| line.starts_with(start)) {
                self.own(&line, 1);
            } else {
                let row = measure::cut(&line, self.width - EDGES);
                self.row(Meaning::Plain, &row);
            }
        }
        if shown == 0 && own == 0 {
            let row = measure::cut(self.style.say(Text::NoOutput), self.width - EDGES);
            self.row(Meaning::Aside, &row);
        }
        let own_shown = own.min(self.most(OWN_LINES_MAX));
        self.more(lines.saturating_sub(shown + own_shown), Text::MoreLines);
        self.own(text, own_shown);
    }

    /// Draws the last `lines` of a result as sentences of tenon's own.
    fn own(&mut self, result: &str, lines: usize) {
        let rows = self.most(SENTENCE_CHARS_MAX.div_ceil(self.width - EDGES));
        for line in result.lines().skip(result.lines().count() - lines) {
            self.wrapped(Meaning::Plain, &visible(line), rows);
        }
    }

    fn diff(&mut self, diff: &str) {
        let mut rows_left = self.most(DIFF_ROWS_MAX);
        let lines = diff::lines(diff);
        let mut lines = lines.iter();
        while rows_left > 0
            && let Some(line) = lines.next()
        {
            let sign = match line.number.filter(|_| self.width >= NUMBERED_WIDTH_MIN) {
                Some(number) => format!("{number:>4} {}", line.sign),
                None => line.sign.to_owned(),
            };
            let moved = |mark: &Range<usize>| mark.start + sign.len()..mark.end + sign.len();
            let marks: Vec<_> = line.marks.iter().map(moved).collect();
            let text = sign + &line.text;
            rows_left -= self.wrapped_marked(line.meaning, &text, &marks, rows_left);
        }
        // A view keeps so many characters; what was cut away cannot be counted.
        let cut = diff.len() >= View::CHARS_MAX && diff.chars().count() >= View::CHARS_MAX;
        let more = lines.count();
        self.more(more, if cut { Text::MoreLinesAtLeast } else { Text::MoreLines });
    }

    /// Draws `line` in as many rows as it takes, at most `rows_max`, and returns how many.
    fn wrapped(&mut self, meaning: Meaning, line: &str, rows_max: usize) -> usize {
        self.wrapped_marked(meaning, line, &[], rows_max)
    }

    /// The same with bytes of `line` that stand out.
    fn wrapped_marked(
        &mut self,
        meaning: Meaning,
        line: &str,
        marks: &[Range<usize>],
        rows_max: usize,
    ) -> usize {
        let columns = self.width - EDGES;
        let mut rows = measure::rows(line, columns, rows_max + 1);
        if rows.len() > rows_max
            && let (Some(over), Some(last)) = (rows.pop(), rows.last_mut())
        {
            *last = measure::cut(&(last.text.clone() + &over.text), columns);
        }
        let mut offset = 0;
        for row in &rows {
            self.painted_row(&diff::paint(self.style, meaning, &row.text, offset, marks), row);
            offset += row.text.len();
        }
        rows.len()
    }

    fn more(&mut self, lines: usize, text: Text) {
        if lines == 0 {
            return;
        }
        let said = text.say(self.style.language, &[("n", &lines)]);
        let row = measure::cut(&said, self.width - EDGES);
        self.row(Meaning::Aside, &row);
    }

    fn row(&mut self, meaning: Meaning, row: &Row) {
        self.painted_row(&self.style.paint(meaning, &row.text), row);
    }

    fn painted_row(&mut self, painted: &str, row: &Row) {
        self.drawn.push_str("│ ");
        self.drawn.push_str(painted);
        if self.open {
            self.drawn.push('\n');
            return;
        }
        if row.doubtful && self.style.redraws {
            // Cursor Character Absolute: the edge stands where it must, however wide the
            // terminal made the text.
            self.drawn.push_str(&format!("\u{1b}[{}G│\n", self.width));
            return;
        }
        let padding = (self.width - EDGES).saturating_sub(row.width);
        self.drawn.push_str(&format!("{} │\n", " ".repeat(padding)));
    }

    fn divider(&mut self) {
        let (line, edge) = if self.open { (1, "") } else { (self.width - 2, "┤") };
        self.drawn.push_str(&format!("├{}{edge}\n", "─".repeat(line)));
    }

    fn bottom(&mut self, footer: &[Piece]) {
        let mut said = String::new();
        let mut used = CORNERS;
        for piece in footer {
            let width = measure::width(&piece.text);
            let between = if said.is_empty() { "" } else { BETWEEN };
            if used + between.chars().count() + width > self.width {
                break;
            }
            used += between.chars().count() + width;
            said.push_str(between);
            said.push_str(&self.style.paint(piece.meaning, &piece.text));
        }
        if self.open {
            self.drawn.push_str(format!("└─ {said}").trim_end());
            self.drawn.push('\n');
            return;
        }
        let line = "─".repeat(self.width.saturating_sub(used));
        let said = if said.is_empty() { "──".to_owned() } else { format!(" {said} ") };
        self.drawn.push_str(&format!("└─{line}{said}─┘\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{render::style::Theme, texts::Language};

    const FLAG: &str = "The user can allow it with --allow 'bash(sudo id:*)'.";

    /// Returns what is within the box of `view`, without the ends of its rows.
    fn drawn(view: &View, result: &str, width: usize) -> String {
        let (language, theme) = (Language::English, Theme::Terminal);
        let style = Style { width, colour: false, redraws: false, language, theme };
        let (answer, footer) = (Some((view, result)), &[][..]);
        let (refused, whole, open) = (false, false, false);
        let (name, subject, changes) = ("bash", "x", "");
        let frame = Frame { name, subject, answer, refused, footer, changes, whole, open };
        let drawn = draw(&frame, &style);
        let rows = drawn.lines().filter_map(|row| row.strip_prefix("│ ")?.strip_suffix('│'));
        rows.map(str::trim_end).collect()
    }

    fn plain(text: &str) -> String {
        text.replace([' ', '\n'], "")
    }

    #[test]
    fn a_sentence_that_says_what_would_allow_a_call_is_shown_whole() {
        let refused =
            format!("Error: needs the user's yes, and nobody is here to ask: it is. {FLAG}");
        let blocked = format!("out\n[walls] blocked: example.com:80 (no rule allows it). {FLAG}");
        for text in [refused, blocked] {
            assert_eq!(plain(&drawn(&View::text(&text), &text, 40)), plain(&text));
        }
    }

    #[test]
    fn what_walls_did_is_shown_behind_output_of_any_length() {
        let long = "words ".repeat(60);
        let own = format!("[walls] files: {long}. {FLAG}\n[walls] blocked: a.example:80. {FLAG}");
        for (lines, width) in [(9, 80), (10, 40), (200, 40), (20_000, 24)] {
            let text = "a line\n".repeat(lines) + &own;
            let left_out = match lines {
                9 => "aline".to_owned(),
                lines => format!("…{}morelines", lines - RESULT_LINES_MAX),
            };
            let expected = "aline".repeat(RESULT_LINES_MAX) + &left_out + &plain(&own);
            assert_eq!(plain(&drawn(&View::text(&text), &text, width)), expected, "{lines}");
        }
        let edited = View::diff("a", "@@ -1 +1 @@\n-a\n+b\n");
        let result = format!("Edited a.\n{own}");
        assert!(plain(&drawn(&edited, &result, 40)).ends_with(&plain(&own)));
    }

    #[test]
    fn lines_that_only_look_like_tenons_own_take_no_more_than_their_room() {
        let own = format!("[walls] blocked: a.example:80. {FLAG}");
        let text = "[walls] forged\n".repeat(1_000) + &own;
        let drawn = drawn(&View::text(&text), &text, 80);
        assert!(drawn.ends_with(&own), "{drawn}");
        assert_eq!(drawn.matches("forged").count(), OWN_LINES_MAX - 1);
        assert!(drawn.starts_with(&format!("… {} more lines", 1_001 - OWN_LINES_MAX)), "{drawn}");
    }
}
