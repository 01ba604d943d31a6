//! One request and its reply: posts, checks the status, reads the stream in whatever shape it
//! comes and hands it to the provider's [`Decoder`].
//!
//! Retries wrap this from outside; what the events mean is the decoder's business alone.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use futures::StreamExt;
use reqwest::{Url, header::HeaderMap};

use crate::{
    failure::Server,
    http::{HttpClient, HttpReply},
    provider::{EventStream, ProviderError, ProviderErrorKind, StreamEvent},
    sse::{SseEvent, SseParser},
    text::Secret,
};

/// The most bytes of a reply that comes as one JSON document instead of a stream.
const WHOLE_BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The most that a streamed reply may hold (64 MiB), of text, thinking and arguments together: a hundred
/// times what any model says at once.
const REPLY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a new block or call takes besides its text.
const BLOCK_BYTES: usize = 128;

/// How long usage and the end mark may follow the stop word. Servers exist that send neither and
/// keep the connection open.
const AFTER_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the end of the body may follow the end mark; read so that the connection can be used
/// again.
const AFTER_END_TIMEOUT: Duration = Duration::from_millis(250);

/// What a provider makes of its server's events.
pub(crate) trait Decoder: Send {
    /// Takes one event and appends what it means to `out`.
    fn event(&mut self, event: &SseEvent, out: &mut Events) -> Result<(), ProviderError>;

    /// Takes a reply that came as one JSON document.
    fn whole(&mut self, body: &[u8], out: &mut Events) -> Result<(), ProviderError>;

    /// Returns how far the reply is.
    fn stage(&self) -> Stage;

    /// Takes the end of the stream and appends what was held back, [`StreamEvent::Stopped`] last.
    /// Fails if the reply is not whole.
    fn finish(&mut self, out: &mut Events) -> Result<(), ProviderError>;
}

/// Events on their way out.
pub(crate) type Events = VecDeque<StreamEvent>;

/// Whether there is anything but figures in `events`.
pub(crate) fn has_content(events: &Events) -> bool {
    events.iter().any(|event| !matches!(event, StreamEvent::Usage(_)))
}

/// How far a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// More is to come.
    Open,
    /// The stop word came; usage may follow.
    Stopped,
    /// The end mark came; nothing follows.
    Ended,
}

/// What is sent, and to whom. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Exchange<'a> {
    pub(crate) http: &'a HttpClient,
    pub(crate) server: &'a Server,
    pub(crate) url: &'a Url,
    pub(crate) key: Option<&'a Secret>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl<'a> Exchange<'a> {
    /// Makes one attempt.
    pub(crate) fn attempt<D: Decoder + 'a>(self, decoder: D) -> EventStream<'a> {
        let reading = Reading {
            exchange: self,
            reply: None,
            decoder,
            body: Body::Unknown,
            events: Events::new(),
            held: 0,
            end: None,
        };
        futures::stream::unfold(reading, |mut reading| async move {
            let event = reading.next().await?;
            Some((event, reading))
        })
        .boxed()
    }

    /// Sends the request; returns the reply if its status is a good one.
    async fn open(&self) -> Result<HttpReply, ProviderError> {
        let Exchange { http, server, url, headers, body, .. } = self;
        let mut reply = http.post(url, headers.clone(), body.clone()).await?;
        let status = reply.status;
        if status.is_success() {
            return Ok(reply);
        }
        if status.is_redirection() {
            let to = reply.headers.get("location").and_then(|to| to.to_str().ok()).unwrap_or("?");
            let host = &server.host;
            return Err(crate::http::configuration(format!("{host} redirects to {to}"))
                .with_hint("set the base URL to the new address; a key is not sent along"));
        }
        let retry_after = reply.retry_after();
        let mut error = server.refused(status.as_u16(), &reply.error_body().await);
        error.retry_after = retry_after;
        Err(error)
    }
}

struct Reading<'a, D> {
    exchange: Exchange<'a>,
    reply: Option<HttpReply>,
    decoder: D,
    body: Body,
    events: Events,
    /// What the stream gave so far, in bytes.
    held: usize,
    /// Set when nothing more is read; holds the error to report behind the events.
    end: Option<Result<(), ProviderError>>,
}

/// What shape the reply's body has; its first byte tells.
enum Body {
    Unknown,
    Stream(SseParser),
    Whole(Vec<u8>),
}

impl<D: Decoder> Reading<'_, D> {
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            if let Some(end) = &mut self.end {
                let error = std::mem::replace(end, Ok(())).err()?;
                return Some(Err(self.without_key(error)));
            }
            match self.step().await {
                Ok(true) => {}
                Ok(false) => self.end = Some(self.decoder.finish(&mut self.events)),
                Err(error) => self.end = Some(Err(error)),
            }
        }
    }

    /// Reads on; returns whether there is more to read.
    async fn step(&mut self) -> Result<bool, ProviderError> {
        let stage = self.decoder.stage();
        let Some(reply) = &mut self.reply else {
            self.reply = Some(self.exchange.open().await?);
            return Ok(true);
        };
        let chunk = match stage {
            Stage::Open => reply.chunk().await?,
            // The reply is whole: a connection that stalls or breaks now takes nothing away.
            Stage::Stopped => reply.chunk_within(AFTER_STOP_TIMEOUT).await.unwrap_or(None),
            Stage::Ended => reply.chunk_within(AFTER_END_TIMEOUT).await.unwrap_or(None),
        };
        match chunk {
            Some(bytes) => self.take(&bytes).map(|()| true),
            None => self.take_end().map(|()| false),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        if let Body::Unknown = self.body {
            let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) else {
                return Ok(());
            };
            self.body = match first {
                b'{' | b'[' | b'<' => Body::Whole(Vec::new()),
                _ => Body::Stream(SseParser::default()),
            };
        }
        let server = self.exchange.server;
        match &mut self.body {
            Body::Unknown => {}
            Body::Whole(whole) => {
                if whole.len() + bytes.len() > WHOLE_BODY_BYTES_MAX {
                    return Err(server.too_large("a reply larger than 32 MiB"));
                }
                whole.extend_from_slice(bytes);
            }
            Body::Stream(parser) => {
                let mut events = Vec::new();
                let parsed = parser.push(bytes, &mut events);
                for event in &events {
                    if self.decoder.stage() != Stage::Ended {
                        let before = self.events.len();
                        self.decoder.event(event, &mut self.events)?;
                        let made = self.events.iter().skip(before).map(held);
                        // What tells nothing yet may be held back.
                        let is_silent = self.events.len() == before;
                        self.held += if is_silent { event.data.len() } else { made.sum() };
                    }
                    if self.held > REPLY_BYTES_MAX {
                        return Err(server.too_large("a reply larger than 64 MiB"));
                    }
                }
                parsed.map_err(|error| server.too_large(&error.to_string()))?;
            }
        }
        Ok(())
    }

    fn take_end(&mut self) -> Result<(), ProviderError> {
        match std::mem::replace(&mut self.body, Body::Unknown) {
            Body::Unknown => Err(self.exchange.server.said_nothing()),
            Body::Whole(whole) if whole.trim_ascii_start().starts_with(b"<") => {
                Err(self.exchange.server.not_understood("a web page instead of a reply"))
            }
            Body::Whole(whole) => self.decoder.whole(&whole, &mut self.events),
            Body::Stream(parser) => match parser.finish() {
                Some(event) if self.decoder.stage() == Stage::Open => {
                    // Without its blank line the event may be half of one.
                    let decoded = self.decoder.event(&event, &mut self.events);
                    decoded.map_err(|error| match error.kind {
                        ProviderErrorKind::Protocol | ProviderErrorKind::Dropped => {
                            self.exchange.server.ended_early()
                        }
                        _ => error,
                    })
                }
                _ => Ok(()),
            },
        }
    }

    fn without_key(&self, mut error: ProviderError) -> ProviderError {
        if let Some(key) = self.exchange.key {
            error.message = key.hidden_in(&error.message).into_owned();
        }
        error
    }
}

/// Returns how much an event adds to the reply.
fn held(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::TextDelta { text } | StreamEvent::ThinkingDelta { text } => text.len(),
        StreamEvent::ThinkingSignature { signature } => signature.len(),
        StreamEvent::RedactedThinking { data } => BLOCK_BYTES + data.len(),
        StreamEvent::ToolCallStarted { id, name, .. } => BLOCK_BYTES + id.len() + name.len(),
        StreamEvent::ToolCallDelta { arguments, .. } => arguments.len(),
        StreamEvent::ToolCallEnded { .. }
        | StreamEvent::Usage(_)
        | StreamEvent::Progress { .. }
        | StreamEvent::Retrying { .. }
        | StreamEvent::Stopped { .. } => 0,
    }
}
