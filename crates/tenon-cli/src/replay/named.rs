//! The folders that a log names, as they are found, before anything is decided by them: whoever wrote the log wrote
//! the paths, and what a copy leaves out is known by where it really is.

use std::path::{Path, PathBuf};

use tenon_sandbox::{Mounts, is_in_undo_store, secrets_of_home, secrets_of_root};

use super::copy;
use crate::{
    config::Folders,
    error::CliError,
    texts::{Sentence, Text},
};

/// Where the kernel shows itself, and what there is of files all the same.
const OF_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];
const SHARED_MEMORY: &str = "/dev/shm";

/// Folders as they are found, and the paths through links by which they were named, each with its folder.
pub(super) type Found = (Vec<PathBuf>, Vec<(PathBuf, PathBuf)>);

/// Returns where the `named` folders of a session really are.
///
/// # Errors
/// One that is not there, and one that is the kernel's, tenon's own or where programs keep secrets.
pub(super) fn found(
    named: Vec<PathBuf>,
    own: &Folders,
    mounts: &Mounts,
) -> Result<Found, CliError> {
    let (mut folders, mut ways) = (Vec::new(), Vec::new());
    for name in named {
        check_kernel(&name)?;
        let folder = name.canonicalize().map_err(|error| copy::gone(&name, error))?;
        let folder = own.named_as_home(folder);
        check_kernel(&folder)?;
        check_closed(&folder, own, mounts)?;
        if folder != name {
            ways.push((name, folder.clone()));
        }
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    Ok((folders, ways))
}

fn check_kernel(folder: &Path) -> Result<(), CliError> {
    let is_of_kernel = OF_KERNEL.iter().any(|top| folder.starts_with(top));
    match is_of_kernel && !folder.starts_with(SHARED_MEMORY) {
        true => Err(refused(Text::FolderOfKernel.with(&[("folder", &folder.display())]))),
        false => Ok(()),
    }
}

/// Refuses what a copy of the folder around it would leave out.
fn check_closed(folder: &Path, own: &Folders, mounts: &Mounts) -> Result<(), CliError> {
    let is_in =
        |place: PathBuf| copy::names_of(&place, mounts).iter().any(|it| folder.starts_with(it));
    let mut of_tenon = [&own.state, &own.config, &own.cache].into_iter().cloned();
    if of_tenon.any(is_in) || is_in_undo_store(folder) {
        return Err(refused(Text::FolderIsOwn.with(&[("folder", &folder.display())])));
    }
    let mut secrets = secrets_of_home(&own.home).chain(secrets_of_root());
    match secrets.any(is_in) {
        true => Err(refused(Text::FolderOfSecrets.with(&[("folder", &folder.display())]))),
        false => Ok(()),
    }
}

fn refused(sentence: Sentence) -> CliError {
    CliError::failed(sentence).with_hint(Text::HintToolsFrom)
}
