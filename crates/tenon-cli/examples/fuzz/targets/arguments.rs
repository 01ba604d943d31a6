//! The arguments of a call: from fragments of text to what a core tool takes.

use tenon_agent::{CoreToolOptions, core_tools};
use tenon_model::{ContentBlock, Fold, StreamEvent, ToolCall};
use tenon_sandbox::Workspace;

use super::{Check, Target, shape, temporary_folder};

pub(crate) const TARGET: Target = Target {
    name: "arguments",
    promise: "arguments are the same however they are cut, and what was taken is taken again unchanged",
    seeds: &[
        br#"0{"command":"ls -l","timeout":5}"#,
        br#"1{"path":"src/main.rs","offset":"10","limit":5.0}"#,
        br#"2{"file_path":"a.txt","content":"x\ny"}"#,
        br#"3{"path":"a","old_string":"x","new_string":"y","replace_all":"true"}"#,
        br#"4{"pattern":"fn \\w+","path":"src","-i":true,"context":2}"#,
        br#"5"{\"pattern\":\"**/*.rs\"}""#,
        b"0null",
    ],
    words: &[
        "path",
        "file_path",
        "content",
        "old_text",
        "new_text",
        "edits",
        "replace_all",
        "command",
        "timeout",
        "pattern",
        "glob",
        "ignore_case",
        "context",
        "files_only",
        "limit",
        "offset",
        "null",
        "true",
        "\"false\"",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\\"",
        "\\u0000",
        "\\ud83d",
        "汉",
        "../",
        "/etc/passwd",
        "a.txt",
    ],
    start: || -> Check {
        let folder = temporary_folder();
        let Ok(workspace) = Workspace::open(folder.path()) else { panic!("no workspace") };
        let tools = core_tools(CoreToolOptions::default());
        let names: Vec<String> = tools.specs().into_iter().map(|spec| spec.name).collect();
        Box::new(move |input| {
            // The folder lives as long as what looks into it.
            let _ = &folder;
            let (first, text) = input.split_first().unwrap_or((&b'0', b""));
            let text = String::from_utf8_lossy(text);
            let index = usize::from(first.wrapping_sub(b'0')) % names.len();
            let Some(tool) = names.get(index).and_then(|name| tools.get(name)) else { return 0 };
            let call = folded(vec![text.clone().into_owned()]);
            let letters =
                text.char_indices().map(|(at, letter)| text[at..at + letter.len_utf8()].to_owned());
            assert_eq!(call, folded(letters.collect()), "a letter at a time");
            if call.fault.is_some() {
                return shape(&(index, format!("{:?}", call.fault).len()));
            }
            match tool.prepare(&call.arguments, &workspace) {
                Ok(prepared) => {
                    let again = tool.prepare(&prepared.arguments, &workspace);
                    assert_eq!(
                        again.map(|again| again.arguments).ok().as_ref(),
                        Some(&prepared.arguments)
                    );
                    let action = format!("{:?}", prepared.action);
                    let names: Vec<String> = prepared
                        .arguments
                        .as_object()
                        .into_iter()
                        .flatten()
                        .map(|(name, _)| name.clone())
                        .collect();
                    shape(&(index, names, action.split(['{', '(']).next()))
                }
                Err(error) => shape(&(index, error.to_string().split("got").next())),
            }
        })
    },
};

fn folded(fragments: Vec<String>) -> ToolCall {
    let mut fold = Fold::default();
    fold.push(StreamEvent::ToolCallStarted { index: 0, id: "a".into(), name: "tool".into() });
    for arguments in fragments {
        fold.push(StreamEvent::ToolCallDelta { index: 0, arguments });
    }
    fold.push(StreamEvent::ToolCallEnded { index: 0 });
    match fold.finish(&[]).message.content.as_slice() {
        [ContentBlock::ToolCall(call)] => call.clone(),
        other => panic!("not one call: {other:?}"),
    }
}
