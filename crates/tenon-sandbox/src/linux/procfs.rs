//! Short texts that the kernel tells in `/proc`.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};

pub(super) fn open(path: &str, flags: OFlags) -> Option<OwnedFd> {
    rustix::fs::open(path, flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Reads a text of at most 4,096 bytes, which the kernel gives at once.
pub(super) fn read(path: &str) -> Option<Vec<u8>> {
    let mut buffer = [0_u8; 4096];
    let length = rustix::io::read(open(path, OFlags::empty())?, &mut buffer).ok()?;
    buffer.get(..length).map(<[u8]>::to_vec)
}

/// Reads `name` out of lines such as `Pss_Anon:     12 kB`, in bytes.
pub(super) fn field(text: &[u8], name: &[u8]) -> Option<u64> {
    let value = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name))?;
    let value = std::str::from_utf8(value).ok()?.trim().strip_suffix(" kB")?;
    value.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_by_its_whole_name() {
        let text = b"00400000-7ffd ---p 00000000 00:00 0     [rollup]\nPss:      40 kB\nPss_Anon:  12 kB\n";
        assert_eq!(field(text, b"Pss_Anon:"), Some(12 << 10));
        assert_eq!(field(text, b"Pss:"), Some(40 << 10));
        assert_eq!(field(text, b"Pss_Shmem:"), None);
    }
}
