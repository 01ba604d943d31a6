//! One mechanism of the kernel a file.

pub(crate) mod bubblewrap;
mod carve;
mod confine;
mod control;
pub(crate) mod helper;
mod inside;
mod landlock;
pub(crate) mod layout;
mod limits;
mod namespace;
pub(crate) mod notify;
pub(crate) mod openat;
pub(crate) mod pass;
pub(crate) mod probe;
pub(crate) mod process_tree;
pub(crate) mod request;
mod seccomp;
mod shell;
pub(crate) mod task;
mod warm;
pub(crate) mod wire;

/// The oldest version of Landlock that holds enough.
pub(crate) fn landlock_version_min() -> u32 {
    landlock::LANDLOCK_VERSION_MIN
}
