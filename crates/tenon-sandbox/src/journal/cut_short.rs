//! Ends commands that were compared and that the end of their agent cut short: with what their
//! manifests say there was before, in the place of that agent.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Timestamps};

use super::checkpoint::Checkpoint;
use super::comparison::Comparison;
use super::manifest::NEW;
use super::node::{Moment, look};
use super::record::Header;
use super::recorder::Recorder;
use super::scan::{Scan, entries};
use super::whole::read_all;
use super::{CheckpointId, Journal};
use crate::linux::openat::open_beneath;
use crate::linux::wire::Readable;

impl Journal {
    /// Ends the comparisons that the ends of their agents cut short.
    pub(super) fn end_comparisons(&self) {
        let Ok(folder) = self.store.open_manifests() else { return };
        let mut names = entries(&folder).unwrap_or_default();
        names.sort();
        for name in names {
            let Ok(file) = open_beneath(&folder, &*name, OFlags::RDWR, Mode::empty()) else {
                continue;
            };
            let is_free =
                rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            // Whoever ended it meanwhile took it away.
            if !is_free || !matches!(look(&folder, &name), Ok(Some(_))) {
                continue;
            }
            let is_whole = !name.to_string_lossy().starts_with(NEW);
            if !is_whole || self.end_comparison(&file).is_some() {
                let _ = rustix::fs::unlinkat(&folder, &*name, AtFlags::empty());
            }
        }
    }

    /// Ends one. `None` if it is of folders that are not in this workspace.
    fn end_comparison(&self, file: &OwnedFd) -> Option<()> {
        let last = look(file, OsStr::new("")).ok().flatten().map(|node| node.modified);
        let bytes = file.try_clone().ok().and_then(|file| read_all(file).ok()).unwrap_or_default();
        let read = bytes.get(4..).and_then(<(Header, Scan)>::from_bytes);
        // A power loss may have left a part.
        let (Some((header, mut before)), Some(last)) = (read, last) else { return Some(()) };
        let journal = self.reaching_roots(std::slice::from_ref(&header.roots));
        let roots = &journal.store.roots;
        let find = |path: &PathBuf| roots.iter().position(|root| root.path == *path);
        before.set_roots(&header.roots.iter().map(find).collect::<Option<Vec<_>>>()?);
        let roots = roots.iter().map(|root| root.path.clone()).collect();
        let recorder = Recorder::new(Arc::clone(&journal.store), Header { roots, ..header });
        let checkpoint = Checkpoint::new(recorder);
        if let Ok(comparison) = Comparison::go_on(checkpoint.clone(), before) {
            comparison.end();
        }
        let id = end_log(&checkpoint, last);
        let is_guarded = checkpoint.lock().image.header.is_guarded;
        drop(checkpoint);
        // Else it is done when somebody looked after it, or asks what changed.
        let _ = id.filter(|_| !is_guarded).map(|id| self.finish_interrupted(id));
        Some(())
    }
}

/// Gives a checkpoint's log the time when its command was last known to run, as if the last record
/// had been written then.
fn end_log(checkpoint: &Checkpoint, last: Moment) -> Option<CheckpointId> {
    let recorder = checkpoint.lock();
    let times = Timestamps { last_access: last.into(), last_modification: last.into() };
    let _ = rustix::fs::futimens(recorder.log_file()?, &times);
    recorder.id()
}
