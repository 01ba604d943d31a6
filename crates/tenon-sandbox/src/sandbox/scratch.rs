//! Folders on the machine's disk for what is thrown away when the session ends, in the tiers that
//! have no file systems of their own for it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, fstat};
use rustix::io::Errno;

use super::unkept;
use crate::file_system::{Identity, identity_of_folder};
use crate::linux::bubblewrap::{EMPTY_FILE, EMPTY_FOLDER, Enclosure, directly_in};
use crate::linux::layout::{Layout, Part};
use crate::linux::request::Inside;
use crate::missing::{Missing, SandboxError};
use crate::remove_tree::remove_tree;
use crate::tier::Tier;
use crate::workspace::canonical_or_lexical;

/// Where they are made, in the first that no folder of the session holds, and how their names begin.
const ABOVE: [&str; 2] = ["/tmp", "/var/tmp"];
const NAME: &str = "tenon-";
/// Random bytes in a name, which has two digits for each.
const NAME_BYTES: usize = 12;

/// One that is being made is younger.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(60);

/// A session looks for what others left behind once.
static ONCE: Once = Once::new();

/// A new folder that only this user can look into, removed at the end. Commands of another session may have it in
/// their hands, and put another folder or a link at its name.
pub(super) struct Scratch {
    path: PathBuf,
    identity: Identity,
    /// Locked as long as somebody uses the folder.
    _lock: OwnedFd,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.stands() {
            // What cannot be removed stays there, in a folder of its own.
            let _ = remove_tree(&self.path);
        }
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
#[expect(clippy::disallowed_methods, reason = "names in the system's own folders")]
fn remove_left_behind() {
    let own = rustix::process::geteuid().as_raw();
    let is_old = |path: &Path| {
        let found = std::fs::symlink_metadata(path).ok().filter(|found| found.uid() == own);
        let age = found.and_then(|found| found.modified().ok()?.elapsed().ok());
        age.is_some_and(|age| age > LEFT_BEHIND_AFTER)
    };
    let entries = ABOVE.iter().filter_map(|above| std::fs::read_dir(above).ok());
    for entry in entries.flatten().flatten() {
        let path = entry.path();
        if is_name(&entry.file_name()) && is_old(&path) && lock(&path).is_ok() {
            let _ = remove_tree(&path);
        }
    }
}

/// Returns where a session makes its folder whose own are `roots`: where its commands cannot exchange it, if there is
/// such a place.
fn above(roots: &[PathBuf]) -> PathBuf {
    let places = ABOVE.map(|above| canonical_or_lexical(Path::new(above)));
    let is_out = |place: &&PathBuf| !roots.iter().any(|root| place.starts_with(root));
    let found = places.iter().find(is_out).or_else(|| places.first());
    found.cloned().unwrap_or_default()
}

fn is_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(NAME));
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    digits.is_some_and(|digits| digits.len() == 2 * NAME_BYTES && digits.bytes().all(is_digit))
}

impl Scratch {
    /// Makes one for a session with these folders.
    pub(super) fn new(roots: &[PathBuf]) -> Result<Self, Errno> {
        ONCE.call_once(remove_left_behind);
        let mut random = [0_u8; NAME_BYTES];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = above(roots).join(format!("{NAME}{name}"));
        // Fails where something is: nobody else's folder is taken.
        rustix::fs::mkdir(&path, Mode::RWXU)?;
        let _lock = lock(&path)?;
        let made = fstat(&_lock)?;
        Ok(Self { path, identity: (made.st_dev, made.st_ino), _lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is still at its name.
    pub(super) fn stands(&self) -> bool {
        identity_of_folder(&self.path) == Some(self.identity)
    }

    /// Returns a folder with what bubblewrap binds of a layout: what is private or given, by its
    /// number, or by its name in what is private, and what is put on what nobody may see.
    pub(super) fn for_bubblewrap(layout: &Layout, roots: &[PathBuf]) -> Result<Self, SandboxError> {
        Self::filled(layout, roots).map_err(|error| {
            let code = error.raw_os_error().unwrap_or_default();
            SandboxError::new(Tier::B, Missing::Step { step: "making private folders", code })
        })
    }

    /// Returns what bubblewrap makes for one command.
    pub(super) fn enclosure(
        &self,
        layout: Layout,
        inside: Inside,
    ) -> Result<Enclosure, SandboxError> {
        let (private, identity) = (self.path.clone(), self.identity);
        if !self.stands() {
            return Err(SandboxError::new(Tier::B, Missing::Folder { path: private }));
        }
        Ok(Enclosure { layout, inside, private, identity })
    }

    /// Opens what is behind a private folder of the layout, if it lasts from command to command.
    pub(super) fn open(&self, layout: &Layout, path: &Path) -> Option<OwnedFd> {
        let number = layout.steps.iter().position(|step| step.path == path)?;
        unkept::open(&self.path.join(number.to_string()))
    }

    #[expect(clippy::disallowed_methods, reason = "files in a folder that was just made")]
    fn filled(layout: &Layout, roots: &[PathBuf]) -> std::io::Result<Self> {
        let scratch = Self::new(roots)?;
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
            let path = Path::new(ABOVE[0]).join(format!("{name}{:023}", std::process::id()));
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

    #[test]
    fn it_is_made_where_no_folder_of_the_session_holds_it() {
        let check = |roots: &[&str], expected: &str| {
            let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
            assert_eq!(above(&roots), canonical_or_lexical(Path::new(expected)), "{roots:?}");
        };
        check(&["/tmp/work", "/srv"], "/tmp");
        check(&["/srv", "/tmp"], "/var/tmp");
        check(&["/"], "/tmp");
        check(&["/tmp", "/var"], "/tmp");
    }

    #[test]
    fn what_stands_in_its_place_is_neither_used_nor_removed() {
        let scratch = Scratch::new(&[]).unwrap();
        let (path, folder) = (scratch.path().to_path_buf(), tempfile::tempdir().unwrap());
        let (theirs, away) = (folder.path().join("theirs"), folder.path().join("away"));
        std::fs::create_dir(&theirs).unwrap();
        std::fs::write(theirs.join("file"), "theirs").unwrap();
        assert!(scratch.stands());
        std::fs::rename(&path, &away).unwrap();
        symlink(&theirs, &path).unwrap();
        assert!(!scratch.stands());
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(&theirs, &path).unwrap();
        assert!(!scratch.stands());
        drop(scratch);
        let left = std::fs::read_to_string(path.join("file")).unwrap();
        std::fs::remove_dir_all(&path).unwrap();
        assert_eq!(left, "theirs");
    }
}
