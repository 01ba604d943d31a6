//! Finds patterns in bytes: the leftmost one, of several there the longest.
//!
//! Made for few patterns of some length that are hardly ever there: a bit for the first four bytes
//! of each tells nearly every place apart that begins nothing, and making it ready costs next to
//! nothing, unlike an automaton.

/// Bytes by which a place is told apart; no pattern is shorter.
pub(super) const START_BYTES: usize = 4;

/// Bits for the beginnings: with a hundred patterns one place in seven hundred is looked at twice.
const BITS: usize = 1 << 16;

/// Patterns in order.
#[derive(Debug)]
pub(super) struct Finder {
    patterns: Vec<Vec<u8>>,
    /// For each pattern the longest other one that it begins with.
    beginnings: Vec<Option<usize>>,
    starts: Vec<u64>,
    first_bytes: [bool; 256],
    longest: usize,
}

impl Finder {
    /// Takes patterns that are sorted, unique and at least [`START_BYTES`] long.
    pub(super) fn new(patterns: Vec<Vec<u8>>) -> Self {
        let mut beginnings: Vec<Option<usize>> = Vec::with_capacity(patterns.len());
        let mut starts = vec![0; BITS / 64];
        let mut first_bytes = [false; 256];
        for (index, pattern) in patterns.iter().enumerate() {
            let mut before = index.checked_sub(1);
            // What a pattern begins with is the one before it in order, or begins that one.
            while let Some(at) = before
                && !patterns.get(at).is_some_and(|other| pattern.starts_with(other))
            {
                before = beginnings.get(at).copied().flatten();
            }
            beginnings.push(before);
            if let Some(start) = pattern.first_chunk() {
                let (word, bit) = place(*start);
                if let Some(word) = starts.get_mut(word) {
                    *word |= bit;
                }
            }
            if let Some(known) = pattern.first().and_then(|b| first_bytes.get_mut(usize::from(*b)))
            {
                *known = true;
            }
        }
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        Self { patterns, beginnings, starts, first_bytes, longest }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns where the first pattern at or behind `from` begins, and its number.
    pub(super) fn find(&self, bytes: &[u8], from: usize) -> Option<(usize, usize)> {
        let rest = bytes.get(from..)?;
        rest.array_windows().enumerate().filter(|(_, start)| self.may_begin(**start)).find_map(
            |(at, _)| {
                let found = self.longest_at(rest.get(at..)?)?;
                Some((from + at, found))
            },
        )
    }

    /// Returns the length of a pattern.
    pub(super) fn length(&self, pattern: usize) -> usize {
        self.patterns.get(pattern).map_or(0, Vec::len)
    }

    /// Returns where something begins in `bytes` that further bytes could make a pattern, or a
    /// longer one, in order.
    pub(super) fn open_ends(&self, bytes: &[u8]) -> Vec<usize> {
        let first = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        let is_open = |start: &usize| {
            let end = bytes.get(*start..).unwrap_or_default();
            let may_begin = match (end.first_chunk(), end.first()) {
                (Some(start), _) => self.may_begin(*start),
                (None, Some(byte)) => self.first_bytes.get(usize::from(*byte)) == Some(&true),
                (None, None) => false,
            };
            may_begin && {
                let at = self.patterns.partition_point(|pattern| pattern.as_slice() <= end);
                self.patterns.get(at).is_some_and(|pattern| pattern.starts_with(end))
            }
        };
        (first..bytes.len()).filter(is_open).collect()
    }

    fn may_begin(&self, start: [u8; START_BYTES]) -> bool {
        let (word, bit) = place(start);
        self.starts.get(word).is_some_and(|word| word & bit != 0)
    }

    /// The patterns that `bytes` begin with are the last one that is not behind them in order, or
    /// begin that one.
    fn longest_at(&self, bytes: &[u8]) -> Option<usize> {
        let after = self.patterns.partition_point(|pattern| pattern.as_slice() <= bytes);
        let mut candidate = after.checked_sub(1);
        while let Some(at) = candidate {
            if bytes.starts_with(self.patterns.get(at)?) {
                return Some(at);
            }
            candidate = self.beginnings.get(at).copied().flatten();
        }
        None
    }
}

/// Returns the bit that stands for a beginning. The factor is 2^32 divided by the golden ratio
/// (Knuth, The Art of Computer Programming 3, 6.4).
fn place(start: [u8; START_BYTES]) -> (usize, u64) {
    let hash = u32::from_le_bytes(start).wrapping_mul(0x9E37_79B1) >> 16;
    ((hash / 64) as usize, 1 << (hash % 64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_leftmost_longest_pattern_is_found(
            patterns in proptest::collection::btree_set("[ab]{4,7}", 0..12),
            text in "[abc]{0,40}",
        ) {
            let patterns: Vec<Vec<u8>> = patterns.into_iter().map(String::into_bytes).collect();
            let finder = Finder::new(patterns.clone());
            let bytes = text.as_bytes();
            for from in 0..=bytes.len() {
                let expected = (from..bytes.len()).find_map(|at| {
                    let there = patterns.iter().filter(|pattern| bytes[at..].starts_with(pattern));
                    there.max_by_key(|pattern| pattern.len()).map(|pattern| (at, pattern.clone()))
                });
                let found = finder.find(bytes, from).map(|(at, number)| (at, patterns[number].clone()));
                prop_assert_eq!(found, expected);
            }
            let open: Vec<usize> = (0..bytes.len())
                .filter(|at| patterns.iter().any(|pattern| {
                    pattern.len() > bytes.len() - at && pattern.starts_with(&bytes[*at..])
                }))
                .collect();
            prop_assert_eq!(finder.open_ends(bytes), open);
        }
    }
}
