//! What commands inside the walls may have prepared for a line that runs outside of them: links that its words go
//! through, and jobs that change beside it what it uses. There no rule counts, and the question says it.

use std::path::{Component, Path, PathBuf};

use super::dispatch::Dispatch;
use crate::policy::{Action, Decision, Verdict, in_one_line, named_places};

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

impl Dispatch {
    /// Returns the decision on a line outside of the walls by what is there now.
    pub(super) fn by_what_is_there(&self, decision: Decision, action: &Action) -> Decision {
        let Action::Run { command } = action else { return decision };
        if !decision.unconfined || decision.verdict == Verdict::Deny {
            return decision;
        }
        let why = self.leads_elsewhere(command).or_else(|| {
            let job = self.sandbox.jobs().running().into_iter().next()?;
            Some(format!("job {} still runs and can change what it uses", job.id))
        });
        match why {
            Some(why) => decision.asked_whatever_rules_say(&why),
            None => decision,
        }
    }

    /// Says which word of a line leads by a link to a place that the line does not show: outside of the session's
    /// folders, or protected.
    fn leads_elsewhere(&self, command: &str) -> Option<String> {
        let places = self.places.at_present();
        let Some(named) = named_places(command, &places) else {
            return Some("it names more than is looked at".to_owned());
        };
        named.into_iter().filter(|(_, path)| places.is_inside(path)).find_map(|(word, path)| {
            let end = end_of(Path::new(&path));
            let end = end.to_string_lossy();
            let is_elsewhere = || {
                let protected = self.workspace.locate(&end).is_ok_and(|place| place.protected);
                protected || !places.is_inside(&end)
            };
            (end != path && is_elsewhere())
                .then(|| format!("`{}` leads to {}", in_one_line(&word), in_one_line(&end)))
        })
    }
}

/// Returns where a path leads by the links on its way, whether or not something is there.
fn end_of(path: &Path) -> PathBuf {
    let mut at = PathBuf::from("/");
    let mut left: Vec<_> = parts(path);
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        match std::fs::read_link(&next) {
            Ok(target) if links < LINKS_MAX => {
                links += 1;
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                left.extend(parts(&target));
            }
            _ => at = next,
        }
    }
    at
}

/// Returns the names of a path, the last one first.
fn parts(path: &Path) -> Vec<std::ffi::OsString> {
    let parts = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.rev().map(|part| part.as_os_str().to_owned()).collect()
}
