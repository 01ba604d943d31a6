//! What keeps its name in the folders of a session: the folders above what is closed to commands there, or only read.
//!
//! Bound on themselves they cannot be renamed, which would bring what is in them to light, or let something else have
//! their names. What is not there yet may come while the session lasts, when a person logs in somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::links::resolved;
use crate::linux::openat::open_plain;

/// The folders, and what tells that they are others by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pins {
    /// Those that were there when the file tree was planned.
    pub(super) planned: BTreeSet<PathBuf>,
    /// Where others may come.
    awaited: BTreeSet<PathBuf>,
    /// Names on the way to what is closed, and what they hold that are links.
    links: Vec<(PathBuf, Option<PathBuf>)>,
}

impl Pins {
    /// Returns those of what is `closed`, and of its `names`, in `roots`. Where `is_writable` does not hold, nothing is
    /// renamed.
    pub(super) fn new(
        closed: &[PathBuf],
        names: impl Iterator<Item = PathBuf>,
        roots: &[PathBuf],
        is_writable: impl Fn(&Path) -> bool,
    ) -> Self {
        let is_within = |path: &Path| {
            let above = path.parent();
            above.is_some_and(|above| roots.iter().any(|root| above.starts_with(root)))
                && !roots.iter().any(|root| path == root)
        };
        let within = |path: &Path| -> Vec<PathBuf> {
            path.ancestors().filter(|path| is_within(path)).map(Path::to_path_buf).collect()
        };
        let above = closed.iter().filter_map(|path| path.parent());
        let folders: BTreeSet<PathBuf> = above.flat_map(within).collect();
        let folders = folders.into_iter().filter(|path| is_writable(path));
        let (planned, awaited) = folders.partition(|path| open_plain(path).is_ok());
        let ways = names.flat_map(|name| {
            let (end, mut ways) = resolved(&name).unwrap_or_else(|| (name.clone(), Vec::new()));
            ways.extend([name, end]);
            ways
        });
        let links: BTreeSet<PathBuf> = ways.flat_map(|way| within(&way)).collect();
        let links = links.into_iter().map(|path| (held_by(&path), path));
        Self { planned, awaited, links: links.map(|(held, path)| (path, held)).collect() }
    }

    /// Whether what is closed is still where it was found to be, links followed.
    pub(super) fn are_current(&self) -> bool {
        self.links.iter().all(|(path, held)| held_by(path) == *held)
    }

    /// Returns the folders that came since, those above first.
    pub(super) fn later(&self) -> impl Iterator<Item = &PathBuf> {
        self.awaited.iter().filter(|path| is_folder(path))
    }

    /// Whether a folder cannot be renamed.
    pub(super) fn hold(&self, path: &Path) -> bool {
        self.planned.contains(path) || self.awaited.contains(path) && is_folder(path)
    }
}

/// Returns what a link holds; `None` if none is there.
fn held_by(path: &Path) -> Option<PathBuf> {
    std::fs::read_link(path).ok()
}

fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folders_above_what_is_closed_are_held_also_those_that_come_later() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let at = |name: &str| home.join(name);
        std::fs::create_dir_all(at("work/a/inner")).unwrap();
        let closed = ["work/a/b/key", "work/a/inner/c/key", "key"].map(at);
        let roots = ["work", "work/a/inner"].map(at);
        let pins = Pins::new(&closed, closed.iter().cloned(), &roots, |_| true);
        assert_eq!(pins.planned, [at("work/a")].into());
        let held =
            || ["work", "work/a", "work/a/inner", "work/a/b"].map(|name| pins.hold(&at(name)));
        assert_eq!((held(), pins.later().next()), ([false, true, false, false], None));
        std::fs::create_dir(at("work/a/b")).unwrap();
        assert_eq!(
            (held(), pins.later().next()),
            ([false, true, false, true], Some(&at("work/a/b")))
        );
        assert!(pins.are_current());
    }

    #[test]
    fn a_link_that_comes_goes_or_holds_something_else_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let at = |name: &str| home.join(name);
        for (target, name) in [("b", "a"), ("c", "b")] {
            symlink(target, at(name)).unwrap();
        }
        let names = ["a/d/key", "e"].map(at);
        let check = |changed: &str| {
            let pins = Pins::new(&[], names.iter().cloned(), std::slice::from_ref(&home), |_| true);
            assert!(pins.are_current());
            let _ = std::fs::remove_file(at(changed));
            symlink("elsewhere", at(changed)).unwrap();
            assert!(!pins.are_current(), "{changed}");
            std::fs::remove_file(at(changed)).unwrap();
            assert!(!pins.are_current() || changed == "e", "{changed}");
        };
        for changed in ["e", "b", "a"] {
            check(changed);
        }
    }
}
