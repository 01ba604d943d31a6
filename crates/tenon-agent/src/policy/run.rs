//! The decision on a command line: every simple command in it is judged, the worst one counts.

use tenon_model::visible;
use tenon_sandbox::Access;

use super::builtin::{self, Finding};
use super::found::found;
use super::places::{Places, Target, in_one_line, is_plain};
use super::rule::{Rule, Rules, Verdict};
use super::shell::{self, Launches, Parsed, Redirect, RedirectKind, SimpleCommand, launch};
use super::written::{
    changes_ways, is_for_writing, may_be_file, may_touch_writes, open_writes, touches_writes,
    writes_by_links, written,
};
use super::{Decision, Kept, Leaves, Mode, Names, by_rule, parts};

/// Why there is no rule for some lines.
const NO_RULE: &str = "no rule can allow it: only plain commands that must leave the walls, each of which a rule names, \
                       do so without a question; what need not runs inside them in a call of its own";

/// Commands that do the same within the walls and outside, and may stand in a line that leaves them.
const ANYWHERE: &[&str] =
    &[":", "[", "cd", "echo", "exit", "false", "printf", "pwd", "sleep", "test", "true"];

/// Why rules that name its commands do not allow a line in the mode `ask`.
const CHOOSES: &str = "it sets a variable that may choose what runs";
const WRITES_ELSEWHERE: &str =
    "it writes outside of the workspace, or where is only known when it runs";

/// Why a rule may speak of a line.
const UNKNOWN_WORDS: &str = "not all of its words are known";
const FILE_OR_BRANCH: &str = "what it checks out may be a branch or a file (`git switch` takes only branches, `--` says which it is)";

pub(super) fn decide(
    tool: &str,
    command: &str,
    rules: &Rules,
    mode: Mode,
    (places, names): (&Places, &Names<'_>),
) -> Decision {
    let parsed = shell::parse(command);
    let plain =
        changes_ways(&parsed, places).then(|| Places { ways: Vec::new(), ..places.clone() });
    let places = plain.as_ref().unwrap_or(places);
    let findings = builtin::findings(&parsed, places);
    let decision = judged(tool, &parsed, &findings, rules, mode, (places, names));
    let parts = match decision.verdict {
        Verdict::Ask => parts::parts(&parsed, &findings, tool, rules, mode, places),
        Verdict::Allow | Verdict::Deny => Vec::new(),
    };
    Decision { parts, ..decision }
}

fn judged(
    tool: &str,
    parsed: &Parsed,
    findings: &[Finding],
    rules: &Rules,
    mode: Mode,
    (places, names): (&Places, &Names<'_>),
) -> Decision {
    if let Some(finding) = findings.iter().find(|finding| finding.verdict == Verdict::Deny) {
        return built_in(finding);
    }
    let denies = |rule: &&Rule| touches(rule, tool, parsed.commands.iter(), places);
    if let Some(rule) = rules.with(Verdict::Deny).find(denies) {
        return by_rule(rule);
    }
    if mode == Mode::ReadOnly && !shell::only_reads(parsed) {
        let freer = judged(tool, parsed, findings, rules, Mode::Auto, (places, names));
        let reason = "only commands that surely read are run in read-only mode";
        return Decision::in_read_only_mode(reason, freer);
    }
    // A part that was not read may have any words, and so may what is only known when it runs.
    let is_open = parsed.doubt.is_some() || running(parsed).any(builtin::is_hidden);
    let may_be = |rule: &&Rule| {
        is_open && (rule.is_for(tool) || is_for_writing(rule))
            || rule.is_for(tool)
                && (running(parsed).any(|one| rule.may_touch_command(one))
                    || parsed.perhaps.iter().any(|words| rule.may_be_meant(words)))
            || running(parsed).any(|one| {
                may_touch_writes(rule, one, places)
                    && found(one, parsed, (places, names)).is_none_or(|one| {
                        touches_writes(rule, &one, places) || may_touch_writes(rule, &one, places)
                    })
            })
            || is_for_writing(rule) && writes_by_links(parsed, places)
    };
    if let Some(rule) = rules.with(Verdict::Deny).find(may_be) {
        let names_branch = || running(parsed).any(|one| may_be_file(rule, one, places));
        let why = if is_open || !names_branch() { UNKNOWN_WORDS } else { FILE_OR_BRANCH };
        let reason = format!("the rule {rule} may forbid it: {why}; no rule can allow that");
        return Decision::new(Verdict::Ask, rule.to_string(), reason);
    }
    let asks = |rule: &&Rule| touches(rule, tool, running(parsed), places);
    if let Some(rule) = rules.with(Verdict::Ask).find(asks) {
        return by_rule(rule);
    }
    if let Some(rule) = rules.with(Verdict::Ask).find(may_be) {
        let reason = format!("the rule {rule} may ask about it: {UNKNOWN_WORDS}");
        return Decision::new(Verdict::Ask, rule.to_string(), reason);
    }
    let allows: Vec<_> = rules.with(Verdict::Allow).filter(|rule| rule.is_for(tool)).collect();
    let sweeping = allows.iter().find(|rule| rule.is_sweeping());
    let unconfined = findings.iter().any(|finding| finding.unconfined);
    if let (Some(doubt), None) = (&parsed.doubt, sweeping) {
        let reason = format!("what it would run is not sure: {doubt}");
        let decision = Decision::new(Verdict::Ask, "built-in: doubtful command", reason);
        return match unconfined {
            true => decision.without_rule(),
            false => decision.with_flag(&[Rule::for_tool(tool)]),
        };
    }
    // Of a line outside the walls rules name every command anyway.
    let asks_each = mode == Mode::Ask && !unconfined;
    let open = if asks_each { open_in_ask_mode(parsed, &allows, rules, places) } else { None };
    asked(parsed, findings, &allows, open.as_ref())
        .or_else(|| open.map(ask_each))
        .unwrap_or_else(|| allowed(parsed, findings, &allows, mode))
}

/// Asks for what the built-in rules found and no rule of the user's allows. The flag is also for
/// what is `also` open, which would be asked about next.
fn asked(
    parsed: &Parsed,
    findings: &[Finding],
    allows: &[&Rule],
    also: Option<&Open>,
) -> Option<Decision> {
    let open: Vec<_> =
        findings.iter().filter(|finding| lifted_by(parsed, finding, allows).is_none()).collect();
    let mut flags = Vec::new();
    for finding in &open {
        let command = parsed.commands.get(finding.command);
        let rule = command.map_or_else(|| Rule::for_tool("bash"), |one| naming(one, finding.words));
        if !flags.contains(&rule) {
            flags.push(rule);
        }
    }
    match findings.iter().find(|finding| finding.unconfined) {
        Some(unconfined) => {
            let first = open.first().copied();
            asked_unconfined(parsed, findings, unconfined, first, flags, allows)
        }
        None => {
            let first = open.first()?;
            let also = also.into_iter().flat_map(|also| &also.flags);
            let also: Vec<_> = also.filter(|rule| !flags.contains(rule)).cloned().collect();
            flags.extend(also);
            Some(built_in(first).with_flag(&flags))
        }
    }
}

/// Asks about a line of which all would run outside the walls, because a part of it must: rules
/// have to name every command in it, and nothing in it may change what the words mean. A rule for what need
/// not leave the walls was given for within them.
fn asked_unconfined(
    parsed: &Parsed,
    findings: &[Finding],
    unconfined: &Finding,
    first: Option<&Finding>,
    mut flags: Vec<Rule>,
    allows: &[&Rule],
) -> Option<Decision> {
    let is_named = |command: &SimpleCommand| {
        allows.iter().any(|rule| rule.allows_command(command) && !rule.is_sweeping())
    };
    let loose: Vec<_> = parsed
        .commands
        .iter()
        .filter(|command| !is_named(command) && !launched_by(parsed, command).any(is_named))
        .collect();
    let is_plain =
        parsed.is_plain && parsed.doubt.is_none() && parsed.commands.iter().all(says_all_by_words);
    let is_plain =
        is_plain && parsed.commands.iter().all(|command| may_go_along(parsed, findings, command));
    if first.is_none() && loose.is_empty() && is_plain {
        return None;
    }
    for command in &loose {
        let is_flagged =
            |command: &SimpleCommand| flags.iter().any(|rule| rule.allows_command(command));
        if is_flagged(command) || launched_by(parsed, command).any(is_flagged) {
            continue;
        }
        flags.push(naming(command, command.words.len().min(2)));
    }
    let decision = match first {
        Some(finding) => built_in(finding),
        None => Decision {
            reason: "all of the line would run outside the walls, not only what a rule names"
                .into(),
            ..built_in(unconfined)
        },
    };
    let solves = is_plain && flags.iter().all(|rule| !rule.is_sweeping());
    let decision = match solves {
        true => decision.with_flag(&flags),
        false => decision.without_rule(),
    };
    let speaks_for = |rule: &Rule| {
        let mut found = findings.iter().filter_map(|finding| parsed.commands.get(finding.command));
        found.all(|command| rule.allows_command(command))
    };
    let exact = exact(parsed).filter(|rule| is_plain && speaks_for(rule));
    let always = exact.as_ref().and_then(Kept::rule);
    Some(Decision {
        lifted_by: exact.into_iter().collect(),
        always,
        leaves: Some(Leaves::Command),
        unconfined: true,
        ..decision
    })
}

/// Says whether a command must leave the walls, is started by one that must, only starts one, or does the same anywhere.
fn may_go_along(parsed: &Parsed, findings: &[Finding], command: &SimpleCommand) -> bool {
    let leaving = || {
        let unconfined = findings.iter().filter(|finding| finding.unconfined);
        unconfined.filter_map(|finding| parsed.commands.get(finding.command))
    };
    let is = |one: &SimpleCommand| std::ptr::eq(one, command);
    let must = |command: &SimpleCommand| leaving().any(|one| std::ptr::eq(one, command));
    let starts_one = || leaving().any(|one| launched_by(parsed, one).any(is));
    must(command)
        || launched_by(parsed, command).any(must)
        || command.program().is_some_and(|name| {
            ANYWHERE.contains(&name) || launch::is_transparent(name) && starts_one()
        })
}

impl Decision {
    /// The same, of a line outside the walls that no rule can allow.
    fn without_rule(self) -> Decision {
        let reason = format!("{}; {NO_RULE}", self.reason);
        Decision { reason, ..self }
    }
}

/// Says whether a rule speaks of one of these commands, or of the files that it writes.
fn touches<'a>(
    rule: &Rule,
    tool: &str,
    mut commands: impl Iterator<Item = &'a SimpleCommand>,
    places: &Places,
) -> bool {
    let is_for = rule.is_for(tool);
    is_for && rule.is_sweeping()
        || commands
            .any(|one| is_for && rule.touches_command(one) || touches_writes(rule, one, places))
}

/// Returns the commands that may run as they were read.
fn running(parsed: &Parsed) -> impl Iterator<Item = &SimpleCommand> {
    parsed.commands.iter().filter(|command| !command.is_moot)
}

/// Returns the commands that start this one, the nearest first.
fn launched_by<'a>(
    parsed: &'a Parsed,
    command: &SimpleCommand,
) -> impl Iterator<Item = &'a SimpleCommand> {
    let outer =
        |command: &SimpleCommand| command.launched_by.and_then(|index| parsed.commands.get(index));
    // A chain is shorter than the commands are many; this bounds one that were a circle.
    std::iter::successors(outer(command), move |command| outer(command)).take(parsed.commands.len())
}

/// Says whether the words of a command are all there is to it: a variable can change which program
/// runs, and a redirect opens a file.
fn says_all_by_words(command: &SimpleCommand) -> bool {
    command.assignments.is_empty()
        && command.redirects.iter().all(|redirect| match redirect.kind {
            RedirectKind::Descriptor => true,
            RedirectKind::Read | RedirectKind::Write => {
                redirect.target.literal() == Some("/dev/null")
            }
            RedirectKind::Text => false,
        })
}

/// Returns the rule for exactly this line, if it is one command and what that starts.
fn exact(parsed: &Parsed) -> Option<Rule> {
    let outer = parsed.commands.iter().filter(|command| command.launched_by.is_none());
    let [only] = outer.collect::<Vec<_>>()[..] else { return None };
    let words: Option<Vec<_>> = only.words.iter().map(|word| word.literal()).collect();
    let words = words.filter(|words| !words.is_empty() && !only.background)?;
    Rule::exact_words(words.into_iter()).unless_misread()
}

/// What no rule covers in ask mode.
struct Open {
    reason: String,
    /// What would cover it.
    flags: Vec<Rule>,
}

/// Returns why the words of a rule do not name all that a command does.
fn unnamed(parsed: &Parsed, command: &SimpleCommand, places: &Places) -> Option<String> {
    if let Some(name) = shell::chooser(command) {
        return Some(format!("it sets {}, which may choose what runs", visible(name)));
    }
    if parsed.chooses_programs {
        return Some(CHOOSES.to_owned());
    }
    // Outside of the workspace, or what of it is only known when it runs.
    let is_elsewhere = |target: Target| match &target {
        Target::Exact(_) => !places.holds(&target),
        Target::Beneath { folder, .. } => !places.holds(&target) || places.is_inside(folder),
        Target::Unknown => true,
    };
    written(command, places).any(is_elsewhere).then(|| WRITES_ELSEWHERE.to_owned())
}

/// Returns the commands that no rule covers, if there are any.
fn open_in_ask_mode(
    parsed: &Parsed,
    allows: &[&Rule],
    rules: &Rules,
    places: &Places,
) -> Option<Open> {
    let unnamed = |command: &SimpleCommand| unnamed(parsed, command, places);
    let is_plain = |command: &SimpleCommand| unnamed(command).is_none();
    let writes = |command: &SimpleCommand| open_writes(command, rules, places);
    let allows_plainly = |command: &SimpleCommand| {
        is_plain(command) && allows.iter().any(|rule| rule.allows_command(command))
    };
    let covered = |command: &SimpleCommand| {
        let transparent = command.launches == Launches::Known
            && command.program().is_some_and(launch::is_transparent);
        let is_named = is_plain(command) && writes(command).is_empty();
        let names = |rule: &&Rule| rule.allows_command(command) && (is_named || rule.is_sweeping());
        // What a setting or an option of another command starts is named with that.
        let outer = launched_by(parsed, command).find(|outer| !outer.is_aside);
        let aside = outer.filter(|outer| command.is_aside && allows_plainly(outer)).is_some();
        is_named && (transparent || has_no_words(command) || aside) || allows.iter().any(names)
    };
    let open: Vec<_> = running(parsed).filter(|command| !covered(command)).collect();
    let needs_no_rule = |command: &SimpleCommand| {
        has_no_words(command) || allows.iter().any(|rule| rule.allows_command(command))
    };
    let reason = |command: &SimpleCommand| match writes(command).first() {
        Some(path) if needs_no_rule(command) => {
            format!("every write is asked about in ask mode: {}", in_one_line(path))
        }
        _ => format!("every command is asked about in ask mode: {}", shown(command)),
    };
    let mut reason = open.first().map(|first| reason(first))?;
    if let Some(why) = open.iter().find_map(|command| unnamed(command)) {
        reason.push_str(&format!("; no narrower rule can allow it: {why}"));
    }
    let mut flags = Vec::new();
    for command in &open {
        // What an unnamed program may turn out to be needs no rule of its own.
        let by = command.launched_by.and_then(|index| parsed.commands.get(index));
        if by.is_some_and(|outer| outer.program().is_none()) {
            continue;
        }
        let needed = if is_plain(command) {
            let named =
                (!needs_no_rule(command)).then(|| naming(command, command.words.len().min(2)));
            let written = writes(command).into_iter().map(|path| {
                let rule = Rule::exact_path(Access::Write, &path, false);
                rule.unwrap_or_else(|| Rule::for_tool("bash"))
            });
            named.into_iter().chain(written).collect()
        } else {
            vec![Rule::for_tool("bash")]
        };
        for rule in needed {
            if !flags.contains(&rule) {
                flags.push(rule);
            }
        }
    }
    Some(Open { reason, flags })
}

/// Returns a command for people; of a bare assignment what it sets.
fn shown(command: &SimpleCommand) -> String {
    match command.assignments.first() {
        Some((name, _)) if command.words.is_empty() => format!("{name}=…"),
        _ => command.shown(),
    }
}

/// Says whether a command is no program: a bare assignment, or a redirect that writes.
fn has_no_words(command: &SimpleCommand) -> bool {
    let writes = |redirect: &Redirect| redirect.kind == RedirectKind::Write;
    command.words.is_empty() && command.redirects.iter().all(writes)
}

/// Asks for each command that no rule covers.
fn ask_each(open: Open) -> Decision {
    Decision::new(Verdict::Ask, Mode::Ask.rule(), open.reason).with_flag(&open.flags)
}

fn allowed(parsed: &Parsed, findings: &[Finding], allows: &[&Rule], mode: Mode) -> Decision {
    let lifted = findings.iter().find_map(|finding| lifted_by(parsed, finding, allows));
    let covering = (mode == Mode::Ask)
        .then(|| {
            allows.iter().find(|rule| parsed.commands.iter().any(|one| rule.allows_command(one)))
        })
        .flatten();
    let sweeping = parsed.doubt.as_ref().and(allows.iter().find(|rule| rule.is_sweeping()));
    let unconfined = findings.iter().any(|finding| finding.unconfined);
    match lifted.or(covering.copied()).or(sweeping.copied()) {
        Some(rule) => {
            let leaves = unconfined.then_some(Leaves::Command);
            Decision { leaves, unconfined, ..by_rule(rule) }
        }
        None => Decision::new(Verdict::Allow, mode.rule(), "nothing in it needs a question"),
    }
}

/// Returns the rule that lifts a question. What runs outside the walls must be named by the rule.
fn lifted_by<'a>(parsed: &Parsed, finding: &Finding, allows: &[&'a Rule]) -> Option<&'a Rule> {
    let command = parsed.commands.get(finding.command)?;
    allows
        .iter()
        .find(|rule| rule.allows_command(command) && !(finding.unconfined && rule.is_sweeping()))
        .copied()
}

fn built_in(finding: &Finding) -> Decision {
    let mut reason = finding.reason.clone();
    if finding.verdict == Verdict::Deny {
        reason.push_str("; no rule can allow that");
    }
    let decision = Decision::new(finding.verdict, format!("built-in: {}", finding.rule), reason);
    let leaves = finding.unconfined.then_some(Leaves::Command);
    Decision { leaves, unconfined: finding.unconfined, ..decision }
}

/// Returns the rule that names a command by its first words, as far as they are known and show as
/// they are.
fn naming(command: &SimpleCommand, words: usize) -> Rule {
    let known = command.words.iter().take(words).map_while(|word| word.literal());
    let known: Vec<_> = known.take_while(|word| is_plain(word)).collect();
    let named = (!known.is_empty()).then(|| Rule::for_words(known.into_iter()));
    named.and_then(Rule::unless_misread).unwrap_or_else(|| Rule::for_tool("bash"))
}
