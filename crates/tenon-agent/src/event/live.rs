//! What a front end shows while it comes, and no log keeps.

/// Shown as it comes, never stored.
///
/// ```
/// use tenon_agent::Live;
///
/// fn shown(live: Live) -> String {
///     match live {
///         Live::TextDelta(text) | Live::CallOutput { text, .. } => text,
///         Live::ThinkingDelta(_) => String::new(),
///         Live::Progress(sentence) => format!("[{sentence}]\n"),
///         Live::Retrying { attempt, wait_ms, reason } => {
///             format!("[{reason}; attempt {attempt} in {wait_ms} ms]\n")
///         }
///         Live::CallWaits { call_id, waits } => format!("[{call_id} waits: {waits}]\n"),
///     }
/// }
///
/// assert_eq!(shown(Live::Progress("Reading the prompt".into())), "[Reading the prompt]\n");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Live {
    /// More prose of the reply that is being written.
    TextDelta(String),
    /// More thinking of the reply that is being written.
    ThinkingDelta(String),
    /// What is waited for, as a sentence.
    Progress(String),
    /// A request failed before anything was shown and is made again.
    Retrying {
        /// The attempt that follows, from 2.
        attempt: u32,
        /// How long is waited before it, in milliseconds.
        wait_ms: u64,
        /// Why the last one failed.
        reason: String,
    },
    /// Output of a call that is running.
    CallOutput {
        /// The call.
        call_id: String,
        /// What came, made readable.
        text: String,
    },
    /// A call waits for its turn to ask, since another question is open; or does not any more.
    CallWaits {
        /// The call.
        call_id: String,
        /// Whether it waits now.
        waits: bool,
    },
}
