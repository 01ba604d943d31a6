//! Providers made from what was chosen: the remote ones, the script, the built-in model.

use std::{path::Path, path::PathBuf, sync::Arc};

use tenon_model::{
    Abilities, AnthropicOptions, AnthropicProvider, EventStream, KeyHeader, OpenAiOptions,
    OpenAiProvider, Provider, ProviderError, Request, ScriptedProvider, Written,
};

use crate::{
    config::{Config, Credential, Endpoint, Network, ProviderKind, private_file},
    error::CliError,
    pull::{self, ModelFile, Progress},
    texts::{Sentence, Text},
};

/// The most bytes of a script: thousands of steps.
const SCRIPT_BYTES_MAX: u64 = 64 << 20;

/// A provider under the name that the user gave its endpoint.
struct Named {
    inner: Arc<dyn Provider>,
    model: String,
}

impl Provider for Named {
    fn model(&self) -> &str {
        &self.model
    }

    fn abilities(&self) -> &Abilities {
        self.inner.abilities()
    }

    fn written(&self, request: &Request) -> Option<Written> {
        self.inner.written(request)
    }

    fn stream(&self, request: Request) -> EventStream<'_> {
        self.inner.stream(request)
    }
}

/// Returns the model `model` at `endpoint`, whose key goes there and nowhere else.
pub(super) fn remote(
    endpoint: &Endpoint,
    model: &str,
    network: &Network,
) -> Result<Arc<dyn Provider>, CliError> {
    let http = network.http_options(endpoint.base_url())?;
    let base_url = endpoint.base_url().map(str::to_owned);
    let (key, key_header) = match endpoint.credential() {
        Some(Credential::Key(key)) => (Some(key.clone()), KeyHeader::ApiKey),
        Some(Credential::BearerToken(key)) => (Some(key.clone()), KeyHeader::Bearer),
        None => (None, KeyHeader::ApiKey),
    };
    let inner: Arc<dyn Provider> = match endpoint.kind {
        ProviderKind::Anthropic => Arc::new(
            AnthropicProvider::new(AnthropicOptions {
                base_url,
                key,
                key_header,
                http,
                ..AnthropicOptions::new(model)
            })
            .map_err(wrong)?,
        ),
        ProviderKind::OpenAi => Arc::new(
            OpenAiProvider::new(OpenAiOptions { base_url, key, http, ..OpenAiOptions::new(model) })
                .map_err(wrong)?,
        ),
    };
    Ok(Arc::new(Named { inner, model: format!("{}/{model}", endpoint.name) }))
}

/// Returns the script in a file.
pub(super) fn scripted(path: &Path) -> Result<Arc<dyn Provider>, CliError> {
    let bytes = private_file::read(path, SCRIPT_BYTES_MAX)?;
    let provider = ScriptedProvider::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| {
        wrong(error).with_hint(Text::HintScript.with(&[("path", &path.display())]))
    })?;
    Ok(Arc::new(provider))
}

/// Returns whether this program can run a model by itself.
pub(super) fn check_local() -> Result<(), CliError> {
    if cfg!(feature = "local") {
        return Ok(());
    }
    Err(CliError::config(Text::NoBuiltIn).with_hint(Text::HintNoBuiltIn))
}

/// Returns the model in a GGUF file, run in process.
#[cfg(feature = "local")]
pub(super) fn local(path: &Path, config: &Config) -> Result<Arc<dyn Provider>, CliError> {
    Ok(Arc::new(tenon_local::LocalProvider::new(local_options(path, config))))
}

/// Returns the error of a program that cannot run a model by itself.
#[cfg(not(feature = "local"))]
pub(super) fn local(_path: &Path, _config: &Config) -> Result<Arc<dyn Provider>, CliError> {
    check_local()?;
    Err(CliError::config(Text::NoBuiltIn))
}

/// Fetches `model` and makes what its first start would have to make.
pub(crate) async fn pull(model: &ModelFile, config: &Config) -> Result<PathBuf, CliError> {
    let mut progress = Progress::of_file(model.bytes(), config.look().language);
    let megabytes = model.bytes() / 1_000_000;
    progress.say(Text::Fetching, &[("model", &model.name), ("n", &megabytes)]);
    let path = pull::pull(model, config, &mut progress).await?;
    #[cfg(feature = "local")]
    prepare(&path, config)?;
    Ok(path)
}

#[cfg(feature = "local")]
fn prepare(path: &Path, config: &Config) -> Result<(), CliError> {
    let language = config.look().language;
    let mut reading: Option<Progress> = None;
    tenon_local::prepare(&local_options(path, config), &mut |done, all| {
        let progress = reading.get_or_insert_with(|| Progress::of_prefix(all as u64, language));
        progress.at(done as u64);
    })
    .map_err(|error| CliError::failed(Text::ModelUnusable).with_source(error))?;
    if let Some(mut progress) = reading {
        progress.finish();
    }
    Ok(())
}

#[cfg(feature = "local")]
fn local_options(path: &Path, config: &Config) -> tenon_local::LocalOptions {
    let cache = config.folders.cache.join("prefixes");
    let workspace = config.root.canonicalize().ok();
    tenon_local::LocalOptions {
        workspace,
        ..tenon_local::LocalOptions::new(path.to_path_buf(), cache)
    }
}

fn wrong(error: ProviderError) -> CliError {
    let refused = CliError::config(Sentence::of_library(&error));
    match &error.hint {
        Some(hint) => refused.with_hint(Sentence::of_library(hint)),
        None => refused,
    }
}
