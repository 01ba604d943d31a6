//! What ordinary commands of git write, judged by what is in it: an index, or a list of conflicts, that has other names
//! than git itself adds is put back, and so is the step of a rebase that git would not write.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Guard;
use super::change::{ProtectedChange, ProtectedChangeKind};
use super::folder::open_folder_at;
use super::item::{Content, Item, RUN, open_to_read};
use super::merge::{hash_in, of_stash};
use super::place::Place;
use super::recorded::{LIMITS, Made, told};
use super::scan::look;
use crate::git_config;
use crate::git_index::GitIndexFormat;
use crate::git_refs::{leads_to_commits, without_new_replacements};
use crate::git_steps::GitStep;
use crate::git_strategies;
use crate::git_written::{GitMerge, GitWritten};
use crate::workspace::ContentHasher;

/// How much of what is too long to keep is judged at one look: some seconds. What commands wrote beyond that does not stay.
const LONG_BYTES_MAX: u64 = 1 << 30;

/// What was found in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Sound,
    /// It has other names than git adds, or git could read it in two ways or not at all; or it is no step, or longer than is
    /// read.
    Unsound,
    /// It is another by now than what was looked at.
    Changing,
}

/// Whether a file is judged by what is in it.
pub(super) fn is_one(place: &Place, item: &Item) -> bool {
    matches!(item.content, Content::File(_)) && place.is_written_by_git()
}

/// Whether a file is judged by what is in it, or a link stands where one may.
pub(super) fn may_be_left(place: &Place, item: &Item) -> bool {
    is_one(place, item) || is_plain_link(place, item)
}

/// Whether it is a link in place of a reference that leads to one of commits, as git makes `HEAD` where it is told to.
fn is_plain_link(place: &Place, item: &Item) -> bool {
    let Content::Link(target) = &item.content else { return false };
    let reference = [b"ref: ", target.as_bytes()].concat();
    place.git_step() == Some(GitStep::Head)
        && place.beneath().file_name() == Some(OsStr::new("HEAD"))
        && leads_to_commits(&reference)
}

fn kind_of(place: &Place, format: GitIndexFormat) -> GitWritten {
    match (place.of_merge(), place.git_step()) {
        (Some(_), _) => GitWritten::Merge,
        (None, Some(step)) => GitWritten::Step(step),
        (None, None) => GitWritten::Index(format),
    }
}

fn judge(written: GitWritten, file: &mut dyn Read, length: u64) -> Verdict {
    if written.is_sound(file, length) { Verdict::Sound } else { Verdict::Unsound }
}

/// Judges what was found at a place. What is not kept is read again, of which so much is `left`.
fn verdict(place: &Place, item: &Item, format: GitIndexFormat, left: &mut u64) -> Verdict {
    let written = kind_of(place, format);
    match item.bytes() {
        Some(bytes) => judge(written, &mut &*bytes, bytes.len() as u64),
        None => verdict_of_long(place, item, written, left).unwrap_or(Verdict::Changing),
    }
}

/// Reads one again; `None` if that cannot be done.
fn verdict_of_long(
    place: &Place,
    item: &Item,
    written: GitWritten,
    left: &mut u64,
) -> Option<Verdict> {
    let top = open_folder_at(place.root()).ok()?;
    let file = open_to_read(&top, place.beneath()).ok()?.into();
    let mut file = Hashed { file, hasher: item.has_hash().then(ContentHasher::default) };
    let length = u64::try_from(rustix::fs::fstat(&file.file).ok()?.st_size).ok()?;
    let rest = left.checked_sub(length).filter(|_| written.may_have(length));
    let Some(rest) = rest else { return Some(Verdict::Unsound) };
    *left = rest;
    let found = judge(written, &mut file, length);
    if file.hasher.is_some() {
        io::copy(&mut file.by_ref().take(length), &mut io::sink()).ok()?;
    }
    let stat = rustix::fs::fstat(&file.file).ok()?;
    item.had(file.hasher.map(ContentHasher::finish), &stat).then_some(found)
}

/// A file whose hash is made while it is read, where one is needed.
struct Hashed {
    file: File,
    hasher: Option<ContentHasher>,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.push(buffer.get(..length).unwrap_or_default());
        }
        Ok(length)
    }
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
        && goes_with_other(place, saved, |other| look(other, None))
        && saved.bytes().is_some_and(|bytes| {
            kind_of(place, format()).is_sound(&mut &*bytes, bytes.len() as u64)
        })
}

fn format_among(place: &Place, items: &BTreeMap<Place, Item>) -> GitIndexFormat {
    format_by(place, |place| items.get(place).cloned())
}

/// Whether what a step is never without is there.
fn is_whole(place: &Place, items: &BTreeMap<Place, Item>) -> bool {
    place.never_without().is_none_or(|other| items.contains_key(&other))
}

/// Whether a strategy, or options of one, can be with what is found by `look` of the other.
fn goes_with_other(place: &Place, item: &Item, look: impl Fn(&Place) -> Option<Item>) -> bool {
    let Some(other) = place.goes_with().and_then(|other| look(&other)) else { return true };
    let (strategy, options) = match place.git_step() {
        Some(GitStep::Strategy) => (item, &other),
        _ => (&other, item),
    };
    let both = strategy.bytes().zip(options.bytes());
    both.is_some_and(|(strategy, options)| git_strategies::go_together(strategy, options))
}

/// Whether a rebase goes onto another commit than the one before, by files of them.
fn is_onto_another((before, after): (Option<&Item>, Option<&Item>)) -> bool {
    let hash = |item: Option<&Item>| item.and_then(hash_in).map(str::to_ascii_lowercase);
    hash(before).zip(hash(after)).is_some_and(|(before, after)| before != after)
}

/// Whether a rebase is of a branch that the one before was not of, by files of them.
fn is_of_another((before, after): (Option<&Item>, Option<&Item>)) -> bool {
    let bytes = before.and_then(Item::bytes).zip(after.and_then(Item::bytes));
    bytes.is_some_and(|(before, after)| {
        before.trim_ascii() != after.trim_ascii()
            && after.starts_with(b"refs/heads/")
            && GitStep::Branch.is_sound(after)
    })
}

/// One that may be another than before.
struct Written<'a> {
    place: &'a Place,
    item: &'a Item,
    before: Option<Item>,
    /// Whether it is as before, for all that is known.
    is_same: bool,
    format: GitIndexFormat,
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
        let mut left = LONG_BYTES_MAX;
        for written in self.written(after, moved) {
            if written.place.git_step() == Some(GitStep::Refs) {
                if let Some((change, should_be)) = self.correct_refs(&written) {
                    changes.push(change);
                    corrected.push((written.place.clone(), Some(should_be)));
                }
                continue;
            }
            let found = self.verdict(&written, (after, moved), &mut left);
            let Written { place, item, before, is_same, .. } = written;
            match found {
                Verdict::Sound if item.bytes().is_none() => {
                    self.judged.insert(place.clone());
                }
                Verdict::Sound => {}
                Verdict::Changing => corrected.push((place.clone(), before)),
                Verdict::Unsound => {
                    let may_come_back = |before: &Item| {
                        let merge = place.of_merge();
                        merge.is_none_or(|merge| merge.may_come_back(place, before, after))
                    };
                    let before = before.or_else(|| self.reference_before(place));
                    let should_be = before
                        .filter(|before| before.is_kept() && !is_same && may_come_back(before));
                    let put_back = self.put(place, should_be.as_ref());
                    let is_out = should_be.is_none();
                    let kind = match (place.of_merge(), place.git_step()) {
                        (Some(merge), _) => merge.kind(item, is_out),
                        (None, Some(GitStep::Autostash)) => of_stash(item, is_out),
                        (None, Some(step)) if step.is_of_references() => {
                            ProtectedChangeKind::GitReference { is_out }
                        }
                        (None, Some(_)) => ProtectedChangeKind::GitStep { is_out },
                        (None, None) => ProtectedChangeKind::GitIndex { is_out },
                    };
                    let path = place.path();
                    let change =
                        ProtectedChange { path, kind, found: None, by_name: false, put_back };
                    changes.push(change);
                    corrected.push((place.clone(), should_be));
                }
            }
        }
        changes
    }

    /// Returns what a reference was of which no look takes notice, as the commands that run were recorded.
    fn reference_before(&self, place: &Place) -> Option<Item> {
        let matters =
            |root: &Path, beneath: &Path| root == place.root() && beneath == place.beneath();
        let is_reference = place.git_step().is_some_and(GitStep::is_of_references);
        let was_one =
            || Made::by(&self.checkpoints).was_repository(place.root(), &place.repository());
        let recorded = self.checkpoints.iter().filter(|_| is_reference && was_one());
        recorded
            .flat_map(|checkpoint| checkpoint.touched(&matters, LIMITS).names)
            .find_map(|touched| touched.before.map(told))
    }

    /// Takes new replacements of objects out of a list of references. One that is too long to keep stays as it is, and so
    /// does what takes the place of such a one.
    fn correct_refs(&self, written: &Written<'_>) -> Option<(ProtectedChange, Item)> {
        let Written { place, item, before, .. } = written;
        let old = before.as_ref().map_or(Some(&b""[..]), Item::bytes)?;
        let should_be = item.with(item.mode, without_new_replacements(old, item.bytes()?)?);
        let put_back = self.put(place, Some(&should_be));
        let (path, kind) = (place.path(), ProtectedChangeKind::Changed);
        Some((ProtectedChange { path, kind, found: None, by_name: false, put_back }, should_be))
    }

    fn verdict(
        &self,
        written: &Written<'_>,
        (after, moved): (&BTreeMap<Place, Item>, &BTreeMap<Place, Place>),
        left: &mut u64,
    ) -> Verdict {
        let Written { place, item, before, format, .. } = written;
        let is_as_before =
            place.of_merge().map(|merge| merge.is_as_before((place, item), before.as_ref(), after));
        let is_whole = is_whole(place, after);
        if place.git_step() == Some(GitStep::Log) && item.mode & RUN != 0 {
            return Verdict::Unsound;
        }
        if place.git_step() == Some(GitStep::Autostash)
            && is_whole
            && !before.as_ref().is_some_and(|before| before.has_content_of(item))
            && self.was_under_way(place, after, moved)
        {
            return Verdict::Unsound;
        }
        if !goes_with_other(place, item, |other| after.get(other).cloned()) {
            return Verdict::Unsound;
        }
        match (is_whole, is_as_before) {
            (_, Some(false)) | (true, None) => verdict(place, item, *format, left),
            (true, Some(true)) => Verdict::Sound,
            // Git may be about to make the other, or to take this one away.
            (false, _) if self.running > 0 => Verdict::Changing,
            (false, _) => Verdict::Unsound,
        }
    }

    /// Whether the rebase that a file is about is one that had begun before the commands that run, or ran last, or looks
    /// like it: by what `git status` tells of it, the branch and the commit that it goes onto. The inode of the folder says
    /// nothing, since commands can make a copy, nor does where the rebase goes back to (`orig-head`), which nothing shows.
    fn was_under_way(
        &self,
        place: &Place,
        after: &BTreeMap<Place, Item>,
        moved: &BTreeMap<Place, Place>,
    ) -> bool {
        let beside = |name: &str| {
            let now = Place::new(place.root(), &place.beneath().with_file_name(name), 0);
            let before = self.before.get(moved.get(&now).unwrap_or(&now));
            (before, after.get(&now))
        };
        let folder = place.beneath().parent();
        let is_in =
            |known: &Place| known.root() == place.root() && known.beneath().parent() == folder;
        let had_begun = self.before.keys().chain(moved.keys()).any(is_in);
        had_begun && !is_onto_another(beside("onto")) && !is_of_another(beside("head-name"))
    }

    /// Returns those that are to be judged; first what a look found sound already, so that others take no room from that.
    fn written<'a>(
        &self,
        after: &'a BTreeMap<Place, Item>,
        moved: &BTreeMap<Place, Place>,
    ) -> Vec<Written<'a>> {
        let all = after
            .iter()
            .filter(|(place, item)| is_one(place, item) && !self.is_frozen(&place.path()));
        let all = all.filter_map(|(place, item)| {
            let was_at = moved.get(place).unwrap_or(place);
            let before = self.before.get(was_at).filter(|before| !before.is_folder());
            let format = format_among(place, after);
            let is_same = before.is_some_and(|before| before.is_same(item));
            // By a mapping it can be written later without any sign.
            let is_known = || {
                !self.judged.contains(was_at)
                    || before.is_some_and(|before| before.has_content_of(item))
            };
            let is_as_before = is_same
                && format == format_among(was_at, &self.before)
                && is_whole(place, after) == is_whole(was_at, &self.before);
            // What is on the way to the files of one can be another.
            let is_list = place.of_merge() == Some(GitMerge::Conflicts);
            let before = before.cloned();
            (!is_as_before || !is_known() || is_list).then_some(Written {
                place,
                item,
                before,
                is_same,
                format,
            })
        });
        let mut all: Vec<Written<'_>> = all.collect();
        all.sort_by_key(|written| Reverse(written.is_same));
        all
    }
}
