//! What there is of checkpoints of a workspace that is not there any more.

use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{Base, ENDS, Store, further::key_of};
use crate::journal::JournalOptions;
use crate::linux::openat::open_folder_beneath;

impl Store {
    /// Returns what there is of checkpoints of the workspace whose first folder was `root`: one store for each
    /// place where they may be, which nothing can be recorded in or undone from.
    pub(crate) fn of_gone(root: &Path, options: &JournalOptions) -> Result<Vec<Self>, Errno> {
        let user = rustix::process::geteuid().as_raw();
        let above = root.ancestors().skip(1);
        let tops = above.map(|above| above.join(format!(".tenon-undo-{user}")));
        let tops =
            tops.chain([options.state_folder.join("undo"), root.join(".tenon").join("undo")]);
        let stores = tops.map(|top| Self::of_gone_in(top, root, options));
        stores.filter_map(Result::transpose).collect()
    }

    fn of_gone_in(
        top: PathBuf,
        root: &Path,
        options: &JournalOptions,
    ) -> Result<Option<Self>, Errno> {
        let path = top.join(key_of(root));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let ends = open_folder_beneath(&handle, Path::new(ENDS))?;
        let mut store = Self::empty(options.clone());
        store.bases.push(Base { top, path, handle, ends });
        Ok(Some(store))
    }
}
