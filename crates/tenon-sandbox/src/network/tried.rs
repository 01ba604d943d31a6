//! Which hosts commands tried, how often and how that ended, until somebody takes it for a log.
//!
//! Who tried a host is known by time alone: all commands of a session share a loopback. So it is the
//! caller of the one command that was running, and nobody where there was none or another beside it.

use std::sync::Arc;

use super::event::{NetworkEvent, NetworkOutcome, RunningId};
use super::host::Target;

/// Most hosts that are told apart; what further ones are tried for is counted together. With a rule
/// like `*.example.com` a command can try any number.
const HOSTS_MAX: usize = 256;

/// What came of the attempts of one caller to reach one host at one port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostTried {
    /// Whose command it was, as [`Sandbox::called_by`](crate::Sandbox::called_by) was told; missing where no
    /// command was running, or more than one.
    pub caller: Option<Arc<str>>,
    /// The host, in small letters, and the port; missing for all hosts above the first 256.
    pub host: Option<(String, u16)>,
    /// How often a connection was made.
    pub reached: u64,
    /// How often none could be made, or what answered was no HTTP.
    pub failed: u64,
    /// How often it was not let through.
    pub blocked: u64,
    /// Why it was that failed or was not let through, the last time.
    pub reason: Option<String>,
}

/// The callers of the commands that run, and what was tried.
#[derive(Debug, Default)]
pub(super) struct Tried {
    running: Vec<(RunningId, Option<Arc<str>>)>,
    begun_total: u64,
    hosts: Vec<HostTried>,
}

impl Tried {
    /// Takes in that a command begins, and returns what names it.
    pub(super) fn begin(&mut self, caller: Option<Arc<str>>) -> RunningId {
        self.begun_total += 1;
        let id = RunningId(self.begun_total);
        self.running.push((id, caller));
        id
    }

    pub(super) fn end(&mut self, id: RunningId) {
        self.running.retain(|(running, _)| *running != id);
    }

    /// Returns whose command an attempt is that is made now.
    pub(super) fn caller(&self) -> Option<Arc<str>> {
        match self.running.as_slice() {
            [(_, caller)] => caller.clone(),
            _ => None,
        }
    }

    /// Returns the commands that may have made an attempt that is made now.
    pub(super) fn running(&self) -> Arc<[RunningId]> {
        self.running.iter().map(|(id, _)| *id).collect()
    }

    pub(super) fn reached(&mut self, caller: Option<&Arc<str>>, target: &Target) {
        let host = (target.host.to_string(), target.port);
        self.entry(caller, host, true).reached += 1;
    }

    /// Counts an attempt that has ended without a connection. One of which no host is known is none.
    pub(super) fn ended(&mut self, caller: Option<&Arc<str>>, event: &NetworkEvent) {
        let Some(port) = event.port else { return };
        let host = (event.host.clone(), port);
        match &event.outcome {
            NetworkOutcome::Allowed { .. } => {}
            NetworkOutcome::Failed { reason } => {
                let entry = self.entry(caller, host, true);
                entry.failed += 1;
                entry.reason = Some(reason.clone());
            }
            NetworkOutcome::Refused(refusal) => {
                let entry = self.entry(caller, host, false);
                entry.blocked += 1;
                entry.reason = Some(refusal.to_string());
            }
        }
    }

    /// Returns what was tried, of one caller or of all, in the order of the first attempts; it is then
    /// told.
    pub(super) fn take(&mut self, caller: Option<&str>) -> Vec<HostTried> {
        let is_asked_for =
            |one: &mut HostTried| caller.is_none() || one.caller.as_deref() == caller;
        self.hosts.extract_if(.., is_asked_for).collect()
    }

    /// Where there is no more room, a host that was let through takes the place of one that was not:
    /// else a command could keep it out of the log.
    fn entry(
        &mut self,
        caller: Option<&Arc<str>>,
        host: (String, u16),
        is_allowed: bool,
    ) -> &mut HostTried {
        let named = self.hosts.iter().filter(|one| one.host.is_some()).count();
        let mut host = Some(host);
        let is_new = self.at(caller, host.as_ref()).is_none();
        if is_new && named >= HOSTS_MAX {
            let is_blocked = |one: &HostTried| one.host.is_some() && one.reached + one.failed == 0;
            match self.hosts.iter().position(is_blocked).filter(|_| is_allowed) {
                Some(at) => {
                    let HostTried { caller, blocked, reason, .. } = self.hosts.remove(at);
                    let others = self.entry_of(caller.as_ref(), None);
                    others.blocked += blocked;
                    others.reason = reason;
                }
                None => host = None,
            }
        }
        self.entry_of(caller, host)
    }

    fn entry_of(
        &mut self,
        caller: Option<&Arc<str>>,
        host: Option<(String, u16)>,
    ) -> &mut HostTried {
        let at = self.at(caller, host.as_ref()).unwrap_or_else(|| {
            let caller = caller.cloned();
            let (reached, failed, blocked, reason) = (0, 0, 0, None);
            self.hosts.push(HostTried { caller, host, reached, failed, blocked, reason });
            self.hosts.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "it was found or added just now")]
        &mut self.hosts[at]
    }

    fn at(&self, caller: Option<&Arc<str>>, host: Option<&(String, u16)>) -> Option<usize> {
        self.hosts.iter().position(|one| one.caller.as_ref() == caller && one.host.as_ref() == host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::event::Refusal;

    fn target(name: &str) -> Target {
        Target::parse(name, None).unwrap()
    }

    fn blocked(name: &str) -> NetworkEvent {
        NetworkEvent::of(&target(name), NetworkOutcome::Refused(Refusal::NoRule))
    }

    #[test]
    fn a_host_is_counted_for_the_one_command_that_runs() {
        let mut tried = Tried::default();
        let caller = |name: &str| Some(Arc::from(name));
        assert_eq!(tried.caller(), None);
        let first = tried.begin(caller("first"));
        assert_eq!(tried.caller(), caller("first"));
        let second = tried.begin(caller("second"));
        assert_eq!(tried.caller(), None, "either of two");
        tried.end(first);
        assert_eq!(tried.caller(), caller("second"));
        tried.reached(tried.caller().as_ref(), &target("a.example:443"));
        tried.reached(tried.caller().as_ref(), &target("a.example:443"));
        tried.ended(tried.caller().as_ref(), &blocked("a.example:443"));
        tried.end(second);
        tried.reached(None, &target("a.example:443"));
        let [of_second] = &tried.take(Some("second"))[..] else { panic!("one host, one line") };
        assert_eq!((of_second.reached, of_second.failed, of_second.blocked), (2, 0, 1));
        assert_eq!(of_second.reason.as_deref(), Some("no rule allows it"));
        assert_eq!(tried.take(Some("second")), []);
        assert_eq!(tried.take(None).len(), 1);
        assert_eq!(tried.take(None), []);
    }

    #[test]
    fn however_many_are_blocked_a_host_that_was_reached_is_named() {
        let mut tried = Tried::default();
        for number in 0..2 * HOSTS_MAX {
            tried.ended(None, &blocked(&format!("h{number}.example:443")));
        }
        tried.reached(None, &target("a.example:443"));
        tried.ended(None, &blocked("b.example:443"));
        let all = tried.take(None);
        assert_eq!(all.len(), HOSTS_MAX + 1);
        assert_eq!(all.iter().map(|one| one.blocked).sum::<u64>(), 2 * HOSTS_MAX as u64 + 1);
        let reached: Vec<_> = all.iter().filter(|one| one.reached > 0).collect();
        assert_eq!(reached[0].host, Some(("a.example".to_owned(), 443)));
        let others: Vec<_> = all.iter().filter(|one| one.host.is_none()).collect();
        assert_eq!((others.len(), others[0].blocked), (1, HOSTS_MAX as u64 + 2));
    }
}
