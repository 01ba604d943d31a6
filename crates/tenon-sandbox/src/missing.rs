//! Why a tier cannot be had, in one sentence, and how to mend it.

use std::fmt;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::linux::bubblewrap::BUBBLEWRAP;
use crate::linux::landlock::LANDLOCK_VERSION_MIN;
use crate::linux::probe::{Kernel, is_program_readable, probe};
use crate::linux::request::{Refused, Wall};
use crate::tier::Tier;

/// What the kernel says where a name went, or another thing is there now; the last is what
/// [`crate::linux`] says where one came.
const CHANGED: [Errno; 4] = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::STALE];

/// A tier that cannot be had. Nothing was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxError {
    /// Which tier.
    pub tier: Tier,
    /// What it needs and does not get.
    pub missing: Missing,
}

/// What a tier needs and does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// `user.max_user_namespaces` is used up, mostly because it is 0.
    NamespaceCount,
    /// Ubuntu's AppArmor takes the rights inside user namespaces from unknown programs.
    AppArmor,
    /// This program's file can be executed and not read, and so nobody maps ids for what it starts.
    Unreadable,
    /// A setting of Debian's kernel forbids user namespaces to ordinary users.
    NamespacesSwitchedOff,
    /// The kernel or a container forbids namespaces.
    Namespaces,
    /// The walls of another tenon stand around this one.
    WithinWalls,
    /// They let nobody list the folders whose names must be told apart.
    Unlisted,
    /// A container hides parts of /proc, so no new one may be mounted.
    Proc,
    /// Mounts cannot be changed as they must be (Linux 5.12).
    OldKernel {
        /// The kernel's release.
        release: String,
    },
    /// Landlock is too old or switched off.
    Landlock {
        /// The version that is there.
        version: Option<u32>,
    },
    /// No filter for system calls.
    Seccomp,
    /// The workspace is `/`.
    WholeFileSystem,
    /// Named hosts go through a proxy, which needs namespaces.
    Proxy,
    /// Bubblewrap is not there.
    NoBubblewrap,
    /// Others than root can change what is there as bubblewrap.
    ForeignBubblewrap,
    /// Bubblewrap ended before the command began.
    Bubblewrap {
        /// What it said.
        said: String,
    },
    /// Protected names or toolchains in the workspace came and went while the walls were made around them.
    NamesChanged,
    /// What leads to keys and credentials was exchanged more often than it is known where it led.
    ClosedPlaces,
    /// A folder that a call was granted is not there.
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// Commands could write tenon's own state, by which settings are put back after a kill.
    State {
        /// The folder.
        path: PathBuf,
    },
    /// Commands could write what is kept for undo.
    UndoStore {
        /// The folder.
        path: PathBuf,
    },
    /// It could not be noted how settings were, for a start after a kill.
    Note {
        /// The error number.
        code: i32,
    },
    /// The helper ended or did not answer.
    Helper,
    /// There are as many processes as there may be.
    Room,
    /// Anything else that the kernel refused.
    Step {
        /// Which part.
        step: &'static str,
        /// The error number.
        code: i32,
    },
    /// No walls were asked for, and a confined command came.
    NoWalls,
}

impl SandboxError {
    pub(crate) fn new(tier: Tier, missing: Missing) -> Self {
        Self { tier, missing }
    }

    /// Returns the error of a helper that could not be started.
    pub(crate) fn not_started(tier: Tier, error: &std::io::Error) -> Self {
        let is_full = Errno::from_io_error(error) == Some(Errno::AGAIN);
        Self::new(tier, if is_full { Missing::Room } else { Missing::Helper })
    }

    /// Returns the error of a bubblewrap that ended with these words.
    pub(crate) fn of_bubblewrap(said: &str) -> Self {
        let missing = match is_of_names(said) {
            true => Missing::NamesChanged,
            false => Missing::Bubblewrap { said: said.to_owned() },
        };
        Self::new(Tier::B, missing)
    }

    pub(crate) fn refused(tier: Tier, refused: Refused) -> Self {
        Self { tier, missing: missing(refused, &probe()) }
    }

    /// Returns how to mend it, as an imperative sentence, if there is a way.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match &self.missing {
            Missing::NamespaceCount => {
                "set `sysctl user.max_user_namespaces=15000` as root, and in /etc/sysctl.d to keep it"
            }
            Missing::AppArmor => {
                "install the package bubblewrap for tier B, give tenon an AppArmor profile with \
                 `userns,`, or set `sysctl kernel.apparmor_restrict_unprivileged_userns=0` as root"
            }
            Missing::Unreadable => {
                "let everybody read the file of the program that runs: `chmod a+r` for tenon"
            }
            Missing::NamespacesSwitchedOff => {
                "set `sysctl kernel.unprivileged_userns_clone=1` as root"
            }
            Missing::Namespaces => {
                "in a container, allow user namespaces and mounts (docker: `--security-opt \
                 seccomp=unconfined --security-opt apparmor=unconfined`, or podman)"
            }
            Missing::WithinWalls => {
                "use tier C within them; whatever the inner tenon starts, the outer walls hold too"
            }
            Missing::Unlisted => {
                "give the outer tenon tier A or B, or the inner one `--sandbox off`: whatever it starts, \
                 the outer walls hold too"
            }
            Missing::Proc => {
                "start the container so that /proc is whole (docker: `--security-opt \
                 systempaths=unconfined`)"
            }
            Missing::OldKernel { .. } => "use Linux 5.12 or newer",
            Missing::Landlock { .. } => {
                "use Linux 6.2 or newer with `landlock` in the kernel's `lsm=` list"
            }
            Missing::Seccomp => "use a kernel with CONFIG_SECCOMP_FILTER",
            Missing::WholeFileSystem => "start in a folder below /",
            Missing::NoBubblewrap => "install the package bubblewrap",
            Missing::ForeignBubblewrap => {
                "install the package bubblewrap anew, so that /usr/bin/bwrap belongs to root and \
                 nobody else can write it"
            }
            Missing::Bubblewrap { said } => hint_for_bubblewrap(said),
            Missing::NamesChanged => {
                "try again once no other program makes and removes protected names or toolchains there \
                 (`.vscode`, `.git/hooks`, `~/.cargo`)"
            }
            Missing::ClosedPlaces => PUT_LINKS_BACK,
            Missing::Proxy => "use tier A or B, or open the whole network for the session",
            Missing::Folder { .. } => "put the folder back where it was",
            Missing::State { .. } => {
                "let XDG_STATE_HOME name a folder outside of the workspace, without links that \
                 lie in it"
            }
            Missing::UndoStore { .. } => {
                "start in a folder beneath the top of that disk or volume, so that it is kept beside that \
                 folder; let XDG_STATE_HOME name a folder on it that is in no folder of the session; or \
                 set `undo = false`"
            }
            Missing::Note { .. } => {
                "make room there, and see that the folder `own` in it belongs to you and that nobody \
                 else can write it; or let XDG_STATE_HOME name a folder that you can write"
            }
            Missing::Room => {
                "end programs that run beside it, or raise the limit of processes (`ulimit -u`, a \
                 container's own)"
            }
            Missing::Helper | Missing::Step { .. } | Missing::NoWalls => return None,
        })
    }

    /// Whether another tier could do where this one cannot.
    pub(crate) fn is_of_machine(&self) -> bool {
        !matches!(
            self.missing,
            Missing::WholeFileSystem
                | Missing::NamesChanged
                | Missing::ClosedPlaces
                | Missing::Folder { .. }
                | Missing::Helper
                | Missing::Room
                | Missing::Proxy
                | Missing::State { .. }
                | Missing::UndoStore { .. }
                | Missing::Note { .. }
        )
    }
}

impl fmt::Display for SandboxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} cannot be had: ", self.tier)?;
        match &self.missing {
            Missing::NamespaceCount => formatter.write_str("no more user namespaces are allowed"),
            Missing::AppArmor => {
                formatter.write_str("AppArmor takes the rights in user namespaces away")
            }
            Missing::Unreadable => {
                formatter.write_str("the file of this program may be executed and not read")
            }
            Missing::NamespacesSwitchedOff => {
                formatter.write_str("user namespaces are switched off for ordinary users")
            }
            Missing::Namespaces => {
                formatter.write_str("this kernel or container refuses namespaces")
            }
            Missing::WithinWalls => {
                formatter.write_str("the walls of another tenon refuse namespaces")
            }
            Missing::Unlisted => {
                formatter.write_str("the walls of another tenon let nobody list what may be read")
            }
            Missing::Proc => formatter.write_str("no new /proc may be mounted in this container"),
            Missing::OldKernel { release } => {
                write!(formatter, "Linux {release} cannot make a tree of mounts read-only")
            }
            Missing::Landlock { version: None } => {
                formatter.write_str("Landlock is not there or switched off")
            }
            Missing::Landlock { version: Some(version) } => {
                write!(formatter, "Landlock has version {version} and must have 3")
            }
            Missing::Seccomp => formatter.write_str("system calls cannot be filtered"),
            Missing::WholeFileSystem => {
                formatter.write_str("the workspace is the whole file system")
            }
            Missing::NoBubblewrap => write!(formatter, "{BUBBLEWRAP} is not there"),
            Missing::ForeignBubblewrap => {
                write!(formatter, "{BUBBLEWRAP} can be changed by others than root")
            }
            Missing::Bubblewrap { said } => write!(formatter, "bubblewrap ended: {said}"),
            Missing::NamesChanged => {
                formatter.write_str("names in the workspace changed while the walls were made")
            }
            Missing::ClosedPlaces => formatter.write_str(TOO_MANY_LINKS),
            Missing::Proxy => formatter.write_str("single hosts cannot be let through"),
            Missing::Folder { path } => {
                write!(formatter, "{} is not there, or behind a link", path.display())
            }
            Missing::State { path } => {
                let path = path.display();
                write!(formatter, "commands could write tenon's own state, {path}")
            }
            Missing::UndoStore { path } => {
                write!(formatter, "commands could write what is kept for undo, {}", path.display())
            }
            Missing::Note { code } => {
                let error = std::io::Error::from_raw_os_error(*code);
                write!(formatter, "tenon's state folder cannot be written: {error}")
            }
            Missing::Helper => formatter.write_str("its helper process ended or did not answer"),
            Missing::Room => formatter.write_str("no further process can be started"),
            Missing::Step { step, code } => {
                let error = std::io::Error::from_raw_os_error(*code);
                write!(formatter, "{step} failed: {error}")
            }
            Missing::NoWalls => formatter.write_str("the command asks for walls"),
        }
    }
}

impl std::error::Error for SandboxError {}

/// What [`Missing::ClosedPlaces`] is, and how to mend it.
const TOO_MANY_LINKS: &str =
    "links at places of keys and credentials were exchanged more often than is remembered";
const PUT_LINKS_BACK: &str = "put links at places of keys and credentials back as they were \
    (`ls -ld ~/.??*` shows them), or start tenon anew";

/// Returns how to mend that bubblewrap ended with these words.
fn hint_for_bubblewrap(said: &str) -> &'static str {
    if said.contains("nknown option") {
        "install bubblewrap 0.8.0 or newer with `--bind-fd`"
    } else if said.contains("maximum number of arguments") {
        "let variables such as KUBECONFIG name fewer files: bubblewrap takes 9,000 arguments, some for each \
         file that it hides"
    } else {
        "see that `bwrap --unshare-all --ro-bind / / true` works: on Ubuntu, load the AppArmor profile \
         bwrap-userns-restrict of the package apparmor-profiles"
    }
}

/// Whether bubblewrap missed something that was there when it was opened, or found something else.
fn is_of_names(said: &str) -> bool {
    let begins = |known: &[&str]| known.iter().any(|known| said.starts_with(known));
    begins(&["Can't find source path /proc/self/fd/", "Race condition binding dirfd"])
        || begins(&["Can't bind mount", "Can't get type of source", "Can't stat mount at"])
            && (said.ends_with("No such file or directory") || said.ends_with("in mount table"))
        // A disk that was mounted when bubblewrap read the list of them, and is not any more.
        || said.contains("Unable to apply mount flags: remount") && said.ends_with("Invalid argument")
}

fn missing(Refused { wall, errno }: Refused, kernel: &Kernel) -> Missing {
    let denied = matches!(errno, Errno::PERM | Errno::ACCESS);
    match wall {
        // The kernel makes its processes root's for all who look at them.
        Wall::IdMap if denied && !is_program_readable() => Missing::Unreadable,
        Wall::Namespaces | Wall::Mounts | Wall::IdMap if denied && kernel.apparmor_restricts => {
            Missing::AppArmor
        }
        Wall::Namespaces if denied && kernel.namespaces_switched_off => {
            Missing::NamespacesSwitchedOff
        }
        Wall::Namespaces if errno == Errno::NOSPC => Missing::NamespaceCount,
        Wall::Namespaces if errno == Errno::AGAIN => Missing::Room,
        Wall::Namespaces => Missing::Namespaces,
        Wall::Mounts if errno == Errno::NOSYS => {
            Missing::OldKernel { release: kernel.release.clone() }
        }
        Wall::Mounts if denied => Missing::Namespaces,
        Wall::Proc if denied => Missing::Proc,
        Wall::Mounts if errno == Errno::STALE => Missing::NamesChanged,
        Wall::Protected if CHANGED.contains(&errno) => Missing::NamesChanged,
        Wall::Landlock if kernel.landlock_abi < Some(LANDLOCK_VERSION_MIN) => {
            Missing::Landlock { version: kernel.landlock_abi }
        }
        Wall::Seccomp if !kernel.seccomp => Missing::Seccomp,
        wall => Missing::Step { step: step(wall), code: errno.raw_os_error() },
    }
}

fn step(wall: Wall) -> &'static str {
    match wall {
        Wall::Namespaces => "making namespaces",
        Wall::IdMap => "mapping the user's id",
        Wall::Mounts => "laying out the file tree",
        Wall::Proc => "mounting /proc",
        Wall::Loopback => "switching the loopback interface on",
        Wall::Protected => "protecting names in the workspace",
        Wall::Ids => "taking the workspace owner's id",
        Wall::Capabilities => "giving up capabilities",
        Wall::Landlock => "enforcing Landlock",
        Wall::Seccomp => "installing the filter for system calls",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_came_or_went_are_told_from_a_tier_that_is_not_there() {
        let check = |said: &str, expected: bool| {
            let error = SandboxError::of_bubblewrap(said);
            assert_eq!(error.missing == Missing::NamesChanged, expected, "{said}");
        };
        let gone = "No such file or directory";
        check(&format!("Can't find source path /proc/self/fd/6: {gone}"), true);
        check("Race condition binding dirfd", true);
        let unmounted = "Can't bind mount /oldroot/ on /newroot/: Unable to apply mount flags: remount \"/newroot/a\": ";
        check(&format!("{unmounted}Invalid argument"), true);
        check(&format!("{unmounted}Operation not permitted"), false);
        check(&format!("Can't bind mount /oldroot/a on /newroot/a: {gone}"), true);
        check(
            "Can't bind mount /oldroot/a on /newroot/b: Unable to find \"/newroot/b\" in mount table",
            true,
        );
        check(&format!("Can't find source path /srv/a: {gone}"), false);
        check("Can't bind mount /oldroot/a on /newroot/a: Permission denied", false);
        check("setting up uid map: Permission denied", false);
        let refused =
            |errno| SandboxError::refused(Tier::B, Wall::Protected.refused(errno)).missing;
        assert_eq!(refused(Errno::STALE), Missing::NamesChanged);
        assert_ne!(refused(Errno::NOTSUP), Missing::NamesChanged);
        let refused = |errno| SandboxError::refused(Tier::A, Wall::Mounts.refused(errno)).missing;
        assert_eq!(refused(Errno::STALE), Missing::NamesChanged);
        assert_ne!(refused(Errno::LOOP), Missing::NamesChanged);
    }

    #[test]
    fn what_keeps_namespaces_from_being_made_is_told_apart() {
        let plain = Kernel { apparmor_restricts: false, namespaces_switched_off: false, ..probe() };
        let ubuntu = Kernel { apparmor_restricts: true, ..plain.clone() };
        let debian = Kernel { namespaces_switched_off: true, ..plain.clone() };
        let (denied, closed) = (Errno::PERM, Errno::ACCESS);
        for (kernel, wall, errno, expected) in [
            // Ubuntu lets namespaces be made and gives no rights in them.
            (&ubuntu, Wall::Namespaces, denied, Missing::AppArmor),
            (&ubuntu, Wall::IdMap, closed, Missing::AppArmor),
            (&ubuntu, Wall::Mounts, closed, Missing::AppArmor),
            (&ubuntu, Wall::Proc, denied, Missing::Proc),
            (&ubuntu, Wall::Namespaces, Errno::NOSPC, Missing::NamespaceCount),
            (&debian, Wall::Namespaces, denied, Missing::NamespacesSwitchedOff),
            (&debian, Wall::Namespaces, Errno::NOSPC, Missing::NamespaceCount),
            // A container, whose filter forbids the call, or mounting in a namespace of its own.
            (&plain, Wall::Namespaces, denied, Missing::Namespaces),
            (&plain, Wall::Namespaces, Errno::INVAL, Missing::Namespaces),
            (&plain, Wall::Mounts, closed, Missing::Namespaces),
            // Parts of /proc are covered there.
            (&plain, Wall::Proc, denied, Missing::Proc),
            (&plain, Wall::Namespaces, Errno::AGAIN, Missing::Room),
        ] {
            let found = missing(wall.refused(errno), kernel);
            assert_eq!(found, expected, "{wall:?}, {errno:?}");
        }
    }
}
