//! Unpacks a bundle. It comes from anywhere: nothing in it is believed, and nothing is written outside of a new folder.

#![expect(clippy::disallowed_methods, reason = "works in a folder of tenon's own")]

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufRead, BufReader, Read, Take},
    os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink},
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use flate2::bufread::GzDecoder;
use tenon_agent::{Session, read_session};

use super::{
    Rebuilt, Root, attributes,
    bundle::{
        ABOUT, ABOUT_BYTES_MAX, About, BYTES_MAX, CHANGES, CHANGES_BYTES_MAX, ENTRIES_MAX, LOG,
        POWERS, ROOTS, ROOTS_MAX, VERSION, open_file,
    },
    copy, copy_of_home, layout,
    made::{MADE, Made, Stored},
    scratch::Scratch,
    tar::{self, DEPTH_MAX, Entry, EntryKind},
    times::{set_modified, set_moment},
};
use crate::{config::Config, error::CliError, texts::Text};

/// Where the roots are until it is known what they are called.
const UNPACKED: &str = "unpacked";

/// Unpacks a bundle into a folder of its own.
pub(crate) fn unpack(path: &Path, config: &Config) -> Result<(Session, Rebuilt), CliError> {
    let refused = |error: io::Error| {
        CliError::usage(Text::NoBundle.with(&[("path", &path.display())])).with_source(error)
    };
    let scratch = Scratch::new(config)?;
    let file = open_file(path).map_err(refused)?;
    // One byte more than there may be, so that too much is seen.
    let limited =
        GzDecoder::new(BufReader::new(file)).take(BYTES_MAX + (ENTRIES_MAX as u64 * 1_024));
    let mut limited = BufReader::new(limited);
    let (links, folders) = (Vec::new(), Vec::new());
    let pointers = Vec::new();
    let mut unpacking = Unpacking { scratch: &scratch, links, folders, pointers, changes: None };
    let about = unpacking.all(&mut limited).map_err(refused)?;
    to_the_end(&mut limited).map_err(refused)?;
    let session = read_session(scratch.path(), "session");
    let mut names = about.home.iter().map(PathBuf::as_path);
    let (home, home_name) = (names.next(), names.next());
    let way_of_home = home_name.zip(home);
    let ways = session
        .as_ref()
        .map(|session| layout::ways(&session.since_move(), &about.roots, way_of_home));
    let links = ways.unwrap_or_default();
    let (roots, ways) = unpacking.put(&about, &links).map_err(refused)?;
    let mut session =
        session.map_err(|error| CliError::usage(Text::BundleWithoutLog).with_source(error))?;
    let ways = layout::link_ways(&roots, &links, ways).map_err(refused)?;
    let stored = unpacking.changes.take().unwrap_or_default();
    session.id = about.session;
    let made = match about.has_changes {
        true => Made::of(&session.since_move()).with(stored, scratch.path()),
        false => Made::default(),
    };
    let (notes, left_out) = (copy::without_repository(&roots), Vec::new());
    let log_is_masked = about.log_is_masked;
    let home = home.and_then(|home| copy_of_home(&roots, home));
    let home_name =
        ways.iter().find(|way| home.is_some() && home_name == Some(&*way.recorded)).cloned();
    Ok((
        session,
        Rebuilt { scratch, roots, ways, home, home_name, notes, made, left_out, log_is_masked },
    ))
}

/// Reads on behind the archive to the end of the file, where the checksum of all of it is.
fn to_the_end(from: &mut BufReader<Take<GzDecoder<BufReader<File>>>>) -> io::Result<()> {
    io::copy(from, &mut io::sink()).map_err(|error| match error.kind() {
        // The decoder has read all that it expects, and its sum is not the one that it finds.
        io::ErrorKind::InvalidInput => tar::wrong("it is damaged: its checksum is another"),
        _ => error,
    })?;
    if from.get_ref().limit() == 0 {
        return Err(tar::wrong("it unpacks to more than a bundle may hold"));
    }
    let file = from.get_mut().get_mut().get_mut();
    match file.fill_buf()?.is_empty() {
        true => Ok(()),
        false => Err(tar::wrong("something follows behind its end")),
    }
}

struct Unpacking<'a> {
    scratch: &'a Scratch,
    /// Made last, so that nothing is written through one.
    links: Vec<(PathBuf, PathBuf, SystemTime)>,
    /// Closed last, so that this user gets in.
    folders: Vec<(PathBuf, Entry)>,
    /// Files in which git has paths.
    pointers: Vec<(PathBuf, Entry)>,
    changes: Option<Stored>,
}

impl Unpacking<'_> {
    fn all(&mut self, from: &mut impl Read) -> io::Result<About> {
        let (mut about, mut bytes, mut entries) = (None, 0_u64, 0);
        while let Some(entry) = tar::read_header(from)? {
            entries += 1;
            if let EntryKind::File(length) = entry.kind {
                bytes = bytes.saturating_add(length);
            }
            bytes += entry.attributes.iter().map(|(_, value)| value.len() as u64).sum::<u64>();
            if entries > ENTRIES_MAX || bytes > BYTES_MAX {
                return Err(tar::wrong("it unpacks to more than a bundle may hold"));
            }
            if entry.path == Path::new(ABOUT) {
                about = Some(read_about(from, &entry)?);
            } else if entry.path == Path::new(CHANGES) {
                let text = read_own(from, &entry, CHANGES_BYTES_MAX)?;
                self.changes = Some(serde_json::from_slice(&text)?);
            } else {
                self.entry(from, entry)?;
            }
        }
        about.ok_or_else(|| tar::wrong("it does not say what it is"))
    }

    /// Puts the copies where they belong, and makes what leads to them; returns them, and where `ways` are.
    fn put(
        &self,
        about: &About,
        ways: &[(PathBuf, PathBuf)],
    ) -> io::Result<(Vec<Root>, Vec<Root>)> {
        let folders = about.roots.clone();
        // There what is in two of them is twice.
        let (roots, ways) = match about.version < VERSION && layout::are_nested(&folders) {
            true => {
                let places = layout::by_number(folders.len());
                (self.scratch.roots_at(folders, &places), Vec::new())
            }
            false => self.scratch.roots(folders, ways),
        };
        let is_part = |root: &Root| layout::is_part(&roots, root);
        for (number, root) in roots.iter().enumerate().filter(|(_, root)| !is_part(root)) {
            let unpacked = self.unpacked(number);
            fs::create_dir_all(&unpacked)?;
            fs::create_dir_all(root.copy.parent().unwrap_or(&root.copy))?;
            fs::rename(unpacked, &root.copy)?;
        }
        for root in &roots {
            fs::create_dir_all(&root.copy)?;
        }
        let here = |path: &Path| layout::here(&roots, path);
        for (pointer, entry) in &self.pointers {
            let at = self.placed(&roots, pointer);
            let content = layout::pointing(&fs::read(&at)?, here);
            fs::write(&at, content)?;
            set_modified(&at, entry.modified);
            fs::set_permissions(&at, Permissions::from_mode(entry.mode & !POWERS))?;
        }
        for (link, target, modified) in &self.links {
            let link = self.placed(&roots, link);
            symlink(here(target), &link)?;
            set_modified(&link, *modified);
        }
        for (folder, entry) in self.folders.iter().rev() {
            let folder = self.placed(&roots, folder);
            attributes::set(&folder, &entry.attributes);
            set_modified(&folder, entry.modified);
            fs::set_permissions(folder, Permissions::from_mode(entry.mode))?;
        }
        for (root, modified) in roots.iter().zip(&about.roots_modified) {
            set_moment(&root.copy, *modified);
        }
        Ok((roots, ways))
    }

    /// Returns where a root is until it is put where it belongs.
    fn unpacked(&self, number: usize) -> PathBuf {
        self.scratch.path().join(UNPACKED).join(number.to_string())
    }

    /// Returns where something is now that was unpacked to `place`.
    fn placed(&self, roots: &[Root], place: &Path) -> PathBuf {
        let mut numbered =
            roots.iter().enumerate().filter(|(_, root)| !layout::is_part(roots, root));
        let found = numbered.find_map(|(number, root)| {
            place.strip_prefix(self.unpacked(number)).ok().map(|rest| root.copy.join(rest))
        });
        found.unwrap_or_else(|| place.to_path_buf())
    }

    fn entry(&mut self, from: &mut impl Read, entry: Entry) -> io::Result<()> {
        let place = self.place(&entry.path)?;
        if let Some(above) = place.parent() {
            fs::create_dir_all(above)?;
        }
        match &entry.kind {
            EntryKind::Folder => {
                if !place.is_dir() {
                    fs::create_dir(&place)?;
                }
                self.folders.push((place, entry));
            }
            EntryKind::Link(target) => {
                self.links.push((place, PathBuf::from(target), entry.modified));
            }
            EntryKind::File(bytes) => {
                let mut options = OpenOptions::new();
                // Never one that is there already.
                let mut file = options.write(true).create_new(true).mode(0o600).open(&place)?;
                if io::copy(&mut from.take(*bytes), &mut file)? != *bytes {
                    return Err(tar::wrong("it ends in the middle of a file"));
                }
                tar::skip_padding(from, *bytes)?;
                attributes::set(&place, &entry.attributes);
                file.set_modified(entry.modified)?;
                if layout::is_pointer(&place) && *bytes <= layout::POINTER_BYTES_MAX {
                    self.pointers.push((place, entry));
                    return Ok(());
                }
                file.set_permissions(Permissions::from_mode(entry.mode & !POWERS))?;
            }
        }
        Ok(())
    }

    /// Returns where an entry goes, which is in the new folder.
    fn place(&self, path: &Path) -> io::Result<PathBuf> {
        let names: Option<Vec<&OsStr>> = path
            .components()
            .map(|component| match component {
                Component::Normal(name) => Some(name),
                _ => None,
            })
            .collect();
        let names = names.filter(|names| names.len() <= DEPTH_MAX).unwrap_or_default();
        let is_below = |number: &OsStr, bound: usize| {
            let number = number.to_str().and_then(|number| number.parse::<usize>().ok());
            number.is_some_and(|number| number < bound)
        };
        match names.as_slice() {
            [log] if *log == LOG => Ok(self.scratch.path().join(LOG)),
            [top, number, rest @ ..]
                if *top == ROOTS && is_below(number, ROOTS_MAX) && !rest.is_empty() =>
            {
                let unpacked = self.scratch.path().join(UNPACKED).join(number);
                Ok(unpacked.join(rest.iter().collect::<PathBuf>()))
            }
            [top, number, _, ..] if *top == MADE && is_below(number, ENTRIES_MAX) => {
                Ok(self.scratch.path().join(path))
            }
            _ => Err(tar::wrong(&format!("{} does not belong into a bundle", path.display()))),
        }
    }
}

/// Reads what a bundle says of itself in `entry`.
fn read_own(from: &mut impl Read, entry: &Entry, bytes_max: u64) -> io::Result<Vec<u8>> {
    let EntryKind::File(bytes) = entry.kind else { return Err(tar::wrong("it is none")) };
    if bytes > bytes_max {
        return Err(tar::wrong("it says too much of itself"));
    }
    let mut text = Vec::new();
    from.take(bytes).read_to_end(&mut text)?;
    tar::skip_padding(from, bytes)?;
    Ok(text)
}

fn read_about(from: &mut impl Read, entry: &Entry) -> io::Result<About> {
    let about: About = serde_json::from_slice(&read_own(from, entry, ABOUT_BYTES_MAX)?)?;
    let is_name = |part: Component| matches!(part, Component::RootDir | Component::Normal(_));
    let is_named = |root: &PathBuf| {
        root.is_absolute() && root.components().count() > 1 && root.components().all(is_name)
    };
    if about.version > VERSION {
        return Err(tar::wrong("a newer version of tenon made it"));
    }
    if about.roots.is_empty() || about.roots.len() > ROOTS_MAX || !about.roots.iter().all(is_named)
    {
        return Err(tar::wrong("the folders that it names are none"));
    }
    Ok(about)
}
