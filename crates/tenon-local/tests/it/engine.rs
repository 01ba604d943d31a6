//! The engine on the tiny model.

use libtest_mimic::Trial;
use tenon_local::{Engine, EngineError, Qwen2};

use crate::{tiny, trial};

const TOKENS_MAX: usize = 256;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("reading_at_once_is_reading_one_by_one", reading_at_once_is_reading_one_by_one),
        trial("rewinding_forgets_and_nothing_else", rewinding_forgets_and_nothing_else),
        trial("several_likelihoods_are_those_of_each", several_likelihoods_are_those_of_each),
        trial("threads_do_not_change_the_result", threads_do_not_change_the_result),
        trial("what_does_not_fit_is_refused", what_does_not_fit_is_refused),
        trial("other_architectures_are_refused_by_name", other_architectures_are_refused_by_name),
        trial("a_file_cut_anywhere_is_refused", a_file_cut_anywhere_is_refused),
        trial("a_damaged_header_never_panics", a_damaged_header_never_panics),
        trial("no_model_file_is_said_with_its_path", no_model_file_is_said_with_its_path),
    ]
}

fn load_bytes(bytes: &[u8]) -> Result<Qwen2, EngineError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    Qwen2::load(&path, TOKENS_MAX, 2)
}

fn engine() -> Qwen2 {
    load_bytes(&tiny::bytes("qwen2")).unwrap()
}

fn tokens(count: u32) -> Vec<u32> {
    (0..count).map(|at| at * 31 % 250).collect()
}

fn check_close(left: &[f32], right: &[f32]) {
    assert_eq!(left.len(), right.len());
    assert!(left.iter().all(|value| value.is_finite()));
    let size = left.iter().map(|value| value.abs()).fold(0.0, f32::max);
    for (left, right) in left.iter().zip(right) {
        assert!((left - right).abs() <= size * 0.02, "{left} is not {right} (of {size})");
    }
}

fn reading_at_once_is_reading_one_by_one() {
    let (mut at_once, mut one_by_one) = (engine(), engine());
    let tokens = tokens(83);
    at_once.prefill(&tokens).unwrap();
    for token in &tokens {
        one_by_one.prefill(&[*token]).unwrap();
    }
    assert_eq!(at_once.tokens(), one_by_one.tokens());
    check_close(at_once.logits(1), one_by_one.logits(1));
}

fn rewinding_forgets_and_nothing_else() {
    let (mut rewound, mut straight) = (engine(), engine());
    rewound.prefill(&tokens(40)).unwrap();
    rewound.rewind(25);
    assert_eq!(rewound.tokens(), &tokens(25)[..]);
    assert!(rewound.logits(1).is_empty());
    rewound.prefill(&[7, 8]).unwrap();
    straight.prefill(&[&tokens(25)[..], &[7, 8]].concat()).unwrap();
    check_close(rewound.logits(1), straight.logits(1));
}

fn several_likelihoods_are_those_of_each() {
    let mut engine = engine();
    engine.prefill(&tokens(20)).unwrap();
    let all = engine.logits(3).to_vec();
    let vocabulary = all.len() / 3;
    check_close(&all[2 * vocabulary..], engine.logits(1));
    engine.rewind(18);
    engine.prefill(&[]).unwrap();
    engine.rewind(17);
    engine.prefill(&tokens(20)[17..18]).unwrap();
    check_close(&all[..vocabulary], engine.logits(1));
}

fn threads_do_not_change_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    tiny::write(&path, "qwen2");
    let mut results = [1, 2, 3].map(|threads| {
        let mut engine = Qwen2::load(&path, TOKENS_MAX, threads).unwrap();
        engine.prefill(&tokens(70)).unwrap();
        engine.logits(1).to_vec()
    });
    let first = results[0].clone();
    assert!(results.iter_mut().all(|result| *result == first));
}

fn what_does_not_fit_is_refused() {
    let mut engine = engine();
    let error = engine.prefill(&tokens(300)).unwrap_err();
    assert_eq!(error.to_string(), "300 tokens do not fit the context of 256");
    let error = engine.prefill(&[1, 9_999]).unwrap_err();
    assert_eq!(error.to_string(), "token 9999 is not in the vocabulary");
    engine.prefill(&[1]).unwrap();
    assert_eq!(engine.tokens(), [1]);
}

fn other_architectures_are_refused_by_name() {
    let error = load_bytes(&tiny::bytes("llama")).unwrap_err();
    let expected =
        "the model file has the architecture `llama`; the built-in engine runs `qwen2` only";
    assert_eq!(error.to_string(), expected);
}

fn a_file_cut_anywhere_is_refused() {
    let bytes = tiny::bytes("qwen2");
    for length in (0..bytes.len()).step_by(1_009).chain(0..64) {
        assert!(load_bytes(&bytes[..length]).is_err(), "{length} bytes are enough");
    }
}

/// Each byte of the header in turn becomes the largest number: counts, lengths, offsets, types.
fn a_damaged_header_never_panics() {
    let bytes = tiny::bytes("qwen2");
    for at in (0..600).chain((600..7_000).step_by(13)) {
        let mut damaged = bytes.clone();
        damaged[at] = 0xff;
        if let Ok(mut engine) = load_bytes(&damaged) {
            engine.prefill(&[1, 2, 3]).unwrap();
        }
    }
}

fn no_model_file_is_said_with_its_path() {
    let error = Qwen2::load("/nowhere/model.gguf".as_ref(), TOKENS_MAX, 1).unwrap_err();
    assert!(error.to_string().starts_with("cannot read the model file /nowhere/model.gguf: "));
}
