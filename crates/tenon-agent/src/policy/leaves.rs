//! What leaves the walls and is asked about by name, and the rule that a person's "always" leaves
//! behind.

use std::fmt;

use tenon_sandbox::Access;

use super::{places::is_plain, rule::Rule};

/// The longest rule that is kept, in bytes: what nobody reads to its end is not agreed to for ever.
const KEPT_BYTES_MAX: usize = 500;

/// What leaves the walls if a call is allowed.
///
/// ```
/// use tenon_agent::{Action, Leaves, Mode, Places, Rules, decide};
///
/// let action = Action::Run { command: "sudo systemctl restart nginx".into() };
/// let decision = decide("bash", &action, &Rules::default(), Mode::Auto, &Places::default());
/// assert_eq!(decision.leaves, Some(Leaves::Command));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// A connection to a host.
    Host,
    /// A file tool that opens a path outside of the workspace, or in it what is not opened with it.
    Path {
        /// What is done there.
        access: Access,
        /// Everything in a folder is looked at.
        is_folder: bool,
        /// It lies in the workspace, where programs keep secrets.
        within: bool,
    },
    /// A write to a file that other programs take commands from.
    ProtectedFile,
    /// A command line that runs outside of the walls.
    Command,
}

/// A rule that holds beyond the session once the program has kept it.
///
/// Whoever answers [`Answer::AllowAlways`](crate::Answer::AllowAlways) has written it down before:
///
/// ```
/// use tenon_agent::{Action, Mode, Places, Rules, decide};
///
/// let action = Action::Run { command: "sudo systemctl restart nginx".into() };
/// let decision = decide("bash", &action, &Rules::default(), Mode::Auto, &Places::default());
/// let kept = decision.always.ok_or("one rule speaks for it")?;
/// assert_eq!(kept.setting(), "allow");
/// assert_eq!(kept.to_string(), "bash(sudo systemctl restart nginx)");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// A permission.
    Allow(Rule),
    /// A host that commands reach.
    Net(String),
}

impl Kept {
    /// Returns the rule as one to keep, unless it says too much or could be misread.
    pub(crate) fn rule(rule: &Rule) -> Option<Kept> {
        let text = rule.to_string();
        let fits = text.len() <= KEPT_BYTES_MAX && is_plain(&text) && !rule.is_sweeping();
        fits.then(|| Kept::Allow(rule.clone()))
    }

    /// Returns the list that it belongs into: `allow` or `net`.
    ///
    /// ```
    /// assert_eq!(tenon_agent::Kept::Net("example.com".into()).setting(), "net");
    /// ```
    pub fn setting(&self) -> &'static str {
        match self {
            Kept::Allow(_) => "allow",
            Kept::Net(_) => "net",
        }
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kept::Allow(rule) => rule.fmt(formatter),
            Kept::Net(host) => formatter.write_str(host),
        }
    }
}
