//! `tenon replay SESSION`.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use serde::Serialize;
use tenon_agent::{
    Diverged, Divergence, ModelEvent, Record, ReplayOptions, Replayed, Session, SessionEvent,
    TurnEvent, diff_hunks, list_sessions, read_session,
};

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    json,
    past::shown,
    print::{print, say_notices},
    render,
    replay::{Rebuilt, is_bundle, unpack},
    resume::{damage, unreadable},
    screen::{Look, Sink},
    setup,
    texts::{Language, Sentence, Text, translated},
    which_session::{find, is_known},
};

/// Run a session again with the recorded model and the real tools, and show what differs first
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {
    /// The session's id or its beginning, its name, or `last`; or a bundle or a log, by its path
    #[arg(value_name = "SESSION|FILE")]
    session: String,

    /// End behind this step
    #[arg(long, value_name = "STEP", value_parser = clap::value_parser!(u32).range(1..))]
    until: Option<u32>,

    /// Run no tools, and take their results from this session, log or bundle; no workspace is needed
    #[arg(long, value_name = "LOG")]
    with_tools_from: Option<String>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// What a name or a path stands for.
enum Found {
    Session(Session),
    Bundle(PathBuf),
}

#[derive(Serialize)]
struct Report<'a> {
    session: &'a str,
    steps: u32,
    calls: u32,
    /// Null if nothing differs.
    divergence: Option<Shown<'a>>,
    /// Why not all of the recording was replayed; null if it was, or if that was asked for.
    ended_early: Option<&'a str>,
    /// Calls that left the walls or were cut short: the recorded results were taken.
    not_run: &'a [String],
    notes: &'a [String],
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    divergence: &'a Divergence,
    diff: String,
}

impl Replay {
    pub(super) async fn execute(self, mut config: Config) -> Result<ExitStatus, CliError> {
        let mut notes = Vec::new();
        let results_of = match &self.with_tools_from {
            Some(wanted) => Some(match found(wanted, &config, &mut notes)? {
                Found::Session(session) => session,
                // Its workspace goes at once.
                Found::Bundle(path) => unpack(&path, &config)?.0,
            }),
            None => None,
        };
        let (session, mut files) = match found(&self.session, &config, &mut notes)? {
            Found::Session(session) => {
                let session = with_requests(session)?;
                let files = match results_of {
                    Some(_) => Rebuilt::nothing(&session, &config)?,
                    None => Rebuilt::of(&session, &config)?,
                };
                (session, files)
            }
            Found::Bundle(path) => {
                let (session, files) = unpack(&path, &config)?;
                (with_requests(session)?, files)
            }
        };
        self.check_until(&session)?;
        files.notes.append(&mut notes);
        files.notes.extend(damage(&session));
        let runs = results_of.is_none();
        let ready = setup::replaying(&mut config, &session, &files, runs).await?;
        let how = ReplayOptions {
            until: self.until,
            results_of,
            places: ready.places,
            places_above: files.above(),
            tools_for: Some(ready.tools_for),
            changes_of: Some(files.changes_of_calls()),
            log_is_masked: files.log_is_masked,
        };
        let replayed = tokio::select! {
            // Its own log is nothing to go on with.
            replayed = tenon_agent::replay(&session, ready.options, how) => replayed
                .map_err(|error| CliError::failed(Text::ReplayNotKept).with_source(error))?,
            // The copy goes with it.
            _ = tokio::signal::ctrl_c() => return Ok(ExitStatus::Interrupted),
        };
        files.notes.extend(other_walls(&session, replayed.sandbox.as_deref()));
        files.notes.extend(elsewhere(replayed.steps_before));
        self.report(&session, &replayed, &files.notes, &config.look())?;
        // Of what was not replayed nobody can say that nothing differs.
        let is_same = replayed.divergence.is_none() && replayed.ended_early.is_none();
        Ok(if is_same { ExitStatus::Finished } else { ExitStatus::Failed })
    }

    /// Refuses to stop behind a step that the session does not have.
    fn check_until(&self, session: &Session) -> Result<(), CliError> {
        let n = session.records.iter().filter(|record| is_request(record)).count();
        match self.until {
            Some(wanted) if wanted as usize > n => {
                Err(CliError::usage(Text::UntilTooFar.with(&[("n", &n), ("wanted", &wanted)])))
            }
            _ => Ok(()),
        }
    }

    fn report(
        &self,
        session: &Session,
        replayed: &Replayed,
        notes: &[String],
        look: &Look,
    ) -> Result<(), CliError> {
        if self.json {
            let diff =
                |divergence: &Divergence| diff_hunks(&divergence.expected, &divergence.found);
            let divergence = replayed.divergence.as_ref();
            let report = Report {
                session: &session.id,
                steps: replayed.steps,
                calls: replayed.calls,
                divergence: divergence
                    .map(|divergence| Shown { divergence, diff: diff(divergence) }),
                ended_early: replayed.ended_early.as_deref(),
                not_run: &replayed.not_run,
                notes,
            };
            return print(&(json::pretty(&report)? + "\n"));
        }
        let language = look.language;
        let mut notices: Vec<Sentence> = notes.iter().map(Sentence::of_library).collect();
        if !replayed.not_run.is_empty() {
            notices.push(Text::NotRun.with(&[("calls", &replayed.not_run.join(", "))]));
        }
        if let Some(reason) = &replayed.ended_early {
            let step = replayed.steps_before + replayed.steps;
            let reason = translated(reason, language);
            notices.push(Text::EndsBehind.with(&[("step", &step), ("reason", &reason)]));
        }
        say_notices(&notices, language);
        match &replayed.divergence {
            None => {
                let steps = Text::Steps.say(language, &[("n", &replayed.steps)]);
                let calls = Text::Calls.say(language, &[("n", &replayed.calls)]);
                let values: [(&str, &dyn Display); 2] = [("steps", &steps), ("calls", &calls)];
                print(&format!("{}\n", Text::Replayed.say(language, &values)))
            }
            Some(divergence) => {
                let style = look.style(Sink::Output);
                let hunks = diff_hunks(&divergence.expected, &divergence.found);
                let what = said(divergence, language);
                let values: [(&str, &dyn Display); 2] =
                    [("step", &divergence.step), ("what", &what)];
                print(&format!("{}\n", Text::DiffersAt.say(language, &values)))?;
                print(&render::diff(Text::DiffLegend.template(language), &hunks, &style))
            }
        }
    }
}

/// Returns what differs, as a sentence.
fn said(divergence: &Divergence, language: Language) -> String {
    let call = shown(divergence.call.as_deref().unwrap_or_default());
    let text = match divergence.what {
        Diverged::System => Text::DiffersSystem,
        Diverged::Tools => Text::DiffersTools,
        Diverged::Messages => Text::DiffersMessages,
        Diverged::ReplyLimit => Text::DiffersReplyLimit,
        Diverged::Body => Text::DiffersBody,
        Diverged::Request => Text::DiffersRequest,
        Diverged::Result => Text::DiffersResult,
        Diverged::Files if divergence.call.is_none() => Text::DiffersFiles,
        Diverged::Files => Text::DiffersFilesOf,
    };
    text.say(language, &[("call", &call)])
}

/// Says that the first steps are not replayed, if they were made in another folder; in English, as a report in
/// JSON has it.
fn elsewhere(steps: u32) -> Option<String> {
    match steps {
        0 => None,
        1 => Some("step 1 was made in another folder and is not run again".to_owned()),
        n => Some(format!("steps 1 to {n} were made in another folder and are not run again")),
    }
}

/// Says in which walls commands ran when `session` was recorded, if those of the replay are others; in
/// English, as a report in JSON has it.
fn other_walls(session: &Session, here: Option<&str>) -> Option<String> {
    let here = here?;
    let mut there: Vec<&str> = Vec::new();
    for record in &session.records {
        if let SessionEvent::Turn(TurnEvent::TurnEnded { sandbox: Some(sandbox), .. }) =
            &record.event
            && !there.contains(&&**sandbox)
        {
            there.push(sandbox);
        }
    }
    let is_other = there.iter().any(|there| *there != here);
    is_other.then(|| {
        let there = there.join(", ");
        format!(
            "commands ran with --sandbox {there} when this was recorded, and run with --sandbox {here} \
             in the replay: results may differ for that"
        )
    })
}

/// Returns a session in which a model was asked: of another, nothing could differ.
fn with_requests(session: Session) -> Result<Session, CliError> {
    match session.since_move().records.iter().any(is_request) {
        true => Ok(session),
        false => Err(CliError::failed(Text::NothingToReplay)),
    }
}

fn is_request(record: &Record) -> bool {
    matches!(record.event, SessionEvent::Model(ModelEvent::RequestSent { .. }))
}

/// Whether there is a log at `path`, by its ending.
fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl") && path.is_file()
}

/// Returns what `wanted` names: a session, or else a log or a bundle by its path. A command may have made a file of any
/// name: where the one that is taken might be a session's, the `notes` say so, in English, as a report in JSON has it.
fn found(wanted: &str, config: &Config, notes: &mut Vec<String>) -> Result<Found, CliError> {
    let (path, folder) = (config.absolute(Path::new(wanted)), config.folders.sessions());
    let sessions = list_sessions(&folder);
    let names_file = !sessions.as_ref().is_ok_and(|sessions| is_known(wanted, sessions));
    let mut bundle = || {
        if !wanted.contains('/') && Path::new(wanted).extension().is_none() {
            notes.push(format!("no session is called {wanted}: the file of that name is taken"));
        }
        Ok(Found::Bundle(path.clone()))
    };
    if names_file && is_bundle(&path) {
        return bundle();
    }
    if let (true, true, Some(folder), Some(id)) =
        (names_file, is_log(&path), path.parent(), path.file_stem().and_then(|name| name.to_str()))
    {
        return Ok(Found::Session(read_session(folder, id).map_err(unreadable)?));
    }
    let session = sessions.map_err(unreadable).and_then(|sessions| {
        read_session(&folder, &find(wanted, &sessions)?.id).map_err(unreadable)
    });
    match session {
        // What is nothing else is a bundle that cannot be read.
        Err(_) if names_file && path.exists() && !path.is_dir() => bundle(),
        found => Ok(Found::Session(found?)),
    }
}
