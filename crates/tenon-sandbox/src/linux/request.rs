//! What the agent tells the helper about one command, and what the helper tells the agent.

use std::ffi::{CStr, OsString};
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::process::{Pid, WaitStatus};

use super::mark::Mark;
pub(crate) use super::wire::{Readable, Sendable, read_message};
use super::wire::{Reader, Writer};
use crate::mounts::{Mounts, Source};
use crate::profile::Limits;

/// The name that makes this program the helper.
pub(super) const HELPER_NAME: &CStr = c"tenon-helper";

/// What the agent sends, once, to have the command ended: terminate, then kill.
pub(crate) const STOP: u8 = b'T';

/// What the agent sends to have it killed at once.
pub(crate) const KILL: u8 = b'K';

/// Everything the helper needs to start one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Where bash may be, best first.
    pub(crate) shells: Vec<OsString>,
    pub(crate) script: OsString,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) confinement: Confinement,
    pub(crate) limits: Option<Limits>,
    /// Between terminate and kill.
    pub(crate) grace_ms: u64,
    /// Whether the agent wants to be asked before each call that changes files.
    pub(crate) watched: bool,
    /// What all that comes from the command has, where no namespace ends it (see `mark.rs`).
    pub(crate) mark: Option<Mark>,
}

/// What holds the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Confinement {
    /// Nothing.
    None,
    /// It writes nothing.
    Reading,
    /// Landlock, seccomp, no capabilities; inside the namespaces or alone.
    Walls(Box<Walls>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Walls {
    /// Beneath these it may read.
    pub(crate) readable: Vec<PathBuf>,
    /// Beneath these it may write as well.
    pub(crate) writable: Vec<PathBuf>,
    /// The rules for that were made before: the warm helper has them, or they come as a descriptor,
    /// after the request.
    pub(crate) has_rules: bool,
    /// Whether there are sockets that reach other machines, as far as the namespace goes.
    pub(crate) internet: bool,
    /// Whether nothing is written that stays: then no mode, owner or time is changed either.
    pub(crate) only_reads: bool,
    pub(crate) inside: Option<Inside>,
}

/// What is done in the namespaces of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Bubblewrap made what is the call's own; it is only looked at.
    pub(crate) is_enclosed: bool,
    /// Where the shell begins. A descriptor of the agent's would lead out.
    pub(crate) folder: PathBuf,
    /// Whose files are written.
    pub(crate) owner: Owner,
    /// Folders that may have a repository and names that run programs.
    pub(crate) roots: Vec<PathBuf>,
    /// Directories that are a repository's own.
    pub(crate) repositories: Vec<PathBuf>,
    /// Folders that came since the file tree was made, and cannot be renamed either.
    pub(crate) pinned: Vec<PathBuf>,
    /// Roots that this call only reads.
    pub(crate) read_only: Vec<PathBuf>,
    /// Protected files whose names are not read-only for this call.
    pub(crate) lifted: Vec<PathBuf>,
    /// Files and folders that no command sees.
    pub(crate) hidden: Vec<PathBuf>,
    /// What else is mounted within the roots, and only read there: said where bubblewrap was told so by names.
    pub(crate) mounted: Vec<Source>,
}

/// Whose the private folders are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl Owner {
    pub(crate) fn write(self, writer: &mut Writer) {
        writer.number(u64::from(self.user));
        writer.number(u64::from(self.group));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let mut id = || u32::try_from(reader.number()?).ok();
        Some(Self { user: id()?, group: id()? })
    }
}

/// What the helper reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// The shell's process id, which is also its session's; 0 in a namespace of its own.
    Started(i32),
    /// The shell ended with a code.
    Exited(i32),
    /// The shell was ended by a signal.
    Signalled(i32),
    /// Everything that came from the command has ended, and the helper has nothing left to do.
    Done,
    /// No shell could be executed: the error number.
    NoShell(i32),
    /// The helper could not do its work: the error number.
    Failed(i32),
    /// A wall does not stand. Nothing was run.
    Refused(Refused),
    /// The folder to run in cannot be entered: the error number.
    NoFolder(i32),
    /// The command was ended because it used more memory than it may.
    MemoryExceeded,
    /// The command was ended because it had more processes than it may.
    ProcessesExceeded,
    /// The namespaces are made and wait for their id map.
    Unshared,
    /// The warm helper takes calls.
    Ready,
    /// The process with this id waits for a call, on the socket that comes with this.
    Waiting(i32),
    /// The listener for questions about the command comes with this.
    Watched,
    /// There is no listener: the error number.
    NotWatched(i32),
}

/// A wall that does not stand, and what the kernel said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) wall: Wall,
    pub(crate) errno: Errno,
}

/// One part of the confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wall {
    Namespaces = 1,
    IdMap,
    Mounts,
    Proc,
    Loopback,
    Protected,
    Ids,
    Capabilities,
    Landlock,
    Seccomp,
}

impl Wall {
    const ALL: [Self; 10] = [
        Self::Namespaces,
        Self::IdMap,
        Self::Mounts,
        Self::Proc,
        Self::Loopback,
        Self::Protected,
        Self::Ids,
        Self::Capabilities,
        Self::Landlock,
        Self::Seccomp,
    ];

    pub(crate) fn refused(self, errno: Errno) -> Refused {
        Refused { wall: self, errno }
    }
}

/// What comes with the descriptors of a call: its control socket and its two outputs.
pub(crate) const GIVEN: &[u8] = b"C";

/// Bytes of `taken`.
pub(crate) const TAKEN_BYTES: usize = 5;

/// What tells the warm helper, with the control socket of a call, which waiting process has it.
pub(crate) fn taken(pid: Pid) -> [u8; TAKEN_BYTES] {
    let [a, b, c, d] = pid.as_raw_nonzero().get().to_le_bytes();
    [b'T', a, b, c, d]
}

/// Bytes of one report.
pub(crate) const REPORT_BYTES: usize = 5;

impl Report {
    /// Returns what is told of a shell that ended.
    pub(crate) fn of(status: WaitStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(signal)) => Self::Signalled(signal),
            (None, None) => Self::Failed(libc::EIO),
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; REPORT_BYTES] {
        let (tag, value) = match self {
            Self::Started(pid) => (1, pid),
            Self::Exited(code) => (2, code),
            Self::Signalled(signal) => (3, signal),
            Self::NoShell(errno) => (4, errno),
            Self::Failed(errno) => (5, errno),
            Self::Refused(Refused { wall, errno }) => {
                (6, (wall as i32) << 16 | errno.raw_os_error() & 0xffff)
            }
            Self::Done => (7, 0),
            Self::NoFolder(errno) => (8, errno),
            Self::MemoryExceeded => (9, 0),
            Self::Unshared => (10, 0),
            Self::Ready => (11, 0),
            Self::Watched => (12, 0),
            Self::NotWatched(errno) => (13, errno),
            Self::Waiting(pid) => (14, pid),
            Self::ProcessesExceeded => (15, 0),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [tag, a, b, c, d]
    }

    pub(crate) fn from_bytes([tag, a, b, c, d]: [u8; REPORT_BYTES]) -> Option<Self> {
        let value = i32::from_le_bytes([a, b, c, d]);
        match tag {
            1 => Some(Self::Started(value)),
            2 => Some(Self::Exited(value)),
            3 => Some(Self::Signalled(value)),
            4 => Some(Self::NoShell(value)),
            5 => Some(Self::Failed(value)),
            6 => {
                let wall = Wall::ALL.into_iter().find(|wall| *wall as i32 == value >> 16)?;
                Some(Self::Refused(wall.refused(Errno::from_raw_os_error(value & 0xffff))))
            }
            7 => Some(Self::Done),
            8 => Some(Self::NoFolder(value)),
            9 => Some(Self::MemoryExceeded),
            10 => Some(Self::Unshared),
            11 => Some(Self::Ready),
            12 => Some(Self::Watched),
            13 => Some(Self::NotWatched(value)),
            14 => Some(Self::Waiting(value)),
            15 => Some(Self::ProcessesExceeded),
            _ => None,
        }
    }
}

impl Sendable for Request {
    fn write(&self, writer: &mut Writer) {
        writer.list(&self.shells);
        writer.field(&self.script);
        writer.each(&self.environment, |writer, (name, value)| {
            writer.field(name);
            writer.field(value);
        });
        match &self.confinement {
            Confinement::None => writer.number(0),
            Confinement::Reading => writer.number(1),
            Confinement::Walls(walls) => {
                writer.number(2);
                walls.write(writer);
            }
        }
        writer.maybe(self.limits.as_ref(), |writer, limits| {
            let mut limits = *limits;
            limits.numbers().into_iter().for_each(|number| writer.number(*number));
        });
        writer.number(self.grace_ms);
        writer.flag(self.watched);
        writer.maybe(self.mark.as_ref(), |writer, mark| writer.number(mark.0));
    }
}

impl Readable for Request {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            shells: reader.each(Reader::field)?,
            script: reader.field()?,
            environment: reader.each(|reader| Some((reader.field()?, reader.field()?)))?,
            confinement: match reader.number()? {
                0 => Confinement::None,
                1 => Confinement::Reading,
                2 => Confinement::Walls(Box::new(Walls::read(reader)?)),
                _ => return None,
            },
            limits: reader.maybe(|reader| {
                let mut limits = Limits::default();
                for number in limits.numbers() {
                    *number = reader.number()?;
                }
                Some(limits)
            })?,
            grace_ms: reader.number()?,
            watched: reader.flag()?,
            mark: reader.maybe(|reader| reader.number().map(Mark))?,
        })
    }
}

impl Confinement {
    /// Returns what is done in the namespaces of the call, if it has some.
    pub(super) fn inside(&self) -> Option<&Inside> {
        match self {
            Self::Walls(walls) => walls.inside.as_ref(),
            Self::None | Self::Reading => None,
        }
    }

    /// Whether there are walls without namespaces.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self, Self::Walls(walls) if walls.inside.is_none())
    }

    /// Whether a descriptor of rules follows the request.
    pub(super) fn has_rules(&self) -> bool {
        matches!(self, Self::Walls(walls) if walls.has_rules)
    }
}

impl Walls {
    fn write(&self, writer: &mut Writer) {
        writer.list(&self.readable);
        writer.list(&self.writable);
        writer.flag(self.has_rules);
        writer.flag(self.internet);
        writer.flag(self.only_reads);
        writer.maybe(self.inside.as_ref(), |writer, inside| inside.write(writer));
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            readable: reader.paths()?,
            writable: reader.paths()?,
            has_rules: reader.flag()?,
            internet: reader.flag()?,
            only_reads: reader.flag()?,
            inside: reader.maybe(Inside::read)?,
        })
    }
}

impl Inside {
    /// Returns what is mounted now within what the call writes.
    pub(crate) fn mounted_in_roots(&self) -> Vec<Source> {
        let mounts = Mounts::of_this_process();
        self.written().flat_map(|root| mounts.sources_beneath(root).collect::<Vec<_>>()).collect()
    }

    /// Returns the roots and the repositories that the call writes.
    pub(crate) fn written(&self) -> impl Iterator<Item = &PathBuf> {
        let all = self.roots.iter().chain(&self.repositories);
        all.filter(|root| !self.read_only.contains(root))
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.flag(self.is_enclosed);
        writer.field(self.folder.as_os_str());
        self.owner.write(writer);
        let Self { roots, repositories, pinned, read_only, lifted, hidden, .. } = self;
        for list in [roots, repositories, pinned, read_only, lifted, hidden] {
            writer.list(list);
        }
        writer.each(&self.mounted, |writer, source| source.write(writer));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            is_enclosed: reader.flag()?,
            folder: reader.path()?,
            owner: Owner::read(reader)?,
            roots: reader.paths()?,
            repositories: reader.paths()?,
            pinned: reader.paths()?,
            read_only: reader.paths()?,
            lifted: reader.paths()?,
            hidden: reader.paths()?,
            mounted: reader.each(Source::read)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn inside(folder: &str, user: u32) -> Inside {
        let paths = vec![PathBuf::from("/a"), PathBuf::from(folder)];
        Inside {
            is_enclosed: false,
            folder: PathBuf::from(folder),
            owner: Owner { user, group: 7 },
            roots: paths.clone(),
            repositories: Vec::new(),
            pinned: vec![PathBuf::from("/p")],
            read_only: paths,
            lifted: Vec::new(),
            hidden: vec![PathBuf::from("/h")],
            mounted: Mounts::of_this_process().sources_beneath(Path::new("/")).collect(),
        }
    }

    proptest! {
        #[test]
        fn a_request_survives_its_bytes(
            script in proptest::collection::vec(any::<u8>(), 0..50),
            names in proptest::collection::vec("[A-Z]{0,5}", 0..5),
            grace_ms: u64,
            user: u32,
            internet: bool,
        ) {
            let walls = Walls {
                readable: names.iter().map(PathBuf::from).collect(),
                writable: Vec::new(),
                has_rules: !internet,
                internet,
                only_reads: !internet,
                inside: internet.then(|| inside("/w", user)),
            };
            let request = Request {
                shells: names.iter().map(OsString::from).collect(),
                script: OsString::from_vec(script),
                environment: names.iter().map(|name| (name.into(), "value".into())).collect(),
                confinement: Confinement::Walls(Box::new(walls)),
                limits: internet.then(Limits::default),
                grace_ms,
                watched: internet,
                mark: internet.then_some(Mark(grace_ms)),
            };
            let bytes = request.to_bytes().unwrap();
            prop_assert_eq!(Request::from_bytes(&bytes[4..]), Some(request));
        }

        #[test]
        fn other_bytes_never_crash(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Request::from_bytes(&bytes);
        }
    }

    #[test]
    fn a_report_survives_its_bytes() {
        let mut reports = vec![
            Report::Started(7),
            Report::Exited(-1),
            Report::Signalled(9),
            Report::Done,
            Report::NoShell(2),
            Report::Failed(1),
            Report::NoFolder(2),
            Report::MemoryExceeded,
            Report::ProcessesExceeded,
            Report::Unshared,
            Report::Ready,
            Report::Watched,
            Report::NotWatched(16),
            Report::Waiting(7),
        ];
        reports.extend(Wall::ALL.map(|wall| Report::Refused(wall.refused(Errno::PERM))));
        for report in reports {
            assert_eq!(Report::from_bytes(report.to_bytes()), Some(report));
        }
    }
}
