//! `tenon completions SHELL`.

use clap_complete::Shell;

use crate::{
    error::{CliError, ExitStatus},
    print::print,
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
    /// `whole` is the whole command line.
    pub(super) fn execute(self, mut whole: clap::Command) -> Result<ExitStatus, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut whole, "tenon", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(ExitStatus::Finished)
    }
}
