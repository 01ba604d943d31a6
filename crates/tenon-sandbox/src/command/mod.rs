//! Runs a shell script in a process tree that ends with it.
//!
//! The script runs under a helper process (see `linux/helper.rs`) that reports its end and ends
//! what it left behind. A command is finished when its shell ends, not when the last holder of a
//! pipe lets go. Time and output have limits that must be given.

mod in_order;
mod printed;
mod running;
mod start;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use self::printed::Printed;
use self::running::Running;
use crate::guard::ProtectedChange;
use crate::helper::WarmHelper;
use crate::journal::{Checkpoint, Comparison, OutsideWrite, RefusedMove};
use crate::linux::landlock::Rules;
use crate::linux::request::Confinement;
use crate::missing::SandboxError;
use crate::network::NetworkEvent;
use crate::off_thread::off_thread;
use crate::output::{Piece, Stream};
use crate::profile::{Limits, Profile};
use crate::room::{RoomLimit, RoomTaken};
use crate::spill::SpillTarget;
use crate::tier::Tier;
use crate::workspace::{OpenRoots, RootMoved};

/// A shell script and everything it runs with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What `bash -c` would get; may be longer than an argument can be.
    pub script: String,
    /// Where it runs.
    pub folder: PathBuf,
    /// Folders that must be where they were opened; else it does not run.
    pub roots: OpenRoots,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What it may read, write and reach.
    pub profile: Profile,
    /// Its limits.
    pub limits: CommandLimits,
}

/// The limits of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLimits {
    /// After this it is asked to end, and killed two seconds later.
    pub timeout: Duration,
    /// How many bytes of each stream are kept, head and tail together.
    pub output_bytes_max: usize,
    /// Where the whole text goes when more is printed than is kept.
    pub spill: Option<SpillTarget>,
}

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub exit: Exit,
    /// What it printed, cleaned, in the order in which it arrived; head and tail of each stream.
    pub pieces: Vec<Piece>,
    /// How many bytes it printed.
    pub bytes_total: u64,
    /// How many bytes of cleaned text are in no piece.
    pub left_out_bytes: u64,
    /// The file with the whole text, if something was left out and could be written there.
    pub spilled_to: Option<PathBuf>,
    /// From start to end.
    pub duration: Duration,
    /// The limit that ended it, as far as that can be known.
    pub limit: Option<LimitReached>,
    /// What it did to protected names, and what was put back. Only inside walls.
    pub protected: Vec<ProtectedChange>,
    /// The last attempt at each host that was not let through. Only inside walls with a proxy. What
    /// either of the commands that ran at the same time may have tried, one of them alone has here.
    pub blocked: Vec<NetworkEvent>,
    /// System calls that the walls refused and ordinary programs ask for, in words for people. Only
    /// where it was watched.
    pub refused: Vec<&'static str>,
    /// What it tried to change where its walls let it write nothing, the first 50, once each; `None` where it
    /// was not watched. Programs often try and go on.
    pub outside: Option<Vec<OutsideWrite>>,
    /// Renames and hard links within the session's folders that the mounts of the walls refused, the first 50, once
    /// each, but for those where something new is at the new name at the end; empty where it was not watched.
    pub moves: Vec<RefusedMove>,
    /// New names outside of the workspace, in private folders that are gone at the end of the session,
    /// where a person would take them for their own: right in HOME, but for settings and caches, and in
    /// folders above those of the session. Each is told once in a session, by the command after whose
    /// end it was found; those in subfolders are not told. At most 1,000 in a session.
    pub unkept: Vec<PathBuf>,
    /// Whether there were sockets for it that reach this machine or others.
    pub has_sockets: bool,
    /// Whether walls let it change nothing that stays.
    pub only_reads: bool,
}

impl Output {
    /// Returns that of a command which ended so, printed nothing and had no sockets.
    #[must_use]
    pub fn new(exit: Exit) -> Self {
        Self {
            exit,
            pieces: Vec::new(),
            bytes_total: 0,
            left_out_bytes: 0,
            spilled_to: None,
            duration: Duration::ZERO,
            limit: None,
            protected: Vec::new(),
            blocked: Vec::new(),
            refused: Vec::new(),
            outside: None,
            moves: Vec::new(),
            unkept: Vec::new(),
            has_sockets: false,
            only_reads: false,
        }
    }
}

/// A limit that ended a command, or held it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitReached {
    /// Memory of all its processes together.
    Memory {
        /// The limit, in bytes.
        memory_bytes_max: u64,
    },
    /// Its processes and threads, of which it may have so many at the same time.
    Processes {
        /// The limit.
        processes_max: u64,
    },
    /// Size of one file.
    FileSize {
        /// The limit of the walls, in bytes; `None` where the user's own is lower, or there are no walls.
        file_bytes_max: Option<u64>,
    },
    /// Room of a file system.
    Disk(RoomTaken),
}

/// How a command is started.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) confinement: Confinement,
    /// Rules that hold it, where the confinement says that there are some.
    pub(crate) rules: Option<Arc<Rules>>,
    pub(crate) limits: Option<Limits>,
    /// Folders of the workspace in which it may write nothing, as its file tree has them.
    pub(crate) held: Vec<PathBuf>,
    /// What it may take of the machine's file systems.
    pub(crate) room: Option<RoomLimit>,
    pub(crate) via: Via,
    /// Of the walls, to say whose they are if they do not stand.
    pub(crate) tier: Tier,
    /// Where what the command is about to change is saved.
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// Through which helper.
#[derive(Clone)]
pub(crate) enum Via {
    /// One of its own.
    Fresh,
    /// The one that holds namespaces already.
    Warm(Arc<WarmHelper>),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal; see [`signal_name`].
    Signal(i32),
    /// By us, because its time was up.
    TimedOut {
        /// The time it had.
        after: Duration,
    },
    /// By us, because the caller cancelled.
    Cancelled,
}

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A script cannot have a NUL character in it.
    #[error("the command has a NUL character")]
    NulCharacter,
    /// The folder to run in cannot be opened.
    #[error("cannot run in {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A folder of the session is not at its path. Nothing was run.
    #[error(transparent)]
    RootMoved(#[from] RootMoved),
    /// There is no bash on this machine.
    #[error("bash is not installed: it is neither in /bin and /usr/bin nor on PATH")]
    ShellMissing,
    /// Bash is there and could not be started.
    #[error("bash cannot be started: {source}")]
    Shell {
        /// What the operating system said.
        source: io::Error,
    },
    /// The profile asks for walls, and the command was not given to a [`crate::Sandbox`]; or the
    /// kernel cannot hold it. Nothing was run.
    #[error("the command cannot be confined as it should be; nothing was run")]
    NotConfined,
    /// A wall does not stand. Nothing was run.
    #[error("{0}; nothing was run")]
    Walls(SandboxError),
    /// The helper process could not be started or did not answer.
    #[error("cannot start the process that runs commands: {source}")]
    Helper {
        /// What the operating system said.
        source: io::Error,
    },
}

/// Returns what holds a command that asks for no walls; `None` for one that asks for some.
pub(crate) fn without_walls(profile: &Profile) -> Option<Confinement> {
    // Protected names are read-only within walls alone: elsewhere there is nothing to lift.
    let asked = Profile { lifted: Vec::new(), ..profile.clone() };
    if asked == Profile::unconfined() {
        return Some(Confinement::None);
    }
    (asked == Profile::reading()).then_some(Confinement::Reading)
}

impl CommandLimits {
    /// Returns what keeps the output of a command with these limits.
    pub(crate) fn printed(&self) -> Printed {
        Printed::new(self.output_bytes_max, self.spill.clone())
    }
}

impl Command {
    /// Runs the command to its end. Both streams are read all the time; `on_output` gets the
    /// cleaned text as it comes, in whole lines.
    ///
    /// Needs a tokio runtime with I/O and time. A future that is dropped ends the command.
    ///
    /// # Errors
    /// [`CommandError`] when it did not run; [`CommandError::NotConfined`] for a profile that needs
    /// a [`crate::Sandbox`]. A command that fails is an [`Output`].
    pub async fn run(
        self,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Output, CommandError> {
        let printed = self.limits.printed();
        self.run_into(None, &printed, cancel, on_output).await
    }

    /// Runs the command as [`Command::run`] does; what it prints is kept in `printed`, and what it is
    /// about to change is saved first.
    pub(crate) async fn run_into(
        self,
        checkpoint: Option<Checkpoint>,
        printed: &Printed,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Output, CommandError> {
        let confinement = without_walls(&self.profile).ok_or(CommandError::NotConfined)?;
        let (via, tier) = (Via::Fresh, Tier::C);
        let (rules, limits, held, room) = (None, None, Vec::new(), None);
        let launch = Launch { confinement, rules, limits, held, room, via, tier, checkpoint };
        self.launch(launch, printed, cancel, on_output).await
    }

    /// Runs the command behind these walls, whatever its profile says.
    pub(crate) async fn launch(
        self,
        launch: Launch,
        printed: &Printed,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Output, CommandError> {
        let shells = shells(&self.environment);
        self.launch_with(shells, launch, printed, cancel, on_output).await
    }

    async fn launch_with(
        self,
        shells: Vec<OsString>,
        launch: Launch,
        printed: &Printed,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Output, CommandError> {
        let started_at = Instant::now();
        let (has_sockets, only_reads) = match &launch.confinement {
            Confinement::Walls(walls) => (walls.internet, walls.only_reads),
            _ => (true, false),
        };
        self.roots.check()?;
        let (running, refused) = loop {
            let comparison = compare(launch.checkpoint.as_ref()).await;
            let started = Running::start(&self, shells.clone(), launch.clone(), started_at).await;
            let mut running = match started {
                Ok(running) => running,
                Err(error) => {
                    end(comparison).await;
                    return Err(error);
                }
            };
            let says_so = || {
                comparison.iter().for_each(Comparison::touch);
                launch.checkpoint.iter().for_each(Checkpoint::touch);
            };
            let attended = alive(says_so, running.attend(cancel, printed, on_output)).await;
            if running.is_unwatched() && comparison.is_none() {
                // Nothing ran: with the next start the workspace is compared.
                continue;
            }
            let refused = running.watched().await;
            end(comparison).await;
            attended?;
            break (running, refused);
        };
        let (exit, limit) = (running.exit(self.limits.timeout), running.limit());
        drop(running);
        printed.finish(on_output);
        let (bytes_total, left_out_bytes) = printed.bytes();
        Ok(Output {
            pieces: printed.pieces(),
            bytes_total,
            left_out_bytes,
            spilled_to: printed.spilled_to(),
            duration: started_at.elapsed(),
            limit,
            outside: refused.as_ref().map(|refused| refused.outside.clone()),
            moves: refused.as_ref().map(|refused| refused.moves.clone()).unwrap_or_default(),
            refused: refused.map(|refused| refused.calls).unwrap_or_default(),
            has_sockets,
            only_reads,
            ..Output::new(exit)
        })
    }
}

/// How often it is said that a command still runs.
const BEAT: Duration = Duration::from_secs(1);

/// Looks at the workspace before a command that cannot be watched.
async fn compare(checkpoint: Option<&Checkpoint>) -> Option<Comparison> {
    let checkpoint = checkpoint.filter(|checkpoint| checkpoint.compares())?.clone();
    let begun = checkpoint.clone();
    let begun = off_thread(move || Comparison::begin(begun)).await;
    if let Ok(Ok(comparison)) = begun {
        return Some(comparison);
    }
    checkpoint.note_not_watched();
    None
}

/// Waits for a command, and says from time to time that it still runs.
async fn alive<T>(says_so: impl Fn(), attended: impl Future<Output = T>) -> T {
    let mut attended = std::pin::pin!(attended);
    loop {
        says_so();
        if let Ok(attended) = tokio::time::timeout(BEAT, &mut attended).await {
            return attended;
        }
    }
}

/// Looks at it again.
async fn end(comparison: Option<Comparison>) {
    let Some(comparison) = comparison else { return };
    // One that breaks off says so in the change list.
    let _ = off_thread(move || comparison.end()).await;
}

/// Returns where bash may be: the usual places, then the search path.
fn shells(environment: &[(OsString, OsString)]) -> Vec<OsString> {
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| &**value);
    let folders = path.unwrap_or_default().as_bytes().split(|byte| *byte == b':');
    let folders = folders.filter(|folder| folder.starts_with(b"/")).map(OsStr::from_bytes);
    let mut shells = vec![OsString::from("/bin/bash"), OsString::from("/usr/bin/bash")];
    shells.extend(folders.map(|folder| PathBuf::from(folder).join("bash").into_os_string()));
    shells
}

/// Returns a signal's name, such as `SIGKILL`; `signal N` for one without.
#[must_use]
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSTKFLT => "SIGSTKFLT",
        libc::SIGVTALRM => "SIGVTALRM",
        libc::SIGPROF => "SIGPROF",
        libc::SIGIO => "SIGIO",
        libc::SIGPWR => "SIGPWR",
        libc::SIGSYS => "SIGSYS",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_machine_without_bash_is_told_so() {
        let command = Command {
            script: "true".to_owned(),
            folder: PathBuf::from("/"),
            roots: OpenRoots::default(),
            environment: Vec::new(),
            profile: Profile::unconfined(),
            limits: CommandLimits { timeout: Duration::MAX, output_bytes_max: 0, spill: None },
        };
        let run = |shell: &str| {
            let shells = vec![OsString::from("/none/bash"), OsString::from(shell)];
            let command = command.clone();
            let (confinement, via) = (Confinement::None, Via::Fresh);
            let (rules, limits, room, tier, checkpoint) = (None, None, None, Tier::D, None);
            let held = Vec::new();
            let launch = Launch { confinement, rules, limits, held, room, via, tier, checkpoint };
            async move {
                let (cancel, printed) = (CancellationToken::new(), command.limits.printed());
                command.launch_with(shells, launch, &printed, &cancel, &mut |_, _| {}).await
            }
        };
        assert!(matches!(run("/none/either").await, Err(CommandError::ShellMissing)));
        assert!(matches!(run("/proc/version").await, Err(CommandError::Shell { .. })));
        assert!(matches!(run("/bin/bash").await, Ok(Output { exit: Exit::Code(0), .. })));
    }

    #[test]
    fn bash_is_looked_for_in_absolute_folders_only() {
        let environment = [("PATH".into(), "/opt/bin:relative:".into())];
        assert_eq!(shells(&environment), ["/bin/bash", "/usr/bin/bash", "/opt/bin/bash"]);
    }
}
