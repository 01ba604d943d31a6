//! References that a command may leave: none by which git shows another content for an object (`git replace`), and none that
//! stands for another name than that of a branch or the like, since git writes where it leads. Pure.

use std::ffi::OsStr;

use crate::git_blanks::{is_blank_byte, trimmed};

/// Beneath `refs/`, where references are that stand for nothing but commits and what is said of them: not those by which git
/// shows another object (`replace`), nor what a command of git that is under way goes by (`bisect`, `rewritten`, `stash`).
const NAMESPACES: [&str; 10] = [
    "changes",
    "for",
    "heads",
    "merge-requests",
    "meta",
    "notes",
    "pull",
    "pull-requests",
    "remotes",
    "tags",
];

/// What a file of a reference begins with that stands for another one.
const SYMBOLIC: &[u8] = b"ref:";

/// The longest file of a reference that git reads by its name: a path, and what stands before it.
pub(crate) const REFERENCE_BYTES_MAX: usize = 4096 + 64;

/// What the names of such references begin with.
const REPLACEMENTS: &[u8] = b"refs/replace/";

/// Whether what stands behind `refs/` is beneath a folder of references that stand for nothing but commits.
pub(crate) fn is_of_commits(rest: &str) -> bool {
    NAMESPACES.iter().any(|known| rest.split_once('/').is_some_and(|it| it.0 == *known))
}

/// Returns such a folder of this very name beneath `refs`.
pub(crate) fn folder_of_commits(name: &OsStr) -> Option<&'static str> {
    NAMESPACES.into_iter().find(|known| name == *known)
}

/// Whether a reference stands for another one. Git takes nothing but this very beginning for such.
pub(crate) fn is_symbolic(reference: &[u8]) -> bool {
    reference.starts_with(SYMBOLIC)
}

/// Whether a file is a reference by which git writes no other than it seems: a hash, or, where it is in such a `folder`
/// beneath `refs`, one that stands for another one there, as `remotes/origin/HEAD` does. A stash that stood for a branch had
/// `git stash` move that. Git takes every folder in which a reference is called `HEAD` for a repository with what else is
/// there, such as `config`.
pub(crate) fn is_reference(reference: &[u8], folder: Option<&str>) -> bool {
    let Some(target) = reference.strip_prefix(SYMBOLIC) else {
        return reference.len() <= REFERENCE_BYTES_MAX && are_hashes(reference);
    };
    let is_in = |folder: &str| {
        let rest = trimmed(target).strip_prefix(b"refs/");
        rest.and_then(|rest| rest.strip_prefix(folder.as_bytes()))
            .is_some_and(|rest| rest.starts_with(b"/"))
    };
    leads_to_commits(reference) && folder.is_some_and(is_in)
}

/// Whether there is nothing but hashes, or the beginnings of such.
pub(crate) fn are_hashes(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_hexdigit() || is_blank_byte(byte))
}

/// Whether a reference stands for none, or for that of a branch, a tag and the like. Git takes every name in its directory for
/// one, also `commondir`.
pub(crate) fn leads_to_commits(reference: &[u8]) -> bool {
    let Some(target) = reference.strip_prefix(SYMBOLIC) else { return true };
    let target = String::from_utf8_lossy(trimmed(target));
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    let rest = target.strip_prefix("refs/").filter(|rest| is_of_commits(rest));
    reference.len() <= REFERENCE_BYTES_MAX
        && rest.is_some_and(|rest| rest.split('/').all(is_part) && !rest.contains(char::is_control))
}

/// Whether a file begins as a log of what a reference was: with two hashes. Git can take none for settings then.
pub(crate) fn is_log(log: &[u8]) -> bool {
    let is_hash = |word: &[u8]| word.len() >= 40 && word.iter().all(u8::is_ascii_hexdigit);
    log.is_empty()
        || log.split(|byte| *byte == b' ').take(2).filter(|word| is_hash(word)).count() == 2
}

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
    fn a_reference_stands_for_a_commit_or_for_another_one_of_its_folder() {
        for (sound, reference) in [
            (true, "0123456789abcdef0123456789abcdef01234567\n"),
            (true, ""),
            (false, " ref: commondir\n"),
            (false, "[core]\n"),
            (false, "0123456789abcdef0123456789abcdef01234567\n#!/bin/sh\n"),
            (true, "ref: refs/heads/main\n"),
            (false, "ref:refs/remotes/origin/main"),
            (false, "ref: refs/headsets/main"),
            (true, "ref: refs/heads/.invalid\n"),
            (false, "ref: commondir\n"),
            (false, "ref:      commondir                     \n"),
            (false, "ref:\trefs/replace/01\n"),
            (false, "ref: refs/stash\n"),
            (false, "ref: refs/heads\n"),
            (false, "ref: refs/heads/\n"),
            (false, "ref: refs/heads/../../commondir\n"),
            (false, "ref: refs/heads/a\nref: refs/heads/b\n"),
            (false, "ref: objects/info/alternates\n"),
            (false, "ref: x/refs/heads/main\n"),
            (false, "ref:\n"),
        ] {
            assert_eq!(is_reference(reference.as_bytes(), Some("heads")), sound, "{reference:?}");
        }
        assert!(is_reference(b"ref:refs/remotes/origin/main", Some("remotes")));
        let stash = |reference: &str| is_reference(reference.as_bytes(), None);
        assert!(stash("0123456789abcdef0123456789abcdef01234567\n"));
        assert!(!stash("ref: refs/heads/main") && !stash("ref: refs/stash"));
        let long = format!("ref: refs/heads/{}", "a".repeat(REFERENCE_BYTES_MAX));
        assert!(is_symbolic(long.as_bytes()) && !leads_to_commits(long.as_bytes()));
    }

    #[test]
    fn a_log_begins_with_two_hashes() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        for (expected, log) in [
            (true, String::new()),
            (true, format!("{hash} {hash} a <a@b> 1 +0000\tm\n")),
            (false, format!("{hash}\n{hash} a\n")),
            (false, format!("{hash} [core]\n")),
            (false, "[core]\n".to_owned()),
        ] {
            assert_eq!(is_log(log.as_bytes()), expected, "{log}");
        }
    }

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
