//! Files that take the place of others in one step: what fails, or is killed, leaves the old one.

#![expect(clippy::disallowed_methods, reason = "writes what the person names, and their settings")]

use std::{
    fmt::Display,
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, OFlags},
    io::Errno,
};

use crate::{error::CliError, texts::Text};

/// How much of a file's name stands in the one beside it, in bytes: with what is around it that is short
/// enough for every file system, whatever the name.
const NAME_BYTES_MAX: usize = 100;

/// Writes the file that the person names. What is no file (a device, a pipe) is written itself. A link is not
/// followed, since a model may have put it there, but for those of the system to devices and open files (`/dev/stdout`).
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), CliError> {
    let is_of_system = path.starts_with("/dev") || path.starts_with("/proc");
    let (target, flags) = match path.read_link() {
        _ if is_of_system => (path.canonicalize(), OFlags::empty()),
        Ok(target) => {
            let names: [(&str, &dyn Display); 2] =
                [("path", &path.display()), ("target", &target.display())];
            return Err(
                CliError::usage(Text::FileIsLink.with(&names)).with_hint(Text::HintFileIsLink)
            );
        }
        Err(_) => (Ok(path.to_path_buf()), OFlags::NOFOLLOW),
    };
    let target = target.unwrap_or_else(|_| path.to_path_buf());
    let written = match target.metadata() {
        Ok(there) if !there.is_file() => OpenOptions::new()
            .write(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&target)
            .and_then(|mut file| fill(&mut file)),
        _ => replace(&target, fill),
    };
    written.map_err(|error| unwritten(path, error))
}

/// Says that a file could not be written.
pub(crate) fn unwritten(path: &Path, error: io::Error) -> CliError {
    CliError::failed(Text::FileUnwritten.with(&[("path", &path.display())])).with_source(error)
}

/// Puts a file in the place of `target`, whose owner and mode it gets if that is a file. A link is replaced
/// and not followed.
pub(crate) fn replace(
    target: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let before = match target.symlink_metadata() {
        Ok(metadata) => Some(metadata).filter(Metadata::is_file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    remove_left_over(target);
    let beside = beside(target);
    // Open to nobody else. A kill leaves nothing of a file without a name.
    let nameless = OpenOptions::new()
        .write(true)
        .custom_flags(OFlags::TMPFILE.bits().cast_signed())
        .mode(0o600)
        .open(
            target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(".".as_ref()),
        );
    let has_name = nameless.is_err();
    let mut made = match nameless {
        Ok(made) => made,
        // Not there before, whatever it could be.
        Err(_) => OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?,
    };
    let written =
        fill(&mut made).and_then(|()| finish(&made, before.as_ref())).and_then(
            |()| match has_name {
                true => fs::rename(&beside, target),
                false => put(&made, target, &beside),
            },
        );
    if written.is_err() {
        // Nothing more can be done about a file that cannot be removed.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Returns the name that a file has before it takes the place of `target`: the process that writes it is in it.
fn beside(target: &Path) -> PathBuf {
    let stamp = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().subsec_nanos();
    let beginning = beginning(target);
    target.with_file_name(format!("{beginning}{}.{stamp}.tmp", std::process::id()))
}

/// Returns what the names of files beside `target` begin with.
fn beginning(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let shown = name.get(..name.floor_char_boundary(NAME_BYTES_MAX)).unwrap_or_default();
    format!(".{shown}.")
}

/// Gives a file without a name that of `target`. Only to take the place of something it needs another one
/// before, for a moment.
fn put(file: &File, target: &Path, beside: &Path) -> io::Result<()> {
    match give_name(file, target) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            give_name(file, beside)?;
            fs::rename(beside, target)
        }
        given => given,
    }
}

/// Gives a file without a name one.
fn give_name(file: &File, path: &Path) -> io::Result<()> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Takes away what processes left that were killed while they wrote `target`.
fn remove_left_over(target: &Path) {
    let beginning = beginning(target);
    let entries = target.with_file_name("");
    let folder = if entries.as_os_str().is_empty() { Path::new(".") } else { &entries };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let numbers = found.to_str().and_then(|found| {
            let rest = found.strip_prefix(&beginning)?;
            rest.strip_suffix(".tmp")?.split_once('.')
        });
        let Some((process, stamp)) = numbers else { continue };
        let (Ok(process), Ok(_)) = (process.parse::<i32>(), stamp.parse::<u32>()) else { continue };
        let Some(process) = rustix::process::Pid::from_raw(process) else { continue };
        // One of another user is there, too.
        let is_gone = rustix::process::test_kill_process(process) == Err(Errno::SRCH);
        if is_gone && entry.metadata().is_ok_and(|metadata| metadata.is_file()) {
            // What cannot be removed stays as it was.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn finish(file: &File, before: Option<&Metadata>) -> io::Result<()> {
    if let Some(before) = before {
        let new = file.metadata()?;
        if (before.uid(), before.gid()) != (new.uid(), new.gid()) {
            fchown(file, Some(before.uid()), Some(before.gid()))?;
        }
        file.set_permissions(PermissionsExt::from_mode(before.mode() & 0o777))?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_has_a_name_while_a_file_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.md");
        for (text, before) in [("one", vec![]), ("two", vec!["out.md".to_owned()])] {
            replace(&target, |file| {
                assert_eq!(names(folder.path()), before);
                file.write_all(text.as_bytes())
            })
            .unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
        }
        replace(&target, |_| Err(io::ErrorKind::StorageFull.into())).unwrap_err();
        assert_eq!(names(folder.path()), ["out.md"]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "two");
    }

    #[test]
    fn a_file_in_the_place_of_nothing_has_no_other_name_before() {
        let folder = tempfile::tempdir().unwrap();
        // Any name beside it would be too long.
        let target = folder.path().join("n".repeat(255));
        replace(&target, |file| file.write_all(b"one")).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "one");
    }

    #[test]
    fn a_file_with_the_longest_name_is_replaced() {
        for name in ["n".repeat(255), "字".repeat(85)] {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join(&name);
            for text in ["one", "two"] {
                replace(&target, |file| file.write_all(text.as_bytes())).unwrap();
                assert_eq!(fs::read_to_string(&target).unwrap(), text);
            }
            let mut ended = std::process::Command::new("true").spawn().unwrap();
            ended.wait().unwrap();
            let left = format!("{}{}.17.tmp", beginning(&target), ended.id());
            fs::write(folder.path().join(left), "").unwrap();
            replace(&target, |_| Ok(())).unwrap();
            assert_eq!(names(folder.path()), [name]);
        }
    }

    #[test]
    fn what_a_killed_process_left_goes_and_what_another_writes_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let left = format!(".out.md.{}.17.tmp", ended.id());
        let stays = [
            format!(".out.md.{}.17.tmp", std::process::id()),
            format!(".other.md.{}.17.tmp", ended.id()),
            format!(".out.md.{}.x.tmp", ended.id()),
        ];
        for name in stays.iter().chain([&left]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        replace(&folder.path().join("out.md"), |_| Ok(())).unwrap();
        let mut expected = stays.to_vec();
        expected.push("out.md".to_owned());
        expected.sort();
        assert_eq!(names(folder.path()), expected);
    }
}
