//! How something is at the end of a call, and whether it still is so.

use std::ffi::OsStr;
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

/// By which name something is looked at.
#[derive(Clone, Copy)]
pub(crate) enum At<'a> {
    Tree(&'a Store, &'a Place),
    Folder(&'a OwnedFd, &'a OsStr),
}

impl At<'_> {
    fn open(self, now: &Node) -> Result<File, Errno> {
        match self {
            Self::Tree(store, place) => open_place(store, place, now),
            Self::Folder(folder, name) => open_any(folder, name, now.id),
        }
        .map(File::from)
    }

    /// Adds where a link leads, and extended attributes.
    fn complete(self, now: &Node) -> Result<Node, Errno> {
        let mut node = now.clone();
        match self {
            Self::Tree(store, place) => complete(store, place, now),
            Self::Folder(folder, name) => node.complete(folder, name).map(|()| node),
        }
    }
}

/// Returns how something is, without the content and the rights of a file.
pub(crate) fn state_of(store: &Store, place: &Place, now: &Node) -> State {
    let mut content = Known::Nothing;
    if now.kind() == FileType::Symlink
        && let Ok(complete) = complete(store, place, now)
    {
        content = Known::Target(complete.target);
    }
    present(now, content, None)
}

/// Returns how a file in an open folder is, without its content.
pub(super) fn held_state(folder: &OwnedFd, name: &OsStr, now: &Node) -> State {
    present(now, Known::Nothing, rights_of(At::Folder(folder, name), now))
}

/// Returns how a node is, without what is in it.
pub(super) fn of_node(now: &Node) -> State {
    present(now, Known::Nothing, None)
}

fn present(now: &Node, content: Known, rights: Option<ContentHash>) -> State {
    let Node { mode, bytes, modified, changed, .. } = *now;
    State::Present { mode, bytes, modified, changed, content, rights }
}

/// Returns owner and attributes, as one hash; `None` where this user may not read them.
pub(crate) fn rights_of(at: At<'_>, now: &Node) -> Option<ContentHash> {
    let complete = at.complete(now).ok()?;
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
    match now {
        None => *was == State::Absent,
        Some(now) => is_same_at(At::Tree(store, place), was, now),
    }
}

/// As [`is_same`], of something that is there.
pub(crate) fn is_same_at(at: At<'_>, was: &State, now: &Node) -> bool {
    let State::Present { mode, modified, changed, rights, .. } = was else { return false };
    if *mode != now.mode {
        return false;
    }
    if *changed == now.changed && *modified == now.modified {
        return true;
    }
    let other_rights = |was: &ContentHash| rights_of(at, now).is_some_and(|now| now != *was);
    if rights.as_ref().is_some_and(other_rights) {
        return false;
    }
    now.is_folder() || has_same_content(at, was, now)
}

/// Whether something that is no folder has the content that it had.
pub(super) fn has_same_content(at: At<'_>, was: &State, now: &Node) -> bool {
    let State::Present { bytes, modified, changed, content, .. } = was else { return false };
    match content {
        _ if *bytes != now.bytes => false,
        _ if *changed == now.changed && *modified == now.modified => true,
        Known::Hash(hash) => hashes_of(at, now, 0).is_ok_and(|(_, now)| now == *hash),
        Known::Target(target) => at.complete(now).is_ok_and(|now| now.target == *target),
        Known::Nothing => *modified == now.modified,
    }
}

impl State {
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

/// Returns the hashes of a file's first bytes, so many, and of all of them.
pub(super) fn hashes_of(
    at: At<'_>,
    now: &Node,
    head_bytes: u64,
) -> Result<(ContentHash, ContentHash), Errno> {
    let (mut file, mut hasher) = (at.open(now)?, Sha256::new());
    read_into(&mut hasher, (&mut file).take(head_bytes))?;
    let head = ContentHash::of_digest(hasher.clone());
    read_into(&mut hasher, file)?;
    Ok((head, ContentHash::of_digest(hasher)))
}

/// Whether a file's first bytes, so many, have this hash.
pub(super) fn has_head(at: At<'_>, now: &Node, head_bytes: u64, hash: &ContentHash) -> bool {
    let mut hasher = Sha256::new();
    let read = at.open(now).and_then(|file| read_into(&mut hasher, file.take(head_bytes)));
    read.is_ok() && ContentHash::of_digest(hasher) == *hash
}

fn read_into(hasher: &mut Sha256, mut file: impl Read) -> Result<(), Errno> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer).map_err(|error| errno_of(&error))? {
            0 => return Ok(()),
            length => hasher.update(buffer.get(..length).unwrap_or_default()),
        }
    }
}
