//! What can go wrong with a file, as data a caller can act on.
//!
//! Every variant names the path as the model wrote it, never a path on this machine that the
//! model did not ask for; but for a root that is not in its place, and a place in one.

use std::io;

use rustix::io::Errno;

use super::in_place::RootMoved;

/// Why a file operation did not happen.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path leads out of every root of the workspace.
    #[error("Path escapes workspace: {path}")]
    Escapes {
        /// The path as it was asked for.
        path: String,
    },
    /// The path leads out of every root and back into one, by a way that is not followed.
    #[error("Path leads back into the workspace: {path}; name it {place}")]
    LeadsBack {
        /// The path as it was asked for.
        path: String,
        /// Where it leads, absolute.
        place: String,
    },
    /// Nothing is there.
    #[error("No such file or directory: {path}")]
    NotFound {
        /// The path as it was asked for.
        path: String,
    },
    /// A file was needed and a directory is there.
    #[error("Is a directory: {path}")]
    IsDirectory {
        /// The path as it was asked for.
        path: String,
    },
    /// A directory was needed and something else is there.
    #[error("Not a directory: {path}")]
    NotADirectory {
        /// The path as it was asked for.
        path: String,
    },
    /// The operating system does not let this user do it.
    #[error("Permission denied: {path}")]
    PermissionDenied {
        /// The path as it was asked for.
        path: String,
    },
    /// A pipe, socket or device, which is never opened as a file.
    #[error("Not a regular file: {path} is a {kind}")]
    NotRegular {
        /// The path as it was asked for.
        path: String,
        /// What it is, in words.
        kind: &'static str,
    },
    /// More bytes than the caller wanted to hold.
    #[error("File too large: {path} has {bytes} bytes, the limit is {bytes_max}")]
    TooLarge {
        /// The path as it was asked for.
        path: String,
        /// The file's length in bytes, as far as it was seen.
        bytes: u64,
        /// The limit that was given.
        bytes_max: u64,
    },
    /// The file is not what the caller expected it to be.
    #[error("File changed on disk: {path}")]
    Changed {
        /// The path as it was asked for.
        path: String,
    },
    /// A name that programs read commands from; writing it needs an approval of its own.
    #[error("Protected file: {path} can make other programs run commands")]
    Protected {
        /// The path as it was asked for.
        path: String,
    },
    /// It lies in the workspace and is not opened with it: a place of secrets, or tenon's own.
    #[error("Closed: {path} {why}")]
    Closed {
        /// The path as it was asked for.
        path: String,
        /// What it is.
        why: &'static str,
    },
    /// A symbolic link to nothing; a write would create a file somewhere else.
    #[error("Symbolic link leads to nothing: {path}")]
    DanglingLink {
        /// The path as it was asked for.
        path: String,
    },
    /// A root that is for reading only.
    #[error("Read-only: {path}")]
    ReadOnly {
        /// The path as it was asked for.
        path: String,
    },
    /// A root is not at its path: what would be done there, nobody would find.
    #[error(transparent)]
    RootMoved(#[from] RootMoved),
    /// Not a path that can name a file.
    #[error("Invalid path: {path:?} {reason}")]
    InvalidPath {
        /// The path as it was asked for.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Anything else the operating system said.
    #[error("{path}: {source}")]
    Io {
        /// The path as it was asked for.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
}

impl FileError {
    /// Returns the error that `errno` means for `path`.
    pub(crate) fn from_errno(path: &str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::NotFound { path },
            Errno::ISDIR => Self::IsDirectory { path },
            Errno::NOTDIR => Self::NotADirectory { path },
            Errno::ACCESS | Errno::PERM => Self::PermissionDenied { path },
            Errno::XDEV => Self::Escapes { path },
            Errno::ROFS => Self::ReadOnly { path },
            Errno::LOOP => Self::InvalidPath { path, reason: "has too many symbolic links" },
            Errno::NAMETOOLONG => Self::InvalidPath { path, reason: "is too long" },
            // What open says about a socket.
            Errno::NXIO => Self::NotRegular { path, kind: "socket" },
            other => Self::Io { path, source: other.into() },
        }
    }
}
