//! `tenon completions SHELL`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::print;
use crate::{
    args::Args,
    error::{CliError, ExitStatus},
};

/// Print the completion script of a shell
///
/// For bash: tenon completions bash > ~/.local/share/bash-completion/completions/tenon
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(super) fn execute(self) -> Result<ExitStatus, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Args::command(), "tenon", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(ExitStatus::Finished)
    }
}
