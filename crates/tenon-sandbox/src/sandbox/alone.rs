//! What calls without namespaces share. Nothing can be put on top of anything there, so what may be
//! read is hundreds of names; the kernel's rules for them are made once and hold every call.
//!
//! They are made again when a folder whose names were listed changes, or when another folder stands
//! where one was: until then what is new there cannot be read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::Settings;
use super::closed::Closed;
use super::plan::walls_alone;
use super::stamp::Stamp;
use crate::linux::landlock::Rules;
use crate::linux::probe::probe;
use crate::linux::request::{Wall, Walls};
use crate::linux::within::within_walls;
use crate::missing::{Missing, SandboxError};
use crate::mounts::Mounts;
use crate::profile::Profile;
use crate::tier::Tier;

/// Kinds of calls whose rules are kept; the oldest goes.
const KINDS_MAX: usize = 4;

/// The walls of calls with one profile.
pub(super) struct Alone {
    profile: Profile,
    writable: Vec<PathBuf>,
    internet: bool,
    only_reads: bool,
    rules: Arc<Rules>,
    looked_at: Vec<(PathBuf, Option<Stamp>)>,
}

impl Alone {
    /// Looks through what is on this machine and makes the rules.
    ///
    /// # Errors
    /// If the kernel cannot hold a command to them.
    pub(super) fn new(
        settings: &Settings,
        profile: &Profile,
        repositories: &[PathBuf],
        scratch: Option<&Path>,
        closed: &Closed,
        mounts: &Mounts,
    ) -> Result<Self, SandboxError> {
        settings.check_state(Tier::C, mounts)?;
        settings.check_undo_stores(profile, mounts)?;
        let kernel = probe();
        if !kernel.confines_alone() {
            let version = kernel.landlock_abi;
            return Err(SandboxError::new(Tier::C, Missing::Landlock { version }));
        }
        // Without the names in `/` nothing could be told apart, and nothing be run.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::open("/", flags, Mode::empty());
        if top.is_err() && within_walls() {
            return Err(SandboxError::new(Tier::C, Missing::Unlisted));
        }
        let (walls, looked_at) =
            walls_alone(settings, profile, repositories, scratch, closed, mounts);
        let rules = Rules::of(&walls).map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::NOTSUP);
            SandboxError::refused(Tier::C, Wall::Landlock.refused(errno))
        })?;
        let (profile, rules) = (profile.clone(), Arc::new(rules));
        let Walls { writable, internet, only_reads, .. } = walls;
        Ok(Self { profile, writable, internet, only_reads, rules, looked_at })
    }

    /// Whether everything is as it was looked at.
    fn is_current(&self) -> bool {
        self.looked_at.iter().all(|(path, stamp)| match stamp {
            Some(stamp) => stamp.holds(path),
            None => std::fs::symlink_metadata(path).is_err(),
        })
    }

    /// Returns the walls of a call, and the rules that hold it to them.
    fn of_a_call(&self) -> (Walls, Arc<Rules>) {
        let (readable, writable) = (Vec::new(), self.writable.clone());
        let (internet, only_reads, inside) = (self.internet, self.only_reads, None);
        let walls = Walls { readable, writable, has_rules: true, internet, only_reads, inside };
        (walls, Arc::clone(&self.rules))
    }
}

/// Those of the last few profiles, the newest last.
#[derive(Default)]
pub(super) struct AllAlone(Vec<Alone>);

impl AllAlone {
    pub(super) fn knows(&self, profile: &Profile) -> bool {
        self.0.iter().any(|known| known.profile == *profile)
    }

    /// Returns the walls of a call with `profile`, and the rules that hold it to them, made if need be.
    pub(super) fn of_a_call(
        &mut self,
        profile: &Profile,
        make: impl FnOnce() -> Result<Alone, SandboxError>,
    ) -> Result<(Walls, Arc<Rules>), SandboxError> {
        self.0.retain(Alone::is_current);
        if let Some(known) = self.0.iter().find(|known| known.profile == *profile) {
            return Ok(known.of_a_call());
        }
        if self.0.len() >= KINDS_MAX {
            self.0.remove(0);
        }
        let made = make()?;
        let call = made.of_a_call();
        self.0.push(made);
        Ok(call)
    }
}
