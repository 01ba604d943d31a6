//! Which values only say what belongs there: `your-api-key-here`, `<token>`, `${OTHER}`.
//!
//! Only a value that is one as a whole counts: real secrets have `example` or `<` within them, too.

/// Words that only stand in such values, wherever in them.
const WORDS: [&str; 3] = ["example", "changeme", "placeholder"];

/// The same with what belongs to it, as such values begin or go on with it.
const PHRASES: [&str; 3] = ["change-me", "change_me", "change me"];

/// A word on its own.
const POSSESSIVE: &str = "your";

/// What stands between the words; any other sign is one that people put into passwords.
const SEPARATORS: &str = "-_ .,:/@+[](){}<>$";

/// A longer word could be a secret of small letters.
const WORD_CHARS_MAX: usize = 14;

/// Longer numbers could be a secret.
const DIGITS_MAX: usize = 4;

/// So many equal signs fill a place.
const FILLER_CHARS_MIN: usize = 4;

/// Returns whether all of `value` is a placeholder or refers to another variable.
pub(super) fn is_placeholder(value: &str) -> bool {
    if is_reference(value) || is_run(value) {
        return true;
    }
    let (rest, mut is_marked) = without_words(value);
    // A part in brackets says what belongs there, and so does a reference within other words.
    is_marked |= value.contains("${") || bracketed(value);
    for part in rest.split(|letter| SEPARATORS.contains(letter)).filter(|part| !part.is_empty()) {
        if part.eq_ignore_ascii_case(POSSESSIVE) || is_filler(part) {
            is_marked = true;
        } else if !is_plain(part) {
            return false;
        }
    }
    is_marked
}

/// Whether it is `<…>`, `${NAME}`, `$NAME` or `$(command)`, and nothing else.
fn is_reference(value: &str) -> bool {
    let inside = |start: &str, end: char| value.strip_prefix(start)?.strip_suffix(end);
    let is_name = |name: &str| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_.".contains(letter);
        !name.is_empty() && name.chars().all(is_part)
    };
    // Without braces, what begins with a dollar may be a password.
    let is_variable = |name: &str| {
        let is_of = |is: fn(&char) -> bool| {
            name.chars().all(|letter| is(&letter) || letter.is_ascii_digit() || letter == '_')
        };
        let is_begun = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        is_begun && (is_of(char::is_ascii_uppercase) || name.split('_').all(is_plain))
    };
    inside("<", '>').is_some_and(|text| !text.contains(['<', '>']))
        || inside("${", '}').is_some_and(is_name)
        || inside("$(", ')').is_some()
        || value.strip_prefix('$').is_some_and(is_variable)
}

fn bracketed(value: &str) -> bool {
    value.split_once('<').is_some_and(|(_, rest)| rest.contains('>'))
}

/// Returns `value` with a space for each of the words, and whether there was one.
fn without_words(value: &str) -> (String, bool) {
    let (mut rest, mut is_marked) = (value.to_owned(), false);
    for word in PHRASES.iter().chain(&WORDS) {
        // ASCII letters of another case take as many bytes.
        while let Some(at) = rest.to_ascii_lowercase().find(word) {
            rest.replace_range(at..at + word.len(), " ");
            is_marked = true;
        }
    }
    (rest, is_marked)
}

fn is_run(text: &str) -> bool {
    let first = text.chars().next();
    text.chars().all(|letter| Some(letter) == first)
}

fn is_filler(part: &str) -> bool {
    part.chars().count() >= FILLER_CHARS_MIN && is_run(part)
}

/// A word of letters of one case, a capital first or not, or a short number.
fn is_plain(part: &str) -> bool {
    let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let rest = rest.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if rest.is_empty() {
        return part.len() <= DIGITS_MAX;
    }
    let mut after_first = rest.chars();
    let is_capital = after_first.next().is_some_and(char::is_uppercase);
    let is_small = |text: &str| !text.chars().any(char::is_uppercase);
    rest.len() == part.len()
        && rest.chars().all(char::is_alphabetic)
        && rest.chars().count() <= WORD_CHARS_MAX
        && (is_small(rest)
            || is_capital && is_small(after_first.as_str())
            || !rest.chars().any(char::is_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(is: bool, values: &[&str]) {
        for value in values {
            assert_eq!(is_placeholder(value), is, "{value}");
        }
    }

    #[test]
    fn what_only_says_what_belongs_there_is_a_placeholder() {
        check(
            true,
            &[
                "your-api-key-here",
                "YOUR_API_KEY_HERE",
                "sk-your-key",
                "your-anthropic-credentials",
                "changeme",
                "Change-Me-Please",
                "changeme123",
                "change_me_in_production",
                "example-key-2024",
                "placeholder",
                "xxxxxxxx",
                "sk-xxxxxxxxxxxxxxxxxxxx",
                "user@example.com",
                "db.example.org:5432",
                "<your key, which you find on the page Keys2024>",
                "sk-<your-key>",
                "${OTHER_API_KEY}",
                "$OTHER_API_KEY_2",
                "$other_api_key",
                "$(cat /run/secrets/key)",
                "${API_KEY:-changeme}",
                "${USER}-${HOST}",
                "[your-api-key]",
                "<你的密钥>",
            ],
        );
    }

    #[test]
    fn a_secret_with_a_placeholder_within_it_is_a_secret() {
        check(
            false,
            &[
                "Kx92!mail@example.com",
                "Kd92mPq8vT2mchangemeXw9LrB4n",
                "Kd92mPq8vT2m<a>Xw9LrB4n",
                "AKIA2EXAMPLE9XQ7ZKD3",
                "${OTHER}abcDEF123456789",
                "${API_KEY:-Kd92mPq8vT2mXw9LrB4n}",
                "sk-<Kd92mPq8vT2mXw9LrB4n>",
                "your-Kd92mPq8vT2mXw9LrB4n",
                "example-20241231123456",
                "Tr!ub#dor@example.com",
                "qzkwvjxplmnbtrhexample",
                "$2b$10$N9qo8uLOickgx2ZMRZoMye",
                "$ecretPassw0rd",
                "hunter2!",
                "correct horse battery staple",
            ],
        );
    }
}
