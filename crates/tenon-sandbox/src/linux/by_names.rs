//! What openat2 does, one name at a time.
//!
//! The walls of another tenon have no such call (see `set_id.rs`), and hold whatever becomes of a path
//! here. Each folder on the way is held open and `..` goes back to the one before, so that nothing leads
//! out of the folder that a path begins at.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, fstat, openat, readlinkat, statat,
};
use rustix::io::Errno;

/// The kernel's own limit for one walk.
const LINKS_MAX: usize = 40;

const LOOKS: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a path as openat2 does with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS, or with
/// RESOLVE_NO_SYMLINKS.
///
/// # Errors
/// As openat2 says.
pub(super) fn open(
    folder: BorrowedFd<'_>,
    path: &[u8],
    (flags, mode): (OFlags, Mode),
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let is_beneath = resolve.contains(ResolveFlags::BENEATH);
    let follows = !resolve.contains(ResolveFlags::NO_SYMLINKS);
    let is_absolute = path.starts_with(b"/");
    if path.is_empty() {
        return Err(Errno::NOENT);
    } else if is_absolute && is_beneath {
        return Err(Errno::XDEV);
    }
    let start = if is_absolute { OsStr::new("/") } else { OsStr::new(".") };
    let mut folders = vec![openat(folder, start, LOOKS | OFlags::DIRECTORY, Mode::empty())?];
    let mut pending = VecDeque::new();
    prepend(&mut pending, path);
    let asks_for_folder = path.ends_with(b"/");
    let keeps_link = flags.contains(OFlags::NOFOLLOW) && !asks_for_folder;
    let is_made = flags.contains(OFlags::CREATE);
    let flags = if asks_for_folder && !is_made { flags | OFlags::DIRECTORY } else { flags };
    let mut links = 0;
    while let Some(name) = pending.pop_front() {
        let here = folders.last().ok_or(Errno::XDEV)?;
        if name == ".." && is_beneath {
            folders.pop();
            folders.last().ok_or(Errno::XDEV)?;
            continue;
        }
        let is_last = pending.is_empty() && name != "..";
        let opened = match is_last {
            true => openat(here, &*name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode),
            false => openat(here, &*name, LOOKS, Mode::empty()),
        };
        let is_link = match &opened {
            // No link is opened.
            Ok(_) if is_last && !flags.contains(OFlags::PATH) => false,
            Ok(opened) => FileType::from_raw_mode(fstat(opened)?.st_mode) == FileType::Symlink,
            Err(Errno::LOOP | Errno::NOTDIR) => is_link(here, &name),
            Err(_) => false,
        };
        if !is_link || is_last && keeps_link {
            match (opened?, is_last) {
                (opened, true) => return Ok(opened),
                (opened, false) => folders.push(opened),
            }
            continue;
        }
        links += 1;
        if !follows || links > LINKS_MAX {
            return Err(Errno::LOOP);
        }
        let text = readlinkat(here, &*name, Vec::new())?.into_bytes();
        if text.starts_with(b"/") {
            return Err(Errno::XDEV);
        }
        prepend(&mut pending, &text);
    }
    openat(folders.last().ok_or(Errno::XDEV)?, ".", flags | OFlags::CLOEXEC, mode)
}

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    let found = statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

fn prepend(pending: &mut VecDeque<OsString>, text: &[u8]) {
    let names = text.rsplit(|byte| *byte == b'/').filter(|name| !matches!(name, [] | [b'.']));
    for name in names {
        pending.push_front(OsStr::from_bytes(name).to_owned());
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make what is opened")]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    const READS: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

    /// Checks that a path leads to the same, or fails in the same way, as with the kernel's own walk.
    fn check(top: &Path, path: &str, flags: OFlags, resolve: ResolveFlags) {
        let folder = rustix::fs::open(top, LOOKS, Mode::empty()).unwrap();
        let found = |opened: Result<OwnedFd, Errno>| {
            opened.map(|opened| fstat(opened).unwrap()).map(|found| (found.st_dev, found.st_ino))
        };
        let kernel = rustix::fs::openat2(&folder, path, flags, Mode::empty(), resolve);
        let (kernel, own) = (
            found(kernel),
            found(open(folder.as_fd(), path.as_bytes(), (flags, Mode::empty()), resolve)),
        );
        assert_eq!(own, kernel, "{path} {flags:?} {resolve:?}");
    }

    #[test]
    fn paths_lead_to_where_the_kernel_finds_them() {
        let outer = tempfile::tempdir().unwrap();
        let top = outer.path().canonicalize().unwrap().join("top");
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::write(top.join("a/file"), "x").unwrap();
        std::fs::write(outer.path().join("outside"), "x").unwrap();
        for (text, name) in [
            ("a/file", "link"),
            ("a", "folder"),
            ("../outside", "out"),
            ("/etc", "absolute"),
            ("loop", "loop"),
            ("nowhere", "dangling"),
            ("../a/../link", "a/back"),
        ] {
            symlink(text, top.join(name)).unwrap();
        }
        let absolute = top.join("a").display().to_string();
        let paths = [
            "",
            ".",
            "..",
            "./",
            "a",
            "a/",
            "a/.",
            "a/..",
            "a/../..",
            "a/b/../file",
            "a/file",
            "a/file/",
            "a/file/x",
            "link",
            "link/",
            "folder",
            "folder/",
            "folder/b",
            "folder/../a",
            "out",
            "absolute",
            "absolute/passwd",
            "loop",
            "dangling",
            "a/back",
            "none",
            "none/x",
            "/",
            &absolute,
        ];
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let resolves = [beneath, ResolveFlags::NO_SYMLINKS, beneath | ResolveFlags::NO_SYMLINKS];
        let kinds = [READS, READS | OFlags::NOFOLLOW, LOOKS, OFlags::PATH | OFlags::CLOEXEC];
        for path in paths {
            for resolve in resolves {
                for flags in kinds {
                    check(&top, path, flags, resolve);
                    check(&top, path, flags | OFlags::DIRECTORY, resolve);
                }
            }
        }
    }
}
