//! What of the files the model does not know: worked out from the log against the branch that is current,
//! since undo moves files and a rewind the conversation, each without the other, and jobs end with a run.
//!
//! Each prompt tells what is due, so that the model knows how everything was at the last prompt of its
//! branch, and what its calls did since.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tenon_model::visible;
use tenon_sandbox::without_middle;

use super::{
    fold::INTERRUPTED,
    read::{Session, is_elsewhere},
    recall::called,
};
use crate::{
    event::{CallEvent, SessionEvent, TurnEvent},
    policy::in_one_line,
    session_note::SessionNote,
};

/// How it begins where only the conversation went back.
pub(crate) const WENT_BACK: &str = "[undo] The user went back in the conversation, and what these calls changed since is there still: ";

const JOBS_ENDED: &str =
    "[jobs] These ended with the run that began them; what they had changed by then: ";

const READ_AGAIN: &str = ". Read again what you rely on.";

const ALONG: &str =
    "[undo] What the user had made or changed moved along with its folder, and is now: ";

const STALE: &str = "[undo] These caches were left out, and may be newer than the files that were put back with their old times: ";

const BUILD_ANEW: &str = ". A build or test that compares times takes what is in them for fresh: touch those files before you run one.";

/// More calls or paths of one sentence are counted: it must leave room for the conversation.
const NAMED_MAX: usize = 30;

/// The same for the characters that they have together; one is named in any case.
const NAMED_CHARS_MAX: usize = 3_000;

/// The most characters of a path, and of what a job changed.
const PATH_CHARS_MAX: usize = 100;
const SUMMARY_CHARS_MAX: usize = 200;

/// What calls left in the files, by checkpoint.
#[derive(Default)]
struct Files {
    /// What stayed as it was when a call was undone or redone last.
    kept: BTreeMap<u64, Vec<String>>,
    /// What somebody had made or changed, and that went along with a folder then.
    moved: BTreeMap<u64, Vec<String>>,
    /// Whether what it changed stands.
    stands: BTreeMap<u64, bool>,
    undos: HashMap<u64, Vec<u64>>,
}

/// A call that changed something.
struct Changed {
    line: u64,
    label: String,
    /// What was not saved, which no undo puts back.
    left_out: Vec<String>,
}

impl Session {
    /// Returns what the model is to be told with the next prompt, a sentence each; nothing if the files are
    /// as it knows them.
    pub(crate) fn undo_news(&self) -> Vec<String> {
        let branch = self.branch_until(u64::MAX);
        let is_prompt = |event: &SessionEvent| {
            matches!(event, SessionEvent::Turn(TurnEvent::UserMessage { at_step: false, .. }))
        };
        let told = branch.iter().rev().find(|(_, record)| is_prompt(&record.event));
        let told = told.map_or(0, |(line, _)| *line);
        let spoken_of: HashSet<u64> = branch.iter().map(|(line, _)| *line).collect();
        let (changed, before, now) = (self.changed(), self.files(told), self.files(u64::MAX));
        let (mut undone, mut redone, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let [mut kept, mut kept_again, mut moved] = std::array::from_fn(|_| BTreeSet::new());
        for (checkpoint, stands) in &now.stands {
            let call = changed.get(checkpoint);
            // A call that was cut short may not be in the log.
            let is_spoken_of = call.is_none_or(|call| spoken_of.contains(&call.line));
            let is_since = call.is_none_or(|call| call.line > told);
            let known = match before.stands.get(checkpoint) {
                Some(stood) if !is_since => *stood,
                _ => is_spoken_of,
            };
            let label = call.map_or("a call that was cut short", |call| call.label.as_str());
            match (known, stands) {
                (true, false) => {
                    undone.insert(0, label);
                    kept.extend(now.kept.get(checkpoint).into_iter().flatten());
                    moved.extend(now.moved.get(checkpoint).into_iter().flatten());
                    kept.extend(call.iter().flat_map(|call| &call.left_out));
                }
                (false, true) if is_spoken_of => {
                    redone.push(label);
                    kept_again.extend(now.kept.get(checkpoint).into_iter().flatten());
                    moved.extend(now.moved.get(checkpoint).into_iter().flatten());
                }
                (false, true) => left.push(label),
                _ => {}
            }
        }
        let (kept, kept_again) = (listed(&kept), listed(&kept_again));
        let news = [
            (
                undone,
                "[undo] The user undid what these calls changed, newest first: ".to_owned(),
                match kept.is_empty() {
                    true => {
                        ". The files are as before them; read again what you rely on.".to_owned()
                    }
                    false => format!(
                        ". The files are as before them, but for what stayed as it was: {kept}; read again what you rely on."
                    ),
                },
            ),
            (
                redone,
                match kept_again.is_empty() {
                    true => "[undo] What these calls changed was undone, and is there again: "
                        .to_owned(),
                    false => format!(
                        "[undo] What these calls changed was undone, and is there again, but for what stayed as it was ({kept_again}): "
                    ),
                },
                READ_AGAIN.to_owned(),
            ),
            (left, WENT_BACK.to_owned(), READ_AGAIN.to_owned()),
        ];
        let due = news.into_iter().filter(|(calls, ..)| !calls.is_empty());
        let due = due.map(|(calls, said, then)| format!("{said}{}{then}", named(&calls)));
        let along = || format!("{ALONG}{}{READ_AGAIN}", listed(&moved));
        let along = (!moved.is_empty()).then(along);
        self.job_news().into_iter().chain(due).chain(along).chain(self.stale_news(told)).collect()
    }

    /// Returns what the model is told of jobs whose end no result and no prompt of its branch tells: they
    /// ended with their session, in whatever way.
    fn job_news(&self) -> Option<String> {
        let changed = self.changed();
        let (mut running, mut untold) = (HashSet::new(), Vec::new());
        for (_, record) in self.branch_until(u64::MAX) {
            match &record.event {
                SessionEvent::Call(CallEvent::CallStarted { call, .. }) => {
                    running.insert(call.id.as_str());
                }
                SessionEvent::Call(CallEvent::ToolResult { call_id, content, .. }) => {
                    running.remove(call_id.as_str());
                    // One that is made up after a kill tells nothing of them.
                    if !content.starts_with(INTERRUPTED) {
                        untold.clear();
                    }
                }
                SessionEvent::Turn(TurnEvent::UserMessage { .. }) => untold.clear(),
                // That of a call itself comes before its result.
                SessionEvent::Call(CallEvent::CallChanged(changes))
                    if !running.contains(changes.call_id.as_str()) =>
                {
                    untold.push(changes);
                }
                _ => {}
            }
        }
        let told = untold.iter().filter(|changes| !changes.summary.is_empty()).map(|changes| {
            let call = changes.checkpoint.and_then(|checkpoint| changed.get(&checkpoint));
            let label = call.map_or(changes.call_id.as_str(), |call| call.label.as_str());
            let summary = visible(&changes.summary);
            format!("{label} ({})", without_middle(&summary, SUMMARY_CHARS_MAX))
        });
        let told: Vec<String> = told.collect();
        let named = named(&told.iter().map(String::as_str).collect::<Vec<_>>());
        (!told.is_empty()).then(|| format!("{JOBS_ENDED}{named}{READ_AGAIN}"))
    }

    /// Returns what the model is told of caches that undos since line `told` left out.
    fn stale_news(&self, told: u64) -> Option<String> {
        let since = self.lines.iter().zip(&self.records).filter(|(line, _)| **line > told);
        let stale = since.flat_map(|(_, record)| match &record.event {
            SessionEvent::Session(SessionNote::FilesUndone { stale, .. }) => stale.as_slice(),
            _ => &[],
        });
        let stale: BTreeSet<&String> = stale.collect();
        let named = listed(&stale);
        (!stale.is_empty()).then(|| format!("{STALE}{named}{BUILD_ANEW}"))
    }

    /// Returns the calls that changed something, by checkpoint: in the folder that the session is in.
    fn changed(&self) -> HashMap<u64, Changed> {
        let mut labels: HashMap<&str, String> = HashMap::new();
        let (mut changed, mut folder) = (HashMap::new(), None);
        for (line, record) in self.lines.iter().zip(&self.records) {
            if is_elsewhere(&record.event, &mut folder) {
                changed.clear();
            }
            match &record.event {
                SessionEvent::Call(CallEvent::CallStarted { call, subject }) => {
                    let label = called(&call.name, subject);
                    labels.insert(&call.id, visible(&label).into_owned());
                }
                SessionEvent::Call(CallEvent::CallChanged(changes)) => {
                    let label = labels.get(changes.call_id.as_str());
                    let label = label.unwrap_or(&changes.call_id).clone();
                    let left_out = changes.left_out.iter().map(|left_out| left_out.path.clone());
                    let call = Changed { line: *line, label, left_out: left_out.collect() };
                    changes.checkpoint.map(|checkpoint| changed.entry(checkpoint).or_insert(call));
                }
                _ => {}
            }
        }
        changed
    }

    /// Returns what calls had left in the files when line `last` was written.
    fn files(&self, last: u64) -> Files {
        let (mut files, mut folder) = (Files::default(), None);
        let lines = self.lines.iter().zip(&self.records);
        for (_, record) in lines.take_while(|(line, _)| **line <= last) {
            if is_elsewhere(&record.event, &mut folder) {
                files = Files::default();
            }
            match &record.event {
                SessionEvent::Call(CallEvent::CallChanged(changes)) => {
                    if let Some(checkpoint) = changes.checkpoint {
                        files.stands.entry(checkpoint).or_insert(true);
                    }
                }
                SessionEvent::Session(SessionNote::FilesUndone { by, of, kept, moved, .. }) => {
                    files.set(of, false, (kept, moved));
                    files.undos.insert(*by, of.clone());
                }
                _ => {}
            }
        }
        files
    }
}

impl Files {
    /// Sets whether what calls did stands, and the opposite for what undos did: the newest first.
    fn set(&mut self, checkpoints: &[u64], stands: bool, (kept, moved): (&[String], &[String])) {
        let mut newest_first = checkpoints.to_vec();
        newest_first.sort_unstable_by(|one, other| other.cmp(one));
        for checkpoint in newest_first {
            match self.undos.get(&checkpoint).cloned() {
                // An undo has only older ones, so this ends.
                Some(of) if of.iter().all(|older| *older < checkpoint) => {
                    self.set(&of, !stands, (kept, moved))
                }
                Some(_) => {}
                None => {
                    self.stands.insert(checkpoint, stands);
                    self.kept.insert(checkpoint, kept.to_vec());
                    self.moved.insert(checkpoint, moved.to_vec());
                }
            }
        }
    }
}

/// Names paths, long ones without their middle.
fn listed(paths: &BTreeSet<&String>) -> String {
    let shown = |path: &&String| without_middle(&in_one_line(path), PATH_CHARS_MAX).into_owned();
    let paths: Vec<String> = paths.iter().map(shown).collect();
    named(&paths.iter().map(String::as_str).collect::<Vec<_>>())
}

fn named(all: &[&str]) -> String {
    let (mut shown, mut chars) = (Vec::new(), 0);
    for name in all.iter().take(NAMED_MAX) {
        chars += name.chars().count();
        if chars > NAMED_CHARS_MAX && !shown.is_empty() {
            break;
        }
        shown.push(*name);
    }
    let (more, shown) = (all.len() - shown.len(), shown.join("; "));
    if more > 0 { format!("{shown}; and {more} more") } else { shown }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::event::Record;

    /// Builds a session of prompts (`p`), calls (`3` is the one with checkpoint 3), undos (`5-3,2` undoes
    /// these as checkpoint 5) and rewinds (`<1`), and returns which calls the model is told of.
    fn told(script: &str) -> String {
        let mut session = Session::default();
        for word in script.split_whitespace() {
            let events: Vec<Value> = if word == "p" {
                vec![
                    json!({"type": "user_message", "prompt": "", "message": {"role": "user", "content": []}}),
                ]
            } else if let Some(turns) = word.strip_prefix('<') {
                let rewound = session.rewind(turns.parse().unwrap()).unwrap();
                vec![serde_json::to_value(rewound).unwrap()]
            } else if let Some((by, of)) = word.split_once('-') {
                let of: Vec<u64> = of.split(',').map(|id| id.parse().unwrap()).collect();
                vec![json!({"type": "files_undone", "by": by.parse::<u64>().unwrap(), "of": of})]
            } else {
                let (is_job, checkpoint) = match word.strip_prefix('j') {
                    Some(number) => (true, number),
                    None => (false, word),
                };
                let call = json!({"id": word, "name": word, "arguments": {}});
                let checkpoint: u64 = checkpoint.parse().unwrap();
                let result = json!({"type": "tool_result", "call_id": word, "content": "job 1 runs",
                    "is_error": false, "view": {"shape": "text", "text": "", "lines": 1}, "duration_ms": 1});
                let mut events = vec![
                    json!({"type": "call_started", "call": call, "subject": ""}),
                    result,
                    json!({"type": "call_changed", "call_id": word, "checkpoint": checkpoint,
                        "summary": "1 new", "files": []}),
                ];
                if !is_job {
                    events.swap(1, 2);
                }
                events
            };
            for mut event in events {
                event["time_ms"] = json!(1);
                let record: Record = serde_json::from_value(event).unwrap();
                session.lines.push(session.lines.len() as u64 + 1);
                session.records.push(record);
            }
        }
        let said = |news: &String| {
            let kind = match news {
                news if news.contains("ended with the run") => "ended",
                news if news.contains("undid") => "undone",
                news if news.contains("there again") => "redone",
                _ => "left",
            };
            let (_, calls) = news.split_once(": ").unwrap();
            format!("{kind} {}", calls.split('.').next().unwrap())
        };
        session.undo_news().iter().map(said).collect::<Vec<_>>().join(", ")
    }

    /// A command is as long as its model pleases, and what is said of it must leave room for the conversation.
    #[test]
    fn a_call_is_named_by_the_beginning_of_its_command() {
        let call = json!({"id": "1", "name": "bash", "arguments": {}});
        let mut session = Session::default();
        for mut event in [
            json!({"type": "call_started", "call": call, "subject": "字\n".repeat(100_000)}),
            json!({"type": "call_changed", "call_id": "1", "checkpoint": 1, "summary": "1 new", "files": []}),
            json!({"type": "user_message", "prompt": "", "message": {"role": "user", "content": []}}),
            json!({"type": "files_undone", "by": 2, "of": [1]}),
        ] {
            event["time_ms"] = json!(1);
            session.lines.push(session.lines.len() as u64 + 1);
            session.records.push(serde_json::from_value(event).unwrap());
        }
        let news = session.undo_news();
        assert!(news.len() == 1 && news[0].chars().count() < 400, "{news:?}");
        assert!(news[0].contains(&format!("bash {}…", "字␊".repeat(50))), "{news:?}");
    }

    #[test]
    fn the_model_is_told_what_differs_from_what_its_branch_knows() {
        let cases = [
            ("p 1 2", ""),
            ("p 1 2 3-2", "undone 2"),
            ("p 1 2 3-2,1", "undone 2; 1"),
            ("p 1 2-1 3-2", ""),
            ("p 1 2-1 p", ""),
            ("p 1 2-1 p 3-2", "redone 1"),
            // Undone, redone, undone again by a rewind of files and conversation.
            ("p 1 2-1 3-2 4-1 <1", ""),
            ("p 1 p 2 3-2 4-1 5-4 <1", ""),
            // The conversation alone goes back.
            ("p 1 p 2 <1", "left 2"),
            ("p 1 p 2 <1 p", ""),
            ("p 1 p 2 <1 p 3-2", "undone 2"),
            // The prompt that told it is left.
            ("p 1 2-1 p <1", "undone 1"),
            ("p 1 2-1 p 3-2 <1", ""),
            // An undo and a redo in one.
            ("p 1 2 3-1 p 2 4-3,2", "undone 2, redone 1"),
            // Of a call that the log does not have.
            ("p 2-1", "undone a call that was cut short"),
            // Jobs that ended with the session.
            ("p j1", "ended j1 (1 new)"),
            ("p 1 j2 j3", "ended j3 (1 new)"),
            ("p j1 p", ""),
            ("p j1 2", ""),
            ("p j1 2-1", "ended j1 (1 new), undone j1"),
            ("p 1 p j2 <1", "left j2"),
        ];
        for (script, expected) in cases {
            assert_eq!(told(script), expected, "{script}");
        }
    }

    #[test]
    fn what_stayed_as_it_was_is_named() {
        let check = |paths: &[&str], expected: &str| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(listed(&paths.iter().collect()), expected);
        };
        check(&[], "");
        check(&["b", "a", "b"], "a; b");
        check(&["a\nb"], "a␊b");
    }

    #[test]
    fn paths_are_named_without_their_middle_and_no_sentence_is_long() {
        let path = |number: usize| format!("{number}/{}/z", "字".repeat(1_000));
        let paths: Vec<String> = (0..100).map(path).collect();
        let said = listed(&paths.iter().collect());
        let first = format!("0/{}…{}/z; ", "字".repeat(47), "字".repeat(48));
        assert!(said.starts_with(&first) && said.ends_with("; and 70 more"), "{said}");
        assert!(said.chars().count() < 3_200, "{said}");
        let long = ["x".repeat(2_000), "y".repeat(2_000), "z".repeat(10)];
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        assert_eq!(named(&long), format!("{}; and 2 more", long[0]));
    }

    #[test]
    fn of_many_calls_the_first_are_named() {
        let calls: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        assert!(named(&calls).ends_with("; 29; and 10 more"), "{}", named(&calls));
    }
}
