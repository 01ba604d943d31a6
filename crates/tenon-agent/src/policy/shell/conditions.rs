//! The inside of `[[ … ]]`, which has a grammar of its own.

use super::made;
use super::reader::{Read, Reader, Trouble};
use super::syntax::{Tests, WrittenWord};
use super::words::Place;

/// The letters of tests such as `-f`.
const UNARY: &str = "abcdefghknoprstuvwxzGLNORS";
const BINARY: &[&str] =
    &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "=", "==", "!=", "=~"];

/// What these compare is arithmetic.
const ARITHMETIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

const UNEXPECTED: Trouble = Trouble("bash may not accept a test in it");

impl Reader<'_> {
    /// Reads tests joined by `&&` and `||`, behind `[[` or `(`.
    pub(super) fn condition(&mut self, words: &mut Tests) -> Read<()> {
        loop {
            self.test(words)?;
            self.newlines()?;
            if !self.takes_symbol("&&") && !self.takes_symbol("||") {
                return Ok(());
            }
        }
    }

    fn test(&mut self, words: &mut Tests) -> Read<()> {
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
            let how = matches!(unary, Some("v" | "R")).then_some(made::NAME);
            words.push((self.operand_word(Place::Anywhere)?, how));
            return Ok(());
        }
        self.blanks();
        let ends = self.is_at("]]") || matches!(self.peek(), Some(b'&' | b'|' | b')'));
        if ends {
            words.push((left, None));
            return Ok(());
        }
        let (mut place, mut how) = (Place::Anywhere, None);
        if !self.takes(b'<') && !self.takes(b'>') {
            let operator = self.operand_word(Place::Anywhere)?;
            let name = operator.plain().filter(|name| BINARY.contains(name)).ok_or(UNEXPECTED)?;
            how = match name {
                "=~" => Some(made::MATCHED),
                name => ARITHMETIC.contains(&name).then_some(made::ARITHMETIC),
            };
            place = match name {
                "=~" => Place::Regex,
                "=" | "==" | "!=" => Place::Pattern,
                _ => Place::Anywhere,
            };
        }
        words.push((left, how));
        let how = how.filter(|how| *how == made::ARITHMETIC);
        words.push((self.operand_word(place)?, how));
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
