//! Folders on the machine's disk for what is thrown away when the session ends, in the tiers that
//! have no file systems of their own for it.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Once;

use rustix::fs::{Mode, fstat};
use rustix::io::Errno;

use super::left_behind::{Note, open, remove_left_behind};
use super::{Settings, unkept};
use crate::file_system::{Identity, identity_of_folder};
use crate::linux::bubblewrap::{EMPTY_FILE, EMPTY_FOLDER, Enclosure, directly_in};
use crate::linux::layout::{Layout, Part};
use crate::linux::request::Inside;
use crate::missing::{Missing, SandboxError};
use crate::remove_tree::remove_held;
use crate::tier::Tier;
use crate::workspace::canonical_or_lexical;

/// Where they are made, in the first that no folder of the session holds, and how their names begin.
const ABOVE: [&str; 2] = ["/tmp", "/var/tmp"];
const NAME: &str = "tenon-";
/// Random bytes in a name.
const NAME_BYTES: usize = 12;

/// A session looks for what others left behind once.
static ONCE: Once = Once::new();

/// A new folder that only this user can look into, removed at the end. Commands of another session may have it in
/// their hands, and put another folder or a link at its name.
pub(super) struct Scratch {
    path: PathBuf,
    identity: Identity,
    handle: OwnedFd,
    /// Goes last.
    _note: Option<Note>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.stands() {
            // What cannot be removed stays there, in a folder of its own.
            let _ = remove_held(&self.handle, &self.path);
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

impl Scratch {
    /// Makes one for a session with these folders, and notes it beneath tenon's folder `state`.
    pub(super) fn new(roots: &[PathBuf], state: Option<&Path>) -> Result<Self, Errno> {
        ONCE.call_once(|| state.into_iter().for_each(remove_left_behind));
        let mut random = [0_u8; NAME_BYTES];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = above(roots).join(format!("{NAME}{name}"));
        // Fails where something is: nobody else's folder is taken.
        rustix::fs::mkdir(&path, Mode::RWXU)?;
        let handle = open(&path)?;
        let made = fstat(&handle)?;
        // Without a note nobody removes it after a kill.
        let _note = state.and_then(|state| Note::write(state, &path, &handle).ok());
        Ok(Self { path, identity: (made.st_dev, made.st_ino), handle, _note })
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
    pub(super) fn for_bubblewrap(
        layout: &Layout,
        settings: &Settings,
    ) -> Result<Self, SandboxError> {
        Self::filled(layout, settings).map_err(|error| {
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
    fn filled(layout: &Layout, settings: &Settings) -> std::io::Result<Self> {
        let scratch = Self::new(&settings.roots, settings.state.as_deref())?;
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
    use super::*;

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
        let scratch = Scratch::new(&[], None).unwrap();
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
