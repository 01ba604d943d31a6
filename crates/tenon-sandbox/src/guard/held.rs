//! Roots that no command can move: another folder at the path of one is somebody else's, and so is all in it.
//!
//! The guard looks by paths, and would make of that folder what the workspace was. So it looks at nothing
//! while one of them is elsewhere, and remembers how everything should be.

use std::path::{Path, PathBuf};

use super::Guard;
use super::change::{ProtectedChange, ProtectedChangeKind};
use crate::file_system::{Identity, identity_of_folder};

#[derive(Default)]
pub(super) struct Held {
    /// For the commands that begin now.
    paths: Vec<PathBuf>,
    /// For those that run.
    known: Vec<(PathBuf, Identity)>,
    /// Whether nothing was looked at for that, and so whether that was told.
    pub(super) is_away: bool,
}

impl Held {
    /// Takes in which folder each is, before a command and with none running.
    pub(super) fn begin(&mut self) {
        let identity = |path: &PathBuf| Some((path.clone(), identity_of_folder(path)?));
        self.known = self.paths.iter().filter_map(identity).collect();
        self.is_away = false;
    }

    fn away(&self) -> Option<&Path> {
        let mut known = self.known.iter();
        let away = known.find(|(path, identity)| identity_of_folder(path) != Some(*identity));
        away.map(|(path, _)| path.as_path())
    }
}

impl Guard {
    /// Takes in that a command begins which can put no other folder at these paths.
    pub(crate) fn hold(&mut self, roots: Vec<PathBuf>) {
        self.held.known.retain(|(path, _)| self.running == 0 || roots.contains(path));
        self.held.paths = roots;
    }

    /// Returns what is told instead of a look; nothing if everything can be looked at.
    pub(super) fn moved_meanwhile(&mut self) -> Option<Vec<ProtectedChange>> {
        let away = self.held.away().map(Path::to_path_buf);
        let is_told = std::mem::replace(&mut self.held.is_away, away.is_some());
        let kind = ProtectedChangeKind::Unlooked;
        let told =
            |path| ProtectedChange { path, kind, found: None, by_name: false, put_back: false };
        away.map(|path| if is_told { Vec::new() } else { vec![told(path)] })
    }
}
