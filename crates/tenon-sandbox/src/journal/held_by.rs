//! Who else works in a workspace's checkpoints, for a word to whoever waits for it: one undoes, redoes or makes room
//! at a time, and one that is stopped (Ctrl-Z) keeps the rest waiting.

use super::Journal;
use super::store::LOCK;

impl Journal {
    /// Returns the process id of another process that undoes, redoes or makes room in this workspace now. `None`
    /// where there is none, or the kernel does not tell (it is in another namespace of process ids).
    ///
    /// ```
    /// use tenon_sandbox::{Journal, JournalOptions, Workspace};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (root, state) = (folder.path().join("work"), folder.path().join("state"));
    /// # std::fs::create_dir(&root)?;
    /// let workspace = Workspace::open(&root)?;
    /// let journal = Journal::open(&workspace, JournalOptions::new(state))?;
    /// assert_eq!(journal.held_by_another(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn held_by_another(&self) -> Option<u32> {
        let lock = rustix::fs::stat(self.store.bases.first()?.path.join(LOCK)).ok()?;
        #[expect(clippy::disallowed_methods, reason = "the kernel's list of locks")]
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        holder(&locks, lock.st_ino, std::process::id())
    }
}

/// Returns the process other than `own` that has a whole file locked, by the kernel's list. The file is known by its
/// number alone: the list has devices that a look at the file does not (btrfs).
fn holder(locks: &str, file: u64, own: u32) -> Option<u32> {
    let mut found = locks.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        // One that waits has an arrow first.
        let kind = [words.next()?, words.next()?, words.next()?];
        let (process, place) = (words.next()?.parse::<u32>().ok()?, words.next()?);
        let is_it = kind == ["FLOCK", "ADVISORY", "WRITE"]
            && place.rsplit(':').next()?.parse::<u64>().ok()? == file;
        is_it.then_some(process)
    });
    found.next().filter(|process| *process != 0 && *process != own)
}

#[cfg(test)]
mod tests {
    use super::holder;

    #[test]
    fn who_holds_a_lock_is_told_and_who_waits_for_it_is_not() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fd:00:12 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 8 fd:00:12 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 9 fd:00:12 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 0 fd:00:13 0 EOF\n";
        assert_eq!(holder(locks, 12, 9), Some(8));
        assert_eq!(holder(locks, 12, 8), None);
        assert_eq!(holder(locks, 13, 8), None);
        assert_eq!(holder(locks, 14, 8), None);
    }
}
