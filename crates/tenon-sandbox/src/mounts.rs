//! What is mounted beneath a folder, by the kernel's list of this process's mounts.

use std::collections::BTreeMap;
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
