//! Values that a flag and a configuration file write alike.

use std::time::Duration;

use clap::ValueEnum;
use serde::Deserialize;

/// What may be done without asking, from the strictest to the freest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModeName {
    // Only what reads. (Documentation comments here would double the length of --help.)
    ReadOnly,
    // What reads; each change and each command is asked about.
    Ask,
    // Everything but what the rules say must be asked about.
    Auto,
}

/// The walls around commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SandboxName {
    // The best that this machine gives.
    #[default]
    Auto,
    // Own namespaces, Landlock, seccomp.
    A,
    // The same, made by bubblewrap.
    B,
    // Landlock and seccomp alone.
    C,
    // None.
    Off,
}

/// The colours of the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ThemeName {
    // By the terminal's background, as far as it tells it.
    #[default]
    Auto,
    // For a light one.
    Light,
    // For a dark one.
    Dark,
    // The terminal's own palette.
    Terminal,
}

/// How a person who looks elsewhere is told that something waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NotifyName {
    // Not at all.
    #[default]
    Off,
    // The terminal's bell.
    Bell,
    // A notification of the desktop, by the terminal.
    Desktop,
}

/// Reads a time: seconds, or a number with `s`, `m` or `h`.
pub(crate) fn time(text: &str) -> Result<Duration, &'static str> {
    let (number, seconds) = match text.as_bytes().last() {
        Some(b's') => (text.strip_suffix('s'), 1),
        Some(b'm') => (text.strip_suffix('m'), 60),
        Some(b'h') => (text.strip_suffix('h'), 3_600),
        _ => (Some(text), 1),
    };
    let number = number.and_then(|number| number.parse::<u64>().ok()).filter(|number| *number > 0);
    let seconds = number.and_then(|number| number.checked_mul(seconds));
    seconds.map(Duration::from_secs).ok_or("a time above 0, such as 90, 90s, 10m or 2h")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        let cases = [("90", Some(90)), ("5s", Some(5)), ("10m", Some(600)), ("2h", Some(7_200))];
        let wrong =
            ["0", "", "m", "-1", "1d", "1.5h", "18446744073709551615h"].map(|text| (text, None));
        for (text, seconds) in cases.into_iter().chain(wrong) {
            assert_eq!(time(text).ok(), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
