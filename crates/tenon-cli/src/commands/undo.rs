//! `tenon undo [N]`.

use std::path::PathBuf;

use tenon_sandbox::{CheckpointId, Conflicts};

use crate::{
    args::PlaceArgs,
    config::Config,
    error::{CliError, ExitStatus},
    past::{self, Conflict, Outcome, Past},
    print::print,
    question,
    screen::{Look, Screen, Sink},
    texts::Text,
};

/// Put back what the last calls changed, shell commands included
#[derive(Debug, clap::Args)]
pub(crate) struct Undo {
    /// How many calls that changed something
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,

    #[command(flatten)]
    which: WhichSession,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    pub(super) place: PlaceArgs,
}

/// Whose past.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct WhichSession {
    /// Of this session instead of the last one in this folder (an id, its beginning, or `last`)
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<String>,
}

/// What is done about files that somebody changed since.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Consent {
    /// Leave what was changed since as it is, and put the rest back
    #[arg(long, conflicts_with = "overwrite")]
    keep_mine: bool,

    /// Put this back although it was changed since (repeatable); redo brings your version back
    #[arg(long, value_name = "PATH")]
    overwrite: Vec<PathBuf>,
}

impl Undo {
    pub(super) async fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let past = Past::open(config, self.which.session.as_deref())?;
        let calls = past.last(self.count as usize)?;
        let language = config.look().language;
        print(&format!(
            "{}\n{}",
            Text::UndoOf.say(language, &[("session", &past.session)]),
            past::named(&calls, language)
        ))?;
        for note in past::notes_on(&calls, self.count as usize, &past) {
            print(&format!("{}\n", note.say(language)))?;
        }
        let ids: Vec<CheckpointId> = calls.iter().map(|call| call.id).collect();
        take_back(&past, &ids, &self.consent, config.look(), Text::UndoDone).await
    }
}

/// Takes `ids` back and tells what became of it.
pub(super) async fn take_back(
    past: &Past,
    ids: &[CheckpointId],
    consent: &Consent,
    look: Look,
    done: Text,
) -> Result<ExitStatus, CliError> {
    let conflicts = consent.conflicts(past);
    let screen = Screen::new(Sink::Output, look);
    // Who gave an answer on the command line is not asked for another.
    let asks = conflicts == Conflicts::Refuse && question::can_ask(&screen);
    let ask = async |found: &[Conflict]| match asks {
        true => question::ask_conflicts(found, &screen).await,
        false => None,
    };
    match past.take_back(ids, conflicts, look.language, ask).await? {
        Outcome::Done(did) => {
            print(&past::told(done, &did, look.language))?;
            Ok(ExitStatus::Finished)
        }
        Outcome::Refused(found) => {
            let list = past::listed(&found, look.language);
            let said = Text::UndoRefused.template(look.language);
            let refused = CliError::failed(format!("{said}\n{}", list.trim_end()));
            let refused = refused.with_hint(Text::HintKeepMine);
            Err(match past::can_overwrite(&found) {
                true => refused.with_hint(Text::HintOverwrite),
                false => refused,
            })
        }
    }
}

impl Consent {
    fn conflicts(&self, past: &Past) -> Conflicts {
        if self.keep_mine {
            return Conflicts::Keep;
        }
        if self.overwrite.is_empty() {
            return Conflicts::Refuse;
        }
        // In the first folder of the workspace the journal names paths from there.
        let named = |path: &PathBuf| {
            let path = path.strip_prefix(&past.root).unwrap_or(path);
            path.strip_prefix(".").unwrap_or(path).to_path_buf()
        };
        Conflicts::Overwrite(self.overwrite.iter().map(named).collect())
    }
}
