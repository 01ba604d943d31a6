//! The part of the tar format (POSIX ustar) that bundles need: files, folders and links. Of the extensions
//! (pax) only long names and extended attributes, as other programs write them, within a bound.
//! Works on bytes alone.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::attributes::{Attributes, is_copied};

/// Bytes of a header, and what contents are filled up to.
const BLOCK: usize = 512;

/// Where the fields of a header are, by POSIX.1-1988.
const NAME: std::ops::Range<usize> = 0..100;
const MODE: std::ops::Range<usize> = 100..108;
const SIZE: std::ops::Range<usize> = 124..136;
const MODIFIED: std::ops::Range<usize> = 136..148;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const KIND: usize = 156;
const TARGET: std::ops::Range<usize> = 157..257;
const MAGIC: std::ops::Range<usize> = 257..265;
const PREFIX: std::ops::Range<usize> = 345..500;
/// Where POSIX has nothing: what the time has beyond its second, in nanoseconds, as decimal digits.
const NANOSECONDS: std::ops::Range<usize> = 500..509;
/// Where POSIX has nothing: `-` if the time is so long before 1970.
const SIGN: usize = 509;

/// How the names of extended attributes begin in an extended header.
const ATTRIBUTE: &[u8] = b"SCHILY.xattr.";
/// Names there of what does not fit its field.
const LONG_PATH: &[u8] = b"path";
const LONG_TARGET: &[u8] = b"linkpath";
/// The longest path: with that of the folder it is unpacked to it is to be one for the kernel (4,096 bytes).
const PATH_BYTES_MAX: usize = 3072;
/// The most names that a path has.
pub(super) const DEPTH_MAX: usize = 128;
/// The most bytes of an extended header: four times what ext4 has room for.
const EXTENDED_BYTES_MAX: usize = 256 << 10;

/// Why an archive is refused that has more than bundles have.
const OTHER: &str = "it holds something else than files, folders and links";

/// What an archive has one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) mode: u32,
    pub(super) modified: SystemTime,
    pub(super) kind: EntryKind,
    /// Extended attributes (`user.*`).
    pub(super) attributes: Attributes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A file of so many bytes, which follow.
    File(u64),
    Folder,
    /// A symbolic link and where it leads.
    Link(OsString),
}

/// Writes the header of `entry`; a file's bytes are to follow, and then [`pad`]. Returns whether its
/// names and attributes fit; if not, nothing is written.
pub(super) fn write_header(out: &mut impl Write, entry: &Entry) -> io::Result<bool> {
    let Some(header) = header(entry, None) else { return Ok(false) };
    let extended = extended(entry);
    if !extended.is_empty() {
        let bytes = extended.len() as u64;
        let Some(above) = self::header(entry, Some(bytes)) else { return Ok(false) };
        if extended.len() > EXTENDED_BYTES_MAX {
            return Ok(false);
        }
        out.write_all(&above)?;
        out.write_all(&extended)?;
        pad(out, bytes)?;
    }
    out.write_all(&header).map(|()| true)
}

/// Returns the header of `entry`, or that of its extended header of so many bytes.
fn header(entry: &Entry, extended: Option<u64>) -> Option<[u8; BLOCK]> {
    let mut header = [0_u8; BLOCK];
    let (path, depth) = (entry.path.as_os_str(), entry.path.components().count());
    // What is too long stands in the extended header as a whole, and here as far as there is room.
    let (prefix, name) = split(path).unwrap_or((b"", path.as_bytes()));
    let (kind, size, target) = match (&entry.kind, extended) {
        (_, Some(bytes)) => (b'x', bytes, OsStr::new("")),
        (EntryKind::File(bytes), _) => (b'0', *bytes, OsStr::new("")),
        (EntryKind::Folder, _) => (b'5', 0, OsStr::new("")),
        (EntryKind::Link(target), _) => (b'2', 0, target.as_os_str()),
    };
    if path.len() > PATH_BYTES_MAX || depth > DEPTH_MAX || size >= 1 << 33 {
        return None;
    }
    let (modified, is_before) = match entry.modified.duration_since(UNIX_EPOCH) {
        Ok(modified) => (modified, false),
        Err(before) => (before.duration(), true),
    };
    let seconds = modified.as_secs().min((1 << 33) - 1);
    let nanoseconds = modified.subsec_nanos();
    let mut put = |at: std::ops::Range<usize>, bytes: &[u8]| {
        let field = header.get_mut(at).unwrap_or_default();
        field.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    };
    put(NAME, name);
    put(PREFIX, prefix);
    put(MODE, format!("{:07o}", entry.mode & 0o7777).as_bytes());
    put(SIZE, format!("{size:011o}").as_bytes());
    put(MODIFIED, format!("{seconds:011o}").as_bytes());
    put(NANOSECONDS, format!("{nanoseconds:09}").as_bytes());
    put(SIGN..SIGN + 1, if is_before { b"-" } else { b"" });
    put(KIND..KIND + 1, &[kind]);
    put(TARGET, target.as_bytes());
    put(MAGIC, b"ustar\x0000");
    let sum = checksum(&header);
    header
        .get_mut(CHECKSUM)
        .unwrap_or_default()
        .copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Some(header)
}

/// Returns the records of the extended header of `entry`; empty where it needs none.
fn extended(entry: &Entry) -> Vec<u8> {
    let mut records = Vec::new();
    if split(entry.path.as_os_str()).is_none() {
        add_record(&mut records, LONG_PATH, entry.path.as_os_str().as_bytes());
    }
    if let EntryKind::Link(target) = &entry.kind
        && target.len() > TARGET.len()
    {
        add_record(&mut records, LONG_TARGET, target.as_bytes());
    }
    for (name, value) in &entry.attributes {
        let name = [ATTRIBUTE, &*escaped(name.as_bytes())].concat();
        add_record(&mut records, &name, value);
    }
    records
}

/// Adds a record: `LENGTH NAME=VALUE` and a line's end.
fn add_record(records: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let rest = [b" ", name, b"=", value, b"\n"].concat();
    // The length counts its own digits.
    let digits = (1..).find(|digits| (rest.len() + digits).to_string().len() == *digits);
    let length = rest.len() + digits.unwrap_or_default();
    records.extend_from_slice(length.to_string().as_bytes());
    records.extend_from_slice(&rest);
}

/// Returns a name without `=`, at which its value begins.
fn escaped(name: &[u8]) -> Vec<u8> {
    let byte = |byte: &u8| match byte {
        b'%' => b"%25".to_vec(),
        b'=' => b"%3D".to_vec(),
        byte => vec![*byte],
    };
    name.iter().flat_map(byte).collect()
}

fn unescaped(name: &[u8]) -> Vec<u8> {
    let (mut whole, mut rest) = (Vec::new(), name);
    while let Some((byte, after)) = rest.split_first() {
        let (byte, after) = match rest.get(..3) {
            Some(b"%25") => (b'%', rest.get(3..).unwrap_or_default()),
            Some(b"%3D") => (b'=', rest.get(3..).unwrap_or_default()),
            _ => (*byte, after),
        };
        whole.push(byte);
        rest = after;
    }
    whole
}

/// What an extended header says of the entry behind it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Extended {
    attributes: Attributes,
    path: Option<PathBuf>,
    target: Option<OsString>,
}

/// Reads an extended header of so many bytes, which may have nothing but names and attributes that are copied:
/// others would say of what follows that it is something else.
fn read_extended(from: &mut impl Read, bytes: u64) -> io::Result<Extended> {
    let other = || wrong(OTHER);
    let length = usize::try_from(bytes).ok().filter(|length| *length <= EXTENDED_BYTES_MAX);
    let mut records = vec![0; length.ok_or_else(other)?];
    from.read_exact(&mut records)?;
    skip_padding(from, bytes)?;
    let (mut extended, mut rest) = (Extended::default(), records.as_slice());
    while !rest.is_empty() {
        let (record, after) = split_record(rest).ok_or_else(other)?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(other)?;
        let (name, value) = record.split_at(equals);
        let value = value.get(1..).unwrap_or_default().to_vec();
        rest = after;
        if name == LONG_PATH || name == LONG_TARGET {
            if value.is_empty() || value.contains(&0) {
                return Err(other());
            }
            let value = OsString::from_vec(value);
            match name == LONG_PATH {
                true => extended.path = Some(value.into()),
                false => extended.target = Some(value),
            }
            continue;
        }
        let name = unescaped(name.strip_prefix(ATTRIBUTE).ok_or_else(other)?);
        if !is_copied(&name) || name.contains(&0) {
            return Err(other());
        }
        extended.attributes.push((OsString::from_vec(name), value));
    }
    Ok(extended)
}

/// Splits a record without its length and its end from those behind it.
fn split_record(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = records.iter().position(|byte| *byte == b' ')?;
    let length = std::str::from_utf8(records.get(..space)?).ok()?.parse().ok()?;
    let (record, after) = records.split_at_checked(length)?;
    Some((record.get(space + 1..)?.strip_suffix(b"\n")?, after))
}

/// Fills up behind a content of `bytes`.
pub(super) fn pad(out: &mut impl Write, bytes: u64) -> io::Result<()> {
    out.write_all([0; BLOCK].get(..padding(bytes)).unwrap_or_default())
}

/// Ends an archive.
pub(super) fn write_end(out: &mut impl Write) -> io::Result<()> {
    out.write_all(&[0; 2 * BLOCK])
}

/// Reads the next header; `None` at the end. A file's bytes follow, and then [`skip_padding`].
pub(super) fn read_header(from: &mut impl Read) -> io::Result<Option<Entry>> {
    let mut header = [0_u8; BLOCK];
    from.read_exact(&mut header)?;
    if header == [0; BLOCK] {
        return Ok(None);
    }
    let bytes = match header_in(&header)? {
        Header::Entry(entry) => return Ok(Some(entry)),
        Header::Extended(bytes) => bytes,
    };
    let Extended { attributes, path, target } = read_extended(from, bytes)?;
    from.read_exact(&mut header)?;
    let Header::Entry(entry) = header_in(&header)? else { return Err(wrong(OTHER)) };
    let path = path.unwrap_or(entry.path);
    let kind = match (entry.kind, target) {
        (EntryKind::Link(_), Some(target)) => EntryKind::Link(target),
        (_, Some(_)) => return Err(wrong(OTHER)),
        (kind, None) => kind,
    };
    Ok(Some(Entry { path, kind, attributes, ..entry }))
}

/// What a header is of.
enum Header {
    Entry(Entry),
    /// Of so many bytes that tell of the entry behind them.
    Extended(u64),
}

fn header_in(header: &[u8; BLOCK]) -> io::Result<Header> {
    let field = |at: std::ops::Range<usize>| {
        let field = header.get(at).unwrap_or_default();
        field.split(|byte| *byte == 0).next().unwrap_or_default()
    };
    let number = |at| {
        let text = std::str::from_utf8(field(at)).ok()?.trim();
        u64::from_str_radix(text, 8).ok()
    };
    let is_ustar = field(MAGIC.start..MAGIC.start + 5) == b"ustar";
    if !is_ustar || number(CHECKSUM) != Some(u64::from(checksum(header))) {
        return Err(wrong("it is no archive of the kind that bundles are"));
    }
    let missing = || wrong("a number of it cannot be read");
    let mut path = PathBuf::from(OsString::from_vec(field(PREFIX).to_vec()));
    path.push(OsStr::from_bytes(field(NAME)));
    let kind = match header.get(KIND) {
        Some(b'0' | 0) => EntryKind::File(number(SIZE).ok_or_else(missing)?),
        Some(b'5') => EntryKind::Folder,
        Some(b'2') => EntryKind::Link(OsString::from_vec(field(TARGET).to_vec())),
        Some(b'x') => return number(SIZE).map(Header::Extended).ok_or_else(missing),
        _ => return Err(wrong(OTHER)),
    };
    let mode = number(MODE).and_then(|mode| u32::try_from(mode).ok()).ok_or_else(missing)? & 0o7777;
    // What other programs write has none.
    let nanoseconds =
        std::str::from_utf8(field(NANOSECONDS)).ok().and_then(|text| text.parse().ok());
    let nanoseconds = nanoseconds.filter(|number| *number < 1_000_000_000).unwrap_or(0);
    let from_1970 = Duration::new(number(MODIFIED).ok_or_else(missing)?, nanoseconds);
    let modified = match header.get(SIGN) {
        Some(b'-') => UNIX_EPOCH.checked_sub(from_1970),
        _ => UNIX_EPOCH.checked_add(from_1970),
    };
    let modified = modified.ok_or_else(missing)?;
    Ok(Header::Entry(Entry { path, mode, modified, kind, attributes: Attributes::new() }))
}

/// Goes on behind a content of `bytes`.
pub(super) fn skip_padding(from: &mut impl Read, bytes: u64) -> io::Result<()> {
    let mut rest = [0; BLOCK];
    from.read_exact(rest.get_mut(..padding(bytes)).unwrap_or_default())
}

pub(super) fn wrong(words: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words.to_owned())
}

fn padding(bytes: u64) -> usize {
    let over = usize::try_from(bytes % BLOCK as u64).unwrap_or_default();
    (BLOCK - over) % BLOCK
}

/// The sum of a header's bytes, its own field counted as spaces.
fn checksum(header: &[u8; BLOCK]) -> u32 {
    let byte =
        |(at, byte): (usize, &u8)| u32::from(if CHECKSUM.contains(&at) { b' ' } else { *byte });
    header.iter().enumerate().map(byte).sum()
}

/// Splits a path at a slash into what fits the two fields; `None` if it does not fit.
fn split(path: &OsStr) -> Option<(&[u8], &[u8])> {
    let path = Path::new(path).as_os_str().as_bytes();
    if path.len() <= NAME.len() {
        return Some((b"", path));
    }
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let fits = |at: usize| at <= PREFIX.len() && path.len() - at - 1 <= NAME.len();
    let at = slashes.map(|(at, _)| at).find(|at| fits(*at))?;
    Some((path.get(..at)?, path.get(at + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, kind: EntryKind) -> Entry {
        Entry {
            path: path.into(),
            mode: 0o751,
            modified: UNIX_EPOCH + Duration::new(1_767_225_600, 20_000_001),
            kind,
            attributes: Attributes::new(),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let long = format!("{}/{}", "a/".repeat(60), "汉".repeat(30));
        let entries = [
            entry("a.txt", EntryKind::File(3)),
            entry("folder", EntryKind::Folder),
            Entry { mode: 0o1777, ..entry("sticky", EntryKind::Folder) },
            Entry {
                modified: UNIX_EPOCH - Duration::new(315_619_200, 20_000_001),
                ..entry("old", EntryKind::Folder)
            },
            entry("link", EntryKind::Link("../x".into())),
            Entry {
                attributes: vec![
                    ("user.a=%b".into(), b"\0=\n".to_vec()),
                    ("user.empty".into(), Vec::new()),
                    ("user.long".into(), vec![b'l'; 990]),
                ],
                ..entry("attributes", EntryKind::File(5))
            },
            entry(&long.replace("//", "/"), EntryKind::File(0)),
            entry(&"n".repeat(101), EntryKind::Folder),
            entry(
                &format!("roots/1/{}f", format!("{}/", "d".repeat(250)).repeat(8)),
                EntryKind::File(7),
            ),
            Entry {
                attributes: vec![("user.a".into(), b"b".to_vec())],
                ..entry(&"n".repeat(255), EntryKind::File(1))
            },
            entry("far", EntryKind::Link("../".repeat(1000).into())),
            entry(&"l".repeat(255), EntryKind::Link("t".repeat(101).into())),
        ];
        let mut bytes = Vec::new();
        for entry in &entries {
            assert!(write_header(&mut bytes, entry).unwrap());
            if let EntryKind::File(length) = entry.kind {
                bytes.extend_from_slice(&vec![b'x'; length as usize]);
                pad(&mut bytes, length).unwrap();
            }
        }
        write_end(&mut bytes).unwrap();
        let mut from = bytes.as_slice();
        for entry in entries {
            assert_eq!(read_header(&mut from).unwrap().unwrap(), entry);
            if let EntryKind::File(length) = entry.kind {
                from = &from[length as usize..];
                skip_padding(&mut from, length).unwrap();
            }
        }
        assert_eq!(read_header(&mut from).unwrap(), None);
        let mut out = Vec::new();
        for too_long in ["a".repeat(PATH_BYTES_MAX + 1), "a/".repeat(DEPTH_MAX + 1)] {
            assert!(!write_header(&mut out, &entry(&too_long, EntryKind::Folder)).unwrap());
        }
        assert!(!write_header(&mut out, &entry("a", EntryKind::File(1 << 33))).unwrap());
        assert!(out.is_empty());
    }

    #[test]
    fn an_extended_header_of_anything_but_names_and_attributes_is_refused() {
        let read = |records: &[u8]| {
            read_extended(&mut [records, &[0; BLOCK]].concat().as_slice(), records.len() as u64)
        };
        assert_eq!(
            read(b"26 SCHILY.xattr.user.k=vw\n10 path=a\n14 linkpath=b\n").unwrap(),
            Extended {
                attributes: vec![("user.k".into(), b"vw".to_vec())],
                path: Some("a".into()),
                target: Some("b".into()),
            }
        );
        for records in [
            &b"11 size=12\n"[..],
            b"9 path=\n",
            b"11 path=a\0\n",
            b"29 SCHILY.xattr.trusted.k=vw\n",
            b"26 SCHILY.xattr.user.k=vw ",
            b"27 SCHILY.xattr.user.k=vw\n",
            b"99999999999999999999 SCHILY.xattr.user.k=vw\n",
            b"1 SCHILY.xattr.user.k=vw\n",
            b"x",
        ] {
            assert!(read(records).is_err(), "{:?}", String::from_utf8_lossy(records));
        }
        let mut twice = Vec::new();
        let with = Entry {
            attributes: vec![("user.k".into(), b"v".to_vec())],
            ..entry("a", EntryKind::Folder)
        };
        assert!(write_header(&mut twice, &with).unwrap());
        let above = twice[..2 * BLOCK].to_vec();
        assert!(read_header(&mut [&*above, &*twice].concat().as_slice()).is_err());
        assert!(read_extended(&mut io::repeat(b'1'), 1 << 40).is_err());
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let mut good = Vec::new();
        write_header(&mut good, &entry("a", EntryKind::File(3))).unwrap();
        let read = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            // A right sum: what is refused is refused for its own sake.
            if at != 0 {
                let sum = checksum(&bytes[..].try_into().unwrap());
                bytes[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            }
            read_header(&mut bytes.as_slice())
        };
        assert!(read(1, b'b').is_ok());
        let odd = read(NANOSECONDS.start, b'-').unwrap().unwrap();
        assert_eq!(odd.modified.duration_since(UNIX_EPOCH).unwrap().subsec_nanos(), 0);
        assert!(read(0, b'b').is_err(), "the sum is wrong");
        for (at, byte) in
            [(KIND, b'1'), (KIND, b'3'), (KIND, b'L'), (KIND, b'x'), (SIZE.start, 0x80)]
        {
            assert!(read(at, byte).is_err(), "{at} {byte}");
        }
        assert!(read_header(&mut &good[..100]).is_err());
    }
}
