//! Many tokens at once: eight rows stand in the eight lanes of a register.
//!
//! Weights are turned so once for all tokens of a pass. A token then costs one multiplication
//! for 32 weights and hardly any scaling, a third of what going row by row costs.
#![cfg_attr(
    not(test),
    expect(clippy::wildcard_imports, reason = "dozens of intrinsics, named by their prefix")
)]

use std::arch::x86_64::*;

use super::{load, load_halves};
use crate::activations::{Activation, Activations};

/// Rows of a tile: the 32-bit lanes of a register.
pub(super) const ROWS: usize = 8;

type Lanes = [__m256i; 8];

/// For each token: the whole numbers of a superblock, and the sum so far.
pub(super) type Sums = Vec<(__m256i, __m256)>;

/// Does the same to each of eight blocks. Not `array::map`: that is compiled without AVX2, and
/// every call out of it and back in costs more than the work.
macro_rules! each_of {
    ($blocks:expr, $zero:expr, |$block:ident| $value:expr) => {{
        let mut out = [$zero; ROWS];
        for (out, $block) in out.iter_mut().zip($blocks.iter().copied()) {
            *out = $value;
        }
        out
    }};
}

/// One superblock of eight rows, turned.
struct Tile {
    /// For each 32 columns: eight registers of four columns each.
    quants: [Lanes; 8],
    /// For each 32 columns: the scales of both halves, each twice in a lane.
    scales: [[__m256i; 2]; 8],
    /// What is subtracted, as pairs to be multiplied with pairs of sums.
    offsets: Lanes,
    scale: __m256,
    offset_scale: __m256,
}

/// A storage format whose superblocks can be turned into tiles.
macro_rules! tiles {
    ($name:ident, $features:literal, $bytes:literal, $turn:ident, $add_group:ident, $below:ident) => {
        /// Multiplies eight rows with every token; `out` is row by row.
        #[target_feature(enable = $features)]
        pub(super) fn $name(
            rows: &[u8],
            row_bytes: usize,
            activations: &Activations,
            out: &mut [f32],
            sums: &mut Sums,
        ) {
            let tokens = activations.tokens();
            let zero = (_mm256_setzero_si256(), _mm256_setzero_ps());
            sums.clear();
            sums.resize(tokens, zero);
            let mut blocks: [std::slice::Iter<[u8; $bytes]>; ROWS] = Default::default();
            for (blocks, row) in blocks.iter_mut().zip(rows.chunks_exact(row_bytes)) {
                *blocks = row.as_chunks::<$bytes>().0.iter();
            }
            for column in activations.all().chunks_exact(tokens) {
                let mut eight = [&[0; $bytes]; ROWS];
                for (block, blocks) in eight.iter_mut().zip(&mut blocks) {
                    *block = blocks.next().unwrap_or(block);
                }
                let tile = $turn(&eight);
                for group in 0..8 {
                    let (quants, scales) = (&tile.quants[group], &tile.scales[group]);
                    for ((whole, _), activation) in sums.iter_mut().zip(column) {
                        *whole = $add_group(*whole, quants, scales, &activation.quants[group]);
                    }
                }
                for ((whole, sum), activation) in sums.iter_mut().zip(column) {
                    let below = $below(&tile.offsets, activation);
                    let scale = _mm256_set1_ps(activation.scale);
                    let factor = _mm256_mul_ps(tile.scale, scale);
                    *sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(*whole), factor, *sum);
                    let factor = _mm256_mul_ps(tile.offset_scale, scale);
                    *sum = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(below), factor, *sum);
                    *whole = _mm256_setzero_si256();
                }
            }
            for (at, (_, sum)) in sums.iter().enumerate() {
                for (row, lane) in lanes(*sum).into_iter().enumerate() {
                    if let Some(out) = out.get_mut(row * tokens + at) {
                        *out = lane;
                    }
                }
            }
        }
    };
}
tiles!(rows_q4k, "avx2,fma,f16c", 144, turn_q4k, add_group_of_four_bits, below_eight);
tiles!(rows_q6k, "avx2,fma,f16c", 210, turn_q6k, add_group_of_six_bits, below_sixteen);
tiles!(
    rows_q4k_vnni,
    "avx2,fma,f16c,avx512vl,avx512vnni",
    144,
    turn_q4k,
    add_group_of_four_bits_vnni,
    below_eight
);
tiles!(
    rows_q6k_vnni,
    "avx2,fma,f16c,avx512vl,avx512vnni",
    210,
    turn_q6k,
    add_group_of_six_bits_vnni,
    below_sixteen
);

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn turn_q4k(blocks: &[&[u8; 144]; ROWS]) -> Tile {
    let low = _mm256_set1_epi8(15);
    let mut quants = [[_mm256_setzero_si256(); 8]; 8];
    for pair in 0..4 {
        let packed = transposed(each_of!(blocks, _mm256_setzero_si256(), |block| load(
            block,
            16 + 32 * pair
        )));
        for i in 0..8 {
            quants[2 * pair][i] = _mm256_and_si256(packed[i], low);
            let high = _mm256_srli_epi16::<4>(packed[i]);
            quants[2 * pair + 1][i] = _mm256_and_si256(high, low);
        }
    }
    let pairs =
        transposed(each_of!(blocks, _mm256_setzero_si256(), |block| scales_and_offsets(block)));
    let mut scales = [[_mm256_setzero_si256(); 2]; 8];
    for i in 0..4 {
        let (first, second) = doubled(pairs[i]);
        scales[2 * i] = [first; 2];
        scales[2 * i + 1] = [second; 2];
    }
    let mut offsets = [_mm256_setzero_si256(); 8];
    offsets[..4].copy_from_slice(&pairs[4..]);
    Tile {
        quants,
        scales,
        offsets,
        scale: load_halves(each_of!(blocks, [0; 2], |block| [block[0], block[1]])),
        offset_scale: load_halves(each_of!(blocks, [0; 2], |block| [block[2], block[3]])),
    }
}

/// Eight scales and after them eight offsets, sixteen bits each.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn scales_and_offsets(block: &[u8; 144]) -> __m256i {
    let word =
        |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
    let (first, second, third) = (word(4), word(8), word(12));
    let six = 0x3f3f_3f3f;
    let scales = (third & 0x0f0f_0f0f) | ((first >> 2) & 0x3030_3030);
    let offsets = ((third >> 4) & 0x0f0f_0f0f) | ((second >> 2) & 0x3030_3030);
    let bytes = _mm_set_epi32(
        offsets.cast_signed(),
        (second & six).cast_signed(),
        scales.cast_signed(),
        (first & six).cast_signed(),
    );
    _mm256_cvtepu8_epi16(bytes)
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn turn_q6k(blocks: &[&[u8; 210]; ROWS]) -> Tile {
    let (low, two) = (_mm256_set1_epi8(15), _mm256_set1_epi8(0x30));
    let mut quants = [[_mm256_setzero_si256(); 8]; 8];
    for side in 0..2 {
        let first =
            transposed(each_of!(blocks, _mm256_setzero_si256(), |block| load(block, side * 64)));
        let second = transposed(each_of!(blocks, _mm256_setzero_si256(), |block| load(
            block,
            side * 64 + 32
        )));
        let high = transposed(each_of!(blocks, _mm256_setzero_si256(), |block| load(
            block,
            128 + side * 32
        )));
        for i in 0..8 {
            let join = |nibbles: __m256i, bits: __m256i| {
                _mm256_or_si256(_mm256_and_si256(nibbles, low), _mm256_and_si256(bits, two))
            };
            quants[side * 4][i] = join(first[i], _mm256_slli_epi16::<4>(high[i]));
            quants[side * 4 + 1][i] = join(second[i], _mm256_slli_epi16::<2>(high[i]));
            quants[side * 4 + 2][i] = join(_mm256_srli_epi16::<4>(first[i]), high[i]);
            quants[side * 4 + 3][i] =
                join(_mm256_srli_epi16::<4>(second[i]), _mm256_srli_epi16::<2>(high[i]));
        }
    }
    let pairs = transposed(each_of!(blocks, _mm256_setzero_si256(), |block| {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&block[192..208]);
        let all = u128::from_le_bytes(bytes);
        _mm256_cvtepi8_epi16(_mm_set_epi64x((all >> 64) as i64, all as i64))
    }));
    let mut scales = [[_mm256_setzero_si256(); 2]; 8];
    for i in 0..8 {
        let (first, second) = doubled(pairs[i]);
        scales[i] = [first, second];
    }
    let scale = load_halves(each_of!(blocks, [0; 2], |block| [block[208], block[209]]));
    // Every quant is 32 too large.
    let offset_scale = _mm256_mul_ps(scale, _mm256_set1_ps(32.0));
    Tile { quants, scales, offsets: pairs, scale, offset_scale }
}

/// From lanes of two numbers: the first one twice, the second one twice.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn doubled(pairs: __m256i) -> (__m256i, __m256i) {
    let high = _mm256_srli_epi32::<16>(pairs);
    let low = _mm256_slli_epi32::<16>(pairs);
    (_mm256_blend_epi16::<0b1010_1010>(pairs, low), _mm256_blend_epi16::<0b1010_1010>(high, pairs))
}

/// Eight products of at most 15 * 127 * 2 fit sixteen bits together, so they are scaled at once.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn add_group_of_four_bits(
    sum: __m256i,
    quants: &Lanes,
    scales: &[__m256i; 2],
    activation: &[i8; 32],
) -> __m256i {
    let product = |i: usize| _mm256_maddubs_epi16(quants[i], four(activation, i));
    let left = _mm256_add_epi16(
        _mm256_add_epi16(product(0), product(1)),
        _mm256_add_epi16(product(2), product(3)),
    );
    let right = _mm256_add_epi16(
        _mm256_add_epi16(product(4), product(5)),
        _mm256_add_epi16(product(6), product(7)),
    );
    _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_add_epi16(left, right), scales[0]))
}

/// Two products of at most 63 * 127 * 2 fit sixteen bits together.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn add_group_of_six_bits(
    sum: __m256i,
    quants: &Lanes,
    scales: &[__m256i; 2],
    activation: &[i8; 32],
) -> __m256i {
    let product = |i: usize| _mm256_maddubs_epi16(quants[i], four(activation, i));
    let pair = |i: usize, scale: __m256i| {
        _mm256_madd_epi16(_mm256_add_epi16(product(i), product(i + 1)), scale)
    };
    let left = _mm256_add_epi32(pair(0, scales[0]), pair(2, scales[0]));
    let right = _mm256_add_epi32(pair(4, scales[1]), pair(6, scales[1]));
    _mm256_add_epi32(sum, _mm256_add_epi32(left, right))
}

/// The same with four products summed by one instruction, in 32 bits.
#[target_feature(enable = "avx2,fma,f16c,avx512vl,avx512vnni")]
#[inline]
fn add_group_of_four_bits_vnni(
    sum: __m256i,
    quants: &Lanes,
    scales: &[__m256i; 2],
    activation: &[i8; 32],
) -> __m256i {
    let products = _mm256_add_epi32(
        four_products(quants, activation, 0),
        four_products(quants, activation, 4),
    );
    _mm256_add_epi32(sum, _mm256_mullo_epi32(products, one_scale(scales[0])))
}

/// The same with four products summed by one instruction, in 32 bits.
#[target_feature(enable = "avx2,fma,f16c,avx512vl,avx512vnni")]
#[inline]
fn add_group_of_six_bits_vnni(
    sum: __m256i,
    quants: &Lanes,
    scales: &[__m256i; 2],
    activation: &[i8; 32],
) -> __m256i {
    let left = four_products(quants, activation, 0);
    let right = four_products(quants, activation, 4);
    let left = _mm256_mullo_epi32(left, one_scale(scales[0]));
    let right = _mm256_mullo_epi32(right, one_scale(scales[1]));
    _mm256_add_epi32(sum, _mm256_add_epi32(left, right))
}

/// The products of sixteen columns from `4 * from` on.
#[target_feature(enable = "avx2,fma,f16c,avx512vl,avx512vnni")]
#[inline]
fn four_products(quants: &Lanes, activation: &[i8; 32], from: usize) -> __m256i {
    let mut sum = _mm256_setzero_si256();
    for (i, quants) in quants.iter().enumerate().skip(from).take(4) {
        sum = _mm256_dpbusd_epi32(sum, *quants, four(activation, i));
    }
    sum
}

/// From a scale twice in a lane to one of 32 bits. Does not depend on the token, so that the
/// compiler does it once for all of them.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn one_scale(doubled: __m256i) -> __m256i {
    _mm256_srai_epi32::<16>(doubled)
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn below_eight(offsets: &Lanes, activation: &Activation) -> __m256i {
    let mut sum = _mm256_setzero_si256();
    for (offsets, [first, second]) in offsets.iter().zip(activation.sums_32.as_chunks().0) {
        let pair = both(*first, *second);
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(*offsets, pair));
    }
    sum
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn below_sixteen(offsets: &Lanes, activation: &Activation) -> __m256i {
    let mut sum = _mm256_setzero_si256();
    for (offsets, [first, second]) in offsets.iter().zip(activation.sums_16.as_chunks().0) {
        let pair = both(*first, *second);
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(*offsets, pair));
    }
    sum
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn both(first: i16, second: i16) -> __m256i {
    let (first, second) = (first.to_le_bytes(), second.to_le_bytes());
    _mm256_set1_epi32(i32::from_le_bytes([first[0], first[1], second[0], second[1]]))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn four(bytes: &[i8; 32], at: usize) -> __m256i {
    let byte = |i: usize| bytes[4 * at + i].cast_unsigned();
    _mm256_set1_epi32(i32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]))
}

/// Turns eight rows of eight lanes.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn transposed(rows: Lanes) -> Lanes {
    let mut pairs = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        pairs[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
    }
    let mut fours = [_mm256_setzero_si256(); 8];
    for half in 0..2 {
        for i in 0..2 {
            let (left, right) = (pairs[4 * half + i], pairs[4 * half + i + 2]);
            fours[4 * half + 2 * i] = _mm256_unpacklo_epi64(left, right);
            fours[4 * half + 2 * i + 1] = _mm256_unpackhi_epi64(left, right);
        }
    }
    let mut out = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        out[i] = _mm256_permute2x128_si256::<0x20>(fours[i], fours[i + 4]);
        out[i + 4] = _mm256_permute2x128_si256::<0x31>(fours[i], fours[i + 4]);
    }
    out
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn lanes(register: __m256) -> [f32; 8] {
    let mut lanes = [0.0; 8];
    // SAFETY: the array has the eight floats that are stored; no alignment is needed.
    unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), register) };
    lanes
}
