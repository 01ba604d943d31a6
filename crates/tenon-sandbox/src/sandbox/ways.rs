//! The symbolic links on the ways by which a user comes to the folders of a session and to HOME.
//!
//! Scripts, settings and build files name such a folder by the way (`#!/home/ada/work/.venv/bin/python` where
//! `work` is a link to another disk), so commands have the links that lie in folders which are empty for them.
//! A link opens nothing: what it leads to is in sight, or not, by itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::Settings;
use crate::links::resolved;
use crate::linux::layout::Part;

/// Puts the links where they are, as far as nothing else shows them.
pub(super) fn put_links(settings: &Settings, parts: &mut BTreeMap<PathBuf, Part>) {
    let ways = settings.ways.iter().chain(&settings.home);
    let ways = ways.filter(|way| way.is_absolute()).filter_map(|way| resolved(way));
    for link in ways.flat_map(|(_, links)| links) {
        if is_out_of_sight(&link, parts)
            && let Ok(target) = rustix::fs::readlink(&link, Vec::new())
        {
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            parts.insert(link, Part::Link { target });
        }
    }
}

/// Whether nothing is at a path of commands that lies in an empty folder.
fn is_out_of_sight(path: &Path, parts: &BTreeMap<PathBuf, Part>) -> bool {
    let nearest = path.ancestors().find_map(|above| Some((above, parts.get(above)?)));
    let is_empty = |part: &Part| matches!(part, Part::Cover | Part::Private { .. });
    nearest.is_some_and(|(above, part)| above != path && is_empty(part))
}
