//! Programs that start other programs, and what they would start.
//!
//! Those that take options and then a command line stand in a table; the rest (`find -exec`,
//! `xargs`, `sh -c`, `eval`) each by hand. What is started is judged like anything else.

use super::arguments::{Launched, is_output, join, row_value, script, skip_options, valued};
use super::crontab::of_table;
use super::folders::Folders;
use super::given::aside;
use super::hidden;
use super::launchers::{Launcher, launcher};
use super::made::{self, Holds, Made};
use super::runners;
use super::shells::{self, SHELLS};
use super::told;
use super::word::{self, Extent, Piece, Word};
use super::{Redirect, RedirectKind, SimpleCommand};

/// These start commands with words that they read.
pub(super) const READERS: &[&str] = &["parallel", "xargs"];

/// Leaves out the `--` that ends a builtin's options.
fn without_end_of_options(arguments: &[Word]) -> &[Word] {
    match arguments.split_first() {
        Some((first, rest)) if first.literal() == Some("--") => rest,
        _ => arguments,
    }
}

/// Returns what `command` would start; `feed` are the commands whose output it reads.
pub(super) fn launched(
    command: &SimpleCommand,
    feed: &[SimpleCommand],
    read: &Made,
) -> Vec<Launched> {
    if let Some(words) = without_inherited(&command.words) {
        return vec![Launched::Command(SimpleCommand { words, ..Default::default() })];
    }
    let mut launched = hidden::of_variables(command);
    if command.words.first().is_some_and(shells::is_open_program) {
        launched.extend(shells::of_open_program(command));
    }
    if let Some(name) = command.program() {
        launched.extend(by_name(name, command, feed, read));
        launched.extend(runners::launched(name, command.arguments()));
        launched.extend(told::launched(name, command, feed));
    }
    launched
}

fn by_name(
    name: &str,
    command: &SimpleCommand,
    feed: &[SimpleCommand],
    read: &Made,
) -> Vec<Launched> {
    let arguments = command.arguments();
    match name {
        "eval" => script(join(without_end_of_options(arguments)), true),
        "trap" => trap(without_end_of_options(arguments)),
        "find" => find(arguments),
        "git" => hidden::of_git(arguments),
        "mapfile" | "readarray" | "compgen" | "complete" => hidden::callback(arguments),
        "parallel" => parallel(arguments, read),
        "script" => {
            let behind = arguments.iter().position(takes_command);
            let behind = behind.and_then(|at| arguments.get(at + 1).cloned());
            let text = behind.or_else(|| valued(arguments, &["--command"]));
            text.map_or_else(Vec::new, |text| script(text, false))
        }
        "source" | "." => match shells::sourced(command).first() {
            Some(file) if file.literal() == Some("/dev/stdin") => hidden::fed(command, feed, true),
            Some(file) if is_output(file) || hidden::is_descriptor_of(command, file) => {
                vec![Launched::Unknown]
            }
            _ => Vec::new(),
        },
        "at" | "batch" => hidden::fed(command, feed, false).into_iter().map(aside).collect(),
        "crontab" => {
            hidden::fed(command, feed, false).into_iter().map(of_table).map(aside).collect()
        }
        "xargs" => xargs(arguments, feed, read),
        "su" | "runuser" => match valued(arguments, &["-c", "--command"]) {
            Some(word) => script(word, false),
            None if name == "su" => Vec::new(),
            None => by_table(name, command),
        },
        shell if SHELLS.contains(&shell) => shells::launched(shell, command, feed),
        "command"
            if arguments
                .first()
                .is_some_and(|word| matches!(word.literal(), Some("-v" | "-V"))) =>
        {
            Vec::new()
        }
        "history" if arguments.first().is_some_and(|word| word.literal() == Some("-s")) => {
            script(join(arguments.get(1..).unwrap_or_default()), true)
        }
        "jobs" if !arguments.iter().any(|word| word.literal() == Some("-x")) => Vec::new(),
        "watch" => {
            let valued = launcher(name).map_or(&[][..], |watch| watch.valued);
            script(join(skip_options(arguments, valued)), false)
        }
        _ => {
            let mut launched = by_table(name, command);
            launched.extend(hidden::evaluated(name, command));
            launched
        }
    }
}

fn trap(arguments: &[Word]) -> Vec<Launched> {
    let is_option = |word: &Word| word.prefix().starts_with('-');
    let Some((word, signals)) = arguments.split_first().filter(|(word, _)| !is_option(word)) else {
        return Vec::new();
    };
    let is_exit =
        |signal: &str| signal == "0" || ["EXIT", "SIGEXIT"].contains(&&*signal.to_uppercase());
    let at_exit = signals.iter().all(|signal| signal.literal().is_some_and(is_exit));
    let made = word.made_unknown();
    let trap = |text| vec![Launched::Trap { text, made, at_exit }];
    word.script().map_or_else(|| vec![Launched::Unknown], trap)
}

/// Says whether a shell puts what aliases stand for in the place of words without being told to by
/// its script: bash does not.
pub(super) fn expands_aliases(command: &SimpleCommand) -> bool {
    let is_posix = |word: &Word| matches!(word.literal(), Some("posix" | "--posix"));
    match command.program() {
        Some("bash" | "rbash" | "fish") => command.arguments().iter().any(is_posix),
        Some(name) => SHELLS.contains(&name),
        None => false,
    }
}

fn by_table(name: &str, command: &SimpleCommand) -> Vec<Launched> {
    launcher(name).map_or_else(Vec::new, |launcher| through(launcher, command))
}

/// Returns the command as it is if the variables in its name are not set: `$SUDO rm` and `r${x}m`
/// are then `rm`. `None` if there are none.
fn without_inherited(words: &[Word]) -> Option<Vec<Word>> {
    let (first, rest) = words.split_first()?;
    let name = first.without_inherited()?;
    let name = (!name.pieces.is_empty()).then_some(name);
    let words: Vec<_> = name.into_iter().chain(rest.iter().cloned()).collect();
    (!words.is_empty()).then_some(words)
}

/// Returns the command as it is if its patterns match nothing and are left out; `None` if it has none.
pub(super) fn without_patterns(command: &SimpleCommand) -> Option<Launched> {
    let is_pattern = |word: &&Word| word.pieces.iter().any(|one| matches!(one, Piece::Glob(_)));
    let words: Vec<_> = command.words.iter().filter(|word| !is_pattern(word)).cloned().collect();
    let is_other = !words.is_empty() && words.len() < command.words.len();
    is_other.then(|| Launched::Command(SimpleCommand { words, ..Default::default() }))
}

/// Says whether a program only runs its arguments, so that a rule for those covers it.
pub(crate) fn is_transparent(name: &str) -> bool {
    const PRIVILEGED: &[&str] = &["sudo", "doas", "pkexec", "run0", "chroot", "nsenter", "unshare"];
    (launcher(name).is_some() && !PRIVILEGED.contains(&name))
        || SHELLS.contains(&name)
        || matches!(name, "eval" | "xargs" | "trap")
}

fn through(launcher: &Launcher, command: &SimpleCommand) -> Vec<Launched> {
    let arguments = command.arguments();
    let given = match launcher.name {
        "env" => hidden::split_string(arguments, launcher.valued),
        "flock" => valued(arguments, &["-c", "--command"]).map(|text| script(text, false)),
        _ => None,
    };
    if let Some(launched) = given {
        return launched;
    }
    let mut rest = skip_options(arguments, launcher.valued);
    // It may be told for which architecture before the command.
    if launcher.name == "setarch" && rest.first().is_some_and(is_architecture) {
        rest = skip_options(rest.get(1..).unwrap_or_default(), launcher.valued);
    }
    let options = arguments.get(..arguments.len() - rest.len()).unwrap_or_default();
    rest = rest.get(launcher.operands..).unwrap_or_default();
    // What it reads is read by what it starts; what it writes was judged with it.
    let reads = |one: &&Redirect| matches!(one.kind, RedirectKind::Text | RedirectKind::Read);
    let (folder, folders) = folder(launcher, options, command).unzip();
    let mut inner = SimpleCommand {
        folder: folder.flatten(),
        folders,
        redirects: command.redirects.iter().filter(reads).cloned().collect(),
        ..Default::default()
    };
    if matches!(launcher.name, "env" | "sudo" | "doas") {
        while let Some((word, after)) = rest.split_first() {
            let Some((name, value)) = word.prefix().split_once('=') else { break };
            let stripped = word.strip_prefix(&format!("{name}="));
            inner.assignments.push((name.to_owned(), stripped.unwrap_or(Word::text(value))));
            rest = after;
        }
    }
    if rest.is_empty() {
        return Vec::new();
    }
    inner.words = rest.to_vec();
    vec![Launched::Command(inner)]
}

fn is_architecture(word: &Word) -> bool {
    let starts =
        ["x86", "i386", "i486", "i586", "i686", "linux", "arm", "aarch", "ppc", "s390", "uname26"];
    starts.iter().any(|start| word.prefix().starts_with(start))
}

/// Returns where a launcher goes first, if it goes anywhere.
fn folder(
    launcher: &Launcher,
    arguments: &[Word],
    command: &SimpleCommand,
) -> Option<(Option<Vec<Word>>, Folders)> {
    let options: &[&str] = match launcher.name {
        "env" => &["-C", "--chdir"],
        "sudo" | "run0" => &["-D", "--chdir"],
        _ => return None,
    };
    let target = valued(arguments, options)?;
    let from = command.folders.as_ref()?;
    let mut folder = command.folder.clone();
    if let Some(folder) = &mut folder {
        folder.push(target.clone());
    }
    Some((folder, from.entered(&target)))
}

/// Returns the folders that a `find` walks; `.` if it names none.
pub(crate) fn find_starts(arguments: &[Word]) -> Vec<Word> {
    let starts: Vec<_> = arguments
        .iter()
        .skip_while(|word| matches!(word.literal(), Some("-H" | "-L" | "-P")))
        .take_while(|word| {
            !word.prefix().starts_with('-') && !matches!(word.literal(), Some("(" | "!"))
        })
        .cloned()
        .collect();
    if starts.is_empty() { vec![Word::text(".")] } else { starts }
}

/// Folders of one `find` that are followed, each with a command of its own.
const STARTS_MAX: usize = 64;

fn beneath(start: &Word, pieces: Vec<Piece>) -> Word {
    start.joined(&Word::text("/")).joined(&Word { pieces })
}

/// Returns a name that a file has, of which the line says nothing more.
fn found() -> Vec<Piece> {
    word::made_of(Made::variable(made::FILES))
}

/// Returns the words that `find` may put in the place of `{}` for one of its starts.
fn found_from(start: &Word) -> Vec<Word> {
    let mut words = vec![beneath(start, found())];
    // What is named without a folder is found by that name.
    if !start.prefix().contains('/') && !start.prefix().starts_with('.') {
        words.push(start.clone());
    }
    words
}

/// What makes more of the expression of a `find` than a row of tests that all hold.
const CHOICES: [&str; 7] = ["!", "-not", "-o", "-or", ",", "(", ")"];

/// Returns what `find` may find in a folder by a test for this name, if that is the pattern of one: `*` and `?`
/// stand for any text, also where that begins with a dot.
fn found_by(name: &Word) -> Option<Vec<Piece>> {
    let text = name.literal().filter(|text| !text.contains(['[', '\\', '/']))?;
    let mut pieces = word::holding(found(), Holds::Folders);
    pieces.push(Piece::Text("/".to_owned()));
    for (at, part) in text.split(['*', '?']).enumerate() {
        if at > 0 {
            pieces.extend(word::holding(found(), Holds::Name));
        }
        pieces.push(Piece::Text(part.to_owned()));
    }
    Some(pieces)
}

fn find(arguments: &[Word]) -> Vec<Launched> {
    let mut launched = Vec::new();
    let starts = find_starts(arguments);
    if starts.len() > STARTS_MAX {
        return vec![Launched::Unknown];
    }
    let mut rest = arguments;
    let (mut tested, mut name) = (false, None);
    let is_row = |word: &Word| word.literal().is_some_and(|text| !CHOICES.contains(&text));
    let is_row = arguments.iter().all(is_row);
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        match word.literal() {
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let end = after.iter().position(|word| matches!(word.literal(), Some(";" | "+")));
                let (line, after) = after.split_at(end.unwrap_or(after.len()));
                rest = after;
                for found in starts.iter().flat_map(found_from) {
                    let words = line.iter().map(|word| word.replaced("{}", &found)).collect();
                    launched.push(Launched::Command(SimpleCommand { words, ..Default::default() }));
                }
            }
            Some("-delete") => {
                for start in &starts {
                    let by_name = || name.filter(|_| is_row).and_then(found_by);
                    let found = match tested {
                        true => by_name().unwrap_or_else(found),
                        false => vec![Piece::Glob("*".to_owned())],
                    };
                    let words = vec![Word::text("rm"), Word::text("-r"), beneath(start, found)];
                    launched.push(Launched::Command(SimpleCommand { words, ..Default::default() }));
                }
            }
            Some("-name") => {
                tested = true;
                name = name.or(after.first());
            }
            Some(
                "-iname" | "-path" | "-ipath" | "-wholename" | "-regex" | "-iregex" | "-newer"
                | "-mtime" | "-mmin" | "-atime" | "-ctime" | "-size" | "-empty" | "-user" | "-perm",
            ) => tested = true,
            _ => {}
        }
    }
    launched
}

/// Options of `xargs` that take the next word as their value.
const XARGS_VALUED: &[&str] = &[
    "-I",
    "-n",
    "-P",
    "-L",
    "-d",
    "-a",
    "-s",
    "-E",
    "--max-args",
    "--max-procs",
    "--max-lines",
    "--delimiter",
    "--arg-file",
    "--max-chars",
    "--process-slot-var",
];

/// Returns the word at which the options of `env` and `xargs` may end, or go on.
pub(super) fn behind_options<'a>(name: &str, arguments: &'a [Word]) -> Option<&'a Word> {
    let valued = match name {
        "env" => launcher(name)?.valued,
        "xargs" => XARGS_VALUED,
        _ => return None,
    };
    let rest = skip_options(arguments, valued);
    rest.iter().find(|word| !word.prefix().contains('='))
}

/// Returns what `xargs` puts the words that it reads in the place of, if an option says it.
fn mark(word: &Word, next: Option<&Word>) -> Option<String> {
    let text = word.literal()?;
    if let Some(mark) = text.strip_prefix("--replace") {
        return Some(mark.strip_prefix('=').unwrap_or("{}").to_owned());
    }
    let mark = match row_value(word, XARGS_VALUED) {
        Some(("-I", at)) => text.get(at..)?,
        Some(_) => return None,
        // The value of `-i` stands in the same word.
        None => text.strip_prefix('-').filter(|row| !row.starts_with('-'))?.split_once('i')?.1,
    };
    match (mark, text.ends_with('I')) {
        ("", true) => next?.literal().map(str::to_owned),
        ("", false) => Some("{}".to_owned()),
        (mark, _) => Some(mark.to_owned()),
    }
}

fn xargs(arguments: &[Word], feed: &[SimpleCommand], read: &Made) -> Vec<Launched> {
    let line = skip_options(arguments, XARGS_VALUED);
    if line.is_empty() {
        return Vec::new();
    }
    let names_itself = |one: &SimpleCommand| {
        one.arguments().iter().any(|word| word.prefix().starts_with("-printf"))
    };
    let found = match feed {
        [one] if one.program() == Some("find") && !names_itself(one) => {
            let starts = find_starts(one.arguments());
            if starts.len() > STARTS_MAX {
                return vec![Launched::Unknown];
            }
            starts.iter().flat_map(found_from).collect()
        }
        _ => vec![Word { pieces: word::spread(word::made_of(read.clone()), Extent::Told) }],
    };
    let options = arguments.get(..arguments.len() - line.len()).unwrap_or_default();
    let mark =
        options.iter().enumerate().find_map(|(index, word)| mark(word, options.get(index + 1)));
    found
        .iter()
        .map(|found| {
            let mut words: Vec<_> = match &mark {
                Some(mark) => line.iter().map(|word| word.replaced(mark, found)).collect(),
                None => line.to_vec(),
            };
            if mark.is_none() {
                words.push(found.clone());
            }
            Launched::Command(SimpleCommand { words, ..Default::default() })
        })
        .collect()
}

/// `script -c COMMAND`, also in a row as in `-qc`.
fn takes_command(word: &Word) -> bool {
    let text = word.prefix();
    text == "--command" || text.starts_with('-') && !text.starts_with("--") && text.ends_with('c')
}

/// `parallel COMMAND ::: ARGUMENT…`, which gives each line to a shell.
fn parallel(arguments: &[Word], read: &Made) -> Vec<Launched> {
    const VALUED: &[&str] = &["-j", "--jobs", "-n", "-N", "--max-args", "-a", "-S", "--timeout"];
    let is_mark = |word: &Word| word.prefix().starts_with(":::");
    let rest = skip_options(arguments, VALUED);
    let mark = rest.iter().position(is_mark).unwrap_or(rest.len());
    let (line, values) = rest.split_at(mark);
    let mut values: Vec<_> = values.iter().filter(|word| !is_mark(word)).cloned().collect();
    if values.is_empty() || values.len() > STARTS_MAX {
        values = vec![Word { pieces: word::made_of(read.clone()) }];
    }
    let line = join(line);
    values
        .iter()
        .flat_map(|value| {
            let replaced = line.replaced("{}", value);
            let words =
                if replaced == line { vec![line.clone(), value.clone()] } else { vec![replaced] };
            script(join(words.as_slice()), false)
        })
        .collect()
}
