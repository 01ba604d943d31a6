//! The rules of a proxy and what they say about a target: deny before allow, else no.
//!
//! Pure. A name is judged before it is resolved, an address after.

use std::net::IpAddr;

use super::address::is_public;
use super::event::Refusal;
use super::host::{Host, HostRule, Target};

/// Ports that a rule without a port is for.
const PORTS_DEFAULT: [u16; 2] = [80, 443];

/// What may be reached at this moment.
#[derive(Debug, Default)]
pub(super) struct Rules {
    allowed: Vec<Allowed>,
    denied: Vec<HostRule>,
}

#[derive(Debug)]
struct Allowed {
    rule: HostRule,
    /// The grant that it came with and goes with; none is for as long as the proxy lives.
    grant: Option<GrantId>,
}

/// Names one grant of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GrantId(pub(super) u64);

impl Rules {
    pub(super) fn allow(&mut self, rules: Vec<HostRule>, grant: Option<GrantId>) {
        self.allowed.extend(rules.into_iter().map(|rule| Allowed { rule, grant }));
    }

    pub(super) fn deny(&mut self, rules: Vec<HostRule>) {
        self.denied.extend(rules);
    }

    pub(super) fn withdraw(&mut self, grant: GrantId) {
        self.allowed.retain(|allowed| allowed.grant != Some(grant));
    }

    pub(super) fn allowed(&self) -> impl Iterator<Item = &HostRule> {
        self.allowed.iter().map(|allowed| &allowed.rule)
    }

    /// Returns the rule that allows a target as it was asked for.
    pub(super) fn decide(&self, target: &Target) -> Result<HostRule, Refusal> {
        self.check_denied(&target.host, target.port)?;
        let fits = |rule: &HostRule| match rule.port() {
            Some(port) => port == target.port,
            None => PORTS_DEFAULT.contains(&target.port),
        };
        self.allowed()
            .find(|rule| rule.names(&target.host) && fits(rule))
            .cloned()
            .ok_or(Refusal::NoRule)
    }

    /// Says whether a rule speaks of a host, at whatever port.
    pub(super) fn names(&self, host: &Host) -> bool {
        self.allowed().any(|rule| rule.names(host))
    }

    /// Returns which of the names by which commands reach their own loopback no rule speaks of, as `no_proxy`
    /// takes them. `own` is what the machine calls itself, which may be no host's name.
    pub(super) fn names_inside(&self, own: &str) -> String {
        let is_inside = |name: &&str| {
            let host = if name.contains(':') { format!("[{name}]") } else { (*name).to_owned() };
            Host::parse(&host).is_ok_and(|host| !self.names(&host))
        };
        // Servers print the last two as their address.
        let names =
            ["localhost", "127.0.0.1", "::1", "0.0.0.0", "::"].into_iter().filter(is_inside);
        let mut inside: Vec<String> = names.map(str::to_owned).collect();
        // Python's urllib compares an address of IPv6 as it stands in the URL.
        for name in ["::1", "::"].iter().filter(|name| is_inside(name)) {
            inside.push(format!("[{name}]"));
        }
        if !self.allowed().any(HostRule::is_of_loopback) {
            inside.push("127.0.0.0/8".to_owned());
        }
        // A name in this list is that of all hosts beneath it, too.
        if let Ok(Host::Name(own)) = Host::parse(own)
            && !self.allowed().any(|rule| rule.reaches(&own))
            && own.as_str() != "localhost"
        {
            inside.push(own.as_str().to_owned());
        }
        inside.join(",")
    }

    /// Says whether an address that a name led to may be dialled: a public one, or one that a
    /// rule names together with its port. `localhost` names all of this machine's own.
    pub(super) fn check_address(&self, address: IpAddr, port: u16) -> Result<(), Refusal> {
        let address = address.to_canonical();
        let host = Host::Address(address);
        let own_name = Host::localhost().filter(|_| address.is_loopback());
        let hosts = || std::iter::once(&host).chain(&own_name);
        hosts().try_for_each(|host| self.check_denied(host, port))?;
        let names = |rule: &HostRule| hosts().any(|host| rule.names(host));
        let named = self.allowed().any(|rule| rule.port() == Some(port) && names(rule));
        if named || is_public(address) { Ok(()) } else { Err(Refusal::NotPublic { address }) }
    }

    fn check_denied(&self, host: &Host, port: u16) -> Result<(), Refusal> {
        let denies =
            |rule: &&HostRule| rule.names(host) && rule.port().is_none_or(|denied| denied == port);
        match self.denied.iter().find(denies) {
            Some(by) => Err(Refusal::Denied { by: by.clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allowed: &[&str], denied: &[&str]) -> Rules {
        let parse = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let mut rules = Rules::default();
        rules.allow(parse(allowed), None);
        rules.deny(parse(denied));
        rules
    }

    fn check(allowed: &[&str], denied: &[&str], target: &str, expected: &str) {
        let decision = rules(allowed, denied).decide(&Target::parse(target, None).unwrap());
        let shown = match decision {
            Ok(rule) => rule.to_string(),
            Err(Refusal::Denied { by }) => format!("denied by {by}"),
            Err(refusal) => format!("{refusal:?}"),
        };
        assert_eq!(shown, expected, "{target} with {allowed:?} but {denied:?}");
    }

    #[test]
    fn nothing_is_allowed_without_a_rule() {
        check(&[], &[], "example.com:443", "NoRule");
        check(&["example.com"], &[], "example.org:443", "NoRule");
        check(&["example.com"], &[], "192.0.2.7:443", "NoRule");
    }

    #[test]
    fn names_of_a_command_s_own_loopback_are_those_that_no_rule_speaks_of() {
        let all = "localhost,127.0.0.1,::1,0.0.0.0,::,[::1],[::],127.0.0.0/8";
        let [v4, v6] = [
            "localhost,::1,0.0.0.0,::,[::1],[::],vm",
            "localhost,127.0.0.1,0.0.0.0,::,[::],127.0.0.0/8,vm",
        ];
        let with_own = format!("{all},vm");
        for (allowed, own, expected) in [
            (&[][..], "VM", with_own.as_str()),
            (&["example.com"], "vm", &with_own),
            (&["127.0.0.1:80"], "vm", v4),
            (&["[::1]:80"], "vm", v6),
            (&["localhost:80"], "vm", with_own.split_once(',').unwrap().1),
            (&["vm:8080"], "vm", all),
            (&["a.vm"], "vm", all),
            (&["*.b.vm"], "vm", all),
            (&["*.example.com"], "a.example.com", all),
            (&["*.example.com"], "example.com", all),
            (&[], "a_b", all),
            (&[], "a,*", all),
            (&[], "10.0.0.1", all),
            (&[], "localhost", all),
            (&[], "", all),
        ] {
            assert_eq!(rules(allowed, &[]).names_inside(own), expected, "{own} with {allowed:?}");
        }
    }

    #[test]
    fn a_rule_without_a_port_is_for_two_ports() {
        check(&["example.com"], &[], "example.com:80", "example.com");
        check(&["example.com"], &[], "example.com:443", "example.com");
        check(&["example.com"], &[], "example.com:22", "NoRule");
        check(&["example.com:22"], &[], "example.com:22", "example.com:22");
        check(&["example.com:22"], &[], "example.com:443", "NoRule");
    }

    #[test]
    fn deny_comes_before_allow() {
        let allowed = ["*.example.com", "bad.example.com"];
        check(&allowed, &["bad.example.com"], "bad.example.com:443", "denied by bad.example.com");
        check(&allowed, &["bad.example.com"], "good.example.com:443", "*.example.com");
        check(&allowed, &["bad.example.com:80"], "bad.example.com:443", "*.example.com");
        check(&allowed, &["*.example.com"], "good.example.com:443", "denied by *.example.com");
    }

    #[test]
    fn an_address_that_is_not_public_wants_a_rule_with_its_port() {
        for (allowed, address, expected) in [
            (&[][..], "1.1.1.1", true),
            (&[], "127.0.0.1", false),
            (&["localhost:8080"], "127.0.0.1", true),
            (&["localhost:8080"], "::1", true),
            (&["localhost:8080"], "::ffff:127.0.0.1", true),
            (&["localhost:8080"], "10.0.0.5", false),
            (&["localhost:81"], "127.0.0.1", false),
            (&["localhost"], "127.0.0.1", false),
            (&["127.0.0.1"], "127.0.0.1", false),
            (&["127.0.0.1:81"], "127.0.0.1", false),
            (&["127.0.0.1:8080"], "127.0.0.1", true),
            (&["127.0.0.1:8080"], "::ffff:127.0.0.1", true),
            (&["127.0.0.1:8080"], "::1", false),
            (&["[::ffff:127.0.0.1]:8080"], "127.0.0.1", true),
        ] {
            let result = rules(allowed, &[]).check_address(address.parse().unwrap(), 8080);
            assert_eq!(result.is_ok(), expected, "{address} with {allowed:?}");
        }
        // The name of this machine denies it at whichever address.
        for allowed in ["127.0.0.1:8080", "[::1]:8080", "localhost:8080"] {
            for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
                let denied = rules(&[allowed], &["localhost"]);
                assert!(denied.check_address(address.parse().unwrap(), 8080).is_err());
            }
        }
        let denied = rules(&["localhost:8080"], &["127.0.0.1"]);
        assert!(denied.check_address("127.0.0.1".parse().unwrap(), 8080).is_err());
        let denied = rules(&["127.0.0.1:8080"], &["127.0.0.1."]);
        assert!(denied.check_address("127.0.0.1".parse().unwrap(), 8080).is_err());
    }

    #[test]
    fn a_dot_at_the_end_of_a_host_changes_nothing() {
        for (allowed, denied, target, expected) in [
            (&[][..], &[][..], "127.0.0.1.:8080", "NoRule"),
            (&["127.0.0.1"], &[], "127.0.0.1.:8080", "NoRule"),
            (&["127.0.0.1:8080"], &[], "127.0.0.1.:8080", "127.0.0.1:8080"),
            (&["127.0.0.1.:8080"], &[], "127.0.0.1:8080", "127.0.0.1:8080"),
            (&["127.0.0.1:8080"], &["127.0.0.1"], "127.0.0.1.:8080", "denied by 127.0.0.1"),
            (&["127.0.0.1:8080"], &["127.0.0.1."], "127.0.0.1:8080", "denied by 127.0.0.1"),
            (&["localhost:8080"], &[], "127.0.0.1.:8080", "NoRule"),
            (&["localhost:8080"], &[], "localhost.:8080", "localhost:8080"),
            (
                &["*.example.com"],
                &["a.example.com."],
                "a.example.com:80",
                "denied by a.example.com",
            ),
            (
                &["*.example.com."],
                &["a.example.com"],
                "a.example.com.:80",
                "denied by a.example.com",
            ),
            (&["*.example.com"], &[], "b.example.com.:80", "*.example.com"),
            (&["*.example.com"], &[], "example.com.:80", "NoRule"),
        ] {
            check(allowed, denied, target, expected);
        }
        for target in ["127.0.0.1..:8080", "[::1.]:80", "[::1].:80", "127.1.:80", ".:80"] {
            assert!(Target::parse(target, None).is_err(), "{target}");
        }
    }

    #[test]
    fn a_grant_goes_with_its_rules_and_no_others() {
        let mut rules = rules(&["example.com"], &[]);
        let target = Target::parse("example.org:443", None).unwrap();
        rules.allow(vec!["example.org".parse().unwrap()], Some(GrantId(1)));
        rules.allow(vec!["example.org".parse().unwrap()], Some(GrantId(2)));
        rules.withdraw(GrantId(1));
        assert!(rules.decide(&target).is_ok());
        rules.withdraw(GrantId(2));
        assert_eq!(rules.decide(&target), Err(Refusal::NoRule));
        assert!(rules.decide(&Target::parse("example.com:443", None).unwrap()).is_ok());
    }
}
