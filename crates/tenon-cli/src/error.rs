//! What can go wrong in the program, as a kind, a sentence and hints; and the exit codes.
//!
//! Its sentences are rows of the table of texts, said in the language of whoever reads them; what the
//! operating system says stays as it is.

use std::{error::Error, fmt, io, process::ExitCode};

use tenon_agent::LogError;
use tenon_model::visible;

use crate::{
    masked::masked,
    texts::{Language, Sentence, Text, translated},
};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// What was asked for was done.
    Finished = 0,
    /// The task ended otherwise: refused, a limit, a failure.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// The walls that were asked for cannot be had.
    NoWalls = 3,
    /// Somebody interrupted it.
    Interrupted = 130,
}

/// An error of the program.
#[derive(Debug)]
pub(crate) struct CliError {
    status: ExitStatus,
    message: Sentence,
    hints: Vec<Sentence>,
    source: Option<Box<dyn Error + Send + Sync>>,
    /// Nobody reads what is printed any more, so nothing more is said.
    silent: bool,
}

impl CliError {
    /// Returns an error about the command line.
    pub(crate) fn usage(message: impl Into<Sentence>) -> Self {
        Self::new(ExitStatus::Usage, message)
    }

    /// Returns an error about the configuration.
    pub(crate) fn config(message: impl Into<Sentence>) -> Self {
        Self::new(ExitStatus::Usage, message)
    }

    /// Returns an error about walls that were asked for.
    pub(crate) fn no_walls(message: impl Into<Sentence>) -> Self {
        Self::new(ExitStatus::NoWalls, message)
    }

    /// Returns an error about what was tried.
    pub(crate) fn failed(message: impl Into<Sentence>) -> Self {
        Self::new(ExitStatus::Failed, message)
    }

    /// Adds what to do about it.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<Sentence>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Says `other` in the place of a hint, where what that names is not to be had.
    #[must_use]
    pub(crate) fn with_hint_instead(mut self, of: Text, other: Text) -> Self {
        for hint in self.hints.iter_mut().filter(|hint| hint.is(of)) {
            *hint = other.into();
        }
        self
    }

    /// Keeps what caused it; its words are printed after a colon.
    #[must_use]
    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the exit code's meaning.
    pub(crate) fn status(&self) -> ExitStatus {
        self.status
    }

    /// Returns the error of a session that cannot be kept, if it is one.
    pub(crate) fn log_unwritable(&self) -> Option<&LogError> {
        self.source.as_deref()?.downcast_ref().filter(|error: &&LogError| error.is_unwritable())
    }

    /// Prints it to standard error, unless nobody listens.
    pub(crate) fn report(&self, language: Language) {
        if !self.silent {
            // An error that cannot be written cannot be reported either.
            let _ = io::Write::write_all(&mut io::stderr().lock(), self.text(language).as_bytes());
        }
    }

    fn new(status: ExitStatus, message: impl Into<Sentence>) -> Self {
        Self { status, message: message.into(), hints: Vec::new(), source: None, silent: false }
    }

    /// Returns its sentence, without causes and hints.
    pub(crate) fn sentence(&self, language: Language) -> String {
        self.message.say(language)
    }

    /// Gives its sentence, without causes and hints.
    pub(crate) fn into_sentence(self) -> Sentence {
        self.message
    }

    /// Returns its sentence with the causes behind it.
    pub(crate) fn told(&self, language: Language) -> String {
        let mut told = self.sentence(language);
        let mut cause = self.source.as_deref().map(|source| source as &dyn Error);
        while let Some(error) = cause {
            let words = error.to_string();
            // Some errors say themselves what caused them.
            if !told.ends_with(&words) {
                let more = translated(&words, language);
                told = Text::WithMore.say(language, &[("said", &told), ("more", &more)]);
            }
            cause = error.source();
        }
        told
    }

    /// Returns what to do about it first, if that is known.
    pub(crate) fn hint(&self, language: Language) -> Option<String> {
        self.hints.first().map(|hint| hint.say(language))
    }

    /// Returns it as it is printed.
    pub(crate) fn text(&self, language: Language) -> String {
        self.text_with(&self.hints, language)
    }

    /// Returns it as a session prints it: its hints name what can be typed there.
    pub(crate) fn text_in_session(&self, language: Language) -> String {
        let hints: Vec<Sentence> = self.hints.iter().map(Sentence::in_session).collect();
        self.text_with(&hints, language)
    }

    fn text_with(&self, hints: &[Sentence], language: Language) -> String {
        let [label, hint_label] =
            [Text::ErrorLabel, Text::Hint].map(|label| label.template(language));
        let mut text = format!("{label} {}\n", self.told(language));
        for hint in hints {
            text.push_str(&format!("{hint_label} {}\n", hint.say(language)));
        }
        // Paths and servers' words are in it.
        visible(&masked(text)).into_owned()
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence(Language::English))
    }
}

impl Error for CliError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl From<io::Error> for CliError {
    /// An error of standard output: a reader that has seen enough is no failure.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { silent: true, ..Self::new(ExitStatus::Finished, "nobody reads") };
        }
        Self::failed(Text::OutputUnwritable).with_source(error)
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

impl From<LogError> for CliError {
    fn from(error: LogError) -> Self {
        let session = error.broken_session().map(str::to_owned);
        match session {
            Some(id) => Self::failed(Text::LogBroken)
                .with_source(error)
                .with_hint(Text::HintLogBroken.with(&[("id", &id)])),
            None => Self::failed(Text::LogNotKept).with_source(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_sentence_its_causes_and_hints() {
        let error = CliError::config("cannot read a\u{1b}[31m.toml")
            .with_source(io::Error::other("broken"))
            .with_hint("mend it");
        let english = "error: cannot read a␛[31m.toml: broken\nhint: mend it\n";
        assert_eq!(error.text(Language::English), english);
        assert_eq!(error.status() as u8, 2);
    }

    #[test]
    fn an_error_of_the_table_is_said_in_the_language_of_the_session() {
        let error = CliError::usage(Text::NoSuchSession.with(&[("wanted", &"a{b}")]))
            .with_hint(Text::HintSessionIds);
        let chinese = "错误： 没有会话 `a{b}`\n建议： `tenon sessions` 列出会话编号\n";
        assert_eq!(error.text(Language::Chinese), chinese);
        assert_eq!(error.to_string(), "there is no session `a{b}`");
    }

    #[test]
    fn a_cause_is_said_once_and_in_the_language_of_the_session() {
        let gone = std::path::Path::new("/nonexistent/a");
        let error = tenon_sandbox::Workspace::open(gone).err().unwrap();
        let error = CliError::usage(Text::WorkspaceUnopened).with_source(error);
        let chinese = "错误： 无法打开工作区：没有这个文件或文件夹：/nonexistent/a\n";
        assert_eq!(error.text(Language::Chinese), chinese);
        let english =
            "error: the workspace cannot be opened: No such file or directory: /nonexistent/a\n";
        assert_eq!(error.text(Language::English), english);
    }

    #[test]
    fn a_closed_pipe_is_the_quiet_end_of_the_program() {
        let error = CliError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(error.silent && error.status() == ExitStatus::Finished);
    }
}
