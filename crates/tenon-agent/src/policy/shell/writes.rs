//! Files that usual programs write because their arguments name them, for what is said of a line before
//! it runs. No decision on a call depends on it: what programs write by themselves is not seen.

use super::arguments::{skip_options, valued};
use super::word::Word;
use super::{RedirectKind, SimpleCommand};

/// Returns the files that a command writes by its redirects, and those that its arguments name.
pub(crate) fn writes(command: &SimpleCommand) -> Vec<Word> {
    let arguments = command.arguments();
    let behind = |valued: &[&str]| skip_options(arguments, valued).to_vec();
    let value =
        |names: [&str; 2]| names.iter().filter_map(|name| valued(arguments, &[*name])).collect();
    let named: Vec<Word> = match command.program() {
        Some("tee" | "sponge") => behind(&[]),
        Some("touch") => behind(&["-d", "-r", "-t"]),
        Some("truncate") => behind(&["-s", "-r"]),
        Some("dd") => arguments.iter().filter_map(|word| word.strip_prefix("of=")).collect(),
        Some("sort") => value(["-o", "--output"]),
        Some("curl") => value(["-o", "--output"]),
        Some("wget") => value(["-O", "--output-document"]),
        // The script is among them, and no file.
        Some("sed" | "perl" | "ruby") if arguments.iter().any(is_in_place) => behind(&["-e", "-f"]),
        Some("cp" | "install" | "ln" | "mv") => targets(&behind(&["-m", "-o", "-g", "-S"])),
        _ => Vec::new(),
    };
    let redirects = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
    redirects.map(|one| one.target.clone()).chain(named).collect()
}

/// Whether an option is the one by which a program writes the files that it reads: `-i`, `-pi`, `-ni.old`.
fn is_in_place(word: &Word) -> bool {
    let option = word.prefix();
    option.starts_with("--in-place")
        || option.strip_prefix('-').is_some_and(|letters| {
            !letters.starts_with('-')
                && letters.chars().take_while(char::is_ascii_alphabetic).any(|it| it == 'i')
        })
}

/// Returns where copies of all but the last of `operands` come to be: at that one, or in it.
fn targets(operands: &[Word]) -> Vec<Word> {
    let Some((target, sources)) = operands.split_last() else { return Vec::new() };
    let inside = sources.iter().filter_map(Word::program).map(|name| {
        let name = Word::text(format!("/{name}"));
        target.joined(&name)
    });
    std::iter::once(target.clone()).chain(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn files_that_a_line_names_as_written_are_found() {
        let check = |script: &str, expected: &[&str]| {
            let commands = parse(script).commands;
            let found: Vec<_> = commands.iter().flat_map(writes).collect();
            let found: Vec<&str> = found.iter().filter_map(Word::literal).collect();
            assert_eq!(found, expected, "{script}");
        };
        check("cat > .envrc", &[".envrc"]);
        check("echo a | tee -a .git/hooks/pre-commit b", &[".git/hooks/pre-commit", "b"]);
        check("sed -i s/a/b/ .bashrc", &["s/a/b/", ".bashrc"]);
        check("sed -n -i.old -e s/a/b/ .bashrc", &[".bashrc"]);
        check("perl -pi -e s/a/b/ x", &["x"]);
        check("sed s/a/b/ .bashrc", &[]);
        check("sed -n --quiet p .bashrc", &[]);
        check("cp a/tasks.json .vscode", &[".vscode", ".vscode/tasks.json"]);
        check("bash -c 'mv x .envrc'", &[".envrc", ".envrc/x"]);
        check("dd if=a of=.envrc; touch -d now t; truncate -s 0 u", &[".envrc", "t", "u"]);
        check("curl -so .envrc http://example.com; wget -O w http://example.com", &[".envrc", "w"]);
        check("cat .envrc; make", &[]);
    }
}
