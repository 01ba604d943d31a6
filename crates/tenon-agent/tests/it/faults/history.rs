//! What a request says happened so far, and whether a server would take it.

use serde_json::Value;

use super::Dialect;

/// One thing that happened, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    Said(String),
    Replied(String),
    /// Id and the argument `name`.
    Called(String, String),
    Answered(String),
}

/// Reads a request's messages; fails with what a strict server would refuse.
pub(super) fn read(dialect: Dialect, request: &Value) -> Result<Vec<Event>, String> {
    let messages = request["messages"].as_array().ok_or("no messages")?;
    let events = match dialect {
        Dialect::Anthropic => anthropic(messages)?,
        Dialect::OpenAi => openai(messages)?,
    };
    check_calls(&events)?;
    Ok(events)
}

fn anthropic(messages: &[Value]) -> Result<Vec<Event>, String> {
    let mut events = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let expected = if index % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            return Err(format!("message {index} is not of the {expected}"));
        }
        let blocks = message["content"].as_array().ok_or("content is no list")?;
        if blocks.is_empty() {
            return Err(format!("message {index} is empty"));
        }
        let mut text_came = false;
        for block in blocks {
            let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
            let kind = text("type");
            match (expected, kind.as_str()) {
                ("user", "tool_result") if text_came => {
                    return Err(format!("message {index}: a result behind text"));
                }
                ("user", "tool_result") => events.push(Event::Answered(text("tool_use_id"))),
                ("assistant", "tool_use") => {
                    events.push(Event::Called(text("id"), name_in(&block["input"])));
                }
                (_, "text") if text("text").trim().is_empty() => {
                    return Err(format!("message {index}: empty text"));
                }
                ("user", "text") => {
                    text_came = true;
                    events.push(Event::Said(text("text")));
                }
                ("assistant", "text") => events.push(Event::Replied(text("text"))),
                (role, kind) => return Err(format!("message {index}: {kind} of the {role}")),
            }
        }
    }
    if messages.len().is_multiple_of(2) {
        return Err("the last message is not the user's".into());
    }
    Ok(events)
}

fn openai(messages: &[Value]) -> Result<Vec<Event>, String> {
    let mut events = Vec::new();
    let mut before = "";
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let fits = matches!(
            (before, role),
            ("", "system")
                | ("system" | "tool", "user")
                | ("user" | "tool", "assistant")
                | ("assistant", "user" | "tool")
                | ("tool", "tool")
        );
        if !fits {
            return Err(format!("message {index}: {role} behind {before}"));
        }
        before = role;
        let content = message["content"].as_str().unwrap_or_default().to_owned();
        match role {
            "user" => events.push(Event::Said(content)),
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                events.push(Event::Answered(id.to_owned()));
            }
            "assistant" => {
                if !content.is_empty() {
                    events.push(Event::Replied(content));
                }
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let id = call["id"].as_str().unwrap_or_default().to_owned();
                    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                    let arguments = serde_json::from_str(arguments).unwrap_or_default();
                    events.push(Event::Called(id, name_in(&arguments)));
                }
            }
            _ => {}
        }
    }
    match before {
        "assistant" => Err("the last message is the assistant's".into()),
        _ => Ok(events),
    }
}

fn name_in(arguments: &Value) -> String {
    arguments["name"].as_str().unwrap_or_default().to_owned()
}

/// Every call has one result, before anything else is said.
fn check_calls(events: &[Event]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    for event in events {
        match event {
            Event::Called(id, _) if known.contains(&id.as_str()) => {
                return Err(format!("the call {id} comes twice"));
            }
            Event::Called(id, _) => {
                open.push(id);
                known.push(id);
            }
            Event::Answered(id) => {
                let place = open.iter().position(|open| open == id);
                open.remove(place.ok_or_else(|| format!("a result without its call {id}"))?);
            }
            Event::Said(_) | Event::Replied(_) if !open.is_empty() => {
                return Err(format!("no result for {open:?}"));
            }
            Event::Said(_) | Event::Replied(_) => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("no result for {open:?}")) }
}
