//! A reply that was cut short goes on by itself: the model is told where it was cut and writes the
//! rest. Bounded, because a model can be cut for ever.
//!
//! What was shown stays in the conversation, so nothing is shown twice; calls of a reply that broke
//! off are dropped, so none runs twice.

use tenon_model::Message;

use crate::{
    context::{GO_ON_AFTER_FAILURE, GO_ON_AFTER_LIMIT},
    event::{Continuation, ContinuationCause},
};

/// Replies in a row that may be cut before the turn ends: five of the largest are a long text, and
/// a connection that breaks five times in a row will break a sixth time.
const CUTS_MAX: u32 = 5;

/// What cut a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cut {
    ByLimit,
    /// The provider broke off, for this reason.
    ByFailure(String),
}

/// How many replies in a row were cut.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    in_a_row: u32,
}

impl Cuts {
    /// Takes in that a reply was whole.
    pub(super) fn whole(&mut self) {
        self.in_a_row = 0;
    }

    /// Returns whether the last reply was cut, so that the next one is its rest.
    pub(super) fn is_open(&self) -> bool {
        self.in_a_row > 0
    }

    /// Takes in that a reply was cut, and returns how it goes on, if it does.
    pub(super) fn cut(&mut self, cut: Cut) -> Option<Continuation> {
        if self.in_a_row >= CUTS_MAX {
            return None;
        }
        self.in_a_row += 1;
        let (cause, reason, words) = match cut {
            Cut::ByLimit => (ContinuationCause::OutputLimit, None, GO_ON_AFTER_LIMIT),
            Cut::ByFailure(reason) => {
                (ContinuationCause::Failure, Some(reason), GO_ON_AFTER_FAILURE)
            }
        };
        Some(Continuation {
            cause,
            reason,
            message: Message::user(words),
            number: self.in_a_row,
            number_max: CUTS_MAX,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_in_a_row_are_bounded_and_a_whole_reply_ends_the_row() {
        let mut cuts = Cuts::default();
        let mut next = || cuts.cut(Cut::ByLimit).map(|next| next.number);
        assert_eq!(
            [next(), next(), next(), next(), next(), next()].map(Option::unwrap_or_default),
            [1, 2, 3, 4, 5, 0]
        );
        assert!(cuts.is_open());
        cuts.whole();
        assert!(!cuts.is_open());
        let next = cuts.cut(Cut::ByFailure("lost".into())).unwrap();
        assert_eq!((next.number, next.reason.as_deref()), (1, Some("lost")));
        assert_eq!(next.message.text(), GO_ON_AFTER_FAILURE);
    }
}
