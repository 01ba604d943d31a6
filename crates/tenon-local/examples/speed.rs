//! Measures the engine: `cargo run --release -p tenon-local --example speed MODEL_FILE [THREADS]`.
#![expect(clippy::print_stdout, reason = "the measurements are what it is for")]
#![expect(clippy::disallowed_methods, reason = "reads its own memory use")]

use std::{error::Error, path::Path, time::Instant};

use tenon_local::{Engine, Qwen2};

const PROMPT_TOKENS: u32 = 1_200;
const REPLY_TOKENS: u32 = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: speed MODEL_FILE [THREADS]")?;
    let threads = arguments.next().map_or(Ok(2), |threads| threads.parse())?;
    let start = Instant::now();
    let mut engine = Qwen2::load(Path::new(&path), 2048, threads)?;
    println!("load            {:8.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let prompt: Vec<u32> = (0..PROMPT_TOKENS).map(|at| 100 + at * 37 % 5_000).collect();
    let start = Instant::now();
    engine.prefill(&prompt)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("prefill         {:8.1} tokens/s", f64::from(PROMPT_TOKENS) / seconds);
    let start = Instant::now();
    for token in 0..REPLY_TOKENS {
        engine.logits(1);
        engine.prefill(&[1_000 + token])?;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("decode          {:8.1} tokens/s", f64::from(REPLY_TOKENS) / seconds);
    for count in [1, 2, 4, 8] {
        const TURNS: u32 = 6;
        let start = Instant::now();
        for _ in 0..TURNS {
            engine.prefill(prompt.get(..count).unwrap_or_default())?;
            engine.logits(count);
        }
        let milliseconds = start.elapsed().as_secs_f64() * 1e3 / f64::from(TURNS);
        println!("a pass of {count}     {milliseconds:8.1} ms");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("{}", peak.unwrap_or_default());
    Ok(())
}
