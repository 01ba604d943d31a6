//! How people see a result: so much of it that the log and the screen stay small, and always what
//! walls refused.

use serde::{Deserialize, Serialize};

/// How tenon's own lines behind what was printed begin.
const NOTES: [&str; 3] = ["[walls] ", "[changes] ", "[jobs] "];

/// Returns how many of the last lines of a result are tenon's own: what walls did, what was changed,
/// which jobs ended. A command can print lines like these, too.
///
/// ```
/// let result = "exit code 1\n[walls] blocked: example.com:443\n[changes] 1 new";
/// assert_eq!(tenon_agent::own_lines_at_end(result), 2);
/// assert_eq!(tenon_agent::own_lines_at_end("[walls] of a log\nbuilt"), 0);
/// ```
pub fn own_lines_at_end(result: &str) -> usize {
    let is_own = |line: &&str| NOTES.iter().any(|note| line.starts_with(note));
    result.lines().rev().take_while(is_own).count()
}

/// How people see a result. The constructors keep the first [`View::CHARS_MAX`] characters, and of a
/// text the last lines as well that are tenon's own ([`own_lines_at_end`]).
///
/// ```
/// use tenon_agent::View;
///
/// fn heading(view: &View) -> String {
///     match view {
///         View::Text { lines, .. } => format!("{lines} lines"),
///         View::Diff { path, .. } => format!("changes of {path}"),
///     }
/// }
///
/// assert_eq!(heading(&View::text("a\nb\n")), "2 lines");
/// assert_eq!(heading(&View::diff("a.txt", "@@ -1 +1 @@\n-a\n+b\n")), "changes of a.txt");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum View {
    /// Plain lines.
    Text {
        /// The first lines, and tenon's own at its end.
        text: String,
        /// How many lines there are in all.
        lines: usize,
    },
    /// A unified diff of one file.
    Diff {
        /// The file as the model named it.
        path: String,
        /// The hunks, without file headers.
        diff: String,
    },
}

impl View {
    /// The most characters of text that a view keeps: a screen or two, so that the log and the
    /// screen stay small whatever a command prints.
    ///
    /// ```
    /// use tenon_agent::View;
    ///
    /// fn is_cut(view: &View) -> bool {
    ///     let (View::Text { text, .. } | View::Diff { diff: text, .. }) = view;
    ///     text.chars().count() >= View::CHARS_MAX
    /// }
    ///
    /// assert!(is_cut(&View::diff("long.txt", &"+a line\n".repeat(1_000))));
    /// ```
    pub const CHARS_MAX: usize = 4_000;

    /// Returns a view of the first lines of `text`, and of tenon's own at its end.
    ///
    /// ```
    /// use tenon_agent::View;
    ///
    /// let View::Text { text, lines } = View::text(&"a line\n".repeat(1_000)) else { unreachable!() };
    /// assert_eq!((text.len(), lines), (View::CHARS_MAX, 1_000));
    /// ```
    pub fn text(text: &str) -> Self {
        let lines = text.lines().count();
        Self::Text { text: kept(text), lines }
    }

    /// Returns a view of a unified diff of `path`.
    ///
    /// ```
    /// use tenon_agent::{ToolOutput, View};
    ///
    /// let view = View::diff("greet.py", "@@ -1 +1 @@\n-print('hi')\n+print('hello')\n");
    /// let output = ToolOutput::text("Edited greet.py.").with_view(view);
    /// ```
    pub fn diff(path: &str, diff: &str) -> Self {
        Self::Diff { path: path.to_owned(), diff: cut(diff).to_owned() }
    }

    /// Returns the view of a text that is not masked yet, and whole: a cut could go through what is
    /// to be masked.
    pub(crate) fn whole_text(text: &str) -> Self {
        Self::Text { text: text.to_owned(), lines: text.lines().count() }
    }

    /// Returns the same view of a diff.
    pub(crate) fn whole_diff(path: &str, diff: String) -> Self {
        Self::Diff { path: path.to_owned(), diff }
    }

    /// Returns the view as it is kept: its texts changed by `mask`, and cut after that.
    pub(crate) fn masked(self, mask: impl Fn(String) -> String) -> Self {
        match self {
            Self::Text { text, lines } => Self::Text { text: kept(&mask(text)), lines },
            Self::Diff { path, diff } => Self::diff(&mask(path), &mask(diff)),
        }
    }

    /// Adds lines of tenon's own at the end; beside a diff they stand in the result alone.
    pub(crate) fn add_own(&mut self, added: &str) {
        if let Self::Text { text, lines } = self {
            text.push('\n');
            text.push_str(added);
            *lines += added.lines().count();
        }
    }
}

/// Returns what a view keeps of a text.
fn kept(text: &str) -> String {
    let own = own_lines_at_end(text);
    if own == 0 || cut(text) == text {
        return cut(text).to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let (printed, own) = lines.split_at(lines.len() - own);
    let mut left = View::CHARS_MAX;
    // What a command prints in this form stands in front of it.
    let fit = own.iter().rev().take_while(|line| match left.checked_sub(line.chars().count()) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
    let fit = own.len() - fit.count();
    let printed = printed.join("\n");
    let head = (!printed.is_empty()).then(|| cut(&printed));
    head.into_iter().chain(own.iter().skip(fit).copied()).collect::<Vec<_>>().join("\n")
}

fn cut(text: &str) -> &str {
    match text.char_indices().nth(View::CHARS_MAX) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_cut_at_a_character_and_still_counts_all_lines() {
        let View::Text { text, lines } = View::text(&"汉\n".repeat(10_000)) else { panic!() };
        assert_eq!((text.chars().count(), lines), (View::CHARS_MAX, 10_000));
    }

    #[test]
    fn what_walls_did_is_kept_however_long_the_output_is() {
        let own = "[walls] blocked: example.com:443\n[changes] 1 new";
        let printed = "汉字\n".repeat(2_000);
        let View::Text { text, lines } = View::text(&(printed.clone() + own)) else { panic!() };
        assert!(text.starts_with("汉字\n") && text.ends_with(&format!("\n{own}")), "{text}");
        assert_eq!((text.chars().count(), lines), (View::CHARS_MAX + own.len() + 1, 2_002));
        let forged = "[walls] of the command's own\n".repeat(2_000);
        let View::Text { text, .. } = View::text(&(printed + &forged + own)) else { panic!() };
        assert!(text.ends_with(own) && text.chars().count() <= 3 * View::CHARS_MAX, "{text}");
        let masked = View::whole_text(&("a\n".repeat(3_000) + own)).masked(|text| text);
        let View::Text { text, .. } = masked else { panic!() };
        assert!(text.ends_with(own), "{text}");
    }
}
