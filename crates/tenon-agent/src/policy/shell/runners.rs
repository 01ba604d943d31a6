//! Programs that run others besides other things: by an option (`tar --to-command`), by a subcommand
//! (`uv run`), or as what they are for (`valgrind`).
//!
//! A rule for such a program speaks of what it runs, too.

use super::arguments::{Launched, join, script, skip_options};
use super::given::{aside, behind, line, run, values};
use super::starters;
use super::toolchains;
use super::word::Word;

/// A program that runs the words behind its options, and behind a subcommand if it has one.
struct Runner {
    name: &'static str,
    /// One of these words stands before the command.
    subcommands: &'static [&'static str],
    /// Options that take the next word as their value.
    valued: &'static [&'static str],
    /// Words between the options and the command.
    operands: usize,
}

const fn runner(
    name: &'static str,
    subcommands: &'static [&'static str],
    valued: &'static [&'static str],
    operands: usize,
) -> Runner {
    Runner { name, subcommands, valued, operands }
}

const UV_VALUED: &[&str] = &[
    "--with",
    "-p",
    "--python",
    "--project",
    "--directory",
    "--extra",
    "--group",
    "--env-file",
    "--with-requirements",
    "--index",
    "--package",
];

/// From their manuals.
const RUNNERS: &[Runner] = &[
    runner("aa-exec", &[], &["-p", "--profile", "-n", "--namespace"], 0),
    runner("abduco", &[], &["-n", "-c", "-A", "-e"], 0),
    runner("apptainer", &["exec"], &["-B", "--bind", "-H", "--home", "--pwd"], 1),
    runner("asdf", &["exec"], &[], 0),
    runner("aws-vault", &["exec"], &["-d", "--duration"], 1),
    runner("bear", &[], &["--output", "-o"], 0),
    runner("bun", &["exec", "x"], &["--cwd", "--filter", "-F", "-c", "--config"], 0),
    runner("bundle", &["exec"], &[], 0),
    runner("bunx", &[], &["-p", "--package"], 0),
    runner("cage", &[], &[], 0),
    runner("catchsegv", &[], &[], 0),
    runner("ccache", &[], &[], 0),
    runner("cgexec", &[], &["-g"], 0),
    runner("chamber", &["exec"], &[], 1),
    runner("choom", &[], &["-n", "-p"], 0),
    runner(
        "chpst",
        &[],
        &[
            "-u", "-U", "-b", "-/", "-e", "-n", "-l", "-L", "-m", "-d", "-o", "-p", "-f", "-c",
            "-r", "-t",
        ],
        0,
    ),
    runner("chronic", &[], &[], 0),
    runner("conda", &["run"], &["-n", "-p", "--name", "--prefix", "--cwd"], 0),
    runner(
        "coresched",
        &["new", "exec"],
        &["-s", "--source", "-d", "--dest", "-t", "--dest-type"],
        0,
    ),
    runner("cpulimit", &[], &["-l", "-p", "-e"], 0),
    runner("cross-env", &[], &[], 0),
    runner("cross-env-shell", &[], &[], 0),
    runner(
        "daemon",
        &[],
        &[
            "-n",
            "--name",
            "-u",
            "--user",
            "-D",
            "--chdir",
            "-F",
            "--pidfile",
            "-o",
            "--output",
            "-e",
            "--env",
        ],
        0,
    ),
    runner("daemonize", &[], &["-c", "-e", "-o", "-p", "-l", "-u", "-E"], 0),
    runner("datefudge", &[], &[], 1),
    runner("dbus-launch", &[], &[], 0),
    runner("direnv", &["exec"], &[], 1),
    runner("distcc", &[], &[], 0),
    runner("distrobox-host-exec", &[], &[], 0),
    runner("doppler", &["run"], &["-p", "-c", "--project", "--config"], 0),
    runner("dotenv", &[], &["-f", "-e", "-p", "-v"], 0),
    runner("dotenvx", &["run"], &["-f", "--env-file"], 0),
    runner("dtach", &[], &["-n", "-A", "-c", "-N", "-e", "-r"], 0),
    runner("dumb-init", &[], &["-r"], 0),
    runner("enosys", &[], &["-s", "--syscall", "-i", "--ioctl"], 0),
    runner("entr", &[], &[], 0),
    runner("env-cmd", &[], &["-f", "--file", "-e", "--environments", "-r", "--rc-file"], 0),
    runner("envdir", &[], &[], 1),
    runner("envuidgid", &[], &[], 1),
    runner("expect_unbuffer", &[], &[], 0),
    runner(
        "fakechroot",
        &[],
        &[
            "-l",
            "--lib",
            "-s",
            "--use-system-libs",
            "-e",
            "--environment",
            "-c",
            "--config-dir",
            "-d",
            "--elfloader",
            "-b",
            "--bindir",
        ],
        0,
    ),
    runner("faketime", &[], &["-p"], 1),
    runner("fghack", &[], &[], 0),
    runner("firejail", &[], &[], 0),
    runner("flatpak-spawn", &[], &[], 0),
    runner("fnm", &["exec"], &["--using", "--fnm-dir"], 0),
    runner("gosu", &[], &[], 1),
    runner("hatch", &["run"], &["-e", "--env", "-p", "--project"], 0),
    runner("heaptrack", &[], &["-o"], 0),
    runner("host-spawn", &[], &["-cwd", "-env"], 0),
    runner("ifne", &[], &[], 0),
    runner("lckdo", &[], &["-W", "-E"], 1),
    runner("lerna", &["exec"], &["--scope", "--ignore", "--concurrency", "--since"], 0),
    runner("logsave", &[], &[], 1),
    runner("mamba", &["run"], &["-n", "-p", "--name", "--prefix"], 0),
    runner("micromamba", &["run"], &["-n", "-p", "--name", "--prefix"], 0),
    runner(
        "minijail0",
        &[],
        &["-u", "-g", "-b", "-c", "-C", "-k", "-P", "-S", "-T", "-V", "-f"],
        0,
    ),
    runner("mise", &["exec", "x"], &["-C", "--cd"], 0),
    runner("mix", &["cmd"], &[], 0),
    runner(
        "mpiexec",
        &[],
        &["-n", "-np", "--np", "-N", "-H", "--host", "--hostfile", "-machinefile"],
        0,
    ),
    runner(
        "mpirun",
        &[],
        &["-n", "-np", "--np", "-N", "-H", "--host", "--hostfile", "-machinefile"],
        0,
    ),
    runner("nocache", &[], &["-n"], 0),
    runner("nodenv", &["exec"], &[], 0),
    runner("npm", &["exec", "x"], &["-p", "--package", "-w", "--workspace"], 0),
    runner("npx", &[], &["-p", "--package", "-w", "--workspace"], 0),
    runner("nq", &[], &[], 0),
    runner("op", &["run"], &["--env-file"], 0),
    runner("opam", &["exec"], &["--switch"], 0),
    runner("pdm", &["run"], &["-p", "--project"], 0),
    runner("perf", &["record", "stat", "trace"], &["-e", "-o", "-F", "-g", "-r", "-p", "-C"], 0),
    runner("pgrphack", &[], &[], 0),
    runner("pipenv", &["run"], &[], 0),
    runner("pipesz", &[], &["-s", "--set", "-f", "--file", "-n", "--fd"], 0),
    runner("pipx", &["run"], &["--spec", "--python"], 0),
    runner("pixi", &["run"], &["-e", "--environment", "--manifest-path"], 0),
    runner("pnpm", &["exec", "dlx"], &["-C", "--dir", "--filter", "-F"], 0),
    runner("podman", &["unshare"], &[], 0),
    runner("poetry", &["run"], &["-C", "--directory", "-P", "--project"], 0),
    runner("proot", &[], &["-r", "-b", "-w", "-q", "-R", "-S"], 0),
    runner("proxychains", &[], &["-f"], 0),
    runner("proxychains4", &[], &["-f"], 0),
    runner("pyenv", &["exec"], &[], 0),
    runner("rbenv", &["exec"], &[], 0),
    runner("reflex", &[], &["-r", "-R", "-g", "-G", "-d", "-t"], 0),
    runner("retry", &[], &["-t", "--times", "-d", "--delay"], 0),
    runner("rlwrap", &[], &["-f", "-H", "-s", "-b", "-C"], 0),
    runner("rootlesskit", &[], &[], 0),
    runner("rr", &["record"], &[], 0),
    runner("run-one", &[], &[], 0),
    runner("runcon", &[], &["-u", "-r", "-t", "-l"], 1),
    runner("rustup", &["run"], &[], 1),
    runner("rye", &["run"], &[], 0),
    runner("s6-envdir", &[], &[], 1),
    runner("s6-setlock", &[], &[], 1),
    runner("s6-setsid", &[], &[], 0),
    runner("s6-setuidgid", &[], &[], 1),
    runner(
        "s6-softlimit",
        &[],
        &["-m", "-d", "-s", "-l", "-a", "-o", "-p", "-f", "-c", "-r", "-t"],
        0,
    ),
    runner("sccache", &[], &[], 0),
    runner("sem", &[], &["-j", "--jobs", "-n", "--id"], 0),
    runner("setlock", &[], &[], 1),
    runner("setuidgid", &[], &[], 1),
    runner("singularity", &["exec"], &["-B", "--bind", "-H", "--home", "--pwd"], 1),
    runner(
        "softlimit",
        &[],
        &["-m", "-d", "-s", "-l", "-a", "-o", "-p", "-f", "-c", "-r", "-t"],
        0,
    ),
    runner("sotruss", &[], &["-F", "--from", "-T", "--to", "-o", "--output"], 0),
    runner("srun", &[], &["-n", "--ntasks", "-N", "--nodes", "-c", "-p", "-t", "-J", "-w"], 0),
    runner("su-exec", &[], &[], 1),
    runner("systemd-cat", &[], &["-t", "--identifier", "-p", "--priority", "--stderr-priority"], 0),
    runner("systemd-inhibit", &[], &["--what", "--who", "--why", "--mode"], 0),
    runner(
        "systemd-nspawn",
        &[],
        &[
            "-D",
            "--directory",
            "-M",
            "--machine",
            "-u",
            "--user",
            "-i",
            "--image",
            "-E",
            "--setenv",
            "--bind",
            "--bind-ro",
            "--chdir",
        ],
        0,
    ),
    runner("systemd-socket-activate", &[], &["-l", "--listen", "-E", "--setenv", "--fdname"], 0),
    runner("tini", &[], &["-p", "-e"], 0),
    runner("toolbox", &["run"], &["-c", "--container", "-d", "--distro", "-r", "--release"], 0),
    runner("torify", &[], &[], 0),
    runner("trace-cmd", &["record"], &["-e", "-o", "-p", "-l", "-f", "-s", "-m"], 0),
    runner("trickle", &[], &["-u", "-d", "-w", "-t"], 0),
    runner("tsocks", &[], &[], 0),
    runner("tsp", &[], &["-L", "-S", "-D", "-N"], 0),
    runner("uclampset", &[], &["-m", "-M", "-p"], 0),
    runner("uftrace", &["record", "live"], &["-d", "-D", "-F", "-N", "-t", "-A", "-R"], 0),
    runner("uv", &["run"], UV_VALUED, 0),
    runner("uvx", &[], &["--from", "--with", "-p", "--python"], 0),
    runner("valgrind", &[], &[], 0),
    runner("volta", &["run"], &["--node", "--npm", "--pnpm", "--yarn"], 0),
    runner(
        "watchexec",
        &[],
        &[
            "-e",
            "--exts",
            "-w",
            "--watch",
            "-i",
            "--ignore",
            "-f",
            "--filter",
            "-s",
            "--signal",
            "-d",
            "--debounce",
            "-o",
            "--on-busy-update",
            "--shell",
        ],
        0,
    ),
    runner("with-contenv", &[], &[], 0),
    runner("with-lock-ex", &[], &[], 1),
    runner("xe", &[], &["-I", "-N", "-j", "-a"], 0),
    runner("zrun", &[], &[], 0),
];

/// Programs with options whose value is a command.
const OPTIONS: &[(&[&str], &[&str])] = &[
    (
        &["tar", "bsdtar"],
        &[
            "-I",
            "-F",
            "--to-command",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
    ),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-S"]),
    (&["man"], &["-P", "--pager", "-H", "--html"]),
    (&["bat", "batcat", "delta"], &["--pager"]),
    (&["install", "ginstall"], &["--strip-program"]),
    (&["just"], &["--chooser", "--command", "--shell"]),
    (&["split"], &["--filter"]),
    (&["sort"], &["--compress-program"]),
    (&["rg"], &["--pre"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["wget"], &["--use-askpass"]),
    (&["nc", "ncat", "netcat"], &["-e", "-c", "--exec", "--sh-exec"]),
    (&["npx", "npm"], &["-c", "--call"]),
    (&["nodemon", "watchexec"], &["--exec", "-x"]),
    (&["hyperfine"], &["-p", "--prepare", "-s", "--setup", "-c", "--cleanup", "-C", "--conclude"]),
    (&["sg", "newgrp", "capsh", "nix-shell"], &["-c", "--command", "--run"]),
    (&["tcpdump"], &["-z"]),
    (&["bpftrace", "dpkg-architecture", "watchmedo"], &["-c", "--command"]),
    (&["git-upload-pack", "git-receive-pack"], &["--exec"]),
];

/// Options of git's subcommands whose value is a command.
const OF_GIT: &[(&[&str], &[&str])] = &[
    (&["clone", "fetch", "fetch-pack", "ls-remote", "pull"], &["--upload-pack", "-u"]),
    (&["push", "send-pack"], &["--receive-pack", "--exec"]),
    (&["archive"], &["--exec"]),
    (&["grep"], &["--open-files-in-pager", "-O"]),
    (
        &["filter-branch"],
        &[
            "--tree-filter",
            "--index-filter",
            "--env-filter",
            "--msg-filter",
            "--commit-filter",
            "--parent-filter",
            "--tag-name-filter",
            "--setup",
        ],
    ),
    (&["send-email"], &["--to-cmd", "--cc-cmd", "--header-cmd", "--sendmail-cmd", "--smtp-server"]),
];

/// Programs that run each of their operands as a script.
const OF_SCRIPTS: &[&str] = &["concurrently", "hyperfine", "mispipe", "pee"];

/// Settings of ssh whose value is a command.
const OF_SSH: &[&str] = &["knownhostscommand", "localcommand", "proxycommand"];

/// Subcommands of tmux and screen that run what follows them.
const OF_TMUX: &[&str] = &[
    "display-popup",
    "if",
    "if-shell",
    "new",
    "new-session",
    "new-window",
    "neww",
    "pipe-pane",
    "popup",
    "respawn-pane",
    "respawn-window",
    "run",
    "run-shell",
    "split-window",
    "splitw",
];
const TMUX_VALUED: &[&str] =
    &["-c", "-e", "-F", "-f", "-h", "-l", "-L", "-n", "-s", "-S", "-t", "-T", "-w", "-x", "-y"];

/// Returns what a program runs besides what it is known for.
pub(super) fn launched(name: &str, arguments: &[Word]) -> Vec<Launched> {
    let mut launched = Vec::new();
    for (_, options) in OPTIONS.iter().filter(|(names, _)| names.contains(&name)) {
        launched.extend(values(arguments, options, name == "rsync").iter().map(run));
    }
    if let Some(runner) = RUNNERS.iter().find(|runner| runner.name == name) {
        launched.extend(through(runner, arguments));
    }
    launched.extend(match name {
        "tar" | "bsdtar" => checkpoint(arguments),
        "ssh" | "scp" | "sftp" => of_ssh(arguments),
        "fd" | "fdfind" => behind(arguments, &["-x", "-X", "--exec", "--exec-batch"]),
        "ip" => behind(arguments, &["exec"]).into_iter().collect(),
        "socat" => arguments.iter().filter_map(of_socat).collect(),
        "vi" | "vim" | "nvim" | "ex" => of_vim(arguments),
        "gdb" | "lldb" => of_debugger(arguments),
        "tmux" => of_tmux(arguments),
        "screen" => line(skip_options(arguments, &["-S", "-t", "-c", "-h", "-L", "-s", "-T"])),
        name if OF_SCRIPTS.contains(&name) => {
            let operands =
                skip_options(arguments, &["-w", "-r", "-m", "-M", "-n", "-c", "-p", "-s"]);
            let scripts = operands.iter().filter(|word| word.is_no_option());
            scripts.map(run).collect()
        }
        _ => Vec::new(),
    });
    launched.extend(starters::launched(name, arguments));
    launched.extend(toolchains::launched(name, arguments));
    launched.into_iter().map(aside).collect()
}

/// Returns what a subcommand of git runs by an option.
pub(super) fn of_git(subcommand: &str, arguments: &[Word]) -> Vec<Launched> {
    let of_it = OF_GIT.iter().filter(|(names, _)| names.contains(&subcommand));
    let given = of_it.flat_map(|(_, options)| values(arguments, options, false));
    // `ext::command` is an address that runs the command.
    let addresses = arguments.iter().filter_map(|word| word.strip_prefix("ext::"));
    given.chain(addresses).map(|value| run(&value)).map(aside).collect()
}

fn through(runner: &Runner, arguments: &[Word]) -> Vec<Launched> {
    let mut rest = skip_options(arguments, runner.valued);
    if !runner.subcommands.is_empty() {
        let Some((subcommand, behind)) = rest.split_first() else { return Vec::new() };
        let is_one = |name: &str| runner.subcommands.contains(&name);
        if !subcommand.literal().is_some_and(is_one) {
            return Vec::new();
        }
        rest = skip_options(behind, runner.valued);
    }
    rest = rest.get(runner.operands..).unwrap_or_default();
    if runner.operands > 0 {
        rest = skip_options(rest, &[]);
    }
    // What the command is given stands in front of it in some.
    while rest.first().is_some_and(|word| word.prefix().contains('=') && word.is_no_option()) {
        rest = rest.get(1..).unwrap_or_default();
    }
    line(rest)
}

fn checkpoint(arguments: &[Word]) -> Vec<Launched> {
    let actions = values(arguments, &["--checkpoint-action"], false);
    actions.iter().filter_map(|action| Some(run(&action.strip_prefix("exec=")?))).collect()
}

fn of_ssh(arguments: &[Word]) -> Vec<Launched> {
    let command = |setting: &Word| {
        let text = setting.prefix();
        let end = text.find(['=', ' '])?;
        let key = text.get(..end)?.to_ascii_lowercase();
        let value = setting.strip_prefix(text.get(..=end)?)?;
        OF_SSH.contains(&key.as_str()).then(|| run(&value))
    };
    values(arguments, &["-o"], false).iter().filter_map(command).collect()
}

/// `EXEC:command,option`, `SYSTEM:command`
fn of_socat(address: &Word) -> Option<Launched> {
    let text = address.prefix();
    let (kind, rest) = text.split_once(':')?;
    let runs = matches!(kind.to_ascii_uppercase().as_str(), "EXEC" | "SYSTEM" | "SHELL");
    let command = rest.split(',').next().unwrap_or_default();
    runs.then(|| run(&Word::text(command)))
}

/// `-c '!command'`, `+'!command'`
fn of_vim(arguments: &[Word]) -> Vec<Launched> {
    let given = values(arguments, &["-c", "--cmd", "+"], false);
    let command = |word: &Word| {
        let text = word.prefix().trim_start_matches([':', ' ']);
        let text = text.strip_prefix("silent").unwrap_or(text).trim_start_matches(['!', ' ']);
        word.prefix().contains('!').then(|| run(&Word::text(text)))
    };
    given.iter().filter_map(command).collect()
}

/// `-ex 'shell command'`, `-ex '!command'`
fn of_debugger(arguments: &[Word]) -> Vec<Launched> {
    let given = values(arguments, &["-ex", "-iex", "-eval-command", "--eval-command", "-o"], false);
    let command = |word: &Word| {
        let text = word.prefix();
        let rest = ["shell ", "!", "pipe ", "platform shell "]
            .iter()
            .find_map(|start| text.strip_prefix(start))?;
        Some(run(&Word::text(rest)))
    };
    given.iter().filter_map(command).collect()
}

fn of_tmux(arguments: &[Word]) -> Vec<Launched> {
    let Some((subcommand, rest)) = skip_options(arguments, TMUX_VALUED).split_first() else {
        return Vec::new();
    };
    match subcommand.literal() {
        Some(name) if OF_TMUX.contains(&name) => {
            let words = skip_options(rest, TMUX_VALUED);
            if words.is_empty() { Vec::new() } else { script(join(words), false) }
        }
        _ => Vec::new(),
    }
}
