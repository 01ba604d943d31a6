//! What the model is told: its own system text, six examples, and the conversation in its words.
//!
//! The first two never change and are the static prefix, whose state is saved. Examples teach
//! more than rules do; they name things by letters, because the model copies what it sees.

use std::{collections::HashMap, path::Path};

use serde_json::Value;
use tenon_model::{ContentBlock, Conversation, Message, Role, ToolCall, ToolResult};

use crate::{EngineError, known::Known, tags::Block, tokenizer::Tokenizer};

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
    Result {
        /// Whether the call went wrong.
        failed: bool,
        /// What it left undone, as far as that can be seen.
        overlooked: Option<String>,
    },
}

/// Asks for an answer in Chinese; stands at the end of the prompt.
pub(crate) const CHINESE_PLEASE: &str = "(用中文回答)";

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

/// Translates a conversation: each call is a block, each result a short message after it, without
/// the path of the `workspace`. Returns what it shows of the files, too.
pub(crate) fn lines(conversation: &Conversation, workspace: Option<&Path>) -> (Vec<Line>, Known) {
    let folder = workspace.map(|path| format!("{}/", path.display()));
    let results: HashMap<&str, &ToolResult> = conversation
        .iter()
        .flat_map(|message| &message.content)
        .filter_map(|block| match block {
            ContentBlock::ToolResult(result) => Some((result.call_id.as_str(), result)),
            _ => None,
        })
        .collect();
    let mut known = Known::default();
    let mut lines = Vec::new();
    for message in conversation {
        let text = message.text();
        match message.role {
            Role::User if !text.trim().is_empty() => {
                let text = format!("{}{}", text.trim(), language_hint(message));
                known.prompt(&text);
                lines.push(Line::text(Speaker::User, &text));
            }
            Role::User => {}
            Role::Assistant => {
                if message.tool_calls().next().is_none() && !text.trim().is_empty() {
                    lines.push(Line::block(Block::Answer { text: text.trim().to_owned() }));
                }
                for call in message.tool_calls() {
                    let block = block_of(call);
                    lines.push(Line::block(block.clone()));
                    if let Some(result) = results.get(call.id.as_str()) {
                        let content = match &folder {
                            Some(folder) => result.content.replace(folder, ""),
                            None => result.content.clone(),
                        };
                        lines.push(result_line(&block, content, result.is_error, &mut known));
                    }
                }
            }
        }
    }
    (lines, known)
}

/// Small models slip into the language of the last example. Only Chinese is asked for: where
/// nothing is asked, they answer in the prompt's own.
fn language_hint(message: &Message) -> &'static str {
    let prompt = message.content.iter().rev().find_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let prompt = prompt.unwrap_or_default();
    let kana = prompt.chars().any(|letter| ('\u{3040}'..='\u{30ff}').contains(&letter));
    if is_han(prompt) && !kana { CHINESE_PLEASE } else { "" }
}

/// Returns whether a Chinese character stands in `text`.
pub(crate) fn is_han(text: &str) -> bool {
    text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter))
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

fn result_line(block: &Block, content: String, is_error: bool, known: &mut Known) -> Line {
    let failed = is_error || has_exit_code(&content);
    let numbered = matches!(block, Block::ReadFile { .. }) && !failed;
    let content = if numbered { without_numbers(&content) } else { content };
    let overlooked = if failed { None } else { known.done(block, &content) };
    let content = shortened(content.trim_end());
    let mut text = match (failed, content.is_empty()) {
        (_, true) => "Result: (nothing)".to_owned(),
        (false, false) => format!("Result:\n{content}"),
        (true, false) => format!("Error:\n{content}"),
    };
    if let Some(overlooked) = &overlooked {
        text = format!("{text}\n{overlooked}");
    }
    Line { speaker: Speaker::User, text, kind: Kind::Result { failed, overlooked } }
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
    let unit = if left_out == 1 { "byte" } else { "bytes" };
    format!("{head}\n[{left_out} {unit} left out]\n{tail}")
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn result_text(tool: &str, arguments: Value, content: &str, is_error: bool) -> String {
        let call = ToolCall { id: "1".into(), name: tool.into(), arguments, fault: None };
        let result = ToolResult {
            call_id: "1".into(),
            content: content.into(),
            is_error,
            images: Vec::new(),
        };
        let conversation = [
            Message::user("Do it"),
            Message { role: Role::Assistant, content: vec![ContentBlock::ToolCall(call)] },
            Message { role: Role::User, content: vec![ContentBlock::ToolResult(result)] },
        ];
        let (lines, _) =
            lines(&conversation.map(Arc::new).to_vec(), Some(Path::new("/home/u/work")));
        assert_eq!(lines.len(), 3, "{lines:?}");
        lines[2].text.clone()
    }

    #[test]
    fn results_are_short_messages() {
        let bash = |content: &str| result_text("bash", json!({"command": "x"}), content, false);
        assert_eq!(bash("a\n"), "Result:\na");
        assert_eq!(bash(""), "Result: (nothing)");
        assert_eq!(bash("no\n[exit code 2]"), "Error:\nno\n[exit code 2]");
        assert_eq!(bash("no\nexit code: 0"), "Result:\nno\nexit code: 0");
        assert_eq!(bash("/home/u/work/a.py:3: /home/u/b"), "Result:\na.py:3: /home/u/b");
        let long = bash(&"é".repeat(4_000));
        assert!(long.contains("bytes left out]") && long.len() < RESULT_BYTES_MAX + 50);
    }

    #[test]
    fn line_numbers_are_taken_from_what_was_read() {
        let read = |content: &str| result_text("read_file", json!({"path": "a"}), content, false);
        assert_eq!(read("     1\tfn a() {\n     2\t    b\n     3\t"), "Result:\nfn a() {\n    b");
        assert_eq!(read("1: a\n2:   b"), "Result:\na\n  b");
        assert_eq!(read("1: a\nb"), "Result:\n1: a\nb");
    }

    #[test]
    fn only_chinese_prompts_ask_for_chinese() {
        let check = |prompt: &str, hint: &str| {
            assert_eq!(language_hint(&Message::user(prompt)), hint, "{prompt}");
        };
        check("把 a 改成 b", "(用中文回答)");
        check("Read a.txt", "");
        check("a.txt を読んでください", "");
    }

    #[test]
    fn calls_survive_translation_to_blocks_and_back() {
        for (name, arguments) in [
            ("bash", json!({"command": "ls"})),
            ("read_file", json!({"path": "a"})),
            ("write_file", json!({"path": "a", "content": "b\n"})),
            ("edit_file", json!({"path": "a", "old_text": "b", "new_text": "c"})),
            ("grep", json!({"pattern": "a"})),
            ("grep", json!({"pattern": "a", "path": "b"})),
            ("glob", json!({"pattern": "*"})),
        ] {
            let call = ToolCall { id: "1".into(), name: name.into(), arguments, fault: None };
            let (name, arguments) = call_of(&block_of(&call)).unwrap();
            assert_eq!((name, arguments), (call.name.as_str(), call.arguments.clone()));
        }
    }

    #[test]
    fn the_examples_are_blocks_that_the_grammar_allows() {
        use crate::{Allowed, Grammar, parse};
        let prefix = static_prefix();
        assert_eq!(prefix[0].speaker, Speaker::System);
        assert!(prefix.iter().filter(|line| line.speaker == Speaker::Model).count() >= 12);
        for line in prefix.iter().filter(|line| line.speaker == Speaker::Model) {
            let end = Grammar::new(Allowed::All).after(line.text.as_bytes());
            assert!(end.is_some_and(|grammar| grammar.is_done()), "{}", line.text);
            assert_eq!(parse(&line.text).unwrap().print(), line.text);
        }
    }
}
