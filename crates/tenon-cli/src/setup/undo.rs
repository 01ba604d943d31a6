//! Where a session's changes are kept for undo.

use std::path::PathBuf;

use tenon_agent::Session;
use tenon_sandbox::{Coverage, Journal, JournalOptions, Mounts, Workspace, repositories_outside};

use crate::{
    config::{Config, Environment},
    print::say_notices,
    texts::{Sentence, Text},
};

/// What a call is called that puts back protected names.
pub(crate) const PUT_BACK: &str = "put back after a kill";

/// Returns how much is kept, and where.
pub(crate) fn journal_options(config: &Config) -> JournalOptions {
    let (settings, usual) = (&config.settings, JournalOptions::new(&config.folders.state));
    JournalOptions {
        bytes_max: settings.undo_bytes_max.unwrap_or(usual.bytes_max),
        file_bytes_max: settings.undo_file_bytes_max.unwrap_or(usual.file_bytes_max),
        by_comparison: settings.undo_by_comparison,
        ..usual
    }
}

/// Returns the journal of a session in `workspace`, and the workspace with the journal's folders
/// protected; none if undo is switched off or cannot be had, which is then said. `session` goes on.
pub(super) fn journal(
    config: &Config,
    mut workspace: Workspace,
    session: Option<&Session>,
    mounts: &Mounts,
) -> (Option<Journal>, Workspace) {
    if !config.settings.undo {
        return (None, workspace);
    }
    let journal = match Journal::open(&workspace, journal_options(config)) {
        Ok(journal) => journal,
        Err(error) => {
            let why = Sentence::of_library(&error);
            let said = Sentence::from(Text::NoUndoHere).with_more(why);
            say_notices(&[said], config.look().language);
            return (None, workspace);
        }
    };
    let earlier = session.map(|session| session.folders_with(workspace.root()));
    let journal = journal.knowing(&earlier.unwrap_or_default());
    for folder in journal.folders() {
        workspace = workspace.with_own_folder(&folder);
    }
    let workspace = workspace.with_closed_folders(&journal.folders(), mounts);
    if journal.coverage() == Coverage::ByComparison && !config.settings.undo_by_comparison {
        say_notices(&[Text::ComparedHere.into()], config.look().language);
    }
    let outside = repositories_outside(&workspace.roots());
    let outside = outside.iter().map(|repository| {
        let top = repository.parent().filter(|_| repository.ends_with(".git"));
        let (path, folder) = (repository.display(), top.unwrap_or(repository).display());
        Text::RepositoryNotRecorded.with(&[("path", &path), ("folder", &folder)])
    });
    say_notices(&outside.collect::<Vec<_>>(), config.look().language);
    look_after_killed(config, &journal);
    take_back_half_undone(config, &journal);
    (Some(journal), workspace)
}

/// Takes an undo back that is half done, because tenon was killed, and says so: what the model is told of the files
/// is then true.
fn take_back_half_undone(config: &Config, journal: &Journal) {
    if !journal.is_half_undone() {
        return;
    }
    let said = match journal.take_back_cut_short() {
        Ok(()) => Text::TakenBackHalfUndone.into(),
        Err(error) => Sentence::from(Text::HalfUndone).with_more(Sentence::of_library(&error)),
    };
    say_notices(&[said], config.look().language);
}

/// Says whether an undo is half done, because tenon was killed.
pub(crate) fn tell_half_undone(config: &Config, journal: &Journal) {
    if journal.is_half_undone() {
        say_notices(&[Text::HalfUndone.into()], config.look().language);
    }
}

/// Puts back what commands did to protected names whose tenon was killed, and says so.
pub(crate) fn look_after_killed(config: &Config, journal: &Journal) {
    let found = tenon_sandbox::look_after_killed(journal, &put_back_name);
    let mut said = Vec::new();
    if !found.changes.is_empty() {
        said.push(Text::LookedAfterKilled.into());
        said.extend(found.changes.iter().map(Sentence::of_library));
    }
    let since = |path: &PathBuf| Text::ChangedSinceKilled.with(&[("path", &path.display())]);
    said.extend(found.changed_since.iter().map(since));
    let unsure = |path: &PathBuf| Text::UnsureKilled.with(&[("path", &path.display())]);
    said.extend(found.unsure.iter().map(unsure));
    say_notices(&said, config.look().language);
}

/// Returns what the checkpoint is called that puts back protected names after a call that was killed.
fn put_back_name(call: &str) -> String {
    let id = call.split('\t').next().unwrap_or_default();
    format!("{id}\t{PUT_BACK}")
}

/// Puts the configuration and what else is own back as it was before commands whose tenon was killed, and
/// says so. Nothing was read from it yet.
pub(crate) fn look_after_own(environment: &Environment) {
    // Without folders there are no settings either, and somebody else says so.
    let Ok(folders) = environment.folders() else { return };
    let mut said = Vec::new();
    for found in tenon_sandbox::look_after_own(&folders.state) {
        said.push(Text::LookedAfterOwn.into());
        said.extend(found.changes.iter().map(Sentence::of_library));
        let kept = |folder: PathBuf| Text::KeptOfOwn.with(&[("folder", &folder.display())]);
        said.extend(found.kept.map(kept));
    }
    say_notices(&said, environment.language());
}
