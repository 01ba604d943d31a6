//! The walls around commands: one table of attacks and of ordinary work, run against the kernel.
//!
//! A row is a name, a script and what must be true afterwards. The rows run as the user of the
//! tests and, where that is root, once more as an ordinary user in a process of its own.

mod attacks;
mod benign;
mod bubblewrap;
mod copied_home;
mod disk;
mod helpers;
mod jobs;
mod later_secrets;
mod lifetime;
mod linked_secrets;
mod memory;
mod network;
mod processes;
mod protected;
mod sessions;
mod sockets;
mod tiers;
mod toolchains;
mod unkept;
mod ways;

use std::path::{Path, PathBuf};

use tenon_sandbox::{
    Command, CommandError, CommandLimits, Exit, GUARDED_FOLDERS_MAX, Limits, Network, Output,
    Profile, Proxy, Sandbox, Settings, Stream, Tier, Wanted, Workspace, child_environment,
};
use tokio_util::sync::CancellationToken;

use crate::skipped::skipped;
use crate::support::{TIMEOUT, runtime, text};

/// The tier with namespaces that the tests are about: B in the run that `bubblewrap.rs` starts.
pub(crate) fn tier() -> Tier {
    if std::env::var_os("TENON_TEST_BUBBLEWRAP").is_some() { Tier::B } else { Tier::A }
}

/// A workspace, a home and walls around them, all of it gone at the end.
pub(crate) struct Place {
    pub(crate) top: tempfile::TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) sandbox: Sandbox,
    pub(crate) profile: Profile,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::at(&std::env::temp_dir(), "work", change)
    }

    /// A workspace with this name in a new folder beneath `above`.
    pub(crate) fn at(
        above: &Path,
        name: impl AsRef<Path>,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let top = tempfile::Builder::new().prefix("walls").tempdir_in(above).unwrap();
        let path = top.path().canonicalize().unwrap();
        let (root, home) = (path.join(name), path.join("home"));
        std::fs::create_dir_all(&root).unwrap();
        for name in [".ssh", ".cargo/bin", "deep"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::write(home.join(".ssh/id_rsa"), "SECRET KEY").unwrap();
        std::fs::write(home.join(".cargo/credentials.toml"), "SECRET TOKEN").unwrap();
        std::fs::write(home.join(".cargo/config.toml"), "# ordinary").unwrap();
        std::fs::write(path.join("outside"), "OUTSIDE").unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let mut settings = Settings {
            roots: workspace.roots(),
            home: Some(home),
            covered: Vec::new(),
            // Else it would be an empty private folder, and every attack would fail for that.
            readable: vec![path.clone()],
            ways: Vec::new(),
            toolchains: Vec::new(),
            virtual_environment: None,
            hidden: Vec::new(),
            own: Vec::new(),
            state: None,
            shown: Vec::new(),
            wanted: Wanted::Exactly(tier()),
            limits: Limits::default(),
            guarded_folders_max: GUARDED_FOLDERS_MAX,
        };
        change(&mut settings);
        let profile =
            Profile { writable: settings.roots.clone(), ..Profile::workspace(&workspace) };
        Self { top, workspace, sandbox: Sandbox::new(settings), profile }
    }

    pub(crate) fn root(&self) -> &Path {
        self.workspace.root()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.top.path().canonicalize().unwrap().join("home")
    }

    pub(crate) fn network(mut self, network: Network) -> Self {
        self.profile.network = network;
        self
    }

    pub(crate) fn proxy(mut self, proxy: Proxy) -> Self {
        self.sandbox = Sandbox::with_proxy(self.sandbox.settings().clone(), proxy);
        self
    }

    pub(crate) fn command(&self, script: &str) -> Command {
        let mut environment = child_environment(std::env::vars_os(), &[]);
        environment.retain(|(name, _)| !["HOME", "TMPDIR", "PATH"].iter().any(|set| name == set));
        environment.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into()));
        environment.push(("HOME".into(), self.home().into()));
        environment.push(("TOP".into(), self.top.path().into()));
        Command {
            script: script.to_owned(),
            folder: self.root().to_path_buf(),
            roots: self.workspace.open_roots(),
            environment,
            profile: self.profile.clone(),
            limits: CommandLimits { timeout: TIMEOUT, output_bytes_max: 20_000, spill: None },
        }
    }

    pub(crate) fn try_run(&self, script: &str) -> Result<Output, CommandError> {
        self.try_command(self.command(script))
    }

    pub(crate) fn try_command(&self, command: Command) -> Result<Output, CommandError> {
        let cancel = CancellationToken::new();
        runtime().block_on(self.sandbox.run(command, &cancel, &mut |_, _| {}))
    }

    /// The exit and everything that was printed, both streams.
    pub(crate) fn run(&self, script: &str) -> (Exit, String) {
        let output = self.try_run(script).unwrap();
        (output.exit, printed(&output))
    }

    /// A file beneath the folder above the workspace, as it is outside.
    pub(crate) fn outside(&self, name: &str) -> String {
        std::fs::read_to_string(self.top.path().join(name)).unwrap_or_else(|_| "-".into())
    }
}

pub(crate) fn printed(output: &Output) -> String {
    text(&output.pieces, Stream::Out) + &text(&output.pieces, Stream::Error)
}

/// One row: what runs, and what must be in what it prints, or must not.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    pub(crate) prints: &'static [&'static str],
    pub(crate) never: &'static [&'static str],
}

pub(crate) const fn refused(name: &'static str, script: &'static str) -> Row {
    Row { name, script, prints: &["refused"], never: &["BROKEN"] }
}

pub(crate) const fn works(
    name: &'static str,
    script: &'static str,
    prints: &'static [&'static str],
) -> Row {
    Row { name, script, prints, never: &["BROKEN"] }
}

/// Runs the rows in one session and tells all that failed, not the first.
pub(crate) fn check_rows<'a>(place: &Place, rows: impl IntoIterator<Item = &'a Row>) {
    let (mut failed, mut count) = (Vec::new(), 0);
    for row in rows {
        count += 1;
        let (exit, said) = match place.try_run(row.script) {
            Ok(output) => (output.exit, printed(&output)),
            Err(error) => (Exit::Code(-1), error.to_string()),
        };
        if said.contains("SKIPPED") {
            skipped(format_args!("{}: {}", row.name, said.trim()));
            continue;
        }
        let holds = row.prints.iter().all(|wanted| said.contains(wanted))
            && !row.never.iter().any(|never| said.contains(never));
        if !holds {
            failed.push(format!("{}: {exit:?}\n{said}", row.name));
        }
    }
    assert!(failed.is_empty(), "{} of {} rows:\n{}", failed.len(), count, failed.join("\n"));
}

/// Runs `test` of this module as an ordinary user in a process of its own.
pub(crate) fn as_ordinary_user(test: &str) {
    as_ordinary_user_in("walls", test, &[]);
}

/// The same for a test of another module, with these variables.
pub(crate) fn as_ordinary_user_in(module: &str, test: &str, variables: &[(&str, &str)]) {
    if !rustix_is_root() {
        skipped("the tests run as an ordinary user already");
        return;
    }
    match ordinary_user(&["--exact", &format!("{module}::{test}"), "--nocapture"], variables) {
        Ok(said) => assert!(said.contains("1 passed"), "{said}"),
        Err(reason) => skipped(format_args!("{reason}")),
    }
}

/// Runs tests of this program as an ordinary user and returns what was printed, or why that cannot
/// be. They must succeed.
pub(crate) fn ordinary_user(
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<String, String> {
    ordinary_user_with(0o755, arguments, variables)
}

/// The same with a mode for the program's file, which is root's.
pub(crate) fn ordinary_user_with(
    mode: u32,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<String, String> {
    // The program's own folder may be closed to others.
    let folder = tempfile::Builder::new().prefix("walls-user").tempdir_in("/var/tmp").unwrap();
    let program = folder.path().join("program");
    crate::program_copy::copy_program(&std::env::current_exe().unwrap(), &program);
    let open = |path: &Path, mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(folder.path(), 0o777);
    open(&program, mode);
    let output = std::process::Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"])
        .arg(&program)
        .args(arguments)
        .arg("--test-threads=1")
        .envs(variables.iter().copied())
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return Err(format!("setpriv cannot be started: {error}")),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // Nobody sees what that process says.
    let reasons = said.lines().filter_map(|line| line.strip_prefix("skipped: "));
    reasons.for_each(|reason| skipped(format_args!("as an ordinary user: {reason}")));
    Ok(said)
}

pub(crate) fn rustix_is_root() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .unwrap()
        .lines()
        .any(|line| line.starts_with("Uid:\t0\t"))
}
