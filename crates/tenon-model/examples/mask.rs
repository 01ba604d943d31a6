//! Times the masking of 1 MB of text, whole and in pieces as a command prints it.
//!
//! `cargo run --release -p tenon-model --example mask [VALUES]`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::{sync::Arc, time::Instant};

use tenon_model::{KnownValue, MaskStream, Masks};

const ROUNDS: usize = 21;

fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(20_u64);
    let values: Vec<KnownValue> = (0..count)
        .map(|number| {
            let value =
                format!("sk-{:016x}{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15), number);
            KnownValue::new(&value, &format!("KEY_{number}"), ".env")
        })
        .collect();
    let started = Instant::now();
    let masks = Arc::new(Masks::new(&values));
    println!("{count} values, made ready in {:?}", started.elapsed());
    let line = "   Compiling something v1.2.3 (crates/something) with skill and a task\n";
    let mut text = line.repeat(1_000_000 / line.len());
    text.push_str(values.first().map_or("", |value| value.secret().expose()));
    let best = |work: &dyn Fn() -> usize| {
        let times = (0..ROUNDS).map(|_| {
            let started = Instant::now();
            std::hint::black_box(work());
            started.elapsed()
        });
        times.min().unwrap_or_default()
    };
    println!("1 MB whole: {:?}", best(&|| masks.mask(&text).len()));
    for bytes in [65_536, 4_096, 256] {
        let took = best(&|| {
            let mut stream = MaskStream::new(Arc::clone(&masks));
            let pieces = text.as_bytes().chunks(bytes).map(String::from_utf8_lossy);
            pieces.map(|piece| stream.push(&piece).len()).sum::<usize>() + stream.finish().len()
        });
        println!("1 MB in pieces of {bytes} bytes: {took:?}");
    }
}
