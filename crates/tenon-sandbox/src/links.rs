//! Where a path leads by the links on its way, also where nothing is there yet: a later file would be
//! found through each of them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;

/// The kernel's own limit for one path.
const LINKS_MAX: usize = 40;

/// Returns where an absolute path leads, and the links on the way; what is not there is as it is
/// named. `None` if there are too many links.
pub(crate) fn resolved(named: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
    let mut pending: Vec<OsString> = parts(named);
    let (mut at, mut links) = (PathBuf::from("/"), Vec::new());
    while let Some(part) = pending.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        at.push(&part);
        let is_link = rustix::fs::lstat(&at)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_symlink());
        if !is_link {
            continue;
        }
        if links.len() == LINKS_MAX {
            return None;
        }
        let target = rustix::fs::readlink(&at, Vec::new()).ok()?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        links.push(at.clone());
        at.pop();
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        pending.extend(parts(&target));
    }
    Some((at, links))
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

/// Returns the names of a path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}
