//! Events of the session as a whole: where it began, went on and went back, and what was seen.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use tenon_model::{Abilities, Price};

/// Events of the session as a whole.
///
/// ```
/// use tenon_agent::SessionNote;
///
/// let line = r#"{"type":"session_started","version":1,"session":"20260101-120000-a1b2",
///     "workspace":["/work"],"model":"anthropic/claude-sonnet-5-5","tenon":"0.1.0"}"#;
/// match serde_json::from_str(line)? {
///     SessionNote::SessionStarted { model, forked_from, .. } => {
///         assert_eq!(model.split_once('/'), Some(("anthropic", "claude-sonnet-5-5")));
///         assert_eq!(forked_from, None);
///     }
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionNote {
    /// The first line of every log.
    SessionStarted {
        /// [`LOG_VERSION`](crate::LOG_VERSION) of the writer.
        version: u32,
        /// The session's id.
        session: String,
        /// The folders that the session may work in; the first is the root.
        #[serde(with = "crate::stored_paths")]
        workspace: Vec<PathBuf>,
        /// `PROVIDER/NAME` of the model; in a fork that of the session that it left.
        model: String,
        /// The version of the program or library that wrote the log.
        tenon: String,
        /// What the model's tokens cost, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price: Option<Price>,
        /// What the model can do and wants, with the window as it was configured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        abilities: Option<Abilities>,
        /// The session whose events follow, if this one left it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<String>,
        /// The session in whose folder the whole texts of long results are; this one if missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        results_of: Option<String>,
        /// The folders that this session works in, the root first, if it left the other one for another
        /// folder: what follows up to where it goes on itself was done in `workspace`.
        #[serde(default, skip_serializing_if = "Vec::is_empty", with = "crate::stored_paths")]
        moved_to: Vec<PathBuf>,
        /// The paths by which the user named the folders of `workspace`, in the same order; nothing if none of
        /// them led through a symbolic link. Older versions do not say it.
        #[serde(default, skip_serializing_if = "Vec::is_empty", with = "crate::stored_paths")]
        named: Vec<PathBuf>,
    },
    /// The session goes on in another process.
    SessionResumed {
        /// [`LOG_VERSION`](crate::LOG_VERSION) of the writer.
        version: u32,
        /// The session's id; empty in logs of older versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        session: String,
        /// The session that this one left, if it is a fork.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<String>,
        /// The folders that the session may work in from here on; the first is the root.
        #[serde(with = "crate::stored_paths")]
        workspace: Vec<PathBuf>,
        /// The paths by which the user named them, as in [`SessionNote::SessionStarted`].
        #[serde(default, skip_serializing_if = "Vec::is_empty", with = "crate::stored_paths")]
        named: Vec<PathBuf>,
        /// `PROVIDER/NAME` of the model from here on.
        model: String,
        /// The version of the program or library from here on.
        tenon: String,
        /// What the model's tokens cost, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price: Option<Price>,
        /// What the model can do and wants, with the window as it was configured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        abilities: Option<Abilities>,
    },
    /// Another model goes on from here. What the one before thought is not sent to it.
    ModelChanged {
        /// `PROVIDER/NAME` of the model from here on.
        model: String,
        /// What its tokens cost, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        price: Option<Price>,
        /// What it can do and wants, with the window as it was configured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        abilities: Option<Abilities>,
    },
    /// The conversation goes on behind an earlier line; what lies between is an abandoned branch.
    Rewound {
        /// The last line of the log that still counts, from 1.
        after_line: u64,
        /// The turns that were left.
        turns: u32,
    },
    /// A compaction counts no more: the conversation has again what it replaced, and all that came
    /// since.
    CompactionUndone {
        /// The line of the log with the compaction, from 1.
        line: u64,
    },
    /// The person had taken back, before the prompt that follows, what calls changed; or, with a
    /// redo, took such an undo back. Files alone: the conversation goes on.
    FilesUndone {
        /// The checkpoint of the undo, which a redo names.
        by: u64,
        /// The checkpoints that were undone: of calls, as
        /// [`CallChanges::checkpoint`](crate::CallChanges::checkpoint), or of an undo.
        of: Vec<u64>,
        /// Those of which no list speaks: they changed at most the times of folders. Older versions do not say
        /// it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        idle: Vec<IdleCall>,
        /// The first 100 paths that it left as they were, because others had changed them since, or
        /// needed them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<String>,
        /// The first 100 paths to which it moved files along with their folders that others had made or
        /// changed since. Older versions do not say it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        moved: Vec<String>,
        /// The first 100 caches that it left out and that may be newer than the files that it put back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stale: Vec<String>,
    },
    /// The model has seen or written these files since the last such event.
    FilesSeen {
        /// The hash of each file's content, by path. Older versions have for a large one the hash of its
        /// length and of the time of its change.
        files: BTreeMap<String, String>,
        /// The length of each large one, in bytes. Older versions do not say it.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        bytes: BTreeMap<String, u64>,
    },
}

/// A call that is in no list of changes, as an undo names it.
///
/// ```
/// use tenon_agent::IdleCall;
///
/// let call: IdleCall = serde_json::from_str(r#"{"checkpoint":3,"call_id":"call_1"}"#)?;
/// assert_eq!((call.checkpoint, call.call_id.as_str()), (3, "call_1"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleCall {
    /// Its checkpoint, of which the log does not speak elsewhere.
    pub checkpoint: u64,
    /// The call.
    pub call_id: String,
}
