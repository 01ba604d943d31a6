//! What this kernel gives, for people who ask why something is refused.
//!
//! A handful of questions that change nothing and start nothing.

#![expect(unsafe_code, reason = "two questions to the kernel that no library asks")]

use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::landlock::LANDLOCK_VERSION_MIN;

/// What the kernel of this machine gives this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Release, as `uname -r` prints it.
    pub release: String,
    /// Files can be opened so that they cannot lead out of a folder (Linux 5.6). Without it no
    /// file is opened at all.
    pub openat2: bool,
    /// Descriptors for processes (Linux 5.3).
    pub pidfd: bool,
    /// Version of Landlock, if it is there and switched on.
    pub landlock_abi: Option<u32>,
    /// System calls can be handed to another process for a decision (Linux 5.0).
    pub seccomp_user_notify: bool,
    /// Processes of this user may have namespaces of their own, as far as settings tell.
    pub user_namespaces: bool,
    /// The overlay file system is there; a module that is not loaded counts as not there.
    pub overlayfs: bool,
    /// Limits for groups of processes, version 2, are mounted.
    pub cgroup_v2: bool,
}

/// Asks the kernel. Takes well below a millisecond.
#[must_use]
pub fn probe() -> Kernel {
    let me = rustix::process::getpid();
    Kernel {
        release: rustix::system::uname().release().to_string_lossy().into_owned(),
        openat2: rustix::fs::openat2(
            rustix::fs::CWD,
            ".",
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
        )
        .is_ok(),
        pidfd: rustix::process::pidfd_open(me, rustix::process::PidfdFlags::empty()).is_ok(),
        landlock_abi: landlock_abi(),
        seccomp_user_notify: seccomp_user_notify(),
        user_namespaces: user_namespaces(),
        overlayfs: setting("/proc/filesystems")
            .is_some_and(|text| text.lines().any(|line| line.ends_with("\toverlay"))),
        cgroup_v2: setting("/sys/fs/cgroup/cgroup.controllers").is_some(),
    }
}

/// Returns whether a command can be held to what its profile lets it write. Asked once.
#[must_use]
pub fn confines_writes() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| landlock_abi().is_some_and(|version| version >= LANDLOCK_VERSION_MIN))
}

fn landlock_abi() -> Option<u32> {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the call takes no attributes and answers with a number.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    u32::try_from(answer).ok().filter(|version| *version > 0)
}

fn seccomp_user_notify() -> bool {
    let action: u32 = libc::SECCOMP_RET_USER_NOTIF;
    // SAFETY: the call reads one number through the pointer.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0_u32,
            std::ptr::from_ref(&action),
        )
    };
    answer == 0
}

fn user_namespaces() -> bool {
    let number = |path| setting(path).and_then(|text| text.trim().parse::<u64>().ok());
    let is_root = rustix::process::geteuid().is_root();
    number("/proc/sys/user/max_user_namespaces").is_some_and(|limit| limit > 0)
        && (is_root
            || number("/proc/sys/kernel/unprivileged_userns_clone") != Some(0)
                && number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
                    .is_none_or(|restricted| restricted == 0))
}

#[expect(clippy::disallowed_methods, reason = "settings of the kernel, not files of anybody's")]
fn setting(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_opens_files_beneath_folders() {
        let kernel = probe();
        assert!(kernel.openat2 && kernel.pidfd, "{kernel:?}");
        assert!(kernel.release.starts_with(|first: char| first.is_ascii_digit()), "{kernel:?}");
    }
}
