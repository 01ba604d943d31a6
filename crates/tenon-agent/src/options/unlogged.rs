//! What the journal knows and the log of a session does not: what calls had changed that the end of their process cut
//! short, and jobs that ended with it. Jobs that end with a session in order are logged by then.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, UNIX_EPOCH},
};

use tenon_sandbox::{CheckpointKind, Journal};

use crate::{
    event::{CallChanges, CallEvent, SessionEvent},
    session::{Session, is_elsewhere},
    session_note::SessionNote,
};

/// Returns what the calls in `cut_short` had changed, and what jobs of the last process had. An id may come
/// again once the call that had it is no longer in the conversation: what is looked for began with the call
/// and is not in the log.
pub(super) fn unlogged(
    journal: &Journal,
    session: &Session,
    cut_short: &[CallEvent],
) -> (Vec<CallChanges>, Vec<CallChanges>) {
    let cut = cut_short.iter().filter_map(|event| match event {
        CallEvent::ToolResult { call_id, .. } => Some(call_id.as_str()),
        _ => None,
    });
    let cut: HashSet<&str> = cut.collect();
    let (mut started, mut logged) = (HashMap::new(), HashSet::new());
    // Whose checkpoints they are: a fork begins with what the session did that it left.
    let (mut jobs, mut own, mut folder) = (HashSet::new(), session.id.as_str(), None);
    for record in &session.records {
        if is_elsewhere(&record.event, &mut folder) {
            logged.clear();
        }
        match &record.event {
            SessionEvent::Call(CallEvent::CallStarted { call, .. }) => {
                // Checkpoints know the second.
                let began = UNIX_EPOCH + Duration::from_secs(record.time_ms / 1_000);
                started.insert(call.id.as_str(), began);
                jobs.remove(call.id.as_str());
            }
            SessionEvent::Call(CallEvent::CallChanged(changes)) => {
                logged.extend(changes.checkpoint);
            }
            SessionEvent::Call(CallEvent::ToolResult { call_id, job: Some(_), .. }) => {
                jobs.insert(call_id.as_str());
            }
            SessionEvent::Session(SessionNote::SessionStarted { forked_from, .. }) => {
                own = forked_from.as_deref().unwrap_or(own);
            }
            SessionEvent::Session(SessionNote::SessionResumed { session: id, .. }) => {
                // What those of an earlier process had changed was looked for when it went on.
                jobs.clear();
                own = if id.is_empty() { own } else { id };
            }
            _ => {}
        }
    }
    if cut.is_empty() && jobs.is_empty() {
        return (Vec::new(), Vec::new());
    }
    // What cannot be read is not known.
    let infos = journal.checkpoints().unwrap_or_default().into_iter();
    let unlogged = infos
        .filter(|info| info.session == own && info.kind == CheckpointKind::Call)
        .filter(|info| !logged.contains(&info.id.number()))
        .filter_map(|info| {
            let call_id = info.name.split('\t').next()?;
            let is_wanted = cut.contains(call_id) || jobs.contains(call_id);
            started.get(call_id).filter(|began| is_wanted && **began <= info.started)?;
            let changes = journal.changes(info.id).ok().filter(|it| !it.is_empty())?;
            Some(CallChanges::new(call_id, &changes))
        });
    let (by_calls, by_jobs): (Vec<_>, Vec<_>) =
        unlogged.partition(|changes| cut.contains(changes.call_id.as_str()));
    (by_calls, by_jobs.into_iter().map(CallChanges::of_job).collect())
}
