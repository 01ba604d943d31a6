//! Before something loses a name: a file is kept by a further one, and of a folder it is noted that it goes.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
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
            if fate != Fate::Gone && !has_something(&folder.handle, name) {
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

/// Whether there is anything in a folder; not where it cannot be looked into.
fn has_something(above: &OwnedFd, name: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let Ok(folder) = open_folder_beneath(above, name.as_ref()) else { return false };
    let open = || open_beneath(&folder, ".", flags, Mode::empty());
    let Ok(names) = through(&folder, open).and_then(Dir::read_from) else { return false };
    let mut names = names.flatten();
    names.any(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
}
