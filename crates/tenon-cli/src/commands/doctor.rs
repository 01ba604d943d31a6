//! `tenon doctor`.

use std::{
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tenon_model::visible;
use tenon_sandbox::{Coverage, Journal, Kernel, Network as NetworkAccess, Proxy, Workspace, probe};

use crate::{
    args::SessionArgs,
    config::{Config, Environment},
    error::{CliError, ExitStatus},
    model_choice::Choice,
    past,
    print::print,
    pull::{self, State},
    setup,
};

/// Show what is configured, what this kernel gives, and what is missing
#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    session: SessionArgs,
}

/// Programs that are looked for, with what misses them.
const PROGRAMS: [(&str, Need, &str); 3] = [
    ("bash", Need::Always, "the bash tool cannot run without it: install bash"),
    ("git", Need::Often, "models use it for history and diffs: install git"),
    ("python3", Need::Often, "the built-in model may have to come by pip: install python3 and pip"),
];

/// Returns what a Linux inside Windows lacks for walls, and how to mend it. WSL 1 calls itself
/// `4.4.0-19041-Microsoft`, WSL 2 `5.15.90.1-microsoft-standard-WSL2`.
fn missing_in_windows(
    release: &str,
    landlock: Option<u32>,
) -> Option<(&'static str, &'static str)> {
    if release.ends_with("-Microsoft") {
        Some((
            "WSL 1 has no Linux kernel: commands cannot be confined",
            "in Windows: wsl --set-version DISTRIBUTION 2",
        ))
    } else if release.contains("microsoft") && landlock.is_none() {
        Some((
            "this WSL 2 has no Landlock",
            "in Windows: wsl --update; if that is not enough, add kernelCommandLine=lsm=landlock to \
             [wsl2] in .wslconfig and run wsl --shutdown",
        ))
    } else {
        None
    }
}

/// Paths that are named of a list of them.
const PATHS_MAX: usize = 12;

/// How much a program is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Always,
    Often,
}

/// What was found, and whether anything is missing that tenon cannot do without.
#[derive(Default)]
struct Findings {
    text: String,
    broken: bool,
}

impl Doctor {
    /// Prints the findings. `session` is what stood before `doctor`.
    pub(super) async fn execute(
        self,
        environment: Environment,
        session: SessionArgs,
    ) -> Result<ExitStatus, CliError> {
        let session = self.session.or(session);
        let config = Config::load(environment, &session)?;
        let findings = Findings::of(&config, &session).await;
        print(&visible(&findings.text))?;
        Ok(if findings.broken { ExitStatus::Failed } else { ExitStatus::Finished })
    }
}

/// Returns the findings as they are printed.
pub(crate) async fn report(config: &Config, session: &SessionArgs) -> String {
    visible(&Findings::of(config, session).await.text).into_owned()
}

impl Findings {
    async fn of(config: &Config, session: &SessionArgs) -> Self {
        let mut findings = Self::default();
        findings.model(config, session);
        findings.configuration(config);
        findings.network(config);
        findings.walls(config).await;
        findings.undo(config);
        findings.kernel(&probe());
        findings.programs(config.variable("PATH"));
        findings
    }

    fn title(&mut self, title: &str) {
        let blank = if self.text.is_empty() { "" } else { "\n" };
        self.text.push_str(&format!("{blank}{title}\n"));
    }

    fn good(&mut self, what: &str) {
        self.text.push_str(&format!("  {what}\n"));
    }

    fn missing(&mut self, what: &str, mend: &str) {
        self.text.push_str(&format!("  ! {what}\n    hint: {mend}\n"));
    }

    fn model(&mut self, config: &Config, session: &SessionArgs) {
        self.title("Model");
        match setup::choose(config, session) {
            Ok(Some(chosen)) => {
                let name = match &chosen.choice {
                    Choice::Remote { endpoint, model } => {
                        format!("{}/{}", endpoint.name, model.as_deref().unwrap_or("?"))
                    }
                    Choice::BuiltIn => "local".to_owned(),
                    Choice::ModelFile(path) => format!("local, {}", path.display()),
                    Choice::Scripted(path) => format!("scripted:{}", path.display()),
                };
                self.good(&format!("{name}, because of {}", chosen.because));
                if let Choice::Remote { endpoint, .. } = &chosen.choice
                    && !endpoint.is_configured()
                {
                    self.missing(&format!("{} has no key", endpoint.name), "set its key");
                }
            }
            Ok(None) => self.missing(
                "no model is configured",
                if cfg!(feature = "local") {
                    "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or use --model local"
                } else {
                    "set ANTHROPIC_API_KEY or OPENAI_API_KEY"
                },
            ),
            Err(error) => {
                self.broken = true;
                self.missing(&error.to_string(), "mend --model or the setting");
            }
        }
        let model = pull::built_in();
        match model.state(&config.folders.models()) {
            _ if !cfg!(feature = "local") => self.good("the built-in model is not built in"),
            State::Whole => self.good("the built-in model is here"),
            State::Partial(bytes) => self.missing(
                &format!("{} MB of the built-in model are here", bytes / 1_000_000),
                "`tenon models pull` fetches the rest",
            ),
            State::Absent => self.good("the built-in model is not here; `tenon models pull`"),
        }
        for endpoint in config.providers.values() {
            let key = endpoint
                .key_source
                .as_deref()
                .map_or("no key".into(), |source| format!("a key from {source}"));
            let address = endpoint.shown_address();
            let address = address.as_deref().unwrap_or("its own service");
            let source = &endpoint.source;
            self.good(&format!("provider {}: {key}, {address} ({source})", endpoint.name));
        }
    }

    fn configuration(&mut self, config: &Config) {
        self.title("Configuration");
        if config.files.is_empty() {
            let path = config.folders.config_file();
            self.good(&format!("no file is read; {} would be", path.display()));
        }
        for path in &config.files {
            self.good(&format!("read: {}", path.display()));
        }
        for notice in &config.notices {
            self.missing(notice, "docs/configuration.md lists the settings");
        }
        let mut notices = Vec::new();
        for instruction in config.instructions(&mut notices) {
            self.good(&format!("instructions: {}", instruction.source));
        }
        for notice in notices {
            self.missing(&notice, "make it a regular text file within the repository");
        }
        self.good(&format!("sessions: {}", config.folders.sessions().display()));
    }

    fn network(&mut self, config: &Config) {
        self.title("Network");
        let proxies = config.network.shown();
        if proxies.is_empty() {
            self.good("no proxy");
        }
        for (name, value) in proxies {
            self.good(&format!("{name}: {value}"));
        }
        match (config.network.http_options(None), &config.network.ca_file) {
            (Err(error), _) => {
                self.broken = true;
                self.missing(&error.to_string(), "mend ca_file in the configuration");
            }
            (Ok(_), Some(path)) => self.good(&format!("trusted too: {}", path.display())),
            (Ok(_), None) => {}
        }
        for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
            if let Some(value) = config.variable(name) {
                self.good(&format!("{name}: {value}"));
            }
        }
    }

    fn kernel(&mut self, kernel: &Kernel) {
        self.title(&format!("Kernel {}", kernel.release));
        if kernel.openat2 {
            self.good("openat2: files cannot lead out of the workspace");
        } else {
            self.broken = true;
            self.missing("no openat2: no file can be opened", "Linux 5.6 or newer is needed");
        }
        if kernel.pidfd {
            self.good("pidfd: commands end with all their processes");
        } else {
            self.missing("no pidfd", "Linux 5.3 or newer is needed");
        }
        let yes = |there: bool| if there { "yes" } else { "no" };
        let landlock = kernel.landlock_abi.map_or("no".into(), |abi| format!("version {abi}"));
        self.good(&format!(
            "Landlock {landlock}, seccomp {}, user namespaces {}, mounts changed as a tree {}, \
             processes counted for each namespace {}, cgroup v2 delegated {}, overlayfs {}",
            yes(kernel.seccomp),
            yes(kernel.user_namespaces),
            yes(kernel.mount_setattr),
            yes(kernel.pid_max_in_namespace),
            yes(kernel.cgroup_delegated),
            yes(kernel.overlayfs),
        ));
        if let Some((lack, hint)) = missing_in_windows(&kernel.release, kernel.landlock_abi) {
            self.missing(lack, hint);
        }
    }

    /// What commands can do, found out by running one that does nothing.
    async fn walls(&mut self, config: &Config) {
        self.title("Commands");
        let made = match Workspace::open(&config.root) {
            Ok(workspace) => setup::walls(config, &workspace, None, Vec::new()).await,
            Err(error) => Err(CliError::usage(error.to_string())),
        };
        let (walls, profile) = match made {
            Ok(Some(made)) => made,
            Ok(None) => {
                return self.missing("not confined: --sandbox off", "leave --sandbox off out");
            }
            Err(error) => {
                self.broken = true;
                return self.missing(&error.to_string(), "mend the setting");
            }
        };
        if let Err(error) = walls.tier().await {
            self.broken = true;
            let hint = error.hint().unwrap_or("--sandbox off runs commands without walls");
            return self.missing(&error.to_string(), hint);
        }
        let found = walls.describe(&profile);
        self.good(&found.tier.to_string());
        for error in &found.missing {
            self.missing(&error.to_string(), error.hint().unwrap_or("no way to mend it is known"));
        }
        self.good(&format!("written: {}", listed(&found.writable)));
        if !found.scratch.is_empty() {
            self.good(&format!("written and thrown away: {}", listed(&found.scratch)));
        }
        self.good(&format!("read: {}", listed(&found.readable)));
        if !found.hidden.is_empty() {
            self.good(&format!("not there: {}", listed(&found.hidden)));
        }
        let rules = walls.proxy().map(Proxy::allowed).unwrap_or_default();
        let hosts = rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        self.good(&match found.network {
            NetworkAccess::On => "reached: everything, because of --net on".to_owned(),
            // Hosts are told apart by the proxy, which is reached on loopback.
            _ if !found.loopback => "reached: nothing; only --net on opens anything".to_owned(),
            _ if hosts.is_empty() => "reached: nothing; --net HOST opens a host".to_owned(),
            _ => format!("reached: {hosts}"),
        });
        if !found.loopback {
            self.good("no server and client on loopback in one command (--net on would let them)");
        }
    }

    /// What can be undone, and how much room that takes.
    fn undo(&mut self, config: &Config) {
        self.title("Undo");
        if !config.settings.undo {
            return self.missing("switched off", "leave `undo = false` out of the configuration");
        }
        let opened = Workspace::open(&config.root).map_err(|error| error.to_string()).and_then(
            |workspace| {
                let journal = Journal::open(&workspace, setup::journal_options(config));
                journal.map_err(|error| error.to_string())
            },
        );
        let journal = match opened {
            Ok(journal) => journal,
            Err(error) => return self.missing(&error, "make the workspace writable"),
        };
        match journal.coverage() {
            Coverage::Commands => self.good("what file tools and commands change is recorded"),
            Coverage::ByComparison if config.settings.undo_by_comparison => {
                self.good("the workspace is compared before and after each command, as you chose");
            }
            Coverage::ByComparison => self.missing(
                "the workspace is compared before and after each command, within bounds",
                "Linux 5.19 or newer without another program's filter is faster and sees more",
            ),
        }
        match journal.usage() {
            Ok(usage) => self.good(past::usage(&usage).trim_end()),
            Err(error) => self.missing(&error.to_string(), "look at the folder"),
        }
        self.good(&format!("kept in: {}", listed(&journal.folders())));
    }

    fn programs(&mut self, path: Option<&str>) {
        self.title("Programs");
        for (name, need, mend) in PROGRAMS {
            match find(name, path.unwrap_or_default()) {
                Some(path) => self.good(&format!("{name}: {path}")),
                None => {
                    self.broken |= need == Need::Always;
                    self.missing(&format!("{name} is not in PATH"), mend);
                }
            }
        }
    }
}

/// Paths in a line; the first of many.
fn listed(paths: &[PathBuf]) -> String {
    let shown: Vec<String> =
        paths.iter().take(PATHS_MAX).map(|path| path.display().to_string()).collect();
    let more = paths.len().saturating_sub(PATHS_MAX);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", shown.join(", "))
}

/// Returns where a program is, as a shell would find it.
fn find(name: &str, path: &str) -> Option<String> {
    let folders = std::env::split_paths(OsStr::new(path)).filter(|folder| folder.is_absolute());
    let mut places = folders.map(|folder| folder.join(name));
    places.find(|place| is_program(place)).map(|place| place.display().to_string())
}

#[expect(clippy::disallowed_methods, reason = "looks whether a program is there, opens nothing")]
fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linux_inside_windows_is_told_what_it_lacks() {
        let lack = |release, landlock| missing_in_windows(release, landlock).map(|(lack, _)| lack);
        assert!(lack("4.4.0-19041-Microsoft", None).is_some_and(|lack| lack.contains("WSL 1")));
        let second = "5.15.90.1-microsoft-standard-WSL2";
        assert!(lack(second, None).is_some_and(|lack| lack.contains("Landlock")));
        assert_eq!(lack(second, Some(4)), None);
        assert_eq!(lack("6.1.0-18-amd64", None), None);
    }
}
