//! What a command did to a protected name, as plain data and as people read it.

use std::fmt;
use std::path::PathBuf;

/// A change of a protected name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedChange {
    /// Which file.
    pub path: PathBuf,
    /// What the command did.
    pub kind: ProtectedChangeKind,
    /// What it had written there, at most 1 MiB, so that a person can be offered it.
    pub found: Option<Vec<u8>>,
    /// Whether its name alone protects it: it is nobody's own setting, and none of git.
    pub by_name: bool,
    /// Whether it is as before now. If not, the person must look.
    pub put_back: bool,
}

/// What a command did to a protected name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtectedChangeKind {
    /// It made it; it is taken out again.
    Created,
    /// It changed it; the former content is back.
    Changed,
    /// It gave it other permissions and no other content; the former ones are back.
    Permissions,
    /// It removed it; it is back.
    Removed,
    /// It set these settings of git, which run a program or read another file, for all that is known; the
    /// others that it set stay.
    GitSettings(Vec<String>),
    /// It wrote an index of git, or a list of conflicts, that has other names than git itself adds or cannot be
    /// read. Without a former one it is taken out.
    GitIndex {
        /// Whether none is there now.
        is_out: bool,
    },
    /// It wrote how far a rebase is, or the commits that it is about, as git does not. Without a former one it is
    /// taken out.
    GitStep {
        /// Whether none is there now.
        is_out: bool,
    },
    /// It had a reference of git stand for a file that is none, or for one by which git shows other objects, where git would
    /// write; or it wrote among references, or their logs, what is neither, which git could take for a part of another
    /// repository. Without a former one it is taken out.
    GitReference {
        /// Whether none is there now.
        is_out: bool,
    },
    /// It wrote what a merge set aside, which a later commit applies, or ended the merge and left it there; or it wrote
    /// what a rebase set aside that it did not begin. Without a former one it is taken out.
    GitAutostash {
        /// Whether none is there now.
        is_out: bool,
        /// The hash that was found there, if it was one.
        commit: Option<String>,
    },
    /// It wrote a list of conflicts, or put a link where a file of it was: git would read and write files by that.
    /// Without a former one whose files are no links it is taken out.
    GitConflicts {
        /// Whether none is there now.
        is_out: bool,
    },
    /// It made more beneath this root than is looked through: something may be hidden there.
    TooMany,
    /// There are more folders beneath this root than are looked through, and what commands touch in
    /// the others is not recorded.
    NotRecorded,
    /// The same of files at protected names.
    FilesNotRecorded,
    /// There are more settings of git beneath this root than are looked through, and it is not known which
    /// files the others include.
    NotFollowed,
    /// Somebody moved this root while commands ran. What they did is looked at before the next one, once
    /// the root is back.
    Unlooked,
}

impl ProtectedChange {
    /// Says what became of it.
    fn outcome(&self) -> &'static str {
        let is_out = match self.kind {
            ProtectedChangeKind::GitIndex { is_out }
            | ProtectedChangeKind::GitStep { is_out }
            | ProtectedChangeKind::GitReference { is_out }
            | ProtectedChangeKind::GitAutostash { is_out, .. }
            | ProtectedChangeKind::GitConflicts { is_out } => is_out,
            _ => false,
        };
        match self.put_back {
            true if is_out && self.path.ends_with("index") => {
                "; taken out (`git reset` makes a new one)"
            }
            true if is_out => "; taken out",
            true => "; put back as it was",
            false => "; it could NOT be put back",
        }
    }
}

/// Says what git would have done, and what brings back what a merge or a rebase set aside in a commit.
fn applied(commit: Option<&str>) -> String {
    match commit {
        None => "had git apply what it names later".to_owned(),
        Some(commit) => format!(
            "had git apply what it names later; `git stash apply {commit}` brings back what was set aside there"
        ),
    }
}

/// Which addresses of git could have stayed.
const ADDRESSES: &str = "; the address of a repository on this machine stays as a whole path of plain signs beneath the session's folders";

/// Whether a setting of git is the address of a repository.
fn is_address(name: &str) -> bool {
    name.starts_with("remote.") && (name.ends_with(".url") || name.ends_with(".pushurl"))
}

/// Writes what could not be looked at, which has no outcome; says whether it is that.
fn write_unlooked(
    change: &ProtectedChange,
    formatter: &mut fmt::Formatter<'_>,
) -> Result<bool, fmt::Error> {
    let path = change.path.display();
    match change.kind {
        ProtectedChangeKind::TooMany => write!(
            formatter,
            "protected: the command made more in {path} than could be looked through; what it made there can run \
             programs"
        )?,
        ProtectedChangeKind::NotRecorded => write!(
            formatter,
            "protected: {path} has more folders than are looked through, and without undo it is not known what \
             commands touch in the others; files there can run programs"
        )?,
        ProtectedChangeKind::FilesNotRecorded => write!(
            formatter,
            "protected: {path} has more files at protected names than are looked through, and without undo it is \
             not known what commands touch in the others; they can run programs"
        )?,
        ProtectedChangeKind::NotFollowed => write!(
            formatter,
            "protected: {path} has more settings of git than are looked through, and it is not known what the \
             others include; files that commands write can be among that, and run programs"
        )?,
        ProtectedChangeKind::Unlooked => write!(
            formatter,
            "protected: {path} was moved while commands ran; what they did to protected names is looked at before \
             the next command, once it is back"
        )?,
        _ => return Ok(false),
    }
    Ok(true)
}

impl fmt::Display for ProtectedChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if write_unlooked(self, formatter)? {
            return Ok(());
        }
        let path = self.path.display();
        match &self.kind {
            ProtectedChangeKind::GitIndex { .. } => write!(
                formatter,
                "protected: {path} was written with names that git does not add, or cannot be read"
            )?,
            ProtectedChangeKind::GitStep { .. } => write!(
                formatter,
                "protected: {path} was written as git does not write it; programs that read it would run what stands there, \
                 or hand it to git as options"
            )?,
            ProtectedChangeKind::GitReference { .. } => write!(
                formatter,
                "protected: {path} was written as git writes no reference and no log of one; git could write elsewhere by \
                 it, or take it for a part of another repository"
            )?,
            ProtectedChangeKind::GitAutostash { commit, .. } => {
                write!(formatter, "protected: {path} {}", applied(commit.as_deref()))?;
            }
            ProtectedChangeKind::GitConflicts { .. } => write!(
                formatter,
                "protected: {path} had a later commit copy the files that it lists, or write over them; without it git does \
                 not record how these conflicts are solved"
            )?,
            ProtectedChangeKind::Created => write!(formatter, "protected: {path} was made")?,
            ProtectedChangeKind::Changed => write!(formatter, "protected: {path} was changed")?,
            ProtectedChangeKind::Permissions => {
                write!(formatter, "protected: {path} got other permissions")?;
            }
            ProtectedChangeKind::Removed => write!(formatter, "protected: {path} was removed")?,
            ProtectedChangeKind::GitSettings(names) => {
                let names_listed = names.join(", ");
                let of_addresses =
                    names.iter().find(|name| is_address(name)).map_or("", |_| ADDRESSES);
                write!(
                    formatter,
                    "protected: {path} got settings that are not known to be harmless ({names_listed}){of_addresses}"
                )?;
            }
            ProtectedChangeKind::TooMany
            | ProtectedChangeKind::NotRecorded
            | ProtectedChangeKind::FilesNotRecorded
            | ProtectedChangeKind::NotFollowed
            | ProtectedChangeKind::Unlooked => {}
        }
        formatter.write_str(self.outcome())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(names: &[&str]) -> String {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let kind = ProtectedChangeKind::GitSettings(names);
        let path = PathBuf::from(".git/config");
        ProtectedChange { path, kind, found: None, by_name: false, put_back: true }.to_string()
    }

    #[test]
    fn an_address_that_was_put_back_says_how_it_would_stay() {
        let of_remote = told(&["core.pager", "remote.up.url"]);
        assert!(of_remote.contains(
            "(core.pager, remote.up.url); the address of a repository on this machine stays"
        ));
        assert!(of_remote.ends_with("beneath the session's folders; put back as it was"));
        assert!(
            told(&["remote.up.uploadpack"]).ends_with("(remote.up.uploadpack); put back as it was")
        );
    }
}
