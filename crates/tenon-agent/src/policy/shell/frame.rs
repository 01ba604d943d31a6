//! What the walk keeps to say whether a thing surely happens.

use std::collections::HashSet;
use std::ops::Range;

use super::word::Piece;

/// The value of a variable; `None`: set by this command line, but not known.
pub(super) type Value = Option<Vec<Piece>>;
/// A variable and what it was before.
pub(super) type Change = (String, Option<Value>);

/// The function or the script that is being followed.
#[derive(Clone, Copy, Default)]
pub(super) struct Frame {
    /// `return` ends it.
    pub(super) ends: bool,
    pub(super) is_function: bool,
    /// How many branches are around what surely runs in it, or behind the first `return`.
    pub(super) branches: usize,
    /// Where it may have been left first, as an index into the changes.
    pub(super) left: Option<usize>,
}

/// A variable of a function's own, with what it was before.
#[derive(Clone)]
pub(super) struct Local {
    pub(super) change: Change,
    /// It surely is one.
    pub(super) is_sure: bool,
}

/// What decides for the rest of a line whether a thing surely happens.
pub(super) struct Sure {
    /// How often `break` or `continue` was read.
    pub(super) breaks: usize,
    /// A trap may leave functions and loops anywhere.
    pub(super) is_left_anywhere: bool,
    /// Descriptors 0, 1 and 2 are open, and others can be opened.
    pub(super) opens: bool,
    /// An array may have keys that are texts.
    pub(super) has_keys: bool,
    /// Where an error may have ended the line that is being read, as an index into the changes.
    pub(super) skips: Option<usize>,
}

impl Default for Sure {
    fn default() -> Sure {
        Sure { breaks: 0, is_left_anywhere: false, opens: true, has_keys: false, skips: None }
    }
}

/// What calls functions.
#[derive(Default)]
pub(super) struct Callers {
    /// Levels of bodies that are being read where they are defined.
    pub(super) defines: usize,
    /// Levels of what may run again, or at another time: loops, traps, texts that are kept.
    pub(super) again: usize,
    /// Some may be called in a way that is not followed.
    pub(super) is_untold: bool,
    /// The names that were called when they were no functions.
    pub(super) names: HashSet<String>,
    /// What may be meant by the bodies as they were defined.
    pub(super) perhaps: Vec<Range<usize>>,
}
