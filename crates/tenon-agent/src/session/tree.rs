//! The tree in a log: a rewind names the line that the conversation goes on behind, and what lies
//! between is an abandoned branch. A compaction that was undone is in no branch, either. Nothing is
//! ever taken out of the log.

use super::read::Session;
use crate::{
    event::{ContextEvent, Record, SessionEvent, TurnEvent},
    session_note::SessionNote,
};

impl Session {
    /// Returns the events of the current branch, in order: all but those that were gone back
    /// behind.
    ///
    /// ```
    /// use tenon_agent::Session;
    ///
    /// assert_eq!(Session::default().branch().count(), 0);
    /// ```
    pub fn branch(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.branch_until(u64::MAX).into_iter().map(|(_, record)| record)
    }

    /// Returns the branch that was current when line `last` was written, with the line of each
    /// event.
    pub(crate) fn branch_until(&self, last: u64) -> Vec<(u64, &Record)> {
        let mut branch: Vec<(u64, &Record)> = Vec::new();
        let all = self.lines.iter().copied().zip(&self.records);
        for (line, record) in all.take_while(|(line, _)| *line <= last) {
            if let SessionEvent::Session(SessionNote::Rewound { after_line, .. }) = &record.event {
                while branch.pop_if(|(line, _)| *line > *after_line).is_some() {}
            }
            branch.push((line, record));
        }
        let undone: Vec<u64> = branch
            .iter()
            .filter_map(|(_, record)| match &record.event {
                SessionEvent::Session(SessionNote::CompactionUndone { line }) => Some(*line),
                _ => None,
            })
            .collect();
        branch.retain(|(line, _)| !undone.contains(line));
        branch
    }

    /// Returns the event that undoes the last compaction of the current branch; `None` if there is
    /// none. Several times, it undoes one after another.
    ///
    /// ```
    /// use tenon_agent::Session;
    ///
    /// assert_eq!(Session::default().undo_compaction(), None);
    /// ```
    pub fn undo_compaction(&self) -> Option<SessionNote> {
        let branch = self.branch_until(u64::MAX);
        let last = branch.iter().rev().find(|(_, record)| {
            matches!(record.event, SessionEvent::Context(ContextEvent::Compacted(_)))
        });
        last.map(|(line, _)| SessionNote::CompactionUndone { line: *line })
    }

    /// Returns the event that leaves the last `turns` turns of the current branch, or as many as
    /// there are; `None` if there are none.
    ///
    /// ```
    /// use tenon_agent::Session;
    ///
    /// assert_eq!(Session::default().rewind(1), None);
    /// ```
    pub fn rewind(&self, turns: u32) -> Option<SessionNote> {
        let branch = self.branch_until(u64::MAX);
        let prompts = branch.iter().rev().filter(|(_, record)| {
            matches!(
                record.event,
                SessionEvent::Turn(TurnEvent::UserMessage { at_step: false, .. })
            )
        });
        let left: Vec<u64> =
            prompts.take(turns.try_into().unwrap_or(usize::MAX)).map(|(line, _)| *line).collect();
        let after_line = left.last()?.saturating_sub(1);
        Some(SessionNote::Rewound { after_line, turns: left.len().try_into().unwrap_or(u32::MAX) })
    }
}

#[cfg(test)]
mod tests {
    use tenon_model::Message;

    use super::*;

    /// Builds a session of prompts (`+` for what is said in the middle of a turn) and rewinds (`<N`
    /// goes back N turns) and returns the prompts of its current branch.
    fn branch_of(script: &str) -> String {
        let mut session = Session::default();
        for word in script.split_whitespace() {
            let event = match word.strip_prefix('<') {
                Some(turns) => match session.rewind(turns.parse().unwrap()) {
                    Some(rewound) => rewound.into(),
                    None => continue,
                },
                None => TurnEvent::UserMessage {
                    message: Message::user(word),
                    prompt: word.into(),
                    attached: Vec::new(),
                    at_step: word.starts_with('+'),
                }
                .into(),
            };
            session.lines.push(session.lines.len() as u64 + 1);
            session.records.push(Record { time_ms: 0, event });
        }
        let prompts = session.branch().filter_map(|record| match &record.event {
            SessionEvent::Turn(TurnEvent::UserMessage { prompt, .. }) => Some(prompt.as_str()),
            _ => None,
        });
        prompts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_rewind_leaves_the_last_turns_and_what_comes_then_goes_on_before_them() {
        let cases = [
            ("a b c", "a b c"),
            ("a b c <1", "a b"),
            ("a b c <1 d", "a b d"),
            ("a b c <2 d <1 e", "a e"),
            ("a b <1 <1 c", "c"),
            ("a b <9 c", "c"),
            ("<1 a", "a"),
            ("a b c <2 d e <2 f", "a f"),
            // What was said in the middle of a turn goes with it.
            ("a +b c +d <1", "a +b"),
            ("a +b c <2", ""),
        ];
        for (script, expected) in cases {
            assert_eq!(branch_of(script), expected, "{script}");
        }
    }
}
