//! The subcommands: one file each, whose documentation is its help.

mod changes;
mod completions;
mod cost;
pub(crate) mod doctor;
pub(crate) mod export;
mod models;
pub(crate) mod permissions;
mod redo;
mod replay;
mod restore;
mod run;
mod sessions;
mod show;
mod tools;
mod undo;

use crate::{
    args::{OutputArgs, PlaceArgs, SessionArgs},
    config::{Config, Environment},
    error::{CliError, ExitStatus},
    resume::ResumeArgs,
    setup,
    texts::Text,
};

/// What to do besides carrying out a prompt.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subcommand {
    Run(run::Run),
    Models(models::Models),
    Sessions(sessions::Sessions),
    Show(show::Show),
    Cost(cost::Cost),
    Export(export::Export),
    Replay(replay::Replay),
    Changes(changes::Changes),
    Undo(undo::Undo),
    Redo(redo::Redo),
    Restore(restore::Restore),
    Tools(tools::Tools),
    Permissions(permissions::Permissions),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

impl Subcommand {
    /// Returns the subcommand that a command line without one stands for.
    pub(crate) fn without_name(prompt: Option<&str>) -> Self {
        Self::Run(run::Run::without_name(prompt))
    }

    /// Does it in `environment`. `prompt` and the groups of flags are what stood before its name; `whole` gives the
    /// whole command line.
    pub(crate) async fn execute(
        self,
        environment: Environment,
        prompt: Option<String>,
        mut session: SessionArgs,
        resume: ResumeArgs,
        output: OutputArgs,
        whole: fn() -> clap::Command,
    ) -> Result<ExitStatus, CliError> {
        if let Self::Run(run) = self {
            return run.execute(environment, prompt, session, resume, output).await;
        }
        if prompt.is_some() || resume != ResumeArgs::default() || output != OutputArgs::default() {
            return Err(out_of_place());
        }
        if let Self::Doctor(doctor) = self {
            return doctor.execute(environment, session).await;
        }
        if let Self::Permissions(permissions) = self {
            return permissions.execute(environment, session).await;
        }
        let cwd = self.place().and_then(|place| place.cwd.clone().or_else(|| session.cwd.take()));
        if session != SessionArgs::default() {
            return Err(out_of_place());
        }
        session.cwd = cwd;
        if let Self::Completions(completions) = self {
            return completions.execute(whole());
        }
        let config = Config::load(environment, &session)?;
        setup::mask_output(&config);
        match self {
            Self::Models(models) => models.execute(&config).await,
            Self::Sessions(sessions) => sessions.execute(&config),
            Self::Show(show) => show.execute(&config),
            Self::Cost(cost) => cost.execute(&config),
            Self::Export(export) => export.execute(&config),
            Self::Replay(replay) => replay.execute(config).await,
            Self::Changes(changes) => changes.execute(&config),
            Self::Undo(undo) => undo.execute(&config).await,
            Self::Redo(redo) => redo.execute(&config).await,
            Self::Restore(restore) => restore.execute(&config).await,
            Self::Tools(tools) => tools.execute(&config),
            Self::Run(_) | Self::Doctor(_) | Self::Permissions(_) | Self::Completions(_) => {
                Ok(ExitStatus::Finished)
            }
        }
    }

    /// Returns which folder it is about, if it is about one and has no other flags of a session.
    fn place(&self) -> Option<&PlaceArgs> {
        match self {
            Self::Changes(changes) => Some(&changes.place),
            Self::Undo(undo) => Some(&undo.place),
            Self::Redo(redo) => Some(&redo.place),
            Self::Restore(restore) => Some(&restore.place),
            _ => None,
        }
    }
}

fn out_of_place() -> CliError {
    CliError::usage(Text::OutOfPlace).with_hint(Text::HintOutOfPlace)
}
