//! One mechanism of the kernel a file.

pub(crate) mod bubblewrap;
mod carve;
pub(crate) mod closed;
mod confine;
mod control;
mod filter;
pub(crate) mod helper;
pub(crate) mod inside;
pub(crate) mod landlock;
pub(crate) mod layout;
mod limits;
mod memory;
mod namespace;
pub(crate) mod notify;
pub(crate) mod openat;
mod others;
pub(crate) mod pass;
pub(crate) mod probe;
pub(crate) mod process_tree;
pub(crate) mod request;
mod seccomp;
mod shell;
pub(crate) mod task;
pub(crate) mod told;
mod warm;
mod watch;
pub(crate) mod wire;
