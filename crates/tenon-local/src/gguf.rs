//! Reads the header of a GGUF file: metadata and where each tensor lies.
//!
//! Pure over a byte slice and hostile-proof: every count is held against the bytes that are left
//! before anything is allocated, so a truncated or invented file costs an error and no memory.
//! Arrays stay where they are and are decoded when asked for: a vocabulary has 150,000 strings.

use std::collections::HashMap;

use crate::EngineError;

/// Tensors have at most this many dimensions by the format's own rule.
const DIMENSIONS_MAX: u32 = 4;
/// Arrays of arrays are allowed by the format and used by nobody; deeper ones are refused.
const NESTING_MAX: u32 = 4;
/// Where tensor data starts is rounded up to this, unless the file says otherwise.
const ALIGNMENT_BYTES_DEFAULT: u64 = 32;

/// The header of a GGUF file over the bytes of the whole file.
#[derive(Debug)]
pub(crate) struct Gguf<'a> {
    metadata: HashMap<&'a str, Value<'a>>,
    tensors: HashMap<&'a str, TensorPlace>,
}

/// Where one tensor lies and how it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TensorPlace {
    /// Number of the storage type in the format.
    pub(crate) kind: u32,
    /// Values in a row (the first dimension of the format).
    pub(crate) columns: usize,
    /// How many rows there are (all further dimensions).
    pub(crate) rows: usize,
    /// Offset of the first byte from the start of the file.
    pub(crate) offset: usize,
}

#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool,
    Text(&'a str),
    Array { kind: u32, count: u64, bytes: &'a [u8] },
}

impl<'a> Gguf<'a> {
    /// Parses the header of `file`.
    pub(crate) fn parse(file: &'a [u8]) -> Result<Self, EngineError> {
        let mut cursor = Cursor { rest: file };
        if cursor.take(4)? != b"GGUF" {
            return Err(EngineError::NotGguf);
        }
        let version = cursor.u32()?;
        if !(2..=3).contains(&version) {
            return Err(EngineError::Malformed(format!("GGUF version {version} is not supported")));
        }
        let tensor_count = cursor.u64()?;
        let metadata_count = cursor.u64()?;
        let mut metadata = HashMap::new();
        for _ in 0..metadata_count {
            let key = cursor.text()?;
            let kind = cursor.u32()?;
            metadata.insert(key, cursor.value(kind, 0)?);
        }
        let mut tensors = HashMap::new();
        for _ in 0..tensor_count {
            let (name, place) = cursor.tensor()?;
            tensors.insert(name, place);
        }
        let mut gguf = Self { metadata, tensors };
        let alignment = match gguf.unsigned("general.alignment") {
            Some(0) => return Err(EngineError::Malformed("alignment of 0".into())),
            Some(bytes) => bytes,
            None => ALIGNMENT_BYTES_DEFAULT,
        };
        let header_bytes = (file.len() - cursor.rest.len()) as u64;
        let start = header_bytes
            .checked_next_multiple_of(alignment)
            .and_then(|start| usize::try_from(start).ok())
            .ok_or(EngineError::Truncated)?;
        for place in gguf.tensors.values_mut() {
            place.offset = place.offset.checked_add(start).ok_or(EngineError::Truncated)?;
        }
        Ok(gguf)
    }

    /// Returns the tensor called `name`.
    pub(crate) fn tensor(&self, name: &str) -> Option<TensorPlace> {
        self.tensors.get(name).copied()
    }

    /// Returns a whole number of the metadata.
    pub(crate) fn unsigned(&self, key: &str) -> Option<u64> {
        match self.metadata.get(key)? {
            Value::Unsigned(number) => Some(*number),
            Value::Signed(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Returns a floating point number of the metadata.
    pub(crate) fn float(&self, key: &str) -> Option<f64> {
        match self.metadata.get(key)? {
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a text of the metadata.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        match self.metadata.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the strings of an array of the metadata, in order.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<&'a str>, EngineError> {
        let Some(Value::Array { kind: 8, count, bytes }) = self.metadata.get(key) else {
            return Err(EngineError::Malformed(format!("no list of strings {key}")));
        };
        let mut cursor = Cursor { rest: bytes };
        (0..*count).map(|_| cursor.text()).collect()
    }

    /// Returns the whole numbers of an array of 32-bit numbers; empty if there is none.
    pub(crate) fn numbers(&self, key: &str) -> Vec<u32> {
        match self.metadata.get(key) {
            Some(Value::Array { kind: 4 | 5, bytes, .. }) => {
                bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect()
            }
            _ => Vec::new(),
        }
    }
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], EngineError> {
        let count = usize::try_from(count).map_err(|_| EngineError::Truncated)?;
        let (head, rest) = self.rest.split_at_checked(count).ok_or(EngineError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], EngineError> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(EngineError::Truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    fn u32(&mut self) -> Result<u32, EngineError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, EngineError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<&'a str, EngineError> {
        let count = self.u64()?;
        std::str::from_utf8(self.take(count)?)
            .map_err(|_| EngineError::Malformed("a text is not UTF-8".into()))
    }

    fn value(&mut self, kind: u32, nesting: u32) -> Result<Value<'a>, EngineError> {
        Ok(match kind {
            0 => Value::Unsigned(u64::from(u8::from_le_bytes(self.array()?))),
            1 => Value::Signed(i64::from(i8::from_le_bytes(self.array()?))),
            2 => Value::Unsigned(u64::from(u16::from_le_bytes(self.array()?))),
            3 => Value::Signed(i64::from(i16::from_le_bytes(self.array()?))),
            4 => Value::Unsigned(u64::from(self.u32()?)),
            5 => Value::Signed(i64::from(i32::from_le_bytes(self.array()?))),
            6 => Value::Float(f64::from(f32::from_le_bytes(self.array()?))),
            7 => {
                self.take(1)?;
                Value::Bool
            }
            8 => Value::Text(self.text()?),
            9 => self.list(nesting)?,
            10 => Value::Unsigned(self.u64()?),
            11 => Value::Signed(i64::from_le_bytes(self.array()?)),
            12 => Value::Float(f64::from_le_bytes(self.array()?)),
            other => {
                return Err(EngineError::Malformed(format!("unknown metadata type {other}")));
            }
        })
    }

    fn list(&mut self, nesting: u32) -> Result<Value<'a>, EngineError> {
        if nesting >= NESTING_MAX {
            return Err(EngineError::Malformed("metadata is nested too deeply".into()));
        }
        let kind = self.u32()?;
        let count = self.u64()?;
        let before = self.rest;
        let width = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            _ => 0,
        };
        if width > 0 {
            self.take(count.checked_mul(width).ok_or(EngineError::Truncated)?)?;
        } else {
            // Each element takes bytes or fails, so an invented count ends at the file's end.
            for _ in 0..count {
                self.value(kind, nesting + 1)?;
            }
        }
        let (bytes, _) = before.split_at(before.len() - self.rest.len());
        Ok(Value::Array { kind, count, bytes })
    }

    fn tensor(&mut self) -> Result<(&'a str, TensorPlace), EngineError> {
        let name = self.text()?;
        let dimensions = self.u32()?;
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
            return Err(EngineError::Malformed(format!("{name} has {dimensions} dimensions")));
        }
        let size = |cursor: &mut Self| -> Result<usize, EngineError> {
            usize::try_from(cursor.u64()?).map_err(|_| EngineError::Truncated)
        };
        let columns = size(self)?;
        let mut rows = 1usize;
        for _ in 1..dimensions {
            rows = rows.checked_mul(size(self)?).ok_or(EngineError::Truncated)?;
        }
        let kind = self.u32()?;
        let offset = size(self)?;
        Ok((name, TensorPlace { kind, columns, rows, offset }))
    }
}
