//! How something is at the end of a call, and whether it still is so.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::FileType;
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::closed::through_place;
use super::copy::open_any;
use super::find::split;
use super::node::{Moment, Node};
use super::record::{Known, Place, State};
use super::store::Store;
use super::whole::errno_of;
use crate::workspace::ContentHash;

/// Returns how something is; its content by hash only where that is wanted.
pub(crate) fn state_of(store: &Store, place: &Place, now: &Node, hashed: bool) -> State {
    let mut content = Known::Nothing;
    if now.is_file() && hashed {
        content = hash_of(store, place, now).map_or(Known::Nothing, Known::Hash);
    } else if now.kind() == FileType::Symlink
        && let Ok(complete) = complete(store, place, now)
    {
        content = Known::Target(complete.target);
    }
    State::Present {
        mode: now.mode,
        bytes: now.bytes,
        modified: now.modified,
        changed: now.changed,
        content,
        rights: None,
    }
}

/// Returns owner and attributes, as one hash; `None` where this user may not read them.
pub(crate) fn rights_of(store: &Store, place: &Place, now: &Node) -> Option<ContentHash> {
    let complete = complete(store, place, now).ok()?;
    let mut bytes = [complete.user.to_le_bytes(), complete.group.to_le_bytes()].concat();
    for (name, value) in complete.attributes? {
        for part in [name, value] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.as_bytes());
        }
    }
    Some(ContentHash::of(&bytes))
}

/// Whether something is as it was. What is past all doubt is not read.
pub(crate) fn is_same(store: &Store, place: &Place, was: &State, now: Option<&Node>) -> bool {
    let (mode, bytes, modified, changed, content, rights) = match (was, now) {
        (State::Absent, None) => return true,
        (State::Absent, Some(_)) | (State::Present { .. }, None) => return false,
        (State::Present { mode, bytes, modified, changed, content, rights }, Some(_)) => {
            (mode, bytes, modified, changed, content, rights)
        }
    };
    let Some(now) = now else { return false };
    if *mode != now.mode {
        return false;
    }
    if *changed == now.changed && *modified == now.modified {
        return true;
    }
    let other_rights =
        |was: &ContentHash| rights_of(store, place, now).is_some_and(|now| now != *was);
    if rights.as_ref().is_some_and(other_rights) {
        return false;
    }
    if now.is_folder() {
        return true;
    }
    match content {
        _ if *bytes != now.bytes => false,
        Known::Hash(hash) => hash_of(store, place, now).is_ok_and(|now| now == *hash),
        Known::Target(_) => state_of(store, place, now, false).content() == Some(content),
        Known::Nothing => *modified == now.modified,
    }
}

impl State {
    fn content(&self) -> Option<&Known> {
        match self {
            Self::Absent => None,
            Self::Present { content, .. } => Some(content),
        }
    }

    /// Stands for a state that nothing is the same as.
    pub(crate) fn unknown() -> Self {
        let never = Moment { seconds: i64::MIN, nanoseconds: 0 };
        let content = Known::Nothing;
        let (modified, changed) = (never, never);
        Self::Present { mode: 0, bytes: 0, modified, changed, content, rights: None }
    }

    /// Whether both can be the same thing by two names.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        self.moments() == other.moments()
    }

    fn moments(&self) -> Option<(u32, u64, Moment, Moment)> {
        match self {
            Self::Absent => None,
            Self::Present { mode, bytes, modified, changed, .. } => {
                Some((*mode, *bytes, *modified, *changed))
            }
        }
    }

    pub(crate) fn is_folder(&self) -> bool {
        matches!(self, Self::Present { mode, .. }
            if FileType::from_raw_mode(*mode) == FileType::Directory)
    }

    pub(crate) fn changed(&self) -> Option<Moment> {
        match self {
            Self::Absent => None,
            Self::Present { changed, .. } => Some(*changed),
        }
    }
}

/// Opens a file, also one that its owner closed for himself.
pub(super) fn open_place(store: &Store, place: &Place, now: &Node) -> Result<OwnedFd, Errno> {
    let (folder, name) = split(place);
    through_place(store, &folder, |folder| open_any(folder, name, now.id))
}

/// Adds where a link leads, and extended attributes.
pub(super) fn complete(store: &Store, place: &Place, node: &Node) -> Result<Node, Errno> {
    let (folder, name) = split(place);
    through_place(store, &folder, |folder| {
        let mut node = node.clone();
        node.complete(folder, name).map(|()| node)
    })
}

fn hash_of(store: &Store, place: &Place, now: &Node) -> Result<ContentHash, Errno> {
    let mut file = File::from(open_place(store, place, now)?);
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer).map_err(|error| errno_of(&error))? {
            0 => return Ok(ContentHash::of_digest(hasher)),
            length => hasher.update(buffer.get(..length).unwrap_or_default()),
        }
    }
}
