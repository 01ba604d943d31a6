//! What calls had changed that were cut short. A replay does not run them: where they would be cut
//! is not known again. The copy of the workspace gets what they had changed from here, by folders that are held:
//! jobs of the replay may run meanwhile, and exchange a folder for a link.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsStr,
    fs::{Metadata, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use tenon_agent::{CallEvent, ChangesOfCall, Session, SessionEvent, SessionNote};
use tenon_sandbox::{ChangeKind, Changes, CheckpointInfo, EntryKind, Source};

use super::{
    Rebuilt, Root,
    copy::{self, Copying},
    layout, place, place_by_name,
};
use crate::error::CliError;

/// How the result of a call begins whose program ended while it ran.
const INTERRUPTED: &str = "interrupted before it ended";

/// The folder beside the copy in which that is kept.
pub(super) const MADE: &str = "made";

/// What such calls had changed, kept beside the copy.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// Calls and jobs of the session that were cut short, with when each began: the ids of others come again.
    cut: HashMap<String, SystemTime>,
    /// Of these, those that the log says changed something.
    told: HashSet<String>,
    /// What each changed; nothing is what no checkpoint tells of.
    pieces: BTreeMap<String, Vec<Piece>>,
    /// Folders with what is kept: a call may have several.
    folders: usize,
    /// Whether there are checkpoints at all.
    is_known: bool,
}

/// One change: what is at a path is exchanged for what the call left there, and exchanged again where
/// the call was undone.
#[derive(Debug)]
enum Piece {
    Rights(PathBuf, Permissions),
    /// A path, where the other is kept, if there is any, and when the call began whose it is.
    Content(PathBuf, PathBuf, Option<SystemTime>),
}

/// The same in a bundle, in which each path has what is kept at `MADE/CALL/PIECE`, by their numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Stored {
    calls: Vec<StoredCall>,
    /// Calls that changed something of which a part is not in it.
    left_out: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredCall {
    id: String,
    #[serde(
        serialize_with = "tenon_agent::serialize_paths",
        deserialize_with = "tenon_agent::deserialize_paths"
    )]
    paths: Vec<PathBuf>,
    pieces: Vec<StoredPiece>,
}

/// What is at a path.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredPiece {
    Mode(u32),
    /// Nothing is kept, or what is has a time of its own.
    Content,
    /// It is kept, and its call began then, in seconds since 1970.
    ContentOfCall(u64),
}

impl Made {
    /// Returns which calls of `session` were cut short, of whose changes nothing is kept yet.
    pub(super) fn of(session: &Session) -> Self {
        let mut made = Self { is_known: true, ..Self::default() };
        // Those that may still run.
        let mut jobs = HashSet::new();
        for record in &session.records {
            match &record.event {
                SessionEvent::Call(CallEvent::CallStarted { call, .. }) => {
                    // Checkpoints know the second.
                    let began = UNIX_EPOCH + Duration::from_secs(record.time_ms / 1_000);
                    made.cut.insert(call.id.clone(), began);
                    made.told.remove(&call.id);
                }
                SessionEvent::Call(CallEvent::CallChanged(changes)) => {
                    made.told.insert(changes.call_id.clone());
                    if jobs.remove(&changes.call_id) {
                        made.cut.remove(&changes.call_id);
                    }
                }
                SessionEvent::Call(CallEvent::ToolResult { call_id, job: Some(_), .. }) => {
                    jobs.insert(call_id.clone());
                }
                SessionEvent::Session(SessionNote::SessionResumed { .. }) => {
                    jobs.clear();
                }
                SessionEvent::Call(CallEvent::ToolResult {
                    call_id, content, cut_short, ..
                }) if !cut_short && !content.starts_with(INTERRUPTED) => {
                    made.cut.remove(call_id);
                }
                _ => {}
            }
        }
        made.cut.retain(|call_id, _| !jobs.contains(call_id));
        made
    }

    /// Returns the call that `info` is of, if it is one of `session` that was cut short.
    pub(super) fn call<'a>(&self, info: &'a CheckpointInfo, session: &Session) -> Option<&'a str> {
        let call_id = info.name.split('\t').next()?;
        let is_own = info.session == session.id || self.told.contains(call_id);
        let is_cut = self.cut.get(call_id).is_some_and(|began| *began <= info.started);
        (is_own && is_cut).then_some(call_id)
    }

    /// Keeps what a call had changed, which is in `copy` as the call left it.
    pub(super) fn keep(
        &mut self,
        call_id: &str,
        (info, changes): (&CheckpointInfo, &Changes),
        copy: &Rebuilt,
    ) -> Result<(), CliError> {
        let folder = copy.scratch.path().join(MADE).join(self.folders.to_string());
        copy::make_folder(&folder)?;
        self.folders += 1;
        let mut copying = Copying::new(&[], copy.scratch.path(), &[]);
        let mut pieces = Vec::new();
        for change in &changes.files {
            if let ChangeKind::Renamed { from, .. } = &change.kind {
                let nothing = folder.join(pieces.len().to_string());
                pieces.push(Piece::Content(from.clone(), nothing, None));
            }
            let (path, kept) = (change.path.clone(), folder.join(pieces.len().to_string()));
            let at = place(&copy.roots, &path).filter(|_| change.kind != ChangeKind::Deleted);
            let found = at.as_deref().map(found_at).transpose()?.flatten();
            let (Some(at), Some(metadata)) = (at, found) else {
                pieces.push(Piece::Content(path, kept, None));
                continue;
            };
            let is_new = matches!(change.kind, ChangeKind::Created | ChangeKind::Renamed { .. });
            if change.entry == EntryKind::Directory && !is_new {
                pieces.push(Piece::Rights(path, metadata.permissions()));
            } else {
                copying.any(&at, &kept)?;
                pieces.push(Piece::Content(path, kept, Some(info.started)));
            }
        }
        copying.into_notes().1.close();
        // A call may have two checkpoints; this is the earlier one.
        self.pieces.entry(call_id.to_owned()).or_default().splice(0..0, pieces);
        Ok(())
    }

    /// Whether it is known what such calls had changed, if any had.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns each call with what is kept of it: the number of the piece, its path and where it is kept.
    pub(super) fn calls(
        &self,
    ) -> impl Iterator<Item = (&str, impl Iterator<Item = (usize, &Path, &Path)>)> {
        self.pieces.iter().map(|(call_id, pieces)| {
            let kept = pieces.iter().enumerate().filter_map(|(at, piece)| match piece {
                Piece::Content(path, kept, _) if kept.symlink_metadata().is_ok() => {
                    Some((at, path.as_path(), kept.as_path()))
                }
                _ => None,
            });
            (call_id.as_str(), kept)
        })
    }

    /// Returns what a bundle says of them.
    pub(super) fn stored(&self) -> Stored {
        let calls = self.pieces.iter().map(|(call_id, pieces)| StoredCall {
            id: call_id.clone(),
            paths: pieces.iter().map(|piece| piece.path().to_path_buf()).collect(),
            pieces: pieces.iter().map(Piece::stored).collect(),
        });
        Stored { calls: calls.collect(), left_out: Vec::new() }
    }

    /// Adds what a bundle has, which was unpacked to `scratch`.
    pub(super) fn with(mut self, stored: Stored, scratch: &Path) -> Self {
        for (number, call) in stored.calls.into_iter().enumerate() {
            let folder = scratch.join(MADE).join(number.to_string());
            let pieces = call.paths.into_iter().zip(call.pieces).enumerate();
            let pieces = pieces
                .map(|(at, (path, piece))| piece.unpacked(path, folder.join(at.to_string())))
                .collect();
            self.pieces.insert(call.id, pieces);
        }
        self.pieces.retain(|call_id, _| !stored.left_out.contains(call_id));
        self.told.extend(stored.left_out);
        self
    }

    /// Returns what makes the changes of a call in the copy, and takes them back the next time.
    pub(super) fn into_changes(self, scratch: &Path, roots: Vec<Root>) -> ChangesOfCall {
        let (top, scratch) = (Source::open(scratch), scratch.to_path_buf());
        let (pieces, is_known, told) = (Mutex::new(self.pieces), self.is_known, self.told);
        Box::new(move |call_id| {
            let mut pieces = pieces.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(pieces) = pieces.get_mut(call_id) else {
                return is_known && !told.contains(call_id);
            };
            let is_done = top.as_ref().is_ok_and(|top| {
                pieces.iter_mut().all(|piece| piece.exchange(top, (&scratch, &roots)).is_ok())
            });
            // What is made last is taken back first.
            pieces.reverse();
            is_done
        })
    }
}

impl Stored {
    /// Leaves out a call of which a part is missing; returns whether it was in.
    pub(super) fn leave_out(&mut self, call_id: &str) -> bool {
        if self.left_out.iter().any(|known| known == call_id) {
            return false;
        }
        for call in self.calls.iter_mut().filter(|call| call.id == call_id) {
            (call.paths, call.pieces) = (Vec::new(), Vec::new());
        }
        self.left_out.push(call_id.to_owned());
        true
    }
}

impl Piece {
    fn path(&self) -> &Path {
        match self {
            Self::Rights(path, _) | Self::Content(path, ..) => path,
        }
    }

    fn stored(&self) -> StoredPiece {
        match self {
            Self::Rights(_, permissions) => StoredPiece::Mode(permissions.mode() & 0o7777),
            Self::Content(_, _, Some(began)) => {
                let began = began.duration_since(UNIX_EPOCH).unwrap_or_default();
                StoredPiece::ContentOfCall(began.as_secs())
            }
            Self::Content(_, _, None) => StoredPiece::Content,
        }
    }

    /// Exchanges what is in a copy of `roots` beneath `scratch`, which is held as `top`.
    fn exchange(&mut self, top: &Source, (scratch, roots): (&Path, &[Root])) -> io::Result<()> {
        let (_, at) = place_by_name(roots, self.path()).ok_or(ErrorKind::NotFound)?;
        let beneath = |path: &Path| {
            path.strip_prefix(scratch).map(Path::to_path_buf).map_err(|_| ErrorKind::NotFound)
        };
        match self {
            Self::Rights(_, permissions) => {
                let folder = top.folder(&beneath(&at)?)?;
                let now = folder.metadata()?.permissions();
                folder.set_mode(permissions.mode())?;
                *permissions = now;
                Ok(())
            }
            Self::Content(_, kept, began) => {
                let is_whole = |root: &Root| root.copy == at && !layout::is_part(roots, root);
                if roots.iter().any(is_whole) {
                    return Err(ErrorKind::InvalidInput.into());
                }
                let (at, kept) = (beneath(&at)?, beneath(kept)?);
                let ((above, name), (keeping, kept)) = (parted(&at)?, parted(&kept)?);
                let aside = &*Path::new(kept).with_extension("aside").into_os_string();
                let keeping = top.made_folder(keeping)?;
                match top.folder(above) {
                    Ok(folder) => move_any((&folder, name), (&keeping, aside))?,
                    Err(error) if is_nothing(&error) => {}
                    Err(error) => return Err(error),
                }
                if let Ok(made) = keeping.child(kept) {
                    began.take().map_or(Ok(()), |began| renew(&made, began))?;
                    keeping.rename(kept, (&top.made_folder(above)?, name))?;
                }
                move_any((&keeping, aside), (&keeping, kept))
            }
        }
    }
}

impl StoredPiece {
    fn unpacked(self, path: PathBuf, kept: PathBuf) -> Piece {
        match self {
            Self::Mode(mode) => Piece::Rights(path, Permissions::from_mode(mode & 0o7777)),
            Self::Content => Piece::Content(path, kept, None),
            Self::ContentOfCall(began) => {
                let began = UNIX_EPOCH.checked_add(Duration::from_secs(began));
                Piece::Content(path, kept, began)
            }
        }
    }
}

/// Looks at what is at a path of the copy, if anything is.
fn found_at(path: &Path) -> Result<Option<Metadata>, CliError> {
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_nothing(&error) => Ok(None),
        Err(error) => Err(copy::uncopied(path, error)),
    }
}

/// Whether it says that nothing is there.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Returns the folder that something is in, and its name there.
fn parted(path: &Path) -> io::Result<(&Path, &OsStr)> {
    Ok(path.parent().zip(path.file_name()).ok_or(ErrorKind::NotFound)?)
}

/// Moves what has a name in a folder, if anything has.
fn move_any((from, name): (&Source, &OsStr), to: (&Source, &OsStr)) -> io::Result<()> {
    match from.rename(name, to) {
        Err(error) if from.child(name).is_ok() => Err(error),
        _ => Ok(()),
    }
}

/// Has what changed since `began` change now: tools list files by their times.
fn renew(made: &Source, began: SystemTime) -> io::Result<()> {
    let metadata = made.metadata()?;
    if metadata.is_dir() {
        for name in made.names()? {
            renew(&made.child(&name)?, began)?;
        }
    }
    if metadata.modified()? >= began {
        // What cannot be set keeps the time of the copy.
        let _ = made.touch();
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own folders")]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    use super::*;

    #[test]
    fn a_path_of_a_bundle_that_leads_out_of_the_copy_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let scratch = place.path().canonicalize().unwrap();
        let [copy, kept] = ["roots/0", "made/0"].map(|name| scratch.join(name));
        for folder in [&copy, &kept] {
            fs::create_dir_all(folder).unwrap();
        }
        let makes = |path: &str| {
            fs::write(kept.join("0"), "made").unwrap();
            let call = format!(r#"{{"id":"c","paths":["{path}"],"pieces":["content"]}}"#);
            let stored = serde_json::from_str(&format!(r#"{{"calls":[{call}],"left_out":[]}}"#));
            let roots = vec![Root { recorded: "/work".into(), copy: copy.clone() }];
            Made::default().with(stored.unwrap(), &scratch).into_changes(&scratch, roots)("c")
        };
        for outside in ["../evil", "/work/../evil", "/evil", "/work", ""] {
            assert!(!makes(outside), "{outside}");
        }
        assert!(!scratch.join("roots/evil").exists());
        assert!(makes("/work/good"));
        assert_eq!(fs::read_to_string(copy.join("good")).unwrap(), "made");
    }

    #[test]
    fn a_folder_that_a_job_exchanges_for_a_link_leads_no_change_out_of_the_copy() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let [outside, scratch] = ["outside", "scratch"].map(|name| top.join(name));
        let copy = scratch.join("roots/0");
        for folder in [&outside, &outside.join("sub"), &copy.join("d"), &scratch.join("made/0")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::set_permissions(outside.join("sub"), Permissions::from_mode(0o700)).unwrap();
        fs::write(outside.join("canary"), "mine").unwrap();
        symlink(&outside, copy.join("e")).unwrap();
        let roots = [Root { recorded: "/work".into(), copy: copy.clone() }];
        let is_over = AtomicBool::new(false);
        let flip = || {
            while !is_over.load(Ordering::Relaxed) {
                let (one, other) = (copy.join("d"), copy.join("e"));
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        };
        let holding = Source::open(&scratch).unwrap();
        let attack = || {
            for _ in 0..2_000 {
                let kept = scratch.join("made/0/0");
                let _ = copy::remove(&kept);
                fs::write(&kept, "evil").unwrap();
                for path in ["d/canary", "d/none", "d/new/deep/none"] {
                    let mut piece = Piece::Content(path.into(), kept.clone(), Some(UNIX_EPOCH));
                    let _ = piece.exchange(&holding, (&scratch, &roots));
                }
                let mut piece = Piece::Rights("d/sub".into(), Permissions::from_mode(0o777));
                let _ = piece.exchange(&holding, (&scratch, &roots));
            }
            is_over.store(true, Ordering::Relaxed);
        };
        thread::scope(|scope| {
            scope.spawn(flip);
            attack();
        });
        assert_eq!(fs::read_to_string(outside.join("canary")).unwrap(), "mine");
        let mut names: Vec<_> =
            fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["canary", "sub"]);
        assert_eq!(fs::metadata(outside.join("sub")).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn what_cannot_be_looked_at_is_named() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        let found = |name: &str| found_at(&place.path().join(name)).map(|found| found.is_some());
        assert!(matches!(
            (found("file"), found("none"), found("file/none")),
            (Ok(true), Ok(false), Ok(false))
        ));
        let long = "n".repeat(300);
        let error = found(&long).unwrap_err().text(crate::texts::Language::English);
        assert!(error.contains(&format!("{long} cannot be copied: File name too long")), "{error}");
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_leads_its_permissions_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let [outside, copy] = ["outside", "copy"].map(|name| place.path().join(name));
        let mode = || fs::metadata(&outside).unwrap().permissions().mode() & 0o777;
        for folder in [&outside, &copy, &copy.join("kept")] {
            fs::create_dir(folder).unwrap();
        }
        fs::set_permissions(&outside, Permissions::from_mode(0o700)).unwrap();
        symlink(&outside, copy.join("link")).unwrap();
        let roots = [Root { recorded: "/work".into(), copy: copy.clone() }];
        let holding = Source::open(&copy).unwrap();
        let make = |name: &str| {
            let mut piece = Piece::Rights(name.into(), Permissions::from_mode(0o755));
            piece.exchange(&holding, (&copy, &roots))
        };
        assert!(make("link").is_err());
        assert_eq!(mode(), 0o700);
        make("kept").unwrap();
        assert_eq!(fs::metadata(copy.join("kept")).unwrap().permissions().mode() & 0o777, 0o755);
    }
}
