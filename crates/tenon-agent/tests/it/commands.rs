//! Commands that only read, among the calls of one reply.

use std::{fs::OpenOptions, process::Command};

use serde_json::json;
use tenon_agent::{CoreToolOptions, Origin, Rule, Verdict, core_tools};
use tokio_util::sync::CancellationToken;

use crate::support::{bench, bench_with, calls, text};

#[tokio::test]
async fn spec_4_commands_that_only_read_run_side_by_side() {
    let tools = core_tools(CoreToolOptions { bash_timeout_default_s: 20, ..Default::default() });
    let both = calls(&[
        ("bash", json!({"command": "cat first"})),
        ("bash", json!({"command": "cat second"})),
    ]);
    let mut bench = bench(vec![both, text("done")], tools);
    let pipe = |name| bench.folder.path().join(name);
    let pipes = [pipe("first"), pipe("second")];
    assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
    // Opening a pipe waits for its reader. The first is let go when the second is there too, so
    // one after the other would never end.
    std::thread::spawn(move || {
        let _open = pipes.map(|pipe| OpenOptions::new().write(true).open(pipe).unwrap());
    });
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    let expected = ("(command completed with no output)".to_owned(), false);
    assert_eq!(bench.results(1), [expected.clone(), expected]);
}

#[tokio::test]
async fn relative_paths_of_rules_and_commands_begin_at_the_workspace() {
    let tools = core_tools(CoreToolOptions::default());
    let reply = calls(&[
        ("write_file", json!({"path": "vendor/x", "content": "x"})),
        ("write_file", json!({"path": "other/x", "content": "x"})),
        ("bash", json!({"command": "rm -rf other"})),
    ]);
    let mut bench = bench_with(vec![reply, text("done")], tools, |options| {
        let rule = Rule::parse("write_file(vendor/**)", Verdict::Deny, Origin::Config);
        options.rules = [rule.unwrap()].into_iter().collect();
    });
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    let results = bench.results(1);
    assert!(results[0].0.contains("refused by the rule write_file(vendor/**)"), "{results:?}");
    assert_eq!(results[1].0, "Wrote 1 byte to other/x");
    assert!(!results[2].1 && !bench.folder.path().join("other").exists(), "{results:?}");
}

#[tokio::test]
async fn a_job_that_ended_is_told_with_the_next_result_or_the_next_prompt() {
    let tools = core_tools(CoreToolOptions { has_jobs: true, ..Default::default() });
    let job = |script: &str| calls(&[("bash", json!({"command": script, "background": true}))]);
    let replies = vec![
        job("sleep 0.5; exit 3"),
        calls(&[("bash", json!({"command": "sleep 1"}))]),
        calls(&[("bash", json!({"command": "true"}))]),
        job("sleep 0.5"),
        text("done"),
        text("done"),
    ];
    let mut bench = bench(replies, tools);
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap();
    let done = "(command completed with no output)";
    let told = "[jobs] job 1: exit code 3 after 0 s: sleep 0.5; exit 3";
    assert_eq!(bench.results(2), [(format!("{done}\n{told}"), false)]);
    assert_eq!(bench.results(3), [(done.to_owned(), false)]);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    bench.agent.prompt("and now?", &CancellationToken::new()).await.unwrap();
    let requests = bench.provider.requests.lock().unwrap();
    let last = requests.last().unwrap().conversation.last().unwrap().text();
    assert!(last.starts_with("[jobs] job 2: exit code 0 after 0 s: sleep 0.5"), "{last}");
    assert!(last.ends_with("and now?"), "{last}");
}
