//! The changed lines of a file, for the result of an edit and for people.
//!
//! Only the stretch between the first and the last change is compared, so that a small edit of a
//! large file costs little.

use std::{
    collections::HashMap,
    fmt::Write,
    time::{Duration, Instant},
};

use similar::{
    DiffOp, DiffTag, DiffableStr,
    algorithms::{Capture, Compact, Replace, myers},
    group_diff_ops,
};

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
    let (old, new) = (stretch.old.tokenize_lines(), stretch.new.tokenize_lines());
    let mut text = String::new();
    for group in group_diff_ops(diff_ops(&old, &new), CONTEXT_LINES) {
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
            match op.tag() {
                DiffTag::Equal => push_lines(&mut text, ' ', old.get(op.old_range())),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    push_lines(&mut text, '-', old.get(op.old_range()));
                    push_lines(&mut text, '+', new.get(op.new_range()));
                }
            }
        }
    }
    text
}

/// Returns the stretches that are equal and those that are not, in their order. A comparison that
/// takes longer than 200 ms goes on more coarsely.
///
/// Lines and words are compared as numbers, and by one algorithm: the comparison is generic, and
/// each other use of it would put tens of kilobytes into the program.
///
/// ```
/// let ops = tenon_agent::diff_ops(&["a", "b"], &["a", "c"]);
/// assert_eq!((ops[0].old_range(), ops[1].old_range()), (0..1, 1..2));
/// ```
pub fn diff_ops<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffOp> {
    let deadline = Instant::now() + TIME_MAX;
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut numbers = |parts: &[&'a str]| -> Vec<usize> {
        let number = |part: &&'a str| {
            let next = known.len();
            *known.entry(part).or_insert(next)
        };
        parts.iter().map(number).collect()
    };
    let (old, new) = (numbers(old), numbers(new));
    let mut ops = Compact::new(Replace::new(Capture::new()), &old, &new);
    let (all_old, all_new) = (0..old.len(), 0..new.len());
    let Ok(()) = myers::diff_deadline(&mut ops, &old, all_old, &new, all_new, Some(deadline));
    ops.into_inner().into_inner().into_ops()
}

/// Returns whole lines of two texts, from some before the first difference to some behind the last.
pub(crate) fn whole_lines(old: &str, new: &str) -> (String, String) {
    let Stretch { old, new, .. } = Stretch::of(old, new);
    // Where both end a line, that is no news.
    let ended = old.strip_suffix('\n').zip(new.strip_suffix('\n'));
    let (old, new) = ended.unwrap_or((old, new));
    (old.to_owned(), new.to_owned())
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

fn push_lines(text: &mut String, sign: char, lines: Option<&[&str]>) {
    for line in lines.unwrap_or_default() {
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

    #[track_caller]
    fn check_ops(old: &str, new: &str) {
        let ops = diff_ops(&old.tokenize_lines(), &new.tokenize_lines());
        assert_eq!(ops, similar::TextDiff::from_lines(old, new).ops());
    }

    #[test]
    fn a_long_text_is_compared_as_the_library_would() {
        let old: String = (0..400).map(|at| format!("{}\n", at % 97)).collect();
        let new: String = (0..400).map(|at| format!("{}\n", at % 89 + at / 50)).collect();
        check_ops(&old, &new);
        check_ops(&old, &old);
        check_ops(&old, &old.replace("13\n", "new\r"));
    }

    proptest! {
        #[test]
        fn lines_are_compared_as_the_library_would(
            old in "([ab世]{0,2}(\n|\r\n|\r)){0,12}[ab]?",
            new in "([ab世]{0,2}(\n|\r\n|\r)){0,12}[ab]?",
        ) {
            check_ops(&old, &new);
        }

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
