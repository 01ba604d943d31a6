//! How weights are stored: the block formats of GGUF, and their values as plain numbers.
//!
//! Portable and exact: the fast paths in `simd` are held against this file. Numbers of the formats
//! and their bit layouts are those of the ggml library, which defines them.
#![expect(
    clippy::indexing_slicing,
    reason = "offsets within fixed block sizes, checked by chunking"
)]

/// Values that share one superblock of a K-format.
pub(crate) const SUPERBLOCK: usize = 256;

/// How the values of a tensor are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
}

impl Storage {
    /// Returns the storage that the format gives number `kind`, if we can read it.
    pub(crate) fn from_number(kind: u32) -> Option<Self> {
        Some(match kind {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            6 => Self::Q5_0,
            7 => Self::Q5_1,
            8 => Self::Q8_0,
            10 => Self::Q2K,
            11 => Self::Q3K,
            12 => Self::Q4K,
            13 => Self::Q5K,
            14 => Self::Q6K,
            30 => Self::Bf16,
            _ => return None,
        })
    }

    /// Returns how many values one block holds and how many bytes it takes.
    pub(crate) fn block(self) -> (usize, usize) {
        match self {
            Self::F32 => (1, 4),
            Self::F16 | Self::Bf16 => (1, 2),
            Self::Q4_0 => (32, 18),
            Self::Q4_1 => (32, 20),
            Self::Q5_0 => (32, 22),
            Self::Q5_1 => (32, 24),
            Self::Q8_0 => (32, 34),
            Self::Q2K => (SUPERBLOCK, 84),
            Self::Q3K => (SUPERBLOCK, 110),
            Self::Q4K => (SUPERBLOCK, 144),
            Self::Q5K => (SUPERBLOCK, 176),
            Self::Q6K => (SUPERBLOCK, 210),
        }
    }

    /// Returns the bytes of a row of `columns` values, or nothing where it is not whole blocks.
    pub(crate) fn row_bytes(self, columns: usize) -> Option<usize> {
        let (values, bytes) = self.block();
        if columns.is_multiple_of(values) { (columns / values).checked_mul(bytes) } else { None }
    }

    /// Writes the values of the blocks in `bytes` to `out`; what does not fit is left out.
    #[inline(always)]
    pub(crate) fn values(self, bytes: &[u8], out: &mut [f32]) {
        match self {
            Self::F32 => each::<4, 1>(bytes, out, |block, out| out[0] = f32::from_le_bytes(*block)),
            Self::F16 => each::<2, 1>(bytes, out, |block, out| out[0] = half(block, 0)),
            Self::Bf16 => each::<2, 1>(bytes, out, |block, out| {
                out[0] = f32::from_bits(u32::from(u16::from_le_bytes(*block)) << 16);
            }),
            Self::Q4_0 => each::<18, 32>(bytes, out, |block, out| {
                let scale = half(block, 0);
                for i in 0..16 {
                    out[i] = scale * (f32::from(block[2 + i] & 15) - 8.0);
                    out[i + 16] = scale * (f32::from(block[2 + i] >> 4) - 8.0);
                }
            }),
            Self::Q4_1 => each::<20, 32>(bytes, out, |block, out| {
                let (scale, least) = (half(block, 0), half(block, 2));
                for i in 0..16 {
                    out[i] = scale * f32::from(block[4 + i] & 15) + least;
                    out[i + 16] = scale * f32::from(block[4 + i] >> 4) + least;
                }
            }),
            Self::Q5_0 => each::<22, 32>(bytes, out, |block, out| {
                let scale = half(block, 0);
                five(block, 2, 6, |i, value| out[i] = scale * (value - 16.0));
            }),
            Self::Q5_1 => each::<24, 32>(bytes, out, |block, out| {
                let (scale, least) = (half(block, 0), half(block, 2));
                five(block, 4, 8, |i, value| out[i] = scale * value + least);
            }),
            Self::Q8_0 => each::<34, 32>(bytes, out, |block, out| {
                let scale = half(block, 0);
                for i in 0..32 {
                    out[i] = scale * f32::from(block[2 + i].cast_signed());
                }
            }),
            Self::Q2K => each::<84, SUPERBLOCK>(bytes, out, q2k),
            Self::Q3K => each::<110, SUPERBLOCK>(bytes, out, q3k),
            Self::Q4K => each::<144, SUPERBLOCK>(bytes, out, q4k),
            Self::Q5K => each::<176, SUPERBLOCK>(bytes, out, q5k),
            Self::Q6K => each::<210, SUPERBLOCK>(bytes, out, q6k),
        }
    }
}

/// Returns the number that sixteen bits hold in IEEE 754 half precision.
#[inline(always)]
pub(crate) fn half_to_float(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // 2^112 moves the exponent's bias from 15 to 127, subnormal numbers included.
    let value = if bits & 0x7c00 == 0x7c00 {
        f32::from_bits(magnitude | 0x7f80_0000)
    } else {
        f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)
    };
    if bits & 0x8000 == 0 { value } else { -value }
}

/// Returns the nearest half precision number, ties to even; too large ones become infinite.
#[inline(always)]
pub(crate) fn float_to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Adding 0.5 shifts a subnormal half into the low bits and rounds it on the way.
        let shifted = f32::from_bits(magnitude) + 0.5;
        return sign | (shifted.to_bits().wrapping_sub(0x3f00_0000)) as u16;
    }
    let odd = (magnitude >> 13) & 1;
    sign | ((magnitude.wrapping_sub(0x3800_0000) + 0xfff + odd) >> 13) as u16
}

#[inline(always)]
fn each<const BYTES: usize, const VALUES: usize>(
    bytes: &[u8],
    out: &mut [f32],
    block_values: impl Fn(&[u8; BYTES], &mut [f32; VALUES]),
) {
    let blocks = bytes.as_chunks::<BYTES>().0;
    for (block, out) in blocks.iter().zip(out.as_chunks_mut::<VALUES>().0) {
        block_values(block, out);
    }
}

#[inline(always)]
fn half(block: &[u8], at: usize) -> f32 {
    half_to_float(u16::from_le_bytes([block[at], block[at + 1]]))
}

#[inline(always)]
fn five(block: &[u8], high_at: usize, low_at: usize, mut put: impl FnMut(usize, f32)) {
    let high = [block[high_at], block[high_at + 1], block[high_at + 2], block[high_at + 3]];
    let high = u32::from_le_bytes(high);
    for i in 0..16 {
        let low = block[low_at + i];
        put(i, f32::from((low & 15) | (((high >> i) & 1) << 4) as u8));
        put(i + 16, f32::from((low >> 4) | (((high >> (i + 16)) & 1) << 4) as u8));
    }
}

/// Returns the eight 6-bit scales and the eight 6-bit offsets that Q4_K and Q5_K pack in 12 bytes.
#[inline(always)]
pub(crate) fn scales_and_offsets(packed: &[u8; 12]) -> ([u8; 8], [u8; 8]) {
    let (mut scales, mut offsets) = ([0; 8], [0; 8]);
    for i in 0..4 {
        scales[i] = packed[i] & 63;
        offsets[i] = packed[i + 4] & 63;
        scales[i + 4] = (packed[i + 8] & 15) | ((packed[i] >> 6) << 4);
        offsets[i + 4] = (packed[i + 8] >> 4) | ((packed[i + 4] >> 6) << 4);
    }
    (scales, offsets)
}

fn q2k(block: &[u8; 84], out: &mut [f32; SUPERBLOCK]) {
    let (scale, least) = (half(block, 80), half(block, 82));
    for (i, out) in out.iter_mut().enumerate() {
        let packed = block[i / 16];
        let quarter = (block[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
        *out = scale * f32::from(packed & 15) * f32::from(quarter) - least * f32::from(packed >> 4);
    }
}

fn q3k(block: &[u8; 110], out: &mut [f32; SUPERBLOCK]) {
    let scale_all = half(block, 108);
    let packed = &block[96..108];
    for (i, out) in out.iter_mut().enumerate() {
        let group = i / 16;
        let low = if group < 8 { packed[group] & 15 } else { packed[group - 8] >> 4 };
        let high = (packed[8 + group % 4] >> (group / 4 * 2)) & 3;
        let scale = f32::from(low | (high << 4)) - 32.0;
        let quarter = (block[32 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
        let less = if block[i % 32] & (1 << (i / 32)) == 0 { 4.0 } else { 0.0 };
        *out = scale_all * scale * (f32::from(quarter) - less);
    }
}

#[inline(always)]
fn packed_scales(block: &[u8]) -> ([u8; 8], [u8; 8]) {
    let mut packed = [0; 12];
    packed.copy_from_slice(&block[4..16]);
    scales_and_offsets(&packed)
}

fn q4k(block: &[u8; 144], out: &mut [f32; SUPERBLOCK]) {
    let (scale, least) = (half(block, 0), half(block, 2));
    let (scales, offsets) = packed_scales(block);
    for group in 0..8 {
        let (scale, least) = (scale * f32::from(scales[group]), least * f32::from(offsets[group]));
        let shift = group % 2 * 4;
        for i in 0..32 {
            let nibble = (block[16 + group / 2 * 32 + i] >> shift) & 15;
            out[group * 32 + i] = scale * f32::from(nibble) - least;
        }
    }
}

fn q5k(block: &[u8; 176], out: &mut [f32; SUPERBLOCK]) {
    let (scale, least) = (half(block, 0), half(block, 2));
    let (scales, offsets) = packed_scales(block);
    for group in 0..8 {
        let (scale, least) = (scale * f32::from(scales[group]), least * f32::from(offsets[group]));
        let shift = group % 2 * 4;
        for i in 0..32 {
            let low = (block[48 + group / 2 * 32 + i] >> shift) & 15;
            let high = (block[16 + i] >> group) & 1;
            out[group * 32 + i] = scale * f32::from(low | (high << 4)) - least;
        }
    }
}

fn q6k(block: &[u8; 210], out: &mut [f32; SUPERBLOCK]) {
    let scale_all = half(block, 208);
    for group in 0..8 {
        let (side, quarter) = (group / 4, group % 4);
        let low_at = side * 64 + quarter % 2 * 32;
        let (low_shift, high_shift) = (quarter / 2 * 4, quarter * 2);
        for i in 0..32 {
            let low = (block[low_at + i] >> low_shift) & 15;
            let high = (block[128 + side * 32 + i] >> high_shift) & 3;
            let scale = f32::from(block[192 + group * 2 + i / 16].cast_signed());
            out[group * 32 + i] = scale_all * scale * (f32::from(low | (high << 4)) - 32.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of random bytes and their values as gguf-py, the reference in Python, has them.
    #[test]
    fn values_are_those_of_the_reference() {
        let cases: serde_json::Value =
            serde_json::from_str(include_str!("../tests/data/quants.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let kind = u32::try_from(case["kind"].as_u64().unwrap()).unwrap();
            let storage = Storage::from_number(kind).unwrap();
            let hex = case["bytes"].as_str().unwrap();
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            let expected: Vec<f32> = case["values"]
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_f64().unwrap() as f32)
                .collect();
            let mut found = vec![0.0; expected.len()];
            storage.values(&bytes, &mut found);
            for (found, expected) in found.iter().zip(&expected) {
                let close = (found - expected).abs() <= expected.abs() * 1e-5 + 1e-7;
                assert!(close, "{}: {found} is not {expected}", case["name"]);
            }
        }
    }

    #[test]
    fn every_half_survives_widening_and_narrowing() {
        for bits in 0..=u16::MAX {
            let value = half_to_float(bits);
            if !value.is_nan() {
                assert_eq!(float_to_half(value), bits, "{value}");
            }
        }
        assert_eq!(float_to_half(1e9), 0x7c00);
        assert_eq!(float_to_half(65_519.9), 0x7bff);
        assert!(half_to_float(float_to_half(f32::NAN)).is_nan());
    }
}
