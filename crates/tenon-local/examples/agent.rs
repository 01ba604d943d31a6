//! The smallest agent around the built-in model, to tune its recipe and to run `evals/local`
//! without the rest of the program: `agent -p --model local --output-format json PROMPT`.
//!
//! Its tools are the simplest that can work and have no walls: only for folders made for it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own")]
#![expect(clippy::disallowed_methods, reason = "a program of its own, without walls")]

use std::{
    collections::BTreeMap, error::Error, fmt::Write as _, fs, path::Path, process::Command,
    sync::Arc, time::Instant,
};

use futures::{StreamExt, executor::block_on};
use serde_json::Value;
use tenon_local::{LocalOptions, LocalProvider};
use tenon_model::{
    ContentBlock, Message, Provider, Request, Role, StreamEvent, ToolCall, ToolResult, Usage,
};

const STEPS_MAX: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let prompt = std::env::args().next_back().unwrap_or_default();
    let model = std::env::var("TENON_MODEL_FILE")?;
    let cache = std::env::var("XDG_CACHE_HOME").unwrap_or_else(|_| "/tmp/tenon-local".into());
    let provider = LocalProvider::new(LocalOptions::new(model.into(), cache.into()));
    let start = Instant::now();
    let attached = attached(&prompt);
    let blocks = [attached, prompt].map(|text| ContentBlock::Text { text });
    let mut conversation = vec![Arc::new(Message { role: Role::User, content: blocks.into() })];
    let (mut usage, mut steps, mut answer) = (Usage::default(), 0, String::new());
    while steps < STEPS_MAX {
        steps += 1;
        let request = Request {
            system: "".into(),
            tools: [].into(),
            conversation: conversation.clone(),
            output_tokens_max: 1_024,
        };
        let message = block_on(reply(&provider, request, &mut usage))?;
        answer = message.text();
        let calls: Vec<ToolCall> = message.tool_calls().cloned().collect();
        conversation.push(Arc::new(message));
        if calls.is_empty() {
            break;
        }
        let results = calls.into_iter().map(|call| {
            let (content, is_error) = match run(&call) {
                Ok(content) => (content, false),
                Err(content) => (content, true),
            };
            eprintln!("  -> {}{content}", if is_error { "ERROR " } else { "" });
            let (call_id, images) = (call.id, Vec::new());
            ContentBlock::ToolResult(ToolResult { call_id, content, is_error, images })
        });
        conversation.push(Arc::new(Message { role: Role::User, content: results.collect() }));
    }
    let seconds = start.elapsed().as_secs_f64();
    let value = serde_json::json!({
        "result": answer, "steps": steps, "seconds": seconds, "usage": usage
    });
    println!("{value}");
    Ok(())
}

async fn reply(
    provider: &LocalProvider,
    request: Request,
    usage: &mut Usage,
) -> Result<Message, Box<dyn Error>> {
    let (mut text, mut call, mut arguments) = (String::new(), None, String::new());
    let mut stream = provider.stream(request);
    while let Some(event) = stream.next().await {
        match event? {
            StreamEvent::TextDelta { text: more } => text.push_str(&more),
            StreamEvent::ToolCallStarted { id, name, .. } => call = Some((id, name)),
            StreamEvent::ToolCallDelta { arguments: more, .. } => arguments.push_str(&more),
            StreamEvent::Usage(used) => *usage += used,
            StreamEvent::Progress { text } => eprintln!("  .. {text}"),
            _ => {}
        }
    }
    let mut content = Vec::new();
    if !text.is_empty() {
        eprintln!("  {text}");
        content.push(ContentBlock::Text { text });
    }
    if let Some((id, name)) = call {
        eprintln!("  {name} {arguments}");
        let arguments = serde_json::from_str(&arguments)?;
        content.push(ContentBlock::ToolCall(ToolCall { id, name, arguments, fault: None }));
    }
    Ok(Message { role: Role::Assistant, content })
}

fn run(call: &ToolCall) -> Result<String, String> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let path = text("path");
    let read = || fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    match call.name.as_str() {
        "read_file" => read(),
        "write_file" => {
            if let Some(folder) = Path::new(path).parent() {
                fs::create_dir_all(folder).map_err(|error| error.to_string())?;
            }
            fs::write(path, text("content")).map_err(|error| error.to_string())?;
            Ok(format!("Wrote {path}."))
        }
        "edit_file" => edit(path, &read()?, text("old_text"), text("new_text")),
        "grep" => shell(&format!("grep -rnE -e '{}' {}", text("pattern"), or_here(path))),
        "glob" => shell(&format!("find . -name '{}' | sort", text("pattern").replace("**/", ""))),
        _ => shell(text("command")),
    }
}

fn or_here(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

fn edit(path: &str, content: &str, old: &str, new: &str) -> Result<String, String> {
    let count = content.matches(old).count();
    if count == 0 {
        return Err(format!("<old> does not stand in {path}. The file is:\n{content}"));
    }
    if count > 1 && old.contains('\n') {
        return Err(format!("<old> stands {count} times in {path}; give more lines."));
    }
    fs::write(path, content.replace(old, new)).map_err(|error| error.to_string())?;
    let mut result = format!("Edited {path}");
    if count > 1 {
        result.push_str(&format!(" ({count} places)"));
    }
    result.push_str(".\n");
    for line in old.lines().filter(|line| !new.lines().any(|other| other == *line)) {
        result.push_str(&format!("- {line}\n"));
    }
    for line in new.lines().filter(|line| !old.lines().any(|other| other == *line)) {
        result.push_str(&format!("+ {line}\n"));
    }
    Ok(result)
}

fn shell(command: &str) -> Result<String, String> {
    let output = Command::new("bash").args(["-c", command]).output();
    let output = output.map_err(|error| error.to_string())?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    if text.trim().is_empty() {
        text = "(no output)".into();
    }
    match output.status.code() {
        Some(0) => Ok(text),
        code => Ok(format!("{}\nexit code {}", text.trim_end(), code.unwrap_or(-1))),
    }
}

/// The same text that tenon puts in front of a prompt for models that want it.
fn attached(prompt: &str) -> String {
    let mut files = BTreeMap::new();
    collect(Path::new("."), &mut files);
    let mut names: Vec<&str> = files.keys().map(String::as_str).take(40).collect();
    if names.is_empty() {
        names.push("none");
    }
    let mut text = format!("Files: {}", names.join(", "));
    let mut shown = Vec::new();
    for (name, content) in &files {
        let last = name.rsplit('/').next().unwrap_or(name);
        if prompt.contains(last) && content.len() < 2_000 {
            shown.push(name);
            let _ = write!(text, "\n\nContent of {name}:\n```\n{}\n```", content.trim_end());
        }
    }
    let words =
        prompt.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    let marked = |word: &&str| {
        word.len() > 2
            && (word.contains('_')
                || word.chars().skip(1).any(|character| character.is_ascii_uppercase())
                || prompt.contains(&format!("{word}("))
                || prompt.contains(&format!("`{word}`")))
    };
    for word in words.filter(marked).take(4) {
        let mut places = Vec::new();
        let mut holders = Vec::new();
        for (name, content) in &files {
            let hits = content.lines().enumerate().filter(|(_, line)| line.contains(word));
            let before = places.len();
            places.extend(hits.map(|(at, _)| format!("{name}:{}", at + 1)).take(8));
            if places.len() > before {
                holders.push(name);
            }
        }
        if places.is_empty() {
            continue;
        }
        let _ = write!(text, "\n\n\"{word}\" stands in: {}", places.join(", "));
        if let [holder] = holders[..]
            && !shown.contains(&holder)
        {
            shown.push(holder);
            let content = files.get(holder).map_or("", |content| content.trim_end());
            let _ = write!(text, "\n\nContent of {holder}:\n```\n{content}\n```");
        }
    }
    text
}

fn collect(folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            collect(&path, files);
        } else if let Ok(content) = fs::read_to_string(&path) {
            let name = path.strip_prefix(".").unwrap_or(&path).display().to_string();
            files.insert(name, content);
        }
    }
}
