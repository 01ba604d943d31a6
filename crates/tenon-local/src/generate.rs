//! Writes one reply: the model's most likely tokens among those that the grammar allows.
//!
//! Text without a choice is appended in one pass. Where the reply repeats what was read, the
//! words that followed there are drafted and verified in one pass: a pass of several tokens
//! costs little more than one, and what was wrong is taken back.

use crate::{Engine, EngineError, grammar::Grammar, known::Known, tokenizer::Tokenizer};

/// Tokens drafted at once. More are rarely right to the end.
const DRAFT_TOKENS: usize = 7;
/// Tokens that must repeat before the draft is worth its price, in code and elsewhere.
const REPEATED_TOKENS_CODE: usize = 2;
const REPEATED_TOKENS: usize = 3;
/// How many of the most likely tokens are tried before all of them are put in order.
const TRIED_FIRST: usize = 32;

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Stop,
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The block is complete.
    Complete,
    /// The bound on tokens was reached.
    TooLong,
    /// Whoever watched wanted no more.
    Stopped,
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) text: Vec<u8>,
    pub(crate) tokens: usize,
    pub(crate) end: End,
}

/// What a reply must and must not say, from what is known of the files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// An edit's old text must stand in the file, where that is known.
    pub(crate) known: &'a Known,
    /// A word that an edit's old text must hold.
    pub(crate) old_holds: Option<&'a str>,
    /// A word that a new text must hold.
    pub(crate) new_holds: Option<&'a str>,
}

/// Writes a reply of at most `tokens_max` tokens after what `engine` has read (at least one
/// token). `watch` sees the whole text each time it grew.
pub(crate) fn generate(
    engine: &mut dyn Engine,
    tokenizer: &Tokenizer,
    grammar: Grammar,
    limits: Limits,
    tokens_max: usize,
    watch: &mut dyn FnMut(&Grammar, &[u8]) -> Flow,
) -> Result<Reply, EngineError> {
    let mut writer =
        Writer { tokenizer, grammar, limits, text: Vec::new(), pending: Vec::new(), tokens: 0 };
    loop {
        writer.append_forced();
        if watch(&writer.grammar, &writer.text) == Flow::Stop {
            return Ok(writer.finish(End::Stopped));
        }
        if writer.grammar.is_done() {
            return Ok(writer.finish(End::Complete));
        }
        let full = engine.tokens().len() + writer.pending.len() >= engine.tokens_max();
        if writer.tokens >= tokens_max || full {
            return Ok(writer.finish(End::TooLong));
        }
        writer.step(engine)?;
    }
}

struct Writer<'a> {
    tokenizer: &'a Tokenizer,
    grammar: Grammar,
    limits: Limits<'a>,
    text: Vec<u8>,
    /// Tokens chosen and not yet read by the engine.
    pending: Vec<u32>,
    tokens: usize,
}

impl Writer<'_> {
    fn append_forced(&mut self) {
        let forced = self.grammar.forced();
        if let Some(grammar) = self.grammar.after(forced.as_bytes())
            && !forced.is_empty()
        {
            self.grammar = grammar;
            self.text.extend_from_slice(forced.as_bytes());
            let tokens = self.tokenizer.encode(&forced);
            self.tokens += tokens.len();
            self.pending.extend(tokens);
        }
    }

    /// Has the engine read what is pending and a draft of what may follow; takes every token of
    /// the draft that the model would have chosen, and the one it chooses instead of the first
    /// that it would not.
    fn step(&mut self, engine: &mut dyn Engine) -> Result<(), EngineError> {
        let room = engine.tokens_max().saturating_sub(engine.tokens().len() + self.pending.len());
        let mut draft = self.draft(engine.tokens());
        draft.truncate(room);
        let before = engine.tokens().len() + self.pending.len();
        let mut read = std::mem::take(&mut self.pending);
        read.extend_from_slice(&draft);
        if !read.is_empty() {
            engine.prefill(&read)?;
        }
        let logits = engine.logits(draft.len() + 1);
        let vocabulary = logits.len() / (draft.len() + 1);
        let mut right = 0;
        for logits in logits.chunks_exact(vocabulary.max(1)) {
            let Some((token, grammar)) = self.choose(logits) else {
                return Err(EngineError::Malformed("no token continues the reply".into()));
            };
            self.grammar = grammar;
            self.text.extend_from_slice(self.tokenizer.bytes(token));
            self.tokens += 1;
            if draft.get(right) != Some(&token) {
                self.pending.push(token);
                break;
            }
            right += 1;
            if self.grammar.is_done() {
                break;
            }
        }
        engine.rewind(before + right);
        Ok(())
    }

    /// Returns what followed where the last tokens stood before, latest place first.
    fn draft(&self, read: &[u32]) -> Vec<u32> {
        let code = self.grammar.in_code();
        let least = if code { REPEATED_TOKENS_CODE } else { REPEATED_TOKENS };
        let all = [read, &self.pending].concat();
        let Some(start) = all.len().checked_sub(least) else { return Vec::new() };
        let (earlier, last) = all.split_at(start);
        let place = earlier.windows(least).rposition(|window| window == last);
        let follows = place.and_then(|place| all.get(place + least..)).unwrap_or_default();
        follows.iter().copied().take(DRAFT_TOKENS).collect()
    }

    /// Returns the most likely token that may come, and the grammar after it.
    fn choose(&self, logits: &[f32]) -> Option<(u32, Grammar)> {
        let allowed = |token: u32| Some((token, self.after(token)?));
        let best = (0u32..).zip(logits).max_by(|left, right| left.1.total_cmp(right.1))?;
        if let Some(chosen) = allowed(best.0) {
            return Some(chosen);
        }
        let mut order: Vec<(u32, f32)> = (0u32..).zip(logits.iter().copied()).collect();
        let by_likelihood = |left: &(u32, f32), right: &(u32, f32)| right.1.total_cmp(&left.1);
        if order.len() > TRIED_FIRST {
            let (first, ..) = order.select_nth_unstable_by(TRIED_FIRST, by_likelihood);
            first.sort_unstable_by(by_likelihood);
            if let Some(chosen) = first.iter().find_map(|(token, _)| allowed(*token)) {
                return Some(chosen);
            }
        }
        order.sort_unstable_by(by_likelihood);
        let limited = order.iter().find_map(|(token, _)| allowed(*token));
        // The limits are guesses about what is right; only the grammar must be kept.
        let by_grammar = |token: u32| {
            let bytes = self.tokenizer.bytes(token);
            let grammar = (!bytes.is_empty()).then(|| self.grammar.after(bytes))??;
            Some((token, grammar))
        };
        limited.or_else(|| order.iter().find_map(|(token, _)| by_grammar(*token)))
    }

    /// Returns the grammar after `token`, or nothing where that may not come.
    fn after(&self, token: u32) -> Option<Grammar> {
        let bytes = self.tokenizer.bytes(token);
        if bytes.is_empty() {
            return None;
        }
        let grammar = self.grammar.after(bytes)?;
        let Some((closing, closing_bytes)) = grammar.closing() else { return Some(grammar) };
        // One byte, `<`, may begin anything; two are the end.
        let ends = closing_bytes >= 2;
        if !ends && closing != "</old>" {
            return Some(grammar);
        }
        let text = [&self.text, bytes].concat();
        let text = text.get(..text.len().saturating_sub(closing_bytes)).unwrap_or_default();
        self.limits.allow(text, closing, ends).then_some(grammar)
    }
    fn finish(self, end: End) -> Reply {
        Reply { text: self.text, tokens: self.tokens, end }
    }
}

impl Limits<'_> {
    /// Returns whether `text`, a block so far, may go on in the part that `closing` closes, or
    /// end it where it `ends`.
    fn allow(&self, text: &[u8], closing: &str, ends: bool) -> bool {
        let text = String::from_utf8_lossy(text);
        let holds = |part: &str, word: Option<&str>| word.is_none_or(|word| part.contains(word));
        let old = text.split_once("<old>").map(|(_, rest)| rest);
        match closing {
            "</old>" => {
                let old = old.unwrap_or_default();
                let path = text.split('"').nth(1).unwrap_or_default();
                // A character that is not whole yet is replaced, and cannot be compared.
                let comparable = old.trim_end_matches(char::REPLACEMENT_CHARACTER);
                let comparable = comparable.strip_prefix('\n').unwrap_or(comparable);
                let stands = self.known.may_hold(path, comparable, self.old_holds);
                stands && (!ends || holds(old, self.old_holds))
            }
            "</new>" => {
                let parts = old.and_then(|rest| rest.split_once("</old>"));
                let parts = parts.and_then(|(old, rest)| Some((old, rest.split_once("<new>")?.1)));
                // The model copied and forgot the change.
                let same = |(old, new): (&str, &str)| old.trim_end() == new.trim_end();
                !parts.is_some_and(same) && parts.is_none_or(|(_, new)| holds(new, self.new_holds))
            }
            "</write_file>" => holds(&text, self.new_holds),
            // What an answer announces must come.
            "</answer>" => !text.trim_end().ends_with([':', '\u{ff1a}']),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, closing: &str, allowed: bool) {
        let mut known = Known::default();
        known.prompt("Files: a\n\nContent of a:\n```\none 中\ntwo\n```\n\nAdd x() to a");
        let limits = Limits { known: &known, old_holds: Some("two"), new_holds: Some("x") };
        assert_eq!(limits.allow(text.as_bytes(), closing, true), allowed, "{text}");
    }

    #[test]
    fn what_cannot_be_right_is_not_written() {
        check("<edit_file path=\"a\">\n<old>one 中\ntwo", "</old>", true);
        check("<edit_file path=\"a\">\n<old>two\n", "</old>", true);
        check("<edit_file path=\"a\">\n<old>one", "</old>", false);
        check("<edit_file path=\"a\">\n<old>two three", "</old>", false);
        check("<edit_file path=\"b\">\n<old>two three", "</old>", true);
        check("<edit_file path=\"a\">\n<old>two</old>\n<new>two\n", "</new>", false);
        check("<edit_file path=\"a\">\n<old>two</old>\n<new>three", "</new>", false);
        check("<edit_file path=\"a\">\n<old>two</old>\n<new>two x", "</new>", true);
        check("<write_file path=\"b\">y", "</write_file>", false);
        check("<answer>It holds:\n", "</answer>", false);
        check("<answer>It holds: two", "</answer>", true);
    }
}
