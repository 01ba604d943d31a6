//! How well a few typed letters fit a path: the letters in their order, better where they begin a
//! word or stand together, best in the file's own name. Pure, and linear in the path.

/// Points for a letter that follows the one before it.
const TOGETHER: i32 = 8;
/// Points for a letter at the beginning of a name or a word in it.
const AT_START: i32 = 10;
/// Points for a letter in the last part of the path.
const IN_NAME: i32 = 4;

/// Returns how well `letters` fit `path`, more being better; nothing if they do not. Capital
/// letters are told apart only if `letters` has some.
pub(crate) fn score(letters: &str, path: &str) -> Option<i32> {
    let exact = letters.chars().any(char::is_uppercase);
    let same = |wanted: u8, found: u8| {
        if exact { wanted == found } else { wanted.eq_ignore_ascii_case(&found) }
    };
    let (wanted, text) = (letters.as_bytes(), path.as_bytes());
    let name = path.trim_end_matches('/').rfind('/').map_or(0, |slash| slash + 1);
    let mut points = 0;
    // Backwards, so that the file's own name is matched first. Bytes do for UTF-8: a letter's
    // bytes stand together or the match is worth little.
    let mut last = text.len();
    let mut following: Option<usize> = None;
    for &letter in wanted.iter().rev() {
        let place = text.get(..last)?.iter().rposition(|&found| same(letter, found))?;
        let before = place.checked_sub(1).and_then(|before| text.get(before));
        let starts = before.is_none_or(|before| matches!(before, b'/' | b'_' | b'-' | b'.' | b' '));
        points += if starts { AT_START } else { 0 };
        points += if following == Some(place + 1) { TOGETHER } else { 0 };
        points += if place >= name { IN_NAME } else { 0 };
        following = Some(place);
        last = place;
    }
    // Among equals the shorter path.
    Some(points * 16 - i32::try_from(text.len()).unwrap_or(i32::MAX / 2))
}

/// Returns the `count` best of `paths`, the best first.
pub(crate) fn best<'a>(
    letters: &str,
    paths: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let scored = paths.into_iter().filter_map(|path| Some((score(letters, path)?, path)));
    let mut scored: Vec<_> = scored.collect();
    scored.sort_unstable_by(|(left, one), (right, other)| right.cmp(left).then(one.cmp(other)));
    scored.truncate(count);
    scored.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_own_name_and_starts_of_words_count_most() {
        let paths = [
            "crates/tenon-cli/src/main.rs",
            "crates/tenon-cli/src/commands/mod.rs",
            "docs/main-notes.md",
            "src/domain.rs",
            "README.md",
            "文档/说明.md",
        ];
        let cases = [
            ("main.rs", "crates/tenon-cli/src/main.rs"),
            ("readme", "README.md"),
            ("mod", "crates/tenon-cli/src/commands/mod.rs"),
            ("说明", "文档/说明.md"),
            ("docs/n", "docs/main-notes.md"),
        ];
        for (letters, expected) in cases {
            assert_eq!(best(letters, paths, 3).first(), Some(&expected), "{letters}");
        }
        assert!(best("xyz", paths, 3).is_empty());
        assert!(best("readMe", paths, 3).is_empty(), "a capital letter is meant");
        assert_eq!(best("", paths, 2).len(), 2);
    }
}
