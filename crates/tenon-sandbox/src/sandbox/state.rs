//! What the commands of a session share behind its walls, and what is known of the machine.

use std::path::PathBuf;
use std::sync::Arc;

use super::alone::AllAlone;
use super::closed::Closed;
use super::own_folders::OwnFolders;
use super::plan::Plan;
use super::scratch::Scratch;
use super::secrets::Secrets;
use super::sockets::Covered;
use super::unkept::{PrivateFolders, Told};
use crate::guard::Guard;
use crate::helper::WarmHelper;
use crate::missing::SandboxError;
use crate::profile::Profile;
use crate::tier::Tier;

/// What changes while commands come.
#[derive(Default)]
pub(super) struct State {
    /// Decided at the first confined command.
    pub(super) tier: Option<Tier>,
    /// Why the tier is not a stronger one, the strongest first.
    pub(super) missing: Vec<SandboxError>,
    /// A command ran in this tier, so it is the one.
    pub(super) proven: bool,
    pub(super) repositories: Option<Vec<PathBuf>>,
    pub(super) closed: Closed,
    /// The newest last.
    pub(super) plans: Vec<Planned>,
    pub(super) guard: Guard,
    pub(super) sockets: Covered,
    pub(super) told: Told,
    /// In tier C.
    pub(super) folders: Option<OwnFolders>,
    pub(super) alone: AllAlone,
}

impl State {
    /// Whether nothing was made yet.
    pub(super) fn is_new(&self) -> bool {
        self.tier.is_none() && self.plans.is_empty()
    }

    /// Forgets what commands share. What the machine gives is known.
    pub(super) fn renew(&mut self) {
        self.plans.clear();
        (self.folders, self.alone, self.told) = (None, AllAlone::default(), Told::default());
    }
}

/// What calls of one kind share.
#[derive(Clone)]
pub(super) struct Planned {
    pub(super) key: Profile,
    pub(super) plan: Plan,
    pub(super) secrets: Secrets,
    pub(super) tree: Tree,
    pub(super) private: Arc<PrivateFolders>,
}

/// Who makes the file tree.
#[derive(Clone)]
pub(super) enum Tree {
    /// This helper made it, for all calls.
    Held(Arc<WarmHelper>),
    /// Bubblewrap makes it for each call; here is what lasts longer.
    Enclosed(Arc<Scratch>),
}

impl Planned {
    /// Whether a helper is there that takes calls.
    pub(super) fn is_held(&self) -> bool {
        matches!(self.tree, Tree::Held(_))
    }
}
