//! How the words behind a program's name are read: its options, their values, and what of it is a
//! script.

use super::SimpleCommand;
use super::word::{Piece, Word};

/// What a command would start.
pub(super) enum Launched {
    Command(SimpleCommand),
    Script { text: String, same_shell: bool },
    Unknown,
}

/// Skips options and the values of those that have one; stops behind `--`.
pub(super) fn skip_options<'a>(words: &'a [Word], valued: &[&str]) -> &'a [Word] {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let prefix = word.prefix();
        if word.literal() == Some("--") {
            return after;
        }
        if !prefix.starts_with('-') || prefix == "-" && word.literal() != Some("-") {
            break;
        }
        rest = after;
        if word.literal().is_some_and(|text| valued.contains(&text)) {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
}

/// Returns the value of an option: the next word, or what follows `=`.
pub(super) fn valued(words: &[Word], options: &[&str]) -> Option<Word> {
    for (index, word) in words.iter().enumerate() {
        for option in options {
            if word.literal() == Some(option) {
                return words.get(index + 1).cloned();
            }
            if option.starts_with("--")
                && let Some(value) = word.strip_prefix(&format!("{option}="))
                && word.prefix().starts_with("--")
            {
                return Some(value);
            }
        }
    }
    None
}

/// Returns the subcommand of a git command and what follows it, past git's own options.
pub(crate) fn git_subcommand(arguments: &[Word]) -> Option<(&str, &[Word])> {
    const VALUED: &[&str] = &[
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--exec-path",
        "--config-env",
        "--super-prefix",
    ];
    let (name, arguments) = skip_options(arguments, VALUED).split_first()?;
    Some((name.literal()?, arguments))
}

pub(super) fn script(word: Word, same_shell: bool) -> Vec<Launched> {
    match word.script() {
        Some(text) => vec![Launched::Script { text, same_shell }],
        None => vec![Launched::Unknown],
    }
}

pub(super) fn join(words: &[Word]) -> Word {
    let space = Word::text(" ");
    words.iter().enumerate().fold(Word::default(), |joined, (index, word)| {
        if index == 0 { word.clone() } else { joined.joined(&space).joined(word) }
    })
}

/// Returns what an `echo` or a plain `printf` with known arguments prints.
pub(super) fn printed(command: &SimpleCommand) -> Option<String> {
    let literal = |word: &Word| word.literal().map(str::to_owned);
    match command.program()? {
        "echo" => {
            let words: Option<Vec<_>> = command
                .arguments()
                .iter()
                .skip_while(|word| {
                    matches!(word.literal(), Some("-n" | "-e" | "-E" | "-ne" | "-en"))
                })
                .map(literal)
                .collect();
            Some(words?.join(" ") + "\n")
        }
        "printf" => {
            let words: Option<Vec<_>> = command.arguments().iter().map(literal).collect();
            let words = words?;
            let (format, values) = words.split_first()?;
            let mut text = format.replace("\\n", "\n");
            for value in values {
                text = text.replacen("%s", value, 1);
            }
            Some(text)
        }
        _ => None,
    }
}

/// Says whether a word is `<(…)`, the output of commands as a file.
pub(super) fn is_output(word: &Word) -> bool {
    matches!(word.pieces.as_slice(), [Piece::Unknown(unknown)] if !unknown.from.is_empty())
}
