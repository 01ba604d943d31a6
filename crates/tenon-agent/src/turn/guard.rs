//! The loop guard: notices when the model does the same thing again with the same result.
//!
//! What counts is the pair of call and result. One pair, or a cycle of two or three pairs, that
//! comes again and again with nothing else between is a repetition; work between clears it.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
};

use tenon_model::{ToolCall, ToolResult};

/// The same cycle this often in a row earns a nudge.
const NUDGE_AT: usize = 3;
/// The same cycle this often in a row ends the turn.
const STOP_AT: usize = 5;
/// The longest cycle that is looked for, in calls.
const CYCLE_MAX: usize = 3;

/// What the model is told.
pub(super) const NUDGE: &str = "The same calls gave the same results several times in a row. \
    Try something else, or say what is in the way.";

/// How much the last calls repeat each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Repetition {
    None,
    Nudge,
    Stop,
}

/// The last pairs of call and result, as hashes.
#[derive(Debug, Default)]
pub(super) struct Guard {
    last: VecDeque<u64>,
}

impl Guard {
    /// Takes in one more call with its result.
    pub(super) fn note(&mut self, call: &ToolCall, result: &ToolResult) -> Repetition {
        let mut hasher = DefaultHasher::new();
        call.name.hash(&mut hasher);
        call.arguments.to_string().hash(&mut hasher);
        result.content.hash(&mut hasher);
        self.last.push_back(hasher.finish());
        if self.last.len() > STOP_AT * CYCLE_MAX {
            self.last.pop_front();
        }
        (1..=CYCLE_MAX).map(|length| self.judge(length)).max().unwrap_or(Repetition::None)
    }

    fn judge(&self, length: usize) -> Repetition {
        let mut newest_first = self.last.iter().rev();
        let cycle: Vec<&u64> = newest_first.by_ref().take(length).collect();
        if cycle.len() < length {
            return Repetition::None;
        }
        let repeated = newest_first.zip(cycle.iter().cycle()).take_while(|(a, b)| a == *b).count();
        // A nudge is given when the third round is complete, not again at every call after it.
        match (1 + repeated / length, repeated % length) {
            (STOP_AT.., _) => Repetition::Stop,
            (NUDGE_AT, 0) => Repetition::Nudge,
            _ => Repetition::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(calls: &str, expected: &str) {
        let mut guard = Guard::default();
        let got: String = calls
            .chars()
            .map(|name| {
                let call = ToolCall {
                    id: String::new(),
                    name: name.into(),
                    arguments: json!({}),
                    fault: None,
                };
                let result = ToolResult { content: "x".into(), ..ToolResult::default() };
                match guard.note(&call, &result) {
                    Repetition::None => '.',
                    Repetition::Nudge => 'n',
                    Repetition::Stop => 'S',
                }
            })
            .collect();
        assert_eq!(got, expected, "{calls}");
    }

    #[test]
    fn three_in_a_row_earn_a_nudge_and_five_end_the_turn() {
        check("aaaaa", "..n.S");
    }

    #[test]
    fn cycles_of_two_and_three_count_alike() {
        check("ababababab", ".....n...S");
        check("abcabcabcabcabc", "........n.....S");
    }

    #[test]
    fn repeats_with_other_work_between_do_not_count() {
        check("aabaacaadaae", "............");
        check("abcdabcdabcdabcdabcd", "....................");
    }
}
