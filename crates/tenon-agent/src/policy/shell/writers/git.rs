//! Subcommands of git that write the files of a working tree.

use super::super::writer::{Operands, PLAIN, Reach, Writer};

const RESTORE: Writer = Writer {
    names: &["git restore"],
    letters: "s:1:",
    long: &[("source", 's'), ("staged", 'S'), ("worktree", 'W'), ("conflict", '1')],
    operands: Operands::Each,
    reach: &[("", Reach::Parts)],
    ..PLAIN
};

const CHECKOUT_INDEX: Writer = Writer {
    names: &["git checkout-index"],
    letters: "1:2:",
    long: &[("all", 'a'), ("prefix", '1'), ("stage", '2')],
    folder: "1",
    ..PLAIN
};

pub(super) const WRITERS: &[Writer] = &[
    Writer {
        names: &["git checkout"],
        letters: "b:B:1:",
        long: &[
            ("orphan", 'b'),
            ("conflict", '1'),
            ("detach", 'd'),
            ("track", 't'),
            ("ours", '2'),
            ("theirs", '3'),
        ],
        // In front of it stands what the files are taken from.
        parts: true,
        without: "bBdt",
        operands: Operands::Switched,
        ..PLAIN
    },
    Writer { without: "S", ..RESTORE },
    Writer { with: "W", ..RESTORE },
    Writer {
        names: &["git rm"],
        long: &[("cached", '1'), ("dry-run", 'n')],
        without: "1n",
        operands: Operands::Removed,
        reach: &[("r", Reach::Whole)],
        ..PLAIN
    },
    Writer {
        names: &["git clean"],
        letters: "e:",
        long: &[("exclude", 'e'), ("dry-run", 'n')],
        without: "n",
        operands: Operands::Trees,
        ..PLAIN
    },
    Writer {
        names: &["git stash"],
        letters: "m:1:",
        long: &[("message", 'm'), ("pathspec-from-file", '1')],
        operands: Operands::Stashed,
        ..PLAIN
    },
    Writer {
        names: &["git reset"],
        long: &[("hard", '1'), ("keep", '1'), ("merge", '1')],
        with: "1",
        operands: Operands::Everything,
        ..PLAIN
    },
    Writer { with: "a", operands: Operands::Everything, ..CHECKOUT_INDEX },
    Writer { without: "a", operands: Operands::Each, ..CHECKOUT_INDEX },
    Writer {
        names: &["git mv"],
        long: &[("dry-run", 'n')],
        without: "n",
        operands: Operands::Moves,
        reach: &[("", Reach::Parts)],
        ..PLAIN
    },
    Writer {
        names: &["git apply"],
        letters: "C:p:1:2:",
        long: &[
            ("directory", '1'),
            ("exclude", '2'),
            ("include", '2'),
            ("whitespace", '2'),
            ("stat", 'n'),
            ("numstat", 'n'),
            ("summary", 'n'),
            ("check", 'n'),
            ("cached", 'n'),
        ],
        folder: "1",
        without: "n",
        operands: Operands::Anything,
        ..PLAIN
    },
    Writer {
        names: &["git clone"],
        letters: "b:c:j:o:u:1:",
        long: &[("branch", 'b'), ("config", 'c'), ("depth", '1'), ("origin", 'o'), ("jobs", 'j')],
        operands: Operands::Second,
        ..PLAIN
    },
    Writer {
        names: &["git archive", "git diff", "git log", "git show"],
        letters: "o:",
        long: &[("output", 'o')],
        files: "o",
        ..PLAIN
    },
];
