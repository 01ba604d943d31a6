//! Takes back, in a copy of a workspace, what was changed since a session began: each checkpoint
//! from the last one to the session's first, as the journal has it.
//!
//! The journal itself undoes by the identity of files, which a copy does not have; so this goes by
//! path. Nothing is done outside of the copy.

#![expect(clippy::disallowed_methods, reason = "works in a copy of the workspace, tenon's own")]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use rustix::fs::FileType;
use tenon_agent::{CallEvent, Session, SessionEvent};
use tenon_sandbox::{
    Change, ChangeKind, CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, EntryKind,
    Journal, JournalError, LeftOutReason, Past, PastEntry, Workspace,
};

use super::{
    Rebuilt, attributes, began,
    copy::{make_pipe, make_room, remove},
    layout,
    made::Made,
    names::{FileId, Names},
    times::set_modified,
};
use crate::{config::Config, error::CliError, past, setup, texts::Text};

/// The longest file whose content before is looked for in other checkpoints too.
const FOUND_BYTES_MAX: u64 = 256 << 20;

/// Returns the journal of a workspace.
pub(super) fn journal(config: &Config, roots: &[PathBuf]) -> Result<Journal, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let (first, rest) = roots.split_first().ok_or("there is no folder")?;
    let mut workspace = Workspace::open(first).map_err(|error| said(&error))?;
    for root in rest {
        workspace = workspace.with_root(root).map_err(|error| said(&error))?;
    }
    Journal::open(&workspace, setup::journal_options(config)).map_err(|error| said(&error))
}

/// Takes back what was changed since `session` began; returns what is not as it was, and what calls
/// had changed that were cut short.
pub(super) fn take_back(
    journal: &Journal,
    session: &Session,
    (copy, names): (&Rebuilt, &mut Names),
) -> Result<(Vec<String>, Made), CliError> {
    let mut made = Made::of(session);
    let infos = journal.checkpoints().map_err(past::failed)?;
    let mut notes = Vec::new();
    let missing = missing(session, &infos);
    if missing > 0 {
        notes.push(match missing {
            1 => {
                "what 1 call changed is not kept any more: files may not be as they were when the \
                  session began"
                    .to_owned()
            }
            n => format!(
                "what {n} calls changed is not kept any more: files may not be as they were when \
                 the session began"
            ),
        });
    }
    for id in to_take_back(session, &infos, &made) {
        let (changes, past) = match journal.changes(id).and_then(|it| Ok((it, journal.past(id)?))) {
            Ok(known) => known,
            Err(JournalError::Running { .. }) => {
                notes.push("a call is still running: what it changed stays".to_owned());
                continue;
            }
            Err(error @ (JournalError::Damaged { .. } | JournalError::Unopened { .. })) => {
                notes.push(format!("{error}: what that call changed stays"));
                continue;
            }
            Err(error) => return Err(past::failed(error)),
        };
        for left_out in &changes.left_out {
            if left_out.reason != LeftOutReason::Outside {
                let path = left_out.path.display();
                notes.push(format!("{path} was not saved before it changed: it is as it is now"));
            }
        }
        if let Some(info) = infos.iter().find(|info| info.id == id)
            && let Some(call_id) = made.call(info, session)
        {
            made.keep(call_id, (info, &changes), copy)?;
        }
        let restored = HashMap::new();
        let mut taking = Taking { journal, past, id, copy, names, restored };
        taking
            .back(&changes.files, &mut notes)
            .map_err(|error| CliError::failed(Text::NotPutBack).with_source(error))?;
    }
    Ok((notes, made))
}

/// How many calls of the log changed something that the journal does not have.
fn missing(session: &Session, infos: &[CheckpointInfo]) -> usize {
    let kept: BTreeSet<String> = infos.iter().map(|info| info.id.to_string()).collect();
    let changed = session.records.iter().filter_map(|record| match &record.event {
        SessionEvent::Call(CallEvent::CallChanged(changes)) => changes.checkpoint,
        _ => None,
    });
    changed.filter(|id| !kept.contains(&id.to_string())).count()
}

/// The checkpoints since the session began, of all sessions, the newest first; without those whose
/// undo is among them, and that undo, unless what a call had changed that was cut short is to be kept.
fn to_take_back(session: &Session, infos: &[CheckpointInfo], made: &Made) -> Vec<CheckpointId> {
    // Checkpoints know the second.
    let since = began(session).duration_since(UNIX_EPOCH).unwrap_or_default();
    let began = UNIX_EPOCH + Duration::from_secs(since.as_secs());
    // A fork has calls of the session that it left.
    let told: BTreeSet<(u64, &str)> = session
        .records
        .iter()
        .filter_map(|record| match &record.event {
            SessionEvent::Call(CallEvent::CallChanged(changes)) => {
                Some((changes.checkpoint?, changes.call_id.as_str()))
            }
            _ => None,
        })
        .collect();
    let is_told = |info: &CheckpointInfo| {
        told.contains(&(info.id.number(), info.name.split('\t').next().unwrap_or_default()))
    };
    let is_since = |info: &&CheckpointInfo| {
        info.session == session.id || info.started > began || is_told(info)
    };
    let Some(first) = infos.iter().filter(is_since).map(|info| info.id).min() else {
        return Vec::new();
    };
    let since: BTreeMap<CheckpointId, &CheckpointInfo> =
        infos.iter().filter(|info| info.id >= first).map(|info| (info.id, info)).collect();
    let mut cancelled = BTreeSet::new();
    for info in since.values() {
        let CheckpointKind::Undo { of } = &info.kind else { continue };
        let is_idle = |id: &CheckpointId| {
            since.get(id).is_some_and(|undone| {
                matches!(undone.state, CheckpointState::Undone { by } if by == info.id)
                    && made.call(undone, session).is_none()
            })
        };
        if of.iter().all(is_idle) {
            cancelled.extend(of.iter().copied().chain([info.id]));
        }
    }
    since.into_keys().rev().filter(|id| !cancelled.contains(id)).collect()
}

/// To where things were renamed, and from where.
type Renames = [(PathBuf, PathBuf)];

/// The work on one checkpoint.
struct Taking<'a> {
    journal: &'a Journal,
    past: Past,
    id: CheckpointId,
    copy: &'a Rebuilt,
    names: &'a mut Names,
    /// Names of files that are as before, and whether their content is.
    restored: HashMap<FileId, (Vec<PathBuf>, bool)>,
}

impl Taking<'_> {
    fn back(&mut self, changes: &[Change], notes: &mut Vec<String>) -> io::Result<()> {
        let renames: Vec<(PathBuf, PathBuf)> = changes
            .iter()
            .filter_map(|change| match &change.kind {
                ChangeKind::Renamed { from, .. } => {
                    // The list has the names that folders above had in the end.
                    let found = match self.past.entry(from) {
                        Some(_) => None,
                        None => self.past.came_from(&change.path),
                    };
                    Some((change.path.clone(), found.unwrap_or_else(|| from.clone())))
                }
                _ => None,
            })
            .collect();
        // Lists of older versions have the names that folders above had in the end; there was nothing
        // at such a name before.
        let is_new = |to: &Path| self.past.entry(to).is_none();
        let moved: Vec<_> = renames.iter().filter(|(to, _)| is_new(to)).cloned().collect();
        let aside = self.copy.scratch.path().join("aside");
        fs::create_dir_all(&aside)?;
        let created: HashSet<&Path> = changes
            .iter()
            .filter(|change| change.kind == ChangeKind::Created)
            .map(|change| change.path.as_path())
            .collect();
        let mut held = self.clear(changes, (&renames, &moved), (&aside, &mut *notes))?;
        held.sort();
        for (from, place) in &held {
            let Some(to) = self.copy.place(from) else { continue };
            make_room(&to)?;
            self.rename(place, &to)?;
        }
        let mut unknown = Vec::new();
        for change in changes {
            let restored = match &change.kind {
                ChangeKind::Created => Ok(true),
                ChangeKind::Renamed { .. } => {
                    let from = &was_at(&change.path, &renames, true);
                    // What was at the new name before, and what else happened to the file.
                    self.restore(&change.path, &change.path)?;
                    self.restore(from, from)?;
                    Ok(true)
                }
                _ => match self.place_before(&change.path, &moved, &created) {
                    Some(place) => self.restore(&place, &change.path),
                    None => Ok(false),
                },
            };
            if !restored? {
                unknown.push(&change.path);
            }
        }
        self.restore_unlisted(notes)?;
        // A further name of a file has what that was given by another.
        let number = |at: &Path| fs::symlink_metadata(at).ok().map(|now| now.ino());
        let restored = self.restored.values().filter(|(_, is_known)| *is_known);
        let restored: HashSet<u64> =
            restored.flat_map(|(names, _)| names).filter_map(|at| number(at)).collect();
        unknown.retain(|path| {
            let number = self.copy.place(path).and_then(|at| number(&at));
            number.is_none_or(|number| !restored.contains(&number))
        });
        notes.extend(unknown.into_iter().map(|path| not_kept(path)));
        self.times_back(&moved, &created);
        fs::remove_dir_all(&aside)
    }

    /// Puts back what went with a folder that another one took the place of: the list says nothing of it
    /// where that has something like it by the same name.
    fn restore_unlisted(&mut self, notes: &mut Vec<String>) -> io::Result<()> {
        for path in self.past.places() {
            let is_missing = |at: PathBuf| {
                let is_folder = |folder: &Path| folder.is_dir();
                at.symlink_metadata().is_err() && at.parent().is_some_and(is_folder)
            };
            if self.copy.place(&path).is_some_and(is_missing) && !self.restore(&path, &path)? {
                notes.push(not_kept(&path));
            }
        }
        Ok(())
    }

    /// Has the folders that the call worked in get the times that they had before.
    fn times_back(&mut self, moved: &Renames, created: &HashSet<&Path>) {
        for (path, modified) in self.past.folders() {
            let place = self.place_before(&path, moved, created);
            if let Some(at) = place.and_then(|place| self.copy.place(&place)) {
                self.names.set_modified(&at, modified);
            }
        }
    }

    /// Returns where what changed at `path` was before, which is in no folder that the call made.
    fn place_before(
        &self,
        path: &Path,
        renames: &Renames,
        created: &HashSet<&Path>,
    ) -> Option<PathBuf> {
        let is_old =
            |place: &PathBuf| !place.ancestors().skip(1).any(|above| created.contains(above));
        let place = was_at(path, renames, false);
        if is_old(&place) {
            return Some(place);
        }
        self.past.names(path).into_iter().find(is_old)
    }

    /// Renames in the copy, where further names of files are known by their paths.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        self.names.moved(from, to);
        Ok(())
    }

    /// Moves aside what the call had moved, and removes what it had made; returns from where each came
    /// and where it is.
    fn clear(
        &mut self,
        changes: &[Change],
        (renames, moved): (&Renames, &Renames),
        (aside, notes): (&Path, &mut Vec<String>),
    ) -> io::Result<Vec<(PathBuf, PathBuf)>> {
        let mut places: Vec<(PathBuf, Option<PathBuf>)> = Vec::new();
        let came_along = |path: &Path| {
            let before = was_at(path, renames, false);
            before != path && !self.past.touched(&before)
        };
        for change in changes {
            match &change.kind {
                ChangeKind::Renamed { .. } => {
                    let from = was_at(&change.path, renames, true);
                    places.push((change.path.clone(), Some(from)));
                }
                // It is as new, but it goes back with the folder that it came with.
                ChangeKind::Created | ChangeKind::Edited if came_along(&change.path) => {}
                ChangeKind::Created => places.push((change.path.clone(), None)),
                // Another folder has the name now, and what is in it is as new.
                ChangeKind::Edited if change.entry == EntryKind::Directory => {
                    places.push((change.path.clone(), None));
                }
                // In lists of older versions: it went into a folder that the call made.
                ChangeKind::Deleted => {
                    let to = self.past.moved_to(&change.path);
                    let from = was_at(&change.path, moved, true);
                    places.extend(to.map(|to| (to, Some(from))));
                }
                _ => {}
            }
        }
        // It would go with the folder that comes back to the path of the one that it is in.
        let is_in = |path: &Path| renames.iter().any(|(_, from)| path.starts_with(from));
        let back = self.past.came_back().filter(|path| is_in(path));
        places.extend(back.map(|path| (path.clone(), Some(path))));
        // What is deep goes first, or it would go along with the folder above.
        places.sort();
        let mut held = Vec::new();
        for (path, from) in places.into_iter().rev() {
            let Some(at) = self.copy.place(&path) else { continue };
            let Some(from) = from else {
                remove(&at)?;
                self.names.removed(&at);
                continue;
            };
            let place = aside.join(held.len().to_string());
            if self.rename(&at, &place).is_ok() {
                held.push((from, place));
            } else {
                let from = from.display();
                notes.push(format!(
                    "where a call moved {from} is not known: what was in it may be missing"
                ));
            }
        }
        Ok(held)
    }

    /// Puts back at `path` what the journal has of `saved`; says whether it has it.
    fn restore(&mut self, path: &Path, saved: &Path) -> io::Result<bool> {
        let Some(entry) = self.past.entry(saved) else { return Ok(false) };
        let Some(at) = self.copy.place(path) else { return Ok(false) };
        let now = fs::symlink_metadata(&at).ok();
        match entry.kind {
            EntryKind::Directory => {
                if !now.is_some_and(|now| now.is_dir()) {
                    make_room(&at)?;
                    fs::create_dir(&at)?;
                }
                self.names.set_rights(&at, entry.mode)?;
                set_attributes(&at, &entry);
                Ok(true)
            }
            EntryKind::Link => {
                make_room(&at)?;
                symlink(layout::here(&self.copy.roots, entry.target.as_ref()), &at)?;
                set_modified(&at, entry.modified);
                Ok(true)
            }
            EntryKind::File => self.restore_file(at, saved, &entry),
            EntryKind::Other if is_pipe(&entry) => {
                make_room(&at)?;
                make_pipe(&at, entry.mode, entry.modified)?;
                Ok(true)
            }
            EntryKind::Other => Ok(false),
        }
    }

    fn restore_file(&mut self, at: PathBuf, saved: &Path, entry: &PastEntry) -> io::Result<bool> {
        let id = (entry.inode, entry.born);
        let is_file = |name: &&PathBuf| fs::symlink_metadata(name).is_ok_and(|it| it.is_file());
        if let Some((names, is_known)) = self.restored.get_mut(&id)
            && let Some(other) = names.iter().find(is_file)
        {
            // Its content is there by that name.
            if *other != at {
                make_room(&at)?;
                fs::hard_link(other, &at)?;
                names.push(at);
            }
            return Ok(*is_known);
        }
        self.find_file(&at, id)?;
        let is_known = self.restore_content(&at, saved, entry)?;
        // Without its birth another file may be taken for it.
        if entry.born != 0 {
            self.names.add(id, &at);
        }
        self.restored.insert(id, (vec![at], is_known));
        Ok(is_known)
    }

    /// Has the file be at `at` that had this name, if it is in the copy by another; else one of its own.
    fn find_file(&mut self, at: &Path, id: FileId) -> io::Result<()> {
        let names: Vec<PathBuf> = self.names.of(id).map(Path::to_path_buf).collect();
        if names.iter().any(|name| name == at) {
            return Ok(());
        }
        let now = fs::symlink_metadata(at).ok().filter(fs::Metadata::is_file);
        match (names.first(), now) {
            (Some(other), _) => {
                make_room(at)?;
                fs::hard_link(other, at)
            }
            // Its other names are another file's.
            (None, Some(now)) if now.nlink() > 1 => {
                let own = at.with_extension("of-its-own");
                fs::copy(at, &own)?;
                fs::rename(own, at)
            }
            (None, Some(_)) => Ok(()),
            (None, None) => make_room(at),
        }
    }

    fn restore_content(&self, at: &Path, saved: &Path, entry: &PastEntry) -> io::Result<bool> {
        let is_there = at.is_file();
        if is_there {
            fs::set_permissions(at, Permissions::from_mode(0o600))?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(at)?;
        let mut is_known =
            self.past.write_content(saved, &file, is_there).map_err(io::Error::other)?;
        if !is_known
            && let Ok(Some(bytes)) = self.journal.content_before(self.id, saved, FOUND_BYTES_MAX)
        {
            fs::write(at, bytes)?;
            is_known = true;
        }
        if layout::is_pointer(at) && fs::metadata(at)?.len() <= layout::POINTER_BYTES_MAX {
            let here = |path: &Path| layout::here(&self.copy.roots, path);
            fs::write(at, layout::pointing(&fs::read(at)?, here))?;
        }
        set_attributes(at, entry);
        set_modified(at, entry.modified);
        fs::set_permissions(at, Permissions::from_mode(entry.mode))?;
        Ok(is_known)
    }
}

fn not_kept(path: &Path) -> String {
    format!("how {} was before is not kept any more", path.display())
}

fn set_attributes(at: &Path, entry: &PastEntry) {
    if let Some(all) = &entry.attributes {
        // The copy has those that its file system takes.
        attributes::set(at, &attributes::copied(all));
    }
}

fn is_pipe(entry: &PastEntry) -> bool {
    FileType::from_raw_mode(entry.raw_mode) == FileType::Fifo
}

/// Where `path` was before folders above it were renamed, or `itself`.
fn was_at(path: &Path, renames: &Renames, itself: bool) -> PathBuf {
    let above =
        renames.iter().filter(|(to, _)| path.starts_with(to) && (itself || path != to.as_path()));
    match above.max_by_key(|(to, _)| to.as_os_str().len()) {
        Some((to, from)) => from.join(path.strip_prefix(to).unwrap_or(path)),
        None => path.to_path_buf(),
    }
}
