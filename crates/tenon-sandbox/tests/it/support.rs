//! What the tests share: a folder to work in, a command with usual limits.

use std::path::Path;
use std::time::Duration;

use tenon_sandbox::{
    Command, CommandError, CommandLimits, Exit, OpenRoots, Output, Piece, Profile, SpillTarget,
    Stream, child_environment,
};
use tokio_util::sync::CancellationToken;

/// Long enough for a machine under load; no test waits for it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(300);

pub(crate) fn command(folder: &Path, script: &str) -> Command {
    Command {
        script: script.to_owned(),
        folder: folder.to_path_buf(),
        roots: OpenRoots::default(),
        environment: child_environment(std::env::vars_os(), &[]),
        profile: Profile::unconfined(),
        limits: CommandLimits { timeout: TIMEOUT, output_bytes_max: 10_000, spill: None },
    }
}

pub(crate) fn spilling(folder: &Path, script: &str, spill: &Path) -> Command {
    let mut command = command(folder, script);
    command.limits.spill = Some(SpillTarget::new(spill));
    command
}

pub(crate) fn try_run(command: Command) -> Result<Output, CommandError> {
    runtime().block_on(command.run(&CancellationToken::new(), &mut |_, _| {}))
}

pub(crate) fn run(command: Command) -> Output {
    try_run(command).unwrap()
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The exit, then standard output, then standard error.
pub(crate) fn shown(output: &Output) -> (Exit, String, String) {
    (output.exit, text(&output.pieces, Stream::Out), text(&output.pieces, Stream::Error))
}

pub(crate) fn text(pieces: &[Piece], stream: Stream) -> String {
    let pieces = pieces.iter().filter(|piece| piece.stream == stream);
    pieces.map(|piece| piece.text.as_str()).collect()
}
