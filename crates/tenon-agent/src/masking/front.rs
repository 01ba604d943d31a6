//! A front end that never sees a known value: the last door before the screen.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use tenon_model::MaskStream;

use super::Masking;
use crate::{
    event::{CallEvent, Live, SessionEvent, Update},
    input::{Answer, FrontEnd, Question},
};

/// Masks what is shown as it comes; a value may come in pieces.
pub(crate) struct MaskedFront {
    inner: Arc<dyn FrontEnd>,
    masking: Masking,
    open: Mutex<Open>,
}

/// Texts of which more may come.
#[derive(Default)]
struct Open {
    prose: Option<(Prose, MaskStream)>,
    calls: HashMap<String, MaskStream>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prose {
    Text,
    Thinking,
}

impl Prose {
    fn shown(self, text: String) -> Live {
        match self {
            Self::Text => Live::TextDelta(text),
            Self::Thinking => Live::ThinkingDelta(text),
        }
    }
}

impl MaskedFront {
    pub(crate) fn new(inner: Arc<dyn FrontEnd>, masking: Masking) -> Self {
        Self { inner, masking, open: Mutex::default() }
    }

    fn show(&self, live: Live) {
        let is_empty = match &live {
            Live::TextDelta(text) | Live::ThinkingDelta(text) | Live::CallOutput { text, .. } => {
                text.is_empty()
            }
            Live::Progress(_) | Live::Retrying { .. } | Live::CallWaits { .. } => false,
        };
        if !is_empty {
            self.inner.update(Update::Live(live));
        }
    }

    fn show_prose(&self, open: &mut Open, kind: Prose, text: &str) {
        if open.prose.as_ref().is_some_and(|(known, _)| *known != kind) {
            self.end_prose(open);
        }
        let (_, stream) = open.prose.get_or_insert_with(|| (kind, self.masking.stream()));
        self.show(kind.shown(stream.push(text)));
    }

    fn end_prose(&self, open: &mut Open) {
        if let Some((kind, mut stream)) = open.prose.take() {
            self.show(kind.shown(stream.finish()));
        }
    }

    fn live(&self, open: &mut Open, live: Live) {
        match live {
            Live::TextDelta(text) => self.show_prose(open, Prose::Text, &text),
            Live::ThinkingDelta(text) => self.show_prose(open, Prose::Thinking, &text),
            Live::CallOutput { call_id, text } => {
                let stream = open.calls.entry(call_id.clone());
                let text = stream.or_insert_with(|| self.masking.stream()).push(&text);
                self.show(Live::CallOutput { call_id, text });
            }
            Live::Progress(text) => self.show(Live::Progress(self.masking.mask(text))),
            retrying @ Live::Retrying { .. } => {
                self.end_prose(open);
                self.show(retrying);
            }
            waits @ Live::CallWaits { .. } => self.show(waits),
        }
    }
}

#[async_trait]
impl FrontEnd for MaskedFront {
    fn update(&self, update: Update) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match update {
            Update::Live(live) => self.live(&mut open, live),
            Update::Stored(record) => {
                self.end_prose(&mut open);
                if let SessionEvent::Call(CallEvent::ToolResult { call_id, .. }) = &record.event
                    && let Some(mut stream) = open.calls.remove(call_id)
                {
                    let (call_id, text) = (call_id.clone(), stream.finish());
                    self.show(Live::CallOutput { call_id, text });
                }
                self.inner.update(Update::Stored(record));
            }
        }
    }

    async fn ask(&self, question: Question) -> Answer {
        // It is only shown; the call itself stays as it is.
        self.inner.ask(self.masking.question(question)).await
    }

    fn has_person(&self) -> bool {
        self.inner.has_person()
    }
}

#[cfg(test)]
mod tests {
    use tenon_model::KnownValue;

    use super::*;
    use crate::{
        event::{Record, TurnEvent},
        tools::testing::Bench,
    };

    /// Keeps what it is shown.
    #[derive(Default)]
    struct Page(Mutex<String>);

    #[async_trait]
    impl FrontEnd for Page {
        fn update(&self, update: Update) {
            let text = match update {
                Update::Live(
                    Live::TextDelta(text)
                    | Live::ThinkingDelta(text)
                    | Live::CallOutput { text, .. }
                    | Live::Progress(text),
                ) => text,
                Update::Live(Live::Retrying { .. }) => "retrying".into(),
                Update::Live(Live::CallWaits { .. }) => "waits".into(),
                Update::Stored(_) => "|".into(),
            };
            self.0.lock().unwrap().push_str(&text);
        }

        async fn ask(&self, question: Question) -> Answer {
            Answer::Deny(Some(question.subject))
        }
    }

    fn check(lives: Vec<Live>, expected: &str) {
        let masking = Masking::new(|| vec![KnownValue::new("s3cret-word-0123", "K", "f")]);
        masking.open(&Bench::new().context.workspace);
        let page = Arc::new(Page::default());
        let front = MaskedFront::new(Arc::clone(&page) as Arc<dyn FrontEnd>, masking);
        lives.into_iter().for_each(|live| front.update(Update::Live(live)));
        let event = TurnEvent::Notice { text: "x".into() }.into();
        front.update(Update::Stored(Arc::new(Record { time_ms: 1, event })));
        assert_eq!(*page.0.lock().unwrap(), expected);
    }

    #[test]
    fn a_value_that_comes_in_pieces_is_masked() {
        let text = |text: &str| Live::TextDelta(text.into());
        check(
            vec![text("a s3c"), text("ret-word-"), text("0123 b")],
            "a [masked: value of K from f] b|",
        );
        check(vec![text("a s3c"), text("ure")], "a s3cure|");
        check(vec![text("all s")], "all s|");
        check(vec![text("s3c"), Live::ThinkingDelta("ret".into())], "s3cret|");
        check(vec![Live::Progress("s3cret-word-0123".into())], "[masked: value of K from f]|");
        let call = |text: &str| Live::CallOutput { call_id: "1".into(), text: text.into() };
        check(
            vec![call("s3cret-"), text("x"), call("word-0123\n")],
            "x[masked: value of K from f]\n|",
        );
    }
}
