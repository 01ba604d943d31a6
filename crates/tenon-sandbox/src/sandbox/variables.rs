//! Variables that commands behind walls get besides their own.

use std::ffi::{OsStr, OsString};

use crate::command::Command;
use crate::linux::probe::runs_as_root;
use crate::network::Proxy;

/// Adds what every command behind walls gets, and takes away what is not there. `port` is where the proxy
/// listens, if there is one.
pub(super) fn put_behind_walls(command: &mut Command, proxy: Option<&Proxy>, port: Option<u16>) {
    if let Some((proxy, port)) = proxy.zip(port) {
        use_proxy(command, port, &proxy.names_inside());
    }
    without_tracing(command);
    without_looks_for_updates(command);
    if runs_as_root() {
        without_owners(command);
    }
    // The user's own folder for temporary files is not there.
    command.environment.retain(|(name, _)| name != "TMPDIR");
}

/// Programs built with AddressSanitizer trace themselves at their end to look for leaks, and fail
/// where nobody may trace.
fn without_tracing(command: &mut Command) {
    const OPTIONS: &str = "LSAN_OPTIONS";
    if !command.environment.iter().any(|(name, _)| name == OPTIONS) {
        set(command, OPTIONS, "detect_leaks=0".as_ref());
    }
}

/// npm and other programs of Node's, and pip, look for newer versions of themselves: hosts that nobody
/// asked for would be refused, and the person asked about them.
fn without_looks_for_updates(command: &mut Command) {
    for (name, value) in [
        ("npm_config_update_notifier", "false"),
        ("NO_UPDATE_NOTIFIER", "1"),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ] {
        // npm takes its own in any case.
        if !command.environment.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            set(command, name, value.as_ref());
        }
    }
}

/// As root GNU tar gives what it unpacks the owner that the archive names, and fails where nothing can
/// change owners.
fn without_owners(command: &mut Command) {
    const OPTIONS: &str = "TAR_OPTIONS";
    let own = command.environment.iter().find(|(name, _)| name == OPTIONS);
    let mut options = OsString::from("--no-same-owner");
    // The user's own come last and count.
    if let Some((_, own)) = own.filter(|(_, own)| !own.is_empty()) {
        options.push(" ");
        options.push(own);
    }
    set(command, OPTIONS, &options);
}

fn use_proxy(command: &mut Command, port: u16, names_inside: &str) {
    let address = format!("http://127.0.0.1:{port}");
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        set(command, name, address.as_ref());
    }
    for name in ["no_proxy", "NO_PROXY"] {
        set(command, name, names_inside.as_ref());
    }
}

pub(super) fn set(command: &mut Command, name: &str, value: &OsStr) {
    command.environment.retain(|(known, _)| known != name);
    command.environment.push((name.into(), value.to_owned()));
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::command::CommandLimits;
    use crate::profile::Profile;
    use crate::workspace::OpenRoots;

    fn command(own: &[(&str, &str)]) -> Command {
        let limits =
            CommandLimits { timeout: Duration::from_secs(1), output_bytes_max: 1, spill: None };
        Command {
            script: String::new(),
            folder: PathBuf::from("/"),
            roots: OpenRoots::default(),
            environment: own.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            limits,
            profile: Profile::unconfined(),
        }
    }

    fn environment(command: &Command) -> Vec<(&str, &str)> {
        let all = command.environment.iter();
        let mut found: Vec<_> =
            all.map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap())).collect();
        found.sort_unstable();
        found
    }

    /// Checks what a command with this environment gets.
    fn check(own: &[(&str, &str)], expected: &[(&str, &str)]) {
        let mut command = command(own);
        put_behind_walls(&mut command, None, None);
        let mut found = environment(&command);
        found.retain(|(name, _)| *name != "TAR_OPTIONS");
        assert_eq!(found, expected, "{own:?}");
    }

    #[test]
    fn tar_leaves_owners_as_they_are_unless_the_user_says_so() {
        let check = |own: &[(&str, &str)], expected: &str| {
            let mut command = command(own);
            without_owners(&mut command);
            assert_eq!(environment(&command), [("TAR_OPTIONS", expected)]);
        };
        check(&[], "--no-same-owner");
        check(&[("TAR_OPTIONS", "")], "--no-same-owner");
        check(&[("TAR_OPTIONS", "--same-owner -v")], "--no-same-owner --same-owner -v");
    }

    #[test]
    fn programs_do_not_look_for_updates_unless_the_user_says_so() {
        let [leaks, notifier, pip, npm] = [
            ("LSAN_OPTIONS", "detect_leaks=0"),
            ("NO_UPDATE_NOTIFIER", "1"),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
            ("npm_config_update_notifier", "false"),
        ];
        check(&[("TMPDIR", "/home/ada/tmp")], &[leaks, notifier, pip, npm]);
        let own = ("npm_config_update_notifier", "true");
        check(&[own], &[leaks, notifier, pip, own]);
        let own = ("NPM_CONFIG_UPDATE_NOTIFIER", "true");
        check(&[own], &[leaks, notifier, own, pip]);
        check(&[("NO_UPDATE_NOTIFIER", "")], &[leaks, ("NO_UPDATE_NOTIFIER", ""), pip, npm]);
        let own = ("PIP_DISABLE_PIP_VERSION_CHECK", "0");
        check(&[own], &[leaks, notifier, own, npm]);
    }
}
