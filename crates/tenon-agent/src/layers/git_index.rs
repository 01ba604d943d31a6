//! What a git index says, apart from the times and numbers of files that it holds: two that name the
//! same content are the same, whenever and wherever they were written. Pure.
//!
//! Of an index, or an extension, that is not known here, nothing is said.

use std::{collections::BTreeSet, ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use tenon_sandbox::{ContentHash, GitIndexEntry, GitIndexFormat, read_git_index};

/// The mode of an entry that stands for another repository.
const SUBMODULE_MODE: u32 = 0o160_000;

const FORMATS: [GitIndexFormat; 2] = [GitIndexFormat::Sha256, GitIndexFormat::Sha1];
const SHA256_BYTES: usize = 32;

/// Extensions that say something: cached trees, resolved conflicts, whether there are folders as
/// entries.
const SAYING: [&[u8]; 3] = [b"TREE", b"REUC", b"sdir"];
/// Those that say again what the rest says, or hold times: where entries are, untracked files, what a
/// monitor of files saw.
const ASIDE: [&[u8]; 4] = [b"EOIE", b"IEOT", b"UNTR", b"FSMN"];

/// Returns the hash of what an index says; `None` if it is none that is known.
pub(super) fn said(index: &[u8]) -> Option<ContentHash> {
    let mut found = FORMATS.into_iter().filter_map(|format| said_with(index, format, &mut |_| ()));
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
    for format in FORMATS {
        let mut tracked = Tracked::default();
        let mut take = |entry: &GitIndexEntry<'_>| {
            let is_submodule = entry.mode == SUBMODULE_MODE;
            let names = if is_submodule { &mut tracked.submodules } else { &mut tracked.files };
            names.insert(PathBuf::from(OsStr::from_bytes(entry.name)));
        };
        if said_with(index, format, &mut take).is_some() {
            return tracked;
        }
    }
    Tracked::default()
}

/// Returns what an index says, and calls `on_entry` with each of its entries.
fn said_with(
    index: &[u8],
    format: GitIndexFormat,
    on_entry: &mut dyn FnMut(&GitIndexEntry<'_>),
) -> Option<Vec<u8>> {
    if format == GitIndexFormat::Sha256 {
        has_sum_of_sha256(index).then_some(())?;
    }
    let mut entries = Vec::new();
    let rest = read_git_index(index, format, &mut |entry| {
        entries.extend(entry.mode.to_be_bytes());
        entries.extend(entry.id);
        entries.extend(entry.flags.to_be_bytes());
        entries.extend(entry.extended.to_be_bytes());
        entries.extend(entry.name.len().to_be_bytes());
        entries.extend(entry.name);
        on_entry(entry);
    })?;
    let mut said = rest.version.to_be_bytes().to_vec();
    said.append(&mut entries);
    for (kind, content) in rest.extensions {
        if SAYING.contains(&kind) {
            said.extend(kind);
            said.extend(content.len().to_be_bytes());
            said.extend(content);
        } else if !ASIDE.contains(&kind) {
            return None;
        }
    }
    Some(said)
}

/// Whether the sum at the end of an index is right. Git leaves it out where it is told to.
fn has_sum_of_sha256(index: &[u8]) -> bool {
    let cut = index.len().checked_sub(SHA256_BYTES).and_then(|at| index.split_at_checked(at));
    cut.is_some_and(|(body, sum)| {
        let sum_hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        sum.iter().all(|byte| *byte == 0) || ContentHash::of(body).to_string() == sum_hex
    })
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
