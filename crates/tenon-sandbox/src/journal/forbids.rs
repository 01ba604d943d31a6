//! Who says what a command may not change.

use std::path::Path;

/// Rules that forbid to change files, asked for each file that a command is about to change.
///
/// ```
/// use std::path::Path;
/// use tenon_sandbox::Forbids;
///
/// struct NoLocks;
///
/// impl Forbids for NoLocks {
///     fn forbids(&self, path: &Path) -> Option<String> {
///         let is_lock = path.extension().is_some_and(|extension| extension == "lock");
///         is_lock.then(|| "write(**/*.lock)".to_owned())
///     }
///
///     fn may_forbid_beneath(&self, _folder: &Path) -> bool {
///         true
///     }
/// }
///
/// assert!(NoLocks.forbids(Path::new("/work/Cargo.lock")).is_some());
/// ```
pub trait Forbids: Send + Sync {
    /// Returns the rule that forbids to make, change, rename or remove `path`, which is absolute, as it is
    /// told: `write(src/**)`.
    fn forbids(&self, path: &Path) -> Option<String>;

    /// Whether that may be said of something in `folder`, or deeper in it.
    fn may_forbid_beneath(&self, folder: &Path) -> bool;
}
