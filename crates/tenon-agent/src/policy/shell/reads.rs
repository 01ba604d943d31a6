//! The short list of commands that only read.
//!
//! Such a call may run beside others and where it cannot write. A command is on the list with
//! arguments that make it read, not by its name alone: `sort -o`, `find -delete` and
//! `git log --output` write. What is not listed does not read.

use super::arguments::{git_subcommand, skip_options};
use super::shells::SHELLS;
use super::variables::chooser;
use super::{Launches, RedirectKind, SimpleCommand, Word};

/// These read whatever their arguments are.
const ALWAYS: &[&str] = &[
    ":",
    "[",
    "arch",
    "basename",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expand",
    "expr",
    "false",
    "fgrep",
    "file",
    "fold",
    "free",
    "getconf",
    "grep",
    "groups",
    "head",
    "hexdump",
    "id",
    "jq",
    "join",
    "locale",
    "ls",
    "lscpu",
    "md5sum",
    "nl",
    "nproc",
    "od",
    "paste",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "seq",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "sleep",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "type",
    "uname",
    "unexpand",
    "uptime",
    "wc",
    "which",
    "whereis",
    "whoami",
    "zcat",
];

/// These tell their version and do nothing else.
const VERSIONED: &[&str] = &[
    "bash", "cargo", "clang", "cmake", "docker", "gcc", "git", "go", "java", "make", "node", "npm",
    "perl", "pip", "pip3", "python", "python3", "ruby", "rustc", "rustup", "tsc", "yarn",
];

/// These start what follows them and change nothing else.
const THROUGH: &[&str] = &[
    "bash", "builtin", "command", "dash", "env", "nice", "nohup", "sh", "time", "timeout", "xargs",
];

/// Says whether a simple command only reads. What it starts is a command of its own.
pub(crate) fn reads(command: &SimpleCommand) -> bool {
    let redirects_read = command.redirects.iter().all(|redirect| match redirect.kind {
        RedirectKind::Read | RedirectKind::Text | RedirectKind::Descriptor => true,
        RedirectKind::Write => redirect.target.literal() == Some("/dev/null"),
    });
    if !redirects_read || chooser(command).is_some() {
        return false;
    }
    let Some(first) = command.words.first() else { return true };
    // A path to a program may name anything.
    let Some(name) = first.literal().filter(|name| !name.contains('/')) else { return false };
    let arguments = command.arguments();
    match command.launches {
        Launches::Unknown => return false,
        Launches::Known if name != "find" => {
            // What is not known in a script is read as commands.
            let is_known = |word: &Word| word.literal().is_some();
            let is_open = SHELLS.contains(&name) && !arguments.iter().all(is_known);
            return THROUGH.contains(&name) && !is_open && !writes_time(command);
        }
        Launches::Known => return false,
        Launches::Nothing => {}
    }
    if ALWAYS.contains(&name) || name == "env" && arguments.is_empty() {
        return true;
    }
    if VERSIONED.contains(&name)
        && let [one] = arguments
        && matches!(one.literal(), Some("--version" | "-V" | "version"))
    {
        return true;
    }
    match name {
        "command" => {
            arguments.first().is_some_and(|word| matches!(word.literal(), Some("-v" | "-V")))
        }
        "find" => {
            no_option(arguments, &["-fprint", "-fls", "-fprint0", "-fprintf", "-files0-from"])
        }
        "rg" => no_option(arguments, &["--pre", "--hostname-bin", "--search-zip", "-z"]),
        "sort" => {
            no_option(arguments, &["-o", "--o", "--compress", "-T", "--temp"])
                && no_letter(arguments, 'o')
        }
        "tree" => no_option(arguments, &["-o", "--output"]) && no_letter(arguments, 'o'),
        "date" => no_option(arguments, &["-s", "--s"]) && no_letter(arguments, 's'),
        "uniq" | "xxd" => {
            no_option(arguments, &["-r", "--r"])
                && skip_options(arguments, &["-l", "-s", "-n"]).len() <= 1
        }
        "hostname" => arguments.is_empty(),
        "sed" => prints_lines(arguments),
        "git" => git(arguments),
        _ => false,
    }
}

/// `time -o FILE` writes.
fn writes_time(command: &SimpleCommand) -> bool {
    command.program() == Some("time") && !no_option(command.arguments(), &["-o", "--o"])
}

/// Says that no argument is or could become one of these options.
fn no_option(arguments: &[Word], options: &[&str]) -> bool {
    arguments.iter().all(|word| {
        word.is_no_option()
            || word
                .literal()
                .is_some_and(|text| !options.iter().any(|option| text.starts_with(option)))
    })
}

fn no_letter(arguments: &[Word], letter: char) -> bool {
    arguments.iter().all(|word| {
        let text = word.prefix();
        text.starts_with("--") || !text.starts_with('-') || !text.contains(letter)
    })
}

/// `sed -n 5,10p FILE` and no other script: `w` and `e` write and run.
fn prints_lines(arguments: &[Word]) -> bool {
    let [quiet, script, files @ ..] = arguments else { return false };
    let Some(address) = script.literal().and_then(|text| text.strip_suffix('p')) else {
        return false;
    };
    quiet.literal() == Some("-n")
        && !address.is_empty()
        && address.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '$' | '+' | '~'))
        && files.iter().all(Word::is_no_option)
}

fn git(arguments: &[Word]) -> bool {
    let Some((subcommand, rest)) = git_subcommand(arguments) else { return false };
    let own = arguments.get(..arguments.len() - rest.len() - 1).unwrap_or_default();
    // `-c`, `--exec-path`, `--git-dir` and the like can make any subcommand run a program.
    let mut own = own.iter();
    while let Some(word) = own.next() {
        match word.literal() {
            Some("--no-pager" | "--no-optional-locks" | "--literal-pathspecs") => {}
            Some("-C") => drop(own.next()),
            _ => return false,
        }
    }
    let lists = |options: &[&str]| {
        rest.iter().all(|word| word.literal().is_some_and(|text| options.contains(&text)))
    };
    let plain =
        no_option(rest, &["--output", "--out", "--ext", "--textconv", "-O", "--open", "--upload"]);
    match subcommand {
        "status" | "log" | "diff" | "show" | "rev-parse" | "ls-files" | "blame" | "describe"
        | "shortlog" | "grep" | "cat-file" | "ls-tree" | "rev-list" | "merge-base" | "name-rev"
        | "show-ref" | "for-each-ref" | "count-objects" | "whatchanged" | "diff-tree" => plain,
        "branch" => lists(&["-a", "-r", "-v", "-vv", "--list", "--show-current", "--all"]),
        "tag" => lists(&["-l", "--list", "-n"]),
        "remote" => lists(&["-v", "--verbose", "show"]),
        "stash" | "worktree" => rest.first().is_some_and(|word| word.literal() == Some("list")),
        "config" => {
            let asks = ["--get", "--get-all", "--list", "-l"];
            rest.first().and_then(Word::literal).is_some_and(|text| asks.contains(&text))
        }
        "version" => true,
        _ => false,
    }
}
