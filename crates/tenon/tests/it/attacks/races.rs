//! Somebody exchanges a folder for a link while tools work in it.
//!
//! From outside of the walls, because that is the stronger attacker: it is as fast as the machine
//! and nothing of it ends with a call.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags};
use serde_json::{Value, json};

use super::scene::Scene;
use super::session::{Program, Way};
use super::whole;
use crate::skipped::skipped;

/// Exchanges in each race, in every run and in a whole one.
const SWAPS: usize = 4_000;
const SWAPS_WHOLE: usize = 100_000;

/// Calls in one session.
const CALLS: usize = 120;

/// One race.
#[derive(Clone, Copy)]
pub(super) struct Race {
    pub(super) name: &'static str,
    place: Place,
    tool: &'static str,
    /// Of a call with this number.
    arguments: fn(usize) -> Value,
}

/// Where the folder is, and where the link leads that it is exchanged for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the workspace; out of it.
    Workspace,
    /// Out of the workspace, with leave by a rule; to where there is no leave.
    Granted,
    /// In the workspace; to a protected folder of it.
    Protected,
}

const fn race(
    name: &'static str,
    place: Place,
    tool: &'static str,
    arguments: fn(usize) -> Value,
) -> Race {
    Race { name, place, tool, arguments }
}

pub(super) const ROWS: [Race; 11] = [
    race(
        "race: read_file",
        Place::Workspace,
        "read_file",
        |n| json!({ "path": "race/swap/file", "n": n }),
    ),
    race(
        "race: read_file by absolute path",
        Place::Workspace,
        "read_file",
        |n| json!({ "path": "@WORK@/race/swap/file", "n": n }),
    ),
    race("race: write_file", Place::Workspace, "write_file", written),
    race("race: edit_file", Place::Workspace, "edit_file", edited),
    race(
        "race: grep",
        Place::Workspace,
        "grep",
        |n| json!({ "pattern": "OUTSIDE", "path": "race", "limit": n + 1 }),
    ),
    race(
        "race: glob",
        Place::Workspace,
        "glob",
        |n| json!({ "pattern": "**/outside-*", "path": "race/swap", "n": n }),
    ),
    race(
        "race: read_file where a rule gives leave",
        Place::Granted,
        "read_file",
        |n| json!({ "path": "@DESK@/race/swap/file", "n": n }),
    ),
    race("race: write_file where a rule gives leave", Place::Granted, "write_file", |n| {
        in_granted(written(n))
    }),
    race(
        "race: grep where a rule gives leave",
        Place::Granted,
        "grep",
        |n| json!({ "pattern": "OUTSIDE", "path": "@DESK@/race", "limit": n + 1 }),
    ),
    race("race: write_file beside protected names", Place::Protected, "write_file", written),
    race("race: edit_file beside protected names", Place::Protected, "edit_file", edited),
];

fn written(n: usize) -> Value {
    match n % 3 {
        0 => json!({ "path": format!("race/swap/new-{n}"), "content": "new" }),
        1 => json!({ "path": format!("race/swap/deep-{n}/file"), "content": "new" }),
        _ => json!({ "path": "race/swap/file", "content": format!("inside {n}\n") }),
    }
}

fn edited(n: usize) -> Value {
    match n % 3 {
        0 => json!({ "path": format!("race/swap/new-{n}"), "old_text": "", "new_text": "new" }),
        // The text stands in the other file as well.
        _ => {
            json!({ "path": "race/swap/file", "old_text": "SIDE", "new_text": format!("SIDE{n}") })
        }
    }
}

fn in_granted(arguments: Value) -> Value {
    serde_json::from_str(&arguments.to_string().replace("race/swap", "@DESK@/race/swap")).unwrap()
}

impl Place {
    /// The folder with the two names that are exchanged.
    fn folder(self, scene: &Scene) -> PathBuf {
        match self {
            Self::Workspace | Self::Protected => scene.work().join("race"),
            Self::Granted => scene.desk().canonicalize().unwrap().join("race"),
        }
    }

    /// Where the link leads.
    fn elsewhere(self, scene: &Scene) -> PathBuf {
        match self {
            Self::Workspace | Self::Granted => scene.top().join("folder"),
            Self::Protected => scene.work().join(".git/hooks"),
        }
    }

    fn flags(self, scene: &Scene) -> Vec<String> {
        if self != Self::Granted {
            return Vec::new();
        }
        let folder = self.folder(scene);
        let rule = |kind| ["--allow".to_owned(), format!("{kind}({}/**)", folder.display())];
        [rule("read"), rule("write")].concat()
    }

    /// Makes what is exchanged, and what must not be touched.
    fn make(self, scene: &Scene) {
        let (race, elsewhere) = (self.folder(scene), self.elsewhere(scene));
        std::fs::create_dir_all(race.join("swap")).unwrap();
        std::fs::write(race.join("swap/file"), "INSIDE\n").unwrap();
        std::fs::create_dir_all(&elsewhere).unwrap();
        std::fs::write(elsewhere.join("file"), format!("{}\n", scene.outside())).unwrap();
        std::fs::write(elsewhere.join("outside-only"), scene.outside()).unwrap();
        std::os::unix::fs::symlink(&elsewhere, race.join("link")).unwrap();
    }

    /// What is not as it was made, and not in sight of the scene.
    fn broken(self, scene: &Scene) -> Vec<String> {
        if self != Self::Protected {
            return Vec::new();
        }
        let folder = self.elsewhere(scene);
        let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        let text = std::fs::read_to_string(folder.join("file")).unwrap();
        let holds = names == ["file", "outside-only"] && text.trim_end() == scene.outside();
        if holds { Vec::new() } else { vec![format!("{names:?}, {text:?}")] }
    }
}

fn run_races(way: Way) {
    let program = match Program::new(way) {
        Ok(program) => program,
        Err(reason) => return skipped(format_args!("races, {way:?}: {reason}")),
    };
    let tier = program.tier();
    assert!(tier.starts_with(way.tier()), "{way:?} has other walls: {tier}");
    for race in ROWS {
        run_race(&program, race);
    }
}

fn run_race(program: &Program, Race { name, place, tool, arguments }: Race) {
    let way = program.way;
    let wanted = if whole() { SWAPS_WHOLE } else { SWAPS };
    let (mut swaps, mut calls, mut served) = (0, 0, 0);
    while swaps < wanted {
        let mut scene = Scene::new();
        place.make(&scene);
        let desk = scene.desk().canonicalize().unwrap().display().to_string();
        let fill = |text: Value| {
            let text = scene.fill("", &text.to_string()).replace("@DESK@", &desk);
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let mut turns: Vec<Value> = (0..CALLS)
            .map(|number| json!({ "calls": [{ "name": tool, "arguments": fill(arguments(number)) }] }))
            .collect();
        turns.push(json!({ "text": "done" }));
        let script = scene.desk().join("script.json");
        std::fs::write(&script, json!({ "turns": turns }).to_string()).unwrap();
        if way.is_nobody() {
            scene.give_to("65534:65534");
        }
        scene.note();
        let model = format!("scripted:{}", script.display());
        let mut flags = vec!["--model".to_owned(), model];
        flags.extend(place.flags(&scene));
        flags.push("go".to_owned());
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = program.command(&scene, &flags);
        let file = |name| std::fs::File::create(scene.desk().join(name)).unwrap();
        command.stdout(file("stdout")).stderr(file("stderr"));
        let mut child = command.spawn().unwrap();
        let race = place.folder(&scene);
        swaps += while_swapping(&race.join("swap"), &race.join("link"), || {
            child.wait().unwrap();
        });
        calls += CALLS;
        let results = super::session::log_of(&scene);
        let is_elsewhere =
            |line: &str| line.contains(scene.outside()) || line.contains("outside-only");
        let mut shown = results.lines().filter(|line| line.contains("tool_result"));
        served += results
            .lines()
            .filter(|line| line.contains("tool_result") && line.contains("INSIDE"))
            .count();
        // What is protected may be read.
        let is_hidden = place != Place::Protected;
        assert!(!is_hidden || !shown.any(is_elsewhere), "{name}, {way:?}: outside was shown");
        assert_eq!(scene.broken(), Vec::<String>::new(), "{name}, {way:?}");
        assert_eq!(place.broken(&scene), Vec::<String>::new(), "{name}, {way:?}");
    }
    // What was refused each time races with nothing.
    assert!(tool != "read_file" || served > 0, "{name}, {way:?}: nothing was read");
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
    run_races(Way::AsWeAre);
}

#[test]
fn a_folder_exchanged_for_a_link_leads_nowhere_for_an_ordinary_user() {
    run_races(Way::AsNobody);
}

#[test]
fn a_folder_exchanged_for_a_link_leads_nowhere_without_namespaces() {
    run_races(Way::WithoutNamespaces);
}

#[test]
fn a_folder_exchanged_for_a_link_leads_nowhere_for_an_ordinary_user_without_namespaces() {
    run_races(Way::AsNobodyWithoutNamespaces);
}
