//! What the commands do in plain lines: the table is that of the session that is redrawn.

use std::{path::Path, sync::PoisonError};

use clap::ValueEnum;
use tenon_agent::{LogError, read_session, request_costs};
use tenon_model::{base64, visible};

use super::{Session, UNDO_COMPACTION, undo::Asked};
use crate::{
    commands::{doctor, export, permissions},
    error::{CliError, ExitStatus},
    jobs, masked,
    past::Wish,
    render::{line::Line, whole_transcript},
    resume,
    screen::{Sink, print_error},
    texts::{Language, Text},
    tui::{
        Another, Ended, charts,
        commands::{Act, COMMANDS, INIT_PROMPT, THEMES, keep_theme},
    },
    values::ThemeName,
};

/// Columns of the names of commands.
const NAME_COLUMNS: usize = 13;

impl Session<'_> {
    /// Does what a command says, with the words behind its name; returns how the session ends if it
    /// does.
    pub(super) async fn command(
        &mut self,
        act: Act,
        words: String,
    ) -> Result<Option<Ended>, LogError> {
        match act {
            Act::Help => self.front.screen.say(&help(self.look.language, !self.look.plain)),
            Act::Model if words.is_empty() => self.choose_model().await?,
            Act::Model => self.change_model(words).await?,
            Act::Context => self.say_context(),
            Act::Cost => self.say_costs(),
            Act::Compact => self.compact((!words.is_empty()).then_some(words)).await?,
            Act::Diff => self.say_diff(),
            Act::Changes if words.is_empty() => self.past(Asked::List).await,
            Act::Changes => self.past(Asked::Lines).await,
            Act::Undo => self.past(Asked::Wish(Wish::Undo(words.parse().unwrap_or(1)))).await,
            Act::Redo => self.past(Asked::Wish(Wish::Redo)).await,
            Act::Restore => match words.parse() {
                Ok(step) => self.past(Asked::Wish(Wish::Before(step))).await,
                Err(_) => {
                    self.say(Text::RestoreWhich);
                    self.past(Asked::List).await;
                }
            },
            Act::Rewind => self.choose_prompt().await?,
            Act::Resume if words.is_empty() => return Ok(self.choose_session().await),
            Act::Resume => return Ok(self.resume(&words)),
            Act::Fork => return Ok(self.fork()),
            Act::New => return Ok(self.leave_for(Another::New)),
            Act::Transcript => self.say_transcript(),
            Act::Copy => self.copy(),
            Act::Export => self.export(&words),
            Act::Jobs => {
                let said = jobs::list(&self.sandbox.jobs().running(), self.look.language);
                self.front.screen.say(&said);
            }
            Act::Tools => self.say_tools(),
            Act::Permissions => self.say_permissions(),
            Act::Doctor => {
                let report = doctor::report(self.place.config, self.place.args).await;
                self.say_line(&report);
            }
            Act::Init => self.send(INIT_PROMPT.to_owned()).await?,
            Act::Theme => self.choose_theme(&words),
            Act::Quit => return Ok(Some(Ended::With(ExitStatus::Finished))),
        }
        Ok(None)
    }

    /// Ends this session for another one, if that can be had.
    pub(super) fn leave_for(&mut self, another: Another) -> Option<Ended> {
        if let Err(error) = resume::check_can_leave(&self.workspace, &self.session_id) {
            self.say_error(&error);
            return None;
        }
        Some(Ended::For(another, std::mem::take(&mut self.choices)))
    }

    pub(super) fn say_error(&self, error: &CliError) {
        print_error(&error.text_in_session(self.look.language));
    }

    fn say_context(&self) {
        let rows = charts::window(&self.agent.window_use(), self.columns(), self.look.language);
        // Bars are for eyes.
        let lines = rows.iter().map(|row| row.text().trim_end_matches(['█', ' ']).to_owned());
        self.say_line(&lines.collect::<Vec<_>>().join("\n"));
    }

    fn say_costs(&self) {
        let session = match read_session(&self.place.sessions, &self.session_id) {
            Ok(session) => session,
            Err(error) => return self.say_error(&resume::unreadable(error)),
        };
        let rows = charts::costs(&request_costs(&session), self.columns(), self.look.language);
        self.say_line(&rows.iter().map(Line::text).collect::<Vec<_>>().join("\n"));
    }

    /// Makes the conversation shorter, or as it was before that; Ctrl-C leaves it as it is.
    async fn compact(&mut self, focus: Option<String>) -> Result<(), LogError> {
        if focus.as_deref() == Some(UNDO_COMPACTION) {
            if !self.agent.undo_compaction()? {
                self.say(Text::NoCompaction);
            }
            return Ok(());
        }
        let guard = self.interrupts.turn();
        self.agent.compact(focus.as_deref(), &guard.cancel).await?;
        self.front.screen.say("");
        Ok(())
    }

    fn say_diff(&self) {
        let Some(past) = &self.place.past else { return self.say(Text::UndoOff) };
        match past.whole_diff(&self.workspace, &self.look.style(Sink::Output)) {
            Ok(diff) if diff.is_empty() => self.say(Text::NoChanges),
            Ok(diff) => self.say_line(&diff),
            Err(error) => self.say_error(&error),
        }
    }

    fn say_transcript(&self) {
        match read_session(&self.place.sessions, &self.session_id) {
            Ok(session) => {
                let style = self.look.style(Sink::Output);
                let records = masked::records(session.branch());
                self.say_line(&whole_transcript(&records, &style));
            }
            Err(error) => self.say_error(&resume::unreadable(error)),
        }
    }

    fn copy(&self) {
        if self.look.plain {
            return self.say(Text::CopyNeedsMore);
        }
        if self.answer.is_empty() {
            return self.say(Text::NothingToCopy);
        }
        let coded = base64::encode(self.answer.as_bytes());
        self.front.screen.say(&format!("\u{1b}]52;c;{coded}\u{7}"));
        self.say(Text::Copied);
    }

    fn export(&self, words: &str) {
        let language = self.look.language;
        let root = self.workspace.root();
        let written =
            export::beside_work(&self.place.sessions, &self.session_id, root, words, language);
        match written {
            Ok(path) => self.say_line(&exported(&path, language)),
            Err(error) => self.say_error(&error),
        }
    }

    fn say_tools(&self) {
        let mut said = String::new();
        for tool in &self.tools {
            let first = tool.description.lines().next().unwrap_or_default();
            let sentence = first.split_inclusive(". ").next().unwrap_or_default().trim_end();
            said.push_str(&format!("{:<12}{}\n", visible(&tool.name), visible(sentence)));
        }
        self.front.screen.say(&said);
    }

    fn say_permissions(&self) {
        let allowed = self.front.allowed.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
        match permissions::list(self.place.config, self.place.args) {
            Ok(listed) if allowed.is_empty() => self.front.screen.say_asked(&listed),
            Ok(listed) => {
                self.front.screen.say_asked(&format!("{}\n{listed}", visible(&allowed)));
            }
            Err(error) => self.say_error(&error),
        }
    }

    fn choose_theme(&mut self, name: &str) {
        let Ok(theme) = ThemeName::from_str(name, true) else { return self.say_names(THEMES) };
        self.choices.theme = Some(theme);
        self.look.theme = self.place.config.terminal().theme(theme);
        self.front.screen.set_theme(self.look.theme);
        self.say_line(&keep_theme(&self.place.book, theme, self.look.language));
    }

    fn columns(&self) -> usize {
        self.look.style(Sink::Output).width
    }
}

/// Returns what was said of a document that was written.
fn exported(path: &Path, language: Language) -> String {
    let file = path.to_string_lossy();
    Text::Exported.say(language, &[("file", &visible(&file))])
}

/// Returns the commands that work here: a terminal that can only print has no clipboard.
fn help(language: Language, has_clipboard: bool) -> String {
    let mut said = String::new();
    for command in COMMANDS.iter().filter(|command| has_clipboard || command.act != Act::Copy) {
        let about = match command.act {
            Act::Transcript => Text::TranscriptLinesCommand,
            _ => command.about,
        };
        said.push_str(&format!("{:<NAME_COLUMNS$}{}\n", command.name, about.template(language)));
    }
    said + Text::HelpKeys.template(language) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_works_is_named_once_in_the_help() {
        for language in [Language::English, Language::Chinese] {
            for has_clipboard in [true, false] {
                let help = help(language, has_clipboard);
                for command in COMMANDS {
                    let begins = format!("{} ", command.name);
                    let count = help.lines().filter(|line| line.starts_with(&begins)).count();
                    let works = has_clipboard || command.act != Act::Copy;
                    assert_eq!(count, usize::from(works), "{}", command.name);
                }
            }
        }
    }
}
