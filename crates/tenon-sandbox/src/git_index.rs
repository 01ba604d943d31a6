//! What stands in an index of git, and whether the names in it, and in git's list of conflicts, are such as git itself
//! would put there.
//!
//! Git checks a name when it adds it, and not when it reads an index: one that leads out of the work tree is written,
//! read and removed there. Pure. The format stands in git's `gitformat-index`: versions 2, 3 and 4; what git could read
//! in two ways is not accepted.

/// How the name of an object is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitIndexFormat {
    /// Of 20 bytes.
    Sha1,
    /// Of 32 bytes.
    Sha256,
}

/// One of the entries of an index.
#[derive(Debug)]
pub struct GitIndexEntry<'a> {
    /// Type and permissions.
    pub mode: u32,
    /// The name of the object.
    pub id: &'a [u8],
    /// The flags, without the length of the name.
    pub flags: u16,
    /// The further flags; 0 if it has none.
    pub extended: u16,
    /// The path beneath the top of the work tree; nothing where it stands for an entry of a shared index.
    pub name: &'a [u8],
    /// Where it begins, in bytes of the index.
    at: usize,
    /// Whether it has nothing of the name before it.
    is_whole: bool,
}

/// What an index has besides its entries.
#[derive(Debug, PartialEq, Eq)]
pub struct GitIndex<'a> {
    /// Of the format: 2, 3 or 4.
    pub version: u32,
    /// The kind of each extension, which has four bytes, and its content.
    pub extensions: Vec<(&'a [u8], &'a [u8])>,
}

/// Times, device and inode, and behind the mode owner and length.
const STAT_BYTES: (usize, usize) = (24, 12);

/// Bits of the mode: the type, and that of a folder.
const TYPE: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;

/// In the flags of an entry: it has further ones, and the length of its name.
const EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;

/// The longest index that is read, of half a million files: some 50 ms.
pub(crate) const INDEX_BYTES_MAX: u64 = 64 << 20;

/// Signature, version and number of entries.
const HEADER_BYTES: usize = 12;

impl GitIndexFormat {
    /// Returns the format that a repository's setting `extensions.objectFormat` names.
    pub(crate) fn named(setting: Option<&str>) -> Self {
        if setting == Some("sha256") { Self::Sha256 } else { Self::Sha1 }
    }

    fn id_bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// Calls `on_entry` with each entry of an index. Returns what else is in it; `None` if it is none that is known, or git
/// could read it in another way. The sum at its end is not looked at.
///
/// ```
/// use tenon_sandbox::{GitIndexFormat, read_git_index};
///
/// let empty = [b"DIRC\0\0\0\x02\0\0\0\0", &[0; 20][..]].concat();
/// let index = read_git_index(&empty, GitIndexFormat::Sha1, &mut |_| ()).unwrap();
/// assert_eq!((index.version, index.extensions.len()), (2, 0));
/// assert_eq!(read_git_index(b"DIRC", GitIndexFormat::Sha1, &mut |_| ()), None);
/// ```
pub fn read_git_index<'a>(
    index: &'a [u8],
    format: GitIndexFormat,
    on_entry: &mut dyn FnMut(&GitIndexEntry<'_>),
) -> Option<GitIndex<'a>> {
    let body = index.get(..index.len().checked_sub(format.id_bytes())?)?;
    let mut rest = Rest { all: body, at: 0 };
    (rest.take(4)? == b"DIRC").then_some(())?;
    let version = rest.number().filter(|version| (2..=4).contains(version))?;
    let (mut name, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..rest.number()? {
        let entry = rest.entry((version, format.id_bytes()), &mut name)?;
        starts.push((entry.at, entry.is_whole));
        on_entry(&entry);
    }
    let end = rest.at;
    let mut extensions = Vec::new();
    while rest.at < body.len() {
        let kind = rest.take(4)?;
        let length = usize::try_from(rest.number()?).ok()?;
        let content = rest.take(length)?;
        if kind == b"IEOT" {
            blocks_are_as_read(content, &starts)?;
        }
        extensions.push((kind, content));
    }
    extensions_begin_at(body, end, format)?;
    Some(GitIndex { version, extensions })
}

/// Whether git reads an index and all names in it are such as it adds.
pub(crate) fn is_sound(index: &[u8], format: GitIndexFormat) -> bool {
    // Git takes an empty one for none.
    if index.is_empty() {
        return true;
    }
    let (mut is_plain, mut lacks_names) = (true, false);
    let read = read_git_index(index, format, &mut |entry| {
        // What stands for an entry of a shared index has its name there.
        lacks_names |= entry.name.is_empty();
        is_plain &= entry.name.is_empty() || is_plain_name(entry.name, entry.mode & TYPE == FOLDER);
    });
    read.is_some_and(|read| {
        is_plain && (!lacks_names || read.extensions.iter().any(|(kind, _)| *kind == b"link"))
    })
}

/// Whether all names in a list of conflicts (`MERGE_RR`) are such as git adds.
pub(crate) fn conflicts_are_sound(list: &[u8]) -> bool {
    list.strip_suffix(b"\0").is_none_or(|list| {
        list.split(|byte| *byte == 0).all(|entry| {
            let mut parts = entry.splitn(2, |byte| *byte == b'\t');
            parts.nth(1).is_some_and(|name| is_plain_name(name, false))
        })
    }) && (list.is_empty() || list.ends_with(b"\0"))
}

/// Git may read entries in blocks, from where an extension says that these begin.
fn blocks_are_as_read(content: &[u8], starts: &[(usize, bool)]) -> Option<()> {
    let mut rest = Rest { all: content, at: 0 };
    rest.number()?;
    let mut done = 0;
    while rest.at < content.len() {
        let offset = usize::try_from(rest.number()?).ok()?;
        let count = usize::try_from(rest.number()?).ok()?;
        let (at, is_whole) = *starts.get(done)?;
        // In a block nothing is known of the name before it.
        (at == offset && is_whole).then_some(())?;
        done = done.checked_add(count)?;
    }
    (done == starts.len()).then_some(())
}

/// Where the last extension says where the first begins, git goes by that.
fn extensions_begin_at(body: &[u8], end: usize, format: GitIndexFormat) -> Option<()> {
    let content_bytes = 4 + format.id_bytes();
    let Some(at) = body.len().checked_sub(8 + content_bytes).filter(|at| *at >= HEADER_BYTES)
    else {
        return Some(());
    };
    let mut rest = Rest { all: body, at };
    let is_there = rest.take(4)? == b"EOIE"
        && usize::try_from(rest.number()?).is_ok_and(|length| length == content_bytes);
    let offset = rest.number()?;
    (!is_there || usize::try_from(offset).is_ok_and(|offset| offset == end)).then_some(())
}

/// Whether git adds such a name, which a folder's may end with a slash.
fn is_plain_name(name: &[u8], is_folder: bool) -> bool {
    let name = name.strip_suffix(b"/").filter(|_| is_folder).unwrap_or(name);
    name.split(|byte| *byte == b'/').all(|part| {
        !part.is_empty() && part != b"." && part != b".." && !part.contains(&0) && !is_git(part)
    })
}

/// Whether some file system takes a name for `.git`.
fn is_git(part: &[u8]) -> bool {
    let of_windows = part.split(|byte| b":\\".contains(byte)).next().unwrap_or_default();
    let end = of_windows.iter().rposition(|byte| !b" .".contains(byte)).map_or(0, |last| last + 1);
    let of_windows = of_windows.get(..end).unwrap_or_default();
    if [&b".git"[..], b"git~1"].iter().any(|known| of_windows.eq_ignore_ascii_case(known)) {
        return true;
    }
    // HFS leaves these out.
    let is_left_out = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    !part.is_ascii()
        && std::str::from_utf8(part).is_ok_and(|part| {
            let seen = part.chars().filter(|c| !is_left_out(c));
            seen.collect::<String>().eq_ignore_ascii_case(".git")
        })
}

/// What is still to be read.
struct Rest<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.all.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn flags(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    /// Reads an entry, whose name comes in the place of that before it.
    fn entry<'n>(
        &mut self,
        (version, id_bytes): (u32, usize),
        name: &'n mut Vec<u8>,
    ) -> Option<GitIndexEntry<'n>>
    where
        'a: 'n,
    {
        let at = self.at;
        self.take(STAT_BYTES.0)?;
        let mode = self.number()?;
        self.take(STAT_BYTES.1)?;
        let id = self.take(id_bytes)?;
        let flags = self.flags()?;
        let extended = if flags & EXTENDED == 0 { 0 } else { self.flags()? };
        let kept = match version {
            // The name is the one before without so many bytes at its end, and what follows.
            4 => name.len().checked_sub(self.offset()?)?,
            _ => 0,
        };
        name.truncate(kept);
        let length = self.all.get(self.at..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(self.take(length)?);
        // Git goes by the length that is said, if that is not too long to be said.
        let said = usize::from(flags & NAME_LENGTH);
        (said == name.len().min(usize::from(NAME_LENGTH))).then_some(())?;
        let padding = if version == 4 { 1 } else { 8 - (self.at - at) % 8 };
        self.take(padding)?.iter().all(|byte| *byte == 0).then_some(())?;
        let is_whole = kept == 0;
        Some(GitIndexEntry { mode, id, flags: flags & !NAME_LENGTH, extended, name, at, is_whole })
    }

    /// Reads a number as pack files have it: seven bits a byte, and one more for each that follows.
    fn offset(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        loop {
            let byte = usize::from(*self.take(1)?.first()?);
            value = value.checked_mul(128)?.checked_add(byte & 127)?;
            if byte & 128 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?;
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "runs git, whose files these are")]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Runs `script` in a new repository with some files, and judges all indexes in it.
    fn check(init: &str, script: &str, format: GitIndexFormat) {
        let folder = tempfile::tempdir().unwrap();
        let run = format!(
            "git init -q {init} .; mkdir -p d/e; for n in 1 2 3 .gitignore d/.gitx d/e/...; do echo $n > $n; done; \
             git add .; git commit -qm one; {script}"
        );
        let mut command = Command::new("bash");
        command.args(["-ec", &run]).current_dir(&folder).env("HOME", folder.path());
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "b@c");
        }
        assert!(command.status().unwrap().success(), "{run}");
        let mut found = 0;
        for entry in std::fs::read_dir(folder.path().join(".git")).unwrap() {
            let path = entry.unwrap().path();
            if !is_of_indexes(&path) {
                continue;
            }
            found += 1;
            let index = std::fs::read(&path).unwrap();
            assert!(is_sound(&index, format), "{path:?} after {script}");
            let is_empty = index[8..12] == [0; 4];
            for length in (1..74).filter(|_| !is_empty) {
                assert!(!is_sound(&index[..length], format), "{length} of {path:?}");
            }
        }
        assert!(found > 0, "{script}");
    }

    fn is_of_indexes(path: &Path) -> bool {
        let name = path.file_name().unwrap().to_str().unwrap();
        name == "index" || name.starts_with("sharedindex.")
    }

    #[test]
    fn what_git_writes_is_sound() {
        for (init, format) in
            [("", GitIndexFormat::Sha1), ("--object-format=sha256", GitIndexFormat::Sha256)]
        {
            for script in [
                "true",
                "git rm -rq --cached .",
                "git update-index --index-version 4; echo 5 > d/5; git add .",
                "git add -N 1; echo n > n; git add -N n; git update-index --skip-worktree 2",
                "git update-index --split-index; echo 2 > 1; git add 1; git rm -q --cached 2",
                "git update-index --index-version 4 --split-index; echo 2 > 1; git add 1",
                "git update-index --untracked-cache; git status -s",
                "git sparse-checkout set --cone --sparse-index nothing; git status -s",
                "git -c index.skipHash=true add -A",
                "for n in $(seq 400); do echo > f$n; done; git -c index.threads=4 add .; git -c index.threads=4 update-index --index-version 4",
            ] {
                check(init, script, format);
            }
        }
    }

    /// Returns an index of version 2 with these names.
    fn index(names: &[&[u8]], extensions: &[u8]) -> Vec<u8> {
        let count = u32::try_from(names.len()).unwrap().to_be_bytes();
        let mut index = [b"DIRC\0\0\0\x02", &count[..]].concat();
        for name in names {
            let mut entry = vec![0; 24];
            entry.extend(0o100_644_u32.to_be_bytes());
            entry.extend([0; 12 + 20]);
            entry.extend(u16::try_from(name.len()).unwrap().min(NAME_LENGTH).to_be_bytes());
            entry.extend(*name);
            entry.extend(vec![0; 8 - entry.len() % 8]);
            index.extend(entry);
        }
        index.extend(extensions);
        index.extend([0; 20]);
        index
    }

    #[test]
    fn names_that_git_does_not_add_are_found() {
        let sound = |name: &[u8]| is_sound(&index(&[b"a", name], b""), GitIndexFormat::Sha1);
        let long = [b"d/".repeat(3000), b"f".to_vec()].concat();
        for name in [&b"b"[..], b"d/..a", b".gitignore", b"d/...", b"git", b"d/.git-x/y", &long] {
            assert!(sound(name), "{:?}", name.escape_ascii().to_string());
        }
        for name in [
            &b""[..],
            b"/etc/passwd",
            b"../a",
            b"d/../../a",
            b".",
            b"./a",
            b"d//a",
            b"d/",
            b"a\0b",
            b".git/hooks/pre-commit",
            b".GiT/config",
            b"d/.git",
            b".git . /config",
            b".git::$INDEX_ALLOCATION/config",
            b"git~1/config",
            b".git\\config",
            ".g\u{200c}it/config".as_bytes(),
        ] {
            assert!(!sound(name), "{:?}", name.escape_ascii().to_string());
        }
    }

    #[test]
    fn what_git_could_read_in_two_ways_is_not_accepted() {
        let plain = index(&[b"a", b"b"], b"");
        assert!(
            is_sound(&plain, GitIndexFormat::Sha1) && !is_sound(&plain, GitIndexFormat::Sha256)
        );
        // The first entry says that its name is longer, or shorter, than what follows.
        for length in [0, 2, 12] {
            let mut other = plain.clone();
            other[12 + 61] = length;
            assert!(!is_sound(&other, GitIndexFormat::Sha1), "{length}");
        }
        let blocks = |offset: u32, count: u32| {
            let content = [1, offset, count].map(u32::to_be_bytes).concat();
            index(&[b"a", b"b"], &[b"IEOT\0\0\0\x0c", &content[..]].concat())
        };
        assert!(is_sound(&blocks(12, 2), GitIndexFormat::Sha1));
        assert!(
            !is_sound(&blocks(84, 2), GitIndexFormat::Sha1)
                && !is_sound(&blocks(12, 1), GitIndexFormat::Sha1)
        );
        let end = |offset: u32| {
            let content = [&offset.to_be_bytes()[..], &[0; 20]].concat();
            index(&[b"a", b"b"], &[b"EOIE\0\0\0\x18", &content[..]].concat())
        };
        assert!(
            is_sound(&end(12 + 2 * 64), GitIndexFormat::Sha1)
                && !is_sound(&end(12), GitIndexFormat::Sha1)
        );
        assert!(!is_sound(&index(&[b"a"], b"TREE\0\0\0\x09"), GitIndexFormat::Sha1));
    }

    #[test]
    fn a_list_of_conflicts_has_plain_names() {
        for sound in [&b""[..], b"0123\ta\0", b"0123\ta\x000123.1\td/b c\0"] {
            assert!(conflicts_are_sound(sound), "{:?}", sound.escape_ascii().to_string());
        }
        for list in [&b"x"[..], b"0123\t/a\0", b"0123\ta\x000123\t../b\0", b"0123\ta", b"0123\0"] {
            assert!(!conflicts_are_sound(list), "{:?}", list.escape_ascii().to_string());
        }
    }
}
