//! The reader held against the real bash: what it accepts, how it prints a script back, and what
//! it really starts.
//!
//! Scripts come from a grammar, which bash accepts, and from a soup of tokens, which it mostly does
//! not. No program is started: `PATH` is empty and bash says what it would have looked for.

#![expect(clippy::disallowed_methods, reason = "the oracle is a process outside any workspace")]

use std::path::Path;
use std::process::{Command, Stdio};

use proptest::collection::vec;
use proptest::prelude::{
    BoxedStrategy, Just, ProptestConfig, Strategy, prop_assert, prop_assert_eq, prop_oneof,
    proptest,
};
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use super::benign::{ORDINARY, TEXT};
use super::denials::SYSTEM;
use super::{Action, DENY, Mode, Places, Verdict, decide, rules};
use crate::policy::shell::parse;

const SEED: u64 = 1;
const BASH: &str = "/bin/bash";
const TIMEOUT: &str = "/usr/bin/timeout";

/// bash without programs. Functions that call themselves end, and so does what waits for ever.
fn bash() -> Option<Command> {
    if !Path::new(BASH).exists() || !Path::new(TIMEOUT).exists() {
        println!("skipped: there is no {BASH} or no {TIMEOUT}");
        return None;
    }
    let mut command = Command::new(TIMEOUT);
    command.args(["-s", "KILL", "10", BASH]);
    command.env_clear().env("PATH", "/nonexistent").env("FUNCNEST", "8");
    command.stdin(Stdio::null()).stderr(Stdio::null());
    Some(command)
}

fn accepts(script: &str) -> bool {
    bash().is_none_or(|mut bash| {
        bash.args(["-n", "-c", "--", script])
            .stdout(Stdio::null())
            .status()
            .expect("bash")
            .success()
    })
}

/// Returns what bash makes of a script when it prints it as the body of a function.
fn printed_back(script: &str) -> Option<String> {
    let output =
        bash()?.args(["-c", "--", &format!("f() {{\n{script}\n}}; declare -f f")]).output();
    let printed = String::from_utf8(output.expect("bash").stdout).expect("UTF-8");
    // bash 5.2 prints a name that a simple coprocess cannot have.
    Some(printed.replace("coproc COPROC ", "coproc "))
}

/// Runs a script and returns the programs that bash looked for.
fn looked_for(script: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let handler = "command_not_found_handle() { printf '%s\\0' \"$1\" >> \"$LOG\"; case $1 in t*) return 0;; esac; return 1; }";
    let Some(mut bash) = bash() else { return Vec::new() };
    let mut child = bash
        .args(["-c", &format!("ulimit -t 2 -f 100; {handler}\neval \"$0\"\nwait"), script])
        .env("LOG", &log)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("bash");
    child.wait().expect("bash ends");
    let names = std::fs::read(&log).unwrap_or_default();
    String::from_utf8_lossy(&names).split_terminator('\0').map(str::to_owned).collect()
}

fn row(script: &str) -> Vec<String> {
    parse(script).commands.iter().map(|one| format!("{one:?}")).collect()
}

/// Checks that what bash starts stands in the row, unless there is a doubt or an unknown name.
fn starts_only_what_is_read(script: &str) {
    let parsed = parse(script);
    let running = || parsed.commands.iter().filter(|one| !one.is_moot);
    let unsure = parsed.doubt.is_some()
        || running().any(|one| !one.words.is_empty() && one.program().is_none());
    if unsure {
        return;
    }
    let known: Vec<_> = running().filter_map(|one| one.program()).collect();
    for name in looked_for(script) {
        assert!(
            known.contains(&name.as_str()),
            "bash starts {name:?}, the row has {known:?}: {script:?}"
        );
    }
}

fn word(list: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let plain = select(vec![
        "a",
        "b1",
        "'q r'",
        "\"d $x e\"",
        "\\;",
        "$'f\\tg'",
        "${x:-y z}",
        "\"${x#'}'}\"",
        "x{1,2}y",
        "~/n",
        "*.c",
        "$((1 + (2)))",
        "a#b",
        "if",
        "x=1",
        "\"\"",
        "${x[0]}",
        "${#x}",
        "-f",
        "}",
        "\"a\\\"b\"",
        "$x",
        "\"${x:-\"i j\"}\"",
        "$[1+2]",
        "é",
        "\\\nk",
        "{",
        "!",
        "${x/a/b}",
        "$\"t\"",
        "$$",
        "a\\ b",
    ]);
    let inner = prop_oneof![
        list.clone().prop_map(|list| format!("$( {list}\n)")),
        list.clone().prop_map(|list| format!("\"<$( {list}\n)>\"")),
        list.clone()
            .prop_map(|list| format!("`{}`", list.replace('\\', "\\\\").replace('`', "\\`"))),
        list.clone().prop_map(|list| format!("<({list}\n)")),
        list.prop_map(|list| format!("${{x:-$( {list}\n)}}")),
        Just("$(( 1 + $(t9) ))".to_owned()),
    ];
    prop_oneof![6 => plain.prop_map(str::to_owned), 1 => inner].boxed()
}

fn simple(list: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let word = word(list);
    let redirect = select(vec![
        ">/dev/null",
        "2>&1",
        "</dev/null",
        ">>/dev/null",
        "<<< \"$x\"",
        "&>/dev/null",
        "{v}>/dev/null",
        "{v[1]}>/dev/null",
        ">|/dev/null",
        "2>&-",
        "<>/dev/null",
        ">& /dev/null",
    ]);
    let assignment = prop_oneof![
        word.clone().prop_map(|word| format!("v={word}")),
        vec(word.clone(), 0..3).prop_map(|words| {
            // bash takes `if` for a reserved word in `coproc { v=(if); }`.
            let words: Vec<_> = words.iter().map(|word| format!("k{word}")).collect();
            format!("v=({})", words.join(" "))
        }),
        word.clone().prop_map(|word| format!("v[1 + 2]+={word}")),
    ];
    let name = select(vec![
        "t1",
        "t2",
        "u1",
        "u2",
        "\\t3",
        "'u3'",
        "echo",
        ":",
        "builtin :",
        "command u4",
    ]);
    (vec(assignment, 0..2), name, vec(word.clone(), 0..3), vec(redirect, 0..2), vec(word, 0..2))
        .prop_map(|(assignments, name, words, redirects, more)| {
            let mut all = assignments;
            all.push(name.to_owned());
            all.extend(words);
            all.extend(redirects.into_iter().map(str::to_owned));
            all.extend(more);
            all.join(" ")
        })
        .boxed()
}

/// A list of commands that bash accepts and that ends.
fn script() -> BoxedStrategy<String> {
    let start = select(vec!["t1", "u1 a", "echo b", "v=5", ">/dev/null", "t2 \"$v\""]);
    let start = start.prop_map(str::to_owned).boxed();
    start
        .prop_recursive(4, 24, 3, |list| {
            let list = list.boxed();
            let command = prop_oneof![
                6 => simple(list.clone()),
                1 => list.clone().prop_map(|a| format!("( {a}\n)")),
                1 => list.clone().prop_map(|a| format!("{{ {a}\n}} 2>/dev/null")),
                1 => (list.clone(), list.clone(), list.clone())
                    .prop_map(|(a, b, c)| format!("if {a}\nthen {b}\nelse {c}\nfi")),
                1 => (list.clone(), list.clone())
                    .prop_map(|(a, b)| format!("while {a}\ndo {b}\nbreak; done")),
                1 => (word(list.clone()), list.clone())
                    .prop_map(|(a, b)| format!("for v in {a} c; do {b}\ndone")),
                1 => list.clone().prop_map(|a| format!("for ((i=0;i<2;i++)) {{ {a}\n}}")),
                1 => (word(list.clone()), list.clone(), list.clone())
                    .prop_map(|(a, b, c)| format!("case {a} in (a | b*) {b}\n;& c) {c}\nesac")),
                1 => list.clone().prop_map(|a| format!("f{0}() {{ {a}\n}}\nf{0} t5", a.len())),
                1 => list.clone().prop_map(|a| format!("function g{0} ( {a}\n)\ng{0}", a.len())),
                1 => word(list.clone()).prop_map(|a| format!("[[ ( y{a} == @(a|b) || -n y{a} ) && ! a =~ ^(x|y z)$ ]]")),
                1 => Just("((x = 1 << 2))".to_owned()),
                1 => list.clone().prop_map(|a| {
                    // No document within may end with the same line.
                    let end = format!("E{}", a.len());
                    format!("t6 <<{end} 2>&1 | u6 <<-'F{end}'\n$v $( {a}\n) `t7` \\$ \"\n{end}\n\t$(t8)\n\tF{end}")
                }),
                1 => simple(list.clone()).prop_map(|a| format!("( ! time -p {a}\n)")),
                1 => list.clone().prop_map(|a| format!("coproc {{ {a}\n}}")),
            ];
            let joint = select(vec![" && ", " || ", " | ", "; ", "\n", " & ", " # c ' (\n"]);
            (command.clone(), vec((joint, command), 0..3)).prop_map(|(first, more)| {
                more.into_iter().fold(first, |all, (joint, command)| {
                    // What follows a here document begins a line.
                    let document = all.rsplit('\n').next().is_some_and(|line| {
                        line.trim_start_matches(['\t', 'F']).strip_prefix('E').is_some_and(|end| end.parse::<usize>().is_ok())
                    });
                    let joint = if document { "\n" } else { joint };
                    all + joint + &command
                })
            })
        })
        .boxed()
}

/// A script of functions that run what they are given, or what a variable says.
fn calling() -> BoxedStrategy<String> {
    let start = select(vec![
        "t1",
        "\"$1\"",
        "$2",
        "\"$@\"",
        "$D",
        "\"$D\" x",
        "D=t2",
        "D=t3",
        "D=$1",
        "E=$D; D=t4",
        "local D=t5",
        "shift",
        "return",
        "break",
        "exit",
        "set -- t6 t7",
        ": $((1/0))",
        "unset -f f",
        "f t8",
        "g t9 u1",
        "h \"$D\" \"$1\"",
        "f \"$@\" u2",
        "g $E u3",
        "D=u4 f",
        "eval 'g u5'",
        "eval \"f $D\"",
        "trap f EXIT",
        "trap 'g $D' EXIT",
        "trap '$E' USR1",
        "kill -USR1 $$",
    ]);
    let start = start.prop_map(str::to_owned).boxed();
    start
        .prop_recursive(4, 24, 3, |list| {
            let list = list.boxed();
            let command = prop_oneof![
                6 => list.clone(),
                3 => (select(vec!["f", "g", "h"]), list.clone())
                    .prop_map(|(name, a)| format!("{name}() {{ {a}\n}}")),
                1 => list.clone().prop_map(|a| format!("f() ( {a}\n)")),
                1 => list.clone().prop_map(|a| format!("( {a}\n)")),
                1 => list.clone().prop_map(|a| format!("{{ {a}\n}}")),
                1 => list.clone().prop_map(|a| format!("x=$({a}\n)")),
                1 => (list.clone(), list.clone(), list.clone())
                    .prop_map(|(a, b, c)| format!("if {a}\nthen {b}\nelse {c}\nfi")),
                1 => list.clone().prop_map(|a| format!("for D in u6 u7; do {a}\ndone")),
                1 => list.clone().prop_map(|a| format!("for ((i=0;i<2;i++)) {{ {a}\n}}")),
            ];
            let joint = select(vec!["; ", "; ", "\n", "\n", " && ", " || ", " | ", " & "]);
            (command.clone(), vec((joint, command), 0..5)).prop_map(|(first, more)| {
                more.into_iter().fold(first, |all, (joint, command)| all + joint + &command)
            })
        })
        .boxed()
}

/// A script that goes from folder to folder and writes files there. No folder that it goes to lies
/// above the one that it begins in.
fn wandering() -> BoxedStrategy<String> {
    let start = select(vec![
        "cd a",
        "cd b",
        "cd ./a/../b",
        "cd ../b",
        "cd nowhere",
        "cd -",
        "cd \"$PWD/a\"",
        "pushd a",
        "pushd",
        "popd",
        "echo > w1",
        "echo > a/w2",
        "echo > ../b/w3",
        "echo > \"$PWD\"/w4",
        "true",
        "false",
        "exit",
        "return",
        "break",
        "continue",
        "eval 'cd a'",
        "command cd b",
    ]);
    let start = start.prop_map(str::to_owned).boxed();
    start
        .prop_recursive(4, 24, 3, |list| {
            let list = list.boxed();
            let command = prop_oneof![
                8 => list.clone(),
                1 => list.clone().prop_map(|a| format!("( {a}\n)")),
                1 => list.clone().prop_map(|a| format!("{{ {a}\n}}")),
                1 => list.clone().prop_map(|a| format!("{{ {a}\n}} > w5")),
                1 => list.clone().prop_map(|a| format!("! {{ {a}\n}}")),
                1 => list.clone().prop_map(|a| format!("{{ {a}\nexit\n}}")),
                1 => (list.clone(), list.clone(), list.clone())
                    .prop_map(|(a, b, c)| format!("if {a}\nthen {b}\nelse {c}\nfi")),
                1 => list.clone().prop_map(|a| format!("for i in 1 2; do {a}\ndone")),
                1 => list.clone().prop_map(|a| format!("for ((i=0;i<2;i++)) {{ {a}\n}}")),
                1 => list.clone().prop_map(|a| format!("f{0}() {{ {a}\n}}\nf{0}", a.len())),
                1 => list.clone().prop_map(|a| format!("trap '{}' EXIT", a.replace('\'', ""))),
                1 => list.clone().prop_map(|a| format!("x=$({a}\n)")),
            ];
            let joint = select(vec![" && ", " || ", " | ", "; ", "\n", " & "]);
            (command.clone(), vec((joint, command), 0..4)).prop_map(|(first, more)| {
                more.into_iter().fold(first, |all, (joint, command)| all + joint + &command)
            })
        })
        .boxed()
}

/// Runs a script in the folder `top` and returns the files that it wrote, in and beside that.
fn writes_files(script: &str, home: &Path) -> Vec<String> {
    let folders = ["", "/a", "/b", "/a/a", "/a/b", "/b/a", "/b/b"];
    for name in ["top", "a", "b"] {
        for folder in folders {
            std::fs::create_dir_all(home.join(format!("{name}{folder}"))).expect("a folder");
        }
    }
    let Some(mut bash) = bash() else { return Vec::new() };
    bash.args(["-c", "--", &format!("ulimit -t 2 -f 100\n{script}\nwait")]);
    bash.current_dir(home.join("top")).stdout(Stdio::null());
    bash.status().expect("bash ends");
    let mut written = Vec::new();
    let mut left = vec![home.to_path_buf()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => left.push(path),
                path => written.push(path.display().to_string()),
            }
        }
    }
    written
}

const TOKENS: &[&str] = &[
    "t1",
    "u1",
    "echo",
    " ",
    " ",
    " ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    " { ",
    "; }",
    "((",
    "))",
    "[[ ",
    " ]]",
    "if ",
    "then ",
    "else ",
    "fi",
    "for ",
    "x",
    " in ",
    "do ",
    "done",
    "case ",
    "esac",
    ";;",
    "!",
    "time ",
    "function ",
    "$(",
    "`",
    "\\`",
    "\"",
    "'",
    "$'",
    "\\",
    "\\\n",
    "${",
    ":-",
    "$x",
    "$",
    "$((",
    "<<E",
    "\nE\n",
    "<<-'E'",
    "E",
    "<(",
    ">(",
    "<<<",
    ">&",
    "<&",
    "-",
    ">",
    "<",
    "2",
    "&>",
    "/dev/null",
    "=",
    "x=",
    "+=",
    "]",
    "x[",
    "=~",
    "==",
    "*",
    "#",
    "~",
    ",",
    "..",
    "é",
    "coproc ",
    "eval ",
    "export ",
    "a",
    "\t",
    "@(",
    "-f ",
    "|&",
    "env ",
    "IFS=x ",
    "@",
];

fn soup() -> BoxedStrategy<String> {
    vec(select(TOKENS), 1..14).prop_map(|tokens| tokens.concat()).boxed()
}

/// A script of the grammar with one piece left out.
fn damaged() -> BoxedStrategy<String> {
    (script(), proptest::prelude::any::<(usize, usize)>())
        .prop_map(|(script, (start, length))| {
            let characters: Vec<char> = script.chars().collect();
            let start = start % characters.len().max(1);
            let end = (start + 1 + length % 3).min(characters.len());
            characters[..start].iter().chain(&characters[end..]).collect()
        })
        .boxed()
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        // The same scripts in every run: bash has odd corners of its own.
        rng_seed: RngSeed::Fixed(SEED),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn what_bash_refuses_is_a_doubt(script in prop_oneof![soup(), damaged()]) {
        prop_assert!(parse(&script).doubt.is_some() || accepts(&script), "{:?}", script);
    }

    #[test]
    fn a_soup_starts_only_what_is_read(script in soup()) {
        starts_only_what_is_read(&script);
    }
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn a_script_and_its_canonical_form_are_read_alike(script in script()) {
        // bash 5.2 prints and reads again what stands in `$(…)`, and then refuses some of it.
        if !accepts(&script) {
            return Ok(());
        }
        prop_assert_eq!(parse(&script).doubt, None, "{}", script);
        if let Some(printed) = printed_back(&script) {
            prop_assert_eq!(row(&printed), row(&format!("f() {{\n{script}\n}}")), "{}\n{}", script, printed);
        }
    }

    #[test]
    fn a_script_starts_only_what_is_read(script in prop_oneof![script(), damaged()]) {
        starts_only_what_is_read(&script);
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn functions_start_only_what_their_calls_are_read_to(script in calling()) {
        starts_only_what_is_read(&script);
    }

    #[test]
    fn what_a_script_writes_is_denied_by_its_name(script in wandering()) {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("a folder");
        let top = home.join("top").display().to_string();
        let roots = vec![home.display().to_string()];
        let places = Places { roots, home: "/home/user".into(), cwd: top, ..Places::default() };
        for path in writes_files(&script, &home) {
            let rule = format!("write({path})");
            let action = Action::Run { command: script.clone() };
            let decision = decide("bash", &action, &rules(&[(&rule, DENY)]), Mode::Auto, &places);
            prop_assert!(decision.verdict != Verdict::Allow, "{}\nwrites {}", script, path);
        }
    }
}

#[test]
fn ordinary_lines_are_read_without_a_doubt_and_as_bash_prints_them() {
    for line in ORDINARY.iter().chain(TEXT).chain(SYSTEM).filter(|line| !line.is_empty()) {
        if SYSTEM.contains(line) && parse(line).doubt.is_some() {
            continue;
        }
        assert!(accepts(line), "{line}");
        assert_eq!(parse(line).doubt, None, "{line}");
        let Some(printed) = printed_back(line).filter(|printed| !printed.is_empty()) else {
            continue;
        };
        assert_eq!(row(&printed), row(&format!("f() {{\n{line}\n}}")), "{line}\n{printed}");
    }
}
