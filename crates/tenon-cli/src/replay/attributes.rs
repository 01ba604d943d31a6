//! Extended attributes that programs give to files and folders (`user.*`). Those of the system, as access
//! control lists and capabilities, are not for a copy.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

use rustix::{
    fs::{XattrFlags, lgetxattr, llistxattr, lremovexattr, lsetxattr},
    io::Errno,
};

/// How the names of those begin that are copied.
const USER: &[u8] = b"user.";
/// The kernel's XATTR_SIZE_MAX and XATTR_LIST_MAX, in bytes.
const BYTES_MAX: usize = 65_536;

/// Names and values.
pub(super) type Attributes = Vec<(OsString, Vec<u8>)>;

/// Returns what is at `path` has, which is no link; nothing where this user may not read it.
pub(super) fn of(path: &Path) -> Attributes {
    // Most have none, which is one call.
    let names = value(|buffer| llistxattr(path, buffer)).unwrap_or_default();
    let names = names.split(|byte| *byte == 0).filter(|name| is_copied(name));
    let known = names.filter_map(|name| {
        Some((OsString::from_vec(name.to_vec()), value(|buffer| lgetxattr(path, name, buffer))?))
    });
    known.collect()
}

/// Has what is at `path` have these and no others; returns whether it has.
pub(super) fn set(path: &Path, wanted: &Attributes) -> bool {
    let there = of(path);
    let is_wanted = |name: &OsStr| wanted.iter().any(|(known, _)| known == name);
    let mut others = there.iter().filter(|(name, _)| !is_wanted(name));
    let new = || wanted.iter().filter(|attribute| !there.contains(attribute));
    others.all(|(name, _)| lremovexattr(path, &**name).is_ok())
        && new().all(|(name, value)| lsetxattr(path, &**name, value, XattrFlags::empty()).is_ok())
}

/// Returns those of a list that are copied.
pub(super) fn copied(all: &[(OsString, OsString)]) -> Attributes {
    let copied = all.iter().filter(|(name, _)| is_copied(name.as_bytes()));
    copied.map(|(name, value)| (name.clone(), value.as_bytes().to_vec())).collect()
}

pub(super) fn is_copied(name: &[u8]) -> bool {
    name.starts_with(USER)
}

fn value(read: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 256];
    loop {
        match read(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Some(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < BYTES_MAX => buffer.resize(BYTES_MAX, 0),
            Err(_) => return None,
        }
    }
}
