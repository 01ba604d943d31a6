//! What a command is told that may have tried a host past the proxy, by ssh most of all, where its complaint was
//! thrown away or shortened: `git fetch 2>&1 | tail -2` ends in words about access rights, and no host is in them.
//!
//! The host is read from the line, or from git's settings of the repository, and only ever named: nobody is asked
//! and nothing is opened by it. A remote that is a folder, or one that git reaches by the proxy, is none.

use std::path::Path;

use super::{
    git_settings::Settings,
    ran_in,
    said::Said,
    unreached::{HOSTS_MAX, sentence, whole_host},
};
use crate::policy::shell::{self, SimpleCommand, Word};

/// How the lines begin that git says at its end where ssh did not reach the remote, and what it says before that of
/// a folder.
const OF_GIT: [&str; 3] = ["fatal: could not read from remote repository", RIGHTS, EXISTS];
const RIGHTS: &str = "please make sure you have the correct access rights";
const EXISTS: &str = "and the repository exists.";
const OF_FOLDER: &str = "does not appear to be a git repository";

/// How git begins what it says of a failure.
const REASONS: [&str; 2] = ["error: ", "fatal: "];

/// What scp and its like say then.
const OF_COPIES: &str = "connection closed";

/// Subcommands of git that talk to a remote.
const REMOTE: [&str; 5] = ["clone", "fetch", "ls-remote", "pull", "push"];
const REMOTE_ALL: &str = "remote";
const REMOTE_ACTIONS: [&str; 3] = ["prune", "show", "update"];

/// Subcommands of git that show, or take over, what people wrote.
const SHOWING: [&str; 18] = [
    "am",
    "apply",
    "blame",
    "branch",
    "cat-file",
    "cherry-pick",
    "commit",
    "diff",
    "format-patch",
    "log",
    "merge",
    "notes",
    "rebase",
    "reflog",
    "revert",
    "show",
    "stash",
    "tag",
];

/// Options of programs that copy files whose value is the next word.
const SCP_VALUED: [&str; 10] = ["-c", "-D", "-F", "-i", "-J", "-l", "-o", "-P", "-S", "-X"];
const RSYNC_VALUED: [&str; 67] = [
    "-@",
    "-B",
    "-M",
    "-T",
    "-e",
    "-f",
    "--address",
    "--backup-dir",
    "--block-size",
    "--bwlimit",
    "--cc",
    "--checksum-choice",
    "--checksum-seed",
    "--chmod",
    "--chown",
    "--compare-dest",
    "--compress-choice",
    "--compress-level",
    "--config",
    "--contimeout",
    "--copy-as",
    "--copy-dest",
    "--debug",
    "--dparam",
    "--early-input",
    "--exclude",
    "--exclude-from",
    "--files-from",
    "--filter",
    "--groupmap",
    "--iconv",
    "--include",
    "--include-from",
    "--info",
    "--link-dest",
    "--log-file",
    "--log-file-format",
    "--log-format",
    "--max-alloc",
    "--max-delete",
    "--max-size",
    "--min-size",
    "--modify-window",
    "--only-write-batch",
    "--out-format",
    "--outbuf",
    "--partial-dir",
    "--password-file",
    "--port",
    "--protocol",
    "--read-batch",
    "--remote-option",
    "--rsh",
    "--rsync-path",
    "--skip-compress",
    "--sockopts",
    "--stderr",
    "--stop-after",
    "--stop-at",
    "--suffix",
    "--temp-dir",
    "--time-limit",
    "--timeout",
    "--usermap",
    "--write-batch",
    "--zc",
    "--zl",
];

/// What stands before a host that is reached past the proxy.
const SCHEMES: [&str; 4] = ["ssh://", "git+ssh://", "sftp://", "git://"];

/// Options of ssh whose value is the next word, and those with which it reaches no host.
const SSH_VALUED: &str = "BbcDEeFIiJLlmOopQRSWw";
const SSH_ASKS_ITSELF: [&str; 3] = ["-G", "-Q", "-V"];

/// The most bytes of git's settings that are read.
const SETTINGS_BYTES_MAX: u64 = 256 * 1024;
const SETTINGS: &str = ".git/config";

const UNNAMED: &str = "network: ssh, if it was tried, reaches no host here, since commands reach named hosts only, and only by \
                       http_proxy; with --net on alone it would";

/// Where a command talks to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// A host, past the proxy.
    Host(String),
    /// By ssh, to a host that is not known.
    Somewhere,
    /// A folder, this machine, or a host by the proxy.
    Other,
}

/// Returns what is said of hosts that a command may have tried so, a sentence for each.
pub(super) fn sentences(said: &Said<'_>) -> Vec<String> {
    let &Said { script, commands, output, context, .. } = said;
    let ways: Vec<Way> = commands.iter().flat_map(|command| ways(command, said)).collect();
    let own = said.own().to_lowercase();
    let in_line = script.to_lowercase();
    // What stands in the line itself, the line may have printed.
    let lines: Vec<&str> =
        own.lines().map(str::trim).filter(|line| !in_line.contains(line)).collect();
    let is_of_git = !own.contains(OF_FOLDER) && is_of_git(&lines, said);
    let is_of_copies = !ways.is_empty() && lines.iter().any(|line| line.contains(OF_COPIES));
    let is_complaint = is_of_git || is_of_copies;
    let complains = is_complaint && said.may_complain();
    // Another reason that git names is the one.
    let has_reason = own.lines().any(|line| REASONS.iter().any(|mark| line.starts_with(mark)));
    let is_cut = !said.is_job && !has_reason && cuts(script);
    if !complains && !is_cut {
        return Vec::new();
    }
    let judge = |host: &str| context.sandbox.judge_host(host);
    // What is open to a program that goes by the proxy may have been reached.
    let is_open = |host: &str| judge(&format!("{host}:22")).is_some_and(|it| !it.is_blocked());
    let mut told: Vec<String> = Vec::new();
    let hosts = ways.iter().filter_map(|way| match way {
        Way::Host(host) => Some(host),
        Way::Somewhere | Way::Other => None,
    });
    for host in hosts.filter(|host| complains || said.is_error || !is_open(host)) {
        let Some(event) = judge(host) else { continue };
        let is_told = output.blocked.iter().any(|told| told.host == event.host);
        let sentence = sentence(host, &event);
        if !is_told && !told.contains(&sentence) && told.len() < HOSTS_MAX {
            told.push(sentence);
        }
    }
    let is_unknown = complains && ways.is_empty() || ways.contains(&Way::Somewhere);
    if told.is_empty() && is_unknown {
        told.push(UNNAMED.to_owned());
    }
    told
}

/// Whether these lines have what git says at its end. Of a program that may have run git it has to be said in full.
fn is_of_git(lines: &[&str], said: &Said<'_>) -> bool {
    let git = |command: &SimpleCommand| command.program() == Some("git");
    let talks = |command: &SimpleCommand| git(command) && !of_git(command, said).is_empty();
    let may_run_git = |command: &SimpleCommand| {
        let subcommand = shell::arguments::git_subcommand(command.arguments());
        let shows = git(command) && subcommand.is_some_and(|(name, _)| SHOWING.contains(&name));
        !shows && !shell::reads(command)
    };
    if said.commands.iter().any(talks) {
        return lines.iter().any(|line| OF_GIT.iter().any(|words| line.starts_with(words)));
    }
    let is_whole = |pair: &[&str]| matches!(pair, [one, next] if one.starts_with(RIGHTS) && next.starts_with(EXISTS));
    said.commands.iter().any(may_run_git) && lines.windows(2).any(is_whole)
}

/// Whether complaints of a line may have been thrown away, or shortened by the next program of a pipe.
fn cuts(script: &str) -> bool {
    let merged = script.contains("2>&1");
    let rest = script.replace("2>&1", "");
    rest.contains("2>")
        || rest.contains("&>")
        || rest.contains("|&")
        || merged && (rest.contains('>') || rest.replace("||", "").contains('|'))
        || is_quiet(script)
}

/// Whether a line has a client of the web that says nothing.
fn is_quiet(script: &str) -> bool {
    shell::parse(script).commands.iter().any(|command| past_proxy(command).is_some())
}

fn ways(command: &SimpleCommand, said: &Said<'_>) -> Vec<Way> {
    let arguments = command.arguments();
    match command.program() {
        Some("ssh" | "sftp") => vec![of_ssh(arguments)],
        Some("scp") => of_copies(arguments, &SCP_VALUED),
        Some("rsync") => of_copies(arguments, &RSYNC_VALUED),
        Some("git") => of_git(command, said),
        Some("curl" | "wget") => past_proxy(command).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn of_ssh(arguments: &[Word]) -> Way {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.literal() else { return Way::Somewhere };
        let Some(letters) = text.strip_prefix('-') else {
            let place = text.split_once("://").map_or(text, |(_, place)| place);
            let place = place.split('/').next().unwrap_or_default();
            return host(
                place.rsplit('@').next().unwrap_or(place).split(':').next().unwrap_or(place),
            );
        };
        if SSH_ASKS_ITSELF.contains(&text) {
            return Way::Other;
        }
        if letters.len() == 1 && SSH_VALUED.contains(letters) {
            rest.next();
        }
    }
    Way::Other
}

/// Returns where what a program copies files of, or to, leads, given its options that have a value.
fn of_copies(arguments: &[Word], valued: &[&str]) -> Vec<Way> {
    let mut found = Vec::new();
    let mut rest = shell::arguments::skip_options(arguments, valued);
    while let Some((operand, behind)) = rest.split_first() {
        found.extend(operand.literal().map(way).filter(|way| *way != Way::Other));
        rest = shell::arguments::skip_options(behind, valued);
    }
    found
}

/// Whether git tells about the subcommand itself, or of a remote what the settings have.
fn stays_here(subcommand: &str, all: &[Word], arguments: &[Word]) -> bool {
    let has = |words: &[Word], option| words.iter().any(|word| word.literal() == Some(option));
    let is_short_help = match subcommand {
        // With an operand it asks for branches.
        "ls-remote" => arguments.len() == 1 && has(arguments, "-h"),
        _ => has(all, "-h"),
    };
    let mut operands = operands(arguments);
    let action = (subcommand == REMOTE_ALL).then(|| operands.next()).flatten();
    let is_unnamed = matches!(action, Some("prune" | "show")) && operands.next().is_none();
    has(all, "--help")
        || is_short_help
        || is_unnamed
        || action == Some("show") && has(arguments, "-n")
        || subcommand == "ls-remote" && has(arguments, "--get-url")
}

fn operands(arguments: &[Word]) -> impl Iterator<Item = &str> {
    arguments.iter().filter_map(Word::literal).filter(|it| !it.starts_with('-'))
}

fn of_git(command: &SimpleCommand, said: &Said<'_>) -> Vec<Way> {
    let Some((subcommand, arguments)) = shell::arguments::git_subcommand(command.arguments())
    else {
        return Vec::new();
    };
    let mut operands = operands(arguments);
    match subcommand {
        _ if stays_here(subcommand, command.arguments(), arguments) => return Vec::new(),
        REMOTE_ALL if !operands.next().is_some_and(|it| REMOTE_ACTIONS.contains(&it)) => {
            return Vec::new();
        }
        "clone" => {
            let ways: Vec<Way> = operands.map(way).collect();
            let host = ways.iter().find(|way| **way != Way::Other).cloned();
            return vec![host.unwrap_or(Way::Other)];
        }
        REMOTE_ALL => {}
        _ if REMOTE.contains(&subcommand) => {}
        _ => return Vec::new(),
    }
    let named = operands.next();
    let settings = settings(command, said).map(|text| Settings::read(&text)).unwrap_or_default();
    let pushes = subcommand == "push";
    if let Some(named) = named {
        let is_address = |text: &str| text.contains(':') || text.starts_with(['/', '.', '~']);
        if is_address(named) {
            return vec![way(&settings.rewritten(named, pushes))];
        }
    }
    let remotes = &settings.remotes;
    let of = |name: &str| -> Vec<Way> {
        let is_pushed = pushes && remotes.iter().any(|it| it.name == name && it.is_pushed_to);
        let its = remotes.iter().filter(|it| it.name == name && it.is_pushed_to == is_pushed);
        // An address only to push to is rewritten as one to fetch from.
        its.map(|it| way(&settings.rewritten(&it.address, pushes && !is_pushed))).collect()
    };
    let found = named.map(of).unwrap_or_default();
    match (found.is_empty(), remotes.first()) {
        (false, _) => found,
        (true, Some(only)) if remotes.iter().all(|it| it.name == only.name) => of(&only.name),
        (true, _) => of("origin"),
    }
}

/// Returns the settings of the repository that a command runs in.
fn settings(command: &SimpleCommand, said: &Said<'_>) -> Option<String> {
    let workspace = &said.context.workspace;
    let words: Vec<&str> = command.arguments().iter().filter_map(Word::literal).collect();
    let behind = words.windows(2).find(|pair| matches!(pair, ["-C", _]));
    let folder = behind.and_then(|pair| pair.last().copied()).unwrap_or(".");
    let folders = ran_in::led_to(command, &Word::text(folder), said.context);
    let read =
        |folder: &Path| workspace.read(folder.join(SETTINGS).to_str()?, SETTINGS_BYTES_MAX).ok();
    let bytes = folders.iter().find_map(|folder| Path::new(folder).ancestors().find_map(read))?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns where an address leads: `ssh://git@example.com/a.git`, `git@example.com:a.git`, `../a`.
fn way(address: &str) -> Way {
    if let Some(place) = SCHEMES.iter().find_map(|scheme| address.strip_prefix(scheme)) {
        let place = place.split('/').next().unwrap_or_default();
        let place = place.rsplit('@').next().unwrap_or(place);
        return host(place.split(':').next().unwrap_or(place));
    }
    match address.split_once(':') {
        Some((place, rest)) if !place.contains('/') && !rest.starts_with("//") => {
            host(place.rsplit('@').next().unwrap_or(place))
        }
        _ => Way::Other,
    }
}

fn host(name: &str) -> Way {
    let name = name.to_ascii_lowercase();
    let found = whole_host(&name, true).or_else(|| whole_host(&format!("{name}:22"), true));
    found.map_or(Way::Other, Way::Host)
}

/// Returns the hosts that a client of the web tries past the proxy without a word of what came of it; `None` for
/// others.
fn past_proxy(command: &SimpleCommand) -> Option<Vec<Way>> {
    let words: Vec<&str> = command.arguments().iter().filter_map(Word::literal).collect();
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let has = |letter: char| words.iter().any(|word| is_short(word) && word.contains(letter));
    let names = |name: &str| words.contains(&name);
    let goes_past = match command.program()? {
        "curl" => {
            let all = words.windows(2).any(|pair| matches!(pair, ["--noproxy", "*"]));
            (all || names("--noproxy=*"))
                && (has('s') || names("--silent"))
                && !(has('S') || names("--show-error"))
        }
        "wget" => names("--no-proxy") && (has('q') || names("--quiet")),
        _ => false,
    };
    let place = |word: &&str| {
        let (scheme, place) = word.split_once("://")?;
        let place = place.split(['/', '?', '#']).next()?.rsplit('@').next()?;
        let is_web = matches!(scheme, "http" | "https");
        is_web.then(|| whole_host(&place.to_ascii_lowercase(), true).map(Way::Host)).flatten()
    };
    goes_past.then(|| words.iter().filter_map(place).collect())
}

#[cfg(test)]
mod tests {
    use tenon_sandbox::Output;

    use super::*;
    use crate::tools::testing::{Bench, printed};

    fn ways_of(bench: &Bench, script: &str) -> Vec<String> {
        let commands = shell::parse(script).commands;
        let output: Output = printed("", 0);
        let said = Said::of((script, &commands), &output, ("", false), &bench.context);
        let ways = commands.iter().flat_map(|command| ways(command, &said));
        let shown = ways.map(|way| match way {
            Way::Host(host) => host,
            Way::Somewhere => "?".to_owned(),
            Way::Other => "-".to_owned(),
        });
        shown.collect()
    }

    #[test]
    fn the_host_is_read_from_the_line_or_from_the_settings_of_the_repository() {
        let bench = Bench::new();
        bench.put(
            ".git/config",
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@git.example:a/b.git\n\
             \tfetch = +refs/heads/*:refs/remotes/origin/*\n[remote \"near\"]\n\turl = ../b.git\n\
             [remote \"web\"]\n\turl = https://web.example/b\n\tpushurl = ssh://push.example:7/b\n",
        );
        bench.put("sub/a", "");
        for (script, expected) in [
            ("git push origin master", &["git.example"][..]),
            ("git fetch -q --depth 1", &["git.example"]),
            ("cd sub && git pull", &["git.example"]),
            ("git -C sub ls-remote", &["git.example"]),
            ("git remote show origin", &["git.example"]),
            ("git fetch near", &["-"]),
            ("git fetch ../b.git", &["-"]),
            ("git fetch web", &["-"]),
            ("git push web", &["push.example"]),
            ("git clone -b x git@c.example:a", &["c.example"]),
            ("git clone https://c.example/a", &["-"]),
            ("git clone ../a b", &["-"]),
            ("git status; git remote -v", &[]),
            ("git fetch --dry-run", &["git.example"]),
            ("git ls-remote -h origin", &["git.example"]),
            ("git remote update", &["git.example"]),
            ("git remote prune -n origin", &["git.example"]),
            ("git ls-remote --get-url origin", &[]),
            ("git ls-remote --get-url; git ls-remote -h", &[]),
            ("git remote show; git remote show -n origin", &[]),
            ("git push --help; git fetch origin -h; git --help pull", &[]),
            ("ssh -p 22 ada@A.example uptime", &["a.example"]),
            ("ssh web1", &["web1"]),
            ("ssh 192.0.2.7 true", &["192.0.2.7:22"]),
            ("ssh localhost true", &["-"]),
            ("ssh -V", &["-"]),
            ("ssh \"$host\" true", &["?"]),
            ("scp -P 22 a ada@s.example:", &["s.example"]),
            ("rsync -az d/ r.example:/srv", &["r.example"]),
            ("rsync -a --chown www-data:www-data src/ out/", &[]),
            ("rsync -av --exclude a:b --usermap=a:b -f 'merge a:b' -T c:d src/ out/", &[]),
            ("rsync -ave 'ssh -J a:1' src/ r.example:/srv", &["r.example", "-"]),
            ("rsync src/ -e ssh --port 1 r.example:/srv", &["r.example", "-"]),
            ("scp -o User:a -J a:1 b c", &[]),
            ("scp -ri a:b d ada@s.example:", &["s.example"]),
            ("cp a:b c; echo ssh a.example", &[]),
            ("echo 'ssh a.example' > x; bash x", &["a.example"]),
            ("echo 'ssh a.example' > x; bash -n x", &[]),
            ("curl -s --noproxy '*' https://x.example -o out", &["x.example"]),
            ("curl -sS --noproxy '*' https://x.example", &[]),
            ("curl -s https://x.example", &[]),
        ] {
            assert_eq!(ways_of(&bench, script), expected, "{script}");
        }
    }

    #[test]
    fn an_address_is_read_as_the_settings_of_the_repository_rewrite_it() {
        let bench = Bench::new();
        bench.put(
            ".git/config",
            "[remote \"origin\"]\n\turl = git@git.example:a/b.git\n\
             [remote \"pushed\"]\n\turl = https://web.example/b\n\
             [remote \"own\"]\n\turl = /srv/b\n\tpushurl = https://web.example/b\n\
             [url \"git@long.example:\"]\n\tinsteadOf = git@git.example:a/longer/\n\
             [url \"/srv/\"]\n\tinsteadof = git@git.example:\n\tinsteadOf = \"near:\"\n\
             [url \"https://web.example/\"]\n\tinsteadOf = git@web.example:\n\
             [url \"ssh://git@web.example/\"]\n\tpushInsteadOf = https://web.example/\n",
        );
        for (script, expected) in [
            ("git fetch", "-"),
            ("git push origin main", "-"),
            ("git fetch near:b", "-"),
            ("git fetch git@web.example:b", "-"),
            ("git fetch git@git.example:a/longer/b", "long.example"),
            ("git fetch git@git.other:b", "git.other"),
            ("git fetch pushed", "-"),
            ("git push pushed", "web.example"),
            ("git push https://web.example/c", "web.example"),
            ("git push own", "-"),
            ("git clone git@git.example:a/b", "git.example"),
        ] {
            assert_eq!(ways_of(&bench, script), [expected], "{script}");
        }
    }

    #[test]
    fn what_git_says_at_its_end_counts_of_a_command_that_may_have_said_it() {
        const WHOLE: &str = "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct \
                             access rights\nand the repository exists.\n";
        let first = WHOLE.lines().next().unwrap();
        let bench = Bench::new();
        let is_told = |script: &str, text: &str, code: i32| {
            let commands = shell::parse(script).commands;
            let output = printed(text, code);
            let said = Said::of((script, &commands), &output, (text, code != 0), &bench.context);
            !sentences(&said).is_empty()
        };
        let commit = format!("[main 6d1f2e0] Explain '{first}'\n");
        let unit = format!("FAIL: test_msg\nAssertionError: '{first}' != 'x'\n");
        for (script, text, code, expected) in [
            ("make x", WHOLE, 2, true),
            ("make x", WHOLE, 0, true),
            ("./deploy.sh", WHOLE, 1, true),
            ("git submodule update --init", WHOLE, 1, true),
            ("git up", WHOLE, 1, true),
            ("python3 t.py", first, 1, false),
            ("python3 t.py", &unit, 1, false),
            ("git commit -m 'Explain it'", &commit, 0, false),
            ("git reflog | head -1", &commit, 0, false),
            ("git tag -n", first, 0, false),
            ("git format-patch --stdout HEAD~1", WHOLE, 0, false),
            ("git remote -v; cat notes", WHOLE, 0, false),
        ] {
            assert_eq!(is_told(script, text, code), expected, "{script}: {text}");
        }
        let script = format!("./run.sh; printf '{WHOLE}'");
        assert!(!is_told(&script, WHOLE, 1));
    }

    #[test]
    fn a_line_cuts_complaints_where_it_throws_them_away_or_pipes_them_on() {
        for (script, expected) in [
            ("git fetch 2>&1 | tail -2", true),
            ("git fetch |& tail -2", true),
            ("git fetch 2> /dev/null", true),
            ("git fetch &> log", true),
            ("git fetch > log 2>&1", true),
            ("curl -s --noproxy '*' https://x.example", true),
            ("git fetch 2>&1", false),
            ("git fetch 2>&1 || true", false),
            ("git ls-remote | head -1", false),
        ] {
            assert_eq!(cuts(script), expected, "{script}");
        }
    }
}
