//! What a turn may use at most, and what of it the next request may use.
//!
//! The next request sends the conversation as it is now, at least what the last one sent and got, so
//! that much is reserved before it is made; what is left then bounds its reply.

use std::time::Duration;

use tenon_model::{Price, Usage};

use crate::event::EndReason;

/// The steps of a turn unless the user says otherwise: several times what a long task takes,
/// and an end for a model that never ends by itself.
const STEPS_MAX: u32 = 2_000;
/// A request whose reply could not be longer than this is not worth making, in tokens.
const REPLY_TOKENS_MIN: u64 = 16;
/// Prices are for so many tokens.
const PRICE_TOKENS: f64 = 1e6;

/// The limits of one turn; `None` is no limit. By default only the steps have one.
///
/// ```
/// use tenon_agent::TurnLimits;
///
/// assert_eq!(TurnLimits::default().steps_max, Some(2_000));
/// let limits = TurnLimits { tokens_max: Some(200_000), ..TurnLimits::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnLimits {
    /// The most model requests.
    pub steps_max: Option<u32>,
    /// The most tokens, in and out, cached or not, over all requests.
    pub tokens_max: Option<u64>,
    /// The most US dollars over all requests. Holds only for models whose price is known.
    pub cost_max: Option<f64>,
    /// The most time, with everything that is waited for. What runs when it is over is cancelled.
    pub time_max: Option<Duration>,
}

/// What a turn has used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) steps: u32,
    pub(super) usage: Usage,
    /// What the last request used.
    pub(super) last: Usage,
    /// What those requests used, by estimate, of which the provider told nothing.
    pub(super) untold: Usage,
}

impl Spent {
    /// What counts against the limits.
    fn all(&self) -> Usage {
        let mut all = self.usage;
        all += self.untold;
        all
    }
}

impl TurnLimits {
    /// Returns how many tokens the next reply may have, at most `most`, or the limit that forbids
    /// another request. It would send about `sends` tokens.
    pub(super) fn next_reply(
        &self,
        spent: &Spent,
        sends: u64,
        price: Option<&Price>,
        most: u32,
    ) -> Result<u32, EndReason> {
        if self.steps_max.is_some_and(|steps| spent.steps >= steps) {
            return Err(EndReason::StepLimit);
        }
        let input = sends.max(spent.last.input_all().saturating_add(spent.last.output));
        let all = spent.all();
        let mut left = u64::from(most);
        if let Some(tokens) = self.tokens_max {
            let reserved = all.input_all().saturating_add(all.output).saturating_add(input);
            left = left.min(worth_it(tokens.saturating_sub(reserved), EndReason::TokenLimit)?);
        }
        if let (Some(cost), Some(price)) = (self.cost_max, price) {
            let again = Usage { input, ..Usage::default() };
            let dollars = cost - all.cost(price) - again.cost(price);
            let tokens = (dollars.max(0.0) / price.output.max(f64::MIN_POSITIVE)) * PRICE_TOKENS;
            // A number that is too large for 64 bits becomes the largest.
            left = left.min(worth_it(tokens as u64, EndReason::CostLimit)?);
        }
        Ok(u32::try_from(left).unwrap_or(most))
    }
}

fn worth_it(tokens: u64, limit: EndReason) -> Result<u64, EndReason> {
    if tokens < REPLY_TOKENS_MIN { Err(limit) } else { Ok(tokens) }
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { steps_max: Some(STEPS_MAX), tokens_max: None, cost_max: None, time_max: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: TurnLimits =
        TurnLimits { steps_max: None, tokens_max: None, cost_max: None, time_max: None };
    const PRICE: Price = Price { input: 1.0, output: 10.0, cache_read: 0.1, cache_write: 1.25 };

    fn spent(steps: u32, input: u64, cache_read: u64, output: u64) -> Spent {
        let last = Usage { input, cache_read, output, cache_write: 0 };
        Spent { steps, usage: last, last, untold: Usage::default() }
    }

    #[test]
    fn each_limit_has_its_own_reason() {
        let limits = TurnLimits { steps_max: Some(2), tokens_max: Some(100), ..NONE };
        let next = |spent| limits.next_reply(&spent, 0, None, 50);
        assert_eq!(next(spent(1, 3, 3, 3)), Ok(50));
        assert_eq!(next(spent(2, 0, 0, 0)), Err(EndReason::StepLimit));
        assert_eq!(next(spent(1, 30, 20, 1)), Err(EndReason::TokenLimit));
    }

    #[test]
    fn what_the_next_request_sends_again_is_reserved_and_the_rest_bounds_its_reply() {
        let limits = TurnLimits { tokens_max: Some(1_000), ..NONE };
        // 400 are used, the next request sends 400 again.
        let next = |spent: Spent, sends| limits.next_reply(&spent, sends, None, 4_096);
        assert_eq!(next(spent(1, 300, 0, 100), 0), Ok(200));
        // A long result came since.
        assert_eq!(next(spent(1, 300, 0, 100), 500), Ok(100));
        assert_eq!(next(spent(1, 300, 0, 100), 590), Err(EndReason::TokenLimit));
        // Nothing is used yet, and still the first request may be too much.
        assert_eq!(next(Spent::default(), 300), Ok(700));
        assert_eq!(next(Spent::default(), 1_000), Err(EndReason::TokenLimit));
    }

    #[test]
    fn what_a_server_tells_ends_a_turn_however_much_it_is() {
        let limits = TurnLimits { tokens_max: Some(1_000), cost_max: Some(1.0), ..NONE };
        for spent in [spent(1, u64::MAX, 0, 1), spent(1, 1, u64::MAX, 9), spent(1, 1, 1, u64::MAX)]
        {
            assert_eq!(limits.next_reply(&spent, 0, None, 50), Err(EndReason::TokenLimit));
            let price = Some(&PRICE);
            let limits = TurnLimits { tokens_max: None, ..limits };
            assert_eq!(limits.next_reply(&spent, 0, price, 50), Err(EndReason::CostLimit));
        }
    }

    #[test]
    fn money_is_reserved_as_if_nothing_were_cached() {
        let limits = TurnLimits { cost_max: Some(0.01), ..NONE };
        let next = |spent| limits.next_reply(&spent, 0, Some(&PRICE), 4_096);
        // 0.002 are used, 0.001 + 0.0001 reserved: 0.0069 are 690 tokens of output.
        assert_eq!(next(spent(1, 1_000, 0, 100)), Ok(690));
        assert_eq!(next(spent(1, 5_000, 0, 0)), Err(EndReason::CostLimit));
        let free = Price { input: 0.0, output: 0.0, cache_read: 0.0, cache_write: 0.0 };
        assert_eq!(limits.next_reply(&spent(1, 9, 9, 9), 9, Some(&free), 4_096), Ok(4_096));
        assert_eq!(limits.next_reply(&spent(1, 9, 9, 9), 9, None, 4_096), Ok(4_096));
    }
}
