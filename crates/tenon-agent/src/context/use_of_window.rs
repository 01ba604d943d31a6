//! What fills the model's window, by what it is: estimated part by part, and then brought to the
//! provider's own count where there is one. Pure.

use tenon_model::{ContentBlock, Conversation, Message, Role, ToolSpec};

use super::tokens::{Space, weight_of_block, weight_of_text, weight_of_tools};

/// About how many tokens of the model's window each part of the next request takes.
///
/// ```
/// use tenon_agent::WindowUse;
///
/// let now = WindowUse { system: 400, tools: 600, window: 10_000, ..WindowUse::default() };
/// assert_eq!((now.used(), now.free()), (1_000, 9_000));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowUse {
    /// The system prompt.
    pub system: u64,
    /// The tools with their schemas.
    pub tools: u64,
    /// Instructions, attached context and notes: what stands in front of prompts and behind results.
    pub instructions: u64,
    /// What the person said; a summary of it after a compaction.
    pub prompts: u64,
    /// What the model said, thought and called.
    pub replies: u64,
    /// What its calls were answered.
    pub results: u64,
    /// What request and reply may have together.
    pub window: u64,
}

impl WindowUse {
    /// Returns all that is taken.
    ///
    /// ```
    /// use tenon_agent::WindowUse;
    ///
    /// assert_eq!(WindowUse { prompts: 3, results: 4, ..WindowUse::default() }.used(), 7);
    /// ```
    pub fn used(&self) -> u64 {
        self.parts().iter().sum()
    }

    /// Returns what is left; nothing if more is taken than there is.
    ///
    /// ```
    /// use tenon_agent::WindowUse;
    ///
    /// assert_eq!(WindowUse { prompts: 3, window: 2, ..WindowUse::default() }.free(), 0);
    /// ```
    pub fn free(&self) -> u64 {
        self.window.saturating_sub(self.used())
    }

    /// Returns the estimates of a request with these parts.
    pub(crate) fn of(system: &str, tools: &[ToolSpec], conversation: &Conversation) -> Self {
        let mut found = Self {
            system: weight_of_text(system),
            tools: weight_of_tools(tools),
            ..Self::default()
        };
        conversation.iter().for_each(|message| found.add(message));
        found
    }

    /// Returns the same with the sum that the meter reckons with.
    pub(crate) fn scaled_to(self, space: &Space) -> Self {
        let estimated = self.used().max(1);
        let scaled = |tokens: u64| {
            let scaled = u128::from(tokens) * u128::from(space.used) / u128::from(estimated);
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        Self {
            system: scaled(self.system),
            tools: scaled(self.tools),
            instructions: scaled(self.instructions),
            prompts: scaled(self.prompts),
            replies: scaled(self.replies),
            results: scaled(self.results),
            window: space.window,
        }
    }

    fn parts(&self) -> [u64; 6] {
        [self.system, self.tools, self.instructions, self.prompts, self.replies, self.results]
    }

    fn add(&mut self, message: &Message) {
        let is_result = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult(_));
        let answers_calls = message.content.iter().any(is_result);
        // The prompt stands behind whatever goes in front of it.
        let last = message.content.len().saturating_sub(1);
        for (place, block) in message.content.iter().enumerate() {
            let part = match (message.role, block) {
                (Role::Assistant, _) => &mut self.replies,
                (Role::User, ContentBlock::ToolResult(_)) => &mut self.results,
                (Role::User, ContentBlock::Text { .. }) if answers_calls || place < last => {
                    &mut self.instructions
                }
                (Role::User, _) => &mut self.prompts,
            };
            *part += weight_of_block(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenon_model::ToolResult;

    use super::*;

    #[test]
    fn each_block_counts_to_its_part_and_the_sum_is_the_providers() {
        let text = |text: &str| ContentBlock::Text { text: text.repeat(100) };
        let result = |content: &str| {
            let content = content.repeat(100);
            let (call_id, images) = ("1".into(), Vec::new());
            ContentBlock::ToolResult(ToolResult { call_id, content, is_error: false, images })
        };
        let message = |role, content| Arc::new(Message { role, content });
        let conversation = vec![
            message(Role::User, vec![text("rule"), text("what")]),
            message(Role::Assistant, vec![text("I see")]),
            message(Role::User, vec![result("twelve chars"), text("note")]),
        ];
        let found = WindowUse::of("word", &[], &conversation);
        let expected = WindowUse {
            system: 1,
            tools: 0,
            instructions: 106 + 106,
            prompts: 106,
            replies: 131,
            results: 306,
            window: 0,
        };
        assert_eq!(found, expected);
        let space = Space { used: 2 * found.used(), window: 9_000, reply_max: 100 };
        let scaled = found.scaled_to(&space);
        assert_eq!((scaled.prompts, scaled.used(), scaled.window), (212, space.used, 9_000));
    }
}
