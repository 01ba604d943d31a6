//! `tenon restore SESSION --to STEP`.

use tenon_sandbox::CheckpointId;

use super::undo::{Consent, take_back};
use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    past::{self, Past},
    print::print,
    texts::Text,
};

/// Put the files back as they were before a step or a call of a session
#[derive(Debug, clap::Args)]
pub(crate) struct Restore {
    /// The session's id or its beginning; `last` is the newest
    #[arg(value_name = "SESSION")]
    session: String,

    /// The number of a step or the id of a call, as `tenon changes SESSION` lists them
    #[arg(long, value_name = "STEP")]
    to: String,

    #[command(flatten)]
    consent: Consent,
}

impl Restore {
    pub(super) async fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let past = Past::open(config, Some(&self.session))?;
        let calls = past.back_to(&self.to)?;
        let language = config.look().language;
        let said = Text::UndoOf.say(language, &[("session", &past.session)]);
        print(&format!("{said}\n{}", past::named(&calls, language)))?;
        let ids: Vec<CheckpointId> = calls.iter().map(|call| call.id).collect();
        take_back(&past, &ids, &self.consent, config.look(), Text::UndoDone).await
    }
}
