//! What a command is told whose programs are not found, where they lie on the user's PATH in what walls keep
//! out of its sight: in the user's own shell they run.
//!
//! Only what a shell, or what starts programs, says of a program counts: others miss files of the same name.

use std::path::Path;

use tenon_sandbox::ProgramOutOfSight;

use super::said::{Said, quoted};
use crate::policy::{in_one_line, shell::SimpleCommand};

/// What shells say of a program that is not there, behind its name.
const NOT_FOUND: [&str; 4] =
    [": command not found", ": 未找到命令", ": not found", ": inaccessible or not found"];

/// The same in front of it.
const NOT_FOUND_BEFORE: [&str; 2] = ["command not found: ", "which: no "];

/// Who says so in few words: others do so of other things. A number of a line also stands there.
const SAY_NOT_FOUND: [&str; 8] = ["sh", "dash", "ash", "ksh", "mksh", "type", "hash", "exec"];

/// What starts programs, and what it says of one that is not there.
const STARTERS: [&str; 12] = [
    "env", "xargs", "timeout", "nice", "nohup", "setsid", "stdbuf", "time", "ionice", "chrt",
    "taskset", "flock",
];
const NO_FILE: [&str; 2] = [": No such file or directory", ": 没有那个文件或目录"];
const STARTER_VERBS: [&str; 3] = ["failed to run command ", "failed to execute ", "cannot run "];

/// Make says the same of files. Of a program it says besides with which exit code its recipe ended.
const MAKE: [&str; 2] = ["make", "gmake"];
const MAKE_NOT_FOUND: &str = " 127";

/// What programs say that would start another: Go, Node and Python, which says so of files, too.
const GO: &str = ": executable file not found in $PATH";
const NODE: (&str, &str) = ("spawn ", " ENOENT");
const PYTHON: &str = "No such file or directory: ";
const PYTHON_STARTS: &str = "_execute_child";

/// These only look for programs, and may say nothing of one that is not there.
const LOOKS: [&str; 3] = ["which", "command", "type"];

/// Changes where programs are looked for, unless the user's folders are kept.
const SETS_PATH: [&str; 3] = ["PATH=", "env -i", "env - "];
const KEEPS_PATH: [&str; 2] = ["$PATH", "${PATH"];

/// Names that are looked for, and sentences of one result.
const NAMES_MAX: usize = 20;
const SENTENCES_MAX: usize = 3;

/// How each of these sentences begins.
const BEGIN: &str = "programs: ";

/// Whether a line of a result is one of these sentences. They depend on where the user has programs.
pub(super) fn is_of_program(line: &str) -> bool {
    line.strip_prefix("[walls] ").is_some_and(|line| line.starts_with(BEGIN))
}

/// Returns what is said of programs that a command did not find, once each.
pub(super) fn sentences(said: &Said<'_>) -> Vec<String> {
    let has = |words: &[&str]| words.iter().any(|words| said.script.contains(words));
    if has(&SETS_PATH) && !has(&KEEPS_PATH) {
        return Vec::new();
    }
    let printed = if said.may_complain() { said.printed() } else { String::new() };
    let mut names = missed(&printed);
    if !said.is_job {
        names.extend(said.commands.iter().flat_map(looked_for));
    }
    let mut sentences: Vec<String> = Vec::new();
    for name in names.into_iter().take(NAMES_MAX) {
        let sandbox = &said.context.sandbox;
        let found = sandbox.program_out_of_sight(name).and_then(|found| sentence(name, &found));
        let inside = || sandbox.program_inside(name).map(|path| not_looked_for(name, &path));
        let Some(sentence) = found.or_else(inside) else { continue };
        if sentences.len() < SENTENCES_MAX && !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

fn sentence(name: &str, found: &ProgramOutOfSight) -> Option<String> {
    let shown = |path: &Path| in_one_line(&path.to_string_lossy());
    let folder = shown(found.place.parent()?);
    let lies = match found.place == found.path {
        true => format!("in {folder}"),
        false => format!("as {}, a link into {folder}", shown(&found.path)),
    };
    Some(format!(
        "{BEGIN}{name} is on the user's PATH {lies}, which commands do not see; --add-dir FOLDER, or \
         read_dir in the user's config.toml, would open it"
    ))
}

/// Returns what is said of a program that commands inside the walls could have written.
fn not_looked_for(name: &str, path: &Path) -> String {
    let path = in_one_line(&path.to_string_lossy());
    format!(
        "{BEGIN}{name} is on the user's PATH in a folder of the session, or by a link into one, where a command outside the \
         walls looks for none; named as {path} it would run"
    )
}

/// Returns the programs that are said not to be there, once each.
fn missed(printed: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in printed.lines().filter_map(|line| missed_in(line.trim_end(), printed)) {
        if is_name(name) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the program that a line of what was printed misses.
fn missed_in<'a>(line: &'a str, printed: &str) -> Option<&'a str> {
    let strip = |ends: &[&str]| ends.iter().find_map(|end| line.strip_suffix(end));
    if let Some(front) = strip(&NOT_FOUND) {
        let is_short = line.ends_with(": not found");
        return last(front, |who| !is_short || says_not_found(who));
    }
    if let Some(front) = strip(&NO_FILE) {
        let (who, what) = front.split_once(": ")?;
        let verb = STARTER_VERBS.iter().find_map(|verb| what.strip_prefix(verb));
        return match verb {
            Some(name) => starts(who, printed).then(|| bare(name)),
            None => last(front, |who| starts(who, printed)),
        };
    }
    if let Some(front) = line.strip_suffix(GO) {
        return quoted(front).last();
    }
    if let Some(found) = NOT_FOUND_BEFORE.iter().find_map(|words| line.split_once(words)) {
        return found.1.split_whitespace().next();
    }
    if let Some((_, behind)) = line.split_once(NODE.0) {
        return behind.split_once(NODE.1).map(|(name, _)| name);
    }
    let (_, name) = line.split_once(PYTHON).filter(|_| printed.contains(PYTHON_STARTS))?;
    quoted(name).next()
}

/// Returns the last part of a line's beginning if who says it, the part in front, `may`.
fn last(front: &str, may: impl Fn(&str) -> bool) -> Option<&str> {
    let (before, name) = front.rsplit_once(": ")?;
    let who = before.rsplit(": ").next().unwrap_or(before);
    may(who).then(|| bare(name))
}

fn bare(name: &str) -> &str {
    quoted(name).next().unwrap_or(name).trim()
}

fn says_not_found(who: &str) -> bool {
    let number = who.strip_prefix("line ").unwrap_or(who);
    number.bytes().all(|byte| byte.is_ascii_digit()) || SAY_NOT_FOUND.contains(&file_name(who))
}

/// Whether it starts programs by their names, and not files alone.
fn starts(who: &str, printed: &str) -> bool {
    let name = file_name(who).split('[').next().unwrap_or(who);
    STARTERS.contains(&name) || MAKE.contains(&name) && printed.contains(MAKE_NOT_FOUND)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the programs that a command only looks for.
fn looked_for(command: &SimpleCommand) -> Vec<&str> {
    let looks = command.program().is_some_and(|program| LOOKS.contains(&program));
    let words = command.arguments().iter().filter_map(|word| word.literal());
    words.filter(|word| looks && is_name(word)).collect()
}

/// Whether it is looked for on PATH.
fn is_name(word: &str) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || "_-.+@".contains(sign);
    !word.is_empty() && !word.starts_with(['-', '.']) && word.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell;

    #[test]
    fn programs_that_are_missed_are_told_from_files() {
        for (printed, expected) in [
            ("bash: line 1: ruff: command not found", &["ruff"][..]),
            ("bash: 行 1: ruff: 未找到命令", &["ruff"]),
            ("./x.sh: line 3: ruff: command not found", &["ruff"]),
            ("git-lfs filter-process: 1: git-lfs: not found", &["git-lfs"]),
            ("/bin/sh: 1: ruff: not found", &["ruff"]),
            ("sh: ruff: not found", &["ruff"]),
            ("bash: line 1: type: ruff: not found", &["ruff"]),
            ("bash: line 1: exec: ruff: not found", &["ruff"]),
            ("npm error 404: left-pad: not found", &[]),
            ("zsh:1: command not found: ruff", &["ruff"]),
            ("/usr/bin/which: no ruff in (/usr/bin:/bin)", &["ruff"]),
            ("env: ‘ruff’: No such file or directory", &["ruff"]),
            ("/usr/bin/env: 'ruff': No such file or directory", &["ruff"]),
            ("xargs: ruff: No such file or directory", &["ruff"]),
            ("timeout: failed to run command ‘ruff’: No such file or directory", &["ruff"]),
            ("/usr/bin/time: cannot run ruff: No such file or directory", &["ruff"]),
            (
                "make: ruff: No such file or directory\nmake: *** [Makefile:2: lint] Error 127",
                &["ruff"],
            ),
            ("make[1]: ruff: No such file or directory\nmake[1]: *** [x] 错误 127", &["ruff"]),
            ("make: ruff: No such file or directory\nmake: *** No rule to make target", &[]),
            ("cat: ruff: No such file or directory", &[]),
            ("env: ‘./ruff’: No such file or directory", &[]),
            ("Error: spawn ruff ENOENT", &["ruff"]),
            ("exec: \"ruff\": executable file not found in $PATH", &["ruff"]),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'ruff'", &[]),
            (
                "  in _execute_child\nFileNotFoundError: [Errno 2] No such file or directory: 'ruff'",
                &["ruff"],
            ),
            ("bash: ../x: command not found\nbash: a b: command not found", &[]),
            ("ruff: not found\ncommand not found", &[]),
        ] {
            assert_eq!(missed(printed), expected, "{printed}");
        }
    }

    #[test]
    fn programs_are_looked_for_by_name() {
        let check = |script: &str, expected: &[&str]| {
            let commands = shell::parse(script).commands;
            let found: Vec<&str> = commands.iter().flat_map(looked_for).collect();
            assert_eq!(found, expected, "{script}");
        };
        check("which ruff tsc || ls", &["ruff", "tsc"]);
        check("command -v ruff > /dev/null && ruff check", &["ruff"]);
        check("if ! type -P ruff; then echo none; fi", &["ruff"]);
        check("which ./ruff \"$x\"; echo ruff", &[]);
    }

    #[test]
    fn a_sentence_names_the_folder_that_is_out_of_sight() {
        let found =
            |path: &str, place: &str| ProgramOutOfSight { path: path.into(), place: place.into() };
        let check = |path: &str, place: &str, expected: &str| {
            let said = sentence("x", &found(path, place)).unwrap();
            assert!(said.contains(expected), "{said}");
            assert!(is_of_program(&format!("[walls] {said}")), "{said}");
        };
        let flag = "which commands do not see; --add-dir FOLDER";
        check("/h/bin/x", "/h/bin/x", &format!("PATH in /h/bin, {flag}"));
        let link = format!("as /h/.local/bin/x, a link into /h/bin, {flag}");
        check("/h/.local/bin/x", "/h/bin/x", &link);
    }
}
