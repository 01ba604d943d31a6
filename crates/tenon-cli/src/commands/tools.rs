//! `tenon tools`.

use tenon_model::{Abilities, ToolSpec};

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    json,
    print::print,
    setup,
};

/// List what the model can call, with schemas
#[derive(Debug, clap::Args)]
pub(crate) struct Tools {
    /// Print JSON: names, descriptions and schemas as the model gets them
    #[arg(long)]
    json: bool,
}

impl Tools {
    pub(super) fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        let specs = setup::tools(&config.settings, &Abilities::default()).specs();
        let text = match self.json {
            true => json::pretty(&specs)? + "\n",
            false => specs.iter().map(described).collect::<Result<String, CliError>>()?,
        };
        print(&text)?;
        Ok(ExitStatus::Finished)
    }
}

fn described(tool: &ToolSpec) -> Result<String, CliError> {
    let schema = json::pretty(&tool.schema)?;
    let mut text = format!("{}\n", tool.name);
    for line in tool.description.lines().chain(schema.lines()) {
        text.push_str(&format!("    {line}\n"));
    }
    text.push('\n');
    Ok(text)
}
