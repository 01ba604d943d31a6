//! What programs say of a file that walls kept from them.

use super::refused_calls::DENIED;

/// What programs say of a file that the walls keep from changing.
pub(super) const READ_ONLY: [&str; 4] = ["read-only file system", "erofs", "只读文件系统", LOCKS];

/// What they say of the same where they do not say why.
const LOCKS: &str = "cannot lock /etc/";

/// What dpkg says where it was denied.
const DPKG: &str = "do not have permission to lock";

/// What they say that would remove or replace what is read-only by itself: a protected file.
const BUSY: [&str; 3] = ["device or resource busy", "resource busy or locked", "ebusy"];

/// What they say that would rename between two mounts, or link to what is read-only by itself.
const APART: [&str; 2] = ["invalid cross-device link", "exdev"];

/// How a line begins in which Node calls an error by its code, after one that names the file; where that is not there,
/// [`super::said::Said::printed`] says it in words.
const OF_CODE: &str = "code: '";

/// What is said of files, and of everything else that takes rights.
pub(super) const NOT_PERMITTED: &str = "operation not permitted";

/// What SQLite says of a database that it could not make or write, whatever the kernel said. Most often no wall did it.
const DATABASE: [&str; 2] =
    ["unable to open database file", "attempt to write a readonly database"];

/// What git says, in each language, of a file of a work tree that it could not write or remove.
const BY_GIT: [&str; 2] = ["unable to unlink", "unable to create file"];

/// How a file was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    ReadOnly,
    Busy,
    /// It would have been by two mounts, or by two folders that undo keeps apart.
    Apart,
    Denied,
    NotPermitted,
    /// By something, if the kernel tells which change it was.
    Database,
}

/// Whether a line complains that git could not write or remove a file of a work tree.
pub(super) fn is_by_git(line: &str) -> bool {
    BY_GIT.iter().any(|words| line.contains(words))
}

/// Says how a file was refused, if a line complains of that in words that the walls cause.
pub(super) fn how(line: &str, in_c: bool) -> Option<How> {
    let line = line.to_lowercase();
    if line.trim_start().starts_with(OF_CODE) {
        return None;
    }
    let says = |words: &[&str]| words.iter().any(|words| line.contains(words));
    // Nothing is mounted in tier C, and nobody else keeps lists of the system's users.
    match in_c {
        true if says(&[LOCKS, DPKG]) || says(&DENIED) => Some(How::Denied),
        true if line.contains(NOT_PERMITTED) => Some(How::NotPermitted),
        false if says(&READ_ONLY) => Some(How::ReadOnly),
        false if says(&BUSY) => Some(How::Busy),
        _ if says(&APART) => Some(How::Apart),
        _ if says(&DATABASE) => Some(How::Database),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_walls_are_those_of_the_tier() {
        for (line, expected) in [
            ("touch: /etc/x: Read-only file system", [Some(How::ReadOnly), None]),
            ("rm: .envrc: Device or resource busy", [Some(How::Busy), None]),
            ("mv: cannot move a to b: Invalid cross-device link", [Some(How::Apart); 2]),
            ("bash: /etc/x: Permission denied", [None, Some(How::Denied)]),
            ("chmod: /etc/x: Operation not permitted", [None, Some(How::NotPermitted)]),
            ("useradd: cannot lock /etc/passwd", [Some(How::ReadOnly), Some(How::Denied)]),
            (
                "dpkg: error: you do not have permission to lock /var/lib/dpkg",
                [None, Some(How::Denied)],
            ),
            ("cat: x: No such file or directory", [None, None]),
            ("  code: 'EROFS',", [None, None]),
            ("attempt to write a readonly database", [Some(How::Database); 2]),
        ] {
            assert_eq!([false, true].map(|in_c| how(line, in_c)), expected, "{line}");
        }
    }
}
