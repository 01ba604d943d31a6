//! Policy decides; where it wants a yes, a person is asked. Nobody there means no.

use super::whole_lines::ShownCall;
use crate::{
    event::{Live, Update},
    input::{Answer, FrontEnd, Question},
    policy::{ApprovedCall, Decision, Judged, Kept, ProposedCall, Rule, Verdict, judge},
};

/// What became of a call before it ran.
pub(super) struct Approval {
    /// The call, or the sentence that the model gets instead.
    pub outcome: Result<ApprovedCall, String>,
    /// What was decided in the end.
    pub verdict: Verdict,
    /// Whether a person was asked.
    pub asked: bool,
    /// The rule that decided, or because of which a person was asked.
    pub rule: String,
    /// What would have allowed it, where nobody was asked.
    pub flag: Option<String>,
    /// What is allowed from now on.
    pub lasting: Vec<Rule>,
    /// What was written down for later sessions.
    pub kept: Option<Kept>,
}

impl Approval {
    fn new(outcome: Result<ApprovedCall, String>, asked: bool, by: &Decision) -> Self {
        let verdict = if outcome.is_ok() { Verdict::Allow } else { Verdict::Deny };
        let flag = by.flag.clone().filter(|_| !asked && verdict == Verdict::Deny);
        let (rule, lasting, kept) = (by.rule.clone(), Vec::new(), None);
        Self { outcome, verdict, asked, rule, flag, lasting, kept }
    }
}

/// Judges `call` by `decision` and asks `front` where a yes is needed, about a tool, its subject and the call
/// as it is shown. `asking` lets one question stand at a time; `again` decides anew once it is this call's turn
/// to ask, for the answer to another call may have settled it.
pub(super) async fn approve(
    (tool, subject, shown): (&str, &str, ShownCall),
    call: ProposedCall,
    decision: Decision,
    front: &dyn FrontEnd,
    (asking, again): (&tokio::sync::Mutex<()>, &(dyn Fn() -> Decision + Sync)),
) -> Approval {
    let (call_id, ShownCall { arguments, programs_set }) = (call.id.clone(), shown);
    let waiting = match judge(call, &decision) {
        Judged::Approved(call) => {
            return Approval::new(Ok(call), false, &decision);
        }
        Judged::Refused(reason) => {
            return Approval::new(Err(reason), false, &decision);
        }
        Judged::Waiting(waiting) => waiting,
    };
    let _one_at_a_time = turn_to_ask(asking, &call_id, front).await;
    let decision = again();
    if decision.verdict == Verdict::Allow {
        return Approval::new(Ok(waiting.allowed()), false, &decision);
    }
    let refusal = refusal(&decision);
    let by = decision.clone();
    let (lasting, kept) = (decision.lifted_by.clone(), decision.always.clone());
    let question = Question {
        call_id,
        tool: tool.to_owned(),
        subject: subject.to_owned(),
        arguments,
        decision,
        programs_set,
        is_masked: false,
    };
    match front.ask(question).await {
        Answer::Allow => Approval::new(Ok(waiting.allowed()), true, &by),
        Answer::AllowForSession => {
            Approval { lasting, ..Approval::new(Ok(waiting.allowed()), true, &by) }
        }
        Answer::AllowAlways if kept.is_some() => {
            Approval { lasting, kept, ..Approval::new(Ok(waiting.allowed()), true, &by) }
        }
        Answer::AllowAlways => Approval::new(Ok(waiting.allowed()), true, &by),
        Answer::Deny(words) => {
            let words = words.map(|words| format!(" and said: {words}")).unwrap_or_default();
            Approval::new(Err(format!("the user refused this call{words}")), true, &by)
        }
        Answer::Nobody => Approval::new(Err(refusal), false, &by),
    }
}

/// Waits until no other question is open, and says meanwhile that the call does.
async fn turn_to_ask<'a>(
    asking: &'a tokio::sync::Mutex<()>,
    call_id: &str,
    front: &dyn FrontEnd,
) -> tokio::sync::MutexGuard<'a, ()> {
    if let Ok(turn) = asking.try_lock() {
        return turn;
    }
    let waits = |waits| Update::Live(Live::CallWaits { call_id: call_id.to_owned(), waits });
    front.update(waits(true));
    let turn = asking.lock().await;
    front.update(waits(false));
    turn
}

fn refusal(decision: &Decision) -> String {
    let (reason, allow) = (&decision.reason, decision.how_to_allow());
    format!("needs the user's yes, and nobody is here to ask: {reason}.{allow}")
}
