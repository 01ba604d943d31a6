//! Holds a process, and everything it starts, to the folders that it may read and write: the
//! kernel's Landlock.
//!
//! Rules are made once and can hold many processes, also others than the one that made them. What
//! changes no content (modes, owners, times, attributes) is outside Landlock and is not held here.
//! Where the kernel cannot hold the rest, the process must not go on; what only newer kernels hold
//! is taken where it is there.

#![expect(unsafe_code, reason = "the library holds only the process that made the rules")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::control::last_errno;
use super::openat::open_plain;
use super::request::Walls;

/// Emptying a file is held since version 3 (Linux 6.2).
pub(crate) const LANDLOCK_VERSION_MIN: u32 = VERSION_MIN as u32;
const VERSION_MIN: ABI = ABI::V3;

/// The newest version that this file knows: what is asked for where the kernel has it.
const VERSION_BEST: ABI = ABI::V9;

/// What every command may write: it keeps nothing.
const ALWAYS_WRITABLE: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// What a process may do, kept by the kernel. What is made later under the name of a file that a
/// rule was made for has no rule.
#[derive(Debug)]
pub(crate) struct Rules(OwnedFd);

impl Rules {
    /// Returns rules under which nothing can be written.
    ///
    /// # Errors
    /// If the kernel cannot hold a process to that.
    pub(super) fn for_reading() -> io::Result<Self> {
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(VERSION_MIN))
            .and_then(Ruleset::create)
            .map_err(io::Error::other)?;
        let null = open_any(Path::new("/dev/null"))?;
        Self::with(ruleset, [PathBeneath::new(null, AccessFs::WriteFile)])
    }

    /// Returns rules by which a process sends signals only among what it starts, and does all else that
    /// it did.
    ///
    /// # Errors
    /// If the kernel cannot hold a process to that.
    pub(super) fn of_signals() -> io::Result<Self> {
        // Unless it is granted, any rules forbid links and renames between folders.
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .scope(Scope::Signal)
            .and_then(|ruleset| ruleset.handle_access(AccessFs::Refer))
            .and_then(Ruleset::create)
            .map_err(io::Error::other)?;
        Self::with(ruleset, [PathBeneath::new(open_plain(Path::new("/"))?, AccessFs::Refer)])
    }

    /// Returns rules by which a process reads everything, writes only what is `writable`, and
    /// connects to any port: for a file tree and a network of its own.
    ///
    /// # Errors
    /// If the kernel cannot hold a process to that.
    pub(super) fn of_a_tree(writable: &[PathBuf]) -> io::Result<Self> {
        let (readable, writable) = (vec![PathBuf::from("/")], writable.to_vec());
        let (has_rules, internet, only_reads, inside) = (false, true, false, None);
        Self::of(&Walls { readable, writable, has_rules, internet, only_reads, inside })
    }

    /// Returns rules by which a process reads and writes only what the walls say, connects to no
    /// port where they say so, and sends signals and connects to abstract sockets only among what it
    /// starts.
    ///
    /// # Errors
    /// If the kernel cannot hold a process to that.
    pub(crate) fn of(walls: &Walls) -> io::Result<Self> {
        let reads = AccessFs::from_read(VERSION_BEST);
        let all = AccessFs::from_all(VERSION_BEST);
        let device = reads | AccessFs::WriteFile | AccessFs::IoctlDev;
        // A command that runs may put links where the folder above is its own.
        let readable = walls.readable.iter().map(|path| (open_plain(path).ok(), reads));
        let writable = walls.writable.iter().map(|path| (open_plain(path).ok(), all));
        let devices = ALWAYS_WRITABLE.iter().map(|path| (open_any(Path::new(path)).ok(), device));
        let rules = readable.chain(writable).chain(devices);
        let ruleset = ruleset(walls.internet).map_err(io::Error::other)?;
        Self::with(ruleset, rules.filter_map(|(handle, access)| rule(handle?, access)))
    }

    fn with(
        ruleset: RulesetCreated,
        rules: impl IntoIterator<Item = PathBeneath<OwnedFd>>,
    ) -> io::Result<Self> {
        let rules = rules.into_iter().map(Ok::<_, RulesetError>);
        let ruleset = ruleset.add_rules(rules).map_err(io::Error::other)?;
        // There is none where the kernel has no Landlock, which the requirement refused already.
        let handle: Option<OwnedFd> = ruleset.into();
        handle.map(Self).ok_or_else(|| Errno::NOTSUP.into())
    }

    /// Holds this process to them, for ever. `no_new_privs` must be set.
    pub(super) fn hold(&self) -> Result<(), Errno> {
        self.hold_with(0)
    }

    /// The same, and where the kernel writes to the audit log what they refuse (Linux 6.15), not what
    /// they refuse to this program.
    pub(super) fn hold_unlogged(&self) -> Result<(), Errno> {
        const LOG_SAME_EXEC_OFF: u32 = 1;
        match self.hold_with(LOG_SAME_EXEC_OFF) {
            Err(Errno::INVAL) => self.hold(),
            answer => answer,
        }
    }

    fn hold_with(&self, flags: u32) -> Result<(), Errno> {
        // SAFETY: the call takes a descriptor and flags. What is no set of rules, it refuses.
        let answer =
            unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), flags) };
        if answer == 0 { Ok(()) } else { Err(last_errno()) }
    }
}

impl From<OwnedFd> for Rules {
    fn from(handle: OwnedFd) -> Self {
        Self(handle)
    }
}

impl AsFd for Rules {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn ruleset(internet: bool) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(VERSION_MIN))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(VERSION_BEST))?
        .scope(Scope::from_all(VERSION_BEST))?;
    if !internet {
        ruleset = ruleset.handle_access(AccessNet::from_all(VERSION_BEST))?;
    }
    ruleset.create()
}

fn open_any(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Grants `access` beneath what is open. What is not there needs no rule: nothing is granted.
fn rule(handle: OwnedFd, access: BitFlags<AccessFs>) -> Option<PathBeneath<OwnedFd>> {
    let stat = rustix::fs::fstat(&handle).ok()?;
    let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
    let access = if is_folder { access } else { access & AccessFs::from_file(VERSION_BEST) };
    Some(PathBeneath::new(handle, access))
}
