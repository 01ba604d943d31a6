//! Addresses of repositories on this machine that settings of git name: where they lead, and whether that is beneath the
//! folders of a session.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::links::resolved;

/// What git tries behind an address.
const ENDINGS: [&str; 2] = ["", ".git"];

/// Settings that are an address, by section and name.
const NAMES: [(&str, &str); 4] =
    [("lfs", "url"), ("remote", "pushurl"), ("remote", "url"), ("submodule", "url")];

/// Whether the settings in the file `config` may say this: an address that leads beneath the roots, to no file.
pub(crate) fn may_lead(config: &Path, name: &str, address: &str, roots: &[PathBuf]) -> bool {
    let ends = name.split_once('.').zip(name.rsplit_once('.'));
    let is_address = ends.is_some_and(|((section, _), (_, name))| NAMES.contains(&(section, name)));
    let is_beneath = |path: &PathBuf| {
        let Some((end, _)) = resolved(path) else { return false };
        roots.iter().any(|root| end.starts_with(root)) && !is_file(&end)
    };
    let paths = paths(config, address);
    is_address && !paths.is_empty() && paths.iter().all(is_beneath)
}

/// Returns the paths that git tries for an address in the file `config`; none where that is not known.
pub(crate) fn paths(config: &Path, address: &str) -> Vec<PathBuf> {
    let address = address.strip_prefix("file://").unwrap_or(address);
    let base = match address.starts_with('/') {
        true => Some(PathBuf::from("/")),
        false => top_of(config),
    };
    // Git makes a home of the one, and letters of the other.
    let Some(base) = base.filter(|_| !address.starts_with('~') && !address.contains('%')) else {
        return Vec::new();
    };
    let address = address.trim_end_matches('/');
    ENDINGS.iter().map(|ending| base.join(format!("{address}{ending}"))).collect()
}

/// Returns the folder in which git is when it opens a relative address: none where there can be several, or another.
fn top_of(config: &Path) -> Option<PathBuf> {
    let folder = config.parent()?;
    let is_git = folder.file_name() == Some(OsStr::new(".git"));
    let has_worktrees = rustix::fs::lstat(folder.join("worktrees")).is_ok();
    match is_git {
        _ if has_worktrees => None,
        true => folder.parent().map(Path::to_path_buf),
        false => (!folder.iter().any(|name| name == ".git")).then(|| folder.to_path_buf()),
    }
}

fn is_file(path: &Path) -> bool {
    let kind = |mode| FileType::from_raw_mode(mode);
    rustix::fs::lstat(path).is_ok_and(|stat| !kind(stat.st_mode).is_dir())
}
