//! What a command may read, write, reach and use, as plain data.
//!
//! Nothing here enforces anything: the helper that starts a command does, and refuses where the
//! kernel gives too little.

use std::path::{Path, PathBuf};

use crate::workspace::Workspace;

/// What a command may read, write and reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Folders and files that may be read beyond those that every command may read. `/` stands
    /// for everything.
    pub readable: Vec<PathBuf>,
    /// Folders that may be written, with everything beneath them: the workspace's roots, and what
    /// was granted for this call.
    pub writable: Vec<PathBuf>,
    /// Protected files (`.vscode/settings.json`), as absolute paths, whose protected names are not
    /// read-only for this call. They are compared after it like those that cannot be read-only: who
    /// runs it says then what stays. Those of repositories and tenon's own are read-only all the same.
    pub lifted: Vec<PathBuf>,
    /// What may be reached over the network.
    pub network: Network,
}

/// What may be reached over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Nothing beyond this call's own processes.
    Off,
    /// The same, and the proxy that lets named hosts through.
    Proxied,
    /// Everything.
    On,
}

/// What a confined command may use. Every field is a hard limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads of one command at the same time. In tier A the kernel refuses more, and up
    /// to 300 above that are possible (from Linux 6.14 on). Elsewhere it is looked at every 100 ms, and a
    /// command over it is ended; in tiers A and B the kernel also refuses more to an ordinary user, in
    /// tier A of the session.
    pub processes_max: u64,
    /// Memory of all processes together, in bytes. Looked at every 100 ms (500 ms in tier C); a
    /// command over it is ended.
    pub memory_bytes_max: u64,
    /// Size of any one file that is written, in bytes.
    pub file_bytes_max: u64,
    /// How much less room each file system of the folders that may be written, and of private folders
    /// on disk, may have than when the command began, in bytes, whoever takes it. Looked at every 100 ms
    /// and at the end; a command over it is ended. A twentieth of the room that there was, at most 1 GiB,
    /// must stay whatever this is.
    pub disk_bytes_max: u64,
    /// Open files of one process.
    pub open_files_max: u64,
    /// Size of all private folders (/tmp, /var/tmp, /run, /dev/shm, HOME) and of the layers in front
    /// of toolchains together, in bytes of memory. In tier B that of /dev/shm.
    pub temporary_bytes_max: u64,
}

impl Default for Limits {
    /// Enough for a build of a large project; not enough to take a machine down.
    fn default() -> Self {
        Self {
            processes_max: 4096,
            memory_bytes_max: 8 << 30,
            file_bytes_max: 16 << 30,
            // A debug build of a browser or an operating system's image takes some 30 GB.
            disk_bytes_max: 32 << 30,
            open_files_max: 65_536,
            temporary_bytes_max: 4 << 30,
        }
    }
}

impl Limits {
    /// Returns the limit for a file where the walls are what holds it: `None` if this process, and so each of its
    /// commands, has a lower one.
    ///
    /// ```
    /// let limits = tenon_sandbox::Limits::default();
    /// assert!(limits.of_file().is_none_or(|bytes| bytes == limits.file_bytes_max));
    /// ```
    #[must_use]
    pub fn of_file(&self) -> Option<u64> {
        let own = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
        own.is_none_or(|own| own > self.file_bytes_max).then_some(self.file_bytes_max)
    }

    /// Returns all of them, to be read and to be set.
    pub(crate) fn numbers(&mut self) -> [&mut u64; 6] {
        let Self {
            processes_max,
            memory_bytes_max,
            file_bytes_max,
            disk_bytes_max,
            open_files_max,
            temporary_bytes_max,
        } = self;
        [
            processes_max,
            memory_bytes_max,
            file_bytes_max,
            disk_bytes_max,
            open_files_max,
            temporary_bytes_max,
        ]
    }
}

impl Profile {
    /// Returns the profile that lets a command do what the user can do.
    #[must_use]
    pub fn unconfined() -> Self {
        let everything = vec![PathBuf::from("/")];
        Self {
            readable: everything.clone(),
            writable: everything,
            lifted: Vec::new(),
            network: Network::On,
        }
    }

    /// Returns the profile for a command that only looks: everything readable, nothing writable,
    /// no other wall. Inside a [`crate::Sandbox`], [`Profile::read_only`] is the stronger one.
    #[must_use]
    pub fn reading() -> Self {
        Self { writable: Vec::new(), ..Self::unconfined() }
    }

    /// Returns the profile for work in a workspace: the roots writable, no network.
    #[must_use]
    pub fn workspace(workspace: &Workspace) -> Self {
        Self {
            readable: Vec::new(),
            writable: workspace.roots(),
            lifted: Vec::new(),
            network: Network::Off,
        }
    }

    /// Whether this protected name is not read-only for the call.
    pub(crate) fn lifts(&self, protected: &Path) -> bool {
        self.lifted.iter().any(|lifted| lifted.starts_with(protected))
    }

    /// Returns the same profile with nothing writable but what is thrown away.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { writable: Vec::new(), lifted: Vec::new(), ..self }
    }
}
