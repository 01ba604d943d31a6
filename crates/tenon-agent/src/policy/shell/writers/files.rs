//! Files and folders: coreutils and their like.

use super::super::writer::{Operands, PLAIN, Reach, Writer};

const COPY: Writer = Writer {
    letters: "S:t:1:",
    long: &[
        ("target-directory", 't'),
        ("no-target-directory", 'T'),
        ("suffix", 'S'),
        ("sparse", '1'),
        ("no-preserve", '1'),
        ("recursive", 'r'),
        ("archive", 'a'),
    ],
    folder: "t",
    operands: Operands::Copies,
    reach: &[("arR", Reach::Parts)],
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

/// What is in a folder, too.
const RECURSIVE: &[(&str, Reach)] = &[("rR", Reach::Whole)];

/// A folder brings what is in it.
const MOVED: &[(&str, Reach)] = &[("", Reach::Parts)];

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
        long: &[("reference", '1'), ("recursive", 'R')],
        // `-x` is a mode.
        operands: Operands::Behind { unless: "1rwxXstugoa" },
        reach: RECURSIVE,
        ..PLAIN
    },
    Writer {
        names: &["chown", "chgrp"],
        letters: "1:2:",
        long: &[("reference", '1'), ("from", '2'), ("recursive", 'R')],
        operands: Operands::Behind { unless: "1" },
        reach: RECURSIVE,
        ..PLAIN
    },
    Writer {
        names: &["rm"],
        long: &[("recursive", 'r')],
        operands: Operands::Removed,
        reach: RECURSIVE,
        ..PLAIN
    },
    Writer { names: &["rmdir", "unlink"], operands: Operands::Removed, ..PLAIN },
    Writer {
        names: &["mkdir"],
        letters: "m:",
        long: &[("mode", 'm')],
        operands: Operands::Folders,
        ..PLAIN
    },
    Writer {
        names: &["mkfifo"],
        letters: "m:",
        long: &[("mode", 'm')],
        operands: Operands::Each,
        ..PLAIN
    },
    Writer {
        names: &["mknod"],
        letters: "m:",
        long: &[("mode", 'm')],
        operands: Operands::First,
        ..PLAIN
    },
    Writer {
        names: &["split"],
        letters: "a:b:C:f:l:n:t:1:",
        long: &[
            ("suffix-length", 'a'),
            ("additional-suffix", '1'),
            ("bytes", 'b'),
            ("line-bytes", 'C'),
            ("lines", 'l'),
            ("number", 'n'),
            ("separator", 't'),
            ("filter", 'f'),
        ],
        without: "f",
        operands: Operands::Pieces { option: "", or: "x" },
        ..PLAIN
    },
    Writer {
        names: &["csplit"],
        letters: "b:f:n:",
        long: &[("suffix-format", 'b'), ("prefix", 'f'), ("digits", 'n')],
        operands: Operands::Pieces { option: "f", or: "xx" },
        ..PLAIN
    },
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
    Writer { names: &["mv"], operands: Operands::Moves, reach: MOVED, ..COPY },
    Writer { names: &["ln"], operands: Operands::Links, reach: &[], ..COPY },
    Writer { without: "d", folder: "t", operands: Operands::Copies, ..INSTALL },
    Writer { with: "d", operands: Operands::Each, ..INSTALL },
];
