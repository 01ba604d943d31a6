//! Writing: a new file without a name, made durable, then put in its place: by a link where nothing
//! is, else by one rename. A process that is killed leaves nothing behind, but for the moment
//! between a name and the rename, and where the file system knows only files that have names: the
//! journal takes that away later.
//!
//! So a reader sees the old bytes or the new ones, a full disk leaves the target untouched, and a
//! hard link that leaves the workspace is broken, not written through. Mode, owner, access control
//! list and extended attributes are carried over; where that cannot be done, or the directory
//! takes no new file, the bytes are written in place and the result says so.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FallocateFlags, FileType, Gid, Mode, OFlags, RenameFlags, Uid, XattrFlags,
};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;
use sha2::{Digest, Sha256};

use super::recording::Recording;
use super::resolve::{Node, Resolved};
use super::{ContentHash, FileError, Workspace, kind_in_words};
use crate::linux::openat::{look_at, open_beneath};

/// What the target must be at the moment it is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Anything, or nothing.
    Any,
    /// Nothing.
    Absent,
    /// A file with this content.
    Hash(ContentHash),
}

/// Whether a write may touch names that other programs take commands from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedNames {
    /// Refused with [`FileError::Protected`].
    Refuse,
    /// Written; an approval was given.
    Allow,
}

/// How to write. An [`Expected`] alone turns into options that refuse protected names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOptions {
    /// What the target must be.
    pub expected: Expected,
    /// Whether protected names may be written.
    pub protected: ProtectedNames,
}

impl From<Expected> for WriteOptions {
    fn from(expected: Expected) -> Self {
        Self { expected, protected: ProtectedNames::Refuse }
    }
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Nothing was there before.
    pub created: bool,
    /// Written over the old bytes, because a replaced file could not have kept owner, attributes
    /// or place. Not atomic.
    pub in_place: bool,
    /// Hash of the new content.
    pub hash: ContentHash,
}

/// How the new bytes cannot get there by a rename.
enum Failure {
    /// This way is closed; writing in place may be open.
    TryInPlace,
    /// The file system gives no name to a file that was made without one.
    NeedsName,
    Error(FileError),
}

impl Workspace {
    /// Writes a whole file, atomically where that is possible, and makes parent directories.
    ///
    /// A symbolic link inside the workspace is followed and kept.
    ///
    /// # Errors
    /// [`FileError`]; the target then has its old bytes, unless a write in place broke off.
    pub fn write(
        &self,
        path: &str,
        bytes: &[u8],
        options: impl Into<WriteOptions>,
    ) -> Result<Written, FileError> {
        let mut options = options.into();
        let mut found = self.resolve(path)?;
        self.check_in_place(found.root)?;
        let lifted = self.lifted(&found);
        if let Some(lifted) = lifted {
            options.expected = lifted.expected(options.expected, path)?;
        }
        self.check_writable(path, &found, options)?;
        // Grows with each folder that is made.
        let mut at = self.absolute(found.root, found.folder_path());
        for folder in std::mem::take(&mut found.missing) {
            self.save(path, |recording| recording.before_replacing(&at, &folder))?;
            found.folder = make_folder(path, &found.folder, &folder)?;
            at = at.join(&folder);
        }
        let temporary = random_name().map_err(|errno| FileError::from_errno(path, errno))?;
        self.save(path, |recording| recording.before_temporary(&at, &temporary))?;
        self.save(path, |recording| recording.before_replacing(&at, &found.name))?;
        let (expected, found) = (options.expected, &found);
        let replacing = Replacing { path, found, temporary, bytes, expected };
        let (in_place, mode) = match replacing.by_rename() {
            Ok(mode) => (false, mode),
            Err(Failure::Error(error)) => return Err(error),
            Err(Failure::TryInPlace | Failure::NeedsName) => {
                self.save(path, |recording| recording.before_writing(&at, &found.name))?;
                (true, replacing.in_place(self.further_names(&at, found))?)
            }
        };
        if let Some(lifted) = lifted {
            lifted.written(bytes, mode.as_raw_mode());
        }
        if let Some(granted) = self.granted_file(OsStr::new(path)) {
            granted.written(&found.folder);
        }
        Ok(Written {
            bytes: bytes.len() as u64,
            created: found.node.is_none(),
            in_place,
            hash: ContentHash::of(bytes),
        })
    }

    /// Has what records save what is about to change. What cannot be saved is not changed.
    fn save(
        &self,
        path: &str,
        before: impl FnOnce(&dyn Recording) -> Result<(), Errno>,
    ) -> Result<(), FileError> {
        let Some(recording) = &self.recording else { return Ok(()) };
        before(&**recording).map_err(|errno| {
            let text =
                format!("nothing was changed, because it could not be saved for undo: {errno}");
            FileError::Io { path: path.to_owned(), source: io::Error::other(text) }
        })
    }

    /// How many names of the target are the recording's own.
    fn further_names(&self, at: &Path, found: &Resolved) -> u64 {
        let recording = self.recording.as_ref();
        recording.map_or(0, |recording| u64::from(recording.has_kept(at, &found.name)))
    }

    fn check_writable(
        &self,
        path: &str,
        found: &Resolved,
        options: WriteOptions,
    ) -> Result<(), FileError> {
        let path = path.to_owned();
        if self.is_read_only(found, &path) {
            return Err(FileError::ReadOnly { path });
        }
        let refuses = options.protected == ProtectedNames::Refuse && !self.is_lifted(found);
        if refuses && (self.is_protected(found) || self.is_behind_protected(found)) {
            return Err(FileError::Protected { path });
        }
        if found.dangling {
            return Err(FileError::DanglingLink { path });
        }
        let Some(node) = &found.node else {
            return match options.expected {
                Expected::Hash(_) => Err(FileError::Changed { path }),
                _ if found.name.is_empty() => Err(FileError::IsDirectory { path }),
                _ => Ok(()),
            };
        };
        match node.file_type() {
            FileType::RegularFile if options.expected == Expected::Absent => {
                Err(FileError::Changed { path })
            }
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(FileError::IsDirectory { path }),
            other => Err(FileError::NotRegular { path, kind: kind_in_words(other) }),
        }
    }
}

struct Replacing<'a> {
    path: &'a str,
    found: &'a Resolved,
    /// The name of the new bytes until they have their place.
    temporary: OsString,
    bytes: &'a [u8],
    expected: Expected,
}

impl Replacing<'_> {
    fn fail(&self, errno: Errno) -> FileError {
        FileError::from_errno(self.path, errno)
    }

    fn io(&self, source: io::Error) -> FileError {
        match source.raw_os_error() {
            Some(code) => self.fail(Errno::from_raw_os_error(code)),
            None => FileError::Io { path: self.path.to_owned(), source },
        }
    }

    /// Returns the permissions that the file got.
    fn by_rename(&self) -> Result<Mode, Failure> {
        let found = self.found;
        if let Some(node) = &found.node {
            self.check_permission(node).map_err(Failure::Error)?;
        }
        match self.put_in_place(self.make_temporary()?) {
            Err(Failure::NeedsName) => self.put_in_place(self.make_named()?),
            other => other,
        }
    }

    fn put_in_place(&self, mut temporary: Temporary<'_>) -> Result<Mode, Failure> {
        let found = self.found;
        if let Some(node) = &found.node {
            carry_over(node, &temporary.file).map_err(|_| Failure::TryInPlace)?;
        }
        temporary
            .file
            .write_all(self.bytes)
            .and_then(|()| match &found.node {
                Some(node) => keep_mode(node, &temporary.file),
                None => Ok(()),
            })
            .and_then(|()| temporary.file.sync_all())
            .map_err(|source| Failure::Error(self.io(source)))?;
        let mode = mode_of(&temporary.file).map_err(|errno| Failure::Error(self.fail(errno)))?;
        self.check_expected().map_err(Failure::Error)?;
        let flags = match (&found.node, self.expected) {
            (None, Expected::Absent) => RenameFlags::NOREPLACE,
            _ => RenameFlags::empty(),
        };
        match temporary.place_at(&found.name, found.node.is_none(), flags) {
            Ok(()) => {}
            Err(_) if temporary.is_nameless() => return Err(Failure::NeedsName),
            Err(Errno::EXIST) => {
                return Err(Failure::Error(FileError::Changed { path: self.path.to_owned() }));
            }
            // Another's file in a sticky directory, or a file that something is mounted on.
            Err(Errno::PERM | Errno::ACCESS | Errno::BUSY) if found.node.is_some() => {
                return Err(Failure::TryInPlace);
            }
            Err(errno) => return Err(Failure::Error(self.fail(errno))),
        }
        sync_folder(&found.folder);
        Ok(mode)
    }

    /// A rename asks only the directory; a file that this user may not write stays as it is.
    fn check_permission(&self, node: &Node) -> Result<(), FileError> {
        let link = handle_path(&node.handle);
        rustix::fs::accessat(rustix::fs::CWD, &link, rustix::fs::Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|errno| self.fail(errno))
    }

    /// Makes a file without a name, or one with a name where there is no such thing.
    fn make_temporary(&self) -> Result<Temporary<'_>, Failure> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE;
        match open_beneath(&self.found.folder, ".", flags, self.temporary_mode()) {
            Ok(handle) => Ok(self.temporary(handle, Name::Later(self.temporary.clone()))),
            Err(_) => self.make_named(),
        }
    }

    fn temporary(&self, handle: OwnedFd, name: Name) -> Temporary<'_> {
        Temporary { folder: &self.found.folder, file: File::from(handle), name }
    }

    /// The content of a private file must not be open to others for a moment; a new file gets what
    /// the umask leaves.
    fn temporary_mode(&self) -> Mode {
        Mode::from_raw_mode(if self.found.node.is_some() { 0o600 } else { 0o666 })
    }

    fn make_named(&self) -> Result<Temporary<'_>, Failure> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let name = self.temporary.clone();
        match open_beneath(&self.found.folder, &*name, flags, self.temporary_mode()) {
            Ok(handle) => Ok(self.temporary(handle, Name::Now(name))),
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) if self.found.node.is_some() => {
                Err(Failure::TryInPlace)
            }
            Err(errno) => Err(Failure::Error(self.fail(errno))),
        }
    }

    fn check_expected(&self) -> Result<(), FileError> {
        let Expected::Hash(expected) = self.expected else { return Ok(()) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        let handle = open_beneath(&self.found.folder, &*self.found.name, flags, Mode::empty())
            .map_err(|errno| match errno {
                Errno::NOENT | Errno::LOOP => FileError::Changed { path: self.path.to_owned() },
                other => self.fail(other),
            })?;
        let now = hash_of(handle).map_err(|source| self.io(source))?;
        if now == expected {
            return Ok(());
        }
        Err(FileError::Changed { path: self.path.to_owned() })
    }

    fn in_place(&self, own_names: u64) -> Result<Mode, FileError> {
        let Some(node) = &self.found.node else {
            return Err(self.fail(Errno::ACCESS));
        };
        // Its other name may lie outside the workspace.
        if node.stat.st_nlink > 1 + own_names {
            return Err(self.fail(Errno::ACCESS));
        }
        self.check_expected()?;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW;
        let handle = open_beneath(&self.found.folder, &*self.found.name, flags, Mode::empty())
            .map_err(|errno| self.fail(errno))?;
        let stat = rustix::fs::fstat(&handle).map_err(|errno| self.fail(errno))?;
        if (stat.st_dev, stat.st_ino) != (node.stat.st_dev, node.stat.st_ino) {
            return Err(FileError::Changed { path: self.path.to_owned() });
        }
        // Room for all of it first: a full disk must not leave half a file. File systems that
        // cannot promise room say so, and then the write itself tells.
        let length = self.bytes.len() as u64;
        if length > 0
            && let Err(errno @ (Errno::NOSPC | Errno::DQUOT)) =
                rustix::fs::fallocate(&handle, FallocateFlags::KEEP_SIZE, 0, length)
        {
            return Err(self.fail(errno));
        }
        if Mode::from_raw_mode(stat.st_mode).intersects(SET_ID) {
            let mode = Mode::from_raw_mode(stat.st_mode) - SET_ID;
            // For who may not change it the kernel takes them away at the write.
            let _ = rustix::fs::fchmod(&handle, mode);
        }
        let mut file = File::from(handle);
        file.write_all(self.bytes)
            .and_then(|()| file.set_len(length))
            .and_then(|()| file.sync_all())
            .map_err(|source| self.io(source))?;
        mode_of(&file).map_err(|errno| self.fail(errno))
    }
}

/// With these a file runs as its owner, or with its group.
const SET_ID: Mode = Mode::SUID.union(Mode::SGID);

/// A file without a place yet; removed unless it got there.
struct Temporary<'a> {
    folder: &'a Arc<OwnedFd>,
    file: File,
    name: Name,
}

/// What a file is called until it has its place.
enum Name {
    /// Nothing: it goes with its descriptor. This is what it is called right before a rename.
    Later(OsString),
    Now(OsString),
    /// It has its place.
    Gone,
}

impl Temporary<'_> {
    fn is_nameless(&self) -> bool {
        matches!(self.name, Name::Later(_))
    }

    /// Puts the file at `target`; `is_free` is whether nothing was there.
    fn place_at(&mut self, target: &OsStr, is_free: bool, flags: RenameFlags) -> Result<(), Errno> {
        if let Name::Later(name) = &self.name {
            if is_free && self.link_to(target).is_ok() {
                self.name = Name::Gone;
                return Ok(());
            }
            self.link_to(name)?;
            self.name = Name::Now(name.clone());
        }
        self.rename_to(target, flags)
    }

    /// Gives a file without a name one, which must be free. The kernel's name for the descriptor
    /// needs no privilege.
    fn link_to(&self, name: &OsStr) -> Result<(), Errno> {
        let link = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(rustix::fs::CWD, link, self.folder, name, AtFlags::SYMLINK_FOLLOW)
    }

    fn rename_to(&mut self, target: &OsStr, flags: RenameFlags) -> Result<(), Errno> {
        let Name::Now(name) = &self.name else { return Err(Errno::NOENT) };
        let rename =
            |flags| rustix::fs::renameat_with(self.folder, &**name, self.folder, target, flags);
        let outcome = match rename(flags) {
            // The file system has no such rename: look, then rename.
            Err(Errno::INVAL) if flags == RenameFlags::NOREPLACE => {
                match look_at(self.folder, target) {
                    Ok(_) => Err(Errno::EXIST),
                    Err(Errno::NOENT) => rename(RenameFlags::empty()),
                    Err(errno) => Err(errno),
                }
            }
            other => other,
        };
        outcome.map(|()| self.name = Name::Gone)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Name::Now(name) = &self.name {
            // Nothing more can be done about a file that cannot be removed.
            let _ = rustix::fs::unlinkat(self.folder, &**name, AtFlags::empty());
        }
    }
}

/// Gives the new file what the old one has beside its bytes.
fn carry_over(node: &Node, file: &File) -> Result<(), Errno> {
    let (old, new) = (&node.stat, rustix::fs::fstat(file)?);
    let owner = (old.st_uid != new.st_uid).then(|| Uid::from_raw(old.st_uid));
    let group = (old.st_gid != new.st_gid).then(|| Gid::from_raw(old.st_gid));
    if owner.is_some() || group.is_some() {
        rustix::fs::fchown(file, owner, group)?;
    }
    carry_over_attributes(node, file)
}

/// Comes last: the mask of an access control list is the group's part of the mode. What is written is no
/// program that runs as the owner or with the group of the file, as after every write but root's.
fn keep_mode(node: &Node, file: &File) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(node.stat.st_mode) - SET_ID)?)
}

fn mode_of(file: &File) -> Result<Mode, Errno> {
    Ok(Mode::from_raw_mode(rustix::fs::fstat(file)?.st_mode))
}

fn carry_over_attributes(node: &Node, file: &File) -> Result<(), Errno> {
    // The node is open for looking at it only, which attribute calls refuse; the kernel's name for
    // the descriptor serves.
    let link = handle_path(&node.handle);
    let old = attribute_names(|buffer| rustix::fs::listxattr(&link, buffer))?;
    let new = attribute_names(|buffer| rustix::fs::flistxattr(file, buffer))?;
    for name in new.iter().filter(|name| !old.contains(name)) {
        // A default list of the directory that the old file does not have.
        rustix::fs::fremovexattr(file, &**name)?;
    }
    for name in &old {
        let value = attribute(|buffer| rustix::fs::getxattr(&link, &**name, buffer))?;
        let there = new.contains(name)
            && attribute(|buffer| rustix::fs::fgetxattr(file, &**name, buffer))? == value;
        if !there {
            rustix::fs::fsetxattr(file, &**name, &value, XattrFlags::empty())?;
        }
    }
    Ok(())
}

/// Returns the attributes to carry over. Capabilities and signatures belong to the old bytes.
fn attribute_names(
    list: impl Fn(&mut [u8]) -> Result<usize, Errno>,
) -> Result<Vec<Vec<u8>>, Errno> {
    let names = match attribute(list) {
        Err(Errno::OPNOTSUPP) => Vec::new(),
        other => other?,
    };
    const OF_THE_BYTES: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];
    let names = names.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty() && !OF_THE_BYTES.contains(name));
    Ok(names.map(<[u8]>::to_vec).collect())
}

/// Reads a list or a value whose length is not known before.
fn attribute(read: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    // The kernel's XATTR_SIZE_MAX and XATTR_LIST_MAX.
    const BYTES_MAX: usize = 65_536;
    let mut buffer = vec![0; 256];
    loop {
        match read(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < BYTES_MAX => buffer.resize(BYTES_MAX, 0),
            Err(errno) => return Err(errno),
        }
    }
}

fn make_folder(path: &str, parent: &OwnedFd, name: &OsStr) -> Result<Arc<OwnedFd>, FileError> {
    let fail = |errno| FileError::from_errno(path, errno);
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => sync_folder(parent),
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(fail(errno)),
    }
    // A link that was put here meanwhile is refused: a directory is asked for and links are not
    // followed.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    Ok(Arc::new(open_beneath(parent, name, flags, Mode::empty()).map_err(fail)?))
}

/// Makes a change of names durable. A directory that may be written but not read cannot be
/// opened for this; the rename stands all the same.
fn sync_folder(folder: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    if let Ok(open) = open_beneath(folder, ".", flags, Mode::empty()) {
        let _ = rustix::fs::fsync(open);
    }
}

fn hash_of(handle: OwnedFd) -> io::Result<ContentHash> {
    let mut file = File::from(handle);
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(ContentHash::of_digest(hasher)),
            length => hasher.update(buffer.get(..length).unwrap_or_default()),
        }
    }
}

/// What stands around the digits of a random name.
const AROUND_DIGITS: (&str, &str) = (".tenon-", ".tmp");

/// Bytes of a random name: two digits each.
const RANDOM_BYTES: usize = 12;

/// Returns a name for new bytes until they have their place, which nobody else uses.
pub(crate) fn random_name() -> Result<OsString, Errno> {
    let mut bytes = [0_u8; RANDOM_BYTES];
    rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty())?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (before, after) = AROUND_DIGITS;
    Ok(OsString::from(format!("{before}{digits}{after}")))
}

/// Whether a name is one that new bytes get until they have their place.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let (before, after) = AROUND_DIGITS;
    let name = name.to_str().and_then(|name| name.strip_prefix(before)?.strip_suffix(after));
    name.is_some_and(|digits| {
        digits.len() == 2 * RANDOM_BYTES && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

fn handle_path(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}
