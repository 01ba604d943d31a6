//! What a command may read, write and reach, as plain data.
//!
//! The profile is handed to the helper process that starts the command, with everything else the
//! helper needs to know. How much of it the kernel enforces is the helper's part.

use std::path::PathBuf;

use crate::workspace::Workspace;

/// What a command may read, write and reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Folders that may be read, with everything beneath them.
    pub readable: Vec<PathBuf>,
    /// Folders that may be written, with everything beneath them.
    pub writable: Vec<PathBuf>,
    /// What may be reached over the network.
    pub network: Network,
}

/// What may be reached over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Nothing beyond this machine's own processes.
    Off,
    /// Everything.
    On,
}

impl Profile {
    /// Returns the profile that lets a command do what the user can do.
    #[must_use]
    pub fn unconfined() -> Self {
        let everything = vec![PathBuf::from("/")];
        Self { readable: everything.clone(), writable: everything, network: Network::On }
    }

    /// Returns the profile for a command that only looks: everything readable, nothing writable.
    #[must_use]
    pub fn reading() -> Self {
        Self { writable: Vec::new(), ..Self::unconfined() }
    }

    /// Returns the profile for work in a workspace: everything readable, the roots writable, no
    /// network.
    #[must_use]
    pub fn workspace(workspace: &Workspace) -> Self {
        Self {
            readable: vec![PathBuf::from("/")],
            writable: workspace.roots(),
            network: Network::Off,
        }
    }
}
