//! A session in Markdown. What is quoted stands in fences that are longer than any in it.

use super::contained::{contained, fenced, longest_run};
use super::{Call, Heading, Part, title};
use crate::{
    texts::{Language, Text},
    which_session::timestamp,
};

pub(super) fn document(heading: &Heading, parts: &[Part], language: Language) -> String {
    let mut text = format!("# {}\n\n", title(heading, language));
    let started = timestamp(heading.started_ms);
    text.push_str(&format!("{} · {} · {started}\n", heading.model, code(&heading.folder)));
    for part in parts {
        text.push('\n');
        match part {
            Part::Prompt { text: prompt, attached } => {
                text.push_str(&format!("## {}\n\n", Text::ExportYou.template(language)));
                text.push_str(&quoted(prompt));
                for line in attached {
                    let read = Text::Read.template(language);
                    text.push_str(&format!("\n{read} {}\n", code(line)));
                }
            }
            Part::Thinking(thought) => {
                let word = Text::ExportThinking.template(language);
                text.push_str(&format!("*{word}*\n\n{}", quoted(thought)));
            }
            Part::Prose(prose) => text.push_str(&format!("{}\n", contained(prose).trim_end())),
            Part::Call(call) => text.push_str(&written(call, language)),
            Part::Note(note) => text.push_str(&quoted(note)),
        }
    }
    text
}

fn written(call: &Call, language: Language) -> String {
    let mut text = format!("**{}**", code(&call.name));
    match call.subject.contains('\n') {
        true => text.push_str(&format!("\n\n{}", fenced("", &call.subject))),
        false if call.subject.is_empty() => text.push('\n'),
        false => text.push_str(&format!(" {}\n", code(&call.subject))),
    }
    // The changed lines say what was written.
    if !call.arguments.is_empty() && call.diff.is_none() {
        text.push_str(&format!("\n{}", fenced("", &call.arguments)));
    }
    if let Some((path, diff)) = &call.diff {
        text.push_str(&format!("\n{}\n\n{}", code(path), fenced("diff", diff)));
    }
    let result = match &call.result {
        None => Text::Unanswered.template(language),
        Some(result) if result.is_empty() => Text::NoOutput.template(language),
        Some(result) => result,
    };
    let failed = Text::Failed.template(language);
    if call.is_error {
        text.push_str(&format!("\n{failed}:\n"));
    }
    text.push_str(&format!("\n{}", fenced("", result)));
    text
}

/// Returns `text` as a quotation.
fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {}\n", escaped(line))).collect()
}

/// Returns `text` as code in a line.
fn code(text: &str) -> String {
    let text = text.replace('\n', " ");
    let ticks = "`".repeat(longest_run(&text) + 1);
    let room = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    if text.is_empty() { String::new() } else { format!("{ticks}{room}{text}{room}{ticks}") }
}

/// Returns `text` with what would be markup taken as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if "\\`*_{}[]<>#|!&~".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
