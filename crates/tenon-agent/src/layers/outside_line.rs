//! What commands inside the walls may have prepared for a line that runs outside of them: links that its words go
//! through, and commands, also of other sessions, that change beside it what it uses. There no rule counts, and the question says it.

use std::path::Path;

use tenon_sandbox::led_to;

use super::dispatch::Dispatch;
use crate::policy::{Action, Decision, Verdict, in_one_line, named_places};

impl Dispatch {
    /// Returns the decision on a line outside of the walls by what is there now.
    pub(super) fn by_what_is_there(&self, decision: Decision, action: &Action) -> Decision {
        let Action::Run { command } = action else { return decision };
        if !decision.unconfined || decision.verdict == Verdict::Deny {
            return decision;
        }
        let why = self.leads_elsewhere(command).or_else(|| self.runs_beside());
        match why {
            Some(why) => decision.asked_whatever_rules_say(&why),
            None => decision,
        }
    }

    /// Says what runs inside the walls meanwhile.
    fn runs_beside(&self) -> Option<String> {
        if let Some(job) = self.sandbox.jobs().running().into_iter().next() {
            return Some(format!("job {} still runs and can change what it uses", job.id));
        }
        let runs = self.sandbox.runs_beside();
        runs.then(|| "another command runs here and can change what it uses".into())
    }

    /// Says which word of a line leads by a link to a place that the line does not show: outside of the session's
    /// folders, or protected.
    fn leads_elsewhere(&self, command: &str) -> Option<String> {
        let places = self.places.at_present();
        let Some(named) = named_places(command, &places) else {
            return Some("it names more than is looked at".to_owned());
        };
        named.into_iter().filter(|(_, path)| places.is_inside(path)).find_map(|(word, path)| {
            let end = led_to(Path::new(&path))?;
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
