//! Tools that build, and the programs that they are told to run in the place of their own: those of
//! go, cargo, npm and compilers.

use super::SimpleCommand;
use super::arguments::{Launched, skip_options};
use super::given::{line, run, values};
use super::word::{Piece, Word};

/// Settings of cargo whose value is a program, by the last part of their names.
const OF_CARGO: &[&str] = &[
    "browser",
    "credential-provider",
    "linker",
    "runner",
    "rustc",
    "rustc-workspace-wrapper",
    "rustc-wrapper",
    "rustdoc",
];

/// Settings of npm whose value is a program.
const OF_NPM: &[&str] = &["editor", "git", "script-shell", "shell", "viewer"];

/// Compilers, by the part of their names that says neither for what they are nor which version.
const COMPILERS: &[&str] = &["c++", "cc", "clang", "clang++", "cpp", "g++", "gcc", "gfortran"];

/// Returns what a tool runs that is one of these.
pub(super) fn launched(name: &str, arguments: &[Word]) -> Vec<Launched> {
    match name {
        "cargo" => {
            values(arguments, &["--config"], false).iter().filter_map(of_cargo_setting).collect()
        }
        "go" => of_go(arguments),
        "npm" | "pnpm" => of_npm(arguments),
        "run-parts" => of_parts(arguments),
        name if is_compiler(name) => of_compiler(arguments),
        _ => Vec::new(),
    }
}

/// `build.rustc-wrapper="program"`, `target.x.runner=["program", "argument"]`, also within `build={…}`
fn of_cargo_setting(setting: &Word) -> Option<Launched> {
    let text = setting.prefix();
    let is_program = |(at, _): &(usize, &str)| {
        let key = text.get(..*at).unwrap_or_default().trim_end();
        let key = key.rsplit(['.', '{', ',', ' ', '"', '\'']).next().unwrap_or_default();
        OF_CARGO.contains(&key)
    };
    let (at, _) = text.match_indices('=').find(is_program)?;
    let value = setting.strip_prefix(text.get(..=at)?)?;
    let bare = |piece| match piece {
        Piece::Text(text) => {
            Piece::Text(text.replace(['"', '\'', '[', ']', '{', '}'], "").replace(',', " "))
        }
        other => other,
    };
    Some(run(&Word { pieces: value.pieces.into_iter().map(bare).collect() }))
}

/// `-exec program`, `-toolexec=program`, `-vettool=program`; what a test is given stands behind `-args`.
fn of_go(arguments: &[Word]) -> Vec<Launched> {
    let is_end = |word: &Word| matches!(word.literal(), Some("-args" | "--args" | "--"));
    let end = arguments.iter().position(is_end).unwrap_or(arguments.len());
    let own = arguments.get(..end).unwrap_or_default();
    let long: Vec<_> = own
        .iter()
        .map(|word| match word.prefix().starts_with("--") {
            true => word.strip_prefix("-").unwrap_or_default(),
            false => word.clone(),
        })
        .collect();
    let attached = ["-exec=", "-toolexec=", "-vettool="];
    let is_next = |word: &Word| matches!(word.literal(), Some("-exec" | "-toolexec" | "-vettool"));
    let next = long.iter().zip(own.iter().skip(1));
    let next = next.filter(|(word, _)| is_next(word)).map(|(_, value)| value.clone());
    let of_word = |word: &Word| attached.iter().find_map(|option| word.strip_prefix(option));
    next.chain(long.iter().filter_map(of_word)).map(|value| run(&value)).collect()
}

/// `--script-shell program`, `config set script-shell program`
fn of_npm(arguments: &[Word]) -> Vec<Launched> {
    let options: Vec<_> = OF_NPM.iter().map(|name| format!("--{name}")).collect();
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    let mut programs = values(arguments, &options, false);
    let rest = match skip_options(arguments, &[]) {
        [config, set, rest @ ..]
            if matches!(config.literal(), Some("config" | "c")) && set.literal() == Some("set") =>
        {
            rest
        }
        [set, rest @ ..] if set.literal() == Some("set") => rest,
        _ => &[],
    };
    for (index, word) in rest.iter().enumerate() {
        let (name, _) = word.prefix().split_once('=').unwrap_or((word.prefix(), ""));
        if OF_NPM.contains(&name) {
            let attached = word.strip_prefix(&format!("{name}="));
            programs.extend(attached.or_else(|| rest.get(index + 1).cloned()));
        }
    }
    programs.iter().map(run).collect()
}

/// What `run-parts` runs is known to nobody where a pattern chooses it, or among the programs of the
/// system; else it runs what is in a folder of one's own.
fn of_parts(arguments: &[Word]) -> Vec<Launched> {
    let tells = |word: &Word| matches!(word.literal(), Some("--list" | "--test" | "--help"));
    if arguments.iter().any(tells) {
        return Vec::new();
    }
    let chooses = |word: &Word| {
        let folder = word.prefix().trim_end_matches('/');
        word.prefix().starts_with("--regex") || folder.ends_with("bin") && word.is_no_option()
    };
    if arguments.iter().any(chooses) { vec![Launched::Unknown] } else { Vec::new() }
}

/// Says whether a program is a compiler: `gcc`, `clang++-15`, `x86_64-linux-gnu-gcc-12`.
fn is_compiler(name: &str) -> bool {
    let name =
        name.trim_end_matches(|sign: char| sign.is_ascii_digit() || matches!(sign, '.' | '-'));
    COMPILERS.contains(&name.rsplit('-').next().unwrap_or_default())
}

/// `-wrapper program,argument`
fn of_compiler(arguments: &[Word]) -> Vec<Launched> {
    let programs = values(arguments, &["-wrapper"], false);
    let command = |program: &Word| match program.literal() {
        Some(text) => {
            let words: Vec<_> = text.split(',').map(Word::text).collect();
            vec![Launched::Command(SimpleCommand { words, ..Default::default() })]
        }
        None => line(std::slice::from_ref(program)),
    };
    programs.iter().flat_map(command).collect()
}
