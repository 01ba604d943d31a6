//! The state of the workspace's files: names, lengths and times of change (the kernel's, which nobody can
//! set back), so that it does not matter who changed them and by what.
//!
//! Left out are `.git`, what git ignores and does not track, and caches; not what a file tool wrote. Each
//! added folder goes by the ignore files and by the repository that lie in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use tenon_sandbox::{EntryKind, Walk, WalkEntry, WalkOptions, Workspace};

use super::git_index;
use crate::event::Unproven;

/// Folders that hold what tools make for themselves, also where no ignore file says so.
const CACHES: [&str; 6] =
    ["target", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];

/// Where git says what it tracks: about 100 bytes for each file, of which no more than these are looked at,
/// those of submodules included.
const INDEX: &str = ".git/index";
const INDEX_BYTES_MAX: u64 = 16 << 20;

/// Submodules that are looked for. A short index names very many that are not there, or that are itself.
const SUBMODULES_MAX: usize = 500;

/// A submodule has a file there that names the folder: one path.
const GIT_FILE_BYTES_MAX: u64 = 8 << 10;

/// What the state of the files depends on besides them.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// What file tools wrote in the session, by path.
    pub written: BTreeSet<String>,
    /// How often commands changed something in added folders: all that is known of one with too much in
    /// it, or that cannot be looked at.
    pub changes_in_added: u64,
}

/// The files as they are at one time.
#[derive(Debug)]
pub(super) struct Tree {
    files: Files,
    id: TreeId,
}

/// The same as long as no file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeId {
    /// Of the workspace's first folder, and of what file tools wrote.
    pub first: u64,
    /// Of all its folders.
    pub all: u64,
}

/// By absolute path. Of a file that a file tool wrote and that is gone there is no state.
type Files = BTreeMap<PathBuf, Option<State>>;

#[derive(Debug, Clone, Copy)]
struct State {
    len: u64,
    modified: SystemTime,
    changed: SystemTime,
    /// Some file systems give a file another number later, so that a change of it says nothing.
    inode: Option<u64>,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.len, self.changed).hash(hasher);
    }
}

impl Tree {
    /// Looks at the files of a workspace. Of its first folder, and of all others together, at most
    /// `entries_max` entries are looked at, and none once it `is_over`.
    ///
    /// # Errors
    /// Why those of the first folder are not known.
    pub(super) fn now(
        workspace: &Workspace,
        entries_max: usize,
        known: &Known,
        is_over: &Arc<AtomicBool>,
    ) -> Result<Self, Unproven> {
        let roots = workspace.roots();
        let (files, met) = (Files::new(), BTreeSet::new());
        let mut look = Look { workspace, roots: &roots, files, met, is_over };
        look.folder(workspace.root(), entries_max)?;
        for path in &known.written {
            let file = workspace.open_file(path).ok();
            let state = file.map(|file| State {
                len: file.len(),
                modified: file.modified(),
                changed: file.changed(),
                inode: None,
            });
            look.files.entry(workspace.root().join(path)).or_insert(state);
        }
        let mut hasher = DefaultHasher::new();
        look.files.hash(&mut hasher);
        let first = hasher.finish();
        // The upper ones first: what lies in one that was looked at is known.
        let added: BTreeSet<&PathBuf> = roots.iter().skip(1).collect();
        let mut entries_left = entries_max;
        for root in added {
            let files = std::mem::take(&mut look.files);
            match look.folder(root, entries_left) {
                Ok(entries) => entries_left = entries_left.saturating_sub(entries),
                Err(_) => {
                    look.files.clear();
                    known.changes_in_added.hash(&mut hasher);
                }
            }
            look.files.hash(&mut hasher);
            look.files.extend(files);
        }
        Ok(Self { files: look.files, id: TreeId { first, all: hasher.finish() } })
    }

    pub(super) fn id(&self) -> TreeId {
        self.id
    }

    /// Returns the first path that was written, made or removed from this state of the files to a `later`
    /// one, without those that `is_own` says and other names of these. What got other permissions or a
    /// further name was not written.
    pub(super) fn first_written(
        &self,
        later: &Self,
        is_own: impl Fn(&Path) -> bool,
    ) -> Option<PathBuf> {
        let state = |files: &Files, path: &Path| files.get(path).copied().flatten();
        let own = later.files.iter().filter(|(path, _)| is_own(path));
        let own: BTreeSet<u64> = own.filter_map(|(_, state)| state.as_ref()?.inode).collect();
        let is_of_others = |path: &&PathBuf| {
            let (before, now) = (state(&self.files, path), state(&later.files, path));
            let content = |state: Option<State>| state.map(|state| (state.len, state.modified));
            content(before) != content(now)
                && !is_own(path)
                && !now.and_then(|now| now.inode).is_some_and(|inode| own.contains(&inode))
        };
        later.files.keys().chain(self.files.keys()).filter(is_of_others).min().cloned()
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.all)
    }
}

/// Says whether this is, or lies in, a folder that holds what tools make for themselves.
pub(super) fn is_cache(path: &Path) -> bool {
    path.iter().any(|part| CACHES.iter().any(|cache| part == *cache))
}

struct Look<'a> {
    workspace: &'a Workspace,
    roots: &'a [PathBuf],
    files: Files,
    /// The folders of the workspace that were come across.
    met: BTreeSet<PathBuf>,
    /// Whether nobody waits for it any more.
    is_over: &'a Arc<AtomicBool>,
}

impl Look<'_> {
    /// Takes in the files of a folder of the workspace, but for those in folders that were come across, of
    /// at most `entries_max` entries; returns how many there were.
    fn folder(&mut self, root: &Path, entries_max: usize) -> Result<usize, Unproven> {
        // Paths are relative in the first.
        let top = if root == self.workspace.root() { Path::new("") } else { root };
        let mut tracked: BTreeSet<PathBuf> =
            tracked(self.workspace, top).iter().map(|path| top.join(path)).collect();
        let mut entries = 0;
        if !self.met.contains(root) {
            let options = WalkOptions { entries_max, ..WalkOptions::default() };
            let mut met = self.met.clone();
            met.retain(|met| met.starts_with(root));
            let beneath = top.to_path_buf();
            let is_wanted = move |path: &Path| {
                !is_cache(path.strip_prefix(&beneath).unwrap_or(path))
                    && !met.iter().any(|met| path.starts_with(met))
            };
            let mut walk = self.walk(top, options)?.only(is_wanted);
            for entry in walk.by_ref().flatten() {
                entries += 1;
                if entry.kind == EntryKind::Directory {
                    self.meet(&entry);
                } else {
                    tracked.remove(&entry.path);
                    self.take(&entry);
                }
            }
            fail_if_cut(&walk, entries_max)?;
            self.met.insert(root.to_path_buf());
        }
        // What git tracks is the project's, though an ignore file names it.
        if !tracked.is_empty() {
            let options = WalkOptions { include_ignored: true, entries_max };
            let wanted = tracked.clone();
            let on_the_way = move |path: &Path| {
                wanted.range(path.to_path_buf()..).next().is_some_and(|next| next.starts_with(path))
            };
            let mut walk = self.walk(top, options)?.only(on_the_way);
            for entry in walk.by_ref().flatten().filter(|entry| tracked.contains(&entry.path)) {
                self.take(&entry);
            }
            fail_if_cut(&walk, entries_max)?;
        }
        Ok(entries)
    }

    fn walk(&self, top: &Path, options: WalkOptions) -> Result<Walk, Unproven> {
        let top = if top.as_os_str().is_empty() { Some(".") } else { top.to_str() };
        let walk = top.and_then(|top| self.workspace.walk(top, options).ok());
        let is_over = Arc::clone(self.is_over);
        let walk = walk.map(|walk| walk.until(move || is_over.load(Ordering::Relaxed)));
        walk.ok_or(Unproven::NotLookedAt)
    }

    fn take(&mut self, entry: &WalkEntry) {
        let WalkEntry { len, modified, changed, .. } = *entry;
        let inode = Some(entry.inode);
        let state = State { len, modified, changed, inode };
        self.files.insert(self.workspace.root().join(&entry.path), Some(state));
    }

    fn meet(&mut self, folder: &WalkEntry) {
        let path = self.workspace.root().join(&folder.path);
        if self.roots.contains(&path) {
            self.met.insert(path);
        }
    }
}

fn fail_if_cut(walk: &Walk, entries_max: usize) -> Result<(), Unproven> {
    if walk.is_cut() { Err(Unproven::TooManyEntries { entries_max }) } else { Ok(()) }
}

/// Returns the files that git tracks, with those of submodules, where a folder of the workspace is a
/// repository's top; by paths in it.
fn tracked(workspace: &Workspace, top: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    let mut repositories = vec![PathBuf::new()];
    let mut bytes_left = INDEX_BYTES_MAX;
    for _ in 0..=SUBMODULES_MAX {
        let Some(beneath) = repositories.pop() else { break };
        let Some(index) = index(workspace, &top.join(&beneath), bytes_left) else { continue };
        bytes_left = bytes_left.saturating_sub(index.len() as u64);
        let tracked = git_index::tracked(&index);
        files.extend(tracked.files.iter().map(|path| beneath.join(path)));
        repositories.extend(tracked.submodules.iter().map(|path| beneath.join(path)));
    }
    files
}

/// Returns the index of the repository or submodule whose top this is, if git's folder for it lies in the
/// workspace and it has at most `bytes_max` bytes.
fn index(workspace: &Workspace, top: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let read = |path: PathBuf, bytes_max| workspace.read(path.to_str()?, bytes_max).ok();
    if let Some(index) = read(top.join(INDEX), bytes_max) {
        return Some(index);
    }
    let says = String::from_utf8(read(top.join(".git"), GIT_FILE_BYTES_MAX)?).ok()?;
    let folder = says.strip_prefix("gitdir: ")?.trim_end();
    read(top.join(folder).join("index"), bytes_max)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tools::testing::Bench;

    #[test]
    fn the_state_of_the_files_changes_with_them_and_not_with_caches() {
        let bench = Bench::new();
        let tree = || {
            Tree::now(&bench.context.workspace, 100, &Known::default(), &Arc::default())
                .unwrap()
                .id()
        };
        let empty = tree();
        bench.put("a.txt", "one");
        let one = tree();
        bench.put("target/debug/x", "made");
        bench.put("sub/__pycache__/x.pyc", "made");
        assert_ne!(empty, one);
        assert_eq!(one, tree());
        bench.put("a.txt", "three");
        assert_ne!(one, tree());
        // With its old time put back, it is changed all the same.
        let time = bench.put("a.txt", "three").metadata().unwrap().modified().unwrap();
        let three = tree();
        // Older kernels count time in ticks of 4 ms.
        std::thread::sleep(Duration::from_millis(10));
        bench.put("a.txt", "other").set_modified(time).unwrap();
        assert_ne!(three, tree());
        bench.remove("a.txt");
        assert_eq!(empty, tree());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "runs git, whose index this is")]
    fn no_more_submodules_are_looked_for_than_the_bound_says() {
        let bench = Bench::new();
        let script = "git init -q small; echo x > small/f; git -C small add f; git init -q .
            for i in $(seq 600); do mkdir s$i; echo 'gitdir: ../small/.git' > s$i/.git
            echo \"160000 1111111111111111111111111111111111111111 0\ts$i\"; done | git update-index --index-info";
        let mut shell = std::process::Command::new("bash");
        shell.args(["-ec", script]).current_dir(bench.root()).env("HOME", bench.root());
        assert!(shell.status().unwrap().success());
        let files = tracked(&bench.context.workspace, Path::new(""));
        assert_eq!(files.len(), SUBMODULES_MAX);
    }

    #[test]
    fn of_an_added_folder_with_too_much_in_it_it_is_known_how_often_it_was_changed() {
        let bench = Bench::new();
        bench.put("a.txt", "one");
        let added = tempfile::tempdir().unwrap();
        for name in ["1", "2", "3"] {
            std::os::unix::fs::symlink("a", added.path().join(name)).unwrap();
        }
        let workspace = bench.context.workspace.clone().with_root(added.path()).unwrap();
        let id = |entries_max, changes_in_added| {
            let known = Known { changes_in_added, ..Known::default() };
            Tree::now(&workspace, entries_max, &known, &Arc::default()).map(|tree| tree.id())
        };
        assert_eq!(id(3, 0), id(3, 1));
        assert_eq!(id(2, 1), id(2, 1));
        let (one, other) = (id(2, 0).unwrap(), id(2, 1).unwrap());
        assert_eq!(one.first, other.first);
        assert_ne!(one.all, other.all);
        bench.put("b.txt", "one");
        bench.put("c.txt", "one");
        assert_eq!(id(2, 0), Err(Unproven::TooManyEntries { entries_max: 2 }));
    }

    #[test]
    fn folders_that_lie_in_one_another_are_looked_at_once_also_where_the_outer_one_ignores_them() {
        let bench = Bench::new();
        bench.put("in/a.txt", "one");
        bench.put("out/b.txt", "one");
        bench.put("target/lib/c.txt", "one");
        bench.put(".ignore", "out\n");
        let top = bench.root();
        let files = |roots: &[&str]| {
            let workspace = Workspace::open(&top.join(roots[0])).unwrap();
            let added = roots.iter().skip(1).map(|root| top.join(root));
            let workspace =
                added.fold(workspace, |workspace, root| workspace.with_root(&root).unwrap());
            let entries_max = 5;
            let tree =
                Tree::now(&workspace, entries_max, &Known::default(), &Arc::default()).unwrap();
            let beneath = |path: &PathBuf| path.strip_prefix(top).unwrap().to_path_buf();
            tree.files.keys().map(beneath).collect::<Vec<_>>()
        };
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(files(&["."]), paths(&[".ignore", "in/a.txt"]));
        assert_eq!(files(&[".", "in"]), paths(&[".ignore", "in/a.txt"]));
        assert_eq!(files(&["in", "."]), paths(&[".ignore", "in/a.txt"]));
        assert_eq!(files(&[".", "out"]), paths(&[".ignore", "in/a.txt", "out/b.txt"]));
        assert_eq!(
            files(&["in", ".", "target/lib", "out"]),
            paths(&[".ignore", "in/a.txt", "out/b.txt", "target/lib/c.txt"])
        );
    }
}
