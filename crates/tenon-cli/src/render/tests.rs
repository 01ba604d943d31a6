//! Snapshots of one session at several widths and in both languages, and tables of hostile text.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use tenon_agent::{EndReason, LOG_VERSION};
use tenon_model::{ContentBlock, Message, ProviderErrorKind, Role, StopReason, Usage};

use super::*;
use crate::texts::Language;

const STYLE: Style = Style {
    width: 80,
    colour: false,
    redraws: false,
    language: Language::English,
    theme: Theme::Terminal,
};

const FAMILY: &str = "👨‍👩‍👧‍👦";

fn record(event: impl Into<SessionEvent>) -> Record {
    Record { time_ms: 0, event: event.into() }
}

fn started(id: &str, name: &str, subject: &str) -> Record {
    let call = ToolCall { id: id.into(), name: name.into(), arguments: json!({}), fault: None };
    record(CallEvent::CallStarted { call, subject: subject.into() })
}

fn answered(id: &str, view: View, is_error: bool) -> Record {
    let (call_id, content) = (id.into(), String::new());
    let images = Vec::new();
    record(CallEvent::ToolResult {
        call_id,
        content,
        is_error,
        images,
        view,
        duration_ms: 1_234,
        cut_short: false,
        job: None,
    })
}

fn called(name: &str, subject: &str, view: View) -> Vec<Record> {
    vec![started("a", name, subject), answered("a", view, false)]
}

fn user(prompt: &str) -> Record {
    record(TurnEvent::UserMessage {
        message: Message::user(prompt),
        prompt: prompt.into(),
        attached: vec!["instructions: AGENTS.md".into()],
        at_step: false,
    })
}

fn assistant(text: &str) -> Record {
    record(ModelEvent::AssistantMessage {
        message: Message {
            role: Role::Assistant,
            content: vec![ContentBlock::Text { text: text.into() }],
        },
        stop: Some(StopReason::ToolCalls),
        usage: Usage::default(),
        retried: Usage::default(),
        duration_ms: 10,
    })
}

fn ended(reason: EndReason) -> Record {
    record(TurnEvent::TurnEnded {
        reason,
        answer: String::new(),
        usage: Usage { input: 1_200, output: 345, cache_read: 11_000, cache_write: 0 },
        cost: Some(0.0456),
        steps: 4,
        duration_ms: 65_000,
        receipt: None,
        sandbox: None,
    })
}

const DIFF: &str = "@@ -1,2 +1,3 @@\n def greet(name):\n+    \"\"\"Say hello to 世界.\"\"\"\n-    \
                    print(\"a line that is much longer than a narrow screen can hold in one row\")\n";

fn session() -> Vec<Record> {
    let mut records = vec![
        record(SessionNote::SessionStarted {
            version: LOG_VERSION,
            session: "20261121-100000-abcd".into(),
            workspace: vec!["/home/user/project".into()],
            model: "scripted/hello".into(),
            tenon: "0.1.0".into(),
            price: None,
            abilities: None,
            forked_from: None,
            results_of: None,
            moved_to: Vec::new(),
            named: Vec::new(),
        }),
        user("把 README.md 中的 v1 改成 v2\nand add a docstring"),
        assistant("\nI'll read the file **first**. 先读文件 👍🏽\n\n"),
    ];
    records.extend(called(
        "read_file",
        "README.md",
        View::text("1\t# 标题 v1\n2\t\temoji 🎉 e\u{301}"),
    ));
    records.extend(called("edit_file", "src/深い/greet.py", View::diff("src/深い/greet.py", DIFF)));
    records.push(record(TurnEvent::Notice { text: "AGENTS.md was cut to 32 KB.".into() }));
    records.extend([
        started("b", "bash", "cargo test --workspace && cargo clippy --workspace --all-targets"),
        started("c", "bash", "sudo rm -rf build\necho done"),
        answered("b", View::text(&"running 1 test\n".repeat(10_000)), true),
        record(CallEvent::CallDecided {
            call_id: "c".into(),
            verdict: Verdict::Deny,
            rule: "built-in: sudo".into(),
            asked: true,
            flag: None,
        }),
        answered("c", View::text("Error: the user refused this call"), true),
        assistant("Done."),
        ended(EndReason::StepLimit),
        user("again"),
        started("d", "grep", ""),
        record(ModelEvent::RequestFailed {
            kind: ProviderErrorKind::RateLimited,
            message: "The server said: too many requests.".into(),
            hint: Some("wait a minute".into()),
        }),
        ended(EndReason::ProviderFailed),
    ]);
    records
}

fn check_session(name: &str, width: usize, language: Language) {
    let drawn = transcript(&session(), &Style { width, language, ..STYLE });
    check_straight(&drawn, width);
    insta::assert_snapshot!(name, drawn);
}

/// Every line of a box is exactly as wide as the screen.
fn check_straight(drawn: &str, width: usize) {
    for line in drawn.lines().filter(|line| line.starts_with(['┌', '│', '├', '└'])) {
        assert_eq!(measure::width(line), width, "{line}");
    }
}

#[test]
fn spec_37_a_session_at_40_columns() {
    check_session("english_40", 40, Language::English);
    check_session("chinese_40", 40, Language::Chinese);
}

#[test]
fn spec_37_a_session_at_80_columns() {
    check_session("english_80", 80, Language::English);
    check_session("chinese_80", 80, Language::Chinese);
}

#[test]
fn spec_37_a_session_at_200_columns() {
    check_session("english_200", 200, Language::English);
    check_session("chinese_200", 200, Language::Chinese);
}

#[test]
fn without_colour_the_words_are_the_same() {
    let plain = transcript(&session(), &STYLE);
    let coloured = transcript(&session(), &Style { colour: true, ..STYLE });
    assert!(!plain.contains('\u{1b}'));
    let mut stripped = coloured.clone();
    for code in ["0", "1", "2", "31", "32", "33", "36"] {
        stripped = stripped.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(stripped, plain);
    insta::assert_snapshot!("coloured", coloured.replace('\u{1b}', "ESC"));
}

const HOSTILE: [&str; 12] = [
    "\u{1b}[2J\u{1b}[1;1Hcleared",
    "\u{1b}]52;c;cm0gLXJmIC8=\u{7}",
    "\u{1b}]8;;http://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{9b}31mred\u{9d}0;title\u{9c}",
    "nul\0bell\u{7}back\u{8}delete\u{7f}",
    "50%\r100%\r\nnext",
    "a\u{202e}desrever\u{2066}x\u{2069}",
    "tags\u{e0041}\u{e0042}\u{e007f}",
    "zero\u{200b}width\u{feff}\u{2060}",
    "form\u{c}feed\u{b}tab\u{85}next\u{2028}line\u{2029}paragraph",
    "\u{1bc9d}\u{fff9}\u{ad}\u{61c}",
    "汉\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
];

/// Draws `text` wherever a model, a file or a command can put it.
fn everywhere(text: &str, style: &Style) -> String {
    let mut records = vec![
        user(text),
        assistant(text),
        started("a", text, text),
        answered("a", View::text(text), true),
        started("b", "edit_file", text),
        answered("b", View::diff(text, &format!("+{text}\n-{text}")), false),
        record(TurnEvent::Notice { text: text.into() }),
        record(ModelEvent::RequestFailed {
            kind: ProviderErrorKind::Server,
            message: text.into(),
            hint: Some(text.into()),
        }),
    ];
    if let SessionEvent::Turn(TurnEvent::UserMessage { attached, .. }) = &mut records[0].event {
        attached.push(text.into());
    }
    let mut renderer = Renderer::new(*style);
    let mut drawn = transcript(&records, style);
    let lives = [
        Live::TextDelta(text.into()),
        Live::Progress(text.into()),
        Live::Retrying { attempt: 2, wait_ms: 5, reason: text.into() },
    ];
    for update in lives.into_iter().map(Update::Live) {
        let Drawn { shown, errors } = renderer.update(&update);
        drawn.push_str(&shown);
        drawn.push_str(&errors);
    }
    renderer.update(&Update::Stored(Arc::new(started("a", text, text))));
    let output = Live::CallOutput { call_id: "a".into(), text: text.into() };
    drawn + &renderer.update(&Update::Live(output)).shown
}

#[test]
fn hostile_text_is_shown_and_never_obeyed() {
    for text in HOSTILE {
        for width in [20, 40, 80, 200] {
            let drawn = everywhere(text, &Style { width, ..STYLE });
            assert_eq!(visible(&drawn), drawn, "{text:?}");
            check_straight(&drawn, width);
            // On a terminal only our own sequences are left.
            let drawn = everywhere(text, &Style { width, redraws: true, ..STYLE });
            let jump = format!("\u{1b}[{width}G");
            let drawn = drawn.replace(ERASE_LINE, "").replace(&jump, "");
            assert_eq!(visible(&drawn), drawn, "{text:?}");
        }
    }
}

#[test]
fn very_long_lines_and_outputs_stay_small() {
    let long = "汉字abc".repeat(100_000);
    let drawn = transcript(&called("bash", &long, View::text(&long)), &STYLE);
    check_straight(&drawn, 80);
    assert!(drawn.lines().count() < 30 && drawn.contains('…'), "{drawn}");
    let drawn = transcript(&called("bash", "yes", View::text(&"y\n".repeat(10_000))), &STYLE);
    assert!(drawn.contains("… 9992 more lines"), "{drawn}");
    let added = "+line\n".repeat(10_000);
    let drawn = transcript(&called("edit_file", "a", View::diff("a", &added)), &STYLE);
    assert!(drawn.contains("… at least ") && drawn.lines().count() < 50, "{drawn}");
}

/// Returns the rows of a real terminal after `text` was printed on it.
fn on_terminal(text: &str, width: u16) -> Vec<String> {
    terminal(text, width).screen().rows(0, width).collect()
}

fn terminal(text: &str, width: u16) -> vt100::Parser {
    let size = |n| std::num::NonZero::new(n).unwrap();
    let mut parser = vt100::Parser::new(size(60), size(width), 0);
    parser.process(text.replace('\n', "\r\n").as_bytes());
    parser
}

#[test]
fn the_edge_is_straight_on_a_terminal_that_draws_joined_emoji_apart() {
    for width in [40_u16, 80, 200] {
        let style = Style { width: width.into(), redraws: true, ..STYLE };
        let text = format!("{FAMILY} family\nhearts ❤️ ❤️\n{}\nplain 汉字", FAMILY.repeat(60));
        let drawn = transcript(&called("bash", FAMILY, View::text(&text)), &style);
        let rows = on_terminal(&drawn, width);
        let box_rows = rows.iter().filter(|row| row.starts_with(['┌', '│', '├', '└']));
        assert_eq!(box_rows.clone().count(), 8, "{rows:#?}");
        let parser = terminal(&drawn, width);
        for row in 0..8 {
            let edge = parser.screen().cell(row, width - 1).unwrap().contents().to_owned();
            assert!(["┐", "│", "┤", "┘"].contains(&edge.as_str()), "row {row}: {rows:#?}");
        }
    }
}

/// Returns a call that was refused with this answer.
fn refused(answer: &str) -> Vec<Record> {
    let decided = CallEvent::CallDecided {
        call_id: "a".into(),
        verdict: Verdict::Deny,
        rule: "built-in: closed place".into(),
        asked: false,
        flag: None,
    };
    let subject = "/proc/1/environ";
    vec![
        started("a", "read_file", subject),
        record(decided),
        answered("a", View::text(answer), true),
    ]
}

#[test]
fn a_refusal_is_shown_whole() {
    let closed = "Error: Path escapes workspace: /proc/1/environ\nrefused by the rule built-in: closed place: \
                  nobody is asked about that place, and no flag or rule allows it: it is the kernel's";
    let said = "Error: Path escapes workspace: /etc/a\nthe user refused this call and said: not this one, \
                which is of another project\nand not the one beside it, either, for as long as we are here";
    for answer in [closed, said] {
        let records = refused(answer);
        for width in [40, 80, 110] {
            let style = Style { width, ..STYLE };
            check_straight(&transcript(&records, &style), width);
            for drawn in [transcript(&records, &style), transcript_as_live(&records, &style)] {
                let within = |row: &str| row.strip_prefix("│ ").map(|row| row.replace('│', ""));
                let rows: Vec<String> = drawn.lines().filter_map(within).collect();
                assert_eq!(
                    rows.concat().replace(' ', ""),
                    answer.replace([' ', '\n'], ""),
                    "{drawn}"
                );
            }
        }
    }
    let drawn = transcript(&refused(&"words ".repeat(10_000)), &STYLE);
    assert!(drawn.lines().count() < 16 && drawn.contains('…'), "{drawn}");
}

#[test]
fn what_is_waited_for_leaves_no_trace() {
    let style = Style { redraws: true, ..STYLE };
    let mut renderer = Renderer::new(style);
    let updates = [
        Update::Stored(Arc::new(user("hi"))),
        Update::Live(Live::Progress("Loading the model …".into())),
        Update::Live(Live::ThinkingDelta("hm".into())),
        Update::Live(Live::TextDelta("Hello\n".into())),
        Update::Live(Live::TextDelta("\nyou".into())),
        Update::Stored(Arc::new(assistant("Hello\n\nyou"))),
        Update::Stored(Arc::new(started("a", "bash", "sleep 1"))),
        Update::Live(Live::CallOutput { call_id: "a".into(), text: "half\nway\n".into() }),
        Update::Stored(Arc::new(answered("a", View::text("done"), false))),
        Update::Stored(Arc::new(ended(EndReason::Finished))),
    ];
    let mut drawn = String::new();
    let mut waiting = Vec::new();
    for update in &updates {
        drawn.push_str(&renderer.update(update).shown);
        let rows = on_terminal(&drawn, 80);
        waiting.push(rows.iter().rev().find(|row| !row.is_empty()).cloned().unwrap_or_default());
    }
    assert_eq!(
        waiting[..3],
        ["Waiting for the model …", "Loading the model …", "The model is thinking …"]
    );
    assert_eq!(waiting[6..9], ["Running bash sleep 1 …", "bash: way", "Waiting for the model …"]);
    let plain = Style { redraws: false, ..style };
    let mut renderer = Renderer::new(plain);
    let shown: String = updates.iter().map(|update| renderer.update(update).shown).collect();
    let rows: Vec<String> = on_terminal(&drawn, 80);
    assert_eq!(rows.join("\n").trim_end(), shown.trim_end());
    insta::assert_snapshot!("one_turn", shown);
}

#[test]
fn that_there_are_no_walls_stands_in_red_behind_what_is_waited_for_and_at_the_end() {
    let updates = [
        Update::Stored(Arc::new(user("hi"))),
        Update::Live(Live::ThinkingDelta("hm".into())),
        Update::Stored(Arc::new(started(
            "a",
            "bash",
            "for n in $(seq 200); do echo 汉字 $n; done",
        ))),
        Update::Live(Live::CallOutput { call_id: "a".into(), text: "汉字 200".repeat(20) }),
        Update::Stored(Arc::new(answered("a", View::text("done"), false))),
        Update::Stored(Arc::new(ended(EndReason::Finished))),
    ];
    for (language, word) in [(Language::English, "no walls"), (Language::Chinese, "无沙箱")] {
        for (width, colour) in [(12, true), (20, true), (40, true), (80, true), (80, false)] {
            let style = Style { width, colour, redraws: true, language, ..STYLE };
            let mut renderer = Renderer::new(style);
            renderer.without_walls = true;
            let mark = style.paint(Meaning::Error, word);
            let mut drawn = String::new();
            for update in &updates {
                drawn.push_str(&renderer.update(update).shown);
                assert!(drawn.trim_end().ends_with(&mark), "{width}: {drawn:?}");
                let rows = on_terminal(&drawn, width as u16);
                let last = rows.iter().rev().find(|row| !row.is_empty()).unwrap();
                assert!(last.ends_with(word), "{width}: {rows:#?}");
            }
            assert_eq!(drawn.contains("\u{1b}[31m"), colour);
        }
    }
}

#[test]
fn calls_that_run_side_by_side_never_mix() {
    let drawn = transcript(
        &[
            started("a", "read_file", "one"),
            started("b", "read_file", "two"),
            answered("b", View::text("second"), false),
            answered("a", View::text("first"), false),
        ],
        &Style { width: 40, ..STYLE },
    );
    insta::assert_snapshot!(drawn, @r"
    ┌─ read_file two ──────────────────────┐
    │ second                               │
    └────────────────────────────── 1.2 s ─┘
    ┌─ read_file one ──────────────────────┐
    │ first                                │
    └────────────────────────────── 1.2 s ─┘
    ");
}

proptest! {
    #[test]
    fn prose_looks_alike_however_it_is_split(
        text in "[ab汉👍\n]{0,40}",
        cuts in proptest::collection::vec(0_usize..40, 0..6),
    ) {
        let mut renderer = Renderer::new(STYLE);
        let mut shown = String::new();
        let characters: Vec<char> = text.chars().collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(characters.len())).collect();
        cuts.extend([0, characters.len()]);
        cuts.sort_unstable();
        for pair in cuts.windows(2) {
            let piece: String = characters[pair[0]..pair[1]].iter().collect();
            if !piece.is_empty() {
                shown.push_str(&renderer.update(&Update::Live(Live::TextDelta(piece))).shown);
            }
        }
        shown.push_str(&renderer.update(&Update::Stored(Arc::new(assistant(&text)))).shown);
        prop_assert_eq!(shown, transcript(&[assistant(&text)], &STYLE));
    }

    #[test]
    fn boxes_are_straight_whatever_they_hold(
        subject in any::<String>(),
        text in any::<String>(),
        width in 16_usize..220,
    ) {
        let drawn = transcript(&called("bash", &subject, View::text(&text)), &Style { width, ..STYLE });
        check_straight(&drawn, width);
        // Whether these pass is judged by what they were behind in the text, not in a row.
        let drawn = drawn.replace(['\u{200c}', '\u{200d}'], "");
        let is_variant =
            |sign| matches!(sign, '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}');
        let drawn = drawn.replace(is_variant, "");
        // Nor these, by what follows: at the end of a text they pass.
        let passes = |text: String| visible(&text) == text;
        let is_prepended = |sign: char| passes(sign.into()) && !passes(format!("{sign} "));
        let drawn = drawn.replace(is_prepended, "");
        prop_assert_eq!(visible(&drawn), drawn.as_str());
    }
}

#[test]
fn no_row_is_spent_on_saying_that_one_line_is_left_out() {
    for (lines, shown, said) in [(8, 8, 0), (9, 9, 0), (10, 8, 1)] {
        let drawn = transcript(&called("bash", "yes", View::text(&"y\n".repeat(lines))), &STYLE);
        let found = (drawn.matches("│ y ").count(), drawn.matches(" 2 more lines").count());
        assert_eq!(found, (shown, said), "{drawn}");
    }
}

#[test]
fn what_a_turn_used_is_broken_between_its_parts_on_a_narrow_terminal() {
    let narrow = Style { width: 42, redraws: true, ..STYLE };
    let drawn = transcript(&[ended(EndReason::Finished)], &narrow);
    assert!(drawn.lines().count() > 1, "{drawn}");
    for line in drawn.lines() {
        assert!(measure::width(line) <= 42 && !line.starts_with(" ·"), "{drawn}");
    }
}

#[test]
fn what_was_waited_for_is_not_in_a_transcript() {
    let terminal = Style { redraws: true, ..STYLE };
    let records = session();
    for draw in [transcript, whole_transcript, transcript_as_live] {
        let drawn = draw(&records, &terminal);
        assert!(!drawn.contains('\r') && !drawn.contains("Running"), "{drawn}");
    }
}

#[test]
fn a_whole_transcript_draws_prose_as_the_live_session_and_leaves_no_result_out() {
    let mut records = vec![assistant("# Plan\n\n- read **it**\n\n```rs\nlet a;\n```\n\nDone.")];
    records.extend(called("bash", "yes", View::text(&"y\n".repeat(20))));
    let prose = "Plan\n\n• read it\n\n  let a;\n\nDone.\n\n";
    let whole = whole_transcript(&records, &STYLE);
    assert!(whole.starts_with(&format!("{prose}┌─ bash yes\n")), "{whole}");
    let as_live = transcript_as_live(&records, &STYLE);
    assert!(as_live.starts_with(&format!("{prose}┌─ bash yes\n│ y\n")), "{as_live}");
    assert!(as_live.contains("│ … 12 more lines\n"), "{as_live}");
}

#[test]
fn what_was_refused_or_is_not_recorded_is_seen_however_narrow_the_screen_is() {
    let not_saved = "1 file changed, 1 new, 3 new under a/longer/folder/, huge not recorded (2 MB)";
    let refused =
        "a change of big was refused: it could not be saved, 2 more changes refused, 1 new";
    let chinese = "拒绝了对 big 的改动：无法保存它，另有 2 处改动被拒绝，新建 1 个";
    for (said, language, shown, width) in [
        (not_saved, Language::English, not_saved, 40),
        (not_saved, Language::English, not_saved, 80),
        (refused, Language::English, refused, 40),
        (refused, Language::English, refused, 80),
        (refused, Language::Chinese, chinese, 40),
        (refused, Language::Chinese, chinese, 80),
        (refused, Language::Chinese, chinese, 16),
    ] {
        let nothing = CallChanges::new("a", &tenon_sandbox::Changes::default());
        let changes = CallChanges { summary: said.into(), ..nothing };
        let records = [
            started("a", "bash", "make"),
            record(CallEvent::CallChanged(changes)),
            answered("a", View::text("made"), true),
        ];
        let drawn = transcript(&records, &Style { width, language, ..STYLE });
        check_straight(&drawn, width);
        let bare = |text: &str| text.replace(['│', '└', '─', '┘', ' ', '\n'], "");
        assert!(bare(&drawn).contains(&bare(shown)), "{width}: {drawn}");
    }
}
