//! Policy: whether a call runs, is asked about, or does not run. Pure: values in, a value out.
//!
//! Deny comes before ask, ask before allow. The built-in denials cannot be lifted; the built-in
//! questions are lifted by a rule of the user's that names the command. This is a courtesy to
//! people, not a wall: what a command may touch is held by the kernel.

mod action;
mod builtin;
mod call;
mod forbidden;
mod found;
mod leaves;
mod named_places;
mod outside;
mod parts;
mod places;
mod rule;
mod run;
pub(crate) mod shell;
#[cfg(test)]
mod tests;
mod written;

use std::time::Duration;

use tenon_sandbox::{Access, HostRule, NetworkEvent, NetworkOutcome, Refusal};

pub use action::{Action, OutsidePlace};
pub(crate) use call::{ApprovedCall, Judged, ProposedCall, judge};
pub(crate) use forbidden::Denials;
pub use leaves::{Kept, Leaves};
pub(crate) use named_places::named_places;
pub use parts::CommandPart;
pub use places::Places;
pub(crate) use places::{Target, in_one_line};
pub use rule::{Origin, Rule, RuleError, Rules, Verdict};
pub(crate) use shell::WriteKind;
pub(crate) use written::{NamedWrite, named_writes};

/// How much is asked.
///
/// ```
/// use tenon_agent::{Action, Mode, Places, Rules, Verdict, decide};
///
/// let write = Action::Write { path: "a.txt".into(), written: None, protected: false };
/// for (mode, verdict) in [
///     (Mode::ReadOnly, Verdict::Deny),
///     (Mode::Ask, Verdict::Ask),
///     (Mode::Auto, Verdict::Allow),
/// ] {
///     let decision = decide("write_file", &write, &Rules::default(), mode, &Places::default());
///     assert_eq!(decision.verdict, verdict);
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Nothing is written and only commands that read are run.
    ReadOnly,
    /// Every write and every command is asked about.
    Ask,
    /// Free inside the workspace.
    #[default]
    Auto,
}

/// What is done with a call, and why.
///
/// ```
/// use tenon_agent::{Action, Mode, Places, Rules, decide};
///
/// let places = Places { roots: vec!["/work".into()], cwd: "/work".into(), ..Places::default() };
/// let write = Action::Write { path: "notes.md".into(), written: None, protected: false };
/// let decision = decide("write_file", &write, &Rules::default(), Mode::Ask, &places);
/// assert_eq!(decision.rule, "mode: ask");
/// assert_eq!(decision.flag.as_deref(), Some("--allow 'write_file(notes.md)'"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it runs.
    pub verdict: Verdict,
    /// One sentence for people and the model.
    pub reason: String,
    /// The rule that decided, as text: `built-in: forced git`, `bash(git push:*)`, `mode: auto`.
    pub rule: String,
    /// What to give on the command line so that the same call is allowed, if anything is.
    pub flag: Option<String>,
    /// With these rules the same call is allowed until the session ends. Empty if one of them would
    /// allow a whole tool, which nobody should do in passing.
    pub lifted_by: Vec<Rule>,
    /// The one rule with which it is always allowed, if one rule alone speaks for the call.
    pub always: Option<Kept>,
    /// What would leave the walls if it is allowed.
    pub leaves: Option<Leaves>,
    /// The command line runs outside the walls if it runs; said to the person who is asked.
    pub unconfined: bool,
    /// The simple commands of a line that is asked about, in the order of the text.
    pub parts: Vec<CommandPart>,
}

impl Decision {
    fn new(verdict: Verdict, rule: impl Into<String>, reason: impl Into<String>) -> Decision {
        let (rule, reason) = (rule.into(), reason.into());
        Decision {
            verdict,
            reason,
            rule,
            flag: None,
            lifted_by: Vec::new(),
            always: None,
            leaves: None,
            unconfined: false,
            parts: Vec::new(),
        }
    }

    /// The decision on a host that no rule of the walls allows, as an event says, or on all that
    /// belong together under the name `preset`.
    pub(crate) fn on_host(
        (event, host): (&NetworkEvent, &HostRule),
        preset: Option<&str>,
    ) -> Decision {
        let (name, host) = (&event.host, host.to_string());
        let is_near = matches!(
            &event.outcome,
            NetworkOutcome::Refused(Refusal::NotPublic { address }) if *name != address.to_string()
        );
        let reason = match preset {
            _ if is_near => format!("{name} leads to it, which is no address of the internet"),
            Some(_) => format!("a command tried to reach {host}, and no rule allows it"),
            None => "a command tried to reach it, and no rule allows it".to_owned(),
        };
        let name = preset.map_or(host, str::to_owned);
        // What else is in a host means nothing to a shell.
        let word = if name.contains(['*', '[']) { quoted(&name) } else { name.clone() };
        Decision {
            flag: Some(format!("--net {word}")),
            always: Some(Kept::Net(name)),
            leaves: Some(Leaves::Host),
            ..Decision::new(Verdict::Ask, "walls: network", reason)
        }
    }

    /// The decision on a command that ran for `after` and did not end.
    pub(crate) fn on_overtime(after: Duration) -> Decision {
        let reason = format!("it did not end within {} s", after.as_secs());
        Decision::new(Verdict::Ask, "limit: time", reason)
    }

    /// The denial of read-only mode; `freer` is what is decided without that mode.
    fn in_read_only_mode(reason: &str, freer: Decision) -> Decision {
        let flag = match (freer.verdict, freer.flag) {
            (Verdict::Allow, _) => Some("--mode auto".to_owned()),
            (Verdict::Ask, Some(flag)) => Some(format!("--mode auto {flag}")),
            (Verdict::Ask, None) | (Verdict::Deny, _) => None,
        };
        Decision { flag, ..Decision::new(Verdict::Deny, Mode::ReadOnly.rule(), reason) }
    }

    /// The same for what no rule allows at present, and why.
    pub(crate) fn asked_whatever_rules_say(self, why: &str) -> Decision {
        let reason = format!("{}; {why}; no rule can allow that", self.reason);
        let (flag, lifted_by, always) = (None, Vec::new(), None);
        Decision { verdict: Verdict::Ask, reason, flag, lifted_by, always, ..self }
    }

    /// Returns the sentence that says what would allow it, with a blank in front; empty if nothing
    /// would.
    pub(crate) fn how_to_allow(&self) -> String {
        let flag = self.flag.as_deref();
        flag.map(|flag| format!(" The user can allow it with {flag}.")).unwrap_or_default()
    }

    fn with_flag(self, rules: &[Rule]) -> Decision {
        let flags: Vec<_> =
            rules.iter().map(|rule| format!("--allow {}", quoted(&rule.to_string()))).collect();
        let flag = (!flags.is_empty()).then(|| flags.join(" "));
        let narrow = rules.iter().all(|rule| !rule.is_sweeping());
        let lifted_by = if narrow { rules.to_vec() } else { Vec::new() };
        let always = match lifted_by.as_slice() {
            [rule] => Kept::rule(rule),
            _ => None,
        };
        Decision { flag, lifted_by, always, ..self }
    }

    /// The same with a rule that speaks of this very path wherever it is used: relative ones speak
    /// of every workspace.
    fn with_path(self, access: Access, path: &str) -> Decision {
        let rule = Rule::exact_path(access, path, false);
        let always = rule.as_ref().and_then(Kept::rule);
        Decision { lifted_by: rule.into_iter().collect(), always, ..self }
    }
}

/// Decides what is done with a call of `tool`.
///
/// ```
/// use tenon_agent::{Action, Mode, Origin, Places, Rule, Rules, Verdict, decide};
///
/// let places = Places { roots: vec!["/work".into()], cwd: "/work".into(), ..Places::default() };
/// let rule = Rule::parse("bash(cargo test:*)", Verdict::Allow, Origin::Config)?;
/// let rules: Rules = [rule].into_iter().collect();
/// let verdict = |command: &str| {
///     let action = Action::Run { command: command.into() };
///     decide("bash", &action, &rules, Mode::Ask, &places).verdict
/// };
/// assert_eq!(verdict("cargo test --workspace"), Verdict::Allow);
/// assert_eq!(verdict("cargo test && cargo publish"), Verdict::Ask);
/// assert_eq!(verdict("rm -rf /"), Verdict::Deny);
/// # Ok::<(), tenon_agent::RuleError>(())
/// ```
pub fn decide(tool: &str, action: &Action, rules: &Rules, mode: Mode, places: &Places) -> Decision {
    decide_by_names(tool, action, rules, mode, places, &|_| None)
}

/// Returns all names in a folder, given from `/` on, if they are known.
pub(crate) type Names<'a> = dyn Fn(&str) -> Option<Vec<String>> + 'a;

/// Decides the same where it can be looked up what a pattern of a command stands for: `names` returns all names in
/// a folder, given from `/` on, if they are known. Nobody is asked for a rule that speaks of none of the files that
/// are there.
///
/// ```
/// use tenon_agent::{Action, Mode, Origin, Places, Rule, Rules, Verdict, decide_by_names};
///
/// let places = Places { roots: vec!["/work".into()], cwd: "/work".into(), ..Places::default() };
/// let rule = Rule::parse("write(src/a)", Verdict::Deny, Origin::Config)?;
/// let rules: Rules = [rule].into_iter().collect();
/// let action = Action::Run { command: "cp lib/* src/".into() };
/// let verdict = |names: &[&str]| {
///     let names = |folder: &str| {
///         (folder == "/work/lib").then(|| names.iter().map(|name| name.to_string()).collect())
///     };
///     decide_by_names("bash", &action, &rules, Mode::Auto, &places, &names).verdict
/// };
/// assert_eq!(verdict(&["x", "y"]), Verdict::Allow);
/// assert_eq!(verdict(&["x", "a"]), Verdict::Ask);
/// # Ok::<(), tenon_agent::RuleError>(())
/// ```
pub fn decide_by_names(
    tool: &str,
    action: &Action,
    rules: &Rules,
    mode: Mode,
    places: &Places,
    names: &dyn Fn(&str) -> Option<Vec<String>>,
) -> Decision {
    if let Action::Run { command } = action {
        return run::decide(tool, command, rules, mode, (places, names));
    }
    if let Action::Outside(place) = action {
        return outside::decide(tool, place, rules, mode, places);
    }
    let access = match action {
        Action::Read { .. } => Some(Access::Read),
        Action::Write { .. } => Some(Access::Write),
        Action::Outside(_) | Action::Run { .. } | Action::Other { .. } => None,
    };
    let touches = |rule: &&Rule| {
        (rule.is_for(tool) || access.is_some_and(|access| rule.is_for_access(access)))
            && match action {
                Action::Read { paths } if paths.is_empty() => rule.is_sweeping(),
                Action::Read { paths } if rule.verdict() == Verdict::Allow => {
                    paths.iter().all(|path| rule.matches_path(path, places))
                }
                Action::Read { paths } => paths.iter().any(|path| rule.matches_path(path, places)),
                Action::Write { path, written, .. } => {
                    let is_strict = rule.verdict() != Verdict::Allow;
                    rule.matches_path(path, places)
                        || is_strict
                            && written.as_ref().is_some_and(|it| rule.matches_path(it, places))
                }
                Action::Other { subject } => rule.matches_subject(subject),
                Action::Outside(_) | Action::Run { .. } => false,
            }
    };
    let reads = matches!(action, Action::Read { .. });
    if let Some(rule) = rules.with(Verdict::Deny).find(touches) {
        return by_rule(rule);
    }
    if mode == Mode::ReadOnly && !reads {
        let freer = decide(tool, action, rules, Mode::Auto, places);
        return Decision::in_read_only_mode("nothing is changed in read-only mode", freer);
    }
    if let Some(rule) = rules.with(Verdict::Ask).find(touches) {
        return by_rule(rule);
    }
    let protected = matches!(action, Action::Write { protected: true, .. });
    let lifts = |rule: &&Rule| touches(rule) && (!protected || rule.names_a_file());
    if let Some(rule) = rules.with(Verdict::Allow).find(lifts) {
        return by_rule(rule);
    }
    let flags = || match action {
        Action::Write { path, .. } => Rule::exact_name(tool, path, places).into_iter().collect(),
        Action::Other { subject } => vec![Rule::for_glob(tool, subject)],
        Action::Read { .. } | Action::Outside(_) | Action::Run { .. } => vec![Rule::for_tool(tool)],
    };
    if let Action::Write { path, written, protected: true } = action {
        let decision = about_protected(path, written.as_deref(), &flags());
        return decision.with_path(Access::Write, &places.absolute(path));
    }
    if mode == Mode::Ask && !reads {
        let reason = "every change is asked about in ask mode";
        let mut flags = flags();
        if flags.is_empty() {
            // No rule can say such a name exactly.
            flags.push(Rule::for_tool(tool));
        }
        let decision = Decision::new(Verdict::Ask, mode.rule(), reason).with_flag(&flags);
        return match action {
            Action::Write { path, .. } => decision.with_path(Access::Write, &places.absolute(path)),
            _ => decision,
        };
    }
    Decision::new(Verdict::Allow, mode.rule(), "nothing in it needs a question")
}

/// Asks about a write of a protected file, which a rule can allow by these flags.
fn about_protected(path: &str, written: Option<&str>, flags: &[Rule]) -> Decision {
    let mut reason =
        format!("writing `{}` can make other programs run code later", in_one_line(path));
    if let Some(written) = written {
        reason.push_str(&format!("; the model named it `{}`", in_one_line(written)));
    }
    if flags.is_empty() {
        reason.push_str("; no rule can say its name");
    }
    let decision = Decision::new(Verdict::Ask, "built-in: protected file", reason);
    Decision { leaves: Some(Leaves::ProtectedFile), ..decision.with_flag(flags) }
}

fn by_rule(rule: &Rule) -> Decision {
    let reason = match (rule.verdict(), rule.origin()) {
        (Verdict::Allow, _) => format!("the rule {rule} allows it"),
        (Verdict::Ask, _) => format!("the rule {rule} asks about it"),
        (Verdict::Deny, Origin::CommandLine) => format!("--deny {rule} forbids it"),
        (Verdict::Deny, Origin::Config) => format!("the rule {rule} forbids it"),
    };
    Decision::new(rule.verdict(), rule.to_string(), reason)
}

impl Mode {
    /// What stands for a rule where the mode decided.
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Mode::ReadOnly => "mode: read-only",
            Mode::Ask => "mode: ask",
            Mode::Auto => "mode: auto",
        }
    }
}

/// Returns the text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
