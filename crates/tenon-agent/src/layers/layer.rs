//! What wraps a call. Layers are few, in a fixed order, and each does one thing.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    policy::ApprovedCall,
    tools::{AnyTool, Effect, ToolContext, ToolOutput},
};

/// Something around the run of an approved call.
#[async_trait]
pub(crate) trait Layer: Send + Sync {
    /// Carries the call out by way of `rest`, before or after which it does its own work.
    async fn around(
        &self,
        call: &ApprovedCall,
        context: &ToolContext,
        rest: Rest<'_>,
    ) -> ToolOutput;
}

/// The layers further in, and the tool itself.
#[derive(Clone, Copy)]
pub(crate) struct Rest<'a> {
    pub(super) layers: &'a [Arc<dyn Layer>],
    pub(super) tool: &'a dyn AnyTool,
    /// What the call may do.
    pub(super) effect: Effect,
    /// Its main argument, for people.
    pub(super) subject: &'a str,
}

impl Rest<'_> {
    /// Carries the call out.
    pub(crate) async fn run(self, call: &ApprovedCall, context: &ToolContext) -> ToolOutput {
        match self.layers.split_first() {
            Some((layer, further)) => {
                layer.around(call, context, Rest { layers: further, ..self }).await
            }
            None => self.tool.run(call.arguments().clone(), context).await,
        }
    }
}
