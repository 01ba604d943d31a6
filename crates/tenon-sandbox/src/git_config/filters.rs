//! Filters of the person's own settings, which keep out of commits what is not for others: what commands get of them.
//!
//! Without them git takes files as they stand: commands would commit what a filter is to encrypt or to leave out. So where
//! one cannot be had, or fails behind walls, git is told to refuse.

use std::collections::BTreeSet;

use super::{Entry, entries, is_login};

/// What says what a filter does, and whether git refuses where it fails.
const NAMES: [&str; 4] = ["clean", "process", "required", "smudge"];

/// Parts of command lines, in lower case, that a password or key stands in or behind.
const OF_SECRETS: [&str; 12] = [
    " -k ", "auth", "bearer", "cookie", "key ", "key:", "key=", "pass", "pw:", "pw=", "secret",
    "token",
];

/// As many digits of base 16 in a row are a key of 128 bits.
const KEY_DIGITS: usize = 32;

/// The signs of words that are no scripts, besides letters and digits.
const OF_PLAIN_WORDS: &str = "_./%-=~:@+,";

/// As many letters and digits in a row can be a password that a script takes out.
const LITERAL: usize = 6;

/// Whether commands may have an entry that stands so in `text` because it is of a filter.
pub(super) fn may_be_shared(entry: &Entry, text: &str) -> bool {
    is_of_filter(entry)
        && ![text, &entry.value].into_iter().any(may_hold_secret)
        && !words(&entry.value).iter().enumerate().any(|(at, word)| word.has_literal(at == 0))
}

/// Returns what commands get instead of an entry of a filter that they may not have.
pub(super) fn instead(entry: &Entry) -> Option<String> {
    let name = entry.subsection.as_deref().filter(|_| is_of_filter(entry))?;
    (!is_login(name)).then(|| format!("{}required = true\n", entry.header()))
}

/// What git is told of filters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Required {
    /// That those do nothing when files are written of which nothing else is said: in front of all settings.
    pub(crate) first: String,
    /// That it refuses where one fails: behind all that is said of them.
    pub(crate) last: String,
}

/// Returns settings by which git refuses where a filter of `text` fails that changes what is committed: its program can be
/// out of sight of commands. One that does nothing when files are written then says so.
pub(crate) fn required_filters(text: &str) -> Required {
    let entries = entries(text).unwrap_or_default();
    let entries: Vec<&Entry> = entries.iter().filter(|entry| is_of_filter(entry)).collect();
    let filters: BTreeSet<_> = entries.iter().map(|entry| &entry.subsection).collect();
    let mut required = Required::default();
    for filter in filters {
        let own: Vec<&&Entry> = entries.iter().filter(|it| it.subsection == *filter).collect();
        let last = |name: &str| own.iter().rfind(|entry| entry.name == name);
        let does = |name: &str| last(name).is_some_and(|entry| !entry.value.is_empty());
        let asked = own.iter().find(|entry| entry.name == "required" && entry.value == "true");
        let Some(entry) = asked
            .or(last("process").filter(|_| does("process")))
            .or(last("clean").filter(|_| does("clean")))
        else {
            continue;
        };
        required.last.push_str(&format!("{}required = true\n", entry.header()));
        if last("required").is_some() || does("process") || does("smudge") {
            continue;
        }
        match last("smudge") {
            Some(_) => required.last.push_str("\tsmudge = cat\n"),
            None => required.first.push_str(&format!("{}smudge = cat\n", entry.header())),
        }
    }
    required
}

fn is_of_filter(entry: &Entry) -> bool {
    entry.section == "filter" && entry.subsection.is_some() && NAMES.contains(&entry.name.as_str())
}

fn may_hold_secret(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut words = text.split(|letter: char| !letter.is_ascii_hexdigit());
    OF_SECRETS.iter().any(|part| text.contains(part)) || words.any(|word| word.len() >= KEY_DIGITS)
}

/// A word of a command line.
#[derive(Default)]
struct Word {
    /// Without quotes.
    text: String,
    is_quoted: bool,
}

fn words(line: &str) -> Vec<Word> {
    let (mut words, mut quote) = (vec![Word::default()], None);
    for letter in line.trim().chars() {
        if quote.is_none() && letter.is_whitespace() {
            words.push(Word::default());
            continue;
        }
        let Some(word) = words.last_mut() else { continue };
        match (letter, quote) {
            ('"' | '\'', None) => (quote, word.is_quoted) = (Some(letter), true),
            (end, Some(begin)) if end == begin => quote = None,
            (letter, _) => word.text.push(letter),
        }
    }
    words
}

impl Word {
    /// Whether it can have a text in it that is for nobody.
    fn has_literal(&self, is_program: bool) -> bool {
        let mut runs = self.text.split(|letter: char| !letter.is_alphanumeric());
        let is_script = !self.is_plain() || !is_program && (self.is_quoted || self.is_of_sed());
        is_script && runs.any(|run| run.chars().count() >= LITERAL)
    }

    fn is_plain(&self) -> bool {
        self.text.chars().all(|it| it.is_alphanumeric() || OF_PLAIN_WORDS.contains(it))
    }

    /// Whether it begins or ends like `s/a/b/g` and `/a/d`.
    fn is_of_sed(&self) -> bool {
        let mut letters = self.text.chars();
        let begins = letters.next().is_some_and(char::is_alphabetic)
            && letters.next().is_some_and(|it| !it.is_alphanumeric());
        begins || self.text.rsplit_once('/').is_some_and(|(_, end)| end.len() <= 2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared;
    use super::*;

    #[test]
    fn filters_without_secrets_are_shared_and_others_refuse() {
        let check = |said: &str, expected: &str| {
            let text = format!("[filter \"x\"]\n\t{said}\n");
            let shared = shared(&text, &mut |_, _| String::new()).unwrap();
            assert_eq!(shared, format!("[filter \"x\"]\n\t{expected}\n"), "{said}");
        };
        for said in [
            "clean = git-lfs clean -- %f",
            "process = git-lfs filter-process",
            "smudge = /nix/store/5rkfcl9vbd4gw0yfxi2kxpzhi2jrhdn5-git-lfs/bin/git-lfs smudge",
            "clean = \"git-crypt\" clean --key-name=work",
            "clean = sed s/^/a/",
            r#"clean = \"git-crypt\" clean"#,
            r#"clean = \"/usr/bin/python3\" -m nbstripout"#,
            r#"process = git-lfs filter-process \"%f\""#,
            "smudge = sed -e 's/old w/new w/' \\\"$1\\\"",
            "clean = /opt/of-ada@work/nbstripout-1.2 --drop-empty-cells=~/a:b+c,d",
            "required = true",
            "required = false",
        ] {
            check(said, said);
        }
        for said in [
            "clean = openssl enc -aes-256-cbc -pass pass:x",
            "smudge = openssl enc -d -aes-256-ecb -K x",
            "process = PASSWORD=x crypt",
            "clean = crypt --api-key x",
            "clean = crypt key=x",
            "clean = crypt 00112233445566778899aabbccddeeff",
            "clean = curl https://u:x@h/",
            "clean = crypt # the token is x",
            "clean = sed -e 's/Tr0ub4dor-and-3/XXX/g'",
            "clean = sed s/Tr0ub4dor/XXX/",
            "clean = sed s,Tr0ub4dor,XXX,g",
            "clean = sed /Tr0ub4dor/d",
            "clean = sed -e 's/ab Hunter2 cd/XXX/g'",
            r#"clean = sed -e \"s/ab Hunter2 cd/XXX/g\""#,
            r#"clean = sed -e s/ab\\ Hunter2/XXX/g"#,
            "smudge = perl -pe s{x}{Ünnützes}",
            "clean = crypt to\\\nken x",
            "required = true ; token x",
        ] {
            check(said, "required = true");
        }
        let login = "[filter \"https://u:x@h\"]\n\tclean = a\n\tclean = secret\n";
        assert_eq!(shared(login, &mut |_, _| String::new()).unwrap(), "");
        let other = "[filter \"x\"]\n\tother = a\n[filter]\n\tclean = a\n";
        assert_eq!(shared(other, &mut |_, _| String::new()).unwrap(), "");
    }

    #[test]
    fn git_refuses_where_what_is_committed_is_not_filtered() {
        let check = |said: &str, first: &str, last: &str| {
            let of_filter = |said: &str| match said {
                "" => String::new(),
                said => format!("[filter \"x\"]\n\t{said}\n"),
            };
            let expected = Required { first: of_filter(first), last: of_filter(last) };
            assert_eq!(required_filters(&of_filter(said)), expected, "{said}");
        };
        check("clean = a\n\tsmudge = b", "", "required = true");
        check("clean = a", "smudge = cat", "required = true");
        check("clean = a\n\tsmudge =", "", "required = true\n\tsmudge = cat");
        check("process = a", "", "required = true");
        check("required = true\n\trequired = false", "", "required = true");
        check("clean = a\n\trequired = false", "", "required = true");
        check("smudge = a", "", "");
        check("smudge = a\n\trequired = false", "", "");
        check("clean = a\n\tclean =", "", "");
    }
}
