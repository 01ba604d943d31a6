//! Folders on the machine's disk for what is thrown away when the session ends, in the tiers that
//! have no file systems of their own for it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::unkept;
use crate::linux::bubblewrap::{EMPTY_FILE, EMPTY_FOLDER, directly_in};
use crate::linux::layout::{Layout, Part};
use crate::missing::{Missing, SandboxError};
use crate::tier::Tier;

/// Where they are made, and how their names begin.
const ABOVE: &str = "/tmp";
const NAME: &str = "tenon-";
/// Random bytes in a name, which has two digits for each.
const NAME_BYTES: usize = 12;

/// One that is being made is younger.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(60);

/// A session looks for what others left behind once.
static ONCE: Once = Once::new();

/// A new folder that only this user can look into, removed at the end.
pub(super) struct Scratch {
    path: PathBuf,
    /// Locked as long as somebody uses the folder.
    _lock: OwnedFd,
}

impl Drop for Scratch {
    #[expect(clippy::disallowed_methods, reason = "removes what a session's commands left behind")]
    fn drop(&mut self) {
        // What cannot be removed stays in a folder of its own under /tmp.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Locks a folder for whoever uses it; not if somebody does.
fn lock(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}

/// Removes folders of this user whose sessions were killed before they could.
#[expect(
    clippy::disallowed_methods,
    reason = "removes what a killed session's commands left behind"
)]
fn remove_left_behind() {
    let own = rustix::process::geteuid().as_raw();
    let is_old = |path: &Path| {
        let found = std::fs::symlink_metadata(path).ok().filter(|found| found.uid() == own);
        let age = found.and_then(|found| found.modified().ok()?.elapsed().ok());
        age.is_some_and(|age| age > LEFT_BEHIND_AFTER)
    };
    for entry in std::fs::read_dir(ABOVE).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_name(&entry.file_name()) && is_old(&path) && lock(&path).is_ok() {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

fn is_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(NAME));
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    digits.is_some_and(|digits| digits.len() == 2 * NAME_BYTES && digits.bytes().all(is_digit))
}

impl Scratch {
    pub(super) fn new() -> Result<Self, Errno> {
        ONCE.call_once(remove_left_behind);
        let mut random = [0_u8; NAME_BYTES];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = Path::new(ABOVE).join(format!("{NAME}{name}"));
        // Fails where something is: nobody else's folder is taken.
        rustix::fs::mkdir(&path, Mode::RWXU)?;
        let _lock = lock(&path)?;
        Ok(Self { path, _lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a folder with what bubblewrap binds of a layout: what is private or given, by its
    /// number, or by its name in what is private, and what is put on what nobody may see.
    pub(super) fn for_bubblewrap(layout: &Layout) -> Result<Self, SandboxError> {
        Self::filled(layout).map_err(|error| {
            let code = error.raw_os_error().unwrap_or_default();
            SandboxError::new(Tier::B, Missing::Step { step: "making private folders", code })
        })
    }

    /// Opens what is behind a private folder of the layout, if it lasts from command to command.
    pub(super) fn open(&self, layout: &Layout, path: &Path) -> Option<OwnedFd> {
        let number = layout.steps.iter().position(|step| step.path == path)?;
        unkept::open(&self.path.join(number.to_string()))
    }

    #[expect(clippy::disallowed_methods, reason = "files in a folder that was just made")]
    fn filled(layout: &Layout) -> std::io::Result<Self> {
        let scratch = Self::new()?;
        let owned = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
            // Root gives them to the one whose workspace it is.
            let owner = layout.owner;
            std::os::unix::fs::chown(path, Some(owner.user), Some(owner.group))
        };
        for (number, step) in layout.steps.iter().enumerate() {
            let mut path = scratch.path().join(number.to_string());
            match &step.part {
                Part::Private { mode, .. } => {
                    std::fs::create_dir(&path)?;
                    owned(&path, *mode)?;
                }
                Part::File { bytes } => {
                    if let Some(folder) = directly_in(&layout.steps, &step.path) {
                        path = scratch.path().join(folder.to_string());
                        path.extend(step.path.file_name());
                    }
                    std::fs::write(&path, bytes)?;
                    owned(&path, 0o644)?;
                }
                Part::Link { target } => {
                    if let Some(folder) = directly_in(&layout.steps, &step.path) {
                        path = scratch.path().join(folder.to_string());
                        path.extend(step.path.file_name());
                        symlink(target, &path)?;
                        let owner = layout.owner;
                        lchown(&path, Some(owner.user), Some(owner.group))?;
                    }
                }
                Part::Cover | Part::Kept { .. } => {}
            }
        }
        let (folder, file) = (scratch.path().join(EMPTY_FOLDER), scratch.path().join(EMPTY_FILE));
        std::fs::create_dir(&folder)?;
        std::fs::write(&file, b"")?;
        owned(&folder, 0o555)?;
        owned(&file, 0o444)?;
        owned(scratch.path(), 0o700)?;
        Ok(scratch)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are removed")]
mod tests {
    use std::fs::{File, FileTimes};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_a_killed_session_left_goes_and_nothing_that_is_in_use() {
        let make = |name: &str, age: Duration| {
            let path = Path::new(ABOVE).join(format!("{name}{:023}", std::process::id()));
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("file"), "left").unwrap();
            let times = FileTimes::new().set_modified(SystemTime::now() - age);
            File::open(&path).unwrap().set_times(times).unwrap();
            path
        };
        let old = LEFT_BEHIND_AFTER * 2;
        let left = make("tenon-a", old);
        let (used, young) = (make("tenon-b", old), make("tenon-c", Duration::ZERO));
        let other = make("tenon-x", old);
        let _lock = lock(&used).unwrap();
        remove_left_behind();
        let are_there = [&left, &used, &young, &other].map(|path| path.exists());
        for path in [&used, &young, &other] {
            std::fs::remove_dir_all(path).unwrap();
        }
        assert_eq!(are_there, [false, true, true, true]);
    }
}
