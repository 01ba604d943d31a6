//! The forms in which a value is looked for.

/// A longer form is looked for in parts, so that no more than this is held back of a running
/// command's output.
const PART_BYTES_MAX: usize = 128;

/// Shorter lines of a value with several are no pattern: they stand elsewhere too.
const LINE_CHARS_MIN: usize = 16;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns what is looked for, without line ends; nothing is empty.
pub(super) fn forms(value: &str) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for line in lines(value) {
        add_parts(&mut forms, &line);
        add_parts(&mut forms, &json(&line));
        add_parts(&mut forms, &percent(&line));
    }
    for skipped in 0..3 {
        let encoded = base64_within(value.as_bytes(), skipped);
        if encoded.contains(['+', '/']) {
            add_parts(&mut forms, &encoded.replace('+', "-").replace('/', "_"));
        }
        add_parts(&mut forms, &encoded);
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Returns the value, or its lines: a key in several lines is often seen in part. Where some are too short
/// by themselves, the value comes, too.
fn lines(value: &str) -> Vec<String> {
    let is_frame = |line: &str| line.starts_with("-----");
    // Files of variables write such a key in one line.
    let value = if is_frame(value) { value.replace("\\n", "\n") } else { value.to_owned() };
    let lines = value.split('\n').map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !is_frame(line));
    let (mut lines, short): (Vec<String>, Vec<String>) =
        lines.map(str::to_owned).partition(|line| line.chars().count() >= LINE_CHARS_MIN);
    if lines.is_empty() || !value.contains('\n') {
        return vec![value];
    }
    if !short.is_empty() && !value.contains("-----") {
        lines.push(value);
    }
    lines
}

fn add_parts(forms: &mut Vec<Vec<u8>>, form: &str) {
    let form = form.replace(['\r', '\n'], "");
    let count = form.len().div_ceil(PART_BYTES_MAX).max(1);
    let mut rest = form.as_str();
    for left in (1..=count).rev() {
        let end = rest.ceil_char_boundary(rest.len().div_ceil(left));
        let (part, later) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if !part.is_empty() {
            forms.push(part.as_bytes().to_vec());
        }
        rest = later;
    }
}

fn json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(value).to_owned()
}

fn percent(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Returns the characters of base64 (RFC 4648) that `bytes` alone decide, if `before` bytes (0 to 2)
/// of a group of three stand before them.
fn base64_within(bytes: &[u8], before: usize) -> String {
    let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(bytes.iter().copied()).collect();
    let mut text = String::with_capacity(padded.len() * 4 / 3 + 4);
    for group in padded.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for shift in [18, 12, 6, 0] {
            let letter = ALPHABET.get((bits >> shift & 63) as usize).copied().unwrap_or(b'=');
            text.push(char::from(letter));
        }
    }
    let first = (before * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    text.get(first..last).unwrap_or_default().to_owned()
}

/// Returns what base64 text stands for, if it is text.
pub(super) fn base64_text(text: &str) -> Option<String> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len());
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == letter)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xFF) as u8);
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_short_lines_is_looked_for_as_a_whole_too() {
        let check = |value: &str, expected: &[&str]| assert_eq!(lines(value), expected, "{value}");
        check(
            "line1-9f8e7d6c\nline2-1a2b3c4d5e",
            &["line2-1a2b3c4d5e", "line1-9f8e7d6c\nline2-1a2b3c4d5e"],
        );
        check("line1-9f8e7d6c5b4a\nline2-1a2b3c4d5e", &["line1-9f8e7d6c5b4a", "line2-1a2b3c4d5e"]);
        check("-----BEGIN\n0123456789abcdef\nshort\n-----END", &["0123456789abcdef"]);
        check("a\nb", &["a\nb"]);
    }

    #[test]
    fn base64_within_is_what_stands_in_any_longer_text() {
        let value = b"value-0123456789";
        for (before, after) in [("", ""), ("x", "yz"), ("xx", "y"), ("xxx", "")] {
            let whole = [before.as_bytes(), value, after.as_bytes()].concat();
            let text = base64_within(&whole, 0);
            let part = base64_within(value, before.len() % 3);
            assert!(part.len() >= 19 && text.contains(&part), "{before} {text} {part}");
        }
        assert_eq!(base64_text("dXNlcjpwYXNz").as_deref(), Some("user:pass"));
        assert_eq!(base64_text("dXNlcjpwYXM=").as_deref(), Some("user:pas"));
        assert_eq!(base64_text("not base64"), None);
    }
}
