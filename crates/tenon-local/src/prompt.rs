//! What the model is told: its own system text, six examples, and the conversation in its words.
//!
//! The first two never change and are the static prefix, whose state is saved. Examples teach
//! more than rules do; they name things by letters, because the model copies what it sees.

use std::{collections::HashMap, ops::RangeInclusive};

use serde_json::Value;
use tenon_model::{ContentBlock, Conversation, Message, Role, ToolCall, ToolResult};

use crate::{EngineError, tags::Block, tokenizer::Tokenizer};

/// A tool result longer than this is cut: reading costs about 10 ms a token.
const RESULT_BYTES_MAX: usize = 2_400;
/// How much of that is kept from the start; the rest comes from the end.
const RESULT_HEAD_BYTES: usize = 1_600;

/// One message as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) speaker: Speaker,
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    System,
    User,
    Model,
}

/// What a message is, for the guards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// System text, a prompt, a hint.
    Text,
    /// What the model did.
    Block(Block),
    /// What came of it.
    Result { failed: bool },
}

const SYSTEM: &str = include_str!("../prompt/system.txt");
const EXAMPLES: &str = include_str!("../prompt/examples.txt");

/// Returns the lines that stand before every conversation.
pub(crate) fn static_prefix() -> Vec<Line> {
    let mut lines = vec![Line::text(Speaker::System, SYSTEM.trim_end())];
    for part in EXAMPLES.split("\n=== ").map(|part| part.trim_start_matches("=== ")) {
        let (speaker, text) = part.split_once('\n').unwrap_or((part, ""));
        let speaker = if speaker == "model" { Speaker::Model } else { Speaker::User };
        lines.push(Line::text(speaker, text.trim_end()));
    }
    lines
}

/// Returns the tokens of `lines`.
pub(crate) fn tokens(lines: &[Line], tokenizer: &Tokenizer) -> Result<Vec<u32>, EngineError> {
    let (start, end) = (tokenizer.special("<|im_start|>")?, tokenizer.special("<|im_end|>")?);
    let mut tokens = Vec::new();
    for line in lines {
        tokens.push(start);
        tokens.extend(tokenizer.encode(&format!("{}\n{}", line.speaker.name(), line.text)));
        tokens.push(end);
        tokens.extend(tokenizer.encode("\n"));
    }
    Ok(tokens)
}

/// Returns the tokens after which the model speaks.
pub(crate) fn cue(tokenizer: &Tokenizer) -> Result<Vec<u32>, EngineError> {
    let mut tokens = vec![tokenizer.special("<|im_start|>")?];
    tokens.extend(tokenizer.encode("assistant\n"));
    Ok(tokens)
}

/// Translates a conversation: each call is a block, each result a short message after it.
pub(crate) fn lines(conversation: &Conversation) -> Vec<Line> {
    let results: HashMap<&str, &ToolResult> = conversation
        .iter()
        .flat_map(|message| &message.content)
        .filter_map(|block| match block {
            ContentBlock::ToolResult(result) => Some((result.call_id.as_str(), result)),
            _ => None,
        })
        .collect();
    let mut lines = Vec::new();
    for message in conversation {
        let text = message.text();
        match message.role {
            Role::User if !text.trim().is_empty() => {
                let text = format!("{}{}", text.trim(), language_hint(message));
                lines.push(Line::text(Speaker::User, &text));
            }
            Role::User => {}
            Role::Assistant => {
                if message.tool_calls().next().is_none() && !text.trim().is_empty() {
                    lines.push(Line::block(Block::Answer { text: text.trim().to_owned() }));
                }
                for call in message.tool_calls() {
                    lines.push(Line::block(block_of(call)));
                    if let Some(result) = results.get(call.id.as_str()) {
                        lines.push(result_line(&call.name, result));
                    }
                }
            }
        }
    }
    lines
}

/// Small models slip into the language of the last example. Only Chinese is asked for: where
/// nothing is asked, they answer in the prompt's own.
fn language_hint(message: &Message) -> &'static str {
    let prompt = message.content.iter().rev().find_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let prompt = prompt.unwrap_or_default();
    let any = |range: RangeInclusive<char>| prompt.chars().any(|letter| range.contains(&letter));
    let (han, kana) = (any('\u{4e00}'..='\u{9fff}'), any('\u{3040}'..='\u{30ff}'));
    if han && !kana { "(用中文回答)" } else { "" }
}

/// Returns the tool and its arguments that `block` asks for; nothing for an answer.
pub(crate) fn call_of(block: &Block) -> Option<(&'static str, Value)> {
    Some(match block {
        Block::Bash { command } => ("bash", serde_json::json!({ "command": command })),
        Block::ReadFile { path } => ("read_file", serde_json::json!({ "path": path })),
        Block::WriteFile { path, content } => {
            ("write_file", serde_json::json!({ "path": path, "content": content }))
        }
        Block::EditFile { path, old, new } => {
            ("edit_file", serde_json::json!({ "path": path, "old_text": old, "new_text": new }))
        }
        Block::Grep { pattern, path } if path.is_empty() => {
            ("grep", serde_json::json!({ "pattern": pattern }))
        }
        Block::Grep { pattern, path } => {
            ("grep", serde_json::json!({ "pattern": pattern, "path": path }))
        }
        Block::Glob { pattern } => ("glob", serde_json::json!({ "pattern": pattern })),
        Block::Answer { .. } => return None,
    })
}

/// A call of a tool that this model has not, made by another model earlier, becomes an answer
/// that names it: the model must not learn blocks that it cannot write.
fn block_of(call: &ToolCall) -> Block {
    let text = |name: &str| {
        call.arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    match call.name.as_str() {
        "bash" => Block::Bash { command: text("command") },
        "read_file" => Block::ReadFile { path: text("path") },
        "write_file" => Block::WriteFile { path: text("path"), content: text("content") },
        "edit_file" => {
            Block::EditFile { path: text("path"), old: text("old_text"), new: text("new_text") }
        }
        "grep" => Block::Grep { pattern: text("pattern"), path: text("path") },
        "glob" => Block::Glob { pattern: text("pattern") },
        other => Block::Answer { text: format!("({other})") },
    }
}

fn result_line(tool: &str, result: &ToolResult) -> Line {
    let numbered = tool == "read_file" && !result.is_error;
    let content = if numbered { without_numbers(&result.content) } else { result.content.clone() };
    let content = shortened(content.trim_end());
    let failed = result.is_error || has_exit_code(&result.content);
    let text = match (failed, content.is_empty()) {
        (_, true) => "Result: (nothing)".to_owned(),
        (false, false) => format!("Result:\n{content}"),
        (true, false) => format!("Error:\n{content}"),
    };
    Line { speaker: Speaker::User, text, kind: Kind::Result { failed } }
}

fn has_exit_code(content: &str) -> bool {
    content.lines().rev().take(3).chain(content.lines().take(1)).any(|line| {
        let after = line.to_ascii_lowercase();
        after
            .split_once("exit code")
            .map(|(_, rest)| rest.trim_start_matches([':', ' ']))
            .is_some_and(|rest| rest.starts_with(|first| matches!(first, '1'..='9')))
    })
}

/// Takes line numbers away where every line has one: the model would copy them into `<old>`.
fn without_numbers(content: &str) -> String {
    let stripped = |line: &str| -> Option<String> {
        let line = line.trim_start_matches(' ');
        let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
        if rest.len() == line.len() {
            return None;
        }
        let text = rest.strip_prefix('\t').or_else(|| rest.strip_prefix(": "));
        text.or((rest == ":").then_some("")).map(str::to_owned)
    };
    let lines: Option<Vec<String>> = content.lines().map(stripped).collect();
    lines.map_or_else(|| content.to_owned(), |lines| lines.join("\n"))
}

fn shortened(content: &str) -> String {
    if content.len() <= RESULT_BYTES_MAX {
        return content.to_owned();
    }
    let head = content.floor_char_boundary(RESULT_HEAD_BYTES);
    let tail = content.ceil_char_boundary(content.len() - (RESULT_BYTES_MAX - RESULT_HEAD_BYTES));
    let (head, _) = content.split_at(head);
    let (middle, tail) = content.split_at(tail);
    let left_out = middle.len() - head.len();
    format!("{head}\n[{left_out} bytes left out]\n{tail}")
}

impl Speaker {
    fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Model => "assistant",
        }
    }
}

impl Line {
    /// Returns a line of plain text.
    pub(crate) fn text(speaker: Speaker, text: &str) -> Self {
        Self { speaker, text: text.to_owned(), kind: Kind::Text }
    }

    /// Returns what the model did.
    pub(crate) fn block(block: Block) -> Self {
        Self { speaker: Speaker::Model, text: block.print(), kind: Kind::Block(block) }
    }
}
