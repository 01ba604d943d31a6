//! A limit of the walls that held a command is told with its number and with what lifts it.

use crate::{
    program::{Place, check_only_wall},
    skipped::skipped,
};

#[test]
fn a_limit_that_held_a_command_is_told_with_its_number() {
    const ENDED: &str =
        "[walls] ended: a file became too large; --sandbox off would lift the limit of 16.0 GiB";
    const OF_FILE: &str =
        "[walls] limits: commands write no file larger than 16.0 GiB; --sandbox off would let them";
    const PRIVATE: &str = "[walls] limits: private folders (/tmp, /var/tmp, /run, /dev/shm, HOME) hold at most 4.0 GiB together";
    const PERHAPS: &str = "[walls] limits: if it was there: private folders (/tmp,";
    const SHARED: &str = "[walls] limits: /dev/shm holds at most 4.0 GiB; --sandbox off";
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
