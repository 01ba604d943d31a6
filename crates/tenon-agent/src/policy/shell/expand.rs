//! Expansion, as far as it can be foretold: from the nodes of a word to its pieces.
//!
//! The commands within substitutions are walked on the way, because bash would run them.

use tree_sitter::Node;

use super::SimpleCommand;
use super::launch;
use super::tree::{children_of, named_children};
use super::walk::{NESTING_MAX, Source, Walker, is_name};
use super::word::{self, Piece, Unknown, Word};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Yes,
    No,
}

impl Walker {
    pub(super) fn words(&mut self, node: Node, source: Source) -> Vec<Word> {
        let pieces = self.pieces(node, source);
        let quoted = source.text(node).contains(['"', '\'']);
        word::finish(pieces, quoted)
    }

    pub(super) fn pieces(&mut self, node: Node, source: Source) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if self.nesting >= NESTING_MAX {
            self.doubt("it is nested too deeply");
            return pieces;
        }
        self.nesting += 1;
        self.add_pieces(node, source, &mut pieces);
        self.nesting -= 1;
        pieces
    }

    fn add_pieces(&mut self, node: Node, source: Source, out: &mut Vec<Piece>) {
        let text = source.text(node);
        match node.kind() {
            "string" => self.string(node, source, out),
            "translated_string" => {
                for child in named_children(node) {
                    self.string(child, source, out);
                }
            }
            "raw_string" => out.push(Piece::Text(text.trim_matches('\'').to_owned())),
            "ansi_c_string" => {
                let inner = text.strip_prefix("$'").and_then(|text| text.strip_suffix('\''));
                match inner.and_then(word::dollar_quoted) {
                    Some(decoded) => out.push(Piece::Text(decoded)),
                    None => {
                        self.doubt("bash may end a quoted text in it elsewhere");
                        out.push(Piece::Unknown(Unknown::default()));
                    }
                }
            }
            "concatenation" => {
                for child in children_of(node) {
                    if child.is_named() {
                        self.add_part(child, source, out);
                    } else if child.kind() != "``" {
                        out.push(Piece::Text(source.text(child).to_owned()));
                    }
                }
            }
            "array" => {
                self.children(node, source);
                out.push(Piece::Unknown(Unknown::default()));
            }
            _ => self.add_part(node, source, out),
        }
    }

    fn add_part(&mut self, node: Node, source: Source, out: &mut Vec<Piece>) {
        let text = source.text(node);
        match node.kind() {
            "simple_expansion" => {
                out.extend(self.variable(text.trim_start_matches('$'), Quoted::No));
            }
            "expansion" => out.extend(self.expansion(node, source, Quoted::No)),
            "command_substitution" => {
                for piece in self.substitution(node, source) {
                    match piece {
                        Piece::Text(_) => out.extend(word::split_value(&[piece])),
                        other => out.push(other),
                    }
                }
            }
            "process_substitution" => {
                let start = self.commands.len();
                self.isolated(|walker| {
                    walker.state.input = None;
                    walker.children(node, source);
                });
                let from = start..self.commands.len();
                if text.starts_with('>') {
                    self.sinks.push(from);
                    out.push(Piece::Text("/dev/fd/63".to_owned()));
                } else {
                    out.push(Piece::Unknown(Unknown { from, inherited: None }));
                }
            }
            "brace_expression" => out.push(Piece::Glob(text.to_owned())),
            "string" | "translated_string" | "raw_string" | "ansi_c_string" => {
                self.add_pieces(node, source, out);
            }
            _ if node.named_child_count() > 0 => {
                self.children(node, source);
                out.push(Piece::Unknown(Unknown::default()));
            }
            _ => out.extend(word::unquoted(text, out.is_empty())),
        }
    }

    /// Adds the inside of double quotes. The grammar leaves out white space at the edges of its
    /// parts, so text is what stands between the expansions.
    fn string(&mut self, node: Node, source: Source, out: &mut Vec<Piece>) {
        let mut at = node.start_byte() + 1;
        let text = |from: usize, to: usize| {
            Piece::Text(word::double_quoted(source.script.get(from..to).unwrap_or_default()))
        };
        for child in named_children(node) {
            if child.kind() == "string_content" {
                continue;
            }
            out.push(text(at, child.start_byte()));
            at = child.end_byte();
            match child.kind() {
                "simple_expansion" => {
                    let name = source.text(child).trim_start_matches('$');
                    out.extend(self.variable(name, Quoted::Yes));
                }
                "expansion" => out.extend(self.expansion(child, source, Quoted::Yes)),
                "command_substitution" => out.extend(self.substitution(child, source)),
                _ => {
                    self.children(child, source);
                    out.push(Piece::Unknown(Unknown::default()));
                }
            }
        }
        out.push(text(at, node.end_byte().saturating_sub(1)));
    }

    fn variable(&mut self, name: &str, quoted: Quoted) -> Vec<Piece> {
        match self.state.variables.get(name) {
            Some(Some(value)) if quoted == Quoted::Yes => return value.clone(),
            Some(Some(value)) => return word::split_value(value),
            Some(None) => return vec![Piece::Unknown(Unknown::default())],
            None => {}
        }
        match name {
            "HOME" => vec![Piece::Home(String::new())],
            "PWD" => vec![Piece::Folder],
            "TMPDIR" => vec![Piece::Text("/tmp".to_owned())],
            "IFS" if quoted == Quoted::No => vec![Piece::Break],
            _ => {
                let inherited = is_name(name).then(|| name.to_owned());
                vec![Piece::Unknown(Unknown { from: 0..0, inherited })]
            }
        }
    }

    fn expansion(&mut self, node: Node, source: Source, quoted: Quoted) -> Vec<Piece> {
        let start = self.commands.len();
        self.children(node, source);
        let text = source.text(node);
        let inner = text.trim_start_matches("${").trim_end_matches('}');
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, rest) = inner.split_at(end.unwrap_or(inner.len()));
        let known = self.state.variables.contains_key(name) || matches!(name, "HOME" | "PWD");
        let default = [":-", ":?", ":=", "-", "?", "="].iter().any(|mark| rest.starts_with(mark));
        if rest.is_empty() || (known && default) {
            return self.variable(name, quoted);
        }
        let from = start..self.commands.len();
        vec![Piece::Unknown(Unknown { from, inherited: None })]
    }

    fn substitution(&mut self, node: Node, source: Source) -> Vec<Piece> {
        let start = self.commands.len();
        self.isolated(|walker| {
            for child in named_children(node) {
                if child.kind().ends_with("_redirect") {
                    let mut command = SimpleCommand::default();
                    walker.redirect(child, source, &mut command.redirects, &mut command.words);
                    walker.finish(command);
                }
            }
            if !named_children(node).iter().any(|child| child.kind().ends_with("_redirect")) {
                walker.children(node, source);
            }
        });
        if text_has_escape_in_backquotes(source.text(node)) {
            self.doubt("backquotes within backquotes are not followed");
        }
        let from = start..self.commands.len();
        if let [one] = self.commands.get(from.clone()).unwrap_or_default()
            && let Some(pieces) = known_output(one)
        {
            return pieces;
        }
        vec![Piece::Unknown(Unknown { from, inherited: None })]
    }
}

/// Returns what a command prints, for the few where that is plain.
fn known_output(command: &SimpleCommand) -> Option<Vec<Piece>> {
    if !command.redirects.is_empty() {
        return None;
    }
    match command.words.first()?.literal()? {
        "pwd" => Some(vec![Piece::Folder]),
        "echo" => {
            launch::printed(command).map(|text| vec![Piece::Text(text.trim_end().to_owned())])
        }
        "mktemp"
            if command.arguments().iter().all(|word| {
                word.literal().is_some_and(|text| text.starts_with('-') && !text.contains("-p"))
            }) =>
        {
            let inside = Piece::Unknown(Unknown::default());
            Some(vec![Piece::Text("/tmp/".to_owned()), inside])
        }
        _ => None,
    }
}

fn text_has_escape_in_backquotes(text: &str) -> bool {
    text.starts_with('`') && text.contains("\\`")
}
