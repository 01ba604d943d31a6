//! What builtins change in the shell that goes on: its folder and its variables.
//!
//! A variable that gets a value which the line does not say is unknown from then on. Where even its
//! name is not known, that may be any variable.

use super::SimpleCommand;
use super::reads;
use super::walk::{POSITIONS, Walker};
use super::word::{Piece, Word};
use super::words::is_name;

/// Changes of folder that are followed, since every command keeps them.
const FOLDERS_MAX: usize = 50;

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

/// Builtins whose arguments are names, with or without a value.
const DECLARATIONS: &[&str] = &["declare", "export", "local", "readonly", "typeset"];

impl Walker {
    /// Takes in that a variable gets a value that the line does not say.
    pub(super) fn given(&mut self, name: &str) {
        if !reads::is_plain_variable(name) {
            self.chooses_programs = true;
        }
        self.put(name.to_owned(), Some(None));
    }

    /// Follows `cd` and what sets variables.
    pub(super) fn change_shell(&mut self, index: usize) {
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
                self.change_folder(target);
            }
            "popd" => self.state.folder = None,
            "shift" | "set" => {
                for name in POSITIONS.iter().chain(&["@", "*", "#"]) {
                    self.put((*name).to_owned(), Some(None));
                }
            }
            "shopt" if !places.all(|word| word.literal().is_some_and(is_harmless_option)) => {
                self.doubt("an option of the shell changes how it reads");
            }
            "let" => {
                for argument in command.arguments().to_vec() {
                    self.evaluate(&argument);
                }
            }
            name if DECLARATIONS.contains(&name) => {
                let words: Vec<_> = places.filter(|word| !is_bare_name(word)).cloned().collect();
                self.names(&words);
            }
            name => {
                if let Some(setter) = SETTERS.iter().find(|setter| setter.name == name) {
                    let names = named(setter, command);
                    self.names(&names);
                    setter.own.iter().for_each(|name| self.given(name));
                }
            }
        }
    }

    /// Takes in that the variables which these words begin with get values.
    fn names(&mut self, words: &[Word]) {
        for word in words {
            let name = word.prefix().split(['[', '=', '+']).next().unwrap_or_default();
            let is_whole = word.literal().is_some() || name.len() < word.prefix().len();
            match is_whole {
                true if is_name(name) => self.given(name),
                true => {}
                false => self.chooses_programs = true,
            }
        }
    }

    fn change_folder(&mut self, target: Word) {
        match target.pieces.first() {
            Some(Piece::Text(text)) if text.starts_with('/') => {
                self.state.folder = Some(vec![target]);
            }
            Some(Piece::Home(_)) => self.state.folder = Some(vec![target]),
            Some(Piece::Unknown(_)) => self.state.folder = None,
            _ if target.literal() == Some("-") => self.state.folder = None,
            _ => {
                if let Some(folder) = &mut self.state.folder {
                    folder.push(target);
                }
                self.state.folder = self.state.folder.take().filter(|all| all.len() <= FOLDERS_MAX);
            }
        }
    }
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

/// Says whether a word is a name without a value, which keeps the one that it has.
fn is_bare_name(word: &Word) -> bool {
    word.literal().is_some_and(is_name)
}

/// Says whether an option of `shopt` leaves alone how a script is read.
fn is_harmless_option(name: &str) -> bool {
    !matches!(name, "expand_aliases" | "extglob" | "compat31")
}
