//! Addresses of repositories on this machine that settings of git name: where they lead, and whether that is beneath the
//! folders of a session.

use std::ffi::OsStr;
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
    is_address && path.is_some_and(|path| tried(Path::new("/"), path).iter().all(is_beneath))
}

/// Returns the paths that git tries for an address in the file `config`, as far as that is known.
pub(crate) fn paths(config: &Path, address: &str) -> Vec<PathBuf> {
    let Some(path) = path_of(address) else { return Vec::new() };
    let base = if path.starts_with('/') { Some(Path::new("/")) } else { top_of(config) };
    base.map(|base| tried(base, path)).unwrap_or_default()
}

/// Returns the path in an address of this machine. There is a host in `file://host/a`, and one called `file` in `file:a`;
/// of what begins with `~` git makes a home, and of what has `%` in it letters.
fn path_of(address: &str) -> Option<&str> {
    let path = match address.split_once("://") {
        Some((scheme, path)) => Some(path).filter(|path| scheme == "file" && path.starts_with('/')),
        None => Some(address).filter(|it| it.starts_with('/') || !it.contains(':')),
    };
    path.filter(|path| !path.starts_with('~') && !path.contains('%'))
}

fn tried(base: &Path, path: &str) -> Vec<PathBuf> {
    let path = path.trim_end_matches('/');
    ENDINGS.iter().map(|ending| base.join(format!("{path}{ending}"))).collect()
}

/// Returns the folder in which git is when it opens a relative address; in a linked worktree it is another one.
fn top_of(config: &Path) -> Option<&Path> {
    let folder = config.parent()?;
    match folder.file_name() == Some(OsStr::new(".git")) {
        true => folder.parent(),
        false => (!folder.iter().any(|name| name == ".git")).then_some(folder),
    }
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
    fn addresses_lead_from_the_top_of_a_repository() {
        let check = |config: &str, address: &str, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(paths(Path::new(config), address), expected, "{config} {address}");
        };
        check("/w/.git/config", "../a/", &["/w/../a", "/w/../a.git"]);
        check("/w/.git/config", "file:///a", &["/a", "/a.git"]);
        check("/w/bare/config", "a", &["/w/bare/a", "/w/bare/a.git"]);
        check("/w/.git/modules/m/config", "a", &[]);
        check("/w/.git/modules/m/config", "/a", &["/a", "/a.git"]);
        check("/w/.git/config", "~/a", &[]);
    }
}
