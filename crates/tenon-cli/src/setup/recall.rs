//! The session's log as the place where results are found again that were left out.

use std::path::PathBuf;

use tenon_agent::{Recall, Session, read_session};

/// A session's log.
pub(super) struct LogRecall {
    /// Where the logs are.
    pub(super) folder: PathBuf,
    /// The session's id.
    pub(super) session: String,
}

impl Recall for LogRecall {
    fn recall(&self, handle: &str) -> Result<String, String> {
        let text = self.log()?.recalled(handle).map(str::to_owned);
        text.ok_or_else(|| format!("no result was left out under {handle}"))
    }

    fn list(&self) -> Result<String, String> {
        Ok(self.log()?.recallable())
    }
}

impl LogRecall {
    /// Reads the log as a whole: it is asked for seldom, and nothing is kept in memory for it meanwhile.
    fn log(&self) -> Result<Session, String> {
        read_session(&self.folder, &self.session).map_err(|error| error.to_string())
    }
}
