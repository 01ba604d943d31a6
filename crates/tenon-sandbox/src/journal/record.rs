//! What a checkpoint's log says, one record after the other, and the picture that they make.
//!
//! Records are only appended. One that was cut off by a crash is where the log ends: what it spoke
//! of had not happened yet.

mod left;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

pub(crate) use self::left::{End, Known, LeftFile, Sealed, State};

use super::CheckpointId;
use super::changes::LeftOut;
use super::node::{Moment, Node, NodeId};
use super::order::compare;
use super::trouble::Trouble;
use crate::linux::wire::{Readable, Reader, Sendable, Writer};

/// The first record. Its number changes when older programs cannot read the rest.
const FORMAT: u64 = 6;

/// Logs of this one do not say which commands were guarded.
const FIRST_FORMAT: u64 = 1;

/// The most names and nodes that one call may have recorded: each takes about 1 KiB of memory until
/// the call is over. What a call makes in folders of its own is none of these.
const RECORDED_MAX: usize = 1 << 20;

/// The most bytes of their paths (256 MiB), four times what a million of usual ones have.
const PATH_BYTES_MAX: usize = 256 << 20;

/// The most troubles that are told of one call; who reads a hundred knows.
const TROUBLES_MAX: usize = 100;

/// A place beneath one of the workspace's roots.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) root: usize,
    pub(crate) path: PathBuf,
}

/// What a call is about to change, or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Header(Header),
    /// A node that was there before, and where it was then.
    Node {
        node: Node,
        place: Place,
    },
    /// What was at a name in a folder that was there before.
    Entry {
        folder: NodeId,
        name: OsString,
        before: Option<NodeId>,
    },
    /// A node is kept as this object: a further name of a file, or a folder that was moved there.
    Kept {
        id: NodeId,
        object: u64,
    },
    /// Bytes of a file that were there before: from `from` up to its length, in this object.
    Content {
        id: NodeId,
        from: u64,
        length: u64,
        object: u64,
    },
    /// Where a node that was there before is about to be.
    Moved {
        id: NodeId,
        place: Place,
    },
    /// A folder is about to be removed; or a node is gone, and only its content was kept.
    Gone {
        id: NodeId,
    },
    /// A node that is gone for good was made again.
    Again {
        old: NodeId,
        new: NodeId,
    },
    LeftOut(LeftOut),
    Trouble(Trouble),
    End(Box<End>),
    /// The call came to its end, which could not be written down.
    Over,
    /// What was saved of a node stands at a protected name, and is not what stood there before all commands that ran: another one
    /// had written it.
    Doubted {
        id: NodeId,
    },
    /// A folder came from where its place is enough for programs to take commands from something in it.
    Special {
        id: NodeId,
    },
    /// What follows was recorded from then on, in nanoseconds since 1970, after what another checkpoint
    /// had recorded, or may have.
    Turn {
        at: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Header {
    pub(crate) session: String,
    pub(crate) name: String,
    /// Seconds since 1970.
    pub(crate) started: u64,
    /// The checkpoints that this one undoes; empty for a call.
    pub(crate) undoes: Vec<CheckpointId>,
    /// The roots that places count from.
    pub(crate) roots: Vec<PathBuf>,
    /// Whether protected names are put back after it.
    pub(crate) is_guarded: bool,
}

/// All that a log says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Image {
    pub(crate) header: Header,
    pub(crate) nodes: HashMap<NodeId, Old>,
    pub(crate) entries: HashMap<NodeId, BTreeMap<OsString, Option<NodeId>>>,
    pub(crate) again: Vec<(NodeId, NodeId)>,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) trouble: Vec<Trouble>,
    pub(crate) end: Option<Box<End>>,
    /// The call came to its end, of which nothing else may be known.
    pub(crate) is_over: bool,
    /// When the last of several calls was over, where this is the log of all of them.
    pub(crate) over: Option<Moment>,
    /// Nodes, names and moves so far.
    pub(crate) recorded: usize,
    /// Bytes of their paths.
    pub(crate) path_bytes: usize,
    /// Roots that something was touched in and that are not open.
    pub(crate) unopened: Vec<PathBuf>,
}

/// A node that was there before the call.
#[derive(Debug, Clone)]
pub(crate) struct Old {
    pub(crate) node: Node,
    pub(crate) place: Place,
    pub(crate) kept: Option<u64>,
    pub(crate) content: Option<Content>,
    pub(crate) moved: Vec<Place>,
    pub(crate) gone: bool,
    /// As of [`Record::Doubted`].
    pub(crate) is_doubted: bool,
    /// As of [`Record::Special`].
    pub(crate) is_special: bool,
    /// Whose store it is kept in, and whose its content, where that is not the log's own.
    pub(crate) kept_by: Option<CheckpointId>,
    pub(crate) content_by: Option<CheckpointId>,
}

impl Old {
    /// Something of which nothing is saved.
    pub(super) fn new(node: Node, place: Place) -> Self {
        Self {
            node,
            place,
            kept: None,
            content: None,
            moved: Vec::new(),
            gone: false,
            is_doubted: false,
            is_special: false,
            kept_by: None,
            content_by: None,
        }
    }

    /// Returns what can be put back of a file whose content was not saved, which is `now`: its times stay
    /// those of the content that it has.
    pub(super) fn without_content(&self, now: &Node) -> Self {
        let mut old = Self { content: None, ..self.clone() };
        (old.node.modified, old.node.accessed) = (now.modified, now.accessed);
        old
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) from: u64,
    pub(crate) length: u64,
    pub(crate) object: u64,
}

impl Image {
    /// Whether this may be recorded: a call that touches ever more must not use up the memory of the
    /// agent. An undo has as much to record as what it undoes.
    pub(crate) fn has_room_for(&self, record: &Record) -> bool {
        let has_room = self.recorded < RECORDED_MAX && self.path_bytes < PATH_BYTES_MAX;
        has_room || record.path_bytes().is_none() || !self.header.undoes.is_empty()
    }

    /// Whether a trouble is told already, or enough of them are.
    pub(crate) fn has_told(&self, trouble: &Trouble) -> bool {
        self.trouble.len() >= TROUBLES_MAX || self.trouble.contains(trouble)
    }

    pub(crate) fn apply(&mut self, record: Record) {
        if let Some(bytes) = record.path_bytes() {
            self.recorded += 1;
            self.path_bytes = self.path_bytes.saturating_add(bytes);
        }
        match record {
            Record::Header(header) => self.header = header,
            Record::Node { node, place } => {
                self.nodes.entry(node.id).or_insert_with(|| Old::new(node, place));
            }
            Record::Entry { folder, name, before } => {
                self.entries.entry(folder).or_default().entry(name).or_insert(before);
            }
            Record::Kept { id, object } => self.on(id, |old| old.kept = Some(object)),
            Record::Content { id, from, length, object } => {
                self.on(id, |old| old.content = Some(Content { from, length, object }));
            }
            Record::Moved { id, place } => self.on(id, |old| old.moved.push(place)),
            Record::Gone { id } => self.on(id, |old| old.gone = true),
            Record::Doubted { id } => self.on(id, |old| old.is_doubted = true),
            Record::Special { id } => self.on(id, |old| old.is_special = true),
            Record::Again { old, new } => self.again.push((old, new)),
            Record::LeftOut(left_out) => self.left_out.push(left_out),
            Record::Trouble(trouble) => self.trouble.push(trouble),
            Record::End(end) => self.end = Some(end),
            Record::Over => self.is_over = true,
            Record::Turn { .. } => {}
        }
    }

    fn on(&mut self, id: NodeId, change: impl FnOnce(&mut Old)) {
        if let Some(old) = self.nodes.get_mut(&id) {
            change(old);
        }
    }

    /// Reads a whole log, up to where it was cut off. `None` for what is none, or a newer one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut image = Self::default();
        read_records(bytes)?.into_iter().for_each(|record| image.apply(record));
        Some(image)
    }

    /// Counts places from other roots: where each old one is by now, `None` for one that is not open.
    pub(crate) fn set_roots(&mut self, roots: &[Option<Place>]) {
        let mut unopened = BTreeSet::new();
        let mut set = |place: &mut Place| {
            let root = place.root;
            if !place.count_from(roots) {
                unopened.insert(root);
            }
        };
        for old in self.nodes.values_mut() {
            set(&mut old.place);
            old.moved.iter_mut().for_each(&mut set);
        }
        if let Some(end) = &mut self.end {
            end.after.iter_mut().for_each(|(place, _)| set(place));
            end.left_at.iter_mut().for_each(|(_, place)| set(place));
            end.new_folders.iter_mut().for_each(&mut set);
            end.sealed.iter_mut().for_each(|sealed| set(&mut sealed.place));
            end.left_files.iter_mut().filter_map(|(_, left)| left.place.as_mut()).for_each(set);
        }
        let path = |root| self.header.roots.get(root).cloned();
        self.unopened = unopened.into_iter().filter_map(path).collect();
    }

    /// The ids after nodes were made again, by `again` of this and later checkpoints.
    pub(crate) fn rename_nodes(&mut self, again: &[(NodeId, NodeId)]) {
        if again.is_empty() {
            return;
        }
        let newest =
            |id: NodeId| again.iter().fold(id, |id, (old, new)| if id == *old { *new } else { id });
        self.nodes = std::mem::take(&mut self.nodes)
            .into_iter()
            .map(|(id, mut old)| {
                old.node.id = newest(id);
                (old.node.id, old)
            })
            .collect();
        self.entries = std::mem::take(&mut self.entries)
            .into_iter()
            .map(|(folder, names)| {
                let names = names.into_iter().map(|(name, id)| (name, id.map(newest)));
                (newest(folder), names.collect())
            })
            .collect();
        if let Some(end) = &mut self.end {
            end.left_at.iter_mut().for_each(|(id, _)| *id = newest(*id));
            end.left_files.iter_mut().for_each(|(id, _)| *id = newest(*id));
        }
    }
}

/// Reads the records of a log, up to where it was cut off. `None` for what is none, or a newer one.
pub(crate) fn read_records(mut bytes: &[u8]) -> Option<Vec<Record>> {
    let mut records = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let Some((record, rest)) = rest.split_at_checked(length) else { break };
        bytes = rest;
        let Some(record) = Record::from_bytes(record) else { break };
        if records.is_empty() != matches!(record, Record::Header(_)) {
            return None;
        }
        records.push(record);
    }
    (!records.is_empty()).then_some(records)
}

impl Record {
    /// As [`Image::rename_nodes`].
    pub(super) fn rename_nodes(&mut self, again: &[(NodeId, NodeId)]) {
        let rename = |id: &mut NodeId| {
            again.iter().for_each(|(old, new)| *id = if *id == *old { *new } else { *id });
        };
        match self {
            Self::Node { node, .. } => rename(&mut node.id),
            Self::Entry { folder, before, .. } => {
                rename(folder);
                before.iter_mut().for_each(rename);
            }
            Self::Kept { id, .. }
            | Self::Content { id, .. }
            | Self::Moved { id, .. }
            | Self::Gone { id }
            | Self::Doubted { id }
            | Self::Special { id } => rename(id),
            _ => {}
        }
    }

    /// Returns how long the path is that it keeps; `None` for what counts for no limit.
    fn path_bytes(&self) -> Option<usize> {
        let name = match self {
            Self::Node { place, .. } | Self::Moved { place, .. } => place.path.as_os_str(),
            Self::Entry { name, .. } => name,
            _ => return None,
        };
        Some(name.len())
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.root.cmp(&other.root).then_with(|| compare(&self.path, &other.path))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Place {
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.number(self.root as u64);
        writer.field(self.path.as_os_str());
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self { root: usize::try_from(reader.number()?).ok()?, path: reader.path()? })
    }

    /// Counts from where each old root is by now, `None` for one that is not open. Says whether this is in one that
    /// is.
    pub(super) fn count_from(&mut self, roots: &[Option<Self>]) -> bool {
        match roots.get(self.root) {
            Some(Some(root)) if root.path.as_os_str().is_empty() => self.root = root.root,
            Some(Some(root)) => *self = root.join(self.path.as_os_str()),
            _ => {
                self.root = usize::MAX;
                return false;
            }
        }
        true
    }

    /// Whether `place` is this, or in it.
    pub(crate) fn is_around(&self, place: &Self) -> bool {
        self.root == place.root && place.path.starts_with(&self.path)
    }

    pub(crate) fn join(&self, name: &std::ffi::OsStr) -> Self {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        Self { root: self.root, path }
    }
}

/// Writes a record of which nothing but its node is to be known.
fn write_of_node(writer: &mut Writer, number: u64, id: NodeId) {
    writer.number(number);
    id.write(writer);
}

impl Sendable for Record {
    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Header(header) => {
                writer.number(0);
                writer.number(FORMAT);
                writer.field(header.session.as_ref());
                writer.field(header.name.as_ref());
                writer.number(header.started);
                writer.each(&header.undoes, |writer, id| writer.number(id.0));
                writer.list(&header.roots);
                // Once this said which names the command might change.
                writer.maybe(header.is_guarded.then_some(&()), |writer, ()| {
                    writer.list::<PathBuf>(&[])
                });
            }
            Self::Node { node, place } => {
                writer.number(1);
                node.write(writer);
                place.write(writer);
            }
            Self::Entry { folder, name, before } => {
                writer.number(2);
                folder.write(writer);
                writer.field(name);
                writer.maybe(before.as_ref(), |writer, id| id.write(writer));
            }
            Self::Kept { id, object } => {
                writer.number(3);
                id.write(writer);
                writer.number(*object);
            }
            Self::Content { id, from, length, object } => {
                writer.number(4);
                id.write(writer);
                [from, length, object].into_iter().for_each(|number| writer.number(*number));
            }
            Self::Moved { id, place } => {
                writer.number(5);
                id.write(writer);
                place.write(writer);
            }
            Self::Gone { id } => write_of_node(writer, 6, *id),
            Self::Again { old, new } => {
                writer.number(7);
                old.write(writer);
                new.write(writer);
            }
            Self::LeftOut(left_out) => {
                writer.number(8);
                left_out.write(writer);
            }
            Self::Trouble(trouble) => {
                writer.number(9);
                trouble.write(writer);
            }
            Self::End(end) => {
                writer.number(10);
                end.write(writer);
            }
            Self::Over => writer.number(11),
            Self::Turn { at } => [12, *at].into_iter().for_each(|number| writer.number(number)),
            Self::Doubted { id } => write_of_node(writer, 13, *id),
            Self::Special { id } => write_of_node(writer, 14, *id),
        }
    }
}

impl Readable for Record {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(match reader.number()? {
            0 => Self::Header(Header::read(reader)?),
            1 => Self::Node { node: Node::read(reader)?, place: Place::read(reader)? },
            2 => Self::Entry {
                folder: NodeId::read(reader)?,
                name: read_name(reader)?,
                before: reader.maybe(NodeId::read)?,
            },
            3 => Self::Kept { id: NodeId::read(reader)?, object: reader.number()? },
            4 => Self::Content {
                id: NodeId::read(reader)?,
                from: reader.number()?,
                length: reader.number()?,
                object: reader.number()?,
            },
            5 => Self::Moved { id: NodeId::read(reader)?, place: Place::read(reader)? },
            6 => Self::Gone { id: NodeId::read(reader)? },
            7 => Self::Again { old: NodeId::read(reader)?, new: NodeId::read(reader)? },
            8 => Self::LeftOut(LeftOut::read(reader)?),
            9 => Self::Trouble(Trouble::read(reader)?),
            10 => Self::End(Box::new(End::read(reader)?)),
            11 => Self::Over,
            12 => Self::Turn { at: reader.number()? },
            13 => Self::Doubted { id: NodeId::read(reader)? },
            14 => Self::Special { id: NodeId::read(reader)? },
            _ => return None,
        })
    }
}

/// Reads the name of something in a folder, or none of the folder itself; `None` for what would lead
/// elsewhere. A store can lie where the commands of another session write.
pub(crate) fn read_name(reader: &mut Reader<'_>) -> Option<OsString> {
    let name = reader.field()?;
    let mut parts = Path::new(&name).components();
    let is_name = match (parts.next(), parts.next()) {
        (Some(Component::Normal(only)), None) => only == name,
        (first, _) => first.is_none(),
    };
    is_name.then_some(name)
}

impl Header {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let format = reader.number()?;
        (FIRST_FORMAT..=FORMAT).contains(&format).then_some(())?;
        Some(Self {
            session: reader.text()?,
            name: reader.text()?,
            started: reader.number()?,
            undoes: reader.each(|reader| reader.number().map(CheckpointId))?,
            roots: reader.paths()?,
            is_guarded: format != FIRST_FORMAT && reader.maybe(Reader::paths)?.is_some(),
        })
    }
}

#[cfg(test)]
mod tests;
