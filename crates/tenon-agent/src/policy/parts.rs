//! The parts of a command line, for the person who is asked about it: a long line is read part by
//! part, and the part that the question is about is marked. Says nothing that decides anything.

use super::builtin::Finding;
use super::rule::{Rule, Rules, Verdict};
use super::shell::{Parsed, Redirect, RedirectKind, SimpleCommand, Word};
use super::written::{open_writes, touches_writes};
use super::{Mode, Places, quoted};

/// Parts that are kept of one line, of those that the question is about and of others each; nobody
/// reads more.
const PARTS_MAX: usize = 100;
/// Levels of launchers (`sudo env sh -c …`) that are told apart.
const LEVEL_MAX: usize = 8;

/// One simple command of a command line that is asked about, as it was read.
///
/// ```
/// use tenon_agent::{Action, Mode, Places, Rules, decide};
///
/// let action = Action::Run { command: "cd app && git reset --hard".into() };
/// let decision = decide("bash", &action, &Rules::default(), Mode::Auto, &Places::default());
/// let parts: Vec<_> =
///     decision.parts.iter().map(|part| (part.text.as_str(), part.is_asked_about)).collect();
/// assert_eq!(parts, [("cd app", false), ("git reset --hard", true)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPart {
    /// Its words, with assignments in front and redirects behind; what is only known when it runs
    /// is `…`.
    pub text: String,
    /// How many commands of the line start it (`sh -c`, `env`, `xargs`); 0 for the line itself.
    pub level: usize,
    /// Whether the question is about this part.
    pub is_asked_about: bool,
}

/// Says whether the command at a place is why it is asked.
type Reason<'a> = &'a dyn Fn(usize, &SimpleCommand) -> bool;

/// Returns the parts of a line that is asked about; none if it could not be read for sure.
pub(super) fn parts(
    parsed: &Parsed,
    findings: &[Finding],
    tool: &str,
    rules: &Rules,
    mode: Mode,
    places: &Places,
) -> Vec<CommandPart> {
    if parsed.doubt.is_some() {
        return Vec::new();
    }
    let allows =
        |command: &SimpleCommand| allowing(tool, rules).any(|rule| rule.allows_command(command));
    let found = |place: usize, command: &SimpleCommand| {
        findings.iter().any(|finding| finding.command == place) && !allows(command)
    };
    let ruled = |_: usize, command: &SimpleCommand| {
        let touches = |rule: &Rule| rule.is_for(tool) && rule.touches_command(command);
        let mut asks = rules.with(Verdict::Ask);
        asks.any(|rule| touches(rule) || touches_writes(rule, command, places))
    };
    let writes = |command: &SimpleCommand| !open_writes(command, rules, places).is_empty();
    let uncovered = |_: usize, command: &SimpleCommand| {
        mode == Mode::Ask && (!allows(command) || writes(command))
    };
    // The first of these that speaks of any part is why it is asked.
    let reasons: [Reason<'_>; 3] = [&found, &ruled, &uncovered];
    let commands = || parsed.commands.iter().enumerate().filter(|(_, command)| !command.is_moot);
    let reason = reasons
        .into_iter()
        .find(|reason| commands().any(|(place, command)| reason(place, command)));
    let (mut asked_about, mut others) = (PARTS_MAX, PARTS_MAX);
    let has_room = |part: &CommandPart| {
        let left = if part.is_asked_about { &mut asked_about } else { &mut others };
        let has_room = *left > 0;
        *left = left.saturating_sub(1);
        has_room
    };
    commands()
        .map(|(place, command)| CommandPart {
            text: text(command),
            level: level(parsed, command),
            is_asked_about: reason.is_some_and(|reason| reason(place, command)),
        })
        .filter(|part| !part.text.is_empty())
        .filter(has_room)
        .collect()
}

fn allowing<'a>(tool: &'a str, rules: &'a Rules) -> impl Iterator<Item = &'a Rule> {
    rules.with(Verdict::Allow).filter(move |rule| rule.is_for(tool))
}

fn level(parsed: &Parsed, command: &SimpleCommand) -> usize {
    let outer =
        |command: &SimpleCommand| command.launched_by.and_then(|place| parsed.commands.get(place));
    std::iter::successors(outer(command), |command| outer(command)).take(LEVEL_MAX).count()
}

fn text(command: &SimpleCommand) -> String {
    let set = command.assignments.iter().map(|(name, value)| format!("{name}={}", word(value)));
    let words = command.words.iter().map(word);
    let redirects = command.redirects.iter().filter_map(redirect);
    set.chain(words).chain(redirects).collect::<Vec<_>>().join(" ")
}

fn redirect(redirect: &Redirect) -> Option<String> {
    let sign = match redirect.kind {
        RedirectKind::Read => "<",
        RedirectKind::Write => ">",
        RedirectKind::Descriptor | RedirectKind::Text => return None,
    };
    Some(format!("{sign} {}", word(&redirect.target)))
}

/// Returns a word in the quotes that it needs.
fn word(word: &Word) -> String {
    let is_plain = |text: &str| {
        let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%^~".contains(c);
        !text.is_empty() && text.chars().all(plain)
    };
    match word.literal() {
        Some(text) if !is_plain(text) => quoted(text),
        _ => word.shown(),
    }
}
