//! The fold: stream events in, one whole message out. The only place where partial becomes whole.
//!
//! Pure. It decides what a call's arguments are, that ids are unique, and which calls were cut
//! off; it never decides whether a call runs.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::{Map, Value};

use crate::{
    message::{CALLS_MAX, ContentBlock, Message, Role, Thinking, ToolCall, ToolCallFault},
    provider::{StopReason, StreamEvent, Usage},
};

/// How much of arguments that are not JSON is kept for the model to see: enough to find the
/// mistake, and a bound on what a broken model can write into the log twice.
const RAW_CHARACTERS_MAX: usize = 2_000;

/// How deep arguments may be nested. Readers of JSON stop at 128, and what holds a message, a log
/// or a request, nests it some levels deeper.
const DEPTH_MAX: usize = 100;

/// Collects the events of one reply.
#[derive(Debug, Default)]
pub struct Fold {
    parts: Vec<Part>,
    /// Where the calls stand among the parts, by their index in the stream.
    calls: HashMap<usize, usize>,
    usage: Usage,
    retried: Usage,
    stop_reason: Option<StopReason>,
}

/// One whole reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The assistant's message; its blocks stand in the order of their first event.
    pub message: Message,
    /// Why the reply ended; `None` if its stream ended before it said so.
    pub stop_reason: Option<StopReason>,
    /// Tokens of this request.
    pub usage: Usage,
    /// Tokens of attempts that broke off before it, as far as the provider told them: they were paid for.
    pub retried: Usage,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Thinking(Thinking),
    Call {
        id: String,
        name: String,
        arguments: String,
        ended: bool,
    },
    /// The first call beyond those that are taken.
    Beyond {
        id: String,
        name: String,
    },
}

impl Part {
    fn call_id(&self) -> Option<&str> {
        match self {
            Self::Call { id, .. } | Self::Beyond { id, .. } => Some(id),
            _ => None,
        }
    }
}

impl Fold {
    /// Takes the next event.
    pub fn push(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Progress { .. } => {}
            StreamEvent::Retrying { .. } => {
                let mut retried = self.retried;
                retried += self.usage;
                *self = Self { retried, ..Self::default() };
            }
            StreamEvent::TextDelta { text } => match self.parts.last_mut() {
                Some(Part::Text(whole)) => whole.push_str(&text),
                _ => self.parts.push(Part::Text(text)),
            },
            StreamEvent::ThinkingDelta { text } => {
                self.change_thinking(|block| block.text.push_str(&text));
            }
            StreamEvent::ThinkingSignature { signature } => {
                self.change_thinking(|block| block.signature = Some(signature));
            }
            StreamEvent::RedactedThinking { data } => {
                let block = Thinking { redacted: Some(data), ..Thinking::default() };
                self.parts.push(Part::Thinking(block));
            }
            StreamEvent::ToolCallStarted { index, id, name } => {
                if self.calls.contains_key(&index) || self.calls.len() > CALLS_MAX {
                    return;
                }
                let is_beyond = self.calls.len() == CALLS_MAX;
                self.calls.insert(index, self.parts.len());
                self.parts.push(match is_beyond {
                    true => Part::Beyond { id, name },
                    false => Part::Call { id, name, arguments: String::new(), ended: false },
                });
            }
            StreamEvent::ToolCallDelta { index, arguments: more } => {
                if let Some(Part::Call { arguments, .. }) = self.call(index) {
                    arguments.push_str(&more);
                }
            }
            StreamEvent::ToolCallEnded { index } => {
                if let Some(Part::Call { ended, .. }) = self.call(index) {
                    *ended = true;
                }
            }
            StreamEvent::Usage(usage) => self.usage = usage,
            StreamEvent::Stopped { reason } => self.stop_reason = Some(reason),
        }
    }

    /// Returns the reply, its calls' ids made unique among themselves and against `earlier`, the
    /// conversation that the request held. May be called before the stream's end: what is there
    /// becomes whole, calls without an end are [`ToolCallFault::CutOff`]. Of calls beyond [`CALLS_MAX`] the
    /// first is [`ToolCallFault::TooMany`], and there are no others.
    pub fn finish(self, earlier: &[Arc<Message>]) -> Reply {
        let new: HashSet<&str> = self.parts.iter().filter_map(Part::call_id).map(base_of).collect();
        // Only these can be in the way of a new id or of what is made of it; a long conversation
        // has thousands of others.
        let is_near = |id: &str| {
            new.contains(id) || id.rsplit_once('_').is_some_and(|(base, _)| new.contains(base))
        };
        let calls =
            earlier.iter().filter(|_| !new.is_empty()).flat_map(|message| message.tool_calls());
        let taken = calls.filter(|call| is_near(&call.id)).map(|call| call.id.clone()).collect();
        let mut ids = Ids { taken, numbers: HashMap::new() };
        let content = self.parts.into_iter().filter_map(|part| whole(part, &mut ids)).collect();
        Reply {
            message: Message { role: Role::Assistant, content },
            stop_reason: self.stop_reason,
            usage: self.usage,
            retried: self.retried,
        }
    }

    /// Changes the open thinking block: the last part, unless a signature or opaque data closed it.
    fn change_thinking(&mut self, change: impl FnOnce(&mut Thinking)) {
        match self.parts.last_mut() {
            Some(Part::Thinking(block))
                if block.signature.is_none() && block.redacted.is_none() =>
            {
                change(block);
            }
            _ => {
                let mut block = Thinking::default();
                change(&mut block);
                self.parts.push(Part::Thinking(block));
            }
        }
    }

    fn call(&mut self, wanted: usize) -> Option<&mut Part> {
        self.parts.get_mut(*self.calls.get(&wanted)?)
    }
}

fn whole(part: Part, ids: &mut Ids) -> Option<ContentBlock> {
    match part {
        Part::Text(text) => (!text.is_empty()).then_some(ContentBlock::Text { text }),
        Part::Thinking(block) => {
            (block != Thinking::default()).then_some(ContentBlock::Thinking(block))
        }
        Part::Call { id, name, arguments, ended, .. } => {
            let (arguments, fault) = if ended {
                read_arguments(&arguments)
            } else {
                (Value::Object(Map::new()), Some(ToolCallFault::CutOff))
            };
            let id = ids.unique(&id);
            Some(ContentBlock::ToolCall(ToolCall { id, name, arguments, fault }))
        }
        Part::Beyond { id, name } => {
            let (arguments, fault) = (Value::Object(Map::new()), Some(ToolCallFault::TooMany));
            let id = ids.unique(&id);
            Some(ContentBlock::ToolCall(ToolCall { id, name, arguments, fault }))
        }
    }
}

fn base_of(id: &str) -> &str {
    if id.trim().is_empty() { "call" } else { id }
}

/// The ids of calls that cannot be given to another one.
struct Ids {
    taken: HashSet<String>,
    /// The last number that was tried for an id, so that many of the same are not tried anew each.
    numbers: HashMap<String, usize>,
}

impl Ids {
    /// Returns `id`, or the first of `id_2`, `id_3` … that is free; an empty id counts as `call`.
    fn unique(&mut self, id: &str) -> String {
        let base = base_of(id);
        if self.taken.insert(base.to_owned()) {
            return base.to_owned();
        }
        let number = self.numbers.entry(base.to_owned()).or_insert(1);
        loop {
            *number += 1;
            let candidate = format!("{base}_{number}");
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// Reads a call's argument text: nothing and `null` are no arguments, an object is itself, a
/// string that holds an object (some servers encode twice) is that object; all else is malformed.
pub fn read_arguments(text: &str) -> (Value, Option<ToolCallFault>) {
    let mut parsed = parse(text);
    if let Ok(Value::String(inner)) = &parsed {
        parsed = parse(inner);
    }
    let error = match parsed {
        Ok(object @ Value::Object(_)) if depth(&object) <= DEPTH_MAX => return (object, None),
        Ok(Value::Object(_)) => format!("nested more than {DEPTH_MAX} levels deep"),
        Ok(other) => format!("expected a JSON object, got {}", kind(&other)),
        Err(error) => error.to_string(),
    };
    let raw = text.chars().take(RAW_CHARACTERS_MAX).collect();
    (Value::Object(Map::new()), Some(ToolCallFault::Malformed { raw, error }))
}

fn parse(text: &str) -> serde_json::Result<Value> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(text).map(|value: Value| match value {
        Value::Null => Value::Object(Map::new()),
        value => value,
    })
}

/// Returns how many levels of lists and objects there are; at most those that were parsed.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> StreamEvent {
        StreamEvent::TextDelta { text: text.into() }
    }
    fn thinking(text: &str) -> StreamEvent {
        StreamEvent::ThinkingDelta { text: text.into() }
    }
    fn signature(signature: &str) -> StreamEvent {
        StreamEvent::ThinkingSignature { signature: signature.into() }
    }
    fn call(index: usize, id: &str, arguments: &[&str]) -> Vec<StreamEvent> {
        let start = StreamEvent::ToolCallStarted { index, id: id.into(), name: "bash".into() };
        let deltas = arguments
            .iter()
            .map(|part| StreamEvent::ToolCallDelta { index, arguments: (*part).into() });
        std::iter::once(start).chain(deltas).collect()
    }
    fn ended(index: usize, id: &str, arguments: &[&str]) -> Vec<StreamEvent> {
        let mut events = call(index, id, arguments);
        events.push(StreamEvent::ToolCallEnded { index });
        events
    }
    fn folded(events: Vec<StreamEvent>) -> Reply {
        let mut fold = Fold::default();
        events.into_iter().for_each(|event| fold.push(event));
        fold.finish(&[])
    }
    fn check(events: Vec<StreamEvent>, expected: Value) {
        let content = serde_json::to_value(folded(events).message.content).unwrap();
        assert_eq!(content, expected);
    }

    #[test]
    fn deltas_join_and_blocks_keep_their_order() {
        let mut events =
            vec![thinking("let "), thinking("me"), signature("s1"), text("I "), text("look")];
        events.extend(call(0, "a", &["{\"x\""]));
        events.extend(call(1, "b", &["{}"]));
        events.push(StreamEvent::ToolCallDelta { index: 0, arguments: ":1}".into() });
        events.push(StreamEvent::ToolCallEnded { index: 0 });
        events.push(StreamEvent::ToolCallEnded { index: 1 });
        events.push(text("after"));
        check(
            events,
            json!([
                {"type": "thinking", "text": "let me", "signature": "s1"},
                {"type": "text", "text": "I look"},
                {"type": "tool_call", "id": "a", "name": "bash", "arguments": {"x": 1}},
                {"type": "tool_call", "id": "b", "name": "bash", "arguments": {}},
                {"type": "text", "text": "after"},
            ]),
        );
    }

    #[test]
    fn thinking_blocks_stay_apart_after_a_signature_and_may_have_no_text() {
        let redacted = StreamEvent::RedactedThinking { data: "opaque".into() };
        check(
            vec![thinking("a"), signature("1"), thinking("b"), redacted, signature("2")],
            json!([
                {"type": "thinking", "text": "a", "signature": "1"},
                {"type": "thinking", "text": "b"},
                {"type": "thinking", "redacted": "opaque"},
                {"type": "thinking", "signature": "2"},
            ]),
        );
    }

    #[test]
    fn arguments_are_read_in_every_shape_that_servers_send() {
        let good = [
            ("", json!({})),
            (" \n", json!({})),
            ("null", json!({})),
            ("{}", json!({})),
            (r#"{"a":"b"}"#, json!({"a": "b"})),
            (r#""{\"a\":\"b\"}""#, json!({"a": "b"})),
            (r#""""#, json!({})),
        ];
        for (raw, expected) in good {
            assert_eq!(read_arguments(raw), (expected, None), "{raw}");
        }
        for (raw, part) in [
            ("{\"a\":", "EOF"),
            ("[1]", "expected a JSON object, got an array"),
            ("7", "got a number"),
            (r#""ls -l""#, "expected value"),
            ("{} {}", "trailing"),
        ] {
            let (value, fault) = read_arguments(raw);
            assert_eq!(value, json!({}));
            let Some(ToolCallFault::Malformed { raw: kept, error }) = fault else {
                panic!("{raw} is not malformed")
            };
            assert!(kept == raw && error.contains(part), "{raw}: {error}");
        }
        let long = "汉".repeat(5_000);
        let (_, fault) = read_arguments(&long);
        assert!(
            matches!(fault, Some(ToolCallFault::Malformed { raw, .. }) if raw.chars().count() == 2_000)
        );
    }

    #[test]
    fn a_call_without_an_end_is_cut_off_even_if_its_json_is_whole() {
        let mut events = ended(0, "a", &["{}"]);
        events.extend(call(1, "b", &["{}"]));
        let reply = folded(events);
        let faults: Vec<_> = reply.message.tool_calls().map(|call| call.fault.clone()).collect();
        assert_eq!(faults, [None, Some(ToolCallFault::CutOff)]);
    }

    #[test]
    fn ids_are_unique_in_the_reply_and_against_the_conversation() {
        let mut fold = Fold::default();
        let events = [ended(0, "a", &[]), ended(1, "a", &[]), ended(2, "", &[]), ended(3, "", &[])];
        events.into_iter().flatten().for_each(|event| fold.push(event));
        let earlier = Arc::new(folded(ended(0, "a", &[])).message);
        let reply = fold.finish(&[earlier]);
        let ids: Vec<_> = reply.message.tool_calls().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a_2", "a_3", "call", "call_2"]);
    }

    #[test]
    fn of_calls_beyond_the_bound_the_first_says_so_and_is_the_last() {
        let events = (0..100_000).flat_map(|index| ended(index, "a", &["{\"x\":1}"]));
        let mut events: Vec<_> = events.collect();
        events.push(text("after"));
        let reply = folded(events);
        let calls: Vec<_> = reply.message.tool_calls().collect();
        assert_eq!(calls.len(), CALLS_MAX + 1);
        let (last, taken) = calls.split_last().unwrap();
        assert!(taken.iter().all(|call| call.fault.is_none() && call.arguments["x"] == 1));
        assert_eq!((last.id.as_str(), &last.fault), ("a_1001", &Some(ToolCallFault::TooMany)));
        assert_eq!(last.arguments, json!({}));
        assert_eq!(reply.message.text(), "after");
    }

    #[test]
    fn a_number_is_tried_once_for_an_id_however_often_it_comes() {
        let taken = ["a", "a_3", "a_3_2"].map(str::to_owned).into();
        let mut ids = Ids { taken, numbers: HashMap::new() };
        let given = ["a", "a", "a_3", "a_3", "a", "b"].map(|id| ids.unique(id));
        assert_eq!(given, ["a_2", "a_4", "a_3_3", "a_3_4", "a_5", "b"]);
        for _ in 0..1_000 {
            ids.unique("a");
        }
        assert_eq!(ids.numbers["a"], 1_005);
    }

    #[test]
    fn retrying_voids_what_came_before_but_not_what_it_used() {
        let usage = Usage { input: 1, ..Usage::default() };
        let mut events = vec![StreamEvent::Usage(usage)];
        events.extend(call(0, "a", &["{"]));
        events.push(StreamEvent::Retrying { attempt: 2, wait_ms: 0, reason: "lost".into() });
        events.extend([text("hi"), StreamEvent::Stopped { reason: StopReason::EndOfTurn }]);
        let reply = folded(events);
        assert_eq!(reply.message.content, [ContentBlock::Text { text: "hi".into() }]);
        assert_eq!(
            (reply.stop_reason, reply.usage, reply.retried),
            (Some(StopReason::EndOfTurn), Usage::default(), usage)
        );
    }

    #[test]
    fn arguments_that_a_log_could_not_hold_are_a_fault() {
        let nested =
            |levels: usize| format!("{{\"a\":{}1{}}}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(read_arguments(&nested(DEPTH_MAX - 1)).1, None);
        let fault = read_arguments(&nested(DEPTH_MAX)).1;
        assert!(
            matches!(fault, Some(ToolCallFault::Malformed { error, .. }) if error.contains("100"))
        );
    }
}
