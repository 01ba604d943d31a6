//! Bytes between agent and helper: length-prefixed fields.
//!
//! The helper runs before the program's own start and stays plain, so this is no format that needs
//! a library.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::io::Errno;

/// A longer message is refused: the kernel takes no environment near this size, and no model
/// writes a script near it.
const MESSAGE_BYTES_MAX: u32 = 64 * 1024 * 1024;

/// Most messages are shorter.
const SHORT_BYTES: usize = 160;

/// What can be sent.
pub(crate) trait Sendable {
    fn write(&self, writer: &mut Writer);

    /// Returns the message with its length before it; `None` when it is too long to send.
    fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut writer = Writer(Vec::with_capacity(SHORT_BYTES));
        writer.0.extend([0; 4]);
        self.write(&mut writer);
        let mut bytes = writer.0;
        let length = u32::try_from(bytes.len() - 4).ok().filter(|l| *l <= MESSAGE_BYTES_MAX)?;
        bytes.get_mut(..4)?.copy_from_slice(&length.to_le_bytes());
        Some(bytes)
    }
}

/// What can be read again.
pub(crate) trait Readable: Sized {
    fn read(reader: &mut Reader<'_>) -> Option<Self>;

    /// Reads a message without the length before it.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let message = Self::read(&mut reader)?;
        reader.0.is_empty().then_some(message)
    }
}

/// Reads one message through `fill`, which fills the whole of what it is given.
pub(crate) fn read_message<T: Readable>(
    mut fill: impl FnMut(&mut [u8]) -> Result<(), Errno>,
) -> Result<T, Errno> {
    let mut length = [0; 4];
    fill(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MESSAGE_BYTES_MAX {
        return Err(Errno::TOOBIG);
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| Errno::TOOBIG)?];
    fill(&mut bytes)?;
    T::from_bytes(&bytes).ok_or(Errno::BADMSG)
}

impl Sendable for Vec<PathBuf> {
    fn write(&self, writer: &mut Writer) {
        writer.list(self);
    }
}

impl Readable for Vec<PathBuf> {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        reader.paths()
    }
}

#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    #[cfg(test)]
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.0.push(u8::from(flag));
    }

    /// A length past 32 bits makes the whole message too long, which is checked at its end.
    pub(crate) fn count(&mut self, count: usize) {
        self.0.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    }

    pub(crate) fn field(&mut self, field: &OsStr) {
        self.count(field.len());
        self.0.extend_from_slice(field.as_bytes());
    }

    pub(crate) fn list<T: AsRef<OsStr>>(&mut self, list: &[T]) {
        self.each(list, |writer, field| writer.field(field.as_ref()));
    }

    pub(crate) fn each<T>(&mut self, list: &[T], write: impl Fn(&mut Self, &T)) {
        self.count(list.len());
        for item in list {
            write(self, item);
        }
    }

    pub(crate) fn maybe<T>(&mut self, value: Option<&T>, write: impl Fn(&mut Self, &T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[cfg(test)]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl Reader<'_> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        match byte {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(crate) fn count(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    pub(crate) fn field(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.count()?).ok()?;
        let (field, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(field.to_vec()))
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        self.field()?.into_string().ok()
    }

    pub(crate) fn path(&mut self) -> Option<PathBuf> {
        self.field().map(PathBuf::from)
    }

    pub(crate) fn paths(&mut self) -> Option<Vec<PathBuf>> {
        self.each(Self::path)
    }

    pub(crate) fn each<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| read(self)).collect()
    }

    pub(crate) fn maybe<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { Some(Some(read(self)?)) } else { Some(None) }
    }
}
