//! What a turn may use at most.

use tenon_model::Usage;

use crate::event::EndReason;

/// The steps of a turn unless the user says otherwise: several times what a long task takes,
/// and an end for a model that never ends by itself.
const STEPS_MAX: u32 = 2_000;

/// The limits of one turn; `None` is no limit. By default only the steps have one.
///
/// ```
/// use tenon_agent::TurnLimits;
///
/// assert_eq!(TurnLimits::default().steps_max, Some(2_000));
/// let limits = TurnLimits { tokens_max: Some(200_000), ..TurnLimits::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// The most model requests.
    pub steps_max: Option<u32>,
    /// The most tokens, in and out, cached or not, over all requests.
    pub tokens_max: Option<u64>,
}

impl TurnLimits {
    /// Returns the limit that forbids another request after `steps` and `usage`, if one does.
    pub(super) fn reached(&self, steps: u32, usage: &Usage) -> Option<EndReason> {
        if self.steps_max.is_some_and(|most| steps >= most) {
            return Some(EndReason::StepLimit);
        }
        let tokens = usage.input_all() + usage.output;
        self.tokens_max.is_some_and(|most| tokens >= most).then_some(EndReason::TokenLimit)
    }
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { steps_max: Some(STEPS_MAX), tokens_max: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_its_own_reason() {
        let limits = TurnLimits { steps_max: Some(2), tokens_max: Some(10) };
        let used = |input, cache_read, output| Usage { input, cache_read, output, cache_write: 0 };
        assert_eq!(limits.reached(1, &used(3, 3, 3)), None);
        assert_eq!(limits.reached(2, &used(0, 0, 0)), Some(EndReason::StepLimit));
        assert_eq!(limits.reached(1, &used(3, 4, 3)), Some(EndReason::TokenLimit));
    }
}
