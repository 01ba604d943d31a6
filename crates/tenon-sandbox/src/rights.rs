//! What a user's rights over files of others alone make possible: walls take those away, root's too.

use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use crate::linux::probe::{Wish, is_closed_to_user};

/// Something of another user's whose permissions leave others less than all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfAnother {
    /// What it is.
    pub path: PathBuf,
    /// The number of the user whose it is.
    pub owner: u32,
}

/// Permissions of one class of users.
const READ: u32 = 4;
const WRITE: u32 = 2;
const ENTER: u32 = 1;

/// To enter a folder, or to run a file, of all three classes.
const ENTER_OF_ALL: u32 = 0o111;

/// Returns what of another user's stands in the way of a command inside walls that would read, write, make or
/// remove `path`, or only run it, and that the user's rights over files of others would open without walls.
/// `path` is `root` or lies in it; what it leads through counts as well, the last first. No link is followed.
///
/// ```
/// # use std::path::Path;
/// # use tenon_sandbox::stands_in_the_way;
/// let root = Path::new("/srv/project");
/// let found = stands_in_the_way(root, &root.join("pgdata/PG_VERSION"), false);
/// assert!(found.is_none_or(|found| found.path.starts_with(root)));
/// ```
#[must_use]
pub fn stands_in_the_way(root: &Path, path: &Path, only_runs: bool) -> Option<OfAnother> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut on_the_way = path.ancestors().take_while(|above| above.starts_with(root));
    let found = on_the_way.find_map(|entry| {
        let stat = rustix::fs::lstat(entry).ok()?;
        let needed = match only_runs {
            true => ENTER,
            false => needed(entry, path, &stat),
        };
        let is_refused = stat.st_uid != user && needed & !left(&stat, group) != 0;
        is_refused.then(|| (OfAnother { path: entry.to_path_buf(), owner: stat.st_uid }, stat))
    });
    let (found, stat) = found?;
    // Root runs nothing that is nobody's to run.
    let is_closed = match only_runs {
        true => stat.st_mode & ENTER_OF_ALL == 0,
        false => [Wish::Read, Wish::Write].iter().any(|wish| is_closed_to_user(&found.path, *wish)),
    };
    (!is_closed).then_some(found)
}

/// Returns the permissions that are needed of an entry on the way to `path`.
fn needed(entry: &Path, path: &Path, stat: &Stat) -> u32 {
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    match (entry == path, is_folder) {
        (true, true) => READ | WRITE | ENTER,
        (true, false) => READ | WRITE,
        (false, _) if path.parent() == Some(entry) => WRITE | ENTER,
        (false, _) => ENTER,
    }
}

/// Returns the permissions that others have, or those of `group` where it is of that.
fn left(stat: &Stat, group: u32) -> u32 {
    let of_class = if stat.st_gid == group { stat.st_mode >> 3 } else { stat.st_mode };
    of_class & (READ | WRITE | ENTER)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;
    use crate::linux::probe::runs_as_root;

    const OTHER: u32 = 1000;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes the files that are looked at")]
    fn what_is_of_another_and_leaves_others_less_stands_in_the_way_of_root() {
        if !runs_as_root() {
            return println!("skipped: only root can give files to others");
        }
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let put = |name: &str, mode: u32, owner: u32| {
            let path = root.join(name);
            if name.ends_with('/') {
                std::fs::create_dir(&path).unwrap();
            } else {
                std::fs::write(&path, "").unwrap();
            }
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            chown(&path, Some(owner), Some(owner)).unwrap();
        };
        put("own", 0o600, 0);
        put("theirs", 0o644, OTHER);
        put("open", 0o666, OTHER);
        put("script", 0o744, OTHER);
        put("closed/", 0o700, OTHER);
        put("closed/in", 0o644, 0);
        put("listed/", 0o755, OTHER);
        put("listed/in", 0o644, 0);
        let check = |name: &str, only_runs: bool, expected: Option<&str>| {
            let found = stands_in_the_way(&root, &root.join(name), only_runs);
            let expected = expected.map(|name| OfAnother { path: root.join(name), owner: OTHER });
            assert_eq!(found, expected, "{name}");
        };
        check("own", false, None);
        check("new", false, None);
        check("theirs", false, Some("theirs"));
        check("theirs", true, None);
        check("open", false, None);
        check("script", true, Some("script"));
        check("closed", false, Some("closed"));
        check("closed/in", false, Some("closed"));
        check("closed/new", false, Some("closed"));
        check("listed/new", false, Some("listed"));
        check("listed/in", true, None);
        chown(&root, Some(OTHER), Some(OTHER)).unwrap();
        check("new", false, Some(""));
    }
}
