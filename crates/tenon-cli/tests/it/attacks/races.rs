//! Somebody exchanges a folder for a link while tools work in it.
//!
//! From outside of the walls, because that is the stronger attacker: it is as fast as the machine
//! and nothing of it ends with a call.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags};
use serde_json::{Value, json};

use super::scene::Scene;
use super::session::{Program, Way};
use super::whole;

/// Exchanges in each race, in every run and in a whole one.
const SWAPS: usize = 4_000;
const SWAPS_WHOLE: usize = 100_000;

/// Calls in one session.
const CALLS: usize = 120;

/// One race: its name, the tool, and the arguments of a call with this number.
type Race = (&'static str, &'static str, fn(usize) -> Value);

pub(super) const ROWS: [Race; 6] = [
    ("race: read_file", "read_file", |n| json!({ "path": "race/swap/file", "n": n })),
    (
        "race: read_file by absolute path",
        "read_file",
        |n| json!({ "path": "@WORK@/race/swap/file", "n": n }),
    ),
    ("race: write_file", "write_file", |n| match n % 3 {
        0 => json!({ "path": format!("race/swap/new-{n}"), "content": "new" }),
        1 => json!({ "path": format!("race/swap/deep-{n}/file"), "content": "new" }),
        _ => json!({ "path": "race/swap/file", "content": format!("inside {n}\n") }),
    }),
    ("race: edit_file", "edit_file", |n| match n % 3 {
        0 => json!({ "path": format!("race/swap/new-{n}"), "old_text": "", "new_text": "new" }),
        // The text stands in the file outside as well.
        _ => {
            json!({ "path": "race/swap/file", "old_text": "SIDE", "new_text": format!("SIDE{n}") })
        }
    }),
    ("race: grep", "grep", |n| json!({ "pattern": "OUTSIDE", "path": "race", "limit": n + 1 })),
    ("race: glob", "glob", |n| json!({ "pattern": "**/outside-*", "path": "race/swap", "n": n })),
];

fn run_race(way: Way, (name, tool, arguments): Race) {
    let program = match Program::new(way) {
        Ok(program) => program,
        Err(reason) => return println!("skipped: {name}, {way:?}: {reason}"),
    };
    let wanted = if whole() { SWAPS_WHOLE } else { SWAPS };
    let (mut swaps, mut calls) = (0, 0);
    while swaps < wanted {
        let mut scene = Scene::new();
        let race = scene.work().join("race");
        std::fs::create_dir_all(race.join("swap")).unwrap();
        std::fs::write(race.join("swap/file"), "INSIDE\n").unwrap();
        let outside = scene.top().join("folder");
        std::fs::write(outside.join("outside-only"), scene.outside()).unwrap();
        std::os::unix::fs::symlink(&outside, race.join("link")).unwrap();
        let fill = |text: Value| {
            serde_json::from_str::<Value>(&scene.fill("", &text.to_string())).unwrap()
        };
        let mut turns: Vec<Value> = (0..CALLS)
            .map(|number| json!({ "calls": [{ "name": tool, "arguments": fill(arguments(number)) }] }))
            .collect();
        turns.push(json!({ "text": "done" }));
        let script = scene.desk().join("script.json");
        std::fs::write(&script, json!({ "turns": turns }).to_string()).unwrap();
        if way == Way::AsNobody {
            scene.give_to("65534:65534");
        }
        scene.note();
        let model = format!("scripted:{}", script.display());
        let mut command = program.command(&scene, &["--model", &model, "go"]);
        let file = |name| std::fs::File::create(scene.desk().join(name)).unwrap();
        command.stdout(file("stdout")).stderr(file("stderr"));
        let mut child = command.spawn().unwrap();
        swaps += while_swapping(&race.join("swap"), &race.join("link"), || {
            child.wait().unwrap();
        });
        calls += CALLS;
        let results = super::session::log_of(&scene);
        let shown = results.lines().any(|line| {
            line.contains("tool_result") && line.contains(scene.outside())
                || line.contains("tool_result") && line.contains("outside-only")
        });
        assert!(!shown, "{name}, {way:?}: a file of outside was shown");
        assert_eq!(scene.broken(), Vec::<String>::new(), "{name}, {way:?}");
    }
    println!("{name}, {way:?}: {swaps} swaps, {calls} calls");
}

/// Exchanges two names without pause while `work` runs, and returns how often.
fn while_swapping(one: &Path, other: &Path, work: impl FnOnce()) -> usize {
    let (is_over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // One of the names may be missing for a moment.
                if rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        work();
        is_over.store(true, Ordering::Relaxed);
    });
    swaps.load(Ordering::Relaxed)
}

#[test]
fn a_folder_exchanged_for_a_link_leads_nowhere() {
    for race in ROWS {
        run_race(Way::AsWeAre, race);
    }
}

#[test]
fn a_folder_exchanged_for_a_link_leads_nowhere_for_an_ordinary_user() {
    for race in ROWS {
        run_race(Way::AsNobody, race);
    }
}
