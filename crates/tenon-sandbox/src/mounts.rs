//! What is mounted where, and at which other paths the same is found, by the kernel's list of a process's mounts.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fmt::Display;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::links::resolved;
use crate::linux::wire::{Readable, Reader, Sendable, Writer};

/// What is mounted where, as a process saw it when the kernel's list was read: what a path leads to, and not what
/// another mount lies on top of. A question costs as much as its path is deep, however many there are. What is mounted
/// later is not in it.
#[derive(Debug, Default)]
pub struct Mounts {
    /// Ordered by path; each has one.
    all: Vec<Mount>,
    /// Which of them have a file system that is mounted at several places, ordered by what is mounted.
    shared: Vec<usize>,
}

/// A place where another file system, or a folder from elsewhere, is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mounted<'a> {
    /// Absolute.
    pub path: &'a Path,
    /// The kind of its file system, as the kernel calls it: `ext4`, `tmpfs`. A folder from elsewhere
    /// has that of where it comes from.
    pub file_system: &'a str,
}

/// What a mount shows, wherever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// The kernel's number of the file system: major, minor.
    device: (u32, u32),
    /// Which folder or file of it.
    path: PathBuf,
}

/// A mount.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    number: u64,
    /// The number of the mount that it is on, which the process may not see.
    on: u64,
    path: PathBuf,
    /// The kernel's number of the file system: major, minor.
    device: (u32, u32),
    /// Which folder or file of the file system is mounted.
    source: PathBuf,
    pub(crate) is_only_read: bool,
    file_system: String,
}

impl Mounts {
    /// Reads those of this process. Empty where the kernel's list cannot be read.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::of_process("self").unwrap_or_default()
    }

    /// Reads those of a process by its number, or `self`; `None` where the kernel's list cannot be read.
    #[expect(clippy::disallowed_methods, reason = "the kernel's list of a process's mounts")]
    pub(crate) fn of_process(process: impl Display) -> Option<Self> {
        Some(Self::read(&std::fs::read(format!("/proc/{process}/mountinfo")).ok()?))
    }

    /// Reads the kernel's list of them.
    pub(crate) fn read(list: &[u8]) -> Self {
        let all: Vec<_> = list.split(|byte| *byte == b'\n').filter_map(Mount::read).collect();
        let mut all = in_sight(all);
        all.sort_by(|one, other| one.path.cmp(&other.path));
        let shared = shared(&all);
        Self { all, shared }
    }

    /// Returns what is mounted beneath `folder`, ordered by path.
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// let mounts = tenon_sandbox::Mounts::of_this_process();
    /// let proc = mounts.beneath(Path::new("/")).find(|mounted| mounted.path == Path::new("/proc"));
    /// assert_eq!(proc.unwrap().file_system, "proc");
    /// ```
    pub fn beneath(&self, folder: &Path) -> impl Iterator<Item = Mounted<'_>> {
        let beneath = self.all_beneath(folder);
        beneath.map(|mount| Mounted { path: &mount.path, file_system: &mount.file_system })
    }

    fn all_beneath(&self, folder: &Path) -> impl Iterator<Item = &Mount> {
        let first = self.all.partition_point(|mount| &*mount.path <= folder);
        let behind = self.all.iter().skip(first);
        behind.take_while(move |mount| mount.path.starts_with(folder))
    }

    /// Returns what is mounted beneath `folder`.
    pub(crate) fn sources_beneath(&self, folder: &Path) -> impl Iterator<Item = Source> {
        let all = self.all_beneath(folder);
        all.map(|mount| Source { device: mount.device, path: mount.source.clone() })
    }

    /// Whether something of these is mounted beneath `folder` and can be written there.
    pub(crate) fn lets_write(&self, folder: &Path, sources: &[Source]) -> bool {
        let is_of = |mount: &Mount| sources.iter().any(|it| (it.device, &*it.path) == mount.what());
        self.all_beneath(folder).any(|mount| !mount.is_only_read && is_of(mount))
    }

    /// Returns the other paths at which the process finds what it finds at these: where what they are mounted from, or
    /// a folder above, is mounted elsewhere, too. The paths are absolute, and links on their way are followed; nothing
    /// need be there.
    ///
    /// ```
    /// let mounts = tenon_sandbox::Mounts::of_this_process();
    /// let names = mounts.elsewhere(["/proc/self/status".as_ref()]);
    /// assert!(names.iter().all(|name| name.ends_with("status")));
    /// ```
    pub fn elsewhere<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Vec<PathBuf> {
        if self.shared.is_empty() {
            return Vec::new();
        }
        let ends = paths.into_iter().filter_map(|path| Some(resolved(path)?.0));
        ends.flat_map(|end| self.other_names(&end)).collect()
    }

    /// Returns the same of a path without links, ordered.
    pub(crate) fn other_names(&self, path: &Path) -> Vec<PathBuf> {
        let Some(own) = self.around(path) else { return Vec::new() };
        let Ok(beneath) = path.strip_prefix(&own.path) else { return Vec::new() };
        let place = joined(&own.source, beneath);
        let mut names = Vec::new();
        for source in place.ancestors() {
            let Ok(rest) = place.strip_prefix(source) else { continue };
            for mount in self.of_source(own.device, source).filter(|mount| mount.path != own.path) {
                let name = joined(&mount.path, rest);
                // What is mounted on top of it there is something else.
                if self.around(&name).is_some_and(|around| around.path == mount.path) {
                    names.push(name);
                }
            }
        }
        names.sort();
        names
    }

    /// Returns where what lies right in a folder, which is a path without links, is mounted by itself.
    pub(crate) fn parts_elsewhere(&self, folder: &Path) -> impl Iterator<Item = &Path> {
        let own = self.around(folder);
        let place = own.and_then(|own| {
            Some((own.device, joined(&own.source, folder.strip_prefix(&own.path).ok()?)))
        });
        let is_part = move |mount: &&Mount| {
            place.as_ref().is_some_and(|(device, place)| {
                mount.device == *device && mount.source.parent() == Some(place)
            })
        };
        self.all.iter().filter(is_part).map(|mount| &*mount.path)
    }

    /// Returns the mounts of one folder or file of a file system that is mounted at several places.
    fn of_source<'a>(
        &'a self,
        device: (u32, u32),
        source: &'a Path,
    ) -> impl Iterator<Item = &'a Mount> {
        let wanted = (device, source);
        let mounted = |number: &usize| self.all.get(*number).map(Mount::what);
        let first = self.shared.partition_point(|number| mounted(number) < Some(wanted));
        let behind = self.shared.iter().skip(first).filter_map(|number| self.all.get(*number));
        behind.take_while(move |mount| mount.what() == wanted)
    }

    /// Returns where they are.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(|mount| &*mount.path)
    }

    /// Returns the one that a path is on, which may be there itself.
    pub(crate) fn around(&self, path: &Path) -> Option<&Mount> {
        path.ancestors().find_map(|path| self.at(path))
    }

    /// Whether one is right at a path.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.at(path).is_some()
    }

    fn at(&self, path: &Path) -> Option<&Mount> {
        let number = self.all.binary_search_by(|mount| (*mount.path).cmp(path)).ok()?;
        self.all.get(number)
    }
}

/// Leaves out what another mount lies on top of, at its place or at a folder above: from the top on each name of a path
/// leads into what is mounted there, on the mount that the walk has come to.
fn in_sight(mut all: Vec<Mount>) -> Vec<Mount> {
    let known: HashSet<u64> = all.iter().map(|mount| mount.number).collect();
    let on = |mount: &Mount| Some(mount.on).filter(|on| known.contains(on) && *on != mount.number);
    let all_on: HashMap<_, _> =
        all.iter().map(|mount| ((on(mount), &*mount.path), mount.number)).collect();
    let topmost = topmost(&all, &all_on);
    let leads_to = |path: &Path| {
        let names: Vec<&Path> = path.ancestors().collect();
        names.iter().rev().fold(None, |at, path| {
            let next = all_on.get(&(at, *path));
            next.map_or(at, |next| topmost.get(next).copied())
        })
    };
    let seen: HashSet<u64> = all.iter().filter_map(|mount| leads_to(&mount.path)).collect();
    all.retain(|mount| seen.contains(&mount.number));
    all
}

/// Returns which mount lies on top of each of a stack on one place. There may be thousands: each is looked at once.
fn topmost(all: &[Mount], all_on: &HashMap<(Option<u64>, &Path), u64>) -> HashMap<u64, u64> {
    let mut topmost: HashMap<u64, u64> = HashMap::new();
    for mount in all {
        let (mut stack, mut at) = (vec![mount.number], mount.number);
        while let Some(next) = all_on.get(&(Some(at), &*mount.path)) {
            at = *next;
            if let Some(top) = topmost.get(&at) {
                at = *top;
                break;
            }
            stack.push(at);
        }
        topmost.extend(stack.into_iter().map(|number| (number, at)));
    }
    topmost
}

/// Returns the numbers of the mounts whose file system is mounted at several places, ordered by what is mounted.
fn shared(all: &[Mount]) -> Vec<usize> {
    let mut ordered: Vec<_> = all.iter().enumerate().collect();
    ordered.sort_by_key(|(_, mount)| mount.what());
    let of_devices = ordered.chunk_by(|(_, one), (_, other)| one.device == other.device);
    let shared = of_devices.filter(|mounts| mounts.len() > 1).flatten();
    shared.map(|(number, _)| *number).collect()
}

impl Mount {
    /// The file system, and what of it is mounted.
    fn what(&self) -> ((u32, u32), &Path) {
        (self.device, &self.source)
    }

    /// Reads a line: number, that of the mount around, device, source, place, options, further words up to ` - `, file
    /// system, what is mounted, options of the file system.
    fn read(line: &[u8]) -> Option<Self> {
        let mut words = line.split(|byte| *byte == b' ');
        let [number, on] = [number(words.next()?)?, number(words.next()?)?];
        let device = device(words.next()?)?;
        let [source, path] = [words.next()?, words.next()?].map(|it| PathBuf::from(unescaped(it)));
        let options = words.next()?;
        let mut words = words.skip_while(|word| *word != b"-").skip(1);
        let file_system = unescaped(words.next()?).to_string_lossy().into_owned();
        let has_it = |options: &[u8]| options.split(|byte| *byte == b',').any(|it| it == b"ro");
        let is_only_read = has_it(options) || words.last().is_some_and(has_it);
        Some(Self { number, on, path, device, source, is_only_read, file_system })
    }
}

impl Sendable for Source {
    fn write(&self, writer: &mut Writer) {
        writer.number(u64::from(self.device.0));
        writer.number(u64::from(self.device.1));
        writer.field(self.path.as_os_str());
    }
}

impl Readable for Source {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let mut number = || u32::try_from(reader.number()?).ok();
        Some(Self { device: (number()?, number()?), path: reader.path()? })
    }
}

fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Reads a number of a file system: `8:1`.
fn device(word: &[u8]) -> Option<(u32, u32)> {
    let (major, minor) = std::str::from_utf8(word).ok()?.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Joins a path to a folder; nothing to it leaves it as it is.
fn joined(folder: &Path, rest: &Path) -> PathBuf {
    folder.iter().chain(rest).collect()
}

/// In the kernel's lists a space is `\040`, and so on.
pub(crate) fn unescaped(mut text: &[u8]) -> OsString {
    let mut plain = Vec::with_capacity(text.len());
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
            22 25 8:1 /x /w/a\\040b rw,nosuid shared:1 master:2 - ext4 /dev/sda rw\n\
            23 25 0:9 / /w/node_modules rw - overlay overlay rw\n\
            24 23 0:10 / /w/node_modules rw - tmpfs none rw\n\
            25 21 0:11 / /w rw - xfs none rw\n26 21 0:11 / /work rw - xfs none rw\nnonsense\n";
        let mounts = Mounts::read(list);
        let found = mounts.beneath(Path::new("/w"));
        let found: Vec<_> =
            found.map(|one| (one.path.to_str().unwrap(), one.file_system)).collect();
        assert_eq!(found, [("/w/a b", "ext4"), ("/w/node_modules", "tmpfs")]);
    }

    #[test]
    fn what_is_mounted_within_is_known_wherever_it_is_moved() {
        let outside = "1 0 8:1 / / rw - ext4 a rw\n2 1 0:9 / /w/a/vol rw - tmpfs t rw\n";
        let mounted: Vec<_> =
            Mounts::read(outside.as_bytes()).sources_beneath(Path::new("/w")).collect();
        let check = |vol: &str, expected: bool| {
            let inside =
                format!("1 0 8:1 / / ro - ext4 a rw\n2 1 8:1 /w /w rw - ext4 a rw\n{vol}\n");
            let mounts = Mounts::read(inside.as_bytes());
            assert_eq!(mounts.lets_write(Path::new("/w"), &mounted), expected, "{vol}");
        };
        check("3 2 0:9 / /w/a/vol ro - tmpfs t rw", false);
        check("3 2 0:9 / /w/d/vol rw - tmpfs t rw", true);
        check("3 2 0:8 / /w/a/vol rw - tmpfs t rw", false);
        check("3 2 8:1 /w/a /w/a rw - ext4 a rw", false);
        check("3 1 0:9 / /tmp rw - tmpfs t rw", false);
    }

    #[test]
    fn what_is_mounted_twice_has_other_names() {
        let list = b"1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /data rw - ext4 b rw\n\
            3 1 8:2 /home /home rw - ext4 b rw\n4 3 8:1 /keys /home/ada/.ssh rw - ext4 a rw\n\
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

    /// Returns the list in which each was mounted after the ones before it.
    fn each_on_the_last(lines: &[&str]) -> String {
        let path = |line: &str| PathBuf::from(line.rsplit(' ').next().unwrap());
        let numbered = lines.iter().enumerate().map(|(number, line)| {
            let before = lines[..number].iter().map(|line| path(line)).enumerate();
            let around = before.filter(|(_, above)| path(line).starts_with(above));
            let on = around.max_by_key(|(number, above)| (above.as_os_str().len(), *number));
            let on = on.map_or(0, |(number, _)| number + 1);
            format!("{} {on} {line} rw - ext4 a rw\n", number + 1)
        });
        numbered.collect()
    }

    #[test]
    fn what_another_mount_lies_on_top_of_is_not_there() {
        let check = |list: &str, path: &str, expected: &[&str]| {
            let list = list.replace('\n', " rw - ext4 a rw\n");
            let found = Mounts::read(list.as_bytes()).other_names(Path::new(path));
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{path}");
        };
        // A folder above was mounted afterwards, with the same in it.
        let above = "1 0 8:1 / /\n2 1 8:1 /d/home /home\n3 1 0:9 / /m/home\n4 1 8:1 /d /m\n";
        check(above, "/home/ada", &["/d/home/ada", "/m/home/ada"]);
        check(above, "/m/home/ada", &["/d/home/ada", "/home/ada"]);
        // The one on top was moved there, and is older than the one beneath.
        let moved = "1 0 8:1 / /\n69 70 8:1 /d /m\n70 1 0:9 / /m\n";
        check(moved, "/d/home", &["/m/home"]);
        // Beneath a mount that is not seen itself nothing is, whatever its place.
        let beneath = "1 0 8:1 / /\n2 1 0:9 / /m\n3 2 8:1 /d /m/x\n4 1 0:8 / /m\n";
        check(beneath, "/d/a", &[]);
        // A mount that somebody forgets to take away again and again.
        let stack = (2..20_000).map(|number| format!("{number} {} 8:1 /d /m\n", number - 1));
        let stack = format!("1 0 8:1 / /\n{}20000 19999 8:1 /e /m\n", stack.collect::<String>());
        check(&stack, "/d/a", &[]);
        check(&stack, "/e/a", &["/m/a"]);
        // The process's root is no mount of its own.
        let within = "2 99 8:1 /d /home\n3 99 8:1 / /all\n";
        check(within, "/home/a", &["/all/d/a"]);
    }

    #[test]
    fn what_lies_right_in_a_folder_is_found_where_it_is_mounted_by_itself() {
        let list = "1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /home rw - ext4 b rw\n\
            3 1 8:2 /bob /srv/bob rw - ext4 b rw\n4 1 8:2 /ada/w /w rw - ext4 b rw\n\
            5 1 8:1 /bob /other rw - ext4 a rw\n";
        let mounts = Mounts::read(list.as_bytes());
        let found: Vec<_> = mounts.parts_elsewhere(Path::new("/home")).collect();
        assert_eq!(found, [Path::new("/srv/bob")]);
    }

    #[test]
    fn other_names_are_those_of_every_mount_of_the_same_folder_or_one_above() {
        let check = |lines: &[&str], path: &str, expected: &[&str]| {
            let mounts = Mounts::read(each_on_the_last(lines).as_bytes());
            let found = mounts.other_names(Path::new(path));
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{path}");
        };
        let several = ["8:1 / /", "8:2 /s /c", "8:2 /s /a", "8:2 /s /b", "8:2 /s2 /d", "8:3 /s /e"];
        check(&several, "/a", &["/b", "/c"]);
        check(&several, "/b/x/y", &["/a/x/y", "/c/x/y"]);
        check(&several, "/d/x", &[]);
        check(&several, "/e/x", &[]);
        check(&several, "/x", &[]);
        // The last on one place is the topmost: what is beneath it is found there no more.
        let stacked = ["8:1 / /", "8:2 /s /a", "8:3 / /a", "8:2 /s /b", "8:3 / /c", "8:2 /s /c"];
        check(&stacked, "/a/x", &[]);
        check(&stacked, "/b/x", &["/c/x"]);
        check(&stacked, "/c/x", &["/b/x"]);
        // Parts of one file system (btrfs), also one within the other.
        let parts = ["0:30 /@ /", "0:30 /@home /home", "0:30 / /top", "0:30 /@home/ada /srv/ada"];
        check(&parts, "/etc/x", &["/top/@/etc/x"]);
        check(&parts, "/home/ada/x", &["/srv/ada/x", "/top/@home/ada/x"]);
        check(&parts, "/srv/ada/x", &["/home/ada/x", "/top/@home/ada/x"]);
        check(&parts, "/home/adam", &["/top/@home/adam"]);
        check(&parts, "/top/@home/bob", &["/home/bob"]);
        check(&parts, "/top/@snapshots", &[]);
        // A file is mounted by itself.
        let file = ["8:1 / /", "8:1 /etc/key /w/key", "8:1 /etc /e"];
        check(&file, "/etc/key", &["/e/key", "/w/key"]);
        check(&file, "/w/key", &["/e/key", "/etc/key"]);
        check(&file, "/etc/key2", &["/e/key2"]);
        check(&file, "/w", &[]);
        let root = ["8:1 / /", "8:1 / /all", "0:9 / /all/tmp", "0:9 / /tmp"];
        check(&root, "/", &["/all"]);
        check(&root, "/all", &["/"]);
        check(&root, "/all/x", &["/x"]);
        check(&root, "/tmp/x", &["/all/tmp/x"]);
        check(&[], "/", &[]);
        check(&["8:1 / /a", "8:1 / /b"], "/", &[]);
    }
}
