//! `tenon models`.

use crate::{
    config::{Config, Endpoint},
    error::{CliError, ExitStatus},
    print::{print, say_notices},
    pull::{self, State},
    setup,
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
        say_notices(&config.notices);
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
    let folder = config.folders.models();
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let state = match model.state(&folder) {
        State::Absent => "not here: `tenon models pull` fetches it".to_owned(),
        State::Partial(bytes) => format!(
            "{} of {} MB: `tenon models pull` goes on",
            megabytes(bytes),
            megabytes(model.bytes())
        ),
        State::Whole => format!("verified, {}", model.path(&folder).display()),
    };
    let mut text = format!("local  {}, {} MB, {state}\n", model.name, megabytes(model.bytes()));
    for endpoint in config.providers.values() {
        text.push_str(&of_endpoint(endpoint));
    }
    tenon_model::visible(&text).into_owned()
}

fn of_endpoint(endpoint: &Endpoint) -> String {
    let key = match &endpoint.key_source {
        Some(source) => format!("key from {source}"),
        None if endpoint.is_configured() => "no key".to_owned(),
        None => "no key: not configured".to_owned(),
    };
    let model = endpoint.model.as_deref().unwrap_or("NAME");
    let address = endpoint.shown_address().map(|url| format!(", {url}")).unwrap_or_default();
    format!("{}/{model}  {key}{address}\n", endpoint.name)
}
