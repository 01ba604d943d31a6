//! What a command is told that looked for files which the walls keep out of its sight.
//!
//! There they look as if they were not there, so the program says nothing of walls, and the model
//! would say that there is no such file. Said is where a path lies that the command names, never
//! whether something is there; each sentence is true whenever it is said. Sometimes it is not what
//! went wrong, and what a program looks for without a name in its line or its output nobody sees.

use std::path::{Path, PathBuf};

use tenon_sandbox::{Network, OutOfSight, OutsideWrite};

use super::{
    ToolContext, held, kernel, led_up,
    listed::{self, Held},
    protected, ran_in, refused_calls,
    refused_files::{self, PROTECTED_HELD, REFUSED, is_held_in_c},
    refused_moves, refused_own, refused_toolchains,
    said::{Said, is_quoted, quoted, words},
    sight::{self, UNSEEN},
    unfound,
};
use crate::policy::shell::{self, Piece, RedirectKind, SimpleCommand, Word};

/// What programs say of a file that is not there.
const MISSING: [&str; 10] = [
    "no such file",
    // Where a repository has objects besides its own.
    "unable to normalize alternate object path",
    "not found",
    "does not exist",
    "doesn't exist",
    "cannot access",
    "does not appear to be a git repository",
    "cannot find",
    "enoent",
    "没有那个文件",
];

/// What they say so of a file by its name, however that begins.
const NO_FILE: [&str; 2] = ["no such file", "没有那个文件"];

/// Without an argument it goes to the home.
const CHANGES_FOLDER: &str = "cd";

/// Their arguments are texts, or what they miss they say.
const OF_TEXTS: [&str; 3] = ["echo", "printf", "git"];

/// Their first argument is what they look for, or what they do.
const OF_PATTERNS: [&str; 9] = ["grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk", "mawk", "jq"];

/// What looks whether something is there, or at a folder and not into it.
const LOOKS: [&str; 3] = ["test", "[", "stat"];

/// Without these the commands of a line run as long as each one ends well.
const BRANCHES: [&str; 7] = ["|", ";", "\n", "!", "$(", "`", "<("];
const AND: &str = "&&";

/// Lines of output, and paths of all, that are looked at.
const LINES_MAX: usize = 20;
const PATHS_MAX: usize = 40;

/// Sentences of one result, and of those the ones that are about what is out of sight.
const SENTENCES_MAX: usize = 10;
const UNSEEN_MAX: usize = 3;

/// What git says where it finds no repository at the folder it is in or around it.
const NO_REPOSITORY: &str = "not a git repository";

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
    /// It stands in the script of a command that said something else.
    Plainly,
}

/// Returns what a command is told of the walls that stood in its way, in lines with a line end in front, and
/// what of it is listed; where there are none, of programs that a line outside of them does not find.
pub(super) fn notes(said: &Said<'_>) -> (String, Vec<Held>) {
    let Some(network) = said.context.sandbox.network_within_walls() else {
        return (lines(&unfound::sentences(said)), Vec::new());
    };
    let mut held = Vec::new();
    // Calls of the kernel and protected files that have a name are listed as such.
    let of_calls = refused_calls::sentences(&said.output.refused);
    let named = |sentence: String| {
        let is_of_protected = sentence == PROTECTED_HELD;
        let refused = if is_of_protected { refused_files::protected(said) } else { Vec::new() };
        let is_listed = !refused.is_empty();
        if !is_listed && !of_calls.contains(&sentence) {
            held.extend(listed::listed(&sentence));
        }
        let files = if is_of_protected { protected::unwritten(said) } else { Vec::new() };
        let git = protected::for_git(&refused, &said.context.workspace);
        if files.is_empty() { vec![sentence + git] } else { files }
    };
    let mut told: Vec<String> = sentences(said, network).into_iter().flat_map(named).collect();
    let more = told.len().saturating_sub(SENTENCES_MAX);
    told.truncate(SENTENCES_MAX);
    told.extend((more > 0).then(|| format!("{more} more walls stood in its way")));
    (lines(&told), held)
}

fn lines(told: &[String]) -> String {
    told.iter().map(|sentence| format!("\n[walls] {}", listed::told(sentence))).collect()
}

/// Returns what it is told of them, if there is reason to say something.
fn sentences(said: &Said<'_>, network: Network) -> Vec<String> {
    let mut sentences = held::sentences(said, network);
    let quiet = quiet(said).filter(|_| sentences.is_empty() && !said.is_job);
    // That a change was refused, and which, is known better than what was looked for.
    let (sure, perhaps): (Vec<String>, Vec<String>) =
        quiet.into_iter().partition(|told| told.contains(REFUSED));
    sentences.extend(sure);
    let of_sight = of_sight(said, &sentences);
    sentences.extend(of_sight);
    sentences.extend(unfound::sentences(said));
    if sentences.is_empty() {
        sentences.extend(perhaps);
    }
    sentences
}

/// Returns what a command is told of changes that were refused, and of which nothing is said in what it printed.
fn quiet(said: &Said<'_>) -> Option<String> {
    refused_own::silent(said)
        .or_else(|| refused_files::thrown_away(said))
        .or_else(|| refused_toolchains::thrown_away(said))
        .or_else(|| refused_files::silent(said))
        .or_else(|| refused_moves::silent(said))
}

/// Returns sentences for a command that may have looked for what is out of its sight; some of another
/// kind are `told`.
fn of_sight(said: &Said<'_>, told: &[String]) -> Vec<String> {
    let Said { commands, text, is_error, is_job, context, .. } = *said;
    if is_error && said.printed().contains(NO_REPOSITORY) && is_alone(context) {
        return vec![format!(
            "files: a repository that the workspace lies in, if there is one, is out of the commands' \
             sight, {UNSEEN}; the user can start tenon in the repository's folder, or open that by \
             --add-dir FOLDER"
        )];
    }
    let around = Around {
        only_reads: said.output.only_reads,
        throws_away: said.throws_away(),
        is_explained: !told.is_empty() || !said.output.blocked.is_empty(),
        is_refused: told.iter().any(|told| is_held_in_c(told)),
    };
    let is_explained = around.is_explained;
    let is_told = told.iter().any(|told| told.contains(REFUSED));
    let refused = said.output.outside.as_deref().filter(|_| is_told).unwrap_or_default();
    let mut looked = Looked { said, around, refused, why: Vec::new() };
    let is_silent = text.trim().is_empty();
    if !is_silent && said.may_complain() {
        let how = if is_error { Named::Missed } else { Named::MissedInPassing };
        looked.add(how, looked.missed(&said.printed()));
    }
    if !is_job {
        let how = match (is_silent && !is_explained, is_error) {
            (true, true) => Named::Silently,
            (true, false) => Named::InVain,
            (false, _) => Named::Plainly,
        };
        let named: Vec<String> =
            commands.iter().flat_map(|command| looked.named(command)).collect();
        if how != Named::Plainly && looked.is_in_kernel(&named) {
            return vec![kernel::KERNEL_HELD.to_owned()];
        }
        looked.add(how, named);
    }
    let sure = |why: &OutOfSight| sight::sentence(why, said.in_c, true);
    let is_told = |why: &OutOfSight| match why {
        OutOfSight::Secret(path) | OutOfSight::Hidden(path) => {
            let is_of = |told: &String| {
                told.starts_with(&refused_files::closed(path)) || refused_own::is_of(told, path)
            };
            told.iter().any(is_of)
        }
        _ => false,
    };
    let new = looked.why.iter().filter(|(why, _)| !told.contains(&sure(why)) && !is_told(why));
    new.map(|(why, is_sure)| sight::sentence(why, said.in_c, *is_sure)).collect()
}

/// What a command may have looked for.
struct Looked<'a> {
    said: &'a Said<'a>,
    around: Around,
    /// Changes outside that it is told of, or of others like them.
    refused: &'a [OutsideWrite],
    /// Why it is out of sight, and whether the command surely looked there.
    why: Vec<(OutOfSight, bool)>,
}

/// What else is known of a command.
#[derive(Debug, Clone, Copy, Default)]
struct Around {
    only_reads: bool,
    /// It may have thrown complaints away.
    throws_away: bool,
    /// Something else explains that it failed.
    is_explained: bool,
    /// It is told already what is closed in tier C.
    is_refused: bool,
}

impl Looked<'_> {
    /// Whether what the kernel keeps to itself is among these. In tier C what is closed there says so, and
    /// processes of others are in sight.
    fn is_in_kernel(&self, paths: &[String]) -> bool {
        let is_hidden = |path: &String| kernel::is_closed(path) && !self.said.in_c;
        paths.iter().take(PATHS_MAX).any(is_hidden)
    }

    /// Returns the paths that a command names and may have missed. Of a look that found what it looked for that
    /// is none, and a folder that is empty for commands is there.
    fn named(&self, command: &SimpleCommand) -> Vec<String> {
        let Said { script, is_error, context, .. } = *self.said;
        let leads = |word: &str| led_up::led_to(self.said, command, &Word::text(word));
        let root = context.workspace.root();
        let is_elsewhere = leads(".").iter().any(|folder| !Path::new(folder).starts_with(root));
        let words = named(command, is_elsewhere);
        let mut paths: Vec<String> = words
            .into_iter()
            .flat_map(|it| if is_relative(&it) { leads(&it) } else { vec![it] })
            .collect();
        if is_look(command) {
            let has_found = !is_error && all_succeeded(script);
            paths.retain(|path| !has_found && !self.is_emptied(path));
        }
        let writes = !self.refused.is_empty() && !shell::writes(command).is_empty();
        paths.retain(|path| !self.is_refused(path, writes));
        paths
    }

    /// Returns the paths that are named where something is said not to be there, from the folders that those
    /// run in who may have said it.
    fn missed(&self, printed: &str) -> Vec<String> {
        let Said { script, commands, .. } = *self.said;
        let led = |line: &str, word: &str| match is_relative(word) {
            true if ran_in::moves(script) => Vec::new(),
            true => {
                let speakers = ran_in::speakers(commands, line).into_iter();
                speakers.flat_map(|it| led_up::led_to(self.said, it, &Word::text(word))).collect()
            }
            false => vec![word.to_owned()],
        };
        missed(printed).into_iter().flat_map(|(line, word)| led(line, word)).collect()
    }

    /// Whether a path is one of those that were to change, or lies there, or it is the folder that one is in of a command
    /// that `writes`.
    fn is_refused(&self, path: &str, writes: bool) -> bool {
        let Some(place) = self.place(path).filter(|_| !self.refused.is_empty()) else {
            return false;
        };
        let is_of = |write: &OutsideWrite| {
            place.starts_with(&write.path) || writes && write.path.parent() == Some(&place)
        };
        self.refused.iter().any(is_of)
    }

    /// Whether a path is that of a folder which is empty for commands.
    fn is_emptied(&self, path: &str) -> bool {
        let Some(place) = self.place(path) else { return false };
        let sandbox = &self.said.context.sandbox;
        match sandbox.out_of_sight(&place) {
            Some(OutOfSight::Covered(folder) | OutOfSight::Private(folder)) => folder == place,
            Some(OutOfSight::Home) => sandbox.home() == Some(place.as_path()),
            _ => false,
        }
    }

    fn place(&self, path: &str) -> Option<PathBuf> {
        let ToolContext { workspace, sandbox, .. } = self.said.context;
        match Path::new(path).strip_prefix("~") {
            Ok(rest) => sandbox.home().map(|home| home.join(rest)),
            Err(_) => Some(workspace.root().join(path)),
        }
    }

    /// Takes in why these paths are out of sight, as far as something is to be said of it.
    fn add(&mut self, how: Named, paths: Vec<String>) {
        for path in paths.iter().take(PATHS_MAX) {
            let Some(place) = self.place(path) else { continue };
            let Some(why) = self.said.context.sandbox.out_of_sight(&place) else { continue };
            let is_known = self.why.iter().any(|(known, _)| *known == why);
            if !is_known && is_said(&why, how, self.around) {
                self.why.push((why, how != Named::Plainly));
            }
            if self.why.len() == UNSEEN_MAX {
                return;
            }
        }
    }
}

/// Whether it is worth a sentence: commands have files of their own in private folders, and look there
/// for what need not be there.
fn is_said(why: &OutOfSight, how: Named, around: Around) -> bool {
    match (why, how) {
        (OutOfSight::Private(_) | OutOfSight::Device, how) => {
            matches!(how, Named::Missed | Named::Silently) && !around.is_explained
        }
        (OutOfSight::Home, Named::InVain) => around.only_reads,
        (OutOfSight::Home, Named::Plainly) => around.only_reads && around.throws_away,
        (OutOfSight::Covered(_), _) => !around.is_refused,
        (OutOfSight::Home | OutOfSight::Secret(_) | OutOfSight::Hidden(_), _) => true,
    }
}

/// Whether the folder that the workspace lies in is out of sight.
fn is_alone(context: &ToolContext) -> bool {
    let above = context.workspace.root().parent();
    above.is_some_and(|above| context.sandbox.out_of_sight(above).is_some())
}

/// Returns the paths that are named where something is said not to be there, with the line that says so: what
/// may lead out by itself, and names of files, which may lie where the command runs.
fn missed(printed: &str) -> Vec<(&str, &str)> {
    let says = |line: &str, words: &[&str]| {
        let line = line.to_lowercase();
        words.iter().any(|words| line.contains(words))
    };
    let lines = printed.lines().filter(|line| says(line, &MISSING)).take(LINES_MAX);
    let paths = |line| {
        let is_named = move |name: &str| says(line, &NO_FILE) && is_missed(name, line);
        let words = words(line).filter(move |word| leads_out(word) || is_named(word));
        let quoted = quoted(line).filter(move |name| name.contains(' ') && is_named(name));
        words.chain(quoted).map(move |name| (line, name))
    };
    lines.flat_map(paths).collect()
}

/// Whether a line says of what it calls by this name that there is no such file.
fn is_missed(name: &str, line: &str) -> bool {
    let is_code = MISSING.contains(&name.to_lowercase().as_str());
    let mark = format!("{name}: ");
    let mut marks = line.match_indices(&mark);
    let is_said = |(at, mark): (usize, &str)| {
        let [before, behind] =
            [line.get(..at), line.get(at + mark.len()..)].map(Option::unwrap_or_default);
        let behind = behind.to_lowercase();
        (before.is_empty() || before.ends_with(' '))
            && NO_FILE.iter().any(|words| behind.starts_with(words))
    };
    is_quoted(line, name) || !is_code && quoted(line).next().is_none() && marks.any(is_said)
}

/// Returns the paths that a command names and does not only write; of one that runs `elsewhere`, relative ones, too.
fn named(command: &SimpleCommand, elsewhere: bool) -> Vec<String> {
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
    let is_path = |word: &String| leads_out(word) || elsewhere && !word.starts_with('-');
    let home = (program == CHANGES_FOLDER && arguments.is_empty()).then(|| "~".to_owned());
    let words = words.map(known).filter(|word| !word.is_empty() && is_path(word));
    words.chain(home).collect()
}

/// Whether a command only looks whether what it names is there.
fn is_look(command: &SimpleCommand) -> bool {
    let program = command.program().unwrap_or_default();
    let is_of_itself = |word: &Word| {
        let option = word.literal().and_then(|text| text.strip_prefix('-'));
        option.is_some_and(|letters| {
            letters == "-directory" || !letters.starts_with('-') && letters.contains('d')
        })
    };
    LOOKS.contains(&program) || program == "ls" && command.arguments().iter().any(is_of_itself)
}

/// Whether each command of a script that ended well did so.
fn all_succeeded(script: &str) -> bool {
    let rest = script.trim().replace(AND, "");
    !BRANCHES.iter().any(|sign| rest.contains(sign)) && !rest.contains('&')
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

fn is_relative(path: &str) -> bool {
    !path.starts_with(['/', '~'])
}

/// Whether a word is a path that may lead out of the workspace.
fn leads_out(word: &str) -> bool {
    word.starts_with(['/', '~']) || word.starts_with("../") || word == ".."
}

#[cfg(test)]
mod tests {
    use tenon_sandbox::{Exit, Output};

    use super::*;
    use crate::tools::testing::Bench;

    #[test]
    fn what_a_command_looks_for_is_found_in_its_script() {
        let check = |script: &str, expected: &[&str]| {
            let found: Vec<_> =
                shell::parse(script).commands.iter().flat_map(|it| named(it, false)).collect();
            assert_eq!(found, expected, "{script}");
        };
        check("cat /home/other/x ~/y ../z > /tmp/out", &["/home/other/x", "~/y", "../z"]);
        check("test -e \"$HOME/a b\" && ls ~", &["~/a b", "~"]);
        check("bash -c 'wc -l < /etc/shadow' | grep -c /root", &["/etc/shadow"]);
        check("sed -n '/root/p' /etc/passwd; echo /root; git log /x", &["/etc/passwd"]);
        check("ls /home/*/x \"/mnt/$disk/x\"", &["/home/*/x", "/mnt/"]);
        check("make -C sub ./..a a/b", &[]);
        check("cd && ls", &["~"]);
    }

    #[test]
    fn a_path_is_one_from_the_folder_that_the_command_runs_in() {
        let bench = Bench::new();
        let check = |script: &str, text: &str, expected: &[&str]| {
            let commands = shell::parse(script).commands;
            let output = Output::new(Exit::Code(1));
            let said = Said::of((script, &commands), &output, (text, true), &bench.context);
            let looked =
                Looked { said: &said, around: Around::default(), refused: &[], why: Vec::new() };
            let root = bench.root().to_string_lossy().into_owned();
            let named = commands.iter().flat_map(|command| looked.named(command));
            let found: Vec<String> = named.chain(looked.missed(text)).collect();
            let shown: Vec<String> =
                found.iter().map(|path| path.replacen(&root, ".", 1)).collect();
            assert_eq!(shown, expected, "{script}");
        };
        let missing = "cat: ../x: No such file or directory";
        check("cd sub && cat ../x", missing, &["./x", "./x"]);
        check("cd /etc && cat ../x y", missing, &["/etc", "/x", "/etc/y", "/x"]);
        check("cd \"$d\" && cat ../x", missing, &[]);
        let missing = "cat: 'a b': No such file or directory";
        check("cd /etc && cat 'a b'", missing, &["/etc", "/etc/a b", "/etc/a b"]);
        check("cat 'a b'; cd /etc && ls", missing, &["/etc", "./a b"]);
        check("make -C /etc", missing, &["/etc"]);
        check("make -C sub", missing, &[]);
        check("python3 -c 'import os; os.chdir(\"sub\"); open(\"../x\")'", missing, &[]);
    }

    #[test]
    fn a_look_in_a_row_of_commands_that_ended_well_found_something() {
        for (script, expected) in [
            ("[ -d /root ]", true),
            ("test -e /root/x && echo yes", true),
            ("test -e /root/x || echo no", false),
            ("test -e /root/x; echo no", false),
            ("! test -e /root/x", false),
            ("test -e /root/x & wait", false),
            ("echo $(test -e /root/x)", false),
        ] {
            assert_eq!(all_succeeded(script), expected, "{script}");
        }
        let is_look = |script: &str| is_look(&shell::parse(script).commands[0]);
        assert!(is_look("[ -d /root ]") && is_look("ls -ld /root") && is_look("stat /root"));
        assert!(!is_look("ls -l /root") && !is_look("cat /root/x"));
    }

    #[test]
    fn what_is_not_there_is_found_in_what_is_printed() {
        for (line, expected) in [
            ("cat: /home/other/x: No such file or directory", &["/home/other/x"][..]),
            ("ls: cannot access '../x y': No such file or directory", &["../x", "../x y"]),
            ("FileNotFoundError: [Errno 2] No such file or directory: '/mnt/d'", &["/mnt/d"]),
            ("Error: ENOENT: no such file or directory, open '/root/a'", &["/root/a"]),
            ("fatal: repository '/home/u/r' does not exist", &["/home/u/r"]),
            ("fatal: '../bare.git' does not appear to be a git repository", &["../bare.git"]),
            (
                "error: unable to normalize alternate object path: /home/u/m/.git/objects",
                &["/home/u/m/.git/objects"],
            ),
            ("cat: /root/a: 没有那个文件或目录", &["/root/a"]),
            ("head: cannot open 'notes' for reading: No such file or directory", &["notes"]),
            ("cat: a b/c.txt: No such file or directory", &["b/c.txt"]),
            ("ls: cannot access 'a b': No such file or directory", &["a b"]),
            ("bash: line 1: ./run.sh: No such file or directory", &["./run.sh"]),
            ("sh: 1: foo: not found", &[]),
            ("bash: line 1: foo: command not found", &[]),
            ("Error: Cannot find module 'x'", &[]),
            ("/tmp/build.c:3: error: expected ';'", &[]),
            ("error: test failed", &[]),
        ] {
            let words: Vec<&str> = missed(line).into_iter().map(|(_, word)| word).collect();
            assert_eq!(words, expected, "{line}");
        }
    }

    #[test]
    fn private_folders_are_spoken_of_only_where_something_was_missed() {
        let reads = Around { only_reads: true, ..Around::default() };
        let check = |why: &OutOfSight, around: Around, expected: [bool; 5]| {
            let ways = [
                Named::Missed,
                Named::MissedInPassing,
                Named::Silently,
                Named::InVain,
                Named::Plainly,
            ];
            assert_eq!(ways.map(|how| is_said(why, how, around)), expected, "{why:?} {around:?}");
        };
        let covered = OutOfSight::Covered("/mnt".into());
        check(&covered, reads, [true; 5]);
        check(&covered, Around { is_refused: true, ..reads }, [false; 5]);
        check(&OutOfSight::Home, reads, [true, true, true, true, false]);
        check(&OutOfSight::Home, Around { throws_away: true, ..reads }, [true; 5]);
        let private = OutOfSight::Private("/tmp".into());
        check(&private, reads, [true, false, true, false, false]);
        check(&private, Around { is_explained: true, ..reads }, [false; 5]);
        check(&OutOfSight::Secret("/etc/shadow".into()), Around::default(), [true; 5]);
        assert!(!is_said(&OutOfSight::Home, Named::InVain, Around::default()));
    }
}
