//! Which programs that the user's own shell finds commands do not see.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode};

use super::Sandbox;
use super::describe::{OutOfSight, out_of_sight_alone};
use super::repositories::repositories;
use crate::links::resolved;
use crate::profile::Profile;

/// A program on PATH that commands do not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutOfSight {
    /// Where it is on PATH.
    pub path: PathBuf,
    /// What of it is out of sight: the same, or where a link there leads.
    pub place: PathBuf,
}

impl Sandbox {
    /// Returns the program `name` of the folders in `path`, which is written as PATH is, where there is one and
    /// commands with `profile` see none; of several the first. `None` if it lies in what is closed as a secret
    /// or in what [`super::Settings::hidden`] names, and before the first command.
    ///
    /// ```
    /// # use tenon_sandbox::{Profile, Sandbox};
    /// fn explain(sandbox: &Sandbox, profile: &Profile) -> Option<String> {
    ///     let found = sandbox.program_out_of_sight(profile, "ruff", "/home/ada/bin:/bin".as_ref())?;
    ///     Some(format!("{} is out of sight", found.place.display()))
    /// }
    /// ```
    #[must_use]
    pub fn program_out_of_sight(
        &self,
        profile: &Profile,
        name: &str,
        path: &OsStr,
    ) -> Option<ProgramOutOfSight> {
        let mut parts = Path::new(name).components();
        let is_name = matches!(parts.next(), Some(Component::Normal(part)) if part == name);
        let folders = folders(path).filter(|_| is_name);
        let found = folders.map(|folder| folder.join(name)).filter(|path| is_program(path));
        let mut first = None;
        for path in found {
            let place = first_out_of_sight(&path, |place| self.out_of_sight(profile, place))?;
            first = first.or(Some((path, place)));
        }
        let (path, (place, why)) = first?;
        let is_opened =
            matches!(why, OutOfSight::Covered(_) | OutOfSight::Home | OutOfSight::Private(_));
        is_opened.then_some(ProgramOutOfSight { path, place })
    }

    /// Returns those folders of `path`, which is written as PATH is, that are there and that commands with
    /// `profile` do not see, also before the first command.
    ///
    /// ```
    /// # use tenon_sandbox::{Profile, Sandbox};
    /// fn is_all_seen(sandbox: &Sandbox, profile: &Profile) -> bool {
    ///     sandbox.folders_out_of_sight(profile, "/home/ada/bin:/bin".as_ref()).is_empty()
    /// }
    /// ```
    #[must_use]
    pub fn folders_out_of_sight(&self, profile: &Profile, path: &OsStr) -> Vec<PathBuf> {
        let settings = &self.shared.settings;
        let state = self.shared.lock();
        let (known, closed) = (state.repositories.clone(), state.closed.clone());
        drop(state);
        let repositories = known.unwrap_or_else(|| repositories(settings));
        let look =
            |place: &Path| out_of_sight_alone(settings, profile, &repositories, &closed, place);
        let mut found: Vec<PathBuf> = Vec::new();
        for folder in folders(path) {
            let is_new = !found.contains(&folder) && kind(&folder) == Some(FileType::Directory);
            if is_new && first_out_of_sight(&folder, look).is_some() {
                found.push(folder);
            }
        }
        found
    }
}

/// Whether the program `name`, as the folders in `path` have it first, runs with the rights of another user or group
/// (set-user-id, set-group-id). Inside walls it does not. `path` is written as PATH is.
///
/// ```
/// assert!(!tenon_sandbox::has_rights_of_another("sh", "/usr/bin:/bin".as_ref()));
/// ```
#[must_use]
pub fn has_rights_of_another(name: &str, path: &OsStr) -> bool {
    let found = folders(path).map(|folder| folder.join(name)).find(|path| is_program(path));
    let rights = found.and_then(|path| rustix::fs::stat(&path).ok()).map_or(0, |it| it.st_mode);
    rights & (Mode::SUID | Mode::SGID).bits() != 0
}

/// Returns the first of what leads to `path` that is out of sight, and why it is. The folders that it is
/// named by may be links.
fn first_out_of_sight(
    path: &Path,
    look: impl Fn(&Path) -> Option<OutOfSight>,
) -> Option<(PathBuf, OutOfSight)> {
    let (end, links) = resolved(path)?;
    let behind = links.into_iter().filter(|link| !path.starts_with(link)).chain([end]);
    let mut places = std::iter::once(path.to_path_buf()).chain(behind);
    places.find_map(|place| {
        let why = look(&place)?;
        Some((place, why))
    })
}

pub(crate) fn folders(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(path).filter(|folder| folder.is_absolute())
}

fn kind(path: &Path) -> Option<FileType> {
    rustix::fs::stat(path).ok().map(|found| FileType::from_raw_mode(found.st_mode))
}

/// Whether the user can run what is there.
pub(crate) fn is_program(path: &Path) -> bool {
    kind(path) == Some(FileType::RegularFile)
        && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}
