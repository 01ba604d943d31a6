//! How the words behind a program's name are read: its options, their values, and what of it is a
//! script.

use super::made::{Made, Signs};
use super::word::{Piece, Word};
use super::{RedirectKind, SimpleCommand};

/// What a command would start.
pub(super) enum Launched {
    Command(SimpleCommand),
    Script {
        text: String,
        same_shell: bool,
        /// What that of it is made of which is not known.
        made: Made,
    },
    /// What another shell runs, with `$0` and what follows.
    Shell {
        text: String,
        made: Made,
        parameters: Vec<Word>,
    },
    /// A text that this shell expands once more.
    Text(String),
    /// What runs at a signal, or at the end.
    Trap {
        text: String,
        made: Made,
        at_exit: bool,
    },
    /// What a rule for the command itself speaks of, too: by an option or a setting.
    Aside(Box<Launched>),
    /// Anything that this text, which is not known, may name; else it is from the surroundings, and
    /// counts only if the line puts it together.
    Perhaps {
        text: Word,
        is_given: bool,
    },
    Unknown,
}

/// Returns the option of a row of letters that has a value, and where in the word that begins:
/// `-I` and 3 of `-0I{}`. At the end of the word it is the next one.
pub(super) fn row_value<'a>(word: &Word, valued: &[&'a str]) -> Option<(&'a str, usize)> {
    let row = word.prefix().strip_prefix('-').filter(|row| !row.starts_with('-'))?;
    row.char_indices().find_map(|(at, letter)| {
        let is_it = |option: &&&str| option.chars().eq(['-', letter]);
        Some((*valued.iter().find(is_it)?, 1 + at + letter.len_utf8()))
    })
}

/// Skips options and the values of those that have one; stops behind `--`.
pub(crate) fn skip_options<'a>(words: &'a [Word], valued: &[&str]) -> &'a [Word] {
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
        let is_valued = |text: &str| {
            let ends = |(_, at): (&str, usize)| at == text.len();
            valued.contains(&text) || row_value(word, valued).is_some_and(ends)
        };
        if word.literal().is_some_and(is_valued) {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
}

/// Returns the value of an option: the next word, or what follows it in the same one. A short one may
/// stand in a row of letters.
pub(super) fn valued(words: &[Word], options: &[&str]) -> Option<Word> {
    for (index, word) in words.iter().enumerate() {
        for option in options {
            if word.literal() == Some(option) {
                return words.get(index + 1).cloned();
            }
            let attached = if option.starts_with("--") { "=" } else { "" };
            if word.prefix().starts_with(option)
                && let Some(value) = word.strip_prefix(&format!("{option}{attached}"))
            {
                return Some(value);
            }
        }
        if let Some((_, at)) = row_value(word, options) {
            let value = word.strip_prefix(word.prefix().get(..at)?)?;
            let is_next = value.literal() == Some("");
            return if is_next { words.get(index + 1).cloned() } else { Some(value) };
        }
    }
    None
}

/// Returns the subcommand of a git command and what follows it, past git's own options.
pub(crate) fn git_subcommand(arguments: &[Word]) -> Option<(&str, &[Word])> {
    let (name, arguments) = behind_git_options(arguments).split_first()?;
    Some((name.literal()?, arguments))
}

/// Returns what follows git's own options.
pub(crate) fn behind_git_options(arguments: &[Word]) -> &[Word] {
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
    skip_options(arguments, VALUED)
}

pub(super) fn script(word: Word, same_shell: bool) -> Vec<Launched> {
    match word.script() {
        Some(text) => {
            vec![Launched::Script { text, same_shell, made: word.made_unknown() }]
        }
        None => vec![Launched::Unknown],
    }
}

/// Parameters that have a name of their own here.
pub(super) const POSITIONS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/// Returns the variables that a function, or a script, has by its arguments.
pub(super) fn positions(arguments: &[Word]) -> Vec<(String, Vec<Piece>)> {
    let joined = |between: Piece| {
        arguments.iter().enumerate().flat_map(move |(index, word)| {
            let between = (index > 0).then(|| between.clone());
            between.into_iter().chain(word.pieces.iter().cloned())
        })
    };
    let mut values = vec![
        ("@".to_owned(), joined(Piece::Break).collect()),
        ("*".to_owned(), joined(Piece::Text(" ".to_owned())).collect()),
        ("#".to_owned(), vec![Piece::Text(arguments.len().to_string())]),
    ];
    values.extend(POSITIONS.iter().enumerate().map(|(index, name)| {
        let value = arguments.get(index).map(|word| word.pieces.clone());
        ((*name).to_owned(), value.unwrap_or_default())
    }));
    values
}

/// Returns the same where a word may be several ones, or none as a pattern may be that is dropped, so that it is
/// not known which parameter is which from there on; `None` if all are known.
pub(super) fn unplaced(
    arguments: &[Word],
    drops_patterns: bool,
) -> Option<Vec<(String, Vec<Piece>)>> {
    let is_glob = |piece: &Piece| matches!(piece, Piece::Glob(_));
    let is_many = |word: &Word| word.is_many() || word.pieces.iter().any(is_glob);
    let first = arguments.iter().position(is_many)?;
    let mut made = Made::default();
    arguments.iter().skip(first).for_each(|word| made.join(&word.made()));
    let mut values = positions(arguments);
    let known = first + usize::from(!drops_patterns);
    let is_behind = |name: &str| POSITIONS.iter().skip(known).any(|one| *one == name);
    for (_, value) in values.iter_mut().filter(|(name, _)| name == "#" || is_behind(name)) {
        *value = super::word::made_of(made.clone());
    }
    Some(values)
}

pub(super) fn join(words: &[Word]) -> Word {
    let space = Word::text(" ");
    words.iter().enumerate().fold(Word::default(), |joined, (index, word)| {
        if index == 0 { word.clone() } else { joined.joined(&space).joined(word) }
    })
}

/// Returns what an `echo` or a plain `printf` with known arguments prints; `None` where a shell
/// would put something else in its place.
pub(super) fn printed(command: &SimpleCommand) -> Option<String> {
    let words: Option<Vec<&str>> = command.arguments().iter().map(Word::literal).collect();
    let words = words?;
    match command.program()? {
        "echo" => {
            let is_option = |word: &&&str| {
                let letters = word.strip_prefix('-').unwrap_or_default();
                !letters.is_empty() && letters.chars().all(|letter| "neE".contains(letter))
            };
            let shown: Vec<&str> = words.iter().skip_while(is_option).copied().collect();
            let text = shown.join(" ") + "\n";
            // Some shells take it for the beginning of another character even without `-e`.
            (!text.contains('\\')).then_some(text)
        }
        "printf" => match words.split_first()? {
            (&"--", rest) => rest.split_first().and_then(|(format, values)| filled(format, values)),
            (format, values) => filled(format, values),
        },
        _ => None,
    }
}

/// These print a text that they are given in another form.
const DECODERS: &[&str] = &["base32", "base64", "basenc", "openssl", "uudecode", "xxd"];

/// Returns what the output of a command is made of, as far as the line says it: what it is told to
/// print, and the text that it reads.
pub(super) fn made_output(command: &SimpleCommand) -> Made {
    let mut made = Made::default();
    let name = command.program().unwrap_or_default();
    let texts = command.redirects.iter().filter(|one| one.kind == RedirectKind::Text);
    texts.for_each(|one| made.join(&one.target.made()));
    match name {
        "echo" | "printf" => made.join(&made_printed(command.arguments())),
        "tr" if !command.arguments().iter().any(|word| word.prefix().starts_with("-d")) => {
            made.join(&made_printed(command.arguments()));
        }
        name if DECODERS.contains(&name) => {
            let decodes = |word: &Word| {
                let options = ["-d", "-D", "--d", "-r"];
                options.iter().any(|option| word.prefix().starts_with(option))
            };
            if name == "uudecode" || command.arguments().iter().any(decodes) {
                made.signs = Signs::Substitution;
            }
        }
        _ => {}
    }
    made
}

/// Returns what a text is made of that is put together of words, with escapes in them.
pub(super) fn made_printed(words: &[Word]) -> Made {
    let mut made = Made::default();
    for word in words {
        made.join(&word.made());
        let texts = word.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            _ => None,
        });
        // `\x24`, `\044`, and what goes on behind the text.
        let is_sign = |behind: &str| behind.is_empty() || behind.starts_with(is_of_escape);
        if texts.flat_map(|text| text.split('\\').skip(1)).any(is_sign) {
            made.signs = Signs::Substitution;
        }
    }
    made
}

fn is_of_escape(sign: char) -> bool {
    sign.is_ascii_digit() || matches!(sign, 'x' | 'u' | 'U')
}

/// Fills a format in as `printf` does, which takes it again for the values that are left.
fn filled(format: &str, values: &[&str]) -> Option<String> {
    let format = format.replace("\\n", "\n");
    let parts: Vec<&str> = format.split("%s").collect();
    if format.starts_with('-') || parts.iter().any(|part| part.contains(['%', '\\'])) {
        return None;
    }
    let (last, before) = parts.split_last()?;
    let mut values = values.iter();
    let mut text = String::new();
    loop {
        for part in before {
            text.push_str(part);
            text.push_str(values.next().copied().unwrap_or_default());
        }
        text.push_str(last);
        if before.is_empty() || values.len() == 0 {
            return Some(text);
        }
    }
}

/// Says whether a word is `<(…)`, the output of commands as a file.
pub(super) fn is_output(word: &Word) -> bool {
    matches!(word.pieces.as_slice(), [Piece::Unknown(unknown)] if !unknown.from.is_empty())
}
