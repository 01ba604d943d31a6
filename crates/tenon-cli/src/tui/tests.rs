//! The whole screen at several sizes: events in, what a terminal shows out.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tenon_agent::{Action, Live, Mode, Places, Question, Record, Rules, Update, decide};
use tenon_sandbox::{ConflictReason, Workspace};
use tokio::sync::oneshot;

use super::{
    app::App,
    approval::Approval,
    composer::{Composer, files::Files, history::History},
    conflict::ConflictQuestion,
    frame::frame,
    keyboard::{Event, KeyCode},
    line::Line,
    picker::{Item, Pick, Picker},
    status::Facts,
    surface::{Size, Surface},
    transcript::Transcript,
};
use crate::{
    config::RuleBook,
    past::Conflict,
    render::{Style, measure},
    texts::{Language, Text},
};

struct Scene {
    app: App,
    surface: Surface,
    screen: vt100::Parser,
    size: Size,
    now: Instant,
    /// Bytes that went to the terminal.
    written: usize,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new(columns: usize, language: Language) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let style = Style {
            width: columns,
            colour: true,
            redraws: true,
            language,
            theme: Default::default(),
        };
        let facts = Facts {
            model: "anthropic/claude-sonnet-4-5".into(),
            window_tokens: 200_000,
            branch: Some("main".into()),
            is_confined: true,
            ..Facts::default()
        };
        let workspace = Workspace::open(folder.path()).unwrap();
        let mut app = App::new(
            Transcript::new(style, facts),
            Composer::new(History::default(), language),
            Files::new(workspace, Arc::new(|| {})),
            Vec::new(),
            Arc::new(RuleBook::new(folder.path().join("config.toml"), Vec::new())),
            language,
        );
        app.book_name = "~/.config/tenon/config.toml".into();
        let size = Size { columns, rows: 30 };
        let cells = |n: usize| u16::try_from(n).unwrap().try_into().unwrap();
        let screen = vt100::Parser::new(cells(size.rows), cells(columns), 100);
        let (surface, now) = (Surface::new(false), Instant::now());
        Self { app, surface, screen, size, now, written: 0, _folder: folder }
    }

    fn stored(&mut self, mut event: Value) {
        event["time_ms"] = json!(5);
        let record: Record = serde_json::from_value(event).unwrap();
        self.app.update(&Update::Stored(Arc::new(record)), self.now);
        self.draw();
    }

    fn delta(&mut self, text: &str) {
        self.app.update(&Update::Live(Live::TextDelta(text.into())), self.now);
        self.draw();
    }

    fn printed(&mut self, text: &str) {
        let live = Live::CallOutput { call_id: "1".into(), text: text.into() };
        self.app.update(&Update::Live(live), self.now);
        self.draw();
    }

    fn press(&mut self, keys: &str) {
        for key in keys.chars() {
            let code = if key == '\r' { KeyCode::Enter } else { KeyCode::Char(key) };
            self.app.event(Event::Key(code.into()), self.now);
            self.draw();
        }
    }

    fn draw(&mut self) {
        let finished = self.app.transcript.take_finished();
        let drawn = frame(&self.app, self.size, self.now);
        let style = *self.app.transcript.style();
        let text = self.surface.draw(self.size, &finished, &drawn, &style);
        self.written += text.len();
        self.screen.process(text.as_bytes());
        self.app.shown(self.now);
    }

    fn prompt(&mut self, prompt: &str) {
        self.app.begin_turn();
        let content = json!([{"type": "text", "text": prompt}]);
        self.stored(json!({"type": "user_message", "prompt": prompt,
            "message": {"role": "user", "content": content}}));
    }

    fn call(&mut self, command: &str) {
        let call = json!({"id": "1", "name": "bash", "arguments": {"command": command}});
        self.stored(json!({"type": "call_started", "call": call, "subject": command}));
    }

    fn rows(&self) -> String {
        let columns = u16::try_from(self.size.columns).unwrap();
        let rows: Vec<String> = self.screen.screen().rows(0, columns).collect();
        let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
        rows.join("\n").trim_end().to_owned() + "\n"
    }
}

const ANSWER: &str = "## Plan\n\nThe test `adds` fails because **the sum** wraps:\n\n\
    - read `src/lib.rs`\n- use a wider type, and say why in the commit\n\n\
    | type | holds up to |\n|---|---|\n| u8 | 255 |\n| u64 | 18446744073709551615 |\n\n\
    ```rust\nlet sum: u64 = 汉字.len() as u64; // wide\n```\n\nNow I run it";

fn working(columns: usize, language: Language) -> Scene {
    let mut scene = Scene::new(columns, language);
    scene.prompt("Why does the test fail? 为什么测试失败？");
    scene.delta(ANSWER);
    scene.delta(" to see");
    scene
}

#[test]
fn prose_streams_above_the_composer() {
    for columns in [40, 80, 200] {
        let scene = working(columns, Language::English);
        insta::assert_snapshot!(format!("prose_{columns}"), scene.rows());
    }
}

#[test]
fn thinking_without_a_time_that_could_be_felt_names_none() {
    for (waited, said) in [(40, "thought (Ctrl-O"), (2_300, "thought for 2.3 s (Ctrl-O")] {
        let mut scene = Scene::new(80, Language::English);
        scene.prompt("go");
        let thinking = Live::ThinkingDelta("hm".into());
        scene.app.update(&Update::Live(thinking), scene.now);
        scene.now += Duration::from_millis(waited);
        scene.delta("So.");
        assert!(scene.rows().contains(said), "{}", scene.rows());
    }
}

#[test]
fn a_call_runs_while_a_message_is_queued() {
    for columns in [40, 80, 200] {
        let mut scene = working(columns, Language::English);
        scene.call("cargo test --workspace");
        scene.stored(json!({"type": "call_decided", "call_id": "1", "verdict": "allow", "rule": "mode: auto"}));
        scene.printed("   Compiling tenon v0.1.0\nrunning 2 tests\ntest adds ... ");
        scene.press("and then commit\r");
        scene.press("half a th");
        scene.now += Duration::from_secs(12);
        scene.draw();
        insta::assert_snapshot!(format!("running_{columns}"), scene.rows());
    }
}

fn question(command: &str) -> Question {
    let action = Action::Run { command: command.into() };
    let decision = decide("bash", &action, &Rules::default(), Mode::Auto, &Places::default());
    Question {
        call_id: "1".into(),
        tool: "bash".into(),
        subject: command.into(),
        arguments: json!({ "command": command }),
        decision,
        programs_set: Vec::new(),
        is_masked: false,
    }
}

#[test]
fn a_question_says_everything_in_both_languages() {
    for (columns, language) in [(40, Language::English), (80, Language::Chinese)] {
        let mut scene = Scene::new(columns, language);
        scene.prompt("undo it");
        let command = "git reset --hard HEAD~1";
        scene.call(command);
        let (sender, _answer) = oneshot::channel();
        scene.app.ask(question(command), sender);
        scene.draw();
        assert!(scene.screen.screen().hide_cursor());
        insta::assert_snapshot!(format!("question_{columns}"), scene.rows());
    }
}

#[test]
fn a_question_shows_what_stands_behind_characters_that_join_or_that_terminals_draw_wider() {
    let fillers =
        ["\u{70f}".repeat(9), "㉈".repeat(37), "k\u{302e}".repeat(40), "ক\u{9be}".repeat(40)];
    for (filler, columns) in fillers.iter().flat_map(|filler| [(filler, 30), (filler, 80)]) {
        let command = format!("sudo echo EVIL {filler}>>~/.bashrc");
        let action = Action::Run { command: command.clone() };
        let decision = decide("bash", &action, &Rules::default(), Mode::Ask, &Places::default());
        let question = Question {
            call_id: "1".into(),
            tool: "bash".into(),
            subject: command,
            arguments: json!({"content": format!(": {filler}$(touch EVIL)")}),
            decision,
            is_masked: false,
            programs_set: Vec::new(),
        };
        let rows =
            Approval::new(question, "config.toml".into(), false).whole(columns, Language::English);
        let texts: Vec<String> = rows.iter().map(Line::text).collect();
        assert!(texts.iter().all(|row| measure::most_columns(row) <= columns), "{texts:#?}");
        let all: String = texts.concat().replace([' ', '▌', '┆', '│'], "");
        for part in [">>~/.bashrcIn", ">~/.bashrcecho", "$(touchEVIL)"] {
            assert!(all.contains(part), "{part}: {texts:#?}");
        }
    }
}

#[test]
fn a_sentence_that_is_being_typed_answers_nothing_wherever_the_question_comes_up() {
    let text = "maybe you already always say so";
    for gap in [340, 360, 450, 900] {
        for asked_at in 0..text.len() {
            let mut scene = Scene::new(80, Language::English);
            scene.prompt("go");
            let (sender, mut answer) = oneshot::channel();
            let mut asks = Some((question("git reset --hard HEAD~1"), sender));
            for (n, letter) in text.char_indices() {
                scene.press(&letter.to_string());
                // The question is on the screen long before the next letter, or right before it.
                for part in [gap / 2, gap - gap / 2] {
                    scene.now += Duration::from_millis(part);
                    if n == asked_at
                        && let Some((question, sender)) = asks.take()
                    {
                        scene.app.ask(question, sender);
                        scene.draw();
                        assert!(scene.rows().contains("Esc, then a key answers"));
                    }
                    scene.app.settle(scene.now);
                    scene.draw();
                }
            }
            scene.now += Duration::from_secs(20);
            scene.app.settle(scene.now);
            assert!(answer.try_recv().is_err(), "{gap} ms, behind {asked_at}");
            assert_eq!(scene.app.composer.text(), text);
        }
    }
}

#[test]
fn a_message_behind_one_that_was_sent_answers_nothing_and_who_does_not_write_answers_at_once() {
    for (idle_s, text, answered) in [(1, "say yes", false), (1, "s", true), (30, "s", true)] {
        let mut scene = Scene::new(80, Language::English);
        scene.prompt("go");
        scene.press("first this\r");
        scene.now += Duration::from_secs(idle_s);
        let (sender, mut answer) = oneshot::channel();
        scene.app.ask(question("git reset --hard HEAD~1"), sender);
        scene.draw();
        scene.now += Duration::from_millis(1_100);
        for letter in text.chars() {
            scene.app.settle(scene.now);
            scene.press(&letter.to_string());
            scene.now += Duration::from_millis(450);
        }
        scene.app.settle(scene.now);
        assert_eq!(answer.try_recv().is_ok(), answered && idle_s > 5, "{idle_s} {text}");
        scene.now += Duration::from_millis(600);
        scene.app.settle(scene.now);
        let left = if answered { "" } else { text };
        assert_eq!((scene.app.approval.is_none(), scene.app.composer.text()), (answered, left));
    }
}

#[test]
fn a_list_and_a_conflict_stand_where_the_composer_is() {
    for (columns, language) in [(40, Language::English), (80, Language::Chinese)] {
        let mut scene = working(columns, language);
        let item = |name: &str, about: &str| Item {
            name: name.into(),
            about: about.into(),
            preview: Some(vec![format!("window: {about}"), "api.example.org".into()]),
            pick: Pick::Model(name.into()),
        };
        let items = vec![
            item("anthropic/claude-sonnet-4-5", "200,000 · $3 in, $15 out"),
            item("openai/gpt-5.2", "400,000 · $1.75 in, $14 out"),
            item("自有/模型", "32,768"),
        ];
        scene.app.picker = Some(Picker::new(Text::PickModel, items, 1));
        scene.press("5");
        insta::assert_snapshot!(format!("picker_{columns}"), scene.rows());
        let (_, caret) = scene.screen.screen().cursor_position();
        assert_eq!(caret, 10, "behind what is searched for");
        scene.app.picker = None;
        let conflict = |path: &str, reason| Conflict { path: path.into(), reason, by: None };
        let found = vec![
            conflict("src/main.rs", ConflictReason::Changed),
            conflict("文档/说明.md", ConflictReason::Deleted),
        ];
        scene.app.conflict = Some(ConflictQuestion::new(found, false));
        scene.draw();
        assert!(scene.screen.screen().hide_cursor());
        insta::assert_snapshot!(format!("conflict_{columns}"), scene.rows());
    }
}

#[test]
fn the_cursor_stands_behind_what_was_typed_in_every_script() {
    for (typed, column) in [("ab", 4), ("你好", 6), ("e\u{301}", 3), ("👍🏽", 4)] {
        let mut scene = Scene::new(80, Language::Chinese);
        scene.press(typed);
        let (_, found) = scene.screen.screen().cursor_position();
        // A skin tone that is drawn apart takes two columns more.
        assert!(found == column || (typed == "👍🏽" && found == column + 2), "{typed}: {found}");
    }
}

#[test]
fn the_live_part_never_gets_higher_than_the_screen() {
    let mut scene = Scene::new(40, Language::English);
    scene.size.rows = 8;
    let size = |n: u16| n.try_into().unwrap();
    scene.screen = vt100::Parser::new(size(8), size(40), 1_000);
    scene.prompt("go");
    scene.delta(&"a long paragraph that goes on ".repeat(60));
    for n in 0..30 {
        scene.press(&format!("line {n}\\\r"));
    }
    let frame = frame(&scene.app, scene.size, scene.now);
    assert!(frame.rows.len() < 8, "{}", frame.rows.len());
    let caret = frame.caret.unwrap();
    assert!(caret.row < frame.rows.len());
    assert!(scene.rows().contains("line 29"), "{}", scene.rows());
}

#[test]
fn what_is_drawn_for_a_delta_does_not_grow_with_the_answer() {
    for kind in ["word ", "- an item\n", "`code`\n\n", "| a | 汉 |\n"] {
        let mut scene = Scene::new(80, Language::English);
        scene.prompt("go");
        let bytes_of_deltas = |scene: &mut Scene| {
            let before = scene.written;
            (0..300).for_each(|_| scene.delta(kind));
            scene.written - before
        };
        // More than is kept of an answer: from here on parts of it are given out.
        scene.delta(&kind.repeat(1_000));
        let early = bytes_of_deltas(&mut scene);
        scene.delta(&kind.repeat(8_000));
        let late = bytes_of_deltas(&mut scene);
        assert!(late <= early * 3 / 2, "{kind:?}: {early}, then {late}");
    }
}
