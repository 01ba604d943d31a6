//! How much work one command line may make before it is judged.
//!
//! A value can be doubled, split, evaluated and read as a script again and again: a line of a few words
//! asks for hours then. What is read counts in steps, what is looked through in bytes. Where either is
//! used up, the rest is not read, and the line is doubtful.

use super::word::{Piece, Word};

/// Commands that are read, again and again in loops within loops, and what is compared of variables
/// where ways come together: a second at most.
const STEPS_MAX: usize = 50_000;
/// Bytes of values, of scripts and of the words of commands that are looked through, each time that they
/// are: room for the longest script that is read, written to a file and run from there.
const BYTES_MAX: usize = 16 << 20;

/// Bytes of texts that come to who runs them by others. What is more is not followed, and no question.
const FED_BYTES_MAX: usize = 256 << 10;

pub(super) const TOO_MANY: &str = "it is nested too deeply or has too many commands";
const TOO_LONG: &str = "its values are too long, or it uses them too often";

/// What is left to one command line, the scripts within it included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    steps_left: usize,
    bytes_left: usize,
    fed_left: usize,
    is_over: bool,
}

impl Default for Work {
    fn default() -> Work {
        let (steps_left, bytes_left) = (STEPS_MAX, BYTES_MAX);
        Work { steps_left, bytes_left, fed_left: FED_BYTES_MAX, is_over: false }
    }
}

impl Work {
    /// Takes steps, or says why there are none left.
    pub(super) fn take_steps(&mut self, steps: usize) -> Result<(), &'static str> {
        take(&mut self.steps_left, steps).ok_or(TOO_MANY).inspect_err(|_| self.is_over = true)
    }

    /// Takes bytes, or says why there are none left.
    pub(super) fn take_bytes(&mut self, bytes: usize) -> Result<(), &'static str> {
        take(&mut self.bytes_left, bytes).ok_or(TOO_LONG).inspect_err(|_| self.is_over = true)
    }

    /// Takes bytes of texts that come to a program by others; says whether they were left.
    pub(super) fn takes_fed(&mut self, bytes: usize) -> bool {
        take(&mut self.fed_left, bytes).is_some()
    }

    /// Returns whether something was asked for that was not left.
    pub(super) fn is_over(self) -> bool {
        self.is_over
    }
}

fn take(left: &mut usize, wanted: usize) -> Option<()> {
    *left = left.checked_sub(wanted)?;
    Some(())
}

/// Returns how much there is to look through in words.
pub(super) fn bytes_of<'a>(words: impl IntoIterator<Item = &'a Word>) -> usize {
    words.into_iter().map(|word| bytes(&word.pieces)).sum()
}

/// Returns how much there is to look through in pieces.
pub(super) fn bytes(pieces: &[Piece]) -> usize {
    pieces.iter().map(Piece::bytes).sum()
}
