//! `tenon tools`.

use tenon_model::{Abilities, ToolSpec};

use crate::{
    config::Config,
    error::{CliError, ExitStatus},
    print::print,
    setup,
    texts::Text,
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
        let text = if self.json {
            serde_json::to_string_pretty(&specs).map(|json| json + "\n")
        } else {
            specs.iter().map(described).collect()
        };
        let text = text.map_err(|error| CliError::failed(Text::NotJson).with_source(error))?;
        print(&text)?;
        Ok(ExitStatus::Finished)
    }
}

fn described(tool: &ToolSpec) -> Result<String, serde_json::Error> {
    let schema = serde_json::to_string_pretty(&tool.schema)?;
    let mut text = format!("{}\n", tool.name);
    for line in tool.description.lines().chain(schema.lines()) {
        text.push_str(&format!("    {line}\n"));
    }
    text.push('\n');
    Ok(text)
}
