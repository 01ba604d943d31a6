//! Providers with their address and their key, bound together.
//!
//! The one place where a key meets the host it is sent to: both come from the same source, the
//! environment or one table of the user's file, and are never mixed. Nothing outside this file
//! makes an [`Endpoint`].

use std::collections::BTreeMap;

use serde::Deserialize;
use tenon_model::Secret;

use super::{environment::Environment, file::ProviderTable};
use crate::texts::{Language, Sentence, Text};

/// The name of the provider for Anthropic's own service.
pub(crate) const ANTHROPIC: &str = "anthropic";
/// The name of the provider for OpenAI's own service and what `OPENAI_BASE_URL` points to.
pub(crate) const OPENAI: &str = "openai";
/// The source of what stands in variables.
const ENVIRONMENT: &str = "environment";
/// Words that `--model` knows as something else than a provider of the user's.
const RESERVED: [&str; 2] = ["local", "scripted"];

/// A wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProviderKind {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Chat Completions API, which many servers speak.
    OpenAi,
}

/// A provider that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Its name in `--model NAME/MODEL`.
    pub(crate) name: String,
    /// What it speaks.
    pub(crate) kind: ProviderKind,
    /// The model to use when only the provider is named.
    pub(crate) model: Option<String>,
    /// Where the settings come from, for people.
    pub(crate) source: String,
    /// Where the key comes from, for people; never the key.
    pub(crate) key_source: Option<String>,
    /// The provider's own service if there is none.
    base_url: Option<String>,
    credential: Option<Credential>,
}

/// What proves to a server who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credential {
    /// In the header that the protocol has for keys.
    Key(Secret),
    /// In `authorization: Bearer`.
    BearerToken(Secret),
}

impl Endpoint {
    /// Returns the address if it is not the service after which the protocol is named.
    pub(crate) fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    /// Returns the address for people: without user name and password.
    pub(crate) fn shown_address(&self) -> Option<String> {
        let address = self.base_url()?;
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        Some(format!("{scheme}{host}{path}"))
    }

    /// Returns where the settings come from, in the language of the interface.
    pub(crate) fn shown_source(&self, language: Language) -> &str {
        match self.source.as_str() {
            ENVIRONMENT => Text::SourceEnvironment.template(language),
            file => file,
        }
    }

    /// Returns what is sent to this address, and to no other.
    pub(crate) fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    /// Returns whether it can be used without asking for more: it has a key, or an address of its
    /// own that may need none.
    pub(crate) fn is_configured(&self) -> bool {
        self.credential.is_some() || self.base_url.is_some()
    }

    /// Returns a server on this machine that needs no key.
    pub(crate) fn on_loopback(name: &str, base_url: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: ProviderKind::OpenAi,
            model: None,
            source: "found on this machine".into(),
            key_source: None,
            base_url: Some(base_url.to_owned()),
            credential: None,
        }
    }
}

/// Returns every provider by name: the two built-in ones, and the tables of the user's file.
///
/// A table called `anthropic` or `openai` stands for the built-in one as a whole, so that a key
/// of the environment is not sent to an address of the file, nor the other way round.
pub(super) fn endpoints(
    environment: &Environment,
    tables: BTreeMap<String, ProviderTable>,
    file: &str,
) -> Result<BTreeMap<String, Endpoint>, Sentence> {
    let mut endpoints: BTreeMap<String, Endpoint> = [anthropic(environment), openai(environment)]
        .into_iter()
        .map(|endpoint| (endpoint.name.clone(), endpoint))
        .collect();
    for (name, table) in tables {
        let endpoint = from_table(&name, table, environment, file)?;
        endpoints.insert(name, endpoint);
    }
    Ok(endpoints)
}

fn anthropic(environment: &Environment) -> Endpoint {
    let key = environment.text("ANTHROPIC_API_KEY");
    let token = environment.text("ANTHROPIC_AUTH_TOKEN");
    let (credential, key_source) = match (key, token) {
        (Some(key), _) => (Some(Credential::Key(secret(key))), Some("ANTHROPIC_API_KEY")),
        (None, Some(token)) => {
            (Some(Credential::BearerToken(secret(token))), Some("ANTHROPIC_AUTH_TOKEN"))
        }
        (None, None) => (None, None),
    };
    Endpoint {
        name: ANTHROPIC.into(),
        kind: ProviderKind::Anthropic,
        model: None,
        source: ENVIRONMENT.into(),
        key_source: key_source.map(Into::into),
        base_url: environment.text("ANTHROPIC_BASE_URL").map(Into::into),
        credential,
    }
}

fn openai(environment: &Environment) -> Endpoint {
    let key = environment.text("OPENAI_API_KEY");
    Endpoint {
        name: OPENAI.into(),
        kind: ProviderKind::OpenAi,
        model: None,
        source: ENVIRONMENT.into(),
        key_source: key.map(|_| "OPENAI_API_KEY".into()),
        base_url: environment.text("OPENAI_BASE_URL").map(Into::into),
        credential: key.map(|key| Credential::Key(secret(key))),
    }
}

fn from_table(
    name: &str,
    table: ProviderTable,
    environment: &Environment,
    file: &str,
) -> Result<Endpoint, Sentence> {
    let wrong = |text: Text| Err(text.with(&[("name", &name)]));
    if RESERVED.contains(&name) || name.is_empty() || name.contains(['/', ':']) {
        return wrong(Text::ProviderName);
    }
    let built_in = match name {
        ANTHROPIC => Some(ProviderKind::Anthropic),
        OPENAI => Some(ProviderKind::OpenAi),
        _ => None,
    };
    let Some(kind) = table.kind.or(built_in) else {
        return wrong(Text::ProviderKind);
    };
    if table.base_url.is_none() && built_in != Some(kind) {
        return wrong(Text::ProviderAddress);
    }
    let (key, key_source) = match (&table.key, &table.key_env) {
        (Some(_), Some(_)) => return wrong(Text::ProviderTwoKeys),
        (Some(key), None) => (Some(key.as_str()), Some(file.to_owned())),
        (None, Some(variable)) => (environment.text(variable), Some(variable.clone())),
        (None, None) => (None, None),
    };
    Ok(Endpoint {
        name: name.to_owned(),
        kind,
        model: table.model,
        source: file.to_owned(),
        key_source: key_source.filter(|_| key.is_some()),
        base_url: table.base_url,
        credential: key.map(|key| Credential::Key(secret(key))),
    })
}

fn secret(key: &str) -> Secret {
    // Keys are often pasted with a line end.
    Secret::new(key.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints_of(variables: &[(&str, &str)], tables: &str) -> BTreeMap<String, Endpoint> {
        let tables: BTreeMap<String, ProviderTable> = toml::from_str(tables).unwrap();
        endpoints(&Environment::of(variables), tables, "config.toml").unwrap()
    }

    fn key_of(endpoint: &Endpoint) -> Option<&str> {
        match endpoint.credential()? {
            Credential::Key(key) | Credential::BearerToken(key) => Some(key.expose()),
        }
    }

    #[test]
    fn the_environment_gives_key_and_address_of_the_built_in_ones() {
        let variables =
            [("ANTHROPIC_API_KEY", "sk-ant\n"), ("OPENAI_BASE_URL", "http://localhost:11434")];
        let endpoints = endpoints_of(&variables, "");
        let (anthropic, openai) = (&endpoints[ANTHROPIC], &endpoints[OPENAI]);
        assert_eq!((anthropic.base_url(), key_of(anthropic)), (None, Some("sk-ant")));
        assert_eq!((openai.base_url(), key_of(openai)), (Some("http://localhost:11434"), None));
        assert!(anthropic.is_configured() && openai.is_configured());
        assert!(endpoints_of(&[], "").values().all(|endpoint| !endpoint.is_configured()));
    }

    #[test]
    fn a_key_of_the_environment_is_never_sent_to_an_address_of_the_file() {
        let variables = [("OPENAI_API_KEY", "sk-env"), ("OPENAI_BASE_URL", "http://env")];
        let endpoints = endpoints_of(&variables, "[openai]\nbase_url = 'https://file'");
        assert_eq!(endpoints[OPENAI].base_url(), Some("https://file"));
        assert_eq!(key_of(&endpoints[OPENAI]), None);
        let endpoints = endpoints_of(&variables, "[openai]\nkey = 'sk-file'");
        assert_eq!(endpoints[OPENAI].base_url(), None);
        assert_eq!(key_of(&endpoints[OPENAI]), Some("sk-file"));
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        let check = |address: &str, shown: &str| {
            let endpoint = Endpoint::on_loopback("x", address);
            assert_eq!(endpoint.shown_address().as_deref(), Some(shown));
        };
        check("https://name:word@host:8080/v1/a@b", "https://host:8080/v1/a@b");
        check("name@host", "host");
        check("http://localhost:11434/v1", "http://localhost:11434/v1");
    }

    #[test]
    fn a_table_is_a_provider_of_its_own() {
        let table = "[deep]\nkind = 'openai'\nbase_url = 'https://deep'\nkey_env = 'DEEP_KEY'";
        let deep = &endpoints_of(&[("DEEP_KEY", "k")], table)["deep"];
        assert_eq!((deep.base_url(), key_of(deep)), (Some("https://deep"), Some("k")));
        assert_eq!(deep.key_source.as_deref(), Some("DEEP_KEY"));
        assert_eq!(endpoints_of(&[], table)["deep"].key_source, None);
    }

    #[test]
    fn a_table_that_says_too_little_or_too_much_is_refused() {
        let cases = [
            ("[local]\nkind = 'openai'\nbase_url = 'x'", "this name"),
            ("['a/b']\nkind = 'openai'\nbase_url = 'x'", "this name"),
            ("[x]\nbase_url = 'x'", "kind"),
            ("[x]\nkind = 'openai'", "base_url"),
            ("[openai]\nkey = 'a'\nkey_env = 'b'", "both"),
        ];
        for (text, expected) in cases {
            let tables = toml::from_str(text).unwrap();
            let error = endpoints(&Environment::of(&[]), tables, "f").unwrap_err();
            let error = error.say(Language::English);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
