//! What was undone, by whatever way and from wherever: the journal knows it, and the log is told before each
//! prompt, each request and the calls of each reply, so that the log alone says what the files were.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use tenon_sandbox::{CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, Journal};

use crate::{
    event::{CallEvent, SessionEvent},
    options::AgentOptions,
    session::{LogError, Session},
    session_note::{IdleCall, SessionNote},
};

/// More paths that an undo left as they were, moved along, or left out, are not written down.
const PATHS_MAX: usize = 100;

/// The undos of one session that its log does not have yet.
pub(super) struct UndoneSince {
    journal: Journal,
    session: String,
    roots: Vec<PathBuf>,
    /// The last checkpoint that was looked at.
    known: CheckpointId,
    /// Whether the conversation is another than the one that was told last.
    branch_changed: bool,
    /// Whether the log was told of something in the middle of a turn, and the model not yet.
    is_untold: bool,
    /// A replay tells what was told.
    is_replay: bool,
}

impl UndoneSince {
    /// Returns what looks for undos of the session that is about to begin or go on; `None` if it has
    /// no log or nothing can be undone.
    pub(super) fn of(options: &AgentOptions) -> Option<Self> {
        let journal = options.journal.clone()?;
        let session = options.log.as_ref()?.id().to_owned();
        let roots = options.workspace.roots();
        // In another folder checkpoints are counted anew.
        let stays = |session: &&Session| {
            session.worked_with().is_some_and(|(folders, _)| *folders == *roots)
        };
        let resumed = options.resumed.as_ref().filter(stays).and_then(|it| told_until(it, &roots));
        let known = match resumed {
            Some(known) => known,
            None => journal.newest().ok()?.unwrap_or(CheckpointId::new(0)),
        };
        let (branch_changed, is_replay) = (options.resumed.is_some(), options.stand_in.is_some());
        let is_untold = false;
        Some(Self { journal, session, roots, known, branch_changed, is_untold, is_replay })
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Notes that the conversation went back.
    pub(super) fn set_branch_changed(&mut self) {
        self.branch_changed = true;
    }

    /// Returns whether the model may have to be told something; `something_undone` since the last prompt.
    pub(super) fn is_news_due(&mut self, something_undone: bool) -> bool {
        let is_untold = std::mem::take(&mut self.is_untold);
        (std::mem::take(&mut self.branch_changed) || something_undone || is_untold)
            && !self.is_replay
    }

    /// Notes that the log was told of something that the model is told with the next prompt.
    pub(super) fn set_untold(&mut self) {
        self.is_untold = true;
    }

    /// Returns what was undone since the last time this was asked, in order: by this session, and by others of what the
    /// log that `read` gives knows, as a fork knows calls of the session that it left.
    pub(super) fn take(
        &mut self,
        read: impl FnOnce() -> Result<Option<Session>, LogError>,
    ) -> Result<Vec<SessionNote>, LogError> {
        // What cannot be read now is asked for again.
        let Ok(infos) = self.journal.checkpoints_after(self.known) else { return Ok(Vec::new()) };
        let is_undo = |info: &CheckpointInfo| matches!(info.kind, CheckpointKind::Undo { .. });
        let is_of_other = |info: &CheckpointInfo| info.session != self.session && is_undo(info);
        let stale = match infos.iter().any(is_undo) {
            true => self.journal.stale_caches(),
            false => Vec::new(),
        };
        let mut of_log = match infos.iter().any(is_of_other) {
            true => read()?.map_or_else(HashSet::new, |session| in_log(&session, &self.roots)),
            false => HashSet::new(),
        };
        let mut notes = Vec::new();
        for info in infos {
            if let CheckpointKind::Undo { of } = info.kind {
                // One that was cut short and could not be taken back is told once it is.
                if matches!(info.state, CheckpointState::Running | CheckpointState::Interrupted) {
                    break;
                }
                let is_own = info.session == self.session;
                // The log has nothing else of a call of which no list speaks.
                let idle = if is_own { self.idle(&of) } else { Vec::new() };
                let is_told = |id: &CheckpointId| {
                    of_log.contains(&id.number()) || is_own && !self.journal.is_idle(*id)
                };
                let of = of.into_iter().filter(is_told).map(CheckpointId::number);
                let of: Vec<u64> = of.collect();
                if is_own || !of.is_empty() {
                    of_log.insert(info.id.number());
                    // Where it cannot be read, nothing is known to have stayed.
                    let kept = self.journal.kept_by(info.id).unwrap_or_default();
                    let moved = self.journal.moved_by(info.id).unwrap_or_default();
                    let of_this = stale.iter().filter(|stale| stale.by == info.id);
                    let stale = shown(of_this.map(|stale| stale.folder.as_path()));
                    let [kept, moved] =
                        [kept, moved].map(|paths| shown(paths.iter().map(PathBuf::as_path)));
                    let by = info.id.number();
                    notes.push(SessionNote::FilesUndone { by, of, idle, kept, moved, stale });
                }
            }
            self.known = info.id;
        }
        Ok(notes)
    }

    /// Returns those of the checkpoints that are of calls of which no list speaks.
    fn idle(&self, of: &[CheckpointId]) -> Vec<IdleCall> {
        let idle: HashSet<CheckpointId> =
            of.iter().copied().filter(|id| self.journal.is_idle(*id)).collect();
        if idle.is_empty() {
            return Vec::new();
        }
        let infos = self.journal.checkpoints().unwrap_or_default();
        let calls = infos.iter().filter(|info| idle.contains(&info.id)).map(|info| IdleCall {
            checkpoint: info.id.number(),
            call_id: info.name.split('\t').next().unwrap_or_default().to_owned(),
        });
        calls.collect()
    }
}

fn shown<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<String> {
    paths.take(PATHS_MAX).map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Returns the checkpoints that the log of `session` knows. In other folders they are counted anew.
fn in_log(session: &Session, roots: &[PathBuf]) -> HashSet<u64> {
    let (mut known, mut is_here) = (HashSet::new(), false);
    for record in &session.records {
        match &record.event {
            SessionEvent::Session(
                SessionNote::SessionStarted { workspace, .. }
                | SessionNote::SessionResumed { workspace, .. },
            ) => is_here = *workspace == *roots,
            SessionEvent::Session(SessionNote::FilesUndone { by, .. }) if is_here => {
                known.insert(*by);
            }
            SessionEvent::Call(CallEvent::CallChanged(changes)) if is_here => {
                known.extend(changes.checkpoint);
            }
            _ => {}
        }
    }
    known
}

/// Returns up to where the log of `session` has what was undone; `None` if nothing of it can have
/// been undone.
fn told_until(session: &Session, roots: &[PathBuf]) -> Option<CheckpointId> {
    let (mut told, mut first_change, mut from_first, mut is_here) = (None, None, None, true);
    for record in &session.records {
        match &record.event {
            SessionEvent::Session(
                SessionNote::SessionStarted { workspace, .. }
                | SessionNote::SessionResumed { workspace, .. },
            ) => is_here = workspace.first() == roots.first(),
            _ if !is_here => {}
            SessionEvent::Session(SessionNote::FilesUndone { by, .. }) => {
                told = told.max(Some(*by));
            }
            SessionEvent::Call(CallEvent::CallChanged(changes)) => {
                first_change = first_change.or(changes.checkpoint);
            }
            // What a call changed that no list names, was cut short or began a job is not in the log.
            SessionEvent::Call(CallEvent::CallStarted { .. }) => from_first = Some(0),
            _ => {}
        }
    }
    told.or(first_change).or(from_first).map(CheckpointId::new)
}
