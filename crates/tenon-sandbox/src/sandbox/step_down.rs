//! From the best tier to one that this machine has, before a first command ran.

use super::{Shared, State};
use crate::helper::bubblewrap;
use crate::linux::probe::probe;
use crate::missing::SandboxError;
use crate::tier::{Tier, Wanted};

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
