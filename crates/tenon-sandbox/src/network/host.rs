//! Hosts and the rules that name them, read once into labels of letters, digits and hyphens.
//!
//! Pure. Rules and requests go through the same reading, so both mean the same host or neither is
//! taken. What a resolver might read in another way than we do (`127.1`, `0x7f.1`, a name with an
//! underscore, a name in other letters) is an error and not a guess.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Longest host name, in bytes without a dot at its end (RFC 1035, section 2.3.4).
const NAME_BYTES_MAX: usize = 253;
/// Longest label of a host name, in bytes (RFC 1035, section 2.3.4).
const LABEL_BYTES_MAX: usize = 63;
/// Fewest labels behind `*.`: `*.com` would be half of the internet.
const WILDCARD_LABELS_MIN: usize = 2;

/// A host that a command may reach: `example.com`, `*.example.com`, `192.0.2.7` or `[2001:db8::7]`,
/// each with or without a port behind it.
///
/// `*.example.com` is every name that ends in these labels, and not `example.com` itself. Without
/// a port the rule is for ports 80 and 443. `Display` prints what [`FromStr`] reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostRule {
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Pattern {
    Exactly(Host),
    Under(HostName),
}

impl HostRule {
    /// Whether the rule is for a name, which the proxy connects to public addresses only.
    pub(super) fn is_of_a_name(&self) -> bool {
        matches!(self.pattern, Pattern::Exactly(Host::Name(_)) | Pattern::Under(_))
    }

    /// Returns the rule for one host and one port.
    pub(super) fn exactly(host: Host, port: Option<u16>) -> Self {
        Self { pattern: Pattern::Exactly(host), port }
    }

    /// Returns the port that the rule names, if it names one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Whether the rule names an address of IPv4's loopback.
    pub(super) fn is_of_loopback(&self) -> bool {
        matches!(self.pattern, Pattern::Exactly(Host::Address(IpAddr::V4(named))) if named.is_loopback())
    }

    /// Whether the rule names this host, or one beneath its name.
    pub(super) fn reaches(&self, name: &HostName) -> bool {
        match &self.pattern {
            Pattern::Exactly(Host::Name(named)) | Pattern::Under(named) => {
                named == name || named.is_under(name) || self.names(&Host::Name(name.clone()))
            }
            Pattern::Exactly(Host::Address(_)) => false,
        }
    }

    pub(super) fn names(&self, host: &Host) -> bool {
        match (&self.pattern, host) {
            (Pattern::Exactly(named), host) => named == host,
            (Pattern::Under(suffix), Host::Name(name)) => name.is_under(suffix),
            (Pattern::Under(_), Host::Address(_)) => false,
        }
    }
}

impl FromStr for HostRule {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        if text.contains("://") {
            return Err(HostError::Address);
        }
        let (host, port) = split_port(text)?;
        let pattern = match host.strip_prefix("*.") {
            None if host == "*" => return Err(HostError::Wildcard),
            None => Pattern::Exactly(Host::parse(host)?),
            Some(suffix) => match Host::parse(suffix)? {
                Host::Name(name) if name.labels() >= WILDCARD_LABELS_MIN => Pattern::Under(name),
                Host::Name(_) | Host::Address(_) => return Err(HostError::Wildcard),
            },
        };
        Ok(Self { pattern, port })
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Pattern::Exactly(host) => write!(formatter, "{host}")?,
            Pattern::Under(suffix) => write!(formatter, "*.{}", suffix.0)?,
        }
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

/// Why a text is not a host, or not a rule for hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// There is no host, or two dots follow each other.
    #[error("a part of the host's name is empty")]
    Empty,
    /// What has a scheme: an address of a page or a server.
    #[error("a host stands without http:// and without a path, like example.com")]
    Address,
    /// A name in other letters, which has to be written in its `xn--` form.
    #[error("a host's name has only a-z, 0-9 and -; other letters are written as xn--…")]
    NotAscii,
    /// A character that is in no host's name; user names, paths and blanks end here.
    #[error("a host's name has only a-z, 0-9 and -, with dots between its parts")]
    Character,
    /// A label that begins or ends with a hyphen.
    #[error("no part of a host's name begins or ends with -")]
    Hyphen,
    /// More than 63 bytes between two dots, or more than 253 in all.
    #[error("the host's name is too long")]
    TooLong,
    /// `127.1`, `0x7f.1`, `2130706433`, `010.0.0.1`: an address as few programs read it alike.
    #[error("an address is written as four decimal numbers, like 192.0.2.7")]
    OddAddress,
    /// Not an IPv6 address, one with a zone, or one without brackets.
    #[error("an IPv6 address is written in brackets and without a zone, like [2001:db8::7]")]
    Ipv6,
    /// Not a number from 1 to 65535.
    #[error("a port is a number from 1 to 65535")]
    Port,
    /// `*`, `*.com`, or a wildcard elsewhere than in front.
    #[error("a wildcard is *. and at least two parts behind it, like *.example.com")]
    Wildcard,
}

/// A host as it was asked for: a name or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Host {
    Name(HostName),
    /// Never an IPv4 address in IPv6 clothes.
    Address(IpAddr),
}

impl Host {
    /// Returns this machine's name for itself.
    pub(super) fn localhost() -> Option<Self> {
        Self::parse("localhost").ok()
    }

    /// Reads a name, an IPv4 address, or an IPv6 address in brackets.
    pub(super) fn parse(text: &str) -> Result<Self, HostError> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(HostError::Ipv6)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| HostError::Ipv6)?;
            return Ok(Self::Address(address.to_canonical()));
        }
        let name = HostName::parse(text)?;
        // A last label like this makes resolvers read the whole as an address, each in its way.
        let last = name.0.rsplit('.').next().unwrap_or_default();
        if last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit()) {
            let address: Ipv4Addr = name.0.parse().map_err(|_| HostError::OddAddress)?;
            return Ok(Self::Address(address.into()));
        }
        Ok(Self::Name(name))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(&name.0),
            Self::Address(IpAddr::V4(address)) => write!(formatter, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

/// A name of labels, in small letters, without a dot at its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct HostName(String);

impl HostName {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn parse(text: &str) -> Result<Self, HostError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if !text.is_ascii() {
            return Err(HostError::NotAscii);
        }
        if text.len() > NAME_BYTES_MAX {
            return Err(HostError::TooLong);
        }
        text.split('.').try_for_each(check_label)?;
        Ok(Self(text.to_ascii_lowercase()))
    }

    pub(super) fn labels(&self) -> usize {
        self.0.split('.').count()
    }

    fn is_under(&self, suffix: &Self) -> bool {
        let mut own = self.0.rsplit('.');
        suffix.0.rsplit('.').all(|label| own.next() == Some(label)) && own.next().is_some()
    }
}

fn check_label(label: &str) -> Result<(), HostError> {
    if label.is_empty() {
        return Err(HostError::Empty);
    }
    if label.contains('*') {
        return Err(HostError::Wildcard);
    }
    if !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(HostError::Character);
    }
    if label.starts_with('-') || label.ends_with('-') {
        return Err(HostError::Hyphen);
    }
    if label.len() > LABEL_BYTES_MAX {
        return Err(HostError::TooLong);
    }
    Ok(())
}

/// A host and a port, as a request names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
}

impl Target {
    /// Reads `host:port`. Without a port it takes `port_default`, and is an error if there is none.
    pub(super) fn parse(text: &str, port_default: Option<u16>) -> Result<Self, HostError> {
        let (host, port) = split_port(text)?;
        let port = port.or(port_default).ok_or(HostError::Port)?;
        Ok(Self { host: Host::parse(host)?, port })
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), HostError> {
    let host_end = match text.rfind(']') {
        Some(bracket) => bracket + 1,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at_checked(host_end).ok_or(HostError::Ipv6)?;
    if rest.is_empty() {
        return Ok((host, None));
    }
    let port = rest.strip_prefix(':').ok_or(HostError::Port)?;
    if port.contains(':') {
        return Err(HostError::Ipv6);
    }
    let digits = !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if digits => Ok((host, Some(port))),
        _ => Err(HostError::Port),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_rule(text: &str, expected: Result<&str, HostError>) {
        let parsed = text.parse::<HostRule>().map(|rule| rule.to_string());
        assert_eq!(parsed, expected.map(str::to_owned), "{text:?}");
    }

    #[test]
    fn a_rule_prints_back_what_was_read() {
        for (text, expected) in [
            ("example.com", "example.com"),
            ("EXAMPLE.Com.", "example.com"),
            ("*.Example.com", "*.example.com"),
            ("*.example.com.:8443", "*.example.com:8443"),
            ("localhost:3000", "localhost:3000"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("192.0.2.7", "192.0.2.7"),
            ("192.0.2.7.:81", "192.0.2.7:81"),
            ("[2001:DB8:0:0::7]:443", "[2001:db8::7]:443"),
            ("[::ffff:192.0.2.7]", "192.0.2.7"),
            ("1.example.com", "1.example.com"),
        ] {
            check_rule(text, Ok(expected));
        }
        let label = "a".repeat(LABEL_BYTES_MAX);
        check_rule(&format!("{label}.com"), Ok(&format!("{label}.com")));
        let name = format!("{}a", "a.".repeat(126));
        check_rule(&name, Ok(&name));
    }

    #[test]
    fn what_is_not_a_host_is_not_a_rule() {
        for (text, error) in [
            ("", HostError::Empty),
            (".", HostError::Empty),
            ("example..com", HostError::Empty),
            ("example.com..", HostError::Empty),
            (".example.com", HostError::Empty),
            ("bücher.example", HostError::NotAscii),
            ("example。com", HostError::NotAscii),
            ("example.com@evil.org", HostError::Character),
            ("exam ple.com", HostError::Character),
            ("example.com/path", HostError::Character),
            ("my_bucket.example.com", HostError::Character),
            ("example.com%00.evil.org", HostError::Character),
            ("example.com\0", HostError::Character),
            ("-example.com", HostError::Hyphen),
            ("example-.com", HostError::Hyphen),
            ("127.1", HostError::OddAddress),
            ("0x7f.1", HostError::OddAddress),
            ("0x7f000001", HostError::OddAddress),
            ("2130706433", HostError::OddAddress),
            ("0177.0.0.1", HostError::OddAddress),
            ("127.0.0.01", HostError::OddAddress),
            ("127.0.0.1.1", HostError::OddAddress),
            ("256.0.0.1", HostError::OddAddress),
            ("example.123", HostError::OddAddress),
            ("example.0x7", HostError::OddAddress),
            ("::1", HostError::Ipv6),
            ("[::1", HostError::Ipv6),
            ("[::1]x", HostError::Port),
            ("[fe80::1%eth0]", HostError::Ipv6),
            ("[127.0.0.1]", HostError::Ipv6),
            ("[]", HostError::Ipv6),
            ("https://example.com", HostError::Address),
            ("user:word@example.com", HostError::Port),
            ("example.com:", HostError::Port),
            ("example.com:0", HostError::Port),
            ("example.com:+80", HostError::Port),
            ("example.com:080", HostError::Port),
            ("example.com:65536", HostError::Port),
            ("example.com:80:80", HostError::Ipv6),
            ("*", HostError::Wildcard),
            ("*.com", HostError::Wildcard),
            ("*.127.0.0.1", HostError::Wildcard),
            ("a.*.example.com", HostError::Wildcard),
            ("*example.com", HostError::Wildcard),
            ("*.*.example.com", HostError::Wildcard),
        ] {
            check_rule(text, Err(error));
        }
        check_rule(&format!("{}.com", "a".repeat(64)), Err(HostError::TooLong));
        check_rule(&"a.".repeat(128), Err(HostError::TooLong));
    }

    fn check_names(rule: &str, host: &str, expected: bool) {
        let rule: HostRule = rule.parse().unwrap();
        let named = Host::parse(host).is_ok_and(|host| rule.names(&host));
        assert_eq!(named, expected, "{rule} and {host:?}");
    }

    #[test]
    fn a_rule_names_a_host_by_whole_labels() {
        for (rule, host, expected) in [
            ("example.com", "example.com", true),
            ("example.com", "EXAMPLE.COM.", true),
            ("example.com", "www.example.com", false),
            ("example.com", "evil-example.com", false),
            ("example.com", "example.com.evil.org", false),
            ("example.com", "example.com@evil.org", false),
            ("example.com", "evil.org#example.com", false),
            ("example.com", "evil.org\\example.com", false),
            ("*.example.com", "www.example.com", true),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "evil-example.com", false),
            ("*.example.com", ".example.com", false),
            ("*.example.com", "www.example.com.evil.org", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "[::ffff:127.0.0.1]", true),
            ("127.0.0.1", "[::ffff:7f00:1]", true),
            ("127.0.0.1", "127.1", false),
            ("127.0.0.1", "0x7f.1", false),
            ("127.0.0.1", "2130706433", false),
            ("127.0.0.1", "localhost", false),
            ("localhost", "127.0.0.1", false),
            ("[::1]", "[0:0:0:0:0:0:0:1]", true),
            ("[::1]", "127.0.0.1", false),
        ] {
            check_names(rule, host, expected);
        }
    }

    fn name() -> impl Strategy<Value = String> {
        prop::collection::vec("[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,4})?", 2..5)
            .prop_map(|labels| labels.join("."))
    }

    proptest! {
        #[test]
        fn reading_any_text_is_safe_and_printing_reads_back(text in "\\PC{0,40}|[a-z0-9.:*\\[\\]-]{0,30}") {
            if let Ok(rule) = text.parse::<HostRule>() {
                prop_assert_eq!(rule.to_string().parse::<HostRule>(), Ok(rule));
            }
        }

        #[test]
        fn only_a_name_with_further_labels_is_under_a_suffix(suffix in name(), other in name()) {
            let rule: HostRule = format!("*.{suffix}").parse().unwrap();
            let names = |host: &str| rule.names(&Host::parse(host).unwrap());
            let below = format!("{other}.{suffix}");
            prop_assert!(names(&below));
            prop_assert!(!names(&suffix));
            let glued = format!("evil{suffix}");
            prop_assert!(!names(&glued));
            let hyphen = format!("evil-{suffix}");
            prop_assert!(!names(&hyphen));
            prop_assert_eq!(names(&other), other.ends_with(&format!(".{suffix}")));
        }

        #[test]
        fn an_exact_rule_names_one_host(one in name(), other in name()) {
            let rule: HostRule = one.parse().unwrap();
            prop_assert_eq!(rule.names(&Host::parse(&other).unwrap()), one == other);
            let longer = format!("{one}.{other}");
            prop_assert!(!rule.names(&Host::parse(&longer).unwrap()));
        }
    }
}
