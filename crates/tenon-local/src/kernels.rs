//! The arithmetic of the engine: one portable path, and the fast one where the processor has it.

use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use crate::simd::Avx2;
use crate::{
    activations::{Activation, Activations},
    quant::{SUPERBLOCK, Storage, half_to_float},
};

/// Rows that one thread takes at a time: small enough that a thread which was held up by another
/// program does not hold up the rest, large enough that taking them costs nothing.
const ROWS_PER_PIECE: usize = 64;

/// The choice of code for this processor; made once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernels {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<Avx2>,
}

/// A matrix as it lies in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub(crate) storage: Storage,
    pub(crate) columns: usize,
    pub(crate) bytes: &'a [u8],
}

impl Matrix<'_> {
    pub(crate) fn row_bytes(&self) -> usize {
        // Held against the file when the matrix was found.
        self.storage.row_bytes(self.columns).unwrap_or(1).max(1)
    }
}

impl Kernels {
    /// Looks at the processor.
    pub(crate) fn detect() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            avx2: Avx2::detect(),
        }
    }

    /// Returns the portable path, whatever the processor can do.
    #[cfg(test)]
    pub(crate) fn portable() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            avx2: None,
        }
    }

    /// Multiplies each matrix with every token; results are row by row, and in a row token by
    /// token. Several matrices go at once because starting threads costs as much as a small one.
    pub(crate) fn multiply(self, activations: &Activations, jobs: &mut [(Matrix, &mut [f32])]) {
        let tokens = activations.tokens();
        let mut pieces = Vec::new();
        for (matrix, out) in jobs {
            let row_bytes = matrix.row_bytes();
            let storage = matrix.storage;
            let rows = matrix.bytes.chunks(row_bytes * ROWS_PER_PIECE);
            let outs = out.chunks_mut(ROWS_PER_PIECE * tokens);
            pieces.extend(rows.zip(outs).map(|(rows, out)| (storage, row_bytes, rows, out)));
        }
        pieces.into_par_iter().with_max_len(1).for_each(|(storage, row_bytes, rows, out)| {
            #[cfg(target_arch = "x86_64")]
            if let Some(avx2) = self.avx2
                && !activations.all().is_empty()
                && avx2.rows(storage, rows, row_bytes, activations, out)
            {
                return;
            }
            self.rows_as_floats(storage, rows, row_bytes, activations, out);
        });
    }

    fn rows_as_floats(
        self,
        storage: Storage,
        rows: &[u8],
        row_bytes: usize,
        activations: &Activations,
        out: &mut [f32],
    ) {
        let tokens = activations.tokens();
        let (values, bytes) = storage.block();
        let mut row_floats = vec![0.0; row_bytes / bytes * values];
        for (row, out) in rows.chunks_exact(row_bytes).zip(out.chunks_exact_mut(tokens)) {
            self.values(storage, row, &mut row_floats);
            for (out, token) in out.iter_mut().zip(activations.floats()) {
                *out = self.dot(&row_floats, token);
            }
        }
    }

    /// Prepares `floats` to be multiplied: one or more tokens of `columns` values each.
    pub(crate) fn activations(self, floats: &[f32], columns: usize) -> Activations<'_> {
        Activations::new(floats, columns, |from, to| self.quantise(from, to))
    }

    /// Fills `to` with `from` as 8-bit numbers.
    fn quantise(self, from: &[f32; SUPERBLOCK], to: &mut Activation) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.quantise(from, to);
        }
        to.quantise(from);
    }

    /// Writes the values of stored blocks to `out`.
    pub(crate) fn values(self, storage: Storage, bytes: &[u8], out: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.values(storage, bytes, out);
        }
        storage.values(bytes, out);
    }

    /// Returns the scalar product of two slices of the same length.
    pub(crate) fn dot(self, left: &[f32], right: &[f32]) -> f32 {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.dot(left, right);
        }
        let (left, left_rest) = left.as_chunks::<8>();
        let (right, right_rest) = right.as_chunks::<8>();
        let mut sums = [0.0f32; 8];
        for (left, right) in left.iter().zip(right) {
            for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
                *sum += left * right;
            }
        }
        let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
        sums.iter().sum::<f32>() + rest
    }

    /// Adds `factor * values` to `sum`.
    pub(crate) fn add_scaled(self, sum: &mut [f32], factor: f32, values: &[f32]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.add_scaled(sum, factor, values);
        }
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += factor * value;
        }
    }

    /// Writes half precision numbers as floats.
    pub(crate) fn widen(self, halves: &[u16], out: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.widen(halves, out);
        }
        for (half, out) in halves.iter().zip(out) {
            *out = half_to_float(*half);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes that look random; where blocks hold half precision numbers, small ones.
    fn noise(storage: Storage, blocks: usize) -> Vec<u8> {
        let (_, block_bytes) = storage.block();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut bytes: Vec<u8> = (0..blocks * block_bytes)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let halves: &[usize] = match storage {
            Storage::Q4K | Storage::Q5K => &[0, 2],
            Storage::Q6K => &[208],
            _ => &[0],
        };
        for block in bytes.chunks_mut(block_bytes) {
            for at in halves {
                block[at + 1] = block[at + 1] & 0x83 | 0x14;
            }
        }
        bytes
    }

    /// Every path that this processor can take.
    fn fast_paths() -> Vec<Kernels> {
        #[cfg(target_arch = "x86_64")]
        let paths = Avx2::all().into_iter().map(|avx2| Kernels { avx2: Some(avx2) }).collect();
        #[cfg(not(target_arch = "x86_64"))]
        let paths = vec![Kernels::detect()];
        paths
    }

    fn check(storage: Storage, tokens: usize, rows: usize) {
        let columns = 2 * SUPERBLOCK;
        let bytes = noise(storage, rows * columns / storage.block().0);
        // Whole numbers up to 127, all of which occur: their 8-bit form is exact.
        let floats: Vec<f32> =
            (0..tokens * columns).map(|at| (at * 37 % 255) as f32 - 127.0).collect();
        let matrix = Matrix { storage, columns, bytes: &bytes };
        let product = |kernels: Kernels| {
            let mut out = vec![0.0; rows * tokens];
            let activations = kernels.activations(&floats, columns);
            kernels.multiply(&activations, &mut [(matrix, &mut out)]);
            out
        };
        let expected = product(Kernels::portable());
        let size = expected.iter().map(|value| value.abs()).fold(0.0, f32::max);
        for kernels in fast_paths() {
            for (at, (found, expected)) in product(kernels).iter().zip(&expected).enumerate() {
                let close = (found - expected).abs() <= size * 1e-4;
                assert!(
                    close,
                    "{kernels:?}, {storage:?}, {tokens} tokens, {at}: {found} is not {expected}"
                );
            }
        }
    }

    #[test]
    fn the_fast_path_agrees_with_the_portable_one() {
        for storage in [Storage::Q4K, Storage::Q5K, Storage::Q6K, Storage::Q8_0, Storage::Q4_0] {
            for tokens in [1, 2, 3, 8, 17] {
                for rows in [8, 16, 71] {
                    check(storage, tokens, rows);
                }
            }
        }
    }

    #[test]
    fn fast_halves_are_the_portable_ones() {
        let halves: Vec<u16> =
            (0..1_003u16).map(|at| at * 61).filter(|at| at & 0x7c00 != 0x7c00).collect();
        let mut found = vec![0.0; halves.len()];
        Kernels::detect().widen(&halves, &mut found);
        let expected: Vec<f32> = halves.iter().map(|half| half_to_float(*half)).collect();
        assert_eq!(found, expected);
    }
}
