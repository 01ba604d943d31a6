//! What values are made of that are not known before the line runs.
//!
//! A value may be put together by `printf -v`, `+=` in a loop, `${x/…}`, `read` and the like, and bash
//! may then expand it once more, or read it as a script. Of such a value only that is kept which decides
//! about that: which signs of the line may be in it, and which variables. What a program or a file
//! says is not followed. Order does not count: what a variable is given anywhere, it may hold anywhere.

use std::collections::{HashMap, HashSet};

/// Variables of one text that are kept by name; of more anything is thought.
const NAMES_MAX: usize = 32;

/// What bash takes for arithmetic: names in it are looked up, and what they hold likewise.
pub(super) const ARITHMETIC: &str = "((";
/// What bash takes for the name of a variable, with a subscript.
pub(super) const NAME: &str = "[[";
/// What a shell reads as a part of a script.
pub(super) const SCRIPT: &str = ";";
/// What `=~` has matched.
pub(super) const MATCHED: &str = "BASH_REMATCH";
/// Any variable: its name is only known when the line runs.
pub(super) const ANY: &str = "**";
/// The names of files.
pub(crate) const FILES: &str = "./";
/// What can be read from a descriptor.
pub(super) const DESCRIPTOR: &str = "<&";

/// Signs of the line that a text may hold. The greater one means more to bash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signs {
    /// None that could be a name: it is a number, or comes from elsewhere.
    #[default]
    None,
    /// Letters, which may be the name of a variable.
    Letters,
    /// Signs that end a command, a word or a quote.
    Structure,
    /// `$` or a backquote.
    Substitution,
}

/// What is known of the signs of a value that is only known when the line runs, as far as names of files go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Holds {
    /// Nothing.
    #[default]
    Anything,
    /// It is a path of any number of folders, one in the other.
    Folders,
    /// It has no `/`. It may be empty.
    Name,
    /// The same, and nothing at which it is split or looked for, either.
    Plain,
    /// It is a number, or several with blanks between them.
    Numbers,
    /// It is a number, with signs between its digits as dates have them.
    Number,
}

/// What a text is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) signs: Signs,
    /// The variables whose values may be in it.
    pub(crate) of: Vec<String>,
}

/// What variables are made of, and what is expanded once more.
#[derive(Default)]
pub(super) struct Values {
    nodes: HashMap<String, Node>,
}

#[derive(Default)]
struct Node {
    /// Signs of texts that it may be as they are written.
    written: Signs,
    /// Signs of what is put together.
    put_together: Signs,
    /// What may be in it.
    of: HashSet<String>,
    /// The variables that its texts name.
    names: HashSet<String>,
}

impl Signs {
    pub(crate) fn of(text: &str) -> Signs {
        let is_plain =
            |sign: char| sign.is_alphanumeric() || "_-./:=,+@%^~*?[]{} \t".contains(sign);
        match text {
            _ if text.contains(['$', '`']) => Signs::Substitution,
            _ if !text.chars().all(is_plain) => Signs::Structure,
            _ if text.chars().any(|sign| sign.is_alphabetic() || sign == '_') => Signs::Letters,
            _ => Signs::None,
        }
    }
}

impl Made {
    /// Returns what the value of a variable is made of.
    pub(crate) fn variable(name: &str) -> Made {
        Made { signs: Signs::None, of: vec![name.to_owned()] }
    }

    /// Takes in that it may also hold `other`.
    pub(crate) fn join(&mut self, other: &Made) {
        self.signs = self.signs.max(other.signs);
        for name in &other.of {
            if self.of.contains(name) {
                continue;
            }
            if self.of.len() >= NAMES_MAX {
                self.signs = Signs::Substitution;
                return;
            }
            self.of.push(name.clone());
        }
    }
}

impl Values {
    /// Takes in that `to` may hold what is made so.
    pub(super) fn flow(&mut self, to: &str, made: &Made) {
        let node = self.node(to);
        node.put_together = node.put_together.max(made.signs);
        node.of.extend(made.of.iter().filter(|name| *name != to).cloned());
    }

    /// Takes in that `to` may hold this text as it is, and name what it names.
    pub(super) fn flow_text(&mut self, to: &str, text: &str) {
        let signs = Signs::of(text);
        let node = self.node(to);
        node.written = node.written.max(signs);
        self.flow_names(to, text);
    }

    /// Takes in that what is read as `to` names what this text names.
    pub(super) fn flow_names(&mut self, to: &str, text: &str) {
        let names = text.split(|sign: char| !is_of_name(sign));
        let is_name = |name: &&str| name.starts_with(|sign: char| !sign.is_ascii_digit());
        let names = names.filter(is_name).filter(|name| *name != to).map(str::to_owned);
        self.node(to).names.extend(names);
    }

    fn node(&mut self, name: &str) -> &mut Node {
        self.nodes.entry(name.to_owned()).or_default()
    }

    /// Returns what of the line may be in texts that are made so.
    pub(super) fn held(&self) -> impl Fn(&Made) -> Signs + use<'_> {
        let held = self.spread(|node| node.written.max(node.put_together), |node| &node.of);
        move |made| {
            let of = made.of.iter().filter_map(|name| held.get(name.as_str()).copied()).max();
            made.signs.max(of.unwrap_or_default())
        }
    }

    /// Says whether bash may run what does not show in the line: it expands a text once more, or
    /// reads it as a script, and the line puts together what would run.
    pub(super) fn may_run(&self) -> bool {
        let held = self.spread(|node| node.written.max(node.put_together), |node| &node.of);
        let get = |name: &str| held.get(name).copied().unwrap_or_default();
        // A text that is evaluated as it is written was read where it is written.
        let inside = |node: &Node| {
            let held = node.of.iter().map(|name| get(name)).max().unwrap_or_default();
            held.max(node.put_together)
        };
        let run = self.spread(inside, |node| &node.names);
        let of = |name: &str| match self.nodes.contains_key(name) {
            true => run.get(name).copied().unwrap_or_default().max(get(ANY)),
            false => Signs::None,
        };
        // Nobody spells the one that every command sets.
        let is_variable = |name: &str| name.starts_with(is_of_name) && name != "_";
        let is_hidden = |(name, node): (&String, &Node)| {
            is_variable(name) && inside(node) == Signs::Substitution
        };
        // Letters may be the name of any variable.
        let names_any = of(ARITHMETIC) >= Signs::Letters && self.nodes.iter().any(is_hidden);
        of(SCRIPT) >= Signs::Structure
            || of(NAME) == Signs::Substitution
            || of(ARITHMETIC) == Signs::Substitution
            || names_any
    }

    /// Returns the signs of all, with those of what they lead to.
    fn spread(
        &self,
        signs_of: impl Fn(&Node) -> Signs,
        leads: impl Fn(&Node) -> &HashSet<String>,
    ) -> HashMap<&str, Signs> {
        let mut led_from: HashMap<&str, Vec<&str>> = HashMap::new();
        for (name, node) in &self.nodes {
            for to in leads(node) {
                led_from.entry(to).or_default().push(name);
            }
        }
        let own: Vec<_> = self.nodes.iter().map(|(name, node)| (name, signs_of(node))).collect();
        let mut spread: HashMap<&str, Signs> = HashMap::new();
        for signs in [Signs::Substitution, Signs::Structure, Signs::Letters] {
            let with = own.iter().filter(|(_, own)| *own == signs);
            let mut pending: Vec<&str> = with.map(|(name, _)| name.as_str()).collect();
            while let Some(name) = pending.pop() {
                if !spread.contains_key(name) {
                    spread.insert(name, signs);
                    pending.extend(led_from.get(name).into_iter().flatten());
                }
            }
        }
        spread
    }
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}
