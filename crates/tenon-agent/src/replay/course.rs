//! Follows a recording: answers requests with the recorded replies, takes in what the agent does,
//! and stops at the first thing that is not as recorded.
//!
//! One value in three places, because each sees a part: the provider the requests, the front end
//! what was logged, the stand-in the calls before they run.

mod evened;
mod front;
mod jobs;
mod stand_in;
mod undo;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{StreamExt, stream};
use tenon_model::{
    Conversation, EventStream, Message, ProviderError, ProviderErrorKind, Request, StopReason,
    ToolCall,
};
use tenon_sandbox::{Journal, Workspace};
use tokio_util::sync::CancellationToken;

use super::{
    ChangesOfCall, Replayed,
    divergence::{self, Diverged, Divergence},
    files::Files,
    given,
    places::PlaceNames,
    recording::{
        Killed, Recorded, RecordedResult, RecordedTurn, Recording, ReplyEnd, SeenFiles,
        UNDONE_SOMEWHERE, UNREADABLE, UNREADABLE_BEFORE,
    },
    reply::events,
};
use crate::{
    event::{CallChanges, EndReason, ModelEvent},
    masking::Masking,
    queue::{Delivery, PromptQueue},
    session::{Fold, PrefixHasher, Session},
    tools::ToolOutput,
};

/// A recording and how far it was followed.
pub(super) struct Course {
    session: Session,
    /// Whether its messages are not those of which it has hashes, but for their secrets.
    is_masked: bool,
    recording: Recording,
    /// Where answers are taken from instead of running calls.
    answers: Option<Recording>,
    until: Option<u32>,
    /// That of the replay.
    workspace: Workspace,
    /// What was undone is undone in this.
    journal: Option<Journal>,
    /// What the recording does not show.
    masking: Masking,
    /// What the person says while the agent works.
    queue: PromptQueue,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    places: PlaceNames,
    turn: RecordedTurn,
    cancel: CancellationToken,
    /// The next request of the recording.
    next: usize,
    /// A request was logged and is about to be made; one that was not asks for a summary.
    is_logged: bool,
    hasher: PrefixHasher,
    summaries: usize,
    /// What the calls of this step changed, by id.
    changes: HashMap<String, CallChanges>,
    /// What jobs changed, by the calls that began them.
    jobs: HashMap<String, CallChanges>,
    /// Calls of this step that were answered.
    answered: usize,
    files: Files,
    /// What stands here for the content of files, by their paths here, where it is another than what was recorded:
    /// of large ones, of which older versions recorded the times, and of those in which paths stand.
    contents: BTreeMap<String, String>,
    outcome: Replayed,
    is_over: bool,
}

impl Course {
    pub(super) fn new(
        (session, is_masked): (Session, bool),
        recording: Recording,
        answers: Option<Recording>,
        (workspace, journal, places): (Workspace, Option<Journal>, PlaceNames),
        masking: Masking,
        (until, make): (Option<u32>, Option<ChangesOfCall>),
    ) -> Self {
        let state = State { places, files: Files::new(make), ..State::default() };
        let (queue, state) = (PromptQueue::default(), Mutex::new(state));
        Self {
            session,
            is_masked,
            recording,
            answers,
            until,
            workspace,
            journal,
            masking,
            queue,
            state,
        }
    }

    /// Whether answers are taken instead of running calls.
    pub(super) fn takes_answers(&self) -> bool {
        self.answers.is_some()
    }

    pub(super) fn queue(&self) -> &PromptQueue {
        &self.queue
    }

    pub(super) fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Returns the hash of the tools in the next request.
    pub(super) fn next_tools(&self) -> Option<&str> {
        let next = self.state().next;
        let mut requests = self.recording.requests.iter().skip(next);
        requests.find_map(|request| match &request.sent {
            Some(ModelEvent::RequestSent { tools, .. }) => Some(tools.as_str()),
            _ => None,
        })
    }

    /// Ends the replay between two turns, and says why unless no more was asked for.
    pub(super) fn end_early(&self, reason: &str) {
        let mut state = self.state();
        match self.has_all_wanted(&state) {
            true => state.stop(),
            false => state.end_early(reason),
        }
    }

    fn has_all_wanted(&self, state: &State) -> bool {
        self.until.is_some_and(|until| state.outcome.steps >= until)
    }

    /// Takes in that a turn begins that `cancel` ends.
    pub(super) fn begin(&self, turn: RecordedTurn, cancel: &CancellationToken) {
        self.say(&turn.said);
        let mut state = self.state();
        state.next = turn.requests.start;
        (state.turn, state.cancel) = (turn, cancel.clone());
    }

    fn say(&self, messages: &[Message]) {
        for message in messages {
            // One that finds no room is missing from the next request, which says so.
            let _ = self.queue.push(given(message), Delivery::NextStep);
        }
    }

    /// Takes in that the agent is done with a turn.
    pub(super) fn end_turn(&self) {
        let mut state = self.state();
        if state.is_over || state.next >= state.turn.requests.end {
            return;
        }
        let expected = "another request to the model\n".to_owned();
        let found = "the turn ends\n".to_owned();
        let step = state.outcome.steps + 1;
        self.diverge(&mut state, step, Diverged::Request, (expected, found));
    }

    pub(super) fn outcome(&self) -> Replayed {
        let state = self.state();
        let mut outcome = state.outcome.clone();
        let is_whole = self.has_all_wanted(&state);
        if outcome.divergence.is_none() && !is_whole && outcome.ended_early.is_none() {
            outcome.ended_early.clone_from(&self.recording.cut_short);
        }
        outcome
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the request whose calls are running.
    fn current(&self, state: &State) -> Option<&Recorded> {
        self.recording.requests.get(state.next.checked_sub(1)?)
    }

    /// Returns what the call is answered with where calls do not run.
    fn taken(&self, state: &State, call_id: &str) -> Option<ToolOutput> {
        let answers = self.answers.as_ref()?;
        let at = state.next.checked_sub(1)?;
        // The same step if it has the call, else wherever it is.
        let here = answers.requests.get(at).and_then(|request| request.results.get(call_id));
        let found = here
            .or_else(|| answers.requests.iter().find_map(|request| request.results.get(call_id)));
        Some(match found {
            Some(result) => output(result),
            None => ToolOutput::error("the session that results are taken from has none for this"),
        })
    }

    /// Compares a request with the recorded one; `None` if the agent is not to get an answer.
    fn reply_to(&self, request: &Request) -> Option<&Recorded> {
        let mut state = self.state();
        state.is_logged = false;
        let step = state.outcome.steps + 1;
        if self.until.is_some_and(|until| step > until) {
            state.stop();
            return None;
        }
        if state.next >= state.turn.requests.end {
            match state.turn.ended {
                // Replays have no limits.
                Some(
                    EndReason::StepLimit
                    | EndReason::TokenLimit
                    | EndReason::CostLimit
                    | EndReason::TimeLimit
                    | EndReason::Cancelled,
                ) => state.cancel.cancel(),
                _ if state.is_killed() => state.cancel.cancel(),
                _ if self.is_cut_at(&state) => state.stop(),
                _ => {
                    let expected = "the turn ends\n".to_owned();
                    let found = "another request to the model\n".to_owned();
                    self.diverge(&mut state, step, Diverged::Request, (expected, found));
                }
            }
            return None;
        }
        let recorded = self.recording.requests.get(state.next)?;
        if let Some(sent) = &recorded.sent {
            let now = state.hasher.request(request, None);
            let conversations =
                || (self.conversation_at(recorded.line), request.conversation.clone());
            let differs = divergence::of_requests(sent, &now, self.is_masked, conversations);
            // Of a log that was masked since, the request is another.
            let of_form = || divergence::of_form(sent, request).filter(|_| !self.is_masked);
            if let Some((what, expected, found)) = differs.or_else(of_form) {
                self.diverge(&mut state, step, what, (expected, found));
                return None;
            }
        }
        if recorded.is_unanswered() {
            let is_last = state.next + 1 == self.recording.requests.len();
            let reason = self.recording.cut_short.as_deref().filter(|_| is_last);
            state.end_early(reason.unwrap_or(UNREADABLE));
            return None;
        }
        self.say(&recorded.said);
        state.next += 1;
        state.changes.clear();
        state.answered = 0;
        state.outcome.steps += u32::from(recorded.message.is_some());
        Some(recorded)
    }

    /// Whether the recording ends here, without the end of the turn.
    fn is_cut_at(&self, state: &State) -> bool {
        self.recording.cut_short.is_some()
            && state.turn.ended.is_none()
            && state.turn.requests.end == self.recording.requests.len()
    }

    fn conversation_at(&self, line: u64) -> Conversation {
        let mut fold = Fold::default();
        let branch = self.session.branch_until(line);
        branch.into_iter().for_each(|(_, record)| fold.take(record));
        fold.conversation()
    }

    /// Returns what the model had seen of files, as the session's log has it before `line`.
    pub(super) fn seen_at(&self, line: u64) -> BTreeMap<String, String> {
        let mut fold = Fold::default();
        let branch = self.session.branch_until(line);
        branch.into_iter().for_each(|(_, record)| fold.take(record));
        let state = self.state();
        let here = |(path, hash): (String, String)| {
            let path = state.places.here(&path);
            let content = state.contents.get(&path).cloned();
            (path, content.unwrap_or(hash))
        };
        fold.into_seen().into_iter().map(here).collect()
    }

    fn result(&self, call_id: &str, now: &RecordedResult) {
        let mut state = self.state();
        if state.is_over {
            return;
        }
        let Some(recorded) = self.current(&state) else { return };
        state.answered += 1;
        let is_last = state.answered >= recorded.calls().count()
            && (state.is_cancelled() || state.is_killed() && recorded.said.is_empty());
        if is_last {
            state.cancel.cancel();
        }
        // A result that is missing is said by the next request.
        let Some(result) = recorded.results.get(call_id) else { return };
        state.outcome.calls += 1;
        let step = state.outcome.steps;
        let mut differs = None;
        if result != now {
            let (expected, found) = (divergence::of_result(result), divergence::of_result(now));
            differs = Some((Diverged::Result, expected, found));
        } else if self.answers.is_none() && !is_outside(&state, call_id) {
            let (recorded, now) = (recorded.changes.get(call_id), state.changes.get(call_id));
            let (expected, found) = divergence::of_changes(recorded, now);
            differs = (expected != found).then_some((Diverged::Files, expected, found));
        }
        if let Some((what, expected, found)) = differs {
            if let Some(lost) = state.files.take_lost() {
                // It is nothing that the agent does otherwise.
                return state.end_early(&format!(
                    "results differ from here on, where the files do not have what a call had \
                     changed that was cut short: {lost}"
                ));
            }
            let call = recorded.calls().find(|call| call.id == call_id).map(named);
            self.diverge(&mut state, step, what, (expected, found));
            if let Some(divergence) = &mut state.outcome.divergence {
                (divergence.call_id, divergence.call) = (Some(call_id.to_owned()), call);
            }
        }
    }

    /// Whether a call changed the same files in the same way.
    fn is_changed_as_recorded(
        &self,
        state: &State,
        call_id: &str,
        now: Option<&CallChanges>,
    ) -> bool {
        self.current(state).is_some_and(|recorded| {
            let recorded = recorded.changes.get(call_id);
            let now = now.map(|now| self.evened(state, now, recorded));
            let (expected, found) = divergence::of_changes(recorded, now.as_ref());
            expected == found
        })
    }

    fn seen(&self, files: &BTreeMap<String, String>, bytes: &BTreeMap<String, u64>) {
        let mut state = self.state();
        if state.is_over || self.answers.is_some() {
            return;
        }
        let Some(recorded) = self.current(&state).map(|recorded| &recorded.seen) else { return };
        if recorded.hashes.is_empty() {
            return;
        }
        state.contents.retain(|path, _| !files.contains_key(path));
        let large = files.iter().filter(|(path, _)| bytes.contains_key(*path));
        state.contents.extend(large.map(|(path, hash)| (path.clone(), hash.clone())));
        let mut now = SeenFiles::default();
        for (path, hash) in files {
            let there = state.places.there(path);
            let recorded = recorded.hashes.get(&there).filter(|recorded| *recorded != hash);
            let evened = recorded.and_then(|recorded| {
                self.evened_content(&state, path, (hash, recorded)).map(|_| recorded)
            });
            if let Some(recorded) = evened {
                state.contents.insert(path.clone(), hash.clone());
                now.hashes.insert(there, recorded.clone());
            } else {
                now.hashes.insert(there, hash.clone());
            }
        }
        if !state.outcome.not_run.is_empty() {
            return;
        }
        let places = &state.places;
        now.bytes = bytes.iter().map(|(path, bytes)| (places.there(path), *bytes)).collect();
        let (expected, found) = divergence::of_seen(recorded, &now);
        if expected != found {
            let step = state.outcome.steps;
            self.diverge(&mut state, step, Diverged::Files, (expected, found));
        }
    }

    fn summary(&self) -> EventStream<'_> {
        let mut state = self.state();
        let summaries = self.recording.summaries.iter().enumerate().skip(state.summaries);
        // One that was not asked for, because nothing would have come of it, has none.
        let found = summaries.clone().find(|(_, summary)| summary.behind == state.next);
        let was_last = |killed: Killed| found.is_none_or(|(at, _)| at >= killed.summaries);
        let is_killed = state.is_killed() && state.turn.killed.is_some_and(was_last);
        if is_killed || found.is_none() && state.is_cancelled() {
            // It was asked for and not answered.
            state.cancel.cancel();
            return stream::pending().boxed();
        }
        state.summaries = found.map_or(state.summaries, |(at, _)| at + 1);
        match found.map(|(_, summary)| &summary.answer) {
            Some(Err(why)) => {
                // Of a kind for which nobody tries again.
                let error = ProviderError::new(ProviderErrorKind::Protocol, why.clone());
                stream::iter([Err(error)]).boxed()
            }
            Some(Ok((text, usage))) => {
                let message = Message::user(text.clone());
                let events = events(&message, *usage, Some(StopReason::EndOfTurn));
                stream::iter(events.into_iter().map(Ok)).boxed()
            }
            None => {
                let (expected, found) = ("no summary\n", "a summary is asked for\n");
                let step = state.outcome.steps + 1;
                let differ = (expected.to_owned(), found.to_owned());
                self.diverge(&mut state, step, Diverged::Request, differ);
                stream::pending().boxed()
            }
        }
    }
}

impl Course {
    /// Ends the replay where it is not as recorded: what was `expected`, and what was found. Where an event
    /// before that is missing in the log, nobody knows that it is otherwise.
    fn diverge(
        &self,
        state: &mut State,
        step: u32,
        what: Diverged,
        (expected, found): (String, String),
    ) {
        if self.recording.damaged_behind.is_some_and(|requests| requests <= state.next) {
            return state.end_early(UNREADABLE_BEFORE);
        }
        let is_of_calls = matches!(what, Diverged::Result | Diverged::Files);
        let is_beside =
            is_of_calls && self.current(state).is_some_and(|recorded| recorded.undone_beside);
        let is_behind = |requests: usize| {
            requests < state.next || requests == state.next && (is_of_calls || requests == 0)
        };
        if is_beside || self.recording.undone_behind.is_some_and(is_behind) {
            return state.end_early(UNDONE_SOMEWHERE);
        }
        if !state.is_over {
            let (call_id, call) = (None, None);
            state.outcome.divergence =
                Some(Divergence { step, what, call_id, call, expected, found });
        }
        state.stop();
    }

    /// Makes what a call had changed that was cut short, or remembers that it is not made.
    fn make_changes(&self, state: &mut State, call_id: &str) {
        let Some(recorded) = self.current(state) else { return };
        let is_cut = recorded.started.contains(call_id)
            && (recorded.cut_short.contains(call_id) || !recorded.results.contains_key(call_id));
        let changes = recorded.changes.get(call_id);
        let had_none = match changes {
            Some(changes) => changes.files.is_empty(),
            // A cancelled call had the time to tell.
            None => !state.is_killed(),
        };
        if !is_cut || had_none || self.takes_answers() {
            return;
        }
        state.files.make(call_id, changes);
    }
}

impl State {
    fn end_early(&mut self, reason: &str) {
        self.outcome.ended_early = Some(reason.to_owned());
        self.stop();
    }

    /// Whether the recorded program ended here, in the middle of the turn.
    fn is_killed(&self) -> bool {
        self.turn.killed.is_some() && self.next >= self.turn.requests.end
    }

    /// Whether the recorded turn was cancelled here.
    fn is_cancelled(&self) -> bool {
        let is_cut = matches!(self.turn.ended, Some(EndReason::Cancelled | EndReason::TimeLimit));
        is_cut && self.next >= self.turn.requests.end
    }

    /// Takes in that what a call has in the recording stands for it.
    fn not_run(&mut self, call_id: &str) {
        if !is_outside(self, call_id) {
            self.outcome.not_run.push(call_id.to_owned());
        }
    }

    /// Ends the replay.
    fn stop(&mut self) {
        self.is_over = true;
        self.cancel.cancel();
    }
}

fn is_outside(state: &State, call_id: &str) -> bool {
    state.outcome.not_run.iter().any(|id| id == call_id)
}

impl Course {
    /// Answers a request as it was answered then.
    pub(super) fn reply(self: &Arc<Self>, request: &Request) -> EventStream<'_> {
        if !self.state().is_logged {
            return self.summary();
        }
        let Some(recorded) = self.reply_to(request) else { return stream::pending().boxed() };
        let stop = match &recorded.end {
            ReplyEnd::Stopped(reason) => Some(*reason),
            _ => None,
        };
        let empty = Message { role: tenon_model::Role::Assistant, content: Vec::new() };
        let message = recorded.message.as_ref().unwrap_or(&empty);
        let before = self.undo_before(recorded);
        let events = stream::iter(events(message, recorded.usage, stop).into_iter().map(Ok));
        let events = before.chain(events);
        match &recorded.end {
            ReplyEnd::Failed(kind, words) => {
                let error = ProviderError::new(*kind, words.clone());
                events.chain(stream::iter([Err(error)])).boxed()
            }
            ReplyEnd::Cancelled => {
                let cancel = self.state().cancel.clone();
                let end = stream::once(async move {
                    cancel.cancel();
                    std::future::pending().await
                });
                events.chain(end).boxed()
            }
            ReplyEnd::Stopped(_) | ReplyEnd::Open => events.boxed(),
        }
    }
}

fn output(result: &RecordedResult) -> ToolOutput {
    let (is_error, images) = (result.is_error, result.images.clone());
    ToolOutput { is_error, images, ..ToolOutput::text(result.content.clone()) }
}

fn named(call: &ToolCall) -> String {
    let first = call.arguments.as_object().and_then(|fields| {
        let known = ["command", "path", "pattern"].iter().find_map(|name| fields.get(*name));
        known.and_then(serde_json::Value::as_str)
    });
    format!("{} {}", call.name, first.unwrap_or_default()).trim_end().to_owned()
}
