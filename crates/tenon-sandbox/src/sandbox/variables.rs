//! Variables that commands behind walls get besides their own.

use crate::command::Command;

/// Adds what every command behind walls gets, and takes away what is not there. `port` is where the proxy
/// listens.
pub(super) fn put_behind_walls(command: &mut Command, port: Option<u16>) {
    if let Some(port) = port {
        use_proxy(command, port);
    }
    without_tracing(command);
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

fn use_proxy(command: &mut Command, port: u16) {
    let address = format!("http://127.0.0.1:{port}");
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        set(command, name, address.as_ref());
    }
    for name in ["no_proxy", "NO_PROXY"] {
        set(command, name, "localhost,127.0.0.1,::1".as_ref());
    }
}

pub(super) fn set(command: &mut Command, name: &str, value: &std::ffi::OsStr) {
    command.environment.retain(|(known, _)| known != name);
    command.environment.push((name.into(), value.to_owned()));
}
