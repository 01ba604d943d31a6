//! The reader of session logs.

use std::{error::Error, fs, io};

use tenon_agent::{LogError, Record, read_session};

use super::{Check, Target, shape, size, temporary_folder};

pub(crate) const TARGET: Target = Target {
    name: "log",
    promise: "a damaged log is read, or refused as of a newer format: every line is an event or counted as skipped, and events survive being written",
    seeds: &[
        br#"{"time_ms":1,"type":"session_started","version":1,"session":"a","workspace":["/w"],"model":"m/x","tenon":"0.1.0"}
{"time_ms":2,"type":"user_message","message":{"role":"user","content":[{"type":"text","text":"hi"}]},"prompt":"hi"}
{"time_ms":3,"type":"assistant_message","message":{"role":"assistant","content":[{"type":"tool_call","id":"c","name":"bash","arguments":{"command":"ls"}}]},"stop":"tool_use","usage":{"input":1,"output":2},"duration_ms":4}
{"time_ms":4,"type":"tool_result","call_id":"c","content":"x","view":{"shape":"text","text":"x","lines":1},"duration_ms":1}
{"time_ms":5,"type":"turn_ended","reason":"finished","answer":"ok","usage":{"input":1,"output":2},"steps":1,"duration_ms":9}
"#,
        br#"{"time_ms":1,"type":"later"}
{"time_ms":1,"ty"#,
    ],
    words: &[
        "\"type\":", "notice", "request_failed", "call_started", "call_decided", "\"shape\":\"diff\"", "null", "{}", "[]",
        "\"thinking\"", "\"image\"", "\"tool_result\"", "\\u0000", "\n", "\r\n", "\"is_error\":true", "1e999", "汉",
    ],
    start: || -> Check {
        let folder = temporary_folder();
        Box::new(move |input| {
            assert!(fs::write(folder.path().join("a.jsonl"), input).is_ok(), "the disk is full");
            let session = match read_session(folder.path(), "a") {
                Ok(session) => session,
                Err(error) if is_newer(&error) => return shape(&"newer"),
                Err(error) => panic!("a log that is there is not read: {error:?}"),
            };
            let lines = input.split_inclusive(|byte| *byte == b'\n').count();
            assert_eq!(session.records.len() + session.skipped, lines, "lines are lost");
            for record in &session.records {
                let again = serde_json::to_string(record).ok().and_then(|text| serde_json::from_str::<Record>(&text).ok());
                assert_eq!(again.as_ref(), Some(record), "an event that was written is read otherwise");
            }
            let kinds: Vec<String> = session.records.iter().map(|record| format!("{:?}", record.event)).collect();
            let kinds = kinds.iter().take(5).map(|kind| kind.chars().take(24).collect::<String>());
            shape(&(kinds.collect::<Vec<_>>(), size(session.skipped)))
        })
    },
};

/// Returns whether a log was refused because a newer version of the program wrote it.
fn is_newer(error: &LogError) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::Unsupported)
}
