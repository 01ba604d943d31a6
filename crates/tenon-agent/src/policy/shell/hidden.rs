//! Commands that stand in words which are data for other programs: callbacks, subscripts
//! that arithmetic evaluates, what a shell is given to read, options of git.
//!
//! Where bash or git would run a text, it is read like any other script; where the text cannot be
//! known, that is said.

use super::arguments::{self, Launched, script, valued};
use super::folders::Folders;
use super::made::Made;
use super::runners;
use super::settings;
use super::word::{Piece, Word};
use super::{Redirect, RedirectKind, SimpleCommand};
use crate::policy::quoted;

/// Programs whose output is a text that nobody can see in the command line.
pub(super) const CHANGERS: &[&str] = &[
    "awk", "basename", "cut", "date", "dirname", "echo", "expr", "fold", "gawk", "jq", "mawk",
    "numfmt", "paste", "perl", "printf", "python", "python3", "rev", "ruby", "sed", "shuf", "stat",
    "tac", "tr",
];

/// Programs that print names, or a text by a pattern that they are given, as they find them when they run.
const NAMERS: &[&str] = &[
    "compgen", "dir", "fd", "fdfind", "find", "getconf", "hash", "history", "id", "locate", "ls",
    "plocate", "printenv", "ps", "readlink", "realpath", "seq", "tree", "tty", "type", "vdir",
    "whence", "where", "whereis", "which", "who", "whoami", "yes",
];

/// Subcommands of git that do.
const NAMERS_OF_GIT: &[&str] = &[
    "branch",
    "config",
    "describe",
    "for-each-ref",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "reflog",
    "remote",
    "rev-list",
    "shortlog",
    "status",
    "tag",
    "var",
];

pub(super) const TWICE: &str = "a text in it is expanded twice, and what that runs is not sure";

/// What has no operand besides its values evaluates all of them.
const EVALUATING: &[&str] = &[
    "declare", "export", "getopts", "let", "local", "read", "readonly", "set", "typeset", "unset",
    "wait",
];

/// Builtins that make an array of a text in parentheses.
const DECLARATIONS: &[&str] = &["declare", "export", "local", "readonly", "typeset"];

/// Returns whether a shell with these options would put aliases that `text` defines in the place of
/// words, which one that is not interactive does not do by itself.
pub(super) fn has_aliases(options: &[Word], text: &Word) -> bool {
    let expands = |word: &Word| {
        let option = word.prefix();
        option == "expand_aliases"
            || option.starts_with('-') && !option.starts_with("--") && option.contains('i')
    };
    options.iter().any(expands) && text.prefix().contains("alias")
}

/// `mapfile -C command` calls it for the lines that it reads, `compgen -C command` for the words
/// that it makes; `compgen -W` expands words.
pub(super) fn callback(arguments: &[Word]) -> Vec<Launched> {
    let called = valued(arguments, &["-C"]).map_or_else(Vec::new, |word| script(word, true));
    let words = valued(arguments, &["-W"]);
    called.into_iter().chain(words.as_ref().and_then(expanded)).collect()
}

/// What bash runs because it stands in a variable: in one of its own before each prompt or in one, in
/// any other where arithmetic takes its text for a subscript.
pub(super) fn of_variables(command: &SimpleCommand) -> Vec<Launched> {
    let assigned = command.assignments.iter().flat_map(|(name, value)| match name.as_str() {
        "PROMPT_COMMAND" => script(value.clone(), true),
        name if is_startup(name) && (arguments::is_output(value) || is_descriptor(value)) => {
            vec![Launched::Unknown]
        }
        name if is_prompt(name) || is_startup(name) => expanded(value).into_iter().collect(),
        // A function that the next shell takes over.
        _ if name.starts_with("BASH_FUNC_") => {
            let text = format!("_ {}", value.source());
            vec![Launched::Script { text, same_shell: false, made: value.made_unknown() }]
        }
        _ => substitutions(value).into_iter().collect(),
    });
    let assigned = assigned.chain(command.assignments.iter().flat_map(of_options));
    assigned.chain(settings::of_variables(command)).collect()
}

/// Returns what a program runs by options in a variable, or by code in it.
fn of_options((name, value): &(String, Word)) -> Vec<Launched> {
    match (name.as_str(), value.literal()) {
        ("PERL5DB" | "TAR_OPTIONS", Some("")) => Vec::new(),
        ("PERL5DB", _) => vec![Launched::Unknown],
        ("TAR_OPTIONS", Some(text)) => {
            // Behind a backslash a blank stands within an option.
            let escaped = text.contains('\\').then(|| text.replace('\\', ""));
            let words = text.split_whitespace().map(str::to_owned).chain(escaped);
            runners::launched("tar", &words.map(Word::text).collect::<Vec<_>>())
        }
        ("TAR_OPTIONS", None) => {
            vec![Launched::Perhaps { text: value.clone(), is_given: true }]
        }
        _ => Vec::new(),
    }
}

/// Says whether bash runs what stands in a variable when it prints a prompt, or a command (`set -x`).
pub(super) fn is_prompt(name: &str) -> bool {
    matches!(name, "PROMPT_COMMAND" | "PS0" | "PS1" | "PS2" | "PS4")
}

/// Says whether a shell expands what stands in a variable, and runs the file of that name.
pub(super) fn is_startup(name: &str) -> bool {
    matches!(name, "BASH_ENV" | "ENV")
}

/// Variables that options of the shell are in.
const OPTIONS: &[&str] = &["BASHOPTS", "BASH_ALIASES", "POSIXLY_CORRECT", "SHELLOPTS"];

/// Says whether a variable makes shells call what its value says, or what they else would not.
pub(super) fn calls_by_value(name: &str) -> bool {
    is_prompt(name) || is_startup(name) || name.starts_with("BASH_FUNC_") || OPTIONS.contains(&name)
}

/// Substitutions in the subscript of a name, which bash runs although they were quoted, and those in
/// an array that a builtin is given as a text: `declare -a 'a=($(x))'`, `declare -a a='($(x))'`.
pub(super) fn evaluated(name: &str, command: &SimpleCommand) -> Vec<Launched> {
    let arguments = command.arguments();
    let names: Vec<&Word> = match name {
        "printf" if arguments.first().is_some_and(|word| word.prefix().starts_with("-v")) => {
            arguments.iter().collect()
        }
        "test" | "[" => tested(arguments).collect(),
        name if EVALUATING.contains(&name) => arguments.iter().collect(),
        _ => Vec::new(),
    };
    let mut launched: Vec<_> = names.iter().filter_map(|word| substitutions(word)).collect();
    if DECLARATIONS.contains(&name) {
        let given = command.assignments.iter().map(|(name, value)| (name.clone(), value.source()));
        let written = arguments.iter().map(Word::source);
        let split = |text: String| {
            text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        launched.extend(given.chain(written.filter_map(split)).filter_map(array));
    }
    launched
}

/// Returns what `test -v` takes for names.
pub(super) fn tested(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    let behind = arguments.iter().zip(arguments.iter().skip(1));
    let is_option = |word: &Word| matches!(word.literal(), Some("-v" | "-R"));
    behind.filter(move |(option, _)| is_option(option)).map(|(_, name)| name)
}

/// Returns the assignment that makes an array of a text in parentheses, if something runs in it.
fn array((name, value): (String, String)) -> Option<Launched> {
    let is_array = value.starts_with('(') && value.ends_with(')') && may_run(&value);
    let name = name.split(['[', '+']).next().unwrap_or_default();
    let text = format!("{name}={value}");
    let made = Made::default();
    is_array.then_some(Launched::Script { text, same_shell: true, made })
}

/// Returns what bash runs if `text` is or becomes a subscript.
pub(super) fn substitutions(text: &Word) -> Option<Launched> {
    has_subscript(&text.source()).then(|| expanded(text)).flatten()
}

/// Says whether a text has a name with a subscript, or would have one without its quotes.
fn has_subscript(text: &str) -> bool {
    let bare = text.replace(['\\', '"', '\''], "");
    let mut before = bare.match_indices('[').filter_map(|(at, _)| bare.get(..at)?.chars().last());
    // The brace may end what stands for a part that is not known.
    before.any(|sign| sign == '}' || sign == '_' || sign.is_ascii_alphanumeric())
}

/// Returns what bash runs if it expands `text` once more.
pub(super) fn expanded(text: &Word) -> Option<Launched> {
    let text = text.source();
    may_run(&text).then_some(Launched::Text(text))
}

/// Says whether a text has a substitution, or would have one without its quotes.
pub(super) fn may_run(text: &str) -> bool {
    let bare = text.replace(['\\', '"', '\''], "").replace("$((", "");
    bare.contains("$(") || bare.contains('`')
}

/// Returns what `env -S 'words' word` starts, if that is among its options: `env` goes on with the
/// words of the text and those behind it.
pub(super) fn split_string(arguments: &[Word], valued: &[&str]) -> Option<Vec<Launched>> {
    const LONG: &str = "--split-string";
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        let text = word.prefix();
        if !text.starts_with('-') || word.literal() == Some("--") {
            return None;
        }
        rest = after;
        let (name, _) = text.split_once('=').unwrap_or((text, ""));
        let is_long = name.len() > 2 && LONG.starts_with(name);
        let at = match arguments::row_value(word, valued) {
            _ if is_long && name.len() < text.len() => name.len() + 1,
            _ if is_long => name.len(),
            Some(("-S", at)) => at,
            Some((_, at)) if at < text.len() => continue,
            None if !valued.contains(&text) => continue,
            _ => {
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
        };
        let value = word.strip_prefix(text.get(..at)?)?;
        return Some(match value.literal() {
            Some("") => after.split_first().map_or_else(Vec::new, |(text, rest)| split(text, rest)),
            _ => split(&value, after),
        });
    }
    None
}

/// Returns what `env` starts by a text that it makes words of, and by those behind it.
fn split(text: &Word, rest: &[Word]) -> Vec<Launched> {
    let env = Word::text("env");
    if let Some(text) = text.literal() {
        let Some(words) = env_words(text) else { return vec![Launched::Unknown] };
        let words = words.into_iter().map(Word::text);
        let words = [env].into_iter().chain(words).chain(rest.iter().cloned()).collect();
        return vec![Launched::Command(SimpleCommand { words, ..Default::default() })];
    }
    // What of it is known is read as a shell reads it, which has other escapes.
    let has_escapes =
        |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains(['\\', '$']));
    if text.script().is_none() || text.pieces.iter().any(has_escapes) {
        return vec![Launched::Unknown];
    }
    let whole = |word: &Word| word.literal().map_or(word.clone(), |it| Word::text(quoted(it)));
    let words = [env, text.clone()].into_iter().chain(rest.iter().map(whole)).collect::<Vec<_>>();
    script(arguments::join(&words), false)
}

/// Returns the words that `env` of the GNU coreutils makes of a text; `None` if a variable is in it, whose
/// value is that of the environment, or if it takes the text for wrong.
fn env_words(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match (sign, quote) {
            ('\'' | '"', None) => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (sign, Some(open)) if sign == open => quote = None,
            (' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c', None) => words.extend(word.take()),
            ('#', None) if word.is_none() => break,
            ('$', None | Some('"')) => return None,
            ('\\', Some('\'')) => {
                let escaped = signs.next_if(|next| matches!(next, '\\' | '\''));
                word.get_or_insert_default().push(escaped.unwrap_or(sign));
            }
            ('\\', _) => match (signs.next()?, quote) {
                ('_', None) => words.extend(word.take()),
                ('c', None) => break,
                (escaped, _) => word.get_or_insert_default().push(env_escape(escaped)?),
            },
            (sign, _) => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Returns what `env` puts for a backslash and this sign.
fn env_escape(sign: char) -> Option<char> {
    Some(match sign {
        '"' | '#' | '$' | '\'' | '\\' => sign,
        '_' => ' ',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        _ => return None,
    })
}

/// Returns what a shell runs that reads its program from where `command` reads.
pub(super) fn fed(
    command: &SimpleCommand,
    feed: &[SimpleCommand],
    same_shell: bool,
) -> Vec<Launched> {
    let reads = |kind| command.redirects.iter().find(move |one| one.kind == kind);
    if let Some(text) = reads(RedirectKind::Text) {
        return script(text.target.clone(), same_shell);
    }
    let own = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    let is_own = |file: &Word| file.literal().is_some_and(|file| own.contains(&file));
    let hides =
        |file| arguments::is_output(file) || is_descriptor_of(command, file) && !is_own(file);
    if reads(RedirectKind::Read).is_some_and(|one| hides(&one.target)) {
        return vec![Launched::Unknown];
    }
    // `<&$fd`: what is written there is not looked for.
    let is_open =
        |one: &Redirect| one.kind == RedirectKind::Descriptor && one.target.literal().is_none();
    if command.redirects.iter().any(is_open) {
        return vec![Launched::Unknown];
    }
    let texts: Option<Vec<_>> = feed.iter().map(written).collect();
    let changes = |one: &SimpleCommand| {
        names(one) || one.program().is_some_and(|name| CHANGERS.contains(&name))
    };
    match texts {
        Some(texts) if texts.is_empty() => Vec::new(),
        Some(texts) => {
            let (text, made) = (texts.concat(), Made::default());
            vec![Launched::Script { text, same_shell, made }]
        }
        // What passes through others is not read here.
        None if feed.iter().any(|one| changes(one) || one.piped_from.is_some()) => {
            vec![Launched::Unknown]
        }
        None => Vec::new(),
    }
}

/// Says whether a command prints names of files or programs, or what it is told to say of others.
fn names(command: &SimpleCommand) -> bool {
    let has = |options: &[&str]| {
        let is_one = |word: &Word| options.iter().any(|option| word.prefix().starts_with(option));
        command.arguments().iter().any(is_one)
    };
    match command.program() {
        Some("command") => has(&["-v", "-V", "-pv", "-pV"]),
        Some("rg") => has(&["--files", "-l"]),
        Some("grep") => has(&["-l", "-L", "-rl", "--files"]),
        Some("git") => match arguments::git_subcommand(command.arguments()) {
            Some(("cat-file" | "show", _)) => has(&["--format", "--pretty"]),
            subcommand => subcommand.is_some_and(|(name, _)| NAMERS_OF_GIT.contains(&name)),
        },
        name => name.is_some_and(|name| NAMERS.contains(&name)),
    }
}

/// Returns what a command writes, if the command line says it.
pub(super) fn written(command: &SimpleCommand) -> Option<String> {
    let is_cat = command.program() == Some("tee")
        || command.program() == Some("cat")
            && command.arguments().iter().all(|word| word.literal() == Some("-"));
    match command.redirects.iter().find(|one| one.kind == RedirectKind::Text) {
        Some(text) if is_cat => text.target.literal().map(str::to_owned),
        _ => arguments::printed(command),
    }
}

/// Says whether a file is one of the descriptors that the command line fills; which one need not be known.
pub(super) fn is_descriptor(file: &Word) -> bool {
    is_descriptor_path(&file.source())
}

/// Says the same of a file that a command names, which may run in one of several folders.
pub(super) fn is_descriptor_of(command: &SimpleCommand, file: &Word) -> bool {
    let others = command.folders.iter().flat_map(Folders::ways);
    let path = |way: &[Word]| {
        let steps = way.iter().chain([file]).map(Word::source);
        // What is named from the folder that the line begins in stays so.
        steps.fold(".".to_owned(), |path, step| match step.starts_with('/') {
            true => step,
            false => format!("{path}/{step}"),
        })
    };
    let is_there = |way: Option<&[Word]>| way.is_some_and(|way| is_descriptor_path(&path(way)));
    is_descriptor(file) || is_there(command.folder.as_deref()) || others.into_iter().any(is_there)
}

fn is_descriptor_path(source: &str) -> bool {
    if !source.starts_with('/') {
        return false;
    }
    let names = |path: &str| {
        ["/dev/fd/", "/dev/stdin"].iter().any(|folder| path.starts_with(folder))
            || path.starts_with("/proc/") && path.contains("/fd/")
    };
    // A link on the way leads elsewhere than `..` says, so that the way is looked at, too.
    let (mut way, mut path) = (String::new(), String::new());
    for step in source.split('/').filter(|step| !matches!(*step, "" | ".")) {
        match step {
            ".." => path.truncate(path.rfind('/').unwrap_or_default()),
            step => path.extend(["/", step]),
        }
        way.extend(["/", step]);
    }
    names(&way) || names(&path)
}

/// What git runs: by its settings, and commands of subcommands.
pub(super) fn of_git(arguments: &[Word]) -> Vec<Launched> {
    let mut launched = settings::of_git(arguments);
    let Some((subcommand, rest)) = arguments::git_subcommand(arguments) else { return launched };
    let command = |line: &[Word]| match line {
        [] => Vec::new(),
        line => {
            vec![Launched::Command(SimpleCommand { words: line.to_vec(), ..Default::default() })]
        }
    };
    let option =
        |options: &[&str]| valued(rest, options).map_or_else(Vec::new, |word| script(word, false));
    let is = |word: &Word, text: &str| word.literal() == Some(text);
    launched.extend(match (subcommand, rest) {
        ("rebase", _) => option(&["-x", "--exec"]),
        ("difftool", _) => option(&["-x", "--extcmd"]),
        ("bisect", [run, line @ ..]) if is(run, "run") => command(line),
        ("for-each-repo", line) => {
            let line = arguments::skip_options(line, &["--config"]);
            if line.is_empty() {
                Vec::new()
            } else {
                command(&[&[Word::text("git")], line].concat())
            }
        }
        ("submodule" | "submodule--helper", [each, line @ ..]) if is(each, "foreach") => {
            script(arguments::join(arguments::skip_options(line, &[])), false)
        }
        (subcommand, rest) => runners::of_git(subcommand, rest),
    });
    launched
}
