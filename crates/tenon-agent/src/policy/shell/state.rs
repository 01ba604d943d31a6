//! What builtins change in the shell that goes on: its folder and its variables.
//!
//! A variable that gets a value which the line does not say is unknown from then on. Where even its
//! name is not known, that may be any variable.

use std::rc::Rc;

use super::SimpleCommand;
use super::arguments::{self, POSITIONS, positions};
use super::folders::{self, Folders, Named, STEPS_MAX};
use super::hidden::{self, TWICE};
use super::made::{self, Holds, Made, Signs};
use super::variables;
use super::walk::Walker;
use super::word::{self, Piece, Unknown, Word};
use super::words::is_name;

/// A builtin that sets variables which its arguments name.
struct Setter {
    name: &'static str,
    /// Letters of options that have a value.
    valued: &'static str,
    /// Those of them whose value is a name.
    naming: &'static str,
    /// How many operands stand before the names; `None` if operands are no names.
    operands: Option<usize>,
    /// What it sets besides, or if it is given no name.
    own: &'static [&'static str],
}

const fn setter(
    name: &'static str,
    (valued, naming): (&'static str, &'static str),
    operands: Option<usize>,
    own: &'static [&'static str],
) -> Setter {
    Setter { name, valued, naming, operands, own }
}

/// From the manual of bash 5.2.
const SETTERS: &[Setter] = &[
    setter("getopts", ("", ""), Some(1), &["OPTARG", "OPTIND"]),
    setter("mapfile", ("dnOsuCc", ""), Some(0), &["MAPFILE"]),
    setter("printf", ("v", "v"), None, &[]),
    setter("read", ("adinNptu", "a"), Some(0), &["REPLY"]),
    setter("readarray", ("dnOsuCc", ""), Some(0), &["MAPFILE"]),
    setter("unset", ("", ""), Some(0), &[]),
    setter("wait", ("p", "p"), None, &[]),
];

/// Options of `shopt`, and of `set` by way of it, that change how a script is read.
const CHANGING_OPTIONS: &[&str] =
    &["cdable_vars", "expand_aliases", "extglob", "failglob", "keyword", "lastpipe", "posix"];

/// The folders in which `cd` looks.
const SEARCHED: &str = "CDPATH";

const ALIAS: &str = "an alias in it may stand for another command";
const OPTION: &str = "an option of the shell changes how it reads";

/// Builtins whose arguments are names, with or without a value.
const DECLARATIONS: &[&str] = &["declare", "export", "local", "readonly", "typeset"];

impl Walker {
    /// Takes in that a variable gets a value that the line does not say.
    pub(super) fn given(&mut self, name: &str) {
        if !variables::is_plain_variable(name) {
            self.chooses_programs = true;
        }
        if hidden::is_prompt(name) {
            self.doubt(TWICE);
        }
        self.put(name.to_owned(), Some(None));
    }

    /// Sets a variable to what is written.
    pub(super) fn set(&mut self, name: &str, value: Word) {
        self.flow_value(name, &value);
        let known = value.prefix().starts_with('/');
        let value = if known { Some(value.pieces) } else { kept(name, value) };
        self.put(name.to_owned(), Some(value));
    }

    pub(super) fn has_aliases(&mut self) {
        self.has_aliases = true;
        if self.state.expands_aliases {
            self.doubt(ALIAS);
        }
    }

    pub(super) fn expands_aliases(&mut self) {
        self.state.expands_aliases = true;
        if self.has_aliases {
            self.doubt(ALIAS);
        }
    }

    /// Follows `cd` and what sets variables.
    pub(super) fn change_shell(&mut self, index: usize, read: &Made) {
        let Some(command) = self.commands.get(index) else { return };
        let Some(name) = command.words.first().and_then(Word::literal) else { return };
        let mut places = command
            .arguments()
            .iter()
            .filter(|word| !word.prefix().starts_with('-') || word.literal() == Some("-"));
        match name {
            "cd" | "pushd" => {
                let home = Word { pieces: vec![Piece::Home(String::new())] };
                let target = places.next().cloned().unwrap_or(home);
                let is_known = !self.searches_folders(command) || is_beside(&target);
                let is_known = is_known && !self.state.callees.contains_key(name);
                let is_turned = name == "pushd" && turns_the_stack(command.arguments());
                self.change_folder(Some(target).filter(|_| is_known && !is_turned));
                if is_turned {
                    self.arrived = None;
                }
            }
            "popd" => self.change_folder(None),
            "return" => self.leave(),
            "break" | "continue" => self.sure.breaks += 1,
            "ulimit" => self.sure.opens = false,
            "shift" | "set" => {
                let command = command.clone();
                if name == "set" {
                    self.set_options(command.arguments());
                }
                self.set_parameters(&command);
            }
            "shopt" if !places.all(|word| word.literal().is_some_and(is_harmless_option)) => {
                self.doubt(OPTION);
            }
            "shopt" if has_word(command, "-s") && has_word(command, "nullglob") => {
                self.state.drops_patterns = true;
            }
            "let" => {
                for argument in command.arguments().to_vec() {
                    self.evaluate(&argument);
                }
            }
            "test" | "[" => {
                let names: Vec<_> = hidden::tested(command.arguments()).cloned().collect();
                self.flow_names(&names);
            }
            "alias" if places.any(|word| !word.literal().is_some_and(is_name)) => {
                self.has_aliases();
            }
            "hash" | "enable" => {
                let letters = if name == "hash" { "p" } else { "fn" };
                if command.arguments().iter().any(|word| has_letter(word, letters)) {
                    self.doubt("it gives the name of a program another meaning");
                }
            }
            name if DECLARATIONS.contains(&name) => self.declare(&command.clone()),
            name => {
                if let Some(setter) = SETTERS.iter().find(|setter| setter.name == name) {
                    self.set_by(setter, &command.clone(), read);
                }
            }
        }
    }

    /// Takes in that a builtin sets variables, to what it has `read` or is given.
    fn set_by(&mut self, setter: &Setter, command: &SimpleCommand, read: &Made) {
        let mut names = named(setter, command);
        if setter.name == "unset" {
            Rc::make_mut(&mut self.state.callees)
                .values_mut()
                .for_each(|callee| callee.is_sure = false);
            names.iter().filter_map(Word::literal).for_each(|name| self.may_end_local(name));
            let stays = |name: &str| hidden::is_prompt(name) || hidden::is_startup(name);
            names.retain(|name| !name.literal().is_some_and(stays));
        }
        let made = match setter.name {
            "getopts" | "printf" => arguments::made_printed(command.arguments()),
            _ => read.clone(),
        };
        self.flow_names(&names);
        self.names(&names, &made);
        for name in setter.own {
            self.given(name);
            self.values.flow(name, &made);
        }
    }

    /// Takes in that bash takes words for names: what stands in a subscript is expanded once more.
    fn flow_names(&mut self, words: &[Word]) {
        for word in words {
            // What stands behind `=` is a value.
            let is_value = |piece: &Piece| match piece {
                Piece::Text(text) => {
                    text.split_once('=').is_some_and(|(name, _)| !name.contains('['))
                }
                _ => false,
            };
            let pieces = word.pieces.iter().take_while(|piece| !is_value(piece)).cloned().collect();
            self.flow_evaluated(made::NAME, &Word { pieces });
        }
    }

    fn set_parameters(&mut self, command: &SimpleCommand) {
        let is_set = command.words.first().and_then(Word::literal) == Some("set");
        let words = match command.arguments() {
            [first, words @ ..] if is_set && first.literal() == Some("--") => words,
            words if is_set => words,
            _ => &[],
        };
        // What was a parameter is another one behind `shift`, or stays one.
        for name in POSITIONS.iter().chain(&["@", "*"]) {
            let value = self.variables.get("@").cloned().flatten();
            let before = value.unwrap_or_else(|| word::made_of(Made::variable("@")));
            self.flow_value(name, &Word { pieces: before });
        }
        self.flow_positions(words);
        let is_known = is_set
            && command.arguments().first().is_some_and(|word| word.literal() == Some("--"))
            && words.iter().all(|word| word.literal().is_some());
        let values = if is_known { positions(words) } else { Vec::new() };
        for name in POSITIONS.iter().chain(&["@", "*", "#"]) {
            let value = values.iter().find(|(of, _)| of == name).map(|(_, value)| value.clone());
            self.put((*name).to_owned(), Some(value));
        }
    }

    /// Takes in that the variables which these words begin with get values, also what is `made` so.
    fn names(&mut self, words: &[Word], made: &Made) {
        for word in words {
            let name = word.prefix().split(['[', '=', '+']).next().unwrap_or_default();
            let is_whole = word.literal().is_some() || name.len() < word.prefix().len();
            match is_whole {
                true if is_name(name) => {
                    let name = name.to_owned();
                    self.given(&name);
                    self.values.flow(&name, made);
                    self.values.flow(&name, &word.made_unknown());
                    self.flow_value(&name, word);
                }
                true => {}
                false => {
                    (self.chooses_programs, self.state.untold) = (true, true);
                    self.values.flow(made::ANY, made);
                    self.values.flow(made::ANY, &word.made());
                }
            }
        }
    }

    /// Says whether `cd` looks for a folder in others, too.
    fn searches_folders(&self, command: &SimpleCommand) -> bool {
        let own = command.assignments.iter().rfind(|(name, _)| name == SEARCHED);
        let set = self.variables.get(SEARCHED);
        match (own, set) {
            (Some((_, value)), _) => value.literal() != Some(""),
            (None, Some(value)) => value.as_ref().is_none_or(|pieces| !pieces.is_empty()),
            (None, None) => self.state.untold,
        }
    }

    fn set_options(&mut self, arguments: &[Word]) {
        let is = |name: &str| arguments.iter().any(|word| word.literal() == Some(name));
        if is("posix") {
            self.expands_aliases();
        }
        if is("keyword") || arguments.iter().any(|word| has_letter(word, "k")) {
            self.doubt(OPTION);
        }
    }

    /// Takes in what `declare` and its like say of variables besides their values.
    fn declare(&mut self, command: &SimpleCommand) {
        let (options, words): (Vec<_>, Vec<_>) =
            command.arguments().iter().partition(|word| word.prefix().starts_with(['-', '+']));
        let has = |letters: &str| options.iter().any(|word| has_letter(word, letters));
        let is = |name: &str| command.words.first().and_then(Word::literal) == Some(name);
        let is_export = is("export");
        self.note_keys(&command.words);
        if !is_export && has("n") {
            (self.chooses_programs, self.state.untold) = (true, true);
            if command.assignments.iter().any(|(_, value)| !value.literal().is_some_and(is_name)) {
                self.doubt("a name in it stands for another that is not known");
            }
            for (_, value) in &command.assignments {
                self.flow_names(std::slice::from_ref(value));
                if let Some(name) = value.literal() {
                    self.given(name);
                }
            }
        }
        let values: Vec<_> =
            words.iter().filter(|word| !is_bare_name(word)).copied().cloned().collect();
        let bare = words.iter().filter(|word| is_bare_name(word)).filter_map(|word| word.literal());
        let bare: Vec<_> = bare.map(str::to_owned).collect();
        for name in &bare {
            if self.localize(&command.words, name).is_some() {
                self.given(name);
            }
        }
        self.flow_names(&values);
        self.names(&values, &Made::default());
        let assigned = command.assignments.iter().map(|(name, _)| name.clone());
        let written = values.iter().filter_map(|word| word.prefix().split(['[', '=', '+']).next());
        let written: Vec<_> = written.map(str::to_owned).collect();
        for name in assigned.chain(bare).chain(written) {
            if !is_export && has("gilucr") || is("readonly") {
                self.unsteady.insert(name.clone());
            }
            if !is_export && has("i") {
                self.values.flow_names(made::ARITHMETIC, &name);
            }
            if !is_export && has("luc") {
                // Its letters change, so that nothing was read of it yet.
                let made = Made { signs: Signs::Substitution, of: Vec::new() };
                self.values.flow(&name, &made);
            }
            if !is_export && has("iluc") {
                self.put(name, Some(None));
            }
        }
    }

    /// Takes in that the shell goes to a folder, or that it is not known where it goes; and that it
    /// may not get there.
    fn change_folder(&mut self, target: Option<Word>) {
        self.count(self.state.folders.words());
        self.looks_through(self.state.folders.bytes());
        let there = target.as_ref().map_or_else(Folders::open, |to| self.state.folders.entered(to));
        self.state.folders.join(&there);
        self.arrived = Some(there);
        let before = self.state.folder.take();
        self.state.folder = target.and_then(|target| match folders::named(&target) {
            Named::Fixed => Some(vec![target]),
            Named::Unknown => None,
            Named::Beside => before.map(|all| all.into_iter().chain([target]).collect()),
        });
        self.state.folder = self.state.folder.take().filter(|all: &Vec<_>| all.len() <= STEPS_MAX);
    }
}

/// Returns a value if all of it is known, or that what is not known of it has no `/`. Of a variable that chooses
/// programs it has to be known.
pub(super) fn kept(name: &str, value: Word) -> Option<Vec<Piece>> {
    let chooses =
        !variables::is_plain_variable(name) || hidden::is_prompt(name) || hidden::is_startup(name);
    let is_open = value.unknown().any(|unknown| chooses || unknown.holds == Holds::Anything);
    let kept = |piece| match piece {
        // What was printed belongs to where it is read, and not to where the variable is used.
        Piece::Unknown(unknown) => {
            let made = Made::variable(name);
            Piece::Unknown(Unknown { made, holds: unknown.holds, ..Unknown::default() })
        }
        piece => piece,
    };
    (!is_open).then(|| value.pieces.into_iter().map(kept).collect())
}

/// Returns the names that a builtin is given.
fn named(setter: &Setter, command: &SimpleCommand) -> Vec<Word> {
    let mut names = Vec::new();
    let mut rest = command.arguments();
    while let Some((word, after)) = rest.split_first() {
        let Some(letters) = word.prefix().strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            break;
        };
        rest = after;
        if letters == "-" {
            break;
        }
        let Some(at) = letters.find(|letter| setter.valued.contains(letter)) else { continue };
        let attached = word.strip_prefix(word.prefix().get(..at + 2).unwrap_or_default());
        let value = match attached.filter(|value| !value.pieces.is_empty()) {
            Some(value) => Some(value),
            None => {
                let value = rest.first().cloned();
                rest = rest.get(1..).unwrap_or_default();
                value
            }
        };
        let is_naming =
            letters.get(at..).is_some_and(|from| from.starts_with(is_in(setter.naming)));
        names.extend(value.filter(|_| is_naming));
    }
    let operands = setter.operands.and_then(|skipped| rest.get(skipped..));
    names.extend(operands.unwrap_or_default().iter().cloned());
    names
}

fn is_in(letters: &str) -> impl Fn(char) -> bool + '_ {
    move |letter| letters.contains(letter)
}

/// Says whether `pushd` turns the folders that it knows, or only keeps one for later.
fn turns_the_stack(arguments: &[Word]) -> bool {
    arguments.is_empty() || arguments.iter().any(|word| word.prefix().starts_with(['+', '-']))
}

/// Says whether a folder is named from the one that the shell is in.
fn is_beside(target: &Word) -> bool {
    let first = target.prefix().split('/').next();
    matches!(first, Some("." | ".."))
}

fn has_word(command: &SimpleCommand, text: &str) -> bool {
    command.arguments().iter().any(|word| word.literal() == Some(text))
}

/// Says whether a word is an option with one of these letters.
pub(super) fn has_letter(word: &Word, letters: &str) -> bool {
    let given = word.prefix().strip_prefix(['-', '+']);
    given.is_some_and(|given| !given.starts_with('-') && given.contains(is_in(letters)))
}

/// Says whether a word is a name without a value, which keeps the one that it has.
fn is_bare_name(word: &Word) -> bool {
    word.literal().is_some_and(is_name)
}

/// Says whether an option of `shopt` leaves alone how a script is read.
fn is_harmless_option(name: &str) -> bool {
    !CHANGING_OPTIONS.contains(&name) && !name.starts_with("compat")
}
