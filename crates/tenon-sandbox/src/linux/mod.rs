//! One mechanism of the kernel a file.

pub(crate) mod helper;
mod landlock;
pub(crate) mod openat;
pub(crate) mod probe;
pub(crate) mod process_tree;
pub(crate) mod request;
