//! Git commands that throw work away without a way back.

use super::{Finding, has_option, option_position};
use crate::policy::shell::{SimpleCommand, Word, arguments::git_subcommand};

/// There is no long form.
const NONE: &str = "";

pub(super) fn judge(command: &SimpleCommand) -> Option<Finding> {
    if command.program()? != "git" {
        return None;
    }
    let (subcommand, arguments) = git_subcommand(command.arguments())?;
    let at = |long, least, short: &[char]| option_position(arguments, long, least, short);
    let operand =
        |matches: &dyn Fn(&str) -> bool| arguments.iter().position(|word| matches(word.prefix()));
    let named = |text: &'static str| operand(&move |word| word == text);
    let (position, what) = match subcommand {
        "push" => {
            let forced = at("--force", 4, &['f'])
                .or_else(|| at("--force-with-lease", 9, &[]))
                .or_else(|| at("--mirror", 4, &[]))
                .or_else(|| at("--delete", 4, &['d']))
                .or_else(|| at("--prune", 4, &[]))
                .or_else(|| operand(&|word| word.starts_with('+') || word.starts_with(':')));
            (forced, "it would overwrite or remove history on the server")
        }
        "reset" => (at("--hard", 4, &[]), "it would throw away uncommitted changes"),
        "clean" if has_option(arguments, "--dry-run", 4, &['n']) => (None, ""),
        "clean" => (at("--force", 3, &['f']), "it would remove files that git does not know"),
        "checkout" => (at("--force", 4, &['f']), "it would throw away uncommitted changes"),
        "switch" => (
            at("--force", 4, &['f', 'C']).or_else(|| at("--discard-changes", 5, &[])),
            "it would throw away changes or move a branch",
        ),
        "branch" => {
            let deletes = at("--delete", 4, &['d']).and(at("--force", 4, &['f']));
            (
                at(NONE, 1, &['D', 'M', 'C']).or(deletes).or_else(|| at("--force", 4, &['f'])),
                "it would remove or move a branch with commits that may be nowhere else",
            )
        }
        "update-ref" => (
            at(NONE, 1, &['d']).or_else(|| at("--stdin", 3, &[])),
            "it would remove or move a branch with commits that may be nowhere else",
        ),
        "filter-branch" | "filter-repo" => (Some(0), "it would rewrite the whole history"),
        "reflog" => (
            named("expire").or_else(|| named("delete")),
            "it would remove the way back to lost commits",
        ),
        "stash" => {
            (named("clear").or_else(|| named("drop")), "it would throw away stashed changes")
        }
        _ => (None, ""),
    };
    let before = command.words.len() - arguments.len();
    position.map(|position| {
        let words = (before + position + 1).min(command.words.len());
        Finding::ask("forced git", words, format!("{what}: git {subcommand}{}", shown(arguments)))
    })
}

fn shown(arguments: &[Word]) -> String {
    arguments.iter().map(|word| format!(" {}", word.shown())).collect()
}
