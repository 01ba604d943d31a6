//! What the walls let a command do, in words for people and for the model.

use std::path::{Path, PathBuf};

use super::plan::{Plan, plan, repositories, walls_alone, walls_inside};
use super::{Sandbox, Shared};
use crate::helper::bubblewrap;
use crate::linux::layout::Part;
use crate::linux::probe::probe;
use crate::missing::SandboxError;
use crate::profile::{Limits, Network, Profile};
use crate::tier::{Tier, Wanted};

/// What a command can do, for `tenon doctor` and for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// How strong the walls are.
    pub tier: Tier,
    /// Why they are not stronger: each stronger tier that was tried, the strongest first.
    pub missing: Vec<SandboxError>,
    /// What may be read: `/` less what is hidden, or a list in tier C.
    pub readable: Vec<PathBuf>,
    /// What may be written and stays.
    pub writable: Vec<PathBuf>,
    /// What may be written and is thrown away.
    pub scratch: Vec<PathBuf>,
    /// Folders within what may be read that are empty for a command, but for what may be written and
    /// for `kept`: those of other people and disks, and those that are private.
    pub emptied: Vec<PathBuf>,
    /// What may be read within the folders that are empty otherwise.
    pub kept: Vec<PathBuf>,
    /// What may be read by the list above and is not there for a command.
    pub hidden: Vec<PathBuf>,
    /// What may be reached.
    pub network: Network,
    /// Whether a server and a client on loopback in one command can talk.
    pub loopback: bool,
    /// What one command may use.
    pub limits: Limits,
}

impl Sandbox {
    /// Returns what a command with `profile` can do, in the tier that was decided, or in the one
    /// that the kernel's answers promise.
    #[must_use]
    pub fn describe(&self, profile: &Profile) -> Description {
        let shared = &self.shared;
        let state = shared.lock();
        let tier = state.tier.unwrap_or_else(|| shared.expected_tier());
        let repositories =
            state.repositories.clone().unwrap_or_else(|| repositories(&shared.settings));
        let plan = plan(&shared.settings, profile, &repositories).ok();
        let inside = plan.map(|plan| (plan.secrets(&shared.settings), plan));
        let has_namespaces = matches!(tier, Tier::A | Tier::B);
        let (walls, scratch) = match &inside {
            Some((secrets, plan)) if has_namespaces => {
                let walls =
                    walls_inside((plan, secrets), &shared.settings, profile, Path::new("/"));
                (walls, plan.scratch().to_vec())
            }
            _ => (walls_alone(&shared.settings, profile, &repositories, None).0, Vec::new()),
        };
        let (emptied, kept) = match &inside {
            Some((_, plan)) if has_namespaces => within_readable(plan),
            _ => Default::default(),
        };
        Description {
            tier,
            missing: state.missing.clone(),
            readable: walls.readable,
            writable: walls.writable.into_iter().filter(|path| !scratch.contains(path)).collect(),
            scratch,
            emptied,
            kept,
            hidden: inside
                .iter()
                .flat_map(|(secrets, _)| &secrets.all)
                .filter(|path| std::fs::symlink_metadata(path).is_ok())
                .cloned()
                .collect(),
            network: profile.network,
            loopback: has_namespaces || profile.network == Network::On,
            limits: shared.settings.limits,
        }
    }
}

/// Returns the folders that are empty for a command, and what of them is there all the same to be read.
fn within_readable(plan: &Plan) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut emptied, mut kept) = (Vec::new(), Vec::new());
    for step in &plan.layout.steps {
        match step.part {
            Part::Cover | Part::Private { .. } => emptied.push(step.path.clone()),
            Part::Kept { writable: false, .. } | Part::File { .. } => kept.push(step.path.clone()),
            Part::Kept { writable: true, .. } => {}
        }
    }
    (emptied, kept)
}

impl Shared {
    fn expected_tier(&self) -> Tier {
        let kernel = probe();
        match self.settings.wanted {
            Wanted::Exactly(tier) => tier,
            Wanted::Best if kernel.confines_inside() => Tier::A,
            Wanted::Best if kernel.confines_alone() && bubblewrap().is_ok() => Tier::B,
            Wanted::Best if kernel.confines_alone() => Tier::C,
            Wanted::Best => Tier::D,
        }
    }
}
