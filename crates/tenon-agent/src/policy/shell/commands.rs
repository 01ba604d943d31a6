//! Commands: bash's grammar by recursive descent, one function for each kind.
//!
//! Reserved words count only where a command begins. What bash refuses is a [`Trouble`]; a script
//! is then read on from the next line, because what is seen there may still be worth a denial.

use std::rc::Rc;

use super::reader::{Read, Reader, Trouble};
use super::syntax::{
    AndOr, Assignment, Command, Kind, List, Operator, Part, Pipeline, Simple, Target,
    WrittenRedirect, WrittenWord,
};
use super::words::{MAY_BE_ARITHMETIC, Place, is_name};

/// Reserved words that end a list.
const CLOSERS: &[&str] = &["}", "then", "fi", "do", "done", "else", "elif", "esac"];
/// Reserved words that begin a compound command.
const COMPOUNDS: &[&str] = &["{", "if", "while", "until", "for", "select", "case", "[["];
/// Reserved words that no simple command begins with.
const OTHERS: &[&str] = &["!", "]]", "coproc", "in", "function"];
/// Builtins whose arguments may be assignments.
const DECLARATIONS: &[&str] = &["declare", "export", "local", "readonly", "typeset"];

/// The variable that bash puts the descriptors of a coprocess without a name into.
const COPROCESS: &str = "COPROC";

const UNEXPECTED: Trouble = Trouble("bash may not accept a part of it");

impl Reader<'_> {
    /// Reads a whole text. Never fails: trouble becomes a doubt.
    pub(super) fn program(&mut self) -> List {
        let mut list = List::new();
        while let Err(trouble) = self.whole(&mut list) {
            self.doubt(trouble);
            if !self.next_line() {
                break;
            }
        }
        list
    }

    fn whole(&mut self, list: &mut List) -> Read<()> {
        self.list(list)?;
        if self.peek().is_some() { Err(UNEXPECTED) } else { self.no_document_is_open() }
    }

    /// Reads commands up to what cannot begin one: `)`, `;;`, a closing reserved word, the end.
    pub(super) fn list(&mut self, list: &mut List) -> Read<()> {
        loop {
            self.blanks();
            if let Some(last) = list.last_mut() {
                last.ends_line |= self.peek() == Some(b'\n');
            }
            self.newlines()?;
            if self.ends_list() {
                return Ok(());
            }
            let item = self.and_or()?;
            let follows = self.peek();
            let single = !matches!(self.second(), Some(b';' | b'&'));
            let background = follows == Some(b'&') && single;
            list.push(AndOr { background, ..item });
            match follows {
                Some(b'&' | b';') if single => self.at += 1,
                Some(b'&') => return Err(UNEXPECTED),
                Some(b'\n') => {}
                _ if self.closed || !CLOSERS.iter().any(|word| self.is_at(word)) => return Ok(()),
                _ => return Err(UNEXPECTED),
            }
        }
    }

    fn ends_list(&mut self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.second(), Some(b';' | b'&')),
            _ => CLOSERS.iter().any(|word| self.is_at(word)),
        }
    }

    /// Reads a list that must have a command.
    fn body(&mut self) -> Read<List> {
        let mut list = List::new();
        self.list(&mut list)?;
        if list.is_empty() { Err(UNEXPECTED) } else { Ok(list) }
    }

    fn expect(&mut self, word: &str) -> Read<()> {
        if self.takes_word(word) { Ok(()) } else { Err(UNEXPECTED) }
    }

    /// Reads pipelines that are joined.
    fn and_or(&mut self) -> Read<AndOr> {
        let (first, mut inverted) = self.pipeline()?;
        let mut pipelines = vec![first];
        let mut chained = None;
        loop {
            self.blanks();
            if !self.takes_symbol("&&") {
                if !self.takes_symbol("||") {
                    let chained = chained.unwrap_or(pipelines.len());
                    return Ok(AndOr {
                        pipelines,
                        chained,
                        inverted,
                        background: false,
                        ends_line: false,
                    });
                }
                chained.get_or_insert(pipelines.len());
            }
            self.newlines()?;
            let (pipeline, is_inverted) = self.pipeline()?;
            pipelines.push(pipeline);
            inverted |= is_inverted;
        }
    }

    /// Reads a pipeline, and says whether there is a `!` in front of it.
    fn pipeline(&mut self) -> Read<(Pipeline, bool)> {
        let mut inverted = false;
        loop {
            if self.takes_word("time") {
                let _ = self.takes_word("-p");
                let _ = self.takes_word("--");
            } else if self.takes_word("!") {
                inverted = true;
            } else {
                break;
            }
        }
        let mut pipeline = vec![self.command()?];
        loop {
            self.blanks();
            if self.peek() != Some(b'|') || self.second() == Some(b'|') {
                return Ok((pipeline, inverted));
            }
            self.at += 1;
            self.takes(b'&');
            self.newlines()?;
            pipeline.push(self.command()?);
        }
    }

    fn command(&mut self) -> Read<Command> {
        self.count()?;
        self.nested(|reader| {
            reader.blanks();
            match reader.compound()? {
                Some(kind @ Kind::Function { .. }) => Ok(Command { kind, redirects: Vec::new() }),
                Some(kind) => reader.with_redirects(kind),
                None if reader.takes_word("coproc") => reader.coprocess(),
                None => reader.simple(),
            }
        })
    }

    fn with_redirects(&mut self, kind: Kind) -> Read<Command> {
        let mut redirects = Vec::new();
        while let Some(redirect) = self.redirect()? {
            redirects.push(redirect);
        }
        self.closed = redirects.is_empty();
        Ok(Command { kind, redirects })
    }

    /// Reads a compound command or a function, if one is next.
    fn compound(&mut self) -> Read<Option<Kind>> {
        if self.peek() == Some(b'(') {
            return self.parenthesis().map(Some);
        }
        let kind = if self.takes_word("{") {
            let body = self.body()?;
            self.expect("}")?;
            Kind::Group(body)
        } else if self.takes_word("if") {
            self.conditional()?
        } else if self.takes_word("while") || self.takes_word("until") {
            let condition = self.body()?;
            self.expect("do")?;
            let body = self.body()?;
            self.expect("done")?;
            Kind::Branches { words: Vec::new(), lists: vec![condition, body], repeats: true }
        } else if self.takes_word("for") {
            self.for_each(true)?
        } else if self.takes_word("select") {
            self.for_each(false)?
        } else if self.takes_word("case") {
            self.case()?
        } else if self.takes_word("[[") {
            let mut words = Vec::new();
            self.condition(&mut words)?;
            self.expect("]]")?;
            Kind::Test(words)
        } else if self.takes_word("function") {
            let name = self.word(Place::Anywhere)?.ok_or(UNEXPECTED)?;
            self.blanks();
            if self.peek() == Some(b'(') && self.second_is_closing() {
                self.parentheses()?;
            }
            return self.function(&name).map(Some);
        } else {
            return Ok(None);
        };
        Ok(Some(kind))
    }

    /// Reads `(…)` or `((…))`.
    fn parenthesis(&mut self) -> Read<Kind> {
        self.at += 1;
        if self.peek() == Some(b'(') {
            let inner = self.at + 1;
            if let Some(end) = self.arithmetic_end(inner)? {
                self.at = inner;
                let words =
                    vec![WrittenWord { parts: vec![Part::Evaluated(self.arithmetic(end)?)] }];
                return Ok(Kind::Branches { words, lists: Vec::new(), repeats: false });
            }
            self.doubt(MAY_BE_ARITHMETIC);
        }
        let body = self.body()?;
        if self.takes(b')') { Ok(Kind::Subshell(body)) } else { Err(UNEXPECTED) }
    }

    fn conditional(&mut self) -> Read<Kind> {
        let mut lists = Vec::new();
        loop {
            lists.push(self.body()?);
            self.expect("then")?;
            lists.push(self.body()?);
            if self.takes_word("elif") {
                continue;
            }
            if self.takes_word("else") {
                lists.push(self.body()?);
            }
            self.expect("fi")?;
            return Ok(Kind::Branches { words: Vec::new(), lists, repeats: false });
        }
    }

    /// Reads a `for` or `select` behind that word.
    fn for_each(&mut self, may_count: bool) -> Read<Kind> {
        self.blanks();
        if may_count && self.takes_symbol("((") {
            return self.counting();
        }
        let name = self.word(Place::Anywhere)?.ok_or(UNEXPECTED)?;
        let name = name.plain().filter(|name| is_name(name));
        let name = name.ok_or(Trouble("the variable of a loop in it is not known"))?.to_owned();
        self.blanks();
        let mut words = Vec::new();
        if !self.takes(b';') {
            self.newlines()?;
            if self.takes_word("in") {
                while let Some(word) = self.word(Place::Anywhere)? {
                    words.push(word);
                }
                if self.peek() != Some(b'\n') && !self.takes(b';') {
                    return Err(UNEXPECTED);
                }
            } else if !self.is_at("do") {
                return Err(UNEXPECTED);
            }
        }
        let body = self.loop_body()?;
        Ok(Kind::For { name, words, body })
    }

    /// Reads `for ((…))` behind the parentheses.
    fn counting(&mut self) -> Read<Kind> {
        let start = self.at;
        let end = self.arithmetic_end(start)?.ok_or(UNEXPECTED)?;
        let words = vec![WrittenWord { parts: vec![Part::Evaluated(self.arithmetic(end)?)] }];
        let text = self.text.get(start..end).unwrap_or_default();
        if text.matches(';').count() != 2 {
            return Err(Trouble("a counting loop in it has not three parts"));
        }
        self.blanks();
        self.takes(b';');
        let body = self.loop_body()?;
        Ok(Kind::Branches { words, lists: vec![body], repeats: true })
    }

    fn loop_body(&mut self) -> Read<List> {
        self.newlines()?;
        let close = if self.takes_word("{") {
            "}"
        } else {
            self.expect("do")?;
            "done"
        };
        let body = self.body()?;
        self.expect(close)?;
        Ok(body)
    }

    fn case(&mut self) -> Read<Kind> {
        let mut words = vec![self.word(Place::Anywhere)?.ok_or(UNEXPECTED)?];
        let mut lists = Vec::new();
        self.newlines()?;
        self.expect("in")?;
        loop {
            self.newlines()?;
            if self.takes_word("esac") {
                break;
            }
            self.takes(b'(');
            loop {
                words.push(self.word(Place::Anywhere)?.ok_or(UNEXPECTED)?);
                self.blanks();
                if !self.takes(b'|') {
                    break;
                }
            }
            if !self.takes(b')') {
                return Err(UNEXPECTED);
            }
            let mut list = List::new();
            self.list(&mut list)?;
            lists.push(list);
            if self.takes_symbol(";;") {
                self.takes(b'&');
            } else if !self.takes_symbol(";&") {
                self.expect("esac")?;
                break;
            }
        }
        Ok(Kind::Branches { words, lists, repeats: false })
    }

    /// Reads the body of a function, behind its name and parentheses.
    fn function(&mut self, name: &WrittenWord) -> Read<Kind> {
        let name = name.plain().ok_or(Trouble("the name of a function in it is not known"))?;
        self.newlines()?;
        let body = self.nested(|reader| {
            let kind = reader.compound()?.filter(|kind| !matches!(kind, Kind::Function { .. }));
            reader.with_redirects(kind.ok_or(UNEXPECTED)?)
        })?;
        Ok(Kind::Function { name: name.to_owned(), body: Rc::new(body) })
    }

    /// Says whether `(` is followed by `)`, blanks aside.
    fn second_is_closing(&self) -> bool {
        let mut at = self.past_continued(self.past_continued(self.at) + 1);
        while matches!(self.byte(at), Some(b' ' | b'\t')) {
            at = self.past_continued(at + 1);
        }
        self.byte(at) == Some(b')')
    }

    fn parentheses(&mut self) -> Read<()> {
        self.takes(b'(');
        self.blanks();
        if self.takes(b')') { Ok(()) } else { Err(UNEXPECTED) }
    }

    fn coprocess(&mut self) -> Read<Command> {
        self.blanks();
        let start = self.at;
        let name = self.name();
        let named = !name.is_empty() && matches!(self.peek(), Some(b' ' | b'\t'));
        self.blanks();
        // Without a compound command behind it, the name is the program.
        let named = named && self.is_compound();
        if !named {
            self.at = start;
        }
        let name = if named { name } else { COPROCESS.to_owned() };
        let inner = match self.compound()? {
            Some(kind) => self.with_redirects(kind)?,
            None => self.simple()?,
        };
        // To bash a reserved word is one also behind any other word here.
        let accepted = match &inner.kind {
            Kind::Function { .. } => false,
            Kind::Simple(simple) => {
                let second = simple.words.get(1).and_then(WrittenWord::plain);
                !second.is_some_and(|word| {
                    COMPOUNDS.contains(&word) || CLOSERS.contains(&word) || OTHERS.contains(&word)
                })
            }
            _ => true,
        };
        if !accepted {
            return Err(UNEXPECTED);
        }
        let kind = Kind::Coprocess { name, command: Box::new(inner) };
        Ok(Command { kind, redirects: Vec::new() })
    }

    fn is_compound(&mut self) -> bool {
        self.peek() == Some(b'(') || COMPOUNDS.iter().any(|word| self.is_at(word))
    }

    fn simple(&mut self) -> Read<Command> {
        let mut simple = Simple::default();
        let mut redirects = Vec::new();
        self.closed = false;
        if CLOSERS.iter().chain(OTHERS).any(|word| self.is_at(word)) {
            return Err(UNEXPECTED);
        }
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            let declares = simple
                .words
                .first()
                .and_then(WrittenWord::plain)
                .is_some_and(|name| DECLARATIONS.contains(&name));
            let mut word = WrittenWord::default();
            if (simple.words.is_empty() || declares)
                && let Some(assignment) = self.assignment(&mut word.parts)?
            {
                // There bash ends the brackets at a blank.
                if assignment.subscript.is_some() && declares {
                    self.doubt(UNEXPECTED);
                }
                let to = if declares { &mut simple.declared } else { &mut simple.assignments };
                to.push(assignment);
                continue;
            }
            if !word.parts.is_empty() && declares {
                self.doubt(UNEXPECTED);
            }
            self.rest_of_word(&mut word.parts, Place::Anywhere)?;
            if word.parts.is_empty() {
                break;
            }
            if word.may_name_descriptor() && matches!(self.peek(), Some(b'<' | b'>')) {
                self.doubt(UNEXPECTED);
            }
            simple.words.push(word);
        }
        if self.peek() == Some(b'(') {
            return match simple.words.as_slice() {
                [name] if simple.assignments.is_empty() && redirects.is_empty() => {
                    self.parentheses()?;
                    let kind = self.function(name)?;
                    Ok(Command { kind, redirects })
                }
                _ => Err(UNEXPECTED),
            };
        }
        let none = simple.words.is_empty() && simple.assignments.is_empty();
        if none && redirects.is_empty() {
            return Err(UNEXPECTED);
        }
        Ok(Command { kind: Kind::Simple(simple), redirects })
    }

    /// Reads an assignment, if one is next. `name[…]` without `=` begins a word instead, and then
    /// stands in `parts`.
    fn assignment(&mut self, parts: &mut Vec<Part>) -> Read<Option<Assignment>> {
        let start = self.at;
        let name = self.name();
        if name.is_empty() {
            return Ok(None);
        }
        let subscript = if self.takes(b'[') { Some(self.subscript()?) } else { None };
        let appends = self.takes_symbol("+=");
        if !appends && !self.takes(b'=') {
            match subscript {
                Some(inner) => {
                    parts.push(Part::Text(name + "["));
                    parts.push(Part::Opaque(inner));
                }
                None => self.at = start,
            }
            return Ok(None);
        }
        let mut value = WrittenWord::default();
        if self.peek() == Some(b'(') {
            self.at += 1;
            value.parts.push(Part::Array(self.array()?));
        }
        self.rest_of_word(&mut value.parts, Place::Anywhere)?;
        Ok(Some(Assignment { name, subscript, appends, value }))
    }

    /// Reads the words of an array, behind its parenthesis.
    fn array(&mut self) -> Read<Vec<WrittenWord>> {
        let mut words = Vec::new();
        loop {
            self.newlines()?;
            let mut word = WrittenWord::default();
            if self.takes(b'[') {
                word.parts.push(Part::Evaluated(self.subscript()?));
            }
            self.rest_of_word(&mut word.parts, Place::Anywhere)?;
            if word.parts.is_empty() {
                return if self.takes(b')') { Ok(words) } else { Err(UNEXPECTED) };
            }
            words.push(word);
        }
    }

    fn redirect(&mut self) -> Read<Option<WrittenRedirect>> {
        self.blanks();
        let before = self.at;
        self.at = self.past_descriptor();
        let descriptor = self.text.get(before..self.at).map(|text| text.replace("\\\n", ""));
        let descriptor = descriptor.as_deref().and_then(named);
        if matches!(self.peek(), Some(b'<' | b'>')) && self.second() == Some(b'(') {
            return Ok(None);
        }
        let Some((symbol, operator)) =
            OPERATORS.iter().copied().find(|(symbol, _)| self.takes_symbol(symbol))
        else {
            return Ok(None);
        };
        self.blanks();
        let copies = matches!(operator, Operator::Copy | Operator::WriteOrCopy);
        // To bash the digits in `<2>x` belong to the second redirect.
        if self.past_descriptor() != self.at && !(copies && self.peek() != Some(b'{')) {
            return Err(UNEXPECTED);
        }
        // bash ends `>&-` there: in `>&-x`, `x` is the next word.
        let word = if copies && self.takes(b'-') {
            WrittenWord { parts: vec![Part::Text("-".to_owned())] }
        } else {
            self.word(Place::Anywhere)?.ok_or(UNEXPECTED)?
        };
        let target = match symbol {
            "<<" | "<<-" => Target::Document(self.open_document(&word, symbol == "<<-")?),
            _ => Target::Word(word),
        };
        Ok(Some(WrittenRedirect { descriptor, operator, target }))
    }

    /// Returns the place behind `2`, `{name}` or `{name[subscript]}` if a redirect follows it directly.
    fn past_descriptor(&self) -> usize {
        let named = self.byte(self.at) == Some(b'{');
        let mut at = self.past_continued(self.at + usize::from(named));
        let mut text = String::new();
        while let Some(byte) = self.byte(at)
            && (byte.is_ascii_digit()
                || named && (matches!(byte, b'_' | b'[' | b']') || byte.is_ascii_alphabetic()))
        {
            text.push(char::from(byte));
            at = self.past_continued(at + 1);
        }
        let is_descriptor = match named {
            true => element(&text).is_some() && self.byte(at) == Some(b'}'),
            false => text.parse::<i32>().is_ok(),
        };
        if named {
            at = self.past_continued(at + 1);
        }
        let angle = matches!(self.byte(at), Some(b'<' | b'>'));
        let process = self.byte(self.past_continued(at + 1)) == Some(b'(');
        if is_descriptor && angle && !process { at } else { self.at }
    }
}

/// Returns the variable of `{name}` or `{name[subscript]}`, and its subscript.
fn named(descriptor: &str) -> Option<(String, Vec<Part>)> {
    let (name, subscript) = element(descriptor.strip_prefix('{')?.strip_suffix('}')?)?;
    Some((name.to_owned(), subscript.map(|text| Part::Text(text.to_owned())).into_iter().collect()))
}

/// Takes apart `name` or `name[subscript]`; of subscripts, numbers and names alone.
fn element(text: &str) -> Option<(&str, Option<&str>)> {
    let Some(inner) = text.strip_suffix(']') else {
        return is_name(text).then_some((text, None));
    };
    let (name, subscript) = inner.split_once('[')?;
    let is_number = !subscript.is_empty() && subscript.bytes().all(|byte| byte.is_ascii_digit());
    (is_name(name) && (is_number || is_name(subscript))).then_some((name, Some(subscript)))
}

const OPERATORS: &[(&str, Operator)] = &[
    ("&>>", Operator::Write),
    ("&>", Operator::Write),
    ("<<<", Operator::Text),
    ("<<-", Operator::Text),
    ("<<", Operator::Text),
    ("<>", Operator::Write),
    ("<&", Operator::Copy),
    ("<", Operator::Read),
    (">>", Operator::Write),
    (">&", Operator::WriteOrCopy),
    (">|", Operator::Write),
    (">", Operator::Write),
];
