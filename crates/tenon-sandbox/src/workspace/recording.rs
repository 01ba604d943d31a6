//! What a workspace tells before it writes, so that whoever records it can save what was there.
//!
//! The journal implements it. A trait of the workspace's own, because the journal is built on the
//! workspace and not the other way round.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::path::Path;

use rustix::io::Errno;

/// Is told what is about to be written. A write that it refuses does not happen.
pub(crate) trait Recording: Debug + Send + Sync {
    /// Before a file is made that gets another name at once, unless this process is killed.
    fn before_temporary(&self, folder: &Path, name: &OsStr) -> Result<(), Errno>;

    /// Before a file is put in place of what is at a name, or a folder is made there.
    fn before_replacing(&self, folder: &Path, name: &OsStr) -> Result<(), Errno>;

    /// Before a file is written where it is.
    fn before_writing(&self, folder: &Path, name: &OsStr) -> Result<(), Errno>;

    /// Whether what is at a name has a further name, which is the recording's own.
    fn has_kept(&self, folder: &Path, name: &OsStr) -> bool;
}
