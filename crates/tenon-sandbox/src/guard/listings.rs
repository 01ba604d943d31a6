//! What of the names in each folder matters, as the last look found it. A folder whose change time is
//! still the same has the same names and is not read again: a fifth of the time, so that a look
//! comes to many more.
//!
//! The kernel sets that time whenever a name in the folder comes, goes or is exchanged, and no program
//! can set it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Builder, ScopedJoinHandle};

use rustix::fs::{AtFlags, FileType};

use super::folder::{Listed, listed, named};
use super::item::leads_into_git;
use super::repository::{is_read_by_git, may_be_of_git};
use crate::file_system::{Stamp, is_recent, keeps_times};
use crate::workspace::{is_above_protected, is_listed, makes_repository, name_of};

/// Names that matter, with their kinds.
pub(super) type Entries = Arc<[(OsString, FileType)]>;

/// How many folders of one depth are looked at by more than one thread, and by how many threads. Most
/// of the time goes into waiting for memory.
const MANY: usize = 500;
const THREADS_MAX: usize = 4;

/// What is kept of places: 50,000 take 3 MB as a rule, and a command can give them names of 4 KiB. More
/// are read each time.
const BYTES_MAX: usize = 64 << 20;

/// Of all folders that a look came to.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    /// By root, then by the place beneath it.
    folders: BTreeMap<PathBuf, HashMap<PathBuf, Listing>>,
    /// What the names of their places take.
    bytes: usize,
    /// The number of this look.
    look: u64,
}

#[derive(Debug)]
struct Listing {
    stamp: Stamp,
    entries: Entries,
    /// The last look that came to it.
    look: AtomicU64,
}

/// The names of one folder.
pub(super) struct Names {
    pub(super) entries: Entries,
    /// Whether the next look need not read them again, if nothing changes.
    pub(super) is_kept: bool,
}

impl Listings {
    /// Returns of each folder the names that matter, `.git` first; none where it changed, or nobody
    /// knows of it.
    pub(super) fn unchanged(
        &self,
        root: &Path,
        top: &OwnedFd,
        places: &[PathBuf],
    ) -> Vec<Option<Entries>> {
        let Some(known) = self.folders.get(root) else { return vec![None; places.len()] };
        let look = |places: &[PathBuf]| -> Vec<Option<Entries>> {
            let of = |place: &PathBuf| {
                let known = known.get(place)?;
                // Where a link stands on the way by now, its own folder has changed.
                let stat = rustix::fs::statat(top, named(place), AtFlags::SYMLINK_NOFOLLOW).ok()?;
                (known.stamp == Stamp::of(&stat)).then(|| {
                    known.look.store(self.look, Ordering::Relaxed);
                    Arc::clone(&known.entries)
                })
            };
            places.iter().map(of).collect()
        };
        // To ask how many there may be takes longer than to look at a few folders.
        let threads = || thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
        let threads = if places.len() < MANY { 1 } else { threads() };
        if threads == 1 {
            return look(places);
        }
        thread::scope(|scope| {
            let look = &look;
            let parts = places.chunks(places.len().div_ceil(threads));
            let begin = |part| (part, Builder::new().spawn_scoped(scope, move || look(part)));
            let running: Vec<_> = parts.map(begin).collect();
            // Jobs may leave no room for another thread.
            let found = |(part, thread): (_, io::Result<ScopedJoinHandle<'_, _>>)| {
                thread.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(|| look(part))
            };
            running.into_iter().flat_map(found).collect()
        })
    }

    /// Reads the names that matter in a folder, `.git` first; none where it cannot be read.
    pub(super) fn read(&mut self, root: &Path, top: &OwnedFd, place: &Path) -> Names {
        let Ok(listed) = listed(top, place) else {
            // Nothing is read there the next time, either.
            return Names { entries: Arc::new([]), is_kept: true };
        };
        let entries = what_matters(root, place, &listed);
        let is_kept = listed.is_whole && listed.folder.fd().is_ok_and(keeps_times);
        // One that changed just now may change again within the same tick of the clock.
        let has_room = self.bytes + place.as_os_str().len() <= BYTES_MAX;
        if is_kept && has_room && !is_recent(&listed.stat) {
            self.bytes += place.as_os_str().len();
            let (stamp, look) = (Stamp::of(&listed.stat), self.look.into());
            let listing = Listing { stamp, entries: Arc::clone(&entries), look };
            let folders = self.folders.entry(root.to_path_buf()).or_default();
            folders.insert(place.to_path_buf(), listing);
        }
        Names { entries, is_kept }
    }

    /// Forgets folders that this look did not come to.
    pub(super) fn end_look(&mut self) {
        let look = self.look;
        let is_seen = |kept: &mut Listing| *kept.look.get_mut() == look;
        self.folders.values_mut().for_each(|folders| folders.retain(|_, kept| is_seen(kept)));
        let places = self.folders.values().flat_map(HashMap::keys);
        self.bytes = places.map(|place| place.as_os_str().len()).sum();
        self.look += 1;
    }
}

/// Leaves out files that nothing takes commands from, links that lead to none, and pipes at which git does not wait.
fn what_matters(root: &Path, place: &Path, listed: &Listed) -> Entries {
    let folder = name_of(root, place);
    let may_be_of_git = may_be_of_git(root) || may_be_of_git(place);
    let matters = |(name, kind): &&(OsString, FileType)| {
        kind.is_dir()
            || name == ".git"
            || makes_repository(name)
            || is_listed(folder, name)
            || kind.is_symlink()
                && (may_be_of_git
                    || is_above_protected(name)
                    || listed.folder.fd().is_ok_and(|folder| leads_into_git(folder, name.as_ref())))
            || kind.is_fifo() && (may_be_of_git || is_read_by_git(name))
    };
    let mut entries: Vec<_> = listed.names.iter().filter(matters).cloned().collect();
    // However many files another name has.
    entries.sort_by_key(|(name, _)| name != ".git");
    entries.into()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests change the folders that are looked at")]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::guard::folder::open_folder_at;

    /// Longer than a change counts as recent.
    const OLD: Duration = Duration::from_millis(3_100);

    fn seen(listings: &mut Listings, root: &Path, place: &str) -> (Vec<String>, Entries) {
        let top = open_folder_at(root).unwrap();
        let places = [PathBuf::from(place)];
        let known = listings.unchanged(root, &top, &places).remove(0);
        let entries = known.unwrap_or_else(|| listings.read(root, &top, &places[0]).entries);
        let text = |(name, _): &(OsString, FileType)| name.to_str().unwrap().to_owned();
        (entries.iter().map(text).collect(), entries)
    }

    #[test]
    fn what_changed_is_read_again_and_what_did_not_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |place: &str| root.join(place);
        for place in ["same/a", "named/a", "old/a", "other/b", "closed/a"] {
            fs::create_dir_all(at(place)).unwrap();
        }
        fs::write(at("same/file"), "").unwrap();
        thread::sleep(OLD);
        let mut listings = Listings::default();
        let places = ["same", "named", "old", "other", "closed", "gone"];
        let before = places.map(|place| seen(&mut listings, &root, place));
        assert_eq!(before.each_ref().map(|(names, _)| names.len()), [1, 1, 1, 1, 1, 0]);
        listings.end_look();
        fs::write(at("named/.envrc"), "").unwrap();
        // The times of the folder that is here now are as old as those of the one before.
        fs::rename(at("old"), at("x")).unwrap();
        fs::rename(at("other"), at("old")).unwrap();
        fs::write(at("same/file"), "other content").unwrap();
        let again = |listings: &mut Listings, place| seen(listings, &root, place);
        let (_, same) = again(&mut listings, "same");
        assert!(Arc::ptr_eq(&same, &before[0].1));
        let (mut named, _) = again(&mut listings, "named");
        named.sort();
        assert_eq!(named, [".envrc", "a"]);
        assert_eq!(again(&mut listings, "old").0, ["b"]);
        listings.end_look();
        // One that was left out of a look is read again.
        assert!(!Arc::ptr_eq(&again(&mut listings, "closed").1, &before[4].1));
    }

    #[test]
    fn what_changed_is_found_among_many() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let top = open_folder_at(&root).unwrap();
        let places: Vec<PathBuf> = (0..MANY * 2).map(|n| n.to_string().into()).collect();
        for place in &places {
            fs::create_dir(root.join(place)).unwrap();
        }
        thread::sleep(OLD);
        let mut listings = Listings::default();
        for place in &places {
            listings.read(&root, &top, place);
        }
        listings.end_look();
        fs::write(root.join("7/.envrc"), "").unwrap();
        fs::remove_dir(root.join("900")).unwrap();
        let found = listings.unchanged(&root, &top, &places);
        let changed = found.iter().enumerate().filter(|(_, known)| known.is_none());
        assert_eq!(changed.map(|(n, _)| n).collect::<Vec<_>>(), [7, 900]);
        // The others count as looked at.
        listings.end_look();
        assert_eq!(listings.folders.get(&root).unwrap().len(), places.len() - 2);
    }

    #[test]
    fn what_finds_no_room_is_read_each_time_and_what_cannot_be_read_counts_as_known() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
        let mut listings = Listings::default();
        let known = |listings: &mut Listings| {
            let first = seen(listings, &root, "src").1;
            Arc::ptr_eq(&first, &seen(listings, &root, "src").1)
        };
        listings.bytes = BYTES_MAX;
        assert!(!known(&mut listings));
        listings.end_look();
        assert!(known(&mut listings));
        let top = open_folder_at(&root).unwrap();
        assert!(listings.read(&root, &top, Path::new("nothing")).is_kept);
    }

    #[test]
    fn what_changed_just_now_is_read_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let mut listings = Listings::default();
        let first = seen(&mut listings, &root, "").1;
        assert!(!Arc::ptr_eq(&first, &seen(&mut listings, &root, "").1));
    }

    #[test]
    fn what_matters_is_kept_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in [".git", "a.txt", ".Envrc", "HEAD", "commondir", "settings.json", "汉字"] {
            fs::write(root.join(name), "").unwrap();
        }
        fs::create_dir(root.join("sub")).unwrap();
        for (name, target) in [("l", "a.txt"), ("m", "x/.git/hooks"), (".claude", "sub")] {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        let (mut names, _) = seen(&mut Listings::default(), &root, "");
        assert_eq!(names.first().unwrap(), ".git");
        names.sort();
        assert_eq!(names, [".Envrc", ".claude", ".git", "HEAD", "commondir", "m", "sub"]);
    }
}
