//! Memory, locks and queues that all processes of the machine have in common.

use libc::c_long;

/// The calls that make or use them: those of System V, which are known by numbers that the kernel lists, and
/// queues of POSIX by their names. What is made stays when all who used it have ended. To use a queue of POSIX it
/// must be open.
pub(super) const SHARED_OBJECTS: [c_long; 13] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];
