//! How the arguments of a program are read that name what it writes: a row of the tables in `writers`.

/// How a program's arguments are read, and what it writes of them.
pub(super) struct Writer {
    /// Names of the program; of git with the subcommand.
    pub(super) names: &'static [&'static str],
    /// Letters of options that have a value, as `getopt` has them: `o:` in the rest of the word or in the
    /// next one, `i::` only in the rest.
    pub(super) letters: &'static str,
    /// Long options, and the letter that means the same; a digit where there is none.
    pub(super) long: &'static [(&'static str, char)],
    /// Whether long options have one dash.
    pub(super) one_dash: bool,
    /// Whether what stands behind the letter of an option is its value, and no other letter.
    pub(super) single: bool,
    /// Whether what stands behind the first argument that is no option is none, either.
    pub(super) stops: bool,
    /// Whether of what stands on both sides of `--` only what is behind it counts.
    pub(super) parts: bool,
    /// Whether the first word is letters without a dash, and their values are the next ones.
    pub(super) bundle: bool,
    /// Options whose value is a file that is written.
    pub(super) files: &'static str,
    /// Options whose value is the folder that relative names are in.
    pub(super) folder: &'static str,
    /// The row is for commands with one of these options; all if there are none.
    pub(super) with: &'static str,
    /// What the value of that option begins with.
    pub(super) value: &'static str,
    /// The row is not for commands with one of these options.
    pub(super) without: &'static str,
    /// What the arguments that are no options are.
    pub(super) operands: Operands,
    /// How much of a folder among them is written with one of these options; always if there are none.
    pub(super) reach: &'static [(&'static str, Reach)],
}

/// How much of what is in a folder is written with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Nothing.
    #[default]
    Itself,
    /// What of it, is not said.
    Parts,
    /// All.
    Whole,
}

/// What the arguments of a program are that are no options.
#[derive(Clone, Copy)]
pub(super) enum Operands {
    /// None of them is written.
    Read,
    /// Each is written.
    Each,
    /// Each is written but the first, which is a script or a mode unless one of these options is there.
    Behind { unless: &'static str },
    /// The first is written; without one something in the folder.
    First,
    /// The second is written.
    Second,
    /// Each is removed.
    Removed,
    /// Each but the first is removed.
    RemovedBehind,
    /// Each is a folder that is made.
    Folders,
    /// For each a file with this behind its name is written.
    Packed(&'static str),
    /// For each a file is written that has another end of its name.
    Unpacked(&'static [(&'static str, &'static str)]),
    /// Files are written whose names begin with the value of this option, or with the second if that is none;
    /// without it with this.
    Pieces { option: &'static str, or: &'static str },
    /// What is behind this beginning of one is written.
    Named(&'static str),
    /// They name what is written in the folder; without one it is anything.
    Members,
    /// Anything in the folder is written.
    Anything,
    /// Anything in each is written, whatever is in it; without one in the folder.
    Trees,
    /// Anything in the folder is written, whatever is in it and whatever the arguments are.
    Everything,
    /// A branch, or something that is written; those behind it are written.
    Switched,
    /// What is done with changes that are put aside, and what of them.
    Stashed,
    /// The last is written, or in it files with the names of the others.
    Copies,
    /// The same, and the others are removed.
    Moves,
    /// The same as copies; one alone is written in the folder.
    Links,
    /// The same as copies; one may be on another machine, and of a folder with `/` behind all is copied that
    /// is in it.
    Mirrors,
    /// Addresses: what is fetched is written in the folder by its name there.
    Addresses,
    /// The first is a database, the others are what is done with it, as are the values of these options.
    Database { before: &'static str, script: &'static str },
}

/// A program that writes nothing.
pub(super) const PLAIN: Writer = Writer {
    names: &[],
    letters: "",
    long: &[],
    one_dash: false,
    single: false,
    stops: false,
    parts: false,
    bundle: false,
    files: "",
    folder: "",
    with: "",
    value: "",
    without: "",
    operands: Operands::Read,
    reach: &[],
};
