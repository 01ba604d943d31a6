//! Variables that commands behind walls get besides their own.

use crate::command::Command;
use crate::network::Proxy;

/// Adds what every command behind walls gets, and takes away what is not there. `port` is where the proxy
/// listens, if there is one.
pub(super) fn put_behind_walls(command: &mut Command, proxy: Option<&Proxy>, port: Option<u16>) {
    if let Some((proxy, port)) = proxy.zip(port) {
        use_proxy(command, port, &proxy.names_inside());
    }
    without_tracing(command);
    without_looks_for_updates(command);
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

fn use_proxy(command: &mut Command, port: u16, names_inside: &str) {
    let address = format!("http://127.0.0.1:{port}");
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        set(command, name, address.as_ref());
    }
    for name in ["no_proxy", "NO_PROXY"] {
        set(command, name, names_inside.as_ref());
    }
}

pub(super) fn set(command: &mut Command, name: &str, value: &std::ffi::OsStr) {
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

    /// Checks what a command with this environment gets.
    fn check(own: &[(&str, &str)], expected: &[(&str, &str)]) {
        let limits =
            CommandLimits { timeout: Duration::from_secs(1), output_bytes_max: 1, spill: None };
        let environment = own.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut command = Command {
            script: String::new(),
            folder: PathBuf::from("/"),
            roots: OpenRoots::default(),
            environment,
            limits,
            profile: Profile::unconfined(),
        };
        put_behind_walls(&mut command, None, None);
        let mut found: Vec<_> = command
            .environment
            .iter()
            .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()))
            .collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{own:?}");
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
