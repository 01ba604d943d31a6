//! Copies folders: files with all their names, links, pipes, permissions and times, also what their owner
//! closed for himself. Links are copied, never followed; sockets and devices are left out, and so are folders
//! that can be made again (CACHEDIR.TAG), and what no command may read of a home folder.

#![expect(clippy::disallowed_methods, reason = "copies the workspace into a folder of tenon's own")]

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, Metadata, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{
        DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink,
    },
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::fs::CWD;
use tenon_sandbox::{Mounts, Source, secrets_of_home, secrets_of_root};

use super::{
    Root, attributes, layout,
    names::{Names, id_of},
    times::set_modified,
};
use crate::{config::Folders, error::CliError, texts::Text};

/// What a workspace may have to be copied: a repository with its history, not a disk.
pub(super) const BYTES_MAX: u64 = 4 << 30;
pub(super) const ENTRIES_MAX: u64 = 500_000;

/// A folder with this file, and this text at its beginning, can be made again
/// (<https://bford.info/cachedir/>).
const CACHE_TAG: (&str, &[u8]) = ("CACHEDIR.TAG", b"Signature: 8a477f597d28d172789f06886806bc55");

/// Copies trees within one limit.
pub(super) struct Copying {
    /// Folders and their copies: what leads to one leads to its copy.
    roots: Vec<Root>,
    /// Not copied, and not spoken of.
    skipped: Vec<PathBuf>,
    /// Copied without what is in it, and said so; whether it is tenon's own.
    left_out: Vec<(PathBuf, bool)>,
    /// A folder that tenon makes for copies, and when the session began: a later one was not there.
    cache: Option<(PathBuf, SystemTime)>,
    bytes: u64,
    entries: u64,
    notes: Vec<String>,
    /// The names of files that have several.
    names: Names,
}

impl Copying {
    /// Returns one that leaves out `own` folders and `scratch`.
    pub(super) fn new(own: &[PathBuf], scratch: &Path, roots: &[Root]) -> Self {
        let mut skipped = own.to_vec();
        skipped.extend(scratch.parent().map(Path::to_path_buf));
        let (roots, left_out, notes) = (roots.to_vec(), Vec::new(), Vec::new());
        let (bytes, entries, names) = (0, 0, Names::default());
        Self { roots, skipped, left_out, cache: None, bytes, entries, notes, names }
    }

    /// Has it leave out what is in tenon's own folders, and where programs keep secrets, and say
    /// so. The names are there, as they were for the session, which `began` then.
    pub(super) fn without_private(
        mut self,
        folders: &Folders,
        began: SystemTime,
        mounts: &Mounts,
    ) -> Self {
        self.cache = folders.cache.canonicalize().ok().map(|cache| (cache, began));
        let own = [&folders.state, &folders.config, &folders.cache];
        let own = own.into_iter().flat_map(|own| names_of(own, mounts)).map(|own| (own, true));
        let secrets = secrets_of_home(&folders.home).chain(secrets_of_root());
        let secrets = secrets.flat_map(|path| names_of(&path, mounts)).map(|path| (path, false));
        self.left_out.extend(own.chain(secrets));
        self
    }

    /// Returns what it leaves out and says so.
    pub(super) fn left_out(&self) -> Vec<PathBuf> {
        self.left_out.iter().map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn into_notes(self) -> (Vec<String>, Names) {
        (self.notes, self.names)
    }

    /// Copies the roots, and what is in two of them once.
    pub(super) fn roots(&mut self) -> Result<(), CliError> {
        let mut roots = self.roots.clone();
        // That in which another is goes first.
        roots.sort_by_key(|root| root.copy.components().count());
        for Root { recorded, copy } in roots {
            if copy.symlink_metadata().is_err() {
                self.tree(&recorded, &copy)?;
            }
        }
        Ok(())
    }

    /// Copies the folder `from` to `to`, which is made.
    pub(super) fn tree(&mut self, from: &Path, to: &Path) -> Result<(), CliError> {
        make_folder(to)?;
        let top = from.canonicalize().and_then(|from| Source::open(&from));
        let top = top.map_err(|error| gone(from, error))?;
        let mut folders = vec![PathBuf::new()];
        let mut closing = Vec::new();
        while let Some(beneath) = folders.pop() {
            let (shown, to) = (from.join(&beneath), to.join(&beneath));
            let open = || -> io::Result<_> {
                let folder = top.folder(&beneath)?;
                Ok((folder.metadata()?, folder.names()?, folder))
            };
            let (metadata, names, folder) = match open() {
                Ok(opened) => opened,
                Err(error) if beneath.as_os_str().is_empty() => return Err(gone(from, error)),
                Err(error) => {
                    self.not_copied(&shown, error)?;
                    continue;
                }
            };
            self.copy_attributes((&folder, &shown), &to);
            for name in names {
                let shown = shown.join(&name);
                self.count(0)?;
                let copied = match folder.child(&name) {
                    Ok(source) => self.entry((&source, &shown), &to.join(&name))?,
                    Err(error) => Err(error),
                };
                match copied {
                    Ok(true) => folders.push(beneath.join(name)),
                    Ok(false) => {}
                    Err(error) => self.not_copied(&shown, error)?,
                }
            }
            closing.push((to, metadata));
        }
        for (folder, metadata) in closing.iter().rev() {
            let _ = self.names.set_rights(folder, metadata.permissions().mode() & 0o7777);
            self.names.set_modified(folder, metadata.modified().unwrap_or(UNIX_EPOCH));
        }
        Ok(())
    }

    /// Notes that something is not in the copy; fails where nothing more would be.
    fn not_copied(&mut self, shown: &Path, error: io::Error) -> Result<(), CliError> {
        if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            return Err(uncopied(shown, error));
        }
        self.notes.push(format!("{} was not copied: {error}", shown.display()));
        Ok(())
    }

    /// Copies what is at `from`, with all in it if it is a folder.
    pub(super) fn any(&mut self, from: &Path, to: &Path) -> Result<(), CliError> {
        let copied = match Source::open(from) {
            Ok(source) => self.entry((&source, from), to)?,
            Err(error) => Err(error),
        };
        match copied {
            Ok(true) => self.tree(from, to),
            Ok(false) => Ok(()),
            Err(error) => Err(uncopied(from, error)),
        }
    }

    /// Copies one thing; returns whether it is a folder to go into.
    fn entry(
        &mut self,
        (source, shown): (&Source, &Path),
        to: &Path,
    ) -> Result<io::Result<bool>, CliError> {
        if self.skipped.iter().any(|own| own == shown) {
            return Ok(Ok(false));
        }
        let metadata = match source.metadata() {
            Ok(metadata) => metadata,
            Err(error) => return Ok(Err(error)),
        };
        if self.is_of_copies(source, &metadata, shown) {
            return Ok(Ok(false));
        }
        if let Some((_, is_own)) = self.left_out.iter().find(|(path, _)| path == shown) {
            let path = shown.display();
            self.notes.push(match is_own {
                true => format!("{path} was left out (it is tenon's own)"),
                false => format!("{path} was left out (it holds secrets)"),
            });
            return Ok(self.name_alone(source, &metadata, shown, to).map(|()| false));
        }
        if metadata.is_symlink() {
            let linked = source
                .target()
                .and_then(|target| symlink(layout::here(&self.roots, target.as_ref()), to));
            set_modified(to, metadata.modified().unwrap_or(UNIX_EPOCH));
            return Ok(linked.map(|()| false));
        }
        if metadata.is_dir() {
            if is_cache(source) {
                self.notes.push(format!("{} was left out (a cache)", shown.display()));
                return Ok(Ok(false));
            }
            return Ok(DirBuilder::new().mode(0o700).create(to).map(|()| true));
        }
        if metadata.file_type().is_fifo() {
            return Ok(make_pipe(to, metadata.mode(), metadata.modified().unwrap_or(UNIX_EPOCH))
                .map(|()| false));
        }
        if !metadata.is_file() {
            return Ok(Ok(false));
        }
        let id = id_of(&metadata);
        let has_several = metadata.nlink() > 1;
        let first = self.names.of(id).next().filter(|_| has_several).map(Path::to_path_buf);
        if let Some(first) = first
            && fs::hard_link(first, to).is_ok()
        {
            self.names.add(id, to);
            return Ok(Ok(false));
        }
        self.count(metadata.len())?;
        let copied = self.copy_file(source, &metadata, to);
        self.copy_attributes((source, shown), to);
        set_modified(to, metadata.modified().unwrap_or(UNIX_EPOCH));
        if has_several {
            self.names.add(id, to);
        }
        Ok(copied.map(|()| false))
    }

    /// Whether something is there only because tenon copies workspaces.
    fn is_of_copies(&self, source: &Source, metadata: &Metadata, shown: &Path) -> bool {
        let Some((cache, began)) = &self.cache else { return false };
        let is_later = metadata.created().is_ok_and(|born| born > *began);
        let has_only = |name: Option<&OsStr>| {
            source.names().is_ok_and(|names| names.iter().all(|it| Some(&**it) == name))
        };
        metadata.is_dir()
            && is_later
            && (shown == cache || cache.parent() == Some(shown) && has_only(cache.file_name()))
    }

    /// Makes something empty in the place of what is left out: its name is seen by commands, which see nothing in it.
    fn name_alone(
        &self,
        source: &Source,
        metadata: &Metadata,
        shown: &Path,
        to: &Path,
    ) -> io::Result<()> {
        let (mut is_folder, modified) = (metadata.is_dir(), metadata.modified()?);
        if metadata.is_symlink() {
            let target = layout::here(&self.roots, source.target()?.as_ref());
            let leads_to_root =
                |it: PathBuf| self.roots.iter().any(|root| it.starts_with(&root.recorded));
            if shown.canonicalize().is_ok_and(leads_to_root) {
                return symlink(target, to).map(|()| set_modified(to, modified));
            }
            is_folder = shown.is_dir();
        }
        match is_folder {
            true => DirBuilder::new().mode(0o700).create(to)?,
            false => drop(OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?),
        }
        set_modified(to, modified);
        Ok(())
    }

    fn copy_file(&self, source: &Source, metadata: &Metadata, to: &Path) -> io::Result<()> {
        let mut file = source.read()?;
        let mut copy =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to)?;
        if layout::is_pointer(to) && metadata.len() <= layout::POINTER_BYTES_MAX {
            let mut content = Vec::new();
            file.read_to_end(&mut content)?;
            let here = |path: &Path| layout::here(&self.roots, path);
            copy.write_all(&layout::pointing(&content, here))?;
        } else {
            io::copy(&mut file, &mut copy)?;
        }
        copy.set_permissions(metadata.permissions())
    }

    fn copy_attributes(&mut self, (source, shown): (&Source, &Path), to: &Path) {
        let attributes = attributes::copied(&source.attributes().unwrap_or_default());
        if attributes.is_empty() || attributes::set(to, &attributes) {
            return;
        }
        if let Ok(metadata) = fs::symlink_metadata(to) {
            // A read-only file takes none.
            let mode = metadata.permissions().mode();
            let _ = fs::set_permissions(to, Permissions::from_mode(mode | 0o600));
            if !attributes::set(to, &attributes) {
                let shown = shown.display();
                self.notes.push(format!("{shown} was copied without its extended attributes"));
            }
            let _ = fs::set_permissions(to, Permissions::from_mode(mode));
        }
    }

    fn count(&mut self, bytes: u64) -> Result<(), CliError> {
        self.entries += u64::from(bytes == 0);
        self.bytes += bytes;
        if self.bytes <= BYTES_MAX && self.entries <= ENTRIES_MAX {
            return Ok(());
        }
        let (entries, bytes) = (ENTRIES_MAX, BYTES_MAX >> 30);
        let too_large = Text::TooLargeToCopy.with(&[("n", &entries), ("bytes", &bytes)]);
        Err(CliError::failed(too_large).with_hint(Text::HintToolsFrom))
    }
}

/// Says in which copies of `roots` git does not find the repository that the folder had, which is in none of them.
pub(super) fn without_repository(roots: &[Root]) -> Vec<String> {
    let note = |root: &Root| {
        let pointer = root.copy.join(".git");
        let is_pointer = pointer
            .symlink_metadata()
            .is_ok_and(|it| it.is_file() && it.len() <= layout::POINTER_BYTES_MAX);
        let content = is_pointer.then(|| fs::read(&pointer).ok()).flatten()?;
        let repository = layout::repository(&root.recorded, &content)?;
        let copied = layout::here(roots, &repository);
        let is_copied = roots.iter().any(|root| copied.starts_with(&root.copy));
        let (folder, repository) = (root.recorded.display(), repository.display());
        (!is_copied).then(|| {
            format!(
                "the repository of {folder} is in no folder of the session ({repository}): commands of git find \
                 none there, and differ"
            )
        })
    };
    roots.iter().filter_map(note).collect()
}

/// Makes a folder and those above it.
pub(super) fn make_folder(path: &Path) -> Result<(), CliError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        CliError::failed(Text::FolderNotMade.with(&[("path", &path.display())])).with_source(error)
    })
}

/// Makes a named pipe.
pub(super) fn make_pipe(path: &Path, mode: u32, modified: SystemTime) -> io::Result<()> {
    let rights = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, path, rustix::fs::FileType::Fifo, rights, 0)?;
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))?;
    set_modified(path, modified);
    Ok(())
}

pub(super) fn uncopied(path: &Path, error: io::Error) -> CliError {
    CliError::failed(Text::FileNotCopied.with(&[("path", &path.display())])).with_source(error)
}

pub(super) fn gone(folder: &Path, error: io::Error) -> CliError {
    let gone = Text::FolderGone.with(&[("folder", &folder.display())]);
    CliError::failed(gone).with_source(error).with_hint(Text::HintToolsFrom)
}

/// Returns a path by the names by which a workspace may have it: where the folder it is in leads, where
/// itself does, and where else that is mounted.
pub(super) fn names_of(path: &Path, mounts: &Mounts) -> Vec<PathBuf> {
    let above = path.parent().and_then(|above| above.canonicalize().ok());
    let named = above.and_then(|above| Some(above.join(path.file_name()?)));
    let mut names: Vec<PathBuf> = named.into_iter().chain(path.canonicalize().ok()).collect();
    names.dedup();
    let elsewhere = mounts.elsewhere(names.iter().map(PathBuf::as_path));
    names.extend(elsewhere);
    names
}

fn is_cache(folder: &Source) -> bool {
    let (name, signature) = CACHE_TAG;
    let Ok(file) = folder.child(name.as_ref()).and_then(|tag| tag.read()) else { return false };
    let mut start = Vec::new();
    let read = file.take(signature.len() as u64).read_to_end(&mut start);
    read.is_ok() && start == signature
}

/// Takes away what is at `path` and makes the folder above it.
pub(super) fn make_room(path: &Path) -> io::Result<()> {
    remove(path)?;
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
