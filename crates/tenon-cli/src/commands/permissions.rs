//! `tenon permissions`.

use std::{fmt::Display, str::FromStr};

use serde_json::{Map, Value, json};
use tenon_agent::{
    Action, Decision, Effect, Kept, Leaves, Tools, Verdict, decide_by_names, protected_writes,
    why_not_started,
};
use tenon_model::{Abilities, visible};
use tenon_sandbox::{
    Access, HostRule, Missing, Mounts, Network, NetworkOutcome, Preset, Refusal, Workspace,
};

use crate::{
    args::SessionArgs,
    config::{Config, Environment, RuleBook},
    error::{CliError, ExitStatus},
    print::{print_asked, say_notices},
    setup,
    texts::{Text, translated},
    values::SandboxName,
};

/// Stands for a rule where a command does not start, whatever is allowed.
const NOT_STARTED: &str = "built-in: does not start";

/// Say what may be done without a question, and why
#[derive(Debug, clap::Args)]
pub(crate) struct Permissions {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Say whether a command would run, be asked about or be refused, and by which rule; ends with
    /// 0 only if it would run
    Check {
        /// The command line, or with --tool the path or host
        command: String,

        /// Say it of a call of this tool instead of a command, or of a host (net)
        #[arg(long, value_name = "TOOL", default_value = "bash")]
        tool: String,

        #[command(flatten)]
        session: SessionArgs,
    },
    /// List the rules, those that count more first
    List {
        #[command(flatten)]
        session: SessionArgs,
    },
}

impl Permissions {
    /// Explains. `session` is what stood before `permissions`.
    pub(super) async fn execute(
        self,
        environment: Environment,
        session: SessionArgs,
    ) -> Result<ExitStatus, CliError> {
        let (own, command) = match self.what {
            What::Check { command, tool, session } => (session, Some((tool, command))),
            What::List { session } => (session, None),
        };
        let session = own.or(session);
        let config = Config::load(environment, &session)?;
        setup::mask_output(&config);
        say_notices(&config.notices, config.look().language);
        match command {
            Some((tool, host)) if tool == "net" => check_host(&config, &session, &host).await,
            Some((tool, subject)) => check(&config, &session, &tool, subject).await,
            None => {
                print_asked(&list(&config, &session)?)?;
                Ok(ExitStatus::Finished)
            }
        }
    }
}

async fn check(
    config: &Config,
    session: &SessionArgs,
    tool: &str,
    subject: String,
) -> Result<ExitStatus, CliError> {
    let rules = setup::rules(config, session)?;
    let workspace = setup::workspace(config, session)?;
    let places = config.folders.places_for_rules(&workspace);
    let mode = setup::mode(&config.settings);
    let tools = setup::tools(&config.settings, &Abilities::default());
    let action = match tool {
        "bash" => Action::Run { command: subject },
        _ => action_of(&tools, tool, subject, &workspace)?,
    };
    let names = |folder: &str| workspace.all_names(folder);
    let mut decision = decide_by_names(tool, &action, &rules, mode, &places, &names);
    if !can_keep_rules(config, &workspace) {
        decision.always = None;
    }
    let Action::Run { command } = &action else {
        return say(decision.verdict, &explained(&decision, config));
    };
    if decision.verdict != Verdict::Deny
        && let Some(reason) = why_not_started(command)
    {
        // No answer and no rule would make it run.
        decision.verdict = Verdict::Deny;
        decision.rule = NOT_STARTED.to_owned();
        decision.reason = reason;
        (decision.flag, decision.always, decision.leaves) = (None, None, None);
    }
    if is_off(config) {
        // There are no walls to leave.
        decision.leaves = None;
        let unconfined = if decision.verdict == Verdict::Deny { "" } else { &unconfined(config) };
        return say(decision.verdict, &(explained(&decision, config) + unconfined));
    }
    if decision.verdict == Verdict::Deny || decision.leaves.is_some() {
        return say(decision.verdict, &explained(&decision, config));
    }
    let mut all = protected_writes(command, &workspace, &rules, mode, &places);
    if all.is_empty() || decision.verdict == Verdict::Ask {
        // Else what becomes of the files is all that there is to say.
        all.insert(0, decision);
    }
    let worst = all.iter().map(|decision| decision.verdict).max().unwrap_or(Verdict::Allow);
    if worst == Verdict::Allow
        && let Some(decision) = without_walls(config, &workspace).await?
    {
        return say(decision.verdict, &explained(&decision, config));
    }
    let mut said: String = all.iter().map(|decision| explained(decision, config)).collect();
    if !only_reads(&tools, command, &workspace) {
        said.push_str(&format!("{}\n", Text::WallsHold.template(config.look().language)));
    }
    say(worst, &said)
}

/// Returns the refusal of every command where the walls that it would run in cannot be had.
async fn without_walls(
    config: &Config,
    workspace: &Workspace,
) -> Result<Option<Decision>, CliError> {
    let mounts = Mounts::of_this_process();
    let walls = setup::walls(config, workspace, None, Vec::new(), &mounts).await?;
    let Some((walls, _)) = walls else { return Ok(None) };
    let Err(error) = walls.tier().await else { return Ok(None) };
    let of_moment = [Missing::Helper, Missing::Room, Missing::NamesChanged];
    let may_be_off =
        !of_moment.contains(&error.missing) && !matches!(error.missing, Missing::Folder { .. });
    Ok(Some(Decision {
        verdict: Verdict::Deny,
        rule: "walls: tier".to_owned(),
        reason: error.to_string(),
        flag: may_be_off.then(|| "--sandbox off".to_owned()),
        lifted_by: Vec::new(),
        always: None,
        leaves: None,
        unconfined: false,
        parts: Vec::new(),
    }))
}

/// Returns whether a command counts as one that only reads, which the walls hold it to.
fn only_reads(tools: &Tools, command: &str, workspace: &Workspace) -> bool {
    let call = tools.get("bash").map(|bash| bash.prepare(&json!({"command": command}), workspace));
    matches!(call, Some(Ok(call)) if call.effect == Effect::Read)
}

/// Returns whether commands run without walls.
fn is_off(config: &Config) -> bool {
    config.settings.sandbox == SandboxName::Off
}

/// Says it.
fn unconfined(config: &Config) -> String {
    format!("{}\n", Text::Unconfined.template(config.look().language))
}

fn say(verdict: Verdict, said: &str) -> Result<ExitStatus, CliError> {
    print_asked(&visible(said))?;
    Ok(match verdict {
        Verdict::Allow => ExitStatus::Finished,
        Verdict::Ask | Verdict::Deny => ExitStatus::Failed,
    })
}

/// Whether an answer "always" would be written down.
fn can_keep_rules(config: &Config, workspace: &Workspace) -> bool {
    RuleBook::new(config.folders.config_file(), workspace.roots()).is_open()
}

/// Says whether commands would reach a host.
async fn check_host(
    config: &Config,
    session: &SessionArgs,
    host: &str,
) -> Result<ExitStatus, CliError> {
    // A rule that is none is an error here as it is in a session.
    setup::rules(config, session)?;
    let workspace = setup::workspace(config, session)?;
    let (proxy, network) = setup::proxy(config, &workspace).await?;
    let event = proxy.judge_here(host).await.map_err(|error| match HostRule::from_str(host) {
        Ok(_) => CliError::usage(Text::ManyHosts.with(&[("name", &host)])),
        Err(_) => CliError::usage(Text::NoHost.with(&[("name", &host)])).with_source(error),
    })?;
    let is_preset = Preset::from_str(host).is_ok();
    let (verdict, rule) = match &event.outcome {
        _ if network == Network::On => (Verdict::Allow, "--net on".to_owned()),
        _ if is_preset && config.settings.net.iter().any(|name| name == host) => {
            (Verdict::Allow, format!("--net {host}"))
        }
        NetworkOutcome::Allowed { by } => (Verdict::Allow, format!("--net {by}")),
        NetworkOutcome::Refused(Refusal::Denied { by }) => (Verdict::Deny, format!("net({by})")),
        _ if is_off(config) => (Verdict::Allow, "--sandbox off".to_owned()),
        NetworkOutcome::Refused(_) | NetworkOutcome::Failed { .. } => {
            (Verdict::Ask, "walls: network".to_owned())
        }
    };
    let reason = match verdict {
        Verdict::Allow => format!("the rule {rule} allows it"),
        Verdict::Deny => format!("the rule {rule} forbids it"),
        Verdict::Ask => Refusal::NoRule.to_string(),
    };
    let needed = event.rule_needed().map(|rule| rule.to_string());
    // A preset is meant by its name, not a host that is called so.
    let needed = if is_preset { Some(host.to_owned()) } else { needed };
    let needed = needed.filter(|_| verdict == Verdict::Ask);
    let kept = needed.clone().filter(|_| can_keep_rules(config, &workspace));
    let decision = Decision {
        verdict,
        reason,
        rule,
        flag: needed.as_ref().map(|rule| match is_preset {
            true => format!("--net {rule}"),
            false => format!("--net '{rule}'"),
        }),
        lifted_by: Vec::new(),
        always: kept.map(Kept::Net),
        leaves: None,
        unconfined: false,
        parts: Vec::new(),
    };
    say(decision.verdict, &explained(&decision, config))
}

/// Returns what a call of a file tool on `path` would touch.
fn action_of(
    tools: &Tools,
    name: &str,
    path: String,
    workspace: &Workspace,
) -> Result<Action, CliError> {
    let Some(tool) = tools.get(name) else {
        return Err(
            CliError::usage(Text::NoSuchTool.with(&[("name", &name)])).with_hint(Text::HintTools)
        );
    };
    let schema = tool.spec().schema;
    let required = schema.get("required").and_then(Value::as_array);
    let mut arguments: Map<String, Value> = required
        .into_iter()
        .flatten()
        .filter_map(|field| Some((field.as_str()?.to_owned(), Value::from(""))))
        .collect();
    arguments.insert("path".into(), path.into());
    let call = tool.prepare(&arguments.into(), workspace);
    call.map(|call| call.action).map_err(|error| CliError::usage(name).with_source(error))
}

fn explained(decision: &Decision, config: &Config) -> String {
    let language = config.look().language;
    let reason = translated(&decision.reason, language);
    let values: [(&str, &dyn Display); 2] = [("said", &word(decision.verdict)), ("more", &reason)];
    let mut lines = vec![
        Text::WithMore.say(language, &values),
        Text::ByRule.say(language, &[("rule", &decision.rule)]),
    ];
    let leaves = match decision.leaves {
        Some(Leaves::Command) => Some(Text::WouldLeave),
        Some(Leaves::Path { within: true, .. }) => None,
        Some(Leaves::Path { access: Access::Read, .. }) => Some(Text::WouldReadOutside),
        Some(Leaves::Path { access: Access::Write, .. }) => Some(Text::WouldWriteOutside),
        Some(Leaves::ProtectedFile) => Some(Text::WouldWriteProtected),
        Some(Leaves::Host) | None => None,
    };
    lines.extend(leaves.map(|text| text.template(language).to_owned()));
    let hint = |said: String| format!("{} {said}", Text::Hint.template(language));
    if let Some(flag) = &decision.flag {
        lines.push(hint(Text::WouldAllow.say(language, &[("flag", flag)])));
    }
    if let Some(rule) = &decision.always {
        let file = config.folders.config_file();
        let as_toml = toml_edit::Value::from(rule.to_string());
        let values: [(&str, &dyn Display); 3] =
            [("rule", &as_toml), ("setting", &rule.setting()), ("file", &file.display())];
        lines.push(hint(Text::WouldAllowAlways.say(language, &values)));
    }
    lines.join("\n") + "\n"
}

/// Returns the rules in a line each, those that count more first.
pub(crate) fn list(config: &Config, session: &SessionArgs) -> Result<String, CliError> {
    // A rule that is none is an error here as it is in a session.
    setup::rules(config, session)?;
    let settings = &config.settings;
    let language = config.look().language;
    let line = |verdict, text: Text| format!("{:<6} {}\n", word(verdict), text.template(language));
    let mut said = line(Verdict::Deny, Text::ListDeny);
    // Only the user's own file allows anything, so what an "always" wrote is there, too. A project's
    // can deny.
    let own = config.folders.config_file().display().to_string();
    let of_project = config.files.last().map(|file| file.display().to_string()).unwrap_or_default();
    let from_line = Text::ListFromLine.template(language);
    let (flags, net) = (&session.net, settings.net.len() - session.net.len());
    let lists = [
        (Verdict::Deny, Text::ListRule, settings.deny.as_slice(), own.as_str()),
        (Verdict::Deny, Text::ListRule, &settings.deny_of_project, &of_project),
        (Verdict::Deny, Text::ListRule, &session.deny, from_line),
        (Verdict::Allow, Text::ListRule, &settings.allow, &own),
        (Verdict::Allow, Text::ListRule, &session.allow, from_line),
        (Verdict::Allow, Text::ListHost, settings.net.get(..net).unwrap_or_default(), &own),
        (Verdict::Allow, Text::ListHost, flags, from_line),
        (Verdict::Allow, Text::ListRead, &settings.read_dir, &own),
    ];
    for (verdict, text, rules, origin) in lists {
        for rule in rules {
            let rule = text.say(language, &[("rule", rule), ("origin", &origin)]);
            said.push_str(&format!("{:<6} {rule}\n", word(verdict)));
        }
    }
    said.push_str(&line(Verdict::Ask, Text::ListAsk));
    let rest = match setup::mode(settings) {
        tenon_agent::Mode::ReadOnly => line(Verdict::Deny, Text::ListReadOnly),
        tenon_agent::Mode::Ask => line(Verdict::Ask, Text::ListAskMode),
        tenon_agent::Mode::Auto if is_off(config) => line(Verdict::Allow, Text::ListAutoUnconfined),
        tenon_agent::Mode::Auto => line(Verdict::Allow, Text::ListAuto),
    };
    said.push_str(&rest);
    if is_off(config) {
        said.push_str(&unconfined(config));
    }
    Ok(visible(&said).into_owned())
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}
