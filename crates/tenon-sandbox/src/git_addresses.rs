//! Addresses of repositories on this machine that settings of git name: where they lead, and whether that is beneath the
//! folders of a session.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::git_config::{is_address, is_plain_address};
use crate::links::resolved;

/// What git tries behind an address.
const ENDINGS: [&str; 2] = ["", ".git"];

/// How a file begins that git takes for a repository, and that leads nowhere else.
const BUNDLES: [&[u8]; 2] = [b"# v2 git bundle\n", b"# v3 git bundle\n"];

/// Whether settings may say this: an address that leads beneath the roots by a whole path, to no file but a bundle. One that
/// counts from where git is leads elsewhere once another folder is at its beginning.
pub(crate) fn may_lead(name: &str, address: &str, roots: &[PathBuf]) -> bool {
    let ends = name.split_once('.').zip(name.rsplit_once('.'));
    let is_address = ends.is_some_and(|((section, _), (_, name))| is_address(section, name));
    let is_in_root = |path: &Path| roots.iter().any(|root| path.starts_with(root));
    let is_beneath = |path: &PathBuf| {
        resolved(path).is_some_and(|(end, _)| is_in_root(&end) && may_be_repository(&end))
    };
    // What is beneath by its name is so for git, too: `/proc/self/cwd` is another folder for each.
    let is_whole = |path: &&str| {
        is_in_root(Path::new(path)) && !Path::new(path).iter().any(|part| part == "..")
    };
    let is_plain = |path: &&str| roots.iter().any(|root| is_plain_beneath(root, path));
    let path = path_of(address).filter(is_whole).filter(is_plain);
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

/// Returns the whole path in an address of this machine that is the same for every program. There is a host in
/// `file://host/a`, and one called `file` in `file:a`; of what has `%` in it behind `file://` git makes letters.
fn path_of(address: &str) -> Option<&str> {
    let behind = address.strip_prefix("file://").filter(|path| !path.contains('%'));
    behind.or(Some(address)).filter(|path| path.starts_with('/'))
}

/// Whether what stands behind a root is plain in an address. The path of the root is the person's, whatever signs it has.
fn is_plain_beneath(root: &Path, path: &str) -> bool {
    let root = root.to_str().map(|root| root.trim_end_matches('/'));
    let rest = root.and_then(|root| path.strip_prefix(root));
    rest.is_some_and(|it| it.starts_with('/') && !it.contains('%') && is_plain_address(it))
}

fn tried(base: &Path, path: &[u8]) -> Vec<PathBuf> {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let path = path.get(..end).unwrap_or_default();
    let with = |ending: &&str| base.join(OsStr::from_bytes(&[path, ending.as_bytes()].concat()));
    ENDINGS.iter().map(with).collect()
}

/// Whether a folder, a bundle or nothing is there.
fn may_be_repository(path: &Path) -> bool {
    match rustix::fs::lstat(path).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::RegularFile) => is_bundle(path),
        Ok(kind) => kind.is_dir(),
        Err(errno) => errno == Errno::NOENT,
    }
}

fn is_bundle(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty());
    let mut start = Vec::new();
    let length = BUNDLES.iter().map(|known| known.len() as u64).max().unwrap_or_default();
    let read = file.map(|file| File::from(file).take(length).read_to_end(&mut start));
    matches!(read, Ok(Ok(_))) && BUNDLES.iter().any(|known| start.starts_with(known))
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
            "/work/a&b",
            "/work/$(a)",
            "/work/a -b",
            "/work/a ",
            "/workspace",
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
    fn the_path_of_a_root_may_have_any_sign_in_an_address() {
        for root in ["/ada & co (work)", "/100%", "/a;b'c", "/a -b", "/w\u{f6}rk $x"] {
            let roots = [PathBuf::from("/other"), PathBuf::from(root)];
            for (rest, expected) in
                [("/.", true), ("/a b.git", true), ("/a&b", false), ("x", false)]
            {
                let address = format!("{root}{rest}");
                assert_eq!(may_lead("remote.o.url", &address, &roots), expected, "{address}");
                let file = format!("file://{address}");
                let expected = expected && !root.contains('%');
                assert_eq!(may_lead("remote.o.url", &file, &roots), expected, "{file}");
            }
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes the files that are looked at")]
    fn of_files_bundles_alone_may_be_repositories() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let check = |text: &str, expected: bool| {
            std::fs::write(root.join("a"), text).unwrap();
            let address = root.join("a").display().to_string();
            let found = may_lead("remote.o.url", &address, std::slice::from_ref(&root));
            assert_eq!(found, expected, "{text}");
        };
        check("# v2 git bundle\n", true);
        check("# v3 git bundle\n@filter=x\n", true);
        for text in ["", "gitdir: /x\n", "# v2 git bundle", "# v4 git bundle\n"] {
            check(text, false);
        }
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
