//! Why a text is not in a file: the nearest place, and the first character that differs.
//!
//! Pure. Nothing is ever replaced by likeness; this only helps the model to write the text that
//! stands there.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

use crate::{masking::Masking, tools::text_file::counted};

/// The most lines of the file that are shown around the nearest place.
const SHOWN_LINES_MAX: usize = 20;

/// The most characters of each of them.
const SHOWN_CHARS_MAX: usize = 300;

/// A line that stands in so many places says nothing about where a text belongs.
const COMMON_MIN: usize = 200;

/// Lines are compared letter by letter only up to this length, by pairs of characters.
const COMPARED_CHARS_MAX: usize = 400;

/// Two lines that share less than this part of their pairs of characters are not alike.
const LIKENESS_MIN: f64 = 0.5;

/// Returns what the model should know about `old` not being in `file`, both with plain line ends.
pub(super) fn diagnosis(file: &str, old: &str, new: &str, masking: &Masking) -> String {
    let mut text = String::new();
    let unnumbered = without_line_numbers(old);
    let old = unnumbered.as_deref().unwrap_or(old);
    if unnumbered.is_some() {
        text.push_str(" old_text has line numbers in front, which are not part of the file.");
        if file.contains(old) {
            text.push_str(" Without them it would be found.");
            return text;
        }
    }
    if !new.trim().is_empty()
        && let Some(at) = file.find(new)
    {
        let line = super::find::line_of(file.as_bytes(), at);
        let _ = write!(text, " new_text stands there already, at line {line}.");
    }
    let file_lines: Vec<&str> = file.lines().collect();
    let old_lines: Vec<&str> = old.lines().collect();
    let Some(start) = nearest(&file_lines, &old_lines) else {
        text.push_str(" No line of it is like old_text; read the file again.");
        return text;
    };
    if let Some(difference) = first_difference(&file_lines, &old_lines, start) {
        let _ = write!(text, " {difference}.");
    }
    let count = old_lines.len().min(SHOWN_LINES_MAX);
    let cut = |line: &&str| masking.part(line, 0..cut(line));
    let shown: Vec<String> = file_lines.iter().skip(start).take(count).map(cut).collect();
    let place = match shown.len() {
        1 => format!("Line {} is", start + 1),
        lines => format!("Lines {}-{} are", start + 1, start + lines),
    };
    let _ = write!(text, " {place}:\n{}", shown.join("\n"));
    text
}

/// Returns where a line is cut.
fn cut(line: &str) -> usize {
    line.char_indices().nth(SHOWN_CHARS_MAX).map_or(line.len(), |(end, _)| end)
}

/// Returns `old` without the numbers that `read_file` puts in front, if every line has one.
fn without_line_numbers(old: &str) -> Option<String> {
    let unnumbered = |line: &str| {
        let (number, text) = line.trim_start().split_once('\t')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.to_owned())
    };
    let lines: Option<Vec<String>> = old.lines().map(unnumbered).collect();
    lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"))
}

/// Returns the index of the line where `old` would begin: where most of its lines stand at the
/// right distance, or else where the line is that is most like its longest one.
fn nearest(file: &[&str], old: &[&str]) -> Option<usize> {
    let keys: Vec<String> = old.iter().map(|line| squeezed(line)).collect();
    let wanted: HashSet<&str> =
        keys.iter().map(String::as_str).filter(|key| key.len() > 1).collect();
    let mut stands_at: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, line) in file.iter().enumerate() {
        let key = squeezed(line);
        if wanted.contains(key.as_str()) {
            stands_at.entry(key).or_default().push(index);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (offset, key) in keys.iter().enumerate() {
        let places = stands_at.get(key).map(Vec::as_slice).unwrap_or_default();
        if places.len() < COMMON_MIN {
            for place in places {
                *votes.entry(place.saturating_sub(offset)).or_default() += key.len();
            }
        }
    }
    let best = votes.into_iter().max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)));
    best.map(|(start, _)| start).or_else(|| most_alike(file, old))
}

fn most_alike(file: &[&str], old: &[&str]) -> Option<usize> {
    let (offset, longest) = old.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let wanted = pairs(longest);
    let mut best = (LIKENESS_MIN, None);
    for (index, line) in file.iter().enumerate() {
        // Lines of very different length cannot be alike enough.
        if line.len() > 4 * longest.len() + 8 {
            continue;
        }
        let found = pairs(line);
        let shared = found.intersection(&wanted).count() as f64;
        let likeness = 2.0 * shared / (found.len() + wanted.len()).max(1) as f64;
        if likeness > best.0 {
            best = (likeness, Some(index.saturating_sub(offset)));
        }
    }
    best.1
}

fn pairs(line: &str) -> HashSet<(char, char)> {
    let chars = || squeezed_chars(line).take(COMPARED_CHARS_MAX);
    chars().zip(chars().skip(1)).collect()
}

/// Returns what is left of a line when blanks, case and the shape of quotes and dashes are not
/// looked at.
fn squeezed(line: &str) -> String {
    squeezed_chars(line).collect()
}

fn squeezed_chars(line: &str) -> impl Iterator<Item = char> {
    line.chars().filter(|char| !char.is_whitespace() && !is_invisible(*char)).map(|char| match char
    {
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201C}' | '\u{201D}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other.to_ascii_lowercase(),
    })
}

fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}')
}

fn first_difference(file: &[&str], old: &[&str], start: usize) -> Option<String> {
    for (offset, wanted) in old.iter().enumerate() {
        let number = start + offset + 1;
        let Some(found) = file.get(start + offset) else {
            return Some(format!("The file ends at line {}", file.len()));
        };
        // The text may begin and end within a line.
        let is_same = found == wanted
            || offset == 0 && found.ends_with(wanted)
            || offset + 1 == old.len() && found.starts_with(wanted);
        if !is_same {
            return Some(format!("Line {number}{}", difference(found, wanted, offset == 0)));
        }
    }
    None
}

fn difference(found: &str, wanted: &str, is_first: bool) -> String {
    let (found_indent, wanted_indent) = (indent(found), indent(wanted));
    let may_begin_behind_indent = is_first && wanted_indent.is_empty();
    if found_indent != wanted_indent && !may_begin_behind_indent {
        return format!(
            ": the file is indented by {}, old_text by {}",
            blanks(found_indent),
            blanks(wanted_indent)
        );
    }
    let skipped = if may_begin_behind_indent { found_indent.chars().count() } else { 0 };
    let mut column = skipped + 1;
    let (mut found, mut wanted) = (found.chars().skip(skipped), wanted.chars());
    loop {
        match (found.next(), wanted.next()) {
            (one, other) if one == other && one.is_some() => column += 1,
            (one, other) => {
                return format!(
                    ", column {column}: the file has {}, old_text has {}",
                    spelled(one),
                    spelled(other)
                );
            }
        }
    }
}

fn indent(line: &str) -> &str {
    let end = line.find(|char: char| !char.is_whitespace()).unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}

/// Names blanks in runs: `2 tabs and 4 spaces`.
fn blanks(indent: &str) -> String {
    let mut runs: Vec<(char, u64)> = Vec::new();
    for char in indent.chars() {
        match runs.last_mut() {
            Some((last, count)) if *last == char => *count += 1,
            _ => runs.push((char, 1)),
        }
    }
    let runs: Vec<String> = runs
        .into_iter()
        .map(|(char, count)| match char {
            '\t' => counted(count, "tab"),
            ' ' => counted(count, "space"),
            other => format!("{count} × U+{:04X}", u32::from(other)),
        })
        .collect();
    if runs.is_empty() { "nothing".into() } else { runs.join(" and ") }
}

fn spelled(char: Option<char>) -> String {
    match char {
        None => "the end of the line".into(),
        Some(' ') => "a space".into(),
        Some('\t') => "a tab".into(),
        Some('\r') => "a carriage return".into(),
        Some('\u{A0}') => "a no-break space (U+00A0)".into(),
        Some('\u{3000}') => "a wide space (U+3000)".into(),
        Some(char) if char.is_control() || is_invisible(char) => {
            format!("an invisible U+{:04X}", u32::from(char))
        }
        Some(char) if char.is_ascii_alphanumeric() => char.to_string(),
        Some(char) => format!("{char} (U+{:04X})", u32::from(char)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, old: &str, expected: &str) {
        assert_eq!(diagnosis(file, old, "something new", &Masking::off()), expected);
    }

    #[test]
    fn spec_30_the_first_differing_character_is_spelled_out() {
        check(
            "a\n\tif x:\n\t\ty()\n",
            "\tif x:\n        y()\n",
            " Line 3: the file is indented by 2 tabs, old_text by 8 spaces. Lines 2-3 are:\n\tif x:\n\t\ty()",
        );
        check(
            "say(\u{201C}hi\u{201D})\n",
            "say(\"hi\")",
            " Line 1, column 5: the file has \u{201C} (U+201C), old_text has \" (U+0022). Line 1 is:\nsay(\u{201C}hi\u{201D})",
        );
        check(
            "x = 1  \ny = 2\n",
            "x = 1\ny = 2",
            " Line 1, column 6: the file has a space, old_text has the end of the line. Lines 1-2 are:\nx = 1  \ny = 2",
        );
        check(
            "let total\u{A0}= 1;\n",
            "let total = 1;",
            " Line 1, column 10: the file has a no-break space (U+00A0), old_text has a space. Line 1 is:\nlet total\u{A0}= 1;",
        );
        check(
            "    return total_price\n",
            "return total_prize",
            " Line 1, column 21: the file has c, old_text has z. Line 1 is:\n    return total_price",
        );
        check("one\ntwo\n", "two\nthree\n", " The file ends at line 2. Line 2 is:\ntwo");
    }

    #[test]
    fn the_place_with_most_lines_in_common_is_the_nearest() {
        let file = "fn a() {\n    go();\n}\nfn b() {\n    go();\n    stop();\n}\n";
        check(
            file,
            "fn c() {\n    go();\n    stop();\n",
            " Line 4, column 4: the file has b, old_text has c. Lines 4-6 are:\nfn b() {\n    go();\n    stop();",
        );
    }

    #[test]
    fn usual_mistakes_are_named() {
        check(
            "a = 1\n",
            "1\ta = 1\n",
            " old_text has line numbers in front, which are not part of the file. Without them it would be found.",
        );
        let text = diagnosis("x\nnew line\n", "old thing", "new line", &Masking::off());
        assert!(text.starts_with(" new_text stands there already, at line 2."), "{text}");
        check("", "a", " No line of it is like old_text; read the file again.");
        check("完全\n", "\n", " No line of it is like old_text; read the file again.");
    }

    #[test]
    fn a_long_place_is_cut() {
        let file = "line of text\n".repeat(100) + "end\n";
        let text = diagnosis(&file, &(file.clone() + "more"), "new", &Masking::off());
        assert_eq!(text.lines().count(), 1 + SHOWN_LINES_MAX);
    }
}
