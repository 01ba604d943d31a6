//! What the walls refused a command until now, for whoever looks at it while it runs, and at its end.
//!
//! Who answers the kernel's questions notes it here; noted for what the agent tells, and no wall.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::fs::CWD;

use super::node::{Moment, Node, NodeId, look};
use crate::linux::notify::Listener;
use crate::linux::probe::Wish;

/// So many changes outside are noted of one command: of more the first half and the last.
const OUTSIDE_MAX: usize = 50;

/// So many moves are noted of one command, the first.
const MOVES_MAX: usize = 50;

/// What a command tried to change where its walls let it write nothing: outside of the workspace, or in a folder of
/// it that is read-only to commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideWrite {
    /// Absolute, as the command's file tree has it, without links but for the last name.
    pub path: PathBuf,
    /// What it would have done.
    pub wish: Wish,
}

/// A rename or a hard link within the session's folders, or between those and private ones, that the walls refused a
/// command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedMove {
    /// Absolute, without links but for the last name.
    pub from: PathBuf,
    /// The same of the new name.
    pub to: PathBuf,
    /// Whether it would have been a further name (a hard link).
    pub links: bool,
    /// What stood in the way.
    pub barrier: Barrier,
}

/// What stood in the way of a rename or a hard link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// The two places are on different mounts (EXDEV).
    Apart,
    /// They are on a mount that is only read (EROFS).
    OnlyRead,
    /// One of them is a mount itself (EBUSY).
    Mount,
}

/// What a command was refused.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    /// In words for people.
    pub(crate) calls: Vec<&'static str>,
    pub(crate) outside: Vec<OutsideWrite>,
    pub(crate) moves: Vec<RefusedMove>,
}

/// What a command was refused until now.
pub(crate) struct Refusals {
    /// Closed when the watcher ends, whoever still looks here.
    listener: Weak<Listener>,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    outside: Vec<OutsideWrite>,
    moves: Vec<NotedMove>,
}

/// A move, and what was at its new name before.
#[derive(Clone)]
struct NotedMove {
    refused: RefusedMove,
    before: Option<(NodeId, Moment)>,
}

impl Refusals {
    pub(super) fn new(listener: &Arc<Listener>) -> Self {
        Self { listener: Arc::downgrade(listener), noted: Mutex::default() }
    }

    pub(super) fn note_outside(&self, write: OutsideWrite) {
        let outside = &mut self.lock().outside;
        if !outside.contains(&write) {
            if outside.len() >= OUTSIDE_MAX {
                outside.remove(OUTSIDE_MAX / 2);
            }
            outside.push(write);
        }
    }

    /// Whether no further move is noted.
    pub(super) fn has_all_moves(&self) -> bool {
        self.lock().moves.len() >= MOVES_MAX
    }

    /// Notes a move; `before` is what is at the new name.
    pub(super) fn note_move(&self, refused: RefusedMove, before: Option<Node>) {
        let moves = &mut self.lock().moves;
        if !moves.iter().any(|noted| noted.refused == refused) {
            moves.push(NotedMove { refused, before: before.map(state) });
        }
    }

    /// Returns what was refused until now, without moves that were made up for by now.
    pub(crate) fn so_far(&self) -> Refused {
        let calls = self.listener.upgrade().map(|listener| listener.refused());
        let (outside, moves) = {
            let noted = self.lock();
            (noted.outside.clone(), noted.moves.clone())
        };
        let moves = moves.into_iter().filter_map(NotedMove::unless_made_up_for).collect();
        Refused { calls: calls.unwrap_or_default(), outside, moves }
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        // Each entry is put in whole.
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NotedMove {
    /// Returns it, unless something else is at the new name by now: many programs copy then.
    fn unless_made_up_for(self) -> Option<RefusedMove> {
        let now = look(CWD, self.refused.to.as_os_str()).ok()?.map(state);
        (now.is_none() || now == self.before).then_some(self.refused)
    }
}

fn state(node: Node) -> (NodeId, Moment) {
    (node.id, node.changed)
}
