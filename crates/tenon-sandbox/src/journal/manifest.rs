//! What there was before a command that is compared, on disk as long as the command runs: if its
//! agent is killed, whoever next opens the journal compares in its place.
//!
//! It is handed to the kernel and not forced to the disk, like all that the journal writes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::changes::LeftOut;
use super::checkpoint::touch;
use super::node::{Node, NodeId};
use super::record::{Header, Place, Record, read_name};
use super::scan::{Copied, Scan, Seen};
use super::store::Store;
use super::whole::write_all;
use crate::linux::openat::open_beneath;
use crate::linux::wire::{Readable, Reader, Sendable, Writer};

/// How the name of one begins that is not written to its end.
pub(super) const NEW: &str = "new-";

/// What there was before a command, locked as long as the command runs.
pub(super) struct Manifest {
    folder: OwnedFd,
    file: OwnedFd,
    name: String,
}

impl Manifest {
    /// Writes down what there was before a command of the call that `header` tells of.
    pub(super) fn write(store: &Store, header: &Header, before: &Scan) -> Result<Self, Errno> {
        store.make_manifests()?;
        let folder = store.open_manifests()?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{}", since.as_nanos(), std::process::id());
        let new = format!("{NEW}{name}");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let file = open_beneath(&folder, &*new, flags, Mode::RUSR | Mode::WUSR)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let bytes = (header, before).to_bytes().ok_or(Errno::TOOBIG);
        let written = bytes.and_then(|bytes| write_all(&file, &bytes));
        let written = written.and_then(|()| rustix::fs::renameat(&folder, &*new, &folder, &*name));
        if let Err(errno) = written {
            let _ = rustix::fs::unlinkat(&folder, &*new, AtFlags::empty());
            return Err(errno);
        }
        Ok(Self { folder, file, name })
    }

    /// Says that the command still runs.
    pub(super) fn touch(&self) {
        touch(&self.file);
    }

    /// Takes it away: what the command changed is written down.
    pub(super) fn remove(self) {
        let _ = rustix::fs::unlinkat(&self.folder, &*self.name, AtFlags::empty());
    }
}

impl Scan {
    /// Counts places from other roots: each old number's new one.
    pub(super) fn set_roots(&mut self, roots: &[usize]) {
        let places = self.nodes.values_mut().map(|seen| &mut seen.place);
        for place in places.chain(&mut self.unseen) {
            place.root = roots.get(place.root).copied().unwrap_or(usize::MAX);
        }
    }
}

impl Sendable for (&Header, &Scan) {
    fn write(&self, writer: &mut Writer) {
        let (header, scan) = self;
        Record::Header((*header).clone()).write(writer);
        writer.number(scan.unsettled_since.cast_unsigned());
        writer.maybe(scan.unseen.as_ref(), |writer, place| place.write(writer));
        writer.count(scan.nodes.len());
        for (id, seen) in &scan.nodes {
            seen.write(writer);
            writer.maybe(scan.names.get(id), |writer, names| {
                writer.count(names.len());
                for (name, id) in names {
                    writer.field(name);
                    id.write(writer);
                }
            });
            writer.maybe(scan.caches.get(id), |writer, sum| writer.number(*sum));
        }
    }
}

impl Readable for (Header, Scan) {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let Record::Header(header) = Record::read(reader)? else { return None };
        let mut scan = Scan {
            unsettled_since: reader.number()?.cast_signed(),
            unseen: reader.maybe(Place::read)?,
            ..Scan::default()
        };
        for _ in 0..reader.count()? {
            let seen = Seen::read(reader)?;
            let id = seen.node.id;
            let name = |reader: &mut Reader<'_>| Some((read_name(reader)?, NodeId::read(reader)?));
            let names = reader.maybe(|reader| reader.each(name))?;
            scan.names.extend(names.map(|names| (id, BTreeMap::from_iter(names))));
            scan.caches.extend(reader.maybe(Reader::number)?.map(|sum| (id, sum)));
            scan.nodes.insert(id, seen);
        }
        Some((header, scan))
    }
}

impl Seen {
    fn write(&self, writer: &mut Writer) {
        self.node.write(writer);
        self.place.write(writer);
        writer.maybe(self.above.as_ref(), |writer, (folder, name)| {
            folder.write(writer);
            writer.field(name);
        });
        match &self.copy {
            Copied::Nothing => writer.number(0),
            Copied::As(name) => {
                writer.number(1);
                writer.field(name.as_ref());
            }
            Copied::Not(reason) => {
                writer.number(2);
                LeftOut { path: PathBuf::new(), reason: *reason }.write(writer);
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (node, place) = (Node::read(reader)?, Place::read(reader)?);
        let above = |reader: &mut Reader<'_>| -> Option<(NodeId, OsString)> {
            Some((NodeId::read(reader)?, read_name(reader)?))
        };
        let above = reader.maybe(above)?;
        let copy = match reader.number()? {
            0 => Copied::Nothing,
            1 => Copied::As(read_name(reader)?.into_string().ok()?),
            2 => Copied::Not(LeftOut::read(reader)?.reason),
            _ => return None,
        };
        Some(Self { node, place, above, copy })
    }
}
