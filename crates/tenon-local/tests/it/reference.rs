//! The engine against llama.cpp, on the published weights: these tests are left out, and say so,
//! where the weights are not.
//!
//! `tests/data/reference.json` holds a prompt, the 64 tokens that llama.cpp continues it with, and
//! its five most likely tokens at each of them.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use libtest_mimic::{Completion, Trial};
use serde_json::Value;
use tenon_local::{Engine, Qwen2};

const WEIGHTS_BYTES: u64 = 1_117_320_768;
/// Tokens whose likelihoods differ by less may change places: the engines round differently.
const TIE: f64 = 0.4;
/// How far a likelihood may be from the reference. The best of them are about 20 to 30.
const DISTANCE_MAX: f64 = 1.0;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("the_mathematics_is_that_of_the_reference", compare),
        trial("text_becomes_the_tokens_of_the_reference", compare_tokens),
    ]
}

fn trial(name: &str, test: fn(&Path)) -> Trial {
    Trial::ignorable_test(name, move || {
        let Some(path) = weights() else { return Ok(Completion::ignored_with(MISSING)) };
        test(&path);
        Ok(Completion::Completed)
    })
}

const MISSING: &str = "there are no weights: set TENON_MODEL_FILE, or pull the model";

fn weights() -> Option<PathBuf> {
    let given = env::var_os("TENON_MODEL_FILE").map(PathBuf::from);
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let pulled =
        cache.map(|cache| cache.join("tenon/models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"));
    [given, pulled]
        .into_iter()
        .flatten()
        .find(|path| fs::metadata(path).is_ok_and(|metadata| metadata.len() == WEIGHTS_BYTES))
}

fn reference() -> Value {
    serde_json::from_str(include_str!("../data/reference.json")).unwrap()
}

fn prompt_tokens(reference: &Value) -> Vec<u32> {
    let tokens = reference["prompt_tokens"].as_array().unwrap();
    tokens.iter().map(|token| u32::try_from(token.as_u64().unwrap()).unwrap()).collect()
}

fn compare(path: &Path) {
    let reference = reference();
    let mut engine = Qwen2::load(path, 1_024, 2).unwrap();
    engine.prefill(&prompt_tokens(&reference)).unwrap();
    for (step, top) in reference["steps"].as_array().unwrap().iter().enumerate() {
        let logits = engine.logits(1).to_vec();
        let top: Vec<(u32, f64)> = top
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| (pair[0].as_u64().unwrap() as u32, pair[1].as_f64().unwrap()))
            .collect();
        let ours: Vec<f64> =
            top.iter().map(|(token, _)| f64::from(logits[*token as usize])).collect();
        for ((token, theirs), ours) in top.iter().zip(&ours) {
            let distance = (theirs - ours).abs();
            assert!(distance < DISTANCE_MAX, "step {step}, token {token}: {ours} is not {theirs}");
        }
        for (pair, ours) in top.windows(2).zip(ours.windows(2)) {
            let tie = pair[0].1 - pair[1].1 < TIE;
            assert!(tie || ours[0] > ours[1], "step {step}: {pair:?} change places: {ours:?}");
        }
        let best = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert!(f64::from(best) - ours[0] < TIE, "step {step}: another token is more likely");
        engine.prefill(&[top[0].0]).unwrap();
    }
}

fn compare_tokens(path: &Path) {
    let reference = reference();
    let tokenizer = Qwen2::load(path, 16, 1).unwrap().tokenizer().unwrap();
    let prompt = reference["prompt"].as_str().unwrap();
    // Special tokens are never made from text; what stands between them is compared.
    let expected: Vec<Vec<u32>> =
        prompt_tokens(&reference).split(|token| *token >= 151_643).map(<[u32]>::to_vec).collect();
    let found: Vec<Vec<u32>> = prompt
        .split("<|im_start|>")
        .flat_map(|part| part.split("<|im_end|>"))
        .map(|part| tokenizer.encode(part))
        .collect();
    assert_eq!(found, expected);
    for case in reference["tokenized"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let tokens = serde_json::json!(tokenizer.encode(text));
        assert_eq!(tokens, case["tokens"], "{text:?}");
    }
}
