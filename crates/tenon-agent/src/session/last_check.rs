//! Which check ran last in a branch, as its log tells: by the receipts of its turns, and by what the model was asked to
//! run anew because something changed behind it. Pure.

use std::collections::HashSet;

use tenon_model::ToolCall;

use crate::event::{
    CallEvent, ContextEvent, Continuation, ContinuationCause, SessionEvent, TurnEvent,
};

/// Takes in events one after another.
#[derive(Debug, Default)]
pub(super) struct LastCheck {
    /// The command lines of calls that began.
    commands: HashSet<String>,
    command: Option<String>,
}

impl LastCheck {
    pub(super) fn take(&mut self, event: &SessionEvent) {
        let ran = match event {
            SessionEvent::Call(CallEvent::CallStarted { call, .. }) => {
                self.commands.extend(command_of(call));
                return;
            }
            SessionEvent::Turn(TurnEvent::TurnEnded { receipt: Some(receipt), .. }) => {
                receipt.checks.last().map(|run| run.command.clone())
            }
            // No receipt has one that something changed behind.
            SessionEvent::Context(ContextEvent::Continued(Continuation {
                cause: ContinuationCause::NotChecked,
                reason: Some(asked),
                ..
            })) => self.commands.get(asked.trim()).cloned(),
            _ => None,
        };
        self.command = ran.or_else(|| self.command.take());
    }

    /// Returns its command line.
    pub(super) fn command(self) -> Option<String> {
        self.command
    }
}

fn command_of(call: &ToolCall) -> Option<String> {
    let command = call.arguments.get("command")?.as_str()?;
    Some(command.trim().to_owned())
}
