//! The walls of a session, from what was configured.

use std::{
    fmt::Display,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use tenon_agent::Sandbox;
use tenon_sandbox::{
    GUARDED_FOLDERS_MAX, HostError, HostRule, Limits, Missing, Mounts, Network, PresetHosts,
    Profile, Proxy, ProxyOptions, Sandbox as Walls, SandboxError, Settings as WallSettings, Tier,
    UpstreamProxy, Wanted, Workspace, leads_into,
};

use super::presets::Toolchains;
use crate::{
    config::Config,
    error::CliError,
    print::say_notices,
    texts::{Sentence, Text},
    values::SandboxName,
};

/// What stands for every host.
const EVERYTHING: &str = "on";

/// Returns where commands run. `results` is tenon's folder of long results, which commands may
/// read; the journal's folders are `hidden` from them.
///
/// A tier that was asked for by name is tried at once; the best one is found by the first command.
pub(super) async fn sandbox(
    config: &Config,
    workspace: &Workspace,
    results: &Path,
    hidden: Vec<PathBuf>,
    mounts: &Mounts,
) -> Result<Sandbox, CliError> {
    let environment = config.child_environment();
    let Some((walls, profile)) = walls(config, workspace, Some(results), hidden, mounts).await?
    else {
        return Ok(Sandbox::unconfined(environment));
    };
    if walls.settings().wanted != Wanted::Best {
        let tier = walls.tier().await.map_err(|error| refused(&error))?;
        // Its commands would be refused one by one.
        let has_hosts = walls.proxy().is_some_and(|proxy| !proxy.allowed().is_empty());
        if tier == Tier::C && has_hosts && profile.network == Network::Proxied {
            return Err(refused(&SandboxError { tier, missing: Missing::Proxy }));
        }
    }
    Ok(Sandbox::within(walls, environment, profile))
}

/// Returns what ends the program where a tier that was asked for cannot be had.
fn refused(error: &SandboxError) -> CliError {
    let refused = CliError::no_walls(Sentence::of_library(error));
    match error.hint() {
        Some(hint) => refused.with_hint(Sentence::of_library(hint)),
        None => refused,
    }
}

/// Returns the walls and what commands may do within them; nothing if they are switched off.
pub(crate) async fn walls(
    config: &Config,
    workspace: &Workspace,
    results: Option<&Path>,
    mut hidden: Vec<PathBuf>,
    mounts: &Mounts,
) -> Result<Option<(Walls, Profile)>, CliError> {
    let wanted = match config.settings.sandbox {
        SandboxName::Auto => Wanted::Best,
        SandboxName::A => Wanted::Exactly(Tier::A),
        SandboxName::B => Wanted::Exactly(Tier::B),
        SandboxName::C => Wanted::Exactly(Tier::C),
        SandboxName::Off => {
            refuse_unheld_denials(config, "--sandbox off")?;
            return Ok(None);
        }
    };
    let (proxy, network) = proxy(config, workspace).await?;
    if let Some(results) = results {
        make_private(results)?;
    }
    let folders = &config.folders;
    hidden.extend([folders.config.clone(), folders.sessions(), folders.history()]);
    let roots = workspace.roots();
    hidden.extend(config.credential_files(&roots));
    if is_within(&folders.cache, &roots) {
        // What is not there cannot be hidden. Where it cannot be made, a command could not either.
        let _ = make_private(&folders.cache);
        hidden.push(folders.cache.clone());
    }
    let own = config.own_files(mounts, &roots);
    let settings = WallSettings {
        roots,
        home: Some(folders.home.clone()),
        covered: folders.covered.clone(),
        readable: results.map(Path::to_path_buf).into_iter().chain(config.readable()?).collect(),
        ways: workspace.ways().into_iter().chain(config.ways_to_readable()?).collect(),
        toolchains: config.toolchain_folders(),
        virtual_environment: config.virtual_environment(),
        hidden,
        own,
        state: Some(folders.state.clone()),
        shown: config.shown_files(),
        wanted,
        limits: Limits {
            disk_bytes_max: config.settings.disk_bytes_max.get(),
            processes_max: config.settings.processes_max.get(),
            memory_bytes_max: config.settings.memory_bytes_max.get(),
            file_bytes_max: config.settings.file_bytes_max.get(),
            temporary_bytes_max: config.settings.temporary_bytes_max.get(),
            ..Limits::default()
        },
        guarded_folders_max: GUARDED_FOLDERS_MAX,
    };
    if let Some(folder) = settings.environment_out_of_sight() {
        let said = Text::EnvironmentOutOfSight.with(&[("folder", &folder.display())]);
        say_notices(&[said], config.look().language);
    }
    let profile = Profile { network, ..Profile::workspace(workspace) };
    Ok(Some((Walls::with_proxy(settings, proxy), profile)))
}

/// Returns the proxy with the user's rules, and whether commands need it.
pub(crate) async fn proxy(
    config: &Config,
    workspace: &Workspace,
) -> Result<(Proxy, Network), CliError> {
    let (hosts, network) = network(config, workspace).await?;
    // Of a proxy that nothing goes through it does not matter whether it could be used.
    let upstream = if hosts.is_empty() { None } else { upstream(config)? };
    let proxy = Proxy::new(ProxyOptions { upstream, ..Default::default() });
    proxy.allow(hosts);
    proxy.deny(named_hosts(config, workspace, &config.settings.denied_hosts, None).await?);
    Ok((proxy, network))
}

/// Returns the hosts that commands reach through the proxy, and whether they need it.
async fn network(
    config: &Config,
    workspace: &Workspace,
) -> Result<(Vec<HostRule>, Network), CliError> {
    let names = &config.settings.net;
    if names.iter().any(|name| name == EVERYTHING) {
        refuse_unheld_denials(config, "--net on")?;
        return Ok((Vec::new(), Network::On));
    }
    Ok((named_hosts(config, workspace, names, Some(Text::NetOpens)).await?, Network::Proxied))
}

/// With this flag there is no proxy to hold what the user denies.
fn refuse_unheld_denials(config: &Config, flag: &str) -> Result<(), CliError> {
    match config.settings.denied_hosts.first() {
        Some(name) => {
            let values: [(&str, &dyn Display); 2] = [("name", name), ("flag", &flag)];
            Err(CliError::config(Text::DeniedUnheld.with(&values))
                .with_hint(Text::HintDeniedUnheld))
        }
        None => Ok(()),
    }
}

/// Returns the hosts of these names, some of which may be those of toolchains: of these `said` tells which
/// hosts they are.
async fn named_hosts(
    config: &Config,
    workspace: &Workspace,
    names: &[String],
    said: Option<Text>,
) -> Result<Vec<HostRule>, CliError> {
    let toolchains = Toolchains::new(config, workspace.roots());
    let mut hosts = Vec::new();
    for name in names {
        if let Some(found) = toolchains.hosts(name).await {
            say_notices(&notices(name, found, said), config.look().language);
            hosts.extend_from_slice(&found.rules);
            continue;
        }
        hosts.push(name.parse().map_err(|error: HostError| {
            CliError::config(Text::NoHost.with(&[("name", name)]))
                .with_source(error)
                .with_hint(Text::HintNoHost)
        })?);
    }
    Ok(hosts)
}

/// Returns what is said of the preset `name`: by `text` its hosts, and what is not known of it.
fn notices(name: &str, found: &PresetHosts, text: Option<Text>) -> Vec<Sentence> {
    let hosts = found.rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let text = text.filter(|_| !hosts.is_empty());
    let opens = |text: Text| text.with(&[("name", &name), ("hosts", &hosts)]);
    let about = || Sentence::from(format!("--net {name}"));
    let mut said: Vec<Sentence> = text.map(opens).into_iter().collect();
    said.extend(found.not_known.map(|why| about().with_more(Sentence::of_library(why))));
    said
}

/// Returns the proxy of the user's own network, through which hosts are reached.
fn upstream(config: &Config) -> Result<Option<UpstreamProxy>, CliError> {
    let proxy = config.network.https_proxy().map(|proxy| UpstreamProxy::parse(proxy.expose()));
    proxy.transpose().map_err(|error| CliError::config(Text::ProxyUnusable).with_source(error))
}

/// Whether the folder of the built-in model and its saved states, which all sessions compute with, is in one of the
/// session's. What a replay works in may be in there itself.
fn is_within(cache: &Path, roots: &[PathBuf]) -> bool {
    let is_around = |cache: PathBuf| roots.iter().any(|root| root.starts_with(&cache));
    leads_into(cache, roots) && !cache.canonicalize().is_ok_and(is_around)
}

/// Makes a folder that only this user can look into. It must be there before the walls are.
fn make_private(folder: &Path) -> Result<(), CliError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| {
        CliError::failed(Text::FolderNotMade.with(&[("path", &folder.display())]))
            .with_source(error)
    })
}
