//! What a command is told that looked for files which the walls keep out of its sight.
//!
//! There they look as if they were not there, so the program says nothing of walls, and the model
//! would say that there is no such file. Said is where a path lies that the command names, never
//! whether something is there; each sentence is true whenever it is said. Sometimes it is not what
//! went wrong.

use std::path::Path;

use tenon_model::visible;
use tenon_sandbox::{Network, OutOfSight, Output, Stream, Tier, runs_as_root};

use super::{
    ToolContext,
    held::{self, Said},
    kernel, protected,
    unreached::Unreached,
};
use crate::policy::shell::{self, Piece, RedirectKind, SimpleCommand, Word};

/// What programs say of a file that is not there.
const MISSING: [&str; 9] = [
    "no such file",
    "not found",
    "does not exist",
    "doesn't exist",
    "cannot access",
    "does not appear to be a git repository",
    "cannot find",
    "enoent",
    "没有那个文件",
];

/// Their arguments are texts, or what they miss they say.
const OF_TEXTS: [&str; 3] = ["echo", "printf", "git"];

/// Their first argument is what they look for, or what they do.
const OF_PATTERNS: [&str; 9] = ["grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk", "mawk", "jq"];

/// Lines of output, and paths of all, that are looked at.
const LINES_MAX: usize = 20;
const PATHS_MAX: usize = 40;

/// What a person can do about most of it.
const OPENS: &str = "--add-dir FOLDER would open a folder, read_file asks the user for a file";

/// What every sentence says of what is out of sight.
const UNSEEN: &str = "as if it were not there";

/// Redirects by which complaints come with the rest, as for a pipe that ends well.
const MERGED: [&str; 3] = ["2>&1", "&>", "|&"];

/// What git says where it finds no repository at the folder it is in or around it.
const NO_REPOSITORY: &str = "not a git repository";

/// Whether `line` of a result is one of these sentences. Which of them is said, and whether one is, depends
/// on where the workspace and the home lie.
pub(crate) fn is_of_place(line: &str) -> bool {
    line.starts_with("[walls] files: ") && line.contains(UNSEEN)
}

/// A command that ran inside walls, what it ran and what it said.
pub(super) struct Looked<'a> {
    pub(super) script: &'a str,
    pub(super) output: &'a Output,
    /// What is shown of its output.
    pub(super) text: &'a str,
    pub(super) is_error: bool,
    /// It runs, or ran, in the background: the output is what is new of it, so silence tells nothing.
    pub(super) is_job: bool,
}

/// How sure it is that a path is what the command looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    /// A program of a command that failed says that it is not there.
    Missed,
    /// The same, and the command went on.
    MissedInPassing,
    /// It stands in the script of a command that failed without a word.
    Silently,
    /// It stands in the script of a command that found nothing.
    InVain,
    /// It stands in the script of a command that failed, and said why.
    Somewhere,
}

/// Returns what a command is told of the walls that stood in its way, in lines with a line end in front;
/// nothing where there are none.
pub(super) fn notes(looked: &Looked<'_>, context: &ToolContext) -> String {
    let Some(network) = context.sandbox.network_within_walls() else { return String::new() };
    let sentences = sentences(looked, context, network).into_iter().map(|sentence| {
        let of_files = (sentence == held::PROTECTED_HELD)
            .then(|| protected::unwritten(looked.text, looked.is_job, context));
        format!("\n[walls] {}", of_files.flatten().unwrap_or(sentence))
    });
    sentences.collect()
}

/// Returns what it is told of them, if there is reason to say something.
fn sentences(looked: &Looked<'_>, context: &ToolContext, network: Network) -> Vec<String> {
    let &Looked { script, output, text, is_error, is_job } = looked;
    let ToolContext { workspace, sandbox, .. } = context;
    let unreached = &match is_job && output.pieces.is_empty() {
        true => Unreached::none(),
        false => Unreached::of(script, output, is_error, sandbox),
    };
    let merges = MERGED.iter().any(|redirect| script.contains(redirect));
    let as_root = runs_as_root();
    let said =
        Said { script, output, text, is_error, merges, workspace, sandbox, unreached, as_root };
    let mut sentences = held::sentences(&said, network);
    if sentences.is_empty() && output.blocked.is_empty() {
        sentences.extend(looked.sentence(context));
    }
    sentences
}

impl Looked<'_> {
    /// Returns a sentence for a command that may have looked for what is out of its sight.
    fn sentence(&self, context: &ToolContext) -> Option<String> {
        let Looked { script, output, text, is_error, is_job } = self;
        if *is_error && text.contains(NO_REPOSITORY) && is_alone(context) {
            return Some(format!(
                "files: a repository that the workspace lies in, if there is one, is out of the commands' \
                 sight, {UNSEEN}; the user can start tenon in the repository's folder, or open that by \
                 --add-dir FOLDER"
            ));
        }
        let in_script = || shell::parse(script).commands.iter().flat_map(named).collect();
        if text.trim().is_empty() {
            let how = if *is_error { Named::Silently } else { Named::InVain };
            return self.told(how, in_script(), context);
        }
        if !is_error {
            let errors = output.pieces.iter().filter(|piece| piece.stream == Stream::Error);
            let errors: String = errors.map(|piece| piece.text.as_str()).collect();
            return self.told(Named::MissedInPassing, missed(&errors), context);
        }
        let missed = self.told(Named::Missed, missed(text), context);
        missed.or_else(|| match is_job {
            true => None,
            false => self.told(Named::Somewhere, in_script(), context),
        })
    }

    /// Returns what is said of the first of these paths of which something is to be said.
    fn told(&self, how: Named, paths: Vec<String>, context: &ToolContext) -> Option<String> {
        let ToolContext { workspace, sandbox, .. } = context;
        // In tier C processes of others are in sight, and what is closed says so.
        let is_hidden =
            |path: &String| kernel::is_closed(path) && sandbox.tier() != Some(Tier::C.name());
        let is_silent = matches!(how, Named::Silently | Named::InVain);
        if is_silent && paths.iter().take(PATHS_MAX).any(is_hidden) {
            return Some(kernel::KERNEL_HELD.to_owned());
        }
        let root = workspace.root();
        let place = |path: String| match Path::new(&path).strip_prefix("~") {
            Ok(rest) => sandbox.home().map(|home| home.join(rest)),
            Err(_) => Some(root.join(path)),
        };
        let places = paths.into_iter().take(PATHS_MAX).filter_map(place);
        let mut why = places.filter_map(|place| sandbox.out_of_sight(&place));
        why.find(|why| is_said(why, how, self.output.only_reads)).map(|why| words(&why))
    }
}

/// Whether the folder that the workspace lies in is out of sight.
fn is_alone(context: &ToolContext) -> bool {
    let above = context.workspace.root().parent();
    above.is_some_and(|above| context.sandbox.out_of_sight(above).is_some())
}

/// Whether it is worth a sentence: commands have files of their own in private folders, and look there
/// for what need not be there.
fn is_said(why: &OutOfSight, how: Named, only_reads: bool) -> bool {
    match (why, how) {
        (OutOfSight::Private(_) | OutOfSight::Device, how) => {
            matches!(how, Named::Missed | Named::Silently)
        }
        (OutOfSight::Home, Named::InVain) => only_reads,
        (OutOfSight::Home, how) => how != Named::Somewhere,
        (OutOfSight::Covered(_) | OutOfSight::Secret(_) | OutOfSight::Hidden(_), _) => true,
    }
}

fn words(why: &OutOfSight) -> String {
    let shown = |path: &Path| visible(&path.to_string_lossy()).replace('\n', "␊");
    match why {
        OutOfSight::Covered(path) => format!(
            "files: commands see nothing of what the machine has in {} unless it is opened to \
             them, so it looks {UNSEEN}; {OPENS}",
            shown(path)
        ),
        OutOfSight::Home => format!(
            "files: of the user's home commands see only toolchains and what is opened to them, so \
             the rest looks {UNSEEN}; {OPENS}"
        ),
        OutOfSight::Private(path) => format!(
            "files: commands have a {} of the session's own, so what the machine has there looks \
             {UNSEEN} unless it is opened to them; {OPENS}",
            shown(path)
        ),
        OutOfSight::Secret(path) => format!(
            "files: {} is closed to commands, so it looks empty or {UNSEEN}; \
             read_file asks the user for a file",
            shown(path)
        ),
        OutOfSight::Device => format!(
            "files: commands have a /dev of their own with the usual devices alone, so what else the machine has \
             there looks {UNSEEN}; --sandbox off would open it"
        ),
        OutOfSight::Hidden(path) => format!(
            "files: {} is closed to commands, so it looks empty or {UNSEEN}; \
             --sandbox off would open it",
            shown(path)
        ),
    }
}

/// Returns the paths that are named where something is said not to be there.
fn missed(printed: &str) -> Vec<String> {
    let misses = |line: &&str| {
        let line = line.to_lowercase();
        MISSING.iter().any(|words| line.contains(words))
    };
    let is_between = |c: char| c.is_whitespace() || "'\"`‘’“”".contains(c);
    let lines = printed.lines().filter(misses).take(LINES_MAX);
    let words = lines.flat_map(|line| line.split(is_between));
    let words = words.map(|word| word.trim_matches([':', ',', ';', '(', ')']).to_owned());
    words.filter(|word| leads_out(word)).collect()
}

/// Returns the paths that a command names and does not only write.
fn named(command: &SimpleCommand) -> Vec<String> {
    let program = command.program().unwrap_or_default();
    let mut arguments = command.arguments();
    if OF_TEXTS.contains(&program) {
        arguments = &[];
    } else if OF_PATTERNS.contains(&program) {
        let first = arguments.iter().position(Word::is_no_option).unwrap_or(arguments.len());
        arguments = arguments.get(first + 1..).unwrap_or_default();
    }
    let read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
    let words = arguments.iter().chain(read.map(|redirect| &redirect.target));
    words.map(known).filter(|word| leads_out(word)).collect()
}

/// Returns what is known of the beginning of a word.
fn known(word: &Word) -> String {
    let known = word.pieces.iter().map_while(|piece| match piece {
        Piece::Text(text) | Piece::Glob(text) => Some(text.as_str()),
        Piece::Home(user) if user.is_empty() => Some("~"),
        Piece::Folder | Piece::Begin => Some("."),
        _ => None,
    });
    known.collect()
}

/// Whether a word is a path that may lead out of the workspace.
fn leads_out(word: &str) -> bool {
    word.starts_with(['/', '~']) || word.starts_with("../") || word == ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_looks_for_is_found_in_its_script() {
        let check = |script: &str, expected: &[&str]| {
            let found: Vec<_> = shell::parse(script).commands.iter().flat_map(named).collect();
            assert_eq!(found, expected, "{script}");
        };
        check("cat /home/other/x ~/y ../z > /tmp/out", &["/home/other/x", "~/y", "../z"]);
        check("test -e \"$HOME/a b\" && ls ~", &["~/a b", "~"]);
        check("bash -c 'wc -l < /etc/shadow' | grep -c /root", &["/etc/shadow"]);
        check("sed -n '/root/p' /etc/passwd; echo /root; git log /x", &["/etc/passwd"]);
        check("ls /home/*/x \"/mnt/$disk/x\"", &["/home/*/x", "/mnt/"]);
        check("make -C sub ./..a a/b", &[]);
    }

    #[test]
    fn what_is_not_there_is_found_in_what_is_printed() {
        for (line, expected) in [
            ("cat: /home/other/x: No such file or directory", &["/home/other/x"][..]),
            ("ls: cannot access '../x y': No such file or directory", &["../x"]),
            ("FileNotFoundError: [Errno 2] No such file or directory: '/mnt/d'", &["/mnt/d"]),
            ("Error: ENOENT: no such file or directory, open '/root/a'", &["/root/a"]),
            ("fatal: repository '/home/u/r' does not exist", &["/home/u/r"]),
            ("fatal: '../bare.git' does not appear to be a git repository", &["../bare.git"]),
            ("cat: /root/a: 没有那个文件或目录", &["/root/a"]),
            ("/tmp/build.c:3: error: expected ';'", &[]),
            ("error: test failed", &[]),
        ] {
            assert_eq!(missed(line), expected, "{line}");
        }
    }

    #[test]
    fn private_folders_are_spoken_of_only_where_something_was_missed() {
        let check = |why: &OutOfSight, expected: [bool; 5]| {
            let ways = [
                Named::Missed,
                Named::MissedInPassing,
                Named::Silently,
                Named::InVain,
                Named::Somewhere,
            ];
            assert_eq!(ways.map(|how| is_said(why, how, true)), expected, "{why:?}");
        };
        check(&OutOfSight::Covered("/mnt".into()), [true; 5]);
        check(&OutOfSight::Home, [true, true, true, true, false]);
        check(&OutOfSight::Private("/tmp".into()), [true, false, true, false, false]);
        assert!(!is_said(&OutOfSight::Home, Named::InVain, false));
    }

    #[test]
    fn every_sentence_is_known_as_one_of_a_place() {
        for why in [
            OutOfSight::Covered("/mnt".into()),
            OutOfSight::Home,
            OutOfSight::Private("/tmp".into()),
            OutOfSight::Secret("/root/.ssh".into()),
            OutOfSight::Hidden("/var/lib/x".into()),
            OutOfSight::Device,
        ] {
            assert!(is_of_place(&format!("[walls] {}", words(&why))), "{why:?}");
        }
        assert!(!is_of_place(&format!("[walls] {}", held::PROTECTED_HELD)));
    }
}
