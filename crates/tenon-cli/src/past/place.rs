//! Whose past is meant, and in which folder: a session works in one, and what is put back there is nowhere
//! else. Older versions of tenon could move a session: then each of its folders has the calls that ran there.

use std::path::{Path, PathBuf};

use tenon_agent::{Session, list_sessions, read_session};
use tenon_sandbox::{CheckpointInfo, CheckpointKind, forget_session_of};

use super::{failed, journal, stands_as_undo};
use crate::{config::Config, error::CliError, resume, setup, texts::Text, which_session::find};

/// Whose past is meant, and in which folder.
pub(super) struct Meant {
    pub(super) session: String,
    pub(super) root: PathBuf,
}

impl Meant {
    /// Returns what `wanted` names, which must work in the folder that the command is about or around it; else
    /// the session that changed something here last, if there is one.
    pub(super) fn find(config: &Config, wanted: Option<&str>) -> Result<Option<Self>, CliError> {
        let logs = config.folders.sessions();
        let Some(wanted) = wanted else {
            let (root, infos) = infos_here(config, &logs)?;
            // What calls changed may be gone to make room, and an undo of it still be there.
            let last = infos.iter().rfind(|info| info.kind == CheckpointKind::Call);
            let last = last.or(infos.last()).map(|info| info.session.clone());
            return Ok(last.map(|session| Self { session, root }));
        };
        let sessions = list_sessions(&logs).map_err(resume::unreadable)?;
        let session = find(wanted, &sessions)?.id.clone();
        let here = real(&config.root);
        // The log may be gone; what is kept of the session is not.
        let read = read_session(&logs, &session).unwrap_or_default();
        let folders = read.own_folders();
        let around = folders.iter().filter(|folder| here.starts_with(folder));
        match (around.max_by_key(|folder| folder.as_os_str().len()), folders.last()) {
            (Some(root), _) => Ok(Some(Self { session, root: root.to_path_buf() })),
            (None, None) => Ok(Some(Self { session, root: here })),
            (None, Some(folder)) => Err(elsewhere(&session, folder)),
        }
    }

    /// Returns the session whose undo is the last that stands here.
    pub(super) fn undone_last(config: &Config) -> Result<Self, CliError> {
        let (root, infos) = infos_here(config, &config.folders.sessions())?;
        let undo = infos.iter().rfind(|info| stands_as_undo(info));
        let session = undo.ok_or_else(|| super::nothing_to_redo(&infos))?.session.clone();
        Ok(Self { session, root })
    }
}

/// Gives the room free that checkpoints of the session `id` take, wherever it worked, as its log says. Nothing
/// of it can be undone then.
pub(crate) fn forget(config: &Config, id: &str, session: &Session) -> Result<(), CliError> {
    let folders = session.own_folders();
    let here = [config.root.as_path()];
    let folders = if folders.is_empty() { &here[..] } else { &folders };
    for folder in folders {
        let roots = roots_in(session, folder);
        match journal(config, &roots) {
            Ok((journal, _)) => {
                journal.forget_session(id).map_err(failed)?;
            }
            // The folder is gone, or cannot be opened; what is kept of it may be there.
            Err(_) => {
                let options = setup::journal_options(config);
                forget_session_of(folder, &options, id).map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// Returns the folders of the last run of a session in `root`.
pub(super) fn roots_in(session: &Session, root: &Path) -> Vec<PathBuf> {
    let last = session.worked_with().map(|(folders, _)| folders.to_vec());
    let last = last.filter(|folders| folders.first().is_some_and(|first| first == root));
    last.unwrap_or_else(|| vec![root.to_path_buf()])
}

/// Returns the checkpoints of this folder, and the folder; if there are none, those of the nearest
/// workspace that this folder is in.
fn infos_here(config: &Config, logs: &Path) -> Result<(PathBuf, Vec<CheckpointInfo>), CliError> {
    let kept = |root: &Path| {
        let (journal, _) = journal(config, &[root.to_path_buf()])?;
        let infos = journal.checkpoints().map_err(failed)?;
        Ok::<_, CliError>((!infos.is_empty()).then_some(infos))
    };
    let root = real(&config.root);
    if let Some(infos) = kept(&root)? {
        return Ok((root, infos));
    }
    let sessions = list_sessions(logs).map_err(resume::unreadable)?;
    for above in root.ancestors().skip(1) {
        if sessions.iter().any(|session| session.workspace == above)
            && let Some(infos) = kept(above)?
        {
            return Ok((above.to_path_buf(), infos));
        }
    }
    Ok((root, Vec::new()))
}

fn elsewhere(session: &str, folder: &Path) -> CliError {
    let said = Text::SessionElsewhere.with(&[("id", &session), ("folder", &folder.display())]);
    let error = CliError::usage(said);
    match folder.is_dir() {
        true => error.with_hint(Text::HintCwd.with(&[("folder", &folder.display())])),
        false => error.with_hint(Text::HintFolderGone),
    }
}

fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}
