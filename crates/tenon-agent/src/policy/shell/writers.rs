//! Programs whose arguments name what they write, as a table: the options that have a value, which of those
//! values is a file or a folder, and what the other arguments are.
//!
//! A program has several rows where one of its options makes another one of it. What programs write by
//! themselves, by a configuration or a script, is not in it.

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
    /// What is behind this beginning of one is written.
    Named(&'static str),
    /// They name what is written in the folder; without one it is anything.
    Members,
    /// Anything in the folder is written.
    Anything,
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
    /// The first is a database, and the second what is done with it.
    Database,
}

const PLAIN: Writer = Writer {
    names: &[],
    letters: "",
    long: &[],
    one_dash: false,
    stops: false,
    parts: false,
    bundle: false,
    files: "",
    folder: "",
    with: "",
    value: "",
    without: "",
    operands: Operands::Read,
};

const COPY: Writer = Writer {
    letters: "S:t:1:",
    long: &[
        ("target-directory", 't'),
        ("no-target-directory", 'T'),
        ("suffix", 'S'),
        ("sparse", '1'),
        ("no-preserve", '1'),
    ],
    folder: "t",
    operands: Operands::Copies,
    ..PLAIN
};

const INSTALL: Writer = Writer {
    names: &["install"],
    letters: "m:o:g:S:t:1:",
    long: &[
        ("target-directory", 't'),
        ("no-target-directory", 'T'),
        ("suffix", 'S'),
        ("mode", 'm'),
        ("owner", 'o'),
        ("group", 'g'),
        ("strip-program", '1'),
        ("directory", 'd'),
    ],
    ..PLAIN
};

const TAR: Writer = Writer {
    names: &["tar", "gtar", "bsdtar"],
    letters: "f:C:b:T:X:I:K:N:V:g:F:H:L:1:",
    long: &[
        ("file", 'f'),
        ("directory", 'C'),
        ("extract", 'x'),
        ("get", 'x'),
        ("create", 'c'),
        ("append", 'r'),
        ("update", 'u'),
        ("concatenate", 'A'),
        ("catenate", 'A'),
        ("to-stdout", 'O'),
        ("exclude", '1'),
        ("exclude-from", 'X'),
        ("files-from", 'T'),
        ("use-compress-program", 'I'),
        ("strip-components", '1'),
        ("transform", '1'),
        ("xform", '1'),
        ("owner", '1'),
        ("group", '1'),
        ("mode", '1'),
        ("mtime", '1'),
        ("sort", '1'),
        ("format", 'H'),
    ],
    bundle: true,
    ..PLAIN
};

const CURL: Writer = Writer {
    names: &["curl"],
    letters: "A:b:c:C:d:D:e:E:F:h:H:K:m:o:P:Q:r:t:T:u:U:w:x:X:y:Y:z:7:8:9:",
    long: &[
        ("output", 'o'),
        ("output-dir", '7'),
        ("remote-name", 'O'),
        ("remote-name-all", 'O'),
        ("dump-header", 'D'),
        ("cookie-jar", 'c'),
        ("trace", '8'),
        ("trace-ascii", '8'),
        ("stderr", '8'),
        ("etag-save", '8'),
        ("header", 'H'),
        ("data", 'd'),
        ("data-raw", 'd'),
        ("data-binary", 'd'),
        ("data-urlencode", 'd'),
        ("json", 'd'),
        ("form", 'F'),
        ("request", 'X'),
        ("user", 'u'),
        ("user-agent", 'A'),
        ("cookie", 'b'),
        ("proxy", 'x'),
        ("max-time", 'm'),
        ("connect-timeout", '9'),
        ("retry", '9'),
        ("cacert", '9'),
        ("write-out", 'w'),
    ],
    ..PLAIN
};

const WGET: Writer = Writer {
    names: &["wget"],
    letters: "a:i:o:A:B:D:e:I:l:O:P:Q:R:t:T:U:w:X:1:",
    long: &[
        ("output-document", 'O'),
        ("output-file", 'o'),
        ("append-output", 'a'),
        ("directory-prefix", 'P'),
        ("spider", '2'),
        ("input-file", 'i'),
        ("header", '1'),
        ("user-agent", 'U'),
        ("tries", 't'),
        ("timeout", 'T'),
        ("post-data", '1'),
        ("save-cookies", '3'),
    ],
    ..PLAIN
};

const PATCH: Writer = Writer {
    names: &["patch"],
    letters: "p:i:o:d:r:B:D:F:g:V:Y:z:",
    long: &[
        ("strip", 'p'),
        ("input", 'i'),
        ("output", 'o'),
        ("directory", 'd'),
        ("reject-file", 'r'),
        ("dry-run", '1'),
    ],
    folder: "d",
    ..PLAIN
};

const RESTORE: Writer = Writer {
    names: &["git restore"],
    letters: "s:1:",
    long: &[("source", 's'), ("staged", 'S'), ("worktree", 'W'), ("conflict", '1')],
    operands: Operands::Each,
    ..PLAIN
};

/// What is written.
pub(super) const WRITERS: &[Writer] = &[
    Writer { names: &["tee", "sponge"], operands: Operands::Each, ..PLAIN },
    Writer {
        names: &["touch"],
        letters: "d:r:t:1:",
        long: &[("date", 'd'), ("reference", 'r'), ("time", '1')],
        operands: Operands::Each,
        ..PLAIN
    },
    Writer {
        names: &["truncate"],
        letters: "s:r:",
        long: &[("size", 's'), ("reference", 'r')],
        operands: Operands::Each,
        ..PLAIN
    },
    Writer {
        names: &["chmod"],
        letters: "1:",
        long: &[("reference", '1')],
        // `-x` is a mode.
        operands: Operands::Behind { unless: "1rwxXstugoa" },
        ..PLAIN
    },
    Writer { names: &["rm", "unlink"], operands: Operands::Removed, ..PLAIN },
    Writer {
        names: &["shred"],
        letters: "n:s:1:",
        long: &[("iterations", 'n'), ("size", 's'), ("random-source", '1')],
        operands: Operands::Each,
        ..PLAIN
    },
    Writer { names: &["dd"], operands: Operands::Named("of="), ..PLAIN },
    Writer {
        names: &["sort"],
        letters: "k:o:S:t:T:1:",
        long: &[("output", 'o'), ("key", 'k'), ("field-separator", 't'), ("files0-from", '1')],
        files: "o",
        ..PLAIN
    },
    Writer {
        names: &["shuf"],
        letters: "i:n:o:1:",
        long: &[("output", 'o'), ("head-count", 'n'), ("input-range", 'i'), ("random-source", '1')],
        files: "o",
        ..PLAIN
    },
    Writer {
        names: &["uniq"],
        letters: "f:s:w:",
        long: &[("skip-fields", 'f'), ("skip-chars", 's'), ("check-chars", 'w')],
        operands: Operands::Second,
        ..PLAIN
    },
    Writer { names: &["xxd"], letters: "c:g:l:n:o:R:s:", operands: Operands::Second, ..PLAIN },
    Writer { names: &["link"], operands: Operands::Second, ..PLAIN },
    Writer { names: &["cp"], ..COPY },
    Writer { names: &["mv"], operands: Operands::Moves, ..COPY },
    Writer { names: &["ln"], operands: Operands::Links, ..COPY },
    Writer { without: "d", folder: "t", operands: Operands::Copies, ..INSTALL },
    Writer { with: "d", operands: Operands::Each, ..INSTALL },
    Writer {
        names: &["rsync"],
        letters: "e:f:T:B:M:1:2:",
        long: &[
            ("rsh", 'e'),
            ("filter", 'f'),
            ("temp-dir", 'T'),
            ("exclude", '1'),
            ("include", '1'),
            ("exclude-from", '1'),
            ("include-from", '1'),
            ("files-from", '1'),
            ("link-dest", '1'),
            ("backup-dir", '1'),
            ("log-file", '2'),
            ("dry-run", 'n'),
            ("list-only", 'n'),
        ],
        files: "2",
        without: "n",
        operands: Operands::Mirrors,
        ..PLAIN
    },
    Writer {
        names: &["scp"],
        letters: "c:D:F:i:J:l:o:P:S:X:",
        operands: Operands::Mirrors,
        ..PLAIN
    },
    Writer {
        names: &["sed"],
        letters: "e:f:i::l:",
        long: &[("expression", 'e'), ("file", 'f'), ("in-place", 'i'), ("line-length", 'l')],
        with: "i",
        operands: Operands::Behind { unless: "ef" },
        ..PLAIN
    },
    Writer {
        names: &["perl"],
        letters: "C::D::e:E:F::i::I:m::M::x::",
        stops: true,
        with: "i",
        operands: Operands::Behind { unless: "eE" },
        ..PLAIN
    },
    Writer {
        names: &["ruby"],
        letters: "C:e:E:F:i::I:K:r:T::W::x::",
        stops: true,
        with: "i",
        operands: Operands::Behind { unless: "e" },
        ..PLAIN
    },
    Writer {
        names: &["awk", "gawk"],
        letters: "e:E:f:F:i:l:v:",
        long: &[("include", 'i'), ("file", 'f'), ("source", 'e'), ("assign", 'v')],
        stops: true,
        with: "i",
        value: "inplace",
        operands: Operands::Behind { unless: "ef" },
        ..PLAIN
    },
    Writer { names: &["ed", "red"], letters: "p:", operands: Operands::First, ..PLAIN },
    Writer {
        names: &["sqlite3"],
        letters: "1:",
        long: &[
            ("readonly", 'r'),
            ("cmd", '1'),
            ("init", '1'),
            ("separator", '1'),
            ("newline", '1'),
            ("nullvalue", '1'),
            ("vfs", '1'),
        ],
        one_dash: true,
        without: "r",
        operands: Operands::Database,
        ..PLAIN
    },
    Writer { with: "crAu", files: "f", ..TAR },
    Writer { with: "x", without: "O", folder: "C", operands: Operands::Members, ..TAR },
    Writer {
        names: &["unzip"],
        letters: "d:I:O:P:",
        folder: "d",
        without: "lptvzZ",
        operands: Operands::Anything,
        ..PLAIN
    },
    Writer { names: &["zip"], letters: "b:i:n:P:s:t:x:", operands: Operands::First, ..PLAIN },
    Writer { without: "1", files: "or", ..PATCH },
    Writer { without: "1o", operands: Operands::First, ..PATCH },
    Writer { files: "cD8", ..CURL },
    Writer { with: "o", folder: "7", files: "o", ..CURL },
    Writer { with: "O", without: "o", folder: "7", operands: Operands::Addresses, ..CURL },
    Writer { files: "aoO3", ..WGET },
    Writer { without: "O2", folder: "P", operands: Operands::Addresses, ..WGET },
    Writer {
        names: &["git checkout"],
        letters: "b:B:1:",
        long: &[("orphan", 'b'), ("conflict", '1'), ("detach", 'b')],
        // In front of it stands what the files are taken from.
        parts: true,
        without: "bB",
        operands: Operands::Each,
        ..PLAIN
    },
    Writer { without: "S", ..RESTORE },
    Writer { with: "W", ..RESTORE },
    Writer {
        names: &["git rm"],
        long: &[("cached", '1'), ("dry-run", 'n')],
        without: "1n",
        operands: Operands::Removed,
        ..PLAIN
    },
    Writer {
        names: &["git mv"],
        long: &[("dry-run", 'n')],
        without: "n",
        operands: Operands::Moves,
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
