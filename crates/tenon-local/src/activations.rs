//! What flows between the layers, in the 8-bit form that quantised weights are multiplied with.
//!
//! 256 values share a scale, as in the reference implementation's `Q8_K`, so that results agree
//! with it to the last digits. Sums of 16 and 32 values are kept beside them: the formats' offsets
//! are multiplied with those instead of with each value.

use rayon::prelude::*;

use crate::quant::SUPERBLOCK;

/// One superblock of one token.
#[derive(Debug, Clone)]
pub(crate) struct Activation {
    pub(crate) scale: f32,
    pub(crate) quants: [[i8; 32]; 8],
    pub(crate) sums_16: [i16; 16],
    pub(crate) sums_32: [i16; 8],
}

/// The values of one or more tokens, as floats and, where they fill superblocks, as 8-bit numbers.
#[derive(Debug)]
pub(crate) struct Activations<'a> {
    /// Superblock after superblock, and in it token after token.
    blocks: Vec<Activation>,
    floats: &'a [f32],
    columns: usize,
}

impl Activation {
    const ZERO: Self = Self { scale: 0.0, quants: [[0; 32]; 8], sums_16: [0; 16], sums_32: [0; 8] };

    /// Takes the 8-bit form of `floats`.
    #[inline(always)]
    pub(crate) fn quantise(&mut self, floats: &[f32; SUPERBLOCK]) {
        let mut least = 0.0f32;
        let mut most = 0.0f32;
        for value in floats {
            least = least.min(*value);
            most = most.max(*value);
        }
        let largest = if -least > most { least } else { most };
        if largest == 0.0 {
            *self = Self::ZERO;
            return;
        }
        let inverse = -127.0 / largest;
        self.scale = 1.0 / inverse;
        for (quants, floats) in self.quants.iter_mut().zip(floats.as_chunks::<32>().0) {
            for (quant, value) in quants.iter_mut().zip(floats) {
                *quant = (inverse * value).round_ties_even() as i8;
            }
        }
        let (halves, _) = self.quants.as_flattened().as_chunks::<16>();
        for (sum, half) in self.sums_16.iter_mut().zip(halves) {
            *sum = half.iter().map(|quant| i16::from(*quant)).sum();
        }
        for (sum, [left, right]) in self.sums_32.iter_mut().zip(self.sums_16.as_chunks().0) {
            *sum = left + right;
        }
    }
}

impl<'a> Activations<'a> {
    /// Prepares `floats`: one or more tokens of `columns` values each, whose 8-bit form `quantise`
    /// makes.
    pub(crate) fn new(
        floats: &'a [f32],
        columns: usize,
        quantise: impl Fn(&[f32; SUPERBLOCK], &mut Activation) + Sync,
    ) -> Self {
        let tokens = floats.len() / columns.max(1);
        let mut blocks = Vec::new();
        if columns.is_multiple_of(SUPERBLOCK) && tokens > 0 {
            blocks = vec![Activation::ZERO; floats.len() / SUPERBLOCK];
            let fill = |(at, column): (usize, &mut [Activation])| {
                for (block, token) in column.iter_mut().zip(floats.chunks_exact(columns)) {
                    if let Some(values) = token.as_chunks().0.get(at) {
                        quantise(values, block);
                    }
                }
            };
            if tokens < 8 {
                blocks.chunks_mut(tokens).enumerate().for_each(fill);
            } else {
                blocks.par_chunks_mut(tokens).enumerate().for_each(fill);
            }
        }
        Self { blocks, floats, columns }
    }

    /// Returns how many tokens there are.
    pub(crate) fn tokens(&self) -> usize {
        self.floats.len() / self.columns.max(1)
    }

    /// Returns the 8-bit form, superblock after superblock and in it token after token.
    pub(crate) fn all(&self) -> &[Activation] {
        &self.blocks
    }

    /// Returns the floats, token after token.
    pub(crate) fn floats(&self) -> std::slice::ChunksExact<'_, f32> {
        self.floats.chunks_exact(self.columns)
    }
}
