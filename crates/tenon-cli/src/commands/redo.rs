//! `tenon redo`.

use super::undo::{Consent, WhichSession, take_back};
use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    past::Past,
    texts::Text,
};

/// Take the last undo back
#[derive(Debug, clap::Args)]
pub(crate) struct Redo {
    #[command(flatten)]
    which: WhichSession,

    #[command(flatten)]
    consent: Consent,
}

impl Redo {
    pub(super) async fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let past = Past::open(config, self.which.session.as_deref())?;
        let undo = past.last_undo()?;
        take_back(&past, &[undo], &self.consent, config.look(), Text::RedoDone).await
    }
}
