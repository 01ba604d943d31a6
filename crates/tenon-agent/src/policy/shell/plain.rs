//! What the text of a line says about itself, whatever it is read as: bash takes substitutions out of
//! quotes in subscripts, offsets and patterns, and sets variables by words that are no assignments.

/// Words with which a line sets a variable or runs what is defined by it.
const KEYWORDS: [&str; 6] = ["for", "select", "case", "coproc", "function", "[["];

/// Says whether a line is made of plain commands alone: words, quotes, `$NAME`, and lists, pipes and
/// substitutions of them. Conservative: what is quoted counts like what is not.
pub(super) fn is_plain(command: &str) -> bool {
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
