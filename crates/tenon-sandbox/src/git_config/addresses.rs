//! Which settings are addresses of repositories on this machine, and which name a remote: what is no remote's name, git takes
//! for such an address.

use std::{collections::HashSet, ffi::OsString, os::unix::ffi::OsStringExt};

use super::harmless::{is_local_address, is_plain, may_be_address, remote_of};
use super::{Entry, entries};

impl Entry {
    /// Whether it is the address of a repository on this machine.
    pub(super) fn is_local_address(&self) -> bool {
        is_local_address(&self.section, &self.name, &self.value)
    }

    /// Whether no program opens it if it is such an address: where that leads says whether it may be set.
    pub(super) fn may_be_address(&self) -> bool {
        self.has_plain_name() && may_be_address(&self.value)
    }

    /// Returns the way to a place on this machine that it says, if that counts from where the settings are.
    pub(super) fn relative_way(&self) -> Option<&str> {
        let is_tree = self.key() == ("core", None, "worktree");
        let way = match is_tree || self.is_local_address() {
            true => Some(self.value.as_str()),
            false => self.remote(),
        };
        let is_whole = |way: &str| {
            way.starts_with(['/', '~']) || way.to_ascii_lowercase().starts_with("file:")
        };
        way.filter(|way| !is_whole(way))
    }

    pub(super) fn has_plain_name(&self) -> bool {
        self.subsection.as_deref().is_none_or(is_plain)
    }

    /// What it takes for the name of a remote, or is about.
    pub(super) fn remote(&self) -> Option<&str> {
        remote_of(&self.section, self.subsection.as_deref(), &self.name, &self.value)
    }

    /// Whether its value is the name of a remote, or such an address instead.
    pub(super) fn takes_a_remote(&self) -> bool {
        self.section != "remote" && self.remote().is_some()
    }

    /// The remote that it gives an address. What looks like a path is none: git leaves out one that begins with `/`.
    pub(super) fn addressed(&self) -> Option<&str> {
        let is_url = self.section == "remote" && self.name == "url" && !self.value.is_empty();
        self.subsection.as_deref().filter(|name| is_url && !name.starts_with(['/', '.']))
    }
}

/// Returns the addresses of repositories on this machine that settings name, whatever signs they have, and what git takes
/// for such as it is the name of no remote; none for what cannot be read for sure.
pub(crate) fn local_addresses(bytes: &[u8]) -> Vec<OsString> {
    // Paths are of bytes: each is a letter here.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text: String = bytes.iter().copied().map(char::from).collect();
    let found = entries(&text).unwrap_or_default();
    let remotes: HashSet<&str> = found.iter().filter_map(Entry::addressed).collect();
    let address = |entry: &Entry| match entry.is_local_address() {
        true => Some(entry.value.clone()),
        false => entry.remote().filter(|remote| !remotes.contains(remote)).map(str::to_owned),
    };
    let bytes = |it: String| it.chars().filter_map(|letter| u8::try_from(letter).ok()).collect();
    found.iter().filter_map(address).map(|it| OsString::from_vec(bytes(it))).collect()
}
