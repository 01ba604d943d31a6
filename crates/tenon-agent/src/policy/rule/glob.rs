//! Globs for paths. `\` in front of `*`, `?` or `\` makes that a sign like any other; in front of
//! anything else it is one itself.

use super::Wild;

/// What stands for others in a glob, and what takes that from it.
const SPECIAL: [char; 3] = ['*', '?', '\\'];

/// A sign of a glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// `*`
    Any,
    /// `?`
    One,
    This(char),
}

/// Returns the signs of a glob or a part of one.
fn signs(glob: &str) -> impl Iterator<Item = Sign> {
    let mut rest = glob.chars().peekable();
    std::iter::from_fn(move || {
        Some(match rest.next()? {
            '*' => Sign::Any,
            '?' => Sign::One,
            '\\' => Sign::This(rest.next_if(|next| SPECIAL.contains(next)).unwrap_or('\\')),
            other => Sign::This(other),
        })
    })
}

/// Returns the text that a glob stands for if it is the only one.
pub(super) fn only(glob: &str) -> Option<String> {
    let known = |sign| match sign {
        Sign::This(character) => Some(character),
        Sign::Any | Sign::One => None,
    };
    signs(glob).map(known).collect()
}

/// Returns the known text with which all begins that a glob stands for.
pub(super) fn beginning(glob: &str) -> String {
    let known = |sign| match sign {
        Sign::This(character) => Some(character),
        Sign::Any | Sign::One => None,
    };
    signs(glob).map_while(known).collect()
}

/// Returns the glob that stands for this text alone.
pub(super) fn exactly(text: &str) -> String {
    let mut glob = String::new();
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let is_special = match character {
            '\\' => rest.peek().is_some_and(|next| SPECIAL.contains(next)),
            other => SPECIAL.contains(&other),
        };
        glob.extend(is_special.then_some('\\'));
        glob.push(character);
    }
    glob
}

/// Matches a path by components: `**` for any number of them, `*` and `?` within one.
pub(super) fn glob_matches(glob: &str, path: &str) -> bool {
    let pattern: Vec<_> = glob.split('/').collect();
    let parts: Vec<_> = path.split('/').collect();
    // reached[j]: the pattern so far matches the first j components.
    let mut reached = vec![false; parts.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for element in pattern {
        let mut next = vec![false; parts.len() + 1];
        let mut before = false;
        for (index, slot) in next.iter_mut().enumerate() {
            let here = reached.get(index).copied().unwrap_or(false);
            if element == "**" {
                before |= here;
                *slot = before;
            } else if index > 0 {
                let part = parts.get(index - 1).copied().unwrap_or_default();
                let came = reached.get(index - 1).copied().unwrap_or(false);
                *slot = came && component_matches(element, part);
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

fn component_matches(element: &str, part: &str) -> bool {
    if !element.contains(['?', '\\']) {
        return Wild::new(element).matches(part);
    }
    let element: Vec<_> = signs(element).collect();
    let mut reached = vec![0usize];
    for character in part.chars() {
        let mut next = Vec::new();
        for at in closure(&element, &reached) {
            match element.get(at) {
                Some(Sign::Any) => next.push(at),
                Some(Sign::One) => next.push(at + 1),
                Some(Sign::This(other)) if *other == character => next.push(at + 1),
                Some(Sign::This(_)) | None => {}
            }
        }
        next.sort_unstable();
        next.dedup();
        reached = next;
    }
    closure(&element, &reached).contains(&element.len())
}

fn closure(element: &[Sign], reached: &[usize]) -> Vec<usize> {
    let mut all = reached.to_vec();
    for start in reached {
        let mut at = *start;
        while element.get(at) == Some(&Sign::Any) {
            at += 1;
            all.push(at);
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::{exactly, glob_matches};

    #[test]
    fn globs_match_by_components() {
        for (glob, path, want) in [
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/b/c", false),
            ("/a/**", "/a/b/c", true),
            ("/a/**/c", "/a/c", true),
            ("/a/**/c", "/a/x/y/c", true),
            ("/a/*.rs", "/a/x.rs", true),
            ("/a/*.rs", "/a/x.rsx", false),
            ("/a/?.rs", "/a/x.rs", true),
            ("/a/?*b?", "/a/xxbc", true),
            ("/**", "/a", true),
            ("/a", "/a", true),
            (r"/a\*", "/a*", true),
            (r"/a\*", "/ab", false),
            (r"/\?*", "/?b", true),
            (r"/\?*", "/ab", false),
            (r"/a\\*", r"/a\b", true),
            (r"/a\\\*", r"/a\*", true),
            (r"/a\b", r"/a\b", true),
            (r"/a\", r"/a\", true),
            (r"/\**/x", "/*a/x", true),
        ] {
            assert_eq!(glob_matches(glob, path), want, "{glob} {path}");
        }
        assert!(!glob_matches(&"/**/a*a*a*a*b".repeat(8), &"/aaaaaaaaaaaaaaaa".repeat(40)));
    }

    #[test]
    fn every_text_has_a_glob_that_is_for_it_alone() {
        for text in
            ["/a", "/*", "/a?b", r"/\", r"/\\", r"/\*", r"/a\\?", r"/\a", "/[a-c]{1,2}", "/**"]
        {
            let glob = exactly(text);
            assert!(glob_matches(&glob, text), "{text} {glob}");
            assert!(!glob_matches(&glob, &format!("{text}x")), "{text} {glob}");
            assert!(
                !glob_matches(&glob, &text.replace(['*', '?'], "x")) || !text.contains(['*', '?'])
            );
        }
    }
}
