//! What to do when no model is configured: look at what this machine has, and ask.
//!
//! Without a terminal nobody can be asked: then the built-in model is used if it is there, and
//! otherwise nothing is sent or fetched.

use std::{
    fmt::Display,
    io::{self, BufRead, IsTerminal, Write},
};

use tenon_model::{HttpClient, LOOPBACK_CANDIDATES, LoopbackServer, loopback_servers, visible};

use crate::{
    config::{Config, Endpoint},
    error::CliError,
    model_choice::{Choice, Chosen},
    pull::{self, ModelFile, State},
    screen::forget_typed,
    texts::{Language, Text},
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
    let language = config.look().language;
    let model = pull::built_in();
    let state = model.state(&config.folders.models());
    let runs_models = cfg!(feature = "local");
    if !is_terminal() && runs_models && state == State::Whole {
        return Ok(Chosen {
            choice: Choice::BuiltIn,
            because: Text::BecauseOnlyOne.template(language).into(),
            asked_for: false,
        });
    }
    let http = HttpClient::new(config.network.http_options(Some("http://localhost"))?);
    let servers = loopback_servers(&http, &LOOPBACK_CANDIDATES).await;
    let mut offers: Vec<Offer> =
        servers.iter().flat_map(|server| of_server(server, language)).collect();
    if !is_terminal() {
        return Err(nothing_chosen(&offers));
    }
    if runs_models {
        offers.push(of_built_in(&model, state, language));
    }
    let Some(offer) = ask(offers, language)? else { return Err(nothing_chosen(&[])) };
    Ok(Chosen {
        choice: offer.choice,
        because: Text::BecauseYourChoice.template(language).into(),
        asked_for: true,
    })
}

/// Asks whether `model` may be fetched; nobody there means no.
pub(crate) fn download(model: &ModelFile, language: Language) -> Result<bool, CliError> {
    if !is_terminal() {
        return Ok(false);
    }
    let size = model.bytes() / 1_000_000;
    say(&Text::OfferFetch.say(language, &[("model", &model.name), ("n", &size)]));
    Ok(matches!(read_line()?.as_str(), "y" | "Y" | "yes" | "是"))
}

fn of_server(server: &LoopbackServer, language: Language) -> Vec<Offer> {
    let (base_url, name) = (&server.base_url, &server.name);
    let label = |model: &str| {
        let model = visible(model);
        let values: [(&str, &dyn Display); 3] =
            [("model", &model), ("server", name), ("address", base_url)];
        Text::OfferOnServer.say(language, &values)
    };
    let offers = server.models.iter().take(MODELS_MAX).map(|model| Offer {
        label: label(model),
        flag: format!("OPENAI_BASE_URL={base_url} tenon --model openai/{}", visible(model)),
        choice: Choice::Remote {
            endpoint: Endpoint::on_loopback(&server.name, base_url),
            model: Some(model.clone()),
        },
    });
    offers.collect()
}

fn of_built_in(model: &ModelFile, state: State, language: Language) -> Offer {
    let (text, left) = match state {
        State::Whole => (Text::OfferHere, 0),
        State::Absent => (Text::OfferToFetch, model.bytes()),
        State::Partial(bytes) => (Text::OfferLeftToFetch, model.bytes().saturating_sub(bytes)),
    };
    let state = text.say(language, &[("n", &(left / 1_000_000))]);
    Offer {
        label: Text::OfferBuiltIn.say(language, &[("state", &state)]),
        flag: "tenon --model local".into(),
        choice: Choice::BuiltIn,
    }
}

fn ask(mut offers: Vec<Offer>, language: Language) -> Result<Option<Offer>, CliError> {
    if offers.is_empty() {
        return Ok(None);
    }
    let mut text = format!("{}\n", Text::OffersHead.template(language));
    for (number, offer) in offers.iter().enumerate() {
        text.push_str(&format!("  {}  {}\n", number + 1, offer.label));
    }
    say(&(text + Text::ChooseNumber.template(language)));
    let number: usize = read_line()?.parse().unwrap_or_default();
    Ok((1..=offers.len()).contains(&number).then(|| offers.swap_remove(number - 1)))
}

fn nothing_chosen(offers: &[Offer]) -> CliError {
    let error = offers.iter().fold(CliError::config(Text::NoModel), |error, offer| {
        let values: [(&str, &dyn Display); 2] = [("label", &offer.label), ("flag", &offer.flag)];
        error.with_hint(Text::HintRunningHere.with(&values))
    });
    let error = error.with_hint(Text::HintSetKey).with_hint(Text::HintAnyServer);
    if !cfg!(feature = "local") {
        return error;
    }
    error.with_hint(Text::HintLocal)
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn say(text: &str) {
    forget_typed();
    let mut out = io::stderr().lock();
    // The question shows in the answer that does not come.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn read_line() -> Result<String, CliError> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| CliError::failed(Text::AnswerUnreadable).with_source(error))?;
    Ok(line.trim().to_owned())
}
