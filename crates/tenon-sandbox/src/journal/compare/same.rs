//! Whether something has the content, the owner and the attributes that it had before the call.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::{Comparison, HASHED_BYTES_MAX};
use crate::journal::copy::open_object;
use crate::journal::node::Node;
use crate::journal::record::{Old, Place};
use crate::journal::state::{complete, open_place};
use crate::journal::store::object_name;

impl Comparison<'_> {
    /// Whether a node that is there still has another content.
    pub(super) fn was_edited(&mut self, place: &Place, old: &Old, now: &Node) -> bool {
        // One that was left out has no content here, and another length.
        let was_written = old.content.is_some() || now.is_file() && old.node.bytes != now.bytes;
        was_written && !self.has_same_content(place, old, now)
    }

    pub(super) fn has_same_rights(&self, place: &Place, old: &Old, now: &Node) -> bool {
        let now = complete(self.store, place, now);
        now.is_ok_and(|now| old.node.has_same_rights(&now))
    }

    pub(super) fn has_same_content(&mut self, place: &Place, old: &Old, now: &Node) -> bool {
        if old.node.bytes != now.bytes {
            return false;
        }
        if now.is_file() && now.bytes == 0 {
            return true;
        }
        if !now.is_file() {
            let now = complete(self.store, place, now);
            return now.is_ok_and(|now| old.node.target == now.target);
        }
        if now.bytes > HASHED_BYTES_MAX {
            return old.node.modified == now.modified;
        }
        // Of a file that was only appended to, what was there before is in it still.
        let is_appended = old.content.is_some_and(|content| content.from > 0);
        let object = match (old.content, old.kept) {
            (Some(content), _) if content.length == 0 => return true,
            (Some(_), _) if is_appended && old.node.id == now.id => return true,
            (Some(content), _) if !is_appended => Some(content.object),
            (_, Some(kept)) => Some(kept),
            (_, None) if old.node.id == now.id => return old.node.modified == now.modified,
            (_, None) => None,
        };
        if old.node.id != now.id {
            let left = self.budget.others.checked_sub(1);
            let Some(left) = left else { return false };
            self.budget.others = left;
        }
        let before = self.open_before(old, object);
        let now = open_place(self.store, place, now);
        match (before, now) {
            (Ok(before), Ok(now)) => {
                same_bytes(File::from(before).take(old.node.bytes), now.into())
            }
            _ => false,
        }
    }

    /// Opens what was in a file; which may be where the file is by now, if nobody wrote into it.
    fn open_before(&mut self, old: &Old, object: Option<u64>) -> Result<OwnedFd, Errno> {
        let kept = object.ok_or(Errno::NOENT).and_then(|object| {
            let is_copied = old.content.is_some_and(|content| content.from == 0);
            let by = if is_copied { old.content_by } else { old.kept_by };
            let folder = self.store.open_kept(by.unwrap_or(self.id), old.place.root)?;
            open_object(&folder, object_name(object).as_ref())
        });
        match kept {
            // An undo takes it to the store and from there to another place.
            Err(Errno::NOENT) if old.content.is_none_or(|content| content.from > 0) => {
                let at = self.finder.find(old).ok_or(Errno::NOENT)?;
                open_place(self.store, &at, &old.node)
            }
            kept => kept,
        }
    }
}

fn same_bytes(mut one: impl Read, mut other: File) -> bool {
    let mut parts = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let Ok(length) = one.read(&mut parts.0) else { return false };
        if length == 0 {
            return matches!(other.read(&mut parts.1), Ok(0));
        }
        let Some(part) = parts.1.get_mut(..length) else { return false };
        if other.read_exact(part).is_err() || parts.0.get(..length) != Some(&*part) {
            return false;
        }
    }
}
