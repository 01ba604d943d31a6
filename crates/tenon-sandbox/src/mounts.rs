//! What is mounted beneath a folder, by the kernel's list of this process's mounts.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A place where another file system, or a folder from elsewhere, is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    /// Absolute.
    pub path: PathBuf,
    /// The kind of its file system, as the kernel calls it: `ext4`, `tmpfs`. A folder from elsewhere
    /// has that of where it comes from.
    pub file_system: String,
}

/// Returns what is mounted beneath `folder`, ordered by path; of several on one place the topmost.
/// Empty where the kernel's list cannot be read.
///
/// ```
/// use std::path::Path;
///
/// let mounted = tenon_sandbox::mounts_beneath(Path::new("/"));
/// assert!(mounted.iter().any(|mounted| mounted.path == Path::new("/proc")));
/// let proc = mounted.iter().find(|mounted| mounted.path == Path::new("/proc"));
/// assert_eq!(proc.unwrap().file_system, "proc");
/// ```
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the kernel's list of this process's mounts")]
pub fn mounts_beneath(folder: &Path) -> Vec<Mounted> {
    beneath(folder, &std::fs::read("/proc/self/mountinfo").unwrap_or_default())
}

fn beneath(folder: &Path, list: &[u8]) -> Vec<Mounted> {
    let mounted = list.split(|byte| *byte == b'\n').filter_map(mounted);
    let beneath = mounted.filter(|(path, _)| path.starts_with(folder) && path != folder);
    let topmost: BTreeMap<PathBuf, String> = beneath.collect();
    topmost.into_iter().map(|(path, file_system)| Mounted { path, file_system }).collect()
}

/// Where something is mounted, as a process sees it.
#[derive(Debug)]
pub(crate) struct Mounts(HashMap<PathBuf, bool>);

/// A mount, by where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mount<'a> {
    path: &'a Path,
    pub(crate) is_only_read: bool,
}

impl Mounts {
    /// Returns those of this process; `None` where the kernel's list cannot be read.
    #[expect(clippy::disallowed_methods, reason = "the kernel's list of this process's mounts")]
    pub(crate) fn of_this_process() -> Option<Self> {
        Some(Self::read(&std::fs::read("/proc/self/mountinfo").ok()?))
    }

    /// Reads the kernel's list of them.
    pub(crate) fn read(list: &[u8]) -> Self {
        // Of several on one place the last is the topmost.
        Self(list.split(|byte| *byte == b'\n').filter_map(only_read).collect())
    }

    /// Returns the one that a path is on, which may be there itself.
    pub(crate) fn around(&self, path: &Path) -> Option<Mount<'_>> {
        let mut above = path.ancestors().filter_map(|path| self.0.get_key_value(path));
        above.next().map(|(path, is_only_read)| Mount { path, is_only_read: *is_only_read })
    }

    /// Whether one is right at a path.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }
}

/// Reads where a line's mount is, and whether it, or its file system, is only read: their options are the sixth word
/// and the last.
fn only_read(line: &[u8]) -> Option<(PathBuf, bool)> {
    let mut words = line.split(|byte| *byte == b' ');
    let path = PathBuf::from(unescaped(words.nth(4)?));
    let mut options = words.next().into_iter().chain(words.next_back());
    let has_it = |options: &[u8]| options.split(|byte| *byte == b',').any(|it| it == b"ro");
    Some((path, options.any(has_it)))
}

/// Reads a line. Its fifth word is the place; how many follow before ` - ` differs.
fn mounted(line: &[u8]) -> Option<(PathBuf, String)> {
    let mut words = line.split(|byte| *byte == b' ');
    let path = PathBuf::from(unescaped(words.nth(4)?));
    let file_system = words.skip_while(|word| *word != b"-").nth(1)?;
    Some((path, unescaped(file_system).to_string_lossy().into_owned()))
}

/// In the kernel's list a space is `\040`, and so on.
fn unescaped(mut text: &[u8]) -> OsString {
    let mut plain = Vec::new();
    while let Some((byte, rest)) = text.split_first() {
        let octal = (*byte == b'\\').then(|| rest.split_at_checked(3)).flatten();
        let number = octal.and_then(|(digits, rest)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 8).ok()?, rest))
        });
        let (byte, rest) = number.unwrap_or((*byte, rest));
        plain.push(byte);
        text = rest;
    }
    OsString::from_vec(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_list_of_mounts_are_read_as_they_are() {
        let check = |text: &str, plain: &str| assert_eq!(unescaped(text.as_bytes()), plain);
        check("/a", "/a");
        check("/a\\040b\\134", "/a b\\");
        check("/a\\04", "/a\\04");
        check("/a\\999", "/a\\999");
    }

    #[test]
    fn what_is_beneath_a_folder_is_named_with_its_file_system() {
        let list = b"21 1 8:1 / / rw - ext4 /dev/sda rw\n\
            22 21 8:1 /x /w/a\\040b rw,nosuid shared:1 master:2 - ext4 /dev/sda rw\n\
            23 21 0:9 / /w/node_modules rw - overlay overlay rw\n\
            24 23 0:10 / /w/node_modules rw - tmpfs none rw\n\
            25 21 0:11 / /w rw - xfs none rw\n26 21 0:11 / /work rw - xfs none rw\nnonsense\n";
        let found = beneath(Path::new("/w"), list);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.path.to_str().unwrap(), one.file_system.as_str()))
            .collect();
        assert_eq!(found, [("/w/a b", "ext4"), ("/w/node_modules", "tmpfs")]);
    }
}
