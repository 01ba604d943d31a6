//! Where in a recording something was undone: between turns, or from elsewhere in the middle of one. Pure.

use super::{Input, Reader, Recorded, RecordedUndo};

impl Reader {
    /// Takes in what was undone, where it was.
    pub(super) fn undone(&mut self, undone: RecordedUndo) {
        let Some(first) = self.turn.as_ref().map(|turn| turn.first) else {
            // Checkpoints are counted in the order in which they begin.
            if self.changed_at.iter().any(|(checkpoint, _)| *checkpoint > undone.by) {
                let before =
                    self.changed_at.iter().filter(|(checkpoint, _)| *checkpoint < undone.by);
                let behind = before.map(|(_, requests)| *requests).max().unwrap_or_default();
                let known = self.recording.undone_behind.unwrap_or(behind);
                self.recording.undone_behind = Some(known.min(behind));
            }
            return self.recording.inputs.push(Input::Undo(undone));
        };
        let last = self.recording.requests.get_mut(first..).and_then(<[Recorded]>::last_mut);
        match (last, &mut self.turn) {
            (Some(last), _) if last.message.is_some() && last.started.is_empty() => {
                last.undone.push(undone);
            }
            (last, Some(turn)) => {
                turn.undone.push(undone);
                if let Some(last) = last {
                    last.undone_beside |= !last.started.is_empty();
                }
            }
            _ => {}
        }
    }
}
