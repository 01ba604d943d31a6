//! What a command that failed is told when what it printed says that walls stood in its way.
//!
//! The kernel refuses without a word for people, so programs say "Read-only file system" and
//! "Network is unreachable". Read from words, so it promises nothing; each sentence is true
//! whenever it is said.

use tenon_sandbox::{Network, Output, Stream};

/// What programs say of a file that the walls keep from changing.
const FILES: [&str; 2] = ["read-only file system", "erofs"];

/// The same where Landlock alone holds files; other refusals have the same words.
const FILES_IN_C: [&str; 3] = ["permission denied", "operation not permitted", "eacces"];

/// What programs say that did not ask the proxy.
const NETWORK: [&str; 8] = [
    "network is unreachable",
    "enetunreach",
    "could not resolve",
    "name resolution",
    "name or service not known",
    "enotfound",
    "eai_again",
    "failed to lookup",
];

/// What programs say that got no socket.
const SOCKETS: [&str; 4] = ["socket", "resolv", "resolution", "connect"];

const FILES_HELD: &str = "files: outside of the workspace commands write only in private temporary \
                          folders, and nowhere to a protected name; --add-dir FOLDER would add a folder";
const NETWORK_HELD: &str =
    "network: commands reach named hosts only, through http_proxy; --net HOST would open one";
const SOCKETS_HELD: &str = "commands reach no network in tier C; --net on would open it";

/// Returns sentences for a command that ran inside walls with `network`, if there is reason to say
/// some. `text` is what is shown of its output.
pub(super) fn sentences(
    output: &Output,
    text: &str,
    is_error: bool,
    network: Network,
) -> Vec<&'static str> {
    let mut complaints = String::new();
    for piece in output.pieces.iter().filter(|piece| piece.stream == Stream::Error) {
        complaints.push_str(&piece.text.to_lowercase());
    }
    if is_error {
        complaints.push_str(&text.to_lowercase());
    }
    let says = |words: &[&str]| words.iter().any(|words| complaints.contains(words));
    let mut sentences = Vec::new();
    if says(&FILES) || !output.has_sockets && says(&FILES_IN_C) {
        sentences.push(FILES_HELD);
    }
    if is_error && !output.has_sockets && says(&SOCKETS) {
        sentences.push(SOCKETS_HELD);
    } else if is_error && network != Network::On && output.blocked.is_empty() && says(&NETWORK) {
        sentences.push(NETWORK_HELD);
    }
    sentences
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenon_sandbox::{Exit, Piece};

    use super::*;

    fn check(text: &str, code: i32, has_sockets: bool, expected: &[&str]) {
        let piece = Piece { stream: Stream::Error, text: text.into(), left_out_bytes_before: 0 };
        let output = Output {
            exit: Exit::Code(code),
            pieces: vec![piece],
            bytes_total: 0,
            left_out_bytes: 0,
            spilled_to: None,
            duration: Duration::ZERO,
            limit: None,
            protected: Vec::new(),
            blocked: Vec::new(),
            has_sockets,
        };
        let said = sentences(&output, text, code != 0, Network::Proxied);
        assert_eq!(said, expected, "{text}");
    }

    #[test]
    fn what_walls_refuse_is_explained() {
        let file = "bash: line 1: /etc/x: Read-only file system";
        check(file, 1, true, &[FILES_HELD]);
        check(file, 0, true, &[FILES_HELD]);
        check("bash: /etc/x: Permission denied", 1, true, &[]);
        check("bash: /etc/x: Permission denied", 1, false, &[FILES_HELD]);
        check("OSError: [Errno 101] Network is unreachable", 1, true, &[NETWORK_HELD]);
        check("Could not resolve host: example.com", 6, true, &[NETWORK_HELD]);
        check("Could not resolve host: example.com", 0, true, &[]);
        check("socket: Operation not supported", 1, false, &[SOCKETS_HELD]);
        check("error: test failed", 101, true, &[]);
    }
}
