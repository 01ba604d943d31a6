//! Events in, conversations out.

use serde_json::json;
use tenon_model::{Image, StopReason, Thinking, Usage};

use super::*;
use crate::event::CompactionCause;

fn records(events: Vec<SessionEvent>) -> Session {
    let text: String = events
        .into_iter()
        .map(|event| serde_json::to_string(&Record { time_ms: 1, event }).unwrap() + "\n")
        .collect();
    let mut session = super::super::read::read_lines("a", text.as_bytes()).unwrap().0;
    // As it is done from the files beside the log.
    let images = session.records.iter_mut().flat_map(|record| record.event.images_mut());
    images.for_each(|known| *known = image());
    session
}

fn image() -> Image {
    Image { media_type: "image/png".into(), data: "iVBO".into(), ..Image::default() }
}

fn user(words: &str) -> SessionEvent {
    sent(Message::user(words), words)
}

fn sent(message: Message, words: &str) -> SessionEvent {
    let (prompt, attached) = (words.into(), Vec::new());
    TurnEvent::UserMessage { message, prompt, attached, at_step: false }.into()
}

fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| {
        ContentBlock::ToolCall(ToolCall {
            id: (*id).into(),
            name: "bash".into(),
            arguments: json!({"command": "ls", "seconds": 0.1, "n": 1e23}),
            fault: None,
        })
    };
    Message { role: Role::Assistant, content: ids.iter().map(call).collect() }
}

fn said(message: Message) -> SessionEvent {
    let (stop, usage) = (Some(StopReason::EndOfTurn), Usage::default());
    ModelEvent::AssistantMessage { message, stop, usage, retried: usage, duration_ms: 1 }.into()
}

fn started(id: &str) -> SessionEvent {
    let call = calls(&[id]).tool_calls().next().unwrap().clone();
    CallEvent::CallStarted { call, subject: String::new() }.into()
}

fn result(id: &str) -> SessionEvent {
    CallEvent::ToolResult {
        call_id: id.into(),
        content: format!("result of {id}"),
        is_error: false,
        view: View::text(""),
        images: Vec::new(),
        duration_ms: 1,
        cut_short: false,
        job: None,
    }
    .into()
}

fn compacted(replaced: usize) -> SessionEvent {
    ContextEvent::Compacted(Compaction {
        cause: CompactionCause::Asked,
        focus: None,
        replaced,
        messages: vec![Message::user("in short")],
        results: Vec::new(),
        prompts_kept: 1,
        prompts_cut: 0,
        tokens_before: 9,
        tokens_after: 5,
        window_tokens: 10,
        usage: Usage::default(),
    })
    .into()
}

fn note(text: &str) -> SessionEvent {
    TurnEvent::NoteToModel { text: text.into() }.into()
}

/// Writes a conversation in short: `u` and `a` for who speaks, results by their first word.
fn short(restored: &Restored) -> String {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::ToolCall(call) => format!("?{}", call.id),
        ContentBlock::ToolResult(result) => {
            format!("!{}={}", result.call_id, result.content.split(',').next().unwrap())
        }
        ContentBlock::Thinking(thinking) => format!("~{}", thinking.text),
        ContentBlock::Image(_) => "#".into(),
    };
    let message = |message: &Arc<Message>| {
        let role = if message.role == Role::User { "u" } else { "a" };
        let blocks: Vec<String> = message.content.iter().map(block).collect();
        format!("{role}:{}", blocks.join("|"))
    };
    restored.conversation.iter().map(message).collect::<Vec<_>>().join(" ")
}

fn check(events: Vec<SessionEvent>, expected: &str, cut_short: usize) {
    let session = records(events);
    let restored = Restored::of(&session, "", true);
    assert_eq!(short(&restored), expected);
    assert_eq!(restored.cut_short.len(), cut_short, "{expected}");
    // What is logged because of it makes the same conversation.
    let mut mended = session.clone();
    for result in &restored.cut_short {
        mended.lines.push(mended.lines.last().unwrap() + 1);
        mended.records.push(Record { time_ms: 2, event: result.clone().into() });
    }
    let again = Restored::of(&mended, "", true);
    assert_eq!(again.conversation, restored.conversation);
    assert!(again.cut_short.is_empty());
}

#[test]
fn a_whole_turn_is_rebuilt_with_results_in_the_order_of_the_calls_and_notes_behind_them() {
    check(
        vec![
            user("go"),
            said(calls(&["a", "b"])),
            started("a"),
            started("b"),
            result("b"),
            result("a"),
            note("stop it"),
            said(Message { role: Role::Assistant, ..Message::user("done") }),
        ],
        "u:go a:?a|?b u:!a=result of a|!b=result of b|stop it a:done",
        0,
    );
}

#[test]
fn spec_5_calls_that_were_cut_short_get_a_result_that_says_so() {
    check(
        vec![user("go"), said(calls(&["a", "b", "c"])), started("a"), result("a"), started("b")],
        "u:go a:?a|?b|?c u:!a=result of a|!b=interrupted before it ended; what it did up to then \
         is not known|!c=interrupted before it ran",
        2,
    );
    check(
        vec![user("go"), said(calls(&["a"])), started("a"), result("a")],
        "u:go a:?a u:!a=result of a",
        0,
    );
}

#[test]
fn what_is_lost_in_the_middle_is_made_up_for() {
    let text = |words: &str| said(Message { role: Role::Assistant, ..Message::user(words) });
    check(
        vec![user("go"), said(calls(&["a"])), user("on"), text("yes"), result("a")],
        "u:go a:?a u:!a=interrupted before it ran u:on a:yes",
        0,
    );
    check(
        vec![text("yes"), user("on")],
        "u:(the beginning of this conversation is lost) a:yes u:on",
        0,
    );
    // Results without their calls are nobody's.
    check(vec![user("go"), started("a"), result("a"), text("yes")], "u:go a:yes", 0);
    check(vec![], "", 0);
}

#[test]
fn what_a_compaction_replaced_stays_replaced_and_the_tool_that_recalls_it_is_offered() {
    let text = said(Message { role: Role::Assistant, ..Message::user("yes") });
    let events = vec![user("one"), text.clone(), user("two"), text, compacted(3), user("three")];
    check(events.clone(), "u:in short a:yes u:three", 0);
    assert!(Restored::of(&records(events), "", true).is_shortened);
}

#[test]
fn messages_come_back_bit_for_bit() {
    let thinking = Thinking { text: "hm".into(), signature: Some("c2ln".into()), redacted: None };
    let mut message = calls(&["a"]);
    message.content.insert(0, ContentBlock::Thinking(thinking));
    message.content.insert(1, ContentBlock::Text { text: "汉\u{1b}\u{0}\u{2028}\n".into() });
    let image = image();
    let first = Message {
        role: Role::User,
        content: vec![ContentBlock::Image(image), ContentBlock::Text { text: "x".into() }],
    };
    let user = sent(first.clone(), "");
    let restored = Restored::of(&records(vec![user, said(message.clone())]), "", true);
    assert_eq!(*restored.conversation[0], first);
    assert_eq!(*restored.conversation[1], message);
}

#[test]
fn a_change_of_model_counts_like_a_session_that_goes_on_with_another() {
    let changed = |model: &str| -> SessionEvent {
        SessionNote::ModelChanged { model: model.into(), price: None, abilities: None }.into()
    };
    let thought = |text: &str| {
        let thinking = Thinking { text: text.into(), signature: None, redacted: None };
        let content =
            vec![ContentBlock::Thinking(thinking), ContentBlock::Text { text: text.into() }];
        said(Message { role: Role::Assistant, content })
    };
    let started = SessionNote::SessionResumed {
        version: 1,
        session: String::new(),
        forked_from: None,
        workspace: vec!["/w".into()],
        named: Vec::new(),
        model: "x/a".into(),
        tenon: "0".into(),
        price: None,
        abilities: None,
    };
    let mut session = records(vec![
        started.into(),
        user("p"),
        thought("one"),
        changed("y/b"),
        user("q"),
        thought("two"),
    ]);
    let of = |session: &Session, model: &str| {
        let restored = Restored::of(session, model, true);
        (short(&restored), restored.model.to_string())
    };
    let fits = |model: &str| of(&session, model).0;
    assert_eq!(fits("x/a"), "u:p a:~one|one u:q a:two");
    assert_eq!(fits("y/b"), "u:p a:one u:q a:~two|two");
    assert_eq!(session.worked_with().map(|(_, model)| model), Some("y/b"));
    // Before the change the branch speaks of the first model again.
    let rewound = session.rewind(1).unwrap();
    session.lines.push(7);
    session.records.push(Record { time_ms: 1, event: rewound.into() });
    assert_eq!(of(&session, "y/b"), ("u:p a:one".to_owned(), "y/b".to_owned()));
    let rewound = session.rewind(1).unwrap();
    session.lines.push(8);
    session.records.push(Record { time_ms: 1, event: rewound.into() });
    assert_eq!(of(&session, "y/b"), (String::new(), "x/a".to_owned()));
}

#[test]
fn another_models_thoughts_and_images_it_cannot_see_do_not_go_along() {
    let resumed = |model: &str| -> SessionEvent {
        SessionNote::SessionResumed {
            version: 1,
            session: String::new(),
            forked_from: None,
            workspace: Vec::new(),
            named: Vec::new(),
            model: model.into(),
            tenon: "0".into(),
            price: None,
            abilities: None,
        }
        .into()
    };
    let thinking = |text: &str| {
        let signature = Some("s".into());
        ContentBlock::Thinking(Thinking { text: text.into(), signature, redacted: None })
    };
    let image = image();
    let message = Message { role: Role::User, content: vec![ContentBlock::Image(image)] };
    let mut first = calls(&["a"]);
    first.content.insert(0, thinking("one"));
    let session = records(vec![
        resumed("x/a"),
        sent(message, ""),
        said(first),
        result("a"),
        said(Message { role: Role::Assistant, content: vec![thinking("two")] }),
        resumed("x/b"),
        user("on"),
        said(Message { role: Role::Assistant, content: vec![thinking("three")] }),
    ]);
    let check = |model, sees, expected| {
        assert_eq!(short(&Restored::of(&session, model, sees)), expected, "{model}");
    };
    check("x/a", false, "u:# a:~one|?a u:!a=result of a a:~two u:on");
    check("x/b", true, "u:# a:?a u:!a=result of a u:on a:~three");
    check(
        "x/c",
        false,
        "u:(an image was here, which this model cannot see) a:?a u:!a=result of a u:on",
    );
}

proptest::proptest! {
    #[test]
    fn numbers_in_arguments_are_sent_again_with_the_same_digits(bits: u64) {
        let number = f64::from_bits(bits);
        if let Ok(text) = serde_json::to_string(&number) {
            let once: serde_json::Value = serde_json::from_str(&text).unwrap();
            let again: serde_json::Value = serde_json::from_str(&once.to_string()).unwrap();
            proptest::prop_assert_eq!(once.to_string(), again.to_string());
        }
    }

    /// Any part of a log, with lines lost, doubled and swapped, makes a conversation that a
    /// provider takes.
    #[test]
    fn a_conversation_is_valid_whatever_the_log_lost(picks in proptest::collection::vec(0..11_usize, 0..24)) {
        let text = said(Message { role: Role::Assistant, ..Message::user("yes") });
        let all = [
            user("go"), said(calls(&["a", "b"])), started("a"), result("a"), started("b"),
            result("b"), note("n"), text, said(calls(&["c"])), compacted(1), compacted(3),
        ];
        let session = records(picks.iter().map(|pick| all[*pick].clone()).collect());
        let restored = Restored::of(&session, "", true);
        let conversation = &restored.conversation;
        proptest::prop_assert!(conversation.first().is_none_or(|first| first.role == Role::User));
        for (index, message) in conversation.iter().enumerate() {
            let asked: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
            let next = conversation.get(index + 1);
            let answered: Vec<&str> = next.iter().flat_map(|next| &next.content).filter_map(|block| match block {
                ContentBlock::ToolResult(result) => Some(result.call_id.as_str()),
                _ => None,
            }).collect();
            proptest::prop_assert_eq!(asked, answered);
        }
    }
}

#[test]
fn the_last_check_is_the_one_that_ran_last_in_the_branch() {
    let event = |value| serde_json::from_value::<SessionEvent>(value).unwrap();
    let started = |command: &str| {
        let call = json!({"id": "c", "name": "bash", "arguments": {"command": command}});
        event(json!({"type": "call_started", "call": call, "subject": ""}))
    };
    let ended = |checks: &[&str]| {
        let run = |command: &&str| json!({"command": command, "exit_code": 0, "ended_ms": 1, "duration_ms": 1, "tree": ""});
        let checks: Vec<_> = checks.iter().map(run).collect();
        let receipt = json!({"state": "unverified", "checks": checks, "tree": ""});
        event(
            json!({"type": "turn_ended", "reason": "finished", "answer": "", "usage": {}, "cost": null,
            "steps": 1, "duration_ms": 1, "receipt": receipt}),
        )
    };
    let asked = |command: &str| {
        event(json!({"type": "continued", "cause": "not_checked", "reason": command,
            "message": Message::user("Run it."), "number": 1, "number_max": 1}))
    };
    let turn = |events: Vec<SessionEvent>| [vec![user("p")], events].concat();
    let last = |session: &Session| Restored::of(session, "", true).last_check;
    for (events, expected) in [
        (vec![started("make test"), ended(&[])], None),
        (vec![ended(&["make lint", "make test"]), ended(&[])], Some("make test")),
        (vec![started(" make test"), asked("make test"), ended(&[])], Some("make test")),
        // Nobody ran what was asked for.
        (vec![asked("make test"), ended(&[])], None),
        (vec![ended(&["make lint"]), asked("make test"), ended(&[])], Some("make lint")),
    ] {
        let mut session = records(turn(events.clone()));
        assert_eq!(last(&session).as_deref(), expected, "{events:?}");
        // In a branch that is left nothing ran.
        let rewound = session.rewind(1).unwrap();
        session.lines.push(session.lines.last().unwrap() + 1);
        session.records.push(Record { time_ms: 1, event: rewound.into() });
        assert_eq!(last(&session), None, "{events:?}");
    }
}
