//! Whether all names in an index are such as git adds. It is read piece by piece, so that a long one takes no more memory
//! than a short one, but for four bytes an entry.

use std::io::{Read, Take};
use std::num::NonZeroU32;

use super::{
    FOLDER, GitIndexFormat, HEADER_BYTES, Rest, TYPE, blocks_are_as_read, extensions_begin_at,
    is_plain_name, start,
};

/// How much is read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// The longest entry, whose name no file system takes, and the longest list of blocks, of 8,000.
const PART_BYTES_MAX: usize = 64 << 10;

/// How long all names may be together, by the length of the index: in version 4 each can have all of the one before it. That
/// of an index that is shorter counts, so that a few files may lie deep.
const NAMES_TIMES_MAX: u64 = 4;
const SHORT_BYTES: u64 = 16 << 20;

/// How much stays of what was read: enough for the last extension.
const TAIL_BYTES: usize = 64;

/// Whether git reads an index of this length and all names in it are such as it adds.
pub(crate) fn is_sound(index: &mut dyn Read, length: u64, format: GitIndexFormat) -> bool {
    // Git takes an empty one for none.
    length == 0 || judge(index, length, format) == Some(true)
}

/// Returns whether the names are plain; `None` if it is no index that is known, or git could read it in another way.
fn judge(index: &mut dyn Read, length: u64, format: GitIndexFormat) -> Option<bool> {
    let body = usize::try_from(length).ok()?.checked_sub(format.id_bytes())?;
    let reader = index.take(body as u64);
    let mut pieces = Pieces { reader, window: Vec::new(), at: 0, before: 0 };
    let (version, count) = pieces.next(HEADER_BYTES, |rest| rest.header())?;
    let (mut name, mut starts): (_, Vec<Option<NonZeroU32>>) = Default::default();
    let (mut is_plain, mut lacks_names, mut has_link) = (true, false, false);
    let mut names_left = length.max(SHORT_BYTES).checked_mul(NAMES_TIMES_MAX)?;
    for _ in 0..count {
        let at = pieces.position();
        let is_whole = pieces.next(PART_BYTES_MAX, |rest| {
            let entry = rest.entry((version, format.id_bytes()), &mut name)?;
            names_left = names_left.checked_sub(entry.name.len() as u64)?;
            // What stands for an entry of a shared index has its name there.
            lacks_names |= entry.name.is_empty();
            is_plain &=
                entry.name.is_empty() || is_plain_name(entry.name, entry.mode & TYPE == FOLDER);
            Some(entry.is_whole)
        })?;
        starts.push(start(at, is_whole));
    }
    let end = pieces.position();
    while pieces.position() < body {
        let (kind, length) = pieces.next(8, |rest| rest.extension())?;
        match &kind {
            b"IEOT" => pieces
                .next(PART_BYTES_MAX, |rest| blocks_are_as_read(rest.take(length)?, &starts))?,
            _ => pieces.skip(length)?,
        }
        has_link |= kind == *b"link";
    }
    extensions_begin_at(pieces.tail(), end, format)?;
    Some(is_plain && (!lacks_names || has_link))
}

/// What is read, of which the last pieces are held.
struct Pieces<'r> {
    reader: Take<&'r mut dyn Read>,
    window: Vec<u8>,
    /// What comes next begins there in the window.
    at: usize,
    /// How much was before the window.
    before: usize,
}

impl Pieces<'_> {
    fn position(&self) -> usize {
        self.before + self.at
    }

    /// Reads something that may have so many bytes.
    fn next<T>(
        &mut self,
        bytes_max: usize,
        read: impl FnOnce(&mut Rest<'_>) -> Option<T>,
    ) -> Option<T> {
        if self.window.len() - self.at < bytes_max {
            let done = self.at.saturating_sub(TAIL_BYTES);
            self.window.drain(..done);
            (self.at, self.before) = (self.at - done, self.before + done);
            let mut piece = self.reader.by_ref().take(PIECE_BYTES as u64);
            piece.read_to_end(&mut self.window).ok()?;
        }
        let end = self.window.len().min(self.at + bytes_max);
        let mut rest = Rest { all: self.window.get(..end)?, at: self.at };
        let value = read(&mut rest)?;
        self.at = rest.at;
        Some(value)
    }

    fn skip(&mut self, length: usize) -> Option<()> {
        let mut left = length;
        while left > 0 {
            let part = left.min(PIECE_BYTES);
            self.next(part, |rest| rest.take(part).map(drop))?;
            left -= part;
        }
        Some(())
    }

    /// Returns the end of what was read, without the header.
    fn tail(&self) -> &[u8] {
        self.window.get(HEADER_BYTES.saturating_sub(self.before)..).unwrap_or_default()
    }
}
