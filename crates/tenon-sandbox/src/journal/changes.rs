//! What a call did to the files, as plain data, and in one line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::CheckpointId;
use super::named::named;
use super::trouble::Trouble;
use crate::linux::wire::{Reader, Writer};
use crate::workspace::{ContentHash, EntryKind};

/// What a call did to the files of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// The checkpoint to undo; `None` when nothing was about to change.
    pub id: Option<CheckpointId>,
    /// Sorted by path.
    pub files: Vec<Change>,
    /// What was not saved before it changed and cannot be undone.
    pub left_out: Vec<LeftOut>,
    /// Why there may be more than the list says.
    pub troubles: Vec<Trouble>,
    /// The first links that it made or had lead elsewhere, in new folders, too, and that lead out of the workspace to where
    /// this user could write.
    pub links: Vec<LinkOut>,
    /// How many more of them there are.
    pub links_more: u64,
}

/// One thing that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Relative in the first root, absolute in another. May not be UTF-8.
    pub path: PathBuf,
    /// What happened to it.
    pub kind: ChangeKind,
    /// What it is, or was.
    pub entry: EntryKind,
    /// Its length in bytes before, if it was there; of what was renamed, at its earlier place.
    pub old_bytes: Option<u64>,
    /// Its length in bytes now, if it is there.
    pub new_bytes: Option<u64>,
    /// The hash of its content now: of files, up to a bound on all files of one call.
    pub new_hash: Option<ContentHash>,
    /// How many files and folders are in a folder that was created, which are not listed one by one:
    /// without those that came there from elsewhere.
    pub inside: u64,
    /// What it was, if something of another kind is in its place.
    pub was: Option<EntryKind>,
    /// What was at this path before and is gone, if something was renamed to it.
    pub over: Option<Replaced>,
    /// Its permissions and owner before and now, if those are others.
    pub rights: Option<(Rights, Rights)>,
}

/// What lost its place to something that was renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replaced {
    /// What it was.
    pub entry: EntryKind,
    /// Its length in bytes, of a file.
    pub bytes: Option<u64>,
}

/// Who may do what with a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Permissions, such as 0o644.
    pub mode: u32,
    /// The owner's number.
    pub user: u32,
    /// The group's number.
    pub group: u32,
}

/// What happened to a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was not there before.
    Created,
    /// Its content is another.
    Edited,
    /// It is not there any more.
    Deleted,
    /// It is the one that was at another place.
    Renamed {
        /// That place, as [`Change::path`].
        from: PathBuf,
        /// Its content is another, too.
        is_edited: bool,
    },
    /// Its permissions, owner or extended attributes are others.
    Mode,
    /// Its content was written again and is the same, or only its times were set.
    Times,
}

/// A link that leads out of the folders of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkOut {
    /// As [`Change::path`].
    pub path: PathBuf,
    /// What the link says. May not be UTF-8.
    pub target: OsString,
}

/// Something that was not saved before it changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LeftOut {
    /// As [`Change::path`].
    pub path: PathBuf,
    /// Why.
    pub reason: LeftOutReason,
}

/// Why something was not saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeftOutReason {
    /// A folder that says of itself (CACHEDIR.TAG) that it can be made again.
    Cache,
    /// A file that was written in place and is larger than files may be.
    TooLarge {
        /// Its length.
        bytes: u64,
    },
    /// A file outside of the workspace, which somebody let a file tool write.
    Outside,
    /// A folder that was not looked into before a command, nor others after it, because there is
    /// too much in the workspace to compare all.
    TooMany,
    /// A file that could not be copied before a command that could not be watched: unreadable, or
    /// past what all copies may take; or a device that is gone.
    NotCopied,
    /// A folder in which paths become too long to be looked at before a command that could not be watched.
    TooLong,
}

impl Changes {
    /// Whether nothing changed and nothing may have.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.left_out.is_empty() && self.troubles.is_empty()
    }

    /// Returns one line such as `3 files changed, 1 deleted, 214 new under target/`, what was refused and links that lead
    /// out in front; empty when nothing changed.
    #[must_use]
    pub fn summary(&self) -> String {
        let count = |wanted: fn(&Change) -> bool| {
            self.files.iter().filter(|change| wanted(change)).count() as u64
        };
        let mut parts = self.refusals();
        parts.extend(self.links_out());
        let edited = count(|change| {
            matches!(change.kind, ChangeKind::Edited | ChangeKind::Renamed { is_edited: true, .. })
        });
        if edited > 0 {
            parts.push(format!("{edited} {} changed", files(edited)));
        }
        let mut say = |number: u64, word: &str| {
            if number > 0 {
                parts.push(format!("{number} {word}"));
            }
        };
        say(count(|change| change.kind == ChangeKind::Deleted), "deleted");
        say(count(|change| matches!(change.kind, ChangeKind::Renamed { .. })), "renamed");
        say(count(|change| change.over.is_some()), "of them over what was there");
        say(count(|change| change.kind == ChangeKind::Mode), "with other permissions");
        parts.extend(self.created());
        for left_out in self.left_out.iter().take(LEFT_OUT_NAMED_MAX) {
            let name = named(&left_out.path);
            parts.push(match left_out.reason {
                LeftOutReason::Cache => format!("{name}/ not recorded (a cache)"),
                LeftOutReason::Outside => {
                    format!("{name} not recorded (outside the workspace)")
                }
                LeftOutReason::TooLarge { bytes } if bytes < 1_000_000 => {
                    format!("{name} not recorded ({bytes} B)")
                }
                LeftOutReason::TooLarge { bytes } => {
                    format!("{name} not recorded ({} MB)", bytes / 1_000_000)
                }
                LeftOutReason::TooMany => {
                    format!("{name}/ and more not compared (too many files)")
                }
                LeftOutReason::NotCopied => format!("{name} not recorded (no copy of it)"),
                LeftOutReason::TooLong => {
                    format!("{name}/ not compared where paths are too long")
                }
            });
        }
        let more = self.left_out.len().saturating_sub(LEFT_OUT_NAMED_MAX);
        parts.extend((more > 0).then(|| format!("{more} more not recorded (or not compared)")));
        parts.extend(self.troubles.iter().filter_map(Trouble::absence));
        let unsure =
            |trouble: &Trouble| matches!(trouble, Trouble::Interrupted | Trouble::NotWatched);
        if self.troubles.iter().any(unsure) {
            parts.push("the list may be incomplete".to_owned());
        } else if !parts.is_empty() && self.troubles.contains(&Trouble::Compared) {
            parts.push("by comparison".to_owned());
        }
        parts.join(", ")
    }

    /// The first refused changes, and how many more there are.
    fn refusals(&self) -> Vec<String> {
        let mut refusals = self.troubles.iter().filter_map(|trouble| trouble.refusal_of(named));
        let mut parts: Vec<String> = refusals.by_ref().take(REFUSALS_NAMED_MAX).collect();
        match refusals.count() {
            0 => {}
            1 => parts.push("1 more change refused".to_owned()),
            more => parts.push(format!("{more} more changes refused")),
        }
        parts
    }

    /// The first links that lead out, and how many more there are.
    fn links_out(&self) -> Vec<String> {
        let (first, rest) = self.links.split_at(self.links.len().min(LINKS_NAMED_MAX));
        let out = |link: &LinkOut| {
            format!("link {} -> {} (outside)", named(&link.path), named(Path::new(&link.target)))
        };
        let mut parts: Vec<String> = first.iter().map(out).collect();
        match rest.len() as u64 + self.links_more {
            0 => {}
            1 => parts.push("1 more link to outside".to_owned()),
            more => parts.push(format!("{more} more links to outside")),
        }
        parts
    }

    /// New files, those of one folder together.
    fn created(&self) -> Vec<String> {
        let mut folders: BTreeMap<&Path, u64> = BTreeMap::new();
        let (mut single, mut empty, mut other) = (0, 0, 0);
        for change in self.files.iter().filter(|change| change.kind == ChangeKind::Created) {
            if change.entry == EntryKind::Directory && change.inside > 0 {
                *folders.entry(&change.path).or_default() += change.inside;
            } else if change.entry == EntryKind::Directory && self.has_listed_in(&change.path) {
                other += 1;
            } else if change.entry == EntryKind::Directory {
                empty += 1;
            } else {
                single += 1;
            }
        }
        let mut parts = Vec::new();
        if single > 0 {
            parts.push(format!("{single} new"));
        }
        if empty > 0 {
            parts.push(format!("{empty} new empty {}", folders_of(empty)));
        }
        if other > 0 {
            parts.push(format!("{other} new {}", folders_of(other)));
        }
        if folders.len() > 3 {
            let inside: u64 = folders.values().sum();
            parts.push(format!("{inside} new in {} new folders", folders.len()));
        } else {
            let each = folders.into_iter();
            parts.extend(each.map(|(path, inside)| format!("{inside} new under {}/", named(path))));
        }
        parts
    }

    /// Whether something in a folder is listed by itself.
    fn has_listed_in(&self, folder: &Path) -> bool {
        let mut files = self.files.iter();
        files.any(|change| change.path != folder && change.path.starts_with(folder))
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.number(self.id.map_or(0, |id| id.0));
        writer.each(&self.files, |writer, change| change.write(writer));
        writer.each(&self.left_out, |writer, left_out| left_out.write(writer));
        writer.each(&self.troubles, |writer, trouble| trouble.write(writer));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            id: Some(CheckpointId(reader.number()?)).filter(|id| id.0 > 0),
            files: reader.each(Change::read)?,
            left_out: reader.each(LeftOut::read)?,
            troubles: reader.each(Trouble::read)?,
            // They stand at the end of what is kept of a call.
            ..Self::default()
        })
    }
}

/// Stand in the number of a change's kind for what follows: what older versions kept has none of it.
const HAS_WAS: u64 = 16;
const HAS_RIGHTS: u64 = 32;
const HAS_OVER: u64 = 64;

/// More refused changes are counted in it: a database has two files beside it.
const REFUSALS_NAMED_MAX: usize = 3;

/// More links that lead out are counted in it.
const LINKS_NAMED_MAX: usize = 3;

/// More of what was left out is counted in it.
const LEFT_OUT_NAMED_MAX: usize = 10;

fn files(number: u64) -> &'static str {
    if number == 1 { "file" } else { "files" }
}

fn folders_of(number: u64) -> &'static str {
    if number == 1 { "folder" } else { "folders" }
}

impl LinkOut {
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.field(self.path.as_os_str());
        writer.field(&self.target);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self { path: reader.path()?, target: reader.path()?.into_os_string() })
    }
}

impl Change {
    fn write(&self, writer: &mut Writer) {
        writer.field(self.path.as_os_str());
        let (tag, from) = match &self.kind {
            ChangeKind::Created => (0, None),
            ChangeKind::Edited => (1, None),
            ChangeKind::Deleted => (2, None),
            ChangeKind::Renamed { from, is_edited: false } => (3, Some(from)),
            ChangeKind::Mode => (4, None),
            ChangeKind::Times => (5, None),
            ChangeKind::Renamed { from, is_edited: true } => (6, Some(from)),
        };
        let with = |is_there, flag| if is_there { flag } else { 0 };
        let more = with(self.was.is_some(), HAS_WAS)
            | with(self.rights.is_some(), HAS_RIGHTS)
            | with(self.over.is_some(), HAS_OVER);
        writer.number(tag | more);
        writer.maybe(from, |writer, from| writer.field(from.as_os_str()));
        writer.number(number_of(self.entry));
        for bytes in [self.old_bytes, self.new_bytes] {
            writer.maybe(bytes.as_ref(), |writer, bytes| writer.number(*bytes));
        }
        writer.maybe(self.new_hash.as_ref(), |writer, hash| {
            writer.field(hash.to_string().as_ref());
        });
        writer.number(self.inside);
        self.was.iter().for_each(|was| writer.number(number_of(*was)));
        for Rights { mode, user, group } in self.rights.iter().flat_map(|(old, new)| [old, new]) {
            for number in [mode, user, group] {
                writer.number(u64::from(*number));
            }
        }
        if let Some(Replaced { entry, bytes }) = &self.over {
            writer.number(number_of(*entry));
            writer.maybe(bytes.as_ref(), |writer, bytes| writer.number(*bytes));
        }
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let path = reader.path()?;
        let (tag, from) = (reader.number()?, reader.maybe(Reader::path)?);
        let kind = match (tag & !(HAS_WAS | HAS_RIGHTS | HAS_OVER), from) {
            (0, _) => ChangeKind::Created,
            (1, _) => ChangeKind::Edited,
            (2, _) => ChangeKind::Deleted,
            (3, Some(from)) => ChangeKind::Renamed { from, is_edited: false },
            (4, _) => ChangeKind::Mode,
            (5, _) => ChangeKind::Times,
            (6, Some(from)) => ChangeKind::Renamed { from, is_edited: true },
            _ => return None,
        };
        Some(Self {
            path,
            kind,
            entry: read_entry(reader)?,
            old_bytes: reader.maybe(Reader::number)?,
            new_bytes: reader.maybe(Reader::number)?,
            new_hash: reader.maybe(|reader| reader.text()?.parse().ok())?,
            inside: reader.number()?,
            was: if tag & HAS_WAS == 0 { None } else { Some(read_entry(reader)?) },
            rights: match tag & HAS_RIGHTS {
                0 => None,
                _ => Some((Rights::read(reader)?, Rights::read(reader)?)),
            },
            over: match tag & HAS_OVER {
                0 => None,
                _ => Some(Replaced {
                    entry: read_entry(reader)?,
                    bytes: reader.maybe(Reader::number)?,
                }),
            },
        })
    }
}

fn number_of(entry: EntryKind) -> u64 {
    match entry {
        EntryKind::File => 0,
        EntryKind::Directory => 1,
        EntryKind::Link => 2,
        EntryKind::Other => 3,
    }
}

fn read_entry(reader: &mut Reader<'_>) -> Option<EntryKind> {
    Some(match reader.number()? {
        0 => EntryKind::File,
        1 => EntryKind::Directory,
        2 => EntryKind::Link,
        3 => EntryKind::Other,
        _ => return None,
    })
}

impl Rights {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let mut number = || u32::try_from(reader.number()?).ok();
        Some(Self { mode: number()?, user: number()?, group: number()? })
    }
}

impl LeftOut {
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.field(self.path.as_os_str());
        match self.reason {
            LeftOutReason::Cache => writer.number(0),
            LeftOutReason::TooLarge { bytes } => {
                writer.number(1);
                writer.number(bytes);
            }
            LeftOutReason::Outside => writer.number(2),
            LeftOutReason::TooMany => writer.number(3),
            LeftOutReason::NotCopied => writer.number(4),
            LeftOutReason::TooLong => writer.number(5),
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let path = reader.path()?;
        let reason = match reader.number()? {
            0 => LeftOutReason::Cache,
            1 => LeftOutReason::TooLarge { bytes: reader.number()? },
            2 => LeftOutReason::Outside,
            3 => LeftOutReason::TooMany,
            4 => LeftOutReason::NotCopied,
            5 => LeftOutReason::TooLong,
            _ => return None,
        };
        Some(Self { path, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, kind: ChangeKind, entry: EntryKind, inside: u64) -> Change {
        let path = PathBuf::from(path);
        Change {
            path,
            kind,
            entry,
            old_bytes: None,
            new_bytes: Some(1),
            new_hash: None,
            inside,
            was: None,
            over: None,
            rights: None,
        }
    }

    fn check(files: Vec<Change>, expected: &str) {
        let changes = Changes { files, ..Changes::default() };
        assert_eq!(changes.summary(), expected);
        let mut writer = Writer::default();
        changes.write(&mut writer);
        let bytes = writer.into_bytes();
        assert_eq!(Changes::read(&mut Reader::new(&bytes)), Some(changes));
    }

    #[test]
    fn a_summary_says_what_happened_in_one_line() {
        let (file, folder) = (EntryKind::File, EntryKind::Directory);
        check(vec![], "");
        check(vec![change("a", ChangeKind::Edited, file, 0)], "1 file changed");
        check(
            vec![
                change("a", ChangeKind::Edited, file, 0),
                change("b", ChangeKind::Edited, file, 0),
                change("c", ChangeKind::Deleted, file, 0),
                change("target", ChangeKind::Created, folder, 214),
            ],
            "2 files changed, 1 deleted, 214 new under target/",
        );
        let renamed = ChangeKind::Renamed { from: "x".into(), is_edited: false };
        check(
            vec![change("n", ChangeKind::Created, file, 0), change("y", renamed.clone(), file, 0)],
            "1 renamed, 1 new",
        );
        let lost = Replaced { entry: file, bytes: Some(3) };
        let over = Change { over: Some(lost), ..change("y", renamed.clone(), file, 0) };
        check(
            vec![over, change("z", renamed, file, 0)],
            "2 renamed, 1 of them over what was there",
        );
        check(vec![change("t", ChangeKind::Times, file, 0)], "");
        let rights = |mode| Rights { mode, user: 1, group: u32::MAX };
        let with = Change {
            was: Some(folder),
            over: Some(Replaced { entry: EntryKind::Link, bytes: None }),
            rights: Some((rights(0o644), rights(0o4755))),
            ..change("a", ChangeKind::Edited, file, 0)
        };
        check(
            vec![with.clone(), Change { was: None, over: None, ..with }],
            "2 files changed, 1 of them over what was there",
        );
    }
}
