//! Whether a folder was there before the call, which made it else.

use super::copy::is_cache;
use super::node::NodeId;
use super::record::Place;
use super::recorder::{Folder, Recorder, Status};
use rustix::io::Errno;

impl Recorder {
    pub(super) fn status(&mut self, folder: &Folder) -> Result<Status, Errno> {
        if let Some(status) = self.statuses.get(&folder.id) {
            return Ok(*status);
        }
        // From the nearest that is known down, and not by recursion: there can be thousands.
        let Place { root, path } = &folder.place;
        let mut unknown = Vec::new();
        if !self.image.nodes.contains_key(&folder.id) {
            for path in path.ancestors().skip(1) {
                let id = self.folder(&Place { root: *root, path: path.to_path_buf() })?.id;
                if self.statuses.contains_key(&id) {
                    break;
                }
                unknown.push(path);
                if self.image.nodes.contains_key(&id) {
                    break;
                }
            }
        }
        for path in unknown.into_iter().rev() {
            let above = self.folder(&Place { root: *root, path: path.to_path_buf() })?;
            self.status_in(&above)?;
        }
        self.status_in(folder)
    }

    /// The same where that of the folder above is known.
    fn status_in(&mut self, folder: &Folder) -> Result<Status, Errno> {
        let above = folder.place.path.parent().zip(folder.place.path.file_name());
        let status = match above {
            None => Status::Old,
            Some(_) if self.image.nodes.contains_key(&folder.id) => Status::Old,
            Some((above, name)) => {
                let above = Place { root: folder.place.root, path: above.to_path_buf() };
                let above = self.folder(&above)?;
                // Known, but where somebody moved it meanwhile.
                match self.status(&above)? {
                    Status::Old | Status::New if self.came_by_another(folder.id)? => Status::Old,
                    Status::Old => {
                        let names = self.image.entries.get(&above.id);
                        match names.and_then(|names| names.get(name)) {
                            Some(before) if *before != Some(folder.id) => Status::New,
                            _ => Status::Old,
                        }
                    }
                    status => status,
                }
            }
        };
        let may_be_cache = status == Status::Old && above.is_some() && self.leaves_out_caches();
        let status =
            if may_be_cache && is_cache(&folder.handle) { Status::LeftOut } else { status };
        self.statuses.insert(folder.id, status);
        Ok(status)
    }

    /// Whether others ran while this one does.
    pub(super) fn is_beside(&self) -> bool {
        let is_call = self.image.header.undoes.is_empty();
        if is_call && self.id().is_some() && self.store.has_others() {
            self.store.running.note_others();
        }
        is_call && self.id().is_some_and(|id| self.store.running.is_beside(id))
    }

    /// Whether something was there before this call, at a name or in a folder that it made: another brought it.
    pub(super) fn came_by_another(&mut self, id: NodeId) -> Result<bool, Errno> {
        if !self.is_beside() || id.is_unborn() || self.image.nodes.contains_key(&id) {
            return Ok(false);
        }
        let began = match (self.began, self.id()) {
            (Some(began), _) => began,
            (None, Some(id)) => self.store.look_at_log(id)?.id.born(),
            (None, None) => return Ok(false),
        };
        self.began = Some(began);
        Ok(id.born() < began)
    }

    /// Undo itself changes only what was recorded.
    fn leaves_out_caches(&self) -> bool {
        self.store.options.leave_out_caches && self.image.header.undoes.is_empty()
    }

    /// For undo: a folder that it made again is as new as one that a call makes.
    pub(crate) fn note_new_folder(&mut self, id: NodeId) {
        self.statuses.insert(id, Status::New);
    }

    /// For undo: a folder that has no path beneath a root for the moment.
    pub(crate) fn note_old_folder(&mut self, id: NodeId) {
        self.statuses.entry(id).or_insert(Status::Old);
    }
}
