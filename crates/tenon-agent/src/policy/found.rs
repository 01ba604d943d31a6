//! What bash finds for the patterns of a command that surely runs before anything else changes files: names of
//! the workspace, which others look up. So a rule need not be asked about for what is not there.

use super::Names;
use super::places::{Places, Target};
use super::rule::name_matches;
use super::shell::{self, Parsed, Piece, SimpleCommand, Word};
use super::written::folders;

/// Words that one command may come to have.
const WORDS_MAX: usize = 10_000;

/// Returns a command of a line with what is found for its patterns in the place of these, names with a dot in
/// front, too; `None` where that is not known, or nothing is a pattern.
pub(super) fn found(
    command: &SimpleCommand,
    parsed: &Parsed,
    (places, names): (&Places, &Names<'_>),
) -> Option<SimpleCommand> {
    let is_pattern = |word: &&Word| word.pieces.iter().any(|it| matches!(it, Piece::Glob(_)));
    let is_first =
        parsed.commands.iter().all(|other| std::ptr::eq(other, command) || changes_nothing(other));
    let mut ways: Vec<_> = folders(command).collect();
    ways.dedup();
    let ([way], true) = (ways.as_slice(), is_first && parsed.doubt.is_none()) else { return None };
    command.words.iter().find(is_pattern)?;
    let mut words = Vec::new();
    for word in &command.words {
        match is_pattern(&word) {
            true => {
                let (folder, pattern) = parts(word)?;
                let here = if folder.is_empty() { "." } else { &folder };
                let Target::Exact(path) = places.target(&Word::text(here), *way) else {
                    return None;
                };
                let all = names(&path)?.into_iter();
                let before = words.len();
                let matching = all.filter(|name| name_matches(&pattern, name));
                words.extend(matching.map(|name| Word::text(format!("{folder}{name}"))));
                // Of what finds nothing bash makes the name.
                words.extend((words.len() == before).then(|| Word::text(word.shown())));
            }
            false => words.push(word.clone()),
        }
        if words.len() > WORDS_MAX {
            return None;
        }
    }
    Some(SimpleCommand { words, ..command.clone() })
}

/// Whether a command leaves files as they are.
fn changes_nothing(command: &SimpleCommand) -> bool {
    let goes = command.program() == Some("cd") && command.redirects.is_empty();
    goes || shell::reads(command)
}

/// Returns the folder of a word, as it is written, and the pattern for names in it; `None` if the folder has one,
/// too, or the pattern has brackets.
fn parts(word: &Word) -> Option<(String, String)> {
    let (mut folder, mut name, mut pattern) = (String::new(), String::new(), String::new());
    let mut is_pattern = false;
    for piece in &word.pieces {
        match piece {
            Piece::Glob(sign) if matches!(sign.as_str(), "*" | "?") => {
                is_pattern = true;
                pattern.push_str(sign);
            }
            Piece::Text(text) => {
                for sign in text.chars() {
                    match sign {
                        '/' if is_pattern => return None,
                        '/' => {
                            folder.push_str(&name);
                            folder.push('/');
                            name.clear();
                            pattern.clear();
                        }
                        sign => {
                            name.push(sign);
                            pattern.extend(sign.is_ascii_punctuation().then_some('\\'));
                            pattern.push(sign);
                        }
                    }
                }
            }
            _ => return None,
        }
    }
    Some((folder, pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_what_is_there_before_anything_changes() {
        let places = Places {
            roots: vec!["/w".into()],
            home: "/home/ada".into(),
            cwd: "/w".into(),
            ..Places::default()
        };
        let names = |folder: &str| -> Option<Vec<String>> {
            let names: &[&str] = match folder {
                "/w/lib" => &["a.o", "b.o", ".c.o", "d*"],
                "/w" => &["lib", "x-y"],
                _ => return None,
            };
            Some(names.iter().map(|name| (*name).to_owned()).collect())
        };
        let check = |script: &str, expected: Option<&str>| {
            let parsed = shell::parse(script);
            let command = parsed.commands.last().unwrap();
            let found = found(command, &parsed, (&places, &names));
            assert_eq!(found.map(|it| it.shown()).as_deref(), expected, "{script}");
        };
        check("cp lib/?.o src/", Some("cp lib/a.o lib/b.o src/"));
        check("cd lib && rm *.o", Some("rm a.o b.o .c.o"));
        check("ls lib; rm x-* y*", Some("rm x-y y*"));
        check("rm 'lib/d*'", None);
        check("rm lib/d'*'*", Some("rm lib/d*"));
        check("touch lib/e.o; rm lib/*.o", None);
        check("ls > lib/e.o; rm lib/*.o", None);
        check("rm other/*", None);
        check("rm */*", None);
        check("rm lib/[a-b].o", None);
        check("rm \"$x\"/*", None);
        check("cd lib; rm *", None);
    }
}
