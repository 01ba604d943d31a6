//! How long it takes to read a file of 4 KiB, three folders deep, 100,000 times.
//!
//! `cargo run --release -p tenon-sandbox --example read`
//!
//! The three ways take turns: a plain open, which holds nothing; canonicalize and compare, which
//! holds unless somebody exchanges a folder in between; the workspace's own.

#![expect(clippy::disallowed_methods, reason = "a measurement opens files in the other ways too")]
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]
#![expect(clippy::unwrap_used, reason = "without the file there is nothing to measure")]

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use tenon_sandbox::Workspace;

const ROUNDS: usize = 1000;
/// Calls between two looks at the clock.
const CALLS: u32 = 100;
const NAME: &str = "one/two/three/file";

/// Its name, a call, and how long each took.
type Way<'a> = (&'static str, &'a dyn Fn() -> usize, Vec<Duration>);

fn main() {
    let folder = std::env::temp_dir().join(format!("tenon-read-{}", std::process::id()));
    std::fs::create_dir_all(folder.join(NAME).parent().unwrap()).unwrap();
    std::fs::write(folder.join(NAME), [b'a'; 4096]).unwrap();
    let root = folder.canonicalize().unwrap();
    let workspace = Workspace::open(&root).unwrap();
    let path = root.join(NAME);
    let read = |path: &Path| {
        let mut bytes = Vec::with_capacity(4097);
        std::fs::File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
        bytes.len()
    };
    let compared = || {
        let path = path.canonicalize().unwrap();
        assert!(path.starts_with(&root));
        read(&path)
    };
    let mut ways: [Way<'_>; 3] = [
        ("plain open", &|| read(&path), Vec::new()),
        ("canonicalize and compare", &compared, Vec::new()),
        ("workspace", &|| workspace.read(NAME, 1 << 20).unwrap().len(), Vec::new()),
    ];
    for _ in 0..ROUNDS {
        for (_, way, times) in &mut ways {
            let before = Instant::now();
            for _ in 0..CALLS {
                assert_eq!(way(), 4096);
            }
            times.push(before.elapsed() / CALLS);
        }
    }
    for (name, _, times) in &mut ways {
        times.sort();
        let at = |share: usize| times.get(ROUNDS * share / 100).copied().unwrap_or_default();
        let [p10, p50, p90] = [10, 50, 90].map(|share| at(share).as_secs_f64() * 1e6);
        println!("{name:36} p10 {p10:7.3} us   p50 {p50:7.3} us   p90 {p90:7.3} us");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
