//! The models that a session can change to while it goes on.

use std::{num::NonZeroU32, sync::Arc};

use tenon_agent::Tools;
use tenon_model::{Price, Provider, abilities, known_models};

use super::{built_in_model, provider, refuse_unknown_price, tools};
use crate::{
    config::{Config, Endpoint, ProviderKind},
    error::CliError,
    model_choice::{self, Choice, Chosen},
    pull::State,
    texts::Text,
};

/// A model that is configured, with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownModel {
    /// As `/model` takes it.
    pub(crate) name: String,
    /// Request and reply together, in tokens.
    pub(crate) window_tokens: u32,
    pub(crate) price: Option<Price>,
    /// Where it comes from, for people.
    pub(crate) source: String,
}

impl KnownModel {
    /// Returns the model of `provider`, wherever it came from; its window is that of `window_tokens`
    /// if one was set.
    pub(crate) fn of(provider: &dyn Provider, window_tokens: Option<u32>) -> Self {
        let abilities = provider.abilities();
        Self {
            name: provider.model().to_owned(),
            window_tokens: window_tokens.unwrap_or(abilities.context_window_tokens),
            price: abilities.price,
            source: String::new(),
        }
    }

    /// Returns whether a provider that calls itself `model` has this one.
    fn is_of(&self, model: &str) -> bool {
        self.name == model || (self.name == "local" && model == format!("local/{}", self.source))
    }
}

/// Returns the models of [`known`] with the one that is asked `now` among them, and its place, and the
/// one that the session `began` with. One that is not configured, such as a file or a script, stands
/// first.
pub(crate) fn known_with(
    config: &Config,
    began: &KnownModel,
    now: &KnownModel,
) -> (Vec<KnownModel>, usize) {
    // The name of a script does not say where it is.
    let can_be_asked = model_choice::parse(&began.name, &config.providers).is_ok();
    let began = can_be_asked.then_some(began);
    with_current(with_first(known(config), began, now), now)
}

fn with_first(
    mut models: Vec<KnownModel>,
    began: Option<&KnownModel>,
    now: &KnownModel,
) -> Vec<KnownModel> {
    if let Some(began) = began
        && began.name != now.name
        && !models.iter().any(|model| model.is_of(&began.name))
    {
        models.insert(0, began.clone());
    }
    models
}

fn with_current(mut models: Vec<KnownModel>, now: &KnownModel) -> (Vec<KnownModel>, usize) {
    let place = match models.iter().position(|model| model.is_of(&now.name)) {
        Some(place) => place,
        None => {
            models.insert(0, now.clone());
            0
        }
    };
    (models, place)
}

/// Returns the models that can be used without asking for more, by provider: the one that is
/// configured or usual first, then the others that the vendor's own service is known to have.
/// Nobody is asked.
pub(crate) fn known(config: &Config) -> Vec<KnownModel> {
    let mut found = Vec::new();
    for endpoint in config.providers.values().filter(|endpoint| endpoint.is_configured()) {
        let host = host_of(endpoint);
        let usual = match model_choice::parse(&endpoint.name, &config.providers) {
            Ok(Choice::Remote { model, .. }) => model,
            _ => None,
        };
        let others =
            known_models(&host).filter(|name| usual.as_deref().is_none_or(|usual| usual != *name));
        let mut names: Vec<&str> = usual.as_deref().into_iter().collect();
        others.for_each(|name| names.push(name));
        for name in &names {
            let known = abilities(name, &host);
            found.push(KnownModel {
                name: format!("{}/{name}", endpoint.name),
                window_tokens: window(config, known.context_window_tokens),
                price: known.price,
                source: source_of(endpoint),
            });
        }
        if names.is_empty() {
            // Only the server knows what it has.
            let unknown = abilities("", &host).context_window_tokens;
            found.push(KnownModel {
                name: endpoint.name.clone(),
                window_tokens: window(config, unknown),
                price: None,
                source: source_of(endpoint),
            });
        }
    }
    let model = built_in_model();
    if cfg!(feature = "local") && model.state(&config.folders.models()) == State::Whole {
        let window_tokens = window(config, abilities(&model.name, "").context_window_tokens);
        let (name, source) = ("local".to_owned(), model.name);
        found.push(KnownModel { name, window_tokens, price: None, source });
    }
    found
}

/// Returns the model `name`, ready to be asked, and the tools that it gets.
///
/// # Errors
/// If there is no such model or it cannot be had without asking for more: nothing is fetched.
pub(crate) async fn other_model(
    config: &Config,
    name: &str,
) -> Result<(Arc<dyn Provider>, Tools), CliError> {
    let choice = match model_choice::parse(name, &config.providers)? {
        Choice::Scripted(path) => Choice::Scripted(config.absolute(&path)),
        Choice::Remote { endpoint, .. } if !endpoint.is_configured() => {
            return Err(CliError::config(Text::NoKeyOf.with(&[("provider", &endpoint.name)]))
                .with_hint(Text::HintOtherModel));
        }
        Choice::BuiltIn if built_in_model().state(&config.folders.models()) != State::Whole => {
            return Err(CliError::config(Text::BuiltInMissing).with_hint(Text::HintFetchBuiltIn));
        }
        other => other,
    };
    let chosen = Chosen { choice, because: "/model".into(), asked_for: false };
    let provider = provider(config, chosen).await?;
    refuse_unknown_price(&config.settings, &*provider)?;
    let tools = tools(&config.settings, provider.abilities());
    Ok((provider, tools))
}

fn window(config: &Config, known: u32) -> u32 {
    config.settings.context_window.map_or(known, NonZeroU32::get)
}

fn source_of(endpoint: &Endpoint) -> String {
    endpoint.shown_address().unwrap_or_else(|| host_of(endpoint))
}

/// Returns the host of an endpoint's address, with its port.
fn host_of(endpoint: &Endpoint) -> String {
    let Some(address) = endpoint.shown_address() else {
        return match endpoint.kind {
            ProviderKind::Anthropic => "api.anthropic.com".to_owned(),
            ProviderKind::OpenAi => "api.openai.com".to_owned(),
        };
    };
    let host = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest);
    host.split('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_that_is_asked_now_is_in_the_list_wherever_it_came_from() {
        let model = |name: &str, source: &str| KnownModel {
            name: name.to_owned(),
            window_tokens: 8_000,
            price: None,
            source: source.to_owned(),
        };
        let known = || vec![model("a/one", "a"), model("a/two", "a"), model("local", "small-q4")];
        let check = |now: &str, count, place| {
            let (models, found) = with_current(known(), &model(now, ""));
            assert_eq!((models.len(), found), (count, place), "{now}");
            assert!(models[found].is_of(now));
        };
        let began = model("a/begun", "");
        let with_first = |now: &str, began: &KnownModel| {
            let models = with_first(known(), Some(began), &model(now, ""));
            with_current(models, &model(now, "")).0.len()
        };
        assert_eq!(with_first("a/two", &began), 4);
        assert_eq!(with_first("a/begun", &began), 4);
        assert_eq!(with_first("a/two", &model("a/one", "")), 3);
        assert_eq!(with_first("scripted", &began), 5);
        check("a/two", 3, 1);
        check("local/small-q4", 3, 2);
        check("local/other.gguf", 4, 0);
        check("scripted", 4, 0);
    }
}
