//! Who says what becomes of what a command wrote to protected names: policy, and a person where it asks.

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use crate::{
    input::Answer,
    policy::{Action, Decision},
};

/// Says what becomes of what a command wrote to protected names.
#[async_trait]
pub(crate) trait Judge: Send + Sync {
    /// Judges `write` as if `write_file` were to do it.
    fn judge(&self, write: &Action) -> Decision;

    /// Returns files, as absolute paths, that the user's rules let `write_file` write by their name.
    fn named(&self) -> Vec<PathBuf>;

    /// Takes in that what a command wrote to `path` is not there, about which nobody is asked, and which
    /// flag would have let it.
    fn note_refused(&self, path: &str, flag: Option<&str>);

    /// Asks a person whether `content` stays at `path`; nobody there means no.
    async fn ask(&self, path: &Path, content: &[u8], decision: Decision) -> Answer;
}
