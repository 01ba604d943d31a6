//! What a command is told that looked for what the kernel keeps to itself in /proc, or wanted to change
//! something there or in /sys.
//!
//! Told is by where a path lies, never whether something is there. The file tools never open these.

use std::path::Path;

use tenon_sandbox::is_closed_in_proc;

use super::refused_calls::DENIED;

/// Where files are the kernel's.
const TOPS: [&str; 2] = ["/proc/", "/sys/"];

/// What begins the complaint of a program that names what is in /proc/sys in a way of its own.
const SYSCTL: &str = "sysctl: ";

/// What programs say of it; what is masked looks as if it were not there.
const MISSING: [&str; 2] = ["no such file", "enoent"];
const NOT_PERMITTED: [&str; 2] = ["operation not permitted", "eperm"];
const READ_ONLY: [&str; 2] = ["read-only file system", "erofs"];

pub(super) const KERNEL_HELD: &str = "files: the kernel's own memory and messages in /proc, and memory, files and environment \
                                      of the processes of others there, are closed to commands; --sandbox off would \
                                      open them as far as the user may";
pub(super) const SETTINGS_HELD: &str = "files: commands change nothing in /proc and /sys, and do not read all that is there; --sandbox off \
                             would let them as far as the user may";

/// Whether `path` is what the kernel keeps to itself, or within a process that has a number.
pub(super) fn is_closed(path: &str) -> bool {
    name_in_proc(path).is_some_and(|name| is_closed_in_proc(name) || is_number(name))
}

/// Returns what is said of a line of a complaint that names `paths`. `sees_others` where names and
/// arguments of the processes of others are in sight.
pub(super) fn sentence<'a>(
    line: &str,
    mut paths: impl Iterator<Item = &'a str>,
    sees_others: bool,
) -> Option<&'static str> {
    let is_of_setting = line.contains(SYSCTL);
    if !is_of_setting && TOPS.iter().all(|top| !line.contains(top)) {
        return None;
    }
    let line = line.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| line.contains(words));
    let is_refused = says(&DENIED) || says(&NOT_PERMITTED) || says(&READ_ONLY);
    if is_of_setting && is_refused {
        return Some(SETTINGS_HELD);
    }
    if !is_refused && !says(&MISSING) {
        return None;
    }
    paths.find_map(|path| {
        let number = name_in_proc(path).filter(|name| is_number(name));
        if is_closed(path) && !says(&READ_ONLY) {
            // Where those of others are in sight, one that is not has ended.
            let has_ended = !is_refused && sees_others && number.is_some();
            return (!has_ended).then_some(KERNEL_HELD);
        }
        let is_there = TOPS.iter().any(|top| path.starts_with(top));
        (is_refused && is_there).then_some(SETTINGS_HELD)
    })
}

/// Whether a path lies where files are the kernel's.
pub(super) fn is_of_kernel(path: &Path) -> bool {
    TOPS.iter().any(|top| path.starts_with(top))
}

fn name_in_proc(path: &str) -> Option<&str> {
    path.strip_prefix("/proc/")?.split('/').find(|name| !name.is_empty())
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_keeps_to_itself_is_told_by_where_it_lies() {
        let check = |line: &str, path: &str, sees_others: bool, expected: Option<&str>| {
            let found = sentence(line, std::iter::once(path), sees_others);
            assert_eq!(found, expected, "{line}");
        };
        let held = Some(KERNEL_HELD);
        for sees_others in [false, true] {
            let gone = "cat: /proc/kcore: No such file or directory";
            check(gone, "/proc/kcore", sees_others, held);
            check("cat: /proc/kmsg: Operation not permitted", "/proc/kmsg", sees_others, held);
            let root = "ls: cannot access '/proc/1/root': Permission denied";
            check(root, "/proc/1/root", sees_others, held);
            let settings = "bash: /proc/sys/kernel/panic: Read-only file system";
            check(settings, "/proc/sys/kernel/panic", sees_others, Some(SETTINGS_HELD));
            for line in [
                "sysctl: permission denied on key \"kernel.panic\"",
                "sysctl: setting key \"kernel.panic\": Read-only file system",
            ] {
                check(line, "kernel.panic", sees_others, Some(SETTINGS_HELD));
            }
            check("sysctl: cannot stat /proc/sys/x: No such file", "x", sees_others, None);
            check("cat: /proc/none: No such file or directory", "/proc/none", sees_others, None);
            check("cat: /etc/x: Permission denied", "/etc/x", sees_others, None);
            check("PID 7 in /proc/7/fd", "/proc/7/fd", sees_others, None);
        }
        let ended = "cat: /proc/4711/comm: No such file or directory";
        check(ended, "/proc/4711/comm", false, held);
        check(ended, "/proc/4711/comm", true, None);
    }

    #[test]
    fn only_numbers_and_the_kernels_own_are_closed() {
        for (path, expected) in [
            ("/proc/kcore", true),
            ("/proc//1/environ", true),
            ("/proc/self/environ", false),
            ("/proc/cpuinfo", false),
            ("/proc", false),
            ("/process/1", false),
        ] {
            assert_eq!(is_closed(path), expected, "{path}");
        }
    }
}
