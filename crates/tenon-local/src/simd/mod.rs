//! The inner loops for x86-64 with AVX2, chosen at run time.
//!
//! The one module with `unsafe` besides the mapped file: loads from fixed-size arrays, and the
//! step into functions compiled for AVX2, which is taken only where [`Avx2::detect`] saw it.
#![expect(unsafe_code, reason = "processor intrinsics; docs/decisions/0003-own-engine.md")]
#![expect(clippy::indexing_slicing, reason = "offsets within fixed block sizes")]
#![cfg_attr(
    not(test),
    expect(clippy::wildcard_imports, reason = "dozens of intrinsics, named by their prefix")
)]

mod tiles;

use std::arch::x86_64::*;

use crate::{
    activations::{Activation, Activations},
    quant::{SUPERBLOCK, Storage, scales_and_offsets},
};

/// Proof that this processor has AVX2, FMA and F16C.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2 {
    /// Four products are summed by one instruction (AVX-512 VNNI, on registers of 256 bits).
    vnni: bool,
}

/// Multiplies the rows of a tile with every token.
type MultiplyTile = unsafe fn(&[u8], usize, &Activations, &mut [f32], &mut tiles::Sums);

/// The quantised weights of one superblock, ready for any number of tokens.
struct Unpacked {
    quants: [__m256i; 8],
    scales: [__m256i; 8],
    scale: f32,
    offset: Offset,
}

#[derive(Clone, Copy)]
enum Offset {
    /// One 6-bit offset for each 32 values, times a scale of its own (Q4_K, Q5_K).
    Eight { offsets: __m128i, scale: f32 },
    /// Every quant is 32 too large (Q6_K): the scales again, one for each 16 values.
    Sixteen { scales: __m256i },
}

impl Avx2 {
    /// Returns the proof where the processor has what it takes.
    pub(crate) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        let vnni = is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512vnni");
        found.then_some(Self { vnni })
    }

    /// Returns every path that this processor can take.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        let best = Self::detect();
        best.into_iter()
            .chain(best.filter(|best| best.vnni).map(|_| Self { vnni: false }))
            .collect()
    }

    /// Multiplies `rows` (whole rows of `storage`) with every token of `activations`; `out` is
    /// row by row. Returns whether there is a fast path for `storage`.
    pub(crate) fn rows(
        self,
        storage: Storage,
        rows: &[u8],
        row_bytes: usize,
        activations: &Activations,
        out: &mut [f32],
    ) -> bool {
        let whole_tiles = (rows.len() / row_bytes).is_multiple_of(tiles::ROWS);
        let many = activations.tokens() >= TILED_TOKENS_MIN && whole_tiles;
        // SAFETY: `self` is only made where the processor has these features.
        unsafe {
            match storage {
                Storage::Q4K | Storage::Q6K if many => {
                    tiled(self.tile(storage), rows, row_bytes, activations, out);
                }
                Storage::Q4K => rows_q4k(rows, row_bytes, activations, out),
                Storage::Q5K => rows_q5k(rows, row_bytes, activations, out),
                Storage::Q6K => rows_q6k(rows, row_bytes, activations, out),
                _ => return false,
            }
        }
        true
    }

    fn tile(self, storage: Storage) -> MultiplyTile {
        match (storage, self.vnni) {
            (Storage::Q4K, true) => tiles::rows_q4k_vnni,
            (Storage::Q4K, false) => tiles::rows_q4k,
            (_, true) => tiles::rows_q6k_vnni,
            (_, false) => tiles::rows_q6k,
        }
    }

    /// Fills `to` with `from` as 8-bit numbers.
    pub(crate) fn quantise(self, from: &[f32; SUPERBLOCK], to: &mut Activation) {
        // SAFETY: as in `rows`.
        unsafe { quantise(from, to) }
    }

    /// Writes the values of stored blocks to `out`.
    pub(crate) fn values(self, storage: Storage, bytes: &[u8], out: &mut [f32]) {
        // SAFETY: as in `rows`.
        unsafe { values(storage, bytes, out) }
    }

    /// Returns the scalar product of two slices of the same length.
    pub(crate) fn dot(self, left: &[f32], right: &[f32]) -> f32 {
        // SAFETY: as in `rows`.
        unsafe { dot(left, right) }
    }

    /// Adds `factor * values` to `sum`.
    pub(crate) fn add_scaled(self, sum: &mut [f32], factor: f32, values: &[f32]) {
        // SAFETY: as in `rows`.
        unsafe { add_scaled(sum, factor, values) }
    }

    /// Writes half precision numbers as floats.
    pub(crate) fn widen(self, halves: &[u16], out: &mut [f32]) {
        // SAFETY: as in `rows`.
        unsafe { widen(halves, out) }
    }
}

/// Rows whose sums are kept at once: with 64 tokens they fill a quarter of a 32 KiB cache.
const ROWS_AT_ONCE: usize = 4;

/// One function for each format, so that unpacking is inlined: a function pointer would not be,
/// and a trait's method may not be compiled for a processor.
macro_rules! rows_of {
    ($name:ident, $bytes:literal, $unpack:ident) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        fn $name(rows: &[u8], row_bytes: usize, activations: &Activations, out: &mut [f32]) {
            let tokens = activations.tokens();
            if tokens == 1 {
                for (row, out) in rows.chunks_exact(row_bytes).zip(out) {
                    let mut sum = _mm256_setzero_ps();
                    for (block, activation) in
                        row.as_chunks::<$bytes>().0.iter().zip(activations.all())
                    {
                        let unpacked = $unpack(block);
                        sum = add_block(sum, &unpacked, activation);
                    }
                    *out = total(sum);
                }
                return;
            }
            let mut sums = vec![_mm256_setzero_ps(); ROWS_AT_ONCE * tokens];
            let groups =
                rows.chunks(row_bytes * ROWS_AT_ONCE).zip(out.chunks_mut(ROWS_AT_ONCE * tokens));
            for (rows, out) in groups {
                sums.fill(_mm256_setzero_ps());
                for (at, column) in activations.all().chunks_exact(tokens).enumerate() {
                    for (row, sums) in
                        rows.chunks_exact(row_bytes).zip(sums.chunks_exact_mut(tokens))
                    {
                        let Some(block) = row.as_chunks::<$bytes>().0.get(at) else { continue };
                        let unpacked = $unpack(block);
                        for (sum, activation) in sums.iter_mut().zip(column) {
                            *sum = add_block(*sum, &unpacked, activation);
                        }
                    }
                }
                for (out, sum) in out.iter_mut().zip(&sums) {
                    *out = total(*sum);
                }
            }
        }
    };
}
rows_of!(rows_q4k, 144, unpack_q4k);
rows_of!(rows_q5k, 176, unpack_q5k);
rows_of!(rows_q6k, 210, unpack_q6k);

/// With fewer tokens, turning the weights costs more than it saves.
const TILED_TOKENS_MIN: usize = 2;

/// # Safety
///
/// The processor must have what `multiply` was compiled for.
unsafe fn tiled(
    multiply: MultiplyTile,
    rows: &[u8],
    row_bytes: usize,
    activations: &Activations,
    out: &mut [f32],
) {
    let mut sums = Vec::new();
    let groups = rows.chunks_exact(row_bytes * tiles::ROWS);
    for (rows, out) in groups.zip(out.chunks_exact_mut(tiles::ROWS * activations.tokens())) {
        // SAFETY: the caller's promise.
        unsafe { multiply(rows, row_bytes, activations, out, &mut sums) };
    }
}

/// Adds the scalar product of one superblock of weights and activations, spread over the lanes.
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn add_block(sum: __m256, weights: &Unpacked, activation: &Activation) -> __m256 {
    let mut whole = _mm256_setzero_si256();
    for i in 0..8 {
        // At most 63 * 127 * 2: the saturating pair sum never saturates.
        let pairs = _mm256_maddubs_epi16(weights.quants[i], load_signed(&activation.quants[i]));
        whole = _mm256_add_epi32(whole, _mm256_madd_epi16(pairs, weights.scales[i]));
    }
    let scale = weights.scale * activation.scale;
    match weights.offset {
        Offset::Eight { offsets, scale: offset_scale } => {
            let below = _mm_madd_epi16(offsets, load_eight(&activation.sums_32));
            let below = _mm256_zextps128_ps256(_mm_cvtepi32_ps(below));
            let sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(whole), _mm256_set1_ps(scale), sum);
            _mm256_fnmadd_ps(below, _mm256_set1_ps(offset_scale * activation.scale), sum)
        }
        Offset::Sixteen { scales } => {
            let below = _mm256_madd_epi16(scales, load_sixteen(&activation.sums_16));
            let whole = _mm256_sub_epi32(whole, _mm256_slli_epi32::<5>(below));
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(whole), _mm256_set1_ps(scale), sum)
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn unpack_q4k(block: &[u8; 144]) -> Unpacked {
    let low = _mm256_set1_epi8(15);
    let mut quants = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        let packed = load(block, 16 + 32 * i);
        quants[2 * i] = _mm256_and_si256(packed, low);
        quants[2 * i + 1] = _mm256_and_si256(_mm256_srli_epi16::<4>(packed), low);
    }
    with_offsets(block, quants)
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn unpack_q5k(block: &[u8; 176]) -> Unpacked {
    let low = _mm256_set1_epi8(15);
    let high = load(block, 16);
    let mut quants = [_mm256_setzero_si256(); 8];
    for (i, quants) in quants.iter_mut().enumerate() {
        let packed = load(block, 48 + 32 * (i / 2));
        let shifted = if i % 2 == 0 { packed } else { _mm256_srli_epi16::<4>(packed) };
        let bit = _mm256_and_si256(high, _mm256_set1_epi8((1u8 << i).cast_signed()));
        let unset = _mm256_cmpeq_epi8(bit, _mm256_setzero_si256());
        let fifth = _mm256_andnot_si256(unset, _mm256_set1_epi8(16));
        *quants = _mm256_or_si256(_mm256_and_si256(shifted, low), fifth);
    }
    with_offsets(block, quants)
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn with_offsets(block: &[u8], quants: [__m256i; 8]) -> Unpacked {
    let mut packed = [0; 12];
    packed.copy_from_slice(&block[4..16]);
    let (scales, offsets) = scales_and_offsets(&packed);
    let mut wide = [_mm256_setzero_si256(); 8];
    for i in 0..8 {
        wide[i] = _mm256_set1_epi16(i16::from(scales[i]));
    }
    let offsets = _mm_cvtepu8_epi16(_mm_set_epi64x(0, i64::from_le_bytes(offsets)));
    let offset = Offset::Eight { offsets, scale: half(block, 2) };
    Unpacked { quants, scales: wide, scale: half(block, 0), offset }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn unpack_q6k(block: &[u8; 210]) -> Unpacked {
    let (low, two) = (_mm256_set1_epi8(15), _mm256_set1_epi8(0x30));
    let mut quants = [_mm256_setzero_si256(); 8];
    for side in 0..2 {
        let first = load(block, side * 64);
        let second = load(block, side * 64 + 32);
        let high = load(block, 128 + side * 32);
        let join = |nibbles: __m256i, bits: __m256i| {
            _mm256_or_si256(_mm256_and_si256(nibbles, low), _mm256_and_si256(bits, two))
        };
        quants[side * 4] = join(first, _mm256_slli_epi16::<4>(high));
        quants[side * 4 + 1] = join(second, _mm256_slli_epi16::<2>(high));
        quants[side * 4 + 2] = join(_mm256_srli_epi16::<4>(first), high);
        quants[side * 4 + 3] = join(_mm256_srli_epi16::<4>(second), _mm256_srli_epi16::<2>(high));
    }
    let mut packed = [0; 16];
    packed.copy_from_slice(&block[192..208]);
    let mut wide = [_mm256_setzero_si256(); 8];
    for i in 0..8 {
        wide[i] = _mm256_set_m128i(
            _mm_set1_epi16(i16::from(packed[2 * i + 1].cast_signed())),
            _mm_set1_epi16(i16::from(packed[2 * i].cast_signed())),
        );
    }
    let all = i128::from_le_bytes(packed);
    let all = _mm_set_epi64x((all >> 64) as i64, all as i64);
    let offset = Offset::Sixteen { scales: _mm256_cvtepi8_epi16(all) };
    Unpacked { quants, scales: wide, scale: half(block, 208), offset }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn quantise(from: &[f32; SUPERBLOCK], to: &mut Activation) {
    to.quantise(from);
}

#[target_feature(enable = "avx2,fma,f16c")]
fn values(storage: Storage, bytes: &[u8], out: &mut [f32]) {
    storage.values(bytes, out);
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (left, left_rest) = left.as_chunks::<16>();
    let (right, right_rest) = right.as_chunks::<16>();
    let mut sums = [_mm256_setzero_ps(); 2];
    for (left, right) in left.iter().zip(right) {
        sums[0] = _mm256_fmadd_ps(load_floats(left, 0), load_floats(right, 0), sums[0]);
        sums[1] = _mm256_fmadd_ps(load_floats(left, 8), load_floats(right, 8), sums[1]);
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    total(_mm256_add_ps(sums[0], sums[1])) + rest
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn add_scaled(sum: &mut [f32], factor: f32, values: &[f32]) {
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum = value.mul_add(factor, *sum);
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn widen(halves: &[u16], out: &mut [f32]) {
    let (halves, halves_rest) = halves.as_chunks::<8>();
    let (out, out_rest) = out.as_chunks_mut::<8>();
    for (halves, out) in halves.iter().zip(out) {
        // SAFETY: eight halves are the 16 bytes that are loaded, eight floats the 32 stored.
        unsafe {
            let eight = _mm_loadu_si128(halves.as_ptr().cast());
            _mm256_storeu_ps(out.as_mut_ptr(), _mm256_cvtph_ps(eight));
        }
    }
    for (half, out) in halves_rest.iter().zip(out_rest) {
        *out = crate::quant::half_to_float(*half);
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn total(lanes: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps::<1>(lanes));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn half(block: &[u8], at: usize) -> f32 {
    let bits = i32::from(i16::from_le_bytes([block[at], block[at + 1]]));
    _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)))
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load(block: &[u8], at: usize) -> __m256i {
    let bytes = &block[at..at + 32];
    // SAFETY: the slice has the 32 bytes that are loaded; no alignment is needed.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load_signed(bytes: &[i8; 32]) -> __m256i {
    // SAFETY: the array has the 32 bytes that are loaded; no alignment is needed.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load_sixteen(numbers: &[i16; 16]) -> __m256i {
    // SAFETY: the array has the 32 bytes that are loaded; no alignment is needed.
    unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load_eight(numbers: &[i16; 8]) -> __m128i {
    // SAFETY: the array has the 16 bytes that are loaded; no alignment is needed.
    unsafe { _mm_loadu_si128(numbers.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load_floats(floats: &[f32; 16], at: usize) -> __m256 {
    let eight = &floats[at..at + 8];
    // SAFETY: the slice has the eight floats that are loaded; no alignment is needed.
    unsafe { _mm256_loadu_ps(eight.as_ptr()) }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn load_halves(halves: [[u8; 2]; 8]) -> __m256 {
    let bytes = u128::from_le_bytes(*halves.as_flattened().first_chunk().unwrap_or(&[0; 16]));
    _mm256_cvtph_ps(_mm_set_epi64x((bytes >> 64) as i64, bytes as i64))
}
