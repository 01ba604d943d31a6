//! A folder's whole tree as comparable data: kind, mode, owner, time, content, links, attributes.

#![expect(clippy::indexing_slicing, reason = "what a call returned is below the length")]

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(super) mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    length: u64,
    /// Hash of the bytes, or where a link leads.
    content: Vec<u8>,
    /// The first path of the same file.
    same_as: PathBuf,
    attributes: Vec<(OsString, Vec<u8>)>,
}

impl Entry {
    /// Whether it is of the same kind and, if it is no folder, has the same content.
    pub(super) fn has_same_bytes(&self, other: &Self) -> bool {
        (self.mode & 0o170_000, self.length, &self.content)
            == (other.mode & 0o170_000, other.length, &other.content)
    }

    pub(super) fn has_same_rights(&self, other: &Self) -> bool {
        (self.mode & 0o7777, self.owner, &self.attributes)
            == (other.mode & 0o7777, other.owner, &other.attributes)
    }

    pub(super) fn has_same_time(&self, other: &Self) -> bool {
        self.modified == other.modified
    }

    pub(super) fn is_folder(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }

    /// The same without when it was changed.
    pub(super) fn without_time(&self) -> Self {
        Self { modified: (0, 0), ..self.clone() }
    }

    /// Whether both, of one tree, are names of one file.
    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        self.same_as == other.same_as
    }
}

pub(crate) type Tree = BTreeMap<PathBuf, Entry>;

/// The same without what says which names are of one file.
pub(crate) fn parted(tree: Tree) -> Tree {
    let alone = |(path, entry)| (path, Entry { same_as: PathBuf::new(), ..entry });
    tree.into_iter().map(alone).collect()
}

pub(crate) fn tree(top: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut first = HashMap::new();
    let mut folders = vec![PathBuf::new()];
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        paths.push(folder.clone());
        for entry in std::fs::read_dir(top.join(&folder)).into_iter().flatten() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if path == Path::new(".tenon") {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else {
                paths.push(path);
            }
        }
    }
    paths.sort();
    for path in paths {
        let full = if path.as_os_str().is_empty() { top.to_path_buf() } else { top.join(&path) };
        let found = std::fs::symlink_metadata(&full).unwrap();
        let content = if found.is_symlink() {
            std::fs::read_link(&full).unwrap().as_os_str().as_bytes().to_vec()
        } else if found.is_file() {
            std::fs::read(&full).map(|bytes| hash(&bytes)).unwrap_or_default()
        } else {
            Vec::new()
        };
        let same_as = first.entry((found.dev(), found.ino())).or_insert(path.clone()).clone();
        let entry = Entry {
            mode: found.mode(),
            owner: (found.uid(), found.gid()),
            modified: (found.mtime(), found.mtime_nsec()),
            length: if found.is_dir() { 0 } else { found.len() },
            content,
            same_as,
            attributes: attributes(&full),
        };
        tree.insert(path, entry);
    }
    tree
}

fn hash(bytes: &[u8]) -> Vec<u8> {
    tenon_sandbox::ContentHash::of(bytes).to_string().into_bytes()
}

fn attributes(path: &Path) -> Vec<(OsString, Vec<u8>)> {
    let mut names = vec![0; 4096];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names[..]) else { return Vec::new() };
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut found: Vec<_> = names
        .map(|name| {
            let mut value = vec![0; 4096];
            let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap_or(0);
            value.truncate(length);
            (OsString::from(String::from_utf8_lossy(name).into_owned()), value)
        })
        .collect();
    found.sort();
    found
}

/// What differs, in words; empty when nothing does.
pub(crate) fn difference(before: &Tree, after: &Tree) -> String {
    let mut lines = Vec::new();
    for path in before.keys().chain(after.keys().filter(|path| !before.contains_key(*path))) {
        match (before.get(path), after.get(path)) {
            (Some(_), None) => lines.push(format!("{} is missing", path.display())),
            (None, Some(_)) => lines.push(format!("{} is left over", path.display())),
            (Some(one), Some(other)) if one != other => {
                lines.push(format!("{}: {one:?}\n   is now {other:?}", path.display()));
            }
            _ => {}
        }
    }
    lines.truncate(12);
    lines.join("\n")
}
