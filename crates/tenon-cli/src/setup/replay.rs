//! The parts of an agent that replays a session: the tools of this program in a copy of the
//! workspace, behind walls without a network, and nothing that asks a model.

use std::sync::Arc;

use tenon_agent::{
    AgentOptions, CallChanges, CallEvent, Record, Rules, Session, SessionEvent, SessionLog,
    SessionNote, ToolLists, Tools, core_tools,
};
use tenon_model::{Abilities, ScriptedProvider};
use tenon_sandbox::{Journal, Mounts, Workspace};

use super::{
    journal_options, masking, no_folder, recall::LogRecall, rules, walls, with_places_of_home,
};
use crate::{
    args::SessionArgs,
    config::{Config, Settings},
    error::CliError,
    replay::{Rebuilt, Root},
    texts::Text,
    values::{ModeName, SandboxName},
};

/// What a replay needs.
pub(crate) struct Replaying {
    pub(crate) options: AgentOptions,
    /// Lists of tools that the recording may have been made with.
    pub(crate) tools_for: ToolLists,
    /// Paths as they were recorded, and as they are here.
    pub(crate) places: Vec<(String, String)>,
}

/// Returns what replays `session` in `files`; with `runs` commands are run. Whatever the settings
/// say, there are walls, no host is reached, and nothing is allowed that leaves them.
pub(crate) async fn replaying(
    config: &mut Config,
    session: &Session,
    files: &Rebuilt,
    runs: bool,
) -> Result<Replaying, CliError> {
    let settings = &mut config.settings;
    settings.net.clear();
    settings.allow.clear();
    settings.read_dir.clear();
    settings.mode = ModeName::Auto;
    if settings.sandbox == SandboxName::Off {
        settings.sandbox = SandboxName::Auto;
    }
    let state = files.scratch.state();
    let results = state.join("results");
    let logs = state.join("sessions");
    let mut here = match &files.home {
        Some(home) => {
            let name = files.home_name.as_ref().map_or(home, |name| &name.copy);
            config.in_copy_of_home(home, name)
        }
        None => config.clone(),
    };
    let mounts = Mounts::of_this_process();
    let workspace = workspace(&here, files, &mounts)?.with_spill(&results).map_err(no_folder)?;
    let (journal, workspace) = journal(config, session, workspace, &state);
    let sandbox = if runs {
        let mut hidden = journal.as_ref().map(Journal::folders).unwrap_or_default();
        hidden.push(logs.clone());
        std::fs::DirBuilder::new().recursive(true).create(&logs)?;
        if files.home.is_some() {
            let own = &config.folders;
            hidden.extend([own.config.clone(), own.sessions(), own.history()]);
            // In the copy it is there for its name alone.
            let of_copy = std::mem::replace(&mut here.folders.state, state.clone());
            here.folders.covered.push(of_copy);
        }
        walls::sandbox(&here, &workspace, &results, hidden, &mounts).await?
    } else {
        tenon_agent::Sandbox::unconfined(Vec::new())
    };
    let log = SessionLog::create(&logs)?;
    // It is not asked.
    let provider = Arc::new(ScriptedProvider::new(Vec::new()));
    let mut options = AgentOptions::new(provider, workspace, sandbox);
    let settings = &config.settings;
    options.rules = if runs { rules(config, &SessionArgs::default())? } else { Rules::default() };
    options.places = here.folders.places_for_rules(&options.workspace);
    options.result_chars_max = settings.result_chars_max.get();
    options.masking = masking(config, options.workspace.roots());
    let kept = LogRecall { folder: logs, session: log.id().to_owned() };
    options.recall = Some(Arc::new(kept));
    options.log = Some(log);
    options.journal = journal;
    let settings = settings.clone();
    let tools_for: ToolLists = Box::new(move |abilities| lists(&settings, abilities));
    options.tools = super::tools(&config.settings, &Abilities::default());
    let mut places: Vec<(String, String)> = files
        .roots
        .iter()
        .chain(&files.ways)
        .map(|root| (root.recorded.display().to_string(), root.copy.display().to_string()))
        .collect();
    let here = results.display().to_string();
    places.push((config.folders.spill(session.results_of()).display().to_string(), here.clone()));
    places.extend(results_elsewhere(session).map(|there| (there, here)));
    places.dedup_by(|one, other| one.0 == other.0);
    Ok(Replaying { options, tools_for, places })
}

fn workspace(config: &Config, files: &Rebuilt, mounts: &Mounts) -> Result<Workspace, CliError> {
    let named = |root: &Root| {
        let leads_there = |way: &&Root| way.copy.canonicalize().is_ok_and(|it| it == root.copy);
        let way = files.ways.iter().find(leads_there);
        way.map_or_else(|| root.copy.clone(), |way| way.copy.clone())
    };
    let mut roots = files.roots.iter().map(named);
    let first = roots.next().ok_or_else(|| CliError::failed(Text::NoFolderToWork))?;
    let mut workspace = Workspace::open(&first).map_err(no_folder)?;
    for root in roots {
        workspace = workspace.with_root(&root).map_err(no_folder)?;
    }
    let (folders, file) = (&config.folders, config.folders.config_file());
    let own = [&folders.config, &file, &folders.state, &files.scratch.state()];
    // Elsewhere it has the copy in it.
    let cache = files.home.as_ref().map(|_| &folders.cache);
    let own = own.into_iter().chain(cache);
    let workspace = own.fold(workspace, |workspace, folder| workspace.with_own_folder(folder));
    Ok(with_places_of_home(workspace, config, mounts))
}

/// Returns the journal of the copy, if the session had one: what calls change is compared, and told
/// to the model as it was then.
fn journal(
    config: &Config,
    session: &Session,
    mut workspace: Workspace,
    state: &std::path::Path,
) -> (Option<Journal>, Workspace) {
    let changes = session.records.iter().filter_map(|record| match &record.event {
        SessionEvent::Call(CallEvent::CallChanged(changes)) => {
            let is_recorded = changes.checkpoint.is_some() || !changes.forbidden.is_empty();
            is_recorded.then_some(changes)
        }
        _ => None,
    });
    // Calls of which no list speaks can be undone as well.
    let is_undo = |record: &Record| {
        matches!(record.event, SessionEvent::Session(SessionNote::FilesUndone { .. }))
    };
    if changes.clone().next().is_none() && !session.records.iter().any(is_undo) {
        return (None, workspace);
    }
    let is_compared =
        |changes: &CallChanges| changes.troubles.iter().any(|word| word == "compared");
    let options = tenon_sandbox::JournalOptions {
        state_folder: state.to_path_buf(),
        by_comparison: changes.clone().any(is_compared),
        ..journal_options(config)
    };
    let Ok(journal) = Journal::open(&workspace, options) else { return (None, workspace) };
    for folder in journal.folders() {
        workspace = workspace.with_own_folder(&folder);
    }
    (Some(journal), workspace)
}

/// The lists of tools that this program gives to a model: with and without walls, and whatever is
/// said of the model, forgiving ones and others. The list of an ordinary session comes first.
fn lists(settings: &Settings, abilities: &Abilities) -> Vec<Tools> {
    let mut lists = Vec::new();
    for sandbox in [SandboxName::Auto, SandboxName::Off] {
        for wants_forgiving_tools in [false, true] {
            let settings = Settings { sandbox, ..settings.clone() };
            let abilities = Abilities { wants_forgiving_tools, ..abilities.clone() };
            lists.push(super::tools(&settings, &abilities));
        }
    }
    // A session of the library has these.
    lists.push(core_tools(tenon_agent::CoreToolOptions::default()));
    lists
}

/// Returns the folder of long results that the recording speaks of, if it was made elsewhere.
fn results_elsewhere(session: &Session) -> Option<String> {
    let end = format!("/results/{}", session.results_of());
    session.records.iter().find_map(|record| {
        let SessionEvent::Call(CallEvent::ToolResult { content, .. }) = &record.event else {
            return None;
        };
        let at = content.find(&format!("{end}/output-"))?;
        let before = content.get(..at)?;
        let start = before.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        Some(format!("{}{end}", before.get(start..)?)).filter(|path| path.starts_with('/'))
    })
}
