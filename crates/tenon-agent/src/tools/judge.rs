//! Who says what becomes of what a command wrote to protected names: policy, and a person where it asks.

use std::path::Path;

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

    /// Asks a person whether `content` stays at `path`; nobody there means no.
    async fn ask(&self, path: &Path, content: &[u8], decision: Decision) -> Answer;
}
