//! The set-group-id bit of folders, which the agent sets in a command's place.
//!
//! Files must not get it, and what a path or a descriptor leads to can be another file once a call goes
//! on. So the folder is held open, looked at, and gets its mode through that handle, which is of the
//! command's own file tree: what is read-only there stays as it is.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;

use super::super::calls::Target;
use super::forbidden::Does;
use super::places::Spot;
use super::{Before, Plan, Watch};
use crate::linux::notify::Question;
use crate::linux::task::{Found, Task, path_of};

/// A folder, and the mode that it gets.
pub(super) struct SetGroup {
    folder: OwnedFd,
    mode: u32,
}

impl SetGroup {
    /// Does it.
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) fn run(self) -> Result<(), Errno> {
        let path = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        rustix::fs::chmod(path, Mode::from_raw_mode(self.mode))
    }
}

impl Watch {
    /// What is done about a call that sets the bit: for a folder as the kernel would, for nothing else.
    pub(super) fn set_group(
        &mut self,
        question: &Question,
        target: &Target,
        mode: u32,
    ) -> Result<Plan, Errno> {
        let task = Task::new(question.pid);
        let folder = match open(task, target) {
            Ok(folder) => folder,
            Err(errno) => return Ok(Plan::Fail(errno)),
        };
        let (found, user) = (fstat(&folder)?, task.user()?);
        if !self.listener.is_valid(question) {
            // It was another's.
            return Err(Errno::SRCH);
        }
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return Ok(Plan::Fail(self.listener.refuses_bits()));
        }
        // The command has no more rights than its user, whatever this process has.
        if found.st_uid != user {
            return Ok(Plan::Fail(Errno::PERM));
        }
        let spot = self.by_handle(rustix::io::fcntl_dupfd_cloexec(&folder, 0)?)?;
        let first = match self.unless_forbidden(spot, Does::RIGHTS) {
            Spot::Name((above, name)) => {
                let place = above.place.join(&name);
                let before: Before =
                    Box::new(move |recorder| recorder.before_rights(&above, &name));
                Some((place, before))
            }
            spot @ (Spot::Own(_) | Spot::Fail(_)) => return Ok(spot.into()),
            _ if path_of(&folder).is_ok_and(|path| self.keeps_rights_at(&path)) => {
                return Ok(Plan::Fail(Errno::PERM));
            }
            _ => None,
        };
        Ok(Plan::Set(SetGroup { folder, mode }, first))
    }
}

/// Opens what a call is about, as its thread finds it, for looking at it.
fn open(task: Task, target: &Target) -> Result<OwnedFd, Errno> {
    let (base, path, last) = match target {
        Target::Descriptor(number) => return task.descriptor(*number),
        Target::Path { base, path, last } => (*base, path, *last),
    };
    let (above, name) = match task.find((base, None), path, last)? {
        Found::Handle(handle) => return Ok(handle),
        Found::Nowhere => return Err(Errno::NOENT),
        Found::Name(above, name, _) if name.is_empty() => return Ok(above),
        Found::Name(above, name, _) => (above, name),
    };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(&above, OsStr::new(&name), flags, Mode::empty())
}
