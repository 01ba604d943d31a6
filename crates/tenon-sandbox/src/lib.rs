//! Confined files and confined processes: the only door through which tenon reads a file, writes
//! one or starts a program.
//!
//! [`Workspace`] serves files by directory descriptors, [`Command`] runs a shell script in a
//! process tree that ends with it, [`Sandbox`] runs it inside walls that the kernel holds. Nothing
//! here decides whether something may happen; that is policy, above. Linux only.

mod clean;
mod command;
mod environment;
mod file_system;
mod filter;
mod git_addresses;
mod git_blanks;
mod git_config;
mod git_includes;
mod git_index;
mod git_refs;
mod git_steps;
mod git_strategies;
mod git_written;
mod guard;
mod helper;
mod jobs;
mod journal;
mod links;
mod linux;
mod missing;
mod mounts;
mod network;
mod off_thread;
mod output;
mod outside;
mod own_paths;
mod profile;
mod remove_tree;
mod rights;
mod room;
mod sandbox;
mod source;
mod spill;
mod tier;
mod users;
mod workspace;

pub use clean::{Cleaner, clean_bytes};
pub use command::{Command, CommandError, CommandLimits, Exit, LimitReached, Output, signal_name};
pub use environment::child_environment;
pub use filter::{FilteredText, TextFilter};
pub use git_config::programs_set;
pub use git_index::{GitIndex, GitIndexEntry, GitIndexFormat, read_git_index};
pub use guard::{
    GUARDED_FOLDERS_MAX, LookedAfter, OwnLookedAfter, ProtectedChange, ProtectedChangeKind,
    look_after_killed, look_after_own,
};
pub use jobs::{Attended, JOBS_RUNNING_MAX, JobEnd, JobId, JobReading, JobStatus, Jobs};
pub use journal::{
    Barrier, Change, ChangeKind, Changes, Checkpoint, CheckpointId, CheckpointInfo, CheckpointKind,
    CheckpointState, Conflict, ConflictReason, Conflicts, Coverage, Forbids, Journal, JournalError,
    JournalOptions, LeftOut, LeftOutReason, LinkOut, OutsideWrite, Past, PastEntry, Patience,
    Pruned, RefusedMove, Replaced, Rights, StaleCache, Trouble, Undone, Usage, WayBack,
    forget_session_of, is_in_undo_store, without_middle,
};
pub use links::{leads_into, led_to, links_to};
pub use linux::inside::is_closed_in_proc;
pub use linux::probe::{Kernel, Wish, confines_writes, is_closed_to_user, probe, runs_as_root};
pub use linux::start_block::hide_variables;
pub use linux::told::{INTERNET_SOCKETS, OTHER_SOCKETS, PATH_SOCKETS, SET_ID_BITS};
pub use linux::within::within_walls;
pub use missing::{Missing, SandboxError};
pub use mounts::{Mounted, Mounts};
pub use network::{
    HostError, HostRule, HostTried, NetworkEvent, NetworkGrant, NetworkOutcome, Preset,
    PresetHosts, Proxy, ProxyLimits, ProxyOptions, Refusal, Resolve, Resolving, Running, RunningId,
    SystemResolver, UnknownPreset, UpstreamError, UpstreamProxy,
};
pub use off_thread::{OffThread, off_thread};
pub use output::{CleanText, OutputBuffer, Piece, Stream};
pub use outside::OutsideRoots;
pub use profile::{Limits, Network, Profile};
pub use rights::{OfAnother, stands_in_the_way};
pub use room::{RoomBound, RoomTaken, RoomTakenHow, Size, has_room};
pub use sandbox::{
    Description, OutOfSight, ProgramOutOfSight, Sandbox, Settings, has_rights_of_another,
    is_in_repository_outside, listens_on_loopback, repositories_outside, secrets_of_base,
    secrets_of_home, secrets_of_root, toolchains_within,
};
pub use source::Source;
pub use spill::{SPILL_BYTES_MAX, SpillFile, SpillTarget};
pub use tier::{Tier, Wanted};
pub use workspace::{
    Access, ContentHash, ContentHasher, EntryKind, Expected, FileError, LiftedWrite, Location,
    OpenFile, OpenRoots, Outside, ProtectedNames, RootMoved, Seen, Walk, WalkEntry, WalkOptions,
    Workspace, WriteOptions, Written,
};
