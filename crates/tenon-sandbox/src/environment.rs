//! The environment of a command, built from a list of what may be in it.
//!
//! Pure. What is not on the list does not get in, so a provider's key that somebody exported is
//! not in any command. Pagers, editors and questions on a terminal are switched off, because
//! nobody could answer them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Taken over from the parent as they are.
const KEPT: [&str; 61] = [
    // Who and where.
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    // Toolchains: where they are, not what they may.
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_JOBS",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "RUST_BACKTRACE",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOFLAGS",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "NVM_DIR",
    "NODE_ENV",
    "NODE_PATH",
    "NODE_EXTRA_CA_CERTS",
    "PNPM_HOME",
    "DENO_DIR",
    "BUN_INSTALL",
    "PYENV_ROOT",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "UV_CACHE_DIR",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "DOTNET_ROOT",
    "CC",
    "CXX",
    "PKG_CONFIG_PATH",
    "MAKEFLAGS",
    // A company's own certificate authority.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NIX_SSL_CERT_FILE",
];

/// Taken over when they hold no user name and password.
const PROXIES: [&str; 8] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];

/// Set in any case. There is no terminal; an editor that is started all the same must end with
/// a reason and not wait. `GIT_SEQUENCE_EDITOR` is not among them: git would take it rather than
/// `-c sequence.editor=…`, and without either it takes `GIT_EDITOR`.
const SET: [(&str, &str); 10] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("EDITOR", NO_EDITOR),
    ("VISUAL", NO_EDITOR),
    ("GIT_EDITOR", NO_EDITOR),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// An editor that says why there is none and fails, so that the command fails with it. Programs
/// give it to a shell together with the file's name; the comment sign takes that away.
const NO_EDITOR: &str = "echo 'Error: interactive commands are not supported' >&2; false #";

/// Words in a name that make a value a secret. A pattern of the user's never lets one in; only
/// its exact name does.
const SECRET_WORDS: [&str; 9] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE"];

/// Where programs are looked for when the parent has no usable `PATH`.
pub(crate) const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns the environment for a command, sorted by name.
///
/// `extra` is the user's own list: exact names, or a beginning with `*` behind it. An exact name
/// is kept whatever it is called; a pattern never matches a name that looks like a secret's. Of
/// `PATH` the absolute folders are kept.
pub fn child_environment(
    parent: impl Iterator<Item = (OsString, OsString)>,
    extra: &[String],
) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<(OsString, OsString)> = Vec::new();
    let mut path = None;
    for (name, value) in parent {
        let asked_for = extra.iter().any(|wanted| name == **wanted);
        if name == "PATH" {
            path = absolute_folders(&value);
        } else if asked_for || is_allowed(&name, &value, extra) {
            kept.push((name, value));
        }
    }
    kept.push((OsString::from("PATH"), path.unwrap_or_else(|| OsString::from(PATH_DEFAULT))));
    for (name, value) in SET {
        // The user's word counts more than ours.
        if !kept.iter().any(|(known, _)| known == name) {
            kept.push((OsString::from(name), OsString::from(value)));
        }
    }
    kept.sort();
    kept.dedup_by(|one, other| one.0 == other.0);
    kept
}

fn is_allowed(name: &OsStr, value: &OsStr, extra: &[String]) -> bool {
    let Some(text) = name.to_str() else { return false };
    if KEPT.contains(&text) || text.starts_with("LC_") && !is_secret_name(text) {
        return true;
    }
    if PROXIES.contains(&text) {
        return !value.as_bytes().contains(&b'@');
    }
    !is_secret_name(text)
        && extra
            .iter()
            .filter_map(|wanted| wanted.strip_suffix('*'))
            .any(|start| text.starts_with(start))
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Keeps the absolute folders of a search path: a relative one (or an empty one, which means the
/// current folder) would run programs out of the workspace by accident.
fn absolute_folders(path: &OsStr) -> Option<OsString> {
    let folders = path.as_bytes().split(|byte| *byte == b':');
    let folders: Vec<&[u8]> = folders.filter(|folder| folder.starts_with(b"/")).collect();
    (!folders.is_empty()).then(|| OsString::from_vec(folders.join(&b':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(parent: &[(&str, &str)], extra: &[&str], expected: &[(&str, &str)]) {
        let parent = parent.iter().map(|(name, value)| (name.into(), value.into()));
        let extra: Vec<String> = extra.iter().map(|name| (*name).to_owned()).collect();
        let environment = child_environment(parent, &extra);
        let ours: Vec<(&str, &str)> = environment
            .iter()
            .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()))
            .filter(|pair| !SET.contains(pair))
            .collect();
        assert_eq!(ours, expected);
    }

    #[test]
    fn spec_26_keys_of_providers_are_not_in_it() {
        let parent = [
            ("ANTHROPIC_API_KEY", "sk-1"),
            ("OPENAI_API_KEY", "sk-2"),
            ("GITHUB_TOKEN", "gh"),
            ("AWS_SECRET_ACCESS_KEY", "aws"),
            ("LD_PRELOAD", "/x.so"),
            ("BASH_ENV", "/x.sh"),
            ("BASH_FUNC_ls%%", "() { :; }"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("HOME", "/home/user"),
            ("PATH", "/usr/bin:/bin"),
            ("LC_ALL", "C.UTF-8"),
        ];
        let expected = [("HOME", "/home/user"), ("LC_ALL", "C.UTF-8"), ("PATH", "/usr/bin:/bin")];
        check(&parent, &[], &expected);
    }

    #[test]
    fn spec_26_only_an_exact_name_lets_a_secret_in() {
        let parent = [("MY_FLAG", "1"), ("MY_TOKEN", "2"), ("PATH", "/bin")];
        check(&parent, &["MY_*"], &[("MY_FLAG", "1"), ("PATH", "/bin")]);
        check(&parent, &["*"], &[("MY_FLAG", "1"), ("PATH", "/bin")]);
        check(&parent, &["MY_TOKEN"], &[("MY_TOKEN", "2"), ("PATH", "/bin")]);
    }

    #[test]
    fn relative_folders_leave_the_path() {
        check(&[("PATH", ".:/usr/bin::bin:/bin")], &[], &[("PATH", "/usr/bin:/bin")]);
        check(&[("PATH", ".")], &[], &[("PATH", PATH_DEFAULT)]);
        check(&[], &[], &[("PATH", PATH_DEFAULT)]);
    }

    #[test]
    fn a_proxy_with_a_password_stays_out() {
        let parent = [
            ("https_proxy", "http://name:word@proxy:8080"),
            ("HTTP_PROXY", "http://proxy:8080"),
            ("PATH", "/bin"),
        ];
        check(&parent, &[], &[("HTTP_PROXY", "http://proxy:8080"), ("PATH", "/bin")]);
    }

    #[test]
    fn spec_24_pagers_and_editors_are_off() {
        let environment = child_environment([("PAGER".into(), "less".into())].into_iter(), &[]);
        let pager = environment.iter().find(|(name, _)| name == "PAGER");
        assert_eq!(pager.map(|(_, value)| value.to_str()), Some(Some("cat")));
        for (name, value) in SET {
            assert!(environment.contains(&(name.into(), value.into())), "{name}");
        }
        // It would go before `git -c sequence.editor=… rebase -i`.
        assert!(environment.iter().all(|(name, _)| name != "GIT_SEQUENCE_EDITOR"));
    }
}
