//! What file systems can be asked by `ioctl`.
//!
//! Much of it changes what is there by a descriptor that is open for reading, or hides it: subvolumes and snapshots,
//! encryption keys, holes in a file, exchanged blocks. Undo and the walls know nothing of that, each file system has its own,
//! and new ones come. So of all requests with a letter of theirs a command has those that are listed, which only read, clone,
//! reserve, or are asked about. The numbers are those of Linux's `include/uapi` and, for the rest, of `fs/*/ioctl.c`.

/// Where a request has its letter.
pub(super) const LETTER: u32 = 0xff00;

/// All file systems (0x15, `X`, `f`, `v`, 0x94, the same as XFS, ext4 and Btrfs have), OCFS2 (`o`), FAT (`r`), ZFS, Ceph,
/// bcachefs, CIFS, F2FS.
pub(super) const LETTERS: [u32; 12] = [
    0x1500, 0x5800, 0x6600, 0x6f00, 0x7200, 0x7600, 0x8300, 0x9400, 0x9700, 0xbc00, 0xcf00, 0xf500,
];

pub(super) const REQUESTS: [u32; 35] = [
    // FS_IOC_GETFSUUID, _GETFSSYSFSPATH, BTRFS_IOC_GET_FSLABEL (all file systems).
    0x8011_1500,
    0x8081_1501,
    0x8100_9431,
    // FS_IOC_GETFLAGS, _GETVERSION, for both sizes of a word, EXT4_IOC_GETVERSION, FS_IOC_FSGETXATTR, _FIEMAP.
    0x8008_6601,
    0x8004_6601,
    0x8008_7601,
    0x8004_7601,
    0x8008_6603,
    0x801c_581f,
    0xc020_660b,
    // FS_IOC_SETFLAGS, _SETVERSION, for both sizes, _FSSETXATTR: asked about, or refused.
    0x4008_6602,
    0x4004_6602,
    0x4008_7602,
    0x4004_7602,
    0x401c_5820,
    // FS_IOC_RESVSP, _RESVSP64, _ZERO_RANGE: refused where changes are watched.
    0x4030_5828,
    0x4030_582a,
    0x4030_5839,
    // FICLONE, FICLONERANGE, FIDEDUPERANGE.
    0x4004_9409,
    0x4020_940d,
    0xc018_9436,
    // FS_IOC_GET_ENCRYPTION_POLICY, _POLICY_EX, _KEY_STATUS, _MEASURE_VERITY.
    0x400c_6615,
    0xc009_6616,
    0xc080_661a,
    0xc004_6686,
    // PROCMAP_QUERY, of files in /proc.
    0xc068_6611,
    // XFS_IOC_DIOINFO.
    0x800c_581e,
    // BTRFS_IOC_INO_LOOKUP, _SUBVOL_GETFLAGS, _FS_INFO, _GET_FEATURES, _GET_SUBVOL_INFO.
    0xd000_9412,
    0x8008_9419,
    0x8400_941f,
    0x8018_9439,
    0x81f8_943c,
    // VFAT_IOCTL_READDIR_BOTH, FAT_IOCTL_GET_ATTRIBUTES, _GET_VOLUME_ID.
    0x8230_7201,
    0x8004_7210,
    0x8004_7213,
];

#[cfg(test)]
mod tests {
    use super::super::by_argument::Sockets;
    use super::super::filter::{ARCHITECTURE, Filter};
    use super::super::notify::FILE_FLAGS;
    use super::super::seccomp::{Around, refusals};
    use super::*;

    #[test]
    fn of_what_file_systems_can_be_asked_a_command_has_what_is_listed() {
        let filter = Filter::of(&refusals(Sockets::Internet, Around::Namespaces));
        let answer = |request: u32| {
            // The kernel looks at the low half only.
            let arguments = [3, 0xffff_0000_0000_0000 | u64::from(request), 0, 0, 0, 0];
            filter.run(ARCHITECTURE, libc::SYS_ioctl as u32, arguments).unwrap().0
        };
        let refused = libc::SECCOMP_RET_ERRNO | libc::ENOTTY as u32;
        // Keys of encryption, subvolumes and snapshots, holes, exchanged blocks, a label, whatever comes.
        for request in [
            0xc050_6617,
            0xc040_6618,
            0xc040_6619,
            0x800c_6613,
            0x5000_940e,
            0x5000_9417,
            0x4008_941a,
            0x5000_940f,
            0x4030_5829,
            0x4030_582b,
            0xc028_660f,
            0x4008_6604,
            0x0000_6609,
            0x4100_9432,
            0x4004_7211,
            0xf501,
            0x1234_83ff,
            0x0000_bc10,
        ] {
            assert_eq!(answer(request), refused, "{request:#x}");
        }
        let others = [0, 1, 2, 0x5401, 0x541b, 0x5451, 0x8910];
        for request in others.into_iter().chain(REQUESTS).chain(FILE_FLAGS) {
            assert_eq!(answer(request), libc::SECCOMP_RET_ALLOW, "{request:#x}");
        }
        assert!(REQUESTS.iter().all(|request| LETTERS.contains(&(request & LETTER))));
    }
}
