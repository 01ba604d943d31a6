//! Pictures: what a file is by its content, how large it is drawn, and whether providers take it.
//!
//! Only the head of a file is looked at; nothing is decoded, turned or scaled down. A picture is
//! written to logs and hashes by the digest of its bytes, never with them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::base64;

/// A picture, encoded.
///
/// Its JSON names it by digest and leaves [`Image::data`] out: whoever reads it fills that in from
/// where the bytes are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// The SHA-256 of the file's bytes, in hexadecimal digits.
    #[serde(default)]
    pub sha256: String,
    /// How many bytes the file has.
    #[serde(default)]
    pub bytes: u64,
    /// Pixels from left to right.
    #[serde(default)]
    pub width: u32,
    /// Pixels from top to bottom.
    #[serde(default)]
    pub height: u32,
    /// The file's bytes in standard base64; empty where they are not known.
    #[serde(default, skip_serializing)]
    pub data: Arc<str>,
}

/// Why bytes cannot be sent as a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// They are something else, whatever the file's name says.
    #[error("is not a PNG, JPEG, GIF or WebP image")]
    NotAnImage,
    /// The file is larger than providers take.
    #[error(
        "is too large to send: {bytes} bytes; an image may have {} bytes at most",
        Image::BYTES_MAX
    )]
    TooManyBytes {
        /// Of the file.
        bytes: u64,
    },
    /// It is wider or higher than providers take.
    #[error(
        "is too large to send: {width} x {height} pixels; an image may have {} on each side at most",
        Image::SIDE_PIXELS_MAX
    )]
    TooManyPixels {
        /// Pixels from left to right.
        width: u32,
        /// Pixels from top to bottom.
        height: u32,
    },
}

impl Image {
    /// The most bytes of a file: 5 MiB in base64 (Anthropic, "Vision": 5 MB per image; OpenAI takes
    /// more).
    pub const BYTES_MAX: u64 = 5 * 1024 * 1024 / 4 * 3;
    /// The most pixels on each side (Anthropic, "Vision").
    pub const SIDE_PIXELS_MAX: u32 = 8_000;
    /// How many bytes of a file tell whether it may be a picture.
    pub const HEAD_BYTES: usize = 12;

    /// Returns the picture that the bytes of a file are.
    ///
    /// # Errors
    /// If they are none that providers take.
    pub fn new(bytes: &[u8]) -> Result<Self, ImageError> {
        let media_type = media_type(bytes).ok_or(ImageError::NotAnImage)?;
        let (width, height) = match media_type {
            PNG => png_size(bytes),
            JPEG => jpeg_size(bytes),
            GIF => gif_size(bytes),
            _ => webp_size(bytes),
        }
        .filter(|(width, height)| *width > 0 && *height > 0)
        .ok_or(ImageError::NotAnImage)?;
        let length = bytes.len() as u64;
        if length > Self::BYTES_MAX {
            return Err(ImageError::TooManyBytes { bytes: length });
        }
        if width.max(height) > Self::SIDE_PIXELS_MAX {
            return Err(ImageError::TooManyPixels { width, height });
        }
        let digest = Sha256::digest(bytes);
        Ok(Self {
            media_type: media_type.to_owned(),
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            bytes: length,
            width,
            height,
            data: base64::encode(bytes).into(),
        })
    }

    /// Returns whether a file that begins with `head` is a picture by its first
    /// [`Image::HEAD_BYTES`].
    pub fn is_begun_by(head: &[u8]) -> bool {
        media_type(head).is_some()
    }

    /// Returns what people see in its place: `PNG image, 800 x 600 pixels, 12345 bytes`.
    pub fn in_words(&self) -> String {
        let format = self.media_type.strip_prefix("image/").unwrap_or(&self.media_type);
        let format =
            if self.media_type == WEBP { "WebP".to_owned() } else { format.to_uppercase() };
        let Self { width, height, bytes, .. } = self;
        format!("{format} image, {width} x {height} pixels, {bytes} bytes")
    }
}

const PNG: &str = "image/png";
const JPEG: &str = "image/jpeg";
const GIF: &str = "image/gif";
const WEBP: &str = "image/webp";

fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(PNG),
        [0xff, 0xd8, 0xff, ..] => Some(JPEG),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(GIF),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(WEBP),
        _ => None,
    }
}

/// The first chunk is the header (PNG specification, 11.2.1).
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.get(12..16)? == b"IHDR").then_some(())?;
    let number = |place| Some(u32::from_be_bytes(array(bytes, place)?));
    Some((number(16)?, number(20)?))
}

/// The size of the screen that all frames are drawn on (GIF89a, 18).
fn gif_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |place| Some(u32::from(u16::from_le_bytes(array(bytes, place)?)));
    Some((number(6)?, number(8)?))
}

/// The frame header stands behind any number of segments (ITU T.81, B.2.2).
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut place = 2;
    loop {
        let [mark, kind] = array(bytes, place)?;
        if mark != 0xff {
            return None;
        }
        match kind {
            // Bytes that fill up.
            0xff => place += 1,
            // C4, C8 and CC are tables and the like.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let number = |place| Some(u32::from(u16::from_be_bytes(array(bytes, place)?)));
                return Some((number(place + 7)?, number(place + 5)?));
            }
            // Stand alone, without a length.
            0x01 | 0xd0..=0xd8 => place += 2,
            // The picture begins or ends without a frame.
            0xd9 | 0xda => return None,
            _ => place += 2 + usize::from(u16::from_be_bytes(array(bytes, place + 2)?)),
        }
    }
}

/// Three kinds of first chunks (RFC 9649, 2.5 to 2.7).
fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let short = |place| Some(u32::from(u16::from_le_bytes(array(bytes, place)?)));
    match bytes.get(12..16)? {
        b"VP8X" => {
            let long = |place| {
                let [low, middle, high] = array(bytes, place)?;
                Some(u32::from_le_bytes([low, middle, high, 0]) + 1)
            };
            Some((long(24)?, long(27)?))
        }
        b"VP8L" => {
            let bits = u32::from_le_bytes(array(bytes, 21)?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((short(26)? & 0x3fff, short(28)? & 0x3fff)),
        _ => None,
    }
}

fn array<const N: usize>(bytes: &[u8], place: usize) -> Option<[u8; N]> {
    bytes.get(place..place.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    fn check(bytes: &[u8], expected: &str) {
        let found = match Image::new(bytes) {
            Ok(image) => image.in_words(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{bytes:02x?}");
    }

    #[test]
    fn a_picture_is_known_by_its_content_and_measured_by_its_head() {
        check(&png(800, 600), "PNG image, 800 x 600 pixels, 24 bytes");
        check(b"GIF89a\x20\x03\x58\x02\0\0\0", "GIF image, 800 x 600 pixels, 13 bytes");
        let mut jpeg = b"\xff\xd8\xff\xe1\0\x08Exif\0\0\xff\xff\xc4\0\x04ab".to_vec();
        jpeg.extend(b"\xff\xc2\0\x11\x08\x02\x58\x03\x20\x03");
        check(&jpeg, "JPEG image, 800 x 600 pixels, 29 bytes");
        let webp =
            |chunk: &[u8], rest: &[u8]| [b"RIFF\0\0\0\0WEBP", chunk, b"\0\0\0\0", rest].concat();
        let extended = webp(b"VP8X", &[0, 0, 0, 0, 0x1f, 3, 0, 0x57, 2, 0]);
        check(&extended, "WebP image, 800 x 600 pixels, 30 bytes");
        let bits = (799_u32 | 599 << 14).to_le_bytes();
        check(
            &webp(b"VP8L", &[&[0x2f], &bits[..]].concat()),
            "WebP image, 800 x 600 pixels, 25 bytes",
        );
        let lossy = webp(b"VP8 ", &[0, 0, 0, 0x9d, 1, 0x2a, 0x20, 3, 0x58, 2]);
        check(&lossy, "WebP image, 800 x 600 pixels, 30 bytes");
        for other in
            [&b"#!/bin/sh"[..], b"", b"\x89PNG", b"<svg/>", &png(0, 9), b"\xff\xd8\xff\xd9"]
        {
            check(other, "is not a PNG, JPEG, GIF or WebP image");
        }
    }

    #[test]
    fn what_providers_refuse_is_refused_in_a_sentence() {
        check(
            &png(8_001, 2),
            "is too large to send: 8001 x 2 pixels; an image may have 8000 on each side at most",
        );
        let mut long = png(2, 2);
        long.resize(Image::BYTES_MAX as usize, 0);
        assert_eq!(Image::new(&long).unwrap().data.len(), 5 * 1024 * 1024);
        long.push(0);
        check(
            &long,
            "is too large to send: 3932161 bytes; an image may have 3932160 bytes at most",
        );
    }

    #[test]
    fn the_log_gets_the_digest_and_never_the_bytes() {
        let image = Image::new(&png(2, 1)).unwrap();
        let json = serde_json::to_string(&image).unwrap();
        assert!(!json.contains(&*image.data) && json.contains(&image.sha256), "{json}");
        let read: Image = serde_json::from_str(&json).unwrap();
        assert_eq!(Image { data: Arc::clone(&image.data), ..read }, image);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(kind in 0..4_usize, bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let heads: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBP"];
            let _ = Image::new(&[heads[kind], &bytes].concat());
        }
    }
}
