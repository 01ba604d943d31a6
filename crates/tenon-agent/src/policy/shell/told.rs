//! Programs that take what they do from a text, of which some begins a command: `ed`, `sqlite3`.

use super::arguments::Launched;
use super::given::{aside, run};
use super::hidden;
use super::word::Word;
use super::{RedirectKind, SimpleCommand};

/// Commands of sqlite3 that give a file, or with `|` in front a command.
const OF_FILES: &[&str] = &["import", "log", "once", "output", "read", "trace"];

/// Returns what a program runs because a text tells it: an argument, or what it reads from `feed`.
pub(super) fn launched(
    name: &str,
    command: &SimpleCommand,
    feed: &[SimpleCommand],
) -> Vec<Launched> {
    let (of_line, with_arguments): (fn(&str) -> Option<&str>, bool) = match name {
        "ed" | "ex" => (of_ed, false),
        "sqlite3" => (of_sqlite, true),
        _ => return Vec::new(),
    };
    let given = command.redirects.iter().filter(|one| one.kind == RedirectKind::Text);
    let arguments = command.arguments().iter().filter(|_| with_arguments).map(Word::source);
    let texts = given.map(|one| one.target.source()).chain(arguments);
    let texts: Vec<_> = texts.chain(feed.iter().filter_map(hidden::written)).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.filter_map(of_line).map(|text| aside(run(&Word::text(text)))).collect()
}

/// `!command`, `r !command`, `1,2w !command`. A mark that stands elsewhere is text.
fn of_ed(line: &str) -> Option<&str> {
    let (before, command) = line.split_once('!')?;
    let before = before.trim_end().trim_end_matches(['E', 'W', 'e', 'r', 'w']).trim();
    let is_address = |first: char| first.is_ascii_digit() || "%,;.$+-/?':".contains(first);
    let begins = before.chars().next().is_none_or(is_address) && !before.starts_with("//");
    let before = before.trim_end_matches(|sign: char| sign.is_ascii_lowercase());
    (begins && before.chars().next_back().is_none_or(is_address)).then_some(command)
}

/// `.shell command`, `.system command`, which may be shortened, and `.once |command`
fn of_sqlite(line: &str) -> Option<&str> {
    let line = line.trim().strip_prefix('.')?;
    let (name, rest) = line.split_once(char::is_whitespace)?;
    let is_one = |whole: &str| name.len() > 1 && whole.starts_with(name);
    if is_one("shell") || is_one("system") {
        return Some(rest);
    }
    let is_file = name.len() > 1 && OF_FILES.iter().any(|whole| whole.starts_with(name));
    let (_, command) = rest.split_once('|').filter(|_| is_file)?;
    // The word may be in quotes, with others behind it.
    let quote = rest.chars().find(|sign| matches!(sign, '"' | '\'' | '|'));
    command.split(quote.filter(|sign| *sign != '|').unwrap_or('\n')).next()
}
