//! Holds a process, and everything it starts, to the folders that it may write: the kernel's
//! Landlock.
//!
//! What changes no content (modes, owners, times, attributes) is outside Landlock and is not held
//! here. Where the kernel cannot hold the rest, the process must not go on.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError,
};

/// Emptying a file is held since version 3 (Linux 6.2).
pub(crate) const LANDLOCK_VERSION_MIN: u32 = VERSION_MIN as u32;
const VERSION_MIN: ABI = ABI::V3;

/// What every command may write: it keeps nothing.
const ALWAYS_WRITABLE: &str = "/dev/null";

/// Lets this process write only beneath `writable`, for ever.
///
/// # Errors
/// If the kernel cannot hold it to that.
pub(crate) fn confine_writes(writable: &[PathBuf]) -> Result<(), io::Error> {
    let writes = AccessFs::from_write(VERSION_MIN);
    let mut rules = vec![PathBeneath::new(open(ALWAYS_WRITABLE.as_ref())?, AccessFs::WriteFile)];
    for folder in writable {
        rules.push(PathBeneath::new(open(folder)?, writes));
    }
    hold(writes, rules).map_err(io::Error::other)
}

fn open(path: &Path) -> Result<PathFd, io::Error> {
    PathFd::new(path).map_err(io::Error::other)
}

fn hold(writes: BitFlags<AccessFs>, rules: Vec<PathBeneath<PathFd>>) -> Result<(), RulesetError> {
    // Also sets no_new_privs, without which the kernel refuses.
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(writes)?
        .create()?
        .add_rules(rules.into_iter().map(Ok::<_, RulesetError>))?
        .restrict_self()?;
    Ok(())
}
