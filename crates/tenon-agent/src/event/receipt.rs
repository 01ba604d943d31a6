//! The receipt of a turn: whether what was changed was checked, and how.

use serde::{Deserialize, Serialize};

/// What is known at the end of a turn about what was changed.
///
/// ```
/// use tenon_agent::{Receipt, Verification};
///
/// let receipt: Receipt = serde_json::from_str(
///     r#"{"state":"verified","tree":"91","checks":[{"command":"cargo test","exit_code":0,
///         "ended_ms":5,"duration_ms":840,"tree":"91"}]}"#,
/// )?;
/// assert_eq!(receipt.state, Verification::Verified);
/// assert_eq!(receipt.checks[0].command, "cargo test");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// What the checks say.
    pub state: Verification,
    /// Why it is no proof that checks ran and passed, or why nothing can be known, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Unproven>,
    /// The checks that ran since the last change, each with its last run.
    pub checks: Vec<CheckRun>,
    /// The state of the workspace's files, the same as long as none changes: made of names, lengths
    /// and times, ignored files and caches left out; empty if they were not looked at. Opaque.
    pub tree: String,
}

/// Whether what was changed was checked.
///
/// ```
/// use tenon_agent::Verification;
///
/// let is_done = |state: Verification| state == Verification::Verified;
/// assert!(!is_done(Verification::Unverified));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// At least one check ran since the last change, and each ended with exit code 0.
    Verified,
    /// No check ran since the last change, or none whose exit code could be seen, or
    /// [`Receipt::reason`] says why that proves nothing.
    Unverified,
    /// A check that ran since the last change failed.
    Failed,
}

/// Why checks that passed prove nothing of the files.
///
/// ```
/// use tenon_agent::Unproven;
///
/// let reason = Unproven::StaleCache { folder: "target".into(), file: "src/lib.rs".into() };
/// let json = r#"{"kind":"stale_cache","folder":"target","file":"src/lib.rs"}"#;
/// assert_eq!(serde_json::to_string(&reason)?, json);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unproven {
    /// A check ran while a cache may have been newer than a file that an undo or a redo had put back
    /// with its old time: a build that compares times would have taken its old output for fresh.
    StaleCache {
        /// The cache, which undo leaves out.
        folder: String,
        /// The file.
        file: String,
    },
    /// The workspace has too many files and folders to look at, so that changes are not seen.
    TooManyEntries {
        /// So many are looked at.
        entries_max: usize,
    },
    /// The workspace could not be looked at.
    NotLookedAt,
    /// The project names no check, and none ran in the session.
    NoCheckKnown,
    /// A file changed while a check ran, and the check did not write it.
    ChangedMeanwhile {
        /// The first such file: relative in the first folder of the workspace, absolute in another.
        file: String,
    },
    /// A file changed while a check ran, and nobody watched whether the check wrote it: undo is off, or
    /// compares.
    NotToldApart {
        /// The first such file, as in [`Unproven::ChangedMeanwhile`].
        file: String,
    },
}

/// One run of a check.
///
/// ```
/// use tenon_agent::CheckRun;
///
/// fn line(run: &CheckRun) -> String {
///     format!("{} ended with {} after {} ms", run.command, run.exit_code, run.duration_ms)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    /// The command line, as the model wrote it.
    pub command: String,
    /// Its exit code.
    pub exit_code: i32,
    /// When it ended, in milliseconds since 1970 in UTC.
    pub ended_ms: u64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// [`Receipt::tree`] when it ended.
    pub tree: String,
}
