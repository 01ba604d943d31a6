//! `tenon restore SESSION --to STEP`.

use super::undo::{Consent, take_back};
use crate::{
    args::PlaceArgs,
    config::Config,
    error::{CliError, ExitStatus},
    past::Past,
    print::print,
};

/// Put the files back as they were before a step or a call of a session: undo what came since, redo what
/// was undone since
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

    #[command(flatten)]
    pub(super) place: PlaceArgs,
}

impl Restore {
    pub(super) async fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let past = Past::open(config, Some(&self.session))?;
        let restoring = past.back_to(&self.to)?;
        let language = config.look().language;
        print(&restoring.plan(&past.session, language))?;
        if let Some(note) = past.still_running() {
            print(&format!("{}\n", note.say(language)))?;
        }
        take_back(&past, &restoring.ids, &self.consent, config.look(), restoring.done()).await
    }
}
