//! What makes a check hollow: it is named in a line and is not run, or its failure does not show.
//! Options that only tell or list, variables that tools take options and programs from, and
//! commands before it that change what the shell runs. Pure.
//!
//! In doubt a run is none: the model is then asked for the plain command. Who writes a test that
//! tests nothing is not found out here.

use crate::policy::shell::{Launches, Parsed, SimpleCommand, Word};

/// Words behind which a line may end well whatever the commands between them did.
const COMPOUND_WORDS: [&str; 4] = ["then", "do", "esac", "coproc"];

/// Programs that run their arguments and end as those do.
const LAUNCHERS: [&str; 8] =
    ["command", "env", "ionice", "nice", "nohup", "stdbuf", "time", "timeout"];

/// Shells, and the letters that may stand in front of `-c SCRIPT`.
const SHELLS: [&str; 4] = ["bash", "dash", "sh", "zsh"];
const SHELL_LETTERS: &str = "celux";

/// Builtins that change what the shell does next, or whether it does anything.
const BUILTINS: [&str; 32] = [
    "alias",
    "bind",
    "break",
    "builtin",
    "continue",
    "coproc",
    "declare",
    "enable",
    "eval",
    "exec",
    "exit",
    "fc",
    "function",
    "getopts",
    "hash",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "return",
    "shift",
    "shopt",
    "suspend",
    "trap",
    "typeset",
    "unalias",
    "unset",
    "wait",
];

/// What `set` may be given: letters, and names behind `-o`.
const SET_LETTERS: &str = "euxoEfv";
const SET_NAMES: [&str; 5] = ["errexit", "errtrace", "nounset", "pipefail", "xtrace"];

/// Files that are sourced to have the tools of a project at hand.
const SOURCED: [&str; 3] = ["/bin/activate", ".cargo/env", "/nvm.sh"];

/// Folders that people put in front of `PATH` to have such tools.
const TOOL_FOLDERS: [&str; 6] =
    [".bin", ".cargo/bin", ".local/bin", "go/bin", "venv/bin", "/usr/local/bin"];

/// Variables that the shell, the loader or a tool takes programs or options from.
const VARIABLES: [&str; 12] = [
    "BASH_ENV",
    "CARGO",
    "ENV",
    "LD_AUDIT",
    "LD_PRELOAD",
    "MAKE",
    "MAKEFILES",
    "MAVEN_ARGS",
    "RUSTC",
    "RUSTDOC",
    "SHELL",
    ".SHELLFLAGS",
];
/// Endings of others, and those that have such an ending and only tell a compiler something.
const VARIABLE_ENDINGS: [&str; 3] = ["FLAGS", "OPTS", "_RUNNER"];
const COMPILER_FLAGS: [&str; 6] =
    ["RUSTFLAGS", "RUSTDOCFLAGS", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"];

/// Options of any program with which it tells something and does nothing, or never fails.
const OPTIONS: [&str; 15] = [
    "-h",
    "--build-plan",
    "--clean",
    "--co",
    "--collect-only",
    "--exit-zero",
    "--fail-never",
    "--if-present",
    "--ignore-errors",
    "--no-run",
    "--nobuild",
    "--notest",
    "--rules",
    "--unit-graph",
    "--env-info",
];
/// Beginnings of more, such as `--list-tests`.
const OPTION_BEGINNINGS: [&str; 10] = [
    "--dry",
    "--fixtures",
    "--help",
    "--init",
    "--list",
    "--markers",
    "--print-",
    "--setup-",
    "--show-",
    "--version",
];
/// Options that begin like those and do not mean that.
const HARMLESS: [&str; 3] = ["--show-output", "--show-capture", "--print-directory"];

/// Options of single programs that do so.
const OPTIONS_OF: [(&[&str], &[&str]); 14] = [
    (&["cargo"], &["-V", "--config"]),
    (&["go"], &["-n", "-c", "-list", "-exec", "-toolexec"]),
    (&["npm", "pnpm", "yarn", "bun", "deno"], &["-v", "-V", "--script-shell"]),
    (
        &["just"],
        &[
            "-n",
            "-l",
            "-s",
            "-e",
            "-c",
            "-V",
            "--show",
            "--dump",
            "--evaluate",
            "--summary",
            "--choose",
            "--command",
            "--edit",
            "--fmt",
            "--shell",
            "--usage",
            "--variables",
        ],
    ),
    (&["ninja"], &["-n", "-t"]),
    (&["gradle", "gradlew"], &["-m", "-x", "-v", "--exclude-task"]),
    (&["mvn", "mvnw"], &["-v", "-fn"]),
    (&["rake"], &["-n", "-T", "-P", "-D", "-W", "-V", "-A", "--tasks", "--prereqs", "--describe"]),
    (&["dotnet"], &["-t"]),
    (&["pytest"], &["-V", "--cache-show"]),
    (&["tox", "nox"], &["-l", "-a", "-n"]),
    (&["ruff"], &["-e", "-V", "--fix-only"]),
    (&["tsc", "eslint", "jest", "vitest", "rspec"], &["-v", "--showConfig", "--clearCache"]),
    (&["ctest", "mypy", "shellcheck"], &["-N", "--bug-report"]),
];

/// Make has many such options and takes any beginning of a long one, so its harmless ones are here:
/// letters, letters with a value, long ones.
const MAKE_LETTERS: &str = "BdkrRsSw";
const MAKE_VALUED: &str = "jCfOlI";
const MAKE_LONG: [&str; 16] = [
    "--always-make",
    "--debug",
    "--directory",
    "--file",
    "--jobs",
    "--keep-going",
    "--load-average",
    "--makefile",
    "--no-builtin-rules",
    "--no-print-directory",
    "--output-sync",
    "--print-directory",
    "--quiet",
    "--silent",
    "--trace",
    "--warn-undefined-variables",
];

/// Words behind a checker's name that make it something else.
const TELLING_WORDS: [&str; 11] = [
    "clean", "config", "format", "help", "init", "linter", "list", "lsp", "rule", "server",
    "version",
];

/// Says whether the parts of the line end it only as they end themselves. Conservative: a word in
/// quotes counts like one outside.
pub(super) fn is_without_compounds(command: &str) -> bool {
    let mut words = command.split(|sign: char| sign.is_whitespace() || "()".contains(sign));
    !command.contains("<(")
        && !command.contains(">(")
        && !words.any(|word| COMPOUND_WORDS.contains(&word))
}

/// Says whether nothing is known to keep the command `at` from running, and from being seen to fail.
pub(super) fn runs(parsed: &Parsed, at: usize) -> bool {
    let Some(check) = parsed.commands.get(at) else { return false };
    let before = parsed.commands.iter().take(at);
    let launchers = launchers(parsed, check);
    let is_launched = |index: &usize| {
        parsed.commands.get(*index).is_some_and(|launcher| launches(launcher) && assigns(launcher))
    };
    launchers.iter().all(is_launched)
        && before
            .enumerate()
            .all(|(index, command)| launchers.contains(&index) || leaves_shell(command))
        && assigns(check)
        && does_work(check)
}

/// Says whether a command from `first` on fails whatever is checked: where all must succeed the line then says
/// nothing of a check, which need not have run.
pub(super) fn fails_always(parsed: &Parsed, first: usize) -> bool {
    let is_seen = |index: &usize| parsed.commands.get(*index).is_some_and(launches);
    let mut commands = parsed.commands.iter().skip(first);
    commands.any(|command| {
        let is_failure = match command.words.first().map(Word::shown).as_deref() {
            Some("false" | "/bin/false" | "/usr/bin/false") => true,
            Some("exit") => command.arguments().first().is_some_and(is_code_of_failure),
            _ => false,
        };
        is_failure && launchers(parsed, command).iter().all(is_seen)
    })
}

/// Whether it is a number whose last eight bits, which are an exit code, are not 0.
fn is_code_of_failure(word: &Word) -> bool {
    let code = word.literal().and_then(|code| code.parse::<u32>().ok());
    code.is_some_and(|code| code % 256 != 0)
}

/// Returns what started a command, what started that, and so on.
fn launchers(parsed: &Parsed, command: &SimpleCommand) -> Vec<usize> {
    let above = |index: &usize| parsed.commands.get(*index)?.launched_by;
    // No more steps than commands: none starts itself.
    std::iter::successors(command.launched_by, above).take(parsed.commands.len()).collect()
}

/// Says whether a launcher ends as what it starts does.
fn launches(command: &SimpleCommand) -> bool {
    let Some(program) = command.program() else { return false };
    // One of the workspace is merely named so.
    let path = command.words.first().map(Word::shown).unwrap_or_default();
    let folder = path.strip_suffix(program).unwrap_or_default();
    if !matches!(folder, "" | "/bin/" | "/usr/bin/") {
        return false;
    }
    let literal = |word: &Word| word.literal().map(str::to_owned);
    let options: Vec<String> = command.arguments().iter().map_while(literal).collect();
    if SHELLS.contains(&program) {
        let is_option = |word: &&String| word.starts_with(['-', '+']);
        return options.iter().take_while(is_option).all(|option| {
            option.strip_prefix('-').is_some_and(|letters| is_of(letters, SHELL_LETTERS))
        });
    }
    LAUNCHERS.contains(&program) && command.launches == Launches::Known && {
        let mut own = options.iter().take_while(|word| word.starts_with('-'));
        own.all(|option| !tells(program, option) && option != "-V" && option != "-v")
    }
}

/// Says whether the shell runs what follows `command` as if it had not been there.
fn leaves_shell(command: &SimpleCommand) -> bool {
    if !assigns(command) {
        return false;
    }
    if command.words.is_empty() {
        return true;
    }
    let Some(program) = command.program() else { return false };
    let arguments = command.arguments();
    match program {
        "." | "source" => arguments
            .first()
            .is_some_and(|file| SOURCED.iter().any(|ending| file.shown().ends_with(ending))),
        "export" => arguments.iter().all(is_plain_assignment),
        "printf" => arguments.first().is_none_or(|word| !word.shown().starts_with("-v")),
        "set" => arguments.iter().all(|word| {
            let word = word.shown();
            let letters = word.strip_prefix(['-', '+']);
            SET_NAMES.contains(&word.as_str())
                || letters.is_some_and(|letters| is_of(letters, SET_LETTERS))
        }),
        _ => !BUILTINS.contains(&program),
    }
}

/// A name to be exported, or one with a value.
fn is_plain_assignment(word: &Word) -> bool {
    let shown = word.shown();
    match shown.split_once('=') {
        Some((name, value)) => is_harmless(name, value),
        None => word.literal().is_some_and(|name| !name.starts_with('-') && !steers(name)),
    }
}

fn assigns(command: &SimpleCommand) -> bool {
    command.assignments.iter().all(|(name, value)| is_harmless(name, &value.shown()))
}

fn is_harmless(name: &str, value: &str) -> bool {
    let name = name.trim_end_matches('+');
    if name == "PATH" {
        // What was found before is found still, or stands where tools are.
        let mut folders = value.split(':').take_while(|folder| *folder != "$PATH");
        let is_tools = |folder: &str| TOOL_FOLDERS.iter().any(|end| folder.ends_with(end));
        return value.split(':').any(|folder| folder == "$PATH") && folders.all(is_tools);
    }
    !steers(name)
}

/// Says whether a variable steers what is run.
fn steers(name: &str) -> bool {
    let is_compilers = COMPILER_FLAGS.contains(&name);
    VARIABLES.contains(&name)
        || VARIABLE_ENDINGS.iter().any(|ending| name.ends_with(ending)) && !is_compilers
        || name.to_ascii_lowercase().starts_with("npm_config_")
}

/// Says whether the arguments of a check let it check.
fn does_work(check: &SimpleCommand) -> bool {
    let Some(program) = check.program() else { return false };
    let is_unknown = |word: &&Word| !word.is_no_option() && word.prefix().is_empty();
    let is_pattern = |word: &Word| word.unknown().next().is_none();
    if check.arguments().iter().filter(is_unknown).any(|word| !is_pattern(word)) {
        return false;
    }
    let words: Vec<String> = check.arguments().iter().map(Word::shown).collect();
    // What a program runs another one by its name with has that one's options.
    let tool = match program {
        "npx" => words.first().map_or(program, String::as_str),
        "python" | "python3" => words.get(1).map_or(program, String::as_str),
        _ => program,
    };
    if tool == "make" {
        return words.iter().all(|word| is_of_make(word));
    }
    let skips =
        |word: &str| word.starts_with("-D") && (word.contains("skip") || word.contains("ignore"));
    if words.iter().any(|word| tells(tool, word) || skips(word)) {
        return false;
    }
    let behind = if tool == program { 0 } else { 2 - usize::from(program == "npx") };
    let mut named = words.iter().skip(behind).filter(|word| !word.starts_with(['-', '+']));
    let first = named.next().map_or("", String::as_str);
    let is_formatting = tool == "ruff" && first == "format";
    match tool {
        _ if is_formatting => words.iter().any(|word| word == "--check" || word == "--diff"),
        "cargo" if first == "nextest" => named.next().is_some_and(|word| word == "run"),
        _ => !TELLING_WORDS.contains(&first),
    }
}

/// Says whether `word` is an option with which `program` only tells something, or never fails.
fn tells(program: &str, word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    let is_its = |(programs, options): &(&[&str], &[&str])| {
        programs.contains(&program) && options.contains(&name)
    };
    OPTIONS.contains(&name)
        || OPTION_BEGINNINGS.iter().any(|start| name.starts_with(start))
            && !HARMLESS.contains(&name)
        || OPTIONS_OF.iter().any(is_its)
}

fn is_of_make(word: &str) -> bool {
    if word.starts_with("--") {
        let name = word.split('=').next().unwrap_or_default();
        return MAKE_LONG.contains(&name);
    }
    if let Some(letters) = word.strip_prefix('-') {
        let end = letters.find(|letter| MAKE_VALUED.contains(letter)).unwrap_or(letters.len());
        return is_of(letters.get(..end).unwrap_or_default(), MAKE_LETTERS);
    }
    word.split_once('=').is_none_or(|(name, _)| !steers(name.trim_end_matches([':', '+', '?'])))
}

fn is_of(letters: &str, known: &str) -> bool {
    letters.chars().all(|letter| known.contains(letter))
}
