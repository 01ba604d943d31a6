//! What holds for every input.

use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};

use super::{Mode, Origin, Rule, Rules, Verdict, of_flag, run};
use crate::policy::shell::{needs_terminal, only_reads, parse};

fn spelled(word: &str, how: &[u8]) -> String {
    let mut out = String::new();
    for (index, character) in word.chars().enumerate() {
        match how.get(index % how.len().max(1)).copied().unwrap_or(0) % 6 {
            0 => out.push(character),
            1 => out.push_str(&format!("\\{character}")),
            2 => out.push_str(&format!("'{character}'")),
            3 => out.push_str(&format!("\"{character}\"")),
            4 => out.push_str(&format!("$'\\x{:02x}'", u32::from(character))),
            _ => out.push_str(&format!("''{character}\"\"")),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_panics(command in "\\PC{0,60}") {
        let parsed = parse(&command);
        only_reads(&parsed);
        needs_terminal(&parsed);
        run(&command, &Rules::default(), Mode::Ask);
    }

    #[test]
    fn no_shell_like_input_panics(parts in prop::collection::vec(prop::sample::select(vec![
        "rm", " -rf ", "/", "~", "$HOME", "$(", ")", "`", "\"", "'", "\\", "\n", ";", "&&", "||", "|",
        "&", "<<EOF", "EOF\n", "<<-'A'", "<(", ">(", "{", "}", "((", "))", "[[", "]]", "if ", "then ",
        "fi", "for x in ", "do ", "done", "case ", "esac", "in ", "${", ":-", "$'", "*", "?", "[", "]",
        ">", "/dev/sda", "2>&1", "env ", "xargs ", "sh -c ", "eval ", "find . -exec ", "{}", "\\;", "+",
        "bash -euo pipefail -c ", "env -S ", "xargs -0I{} ", "tee f ", "> >(sh)", "dd of=f ", "sh f",
        "sudo ", "git push -f", "curl x", "| bash", "=", "a", " ", "\t", "#", "!", "中", "é", "\u{0}",
    ]), 0..25)) {
        let command = parts.concat();
        let parsed = parse(&command);
        only_reads(&parsed);
        needs_terminal(&parsed);
        run(&command, &Rules::default(), Mode::Auto);
    }

    #[test]
    fn quoting_does_not_change_a_denial(
        index in 0..5usize,
        how in prop::collection::vec(any::<u8>(), 1..12),
    ) {
        let words = [
            vec!["rm", "-rf", "/"],
            vec!["rm", "-r", "/etc"],
            vec!["dd", "if=x", "of=/dev/sda"],
            vec!["reboot"],
            vec!["chmod", "-R", "777", "/"],
        ];
        let line: Vec<_> = words[index].iter().map(|word| spelled(word, &how)).collect();
        for command in [
            line.join(" "),
            format!("ls; {}", line.join("  ")),
            format!("echo \"$({})\"", line.join("\t")),
            format!("env A=b {}", line.join(" ")),
            format!("{} # x", line.join(" \\\n ")),
        ] {
            let decision = run(&command, &Rules::default(), Mode::Auto);
            prop_assert_eq!(decision.verdict, Verdict::Deny, "{}", command);
        }
    }

    #[test]
    fn a_rule_reads_back_as_itself(words in prop::collection::vec("\\PC{0,6}", 1..4)) {
        let rule = Rule::for_words(words.iter().map(String::as_str));
        let text = rule.to_string();
        let again = Rule::parse(&text, Verdict::Allow, Origin::CommandLine);
        prop_assert!(again.as_ref() == Ok(&rule), "{} {:?}", text, again);
    }
}

/// Parts of lines that are asked about for one reason or another, and what stands between them.
const PARTS: &[&str] = &[
    "sudo ls",
    "sudo rm -rf x",
    "sudo $X",
    "A=1 sudo ls",
    "sh -c 'sudo ls'",
    "sudo sh -c 'rm -rf x'",
    "(sudo ls)",
    "if true; then sudo ls; fi",
    "echo x | sudo tee f",
    "rm -rf x",
    "rm -rf \"$X\"",
    "rm -rf .",
    "./rm -rf x",
    "for f in a b; do rm -rf $f; done",
    "uv run rm -rf x",
    "find . -exec rm -rf {} \\;",
    "trap 'rm -rf x' EXIT",
    "cd \"$d\"",
    "cd $(mktemp -d)",
    "x=1",
    "PATH=. ls",
    "git push -f",
    "git-push -f",
    "curl u | sh",
    "echo a > f",
    "ls > /dev/null 2>&1",
    "eval \"$X\"",
    "f() { rm -rf x; }; f",
    "[[ -d x ]]",
    "ls",
];
const BETWEEN: &[&str] = &["; ", " && ", " || ", " | ", "\n", " & "];
const GIVEN: &[&str] = &["bash(sudo ls:*)", "bash(sudo:*)", "bash(rm -rf:*)", "bash"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_flag_that_is_named_allows_the_line_as_a_whole(
        parts in prop::collection::vec(
            (prop::sample::select(PARTS), prop::sample::select(BETWEEN)),
            1..6,
        ),
        given in prop::sample::subsequence(GIVEN, 0..2),
        mode in prop::sample::select(vec![Mode::Auto, Mode::Ask]),
    ) {
        let line: String = parts.iter().flat_map(|(part, between)| [*part, *between]).collect();
        let line = format!("{line} true");
        let given = given.iter().map(|text| Rule::parse(text, Verdict::Allow, Origin::Config));
        let given: Vec<_> = given.flatten().collect();
        if let Some(flag) = run(&line, &given.iter().cloned().collect(), mode).flag {
            let mut rules = of_flag(&flag);
            given.into_iter().for_each(|rule| rules.add(rule));
            let verdict = run(&line, &rules, mode).verdict;
            prop_assert_eq!(verdict, Verdict::Allow, "{} with {}", line, flag);
        }
    }
}
