//! What a command is told that looked for hosts without the proxy, also where the line went on (`|| true`)
//! and in the background.
//!
//! The proxy names what it refuses. Who does not ask it finds no resolver and no route, and says so in
//! words of its own, with the host in them or not. So the host is read from what is printed, or from the
//! script, and only ever named: nobody is asked and nothing is opened by it. What the proxy would not
//! read as a host is none; each sentence is true whenever it is said.

use tenon_sandbox::{HostRule, NetworkEvent, NetworkOutcome, Refusal};

use super::said::Said;
use crate::policy::shell::{self, SimpleCommand, Word};

/// What programs say that did not ask the proxy.
const COMPLAINTS: [&str; 14] = [
    "network is unreachable",
    "network unreachable",
    "enetunreach",
    "could not resolve",
    "unable to resolve host",
    "temporary failure resolving",
    "name resolution",
    "name or service not known",
    "no address associated with hostname",
    "no servers could be reached",
    "unknownhostexception",
    "eai_again",
    "failed to lookup",
    "unknown host ",
];

/// What stands right before the host in such a line, but for quotes.
const BEFORE: [&str; 23] = [
    "could not resolve ",
    "could not resolve host: ",
    "could not resolve hostname ",
    "unable to resolve host address ",
    "failed to resolve ",
    "failure resolving ",
    "enotfound ",
    "eai_again ",
    "enetunreach ",
    "unknownhostexception: ",
    "unknown host ",
    "lookup ",
    "look up ",
    "dial tcp ",
    "translate host name ",
    "getaddrinfo for ",
    "getaddrinfo for host ",
    "connect to ",
    "connect to host ",
    "connection to ",
    "server host ",
    "redis at ",
    "not known (",
];

/// Behind these of them stands a host and nothing else, so that its name needs no dot.
const BEFORE_ANY: [&str; 8] = [
    "could not resolve host: ",
    "could not resolve hostname ",
    "unable to resolve host address ",
    "enotfound ",
    "eai_again ",
    "unknownhostexception: ",
    "translate host name ",
    "getaddrinfo for host ",
];

/// Behind these, if it is in quotes.
const BEFORE_QUOTED: [&str; 2] = ["failed to resolve ", "failure resolving "];

/// Addresses that begin so have a host behind `://`.
const SCHEMES: [&str; 13] = [
    "http",
    "https",
    "ftp",
    "git",
    "ssh",
    "ws",
    "wss",
    "ldap",
    "amqp",
    "mongodb",
    "mysql",
    "postgres",
    "postgresql",
];

/// What stands right behind it in others.
const BEHIND: [&str; 4] = [
    ": network is unreachable",
    ": name or service not known",
    ": temporary failure in name resolution",
    ": no address associated with hostname",
];

/// Programs that look up their arguments, and need not say a word of it.
const LOOKUPS: [&str; 3] = ["host", "dig", "nslookup"];

/// Calls of programming languages whose first argument is a host.
const CALLS: [&str; 2] = ["gethostbyname(", "getaddrinfo("];

/// Lines of output that are looked at, and hosts that are named.
const LINES_MAX: usize = 20;
pub(super) const HOSTS_MAX: usize = 3;

const UNNAMED: &str = "network: if a host was tried: commands reach named hosts only, and only by http_proxy: --net HOST would open one to \
                       programs that use it; ssh and others that do not reach hosts with --net on alone";

/// Returns what is said of hosts that a command did not reach, a sentence for each, be it that it failed or
/// went on.
pub(super) fn sentences(said: &Said<'_>) -> Vec<String> {
    let &Said { script, output, is_error, context, .. } = said;
    if said.is_job && output.pieces.is_empty() {
        return Vec::new();
    }
    let is_silent = output.pieces.iter().all(|piece| piece.text.trim().is_empty());
    let looked = Looked { script, printed: said.own(), is_silent, told: &output.blocked, is_error };
    looked.sentences(|host| context.sandbox.judge_host(host))
}

/// A command and what is known of its end.
struct Looked<'a> {
    script: &'a str,
    /// Without the content of files that it shows.
    printed: &'a str,
    is_silent: bool,
    /// What the proxy refused, which is told anyway.
    told: &'a [NetworkEvent],
    is_error: bool,
}

impl Looked<'_> {
    /// Returns what is said of hosts; `judge` tells what the rules say of one.
    fn sentences(&self, judge: impl Fn(&str) -> Option<NetworkEvent>) -> Vec<String> {
        let &Looked { script, printed, is_silent, told, is_error } = self;
        let complains = is_complaint(printed);
        // What only reads prints the complaints of others.
        let is_ones_own = || is_error || !shell::only_reads(&shell::parse(script));
        if complains && !is_ones_own() || !complains && !is_silent {
            return Vec::new();
        }
        let mut hosts = if complains { printed_in(printed) } else { Vec::new() };
        if hosts.is_empty() && told.is_empty() {
            hosts = named_in(script, complains);
        }
        let is_told = |event: &NetworkEvent| told.iter().any(|told| told.host == event.host);
        let mut said: Vec<String> = Vec::new();
        let judged = hosts.iter().filter_map(|host| Some((host, judge(host)?)));
        for (host, event) in judged.filter(|(_, event)| !is_told(event)) {
            let sentence = sentence(host, &event);
            if said.len() < HOSTS_MAX && !said.contains(&sentence) {
                said.push(sentence);
            }
        }
        if said.is_empty() && complains && is_error && told.is_empty() {
            said.push(UNNAMED.to_owned());
        }
        said
    }
}

/// Says of a host, as it was found, what the rules say of it.
pub(super) fn sentence(found: &str, event: &NetworkEvent) -> String {
    let host = &event.host;
    let is_short = !host.contains(['.', ':']);
    match (&event.outcome, event.rule_needed()) {
        (NetworkOutcome::Refused(Refusal::Denied { by }), _) => {
            format!("network: {host} is closed: the rule net({by}) denies it")
        }
        (NetworkOutcome::Refused(_), Some(rule)) => {
            let (name, rule) = match rule.to_string() {
                // A name of one label is opened with its port alone.
                rule if is_short && rule != found => (host.clone(), format!("{host}:PORT")),
                rule => (rule.clone(), rule),
            };
            let own = if is_short { ", and its address where that is private," } else { "" };
            format!(
                "network: {name}, if it was tried, is out of reach, since commands reach named hosts only, and only by \
                 http_proxy: --net {rule}{own} would open it to programs that use it, --net on alone to ssh \
                 and others that do not"
            )
        }
        _ => format!(
            "network: {host} is open by http_proxy only, to programs that use it; ssh and others \
             that do not reach it with --net on alone"
        ),
    }
}

/// Whether a program says that it reached no host.
pub(super) fn is_complaint(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    // As a word of its own: `ModuleNotFoundError` is none.
    let mut codes = text.match_indices("enotfound");
    let is_code = |at: usize| !text.get(..at).unwrap_or_default().ends_with(char::is_alphanumeric);
    COMPLAINTS.iter().any(|words| text.contains(words)) || codes.any(|(at, _)| is_code(at))
}

/// Returns the hosts in what was printed.
fn printed_in(printed: &str) -> Vec<String> {
    let lines = printed.lines().filter(|line| is_complaint(line)).take(LINES_MAX);
    let mut hosts: Vec<String> = lines.flat_map(complained_of).collect();
    // A trace shows the line of the program that failed.
    hosts.extend(called_in(printed));
    hosts
}

fn complained_of(line: &str) -> Vec<String> {
    // With places as in the line.
    let small = line.to_ascii_lowercase();
    let quotes = ['\'', '"', '`', '‘', '“'];
    let rests = |words: &[&str]| -> Vec<&str> {
        let ends = words.iter().flat_map(|words| small.match_indices(words));
        ends.filter_map(|(at, words)| line.get(at + words.len()..)).collect()
    };
    let host = |rest: &str, any| host_at(rest.trim_start_matches(quotes), any);
    let mut hosts: Vec<String> =
        rests(&BEFORE).into_iter().filter_map(|rest| host(rest, false)).collect();
    hosts.extend(rests(&BEFORE_ANY).into_iter().filter_map(|rest| host(rest, true)));
    let quoted = rests(&BEFORE_QUOTED).into_iter().filter(|rest| rest.starts_with(quotes));
    hosts.extend(quoted.filter_map(|rest| host(rest, true)));
    for at in BEHIND.iter().filter_map(|words| small.find(words)) {
        // The first word would be the program that speaks.
        let word = line.get(..at).and_then(|front| front.rsplit_once(' ')).map(|(_, word)| word);
        hosts.extend(word.and_then(|word| whole_host(word, false)));
    }
    hosts.extend(addresses_in(line));
    let mut known = Vec::new();
    hosts.retain(|host| {
        let is_new = !known.contains(host);
        known.push(host.clone());
        is_new
    });
    hosts
}

/// Returns the hosts that a script names: those that it looks up, and if it `complains` all.
fn named_in(script: &str, complains: bool) -> Vec<String> {
    let commands = shell::parse(script).commands;
    let mut hosts: Vec<String> = commands.iter().flat_map(looked_up).collect();
    if complains {
        hosts.extend(addresses_in(script));
        hosts.extend(called_in(script));
        let words = commands.iter().flat_map(|command| command.arguments());
        let words = words.filter_map(Word::literal).filter_map(|word| whole_host(word, false));
        hosts.extend(words.filter(|host| host.contains(':')));
    }
    hosts
}

fn looked_up(command: &SimpleCommand) -> Vec<String> {
    let arguments: Vec<&str> = command.arguments().iter().filter_map(Word::literal).collect();
    let (names, any) = match (command.program(), arguments.as_slice()) {
        (Some("getent"), [database, names @ ..])
            if database.trim_start_matches('a').starts_with("hosts") =>
        {
            (names, true)
        }
        (Some(program), names) if LOOKUPS.contains(&program) => (names, false),
        _ => (&[][..], false),
    };
    names.iter().filter_map(|name| whole_host(name, any)).collect()
}

/// Returns the hosts of addresses such as `https://user@example.com:8443/path`.
fn addresses_in(text: &str) -> impl Iterator<Item = String> {
    text.match_indices("://").filter_map(|(at, mark)| {
        let rest = text.get(at + mark.len()..)?;
        let is_end = |c: char| c.is_whitespace() || "/?#'\"`)>,".contains(c);
        let place = rest.split(is_end).next()?;
        let scheme = text.get(..at)?.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
        let host = host_at(place.rsplit('@').next()?, SCHEMES.contains(&scheme))?;
        let port = match scheme {
            "http" => ":80",
            "https" => ":443",
            _ => "",
        };
        let is_short = !host.contains(['.', ':']);
        Some(if is_short { host + port } else { host })
    })
}

/// Returns the hosts that code names: `("example.com", 443)`, `gethostbyname('example.com')`.
fn called_in(text: &str) -> Vec<String> {
    // A quote within quotes of the shell has a backslash.
    let pieces: Vec<&str> = text.split(['"', '\'']).map(|it| it.trim_end_matches('\\')).collect();
    let mut hosts = Vec::new();
    for window in pieces.windows(3) {
        let [before, name, behind] = *window else { continue };
        let port = behind.trim_start().strip_prefix(',').unwrap_or_default().trim_start();
        let digits = port.find(|c: char| !c.is_ascii_digit()).unwrap_or(port.len());
        match port.get(..digits) {
            Some(port) if !port.is_empty() => {
                hosts.extend(whole_host(&format!("{name}:{port}"), false))
            }
            _ if CALLS.iter().any(|call| before.ends_with(call)) => {
                hosts.extend(whole_host(name, true))
            }
            _ => {}
        }
    }
    hosts
}

/// Returns the host that a word is, or `/dev/tcp/HOST/PORT` means; not what looks like a class.
pub(super) fn whole_host(word: &str, any: bool) -> Option<String> {
    let word = match word.strip_prefix("/dev/tcp/").or_else(|| word.strip_prefix("/dev/udp/")) {
        Some(place) => place.replacen('/', ":", 1),
        None => word.to_owned(),
    };
    let is_small = !word.contains(|c: char| c.is_ascii_uppercase());
    host_at(&word, any).filter(|host| is_small && *host == word)
}

/// Returns the host at the beginning of a text, with its port if there is one: a name with a dot, or one
/// with a port, or `any` name in small letters, or an address with a port, and not this machine as commands
/// have their own.
fn host_at(text: &str, any: bool) -> Option<String> {
    let is_of_host = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
    let end = text.find(|c: char| !is_of_host(c)).unwrap_or(text.len());
    let (found, rest) = text.split_at_checked(end)?;
    // Only a part of something else.
    if rest.starts_with(|c: char| c.is_alphanumeric() || "_@%*=".contains(c)) {
        return None;
    }
    let mut host = found.trim_end_matches([':', '.', ']']).to_owned();
    if found.trim_end_matches([':', '.']).ends_with(']') {
        host.push(']');
    }
    if let Some(port) = rest.strip_prefix(" port ") {
        let digits = port.find(|c: char| !c.is_ascii_digit()).unwrap_or(port.len());
        host = format!("{host}:{}", port.get(..digits)?);
    }
    let has_port = host.parse::<HostRule>().ok()?.port().is_some();
    let name = if has_port { host.rsplit_once(':')?.0 } else { &host };
    let address: Option<std::net::IpAddr> = name.trim_matches(['[', ']']).parse().ok();
    let is_said = match address {
        Some(address) => has_port && !address.is_loopback() && !address.is_unspecified(),
        None => {
            let is_small = name.starts_with(|c: char| c.is_ascii_lowercase())
                && !name.contains(|c: char| c.is_ascii_uppercase());
            name != "localhost" && (has_port || name.contains('.') || any && is_small)
        }
    };
    is_said.then_some(host)
}

#[cfg(test)]
mod tests {
    use tenon_sandbox::{Output, Proxy, ProxyOptions};

    use super::*;

    fn check(script: &str, printed: &str, expected: &[&str]) {
        let hosts = printed_in(printed);
        let hosts = if hosts.is_empty() { named_in(script, is_complaint(printed)) } else { hosts };
        let mut hosts = hosts.iter().map(String::as_str).collect::<Vec<_>>();
        hosts.dedup();
        assert_eq!(hosts, expected, "{script:?} {printed:?}");
    }

    #[test]
    fn hosts_are_found_in_what_is_printed() {
        for (line, expected) in [
            ("curl: (6) Could not resolve host: example.com", "example.com"),
            (
                "ssh: Could not resolve hostname a.example.com: Temporary failure in name resolution",
                "a.example.com",
            ),
            ("  [cause]: Error: getaddrinfo EAI_AGAIN example.com", "example.com"),
            ("Error: getaddrinfo ENOTFOUND example.com example.com:443", "example.com"),
            ("Error: connect ENETUNREACH 192.0.2.7:443 - Local (0.0.0.0:0)", "192.0.2.7:443"),
            ("Caused by: java.net.UnknownHostException: example.com", "example.com"),
            (
                "java.net.UnknownHostException: example.com: Name or service not known",
                "example.com",
            ),
            (
                "dial tcp: lookup example.com on 192.0.2.53:53: dial udp 192.0.2.53:53: connect: network is unreachable",
                "example.com",
            ),
            ("dial tcp 192.0.2.7:443: connect: network is unreachable", "192.0.2.7:443"),
            (
                "psql: error: could not translate host name \"db.example.com\" to address: Temporary failure in name resolution",
                "db.example.com",
            ),
            (
                "nc: getaddrinfo for host \"example.com\" port 443: Temporary failure in name resolution",
                "example.com",
            ),
            ("ssh: connect to host 192.0.2.7 port 22: Network is unreachable", "192.0.2.7:22"),
            ("bash: line 1: example.com: Temporary failure in name resolution", "example.com"),
            ("bash: line 1: /dev/tcp/192.0.2.7/80: Network is unreachable", "192.0.2.7:80"),
            (
                "Could not connect to Redis at example.com:6379: Temporary failure in name resolution",
                "example.com:6379",
            ),
            (
                "Failed to open TCP connection to example.com:443 (getaddrinfo: Temporary failure in name resolution)",
                "example.com:443",
            ),
            (
                "HTTPSConnectionPool(host='x', port=443): Failed to resolve 'example.com' ([Errno -3] Temporary failure in name resolution)",
                "example.com",
            ),
            (
                "Cannot connect to host [2001:db8::7]:443 ssl:default [Network is unreachable]",
                "[2001:db8::7]:443",
            ),
            (
                "System.Net.Http.HttpRequestException: Name or service not known (example.com:443)",
                "example.com:443",
            ),
            (
                "error sending request for url (https://u@example.com:8443/a): name resolution failed",
                "example.com:8443",
            ),
            ("curl: (6) Could not resolve host: intranet", "intranet"),
            ("getaddrinfo ENOTFOUND db", "db"),
            ("Failed to resolve 'intranet' ([Errno -3] name resolution failed)", "intranet"),
            ("E: Temporary failure resolving 'mirror'", "mirror"),
            ("wget: unable to resolve host address ‘intranet’", "intranet"),
            ("error for url (http://intranet/a): name resolution failed", "intranet:80"),
            (
                "    sock.connect((\"example.com\", 443))\nsocket.gaierror: [Errno -3] Temporary failure in name resolution",
                "example.com:443",
            ),
        ] {
            check("", line, &[expected]);
        }
    }

    #[test]
    fn what_the_proxy_would_not_read_as_a_host_is_not_named() {
        for line in [
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "java.net.SocketException: Network is unreachable",
            "fetch.sh: Network is unreachable",
            "Could not resolve host: localhost",
            "getaddrinfo ENOTFOUND This is a problem related to network connectivity",
            "could not resolve dependencies: Network is unreachable",
            "s3://bucket/x: Temporary failure in name resolution",
            "getaddrinfo ENOTFOUND bücher.example",
            "getaddrinfo ENOTFOUND my_bucket.example.com",
            "getaddrinfo ENOTFOUND *.example.com",
            "getaddrinfo ENOTFOUND example.com@evil.org",
            "getaddrinfo ENOTFOUND 127.1",
            "connect ENETUNREACH 127.0.0.1:80",
            "connect ENETUNREACH 192.0.2.7",
            "x failed to lookup address information: Temporary failure in name resolution",
            "version 1.2.3 is at example.com",
        ] {
            check("", line, &[]);
        }
    }

    #[test]
    fn hosts_are_found_in_the_script_where_none_is_printed() {
        let failed = "gaierror: Temporary failure in name resolution";
        check("getent hosts example.com", "", &["example.com"]);
        check("getent ahostsv4 example.com || exit 2", "", &["example.com"]);
        check("getent hosts intranet", "", &["intranet"]);
        check("./fetch http://intranet/x", failed, &["intranet:80"]);
        check("getent passwd ada.lovelace; cat notes.txt", "", &[]);
        check(
            "dig +short @192.0.2.53 example.com",
            "no servers could be reached",
            &["example.com"],
        );
        check(
            "python3 -c \"import socket as s; s.create_connection((\\\"example.com\\\", 443))\"",
            failed,
            &["example.com:443"],
        );
        check(
            "python3 -c 'import socket; socket.gethostbyname(\"a.example\")'",
            failed,
            &["a.example"],
        );
        check("./fetch https://u:p@example.com:8443/x", failed, &["example.com:8443"]);
        check(
            "openssl s_client -connect example.com:443 -CAfile ca.pem",
            failed,
            &["example.com:443"],
        );
        check("python3 fetch.py", failed, &[]);
        check("curl https://example.com", "", &[]);
    }

    fn said(script: &str, printed: &str, rules: (&[&str], &[&str])) -> Vec<String> {
        let proxy = Proxy::new(ProxyOptions::default());
        let parse = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
        proxy.allow(parse(rules.0));
        proxy.deny(parse(rules.1));
        let mut output = crate::tools::testing::printed(printed, 1);
        output.blocked.extend(proxy.judge("told.example"));
        output.blocked.retain(|_| printed.contains("told.example"));
        sentences_of(script, &output, 1, &proxy)
    }

    fn sentences_of(script: &str, output: &Output, code: i32, proxy: &Proxy) -> Vec<String> {
        let (printed, told) = (output.pieces[0].text.as_str(), &output.blocked[..]);
        let (is_silent, is_error) = (printed.is_empty(), code != 0);
        let looked = Looked { script, printed, is_silent, told, is_error };
        looked.sentences(|host| proxy.judge(host).ok())
    }

    #[test]
    fn a_host_is_named_also_where_the_line_went_on() {
        let proxy = Proxy::new(ProxyOptions::default());
        let failed = "curl: (6) Could not resolve host: example.com\n";
        let count = |script: &str, printed: &str| {
            let output = crate::tools::testing::printed(printed, 0);
            sentences_of(script, &output, 0, &proxy).len()
        };
        assert_eq!(count("curl --noproxy '*' https://example.com || true", failed), 1);
        assert_eq!(count("getent hosts example.com || true", ""), 1);
        assert_eq!(count("./run.sh", "gaierror: Temporary failure in name resolution"), 0);
        assert_eq!(count("cat build.log", failed), 0);
        assert_eq!(count("grep -r resolve logs | head", failed), 0);
        assert_eq!(count("make", "all done"), 0);
    }

    #[test]
    fn each_is_told_with_what_would_open_it() {
        let failed = |host: &str| format!("getaddrinfo EAI_AGAIN {host}\n");
        let check = |printed: &str, rules, expected: &[&str]| {
            let found = said("", printed, rules);
            let starts = found.iter().zip(expected).all(|(one, start)| one.starts_with(start));
            assert!(starts && found.len() == expected.len(), "{printed} {found:?}");
        };
        let open = "network: example.com, if it was tried, is out of reach, since commands reach named hosts only, and \
                    only by http_proxy: --net example.com would open it to programs that use it, \
                    --net on alone to ssh and others that do not";
        assert_eq!(said("", &failed("example.com"), (&[], &[])), [open]);
        let allowed = "network: example.com is open by http_proxy only";
        check(&failed("Example.com"), (&["example.com"], &[]), &[allowed]);
        let denied = "network: a.example.com is closed: the rule net(*.example.com) denies it";
        check(&failed("a.example.com"), (&["a.example.com"], &["*.example.com"]), &[denied]);
        let own = "network: 10.0.0.5:5432, if it was tried, is out of reach";
        check("connect ENETUNREACH 10.0.0.5:5432", (&[], &[]), &[own]);
        check(&failed("told.example"), (&[], &[]), &[]);
        check(
            &(failed("told.example") + &failed("b.example")),
            (&[], &[]),
            &["network: b.example"],
        );
        check(&failed("db"), (&[], &[]), &["network: db, if it was tried"]);
        let short = &said("", &failed("db"), (&[], &[]))[0];
        assert!(short.contains("--net db:PORT, and its address where that is private,"), "{short}");
        check(&failed("localhost"), (&[], &[]), &[UNNAMED]);
        let many: String = (0..9).map(|number| failed(&format!("h{number}.example"))).collect();
        assert_eq!(said("", &many, (&[], &[])).len(), HOSTS_MAX);
        assert_eq!(said("getent hosts example.com", "", (&[], &[])), [open]);
        assert_eq!(said("getent hosts example.com", "no such key", (&[], &[])), [""; 0]);
    }
}
