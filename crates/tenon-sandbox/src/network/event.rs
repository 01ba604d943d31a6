//! What a command tried to reach and what became of it, for the log and for results.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::host::{Host, HostRule, Target};

/// Most hosts of which the last attempt is remembered; the oldest goes first. A command that tries
/// more is not looking for one that somebody could allow.
const REMEMBERED_MAX: usize = 256;
/// Longest text that is kept of a host that is none, in characters.
const ASKED_CHARS_MAX: usize = 255;

/// One attempt of a command to reach a host. `Display` is the sentence for people and models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkEvent {
    /// The host as it was asked for, in small letters; of a request that could not be read the
    /// printable part of what stood there, which may be nothing.
    pub host: String,
    /// The port, if the request could be read.
    pub port: Option<u16>,
    /// What became of it.
    pub outcome: NetworkOutcome,
}

/// What became of an attempt to reach a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkOutcome {
    /// A rule allows it. Told before the host is resolved; a refusal or failure may follow.
    Allowed {
        /// The rule.
        by: HostRule,
    },
    /// It was not let through.
    Refused(Refusal),
    /// It was allowed and could not be reached.
    Failed {
        /// What happened.
        reason: String,
    },
}

/// Why an attempt was not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No rule allows this host on this port.
    NoRule,
    /// A rule denies it.
    Denied {
        /// The rule.
        by: HostRule,
    },
    /// The host is or resolves to an address that is not part of the public internet.
    NotPublic {
        /// The address.
        address: IpAddr,
    },
    /// The TLS handshake names another host than the one that was asked for.
    OtherServerName {
        /// The host that it names.
        name: String,
    },
    /// A tunnel to the port of plain HTTP, in which requests could name any host.
    PlainTunnel,
    /// What was sent to port 443 is not the beginning of TLS.
    NotTls,
    /// The request is not one that the proxy takes.
    Malformed {
        /// What is wrong with it.
        what: &'static str,
    },
}

impl NetworkEvent {
    pub(super) fn of(target: &Target, outcome: NetworkOutcome) -> Self {
        Self { host: target.host.to_string(), port: Some(target.port), outcome }
    }

    /// Returns the event of a request that could not be read. `asked` is text of the command's.
    pub(super) fn malformed(asked: &[u8], what: &'static str) -> Self {
        let shown = asked.iter().take(ASKED_CHARS_MAX);
        let shown = shown.map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '?' });
        Self {
            host: shown.collect(),
            port: None,
            outcome: NetworkOutcome::Refused(Refusal::Malformed { what }),
        }
    }

    /// Returns whether the attempt was not let through.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        matches!(self.outcome, NetworkOutcome::Refused(_))
    }

    /// Returns the host with its port, but for the usual ones of the web; of a request that could not be read nothing.
    ///
    /// ```
    /// use tenon_sandbox::{Proxy, ProxyOptions};
    ///
    /// let proxy = Proxy::new(ProxyOptions::default());
    /// let named = |host| proxy.judge(host).map(|event| event.place());
    /// assert_eq!(named("example.com")?.as_deref(), Some("example.com"));
    /// assert_eq!(named("example.com:22")?.as_deref(), Some("example.com:22"));
    /// # Ok::<(), tenon_sandbox::HostError>(())
    /// ```
    #[must_use]
    pub fn place(&self) -> Option<String> {
        Some(match self.port? {
            80 | 443 => self.host.clone(),
            port => format!("{}:{port}", self.host),
        })
    }

    /// Returns the rule that would let it through, as `--net` takes it, if there is one that leads to what was meant.
    #[must_use]
    pub fn rule_needed(&self) -> Option<HostRule> {
        let port = self.port?;
        match &self.outcome {
            NetworkOutcome::Refused(Refusal::NoRule) => {
                let host = Host::parse(&self.host).ok()?;
                // Inside, it is the commands' own; here it would be a server of this machine.
                if matches!(&host, Host::Address(address) if is_own(*address)) {
                    return None;
                }
                // A name of one label could be a word that `--net` takes for something else, such as
                // `on`; with its port it is none.
                let usual = matches!(&host, Host::Name(name) if name.labels() > 1)
                    && matches!(port, 80 | 443);
                Some(HostRule::exactly(host, (!usual).then_some(port)))
            }
            NetworkOutcome::Refused(Refusal::NotPublic { address }) => {
                Some(HostRule::exactly(Host::Address(*address), Some(port)))
            }
            NetworkOutcome::Allowed { .. }
            | NetworkOutcome::Refused(_)
            | NetworkOutcome::Failed { .. } => None,
        }
    }
}

/// Says whether an address is one by which commands reach their own servers and hardly anybody means this
/// machine's.
fn is_own(address: IpAddr) -> bool {
    let is_usual = address == IpAddr::V4(Ipv4Addr::LOCALHOST);
    address.is_unspecified() || address.is_ipv4() && address.is_loopback() && !is_usual
}

impl fmt::Display for NetworkEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match &self.outcome {
            NetworkOutcome::Allowed { .. } => "allowed",
            NetworkOutcome::Refused(_) => "blocked",
            NetworkOutcome::Failed { .. } => "failed",
        };
        write!(formatter, "{verb}: ")?;
        match (self.host.as_str(), self.port) {
            ("", _) => formatter.write_str("a request")?,
            (host, Some(port)) => write!(formatter, "{host}:{port}")?,
            (host, None) => formatter.write_str(host)?,
        }
        match &self.outcome {
            NetworkOutcome::Allowed { by } => write!(formatter, " (by {by})"),
            NetworkOutcome::Refused(refusal) => write!(formatter, " ({refusal}{})", Hint(self)),
            NetworkOutcome::Failed { reason } => write!(formatter, " ({reason})"),
        }
    }
}

/// The end of the sentence that says what would help.
struct Hint<'a>(&'a NetworkEvent);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.rule_needed() {
            Some(rule) => write!(formatter, "; --net {rule} would"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRule => formatter.write_str("no rule allows it"),
            Self::Denied { by } => write!(formatter, "the rule net({by}) denies it"),
            Self::NotPublic { address } => {
                write!(formatter, "{address} is not a public address and no rule allows it")
            }
            Self::OtherServerName { name } => {
                write!(formatter, "its TLS handshake names {name} instead")
            }
            Self::PlainTunnel => {
                formatter.write_str("plain HTTP goes through a proxy as http://…, not by CONNECT")
            }
            Self::NotTls => {
                formatter.write_str("what begins like TLS, and all of port 443, must be TLS")
            }
            Self::Malformed { what } => formatter.write_str(what),
        }
    }
}

/// Names a command that runs; see [`Proxy::begin`](super::Proxy::begin).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningId(pub(super) u64);

/// The last attempt at each host that was not let through and that nobody was told of, by the commands that may
/// have made it, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Record {
    untold: Vec<(Arc<[RunningId]>, NetworkEvent)>,
}

impl Record {
    /// Takes in an attempt of one of the commands `who`. That a host is allowed is the end of what was refused
    /// before, whoever tried it.
    pub(super) fn add(&mut self, who: &Arc<[RunningId]>, event: NetworkEvent) {
        let is_blocked = event.is_blocked();
        self.untold.retain(|(of, old)| {
            let is_same = (&old.host, old.port) == (&event.host, event.port);
            !is_same || is_blocked && of != who
        });
        if !is_blocked {
            return;
        }
        if self.untold.len() >= REMEMBERED_MAX {
            self.untold.remove(0);
        }
        self.untold.push((Arc::clone(who), event));
    }

    /// Returns what the command may have tried; it is then told, of all that may have.
    pub(super) fn take(&mut self, id: RunningId) -> Vec<NetworkEvent> {
        let mut taken: Vec<NetworkEvent> = Vec::new();
        for (_, event) in self.untold.extract_if(.., |(who, _)| who.contains(&id)) {
            taken.retain(|old| (&old.host, old.port) != (&event.host, event.port));
            taken.push(event);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(target: &str, refusal: Refusal) -> NetworkEvent {
        let target = Target::parse(target, None).unwrap();
        NetworkEvent::of(&target, NetworkOutcome::Refused(refusal))
    }

    #[test]
    fn the_sentence_names_the_host_and_what_would_help() {
        let by = || "*.example.com".parse().unwrap();
        let not_public = || Refusal::NotPublic { address: "10.0.0.5".parse().unwrap() };
        let target = Target::parse("example.com:443", None).unwrap();
        for (event, expected) in [
            (
                refused("Example.com:443", Refusal::NoRule),
                "blocked: example.com:443 (no rule allows it; --net example.com would)",
            ),
            (
                refused("example.com:8443", Refusal::NoRule),
                "blocked: example.com:8443 (no rule allows it; --net example.com:8443 would)",
            ),
            (
                refused("on:443", Refusal::NoRule),
                "blocked: on:443 (no rule allows it; --net on:443 would)",
            ),
            (
                refused("[::1]:80", Refusal::NoRule),
                "blocked: [::1]:80 (no rule allows it; --net [::1]:80 would)",
            ),
            (refused("0.0.0.0:8000", Refusal::NoRule), "blocked: 0.0.0.0:8000 (no rule allows it)"),
            (refused("127.0.0.2:80", Refusal::NoRule), "blocked: 127.0.0.2:80 (no rule allows it)"),
            (refused("[::]:80", Refusal::NoRule), "blocked: [::]:80 (no rule allows it)"),
            (
                refused("intra.example.com:443", not_public()),
                "blocked: intra.example.com:443 (10.0.0.5 is not a public address and no rule \
                 allows it; --net 10.0.0.5:443 would)",
            ),
            (
                refused("bad.example.com:443", Refusal::Denied { by: by() }),
                "blocked: bad.example.com:443 (the rule net(*.example.com) denies it)",
            ),
            (
                refused("example.com:443", Refusal::OtherServerName { name: "evil.org".into() }),
                "blocked: example.com:443 (its TLS handshake names evil.org instead)",
            ),
            (
                NetworkEvent::malformed(b"a@b\x1b[31m", "the host is no host"),
                "blocked: a@b?[31m (the host is no host)",
            ),
            (NetworkEvent::malformed(b"", "not HTTP"), "blocked: a request (not HTTP)"),
            (
                NetworkEvent::of(&target, NetworkOutcome::Allowed { by: by() }),
                "allowed: example.com:443 (by *.example.com)",
            ),
            (
                NetworkEvent::of(&target, NetworkOutcome::Failed { reason: "timed out".into() }),
                "failed: example.com:443 (timed out)",
            ),
        ] {
            assert_eq!(event.to_string(), expected);
        }
    }

    #[test]
    fn the_record_keeps_the_last_attempt_at_each_host_and_forgets_the_oldest() {
        let mut record = Record::default();
        let id = RunningId(1);
        let who = Arc::from([id]);
        let hosts = |record: &mut Record| -> Vec<String> {
            record.take(id).into_iter().map(|event| event.host).collect()
        };
        for host in ["a.example:443", "b.example:443", "a.example:443", "a.example:443"] {
            record.add(&who, refused(host, Refusal::NoRule));
        }
        assert_eq!(hosts(&mut record), ["b.example", "a.example"]);
        assert_eq!(record.take(id), []);
        let many = |record: &mut Record| {
            for number in 0..2 * REMEMBERED_MAX {
                record.add(&who, refused(&format!("h{number}.example:443"), Refusal::NoRule));
            }
        };
        many(&mut record);
        assert_eq!(hosts(&mut record).len(), REMEMBERED_MAX);
        many(&mut record);
        let last = Target::parse("h511.example:443", None).unwrap();
        let failed = NetworkOutcome::Failed { reason: String::new() };
        record.add(&who, NetworkEvent::of(&last, failed));
        assert_eq!(hosts(&mut record).len(), REMEMBERED_MAX - 1);
    }

    #[test]
    fn an_attempt_is_told_once_and_to_those_alone_that_may_have_made_it() {
        let mut record = Record::default();
        let [first, second, third] = [1, 2, 3].map(RunningId);
        let either = Arc::from([first, second]);
        record.add(&either, refused("a.example:443", Refusal::NoRule));
        assert_eq!(record.take(third), []);
        assert_eq!(record.take(second).len(), 1);
        assert_eq!(record.take(first), [], "it was told");
        record.add(&either, refused("a.example:443", Refusal::NoRule));
        record.add(&Arc::from([first]), refused("a.example:443", Refusal::NoRule));
        assert_eq!(record.take(second).len(), 1);
        assert_eq!(record.take(first).len(), 1, "that one was of no other");
        record.add(&either, refused("a.example:443", Refusal::NoRule));
        record.add(&Arc::from([first]), refused("a.example:443", Refusal::NoRule));
        assert_eq!(record.take(first).len(), 1, "one host, one line");
        assert_eq!(record.take(second), []);
    }
}
