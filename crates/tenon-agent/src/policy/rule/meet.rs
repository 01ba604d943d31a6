//! Whether a glob and a path may be the same of which not every sign is known before a command runs.

use super::glob::{Sign, component_matches, has_sign, matches_by, signs};
use crate::policy::shell::OF_NUMBERS;

/// Any text within a name, also none.
pub(in crate::policy) const ANY: char = '\u{f0001}';
/// The same as bash finds it for a pattern: no name that begins with a dot begins with it.
pub(in crate::policy) const FOUND: char = '\u{f0002}';
/// A number.
pub(in crate::policy) const NUMBER: char = '\u{f0003}';

/// Any number of folders, one in the other, in the place of a name.
pub(in crate::policy) const FOLDERS: char = '\u{f0004}';

/// What is compared of one name at most; a longer one may be anything.
const STATES_MAX: usize = 1 << 16;

/// Says whether a path has signs that are not known.
pub(in crate::policy) fn is_open(path: &str) -> bool {
    path.contains([ANY, FOUND, NUMBER, FOLDERS])
}

/// Returns what a path stands for of which it is not known how deep it lies, as far as that matters to a glob:
/// what lies deeper is matched as what lies as deep as the glob has names.
pub(super) fn depths<'a>(path: &'a str, glob: &str) -> impl Iterator<Item = String> + use<'a> {
    let names = if path.contains(FOLDERS) { glob.split('/').count() } else { 0 };
    let mark = format!("/{FOLDERS}");
    (0..=names).map(move |depth| path.replace(&mark, &format!("/{ANY}").repeat(depth)))
}

/// Says whether a path may be one that a glob matches which denies or asks.
pub(super) fn may_match(glob: &str, path: &str) -> bool {
    matches_by(glob, path, true, &may_be)
}

/// Says whether a name may be one that an element of a glob matches.
pub(super) fn may_be(element: &str, name: &str) -> bool {
    if !is_open(name) {
        return component_matches(element, name, true);
    }
    let (element, name) = (signs(element, true), name.chars().collect::<Vec<_>>());
    let width = name.len() + 1;
    let states = width.saturating_mul(element.len() + 1);
    if states > STATES_MAX {
        return true;
    }
    let mut seen = vec![false; states];
    let mut pending = vec![(0, 0)];
    while let Some((at, on)) = pending.pop() {
        match seen.get_mut(at * width + on) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        let (sign, next) = match (element.get(at), name.get(on).copied()) {
            (None, None) => return true,
            (sign, next) => {
                pending.extend((sign == Some(&Sign::Any)).then_some((at + 1, on)));
                pending.extend(matches!(next, Some(ANY | FOUND)).then_some((at, on + 1)));
                let (Some(sign), Some(next)) = (sign, next) else { continue };
                (sign, next)
            }
        };
        let is_hidden = (at, on) == (0, 0) && next == FOUND && *sign == Sign::This('.');
        if is_hidden {
            continue;
        }
        let ons: &[usize] = match next {
            ANY | FOUND => &[on],
            NUMBER => &[on, on + 1],
            _ => &[on + 1],
        };
        for to in [after(sign, at, next), bracket(sign, at, next)].into_iter().flatten() {
            pending.extend(ons.iter().map(|on| (to, *on)));
        }
    }
    false
}

/// Returns where a glob goes on behind a sign that it shares with a name.
fn after(sign: &Sign, at: usize, next: char) -> Option<usize> {
    let (to, is_shared): (usize, &dyn Fn(char) -> bool) = match sign {
        Sign::Any => (at, &|_| true),
        Sign::One => (at + 1, &|_| true),
        Sign::This(sign) => (at + 1, &|next| next == *sign),
        Sign::Class(inner, signs) => (at + 1 + signs, &|next| has_sign(inner, next)),
    };
    shares(next, is_shared).then_some(to)
}

/// The same where a bracket is itself.
fn bracket(sign: &Sign, at: usize, next: char) -> Option<usize> {
    (matches!(sign, Sign::Class(..)) && shares(next, &|next| next == '[')).then_some(at + 1)
}

fn shares(next: char, is_shared: &dyn Fn(char) -> bool) -> bool {
    match next {
        ANY | FOUND => true,
        NUMBER => OF_NUMBERS.chars().any(is_shared),
        next => is_shared(next),
    }
}

#[cfg(test)]
mod tests {
    use super::{ANY, FOLDERS, FOUND, NUMBER, depths, may_match};

    #[test]
    fn a_path_with_open_signs_meets_what_it_may_be() {
        for (glob, path, want) in [
            ("/w/src/**", "/w/out#", false),
            ("/w/src/**", "/w/src#", false),
            ("/w/src/**", "/w/s*", true),
            ("/w/src/**", "/w/*/a", true),
            ("/w/out[0-9]", "/w/out#", true),
            ("/w/out[abc]", "/w/out#", false),
            ("/w/out1?", "/w/out#", true),
            ("/w/out*.rs", "/w/out#", false),
            ("/w/out*.rs", "/w/out#.rs", true),
            ("/w/**/.env", "/w/*", false),
            ("/w/**/.env", "/w/$", true),
            ("/w/**/*.lock", "/w/a/*.o", false),
            ("/w/**/*.lock", "/w/a/*.l*k", true),
            ("/w/a[", "/w/a$", true),
            ("/w/a", "/w/a", true),
        ] {
            let path = path.replace('#', &NUMBER.to_string());
            let path = path.replace('*', &FOUND.to_string()).replace('$', &ANY.to_string());
            assert_eq!(may_match(glob, &path), want, "{glob} {path:?}");
        }
        let deep = format!("/w/{FOLDERS}/x.lock");
        for (glob, want) in [
            ("/w/x.lock", true),
            ("/w/a/x.lock", true),
            ("/w/a/*/c/*.lock", true),
            ("/w/**/b/**/x*", true),
            ("/w/a/*.c", false),
            // In a folder of that name.
            ("/w/a/y.lock", true),
            ("/x/**/x.lock", false),
        ] {
            assert_eq!(depths(&deep, glob).any(|path| may_match(glob, &path)), want, "{glob}");
        }
        let long = format!("/{}", ANY.to_string().repeat(100_000));
        assert!(may_match("/a*", &long));
    }
}
