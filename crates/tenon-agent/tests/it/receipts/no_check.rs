//! Receipts where no check is known, or none is wanted.

use tenon_agent::{CoreToolOptions, Unproven, Verification, core_tools};
use tenon_sandbox::{Journal, JournalOptions};

use super::{CHECK, go, requests, run, state, write};
use crate::support::{Bench, Reply, bench_with, text};

/// An agent that is told what commands change, and the folder that this is kept in.
fn journaled(replies: Vec<Reply>) -> (Bench, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let bench = bench_with(replies, core_tools(CoreToolOptions::default()), |options| {
        let wanted = JournalOptions::new(folder.path());
        options.journal = Some(Journal::open(&options.workspace, wanted).unwrap());
    });
    (bench, folder)
}

#[tokio::test]
async fn with_the_setting_off_there_is_no_receipt() {
    for verify in [vec![CHECK.to_owned()], Vec::new()] {
        let tools = core_tools(CoreToolOptions::default());
        let mut bench = bench_with(vec![write("a"), text("done")], tools, |options| {
            options.verify = verify;
            options.receipts = false;
        });
        assert_eq!((state(&go(&mut bench).await), requests(&bench)), (None, 2));
    }
}

#[tokio::test]
async fn without_a_known_check_a_change_is_unverified_and_nothing_is_asked() {
    let outside = || run("mkdir -p target .git && touch target/a .git/a; ls");
    for (reply, expected) in [
        (write("a"), Some(Verification::Unverified)),
        (run("echo a > b"), Some(Verification::Unverified)),
        (run("mkdir target && mv mine target/"), Some(Verification::Unverified)),
        (run("ls"), None),
        (outside(), None),
    ] {
        let (mut bench, _state) = journaled(vec![reply.clone(), text("done")]);
        std::fs::write(bench.folder.path().join("mine"), "").unwrap();
        let outcome = go(&mut bench).await;
        assert_eq!((state(&outcome), requests(&bench)), (expected, 2), "{reply:?}");
        let reason = outcome.receipt.and_then(|receipt| receipt.reason);
        assert_eq!(reason, expected.map(|_| Unproven::NoCheckKnown), "{reply:?}");
    }
}

#[tokio::test]
async fn a_check_that_the_turn_gave_the_project_is_asked_for() {
    let makefile = run("printf 'check:\\n\\ttrue\\n' > Makefile");
    let replies = vec![makefile, text("done"), run("make check"), text("checked")];
    let (mut bench, _state) = journaled(replies);
    let outcome = go(&mut bench).await;
    assert_eq!((state(&outcome), requests(&bench)), (Some(Verification::Verified), 4));
}
