//! What this kernel gives, for people who ask why something is refused.
//!
//! A handful of questions that change nothing and start nothing.

#![expect(unsafe_code, reason = "questions to the kernel that no library asks")]

use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::control::last_errno;
use super::landlock::LANDLOCK_VERSION_MIN;
use super::limits::has_own_pid_max;
use super::notify::is_possible;
use super::openat::openat2;
use super::within::within_walls;

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
    /// Processes of this user may have namespaces of their own, as far as settings and the filter of system calls tell
    /// that a container may have around this one.
    pub user_namespaces: bool,
    /// Ubuntu's AppArmor takes the rights inside user namespaces from unknown programs.
    pub apparmor_restricts: bool,
    /// Debian's setting forbids user namespaces to ordinary users.
    pub namespaces_switched_off: bool,
    /// System calls can be filtered.
    pub seccomp: bool,
    /// A tree of mounts can be changed at once (Linux 5.12).
    pub mount_setattr: bool,
    /// Each pid namespace can have a limit of its own (Linux 6.14).
    pub pid_max_in_namespace: bool,
    /// The overlay file system is there; a module that is not loaded counts as not there.
    pub overlayfs: bool,
}

impl Kernel {
    /// Whether walls with namespaces of their own are to be expected; only trying tells.
    pub(crate) fn confines_inside(&self) -> bool {
        self.user_namespaces && self.mount_setattr && self.confines_alone()
    }

    /// Whether Landlock and the filter for system calls are there.
    pub(crate) fn confines_alone(&self) -> bool {
        self.seccomp && self.landlock_abi.is_some_and(|version| version >= LANDLOCK_VERSION_MIN)
    }
}

/// Asks the kernel. Takes well below a millisecond.
#[must_use]
pub fn probe() -> Kernel {
    let me = rustix::process::getpid();
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let of_namespaces = NamespaceSettings::read(Path::new("/proc"));
    Kernel {
        pid_max_in_namespace: has_own_pid_max(&release),
        release,
        apparmor_restricts: of_namespaces.apparmor_restricts,
        namespaces_switched_off: of_namespaces.switched_off,
        seccomp: seccomp_action(libc::SECCOMP_RET_ERRNO),
        mount_setattr: mount_setattr(),
        openat2: openat2(
            CWD,
            ".",
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
        )
        .is_ok(),
        pidfd: rustix::process::pidfd_open(me, rustix::process::PidfdFlags::empty()).is_ok(),
        landlock_abi: landlock_abi(),
        seccomp_user_notify: seccomp_action(libc::SECCOMP_RET_USER_NOTIF),
        user_namespaces: !within_walls()
            && of_namespaces.let_make(runs_as_root())
            && !is_unshare_filtered(),
        overlayfs: setting("/proc/filesystems")
            .is_some_and(|text| text.lines().any(|line| line.ends_with("\toverlay"))),
    }
}

/// Whether a filter of system calls takes away what makes user namespaces. The kernel itself answers that one of the
/// flags is none of its own, before it makes anything.
fn is_unshare_filtered() -> bool {
    const NO_FLAG: libc::c_int = 1;
    // SAFETY: with a flag that there is not, nothing is changed.
    let answer = unsafe { libc::unshare(libc::CLONE_NEWUSER | NO_FLAG) };
    answer == -1 && last_errno() != Errno::INVAL
}

/// Whether this user may read the file of this program.
pub(crate) fn is_program_readable() -> bool {
    rustix::fs::access("/proc/self/exe", Access::READ_OK).is_ok()
}

/// Returns whether a command can be held to what its profile lets it write. Asked once.
#[must_use]
pub fn confines_writes() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| landlock_abi().is_some_and(|version| version >= LANDLOCK_VERSION_MIN))
}

/// Whether a command's calls can be asked about before they are made. Asked once: before each command
/// somebody wants to know.
pub(crate) fn asks_about_calls() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        is_possible() && seccomp_action(libc::SECCOMP_RET_USER_NOTIF) && !within_walls()
    })
}

/// Whether Landlock holds a process to sockets in folders that it may write (from Linux 7.1 on).
pub(crate) fn holds_sockets_with_a_path() -> bool {
    const VERSION: u32 = 9;
    landlock_abi().is_some_and(|version| version >= VERSION)
}

fn landlock_abi() -> Option<u32> {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the call takes no attributes and answers with a number.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    };
    u32::try_from(answer).ok().filter(|version| *version > 0)
}

fn seccomp_action(action: u32) -> bool {
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

/// Whether the call is there: it refuses this descriptor, not itself.
fn mount_setattr() -> bool {
    let attributes = libc::mount_attr { attr_set: 0, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path is a string, and the structure has the size that is told.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            -1,
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    answer == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

/// Whether this process has the user id of root, whose rights commands inside walls do not have.
#[must_use]
pub fn runs_as_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What may be closed to a user, walls or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// To read what is there.
    Read,
    /// To come to what is in the folder by its name.
    Enter,
    /// To write what is there, or to make it.
    Write,
    /// To remove what is there, or to give it another name.
    Remove,
    /// To give what is there other permissions or another owner.
    Own,
    /// To give what is there a further name elsewhere.
    Link,
}

/// Whether the system refuses this user a `wish` at `path`, walls or not: by permissions, or since the disk is
/// read-only. Of what is not there the folder counts in which it would be made.
#[must_use]
pub fn is_closed_to_user(path: &Path, wish: Wish) -> bool {
    let tried = |path: &Path, access| rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS);
    let is_refused = |tried| matches!(tried, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS));
    match wish {
        Wish::Read | Wish::Link => is_refused(tried(path, Access::READ_OK)),
        Wish::Enter => is_refused(tried(path, Access::EXEC_OK)),
        Wish::Write => match tried(path, Access::WRITE_OK) {
            Err(Errno::NOENT) => path.parent().is_some_and(|it| is_closed_to_user(it, wish)),
            tried => is_refused(tried),
        },
        Wish::Remove => path.parent().is_some_and(|it| is_closed_to_user(it, Wish::Write)),
        Wish::Own => match rustix::fs::stat(path) {
            Ok(found) => !runs_as_root() && found.st_uid != rustix::process::geteuid().as_raw(),
            found => is_refused(found.map(drop)),
        },
    }
}

/// What the kernel's settings say of user namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamespaceSettings {
    /// As [`Kernel::apparmor_restricts`].
    pub(crate) apparmor_restricts: bool,
    /// As [`Kernel::namespaces_switched_off`].
    pub(crate) switched_off: bool,
    /// At least one may be made.
    is_any_allowed: bool,
}

impl NamespaceSettings {
    /// Reads what stands beneath `proc`, which is `/proc` of this machine. A kernel without one of the
    /// first two settings does not restrict so.
    pub(crate) fn read(proc: &Path) -> Self {
        let number = |name: &str| -> Option<u64> { setting(proc.join(name))?.trim().parse().ok() };
        let apparmor = number("sys/kernel/apparmor_restrict_unprivileged_userns");
        Self {
            apparmor_restricts: apparmor.is_some_and(|on| on > 0),
            switched_off: number("sys/kernel/unprivileged_userns_clone") == Some(0),
            is_any_allowed: number("sys/user/max_user_namespaces").is_some_and(|limit| limit > 0),
        }
    }

    fn let_make(self, is_root: bool) -> bool {
        self.is_any_allowed && (is_root || !self.switched_off && !self.apparmor_restricts)
    }
}

#[expect(clippy::disallowed_methods, reason = "settings of the kernel, not files of anybody's")]
fn setting(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a folder that stands for /proc")]
    fn what_restricts_user_namespaces_is_read_from_settings() {
        const APPARMOR: &str = "sys/kernel/apparmor_restrict_unprivileged_userns";
        const DEBIAN: &str = "sys/kernel/unprivileged_userns_clone";
        const COUNT: &str = "sys/user/max_user_namespaces";
        let check = |files: &[(&str, &str)], restricts, off, for_root, for_others| {
            let proc = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let file = proc.path().join(name);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            let read = NamespaceSettings::read(proc.path());
            assert_eq!((read.apparmor_restricts, read.switched_off), (restricts, off), "{files:?}");
            assert_eq!((read.let_make(true), read.let_make(false)), (for_root, for_others));
        };
        let some = (COUNT, "63432\n");
        check(&[some], false, false, true, true);
        check(&[some, (APPARMOR, "0\n"), (DEBIAN, "1\n")], false, false, true, true);
        check(&[some, (APPARMOR, "1\n")], true, false, true, false);
        check(&[some, (DEBIAN, "0\n")], false, true, true, false);
        check(&[some, (APPARMOR, "1\n"), (DEBIAN, "0\n")], true, true, true, false);
        check(&[(COUNT, "0\n"), (APPARMOR, "0\n")], false, false, false, false);
        // Without /proc, and with one of something else.
        check(&[], false, false, false, false);
        check(&[(COUNT, "many\n"), (APPARMOR, "\n")], false, false, false, false);
    }

    #[test]
    fn a_filter_that_takes_namespaces_away_is_noticed() {
        use super::super::filter::{Calls, Filter, call, refuse};
        assert!(!is_unshare_filtered());
        // It holds this thread alone.
        let filtered = std::thread::spawn(|| {
            let calls = Calls::from([(call(libc::SYS_unshare), vec![refuse(Errno::PERM)])]);
            rustix::thread::set_no_new_privs(true).unwrap();
            Filter::of(&calls).install(0).unwrap();
            (is_unshare_filtered(), probe().user_namespaces)
        });
        assert_eq!(filtered.join().unwrap(), (true, false));
    }

    #[test]
    fn the_kernel_opens_files_beneath_folders() {
        let kernel = probe();
        assert!(kernel.openat2 && kernel.pidfd, "{kernel:?}");
        assert!(kernel.release.starts_with(|first: char| first.is_ascii_digit()), "{kernel:?}");
    }
}
