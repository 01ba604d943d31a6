//! Globs for paths.

use super::Wild;

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
    if !element.contains('?') {
        return Wild::new(element).matches(part);
    }
    let element: Vec<_> = element.chars().collect();
    let mut reached = vec![0usize];
    for character in part.chars() {
        let mut next = Vec::new();
        for at in closure(&element, &reached) {
            match element.get(at) {
                Some('*') => next.push(at),
                Some('?') => next.push(at + 1),
                Some(other) if *other == character => next.push(at + 1),
                _ => {}
            }
        }
        next.sort_unstable();
        next.dedup();
        reached = next;
    }
    closure(&element, &reached).contains(&element.len())
}

fn closure(element: &[char], reached: &[usize]) -> Vec<usize> {
    let mut all = reached.to_vec();
    for start in reached {
        let mut at = *start;
        while element.get(at) == Some(&'*') {
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
    use super::glob_matches;

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
        ] {
            assert_eq!(glob_matches(glob, path), want, "{glob} {path}");
        }
        assert!(!glob_matches(&"/**/a*a*a*a*b".repeat(8), &"/aaaaaaaaaaaaaaaa".repeat(40)));
    }
}
