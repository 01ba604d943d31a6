//! Which paths of what is tenon's own, and of what a person's programs start with, lead into folders of the session by
//! now: those that are named, and the links in folders that are named and lie elsewhere.
//!
//! A person may make a link while the session is open, so each look is a new one; but where no folder on the ways has
//! changed since the last, that one holds: 1 to 2 µs for each folder, in the place of 3 for each path and 10 for each folder.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, stat};
use rustix::io::Errno;

use crate::file_system::{Stamp, is_recent, keeps_times, kind};
use crate::links::resolved;
use crate::linux::openat::{open_plain, openat2};

/// How many folders are looked through in one that is named, the upper ones first: 0.1 ms while they are as they were.
const FOLDERS_MAX: usize = 64;

/// How many names are read in all of these.
const NAMES_MAX: usize = 2_000;

/// How many folders deep.
const DEPTH_MAX: usize = 10;

/// What is named, and what the last look found.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnPaths {
    named: Vec<PathBuf>,
    last: Option<Last>,
}

#[derive(Debug, Clone)]
struct Last {
    roots: Vec<PathBuf>,
    leading: Vec<PathBuf>,
    /// In which it was looked: as long as these are as they were, the same is found.
    folders: Vec<(PathBuf, Stamp)>,
}

impl OwnPaths {
    pub(crate) fn new(named: Vec<PathBuf>) -> Self {
        Self { named, last: None }
    }

    pub(crate) fn named(&self) -> &[PathBuf] {
        &self.named
    }

    /// Returns the paths that lead into `roots` by now, as [`crate::leads_into`] has it. Of the links in a folder that is
    /// named, those that lead to a root itself are left out: the person named that for work.
    pub(crate) fn leading_into(&mut self, roots: &[PathBuf]) -> &[PathBuf] {
        if self.last.as_ref().is_some_and(|last| !last.holds(roots)) {
            self.last = None;
        }
        let look = || {
            let mut search = Search { roots, leading: Vec::new(), folders: BTreeSet::new() };
            self.named.iter().for_each(|path| search.named(path));
            let folders = search.folders.iter().map(PathBuf::as_path);
            Last { roots: roots.to_vec(), leading: search.leading, folders: stamped(folders) }
        };
        &self.last.get_or_insert_with(look).leading
    }
}

impl Last {
    fn holds(&self, roots: &[PathBuf]) -> bool {
        let is_same = |(folder, stamp): &(PathBuf, Stamp)| {
            stat(folder).is_ok_and(|stat| Stamp::of(&stat) == *stamp)
        };
        self.roots == roots && !self.folders.is_empty() && self.folders.iter().all(is_same)
    }
}

struct Search<'a> {
    roots: &'a [PathBuf],
    leading: Vec<PathBuf>,
    /// In which a name was looked for.
    folders: BTreeSet<PathBuf>,
}

impl Search<'_> {
    fn is_in_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    fn named(&mut self, path: &Path) {
        let Some((end, links)) = resolved(path) else { return self.leading.push(path.into()) };
        let above = links.iter().chain([&end]).flat_map(|path| path.ancestors().skip(1));
        self.folders.extend(above.map(Path::to_path_buf));
        let leads = links.iter().chain([&end]).any(|path| self.is_in_root(path));
        self.leading.extend(leads.then(|| path.to_path_buf()));
        if !self.is_in_root(&end) {
            self.within(end);
        }
    }

    /// Looks for links in a folder, if it is one.
    fn within(&mut self, top: PathBuf) {
        let (mut level, mut folders_left, mut names_left) = (vec![top], FOLDERS_MAX, NAMES_MAX);
        for _ in 0..DEPTH_MAX {
            let mut next = Vec::new();
            for folder in level {
                if folders_left == 0 {
                    return;
                }
                let Some(names) = names_in(&folder, names_left) else { continue };
                (folders_left, names_left) = (folders_left - 1, names_left - names.len());
                for (name, kind) in names {
                    let path = folder.join(&name);
                    if kind.is_symlink() && self.is_led_in(&path) {
                        self.leading.push(path);
                    } else if kind.is_dir() && name != ".git" && !self.is_in_root(&path) {
                        next.push(path);
                    }
                }
                self.folders.insert(folder);
            }
            level = next;
        }
    }

    /// Whether a link leads into a root, and not to the root itself.
    fn is_led_in(&self, link: &Path) -> bool {
        resolved(link).is_some_and(|(end, links)| {
            !self.roots.contains(&end)
                && links.iter().chain([&end]).any(|path| self.is_in_root(path))
        })
    }
}

/// Returns so many names in a folder, in their order; none where it is no folder, or cannot be read.
fn names_in(folder: &Path, most: usize) -> Option<Vec<(OsString, FileType)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    let mut entries = Dir::new(folder).ok()?;
    let mut names = Vec::new();
    while let Some(Ok(entry)) = entries.read().filter(|_| names.len() < most) {
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push((OsStr::from_bytes(name).to_owned(), entry.file_type()));
        }
    }
    let folder = entries.fd().ok()?;
    names.iter_mut().for_each(|(name, told)| *told = kind(folder, name, *told));
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    Some(names)
}

/// Returns folders with what they are; none where one of them may change without a sign of it.
fn stamped<'a>(folders: impl Iterator<Item = &'a Path>) -> Vec<(PathBuf, Stamp)> {
    let mut all = Vec::new();
    for folder in folders {
        let stat = match open_plain(folder) {
            Ok(handle) if keeps_times(&handle) => fstat(&handle).ok(),
            // The one above changes when it comes.
            Err(Errno::NOENT | Errno::NOTDIR) => continue,
            _ => None,
        };
        match stat.filter(|stat| !is_recent(stat)) {
            Some(stat) => all.push((folder.to_path_buf(), Stamp::of(&stat))),
            None => return Vec::new(),
        }
    }
    all
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the links of a person")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Returns the names beneath `top` that lead into `work` there.
    fn leading(own: &mut OwnPaths, top: &Path) -> Vec<String> {
        let leading = own.leading_into(&[top.join("work")]).iter();
        leading.map(|path| path.strip_prefix(top).unwrap().display().to_string()).collect()
    }

    fn check(folders: &[&str], links: &[(&str, &str)], expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for name in ["work/sub", "home/vim", "other"].iter().chain(folders) {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        let mut own = OwnPaths::new(["home/rc", "home/vim"].map(|name| top.join(name)).to_vec());
        let mut before = leading(&mut own, &top);
        assert_eq!(before, [""; 0]);
        for (target, link) in links {
            symlink(top.join(target), top.join(link)).unwrap();
            before = leading(&mut own, &top);
        }
        assert_eq!(before, expected, "{links:?}");
        links.iter().for_each(|(_, link)| fs::remove_file(top.join(link)).unwrap());
        assert_eq!(leading(&mut own, &top), [""; 0]);
    }

    #[test]
    fn named_paths_and_links_in_named_folders_lead_into_roots() {
        check(&[], &[("work/rc", "home/rc")], &["home/rc"]);
        check(&[], &[("work", "home/rc")], &["home/rc"]);
        check(&[], &[("other/rc", "home/rc"), ("work/none", "other/rc")], &["home/rc"]);
        check(&[], &[("other", "home/rc"), ("work/x", "other/x")], &["other/x"]);
        check(
            &[],
            &[("work/a", "home/vim/b"), ("work/sub", "home/vim/a")],
            &["home/vim/a", "home/vim/b"],
        );
        check(&[], &[("other/a", "home/vim/a")], &[]);
        check(
            &[],
            &[("other/a", "home/vim/a"), ("work/l", "other/a"), ("other/b", "work/l")],
            &["home/vim/a"],
        );
        // The workspace itself was named for work.
        check(&[], &[("work", "home/vim/pack"), ("", "home/vim/top")], &[]);
        check(&["other/x"], &[("other", "home/vim/o"), ("work/x", "other/x/l")], &[]);
        check(&["home/vim/.git"], &[("work/x", "home/vim/.git/l")], &[]);
    }

    #[test]
    fn folders_are_looked_through_so_far_and_no_further() {
        let deep = |depth: usize| {
            ["home/vim"].into_iter().chain(vec!["d"; depth]).collect::<Vec<_>>().join("/")
        };
        let [last, beyond] = [DEPTH_MAX - 1, DEPTH_MAX].map(deep);
        let [within, without] = [&last, &beyond].map(|folder| format!("{folder}/l"));
        let links = [("work/x", &*within), ("work/x", &*without)];
        check(&[&beyond], &links, &[&within]);
        let many: Vec<String> = (0..FOLDERS_MAX).map(|n| format!("home/vim/{n:03}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let [last, beyond] = [2, 1].map(|n| format!("home/vim/{:03}/l", FOLDERS_MAX - n));
        check(&many, &[("work/x", &last), ("work/x", &beyond)], &[&last]);
    }

    #[test]
    fn what_was_found_holds_as_long_as_folders_are_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir(top.join("a")).unwrap();
        fs::create_dir(top.join("b")).unwrap();
        let stamp = Stamp::of(&stat(top.join("a")).unwrap());
        let folders = vec![(top.join("a"), stamp)];
        let roots = vec![top.join("work")];
        let last = Last { roots: roots.clone(), leading: Vec::new(), folders };
        assert!(last.holds(&roots) && !last.holds(&[]));
        fs::rename(top.join("b"), top.join("a")).unwrap();
        assert!(!last.holds(&roots));
        assert!(!Last { folders: Vec::new(), ..last }.holds(&roots));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let none = source.join("none");
        assert_eq!(stamped([&*source, &*none].into_iter()).len(), 1);
        assert_eq!(stamped([&*source, &*top].into_iter()).len(), 0);
    }
}
