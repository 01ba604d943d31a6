//! Takes away what a file tool was writing when its agent was killed, where that had a name of its own
//! already: on file systems that know only files with names, and for a moment elsewhere.
//!
//! The log says what the new bytes are called until they have their place. Nobody else gives that name,
//! and the agent has ended: its log is free.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::find::node_at;
use super::node::{Moment, look};
use super::record::{Image, Place};
use super::store::Store;
use crate::linux::openat::open_folder_beneath;
use crate::workspace::is_temporary;

/// Whether something is left over.
pub(super) fn is_some(store: &Store, image: &Image) -> bool {
    !find(store, image).is_empty()
}

/// Removes what is left over; returns when the folders that it was in had changed last.
pub(super) fn remove(store: &Store, image: &Image) -> HashMap<Place, Moment> {
    let mut changed = HashMap::new();
    for (folder, name) in find(store, image) {
        let Ok(handle) = open(store, &folder) else { continue };
        let Ok(Some(now)) = look(&handle, OsStr::new("")) else { continue };
        if rustix::fs::unlinkat(&handle, name, AtFlags::empty()).is_ok() {
            changed.entry(folder).or_insert(now.changed);
        }
    }
    changed
}

/// Finds what is left over: folders and names in them.
fn find<'a>(store: &Store, image: &'a Image) -> Vec<(Place, &'a OsStr)> {
    let mut found = Vec::new();
    for (id, names) in &image.entries {
        let names = names.iter().filter(|(name, before)| before.is_none() && is_temporary(name));
        for (name, _) in names {
            let Some(old) = image.nodes.get(id) else { continue };
            let is_there = || Some(node_at(store, &old.place).ok()??.id == *id);
            let is_file = || {
                let node = node_at(store, &old.place.join(name)).ok()??;
                Some(node.is_file() && node.links == 1)
            };
            if is_there() == Some(true) && is_file() == Some(true) {
                found.push((old.place.clone(), name.as_os_str()));
            }
        }
    }
    found
}

fn open(store: &Store, place: &Place) -> Result<OwnedFd, Errno> {
    open_folder_beneath(&store.root(place.root)?.handle, &place.path)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes its files itself")]

    use std::path::Path;
    use std::time::{Duration, UNIX_EPOCH};

    use crate::journal::store::name_of;
    use crate::journal::{
        Checkpoint, CheckpointId, Conflicts, Journal, JournalOptions, Trouble, Undone,
    };
    use crate::workspace::{Recording, Workspace};

    const NAME: &str = ".tenon-0123456789abcdef01234567.tmp";
    const RUNNING: &str = ".tenon-1123456789abcdef01234567.tmp";
    /// As in history.rs.
    const AFTERMATH: Duration = Duration::from_secs(2);
    /// What no log speaks of.
    const OF_A_PERSON: &str = ".tenon-2123456789abcdef01234567.tmp";

    /// A file tool that has begun to write `text` under another name.
    fn writing(journal: &Journal, folder: &Path, name: &str) -> Checkpoint {
        let checkpoint = journal.begin("session", "call");
        checkpoint.before_temporary(folder, name.as_ref()).unwrap();
        checkpoint.before_replacing(folder, "text".as_ref()).unwrap();
        std::fs::write(folder.join(name), "half").unwrap();
        checkpoint
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// As if what comes now came long after the end of the agent.
    fn changed_long_ago(journal: &Journal, id: CheckpointId, folder: &Path) {
        use std::os::unix::fs::MetadataExt;
        let changed = std::fs::metadata(folder).unwrap().ctime();
        let last = UNIX_EPOCH + Duration::from_secs(changed.unsigned_abs()) - AFTERMATH;
        let log = journal.store.bases[0].path.join(name_of(id));
        std::fs::File::open(log).unwrap().set_modified(last).unwrap();
        while UNIX_EPOCH.elapsed().unwrap().as_secs() <= changed.unsigned_abs() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_a_killed_file_tool_left_beside_its_target_is_removed_and_nothing_else() {
        for is_listed_first in [false, true] {
            let above = tempfile::tempdir().unwrap();
            let folder = above.path().canonicalize().unwrap().join("work");
            std::fs::create_dir(&folder).unwrap();
            let workspace = Workspace::open(&folder).unwrap();
            let options = JournalOptions::new(above.path().join("state"));
            let journal = Journal::open(&workspace, options).unwrap();
            std::fs::write(folder.join("text"), "old").unwrap();
            std::fs::write(folder.join(OF_A_PERSON), "mine").unwrap();
            // Whoever is killed ends nothing.
            drop(writing(&journal, &folder, NAME));
            let running = writing(&journal, &folder, RUNNING);
            assert_eq!(names(&folder), [NAME, RUNNING, OF_A_PERSON, "text"]);
            let killed = journal.checkpoints().unwrap()[0].id;
            changed_long_ago(&journal, killed, &folder);
            if is_listed_first {
                journal.changes(killed).unwrap();
            } else {
                journal.prune().unwrap();
            }
            assert_eq!(names(&folder), [RUNNING, OF_A_PERSON, "text"]);
            let changes = journal.changes(killed).unwrap();
            assert_eq!((changes.files, changes.troubles), (vec![], vec![Trouble::Interrupted]));
            let undone = journal.undo(&[killed], "session", &Conflicts::Refuse);
            assert!(matches!(undone, Ok(Undone::Done { .. })), "{undone:?}");
            drop(running);
            assert_eq!(std::fs::read(folder.join("text")).unwrap(), b"old");
        }
    }
}
