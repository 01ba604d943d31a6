//! What happens to the conversation besides prompts, replies and results: it goes on by itself
//! after a cut or for a check, and it is made shorter.
//!
//! Each event holds all that is needed to repeat it: whoever reads a log applies it to the
//! conversation read so far and has what the model was sent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenon_model::{ContentBlock, Conversation, Message, Usage};

/// Events of the conversation as the model sees it.
///
/// ```
/// use tenon_agent::{ContextEvent, SessionEvent};
/// use tenon_model::Conversation;
///
/// /// Brings a conversation that is rebuilt from a log up to date.
/// fn apply(event: &SessionEvent, conversation: &mut Conversation) {
///     match event {
///         SessionEvent::Context(ContextEvent::Continued(continuation)) => {
///             conversation.push(continuation.message.clone().into());
///         }
///         SessionEvent::Context(ContextEvent::Compacted(compaction)) => {
///             *conversation = compaction.applied_to(conversation);
///         }
///         _ => {}
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContextEvent {
    /// A reply was cut short, or a check is missing, and the model is asked to go on.
    Continued(Continuation),
    /// Old messages were replaced by less.
    Compacted(Compaction),
}

/// How the model goes on by itself where it ended.
///
/// ```
/// use tenon_agent::{Continuation, ContinuationCause};
/// use tenon_model::Message;
///
/// let continuation = Continuation {
///     cause: ContinuationCause::OutputLimit,
///     reason: None,
///     message: Message::user("Go on."),
///     number: 1,
///     number_max: 5,
/// };
/// let Continuation { number, number_max, .. } = &continuation;
/// assert_eq!(format!("goes on by itself ({number} of {number_max})"), "goes on by itself (1 of 5)");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Continuation {
    /// Why.
    pub cause: ContinuationCause,
    /// What the provider said, if it was a failure; the check, if one is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the model is told; it stands in the conversation.
    pub message: Message,
    /// How many times in a row it goes on, with this one.
    pub number: u32,
    /// After how many the turn ends.
    pub number_max: u32,
}

/// Why the model goes on by itself.
///
/// ```
/// use tenon_agent::ContinuationCause;
///
/// let cause = ContinuationCause::OutputLimit;
/// assert_eq!(serde_json::to_string(&cause)?, r#""output_limit""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContinuationCause {
    /// The reply was cut because the largest was reached.
    OutputLimit,
    /// The provider broke off after part of the reply was shown.
    Failure,
    /// Something was changed after the last check, and the model is asked to run one.
    NotChecked,
}

/// Why a conversation was made shorter.
///
/// ```
/// use tenon_agent::CompactionCause;
///
/// assert_eq!(serde_json::to_string(&CompactionCause::TooLong)?, r#""too_long""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionCause {
    /// It came near the model's window.
    Window,
    /// The provider said that it is too long.
    TooLong,
    /// The person asked for it.
    Asked,
}

/// Old messages replaced by less. The log keeps them: without this event it gives the conversation
/// as it was before.
///
/// ```
/// use std::sync::Arc;
///
/// use tenon_agent::{Compaction, CompactionCause};
/// use tenon_model::{Message, Usage};
///
/// let said = |text: &str| Arc::new(Message::user(text));
/// let compaction = Compaction {
///     cause: CompactionCause::Asked,
///     focus: None,
///     replaced: 2,
///     messages: vec![Message::user("a and b")],
///     results: Vec::new(),
///     prompts_kept: 2,
///     prompts_cut: 0,
///     tokens_before: 900,
///     tokens_after: 500,
///     window_tokens: 128_000,
///     usage: Usage::default(),
/// };
/// let shorter = compaction.applied_to(&vec![said("a"), said("b"), said("c")]);
/// assert_eq!(shorter, [said("a and b"), said("c")]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// Why.
    pub cause: CompactionCause,
    /// What the person wanted the summary to keep to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// How many messages, from the first, are replaced by [`Compaction::messages`].
    pub replaced: usize,
    /// What takes their place; none if only results were made shorter.
    pub messages: Vec<Message>,
    /// Results whose text is not in the conversation any more, or not all of it.
    pub results: Vec<ShorterResult>,
    /// How many messages of the person are kept word for word in [`Compaction::messages`].
    pub prompts_kept: usize,
    /// How many more stand there without their middle, because there is no room for all of it.
    #[serde(default, skip_serializing_if = "super::changes::is_zero")]
    pub prompts_cut: usize,
    /// About how many tokens a request had before, by the provider's last count and an estimate of
    /// what came since.
    pub tokens_before: u64,
    /// About how many it has now; estimated.
    pub tokens_after: u64,
    /// The model's window, in tokens: configured, from the catalogue, or learned from a refusal.
    pub window_tokens: u64,
    /// Tokens of the request that asked for the summary, with those of attempts that broke off.
    pub usage: Usage,
}

/// A result whose text is left out, whole or in part. The log has it.
///
/// ```
/// use tenon_agent::ShorterResult;
///
/// let gone = ShorterResult { handle: "r1f00c0de".into(), call_id: "call_1".into(), text: None };
/// assert_eq!(serde_json::to_string(&gone)?, r#"{"handle":"r1f00c0de","call_id":"call_1"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShorterResult {
    /// The name by which the tool `recall` gives it back.
    pub handle: String,
    /// The call that it answers: the last one of this id before the event.
    pub call_id: String,
    /// What stands in its place; none if its message is replaced as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Compaction {
    /// Returns `conversation` with its old messages replaced. The same event applied to the same
    /// messages gives the same; messages that stay are the very same ones.
    ///
    /// ```
    /// # use tenon_agent::ContextEvent;
    /// # use tenon_model::Conversation;
    /// fn shorter(event: &ContextEvent, conversation: Conversation) -> Conversation {
    ///     match event {
    ///         ContextEvent::Compacted(compaction) => compaction.applied_to(&conversation),
    ///         ContextEvent::Continued(_) => conversation,
    ///     }
    /// }
    /// ```
    pub fn applied_to(&self, conversation: &Conversation) -> Conversation {
        let first = self.messages.iter().cloned().map(Arc::new);
        let rest = conversation.iter().skip(self.replaced).map(|message| self.shorter(message));
        first.chain(rest).collect()
    }

    fn shorter(&self, message: &Arc<Message>) -> Arc<Message> {
        let text_for = |block: &ContentBlock| match block {
            ContentBlock::ToolResult(result) => {
                let found = self.results.iter().find(|known| known.call_id == result.call_id)?;
                found.text.as_ref()
            }
            _ => None,
        };
        if !message.content.iter().any(|block| text_for(block).is_some()) {
            return Arc::clone(message);
        }
        let mut shorter = (**message).clone();
        for block in &mut shorter.content {
            let text = text_for(block).cloned();
            if let (ContentBlock::ToolResult(result), Some(text)) = (block, text) {
                result.content = text;
                result.images.clear();
            }
        }
        Arc::new(shorter)
    }
}
