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
    let mut best: Vec<(i32, &str)> = Vec::with_capacity(count + 1);
    let is_before = |one: &(i32, &str), other: &(i32, &str)| {
        one.0.cmp(&other.0).then(other.1.cmp(one.1)).is_gt()
    };
    for path in paths {
        let Some(points) = score(letters, path) else { continue };
        let found = (points, path);
        // Nearly all of many paths are told apart from the worst of the few by this alone.
        if best.len() == count && !best.last().is_some_and(|worst| is_before(&found, worst)) {
            continue;
        }
        let place = best.partition_point(|kept| !is_before(&found, kept));
        best.insert(place, found);
        best.truncate(count);
    }
    best.into_iter().map(|(_, path)| path).collect()
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
        assert!(best("m", paths, 0).is_empty());
    }

    #[test]
    fn the_few_best_are_those_that_stand_first_among_all() {
        let paths: Vec<String> =
            (0..500).map(|n| format!("src/{}/file_{}.rs", n % 7, n * 31 % 500)).collect();
        let all = |letters| best(letters, paths.iter().map(String::as_str), 500);
        for letters in ["file_1", "s/3/f", "", "9.rs"] {
            let few = best(letters, paths.iter().map(String::as_str), 8);
            assert_eq!(few, all(letters)[..8], "{letters}");
            let scores: Vec<_> = few.iter().map(|path| score(letters, path)).collect();
            assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
        }
    }
}
