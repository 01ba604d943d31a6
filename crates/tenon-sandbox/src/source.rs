//! What a copy is made of, and what is in one: a file or folder that is held while it is read or moved, also one that
//! its owner, who this is, closed for himself, or that is in such a folder. It is open for the moment of one look and
//! closed again; no link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::io::Errno;

use crate::journal::{attributes_of, kernel_path};
use crate::linux::closed::{open_through, set, through};
use crate::linux::openat::{look_at, open_beneath};

/// Something that is held, whatever comes to its name meanwhile.
///
/// ```
/// use std::{io::Read, path::Path};
///
/// use tenon_sandbox::Source;
///
/// let folder = tempfile::tempdir()?;
/// std::fs::create_dir(folder.path().join("in"))?;
/// std::fs::write(folder.path().join("in/file"), "text")?;
/// let source = Source::open(folder.path())?.folder(Path::new("in"))?;
/// assert_eq!(source.names()?, ["file"]);
/// let mut text = String::new();
/// source.child("file".as_ref())?.read()?.read_to_string(&mut text)?;
/// assert_eq!(text, "text");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Source(OwnedFd);

impl Source {
    /// Takes hold of what is at `path`, a link itself.
    ///
    /// # Errors
    /// What open says.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Takes hold of the folder at `path` beneath this one.
    ///
    /// # Errors
    /// What open says, on the way, too.
    pub fn folder(&self, path: &Path) -> io::Result<Self> {
        Ok(Self(open_through(&self.0, path)?))
    }

    /// Takes hold of what has a name in this folder, a link itself.
    ///
    /// # Errors
    /// What open says.
    pub fn child(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(through(&self.0, || look_at(&self.0, name))?))
    }

    /// Returns the names in this folder.
    ///
    /// # Errors
    /// What open and the reading of it say.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let open = || open_beneath(&self.0, ".", flags, Mode::empty());
        let mut names = Vec::new();
        for entry in Dir::new(through(&self.0, open)?)? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            names.extend((name != "." && name != "..").then_some(name));
        }
        Ok(names)
    }

    /// Returns what is known of it besides its content.
    ///
    /// # Errors
    /// What stat says.
    pub fn metadata(&self) -> io::Result<Metadata> {
        File::from(self.0.try_clone()?).metadata()
    }

    /// Opens a file for reading it.
    ///
    /// # Errors
    /// What open says.
    pub fn read(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let path = kernel_path(&self.0, OsStr::new(""));
        let open = || rustix::fs::open(&*path, flags, Mode::empty());
        Ok(through(&self.0, open)?.into())
    }

    /// Returns where a link leads.
    ///
    /// # Errors
    /// What readlink says.
    pub fn target(&self) -> io::Result<OsString> {
        let target = rustix::fs::readlinkat(&self.0, "", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Returns names and values of its extended attributes; `None` where this user may not read them.
    #[must_use]
    pub fn attributes(&self) -> Option<Vec<(OsString, OsString)>> {
        attributes_of(&self.0)
    }

    /// Takes hold of the folder at `path` beneath this one; it and those on the way are made where nothing is.
    ///
    /// # Errors
    /// What mkdir and open say, on the way, too.
    pub fn made_folder(&self, path: &Path) -> io::Result<Self> {
        let mut folder = self.folder(Path::new(""))?;
        for name in path {
            match rustix::fs::mkdirat(&folder.0, single(name)?, Mode::from_raw_mode(0o777)) {
                Err(error) if error != Errno::EXIST => return Err(error.into()),
                _ => folder = folder.folder(Path::new(name))?,
            }
        }
        Ok(folder)
    }

    /// Moves what has a name in this folder, a link itself, to a name in another one.
    ///
    /// # Errors
    /// What rename says, and `InvalidInput` for what is a path.
    pub fn rename(&self, name: &OsStr, (to, new): (&Self, &OsStr)) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, single(name)?, &to.0, single(new)?)?)
    }

    /// Sets its permissions.
    ///
    /// # Errors
    /// What chmod says, which takes no link.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(set(&self.0, mode & 0o7777)?)
    }

    /// Has it change now, by the clock of what writes files, which a program's own is ahead of.
    ///
    /// # Errors
    /// What utimensat says.
    pub fn touch(&self) -> io::Result<()> {
        let [last_access, last_modification] =
            [UTIME_OMIT, UTIME_NOW].map(|tv_nsec| Timespec { tv_sec: 0, tv_nsec });
        let times = Timestamps { last_access, last_modification };
        Ok(rustix::fs::utimensat(&self.0, "", &times, AtFlags::EMPTY_PATH)?)
    }
}

/// Returns a name; what is a path of several would be followed through links.
fn single(name: &OsStr) -> io::Result<&OsStr> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part == name => Ok(name),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own folders")]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_is_held_is_moved_and_changed_where_it_is_and_through_no_link() {
        let place = tempfile::tempdir().unwrap();
        let [top, outside] = ["top", "outside"].map(|name| place.path().join(name));
        for folder in [&top, &outside] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(outside.join("file"), "mine").unwrap();
        symlink(&outside, top.join("link")).unwrap();
        let held = Source::open(&top).unwrap();
        let deep = held.made_folder("a/b".as_ref()).unwrap();
        for path in ["link", "link/new", "a/../../outside", "/tmp"] {
            assert!(held.made_folder(path.as_ref()).is_err(), "{path}");
        }
        for path in ["link/file", "..", ".", "", "/", "a/b", "a/"] {
            let moved = held.rename(path.as_ref(), (&deep, "x".as_ref()));
            assert_eq!(moved.unwrap_err().kind(), ErrorKind::InvalidInput, "{path}");
        }
        // The folder is held, whatever its name is by now.
        std::fs::rename(top.join("a"), top.join("c")).unwrap();
        symlink(&outside, top.join("a")).unwrap();
        held.rename("link".as_ref(), (&deep, "x".as_ref())).unwrap();
        let link = deep.child("x".as_ref()).unwrap();
        assert!(top.join("c/b/x").is_symlink() && link.set_mode(0o700).is_err());
        link.touch().unwrap();
        deep.set_mode(0o750).unwrap();
        let mode = std::fs::metadata(top.join("c/b")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o750);
        let names = Source::open(&outside).unwrap().names().unwrap();
        assert_eq!(names, ["file"]);
    }
}
