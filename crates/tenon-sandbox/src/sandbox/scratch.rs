//! Folders on the machine's disk for what is thrown away when the session ends, in the tiers that
//! have no file systems of their own for it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::linux::bubblewrap::{EMPTY_FILE, EMPTY_FOLDER};
use crate::linux::layout::{Layout, Part};
use crate::missing::{Missing, SandboxError};
use crate::tier::Tier;

/// Where they are made.
const ABOVE: &str = "/tmp";

/// A new folder that only this user can look into, removed at the end.
pub(super) struct Scratch(PathBuf);

impl Drop for Scratch {
    #[expect(clippy::disallowed_methods, reason = "removes what a session's commands left behind")]
    fn drop(&mut self) {
        // What cannot be removed stays in a folder of its own under /tmp.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Scratch {
    pub(super) fn new() -> Result<Self, Errno> {
        let mut random = [0_u8; 12];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = Path::new(ABOVE).join(format!("tenon-{name}"));
        // Fails where something is: nobody else's folder is taken.
        rustix::fs::mkdir(&path, Mode::RWXU)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns a folder with what bubblewrap binds of a layout: what is private or given, by its
    /// number, and what is put on what nobody may see.
    pub(super) fn for_bubblewrap(layout: &Layout) -> Result<Self, SandboxError> {
        Self::filled(layout).map_err(|error| {
            let code = error.raw_os_error().unwrap_or_default();
            SandboxError::new(Tier::B, Missing::Step { step: "making private folders", code })
        })
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
            let path = scratch.path().join(number.to_string());
            match &step.part {
                Part::Private { mode, .. } => {
                    std::fs::create_dir(&path)?;
                    owned(&path, *mode)?;
                }
                Part::File { bytes } => {
                    std::fs::write(&path, bytes)?;
                    owned(&path, 0o644)?;
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
