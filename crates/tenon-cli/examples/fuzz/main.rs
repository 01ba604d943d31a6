//! Looks for inputs that break a promise of tenon's parsers and doors. docs/fuzzing.md says how to
//! use it and why it is built this way.
//!
//! A target is a file in `targets/`. It is fed with changed seeds; an input whose outcome has a
//! shape that was not seen before joins the seeds. A panic is a failure: the input is made shorter,
//! saved, and run again with `--input`. Stable Rust, one thread, no instrumentation.

#![expect(clippy::panic, reason = "a broken promise is a panic")]
#![expect(clippy::print_stdout, reason = "a tool for developers that says what it found")]
#![expect(clippy::disallowed_methods, reason = "failing inputs are saved outside any workspace")]

mod mutate;
mod targets;

use std::{
    collections::HashSet,
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use mutate::Mutator;
use targets::{Check, TARGETS, Target};

/// The seed of the pseudo-random numbers where none is given: the same inputs in every run.
const DEFAULT_SEED: u64 = 0x7e40_5eed;
const DEFAULT_SECONDS: u64 = 60;
/// Inputs that are kept because they showed something new; a bound on memory.
const CORPUS_INPUTS_MAX: usize = 20_000;
/// An input of a few kilobytes that takes so long hides work that grows faster than its length;
/// far above any pause of a busy machine.
const SLOW: Duration = Duration::from_secs(20);
/// How long a failing input is made shorter.
const SHRINK_FOR: Duration = Duration::from_secs(10);
/// Values in a failure may be as long as inputs.
const FAILURE_CHARS_MAX: usize = 2_000;

const USAGE: &str = "\
usage: fuzz TARGET|all [--seconds N] [--seed N] [--folder DIR]
       fuzz TARGET --input FILE";

/// What the last panic said, and where.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

struct Options {
    target: String,
    seconds: u64,
    seed: u64,
    folder: PathBuf,
    input: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Some(options) = options(std::env::args().skip(1)) else {
        println!("{USAGE}\n\ntargets:");
        TARGETS.iter().for_each(|target| println!("  {:10} {}", target.name, target.promise));
        return ExitCode::from(2);
    };
    panic::set_hook(Box::new(|info| {
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    let chosen = |target: &&Target| options.target == "all" || options.target == target.name;
    let outcome = TARGETS.iter().filter(chosen).try_fold(true, |all_well, target| {
        let well = match &options.input {
            Some(path) => again(target, path),
            None => fuzz(target, &options),
        };
        well.map(|well| well && all_well)
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::from(2)
        }
    }
}

fn options(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let target = arguments.next()?;
    if target != "all" && TARGETS.iter().all(|known| known.name != target) {
        return None;
    }
    let mut options = Options {
        target,
        seconds: DEFAULT_SECONDS,
        seed: DEFAULT_SEED,
        folder: PathBuf::from("target/fuzz"),
        input: None,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--folder" => options.folder = value.into(),
            "--input" => options.input = Some(value.into()),
            _ => return None,
        }
    }
    Some(options)
}

/// Runs one saved input; returns whether the target kept its promise.
fn again(target: &Target, path: &Path) -> io::Result<bool> {
    let failure = attempt(&mut (target.start)(), &fs::read(path)?).err();
    match &failure {
        Some(failure) => println!("{}: {failure}", target.name),
        None => println!("{}: the promise holds for this input", target.name),
    }
    Ok(failure.is_none())
}

/// Feeds a target until the time is over or it fails; returns whether it kept its promise.
fn fuzz(target: &Target, options: &Options) -> io::Result<bool> {
    fs::create_dir_all(&options.folder)?;
    // An abort or an overflown stack cannot be caught: the input is on the disk before it runs.
    let last_path = options.folder.join(format!("{}.last", target.name));
    let last = File::create(&last_path)?;
    let mut check = (target.start)();
    let mut corpus: Vec<Vec<u8>> = target.seeds.iter().map(|seed| seed.to_vec()).collect();
    let mut mutator = Mutator::new(options.seed, target.words);
    let mut shapes = HashSet::new();
    let begun = Instant::now();
    let mut executions = 0_u64;
    while begun.elapsed() < Duration::from_secs(options.seconds) {
        // The seeds themselves come first, unchanged.
        let input = match corpus.get(executions as usize) {
            Some(seed) if executions < target.seeds.len() as u64 => seed.clone(),
            _ => mutator.next(&corpus),
        };
        last.write_all_at(&input, 0)?;
        last.set_len(input.len() as u64)?;
        executions += 1;
        match attempt(&mut check, &input) {
            Ok(shape) => {
                if shapes.insert(shape) && corpus.len() < CORPUS_INPUTS_MAX {
                    corpus.push(input);
                }
            }
            Err(failure) => {
                let path = options.folder.join(format!("{}.failed", target.name));
                let input = shorter(&mut check, input, &failure);
                let failure = attempt(&mut check, &input).err().unwrap_or(failure);
                fs::write(&path, input)?;
                println!("{}: FAILED after {executions} executions\n{failure}", target.name);
                println!("again with: fuzz {} --input {}", target.name, path.display());
                return Ok(false);
            }
        }
    }
    fs::remove_file(last_path)?;
    let (name, seconds) = (target.name, begun.elapsed().as_secs());
    println!(
        "{name}: {executions} executions in {seconds} s, {} outcomes, no failure",
        shapes.len()
    );
    Ok(true)
}

/// Runs one input. The error says what panicked and where.
fn attempt(check: &mut Check, input: &[u8]) -> Result<u64, String> {
    let begun = Instant::now();
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| check(input)));
    let shape = outcome.map_err(|_| {
        let said = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        said.chars().take(FAILURE_CHARS_MAX).collect::<String>()
    })?;
    if begun.elapsed() > SLOW {
        return Err(format!("slow\n{} bytes took {} s", input.len(), begun.elapsed().as_secs()));
    }
    Ok(shape)
}

/// Takes pieces out of a failing input as long as it fails at the same place.
fn shorter(check: &mut Check, mut input: Vec<u8>, failure: &str) -> Vec<u8> {
    let begun = Instant::now();
    let place = |failure: &str| failure.lines().next().unwrap_or_default().to_owned();
    let wanted = place(failure);
    let mut length = input.len() / 2;
    while length > 0 {
        let mut at = 0;
        while at < input.len() && begun.elapsed() < SHRINK_FOR {
            let mut candidate = input.clone();
            candidate.drain(at..candidate.len().min(at + length));
            match attempt(check, &candidate) {
                Err(failure) if place(&failure) == wanted => input = candidate,
                _ => at += length,
            }
        }
        length /= 2;
    }
    input
}
