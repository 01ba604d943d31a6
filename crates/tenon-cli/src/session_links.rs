//! Symbolic links on the way to what a person names, or a log: a command of a session may have made them in a folder
//! that it worked in. Others, as people have them, are followed.

use std::{
    fmt::Display,
    fs::Metadata,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use tenon_agent::{SessionSummary, list_sessions};
use tenon_sandbox::links_to;

use crate::{config::Config, error::CliError, texts::Text, whole_file};

/// By how much file systems may be behind the clock, in milliseconds: a tick of the slowest kernels.
const TICK_MS: i64 = 10;

/// Refuses a path if a link on the way to it may be a command's: one that leads out of the workspace of a session, no
/// older than the first one there.
pub(crate) fn refuse(path: &Path, config: &Config) -> Result<(), CliError> {
    let links = links_to(path);
    if links.is_empty() {
        return Ok(());
    }
    let sessions = list_sessions(&config.folders.sessions()).unwrap_or_default();
    let may_be_made = |link: &(PathBuf, PathBuf)| {
        let within = |session: &&SessionSummary| leads_out(link, &session.workspace);
        let began = sessions.iter().filter(within).map(|session| session.started_ms).min();
        let changed = |link: Metadata| link.ctime() * 1000 + link.ctime_nsec() / 1_000_000;
        let changed = link.0.symlink_metadata().map_or(i64::MAX, changed);
        began.is_some_and(|began| changed + TICK_MS >= began.cast_signed())
    };
    let Some((link, _)) = links.into_iter().find(may_be_made) else { return Ok(()) };
    let names: [(&str, &dyn Display); 2] = [("path", &path.display()), ("link", &link.display())];
    Err(CliError::usage(Text::LinkOfSession.with(&names)).with_hint(Text::HintLinkOfSession))
}

/// Refuses a file to write if such a link is on the way to it, or if it is a pipe or the like in the workspace of a
/// session. What it is itself, [`whole_file::write`] looks at.
pub(crate) fn refuse_to_write(path: &Path, config: &Config) -> Result<(), CliError> {
    let Some(above) = path.parent().filter(|above| !above.starts_with("/dev")) else {
        return Ok(());
    };
    refuse(above, config)?;
    let is_other = |found: Metadata| !found.is_file() && !found.is_dir() && !found.is_symlink();
    if !path.symlink_metadata().is_ok_and(is_other) {
        return Ok(());
    }
    let sessions = list_sessions(&config.folders.sessions()).unwrap_or_default();
    let above = above.canonicalize().map_err(|error| whole_file::unwritten(path, error))?;
    match sessions.iter().any(|session| above.starts_with(&session.workspace)) {
        true => Err(whole_file::unwritten(path, io::Error::other("it is not a regular file"))),
        false => Ok(()),
    }
}

/// Returns the first link on the way of `path` that lies in one of the folders `roots` and leads out of it.
pub(crate) fn leading_out(path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    let is_one = |link: &(PathBuf, PathBuf)| roots.iter().any(|root| leads_out(link, root));
    links_to(path).into_iter().find(is_one).map(|(link, _)| link)
}

/// Whether a link, given with where it ends, lies in the folder `root` and leads out of it.
fn leads_out((link, end): &(PathBuf, PathBuf), root: &Path) -> bool {
    link != root && link.starts_with(root) && !end.starts_with(root)
}
