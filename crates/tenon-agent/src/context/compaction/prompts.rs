//! What the person said: found in the messages, and put into one message, word for word as far as there is
//! room, and told apart where there is none.
//!
//! Found again in a message that an earlier compaction made: there each prompt has a block of its
//! own between the block that announces them and the summary, which is the last.

use std::{borrow::Cow, sync::Arc};

use tenon_model::{ContentBlock, Image, Message, Role};

use super::text::{cut, is_own_words, is_prompt, texts};
use crate::context::tokens::weight_of_text;

/// What stands in front of what the person said. It also tells a message that a compaction made.
const SAID: &str = "(The conversation so far was made shorter. What the user said, word for word, \
    oldest first:)";
/// The same where some is cut, in front of how much.
const SAID_CUT: &str =
    "(The conversation so far was made shorter. What the user said, oldest first: ";
/// The share of the window that the person's words may take. What is more is cut in the middle of
/// the longest messages.
const WORDS_SHARE: u64 = 4;

/// No message is cut to less than this, in tokens.
const MESSAGE_TOKENS_MIN: u64 = 64;

/// How many pictures are kept, the newest. The others become a line each.
const IMAGES_MAX: usize = 4;

/// Digits of a picture's digest in its line.
const DIGEST_DIGITS: usize = 12;

/// With what instructions of a project begin.
const INSTRUCTIONS: &str = "Instructions from ";

/// What the person said in some messages.
pub(super) struct Prompts<'a> {
    /// Instructions that stand in front of everything.
    opening: Vec<&'a str>,
    prompts: Vec<Prompt<'a>>,
    images: Vec<&'a Image>,
}

/// Something that the person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prompt<'a> {
    text: &'a str,
    /// Its middle is left out, now or before.
    is_cut: bool,
}

/// How many messages of the person are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Word for word.
    pub whole: usize,
    /// Without their middle.
    pub cut: usize,
}

impl<'a> Prompts<'a> {
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Self {
        let mut said = Self { opening: Vec::new(), prompts: Vec::new(), images: Vec::new() };
        for message in messages.iter().filter(|message| is_prompt(message)) {
            said.images.extend(message.content.iter().filter_map(|block| match block {
                ContentBlock::Image(image) => Some(image),
                _ => None,
            }));
            let texts: Vec<&str> = texts(message).collect();
            let Some((last, before)) = texts.split_last() else { continue };
            match before.iter().position(|text| announces(text)) {
                Some(place) => {
                    let (opening, prompts) = before.split_at(place);
                    said.opening.extend(opening);
                    said.prompts.extend(prompts.iter().skip(1).map(|prompt| unwrapped(prompt)));
                }
                None if is_own_words(message) => {}
                None => {
                    let is_instruction = |text: &&&str| text.starts_with(INSTRUCTIONS);
                    said.opening.extend(before.iter().filter(is_instruction));
                    said.prompts.push(Prompt { text: last, is_cut: false });
                }
            }
        }
        said
    }

    /// Returns what stands behind the person's words in a message that an earlier compaction made.
    pub(super) fn behind(message: &Message) -> Option<&str> {
        let is_made = is_prompt(message) && texts(message).any(announces);
        texts(message).last().filter(|_| is_made)
    }

    /// Returns the message that holds it all, and how much of it.
    pub(super) fn message(&self, window: u64) -> (Message, Kept) {
        let (older, newest) = self.images.split_at(self.images.len().saturating_sub(IMAGES_MAX));
        let mut content: Vec<ContentBlock> =
            newest.iter().map(|image| ContentBlock::Image((*image).clone())).collect();
        let mut put = |text: String| content.push(ContentBlock::Text { text });
        self.opening.iter().for_each(|text| put((*text).to_owned()));
        older.iter().for_each(|image| put(handle(image)));
        let limit = self.limit(window / WORDS_SHARE);
        let shorter = self.prompts.iter().map(|prompt| {
            let text = cut(prompt.text, limit);
            (prompt.is_cut || text != prompt.text, text)
        });
        let shorter: Vec<(bool, Cow<'_, str>)> = shorter.collect();
        let cut = shorter.iter().filter(|(is_cut, _)| *is_cut).count();
        let kept = Kept { whole: shorter.len() - cut, cut };
        put(kept.announced());
        for (index, (is_cut, text)) in shorter.iter().enumerate() {
            put(wrapped(index + 1, &Prompt { text, is_cut: *is_cut }));
        }
        (Message { role: Role::User, content }, kept)
    }

    /// Returns how many tokens one prompt may have, so that all together have at most `all`: only
    /// the longest are cut.
    fn limit(&self, all: u64) -> u64 {
        let mut weights: Vec<u64> =
            self.prompts.iter().map(|prompt| weight_of_text(prompt.text)).collect();
        weights.sort_unstable();
        let (mut room, mut others) = (all, weights.len() as u64);
        for weight in weights {
            // Those that are left share what the shorter ones leave.
            if weight * others > room {
                return (room / others).max(MESSAGE_TOKENS_MIN);
            }
            room -= weight;
            others -= 1;
        }
        u64::MAX
    }
}

/// Returns the line in the place of a picture; the session keeps the file under that digest.
fn handle(image: &Image) -> String {
    let digest = image.sha256.get(..DIGEST_DIGITS).unwrap_or(&image.sha256);
    format!("(Left out to save room: {}, SHA-256 {digest}…)", image.in_words())
}

impl Kept {
    /// Returns what stands in front of what the person said.
    fn announced(self) -> String {
        match self.cut {
            0 => SAID.to_owned(),
            cut => format!(
                "{SAID_CUT}{} word for word, {cut} with the middle left out, which says so:)",
                self.whole
            ),
        }
    }
}

/// Whether a block stands in front of what the person said.
fn announces(text: &str) -> bool {
    text == SAID || text.starts_with(SAID_CUT)
}

/// What the opening line of a message says that is cut.
const CUT: &str = " middle=\"left out\"";

fn wrapped(number: usize, prompt: &Prompt<'_>) -> String {
    let cut = if prompt.is_cut { CUT } else { "" };
    format!("<user_message n=\"{number}\"{cut}>\n{}\n</user_message>", prompt.text)
}

fn unwrapped(block: &str) -> Prompt<'_> {
    let (opening, inner) = block.split_once(">\n").unwrap_or(("", block));
    let text = inner.strip_suffix("\n</user_message>").unwrap_or(inner);
    Prompt { text, is_cut: opening.ends_with(CUT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_wrapped_is_found_again_word_for_word() {
        for prompt in ["a", "", ">\n</user_message>\n", "汉字\n\n\"x\">\n", "\n"] {
            for is_cut in [false, true] {
                let prompt = Prompt { text: prompt, is_cut };
                assert_eq!(unwrapped(&wrapped(12, &prompt)), prompt);
            }
        }
    }

    #[test]
    fn the_newest_pictures_stay_and_older_ones_become_a_line_each() {
        let messages: Vec<Arc<Message>> = (0..6)
            .map(|n| {
                let sha256 = n.to_string().repeat(64);
                let image = Image { media_type: "image/png".into(), sha256, ..Image::default() };
                let mut message = Message::user(format!("prompt {n}"));
                message.content.insert(0, ContentBlock::Image(image));
                Arc::new(message)
            })
            .collect();
        let (message, _) = Prompts::of(&messages).message(100_000);
        let is_image = |block: &&ContentBlock| matches!(block, ContentBlock::Image(_));
        assert_eq!(message.content.iter().filter(is_image).count(), IMAGES_MAX);
        assert!(message.text().contains("SHA-256 111111111111…)"), "{}", message.text());
        // What is left out stays said when the conversation is made shorter again.
        let again = [Arc::new(message)];
        let again = Prompts::of(&again).message(100_000).0.text();
        assert_eq!(again.matches("(Left out to save room: ").count(), 2);
    }

    #[test]
    fn only_the_longest_are_cut_when_there_is_no_room_for_all() {
        let (short, long) = ("never touch vendor/ 别动它", "word ".repeat(4_000));
        let messages = [short, &long].map(|text| Arc::new(Message::user(text)));
        let prompts = Prompts::of(&messages);
        let (all, kept) = prompts.message(100_000);
        assert!(all.text().contains(&long) && all.text().contains(SAID));
        assert_eq!(kept, Kept { whole: 2, cut: 0 });
        let (mut made, kept) = prompts.message(8_000);
        let fewer = made.text();
        assert!(fewer.contains(short) && !fewer.contains(&long));
        assert!(fewer.contains("characters left out") && weight_of_text(&fewer) < 2_200);
        assert!(fewer.contains("oldest first: 1 word for word, 1 with the middle left out"));
        assert_eq!(kept, Kept { whole: 1, cut: 1 });
        // What is gone does not come back with more room. Behind such a message stands a summary.
        made.content.push(ContentBlock::Text { text: "Summary.".into() });
        let again = [Arc::new(made)];
        let (again, kept) = Prompts::of(&again).message(100_000);
        assert_eq!((again.text(), kept), (fewer, Kept { whole: 1, cut: 1 }));
    }
}
