//! Which model a session gets: what was asked for, else what is configured. Pure; whoever finds
//! nothing here looks for what this machine has.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    config::{ANTHROPIC, Endpoint, OPENAI, ProviderKind},
    error::CliError,
    texts::Text,
};

/// Used when only a key is there. Widely available, good at tools, in the middle of the price.
const ANTHROPIC_MODEL: &str = "claude-sonnet-5-5";
/// Likewise.
const OPENAI_MODEL: &str = "gpt-5.2";
/// Whose a model is that is named without its provider.
const WELL_KNOWN: [(&str, &str); 7] = [
    ("claude-", ANTHROPIC),
    ("gpt-", OPENAI),
    ("chatgpt-", OPENAI),
    ("codex-", OPENAI),
    ("o1", OPENAI),
    ("o3", OPENAI),
    ("o4-", OPENAI),
];

/// A model that was decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// A model of a provider; its name may still have to be asked for.
    Remote {
        /// Where it is.
        endpoint: Endpoint,
        /// Its name, or nothing if only the server knows it.
        model: Option<String>,
    },
    /// The built-in model.
    BuiltIn,
    /// Another model file to run in process.
    ModelFile(PathBuf),
    /// A script that is replayed.
    Scripted(PathBuf),
}

/// A model that was decided on, and why.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The model.
    pub(crate) choice: Choice,
    /// Who or what decided, for people.
    pub(crate) because: String,
    /// Whether the command line asked for it, which is what allows a large download.
    pub(crate) asked_for: bool,
}

/// Returns the model that was asked for by `text`.
pub(crate) fn parse(
    text: &str,
    providers: &BTreeMap<String, Endpoint>,
) -> Result<Choice, CliError> {
    let text = text.trim();
    if text == "local" {
        return Ok(Choice::BuiltIn);
    }
    if let Some(file) = text.strip_prefix("scripted:") {
        return match file {
            "" => Err(unknown(text, providers)),
            file => Ok(Choice::Scripted(Path::new(file).to_path_buf())),
        };
    }
    let (provider, name) = match text.split_once('/') {
        Some((provider, name)) => (provider, Some(name).filter(|name| !name.is_empty())),
        None => match WELL_KNOWN.iter().find(|(start, _)| text.starts_with(start)) {
            Some((_, provider)) => (*provider, Some(text)),
            None => (text, None),
        },
    };
    let endpoint = providers.get(provider).ok_or_else(|| unknown(text, providers))?;
    Ok(of_endpoint(endpoint, name))
}

/// Returns the model of the first provider that can be used without asking for more: Anthropic,
/// OpenAI, then the user's own by name.
pub(crate) fn configured(providers: &BTreeMap<String, Endpoint>) -> Option<Choice> {
    let built_in = [ANTHROPIC, OPENAI];
    let own = providers
        .values()
        .filter(|endpoint| !built_in.contains(&endpoint.name.as_str()) && endpoint.model.is_some());
    let first = built_in.iter().filter_map(|name| providers.get(*name));
    let endpoint = first.chain(own).find(|endpoint| endpoint.is_configured())?;
    Some(of_endpoint(endpoint, None))
}

fn of_endpoint(endpoint: &Endpoint, name: Option<&str>) -> Choice {
    let usual = || match (endpoint.base_url(), endpoint.kind) {
        // Another server than the vendor's has models of its own.
        (Some(_), ProviderKind::OpenAi) => None,
        (_, ProviderKind::Anthropic) => Some(ANTHROPIC_MODEL.to_owned()),
        (None, ProviderKind::OpenAi) => Some(OPENAI_MODEL.to_owned()),
    };
    let model = name.map(str::to_owned).or_else(|| endpoint.model.clone()).or_else(usual);
    Choice::Remote { endpoint: endpoint.clone(), model }
}

fn unknown(text: &str, providers: &BTreeMap<String, Endpoint>) -> CliError {
    let names: Vec<&str> = providers.keys().map(String::as_str).collect();
    CliError::usage(Text::NoSuchModel.with(&[("model", &text)]))
        .with_hint(Text::HintModelForms.with(&[("providers", &names.join(", "))]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::providers_of;

    /// Returns `PROVIDER MODEL` or what else was chosen, in a word.
    fn shown(choice: Choice) -> String {
        match choice {
            Choice::Remote { endpoint, model } => {
                format!("{} {}", endpoint.name, model.as_deref().unwrap_or("?"))
            }
            Choice::BuiltIn => "local".into(),
            Choice::ModelFile(path) => format!("file {}", path.display()),
            Choice::Scripted(path) => format!("scripted {}", path.display()),
        }
    }

    #[test]
    fn a_model_is_asked_for_by_name() {
        let providers = providers_of(
            &[],
            "[router]\nkind = 'openai'\nbase_url = 'https://r'\n[fixed]\nkind = 'openai'\n\
             base_url = 'https://f'\nmodel = 'm'",
        );
        let cases = [
            ("local", Some("local")),
            ("scripted:a/b.json", Some("scripted a/b.json")),
            ("anthropic/claude-x", Some("anthropic claude-x")),
            ("anthropic", Some("anthropic claude-sonnet-5-5")),
            ("claude-opus-4-5", Some("anthropic claude-opus-4-5")),
            ("gpt-5-mini", Some("openai gpt-5-mini")),
            ("o3", Some("openai o3")),
            ("openai/", Some("openai gpt-5.2")),
            ("router/vendor/name:free", Some("router vendor/name:free")),
            ("router", Some("router ?")),
            ("fixed", Some("fixed m")),
            ("scripted:", None),
            ("local/x", None),
            ("nobody/x", None),
            ("llama", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let choice = parse(text, &providers).map(shown).ok();
            assert_eq!(choice.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_models_of_a_key_alone_are_known_with_their_price() {
        for (model, host) in
            [(ANTHROPIC_MODEL, "api.anthropic.com"), (OPENAI_MODEL, "api.openai.com")]
        {
            assert!(tenon_model::abilities(model, host).price.is_some(), "{model}");
        }
    }

    #[test]
    fn without_a_word_the_first_usable_provider_counts() {
        let check = |variables: &[(&str, &str)], tables: &str, expected: Option<&str>| {
            let choice = configured(&providers_of(variables, tables)).map(shown);
            assert_eq!(choice.as_deref(), expected, "{variables:?} {tables}");
        };
        let (open, ant) = (("OPENAI_API_KEY", "a"), ("ANTHROPIC_API_KEY", "b"));
        let nameless = "[own]\nkind = 'openai'\nbase_url = 'http://o'";
        let own = format!("{nameless}\nmodel = 'm'");
        check(&[], "", None);
        check(&[], nameless, None);
        check(&[], &own, Some("own m"));
        check(&[open], &own, Some("openai gpt-5.2"));
        check(&[open, ant], &own, Some("anthropic claude-sonnet-5-5"));
        check(&[("OPENAI_BASE_URL", "http://x")], "", Some("openai ?"));
    }
}
