//! The innermost layer: no known secret leaves a tool, neither for the model nor for people. Before
//! the limit, so that no cut goes through a value.

use async_trait::async_trait;

use super::layer::{Layer, Rest};
use crate::{
    masking::Masking,
    policy::ApprovedCall,
    tools::{ToolContext, ToolOutput},
};

/// Masks results.
#[derive(Debug, Clone)]
pub(super) struct Mask {
    pub(super) masking: Masking,
}

#[async_trait]
impl Layer for Mask {
    async fn around(
        &self,
        call: &ApprovedCall,
        context: &ToolContext,
        rest: Rest<'_>,
    ) -> ToolOutput {
        // What a command prints is masked as it comes, with what is known when it begins.
        self.masking.look(&context.workspace, call.arguments()).await;
        let output = rest.run(call, context).await;
        // What the call itself wrote into a `.env` file is known before its result is shown.
        self.masking.look(&context.workspace, call.arguments()).await;
        let mask = |text: String| self.masking.mask(text);
        let view = output.view.map(|view| view.masked(mask));
        ToolOutput { content: mask(output.content), view, ..output }
    }
}
