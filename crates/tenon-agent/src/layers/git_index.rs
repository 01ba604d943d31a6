//! What a git index says, apart from the times and numbers of files that it holds: two that name the
//! same content are the same, whenever and wherever they were written. Pure.
//!
//! The format stands in git's `gitformat-index`: versions 2, 3 and 4, with SHA-1 or SHA-256. Of what is
//! not known here, nothing is said.

use std::{collections::BTreeSet, ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use tenon_sandbox::ContentHash;

/// Times, device, inode, and behind the mode owner and length.
const STAT_BYTES: (usize, usize) = (24, 12);

/// The mode of an entry that stands for another repository.
const SUBMODULE_MODE: [u8; 4] = 0o160_000_u32.to_be_bytes();

const SHA1_BYTES: usize = 20;
const SHA256_BYTES: usize = 32;

/// In the flags of an entry: it has further ones, and the length of its name.
const EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;

/// Extensions that say something: cached trees, resolved conflicts, whether there are folders as
/// entries.
const SAYING: [&[u8]; 3] = [b"TREE", b"REUC", b"sdir"];
/// Those that say again what the rest says, or hold times: where entries are, untracked files, what a
/// monitor of files saw.
const ASIDE: [&[u8]; 4] = [b"EOIE", b"IEOT", b"UNTR", b"FSMN"];

/// Returns the hash of what an index says; `None` if it is none that is known.
pub(super) fn said(index: &[u8]) -> Option<ContentHash> {
    let id_bytes = [SHA256_BYTES, SHA1_BYTES].into_iter();
    let mut found = id_bytes.filter_map(|id_bytes| said_with(index, id_bytes, &mut |_, _| ()));
    found.next().map(|said| ContentHash::of(&said))
}

/// What git tracks, by paths beneath the repository's top.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    pub files: BTreeSet<PathBuf>,
    pub submodules: BTreeSet<PathBuf>,
}

/// Returns what an index says git tracks; nothing if it is none that is known.
pub(super) fn tracked(index: &[u8]) -> Tracked {
    for id_bytes in [SHA256_BYTES, SHA1_BYTES] {
        let mut tracked = Tracked::default();
        let mut take = |name: &[u8], mode: &[u8]| {
            let is_submodule = mode == SUBMODULE_MODE;
            let names = if is_submodule { &mut tracked.submodules } else { &mut tracked.files };
            names.insert(PathBuf::from(OsStr::from_bytes(name)));
        };
        if said_with(index, id_bytes, &mut take).is_some() {
            return tracked;
        }
    }
    Tracked::default()
}

/// Calls `on_entry` with the name and the mode of each.
fn said_with(
    index: &[u8],
    id_bytes: usize,
    on_entry: &mut dyn FnMut(&[u8], &[u8]),
) -> Option<Vec<u8>> {
    let (body, sum) = index.split_at_checked(index.len().checked_sub(id_bytes)?)?;
    let sum_hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    // git leaves the sum out where it is told to.
    let is_left_out = sum.iter().all(|byte| *byte == 0);
    if id_bytes == SHA256_BYTES && !is_left_out && ContentHash::of(body).to_string() != sum_hex {
        return None;
    }
    let mut rest = Rest(body);
    (rest.take(4)? == b"DIRC").then_some(())?;
    let version = rest.number().filter(|version| (2..=4).contains(version))?;
    let mut said = version.to_be_bytes().to_vec();
    let mut name = Vec::new();
    for _ in 0..rest.number()? {
        let mode = rest.entry((version, id_bytes), &mut name, &mut said)?;
        on_entry(&name, mode);
    }
    while !rest.0.is_empty() {
        let kind = rest.take(4)?;
        let length = rest.number()?;
        let content = rest.take(usize::try_from(length).ok()?)?;
        if SAYING.contains(&kind) {
            said.extend_from_slice(kind);
            said.extend_from_slice(&length.to_be_bytes());
            said.extend_from_slice(content);
        } else if !ASIDE.contains(&kind) {
            return None;
        }
    }
    Some(said)
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn flags(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    /// Adds an entry's mode, object, flags and name to what is `said`; `name` is that of the one before.
    /// Returns the mode.
    fn entry(
        &mut self,
        (version, id_bytes): (u32, usize),
        name: &mut Vec<u8>,
        said: &mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        let start = self.0.len();
        self.take(STAT_BYTES.0)?;
        let mode = self.take(4)?;
        said.extend_from_slice(mode);
        self.take(STAT_BYTES.1)?;
        said.extend_from_slice(self.take(id_bytes)?);
        let flags = self.flags()?;
        let extended = if flags & EXTENDED == 0 { 0 } else { self.flags()? };
        said.extend_from_slice(&(flags & !NAME_LENGTH).to_be_bytes());
        said.extend_from_slice(&extended.to_be_bytes());
        if version == 4 {
            // The name is the one before without so many bytes at its end, and what follows.
            let kept = name.len().checked_sub(self.offset()?)?;
            name.truncate(kept);
        } else {
            name.clear();
        }
        let length = self.0.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(self.take(length)?);
        let read = start - self.0.len();
        let padding = if version == 4 { 1 } else { 8 - read % 8 };
        self.take(padding)?.iter().all(|byte| *byte == 0).then_some(())?;
        said.extend_from_slice(&u32::try_from(name.len()).ok()?.to_be_bytes());
        said.extend_from_slice(name);
        Some(mode)
    }

    /// Reads a number as pack files have it: seven bits a byte, and one more for each that follows.
    fn offset(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        loop {
            let byte = usize::from(*self.take(1)?.first()?);
            value = value.checked_mul(128)?.checked_add(byte & 127)?;
            if byte & 128 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?;
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "runs git, whose files these are")]
mod tests {
    use std::{path::Path, process::Command};

    use super::*;

    /// Runs `script` in a new repository; returns what its index says.
    fn index_after(folder: &Path, init: &str, script: &str) -> Option<ContentHash> {
        let run = format!("git init -q {init}\n{script}");
        let mut command = Command::new("sh");
        command.args(["-ec", &run]).current_dir(folder).env("HOME", folder);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "b@c");
            command.env(format!("GIT_{role}_DATE"), "2020-01-01T00:00:00Z");
        }
        let status = command.status().expect("git is there");
        assert!(status.success(), "{run}");
        said(&std::fs::read(folder.join(".git/index")).expect("there is an index"))
    }

    #[test]
    fn an_index_says_the_same_elsewhere_and_later_and_what_is_another_is() {
        let files =
            "mkdir -p d/e; seq 9 > f; echo 2 > d/g; echo 3 > d/e/a-rather-long-name-of-a-file
            git add .; git commit -qm one; echo 4 > f";
        for init in ["", "--object-format=sha256"] {
            let mut seen = Vec::new();
            for what in [
                "true",
                "git add f",
                "chmod +x f; git add f",
                "git rm -q d/g",
                "git update-index --assume-unchanged f",
                "git update-index --skip-worktree f",
                "echo n > n; git add -N n",
                "git update-index --index-version 4; git mv d/g d/h",
                "git checkout -qb b; git commit -qam b; git checkout -q -; echo 5 > f; git commit -qam c; git merge -q b || true",
            ] {
                let said = ["touch -d 2001-01-01 f d/g; git status > x; rm x", "sleep 0.01"].map(
                    |before| {
                        let folder = tempfile::tempdir().expect("a folder");
                        index_after(folder.path(), init, &format!("{files}\n{before}\n{what}"))
                    },
                );
                assert!(said[0].is_some() && said[0] == said[1], "{init} {what}: {said:?}");
                assert!(!seen.contains(&said[0]), "{init} {what}");
                seen.push(said[0]);
            }
        }
    }

    #[test]
    fn of_what_is_no_whole_index_nothing_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        index_after(folder.path(), "", "echo 1 > f; echo 2 > g; git add .");
        let whole = std::fs::read(folder.path().join(".git/index")).expect("there is one");
        assert!(said(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(said(&whole[..length]), None, "{length}");
        }
        for (from, to) in [(&b"DIRC"[..], &b"DIRX"[..]), (b"\0\0\0\x02", b"\0\0\0\x05")] {
            let other = whole
                .windows(4)
                .position(|bytes| bytes == from)
                .map(|at| [&whole[..at], to, &whole[at + 4..]].concat());
            assert_eq!(said(&other.expect("it has that")), None);
        }
        let unknown = [&whole[..whole.len() - 20], b"LINK\0\0\0\0", &[7; 20]].concat();
        assert_eq!(said(&unknown), None);
        index_after(folder.path(), "", "git update-index --split-index");
        assert_eq!(said(&std::fs::read(folder.path().join(".git/index")).expect("one")), None);
    }
}
