//! A limit of the walls that held a command is told with its number and with what lifts it.

use crate::{
    program::{Place, check_only_wall},
    skipped::skipped,
};

#[test]
fn a_limit_that_held_a_command_is_told_with_its_number() {
    const ENDED: &str = "[walls] ended: a file became too large; the limit of 16.0 GiB is raised by file_bytes_max in config.toml (the user's, or the project's that lowers it)";
    const OF_FILE: &str = "[walls] limits: commands write no file larger than 16.0 GiB, which file_bytes_max in config.toml raises (the user's, or the project's that lowers it)";
    const PRIVATE: &str = "[walls] limits: private folders (/tmp, /var/tmp, /run, /dev/shm, HOME) hold at most 4.0 GiB together, which temporary_bytes_max in config.toml raises (the user's, or the project's that lowers it)";
    const PERHAPS: &str = "[walls] limits: if it was there: private folders (/tmp,";
    const SHARED: &str = "[walls] limits: /dev/shm holds at most 4.0 GiB, which temporary_bytes_max in config.toml raises (the user's, or the project's that lowers it)";
    let python = "/usr/bin/python3 -c 'open(\"s\", \"w\").truncate(20 << 30)'";
    for tier in ["a", "b", "c"] {
        let place = Place::new();
        place.write("work/fill.sh", "fallocate -l 5G /dev/shm/x\n");
        let mut rows = vec![
            ("truncate -s 20G s", Some(ENDED)),
            ("truncate -s 20G s; ls", Some(OF_FILE)),
            (python, Some(OF_FILE)),
            ("echo x > /dev/full", None),
            ("ls none", None),
        ];
        rows.extend(match tier {
            "a" => vec![
                ("fallocate -l 5G /tmp/x", Some(PRIVATE)),
                ("fallocate -l 5G ~/x || rm ~/x", Some(PRIVATE)),
                ("fallocate -l 5G /dev/shm/x", Some(PRIVATE)),
                ("sh fill.sh", Some(PERHAPS)),
            ],
            "b" => vec![("fallocate -l 5G /dev/shm/x", Some(SHARED))],
            _ => Vec::new(),
        });
        let commands = rows.iter().map(|(command, _)| *command);
        let Some(told) = place.results_of(commands, &["--sandbox", tier], |it| it) else {
            skipped(format!("this machine gives no tier {tier}"));
            continue;
        };
        for ((command, expected), told) in rows.iter().zip(told) {
            check_only_wall(&format!("{tier} {command}"), &told, *expected);
        }
    }
}

/// Each command reaches the limit with the first config file and not with the second.
#[test]
fn what_is_told_to_raise_a_limit_raises_it() {
    // What the interpreter takes by itself is less. With the lower limit it waits until it is ended.
    let memory = "/usr/bin/python3 -c 'import signal, os; x = b\"x\" * (300 << 20); \
                  os.path.exists(\"low\") and signal.pause()'";
    let rows = [
        (
            "truncate -s 5M s",
            ("file_bytes_max = 4194304", "the limit of 4.0 MiB is raised by file_bytes_max"),
            "file_bytes_max = 6291456",
        ),
        (
            "head -c 5000000 /dev/zero > s || ls",
            ("file_bytes_max = 4194304", "no file larger than 4.0 MiB, which file_bytes_max"),
            "file_bytes_max = 6291456",
        ),
        (
            "truncate -s 17G s",
            ("", "the limit of 16.0 GiB is raised by file_bytes_max"),
            "file_bytes_max = 21474836480",
        ),
        (
            memory,
            ("memory_bytes_max = 209715200", "200.0 MiB is raised by memory_bytes_max"),
            "memory_bytes_max = 1073741824",
        ),
    ];
    // Tier C has no private folders in memory.
    let shared = |command| {
        let expected = "hold at most 4.0 MiB together, which temporary_bytes_max in config.toml";
        (command, ("temporary_bytes_max = 4194304", expected), "temporary_bytes_max = 6291456")
    };
    let of_a = ["fallocate -l 5M /tmp/x || ls", "fallocate -l 5M ~/x; rm -f ~/x"].map(shared);
    let of_b = [(
        "fallocate -l 5M /dev/shm/x || ls",
        (
            "temporary_bytes_max = 4194304",
            "/dev/shm holds at most 4.0 MiB, which temporary_bytes_max in config.toml raises",
        ),
        "temporary_bytes_max = 6291456",
    )];
    for tier in ["a", "b", "c"] {
        let of_tier: &[_] = match tier {
            "a" => &of_a,
            "b" => &of_b,
            _ => &[],
        };
        for (command, (low, told_low), high) in rows.iter().chain(of_tier).copied() {
            for (config, expected) in [(low, Some(told_low)), (high, None)] {
                let place = Place::new();
                place.config(config);
                if expected.is_some() {
                    place.write("work/low", "");
                }
                let flags = ["--sandbox", tier];
                match place.results_of([command].into_iter(), &flags, |it| it).as_deref() {
                    Some([told]) if told.contains("command not found") => {
                        skipped(format!("not installed: {command}"));
                    }
                    Some([told]) => check_only_wall(&format!("{tier} {command}"), told, expected),
                    _ => skipped(format!("this machine gives no tier {tier}")),
                }
            }
        }
    }
}
