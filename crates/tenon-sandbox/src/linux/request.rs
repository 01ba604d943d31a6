//! What the agent tells the helper, and what the helper tells the agent, as bytes.
//!
//! The helper runs before the program's own start and stays plain, so this is a list of
//! length-prefixed fields and no format that needs a library.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::profile::{Network, Profile};

/// A longer request is refused: the kernel takes no environment near this size, and no model
/// writes a script near it.
pub(crate) const REQUEST_BYTES_MAX: u32 = 64 * 1024 * 1024;

/// What the agent sends, once, to have the command ended: terminate, then kill.
pub(crate) const STOP: u8 = b'T';

/// Everything the helper needs to start one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Where bash may be, best first.
    pub(crate) shells: Vec<OsString>,
    pub(crate) script: OsString,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) profile: Profile,
    /// Between terminate and kill.
    pub(crate) grace_ms: u32,
}

/// What the helper reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// The shell's process id, which is also its session's.
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
    /// The profile asks for confinement that this helper cannot give.
    NotConfined,
}

/// Bytes of one report.
pub(crate) const REPORT_BYTES: usize = 5;

impl Report {
    pub(crate) fn to_bytes(self) -> [u8; REPORT_BYTES] {
        let (tag, value) = match self {
            Self::Started(pid) => (1, pid),
            Self::Exited(code) => (2, code),
            Self::Signalled(signal) => (3, signal),
            Self::NoShell(errno) => (4, errno),
            Self::Failed(errno) => (5, errno),
            Self::NotConfined => (6, 0),
            Self::Done => (7, 0),
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
            6 => Some(Self::NotConfined),
            7 => Some(Self::Done),
            _ => None,
        }
    }
}

impl Request {
    /// Returns the request with its length before it; `None` when it is too long to send.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut writer = Writer(vec![0; 4]);
        writer.list(&self.shells);
        writer.field(&self.script);
        writer.number(self.environment.len());
        for (name, value) in &self.environment {
            writer.field(name);
            writer.field(value);
        }
        writer.list(&self.profile.readable);
        writer.list(&self.profile.writable);
        writer.number(match self.profile.network {
            Network::Off => 0,
            Network::On => 1,
        });
        writer.0.extend(self.grace_ms.to_le_bytes());
        let mut bytes = writer.0;
        let length = u32::try_from(bytes.len() - 4).ok().filter(|l| *l <= REQUEST_BYTES_MAX)?;
        bytes.get_mut(..4)?.copy_from_slice(&length.to_le_bytes());
        Some(bytes)
    }

    /// Reads a request without the length before it.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let request = Self {
            shells: reader.list()?,
            script: reader.field()?,
            environment: {
                let count = reader.number()?;
                (0..count)
                    .map(|_| Some((reader.field()?, reader.field()?)))
                    .collect::<Option<_>>()?
            },
            profile: Profile {
                readable: reader.list()?.into_iter().map(PathBuf::from).collect(),
                writable: reader.list()?.into_iter().map(PathBuf::from).collect(),
                network: match reader.number()? {
                    0 => Network::Off,
                    1 => Network::On,
                    _ => return None,
                },
            },
            grace_ms: reader.number()?,
        };
        reader.0.is_empty().then_some(request)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    /// A number past 32 bits makes the whole request too long, which is checked at its end.
    fn number(&mut self, number: usize) {
        self.0.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }

    fn field(&mut self, field: &OsStr) {
        self.number(field.len());
        self.0.extend_from_slice(field.as_bytes());
    }

    fn list<T: AsRef<OsStr>>(&mut self, list: &[T]) {
        self.number(list.len());
        for field in list {
            self.field(field.as_ref());
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    fn field(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.number()?).ok()?;
        let (field, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(field.to_vec()))
    }

    fn list(&mut self) -> Option<Vec<OsString>> {
        let count = self.number()?;
        (0..count).map(|_| self.field()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_request_survives_its_bytes(
            script in proptest::collection::vec(any::<u8>(), 0..50),
            names in proptest::collection::vec("[A-Z]{0,5}", 0..5),
            grace_ms: u32,
        ) {
            let request = Request {
                shells: names.iter().map(OsString::from).collect(),
                script: OsString::from_vec(script),
                environment: names.iter().map(|name| (name.into(), "value".into())).collect(),
                profile: Profile::unconfined(),
                grace_ms,
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
        use Report::{Done, Exited, Failed, NoShell, NotConfined, Signalled, Started};
        let reports =
            [Started(7), Exited(-1), Signalled(9), Done, NoShell(2), Failed(1), NotConfined];
        for report in reports {
            assert_eq!(Report::from_bytes(report.to_bytes()), Some(report));
        }
    }
}
