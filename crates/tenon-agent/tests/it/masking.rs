//! What the model is sent, the log and the front end hold no secret that is known.

use serde_json::json;
use tenon_agent::{CoreToolOptions, Instruction, Masking, SessionLog, Update, core_tools};
use tenon_model::KnownValue;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, bench_with, calls, text};

const KEY: &str = "key-0f1e2d3c4b5a";
const TOKEN: &str = "tok-9a8b7c6d5e4f";

#[tokio::test]
async fn no_known_secret_reaches_the_model_the_log_or_the_screen() {
    let logs = tempfile::tempdir().unwrap();
    let replies = vec![
        calls(&[
            ("read_file", json!({"path": "sub/.env"})),
            ("bash", json!({"command": "cat sub/.env; base64 sub/.env; echo key-0f1e2d3c'4b5a'"})),
            ("write_file", json!({"path": "copy", "content": format!("a {TOKEN}\n")})),
        ]),
        text(&format!("It is {TOKEN}.")),
    ];
    let mut bench = bench_with(replies, core_tools(CoreToolOptions::default()), |options| {
        options.masking = Masking::new(|| vec![KnownValue::new(KEY, "KEY", "here")]);
        options.log = Some(SessionLog::create(logs.path()).unwrap());
        let text = format!("The key is {KEY}.\n");
        options.instructions = vec![Instruction { source: "AGENTS.md".into(), text }];
    });
    std::fs::create_dir(bench.folder.path().join("sub")).unwrap();
    std::fs::write(bench.folder.path().join("sub/.env"), format!("TOKEN={TOKEN}\n")).unwrap();
    let prompt = format!("what is {KEY}?");
    let outcome = bench.agent.prompt(prompt, &CancellationToken::new()).await.unwrap();
    assert_eq!(outcome.answer, "It is [masked: value of TOKEN from sub/.env].");

    let results = bench.results(1);
    assert_eq!(results[0].0, "1\tTOKEN=[masked: value of TOKEN from sub/.env]");
    assert!(results[1].0.contains("[masked: value of KEY from here]"), "{}", results[1].0);
    // What the model wrote by itself is written as it wrote it.
    let copy = std::fs::read_to_string(bench.folder.path().join("copy")).unwrap();
    assert_eq!(copy, format!("a {TOKEN}\n"));

    // Its own words stay as they are; everything else that it is sent is ours.
    let requests = bench.provider.requests.lock().unwrap();
    for message in &requests[1].conversation {
        if message.role == tenon_model::Role::User {
            let sent = serde_json::to_string(message).unwrap();
            assert!(!sent.contains(KEY) && !sent.contains(TOKEN), "{sent}");
        }
    }
    let log = std::fs::read_dir(logs.path()).unwrap().next().unwrap().unwrap().path();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains(KEY), "{log}");
    let after_results = log.split("tool_result").skip(1).collect::<String>();
    assert!(!after_results.contains(TOKEN), "{after_results}");
    let updates = bench.front.updates.lock().unwrap();
    let live = |update: &&Update| matches!(update, Update::Live(_));
    let shown = format!("{:?}", updates.iter().filter(live).collect::<Vec<_>>());
    assert!(!shown.contains(KEY), "{shown}");
}

#[tokio::test]
async fn no_part_of_a_known_secret_shows_where_a_result_is_cut() {
    const SECRET: &str = "Zk9qT7wLx3RmV5nB8cYd2HfJ";
    let fill = |count: usize| "x".repeat(count);
    let replies = vec![
        calls(&[
            ("read_file", json!({"path": "line"})),
            ("read_file", json!({"path": "broken", "limit": 1})),
            ("grep", json!({"pattern": "MATCH", "path": "matches"})),
            (
                "edit_file",
                json!({"path": "near", "old_text": "begin of a line, end", "new_text": "a"}),
            ),
            ("edit_file", json!({"path": "long", "old_text": "old", "new_text": "new"})),
            ("write_file", json!({"path": "new", "content": format!("{}{SECRET}", fill(3_990))})),
            ("read_file", json!({"path": "line", "limit": format!("{}{SECRET}", fill(40))})),
            ("bash", json!({"command": format!(": {}{SECRET}", fill(70)), "background": true})),
            ("jobs", json!({"action": "list"})),
        ]),
        text("Done."),
    ];
    let logs = tempfile::tempdir().unwrap();
    let mut bench: Bench = bench_with(replies, core_tools(CoreToolOptions::default()), |options| {
        options.masking = Masking::new(|| vec![KnownValue::new(SECRET, "KEY", "here")]);
        options.log = Some(SessionLog::create(logs.path()).unwrap());
    });
    let put = |name: &str, text: String| {
        std::fs::write(bench.folder.path().join(name), text).unwrap();
    };
    put("line", format!("{}{SECRET}{}\n", fill(1_990), fill(100)));
    put("broken", format!("{}\n{}\n", &SECRET[..12], &SECRET[12..]));
    let around = |before| format!("{SECRET}{}MATCH{}{SECRET}\n", fill(before), fill(300 - before));
    put("matches", (30..80).chain(230..290).map(around).collect());
    put("near", format!("begin of a line, {}{SECRET} end\n", fill(270)));
    put("long", format!("old {}{SECRET}\n", fill(3_970)));
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();

    let parts: Vec<&str> = (0..SECRET.len() - 4).map(|at| &SECRET[at..at + 4]).collect();
    let shows = |text: &str| parts.iter().find(|part| text.contains(**part)).copied();
    for (number, (result, _)) in bench.results(1).iter().enumerate() {
        assert_eq!(shows(result), None, "{number}: {result}");
    }
    let log = std::fs::read_dir(logs.path()).unwrap().next().unwrap().unwrap().path();
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(shows(&log), None, "{log}");
}
