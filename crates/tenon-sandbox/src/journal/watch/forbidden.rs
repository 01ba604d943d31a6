//! What a command may not change because a rule says so, whatever program it runs.
//!
//! A courtesy and no wall: what a path leads to may be exchanged between the question and the call.

use std::path::Path;
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::super::calls::{Onto, Target};
use super::super::node::{Node, look};
use super::super::record::Place;
use super::super::recorder::Fate;
use super::super::trouble::Trouble;
use super::super::walk::{Deeper, walk};
use super::Watch;
use super::places::{Inside, Spot};
use crate::linux::probe::Wish;
use crate::linux::task::Task;

/// Of a folder that goes to another name, so many files and folders are looked at. One with more goes
/// nowhere if a rule may speak of something in it.
const MOVED_MAX: usize = 50_000;

/// What a call does with a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Does {
    /// It makes something if nothing is there.
    makes: bool,
    /// It changes what is there.
    changes: bool,
    /// What is there may be read and not changed.
    reads: bool,
    needs: Needs,
    wish: Wish,
}

/// What must be there: with anything else the call fails, whatever the rules say.
#[derive(Debug, Clone, Copy)]
enum Needs {
    Anything,
    NoFolder,
    EmptyFolder,
}

impl Does {
    pub(super) const MAKES: Self = Self { makes: true, changes: false, ..Self::CHANGES };
    pub(super) const CHANGES: Self = Self {
        makes: false,
        changes: true,
        reads: false,
        needs: Needs::Anything,
        wish: Wish::Write,
    };
    pub(super) const RIGHTS: Self = Self { wish: Wish::Own, ..Self::CHANGES };
    pub(super) const GOES: Self = Self { wish: Wish::Remove, ..Self::CHANGES };
    pub(super) const LINKS: Self =
        Self { wish: Wish::Link, needs: Needs::NoFolder, ..Self::CHANGES };
    pub(super) const EITHER: Self = Self { makes: true, ..Self::CHANGES };

    /// Something gets this name by a rename.
    pub(super) fn comes(is_folder: bool, onto: Onto) -> Self {
        let needs = if is_folder { Needs::EmptyFolder } else { Needs::NoFolder };
        Self { changes: onto != Onto::Fails, needs, ..Self::EITHER }
    }

    pub(super) const CONTENT: Self = Self { needs: Needs::NoFolder, ..Self::CHANGES };

    pub(super) fn opens(makes: bool, changes: bool, reads: bool) -> Self {
        Self { makes, changes, reads, ..Self::CONTENT }
    }

    pub(super) fn makes(self) -> bool {
        self.makes
    }

    pub(super) fn wish(self) -> Wish {
        self.wish
    }

    /// Whether a read-only mount refuses to do it with what is there.
    pub(super) fn is_refused(self, node: &Node) -> bool {
        let fits = match self.needs {
            Needs::Anything => true,
            Needs::NoFolder => !node.is_folder(),
            Needs::EmptyFolder => node.is_folder(),
        };
        self.changes && fits && (self.wish != Wish::Write || is_ordinary(node.kind()))
    }
}

impl Fate {
    pub(super) fn does(self) -> Does {
        match self {
            Self::Appears => Does::MAKES,
            Self::Moves => Does::CHANGES,
            Self::Gone => Does { needs: Needs::NoFolder, ..Does::GOES },
            Self::FolderGone => Does { needs: Needs::EmptyFolder, ..Does::GOES },
            Self::Replaced => Does::EITHER,
        }
    }
}

/// Whether it is no device, pipe or socket, which are opened for writing on what is read-only, too.
fn is_ordinary(kind: FileType) -> bool {
    matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Symlink)
}

/// What a rule forbids.
struct Refusal {
    place: Place,
    rule: String,
    reads: bool,
}

impl Watch {
    /// Where a target is, if no rule forbids what a call does there.
    pub(super) fn allowed(
        &mut self,
        task: Task,
        target: &Target,
        does: Does,
    ) -> Result<Spot, Errno> {
        let spot = self.inside(task, target)?;
        Ok(self.unless_forbidden(spot, does))
    }

    pub(super) fn unless_forbidden(&mut self, spot: Spot, does: Does) -> Spot {
        self.note_outside(&spot, does);
        let (Spot::Name(inside) | Spot::Looked(inside, _)) = &spot else { return spot };
        self.forbids(inside, does).map_or(spot, Spot::Fail)
    }

    /// With which error a call fails because a rule forbids what it does with a name, which is noted; or with its
    /// own, where it would fail anyhow: programs go by that.
    pub(super) fn forbids(&self, inside: &Inside, does: Does) -> Option<Errno> {
        let refusal = self.refusal(inside, does)?;
        let is_there = || look(&inside.0.handle, &inside.1).ok().flatten();
        let own = match does.needs {
            Needs::Anything => None,
            Needs::NoFolder => is_there().filter(Node::is_folder).map(|_| Errno::ISDIR),
            Needs::EmptyFolder => is_there().and_then(|node| match node.is_folder() {
                true => self.has_something(&refusal.place).then_some(Errno::NOTEMPTY),
                false => Some(Errno::NOTDIR),
            }),
        };
        Some(own.unwrap_or_else(|| self.note_forbidden(refusal)))
    }

    /// What forbids a call to do something with a name.
    fn refusal(&self, (folder, name): &Inside, does: Does) -> Option<Refusal> {
        let rules = self.checkpoint.forbids()?;
        let place = folder.place.join(name);
        let path = self.checkpoint.lock().store.absolute(&place);
        let rule = rules.forbids(&path)?;
        let is_there = !matches!(look(&folder.handle, name), Ok(None));
        let is_meant = if is_there { does.changes } else { does.makes };
        is_meant.then_some(Refusal { place, rule, reads: is_there && does.reads })
    }

    /// As [`Self::forbids`], of giving what is at `from` the name `to`, for itself or for something in it.
    pub(super) fn forbids_move(&self, from: &Inside, to: &Inside, onto: Onto) -> Option<Errno> {
        self.checkpoint.forbids()?;
        let node = look(&from.0.handle, &from.1).unwrap_or(None)?;
        let forbidden = self.refusal(from, Does::CHANGES);
        let forbidden = forbidden.or_else(|| self.refusal(to, Does::EITHER));
        let forbidden = forbidden.or_else(|| self.refusal_beneath(from, to));
        let back = || self.refusal_beneath(to, from).filter(|_| onto == Onto::Exchanges);
        let refusal = forbidden.or_else(back)?;
        let target = look(&to.0.handle, &to.1).unwrap_or(None);
        if target.as_ref().is_some_and(|target| target.id == node.id) && onto != Onto::Fails {
            // By both names it is the same, and stays so.
            return None;
        }
        let places = [from, to].map(|(folder, name)| folder.place.join(name));
        let own = self.move_fails(&places, (&node, target.as_ref()), onto);
        Some(own.unwrap_or_else(|| self.note_forbidden(refusal)))
    }

    /// With which error a rename fails whatever the rules say.
    pub(super) fn move_fails(
        &self,
        [from, to]: &[Place; 2],
        (node, target): (&Node, Option<&Node>),
        onto: Onto,
    ) -> Option<Errno> {
        match (onto, target) {
            (Onto::Fails, Some(_)) => return Some(Errno::EXIST),
            (Onto::Exchanges, None) => return Some(Errno::NOENT),
            _ if from.is_around(to) => return Some(Errno::INVAL),
            (Onto::Exchanges, _) => return to.is_around(from).then_some(Errno::INVAL),
            _ if to.is_around(from) => return Some(Errno::NOTEMPTY),
            _ => {}
        }
        match (node.is_folder(), target?.is_folder()) {
            (true, false) => Some(Errno::NOTDIR),
            (false, true) => Some(Errno::ISDIR),
            (true, true) => self.has_something(to).then_some(Errno::NOTEMPTY),
            (false, false) => None,
        }
    }

    /// As [`Self::forbids`], of giving what is at `from` a further name, by which it could be written.
    pub(super) fn forbids_link(&self, from: Option<&Inside>, to: &Inside) -> Option<Errno> {
        let forbidden = from.and_then(|from| self.refusal(from, Does::CHANGES));
        let refusal = forbidden.or_else(|| self.refusal(to, Does::MAKES))?;
        let is_there = |(folder, name): &Inside| look(&folder.handle, name).ok().flatten();
        if is_there(to).is_some() {
            return Some(Errno::EXIST);
        }
        let is_folder = from.and_then(is_there).is_some_and(|node| node.is_folder());
        Some(if is_folder { Errno::PERM } else { self.note_forbidden(refusal) })
    }

    fn has_something(&self, folder: &Place) -> bool {
        let store = Arc::clone(&self.checkpoint.lock().store);
        let mut has = false;
        let looked = walk(&store, folder, &mut |_, _| {
            has = true;
            Deeper::No
        });
        looked.is_ok() && has
    }

    /// Whether a rule may speak of something in what comes to a name.
    pub(super) fn may_forbid_beneath(&self, to: &Inside) -> bool {
        let Some(rules) = self.checkpoint.forbids() else { return false };
        let place = to.0.place.join(&to.1);
        let path = self.checkpoint.lock().store.absolute(&place);
        rules.may_forbid_beneath(&path)
    }

    /// What speaks of something in the folder `from`, where it is or where it would be.
    fn refusal_beneath(&self, from: &Inside, to: &Inside) -> Option<Refusal> {
        let rules = self.checkpoint.forbids()?;
        let store = Arc::clone(&self.checkpoint.lock().store);
        let [from_place, to_place] = [from, to].map(|(folder, name)| folder.place.join(name));
        let [old, new] = [&from_place, &to_place].map(|place| store.absolute(place));
        let is_folder = matches!(look(&from.0.handle, &from.1), Ok(Some(node)) if node.is_folder());
        if !is_folder || !(rules.may_forbid_beneath(&old) || rules.may_forbid_beneath(&new)) {
            return None;
        }
        let (mut seen, mut found) = (0, None);
        let looked = walk(&store, &from_place, &mut |place, _| {
            seen += 1;
            if found.is_none() {
                let beneath = place.path.strip_prefix(&from_place.path).unwrap_or(Path::new(""));
                let is_there =
                    || rules.forbids(&old.join(beneath)).map(|rule| (place.clone(), rule));
                let would_be = || {
                    let place = to_place.join(beneath.as_os_str());
                    rules.forbids(&new.join(beneath)).map(|rule| (place, rule))
                };
                found = is_there().or_else(would_be);
            }
            if found.is_some() || seen > MOVED_MAX { Deeper::No } else { Deeper::Yes }
        });
        if found.is_none() && (looked.is_err() || seen > MOVED_MAX) {
            found = Some((from_place, String::new()));
        }
        found.map(|(place, rule)| Refusal { place, rule, reads: false })
    }

    /// Notes that a call is refused, and returns with which error.
    fn note_forbidden(&self, Refusal { place, rule, reads }: Refusal) -> Errno {
        let mut recorder = self.checkpoint.lock();
        let path = recorder.store.shown(&place);
        recorder.note_trouble(Trouble::Forbidden { path, rule, reads });
        Errno::ACCESS
    }
}
