//! What a command tried to change where its walls let it write nothing.
//!
//! The kernel refuses it, and the program may say so without a path. Noted for what the agent tells, and no
//! wall: what a path leads to may be exchanged between the question and the call.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, StatVfsMountFlags, fstatvfs};

use super::super::node::look;
use super::super::refusals::OutsideWrite;
use super::Watch;
use super::forbidden::Does;
use super::places::{Elsewhere, Known, Spot, is_deleted};
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
        let Ok(path) = path_of(folder).map(|path| path.join(name)) else { return };
        self.refusals.note_outside(OutsideWrite { path, wish: does.wish() });
    }

    /// The same of giving something another name there, or a further one.
    pub(super) fn note_outside_move(&mut self, from: &Spot, to: &Spot, does: Does) {
        let is_of = |spot: &Spot| matches!(spot, Spot::Outside(_)) || self.is_known_held(spot);
        if is_of(from) && is_of(to) {
            self.note_outside(from, does);
        }
    }

    /// Notes that something there is to have a further name in the workspace, which no mount lets through.
    pub(super) fn note_outside_link(&mut self, from: &Spot, to: &Spot) {
        if let (Spot::Outside(_), Spot::Name((folder, name))) = (from, to)
            && matches!(look(&folder.handle, name), Ok(None))
        {
            self.note_outside(from, Does::LINKS);
        }
    }

    /// Whether it is a name in a folder of the workspace where the walls let nothing be written.
    fn is_known_held(&self, spot: &Spot) -> bool {
        let (Spot::Name(inside) | Spot::Looked(inside, _)) = spot else { return false };
        let known = self.folders.get(&inside.0.id);
        matches!(known, Some(Known::Inside { is_held: true, .. }))
    }
}

/// What is mounted at a name can be written in a folder that cannot.
fn is_held_itself(Elsewhere { folder, name }: &Elsewhere) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty()).is_ok_and(|it| is_read_only(&it))
}

fn is_read_only(handle: &OwnedFd) -> bool {
    fstatvfs(handle).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
}
