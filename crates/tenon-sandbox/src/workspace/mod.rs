//! Files beneath fixed roots.
//!
//! A root is a directory descriptor that is opened once; every later opening starts from it and
//! cannot leave it (see [`crate::linux::openat`]). No check is ever made on the text of a path,
//! except that an absolute one must begin with a root. `~`, `$` and `%` are ordinary characters.
//!
//! Calls block; an async caller runs them where blocking is allowed.

mod closed;
mod error;
mod grant;
mod hash;
mod in_place;
mod included;
mod names;
mod outside;
mod protected;
mod read;
mod recording;
mod resolve;
mod rules;
mod seen;
mod walk;
mod write;

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

pub use self::error::FileError;
pub use self::grant::LiftedWrite;
pub use self::hash::{ContentHash, ContentHasher};
pub(crate) use self::in_place::check_in_place;
pub use self::in_place::{OpenRoots, RootMoved};
pub use self::outside::{Access, Outside};
pub(crate) use self::protected::{
    ALTERNATES, above_listed, can_matter, has_old_remotes, has_others, is_above_protected,
    is_alternates, is_index_of_git, is_listed, is_protected_name, is_replacement,
    is_setting_of_git, is_written_by_git, makes_one, makes_repository, may_be_of_git, name_of,
    names_beneath,
};
pub use self::read::OpenFile;
pub(crate) use self::recording::Recording;
pub use self::seen::Seen;
pub use self::walk::{EntryKind, Walk, WalkEntry, WalkOptions};
pub use self::write::{Expected, ProtectedNames, WriteOptions, Written};
pub(crate) use self::write::{is_temporary, random_name};

use self::closed::Closed;
use self::grant::{GrantedFile, Lifted};
use self::in_place::OpenRoot;
use self::protected::places_led_to;
use self::seen::SeenTable;
use crate::filter::{SharedFilter, TextFilter};
use crate::links::resolved;
use crate::linux::openat::open_plain;
use crate::own_paths::OwnPaths;
use crate::spill::SpillTarget;

/// The folders that a session may work in. Cheap to clone; clones share what was seen.
#[derive(Debug, Clone)]
pub struct Workspace {
    shared: Arc<Shared>,
    /// Who saves what is about to change.
    recording: Option<Arc<dyn Recording>>,
}

#[derive(Debug, Clone)]
struct Shared {
    /// The writable roots, then the spill folder if there is one.
    roots: Vec<Arc<Root>>,
    /// Folders and files of tenon's own, and links that lead to them, as absolute paths: those that lie
    /// inside a root are protected there.
    own_folders: Vec<PathBuf>,
    /// Files and folders inside a root that are protected by where they are.
    protected: Vec<PathBuf>,
    /// Paths that protect what they lead to inside a root by now.
    own_paths: Arc<Mutex<OwnPaths>>,
    /// Folders of toolchains inside a root, which are protected there.
    toolchains: Vec<PathBuf>,
    /// The user's home folder, as it is named: git's settings may name files by it.
    home: Option<PathBuf>,
    /// What is inside a root and not opened with it.
    closed: Vec<(PathBuf, Closed)>,
    lifted: Vec<Arc<Lifted>>,
    /// Files outside of every root that somebody said yes to.
    files: Vec<Arc<GrantedFile>>,
    seen: Arc<SeenTable>,
    filter: Option<SharedFilter>,
}

#[derive(Debug)]
struct Root {
    /// Absolute and without symbolic links.
    path: PathBuf,
    /// As the user wrote it, made absolute; models repeat what they see in a prompt or in `PWD`.
    alias: Option<PathBuf>,
    /// The links that the user's path leads through.
    links: Vec<PathBuf>,
    /// Empty only for a spill folder that nothing was spilled to yet.
    folder: OnceLock<Arc<OwnedFd>>,
    /// What must be at the path; nothing for what is not a writable root.
    opened: Option<Arc<OpenRoot>>,
    read_only: bool,
    /// A folder outside that somebody said yes to: the path by which the model named it.
    granted: Option<String>,
}

/// Where a path leads, for a decision on it before anything is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Index of the root in [`Workspace::roots`]; the spill folder and what was granted come after the
    /// last of them.
    pub root: usize,
    /// The path beneath that root with every link and `..` resolved; empty for the root itself.
    pub beneath: PathBuf,
    /// The same as an absolute path.
    pub absolute: PathBuf,
    /// Writing it needs an approval of its own, because other programs read commands from it.
    pub protected: bool,
    /// It is protected by a name of the list alone: not by where it is, and not as a repository's own.
    pub by_name: bool,
    /// The path leads there by a link that has a protected name, or stands in its way: writing it by this path needs
    /// an approval of its own, too.
    pub behind_protected: bool,
    /// It lies in a toolchain of the user's, which is protected, and which commands do not write.
    pub in_toolchain: bool,
    /// It is a reference of git's in a repository's own directory, which commands write: what they leave is judged
    /// afterwards.
    pub of_git_references: bool,
    /// Writing it is never possible.
    pub read_only: bool,
    /// What is there; `None` when nothing is.
    pub kind: Option<EntryKind>,
}

impl Workspace {
    /// Opens `root` as a workspace with one root.
    ///
    /// # Errors
    /// [`FileError`] when it is not a directory that can be opened.
    pub fn open(root: &Path) -> Result<Self, FileError> {
        let shared = Shared {
            roots: vec![Arc::new(Root::open(root)?)],
            own_folders: Vec::new(),
            protected: Vec::new(),
            own_paths: Arc::default(),
            toolchains: Vec::new(),
            home: None,
            closed: Vec::new(),
            lifted: Vec::new(),
            files: Vec::new(),
            seen: Arc::default(),
            filter: None,
        };
        Ok(Self { shared: Arc::new(shared), recording: None })
    }

    /// Adds a further writable root. What [`Workspace::open`] says about errors holds here.
    ///
    /// # Errors
    /// [`FileError`] when it is not a directory that can be opened, and [`FileError::InvalidPath`] when
    /// the path of one root leads through a link in another: a command may have made it.
    pub fn with_root(self, root: &Path) -> Result<Self, FileError> {
        let root = Arc::new(Root::open(root)?);
        let is_in =
            |link: &PathBuf, other: &Root| *link != other.path && link.starts_with(&other.path);
        let leads_through =
            |root: &Root, other: &Root| root.links.iter().any(|link| is_in(link, other));
        for other in &self.shared.roots {
            if leads_through(&root, other) || leads_through(other, &root) {
                let path = root.alias.as_ref().unwrap_or(&root.path).display().to_string();
                let reason = "leads through a link in another folder of the session, or that one \
                              through a link in it; name what the link leads to";
                return Err(FileError::InvalidPath { path, reason });
            }
        }
        if self.shared.roots.iter().any(|known| known.path == root.path) {
            return Ok(self);
        }
        let mut shared = Arc::unwrap_or_clone(self.shared);
        let writable = shared.roots.iter().take_while(|root| !root.read_only).count();
        shared.roots.insert(writable, root);
        Ok(Self { shared: Arc::new(shared), recording: self.recording })
    }

    /// Adds the folder that long results are spilled to, as a root for reading only. It need not
    /// exist yet.
    ///
    /// # Errors
    /// [`FileError`] when the part of the path that exists cannot be resolved.
    pub fn with_spill(self, folder: &Path) -> Result<Self, FileError> {
        let root = Arc::new(Root::later(folder)?);
        let mut shared = Arc::unwrap_or_clone(self.shared);
        shared.roots.retain(|root| !root.is_spill());
        shared.roots.push(root);
        Ok(Self { shared: Arc::new(shared), recording: self.recording })
    }

    /// Has what commands print and what is spilled changed by `filter`.
    #[must_use]
    pub fn with_filter(self, filter: Arc<dyn TextFilter>) -> Self {
        let mut shared = Arc::unwrap_or_clone(self.shared);
        shared.filter = Some(SharedFilter::new(filter));
        Self { shared: Arc::new(shared), recording: self.recording }
    }

    /// Protects `folder`, a folder or file of tenon's own, against writing where it, what it leads to
    /// or a link on the way lies inside a root.
    #[must_use]
    pub fn with_own_folder(self, folder: &Path) -> Self {
        let mut shared = Arc::unwrap_or_clone(self.shared);
        let named = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        let (end, links) = resolved(&named).unwrap_or((named, Vec::new()));
        shared.own_folders.extend(links.into_iter().chain([end]));
        Self { shared: Arc::new(shared), recording: self.recording }
    }

    /// Protects files and folders against writing where they, what they lead to or a link on the way
    /// lie inside a root, now or when it is asked: what the user's programs start with, whatever its name. In
    /// those that are folders outside, so do links; but not one that leads to a root itself.
    ///
    /// ```
    /// use tenon_sandbox::Workspace;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let home = folder.path().canonicalize()?;
    /// let workspace = Workspace::open(&home)?.with_protected(&[home.join(".bashrc")]);
    /// assert!(workspace.locate(".bashrc")?.protected && !workspace.locate("notes")?.protected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_protected(self, paths: &[PathBuf]) -> Self {
        let known = self.own_paths().named().to_vec();
        let mut own_paths = OwnPaths::new(known.into_iter().chain(paths.iter().cloned()).collect());
        let roots = self.roots();
        let found = places_led_to(own_paths.leading_into(&roots), &roots).collect();
        let mut shared = Arc::unwrap_or_clone(self.shared);
        (shared.protected, shared.own_paths) = (found, Arc::new(Mutex::new(own_paths)));
        Self { shared: Arc::new(shared), recording: self.recording }
    }

    /// Protects folders of toolchains against writing ([`crate::toolchains_within`]): the user's programs run from
    /// there. What lies in a root that is one of them, or lies in it, is not protected.
    ///
    /// ```
    /// use tenon_sandbox::{Workspace, toolchains_within};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let home = folder.path().canonicalize()?;
    /// std::fs::create_dir(home.join(".cargo"))?;
    /// let workspace = Workspace::open(&home)?;
    /// let held = toolchains_within(&home, &workspace.roots());
    /// assert!(workspace.with_toolchains(&held).locate(".cargo/bin/new")?.protected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_toolchains(self, folders: &[PathBuf]) -> Self {
        let mut shared = Arc::unwrap_or_clone(self.shared);
        shared.toolchains.extend_from_slice(folders);
        Self { shared: Arc::new(shared), recording: self.recording }
    }

    /// Protects what settings of git include by `~/`, where that leads into a root through `home`, the user's.
    ///
    /// ```
    /// use tenon_sandbox::Workspace;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let home = folder.path().canonicalize()?;
    /// # std::fs::create_dir_all(home.join("work/.git"))?;
    /// # std::fs::write(home.join("work/shared"), "")?;
    /// std::fs::write(home.join("work/.git/config"), "[include]\npath = ~/mine\n")?;
    /// std::os::unix::fs::symlink("work/shared", home.join("mine"))?;
    /// let workspace = Workspace::open(&home.join("work"))?.with_home(&home);
    /// assert!(workspace.locate("shared")?.protected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_home(self, home: &Path) -> Self {
        let mut shared = Arc::unwrap_or_clone(self.shared);
        shared.home = Some(home.to_path_buf());
        Self { shared: Arc::new(shared), recording: self.recording }
    }

    /// Returns the same workspace, which tells `recording` before it writes.
    #[must_use]
    pub(crate) fn told_to(&self, recording: Arc<dyn Recording>) -> Self {
        Self { shared: Arc::clone(&self.shared), recording: Some(recording) }
    }

    /// Returns the first root, absolute and without symbolic links.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.shared.roots.first().map_or(Path::new("/"), |root| &root.path)
    }

    /// Returns the writable roots; the first is [`Workspace::root`].
    #[must_use]
    pub fn roots(&self) -> Vec<PathBuf> {
        let writable = self.shared.roots.iter().filter(|root| !root.read_only);
        writable.map(|root| root.path.clone()).collect()
    }

    /// Returns the paths by which the writable roots were named, absolute, where these lead through links.
    #[must_use]
    pub fn ways(&self) -> Vec<PathBuf> {
        let writable = self.shared.roots.iter().filter(|root| !root.read_only);
        writable.filter_map(|root| root.alias.clone()).collect()
    }

    /// Returns the paths by which the writable roots were named, absolute and without `..`, in the order of
    /// [`Workspace::roots`].
    #[must_use]
    pub fn named_roots(&self) -> Vec<PathBuf> {
        let writable = self.shared.roots.iter().filter(|root| !root.read_only);
        let named = writable.map(|root| root.alias.as_ref().unwrap_or(&root.path).clone());
        named.collect()
    }

    /// Returns the folder that long results are spilled to.
    #[must_use]
    pub fn spill_folder(&self) -> Option<&Path> {
        self.shared.roots.iter().find(|root| root.is_spill()).map(|root| &*root.path)
    }

    /// Returns where a result that is too long to show goes.
    #[must_use]
    pub fn spill_target(&self) -> Option<SpillTarget> {
        let filter = &self.shared.filter;
        self.spill_folder().map(|folder| SpillTarget::new(folder).with_filter(filter.clone()))
    }

    /// Returns where `path` leads, links and `..` resolved, whether or not something is there.
    ///
    /// # Errors
    /// [`FileError::Escapes`] and the like; nothing being there is not an error.
    pub fn locate(&self, path: &str) -> Result<Location, FileError> {
        let found = self.resolve(path)?;
        let protected = self.is_protected(&found);
        Ok(Location {
            root: found.root,
            absolute: self.absolute(found.root, &found.beneath),
            protected,
            by_name: protected && self.is_protected_by_name(&found),
            behind_protected: self.is_behind_protected(&found),
            in_toolchain: self.is_in_toolchain(&found),
            of_git_references: protected && self.is_git_reference(&found),
            read_only: self.is_read_only(&found, path),
            kind: found.kind(),
            beneath: found.beneath,
        })
    }

    fn root_of(&self, root: usize) -> Option<&Root> {
        self.shared.roots.get(root).map(|root| &**root)
    }

    fn absolute(&self, root: usize, beneath: &Path) -> PathBuf {
        let root = self.root_of(root).map_or(Path::new("/"), |root| &root.path);
        if beneath.as_os_str().is_empty() { root.to_path_buf() } else { root.join(beneath) }
    }

    /// Returns how a place is shown: relative in the first root, absolute elsewhere.
    fn shown(&self, root: usize, beneath: &Path) -> PathBuf {
        let parts = beneath.components().filter(|part| *part != Component::CurDir);
        let beneath: PathBuf = parts.collect();
        match (root, beneath.as_os_str().is_empty()) {
            (0, true) => PathBuf::from("."),
            (0, false) => beneath,
            _ => self.absolute(root, &beneath),
        }
    }
}

impl Root {
    fn open(path: &Path) -> Result<Self, FileError> {
        let shown = path.to_string_lossy().into_owned();
        let fail = |source| FileError::Io { path: shown.clone(), source };
        let canonical =
            std::fs::canonicalize(path).map_err(|source| match source.raw_os_error() {
                Some(code) => FileError::from_errno(&shown, Errno::from_raw_os_error(code)),
                None => fail(source),
            })?;
        let alias = without_parents(&std::path::absolute(path).map_err(fail)?);
        let failed = |errno| FileError::from_errno(&shown, errno);
        let folder = Arc::new(open_folder(&canonical).map_err(failed)?);
        let opened = OpenRoot::new(canonical.clone(), Arc::clone(&folder)).map_err(failed)?;
        let opened = Some(Arc::new(opened));
        let (_, links) = resolved(&alias).unwrap_or_default();
        let alias = Some(alias).filter(|alias| *alias != canonical);
        let (path, folder) = (canonical, OnceLock::from(folder));
        Ok(Self { path, alias, links, folder, opened, read_only: false, granted: None })
    }

    fn later(path: &Path) -> Result<Self, FileError> {
        let alias = std::path::absolute(path).map_err(|source| FileError::Io {
            path: path.to_string_lossy().into_owned(),
            source,
        })?;
        let canonical = canonical_or_lexical(&alias);
        let alias = Some(alias).filter(|alias| *alias != canonical);
        let (path, folder, links, opened) = (canonical, OnceLock::new(), Vec::new(), None);
        Ok(Self { path, alias, links, folder, opened, read_only: true, granted: None })
    }

    /// Returns the descriptor; a spill folder is opened at the first look after it was made.
    fn folder(&self) -> Result<Arc<OwnedFd>, Errno> {
        if let Some(folder) = self.folder.get() {
            return Ok(Arc::clone(folder));
        }
        let folder = Arc::new(open_folder(&self.path)?);
        Ok(Arc::clone(self.folder.get_or_init(|| folder)))
    }

    fn is_spill(&self) -> bool {
        self.read_only && self.granted.is_none()
    }

    fn is_at(&self, absolute: &Path) -> bool {
        self.path == absolute || self.alias.as_deref() == Some(absolute)
    }
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Resolves the part of `path` that exists and appends the rest.
pub(crate) fn canonical_or_lexical(path: &Path) -> PathBuf {
    if without_links(path).is_some() {
        return path.to_path_buf();
    }
    for known in path.ancestors() {
        if let Ok(canonical) = std::fs::canonicalize(known) {
            return match path.strip_prefix(known) {
                Ok(rest) if !rest.as_os_str().is_empty() => canonical.join(rest),
                _ => canonical,
            };
        }
    }
    path.to_path_buf()
}

/// Returns where the paths lead, of those that are there.
pub(crate) fn canonical<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<PathBuf> {
    let lead = |path: &Path| match without_links(path) {
        Some(is_there) => is_there.then(|| path.to_path_buf()),
        None => path.canonicalize().ok(),
    };
    paths.into_iter().filter_map(|path| lead(path.as_ref())).collect()
}

/// Whether something is at a path that leads through no link, as far as it leads; `None` if it must be
/// resolved. Most need not, and to see that takes a call, where the C library makes one for each name.
fn without_links(path: &Path) -> Option<bool> {
    let names = path.as_os_str().as_bytes().strip_prefix(b"/")?;
    if names.split(|byte| *byte == b'/').any(|name| matches!(name, b"" | b"." | b"..")) {
        return None;
    }
    match open_plain(path) {
        Ok(_) => Some(true),
        Err(Errno::NOENT) => Some(false),
        Err(_) => None,
    }
}

/// Where the kernel ends a path, its NUL counted (PATH_MAX). Made component by component, a longer
/// one could be written and never be opened again.
const PATH_BYTES_MAX: usize = 4096;

/// Refuses what cannot name a file.
fn check_text(path: &OsStr) -> Result<(), FileError> {
    let invalid = |reason| {
        let path = path.to_string_lossy().into_owned();
        Err(FileError::InvalidPath { path, reason })
    };
    if path.is_empty() {
        return invalid("is empty");
    }
    if path.as_bytes().contains(&0) {
        return invalid("has a NUL character");
    }
    if path.len() >= PATH_BYTES_MAX {
        return invalid("is longer than a path can be");
    }
    Ok(())
}

/// Names what is no regular file and no directory, in words.
fn kind_in_words(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "named pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "character device",
        FileType::BlockDevice => "block device",
        _ => "special file",
    }
}

/// Returns a path with all up to its last `..` as it leads, links followed: how a folder is named from elsewhere.
fn without_parents(path: &Path) -> PathBuf {
    let parts: Vec<Component> = path.components().collect();
    let count = parts.iter().rposition(|part| *part == Component::ParentDir).map_or(0, |at| at + 1);
    let (above, rest) = parts.split_at_checked(count).unwrap_or_default();
    let above: PathBuf = above.iter().collect();
    canonical_or_lexical(&above).join(rest.iter().collect::<PathBuf>())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_as_far_as_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("a")).unwrap();
        std::fs::write(top.join("file"), "").unwrap();
        for (target, link) in [("a", "link"), ("nowhere", "gone")] {
            std::os::unix::fs::symlink(target, top.join(link)).unwrap();
        }
        for (path, leads_to, is_there) in [
            ("a", "a", true),
            ("a/none/deep", "a/none/deep", false),
            ("file/none", "file/none", false),
            ("link", "a", true),
            ("link/none", "a/none", false),
            ("gone", "gone", false),
            ("a/.", "a", true),
            ("a//../link", "a", true),
        ] {
            let (path, leads_to) = (top.join(path), top.join(leads_to));
            assert_eq!(canonical_or_lexical(&path), leads_to, "{}", path.display());
            let expected: Vec<_> = is_there.then_some(leads_to).into_iter().collect();
            assert_eq!(canonical([&path]), expected, "{}", path.display());
        }
    }
}
