//! The decision on a path outside of the workspace, or in it where programs keep secrets: asked about by
//! its name, unless a rule that is a grant names it. A rule for a tool lifts nothing here.

use tenon_sandbox::Access;

use super::action::OutsidePlace;
use super::places::{Places, is_plain};
use super::rule::{Rule, Rules, Verdict};
use super::{Decision, Kept, Leaves, Mode, by_rule};

pub(super) fn decide(
    tool: &str,
    place: &OutsidePlace,
    rules: &Rules,
    mode: Mode,
    places: &Places,
) -> Decision {
    let OutsidePlace { written, path, access, is_folder, protected, within, closed } = place;
    let deny = |why: &str| {
        let reason =
            format!("nobody is asked about that place, and no flag or rule allows it: {why}");
        Decision::new(Verdict::Deny, "built-in: closed place", reason)
    };
    if let Some(why) = closed {
        return deny(why);
    }
    if !is_plain(path) {
        return deny("its name does not show as it is");
    }
    let touches = |rule: &&Rule| {
        (rule.is_for(tool) || rule.is_for_access(*access))
            && (rule.matches_path(path, places) || rule.matches_path(written, places))
    };
    if let Some(rule) = rules.with(Verdict::Deny).find(touches) {
        return by_rule(rule);
    }
    if mode == Mode::ReadOnly && *access == Access::Write {
        let freer = decide(tool, place, rules, Mode::Auto, places);
        return Decision::in_read_only_mode("nothing is changed in read-only mode", freer);
    }
    let leaves = Some(Leaves::Path { access: *access, is_folder: *is_folder, within: *within });
    if let Some(rule) = rules.with(Verdict::Ask).find(touches) {
        return Decision { leaves, ..by_rule(rule) };
    }
    let grants = |rule: &&Rule| {
        rule.grants(*access, path, *is_folder, places) && (!*protected || rule.names_a_file())
    };
    if let Some(rule) = rules.with(Verdict::Allow).find(grants) {
        return Decision { leaves, ..by_rule(rule) };
    }
    let (name, mut reason) = match within {
        true => ("built-in: place of secrets", format!("`{path}` is where programs keep secrets")),
        false => ("built-in: path outside", format!("`{path}` lies outside the workspace")),
    };
    if *protected {
        reason.push_str(", and writing it can make other programs run code later");
    }
    if written != path {
        reason.push_str(&format!("; the model named it `{written}`"));
    }
    let rule = Rule::exact_path(*access, path, *is_folder);
    if rule.is_none() {
        reason.push_str("; no rule can say its name");
    }
    let always = rule.as_ref().and_then(Kept::rule);
    let lifted_by: Vec<Rule> = rule.into_iter().collect();
    let decision = Decision::new(Verdict::Ask, name, reason);
    Decision { always, leaves, ..decision.with_flag(&lifted_by) }
}
