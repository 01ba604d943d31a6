//! Addresses of repositories on this machine that settings of git name: within the folders of the session they may lead.
//!
//! Git fetches from there with a person's rights, into the workspace, and pushes to there. So what comes to stand where
//! such an address leads is looked at as long as the settings name it: a link would lead elsewhere, and so would a file
//! that says where a repository is.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::Guard;
use super::item::Item;
use super::place::Place;
use super::scan::look;
use crate::git_config::local_addresses;
use crate::links::resolved;

/// What git tries behind an address.
const ENDINGS: [&str; 2] = ["", ".git"];

/// How many names are looked at for all settings together: more than clones within a project have.
const NAMES_MAX: usize = 256;

/// Settings that are an address, by section and name.
const NAMES: [(&str, &str); 4] =
    [("lfs", "url"), ("remote", "pushurl"), ("remote", "url"), ("submodule", "url")];

/// Whether the settings in the file `config` may say this: an address that leads beneath the roots, to no file.
pub(super) fn may_lead(config: &Path, name: &str, address: &str, roots: &[PathBuf]) -> bool {
    let ends = name.split_once('.').zip(name.rsplit_once('.'));
    let is_address = ends.is_some_and(|((section, _), (_, name))| NAMES.contains(&(section, name)));
    let is_beneath = |path: &PathBuf| {
        let Some((end, _)) = resolved(path) else { return false };
        roots.iter().any(|root| end.starts_with(root)) && !is_file(&end)
    };
    let paths = paths(config, address);
    is_address && !paths.is_empty() && paths.iter().all(is_beneath)
}

/// Returns the paths that git tries for an address in the file `config`; none where that is not known.
fn paths(config: &Path, address: &str) -> Vec<PathBuf> {
    let address = address.strip_prefix("file://").unwrap_or(address);
    let base = match address.starts_with('/') {
        true => Some(PathBuf::from("/")),
        false => top_of(config),
    };
    // Git makes a home of the one, and letters of the other.
    let Some(base) = base.filter(|_| !address.starts_with('~') && !address.contains('%')) else {
        return Vec::new();
    };
    let address = address.trim_end_matches('/');
    ENDINGS.iter().map(|ending| base.join(format!("{address}{ending}"))).collect()
}

/// Returns the folder in which git is when it opens a relative address: none where there can be several, or another.
fn top_of(config: &Path) -> Option<PathBuf> {
    let folder = config.parent()?;
    let is_git = folder.file_name() == Some(OsStr::new(".git"));
    let has_worktrees = rustix::fs::lstat(folder.join("worktrees")).is_ok();
    match is_git {
        _ if has_worktrees => None,
        true => folder.parent().map(Path::to_path_buf),
        false => (!folder.iter().any(|name| name == ".git")).then(|| folder.to_path_buf()),
    }
}

fn is_file(path: &Path) -> bool {
    let kind = |mode| FileType::from_raw_mode(mode);
    rustix::fs::lstat(path).is_ok_and(|stat| !kind(stat.st_mode).is_dir())
}

impl Guard {
    /// Takes in what stands where settings of git that were found lead.
    pub(super) fn follow_addresses(&mut self) {
        let mut found: BTreeSet<Place> = BTreeSet::new();
        for (config, item) in self.before.iter().filter(|(place, _)| place.is_git_config()) {
            let addresses = item.bytes().map(local_addresses).unwrap_or_default();
            for path in addresses.iter().flat_map(|address| paths(&config.path(), address)) {
                let Some((end, links)) = resolved(&path) else { continue };
                let names = links.into_iter().chain([end]);
                found.extend(names.filter_map(|name| Place::included(&name, &self.roots)));
            }
        }
        found.retain(|place| !place.beneath().as_os_str().is_empty());
        self.addresses = found.into_iter().take(NAMES_MAX).collect();
        for place in &self.addresses {
            if !self.before.contains_key(place)
                && let Some(item) = look(place, None)
            {
                self.before.insert(place.clone(), item);
            }
        }
    }

    /// Returns what stands there now, links on the way included, besides what was found `after` a command.
    pub(super) fn at_addresses(&self, after: &BTreeMap<Place, Item>) -> Vec<(Place, Item)> {
        let new = self.addresses.iter().filter(|place| !after.contains_key(place));
        new.filter_map(|place| {
            let item = look(place, None).map(|item| (place.clone(), item));
            item.or_else(|| super::scan::link_above(place))
        })
        .collect()
    }
}
