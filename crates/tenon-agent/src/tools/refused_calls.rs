//! What a command is told of the system calls that it was refused, as the kernel itself says.
//!
//! Programs also try for sockets and go on without, so of those not each is worth a sentence.

use tenon_sandbox::{INTERNET_SOCKETS, OTHER_SOCKETS, PATH_SOCKETS};

use super::unreached::is_complaint;
use crate::policy::shell;

/// What is said of what is not to be opened.
pub(super) const DENIED: [&str; 2] = ["permission denied", "eacces"];

/// What programs say that tried for a socket and were told that there is no such kind.
const FAMILIES: [&str; 2] = ["address family not supported", "eafnosupport"];

/// Has one of the words of sockets in it, and is of a trace of Node's.
const BINDING: &str = "binding";

/// What programs say that got no socket with a path.
pub(super) const PATH_SOCKETS_TOO: [&str; 4] = ["socket", "connect", "bind", "listen eacces"];

/// Programs that try for an internet socket only to speak to a host. Others look in passing whether
/// there are any, as `pip list` does.
const CLIENTS: [&str; 17] = [
    "curl", "wget", "aria2c", "http", "https", "xh", "git", "ssh", "scp", "sftp", "rsync", "nc",
    "ncat", "telnet", "ping", "dig", "host",
];

pub(super) const SOCKETS_HELD: &str = "network: commands in tier C have no sockets to this machine or others; --net on would \
                                       open the network";
pub(super) const PATH_SOCKETS_HELD: &str = "sockets: commands in tier C have no sockets with a path but pairs that a process \
                                            makes and hands on; --net on would open them";

/// Returns those of the system calls that were refused that are worth telling of a command that ran
/// `script` and printed `text`.
pub(super) fn worth_telling(
    mut refused: Vec<&'static str>,
    is_error: bool,
    text: &str,
    script: &str,
) -> Vec<&'static str> {
    let is_of_others = [INTERNET_SOCKETS, OTHER_SOCKETS].iter().any(|it| refused.contains(it));
    let text = text.to_lowercase();
    let says = |text: &str, words: &[&str]| words.iter().any(|words| text.contains(words));
    let may_be_paths = |line: &str| {
        // Every look for a user's name tries for a socket with a path.
        let line = line.replace(BINDING, "");
        says(&line, &PATH_SOCKETS_TOO) && (is_error || says(&line, &DENIED))
    };
    // With `-s` and the like nothing is said of it.
    let is_silent = || text.trim().is_empty() || runs_client(script);
    refused.retain(|what| match *what {
        INTERNET_SOCKETS => is_error || says(&text, &DENIED) || is_complaint(&text) || is_silent(),
        OTHER_SOCKETS => is_error || says(&text, &FAMILIES),
        PATH_SOCKETS => !is_of_others && text.lines().any(may_be_paths),
        _ => true,
    });
    refused
}

fn runs_client(script: &str) -> bool {
    let commands = shell::parse(script).commands;
    commands.iter().filter_map(|command| command.program()).any(|name| CLIENTS.contains(&name))
}

/// Returns sentences about system calls that were refused.
pub(super) fn sentences(refused: &[&str]) -> Vec<String> {
    let (mut others, mut sockets) = (Vec::new(), Vec::new());
    for what in refused {
        match *what {
            INTERNET_SOCKETS => sockets.push(SOCKETS_HELD.to_owned()),
            PATH_SOCKETS => sockets.push(PATH_SOCKETS_HELD.to_owned()),
            what => others.push(what),
        }
    }
    let what = others.join(", ");
    let sentence = format!("system calls: the walls refuse {what}; --sandbox off would lift them");
    (!others.is_empty()).then_some(sentence).into_iter().chain(sockets).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internet_sockets_are_told_of_a_command_that_is_silent_or_a_client() {
        let check = |script: &str, text: &str, is_told: bool| {
            let told = worth_telling(vec![INTERNET_SOCKETS], false, text, script);
            assert_eq!(!told.is_empty(), is_told, "{script} {text}");
        };
        check("curl -s http://example.com || true", "", true);
        check("./update.sh", "\n", true);
        check("curl -s http://example.com || echo failed", "failed", true);
        check("code=$(curl -so x -w '%{http_code}' http://example.com); echo $code", "000", true);
        check("bash -c 'git fetch -q || echo offline'", "offline", true);
        check("pip list", "pip 25.0", false);
        check("./serve || echo none", "none", false);
    }

    #[test]
    fn a_binding_of_nodes_is_no_socket() {
        let check = |text: &str, is_told: bool| {
            let told = worth_telling(vec![PATH_SOCKETS], true, text, "node a.js");
            assert_eq!(!told.is_empty(), is_told, "{text}");
        };
        check("  const result = binding.readdir(\nError: EACCES: permission denied", false);
        check("bind: Permission denied", true);
    }
}
