//! The course as a front end: takes in what was logged, and answers for the person.

use std::time::Duration;

use async_trait::async_trait;

use super::{Course, Recorded};
use crate::{
    event::{CallEvent, ModelEvent, SessionEvent, Update},
    input::{Answer, FrontEnd, OVERTIME, Question, WRITTEN},
    policy::{Leaves, Verdict},
    replay::recording::RecordedResult,
    session_note::SessionNote,
    tools::{Overtime, answer_in, overtime_in},
};

/// How much longer than recorded a command may take: the longest time limit that a call can ask for.
const LONGER_MAX: Duration = Duration::from_secs(600);

#[async_trait]
impl FrontEnd for Course {
    fn update(&self, update: Update) {
        let Update::Stored(record) = update else { return };
        match &record.event {
            SessionEvent::Model(ModelEvent::RequestSent { .. }) => self.state().is_logged = true,
            SessionEvent::Call(CallEvent::CallChanged(changes)) => {
                let mut state = self.state();
                state.files.changed(changes);
                let call_id = &changes.call_id;
                if changes.by_job {
                    state.jobs.insert(call_id.clone(), changes.clone());
                }
                let recorded = self.current(&state).and_then(|now| now.changes.get(call_id));
                let evened = self.evened(&state, changes, recorded);
                state.changes.insert(call_id.clone(), evened);
            }
            SessionEvent::Call(CallEvent::ToolResult {
                call_id,
                content,
                is_error,
                images,
                ..
            }) => {
                let now = RecordedResult::new(content, *is_error, images);
                self.result(call_id, &now);
            }
            SessionEvent::Session(SessionNote::FilesSeen { files, bytes }) => {
                self.seen(files, bytes);
            }
            // The recorded program ended before the turn did, or before the model was told to go on.
            SessionEvent::Model(ModelEvent::AssistantMessage { .. }) => {
                let state = self.state();
                let is_last = |last: &Recorded| {
                    last.calls().next().is_none() && last.said.is_empty() && !last.continued
                };
                if state.is_killed() && self.current(&state).is_some_and(is_last) {
                    state.cancel.cancel();
                }
            }
            _ => {}
        }
    }

    /// What a person allowed is allowed again, if it stays within the walls.
    async fn ask(&self, question: Question) -> Answer {
        if question.tool == OVERTIME {
            return self.at_time_limit(&question.call_id).await;
        }
        if question.tool == WRITTEN {
            return self.on_written(&question);
        }
        let state = self.state();
        let decided =
            self.current(&state).and_then(|request| request.decided.get(&question.call_id));
        let stays = match question.decision.leaves {
            // A copy of the workspace has nothing to protect.
            None | Some(Leaves::ProtectedFile) => !question.decision.unconfined,
            Some(_) => false,
        };
        match decided {
            Some((Verdict::Deny, _)) => Answer::Nobody,
            _ if stays => Answer::Allow,
            _ => Answer::Nobody,
        }
    }
}

impl Course {
    /// Answers for a protected file that a command wrote as its result tells that it was answered.
    fn on_written(&self, question: &Question) -> Answer {
        let state = self.state();
        let recorded = self.current(&state).and_then(|now| now.results.get(&question.call_id));
        // A question masks less than a result.
        let masked = |text: &String| self.masking.mask(text.clone());
        let path = state.places.there(&masked(&question.subject));
        let flag = question.decision.flag.as_ref().map(masked);
        recorded.map_or(Answer::Nobody, |it| answer_in(&it.content, &path, flag.as_deref()))
    }

    /// Answers for a command that reached its time limit as its result tells that it was answered.
    async fn at_time_limit(&self, call_id: &str) -> Answer {
        let (answered, took) = {
            let state = self.state();
            let Some(recorded) = self.current(&state) else { return Answer::Nobody };
            let Some(result) = recorded.results.get(call_id) else { return Answer::Nobody };
            let took = recorded.took_ms.get(call_id).copied().unwrap_or_default();
            let answered = match recorded.began_jobs.contains(call_id) {
                true => Some(Overtime::GoOn),
                false => overtime_in(&result.content),
            };
            (answered, Duration::from_millis(took))
        };
        match answered {
            Some(Overtime::GoOn) => Answer::Allow,
            Some(Overtime::End(words)) => Answer::Deny(words),
            // It ended by itself, while the person was asked or on a faster machine.
            None => {
                tokio::time::sleep(took + LONGER_MAX).await;
                Answer::Nobody
            }
        }
    }
}
