//! What walls are built from, and whether they can hold tenon's own.

use std::path::{Path, PathBuf};

use crate::guard::NOTES;
use crate::journal::is_in_undo_store;
use crate::links::resolved;
use crate::linux::within::within_walls;
use crate::missing::{Missing, SandboxError};
use crate::mounts::Mounts;
use crate::profile::{Limits, Profile};
use crate::tier::{Tier, Wanted};
use crate::workspace::canonical_or_lexical;

/// What a session's walls are built from: plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The workspace's roots ([`crate::Workspace::roots`]).
    pub roots: Vec<PathBuf>,
    /// The user's home folder, of which a command sees toolchains only.
    pub home: Option<PathBuf>,
    /// Folders that are empty for commands as other people's homes are, but for the roots and what is readable in
    /// them: the user's own home, where [`Settings::home`] is a copy of it. Links in that copy show no toolchains.
    pub covered: Vec<PathBuf>,
    /// What a command may read besides, where it would see nothing: beneath HOME, /run, /mnt.
    pub readable: Vec<PathBuf>,
    /// Folders that variables of the user's name for what toolchains fetch and keep. Where a command sees one,
    /// and it is a toolchain's own by its place, what a command writes there is private as in those of HOME.
    pub toolchains: Vec<PathBuf>,
    /// Paths by which the user named the roots, and what is readable. The symbolic links on the way of these
    /// and of HOME are there for commands, as links alone.
    pub ways: Vec<PathBuf>,
    /// The virtual environment of Python that is active. Where it is one and lies in HOME, a command may
    /// read its programs and libraries, unless a link leads there or out of it.
    pub virtual_environment: Option<PathBuf>,
    /// Files and folders that no command sees: tenon's own state, the user's secrets.
    pub hidden: Vec<PathBuf>,
    /// What tenon takes its own settings from, and the user's programs at their start: what commands
    /// change there beneath a root is put back.
    pub own: Vec<PathBuf>,
    /// Tenon's state folder. Of it commands see what is `readable`, and nothing else. While commands run,
    /// it is noted there what [`Settings::own`] was, if there is any beneath a root: a program that
    /// starts after a kill puts that back with [`crate::look_after_own`]. Without one nobody does.
    pub state: Option<PathBuf>,
    /// What commands see instead of files beneath HOME, path and content: nothing where that cannot be.
    pub shown: Vec<(PathBuf, Vec<u8>)>,
    /// The tier.
    pub wanted: Wanted,
    /// What each command may use.
    pub limits: Limits,
    /// How many folders beneath the roots, the upper ones first, are looked through before and after
    /// each command for names that other programs take commands from ([`crate::GUARDED_FOLDERS_MAX`]
    /// unless there is a reason). Beyond them only what commands are recorded to touch is looked at.
    pub guarded_folders_max: usize,
}

impl Settings {
    /// Returns tenon's state folder, by each path at which it is found.
    pub(super) fn state_folders(&self, mounts: &Mounts) -> Vec<PathBuf> {
        let names = self.state.as_deref().map(|state| names_of(state, mounts));
        let mut names = names.unwrap_or_default();
        names.retain(|name| name.is_dir());
        names
    }

    /// Refuses walls within which a command could put another folder in the place of tenon's state, or
    /// write there: a note that it forged would be put back.
    pub(super) fn check_state(&self, tier: Tier, mounts: &Mounts) -> Result<(), SandboxError> {
        let Some(state) = &self.state else { return Ok(()) };
        let is_open = resolved(state).is_none_or(|(end, links)| {
            let is_root = |name: &PathBuf| {
                let notes = name.join(NOTES);
                self.roots.iter().any(|root| root == name || root.starts_with(&notes))
            };
            let names = names_of(&end, mounts);
            links.iter().any(|link| self.is_in_root(link))
                || tier == Tier::C && names.iter().any(|name| self.is_in_root(name))
                || names.iter().any(is_root)
        });
        if is_open {
            return Err(SandboxError::new(tier, Missing::State { path: state.clone() }));
        }
        Ok(())
    }

    /// Refuses walls in which nothing covers what is kept for undo, where a command could write it: by what
    /// it forged there, undo would bring protected names back that no look has judged. Within the walls of another
    /// tenon that one looks after them.
    pub(super) fn check_undo_stores(
        &self,
        profile: &Profile,
        mounts: &Mounts,
    ) -> Result<(), SandboxError> {
        let is_open = |store: &&PathBuf| {
            let names = names_of(store, mounts);
            profile.writable.iter().any(|above| names.iter().any(|name| name.starts_with(above)))
        };
        let mut stores = self.hidden.iter().filter(|hidden| is_in_undo_store(hidden));
        match stores.find(is_open) {
            Some(path) if !within_walls() => {
                Err(SandboxError::new(Tier::C, Missing::UndoStore { path: path.clone() }))
            }
            _ => Ok(()),
        }
    }

    /// Returns the roots that a command with this profile can put no other folder in the place of: those
    /// that lie in nothing that it may write. That is all that is `watched`, and what it was granted.
    pub(super) fn held_roots(&self, watched: &[PathBuf], profile: &Profile) -> Vec<PathBuf> {
        let mut roots = self.roots.clone();
        let is_above = |above: &PathBuf, root: &PathBuf| above != root && root.starts_with(above);
        let written = || watched.iter().chain(&profile.writable);
        roots.retain(|root| !written().any(|above| is_above(above, root)));
        roots
    }

    pub(super) fn is_in_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }
}

/// Returns where a path leads, and where else that is mounted.
fn names_of(path: &Path, mounts: &Mounts) -> Vec<PathBuf> {
    let mut names = vec![canonical_or_lexical(path)];
    names.extend(mounts.elsewhere([path]));
    names
}
