//! `tenon doctor` and `/doctor`, in the session's language.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fmt::Display,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tenon_model::visible;
use tenon_sandbox::{
    Coverage, Exit, Journal, Kernel, Mounts, Network as NetworkAccess, Profile, Proxy, Sandbox,
    Tier, Workspace, probe,
};

use crate::{
    args::SessionArgs,
    config::{Config, Endpoint, Environment, Folders, private_file::belongs_to_another},
    error::{CliError, ExitStatus},
    model_choice::Choice,
    past,
    print::print,
    pull::{self, State},
    setup,
    texts::{Language, Text, translated},
};

/// Show what is configured, what this kernel gives, and what is missing
#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// Name all of long lists
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// Programs that are looked for, with what misses them.
const PROGRAMS: [(&str, Need, Text); 3] = [
    ("bash", Need::Always, Text::MendBash),
    ("git", Need::Often, Text::MendGit),
    ("python3", Need::Often, Text::MendPython),
];

/// Returns what a Linux inside Windows lacks for walls, and how to mend it. WSL 1 calls itself
/// `4.4.0-19041-Microsoft`, WSL 2 `5.15.90.1-microsoft-standard-WSL2`.
fn missing_in_windows(release: &str, landlock: Option<u32>) -> Option<(Text, Text)> {
    if release.ends_with("-Microsoft") {
        Some((Text::Wsl1, Text::MendWsl1))
    } else if release.contains("microsoft") && landlock.is_none() {
        Some((Text::Wsl2, Text::MendWsl2))
    } else {
        None
    }
}

/// Returns how to mend that the user's file cannot be read.
fn mend_unread(folders: &Folders) -> Text {
    let is_in_home = folders.config.starts_with(&folders.home);
    match belongs_to_another(&folders.home) {
        true if is_in_home => Text::MendHomeOfOther,
        _ => Text::MendUnread,
    }
}

/// Tells which program python is, whatever starts it.
const WHICH_PYTHON: (&str, &str) = ("python3", "python3 -c 'import sys; print(sys.executable)'");

/// What a script begins with.
const SCRIPT: [u8; 2] = *b"#!";

/// Paths that are named of a list of them, if not all are asked for.
const PATHS_MAX: usize = 12;

/// How much a program is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Always,
    Often,
}

/// What was found, and whether anything is missing that tenon cannot do without.
struct Findings {
    text: String,
    broken: bool,
    language: Language,
    /// Of each list.
    paths_max: usize,
}

impl Doctor {
    /// Prints the findings. `session` is what stood before `doctor`.
    pub(super) async fn execute(
        self,
        environment: Environment,
        session: SessionArgs,
    ) -> Result<ExitStatus, CliError> {
        let session = self.session.or(session);
        let (config, wrong) = Config::load_for_look(environment, &session)?;
        setup::mask_output(&config);
        let paths_max = if self.verbose { usize::MAX } else { PATHS_MAX };
        let findings = Findings::of((&config, &wrong), &session, paths_max).await;
        print(&visible(&findings.text))?;
        Ok(if findings.broken { ExitStatus::Failed } else { ExitStatus::Finished })
    }
}

/// Returns the findings as they are printed.
pub(crate) async fn report(config: &Config, session: &SessionArgs) -> String {
    visible(&Findings::of((config, &[]), session, PATHS_MAX).await.text).into_owned()
}

impl Findings {
    /// `wrong` is why files of the configuration were not read.
    async fn of(
        (config, wrong): (&Config, &[CliError]),
        session: &SessionArgs,
        paths_max: usize,
    ) -> Self {
        let language = config.look().language;
        let mut findings = Self { text: String::new(), broken: false, language, paths_max };
        findings.model(config, session);
        findings.configuration(config, wrong);
        findings.rules(config, session);
        findings.network(config);
        let walls = findings.walls(config, session).await;
        findings.undo(config);
        findings.kernel(&probe());
        findings.programs(config, walls).await;
        findings
    }

    /// Returns a text without values.
    fn word(&self, text: Text) -> &'static str {
        text.template(self.language)
    }

    fn title(&mut self, title: &str) {
        let blank = if self.text.is_empty() { "" } else { "\n" };
        self.text.push_str(&format!("{blank}{title}\n"));
    }

    fn good(&mut self, what: &str) {
        self.text.push_str(&format!("  {what}\n"));
    }

    fn say(&mut self, text: Text, values: &[(&str, &dyn Display)]) {
        let said = text.say(self.language, values);
        self.good(&said);
    }

    fn missing(&mut self, what: &str, mend: &str) {
        let hint = self.word(Text::Hint);
        self.text.push_str(&format!("  ! {what}\n    {hint} {mend}\n"));
    }

    /// The same with the words of a library.
    fn missing_of(&mut self, what: &dyn Display, mend: &str) {
        let language = self.language;
        self.missing(&translated(&what.to_string(), language), &translated(mend, language));
    }

    fn lacks(&mut self, what: Text, mend: Text) {
        self.missing(self.word(what), self.word(mend));
    }

    fn model(&mut self, config: &Config, session: &SessionArgs) {
        self.title(self.word(Text::DoctorModel));
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
                self.say(Text::ChosenBecause, &[("model", &name), ("source", &chosen.because)]);
                if let Choice::Remote { endpoint, .. } = &chosen.choice
                    && !endpoint.is_configured()
                {
                    let said = Text::NoKeyOf.say(self.language, &[("provider", &endpoint.name)]);
                    self.missing(&said, self.word(Text::MendKey));
                }
            }
            Ok(None) if cfg!(feature = "local") => {
                self.lacks(Text::NoModel, Text::MendNoModelLocal);
            }
            Ok(None) => self.lacks(Text::NoModel, Text::MendNoModel),
            Err(error) => {
                self.broken = true;
                self.missing(&error.sentence(self.language), self.word(Text::MendModel));
            }
        }
        match pull::built_in().state(&config.folders.models()) {
            _ if !cfg!(feature = "local") => self.say(Text::BuiltInNever, &[]),
            State::Whole => self.say(Text::BuiltInWhole, &[]),
            State::Partial(bytes) => {
                let megabytes = bytes / 1_000_000;
                let said = Text::BuiltInPartial.say(self.language, &[("n", &megabytes)]);
                self.missing(&said, self.word(Text::BuiltInFetchRest));
            }
            State::Absent => self.say(Text::BuiltInAbsent, &[]),
        }
        for endpoint in config.providers.values() {
            self.provider(endpoint);
        }
    }

    fn provider(&mut self, endpoint: &Endpoint) {
        let key = match &endpoint.key_source {
            Some(source) => Text::KeyFrom.say(self.language, &[("source", source)]),
            None => self.word(Text::KeyNone).to_owned(),
        };
        let address = endpoint.shown_address();
        let address = address.as_deref().unwrap_or(self.word(Text::OwnService));
        let source = endpoint.shown_source(self.language);
        let values: [(&str, &dyn Display); 4] =
            [("name", &endpoint.name), ("key", &key), ("address", &address), ("source", &source)];
        self.say(Text::ProviderIs, &values);
    }

    fn configuration(&mut self, config: &Config, wrong: &[CliError]) {
        self.title(self.word(Text::DoctorConfiguration));
        for error in wrong {
            self.broken = true;
            let hint = error.hint(self.language);
            let hint = hint.unwrap_or_else(|| self.word(mend_unread(&config.folders)).to_owned());
            self.missing(&error.told(self.language), &hint);
        }
        if config.files.is_empty() && wrong.is_empty() {
            self.say(Text::NoFileRead, &[("file", &config.folders.config_file().display())]);
        }
        for path in &config.files {
            self.say(Text::FileRead, &[("file", &path.display())]);
        }
        for notice in &config.notices {
            self.missing(&notice.say(self.language), self.word(Text::MendNotice));
        }
        let mut notices = Vec::new();
        for instruction in config.instructions(&mut notices) {
            self.say(Text::InstructionsFrom, &[("source", &instruction.source)]);
        }
        for notice in notices {
            self.missing(&notice.say(self.language), self.word(Text::MendInstructions));
        }
        self.say(Text::SessionsIn, &[("folder", &config.folders.sessions().display())]);
    }

    /// Those of the command line: the others were read with their files.
    fn rules(&mut self, config: &Config, session: &SessionArgs) {
        if let Err(error) = setup::rules(config, session) {
            self.broken = true;
            self.missing(&error.told(self.language), self.word(Text::MendNotice));
        }
    }

    fn network(&mut self, config: &Config) {
        self.title(self.word(Text::DoctorNetwork));
        let proxies = config.network.shown();
        if proxies.is_empty() {
            self.say(Text::NoProxy, &[]);
        }
        for (name, value) in proxies {
            self.good(&format!("{name}: {value}"));
        }
        match (config.network.http_options(None), &config.network.ca_file) {
            (Err(error), _) => {
                self.broken = true;
                self.missing(&error.sentence(self.language), self.word(Text::MendTrusted));
            }
            (Ok(_), Some(path)) => self.say(Text::TrustedToo, &[("file", &path.display())]),
            (Ok(_), None) => {}
        }
        for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
            if let Some(value) = config.variable(name) {
                self.good(&format!("{name}: {value}"));
            }
        }
    }

    fn kernel(&mut self, kernel: &Kernel) {
        self.title(&Text::DoctorKernel.say(self.language, &[("release", &kernel.release)]));
        let needed = |version: &str| Text::MendKernel.say(self.language, &[("version", &version)]);
        let (for_openat2, for_pidfd) = (needed("5.6"), needed("5.3"));
        if kernel.openat2 {
            self.say(Text::HasOpenat2, &[]);
        } else {
            self.broken = true;
            self.missing(self.word(Text::NoOpenat2), &for_openat2);
        }
        if kernel.pidfd {
            self.say(Text::HasPidfd, &[]);
        } else {
            self.missing(self.word(Text::NoPidfd), &for_pidfd);
        }
        let [yes, no] = [Text::KernelYes, Text::KernelNo].map(|text| self.word(text));
        let there = |there: bool| if there { yes } else { no };
        let landlock = match kernel.landlock_abi {
            Some(version) => Text::KernelVersion.say(self.language, &[("n", &version)]),
            None => no.to_owned(),
        };
        let values: [(&str, &dyn Display); 6] = [
            ("landlock", &landlock),
            ("seccomp", &there(kernel.seccomp)),
            ("namespaces", &there(kernel.user_namespaces)),
            ("mounts", &there(kernel.mount_setattr)),
            ("processes", &there(kernel.pid_max_in_namespace)),
            ("overlayfs", &there(kernel.overlayfs)),
        ];
        self.say(Text::KernelGives, &values);
        if let Some((lack, mend)) = missing_in_windows(&kernel.release, kernel.landlock_abi) {
            self.lacks(lack, mend);
        }
    }

    /// Says what switched the walls off.
    fn not_confined(&mut self, config: &Config, session: &SessionArgs) {
        match config.settings.sandbox_line.filter(|_| session.sandbox.is_none()) {
            Some(line) => {
                let file = config.folders.config_file();
                let values: [(&str, &dyn Display); 2] =
                    [("file", &file.display()), ("line", &line)];
                let said = Text::NotConfinedSetting.say(self.language, &values);
                self.missing(&said, self.word(Text::MendNotConfinedSetting));
            }
            None => self.lacks(Text::NotConfined, Text::MendNotConfined),
        }
    }

    /// What commands can do, found out by running one that does nothing. Returns the walls and what commands
    /// may do in them, if they stand.
    async fn walls(
        &mut self,
        config: &Config,
        session: &SessionArgs,
    ) -> Option<(Sandbox, Profile)> {
        self.title(self.word(Text::DoctorCommands));
        let mut roots = Vec::new();
        let made = match setup::workspace(config, session) {
            Ok(workspace) => {
                roots = workspace.roots();
                let journal = config
                    .settings
                    .undo
                    .then(|| Journal::open(&workspace, setup::journal_options(config)).ok());
                let stores = journal.flatten().map(|journal| journal.folders()).unwrap_or_default();
                setup::walls(config, &workspace, None, stores, &Mounts::of_this_process()).await
            }
            Err(error) => Err(error),
        };
        let (walls, profile) = match made {
            Ok(Some(made)) => made,
            Ok(None) => {
                self.not_confined(config, session);
                self.mounted(config, &roots, Tier::D);
                return None;
            }
            Err(error) => {
                self.broken = true;
                let said = error.sentence(self.language);
                self.missing(&said, self.word(Text::MendSetting));
                return None;
            }
        };
        if let Err(error) = walls.tier().await {
            self.broken = true;
            let hint = error.hint().unwrap_or(self.word(Text::MendNoTier));
            self.missing_of(&error, hint);
            return None;
        }
        self.described(config, &roots, &walls, &profile);
        Some((walls, profile))
    }

    /// What commands read, write and reach.
    fn described(
        &mut self,
        config: &Config,
        roots: &[PathBuf],
        walls: &Sandbox,
        profile: &Profile,
    ) {
        let found = walls.describe(profile);
        self.good(&translated(&found.tier.to_string(), self.language));
        for error in &found.missing {
            self.missing_of(error, error.hint().unwrap_or(self.word(Text::NoMend)));
        }
        self.paths(Text::CanWrite, &found.writable);
        self.paths_if_any(Text::HeldWithin, &found.held);
        self.paths_if_any(Text::CanWriteScratch, &found.scratch);
        if !found.named_scratch.is_empty() {
            let own = found.named_scratch.iter();
            let own = own.map(|(name, path)| format!("{name} ({})", path.display()));
            self.list(Text::CanWriteNamed, own);
        }
        self.paths(Text::CanRead, &found.readable);
        self.paths_if_any(Text::ShownEmpty, &found.emptied);
        self.paths_if_any(Text::ShownWithin, &found.kept);
        self.paths_if_any(Text::GivenCopies, &found.copied);
        self.paths_if_any(Text::NotThere, &found.hidden);
        let path = OsStr::new(config.variable("PATH").unwrap_or_default());
        self.paths_if_any(Text::PathUnseen, &walls.folders_out_of_sight(profile, path));
        self.mounted(config, roots, found.tier);
        let rules = walls.proxy().map(Proxy::allowed).unwrap_or_default();
        let hosts = rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let reached = match found.network {
            NetworkAccess::On => Text::ReachesAll,
            // Hosts are told apart by the proxy, which is reached on loopback.
            _ if !found.loopback => Text::ReachesNeverHosts,
            _ if hosts.is_empty() => Text::ReachesNothing,
            _ => Text::ReachesHosts,
        };
        self.say(reached, &[("hosts", &hosts)]);
        if !found.loopback {
            self.say(Text::NoLoopback, &[]);
        }
    }

    /// What is mounted within the folders of the session, and what holds there.
    fn mounted(&mut self, config: &Config, roots: &[PathBuf], tier: Tier) {
        let mounts = Mounts::of_this_process();
        let mounted = roots.iter().flat_map(|root| mounts.beneath(root));
        // A folder of the session has all that the workspace has.
        let mounted = mounted.filter(|mounted| !roots.iter().any(|root| root == mounted.path));
        let mounted: BTreeSet<String> = mounted
            .map(|mounted| format!("{} ({})", mounted.path.display(), mounted.file_system))
            .collect();
        if mounted.is_empty() {
            return;
        }
        let text = match tier {
            Tier::A | Tier::B => Text::MountedReadOnly,
            Tier::C | Tier::D => Text::MountedWritten,
        };
        self.list(text, mounted.into_iter());
        if config.settings.undo {
            self.say(Text::MountedUndo, &[]);
        }
    }

    /// What can be undone, and how much room that takes.
    fn undo(&mut self, config: &Config) {
        self.title(self.word(Text::DoctorUndo));
        if !config.settings.undo {
            return self.lacks(Text::UndoSwitchedOff, Text::MendUndoSwitchedOff);
        }
        let opened = Workspace::open(&config.root).map_err(|error| error.to_string()).and_then(
            |workspace| {
                let journal = Journal::open(&workspace, setup::journal_options(config));
                journal.map_err(|error| error.to_string())
            },
        );
        let journal = match opened {
            Ok(journal) => journal,
            Err(error) => return self.missing_of(&error, self.word(Text::MendJournal)),
        };
        match journal.coverage() {
            Coverage::Commands => self.say(Text::RecordsCommands, &[]),
            Coverage::ByComparison if config.settings.undo_by_comparison => {
                self.say(Text::ComparesAsChosen, &[]);
            }
            Coverage::ByComparison => self.lacks(Text::Compares, Text::MendCompares),
        }
        match journal.usage() {
            Ok(usage) => self.good(past::usage(&usage, self.language).trim_end()),
            Err(error) => self.missing_of(&error, self.word(Text::MendUsage)),
        }
        self.paths(Text::KeptIn, &journal.folders());
    }

    async fn programs(&mut self, config: &Config, walls: Option<(Sandbox, Profile)>) {
        self.title(self.word(Text::DoctorPrograms));
        let path = config.variable("PATH").unwrap_or_default();
        for (name, need, mend) in PROGRAMS {
            let Some(place) = find(name, path) else {
                self.broken |= need == Need::Always;
                let said = Text::NotInPath.say(self.language, &[("name", &name)]);
                self.missing(&said, self.word(mend));
                continue;
            };
            let is_script = is_script(Path::new(&place));
            let started = match &walls {
                Some(walls) if is_script => started(config, walls, name).await,
                _ => None,
            };
            let values: [(&str, &dyn Display); 3] = [
                ("name", &name),
                ("path", &place),
                ("program", &started.as_deref().unwrap_or_default()),
            ];
            match started {
                Some(_) => self.say(Text::ScriptStarts, &values),
                None if is_script => self.say(Text::IsScript, &values),
                None => self.good(&format!("{name}: {place}")),
            }
        }
    }

    /// The same as [`Findings::paths`], and nothing if there are none.
    fn paths_if_any(&mut self, text: Text, paths: &[PathBuf]) {
        if !paths.is_empty() {
            self.paths(text, paths);
        }
    }

    fn paths(&mut self, text: Text, paths: &[PathBuf]) {
        self.list(text, paths.iter().map(|path| path.display().to_string()));
    }

    /// Says paths in a line; the first of many, if not all are asked for.
    fn list(&mut self, text: Text, mut paths: impl Iterator<Item = String>) {
        let shown: Vec<String> = paths.by_ref().take(self.paths_max).collect();
        let mut shown = shown.join(", ");
        let more = paths.count();
        if more > 0 {
            let values: [(&str, &dyn Display); 2] = [("paths", &shown), ("n", &more)];
            shown = Text::PathsAndMore.say(self.language, &values);
        }
        self.say(text, &[("paths", &shown)]);
    }
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

/// Whether what is started by this name is a script, as those of version managers are.
#[expect(clippy::disallowed_methods, reason = "looks at the first bytes of a program in PATH")]
fn is_script(path: &Path) -> bool {
    let mut start = [0; SCRIPT.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == SCRIPT
}

/// Returns the program that commands run by `name`, where it tells.
async fn started(
    config: &Config,
    (walls, profile): &(Sandbox, Profile),
    name: &str,
) -> Option<String> {
    let (_, script) = Some(WHICH_PYTHON).filter(|(known, _)| *known == name)?;
    let walls = (walls, profile.clone().read_only());
    let environment = config.child_environment();
    let (exit, said) = setup::answer(walls, config.root.clone(), environment, script).await?;
    let program = said.trim();
    (exit == Exit::Code(0) && program.starts_with('/')).then(|| program.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linux_inside_windows_is_told_what_it_lacks() {
        let lack = |release, landlock| missing_in_windows(release, landlock).map(|(lack, _)| lack);
        assert_eq!(lack("4.4.0-19041-Microsoft", None), Some(Text::Wsl1));
        let second = "5.15.90.1-microsoft-standard-WSL2";
        assert_eq!(lack(second, None), Some(Text::Wsl2));
        assert_eq!(lack(second, Some(4)), None);
        assert_eq!(lack("6.1.0-18-amd64", None), None);
    }
}
