//! Before something loses a name: a file is kept by a further one, and of a folder it is noted that it goes.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, Dir, Mode, OFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use super::{Fate, Folder, Recorder, Step};
use crate::journal::node::{Node, look};
use crate::journal::record::Record;
use crate::journal::store::object_name;
use crate::linux::closed::through;
use crate::linux::openat::{open_beneath, open_folder_beneath};

impl Recorder {
    pub(super) fn before_loss(
        &mut self,
        folder: &Folder,
        name: &OsStr,
        node: &Node,
        fate: Fate,
    ) -> Result<Step, Errno> {
        let id = node.id;
        if node.is_folder() {
            // With anything in it, or by an `unlink`, it is not removed: what runs beside this may move it.
            let stays = has_something(&folder.handle, name) || stays(&folder.handle, name, node);
            if fate != Fate::Gone && !stays {
                self.write(Record::Gone { id })?;
            }
            return Ok(Step::Done);
        }
        if self.image.nodes.get(&id).is_some_and(|old| old.kept.is_some()) {
            return Ok(Step::Done);
        }
        let store = Arc::clone(&self.store);
        let (objects, object) = self.log()?.object(&store, folder.place.root)?;
        let kept = object_name(object);
        match rustix::fs::linkat(&folder.handle, name, objects, &*kept, AtFlags::empty()) {
            Ok(()) => self.write(Record::Kept { id, object })?,
            // Another mount, another's file, too many names: then its bytes must do.
            Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::OPNOTSUPP | Errno::ACCESS) => {
                return self.save_content(id, (&folder.handle, name), folder.place.root);
            }
            Err(Errno::NOENT) => {
                // Gone meanwhile: then the call fails as well. Else it is the store that is gone.
                if look(&folder.handle, name)?.is_some() {
                    return Err(Errno::NOENT);
                }
            }
            Err(errno) => return Err(errno),
        }
        Ok(Step::Done)
    }
}

/// Whether a folder cannot lose its name: something is mounted on it (EBUSY), it or the one around it is immutable
/// or only appended to, or the one around it is sticky and neither is this user's (EPERM), or nothing may be
/// changed in that (EACCES, EROFS). A command has no more rights than the agent has.
pub(super) fn stays(above: &OwnedFd, name: &OsStr, node: &Node) -> bool {
    let look = |name: &OsStr| {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        rustix::fs::statx(above, name, flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)
    };
    let (Ok(found), Ok(around)) = (look(name), look(OsStr::new(""))) else { return false };
    let fixed = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
    let is_fixed = found.stx_attributes.union(around.stx_attributes).intersects(fixed);
    let is_mount = found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
        || found.stx_mnt_id != around.stx_mnt_id;
    let own = rustix::process::geteuid();
    let is_sticky = u32::from(around.stx_mode) & Mode::SVTX.bits() != 0
        && !own.is_root()
        && ![node.user, around.stx_uid].contains(&own.as_raw());
    is_mount || is_fixed || is_sticky || !may_change(above, OsStr::new("."))
}

/// Whether a folder, of which the name in another is given, may get other names in it.
pub(super) fn may_change(above: &OwnedFd, name: &OsStr) -> bool {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    let access = rustix::fs::accessat(above, name, access, AtFlags::EACCESS);
    !matches!(access, Err(Errno::ACCESS | Errno::ROFS))
}

/// Whether there is anything in a folder; not where it cannot be looked into.
fn has_something(above: &OwnedFd, name: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let Ok(folder) = open_folder_beneath(above, name.as_ref()) else { return false };
    let open = || open_beneath(&folder, ".", flags, Mode::empty());
    let Ok(names) = through(&folder, open).and_then(Dir::read_from) else { return false };
    let mut names = names.flatten();
    names.any(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
}
