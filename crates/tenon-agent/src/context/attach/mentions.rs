//! What a prompt speaks of: names of files and identifiers of code. Pure.

use super::file_name;

/// Files that are shown for one name which several have.
const SAME_NAME_MAX: usize = 3;

/// Identifiers that are looked for; most do not stand in any file.
const LOOKED_FOR_MAX: usize = 12;

/// A shorter name stands everywhere.
const IDENTIFIER_BYTES_MIN: usize = 3;

/// A shorter stem is an ordinary word.
const STEM_BYTES_MIN: usize = 3;

const QUOTES: [(char, char); 7] =
    [('`', '`'), ('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’'), ('「', '」'), ('《', '》')];

/// Returns the files of `paths` that `prompt` names: by their whole path or their last component,
/// or where it names none so, by their stem.
pub(super) fn files<'a>(prompt: &str, paths: &'a [String]) -> Vec<&'a str> {
    let whole: Vec<&str> =
        paths.iter().map(String::as_str).filter(|path| has_name(prompt, path)).collect();
    let mut found = whole.clone();
    for path in paths {
        let name = file_name(path);
        // Its whole path says which one is meant.
        let is_said = whole.iter().any(|said| file_name(said) == name);
        let same = found.iter().filter(|other| file_name(other) == name).count();
        if !is_said && same < SAME_NAME_MAX && has_name(prompt, name) {
            found.push(path);
        }
    }
    if found.is_empty() {
        for path in paths {
            let name = file_name(path);
            let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
            if stem.len() >= STEM_BYTES_MIN && found.len() < SAME_NAME_MAX && has_name(prompt, stem)
            {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the identifiers of `prompt` in the order in which they stand there.
pub(super) fn identifiers(prompt: &str) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for (start, word) in words(prompt) {
        let before = prompt.get(..start).unwrap_or_default();
        let after = prompt.get(start + word.len()..).unwrap_or_default();
        let is_file_name = after.starts_with('.') && after.chars().nth(1).is_some_and(is_word)
            || before.ends_with(['/', '.']);
        let looks_so = has_inner_underscore(word)
            || has_hump(word)
            || after.starts_with('(')
            || is_quoted(before, after)
            || is_traced(before);
        let is_long = word.len() >= IDENTIFIER_BYTES_MIN;
        if is_long && looks_so && !is_file_name && !names.contains(&word) {
            names.push(word);
        }
    }
    names.truncate(LOOKED_FOR_MAX);
    names.into_iter().map(str::to_owned).collect()
}

/// Returns whether `word` stands in `line` with no letter, digit or underscore beside it.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Returns whether `name` stands in `prompt` and is not part of a longer name. Prose without
/// spaces may stand right beside it.
fn has_name(prompt: &str, name: &str) -> bool {
    prompt.match_indices(name).any(|(at, _)| {
        let before = prompt.get(..at).unwrap_or_default();
        let mut after = prompt.get(at + name.len()..).unwrap_or_default().chars();
        let begins = match before.chars().next_back() {
            // `./name` and `folder/name` end in the name; `x.name` does not.
            Some('/') => true,
            Some(char) => !is_word(char) && char != '-' && char != '.',
            None => true,
        };
        let ends = match (after.next(), after.next()) {
            (Some('.'), next) => !next.is_some_and(is_word),
            (Some(char), _) => !is_word(char) && char != '-' && char != '/',
            (None, _) => true,
        };
        begins && ends
    })
}

/// Words of ASCII letters, digits and underscores that begin with no digit, with their places.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text.get(rest..)?.find(is_word)?;
        let tail = text.get(start..)?;
        let length = tail.find(|char| !is_word(char)).unwrap_or(tail.len());
        rest = start + length;
        Some((start, tail.get(..length)?))
    })
    .filter(|(_, word)| !word.starts_with(|char: char| char.is_ascii_digit()))
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

fn has_inner_underscore(word: &str) -> bool {
    word.trim_matches('_').contains('_') || word.starts_with('_') && word.len() > 1
}

/// `camelCase` and `PascalCase`, but not `Word` or `WORD`.
fn has_hump(word: &str) -> bool {
    word.as_bytes().windows(2).any(|pair| {
        matches!(pair, [before, after] if before.is_ascii_lowercase() && after.is_ascii_uppercase())
    })
}

fn is_quoted(before: &str, after: &str) -> bool {
    let (before, after) = (before.chars().next_back(), after.chars().next());
    QUOTES.iter().any(|(open, close)| before == Some(*open) && after == Some(*close))
}

/// The name behind `line 3, in ` of a Python traceback.
fn is_traced(before: &str) -> bool {
    before
        .strip_suffix(", in ")
        .and_then(|line| line.rsplit_once("line "))
        .is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_path_name_or_stem() {
        let paths: Vec<String> = [
            "README.md",
            "greet.py",
            "src/cart.py",
            "src/mod.rs",
            "tests/mod.rs",
            "tests/test_cart.py",
        ]
        .map(str::to_owned)
        .into();
        let check = |prompt: &str, expected: &[&str]| {
            assert_eq!(files(prompt, &paths), expected, "{prompt}");
        };
        check("Edit greet.py, please.", &["greet.py"]);
        check("Look into ./greet.py.", &["greet.py"]);
        check("把README.md中的v1改成v2", &["README.md"]);
        check("src/mod.rs is wrong", &["src/mod.rs"]);
        check("mod.rs is wrong", &["src/mod.rs", "tests/mod.rs"]);
        check("cart.py", &["src/cart.py"]);
        check("Run the greet function", &["greet.py"]);
        check("regreet.py, greet.pyc, x.greet.py and greet-er", &[]);
        check("hi", &[]);
    }

    #[test]
    fn identifiers_look_like_code() {
        let check = |prompt: &str, expected: &[&str]| {
            assert_eq!(identifiers(prompt), expected, "{prompt}");
        };
        check("Rename total_price to totalPrice", &["total_price", "totalPrice"]);
        check("why does parse() fail, and `load` and \"save\"?", &["parse", "load", "save"]);
        check("Traceback: File \"a.py\", line 3, in compute\n", &["compute"]);
        check("Read README.md and test_cart.py in MY folder", &[]);
        check("NameError: name 'foo_bar' is not defined", &["NameError", "foo_bar"]);
        check("把total_price改成“amount”", &["total_price", "amount"]);
    }

    #[test]
    fn words_stand_alone() {
        assert!(has_word("x = total_price;", "total_price"));
        assert!(!has_word("my_total_price = total_prices", "total_price"));
        assert!(has_word("totals total", "total"));
    }
}
