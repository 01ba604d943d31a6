//! The `tenon` program. All that it does is in `tenon-cli`; this package links it. Loops of every crate
//! become vector code only where the package that links is built for speed, and `tenon-cli` is built for
//! size (docs/decisions/0018-a-thin-package-links.md).

use std::process::ExitCode;

fn main() -> ExitCode {
    tenon_cli::main()
}
