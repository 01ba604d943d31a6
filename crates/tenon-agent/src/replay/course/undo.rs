//! The course as what takes back in the copy what was taken back in the recording, where it was.

use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use tenon_sandbox::off_thread;

use super::{Course, Recorded};
use crate::replay::recording::RecordedUndo;

impl Course {
    /// Undoes where blocking is allowed. One that cannot be done ends the replay.
    pub(in crate::replay) async fn undo(self: &Arc<Self>, undone: RecordedUndo) {
        if self.takes_answers() {
            return;
        }
        let Some(journal) = self.journal.clone() else {
            return self.end_early("files were undone in between, and undo is switched off here");
        };
        let course = Arc::clone(self);
        let work = move || {
            let (recorded, everywhere) = (&course.recording.checkpoints, course.workspace.roots());
            let done = course.state().files.undo(&undone, recorded, &journal, &everywhere);
            if let Err(reason) = done {
                course.end_early(reason);
            }
        };
        // A panic in there shows in what comes then.
        let _ = off_thread(work).await;
    }

    /// Returns nothing, once what was undone before the calls of a reply is undone.
    pub(super) fn undo_before<T: Send + 'static>(
        self: &Arc<Self>,
        recorded: &Recorded,
    ) -> impl Stream<Item = T> + Send + use<T> {
        let (course, undone) = (Arc::clone(self), recorded.undone.clone());
        let all = async move {
            for undone in undone {
                course.undo(undone).await;
            }
        };
        stream::once(all).filter_map(|()| async { None })
    }
}
