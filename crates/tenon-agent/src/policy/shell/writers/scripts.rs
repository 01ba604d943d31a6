//! What is changed by a script, a patch or a query, and what compilers make.

use super::super::writer::{Operands, PLAIN, Writer};

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

const RUSTC: Writer = Writer {
    names: &["rustc"],
    letters: "o:A:C:D:F:l:L:W:Z:1:2:",
    long: &[
        ("out-dir", '2'),
        ("allow", '1'),
        ("cap-lints", '1'),
        ("cfg", '1'),
        ("check-cfg", '1'),
        ("codegen", '1'),
        ("crate-name", '1'),
        ("crate-type", '1'),
        ("deny", '1'),
        ("edition", '1'),
        ("emit", '1'),
        ("error-format", '1'),
        ("extern", '1'),
        ("forbid", '1'),
        ("print", '1'),
        ("target", '1'),
        ("warn", '1'),
    ],
    single: true,
    ..PLAIN
};

pub(super) const WRITERS: &[Writer] = &[
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
        letters: "c:i:1:",
        long: &[
            ("readonly", 'r'),
            ("cmd", 'c'),
            ("init", 'i'),
            ("separator", '1'),
            ("newline", '1'),
            ("nullvalue", '1'),
            ("vfs", '1'),
            ("mmap", '1'),
            ("heap", '1'),
            ("maxsize", '1'),
            ("escape", '1'),
        ],
        one_dash: true,
        without: "r",
        operands: Operands::Database { before: "c", script: "i" },
        ..PLAIN
    },
    Writer { without: "1", files: "or", ..PATCH },
    Writer { without: "1o", operands: Operands::First, ..PATCH },
    Writer {
        names: &["gcc", "g++", "cc", "c++", "clang", "clang++", "as", "ld"],
        letters: "o:1:",
        long: &[
            ("output", 'o'),
            ("MF", 'o'),
            ("Xlinker", '1'),
            ("Xassembler", '1'),
            ("include", '1'),
        ],
        one_dash: true,
        single: true,
        files: "o",
        ..PLAIN
    },
    Writer { files: "o", ..RUSTC },
    Writer { with: "2", folder: "2", operands: Operands::Everything, ..RUSTC },
];
