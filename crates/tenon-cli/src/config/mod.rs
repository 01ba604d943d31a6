//! The only reader of the environment, the home folder and configuration files.
//!
//! What the user says on the command line counts more than the project's file, which may only
//! make things stricter, and that more than the user's file. Nothing here is acted on: `setup`
//! and the commands do that.

mod environment;
mod file;
mod instructions;
mod known_values;
mod named_files;
mod network;
mod own_files;
pub(crate) mod private_file;
mod providers;
mod rule_book;
mod rules;
mod shown_files;
mod toolchain_folders;
mod toolchain_settings;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    path::{Path, PathBuf},
    time::Duration,
};

use tenon_agent::{CoreToolOptions, Instruction, TurnLimits};
use tenon_sandbox::{FileError, Limits, Mounts, Workspace, secrets_of_home, secrets_of_root};
use toml::Spanned;

pub(crate) use environment::{Environment, Folders};
pub(crate) use network::Network;
pub(crate) use providers::{ANTHROPIC, Credential, Endpoint, OPENAI, ProviderKind};
pub(crate) use rule_book::RuleBook;
pub(crate) use rules::{RuleFor, read_rule};

use crate::{
    args::SessionArgs,
    error::CliError,
    screen::Look,
    texts::{Sentence, Text},
    tui::Terminal,
    values::{ModeName, NotifyName, SandboxName, ThemeName},
};

/// The project's configuration file beneath its root.
const PROJECT_FILE: &str = ".tenon/config.toml";

/// Everything that was said from outside.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// Where tenon keeps its own things.
    pub(crate) folders: Folders,
    /// The root of the workspace, as it was named, made absolute.
    pub(crate) root: PathBuf,
    /// What the files say.
    pub(crate) settings: Settings,
    /// The model of the environment or the file, with where it was said.
    pub(crate) model: Option<(String, String)>,
    /// Every provider by name.
    pub(crate) providers: BTreeMap<String, Endpoint>,
    /// How the network is reached.
    pub(crate) network: Network,
    /// The configuration files that were read, the project's last.
    pub(crate) files: Vec<PathBuf>,
    /// What the user should know, in a sentence each.
    pub(crate) notices: Vec<Sentence>,
    environment: Environment,
}

/// What configuration files can say besides model, network and providers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// What is done without asking.
    pub(crate) mode: ModeName,
    /// The walls around commands.
    pub(crate) sandbox: SandboxName,
    /// The line of the user's file that names them.
    pub(crate) sandbox_line: Option<usize>,
    /// The hosts that commands reach.
    pub(crate) net: Vec<String>,
    /// Further folders of the workspace.
    pub(crate) add_dir: Vec<String>,
    /// Folders outside of the workspace that may be read.
    pub(crate) read_dir: Vec<String>,
    /// The most model requests of a turn.
    pub(crate) max_steps: NonZeroU32,
    /// The most tokens of a turn.
    pub(crate) max_tokens: Option<NonZeroU64>,
    /// The most US dollars of a turn.
    pub(crate) max_cost: Option<f64>,
    /// The most time of a turn.
    pub(crate) max_time: Option<Duration>,
    /// The window of the model, in tokens, where the catalogue does not know better.
    pub(crate) context_window: Option<NonZeroU32>,
    /// Whether turns that change something end with a receipt.
    pub(crate) receipts: bool,
    /// Commands that check the work.
    pub(crate) verify: Vec<String>,
    /// The most characters of a result that the model is shown.
    pub(crate) result_chars_max: NonZeroUsize,
    /// Likewise for a command's output.
    pub(crate) bash_output_chars_max: NonZeroUsize,
    /// How much less room a file system may have than when a command began, in bytes.
    pub(crate) disk_bytes_max: NonZeroU64,
    /// How many processes and threads a command may have at the same time.
    pub(crate) processes_max: NonZeroU64,
    /// How much memory its processes may have together, in bytes.
    pub(crate) memory_bytes_max: NonZeroU64,
    /// How large a file may be that it writes, in bytes.
    pub(crate) file_bytes_max: NonZeroU64,
    /// How much its private folders and layers in front of toolchains hold together, in bytes.
    pub(crate) temporary_bytes_max: NonZeroU64,
    /// Whether AGENTS.md and CLAUDE.md of the project are read.
    pub(crate) project_instructions: bool,
    /// Rules of the user's that allow.
    pub(crate) allow: Vec<String>,
    /// Rules of the user's that deny.
    pub(crate) deny: Vec<String>,
    /// Likewise of the project's.
    pub(crate) deny_of_project: Vec<String>,
    /// The hosts among them and those of the command line.
    pub(crate) denied_hosts: Vec<String>,
    /// Variables that commands get besides the usual ones.
    pub(crate) environment: Vec<String>,
    /// Whether known secrets are masked in what is shown.
    pub(crate) mask_secrets: bool,
    /// Whether what calls change can be undone.
    pub(crate) undo: bool,
    /// How much of it is kept for each workspace, in bytes.
    pub(crate) undo_bytes_max: Option<u64>,
    /// The longest file that is copied before it is written in place, in bytes.
    pub(crate) undo_file_bytes_max: Option<u64>,
    /// Whether commands are compared for undo, although the kernel could watch them.
    pub(crate) undo_by_comparison: bool,
    /// The colours.
    pub(crate) theme: ThemeName,
    /// How it is told that something waits.
    pub(crate) notify: NotifyName,
}

impl Default for Settings {
    fn default() -> Self {
        let tools = CoreToolOptions::default();
        let steps = TurnLimits::default().steps_max.and_then(NonZeroU32::new);
        let limits = Limits::default();
        let bound = |number| NonZeroU64::new(number).unwrap_or(NonZeroU64::MAX);
        let characters = |count| NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MAX);
        Self {
            mode: ModeName::Auto,
            sandbox: SandboxName::Auto,
            sandbox_line: None,
            net: Vec::new(),
            add_dir: Vec::new(),
            read_dir: Vec::new(),
            max_steps: steps.unwrap_or(NonZeroU32::MAX),
            max_tokens: None,
            max_cost: None,
            max_time: None,
            context_window: None,
            receipts: true,
            verify: Vec::new(),
            result_chars_max: characters(tools.result_chars_max),
            bash_output_chars_max: characters(tools.bash_output_chars_max),
            disk_bytes_max: bound(limits.disk_bytes_max),
            processes_max: bound(limits.processes_max),
            memory_bytes_max: bound(limits.memory_bytes_max),
            file_bytes_max: bound(limits.file_bytes_max),
            temporary_bytes_max: bound(limits.temporary_bytes_max),
            project_instructions: true,
            allow: Vec::new(),
            deny: Vec::new(),
            deny_of_project: Vec::new(),
            denied_hosts: Vec::new(),
            environment: Vec::new(),
            mask_secrets: true,
            undo: true,
            undo_bytes_max: None,
            undo_file_bytes_max: None,
            undo_by_comparison: false,
            theme: ThemeName::Auto,
            notify: NotifyName::Off,
        }
    }
}

impl Config {
    /// Reads everything there is for a session with `args`.
    pub(crate) fn load(environment: Environment, args: &SessionArgs) -> Result<Self, CliError> {
        let mut config = Self::without_files(environment, args)?;
        config.read_user_file()?;
        config.read_project_file()?;
        config.apply(args);
        Ok(config)
    }

    /// Reads the same for who only looks at it: a file that cannot be read, or that is wrong, counts as none, and what
    /// is wrong with it is returned besides.
    pub(crate) fn load_for_look(
        environment: Environment,
        args: &SessionArgs,
    ) -> Result<(Self, Vec<CliError>), CliError> {
        let mut config = Self::without_files(environment, args)?;
        let (empty, mut wrong) = (config.clone(), Vec::new());
        if let Err(error) = config.read_user_file() {
            wrong.push(error);
            config = empty;
            config.take_user_file(None)?;
        }
        wrong.extend(config.read_project_file().err());
        config.apply(args);
        Ok((config, wrong))
    }

    fn without_files(environment: Environment, args: &SessionArgs) -> Result<Self, CliError> {
        let folders = environment.folders()?;
        let root = environment.folder().join(args.cwd.as_deref().unwrap_or(Path::new("")));
        let root = folders.named_as_home(root);
        Ok(Self {
            settings: Settings::default(),
            model: environment
                .text("TENON_MODEL")
                .map(|model| (model.into(), "TENON_MODEL".into())),
            providers: BTreeMap::new(),
            network: Network::default(),
            files: Vec::new(),
            notices: Vec::new(),
            folders,
            root,
            environment,
        })
    }

    /// Returns the same for a session that works in `copy`, a copy of the user's home folder: that is the home
    /// of its commands, by this `name`, and they see nothing of the other.
    pub(crate) fn in_copy_of_home(&self, copy: &Path, name: &Path) -> Self {
        Self {
            environment: self.environment.in_copy_of_home(
                &self.folders.names_of_home(),
                copy,
                name,
            ),
            folders: self.folders.in_copy_of_home(copy),
            ..self.clone()
        }
    }

    /// Returns how the user wants the screen to look.
    pub(crate) fn look(&self) -> Look {
        let theme = self.terminal().theme(self.settings.theme);
        Look { theme, ..self.environment.look() }
    }

    /// Returns which terminal there is, by the environment.
    pub(crate) fn terminal(&self) -> Terminal {
        Terminal::of(|name| self.variable(name))
    }

    /// Returns `path`, named on the command line, as an absolute one.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.environment.folder().join(path)
    }

    /// Returns a folder that the user's file names: from `/` or `~/`, as no other place is meant
    /// in every session.
    pub(crate) fn named_folder(&self, name: &str) -> Result<PathBuf, CliError> {
        let folder = match name.strip_prefix("~/") {
            Some(rest) => self.folders.home.join(rest),
            None => PathBuf::from(name),
        };
        if folder.is_absolute() {
            return Ok(folder);
        }
        let file = self.folders.config_file();
        let why = Text::FolderNotAbsolute.with(&[("folder", &name)]);
        Err(broken(&file.display().to_string(), why))
    }

    /// Returns the folders outside of the workspace that may be read, with their links resolved.
    pub(crate) fn readable(&self) -> Result<Vec<PathBuf>, CliError> {
        let named = |name: &String| {
            let failed = |why: Sentence| {
                CliError::config(Sentence::from(Text::ReadDirUnusable).with_more(why))
            };
            let folder = Workspace::open(&self.named_folder(name)?)
                .map_err(|error| failed(Sentence::of_library(&error)))?;
            // It becomes a rule, where these would stand for other names.
            match folder.root().to_str() {
                Some(path) if !path.contains(['*', '?']) => Ok(folder.root().to_path_buf()),
                _ => Err(failed(Text::ReadDirUnsayable.with(&[("folder", name)]))),
            }
        };
        self.settings.read_dir.iter().map(named).collect()
    }

    /// Returns the paths by which the user's file names the folders that may be read.
    pub(crate) fn ways_to_readable(&self) -> Result<Vec<PathBuf>, CliError> {
        self.settings.read_dir.iter().map(|name| self.named_folder(name)).collect()
    }

    /// Returns the environment of commands that the model runs.
    pub(crate) fn child_environment(&self) -> Vec<(OsString, OsString)> {
        tenon_sandbox::child_environment(self.environment.all(), &self.settings.environment)
    }

    /// Returns the files of credentials, and histories, that the user's variables name and no command with
    /// these `roots` may see: not those of variables that the user gives to commands. What lies in the
    /// workspace is the workspace's, but where that holds the home; no root is among them, nor what is around one.
    pub(crate) fn credential_files(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let holds_home = self.holds_home(roots);
        let is_given = |name: &str| self.settings.environment.iter().any(|given| given == name);
        let variable = |name: &str| self.environment.text(name);
        let named = named_files::named(variable).into_iter().map(|(path, _, name)| (path, name));
        let all: Vec<_> = self.environment.all().collect();
        let texts = all.iter().filter_map(|(name, value)| name.to_str().zip(value.to_str()));
        let named = named.chain(named_files::closed(variable)).chain(named_files::named_so(texts));
        let named = named.filter(|(_, name)| !is_given(name));
        let is_closed = |path: &PathBuf| {
            let is_within = roots.iter().any(|root| path.starts_with(root));
            (holds_home || !is_within) && !roots.iter().any(|root| root.starts_with(path))
        };
        let mut paths: Vec<_> = named.map(|(path, _)| path).filter(is_closed).collect();
        // Closed anyway: the usual places may be named, too.
        paths.retain(|path| !secrets_of_home(&self.folders.home).any(|known| known == *path));
        paths
    }

    /// Returns whether one of `roots` is the home folder, or around it.
    fn holds_home(&self, roots: &[PathBuf]) -> bool {
        let home = self.folders.home.canonicalize();
        home.is_ok_and(|home| roots.iter().any(|root| home.starts_with(root)))
    }

    /// Returns the folders that variables of commands name for what toolchains fetch and keep.
    pub(crate) fn toolchain_folders(&self) -> Vec<PathBuf> {
        toolchain_folders::named(&self.child_environment())
    }

    /// Returns the virtual environment of Python that is active, as its variable names it.
    pub(crate) fn virtual_environment(&self) -> Option<PathBuf> {
        self.environment.text("VIRTUAL_ENV").map(PathBuf::from)
    }

    /// Returns what commands see instead of files in the home folder: the path, and the content.
    pub(crate) fn shown_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let home = &self.folders.home;
        shown_files::in_home(home).into_iter().chain(shown_files::in_toolchains(home)).collect()
    }

    /// Returns the environment for pip and Cargo: that of commands, and what says where packages are.
    pub(crate) fn toolchain_environment(&self) -> Vec<(OsString, OsString)> {
        let names = [
            "PIP_*",
            "CARGO_NET_*",
            "CARGO_HTTP_*",
            "HTTPS_PROXY",
            "HTTP_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
        ]
        .map(str::to_owned)
        .into_iter()
        .flat_map(|name| [name.to_ascii_lowercase(), name])
        .collect::<Vec<String>>();
        tenon_sandbox::child_environment(self.environment.all(), &names)
    }

    /// Returns all variables of tenon's own environment, as it started.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        self.environment.all().collect()
    }

    /// Returns what stands in the variable `name`, for the doctor.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.text(name)
    }

    /// Reads the instructions for agents, the user's first. What could not be read is said in
    /// `notices`.
    pub(crate) fn instructions(&self, notices: &mut Vec<Sentence>) -> Vec<Instruction> {
        let mut instructions = instructions::of_user(&self.folders.config, notices);
        if self.settings.project_instructions
            && let Ok(root) = Workspace::open(&self.root)
        {
            let mounts = Mounts::of_this_process();
            let closed = |files| self.with_closed_places(files, &mounts);
            instructions.extend(instructions::of_project(root.root(), closed, notices));
        }
        instructions
    }

    /// Closes to file tools where programs keep secrets and what is tenon's own, as far as it lies in
    /// the workspace.
    pub(crate) fn with_closed_places(&self, workspace: Workspace, mounts: &Mounts) -> Workspace {
        let folders = &self.folders;
        // The home by another path at which it is mounted has none of its guards there: it is closed as a whole.
        let roots = workspace.roots();
        let within = match self.holds_home(&roots) {
            true => shown_files::in_toolchains(&folders.home),
            false => Vec::new(),
        };
        let secrets: Vec<_> = secrets_of_home(&folders.home)
            .chain(self.credential_files(&roots))
            .chain(within.into_iter().map(|(path, _)| path))
            .chain(secrets_of_root())
            .chain([folders.config.clone()])
            .chain(mounts.elsewhere([folders.home.as_path()]))
            .collect();
        let own = [folders.state.clone(), folders.cache.clone()];
        workspace.with_closed_folders(&own, mounts).with_secrets(&secrets, mounts)
    }

    fn read_user_file(&mut self) -> Result<(), CliError> {
        let path = self.folders.config_file();
        self.take_user_file(private_file::read_if_there(&path, file::BYTES_MAX)?)
    }

    /// Takes in what the user's file says, if there is one.
    fn take_user_file(&mut self, text: Option<String>) -> Result<(), CliError> {
        let path = self.folders.config_file();
        let name = path.display().to_string();
        let (file, notices) = match &text {
            Some(text) => file::parse_user(text).map_err(|why| broken(&name, why))?,
            None => Default::default(),
        };
        self.notice(&name, notices);
        let has_key = file.providers.values().any(|provider| provider.key.is_some());
        if has_key && private_file::is_open_to_others(&path) {
            self.notices.push(Text::KeyIsOpen.with(&[("file", &name)]));
        }
        if self.model.is_none() {
            self.model = file.model.map(|model| (model, name.clone()));
        }
        let settings = &mut self.settings;
        settings.mode = file.mode.unwrap_or(settings.mode);
        if let Some(sandbox) = file.sandbox {
            let line = file::line_of(text.as_deref().unwrap_or_default(), &sandbox);
            settings.sandbox_line = Some(line);
            settings.sandbox = sandbox.into_inner();
        }
        settings.net = file.net;
        settings.add_dir = file.add_dir;
        settings.read_dir = file.read_dir;
        settings.max_steps = file.max_steps.unwrap_or(settings.max_steps);
        settings.max_tokens = file.max_tokens;
        settings.max_cost = file.max_cost;
        settings.max_time = file.max_time;
        settings.context_window = file.context_window;
        settings.receipts = file.receipts.unwrap_or(true);
        settings.verify = file.verify;
        settings.result_chars_max = file.result_chars_max.unwrap_or(settings.result_chars_max);
        settings.bash_output_chars_max =
            file.bash_output_chars_max.unwrap_or(settings.bash_output_chars_max);
        settings.disk_bytes_max = file.disk_bytes_max.unwrap_or(settings.disk_bytes_max);
        settings.processes_max = file.processes_max.unwrap_or(settings.processes_max);
        settings.memory_bytes_max = file.memory_bytes_max.unwrap_or(settings.memory_bytes_max);
        settings.file_bytes_max = file.file_bytes_max.unwrap_or(settings.file_bytes_max);
        settings.temporary_bytes_max =
            file.temporary_bytes_max.unwrap_or(settings.temporary_bytes_max);
        settings.project_instructions = file.project_instructions.unwrap_or(true);
        settings.allow = file.allow.into_iter().map(Spanned::into_inner).collect();
        settings.deny = file.deny.into_iter().map(Spanned::into_inner).collect();
        settings.environment = file.environment;
        settings.mask_secrets = file.mask_secrets.unwrap_or(true);
        settings.undo = file.undo.unwrap_or(true);
        settings.undo_bytes_max = file.undo_bytes_max;
        settings.undo_file_bytes_max = file.undo_file_bytes_max;
        settings.undo_by_comparison = file.undo_by_comparison.unwrap_or(false);
        settings.theme = file.theme.unwrap_or_default();
        settings.notify = file.notify.unwrap_or_default();
        let ca_file = file.network.ca_file.map(|path| self.folders.config.join(path));
        let table = file::NetworkTable { ca_file, ..file.network };
        self.network = Network::new(&self.environment, table);
        self.providers = providers::endpoints(&self.environment, file.providers, &name)
            .map_err(|why| broken(&name, why))?;
        self.files.extend(text.map(|_| path));
        Ok(())
    }

    fn read_project_file(&mut self) -> Result<(), CliError> {
        // A folder that is not there is an error of whoever opens the session's workspace.
        let Ok(workspace) = Workspace::open(&self.root) else { return Ok(()) };
        let path = workspace.root().join(PROJECT_FILE);
        let name = path.display().to_string();
        let bytes = match workspace.read(PROJECT_FILE, file::BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(FileError::NotFound { .. } | FileError::NotADirectory { .. }) => return Ok(()),
            // What it would deny is not known then.
            Err(error) => return Err(broken(&name, Sentence::of_library(&error))),
        };
        let text = String::from_utf8_lossy(&bytes);
        let notices =
            file::apply_project(&text, &mut self.settings).map_err(|why| broken(&name, why))?;
        self.notice(&name, notices);
        self.files.push(path);
        Ok(())
    }

    /// Takes in what a file's reader has to say about it.
    fn notice(&mut self, file: &str, notices: Vec<Sentence>) {
        let of_file = |notice: Sentence| Sentence::from(file).with_more(notice);
        self.notices.extend(notices.into_iter().map(of_file));
    }

    fn apply(&mut self, args: &SessionArgs) {
        let settings = &mut self.settings;
        settings.mode = args.mode.unwrap_or(settings.mode);
        settings.sandbox = args.sandbox.unwrap_or(settings.sandbox);
        settings.net.extend(args.net.iter().cloned());
        let denials = settings.deny.iter().chain(&settings.deny_of_project).chain(&args.deny);
        settings.denied_hosts = rules::denied_hosts(denials);
        settings.max_steps = args.max_steps.and_then(NonZeroU32::new).unwrap_or(settings.max_steps);
        settings.max_tokens = args.max_tokens.and_then(NonZeroU64::new).or(settings.max_tokens);
        settings.max_cost = args.max_cost.or(settings.max_cost);
        settings.max_time = args.max_time.or(settings.max_time);
        settings.project_instructions &= !args.no_project_instructions;
    }
}

fn broken(name: &str, why: Sentence) -> CliError {
    CliError::config(Sentence::from(name).with_more(why)).with_hint(Text::MendNotice)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the providers of an environment and the tables of a configuration file.
    pub(crate) fn providers_of(
        variables: &[(&str, &str)],
        tables: &str,
    ) -> BTreeMap<String, Endpoint> {
        let tables = toml::from_str(tables).unwrap();
        providers::endpoints(&Environment::of(variables), tables, "config.toml").unwrap()
    }
}
