//! What ordinary commands of git write, judged by what is in it: an index, or a list of conflicts, that has other names
//! than git itself adds is put back, and so is the step of a rebase that git would not write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Guard;
use super::change::{ProtectedChange, ProtectedChangeKind};
use super::folder::{look_at, open_folder_at};
use super::item::{Content, Item, read};
use super::place::Place;
use super::scan::look;
use crate::git_config;
use crate::git_index::{GitIndexFormat, INDEX_BYTES_MAX, conflicts_are_sound, is_sound};

/// What was found in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Sound,
    /// It has other names than git adds, or git could read it in two ways or not at all; or it is no step.
    Unsound,
    TooLong,
    /// It is another by now than what was looked at.
    Changing,
}

/// Whether a file is judged by what is in it.
pub(super) fn is_one(place: &Place, item: &Item) -> bool {
    matches!(item.content, Content::File(_)) && place.is_written_by_git()
}

/// Judges what was found at a place.
fn verdict(place: &Place, item: &Item, format: GitIndexFormat) -> Verdict {
    match item.bytes() {
        Some(bytes) => judge(place, bytes, format),
        None => verdict_of_long(place, item, format).unwrap_or(Verdict::Changing),
    }
}

fn judge(place: &Place, bytes: &[u8], format: GitIndexFormat) -> Verdict {
    let is_as_git_writes = match place.git_step() {
        Some(step) => step.is_sound(bytes),
        None if place.beneath().ends_with("MERGE_RR") => conflicts_are_sound(bytes),
        None => is_sound(bytes, format),
    };
    match is_as_git_writes {
        true => Verdict::Sound,
        false => Verdict::Unsound,
    }
}

/// Reads one again that is not kept; `None` if that cannot be done.
fn verdict_of_long(place: &Place, item: &Item, format: GitIndexFormat) -> Option<Verdict> {
    let top = open_folder_at(place.root()).ok()?;
    let stat = || rustix::fs::fstat(look_at(&top, place.beneath()).ok()?).ok();
    let length = u64::try_from(stat()?.st_size).ok()?;
    if length > INDEX_BYTES_MAX {
        let is_step = place.git_step().is_some();
        return Some(if is_step { Verdict::Unsound } else { Verdict::TooLong });
    }
    let bytes = read(&top, place.beneath(), INDEX_BYTES_MAX).ok()?;
    item.had(&bytes, &stat()?).then(|| judge(place, &bytes, format))
}

/// Returns how a repository names objects, as its settings that are found by `look` say.
fn format_by(place: &Place, look: impl Fn(&Place) -> Option<Item>) -> GitIndexFormat {
    let folder = place.beneath().parent().unwrap_or(Path::new(""));
    let beside = |folder: &Path, name: &str| look(&Place::new(place.root(), &folder.join(name), 0));
    // A worktree goes by the settings of the repository that it is of.
    let common: Option<PathBuf> =
        beside(folder, "commondir").and_then(|_| folder.parent()?.parent().map(Path::to_path_buf));
    let settings = beside(common.as_deref().unwrap_or(folder), "config");
    let text = settings.as_ref().and_then(|item| std::str::from_utf8(item.bytes()?).ok());
    let said = text.and_then(|text| git_config::last(text, "extensions", "objectformat"));
    GitIndexFormat::named(said.as_deref())
}

/// Whether what was saved is as git writes it, as its repository names objects now.
pub(super) fn is_sound_there(place: &Place, saved: &Item) -> bool {
    let format = || format_by(place, |place| look(place, None));
    is_one(place, saved)
        && saved.bytes().is_some_and(|bytes| judge(place, bytes, format()) == Verdict::Sound)
}

fn format_among(place: &Place, items: &BTreeMap<Place, Item>) -> GitIndexFormat {
    format_by(place, |place| items.get(place).cloned())
}

impl Guard {
    /// Puts back each that is not as git writes it, and takes it out where there was none.
    pub(super) fn correct_written(
        &mut self,
        after: &BTreeMap<Place, Item>,
        moved: &BTreeMap<Place, Place>,
        corrected: &mut Vec<(Place, Option<Item>)>,
    ) -> Vec<ProtectedChange> {
        let mut changes = Vec::new();
        for (place, item) in after.iter().filter(|(place, item)| is_one(place, item)) {
            let was_at = moved.get(place).unwrap_or(place);
            let before = self.before.get(was_at).filter(|before| !before.is_folder());
            let format = format_among(place, after);
            let is_same = before.is_some_and(|before| before.is_same(item));
            if self.is_frozen(&place.path())
                || is_same && format == format_among(was_at, &self.before)
            {
                continue;
            }
            let mut change = |kind, put_back| {
                let path = place.path();
                let change = ProtectedChange { path, kind, found: None, by_name: false, put_back };
                changes.push(change);
            };
            match verdict(place, item, format) {
                Verdict::Sound => {}
                Verdict::Changing => corrected.push((place.clone(), before.cloned())),
                Verdict::TooLong => {
                    let kind = ProtectedChangeKind::LongGitIndex;
                    if !self.lacks_told.contains(&kind) {
                        self.lacks_told.push(kind.clone());
                        change(kind, false);
                    }
                }
                Verdict::Unsound => {
                    let should_be = before.filter(|before| before.is_kept() && !is_same).cloned();
                    let done = self.put(place, should_be.as_ref());
                    let is_out = should_be.is_none();
                    let kind = match place.git_step() {
                        Some(_) => ProtectedChangeKind::GitStep { is_out },
                        None => ProtectedChangeKind::GitIndex { is_out },
                    };
                    change(kind, done);
                    corrected.push((place.clone(), should_be));
                }
            }
        }
        changes
    }
}
