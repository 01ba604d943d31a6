//! Globs for paths: `**` is any number of folders, `*` and `?` are any text and one sign within a
//! name, `{a,b}` is either, `folder/` is all that is in a folder. `\` in front of punctuation makes
//! that a sign like any other; in front of anything else it is one itself.
//!
//! What denies or asks rather says too much: it also speaks of all beneath what it names, and of
//! `[ab]` as one of these signs. In a permission brackets are themselves.

use super::words::Wild;

/// What one glob may stand for by braces; people write two or three.
pub(super) const GLOBS_MAX: usize = 64;

/// Brackets around more bytes are no class that people write: in what denies they stand for any text.
const CLASS_BYTES_MAX: usize = 256;

/// A glob as it is written, and those without braces and quotes that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    text: String,
    paths: Vec<String>,
}

/// A sign of a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// `*`
    Any,
    /// `?`
    One,
    This(char),
    /// `[`, as itself or as the first of so many signs that say which one stands there.
    Class(String, usize),
}

impl Glob {
    pub(super) fn new(text: &str) -> Glob {
        let mut paths = expanded(&unquoted(text));
        for path in &mut paths {
            if path == "." || path.ends_with('/') {
                *path = format!("{}/**", path.trim_end_matches('/'));
            }
        }
        Glob { text: text.to_owned(), paths }
    }

    /// Returns it as it is written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns what it stands for as globs of paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }
}

/// Says whether a sign loses its meaning behind `\`.
fn is_quotable(sign: char) -> bool {
    sign.is_ascii_punctuation() && sign != '/'
}

/// Returns the signs of a glob or a part of one; brackets are themselves unless it is `strict`.
pub(super) fn signs(glob: &str, strict: bool) -> Vec<Sign> {
    let mut all = Vec::new();
    let mut rest = glob.chars();
    let last_end = glob.rfind(']');
    while let Some(sign) = rest.next() {
        all.push(match sign {
            '*' => Sign::Any,
            '?' => Sign::One,
            '\\' => {
                let quoted = rest.as_str().chars().next().filter(|next| is_quotable(*next));
                if quoted.is_some() {
                    rest.next();
                }
                Sign::This(quoted.unwrap_or('\\'))
            }
            '[' if strict && last_end.is_none_or(|end| end < glob.len() - rest.as_str().len()) => {
                Sign::This('[')
            }
            '[' if strict => match class(rest.as_str()) {
                Some(inner) if inner.len() > CLASS_BYTES_MAX => {
                    rest = rest.as_str().get(inner.len() + 1..).unwrap_or_default().chars();
                    Sign::Any
                }
                Some(inner) => Sign::Class(inner.to_owned(), signs(inner, false).len() + 1),
                None => Sign::This('['),
            },
            other => Sign::This(other),
        });
    }
    all
}

/// Returns what stands between brackets, behind the first of them.
fn class(rest: &str) -> Option<&str> {
    let name = rest.split('/').next()?;
    let first = name.strip_prefix(['!', '^']).unwrap_or(name);
    let skipped = name.len() - first.len() + first.chars().next()?.len_utf8();
    let end = skipped + name.get(skipped..)?.find(']')?;
    name.get(..end)
}

/// Says whether a bracket there has no other one in the same name.
pub(super) fn is_open_class(glob: &str, at: usize) -> bool {
    glob.get(at + 1..).is_some_and(|rest| class(rest).is_none())
}

/// Says whether what stands between brackets has this sign in it.
pub(super) fn has_sign(inner: &str, sign: char) -> bool {
    let listed = inner.strip_prefix(['!', '^']);
    let signs: Vec<char> = listed.unwrap_or(inner).chars().collect();
    let is_in_range =
        |range: &[char]| matches!(range, [from, '-', to] if (*from..=*to).contains(&sign));
    let is_in = signs.contains(&sign) || signs.windows(3).any(is_in_range);
    is_in != listed.is_some()
}

/// Says whether a glob has brackets that nobody would give a name: `[a-z]`, `[!x]`.
pub(super) fn has_class(glob: &str) -> bool {
    let is_range = |inner: &str| {
        let signs: Vec<char> = inner.chars().collect();
        let is_one = |range: &[char]| matches!(range, [from, '-', to] if from.is_ascii_alphanumeric() && from < to);
        signs.len().is_multiple_of(3) && signs.chunks(3).all(is_one)
    };
    plain_places(glob).any(|(at, sign)| {
        let inner = (sign == '[').then(|| class(glob.get(at + 1..)?)).flatten();
        inner.is_some_and(|inner| inner.starts_with(['!', '^']) || is_range(inner))
    })
}

/// Returns the signs of a text that have no `\` in front, with their places.
pub(super) fn plain_places(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (at, sign) = rest.next()?;
            if sign == '\\' && rest.next_if(|(_, next)| is_quotable(*next)).is_some() {
                continue;
            }
            return Some((at, sign));
        }
    })
}

/// Returns a glob without the quotes around it, or around names in it.
pub(super) fn unquoted(text: &str) -> String {
    let mut glob = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|sign| matches!(sign, '"' | '\''));
        let inner = quote.and_then(|quote| {
            let (inner, behind) = rest.get(1..)?.split_once(quote)?;
            (behind.is_empty() || behind.starts_with('/')).then_some((inner, behind))
        });
        if let Some((inner, behind)) = inner {
            glob.push_str(inner);
            rest = behind;
        }
        let end = rest.find('/').map_or(rest.len(), |at| at + 1);
        glob.push_str(rest.get(..end).unwrap_or_default());
        rest = rest.get(end..).unwrap_or_default();
    }
    glob
}

/// Returns the globs that one with braces stands for: a bound number, and itself where they are more.
fn expanded(glob: &str) -> Vec<String> {
    alternatives(glob).unwrap_or_else(|| vec![glob.to_owned()])
}

/// Returns the globs that one with braces stands for; `None` if they are too many.
pub(super) fn alternatives(glob: &str) -> Option<Vec<String>> {
    let (mut pending, mut all) = (vec![glob.to_owned()], Vec::new());
    while let Some(glob) = pending.pop() {
        if all.len() + pending.len() >= GLOBS_MAX {
            return None;
        }
        let Some((start, marks, end)) = braces(&glob) else {
            all.push(glob);
            continue;
        };
        let part = |from: usize, to: usize| glob.get(from..to).unwrap_or_default();
        let starts = std::iter::once(start).chain(marks.iter().copied());
        let ends = marks.iter().copied().chain([end]);
        let each = starts.zip(ends).map(|(from, to)| {
            format!("{}{}{}", part(0, start), part(from + 1, to), part(end + 1, glob.len()))
        });
        // The first comes out first.
        pending.extend(each.collect::<Vec<_>>().into_iter().rev());
    }
    Some(all)
}

/// Returns the places of the first braces that have a comma of their own, and of the commas.
fn braces(glob: &str) -> Option<(usize, Vec<usize>, usize)> {
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut found: Option<(usize, Vec<usize>, usize)> = None;
    for (at, sign) in plain_places(glob) {
        match sign {
            '{' => open.push((at, Vec::new())),
            ',' => open.iter_mut().rev().take(1).for_each(|(_, commas)| commas.push(at)),
            '}' => {
                let Some((start, commas)) = open.pop() else { continue };
                let is_first = found.as_ref().is_none_or(|(first, ..)| start < *first);
                if !commas.is_empty() && is_first {
                    found = Some((start, commas, at));
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the text that a glob stands for if it is the only one.
pub(super) fn only(glob: &str) -> Option<String> {
    text(glob, false)
}

fn text(glob: &str, strict: bool) -> Option<String> {
    let known = |sign| match sign {
        Sign::This(character) => Some(character),
        Sign::Any | Sign::One | Sign::Class(..) => None,
    };
    signs(glob, strict).into_iter().map(known).collect()
}

/// Returns the names with which the path begins of all that a glob stands for, up to the first that it does not
/// say; for one from `/` on that is `/` at least.
pub(super) fn fixed(glob: &str) -> String {
    let names = glob.split('/').map_while(|name| text(name, true)).collect::<Vec<_>>().join("/");
    if names.is_empty() && glob.starts_with('/') { "/".to_owned() } else { names }
}

/// Returns the known text with which all begins that a glob stands for.
pub(super) fn beginning(glob: &str) -> String {
    let known = |sign| match sign {
        Sign::This(character) => Some(character),
        Sign::Any | Sign::One | Sign::Class(..) => None,
    };
    signs(glob, true).into_iter().map_while(known).collect()
}

/// Says whether a pattern begins with a variable, and not with a name such as `$id.tsx`.
pub(super) fn is_variable(text: &str) -> bool {
    let rest = text.strip_prefix('$');
    rest.is_some_and(|rest| rest.starts_with(|c: char| c == '{' || c.is_ascii_uppercase()))
}

/// Returns the glob that stands for this text alone.
pub(super) fn exactly(text: &str) -> String {
    // A `\` of the name takes no meaning from what follows.
    let bare = text.replace('\\', "");
    let (has_class, has_braces) = (has_class(&bare), braces(&bare).is_some());
    let is_variable = is_variable(text);
    let mut glob = String::new();
    let (mut rest, mut before) = (text.chars().peekable(), '/');
    while let Some(sign) = rest.next() {
        let is_first = before == '/';
        let is_special = match sign {
            '*' | '?' => true,
            '\\' => rest.peek().is_some_and(|next| is_quotable(*next)),
            '[' => has_class,
            '{' => has_braces,
            '"' | '\'' => is_first,
            '!' | '$' => glob.is_empty() && (sign == '!' || is_variable),
            _ => false,
        };
        glob.extend(is_special.then_some('\\'));
        glob.push(sign);
        before = sign;
    }
    glob
}

/// Says whether a glob matches a path by components: `**` for any number of them, `*` and `?` within
/// one. A `strict` one that ends in a name matches all beneath that, too.
pub(super) fn matches(glob: &str, path: &str, strict: bool) -> bool {
    matches_by(glob, path, strict, &|element, name| component_matches(element, name, strict))
}

/// The same where names are compared otherwise.
pub(super) fn matches_by(
    glob: &str,
    path: &str,
    strict: bool,
    is_name: &dyn Fn(&str, &str) -> bool,
) -> bool {
    let is_named = strict && glob.rsplit('/').next().is_some_and(|name| only(name).is_some());
    let pattern = glob.split('/').chain(is_named.then_some("**"));
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
                *slot = came && is_name(element, part);
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

pub(super) fn component_matches(element: &str, part: &str, strict: bool) -> bool {
    if !element.contains(['?', '\\', '[']) {
        return Wild::new(element).matches(part);
    }
    let element = signs(element, strict);
    let mut reached = vec![0usize];
    for character in part.chars() {
        let mut next = Vec::new();
        for at in closure(&element, &reached) {
            match element.get(at) {
                Some(Sign::Any) => next.push(at),
                Some(Sign::One) => next.push(at + 1),
                Some(Sign::This(other)) if *other == character => next.push(at + 1),
                Some(Sign::Class(inner, signs)) => {
                    next.extend((character == '[').then_some(at + 1));
                    next.extend(has_sign(inner, character).then_some(at + 1 + signs));
                }
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
    use super::{CLASS_BYTES_MAX, Glob, exactly, matches};

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
            assert_eq!(matches(glob, path, false), want, "{glob} {path}");
        }
        assert!(!matches(&"/**/a*a*a*a*b".repeat(8), &"/aaaaaaaaaaaaaaaa".repeat(40), false));
    }

    #[test]
    fn brackets_of_any_number_and_length_are_read_at_once() {
        let long = format!("/x[{}b]y", "a".repeat(CLASS_BYTES_MAX));
        for path in ["/xay", "/xby", "/xzy", "/xy", long.as_str()] {
            assert!(matches(&long, path, true), "{path}");
        }
        assert!(!matches(&long, "/xz", true) && !matches(&long, "/xay", false));
        let many = "[a".repeat(200_000);
        for glob in [format!("/{many}"), format!("/{many}]"), format!("/]{many}")] {
            let is_long_class = glob.ends_with(']');
            assert_eq!(matches(&glob, "/other", true), is_long_class);
            assert!(matches(&glob, &glob, true));
        }
        assert!(matches("/[ab]c/[!x]", "/bc/y", true) && !matches("/[ab]c/[!x]", "/bc/x", true));
        assert!(matches("/[a/b]", "/[a/b]", true) && !matches("/[a/b]", "/a", true));
    }

    #[test]
    fn every_text_has_a_glob_that_is_for_it_alone() {
        for text in [
            "/a",
            "/*",
            "/a?b",
            r"/\",
            r"/\\",
            r"/\*",
            r"/a\\?",
            r"/\a",
            "/[a-c]{1,2}",
            "/**",
            r"/\{a,b}",
            r"/\[a-c]",
            "/\"a\"",
            "/'a'/b",
            "/!a",
            "/$HOME",
        ] {
            let exact = Glob::new(&exactly(text));
            let is_for = |path: &str| exact.paths().any(|glob| matches(glob, path, false));
            assert!(is_for(text), "{text} {exact:?}");
            assert!(!is_for(&format!("{text}x")), "{text} {exact:?}");
            assert!(!is_for(&text.replace(['*', '?'], "x")) || !text.contains(['*', '?']));
        }
    }
}
