//! Confined files and confined processes.
