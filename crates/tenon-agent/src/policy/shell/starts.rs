//! What a command starts is read on: as a command, a script, a trap, or what may be meant.

use super::arguments::{Launched, positions};
use super::folders::Folders;
use super::launch;
use super::perhaps::{self, PERHAPS_MAX, Perhaps};
use super::shells;
use super::walk::Walker;
use super::word::Word;
use super::work::TOO_MANY;
use super::{Launches, NESTING_MAX, Redirect, RedirectKind};

impl Walker {
    /// Takes in what may run by words that are not known.
    pub(super) fn may_mean(&mut self, perhaps: Vec<Perhaps>) {
        if self.rehearses {
            return;
        }
        if self.perhaps.len() + perhaps.len() > PERHAPS_MAX {
            return self.doubt(TOO_MANY);
        }
        self.perhaps.extend(perhaps);
    }

    pub(super) fn launch_all(&mut self, index: usize, launched: Vec<Launched>) {
        if launched.is_empty() {
            return;
        }
        let by = self.state.launched_by.replace(index);
        let expands_aliases = self.state.expands_aliases;
        let elsewhere = self.enter_folder_of(index);
        if self.commands.get(index).is_some_and(launch::expands_aliases) {
            self.expands_aliases();
        }
        let assignments = self.commands.get(index).map(|one| one.assignments.clone());
        let assignments = assignments.unwrap_or_default();
        for (name, value) in &assignments {
            self.flow_value(name, value);
        }
        let shadowed =
            self.shadow(assignments.into_iter().map(|(name, value)| (name, value.pieces)));
        for one in launched {
            self.launch(one);
        }
        self.unshadow(shadowed);
        self.state.expands_aliases = expands_aliases;
        self.state.launched_by = by;
        if let Some((folder, folders)) = elsewhere {
            (self.state.folder, self.state.folders) = (folder, folders);
        }
    }

    /// Goes where a command runs that another folder was given (`env -C`). Returns where the shell
    /// is, if it is elsewhere.
    fn enter_folder_of(&mut self, index: usize) -> Option<(Option<Vec<Word>>, Folders)> {
        let command = self.commands.get(index)?;
        let folders = command.folders.clone().filter(|there| *there != self.state.folders)?;
        let folder = std::mem::replace(&mut self.state.folder, command.folder.clone());
        Some((folder, std::mem::replace(&mut self.state.folders, folders)))
    }

    /// Takes in what a command within `>(…)` starts by what the command `from` writes there.
    pub(super) fn launch_fed(&mut self, index: usize, from: usize) {
        let Some(reader) = self.commands.get(index).cloned() else { return };
        if !shells::runs_input(&reader) {
            return;
        }
        let writer = self.commands.get(from);
        // All that follows is written there, or what a group around it writes.
        let is_exec =
            writer.is_some_and(|one| one.words.len() == 1 && one.program() == Some("exec"));
        let group =
            writer.filter(|one| one.words.is_empty()).and_then(|one| one.piped_from.clone());
        let read = self.evaluate_read(&reader);
        let mut feed = reader.piped_from.clone().unwrap_or_default();
        if feed == (from..from + 1) {
            feed = group.unwrap_or(feed);
        }
        let feed = self.commands.get(feed).unwrap_or_default();
        let mut launched = launch::launched(&reader, feed, &read);
        if is_exec {
            launched.push(Launched::Unknown);
        }
        self.starts(index, &launched);
        self.launch_all(index, launched);
    }

    /// Takes in that the commands from there on read what the line writes to a descriptor: what
    /// they run by it is not known.
    pub(super) fn reads_descriptor(&mut self, start: usize) {
        let is_input = |one: &Redirect| matches!(one.kind, RedirectKind::Read | RedirectKind::Text);
        for index in start..self.commands.len() {
            let Some(command) = self.commands.get(index) else { return };
            let has_own = command.piped_from.is_some() || command.redirects.iter().any(is_input);
            if !has_own && shells::runs_input(command) {
                self.starts(index, &[Launched::Unknown]);
            }
        }
    }

    /// Notes at a command what it starts.
    pub(super) fn starts(&mut self, index: usize, launched: &[Launched]) {
        if !launched.is_empty()
            && let Some(command) = self.commands.get_mut(index)
        {
            let unknown = launched.iter().any(|one| matches!(one, Launched::Unknown));
            let unknown = unknown || command.launches == Launches::Unknown;
            command.launches = if unknown { Launches::Unknown } else { Launches::Known };
            if unknown {
                self.untold_call();
            }
        }
    }

    pub(super) fn launch(&mut self, launched: Launched) {
        match launched {
            Launched::Unknown => {}
            Launched::Aside(launched) => {
                let before = std::mem::replace(&mut self.state.is_aside, true);
                self.launch(*launched);
                self.state.is_aside = before;
            }
            Launched::Perhaps { text, is_given } => {
                self.may_mean(vec![perhaps::of_text(&text, is_given)]);
            }
            Launched::Command(command) if self.nesting < NESTING_MAX => {
                self.nesting += 1;
                self.finish(command);
                self.nesting -= 1;
            }
            Launched::Command(_) => self.doubt("it is nested too deeply"),
            Launched::Shell { text, made, parameters } => self.isolated(|walker| {
                walker.enter_shell();
                walker.flow_script(&made);
                let (own, rest) = parameters.split_at(parameters.len().min(1));
                let own = own.first().map(|word| ("0".to_owned(), word.pieces.clone()));
                // Without any they are as little known as those of this shell.
                let given = if rest.is_empty() { Vec::new() } else { positions(rest) };
                walker.shadow(own.into_iter().chain(given));
                walker.script(&text);
            }),
            Launched::Text(text) => self.later_text(&text),
            Launched::Trap { text, made, at_exit } => {
                self.flow_script(&made);
                self.trap(text, at_exit);
            }
            Launched::Script { text, same_shell, made } => {
                self.flow_script(&made);
                match same_shell {
                    true => self.script_within(&text),
                    false => self.isolated(|walker| {
                        walker.enter_shell();
                        walker.script(&text);
                    }),
                }
            }
        }
    }
}
