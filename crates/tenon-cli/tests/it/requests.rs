//! What the real program sends: how much, and how little of it changes from step to step.

use serde_json::json;

use crate::{
    fake_server::{FakeServer, Turn},
    program::{Place, Run},
};

/// The most bytes of the first request for "hi" with all six tools, headers included.
const FIRST_REQUEST_BYTES_MAX: usize = 6 * 1024;

fn requests(place: &Place, model: &str, server: &FakeServer) -> Vec<(usize, String)> {
    let mut command = place.tenon(&["-p", "--model", model, "hi"]);
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", server.url());
    command.env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", server.url());
    Run::of(command.output().unwrap()).ends_with(0);
    server
        .requests()
        .iter()
        .map(|request| {
            let head: usize =
                request.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
            (head + request.body.len(), request.text())
        })
        .collect()
}

#[test]
fn the_first_request_with_all_six_tools_is_at_most_6_kb_on_the_wire() {
    let server = FakeServer::anthropic(vec![Turn::text("hello")]);
    let (bytes, body) = requests(&Place::new(), "anthropic/claude-sonnet-4-5", &server).remove(0);
    for tool in ["bash", "read_file", "write_file", "edit_file", "grep", "glob"] {
        assert!(body.contains(&format!("\"name\":\"{tool}\"")), "{tool}: {body}");
    }
    assert!(bytes <= FIRST_REQUEST_BYTES_MAX, "{bytes} bytes: {body}");
}

#[test]
fn what_was_sent_once_is_sent_again_byte_for_byte_cache_markers_apart() {
    let turns = || {
        vec![
            Turn::of_call("bash", json!({"command": "echo 中文 '\"'"})),
            Turn::of_call("read_file", json!({"path": "missing"}))
                .call("glob", json!({"pattern": "*"})),
            Turn::of_call("write_file", json!({"path": "a", "content": "</x>\r\n"})),
            Turn::text("done"),
        ]
    };
    for (model, server) in [
        ("anthropic/claude-sonnet-4-5", FakeServer::anthropic(turns())),
        ("openai/gpt-x", FakeServer::openai(turns())),
    ] {
        let bodies: Vec<String> = requests(&Place::new(), model, &server)
            .into_iter()
            .map(|(_, body)| body.replace(r#","cache_control":{"type":"ephemeral"}"#, ""))
            .collect();
        assert_eq!(bodies.len(), 4, "{model}");
        for (before, after) in bodies.iter().zip(bodies.iter().skip(1)) {
            // The end of the last message; what stands behind the messages holds no list.
            let end = before.rfind("}]").unwrap();
            assert!(after.starts_with(&before[..=end]), "{model}:\n{before}\n{after}");
        }
    }
}
