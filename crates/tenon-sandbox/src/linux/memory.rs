//! How much memory everything has together that came from this process.
//!
//! Each look takes what is cheap to know and never too little: resident sizes, in which what several
//! share after a fork counts for each, and by how much the machine's shared memory rose. Only where
//! that is above the limit it is counted exactly: pages by their share, and shared memory once,
//! whether a process maps it or only a descriptor or a segment of System V holds it. Not found are
//! descriptors on their way through a socket, and what the kernel keeps in sockets, pipes and locks.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Dir, OFlags, makedev, readlinkat_raw, stat, statat};
use rustix::process::Pid;

use super::in_kernel::{DESCRIPTOR_BYTES, OfProcess, semaphores_and_queues};
use super::process_tree::{self, family};
use super::procfs::{field, open, read};

/// Between two exact looks: each goes through the page tables of all processes, which takes some
/// milliseconds for a gigabyte in one of them.
const EXACTLY_EVERY: Duration = Duration::from_secs(1);

/// Between two looks at what the kernel keeps for the processes: some 20 µs for each.
const IN_KERNEL_EVERY: Duration = Duration::from_secs(1);

/// Exact looks that must find too much. Processes that end during one leave their share of what they
/// had together to those that are looked at later, which then counts twice.
const LOOKS: usize = 3;

/// Descriptors of all processes that an exact look goes through, at about a microsecond each.
const DESCRIPTORS_MAX: usize = 1 << 18;

/// How the kernel names what memfd_create made.
const MEMFD: &[u8; 7] = b"/memfd:";

/// How the kernel names memory that processes share by inheritance.
const SHARED_ANONYMOUS: &[u8] = b"/dev/zero (deleted)";

/// What `st_blocks` counts.
const BLOCK_BYTES: u64 = 512;

/// Whose the segments, semaphores and queues of System V are that this process sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Segments {
    /// Those of the command alone, in a namespace of its own.
    Own,
    /// Those of the machine; the command has none.
    Others,
}

/// What is known of it from look to look.
pub(super) struct MemoryWatch {
    bytes_max: u64,
    segments: Segments,
    next_exact: Option<Instant>,
    /// Of the machine, at the last look.
    shared_by_all: u64,
    /// The command has no more: what the last exact look found, and what the machine's rose by since.
    shared_most: u64,
    /// What the kernel keeps: not less than there was at the last look at it.
    in_kernel_most: u64,
    next_in_kernel: Option<Instant>,
}

impl MemoryWatch {
    pub(super) fn new(bytes_max: u64, segments: Segments) -> Self {
        Self {
            bytes_max,
            segments,
            next_exact: None,
            shared_by_all: shared_by_all(),
            shared_most: 0,
            in_kernel_most: 0,
            next_in_kernel: None,
        }
    }

    /// Looks, and says whether it is too much.
    pub(super) fn is_exceeded(&mut self, family: &[process_tree::Process]) -> bool {
        let shared_by_all = shared_by_all();
        let rise = shared_by_all.saturating_sub(self.shared_by_all);
        self.shared_by_all = shared_by_all;
        self.shared_most = self.shared_most.saturating_add(rise);
        let processes = processes(family);
        let own: u64 = processes.iter().map(|process| process.own_bytes).sum();
        let is_before = |time: Option<Instant>| time.is_some_and(|time| Instant::now() < time);
        if !is_before(self.next_in_kernel) {
            let of_processes = processes.iter().map(|it| OfProcess::at(&it.folder).bytes_max());
            self.in_kernel_most =
                of_processes.sum::<u64>().saturating_add(self.of_system_v(family));
            self.next_in_kernel = Some(Instant::now() + IN_KERNEL_EVERY);
        }
        let most = own.saturating_add(self.shared_most).saturating_add(self.in_kernel_most);
        if is_before(self.next_exact) || most <= self.bytes_max {
            return false;
        }
        let is_exceeded = (0..LOOKS).all(|_| self.is_exceeded_exactly());
        self.next_exact = Some(Instant::now() + EXACTLY_EVERY);
        is_exceeded
    }

    fn is_exceeded_exactly(&mut self) -> bool {
        let family = family(rustix::process::getpid());
        let (own, shared) = exactly(&processes(&family), self.segments);
        self.shared_most = shared;
        let of_system_v = self.of_system_v(&family);
        own.saturating_add(shared).saturating_add(of_system_v) > self.bytes_max
    }

    /// What semaphores and queues take.
    fn of_system_v(&self, family: &[process_tree::Process]) -> u64 {
        match self.segments {
            Segments::Own => semaphores_and_queues(family.iter().map(|it| it.threads).sum()),
            Segments::Others => 0,
        }
    }
}

/// Returns how much memory of the machine is in files, those of temporary file systems included.
fn shared_by_all() -> u64 {
    let machine = rustix::system::sysinfo();
    machine.sharedram.saturating_mul(machine.mem_unit.into())
}

fn processes(family: &[process_tree::Process]) -> Vec<Process> {
    family.iter().filter_map(|process| Process::of(process.pid)).collect()
}

struct Process {
    /// Where the kernel tells of it.
    folder: String,
    /// Resident and not shared. What several share after a fork counts for each.
    own_bytes: u64,
}

impl Process {
    fn of(pid: Pid) -> Option<Self> {
        let folder = format!("/proc/{}", pid.as_raw_nonzero());
        // A first thread that ended before the others has nothing, and they have it all.
        Self::at(&folder).or_else(|| {
            let tasks = format!("{folder}/task");
            let threads = numbers(&open(&tasks, OFlags::DIRECTORY)?);
            threads.into_iter().find_map(|thread| Self::at(&format!("{tasks}/{thread}")))
        })
    }

    fn at(folder: &str) -> Option<Self> {
        let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
        let own = own_pages(&read(&format!("{folder}/statm"))?)?;
        Some(Self { folder: folder.to_owned(), own_bytes: own.saturating_mul(page) })
    }
}

/// Reads resident minus shared pages out of `/proc/PID/statm`, if there is any memory.
fn own_pages(text: &[u8]) -> Option<u64> {
    let mut fields = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let mut next = || fields.next()?.parse::<u64>().ok();
    let (size, resident, shared) = (next()?, next()?, next()?);
    (size > 0).then(|| resident.saturating_sub(shared))
}

/// Returns how much memory of their own the processes have, with what the kernel keeps for each, and how
/// much they share by descriptors, mappings and segments.
fn exactly(processes: &[Process], segments: Segments) -> (u64, u64) {
    let mut files = MemoryFiles { bytes: HashMap::new(), descriptors_left: DESCRIPTORS_MAX };
    let mut own: u64 = 0;
    for Process { folder, .. } in processes {
        let descriptors = files.add_open(folder);
        let in_kernel = descriptors.saturating_mul(DESCRIPTOR_BYTES);
        own = own.saturating_add(in_kernel).saturating_add(OfProcess::at(folder).page_tables_bytes);
    }
    let mut shared: u64 = files.bytes.values().sum();
    for Process { folder, own_bytes } in processes {
        let parts = read(&format!("{folder}/smaps_rollup"));
        let part = |name: &[u8]| field(parts.as_ref()?, name);
        // What cannot be looked into counts whole.
        own = own.saturating_add(part(b"Pss_Anon:").unwrap_or(*own_bytes));
        if part(b"Pss_Shmem:").is_some_and(|bytes| bytes > 0)
            && let Some(list) = open(&format!("{folder}/smaps"), OFlags::empty())
        {
            shared = shared.saturating_add(files.only_mapped(BufReader::new(File::from(list))));
        }
    }
    if segments == Segments::Own
        && let Some(list) = open("/proc/sysvipc/shm", OFlags::empty())
    {
        shared = shared.saturating_add(segment_bytes(BufReader::new(File::from(list))));
    }
    (own, shared)
}

/// Files that memfd_create made, by device and number: what each has.
struct MemoryFiles {
    bytes: HashMap<(u64, u64), u64>,
    descriptors_left: usize,
}

impl MemoryFiles {
    /// Adds what the process has open, and returns how many descriptors that are.
    fn add_open(&mut self, process: &str) -> u64 {
        let path = format!("{process}/fd");
        // Since Linux 6.2 the folder's size.
        let told = stat(&*path).map_or(0, |found| u64::try_from(found.st_size).unwrap_or_default());
        let folder = (self.descriptors_left > 0).then(|| open(&path, OFlags::DIRECTORY)).flatten();
        let numbers = folder.as_ref().map(numbers).unwrap_or_default();
        let count = told.max(u64::try_from(numbers.len()).unwrap_or_default());
        let Some(folder) = folder else { return count };
        for number in numbers.into_iter().take(self.descriptors_left) {
            self.descriptors_left -= 1;
            let name = number.to_string();
            let mut start = [0_u8; MEMFD.len()];
            // To ask more of a file could wait for whoever serves its file system.
            let read = readlinkat_raw(&folder, &*name, &mut start);
            if read.is_ok()
                && start == *MEMFD
                && let Ok(found) = statat(&folder, &*name, AtFlags::empty())
            {
                let blocks = u64::try_from(found.st_blocks).unwrap_or_default();
                let bytes = blocks.saturating_mul(BLOCK_BYTES);
                self.bytes.insert((found.st_dev, found.st_ino), bytes);
            }
        }
        count
    }

    /// Reads out of `/proc/PID/smaps` the process's share of what is in no open file and no segment.
    fn only_mapped(&self, list: impl BufRead) -> u64 {
        let mut bytes: u64 = 0;
        // Of the mapping: its share, and whether it counts.
        let (mut share, mut is_wanted) = (0, false);
        for line in list.split(b'\n').map_while(Result::ok) {
            if let Some(mapping) = Mapping::parse(&line) {
                bytes = bytes.saturating_add(share);
                let is_shared = mapping.name.starts_with(MEMFD) || mapping.name == SHARED_ANONYMOUS;
                (share, is_wanted) = (0, is_shared && !self.bytes.contains_key(&mapping.file));
            } else if is_wanted && let Some(found) = field(&line, b"Pss:") {
                share = found;
            } else if is_wanted && let Some(copied) = field(&line, b"Anonymous:") {
                // Private copies count as its own.
                share = share.saturating_sub(copied);
            }
        }
        bytes.saturating_add(share)
    }
}

/// The first line on a mapping in `/proc/PID/smaps`.
struct Mapping<'a> {
    file: (u64, u64),
    name: &'a [u8],
}

impl<'a> Mapping<'a> {
    /// `addresses rights offset major:minor number      name`
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut words = line.splitn(6, |byte| *byte == b' ');
        let device = std::str::from_utf8(words.nth(3)?).ok()?;
        let (major, minor) = device.split_once(':')?;
        let part = |text| u32::from_str_radix(text, 16).ok();
        let device = makedev(part(major)?, part(minor)?);
        let number = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        Some(Self { file: (device, number), name: words.next().unwrap_or(b"").trim_ascii() })
    }
}

/// Reads out of `/proc/sysvipc/shm` what all segments have: the last columns are what is in memory
/// and what was put out to disk.
fn segment_bytes(list: impl BufRead) -> u64 {
    let last = |line: Vec<u8>| {
        let line = String::from_utf8(line).ok()?;
        let mut columns = line.split_ascii_whitespace().rev();
        let (_, resident) = (columns.next()?, columns.next()?);
        resident.parse::<u64>().ok()
    };
    list.split(b'\n').map_while(Result::ok).filter_map(last).fold(0, u64::saturating_add)
}

/// Returns the names in a folder that are numbers.
fn numbers(folder: &OwnedFd) -> Vec<i32> {
    let Ok(entries) = Dir::read_from(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_its_own_is_resident_without_shared() {
        assert_eq!(own_pages(b"100 50 20 1 0 30 0\n"), Some(30));
        assert_eq!(own_pages(b"100 5 20"), Some(0));
        assert_eq!(own_pages(b"0 0 0 0 0 0 0\n"), None);
        assert_eq!(own_pages(b""), None);
    }

    #[test]
    fn what_is_only_mapped_is_shared_memory_that_no_descriptor_holds() {
        let list = b"\
7f00-7f10 rw-s 00000000 00:01 12                         /memfd:a b (deleted)
Rss:                  40 kB
Pss:                  40 kB
Anonymous:             0 kB
7f10-7f20 rw-p 00000000 00:01 13                         /memfd:c (deleted)
Pss:                  30 kB
Anonymous:            10 kB
7f20-7f30 rw-s 00000000 00:01 14                         /dev/zero (deleted)
Pss:                   5 kB
VmFlags: rd wr sh
7f30-7f40 rw-s 00000000 00:01 15                         /SYSV00000000 (deleted)
Pss:                 100 kB
7f40-7f50 rw-p 00000000 00:00 0
Pss:                 100 kB
7f50-7f60 r--p 00000000 fe:01 12                         /usr/bin/x
Pss:                 100 kB
";
        let check = |counted: &[(u64, u64)], expected_kib: u64| {
            let bytes = counted.iter().map(|file| (*file, 1)).collect();
            let files = MemoryFiles { bytes, descriptors_left: 0 };
            assert_eq!(files.only_mapped(&list[..]), expected_kib << 10, "{counted:?}");
        };
        check(&[], 65);
        check(&[(makedev(0, 1), 12)], 25);
        check(&[(makedev(0, 2), 12)], 65);
    }

    #[test]
    fn segments_count_with_what_is_in_memory() {
        let list = b"\
       key      shmid perms                  size  cpid  lpid nattch   rss                  swap
         0          1  1600             104857600     2     2      0             104857600          0
        17          2   600                  4096     2     2      1                  4096       4096
";
        assert_eq!(segment_bytes(&list[..]), 104_857_600 + 4096);
    }
}
