//! How much a look goes through of folders and of protected files, each kind by itself: much of one takes no room
//! from another.

/// What a look goes through of each kind in less than 10 ms.
const MOST: usize = 2_000;

/// What it goes through of what nothing runs by its name: git makes 14 samples of hooks in each repository.
const MOST_MINOR: usize = 10_000;

/// The same of each kind after a command, of what was whole before it: what is beyond is its own, and it took
/// longer to make it.
const MOST_GROWN: usize = 100_000;

/// How many folders a look goes through where it need not read those that did not change: about a tenth
/// of a second.
pub const GUARDED_FOLDERS_MAX: usize = 50_000;

/// How much a look goes through, or may still go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// The upper ones first.
    pub(super) folders: usize,
    /// Of these, those that each look has to read again.
    pub(super) unkept_folders: usize,
    /// Beneath protected names, besides the others.
    pub(super) protected_folders: usize,
    /// With protected names, besides the following.
    pub(super) files: usize,
    /// That say what git runs, or where more of that is.
    pub(super) settings: usize,
    /// That nothing runs by their names.
    pub(super) minor: usize,
    /// Of folders beneath each root, the levels that a look came to the end of.
    pub(super) levels: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self::before(GUARDED_FOLDERS_MAX)
    }
}

impl Limits {
    /// Returns the limits before a command, of so many folders.
    pub(super) const fn before(folders: usize) -> Self {
        let levels = usize::MAX;
        Self {
            folders,
            unkept_folders: MOST,
            protected_folders: MOST,
            files: MOST,
            settings: MOST,
            minor: MOST_MINOR,
            levels,
        }
    }

    /// Of what a command touched.
    pub(super) const TOUCHED: Self = Self {
        folders: MOST_GROWN,
        unkept_folders: MOST_GROWN,
        protected_folders: MOST_GROWN,
        files: MOST_GROWN,
        settings: MOST_GROWN,
        minor: MOST_GROWN,
        levels: usize::MAX,
    };

    /// Returns the limits after a command, if the look before it, which had these, `left` so much.
    /// What that did not come to the end of stays as it is: what was there already would count as
    /// made.
    pub(super) fn after(self, left: Self) -> Self {
        let most = |left: usize, before: usize| if left > 0 { MOST_GROWN } else { before };
        Self {
            folders: most(left.folders, self.folders),
            unkept_folders: most(left.unkept_folders, self.unkept_folders),
            protected_folders: most(left.protected_folders, self.protected_folders),
            files: most(left.files, self.files),
            settings: most(left.settings, self.settings),
            minor: most(left.minor, self.minor),
            levels: self.levels,
        }
    }

    /// Returns how many levels of folders a look that left so much came to the end of.
    pub(super) fn whole_levels(self) -> usize {
        if self.files_are_left() { self.levels } else { 0 }
    }

    /// Whether a look that left so much came to all protected files in the folders that it went through.
    fn files_are_left(self) -> bool {
        self.files > 0 && self.minor > 0 && self.settings_are_left()
    }

    /// Whether such a look came to all settings of git there.
    pub(super) fn settings_are_left(self) -> bool {
        self.settings > 0 && self.protected_folders > 0
    }

    /// Whether a look that left so much came to all folders.
    pub(super) fn folders_are_left(self) -> bool {
        self.folders > 0 && self.unkept_folders > 0
    }

    /// Whether a look that left so much came to the end of everything.
    pub(super) fn are_left(self) -> bool {
        self.folders_are_left() && self.files_are_left()
    }
}
