//! What a merge leaves for the next `git commit`: a list of conflicts, by which git reads files and writes over them, through
//! links too, and the stash that it applies. A command's does not stay; what stays of a list leads through no link.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::change::ProtectedChangeKind;
use super::folder::{look_at, open_folder_at};
use super::item::Item;
use super::place::Place;
use crate::git_config;
use crate::git_index::conflicts;
use crate::git_written::GitMerge;

impl GitMerge {
    /// Whether no more is there than what there was `before`, and no command can say what git does by it.
    pub(super) fn is_as_before(
        self,
        (place, item): (&Place, &Item),
        before: Option<&Item>,
        items: &BTreeMap<Place, Item>,
    ) -> bool {
        match self {
            Self::Autostash => before.is_some_and(|before| before.has_content_of(item)),
            Self::Conflicts => {
                let known = before.and_then(listed).unwrap_or_default();
                listed(item).is_some_and(|found| found.is_subset(&known))
                    && self.may_come_back(place, item, items)
            }
        }
    }

    /// Whether git does not go through a link by what was there.
    pub(super) fn may_come_back(
        self,
        place: &Place,
        item: &Item,
        items: &BTreeMap<Place, Item>,
    ) -> bool {
        match self {
            Self::Autostash => true,
            Self::Conflicts => item.bytes().is_some_and(|list| {
                list.is_empty() || passes_no_link(place, list, items) == Some(true)
            }),
        }
    }

    /// Returns what is told of it, where `found` was there.
    pub(super) fn kind(self, found: &Item, is_out: bool) -> ProtectedChangeKind {
        match self {
            Self::Conflicts => ProtectedChangeKind::GitConflicts { is_out },
            Self::Autostash => of_stash(found, is_out),
        }
    }
}

/// Returns what is told of a stash that git would apply later, where `found` names it.
pub(super) fn of_stash(found: &Item, is_out: bool) -> ProtectedChangeKind {
    ProtectedChangeKind::GitAutostash { is_out, commit: hash_in(found).map(str::to_owned) }
}

/// Returns the hash of a commit, if a file has that and nothing else.
pub(super) fn hash_in(item: &Item) -> Option<&str> {
    let text = std::str::from_utf8(item.bytes()?).ok()?.trim_end();
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|it| it.is_ascii_hexdigit());
    is_hash.then_some(text)
}

fn listed(item: &Item) -> Option<HashSet<(&[u8], &Path)>> {
    Some(conflicts(item.bytes()?)?.into_iter().collect())
}

/// Whether no file that a list names is a link, or behind one; `None` if it is not known where its files are.
fn passes_no_link(place: &Place, list: &[u8], items: &BTreeMap<Place, Item>) -> Option<bool> {
    let repository = place.beneath().parent().filter(|folder| folder.ends_with(".git"))?;
    let is_elsewhere = ["config", "config.worktree"].iter().any(|name| {
        let settings = items.get(&Place::new(place.root(), &repository.join(name), 0));
        settings.is_some_and(|settings| {
            let text = settings.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok());
            text.is_none_or(|text| git_config::last(text, "core", "worktree").is_some())
        })
    });
    let top = open_folder_at(place.root()).ok().filter(|_| !is_elsewhere)?;
    let tree = repository.parent()?;
    let files = conflicts(list)?;
    Some(files.into_iter().all(|(_, name)| is_behind_no_link(&top, &tree.join(name))))
}

fn is_behind_no_link(top: &OwnedFd, file: &Path) -> bool {
    match look_at(top, file).and_then(rustix::fs::fstat) {
        Ok(stat) => !FileType::from_raw_mode(stat.st_mode).is_symlink(),
        Err(errno) => matches!(errno, Errno::NOENT | Errno::NOTDIR),
    }
}
