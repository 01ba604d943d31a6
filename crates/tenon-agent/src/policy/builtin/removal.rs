//! Removing whole trees, and changing the rights of whole trees.

use super::{Finding, has_option, operands, ways};
use crate::policy::places::{Places, Zone};
use crate::policy::rule::Verdict;
use crate::policy::shell::{SimpleCommand, Word};

pub(super) fn judge(command: &SimpleCommand, places: &Places) -> Option<Finding> {
    let arguments = command.arguments();
    match command.program()? {
        "rm" | "del" if has_option(arguments, "--recursive", 3, &['r', 'R']) => {
            worst(command, places, &operands(arguments))
        }
        "chmod" | "chown" | "chgrp" if has_option(arguments, "--recursive", 5, &['R']) => {
            rights(command, places)
        }
        _ => None,
    }
}

fn worst(command: &SimpleCommand, places: &Places, targets: &[&Word]) -> Option<Finding> {
    let mut asked = None;
    // `rm -rf ""` removes nothing.
    for target in targets.iter().filter(|target| target.literal() != Some("")) {
        let shown = target.shown();
        let words = command.words.len();
        let finding = match zone(command, places, target) {
            Zone::Free => continue,
            Zone::System => Finding::deny(
                "removing the system",
                format!("it would remove `{shown}`, which the machine or the account lives on"),
            ),
            Zone::Outside => Finding::deny(
                "removing outside the workspace",
                format!("it would remove `{shown}`, which lies outside the workspace"),
            ),
            Zone::Root => Finding::ask(
                "removing the workspace",
                words,
                format!("`{shown}` is the whole workspace"),
            ),
            Zone::AllTemporary => Finding::ask(
                "removing all temporary files",
                words,
                format!("`{shown}` is what every program keeps there"),
            ),
            Zone::Unknown => Finding::ask(
                "removing an unknown place",
                words,
                format!("what `{shown}` is, is only known when it runs, and it would be removed"),
            ),
        };
        if finding.verdict == Verdict::Deny {
            return Some(finding);
        }
        asked.get_or_insert(finding);
    }
    asked
}

/// Returns the worst zone that a target may be in. Where a `cd` before it fails, what lies outside is
/// not there for commands anyway: `cd src; rm -rf ../build` is not that.
fn zone(command: &SimpleCommand, places: &Places, target: &Word) -> Zone {
    let mut zones = ways(command).map(|way| places.zone(&places.target(target, way)));
    let done = zones.next().unwrap_or(Zone::Unknown);
    if matches!(done, Zone::System | Zone::Outside) {
        return done;
    }
    let others: Vec<_> = zones.collect();
    let worse = [Zone::System, Zone::Root, Zone::AllTemporary];
    worse.into_iter().find(|zone| others.contains(zone)).unwrap_or(done)
}

fn rights(command: &SimpleCommand, places: &Places) -> Option<Finding> {
    let targets = operands(command.arguments());
    targets.into_iter().find_map(|target| {
        let zone = zone(command, places, target);
        let text = target.prefix();
        // The first operand is a mode or an owner, such as `777`; it is no path from the root.
        let is_path = text.starts_with('/') || text.is_empty() || text.starts_with('.');
        (zone == Zone::System && is_path).then(|| {
            let shown = target.shown();
            Finding::deny(
                "changing rights of the system",
                format!("it would change the rights of everything in `{shown}`"),
            )
        })
    })
}
