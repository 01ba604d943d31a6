//! The content of a file as one comparable value.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// The SHA-256 of a file's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Returns the hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(crate) fn of_digest(digest: Sha256) -> Self {
        Self(digest.finalize().into())
    }
}

/// Makes the hash of bytes that come in pieces.
///
/// ```
/// use tenon_sandbox::{ContentHash, ContentHasher};
///
/// let mut hasher = ContentHasher::default();
/// [b"ab", b"cd"].into_iter().for_each(|piece| hasher.push(piece));
/// assert_eq!(hasher.finish(), ContentHash::of(b"abcd"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ContentHasher(Sha256);

impl ContentHasher {
    /// Takes the next piece.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash of all pieces.
    #[must_use]
    pub fn finish(self) -> ContentHash {
        ContentHash::of_digest(self.0)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ContentHash({self})")
    }
}

/// A text that is not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a content hash is 64 hexadecimal digits")]
pub struct InvalidHash;

impl FromStr for ContentHash {
    type Err = InvalidHash;

    fn from_str(text: &str) -> Result<Self, InvalidHash> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(InvalidHash);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| InvalidHash)?;
            if pair.starts_with('+') {
                return Err(InvalidHash);
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| InvalidHash)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_survives_its_text() {
        let hash = ContentHash::of(b"abc");
        assert_eq!(
            hash.to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(hash.to_string().parse(), Ok(hash));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "ba78", &"+f".repeat(32), &"zz".repeat(32), &"é".repeat(32)] {
            assert_eq!(text.parse::<ContentHash>(), Err(InvalidHash), "{text}");
        }
    }
}
