//! How a path is said in one line.

use std::borrow::Cow;
use std::path::Path;

/// The most characters of a path in a summary, which is one line for the model and for people.
const PATH_CHARS_MAX: usize = 200;

/// Returns a text; of a longer one than so many characters the beginning and the end, with `…` between them.
#[must_use]
pub fn without_middle(text: &str, chars_max: usize) -> Cow<'_, str> {
    let chars = text.chars().count();
    if chars <= chars_max {
        return Cow::Borrowed(text);
    }
    let kept = chars_max.saturating_sub(1);
    let place = |number: usize| text.char_indices().nth(number).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (place(kept / 2), place(chars - kept.div_ceil(2)));
    let part = |range| text.get(range).unwrap_or_default();
    Cow::Owned(format!("{}…{}", part(0..head), part(tail..text.len())))
}

/// Returns a path as a summary names it, control characters as their pictures.
pub(super) fn named(path: &Path) -> String {
    let text = path.to_string_lossy();
    let picture = |character: char| match u32::from(character) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(character),
        0x7f => '␡',
        _ => character,
    };
    without_middle(&text, PATH_CHARS_MAX).chars().map(picture).collect()
}
