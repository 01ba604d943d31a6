//! Tests of the built-in model through its public API, most of them on a tiny invented one.
#![expect(clippy::disallowed_methods, reason = "tests make their own files")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows tests by an attribute that these have not"
)]

mod engine;
mod provider;
mod reference;
mod tiny;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let mut trials = engine::trials();
    trials.extend(provider::trials());
    trials.extend(reference::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn trial(name: &str, test: fn()) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}
