//! What the calls of a session changed, and taking it back: for the subcommands and for an
//! interactive session alike.
//!
//! The journal is the truth about files; the session's log only says in which step a call ran. What
//! a person changed since is shown and asked about, and nothing of it is touched without a yes.

mod conflicts;
mod diff;
mod files;
mod gone;
mod place;
mod restore;
mod steps;
mod waiting;
mod wish;

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use jiff::{Timestamp, tz::TimeZone};
use tenon_agent::{AgentOptions, read_session};
use tenon_model::visible;
use tenon_sandbox::{
    Changes, CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, Conflicts, Journal,
    JournalError, Patience, Trouble, Undone, Usage, Workspace,
};

use crate::{
    config::Config,
    error::CliError,
    masked::{self, masked},
    print::say_notices,
    setup,
    texts::{Language, Sentence, Text, summary},
};

pub(crate) use conflicts::{Conflict, can_overwrite, listed, listed_asked};
pub(crate) use files::{files, files_of_call};
pub(crate) use gone::Gone;
use place::Meant;
pub(crate) use place::forget;
use steps::Steps;
pub(crate) use wish::{Plan, Wish};

/// The calls of one session that changed something.
pub(crate) struct Past {
    pub(crate) journal: Journal,
    /// The session's id.
    pub(crate) session: String,
    /// The first folder of its workspace.
    pub(crate) root: PathBuf,
    /// Its folders, with those of earlier runs that can be opened.
    workspace: Workspace,
    /// The folder with the logs of sessions.
    logs: PathBuf,
    /// Ends the waiting for another process, where a session shows it.
    pub(crate) patience: Patience,
}

/// A call that changed something.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: CheckpointId,
    pub(crate) started: SystemTime,
    /// The id that the model gave it.
    pub(crate) call_id: String,
    /// The tool and its main argument.
    pub(crate) label: String,
    /// In which step it ran, from 1; unknown if the log is gone.
    pub(crate) step: Option<u32>,
    pub(crate) state: CheckpointState,
    pub(crate) changes: Changes,
    /// It is undone, but for what was not saved or others had changed since.
    in_part: bool,
    /// It was cut short in a folder that cannot be opened: nobody knows what it changed.
    is_unknown: bool,
}

/// What became of an undo or a redo.
pub(crate) enum Outcome {
    Done(Done),
    /// Nothing was touched.
    Refused(Vec<Conflict>),
}

/// What an undo or a redo did.
#[derive(Debug)]
pub(crate) struct Done {
    changes: Changes,
    kept: Vec<Conflict>,
    overwritten: Vec<Conflict>,
    /// What went along with folders that were moved back.
    moved: Vec<PathBuf>,
    /// Caches that may be newer than what was put back.
    stale: Vec<PathBuf>,
}

impl Past {
    /// Returns the past of `session`, or of the session that changed something in the workspace
    /// last.
    pub(crate) fn open(config: &Config, session: Option<&str>) -> Result<Self, CliError> {
        Self::open_if_any(config, session)?.ok_or_else(|| nothing(&config.root))
    }

    /// Returns the same; nothing if no session is named and none changed anything.
    pub(crate) fn open_if_any(
        config: &Config,
        session: Option<&str>,
    ) -> Result<Option<Self>, CliError> {
        Meant::find(config, session)?.map(|meant| Self::of_session(config, meant)).transpose()
    }

    /// Returns the past of `session`, or of the one whose undo is the last that stands in the
    /// workspace, and that undo.
    pub(crate) fn undone_last(
        config: &Config,
        session: Option<&str>,
    ) -> Result<(Self, CheckpointId), CliError> {
        let past = match session {
            Some(_) => Self::open(config, session)?,
            None => {
                if let Some(past) = Self::open_if_any(config, None)? {
                    past.take_back_cut_short()?;
                }
                Self::of_session(config, Meant::undone_last(config)?)?
            }
        };
        let undo = past.last_undo()?;
        Ok((past, undo))
    }

    /// Returns how much room everything takes that can be undone or redone in this folder.
    pub(crate) fn usage(config: &Config, session: Option<&str>) -> Result<Usage, CliError> {
        let journal = match Self::open_if_any(config, session)? {
            Some(past) => past.journal,
            None => journal(config, std::slice::from_ref(&config.root))?.0,
        };
        journal.usage().map_err(failed)
    }

    fn of_session(config: &Config, meant: Meant) -> Result<Self, CliError> {
        let (Meant { session, root }, logs) = (meant, config.folders.sessions());
        // The log may be gone; what is kept of the session is not.
        let read = read_session(&logs, &session).unwrap_or_default();
        let (journal, workspace) = journal(config, &place::roots_in(&read, &root))?;
        setup::tell_half_undone(config, &journal);
        let root = workspace.root().to_path_buf();
        let earlier = read.folders_with(&root);
        let journal = journal.knowing(&earlier);
        let (workspace, patience) = (with_folders(workspace, &earlier), Patience::default());
        Ok(Self { journal, session, workspace, root, logs, patience })
    }

    /// Returns the past of a session that is about to begin, unless nothing is recorded.
    pub(crate) fn of(options: &AgentOptions, config: &Config) -> Option<Self> {
        let root = options.workspace.root().to_path_buf();
        let earlier = options.resumed.as_ref().map(|session| session.folders_with(&root));
        let patience = Patience::default();
        Some(Self {
            journal: options.journal.clone()?.waiting(&patience),
            patience,
            session: options.log.as_ref()?.id().to_owned(),
            root,
            workspace: with_folders(options.workspace.clone(), &earlier.unwrap_or_default()),
            logs: config.folders.sessions(),
        })
    }

    /// Returns in which steps the calls ran, as the log has it by now.
    fn steps(&self) -> Steps {
        let session = read_session(&self.logs, &self.session);
        session.map(|session| Steps::read(&session.records, &self.root)).unwrap_or_default()
    }

    /// Returns the calls that changed something, the oldest first.
    pub(crate) fn calls(&self) -> Result<Vec<Call>, CliError> {
        let mut calls = self.all_calls()?;
        calls.retain(|call| !call.is_idle());
        Ok(calls)
    }

    /// Returns the same with those of which no list speaks.
    fn all_calls(&self) -> Result<Vec<Call>, CliError> {
        // Whatever is said of them names files.
        masked::read_all(&self.workspace);
        let infos = self.journal.checkpoints().map_err(failed)?;
        let own = infos
            .into_iter()
            .filter(|info| info.session == self.session && info.kind == CheckpointKind::Call);
        let (mut calls, steps) = (Vec::new(), self.steps());
        for info in own {
            let is_running = info.state == CheckpointState::Running;
            let changes = match self.journal.changes(info.id) {
                Ok(changes) => changes,
                Err(JournalError::Running { .. } | JournalError::Unknown { .. }) if is_running => {
                    Changes::default()
                }
                Err(JournalError::Unopened { .. }) => {
                    let (state, is_unknown) = (info.state, true);
                    let call = Call::new(info, Changes::default(), &steps);
                    calls.push(Call { state, is_unknown, ..call });
                    continue;
                }
                // What a power loss cut stands in no one's way.
                Err(
                    JournalError::Running { .. }
                    | JournalError::Unknown { .. }
                    | JournalError::Damaged { .. },
                ) => continue,
                Err(error) => return Err(failed(error)),
            };
            let mut call = Call::new(info, changes, &steps);
            if let CheckpointState::Undone { by } = call.state {
                // What cannot be read is not known to have stayed.
                call.take_in_kept(&self.journal.kept_by(by).unwrap_or_default());
            }
            calls.push(call);
        }
        self.learn_values(&calls);
        Ok(calls)
    }

    /// Returns the last `count` calls that changed something and stand, the newest first.
    pub(crate) fn last(&self, count: usize) -> Result<Vec<Call>, CliError> {
        self.take_back_cut_short()?;
        let mut calls = self.calls()?;
        let running = conflicts::running(&calls);
        calls.retain(|call| call.stands() && call.can_be_undone());
        calls.reverse();
        let end = ends(&calls).nth(count.saturating_sub(1));
        calls.truncate(if count == 0 { 0 } else { end.unwrap_or(calls.len()) });
        if !calls.is_empty() {
            return Ok(calls);
        }
        let gone = gone::said_of(&self.gone()?);
        let other = self.other_with_changes()?.map(|id| Text::HintUndoOther.with(&[("id", &id)]));
        let error =
            running.map_or_else(|| nothing(&self.root), |calls| not_yet(&self.root, &calls));
        Err(gone.into_iter().chain(other).fold(error, CliError::with_hint))
    }

    /// Returns the calls that an undo took back, the oldest first, as far as they are kept.
    pub(crate) fn undone_by(&self, undo: CheckpointId) -> Result<Vec<Call>, CliError> {
        let mut calls = self.calls()?;
        calls.retain(|call| matches!(call.state, CheckpointState::Undone { by } if by == undo));
        Ok(calls)
    }

    /// Returns the last other session of which something can be undone.
    fn other_with_changes(&self) -> Result<Option<String>, CliError> {
        let infos = self.journal.checkpoints().map_err(failed)?;
        let is_other = |info: &&CheckpointInfo| {
            info.kind == CheckpointKind::Call && info.session != self.session && stands(info.state)
        };
        // What cannot be read is not to be undone.
        let has_files = |info: &&CheckpointInfo| {
            self.journal.changes(info.id).is_ok_and(|changes| !changes.files.is_empty())
        };
        let found = infos.iter().rev().filter(is_other).find(has_files);
        Ok(found.map(|info| info.session.clone()))
    }

    /// Returns the undo that a redo takes back: the last one that stands. What it undid may be gone
    /// to make room; the undo itself has all that a redo needs.
    pub(crate) fn last_undo(&self) -> Result<CheckpointId, CliError> {
        masked::read_all(&self.workspace);
        self.take_back_cut_short()?;
        let infos = self.journal.checkpoints().map_err(failed)?;
        let own = |info: &&CheckpointInfo| info.session == self.session && stands_as_undo(info);
        let undo = infos.iter().rfind(own);
        undo.map(|info| info.id).ok_or_else(|| nothing_to_redo(&infos))
    }

    /// Before it is said what stands: what was half undone or redone when tenon was killed is not.
    fn take_back_cut_short(&self) -> Result<(), CliError> {
        match self.journal.is_half_undone() {
            true => self.journal.take_back_cut_short().map_err(failed),
            false => Ok(()),
        }
    }

    /// Takes `ids` back as one. What conflicts is put to `ask`, which says what is done about it;
    /// `None` is nothing. Says on standard error where it waits for another process.
    pub(crate) async fn take_back(
        &self,
        ids: &[CheckpointId],
        mut conflicts: Conflicts,
        language: Language,
        ask: impl AsyncFn(&[Conflict]) -> Option<Conflicts>,
    ) -> Result<Outcome, CliError> {
        let tell = |process| {
            say_notices(&[Text::UndoWaits.with(&[("process", &process)])], language);
        };
        loop {
            let attempt = || self.attempt(ids, &conflicts);
            let found = match self.telling(tell, attempt)? {
                Outcome::Refused(found) => found,
                done @ Outcome::Done(_) => return Ok(done),
            };
            match ask(&found).await {
                Some(answer) => conflicts = conflicts.and(answer),
                None => return Ok(Outcome::Refused(found)),
            }
        }
    }

    /// Does what may have to wait for another process, and tells once for which, after a while.
    pub(crate) fn telling<T>(&self, tell: impl FnOnce(u32) + Send, work: impl FnOnce() -> T) -> T {
        waiting::telling(&self.journal, tell, work)
    }

    /// Takes `ids` back as one if nothing conflicts, or as `conflicts` says. Looks at files.
    pub(crate) fn attempt(
        &self,
        ids: &[CheckpointId],
        conflicts: &Conflicts,
    ) -> Result<Outcome, CliError> {
        let undone = self.journal.undo(ids, &self.session, conflicts);
        let failed = |error| match (&error, conflicts) {
            // Who has tried it is not told to.
            (JournalError::NotRestored { .. }, Conflicts::Refuse | Conflicts::Overwrite(_)) => {
                failed(error).with_hint(Text::HintNotRestoredKeep)
            }
            _ => failed(error),
        };
        Ok(match undone.map_err(failed)? {
            Undone::Done { id, changes, kept, overwritten, moved } => {
                // It keeps what it took away. What cannot be removed now is by the next session.
                let _ = self.journal.prune();
                let stale = self.journal.stale_caches().into_iter();
                let stale = stale.filter(|stale| stale.by == id).map(|stale| stale.folder);
                let stale = stale.collect();
                let kept = self.named_by(kept, &[ids, &[id]].concat());
                let overwritten = overwritten.into_iter().map(Conflict::from).collect();
                Outcome::Done(Done { changes, kept, overwritten, moved, stale })
            }
            Undone::Conflicts(found) => Outcome::Refused(self.named_by(found, ids)),
        })
    }
}

impl Call {
    fn new(info: CheckpointInfo, changes: Changes, steps: &Steps) -> Self {
        let mut parts = info.name.splitn(3, '\t');
        let call_id = parts.next().unwrap_or_default().to_owned();
        let label = parts.collect::<Vec<_>>().join(" ");
        let step = steps.of(info.id, &call_id);
        let CheckpointInfo { id, started, state, .. } = info;
        let was_cut_short = changes.troubles.contains(&Trouble::Interrupted);
        let state = match state {
            // Only what it left could not be written down.
            CheckpointState::Interrupted if !was_cut_short => CheckpointState::Done,
            state => state,
        };
        let label = label.trim_end().to_owned();
        let (in_part, is_unknown) = (!changes.left_out.is_empty(), false);
        Self { id, started, call_id, label, step, state, changes, in_part, is_unknown }
    }

    /// Takes in what an undo of it and of others left as it was.
    fn take_in_kept(&mut self, kept: &[PathBuf]) {
        let mut files = self.changes.files.iter();
        self.in_part |= files.any(|file| {
            kept.iter().any(|kept| kept.starts_with(&file.path) || file.path.starts_with(kept))
        });
    }

    /// Whether anything of it may have been saved that an undo could put back.
    fn can_be_undone(&self) -> bool {
        self.is_unknown || !self.changes.files.is_empty()
    }

    /// Whether no list speaks of it: at most names came and went.
    fn is_idle(&self) -> bool {
        let is_unlisted = self.changes.files.is_empty() && self.changes.left_out.is_empty();
        let is_refused = self.changes.troubles.iter().any(|trouble| trouble.refusal().is_some());
        is_unlisted && !is_refused && !self.is_unknown && self.state != CheckpointState::Running
    }

    /// Whether it ran in the step `from` or later, or is the call of that id.
    fn is_from(&self, from: &str) -> bool {
        match from.parse::<u32>() {
            Ok(step) => self.step.is_some_and(|ran| ran >= step),
            Err(_) => self.call_id == from,
        }
    }

    /// Whether it is over and what it did was not undone.
    pub(crate) fn stands(&self) -> bool {
        stands(self.state)
    }

    /// Returns what it did in one line.
    fn summary(&self, language: Language) -> String {
        match self.changes.summary() {
            said if !said.is_empty() => summary(&said, language).into_owned(),
            _ if self.is_unknown || self.state == CheckpointState::Running => String::new(),
            _ => Text::OnlyTimes.template(language).to_owned(),
        }
    }
}

fn stands(state: CheckpointState) -> bool {
    matches!(state, CheckpointState::Done | CheckpointState::Interrupted)
}

/// Returns how many of `calls`, the newest first, are taken back with the first, the first two and so on;
/// all of them not. What was put back after a call is taken back with it.
fn ends(calls: &[Call]) -> impl Iterator<Item = usize> {
    let is_with =
        |back: &Call, call: &Call| back.label == setup::PUT_BACK && back.call_id == call.call_id;
    let is_next = move |pair: &[Call]| matches!(pair, [back, call] if !is_with(back, call));
    calls.windows(2).enumerate().filter(move |(_, pair)| is_next(pair)).map(|(index, _)| index + 1)
}

/// Says which calls still run, of which nothing is undone, and how many calls there are to undo if it is fewer than
/// were asked for.
pub(crate) fn notes_on(calls: &[Call], wanted: usize, past: &Past) -> Vec<Sentence> {
    fewer(calls, wanted).into_iter().chain(past.still_running()).collect()
}

fn fewer(calls: &[Call], wanted: usize) -> Option<Sentence> {
    let there_are = ends(calls).count() + 1;
    let text = if there_are == 1 { Text::OnlyOneToUndo } else { Text::OnlySoManyToUndo };
    (there_are < wanted).then(|| text.with(&[("n", &there_are)]))
}

/// Returns what a list of calls is called in a line each.
pub(crate) fn named(calls: &[Call], language: Language) -> String {
    calls
        .iter()
        .map(|call| (shown(&call.label), shown(&call.summary(language))))
        .map(|(call, did)| Text::WithMore.say(language, &[("said", &call), ("more", &did)]))
        .map(|line| format!("  {line}\n"))
        .collect()
}

/// Returns what an undo (or a redo) put back, for people.
pub(crate) fn told(text: Text, done: &Done, language: Language) -> String {
    let files = files(&done.changes, language);
    let text = if files.is_empty() { Text::NoFileChanged } else { text };
    let mut said = format!("{}\n{files}", text.template(language));
    let lists = [(Text::UndoMoved, &done.moved), (Text::UndoStale, &done.stale)];
    for (title, paths) in lists.into_iter().filter(|(_, paths)| !paths.is_empty()) {
        said.push_str(&format!("{}\n", title.template(language)));
        let paths = paths.iter().map(|path| shown(&path.to_string_lossy()));
        said.extend(paths.map(|path| format!("  {path}\n")));
    }
    let lists = [(Text::UndoOverwrote, &done.overwritten), (Text::UndoKept, &done.kept)];
    for (title, conflicts) in lists.into_iter().filter(|(_, conflicts)| !conflicts.is_empty()) {
        said.push_str(&format!("{}\n", title.template(language)));
        said.push_str(&listed(conflicts, language));
    }
    said
}

/// Returns `text` on one line, without known secrets and what a terminal would obey.
pub(crate) fn shown(text: &str) -> String {
    in_line(&masked(text))
}

fn in_line(text: &str) -> String {
    visible(&text.replace('\n', "␊")).into_owned()
}

/// Whether it is an undo that a redo takes back.
fn stands_as_undo(info: &CheckpointInfo) -> bool {
    info.state == CheckpointState::Done && info.is_undo()
}

/// Returns the journal of a workspace, and the workspace.
fn journal(config: &Config, roots: &[PathBuf]) -> Result<(Journal, Workspace), CliError> {
    let gone = |error| CliError::failed(Text::WorkspaceUnopened).with_source(error);
    let (first, rest) = roots.split_first().ok_or_else(|| nothing(&config.root))?;
    let workspace = with_folders(Workspace::open(first).map_err(gone)?, rest);
    let journal = Journal::open(&workspace, setup::journal_options(config)).map_err(failed)?;
    setup::look_after_killed(config, &journal);
    Ok((journal, workspace))
}

/// Returns the workspace with those of the folders that can be opened.
fn with_folders(workspace: Workspace, folders: &[PathBuf]) -> Workspace {
    folders.iter().fold(workspace, |workspace, folder| {
        workspace.clone().with_root(folder).unwrap_or(workspace)
    })
}

fn nothing(root: &Path) -> CliError {
    CliError::failed(Text::NothingToUndo.with(&[("folder", &root.display())]))
        .with_hint(Text::HintNothingToUndo)
}

/// Says that only calls that still run may have changed something.
fn not_yet(root: &Path, calls: &str) -> CliError {
    CliError::failed(Text::NothingToUndoYet.with(&[("folder", &root.display())]))
        .with_hint(Text::HintOnceOver.with(&[("calls", &calls)]))
}

/// `infos` are all that is kept: where numbers are missing, an undo may have gone.
fn nothing_to_redo(infos: &[CheckpointInfo]) -> CliError {
    let newest = infos.last().and_then(|info| info.id.to_string().parse::<usize>().ok());
    let error = CliError::failed(Text::NothingToRedo);
    match newest.is_some_and(|newest| newest > infos.len()) {
        true => error.with_hint(Text::HintNothingToRedo),
        false => error,
    }
}

/// Returns what the journal could not do, as an error of the program.
pub(crate) fn failed(error: JournalError) -> CliError {
    let failed = CliError::failed(Text::UndoFailed);
    match &error {
        JournalError::GivenUp => CliError::failed(Text::WaitingEnded),
        JournalError::Held { process } => held(*process),
        JournalError::Running { .. } => failed.with_source(error).with_hint(Text::HintUndoRunning),
        JournalError::NotRestored { .. } | JournalError::Unopened { .. } => {
            failed.with_source(error).with_hint(Text::HintNotRestored)
        }
        _ => failed.with_source(error),
    }
}

/// Says that another process has the undo store for long.
fn held(process: Option<u32>) -> CliError {
    let error = match process {
        Some(process) => CliError::failed(Text::UndoHeldBy.with(&[("process", &process)])),
        None => CliError::failed(Text::UndoHeld),
    };
    error.with_hint(Text::HintUndoHeld)
}

/// Returns the line above what a call changed.
pub(crate) fn line(call: &Call, language: Language) -> String {
    let started = Timestamp::try_from(call.started).unwrap_or_default();
    let started = started.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
    let step = call.step.map_or("?".to_owned(), |step| step.to_string());
    let state = match call.state {
        CheckpointState::Done => "",
        CheckpointState::Running => Text::StateRunning.template(language),
        CheckpointState::Interrupted => Text::StateInterrupted.template(language),
        CheckpointState::Undone { .. } if call.in_part => {
            Text::StateUndoneInPart.template(language)
        }
        CheckpointState::Undone { .. } => Text::StateUndone.template(language),
    };
    let values: [(&str, &dyn std::fmt::Display); 4] =
        [("step", &step), ("time", &started), ("call", &shown(&call.label)), ("state", &state)];
    let line = Text::ChangesOf.say(language, &values);
    format!("{}\n", line.trim_end())
}

/// Returns how much room checkpoints take, in a line.
pub(crate) fn usage(usage: &Usage, language: Language) -> String {
    let mib = |bytes: u64| format!("{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20);
    let (bytes, bytes_max) = (mib(usage.bytes), mib(usage.bytes_max));
    let values: [(&str, &dyn std::fmt::Display); 3] =
        [("n", &usage.checkpoints), ("bytes", &bytes), ("bytes_max", &bytes_max)];
    format!("{}\n", Text::UndoUsage.say(language, &values))
}
