//! What own settings were before the commands that run now, kept on disk, so that whoever starts after
//! a kill (-9) puts them back.
//!
//! One file for each guard, written before the first command begins and taken away when the last one
//! was looked after. It is locked as long as its program lives: one that nobody locks was left behind.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, fstat};
use rustix::io::Errno;

use super::item::{Item, read_whole};
use super::own::Own;
use super::place::Place;
use crate::file_system::Identity;
use crate::linux::openat::write_all;
use crate::linux::wire::{Readable, Reader, Sendable, Writer};

/// In tenon's state folder.
pub(crate) const FOLDER: &str = "own";

/// Begins the name of a note, and of one that is being written.
const WHOLE: &str = "note-";
const HALF: &str = "new-";

/// The longest that counts: what the guard keeps, and its names.
const BYTES_MAX: u64 = 128 << 20;

/// Whoever has looked for notes to take away keeps them for a moment only.
const TRIES_MAX: usize = 100;

/// What a guard needs to look after own settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Noted {
    pub(super) roots: Vec<PathBuf>,
    pub(super) named: Vec<PathBuf>,
    /// Where they led, and links on the way.
    pub(super) led_to: Vec<PathBuf>,
    pub(super) items: Vec<(PathBuf, Item)>,
    pub(super) frozen: Vec<(PathBuf, Identity)>,
    pub(super) ways: Vec<PathBuf>,
}

/// A note on disk that is this program's own.
pub(super) struct Note {
    path: PathBuf,
    bytes: Vec<u8>,
    _lock: OwnedFd,
}

impl Note {
    /// Writes what is noted beneath tenon's folder `state`, unless it stands there already.
    pub(super) fn write(state: &Path, noted: &Noted, old: Option<Self>) -> Result<Self, Errno> {
        let bytes = noted.to_bytes().ok_or(Errno::FBIG)?;
        if let Some(old) = old {
            if old.bytes == bytes {
                return Ok(old);
            }
            let new = Self::write_new(state, bytes);
            old.remove();
            return new;
        }
        Self::write_new(state, bytes)
    }

    fn write_new(state: &Path, bytes: Vec<u8>) -> Result<Self, Errno> {
        let (path, _lock) = write_locked(state, WHOLE, &bytes)?;
        Ok(Self { path, bytes, _lock })
    }

    /// Takes it away: nothing runs that it is for.
    pub(super) fn remove(self) {
        // One that stays says what is so.
        let _ = rustix::fs::unlink(&self.path);
    }
}

/// The notes that were left behind. Nobody else takes them while this is held.
pub(super) struct Notes {
    folder: OwnedFd,
    names: Vec<Vec<u8>>,
}

impl Notes {
    /// Looks for notes beneath tenon's folder `state`; nearly always there are none.
    pub(super) fn left_in(state: &Path) -> Option<Self> {
        let folder = open_private(&state.join(FOLDER)).ok()?;
        if names(&folder)?.is_empty() {
            return None;
        }
        let lock = || rustix::fs::flock(&folder, FlockOperation::LockExclusive);
        rustix::io::retry_on_intr(lock).ok()?;
        let names = names(&folder)?;
        Some(Self { folder, names })
    }

    /// Shows `each` note of a program that is no more, and takes it away.
    pub(super) fn take(self, mut each: impl FnMut(Noted)) {
        for name in &self.names {
            let name = OsStr::from_bytes(name);
            let Some(file) = open_left(&self.folder, name) else { continue };
            let is_whole = name.as_bytes().starts_with(WHOLE.as_bytes());
            let noted = is_whole.then(|| read::<Noted>(&file)).flatten();
            noted.into_iter().for_each(&mut each);
            let _ = rustix::fs::unlinkat(&self.folder, name, AtFlags::empty());
        }
    }
}

/// Writes a file beneath tenon's folder `state` whose name begins with `kind`, and locks it.
pub(crate) fn write_locked(
    state: &Path,
    kind: &str,
    bytes: &[u8],
) -> Result<(PathBuf, OwnedFd), Errno> {
    let folder = state.join(FOLDER);
    match rustix::fs::mkdir(&folder, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let handle = open_private(&folder)?;
    for _ in 0..TRIES_MAX {
        let number = unique();
        let [half, whole] = [HALF, kind].map(|kind| format!("{kind}{number}"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&handle, &half, flags, Mode::RUSR | Mode::WUSR)?;
        let written = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .and_then(|()| write_all(&file, bytes))
            // Under its name it is whole.
            .and_then(|()| rustix::fs::renameat(&handle, &half, &handle, &whole));
        match written {
            Ok(()) => return Ok((folder.join(whole), file)),
            // Before it was locked, somebody who starts took it away.
            Err(Errno::WOULDBLOCK | Errno::NOENT) => {}
            Err(errno) => {
                let _ = rustix::fs::unlinkat(&handle, &half, AtFlags::empty());
                return Err(errno);
            }
        }
    }
    Err(Errno::BUSY)
}

/// Opens and locks a file that [`write_locked`] wrote, if nobody holds it.
pub(crate) fn open_left(folder: &OwnedFd, name: &OsStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// Opens the folder of notes, if nobody else can have written there.
pub(crate) fn open_private(folder: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
    if is_private(&handle) { Ok(handle) } else { Err(Errno::PERM) }
}

fn is_private(handle: &OwnedFd) -> bool {
    fstat(handle).is_ok_and(|stat| {
        let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
        is_own && stat.st_mode & 0o022 == 0
    })
}

fn names(folder: &OwnedFd) -> Option<Vec<Vec<u8>>> {
    let entries = rustix::fs::Dir::read_from(folder).ok()?;
    let names = entries.flatten().map(|entry| entry.file_name().to_bytes().to_vec());
    let is_note = |name: &[u8]| [WHOLE, HALF].iter().any(|kind| name.starts_with(kind.as_bytes()));
    Some(names.filter(|name| is_note(name)).collect())
}

/// Reads what [`write_locked`] wrote, if nobody else can have written it.
pub(crate) fn read<T: Readable>(file: &OwnedFd) -> Option<T> {
    let stat = fstat(file).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode).is_file() && stat.st_nlink == 1;
    if !is_file || !is_private(file) {
        return None;
    }
    let bytes = read_whole(file, BYTES_MAX).ok()?;
    let (length, message) = bytes.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?);
    let is_whole = usize::try_from(length) == Ok(message.len());
    is_whole.then(|| T::from_bytes(message)).flatten()
}

/// Returns a name that nobody else takes: the same number of a process can be in use elsewhere.
pub(super) fn unique() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let process = rustix::process::getpid().as_raw_nonzero();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{process}-{next}", now.as_micros())
}

impl Noted {
    /// Returns what must be known of `own`; nothing where no command can change it, or where there is
    /// more than a look goes through: then what is found later need not be new.
    pub(super) fn of<'a>(
        roots: &[PathBuf],
        own: &Own,
        items: impl Iterator<Item = (&'a Place, &'a Item)>,
        frozen: &[(PathBuf, Identity)],
    ) -> Option<Self> {
        let led_to: Vec<PathBuf> = own.led_to().iter().map(Place::path).collect();
        let items = items.filter(|(place, _)| place.is_own());
        (!led_to.is_empty() && !own.has_more()).then(|| Self {
            roots: roots.to_vec(),
            named: own.named().to_vec(),
            led_to,
            items: items.map(|(place, item)| (place.path(), item.clone())).collect(),
            frozen: frozen.to_vec(),
            ways: own.ways().to_vec(),
        })
    }
}

impl Sendable for Noted {
    fn write(&self, writer: &mut Writer) {
        writer.list(&self.roots);
        writer.list(&self.named);
        writer.list(&self.led_to);
        writer.each(&self.items, |writer, (path, item)| {
            writer.field(path.as_os_str());
            item.write(writer);
        });
        writer.each(&self.frozen, |writer, (path, (device, inode))| {
            writer.field(path.as_os_str());
            writer.number(*device);
            writer.number(*inode);
        });
        writer.list(&self.ways);
    }
}

impl Readable for Noted {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            roots: reader.paths()?,
            named: reader.paths()?,
            led_to: reader.paths()?,
            items: reader.each(|reader| Some((reader.path()?, Item::read(reader)?)))?,
            frozen: reader
                .each(|reader| Some((reader.path()?, (reader.number()?, reader.number()?))))?,
            ways: reader.paths()?,
        })
    }
}
