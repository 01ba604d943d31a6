//! Commands that cannot work without a terminal, found before they hang.
//!
//! A command has no terminal and an empty standard input here: an editor would fail oddly, a
//! monitor would never end. Each refusal says what to do instead.

use super::arguments::{git_subcommand, skip_options};
use super::input::feeds;
use super::{Parsed, SimpleCommand, Word};

/// A command that needs a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NeedsTerminal {
    /// The command as written, unknown parts as `…`.
    pub command: String,
    /// What to do instead.
    pub hint: &'static str,
    /// It needs none, but would never end.
    pub is_endless: bool,
}

const EDIT: &str = "use write_file or edit_file";
const PAGE: &str = "use read_file, cat or head";
const ONCE: &str =
    "take one sample: ps, top -b -n 1, or the command with a time limit (timeout 10 …)";
const LIMIT: &str = "give it a time limit (timeout 10 …) or read the end once (tail -n 50)";
const PROGRAM: &str = "give it a program: -c 'code', a file, or standard input";
const ANSWERS: &str = "use the options that answer its questions beforehand";

/// Returns the first command that needs a terminal.
pub(super) fn find(parsed: &Parsed) -> Option<NeedsTerminal> {
    // What a setting names may never run, or runs where it is given what it needs.
    let runs = |command: &SimpleCommand| !command.is_aside && !command.is_moot;
    let commands = parsed.commands.iter().enumerate().filter(|(_, command)| runs(command));
    let editor_set_at = parsed.commands.iter().position(keeps_editor);
    commands.into_iter().find_map(|(index, command)| {
        let has_editor = sets_editor(command) || editor_set_at.is_some_and(|at| at < index);
        // A pager that writes to another command passes everything on.
        let is_piped_on = parsed
            .commands
            .iter()
            .any(|other| other.piped_from.as_ref().is_some_and(|from| from.contains(&index)));
        let found = |hint, is_endless| NeedsTerminal { command: command.shown(), hint, is_endless };
        let endless = || endless(command).filter(|_| !is_limited(parsed, command));
        hint(command, has_editor)
            .filter(|hint| *hint != PAGE || !is_piped_on)
            .map(|hint| found(hint, false))
            .or_else(|| endless().map(|hint| found(hint, true)))
    })
}

/// Says whether something ends the command: a time limit, or that it runs beside the others.
fn is_limited(parsed: &Parsed, command: &SimpleCommand) -> bool {
    let mut command = command;
    while let Some(outer) = command.launched_by.and_then(|index| parsed.commands.get(index)) {
        if outer.program() == Some("timeout") {
            return true;
        }
        command = outer;
    }
    command.background
}

/// Says whether a command has the editor that it starts in a variable.
fn sets_editor(command: &SimpleCommand) -> bool {
    command.assignments.iter().any(|(name, _)| name.ends_with("EDITOR"))
}

/// Says whether the commands behind this one have the editor that it names.
fn keeps_editor(command: &SimpleCommand) -> bool {
    matches!(command.program(), None | Some("export")) && sets_editor(command)
}

fn hint(command: &SimpleCommand, has_editor: bool) -> Option<&'static str> {
    let arguments = command.arguments();
    let has = |options: &[&str]| has(arguments, options);
    let version = match command.program()? {
        "tmux" | "less" | "python" | "python3" => "-V",
        "top" | "screen" => "-v",
        _ => "--version",
    };
    if has(&["--version", "--help", "-version", version]) {
        return None;
    }
    match command.program()? {
        program if edits(program, command) => Some(EDIT),
        "less" | "more" | "most" | "pg" if !command.is_fed => Some(PAGE),
        "htop" | "btop" | "atop" | "nvtop" | "bmon" | "nmon" | "glances" | "k9s" => Some(ONCE),
        "top" | "iotop" if !has_letter(arguments, 'b') => Some(ONCE),
        "python" | "python3" | "python2" | "node" | "bun" | "lua" | "ghci" | "irb" | "ipython"
        | "R" | "julia" | "deno" | "iex" | "scala" | "jshell" | "bc" | "ocaml"
            if !command.is_fed && arguments.is_empty() =>
        {
            Some(PROGRAM)
        }
        "python" | "python3" if has(&["-i"]) && !command.is_fed => Some(PROGRAM),
        "php" if has(&["-a"]) && !command.is_fed => Some(PROGRAM),
        "bash" | "sh"
            if has_letter(arguments, 'i') && !command.is_fed && !has_letter(arguments, 'c') =>
        {
            skip_options(arguments, SHELL_VALUED).is_empty().then_some(PROGRAM)
        }
        "ssh" if !command.is_fed && !has(&["-N", "-f", "-V", "-G", "-O", "-Q"]) => {
            let rest = skip_options(arguments, SSH_VALUED);
            (rest.len() == 1).then_some("give ssh a command to run: ssh HOST 'command'")
        }
        "sftp" | "telnet" | "ftp" if !command.is_fed && !has(&["-b"]) => Some(ANSWERS),
        "psql" | "mysql" | "mariadb" if !command.is_fed && !has_sql(arguments) => Some(PROGRAM),
        "gdb" | "lldb" if !command.is_fed && !has(&["-batch", "--batch", "-b"]) => {
            Some("run the debugger in batch mode with its commands as options")
        }
        "passwd" if has(&["-S", "--status", "-h"]) => None,
        "passwd" | "visudo" | "vipw" | "vigr" | "dialog" | "whiptail" | "mc" | "ranger" | "nnn"
        | "tig" | "lazygit" | "gitui" | "ncdu" | "alsamixer" | "nmtui" | "menuconfig" => {
            Some(ANSWERS)
        }
        "fzf" if !has(&["-f", "--filter"]) => Some("use fzf --filter, or grep"),
        "crontab" if has(&["-e"]) => Some("write the table to a file and load it: crontab FILE"),
        "tmux" if !has(&["-d"]) => {
            let subcommand = skip_options(arguments, TMUX_VALUED).first().and_then(Word::literal);
            let attaches = subcommand.is_none_or(|name| {
                matches!(name, "a" | "at" | "attach" | "attach-session" | "new" | "new-session")
            });
            attaches.then_some("start it as an ordinary command")
        }
        "screen" if !has(&["-d", "-dm", "-dmS", "-ls", "-X"]) => {
            Some("start it as an ordinary command")
        }
        "docker" | "podman" | "kubectl" | "nerdctl"
            if has(&["-it", "-ti", "--tty"]) || (has(&["-i"]) && has(&["-t"])) =>
        {
            Some("leave out -it; there is no terminal")
        }
        "git" => git(command, has_editor),
        _ => None,
    }
}

/// Says whether it is an editor that a person would type into.
fn edits(program: &str, command: &SimpleCommand) -> bool {
    let has = |options: &[&str]| has(command.arguments(), options);
    match program {
        "vi" | "vim" | "nvim" | "view" | "ex" => !has(&["--headless"]) && !reads_lines(command),
        "emacs" => !has(&["--batch", "-batch", "--script", "--daemon"]),
        "ed" => !is_fed_itself(command),
        "hx" | "helix" | "joe" | "kak" | "mcedit" | "micro" | "nano" | "ne" | "pico"
        | "vimdiff" => true,
        _ => false,
    }
}

/// Says whether an editor of vi's family reads its commands as lines and not as keys: silently, or where
/// it is fed.
fn reads_lines(command: &SimpleCommand) -> bool {
    let has = |letter| has_letter(command.arguments(), letter);
    let by_lines = command.program() == Some("ex") || has('e') || has('E');
    by_lines && (has('s') || is_fed_itself(command))
}

/// Says whether a command is fed by a pipe, a text or a file of its own. What is around it could have it run other commands
/// unseen.
fn is_fed_itself(command: &SimpleCommand) -> bool {
    command.is_fed && (command.piped_from.is_some() || feeds(&command.redirects) == Some(true))
}

const SHELL_VALUED: &[&str] = &["-O", "+O", "-o", "+o", "--init-file", "--rcfile"];

const TMUX_VALUED: &[&str] = &["-c", "-f", "-L", "-S", "-T"];

const SSH_VALUED: &[&str] = &[
    "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-o", "-p", "-R", "-S",
    "-W", "-w", "-B",
];

fn endless(command: &SimpleCommand) -> Option<&'static str> {
    let arguments = command.arguments();
    match command.program()? {
        "tail"
            if has(arguments, &["--follow", "--follow=name", "--follow=descriptor"])
                || has_letter(arguments, 'f')
                || has_letter(arguments, 'F') =>
        {
            // `--pid` ends it.
            (!arguments.iter().any(|word| word.prefix().starts_with("--pid"))).then_some(LIMIT)
        }
        "journalctl" if has(arguments, &["-f", "--follow"]) => Some(LIMIT),
        "dmesg" if has(arguments, &["-w", "--follow", "-W"]) => Some(LIMIT),
        "watch" if !has(arguments, &["--version", "-v", "--help", "-h"]) => Some(ONCE),
        _ => None,
    }
}

fn git(command: &SimpleCommand, has_editor: bool) -> Option<&'static str> {
    let (subcommand, arguments) = git_subcommand(command.arguments())?;
    let set = |name| command.arguments().iter().any(|word| word.prefix().starts_with(name));
    let given =
        has_editor || set("core.editor=") || (subcommand == "rebase" && set("sequence.editor="));
    let has = |options: &[&str]| has(arguments, options);
    // `git commit -i` includes files; elsewhere `-i` asks. `git stash show -p` prints a patch.
    let prints = subcommand == "stash"
        && arguments.first().is_some_and(|word| matches!(word.literal(), Some("list" | "show")));
    let picks = has(&["-p", "--patch", "--interactive"]) && !prints
        || (has(&["-i"]) && subcommand != "commit");
    let message = arguments.iter().enumerate().any(|(index, word)| {
        let text = word.prefix();
        ["--message", "--file", "--reuse-message", "--no-edit", "--dry-run"]
            .iter()
            .any(|option| text.starts_with(option))
            || (text.starts_with('-') && !text.starts_with("--") && text.contains(['m', 'F', 'C']))
            || is_fixup(text, arguments.get(index + 1))
    });
    match subcommand {
        "add" | "checkout" | "restore" | "reset" | "stash" | "clean" | "commit"
            if picks && !command.is_fed =>
        {
            Some("name the files, apply a patch (git apply --cached), or pipe the answers into it")
        }
        "rebase" if has(&["-i", "--interactive", "--edit-todo"]) && !given => {
            Some("set GIT_SEQUENCE_EDITOR to a command that edits the list, such as sed")
        }
        "commit" if !message && !given => Some("give the message: git commit -m 'message'"),
        "tag" if !message && !given && has(&["-a", "-s", "--annotate"]) => {
            Some("give the message: git tag -a NAME -m 'message'")
        }
        "mergetool" | "citool" | "gui" => Some("edit the conflicting files"),
        "difftool" => Some("use git diff"),
        _ => None,
    }
}

/// Whether this is git's option that takes the message of another commit as it is; `next` follows it.
fn is_fixup(text: &str, next: Option<&Word>) -> bool {
    let of = match text.strip_prefix("--fixup") {
        Some("") => next.map(Word::prefix),
        Some(of) => of.strip_prefix('='),
        None => None,
    };
    of.is_some_and(|of| !["amend:", "reword:"].iter().any(|edits| of.starts_with(edits)))
}

fn has_sql(arguments: &[Word]) -> bool {
    arguments.iter().any(|word| {
        ["-c", "-e", "-f", "-l", "--command", "--execute", "--file", "--list"]
            .iter()
            .any(|option| word.prefix().starts_with(option))
    })
}

fn has(arguments: &[Word], options: &[&str]) -> bool {
    arguments
        .iter()
        .take_while(|word| word.literal() != Some("--"))
        .any(|word| word.literal().is_some_and(|text| options.contains(&text)))
}

/// Says whether a letter is among the short options, alone or in a row such as `-nf`.
fn has_letter(arguments: &[Word], letter: char) -> bool {
    arguments.iter().take_while(|word| word.literal() != Some("--")).any(|word| {
        let text = word.prefix();
        text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
    })
}
