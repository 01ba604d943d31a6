//! Replay as it is used to pin an agent's behaviour: what docs/replay.md says of CI as it stands there, and
//! that no network is reached.

use std::{
    io::ErrorKind,
    net::TcpListener,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::program::{Place, Run};

fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "arguments": {"command": command}}]})
}

#[test]
fn a_replay_reaches_no_network_whatever_was_recorded_and_configured() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let came = || match listener.accept() {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        Err(error) => panic!("{error}"),
    };
    let place = Place::new();
    let spoken = format!("echo hello > /dev/tcp/127.0.0.1/{port} && echo spoken");
    let script = place.script(json!([bash(&spoken), {"text": "Done."}]));
    let flags = ["-p", "--model", &script, "--sandbox", "off", "--allow", "bash", "go"];
    place.run(&flags).ends_with(0);
    assert!(came(), "the recorded command reaches the listener");
    for net in ["\"127.0.0.1\"", "\"localhost\"", "\"on\""] {
        place.config(&format!("net = [{net}]\nallow = [\"bash\"]\n"));
        let run = place.run(&["replay", "last"]).ends_with(1);
        assert!(run.out.contains(": the result of `bash "), "{net}: {run:?}");
        assert!(run.out.contains("-spoken"), "{net}: {run:?}");
        assert!(!came(), "{net}");
    }
}

/// The commands of a code block of docs/replay.md that has `sign` in it, with the session's words as
/// they are here.
fn documented(sign: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/replay.md");
    let docs = std::fs::read_to_string(path).unwrap();
    let (_, section) = docs.split_once("## Pinning an agent's behaviour in CI").unwrap();
    let block = section.split("```").skip(1).step_by(2).find(|block| block.contains(sign));
    block.unwrap().trim().lines().map(str::to_owned).collect()
}

/// Runs a documented command line in the shell, `tenon` being the program under test.
fn shell(place: &Place, line: &str) -> Run {
    let program = env!("CARGO_BIN_EXE_tenon");
    let script = format!("tenon() {{ '{program}' \"$@\"; }}\n{line}");
    Run::of(place.program("bash", &["-c", &script]).output().unwrap())
}

/// A project in which the agent was recorded and bundled as documented.
fn pinned() -> Place {
    let place = Place::new();
    place.write("work/parser.txt", "one\n");
    std::fs::create_dir_all(place.path("work/tests/agent")).unwrap();
    let script = place.script(json!([
        {"calls": [{"name": "read_file", "arguments": {"path": "parser.txt"}}]},
        bash("echo two >> parser.txt; cat parser.txt"),
        {"text": "Done."},
    ]));
    place.config(&format!("model = \"{script}\"\n"));
    for line in documented("--bundle") {
        shell(&place, &line).ends_with(0);
    }
    place
}

fn report(place: &Place) -> Value {
    let text = std::fs::read_to_string(place.path("work/replay.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Takes the bundle to where nobody worked before, as CI does.
fn elsewhere(place: &Place) -> (Place, PathBuf) {
    let other = Place::new();
    let bundle = "work/tests/agent/parser.tar.gz";
    std::fs::create_dir_all(other.path("work/tests/agent")).unwrap();
    std::fs::copy(place.path(bundle), other.path(bundle)).unwrap();
    let bundle = other.path(bundle);
    (other, bundle)
}

#[test]
fn what_the_docs_say_of_ci_runs_as_it_stands_there() {
    let (ci, _) = elsewhere(&pinned());
    let [replay] = &documented("--json")[..] else { panic!() };
    shell(&ci, replay).ends_with(0);
    let same = report(&ci);
    assert_eq!((&same["divergence"], &same["calls"]), (&Value::Null, &json!(2)), "{same}");
    // A policy that refuses a call now.
    ci.config("deny = [\"bash(cat:*)\"]\n");
    shell(&ci, replay).ends_with(1);
    let differs = report(&ci)["divergence"].clone();
    assert_eq!((&differs["step"], &differs["what"]), (&json!(2), &json!("result")), "{differs}");
}

#[test]
fn another_project_or_another_result_than_in_the_bundle_ends_with_1() {
    let [replay] = &documented("--json")[..] else { panic!() };
    for (change, step) in [
        ("printf 'zero\\n' > top/parser.txt", 1),
        ("sed -i '/\"tool_result\"/s/two/three/' top/session.jsonl", 2),
    ] {
        let (ci, bundle) = elsewhere(&pinned());
        let bundle = bundle.display();
        let repack = format!(
            "set -e; mkdir top; tar tzf '{bundle}' > members; tar xzf '{bundle}' -C top; f=$(find top -name parser.txt); \
             l=$(find top -name '*.jsonl'); test -f \"$f\"; test -f \"$l\"; {}; \
             tar czf '{bundle}' -C top --no-recursion -T $PWD/members; rm -r top members",
            change.replace("top/parser.txt", "\"$f\"").replace("top/session.jsonl", "\"$l\"")
        );
        shell(&ci, &repack).ends_with(0);
        shell(&ci, replay).ends_with(1);
        let differs = report(&ci)["divergence"].clone();
        let found = (&differs["step"], &differs["what"]);
        assert_eq!(found, (&json!(step), &json!("result")), "{differs}");
    }
}
