//! When room is to be made for what calls keep.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::record::Image;

/// The share of the bound that calls may keep until room is made again. As much is left free then,
/// so that the bound holds meanwhile.
pub(super) const SHARE: u64 = 10;

/// What a checkpoint takes at least: its log and its end.
const CHECKPOINT_BYTES: u64 = 8192;

/// About what one record takes in a log and in its end.
const RECORD_BYTES: u64 = 256;

/// What this process kept since it made room.
#[derive(Debug, Default)]
pub(crate) struct KeptSince {
    bytes: AtomicU64,
    has_pruned: AtomicBool,
}

impl KeptSince {
    /// Counts what a checkpoint keeps, from what is known of it in memory.
    pub(crate) fn add(&self, image: &Image) {
        let kept = image.nodes.values().map(|old| match (old.kept, old.content) {
            (Some(_), _) => old.node.bytes,
            (None, Some(content)) if content.object != 0 => content.length,
            _ => 0,
        });
        let records = RECORD_BYTES.saturating_mul(image.recorded as u64);
        let bytes = kept.fold(CHECKPOINT_BYTES.saturating_add(records), u64::saturating_add);
        // A sum that is too large makes room too early, no more.
        self.bytes.fetch_add(bytes.min(u64::MAX >> 16), Ordering::Relaxed);
    }

    /// Whether room is to be made: after the first that is kept, and after each share of `bytes_max`.
    pub(super) fn is_due(&self, bytes_max: u64) -> bool {
        let bytes = self.bytes.load(Ordering::Relaxed);
        bytes > 0 && (!self.has_pruned.load(Ordering::Relaxed) || bytes > bytes_max / SHARE)
    }

    pub(super) fn begin_anew(&self) {
        self.has_pruned.store(true, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }
}
