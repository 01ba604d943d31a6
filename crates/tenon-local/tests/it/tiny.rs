//! A model of two layers with invented weights, written as a GGUF file.

use std::path::Path;

pub(crate) const WIDTH: usize = 256;
pub(crate) const FEED_FORWARD: usize = 512;
pub(crate) const LAYERS: u32 = 2;
const HEADS: u32 = 4;
const KEY_HEADS: u32 = 2;
const SPECIAL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const VOCABULARY: usize = 256 + SPECIAL.len();

const F32: u32 = 0;
const Q8_0: u32 = 8;
const Q4_K: u32 = 12;
const Q6_K: u32 = 14;

/// Writes the model, with `architecture` as its name.
pub(crate) fn write(path: &Path, architecture: &str) {
    std::fs::write(path, bytes(architecture)).unwrap();
}

/// Returns the bytes of the model file.
pub(crate) fn bytes(architecture: &str) -> Vec<u8> {
    let mut file = File::default();
    file.text("general.architecture", architecture);
    for (key, value) in [
        ("context_length", 8_192),
        ("embedding_length", WIDTH as u32),
        ("feed_forward_length", FEED_FORWARD as u32),
        ("block_count", LAYERS),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", KEY_HEADS),
    ] {
        file.number(&format!("qwen2.{key}"), value);
    }
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", "qwen2");
    file.vocabulary();
    let key_width = WIDTH / HEADS as usize * KEY_HEADS as usize;
    file.tensor("token_embd.weight", Q6_K, WIDTH, VOCABULARY);
    file.tensor("output_norm.weight", F32, WIDTH, 1);
    for layer in 0..LAYERS {
        for (name, kind, columns, rows) in [
            ("attn_norm.weight", F32, WIDTH, 1),
            ("attn_q.weight", Q4_K, WIDTH, WIDTH),
            ("attn_q.bias", F32, WIDTH, 1),
            ("attn_k.weight", Q4_K, WIDTH, key_width),
            ("attn_k.bias", F32, key_width, 1),
            ("attn_v.weight", Q6_K, WIDTH, key_width),
            ("attn_v.bias", F32, key_width, 1),
            ("attn_output.weight", Q8_0, WIDTH, WIDTH),
            ("ffn_norm.weight", F32, WIDTH, 1),
            ("ffn_gate.weight", Q4_K, WIDTH, FEED_FORWARD),
            ("ffn_up.weight", Q4_K, WIDTH, FEED_FORWARD),
            ("ffn_down.weight", Q6_K, FEED_FORWARD, WIDTH),
        ] {
            file.tensor(&format!("blk.{layer}.{name}"), kind, columns, rows);
        }
    }
    file.finish()
}

#[derive(Default)]
struct File {
    metadata: Vec<u8>,
    metadata_count: u64,
    tensors: Vec<u8>,
    tensor_count: u64,
    data: Vec<u8>,
    random: u64,
}

impl File {
    fn key(&mut self, key: &str, kind: u32) {
        self.metadata_count += 1;
        put(&mut self.metadata, key);
        self.metadata.extend(kind.to_le_bytes());
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key, 8);
        put(&mut self.metadata, value);
    }

    fn number(&mut self, key: &str, value: u32) {
        self.key(key, 4);
        self.metadata.extend(value.to_le_bytes());
    }

    /// One token for each byte, and the special ones.
    fn vocabulary(&mut self) {
        let mut next = 256;
        self.key("tokenizer.ggml.tokens", 9);
        self.metadata.extend(8u32.to_le_bytes());
        self.metadata.extend((VOCABULARY as u64).to_le_bytes());
        for byte in 0..=255u8 {
            let printable = matches!(byte, 33..=126 | 161..=172 | 174..=255);
            let code = if printable { u32::from(byte) } else { next };
            next += u32::from(!printable);
            put(&mut self.metadata, &char::from_u32(code).unwrap().to_string());
        }
        for special in SPECIAL {
            put(&mut self.metadata, special);
        }
        self.key("tokenizer.ggml.token_type", 9);
        self.metadata.extend(5u32.to_le_bytes());
        self.metadata.extend((VOCABULARY as u64).to_le_bytes());
        for at in 0..VOCABULARY {
            let kind: u32 = if at < 256 { 1 } else { 3 };
            self.metadata.extend(kind.to_le_bytes());
        }
    }

    fn tensor(&mut self, name: &str, kind: u32, columns: usize, rows: usize) {
        self.tensor_count += 1;
        put(&mut self.tensors, name);
        self.tensors.extend(2u32.to_le_bytes());
        self.tensors.extend((columns as u64).to_le_bytes());
        self.tensors.extend((rows as u64).to_le_bytes());
        self.tensors.extend(kind.to_le_bytes());
        self.data.resize(self.data.len().next_multiple_of(32), 0);
        self.tensors.extend((self.data.len() as u64).to_le_bytes());
        let (values, block_bytes, halves): (usize, usize, &[usize]) = match kind {
            Q8_0 => (32, 34, &[0]),
            Q4_K => (256, 144, &[0, 2]),
            Q6_K => (256, 210, &[208]),
            _ => (1, 4, &[]),
        };
        for _ in 0..columns * rows / values {
            let mut block: Vec<u8> = (0..block_bytes).map(|_| self.byte()).collect();
            if kind == F32 {
                let value = f32::from(block[0]) / 256.0 + 0.5;
                block.copy_from_slice(&value.to_le_bytes());
            }
            for at in halves {
                // Half precision numbers about 0.001, so that sums stay near one.
                block[at + 1] = 0x14 | (block[at + 1] & 0x81);
            }
            self.data.extend(block);
        }
    }

    fn byte(&mut self) -> u8 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.random >> 56) as u8
    }

    fn finish(self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3u32.to_le_bytes());
        file.extend(self.tensor_count.to_le_bytes());
        file.extend(self.metadata_count.to_le_bytes());
        file.extend(self.metadata);
        file.extend(self.tensors);
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(self.data);
        file
    }
}

fn put(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}
