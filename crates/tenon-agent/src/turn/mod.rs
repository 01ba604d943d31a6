//! The turn: says what happens next, and why it stops. Pure: values in, values out.
//!
//! Complete tool calls decide, not the provider's stop word: a reply that has some goes on, a
//! reply that has none ends the turn. Limits, the loop guard, replies that were cut short, failed
//! requests and compaction are a file each.

mod compaction;
mod cut;
mod failure;
mod guard;
mod limits;
mod receipt;

use tenon_model::{
    Abilities, Price, ProviderError, StopReason, ToolCall, ToolCallFault, ToolResult, Usage,
};

pub use limits::TurnLimits;
pub(crate) use receipt::receipt;

use self::{
    compaction::Compactions,
    cut::{Cut, Cuts},
    failure::{After, Circumstances},
    guard::{Guard, Repetition},
    limits::Spent,
    receipt::Checks,
};
use crate::{
    context::Space,
    event::{CompactionCause, Continuation, ContinuationCause, EndReason, Receipt},
    layers::Stock,
};

/// Replies in a row that may end in the middle of their first call before the turn stops: the model
/// gets each cut call back with the reason and may write it in smaller pieces.
const CUT_REPLIES_MAX: u32 = 3;

/// A reply is asked for with at least so many tokens, however full the window seems: the estimate
/// may be wrong, and the provider says so if it is not.
const REPLY_TOKENS_MIN: u64 = 512;

/// What happens next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// Send the conversation to the model.
    CallModel,
    /// Run the calls of the last reply.
    RunCalls(Vec<ToolCall>),
    /// Tell the model to go on where its last reply was cut.
    Continue(Continuation),
    /// Make the conversation shorter.
    Compact(CompactionCause),
    /// See what was changed and checked.
    TakeStock,
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
    answer: String,
    /// The answer before the model was asked to run a check.
    first_answer: String,
    /// A call ran.
    acted: bool,
    checks: Checks,
    spent: Spent,
    cut_replies: u32,
    cuts: Cuts,
    compactions: Compactions,
    /// Why the conversation must be made shorter, if the provider said so.
    too_long: Option<ProviderError>,
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
            answer: String::new(),
            first_answer: String::new(),
            acted: false,
            checks: Checks::default(),
            spent: Spent::default(),
            cut_replies: 0,
            cuts: Cuts::default(),
            compactions: Compactions::default(),
            too_long: None,
            guard: Guard::default(),
        }
    }

    /// Returns what happens next, the model's window being as full as `space` says. Asking twice
    /// gives the same answer.
    pub(crate) fn next(&self, space: &Space) -> Next {
        match (&self.next, self.next_reply(space)) {
            // The work is done; a limit that forbids the check does not undo that.
            (Next::Continue(next), Err(_)) if next.cause == ContinuationCause::NotChecked => {
                Next::Stop(EndReason::Finished)
            }
            (Next::CallModel | Next::Continue(_), Err(reason)) => Next::Stop(reason),
            (Next::CallModel, Ok(_)) => match self.compactions.due(space) {
                Some(cause) => Next::Compact(cause),
                None => Next::CallModel,
            },
            (next, _) => next.clone(),
        }
    }

    /// Returns how many tokens the next reply may have.
    pub(crate) fn reply_tokens_max(&self, space: &Space) -> u32 {
        self.next_reply(space).unwrap_or(self.reply_tokens_max)
    }

    /// Returns whether a limit makes that less than model and window allow.
    pub(crate) fn has_limited_reply(&self, space: &Space) -> bool {
        self.reply_tokens_max(space) < self.reply_in(space)
    }

    fn next_reply(&self, space: &Space) -> Result<u32, EndReason> {
        let most = self.reply_in(space);
        self.limits.next_reply(&self.spent, space.used, self.price.as_ref(), most)
    }

    fn reply_in(&self, space: &Space) -> u32 {
        let left = u32::try_from(space.left().max(REPLY_TOKENS_MIN)).unwrap_or(u32::MAX);
        self.reply_tokens_max.min(left)
    }

    /// Takes in a reply: its calls, its text, why it stopped and what it used.
    pub(crate) fn on_reply(
        &mut self,
        calls: Vec<ToolCall>,
        text: &str,
        stop: StopReason,
        usage: &Usage,
    ) {
        self.count(text, usage);
        self.compactions.answered();
        // What stands whole before a call that was cut gets the work further.
        let first_is_cut =
            calls.first().is_some_and(|call| call.fault == Some(ToolCallFault::CutOff));
        self.cut_replies = if first_is_cut { self.cut_replies + 1 } else { 0 };
        let goes_on = (calls.is_empty() && stop == StopReason::OutputLimit)
            .then(|| self.cuts.cut(Cut::ByLimit))
            .flatten();
        if let Some(continuation) = goes_on {
            self.next = Next::Continue(continuation);
            return;
        }
        self.cuts.whole();
        self.next = match stop {
            _ if !calls.is_empty() => Next::RunCalls(calls),
            StopReason::EndOfTurn | StopReason::ToolCalls if self.acted => Next::TakeStock,
            StopReason::EndOfTurn | StopReason::ToolCalls => Next::Stop(EndReason::Finished),
            StopReason::OutputLimit => Next::Stop(EndReason::OutputLimit),
            StopReason::Refusal => Next::Stop(EndReason::Refusal),
        };
    }

    /// Takes in that a request failed after `text` of its reply was shown, and what it used.
    /// Returns the error that is to be told if the turn ends by it.
    pub(crate) fn on_failure(
        &mut self,
        error: ProviderError,
        text: &str,
        usage: &Usage,
    ) -> Option<ProviderError> {
        let now = Circumstances {
            shown: !text.is_empty(),
            compacted: self.compactions.since_reply(),
            answered: self.spent.steps > 0,
        };
        if now.shown || *usage != Usage::default() {
            self.count(text, usage);
        }
        match failure::after(&error, now) {
            After::Compact => {
                self.next = Next::Compact(CompactionCause::TooLong);
                self.too_long = Some(error);
                return None;
            }
            After::GoOn => {
                if let Some(goes_on) = self.cuts.cut(Cut::ByFailure(error.message.clone())) {
                    self.next = Next::Continue(goes_on);
                    return None;
                }
            }
            After::End => {}
        }
        self.next = Next::Stop(EndReason::ProviderFailed);
        Some(failure::explained(error, now))
    }

    fn count(&mut self, text: &str, usage: &Usage) {
        self.spent.steps += 1;
        self.spent.usage += *usage;
        self.spent.last = *usage;
        if !self.cuts.is_open() {
            self.answer.clear();
        }
        self.answer.push_str(text);
    }

    /// Takes in what attempts at a request used that broke off.
    pub(crate) fn retried(&mut self, usage: &Usage) {
        self.spent.usage += *usage;
    }

    /// Takes in what the last request used by estimate, which counts if the provider told nothing.
    pub(crate) fn estimated(&mut self, usage: Usage) {
        if self.spent.last == Usage::default() {
            self.spent.untold += usage;
        }
    }

    /// Takes in what was changed and checked when the model is done.
    pub(crate) fn on_stock(&mut self, stock: Option<&Stock>) {
        self.next = match self.checks.take(stock) {
            Some(asked) => {
                self.first_answer = std::mem::take(&mut self.answer);
                Next::Continue(asked)
            }
            None => Next::Stop(EndReason::Finished),
        };
    }

    /// Returns what is known of the checks, if stock was taken.
    pub(crate) fn receipt(&self) -> Option<&Receipt> {
        self.checks.receipt()
    }

    /// Takes in that the model was told to go on.
    pub(crate) fn continued(&mut self) {
        self.next = Next::CallModel;
    }

    /// Returns whether what the person says now can be taken in, the model's window being as full as
    /// `space` says: a request comes next, or the turn would end and may as well go on.
    pub(crate) fn hears(&self, space: &Space) -> bool {
        use EndReason::{Finished, LoopGuard, OutputLimit, Refusal};
        let comes_next = match &self.next {
            Next::CallModel | Next::TakeStock => true,
            Next::Stop(reason) => matches!(reason, Finished | LoopGuard | OutputLimit | Refusal),
            Next::RunCalls(_) | Next::Continue(_) | Next::Compact(_) => false,
        };
        comes_next && self.next_reply(space).is_ok()
    }

    /// Takes in that the person said something. What counts repetitions and checks begins anew.
    pub(crate) fn heard(&mut self) {
        self.next = Next::CallModel;
        self.cut_replies = 0;
        self.guard = Guard::default();
        self.checks = Checks::default();
        self.first_answer.clear();
    }

    /// Takes in that the conversation was made shorter, and what the summary used. The window is now
    /// as full as `space` says.
    pub(crate) fn compacted(&mut self, space: &Space, usage: &Usage) {
        self.compactions.made(!space.is_short());
        self.spent.usage += *usage;
        self.spent.last = Usage { input: space.used, ..Usage::default() };
        self.too_long = None;
        self.next = Next::CallModel;
    }

    /// Returns why the conversation must be made shorter, if the provider said so.
    pub(crate) fn too_long(&self) -> Option<&ProviderError> {
        self.too_long.as_ref()
    }

    /// Takes in that there was nothing to make shorter. Returns the error that is to be told if the
    /// turn ends by it.
    pub(crate) fn not_compacted(&mut self) -> Option<ProviderError> {
        self.compactions.made(false);
        let error = self.too_long.take();
        self.next = match error {
            Some(_) => Next::Stop(EndReason::ProviderFailed),
            None => Next::CallModel,
        };
        error
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
        self.acted = true;
        self.next = match repetition {
            Repetition::Stop => Next::Stop(EndReason::LoopGuard),
            _ if self.cut_replies >= CUT_REPLIES_MAX => Next::Stop(EndReason::OutputLimit),
            _ => Next::CallModel,
        };
        let is_told = repetition == Repetition::Nudge && self.next == Next::CallModel;
        is_told.then(|| guard::NUDGE.to_owned())
    }

    /// Ends the turn for a reason that lies outside: cancelled, the provider failed.
    pub(crate) fn end(&mut self, reason: EndReason) {
        self.next = Next::Stop(reason);
    }

    /// Ends the turn because the person cancelled in the middle of a reply with `text`.
    pub(crate) fn cancelled(&mut self, text: &str, usage: &Usage) {
        if !text.is_empty() || *usage != Usage::default() {
            self.count(text, usage);
        }
        self.end(EndReason::Cancelled);
    }

    /// Returns the last text of the model, its parts joined if it was cut; what it says of a check
    /// that it was asked for comes behind.
    pub(crate) fn answer(&self) -> String {
        let said = [self.first_answer.as_str(), self.answer.as_str()];
        said.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
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
    use tenon_model::ProviderErrorKind;

    use super::*;

    const SPACE: Space = Space { used: 0, window: 128_000, reply_max: 8_192 };

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "bash".into(), arguments: json!({"id": id}), fault: None }
    }

    fn result(id: &str) -> ToolResult {
        ToolResult { call_id: id.into(), content: id.into(), ..ToolResult::default() }
    }

    #[test]
    fn spec_3_complete_calls_decide_not_the_stop_word() {
        let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
        assert_eq!(turn.next(&SPACE), Next::CallModel);
        turn.on_reply(vec![call("a")], "", StopReason::EndOfTurn, &Usage::default());
        assert_eq!(turn.next(&SPACE), Next::RunCalls(vec![call("a")]));
        turn.on_results(&[call("a")], &[result("a")]);
        assert_eq!(turn.next(&SPACE), Next::CallModel);
        turn.on_reply(vec![], "", StopReason::ToolCalls, &Usage::default());
        assert_eq!(turn.next(&SPACE), Next::TakeStock);
        turn.on_stock(None);
        assert_eq!(turn.next(&SPACE), Next::Stop(EndReason::Finished));
    }

    #[test]
    fn spec_3_the_reason_of_an_end_is_typed() {
        for (stop, reason) in [
            (StopReason::EndOfTurn, EndReason::Finished),
            (StopReason::Refusal, EndReason::Refusal),
        ] {
            let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
            turn.on_reply(vec![], "", stop, &Usage::default());
            assert_eq!(turn.next(&SPACE), Next::Stop(reason));
        }
    }

    #[test]
    fn spec_3_a_reply_cut_by_the_output_limit_goes_on_and_its_parts_are_one_answer() {
        let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
        for number in 1..=5 {
            turn.on_reply(vec![], &number.to_string(), StopReason::OutputLimit, &Usage::default());
            let Next::Continue(next) = turn.next(&SPACE) else { panic!("{number}") };
            assert_eq!((next.number, next.number_max), (number, 5));
            turn.continued();
            assert_eq!(turn.next(&SPACE), Next::CallModel);
        }
        turn.on_reply(vec![], "6", StopReason::OutputLimit, &Usage::default());
        assert_eq!(turn.next(&SPACE), Next::Stop(EndReason::OutputLimit));
        assert_eq!(turn.answer(), "123456");
    }

    #[test]
    fn a_reply_that_breaks_off_goes_on_and_what_was_not_shown_is_an_end() {
        let lost = || ProviderError::new(ProviderErrorKind::Dropped, "lost");
        let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
        assert_eq!(turn.on_failure(lost(), "half", &Usage::default()), None);
        assert!(matches!(turn.next(&SPACE), Next::Continue(_)));
        turn.continued();
        turn.on_reply(vec![call("a")], " and half", StopReason::ToolCalls, &Usage::default());
        assert_eq!(turn.answer(), "half and half");
        turn.on_results(&[call("a")], &[result("a")]);
        turn.on_reply(vec![], "done", StopReason::EndOfTurn, &Usage::default());
        assert_eq!(turn.answer(), "done");
        assert_eq!(turn.on_failure(lost(), "", &Usage::default()), Some(lost()));
        assert_eq!(turn.next(&SPACE), Next::Stop(EndReason::ProviderFailed));
    }

    #[test]
    fn a_conversation_that_is_too_long_is_made_shorter_once() {
        let too_long = || ProviderError::new(ProviderErrorKind::ContextTooLong, "too long");
        let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
        assert_eq!(turn.on_failure(too_long(), "", &Usage::default()), None);
        assert_eq!(turn.next(&SPACE), Next::Compact(CompactionCause::TooLong));
        turn.compacted(&SPACE, &Usage::default());
        assert_eq!(turn.next(&SPACE), Next::CallModel);
        let told = turn.on_failure(too_long(), "", &Usage::default()).unwrap();
        assert!(told.hint.unwrap().contains("made shorter already"));
        assert_eq!(turn.next(&SPACE), Next::Stop(EndReason::ProviderFailed));
        let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
        turn.on_failure(too_long(), "", &Usage::default());
        assert_eq!(turn.not_compacted(), Some(too_long()));
        assert_eq!(turn.next(&SPACE), Next::Stop(EndReason::ProviderFailed));
    }

    #[test]
    fn what_is_left_of_the_window_bounds_the_reply_and_a_full_one_is_made_room_in() {
        let turn = Turn::new(TurnLimits::default(), &Abilities::default());
        let used = |used| Space { used, window: 20_000, reply_max: 8_192 };
        assert_eq!(turn.reply_tokens_max(&used(1_000)), 8_192);
        assert_eq!(turn.reply_tokens_max(&used(15_000)), 4_600);
        assert_eq!(turn.reply_tokens_max(&used(30_000)), 512);
        assert_eq!(turn.next(&used(15_000)), Next::CallModel);
        assert_eq!(turn.next(&used(17_000)), Next::Compact(CompactionCause::Window));
    }

    #[test]
    fn what_a_person_says_is_heard_where_a_request_comes_next_and_nowhere_else() {
        let new = || Turn::new(TurnLimits::default(), &Abilities::default());
        let mut turn = new();
        assert!(turn.hears(&SPACE));
        turn.on_reply(vec![call("a")], "", StopReason::ToolCalls, &Usage::default());
        assert!(!turn.hears(&SPACE), "calls are answered first");
        turn.on_results(&[call("a")], &[result("a")]);
        assert!(turn.hears(&SPACE));
        turn.on_reply(vec![], "done", StopReason::EndOfTurn, &Usage::default());
        assert!(turn.hears(&SPACE), "instead of the end");
        turn.heard();
        assert_eq!(turn.next(&SPACE), Next::CallModel);
        for (reason, hears) in [
            (EndReason::Finished, true),
            (EndReason::OutputLimit, true),
            (EndReason::Refusal, true),
            (EndReason::LoopGuard, true),
            (EndReason::Cancelled, false),
            (EndReason::ProviderFailed, false),
        ] {
            let mut turn = new();
            turn.end(reason);
            assert_eq!(turn.hears(&SPACE), hears, "{reason:?}");
        }
        let limits = TurnLimits { steps_max: Some(1), ..TurnLimits::default() };
        let mut turn = Turn::new(limits, &Abilities::default());
        turn.on_reply(vec![], "done", StopReason::EndOfTurn, &Usage::default());
        assert!(!turn.hears(&SPACE), "there is no request left");
    }

    #[test]
    fn limits_end_a_turn_before_the_next_request_and_after_the_results() {
        let mut turn = Turn::new(
            TurnLimits { steps_max: Some(1), ..TurnLimits::default() },
            &Abilities::default(),
        );
        turn.on_reply(vec![call("a")], "", StopReason::ToolCalls, &Usage::default());
        assert!(matches!(turn.next(&SPACE), Next::RunCalls(_)));
        turn.on_results(&[call("a")], &[result("a")]);
        assert_eq!(turn.next(&SPACE), Next::Stop(EndReason::StepLimit));
    }

    #[test]
    fn what_is_not_sent_is_not_told() {
        let cut = ToolCall { fault: Some(ToolCallFault::CutOff), ..call("a") };
        let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
        for _ in 1..=3 {
            turn.on_reply(vec![cut.clone()], "", StopReason::OutputLimit, &Usage::default());
            assert_eq!(turn.on_results(&[call("a")], &[result("a")]), None);
        }
        assert_eq!(turn.next(&SPACE), Next::Stop(EndReason::OutputLimit));
    }

    #[test]
    fn replies_cut_in_the_middle_of_their_first_call_stop_after_three() {
        let cut = ToolCall { fault: Some(ToolCallFault::CutOff), ..call("a") };
        let mut turn = Turn::new(TurnLimits::default(), &Abilities::default());
        for n in 1..=4 {
            let calls = [call(&format!("whole {n}")), cut.clone()];
            turn.on_reply(calls.to_vec(), "", StopReason::OutputLimit, &Usage::default());
            turn.on_results(&calls, &[result(&n.to_string()), result("a")]);
            assert_eq!(turn.next(&SPACE), Next::CallModel, "{n}");
        }
        for n in 1..=3 {
            turn.on_reply(vec![cut.clone()], "", StopReason::OutputLimit, &Usage::default());
            turn.on_results(&[call(&n.to_string())], &[result(&n.to_string())]);
        }
        assert_eq!(turn.next(&SPACE), Next::Stop(EndReason::OutputLimit));
    }
}
