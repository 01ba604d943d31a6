//! A session as a document for people: Markdown, or one HTML file that needs nothing else.
//!
//! Made from events alone, in which secrets are masked already. What a model, a file or a
//! command said is never markup of the page.

mod contained;
mod html;
mod markdown;
mod prose;

use clap::ValueEnum;
use tenon_agent::{
    CallChanges, CallEvent, ContextEvent, ModelEvent, Record, SessionEvent, SessionNote, TurnEvent,
    View,
};
use tenon_model::{ContentBlock, Message, ToolCall, visible};

use crate::{
    render,
    screen::{Look, Sink},
    texts::{Language, Text},
};

/// What a session is written as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    // For editors, issues and reviews.
    #[default]
    Markdown,
    // For browsers, folded and in colour.
    Html,
}

/// A piece of the document, in the order of the session.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    /// What the person said, and what was read for it, a line each.
    Prompt { text: String, attached: Vec<String> },
    /// What the model thought.
    Thinking(String),
    /// What the model said, in Markdown.
    Prose(String),
    /// A call with its result.
    Call(Box<Call>),
    /// Something that happened besides, in a line or two.
    Note(String),
}

/// A call with its result.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    id: String,
    name: String,
    subject: String,
    /// What it was called with, without the main argument where that says it all.
    arguments: String,
    /// `None` if there is no answer.
    result: Option<String>,
    is_error: bool,
    /// The file that was changed, and the changed lines.
    diff: Option<(String, String)>,
    /// What else changed, in a line.
    changes: String,
}

/// What stands at the top.
#[derive(Debug, Clone, Default, PartialEq)]
struct Heading {
    session: String,
    model: String,
    folder: String,
    /// Milliseconds since 1970 in UTC.
    started_ms: u64,
}

/// Returns the document of a session: the events of a branch, in order.
pub(crate) fn export<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    format: Format,
    language: Language,
) -> String {
    let (heading, parts) = parts(records, language);
    match format {
        Format::Markdown => markdown::document(&heading, &parts, language),
        Format::Html => html::document(&heading, &parts, language),
    }
}

fn parts<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    language: Language,
) -> (Heading, Vec<Part>) {
    let mut heading = Heading::default();
    let mut parts: Vec<Part> = Vec::new();
    for record in records {
        match &record.event {
            SessionEvent::Session(SessionNote::SessionStarted {
                session,
                workspace,
                model,
                ..
            }) => {
                heading = Heading {
                    session: safe(session),
                    model: safe(model),
                    folder: workspace
                        .first()
                        .map_or_else(String::new, |folder| safe(&folder.to_string_lossy())),
                    started_ms: record.time_ms,
                };
            }
            SessionEvent::Turn(TurnEvent::UserMessage { prompt, attached, .. }) => {
                let attached = attached.iter().map(|line| safe(line)).collect();
                parts.push(Part::Prompt { text: safe(prompt), attached });
            }
            SessionEvent::Model(ModelEvent::AssistantMessage { message, .. }) => {
                parts.extend(said(message));
            }
            SessionEvent::Call(event) => call(event, &mut parts),
            SessionEvent::Model(ModelEvent::RequestSent { .. })
            | SessionEvent::Session(SessionNote::FilesSeen { .. }) => {}
            _ => parts.extend(note(record, language)),
        }
    }
    (heading, parts)
}

/// What the model said besides calls, in order.
fn said(message: &Message) -> Vec<Part> {
    let part = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => Some(Part::Prose(safe(text))),
        ContentBlock::Thinking(thinking) => Some(Part::Thinking(safe(&thinking.text))),
        _ => None,
    };
    let is_empty = |part: &Part| match part {
        Part::Prose(text) | Part::Thinking(text) => text.trim().is_empty(),
        _ => false,
    };
    message.content.iter().filter_map(part).filter(|part| !is_empty(part)).collect()
}

fn call(event: &CallEvent, parts: &mut Vec<Part>) {
    match event {
        CallEvent::CallStarted { call, subject } => parts.push(Part::Call(Box::new(Call {
            id: call.id.clone(),
            name: safe(&call.name),
            subject: safe(subject),
            arguments: arguments(call, subject),
            result: None,
            is_error: false,
            diff: None,
            changes: String::new(),
        }))),
        CallEvent::CallChanged(CallChanges { call_id, summary, .. }) => {
            if let Some(call) = find(parts, call_id) {
                call.changes = safe(summary);
            }
        }
        CallEvent::ToolResult { call_id, content, is_error, view, .. } => {
            if let Some(call) = find(parts, call_id).filter(|call| call.result.is_none()) {
                call.result = Some(safe(content));
                call.is_error = *is_error;
                if let View::Diff { path, diff } = view {
                    // It stands in the result, too.
                    let rest = content.trim_end().strip_suffix(diff.trim_end());
                    call.result = rest.map(|rest| safe(rest.trim_end())).or(call.result.take());
                    call.diff = Some((safe(path), safe(diff)));
                }
            }
        }
        CallEvent::CallDecided { .. }
        | CallEvent::HostRefused { .. }
        | CallEvent::HostTried { .. }
        | CallEvent::WriteRefused { .. }
        | CallEvent::WallsRefused { .. } => {}
    }
}

/// Ids may come again after a rewind: the last one is meant.
fn find<'a>(parts: &'a mut [Part], id: &str) -> Option<&'a mut Call> {
    parts.iter_mut().rev().find_map(|part| match part {
        Part::Call(call) if call.id == id => Some(&mut **call),
        _ => None,
    })
}

/// Returns what a call was called with; empty where its main argument is all there is.
fn arguments(call: &ToolCall, subject: &str) -> String {
    let fields = call.arguments.as_object().into_iter().flatten();
    let mut text = String::new();
    for (name, value) in fields {
        match value.as_str() {
            Some(value) if value == subject => {}
            Some(value) if value.contains('\n') => text.push_str(&format!("{name}:\n{value}\n")),
            Some(value) => text.push_str(&format!("{name}: {value}\n")),
            None => text.push_str(&format!("{name}: {value}\n")),
        }
    }
    safe(text.trim_end())
}

/// Returns what the screen says of an event, in plain words.
fn note(record: &Record, language: Language) -> Option<Part> {
    if let SessionEvent::Context(ContextEvent::Compacted(compaction)) = &record.event {
        let summed_up = compaction.messages.iter().map(Message::text).collect::<Vec<_>>();
        let said = render::transcript([record], &plain(language));
        return Some(Part::Note(format!("{}\n{}", said.trim(), safe(&summed_up.join("\n\n")))));
    }
    let said = render::transcript([record], &plain(language));
    let said = said.trim();
    (!said.is_empty()).then(|| Part::Note(said.to_owned()))
}

fn plain(language: Language) -> render::Style {
    let look = Look { language, plain: true, ..Look::default() };
    look.style(Sink::Output)
}

/// Returns `text` without what a terminal or a page would obey: control characters and those that
/// turn the direction of writing.
fn safe(text: &str) -> String {
    visible(text).into_owned()
}

fn title(heading: &Heading, language: Language) -> String {
    Text::Session.say(language, &[("id", &heading.session)])
}

#[cfg(test)]
mod tests;
