//! What is done with a database by the words of a line: whether it only looks into it.

use super::word::Word;

/// Statements that only look.
const LOOKING: [&str; 3] = ["explain", "select", "values"];
/// Statements that change what is there, wherever they stand.
const CHANGING: [&str; 3] = ["delete", "insert", "update"];
/// Functions of the shell that write files or run what is not in the line.
const FUNCTIONS: [&str; 3] = ["edit", "load_extension", "writefile"];
/// Commands of the shell that show something, or how it is shown.
const COMMANDS: [&str; 17] = [
    ".changes",
    ".databases",
    ".dbinfo",
    ".dump",
    ".echo",
    ".fullschema",
    ".headers",
    ".help",
    ".indexes",
    ".mode",
    ".nullvalue",
    ".print",
    ".schema",
    ".show",
    ".tables",
    ".version",
    ".width",
];
/// Pragmas that tell something of what they are given, or hold for one connection.
const TOLD: [&str; 20] = [
    "busy_timeout",
    "cache_size",
    "case_sensitive_like",
    "collation_list",
    "compile_options",
    "database_list",
    "foreign_key_check",
    "foreign_key_list",
    "foreign_keys",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "mmap_size",
    "query_only",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];
/// Pragmas that tell a value if they are given none.
const VALUES: [&str; 12] = [
    "application_id",
    "auto_vacuum",
    "data_version",
    "encoding",
    "freelist_count",
    "journal_mode",
    "locking_mode",
    "page_count",
    "page_size",
    "schema_version",
    "synchronous",
    "user_version",
];

/// Says whether a word given to `sqlite3` surely writes nothing.
pub(super) fn only_looks(word: &Word) -> bool {
    let Some(text) = word.literal() else { return false };
    let text = text.trim().to_ascii_lowercase();
    if text.starts_with('.') {
        return text.split_whitespace().next().is_some_and(|name| COMMANDS.contains(&name));
    }
    let Some(text) = without_quotes(&text) else { return false };
    let mut statements = text.split(';').map(str::trim).filter(|one| !one.is_empty()).peekable();
    statements.peek().is_some() && statements.all(looks)
}

/// Returns a text without what is quoted in it; `None` if it has comments, in which quotes mean nothing, or a
/// quote that is not closed.
fn without_quotes(text: &str) -> Option<String> {
    let mut bare = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '"', '`', '[']) {
        let (before, behind) = rest.split_at(at);
        let quote = behind.chars().next()?;
        let inner = behind.get(1..)?;
        let end = inner.find(if quote == '[' { ']' } else { quote })?;
        bare.push_str(before);
        // It stays a word of its own.
        bare.push_str(" ? ");
        rest = inner.get(end + 1..)?;
    }
    bare.push_str(rest);
    (!bare.contains("--") && !bare.contains("/*")).then_some(bare)
}

fn looks(statement: &str) -> bool {
    let words = statement.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let replaces = words.windows(2).any(|pair| pair == ["replace", "into"]);
    match words.first() {
        _ if has(&FUNCTIONS) => false,
        Some(&"pragma") => tells(statement),
        Some(&"with") => !has(&CHANGING) && !replaces,
        Some(first) => LOOKING.contains(first),
        None => false,
    }
}

/// Says whether a pragma only tells something.
fn tells(pragma: &str) -> bool {
    let said = pragma.trim_start_matches("pragma").trim();
    let name = said.split(['(', '=']).next().unwrap_or_default();
    let (is_alone, name) = (name.len() == said.len(), name.rsplit('.').next().unwrap_or_default());
    TOLD.contains(&name.trim()) || is_alone && VALUES.contains(&name.trim())
}
