//! A workspace as it was when a session began, in a folder of its own, and bundles of both. What
//! is done with it is up to the subcommands.
//!
//! The user's own files are read and never touched, but that what is closed to him is open for a moment.

mod attributes;
mod bundle;
mod copy;
mod layout;
mod made;
mod named;
mod names;
mod rebuild;
mod scratch;
mod tar;
mod times;
mod unpack;

use std::{
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tenon_agent::{ChangesOfCall, Session, SessionEvent, SessionNote};
use tenon_sandbox::{Journal, Mounts};

use self::made::Made;
pub(crate) use self::{
    bundle::{is_bundle, pack},
    scratch::Scratch,
    unpack::unpack,
};
use crate::{config::Config, error::CliError, session_links, texts::Text};

/// Notes of one kind that are told; more are counted.
const NOTES_MAX: usize = 20;

/// The folders of a session's workspace, somewhere else.
pub(crate) struct Rebuilt {
    /// The folder that everything is in; gone when this is dropped.
    pub(crate) scratch: Scratch,
    /// Each root as it was named in the session, and where it is now.
    pub(crate) roots: Vec<Root>,
    /// Paths through links by which folders were named, and the links in their places.
    pub(crate) ways: Vec<Root>,
    /// The copy of the user's home folder, where a root was that or held it.
    pub(crate) home: Option<PathBuf>,
    /// The link by which it was named, if it was by one.
    pub(crate) home_name: Option<Root>,
    /// What is not as it was, a sentence each, in English as a report in JSON has it.
    pub(crate) notes: Vec<String>,
    /// What calls had changed that were cut short.
    made: Made,
    /// What is in no copy, whatever the journal has of it.
    left_out: Vec<PathBuf>,
    /// Whether secrets were taken out of the log after it was written.
    pub(crate) log_is_masked: bool,
}

/// A root of a workspace and its copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) recorded: PathBuf,
    pub(crate) copy: PathBuf,
}

impl Rebuilt {
    /// Copies the workspace of `session` and takes back, in the copy, what was changed since the
    /// session began.
    pub(crate) fn of(session: &Session, config: &Config) -> Result<Self, CliError> {
        let session = &session.since_move();
        let (folders, gone) = recorded_roots(session);
        if folders.is_empty() {
            return Err(CliError::failed(Text::NoFolderRecorded));
        }
        for folder in &folders {
            session_links::refuse(folder, config).map_err(|error| {
                error.with_hint_instead(Text::HintLinkOfSession, Text::HintToolsFrom)
            })?;
        }
        let mounts = Mounts::of_this_process();
        let (folders, of_log) = named::found(folders, &config.folders, &mounts)?;
        let scratch = Scratch::new(config)?;
        let journal = rebuild::journal(config, &folders);
        let own = journal.as_ref().map(Journal::folders).unwrap_or_default();
        let (roots, made) = (Vec::new(), Made::default());
        let (notes, left_out, log_is_masked) = (Vec::new(), Vec::new(), false);
        let (home, ways) = (None, Vec::new());
        let home_name = None;
        let mut rebuilt =
            Self { scratch, roots, ways, home, home_name, notes, made, left_out, log_is_masked };
        let not_there = |folder: &PathBuf| {
            format!("{}, a folder of the session, is not there any more", folder.display())
        };
        let mut notes: Vec<String> = gone.iter().map(not_there).collect();
        let named = config.folders.home.as_path();
        let home = named.canonicalize().ok();
        let of_home = home.as_deref().map(|home| (named, home));
        let others = of_log.iter().map(|(way, folder)| (&**way, &**folder)).chain(of_home);
        let links = layout::ways(session, &folders, others);
        let ways;
        (rebuilt.roots, ways) = rebuilt.scratch.roots(folders, &links);
        let mut copying = copy::Copying::new(&own, rebuilt.scratch.path(), &rebuilt.roots)
            .without_private(&config.folders, began(session), &mounts);
        rebuilt.left_out = copying.left_out();
        copying.roots()?;
        let (not_copied, mut names) = copying.into_notes();
        notes.extend(not_copied);
        match journal {
            Ok(journal) => {
                let (taken, made) = rebuild::take_back(&journal, session, (&rebuilt, &mut names))?;
                notes.extend(taken);
                rebuilt.made = made;
            }
            Err(error) => {
                notes.push(format!("the files are as they are now, for there is no undo: {error}"));
            }
        }
        names.close();
        rebuilt.ways = layout::link_ways(&rebuilt.roots, &links, ways)?;
        rebuilt.home = home.and_then(|home| copy_of_home(&rebuilt.roots, &home));
        rebuilt.home_name = rebuilt.ways.iter().find(|way| way.recorded == named).cloned();
        notes.extend(copy::without_repository(&rebuilt.roots));
        rebuilt.notes = bounded(notes);
        Ok(rebuilt)
    }

    /// Returns an empty workspace in the place of the session's.
    pub(crate) fn nothing(session: &Session, config: &Config) -> Result<Self, CliError> {
        let scratch = Scratch::new(config)?;
        let first = recorded_roots(&session.since_move()).0.into_iter().take(1);
        let (roots, _) = scratch.roots(first.collect(), &[]);
        for root in &roots {
            copy::make_folder(&root.copy)?;
        }
        match roots.is_empty() {
            true => Err(CliError::failed(Text::NoFolderRecorded)),
            false => {
                let (notes, made, left_out) = (Vec::new(), Made::default(), Vec::new());
                let (ways, home, home_name, log_is_masked) = (Vec::new(), None, None, false);
                Ok(Self {
                    scratch,
                    roots,
                    ways,
                    home,
                    home_name,
                    notes,
                    made,
                    left_out,
                    log_is_masked,
                })
            }
        }
    }

    /// Returns what makes in the copy what a call had changed that was cut short.
    pub(crate) fn changes_of_calls(&mut self) -> ChangesOfCall {
        std::mem::take(&mut self.made).into_changes(self.scratch.path(), self.roots.clone())
    }

    /// Returns the folders above the roots as they were recorded, and those above their copies: of the first
    /// root as far as they are tenon's own.
    pub(crate) fn above(&self) -> Vec<(String, String)> {
        let (own, all) = (self.scratch.path().parent(), self.scratch.path().join("roots"));
        let mut above: Vec<(String, String)> = Vec::new();
        for (number, root) in self.roots.iter().enumerate() {
            let until = if number == 0 { own.unwrap_or(&all) } else { &all };
            let copies = root.copy.ancestors().skip(1).take_while(|it| it.starts_with(until));
            for (there, here) in root.recorded.ancestors().skip(1).zip(copies) {
                let pair = (there.display().to_string(), here.display().to_string());
                if !above.contains(&pair) {
                    above.push(pair);
                }
            }
        }
        above
    }

    fn place(&self, path: &Path) -> Option<PathBuf> {
        let recorded = self.roots.first()?.recorded.join(path);
        let is_left_out = self.left_out.iter().any(|left_out| recorded.starts_with(left_out));
        if is_left_out { None } else { place(&self.roots, path) }
    }
}

/// Returns where `path` is now, which is named as the journal does: relative in the first root,
/// absolute in another. `None` for what is not in the copy, or behind a link there.
fn place(roots: &[Root], path: &Path) -> Option<PathBuf> {
    let (copy, place) = place_by_name(roots, path)?;
    let mut above = place.ancestors().skip(1).take_while(|above| above.starts_with(copy));
    if above.any(Path::is_symlink) { None } else { Some(place) }
}

/// Returns the same, links or not, and the copy that it is in.
fn place_by_name<'a>(roots: &'a [Root], path: &Path) -> Option<(&'a Path, PathBuf)> {
    let (copy, beneath) = match path.is_relative() {
        true => (&roots.first()?.copy, path),
        false => roots
            .iter()
            .find_map(|root| Some((&root.copy, path.strip_prefix(&root.recorded).ok()?)))?,
    };
    let mut place = copy.clone();
    for component in beneath.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => place.push(name),
            _ => return None,
        }
    }
    Some((copy, place))
}

/// Returns where the copy of the folder `home` is, if it is one of the roots or in one, and behind no link.
fn copy_of_home(roots: &[Root], home: &Path) -> Option<PathBuf> {
    let copy = place(roots, home)?;
    copy.symlink_metadata().is_ok_and(|found| found.is_dir()).then_some(copy)
}

/// Returns when a session began.
fn began(session: &Session) -> SystemTime {
    let first_ms = session.records.iter().map(|record| record.time_ms).min().unwrap_or_default();
    UNIX_EPOCH + Duration::from_millis(first_ms)
}

/// Returns the folders that the session worked in: those of its last process, and those that only
/// others had, as far as they are there; and those that are not.
fn recorded_roots(session: &Session) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let Some((last, _)) = session.worked_with() else { return Default::default() };
    // Without the first there is no session; the user may have taken away what was added.
    let is_there = |(number, folder): &(usize, &PathBuf)| *number == 0 || folder.is_dir();
    let (folders, gone): (Vec<_>, Vec<_>) = last.iter().enumerate().partition(is_there);
    let [mut folders, mut gone] =
        [folders, gone].map(|list| list.into_iter().map(|(_, folder)| folder.clone()).collect());
    for record in &session.records {
        let SessionEvent::Session(
            SessionNote::SessionStarted { workspace, .. }
            | SessionNote::SessionResumed { workspace, .. },
        ) = &record.event
        else {
            continue;
        };
        for folder in workspace {
            let known: &mut Vec<PathBuf> = if folder.is_dir() { &mut folders } else { &mut gone };
            if !known.contains(folder) && !last.contains(folder) {
                known.push(folder.clone());
            }
        }
    }
    (folders, gone)
}

fn bounded(mut notes: Vec<String>) -> Vec<String> {
    let more = notes.len().saturating_sub(NOTES_MAX);
    notes.truncate(NOTES_MAX);
    if more > 0 {
        notes.push(format!("… and {more} more like these"));
    }
    notes
}
