//! Looks at one place that a command touched, in its own turn: what is there, whether its name
//! matters, and what came with it.
//!
//! [`Scan::tree`] knows of what is above a name, because it comes from there; here the names above
//! are asked.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::folder::{look_at, names};
use super::place::{Way, has_others, is_way, setting_among, setting_among_others};
use super::repository::{WRITTEN_BY_GIT, is_beside_head, is_in_git, is_repository};
use super::scan::{Scan, misleads};
use crate::git_steps::{GitStep, has_steps};
use crate::journal::Came;
use crate::workspace::{
    ALTERNATES, above_listed, can_matter, has_old_remotes, is_above_protected, is_alternates,
    is_replacement, is_setting_of_git, is_written_by_git, makes_repository,
};

/// What a place is by the names on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The file or folder `.git`.
    Repository,
    /// In a repository's own directory, which is so many names long.
    Setting(usize),
    /// Protected by its name.
    Listed,
    /// By itself harmless, it makes what is beside it a repository's, or has protected names in it.
    Making,
    Other,
}

impl Role {
    /// Returns what a place beneath `top` is.
    pub(super) fn of(root: &Path, top: &OwnedFd, beneath: &Path) -> Self {
        Self::among(root, beneath, &|folder| is_repository(root, top, folder))
    }

    /// Returns what a place beneath a root is, of whose folders these are repositories' own.
    pub(super) fn among(
        root: &Path,
        beneath: &Path,
        is_repository: &dyn Fn(&Path) -> bool,
    ) -> Self {
        if !can_matter(root, beneath) {
            return Self::Other;
        }
        if above_listed(root, beneath).is_some() {
            return Self::Listed;
        }
        if beneath.file_name() == Some(OsStr::new(".git")) {
            return Self::Repository;
        }
        if let Some(depth) = setting_among_others(root, beneath) {
            return Self::Setting(depth);
        }
        let names: Vec<&OsStr> = beneath.iter().collect();
        // The innermost: a repository has others in it.
        let setting = names.iter().enumerate().rev().find(|(index, name)| {
            let above = || names.iter().take(*index).collect::<PathBuf>();
            let is_written = || match names.len() - index {
                1 => is_written_by_git(name),
                2 => GitStep::at_end_of(beneath).is_some(),
                3 => is_alternates(beneath),
                _ => false,
            };
            let is_replacing = || {
                let next = names.get(index + 1);
                next.is_some_and(|next| is_replacement(&Path::new(name).join(next)))
            };
            let is_referring = || GitStep::of_references(name).is_some() && names.len() - index > 1;
            (is_setting(name)
                || has_old_remotes(name)
                || is_written()
                || is_replacing()
                || is_referring())
                && is_repository(&above())
        });
        match setting {
            Some((index, name)) => {
                // What would run programs in another counts where that lacks its `HEAD`, too.
                let is_among = |place: &Path| place.iter().count() > index;
                let among = || setting_among(is_among, beneath);
                Self::Setting(
                    Some(name)
                        .filter(|name| has_others(name))
                        .and_then(|_| among())
                        .unwrap_or(index),
                )
            }
            None if names
                .last()
                .is_some_and(|name| makes_repository(name) || is_above_protected(name)) =>
            {
                Self::Making
            }
            None => Self::Other,
        }
    }
}

impl Scan<'_> {
    /// Looks at what is at a place. Of what came there, all that is in it counts.
    pub(super) fn place(&mut self, root: &Path, top: &OwnedFd, beneath: &Path, came: Came) {
        let Ok(stat) = look_at(top, beneath).and_then(rustix::fs::fstat) else { return };
        let kind = FileType::from_raw_mode(stat.st_mode);
        match Role::of(root, top, beneath) {
            _ if kind.is_dir() => {
                if came != Came::Stayed {
                    self.folder(root, top, beneath);
                }
            }
            Role::Repository | Role::Listed => self.all(root, top, beneath, 0),
            Role::Setting(depth) => self.setting(root, top, beneath, depth, kind),
            Role::Making | Role::Other
                if kind.is_symlink() && is_beside_head(root, top, beneath) =>
            {
                self.all(root, top, beneath, 0);
            }
            Role::Making | Role::Other => self.link_or_pipe(root, top, beneath, kind),
        }
        if came == Came::Made {
            self.completed(root, top, beneath);
        }
        self.within(root, top);
    }

    fn folder(&mut self, root: &Path, top: &OwnedFd, beneath: &Path) {
        let above = beneath.parent().filter(|_| beneath.file_name().is_some_and(has_steps));
        if let Some(above) = above.filter(|above| is_repository(root, top, above)) {
            self.steps(root, top, beneath, above.iter().count());
        }
        let of_references = beneath.ancestors().find_map(|folder| {
            Some((folder.parent()?, GitStep::of_references(folder.file_name()?)?))
        });
        if let Some((above, step)) =
            of_references.filter(|(above, _)| is_repository(root, top, above))
        {
            let depth = above.iter().count();
            self.references(root, top, beneath, (depth, step));
        }
        let ends = [beneath.join("info/alternates"), beneath.join("alternates")];
        for file in ends.iter().filter(|file| is_alternates(file)) {
            let above = file.ancestors().nth(ALTERNATES.len());
            if let Some(above) = above.filter(|above| is_repository(root, top, above)) {
                self.all(root, top, file, above.iter().count());
            }
        }
        match Role::of(root, top, beneath) {
            Role::Listed => self.all(root, top, beneath, 0),
            _ if is_way(root, beneath, Way::Others) && !is_repository(root, top, beneath) => {
                self.others(root, top, beneath);
                if is_way(root, beneath, Way::Tree) {
                    self.tree(root, top, beneath);
                }
            }
            Role::Setting(depth) if !beneath.iter().nth(depth).is_some_and(has_others) => {
                self.all(root, top, beneath, depth);
            }
            _ if !is_in_git(beneath) => self.tree(root, top, beneath),
            _ if is_repository(root, top, beneath) => {
                self.repository(root, top, beneath, beneath.iter().count());
                self.repositories.push(beneath.to_path_buf());
            }
            _ => self.hidden(root, top, beneath),
        }
    }

    /// Looks for repositories where git itself keeps none.
    fn hidden(&mut self, root: &Path, top: &OwnedFd, place: &Path) {
        let mut folders = vec![place.to_path_buf()];
        while let Some(place) = folders.pop().filter(|_| self.has_room()) {
            let entries = names(top, &place);
            self.unnamed_repository(root, top, &place, &entries);
            for (name, kind) in entries {
                let beneath = place.join(name);
                if kind.is_dir() {
                    folders.push(beneath);
                } else {
                    self.link_or_pipe(root, top, &beneath, kind);
                }
            }
        }
    }

    fn setting(
        &mut self,
        root: &Path,
        top: &OwnedFd,
        beneath: &Path,
        depth: usize,
        kind: FileType,
    ) {
        let name = beneath.iter().nth(depth).unwrap_or_default();
        if !has_others(name) {
            self.all(root, top, beneath, depth);
        } else if misleads(kind) {
            // Git would follow it to where nobody looks, or wait there.
            self.all(root, top, beneath, 0);
        }
    }

    /// A folder that was none becomes a repository by the last name that it lacked: then all that
    /// was in it counts.
    fn completed(&mut self, root: &Path, top: &OwnedFd, beneath: &Path) {
        let (Some(name), Some(above)) = (beneath.file_name(), beneath.parent()) else { return };
        if makes_repository(name) && !above.ends_with(".git") && is_repository(root, top, above) {
            self.repository(root, top, above, above.iter().count());
            self.unnamed_repository(root, top, above, &names(top, above));
            for name in WRITTEN_BY_GIT {
                self.links(root, top, &above.join(name));
            }
        }
    }
}

fn is_setting(name: &OsStr) -> bool {
    is_setting_of_git(name) || has_others(name)
}
