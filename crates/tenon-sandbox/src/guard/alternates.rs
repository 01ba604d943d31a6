//! Where a repository has objects besides its own: `objects/info/alternates`, a line for each folder of objects.
//!
//! Git takes what is in such a folder for the repository's own, and copies some of it to where commands read. What a person
//! wrote there stays; what a command adds, as `git clone --shared` does, only where it leads beneath the session's folders.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::item::{Content, Item};
use super::place::{Place, is_repository_root};
use crate::links::{goes_out_again, plain, resolved};

/// Where in a folder of objects others are named.
pub(super) const FILE: &str = "info/alternates";

/// How many steps git goes from one such folder to the next.
pub(super) const DEPTH_MAX: usize = 5;

/// Whether a command may leave this there, where it was so `before`.
pub(super) fn may_say(
    place: &Place,
    before: Option<&Item>,
    after: &Item,
    roots: &[PathBuf],
) -> bool {
    let known: Vec<&[u8]> = lines(before).collect();
    let said: Vec<&[u8]> = lines(Some(after)).collect();
    let is_text = matches!(after.content, Content::File(Some(_)));
    let leads_beneath = |line: &[u8]| {
        !goes_out_again(Path::new(OsStr::from_bytes(line)))
            && folder(&place.path(), line)
                .is_some_and(|path| is_of_repository(&path) && is_in(&path, roots))
    };
    is_text
        && known.iter().all(|line| said.contains(line))
        && said.iter().all(|line| known.contains(line) || leads_beneath(line))
}

/// Returns the lines of a file that name a folder for which this holds.
pub(super) fn only(bytes: &[u8], holds: impl Fn(&Path) -> bool) -> Vec<u8> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let way = |line: &&[u8]| holds(Path::new(OsStr::from_bytes(line.trim_ascii_end())));
    lines.filter(way).flatten().copied().collect()
}

/// Returns the folders of objects that a file names.
pub(super) fn named(file: &Path, item: &Item) -> Vec<PathBuf> {
    lines(Some(item)).filter_map(|line| folder(file, line)).collect()
}

/// Returns the lines that git reads.
fn lines(item: Option<&Item>) -> impl Iterator<Item = &[u8]> {
    let bytes = item.and_then(Item::bytes).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"))
}

/// Returns the folder that a line names; none for one in quotes, which git itself does not write there.
fn folder(file: &Path, line: &[u8]) -> Option<PathBuf> {
    let objects = file.parent()?.parent()?;
    (!line.starts_with(b"\"")).then(|| objects.join(OsStr::from_bytes(line)))
}

/// Whether a folder has the objects of a repository, which is looked at like any other: git goes on to what is named there.
fn is_of_repository(path: &Path) -> bool {
    path.ends_with("objects") && path.parent().is_some_and(is_repository_root)
}

/// Whether a folder is beneath the roots by its name and by where that leads.
fn is_in(path: &Path, roots: &[PathBuf]) -> bool {
    let is_in_root = |path: &Path| roots.iter().any(|root| path.starts_with(root));
    is_in_root(&plain(path)) && resolved(path).is_some_and(|(end, _)| is_in_root(&end))
}
