//! In which folder a command of a line runs, and so what it means by a relative name.

use std::path::Path;

use super::ToolContext;
use crate::policy::{
    Places, Target,
    shell::{Folders, SimpleCommand, Word},
};

/// They name themselves in what they say.
const CHANGE_FOLDER: [&str; 2] = ["cd", "pushd"];

/// Parts of a line in front of what it is about: the shell, its line, the program.
const PARTS_MAX: usize = 3;

/// By these a program is told another folder, or goes there by itself.
const MOVES: [&str; 5] = [" -C", "chdir", "--directory", "--prefix", "--cwd"];

/// Whether what a script starts may run in a folder that is not known.
pub(super) fn moves(script: &str) -> bool {
    MOVES.iter().any(|words| script.contains(words))
}

/// Returns where a word leads to for a command: from each folder that it may run in, as far as they are known.
pub(super) fn led_to(command: &SimpleCommand, word: &Word, context: &ToolContext) -> Vec<String> {
    let mut paths = Vec::new();
    for (_, path) in led_by_ways(command, word, context) {
        paths.extend(path.filter(|path| !paths.contains(path)));
    }
    paths
}

/// Returns the changes of folder by which a command may have come to where it runs, if they are known, with where a
/// word leads from there, if that is.
pub(super) fn led_by_ways<'a>(
    command: &'a SimpleCommand,
    word: &Word,
    context: &ToolContext,
) -> Vec<(Option<&'a [Word]>, Option<String>)> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let home = context.sandbox.home().map(text).unwrap_or_default();
    let places = Places {
        roots: Vec::new(),
        home,
        cwd: text(context.workspace.root()),
        ..Places::default()
    };
    let exact = |way| match places.target(word, way) {
        Target::Exact(path) => Some(path),
        _ => None,
    };
    command.folders.iter().flat_map(Folders::ways).map(|way| (way, exact(way))).collect()
}

/// Returns those of the commands that may have printed a line: those of the program that it begins with, or
/// else all that would not have said so.
pub(super) fn speakers<'a>(commands: &'a [SimpleCommand], line: &str) -> Vec<&'a SimpleCommand> {
    let of = |name: &str| -> Vec<&SimpleCommand> {
        let name = name.rsplit('/').next().unwrap_or(name);
        commands.iter().filter(|command| command.program() == Some(name)).collect()
    };
    let named = line.split(": ").take(PARTS_MAX).map(of).find(|found| !found.is_empty());
    named.unwrap_or_else(|| {
        let says_so = |name: &str| CHANGE_FOLDER.contains(&name);
        commands.iter().filter(|command| !command.program().is_some_and(says_so)).collect()
    })
}

/// Returns where a name leads to that one of the `speakers` printed: the name itself, which is one in the
/// workspace's root, where no folder is known.
pub(super) fn meant(speakers: &[&SimpleCommand], name: &str, context: &ToolContext) -> Vec<String> {
    let word = Word::text(name);
    let mut paths: Vec<String> = Vec::new();
    if !name.starts_with('/') {
        paths.extend(speakers.iter().flat_map(|command| led_to(command, &word, context)));
        paths.sort();
        paths.dedup();
    }
    if paths.is_empty() { vec![name.to_owned()] } else { paths }
}

/// Returns a path as it is named from the workspace's root.
pub(super) fn shown(path: &str, context: &ToolContext) -> String {
    let beneath = Path::new(path).strip_prefix(context.workspace.root());
    beneath.map_or_else(|_| path.to_owned(), |beneath| beneath.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{policy::shell, tools::testing::Bench};

    #[test]
    fn a_name_is_one_in_the_folder_of_who_says_it() {
        let bench = Bench::new();
        let root = bench.root().to_string_lossy().into_owned();
        let check = |script: &str, line: &str, expected: &[&str]| {
            let commands = shell::parse(script).commands;
            let paths = meant(&speakers(&commands, line), "x", &bench.context);
            let shown: Vec<String> =
                paths.iter().map(|path| path.replacen(&root, ".", 1)).collect();
            assert_eq!(shown, expected, "{script}: {line}");
        };
        let touch = "touch: cannot touch 'x': Permission denied";
        check("touch x", touch, &["./x"]);
        check("cd /etc && touch x", touch, &["/etc/x"]);
        check("cd sub; touch x", touch, &["./sub/x", "./x"]);
        check("touch x; cd /etc && cat y", touch, &["./x"]);
        check("cd /etc && echo > x", "bash: line 1: x: Permission denied", &["/etc/x"]);
        check("cd x && ls", "bash: line 1: cd: x: Permission denied", &["./x"]);
        check("cd /etc && /bin/cat x", "/bin/cat: x: Permission denied", &["/etc/x"]);
        check("cd \"$folder\" && touch x", touch, &["x"]);
        let commands = shell::parse("cd /etc && touch x").commands;
        let absolute = meant(&speakers(&commands, touch), "/opt/x", &bench.context);
        assert_eq!(absolute, ["/opt/x"]);
        assert_eq!(shown(&format!("{root}/a/b"), &bench.context), "a/b");
    }
}
