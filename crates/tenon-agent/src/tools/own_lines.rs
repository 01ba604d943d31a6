//! Which lines of a command's standard output may be complaints of its own. What shows files prints there
//! what stands in them: the same words, of others.
//!
//! On standard error a program speaks for itself, so all of that counts. What a program starts shows files, too
//! (`cat build.log` in a recipe of make's), and no line says which: there a complaint is another's that
//! stands in a file of the workspace which was there before the command.

use std::{
    collections::{HashSet, VecDeque},
    time::{Duration, SystemTime},
};

use tenon_sandbox::FileError;

use super::{ToolContext, ran_in};
use crate::policy::shell::{self, RedirectKind, SimpleCommand, Word};

/// Of the shell itself. They print nothing on standard output.
const SILENT: [&str; 12] = [
    "break", "continue", "exit", "export", "return", "set", "shift", "shopt", "trap", "umask",
    "unset", "wait",
];

/// What may do more than show files, and mostly shows them.
const SHOWING: [&str; 8] = ["awk", "bat", "gawk", "less", "mawk", "more", "perl", "sed"];

/// What the shell and git begin complaints with.
const SHELL: &str = "bash";
const GIT: [&str; 3] = ["error", "fatal", "warning"];

/// They mark lines of files in front.
const MARKING: [&str; 2] = ["diff", "git"];
const MARKS: [char; 4] = ['+', '-', '<', '>'];

/// What package managers put before a script that they run.
const SCRIPTS: [&str; 2] = ["> ", "$ "];

/// Files that a line shows which are looked into, and the most of one.
const FILES_MAX: usize = 8;
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Entries of the workspace that are looked at for complaints of others, the nearest first, the names of one
/// folder, and what of all is read.
const OLD_ENTRIES_MAX: usize = 256;
const NAMES_MAX: usize = 1_000;
const OLD_BYTES_MAX: u64 = 4 << 20;

/// Complaints that are looked for there. The first lines tell.
const COMPLAINTS_MAX: usize = 40;

/// How far the time of a file may be behind that of the command which wrote it: kernels count in ticks.
const TICKS: Duration = Duration::from_millis(20);

/// What stands in complaints of which something may be told. Lines of code, which traces show, stay.
const COMPLAINTS: [&str; 21] = [
    "denied",
    "permitted",
    "read-only",
    "busy",
    "cross-device",
    "invalid argument",
    "too large",
    "no such",
    "not found",
    "not exist",
    "n't exist",
    "cannot ",
    "could not ",
    "unreachable",
    "not known",
    "unavailable",
    "not supported",
    "not a git repository",
    "failed",
    "failure",
    "没有",
];

/// What stands in a file and is shorter, a program can say by itself.
const LINE_BYTES_MIN: usize = 16;

/// Returns the lines of `out`, the standard output of a script of these commands, that may be their own complaints. Where
/// they show files and do nothing else there are none, but where complaints are `merged` with the rest:
/// then those with the name of one of the programs in front. They began at `began`, if that is known.
pub(super) fn own_lines<'a>(
    (script, commands): (&str, &[SimpleCommand]),
    out: &'a str,
    (merged, began): (bool, Option<SystemTime>),
    context: &ToolContext,
) -> Vec<&'a str> {
    let shows = |command: &SimpleCommand| shell::reads(command) || is_silent(command);
    let shows_only = !commands.is_empty() && commands.iter().all(shows);
    if out.is_empty() || shows_only && !merged {
        return Vec::new();
    }
    let programs: Vec<&str> = commands.iter().filter_map(SimpleCommand::program).collect();
    let marks = programs.iter().any(|program| MARKING.contains(program));
    let is_own = |line: &&str| match shows_only {
        true => is_of_program(line, &programs),
        false => !(marks && line.starts_with(MARKS)),
    };
    let mut lines: Vec<&str> = out.lines().filter(is_own).collect();
    if !lines.is_empty() {
        let shown = shown_files(commands, context);
        let known: HashSet<&str> =
            shown.iter().flat_map(|text| text.lines()).map(str::trim).collect();
        lines.retain(|line| !is_of_file(line, |part| known.contains(part)));
    }
    if let Some(before) = began.and_then(|began| began.checked_sub(TICKS)) {
        let others = complaints_of_others(&lines, (script, commands), before, context);
        lines.retain(|line| !others.contains(line));
    }
    lines
}

fn is_silent(command: &SimpleCommand) -> bool {
    command.program().is_some_and(|name| SILENT.contains(&name))
}

/// Whether a line begins with who says it.
fn is_of_program(line: &str, programs: &[&str]) -> bool {
    let name = line.split_once(':').map_or("", |(name, _)| name);
    let name = name.rsplit('/').next().unwrap_or(name);
    name == SHELL || programs.contains(&name) || programs.contains(&"git") && GIT.contains(&name)
}

/// Returns those of `lines` that complain and stand in the script, or in a file of the workspace that did not
/// change since `before`.
fn complaints_of_others<'a>(
    lines: &[&'a str],
    (script, commands): (&str, &[SimpleCommand]),
    before: SystemTime,
    context: &ToolContext,
) -> HashSet<&'a str> {
    let complains = |line: &&&str| {
        let line = line.to_lowercase();
        COMPLAINTS.iter().any(|words| line.contains(words))
    };
    // Or prints it, as a script does.
    let says = |text: &str, line: &str| {
        let line = line.trim();
        line.len() >= LINE_BYTES_MIN && (text.contains(line) || names_script(text, line))
    };
    let complaints = lines.iter().filter(complains).take(COMPLAINTS_MAX);
    let mut left: HashSet<&str> = complaints.copied().collect();
    let mut others: HashSet<&str> = left.extract_if(|line| says(script, line)).collect();
    let (here, root) = (Word::text("."), context.workspace.root().to_string_lossy().into_owned());
    let mut folders: VecDeque<String> =
        commands.iter().flat_map(|command| ran_in::led_to(command, &here, context)).collect();
    folders.push_back(root);
    let (mut seen, mut bytes) = (HashSet::new(), 0);
    while let Some(folder) = folders.pop_front() {
        let names = context.workspace.names(&folder, NAMES_MAX, |name| !name.starts_with('.'));
        for name in names.unwrap_or_default() {
            let path = format!("{folder}/{name}");
            if left.is_empty() || bytes > OLD_BYTES_MAX || seen.len() == OLD_ENTRIES_MAX {
                return others;
            }
            if !seen.insert(path.clone()) {
                continue;
            }
            match context.workspace.open_file(&path) {
                Ok(file) if file.modified() < before => bytes += file.len().min(FILE_BYTES_MAX),
                Err(FileError::IsDirectory { .. }) => {
                    folders.push_back(path);
                    continue;
                }
                _ => continue,
            }
            let text = context.workspace.read(&path, FILE_BYTES_MAX).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let known: HashSet<&str> = text.lines().map(str::trim).collect();
            let stands = |part: &str| known.contains(part);
            let is_others = |line: &&str| says(&text, line) || is_of_file(line, stands);
            others.extend(left.extract_if(is_others));
        }
    }
    others
}

/// Whether a line is a script as it is shown before it runs, which stands in a text: mostly as a string of
/// JSON.
fn names_script(text: &str, line: &str) -> bool {
    let script = SCRIPTS.iter().find_map(|mark| line.strip_prefix(mark));
    let script = script.filter(|script| script.len() >= LINE_BYTES_MIN);
    let written = script.and_then(|script| serde_json::to_string(script).ok());
    written.is_some_and(|written| text.contains(written.trim_matches('"')))
}

/// Whether a line stands in a file, or is one of it with a mark, its number or the file's name in front.
fn is_of_file<'a>(line: &'a str, stands: impl Fn(&str) -> bool) -> bool {
    let behind = |text: &'a str, sign| text.split_once(sign).map(|(_, rest)| rest);
    let name = behind(line, ':');
    let number = name.and_then(|rest| behind(rest, ':'));
    let parts = [Some(line), line.get(1..), behind(line, '\t'), name, number];
    let is_known = |part: &str| part.trim().len() >= LINE_BYTES_MIN && stands(part.trim());
    parts.into_iter().flatten().any(is_known)
}

/// Returns what is in the files of the workspace that commands show, but for what the line writes itself:
/// there its complaints may be.
fn shown_files(commands: &[SimpleCommand], context: &ToolContext) -> Vec<String> {
    let written: Vec<String> = commands
        .iter()
        .flat_map(|command| {
            let writes = shell::writes(command).into_iter();
            writes
                .flat_map(|write| ran_in::led_to(command, &write.path, context))
                .collect::<Vec<_>>()
        })
        .collect();
    let shows = |name: &str| SHOWING.contains(&name);
    let readers = commands
        .iter()
        .filter(|command| shell::reads(command) || command.program().is_some_and(shows));
    let named = readers.flat_map(|command| {
        let read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
        let words = command.arguments().iter().chain(read.map(|redirect| &redirect.target));
        words.flat_map(|word| ran_in::led_to(command, word, context)).collect::<Vec<_>>()
    });
    let read = |path: String| context.workspace.read(&path, FILE_BYTES_MAX).ok();
    let texts = named.filter(|path| !written.contains(path)).filter_map(read).take(FILES_MAX);
    texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Bench;

    #[test]
    fn what_stands_in_a_file_that_is_shown_is_no_complaint_of_the_command() {
        let bench = Bench::new();
        let denied = "touch: cannot touch '/etc/x': Permission denied";
        bench.put("sub/build.log", denied);
        bench.put("made.log", denied);
        let check = |script: &str, merged: bool, out: &str, is_own: bool| {
            let commands = shell::parse(script).commands;
            let lines = own_lines((script, &commands), out, (merged, None), &bench.context);
            assert_eq!(!lines.is_empty(), is_own, "{script}: {out}");
        };
        let marked = [
            denied.to_owned(),
            format!("> {denied}"),
            format!("+{denied}"),
            format!("3:{denied}"),
            format!("sub/build.log:3:{denied}"),
            format!("     1\t{denied}"),
        ];
        for line in &marked {
            check("diff a sub/build.log", false, line, false);
            check("grep -rn denied . | head; exit 1", false, line, false);
            check("git diff; false", false, line, false);
            check("cat -n sub/build.log; make", false, line, false);
            check("cd sub && grep -n denied build.log; ./check.sh", false, line, false);
        }
        check("awk '/denied/ { print; exit 1 }' sub/build.log", false, denied, false);
        check("./build.sh", false, denied, true);
        check("./build.sh 2>&1 | tail -n 3", true, denied, true);
        check("./build.sh > made.log 2>&1; cat made.log", true, denied, true);
        check("git diff; ./build.sh", false, denied, true);
        check("git diff; ./build.sh", false, &marked[2], false);
        check("cat other.log; ./build.sh", false, denied, true);
        let of_cat = "cat: /etc/shadow: Permission denied";
        check("cat /etc/shadow 2>&1 | head", true, of_cat, true);
        check("cat /etc/shadow", false, of_cat, false);
        check("cat sub/build.log 2>&1", true, denied, false);
        check("git log 2>&1 | cat", true, "fatal: not a git repository", true);
        check("ls none 2>&1", true, "bash: line 1: ls: Permission denied", true);
    }

    #[test]
    fn what_a_file_said_before_the_command_is_no_complaint_of_what_it_starts() {
        let bench = Bench::new();
        let denied = "touch: cannot touch '/etc/x': Permission denied";
        bench.put("logs/build.log", format!("1\n{denied}\n"));
        bench.put("Makefile", "all:\n\t@echo \"cat: /none/x: No such file or directory\"\n");
        bench.put("fetch.py", "    s.connect((\"example.com\", 443))\n");
        bench.put(
            "package.json",
            r#"{"scripts": {"test": "echo \"Permission denied\" && exit 1"}}"#,
        );
        let (now, hour) = (SystemTime::now(), Duration::from_secs(3_600));
        let check = |began, out: &str, is_own: bool| {
            let script = "make; echo 'a: /none/a: No such file or directory'";
            let commands = shell::parse(script).commands;
            let lines = own_lines((script, &commands), out, (false, began), &bench.context);
            assert_eq!(lines.contains(&out), is_own, "{out}");
        };
        let later = Some(now + hour);
        check(later, denied, false);
        check(later, &format!("build.log:2:{denied}"), false);
        check(later, "cat: /none/x: No such file or directory", false);
        check(later, "a: /none/a: No such file or directory", false);
        check(later, "Permission denied", false);
        for mark in ["> ", "$ "] {
            check(later, &format!("{mark}echo \"Permission denied\" && exit 1"), false);
            check(later, &format!("{mark}echo \"Permission denied\" && exit 2"), true);
        }
        check(later, "touch: cannot touch '/etc/y': Permission denied", true);
        // A line of code that a trace shows.
        check(later, "    s.connect((\"example.com\", 443))", true);
        // What the command itself may have written is its own.
        check(Some(now - hour), denied, true);
        check(None, denied, true);
    }
}
