//! What a call would touch, known before it runs.

use tenon_sandbox::Access;

/// What a tool call would do, in the terms that rules speak of.
///
/// ```
/// use tenon_agent::{Action, Mode, Places, Rules, decide};
///
/// let action = Action::Write { path: ".git/hooks/pre-commit".into(), written: None, protected: true };
/// let decision = decide("write_file", &action, &Rules::default(), Mode::Auto, &Places::default());
/// assert_eq!(decision.rule, "built-in: protected file");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It reads files, or searches beneath folders.
    Read {
        /// The paths as the model wrote them, and where links in the workspace lead from there.
        paths: Vec<String>,
    },
    /// It creates or changes a file.
    Write {
        /// Where it leads, links in the workspace resolved.
        path: String,
        /// The path as the model wrote it, if that is another place by its names. What is denied or
        /// asked about is so by either; only `path` allows.
        written: Option<String>,
        /// Writing there may run code later (git hooks, editor tasks); decided by the workspace on
        /// the resolved folder, never on this text.
        protected: bool,
    },
    /// It reads or writes outside of the workspace, or in it what is not opened with it.
    Outside(OutsidePlace),
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

/// Where a call would leave the workspace.
///
/// No rule for a tool lets it; one with the name of the place does:
///
/// ```
/// use tenon_agent::{Action, Mode, Origin, OutsidePlace, Places, Rule, Rules, Verdict, decide};
/// use tenon_sandbox::Access;
///
/// let place = OutsidePlace {
///     written: "../../../etc/hosts".into(),
///     path: "/etc/hosts".into(),
///     access: Access::Read,
///     is_folder: false,
///     protected: false,
///     within: false,
///     closed: None,
/// };
/// let verdict = |rule: &str| {
///     let rules = Rule::parse(rule, Verdict::Allow, Origin::Config).into_iter().collect::<Rules>();
///     let action = Action::Outside(place.clone());
///     decide("read_file", &action, &rules, Mode::Auto, &Places::default()).verdict
/// };
/// assert_eq!(verdict("read_file"), Verdict::Ask);
/// assert_eq!(verdict("read(/etc/hosts)"), Verdict::Allow);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsidePlace {
    /// The path as the model wrote it.
    pub written: String,
    /// Where it leads: absolute, every link resolved.
    pub path: String,
    /// What is done there.
    pub access: Access,
    /// It is a folder, and everything in it would be looked at.
    pub is_folder: bool,
    /// Other programs take commands from it.
    pub protected: bool,
    /// It lies in the workspace, where programs keep secrets, or what is tenon's own.
    pub within: bool,
    /// Why nobody may open it, as the end of a sentence.
    pub closed: Option<String>,
}
