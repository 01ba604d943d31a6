//! Addresses of repositories on this machine that settings of git name: where they lead, and whether that is beneath the
//! folders of a session.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::git_config::is_address;
use crate::links::resolved;

/// What git tries behind an address.
const ENDINGS: [&str; 2] = ["", ".git"];

/// Whether settings may say this: an address that leads beneath the roots by a whole path, to no file. One that counts from
/// where git is leads elsewhere once another folder is at its beginning.
pub(crate) fn may_lead(name: &str, address: &str, roots: &[PathBuf]) -> bool {
    let ends = name.split_once('.').zip(name.rsplit_once('.'));
    let is_address = ends.is_some_and(|((section, _), (_, name))| is_address(section, name));
    let is_in_root = |path: &Path| roots.iter().any(|root| path.starts_with(root));
    let is_beneath = |path: &PathBuf| {
        resolved(path).is_some_and(|(end, _)| is_in_root(&end) && is_folder_or_nothing(&end))
    };
    // What is beneath by its name is so for git, too: `/proc/self/cwd` is another folder for each.
    let is_whole = |path: &&str| {
        is_in_root(Path::new(path)) && !Path::new(path).iter().any(|part| part == "..")
    };
    let path = path_of(address).filter(is_whole);
    let tried = |path: &str| tried(Path::new("/"), path.as_bytes());
    is_address && path.is_some_and(|path| tried(path).iter().all(is_beneath))
}

/// Returns the paths that git tries for an address of this machine, whatever signs it has: from each of the `tops` in order
/// if it counts from where git is.
pub(crate) fn paths(
    address: &OsStr,
    home: Option<&Path>,
    tops: impl FnOnce() -> Vec<PathBuf>,
) -> Vec<Vec<PathBuf>> {
    let readings = readings(address.as_bytes());
    match readings.as_slice() {
        [path] if !path.starts_with(b"/") => match path.strip_prefix(b"~/").zip(home) {
            Some((rest, home)) => vec![tried(home, rest)],
            None => tops().iter().map(|top| tried(top, path)).collect(),
        },
        whole => whole.iter().map(|path| tried(Path::new("/"), path)).collect(),
    }
}

/// Returns what git takes for the path in an address of this machine. A host in `file://host/a` is left out; that a sign is
/// written `%20` there git knows, and not each program that goes with it.
fn readings(address: &[u8]) -> Vec<Vec<u8>> {
    const SCHEME: &[u8] = b"file://";
    let behind = address.split_at_checked(SCHEME.len());
    let behind = behind.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME));
    let Some((_, rest)) = behind else { return vec![address.to_vec()] };
    let start = rest.iter().position(|byte| *byte == b'/');
    let Some(path) = start.and_then(|start| rest.get(start..)) else { return Vec::new() };
    let decoded = decoded(path);
    if decoded == path { vec![decoded] } else { vec![path.to_vec(), decoded] }
}

/// Returns a path with the bytes that are written as `%20`.
fn decoded(mut path: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(path.len());
    while let Some((first, rest)) = path.split_first() {
        let digits = rest.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.filter(|_| *first == b'%').and_then(|it| std::str::from_utf8(it).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                result.push(byte);
                path = rest.get(2..).unwrap_or_default();
            }
            None => {
                result.push(*first);
                path = rest;
            }
        }
    }
    result
}

/// Returns the path in an address of this machine that is the same for every program. There is a host in `file://host/a`,
/// and one called `file` in `file:a`; of what begins with `~` git makes a home, and of what has `%` in it letters.
fn path_of(address: &str) -> Option<&str> {
    let path = match address.split_once("://") {
        Some((scheme, path)) => Some(path).filter(|path| scheme == "file" && path.starts_with('/')),
        None => Some(address).filter(|it| it.starts_with('/') || !it.contains(':')),
    };
    path.filter(|path| !path.starts_with('~') && !path.contains('%'))
}

fn tried(base: &Path, path: &[u8]) -> Vec<PathBuf> {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let path = path.get(..end).unwrap_or_default();
    let with = |ending: &&str| base.join(OsStr::from_bytes(&[path, ending.as_bytes()].concat()));
    ENDINGS.iter().map(with).collect()
}

fn is_folder_or_nothing(path: &Path) -> bool {
    match rustix::fs::lstat(path) {
        Ok(stat) => FileType::from_raw_mode(stat.st_mode).is_dir(),
        Err(errno) => errno == Errno::NOENT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_paths_beneath_the_roots_may_be_addresses() {
        let roots = [PathBuf::from("/work")];
        let check = |address: &str, expected: bool| {
            assert_eq!(may_lead("remote.o.url", address, &roots), expected, "{address}");
        };
        for address in ["/work/a", "file:///work/a", "/work/a/"] {
            check(address, true);
        }
        for address in [
            "/home/a",
            "/work/../home/a",
            "/work/../work/a",
            "/proc/self/cwd",
            "/work/a%2f..",
            "a",
            "./a",
            "~/a",
            "file:/work/a",
            "file://work/a",
            "file://localhost/work/a",
            "FILE:///work/a",
            "x:///work/a",
        ] {
            check(address, false);
        }
        assert!(!may_lead("core.worktree", "/work/a", &roots));
    }

    #[test]
    fn addresses_lead_from_the_tops_of_work_trees_whatever_signs_they_have() {
        let check = |address: &str, expected: &[&str]| {
            let tops = || ["/w", "/w/wt"].map(PathBuf::from).to_vec();
            let found = paths(OsStr::new(address), Some(Path::new("/home/a")), tops);
            let without_ending = found.iter().map(|tried| tried[0].to_str().unwrap());
            assert_eq!(without_ending.collect::<Vec<_>>(), expected, "{address}");
            assert!(found.iter().all(|tried| tried[1].extension() == Some(OsStr::new("git"))));
        };
        check("../a/", &["/w/../a", "/w/wt/../a"]);
        check("./a:b", &["/w/./a:b", "/w/wt/./a:b"]);
        check("R&D (old)", &["/w/R&D (old)", "/w/wt/R&D (old)"]);
        check("/w/R&D/100%", &["/w/R&D/100%"]);
        check("/w/a%20b", &["/w/a%20b"]);
        check("file:///w/a%20b%2", &["/w/a%20b%2", "/w/a b%2"]);
        check("file://localhost/a", &["/a"]);
        check("FILE:///a", &["/a"]);
        check("~/a", &["/home/a/a"]);
    }
}
