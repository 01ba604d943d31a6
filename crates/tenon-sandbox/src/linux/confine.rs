//! The walls that a process puts around itself, in their order, before it becomes the shell.

use std::borrow::Cow;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::by_argument::Sockets;
use super::filter::{Calls, Filter};
use super::landlock::Rules;
use super::notify;
use super::probe::holds_sockets_with_a_path;
use super::request::{Confinement, Refused, Request, Wall, Walls};
use super::seccomp::{self, Around, refusals};
use super::set_id;

/// What commands in tier A and B have.
const IN_NAMESPACES: (Sockets, Around) = (Sockets::Internet, Around::Namespaces);

/// What was made ahead of a command and can hold several.
pub(super) struct Ahead {
    pub(super) rules: Rules,
    /// For commands beneath the process that holds the namespaces: as it is, and with the agent asked.
    filters: Option<[Filter; 2]>,
}

impl Ahead {
    pub(super) fn with(rules: Rules) -> Self {
        Self { rules, filters: None }
    }
}

/// Filters of the process that holds the namespaces, which depend on nothing.
pub(super) struct Filters {
    own: Filter,
    /// For what is beneath it.
    left: [Filter; 2],
}

impl Filters {
    pub(super) fn new() -> Self {
        let (sockets, around) = IN_NAMESPACES;
        let (own, left) = seccomp::split(refusals(sockets, around));
        let left = [false, true].map(|watched| with_questions(left.clone(), watched));
        Self { own: Filter::of(&own), left }
    }
}

/// Gives up in this process, which holds the namespaces, what commands do not get and it does not
/// need itself, and returns what is left for those that may write at these paths.
pub(super) fn confine_holder(filters: Filters, writable: &[PathBuf]) -> Result<Ahead, Refused> {
    let rules = Rules::of_a_tree(writable).map_err(|error| landlock_refused(&error))?;
    rustix::thread::set_no_new_privs(true)
        .and_then(|()| filters.own.install(0))
        .map_err(|errno| Wall::Seccomp.refused(errno))?;
    Ok(Ahead { rules, filters: Some(filters.left) })
}

/// Gives up for ever the files and addresses that the request does not grant.
pub(super) fn hold_files(confinement: &Confinement, ahead: Option<&Ahead>) -> Result<(), Refused> {
    let own = match confinement {
        Confinement::None => return Ok(()),
        Confinement::Reading => Some(Rules::for_reading()),
        Confinement::Walls(walls) if walls.has_rules => None,
        Confinement::Walls(walls) => Some(Rules::of(walls)),
    };
    let own = own.transpose().map_err(|error| landlock_refused(&error))?;
    let rules = own.as_ref().or(ahead.map(|ahead| &ahead.rules));
    let rules = rules.ok_or_else(|| Wall::Landlock.refused(Errno::BADF))?;
    rustix::thread::set_no_new_privs(true).map_err(|errno| Wall::Capabilities.refused(errno))?;
    rules.hold().map_err(|errno| Wall::Landlock.refused(errno))
}

/// Returns the filter for the system calls that the request does not grant, or wants to be asked
/// about. Without namespaces the command sees its helpers.
pub(super) fn filter<'a>(
    request: &Request,
    ahead: Option<&'a Ahead>,
    helpers: &[Pid],
) -> Option<Cow<'a, Filter>> {
    let calls = match &request.confinement {
        Confinement::Walls(walls) => {
            let (sockets, around) = kinds(walls);
            let made = ahead.and_then(|ahead| ahead.filters.as_ref());
            if let (IN_NAMESPACES, Some([as_it_is, asking])) = ((sockets, around), made) {
                return Some(Cow::Borrowed(if request.watched { asking } else { as_it_is }));
            }
            let mut calls = refusals(sockets, around);
            if around != Around::Namespaces {
                seccomp::leave_helpers(&mut calls, helpers);
            }
            calls
        }
        _ if request.watched => Calls::new(),
        _ => return None,
    };
    Some(Cow::Owned(with_questions(calls, request.watched)))
}

fn kinds(walls: &Walls) -> (Sockets, Around) {
    let sockets = match walls.internet {
        true => Sockets::Internet,
        false if holds_sockets_with_a_path() => Sockets::Local,
        false => Sockets::Pairs,
    };
    let around = match walls.inside {
        Some(_) => Around::Namespaces,
        None if walls.only_reads => Around::LandlockToRead,
        None => Around::Landlock,
    };
    (sockets, around)
}

fn with_questions(mut calls: Calls, watched: bool) -> Filter {
    if watched {
        notify::add_questions(&mut calls);
    } else {
        // What is not watched has walls, or no filter.
        set_id::refuse_all(&mut calls);
    }
    Filter::of(&calls)
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
        match rustix::thread::capability_is_in_bounding_set(one) {
            Ok(true) => rustix::thread::remove_capability_from_bounding_set(one)?,
            // Within walls, which took it: nobody there may do so again.
            Ok(false) => {}
            // Past the last that this kernel knows.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// What to report when the kernel would not take rules.
fn landlock_refused(error: &std::io::Error) -> Refused {
    Wall::Landlock.refused(Errno::from_io_error(error).unwrap_or(Errno::NOTSUP))
}
