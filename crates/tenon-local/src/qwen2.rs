//! The forward pass of the Qwen2 architecture, over weights that stay where the file has them.
//!
//! Keys and values of all tokens lie in one contiguous cache in half precision; rewinding only
//! moves its end. Long texts are read in pieces of [`TOKENS_PER_PASS`].

use std::{ops::Range, path::Path};

use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};

use crate::{
    Engine, EngineError,
    activations::Activations,
    attention::{Cache, Heads, attend},
    gguf::Gguf,
    kernels::{Kernels, Matrix},
    mapped::MappedFile,
    quant::Storage,
    tokenizer::Tokenizer,
};

/// Tokens of one pass: the sums of four rows and a superblock of this many tokens fit the
/// innermost cache together.
pub const TOKENS_PER_PASS: usize = 64;

/// A model of the Qwen2 family, loaded.
#[derive(Debug)]
pub struct Qwen2 {
    file: MappedFile,
    shape: Shape,
    embedding: Place,
    output: Place,
    output_norm: Vec<f32>,
    layers: Vec<Layer>,
    cache: Cache,
    tokens: Vec<u32>,
    tokens_max: usize,
    /// What the last pass made of its tokens, before the last norm.
    hidden: Vec<f32>,
    logits: Vec<f32>,
    kernels: Kernels,
    threads: ThreadPool,
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    width: usize,
    feed_forward: usize,
    heads: Heads,
    vocabulary: usize,
    epsilon: f32,
    frequency_base: f32,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Vec<f32>,
    query: Place,
    query_bias: Vec<f32>,
    key: Place,
    key_bias: Vec<f32>,
    value: Place,
    value_bias: Vec<f32>,
    attention_output: Place,
    feed_norm: Vec<f32>,
    gate: Place,
    up: Place,
    down: Place,
}

/// A matrix whose bytes are known to lie within the file.
#[derive(Debug, Clone)]
struct Place {
    storage: Storage,
    columns: usize,
    bytes: Range<usize>,
}

impl Qwen2 {
    /// Loads the model at `path` for at most `tokens_max` tokens on `threads` threads.
    pub fn load(path: &Path, tokens_max: usize, threads: usize) -> Result<Self, EngineError> {
        let file = MappedFile::open(path)
            .map_err(|source| EngineError::Io { path: path.to_owned(), source })?;
        Self::from_file(file, tokens_max, threads, Kernels::detect())
    }

    pub(crate) fn from_file(
        file: MappedFile,
        tokens_max: usize,
        threads: usize,
        kernels: Kernels,
    ) -> Result<Self, EngineError> {
        let gguf = Gguf::parse(&file)?;
        let architecture = gguf.text("general.architecture").unwrap_or("none");
        if architecture != "qwen2" {
            return Err(EngineError::Architecture(architecture.to_owned()));
        }
        let finder = Finder { gguf: &gguf, file: &file, kernels };
        let (shape, layer_count) = finder.shape()?;
        let tokens_max = tokens_max.min(finder.number("context_length")?);
        let layers =
            (0..layer_count).map(|at| finder.layer(at, &shape)).collect::<Result<Vec<_>, _>>()?;
        let embedding = finder.matrix("token_embd.weight", shape.width, shape.vocabulary)?;
        let output = match gguf.tensor("output.weight") {
            Some(_) => finder.matrix("output.weight", shape.width, shape.vocabulary)?,
            None => embedding.clone(),
        };
        let output_norm = finder.vector("output_norm.weight", shape.width)?;
        let threads = ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .thread_name(|at| format!("tenon-local-{at}"))
            .build()
            .map_err(|error| EngineError::Threads(error.to_string()))?;
        Ok(Self {
            shape,
            embedding,
            output,
            output_norm,
            cache: Cache::new(layer_count, tokens_max, shape.heads),
            layers,
            tokens: Vec::new(),
            tokens_max,
            hidden: Vec::new(),
            logits: Vec::new(),
            kernels,
            threads,
            file,
        })
    }

    /// Returns the vocabulary that the model file carries.
    pub fn tokenizer(&self) -> Result<Tokenizer, EngineError> {
        Tokenizer::read(&Gguf::parse(&self.file)?)
    }

    /// Returns the bytes of the model file.
    pub(crate) fn file(&self) -> &[u8] {
        &self.file
    }

    /// Returns the keys and values of the tokens read so far, as they are saved.
    pub(crate) fn saved_state(&self) -> Vec<u16> {
        self.cache.save(self.tokens.len())
    }

    /// Takes `state` as that of `tokens`; returns whether it had the size for them.
    pub(crate) fn restore_state(&mut self, tokens: &[u32], state: &[u16]) -> bool {
        if tokens.len() > self.tokens_max || !self.cache.restore(tokens.len(), state) {
            return false;
        }
        self.tokens = tokens.to_vec();
        self.hidden.clear();
        true
    }

    fn pass(&mut self, tokens: &[u32]) -> Result<(), EngineError> {
        let width = self.shape.width;
        let mut hidden = vec![0.0; tokens.len() * width];
        let embedding = self.embedding.of(&self.file);
        for (token, out) in tokens.iter().zip(hidden.chunks_exact_mut(width)) {
            let row = usize::try_from(*token)
                .ok()
                .and_then(|token| embedding.bytes.chunks_exact(embedding.row_bytes()).nth(token))
                .ok_or(EngineError::UnknownToken(*token))?;
            self.kernels.values(embedding.storage, row, out);
        }
        let Self { threads, layers, cache, file, shape, kernels, .. } = self;
        let start = self.tokens.len();
        threads.install(|| {
            for (at, layer) in layers.iter().enumerate() {
                let mut run = Run { file, shape, kernels: *kernels, layer, hidden: &mut hidden };
                run.attention(cache, at, start);
                run.feed_forward();
            }
        });
        self.hidden = hidden;
        self.tokens.extend_from_slice(tokens);
        Ok(())
    }
}

impl Engine for Qwen2 {
    fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    fn tokens_max(&self) -> usize {
        self.tokens_max
    }

    fn prefill(&mut self, tokens: &[u32]) -> Result<(), EngineError> {
        let asked = self.tokens.len().saturating_add(tokens.len());
        if asked > self.tokens_max {
            return Err(EngineError::ContextFull { asked, tokens_max: self.tokens_max });
        }
        tokens.chunks(TOKENS_PER_PASS).try_for_each(|piece| self.pass(piece))
    }

    fn logits(&mut self, count: usize) -> &[f32] {
        let width = self.shape.width;
        let count = count.min(self.hidden.len() / width);
        if count == 0 {
            return &[];
        }
        let skipped = self.hidden.len() - count * width;
        let mut normed = Vec::with_capacity(count * width);
        for token in self.hidden.iter().skip(skipped).copied().collect::<Vec<_>>().chunks(width) {
            normed.extend(rms_norm(token, &self.output_norm, self.shape.epsilon));
        }
        let rows = self.shape.vocabulary;
        let mut by_row = vec![0.0; rows * count];
        let activations = self.kernels.activations(&normed, width);
        let output = self.output.of(&self.file);
        let Self { threads, kernels, .. } = self;
        threads.install(|| kernels.multiply(&activations, &mut [(output, &mut by_row)]));
        if count == 1 {
            self.logits = by_row;
        } else {
            self.logits.clear();
            for token in 0..count {
                self.logits.extend(by_row.iter().skip(token).step_by(count));
            }
        }
        &self.logits
    }

    fn rewind(&mut self, to: usize) {
        if to < self.tokens.len() {
            self.tokens.truncate(to);
            self.hidden.clear();
        }
    }
}

/// One layer at work on the tokens of one pass.
struct Run<'a> {
    file: &'a [u8],
    shape: &'a Shape,
    kernels: Kernels,
    layer: &'a Layer,
    hidden: &'a mut [f32],
}

impl Run<'_> {
    fn attention(&mut self, cache: &mut Cache, at: usize, start: usize) {
        let Self { shape, kernels, layer, .. } = *self;
        let heads = shape.heads;
        let normed = self.normed(&layer.attention_norm);
        let tokens = normed.len() / shape.width;
        let activations = kernels.activations(&normed, shape.width);
        let mut query = vec![0.0; tokens * heads.query_width()];
        let mut key = vec![0.0; tokens * heads.key_width()];
        let mut value = vec![0.0; tokens * heads.key_width()];
        kernels.multiply(
            &activations,
            &mut [
                (layer.query.of(self.file), &mut query),
                (layer.key.of(self.file), &mut key),
                (layer.value.of(self.file), &mut value),
            ],
        );
        let mut query = by_token(&query, tokens, &layer.query_bias);
        let mut key = by_token(&key, tokens, &layer.key_bias);
        let value = by_token(&value, tokens, &layer.value_bias);
        for (at, token) in query.chunks_exact_mut(heads.query_width()).enumerate() {
            rotate(token, heads.size, start + at, shape.frequency_base);
        }
        for (at, token) in key.chunks_exact_mut(heads.key_width()).enumerate() {
            rotate(token, heads.size, start + at, shape.frequency_base);
        }
        cache.put(at, start, &key, &value);
        let mixed = attend(cache, at, start, &query, kernels);
        let activations = kernels.activations(&mixed, heads.query_width());
        self.add_product(&layer.attention_output, &activations);
    }

    fn feed_forward(&mut self) {
        let Self { shape, kernels, layer, .. } = *self;
        let normed = self.normed(&layer.feed_norm);
        let tokens = normed.len() / shape.width;
        let activations = kernels.activations(&normed, shape.width);
        let mut gate = vec![0.0; tokens * shape.feed_forward];
        let mut up = vec![0.0; tokens * shape.feed_forward];
        kernels.multiply(
            &activations,
            &mut [(layer.gate.of(self.file), &mut gate), (layer.up.of(self.file), &mut up)],
        );
        gate.par_chunks_mut(2048).zip(up.par_chunks(2048)).for_each(|(gate, up)| {
            for (gate, up) in gate.iter_mut().zip(up) {
                *gate = *gate / (1.0 + (-*gate).exp()) * up;
            }
        });
        let gated = if tokens == 1 { gate } else { by_token(&gate, tokens, &[]) };
        let activations = kernels.activations(&gated, shape.feed_forward);
        self.add_product(&layer.down, &activations);
    }

    fn normed(&self, weights: &[f32]) -> Vec<f32> {
        let mut normed = Vec::with_capacity(self.hidden.len());
        for token in self.hidden.chunks_exact(self.shape.width) {
            normed.extend(rms_norm(token, weights, self.shape.epsilon));
        }
        normed
    }

    fn add_product(&mut self, place: &Place, activations: &Activations) {
        let (tokens, width) = (activations.tokens(), self.shape.width);
        let mut product = vec![0.0; tokens * width];
        self.kernels.multiply(activations, &mut [(place.of(self.file), &mut product)]);
        for (at, token) in self.hidden.chunks_exact_mut(width).enumerate() {
            for (sum, product) in token.iter_mut().zip(product.iter().skip(at).step_by(tokens)) {
                *sum += product;
            }
        }
    }
}

/// Turns "row by row" into "token by token" and adds `bias` where there is one.
fn by_token(by_row: &[f32], tokens: usize, bias: &[f32]) -> Vec<f32> {
    let rows = by_row.len() / tokens.max(1);
    let mut out = vec![0.0; by_row.len()];
    out.par_chunks_exact_mut(rows.max(1)).enumerate().for_each(|(at, token)| {
        for (out, value) in token.iter_mut().zip(by_row.iter().skip(at).step_by(tokens)) {
            *out = *value;
        }
        for (out, bias) in token.iter_mut().zip(bias) {
            *out += bias;
        }
    });
    out
}

fn rms_norm(values: &[f32], weights: &[f32], epsilon: f32) -> impl Iterator<Item = f32> {
    let mut lanes = [0.0f32; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value * value;
        }
    }
    let squares = lanes.iter().sum::<f32>() + rest.iter().map(|value| value * value).sum::<f32>();
    let scale = 1.0 / (squares / values.len() as f32 + epsilon).sqrt();
    values.iter().zip(weights).map(move |(value, weight)| value * scale * weight)
}

/// Turns each head's pairs (first half with second half) by an angle that grows with `position`.
fn rotate(token: &mut [f32], head_size: usize, position: usize, base: f32) {
    let half = head_size / 2;
    let turns: Vec<(f32, f32)> = (0..half)
        .map(|at| {
            let angle = position as f32 * base.powf(-2.0 * at as f32 / head_size as f32);
            angle.sin_cos()
        })
        .collect();
    for head in token.chunks_exact_mut(head_size) {
        let (left, right) = head.split_at_mut(half);
        for ((left, right), (sine, cosine)) in left.iter_mut().zip(right).zip(&turns) {
            (*left, *right) = (*left * cosine - *right * sine, *left * sine + *right * cosine);
        }
    }
}

impl Place {
    fn of<'a>(&self, file: &'a [u8]) -> Matrix<'a> {
        let bytes = file.get(self.bytes.clone()).unwrap_or_default();
        Matrix { storage: self.storage, columns: self.columns, bytes }
    }
}

/// Finds tensors by name and holds their sizes against what the model says of itself.
struct Finder<'a> {
    gguf: &'a Gguf<'a>,
    file: &'a [u8],
    kernels: Kernels,
}

impl Finder<'_> {
    fn number(&self, key: &str) -> Result<usize, EngineError> {
        let number = self.gguf.unsigned(&format!("qwen2.{key}"));
        let number = number.and_then(|number| usize::try_from(number).ok());
        match number {
            // Far above every model there is; keeps products of two of them within bounds.
            Some(number @ 1..=0x100_0000) => Ok(number),
            _ => Err(EngineError::Malformed(format!("no usable number qwen2.{key}"))),
        }
    }

    fn shape(&self) -> Result<(Shape, usize), EngineError> {
        let width = self.number("embedding_length")?;
        let query = self.number("attention.head_count")?;
        let key = self.number("attention.head_count_kv")?;
        let heads = Heads { query, key, size: width / query };
        if !width.is_multiple_of(query) || !query.is_multiple_of(key) || heads.size % 2 == 1 {
            return Err(EngineError::Malformed("the heads do not divide the width".into()));
        }
        let embedding = self
            .gguf
            .tensor("token_embd.weight")
            .ok_or_else(|| EngineError::Malformed("no tensor token_embd.weight".into()))?;
        let epsilon = self.gguf.float("qwen2.attention.layer_norm_rms_epsilon").unwrap_or(1e-6);
        let base = self.gguf.float("qwen2.rope.freq_base").unwrap_or(1e6);
        let shape = Shape {
            width,
            feed_forward: self.number("feed_forward_length")?,
            heads,
            vocabulary: embedding.rows,
            epsilon: epsilon as f32,
            frequency_base: base as f32,
        };
        Ok((shape, self.number("block_count")?))
    }

    fn layer(&self, at: usize, shape: &Shape) -> Result<Layer, EngineError> {
        let name = |part: &str| format!("blk.{at}.{part}");
        let (width, wide) = (shape.width, shape.feed_forward);
        let (query, key) = (shape.heads.query_width(), shape.heads.key_width());
        Ok(Layer {
            attention_norm: self.vector(&name("attn_norm.weight"), width)?,
            query: self.matrix(&name("attn_q.weight"), width, query)?,
            query_bias: self.vector(&name("attn_q.bias"), query)?,
            key: self.matrix(&name("attn_k.weight"), width, key)?,
            key_bias: self.vector(&name("attn_k.bias"), key)?,
            value: self.matrix(&name("attn_v.weight"), width, key)?,
            value_bias: self.vector(&name("attn_v.bias"), key)?,
            attention_output: self.matrix(&name("attn_output.weight"), query, width)?,
            feed_norm: self.vector(&name("ffn_norm.weight"), width)?,
            gate: self.matrix(&name("ffn_gate.weight"), width, wide)?,
            up: self.matrix(&name("ffn_up.weight"), width, wide)?,
            down: self.matrix(&name("ffn_down.weight"), wide, width)?,
        })
    }

    fn matrix(&self, name: &str, columns: usize, rows: usize) -> Result<Place, EngineError> {
        let place = self
            .gguf
            .tensor(name)
            .ok_or_else(|| EngineError::Malformed(format!("no tensor {name}")))?;
        if (place.columns, place.rows) != (columns, rows) {
            let found = (place.columns, place.rows);
            let text = format!("{name} is {found:?}, not {columns} times {rows}");
            return Err(EngineError::Malformed(text));
        }
        let storage = Storage::from_number(place.kind)
            .ok_or_else(|| EngineError::Storage { tensor: name.to_owned(), kind: place.kind })?;
        let bytes = storage
            .row_bytes(columns)
            .and_then(|row| row.checked_mul(rows))
            .ok_or_else(|| EngineError::Malformed(format!("{name} is not whole blocks")))?;
        let end = place.offset.checked_add(bytes).filter(|end| *end <= self.file.len());
        let end = end.ok_or(EngineError::Truncated)?;
        Ok(Place { storage, columns, bytes: place.offset..end })
    }

    fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>, EngineError> {
        let place = self.matrix(name, length, 1)?;
        let mut values = vec![0.0; length];
        self.kernels.values(place.storage, place.of(self.file).bytes, &mut values);
        Ok(values)
    }
}
