//! What git takes for blanks in its own files: four letters, fewer than ASCII or Unicode have. What else is left out of a
//! name here would be another name for git.

pub(crate) fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

pub(crate) fn is_blank_byte(byte: &u8) -> bool {
    is_blank(char::from(*byte))
}

/// Returns what is between the blanks at both ends.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| !is_blank_byte(byte)).unwrap_or(bytes.len());
    trimmed_end(bytes.get(start..).unwrap_or_default())
}

pub(crate) fn trimmed_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| !is_blank_byte(byte)).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}

/// Returns a path that a file consists of: git takes the ends of lines away from it, and no other blanks.
pub(crate) fn without_line_ends(bytes: &[u8]) -> &[u8] {
    let is_of_path = |byte: &u8| !matches!(byte, b'\n' | b'\r');
    let end = bytes.iter().rposition(is_of_path).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}
