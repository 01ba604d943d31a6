//! The serialised conversation: bytes of messages that were sent stay as they are, and only what
//! is new is written.
//!
//! Messages are known by pointer. A conversation that shares only its first messages with the last
//! one (a rewind, another session) is written anew from where it differs.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use serde::Serialize;

use crate::{message::Message, provider::Request};

/// The most characters of a tool's name; servers refuse a request with a longer one in it.
const NAME_CHARACTERS_MAX: usize = 64;

/// How a dialect writes a request.
pub(crate) trait Wire {
    /// What is remembered about the bytes up to and with a message.
    type Note: Clone + Default;

    /// Writes all that stands before the messages.
    fn head(&self, request: &Request, out: &mut Vec<u8>);

    /// Appends `message` to the bytes of those before it; `before` is the note of the last one.
    fn message(&self, message: &Message, before: &Self::Note, out: &mut Vec<u8>) -> Self::Note;

    /// Joins head, messages and what stands behind them to a body.
    fn join(&self, parts: &Parts<'_, Self::Note>, request: &Request) -> Vec<u8>;
}

/// What a body is joined from.
pub(crate) struct Parts<'a, N> {
    pub(crate) head: &'a [u8],
    pub(crate) messages: &'a [u8],
    /// A note for each message, oldest first.
    pub(crate) notes: &'a [N],
}

/// The bytes sent so far, of one wire.
pub(crate) struct BodyCache<N> {
    state: Mutex<Cached<N>>,
}

#[derive(Default)]
struct Cached<N> {
    head: Option<Head>,
    messages: Vec<Arc<Message>>,
    ends: Vec<usize>,
    notes: Vec<N>,
    bytes: Vec<u8>,
    written: u64,
}

struct Head {
    system: Arc<str>,
    tools: Arc<[crate::ToolSpec]>,
    bytes: Vec<u8>,
}

impl<N: Clone + Default> BodyCache<N> {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(Cached::default()) }
    }

    /// Returns the body of `request`.
    pub(crate) fn body(&self, wire: &impl Wire<Note = N>, request: &Request) -> Bytes {
        let mut cached = self.lock();
        cached.bring_to(wire, request);
        let parts = Parts {
            head: cached.head.as_ref().map_or(&[], |head| &head.bytes),
            messages: &cached.bytes,
            notes: &cached.notes,
        };
        Bytes::from(wire.join(&parts, request))
    }

    /// Returns how many messages were serialised since the provider was made.
    pub(crate) fn messages_written(&self) -> u64 {
        self.lock().written
    }

    fn lock(&self) -> MutexGuard<'_, Cached<N>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<N: Clone + Default> Cached<N> {
    fn bring_to(&mut self, wire: &impl Wire<Note = N>, request: &Request) {
        let head_holds = self.head.as_ref().is_some_and(|head| {
            Arc::ptr_eq(&head.system, &request.system) && Arc::ptr_eq(&head.tools, &request.tools)
        });
        if !head_holds {
            let mut bytes = Vec::new();
            wire.head(request, &mut bytes);
            let (system, tools) = (Arc::clone(&request.system), Arc::clone(&request.tools));
            self.head = Some(Head { system, tools, bytes });
        }
        let same = self.messages.iter().zip(&request.conversation);
        let shared = same.take_while(|(known, wanted)| Arc::ptr_eq(known, wanted)).count();
        self.messages.truncate(shared);
        self.notes.truncate(shared);
        self.ends.truncate(shared);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        for message in request.conversation.iter().skip(shared) {
            let before = self.notes.last().cloned().unwrap_or_default();
            let note = wire.message(message, &before, &mut self.bytes);
            self.messages.push(Arc::clone(message));
            self.notes.push(note);
            self.ends.push(self.bytes.len());
            self.written += 1;
        }
    }
}

/// Appends `value` as compact JSON.
pub(crate) fn put(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Strings, numbers and JSON values cannot fail to serialise into memory.
    let written = serde_json::to_writer(&mut *out, value);
    debug_assert!(written.is_ok(), "{written:?}");
}

/// Appends a string as it is.
pub(crate) fn put_raw(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
}

/// Returns a name or id as servers accept it in what is sent back: letters, digits, `_` and `-`,
/// at most 64 of them. A model can invent a name that its own server refuses to hear again.
pub(crate) fn accepted(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= NAME_CHARACTERS_MAX && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let mended: String =
        name.chars().take(NAME_CHARACTERS_MAX).map(|c| if fits(c) { c } else { '_' }).collect();
    Cow::Owned(if mended.is_empty() { "unknown".to_owned() } else { mended })
}
