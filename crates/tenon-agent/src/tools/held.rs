//! What a command that failed is told when what it printed says that walls stood in its way.
//!
//! The kernel refuses without a word for people, so programs say "Read-only file system" and
//! "Network is unreachable". Read from words, so it promises nothing; each sentence is true
//! whenever it is said. Only of system calls the kernel itself tells.

use tenon_sandbox::{
    FileError, INTERNET_SOCKETS, Network, OTHER_SOCKETS, Output, PATH_SOCKETS, Stream, Tier,
    Workspace,
};

use super::{
    Sandbox, ToolContext,
    crowded::{CROWDED, is_crowded},
    kernel,
    refused_calls::{self, DENIED, PATH_SOCKETS_HELD, PATH_SOCKETS_TOO, SOCKETS_HELD},
    unreached::{Unreached, is_complaint},
};

/// What programs say of a file that the walls keep from changing.
const FILES: [&str; 3] = ["read-only file system", "erofs", "cannot lock /etc/"];

/// The same where Landlock alone holds files; other refusals have the same words.
const FILES_IN_C: [&str; 3] = ["permission denied", NOT_PERMITTED, "eacces"];

/// What is said of files, and of everything else that takes rights.
const NOT_PERMITTED: &str = "operation not permitted";

/// What programs say that got no socket.
const SOCKETS: [&str; 5] = ["socket", "resolv", "resolution", "connect", "listen eacces"];

/// The same beside a denial, also where the command went on.
const SOCKETS_DENIED: [&str; 4] = ["socket: ", "listen eacces", TCP, UDP];

/// What bash makes a socket of, and what is no file.
const TCP: &str = "/dev/tcp/";
const UDP: &str = "/dev/udp/";

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
const RIGHTS: [&str; 4] = [NOT_PERMITTED, "you must be root", NICENESS, "permission denied on key"];

const NICENESS: &str = "cannot set niceness";

/// What is said of an owner whom the namespace of tier B does not have.
const OWNERS: [&str; 3] = ["ownership", "chown", "chgrp"];
const NO_SUCH_OWNER: &str = "invalid argument";

/// What programs say of a file whose owner or group the session's namespace does not have.
const FOREIGN: [&str; 2] = ["value too large for defined data type", "eoverflow"];

const FILES_HELD: &str = "files: outside of the workspace commands write only in private temporary \
                          folders; --add-dir FOLDER would add a folder";
const FILES_HELD_IN_C: &str = "files: outside of the workspace commands in tier C write only in private temporary \
                               folders, and read nothing of homes but toolchains, nor of /run, /tmp and other \
                               disks; --add-dir FOLDER would open a folder";
const READING_HELD: &str = "files: this command counts as one that only reads, so it changes nothing but what is \
                            in private temporary folders";
pub(super) const PROTECTED_HELD: &str = "files: protected names in the workspace (.git/hooks, .envrc and the like) are \
                              closed to commands; write_file and edit_file write them with the user's yes";
const TERMINALS_HELD: &str = "terminals: commands in tier C make no terminals for other programs; --sandbox off \
                              would let them";
const TOOLCHAINS_HELD: &str = "files: the user's toolchains in HOME are read-only to commands here; a place of its own in \
                               the workspace (CARGO_HOME and the like) can be written";
const SERVICES_HELD: &str = "sockets: /run is the session's own, so services of this machine are out of \
                             reach; --sandbox off would open them";
const LIMITS_HELD: &str = "limits: a command lowers its limits and never raises them; --sandbox off would \
                           leave out those of the walls";
const RIGHTS_HELD: &str = "rights: inside the walls nothing has root's rights, also as root; --sandbox off \
                           would leave them";
const RIGHTS_HELD_IN_C: &str = "rights: commands in tier C change no limits, priorities or scheduling of other \
                                processes, send them no signals (from Linux 6.12 on) and make no shared memory; \
                                --sandbox off would let them as far as the user may";
const FOREIGN_HELD: &str = "files: commands have only the user and the user's first group, so a toolchain's file in HOME \
                            that is of another can be read and not changed; the user's chgrp to that group \
                            would allow it, and so would a copy in the workspace (CARGO_HOME and the like)";

/// Lines of output, and words of each, that are looked at for the file that was refused. The first
/// lines tell; each word is looked up on the disk.
const LINES_MAX: usize = 20;
const WORDS_MAX: usize = 40;

/// A command that ran inside walls, and what it said.
pub(super) struct Said<'a> {
    pub(super) script: &'a str,
    pub(super) output: &'a Output,
    /// What is shown of its output.
    pub(super) text: &'a str,
    pub(super) is_error: bool,
    /// Whether what programs complain of may be in their other stream.
    pub(super) merges: bool,
    pub(super) workspace: &'a Workspace,
    pub(super) sandbox: &'a Sandbox,
    /// The hosts that it did not reach, without the proxy.
    pub(super) unreached: &'a Unreached,
    /// Whose command it was.
    pub(super) as_root: bool,
}

/// Returns sentences for a command inside walls with `network`, if there is reason to say some.
pub(super) fn sentences(said: &Said<'_>, network: Network) -> Vec<String> {
    let &Said { output, text, is_error, merges, .. } = said;
    let mut printed = String::new();
    for piece in output.pieces.iter().filter(|piece| piece.stream == Stream::Error) {
        printed.push_str(&piece.text);
    }
    if is_error || merges {
        printed.push_str(text);
    }
    let (mut sentences, printed) = said.of_kernel(&printed);
    let complaints = printed.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| complaints.contains(words));
    let is_told = [INTERNET_SOCKETS, PATH_SOCKETS].iter().any(|it| output.refused.contains(it));
    let speaks_of_sockets =
        is_error && says(&SOCKETS) || said.may_complain() && is_of_network(&complaints);
    let is_of_others = output.refused.contains(&OTHER_SOCKETS);
    let is_of_sockets = !output.has_sockets && (is_told || speaks_of_sockets && !is_of_others);
    let is_of_services = is_error && says(&SERVICES);
    let of_c = said.of_tier_c(&complaints);
    if says(&FILES) {
        sentences.extend(files(&printed, &FILES, said));
    } else if !output.has_sockets && says(&FILES_IN_C) {
        let of_paths: &[&str] =
            if output.refused.contains(&PATH_SOCKETS) { &PATH_SOCKETS_TOO } else { &[] };
        let of_rights = RIGHTS.iter().filter(|words| **words != NOT_PERMITTED);
        let others: Vec<&str> = of_c.iter().flat_map(|(_, words)| *words).copied().collect();
        let others = others.iter().chain(of_paths).chain(of_rights);
        let lines = printed.lines().filter(|line| {
            // What was refused may have been the socket, or the terminal.
            let small = line.to_lowercase();
            let is_told = others.clone().any(|words| small.contains(words));
            let may_be = (is_of_sockets || !of_c.is_empty()) && said.place(line) == Place::Unknown;
            !is_told && !may_be
        });
        let printed: String = lines.flat_map(|line| [line, "\n"]).collect();
        sentences.extend(files(&printed, &FILES_IN_C, said));
    }
    sentences.extend(of_c.iter().map(|(sentence, _)| *sentence));
    if is_of_sockets {
        // In /run of the machine they are, behind sockets with a path.
        let held = if is_of_services { PATH_SOCKETS_HELD } else { SOCKETS_HELD };
        sentences.extend((!is_told).then_some(held));
    } else if output.has_sockets && network != Network::On {
        sentences.extend(said.unreached.sentences());
    }
    sentences.extend(says(&FOREIGN).then_some(FOREIGN_HELD));
    let is_run_private = output.has_sockets && !said.is_in_c();
    sentences.extend((is_of_services && is_run_private).then_some(SERVICES_HELD));
    sentences.extend((said.may_complain() && says(&LIMITS)).then_some(LIMITS_HELD));
    // One that was ended is told that already.
    let is_crowded = output.limit.is_none() && is_crowded(&complaints);
    sentences.extend(is_crowded.then_some(CROWDED));
    if output.refused.is_empty() && sentences.is_empty() {
        sentences.extend(said.of_rights(&complaints));
    }
    let calls = refused_calls::sentences(&output.refused);
    sentences.into_iter().map(str::to_owned).chain(calls).collect()
}

/// Whether what was printed speaks of the network in itself, whatever became of the command.
fn is_of_network(complaints: &str) -> bool {
    let says = |line: &str, words: &[&str]| words.iter().any(|words| line.contains(words));
    is_complaint(complaints)
        || complaints.lines().any(|line| says(line, &SOCKETS_DENIED) && says(line, &DENIED))
}

/// Returns the protected files that `text` says a command could not write, once each, as they are written
/// there.
pub(super) fn protected_files(text: &str, context: &ToolContext) -> Vec<String> {
    let ToolContext { workspace, sandbox, .. } = context;
    let is_in_c = sandbox.tier() == Some(Tier::C.name());
    let complaints = FILES.iter().chain(FILES_IN_C.iter().filter(|_| is_in_c));
    let refuses = |line: &&str| complaints.clone().any(|words| line.to_lowercase().contains(words));
    let mut files: Vec<String> = Vec::new();
    for line in text.lines().filter(refuses).take(LINES_MAX) {
        let is_protected = |word: &&str| workspace.locate(word).is_ok_and(|it| it.protected);
        let found =
            words(line).find(is_protected).filter(|word| !files.iter().any(|it| it == word));
        files.extend(found.map(str::to_owned));
    }
    files
}

/// Returns what to say of files that commands may not write: that this one writes none, or of
/// toolchains, of protected names, of those elsewhere, or of the last two where lines with `words` tell of
/// both or of neither.
fn files<'a>(
    printed: &str,
    words: &[&str],
    said: &Said<'a>,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let output = said.output;
    let says = |line: &str, words: &[&str]| {
        let line = line.to_lowercase();
        words.iter().any(|words| line.contains(words))
    };
    let refuses = |line: &&str| says(line, words);
    let lines = printed.lines().filter(refuses).take(LINES_MAX);
    let (mut of_reading, mut of_toolchains) = (false, false);
    let (mut of_protected, mut of_others) = (false, false);
    // Such a line that names no file need not be about one.
    let is_of_file = |line: &str, place| place != Place::Unknown || !says(line, &[NOT_PERMITTED]);
    // In tier C what lies elsewhere may be closed to reading, too.
    let is_of_writing = |line: &str, place| {
        let may_be_closed = matches!(place, Place::Elsewhere | Place::Toolchain);
        output.has_sockets || !may_be_closed || !says(line, &DENIED)
    };
    let places = lines.map(|line| (line, said.place(line)));
    for (line, place) in places.filter(|(line, place)| is_of_file(line, *place)) {
        if output.only_reads && is_of_writing(line, place) {
            of_reading = true;
            continue;
        }
        match place {
            Place::Toolchain => of_toolchains = true,
            place => {
                of_protected |= place != Place::Elsewhere;
                of_others |= place != Place::Protected;
            }
        }
    }
    let others = if output.has_sockets { FILES_HELD } else { FILES_HELD_IN_C };
    let sentences = [
        (of_reading, READING_HELD),
        (of_toolchains, TOOLCHAINS_HELD),
        (of_protected, PROTECTED_HELD),
        (of_others, others),
    ];
    sentences.into_iter().filter_map(|(is_said, sentence)| is_said.then_some(sentence))
}

/// Where the file lies that a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Protected,
    /// In one of the user's home.
    Toolchain,
    Elsewhere,
    Unknown,
}

impl Said<'_> {
    /// Whether what was printed is the command's own complaint, also where the line went on (`|| true`). What
    /// only reads prints those of others on its standard output.
    fn may_complain(&self) -> bool {
        self.is_error || !self.output.only_reads || !self.merges
    }

    fn is_in_c(&self) -> bool {
        self.sandbox.tier() == Some(Tier::C.name())
    }

    /// Returns what is said of what the kernel keeps to itself, once each, and the lines about
    /// something else.
    fn of_kernel(&self, printed: &str) -> (Vec<&'static str>, String) {
        let (mut sentences, mut others) = (Vec::new(), String::new());
        for line in printed.split_inclusive('\n') {
            match kernel::sentence(line, words(line), self.is_in_c()) {
                Some(sentence) if sentences.contains(&sentence) => {}
                Some(sentence) => sentences.push(sentence),
                None => others.push_str(line),
            }
        }
        (sentences, others)
    }

    /// Returns what tier C alone holds, as far as `complaints` or the script speak of it.
    fn of_tier_c(&self, complaints: &str) -> Vec<(&'static str, &'static [&'static str])> {
        let says = |text: &str, words: &[&str]| words.iter().any(|words| text.contains(words));
        let script = self.script.to_lowercase();
        let is_meant = |words: &[&str]| {
            let in_passing = |line: &str| {
                says(line, words) && (says(line, &FILES_IN_C) || line.contains("fail"))
            };
            // A line of code within the script is in no trace.
            let in_script = || says(&script, words) && says(complaints, &DENIED);
            match self.is_error {
                true => says(complaints, words) || !self.output.only_reads && in_script(),
                false => self.may_complain() && complaints.lines().any(in_passing),
            }
        };
        OF_TIER_C.into_iter().filter(|(_, words)| self.is_in_c() && is_meant(words)).collect()
    }

    /// Returns what is said of a command that wanted rights, if no other wall explains it.
    fn of_rights(&self, complaints: &str) -> Option<&'static str> {
        let says = |text: &str, words: &[&str]| words.iter().any(|words| text.contains(words));
        let of_owner = |line: &str| line.contains(NO_SUCH_OWNER) && says(line, &OWNERS);
        let is_of_c = !self.output.has_sockets && says(complaints, &[NOT_PERMITTED]);
        if !self.may_complain() {
            None
        } else if self.output.only_reads && is_of_c {
            Some(READING_HELD)
        } else if self.as_root && (says(complaints, &RIGHTS) || complaints.lines().any(of_owner)) {
            Some(RIGHTS_HELD)
        } else {
            is_of_c.then_some(RIGHTS_HELD_IN_C)
        }
    }

    /// Returns the place of the file that a line names. Programs put it before their complaint or behind
    /// it, within quotes or not.
    fn place(&self, line: &str) -> Place {
        let mut found = Place::Unknown;
        for word in words(line) {
            match self.workspace.locate(word) {
                Ok(location) if location.protected => return Place::Protected,
                // Of bash's own making, which it says of sockets.
                _ if word.starts_with(TCP) || word.starts_with(UDP) => {}
                Err(FileError::Escapes { .. }) if word.starts_with(['/', '.']) => {
                    let path = self.workspace.root().join(word);
                    match self.sandbox.is_in_toolchain(&path) {
                        true => return Place::Toolchain,
                        false => found = Place::Elsewhere,
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// Returns what may be names of files in a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "'\"`‘’“”".contains(c);
    let words = line.split(is_between).filter(|word| !word.is_empty()).take(WORDS_MAX);
    words.map(|word| word.trim_matches([':', ',', ';', '(', ')']))
}

#[cfg(test)]
mod tests {
    use tenon_sandbox::Exit;

    use super::refused_calls::worth_telling;
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
        let bench = Bench::new();
        let ToolContext { workspace, sandbox, .. } = &bench.context;
        let is_error = output.exit != Exit::Code(0);
        let unreached = &Unreached::of("", output, is_error, sandbox);
        let (script, merges) = ("", false);
        let said =
            Said { script, output, text, is_error, merges, workspace, sandbox, unreached, as_root };
        assert_eq!(sentences(&said, Network::Proxied), expected, "{text}");
    }

    #[test]
    fn what_walls_refuse_is_explained() {
        let file = "bash: line 1: /etc/x: Read-only file system";
        check(file, 1, true, &[FILES_HELD]);
        check(file, 0, true, &[FILES_HELD]);
        check("bash: /etc/x: Permission denied", 1, true, &[]);
        check("bash: /etc/x: Permission denied", 1, false, &[FILES_HELD_IN_C]);
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
        check("bash: line 1: kill: (1) - Operation not permitted", 0, true, &[]);
        for text in [
            "bash: line 1: kill: (1) - Operation not permitted",
            "nice: cannot set niceness: Permission denied",
            "sysctl: permission denied on key \"kernel.panic\"",
            "chown: changing ownership of '.': Invalid argument",
        ] {
            check_with(text, (0, true, true), Vec::new(), &[RIGHTS_HELD]);
            check_with(text, (0, true, false), Vec::new(), &[]);
        }
        check_with("sort: Invalid argument", (1, true, true), Vec::new(), &[]);
        let niceness = "nice: cannot set niceness: Permission denied";
        check_with(niceness, (0, false, true), Vec::new(), &[RIGHTS_HELD]);
        check("useradd: cannot lock /etc/passwd; try again later.", 1, true, &[FILES_HELD]);
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
        check("cat: /home/a/b: Permission denied", 1, &[FILES_HELD_IN_C, SOCKETS_HELD]);
        check("bash: /home/a/b: Permission denied", 0, &[FILES_HELD_IN_C, SOCKETS_HELD]);
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
        check("cat: /home/a/b: Permission denied", 1, &[FILES_HELD_IN_C]);
    }

    #[test]
    fn a_refused_file_is_told_by_where_it_lies() {
        let all = [PROTECTED_HELD, FILES_HELD];
        for (text, expected) in [
            ("bash: line 1: .git/hooks/pre-commit: Read-only file system", &all[..1]),
            ("touch: cannot touch '.envrc': Read-only file system", &all[..1]),
            ("OSError: [Errno 30] Read-only file system: '.vscode/a b.json'", &all[..1]),
            ("EROFS: read-only file system, open '/etc/x'", &all[1..]),
            ("cp: cannot create regular file ‘../x’: Read-only file system", &all[1..]),
            ("touch: /etc/x: Read-only file system\ntouch: .envrc: Read-only file system", &all),
            ("error: could not lock the file: Read-only file system", &all),
            ("/etc/x is there\nopen: Read-only file system", &all),
        ] {
            check(text, 1, true, expected);
        }
        check("bash: .idea/x: Permission denied", 1, false, &all[..1]);
        check(
            "chmod: changing permissions of '/etc/x': Operation not permitted",
            1,
            false,
            &[FILES_HELD_IN_C],
        );
        let priority = "renice: failed to set priority for 7 (process ID): Operation not permitted";
        check(priority, 1, false, &[RIGHTS_HELD_IN_C]);
        check(priority, 1, true, &[]);
    }

    #[test]
    fn a_command_that_only_reads_is_told_so() {
        for (text, has_sockets, expected) in [
            ("ls: cannot touch '.': Read-only file system", true, READING_HELD),
            ("bash: .git/hooks/x: Read-only file system", true, READING_HELD),
            ("bash: /etc/x: Read-only file system", true, READING_HELD),
            ("bash: a: Permission denied", false, READING_HELD),
            ("chmod: changing permissions of 'a': Operation not permitted", false, READING_HELD),
            ("chmod: changing permissions of '/x': Operation not permitted", false, READING_HELD),
            ("cat: /home/a/b: Permission denied", false, FILES_HELD_IN_C),
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
