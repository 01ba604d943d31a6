//! Text to tokens and back, with the vocabulary that the model file carries.
//!
//! Qwen's vocabulary numbers its tokens in the order in which byte pairs were merged, so the
//! number is the rank and the list of merges is not needed. Text never becomes a special token:
//! those are only written by number, so no prompt can end its own message.

use std::collections::HashMap;

use regex::Regex;

use crate::{EngineError, gguf::Gguf};

/// Splits text into the pieces within which bytes are merged. The published pattern ends with a
/// look-ahead, which [`Tokenizer::pieces`] makes good.
const PIECES: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";

/// The token type of the format that stands for ordinary text.
const TYPE_NORMAL: u32 = 1;

/// A vocabulary with its rules.
#[derive(Debug)]
pub struct Tokenizer {
    /// Bytes of each token; empty for special ones.
    bytes: Vec<Box<[u8]>>,
    ranks: HashMap<Box<[u8]>, u32>,
    pattern: Regex,
    special: HashMap<String, u32>,
}

impl Tokenizer {
    /// Reads the vocabulary out of a model file's header.
    pub(crate) fn read(gguf: &Gguf) -> Result<Self, EngineError> {
        let kind = gguf.text("tokenizer.ggml.model").unwrap_or("none");
        let rules = gguf.text("tokenizer.ggml.pre").unwrap_or("none");
        if kind != "gpt2" || !matches!(rules, "qwen2" | "deepseek-r1-qwen") {
            let text = format!("its tokenizer is `{kind}` with the rules `{rules}`, not Qwen's");
            return Err(EngineError::Malformed(text));
        }
        let texts = gguf.texts("tokenizer.ggml.tokens")?;
        let types = gguf.numbers("tokenizer.ggml.token_type");
        let byte_of = byte_alphabet();
        let mut tokenizer = Self {
            bytes: Vec::with_capacity(texts.len()),
            ranks: HashMap::with_capacity(texts.len()),
            pattern: Regex::new(PIECES)
                .map_err(|error| EngineError::Malformed(error.to_string()))?,
            special: HashMap::new(),
        };
        for (number, text) in (0u32..).zip(texts) {
            let normal = types.get(number as usize).is_none_or(|kind| *kind == TYPE_NORMAL);
            let bytes: Option<Box<[u8]>> = if normal {
                text.chars().map(|character| byte_of.get(&character).copied()).collect()
            } else {
                None
            };
            match bytes {
                Some(bytes) => {
                    tokenizer.ranks.entry(bytes.clone()).or_insert(number);
                    tokenizer.bytes.push(bytes);
                }
                None => {
                    tokenizer.special.insert(text.to_owned(), number);
                    tokenizer.bytes.push(Box::default());
                }
            }
        }
        for byte in 0..=u8::MAX {
            if !tokenizer.ranks.contains_key([byte].as_slice()) {
                return Err(EngineError::Malformed(format!("no token for byte {byte}")));
            }
        }
        Ok(tokenizer)
    }

    /// Returns the number of the special token written `text`.
    pub(crate) fn special(&self, text: &str) -> Result<u32, EngineError> {
        let missing = || EngineError::Malformed(format!("no token {text} in the vocabulary"));
        self.special.get(text).copied().ok_or_else(missing)
    }

    /// Returns the bytes that `token` stands for; none for special and unknown ones.
    pub fn bytes(&self, token: u32) -> &[u8] {
        self.bytes.get(token as usize).map_or(&[], |bytes| bytes)
    }

    /// Returns the tokens of `text`.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::with_capacity(text.len() / 3);
        for piece in self.pieces(text) {
            match self.ranks.get(piece.as_bytes()) {
                Some(token) => tokens.push(*token),
                None => self.merge(piece.as_bytes(), &mut tokens),
            }
        }
        tokens
    }

    /// Cuts `text` by the pattern. Blanks before a word leave their last one to it.
    fn pieces<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            let found = self.pattern.find(rest)?;
            let mut end = found.end();
            let piece = rest.get(..end)?;
            let blank = piece.chars().all(char::is_whitespace);
            let last = piece.chars().next_back()?;
            if blank && !piece.ends_with(['\r', '\n']) && end < rest.len() {
                let shorter = end - last.len_utf8();
                if shorter > 0 {
                    end = shorter;
                }
            }
            let (piece, after) = rest.split_at_checked(end)?;
            rest = after;
            Some(piece)
        })
    }

    /// Merges neighbours, lowest rank first. Quadratic, so long pieces are cut: no word is longer.
    fn merge(&self, piece: &[u8], tokens: &mut Vec<u32>) {
        const PIECE_BYTES_MAX: usize = 512;
        for piece in piece.chunks(PIECE_BYTES_MAX) {
            let mut ends: Vec<usize> = (1..=piece.len()).collect();
            let part = |from: usize, to: usize| piece.get(from..to).unwrap_or_default();
            loop {
                let mut best: Option<(u32, usize)> = None;
                let mut start = 0;
                for (at, pair) in ends.windows(2).enumerate() {
                    let &[middle, end] = pair else { continue };
                    if let Some(rank) = self.ranks.get(part(start, end))
                        && best.is_none_or(|(lowest, _)| *rank < lowest)
                    {
                        best = Some((*rank, at));
                    }
                    start = middle;
                }
                match best {
                    Some((_, at)) => ends.remove(at),
                    None => break,
                };
            }
            let mut start = 0;
            for end in ends {
                tokens.extend(self.ranks.get(part(start, end)));
                start = end;
            }
        }
    }
}

/// The format writes each byte as a printable character: itself where it is one, else from 256 on.
fn byte_alphabet() -> HashMap<char, u8> {
    let mut next = 256;
    let printable = |byte: u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    (0..=u8::MAX)
        .filter_map(|byte| {
            let code = if printable(byte) { u32::from(byte) } else { next };
            next += u32::from(!printable(byte));
            Some((char::from_u32(code)?, byte))
        })
        .collect()
}
