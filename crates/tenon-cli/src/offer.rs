//! What to do when no model is configured: look at what this machine has, and ask.
//!
//! Without a terminal nobody can be asked: then the built-in model is used if it is there, and
//! otherwise nothing is sent or fetched.

use std::io::{self, BufRead, IsTerminal, Write};

use tenon_model::{HttpClient, LOOPBACK_CANDIDATES, LoopbackServer, loopback_servers, visible};

use crate::{
    config::{Config, Endpoint},
    error::CliError,
    model_choice::{Choice, Chosen},
    pull::{self, ModelFile, State},
};

/// Models of one server that are offered: more do not help to choose.
const MODELS_MAX: usize = 5;

/// One model to choose.
struct Offer {
    label: String,
    /// What asks for the same on the command line, with the environment it needs.
    flag: String,
    choice: Choice,
}

/// Returns the model that a person chose among what this machine has.
pub(crate) async fn choose(config: &Config) -> Result<Chosen, CliError> {
    let model = pull::built_in();
    let state = model.state(&config.folders.models());
    let runs_models = cfg!(feature = "local");
    if !is_terminal() && runs_models && state == State::Whole {
        return Ok(Chosen {
            choice: Choice::BuiltIn,
            because: "it is the only model here".into(),
            asked_for: false,
        });
    }
    let http = HttpClient::new(config.network.http_options(Some("http://localhost"))?);
    let servers = loopback_servers(&http, &LOOPBACK_CANDIDATES).await;
    let mut offers: Vec<Offer> = servers.iter().flat_map(of_server).collect();
    if !is_terminal() {
        return Err(nothing_chosen(&offers));
    }
    if runs_models {
        offers.push(of_built_in(&model, state));
    }
    let Some(offer) = ask(offers)? else { return Err(nothing_chosen(&[])) };
    Ok(Chosen { choice: offer.choice, because: "your choice".into(), asked_for: true })
}

/// Asks whether `model` may be fetched; nobody there means no.
pub(crate) fn download(model: &ModelFile) -> Result<bool, CliError> {
    if !is_terminal() {
        return Ok(false);
    }
    let size = model.bytes() / 1_000_000;
    say(&format!("Fetch {} ({size} MB)? [y/N] ", model.name));
    Ok(matches!(read_line()?.as_str(), "y" | "Y" | "yes"))
}

fn of_server(server: &LoopbackServer) -> Vec<Offer> {
    let base_url = &server.base_url;
    let offers = server.models.iter().take(MODELS_MAX).map(|model| Offer {
        label: format!("{} on {} ({base_url})", visible(model), server.name),
        flag: format!("OPENAI_BASE_URL={base_url} tenon --model openai/{}", visible(model)),
        choice: Choice::Remote {
            endpoint: Endpoint::on_loopback(&server.name, base_url),
            model: Some(model.clone()),
        },
    });
    offers.collect()
}

fn of_built_in(model: &ModelFile, state: State) -> Offer {
    let here = match state {
        State::Whole => "here already".to_owned(),
        State::Absent => format!("{} MB to fetch", model.bytes() / 1_000_000),
        State::Partial(bytes) => {
            format!("{} MB left to fetch", model.bytes().saturating_sub(bytes) / 1_000_000)
        }
    };
    Offer {
        label: format!("the built-in model, small and without any key ({here})"),
        flag: "tenon --model local".into(),
        choice: Choice::BuiltIn,
    }
}

fn ask(mut offers: Vec<Offer>) -> Result<Option<Offer>, CliError> {
    if offers.is_empty() {
        return Ok(None);
    }
    let mut text = String::from("No model is configured. This machine has:\n");
    for (number, offer) in offers.iter().enumerate() {
        text.push_str(&format!("  {}  {}\n", number + 1, offer.label));
    }
    say(&format!("{text}Which one? [number, Enter for none] "));
    let number: usize = read_line()?.parse().unwrap_or_default();
    Ok((1..=offers.len()).contains(&number).then(|| offers.swap_remove(number - 1)))
}

fn nothing_chosen(offers: &[Offer]) -> CliError {
    let error = CliError::config("no model is configured");
    let error = offers.iter().fold(error, |error, offer| {
        error.with_hint(format!("running here: {}: {}", offer.label, offer.flag))
    });
    let error = error
        .with_hint("set ANTHROPIC_API_KEY or OPENAI_API_KEY, and choose with --model PROVIDER/NAME")
        .with_hint("any compatible server: OPENAI_BASE_URL=http://HOST tenon --model openai/NAME");
    if !cfg!(feature = "local") {
        return error;
    }
    error
        .with_hint("no key at all: --model local runs a small built-in model (fetches 1.1 GB once)")
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn say(text: &str) {
    let mut out = io::stderr().lock();
    // The question shows in the answer that does not come.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn read_line() -> Result<String, CliError> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| CliError::failed("cannot read the answer").with_source(error))?;
    Ok(line.trim().to_owned())
}
