//! Known secret values, shown as a name instead: in results, logs and on screens.
//!
//! A help against accidents, not a wall: whoever wants to carry a value out can print it in a form
//! that is not known here. Found are the value itself, its JSON, URL and base64 forms, also where a
//! line ends within one. Pure: which values there are is said by whoever reads files.

mod finder;
mod flat;
mod forms;
mod found;
mod placeholder;
mod stream;
mod written;

use std::{borrow::Cow, collections::HashMap, fmt, ops::Range};

pub use found::{
    CredentialShape, credential_values, is_name_of_secret, is_secret, variable_values,
};
pub use stream::MaskStream;

use self::{
    finder::{Finder, START_BYTES},
    flat::{Flat, LineNumbers},
    written::Written,
};
use crate::text::Secret;

/// The most values that are looked for; the first ones count.
pub const KNOWN_VALUES_MAX: usize = 1_000;

/// The most bytes of all forms of all values: a search structure of some megabytes.
const FORMS_BYTES_MAX: usize = 512 * 1024;

/// How much is looked at around a part of a text: more than the longest form, line ends within it
/// included.
const AROUND_BYTES: usize = 1024;

/// What stands at the beginning of each text that stands for a value.
const MASK_START: &str = "[masked: ";

/// A secret value with a name for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownValue {
    value: Secret,
    label: String,
    is_of_workspace: bool,
}

impl KnownValue {
    /// Names `value`: `name` is what people know it by, `place` where it stands.
    ///
    /// ```
    /// use tenon_model::KnownValue;
    ///
    /// let key = KnownValue::new("sk-0123456789", "OPENAI_API_KEY", ".env");
    /// assert_eq!(key.label(), "[masked: value of OPENAI_API_KEY from .env]");
    /// ```
    pub fn new(value: &str, name: &str, place: &str) -> Self {
        // Names come from files: nothing in them may end the label or need escapes in JSON.
        let plain = |text: &str| -> String {
            let shown = text.chars().take(80);
            shown
                .map(|letter| match letter {
                    '"' | '\\' | '[' | ']' => '?',
                    letter if letter.is_control() => '?',
                    letter => letter,
                })
                .collect()
        };
        let label = format!("{MASK_START}value of {} from {}]", plain(name), plain(place));
        Self { value: Secret::new(value), label, is_of_workspace: false }
    }

    /// Says that it stands in a file that a model may have written, so that it may be no secret but
    /// what is to be hidden from a person who is asked.
    ///
    /// ```
    /// use tenon_model::KnownValue;
    ///
    /// let key = KnownValue::new("sk-0123456789", "OPENAI_API_KEY", ".env");
    /// assert!(!key.is_of_workspace());
    /// assert!(key.of_workspace().is_of_workspace());
    /// ```
    pub fn of_workspace(self) -> Self {
        Self { is_of_workspace: true, ..self }
    }

    /// Returns whether it stands in a file that a model may have written.
    pub fn is_of_workspace(&self) -> bool {
        self.is_of_workspace
    }

    /// Returns the value.
    pub fn secret(&self) -> &Secret {
        &self.value
    }

    /// Returns what is shown instead of the value.
    pub fn label(&self) -> &str {
        &self.label
    }
}

/// A search for known values.
#[derive(Default)]
pub struct Masks {
    /// Nothing if there is nothing to look for.
    finder: Option<Finder>,
    /// By the number of a pattern.
    labels_of: Vec<usize>,
    labels: Vec<String>,
}

impl fmt::Debug for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masks").field("labels", &self.labels).finish_non_exhaustive()
    }
}

impl Masks {
    /// Returns the search for `values`. Of equal ones the first name counts; what is shorter than
    /// four bytes is not looked for.
    pub fn new(values: &[KnownValue]) -> Self {
        let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut labels: Vec<String> = Vec::new();
        let mut bytes = 0;
        for known in values.iter().take(KNOWN_VALUES_MAX) {
            let number = labels.len();
            labels.push(known.label.clone());
            for form in forms::forms(known.value.expose()) {
                bytes += form.len();
                if bytes <= FORMS_BYTES_MAX && form.len() >= START_BYTES {
                    numbers.entry(form).or_insert(number);
                }
            }
        }
        let mut sorted: Vec<(Vec<u8>, usize)> = numbers.into_iter().collect();
        sorted.sort_unstable();
        let (patterns, labels_of): (Vec<Vec<u8>>, Vec<usize>) = sorted.into_iter().unzip();
        let finder = Finder::new(patterns);
        // A name may be a value itself.
        for label in labels.iter_mut().filter(|label| finder.find(label.as_bytes(), 0).is_some()) {
            *label = format!("{MASK_START}a known value]");
        }
        Self { finder: Some(finder).filter(|finder| !finder.is_empty()), labels_of, labels }
    }

    /// Returns whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.finder.is_none()
    }

    /// Returns `text` with a label for each value. Line ends within a value stay, and so do the
    /// numbers that `read_file` puts before lines.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(finder) = &self.finder else { return Cow::Borrowed(text) };
        let flat = Flat::new(text, LineNumbers::Skipped);
        if finder.find(flat.bytes(), 0).is_none() {
            return Cow::Borrowed(text);
        }
        let mut written = Written::new(text, &[]);
        self.run(&flat, Until::End, &mut None, &mut written);
        Cow::Owned(written.masked)
    }

    /// Returns what `part` of `text` shows, with a label for each value in it and for each that an
    /// end of it goes through: a part of a secret is shown no more than the whole.
    ///
    /// ```
    /// use tenon_model::{KnownValue, Masks};
    ///
    /// let masks = Masks::new(&[KnownValue::new("sk-0123456789", "KEY", ".env")]);
    /// assert_eq!(masks.mask_part("a sk-0123456789 b", 0..9), "a [masked: value of KEY from .env]");
    /// ```
    pub fn mask_part(&self, text: &str, part: Range<usize>) -> String {
        let Some(finder) = &self.finder else {
            return text.get(part).unwrap_or_default().to_owned();
        };
        let first = text.floor_char_boundary(part.start.saturating_sub(AROUND_BYTES));
        let last = text.ceil_char_boundary(part.end.saturating_add(AROUND_BYTES));
        let text = text.get(first..last).unwrap_or_default();
        let part = part.start.saturating_sub(first)..part.end.saturating_sub(first);
        let flat = Flat::new(text, LineNumbers::Skipped);
        // What ends before it begins is nothing.
        let shown = |range: Range<usize>| text.get(range).unwrap_or_default();
        let mut out = String::with_capacity(part.len());
        let (mut flat_end, mut end, mut last) = (0, part.start, None);
        while let Some((start, pattern)) = finder.find(flat.bytes(), flat_end) {
            let stop = start + finder.length(pattern);
            let value = flat.range(start, stop);
            if value.start >= part.end {
                break;
            }
            if value.end > part.start {
                out.push_str(shown(end..value.start));
                // The part may begin with a line's end and number within the value.
                let first = value.start.max(part.start);
                let mut from = first;
                flat.breaks_within(start, stop, |gap| {
                    if gap.start <= first {
                        from = from.max(gap.end.min(part.end));
                    }
                });
                out.push_str(shown(first..from));
                let label = self.labels_of.get(pattern).copied();
                if (start > flat_end || last != label) && from < part.end {
                    let label = label.and_then(|label| self.labels.get(label));
                    out.push_str(label.map_or(MASK_START, String::as_str));
                }
                flat.breaks_within(start, stop, |gap| {
                    out.push_str(shown(gap.start.max(from)..gap.end.min(part.end)));
                });
                (last, end) = (label, value.end);
            }
            flat_end = stop;
        }
        out.push_str(shown(end..part.end));
        out
    }

    /// Returns the label that stands in `text`, if one does: it was taken from something masked.
    pub fn label_in<'a>(&'a self, text: &str) -> Option<&'a str> {
        if !text.contains(MASK_START) {
            return None;
        }
        self.labels.iter().map(String::as_str).find(|label| text.contains(label))
    }

    /// Writes the text, masked, up to where it is certain, and returns how many bytes of it that is.
    /// `flat` is the text without its line ends, `last` the label that was written last, if nothing
    /// is behind it.
    fn run(
        &self,
        flat: &Flat<'_>,
        until: Until,
        last: &mut Option<usize>,
        written: &mut Written<'_>,
    ) -> usize {
        let Some(finder) = &self.finder else {
            return written.copy_to_end(0);
        };
        let open = match until {
            Until::Certain => finder.open_ends(flat.bytes()),
            Until::End => Vec::new(),
        };
        let open_from = |from: usize| {
            let at = open.partition_point(|start| *start < from);
            open.get(at).copied().unwrap_or(flat.bytes().len())
        };
        let (mut flat_end, mut end) = (0, 0);
        while let Some((start, pattern)) = finder.find(flat.bytes(), flat_end)
            && start < open_from(flat_end)
        {
            let label = self.labels_of.get(pattern).copied();
            let stop = start + finder.length(pattern);
            let range = flat.range(start, stop);
            written.copy(end..range.start);
            // Parts of one long value that follow each other are one value.
            if start > flat_end || *last != label {
                let label = label.and_then(|label| self.labels.get(label));
                written.put(range.start, label.map_or(MASK_START, String::as_str));
            }
            flat.breaks_within(start, stop, |gap| written.copy(gap));
            *last = label;
            (flat_end, end) = (stop, range.end);
        }
        let limit = open_from(flat_end);
        if limit > flat_end {
            *last = None;
        }
        if limit == flat.bytes().len() {
            return written.copy_to_end(end);
        }
        let stop = flat.position(limit);
        written.copy(end..stop);
        stop
    }
}

/// How far a text is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Where more text could change what is masked.
    Certain,
    /// The end of the text, after which nothing comes.
    End,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "sk-proj-a1B2c3D4e5F6g7H8";

    fn masks(values: &[(&str, &str)]) -> Masks {
        let known: Vec<_> =
            values.iter().map(|(value, name)| KnownValue::new(value, name, ".env")).collect();
        Masks::new(&known)
    }

    fn check(text: &str, expected: &str) {
        let masked = masks(&[(KEY, "K"), ("pass word/ä\"q", "P")]);
        assert_eq!(masked.mask(text), expected, "{text:?}");
    }

    #[test]
    fn values_and_their_usual_forms_are_shown_by_name() {
        let k = "[masked: value of K from .env]";
        check("nothing here\n", "nothing here\n");
        check(&format!("K={KEY}\nx"), &format!("K={k}\nx"));
        check(&format!("{KEY}{KEY} {KEY}"), &format!("{k} {k}"));
        check("pass word/ä\"q", "[masked: value of P from .env]");
        check("\"pass word/ä\\\"q\"", "\"[masked: value of P from .env]\"");
        check("p=pass%20word%2F%C3%A4%22q", "p=[masked: value of P from .env]");
        // base64 of `a KEY b`, of `ab KEY`, of `KEY`.
        check("YSBzay1wcm9qLWExQjJjM0Q0ZTVGNmc3SDggYg==", &format!("YSB{k}ggYg=="));
        check("YWIgc2stcHJvai1hMUIyYzNENGU1RjZnN0g4", &format!("YWIg{k}"));
        check("c2stcHJvai1hMUIyYzNENGU1RjZnN0g4", k);
    }

    #[test]
    fn what_is_held_back_stays_in_its_piece() {
        let masks = std::sync::Arc::new(masks(&[(KEY, "K")]));
        let mut stream = MaskStream::new(masks);
        let (one, other) = KEY.split_at(9);
        assert_eq!(stream.push_piece("3 files\n"), ["3 file"]);
        assert_eq!(stream.held_pieces(), ["s\n"]);
        assert_eq!(stream.push_piece("other\n"), ["s\n", "other\n"]);
        assert_eq!(stream.push_piece(&format!("a {one}\n")), ["a "]);
        assert_eq!(stream.push_piece("\n"), [""]);
        assert_eq!(stream.held_pieces(), [format!("{one}\n"), "\n".into()]);
        let k = "[masked: value of K from .env]";
        let rest = stream.push_piece(&format!("{other} b sk-\n"));
        assert_eq!(rest, [format!("{k}\n"), "\n".into(), " b ".into()]);
        assert_eq!(stream.finish_pieces(), ["sk-\n"]);
        assert_eq!(stream.finish_pieces(), [""; 0]);
        assert_eq!(stream.push_piece("s"), [""]);
        let (held, given) = (stream.push_piece(&"\n".repeat(60_000)), "\n".repeat(60_000));
        assert_eq!((held, stream.held_pieces().len()), (vec![String::new()], 2));
        assert_eq!(stream.push_piece(&given), ["s", &given, &given]);
        assert_eq!(stream.held_pieces(), [""; 0]);
    }

    #[test]
    fn lines_stay_where_a_value_goes_over_them() {
        let k = "[masked: value of K from .env]";
        let (one, other) = KEY.split_at(9);
        check(&format!("a\n{one}\n{other}\nb"), &format!("a\n{k}\n\nb"));
        check(&format!("{one}\r\n{other}"), &format!("{k}\r\n"));
        check(&format!("7\ta {one}\n8\t{other}\n9\tb"), &format!("7\ta {k}\n8\t\n9\tb"));
    }

    #[test]
    fn a_part_shows_nothing_of_a_value_that_its_ends_go_through() {
        let masks = masks(&[(KEY, "K")]);
        let k = "[masked: value of K from .env]";
        let check = |text: &str, part: Range<usize>, expected: &str| {
            assert_eq!(masks.mask_part(text, part.clone()), expected, "{text:?} {part:?}");
        };
        let text = format!("ä {KEY} b");
        check(&text, 0..26, &format!("ä {k}"));
        check(&text, 0..4, &format!("ä {k}"));
        check(&text, 0..3, "ä ");
        check(&text, 20..text.len(), &format!("{k} b"));
        check(&text, 27..text.len(), " b");
        check(&text, 5..9, k);
        check(&text, 0..text.len(), &format!("ä {k} b"));
        let (one, other) = KEY.split_at(9);
        let broken = format!("1\ta {one}\n2\t{other} b\n");
        let (first, second) = broken.split_once('\n').unwrap();
        check(&broken, 0..first.len(), &format!("1\ta {k}"));
        let start = broken.len() - second.len();
        check(&broken, start..broken.len(), &format!("2\t{k} b\n"));
        let far = format!("{}{KEY}", "x".repeat(5_000));
        check(&far, 0..5_001, &format!("{}{k}", "x".repeat(5_000)));
        check(&far, 0..4_999, &"x".repeat(4_999));
    }

    #[test]
    fn a_long_value_is_one_value_and_its_lines_are_known_alone() {
        let line = |seed: u8| -> String {
            (0..64_u32)
                .map(|at| char::from(b'A' + ((u32::from(seed) * 7 + at * at) % 26) as u8))
                .collect()
        };
        let key = format!(
            "-----BEGIN KEY-----\n{}\n{}\n{}\n-----END KEY-----",
            line(1),
            line(2),
            line(3)
        );
        let masks = masks(&[(&key, "PEM")]);
        let m = "[masked: value of PEM from .env]";
        let expected = format!("-----BEGIN KEY-----\n{m}\n\n\n-----END KEY-----");
        assert_eq!(masks.mask(&key), expected);
        assert_eq!(masks.mask(&line(2)), m);
        let escaped = key.replace('\n', "\\n");
        assert!(!masks.mask(&escaped).contains(&line(2)), "{}", masks.mask(&escaped));
    }

    #[test]
    fn a_label_in_a_text_is_known_again() {
        let masks = masks(&[(KEY, "K")]);
        assert_eq!(
            masks.label_in("x [masked: value of K from .env] y"),
            Some("[masked: value of K from .env]")
        );
        assert_eq!(masks.label_in("[masked: value of OTHER from .env]"), None);
        let odd = KnownValue::new("0123456789ab", "a]\"\n", "\\b");
        assert_eq!(odd.label(), "[masked: value of a??? from ?b]");
        let own = Masks::new(&[KnownValue::new("OPENAI_API_KEY", "OPENAI_API_KEY", ".env")]);
        assert_eq!(own.mask("x OPENAI_API_KEY"), "x [masked: a known value]");
    }

    proptest! {
        #[test]
        fn any_split_of_a_text_is_masked_like_the_whole(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("secret-abcdef1".to_owned()), Just("secret-abcdef1234".to_owned()),
                    Just("abcdefabcdefg".to_owned()), Just("c2VjcmV0LWFiY2RlZjE".to_owned()),
                    "[a-f1-4\\n-]{0,6}", "[s\\ne]{1,3}c", "ä?ret-abcdef\\n1", "secre", "t-abc",
                ],
                0..12,
            ),
            cuts in proptest::collection::vec(0..200_usize, 0..12),
        ) {
            let masks = std::sync::Arc::new(masks(&[
                ("secret-abcdef1", "A"), ("secret-abcdef1234", "B"), ("abcdefabcdefg", "C"),
                ("ret-abcdef1äx", "D"),
            ]));
            let text: String = parts.concat();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(*cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let (mut pieces, mut whole) = (String::new(), String::new());
            let mut stream = MaskStream::new(std::sync::Arc::clone(&masks));
            for pair in cuts.windows(2) {
                pieces.push_str(&stream.push(&text[pair[0]..pair[1]]));
            }
            pieces.push_str(&stream.finish());
            let mut stream = MaskStream::new(std::sync::Arc::clone(&masks));
            whole.push_str(&stream.push(&text));
            whole.push_str(&stream.finish());
            prop_assert_eq!(&pieces, &whole);
            let texts = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]);
            let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
            let mut stream = MaskStream::new(std::sync::Arc::clone(&masks));
            let (mut parts, mut open) = (vec![String::new(); texts.len()], 0);
            let mut put = |open: usize, new: Vec<String>| {
                parts[open..].iter_mut().zip(new).for_each(|(part, new)| part.push_str(&new));
            };
            for (index, text) in texts.iter().enumerate() {
                put(open, stream.push_piece(text));
                open = index + 1 - stream.held_pieces().len();
            }
            put(open, stream.finish_pieces());
            prop_assert_eq!(parts.concat(), whole.as_str());
            for (part, text) in parts.iter().zip(&texts) {
                prop_assert_eq!(part.matches('\n').count(), text.matches('\n').count());
                let is_in_value = part.contains("[masked") || !whole.contains(text);
                prop_assert!(part == text || is_in_value || part.len() < text.len());
            }
            // No tabs, so no numbers of lines either.
            prop_assert_eq!(masks.mask(&text), whole.as_str());
            prop_assert_eq!(whole.matches('\n').count(), text.matches('\n').count());
            let part = masks.mask_part(&text, cuts[1]..cuts[cuts.len() - 2]);
            prop_assert!(whole.contains(&part) || part.contains("[masked"), "{part:?} {whole:?}");
            prop_assert_eq!(masks.mask_part(&text, 0..text.len()), whole.as_str());
            let joined = whole.replace('\n', "");
            prop_assert!(!joined.contains("secret-abcdef1") && !joined.contains("abcdefabcdefg"));
        }
    }
}
