//! The table of programs that run their arguments as a command, with the options that take a value.

/// A program that runs its arguments as a command.
pub(super) struct Launcher {
    pub(super) name: &'static str,
    /// Options that take the next word as their value.
    pub(super) valued: &'static [&'static str],
    /// Words between the options and the command.
    pub(super) operands: usize,
}

const fn entry(name: &'static str, valued: &'static [&'static str], operands: usize) -> Launcher {
    Launcher { name, valued, operands }
}

const NUMACTL_VALUED: &[&str] = &[
    "-C",
    "--physcpubind",
    "-N",
    "--cpunodebind",
    "-P",
    "-i",
    "--interleave",
    "-m",
    "--membind",
    "-p",
    "--preferred",
];

const SETPRIV_VALUED: &[&str] = &[
    "--ambient-caps",
    "--apparmor-profile",
    "--bounding-set",
    "--egid",
    "--euid",
    "--groups",
    "--inh-caps",
    "--landlock-access",
    "--landlock-rule",
    "--pdeathsig",
    "--ptracer",
    "--regid",
    "--reuid",
    "--rgid",
    "--ruid",
    "--seccomp-filter",
    "--securebits",
    "--selinux-label",
];

const STRACE_VALUED: &[&str] = &[
    "-e", "--trace", "--inject", "--signal", "-o", "--output", "-p", "--attach", "-s", "-u",
    "--user", "-E", "--env", "-a", "-b", "-I", "-O", "-P", "-S", "-U", "-X",
];

const SUDO_VALUED: &[&str] = &[
    "-u",
    "--user",
    "-g",
    "--group",
    "-h",
    "--host",
    "-p",
    "--prompt",
    "-C",
    "--close-from",
    "-r",
    "--role",
    "-t",
    "--type",
    "-T",
    "--command-timeout",
    "-D",
    "--chdir",
    "-R",
    "--chroot",
];

const SYSTEMD_VALUED: &[&str] = &[
    "-u",
    "--unit",
    "-p",
    "--property",
    "-E",
    "--setenv",
    "-M",
    "--machine",
    "-H",
    "--host",
    "--description",
    "--gid",
    "--nice",
    "--on-active",
    "--on-boot",
    "--on-calendar",
    "--service-type",
    "--slice",
    "--timer-property",
    "--uid",
    "--working-directory",
];

const UNSHARE_VALUED: &[&str] = &[
    "-w",
    "--wd",
    "-S",
    "--setuid",
    "-G",
    "--setgid",
    "-R",
    "--root",
    "-l",
    "--load-interp",
    "--boottime",
    "--map-group",
    "--map-groups",
    "--map-user",
    "--map-users",
    "--monotonic",
    "--propagation",
    "--setgroups",
];

const XVFB_VALUED: &[&str] = &[
    "-n",
    "--server-num",
    "-s",
    "--server-args",
    "-f",
    "--auth-file",
    "-e",
    "--error-file",
    "-p",
    "--xauth-protocol",
    "-w",
    "--wait",
];

/// Names that coreutils and time have where others have theirs.
const CALLED_WITH_G: &[&str] =
    &["gchroot", "genv", "gnice", "gnohup", "gstdbuf", "gtime", "gtimeout"];

/// From the manuals of GNU coreutils, util-linux, sudo and bash.
const LAUNCHERS: &[Launcher] = &[
    entry("busybox", &[], 0),
    entry("builtin", &[], 0),
    entry("chroot", &["--groups", "--userspec"], 1),
    entry("chrt", &["-T", "--sched-runtime", "-P", "--sched-period", "-D", "--sched-deadline"], 1),
    entry("command", &[], 0),
    entry("coproc", &[], 0),
    entry("dbus-run-session", &["--config-file", "--dbus-daemon"], 0),
    entry("doas", &["-u", "-C"], 0),
    entry("eatmydata", &[], 0),
    entry("env", &["-a", "--argv0", "-u", "--unset", "-C", "--chdir", "-S", "--split-string"], 0),
    entry("exec", &["-a"], 0),
    entry("fakeroot", &["-l", "--lib", "-f", "--faked", "-i", "-s", "-b", "--fd-base"], 0),
    entry("flock", &["-w", "--timeout", "-E", "--conflict-exit-code"], 1),
    entry("i386", &[], 0),
    entry("i486", &[], 0),
    entry("i586", &[], 0),
    entry("i686", &[], 0),
    entry("ionice", &["-c", "--class", "-n", "--classdata"], 0),
    entry("jobs", &[], 0),
    entry("linux32", &[], 0),
    entry("linux64", &[], 0),
    entry("ltrace", &["-a", "-e", "-F", "-l", "-n", "-o", "-p", "-s", "-u", "-x"], 0),
    entry("nice", &["-n", "--adjustment"], 0),
    entry("nohup", &[], 0),
    entry("nsenter", &["-t", "--target", "-S", "--setuid", "-G", "--setgid"], 0),
    entry("numactl", NUMACTL_VALUED, 0),
    entry("pkexec", &["--user"], 0),
    entry("prlimit", &["-o", "-p", "--output", "--pid"], 0),
    entry("run0", &["-u", "--user", "-g", "--group", "-D", "--chdir"], 0),
    entry(
        "runuser",
        &["-u", "--user", "-g", "--group", "-G", "--supp-group", "-s", "--shell", "-w"],
        0,
    ),
    entry("setarch", &[], 0),
    entry("setpriv", SETPRIV_VALUED, 0),
    entry("setsid", &[], 0),
    entry("ssh-agent", &["-a", "-t", "-P", "-O"], 0),
    entry("stdbuf", &["-i", "--input", "-o", "--output", "-e", "--error"], 0),
    entry("strace", STRACE_VALUED, 0),
    entry("sudo", SUDO_VALUED, 0),
    entry("systemd-run", SYSTEMD_VALUED, 0),
    entry("taskset", &[], 1),
    entry("time", &["-f", "--format", "-o", "--output"], 0),
    entry("timeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    entry("torsocks", &["-u", "-p"], 0),
    entry("toybox", &[], 0),
    entry("uname26", &[], 0),
    entry("unbuffer", &[], 0),
    entry("unshare", UNSHARE_VALUED, 0),
    entry("watch", &["-n", "--interval", "-q", "--equexit"], 0),
    entry("x86_64", &[], 0),
    entry("xvfb-run", XVFB_VALUED, 0),
];

/// Returns what is known of the program `name`.
pub(super) fn launcher(name: &str) -> Option<&'static Launcher> {
    let name = match CALLED_WITH_G.contains(&name) {
        true => name.trim_start_matches('g'),
        false => name,
    };
    LAUNCHERS.iter().find(|launcher| launcher.name == name)
}
