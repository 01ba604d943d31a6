//! What programs print about themselves, asked within walls.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use tenon_sandbox::{Command, CommandLimits, Exit, OpenRoots, Profile, Sandbox, Stream};
use tokio_util::sync::CancellationToken;

/// How long a program may take. Node takes half a second.
const TIMEOUT: Duration = Duration::from_secs(20);
/// `pip install --help` prints some 20 KB.
const BYTES_MAX: usize = 256 * 1024;

/// Returns how a script ended and what it printed on standard output; `None` where it did not run.
pub(crate) async fn answer(
    (walls, profile): (&Sandbox, Profile),
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
    script: &str,
) -> Option<(Exit, String)> {
    let limits = CommandLimits { timeout: TIMEOUT, output_bytes_max: BYTES_MAX, spill: None };
    let (script, roots) = (script.to_owned(), OpenRoots::default());
    let command = Command { script, folder, roots, environment, profile, limits };
    let output = walls.run(command, &CancellationToken::new(), &mut |_, _| {}).await.ok()?;
    let pieces = output.pieces.iter().filter(|piece| piece.stream == Stream::Out);
    Some((output.exit, pieces.map(|piece| piece.text.as_str()).collect()))
}
