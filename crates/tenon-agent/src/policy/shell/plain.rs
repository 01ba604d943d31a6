//! What the text of a line says about itself, whatever it is read as: bash takes substitutions out of
//! quotes in subscripts, offsets and patterns, and sets variables by words that are no assignments.
//! Text in quotes is data only to programs: builtins expand some of what they are given once more.

use super::SimpleCommand;

/// Words with which a line sets a variable or runs what is defined by it.
const KEYWORDS: [&str; 6] = ["for", "select", "case", "coproc", "function", "[["];

/// Builtins of bash 5.2 but for those that only print, go somewhere or end.
const BUILTINS: &[&str] = &[
    ".",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Says whether a line, read as these commands, is made of plain ones alone: words, quotes, `$NAME`,
/// and lists, pipes and substitutions of them. Conservative: what is quoted counts like what is not,
/// unless all commands are programs.
pub(super) fn is_plain(line: &str, commands: &[SimpleCommand]) -> bool {
    says_all(line)
        || commands.iter().all(takes_data)
            && without_quoted(line).is_some_and(|line| says_all(&line))
}

/// Says whether a command takes text for what it is, or runs in a shell that another one starts.
fn takes_data(command: &SimpleCommand) -> bool {
    command.launched_by.is_some()
        || command.program().is_some_and(|program| !BUILTINS.contains(&program))
}

/// Returns a line with `_` for each text in quotes, but for the variables in it; `None` where it is not
/// plain which text is in quotes.
fn without_quoted(line: &str) -> Option<String> {
    let mut left = String::new();
    let mut signs = line.chars().peekable();
    let mut is_double = false;
    while let Some(sign) = signs.next() {
        match sign {
            '\\' if is_double => drop(signs.next()),
            '\\' => left.extend([sign].into_iter().chain(signs.next())),
            '$' if matches!(signs.peek(), Some('\'' | '"' | '(' | '{')) && is_double => {
                return None;
            }
            '$' if matches!(signs.peek(), Some('\'' | '"')) => return None,
            '$' if is_double => {
                left.push(sign);
                while let Some(of_name) = signs.next_if(|next| is_of_name(*next)) {
                    left.push(of_name);
                }
                left.push('_');
            }
            '`' => return None,
            '"' => {
                is_double = !is_double;
                left.push('_');
            }
            _ if is_double => {}
            '\'' => {
                signs.by_ref().find(|sign| *sign == '\'')?;
                left.push('_');
            }
            '<' if signs.peek() == Some(&'<') => return None,
            '#' if !left.ends_with(is_within_word) => return None,
            _ => left.push(sign),
        }
    }
    (!is_double).then_some(left)
}

fn is_within_word(sign: char) -> bool {
    !sign.is_whitespace() && !";&|()<>".contains(sign)
}

fn says_all(command: &str) -> bool {
    let joined = command.replace("\\\n", "");
    let mut words = joined.split(|sign: char| sign.is_whitespace() || ";&|!()".contains(sign));
    if words.any(|word| KEYWORDS.contains(&word)) {
        return false;
    }
    let text = joined.replace("{}", "");
    let (mut rest, mut open) = (text.as_str(), 0_usize);
    while let Some(at) = rest.find(['$', '`', '(', ')', '{', '}', '[', ']']) {
        let from = rest.get(at..).unwrap_or_default();
        if let Some(behind) = from.strip_prefix("$(").filter(|behind| !behind.starts_with('(')) {
            (rest, open) = (behind, open + 1);
            continue;
        }
        if let Some(behind) = from.strip_prefix(')').filter(|_| open > 0) {
            (rest, open) = (behind, open - 1);
            continue;
        }
        let Some(behind) = from.strip_prefix('$') else { return false };
        let (name, behind) = match behind.strip_prefix('{') {
            Some(inner) => match inner.split_once('}') {
                Some((name, behind)) => (name, behind),
                None => return false,
            },
            None => {
                let end = behind.find(|sign: char| !is_of_name(sign)).unwrap_or(behind.len());
                behind.split_at(end)
            }
        };
        let starts = name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_');
        if !starts || !name.chars().all(is_of_name) {
            return false;
        }
        rest = behind;
    }
    true
}

fn is_of_name(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}
