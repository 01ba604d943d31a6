//! Config and command line become a ready agent: the one place where parts are chosen and joined.
//!
//! Nothing is loaded or asked for that the first request does not need.

mod answer;
mod other_model;
mod presets;
mod providers;
mod recall;
mod replay;
mod undo;
mod walls;

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    sync::Arc,
};

use tenon_agent::{
    AgentOptions, CoreToolOptions, Masking, Mode, Origin, Rule, Rules, Session, Tools, TurnLimits,
    Verdict, core_tools,
};
use tenon_model::{Abilities, HttpClient, LoopbackCandidate, Provider, loopback_servers};
use tenon_sandbox::{FileError, Journal, Mounts, Workspace, is_in_undo_store, toolchains_within};

pub(crate) use answer::answer;
pub(crate) use other_model::{
    KnownModel, known as known_models, known_with as known_models_with, other_model,
};
pub(crate) use providers::pull;
pub(crate) use replay::replaying;
pub(crate) use undo::{
    PUT_BACK, journal_options, look_after_killed, look_after_own, tell_half_undone,
};
pub(crate) use walls::{proxy, walls};

use self::recall::LogRecall;
use crate::{
    args::SessionArgs,
    config::{Config, Endpoint, RuleFor, Settings, read_rule},
    error::CliError,
    masked,
    model_choice::{self, Choice, Chosen},
    offer,
    print::say_notices,
    pull::{State, built_in as built_in_model},
    resume::{Opened, ResumeArgs, Resumed},
    session_links,
    texts::Text,
    values::{ModeName, SandboxName},
};

/// Returns the options of an agent for a session with `args`, its model ready to be asked.
pub(crate) async fn ready(
    config: &Config,
    args: &SessionArgs,
    resume: &ResumeArgs,
) -> Result<AgentOptions, CliError> {
    let rules = rules(config, args)?;
    let workspace = workspace(config, args)?;
    let masking = masking(config, workspace.roots());
    masking.open(&workspace);
    let resumed = resume.find(config, args.cwd.is_some())?;
    let chosen = match resumed.as_ref().and_then(|resumed| model_of(resumed, config, args, resume))
    {
        Some(chosen) => chosen,
        None => match choose(config, args)? {
            Some(chosen) => chosen,
            None => offer::choose(config).await?,
        },
    };
    let provider = provider(config, chosen).await?;
    let settings = &config.settings;
    refuse_unknown_price(settings, &*provider)?;
    let Opened { log, session, moved } = resume.open(config, resumed)?;
    // Another one than the workspace's: a model may have been asked about and fetched since.
    let mounts = Mounts::of_this_process();
    let (journal, workspace) = undo::journal(config, workspace, session.as_ref(), &mounts);
    let spill = config.folders.spill(session.as_ref().map_or(log.id(), Session::results_of));
    let workspace = workspace.with_spill(&spill).map_err(no_folder)?;
    let hidden = journal.as_ref().map(Journal::folders).unwrap_or_default();
    let sandbox = walls::sandbox(config, &workspace, &spill, hidden, &mounts).await?;
    let mut notices = Vec::new();
    let instructions = config.instructions(&mut notices);
    say_notices(&notices, config.look().language);
    let tools = tools(settings, provider.abilities());
    let roots = workspace.roots();
    let mut options = AgentOptions::new(provider, workspace, sandbox);
    options.tools = tools;
    options.rules = rules;
    options.mode = mode(settings);
    options.places = config.folders.places_for_rules(&options.workspace);
    options.limits = TurnLimits {
        steps_max: Some(settings.max_steps.get()),
        tokens_max: settings.max_tokens.map(|tokens| tokens.get()),
        cost_max: settings.max_cost,
        time_max: settings.max_time,
    };
    options.host_presets = Some(Arc::new(presets::Toolchains::new(config, roots)));
    options.result_chars_max = settings.result_chars_max.get();
    options.instructions = instructions;
    options.masking = masking;
    options.context_window_tokens = settings.context_window.map(NonZeroU32::get);
    // What cannot run commands is not asked to.
    options.receipts = settings.receipts && settings.mode != ModeName::ReadOnly;
    options.verify = settings.verify.clone();
    let kept = LogRecall { folder: config.folders.sessions(), session: log.id().to_owned() };
    options.recall = Some(Arc::new(kept));
    options.log = Some(log);
    options.resumed = session;
    options.news.extend(moved);
    options.journal = journal;
    Ok(options)
}

/// Money is a limit only where the price is known.
fn refuse_unknown_price(settings: &Settings, provider: &dyn Provider) -> Result<(), CliError> {
    if settings.max_cost.is_some() && provider.abilities().price.is_none() {
        let model = provider.model();
        return Err(CliError::usage(Text::PriceUnknown.with(&[("model", &model)]))
            .with_hint(Text::HintNoMaxCost));
    }
    Ok(())
}

/// Returns the model that a session which goes on worked with, unless the command line names
/// another or it cannot be had without asking for more.
fn model_of(
    resumed: &Resumed,
    config: &Config,
    args: &SessionArgs,
    resume: &ResumeArgs,
) -> Option<Chosen> {
    let (_, model) = resumed.session.worked_with()?;
    if !resume.own_model && (args.model.is_some() || args.model_file.is_some()) {
        return None;
    }
    let choice = if model == format!("local/{}", built_in_model().name) {
        Choice::BuiltIn
    } else {
        match model_choice::parse(model, &config.providers).ok()? {
            Choice::Remote { endpoint, model } if endpoint.is_configured() => {
                Choice::Remote { endpoint, model }
            }
            _ => return None,
        }
    };
    Some(Chosen { choice, because: "the session".into(), asked_for: false })
}

/// Returns the secrets that nobody is shown, and has everything that is printed masked by them. `roots` are
/// the folders that models write in.
fn masking(config: &Config, roots: Vec<PathBuf>) -> Masking {
    let masking = match config.settings.mask_secrets {
        true => {
            let sources = config.secret_sources();
            Masking::new(move || sources.read(&roots))
        }
        false => Masking::off(),
    };
    masked::know(&masking);
    masking
}

/// Has what a command outside of a session prints masked as a session in its folder would.
pub(crate) fn mask_output(config: &Config) {
    // A folder that is not there has nothing to mask.
    let workspace = Workspace::open(&config.root).ok();
    let masking = masking(config, workspace.iter().flat_map(Workspace::roots).collect());
    if let Some(workspace) = workspace {
        masking.open(&workspace);
    }
}

/// Returns how much is asked.
pub(crate) fn mode(settings: &Settings) -> Mode {
    match settings.mode {
        ModeName::ReadOnly => Mode::ReadOnly,
        ModeName::Ask => Mode::Ask,
        ModeName::Auto => Mode::Auto,
    }
}

/// Returns the tools of a session on a model with these `abilities`.
pub(crate) fn tools(settings: &Settings, abilities: &Abilities) -> Tools {
    core_tools(CoreToolOptions {
        is_forgiving: abilities.wants_forgiving_tools,
        shows_images: abilities.sees_images == Some(true),
        result_chars_max: settings.result_chars_max.get(),
        bash_output_chars_max: settings.bash_output_chars_max.get(),
        is_confined: settings.sandbox != SandboxName::Off,
        // One more tool is one too many for a model that gets tools in a forgiving form.
        has_jobs: !abilities.wants_forgiving_tools,
        ..CoreToolOptions::default()
    })
}

/// Returns the model that was asked for or is configured, and nothing if neither is so.
pub(crate) fn choose(config: &Config, args: &SessionArgs) -> Result<Option<Chosen>, CliError> {
    let chosen = |choice, because: &str, asked_for| {
        let choice = match choice {
            Choice::Scripted(path) => Choice::Scripted(config.absolute(&path)),
            other => other,
        };
        Some(Chosen { choice, because: because.to_owned(), asked_for })
    };
    if let Some(file) = &args.model_file {
        if args.model.as_deref().is_some_and(|model| model != "local") {
            return Err(CliError::usage(Text::ModelFileAlone));
        }
        let choice = Choice::ModelFile(config.absolute(file));
        return Ok(chosen(choice, "--model-file", true));
    }
    if let Some(model) = &args.model {
        let choice = model_choice::parse(model, &config.providers)?;
        return Ok(chosen(choice, "--model", true));
    }
    if let Some((model, source)) = &config.model {
        let choice = model_choice::parse(model, &config.providers)
            .map_err(|error| error.with_hint(Text::HintModelSet.with(&[("source", source)])))?;
        return Ok(chosen(choice, source, false));
    }
    let language = config.look().language;
    Ok(model_choice::configured(&config.providers).and_then(|choice| {
        let because = match &choice {
            Choice::Remote { endpoint, .. } => match &endpoint.key_source {
                Some(source) => Text::BecauseOfKey.say(language, &[("source", source)]),
                None => {
                    let source = endpoint.shown_source(language);
                    Text::BecauseOfAddress.say(language, &[("source", &source)])
                }
            },
            _ => String::new(),
        };
        chosen(choice, &because, false)
    }))
}

/// Makes the provider of a model, fetching the built-in one if it was asked for.
async fn provider(config: &Config, chosen: Chosen) -> Result<Arc<dyn Provider>, CliError> {
    match chosen.choice {
        Choice::Remote { endpoint, model } => {
            let model = match model {
                Some(model) => model,
                None => only_model(config, &endpoint).await?,
            };
            providers::remote(&endpoint, &model, &config.network)
        }
        Choice::Scripted(path) => providers::scripted(&path),
        Choice::ModelFile(path) => {
            if !path.is_file() {
                return Err(CliError::config(Text::NoFile.with(&[("path", &path.display())])));
            }
            providers::local(&path, config)
        }
        Choice::BuiltIn => {
            let path = built_in(config, chosen.asked_for).await?;
            providers::local(&path, config)
        }
    }
}

/// Returns the built-in model's file, which is fetched if somebody `asked_for` it or says yes.
async fn built_in(config: &Config, asked_for: bool) -> Result<PathBuf, CliError> {
    providers::check_local()?;
    let model = built_in_model();
    let folder = config.folders.models();
    if model.state(&folder) == State::Whole {
        return Ok(model.path(&folder));
    }
    if !asked_for && !offer::download(&model, config.look().language)? {
        return Err(CliError::config(Text::BuiltInNotHere.with(&[("model", &model.name)]))
            .with_hint(Text::HintPullOrLocal));
    }
    pull(&model, config).await
}

/// Asks a server on this machine which model it has.
async fn only_model(config: &Config, endpoint: &Endpoint) -> Result<String, CliError> {
    let base_url = endpoint.base_url().unwrap_or_default();
    let http = HttpClient::new(config.network.http_options(Some(base_url))?);
    let candidates = [LoopbackCandidate { name: &endpoint.name, base_url }];
    let servers = loopback_servers(&http, &candidates).await;
    let models: Vec<String> = servers.into_iter().flat_map(|server| server.models).collect();
    let address = endpoint.shown_address().unwrap_or_default();
    let unnamed = || CliError::config(Text::WhichModel.with(&[("address", &address)]));
    let flag = |model: &str| format!("--model {}/{model}", endpoint.name);
    match models.as_slice() {
        [model] => Ok(model.clone()),
        [] => Err(unnamed().with_hint(flag("NAME"))),
        several => Err(unnamed().with_hint(
            several.iter().take(10).map(|model| flag(model)).collect::<Vec<_>>().join(", "),
        )),
    }
}

/// Opens the folders of a session.
pub(crate) fn workspace(config: &Config, args: &SessionArgs) -> Result<Workspace, CliError> {
    session_links::refuse(&config.root, config)?;
    let mut workspace = Workspace::open(&config.root).map_err(no_folder)?;
    let mut added = Vec::new();
    for folder in &config.settings.add_dir {
        added.push(config.named_folder(folder)?);
    }
    added.extend(args.add_dir.iter().map(|folder| config.absolute(folder)));
    for folder in added {
        let folder = config.folders.named_as_home(folder);
        session_links::refuse(&folder, config)?;
        workspace = workspace.with_root(&folder).map_err(no_folder)?;
    }
    if let Some(store) = workspace.roots().iter().find(|root| is_in_undo_store(root)) {
        let (path, why) = (store.display().to_string(), "is tenon's own");
        return Err(no_folder(FileError::Closed { path, why }));
    }
    let (folders, file) = (&config.folders, config.folders.config_file());
    let own: [&Path; 4] = [&folders.config, &file, &folders.state, &folders.cache];
    let mounts = Mounts::of_this_process();
    let elsewhere = mounts.elsewhere(own);
    let own = own.into_iter().chain(elsewhere.iter().map(PathBuf::as_path));
    let workspace = own.fold(workspace, |workspace, folder| workspace.with_own_folder(folder));
    Ok(with_places_of_home(workspace, config, &mounts))
}

/// Closes to file tools where programs keep secrets and what is tenon's own, and protects what the user's programs
/// start with or run from, as far as it lies in the workspace.
fn with_places_of_home(workspace: Workspace, config: &Config, mounts: &Mounts) -> Workspace {
    let folders = &config.folders;
    let roots = workspace.roots();
    let toolchains = toolchains_within(&folders.home, &roots);
    let own = config.own_files(mounts, &roots);
    let workspace = workspace.with_protected(&own).with_toolchains(&toolchains);
    let workspace = workspace.with_home(&folders.home);
    config.with_closed_places(workspace, mounts)
}

fn no_folder(error: FileError) -> CliError {
    CliError::usage(Text::WorkspaceUnopened).with_source(error)
}

/// Returns the user's rules.
pub(crate) fn rules(config: &Config, args: &SessionArgs) -> Result<Rules, CliError> {
    let settings = &config.settings;
    let lists = [
        (&settings.deny, Verdict::Deny, Origin::Config),
        (&settings.deny_of_project, Verdict::Deny, Origin::Config),
        (&args.deny, Verdict::Deny, Origin::CommandLine),
        (&settings.allow, Verdict::Allow, Origin::Config),
        (&args.allow, Verdict::Allow, Origin::CommandLine),
    ];
    let mut rules = Rules::default();
    for (texts, verdict, origin) in lists {
        for text in texts {
            match read_rule(text, verdict, origin).map_err(CliError::config)? {
                RuleFor::Calls(rule) => {
                    rules.add(rule);
                    let led = led_to(text).filter(|_| verdict == Verdict::Deny);
                    let led = led.map(|text| Rule::parse(&text, verdict, origin));
                    led.into_iter().flatten().for_each(|rule| rules.add(rule));
                }
                // The proxy holds it.
                RuleFor::Host(_) => {}
            }
        }
    }
    for folder in config.readable()? {
        let text = format!("read({}/**)", folder.display());
        let rule = Rule::parse(&text, Verdict::Allow, Origin::Config)
            .map_err(|error| CliError::config("read_dir").with_source(error))?;
        rules.add(rule);
    }
    Ok(rules)
}

/// Returns a rule for a path that leads through links with the path that it leads to: that is what calls are
/// compared with.
fn led_to(rule: &str) -> Option<String> {
    const SIGNS: [char; 5] = ['*', '?', '[', '{', '\\'];
    let (tool, pattern) = rule.split_once('(')?;
    let pattern = pattern.strip_suffix(')')?.trim();
    if tool.trim() == "bash" || !pattern.starts_with('/') {
        return None;
    }
    let fixed = pattern.split(SIGNS).next().unwrap_or_default().trim_end_matches('/');
    let folder = Path::new(fixed).ancestors().find(|folder| folder.is_dir())?;
    let real = folder.canonicalize().ok().filter(|real| real != folder)?;
    let (real, folder) = (real.to_str()?, folder.to_str()?);
    let is_plain = !real.contains(SIGNS);
    is_plain.then(|| pattern.strip_prefix(folder).map(|rest| format!("{tool}({real}{rest})")))?
}
