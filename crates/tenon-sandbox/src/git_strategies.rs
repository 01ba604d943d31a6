//! Strategies by which git merges, and their options, as files of a rebase and of a list of picks name them, and whether
//! git runs nothing by them that is not its own. Pure.
//!
//! Some strategies are scripts: they take what follows an empty option for commits, and have a shell expand these.

use crate::git_blanks::{is_blank, trimmed};
use crate::git_config;

/// Strategies of git's own; for another one it starts a program.
const STRATEGIES: [&str; 6] = ["octopus", "ort", "ours", "recursive", "resolve", "subtree"];

/// Which of these are scripts.
const SCRIPTS: [&str; 2] = ["octopus", "resolve"];

/// What there can be behind the name of an option.
#[derive(Debug, Clone, Copy)]
enum Value {
    No,
    /// Letters, digits and a percent sign: the name of an algorithm, or how much.
    Word,
    /// A path that is one word for a shell, too.
    Path,
}

/// Options of the strategies that git merges by itself.
const OPTIONS: [(&str, Value); 18] = [
    ("diff-algorithm=", Value::Word),
    ("find-renames", Value::No),
    ("find-renames=", Value::Word),
    ("histogram", Value::No),
    ("ignore-all-space", Value::No),
    ("ignore-cr-at-eol", Value::No),
    ("ignore-space-at-eol", Value::No),
    ("ignore-space-change", Value::No),
    ("minimal", Value::No),
    ("no-renames", Value::No),
    ("no-renormalize", Value::No),
    ("ours", Value::No),
    ("patience", Value::No),
    ("rename-threshold=", Value::Word),
    ("renormalize", Value::No),
    ("subtree", Value::No),
    ("subtree=", Value::Path),
    ("theirs", Value::No),
];

impl Value {
    fn takes(self, text: &str) -> bool {
        let all = |is_plain: fn(char) -> bool| text.chars().all(is_plain);
        match self {
            Self::No => text.is_empty(),
            Self::Word => all(|c| c.is_ascii_alphanumeric() || c == '%'),
            Self::Path => all(|c| c.is_alphanumeric() || "./_-+@".contains(c)),
        }
    }
}

/// Whether it is the name of a strategy of git's own, or none.
pub(crate) fn is_own(name: &str) -> bool {
    let name = name.trim_matches(is_blank);
    name.is_empty() || STRATEGIES.contains(&name)
}

/// Whether a strategy may have such options: one that is a script has none.
pub(crate) fn go_together(name: &[u8], options: &[u8]) -> bool {
    trimmed(options).is_empty() || !is_script(&String::from_utf8_lossy(name))
}

fn is_script(name: &str) -> bool {
    SCRIPTS.contains(&name.trim_matches(is_blank))
}

/// Whether settings of a list of picks name no other strategies and options than git's own, and no options for a script.
pub(crate) fn has_own(settings: &str) -> bool {
    let all = |name| git_config::all(settings, "options", name);
    let Some((names, options)) = all("strategy").zip(all("strategy-option")) else { return false };
    names.iter().all(|name| is_own(name) && (options.is_empty() || !is_script(name)))
        && options.iter().all(|option| is_option(option))
}

/// Whether all words of a line are options of git's own, each in quotes or without any, as git writes them.
pub(crate) fn are_options(line: &str) -> bool {
    let mut rest = line.trim_start_matches(is_blank);
    while let Some(first) = rest.chars().next() {
        let (word, behind) = match first {
            '"' | '\'' => match rest.split_at(1).1.split_once(first) {
                Some(parts) => parts,
                None => return false,
            },
            _ => rest.split_at(rest.find(is_blank).unwrap_or(rest.len())),
        };
        let is_apart = behind.is_empty() || behind.starts_with(is_blank);
        if !is_apart || !is_option(word.strip_prefix("--").unwrap_or(word)) {
            return false;
        }
        rest = behind.trim_start_matches(is_blank);
    }
    true
}

fn is_option(text: &str) -> bool {
    OPTIONS
        .iter()
        .any(|(name, value)| text.strip_prefix(name).is_some_and(|rest| value.takes(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_strategies_that_git_merges_by_itself_are_known() {
        assert!(OPTIONS.is_sorted_by_key(|(name, _)| name));
        let check = |option: &str, expected: bool| {
            assert_eq!(is_option(option), expected, "{option}");
            for line in [format!("\"{option}\" \"ours\"\n"), format!(" '--{option}' '--ours'\n")] {
                assert_eq!(are_options(&line), expected, "{line}");
            }
        };
        for option in [
            "diff-algorithm=histogram",
            "find-renames",
            "find-renames=50%",
            "ignore-space-change",
            "no-renames",
            "ours",
            "rename-threshold=5",
            "subtree",
            "subtree=lib/é-1",
        ] {
            check(option, true);
        }
        for option in [
            "",
            "-",
            "--",
            "a",
            "oursx",
            "ours=",
            "ours\n",
            "diff-algorithm=$(id)",
            "find-renames=-1",
            "subtree=a b",
            "subtree=a,--",
            "subtree=a`id`",
            "subtree=$a",
            "subtree=a\\",
        ] {
            check(option, false);
        }
        assert!(are_options("") && are_options(" --ours  --subtree=a \n"));
        for line in
            ["\"ours", "\"ours\"\"a\"", "ours'a'", "ours\\", "\"ours\" '' \"ours\"", "o\"u\"rs"]
        {
            assert!(!are_options(line), "{line}");
        }
    }

    #[test]
    fn strategies_that_are_scripts_have_no_options() {
        let check = |settings: &str, expected: bool| {
            assert_eq!(has_own(&format!("[options]\n{settings}")), expected, "{settings}");
        };
        check("mainline = 1", true);
        check("strategy = octopus", true);
        check("strategy = ort\nstrategy-option = ours\nstrategy-option = subtree=a", true);
        check("strategy-option = ours", true);
        check("strategy = resolve\nstrategy-option = ours", false);
        check("strategy-option = ours\nstrategy = octopus\nstrategy = ort", false);
        check("strategy-option = x\nstrategy-option = ours", false);
        check("strategy-option = \"\"", false);
        check("strategy-option", false);
        check("strategy = x", false);
        check("strategy = x\n[Options]Strategy=ort", false);
        check("strategy = ort\n[options", false);
    }
}
