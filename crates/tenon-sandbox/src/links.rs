//! Where a path leads by the links on its way, also where nothing is there yet: a later file would be
//! found through each of them.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::linux::closed::{open_closed, through};
use crate::linux::openat::open_plain;

/// The kernel's own limit for one path.
const LINKS_MAX: usize = 40;

/// Returns where an absolute path leads, and the links on the way; what is not there is as it is
/// named. `None` if there are too many links.
pub(crate) fn resolved(named: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
    match is_without_links(named) {
        true => Some((named.components().collect(), Vec::new())),
        false => walked(named).map(|way| (way.end, way.links)),
    }
}

/// How a path leads where it does.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) end: PathBuf,
    pub(crate) links: Vec<PathBuf>,
    /// The folders that `..` goes out of again: from behind a link in the place of one it would go elsewhere.
    pub(crate) left: Vec<PathBuf>,
}

/// Returns how an absolute path leads where it does, one name after the other; as [`resolved`] says.
pub(crate) fn walked(named: &Path) -> Option<Way> {
    let mut pending: Vec<OsString> = parts(named);
    let (mut at, mut links, mut left) = (PathBuf::from("/"), Vec::new(), Vec::new());
    while let Some(part) = pending.pop() {
        if part == ".." {
            left.push(at.clone());
            at.pop();
            continue;
        }
        at.push(&part);
        let target = match rustix::fs::lstat(&at) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => Some(readlink(&at)?),
            Err(Errno::ACCESS) => closed_link(&at),
            _ => None,
        };
        let Some(target) = target else { continue };
        if links.len() == LINKS_MAX {
            return None;
        }
        links.push(at.clone());
        at.pop();
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        pending.extend(parts(&target));
    }
    Some(Way { end: at, links, left })
}

/// Whether a way goes into a folder and out of it again, by its names.
pub(crate) fn goes_out_again(way: &Path) -> bool {
    let mut parts = way.components().skip_while(|part| *part == Component::ParentDir);
    parts.any(|part| part == Component::ParentDir)
}

fn readlink(link: &Path) -> Option<PathBuf> {
    rustix::fs::readlink(link, Vec::new()).ok().map(path_of)
}

/// Returns where a link leads that is in a folder which a command closed to its owner.
fn closed_link(path: &Path) -> Option<PathBuf> {
    let (folder, name) = (open_closed(path.parent()?).ok()?, path.file_name()?);
    through(&folder, || rustix::fs::readlinkat(&folder, name, Vec::new())).ok().map(path_of)
}

fn path_of(target: CString) -> PathBuf {
    PathBuf::from(OsString::from_vec(target.into_bytes()))
}

/// Whether the kernel comes to the end of a path, or to where nothing is, without a link: one question in the place of
/// one for each name.
fn is_without_links(named: &Path) -> bool {
    let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    named.is_absolute()
        && named.components().all(is_plain)
        && open_plain(named).map_or_else(|errno| errno == Errno::NOENT, |_| true)
}

/// Returns where an absolute path leads by the links on its way as they are now; what is not there is as it is named.
/// `None` of a path that is relative or has too many links.
///
/// ```
/// let own = format!("/proc/{}/stat", std::process::id());
/// assert_eq!(tenon_sandbox::led_to("/proc/self/stat".as_ref()), Some(own.into()));
/// ```
#[must_use]
pub fn led_to(named: &Path) -> Option<PathBuf> {
    Some(named).filter(|named| named.is_absolute()).and_then(resolved).map(|(end, _)| end)
}

/// Returns the symbolic links on the way of an absolute path as they are now, the first one first, each by a path
/// without links and with where it leads in the end. None of a path that is relative or has too many.
///
/// ```
/// let links = tenon_sandbox::links_to("/proc/self/mounts".as_ref());
/// assert_eq!(links.first().map(|(link, _)| link.as_path()), Some("/proc/self".as_ref()));
/// ```
#[must_use]
pub fn links_to(named: &Path) -> Vec<(PathBuf, PathBuf)> {
    let links = Some(named).filter(|named| named.is_absolute()).and_then(resolved);
    let (_, links) = links.unwrap_or_default();
    let led = |link: PathBuf| resolved(&link).map(|(end, _)| (link, end));
    links.into_iter().filter_map(led).collect()
}

/// Whether an absolute path, a link on its way or what it leads to lies in one of `folders`, which are paths without
/// links; also where it has too many links to follow. Nothing need be there.
///
/// ```
/// let is_led = |folder: &str| tenon_sandbox::leads_into("/proc/self/mounts".as_ref(), &[folder.into()]);
/// assert!(is_led("/proc") && !is_led("/proc/bus"));
/// ```
#[must_use]
pub fn leads_into(named: &Path, folders: &[PathBuf]) -> bool {
    let is_in = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    resolved(named).is_none_or(|(end, links)| is_in(&end) || links.iter().any(|link| is_in(link)))
}

/// Returns a path without `..` by its names.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the names of a path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own folders")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn plainly(named: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
        walked(named).map(|way| (way.end, way.links))
    }

    #[test]
    fn a_path_leads_where_its_names_lead_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::write(top.join("a/file"), "").unwrap();
        for (target, name) in
            [("a", "link"), ("a/file", "last"), ("nowhere/x", "dangling"), ("round", "round")]
        {
            symlink(target, top.join(name)).unwrap();
        }
        symlink(top.join("link"), top.join("a/b/up")).unwrap();
        let check = |name: &str, end: Option<&str>, links: usize| {
            let found = resolved(&top.join(name));
            assert_eq!(found, plainly(&top.join(name)), "{name}");
            let found = found.map(|(end, links)| (end, links.len()));
            assert_eq!(found, end.map(|end| (top.join(end), links)), "{name}");
        };
        check("a/b", Some("a/b"), 0);
        check("a/./b/", Some("a/b"), 0);
        check("a/none/x", Some("a/none/x"), 0);
        check("a/file/x", Some("a/file/x"), 0);
        check("a/../a/b", Some("a/b"), 0);
        check("link/b", Some("a/b"), 1);
        check("last", Some("a/file"), 1);
        check("dangling/y", Some("nowhere/x/y"), 1);
        check("a/b/up/file", Some("a/file"), 2);
        check("round", None, 0);
        let left = |name: &str| walked(&top.join(name)).map(|way| way.left);
        assert_eq!(left("a/../link/../a/b"), Some(vec![top.join("a"), top.join("a")]));
        assert_eq!(left("a/b"), Some(Vec::new()));
        let again = |way: &str| goes_out_again(way.as_ref());
        assert!(again("x/../a") && again("../x/../a") && again("/x/..") && again("../x/y/../a"));
        assert!(!again("../../a/b") && !again("a/./b") && !again("/a/b") && !again(".."));
        for path in ["/proc/self/exe", "/", "relative", "/dev/stdin"] {
            assert_eq!(resolved(path.as_ref()), plainly(path.as_ref()), "{path}");
        }
    }
}
