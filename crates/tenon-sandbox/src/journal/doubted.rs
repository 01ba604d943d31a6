//! What an undo would bring to names that programs take commands from, though no look has judged it: what another
//! command wrote there, or where the name was a harmless one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::conflicts::{ConflictReason, Found};
use super::content::{open_place, read_bytes};
use super::find::node_at;
use super::record::{Image, Place};
use super::since::times_since;
use super::store::Store;
use super::walk::{Deeper, walk};
use super::{CheckpointId, Journal, JournalError};
use crate::git_config;
use crate::workspace::{is_protected_name, makes_repository};

/// The longest settings of git that are read, in bytes.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;

impl Journal {
    /// Adds to the conflicts what would come back, or along, of what nobody judged.
    pub(super) fn find_doubted(
        &self,
        id: CheckpointId,
        image: &Image,
        found: &mut Found,
    ) -> Result<(), JournalError> {
        let mut doubted: Vec<Place> = image
            .nodes
            .values()
            .filter(|old| old.is_doubted)
            .map(|old| old.place.clone())
            .collect();
        doubted.extend(self.along(id, image)?);
        doubted.extend(repositories(&self.store, image));
        for place in doubted {
            found.entry(place).or_insert(ConflictReason::Protected.into());
        }
        Ok(())
    }

    /// Returns what somebody put into a folder that the call had moved, under a name that is a protected one only
    /// where the folder comes from.
    fn along(&self, id: CheckpointId, image: &Image) -> Result<Vec<Place>, JournalError> {
        let mut along = Vec::new();
        let over = self.over(id, image)?;
        for (id, at) in image.end.iter().flat_map(|end| &end.left_at) {
            let old = image.nodes.get(id).filter(|old| old.node.is_folder() && old.place != *at);
            let Some(old) = old.filter(|old| !old.place.is_in_store()) else { continue };
            // What cannot be looked into has no names that anybody uses.
            let _ = walk(&self.store, at, &mut |place, node| {
                let came = over.is_none_or(|over| !times_since(node, over).is_empty());
                let rest = place.path.strip_prefix(&at.path).unwrap_or(&place.path);
                let is_new = || {
                    is_protected(&self.store, &old.place.join(rest.as_os_str()))
                        && !is_protected(&self.store, place)
                };
                if !node.is_folder() && came && is_new() {
                    along.push(place.clone());
                }
                Deeper::Yes
            });
        }
        Ok(along)
    }
}

fn is_protected(store: &Store, place: &Place) -> bool {
    let root = store.roots.get(place.root);
    root.is_some_and(|root| is_protected_name(&root.path, &place.path))
}

/// Returns the names by which a folder becomes a repository again that has settings by now which run programs: while it
/// was none, nobody looked at them.
fn repositories(store: &Store, image: &Image) -> Vec<Place> {
    let mut found = Vec::new();
    for (folder, names) in &image.entries {
        let Some(old) = image.nodes.get(folder) else { continue };
        if old.place.path.iter().any(|name| name == ".git") {
            continue;
        }
        let back = names.iter().filter(|(name, before)| before.is_some() && makes_repository(name));
        let back = back.map(|(name, _)| old.place.join(name));
        let mut gone = back.filter(|place| node_at(store, place).ok().flatten().is_none());
        if let Some(place) = gone.next()
            && runs_programs(store, &old.place)
        {
            found.push(place);
        }
    }
    found
}

/// Whether git would run something by what is in its folder.
fn runs_programs(store: &Store, folder: &Place) -> bool {
    let config = open_place(store, &folder.join(OsStr::new("config")));
    let config = config.and_then(|file| read_bytes(file, SETTINGS_BYTES_MAX));
    let does_set = config.is_ok_and(|bytes| {
        git_config::put_back(None, &bytes, |_, _| false).is_none_or(|(_, names)| !names.is_empty())
    });
    let mut has_hook = false;
    let _ = walk(store, &folder.join(OsStr::new("hooks")), &mut |place, _| {
        has_hook |= !place.path.as_os_str().as_bytes().ends_with(b".sample");
        Deeper::No
    });
    does_set
        || has_hook
        || node_at(store, &folder.join(OsStr::new("commondir"))).is_ok_and(|it| it.is_some())
}
