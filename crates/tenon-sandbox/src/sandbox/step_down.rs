//! Which tier it is: the one that is wanted, or from the best one down to one that this machine has, before a first
//! command ran.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::again::is_of_number;
use super::{Sandbox, Shared, State};
use crate::command::{Command, CommandError, CommandLimits};
use crate::helper::bubblewrap;
use crate::linux::probe::probe;
use crate::missing::{Missing, SandboxError};
use crate::profile::Network;
use crate::tier::{Tier, Wanted};
use crate::workspace::OpenRoots;

impl Sandbox {
    /// Decides the tier by running a command that does nothing.
    ///
    /// # Errors
    /// [`SandboxError`] when the tier that is wanted cannot be had.
    pub async fn tier(&self) -> Result<Tier, SandboxError> {
        let Some(root) = self.shared.settings.roots.first() else {
            return Err(SandboxError::new(Tier::A, Missing::WholeFileSystem));
        };
        let timeout = Duration::from_secs(10);
        let command = Command {
            script: ":".to_owned(),
            folder: root.clone(),
            roots: OpenRoots::default(),
            environment: Vec::new(),
            profile: self.shared.session_profile(Network::Off),
            limits: CommandLimits { timeout, output_bytes_max: 0, spill: None },
        };
        match self.run(command, &CancellationToken::new(), &mut |_, _| {}).await {
            Err(CommandError::Walls(error)) => Err(error),
            Err(error) => {
                let is_full =
                    matches!(&error, CommandError::Helper { source } if is_of_number(source));
                let missing = if is_full { Missing::Room } else { Missing::Helper };
                let tier = self.shared.lock().tier.unwrap_or(Tier::A);
                Err(SandboxError::new(tier, missing))
            }
            Ok(_) => {
                let mut state = self.shared.lock();
                state.guard.was_nobodys();
                Ok(state.tier.unwrap_or(Tier::D))
            }
        }
    }
}

impl Shared {
    /// Takes the next tier, if the best was wanted, no command ran yet, and it is the machine's
    /// fault. Says whether the command should be tried again.
    pub(super) fn step_down(&self, state: &mut State, error: &SandboxError) -> bool {
        let may = self.settings.wanted == Wanted::Best
            && !state.proven
            && state.tier == Some(error.tier)
            && matches!(error.tier, Tier::A | Tier::B)
            && error.is_of_machine();
        if !may {
            return false;
        }
        state.missing.push(error.clone());
        state.plans.clear();
        let alone = if probe().confines_alone() { Tier::C } else { Tier::D };
        state.tier = Some(match (error.tier, bubblewrap()) {
            (Tier::A, Ok(())) if alone == Tier::C => Tier::B,
            (Tier::A, Err(error)) => {
                state.missing.push(error);
                alone
            }
            _ => alone,
        });
        true
    }
}
