//! What becomes of a request that failed: the reply goes on, the conversation is made shorter, or
//! the turn ends with what the person can do.

use tenon_model::{ProviderError, ProviderErrorKind};

/// What a failed request leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Part of the reply was shown, and the rest may be had.
    GoOn,
    /// The conversation is too long, which was not tried to mend yet.
    Compact,
    /// The turn ends.
    End,
}

/// What is known when a request fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    /// Part of the reply was shown.
    pub shown: bool,
    /// The conversation was made shorter since the last reply.
    pub compacted: bool,
    /// The provider answered before in this turn.
    pub answered: bool,
}

/// Decides what `error` leads to.
pub(super) fn after(error: &ProviderError, now: Circumstances) -> After {
    match error.kind {
        ProviderErrorKind::ContextTooLong if !now.shown && !now.compacted => After::Compact,
        _ if now.shown && error.is_transient() => After::GoOn,
        _ => After::End,
    }
}

/// Adds to an error that ends a turn what the person could not know.
pub(super) fn explained(error: ProviderError, now: Circumstances) -> ProviderError {
    match error.kind {
        ProviderErrorKind::Unauthorized | ProviderErrorKind::Forbidden if now.answered => {
            let before = error.hint.as_deref().map(|hint| format!("{hint}; ")).unwrap_or_default();
            let hint = format!(
                "{before}it worked until now, so it may have expired or been withdrawn. Nothing is \
                 lost: the session goes on from here with the next prompt"
            );
            error.with_hint(hint)
        }
        ProviderErrorKind::ContextTooLong if now.compacted => error.with_hint(
            "the conversation was made shorter already and is still too long for this model: start \
             a new session, or set `context_window` to what the model can take",
        ),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProviderErrorKind as Kind;

    const FIRST: Circumstances = Circumstances { shown: false, compacted: false, answered: false };

    #[test]
    fn each_failure_has_its_consequence() {
        let shown = Circumstances { shown: true, ..FIRST };
        let compacted = Circumstances { compacted: true, ..FIRST };
        let cases = [
            (Kind::Dropped, FIRST, After::End),
            (Kind::Dropped, shown, After::GoOn),
            (Kind::Stalled, shown, After::GoOn),
            (Kind::Overloaded, shown, After::GoOn),
            (Kind::Protocol, shown, After::End),
            (Kind::QuotaExhausted, shown, After::End),
            (Kind::ContextTooLong, FIRST, After::Compact),
            (Kind::ContextTooLong, compacted, After::End),
            (Kind::ContextTooLong, shown, After::End),
            (Kind::Unauthorized, FIRST, After::End),
        ];
        for (kind, now, expected) in cases {
            assert_eq!(after(&ProviderError::new(kind, "x"), now), expected, "{kind:?} {now:?}");
        }
    }

    #[test]
    fn a_key_that_worked_is_told_from_one_that_never_did() {
        let error = || ProviderError::new(Kind::Unauthorized, "401").with_hint("check the key");
        assert_eq!(explained(error(), FIRST), error());
        let later = explained(error(), Circumstances { answered: true, ..FIRST });
        let hint = later.hint.unwrap();
        assert!(hint.starts_with("check the key; it worked until now"), "{hint}");
    }
}
