//! What a command tried to change where its walls let it write nothing.
//!
//! The kernel refuses it, and the program may say so without a path. Noted for what the agent tells, and no
//! wall: what a path leads to may be exchanged between the question and the call.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, StatVfsMountFlags, fstatvfs};

use super::super::calls::Onto;
use super::super::node::{Node, look};
use super::super::refusals::OutsideWrite;
use super::Watch;
use super::forbidden::Does;
use super::places::{Elsewhere, Inside, Known, Spot, is_deleted};
use crate::linux::probe::Wish;
use crate::linux::task::path_of;

/// Without namespaces their files are the kernel's own, which paths do not tell of.
const OF_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

impl Watch {
    /// Whether the walls let nothing be written right in a folder that is not in the workspace.
    pub(super) fn is_held(&self, folder: &OwnedFd) -> bool {
        if !self.within_walls {
            return false;
        }
        let Some(writable) = &self.rights_beneath else { return is_read_only(folder) };
        path_of(folder).is_ok_and(|path| {
            path.is_absolute()
                && !is_deleted(&path)
                && !OF_KERNEL.iter().any(|folder| path.starts_with(folder))
                && !writable.iter().any(|folder| path.starts_with(folder))
        })
    }

    /// The same of a folder that is in it.
    pub(super) fn is_held_within(&self, folder: &OwnedFd) -> bool {
        !self.held.is_empty()
            && is_read_only(folder)
            && path_of(folder).is_ok_and(|path| self.held.iter().any(|held| path.starts_with(held)))
    }

    /// Notes what a call does where the walls let nothing be written, if they refuse it and the call would not fail
    /// anyhow.
    pub(super) fn note_outside(&mut self, spot: &Spot, does: Does) {
        let (folder, name) = match spot {
            Spot::Outside(Some(elsewhere)) => (&elsewhere.folder, &elsewhere.name),
            Spot::Name(inside) | Spot::Looked(inside, _) if self.is_known_held(spot) => {
                (&inside.0.handle, &inside.1)
            }
            Spot::Own(inside) if self.within_walls => (&inside.0.handle, &inside.1),
            _ => return,
        };
        if name.is_empty() {
            return;
        }
        let Ok(there) = look(folder, name) else { return };
        let is_refused = match &there {
            Some(node) => does.is_refused(node),
            None => does.makes(),
        };
        let may_be_written = match spot {
            Spot::Outside(Some(it)) => self.rights_beneath.is_none() && !is_held_itself(it),
            _ => false,
        };
        if !is_refused || there.is_some() && may_be_written {
            return;
        }
        let path = match spot {
            Spot::Own(inside) => self.own_path(inside, does),
            _ => path_of(folder).ok().map(|path| path.join(name)),
        };
        let Some(path) = path else { return };
        self.refusals.note_outside(OutsideWrite { path, wish: does.wish() });
    }

    /// Returns the path of what is tenon's own that a call would change; `None` where a mount of the machine's is to go.
    fn own_path(&mut self, (folder, name): &Inside, does: Does) -> Option<PathBuf> {
        let (own, path) = {
            let recorder = self.checkpoint.lock();
            let store = &recorder.store;
            (store.held(&folder.place, name)?, store.absolute(&folder.place.join(name)))
        };
        (does.wish() != Wish::Remove || !self.views.stays(&path)).then_some(own)
    }

    /// The same of giving something another name there, or one there.
    pub(super) fn note_outside_move(&mut self, from: &Spot, to: &Spot, onto: Onto) {
        let is_of = |spot: &Spot| matches!(spot, Spot::Outside(_)) || self.is_known_held(spot);
        if matches!(from, Spot::Own(_)) || is_of(from) && is_of(to) {
            self.note_outside(from, Does::GOES);
        } else if matches!(to, Spot::Outside(Some(_)) | Spot::Own(_))
            && onto != Onto::Exchanges
            && let Some(node) = there(from)
        {
            self.note_outside(to, Does::comes(node.is_folder(), onto));
        }
    }

    /// Notes that something there is to have a further name in the workspace, or something in it one there, which no
    /// mount lets through.
    pub(super) fn note_outside_link(&mut self, from: &Spot, to: &Spot) {
        match (from, to) {
            (Spot::Outside(_), Spot::Name((folder, name)))
                if matches!(look(&folder.handle, name), Ok(None)) =>
            {
                self.note_outside(from, Does::LINKS);
            }
            (Spot::Name(_), Spot::Outside(Some(_)) | Spot::Own(_))
                if there(from).is_some_and(|node| !node.is_folder()) =>
            {
                self.note_outside(to, Does::MAKES);
            }
            _ => {}
        }
    }

    /// Whether it is a name in a folder of the workspace where the walls let nothing be written.
    fn is_known_held(&self, spot: &Spot) -> bool {
        let (Spot::Name(inside) | Spot::Looked(inside, _)) = spot else { return false };
        let known = self.folders.get(&inside.0.id);
        matches!(known, Some(Known::Inside { is_held: true, .. }))
    }
}

/// What a name in the workspace stands for.
fn there(spot: &Spot) -> Option<Node> {
    let Spot::Name((folder, name)) = spot else { return None };
    look(&folder.handle, name).ok().flatten()
}

/// What is mounted at a name can be written in a folder that cannot.
fn is_held_itself(Elsewhere { folder, name }: &Elsewhere) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty()).is_ok_and(|it| is_read_only(&it))
}

fn is_read_only(handle: &OwnedFd) -> bool {
    fstatvfs(handle).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
}
