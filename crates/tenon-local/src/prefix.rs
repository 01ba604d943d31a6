//! The saved state of the static prefix, so that no start pays for reading it.
//!
//! One file, named by a digest of model, prefix and engine. It is a cache: whatever is wrong with
//! it, it is made anew. 27 MB are read in about 20 ms, less than mapping them page by page costs.
#![expect(clippy::disallowed_methods, reason = "the cache file, in a folder given by the program")]

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::qwen2::Qwen2;

/// To be raised whenever the engine computes something else for the same tokens.
const ENGINE_VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"tenonkv\x01";
/// The header of the model file, up to this size, goes into the name.
const HEADER_BYTES_MAX: usize = 8 << 20;
/// Samples of the weights go into the name: hashing a gigabyte at each start would take a second.
const SAMPLES: usize = 64;
const SAMPLE_BYTES: usize = 4096;

/// Where the state for a model and a prefix is saved.
#[derive(Debug)]
pub(crate) struct SavedPrefix {
    path: PathBuf,
}

impl SavedPrefix {
    /// Returns the place in `folder` for the state of `prefix` in `engine`.
    pub(crate) fn place(folder: &Path, engine: &Qwen2, prefix: &[u32]) -> Self {
        let file = engine.file();
        let mut hash = Sha256::new();
        hash.update(ENGINE_VERSION.to_le_bytes());
        hash.update((file.len() as u64).to_le_bytes());
        hash.update(file.get(..HEADER_BYTES_MAX).unwrap_or(file));
        for chunk in file.chunks((file.len() / SAMPLES).max(SAMPLE_BYTES)) {
            hash.update(chunk.get(..SAMPLE_BYTES).unwrap_or(chunk));
        }
        for token in prefix {
            hash.update(token.to_le_bytes());
        }
        let mut name = String::from("prefix-");
        for byte in hash.finalize().iter().take(16) {
            name.push_str(&format!("{byte:02x}"));
        }
        Self { path: folder.join(name) }
    }

    /// Returns the saved state, or nothing where there is none that is whole.
    pub(crate) fn read(&self) -> Option<Vec<u16>> {
        let bytes = fs::read(&self.path).ok()?;
        let state = bytes.strip_prefix(MAGIC).and_then(|rest| {
            let (digest, payload) = rest.split_first_chunk::<32>()?;
            let (pairs, odd) = payload.as_chunks::<2>();
            let whole = odd.is_empty() && Sha256::digest(payload).as_slice() == digest;
            whole.then(|| pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect())
        });
        if state.is_none() {
            self.discard();
        }
        state
    }

    /// Saves `state`, readable by the person alone; a reader sees all of it or none.
    pub(crate) fn write(&self, state: &[u16]) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let payload: Vec<u8> = state.iter().flat_map(|half| half.to_le_bytes()).collect();
        let partial = self.path.with_extension(format!("{}.part", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&partial)?;
        let written = file
            .write_all(MAGIC)
            .and_then(|()| file.write_all(&Sha256::digest(&payload)))
            .and_then(|()| file.write_all(&payload))
            .and_then(|()| fs::rename(&partial, &self.path));
        if written.is_err() {
            // The error that led here says more than one about the leftover would.
            drop(fs::remove_file(&partial));
        }
        written
    }

    /// Throws the saved state away.
    pub(crate) fn discard(&self) {
        // It is read again at the next start only if this fails, and found wrong again.
        drop(fs::remove_file(&self.path));
    }
}
