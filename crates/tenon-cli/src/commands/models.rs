//! `tenon models`.

use std::fmt::Display;

use crate::{
    config::{Config, Endpoint},
    error::{CliError, ExitStatus},
    print::{print, say_notices},
    pull::{self, State},
    setup,
    texts::{Language, Text},
};

/// Fetch the built-in model, or list models
#[derive(Debug, clap::Args)]
pub(crate) struct Models {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Fetch the built-in model (1.1 GB), going on where an earlier fetch ended
    Pull,
    /// List the built-in model and the providers that are configured
    List,
}

impl Models {
    pub(super) async fn execute(self, config: &Config) -> Result<ExitStatus, CliError> {
        say_notices(&config.notices, config.look().language);
        match self.action {
            Action::Pull => {
                let path = setup::pull(&pull::built_in(), config).await?;
                print(&format!("{}\n", path.display()))?;
            }
            Action::List => print(&list(config))?,
        }
        Ok(ExitStatus::Finished)
    }
}

fn list(config: &Config) -> String {
    let model = pull::built_in();
    let (folder, language) = (config.folders.models(), config.look().language);
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let state = match model.state(&folder) {
        State::Absent => Text::ListAbsent.template(language).to_owned(),
        State::Partial(bytes) => {
            let values: [(&str, &dyn Display); 2] =
                [("n", &megabytes(bytes)), ("all", &megabytes(model.bytes()))];
            Text::ListPartial.say(language, &values)
        }
        State::Whole => Text::ListWhole.say(language, &[("path", &model.path(&folder).display())]),
    };
    let mut text = format!("local  {}, {} MB, {state}\n", model.name, megabytes(model.bytes()));
    for endpoint in config.providers.values() {
        text.push_str(&of_endpoint(endpoint, language));
    }
    tenon_model::visible(&text).into_owned()
}

fn of_endpoint(endpoint: &Endpoint, language: Language) -> String {
    let key = match &endpoint.key_source {
        Some(source) => Text::ListKey.say(language, &[("source", source)]),
        None if endpoint.is_configured() => Text::KeyNone.template(language).to_owned(),
        None => Text::ListNoKey.template(language).to_owned(),
    };
    let model = endpoint.model.as_deref().unwrap_or("NAME");
    let address = endpoint.shown_address().map(|url| format!(", {url}")).unwrap_or_default();
    format!("{}/{model}  {key}{address}\n", endpoint.name)
}
