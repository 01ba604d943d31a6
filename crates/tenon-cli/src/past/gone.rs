//! Calls of a session whose changes are not kept any more, because room was made. The log still has what
//! they changed, so that nobody takes what is left for the whole.

use std::collections::HashSet;

use tenon_agent::CallChanges;
use tenon_sandbox::{CheckpointInfo, CheckpointKind, CheckpointState};

use super::{Past, failed};
use crate::{
    error::CliError,
    texts::{Sentence, Text},
};

/// A call that the log has, and the journal not any more.
#[derive(Debug, Clone)]
pub(crate) struct Gone {
    pub(crate) step: u32,
    pub(crate) started_ms: u64,
    /// The tool and its main argument.
    pub(crate) label: String,
    pub(crate) checkpoint: u64,
    pub(crate) changes: CallChanges,
}

impl Past {
    /// Returns the calls whose changes are not kept any more, the oldest first.
    pub(crate) fn gone(&self) -> Result<Vec<Gone>, CliError> {
        let infos = self.journal.checkpoints().map_err(failed)?;
        Ok(not_in(&infos, self.steps().into_told()))
    }

    /// Returns what stands above a list of calls, a line each: which steps are not kept any more and whether an undo of them
    /// can be taken back, and which folders cannot be opened; empty if there is nothing to say.
    pub(crate) fn notes(&self) -> Result<Vec<Sentence>, CliError> {
        let infos = self.journal.checkpoints().map_err(failed)?;
        let gone = not_in(&infos, self.steps().into_told());
        let is_undone = gone.iter().any(|call| call.is_undone(&infos));
        let undone = is_undone.then(|| Text::GoneUndone.into());
        Ok(said_of(&gone).into_iter().chain(undone).chain(self.unopened()?).collect())
    }

    /// Says of each folder that something was changed in and that cannot be opened why that is so.
    pub(crate) fn unopened(&self) -> Result<Vec<Sentence>, CliError> {
        let folders = self.journal.unopened_folders(&self.session).map_err(failed)?;
        let said = |(_, why)| Sentence::from(Text::Unopened).with_more(Sentence::of_library(&why));
        Ok(folders.into_iter().map(said).collect())
    }
}

/// Returns those of `told` that are not among the checkpoints any more.
pub(super) fn not_in(infos: &[CheckpointInfo], mut told: Vec<Gone>) -> Vec<Gone> {
    let kept: HashSet<u64> = infos.iter().map(|info| info.id.number()).collect();
    told.retain(|call| !kept.contains(&call.checkpoint));
    told
}

impl Gone {
    /// Whether an undo that stands took it back, which needs nothing of what has gone.
    pub(super) fn is_undone(&self, infos: &[CheckpointInfo]) -> bool {
        infos.iter().any(|info| match &info.kind {
            CheckpointKind::Undo { of } => {
                info.state == CheckpointState::Done
                    && of.iter().any(|id| id.number() == self.checkpoint)
            }
            CheckpointKind::Call => false,
        })
    }
}

/// Says in which steps the calls ran; nothing if there are none.
pub(super) fn said_of(gone: &[Gone]) -> Option<Sentence> {
    let mut steps: Vec<u32> = gone.iter().map(|call| call.step).collect();
    steps.sort_unstable();
    steps.dedup();
    let text = if steps.len() == 1 { Text::GoneStep } else { Text::GoneSteps };
    (!steps.is_empty()).then(|| text.with(&[("steps", &ranges(&steps))]))
}

/// Returns sorted numbers with what follows one another as one: `1-3, 5`.
fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let named = runs.filter_map(|run| match run {
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    });
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_one_another_are_said_as_one() {
        let check = |numbers: &[u32], said| assert_eq!(ranges(numbers), said);
        check(&[], "");
        check(&[4], "4");
        check(&[1, 2], "1-2");
        check(&[1, 2, 3, 5, 7, 8], "1-3, 5, 7-8");
    }
}
