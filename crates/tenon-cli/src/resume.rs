//! Which session a run goes on with: flags, the choice among sessions, and what is told of one.

use std::{
    error::Error,
    fmt::Display,
    io::{self, BufRead, IsTerminal, Write},
    path::{Path, PathBuf},
};

use clap::Args as ArgumentGroup;
use tenon_agent::{
    LogError, ModelEvent, Record, Session, SessionEvent, SessionLog, SessionNote, SessionSummary,
    TurnEvent, list_sessions, read_session, rename_session,
};
use tenon_model::visible;
use tenon_sandbox::{RootMoved, Workspace};

use crate::{
    config::Config,
    error::CliError,
    masked::{masked, records},
    render,
    screen::{Look, Sink, forget_typed},
    texts::{Language, Sentence, Text},
    which_session::{self, is_taken, line},
};

/// Sessions that are offered to choose from: more do not fit a screen.
const OFFERED_MAX: usize = 20;

/// What is drawn of the last turn of a session that goes on, in bytes (about): some screens.
const TOLD_BYTES_MAX: usize = 40_000;
/// What any other record than prose takes of it: a box is a few lines.
const RECORD_BYTES: usize = 500;

/// Which session goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, ArgumentGroup)]
pub(crate) struct ResumeArgs {
    /// Go on with the session that was used last in this folder
    #[arg(short, long = "continue")]
    continue_last: bool,

    /// Go on with a session: its id, the beginning of one, or its name; without one, choose
    #[arg(short, long, value_name = "ID", num_args = 0..=1)]
    resume: Option<Option<String>>,

    /// With --continue or --resume: leave that session as it is and go on in a new one
    #[arg(long)]
    fork: bool,

    /// With --continue or --resume: go back before the last N turns first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rewind: Option<u32>,

    /// Give the session a name, for --resume NAME
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Whether the session's own model counts more than the one of the command line.
    #[arg(skip)]
    pub(crate) own_model: bool,
}

/// A session that goes on.
#[derive(Debug)]
pub(crate) struct Resumed {
    /// As it is now.
    pub(crate) session: Session,
    /// Locked; `None` if a fork is made of it.
    log: Option<SessionLog>,
    /// The folder that it works in, if the fork is to work in another.
    left: Option<PathBuf>,
}

/// A session that begins or goes on.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) log: SessionLog,
    /// What it goes on with.
    pub(crate) session: Option<Session>,
    /// Says that it is a new one because the other works in another folder; in English, as the model and
    /// a report in JSON have it.
    pub(crate) moved: Option<String>,
}

impl ResumeArgs {
    /// Returns these arguments with what `other` lacks filled in.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            continue_last: self.continue_last || other.continue_last,
            resume: self.resume.or(other.resume),
            fork: self.fork || other.fork,
            rewind: self.rewind.or(other.rewind),
            name: self.name.or(other.name),
            own_model: self.own_model || other.own_model,
        }
    }

    /// Returns what goes on with session `id` and its own model.
    pub(crate) fn of(id: &str) -> Self {
        Self { resume: Some(Some(id.to_owned())), own_model: true, ..Self::default() }
    }

    /// Returns what leaves session `id` as it is and goes on in a new one.
    pub(crate) fn fork_of(id: &str) -> Self {
        Self { resume: Some(Some(id.to_owned())), fork: true, ..Self::default() }
    }

    /// Returns the session that goes on; `None` if a new one is meant. `has_folder` is whether the
    /// command line names the folder to work in.
    pub(crate) fn find(
        &self,
        config: &Config,
        has_folder: bool,
    ) -> Result<Option<Resumed>, CliError> {
        let folder = config.folders.sessions();
        let sessions = || list_sessions(&folder).map_err(unreadable);
        let id = match (&self.resume, self.continue_last) {
            (Some(_), true) => {
                return Err(CliError::usage(Text::TwoSessions));
            }
            (None, false) if self.fork || self.rewind.is_some() => {
                return Err(
                    CliError::usage(Text::ForkNeedsSession).with_hint(Text::HintForkNeedsSession)
                );
            }
            (None, false) => return Ok(None),
            (None, true) => last_here(sessions()?, &config.root, |id| works_in(&folder, id))?,
            (Some(Some(wanted)), false) => which_session::find(wanted, &sessions()?)
                .map_err(|error| error.with_hint(Text::HintResumeTakes))?
                .id
                .clone(),
            (Some(None), false) => choose(here(sessions()?, &config.root), config.look().language)?,
        };
        let read = || read_session(&folder, &id).map_err(unreadable);
        // A session works in one folder; who names another one goes on in a new session.
        let (log, session, left) = match self.fork || has_folder {
            true => {
                let session = read()?;
                let left = folder_of(&session).filter(|folder| *folder != real(&config.root));
                match self.fork || left.is_some() {
                    true => (None, session, left),
                    false => opened(&folder, &id)?,
                }
            }
            false => opened(&folder, &id)?,
        };
        self.check_rewind(&session)?;
        if !has_folder {
            check_folder(&session, &config.root)?;
        }
        Ok(Some(Resumed { session, log, left }))
    }

    /// Refuses to go back before more turns than there are.
    fn check_rewind(&self, session: &Session) -> Result<(), CliError> {
        let Some(wanted) = self.rewind else { return Ok(()) };
        let turns = match session.rewind(wanted) {
            Some(SessionNote::Rewound { turns, .. }) => turns,
            _ => 0,
        };
        match turns < wanted {
            true => {
                Err(CliError::usage(Text::RewindTooFar.with(&[("n", &turns), ("wanted", &wanted)])))
            }
            false => Ok(()),
        }
    }

    /// Returns the log of the session, new or not, and what it goes on with; names it and goes
    /// back in it as was said.
    pub(crate) fn open(
        &self,
        config: &Config,
        resumed: Option<Resumed>,
    ) -> Result<Opened, CliError> {
        let folder = config.folders.sessions();
        let mut moved = None;
        let (log, mut session) = match resumed {
            None => (SessionLog::create(&folder)?, None),
            Some(Resumed { session, log: Some(log), .. }) => (log, Some(session)),
            Some(Resumed { session: old, log: None, left }) => {
                let root = real(&config.root);
                let roots = left.iter().map(|_| root.clone()).collect::<Vec<_>>();
                let (log, session) =
                    SessionLog::fork_to(&folder, &old.id, &roots).map_err(unreadable)?;
                moved = left.map(|left| {
                    let (left, root) = (left.display(), root.display());
                    format!(
                        "session {} works in {left}; this is a new session, {}, in {root}: what was said of \
                         paths and files before is of the other folder",
                        old.id,
                        log.id(),
                    )
                });
                (log, Some(session))
            }
        };
        if let Some(turns) = self.rewind {
            session = Some(log.rewind(turns)?);
        }
        if let Some(name) = &self.name {
            name_session(&folder, log.id(), name)?;
        }
        Ok(Opened { log, session, moved })
    }
}

/// Opens the log of a session that goes on itself.
fn opened(
    folder: &Path,
    id: &str,
) -> Result<(Option<SessionLog>, Session, Option<PathBuf>), CliError> {
    let (log, session) = SessionLog::open(folder, id).map_err(unreadable)?;
    Ok((Some(log), session, None))
}

/// Names the session `id`. A name is listed wherever sessions are, so it holds no secret.
pub(crate) fn name_session(folder: &Path, id: &str, name: &str) -> Result<(), CliError> {
    if masked(name) != name {
        return Err(CliError::usage(Text::NameHoldsSecret));
    }
    if is_taken(name) {
        return Err(CliError::usage(Text::NameTaken.with(&[("name", &name.trim())])));
    }
    let sessions = list_sessions(folder).map_err(unreadable)?;
    let is_other =
        |other: &&SessionSummary| other.id != id && other.name.as_deref() == Some(name.trim());
    if let Some(other) = sessions.iter().find(is_other) {
        return Err(CliError::usage(
            Text::NameInUse.with(&[("name", &name.trim()), ("id", &other.id)]),
        ));
    }
    rename_session(folder, id, name).map_err(|error| {
        match error.source().and_then(|why| why.downcast_ref::<io::Error>()) {
            // What is wrong is the name, not the file of names.
            Some(why) if why.kind() == io::ErrorKind::InvalidInput => {
                let why = Sentence::of_library(why);
                CliError::usage(Sentence::from(Text::NameRefused).with_more(why))
            }
            _ => CliError::usage(Text::NameRefused).with_source(error),
        }
    })
}

/// Returns what a person is told of a session that goes on: that it does, and its last turn.
pub(crate) fn told(session: &Session, look: &Look) -> String {
    let is_prompt = |record: &&Record| {
        matches!(record.event, SessionEvent::Turn(TurnEvent::UserMessage { at_step: false, .. }))
    };
    let branch: Vec<&Record> = session.branch().collect();
    let turns = branch.iter().filter(|record| is_prompt(record)).count();
    let said = if turns == 1 { Text::ResumedOne } else { Text::Resumed };
    let said = said.say(look.language, &[("id", &visible(&session.id)), ("turns", &turns)]);
    let last = branch.iter().rposition(is_prompt).unwrap_or(branch.len());
    let start = last.max(end_of(&branch));
    let omitted = match start > last {
        true => Text::BeginningOmitted.say(look.language, &[("id", &visible(&session.id))]) + "\n",
        false => String::new(),
    };
    let (style, shown) = (look.style(Sink::Output), records(branch.into_iter().skip(start)));
    let last_turn = match style.redraws {
        true => render::transcript_as_live(&shown, &style),
        false => render::transcript(&shown, &style),
    };
    format!("{said}\n{omitted}{last_turn}")
}

/// Returns where the last records begin that take about [`TOLD_BYTES_MAX`] on the screen.
fn end_of(branch: &[&Record]) -> usize {
    let bytes = |record: &Record| match &record.event {
        SessionEvent::Model(ModelEvent::AssistantMessage { message, .. }) => message.text().len(),
        _ => RECORD_BYTES,
    };
    let mut left = TOLD_BYTES_MAX;
    let fits = |record: &&&Record| match left.checked_sub(bytes(record)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let shown = branch.iter().rev().take_while(fits).count();
    // The last of all is shown, however long it is.
    branch.len() - shown.max(1).min(branch.len())
}

/// Returns how the session is gone on with, if anything was said in it.
pub(crate) fn how_to_go_on(config: &Config, id: &str) -> Option<String> {
    let sessions = list_sessions(&config.folders.sessions()).ok()?;
    let session = sessions.into_iter().find(|session| session.id == id)?;
    let name =
        session.name.filter(|name| !name.contains(char::is_whitespace) && masked(name) == *name);
    let name = name.unwrap_or(session.id);
    let text = if config.root.is_dir() { Text::GoOnHint } else { Text::GoOnElsewhereHint };
    let folder = config.root.to_string_lossy();
    let values: [(&str, &dyn Display); 2] =
        [("id", &visible(&name)), ("folder", &visible(&folder))];
    (!session.prompt.is_empty()).then(|| text.say(config.look().language, &values))
}

/// Fails where a folder of the session `id` is gone: no session could be begun or gone on with from here, and what
/// runs in the background would end with this one.
pub(crate) fn check_can_leave(workspace: &Workspace, id: &str) -> Result<(), CliError> {
    match workspace.open_roots().check() {
        Err(gone @ RootMoved::Gone(_)) => Err(CliError::failed(Text::WorkspaceUnopened)
            .with_source(gone)
            .with_hint(Text::HintGoOnElsewhere.with(&[("id", &id)]))),
        _ => Ok(()),
    }
}

/// Turns an error of a log into one of the program.
pub(crate) fn unreadable(error: LogError) -> CliError {
    if error.is_in_use() {
        return CliError::usage(Text::SessionInUse)
            .with_source(error)
            .with_hint(Text::HintSessionInUse);
    }
    if error.is_unwritable() {
        return error.into();
    }
    CliError::failed(Text::SessionUnreadable).with_source(error)
}

/// Says what of a log could not be read, if anything; in English, as a report in JSON has it.
pub(crate) fn damage(session: &Session) -> Option<String> {
    match session.skipped {
        0 => None,
        1 => Some("1 event is left out: damaged, or of another version of tenon".to_owned()),
        n => Some(format!("{n} events are left out: damaged, or of another version of tenon")),
    }
}

/// Returns the sessions of the folder `root` in which something was said, last used first.
pub(crate) fn here(mut sessions: Vec<SessionSummary>, root: &Path) -> Vec<SessionSummary> {
    let root = real(root);
    sessions.retain(|session| session.workspace == root && !session.prompt.is_empty());
    sessions.sort_by_key(|session| std::cmp::Reverse((session.used_ms, session.id.clone())));
    sessions
}

/// Returns the session that was used last in the folder `root`; `works_in` says where one works by now,
/// which an older version of tenon may have moved.
fn last_here(
    sessions: Vec<SessionSummary>,
    root: &Path,
    works_in: impl Fn(&str) -> Option<PathBuf>,
) -> Result<String, CliError> {
    let is_here = |session: &SessionSummary| {
        works_in(&session.id).is_none_or(|folder| folder == session.workspace)
    };
    here(sessions, root).into_iter().find(is_here).map(|session| session.id).ok_or_else(|| {
        CliError::usage(Text::NoSessionIn.with(&[("folder", &root.display())]))
            .with_hint(Text::HintAllSessions)
    })
}

/// Returns the folder that a session works in.
fn works_in(sessions: &Path, id: &str) -> Option<PathBuf> {
    read_session(sessions, id).ok().as_ref().and_then(folder_of)
}

fn folder_of(session: &Session) -> Option<PathBuf> {
    session.worked_with().and_then(|(folders, _)| folders.first()).cloned()
}

/// Returns a folder as logs name it.
fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

/// Asks which session goes on.
fn choose(mut sessions: Vec<SessionSummary>, language: Language) -> Result<String, CliError> {
    let none = |text: Text| CliError::usage(text).with_hint(Text::HintChooseSession);
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(none(Text::NoTerminalToChoose));
    }
    if sessions.is_empty() {
        return Err(none(Text::NoSessionHere));
    }
    sessions.truncate(OFFERED_MAX);
    let mut text = String::new();
    for (number, session) in sessions.iter().enumerate() {
        text.push_str(&format!("{:>3}  {}", number + 1, line(session)));
    }
    text.push_str(Text::ChooseNumber.template(language));
    forget_typed();
    let mut out = io::stderr().lock();
    // The question shows in the answer that does not come.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let number: usize = answer.trim().parse().unwrap_or_default();
    match sessions.get(number.wrapping_sub(1)) {
        Some(session) => Ok(session.id.clone()),
        None => Err(none(Text::NoSessionChosen)),
    }
}

fn check_folder(session: &Session, root: &Path) -> Result<(), CliError> {
    match folder_of(session).filter(|folder| *folder != real(root)) {
        Some(folder) => {
            let (is_there, folder) = (folder.is_dir(), folder.display());
            let hint = match is_there {
                true => format!("tenon --cwd {folder} --resume {}", session.id).into(),
                false => Sentence::from(Text::HintFolderGone),
            };
            let said = Text::SessionElsewhere.with(&[("id", &session.id), ("folder", &folder)]);
            Err(CliError::usage(said).with_hint(hint).with_hint(Text::HintMoveSession))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_long_turn_the_end_is_told() {
        let answer = |bytes: usize| -> Record {
            let content = json!([{"type": "text", "text": "x".repeat(bytes)}]);
            let event = json!({"type": "assistant_message", "time_ms": 5, "duration_ms": 5,
                "message": {"role": "assistant", "content": content}, "usage": {"input": 1, "output": 1}});
            serde_json::from_value(event).unwrap()
        };
        let cases: [(&[usize], usize); 4] = [
            (&[10, 10], 0),
            (&[TOLD_BYTES_MAX, 10, 20], 1),
            (&[10, TOLD_BYTES_MAX + 1], 1),
            (&[], 0),
        ];
        for (answers, start) in cases {
            let records: Vec<Record> = answers.iter().map(|bytes| answer(*bytes)).collect();
            let branch: Vec<&Record> = records.iter().collect();
            assert_eq!(end_of(&branch), start, "{answers:?}");
        }
    }

    #[test]
    fn the_session_used_last_in_this_folder_is_the_last_one() {
        let session = |id: &str, used_ms, workspace: &str, prompt: &str| SessionSummary {
            id: id.into(),
            name: None,
            started_ms: 0,
            used_ms,
            workspace: workspace.into(),
            model: "m".into(),
            prompt: prompt.into(),
            bytes: 0,
        };
        let sessions = vec![
            session("a", 9, "/nowhere/a", "x"),
            session("b", 3, "/nowhere/b", "x"),
            session("c", 5, "/nowhere/b", "x"),
            session("d", 7, "/nowhere/b", ""),
        ];
        let ids = |root: &str| -> Vec<String> {
            here(sessions.clone(), Path::new(root)).into_iter().map(|session| session.id).collect()
        };
        assert_eq!(ids("/nowhere/b"), ["c", "b"]);
        let last = |moved: &str| {
            let works_in = |id: &str| (id == moved).then(|| PathBuf::from("/nowhere/a"));
            last_here(sessions.clone(), Path::new("/nowhere/b"), works_in).ok()
        };
        assert_eq!(last("none").as_deref(), Some("c"));
        assert_eq!(last("c").as_deref(), Some("b"), "an older version moved it away");
        assert!(last_here(sessions.clone(), Path::new("/nowhere/c"), |_| None).is_err());
    }
}
