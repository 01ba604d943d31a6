//! The characters of a script, and what bash's lexer does to them between words: continued lines,
//! blanks, comments, reserved words, here documents.
//!
//! Every byte is passed once, but for the texts that are read a second time (here documents,
//! backquotes, a look ahead in `((`), and for those there is a budget. Depth and number of words are bounded too.
//! What cannot be read is a [`Trouble`].

use super::NESTING_MAX;
use super::syntax::{Document, Part, Script, WrittenWord};

/// Words, expansions and commands of one script. Ordinary scripts have hundreds; bounds the memory.
const WORDS_MAX: usize = 50_000;
/// Bytes that may be read again, for each byte of the script.
const AGAIN_BYTES_PER_BYTE: usize = 16;

/// Why a script cannot be read, in a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trouble(pub(super) &'static str);

pub(super) type Read<T> = Result<T, Trouble>;

/// Reads a script that stands `depth` levels deep.
pub(super) fn read(text: &str, depth: usize) -> Script {
    let mut reader = Reader::new(text, Shared::at(text, depth));
    let list = reader.program();
    Script { list, doubt: reader.shared.doubt }
}

/// Reads a text that is expanded like the body of a here document and stands `depth` levels deep.
pub(super) fn read_text(text: &str, depth: usize) -> (Vec<Part>, Option<&'static str>) {
    let mut reader = Reader::new(text, Shared::at(text, depth));
    let parts = reader.document_parts().unwrap_or_else(|trouble| {
        reader.doubt(trouble);
        Vec::new()
    });
    (parts, reader.shared.doubt)
}

/// What a reader hands on to the readers of texts within its text.
#[derive(Debug, Default)]
pub(super) struct Shared {
    doubt: Option<&'static str>,
    depth: usize,
    words_left: usize,
    again_bytes_left: usize,
}

impl Shared {
    fn at(text: &str, depth: usize) -> Shared {
        Shared {
            depth,
            words_left: WORDS_MAX,
            again_bytes_left: text.len().saturating_mul(AGAIN_BYTES_PER_BYTE),
            ..Shared::default()
        }
    }
}

/// A here document whose body has not come yet.
#[derive(Debug)]
struct Pending {
    delimiter: String,
    strips_tabs: bool,
    expands: bool,
    document: Document,
}

#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    /// The next byte; always at the start of a character.
    pub(super) at: usize,
    /// The command just read ended in a way that `}`, `then` and the like may follow at once.
    pub(super) closed: bool,
    shared: Shared,
    pending: Vec<Pending>,
    in_substitution: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, shared: Shared) -> Reader<'a> {
        let pending = Vec::new();
        Reader { text, at: 0, closed: false, shared, pending, in_substitution: false }
    }

    pub(super) fn doubt(&mut self, trouble: Trouble) {
        self.shared.doubt.get_or_insert(trouble.0);
    }

    /// Does something one level deeper.
    pub(super) fn nested<T>(&mut self, act: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.shared.depth >= NESTING_MAX {
            return Err(Trouble("it is nested too deeply"));
        }
        self.shared.depth += 1;
        let result = act(self);
        self.shared.depth -= 1;
        result
    }

    /// Counts a word, an expansion or a command.
    pub(super) fn count(&mut self) -> Read<()> {
        let left = self.shared.words_left.checked_sub(1);
        self.shared.words_left = left.ok_or(Trouble("it has too many words"))?;
        Ok(())
    }

    /// Counts bytes that are read again.
    pub(super) fn again(&mut self, bytes: usize) -> Read<()> {
        let left = self.shared.again_bytes_left.checked_sub(bytes);
        self.shared.again_bytes_left = left.ok_or(Trouble("it is too tangled"))?;
        Ok(())
    }

    pub(super) fn again_bytes_left(&self) -> usize {
        self.shared.again_bytes_left
    }

    /// Reads a text that stands within this one.
    pub(super) fn within<T>(
        &mut self,
        text: &str,
        act: impl FnOnce(&mut Reader<'_>) -> Read<T>,
    ) -> Read<T> {
        self.again(text.len())?;
        self.nested(|reader| {
            let mut inner = Reader::new(text, std::mem::take(&mut reader.shared));
            let result = act(&mut inner);
            reader.shared = inner.shared;
            result
        })
    }

    /// Reads what stands within `$(…)`, which keeps here documents of its own.
    pub(super) fn in_substitution<T>(&mut self, act: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let pending = std::mem::take(&mut self.pending);
        let before = std::mem::replace(&mut self.in_substitution, true);
        let result = self.nested(act).and_then(|value| self.no_document_is_open().map(|()| value));
        self.in_substitution = before;
        self.pending = pending;
        result
    }

    pub(super) fn no_document_is_open(&self) -> Read<()> {
        if self.pending.is_empty() { Ok(()) } else { Err(NO_END) }
    }

    /// Goes on behind a line that cannot be read; says whether there is such a line.
    pub(super) fn next_line(&mut self) -> bool {
        self.pending.clear();
        let end = self.rest().find('\n');
        self.at = end.map_or(self.text.len(), |end| self.at + end + 1);
        end.is_some()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the next byte. A continued line is passed over.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.at = self.past_continued(self.at);
        self.byte(self.at)
    }

    /// Returns the byte behind the next one, which must be ASCII.
    pub(super) fn second(&self) -> Option<u8> {
        self.byte(self.past_continued(self.past_continued(self.at) + 1))
    }

    /// Passes over the next byte if it is this one.
    pub(super) fn takes(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Passes over these bytes if they come next.
    pub(super) fn takes_symbol(&mut self, symbol: &str) -> bool {
        let end = self.end_of(symbol);
        self.at = end.unwrap_or(self.at);
        end.is_some()
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    pub(super) fn past_continued(&self, mut at: usize) -> usize {
        while self.byte(at) == Some(b'\\') && self.byte(at + 1) == Some(b'\n') {
            at += 2;
        }
        at
    }

    /// Passes over blanks, and over a comment: it can only stand where a word could begin.
    pub(super) fn blanks(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => break,
            }
        }
    }

    /// Passes over blanks and new lines.
    pub(super) fn newlines(&mut self) -> Read<()> {
        loop {
            self.blanks();
            if !self.takes(b'\n') {
                return Ok(());
            }
            for pending in std::mem::take(&mut self.pending) {
                self.document(pending)?;
            }
        }
    }

    /// Says whether this word comes next, unquoted and whole.
    pub(super) fn is_at(&self, word: &str) -> bool {
        self.end_of_word(word).is_some()
    }

    /// Passes over blanks and then a word if it comes next.
    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        self.blanks();
        let end = self.end_of_word(word);
        self.at = end.unwrap_or(self.at);
        end.is_some()
    }

    fn end_of_word(&self, word: &str) -> Option<usize> {
        let at = self.end_of(word)?;
        let end = self.past_continued(at);
        match self.byte(end) {
            None => Some(at),
            // `<(` goes on with the word.
            Some(b'<' | b'>') if self.byte(self.past_continued(end + 1)) == Some(b'(') => None,
            Some(byte) => ends_word(byte).then_some(at),
        }
    }

    fn end_of(&self, text: &str) -> Option<usize> {
        let mut at = self.at;
        for byte in text.bytes() {
            at = self.past_continued(at);
            if self.byte(at) != Some(byte) {
                return None;
            }
            at += 1;
        }
        Some(at)
    }

    /// Registers a here document; its body comes behind the line.
    pub(super) fn open_document(
        &mut self,
        word: &WrittenWord,
        strips_tabs: bool,
    ) -> Read<Document> {
        let mut delimiter = String::new();
        let mut expands = true;
        for part in &word.parts {
            match part {
                Part::Text(text) => {
                    expands &= !text.contains('\\');
                    let mut escaped = false;
                    for character in text.chars() {
                        escaped = character == '\\' && !escaped;
                        if !escaped {
                            delimiter.push(character);
                        }
                    }
                }
                Part::Quoted(text) => {
                    expands = false;
                    delimiter.push_str(text);
                }
                Part::Double(parts) => {
                    expands = false;
                    match parts.as_slice() {
                        [] => {}
                        [Part::Quoted(text)] => delimiter.push_str(text),
                        _ => return Err(NO_END),
                    }
                }
                _ => return Err(NO_END),
            }
        }
        let document = Document::default();
        self.pending.push(Pending { delimiter, strips_tabs, expands, document: document.clone() });
        Ok(document)
    }

    fn document(&mut self, pending: Pending) -> Read<()> {
        let mut body = String::new();
        loop {
            if self.rest().is_empty() {
                return Err(NO_END);
            }
            let start = body.len();
            self.line(&pending, &mut body);
            let line = body.get(start..).unwrap_or_default();
            if line.strip_suffix('\n').unwrap_or(line) == pending.delimiter {
                body.truncate(start);
                break;
            }
            // bash may end it there, and go on with the rest of the line.
            let found = line.strip_prefix(pending.delimiter.as_str());
            if self.in_substitution && found.is_some_and(|rest| rest.contains(')')) {
                return Err(NO_END);
            }
        }
        let part = match pending.expands {
            true => Part::Double(self.within(&body, |reader| reader.document_parts())?),
            false => Part::Quoted(body),
        };
        pending.document.get_or_init(|| WrittenWord { parts: vec![part] });
        Ok(())
    }

    /// Takes a line of a here document; continued lines are one if it expands.
    fn line(&mut self, pending: &Pending, body: &mut String) {
        if pending.strips_tabs {
            self.at += self.rest().len() - self.rest().trim_start_matches('\t').len();
        }
        loop {
            let rest = self.rest();
            let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
            let line = rest.get(..end).unwrap_or_default();
            self.at += end;
            let text = line.strip_suffix('\n').unwrap_or(line);
            let backslashes = text.len() - text.trim_end_matches('\\').len();
            if !pending.expands || backslashes % 2 == 0 || text.len() == line.len() {
                return body.push_str(line);
            }
            body.push_str(text.get(..text.len() - 1).unwrap_or_default());
        }
    }
}

const NO_END: Trouble = Trouble("a here document in it has no end that is known");

/// Says whether a byte ends a word where it is not quoted.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}
