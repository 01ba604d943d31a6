//! References by which git shows another content for an object (`git replace`), in its list of packed references. Pure.

use crate::git_blanks::is_blank_byte;

/// What the names of such references begin with.
const REPLACEMENTS: &[u8] = b"refs/replace/";

/// Whether a list of packed references has one of them.
pub(crate) fn has_replacement(list: &[u8]) -> bool {
    list.split(|byte| *byte == b'\n').any(is_replacement)
}

/// Returns a list without those that it did not have `before`; `None` where it has none of these.
pub(crate) fn without_new_replacements(before: &[u8], list: &[u8]) -> Option<Vec<u8>> {
    let known: Vec<&[u8]> =
        before.split(|byte| *byte == b'\n').filter(|line| is_replacement(line)).collect();
    let (mut rest, mut is_out) = (Vec::with_capacity(list.len()), false);
    for line in list.split_inclusive(|byte| *byte == b'\n') {
        let reference = line.strip_suffix(b"\n").unwrap_or(line);
        // What a tag leads to stands in the line after it.
        let goes_on = is_out && reference.starts_with(b"^");
        is_out = goes_on || is_replacement(reference) && !known.contains(&reference);
        if !is_out {
            rest.extend_from_slice(line);
        }
    }
    (rest.len() < list.len()).then_some(rest)
}

fn is_replacement(line: &[u8]) -> bool {
    line.windows(REPLACEMENTS.len() + 1).any(|part| {
        part.split_first().is_some_and(|(blank, name)| is_blank_byte(blank) && name == REPLACEMENTS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_replacements_are_taken_out_of_a_list() {
        let check = |before: &str, list: &str, expected: Option<&str>| {
            let rest = without_new_replacements(before.as_bytes(), list.as_bytes());
            let rest = rest.map(|rest| String::from_utf8(rest).unwrap());
            assert_eq!(rest.as_deref(), expected, "{list}");
        };
        let head = "# pack-refs with: peeled fully-peeled sorted \n";
        let own = format!("{head}01 refs/heads/refs/replace/a\n02 refs/tags/v1\n^03\n");
        let new = "04 refs/replace/05\n";
        check("", &own, None);
        check("", "", None);
        check(&own, &format!("{own}{new}"), Some(&own));
        check(
            "",
            &format!("{own}{new}^06\n07 refs/stash\n"),
            Some(&format!("{own}07 refs/stash\n")),
        );
        check("", "04\trefs/replace/x/05", Some(""));
        check(new, &format!("{own}{new}"), None);
        check(new, "05 refs/replace/05\n", Some(""));
        assert!(has_replacement(new.as_bytes()) && !has_replacement(own.as_bytes()));
    }
}
