//! Paths in JSON, which knows only Unicode: every name that Linux allows is kept as it is.
//!
//! A path that is UTF-8 is written as itself. In any other each byte that is no part of a letter is
//! NUL and two hexadecimal digits; NUL is in no path, so that nothing else is written so.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serializer};

/// Stands before a byte.
const MARK: u8 = 0;

/// Writes `paths` as a list of texts: for `#[serde(serialize_with = "tenon_agent::serialize_paths")]`.
///
/// ```
/// use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};
///
/// let paths = [PathBuf::from("/work"), OsStr::from_bytes(b"/w\xff").into()];
/// let mut json = Vec::new();
/// tenon_agent::serialize_paths(&paths, &mut serde_json::Serializer::new(&mut json))?;
/// assert_eq!(String::from_utf8(json)?, r#"["/work","/w\u0000ff"]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// What `serializer` says.
pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| written(path)))
}

/// Reads a list that [`serialize_paths`](crate::serialize_paths) wrote: for
/// `#[serde(deserialize_with = "tenon_agent::deserialize_paths")]`.
///
/// ```
/// use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
///
/// let json = &mut serde_json::Deserializer::from_str(r#"["/work","/w\u0000ff"]"#);
/// let paths = tenon_agent::deserialize_paths(json)?;
/// assert_eq!(paths[0].to_str(), Some("/work"));
/// assert_eq!(paths[1].as_os_str(), OsStr::from_bytes(b"/w\xff"));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// If it is no list of texts.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    Ok(texts.into_iter().map(read).collect())
}

fn written(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // A string takes in everything.
            let _ = write!(text, "{}{byte:02x}", char::from(MARK));
        }
    }
    text
}

fn read(text: String) -> PathBuf {
    if !text.as_bytes().contains(&MARK) {
        return text.into();
    }
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let coded = behind.get(..2).filter(|_| *first == MARK).and_then(byte_of);
        bytes.push(coded.unwrap_or(*first));
        rest = if coded.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    OsString::from_vec(bytes).into()
}

/// Returns the byte of two digits.
fn byte_of(digits: &[u8]) -> Option<u8> {
    let is_digit = |digit: &u8| digit.is_ascii_hexdigit();
    let digits = OsStr::from_bytes(digits).to_str().filter(|_| digits.iter().all(is_digit))?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_read_as_it_was_written() {
        let names: [(&[u8], &str); 6] = [
            (b"/work/a b", "/work/a b"),
            ("/汉/\u{fffd}".as_bytes(), "/汉/\u{fffd}"),
            (b"/ws-\xff", "/ws-\0ff"),
            (b"/a\xe6\xb1/\x80ff\xc3", "/a\0e6\0b1/\080ff\0c3"),
            (b"/\xff\xfe\"\\\n", "/\0ff\0fe\"\\\n"),
            (b"", ""),
        ];
        for (bytes, text) in names {
            let path = PathBuf::from(OsStr::from_bytes(bytes));
            assert_eq!(written(&path), text);
            assert_eq!(read(text.to_owned()), path);
        }
    }

    #[test]
    fn a_mark_without_a_byte_behind_it_stays() {
        for text in ["/a\0", "/a\0f", "/a\0+f", "/a\0汉", "/a\0\0"] {
            assert_eq!(read(text.to_owned()), PathBuf::from(text));
        }
    }
}
