//! The turn: says what happens next, and why it stops. Pure: values in, values out.
//!
//! Complete tool calls decide, not the provider's stop word: a reply that has some goes on, a
//! reply that has none ends the turn. Limits and the loop guard are a file each.

mod guard;
mod limits;

use tenon_model::{Abilities, Price, StopReason, ToolCall, ToolCallFault, ToolResult, Usage};

pub use limits::TurnLimits;

use self::{
    guard::{Guard, Repetition},
    limits::Spent,
};
use crate::event::EndReason;

/// Replies in a row that may end in the middle of a call before the turn stops: the model gets
/// each cut call back with the reason and may write it in smaller pieces.
const CUT_REPLIES_MAX: u32 = 3;

/// What happens next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// Send the conversation to the model.
    CallModel,
    /// Run the calls of the last reply.
    RunCalls(Vec<ToolCall>),
    /// Give control back to the user.
    Stop(EndReason),
}

/// One turn, from a prompt until control returns to the user.
#[derive(Debug)]
pub(crate) struct Turn {
    limits: TurnLimits,
    price: Option<Price>,
    /// The longest reply that the model can be asked for, in tokens.
    reply_tokens_max: u32,
    next: Next,
    spent: Spent,
    cut_replies: u32,
    guard: Guard,
}

impl Turn {
    /// Returns a turn that has a prompt and has done nothing.
    pub(crate) fn new(limits: TurnLimits, model: &Abilities) -> Self {
        Self {
            limits,
            price: model.price,
            reply_tokens_max: model.output_tokens_max,
            next: Next::CallModel,
            spent: Spent::default(),
            cut_replies: 0,
            guard: Guard::default(),
        }
    }

    /// Returns what happens next. Asking twice gives the same answer.
    pub(crate) fn next(&self) -> Next {
        match (&self.next, self.next_reply()) {
            (Next::CallModel, Err(reason)) => Next::Stop(reason),
            (next, _) => next.clone(),
        }
    }

    /// Returns how many tokens the next reply may have.
    pub(crate) fn reply_tokens_max(&self) -> u32 {
        self.next_reply().unwrap_or(self.reply_tokens_max)
    }

    fn next_reply(&self) -> Result<u32, EndReason> {
        self.limits.next_reply(&self.spent, self.price.as_ref(), self.reply_tokens_max)
    }

    /// Takes in a reply: its calls, why it stopped and what it used.
    pub(crate) fn on_reply(&mut self, calls: Vec<ToolCall>, stop: StopReason, usage: &Usage) {
        self.spent.steps += 1;
        self.spent.usage += *usage;
        self.spent.last = *usage;
        let cut = calls.iter().any(|call| call.fault == Some(ToolCallFault::CutOff));
        self.cut_replies = if cut { self.cut_replies + 1 } else { 0 };
        self.next = if !calls.is_empty() {
            Next::RunCalls(calls)
        } else {
            Next::Stop(match stop {
                StopReason::EndOfTurn | StopReason::ToolCalls => EndReason::Finished,
                StopReason::OutputLimit => EndReason::OutputLimit,
                StopReason::Refusal => EndReason::Refusal,
            })
        };
    }

    /// Takes in the results of the last reply's calls, in their order. Returns a sentence for the
    /// model if it repeats itself.
    pub(crate) fn on_results(
        &mut self,
        calls: &[ToolCall],
        results: &[ToolResult],
    ) -> Option<String> {
        let repetition = calls
            .iter()
            .zip(results)
            .map(|(call, result)| self.guard.note(call, result))
            .max()
            .unwrap_or(Repetition::None);
        self.next = match repetition {
            Repetition::Stop => Next::Stop(EndReason::LoopGuard),
            _ if self.cut_replies >= CUT_REPLIES_MAX => Next::Stop(EndReason::OutputLimit),
            _ => Next::CallModel,
        };
        (repetition == Repetition::Nudge).then(|| guard::NUDGE.to_owned())
    }

    /// Ends the turn for a reason that lies outside: cancelled, the provider failed.
    pub(crate) fn end(&mut self, reason: EndReason) {
        self.next = Next::Stop(reason);
    }

    /// Returns the model requests that were answered.
    pub(crate) fn steps(&self) -> u32 {
        self.spent.steps
    }

    /// Returns the tokens used so far.
    pub(crate) fn usage(&self) -> Usage {
        self.spent.usage
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "bash".into(), arguments: json!({"id": id}), fault: None }
    }

    fn result(id: &str) -> ToolResult {
        ToolResult { call_id: id.into(), content: id.into(), is_error: false }
    }

    #[test]
    fn spec_3_complete_calls_decide_not_the_stop_word() {
        let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
        assert_eq!(turn.next(), Next::CallModel);
        turn.on_reply(vec![call("a")], StopReason::EndOfTurn, &Usage::default());
        assert_eq!(turn.next(), Next::RunCalls(vec![call("a")]));
        turn.on_results(&[call("a")], &[result("a")]);
        assert_eq!(turn.next(), Next::CallModel);
        turn.on_reply(vec![], StopReason::ToolCalls, &Usage::default());
        assert_eq!(turn.next(), Next::Stop(EndReason::Finished));
    }

    #[test]
    fn spec_3_the_reason_of_an_end_is_typed() {
        for (stop, reason) in [
            (StopReason::EndOfTurn, EndReason::Finished),
            (StopReason::OutputLimit, EndReason::OutputLimit),
            (StopReason::Refusal, EndReason::Refusal),
        ] {
            let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
            turn.on_reply(vec![], stop, &Usage::default());
            assert_eq!(turn.next(), Next::Stop(reason));
        }
    }

    #[test]
    fn limits_end_a_turn_before_the_next_request_and_after_the_results() {
        let mut turn = Turn::new(
            TurnLimits { steps_max: Some(1), ..TurnLimits::default() },
            &Abilities::default(),
        );
        turn.on_reply(vec![call("a")], StopReason::ToolCalls, &Usage::default());
        assert!(matches!(turn.next(), Next::RunCalls(_)));
        turn.on_results(&[call("a")], &[result("a")]);
        assert_eq!(turn.next(), Next::Stop(EndReason::StepLimit));
    }

    #[test]
    fn replies_cut_in_the_middle_of_a_call_stop_after_three() {
        let cut = ToolCall { fault: Some(ToolCallFault::CutOff), ..call("a") };
        let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
        for n in 1..=3 {
            turn.on_reply(vec![cut.clone()], StopReason::OutputLimit, &Usage::default());
            turn.on_results(&[call(&n.to_string())], &[result(&n.to_string())]);
        }
        assert_eq!(turn.next(), Next::Stop(EndReason::OutputLimit));
    }
}
