//! Archives, and files that are packed one by one.

use super::super::writer::{Operands, PLAIN, Reach, Writer};

const TAR: Writer = Writer {
    names: &["tar", "gtar", "bsdtar"],
    letters: "f:C:b:T:X:I:K:N:V:g:F:H:L:%:",
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
        ("remove-files", '-'),
        ("exclude", '%'),
        ("exclude-tag", '%'),
        ("exclude-from", 'X'),
        ("files-from", 'T'),
        ("use-compress-program", 'I'),
        ("strip-components", '%'),
        ("transform", '%'),
        ("xform", '%'),
        ("owner", '%'),
        ("group", '%'),
        ("mode", '%'),
        ("mtime", '%'),
        ("sort", '%'),
        ("format", 'H'),
        ("newer", 'N'),
        ("newer-mtime", '%'),
        ("label", 'V'),
        ("listed-incremental", 'g'),
        ("blocking-factor", 'b'),
        ("record-size", '%'),
        ("checkpoint-action", '%'),
        ("pax-option", '%'),
        ("suffix", '%'),
        ("warning", '%'),
        ("to-command", '%'),
        ("info-script", 'F'),
        ("tape-length", 'L'),
    ],
    bundle: true,
    ..PLAIN
};

const PACKED: Writer = Writer {
    letters: "S:b:p:%:",
    long: &[
        ("stdout", 'c'),
        ("to-stdout", 'c'),
        ("decompress", 'd'),
        ("uncompress", 'd'),
        ("test", 't'),
        ("list", 'l'),
        ("keep", 'k'),
        ("recursive", 'r'),
        ("suffix", 'S'),
        ("format", 'F'),
        ("check", 'C'),
        ("threads", '%'),
        ("memlimit", 'M'),
        ("processes", 'p'),
        ("blocksize", '%'),
    ],
    ..PLAIN
};

const GZIP: Writer = Writer { names: &["gzip", "pigz"], ..PACKED };
const GUNZIP: Writer = Writer { names: &["gunzip", "unpigz"], ..PACKED };
const XZ: Writer = Writer { names: &["xz"], letters: "S:F:C:T:M:%:", ..PACKED };
const UNXZ: Writer = Writer { names: &["unxz", "unlzma"], ..XZ };
const LZMA: Writer = Writer { names: &["lzma"], ..XZ };
const BZIP2: Writer = Writer { names: &["bzip2"], letters: "", ..PACKED };
const BUNZIP2: Writer = Writer { names: &["bunzip2"], ..BZIP2 };

/// Keeps what it packs unless it is told otherwise.
const ZSTD: Writer = Writer {
    names: &["zstd", "zstdmt"],
    letters: "o:D:M:%:@:",
    long: &[
        ("stdout", 'c'),
        ("decompress", 'd'),
        ("uncompress", 'd'),
        ("test", 't'),
        ("list", 'l'),
        ("rm", '-'),
        ("output-dir-flat", '@'),
        ("output-dir-mirror", '@'),
        ("patch-from", '%'),
        ("filelist", '%'),
        ("format", '='),
        ("threads", '='),
    ],
    ..PLAIN
};
const UNZSTD: Writer = Writer { names: &["unzstd"], ..ZSTD };

/// Where neither goes to the output nor only is looked at.
const NO_FILE: &str = "ctl";
/// The same where no file is packed, either.
const NO_PACKED: &str = "ctld";
const GONE: Operands = Operands::Removed;
const IN_FOLDERS: &[(&str, Reach)] = &[("r", Reach::Whole)];

const OF_GZIP: Operands =
    Operands::Unpacked(&[(".gz", ""), (".tgz", ".tar"), (".taz", ".tar"), (".Z", ""), (".z", "")]);
const OF_XZ: Operands =
    Operands::Unpacked(&[(".xz", ""), (".txz", ".tar"), (".lzma", ""), (".tlz", ".tar")]);
const OF_BZIP2: Operands =
    Operands::Unpacked(&[(".bz2", ""), (".tbz2", ".tar"), (".bz", ""), (".tbz", ".tar")]);
const OF_ZSTD: Operands = Operands::Unpacked(&[(".zst", ""), (".tzst", ".tar"), (".gz", "")]);

pub(super) const WRITERS: &[Writer] = &[
    Writer { with: "crAu", files: "f", ..TAR },
    Writer { with: "x", without: "O", folder: "C", operands: Operands::Members, ..TAR },
    Writer { with: "-", folder: "C", operands: GONE, reach: &[("", Reach::Whole)], ..TAR },
    Writer {
        names: &["unzip"],
        letters: "d:I:O:P:",
        folder: "d",
        without: "lptvzZ",
        operands: Operands::Anything,
        ..PLAIN
    },
    Writer {
        names: &["zip"],
        letters: "b:i:n:O:P:s:t:x:",
        long: &[("out", 'O'), ("move", 'm')],
        files: "O",
        operands: Operands::First,
        ..PLAIN
    },
    Writer {
        names: &["zip"],
        letters: "b:i:n:O:P:s:t:x:",
        long: &[("out", 'O'), ("move", 'm')],
        with: "m",
        operands: Operands::RemovedBehind,
        reach: IN_FOLDERS,
        ..PLAIN
    },
    Writer { without: "ctlk", operands: GONE, reach: IN_FOLDERS, ..GZIP },
    Writer { without: NO_PACKED, operands: Operands::Packed(".gz"), ..GZIP },
    Writer { with: "d", without: NO_FILE, operands: OF_GZIP, ..GZIP },
    Writer { without: "ctlk", operands: GONE, reach: IN_FOLDERS, ..GUNZIP },
    Writer { without: NO_FILE, operands: OF_GZIP, ..GUNZIP },
    Writer { without: "ctlk", operands: GONE, ..XZ },
    Writer { without: NO_PACKED, operands: Operands::Packed(".xz"), ..XZ },
    Writer { with: "d", without: NO_FILE, operands: OF_XZ, ..XZ },
    Writer { without: "ctlk", operands: GONE, ..UNXZ },
    Writer { without: NO_FILE, operands: OF_XZ, ..UNXZ },
    Writer { without: "ctlk", operands: GONE, ..LZMA },
    Writer { without: NO_PACKED, operands: Operands::Packed(".lzma"), ..LZMA },
    Writer { with: "d", without: NO_FILE, operands: OF_XZ, ..LZMA },
    Writer { without: "ctlk", operands: GONE, ..BZIP2 },
    Writer { without: NO_PACKED, operands: Operands::Packed(".bz2"), ..BZIP2 },
    Writer { with: "d", without: NO_FILE, operands: OF_BZIP2, ..BZIP2 },
    Writer { without: "ctlk", operands: GONE, ..BUNZIP2 },
    Writer { without: NO_FILE, operands: OF_BZIP2, ..BUNZIP2 },
    Writer { with: "-", without: NO_FILE, operands: GONE, reach: IN_FOLDERS, ..ZSTD },
    Writer { files: "o", ..ZSTD },
    Writer { without: "ctldo@", operands: Operands::Packed(".zst"), ..ZSTD },
    Writer { with: "d", without: "ctlo@", operands: OF_ZSTD, ..ZSTD },
    Writer { with: "@", without: NO_FILE, folder: "@", operands: Operands::Anything, ..ZSTD },
    Writer { with: "-", without: NO_FILE, operands: GONE, reach: IN_FOLDERS, ..UNZSTD },
    Writer { files: "o", ..UNZSTD },
    Writer { without: "ctlo@", operands: OF_ZSTD, ..UNZSTD },
];
