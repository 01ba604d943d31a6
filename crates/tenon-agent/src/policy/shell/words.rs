//! Words: quotes, expansions and substitutions, each read to its own end as bash does.

use super::hidden;
use super::reader::{Read, Reader, Trouble, ends_word};
use super::syntax::{Expansion, List, Part, WrittenWord};
use super::word;

/// Where a word stands, if parentheses may be part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Anywhere,
    /// Behind `=~`.
    Regex,
    /// Behind `==` within `[[ ]]`, where `@(a|b)` is a pattern.
    Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoting {
    Bare,
    Double,
    /// The body of a here document: as in double quotes, but `"` is text.
    Document,
}

/// How `'` is read within `"${…}"`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// `"${x:-'}"`: it is text.
    Text,
    /// `"${x#'a'}"`: it quotes.
    Pattern,
    /// `${x:1:2}`: it is arithmetic.
    Offset,
    Other,
}

/// bash looks for the end of such a text in another way than for that of commands.
pub(super) const MAY_BE_ARITHMETIC: Trouble = Trouble("`((` in it may be arithmetic or commands");
const OPEN_QUOTE: Trouble = Trouble("a quote in it is not closed");
const OPEN_EXPANSION: Trouble = Trouble("an expansion in it is not closed");

impl Reader<'_> {
    /// Reads a word, if one is next.
    pub(super) fn word(&mut self, place: Place) -> Read<Option<WrittenWord>> {
        self.blanks();
        let mut word = WrittenWord::default();
        self.rest_of_word(&mut word.parts, place)?;
        Ok(if word.parts.is_empty() { None } else { Some(word) })
    }

    /// Reads on to the end of a word.
    pub(super) fn rest_of_word(&mut self, parts: &mut Vec<Part>, place: Place) -> Read<()> {
        self.count()?;
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.second() == Some(b'(') => parts.push(self.process()?),
                b'|' if place == Place::Regex => {
                    self.at += 1;
                    push_text(parts, "|");
                }
                b'(' if place == Place::Regex || place == Place::Pattern && ends_in_mark(parts) => {
                    self.at += 1;
                    let inner = self.enclosed(b'(', b')', Quoting::Bare)?;
                    parts.push(Part::Opaque(inner));
                }
                _ if ends_word(byte) => break,
                _ => self.part(parts, Quoting::Bare)?,
            }
        }
        Ok(())
    }

    /// Reads the body of a here document that is expanded.
    pub(super) fn document_parts(&mut self) -> Read<Vec<Part>> {
        let mut parts = Vec::new();
        while self.peek().is_some() {
            self.part(&mut parts, Quoting::Document)?;
        }
        Ok(parts)
    }

    /// Reads `[…]` behind a name, at what follows the bracket.
    pub(super) fn subscript(&mut self) -> Read<Vec<Part>> {
        self.enclosed(b'[', b']', Quoting::Bare)
    }

    fn part(&mut self, parts: &mut Vec<Part>, quoting: Quoting) -> Read<()> {
        match self.peek() {
            Some(b'\'') if quoting == Quoting::Bare => {
                self.at += 1;
                let text = self.single_quoted()?;
                parts.push(Part::Quoted(text));
            }
            Some(b'"') if quoting == Quoting::Bare => parts.push(self.double_quoted()?),
            Some(b'\\') => self.escape(parts, quoting),
            Some(b'$') => self.dollar(parts, quoting)?,
            Some(b'`') => parts.push(Part::Commands(self.backquoted(quoting)?)),
            Some(_) => {
                let rest = self.rest();
                let end =
                    rest.bytes().skip(1).position(is_structure).map_or(rest.len(), |at| at + 1);
                let text = rest.get(..end).unwrap_or_default();
                self.at += end;
                push(parts, text, quoting);
            }
            None => {}
        }
        Ok(())
    }

    fn escape(&mut self, parts: &mut Vec<Part>, quoting: Quoting) {
        let rest = self.rest();
        let escaped = rest.chars().nth(1);
        let end = 1 + escaped.map_or(0, char::len_utf8);
        self.at += end;
        let text = rest.get(..end).unwrap_or_default();
        let applies = match quoting {
            Quoting::Bare => false,
            Quoting::Double => matches!(escaped, Some('$' | '`' | '"' | '\\')),
            Quoting::Document => matches!(escaped, Some('$' | '`' | '\\')),
        };
        push(parts, text.get(usize::from(applies)..).unwrap_or_default(), quoting);
    }

    /// Reads to the closing quote, at what follows the opening one.
    fn single_quoted(&mut self) -> Read<String> {
        let rest = self.rest();
        let end = rest.find('\'');
        self.at += end.map_or(rest.len(), |end| end + 1);
        Ok(rest.get(..end.ok_or(OPEN_QUOTE)?).unwrap_or_default().to_owned())
    }

    fn double_quoted(&mut self) -> Read<Part> {
        self.at += 1;
        self.nested(|reader| {
            let mut parts = Vec::new();
            loop {
                match reader.peek().ok_or(OPEN_QUOTE)? {
                    b'"' => break,
                    _ => reader.part(&mut parts, Quoting::Double)?,
                }
            }
            reader.at += 1;
            Ok(Part::Double(parts))
        })
    }

    /// Reads `$'…'`, at the quote.
    fn dollar_quoted(&mut self) -> Read<Part> {
        self.at += 1;
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.bytes().position(|byte| {
            let ends = byte == b'\'' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        self.at += end.map_or(rest.len(), |end| end + 1);
        let text = rest.get(..end.ok_or(OPEN_QUOTE)?).unwrap_or_default();
        Ok(match word::dollar_quoted(text) {
            Some(decoded) => Part::Quoted(decoded),
            None => {
                self.doubt(Trouble("an escape in it is not known"));
                Part::Opaque(Vec::new())
            }
        })
    }

    fn dollar(&mut self, parts: &mut Vec<Part>, quoting: Quoting) -> Read<()> {
        self.count()?;
        self.at += 1;
        let bare = quoting == Quoting::Bare;
        let part = match self.peek() {
            Some(b'(') => {
                self.at += 1;
                match self.peek() {
                    Some(b'(') => self.arithmetic_or_commands()?,
                    _ => Part::Commands(self.substitution()?),
                }
            }
            Some(b'{') => {
                self.at += 1;
                self.nested(|reader| reader.expansion(quoting))?
            }
            Some(b'[') => {
                self.at += 1;
                Part::Evaluated(self.enclosed(b'[', b']', Quoting::Double)?)
            }
            Some(b'\'') if bare => self.dollar_quoted()?,
            Some(b'"') if bare => self.double_quoted()?,
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => Part::Variable(self.name()),
            Some(byte @ (b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.at += 1;
                Part::Variable(char::from(byte).to_string())
            }
            _ => {
                push(parts, "$", quoting);
                return Ok(());
            }
        };
        parts.push(part);
        Ok(())
    }

    /// Reads a name, if one is next.
    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(byte) =
            self.peek().filter(|byte| *byte == b'_' || byte.is_ascii_alphanumeric())
        {
            if name.is_empty() && byte.is_ascii_digit() {
                break;
            }
            name.push(char::from(byte));
            self.at += 1;
        }
        name
    }

    /// Reads `$((…))`, or `$( (…) …)` written without the blank, at the second parenthesis.
    fn arithmetic_or_commands(&mut self) -> Read<Part> {
        let inner = self.at + 1;
        let Some(end) = self.arithmetic_end(inner)? else {
            self.doubt(MAY_BE_ARITHMETIC);
            return Ok(Part::Commands(self.substitution()?));
        };
        self.at = inner;
        Ok(Part::Evaluated(self.arithmetic(end)?))
    }

    /// Returns where arithmetic that begins at `inner`, behind `((`, has its `))`. bash takes it
    /// for commands if the two do not close together.
    pub(super) fn arithmetic_end(&mut self, inner: usize) -> Read<Option<usize>> {
        let mut at = inner;
        let mut depth = 1usize;
        let mut quote = None;
        let end = inner.saturating_add(self.again_bytes_left());
        while let Some(byte) = self.byte(at).filter(|_| at < end) {
            match (byte, quote) {
                (b'\\', None | Some(b'"')) => at += 1,
                (_, Some(open)) => quote = quote.filter(|_| byte != open),
                (b'\'' | b'"', None) => quote = Some(byte),
                (b'(', None) => depth += 1,
                (b')', None) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            at += 1;
        }
        self.again(at - inner + 1)?;
        let closed = self.byte(self.past_continued(at + 1)) == Some(b')');
        Ok(Some(at).filter(|_| depth == 0 && closed))
    }

    /// Reads arithmetic whose `))` begins at `end`.
    pub(super) fn arithmetic(&mut self, end: usize) -> Read<Vec<Part>> {
        let parts = self.enclosed(b'(', b')', Quoting::Double)?;
        if self.at != end + 1 {
            return Err(Trouble("where arithmetic in it ends is not sure"));
        }
        self.takes(b')');
        Ok(parts)
    }

    /// Reads to the parenthesis or bracket that closes what is open. In arithmetic, which is
    /// double-quoted, `"` quotes nonetheless.
    fn enclosed(&mut self, open: u8, close: u8, quoting: Quoting) -> Read<Vec<Part>> {
        self.nested(|reader| {
            let mut parts = Vec::new();
            let mut depth = 1usize;
            loop {
                let byte = reader.peek().ok_or(OPEN_EXPANSION)?;
                if byte == b'"' {
                    parts.push(reader.double_quoted()?);
                    continue;
                }
                if byte == b'\'' && quoting == Quoting::Double {
                    return Err(Trouble("it has a quote within arithmetic"));
                }
                if quoting == Quoting::Bare
                    && matches!(byte, b'<' | b'>')
                    && reader.second() == Some(b'(')
                {
                    return Err(Trouble("it has a command within a pattern"));
                }
                depth += usize::from(byte == open);
                depth -= usize::from(byte == close);
                if depth == 0 {
                    reader.at += 1;
                    return Ok(parts);
                }
                reader.part(&mut parts, quoting)?;
            }
        })
    }

    /// Reads the commands of `$(…)`, `<(…)`, at the parenthesis or behind it: at the first command.
    fn substitution(&mut self) -> Read<List> {
        self.in_substitution(|reader| {
            let mut list = List::new();
            reader.list(&mut list)?;
            if reader.takes(b')') { Ok(list) } else { Err(OPEN_EXPANSION) }
        })
    }

    fn process(&mut self) -> Read<Part> {
        let writes = self.peek() == Some(b'>');
        self.at += 1;
        self.takes(b'(');
        if self.peek() == Some(b'(') {
            self.doubt(MAY_BE_ARITHMETIC);
        }
        Ok(Part::Process { list: self.substitution()?, writes })
    }

    /// Reads the commands in backquotes. Up to the closing one bash only looks at backslashes.
    fn backquoted(&mut self, quoting: Quoting) -> Read<List> {
        self.count()?;
        self.at += 1;
        let mut script = String::new();
        loop {
            let rest = self.rest();
            let end = rest.find(['`', '\\']).unwrap_or(rest.len());
            script.push_str(rest.get(..end).unwrap_or_default());
            self.at += end;
            if self.takes(b'`') {
                break;
            }
            // A continued line is passed over by then.
            let Some(byte) = self.peek() else { return Err(OPEN_QUOTE) };
            if byte != b'\\' {
                continue;
            }
            self.at += 1;
            match self.rest().chars().next() {
                Some('$' | '`' | '\\') => {}
                Some('"') if quoting == Quoting::Double => {}
                _ => script.push('\\'),
            }
            let escaped = self.rest().chars().next().ok_or(OPEN_QUOTE)?;
            script.push(escaped);
            self.at += escaped.len_utf8();
        }
        self.within(&script, |reader| Ok(reader.program()))
    }

    /// Reads `${…}`, behind the brace.
    fn expansion(&mut self, quoting: Quoting) -> Read<Part> {
        let mut expansion = Expansion::default();
        let named = |byte: Option<u8>| {
            byte.is_some_and(|byte| {
                byte == b'_' || byte.is_ascii_alphanumeric() || b"@*".contains(&byte)
            })
        };
        if matches!(self.peek(), Some(b'#' | b'!')) && named(self.second()) {
            expansion.indirect = self.peek() == Some(b'!');
            expansion.is_length = !expansion.indirect;
            self.at += 1;
            expansion.opaque = true;
        }
        expansion.name = self.name();
        if expansion.name.is_empty() {
            match self.peek() {
                Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => {
                    expansion.name.push(char::from(byte));
                    self.at += 1;
                }
                _ => return Err(Trouble("it has an expansion that bash does not know")),
            }
            while let Some(byte) = self.peek().filter(|_| named_by_digits(&expansion.name)) {
                if !byte.is_ascii_digit() {
                    break;
                }
                expansion.name.push(char::from(byte));
                self.at += 1;
            }
        }
        expansion.many = expansion.name == "@";
        if self.takes(b'[') {
            expansion.opaque = true;
            let subscript = self.subscript()?;
            let sign = match subscript.as_slice() {
                [Part::Text(text)] if matches!(text.as_str(), "@" | "*") => text.chars().next(),
                _ => None,
            };
            let is_plain = !expansion.indirect && !expansion.is_length;
            expansion.many = sign == Some('@');
            expansion.elements = sign.filter(|_| is_plain && self.peek() == Some(b'}'));
            expansion.parts = vec![Part::Evaluated(subscript)];
        }
        let operand = self.operator(&mut expansion);
        let read = self.operand(operand, quoting)?;
        match operand {
            Operand::Offset => expansion.parts.push(Part::Evaluated(read)),
            _ => expansion.operand = read,
        }
        Ok(Part::Expansion(expansion))
    }

    /// Looks at the operator of an expansion.
    fn operator(&mut self, expansion: &mut Expansion) -> Operand {
        let first = self.peek();
        let second = self.second();
        let default = match (first, second) {
            (Some(b':'), second) => second,
            (first, _) => first,
        };
        match (first, default) {
            (Some(b'}') | None, _) => Operand::Other,
            (_, Some(byte @ (b'-' | b'=' | b'?' | b'+'))) => {
                expansion.operator = Some(char::from(byte));
                Operand::Text
            }
            (Some(b'#' | b'%' | b'/' | b'^' | b','), _) => {
                expansion.opaque = true;
                Operand::Pattern
            }
            _ => {
                match (first, second) {
                    (Some(b'@'), Some(b'P')) => {
                        self.doubt(Trouble("it expands a value as a prompt"));
                    }
                    (Some(b'@'), Some(b'E')) => self.doubt(Trouble(hidden::TWICE)),
                    _ => {}
                }
                expansion.opaque = true;
                if first == Some(b':') { Operand::Offset } else { Operand::Other }
            }
        }
    }

    /// Reads the rest of `${…}` with its brace.
    fn operand(&mut self, operand: Operand, quoting: Quoting) -> Read<Vec<Part>> {
        let bare = quoting == Quoting::Bare;
        let starts_commands = bare || operand == Operand::Pattern && quoting == Quoting::Double;
        let mut parts = Vec::new();
        loop {
            match self.peek().ok_or(OPEN_EXPANSION)? {
                b'}' => break,
                b'"' => parts.push(self.double_quoted()?),
                b'\'' if !bare && operand == Operand::Pattern && quoting == Quoting::Double => {
                    self.at += 1;
                    let text = self.single_quoted()?;
                    parts.push(Part::Quoted(text));
                }
                b'\'' if !bare && operand != Operand::Text => {
                    return Err(Trouble("a quote in it may be text"));
                }
                b'<' | b'>' if starts_commands && self.second() == Some(b'(') => {
                    parts.push(self.process()?);
                }
                _ => self.part(&mut parts, quoting)?,
            }
        }
        self.at += 1;
        Ok(parts)
    }
}

fn named_by_digits(name: &str) -> bool {
    name.starts_with(|character: char| character.is_ascii_digit())
}

/// Says whether a byte may mean something to one of the readers above.
fn is_structure(byte: u8) -> bool {
    ends_word(byte)
        || matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`' | b'[' | b']' | b'{' | b'}')
}

fn ends_in_mark(parts: &[Part]) -> bool {
    matches!(parts.last(), Some(Part::Text(text)) if text.ends_with(['?', '*', '+', '@', '!']))
}

fn push(parts: &mut Vec<Part>, text: &str, quoting: Quoting) {
    match (parts.last_mut(), quoting) {
        (_, Quoting::Bare) => push_text(parts, text),
        (Some(Part::Quoted(before)), _) => before.push_str(text),
        _ => parts.push(Part::Quoted(text.to_owned())),
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(before)) => before.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

/// What stands behind the name of an array for all its elements.
pub(super) const ALL_ELEMENTS: &str = "[@]";

/// Returns the name of the variable that something kept belongs to: itself, or its elements.
pub(super) fn variable_of(name: &str) -> &str {
    name.strip_suffix(ALL_ELEMENTS).unwrap_or(name)
}

/// Says whether a text can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
