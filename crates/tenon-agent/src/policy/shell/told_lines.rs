//! Lines of what programs are told (`told.rs`), and the commands that they begin.

/// Commands of sqlite3 that give a file, or with `|` in front a command.
const OF_FILES: &[&str] = &["import", "log", "once", "output", "read", "trace"];

/// `!command`, `r !command`, `1,2w !command`. A mark that stands elsewhere is text.
pub(super) fn of_ed(line: &str) -> Option<&str> {
    let (before, command) = line.split_once('!')?;
    let before = before.trim_end().trim_end_matches(['E', 'W', 'e', 'r', 'w']).trim();
    let is_address = |first: char| first.is_ascii_digit() || "%,;.$+-/?':".contains(first);
    let begins = before.chars().next().is_none_or(is_address) && !before.starts_with("//");
    let before = before.trim_end_matches(|sign: char| sign.is_ascii_lowercase());
    (begins && before.chars().next_back().is_none_or(is_address)).then_some(command)
}

/// `.shell command`, `.system command`, which may be shortened, and `.once |command`
pub(super) fn of_sqlite(line: &str) -> Option<&str> {
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

/// `shell command`, `!command`, `pipe bt | command`
pub(super) fn of_debugger(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let plain = ["shell ", "!", "platform shell "];
    let piped = ["pipe ", "|"].iter().find_map(|start| line.strip_prefix(start));
    let piped = piped.map(|rest| rest.split_once('|').map_or(rest, |(_, command)| command));
    plain.iter().find_map(|start| line.strip_prefix(start)).or(piped)
}

/// `!command`
pub(super) fn of_mark(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('!')
}

/// `\! command`, `system command`
pub(super) fn of_client(line: &str) -> Option<&str> {
    let marked = || Some(line.split_once("\\!")?.1);
    line.trim_start().strip_prefix("system ").or_else(marked)
}
