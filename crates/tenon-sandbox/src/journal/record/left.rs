//! How things were when a call was over: what an undo compares with, written beside the log.

use std::ffi::OsString;
use std::path::PathBuf;

use super::Place;
use crate::journal::changes::{Changes, LinkOut};
use crate::journal::node::{Moment, NodeId};
use crate::linux::wire::{Reader, Writer};
use crate::workspace::ContentHash;

/// What is added to the kind of content that is known, where rights are: earlier ends have none.
const WITH_RIGHTS: u64 = 3;

/// How a file was when the call was over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftFile {
    /// `None` where all its names are outside of the workspace.
    pub(crate) place: Option<Place>,
    pub(crate) state: State,
    /// Of what was in it before it was appended to, as far as it was read.
    pub(crate) head: Option<ContentHash>,
}

/// What was in a file that an undo may bring back, or where a link led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed {
    /// Where it was before.
    pub(crate) place: Place,
    /// Kind and permissions.
    pub(crate) mode: u32,
    pub(crate) content: ContentHash,
}

/// How things were when the call was over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct End {
    pub(crate) changes: Changes,
    /// How everything that was touched was then.
    pub(crate) after: Vec<(Place, State)>,
    /// Where everything was then that was there before, one name of each.
    pub(crate) left_at: Vec<(NodeId, Place)>,
    /// Folders that the call made, with everything in them.
    pub(crate) new_folders: Vec<Place>,
    /// The call was cut short, and this was found out later.
    pub(crate) interrupted: bool,
    /// How long the log was. A power loss can leave less of it on the disk; 0 in older ends.
    pub(crate) log_bytes: u64,
    /// How files were of which their places alone do not tell; none in older ends.
    pub(crate) left_files: Vec<(NodeId, LeftFile)>,
    /// What an undo left as it was, as people see it; none in older ends.
    pub(crate) kept: Vec<PathBuf>,
    /// What of theirs an undo moved along with its folder, as people see it; none in older ends.
    pub(crate) moved: Vec<PathBuf>,
    /// What is known of files at protected names that are kept; none in older ends.
    pub(crate) sealed: Vec<Sealed>,
}

/// How something looked when a call was over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Absent,
    Present {
        mode: u32,
        bytes: u64,
        modified: Moment,
        changed: Moment,
        content: Known,
        /// Owner and attributes of what was there before the call, as far as they are known.
        rights: Option<ContentHash>,
    },
}

/// What is known of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Known {
    /// No more than length and time.
    Nothing,
    Hash(ContentHash),
    Target(OsString),
}

impl LeftFile {
    fn write(&self, writer: &mut Writer) {
        writer.maybe(self.place.as_ref(), |writer, place| place.write(writer));
        self.state.write(writer);
        writer.maybe(self.head.as_ref(), |writer, head| writer.field(head.to_string().as_ref()));
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            place: reader.maybe(Place::read)?,
            state: State::read(reader)?,
            head: reader.maybe(|reader| reader.text()?.parse().ok())?,
        })
    }
}

impl Sealed {
    fn write(&self, writer: &mut Writer) {
        self.place.write(writer);
        writer.number(u64::from(self.mode));
        writer.field(self.content.to_string().as_ref());
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            place: Place::read(reader)?,
            mode: u32::try_from(reader.number()?).ok()?,
            content: reader.text()?.parse().ok()?,
        })
    }
}

impl End {
    pub(super) fn write(&self, writer: &mut Writer) {
        self.changes.write(writer);
        writer.each(&self.after, |writer, (place, state)| {
            place.write(writer);
            state.write(writer);
        });
        writer.each(&self.new_folders, |writer, place| place.write(writer));
        writer.flag(self.interrupted);
        writer.number(self.log_bytes);
        writer.each(&self.left_at, |writer, (id, place)| {
            id.write(writer);
            place.write(writer);
        });
        writer.each(&self.left_files, |writer, (id, left)| {
            id.write(writer);
            left.write(writer);
        });
        writer.list(&self.kept);
        writer.list(&self.moved);
        writer.each(&self.changes.links, |writer, link| link.write(writer));
        writer.number(self.changes.links_more);
        writer.each(&self.sealed, |writer, sealed| sealed.write(writer));
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let mut end = Self {
            changes: Changes::read(reader)?,
            after: reader.each(|reader| Some((Place::read(reader)?, State::read(reader)?)))?,
            new_folders: reader.each(Place::read)?,
            interrupted: reader.flag()?,
            log_bytes: reader.number().unwrap_or(0),
            left_at: reader
                .each(|reader| Some((NodeId::read(reader)?, Place::read(reader)?)))
                .unwrap_or_default(),
            left_files: reader
                .each(|reader| Some((NodeId::read(reader)?, LeftFile::read(reader)?)))
                .unwrap_or_default(),
            kept: reader.paths().unwrap_or_default(),
            moved: reader.paths().unwrap_or_default(),
            sealed: Vec::new(),
        };
        // Older ends tell of none.
        end.changes.links = reader.each(LinkOut::read).unwrap_or_default();
        end.changes.links_more = reader.number().unwrap_or(0);
        end.sealed = reader.each(Sealed::read).unwrap_or_default();
        Some(end)
    }
}

impl State {
    pub(in crate::journal) fn write(&self, writer: &mut Writer) {
        let Self::Present { mode, bytes, modified, changed, content, rights } = self else {
            return writer.flag(false);
        };
        writer.flag(true);
        writer.number(u64::from(*mode));
        writer.number(*bytes);
        for moment in [modified, changed] {
            writer.number(moment.seconds.cast_unsigned());
            writer.number(u64::from(moment.nanoseconds));
        }
        let with = |kind: u64| if rights.is_some() { kind + WITH_RIGHTS } else { kind };
        match content {
            Known::Nothing => writer.number(with(0)),
            Known::Hash(hash) => {
                writer.number(with(1));
                writer.field(hash.to_string().as_ref());
            }
            Known::Target(target) => {
                writer.number(with(2));
                writer.field(target);
            }
        }
        if let Some(rights) = rights {
            writer.field(rights.to_string().as_ref());
        }
    }

    pub(in crate::journal) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        if !reader.flag()? {
            return Some(Self::Absent);
        }
        let (mode, bytes) = (u32::try_from(reader.number()?).ok()?, reader.number()?);
        let mut moment = || {
            Some(Moment {
                seconds: reader.number()?.cast_signed(),
                nanoseconds: u32::try_from(reader.number()?).ok()?,
            })
        };
        let (modified, changed) = (moment()?, moment()?);
        let kind = reader.number()?;
        let content = match kind % WITH_RIGHTS {
            0 => Known::Nothing,
            1 => Known::Hash(reader.text()?.parse().ok()?),
            _ => Known::Target(reader.field()?),
        };
        let rights = match kind / WITH_RIGHTS {
            0 => None,
            1 => Some(reader.text()?.parse().ok()?),
            _ => return None,
        };
        Some(Self::Present { mode, bytes, modified, changed, content, rights })
    }
}
