//! The inside of `[[ … ]]`, which has a grammar of its own.

use super::reader::{Read, Reader, Trouble};
use super::syntax::WrittenWord;
use super::words::Place;

/// The letters of tests such as `-f`.
const UNARY: &str = "abcdefghknoprstuvwxzGLNORS";
const BINARY: &[&str] =
    &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "=", "==", "!=", "=~"];

const UNEXPECTED: Trouble = Trouble("bash may not accept a test in it");

impl Reader<'_> {
    /// Reads tests joined by `&&` and `||`, behind `[[` or `(`.
    pub(super) fn condition(&mut self, words: &mut Vec<WrittenWord>) -> Read<()> {
        loop {
            self.test(words)?;
            self.newlines()?;
            if !self.takes_symbol("&&") && !self.takes_symbol("||") {
                return Ok(());
            }
        }
    }

    fn test(&mut self, words: &mut Vec<WrittenWord>) -> Read<()> {
        self.newlines()?;
        while self.takes_word("!") {
            self.newlines()?;
        }
        if self.takes(b'(') {
            self.nested(|reader| reader.condition(words))?;
            return if self.takes(b')') { Ok(()) } else { Err(UNEXPECTED) };
        }
        let left = self.operand_word(Place::Anywhere)?;
        let unary = left.plain().and_then(|text| text.strip_prefix('-'));
        if unary.is_some_and(|letter| letter.len() == 1 && UNARY.contains(letter)) {
            words.push(self.operand_word(Place::Anywhere)?);
            return Ok(());
        }
        words.push(left);
        self.blanks();
        let ends = self.is_at("]]") || matches!(self.peek(), Some(b'&' | b'|' | b')'));
        if ends {
            return Ok(());
        }
        let mut place = Place::Anywhere;
        if !self.takes(b'<') && !self.takes(b'>') {
            let operator = self.operand_word(Place::Anywhere)?;
            let name = operator.plain().filter(|name| BINARY.contains(name)).ok_or(UNEXPECTED)?;
            place = match name {
                "=~" => Place::Regex,
                "=" | "==" | "!=" => Place::Pattern,
                _ => Place::Anywhere,
            };
        }
        words.push(self.operand_word(place)?);
        Ok(())
    }

    fn operand_word(&mut self, place: Place) -> Read<WrittenWord> {
        self.blanks();
        if self.is_at("]]") {
            return Err(UNEXPECTED);
        }
        self.word(place)?.ok_or(UNEXPECTED)
    }
}
