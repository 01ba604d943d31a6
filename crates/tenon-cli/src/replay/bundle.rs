//! A session with the files that it began with, in one file that replays on another machine: its
//! log, and the workspace as it was, in a tar archive that gzip made smaller.
//!
//! What is known to hold secrets is left out.

#![expect(clippy::disallowed_methods, reason = "bundles are files that the person names")]

use std::{
    borrow::Cow,
    collections::HashSet,
    ffi::OsStr,
    fs::{self, File, Permissions},
    io::{self, BufWriter, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use flate2::{Compression, write::GzEncoder};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenon_agent::{Record, Session, SessionEvent};
use tenon_model::{CredentialShape, KnownValue, Masks, credential_values};

use super::{
    Rebuilt, Root,
    attributes::{self, Attributes},
    bounded, layout,
    made::{MADE, Made, Stored},
    names::OPEN,
    tar::{self, Entry, EntryKind},
    times::{Moment, moment},
};
use crate::{config::Config, error::CliError, masked::masked, whole_file};

/// The version of the format.
pub(super) const VERSION: u32 = 3;
/// That of bundles in which no root is in another: what is in two of them is in newer ones once.
const VERSION_BESIDE: u32 = 2;
/// That of bundles without [`CHANGES`], which older versions of tenon read too.
const VERSION_WITHOUT_CHANGES: u32 = 1;
/// What a bundle holds besides `roots/NUMBER/…` and `made/NUMBER/NUMBER…`.
pub(super) const ABOUT: &str = "tenon-bundle.json";
pub(super) const LOG: &str = "session.jsonl";
pub(super) const CHANGES: &str = "changes.json";
pub(super) const ROOTS: &str = "roots";

/// Larger files are left out: they are data, and bundles go into repositories and mails.
const FILE_BYTES_MAX: u64 = 32 << 20;
/// The most bytes of all files, packed or unpacked.
pub(super) const BYTES_MAX: u64 = 1 << 30;
/// The most files, folders and links.
pub(super) const ENTRIES_MAX: usize = 200_000;
/// The most bytes of what a bundle says of itself.
pub(super) const ABOUT_BYTES_MAX: u64 = 1 << 20;
/// The most bytes of what it says of calls that were cut short, as of any file.
pub(super) const CHANGES_BYTES_MAX: u64 = FILE_BYTES_MAX;
/// The most folders of a workspace.
pub(super) const ROOTS_MAX: usize = 16;

/// What a program gets by its file beyond what its user has (setuid, setgid): a bundle may be unpacked by
/// the system's own root, and gives nobody that.
pub(super) const POWERS: u32 = 0o6000;

/// Names of files that hold secrets by their nature.
const SECRET_NAMES: [&str; 5] = [".netrc", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd"];
/// Endings of such names.
const SECRET_ENDINGS: [&str; 5] = ["p12", "pfx", "jks", "kdbx", "keystore"];
/// Endings of files that show how such a file looks, without its values.
const SAMPLE_ENDINGS: [&str; 3] = ["example", "sample", "template"];

/// What a bundle says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct About {
    pub(super) version: u32,
    pub(super) session: String,
    /// The folders of the workspace as they were named.
    #[serde(
        serialize_with = "tenon_agent::serialize_paths",
        deserialize_with = "tenon_agent::deserialize_paths"
    )]
    pub(super) roots: Vec<PathBuf>,
    /// When each of them was changed last; older versions did not say so.
    #[serde(default)]
    pub(super) roots_modified: Vec<Moment>,
    /// The user's home folder, if it is one of them or in one, and the link by which it was named, if there is one;
    /// else nothing.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "tenon_agent::serialize_paths",
        deserialize_with = "tenon_agent::deserialize_paths"
    )]
    pub(super) home: Vec<PathBuf>,
    tenon: String,
    /// Whether secrets were taken out of the log.
    #[serde(default)]
    pub(super) log_is_masked: bool,
    /// Whether it has what calls had changed that were cut short.
    #[serde(default)]
    pub(super) has_changes: bool,
}

/// Whether `path` is a bundle by its first bytes, and a file at all.
pub(crate) fn is_bundle(path: &Path) -> bool {
    let mut start = [0; 2];
    let read = open_file(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == [0x1f, 0x8b]
}

/// Opens a file that the person names, if it is one.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    // A named pipe would wait for a writer for ever.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Writes `session`, whose log is at `log`, and its files to `to`; returns what was left out.
pub(crate) fn pack(
    session: &Session,
    log: &Path,
    files: &Rebuilt,
    config: &Config,
    to: &Path,
) -> Result<Vec<String>, CliError> {
    let mut left_out = Vec::new();
    whole_file::write(to, |file| {
        let mut packing = Packing {
            out: GzEncoder::new(BufWriter::new(file), Compression::default()),
            bytes: 0,
            entries: 0,
            secrets: config.secret_sources().read(&[]),
            masks: Masks::default(),
            left_out: Vec::new(),
            linked: HashSet::new(),
            roots: files.roots.clone(),
        };
        packing.learn_secrets(files);
        packing.all(session, log, files)?;
        left_out = packing.left_out;
        packing.out.finish()?.flush()
    })?;
    Ok(bounded(left_out))
}

struct Packing<'a> {
    out: GzEncoder<BufWriter<&'a mut File>>,
    bytes: u64,
    entries: usize,
    secrets: Vec<KnownValue>,
    masks: Masks,
    left_out: Vec<String>,
    /// Files with several names of which one is in already.
    linked: HashSet<u64>,
    roots: Vec<Root>,
}

impl Packing<'_> {
    /// Takes in the values of the workspace's `.env` files.
    fn learn_secrets(&mut self, files: &Rebuilt) {
        for root in &files.roots {
            for entry in fs::read_dir(&root.copy).into_iter().flatten().flatten() {
                self.learn_secrets_of(&entry.path(), &entry.file_name());
            }
        }
        for (_, path, kept) in files.made.calls().flat_map(|(_, contents)| contents) {
            self.learn_secrets_of(kept, path.file_name().unwrap_or_default());
        }
        self.masks = Masks::new(&self.secrets);
    }

    fn learn_secrets_of(&mut self, path: &Path, name: &OsStr) {
        if is_secret_name(name)
            && is_small_file(path)
            && open_to_user(path, 0o400).is_ok()
            && let Ok(text) = fs::read_to_string(path)
        {
            let found = credential_values(&text, CredentialShape::Pairs, &name.to_string_lossy());
            self.secrets.extend(found);
        }
    }

    fn all(&mut self, session: &Session, log: &Path, files: &Rebuilt) -> io::Result<()> {
        let (log, log_is_masked) = self.masked(&fs::read(log)?);
        let modified = |root: &Root| fs::metadata(&root.copy)?.modified().map(moment);
        let version = match () {
            () if files.roots.iter().any(|root| layout::is_part(&files.roots, root)) => VERSION,
            () if files.made.is_empty() => VERSION_WITHOUT_CHANGES,
            () => VERSION_BESIDE,
        };
        let home = files.home.iter().map(|home| self.there(home));
        let about = About {
            version,
            session: session.id.clone(),
            roots: files.roots.iter().map(|root| root.recorded.clone()).collect(),
            roots_modified: files.roots.iter().map(modified).collect::<io::Result<_>>()?,
            home: home.chain(files.home_name.iter().map(|name| name.recorded.clone())).collect(),
            tenon: env!("CARGO_PKG_VERSION").to_owned(),
            log_is_masked,
            has_changes: files.made.is_known(),
        };
        let about = serde_json::to_vec_pretty(&about)?;
        self.own(ABOUT, &about)?;
        self.own(LOG, &log)?;
        for (number, root) in files.roots.iter().enumerate() {
            if layout::is_part(&files.roots, root) {
                continue;
            }
            let name = Path::new(ROOTS).join(number.to_string());
            self.tree(&root.copy, &name, Path::new(""))?;
        }
        if !files.made.is_empty() {
            self.changes(&files.made)?;
        }
        tar::write_end(&mut self.out)
    }

    /// Writes what a bundle holds besides the workspace.
    fn own(&mut self, name: &str, mut bytes: &[u8]) -> io::Result<bool> {
        let kind = EntryKind::File(bytes.len() as u64);
        let (mode, modified, attributes) = (0o600, UNIX_EPOCH, Attributes::new());
        self.file(Entry { path: name.into(), mode, modified, kind, attributes }, &mut bytes)
    }

    /// Returns a log with known secrets by name, and whether there was any in it: what was none when
    /// it was said may be known by now.
    fn masked(&self, log: &[u8]) -> (Vec<u8>, bool) {
        let (mut whole, mut has_masked) = (Vec::with_capacity(log.len()), false);
        for line in log.split_inclusive(|byte| *byte == b'\n') {
            let masked = self.masked_line(line);
            has_masked |= masked.is_some();
            whole.extend_from_slice(masked.as_deref().map_or(line, str::as_bytes));
        }
        (whole, has_masked)
    }

    /// Returns an event without known secrets; `None` if it has none, or speaks of the session as a
    /// whole: its folders are found by their names.
    fn masked_line(&self, line: &[u8]) -> Option<String> {
        let mut value: Value = serde_json::from_slice(line).ok()?;
        let is_known = serde_json::from_slice::<Record>(line);
        let is_note = matches!(&is_known, Ok(Record { event: SessionEvent::Session(_), .. }));
        if is_note || !mask_texts(&self.masks, &mut value) {
            return None;
        }
        // A value may stand where the format has a word of its own, which says nothing else.
        let is_event = is_known.is_err() || Record::deserialize(&value).is_ok();
        is_event.then(|| value.to_string() + "\n")
    }

    /// Writes what calls had changed that were cut short. Of a call of which a part is left out the
    /// rest is no use: a replay says where it matters.
    fn changes(&mut self, made: &Made) -> io::Result<()> {
        let mut stored = made.stored();
        for (number, (call_id, contents)) in made.calls().enumerate() {
            let left_out = self.left_out.len();
            for (at, path, kept) in contents {
                let name = Path::new(MADE).join(number.to_string()).join(at.to_string());
                self.entries += 1;
                if self.entries > ENTRIES_MAX {
                    self.left_out.push(format!("{} and what follows", path.display()));
                    break;
                }
                if self.entry(kept, &name, path)? {
                    self.tree(kept, &name, path)?;
                }
            }
            if self.left_out.len() > left_out {
                self.leave_out(&mut stored, call_id);
            }
        }
        let mut text = serde_json::to_vec(&stored)?;
        if text.len() as u64 > CHANGES_BYTES_MAX {
            made.calls().for_each(|(call_id, _)| self.leave_out(&mut stored, call_id));
            text = serde_json::to_vec(&stored)?;
        }
        self.own(CHANGES, &text).map(drop)
    }

    fn leave_out(&mut self, stored: &mut Stored, call_id: &str) {
        if stored.leave_out(call_id) {
            self.left_out.push(format!("what {call_id} had changed, which was cut short"));
        }
    }

    /// Writes what is in the folder `top`, which is called `shown` in the workspace.
    fn tree(&mut self, top: &Path, name: &Path, shown: &Path) -> io::Result<()> {
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            open_to_user(&top.join(&folder), OPEN)?;
            let mut entries = fs::read_dir(top.join(&folder))?.collect::<io::Result<Vec<_>>>()?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let beneath = folder.join(entry.file_name());
                self.entries += 1;
                if self.entries > ENTRIES_MAX {
                    let shown = shown.join(&beneath);
                    self.left_out.push(format!("{} and what follows", shown.display()));
                    return Ok(());
                }
                if self.entry(&entry.path(), &name.join(&beneath), &shown.join(&beneath))? {
                    folders.push(beneath);
                }
            }
        }
        Ok(())
    }

    /// Writes what is at `path`; returns whether it is a folder whose content is to follow.
    fn entry(&mut self, path: &Path, name: &Path, shown: &Path) -> io::Result<bool> {
        let (name, beneath) = (name.to_path_buf(), shown.display());
        let metadata = fs::symlink_metadata(path)?;
        let mode = metadata.permissions().mode();
        let modified = metadata.modified()?;
        let is_written = if metadata.is_symlink() {
            let kind = EntryKind::Link(self.there(&fs::read_link(path)?).into_os_string());
            let attributes = Attributes::new();
            let entry = Entry { path: name, mode, modified, kind, attributes };
            tar::write_header(&mut self.out, &entry)?
        } else if metadata.is_dir() {
            let (kind, attributes) = (EntryKind::Folder, self.attributes(path, shown));
            let entry = Entry { path: name, mode, modified, kind, attributes };
            tar::write_header(&mut self.out, &entry)?
        } else if !metadata.is_file() {
            self.left_out.push(format!("{beneath} (it is a pipe)"));
            return Ok(false);
        } else if let Some(reason) = self.reason_against(path, shown, metadata.len())? {
            self.left_out.push(format!("{beneath} ({reason})"));
            return Ok(false);
        } else {
            let bytes = metadata.len();
            if mode & POWERS != 0 {
                self.left_out.push(format!("{beneath} as setuid or setgid: it is neither"));
            }
            if metadata.nlink() > 1 && !self.linked.insert(metadata.ino()) {
                self.left_out
                    .push(format!("{beneath} as a name of another file: it is one itself"));
            }
            let mode = mode & !POWERS;
            let attributes = self.attributes(path, shown);
            let entry =
                |kind: EntryKind| Entry { path: name.clone(), mode, modified, kind, attributes };
            if layout::is_pointer(path) && bytes <= layout::POINTER_BYTES_MAX {
                let content = layout::pointing(&fs::read(path)?, |path| self.there(path));
                self.file(entry(EntryKind::File(content.len() as u64)), &mut &*content)?
            } else {
                let mut file = File::open(path)?.take(bytes);
                self.file(entry(EntryKind::File(bytes)), &mut file)?
            }
        };
        if !is_written {
            self.left_out
                .push(format!("{beneath} (its name or its extended attributes are too long)"));
        }
        Ok(is_written && metadata.is_dir())
    }

    /// Returns a path that leads to a copy as it was recorded.
    fn there(&self, path: &Path) -> PathBuf {
        layout::there(&self.roots, path)
    }

    /// Returns why a file is left out, if it is.
    fn reason_against(
        &self,
        path: &Path,
        shown: &Path,
        bytes: u64,
    ) -> io::Result<Option<&'static str>> {
        if bytes > 0 && is_secret_name(shown.file_name().unwrap_or_default()) {
            return Ok(Some("it holds secrets"));
        }
        if bytes > FILE_BYTES_MAX || self.bytes + bytes > BYTES_MAX {
            return Ok(Some("it is too large"));
        }
        open_to_user(path, 0o400)?;
        let text = fs::read(path)?;
        let text = String::from_utf8_lossy(&text);
        let is_git_config = shown.ends_with(".git/config");
        let holds_secret = matches!(self.masks.mask(&text), Cow::Owned(_))
            || text.contains("PRIVATE KEY-----")
            || is_git_config
                && !credential_values(&text, CredentialShape::Addresses, "").is_empty();
        Ok(holds_secret.then_some("it holds a known secret"))
    }

    /// Returns the extended attributes of something, but for those that hold a known secret.
    fn attributes(&mut self, path: &Path, beneath: &Path) -> Attributes {
        let mut attributes = attributes::of(path);
        attributes.retain(|(name, value)| {
            let text = String::from_utf8_lossy(value);
            let holds_secret = matches!(self.masks.mask(&text), Cow::Owned(_));
            if holds_secret {
                let (name, beneath) = (name.display(), beneath.display());
                self.left_out.push(format!("{name} of {beneath} (it holds a known secret)"));
            }
            !holds_secret
        });
        self.bytes += attributes.iter().map(|(_, value)| value.len() as u64).sum::<u64>();
        attributes
    }

    /// Writes a file, whose bytes are those of `from`.
    fn file(&mut self, entry: Entry, from: &mut impl Read) -> io::Result<bool> {
        let EntryKind::File(bytes) = entry.kind else { return Ok(false) };
        if !tar::write_header(&mut self.out, &entry)? {
            return Ok(false);
        }
        if io::copy(from, &mut self.out)? != bytes {
            return Err(tar::wrong("a file became shorter while it was read"));
        }
        self.bytes += bytes;
        tar::pad(&mut self.out, bytes).map(|()| true)
    }
}

/// Masks all texts within `value`, also by what is masked when it is printed; returns whether there was
/// anything to mask.
fn mask_texts(masks: &Masks, value: &mut Value) -> bool {
    let mask = |value: &mut Value| mask_texts(masks, value);
    match value {
        Value::String(text) => {
            let masked = masked(masks.mask(text));
            let is_new = masked != *text;
            *text = masked;
            is_new
        }
        // Each of them, not only the first.
        Value::Array(values) => values.iter_mut().map(mask).filter(|is_new| *is_new).count() > 0,
        Value::Object(fields) => fields.values_mut().map(mask).filter(|is_new| *is_new).count() > 0,
        _ => false,
    }
}

fn is_secret_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let ending = name.rsplit('.').next().unwrap_or_default();
    let is_env = name.starts_with(".env") || name.ends_with(".env");
    (is_env && !SAMPLE_ENDINGS.contains(&ending))
        || SECRET_NAMES.contains(&&*name)
        || SECRET_ENDINGS.contains(&ending)
}

/// Gives this user rights to something in the copy, which goes once it is packed.
fn open_to_user(path: &Path, rights: u32) -> io::Result<()> {
    let mode = fs::symlink_metadata(path)?.permissions().mode();
    match mode & rights == rights {
        true => Ok(()),
        false => fs::set_permissions(path, Permissions::from_mode(mode | rights)),
    }
}

fn is_small_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() <= ABOUT_BYTES_MAX)
}
