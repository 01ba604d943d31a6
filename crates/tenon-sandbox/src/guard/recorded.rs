//! What the journal says of commands, where there are more folders than a look goes through: what
//! they touched is looked at one by one, and how it was is asked there.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use super::folder::{look_at, open_folder_at};
use super::item::{Content, FILE_BYTES_MAX, Item};
use super::place::Place;
use super::scan::{BYTES_MAX, Limits, Scan};
use super::touched::{Role, has_others};
use crate::journal::{Checkpoint, Kept, ReadLimits, Touched};
use crate::workspace::above_listed;

/// What was touched.
#[derive(Default)]
pub(super) struct Recorded {
    pub(super) before: Vec<(Place, Item)>,
    pub(super) after: BTreeMap<Place, Item>,
    /// Whether there may be more.
    pub(super) has_gaps: bool,
}

/// Looks at what these commands touched. What is as in `known` is not read again.
pub(super) fn recorded(checkpoints: &[Checkpoint], known: &BTreeMap<Place, Item>) -> Recorded {
    let mut scan = Scan::new(known, Limits::TOUCHED);
    let mut all = Recorded::default();
    for checkpoint in checkpoints {
        let roots = checkpoint.roots();
        let open = |root: PathBuf| Some((open_folder_at(&root).ok()?, root));
        let tops: Vec<(OwnedFd, PathBuf)> = roots.into_iter().filter_map(open).collect();
        let top = |root: &Path| tops.iter().find(|(_, known)| known == root).map(|(top, _)| top);
        let matters = |root: &Path, beneath: &Path| {
            top(root).is_some_and(|top| Role::of(root, top, beneath) != Role::Other)
        };
        let limits = ReadLimits { each: FILE_BYTES_MAX, all: BYTES_MAX as u64 };
        let touched = checkpoint.touched(&matters, limits);
        all.has_gaps |= touched.has_gaps;
        for name in touched.names {
            let Some(top) = top(&name.root) else { continue };
            scan.place(&name.root, top, &name.beneath, name.came);
            all.before.extend(before(&scan, top, name));
        }
    }
    all.has_gaps |= !scan.left.are_left();
    all.after = scan.found;
    all
}

/// Returns how a name was, unless it may be as it is.
fn before(scan: &Scan<'_>, top: &OwnedFd, name: Touched) -> Option<(Place, Item)> {
    let Touched { root, beneath, before: Some(before), .. } = name else { return None };
    let is_file = |stat: Stat| !FileType::from_raw_mode(stat.st_mode).is_dir();
    let is_there = look_at(top, &beneath).and_then(rustix::fs::fstat).is_ok_and(is_file);
    let repository = match Role::of(&root, top, &beneath) {
        Role::Setting(depth) => {
            // Only a link to others matters itself.
            if !is_there && beneath.iter().nth(depth).is_some_and(has_others) {
                return None;
            }
            depth
        }
        Role::Listed => {
            let above: PathBuf = beneath.iter().take(above_listed(&beneath)?).collect();
            let is_root = above.as_os_str().is_empty();
            // It may go with the folder that it was in.
            if !is_there && !is_root && look_at(top, &above).is_err() {
                return None;
            }
            0
        }
        Role::Repository => 0,
        Role::Making | Role::Other => return None,
    };
    let place = Place::new(&root, &beneath, repository);
    if is_there && !scan.found.contains_key(&place) {
        return None;
    }
    let content = match before.content {
        Kept::File(bytes) => Content::File(Some(bytes)),
        Kept::Link(target) => Content::Link(target),
        Kept::Nothing => Content::File(None),
    };
    Some((place, Item::told(before.mode, before.owner, before.links, content)))
}
