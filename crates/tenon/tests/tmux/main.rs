//! The interactive session in tmux: keys typed in, what stands on the screen and above it out. A
//! shell with job control is around it, as at home, so that what is left behind shows.
//!
//! Where there is no tmux these tests are counted as left out, which libtest cannot; where a change
//! is checked before it lands (`CI=true`) they fail instead.
#![expect(clippy::disallowed_methods, reason = "tests prepare and inspect files, and run programs")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows tests by an attribute that these have not"
)]

macro_rules! trials {
    ($($test:ident),+ $(,)?) => { vec![$(crate::trial(stringify!($test), $test)),+] };
}

mod composer;
mod server;
mod session;
#[path = "../it/terminal.rs"]
#[expect(dead_code, reason = "the other tests use the rest of it")]
mod terminal;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let mut trials = session::trials();
    trials.extend(composer::trials());
    let is_left_out = !server::is_there() && !must_run();
    if is_left_out {
        let left_out = |trial: Trial| trial.with_ignored_flag(true).with_kind("no tmux here");
        trials = trials.into_iter().map(left_out).collect();
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn must_run() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

fn trial(name: &str, test: fn()) -> Trial {
    Trial::test(name, move || {
        if !server::is_there() {
            return Err("there is no tmux here, and CI=true wants these tests run".into());
        }
        test();
        Ok(())
    })
}
