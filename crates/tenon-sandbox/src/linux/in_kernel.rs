//! How much memory the kernel keeps for processes, as far as it tells at little cost: page tables, what is
//! open, and semaphores and queues of System V.

use std::fs::File;
use std::io::{BufRead, BufReader};

use rustix::fs::OFlags;

use super::limits::write_file;
use super::procfs::{field, open, read};

/// What an open descriptor takes on average: measured on Linux 6.18 were 120 bytes of a file, 280 of an eventfd,
/// 900 of a file in memory, 1,100 of a pipe's end, 1,800 to 3,200 of a socket.
pub(super) const DESCRIPTOR_BYTES: u64 = 1024;

/// `struct sem` has a cache line of its own.
const SEMAPHORE_BYTES: u64 = 64;

/// For each thread that wants its changes of a semaphore undone when it ends.
const UNDO_BYTES: u64 = 2;

/// The kernel's own part of a set of semaphores, of a queue, and of a message.
const OVERHEAD_BYTES: u64 = 256;

/// In a set, of all, at once, sets: the kernel's default of old, which databases ask for, with more sets.
const SEMAPHORES_MAX: &[u8] = b"250 32000 100 1024";

/// Each queue holds 16 KiB of messages, or so many without any text.
const QUEUES_MAX: &[u8] = b"256";

/// In a namespace of its own, `/proc` mounted and still writable. Older kernels let only the machine's root do so;
/// what there is counts as memory there, too.
pub(super) fn set_semaphores_and_queues() {
    let _ = write_file("/proc/sys/kernel/sem", SEMAPHORES_MAX);
    let _ = write_file("/proc/sys/kernel/msgmni", QUEUES_MAX);
}

/// What the kernel says of one process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OfProcess {
    pub(super) page_tables_bytes: u64,
    /// The table's length: at least as many as are open.
    pub(super) descriptors_max: u64,
}

impl OfProcess {
    /// Reads it in the process's folder.
    pub(super) fn at(folder: &str) -> Self {
        read(&format!("{folder}/status")).map_or_else(Self::default, |text| Self::parse(&text))
    }

    fn parse(text: &[u8]) -> Self {
        let mut lines = text.split(|byte| *byte == b'\n');
        let length = lines.find_map(|line| line.strip_prefix(b"FDSize:"));
        let length =
            length.and_then(|length| std::str::from_utf8(length).ok()?.trim().parse().ok());
        Self {
            page_tables_bytes: field(text, b"VmPTE:").unwrap_or_default(),
            descriptors_max: length.unwrap_or_default(),
        }
    }

    /// Not less than there is, but for sockets.
    pub(super) fn bytes_max(&self) -> u64 {
        self.page_tables_bytes.saturating_add(self.descriptors_max.saturating_mul(DESCRIPTOR_BYTES))
    }
}

/// Returns what semaphores and queues of System V take at most that this process sees, used by so many threads.
pub(super) fn semaphores_and_queues(threads: u64) -> u64 {
    let list = |path| open(path, OFlags::empty()).map(|list| BufReader::new(File::from(list)));
    let sets = list("/proc/sysvipc/sem").map_or(0, |list| semaphore_bytes(list, threads));
    sets.saturating_add(list("/proc/sysvipc/msg").map_or(0, queue_bytes))
}

/// `key semid perms nsems …`
fn semaphore_bytes(list: impl BufRead, threads: u64) -> u64 {
    let undo_bytes = threads.saturating_mul(UNDO_BYTES);
    sum(list, |[count, _]| count.saturating_mul(undo_bytes.saturating_add(SEMAPHORE_BYTES)))
}

/// `key msqid perms cbytes qnum …`
fn queue_bytes(list: impl BufRead) -> u64 {
    sum(list, |[bytes, count]| count.saturating_mul(OVERHEAD_BYTES).saturating_add(bytes))
}

/// Adds up what the fourth and the fifth column of each line say.
fn sum(list: impl BufRead, bytes: impl Fn([u64; 2]) -> u64) -> u64 {
    let of_line = |line: Vec<u8>| {
        let line = String::from_utf8(line).ok()?;
        let mut columns = line.split_ascii_whitespace().skip(3).map(|column| column.parse().ok());
        Some(bytes([columns.next()??, columns.next()??]).saturating_add(OVERHEAD_BYTES))
    };
    list.split(b'\n').map_while(Result::ok).filter_map(of_line).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_tables_and_descriptors_are_read_of_a_process() {
        let text =
            b"Name:\ta VmPTE: 9\nFDSize:\t256\nGroups:\t \nVmPTE:\t      52 kB\nVmSwap:\t 0 kB\n";
        let found = OfProcess { page_tables_bytes: 52 << 10, descriptors_max: 256 };
        assert_eq!(OfProcess::parse(text), found);
        assert_eq!(found.bytes_max(), (52 << 10) + (256 << 10));
        assert_eq!(OfProcess::parse(b"Name:\tkthreadd\n"), OfProcess::default());
        assert!(OfProcess::at("/proc/self").page_tables_bytes > 0);
    }

    #[test]
    fn sets_and_queues_count_with_what_is_in_them() {
        let sets = b"\
       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime
         0          0   600      32000     0     0     0     0          0 1795837557
        17          1   600          1     0     0     0     0          0 1795837557
";
        assert_eq!(semaphore_bytes(&sets[..], 0), 32001 * 64 + 2 * 256);
        assert_eq!(semaphore_bytes(&sets[..], 16), 32001 * (64 + 32) + 2 * 256);
        let queues = b"\
       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      rtime      ctime
         0          0   600       16384         16     1     0     0     0     0     0          0          0 1795837557
";
        assert_eq!(queue_bytes(&queues[..]), 16384 + 17 * 256);
    }
}
