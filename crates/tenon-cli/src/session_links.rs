//! Symbolic links on the way to what a person names, or a log: a command of a session may have made them in a folder
//! that it worked in. Others, as people have them, are followed.

use std::{
    fmt::Display,
    fs::Metadata,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use tenon_agent::{SessionSummary, list_sessions};
use tenon_sandbox::links_to;

use crate::{config::Config, error::CliError, texts::Text};

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

/// Whether a link, given with where it ends, lies in the folder `root` and leads out of it.
fn leads_out((link, end): &(PathBuf, PathBuf), root: &Path) -> bool {
    link != root && link.starts_with(root) && !end.starts_with(root)
}
