//! What guards of other sessions go by, where their commands run in the same folders.
//!
//! What a guard finds before a command it takes for the state that is to be kept. While a command of
//! another session runs, that may be what this command just wrote; how it was before, the guard of that
//! session knows. So each says what it goes by in a file of its own in tenon's state folder, where no
//! command can write. Whoever looks or puts back holds the folder: they take turns, else what one is
//! about to take away another would take for what was there.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock};
use rustix::io::{Errno, retry_on_intr};

use super::item::{Item, read_whole};
use super::note::{FOLDER, open_private, unique};
use super::place::Place;
use crate::file_system::{Identity, identity_of_folder};
use crate::linux::openat::write_all;
use crate::linux::wire::{Readable, Reader, Sendable, Writer};

/// Beside the notes: has a file for each session. Its name ends with the number of its form.
const RUNNING: &str = "running";
const FORM: &str = ".3";

/// The most that is said of what is in files, in bytes: of the rest, that it is there.
const CONTENT_BYTES_MAX: usize = 32 << 20;
const BYTES_MAX: u64 = 64 << 20;

/// How long somebody else's turn is waited for, and how often it is tried. A look takes a tenth of a
/// second at most; a program that was stopped in the middle of one must not stop all others.
const TURN_MAX: Duration = Duration::from_secs(5);
const TURN_EVERY: Duration = Duration::from_millis(1);

/// This guard's file among those of others.
pub(super) struct Seat {
    folder: OwnedFd,
    name: String,
    /// Shared as long as this program lives, exclusive while commands run, as others find by trying.
    file: OwnedFd,
    /// What stands in it.
    said: Vec<u8>,
}

/// Nobody else looks or puts back as long as this is there.
pub(super) struct Turn(Dir);

impl Seat {
    /// Makes the file beneath tenon's folder `state`.
    pub(super) fn new(state: &Path) -> Result<Self, Errno> {
        let notes = state.join(FOLDER);
        let path = notes.join(RUNNING);
        // What the walls are tried with comes before the first session.
        make_all(&path)?;
        open_private(&notes)?;
        let folder = open_private(&path)?;
        // Whoever finds a file that nobody locks takes it away.
        let _turn = turn(&folder)?;
        let name = format!("{}{FORM}", unique());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR)?;
        flock(&file, FlockOperation::NonBlockingLockShared)?;
        Ok(Self { folder, name, file, said: Vec::new() })
    }

    /// Waits until nobody else looks or puts back.
    pub(super) fn turn(&self) -> Result<Turn, Errno> {
        turn(&self.folder)
    }

    /// Returns what others go by whose commands run.
    pub(super) fn others(&self, turn: &mut Turn) -> Result<Others, Errno> {
        let mut names: Vec<CString> = Vec::new();
        while let Some(entry) = turn.0.read() {
            names.push(entry?.file_name().to_owned());
        }
        let is_other = |name: &&CString| {
            let bytes = name.as_bytes();
            bytes.ends_with(FORM.as_bytes()) && bytes != self.name.as_bytes()
        };
        let mut all = Vec::new();
        for name in names.iter().filter(is_other) {
            all.extend(self.other(name)?);
        }
        Ok(Others(all))
    }

    fn other(&self, name: &CString) -> Result<Option<Said>, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.folder, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // Its program is no more.
            let _ = rustix::fs::unlinkat(&self.folder, name, AtFlags::empty());
            return Ok(None);
        }
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            // Closing would do it as well, were there no copy of the descriptor in a child.
            flock(&file, FlockOperation::Unlock)?;
            return Ok(None);
        }
        let bytes = read_whole(&file, BYTES_MAX)?;
        let said = bytes.get(4..).and_then(Said::from_bytes);
        said.ok_or(Errno::BADMSG).map(Some)
    }

    /// Says what this guard goes by while its commands run.
    pub(super) fn say(&mut self, _turn: &Turn, saying: &Saying<'_>) -> Result<(), Errno> {
        let bytes = saying.to_bytes().ok_or(Errno::FBIG)?;
        if bytes != self.said {
            self.said.clear();
            rustix::fs::ftruncate(&self.file, 0)?;
            rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Start(0))?;
            write_all(&self.file, &bytes)?;
            self.said = bytes;
        }
        retry_on_intr(|| flock(&self.file, FlockOperation::LockExclusive))
    }

    /// Takes in that nothing runs any more.
    pub(super) fn rest(&self, _turn: &Turn) {
        // One that stays locked says what was so.
        let _ = retry_on_intr(|| flock(&self.file, FlockOperation::LockShared));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

/// Makes a folder and those above it for this user alone.
fn make_all(folder: &Path) -> Result<(), Errno> {
    let make = || match rustix::fs::mkdir(folder, Mode::RWXU) {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    };
    match (make(), folder.parent()) {
        (Err(Errno::NOENT), Some(above)) => make_all(above).and_then(|()| make()),
        (made, _) => made,
    }
}

fn turn(folder: &OwnedFd) -> Result<Turn, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Opened anew: a lock belongs to what was opened, and goes with it.
    let folder = rustix::fs::openat(folder, ".", flags, Mode::empty())?;
    let until = Instant::now() + TURN_MAX;
    loop {
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(TURN_EVERY),
            Err(Errno::WOULDBLOCK) => return Err(Errno::BUSY),
            Err(Errno::INTR) => {}
            taken => return taken.and_then(|()| Dir::new(folder).map(Turn)),
        }
    }
}

/// What a guard says.
pub(super) struct Saying<'a> {
    pub(super) roots: &'a [PathBuf],
    /// How many levels of folders beneath the roots it looked through to their end.
    pub(super) levels: usize,
    /// What is read-only for its commands: there it knows nothing better.
    pub(super) frozen: &'a [(PathBuf, Identity)],
    /// Places that count by where they are, also where nothing is.
    pub(super) own: Vec<PathBuf>,
    pub(super) included: Vec<PathBuf>,
    pub(super) items: &'a BTreeMap<Place, Item>,
}

/// The same, as another guard reads it.
struct Said {
    roots: Vec<PathBuf>,
    levels: u64,
    frozen: Vec<(PathBuf, Identity)>,
    own: Vec<PathBuf>,
    included: Vec<PathBuf>,
    items: BTreeMap<PathBuf, (Place, Item)>,
}

/// What guards go by whose commands run.
#[derive(Default)]
pub(super) struct Others(Vec<Said>);

impl Others {
    /// Returns what was at a place before commands that run, or that nothing was; `None` if nobody
    /// knows better than whoever looks.
    pub(super) fn before(&self, place: &Place) -> Option<Option<&Item>> {
        let path = place.path();
        self.0.iter().find_map(|said| said.before(place, &path))
    }

    /// Whether no commands of others run.
    pub(super) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether commands of others run in one of these folders, above or beneath it.
    pub(super) fn are_in(&self, roots: &[PathBuf]) -> bool {
        let meets =
            |root: &PathBuf| roots.iter().any(|own| own.starts_with(root) || root.starts_with(own));
        self.0.iter().any(|said| said.roots.iter().any(meets))
    }

    /// Makes of what was found beneath these roots what was there before.
    pub(super) fn correct(&self, found: &mut BTreeMap<Place, Item>, roots: &[PathBuf]) {
        found.retain(|place, item| match self.before(place) {
            None => true,
            Some(None) => false,
            Some(Some(before)) => {
                item.clone_from(before);
                true
            }
        });
        for (place, _) in self.0.iter().flat_map(|said| said.items.values()) {
            for place in roots.iter().filter_map(|root| place.seen_from(root)) {
                if let Some(Some(before)) = self.before(&place) {
                    found.entry(place).or_insert_with(|| before.clone());
                }
            }
        }
    }
}

impl Said {
    fn before(&self, place: &Place, path: &Path) -> Option<Option<&Item>> {
        let is_there = |(frozen, identity): &(PathBuf, Identity)| {
            path.starts_with(frozen) && identity_of_folder(frozen) == Some(*identity)
        };
        if self.frozen.iter().any(is_there) {
            return None;
        }
        match self.items.get(path) {
            Some((known, item)) => {
                let is_named = self.included.iter().any(|included| included == path);
                Some(known.counts_as(place, is_named).then_some(item))
            }
            None => self.has_looked_at(place, path).then_some(None),
        }
    }

    /// Whether it would know of something that was there.
    fn has_looked_at(&self, place: &Place, path: &Path) -> bool {
        if place.is_own() {
            return self.own.iter().any(|own| path.starts_with(own));
        }
        if place.is_included() {
            return self.included.iter().any(|included| included == path);
        }
        // Where the root is a repository's own directory, what is in it belongs to no other folder.
        let folder = place.owner().map(|(folder, _)| folder).unwrap_or_default();
        let folder = place.root().join(folder);
        self.roots.iter().any(|root| match folder.strip_prefix(root) {
            Ok(beneath) => (beneath.iter().count() as u64) < self.levels,
            // It is this guard's root that is one.
            Err(_) => path.starts_with(root) && place.is_in_repository(),
        })
    }
}

impl Sendable for Saying<'_> {
    fn write(&self, writer: &mut Writer) {
        writer.list(self.roots);
        writer.number(self.levels as u64);
        writer.each(self.frozen, |writer, (path, (device, inode))| {
            writer.field(path.as_os_str());
            writer.number(*device);
            writer.number(*inode);
        });
        writer.list(&self.own);
        writer.list(&self.included);
        writer.count(self.items.len());
        let mut left = CONTENT_BYTES_MAX;
        for (place, item) in self.items {
            place.write(writer);
            match left.checked_sub(item.bytes().map_or(0, <[u8]>::len)) {
                Some(rest) => {
                    left = rest;
                    item.write(writer);
                }
                None => item.without_content().write(writer),
            }
        }
    }
}

impl Readable for Said {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (roots, levels) = (reader.paths()?, reader.number()?);
        let frozen =
            |reader: &mut Reader<'_>| Some((reader.path()?, (reader.number()?, reader.number()?)));
        let frozen = reader.each(frozen)?;
        let (own, included) = (reader.paths()?, reader.paths()?);
        let item = |reader: &mut Reader<'_>| Some((Place::read(reader)?, Item::read(reader)?));
        let items = reader.each(item)?;
        let items = items.into_iter().map(|(place, item)| (place.path(), (place, item)));
        Some(Self { roots, levels, frozen, own, included, items: items.collect() })
    }
}

#[cfg(test)]
mod tests;
