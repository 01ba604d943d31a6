//! `tenon show ID`.

use tenon_agent::{list_sessions, read_session};

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    masked,
    print::{print, say_notices},
    render,
    resume::unreadable,
    screen::Sink,
    texts::Text,
    which_session::find,
};

/// Print a session as it looked
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The session's id or its beginning, its name, or `last`, the newest
    #[arg(value_name = "ID")]
    id: String,

    /// Show the branches that were gone back behind, too
    #[arg(long)]
    all: bool,
}

impl Show {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let folder = config.folders.sessions();
        let sessions = list_sessions(&folder).map_err(unreadable)?;
        let id = &find(&self.id, &sessions)?.id;
        let session = read_session(&folder, id).map_err(unreadable)?;
        masked::read_all_of(&session);
        if session.skipped > 0 {
            let notice = Text::EventsNotShown.with(&[("n", &session.skipped)]);
            say_notices(&[notice], config.look().language);
        }
        let style = config.look().style(Sink::Output);
        let records = match self.all {
            true => masked::records(&session.records),
            false => masked::records(session.branch()),
        };
        print(&render::transcript(&records, &style))?;
        Ok(ExitStatus::Finished)
    }
}
