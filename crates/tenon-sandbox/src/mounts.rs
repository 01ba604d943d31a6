//! What is mounted where, and at which other paths the same is found, by the kernel's list of a process's mounts.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::links::resolved;

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
    let mounts = Mounts::read(list).0.into_values();
    let mut beneath: Vec<_> = mounts
        .filter(|mount| mount.path.starts_with(folder) && mount.path != folder)
        .map(|Mount { path, file_system, .. }| Mounted { path, file_system })
        .collect();
    beneath.sort_by(|one, other| one.path.cmp(&other.path));
    beneath
}

/// Returns the other paths at which a process finds what it finds at these: where what they are mounted from, or a
/// folder above, is mounted elsewhere, too. The paths are absolute, and links on their way are followed; nothing need be
/// there. Empty where the kernel's list cannot be read.
///
/// ```
/// let names = tenon_sandbox::other_names(["/proc/self/status".as_ref()]);
/// assert!(names.iter().all(|name| name.ends_with("status")));
/// ```
#[must_use]
pub fn other_names<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<PathBuf> {
    let mounts = Mounts::of_this_process().unwrap_or_default();
    if !mounts.has_twice() {
        return Vec::new();
    }
    let ends = paths.into_iter().filter_map(|path| Some(resolved(path)?.0));
    ends.flat_map(|end| mounts.other_names(&end)).collect()
}

/// What is mounted where, as a process sees it: of several mounts on one place the topmost.
#[derive(Debug, Default)]
pub(crate) struct Mounts(HashMap<PathBuf, Mount>);

/// A mount.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) path: PathBuf,
    /// The kernel's number of the file system.
    device: Vec<u8>,
    /// Which folder or file of the file system is mounted.
    source: PathBuf,
    pub(crate) is_only_read: bool,
    file_system: String,
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
        let mounts = list.split(|byte| *byte == b'\n').filter_map(Mount::read);
        Self(mounts.map(|mount| (mount.path.clone(), mount)).collect())
    }

    /// Returns where they are.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    /// Returns the one that a path is on, which may be there itself.
    pub(crate) fn around(&self, path: &Path) -> Option<&Mount> {
        path.ancestors().find_map(|path| self.0.get(path))
    }

    /// Whether one is right at a path.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// Whether any file system is mounted at two places.
    fn has_twice(&self) -> bool {
        let mut devices = HashSet::new();
        !self.0.values().all(|mount| devices.insert(&mount.device))
    }

    /// Returns the other paths at which this process finds what it finds at a path without links ([`other_names`]).
    pub(crate) fn other_names(&self, path: &Path) -> Vec<PathBuf> {
        let Some(own) = self.around(path) else { return Vec::new() };
        let Ok(beneath) = path.strip_prefix(&own.path) else { return Vec::new() };
        let place = joined(&own.source, beneath);
        let others = self.0.values().filter(|mount| mount.device == own.device && *mount != own);
        let named = others.filter_map(|mount| {
            let name = joined(&mount.path, place.strip_prefix(&mount.source).ok()?);
            // What is mounted on top of it there is something else.
            (self.around(&name)? == mount).then_some(name)
        });
        let mut names: Vec<_> = named.collect();
        names.sort();
        names
    }
}

impl Mount {
    /// Reads a line: number, that of the mount around, device, source, place, options, further words up to ` - `, file
    /// system, what is mounted, options of the file system.
    fn read(line: &[u8]) -> Option<Self> {
        let mut words = line.split(|byte| *byte == b' ').skip(2);
        let device = words.next()?.to_vec();
        let [source, path] = [words.next()?, words.next()?].map(|it| PathBuf::from(unescaped(it)));
        let options = words.next()?;
        let mut words = words.skip_while(|word| *word != b"-").skip(1);
        let file_system = unescaped(words.next()?).to_string_lossy().into_owned();
        let has_it = |options: &[u8]| options.split(|byte| *byte == b',').any(|it| it == b"ro");
        let is_only_read = has_it(options) || words.last().is_some_and(has_it);
        Some(Self { path, device, source, is_only_read, file_system })
    }
}

/// Joins a path to a folder; nothing to it leaves it as it is.
fn joined(folder: &Path, rest: &Path) -> PathBuf {
    folder.iter().chain(rest).collect()
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

    #[test]
    fn what_is_mounted_twice_has_other_names() {
        let list = b"1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /data rw - ext4 b rw\n\
            3 1 8:2 /home /home rw - ext4 b rw\n4 1 8:1 /keys /home/ada/.ssh rw - ext4 a rw\n\
            5 1 8:1 / /sysroot ro - ext4 a rw\n6 2 0:9 / /data/home/bob rw - tmpfs t rw\n\
            7 1 8:3 / /alone rw - ext4 c rw\n";
        let mounts = Mounts::read(list);
        let check = |path: &str, expected: &[&str]| {
            let found = mounts.other_names(Path::new(path));
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{path}");
            assert!(found.iter().all(|name| !name.to_string_lossy().ends_with('/')), "{found:?}");
        };
        check("/home", &["/data/home"]);
        check("/home/ada", &["/data/home/ada"]);
        check("/data/home/ada/w", &["/home/ada/w"]);
        check("/data/other", &[]);
        check("/home/ada/.ssh/id", &["/keys/id", "/sysroot/keys/id"]);
        check("/data/home/ada/.ssh", &[]);
        // Something else is mounted there.
        check("/home/bob", &[]);
        check("/data/home/bob", &[]);
        check("/etc/shadow", &["/sysroot/etc/shadow"]);
        check("/sysroot/home", &[]);
        check("/alone/a", &[]);
    }
}
