//! Takes here documents and continued lines out of a script before the grammar sees it.
//!
//! tree-sitter-bash knows a here document only at the end of a simple line; what agents write
//! most (`python3 - <<'EOF' 2>&1 | head`) is an error to it, and it takes `r\<newline>m` for two
//! words. So each `<<WORD` becomes `< MARK`, its body is kept apart, and joined lines are joined.
//! One pass, linear, no recursion.

/// Stands around the number of a lifted document; a private-use character that no script needs.
const MARK: char = '\u{f8f0}';

/// A script without here documents.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lifted {
    pub(crate) script: String,
    pub(crate) documents: Vec<Document>,
}

/// The body of a here document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) body: String,
    /// Bash expands variables and substitutions in it: its delimiter was not quoted.
    pub(crate) expands: bool,
}

/// Lifts the here documents of a script; `None` if one has no end or the script has a mark.
pub(crate) fn lift(script: &str) -> Option<Lifted> {
    Lifter::new(script, Inside::Commands).run()
}

/// Turns the body of an expanding here document into one double-quoted word.
pub(crate) fn quote_document(body: &str) -> Option<Lifted> {
    let mut lifted = Lifter::new(body, Inside::Document).run()?;
    lifted.script = format!("\"{}\"", lifted.script);
    Some(lifted)
}

/// Returns the number of the document that a redirect's target stands for.
pub(crate) fn document_number(target: &str) -> Option<usize> {
    target.strip_prefix(MARK)?.strip_suffix(MARK)?.parse().ok()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// A list of commands: the script, `(…)`, `$(…)`.
    Commands,
    Backquotes,
    DoubleQuotes,
    Document,
    /// `${…}`; says whether it stands in double quotes, where `'` is text.
    Braces {
        quoted: bool,
    },
    /// `((…))` and `$((…))` with the number of open parentheses.
    Arithmetic(usize),
}

struct Pending {
    delimiter: String,
    tabs: bool,
    number: usize,
}

struct Lifter<'a> {
    rest: &'a str,
    before: char,
    stack: Vec<Inside>,
    pending: Vec<Pending>,
    out: Lifted,
}

impl<'a> Lifter<'a> {
    fn new(script: &'a str, inside: Inside) -> Lifter<'a> {
        let out = Lifted { script: String::with_capacity(script.len()), documents: Vec::new() };
        Lifter { rest: script, before: '\n', stack: vec![inside], pending: Vec::new(), out }
    }

    fn run(mut self) -> Option<Lifted> {
        while let Some(character) = self.rest.chars().next() {
            let inside = self.stack.last().copied().unwrap_or(Inside::Commands);
            if character == MARK {
                return None;
            }
            if self.opens_expansion() {
                continue;
            }
            match inside {
                Inside::DoubleQuotes | Inside::Document => self.quoted(inside),
                _ => self.bare(inside)?,
            }
        }
        self.pending.is_empty().then_some(self.out)
    }

    /// Takes an escape, or what begins an expansion, which is the same within quotes and without.
    fn opens_expansion(&mut self) -> bool {
        let rest = self.rest;
        if rest.starts_with("\\\n") {
            self.skip(2);
        } else if rest.starts_with('\\') {
            self.take(1 + rest.chars().nth(1).map_or(0, char::len_utf8));
            self.before = 'x';
        } else if rest.starts_with("$((") {
            self.take(3);
            self.stack.push(Inside::Arithmetic(2));
        } else if rest.starts_with("$(") {
            self.take(2);
            self.stack.push(Inside::Commands);
        } else if rest.starts_with("${") {
            let quoted = self
                .stack
                .iter()
                .any(|inside| matches!(inside, Inside::DoubleQuotes | Inside::Document));
            self.take(2);
            self.stack.push(Inside::Braces { quoted });
        } else if rest.starts_with('`') {
            self.take(1);
            match self.stack.iter().rposition(|inside| *inside == Inside::Backquotes) {
                Some(open) => self.stack.truncate(open),
                None => self.stack.push(Inside::Backquotes),
            }
        } else {
            return false;
        }
        true
    }

    fn quoted(&mut self, inside: Inside) {
        if !self.rest.starts_with('"') {
            self.take(self.rest.chars().next().map_or(1, char::len_utf8));
        } else if inside == Inside::Document {
            self.out.script.push('\\');
            self.take(1);
        } else {
            self.take(1);
            self.stack.pop();
        }
    }

    fn bare(&mut self, inside: Inside) -> Option<()> {
        let rest = self.rest;
        let commands = matches!(inside, Inside::Commands | Inside::Backquotes);
        let text = matches!(inside, Inside::Braces { quoted: true });
        let word_start = matches!(self.before, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')');
        if rest.starts_with('\'') && !text {
            let end = rest.get(1..)?.find('\'').map_or(rest.len(), |end| end + 2);
            self.take(end);
        } else if rest.starts_with("$'") && !text {
            self.take(dollar_quote_length(rest));
        } else if rest.starts_with('"') {
            self.take(1);
            self.stack.push(Inside::DoubleQuotes);
        } else if commands && rest.starts_with('#') && word_start {
            let end = rest.find('\n').unwrap_or(rest.len());
            self.skip(end);
        } else if commands && rest.starts_with("((") && word_start && self.before != '(' {
            self.take(2);
            self.stack.push(Inside::Arithmetic(2));
        } else if rest.starts_with('(') {
            self.take(1);
            match self.stack.last_mut() {
                Some(Inside::Arithmetic(open)) => *open += 1,
                _ if commands => self.stack.push(Inside::Commands),
                _ => {}
            }
        } else if rest.starts_with(')') {
            self.take(1);
            self.close_parenthesis();
        } else if rest.starts_with('}') && matches!(inside, Inside::Braces { .. }) {
            self.take(1);
            self.stack.pop();
        } else if commands && rest.starts_with("<<<") {
            self.take(3);
        } else if commands && rest.starts_with("<<") {
            self.document_start()?;
        } else if commands && rest.starts_with('\n') && !self.pending.is_empty() {
            self.bodies()?;
        } else {
            self.take(rest.chars().next().map_or(1, char::len_utf8));
        }
        Some(())
    }

    fn close_parenthesis(&mut self) {
        let depth = self.stack.len();
        match self.stack.last_mut() {
            Some(Inside::Arithmetic(open)) if *open > 1 => *open -= 1,
            Some(Inside::Arithmetic(_)) => drop(self.stack.pop()),
            // The lowest one is the script itself; there `)` ends the pattern of a case.
            Some(Inside::Commands) if depth > 1 => drop(self.stack.pop()),
            _ => {}
        }
    }

    fn document_start(&mut self) -> Option<()> {
        let after = self.rest.get(2..)?;
        let (tabs, after) = match after.strip_prefix('-') {
            Some(after) => (true, after),
            None => (false, after),
        };
        let after = after.trim_start_matches([' ', '\t']);
        let (delimiter, quoted, after) = delimiter(after)?;
        let number = self.out.documents.len();
        self.out.script.push_str(&format!("< {MARK}{number}{MARK} "));
        self.out.documents.push(Document { body: String::new(), expands: !quoted });
        self.pending.push(Pending { delimiter, tabs, number });
        self.rest = after;
        self.before = ' ';
        Some(())
    }

    fn bodies(&mut self) -> Option<()> {
        self.take(1);
        for pending in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            loop {
                if self.rest.is_empty() {
                    return None;
                }
                let end = self.rest.find('\n').map_or(self.rest.len(), |end| end + 1);
                let (line, rest) = self.rest.split_at(end);
                self.rest = rest;
                let line = if pending.tabs { line.trim_start_matches('\t') } else { line };
                if line.strip_suffix('\n').unwrap_or(line) == pending.delimiter {
                    break;
                }
                body.push_str(line);
            }
            if let Some(document) = self.out.documents.get_mut(pending.number) {
                document.body = body;
            }
        }
        self.before = '\n';
        Some(())
    }

    fn take(&mut self, bytes: usize) {
        let (taken, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        self.out.script.push_str(taken);
        self.before = taken.chars().next_back().unwrap_or(self.before);
        self.rest = rest;
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}

fn dollar_quote_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, character) in text.char_indices().skip(2) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// Reads the delimiter of a here document: its text, whether any of it is quoted, the rest.
fn delimiter(text: &str) -> Option<(String, bool, &str)> {
    let mut name = String::new();
    let mut quoted = false;
    let mut characters = text.char_indices();
    let mut end = text.len();
    while let Some((index, character)) = characters.next() {
        match character {
            ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => {
                end = index;
                break;
            }
            '\'' | '"' => {
                quoted = true;
                loop {
                    match characters.next()?.1 {
                        other if other == character => break,
                        other => name.push(other),
                    }
                }
            }
            '\\' => {
                quoted = true;
                name.push(characters.next()?.1);
            }
            '$' | '`' => return None,
            other => name.push(other),
        }
    }
    (quoted || !name.is_empty()).then(|| (name, quoted, text.get(end..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::{MARK, lift, quote_document};

    fn check(script: &str, want: &str, bodies: &[&str]) {
        let lifted = lift(script).unwrap_or_else(|| panic!("{script} was not lifted"));
        assert_eq!(lifted.script.replace(MARK, "@"), want, "{script}");
        let got: Vec<_> = lifted.documents.iter().map(|document| &document.body).collect();
        assert_eq!(got, bodies, "{script}");
    }

    #[test]
    fn documents_leave_the_script_and_lines_are_joined() {
        check("cat <<EOF | sh\nrm a\nEOF\nls", "cat < @0@  | sh\nls", &["rm a\n"]);
        check("a <<'A' - <<-B; c\n1\nA\n\t2\n\tB\n", "a < @0@  - < @1@ ; c\n", &["1\n", "2\n"]);
        check(
            "echo \"$(cat <<'E'\ndon't (\nE\n)\" x",
            "echo \"$(cat < @0@ \n)\" x",
            &["don't (\n"],
        );
        check("echo $((1<<2))", "echo $((1<<2))", &[]);
        check("((x<<2))\nls", "((x<<2))\nls", &[]);
        check("cat <<< x", "cat <<< x", &[]);
        check("echo '<<A' \"<<B\" \\<<c", "echo '<<A' \"<<B\" \\<<c", &[]);
    }

    #[test]
    fn lines_are_joined_outside_single_quotes() {
        check("r\\\nm -rf '\\\n' \"a\\\nb\"", "rm -rf '\\\n' \"ab\"", &[]);
        check("ls # don't <<X\nrm", "ls \nrm", &[]);
        check("echo a#b", "echo a#b", &[]);
    }

    #[test]
    fn a_document_without_end_is_doubted() {
        assert_eq!(lift("cat <<EOF\nx\nEOF2"), None);
        assert_eq!(lift("cat <<EOF"), None);
        assert_eq!(lift("cat <<$X\n"), None);
        assert_eq!(lift(&MARK.to_string()), None);
    }

    #[test]
    fn a_document_becomes_a_quoted_word() {
        let lifted = quote_document("say \"hi\" $(echo \"x\")").expect("it has an end");
        assert_eq!(lifted.script, "\"say \\\"hi\\\" $(echo \"x\")\"");
    }
}
