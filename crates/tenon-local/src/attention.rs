//! The cache of keys and values, and attention over it.
//!
//! Each head's keys lie one after the other in half precision, as do its values: attention reads
//! them front to back, widens each once for all heads that share it, and copies nothing.

use rayon::prelude::*;

use crate::{kernels::Kernels, quant::float_to_half};

/// Tokens whose attention is computed together: a key is then widened once for all of them.
const TOKENS_PER_TASK: usize = 8;

/// How many heads there are, and how wide each is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heads {
    pub(crate) query: usize,
    pub(crate) key: usize,
    pub(crate) size: usize,
}

impl Heads {
    pub(crate) fn query_width(&self) -> usize {
        self.query * self.size
    }

    pub(crate) fn key_width(&self) -> usize {
        self.key * self.size
    }
}

/// Keys and values of all layers: `[layer][head][position][size]`, keys and values apart.
#[derive(Debug)]
pub(crate) struct Cache {
    keys: Vec<u16>,
    values: Vec<u16>,
    heads: Heads,
    tokens_max: usize,
}

impl Cache {
    /// Makes room for `tokens_max` tokens. The system gives the memory when it is first used.
    pub(crate) fn new(layers: usize, tokens_max: usize, heads: Heads) -> Self {
        let length = layers * heads.key_width() * tokens_max;
        Self { keys: vec![0; length], values: vec![0; length], heads, tokens_max }
    }

    /// Stores keys and values (token by token) of `layer` from position `start`.
    pub(crate) fn put(&mut self, layer: usize, start: usize, keys: &[f32], values: &[f32]) {
        let Self { heads, tokens_max, .. } = *self;
        for (cache, floats) in [(&mut self.keys, keys), (&mut self.values, values)] {
            let rows = cache.chunks_exact_mut(tokens_max * heads.size);
            for (head, row) in rows.skip(layer * heads.key).take(heads.key).enumerate() {
                let places = row.chunks_exact_mut(heads.size).skip(start);
                for (place, token) in places.zip(floats.chunks_exact(heads.key_width())) {
                    let floats = token.chunks_exact(heads.size).nth(head).unwrap_or_default();
                    for (half, float) in place.iter_mut().zip(floats) {
                        *half = float_to_half(*float);
                    }
                }
            }
        }
    }

    /// Returns what the first `tokens` positions hold.
    pub(crate) fn save(&self, tokens: usize) -> Vec<u16> {
        let rows = self.keys.chunks_exact(self.tokens_max * self.heads.size);
        let rows = rows.chain(self.values.chunks_exact(self.tokens_max * self.heads.size));
        rows.flat_map(|row| row.iter().take(tokens * self.heads.size)).copied().collect()
    }

    /// Takes back what [`Cache::save`] returned for as many tokens; returns whether it fits.
    pub(crate) fn restore(&mut self, tokens: usize, saved: &[u16]) -> bool {
        let row = self.tokens_max * self.heads.size;
        let part = tokens * self.heads.size;
        if part == 0 || saved.len() != (self.keys.len() + self.values.len()) / row * part {
            return false;
        }
        let rows = self.keys.chunks_exact_mut(row).chain(self.values.chunks_exact_mut(row));
        for (row, saved) in rows.zip(saved.chunks_exact(part)) {
            if let Some(row) = row.get_mut(..part) {
                row.copy_from_slice(saved);
            }
        }
        true
    }

    fn row<'a>(&self, cache: &'a [u16], layer: usize, head: usize) -> &'a [u16] {
        let row = layer * self.heads.key + head;
        cache.chunks_exact(self.tokens_max * self.heads.size).nth(row).unwrap_or_default()
    }
}

/// Returns, token by token, the values of `layer` mixed by how well their keys answer `query`.
/// The first of the tokens stands at position `start`; none sees what comes after it.
pub(crate) fn attend(
    cache: &Cache,
    layer: usize,
    start: usize,
    query: &[f32],
    kernels: Kernels,
) -> Vec<f32> {
    let heads = cache.heads;
    let tokens = query.len() / heads.query_width();
    let pieces = tokens.div_ceil(TOKENS_PER_TASK);
    let done: Vec<Vec<f32>> = (0..pieces * heads.key)
        .into_par_iter()
        .with_max_len(1)
        .map(|task| {
            // The last tokens see most: the longest tasks are taken first.
            let first = (pieces - 1 - task / heads.key) * TOKENS_PER_TASK;
            let count = TOKENS_PER_TASK.min(tokens - first);
            let group = heads.query / heads.key;
            let head = task % heads.key;
            let rows: Vec<&[f32]> = query
                .chunks_exact(heads.query_width())
                .skip(first)
                .take(count)
                .flat_map(|token| token.chunks_exact(heads.size).skip(head * group).take(group))
                .collect();
            let keys = cache.row(&cache.keys, layer, head);
            let values = cache.row(&cache.values, layer, head);
            mix(keys, values, &rows, group, start + first + 1, kernels)
        })
        .collect();
    let group_width = heads.query_width() / heads.key;
    let mut out = vec![0.0; query.len()];
    for (task, piece) in done.iter().enumerate() {
        let first = (pieces - 1 - task / heads.key) * TOKENS_PER_TASK;
        let tokens = out.chunks_exact_mut(heads.query_width()).skip(first);
        for (token, mixed) in tokens.zip(piece.chunks_exact(group_width)) {
            let place = token.chunks_exact_mut(group_width).nth(task % heads.key);
            place.unwrap_or_default().copy_from_slice(mixed);
        }
    }
    out
}

/// Mixes `values` for each of `queries`: `group` of them for each token, the first of which sees
/// `seen` positions, the next one more.
fn mix(
    keys: &[u16],
    values: &[u16],
    queries: &[&[f32]],
    group: usize,
    seen: usize,
    kernels: Kernels,
) -> Vec<f32> {
    let size = queries.first().map_or(1, |query| query.len());
    let tokens = queries.len() / group;
    let positions = seen + tokens - 1;
    let scale = 1.0 / (size as f32).sqrt();
    let mut weights = vec![f32::NEG_INFINITY; queries.len() * positions];
    let mut wide = vec![0.0; size];
    // Which of the queries see a position: those of the tokens that stand at it or after it.
    let first_seer = |position: usize| (position + 1).saturating_sub(seen) * group;
    for (position, key) in keys.chunks_exact(size).take(positions).enumerate() {
        kernels.widen(key, &mut wide);
        let rows = weights.chunks_exact_mut(positions).zip(queries).skip(first_seer(position));
        for (weights, query) in rows {
            if let Some(weight) = weights.get_mut(position) {
                *weight = kernels.dot(query, &wide) * scale;
            }
        }
    }
    for weights in weights.chunks_exact_mut(positions) {
        softmax(weights);
    }
    let mut out = vec![0.0; queries.len() * size];
    for (position, value) in values.chunks_exact(size).take(positions).enumerate() {
        kernels.widen(value, &mut wide);
        let rows = weights.chunks_exact(positions).zip(out.chunks_exact_mut(size));
        for (weights, out) in rows.skip(first_seer(position)) {
            kernels.add_scaled(out, weights.get(position).copied().unwrap_or(0.0), &wide);
        }
    }
    out
}

fn softmax(weights: &mut [f32]) {
    let most = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for weight in weights.iter_mut() {
        *weight = (*weight - most).exp();
        sum += *weight;
    }
    for weight in weights.iter_mut() {
        *weight /= sum;
    }
}
