//! Pictures: sent, named in the log by digest, kept beside it, and sent again the same.

use std::{os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use tenon_agent::{Masking, Prompt, SessionLog, Tools, remove_session};
use tenon_model::{ContentBlock, Conversation, Image, KnownValue};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, bench_with, text};

fn picture() -> Image {
    // Long enough that its base64 stands out, and with a value in it that is masked elsewhere.
    let rest = b"s3cret-word-0123".repeat(40);
    Image::new(&[b"GIF89a\x20\x03\x58\x02\0\0\0", rest.as_slice()].concat()).unwrap()
}

fn shown(words: &str) -> Prompt {
    Prompt { text: words.into(), images: vec![picture()], ..Prompt::default() }
}

/// Says `prompt` in a session that is new, or goes on if `id` says which.
async fn say(folder: &Path, id: Option<&str>, prompt: Prompt) -> (Conversation, String) {
    let (log, resumed) = match id {
        Some(id) => {
            SessionLog::open(folder, id).map(|(log, session)| (log, Some(session))).unwrap()
        }
        None => (SessionLog::create(folder).unwrap(), None),
    };
    let id = log.id().to_owned();
    let mut bench: Bench = bench_with(vec![text("I see.")], Tools::new(), |options| {
        options.masking =
            Masking::new(|| vec![KnownValue::new("s3cret-word-0123", "K", "the environment")]);
        (options.log, options.resumed) = (Some(log), resumed);
    });
    bench.agent.prompt(prompt, &CancellationToken::new()).await.unwrap();
    let requests = bench.provider.requests.lock().unwrap();
    (requests[0].conversation.clone(), id)
}

fn kept(folder: &Path, id: &str) -> std::path::PathBuf {
    folder.join(format!("{id}.images")).join(picture().sha256)
}

#[tokio::test]
async fn a_picture_is_logged_by_digest_and_sent_again_the_same() {
    let folder = tempfile::tempdir().unwrap();
    // The words have something to mask, the picture does not.
    let (first, id) = say(folder.path(), None, shown("what is s3cret-word-0123?")).await;
    assert_eq!(first[0].content[0], ContentBlock::Image(picture()));
    assert!(!first[0].text().contains("s3cret"), "{}", first[0].text());
    let log = std::fs::read_to_string(folder.path().join(format!("{id}.jsonl"))).unwrap();
    assert!(log.contains(&picture().sha256) && !log.contains(&picture().data[..80]));
    assert!(log.contains("image: GIF image, 800 x 600 pixels, 653 bytes"), "{log}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = kept(folder.path(), &id);
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let (again, _) = say(folder.path(), Some(&id), "and now?".into()).await;
    assert_eq!(again[0], first[0]);
}

#[tokio::test]
async fn a_fork_has_the_pictures_and_what_is_removed_takes_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (first, id) = say(folder.path(), None, shown("one")).await;
    let (log, _) = SessionLog::fork(folder.path(), &id).unwrap();
    let fork = log.id().to_owned();
    drop(log);
    remove_session(folder.path(), &folder.path().join("results"), &id, || ()).unwrap();
    assert!(!kept(folder.path(), &id).parent().unwrap().exists());
    let (again, _) = say(folder.path(), Some(&fork), "two".into()).await;
    assert_eq!(again[0], first[0]);
    remove_session(folder.path(), &folder.path().join("results"), &fork, || ()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_picture_that_is_lost_or_was_changed_leaves_a_sentence() {
    for change in ["lost", "changed"] {
        let folder = tempfile::tempdir().unwrap();
        let (_, id) = say(folder.path(), None, shown("one")).await;
        match change {
            "lost" => std::fs::remove_file(kept(folder.path(), &id)).unwrap(),
            _ => std::fs::write(kept(folder.path(), &id), b"GIF89a\x01\0\x01\0\0\0\0").unwrap(),
        }
        let (again, _) = say(folder.path(), Some(&id), "two".into()).await;
        let lost = "(an image was here, whose file is lost)".to_owned();
        assert_eq!(again[0].content[0], ContentBlock::Text { text: lost }, "{change}");
    }
}

#[tokio::test]
async fn a_rewind_and_a_second_turn_keep_the_pictures_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(folder.path()).unwrap();
    let replies = ["one", "two", "three"].map(text).to_vec();
    let mut bench = bench_with(replies, Tools::new(), |options| options.log = Some(log));
    let cancel = CancellationToken::new();
    bench.agent.prompt(shown("first"), &cancel).await.unwrap();
    bench.agent.prompt("second", &cancel).await.unwrap();
    assert_eq!(bench.agent.rewind(1).unwrap(), 1);
    bench.agent.prompt("third", &cancel).await.unwrap();
    let requests = bench.provider.requests.lock().unwrap();
    assert!(Arc::ptr_eq(&requests[0].conversation[0], &requests[1].conversation[0]));
    assert_eq!(requests[0].conversation[0], requests[2].conversation[0]);
}
