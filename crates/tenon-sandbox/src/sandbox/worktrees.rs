//! Linked worktrees of the session's repositories that lie elsewhere. Git takes one for gone where it does not find its
//! file `.git`, and deletes what the repository has of it (`git worktree prune`, and `git gc` after three months): its
//! index, where it is, its stopped rebase. So commands see that file, and nothing else of the worktree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use crate::guard::names_at;
use crate::linux::layout::Part;
use crate::linux::openat::{PATH_BYTES_MAX, openat2};

/// How many are looked for in a repository. Each is a mount.
const WORKTREES_MAX: usize = 64;

/// Returns the files `.git` of the worktrees that lie in none of the roots, in order: those that repositories at the
/// top of a root, or those that roots are worktrees of, say are theirs, and that say the same themselves.
pub(super) fn pointers_outside(roots: &[PathBuf], repositories: &[PathBuf]) -> Vec<PathBuf> {
    let of_roots = roots.iter().map(|root| root.join(".git"));
    let all = of_roots.chain(repositories.iter().cloned());
    let mut found: Vec<_> = all.flat_map(|repository| pointers(&repository)).collect();
    found.retain(|path| !roots.iter().any(|root| path.starts_with(root)));
    found.sort();
    found.dedup();
    found
}

/// Returns those of them that a file tree with these parts does not show.
pub(super) fn hidden(pointers: &[PathBuf], parts: &BTreeMap<PathBuf, Part>) -> Vec<PathBuf> {
    let is_hidden = |path: &&PathBuf| {
        let nearest = path.ancestors().find_map(|above| parts.get(above));
        matches!(nearest, Some(Part::Cover | Part::Private { .. }))
    };
    pointers.iter().filter(is_hidden).cloned().collect()
}

fn pointers(repository: &Path) -> Vec<PathBuf> {
    let worktrees = repository.join("worktrees");
    let mut names = names_at(&worktrees);
    names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    let folders = names.iter().filter(|(_, kind)| kind.is_dir()).take(WORKTREES_MAX);
    folders.filter_map(|(name, _)| pointer(&worktrees.join(name))).collect()
}

/// Returns the file `.git` that leads to what a repository has for a worktree, if that leads back to it. What the
/// repository says may be a command's, what the file says is none's: no other file has this text by chance.
fn pointer(own: &Path) -> Option<PathBuf> {
    let path = own.join(path_in(&own.join("gitdir"), b"")?);
    let folder = path.parent().filter(|_| path.file_name() == Some(OsStr::new(".git")))?;
    let folder = folder.canonicalize().ok()?;
    let back = folder.join(path_in(&folder.join(".git"), b"gitdir: ")?);
    (back.canonicalize().ok()? == own.canonicalize().ok()?).then(|| folder.join(".git"))
}

/// Returns the path that a file has after these bytes, up to the end of its line. No link is followed and no pipe
/// waited for.
fn path_in(file: &Path, after: &[u8]) -> Option<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat2(CWD, file, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    if !FileType::from_raw_mode(rustix::fs::fstat(&file).ok()?.st_mode).is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(file).take(PATH_BYTES_MAX as u64).read_to_end(&mut bytes).ok()?;
    let path = bytes.trim_ascii_end().strip_prefix(after)?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_worktree_elsewhere_counts_if_both_sides_say_so() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let own = |name: &str| top.join("root/.git/worktrees").join(name);
        let make = |name: &str, folder: &str, said: &str, back: &Path| {
            create_dir_all(own(name)).unwrap();
            create_dir_all(top.join(folder)).unwrap();
            write(own(name).join("gitdir"), format!("{said}\n")).unwrap();
            write(top.join(folder).join(".git"), format!("gitdir: {}\n", back.display())).unwrap();
        };
        let at = |folder: &str| top.join(folder).join(".git").display().to_string();
        make("whole", "a", &at("a"), &own("whole"));
        make("relative", "b", "../../../../b/.git", Path::new("../root/.git/worktrees/relative"));
        make("within", "root/c", &at("root/c"), &own("within"));
        make("of-another", "d", &at("d"), &own("whole"));
        make("other-name", "e", &top.join("e/key").display().to_string(), &own("other-name"));
        write(top.join("e/key"), format!("gitdir: {}\n", own("other-name").display())).unwrap();
        make("link", "f", &at("f"), &own("link"));
        std::fs::rename(own("link").join("gitdir"), top.join("gitdir")).unwrap();
        symlink(top.join("gitdir"), own("link").join("gitdir")).unwrap();
        create_dir_all(own("pipe")).unwrap();
        let pipe = own("pipe").join("gitdir");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from(0o600), 0).unwrap();
        let found = |roots: &[PathBuf], repositories: &[PathBuf]| {
            let found = pointers_outside(roots, repositories);
            found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found(&[top.join("root")], &[]), [at("a"), at("b")]);
        // The session is in one of them.
        assert_eq!(found(&[top.join("a")], &[top.join("root/.git")]), [at("b"), at("root/c")]);
    }
}
