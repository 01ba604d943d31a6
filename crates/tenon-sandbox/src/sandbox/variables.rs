//! Variables that commands behind walls get besides their own.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::command::Command;
use crate::linux::probe::runs_as_root;
use crate::network::Proxy;

/// Adds what every command behind walls gets, and takes away what is not there. `port` is where the proxy
/// listens, if there is one, and `home` HOME, where it is not at the place of the user's.
pub(super) fn put_behind_walls(
    command: &mut Command,
    proxy: Option<&Proxy>,
    port: Option<u16>,
    home: Option<&Path>,
) {
    home.iter().for_each(|home| set(command, "HOME", home.as_os_str()));
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
    set_unless_own(command, "LSAN_OPTIONS", "detect_leaks=0");
}

/// npm and other programs of Node's, and pip, look for newer versions of themselves: hosts that nobody
/// asked for would be refused, and the person asked about them.
fn without_looks_for_updates(command: &mut Command) {
    for (name, value) in [
        ("npm_config_update_notifier", "false"),
        ("NO_UPDATE_NOTIFIER", "1"),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ] {
        set_unless_own(command, name, value);
    }
}

/// As root GNU tar gives what it unpacks the owner that the archive names, and fails where nothing can
/// change owners.
fn without_owners(command: &mut Command) {
    set_before_own(command, "TAR_OPTIONS", "--no-same-owner");
}

fn use_proxy(command: &mut Command, port: u16, names_inside: &str) {
    let address = format!("http://127.0.0.1:{port}");
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        set(command, name, address.as_ref());
    }
    for name in ["no_proxy", "NO_PROXY"] {
        set(command, name, names_inside.as_ref());
    }
    tell_java(command, port);
}

/// Java knows none of these variables. Its build tools are told by their own, with properties of its networking:
/// its own rule that loopback is reached without a proxy holds as long as no other is given.
fn tell_java(command: &mut Command, port: u16) {
    let properties = ["http", "https"]
        .map(|scheme| format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}"))
        .join(" ");
    for name in ["MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS"] {
        set_before_own(command, name, &properties);
    }
}

/// Sets a variable to `options`, and the user's own after them: what comes last counts.
fn set_before_own(command: &mut Command, name: &str, options: &str) {
    let own = command.environment.iter().find(|(known, _)| known == name);
    let mut all = OsString::from(options);
    if let Some((_, own)) = own.filter(|(_, own)| !own.is_empty()) {
        all.push(" ");
        all.push(own);
    }
    set(command, name, &all);
}

/// Sets a variable that the user has not set in whatever case: npm takes its own in any.
fn set_unless_own(command: &mut Command, name: &str, value: &str) {
    if !command.environment.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
        set(command, name, value.as_ref());
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
        put_behind_walls(&mut command, None, None, None);
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
    fn javas_build_tools_are_led_to_the_proxy() {
        let mut command = command(&[("GRADLE_OPTS", "-Xmx1g"), ("no_proxy", "x")]);
        use_proxy(&mut command, 8123, "localhost");
        let java = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=8123 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=8123";
        let proxy = "http://127.0.0.1:8123";
        assert_eq!(
            environment(&command),
            [
                ("ALL_PROXY", proxy),
                ("GRADLE_OPTS", format!("{java} -Xmx1g").as_str()),
                ("HTTPS_PROXY", proxy),
                ("HTTP_PROXY", proxy),
                ("MAVEN_OPTS", java),
                ("NO_PROXY", "localhost"),
                ("SBT_OPTS", java),
                ("http_proxy", proxy),
                ("https_proxy", proxy),
                ("no_proxy", "localhost"),
            ]
        );
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
