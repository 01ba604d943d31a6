//! A watch on how much less room the file systems have that a command writes to than when it began: for
//! bytes, and for names where a file system has a fixed number of them.
//!
//! The kernel counts no process's share of a file system for us, so what is measured is the room of all:
//! whoever else writes there meanwhile counts as well, and what is told says so. Not counted are copies
//! that this process makes there for undo. A file with holes takes what it has, and what is deleted gives back.
//! Between two looks a command writes what it can; only what it wants to reserve is known before.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, fstat, fstatvfs};
use rustix::io::Errno;
use tokio::time::Instant;

use crate::off_thread::{OffThread, off_thread_if_room};

/// Between two looks, as at memory. Each takes a microsecond for a file system.
const EVERY: Duration = Duration::from_millis(100);

/// A command leaves so much of the room that there was, at most [`RESERVE_BYTES_MAX`]: for the log, the
/// undo store and other programs, also where a disk is nearly full already.
const RESERVE_SHARE: u64 = 20;
const RESERVE_BYTES_MAX: u64 = 1 << 30;

/// The same of names: more than a command makes between two looks.
const RESERVE_NAMES_MAX: u64 = 100_000;

/// With less than this a write of some length finds none.
const ROOM_BYTES_MIN: u64 = 64 << 20;

/// What this process copied for undo to each file system, in bytes.
static COPIED: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

/// Runs a copy for undo to `target`, which counts to no command: from its beginning on, and if it fails not at all.
pub(crate) fn own_copy(
    target: impl AsFd,
    bytes: u64,
    copy: impl FnOnce() -> Result<(), Errno>,
) -> Result<(), Errno> {
    let device = fstat(target)?.st_dev;
    let count = |change: fn(u64, u64) -> u64| {
        let mut copied = COPIED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = copied.entry(device).or_default();
        *known = change(*known, bytes);
    };
    count(u64::saturating_add);
    copy().inspect_err(|_| count(u64::saturating_sub))
}

fn copied_bytes(device: u64) -> u64 {
    let copied = COPIED.lock().unwrap_or_else(PoisonError::into_inner);
    copied.get(&device).copied().unwrap_or_default()
}

/// Where a command may write to the machine's file systems, and how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoomLimit {
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) bytes_max: u64,
}

/// A file system has less room than it may by what a command was to leave.
///
/// ```
/// # use tenon_sandbox::{RoomBound, RoomTaken, RoomTakenHow};
/// let taken = RoomTaken {
///     folder: "/work".into(),
///     taken_bytes: 40 << 30,
///     left_bytes: 8 << 30,
///     bound: RoomBound::Limit { bytes: 32 << 30 },
///     how: RoomTakenHow::Ended,
/// };
/// assert!(taken.to_string().starts_with("ended: the file system of /work has 40.0 GiB less room"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomTaken {
    /// A folder on it that the command may write.
    pub folder: PathBuf,
    /// How much less there is than when the command began, whoever took it.
    pub taken_bytes: u64,
    /// What is left.
    pub left_bytes: u64,
    /// What it is over.
    pub bound: RoomBound,
    /// What became of the command.
    pub how: RoomTakenHow,
}

/// What bounds the room that is taken while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomBound {
    /// [`crate::Limits::disk_bytes_max`].
    Limit {
        /// What it is.
        bytes: u64,
    },
    /// What stays free on every file system, whatever the limit is.
    Reserve {
        /// How much that is there.
        bytes: u64,
    },
    /// The same of files, folders and links, however small, where a file system has a fixed number of them.
    Names {
        /// How many fewer there can be than when the command began, whoever made them.
        taken: u64,
        /// How many there still can be.
        left: u64,
        /// How many of these stay.
        reserve: u64,
    },
}

/// What became of a command over its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomTakenHow {
    /// It was ended.
    Ended,
    /// It was refused to reserve room for a file, with which it would be over the bound.
    Refused {
        /// What it asked for.
        bytes: u64,
    },
    /// It had ended by itself before that was seen.
    SeenAfter,
}

impl fmt::Display for RoomTaken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (begin, has) = match self.how {
            RoomTakenHow::Ended => ("ended: ".to_owned(), "has"),
            RoomTakenHow::Refused { bytes } => {
                (format!("refused to reserve {} for a file: with it ", Size(bytes)), "would have")
            }
            RoomTakenHow::SeenAfter => ("over its limit: ".to_owned(), "has"),
        };
        let Self { folder, taken_bytes, left_bytes, bound, .. } = self;
        let (folder, taken, left) = (folder.display(), Size(*taken_bytes), Size(*left_bytes));
        let file_system = format!("{begin}the file system of {folder} {has}");
        let since = "than when this command began, whoever took it";
        match bound {
            RoomBound::Limit { bytes } => {
                let limit = Size(*bytes);
                write!(
                    formatter,
                    "{file_system} {taken} less room {since}, and {left} left; \
                     the limit of {limit} is raised by disk_bytes_max in config.toml (the user's, or the project's that lowers it)"
                )
            }
            RoomBound::Reserve { bytes } => {
                let reserve = Size(*bytes);
                write!(
                    formatter,
                    "{file_system} {taken} less room {since}, and {left} left; \
                     {reserve} must stay free, whatever the limit is"
                )
            }
            RoomBound::Names { taken, left, reserve } => write!(
                formatter,
                "{file_system} room for {taken} files less {since}, and for {left} left; \
                 room for {reserve} must stay free"
            ),
        }
    }
}

/// A number of bytes for people.
///
/// ```
/// assert_eq!(tenon_sandbox::Size(3 << 29).to_string(), "1.5 GiB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        let (unit, name) = match bytes {
            0..0x10_0000 => (1_u64 << 10, "KiB"),
            0x10_0000..0x4000_0000 => (1 << 20, "MiB"),
            _ => (1 << 30, "GiB"),
        };
        let tenths = bytes.saturating_mul(10) / unit;
        write!(formatter, "{}.{} {name}", tenths / 10, tenths % 10)
    }
}

/// Whether the file system of a folder has room, as far as that can be seen: bytes and names.
///
/// ```
/// assert!(!tenon_sandbox::has_room("/nobody/has/this".as_ref()));
/// ```
#[must_use]
pub fn has_room(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|found| {
        // Some file systems count no names.
        found.f_bavail.saturating_mul(found.f_frsize) >= ROOM_BYTES_MIN
            && (found.f_files == 0 || found.f_favail > 0)
    })
}

/// Knows how much room there was.
#[derive(Debug)]
pub(crate) struct Room {
    file_systems: Vec<FileSystem>,
    bytes_max: u64,
    refused: Mutex<Option<RoomTaken>>,
}

#[derive(Debug)]
struct FileSystem {
    folder: PathBuf,
    /// Opened before the command could put something else there.
    handle: OwnedFd,
    device: u64,
    before: Free,
    copied_before: u64,
}

/// What an ordinary user may still take of a file system.
#[derive(Debug, Clone, Copy)]
struct Free {
    bytes: u64,
    /// None where a file system has no fixed number of them.
    names: Option<u64>,
}

impl Room {
    /// Looks how much there is.
    fn new(limit: &RoomLimit) -> Self {
        let mut file_systems: Vec<FileSystem> = Vec::new();
        for found in limit.folders.iter().filter_map(FileSystem::of) {
            if !file_systems.iter().any(|known| known.device == found.device) {
                file_systems.push(found);
            }
        }
        Self { file_systems, bytes_max: limit.bytes_max, refused: Mutex::default() }
    }

    /// Returns what is over the bound.
    fn taken(&self) -> Option<RoomTaken> {
        let mut over = self.file_systems.iter().filter_map(|known| self.over(known, 0));
        over.next()
    }

    /// Whether a command may reserve so much for a file. What it was refused is told of it at its end.
    pub(crate) fn allows(&self, file: impl AsFd, bytes: u64) -> bool {
        let Ok(found) = fstat(file) else { return true };
        let known = self.file_systems.iter().find(|known| known.device == found.st_dev);
        let Some(over) = known.and_then(|known| self.over(known, bytes)) else { return true };
        let over = RoomTaken { how: RoomTakenHow::Refused { bytes }, ..over };
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(over);
        false
    }

    fn over(&self, known: &FileSystem, more: u64) -> Option<RoomTaken> {
        let copied = copied_bytes(known.device).saturating_sub(known.copied_before);
        let (before, left) = (known.before, Free::of(&known.handle).ok()?);
        let taken = before.bytes.saturating_sub(left.bytes).saturating_sub(copied);
        let taken = taken.saturating_add(more);
        let reserve = (before.bytes / RESERVE_SHARE).min(RESERVE_BYTES_MAX);
        let most = before.bytes - reserve;
        let (allowed, bound) = match self.bytes_max {
            bytes if bytes <= most => (bytes, RoomBound::Limit { bytes }),
            _ => (most, RoomBound::Reserve { bytes: reserve }),
        };
        let bound = (taken > allowed).then_some(bound).or_else(|| names_over(before, left))?;
        Some(RoomTaken {
            folder: known.folder.clone(),
            taken_bytes: taken,
            left_bytes: left.bytes.saturating_sub(more),
            bound,
            how: RoomTakenHow::Ended,
        })
    }
}

impl FileSystem {
    fn of(folder: &PathBuf) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(folder, flags, Mode::empty()).ok()?;
        let (device, before) = (fstat(&handle).ok()?.st_dev, Free::of(&handle).ok()?);
        let copied_before = copied_bytes(device);
        Some(Self { folder: folder.clone(), handle, device, before, copied_before })
    }
}

impl Free {
    fn of(handle: &OwnedFd) -> Result<Self, Errno> {
        let found = fstatvfs(handle)?;
        let bytes = found.f_bavail.saturating_mul(found.f_frsize);
        Ok(Self { bytes, names: (found.f_files > 0).then_some(found.f_favail) })
    }
}

/// Returns the bound of names if fewer are left than must be.
fn names_over(before: Free, left: Free) -> Option<RoomBound> {
    let (before, left) = (before.names?, left.names?);
    let reserve = (before / RESERVE_SHARE).min(RESERVE_NAMES_MAX);
    let taken = before.saturating_sub(left);
    (left < reserve).then_some(RoomBound::Names { taken, left, reserve })
}

/// Looks from time to time at the room of one command's file systems.
pub(crate) struct RoomWatch {
    /// None where there is nothing to be looked at.
    room: Option<Arc<Room>>,
    next: Instant,
    /// A look may wait for a server, while what the user wants must not.
    look: Option<OffThread<Option<RoomTaken>>>,
}

impl RoomWatch {
    /// Takes in how much room there is now.
    pub(crate) fn new(limit: Option<&RoomLimit>) -> Self {
        let room = limit.map(Room::new).filter(|room| !room.file_systems.is_empty());
        Self { room: room.map(Arc::new), next: Instant::now() + EVERY, look: None }
    }

    pub(crate) fn room(&self) -> Option<Arc<Room>> {
        self.room.clone()
    }

    /// Waits until more is taken than may be. Can be dropped and called again.
    pub(crate) async fn exceeded(&mut self) -> RoomTaken {
        let Some(room) = &self.room else { return std::future::pending().await };
        loop {
            if let Some(look) = &mut self.look {
                let found = look.await;
                self.look = None;
                self.next = Instant::now() + EVERY;
                if let Ok(Some(taken)) = found {
                    return taken;
                }
            }
            tokio::time::sleep_until(self.next).await;
            let room = Arc::clone(room);
            self.look = off_thread_if_room(move || room.taken());
            // Without room for a thread later.
            self.next = Instant::now() + EVERY;
        }
    }

    /// Returns what there is to tell of a command that ended by itself: what it was refused, or that it
    /// took more before anybody looked.
    pub(crate) fn at_end(&self) -> Option<RoomTaken> {
        let room = self.room.as_ref()?;
        let refused = room.refused.lock().unwrap_or_else(PoisonError::into_inner).take();
        let taken =
            || room.taken().map(|taken| RoomTaken { how: RoomTakenHow::SeenAfter, ..taken });
        refused.or_else(taken)
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::MemfdFlags;

    use super::*;

    /// As if there had been so much more where temporary files are.
    fn room(more: u64, bytes_max: u64) -> Room {
        let mut known = FileSystem::of(&std::env::temp_dir()).unwrap();
        known.before.bytes = known.before.bytes.saturating_add(more);
        Room { file_systems: vec![known], bytes_max, refused: Mutex::default() }
    }

    #[test]
    fn what_was_taken_is_over_the_limit_or_under_it() {
        assert_eq!(room(0, u64::MAX).taken(), None);
        let room = room(1 << 40, 1 << 39);
        let taken = room.taken().unwrap();
        assert_eq!(taken.bound, RoomBound::Limit { bytes: 1 << 39 });
        assert!(taken.taken_bytes > 1 << 39, "{taken:?}");
        // A copy for undo on another file system leaves no more of this one.
        let elsewhere = rustix::fs::memfd_create("elsewhere", MemfdFlags::CLOEXEC).unwrap();
        own_copy(elsewhere, 1 << 40, || Ok(())).unwrap();
        assert!(room.taken().is_some());
        let here = tempfile::tempfile().unwrap();
        own_copy(here, 1 << 40, || Ok(())).unwrap();
        assert_eq!(room.taken(), None);
    }

    #[test]
    fn names_are_bounded_where_they_are_counted() {
        let free = |names| Free { bytes: 0, names };
        let names = |before, left| names_over(free(before), free(left));
        assert_eq!(names(Some(2_000), Some(100)), None);
        let bound = RoomBound::Names { taken: 1_901, left: 99, reserve: 100 };
        assert_eq!(names(Some(2_000), Some(99)), Some(bound));
        assert_eq!(names(Some(1 << 40), Some(100_000)), None);
        assert!(names(Some(1 << 40), Some(99_999)).is_some());
        assert_eq!(names(None, None), None);
    }

    #[test]
    fn sizes_are_told_in_tenths() {
        let check = |bytes: u64, expected: &str| assert_eq!(Size(bytes).to_string(), expected);
        check(0, "0.0 KiB");
        check(1 << 20, "1.0 MiB");
        check((1 << 30) - 1, "1023.9 MiB");
        check(3 << 29, "1.5 GiB");
        check(32 << 30, "32.0 GiB");
    }
}
