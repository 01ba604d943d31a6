//! What the tools that read and write files share: which bytes are text, what the model has seen
//! of a file, and on which thread the work is done.

use std::path::{Component, Path};

use tenon_sandbox::{Access, EntryKind, FileError, Location, Workspace, Written, off_thread};

use super::ToolOutput;
use crate::policy::{Action, OutsidePlace, in_one_line};

/// Files up to this length (2 MiB: nearly all source) are read whole; larger ones are streamed.
pub(crate) const WHOLE_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Work on so many bytes is done in well under a millisecond, less than what a thread costs.
const INLINE_BYTES_MAX: u64 = 256 * 1024;

/// A NUL in the first 8 KiB means binary, as git has it.
const SNIFFED_BYTES: usize = 8 * 1024;

/// How a text file's bytes are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8, or anything else in which ASCII is ASCII.
    Bytes,
    /// UTF-16 with a byte order mark, low byte first.
    Utf16Le,
    /// UTF-16 with a byte order mark, high byte first.
    Utf16Be,
}

/// Returns a number with what it counts, such as `1 line` or `2 more lines`.
pub(crate) fn counted(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

impl Encoding {
    /// Returns how a file that begins with `start` is to be read; `None` if it is binary.
    pub(crate) fn of(start: &[u8]) -> Option<Self> {
        match start.get(..SNIFFED_BYTES).unwrap_or(start) {
            // UTF-32.
            [0xFF, 0xFE, 0, 0, ..] => None,
            [0xFF, 0xFE, ..] => Some(Self::Utf16Le),
            [0xFE, 0xFF, ..] => Some(Self::Utf16Be),
            sniffed if memchr::memchr(0, sniffed).is_some() => None,
            _ => Some(Self::Bytes),
        }
    }

    fn unit(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::Utf16Be => u16::from_be_bytes(pair),
            Self::Utf16Le | Self::Bytes => u16::from_le_bytes(pair),
        }
    }

    /// Returns the text of a UTF-16 file behind its byte order mark; `None` if it is not one.
    pub(crate) fn utf16_text(self, bytes: &[u8]) -> Option<String> {
        let (pairs, rest) = bytes.get(2..)?.as_chunks::<2>();
        let units = pairs.iter().map(|pair| self.unit(*pair));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        text.ok().filter(|_| rest.is_empty())
    }

    /// Returns `text` as the bytes of a file of this encoding.
    pub(crate) fn encoded(self, text: &str) -> Vec<u8> {
        match self {
            Self::Bytes => text.as_bytes().to_vec(),
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }
}

/// Returns the text of a whole file, what is not UTF-8 replaced; `None` if it is binary.
pub(crate) fn readable(bytes: &[u8]) -> Option<String> {
    match Encoding::of(bytes)? {
        Encoding::Bytes => Some(String::from_utf8_lossy(bytes).into_owned()),
        encoding => encoding.utf16_text(bytes),
    }
}

/// Returns the length of the file at `path` if it is above [`WHOLE_BYTES_MAX`].
pub(crate) fn length_if_large(workspace: &Workspace, path: &str) -> Option<u64> {
    let length = workspace.open_file(path).ok()?.len();
    Some(length).filter(|length| *length > WHOLE_BYTES_MAX)
}

/// Returns what is added to the result of a write.
pub(super) fn in_place_note(written: &Written) -> &'static str {
    if written.in_place {
        "\n(written in place, not by renaming: a new file could not have kept owner or attributes)"
    } else {
        ""
    }
}

/// Returns the sentence for `error`.
pub(super) fn failed(error: FileError) -> String {
    match error {
        FileError::Changed { path } => changed(&path),
        error => error.to_string(),
    }
}

/// Returns the sentence for a file that is not as the model saw it.
pub(super) fn changed(path: &str) -> String {
    format!("{path} changed on disk since it was last read; read it again")
}

/// What is to be done with a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    Read,
    Search,
    Write,
}

/// Returns what reading the file `path` touches. Where it leads to is the workspace's to say; a
/// path that leads nowhere fails when it is opened.
pub(super) fn read_action(path: &str, workspace: &Workspace) -> Action {
    outside(path, Aim::Read, workspace).unwrap_or_else(|| reads(path, workspace))
}

/// The same for searching a file or a folder with all in it.
pub(super) fn search_action(path: &str, workspace: &Workspace) -> Action {
    outside(path, Aim::Search, workspace).unwrap_or_else(|| reads(path, workspace))
}

/// A search in a place that no path names, which nobody can be asked about.
pub(super) fn unnamed_action(written: &str) -> Action {
    closed(written, (Access::Read, false), "it has no name that could be asked about")
}

fn reads(path: &str, workspace: &Workspace) -> Action {
    let mut paths = vec![path.to_owned()];
    if let Ok(place) = workspace.locate(path) {
        paths.extend(by_links(path, &place, workspace));
    }
    Action::Read { paths }
}

/// The same for a write. A protected place is named as it is, whatever link leads there; what a link with a protected
/// name leads to is protected by that name.
pub(super) fn write_action(path: &str, workspace: &Workspace) -> Action {
    let as_written = || Action::Write { path: path.to_owned(), written: None, protected: false };
    let Ok(place) = workspace.locate(path) else {
        return outside(path, Aim::Write, workspace).unwrap_or_else(as_written);
    };
    let protected = place.protected || place.behind_protected;
    match by_links(path, &place, workspace) {
        Some(leads_to) => {
            Action::Write { path: leads_to, written: Some(path.to_owned()), protected }
        }
        None if protected => Action::Write { path: named(&place), written: None, protected },
        None => as_written(),
    }
}

fn named(place: &Location) -> String {
    let shown = if place.root == 0 { &place.beneath } else { &place.absolute };
    shown.to_string_lossy().into_owned()
}

/// Returns where links lead from `path`; `None` if its names alone say it.
fn by_links(path: &str, place: &Location, workspace: &Workspace) -> Option<String> {
    let mut by_names = workspace.root().to_path_buf();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => drop(by_names.pop()),
            Component::CurDir => {}
            // One from `/` on begins anew.
            part => by_names.push(part),
        }
    }
    (by_names != place.absolute).then(|| named(place))
}

fn outside(path: &str, aim: Aim, workspace: &Workspace) -> Option<Action> {
    let access = if aim == Aim::Write { Access::Write } else { Access::Read };
    let place = match workspace.outside(path) {
        Ok(place) => place?,
        // What cannot be followed is refused here, so that the refusal is on record; what is wrong
        // with a path inside is for the tool to say.
        Err(error) => {
            let within = match workspace.locate(path) {
                Err(FileError::Escapes { .. }) => false,
                Err(FileError::Closed { .. }) => true,
                _ => return None,
            };
            return Some(closed(path, (access, within), &why_not_followed(&error)));
        }
    };
    let is_folder = place.kind() == Some(EntryKind::Directory);
    // A yes to a folder opens all in it, which only a search is about.
    let wrong = (is_folder && aim != Aim::Search).then_some("it is a folder");
    Some(Action::Outside(OutsidePlace {
        written: path.to_owned(),
        path: place.absolute().to_string_lossy().into_owned(),
        access,
        is_folder,
        protected: access == Access::Write && place.is_protected(),
        within: place.is_within(),
        closed: place.closed().or(wrong).map(str::to_owned),
    }))
}

/// Says why a path outside leads nowhere that a person could be asked about.
fn why_not_followed(error: &FileError) -> String {
    match error {
        FileError::LeadsBack { place, .. } => {
            format!("it leads back into the workspace; name it `{}`", in_one_line(place))
        }
        FileError::PermissionDenied { .. } => {
            "the user's own permissions close a folder on its way".to_owned()
        }
        FileError::DanglingLink { .. } => "a symbolic link there leads to nothing".to_owned(),
        _ => "its path cannot be followed to its end".to_owned(),
    }
}

fn closed(written: &str, (access, within): (Access, bool), why: &str) -> Action {
    Action::Outside(OutsidePlace {
        written: written.to_owned(),
        path: written.to_owned(),
        access,
        is_folder: false,
        protected: false,
        within,
        closed: Some(why.to_owned()),
    })
}

/// Does `work`, which is on about `bytes` bytes: here if that is quick, else on a thread that may
/// wait.
pub(super) async fn blocking(
    bytes: u64,
    work: impl FnOnce() -> Result<ToolOutput, String> + Send + 'static,
) -> Result<ToolOutput, String> {
    if bytes <= INLINE_BYTES_MAX {
        return work();
    }
    off_thread(work).await.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Bench;

    #[test]
    fn text_and_binary_are_told_apart() {
        let cases: [(&[u8], Option<Encoding>); 7] = [
            (b"", Some(Encoding::Bytes)),
            (b"abc", Some(Encoding::Bytes)),
            (b"caf\xe9", Some(Encoding::Bytes)),
            (b"\xff\xfea\0", Some(Encoding::Utf16Le)),
            (b"\xfe\xff\0a", Some(Encoding::Utf16Be)),
            (b"\xff\xfe\0\0a\0\0\0", None),
            (b"\x7fELF\0", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Encoding::of(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn an_action_names_where_links_lead() {
        let bench = Bench::new();
        bench.put("secrets/key", "");
        bench.put("src/a", "");
        let root = bench.root().to_str().unwrap().to_owned();
        // Beside the workspace, as people have them.
        let beside = tempfile::tempdir().unwrap();
        let alias = beside.path().join("alias").display().to_string();
        std::os::unix::fs::symlink(&root, &alias).unwrap();
        let round = format!("{alias}/secrets");
        for (link, target) in [
            ("s", "secrets"),
            ("src/out", "../secrets"),
            ("key", "s/key"),
            ("all", &root),
            ("round", &round),
        ] {
            std::os::unix::fs::symlink(target, bench.root().join(link)).unwrap();
        }
        let check = |path: &str, leads_to: Option<&str>| {
            let workspace = &bench.context.workspace;
            let paths = std::iter::once(path).chain(leads_to).map(str::to_owned).collect();
            assert_eq!(read_action(path, workspace), Action::Read { paths });
            let written = leads_to.map(|_| path.to_owned());
            let path = leads_to.unwrap_or(path).to_owned();
            let write = Action::Write { path, written, protected: false };
            assert_eq!(write_action(write_path(&write), workspace), write);
        };
        for path in ["src/a", "./src/../src//a", "new/folder/a", &format!("{root}/src/a")] {
            check(path, None);
        }
        check("s/key", Some("secrets/key"));
        check("key", Some("secrets/key"));
        check("src/out/key", Some("secrets/key"));
        check("src/out/new", Some("secrets/new"));
        check("s/new/folder/a", Some("secrets/new/folder/a"));
        check("all/secrets/key", Some("secrets/key"));
        check("s/../src/a", None);
        check("src/out/../src/a", Some("src/a"));
        check(&format!("{root}/s/key"), Some("secrets/key"));
        check(&format!("{alias}/src/a"), Some("src/a"));
        check(&format!("{alias}/s/new"), Some("secrets/new"));
        check("round/key", Some("secrets/key"));
        let search = Action::Read { paths: vec!["s".into(), "secrets".into()] };
        assert_eq!(search_action("s", &bench.context.workspace), search);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test has the folder open itself")]
    fn a_path_that_cannot_be_followed_says_why_and_what_can() {
        let bench = Bench::new();
        bench.put("a", "");
        let here = std::fs::File::open(bench.root()).unwrap();
        let around = format!("/proc/self/fd/{}/a", std::os::fd::AsRawFd::as_raw_fd(&here));
        let beside = tempfile::tempdir().unwrap();
        let dangling = beside.path().join("dangling");
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        let place = bench.root().join("a").display().to_string();
        for (path, expected) in [
            (around, format!("it leads back into the workspace; name it `{place}`")),
            (dangling.display().to_string(), "a symbolic link there leads to nothing".to_owned()),
        ] {
            let Action::Outside(found) = read_action(&path, &bench.context.workspace) else {
                panic!("{path}");
            };
            assert_eq!(found.closed, Some(expected), "{path}");
        }
    }

    fn write_path(write: &Action) -> &str {
        match write {
            Action::Write { path, written, .. } => written.as_ref().unwrap_or(path),
            _ => "",
        }
    }

    #[test]
    fn utf16_survives_both_ways() {
        for (encoding, mark) in [(Encoding::Utf16Le, b"\xff\xfe"), (Encoding::Utf16Be, b"\xfe\xff")]
        {
            let bytes = [&mark[..], &encoding.encoded("a汉😀\r\n")].concat();
            assert_eq!(encoding.utf16_text(&bytes).as_deref(), Some("a汉😀\r\n"));
            assert_eq!(encoding.utf16_text(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(Encoding::Utf16Le.utf16_text(b"\xff\xfe\x00\xd8"), None);
    }
}
