//! One protected file: where it is, whose it is, and what may come there.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::item::{Content, Item};
use super::submodule::{has_tree, is_in_work_tree, is_straight, may_move, repository_of};
use crate::git_addresses::may_lead;
use crate::git_steps::GitStep;
use crate::git_written::GitMerge;
use crate::linux::wire::{Readable, Reader, Sendable, Writer};
pub(super) use crate::workspace::has_others;
use crate::workspace::{
    ALTERNATES, above_listed, is_alternates, is_index_of_git, is_replacement, is_setting_of_git,
    makes_one,
};

/// What may come to be in a repository's `info`: none of it runs anything.
const INFO_ALLOWED: [&str; 3] = ["exclude", "sparse-checkout", "refs"];

/// One protected file.
#[derive(Debug, Clone)]
pub(super) struct Place {
    root: PathBuf,
    beneath: PathBuf,
    /// How many names of `beneath` are the repository's directory; 0 outside of one.
    repository: usize,
    /// Protected by where it is, not by its name.
    because: Option<Because>,
}

/// Why a place is protected whatever its name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Because {
    /// Settings of git include it.
    Included,
    /// Tenon takes its own settings from there, or programs of the person's start with it.
    Own,
}

impl Place {
    pub(super) fn new(root: &Path, beneath: &Path, repository: usize) -> Self {
        let (root, beneath) = (root.to_path_buf(), beneath.to_path_buf());
        Self { root, beneath, repository, because: None }
    }

    /// Returns a place that settings of git include; `None` if it is beneath none of the roots.
    pub(super) fn included(path: &Path, roots: &[PathBuf]) -> Option<Self> {
        Some(Self { because: Some(Because::Included), ..Self::beneath_one(path, roots)? })
    }

    /// Returns a place of [`super::own`]; `None` if it is beneath none of the roots.
    pub(super) fn own(path: &Path, roots: &[PathBuf]) -> Option<Self> {
        Self::beneath_one(path, roots).map(Self::into_own)
    }

    pub(super) fn into_own(self) -> Self {
        Self { because: Some(Because::Own), ..self }
    }

    fn beneath_one(path: &Path, roots: &[PathBuf]) -> Option<Self> {
        let above = roots.iter().filter(|root| path.starts_with(root));
        let root = above.max_by_key(|root| root.as_os_str().len())?;
        Some(Self::new(root, path.strip_prefix(root).ok()?, 0))
    }

    /// Returns the same place beneath another root; `None` if it is not beneath that.
    pub(super) fn seen_from(&self, root: &Path) -> Option<Self> {
        let path = self.path();
        let beneath = path.strip_prefix(root).ok()?;
        let names: PathBuf = self.beneath.iter().take(self.repository).collect();
        let repository = match self.root.join(names).strip_prefix(root) {
            Ok(repository) if self.is_in_repository() => repository.iter().count(),
            _ => 0,
        };
        Some(Self { because: self.because, ..Self::new(root, beneath, repository) })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn beneath(&self) -> &Path {
        &self.beneath
    }

    pub(super) fn path(&self) -> PathBuf {
        self.root.join(&self.beneath)
    }

    pub(super) fn is_own(&self) -> bool {
        self.because == Some(Because::Own)
    }

    pub(super) fn is_included(&self) -> bool {
        self.because == Some(Because::Included)
    }

    pub(super) fn is_in_repository(&self) -> bool {
        self.repository > 0 || self.in_repository().is_some()
    }

    /// The names beneath the repository's directory; a root can be one itself.
    fn in_repository(&self) -> Option<Vec<&OsStr>> {
        if self.is_own() {
            return None;
        }
        let is_root = self.repository == 0 && is_repository_root(&self.root);
        (self.repository > 0 || is_root)
            .then(|| self.beneath.iter().skip(self.repository).collect())
    }

    /// Returns the repository's own directory that it is in, beneath its root, which may be that itself.
    pub(super) fn repository(&self) -> PathBuf {
        self.beneath.iter().take(self.repository).collect()
    }

    pub(super) fn repository_is_there(&self) -> bool {
        rustix::fs::lstat(self.root.join(self.repository())).is_ok()
    }

    /// Whether what was at a place as this one counts at the same place as another, where settings may have named it: what was
    /// looked at for an address alone was nobody's setting.
    pub(super) fn counts_as(&self, other: &Self, is_named: bool) -> bool {
        !self.is_included() || is_named || other.is_included()
    }

    /// Returns the folder that a protected name is in, and the way from there; none for what settings
    /// include and for tenon's own.
    pub(super) fn owner(&self) -> Option<(PathBuf, &Path)> {
        if self.is_own() {
            return None;
        }
        let names: Vec<&OsStr> = self.beneath.iter().collect();
        let is_git = |depth: usize| names.get(depth).is_some_and(|name| *name == ".git");
        let depth = match self.repository.checked_sub(1) {
            // A repository under another name is what it is by what is in it.
            Some(above) => above + usize::from(!is_git(above)),
            None if is_git(names.len() - 1) => names.len() - 1,
            None => above_listed(&self.root, &self.beneath)?,
        };
        let folder: PathBuf = names.iter().take(depth).collect();
        let rest = self.beneath.strip_prefix(&folder).ok()?;
        Some((folder, rest))
    }

    /// Returns a protected name of the list and what comes behind it; none for what is protected by where it
    /// is, or in a repository's own directory.
    pub(super) fn listed(&self) -> Option<&Path> {
        if self.because.is_some() || self.is_in_repository() {
            return None;
        }
        let depth = above_listed(&self.root, &self.beneath)?;
        let mut names = self.beneath.components();
        names.by_ref().take(depth).for_each(drop);
        Some(names.as_path())
    }

    /// Returns how many folders are above the one that a protected name is in, and it, beneath the outermost
    /// root: one root can lie in another.
    pub(super) fn folders_above(&self, roots: &[PathBuf]) -> Option<usize> {
        let folder = self.root.join(self.owner()?.0);
        let beneath = roots.iter().filter_map(|root| folder.strip_prefix(root).ok());
        beneath.map(|beneath| beneath.iter().count()).max()
    }

    /// Returns the folder that a protected name is in, unless it is a root: that cannot go.
    pub(super) fn folder_that_may_go(&self) -> Option<PathBuf> {
        let (folder, _) = self.owner()?;
        (!folder.as_os_str().is_empty()).then(|| self.root.join(folder))
    }

    /// Whether the folder that a protected name was in is gone.
    pub(super) fn has_no_owner(&self) -> bool {
        self.folder_that_may_go().is_some_and(|folder| rustix::fs::lstat(folder).is_err())
    }

    pub(super) fn is_git_config(&self) -> bool {
        let is_config = |name: &OsStr| name.as_bytes().starts_with(b"config");
        self.is_included()
            || self.beneath.file_name().is_some_and(is_config)
                && self.in_repository().is_some_and(|names| !names.is_empty())
    }

    /// Whether git takes names of files from there: an index, or a list of conflicts.
    pub(super) fn is_git_index(&self) -> bool {
        self.beneath.file_name().is_some_and(is_index_of_git)
            && self.in_repository().is_some_and(|names| names.len() == 1)
    }

    /// Whether git takes from there where else it has objects.
    pub(super) fn is_alternates(&self) -> bool {
        is_alternates(&self.beneath)
            && self.in_repository().is_some_and(|names| names.len() == ALTERNATES.len())
    }

    /// Returns what git says there of how far a rebase is.
    pub(super) fn git_step(&self) -> Option<GitStep> {
        let names = self.in_repository()?;
        match names[..] {
            [name] => GitStep::beside(name),
            [folder, name] if GitStep::of_references(folder).is_none() => {
                GitStep::within(folder, name)
            }
            [_, _, ..] if !is_replacement(&self.beneath) => GitStep::of_reference(&names),
            _ => None,
        }
    }

    /// Returns what it is of a merge that a later commit goes by.
    pub(super) fn of_merge(&self) -> Option<GitMerge> {
        let is_beside = self.in_repository().is_some_and(|names| names.len() == 1);
        self.beneath.file_name().filter(|_| is_beside).and_then(GitMerge::beside)
    }

    /// Returns the place beside it that a step of git's is never without.
    pub(super) fn never_without(&self) -> Option<Place> {
        self.git_step()?;
        let other = GitStep::never_without(self.beneath.file_name()?)?;
        Some(Place::new(&self.root, &self.beneath.with_file_name(other), 0))
    }

    /// Returns the place beside it of the options of a strategy, or of the strategy of options.
    pub(super) fn goes_with(&self) -> Option<Place> {
        let other = self.git_step()?.goes_with()?;
        Some(Place::new(&self.root, &self.beneath.with_file_name(other), self.repository))
    }

    /// Whether ordinary commands of git write it, so that it is judged by what is in it.
    pub(super) fn is_written_by_git(&self) -> bool {
        self.is_git_index() || self.git_step().is_some()
    }

    /// Whether a command may make it: what `git init` and `git worktree add` make, if it runs
    /// nothing. `roots` are all beneath which is looked.
    pub(super) fn may_appear(&self, item: &Item, roots: &[PathBuf]) -> bool {
        if self.is_own() {
            return false;
        }
        if self.beneath.file_name() == Some(OsStr::new(".git")) {
            return self.is_pointer_to_own(item, roots);
        }
        if self.is_pointer_of_worktree(item) {
            return true;
        }
        let Some(names) = self.in_repository() else { return false };
        if self.is_git_config() {
            // Judged by its settings; here it could not be read.
            return false;
        }
        let [folder, name] = names[..] else { return false };
        matches!(item.content, Content::File(_))
            && (folder == "hooks" && name.as_bytes().ends_with(b".sample")
                || folder == "info" && INFO_ALLOWED.iter().any(|known| name == *known))
    }

    /// Whether nothing runs what is there, unless it is named elsewhere: samples of hooks, files beside the
    /// settings, indexes, and what there can be much of or in each repository: patches, and hashes of commits.
    pub(super) fn is_minor(&self) -> bool {
        let name = self.beneath.file_name().unwrap_or_default().as_bytes();
        let is_setting = [&b"config"[..], b"config.worktree"].contains(&name);
        let is_beside = name.starts_with(b"config") && !is_setting;
        let is_step = || matches!(self.git_step(), Some(GitStep::Hashes | GitStep::Patch));
        (name.ends_with(b".sample") || is_beside || self.is_git_index() || is_step())
            && !self.is_included()
            && self.is_in_repository()
    }

    /// Whether git takes settings from there, or goes from there to where more of them are.
    pub(super) fn says_what_git_runs(&self) -> bool {
        let name = self.beneath.file_name();
        let leads_on = || name == Some(OsStr::new("commondir")) && self.is_in_repository();
        name == Some(OsStr::new(".git")) || leads_on() || self.is_git_config()
    }

    /// Whether a command that made it may take it away again: not what says where a repository is.
    pub(super) fn may_go(&self) -> bool {
        let name = self.beneath.file_name();
        self.is_in_repository() && name != Some(OsStr::new("commondir")) || self.listed().is_some()
    }

    /// Whether a setting is one that git makes itself: a submodule's repository says where the
    /// submodule is, and a clone where another is, both beneath one of `roots`. The settings were `before`.
    pub(super) fn may_set(
        &self,
        (name, value): (&str, &str),
        before: Option<&[u8]>,
        roots: &[PathBuf],
    ) -> bool {
        if may_lead(name, value, roots) {
            return true;
        }
        let config = self.path();
        let Some(folder) = config.parent() else { return false };
        // `..` counts as git counts it only where no link is in between; so it is resolved.
        let tree = folder.join(value);
        name == "core.worktree"
            && self.is_of_submodule()
            && !value.chars().any(char::is_control)
            && tree.canonicalize().is_ok_and(|target| is_in_work_tree(&target, roots))
            && may_move(folder, &tree, before, roots)
    }

    /// Whether it is where a repository, or a worktree of it, has those of submodules.
    fn is_of_submodule(&self) -> bool {
        let is_git = self.root.ends_with(".git");
        let mut names = self.beneath.iter();
        let is_in_git = is_git || names.by_ref().any(|name| name == ".git");
        let first = match names.next() {
            Some(name) if name == "worktrees" => names.nth(1),
            name => name,
        };
        is_in_git && first.is_some_and(|name| name == "modules")
    }

    /// Whether a setting is one that `git clone --mirror` makes in a repository without a work tree.
    pub(super) fn may_mirror(&self, name: &str, value: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let remote = name.strip_prefix("remote.").and_then(|rest| rest.strip_suffix(".fetch"));
        value == "+refs/*:refs/*"
            && remote.is_some_and(|it| !it.starts_with('-') && it.chars().all(is_plain))
            && !self.path().iter().any(|part| part == ".git")
    }

    /// Whether it is what git makes for a worktree: it leads to where the worktree was found.
    fn is_pointer_of_worktree(&self, item: &Item) -> bool {
        let mut above = self.beneath.ancestors().skip(2);
        self.beneath.file_name() == Some(OsStr::new("commondir"))
            && above.next().is_some_and(|above| above.ends_with("worktrees"))
            && item.bytes() == Some(b"../..\n")
    }

    /// Returns the directory to which a `.git` file leads from there.
    fn pointed_to(&self, item: &Item) -> Option<PathBuf> {
        repository_of(self.path().parent()?, item.bytes()?)
    }

    /// Whether what a command made of a `.git` file may stay: it leads to where it led, or to a repository whose files are
    /// there, as where git moves a submodule.
    pub(super) fn may_lead_elsewhere(
        &self,
        before: &Item,
        after: &Item,
        roots: &[PathBuf],
    ) -> bool {
        let is_of_tree = |target: &PathBuf| {
            let tree = self.path();
            tree.parent().is_some_and(|tree| has_tree(target, tree, roots))
        };
        self.beneath.file_name() == Some(OsStr::new(".git"))
            && !self.is_own()
            && self.is_pointer_to_own(after, roots)
            && self.pointed_to(after).is_some_and(|target| {
                self.pointed_to(before).is_some_and(|old| old == target) || is_of_tree(&target)
            })
    }

    /// Whether a `.git` file leads to a repository that looks come to, or to what it has for a
    /// worktree.
    fn is_pointer_to_own(&self, item: &Item, roots: &[PathBuf]) -> bool {
        let path = self.path();
        let straight = path.parent().zip(item.bytes()).filter(|it| is_straight(it.0, it.1));
        let Some(target) = straight.and_then(|_| self.pointed_to(item)) else { return false };
        let worktrees = target.parent().filter(|above| above.ends_with("worktrees"));
        let repository = worktrees.and_then(Path::parent).unwrap_or(&target);
        let has_settings = rustix::fs::lstat(repository.join("config")).is_ok();
        let is_known = |root: &PathBuf| {
            let Ok(repository) = repository.strip_prefix(root) else { return false };
            is_way(root, repository, Way::Repository)
                || is_way(root, repository, Way::Tree) && is_repository_root(&root.join(repository))
        };
        // The repository of a worktree lies beneath a root of its own.
        has_settings && roots.iter().any(is_known)
    }
}

/// Where it is alone says which file it is.
impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.root, &self.beneath).cmp(&(&other.root, &other.beneath))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Place {}

impl Sendable for Place {
    fn write(&self, writer: &mut Writer) {
        writer.field(self.root.as_os_str());
        writer.field(self.beneath.as_os_str());
        writer.number(self.repository as u64);
        writer.number(match self.because {
            None => 0,
            Some(Because::Included) => 1,
            Some(Because::Own) => 2,
        });
    }
}

impl Readable for Place {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (root, beneath) = (reader.path()?, reader.path()?);
        let repository = usize::try_from(reader.number()?).ok()?;
        let because = match reader.number()? {
            0 => None,
            1 => Some(Because::Included),
            2 => Some(Because::Own),
            _ => return None,
        };
        Some(Self { root, beneath, repository, because })
    }
}

/// What a look takes a folder for, by the names on its way down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Tree,
    /// A repository's own directory.
    Repository,
    /// Where a repository has others.
    Others,
}

/// Whether a look takes a folder for that. One beneath a root that is a repository under another name is both in a tree and
/// where that repository has others: by what is in it a command could say that it is no tree.
pub(super) fn is_way(root: &Path, folder: &Path, wanted: Way) -> bool {
    let is_named = root.file_name() == Some(OsStr::new(".git"));
    let is_unnamed =
        || !is_named && folder.iter().next().is_some_and(has_others) && is_repository_root(root);
    let first = if is_named { Way::Repository } else { Way::Tree };
    way(first, root, folder) == Some(wanted)
        || is_unnamed() && way(Way::Repository, root, folder) == Some(wanted)
}

/// Returns what a look takes a folder for, if the root is what it is `first`; `None` for one in a repository that no look
/// comes to.
fn way(first: Way, root: &Path, folder: &Path) -> Option<Way> {
    let mut way = first;
    let mut path = root.to_path_buf();
    for name in folder {
        path.push(name);
        way = match way {
            Way::Tree if name == ".git" => Way::Repository,
            Way::Tree => Way::Tree,
            Way::Repository if has_others(name) => Way::Others,
            Way::Repository => return None,
            Way::Others if rustix::fs::lstat(path.join("HEAD")).is_ok() => Way::Repository,
            Way::Others => Way::Others,
        };
    }
    Some(way)
}

/// Returns how many names a repository has that lacks its `HEAD` among others, if a file in it is one of its settings:
/// beside that, or in `hooks` or `info`, which can also be names on the way to another repository, or a step.
pub(super) fn setting_among_others(root: &Path, file: &Path) -> Option<usize> {
    setting_among(|place| is_way(root, place, Way::Others), file)
}

/// The same, where `is_other` says which folders have others in them, or are such without a `HEAD`.
pub(super) fn setting_among(is_other: impl Fn(&Path) -> bool, file: &Path) -> Option<usize> {
    let folder = file.parent()?;
    let is_other = |place: &&Path| is_other(place);
    let is_within = folder.ends_with("hooks") || folder.ends_with("info");
    let is_within = is_within || GitStep::at_end_of(file).is_some();
    let above = folder.parent().filter(|_| is_within).filter(is_other);
    let beside = || is_setting_of_git(file.file_name()?).then_some(folder);
    let repository = above.or_else(beside).filter(|_| is_other(&folder))?;
    Some(repository.iter().count())
}

pub(super) fn is_repository_root(root: &Path) -> bool {
    makes_one(|name| rustix::fs::lstat(root.join(name)).is_ok())
}
