//! The `tenon` program.

fn main() {}
