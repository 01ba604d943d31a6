//! What a call would touch, known before it runs.

/// What a tool call would do, in the terms that rules speak of.
///
/// ```
/// use tenon_agent::{Action, Mode, Places, Rules, decide};
///
/// let action = Action::Write { path: ".git/hooks/pre-commit".into(), protected: true };
/// let decision = decide("write_file", &action, &Rules::default(), Mode::Auto, &Places::default());
/// assert_eq!(decision.rule, "built-in: protected file");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It reads files, or searches beneath folders.
    Read {
        /// The paths as the model wrote them.
        paths: Vec<String>,
    },
    /// It creates or changes a file.
    Write {
        /// The path as the model wrote it.
        path: String,
        /// Writing there may run code later (git hooks, editor tasks); decided by the workspace on
        /// the resolved folder, never on this text.
        protected: bool,
    },
    /// It runs a bash command line.
    Run {
        /// The command line as the model wrote it.
        command: String,
    },
    /// It does what only the tool knows.
    Other {
        /// The main argument, for rules and for people.
        subject: String,
    },
}
