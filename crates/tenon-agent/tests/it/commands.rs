//! Commands that only read, among the calls of one reply.

use std::{fs::OpenOptions, process::Command};

use serde_json::json;
use tenon_agent::{CoreToolOptions, core_tools};
use tokio_util::sync::CancellationToken;

use crate::support::{bench, calls, text};

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
