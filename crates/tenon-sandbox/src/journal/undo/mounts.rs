//! Mounts inside the workspace. The store is on that of the root, and nothing can be moved between
//! two: what would have to be is found before undo touches anything.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::{Failure, Undoing};
use crate::file_system::mount_of_folder;
use crate::journal::node::look;
use crate::journal::spot::Spot;

impl Undoing<'_> {
    /// Finds a name on another mount that something must be moved from or to.
    ///
    /// # Errors
    /// `XDEV` with its place.
    pub(super) fn check_mounts(&self) -> Result<(), Failure> {
        for (id, names) in self.names() {
            let Some(Spot::Tree(at)) = self.spots.get(&id) else { continue };
            let Ok(folder) = self.store.open_folder(at) else { continue };
            let is_same_mount =
                |other: &OwnedFd| mount_of_folder(other) == mount_of_folder(&folder);
            if self.store.root(at.root).is_ok_and(|root| is_same_mount(&root.handle)) {
                continue;
            }
            for (name, before) in names {
                let place = at.join(&name);
                let now = look(&folder, &name).ok().flatten();
                if self.is_kept(&place) || now.as_ref().map(|now| now.id) == before {
                    continue;
                }
                // A further name for a file that has one there is made where it is.
                let other = before.and_then(|id| self.spots.get(&id));
                let other = other.filter(|other| now.is_none() && matches!(other, Spot::Tree(_)));
                let is_linked = other.is_some_and(|other| {
                    let around = self.open_around(other);
                    around.is_ok_and(|(around, name)| {
                        let node = look(&around, &name).ok().flatten();
                        is_same_mount(&around) && node.is_some_and(|node| !node.is_folder())
                    })
                });
                if !is_linked {
                    return Err(Failure { place, errno: Errno::XDEV });
                }
            }
        }
        Ok(())
    }
}
