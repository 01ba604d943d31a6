//! The targets, one file each. A target panics where a promise is broken, and otherwise returns
//! the shape of the outcome: what was seen, without the details that make every input differ.

mod arguments;
mod log;
mod output;
mod path;
mod rule;
mod shell;
mod sse;
#[cfg(feature = "local")]
mod tags;

use std::hash::{DefaultHasher, Hash, Hasher};

use tempfile::TempDir;

/// Something to feed.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// What must hold for every input.
    pub(crate) promise: &'static str,
    pub(crate) seeds: &'static [&'static [u8]],
    /// Words of the input's language.
    pub(crate) words: &'static [&'static str],
    pub(crate) start: fn() -> Check,
}

/// Runs one input and returns the shape of its outcome.
pub(crate) type Check = Box<dyn FnMut(&[u8]) -> u64>;

pub(crate) const TARGETS: &[Target] = &[
    sse::TARGET,
    arguments::TARGET,
    path::TARGET,
    rule::TARGET,
    shell::TARGET,
    output::TARGET,
    log::TARGET,
    #[cfg(feature = "local")]
    tags::TARGET,
];

/// A folder in memory where there is one: the disk would be most of the time.
fn temporary_folder() -> TempDir {
    match tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()) {
        Ok(folder) => folder,
        Err(error) => panic!("no temporary folder: {error}"),
    }
}

fn shape(outcome: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    outcome.hash(&mut hasher);
    hasher.finish()
}

/// The order of magnitude: differences in length beyond it are no news.
fn size(length: usize) -> u32 {
    usize::BITS - length.leading_zeros()
}

/// Cuts `bytes` into pieces of 1 to 16 bytes, always the same for the same bytes.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut state = shape(&bytes);
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        state = state.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (piece, after) = rest.split_at(rest.len().min(1 + (state >> 60) as usize));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
