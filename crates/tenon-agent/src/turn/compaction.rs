//! Whether the conversation must be made shorter before the next request. Below the limit nothing
//! is rewritten; twice in a row would help nobody.

use crate::{context::Space, event::CompactionCause};

/// What is known about compaction in this turn.
#[derive(Debug, Default)]
pub(super) struct Compactions {
    /// One was made, or tried, since the last reply.
    since_reply: bool,
    /// One did not bring the conversation below the limit: another would not either.
    futile: bool,
}

impl Compactions {
    /// Returns why the conversation must be made shorter now, if it must.
    pub(super) fn due(&self, space: &Space) -> Option<CompactionCause> {
        (space.is_short() && !self.since_reply && !self.futile).then_some(CompactionCause::Window)
    }

    /// Takes in that one was made or tried, and whether that `helped`.
    pub(super) fn made(&mut self, helped: bool) {
        self.since_reply = true;
        self.futile = !helped;
    }

    /// Takes in that the model answered.
    pub(super) fn answered(&mut self) {
        self.since_reply = false;
    }

    /// Returns whether one was made or tried since the last reply.
    pub(super) fn since_reply(&self) -> bool {
        self.since_reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_near_the_window_and_not_twice_without_a_reply_between() {
        let space = |used| Space { used, window: 10_000, reply_max: 1_000 };
        let mut compactions = Compactions::default();
        assert_eq!(compactions.due(&space(8_000)), None);
        assert_eq!(compactions.due(&space(9_000)), Some(CompactionCause::Window));
        compactions.made(true);
        assert_eq!(compactions.due(&space(9_000)), None);
        compactions.answered();
        assert_eq!(compactions.due(&space(9_000)), Some(CompactionCause::Window));
        compactions.made(false);
        compactions.answered();
        assert_eq!(compactions.due(&space(9_000)), None, "it would not help either");
    }
}
