//! What a command is told that found no server on `localhost`, where this machine has one: a registry or a
//! database that is started beside the session. Commands have a loopback of their own.

use tenon_sandbox::{NetworkEvent, NetworkOutcome, listens_on_loopback};

use super::said::Said;

/// What programs say that found no server.
const COMPLAINTS: [&str; 6] = [
    "connection refused",
    "econnrefused",
    "failed to connect",
    "couldn't connect",
    "could not connect",
    "no matching distribution found",
];

/// How this machine is called.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// So much stands between the name and the port at most: `', port=`.
const BETWEEN_BYTES_MAX: usize = 10;

/// Ports that are looked up: a command that names all is told of no others.
const PORTS_MAX: usize = 3;

/// Returns what is said of such servers, a sentence for each.
pub(super) fn sentences(said: &Said<'_>) -> Vec<String> {
    let printed = said.own();
    let is_silent = said.is_error && printed.trim().is_empty() && !said.is_job;
    if !is_silent && !is_complaint(printed) {
        return Vec::new();
    }
    let mut ports = ports_in(printed);
    if ports.is_empty() {
        ports = ports_in(said.script);
    }
    let known = ports.into_iter().filter(|port| listens_on_loopback(*port));
    let judged = known.filter_map(|port| {
        said.context.sandbox.judge_host(&format!("localhost:{port}")).and_then(|it| sentence(&it))
    });
    judged.collect()
}

fn is_complaint(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    COMPLAINTS.iter().any(|words| text.contains(words))
}

fn sentence(event: &NetworkEvent) -> Option<String> {
    let NetworkOutcome::Refused(_) = &event.outcome else { return None };
    let rule = event.rule_needed()?;
    Some(format!(
        "network: {rule}, if this machine's was meant, is out of reach, since commands have a localhost of their own: \
         --net {rule} would open it to programs that use http_proxy"
    ))
}

/// Returns the first ports of this machine that a text names: `localhost:80`, `127.0.0.1 port 80`, `'::1', port=80`.
fn ports_in(text: &str) -> Vec<u16> {
    let mut ports = Vec::new();
    for (at, name) in NAMES.iter().flat_map(|name| text.match_indices(name)) {
        if ports.len() == PORTS_MAX {
            break;
        }
        let rest = text.get(at + name.len()..).unwrap_or_default();
        let port = port_behind(rest).filter(|port| !ports.contains(port));
        ports.extend(port);
    }
    ports
}

fn port_behind(rest: &str) -> Option<u16> {
    let line = rest.lines().next()?;
    let is_name = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
    if line.starts_with(is_name) {
        return None;
    }
    let behind = line.trim_start_matches([':', '"', '\'', ',', ' ', ']', ')', '/']);
    let behind = behind.strip_prefix("port").unwrap_or(behind).trim_start_matches([' ', '=', ':']);
    if line.len() - behind.len() > BETWEEN_BYTES_MAX {
        return None;
    }
    let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    behind.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_this_machine_are_found() {
        for (text, expected) in [
            (
                "npm error FetchError: request to http://localhost:18765/x failed, reason: connect",
                &[18765][..],
            ),
            ("connect ECONNREFUSED ::1:4873", &[4873]),
            ("curl: (7) Failed to connect to 127.0.0.1 port 8000 after 0 ms", &[8000]),
            ("HTTPConnection(host='127.0.0.1', port=3141): Failed to establish", &[3141]),
            ("redis at 127.0.0.1:6379, then localhost:80, localhost:80", &[80, 6379]),
            ("connect to [::1]:5432", &[5432]),
            ("nc 127.0.0.1 5432", &[5432]),
            ("bash: line 1: /dev/tcp/127.0.0.1/80: Connection refused", &[80]),
            ("connection to server at \"localhost\" (::1), port 5432 failed", &[5432]),
            ("http://localhost/x, 80 times", &[]),
            ("127.0.0.10:80 and localhost.example:80 and localhostess 80", &[]),
            ("localhost", &[]),
            ("localhost:123456", &[]),
            ("localhost:1 localhost:2 localhost:3 localhost:4", &[1, 2, 3]),
        ] {
            assert_eq!(ports_in(text), expected, "{text}");
        }
    }
}
