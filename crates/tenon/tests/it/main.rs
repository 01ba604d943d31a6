//! Tests of the real program, in a home of their own and without a network, and of the repository
//! as a whole.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "tests prepare and inspect files, and run programs")]

#[path = "../../../../tests/support/fake_server/mod.rs"]
#[expect(dead_code, reason = "each test binary uses a part of it")]
mod fake_server;

mod attacks;
mod budgets;
#[path = "../../../../tests/support/program_copy.rs"]
mod program_copy;
#[path = "../../../../tests/support/skipped.rs"]
mod skipped;

mod changes;
mod command_line;
mod configuration;
mod context;
mod denials;
mod export;
mod files_of_others;
mod full_disk;
mod grants;
mod home_is_root;
mod home_mounted_twice;
mod home_secrets;
mod home_told;
mod hosts_logged;
mod images;
mod imports;
mod interactive;
mod jobs;
mod jobs_ended;
mod jobs_told;
mod killed;
mod languages;
mod limits_told;
mod masked_questions;
mod masked_views;
mod models;
mod moved_workspace;
mod moves_told;
mod nested;
mod odd_names;
mod output;
mod outside_lines;
mod own_killed;
mod own_store_told;
mod plain_commands;
mod presets;
mod program;
mod programs_unseen;
mod prompts;
mod protected;
mod refusals;
mod refused;
mod replay;
mod replay_bundles;
mod replay_elsewhere;
mod replay_files;
mod replay_folders;
mod replay_home;
mod replay_in_ci;
mod replay_jobs;
mod replay_killed;
mod replay_named;
mod replay_random;
mod replay_sessions;
mod replay_undone;
mod requests;
mod resume;
mod session_folders;
mod sessions;
mod terminal;
mod tidy;
mod tiers;
mod tui;
mod tui_asks;
mod tui_commands;
mod tui_keys;
mod tui_outside;
mod tui_panic;
mod tui_queue;
mod two_sessions;
mod undo;
mod undo_at_once;
mod undo_folders;
mod undo_killed;
mod undo_protected;
mod undo_restore;
mod undo_room;
mod undo_sealed;
mod undo_subvolume;
mod undo_theirs;
mod walls;
mod walls_told;
mod writes_told;
