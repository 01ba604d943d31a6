//! A command that reached its time limit: a person is asked whether it goes on in the background,
//! while it does. Nobody there means no.

use std::sync::Arc;

use futures::FutureExt;

use crate::{
    input::{Answer, FrontEnd, OVERTIME, Question},
    policy::Decision,
    tools::{AskOvertime, Overtime},
};

/// Returns what asks `front` about the command of one call. `asking` lets one question stand at a
/// time.
pub(super) fn ask(
    front: &Arc<dyn FrontEnd>,
    call_id: &str,
    subject: &str,
    asking: &Arc<tokio::sync::Mutex<()>>,
) -> Arc<AskOvertime> {
    let (front, asking) = (Arc::clone(front), Arc::clone(asking));
    let (call_id, subject) = (call_id.to_owned(), subject.to_owned());
    Arc::new(move |after| {
        let question = Question {
            call_id: call_id.clone(),
            tool: OVERTIME.to_owned(),
            subject: subject.clone(),
            arguments: serde_json::Value::Null,
            decision: Decision::on_overtime(after),
            programs_set: Vec::new(),
            is_masked: false,
        };
        let (front, asking) = (Arc::clone(&front), Arc::clone(&asking));
        async move {
            let _one_at_a_time = asking.lock().await;
            match front.ask(question).await {
                Answer::Allow | Answer::AllowForSession | Answer::AllowAlways => Overtime::GoOn,
                Answer::Deny(words) => Overtime::End(words),
                Answer::Nobody => Overtime::End(None),
            }
        }
        .boxed()
    })
}
