//! Programs that start others in a way of their own: the command stands behind `--`, behind options
//! with several values, in another language, or is made of several words.

use super::SimpleCommand;
use super::arguments::{Launched, script, skip_options};
use super::given::{behind, line, run, values};
use super::word::Word;

/// Programs, some with a subcommand, that start what stands behind `--`.
const SEPARATED: &[(&str, &str)] = &[
    ("cargo", "watch"),
    ("chruby-exec", ""),
    ("distrobox", "enter"),
    ("distrobox-enter", ""),
    ("gnome-terminal", ""),
    ("guix", "environment"),
    ("guix", "shell"),
    ("guix", "time-machine"),
    ("isolate", ""),
    ("lldb", ""),
    ("mise", "exec"),
    ("mise", "x"),
    ("npm", "explore"),
    ("nsjail", ""),
    ("onchange", ""),
    ("rtx", "exec"),
    ("script", ""),
    ("tox", "exec"),
    ("wait-for-it", ""),
    ("wait-for-it.sh", ""),
];

/// Terminals, which start what stands behind `-e`.
const TERMINALS: &[&str] =
    &["alacritty", "konsole", "rxvt", "st", "urxvt", "uxterm", "x-terminal-emulator", "xterm"];

/// Options of bwrap by how many words follow them; of others none does.
const OF_BWRAP: &[(usize, &[&str])] = &[
    (
        1,
        &[
            "--add-seccomp-fd",
            "--args",
            "--argv0",
            "--block-fd",
            "--cap-add",
            "--cap-drop",
            "--chdir",
            "--dev",
            "--dir",
            "--exec-label",
            "--file-label",
            "--gid",
            "--hostname",
            "--info-fd",
            "--json-status-fd",
            "--lock-file",
            "--mqueue",
            "--overlay-src",
            "--perms",
            "--proc",
            "--remount-ro",
            "--ro-overlay",
            "--seccomp",
            "--size",
            "--sync-fd",
            "--tmp-overlay",
            "--tmpfs",
            "--uid",
            "--unsetenv",
            "--userns",
            "--userns-block-fd",
            "--userns2",
            "--pidns",
        ],
    ),
    (
        2,
        &[
            "--bind",
            "--bind-data",
            "--bind-fd",
            "--bind-try",
            "--chmod",
            "--dev-bind",
            "--dev-bind-try",
            "--file",
            "--ro-bind",
            "--ro-bind-data",
            "--ro-bind-fd",
            "--ro-bind-try",
            "--setenv",
            "--symlink",
        ],
    ),
    (3, &["--overlay"]),
];

/// Commands of Tcl and expect that start a program.
const OF_EXPECT: &[&str] = &["exec", "overlay", "spawn", "system"];

/// Returns what a program starts that is one of these.
pub(super) fn launched(name: &str, arguments: &[Word]) -> Vec<Launched> {
    let mut launched = Vec::new();
    if let Some(subcommand) = name.strip_prefix("git-") {
        let git = [Word::text("git"), Word::text(subcommand)];
        launched.extend(line(&[&git, arguments].concat()));
    }
    let first = arguments.iter().find(|word| word.is_no_option()).and_then(Word::literal);
    let is_it =
        |(program, of): &(&str, &str)| *program == name && (of.is_empty() || first == Some(of));
    if SEPARATED.iter().any(is_it) {
        launched.extend(behind(arguments, &["--"]));
    }
    if TERMINALS.contains(&name) {
        launched.extend(behind(arguments, &["-e"]));
    }
    launched.extend(match name {
        "annotate-output" => line(match skip_options(arguments, &[]) {
            [format, rest @ ..] if format.prefix().starts_with('+') => rest,
            rest => rest,
        }),
        "bun" if first == Some("run") => of_bun(arguments),
        "bwrap" => line(behind_bwrap(arguments)),
        // It gives them to bash.
        "capsh" => of_capsh(arguments),
        "cargo" if first == Some("watch") => {
            values(arguments, &["-s", "--shell"], false).iter().map(run).collect()
        }
        "cmake" => of_cmake(arguments),
        "corepack" if matches!(first, Some("npm" | "npx" | "pnpm" | "yarn")) => line(arguments),
        "expect" => values(arguments, &["-c"], false).iter().flat_map(of_expect).collect(),
        "gdb" => behind(arguments, &["--args"]),
        "just" | "nix" => behind(arguments, &["-c", "--command"]),
        "nvm" if first == Some("exec") => of_nvm(arguments),
        "sg" => of_sg(arguments),
        "start-stop-daemon" => of_daemon(arguments),
        "yarn" => behind(arguments, &["exec", "dlx"]),
        name if is_loader(name) => line(skip_options(
            arguments,
            &[
                "--argv0",
                "--audit",
                "--glibc-hwcaps-mask",
                "--glibc-hwcaps-prepend",
                "--inhibit-rpath",
                "--library-path",
                "--preload",
            ],
        )),
        _ => Vec::new(),
    });
    launched
}

/// The loader runs the program that it is given: `ld.so`, `ld-linux-x86-64.so.2`, `ld-2.31.so`.
fn is_loader(name: &str) -> bool {
    let of_glibc = name.starts_with("ld") && (name.contains(".so.") || name.ends_with(".so"));
    of_glibc || name.starts_with("ld-musl")
}

/// `bun run command argument`. A single word is rather a script of the project.
fn of_bun(arguments: &[Word]) -> Vec<Launched> {
    let at = arguments.iter().position(|word| word.literal() == Some("run"));
    let rest = at.and_then(|at| arguments.get(at + 1..)).unwrap_or_default();
    match skip_options(rest, &["--cwd", "--filter", "-F", "-c", "--config"]) {
        [_] => Vec::new(),
        words => line(words),
    }
}

fn behind_bwrap(arguments: &[Word]) -> &[Word] {
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        if word.literal() == Some("--") {
            return after;
        }
        if word.is_no_option() {
            break;
        }
        let takes = |(_, options): &&(usize, &[&str])| {
            word.literal().is_some_and(|text| options.contains(&text))
        };
        let values = OF_BWRAP.iter().find(takes).map_or(0, |(values, _)| *values);
        rest = after.get(values..).unwrap_or_default();
    }
    rest
}

fn of_capsh(arguments: &[Word]) -> Vec<Launched> {
    let Some(at) = arguments.iter().position(|word| word.literal() == Some("--")) else {
        return Vec::new();
    };
    let rest = arguments.get(at + 1..).unwrap_or_default();
    line(&[&[Word::text("bash")], rest].concat())
}

/// `cmake -E env NAME=value command`, and the like
fn of_cmake(arguments: &[Word]) -> Vec<Launched> {
    let [mode, tool, rest @ ..] = arguments else { return Vec::new() };
    if mode.literal() != Some("-E") {
        return Vec::new();
    }
    match tool.literal() {
        Some("env") => {
            let is_setting = |word: &&Word| word.prefix().contains('=') && word.is_no_option();
            let rest = skip_options(rest, &["--modify"]);
            let settings = rest.iter().take_while(is_setting).count();
            // Options may stand behind settings.
            line(skip_options(rest.get(settings..).unwrap_or_default(), &["--modify"]))
        }
        Some("time") => line(rest),
        Some("chdir") => line(rest.get(1..).unwrap_or_default()),
        _ => Vec::new(),
    }
}

/// `spawn command; exec command`
fn of_expect(text: &Word) -> Vec<Launched> {
    let Some(text) = text.literal() else { return vec![Launched::Unknown] };
    let command = |part: &str| {
        let (name, rest) = part.trim().split_once(char::is_whitespace)?;
        let is_option = |word: &&str| word.starts_with('-');
        let words = rest.split_whitespace().skip_while(is_option).collect::<Vec<_>>().join(" ");
        OF_EXPECT.contains(&name).then(|| run(&Word::text(&words)))
    };
    text.split([';', '\n', '{', '[']).filter_map(command).collect()
}

/// `nvm exec [version] command`
fn of_nvm(arguments: &[Word]) -> Vec<Launched> {
    let rest = skip_options(skip_options(arguments, &[]).get(1..).unwrap_or_default(), &[]);
    let is_version = |word: &Word| {
        let text = word.prefix().trim_start_matches('v');
        text.starts_with(|sign: char| sign.is_ascii_digit()) || text.starts_with("lts/")
    };
    match rest {
        [first, rest @ ..] if is_version(first) => line(rest),
        rest => line(rest),
    }
}

/// `sg group 'script'`. Another program of this name has options first, or one of these words.
fn of_sg(arguments: &[Word]) -> Vec<Launched> {
    const OF_OTHER: &[&str] =
        &["completions", "help", "lsp", "new", "outline", "run", "scan", "test"];
    let rest = match arguments {
        [login, rest @ ..] if login.literal() == Some("-") => rest,
        rest => rest,
    };
    match rest {
        [group, text, ..] if group.is_no_option() && text.is_no_option() => {
            let is_other = group.literal().is_some_and(|name| OF_OTHER.contains(&name));
            if is_other { Vec::new() } else { script(text.clone(), false) }
        }
        _ => Vec::new(),
    }
}

/// `start-stop-daemon --exec program -- arguments`
fn of_daemon(arguments: &[Word]) -> Vec<Launched> {
    let program = values(arguments, &["-x", "--exec", "-a", "--startas"], false);
    let at = arguments.iter().position(|word| matches!(word.literal(), Some("--" | "--args")));
    let rest = at.and_then(|at| arguments.get(at + 1..)).unwrap_or_default();
    let command = |program: &Word| {
        let words = [std::slice::from_ref(program), rest].concat();
        Launched::Command(SimpleCommand { words, ..Default::default() })
    };
    program.iter().map(command).collect()
}
