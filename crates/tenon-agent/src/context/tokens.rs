//! How many tokens a request has: counted by the provider where it did, estimated for the rest.
//!
//! No tokenizer: each model has its own, and none is worth its megabytes here. An estimate by bytes
//! is corrected by what the provider reported for the last request, and only what came since then
//! is estimated at all.

use std::sync::{Arc, Mutex, PoisonError};

use tenon_model::{ContentBlock, Conversation, Image, Message, ToolResult, ToolSpec, Usage};

/// Four bytes of ASCII are about one token of English or code (OpenAI, "What are tokens and how to
/// count them?"). Characters of three bytes and more (Chinese, Japanese, Korean, emoji) are about
/// one each, those of two bytes (Cyrillic, Greek, accents) about one half. In quarters of a token.
const ASCII_QUARTERS: u64 = 1;
const TWO_BYTES_QUARTERS: u64 = 2;
const MORE_BYTES_QUARTERS: u64 = 4;

/// What roles, names and ids add to a block, in tokens.
const BLOCK_TOKENS: u64 = 6;

/// A token of a picture is so many pixels (Anthropic, "Vision": width x height / 750).
const IMAGE_TOKEN_PIXELS: u64 = 750;

/// What a longer side is scaled down to before that (Anthropic: 1,568 pixels and about 1,600 tokens;
/// newer models see up to 2,576, about three times as much). Taken for all: too much is better than
/// too little, and the provider's own count corrects it.
const IMAGE_SIDE_MAX: u64 = 2_576;
const IMAGE_TOKENS_MAX: u64 = 4_800;

/// The least that a picture counts (OpenAI, "Images and vision": 85 tokens for the whole and 170 for
/// each tile of 512 pixels, which for large pictures is less than the rule above gives).
const IMAGE_TOKENS_MIN: u64 = 255;

/// A provider's count that differs from the estimate by more than this factor is not believed:
/// some servers count only what was not cached.
const FACTOR_MAX: f64 = 4.0;
const FACTOR_MIN: f64 = 0.4;

/// A request smaller than this, in estimated tokens, says little about others.
const CALIBRATION_TOKENS_MIN: u64 = 200;

/// The smallest window that is learned from a refusal, in tokens.
const WINDOW_LEARNED_MIN: u64 = 1_024;

/// How full the model's window is, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    /// What the next request has, without its reply.
    pub used: u64,
    /// What request and reply may have together.
    pub window: u64,
    /// The largest reply that the model can be asked for.
    pub reply_max: u64,
}

/// Knows how many tokens a request will have.
#[derive(Debug)]
pub(crate) struct Meter {
    window: u64,
    reply_max: u64,
    /// System prompt and tools, estimated.
    fixed: u64,
    /// How many tokens of the provider an estimated one is.
    factor: f64,
    counted: Option<Counted>,
    weights: Weights,
}

/// The estimates of a conversation that mostly grows at its end, so that each message is gone
/// through once. With each message stands the sum up to it.
#[derive(Debug, Default)]
struct Weights(Mutex<Vec<(Arc<Message>, u64)>>);

/// What the provider counted last.
#[derive(Debug, Clone, Copy)]
struct Counted {
    /// Messages from the first.
    messages: usize,
    tokens: u64,
}

impl Space {
    /// Returns how many tokens a request may have before the conversation is made shorter: what is
    /// left then holds a reply of usual size (an eighth of the window, or the largest if that is
    /// less) and the request for a summary (a twentieth).
    pub(crate) fn limit(&self) -> u64 {
        self.window.saturating_sub(self.reply_max.min(self.window / 8) + self.window / 20)
    }

    /// Returns whether the conversation must be made shorter.
    pub(crate) fn is_short(&self) -> bool {
        self.used > self.limit()
    }

    /// Returns how many tokens a shortened conversation may have, so that the next time is far.
    pub(crate) fn target(&self) -> u64 {
        self.limit() / 5 * 3
    }

    /// Returns how many tokens of the window are left for a reply, with a fiftieth for the error of
    /// the estimate.
    pub(crate) fn left(&self) -> u64 {
        self.window.saturating_sub(self.used.saturating_add(self.window / 50))
    }
}

impl Meter {
    /// Returns a meter for a model with such a window and largest reply.
    pub(crate) fn new(window: u32, reply_max: u32, system: &str, tools: &[ToolSpec]) -> Self {
        let (window, reply_max) = (u64::from(window), u64::from(reply_max));
        let fixed = weight_of_fixed(system, tools);
        Self { window, reply_max, fixed, factor: 1.0, counted: None, weights: Weights::default() }
    }

    /// Returns how full the window will be with `conversation`.
    pub(crate) fn space(&self, conversation: &Conversation) -> Space {
        let used = match self.counted.filter(|counted| counted.messages <= conversation.len()) {
            Some(counted) => {
                let new: u64 = conversation.iter().skip(counted.messages).map(|m| weight(m)).sum();
                counted.tokens.saturating_add(self.scaled(new))
            }
            None => self.estimated(conversation),
        };
        Space { used, window: self.window, reply_max: self.reply_max }
    }

    /// Returns an estimate that does not rest on the last count, in the provider's tokens.
    pub(crate) fn estimated(&self, conversation: &Conversation) -> u64 {
        self.scaled(self.fixed + self.weights.sum(conversation))
    }

    /// Returns about how many tokens of the provider `estimated` ones are.
    pub(crate) fn scaled(&self, estimated: u64) -> u64 {
        (estimated as f64 * self.factor).ceil() as u64
    }

    /// Takes in what the provider counted for a request of `sent`, and for its reply, which is the
    /// message behind them if there `is_kept` one.
    pub(crate) fn count(&mut self, sent: &[Arc<Message>], usage: &Usage, is_kept: bool) {
        let input = usage.input_all();
        let estimated = self.fixed + self.weights.sum(sent);
        if input == 0 || estimated < CALIBRATION_TOKENS_MIN {
            return;
        }
        let factor = input as f64 / estimated as f64;
        if !(FACTOR_MIN..=FACTOR_MAX).contains(&factor) {
            self.counted = None;
            return;
        }
        self.factor = factor;
        let (messages, output) = if is_kept { (1, usage.output) } else { (0, 0) };
        self.counted =
            Some(Counted { messages: sent.len() + messages, tokens: input.saturating_add(output) });
    }

    /// Takes in that the conversation was rewritten, or the tools changed.
    pub(crate) fn rewritten(&mut self, system: &str, tools: &[ToolSpec]) {
        self.fixed = weight_of_fixed(system, tools);
        self.counted = None;
    }

    /// Takes in that a request of `sent` was too long: the window is what the provider `said`, or
    /// else less than what was sent.
    pub(crate) fn learn(&mut self, sent: &Conversation, said: Option<u32>) {
        let less = self.estimated(sent) / 10 * 9;
        let learned = said.map_or(less, u64::from).max(WINDOW_LEARNED_MIN);
        self.window = self.window.min(learned);
        // What was refused has more tokens than the window, whatever the estimate says.
        let used = self.space(sent).used.max(1);
        if used < self.window {
            self.factor = (self.factor * self.window as f64 / used as f64).min(FACTOR_MAX);
            self.counted = None;
        }
    }
}

fn weight_of_fixed(system: &str, tools: &[ToolSpec]) -> u64 {
    weight_of_text(system) + weight_of_tools(tools)
}

/// Returns about how many tokens the list of tools has.
pub(super) fn weight_of_tools(tools: &[ToolSpec]) -> u64 {
    let tools = tools.iter().map(|tool| {
        let schema = tool.schema.to_string();
        weight_of_text(&tool.name) + weight_of_text(&tool.description) + weight_of_text(&schema)
    });
    tools.map(|tokens| tokens + BLOCK_TOKENS).sum()
}

impl Weights {
    /// Returns about how many tokens `messages` have.
    fn sum(&self, messages: &[Arc<Message>]) -> u64 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = known.iter().zip(messages);
        let shared = same.take_while(|((known, _), now)| Arc::ptr_eq(known, now)).count();
        known.truncate(shared);
        for message in messages.iter().skip(shared) {
            let before = known.last().map_or(0, |(_, sum)| *sum);
            known.push((Arc::clone(message), before + weight(message)));
        }
        known.last().map_or(0, |(_, sum)| *sum)
    }
}

/// Returns about how many tokens `message` has.
pub(crate) fn weight(message: &Message) -> u64 {
    message.content.iter().map(weight_of_block).sum()
}

/// Returns about how many tokens `block` has.
pub(super) fn weight_of_block(block: &ContentBlock) -> u64 {
    let tokens = match block {
        ContentBlock::Text { text } => weight_of_text(text),
        ContentBlock::Thinking(thinking) => weight_of_text(&thinking.text),
        ContentBlock::Image(image) => weight_of_image(image),
        ContentBlock::ToolCall(call) => {
            weight_of_text(&call.name) + weight_of_text(&call.arguments.to_string())
        }
        ContentBlock::ToolResult(result) => weight_of_result(result),
    };
    tokens + BLOCK_TOKENS
}

/// Returns about how many tokens `result` has.
pub(crate) fn weight_of_result(result: &ToolResult) -> u64 {
    weight_of_text(&result.content) + result.images.iter().map(weight_of_image).sum::<u64>()
}

/// Returns about how many tokens `image` has.
fn weight_of_image(image: &Image) -> u64 {
    let (width, height) = (u64::from(image.width), u64::from(image.height));
    let longest = width.max(height);
    // Of an image from an older log the size is not known.
    if longest == 0 {
        return IMAGE_TOKENS_MAX;
    }
    let seen = longest.min(IMAGE_SIDE_MAX);
    let pixels = width * height * seen / longest * seen / longest;
    pixels.div_ceil(IMAGE_TOKEN_PIXELS).clamp(IMAGE_TOKENS_MIN, IMAGE_TOKENS_MAX)
}

/// Returns about how many tokens `text` has.
pub(crate) fn weight_of_text(text: &str) -> u64 {
    let quarters = text.bytes().map(|byte| match byte {
        0x00..=0x7f => ASCII_QUARTERS,
        // Bytes that go on with a character.
        0x80..=0xbf => 0,
        0xc0..=0xdf => TWO_BYTES_QUARTERS,
        0xe0..=0xff => MORE_BYTES_QUARTERS,
    });
    quarters.sum::<u64>().div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Arc<Message> {
        Arc::new(Message::user(text))
    }

    #[test]
    fn text_is_weighed_by_its_bytes_and_characters() {
        let cases = [("", 0), ("a", 1), ("abcdefgh", 2), ("汉字", 2), ("привет", 3), ("👍", 1)];
        for (text, tokens) in cases {
            assert_eq!(weight_of_text(text), tokens, "{text}");
        }
    }

    #[test]
    fn a_picture_is_weighed_by_its_pixels() {
        for (width, height, tokens) in [
            (1, 1, 255),
            (800, 600, 640),
            (1_000, 1_000, 1_334),
            (8_000, 100, 255),
            (2_576, 1_000, 3_435),
            (5_152, 2_000, 3_435),
            (8_000, 8_000, 4_800),
            (0, 0, 4_800),
        ] {
            let image = Image { width, height, ..Image::default() };
            assert_eq!(weight_of_image(&image), tokens, "{width} x {height}");
        }
    }

    #[test]
    fn what_the_provider_counted_corrects_the_estimate() {
        let mut meter = Meter::new(10_000, 1_000, "", &[]);
        let mut conversation = vec![said(&"word".repeat(1_000))];
        assert_eq!(meter.space(&conversation).used, 1_006);
        let usage = Usage { input: 1_000, cache_read: 1_012, output: 50, ..Usage::default() };
        meter.count(&conversation, &usage, true);
        conversation.push(said("the reply, which the provider counted"));
        assert_eq!(meter.space(&conversation).used, 2_062);
        conversation.push(said(&"word".repeat(94)));
        assert_eq!(meter.space(&conversation).used, 2_062 + 200);
        meter.rewritten("", &[]);
        conversation.truncate(1);
        assert_eq!(meter.space(&conversation).used, 2_012);
    }

    #[test]
    fn a_count_that_cannot_be_is_not_believed() {
        let mut meter = Meter::new(10_000, 1_000, "", &[]);
        let conversation = vec![said(&"word".repeat(1_000))];
        for input in [0, 10, 100_000] {
            meter.count(&conversation, &Usage { input, ..Usage::default() }, false);
            assert_eq!(meter.space(&conversation).used, 1_006, "{input}");
        }
    }

    #[test]
    fn an_unknown_window_is_learned_from_a_refusal() {
        let mut meter = Meter::new(128_000, 8_192, "", &[]);
        let conversation = vec![said(&"word".repeat(5_000))];
        meter.learn(&conversation, None);
        assert_eq!(meter.space(&conversation).window, 4_500);
        meter.learn(&conversation, Some(4_096));
        assert_eq!(meter.space(&conversation).window, 4_096);
        meter.learn(&conversation, Some(200_000));
        assert_eq!(meter.space(&conversation).window, 4_096);
        // A refusal of what was thought to fit corrects the estimate.
        let mut meter = Meter::new(8_192, 1_000, "", &[]);
        meter.learn(&conversation, Some(8_192));
        assert_eq!(meter.space(&conversation).used, 8_192);
    }

    #[test]
    fn the_limit_leaves_room_for_a_reply_and_a_summary() {
        let limit = |window, reply_max| Space { used: 0, window, reply_max }.limit();
        assert_eq!(limit(200_000, 64_000), 165_000);
        assert_eq!(limit(1_000_000, 128_000), 825_000);
        assert_eq!(limit(32_768, 2_000), 29_130);
        assert_eq!(limit(8_192, 2_048), 6_759);
    }
}
