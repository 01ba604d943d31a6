//! Variables that choose programs, load code or say where settings lie, and those that do not.
//!
//! There are more of the first than anybody knows. What stands in front of a command reaches it, so there
//! a variable has to be known for harmless, or say no more than yes, no or a number. A variable of the shell
//! reaches a program only under a name that the surroundings have already.

use super::{SimpleCommand, Word};

/// These say how things look, what is told, and what kind of run it is.
const HARMLESS: &[&str] = &[
    "APP_ENV",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "CARGO_TERM_VERBOSE",
    "CGO_ENABLED",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DEBIAN_FRONTEND",
    "DEBUG",
    "FORCE_COLOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "GOARCH",
    "GOMAXPROCS",
    "GOOS",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOG_LEVEL",
    "MIX_ENV",
    "NODE_ENV",
    "NO_COLOR",
    "OMP_NUM_THREADS",
    "PY_COLORS",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "RACK_ENV",
    "RAILS_ENV",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_LOG",
    "RUST_MIN_STACK",
    "RUST_TEST_THREADS",
    "SOURCE_DATE_EPOCH",
    "TERM",
    "TZ",
    "VERBOSE",
];

/// Variables that are known to choose programs, libraries or settings begin so.
const CHOOSING_STARTS: &[&str] = &[
    "BASH",
    "BUNDLE_",
    "CARGO",
    "CMAKE_",
    "DOCKER_",
    "DYLD_",
    "GCONV",
    "GEM_",
    "GIT_",
    "GLIBC_",
    "GRADLE_",
    "JAVA_",
    "JDK_",
    "LD_",
    "LESS",
    "LUA_",
    "MALLOC_",
    "MAVEN_",
    "NODE_",
    "NPM_CONFIG_",
    "OPENSSL_",
    "PERL",
    "PHP",
    "PIP_",
    "PKG_CONFIG",
    "PYTHON",
    "RIPGREP",
    "RUBY",
    "RUSTC",
    "RUSTDOC",
    "R_",
    "SSH_",
    "SUDO_",
    "TERMINFO",
    "UV_",
    "XDG_",
    "YARN_",
    "npm_config_",
];

/// Others of that kind.
const CHOOSING: &[&str] = &[
    "AR",
    "AS",
    "BROWSER",
    "CC",
    "CDPATH",
    "CFLAGS",
    "CPP",
    "CXX",
    "CXXFLAGS",
    "EDITOR",
    "ENV",
    "GETCONF_DIR",
    "GOBIN",
    "GOENV",
    "GOFLAGS",
    "GOPATH",
    "GOROOT",
    "GOTOOLCHAIN",
    "HOME",
    "HOSTALIASES",
    "IFS",
    "LD",
    "LDFLAGS",
    "LOCALDOMAIN",
    "LOCPATH",
    "MAGIC",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "NETRC",
    "NLSPATH",
    "PAGER",
    "PATH",
    "RES_OPTIONS",
    "RUSTFLAGS",
    "SHELL",
    "TMPDIR",
    "VISUAL",
    "_JAVA_OPTIONS",
];

/// Returns a variable that a command sets and that may choose a program, so that the command means more
/// than its words say.
pub(crate) fn chooser(command: &SimpleCommand) -> Option<&str> {
    let is_of_shell = command.words.is_empty();
    let is_plain = |(name, value): &&(String, Word)| {
        is_harmless(name)
            || is_plain_variable(name) && (is_of_shell || value.literal().is_some_and(says_little))
    };
    command.assignments.iter().find(|one| !is_plain(one)).map(|(name, _)| name.as_str())
}

/// Variables that are known to choose programs or libraries are not plain.
pub(super) fn is_plain_variable(name: &str) -> bool {
    is_harmless(name)
        || !CHOOSING_STARTS.iter().any(|start| name.starts_with(start)) && !CHOOSING.contains(&name)
}

fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// Says whether a value is no more than yes, no or a number.
fn says_little(value: &str) -> bool {
    matches!(value, "false" | "no" | "off" | "on" | "true" | "yes")
        || value.bytes().all(|byte| byte.is_ascii_digit())
}
