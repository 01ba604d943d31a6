//! Whether what was changed was checked, and whether the model is asked to do so: once, at the end
//! of a turn, and because of what happened, never because of words.

use tenon_model::Message;

use crate::{
    context::RUN_CHECK,
    event::{Continuation, ContinuationCause, Receipt, Unproven, Verification},
    layers::Stock,
};

/// What is known of checks in this turn.
#[derive(Debug, Default)]
pub(super) struct Checks {
    asked: bool,
    receipt: Option<Receipt>,
}

impl Checks {
    /// Takes in what there is when the model is done. Returns what the model is asked, if it is.
    pub(super) fn take(&mut self, stock: Option<&Stock>) -> Option<Continuation> {
        self.receipt = stock.and_then(receipt);
        let is_unverified =
            self.receipt.as_ref().is_some_and(|made| made.state == Verification::Unverified);
        let command = stock.and_then(|stock| stock.known.first())?;
        let changed = match stock.and_then(|stock| stock.reason.as_ref()) {
            None => String::new(),
            Some(Unproven::ChangedMeanwhile { file }) => {
                format!(" {file} changed while a check ran, and not by it.")
            }
            Some(Unproven::NotToldApart { file }) => {
                format!(" {file} changed while a check ran, and nobody saw whether by it.")
            }
            // To run it once more would prove as little.
            Some(_) => return None,
        };
        if !is_unverified || self.asked || stock.is_some_and(|stock| stock.not_started) {
            return None;
        }
        self.asked = true;
        let words = format!(
            "{RUN_CHECK}{changed} Run `{command}` now, by itself, so that its exit code is seen, and say in a \
             sentence what came of it. If it cannot be run here, say why.)"
        );
        Some(Continuation {
            cause: ContinuationCause::NotChecked,
            reason: Some(command.clone()),
            message: Message::user(words),
            number: 1,
            number_max: 1,
        })
    }

    pub(super) fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_ref()
    }
}

/// Returns the receipt for `stock`; none if nothing was changed and nothing checked.
pub(crate) fn receipt(stock: &Stock) -> Option<Receipt> {
    let state = match stock.checks.as_slice() {
        [] if !stock.changed => return None,
        [] => Verification::Unverified,
        runs if runs.iter().any(|run| run.exit_code != 0) => Verification::Failed,
        _ if stock.reason.is_some() => Verification::Unverified,
        _ => Verification::Verified,
    };
    let Stock { reason, checks, tree, .. } = stock.clone();
    Some(Receipt { state, reason, checks, tree })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CheckRun;

    fn stock(changed: bool, exit_codes: &[i32]) -> Stock {
        let run = |exit_code: &i32| CheckRun {
            command: format!("check {exit_code}"),
            exit_code: *exit_code,
            ended_ms: 1,
            duration_ms: 1,
            tree: "t".into(),
        };
        let checks = exit_codes.iter().map(run).collect();
        let (known, tree) = (vec!["cargo test".into()], "t".into());
        Stock { changed, checks, known, not_started: false, reason: None, tree }
    }

    #[test]
    fn a_turn_is_stamped_by_what_ran_since_the_last_change() {
        let cases: [(bool, &[i32], Option<Verification>, bool); 6] = [
            (false, &[], None, false),
            (true, &[], Some(Verification::Unverified), true),
            (true, &[0], Some(Verification::Verified), false),
            (true, &[0, 101], Some(Verification::Failed), false),
            (false, &[0], Some(Verification::Verified), false),
            (false, &[1], Some(Verification::Failed), false),
        ];
        for (changed, exit_codes, state, asks) in cases {
            let mut checks = Checks::default();
            let asked = checks.take(Some(&stock(changed, exit_codes)));
            assert_eq!(asked.is_some(), asks, "{changed} {exit_codes:?}");
            assert_eq!(checks.receipt().map(|made| made.state), state, "{changed} {exit_codes:?}");
        }
    }

    #[test]
    fn a_check_that_proves_nothing_leaves_a_turn_unverified_and_is_not_asked_for_again() {
        let reason = Some(Unproven::TooManyEntries { entries_max: 1 });
        for (exit_codes, state) in [
            (&[][..], Verification::Unverified),
            (&[0][..], Verification::Unverified),
            (&[0, 1][..], Verification::Failed),
        ] {
            let mut checks = Checks::default();
            let stock = Stock { reason: reason.clone(), ..stock(true, exit_codes) };
            assert_eq!(checks.take(Some(&stock)), None, "{exit_codes:?}");
            let receipt = checks.receipt().unwrap();
            assert_eq!((receipt.state, &receipt.reason), (state, &reason), "{exit_codes:?}");
        }
    }

    #[test]
    fn the_model_is_asked_once_and_only_for_a_known_check() {
        let mut checks = Checks::default();
        let asked = checks.take(Some(&stock(true, &[]))).unwrap();
        assert!(asked.message.text().contains("`cargo test`"));
        assert_eq!(checks.take(Some(&stock(true, &[]))), None);
        let unknown = Stock { known: Vec::new(), ..stock(true, &[]) };
        assert_eq!(Checks::default().take(Some(&unknown)), None);
        assert_eq!(Checks::default().take(None), None);
    }
}
