//! Holds a process, and everything it starts, to the folders that it may read and write: the
//! kernel's Landlock.
//!
//! What changes no content (modes, owners, times, attributes) is outside Landlock and is not held
//! here. Where the kernel cannot hold the rest, the process must not go on; what only newer
//! kernels hold is taken where it is there.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::request::Walls;

/// Emptying a file is held since version 3 (Linux 6.2).
pub(crate) const LANDLOCK_VERSION_MIN: u32 = VERSION_MIN as u32;
const VERSION_MIN: ABI = ABI::V3;

/// The newest version that this file knows: what is asked for where the kernel has it.
const VERSION_BEST: ABI = ABI::V9;

/// What every command may write: it keeps nothing.
const ALWAYS_WRITABLE: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// Lets this process write only beneath `writable`, for ever.
///
/// # Errors
/// If the kernel cannot hold it to that.
pub(crate) fn confine_writes(writable: &[PathBuf]) -> Result<(), io::Error> {
    let writes = AccessFs::from_write(VERSION_MIN);
    let mut rules = vec![PathBeneath::new(open("/dev/null".as_ref())?, AccessFs::WriteFile)];
    for folder in writable {
        rules.push(PathBeneath::new(open(folder)?, writes));
    }
    hold_writes(writes, rules).map_err(io::Error::other)
}

/// Lets this process read and write only what the walls say, connect to no port where they say so,
/// and send signals and connect to abstract sockets only among what it starts. For ever.
///
/// # Errors
/// If the kernel cannot hold it to that.
pub(super) fn confine(walls: &Walls) -> Result<(), io::Error> {
    let reads = AccessFs::from_read(VERSION_BEST);
    let all = AccessFs::from_all(VERSION_BEST);
    let device = AccessFs::WriteFile | AccessFs::IoctlDev;
    let mut rules = Vec::new();
    for path in &walls.readable {
        rules.extend(rule(path, reads));
    }
    for path in &walls.writable {
        rules.extend(rule(path, all));
    }
    for path in ALWAYS_WRITABLE {
        rules.extend(rule(path.as_ref(), reads | device));
    }
    hold(walls, rules).map_err(io::Error::other)
}

/// Grants `access` beneath a path. What is not there needs no rule: nothing is granted.
fn rule(path: &Path, access: BitFlags<AccessFs>) -> Option<PathBeneath<PathFd>> {
    let handle = PathFd::new(path).ok()?;
    let stat = rustix::fs::fstat(&handle).ok()?;
    let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
    let access = if is_folder { access } else { access & AccessFs::from_file(VERSION_BEST) };
    Some(PathBeneath::new(handle, access))
}

fn open(path: &Path) -> Result<PathFd, io::Error> {
    PathFd::new(path).map_err(io::Error::other)
}

fn hold_writes(
    writes: BitFlags<AccessFs>,
    rules: Vec<PathBeneath<PathFd>>,
) -> Result<(), RulesetError> {
    // Also sets no_new_privs, without which the kernel refuses.
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(writes)?
        .create()?
        .add_rules(rules.into_iter().map(Ok::<_, RulesetError>))?
        .restrict_self()?;
    Ok(())
}

fn hold(walls: &Walls, rules: Vec<PathBeneath<PathFd>>) -> Result<(), RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(VERSION_MIN))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(VERSION_BEST))?
        .scope(Scope::from_all(VERSION_BEST))?;
    if !walls.internet {
        ruleset = ruleset.handle_access(AccessNet::from_all(VERSION_BEST))?;
    }
    let status = ruleset
        .create()?
        .add_rules(rules.into_iter().map(Ok::<_, RulesetError>))?
        .restrict_self()?;
    // Checked by the hard requirement already; an answer that says otherwise must not be passed.
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(RulesetError::CreateRuleset(
            landlock::CreateRulesetError::MissingHandledAccess,
        ));
    }
    Ok(())
}
