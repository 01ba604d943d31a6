use tenon_agent::Record;

use super::{Format, export};
use crate::texts::Language;

const NASTY: &str = "</pre><script>alert(1)</script>\"'&amp; ``` ```` 汉字 👨‍👩‍👧 \u{1b}[31m\u{202e}";

/// A session in which everybody says what would be markup.
fn session() -> Vec<Record> {
    let nasty = serde_json::to_string(NASTY).unwrap();
    let lines = [
        r#"{"time_ms":1767225600000,"type":"session_started","version":1,"session":"20260101-a","workspace":["/w/NASTY"],"model":"x/NASTY","tenon":"0.1.0"}"#,
        r#"{"time_ms":2,"type":"user_message","prompt":NASTY,"message":{"role":"user","content":[]},"attached":[NASTY]}"#,
        r#"{"time_ms":2,"type":"request_sent","system":"a","tools":"b","messages":1,"hash":"c"}"#,
        r#"{"time_ms":3,"type":"assistant_message","stop":"tool_calls","usage":{},"duration_ms":1,"message":{"role":"assistant","content":[{"type":"thinking","text":NASTY},{"type":"text","text":NASTY},{"type":"text","text":"See:\n\n```html\n<b>\n```\n\nDone."}]}}"#,
        r#"{"time_ms":4,"type":"call_started","call":{"id":"1","name":NASTY,"arguments":{"command":NASTY,"why":NASTY}},"subject":NASTY}"#,
        r#"{"time_ms":5,"type":"call_changed","call_id":"1","summary":NASTY,"files":[]}"#,
        r#"{"time_ms":5,"type":"tool_result","call_id":"1","content":NASTY,"is_error":true,"view":{"shape":"diff","path":NASTY,"diff":NASTY},"duration_ms":1}"#,
        r#"{"time_ms":6,"type":"call_started","call":{"id":"2","name":"bash","arguments":{"command":"ls"}},"subject":"ls"}"#,
        r#"{"time_ms":7,"type":"notice","text":NASTY}"#,
        r#"{"time_ms":8,"type":"turn_ended","reason":"finished","answer":NASTY,"usage":{"input":900,"output":12},"steps":1,"duration_ms":4100}"#,
    ];
    let fill = |line: &str| {
        line.replace("\"/w/NASTY\"", &nasty).replace("\"x/NASTY\"", &nasty).replace("NASTY", &nasty)
    };
    lines.iter().map(|line| serde_json::from_str(&fill(line)).unwrap()).collect()
}

/// Checks that `html` is tags of our own, each closed, and text; returns the text.
fn text_of(html: &str) -> String {
    const VOID: [&str; 4] = ["meta", "!DOCTYPE", "hr", "br"];
    const KNOWN: [&str; 31] = [
        "html",
        "head",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "pre",
        "code",
        "div",
        "span",
        "details",
        "summary",
        "b",
        "i",
        "s",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "th",
        "td",
        "blockquote",
        "meta",
        "!DOCTYPE",
        "hr",
        "br",
    ];
    let (mut open, mut text, mut rest) = (Vec::new(), String::new(), html);
    while let Some((before, after)) = rest.split_once('<') {
        if open.last() != Some(&"style") {
            text.push_str(before);
        }
        let (tag, after) = after.split_once('>').expect("a tag has an end");
        let name = tag.trim_start_matches('/').split_whitespace().next().unwrap();
        assert!(KNOWN.contains(&name), "{tag}");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{html}"),
            None if VOID.contains(&name) => {}
            None => open.push(name),
        }
        rest = after;
    }
    assert!(open.is_empty(), "{open:?}");
    text.push_str(rest);
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    entities.into_iter().fold(text, |text, (entity, character)| text.replace(entity, character))
}

#[test]
fn a_page_has_no_markup_but_its_own_and_needs_nothing_from_elsewhere() {
    for language in [Language::English, Language::Chinese] {
        let page = export(&session(), Format::Html, language);
        let text = text_of(&page);
        let said = "</pre><script>alert(1)</script>\"'&amp; ``` ```` 汉字 👨‍👩‍👧 ␛[31m";
        // Prompt, attached, thought, said, name, subject, changes, argument or diff, result, note …
        assert!(text.matches(said).count() >= 11, "{text}");
        for word in ["<script", "http:", "https:", "src=", "href=", "url(", "@import", "\u{1b}"] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains("prefers-color-scheme: dark") && page.contains("<details"));
        assert!(page.contains("<pre>\n&lt;b&gt;\n</pre>"), "{page}");
    }
}

#[test]
fn markdown_quotes_what_others_said_and_keeps_what_the_model_wrote() {
    let text = export(&session(), Format::Markdown, Language::English);
    assert!(text.starts_with("# session 20260101-a\n"), "{text}");
    assert!(text.contains("> \\</pre\\>\\<script\\>"), "{text}");
    assert!(text.contains("`````diff\n"), "a fence is longer than those in it: {text}");
    assert!(text.contains("See:\n\n```html\n<b>\n```\n\nDone."), "{text}");
    assert!(text.contains("**`bash`** `ls`\n\n```\nno result\n```\n"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
}
