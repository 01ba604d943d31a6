//! Settings by which programs run others: those of git, given by `-c`, `git config` or variables, and
//! variables such as `PAGER` and `EDITOR`.
//!
//! What stands in one is read like a command of the line, as if whoever reads the setting ran at once.

use super::SimpleCommand;
use super::arguments::{Launched, git_subcommand, script, skip_options, valued};
use super::word::Word;

/// Options of `git config` that have a value.
pub(super) const CONFIG_VALUED: &[&str] =
    &["-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "-t"];

/// Settings of git whose value is run, by section and name; `*` for any section within.
const OF_GIT: &[(&str, &str)] = &[
    ("browser", "cmd"),
    ("core", "alternaterefscommand"),
    ("core", "askpass"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("credential", "helper"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("difftool", "cmd"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("gpg", "defaultkeycommand"),
    ("gpg", "program"),
    ("guitool", "cmd"),
    ("hook", "command"),
    ("imap", "tunnel"),
    ("interactive", "difffilter"),
    ("man", "cmd"),
    ("merge", "driver"),
    ("mergetool", "cmd"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("sendemail", "cccmd"),
    ("sendemail", "headercmd"),
    ("sendemail", "sendmailcmd"),
    ("sendemail", "tocmd"),
    ("sequence", "editor"),
    ("submodule", "update"),
    ("tar", "command"),
    ("trailer", "cmd"),
    ("trailer", "command"),
    ("uploadpack", "packobjectshook"),
];

/// Variables whose value programs run.
const VARIABLES: &[&str] = &[
    "AWS_PAGER",
    "AR",
    "BAT_PAGER",
    "BROWSER",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTDOC",
    "CC",
    "CXX",
    "DELTA_PAGER",
    "EDITOR",
    "FCEDIT",
    "FZF_DEFAULT_COMMAND",
    "GH_BROWSER",
    "GH_EDITOR",
    "GH_PAGER",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "HGEDITOR",
    "KUBE_EDITOR",
    "LD",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "PSQL_EDITOR",
    "PSQL_PAGER",
    "RSYNC_CONNECT_PROG",
    "RSYNC_RSH",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "SVN_EDITOR",
    "SVN_SSH",
    "SYSTEMD_EDITOR",
    "SYSTEMD_PAGER",
    "VISUAL",
    "npm_config_script_shell",
];

/// Values that run nothing, or nothing that does anything.
const HARMLESS: &[&str] = &[
    "", "0", "1", ":", "always", "auto", "cat", "checkout", "false", "merge", "never", "no",
    "none", "off", "on", "rebase", "true", "yes",
];

/// Programs that take a setting of git's as an argument of this option, behind their subcommand.
const CLONE_OPTIONS: &[&str] = &["-c", "--config"];

/// Returns what is run because of the value of a setting; nothing where it is harmless.
fn run(value: &Word) -> Option<Launched> {
    let is_harmless = value.literal().is_some_and(|text| HARMLESS.contains(&text.trim()));
    if is_harmless { None } else { Some(of_text(value, false)) }
}

/// Returns what a text starts that another program runs. One that begins with what is not known is
/// no question by itself; `is_given` says that it is given for this one command.
pub(super) fn of_text(text: &Word, is_given: bool) -> Launched {
    let perhaps = || Launched::Perhaps { text: text.clone(), is_given };
    let known = script(text.clone(), false).pop();
    let known = known.filter(|one| !matches!(one, Launched::Unknown));
    Launched::Aside(Box::new(known.unwrap_or_else(perhaps)))
}

fn is_alias(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with("alias.")
}

/// Returns what git runs for an alias.
fn of_alias(value: &Word) -> Vec<Launched> {
    match value.strip_prefix("!").filter(|_| value.prefix().starts_with('!')) {
        Some(command) => script(command, false),
        None => script(Word::text("git ").joined(value), false),
    }
}

/// Returns what git runs because a setting has this value.
fn of_setting(key: &str, value: &Word) -> Vec<Launched> {
    let key = key.to_ascii_lowercase();
    if is_alias(&key) {
        return of_alias(value);
    }
    let (Some((section, _)), Some((_, name))) = (key.split_once('.'), key.rsplit_once('.')) else {
        return Vec::new();
    };
    if section != "pager" && !OF_GIT.contains(&(section, name)) {
        return Vec::new();
    }
    let value = match (section, value.prefix()) {
        // Else it is the name of a helper of git's own, or of what is done.
        ("credential" | "submodule", text) if !text.starts_with(['!', '/']) => return Vec::new(),
        ("credential" | "submodule", _) => value.strip_prefix("!").unwrap_or(value.clone()),
        _ => value.clone(),
    };
    run(&value).into_iter().collect()
}

/// Returns what `key=value` makes git run.
fn of_pair(pair: &Word) -> Vec<Launched> {
    let Some((key, _)) = pair.prefix().split_once('=') else { return Vec::new() };
    let value = pair.strip_prefix(&format!("{key}="));
    value.map_or_else(Vec::new, |value| of_setting(key, &value))
}

/// Returns what git runs by the settings that it is given as arguments.
pub(super) fn of_git(arguments: &[Word]) -> Vec<Launched> {
    let is_pair = |word: &&Word| word.prefix().contains('=') && is_alias(word.prefix());
    let mut launched: Vec<_> = arguments.iter().filter(is_pair).flat_map(of_pair).collect();
    let rest = git_subcommand(arguments);
    let behind = rest.map_or(0, |(_, rest)| rest.len());
    let own = arguments.get(..arguments.len().saturating_sub(behind)).unwrap_or_default();
    let pairs = |words: &[Word], options: &[&str]| {
        let attached = words.iter().filter_map(|word| word.strip_prefix("--config="));
        let next = words.iter().zip(words.iter().skip(1));
        let next = next.filter(|(word, _)| word.literal().is_some_and(|it| options.contains(&it)));
        next.map(|(_, pair)| pair.clone()).chain(attached).collect::<Vec<_>>()
    };
    let mut given = pairs(own, &["-c"]);
    if let Some(("clone", rest)) = rest {
        given.extend(pairs(rest, CLONE_OPTIONS));
    }
    let given = given.iter().filter(|pair| !is_alias(pair.prefix()));
    launched.extend(given.flat_map(of_pair));
    let by_variable = |word: &Word| {
        let text = word.prefix();
        let (key, _) = text.strip_prefix("--config-env=").unwrap_or(text).split_once('=')?;
        (!of_setting(key, &Word::text("!x")).is_empty()).then_some(())
    };
    if valued(arguments, &["--config-env"]).is_some()
        && arguments.iter().any(|word| by_variable(word).is_some())
    {
        launched.push(Launched::Unknown);
    }
    if let Some(("config", rest)) = rest {
        launched.extend(of_config(rest));
    }
    launched
}

/// Returns what `git config` lets git run later.
fn of_config(arguments: &[Word]) -> Vec<Launched> {
    let tells = |word: &Word| {
        ["--get", "--unset", "--list", "-l", "--remove"]
            .iter()
            .any(|option| word.prefix().starts_with(option))
    };
    let rest = skip_options(arguments, CONFIG_VALUED);
    let verb = rest.first().and_then(Word::literal);
    if arguments.iter().any(tells) || matches!(verb, Some("get" | "list" | "unset")) {
        return Vec::new();
    }
    let behind = arguments.iter().zip(arguments.iter().skip(1));
    behind.flat_map(|(key, value)| of_setting(key.prefix(), value)).collect()
}

/// Says whether a variable names a file of settings to git.
pub(super) fn is_file(name: &str) -> bool {
    matches!(name, "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM")
}

/// Returns the files whose settings git is told to take in: `-c include.path=file`, `git config include.path file`.
pub(super) fn included(arguments: &[Word]) -> Vec<Word> {
    let is_key = |text: &str| {
        let text = text.to_ascii_lowercase();
        text.starts_with("include") && text.ends_with(".path")
    };
    let next = arguments.iter().zip(arguments.iter().skip(1));
    let next =
        next.filter(|(key, _)| key.literal().is_some_and(is_key)).map(|(_, file)| file.clone());
    let attached = arguments.iter().filter_map(|word| {
        let (key, _) = word.prefix().split_once('=')?;
        is_key(key.trim_start_matches("--config="))
            .then(|| word.strip_prefix(&format!("{key}=")))?
    });
    next.chain(attached).collect()
}

/// Returns what git runs by the settings in a file of this text.
pub(super) fn of_file(text: &str) -> Vec<Launched> {
    let mut section = "";
    let mut launched = Vec::new();
    let text = text.replace("\\\n", "");
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let ends_name = |sign: char| sign.is_whitespace() || "\".]".contains(sign);
            section = header.split(ends_name).next().unwrap_or_default();
            let end = if header.contains('"') { "\"]" } else { "]" };
            line = header.split_once(end).map_or("", |(_, rest)| rest.trim());
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        // What is quoted in it is the value's, without its quotes.
        let value = value.trim().replace("\\\"", "\0").replace('"', "").replace('\0', "\"");
        launched.extend(of_setting(&format!("{section}.{}", key.trim()), &Word::text(value)));
    }
    launched
}

/// Returns what git runs by settings in variables: `GIT_CONFIG_KEY_0=… GIT_CONFIG_VALUE_0=…`.
fn of_git_variables(command: &SimpleCommand) -> Vec<Launched> {
    let named = |start: &'static str| {
        let is = move |(name, _): &&(String, Word)| name.starts_with(start);
        command.assignments.iter().filter(is)
    };
    let mentions = |value: &Word| {
        let text = value.source();
        let mut words = text.split(|sign: char| sign.is_whitespace() || "'\"=".contains(sign));
        words.any(|key| !of_setting(key, &Word::text("!x")).is_empty())
    };
    if named("GIT_CONFIG_PARAMETERS").any(|(_, value)| mentions(value)) {
        return vec![Launched::Unknown];
    }
    let keys: Vec<_> = named("GIT_CONFIG_KEY_").collect();
    let of_value = |(name, value): &(String, Word)| {
        let number = name.strip_prefix("GIT_CONFIG_VALUE_").unwrap_or_default();
        let key = keys.iter().find(|(key, _)| key.strip_prefix("GIT_CONFIG_KEY_") == Some(number));
        match key.map(|(_, key)| key.literal()) {
            Some(Some(key)) => of_setting(key, value),
            _ if keys.iter().all(|(_, key)| key.literal().is_some()) && !keys.is_empty() => {
                Vec::new()
            }
            _ => of_alias(value),
        }
    };
    if keys.is_empty() {
        Vec::new()
    } else {
        named("GIT_CONFIG_VALUE_").flat_map(of_value).collect()
    }
}

/// Returns what go runs by options in a variable: `GOFLAGS='-exec=program'`.
fn of_go_flags(flags: &Word) -> Vec<Launched> {
    let text = flags.source();
    let flags = text.split_whitespace().filter_map(|flag| {
        let (name, program) = flag.trim_start_matches(['-', '\'', '"']).split_once('=')?;
        matches!(name, "exec" | "toolexec" | "vettool").then_some(program)
    });
    flags.filter_map(|program| run(&Word::text(program.trim_end_matches(['\'', '"'])))).collect()
}

/// Returns what is run because it stands in a variable that a command sets.
pub(super) fn of_variables(command: &SimpleCommand) -> Vec<Launched> {
    let runs = |name: &str| {
        VARIABLES.contains(&name)
            || name.starts_with("CARGO_TARGET_") && name.ends_with("_LINKER")
            || name.starts_with("CARGO_") && name.ends_with("_RUNNER")
    };
    let of_one = |(name, value): &(String, Word)| {
        // `|program %s` is how less is told that it reads what the program prints.
        let text = value.prefix().trim_start_matches(['|', '-']);
        let marks = value.prefix().len() - text.len();
        let marks = value.prefix().get(..marks).unwrap_or_default().to_owned();
        runs(name).then(|| run(&value.strip_prefix(&marks).unwrap_or(value.clone()))).flatten()
    };
    let of_go = command.assignments.iter().filter(|(name, _)| name == "GOFLAGS");
    let launched = command.assignments.iter().filter_map(of_one);
    let launched = launched.chain(of_go.flat_map(|(_, value)| of_go_flags(value)));
    launched.chain(of_git_variables(command)).collect()
}
