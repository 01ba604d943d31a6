//! The built-in model as a [`Provider`]: a thread of its own that loads, reads and writes.
//!
//! The thread keeps the engine and its state between requests, so a request costs only what is
//! new in the conversation. System text and tools of the request are not used: the model has its
//! own words for both.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use futures::{StreamExt, stream};
use tenon_model::{
    Abilities, EventStream, Provider, ProviderError, ProviderErrorKind, Request, StreamEvent,
};
use tokio::sync::mpsc as channel;

use crate::{
    EngineError,
    session::{Events, Session},
};

/// Tokens of conversation and reply that are worth waiting for on a processor.
const CONTEXT_TOKENS: u32 = 8_192;
/// A longer reply would take minutes.
const OUTPUT_TOKENS_MAX: u32 = 2_048;

/// What the built-in model needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalOptions {
    /// How the model is shown and logged: `local/NAME`.
    pub name: String,
    /// The weights: a GGUF file of the Qwen2 family.
    pub model_file: PathBuf,
    /// Where the state of the static prefix is saved.
    pub cache_folder: PathBuf,
    /// How many threads compute; as many as there are physical cores, at most 8, if not given.
    pub threads: Option<usize>,
    /// How many tokens request and reply may have together.
    pub context_tokens: u32,
    /// The folder that the model works in. Results name files in it by their path from there: what
    /// stands before says nothing to a small model, and changes what it answers.
    pub workspace: Option<PathBuf>,
}

impl LocalOptions {
    /// Returns the options for `model_file`, with everything else as it suits most.
    pub fn new(model_file: PathBuf, cache_folder: PathBuf) -> Self {
        let name = model_file.file_stem().map_or("model".into(), |stem| stem.to_string_lossy());
        Self {
            name: format!("local/{name}"),
            model_file,
            cache_folder,
            threads: None,
            context_tokens: CONTEXT_TOKENS,
            workspace: None,
        }
    }
}

/// The built-in model. Nothing is loaded before the first request.
#[derive(Debug)]
pub struct LocalProvider {
    options: LocalOptions,
    abilities: Abilities,
    thread: Mutex<Option<mpsc::Sender<Job>>>,
}

#[derive(Debug)]
struct Job {
    request: Request,
    events: Events,
}

impl LocalProvider {
    /// Returns the provider; the model file is first looked at when it is needed.
    pub fn new(options: LocalOptions) -> Self {
        let abilities = Abilities {
            context_window_tokens: options.context_tokens,
            output_tokens_max: OUTPUT_TOKENS_MAX,
            sees_images: Some(false),
            wants_attached_context: true,
            wants_forgiving_tools: true,
            price: None,
        };
        Self { options, abilities, thread: Mutex::new(None) }
    }

    fn send(&self, job: Job) -> Result<(), ProviderError> {
        let mut sender = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let job = match &*sender {
            Some(running) => match running.send(job) {
                Ok(()) => return Ok(()),
                // The thread is gone; a new one starts from the file.
                Err(mpsc::SendError(job)) => job,
            },
            None => job,
        };
        let (jobs, inbox) = mpsc::channel();
        let options = self.options.clone();
        let started = thread::Builder::new()
            .name("tenon-local".into())
            .spawn(move || serve(&options, &inbox));
        started.map_err(|error| {
            let text = format!("the built-in model's thread cannot be started: {error}");
            ProviderError::new(ProviderErrorKind::Local, text)
        })?;
        jobs.send(job).map_err(|_| stopped())?;
        *sender = Some(jobs);
        Ok(())
    }
}

impl Provider for LocalProvider {
    fn model(&self) -> &str {
        &self.options.name
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn stream(&self, request: Request) -> EventStream<'_> {
        let (events, inbox) = channel::unbounded_channel();
        if let Err(error) = self.send(Job { request, events }) {
            return stream::iter([Err(error)]).boxed();
        }
        stream::unfold(Some(inbox), |inbox| async move {
            let mut inbox = inbox?;
            match inbox.recv().await {
                Some(event) => {
                    let last = matches!(event, Ok(StreamEvent::Stopped { .. }) | Err(_));
                    Some((event, (!last).then_some(inbox)))
                }
                None => Some((Err(stopped()), None)),
            }
        })
        .boxed()
    }
}

/// Makes the saved state of the static prefix where there is none. Loads the model and reads the
/// prefix, which takes seconds: `progress` hears how many of how many tokens are read.
pub fn prepare(
    options: &LocalOptions,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(), EngineError> {
    Session::load(options)?.prepare_prefix(&mut |done, all| {
        progress(done, all);
        true
    })
}

fn serve(options: &LocalOptions, inbox: &mpsc::Receiver<Job>) {
    let mut session = None;
    while let Ok(Job { request, events }) = inbox.recv() {
        if let Err(error) = answer(&mut session, options, &request, &events) {
            // Nobody listens any more if this fails, and nothing is lost by it.
            drop(events.send(Err(provider_error(&error))));
        }
    }
}

fn answer(
    session: &mut Option<Session>,
    options: &LocalOptions,
    request: &Request,
    events: &Events,
) -> Result<(), EngineError> {
    let session = match session {
        Some(session) => session,
        None => {
            let text = "Loading the built-in model".into();
            drop(events.send(Ok(StreamEvent::Progress { text })));
            session.insert(Session::load(options)?)
        }
    };
    session.answer(request, events)
}

fn provider_error(error: &EngineError) -> ProviderError {
    let kind = match error {
        EngineError::ContextFull { .. } => ProviderErrorKind::ContextTooLong,
        _ => ProviderErrorKind::Local,
    };
    ProviderError::new(kind, error.to_string())
}

fn stopped() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Local, "the built-in model stopped unexpectedly")
}
