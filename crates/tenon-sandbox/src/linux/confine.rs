//! The walls that a process puts around itself, in their order, before it becomes the shell.

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::landlock::Rules;
use super::probe::holds_sockets_with_a_path;
use super::request::{Confinement, Refused, Wall};
use super::seccomp::{self, Around, Sockets};

/// Gives up for ever what the request does not grant. `rules` are the agent's, if it made them.
pub(super) fn confine(confinement: &Confinement, rules: Option<&Rules>) -> Result<(), Refused> {
    let own = match confinement {
        Confinement::None => return Ok(()),
        Confinement::Reading => Some(Rules::for_reading()),
        Confinement::Walls(walls) if walls.has_rules => None,
        Confinement::Walls(walls) => Some(Rules::of(walls)),
    };
    let own = own.transpose().map_err(|error| landlock_refused(&error))?;
    let rules = own.as_ref().or(rules).ok_or_else(|| Wall::Landlock.refused(Errno::BADF))?;
    rustix::thread::set_no_new_privs(true).map_err(|errno| Wall::Capabilities.refused(errno))?;
    rules.hold().map_err(|errno| Wall::Landlock.refused(errno))?;
    let Confinement::Walls(walls) = confinement else { return Ok(()) };
    let sockets = match walls.internet {
        true => Sockets::Internet,
        false if holds_sockets_with_a_path() => Sockets::Local,
        false => Sockets::Pairs,
    };
    let around = match walls.inside {
        Some(_) => Around::Namespaces,
        None => Around::Landlock,
    };
    seccomp::install(sockets, around).map_err(|errno| Wall::Seccomp.refused(errno))
}

/// Empties every set of capabilities, so that root is a user like others.
pub(super) fn drop_capabilities(confinement: &Confinement) -> Result<(), Refused> {
    let Confinement::Walls(walls) = confinement else { return Ok(()) };
    let refused = |errno| Wall::Capabilities.refused(errno);
    let now = rustix::thread::capabilities(None).map_err(refused)?;
    if now.permitted.is_empty() && !rustix::process::geteuid().is_root() {
        // An ordinary user: no_new_privs keeps it so.
        return Ok(());
    }
    if walls.inside.is_none() {
        drop_capabilities_of_programs().map_err(refused)?;
    }
    for capability in [CapabilitySet::CHOWN, CapabilitySet::SYS_ADMIN] {
        if rustix::thread::capability_is_in_bounding_set(capability).map_err(refused)? {
            return Err(refused(Errno::PERM));
        }
    }
    rustix::thread::clear_ambient_capability_set().map_err(refused)?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).map_err(refused)
}

/// Empties the set of capabilities that a program of root's gets when it is executed. What this
/// process has, it keeps; the warm helper does it once, for all calls.
pub(super) fn drop_capabilities_of_programs() -> Result<(), Errno> {
    for number in 0..u64::BITS {
        let Some(one) = CapabilitySet::from_bits(1 << number) else { break };
        match rustix::thread::remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // Past the last that this kernel knows.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// What to report when the kernel would not take rules.
pub(super) fn landlock_refused(error: &std::io::Error) -> Refused {
    Wall::Landlock.refused(Errno::from_io_error(error).unwrap_or(Errno::NOTSUP))
}
