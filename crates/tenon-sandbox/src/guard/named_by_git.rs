//! Files that settings of git, and its `.git` files, name: what they include, where addresses of repositories on this machine
//! lead, and where repositories have their files or are themselves.
//!
//! Git reads from such an address with a person's rights, into the workspace, and pushes to there. So what comes to stand
//! where it leads is looked at as long as the settings name it: a link would lead elsewhere, and so would a file that
//! says where a repository is.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Guard;
use super::alternates;
use super::folder::open_folder_at;
use super::item::{Content, Item, start_of};
use super::limits::Limits;
use super::others::Others;
use super::place::Place;
use super::place::is_repository_root;
use super::scan::{Scan, Stamps, link_above, look};
use super::submodule::{tree_of, way_of};
use super::work_trees::tops_of;
use crate::git_addresses::paths;
use crate::git_config::local_addresses;
use crate::git_includes::Includes;
use crate::links::{Way, resolved, walked};

/// How many names are looked at for all settings together, the links on the way to an address included.
const NAMES_MAX: usize = 8_192;

/// How many addresses, and folders of objects elsewhere, there may be for a command to add another: more than clones within a project have,
/// and with 40 links on the way to each no more than so many names.
const ADDRESSES_MAX: usize = 64;

/// How a file begins that says where a repository is.
const POINTER: &[u8] = b"gitdir:";

impl Guard {
    /// Takes in what the settings of git that were found include. What is as in `known` is not read
    /// again.
    pub(super) fn follow_includes(&mut self, known: &BTreeMap<Place, Item>, others: &Others) {
        let look_before = |place: &Place| match others.before(place) {
            Some(before) => before.cloned(),
            None => look(place, known.get(place)),
        };
        self.included.clear();
        let mut found: BTreeMap<Place, Item> = BTreeMap::new();
        for (config, item) in self.before.iter().filter(|(place, _)| place.is_git_config()) {
            let Some(bytes) = item.bytes() else { continue };
            let mut includes = Includes::beneath(&self.roots, self.home.as_deref());
            let outside = [PathBuf::from("/")];
            includes.follow(&config.path(), bytes, &mut |path| {
                let place = Place::included(path, &self.roots);
                let place = place.or_else(|| Place::included(path, &outside))?;
                look_before(&place)?.bytes().map(<[u8]>::to_vec)
            });
            for path in includes.found {
                let Some(place) = Place::included(&path, &self.roots) else { continue };
                if let Some(item) = look_before(&place) {
                    found.insert(place.clone(), item);
                }
                self.included.entry(place).or_insert_with(|| config.path());
            }
        }
        for (place, item) in found {
            self.before.entry(place).or_insert(item);
        }
    }

    /// Whether what included a place is gone.
    pub(super) fn is_included_no_more(&self, place: &Place) -> bool {
        self.included.get(place).is_some_and(|config| rustix::fs::lstat(config).is_err())
    }

    /// Takes in what stands where settings of git that were found lead.
    pub(super) fn follow_addresses(&mut self) {
        // Those of work trees that a command can make come last.
        let mut found: BTreeSet<(usize, Place)> = BTreeSet::new();
        for (place, item) in self.before.iter().filter(|(place, _)| place.is_git_config()) {
            let config = self.included.get(place).cloned().unwrap_or_else(|| place.path());
            let tops = LazyCell::new(|| tops_of(&config));
            for address in item.bytes().map(local_addresses).unwrap_or_default() {
                let tried = paths(&address, self.home.as_deref(), || tops.clone());
                for (number, paths) in tried.iter().enumerate() {
                    let places = paths.iter().flat_map(|path| self.places_on(path, &tops));
                    found.extend(places.map(|place| (number, place)));
                }
            }
        }
        let folders = self.alternates();
        let files = folders.iter().map(|folder| folder.join(alternates::FILE));
        let alternates = folders.iter().cloned().chain(files);
        let places = alternates.flat_map(|path| self.places_on(&path, &[]));
        found.extend(self.repositories_elsewhere().chain(places).map(|place| (0, place)));
        self.alternates = folders.into_iter().filter_map(|path| Some(resolved(&path)?.0)).collect();
        found.retain(|(_, place)| !place.beneath().as_os_str().is_empty());
        self.addresses = found.into_iter().map(|(_, place)| place).take(NAMES_MAX).collect();
        self.follow_trees();
        for place in &self.addresses {
            if !self.before.contains_key(place)
                && let Some(item) = look(place, None)
            {
                self.before.insert(place.clone(), item);
            }
        }
        for (place, item) in self.links_in_alternates() {
            self.before.entry(place).or_insert(item);
        }
    }

    /// Returns the places beneath the roots by which a path leads where it does: its end, the links on the way, and the folders
    /// that it goes out of again, unless it begins there, in one of the folders `from`.
    fn places_on(&self, path: &Path, from: &[PathBuf]) -> Vec<Place> {
        let Some(Way { end, links, left }) = walked(path) else { return Vec::new() };
        let left = left.into_iter().filter(|left| !from.iter().any(|from| from.starts_with(left)));
        let names = links.into_iter().chain(left).chain([end]);
        names.filter_map(|name| Place::included(&name, &self.roots)).collect()
    }

    /// Returns the places by which `.git` files that were found lead where they do.
    fn repositories_elsewhere(&self) -> impl Iterator<Item = Place> {
        let is_pointer = |place: &Place| place.beneath().file_name() == Some(OsStr::new(".git"));
        let pointers = self.before.iter().filter(move |(place, _)| is_pointer(place));
        pointers.flat_map(|(place, item)| {
            let (path, way) = (place.path(), item.bytes().and_then(way_of));
            let led = path.parent().zip(way);
            led.map(|(folder, way)| self.places_on(&folder.join(way), &[folder.to_path_buf()]))
                .unwrap_or_default()
        })
    }

    /// Returns the folders of objects that repositories have besides their own, and that these have, as git follows them.
    fn alternates(&self) -> BTreeSet<PathBuf> {
        let own = self.before.iter().filter(|(place, _)| place.is_alternates());
        let mut level: BTreeSet<PathBuf> =
            own.flat_map(|(place, item)| alternates::named(&place.path(), item)).collect();
        let mut found = BTreeSet::new();
        for _ in 0..alternates::DEPTH_MAX {
            let files = level.iter().map(|folder| folder.join(alternates::FILE));
            let named = files.filter_map(|file| {
                let item = look(&Place::included(&file, &self.roots)?, None)?;
                Some(alternates::named(&file, &item))
            });
            let next: Vec<PathBuf> = named.flatten().collect();
            found.append(&mut level);
            let new = next.into_iter().filter(|folder| !found.contains(folder));
            level = new.take(NAMES_MAX.saturating_sub(found.len())).collect();
        }
        found.append(&mut level);
        found
    }

    /// Returns the links in folders of objects of other repositories that look like such no more: git follows them.
    fn links_in_alternates(&self) -> BTreeMap<Place, Item> {
        let known = BTreeMap::new();
        let mut scan = Scan::new(&known, Stamps::HoldIn(&[]), Limits::default());
        for folder in &self.alternates {
            if folder.parent().is_none_or(is_repository_root) {
                continue;
            }
            let Some(place) = Place::included(folder, &self.roots) else { continue };
            if let Ok(top) = open_folder_at(place.root()) {
                scan.links(place.root(), &top, place.beneath());
            }
        }
        scan.found
    }

    /// Whether there are so many addresses in all settings, and folders of objects elsewhere, that a command may add none.
    pub(super) fn has_many_addresses(after: &BTreeMap<Place, Item>) -> bool {
        let addresses = after.iter().filter_map(|(place, item)| match item.bytes() {
            Some(bytes) if place.is_git_config() => Some(local_addresses(bytes).len()),
            _ if place.is_alternates() => Some(alternates::named(&place.path(), item).len()),
            _ => None,
        });
        addresses.sum::<usize>() > ADDRESSES_MAX
    }

    /// Takes in where settings that were found say that repositories have their files, and the links on the way, unless they
    /// are where no files may come to.
    fn follow_trees(&mut self) {
        let configs = self.before.iter().filter(|(place, _)| place.is_git_config());
        let trees = configs.filter_map(|(config, item)| {
            let config = config.path();
            let folder = config.parent()?;
            let tree = tree_of(folder, item.bytes()?)?;
            let (end, _) = resolved(&tree)?;
            self.may_be_written(&end).then(|| self.places_on(&tree, &[folder.to_path_buf()]))
        });
        self.trees = trees.flatten().collect();
    }

    /// Whether files may come to a folder: it is beneath a root, and in no repository's own directory.
    fn may_be_written(&self, path: &Path) -> bool {
        let is_in_git = |beneath: &Path| beneath.iter().any(|name| name == ".git");
        let mut beneath = self.roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        beneath.any(|beneath| !is_in_git(beneath))
    }

    /// Returns the links that have git write the files of a repository elsewhere.
    fn out_of_trees(&self) -> impl Iterator<Item = (Place, Item)> {
        let leads_out = |place: &Place| {
            !resolved(&place.path()).is_some_and(|(end, _)| self.may_be_written(&end))
        };
        let link_at = move |place: &Place| {
            let link = look(place, None).filter(Item::is_link);
            link.map(|link| (place.clone(), link)).or_else(|| link_above(place))
        };
        self.trees.iter().filter(move |place| leads_out(place)).filter_map(link_at)
    }

    /// Whether a place is looked at for an address alone, and what is there, and was, has git go nowhere else: it is nobody's
    /// setting.
    pub(super) fn is_ordinary(
        &self,
        place: &Place,
        before: Option<&Item>,
        after: Option<&Item>,
    ) -> bool {
        let leads = |item: Option<&Item>| item.is_some_and(|item| leads_elsewhere(place, item));
        let name = place.beneath().file_name();
        place.is_included()
            && self.addresses.contains(place)
            && !self.included.contains_key(place)
            && name.is_none_or(|name| !name.eq_ignore_ascii_case("alternates"))
            && !leads(before)
            && !leads(after)
    }

    /// Returns what stands there now, links on the way included, besides what was found `after` a command.
    pub(super) fn at_addresses(&self, after: &BTreeMap<Place, Item>) -> Vec<(Place, Item)> {
        let new = self.addresses.iter().filter(|place| !after.contains_key(place));
        new.filter_map(|place| {
            let item = look(place, None).map(|item| (place.clone(), item));
            item.or_else(|| link_above(place))
        })
        .chain(self.out_of_trees())
        .chain(self.links_in_alternates())
        .filter(|(place, _)| !after.contains_key(place))
        .collect()
    }
}

/// Whether git goes elsewhere from what is at an address, or waits there: from files only if they say where a repository is.
fn leads_elsewhere(place: &Place, item: &Item) -> bool {
    match &item.content {
        Content::File(Some(bytes)) => bytes.starts_with(POINTER),
        Content::File(None) => open_folder_at(place.root())
            .and_then(|top| start_of(&top, place.beneath()))
            .is_ok_and(|(_, start)| start.starts_with(POINTER)),
        Content::Folder => false,
        Content::Link(_) | Content::Other => true,
    }
}
