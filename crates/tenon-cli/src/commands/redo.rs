//! `tenon redo`.

use super::undo::{Consent, take_back};
use crate::{
    args::PlaceArgs,
    config::Config,
    error::{CliError, ExitStatus},
    past::{self, Past},
    print::print,
    texts::Text,
};

/// Take the last undo back
#[derive(Debug, clap::Args)]
pub(crate) struct Redo {
    /// Of this session instead of the last one that was undone in this folder (an id, its beginning,
    /// or `last`)
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    pub(super) place: PlaceArgs,
}

impl Redo {
    pub(super) async fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let (past, undo) = Past::undone_last(config, self.session.as_deref())?;
        let language = config.look().language;
        let calls = past.undone_by(undo)?;
        let title = match calls.is_empty() {
            true => Text::Session.say(language, &[("id", &past.session)]),
            false => Text::RedoOf.say(language, &[("session", &past.session)]),
        };
        print(&format!("{title}\n{}", past::named(&calls, language)))?;
        take_back(&past, &[undo], &self.consent, config.look(), Text::RedoDone).await
    }
}
