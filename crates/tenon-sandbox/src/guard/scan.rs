//! Finds protected names beneath the roots, reads what they hold, and writes it again.
//!
//! Folders are opened beneath their root and links are never followed, so that what a command left
//! behind leads nowhere. Bounded in folders, files and bytes.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid};
use rustix::io::Errno;

use crate::linux::openat::write_all;
use crate::workspace::PROTECTED_NAMES;

/// How deep protected folders are looked through.
const DEPTH_MAX: usize = 64;

/// The longest file whose content is kept.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// How much is kept of all of them, the upper ones first: a command can make many.
const BYTES_MAX: usize = 64 << 20;

/// What a look goes through of each kind in less than 10 ms.
const MOST: usize = 2_000;

/// The same after a command, of what was whole before it: what is beyond is its own, and it took
/// longer to make it.
const MOST_GROWN: usize = 100_000;

/// How much a look goes through, or may still go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// The upper ones first.
    pub(super) folders: usize,
    /// Beneath protected names, besides the others.
    protected_folders: usize,
    /// With protected names.
    files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self::BEFORE
    }
}

impl Limits {
    pub(super) const BEFORE: Self = Self { folders: MOST, protected_folders: MOST, files: MOST };

    /// Returns the limits after a command, if the look before it `left` so much. What that did not
    /// come to the end of stays as it is: what was there already would count as made.
    pub(super) fn after(left: Self) -> Self {
        let most = |left: usize| if left > 0 { MOST_GROWN } else { MOST };
        Self {
            folders: most(left.folders),
            protected_folders: most(left.protected_folders),
            files: most(left.files),
        }
    }

    /// Whether a look that `left` so much of these did not see everything that a command made.
    pub(super) fn hide(self, left: Self) -> bool {
        let ends = |most: usize, left: usize| most > MOST && left == 0;
        ends(self.folders, left.folders)
            || ends(self.protected_folders, left.protected_folders)
            || ends(self.files, left.files)
    }
}

/// What may come to be in a repository's `info`: none of it runs anything.
const INFO_ALLOWED: [&str; 3] = ["exclude", "sparse-checkout", "refs"];

/// One protected file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    root: PathBuf,
    beneath: PathBuf,
    /// How many names of `beneath` are the repository's directory; 0 outside of one.
    repository: usize,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    stamp: Stamp,
    mode: u32,
    owner: (u32, u32),
    /// Whether it had changed just before: then another change may have left the stamp as it is.
    is_recent: bool,
    pub(super) content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// None where it is too long to keep.
    File(Option<Vec<u8>>),
    Link(OsString),
    Other,
}

/// Changes with every change of a file, whatever a program does to its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: i64,
    changed: (i64, u64),
}

/// Device and inode.
pub(super) type Identity = (u64, u64);

/// Returns which folder is at `path`, if one is and no link.
pub(super) fn identity_of_folder(path: &Path) -> Option<Identity> {
    let stat = rustix::fs::lstat(path).ok()?;
    FileType::from_raw_mode(stat.st_mode).is_dir().then_some((stat.st_dev, stat.st_ino))
}

impl Place {
    pub(super) fn path(&self) -> PathBuf {
        self.root.join(&self.beneath)
    }

    pub(super) fn is_in_repository(&self) -> bool {
        self.repository > 0 || self.in_repository().is_some()
    }

    /// The names beneath the repository's directory; a root can be one itself.
    fn in_repository(&self) -> Option<Vec<&OsStr>> {
        let is_root = self.repository == 0 && is_repository_root(&self.root);
        (self.repository > 0 || is_root)
            .then(|| self.beneath.iter().skip(self.repository).collect())
    }

    pub(super) fn repository_is_there(&self) -> bool {
        let place: PathBuf = self.beneath.iter().take(self.repository).collect();
        rustix::fs::lstat(self.root.join(place)).is_ok()
    }

    pub(super) fn is_git_config(&self) -> bool {
        self.in_repository().is_some_and(|names| {
            names.last().is_some_and(|name| name.as_bytes().starts_with(b"config"))
        })
    }

    /// Whether a command may make it: what `git init` and `git worktree add` make, if it runs
    /// nothing. `all` is what is there.
    pub(super) fn may_appear(&self, item: &Item, all: &BTreeMap<Self, Item>) -> bool {
        if self.beneath.file_name() == Some(OsStr::new(".git")) {
            return self.is_pointer_to_own(item, all);
        }
        let Some(names) = self.in_repository() else { return false };
        if self.is_git_config() {
            // Judged by its settings; here it could not be read.
            return false;
        }
        let Some(name) = names.last() else { return false };
        let is = |known: &str| names.iter().any(|name| *name == known);
        let is_file = matches!(item.content, Content::File(_));
        is_file
            && (is("hooks") && name.as_bytes().ends_with(b".sample")
                || is("info") && INFO_ALLOWED.iter().any(|known| is(known)))
    }

    /// Whether a setting is one that git makes itself: a submodule's repository says where the
    /// submodule is, which must be beneath the root.
    pub(super) fn may_set(&self, name: &str, text: &str) -> bool {
        let folder = self.path();
        let Some(folder) = folder.parent() else { return false };
        let in_git = |name: &OsStr| name == ".git";
        let mut above = self.beneath.iter().skip_while(|name| !in_git(name)).skip(1);
        if name != "core.worktree" || above.next().is_none_or(|name| name != "modules") {
            return false;
        }
        let value = text.split_once('=').map_or("", |(_, value)| value.trim());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        // `..` counts as git counts it only where no link is in between; so it is resolved.
        value.chars().all(is_plain)
            && folder.join(value).canonicalize().is_ok_and(|target| {
                let beneath = target.strip_prefix(&self.root);
                beneath.is_ok_and(|beneath| !beneath.iter().any(in_git))
            })
    }

    /// Whether a `.git` file leads to a repository that was looked through, or to what it has for
    /// a worktree.
    fn is_pointer_to_own(&self, item: &Item, all: &BTreeMap<Self, Item>) -> bool {
        let Some(text) = item.bytes().and_then(|bytes| bytes.strip_prefix(b"gitdir: ")) else {
            return false;
        };
        let target = OsStr::from_bytes(text.trim_ascii_end());
        let above = self.path();
        let Some(above) = above.parent() else { return false };
        let Ok(target) = above.join(target).canonicalize() else { return false };
        let Ok(target) = target.strip_prefix(&self.root) else { return false };
        let worktrees = target.parent().filter(|above| above.ends_with("worktrees"));
        let repository = worktrees.and_then(Path::parent).unwrap_or(target);
        let settings = repository.join("config");
        all.keys()
            .any(|one| one.is_git_config() && one.root == self.root && one.beneath == settings)
    }
}

impl Item {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.stamp == other.stamp && !(self.is_recent && self.is_kept())
            || self.content == other.content && self.mode == other.mode && self.is_kept()
    }

    /// Whether enough is known of it to make it again.
    pub(super) fn is_kept(&self) -> bool {
        !matches!(self.content, Content::File(None) | Content::Other)
    }

    pub(super) fn with(&self, bytes: Vec<u8>) -> Self {
        Self { content: Content::File(Some(bytes)), ..self.clone() }
    }

    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            Content::File(bytes) => bytes.as_deref(),
            Content::Link(_) | Content::Other => None,
        }
    }
}

fn is_repository_root(root: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| rustix::fs::lstat(root.join(name)).is_ok())
}

/// Returns every protected file beneath the roots within the limits, and what is left of these. What
/// is as in `known` is not read again.
pub(super) fn scan(
    roots: &[PathBuf],
    known: &BTreeMap<Place, Item>,
    limits: Limits,
) -> (BTreeMap<Place, Item>, Limits) {
    let mut scan = Scan { found: BTreeMap::new(), known, left: limits, bytes_left: BYTES_MAX };
    for root in roots {
        let Ok(folder) = open_folder_at(root) else { continue };
        // Whether it is one, a command can decide by making three names.
        if root.file_name() != Some(OsStr::new(".git")) {
            scan.tree(root, &folder);
        }
        if is_repository_root(root) {
            scan.repository(root, &folder, Path::new(""), 0);
        }
    }
    (scan.found, scan.left)
}

/// Returns what is at a place that a look did not come to; `None` if nothing is, or a folder.
pub(super) fn look(place: &Place, known: &Item) -> Option<Item> {
    let top = open_folder_at(&place.root).ok()?;
    let stat = rustix::fs::fstat(&look_at(&top, &place.beneath).ok()?).ok()?;
    let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
    (!is_folder).then(|| item(&top, &place.beneath, &stat, Some(known)))
}

struct Scan<'a> {
    found: BTreeMap<Place, Item>,
    known: &'a BTreeMap<Place, Item>,
    left: Limits,
    bytes_left: usize,
}

impl Scan<'_> {
    /// Looks through a root, the upper folders first.
    fn tree(&mut self, root: &Path, top: &OwnedFd) {
        let mut waiting = VecDeque::from([PathBuf::new()]);
        while let Some(place) = waiting.pop_front() {
            if self.left.folders == 0 {
                return;
            }
            self.left.folders -= 1;
            let mut entries = names(top, &place);
            // However many files another name has.
            entries.sort_by_key(|(name, _)| name != ".git");
            self.unnamed_repository(root, top, &place, &entries);
            for (name, kind) in entries {
                let beneath = place.join(&name);
                if name == ".git" && kind.is_dir() {
                    let depth = beneath.iter().count();
                    self.repository(root, top, &beneath, depth);
                } else if name == ".git"
                    || PROTECTED_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
                {
                    self.all(root, top, &beneath, 0, DEPTH_MAX);
                } else if kind.is_dir() {
                    waiting.push_back(beneath);
                } else if kind.is_symlink() && leads_into_git(top, &beneath) {
                    self.all(root, top, &beneath, 0, DEPTH_MAX);
                }
            }
        }
    }

    /// Git takes a folder under any name for a repository by what is in it, or by what it points
    /// to. The root itself is looked at by [`scan`].
    fn unnamed_repository(
        &mut self,
        root: &Path,
        top: &OwnedFd,
        place: &Path,
        entries: &[(OsString, FileType)],
    ) {
        let has = |known: &str| entries.iter().any(|(name, _)| name == known);
        let is_common = has("objects") && has("refs") && (has("HEAD") || has("worktrees"));
        if is_common && !place.as_os_str().is_empty() {
            self.repository(root, top, place, place.iter().count());
        }
        if has("HEAD") && has("commondir") {
            self.common_folder(root, top, place, 0);
        }
    }

    /// Notes a pointer to a repository that need not look like one, unless it is what git makes for
    /// a worktree: that leads to where the worktree was found.
    fn common_folder(&mut self, root: &Path, top: &OwnedFd, place: &Path, depth: usize) {
        let pointer = place.join("commondir");
        let is_worktree = place.parent().is_some_and(|above| above.ends_with("worktrees"));
        if !is_worktree || read(top, &pointer).as_deref() != Ok(b"../..\n") {
            self.all(root, top, &pointer, depth, DEPTH_MAX);
        }
    }

    /// Notes what runs programs in a repository's own directory, and in those of its submodules.
    fn repository(&mut self, root: &Path, top: &OwnedFd, place: &Path, depth: usize) {
        for (name, kind) in names(top, place) {
            let beneath = place.join(&name);
            let is_config = name.as_bytes().starts_with(b"config");
            let has_others = name == "modules" || name == "worktrees";
            if is_config || name == "hooks" || name == "info" || has_others && kind.is_symlink() {
                self.all(root, top, &beneath, depth, DEPTH_MAX);
            } else if has_others && kind.is_dir() {
                self.repositories(root, top, &beneath, DEPTH_MAX);
            } else if name == "commondir" {
                self.common_folder(root, top, place, depth);
            }
        }
    }

    /// Counts a folder beneath a protected name; says whether it may be looked through.
    fn has_room(&mut self) -> bool {
        let has_room = self.left.protected_folders > 0;
        self.left.protected_folders = self.left.protected_folders.saturating_sub(1);
        has_room
    }

    fn repositories(&mut self, root: &Path, top: &OwnedFd, place: &Path, deeper: usize) {
        if deeper == 0 || !self.has_room() {
            return;
        }
        for (name, kind) in names(top, place) {
            let beneath = place.join(&name);
            if kind.is_symlink() {
                // Git would follow it to where nobody looks.
                self.all(root, top, &beneath, 0, DEPTH_MAX);
            }
            if !kind.is_dir() {
                continue;
            }
            if names(top, &beneath).iter().any(|(name, _)| name == "HEAD") {
                self.repository(root, top, &beneath, beneath.iter().count());
            } else {
                self.repositories(root, top, &beneath, deeper - 1);
            }
        }
    }

    fn all(
        &mut self,
        root: &Path,
        top: &OwnedFd,
        beneath: &Path,
        repository: usize,
        deeper: usize,
    ) {
        if self.left.files == 0 || deeper == 0 {
            return;
        }
        let Ok(handle) = look_at(top, beneath) else { return };
        let Ok(stat) = rustix::fs::fstat(&handle) else { return };
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind.is_dir() {
            if !self.has_room() {
                return;
            }
            for (name, _) in names(top, beneath) {
                self.all(root, top, &beneath.join(name), repository, deeper - 1);
            }
            return;
        }
        let place = Place { root: root.to_path_buf(), beneath: beneath.to_path_buf(), repository };
        let mut item = item(top, beneath, &stat, self.known.get(&place));
        let bytes = item.bytes().map_or(0, <[u8]>::len);
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => self.bytes_left = left,
            None => item.content = Content::File(None),
        }
        self.left.files -= 1;
        self.found.insert(place, item);
    }
}

/// Returns what is at `beneath`, as it is `known` if it has not changed.
fn item(top: &OwnedFd, beneath: &Path, stat: &Stat, known: Option<&Item>) -> Item {
    let stamp = Stamp {
        device: stat.st_dev,
        inode: stat.st_ino,
        length: stat.st_size,
        changed: (stat.st_ctime, stat.st_ctime_nsec),
    };
    match known {
        Some(known) if known.stamp == stamp && !known.is_recent => known.clone(),
        _ => Item {
            stamp,
            mode: stat.st_mode & 0o7777,
            owner: (stat.st_uid, stat.st_gid),
            is_recent: is_recent(stat),
            content: content(top, beneath, FileType::from_raw_mode(stat.st_mode), stat.st_size),
        },
    }
}

/// Whether what `stat` speaks of changed so short a time ago that the next change may have the same
/// time: kernels before 6.13 count file times in ticks of up to 10 ms, some file systems in seconds.
fn is_recent(stat: &Stat) -> bool {
    const TICK_S: i64 = 2;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    i64::try_from(now).is_ok_and(|now| now - stat.st_ctime <= TICK_S)
}

/// Whether a link leads to a place within a repository's own directory, most of which nobody looks
/// through.
fn leads_into_git(top: &OwnedFd, beneath: &Path) -> bool {
    // Says only whether to look closer, which no exchange of folders leads astray.
    let target = rustix::fs::readlinkat(top, beneath, Vec::new());
    target.is_ok_and(|target| {
        Path::new(OsStr::from_bytes(target.to_bytes())).iter().any(|name| name == ".git")
    })
}

fn content(top: &OwnedFd, beneath: &Path, kind: FileType, length: i64) -> Content {
    match kind {
        FileType::RegularFile if u64::try_from(length).is_ok_and(|l| l <= FILE_BYTES_MAX) => {
            Content::File(read(top, beneath).ok())
        }
        FileType::RegularFile => Content::File(None),
        FileType::Symlink => {
            let target = open_parent(top, beneath, MakeFolders::No)
                .and_then(|(folder, name)| rustix::fs::readlinkat(&folder, name, Vec::new()));
            target.map_or(Content::Other, |target| {
                Content::Link(OsString::from_vec(target.into_bytes()))
            })
        }
        _ => Content::Other,
    }
}

fn read(top: &OwnedFd, beneath: &Path) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open_beneath(top, beneath, flags)?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let length = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut buffer))?;
        bytes.extend_from_slice(buffer.get(..length).unwrap_or_default());
        if length == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(Errno::FBIG);
        }
    }
}

/// Takes a file away.
pub(super) fn remove(place: &Place) -> Result<(), Errno> {
    let top = open_folder_at(&place.root)?;
    let (folder, name) = open_parent(&top, &place.beneath, MakeFolders::No)?;
    rustix::fs::unlinkat(&folder, name, AtFlags::empty())
}

/// Makes a file that is not there.
pub(super) fn write(place: &Place, item: &Item) -> Result<(), Errno> {
    let top = open_folder_at(&place.root)?;
    let (folder, name) = open_parent(&top, &place.beneath, MakeFolders::Yes)?;
    remove_folders(&folder, name, DEPTH_MAX);
    match &item.content {
        Content::Link(target) => rustix::fs::symlinkat(&**target, &folder, name),
        Content::File(Some(bytes)) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?;
            if rustix::process::geteuid().is_root() {
                let (user, group) = item.owner;
                let owner = (Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
                rustix::fs::fchown(&file, owner.0, owner.1)?;
            }
            rustix::fs::fchmod(&file, Mode::from_raw_mode(item.mode))?;
            write_all(&file, bytes)
        }
        Content::File(None) | Content::Other => Err(Errno::NOTSUP),
    }
}

/// Takes away a folder with nothing but folders in it: what stood there in the place of a file.
fn remove_folders(folder: &OwnedFd, name: &OsStr, deeper: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(inner) = open_beneath(folder, Path::new(name), flags) else { return };
    for (name, kind) in names(folder, Path::new(name)) {
        if kind.is_dir() && deeper > 0 {
            remove_folders(&inner, &name, deeper - 1);
        }
    }
    // Where a file is left in it, making the new one says so.
    let _ = rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR);
}

fn names(top: &OwnedFd, place: &Path) -> Vec<(OsString, FileType)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    let folder = open_beneath(top, place, flags).and_then(|folder| Dir::read_from(&folder));
    let mut names = Vec::new();
    for entry in folder.into_iter().flatten().flatten() {
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push((OsStr::from_bytes(name).to_owned(), entry.file_type()));
        }
    }
    names
}

/// Whether folders that are not there are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MakeFolders {
    Yes,
    No,
}

fn open_parent<'a>(
    top: &OwnedFd,
    beneath: &'a Path,
    make: MakeFolders,
) -> Result<(OwnedFd, &'a OsStr), Errno> {
    let name = beneath.file_name().ok_or(Errno::INVAL)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = open_beneath(top, Path::new("."), flags)?;
    for part in beneath.parent().into_iter().flatten() {
        folder = match open_beneath(&folder, Path::new(part), flags) {
            Err(Errno::NOENT) if make == MakeFolders::Yes => {
                rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o755))?;
                open_beneath(&folder, Path::new(part), flags)?
            }
            answer => answer?,
        };
    }
    Ok((folder, name))
}

fn look_at(top: &OwnedFd, beneath: &Path) -> Result<OwnedFd, Errno> {
    open_beneath(top, beneath, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)
}

fn open_beneath(folder: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve)
}

fn open_folder_at(path: &Path) -> Result<OwnedFd, Errno> {
    // A command may have put a link there, if the root lies in another one.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}
