//! A session in one HTML file: no script, nothing fetched or linked, every text escaped; calls and
//! thoughts are folded, colours follow the reader's choice of light or dark.

use super::{
    Call, Heading, Part,
    prose::{escaped, prose},
    title,
};
use crate::{
    render::{Meaning, diff},
    texts::{Language, Text},
    which_session::timestamp,
};

/// Lines of a result up to which it is shown unfolded in its call.
const OPEN_LINES_MAX: usize = 12;

/// Nothing of it comes from elsewhere, and the policy forbids the browser to fetch or run anything,
/// should a text ever get out of its place.
const HEAD: &str = r#"<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<style>
:root { color-scheme: light dark; --text: #1b1f24; --dim: #59636e; --page: #fff; --box: #f6f8fa;
  --line: #d1d9e0; --you: #0550ae; --came: #116329; --went: #a40e26; --word: #8250df;
  --literal: #0a3069; --more: #aceebb; --less: #ffcecb; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --dim: #9198a1; --page: #0d1117;
  --box: #161b22; --line: #3d444d; --you: #79c0ff; --came: #7ee787; --went: #ff7b72;
  --word: #d2a8ff; --literal: #a5d6ff; --more: #1a4a29; --less: #67060c; } }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; color: var(--text); background: var(--page);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; color: var(--you); margin: 2rem 0 .3rem; }
h3, h4, h5, h6 { font-size: 1.05rem; margin: 1.2rem 0 .3rem; } p, ul, ol { margin: .5rem 0; }
hr { border: 0; border-top: 1px solid var(--line); }
blockquote { margin: .5rem 0; padding-left: .8rem; border-left: 3px solid var(--line); }
.table { overflow-x: auto; } table { border-collapse: collapse; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: .2rem .6rem; text-align: left; }
pre, code { font: .85rem/1.45 ui-monospace, monospace; }
pre { margin: .4rem 0; padding: .6rem; overflow-x: auto; background: var(--box);
  border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap; }
.text { white-space: pre-wrap; margin: .5rem 0; }
.prompt { border-left: 3px solid var(--you); padding-left: .8rem; }
.dim, .note { color: var(--dim); font-size: .9rem; } .note { white-space: pre-wrap; }
details { margin: .6rem 0; border: 1px solid var(--line); border-radius: 6px; padding: .3rem .7rem; }
summary { cursor: pointer; } .failed { color: var(--went); }
.came { color: var(--came); } .went { color: var(--went); } .place { color: var(--dim); }
.came .differs { background: var(--more); } .went .differs { background: var(--less); }
.number { color: var(--dim); user-select: none; }
.word { color: var(--word); } .literal { color: var(--literal); }
</style>
"#;

pub(super) fn document(heading: &Heading, parts: &[Part], language: Language) -> String {
    let code = match language {
        Language::English => "en",
        Language::Chinese => "zh-Hans",
    };
    let title = escaped(&title(heading, language));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"{code}\">\n<head>\n{HEAD}<title>{title}</title>\n</head>\n\
         <body>\n<h1>{title}</h1>\n<p class=\"dim\">{} · <code>{}</code> · {}</p>\n",
        escaped(&heading.model),
        escaped(&heading.folder),
        timestamp(heading.started_ms)
    );
    for part in parts {
        page.push_str(&match part {
            Part::Prompt { text, attached } => prompt(text, attached, language),
            Part::Thinking(thought) => {
                let word = Text::ExportThinking.template(language);
                let thought = prose(thought);
                format!("<details><summary class=\"dim\">{word}</summary>\n{thought}</details>\n")
            }
            Part::Prose(text) => prose(text),
            Part::Call(call) => folded(call, language),
            Part::Note(note) => format!("<p class=\"note\">{}</p>\n", escaped(note)),
        });
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn prompt(words: &str, attached: &[String], language: Language) -> String {
    let mut html = format!("<h2>{}</h2>\n", Text::ExportYou.template(language));
    html.push_str(&text("prompt", words));
    for line in attached {
        let read = Text::Read.template(language);
        html.push_str(&format!("<p class=\"dim\">{read} {}</p>\n", escaped(line)));
    }
    html
}

fn folded(call: &Call, language: Language) -> String {
    let lines = call.result.as_deref().unwrap_or_default().lines().count();
    let is_short = call.diff.is_some() || lines <= OPEN_LINES_MAX;
    let open = if is_short { " open" } else { "" };
    let first = call.subject.lines().next().unwrap_or_default();
    let failed = match call.is_error {
        true => format!(" <span class=\"failed\">{}</span>", Text::Failed.template(language)),
        false => String::new(),
    };
    let mut html = format!(
        "<details{open}><summary><b>{}</b> <code>{}</code>{failed}",
        escaped(&call.name),
        escaped(first)
    );
    if !call.changes.is_empty() {
        html.push_str(&format!(" <span class=\"dim\">{}</span>", escaped(&call.changes)));
    }
    html.push_str("</summary>\n");
    if call.subject.contains('\n') {
        html.push_str(&pre(&call.subject));
    }
    if !call.arguments.is_empty() && call.diff.is_none() {
        html.push_str(&pre(&call.arguments));
    }
    if let Some((path, hunks)) = &call.diff {
        html.push_str(&format!("<p class=\"dim\"><code>{}</code></p>\n", escaped(path)));
        html.push_str(&changed(hunks));
    }
    html.push_str(&match &call.result {
        None => format!("<p class=\"dim\">{}</p>\n", Text::Unanswered.template(language)),
        Some(result) if result.is_empty() => {
            format!("<p class=\"dim\">{}</p>\n", Text::NoOutput.template(language))
        }
        Some(result) => pre(result),
    });
    html + "</details>\n"
}

/// Returns hunks with the numbers of their lines and what differs within these.
fn changed(hunks: &str) -> String {
    let mut html = "<pre>".to_owned();
    for line in diff::lines(hunks) {
        let number = line.number.map_or_else(String::new, |number| number.to_string());
        html.push_str(&format!("<span class=\"number\">{number:>5} </span>"));
        let class = match line.meaning {
            Meaning::Done => "came",
            Meaning::Error => "went",
            Meaning::Hint => "place",
            _ => "same",
        };
        html.push_str(&format!("<span class=\"{class}\">{}", line.sign));
        for piece in line.pieces() {
            let text = escaped(&piece.text);
            html.push_str(&match piece.meaning {
                Meaning::Came | Meaning::Went => format!("<span class=\"differs\">{text}</span>"),
                _ => text,
            });
        }
        html.push_str("</span>\n");
    }
    html + "</pre>\n"
}

/// Returns a block of text; nothing for none.
fn text(class: &str, words: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    format!("<div class=\"text {class}\">{}</div>\n", escaped(words))
}

fn pre(text: &str) -> String {
    // A line end right behind the tag would be lost.
    format!("<pre>\n{}</pre>\n", escaped(text))
}
