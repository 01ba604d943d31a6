//! What a command that failed is told when what it printed says that walls stood in its way.
//!
//! The kernel refuses without a word for people, so programs say "Read-only file system" and
//! "Network is unreachable". Read from words, so it promises nothing; each sentence is true
//! whenever it is said. Each line is taken for what one wall did. Only of system calls the kernel
//! itself tells.

use tenon_sandbox::{INTERNET_SOCKETS, Network, OTHER_SOCKETS, PATH_SOCKETS};

use super::{
    by_ssh,
    crowded::{CROWDED, is_crowded},
    kernel, limits, listed, of_others,
    refused_calls::{
        self, BITS_HELD, DENIED, PATH_SOCKETS_HELD, SOCKETS_FAIL, SOCKETS_HELD, asks_for_bits,
        names_sockets, without_files,
    },
    refused_files::{self, Place, READING_HELD, TCP, UDP, place},
    refused_moves, refused_own,
    refused_words::NOT_PERMITTED,
    said::{Said, first_words},
    set_id, this_machine,
    unreached::{self, is_complaint},
};

/// What else than words of sockets programs say that got none.
const RESOLVERS: [&str; 2] = ["resolv", "resolution"];

/// The same beside a denial, also where the command went on.
const SOCKETS_DENIED: [&str; 2] = ["socket: ", "listen eacces"];

/// What programs say that got no terminal to give to others, or no semaphore.
const OF_TIER_C: [(&str, &[&str]); 2] = [
    (
        TERMINALS_HELD,
        &["pseudo-terminal", "pseudo terminal", "openpty", "forkpty", "pty devices", "ptmx"],
    ),
    (RIGHTS_HELD_IN_C, &["semlock", "sem_open", "shm_open"]),
];

/// What the usual clients say of a service that they find by a socket in /run.
const SERVICES: [&str; 3] = ["connect to the docker daemon", "connect to bus", "connect to /run/"];

/// What bash says.
const LIMITS: [&str; 1] = ["cannot modify limit"];

/// What programs say that want rights of root's.
const RIGHTS: [&str; 2] = ["you must be root", "cannot set niceness"];

/// What is said of permissions that are not to be had.
const OF_MODES: [&str; 4] = ["permissions", "chmod", "mode", "mknod"];

/// What is said of an owner whom the namespace of tier B does not have.
const OWNERS: [&str; 3] = ["ownership", "chown", "chgrp"];
const NO_SUCH_OWNER: &str = "invalid argument";

/// What stands in a complaint, or the script, of what tier C alone refuses an ordinary user: no other right is
/// one that such a user has without walls.
const OF_USERS: [&str; 12] = [
    "sched",
    "affinity",
    "priorit",
    "niceness",
    "limit",
    "shm",
    "share memory",
    "shared memory",
    "semget",
    "semaphore",
    "msgget",
    "queue",
];

/// What stands in complaints of programs that change other processes, and what code calls for it.
const OF_PROCESSES: [&str; 8] = [
    "kill: ",
    "killall: ",
    "kill eperm",
    "renice: ",
    "prlimit: ",
    "chrt: ",
    "ionice: ",
    "taskset: ",
];
const CHANGE_PROCESSES: [&str; 3] = ["kill(", "setpriority(", "prlimit("];

/// What is said of a process that is not there.
const NO_PROCESS: &str = "no such process";

/// What programs say of a file whose owner or group the session's namespace does not have.
const FOREIGN: [&str; 2] = ["value too large for defined data type", "eoverflow"];

const TERMINALS_HELD: &str = "terminals: commands in tier C make no terminals for other programs; --sandbox off \
                              would let them";
pub(super) const SERVICES_HELD: &str = "sockets: /run is the session's own, so services of this machine are out of \
                             reach; --sandbox off would open them";
const LIMITS_HELD: &str = "limits: a command lowers its limits and never raises them; --sandbox off would \
                           leave out those of the walls";
const RIGHTS_HELD: &str = "rights: inside the walls nothing has root's rights, also as root; --sandbox off \
                           would leave them";
const RIGHTS_HELD_IN_C: &str = "rights: commands in tier C change no limits, priorities or scheduling of other \
                                processes, send them no signals (from Linux 6.12 on) and make no shared memory; \
                                --sandbox off would let them as far as the user may";
const PROCESSES_HELD: &str = "processes: a command sends signals to its own processes only, changes no limits, \
                              priorities or scheduling of others, and raises none of its limits; --sandbox off \
                              would let it as far as the user may";
const PROCESSES_UNSEEN: &str = "processes: commands see only their own processes, so another, if one was meant, looks \
                                 as if it were not there; --sandbox off would let them reach it";
const FOREIGN_HELD: &str = "files: commands have only the user and the user's first group, so a toolchain's file \
                            of another user or group can be read and not changed; the user's chgrp to that group \
                            would allow it of the user's own, and so would a copy in the workspace (CARGO_HOME and the like)";

/// Returns sentences for a command inside walls with `network`, once each, if there is reason to say some.
pub(super) fn sentences(said: &Said<'_>, network: Network) -> Vec<String> {
    let &Said { output, is_error, .. } = said;
    let (of_kernel, printed) = of_kernel(said);
    let complaints = printed.to_lowercase();
    let says = |words: &[&str]| contains(&complaints, words);
    let is_told = [INTERNET_SOCKETS, PATH_SOCKETS].iter().any(|it| output.refused.contains(it));
    // Names of files and hints have those words, too.
    let is_of_socket = |line: &str| {
        contains(line, &SOCKETS_FAIL)
            && (names_sockets(line) || contains(&without_files(line), &RESOLVERS))
    };
    let speaks_of_sockets = is_error && complaints.lines().any(is_of_socket)
        || said.may_complain() && is_of_network(&complaints);
    let is_of_others = output.refused.contains(&OTHER_SOCKETS);
    let is_of_sockets = !output.has_sockets && (is_told || speaks_of_sockets && !is_of_others);
    let is_of_services = is_error && says(&SERVICES);
    let of_c = of_tier_c(said, &complaints);
    let is_of_c = |line: &str| {
        let line = line.to_lowercase();
        of_c.iter().any(|(_, words)| contains(&line, words))
    };
    // What was refused may have been the socket, or the terminal.
    let may_be_none = is_of_sockets || !of_c.is_empty();
    let (of_own, others) = refused_own::of_lines(said, printed.lines());
    let of_files = others
        .into_iter()
        .filter(|line| !(is_of_c(line) || said.in_c && is_of_another(said, line, may_be_none)));
    let mut sentences: Vec<String> = of_kernel.into_iter().map(str::to_owned).collect();
    let (of_moves, of_files) = refused_moves::of_lines(said, of_files);
    sentences.extend(of_own);
    let told_own = sentences.last().map(|told| listed::without_names(told));
    let is_new = |it: &String| told_own != Some(listed::without_names(it));
    let of_files = refused_files::sentences(said, of_files.into_iter());
    sentences.extend(of_files.into_iter().filter(is_new));
    sentences.extend(of_moves);
    sentences.extend(of_others::sentence(said, printed.lines()));
    sentences.extend(set_id::sentence(said, &complaints));
    sentences.extend(limits::sentences(said, &printed));
    sentences.extend(of_c.iter().map(|(sentence, _)| (*sentence).to_owned()));
    if is_of_sockets {
        // In /run of the machine they are, behind sockets with a path.
        let held = if is_of_services { PATH_SOCKETS_HELD } else { SOCKETS_HELD };
        sentences.extend((!is_told).then(|| held.to_owned()));
    } else if output.has_sockets && network != Network::On {
        let of_hosts = unreached::sentences(said);
        let is_silent = of_hosts.is_empty() && !said.in_c;
        sentences.extend(of_hosts);
        sentences.extend(is_silent.then(|| by_ssh::sentences(said)).into_iter().flatten());
        if !said.in_c {
            sentences.extend(this_machine::sentences(said));
        }
    }
    let is_run_private = output.has_sockets && !said.in_c;
    let others = [
        (says(&FOREIGN), FOREIGN_HELD),
        (is_of_services && is_run_private, SERVICES_HELD),
        (said.may_complain() && says(&LIMITS), LIMITS_HELD),
        // One that was ended is told that already.
        (output.limit.is_none() && is_crowded(&complaints), CROWDED),
    ];
    let others = others.into_iter().filter_map(|(is_said, it)| is_said.then_some(it));
    let rights = of_rights(said, printed.lines().filter(|line| !is_of_c(line)));
    for sentence in others.chain(rights) {
        if !sentences.iter().any(|told| told == sentence) {
            sentences.push(sentence.to_owned());
        }
    }
    sentences.extend(refused_calls::sentences(&output.refused));
    sentences
}

fn contains(text: &str, words: &[&str]) -> bool {
    words.iter().any(|words| text.contains(words))
}

/// Whether what was printed speaks of the network in itself, whatever became of the command.
fn is_of_network(complaints: &str) -> bool {
    is_complaint(complaints)
        || complaints.lines().any(|line| {
            let is_socket = || contains(&without_files(line), &SOCKETS_DENIED);
            contains(line, &DENIED) && (contains(line, &[TCP, UDP]) || is_socket())
        })
}

/// Whether a line that has the words of a refused file in tier C is about something else.
fn is_of_another(said: &Said<'_>, line: &str, may_be_none: bool) -> bool {
    let small = line.to_lowercase();
    let is_of_path = said.output.refused.contains(&PATH_SOCKETS);
    contains(&small, &RIGHTS)
        || is_of_path && names_sockets(&small)
        || may_be_none && place(said, line) == Place::Unknown
}

/// Returns what is said of what the kernel keeps to itself, once each, and the lines about
/// something else.
fn of_kernel(said: &Said<'_>) -> (Vec<&'static str>, String) {
    let (mut sentences, mut others) = (Vec::new(), String::new());
    for line in said.printed().split_inclusive('\n') {
        match kernel::sentence(line, first_words(line), said.in_c) {
            Some(sentence) if sentences.contains(&sentence) => {}
            Some(sentence) => sentences.push(sentence),
            None => others.push_str(line),
        }
    }
    (sentences, others)
}

/// Returns what tier C alone holds, as far as `complaints` or the script speak of it.
fn of_tier_c(said: &Said<'_>, complaints: &str) -> Vec<(&'static str, &'static [&'static str])> {
    let script = said.script.to_lowercase();
    let is_meant = |words: &[&str]| {
        let is_denied = |line: &str| contains(line, &DENIED) || line.contains(NOT_PERMITTED);
        let in_passing =
            |line: &str| contains(line, words) && (is_denied(line) || line.contains("fail"));
        // A line of code within the script is in no trace.
        let in_script = || contains(&script, words) && contains(complaints, &DENIED);
        match said.is_error {
            true => contains(complaints, words) || !said.output.only_reads && in_script(),
            false => said.may_complain() && complaints.lines().any(in_passing),
        }
    };
    OF_TIER_C.into_iter().filter(|(_, words)| said.in_c && is_meant(words)).collect()
}

/// Returns what is said, once each, of rights and of other processes, as far as `lines` are about them.
fn of_rights<'a>(said: &Said<'_>, lines: impl Iterator<Item = &'a str>) -> Vec<&'static str> {
    let mut sentences = Vec::new();
    if said.may_complain() {
        for sentence in lines.filter_map(|line| of_right(said, line)) {
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
    }
    sentences
}

fn of_right(said: &Said<'_>, line: &str) -> Option<&'static str> {
    let small = line.to_lowercase();
    let says = |words: &[&str]| contains(&small, words);
    let is_denied = says(&[NOT_PERMITTED, "eperm"]);
    let is_of_owner = says(&OWNERS) && (is_denied || small.contains(NO_SUCH_OWNER));
    let changes_processes = || contains(said.script, &CHANGE_PROCESSES) && !is_of_owner;
    let is_of_process = is_denied && (says(&OF_PROCESSES) || changes_processes());
    let is_of_root = is_of_owner || says(&RIGHTS);
    let is_of_file =
        || said.in_c && matches!(place(said, line), Place::Elsewhere(_) | Place::Toolchain(_));
    let is_of_bits =
        is_denied && says(&OF_MODES) && said.output.refused.is_empty() && !said.output.only_reads;
    if is_of_process {
        return Some(PROCESSES_HELD);
    } else if is_of_bits && !is_of_file() && asks_for_bits(said.script) {
        return Some(BITS_HELD);
    } else if !said.in_c && small.contains(NO_PROCESS) && names_number(said.script, line) {
        return Some(PROCESSES_UNSEEN);
    } else if says(&LIMITS) || !is_denied && !is_of_root {
        return None;
    } else if !said.output.refused.is_empty() && !is_of_root || is_of_file() {
        // One of those calls may be meant.
        return None;
    }
    match said.in_c && is_denied {
        true if said.output.only_reads => Some(READING_HELD),
        _ if said.as_root => Some(RIGHTS_HELD),
        is_of_c => {
            let is_of_user = says(&OF_USERS) || contains(said.script, &OF_USERS);
            (is_of_c && is_of_user && !is_of_owner).then_some(RIGHTS_HELD_IN_C)
        }
    }
}

/// Whether a line is about a process that the script names by its number: it had that from elsewhere.
fn names_number(script: &str, line: &str) -> bool {
    let numbers = line.split(|c: char| !c.is_ascii_digit()).filter(|number| number.len() > 1);
    let words = || script.split(|c: char| c.is_whitespace() || ";&|".contains(c));
    numbers.into_iter().any(|number| words().any(|word| word == number))
}

#[cfg(test)]
mod tests {
    use tenon_sandbox::{Exit, Output, Stream, runs_as_root};

    use super::refused_calls::worth_telling;
    use super::refused_files::{FILES_CLOSED, FILES_HELD, FILES_HELD_IN_C, PROTECTED_HELD};
    use super::*;
    use crate::tools::testing::{Bench, printed};

    fn check(text: &str, code: i32, has_sockets: bool, expected: &[&str]) {
        let refused = Vec::new();
        check_with(text, (code, has_sockets, false), refused, expected);
    }

    fn check_with(
        text: &str,
        (code, has_sockets, as_root): (i32, bool, bool),
        refused: Vec<&'static str>,
        expected: &[&str],
    ) {
        let only_reads = false;
        let output = Output { has_sockets, only_reads, refused, ..printed(text, code) };
        check_output(text, &output, as_root, expected);
    }

    fn check_output(text: &str, output: &Output, as_root: bool, expected: &[&str]) {
        check_in(&Bench::new(), text, output, as_root, expected);
    }

    /// Without sockets the walls are those of tier C. Paths are left out.
    fn check_in(bench: &Bench, text: &str, output: &Output, as_root: bool, expected: &[&str]) {
        let is_error = output.exit != Exit::Code(0);
        let said = Said::of(("", &[]), output, (text, is_error), &bench.context);
        let said = Said { as_root, in_c: !output.has_sockets, ..said };
        let told = sentences(&said, Network::Proxied);
        let is_told = |(told, expected): (&String, &&str)| refused_files::is_same(told, expected);
        let are_told = told.len() == expected.len() && told.iter().zip(expected).all(is_told);
        assert!(are_told, "{text}: {told:?}, not {expected:?}");
    }

    #[test]
    fn what_walls_refuse_is_explained() {
        let file = "bash: line 1: /tmp/x: Read-only file system";
        check(file, 1, true, &[FILES_HELD]);
        check(file, 0, true, &[FILES_HELD]);
        check("bash: /tmp/x: Permission denied", 1, true, &[]);
        check("bash: /tmp/x: Permission denied", 1, false, &[FILES_HELD_IN_C]);
        check("Could not resolve host: example.com", 0, true, &[]);
        check("socket: Operation not supported", 1, false, &[SOCKETS_HELD]);
        check("Error: listen EACCES: permission denied 0.0.0.0:80", 1, false, &[SOCKETS_HELD]);
        check("error: test failed", 101, true, &[]);
        let docker = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.";
        check(docker, 1, true, &[SERVICES_HELD]);
        check("Failed to connect to bus: No such file or directory", 1, true, &[SERVICES_HELD]);
        // The /run of tier C is the machine's.
        check(docker, 1, false, &[PATH_SOCKETS_HELD]);
        let refused = worth_telling(vec![PATH_SOCKETS], true, docker, "");
        check_with(docker, (1, false, false), refused, &[PATH_SOCKETS_HELD]);
        let limit =
            "bash: line 1: ulimit: open files: cannot modify limit: Operation not permitted";
        check_with(limit, (1, true, true), Vec::new(), &[LIMITS_HELD]);
        check("bash: fork: retry: Resource temporarily unavailable", 0, true, &[CROWDED]);
        check("x: Value too large for defined data type", 1, true, &[FOREIGN_HELD]);
        check("warning: x: Value too large for defined data type", 0, true, &[FOREIGN_HELD]);
        let owner = "chown: changing ownership of 'a': Operation not permitted";
        check(owner, 1, true, &[]);
        check_with(owner, (1, true, true), Vec::new(), &[RIGHTS_HELD]);
        check_with(owner, (0, true, true), Vec::new(), &[RIGHTS_HELD]);
        check_with(owner, (0, true, false), Vec::new(), &[]);
        for text in [
            "nice: cannot set niceness: Permission denied",
            "chown: changing ownership of '.': Invalid argument",
        ] {
            check_with(text, (0, true, true), Vec::new(), &[RIGHTS_HELD]);
            check_with(text, (0, true, false), Vec::new(), &[]);
        }
        check_with("sort: Invalid argument", (1, true, true), Vec::new(), &[]);
        let niceness = "nice: cannot set niceness: Permission denied";
        check_with(niceness, (0, false, true), Vec::new(), &[RIGHTS_HELD]);
        let held = if runs_as_root() { FILES_HELD } else { FILES_CLOSED };
        check("useradd: cannot lock /etc/passwd; try again later.", 1, true, &[held]);
    }

    #[test]
    fn sockets_that_the_kernel_refused_are_told_where_the_command_failed_or_said_nothing() {
        let check = |text: &str, code: i32, expected: &[&str]| {
            let refused = worth_telling(vec![INTERNET_SOCKETS, PATH_SOCKETS], code != 0, text, "");
            check_with(text, (code, false, false), refused, expected);
        };
        check("", 6, &[SOCKETS_HELD]);
        check("", 0, &[SOCKETS_HELD]);
        check("Listening on port 80", 0, &[]);
        check("curl: (6) Could not resolve host: example.com", 0, &[SOCKETS_HELD]);
        check("PermissionError: [Errno 13] Permission denied", 0, &[SOCKETS_HELD]);
        let of_bash = "bash: socket: Permission denied\nbash: /dev/tcp/::1/1: Permission denied";
        check(of_bash, 0, &[SOCKETS_HELD]);
        check("PermissionError: [Errno 13] Permission denied", 1, &[SOCKETS_HELD]);
        check("socket: Permission denied", 1, &[SOCKETS_HELD]);
        check("cat: /tmp/a/b: Permission denied", 1, &[FILES_HELD_IN_C, SOCKETS_HELD]);
        check("bash: /tmp/a/b: Permission denied", 0, &[FILES_HELD_IN_C, SOCKETS_HELD]);
    }

    #[test]
    fn without_the_kernels_word_the_network_of_tier_c_is_told_by_what_is_printed() {
        check("curl: (6) Could not resolve host: example.com", 0, false, &[SOCKETS_HELD]);
        let of_bash = "bash: socket: Permission denied\nbash: /dev/tcp/::1/1: Permission denied";
        check(of_bash, 0, false, &[SOCKETS_HELD]);
        let log = "Could not resolve host: example.com";
        let mut reads = Output { only_reads: true, has_sockets: false, ..printed(log, 0) };
        reads.pieces.iter_mut().for_each(|piece| piece.stream = Stream::Out);
        check_output(log, &reads, false, &[]);
    }

    #[test]
    fn names_and_hints_with_words_of_the_network_are_no_complaints_of_it() {
        for text in [
            "ls: cannot access 'socket.c': No such file or directory",
            "FAILED test_socket.py::test_a - AssertionError: unable to compare",
            "make: *** [src/connect/a.o] failed to build",
            "FAIL: test_socket (expected: Permission was not denied)",
            "ssh: connect to host a port 22: Connection refused",
            "hint: Resolve all conflicts manually, mark them as resolved with",
            "error[E0432]: unresolved import `x`",
            "FAIL: test_disconnect (test_a.Test.test_disconnect)",
            "FAILED test_a.py::test_disconnect - AssertionError",
            "    at Module._resolveFilename (node:internal/modules/cjs/loader:1140:15)",
            "ModuleNotFoundError: No module named 'nosuch'",
            "FileNotFoundError: [Errno 2] No such file or directory: 'missing'",
            "java.io.FileNotFoundException: x",
        ] {
            check(text, 1, false, &[]);
            check(text, 1, true, &[]);
        }
        check("Error: getaddrinfo ENOTFOUND example", 1, false, &[SOCKETS_HELD]);
        check("ENOTFOUND", 1, false, &[SOCKETS_HELD]);
    }

    #[test]
    fn sockets_of_other_families_are_told_as_such() {
        let sentence = &refused_calls::sentences(&[OTHER_SOCKETS])[0];
        for (text, code, expected) in [
            ("OSError: [Errno 97] Address family not supported by protocol", 0, true),
            ("OSError: [Errno 97] Address family not supported by protocol", 1, true),
            ("socket.py: Address family not supported by protocol", 1, true),
            ("socket_vmnet: ready", 0, false),
        ] {
            let refused = worth_telling(vec![PATH_SOCKETS, OTHER_SOCKETS], code != 0, text, "");
            let expected: &[&str] = if expected { &[sentence] } else { &[] };
            check_with(text, (code, false, false), refused, expected);
        }
    }

    #[test]
    fn a_socket_with_a_path_is_told_where_the_command_speaks_of_one() {
        let check = |text: &str, code: i32, expected: &[&str]| {
            let refused = worth_telling(vec![PATH_SOCKETS], code != 0, text, "");
            check_with(text, (code, false, false), refused, expected);
        };
        check("Error: listen EACCES: permission denied ./x.sock", 1, &[PATH_SOCKETS_HELD]);
        check("unix_listener: socket: Permission denied", 1, &[PATH_SOCKETS_HELD]);
        check("unix_listener: socket: Permission denied", 0, &[PATH_SOCKETS_HELD]);
        check("bound to the socket", 0, &[]);
        check("ls: cannot access 'a': No such file or directory", 2, &[]);
        check("cat: /tmp/a/b: Permission denied", 1, &[FILES_HELD_IN_C]);
    }

    #[test]
    fn a_refused_file_is_told_by_where_it_lies() {
        let all = [PROTECTED_HELD, FILES_HELD];
        for (text, expected) in [
            ("bash: line 1: .git/hooks/pre-commit: Read-only file system", &all[..1]),
            ("touch: cannot touch '.envrc': Read-only file system", &all[..1]),
            ("OSError: [Errno 30] Read-only file system: '.vscode/a b.json'", &all[..1]),
            ("EROFS: read-only file system, open '/tmp/x'", &all[1..]),
            ("cp: cannot create regular file ‘../x’: Read-only file system", &all[1..]),
            ("touch: .envrc: Read-only file system\ntouch: /tmp/x: Read-only file system", &all),
            ("error: could not lock the file: Read-only file system", &all),
            ("/tmp/x is there\nopen: Read-only file system", &all),
        ] {
            check(text, 1, true, expected);
        }
        // In tier C they can be written, and are put back.
        check("bash: .idea/x: Permission denied", 1, false, &[]);
        check(
            "chmod: changing permissions of '/tmp/x': Operation not permitted",
            1,
            false,
            &[FILES_HELD_IN_C],
        );
    }

    #[test]
    fn a_protected_file_that_does_not_go_is_told_and_no_other() {
        for (text, is_told) in [
            ("rm: cannot remove '.envrc': Device or resource busy", true),
            ("mv: cannot move '.git' to 'g': Device or resource busy", true),
            ("ln: failed to create hard link 'y' => '.envrc': Invalid cross-device link", true),
            ("Error: EBUSY: resource busy or locked, unlink '.envrc'", true),
            ("umount: mnt: device or resource busy", false),
            ("mv: cannot move 'a' to 'b': Invalid cross-device link", false),
        ] {
            let expected: &[&str] = if is_told { &[PROTECTED_HELD] } else { &[] };
            check(text, 1, true, expected);
            check(text, 1, false, &[]);
        }
    }

    #[test]
    fn what_own_permissions_close_in_tier_c_is_no_refusal() {
        let bench = Bench::new();
        bench.put("run.sh", "");
        bench.put("sub/own", "");
        let check = |text: &str, only_reads, expected: &[&str]| {
            let output = Output { has_sockets: false, only_reads, ..printed(text, 1) };
            check_in(&bench, text, &output, true, expected);
        };
        for text in [
            "bash: line 1: ./run.sh: Permission denied",
            "cat: run.sh: Permission denied",
            "PermissionError: [Errno 13] Permission denied: 'sub/own'",
            "touch: cannot touch 'sub/new': Permission denied",
            "/bin/sh: 1: cannot create run.sh: Permission denied",
            "/bin/sh: 1: cannot create new: Permission denied",
        ] {
            check(text, false, &[]);
        }
        check("cat: run.sh: Permission denied", true, &[]);
        let elsewhere = "/bin/sh: 1: cannot create /opt/x: Permission denied";
        check(elsewhere, false, &[FILES_HELD_IN_C]);
        check("/opt/x: cannot open: Permission denied", false, &[FILES_HELD_IN_C]);
        check("rmdir: failed to remove '../root': Permission denied", false, &[FILES_HELD_IN_C]);
    }

    #[test]
    fn what_is_done_to_other_processes_is_told_as_such_to_root_too() {
        for text in [
            "bash: line 1: kill: (1) - Operation not permitted",
            "renice: failed to set priority for 7 (process ID): Operation not permitted",
            "prlimit: failed to set the NOFILE resource limit: Operation not permitted",
            "Error: kill EPERM",
        ] {
            for (has_sockets, as_root) in
                [(true, true), (true, false), (false, true), (false, false)]
            {
                check_with(text, (1, has_sockets, as_root), Vec::new(), &[PROCESSES_HELD]);
            }
        }
        check("bash: line 1: kill: (4711) - No such process", 1, true, &[]);
        let said = |script| {
            let line = "bash: line 1: kill: (4711) - No such process";
            names_number(script, line)
        };
        assert!(said("kill -9 4711; true") && !said("kill -9 $pid") && !said("kill 47110"));
    }

    #[test]
    fn of_rights_an_ordinary_user_is_told_in_tier_c_what_that_alone_refuses() {
        for (text, expected) in [
            ("ipcmk: create share memory failed: Operation not permitted", &[RIGHTS_HELD_IN_C][..]),
            ("sched_setscheduler: Operation not permitted", &[RIGHTS_HELD_IN_C]),
            ("RTNETLINK answers: Operation not permitted", &[]),
            ("date: cannot set date: Operation not permitted", &[]),
            ("chattr: Operation not permitted while setting flags on a", &[]),
        ] {
            check_with(text, (1, false, false), Vec::new(), expected);
        }
    }

    #[test]
    fn one_refusal_hides_no_other() {
        let text = "touch: cannot touch '/tmp/x': Read-only file system\n\
                    touch: cannot touch '/tmp/y': Read-only file system\n\
                    chown: changing ownership of 'own': Operation not permitted\n\
                    bash: line 1: kill: (1) - Operation not permitted\n\
                    sysctl: setting key \"kernel.panic\": Read-only file system\n";
        let system = &refused_calls::sentences(&["mounting"])[0];
        let expected = [kernel::SETTINGS_HELD, FILES_HELD, RIGHTS_HELD, PROCESSES_HELD, system];
        check_with(text, (1, true, true), vec!["mounting"], &expected);
    }

    #[test]
    fn a_command_that_only_reads_is_told_so() {
        for (text, has_sockets, expected) in [
            ("ls: cannot touch '.': Read-only file system", true, READING_HELD),
            ("bash: .git/hooks/x: Read-only file system", true, READING_HELD),
            ("bash: /tmp/x: Read-only file system", true, READING_HELD),
            ("bash: a: Permission denied", false, READING_HELD),
            ("chmod: changing permissions of 'a': Operation not permitted", false, READING_HELD),
            ("chmod: changing permissions of '/x': Operation not permitted", false, READING_HELD),
        ] {
            let output = Output { has_sockets, ..printed(text, 1) };
            check_output(text, &output, true, &[expected]);
        }
    }

    #[test]
    fn what_the_kernel_tells_is_explained_whatever_the_command_says() {
        let sentence = "system calls: the walls refuse tracing, mounting; --sandbox off would lift \
                        them";
        for code in [0, 1] {
            let refused = vec!["tracing", "mounting"];
            check_with("Operation not permitted", (code, true, true), refused, &[sentence]);
        }
    }
}
