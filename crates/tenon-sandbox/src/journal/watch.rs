//! Answers the kernel's questions about one command: saves what a call is about to change, then
//! lets it go on.
//!
//! A thread of its own takes them, because a thread that waits to be heard can be interrupted by a
//! signal; long copies are made by further threads. A call whose pre-image cannot be saved fails
//! with EIO, and the change list says so; in a folder that is closed to this user it fails as ever.

mod forbidden;
mod moved;
mod outside;
mod places;
mod set_group;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::calls::{Call, Onto, Target, classify, reserved};
use super::checkpoint::Checkpoint;
use super::copy::CopyJob;
use super::find::split;
use super::here::Here;
use super::node::{Node, NodeId, look};
use super::record::Place;
use super::recorder::{Fate, Recorder, Step, Writing};
use super::refusals::{Refusals, Refused};
use super::trouble::Trouble;
use crate::linux::notify::{Listener, MOVES, Question};
use crate::linux::task::{Found, Task, path_of};
use crate::room::Room;

use self::forbidden::Does;
use self::moved::Views;
use self::places::{Inside, Known, Spot, is_deleted};
use self::set_group::SetGroup;

/// How often a folder is looked for again when it is renamed at the same time.
const TRIES_MAX: usize = 32;

/// So many folders are known at a time, each by a descriptor. A process often has 1,024 of them.
const FOLDERS_MAX: usize = 200;

/// After so many questions in a row by one thread it is taken to be the only one that asks.
const ALONE_AFTER: u32 = 16;

/// So many threads are known that asked before the last one.
const EARLIER_MAX: usize = 8;

/// Watches a command until everything that came from it has ended; then tells `ended` what it was
/// refused, in words for people. In folders of the workspace that are `held` the walls let nothing be
/// written. With `rights_beneath`, permissions, owners, times and attributes
/// change in the workspace and beneath these folders only: a courtesy and no wall, because what a
/// path means may change after the question. It reserves no more of `room` than it may take.
pub(crate) fn watch(
    listener: Listener,
    checkpoint: Checkpoint,
    (rights_beneath, held): (Option<Vec<PathBuf>>, Vec<PathBuf>),
    room: Option<Arc<Room>>,
    ended: tokio::sync::oneshot::Sender<Refused>,
) -> std::io::Result<()> {
    let within_walls = listener.is_within_walls();
    let listener = Arc::new(listener);
    let refusals = Arc::new(Refusals::new(&listener));
    checkpoint.note_refusals(&refusals);
    let mut watch = Watch {
        within_walls,
        refusals,
        views: Views::default(),
        listener,
        checkpoint,
        folders: HashMap::new(),
        folders_moved: 0,
        askers: Askers::default(),
        takes_turns: true,
        here: Here::default(),
        rights_beneath,
        held,
        room,
    };
    std::thread::Builder::new().name("tenon-journal".to_owned()).spawn(move || {
        watch.run();
        let refused = watch.refusals.so_far();
        // Who is told that it is over finds that nobody holds the checkpoint any more.
        drop(watch);
        let _ = ended.send(refused);
    })?;
    Ok(())
}

struct Watch {
    listener: Arc<Listener>,
    /// Whether what is read-only is so because of them.
    within_walls: bool,
    refusals: Arc<Refusals>,
    views: Views,
    checkpoint: Checkpoint,
    folders: HashMap<NodeId, Known>,
    folders_moved: u64,
    askers: Askers,
    /// Only one thread asks, as far as is known.
    takes_turns: bool,
    here: Here,
    rights_beneath: Option<Vec<PathBuf>>,
    /// Folders of the workspace that its walls keep from changing.
    held: Vec<PathBuf>,
    room: Option<Arc<Room>>,
}

/// Which threads ask, as far as that says whether several do at the same time.
#[derive(Debug, Default)]
struct Askers {
    last: u32,
    in_a_row: u32,
    /// Those before the last, the newest first.
    earlier: Vec<u32>,
    are_several: bool,
}

impl Askers {
    /// Whether only this one asks by now. One process after another is one at a time; one that comes
    /// back after another asked shares the time with it.
    fn is_alone(&mut self, pid: u32) -> bool {
        if pid == self.last {
            self.in_a_row = self.in_a_row.saturating_add(1);
            self.are_several &= self.in_a_row < ALONE_AFTER;
            return !self.are_several;
        }
        self.are_several |= self.earlier.contains(&pid);
        self.earlier.retain(|known| *known != pid);
        self.earlier.insert(0, self.last);
        self.earlier.truncate(EARLIER_MAX);
        (self.last, self.in_a_row) = (pid, 0);
        !self.are_several
    }
}

type Before = Box<dyn FnMut(&mut Recorder) -> Result<Step, Errno> + Send>;

/// What is to be done about a call.
enum Plan {
    /// It changes nothing that is recorded.
    Pass,
    /// It fails as the kernel would have it, or as it must so that undo can do its work.
    Fail(Errno),
    /// This is saved first.
    Save(Place, Before),
    /// The agent does it in the command's place, after this was saved.
    Set(SetGroup, Option<(Place, Before)>),
}

/// A question, and what to do in the command's place before it is answered.
struct Asked {
    listener: Arc<Listener>,
    question: Question,
    set: Option<SetGroup>,
}

impl Asked {
    /// Lets the call go on, or does it, or lets it fail with an error number.
    fn answer(self, outcome: Result<(), Errno>) {
        match (outcome, self.set) {
            (Ok(()), Some(set)) => self.listener.done(&self.question, set.run()),
            (outcome, _) => self.listener.answer(&self.question, outcome),
        }
    }
}

impl Watch {
    fn run(&mut self) {
        // Most commands are one process at a time, and the first question is bash's own.
        self.listener.take_turns(self.takes_turns);
        while let Some(question) = self.listener.next() {
            let alone = self.askers.is_alone(question.pid);
            if alone != self.takes_turns {
                self.takes_turns = alone;
                self.listener.take_turns(alone);
            }
            let task = Task::new(question.pid);
            self.here.asks(task);
            if MOVES.contains(&question.number.into()) {
                self.here.moves(task);
                self.listener.answer(&question, Ok(()));
            } else {
                self.answer(question);
            }
        }
    }

    fn answer(&mut self, question: Question) {
        let plan = self.plan(&question);
        let mut asked = Asked { listener: Arc::clone(&self.listener), question, set: None };
        let (place, mut before) = match plan {
            Ok(Plan::Pass) => return asked.answer(Ok(())),
            Ok(Plan::Fail(errno)) => return asked.answer(Err(errno)),
            // Whoever asked may be gone, and its number another's. Then too much is saved, no more.
            Ok(Plan::Save(place, before)) => (place, before),
            Ok(Plan::Set(set, first)) => {
                asked.set = Some(set);
                match first {
                    Some(first) => first,
                    None => return asked.answer(Ok(())),
                }
            }
            Err(_) if !self.listener.is_valid(&asked.question) => return,
            Err(errno) => {
                self.checkpoint.lock().note_refused(None, errno);
                return asked.answer(Err(Errno::IO));
            }
        };
        let mut recorder = self.checkpoint.lock();
        let step = before(&mut recorder);
        if recorder.folders_moved != self.folders_moved {
            self.folders_moved = recorder.folders_moved;
            self.folders.clear();
        }
        match step {
            Ok(Step::Done) => {
                drop(recorder);
                asked.answer(Ok(()));
            }
            Ok(Step::Copy(job)) => {
                drop(recorder);
                self.later(asked, place, Some(job), before);
            }
            Ok(Step::Wait) => {
                drop(recorder);
                self.later(asked, place, None, before);
            }
            Err(errno) => {
                let answer = refuse(&mut recorder, &place, errno);
                drop(recorder);
                asked.answer(Err(answer));
            }
        }
    }

    /// Goes on in another thread, and answers there.
    fn later(&self, asked: Asked, place: Place, job: Option<Box<CopyJob>>, before: Before) {
        let checkpoint = self.checkpoint.clone();
        let question = asked.question;
        let work = move || {
            let outcome = match job {
                Some(job) => checkpoint.copy(&job),
                None => checkpoint.save(before),
            };
            let refuse = |errno| refuse(&mut checkpoint.lock(), &place, errno);
            asked.answer(outcome.map_err(refuse));
        };
        let started = std::thread::Builder::new().name("tenon-copy".to_owned()).spawn(work);
        if let Err(error) = started {
            // The copy is forgotten with the job; the call fails.
            let errno = super::whole::errno_of(&error);
            self.checkpoint.lock().note_refused(None, errno);
            self.listener.answer(&question, Err(Errno::IO));
        }
    }

    fn plan(&mut self, question: &Question) -> Result<Plan, Errno> {
        let task = Task::new(question.pid);
        if let (Some(room), Some((number, bytes))) = (&self.room, reserved(question))
            && task.descriptor(number).is_ok_and(|file| !room.allows(file, bytes))
        {
            return Ok(Plan::Fail(Errno::DQUOT));
        }
        let classified = classify(question, task);
        if let (Some(mode), Ok(Some(Call::Rights(target)))) =
            (self.listener.sets_group(question), &classified)
        {
            return self.set_group(question, target, mode);
        }
        match classified {
            Ok(Some(call)) => self.plan_call(task, call),
            Ok(None) => Ok(Plan::Pass),
            Err(errno) => Ok(Plan::Fail(errno)),
        }
    }

    fn plan_call(&mut self, task: Task, call: Call) -> Result<Plan, Errno> {
        Ok(match call {
            Call::Open { target, .. } if target.is_device() => Plan::Pass,
            Call::Open { target, creates, writing, reads } => {
                let does = Does::opens(creates, writing.is_some(), reads);
                let spot = self.look_inside(task, &target)?;
                match self.unless_forbidden(spot, does) {
                    Spot::Name(inside) => open(inside, None, creates, writing),
                    Spot::Looked(inside, node) => {
                        open(inside, Some(node.map(|node| *node)), creates, writing)
                    }
                    Spot::Handle(id, handle) => match writing {
                        Some(_) => Self::content_of(id, handle),
                        None => Plan::Pass,
                    },
                    spot => spot.into(),
                }
            }
            Call::Content(target) => match self.allowed(task, &target, Does::CONTENT)? {
                Spot::Name(inside) => open(inside, None, false, Some(Writing::Anywhere)),
                Spot::Handle(id, handle) => Self::content_of(id, handle),
                spot => spot.into(),
            },
            Call::SetFlags(number) => self.set_flags(task, number)?,
            Call::Rights(target) => match self.allowed(task, &target, Does::RIGHTS)? {
                Spot::Name((folder, name)) => save(folder.place.join(&name), move |recorder| {
                    recorder.before_rights(&folder, &name)
                }),
                Spot::Handle(..) | Spot::Outside(_) if self.keeps_rights(task, &target) => {
                    Plan::Fail(Errno::PERM)
                }
                // It has no name here, so there is nothing that undo could put back.
                Spot::Handle(..) => Plan::Pass,
                spot => spot.into(),
            },
            Call::Entry(target, fate) => match self.allowed(task, &target, fate.does())? {
                Spot::Name((folder, name)) if !name.is_empty() => {
                    save(folder.place.join(&name), move |recorder| {
                        recorder.before_entry(&folder, &name, fate)
                    })
                }
                Spot::Name(_) | Spot::Handle(..) => Plan::Pass,
                spot => spot.into(),
            },
            Call::Rename { from, to, onto } => self.rename(task, &from, &to, onto)?,
            Call::Link { from, to } => self.link(task, &from, &to)?,
        })
    }

    /// Whether permissions and the like of something outside stay as they are.
    fn keeps_rights(&self, task: Task, target: &Target) -> bool {
        if self.rights_beneath.is_none() {
            return false;
        }
        let path = match target {
            Target::Descriptor(number) => task.descriptor(*number).and_then(|open| path_of(&open)),
            Target::Path { base, path, last } => match task.find((*base, None), path, *last) {
                Ok(Found::Name(folder, name, _)) => path_of(&folder).map(|path| path.join(name)),
                Ok(Found::Handle(open)) => path_of(&open),
                // The kernel says that there is no such thing.
                Ok(Found::Nowhere) | Err(_) => return false,
            },
        };
        path.is_ok_and(|path| self.keeps_rights_at(&path))
    }

    /// The same by the path that the kernel tells.
    fn keeps_rights_at(&self, path: &Path) -> bool {
        // What is no file of a file system, or has no name any more, is nobody else's.
        self.rights_beneath.as_ref().is_some_and(|beneath| {
            path.is_absolute()
                && !is_deleted(path)
                && !beneath.iter().any(|folder| path.starts_with(folder))
        })
    }

    fn rename(
        &mut self,
        task: Task,
        from: &Target,
        to: &Target,
        onto: Onto,
    ) -> Result<Plan, Errno> {
        let exchange = onto == Onto::Exchanges;
        let (from_target, to_target) = (from, to);
        let (from, to) = (self.inside(task, from)?, self.inside(task, to)?);
        self.note_outside_move(&from, &to, onto);
        self.note_move_beyond(task, [(from_target, &from), (to_target, &to)], Some(onto));
        Ok(match (from, to) {
            (Spot::Name(from), Spot::Name(to)) if is_closed(&from) || is_closed(&to) => {
                Plan::Fail(Errno::ACCESS)
            }
            (Spot::Name(from), Spot::Name(to)) => {
                if let Some(errno) = self.forbids_move(&from, &to, onto) {
                    return Ok(Plan::Fail(errno));
                }
                self.note_move(task, &from, &to, Some(onto));
                let place = from.0.place.join(&from.1);
                save(place, move |recorder| {
                    recorder.before_rename((&from.0, &from.1), (&to.0, &to.1), exchange)
                })
            }
            // A folder that leaves could not be found again. With this error programs copy, then
            // delete.
            (Spot::Name((folder, name)), Spot::Outside(_)) => match look(&folder.handle, &name)? {
                Some(_) => Plan::Fail(Errno::XDEV),
                None => Plan::Pass,
            },
            (Spot::Outside(_), Spot::Name((_, _))) if exchange => Plan::Fail(Errno::XDEV),
            (Spot::Outside(_), Spot::Name(to)) => {
                if let Some(errno) = self.forbids(&to, Does::EITHER) {
                    return Ok(Plan::Fail(errno));
                }
                if self.may_forbid_beneath(&to) {
                    // It may be a folder with such a file in it. With this error programs copy.
                    return Ok(Plan::Fail(Errno::XDEV));
                }
                let (folder, name) = to;
                // What is known as outside may come in with it.
                self.folders.clear();
                save(folder.place.join(&name), move |recorder| {
                    recorder.before_entry(&folder, &name, Fate::Replaced)
                })
            }
            (spot @ (Spot::Own(_) | Spot::Fail(_)), _)
            | (_, spot @ (Spot::Own(_) | Spot::Fail(_))) => spot.into(),
            _ => Plan::Pass,
        })
    }

    fn link(&mut self, task: Task, from: &Target, to: &Target) -> Result<Plan, Errno> {
        let (from_target, to_target) = (from, to);
        let (from, to) = (self.inside(task, from)?, self.inside(task, to)?);
        self.note_outside_link(&from, &to);
        self.note_move_beyond(task, [(from_target, &from), (to_target, &to)], None);
        Ok(match (from, to) {
            (spot @ Spot::Own(_), _) => spot.into(),
            // Written by its name outside it would not be seen.
            (Spot::Name((folder, name)), Spot::Outside(_)) => match look(&folder.handle, &name)? {
                Some(_) => Plan::Fail(Errno::XDEV),
                None => Plan::Pass,
            },
            (Spot::Name(from), Spot::Name(_)) if is_closed(&from) => Plan::Fail(Errno::ACCESS),
            (from, Spot::Name(to)) => {
                let from = match from {
                    Spot::Name(from) => Some(from),
                    _ => None,
                };
                if let Some(errno) = self.forbids_link(from.as_ref(), &to) {
                    return Ok(Plan::Fail(errno));
                }
                if let Some(from) = &from {
                    self.note_move(task, from, &to, None);
                }
                let (folder, name) = to;
                save(folder.place.join(&name), move |recorder| {
                    let from = from.as_ref().map(|(folder, name)| (&**folder, name.as_os_str()));
                    recorder.before_link(from, (&folder, &name))
                })
            }
            (_, spot @ (Spot::Own(_) | Spot::Fail(_))) => spot.into(),
            _ => Plan::Pass,
        })
    }

    fn content_of(id: NodeId, handle: OwnedFd) -> Plan {
        let nowhere = Place { root: 0, path: "(a file without a name)".into() };
        save(nowhere, move |recorder| recorder.before_content_of(id, &handle))
    }

    /// A file that is written past its end only, until now.
    fn set_flags(&mut self, task: Task, number: i32) -> Result<Plan, Errno> {
        if !self.checkpoint.lock().is_saved_for_appending() {
            return Ok(Plan::Pass);
        }
        let flags = task.flags_of(number).unwrap_or(0).cast_signed();
        if flags & libc::O_APPEND == 0 || flags & libc::O_ACCMODE == libc::O_RDONLY {
            return Ok(Plan::Pass);
        }
        self.plan_call(task, Call::Content(Target::Descriptor(number)))
    }
}

/// Whether this user may not even look at a name: then the kernel would refuse it to the command.
fn is_closed((folder, name): &Inside) -> bool {
    look(&folder.handle, name).err() == Some(Errno::ACCESS)
}

/// Returns the error of a call whose change could not be saved, after that was noted. Where the folder
/// is closed to this user it is closed to the command: then the kernel would have refused it.
fn refuse(recorder: &mut Recorder, place: &Place, errno: Errno) -> Errno {
    let (above, name) = split(place);
    let folder = recorder.store.open_folder(&above);
    if errno == Errno::ACCESS
        && folder.and_then(|folder| look(&folder, name)).err() == Some(Errno::ACCESS)
    {
        return Errno::ACCESS;
    }
    recorder.note_refused(Some(place), errno);
    Errno::IO
}

/// `seen` is what is there, if somebody looked. It counts once: whoever waited looks again.
fn open(
    (folder, name): Inside,
    mut seen: Option<Option<Node>>,
    creates: bool,
    writing: Option<Writing>,
) -> Plan {
    save(folder.place.join(&name), move |recorder| {
        recorder.before_open(&folder, &name, seen.take(), (creates, writing))
    })
}

fn save(
    place: Place,
    before: impl FnMut(&mut Recorder) -> Result<Step, Errno> + Send + 'static,
) -> Plan {
    Plan::Save(place, Box::new(before))
}

impl Checkpoint {
    /// The command runs, or ran, without being watched.
    pub(crate) fn note_not_watched(&self) {
        self.lock().note_trouble(Trouble::NotWatched);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_come_back_are_several_until_one_asks_alone() {
        let mut askers = Askers::default();
        let mut ask = |pids: &[u32]| pids.iter().map(|pid| askers.is_alone(*pid)).last();
        assert_eq!(ask(&[1, 1, 2, 2, 3]), Some(true), "one after another");
        assert_eq!(ask(&[4, 3]), Some(false));
        assert_eq!(ask(&[5; 10]), Some(false), "for a while");
        assert_eq!(ask(&[5; 10]), Some(true));
        assert_eq!(ask(&[6, 7, 8, 9, 6]), Some(false), "by turns");
    }
}
