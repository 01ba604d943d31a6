//! A limit of the walls that held a command is told with its number and with what lifts it.

use serde_json::{Value, json};

use crate::{program::Place, skipped::skipped};

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
        let calls = rows.iter().map(|(command, _)| {
            json!({ "calls": [{ "name": "bash", "arguments": { "command": command } }] })
        });
        let script = place.script(calls.chain([json!({ "text": "done" })]).collect());
        let output = ["--output-format", "stream-json", "--model", &script, "go"];
        let run = place.run(&[&["--sandbox", tier][..], &output].concat());
        if run.status == 3 {
            skipped(format!("this machine gives no tier {tier}"));
            continue;
        }
        let run = run.ends_with(0);
        let events = run.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let told: Vec<Value> = events.filter(|event| event["type"] == "tool_result").collect();
        assert_eq!(told.len(), rows.len(), "{told:?}");
        for ((command, expected), told) in rows.iter().zip(told) {
            let told = told["content"].as_str().unwrap();
            let walls: Vec<&str> =
                told.lines().filter(|line| line.starts_with("[walls]")).collect();
            match (expected, walls.as_slice()) {
                (Some(expected), [only]) => {
                    assert!(only.contains(expected), "{tier} {command}: {told}");
                }
                (expected, walls) => {
                    assert!(expected.is_none() && walls.is_empty(), "{tier} {command}: {told}");
                }
            }
        }
    }
}
