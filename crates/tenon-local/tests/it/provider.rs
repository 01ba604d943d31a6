//! The provider on the tiny model: its weights are invented, so only the form of replies is held.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use futures::{StreamExt, executor::block_on};
use libtest_mimic::Trial;
use tenon_local::{LocalOptions, LocalProvider, prepare};
use tenon_model::{
    Message, Provider, ProviderError, ProviderErrorKind, Request, StopReason, StreamEvent, Usage,
};

use crate::{tiny, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_reply_is_a_call_or_an_answer", a_reply_is_a_call_or_an_answer),
        trial("a_second_request_reads_only_what_is_new", a_second_request_reads_only_what_is_new),
        trial("a_dropped_stream_ends_the_reply", a_dropped_stream_ends_the_reply),
        trial("the_saved_prefix_is_made_once_and_private", the_saved_prefix_is_made_once),
        trial("a_damaged_saved_prefix_is_made_anew", a_damaged_saved_prefix_is_made_anew),
        trial("a_missing_model_is_an_error_of_the_stream", a_missing_model_is_an_error),
        trial("a_conversation_too_long_is_said_so", a_conversation_too_long_is_said_so),
    ]
}

fn options(folder: &Path) -> LocalOptions {
    let path = folder.join("tiny.gguf");
    if !path.exists() {
        tiny::write(&path, "qwen2");
    }
    LocalOptions { threads: Some(2), ..LocalOptions::new(path, folder.join("cache")) }
}

fn request(prompt: &str, output_tokens_max: u32) -> Request {
    Request {
        system: "".into(),
        tools: [].into(),
        conversation: vec![Arc::new(Message::user(prompt))],
        output_tokens_max,
    }
}

fn events(provider: &LocalProvider, request: Request) -> Vec<Result<StreamEvent, ProviderError>> {
    block_on(provider.stream(request).collect())
}

fn usage(events: &[Result<StreamEvent, ProviderError>]) -> Usage {
    let usage = events.iter().rev().find_map(|event| match event {
        Ok(StreamEvent::Usage(usage)) => Some(*usage),
        _ => None,
    });
    usage.unwrap()
}

fn a_reply_is_a_call_or_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let provider = LocalProvider::new(options(folder.path()));
    let events = events(&provider, request("Read a.txt", 60));
    let Some(Ok(StreamEvent::Stopped { reason })) = events.last() else { panic!("{events:?}") };
    let calls =
        events.iter().filter(|e| matches!(e, Ok(StreamEvent::ToolCallEnded { .. }))).count();
    assert_eq!(calls == 1, *reason == StopReason::ToolCalls);
    assert!(usage(&events).output > 0);
    assert!(
        matches!(&events[0], Ok(StreamEvent::Progress { text }) if text.starts_with("Loading"))
    );
}

fn a_second_request_reads_only_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let provider = LocalProvider::new(options(folder.path()));
    let first = usage(&events(&provider, request("Read the file a.txt", 8)));
    let second = usage(&events(&provider, request("Read the file a.md", 8)));
    assert_eq!(first.input_all(), second.input_all() + 1);
    assert!(second.input < first.input, "{second:?} after {first:?}");
}

fn a_dropped_stream_ends_the_reply() {
    let folder = tempfile::tempdir().unwrap();
    let provider = LocalProvider::new(options(folder.path()));
    let mut stream = provider.stream(request("Read a.txt", 2_048));
    assert!(block_on(stream.next()).is_some());
    drop(stream);
    let events = events(&provider, request("Read b.txt", 8));
    assert!(matches!(events.last(), Some(Ok(StreamEvent::Stopped { .. }))));
}

fn saved(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder.join("cache")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn the_saved_prefix_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let mut heard = Vec::new();
    prepare(&options, &mut |done, all| heard.push((done, all))).unwrap();
    let (done, all) = *heard.last().unwrap();
    assert_eq!(done, all);
    let files = saved(folder.path());
    assert_eq!(files.len(), 1);
    assert_eq!(fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    heard.clear();
    prepare(&options, &mut |done, all| heard.push((done, all))).unwrap();
    assert_eq!(heard, []);
    let restored = events(&LocalProvider::new(options.clone()), request("Read a.txt", 40));
    let fresh_options = LocalOptions { cache_folder: folder.path().join("other"), ..options };
    let fresh = events(&LocalProvider::new(fresh_options), request("Read a.txt", 40));
    let replies = [restored, fresh].map(|mut events| {
        events.retain(|event| !matches!(event, Ok(StreamEvent::Progress { .. })));
        events
    });
    assert_eq!(replies[0], replies[1]);
}

fn a_damaged_saved_prefix_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    prepare(&options, &mut |_, _| {}).unwrap();
    let path = saved(folder.path()).remove(0);
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for damaged in [&flipped[..], &whole[..whole.len() / 2], b"", b"tenonkv"] {
        fs::write(&path, damaged).unwrap();
        let mut made = false;
        prepare(&options, &mut |_, _| made = true).unwrap();
        assert!(made);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

fn a_missing_model_is_an_error() {
    let options = LocalOptions::new("/nowhere/model.gguf".into(), "/nowhere/cache".into());
    let provider = LocalProvider::new(options);
    assert_eq!(provider.model(), "local/model");
    let error = events(&provider, request("Hello", 8)).pop().unwrap().unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::Local);
    assert!(error.message.contains("/nowhere/model.gguf"), "{error}");
}

fn a_conversation_too_long_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let provider = LocalProvider::new(options(folder.path()));
    let error = events(&provider, request(&"word ".repeat(2_000), 8)).pop().unwrap().unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::ContextTooLong);
}
