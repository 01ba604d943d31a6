//! The changed lines of a file, for the result of an edit and for people.
//!
//! Only the stretch between the first and the last change is compared, so that a small edit of a
//! large file costs little.

use std::{fmt::Write, time::Duration};

use similar::{ChangeTag, DiffOp, TextDiff};

use super::text_file::counted;

/// How many unchanged lines stand around a change.
const CONTEXT_LINES: usize = 2;

/// A comparison that takes longer than this goes on more coarsely.
const TIME_MAX: Duration = Duration::from_millis(200);

/// The most characters of a diff that the model is shown: it knows what it asked for.
const MODEL_CHARS_MAX: usize = 4_000;

/// Returns the hunks of a unified diff from `old` to `new`, without file headers. Line ends are
/// not shown.
///
/// ```
/// use tenon_agent::diff_hunks;
///
/// assert_eq!(diff_hunks("one\n", "two\n"), "@@ -1 +1 @@\n-one\n+two\n");
/// ```
pub fn hunks(old: &str, new: &str) -> String {
    let stretch = Stretch::of(old, new);
    let diff = TextDiff::configure().timeout(TIME_MAX).diff_lines(stretch.old, stretch.new);
    let mut text = String::new();
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old_lines = first.old_range().start..last.old_range().end;
        let new_lines = first.new_range().start..last.new_range().end;
        let _ = writeln!(
            text,
            "@@ -{} +{} @@",
            lines(old_lines, stretch.lines_before),
            lines(new_lines, stretch.lines_before)
        );
        for op in &group {
            push_lines(&mut text, &diff, op);
        }
    }
    text
}

/// Returns `hunks` cut to what the model is shown.
pub(super) fn for_model(hunks: &str) -> String {
    let Some((end, _)) = hunks.char_indices().nth(MODEL_CHARS_MAX) else {
        return hunks.trim_end().to_owned();
    };
    let shown = hunks.get(..end).unwrap_or(hunks);
    let shown = shown.rsplit_once('\n').map_or(shown, |(lines, _)| lines);
    let more = (hunks.lines().count() - shown.lines().count()) as u64;
    format!("{shown}\n... ({})", counted(more, "more line"))
}

fn push_lines(text: &mut String, diff: &TextDiff<'_, '_, str>, op: &DiffOp) {
    for change in diff.iter_changes(op) {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        let line = change.value();
        text.push(sign);
        text.push_str(line.trim_end_matches(['\r', '\n']));
        text.push('\n');
        if !line.ends_with('\n') {
            text.push_str("\\ No newline at end of file\n");
        }
    }
}

/// As unified diffs have it: an empty range names the line before it.
fn lines(range: std::ops::Range<usize>, before: usize) -> String {
    match range.len() {
        0 => format!("{},0", range.start + before),
        1 => (range.start + before + 1).to_string(),
        count => format!("{},{count}", range.start + before + 1),
    }
}

/// Whole lines from some before the first difference to some after the last.
struct Stretch<'a> {
    old: &'a str,
    new: &'a str,
    lines_before: usize,
}

impl<'a> Stretch<'a> {
    fn of(old: &'a str, new: &'a str) -> Self {
        let (old_bytes, new_bytes) = (old.as_bytes(), new.as_bytes());
        let same = |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| {
            pairs.take_while(|(one, other)| one == other).count()
        };
        let head = same(&mut old_bytes.iter().zip(new_bytes));
        let start = line_start(old_bytes, head, CONTEXT_LINES);
        let longest = old.len().min(new.len()) - head;
        let tail = same(&mut old_bytes.iter().rev().zip(new_bytes.iter().rev())).min(longest);
        let end = line_end(old_bytes, old.len() - tail, CONTEXT_LINES);
        let kept = old.len() - end;
        Self {
            old: old.get(start..end).unwrap_or(old),
            new: new.get(start..new.len() - kept).unwrap_or(new),
            lines_before: memchr::memchr_iter(b'\n', old_bytes.get(..start).unwrap_or_default())
                .count(),
        }
    }
}

/// Returns where the line `lines` lines above the one at `at` begins.
fn line_start(bytes: &[u8], at: usize, lines: usize) -> usize {
    let before = bytes.get(..at).unwrap_or(bytes);
    memchr::memrchr_iter(b'\n', before).nth(lines).map_or(0, |newline| newline + 1)
}

/// Returns where the line `lines` lines below the one at `at` ends.
fn line_end(bytes: &[u8], at: usize, lines: usize) -> usize {
    let after = bytes.get(at..).unwrap_or_default();
    memchr::memchr_iter(b'\n', after).nth(lines).map_or(bytes.len(), |newline| at + newline + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(old: &str, new: &str, expected: &str) {
        assert_eq!(hunks(old, new), expected);
    }

    #[test]
    fn changed_lines_are_shown_with_two_lines_around() {
        check(
            "a\nb\nc\nd\ne\nf\n",
            "a\nb\nc\nX\ne\nf\n",
            "@@ -2,5 +2,5 @@\n b\n c\n-d\n+X\n e\n f\n",
        );
        check("a\n", "a\n", "");
        check("", "a\n", "@@ -0,0 +1 @@\n+a\n");
        check(
            "a\r\nb",
            "a\r\nc",
            "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
        );
        check("世\n", "界\n", "@@ -1 +1 @@\n-世\n+界\n");
    }

    #[test]
    fn a_long_diff_is_cut_at_a_line_for_the_model() {
        let text = for_model(&"+line\n".repeat(2_000));
        assert!(text.ends_with("\n+line\n... (1334 more lines)"), "{text}");
    }

    proptest! {
        #[test]
        fn the_stretch_changes_nothing(
            old in proptest::collection::vec("[ab世]{0,2}", 0..12),
            new in proptest::collection::vec("[ab世]{0,2}", 0..12),
            end in "\n?",
        ) {
            let (old, new) = (old.join("\n") + &end, new.join("\n") + &end);
            let (shown, stretch) = (hunks(&old, &new), Stretch::of(&old, &new));
            prop_assert_eq!(shown.is_empty(), old == new);
            let head = old.len() - stretch.old.len() == new.len() - stretch.new.len();
            prop_assert!(head, "what is outside is as long in both");
        }
    }
}
