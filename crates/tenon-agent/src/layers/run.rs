//! Whatever happens inside this layer, the call gets an answer, and what it wrote with leave at a protected
//! place is known to be no command's.
//!
//! A panic becomes an error result. A tool that does not stop by itself when the turn is
//! cancelled is dropped after a moment.

use std::{panic::AssertUnwindSafe, time::Duration};

use async_trait::async_trait;
use futures::FutureExt;

use super::layer::{Layer, Rest};
use crate::{
    policy::ApprovedCall,
    tools::{ToolContext, ToolOutput},
};

/// How long a cancelled tool may take to end by itself: bash gives its processes 2 s.
const CANCEL_GRACE: Duration = Duration::from_secs(4);

/// Turns panics and cancellation into results.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run;

#[async_trait]
impl Layer for Run {
    async fn around(
        &self,
        call: &ApprovedCall,
        context: &ToolContext,
        rest: Rest<'_>,
    ) -> ToolOutput {
        let run = AssertUnwindSafe(rest.run(call, context)).catch_unwind();
        let overdue = async {
            context.cancel.cancelled().await;
            tokio::time::sleep(CANCEL_GRACE).await;
        };
        let output = tokio::select! {
            result = run => result.unwrap_or_else(|panic| {
                ToolOutput::error(format_args!("the tool failed inside: {}", words(&*panic)))
            }),
            () = overdue => ToolOutput::error("cancelled while it ran"),
        };
        context.sandbox.accept(&context.workspace);
        output
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given")
}
