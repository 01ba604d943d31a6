//! Which renames and hard links within the session's folders, and between those and private ones, the mounts of the
//! walls refuse.
//!
//! To a command a folder of the session, a toolchain in it, a protected name and the folders above them are mounts of
//! their own, where the machine may have one. The kernel's list of the command's mounts says what it refuses, that of
//! this process what the machine refuses by itself: that is not noted. Noted for what the agent tells, and no wall.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;

use super::super::calls::{Onto, Target};
use super::super::node::{Node, look};
use super::super::refusals::{Barrier, RefusedMove};
use super::Watch;
use super::places::{Inside, Spot, is_deleted};
use crate::linux::task::{Found, Task, path_of};
use crate::mounts::Mounts;

/// The mounts of the command and those of this process, each once it was asked for.
#[derive(Default)]
pub(super) struct Views {
    theirs: Option<Mounts>,
    ours: Option<Mounts>,
}

impl Views {
    /// What stands in the way of a move for the command alone.
    fn barrier(&mut self, task: Task, places: [&Path; 2], links: bool) -> Option<Barrier> {
        if self.theirs.is_none() {
            self.theirs = task.mounts();
        }
        let barrier = barrier(self.theirs.as_ref()?, places, links)?;
        is_open(self.ours()?, places, links).then_some(barrier)
    }

    /// Whether the machine has a mount at a path, which goes nowhere.
    pub(super) fn stays(&mut self, path: &Path) -> bool {
        self.ours().is_some_and(|mounts| mounts.has(path))
    }

    fn ours(&mut self) -> Option<&Mounts> {
        if self.ours.is_none() {
            self.ours = Mounts::of_process("self");
        }
        self.ours.as_ref()
    }
}

fn is_open(mounts: &Mounts, places: [&Path; 2], links: bool) -> bool {
    barrier(mounts, places, links).is_none()
}

/// What stands in the way of a move to whoever has these mounts: what the kernel looks at first.
fn barrier(mounts: &Mounts, [from, to]: [&Path; 2], links: bool) -> Option<Barrier> {
    // A file that is mounted by itself has no further name in its folder.
    let source = if links { mounts.around(from) } else { mounts.around(from.parent()?) };
    let target = mounts.around(to.parent()?);
    let is_only_read = target.is_some_and(|it| it.is_only_read);
    if is_only_read && (links || source == target) {
        Some(Barrier::OnlyRead)
    } else if source != target {
        Some(Barrier::Apart)
    } else if !links && [from, to].into_iter().any(|path| mounts.has(path)) {
        Some(Barrier::Mount)
    } else {
        None
    }
}

impl Watch {
    /// Notes a rename within the session's folders, or a hard link where `onto` is none, that the walls refuse and
    /// that would not fail anyhow.
    pub(super) fn note_move(&mut self, task: Task, from: &Inside, to: &Inside, onto: Option<Onto>) {
        if !self.notes_moves() {
            return;
        }
        let places = [from, to].map(|(folder, name)| folder.place.join(name));
        let [from_path, to_path] = {
            let recorder = self.checkpoint.lock();
            places.each_ref().map(|place| recorder.store.absolute(place))
        };
        let links = onto.is_none();
        let Some(barrier) = self.views.barrier(task, [&from_path, &to_path], links) else { return };
        // One mount may have several file systems (btrfs).
        let are_beside = from.0.id.is_on_device_of(to.0.id);
        let (Ok(Some(node)), Ok(before)) =
            (look(&from.0.handle, &from.1), look(&to.0.handle, &to.1))
        else {
            return;
        };
        let fails = match onto {
            Some(onto) => self.move_fails(&places, (&node, before.as_ref()), onto).is_some(),
            None => node.is_folder() || before.is_some(),
        };
        let refused = RefusedMove { from: from_path, to: to_path, links, barrier };
        if are_beside && !fails {
            self.refusals.note_move(refused, before);
        }
    }

    /// Notes the same where one of the two is outside and not read-only to the command, which is a private folder.
    pub(super) fn note_move_beyond(
        &mut self,
        task: Task,
        names: [(&Target, &Spot); 2],
        onto: Option<Onto>,
    ) {
        let is_between = matches!(
            names.map(|(_, spot)| spot),
            [Spot::Name(_), Spot::Outside(None)] | [Spot::Outside(None), Spot::Name(_)]
        );
        if !is_between || onto == Some(Onto::Exchanges) || !self.notes_moves() {
            return;
        }
        let [from, to] = names.map(|(target, spot)| self.seen(task, target, spot));
        let (Some(from), Some(to)) = (from, to) else { return };
        let links = onto.is_none();
        let places = [from.path.as_path(), to.path.as_path()];
        let Some(barrier) = self.views.barrier(task, places, links) else { return };
        let are_beside = matches!((on_machine(&from.path), on_machine(&to.path)),
            (Some(one), Some(other)) if one.id.is_on_device_of(other.id));
        if !are_beside || fails(from.node.as_ref(), to.node.as_ref(), onto) {
            return;
        }
        // What becomes of a private folder, this process does not see.
        let before = look(CWD, to.path.as_os_str()).unwrap_or(None);
        let (from, to) = (from.path, to.path);
        self.refusals.note_move(RefusedMove { from, to, links, barrier }, before);
    }

    fn notes_moves(&self) -> bool {
        let has_mounts = self.within_walls && self.rights_beneath.is_none();
        has_mounts && !self.refusals.has_all_moves()
    }

    /// Looks at what a call names, as the command has it.
    fn seen(&self, task: Task, target: &Target, spot: &Spot) -> Option<Seen> {
        match (spot, target) {
            (Spot::Name((folder, name)), _) => {
                let path = self.checkpoint.lock().store.absolute(&folder.place.join(name));
                Some(Seen { path, node: look(&folder.handle, name).ok()? })
            }
            (_, Target::Path { base, path, last }) => {
                match task.find((*base, None), path, *last).ok()? {
                    Found::Name(folder, name, _) => Seen::of(&folder, &name),
                    Found::Handle(_) | Found::Nowhere => None,
                }
            }
            (_, Target::Descriptor(_)) => None,
        }
    }
}

/// A name as the command has it.
struct Seen {
    path: PathBuf,
    /// What is there.
    node: Option<Node>,
}

impl Seen {
    fn of(folder: &OwnedFd, name: &OsString) -> Option<Self> {
        let folder_path = path_of(folder).ok()?;
        if !folder_path.is_absolute() || is_deleted(&folder_path) {
            return None;
        }
        let path = folder_path.join(name);
        Some(Self { path, node: look(folder, name).ok()? })
    }
}

/// Returns the folder around a path, or the next one above that there is, as the machine has it.
fn on_machine(path: &Path) -> Option<Node> {
    let above = path.ancestors().skip(1);
    above.map(Path::as_os_str).find_map(|folder: &OsStr| look(CWD, folder).ok().flatten())
}

/// Whether a rename, or a hard link where `onto` is none, fails whatever mounts there are.
fn fails(from: Option<&Node>, to: Option<&Node>, onto: Option<Onto>) -> bool {
    let Some(from) = from else { return true };
    match (onto, to) {
        (None, to) => from.is_folder() || to.is_some(),
        (Some(_), None) => false,
        (Some(onto), Some(to)) => onto == Onto::Fails || from.is_folder() != to.is_folder(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_way_of_a_move_is_what_the_kernel_looks_at_first() {
        let list = b"1 0 8:1 / / ro - ext4 a rw\n2 1 8:1 / /w rw,nosuid - ext4 a rw\n\
            3 2 8:1 / /w/go rw - ext4 a rw\n4 3 8:1 / /w/go/pkg ro,nosuid - ext4 a rw\n\
            5 2 8:1 / /w/.envrc ro - ext4 a rw\n6 2 0:9 / /w/disk rw - iso9660 b ro\n";
        let mounts = Mounts::read(list);
        let check = |from: &str, to: &str, expected: [Option<Barrier>; 2]| {
            let found = [false, true]
                .map(|links| barrier(&mounts, [Path::new(from), Path::new(to)], links));
            assert_eq!(found, expected, "{from} {to}");
        };
        let [apart, only_read, mount] =
            [Barrier::Apart, Barrier::OnlyRead, Barrier::Mount].map(Some);
        check("/w/a", "/w/b", [None, None]);
        check("/w/x/a", "/w/y/b", [None, None]);
        check("/w/a", "/w/go/b", [apart, apart]);
        check("/w/go2/a", "/w/go/b", [apart, apart]);
        check("/w/a", "/w/go/pkg/b", [apart, only_read]);
        check("/w/go/pkg/a", "/w/go/b", [apart, apart]);
        check("/w/go/pkg/a", "/w/go/pkg/b", [only_read, only_read]);
        check("/w/disk/a", "/w/disk/b", [only_read, only_read]);
        check("/w/go", "/w/g2", [mount, apart]);
        check("/w/a", "/w/.envrc", [mount, None]);
        check("/w/.envrc", "/w/b", [mount, apart]);
    }
}
