//! What a command is told of the system calls that it was refused, as the kernel itself says.
//!
//! Programs also try for sockets and go on without, so of those not each is worth a sentence.

use tenon_sandbox::{INTERNET_SOCKETS, OTHER_SOCKETS, PATH_SOCKETS, SET_ID_BITS, runs_as_root};

use super::unreached::is_complaint;
use crate::policy::shell::{self, SimpleCommand};

/// What is said of what is not to be opened.
pub(super) const DENIED: [&str; 2] = ["permission denied", "eacces"];

/// What programs say that tried for a socket and were told that there is no such kind.
const FAMILIES: [&str; 2] = ["address family not supported", "eafnosupport"];

/// Words of those that got no socket. `binding` is of a trace of Node's.
const WORDS: [&str; 9] = [
    "socket",
    "sockets",
    "_socket",
    "connect",
    "connecting",
    "connection",
    "bind",
    "listen",
    "listener",
];

/// What they say of it somewhere, where they failed. Of a connection that is refused another program speaks.
pub(super) const SOCKETS_FAIL: [&str; 10] = [
    "denied",
    "not supported",
    "not permitted",
    "eacces",
    "eperm",
    "unreachable",
    "failed to",
    "unable to",
    "cannot connect",
    "could not connect",
];

/// The longest end of a file's name that is known as one: `socket.json`.
const END_MAX: usize = 4;

/// What takes root's rights, walls or not: in a namespace of its own, which the walls refuse by itself, an
/// ordinary user has them.
const OF_ROOT: [&str; 3] = [
    "mounting",
    "changing the root folder (chroot)",
    "setting the clock or the name of the machine",
];

/// Programs that try for an internet socket only to speak to a host. Others look in passing whether
/// there are any, as `pip list` does.
const CLIENTS: [&str; 17] = [
    "curl", "wget", "aria2c", "http", "https", "xh", "git", "ssh", "scp", "sftp", "rsync", "nc",
    "ncat", "telnet", "ping", "dig", "host",
];

/// Programs that speak to hosts for these of their subcommands, or whatever they are told: of all their words, what
/// begins with one. Some of them also look in passing whether there are internet sockets, or ask a host for advice
/// and go on without.
const SUBCOMMANDS: [(&[&str], &[&str]); 11] = [
    (&["pip"], &["install", "download", "wheel"]),
    (
        &["npm", "pnpm", "yarn", "bun"],
        &[
            "install", "i", "in", "ci", "add", "update", "up", "upgrade", "view", "info", "show",
            "search", "outdated", "audit", "publish", "dlx", "create", "init",
        ],
    ),
    (&["npx", "pnpx", "bunx", "uvx", "pipx", "gh", "glab"], &[]),
    (&["uv"], &["pip install", "pip sync", "pip compile", "sync", "add", "lock", "tool install"]),
    (&["poetry"], &["install", "add", "update", "lock"]),
    (&["cargo"], &["install", "add", "fetch", "update", "search", "publish"]),
    (&["go"], &["get", "install", "mod download", "mod tidy"]),
    (&["gem"], &["install", "update", "fetch"]),
    (&["bundle"], &["install", "update", "add"]),
    (&["apt", "apt-get"], &["update", "install", "upgrade", "dist-upgrade", "download"]),
    (&["composer"], &["install", "require", "update"]),
];

/// Words with which programs say that they failed, but for how many did: `0 failed`.
const FAILS: [&str; 12] = [
    "fail",
    "fails",
    "failed",
    "failure",
    "error",
    "errors",
    "err",
    "unable",
    "cannot",
    "couldn't",
    "offline",
    "unreachable",
];
const NONE: [&str; 3] = ["0", "no", "without"];

/// How a line begins that warns of something else.
const WARNS: [&str; 2] = ["npm warn", "warning"];

/// What pip says in the end where it reached no host, also of one that has no such package.
const NO_PACKAGE: &str = "no matching distribution found";

/// Stands in front of what a line says in the place of a program that failed.
const OR_SAYS: &str = "|| echo ";

pub(super) const SOCKETS_HELD: &str = "network: commands in tier C have no sockets to this machine or others; --net on would \
                                       open the network";
pub(super) const PATH_SOCKETS_HELD: &str = "sockets: commands in tier C have no sockets with a path but pairs that a process \
                                            makes and hands on; --net on would open them";

pub(super) const BITS_HELD: &str = "rights: commands give no file the set-user-id or set-group-id bit (folders get the second \
                                    where undo records); --sandbox off would let them";

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
    // Every look for a user's name tries for a socket with a path.
    let may_be_paths = |line: &str| {
        let fails = if is_error { says(&text, &SOCKETS_FAIL) } else { says(line, &DENIED) };
        fails && names_sockets(line)
    };
    // With `-s` and the like nothing is said of it.
    let is_silent = || text.trim().is_empty() || runs_client(script);
    refused.retain(|what| match *what {
        what if OF_ROOT.contains(&what) => runs_as_root(),
        INTERNET_SOCKETS => {
            is_error
                || says(&text, &DENIED)
                || is_complaint(&text)
                || text.contains(NO_PACKAGE)
                || is_silent()
                || says_failed(script, &text) && runs_subcommand(script)
        }
        OTHER_SOCKETS => is_error || says(&text, &FAMILIES),
        PATH_SOCKETS => !is_of_others && text.lines().any(may_be_paths),
        _ => true,
    });
    refused
}

/// Whether a line in small letters has a word of sockets.
pub(super) fn names_sockets(line: &str) -> bool {
    let line = without_files(line);
    let is_sign = |sign: char| !sign.is_alphanumeric() && sign != '_';
    line.split(is_sign).any(|word| WORDS.contains(&word))
}

/// Returns a line without paths and names of files in it: those have the words of sockets, too.
pub(super) fn without_files(line: &str) -> String {
    let is_file = |word: &&str| {
        let of_place = |sign: char| sign.is_ascii_digit() || "'\"`()[]:,;".contains(sign);
        let name = word.trim_matches(of_place);
        let is_of_name = |sign: char| sign.is_alphanumeric() || "_-.:".contains(sign);
        let is_end = |end: &str| (1..=END_MAX).contains(&end.len());
        // Of pytest: `test_socket.py::test_a`.
        let file = name.split("::").next().unwrap_or(name);
        word.contains('/')
            || name.chars().all(is_of_name)
                && file.rsplit_once('.').is_some_and(|(_, end)| is_end(end))
    };
    line.split_whitespace().filter(|word| !is_file(word)).collect::<Vec<_>>().join(" ")
}

fn runs_client(script: &str) -> bool {
    let commands = shell::parse(script).commands;
    commands.iter().filter_map(|command| command.program()).any(|name| CLIENTS.contains(&name))
}

/// Whether a script runs a program with a subcommand that speaks to hosts.
fn runs_subcommand(script: &str) -> bool {
    shell::parse(script).commands.iter().any(speaks_to_hosts)
}

fn speaks_to_hosts(command: &SimpleCommand) -> bool {
    let is_of_version = |sign: char| sign.is_ascii_digit() || sign == '.';
    let words = command.arguments().iter().map(|word| word.literal().unwrap_or("…"));
    let mut words: Vec<&str> = words.collect();
    let mut program = command.program().unwrap_or_default().trim_end_matches(is_of_version);
    if let ("python", ["-m", module, ..]) = (program, words.as_slice()) {
        program = *module;
        words.drain(..2);
    }
    let is_option = |word: &str| word.starts_with(['-', '+']);
    let mut begins = words.iter().position(|word| !is_option(word)).into_iter().collect::<Vec<_>>();
    // What stands behind an option may be its value.
    begins.extend(begins.first().filter(|at| **at > 0).map(|at| at + 1));
    let told: Vec<String> =
        begins.iter().filter_map(|at| Some(words.get(*at..)?.join(" "))).collect();
    SUBCOMMANDS.iter().filter(|(programs, _)| programs.contains(&program)).any(|(_, known)| {
        let is_known = |told: &String| {
            let rests = known.iter().filter_map(|known| told.strip_prefix(known));
            rests.into_iter().any(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        known.is_empty() || told.iter().any(is_known)
    })
}

/// Whether a text in small letters says that something failed, or what `script` says in the place of that.
fn says_failed(script: &str, text: &str) -> bool {
    let trimmed = |word: &str| word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_owned();
    let fails = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(trimmed).collect();
        words.iter().enumerate().any(|(at, word)| {
            let is_none = |at: Option<usize>| {
                at.and_then(|at| words.get(at)).is_some_and(|word| NONE.contains(&word.as_str()))
            };
            FAILS.contains(&word.as_str()) && !is_none(at.checked_sub(1)) && !is_none(Some(at + 1))
        })
    };
    let mut lines = text.lines().filter(|line| !WARNS.iter().any(|words| line.starts_with(words)));
    let script = script.to_lowercase();
    let mut instead = script.split(OR_SAYS).skip(1).filter_map(|rest| {
        let said = rest.split([';', '&', '|', '\n', ')']).next()?.trim().trim_matches(['\'', '"']);
        (!said.is_empty()).then_some(said)
    });
    lines.any(fails) || instead.any(|said| text.lines().any(|line| line.trim() == said))
}

/// Whether a script has a mode with one of these bits: `4755` or `g+s`.
pub(super) fn asks_for_bits(script: &str) -> bool {
    let is_in_number = |word: &str| {
        let number = u32::from_str_radix(word.trim_start_matches("0o"), 8);
        matches!(word.len(), 4..=6) && number.is_ok_and(|mode| mode < 1 << 12 && mode & 0o6000 != 0)
    };
    let is_in_letters = |word: &str| {
        word.split_once(['+', '=']).is_some_and(|(who, what)| {
            let are = |letters: &str, known: &str| letters.chars().all(|one| known.contains(one));
            are(who, "ugoa") && what.contains('s') && are(what, "rwxXst")
        })
    };
    let is_sign = |sign: char| sign.is_whitespace() || ",;&|()'\"".contains(sign);
    script.split(is_sign).any(|word| is_in_number(word) || is_in_letters(word))
}

/// Returns sentences about system calls that were refused.
pub(super) fn sentences(refused: &[&str]) -> Vec<String> {
    let (mut others, mut own) = (Vec::new(), Vec::new());
    for what in refused {
        match *what {
            INTERNET_SOCKETS => own.push(SOCKETS_HELD.to_owned()),
            PATH_SOCKETS => own.push(PATH_SOCKETS_HELD.to_owned()),
            SET_ID_BITS => own.push(BITS_HELD.to_owned()),
            what => others.push(what),
        }
    }
    let what = others.join(", ");
    let sentence = format!("system calls: the walls refuse {what}; --sandbox off would lift them");
    (!others.is_empty()).then_some(sentence).into_iter().chain(own).collect()
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
    fn internet_sockets_are_told_of_subcommands_that_speak_to_hosts_and_fail() {
        let check = |script: &str, text: &str, is_told: bool| {
            let told = worth_telling(vec![INTERNET_SOCKETS], false, text, script);
            assert_eq!(!told.is_empty(), is_told, "{script} {text}");
        };
        let none = "ERROR: No matching distribution found for requests";
        for (script, text) in [
            ("v/bin/pip install --retries 0 requests 2>&1 | tail -2", none),
            ("make deps 2>&1 | tail -1", none),
            ("pip3.12 install requests || echo none", "none"),
            ("python3 -m pip download requests || echo 'Went on'", "Went on"),
            ("npm i --silent left-pad || echo failed", "failed"),
            ("npm --prefix web ci 2>&1 | tail -1", "npm error A complete log is in x"),
            ("npx cowsay || echo failed", "failed"),
            ("cd a && uv pip install x || echo failed", "failed"),
            ("cargo +nightly fetch 2>&1 | tail -1", "error: x"),
            ("go get example.com/x || echo failed", "failed"),
            ("gh pr list 2>&1 | cat", "error connecting to api.github.com"),
            ("apt-get update 2>&1 | tail -1", "W: Failed to fetch x"),
        ] {
            check(script, text, true);
        }
        for (script, text) in [
            ("pip install -e . 2>&1 | tail -1", "Successfully installed error-1.0 failed-2.0"),
            ("pip install -e . && pytest | tail -1", "3 passed, 0 failed, no errors"),
            ("pip list || echo failed", "failed"),
            ("npm ci", "npm warn deprecated x: failed to\nadded 5 packages in 1s"),
            ("npm ci || echo none", "added 5 packages, none audited"),
            ("npm test | tail -1", "1 failed"),
            ("npm run install || echo failed", "failed"),
            ("cargo build 2>&1 | tail -1; cargo test", "error: x"),
            ("cargo fetch; cargo test", "test result: ok. 5 passed; 0 failed"),
            ("go build ./... || echo failed", "failed"),
            ("uv pip list || echo failed", "failed"),
        ] {
            check(script, text, false);
        }
    }

    #[test]
    fn what_only_has_the_words_of_sockets_is_none() {
        let check = |text: &str, is_told: bool| {
            let told = worth_telling(vec![PATH_SOCKETS], true, text, "node a.js");
            assert_eq!(!told.is_empty(), is_told, "{text}");
        };
        check("  const result = binding.readdir(\nError: EACCES: permission denied", false);
        check("bind: Permission denied", true);
        check("Error: Cannot find module '/x/socket.js'", false);
        check("/x/socket.js:1\nthrow new Error('a')\n    at node:internal/socket/a:1", false);
        check("throw new Error(\"socket x\")\nError: socket x", false);
        check("Error: EACCES: permission denied, open '/x/socket.js'", false);
        check("ssh: connect to host a port 22: Connection refused", false);
        check("FAILED test_socket.py::test_a - PermissionError: Permission denied", false);
        check("    at Server.listen (node:net:9)\nError: listen EACCES: permission denied a", true);
        check("    _socket.socket.__init__(self, family)\nPermissionError: denied", true);
    }

    #[test]
    fn modes_with_these_bits_are_found_in_scripts() {
        for script in [
            "chmod 4755 x",
            "chmod -R 02775 .",
            "chmod u+x,g+s y",
            "install -m '6755' a b",
            "chmod a=rwxs f; true",
            "python3 -c 'import os; os.chmod(\"x\", 0o4755)'",
        ] {
            assert!(asks_for_bits(script), "{script}");
        }
        for script in ["chmod 0755 x", "chmod 1777 d", "chmod u+x s", "a=s+s b=rows", "echo 9755"] {
            assert!(!asks_for_bits(script), "{script}");
        }
    }
}
