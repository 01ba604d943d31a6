//! What a call did to the files, as it is logged, shown and printed as JSON.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tenon_sandbox::{
    Change, ChangeKind, Changes, EntryKind, LeftOutReason, LinkOut, Rights, Trouble,
};

/// More files of one call are counted and not listed: the journal has them all.
const FILES_MAX: usize = 200;

/// What a call did to the files of the workspace.
///
/// ```
/// use tenon_agent::CallChanges;
/// use tenon_sandbox::Changes;
///
/// let changes = CallChanges::new("call_1", &Changes::default());
/// assert_eq!((changes.checkpoint, changes.summary.as_str()), (None, ""));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallChanges {
    /// The call.
    pub call_id: String,
    /// Whether it was changed in the background: by a job that the call began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_job: bool,
    /// What `tenon undo` takes back; missing if nothing was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<u64>,
    /// The same in one line, such as `3 files changed, 1 deleted`.
    pub summary: String,
    /// The first 200 files, sorted by path.
    pub files: Vec<FileChange>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_more: usize,
    /// What was not saved before it changed, and cannot be undone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<NotSaved>,
    /// Why the list may not be whole, a word or a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<String>,
    /// What was refused because a denial of writing speaks of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<ForbiddenChange>,
    /// The first links that were made, or lead elsewhere since, and lead out of the workspace to where the user could
    /// write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<OutwardLink>,
    /// How many more of them there are.
    #[serde(default, skip_serializing_if = "is_none_inside")]
    pub links_more: u64,
}

/// A link that leads out of the workspace.
///
/// ```
/// use tenon_agent::OutwardLink;
///
/// let link: OutwardLink = serde_json::from_str(r#"{"path":"a","target":"/home/ada/.profile"}"#)?;
/// assert_eq!((link.path.as_str(), link.target.as_str()), ("a", "/home/ada/.profile"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutwardLink {
    /// As [`FileChange::path`].
    pub path: String,
    /// What the link says, likewise.
    pub target: String,
}

/// A change that a command was refused.
///
/// ```
/// use tenon_agent::ForbiddenChange;
///
/// let refused: ForbiddenChange = serde_json::from_str(r#"{"path":"src/a","rule":"write(src/**)"}"#)?;
/// assert_eq!(refused.path, "src/a");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForbiddenChange {
    /// What it would have made, changed, renamed or removed; as [`FileChange::path`].
    pub path: String,
    /// The rule; empty where one may speak of something in a folder with too much in it.
    pub rule: String,
}

/// A file or folder that is not as it was.
///
/// ```
/// use tenon_agent::{FileChange, FileChangeKind};
///
/// let change: FileChange =
///     serde_json::from_str(r#"{"path":"a.txt","kind":"edited","old_bytes":3,"new_bytes":5}"#)?;
/// assert_eq!((change.kind, change.new_bytes), (FileChangeKind::Edited, Some(5)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative in the first folder of the workspace, absolute in another. Bytes that are not UTF-8
    /// stand as U+FFFD.
    pub path: String,
    /// What happened to it.
    pub kind: FileChangeKind,
    /// Where it was, if it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// It was renamed, and its content is another, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// Its length before, if it was there; of what was renamed, at its earlier place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_bytes: Option<u64>,
    /// Its length now, if it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_bytes: Option<u64>,
    /// The SHA-256 of its content now; of files, up to a bound on all files of one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_hash: Option<String>,
    /// Of the index of a git repository, the SHA-256 of what it says now: all but the times and numbers
    /// of files that it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_hash: Option<String>,
    /// It is an index that says what it said before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refreshed: bool,
    /// What it was, where something of another kind is in its place: `file`, `folder`, `link` or `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_entry: Option<String>,
    /// What is there now, in the same case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_entry: Option<String>,
    /// What was at this path before and is gone, if something was renamed to it: as `old_entry`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_entry: Option<String>,
    /// The length of that, of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_bytes: Option<u64>,
    /// Its permissions before, such as `0644`, if they are others now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<String>,
    /// Its permissions now, in the same case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<String>,
    /// The numbers of its user and group before, such as `1000:1000`, if they are others now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_owner: Option<String>,
    /// Those of now, in the same case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_owner: Option<String>,
    /// How many files and folders are in a folder that was made.
    #[serde(default, skip_serializing_if = "is_none_inside")]
    pub inside: u64,
}

/// What happened to a file or folder.
///
/// ```
/// use tenon_agent::FileChangeKind;
///
/// assert_eq!(serde_json::to_string(&FileChangeKind::Deleted)?, r#""deleted""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// It was not there before.
    Created,
    /// Its content is another.
    Edited,
    /// It is not there any more.
    Deleted,
    /// It was at another place.
    Renamed,
    /// Its permissions, owner or extended attributes are others.
    Mode,
    /// Only its times are others.
    Times,
}

/// Something that was not saved before it changed.
///
/// ```
/// use tenon_agent::NotSaved;
///
/// let target = NotSaved { path: "target".into(), reason: "cache".into() };
/// assert_eq!(serde_json::to_string(&target)?, r#"{"path":"target","reason":"cache"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotSaved {
    /// As [`FileChange::path`].
    pub path: String,
    /// `cache`, `too_large` or `outside` (of the workspace); by comparison also `too_many` (this
    /// folder and others were not looked into), `not_copied` and `too_long` (beneath this folder paths are).
    pub reason: String,
}

impl CallChanges {
    /// Returns what the journal found out about a call.
    ///
    /// ```
    /// use tenon_agent::CallChanges;
    /// use tenon_sandbox::{Changes, Trouble};
    ///
    /// let changes = Changes { troubles: vec![Trouble::NotWatched], ..Changes::default() };
    /// assert_eq!(CallChanges::new("call_1", &changes).troubles, ["not_watched"]);
    /// ```
    pub fn new(call_id: &str, changes: &Changes) -> Self {
        Self::with_files(call_id, changes, FILES_MAX)
    }

    /// Returns the same with all files, however many there are.
    ///
    /// ```
    /// use tenon_agent::CallChanges;
    /// use tenon_sandbox::{Change, ChangeKind, Changes, EntryKind};
    ///
    /// let change = |number| Change {
    ///     path: format!("f{number}").into(),
    ///     kind: ChangeKind::Created,
    ///     entry: EntryKind::File,
    ///     old_bytes: None,
    ///     new_bytes: Some(1),
    ///     new_hash: None,
    ///     inside: 0,
    ///     was: None,
    ///     over: None,
    ///     rights: None,
    /// };
    /// let changes = Changes { files: (0..300).map(change).collect(), ..Changes::default() };
    /// assert_eq!(CallChanges::new("call_1", &changes).files_more, 100);
    /// let all = CallChanges::with_all_files("call_1", &changes);
    /// assert_eq!((all.files.len(), all.files_more), (300, 0));
    /// ```
    pub fn with_all_files(call_id: &str, changes: &Changes) -> Self {
        Self::with_files(call_id, changes, usize::MAX)
    }

    fn with_files(call_id: &str, changes: &Changes, files_max: usize) -> Self {
        let reason = |reason| match reason {
            LeftOutReason::Cache => "cache",
            LeftOutReason::TooLarge { .. } => "too_large",
            LeftOutReason::Outside => "outside",
            LeftOutReason::TooMany => "too_many",
            LeftOutReason::NotCopied => "not_copied",
            LeftOutReason::TooLong => "too_long",
        };
        let left_out = changes.left_out.iter().map(|left_out| NotSaved {
            path: shown(&left_out.path),
            reason: reason(left_out.reason).to_owned(),
        });
        Self {
            call_id: call_id.to_owned(),
            by_job: false,
            checkpoint: changes.id.and_then(|id| id.to_string().parse().ok()),
            summary: changes.summary(),
            files: changes.files.iter().take(files_max).map(FileChange::from).collect(),
            files_more: changes.files.len().saturating_sub(files_max),
            left_out: left_out.collect(),
            troubles: changes.troubles.iter().map(trouble).collect(),
            forbidden: changes.troubles.iter().filter_map(forbidden).collect(),
            links: changes.links.iter().map(OutwardLink::from).collect(),
            links_more: changes.links_more,
        }
    }

    /// Says that a job changed it.
    pub(crate) fn of_job(self) -> Self {
        Self { by_job: true, ..self }
    }

    /// Returns what is known of a command that ran outside the walls, which is nothing.
    pub(crate) fn unknown(call_id: &str) -> Self {
        let changes = Changes { troubles: vec![Trouble::NotWatched], ..Changes::default() };
        let summary = "it ran outside the walls: what it changed is not known and cannot be undone";
        Self { summary: summary.into(), ..Self::new(call_id, &changes) }
    }
}

impl From<&LinkOut> for OutwardLink {
    fn from(link: &LinkOut) -> Self {
        Self { path: shown(&link.path), target: shown(Path::new(&link.target)) }
    }
}

impl From<&Change> for FileChange {
    fn from(change: &Change) -> Self {
        let (kind, from) = match &change.kind {
            ChangeKind::Created => (FileChangeKind::Created, None),
            ChangeKind::Edited => (FileChangeKind::Edited, None),
            ChangeKind::Deleted => (FileChangeKind::Deleted, None),
            ChangeKind::Renamed { from, .. } => (FileChangeKind::Renamed, Some(shown(from))),
            ChangeKind::Mode => (FileChangeKind::Mode, None),
            ChangeKind::Times => (FileChangeKind::Times, None),
        };
        let (old_bytes, new_bytes) = (change.old_bytes, change.new_bytes);
        let new_hash = change.new_hash.map(|hash| hash.to_string());
        let (path, inside) = (shown(&change.path), change.inside);
        let edited = matches!(change.kind, ChangeKind::Renamed { is_edited: true, .. });
        let (index_hash, refreshed) = (None, false);
        let (old_entry, new_entry) =
            change.was.map(|was| (entry(was), entry(change.entry))).unzip();
        let over_entry = change.over.map(|over| entry(over.entry));
        let over_bytes = change.over.and_then(|over| over.bytes);
        let (old_mode, new_mode) = others(change, |rights| format!("{:04o}", rights.mode));
        let (old_owner, new_owner) =
            others(change, |rights| format!("{}:{}", rights.user, rights.group));
        Self {
            path,
            kind,
            from,
            edited,
            old_bytes,
            new_bytes,
            new_hash,
            index_hash,
            refreshed,
            old_entry,
            new_entry,
            over_entry,
            over_bytes,
            old_mode,
            new_mode,
            old_owner,
            new_owner,
            inside,
        }
    }
}

fn entry(entry: EntryKind) -> String {
    match entry {
        EntryKind::File => "file",
        EntryKind::Directory => "folder",
        EntryKind::Link => "link",
        EntryKind::Other => "other",
    }
    .to_owned()
}

/// Returns what `part` says of the rights before and now, if that is not the same.
fn others(change: &Change, part: fn(&Rights) -> String) -> (Option<String>, Option<String>) {
    let both = change.rights.as_ref().map(|(old, new)| (part(old), part(new)));
    both.filter(|(old, new)| old != new).unzip()
}

fn trouble(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Refused { .. } | Trouble::Forbidden { .. } => {
            trouble.refusal().unwrap_or_default()
        }
        Trouble::Moved(_) => trouble.absence().unwrap_or_default(),
        Trouble::Interrupted => "interrupted".into(),
        Trouble::NotWatched => "not_watched".into(),
        Trouble::Compared => "compared".into(),
    }
}

fn forbidden(trouble: &Trouble) -> Option<ForbiddenChange> {
    let Trouble::Forbidden { path, rule, .. } = trouble else { return None };
    Some(ForbiddenChange { path: shown(path), rule: rule.clone() })
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(super) fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none_inside(number: &u64) -> bool {
    *number == 0
}
