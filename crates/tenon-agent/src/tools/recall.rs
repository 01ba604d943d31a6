//! `recall`: gives back a result that was left out of the conversation when it was made shorter.
//!
//! Where results are kept is not its business: it is built with a [`Recall`]. In parts, because
//! what did not fit once does not fit now.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use tenon_sandbox::{Workspace, off_thread};

use super::text_file::counted;
use super::tool::{Effect, Tool, ToolContext, ToolOutput};
use crate::{masking::Masking, policy::Action};

/// The most characters of one part: about 2,000 tokens, a quarter of the smallest usual window.
const PART_CHARS_MAX: usize = 8_000;

/// What is given in the place of a handle to have all handles named.
pub(crate) const RECALL_LIST: &str = "list";

/// Where results are kept that were left out of a conversation.
///
/// ```
/// use tenon_agent::Recall;
///
/// struct Kept(Vec<(String, String)>);
///
/// impl Recall for Kept {
///     fn recall(&self, handle: &str) -> Result<String, String> {
///         let found = self.0.iter().find(|(known, _)| known == handle);
///         found.map(|(_, text)| text.clone()).ok_or_else(|| format!("there is no {handle}"))
///     }
/// }
///
/// let kept = Kept(vec![("r1f00c0de".into(), "2 passed".into())]);
/// assert_eq!(kept.recall("r1f00c0de"), Ok("2 passed".into()));
/// ```
pub trait Recall: Send + Sync {
    /// Returns the whole text of the result that was left out under `handle`, or what is wrong, for
    /// the model.
    fn recall(&self, handle: &str) -> Result<String, String>;

    /// Returns the handles of all results that were left out, the newest first, a line each, or what is
    /// wrong, for the model.
    ///
    /// ```
    /// use tenon_agent::Recall;
    ///
    /// struct Nothing;
    ///
    /// impl Recall for Nothing {
    ///     fn recall(&self, handle: &str) -> Result<String, String> {
    ///         Err(format!("there is no {handle}"))
    ///     }
    /// }
    ///
    /// assert_eq!(Nothing.list(), Err("the results cannot be listed".into()));
    /// ```
    fn list(&self) -> Result<String, String> {
        Err("the results cannot be listed".into())
    }
}

/// Gives back results that were left out.
pub(crate) struct RecallTool {
    source: Arc<dyn Recall>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RecallArgs {
    /// e.g. r1f00c0de
    handle: String,
    /// First character, 0 if left out
    offset: Option<usize>,
}

impl RecallTool {
    pub(crate) fn new(source: Arc<dyn Recall>) -> Self {
        Self { source }
    }
}

impl Tool for RecallTool {
    type Args = RecallArgs;

    fn name(&self) -> &str {
        "recall"
    }

    fn description(&self) -> &str {
        "Give back a result that was left out to save room, in parts of 8,000 characters."
    }

    fn effect(&self, _args: &RecallArgs) -> Effect {
        Effect::Read
    }

    fn subject(&self, args: &RecallArgs) -> String {
        args.handle.clone()
    }

    fn action(&self, _args: &RecallArgs, _workspace: &Workspace) -> Action {
        // The model read it once already: nothing new is touched.
        Action::Read { paths: Vec::new() }
    }

    async fn run(&self, args: RecallArgs, context: &ToolContext) -> Result<ToolOutput, String> {
        let (source, handle) = (Arc::clone(&self.source), args.handle);
        let found = off_thread(move || match handle.as_str() {
            RECALL_LIST => source.list(),
            handle => source.recall(handle),
        });
        let found = found.await;
        let text = found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        part(&text, args.offset.unwrap_or(0), &context.masking).map(ToolOutput::text)
    }
}

/// Returns the part of `text` that begins behind `offset` characters, with a note if more follows.
fn part(text: &str, offset: usize, masking: &Masking) -> Result<String, String> {
    let mut chars = text.chars();
    if offset > 0 && chars.nth(offset - 1).is_none() {
        let all = counted(text.chars().count() as u64, "character");
        return Err(format!("the result has only {all}"));
    }
    let start = text.len() - chars.as_str().len();
    let _ = chars.nth(PART_CHARS_MAX - 1);
    let mut part = masking.part(text, start..text.len() - chars.as_str().len());
    let left = chars.count();
    if left > 0 {
        let next = offset + PART_CHARS_MAX;
        let left = counted(left as u64, "more character");
        part.push_str(&format!("\n... ({left}; offset {next} goes on)"));
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::Bench;

    struct Kept;

    impl Recall for Kept {
        fn recall(&self, handle: &str) -> Result<String, String> {
            match handle {
                "short" => Ok("汉字".into()),
                "long" => Ok("一".repeat(20_000)),
                other => Err(format!("there is no result {other}")),
            }
        }

        fn list(&self) -> Result<String, String> {
            Ok("long: yes".into())
        }
    }

    #[test]
    fn a_result_comes_back_in_parts() {
        let tool = RecallTool::new(Arc::new(Kept));
        let bench = Bench::new();
        let call = |arguments| bench.call(&tool, arguments);
        assert_eq!(call(json!({"handle": "short"})).content, "汉字");
        assert_eq!(call(json!({"handle": "list"})).content, "long: yes");
        let first = call(json!({"handle": "long"})).content;
        assert!(first.ends_with("\n... (12000 more characters; offset 8000 goes on)"), "{first}");
        let last = call(json!({"handle": "long", "offset": 16_000})).content;
        assert_eq!(last, "一".repeat(4_000));
        let wrong = call(json!({"handle": "nope"}));
        assert!(wrong.is_error && wrong.content.contains("there is no result nope"));
        let beyond = call(json!({"handle": "short", "offset": 9}));
        assert!(beyond.is_error && beyond.content.contains("only 2 characters"));
    }
}
