//! What commands of a session start with, and the walls they run in.
//!
//! The walls themselves are the kernel's and tenon-sandbox's; this joins them with an environment
//! and a profile, so that a tool has nothing to choose but the script.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tenon_sandbox::{
    Attended, Checkpoint, Command, CommandError, CommandLimits, GUARDED_FOLDERS_MAX, HostRule,
    HostTried, Jobs, Limits, Network, NetworkEvent, NetworkGrant, OutOfSight, Output, OutsideRoots,
    Profile, ProgramOutOfSight, ProtectedChange, Sandbox as Walls, Settings, Stream, Tier, Wanted,
    Workspace, has_rights_of_another,
};
use tokio_util::sync::CancellationToken;

use crate::policy::shell::SimpleCommand;

/// What commands of a session start with. Cheap to clone.
///
/// ```
/// use std::time::Duration;
///
/// use tenon_agent::Sandbox;
/// use tenon_sandbox::{CommandLimits, Exit, Workspace};
/// use tokio_util::sync::CancellationToken;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let environment = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
/// let sandbox = Sandbox::unconfined(environment);
/// let limits = CommandLimits {
///     timeout: Duration::from_secs(10),
///     output_bytes_max: 10_000,
///     spill: None,
/// };
/// let command = sandbox.command(&Workspace::open(".".as_ref())?, "exit 3".into(), limits);
/// let output = sandbox.run(command, &CancellationToken::new(), &mut |_stream, _text| {}).await?;
/// assert_eq!(output.exit, Exit::Code(3));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Sandbox {
    environment: Arc<[(OsString, OsString)]>,
    walls: Option<Walls>,
    profile: Profile,
    jobs: Jobs,
    /// Where what commands are about to change is saved.
    checkpoint: Option<Checkpoint>,
    /// The call that it is for.
    call_id: Option<Arc<str>>,
    /// For a call that a person let out of the walls.
    let_out: Option<Arc<LetOut>>,
}

/// A call that a person let out of the walls.
struct LetOut {
    has_run: AtomicBool,
    /// What lies outside of the folders of the session.
    outside: OutsideRoots,
    /// What commands inside walls start with.
    environment: Arc<[(OsString, OsString)]>,
}

impl Sandbox {
    /// Returns a sandbox whose commands start with `environment` (already reduced to what is
    /// allowed) and can do what the user can do.
    ///
    /// ```
    /// use tenon_agent::Sandbox;
    /// use tenon_sandbox::child_environment;
    ///
    /// let parent = [("LANG".into(), "C".into()), ("OPENAI_API_KEY".into(), "sk-1".into())];
    /// let environment = child_environment(parent.into_iter(), &[]);
    /// assert!(environment.iter().all(|(name, _)| name != "OPENAI_API_KEY"));
    /// let sandbox = Sandbox::unconfined(environment);
    /// ```
    pub fn unconfined(environment: Vec<(OsString, OsString)>) -> Self {
        Self::new(None, environment, Profile::unconfined())
    }

    /// Returns a sandbox whose commands run within `walls`, under `profile`.
    ///
    /// ```
    /// use tenon_agent::Sandbox;
    /// use tenon_sandbox::{
    ///     GUARDED_FOLDERS_MAX, Limits, Profile, Sandbox as Walls, Settings, Wanted, Workspace,
    /// };
    ///
    /// let workspace = Workspace::open(".".as_ref())?;
    /// let walls = Walls::new(Settings {
    ///     roots: workspace.roots(),
    ///     home: None,
    ///     covered: Vec::new(),
    ///     readable: Vec::new(),
    ///     ways: Vec::new(),
    ///     toolchains: Vec::new(),
    ///     virtual_environment: None,
    ///     hidden: Vec::new(),
    ///     own: Vec::new(),
    ///     state: None,
    ///     shown: Vec::new(),
    ///     wanted: Wanted::Best,
    ///     limits: Limits::default(),
    ///     guarded_folders_max: GUARDED_FOLDERS_MAX,
    /// });
    /// let sandbox = Sandbox::within(walls, Vec::new(), Profile::workspace(&workspace));
    /// # Ok::<(), tenon_sandbox::FileError>(())
    /// ```
    pub fn within(walls: Walls, environment: Vec<(OsString, OsString)>, profile: Profile) -> Self {
        Self::new(Some(walls), environment, profile)
    }

    fn new(walls: Option<Walls>, environment: Vec<(OsString, OsString)>, profile: Profile) -> Self {
        let (environment, jobs) = (environment.into(), Jobs::default());
        Self { environment, walls, profile, jobs, checkpoint: None, call_id: None, let_out: None }
    }

    /// Returns whether commands run within walls.
    ///
    /// ```
    /// use tenon_agent::Sandbox;
    ///
    /// assert!(!Sandbox::unconfined(Vec::new()).is_confined());
    /// ```
    pub fn is_confined(&self) -> bool {
        self.walls.is_some()
    }

    /// Returns the walls as `--sandbox` names them: those that the last command had, where there are some.
    pub(crate) fn tier(&self) -> Option<&'static str> {
        match &self.walls {
            Some(walls) => walls.known_tier().map(Tier::name),
            None => Some(Tier::D.name()),
        }
    }

    /// Returns a command that runs `script` with bash in the workspace's root.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tenon_agent::Sandbox;
    /// use tenon_sandbox::{CommandLimits, Workspace};
    ///
    /// let sandbox = Sandbox::unconfined(Vec::new());
    /// let workspace = Workspace::open(".".as_ref())?;
    /// let timeout = Duration::from_secs(60);
    /// let limits = CommandLimits { timeout, output_bytes_max: 10_000, spill: None };
    /// let command = sandbox.command(&workspace, "make check".into(), limits);
    /// assert_eq!(command.folder, workspace.root());
    /// # Ok::<(), tenon_sandbox::FileError>(())
    /// ```
    pub fn command(&self, workspace: &Workspace, script: String, limits: CommandLimits) -> Command {
        Command {
            script,
            folder: workspace.root().to_path_buf(),
            roots: workspace.open_roots(),
            environment: self.environment.to_vec(),
            profile: self.profile.clone(),
            limits,
        }
    }

    /// Returns the profile for a command that only looks.
    ///
    /// ```
    /// use tenon_agent::Sandbox;
    ///
    /// let sandbox = Sandbox::unconfined(Vec::new());
    /// assert!(sandbox.reading_profile().writable.is_empty());
    /// ```
    pub fn reading_profile(&self) -> Profile {
        match self.walls {
            Some(_) => self.profile.clone().read_only(),
            None => Profile::reading(),
        }
    }

    /// Runs a command to its end; `on_output` gets what it prints, cleaned, as it comes.
    ///
    /// ```
    /// # use tenon_agent::Sandbox;
    /// # use tenon_sandbox::{Command, CommandError, Exit};
    /// # use tokio_util::sync::CancellationToken;
    /// async fn passes(sandbox: &Sandbox, check: Command) -> Result<bool, CommandError> {
    ///     let output = sandbox.run(check, &CancellationToken::new(), &mut |_, _| {}).await?;
    ///     Ok(output.exit == Exit::Code(0))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`CommandError`] when it did not run.
    pub async fn run(
        &self,
        command: Command,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Output, CommandError> {
        self.note_run(true);
        let output = match self.walls() {
            Some(walls) => walls.run(command, cancel, on_output).await,
            None => command.run(cancel, on_output).await,
        };
        output.inspect_err(|_| self.note_run(false))
    }

    /// Makes ahead what the first command would wait for, on a thread of its own.
    pub(crate) fn warm_up(&self) {
        if let Some(walls) = &self.walls {
            walls.warm_up(&self.profile);
        }
    }

    /// Returns what runs in the background. It ends with the last clone of the sandbox; a program
    /// that wants to see it end asks for that.
    ///
    /// ```
    /// use tenon_agent::Sandbox;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let sandbox = Sandbox::unconfined(Vec::new());
    /// assert!(sandbox.jobs().stop_all().await.is_empty());
    /// # }
    /// ```
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Begins anew with what commands share, as another process does: jobs end, and private folders are
    /// empty again.
    pub(crate) async fn renew(&self) {
        self.jobs.forget_all().await;
        if let Some(walls) = &self.walls {
            walls.renew();
        }
    }

    /// Returns a command that can go on in the background once it is running.
    pub(crate) fn attend(
        &self,
        command: Command,
        on_output: impl FnMut(Stream, &str) + Send + 'static,
    ) -> Attended {
        self.note_run(true);
        Attended::new(command, self.walls(), on_output)
    }

    /// Looks before the protected file at `path` is written with leave, and returns what was put back of what commands
    /// wrote.
    ///
    /// # Errors
    /// [`io::Error`] if it cannot be known that what is there is no command's.
    pub(crate) async fn look_first(&self, path: &Path) -> io::Result<Vec<ProtectedChange>> {
        match &self.walls {
            Some(walls) => walls.look_first(path).await,
            None => Ok(Vec::new()),
        }
    }

    /// Returns whether commands run inside the walls in the session's folders, also those of another session. What they
    /// wrote at protected names until now is put back, and told with the next look.
    ///
    /// ```
    /// assert!(!tenon_agent::Sandbox::unconfined(Vec::new()).runs_beside());
    /// ```
    pub fn runs_beside(&self) -> bool {
        self.walls.as_ref().is_some_and(Walls::runs_beside)
    }

    /// Looks whether jobs changed protected names, and puts them back.
    pub(crate) async fn look(&self) -> Vec<ProtectedChange> {
        match &self.walls {
            Some(walls) => walls.look().await,
            None => Vec::new(),
        }
    }

    /// Takes in what was written at a protected place that `workspace` lets be written, so that what runs
    /// in the background is not blamed for it. Nothing was where the write failed.
    pub(crate) fn accept(&self, workspace: &Workspace) {
        let written = self.walls.as_ref().and_then(|_| workspace.lifted_write());
        if let (Some(walls), Some(written)) = (self.walls(), written) {
            walls.accept(&written);
        }
    }

    /// Lets commands reach `hosts` until the session ends. Without walls they do anyhow.
    pub(crate) fn allow_hosts(&self, hosts: Vec<HostRule>) {
        if let Some(proxy) = self.walls.as_ref().and_then(Walls::proxy) {
            proxy.allow(hosts);
        }
    }

    /// Lets commands reach `hosts` until what is returned is dropped.
    pub(crate) fn allow_hosts_once(&self, hosts: Vec<HostRule>) -> Option<NetworkGrant> {
        let proxy = self.walls.as_ref().and_then(Walls::proxy)?;
        Some(proxy.grant(hosts))
    }

    /// Returns the same for one call, with which the hosts are logged that its commands try.
    pub(crate) fn of_call(&self, call_id: &str) -> Self {
        Self { call_id: Some(call_id.into()), ..self.clone() }
    }

    /// Returns the hosts that the commands of one call tried, or with `None` all, each once. They are
    /// then told.
    pub(crate) fn take_tried(&self, call_id: Option<&str>) -> Vec<HostTried> {
        let proxy = self.walls.as_ref().and_then(Walls::proxy);
        proxy.map(|proxy| proxy.take_tried(call_id)).unwrap_or_default()
    }

    /// Returns the same, whose commands save what they are about to change in `checkpoint`.
    pub(crate) fn recording(&self, checkpoint: &Checkpoint) -> Self {
        if self.is_outside() {
            // A filter that watches it would keep `sudo` from working.
            return self.clone();
        }
        Self { checkpoint: Some(checkpoint.clone()), ..self.clone() }
    }

    /// Returns the walls as a command needs them. One without walls passes through some that hold
    /// nothing if it is recorded: its profile asks for no wall.
    fn walls(&self) -> Option<Walls> {
        let walls = match &self.call_id {
            Some(call_id) => self.walls.as_ref().map(|walls| walls.called_by(Arc::clone(call_id))),
            None => self.walls.clone(),
        };
        let Some(checkpoint) = &self.checkpoint else { return walls };
        let walls = walls.unwrap_or_else(|| Walls::new(no_walls()));
        Some(walls.recording(checkpoint))
    }

    /// Returns what commands reach over the network; `None` without walls.
    pub(crate) fn network_within_walls(&self) -> Option<Network> {
        self.walls.as_ref().map(|_| self.profile.network)
    }

    /// Returns why commands do not see what the machine has at `path`, which is absolute.
    pub(crate) fn out_of_sight(&self, path: &Path) -> Option<OutOfSight> {
        self.walls.as_ref()?.out_of_sight(&self.profile, path)
    }

    /// Returns the program of this name on the user's PATH that commands do not see; `None` where they see one.
    pub(crate) fn program_out_of_sight(&self, name: &str) -> Option<ProgramOutOfSight> {
        self.walls.as_ref()?.program_out_of_sight(&self.profile, name, self.path()?)
    }

    /// Whether the program of this name on the user's PATH has rights of another user or group, which it has not inside
    /// walls; never without them.
    pub(crate) fn has_rights_of_another(&self, name: &str) -> bool {
        self.walls.is_some() && self.path().is_some_and(|path| has_rights_of_another(name, path))
    }

    /// Returns whether a path lies in a toolchain of the user's home; never without walls.
    pub(crate) fn is_in_toolchain(&self, path: &Path) -> bool {
        self.walls.as_ref().is_some_and(|walls| walls.is_in_toolchain(path))
    }

    /// Returns the folder of the toolchain of the user's home in which a path lies that a folder of the session is
    /// around, so that it is read-only to commands; none without walls.
    pub(crate) fn toolchain_in_root(&self, path: &Path) -> Option<PathBuf> {
        self.walls.as_ref()?.toolchain_in_root(path)
    }

    /// Returns whether commands do not move or remove a folder of the session's because of what is closed or only read
    /// beneath it; never without walls.
    pub(crate) fn is_pinned(&self, path: &Path) -> bool {
        self.walls.as_ref().is_some_and(|walls| walls.is_pinned(&self.profile, path))
    }

    /// Returns whether commands may not list a folder of a toolchain in the user's home since something in it is
    /// closed to them.
    pub(crate) fn is_unlisted(&self, path: &Path) -> bool {
        self.walls.as_ref().is_some_and(|walls| walls.is_unlisted(path))
    }

    /// Returns whether commands may not list a folder of which they read something.
    pub(crate) fn is_open_in_part(&self, path: &Path) -> bool {
        self.walls.as_ref().is_some_and(|walls| walls.is_open_in_part(&self.profile, path))
    }

    /// Returns what the rules say of a host, `HOST` or `HOST:PORT`; `None` if it is none, or there is no
    /// proxy.
    pub(crate) fn judge_host(&self, host: &str) -> Option<NetworkEvent> {
        self.walls.as_ref()?.proxy()?.judge(host).ok()
    }

    /// Returns the user's home folder; `None` without walls.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.walls.as_ref()?.settings().home.as_deref()
    }

    /// Returns what one command may use; `None` without walls.
    pub(crate) fn limits(&self) -> Option<Limits> {
        self.walls.as_ref().map(|walls| walls.settings().limits)
    }

    /// Returns whether a person let it out of the walls.
    pub(crate) fn is_outside(&self) -> bool {
        self.let_out.is_some()
    }

    /// Returns whether a command of a call that a person let out of the walls ran.
    pub(crate) fn has_run_outside(&self) -> bool {
        self.let_out.as_ref().is_some_and(|call| call.has_run.load(Ordering::Relaxed))
    }

    /// Takes in whether the command ran, once that is known: it is taken to until then.
    pub(crate) fn note_run(&self, has_run: bool) {
        if let Some(call) = &self.let_out {
            call.has_run.store(has_run, Ordering::Relaxed);
        }
    }

    /// Returns the same without walls, for a call that a person let out of them: its programs, and what else its
    /// variables name, are none of `roots`, where commands inside the walls write.
    pub(crate) fn outside(&self, roots: Vec<PathBuf>) -> Self {
        let outside = OutsideRoots::of(roots);
        let all = Arc::clone(&self.environment);
        let environment = outside.environment(all.to_vec(), &[]).into();
        let let_out = LetOut { has_run: AtomicBool::default(), outside, environment: all };
        let let_out = Some(Arc::new(let_out));
        let profile = Profile::unconfined();
        Self { walls: None, profile, let_out, environment, ..self.clone() }
    }

    /// Returns the program of this name in a folder of the session that a call which a person let out of the walls
    /// does not find on the user's PATH.
    pub(crate) fn program_inside(&self, name: &str) -> Option<PathBuf> {
        let LetOut { outside, environment, .. } = &**self.let_out.as_ref()?;
        outside.program_inside(name, path_of(environment)?)
    }

    /// Returns what a line with these commands starts with. Outside of the walls no program that it names is a link
    /// which leads into a folder of the session.
    pub(crate) fn environment_for(&self, commands: &[SimpleCommand]) -> Vec<(OsString, OsString)> {
        let Some(LetOut { outside, environment, .. }) = self.let_out.as_deref() else {
            return self.environment.to_vec();
        };
        let programs: Vec<&str> = commands.iter().filter_map(SimpleCommand::program).collect();
        outside.environment(environment.to_vec(), &programs)
    }

    /// Returns where commands look for programs.
    fn path(&self) -> Option<&OsStr> {
        path_of(&self.environment)
    }
}

fn path_of(environment: &[(OsString, OsString)]) -> Option<&OsStr> {
    let path = environment.iter().find(|(variable, _)| variable == "PATH");
    path.map(|(_, path)| &**path)
}

/// What walls are built from that hold nothing.
pub(super) fn no_walls() -> Settings {
    Settings {
        roots: Vec::new(),
        home: None,
        covered: Vec::new(),
        readable: Vec::new(),
        ways: Vec::new(),
        toolchains: Vec::new(),
        virtual_environment: None,
        hidden: Vec::new(),
        own: Vec::new(),
        state: None,
        shown: Vec::new(),
        wanted: Wanted::Best,
        limits: Limits::default(),
        guarded_folders_max: GUARDED_FOLDERS_MAX,
    }
}
