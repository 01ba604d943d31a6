//! The course as a stand-in: what calls are answered that do not run, and places by their names here
//! and there.

use tenon_model::ToolCall;

use super::{Course, output};
use crate::{
    event::CallChanges,
    layers::StandIn,
    policy::Verdict,
    replay::divergence,
    tools::{BASH, ToolOutput, apart},
};

/// The tool that lists files by their times. Two calls that write within one tick of the kernel's clock
/// (4 ms, as a rule) leave the same time, or not, as it happens.
const LISTS_BY_TIME: &str = "glob";

/// How the policy says that a flag denies a call.
const DENIED_BY_FLAG: &str = ": --deny ";

impl StandIn for Course {
    fn answer(&self, call: &ToolCall) -> Option<ToolOutput> {
        let mut state = self.state();
        if self.answers.is_some() {
            return self.taken(&state, &call.id);
        }
        let recorded = self.current(&state)?;
        let result = recorded.results.get(&call.id);
        // The turn that its program ended in was left before it went on.
        let is_lost = result.is_none() && state.is_killed();
        if recorded.cut_short.contains(&call.id) || is_lost {
            state.not_run(&call.id);
            let nothing = || ToolOutput::error("interrupted");
            return Some(result.map_or_else(nothing, output));
        }
        match recorded.decided.get(&call.id) {
            Some((Verdict::Deny, true)) => result.map(output),
            // That was said on the command line, which the log does not have.
            Some((Verdict::Deny, false)) => {
                result.filter(|result| result.content.contains(DENIED_BY_FLAG)).map(output)
            }
            _ => None,
        }
    }

    fn answer_outside(&self, call: &ToolCall) -> Option<ToolOutput> {
        let mut state = self.state();
        let recorded = self.current(&state)?;
        if matches!(recorded.decided.get(&call.id), Some((Verdict::Deny, _))) {
            return None;
        }
        let taken = recorded.results.get(&call.id).map(output)?;
        state.not_run(&call.id);
        Some(taken)
    }

    fn forbidden_by(&self, call_id: &str) -> Vec<String> {
        let told = self.recording.forbidden_by.get(call_id);
        let state = self.state();
        told.into_iter().flatten().map(|rule| state.places.here(rule)).collect()
    }

    /// By rules that the log does not have. Where its program ended, it may have been about to.
    fn asked_for_a_check(&self) -> bool {
        let state = self.state();
        state.is_killed() || self.current(&state).is_some_and(|recorded| recorded.continued)
    }

    fn here(&self, call: &ToolCall) -> ToolCall {
        let arguments = self.state().places.here_in(&call.arguments);
        ToolCall { arguments, ..call.clone() }
    }

    fn there(&self, call: &ToolCall, content: String, changed: &[CallChanges]) -> String {
        let mut state = self.state();
        self.make_changes(&mut state, &call.id);
        let content = state.places.there(&content);
        let recorded = self.current(&state).and_then(|request| request.results.get(&call.id));
        if let Some(recorded) = recorded.map(|result| result.content.clone()) {
            state.places.learn_results(&recorded, &content);
            let content = state.places.there(&content);
            let is_other_order = call.name == LISTS_BY_TIME && has_same_lines(&recorded, &content);
            let now = changed.iter().find(|changes| changes.call_id == call.id);
            let is_same = |recorded: &str, content: &str| {
                divergence::are_recorded_otherwise(recorded, content)
                    || divergence::are_refused_otherwise(recorded, content)
                    || divergence::are_told_otherwise(recorded, content)
                        && self.is_changed_as_recorded(&state, &call.id, now)
            };
            let streams = |result: &str| apart(result).filter(|_| call.name == BASH);
            let is_same = is_other_order
                || is_same(&recorded, &content)
                || streams(&recorded)
                    .zip(streams(&content))
                    .is_some_and(|(recorded, content)| is_same(&recorded, &content));
            return if is_same { recorded } else { content };
        }
        content
    }
}

/// Whether two texts have the same lines, in any order.
fn has_same_lines(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|text| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines
    });
    one == other
}
