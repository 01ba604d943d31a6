//! What a copy is made of: a file or folder that is held while it is read, also one that its owner, who
//! this is, closed for himself, or that is in such a folder. It is open for the moment of one look and
//! closed again; no link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags};

use crate::journal::{attributes_of, kernel_path};
use crate::linux::closed::{open_through, through};
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
}
