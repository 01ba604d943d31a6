//! The open items of the model's last list stay word for word, whatever its summaries say.

use tenon_agent::CompactionCause;
use tokio_util::sync::CancellationToken;

use super::{all_text, asks_for_summary, bench};
use crate::support::text;

#[tokio::test]
async fn open_items_are_in_the_request_after_many_summaries_until_they_are_ticked() {
    let mut bench = bench(100_000, |request| {
        let asked = request.conversation.last().unwrap().text();
        match asked.as_str() {
            _ if asks_for_summary(request) => text("Summary."),
            "plan" => {
                text("- [x] read it\n- [ ] rename `frobnicate` in lib.rs, 第17行\n- [ ] tell them")
            }
            "tell them" => text("Told.\n\n- [x] tell them"),
            "rename" => text("- [x] rename `frobnicate` in lib.rs, 第17行"),
            _ => text("on"),
        }
    });
    let (rename, tell) = ("- [ ] rename `frobnicate` in lib.rs, 第17行", "- [ ] tell them");
    for (prompt, open) in [
        ("plan", &[rename, tell][..]),
        ("one", &[rename, tell][..]),
        ("two", &[rename, tell][..]),
        ("three", &[rename, tell][..]),
        ("tell them", &[rename][..]),
        ("four", &[rename][..]),
        ("rename", &[][..]),
        ("five", &[][..]),
    ] {
        bench.prompt(prompt).await;
        bench.agent.compact(None, &CancellationToken::new()).await.unwrap();
        let made = bench.compactions().pop().unwrap();
        assert_eq!((made.cause, made.has_summary()), (CompactionCause::Asked, true));
        let words = all_text(&bench.logged());
        for item in [rename, tell] {
            let expected = usize::from(open.contains(&item));
            assert_eq!(words.matches(item).count(), expected, "{prompt}: {words}");
        }
    }
}

#[tokio::test]
async fn what_of_the_person_is_cut_does_not_count_as_kept_word_for_word() {
    let mut bench = bench(4_000, |request| match asks_for_summary(request) {
        true => text("Summary."),
        false => text("done"),
    });
    bench.prompt("never touch vendor/").await;
    bench.prompt(&"A long text that has no room. ".repeat(300)).await;
    for again in ["", "again"] {
        bench.agent.compact(None, &CancellationToken::new()).await.unwrap();
        let made = bench.compactions().pop().unwrap();
        assert_eq!((made.prompts_kept, made.prompts_cut), (1 + again.len().min(1), 1));
        let words = all_text(&bench.logged());
        assert!(words.contains(" word for word, 1 with the middle left out"), "{words}");
        assert!(!words.contains("said, word for word"), "{words}");
        bench.prompt("again").await;
    }
}
