//! A session that is killed again and again, at random points, goes on each time, and is replayed.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::program::Place;

const KILLS: u64 = 200;
/// A whole run takes about as long here; later kills find it ended.
const RUN_MS: u64 = 120;
/// What a run adds to the log, about.
const RUN_BYTES: u64 = 6_000;

/// A generator of numbers that are the same in every run of the test (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn script(place: &Place, run: u64) -> String {
    let bash = |n: u32| json!({"name": "bash", "arguments": {"command": format!("echo {run}-{n} >> ran")}});
    let read = json!({"name": "read_file", "arguments": {"path": "seed.txt"}});
    let write = json!({"name": "write_file", "arguments": {"path": format!("{}.txt", run % 5), "content": format!("{run}\n")}});
    place.script(json!([
        {"text": "I look.", "calls": [read, {"name": "glob", "arguments": {"pattern": "*"}}]},
        {"text": "One.", "deltas": 3, "calls": [bash(1), bash(2)]},
        {"calls": [write, bash(3)]},
        {"text": "All done.", "deltas": 5},
    ]))
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        .map(str::to_owned)
        .collect()
}

/// Runs the program on the session and kills it at a random point.
fn run_and_kill(place: &Place, log: &Path, run: u64, random: &mut Random) {
    let model = script(place, run);
    let prompt = format!("prompt {run}");
    let arguments =
        ["-c", "--sandbox", "off", "--model", &model, "--output-format", "stream-json", &prompt];
    let mut command = place.tenon(&arguments);
    let shown = place.path("shown");
    command.stdout(File::create(&shown).unwrap()).stderr(Stdio::null());
    let before = lines(log);
    let length = std::fs::metadata(log).unwrap().len();
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    let (delay, bytes) = match random.below(2) {
        0 => (Duration::from_millis(random.below(RUN_MS)), u64::MAX),
        _ => (Duration::from_secs(20), length + random.below(RUN_BYTES)),
    };
    while started.elapsed() < delay
        && std::fs::metadata(log).unwrap().len() < bytes
        && child.try_wait().unwrap().is_none()
    {
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let after = lines(log);
    assert_eq!(after[..before.len()], before[..], "run {run}: what was kept is lost");
    // What was shown is in the log, in the same order.
    let mut kept = after[before.len()..].iter();
    for line in lines(&shown) {
        let shown: Value = serde_json::from_str(&line).unwrap();
        let is_kept = kept.any(|line| serde_json::from_str::<Value>(line).unwrap() == shown);
        assert!(is_kept, "run {run}: shown and not kept: {line}");
    }
}

#[test]
fn a_session_that_is_killed_at_200_random_points_goes_on_each_time() {
    let place = Place::new();
    place.write("work/seed.txt", "seed\n");
    place.run(&["--sandbox", "off", "--model", &script(&place, 0), "prompt 0"]).ends_with(0);
    let folder = place.path("home/.local/state/tenon/sessions");
    let log = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mut random = Random(0x7e_4e_07);
    for run in 1..=KILLS {
        run_and_kill(&place, &log, run, &mut random);
    }
    let last = script(&place, KILLS + 1);
    place.run(&["-c", "--sandbox", "off", "--model", &last, "the last prompt"]).ends_with(0);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "one session, one file");
    let events: Vec<Value> =
        lines(&log).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    check_conversation(&events);
    check_calls(&events, &lines(&place.path("work/ran")));
    let prompts = events.iter().filter(|event| event["type"] == "user_message").count();
    let cut = events.iter().filter(|event| is_interrupted(event)).count();
    // The points are spread over the run: some before the prompt, some in a call.
    assert!(prompts > 40 && cut > 10, "{prompts} prompts, {cut} calls cut short");
    // What it was killed in is no difference of the agent.
    let replay = place.run(&["replay", "last"]).ends_with(0);
    assert!(replay.out.ends_with("nothing differs from the recording\n"), "{replay:?}");
    assert!(!replay.error.contains("ends behind"), "{replay:?}");
}

fn is_interrupted(event: &Value) -> bool {
    let content = event["content"].as_str().unwrap_or_default();
    event["type"] == "tool_result" && content.starts_with("interrupted before it")
}

/// Every call of a reply has one result before anything else is said, and no id comes twice.
fn check_conversation(events: &[Value]) {
    let mut ids = HashSet::new();
    let mut open: HashSet<String> = HashSet::new();
    for event in events {
        match event["type"].as_str().unwrap() {
            "assistant_message" => {
                assert!(open.is_empty(), "unanswered: {open:?}");
                for block in event["message"]["content"].as_array().unwrap() {
                    if block["type"] == "tool_call" {
                        let id = block["id"].as_str().unwrap().to_owned();
                        assert!(ids.insert(id.clone()), "{id} comes twice");
                        open.insert(id);
                    }
                }
            }
            "tool_result" => {
                let id = event["call_id"].as_str().unwrap();
                assert!(open.remove(id), "{id} is answered twice or was never asked");
            }
            "user_message" => assert!(open.is_empty(), "unanswered: {open:?}"),
            _ => {}
        }
    }
    assert!(open.is_empty(), "unanswered: {open:?}");
}

/// What ran was logged before it ran, ran once, and a result that says so is true.
fn check_calls(events: &[Value], ran: &[String]) {
    let mut times: HashMap<&str, u32> = HashMap::new();
    ran.iter().for_each(|line| *times.entry(line).or_default() += 1);
    let mut started: HashMap<&str, &str> = HashMap::new();
    for event in events {
        if event["type"] == "call_started" && event["call"]["name"] == "bash" {
            let command = event["call"]["arguments"]["command"].as_str().unwrap();
            let line = command.strip_prefix("echo ").and_then(|rest| rest.strip_suffix(" >> ran"));
            assert!(started.insert(event["call"]["id"].as_str().unwrap(), line.unwrap()).is_none());
        }
        if event["type"] == "tool_result"
            && let Some(line) = started.get(event["call_id"].as_str().unwrap())
        {
            let count = times.get(line).copied().unwrap_or(0);
            let expected = if is_interrupted(event) { 0..=1 } else { 1..=1 };
            assert!(expected.contains(&count), "{line} ran {count} times: {event}");
        }
    }
    let known: HashSet<&str> = started.values().copied().collect();
    for (line, count) in times {
        assert!(known.contains(line) && count == 1, "{line} ran {count} times");
    }
}
