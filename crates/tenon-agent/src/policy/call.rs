//! The only maker of an [`ApprovedCall`]. Nothing else in the program can run a tool.

use serde_json::Value;

use super::{Decision, Verdict};

/// A call that policy, and a person where one was asked, let through.
#[derive(Debug, Clone)]
pub(crate) struct ApprovedCall {
    id: String,
    arguments: Value,
    /// It runs outside the walls, which somebody said yes to.
    unconfined: bool,
}

/// What is known of a call before it is judged.
#[derive(Debug, Clone)]
pub(crate) struct ProposedCall {
    /// The id that joins call and result.
    pub(crate) id: String,
    /// The checked arguments.
    pub(crate) arguments: Value,
}

/// What became of a proposed call.
#[derive(Debug, Clone)]
pub(crate) enum Judged {
    /// It may run.
    Approved(ApprovedCall),
    /// A person must say yes first.
    Waiting(WaitingCall),
    /// It must not run; one sentence for the model.
    Refused(String),
}

/// A call that waits for a person.
#[derive(Debug, Clone)]
pub(crate) struct WaitingCall {
    call: ProposedCall,
    unconfined: bool,
}

/// Turns a decision into what it means for the call.
pub(crate) fn judge(call: ProposedCall, decision: &Decision) -> Judged {
    match decision.verdict {
        Verdict::Allow => Judged::Approved(approved(call, decision.unconfined)),
        Verdict::Ask => Judged::Waiting(WaitingCall { call, unconfined: decision.unconfined }),
        Verdict::Deny => {
            let allow = decision.how_to_allow();
            let stop = if allow.is_empty() { "" } else { "." };
            let Decision { rule, reason, .. } = decision;
            Judged::Refused(format!("refused by the rule {rule}: {reason}{stop}{allow}"))
        }
    }
}

impl WaitingCall {
    /// Returns the call after a person said yes.
    pub(crate) fn allowed(self) -> ApprovedCall {
        approved(self.call, self.unconfined)
    }
}

impl ApprovedCall {
    /// Returns the id that joins call and result.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the checked arguments.
    pub(crate) fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Returns whether it was let out of the walls.
    pub(crate) fn is_unconfined(&self) -> bool {
        self.unconfined
    }
}

fn approved(call: ProposedCall, unconfined: bool) -> ApprovedCall {
    ApprovedCall { id: call.id, arguments: call.arguments, unconfined }
}
