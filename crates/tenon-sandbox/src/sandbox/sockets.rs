//! Sockets with a path that somebody outside listens at: a command that may look at the path may
//! connect to it, whatever it may write. In tier A they are covered, like files that nobody sees.
//!
//! What the kernel lists is what was bound in this network namespace, under the name that was
//! given then; docs/security.md says what that leaves out. Newer kernels hold such connections by
//! Landlock (ABI 9), besides.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::linux::closed::open_closed;

/// Each costs a call a mount of some 15 µs.
const SOCKETS_MAX: usize = 512;

/// Holds the list of a machine with few sockets, so that it is read at once: the kernel tells no size.
const LIST_BYTES: usize = 32 * 1024;

/// Fields before the path, as the kernel prints them (net/unix/af_unix.c, `unix_seq_show`).
const FIELDS_BEFORE_PATH: usize = 7;

/// Where sockets were that were covered in a session. A command may take a link away that a listed name goes
/// through, and close a folder: what was covered stays so as long as it is there.
#[derive(Default)]
pub(super) struct Covered(BTreeSet<PathBuf>);

impl Covered {
    /// Returns all of them, with those that `now` are to be covered.
    pub(super) fn with(&mut self, now: Vec<PathBuf>) -> Vec<PathBuf> {
        self.0.retain(|path| is_one(path));
        self.0.extend(now);
        self.0.iter().cloned().collect()
    }
}

/// Whether a socket is at a path. What cannot be looked at may be one.
fn is_one(path: &Path) -> bool {
    let found = match open_closed(path).and_then(|it| rustix::fs::fstat(&it)) {
        Ok(found) => found,
        Err(errno) => return !matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
    };
    FileType::from_raw_mode(found.st_mode).is_socket()
}

/// Returns where sockets are that commands would see, without those beneath `private` folders, of
/// which only what is beneath `kept` is in sight.
pub(super) fn with_path(private: &[PathBuf], kept: &[&Path]) -> Vec<PathBuf> {
    let mut list = Vec::with_capacity(LIST_BYTES);
    #[expect(clippy::disallowed_methods, reason = "the kernel's list of sockets")]
    let read = File::open("/proc/net/unix").and_then(|mut file| file.read_to_end(&mut list));
    if read.is_err() {
        list.clear();
    }
    let is_seen = |path: &Path| {
        let is_beneath = |folder: &Path| path.starts_with(folder);
        kept.iter().any(|folder| is_beneath(folder))
            || !private.iter().any(|folder| is_beneath(folder))
    };
    let paths: BTreeSet<&Path> = paths(&list).collect();
    let ends = paths.into_iter().filter_map(end).filter(|end| is_seen(end));
    ends.take(SOCKETS_MAX).collect()
}

/// Returns where a name leads, links followed. What is gone is in nobody's way; what cannot be looked at is there.
fn end(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(end) => Some(end),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            None
        }
        Err(_) => Some(path.to_path_buf()),
    }
}

fn paths(list: &[u8]) -> impl Iterator<Item = &Path> {
    list.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
        let mut rest = line;
        for _ in 0..FIELDS_BEFORE_PATH {
            // The last of them is padded with blanks in front.
            rest = rest.trim_ascii_start();
            let end = rest.iter().position(|byte| *byte == b' ')?;
            rest = rest.get(end..)?;
        }
        let path = Path::new(OsStr::from_bytes(rest.get(1..)?));
        path.is_absolute().then_some(path)
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_the_kernels_list() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            00000000da0984b5: 00000003 00000000 00000000 0001 03 4505162\n\
            0000000000000001: 00000002 00000000 00010000 0001 01    12 /run/a b/socket\n\
            0000000000000002: 00000002 00000000 00010000 0001 01 4505163 @abstract\n\
            0000000000000003: 00000002 00000000 00000000 0002 01 4505164 /home/u/s\n\
            0000000000000004: 00000002 00000000 00010000 0001 01 4505165 relative\n";
        let found: Vec<&Path> = paths(list).collect();
        assert_eq!(found, [Path::new("/run/a b/socket"), Path::new("/home/u/s")]);
    }

    #[test]
    fn only_sockets_in_sight_are_returned() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("home/kept")).unwrap();
        let bind = |name| std::os::unix::net::UnixListener::bind(top.join(name)).unwrap();
        let _open = ["home/private", "home/kept/s"].map(bind);
        let (home, kept) = (top.join("home"), top.join("home/kept"));
        std::os::unix::fs::symlink(&kept, home.join("link")).unwrap();
        let _by_link = bind("home/link/other");
        let found = with_path(std::slice::from_ref(&home), &[&kept]);
        let own: BTreeSet<_> = found.iter().filter(|path| path.starts_with(&top)).collect();
        assert_eq!(own, BTreeSet::from([&kept.join("other"), &kept.join("s")]));
    }

    #[test]
    fn what_was_covered_stays_so_as_long_as_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let [one, two, plain] = ["one", "two", "plain"].map(|name| top.join(name));
        let _open = [&one, &two].map(|at| std::os::unix::net::UnixListener::bind(at).unwrap());
        std::fs::write(&plain, "").unwrap();
        let mut covered = Covered::default();
        assert_eq!(covered.with(vec![one.clone(), plain.clone()]), [one.clone(), plain]);
        assert_eq!(covered.with(vec![two.clone()]), [one.clone(), two.clone()]);
        std::fs::remove_file(one).unwrap();
        assert_eq!(covered.with(Vec::new()), [two]);
    }
}
