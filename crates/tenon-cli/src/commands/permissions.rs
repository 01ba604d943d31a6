//! `tenon permissions`.

use tenon_agent::{Action, Decision, Places, Verdict, decide};
use tenon_model::visible;

use crate::{
    args::SessionArgs,
    config::{Config, Environment},
    error::{CliError, ExitStatus},
    print::print,
    setup,
};

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
        /// The command line
        command: String,

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
    pub(super) fn execute(
        self,
        environment: Environment,
        session: SessionArgs,
    ) -> Result<ExitStatus, CliError> {
        let (own, command) = match self.what {
            What::Check { command, session } => (session, Some(command)),
            What::List { session } => (session, None),
        };
        let session = own.or(session);
        let config = Config::load(environment, &session)?;
        match command {
            Some(command) => check(&config, &session, command),
            None => list(&config, &session),
        }
    }
}

fn check(config: &Config, session: &SessionArgs, command: String) -> Result<ExitStatus, CliError> {
    let rules = setup::rules(config, session)?;
    let workspace = setup::workspace(config, session)?;
    let places = Places {
        roots: workspace.roots().iter().map(|root| root.display().to_string()).collect(),
        home: config.folders.home.display().to_string(),
        cwd: workspace.root().display().to_string(),
    };
    let mode = setup::mode(&config.settings);
    let decision = decide("bash", &Action::Run { command }, &rules, mode, &places);
    print(&visible(&explained(&decision)))?;
    Ok(match decision.verdict {
        Verdict::Allow => ExitStatus::Finished,
        Verdict::Ask | Verdict::Deny => ExitStatus::Failed,
    })
}

fn explained(decision: &Decision) -> String {
    let mut said =
        format!("{}: {}\nrule: {}\n", word(decision.verdict), decision.reason, decision.rule);
    if decision.unconfined {
        said.push_str("outside the walls if it is allowed\n");
    }
    if let Some(flag) = &decision.flag {
        said.push_str(&format!("hint: {flag} would allow it\n"));
    }
    said
}

fn list(config: &Config, session: &SessionArgs) -> Result<ExitStatus, CliError> {
    // A rule that is none is an error here as it is in a session.
    setup::rules(config, session)?;
    let settings = &config.settings;
    let mut said = String::from("deny   what destroys the machine (built-in)\n");
    let lists = [
        (Verdict::Deny, &settings.deny, "configuration"),
        (Verdict::Deny, &session.deny, "command line"),
        (Verdict::Allow, &settings.allow, "configuration"),
        (Verdict::Allow, &session.allow, "command line"),
    ];
    for (verdict, rules, origin) in lists {
        for rule in rules {
            said.push_str(&format!("{:<6} {rule} ({origin})\n", word(verdict)));
        }
    }
    said.push_str("ask    what is risky (built-in)\n");
    let rest = match setup::mode(settings) {
        tenon_agent::Mode::ReadOnly => "deny   everything that is no reading (mode read-only)",
        tenon_agent::Mode::Ask => "ask    every other change and command (mode ask)",
        tenon_agent::Mode::Auto => "allow  everything else, inside the walls (mode auto)",
    };
    print(&visible(&format!("{said}{rest}\n")))?;
    Ok(ExitStatus::Finished)
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}
