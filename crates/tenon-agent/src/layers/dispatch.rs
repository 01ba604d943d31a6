//! Sends each call of a reply to its tool: looked up, checked, judged, run, answered.
//!
//! Calls that only read run side by side; any other runs alone. Results come back in the order
//! of the calls, one for each, whatever happens.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use futures::{StreamExt, TryStreamExt, stream};
use tenon_model::{CALLS_MAX, ToolCall, ToolCallFault, ToolResult};
use tenon_sandbox::{INTERNET_SOCKETS, PATH_SOCKETS, Workspace};
use tokio_util::sync::CancellationToken;

use super::{
    approve::approve,
    grant::{Grant, elsewhere},
    layer::{Layer, Rest},
    open_jobs::OpenJobs,
    overtime,
    reach::Reach,
    receipt::Receipts,
    stand_in::{self, StandIn},
    whole_lines::ShownCall,
    written::{Outcome, Refused, Written},
};
use crate::{
    event::{CallEvent, Live, TurnEvent, Update, View},
    input::FrontEnd,
    masking::Masking,
    policy::{
        Action, ApprovedCall, Decision, Kept, Mode, Places, ProposedCall, Rule, Rules, Verdict,
        decide_by_names,
    },
    session::{LogError, Recorder, Restored, SeenNews},
    tools::{
        AnyTool, BASH, Effect, Held, PreparedCall, Progress, Sandbox, ToolContext, ToolOutput,
        Tools, WITHOUT_WALLS, job_news, text_file::length_if_large,
    },
};

/// Allows sockets where there are none else.
const WITH_NETWORK: &str = "--net on";

/// How many calls that only read run at the same time.
const READS_AT_ONCE_MAX: usize = 8;

/// Everything that a call needs on its way.
pub(crate) struct Dispatch {
    pub tools: Tools,
    pub layers: Vec<Arc<dyn Layer>>,
    /// Grows by what a person allows for the session.
    pub rules: Mutex<Rules>,
    pub mode: Mode,
    pub places: Places,
    pub workspace: Workspace,
    pub sandbox: Sandbox,
    pub asking: Arc<tokio::sync::Mutex<()>>,
    pub reach: Reach,
    /// Protected files that stay as they were whatever commands write.
    pub refused_writes: Refused,
    pub masking: Masking,
    pub receipts: Receipts,
    pub open_jobs: Arc<OpenJobs>,
    pub jobs_end_with_turn: bool,
    pub seen: SeenNews,
    /// Only in a conversation that is replayed.
    pub stand_in: Option<Arc<dyn StandIn>>,
}

/// A call that is ready to be judged, or the answer that it gets instead of running.
enum Ready<'a> {
    Call(&'a dyn AnyTool, PreparedCall),
    Answer(Box<ToolOutput>),
}

/// A call that nothing stands in the way of.
struct Permitted<'a> {
    tool: &'a dyn AnyTool,
    call_id: &'a str,
    subject: &'a str,
    call: &'a ApprovedCall,
    effect: Effect,
    action: Action,
    context: ToolContext,
    written: Arc<Written>,
}

impl Ready<'_> {
    fn error(words: impl std::fmt::Display) -> Self {
        Self::Answer(Box::new(ToolOutput::error(words)))
    }
}

impl Dispatch {
    /// Runs `calls` and returns one result for each, in their order.
    ///
    /// # Errors
    /// Only if the log cannot be written.
    pub(crate) async fn run(
        &self,
        calls: &[ToolCall],
        recorder: &Recorder,
        cancel: &CancellationToken,
    ) -> Result<Vec<ToolResult>, LogError> {
        let mut results = Vec::with_capacity(calls.len());
        let mut rest = calls;
        while !rest.is_empty() {
            let reads = rest.iter().take_while(|call| self.only_reads(call)).count();
            let (now, later) = rest.split_at(reads.max(1));
            rest = later;
            let answers: Vec<ToolResult> = stream::iter(now)
                .map(|call| self.answer(call, recorder, cancel))
                .buffered(READS_AT_ONCE_MAX)
                .try_collect()
                .await?;
            results.extend(answers);
        }
        self.note_tried(None, recorder)?;
        self.note_seen(recorder)?;
        Ok(results)
    }

    /// Logs the hosts that the commands of one call tried, or with `None` all that are not logged yet.
    fn note_tried(&self, call_id: Option<&str>, recorder: &Recorder) -> Result<(), LogError> {
        let mut tried = self.sandbox.take_tried(call_id).into_iter().map(CallEvent::from);
        tried.try_for_each(|event| recorder.record(event))
    }

    /// Logs which files the model has come to know.
    ///
    /// # Errors
    /// Only if the log cannot be written.
    pub(crate) fn note_seen(&self, recorder: &Recorder) -> Result<(), LogError> {
        let length = |path: &str| length_if_large(&self.workspace, path);
        let news = self.seen.take(&self.workspace, length);
        news.map_or(Ok(()), |news| recorder.record(news))
    }

    /// Takes what a conversation had seen of files in the place of what is known.
    pub(crate) fn set_seen(&mut self, restored: &Restored) {
        self.seen = restored.see_in(&self.workspace);
    }

    fn only_reads(&self, call: &ToolCall) -> bool {
        match self.ready(call) {
            Ready::Call(_, prepared) => prepared.effect == Effect::Read,
            // What a replay answers with may stand for a call that changed something.
            Ready::Answer(_) => self.stand_in.is_none(),
        }
    }

    fn ready(&self, call: &ToolCall) -> Ready<'_> {
        if let Some(answer) = self.stand_in.as_ref().and_then(|stand_in| stand_in.answer(call)) {
            return Ready::Answer(Box::new(answer));
        }
        match &call.fault {
            Some(ToolCallFault::CutOff) => {
                return Ready::error(
                    "the reply was cut off by its output limit in the middle of this call, so it \
                     did not run. Send it again in smaller pieces: of a long file write the beginning, \
                     and add the rest part by part with edit_file.",
                );
            }
            Some(ToolCallFault::Malformed { raw, error }) => {
                return Ready::error(format_args!(
                    "the arguments are not a JSON object ({error}), so the call did not run. \
                     What came: {raw}"
                ));
            }
            Some(ToolCallFault::TooMany) => {
                return Ready::error(format_args!(
                    "the reply had more than {CALLS_MAX} calls, so this one and all behind it did not run. \
                     Send those that are still needed again, in smaller replies."
                ));
            }
            None => {}
        }
        let Some(tool) = self.tools.get(&call.name) else {
            return Ready::error(self.tools.unknown(&call.name));
        };
        match tool.prepare(&call.arguments, &self.workspace) {
            Ok(prepared) if prepared.effect != Effect::Read => {
                match self.masking.refusal(&prepared.arguments) {
                    Some(refusal) => Ready::error(format_args!("{}: {refusal}", call.name)),
                    None => Ready::Call(tool.as_ref(), prepared),
                }
            }
            Ok(prepared) => Ready::Call(tool.as_ref(), prepared),
            Err(error) => {
                // The sentence repeats beginnings of what came: of what is not masked, it would show
                // the beginning of a secret.
                let masked = self.masking.arguments(&call.arguments);
                let error = tool.prepare(&masked, &self.workspace).err().unwrap_or(error);
                Ready::error(format_args!("{}: {error}", call.name))
            }
        }
    }

    async fn answer(
        &self,
        call: &ToolCall,
        recorder: &Recorder,
        cancel: &CancellationToken,
    ) -> Result<ToolResult, LogError> {
        let mut started = Instant::now();
        let here = stand_in::here(self.stand_in.as_deref(), call);
        let ready = self.ready(&here);
        let subject = match &ready {
            Ready::Call(_, prepared) => prepared.subject.clone(),
            Ready::Answer(_) => String::new(),
        };
        recorder.record(CallEvent::CallStarted { call: call.clone(), subject })?;
        let output = match ready {
            Ready::Answer(answer) => *answer,
            Ready::Call(..) if cancel.is_cancelled() => {
                ToolOutput::error("cancelled before it ran")
            }
            Ready::Call(tool, prepared) => {
                let looked = self.look_first(&prepared.action, &call.id, recorder).await?;
                match looked {
                    Ok(put_back) => {
                        let seen = (recorder, &mut started);
                        let mut output = self.judged(tool, call, prepared, seen, cancel).await?;
                        put_back.iter().for_each(|lines| output.add_own(lines));
                        output
                    }
                    Err(error) => ToolOutput::error(error),
                }
            }
        };
        // Not every answer comes from a tool, and what is sent must be what stands in the log.
        let output = ToolOutput { content: self.masking.mask(output.content), ..output };
        let output = stand_in::there(self.stand_in.as_deref(), call, output);
        for changes in output.changed {
            recorder.record(CallEvent::CallChanged(changes))?;
        }
        let view = output.view.unwrap_or_else(|| View::text(&output.content));
        recorder.record(CallEvent::ToolResult {
            call_id: call.id.clone(),
            content: output.content.clone(),
            is_error: output.is_error,
            images: output.images.clone(),
            view,
            duration_ms: started.elapsed().as_millis() as u64,
            cut_short: cancel.is_cancelled(),
            job: output.job,
        })?;
        Ok(ToolResult {
            call_id: call.id.clone(),
            content: output.content,
            is_error: output.is_error,
            images: output.images,
        })
    }

    async fn judged(
        &self,
        tool: &dyn AnyTool,
        call: &ToolCall,
        prepared: PreparedCall,
        (recorder, started): (&Recorder, &mut Instant),
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, LogError> {
        let action = prepared.action;
        let grant = match Grant::of(&action, &self.workspace) {
            Ok(grant) => grant,
            Err(error) => return Ok(ToolOutput::error(error)),
        };
        let decision = self.decide(tool.name(), &action);
        let leaves = decision.leaves.is_some() || decision.unconfined;
        if let Some(stand_in) = self.stand_in.as_ref().filter(|_| leaves)
            && let Some(answer) = stand_in.answer_outside(call)
        {
            return Ok(answer);
        }
        let held = grant.held(&self.workspace, decision.verdict);
        let proposed = ProposedCall { id: call.id.clone(), arguments: prepared.arguments };
        let subject = grant.subject().unwrap_or(prepared.subject);
        let front = recorder.front();
        let again = || self.decide(tool.name(), &action);
        let asking = (&*self.asking, &again as &(dyn Fn() -> Decision + Sync));
        let shown = ShownCall::of(tool, &proposed, &subject, held);
        let approval = approve((tool.name(), &subject, shown), proposed, decision, front, asking);
        let approval = tokio::select! {
            approval = approval => approval,
            () = cancel.cancelled() => return Ok(ToolOutput::error("cancelled before it ran")),
        };
        // It did not run while it waited for an answer.
        *started = Instant::now();
        // Most calls are allowed by the mode alone, and the log is not to grow by them.
        let is_by_mode = approval.verdict == Verdict::Allow && approval.rule == self.mode.rule();
        if approval.asked || !is_by_mode {
            recorder.record(CallEvent::CallDecided {
                call_id: call.id.clone(),
                verdict: approval.verdict,
                rule: approval.rule,
                asked: approval.asked,
                flag: approval.flag,
            })?;
        }
        self.allow(approval.lasting, approval.kept.as_ref(), recorder)?;
        let approved = match approval.outcome {
            Ok(approved) => approved,
            Err(reason) => return Ok(ToolOutput::error(grant.refused(reason))),
        };
        let shown = approval.asked.then_some(&action);
        let written = self.written(&call.id, recorder);
        let mut context = self.context(&call.id, &subject, recorder, cancel);
        context.progress = context.progress.with_judge(Arc::clone(&written) as _);
        context.workspace = match self.narrowed(tool, &approved, (&subject, shown), &grant) {
            Ok(workspace) => workspace,
            Err(error) => return Ok(ToolOutput::error(error)),
        };
        if approved.is_unconfined() {
            context.sandbox = context.sandbox.outside(self.workspace.roots());
        }
        let put_back = self.look_before_outside(&approved, recorder).await?;
        let (call_id, effect) = (call.id.as_str(), prepared.effect);
        let call = &approved;
        let permitted =
            Permitted { tool, call_id, subject: &subject, call, effect, action, context, written };
        let mut output = self.carried_out(permitted, recorder).await?;
        put_back.iter().for_each(|lines| output.add_own(lines));
        Ok(output)
    }

    /// Returns the workspace of a call. Somebody may have thought about the action that was `shown`
    /// for a while, and links can be exchanged meanwhile.
    fn narrowed(
        &self,
        tool: &dyn AnyTool,
        call: &ApprovedCall,
        (subject, shown): (&str, Option<&Action>),
        grant: &Grant,
    ) -> Result<Workspace, String> {
        let now = || tool.prepare(call.arguments(), &self.workspace).map(|call| call.action);
        match shown.filter(|_| !grant.holds_a_place()) {
            Some(shown) if !now().is_ok_and(|now| now == *shown) => Err(elsewhere(subject)),
            _ => grant.narrow(self.workspace.clone()),
        }
    }

    async fn carried_out(
        &self,
        permitted: Permitted<'_>,
        recorder: &Recorder,
    ) -> Result<ToolOutput, LogError> {
        let Permitted { tool, call_id, subject, call, effect, action, context, written } =
            permitted;
        let layers = Rest { layers: &self.layers, tool, effect, subject };
        self.receipts.before(effect, &action, &self.workspace).await;
        let started = Instant::now();
        let mut output = layers.run(call, &context).await;
        let time = started.elapsed();
        self.receipts.after(&action, &output, time, &self.workspace).await;
        if matches!(action, Action::Run { .. }) {
            self.reach.end_once();
        }
        self.note_tried(Some(call_id), recorder)?;
        for outcome in written.take_outcomes() {
            match outcome {
                Outcome::Nobody { path, flag } => {
                    let call_id = call_id.to_owned();
                    recorder.record(CallEvent::WriteRefused { call_id, path, flag })?;
                }
                Outcome::Lasting(rules, kept) => self.allow(rules, kept.as_ref(), recorder)?,
            }
        }
        for what in std::mem::take(&mut output.refused) {
            let (call_id, what) = (call_id.to_owned(), what.to_owned());
            let is_of_sockets = [INTERNET_SOCKETS, PATH_SOCKETS].contains(&what.as_str());
            let flag = if is_of_sockets { WITH_NETWORK } else { WITHOUT_WALLS }.to_owned();
            let (wall, flag) = (None, Some(flag));
            recorder.record(CallEvent::WallsRefused { call_id, wall, what, flag })?;
        }
        for Held { wall, what, flag } in std::mem::take(&mut output.held) {
            let (call_id, what) = (call_id.to_owned(), self.masking.mask(what));
            recorder.record(CallEvent::WallsRefused { call_id, wall: Some(wall), what, flag })?;
        }
        let offer = self.reach.offer(&mut output, call_id, &self.sandbox, recorder, &self.asking);
        tokio::select! {
            offered = offer => offered?,
            () = context.cancel.cancelled() => {}
        }
        if let Some(news) = job_news(self.sandbox.jobs(), &self.masking, &self.workspace) {
            output.add_own(&self.masking.mask(news.text));
            for path in news.put_back {
                let (call_id, path) = (call_id.to_owned(), path.to_string_lossy().into_owned());
                recorder.record(CallEvent::WriteRefused { call_id, path, flag: None })?;
            }
        }
        let by_jobs = self.open_jobs.take_told(self.sandbox.jobs());
        self.receipts.take_changes(&by_jobs, &self.workspace);
        output.changed.extend(by_jobs);
        Ok(output)
    }

    /// Logs what those jobs changed of whose end the model is told with what comes next, and which hosts jobs
    /// tried.
    ///
    /// # Errors
    /// Only if the log cannot be written.
    pub(crate) fn note_told_jobs(&self, recorder: &Recorder) -> Result<(), LogError> {
        self.note_tried(None, recorder)?;
        let changed = self.open_jobs.take_told(self.sandbox.jobs()).into_iter();
        changed.map(CallEvent::CallChanged).try_for_each(|event| recorder.record(event))
    }

    /// Ends all jobs and logs what they changed and which hosts they tried; returns whether any was running.
    ///
    /// # Errors
    /// Only if the log cannot be written.
    pub(crate) async fn end_jobs(&self, recorder: &Recorder) -> Result<bool, LogError> {
        let jobs = self.sandbox.jobs();
        let has_ended = !jobs.stop_all().await.is_empty();
        self.note_tried(None, recorder)?;
        let changed = self.open_jobs.take_ended(jobs);
        self.receipts.take_changes(&changed, &self.workspace);
        let mut events = changed.into_iter().map(CallEvent::CallChanged);
        events.try_for_each(|event| recorder.record(event))?;
        Ok(has_ended)
    }

    /// Returns whether it makes sense to ask the model for this check: no rule, no mode and nobody to
    /// answer stands in its way.
    pub(crate) fn may_check(&self, command: &str, front: &dyn FrontEnd) -> bool {
        if let Some(stand_in) = &self.stand_in {
            return stand_in.asked_for_a_check();
        }
        let run = Action::Run { command: command.to_owned() };
        self.tools.get(BASH).is_some()
            && match self.decide(BASH, &run).verdict {
                Verdict::Allow => true,
                Verdict::Ask => front.has_person(),
                Verdict::Deny => false,
            }
    }

    fn decide(&self, tool: &str, action: &Action) -> Decision {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let names = |folder: &str| self.workspace.all_names(folder);
        let places = self.places.at_present();
        let decision = decide_by_names(tool, action, &rules, self.mode, &places, &names);
        drop(rules);
        self.by_what_is_there(decision, action)
    }

    /// Takes in what is allowed from now on.
    fn allow(
        &self,
        lasting: Vec<Rule>,
        kept: Option<&Kept>,
        recorder: &Recorder,
    ) -> Result<(), LogError> {
        for rule in lasting {
            let text = match kept {
                Some(kept) => format!("allowed always: {kept}"),
                None => format!("allowed for this session: {rule}"),
            };
            recorder.record(TurnEvent::Notice { text })?;
            self.rules.lock().unwrap_or_else(PoisonError::into_inner).add(rule);
        }
        Ok(())
    }

    fn written(&self, call_id: &str, recorder: &Recorder) -> Arc<Written> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Arc::new(Written {
            front: recorder.front_shared(),
            call_id: call_id.to_owned(),
            asking: Arc::clone(&self.asking),
            rules: Mutex::new(rules),
            mode: self.mode,
            places: self.places.at_present(),
            refused: Arc::clone(&self.refused_writes),
            outcomes: Mutex::default(),
        })
    }

    fn context(
        &self,
        call_id: &str,
        subject: &str,
        recorder: &Recorder,
        cancel: &CancellationToken,
    ) -> ToolContext {
        let (front, call_id) = (recorder.front_shared(), call_id.to_owned());
        let overtime = overtime::ask(&front, &call_id, subject, &self.asking);
        ToolContext {
            workspace: self.workspace.clone(),
            sandbox: self.sandbox.of_call(&call_id),
            cancel: cancel.clone(),
            progress: Progress::new(move |text| {
                front.update(Update::Live(Live::CallOutput {
                    call_id: call_id.clone(),
                    text: text.to_owned(),
                }));
            })
            .with_overtime(overtime),
            masking: self.masking.clone(),
        }
    }
}
