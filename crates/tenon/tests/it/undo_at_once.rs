//! Undo in one terminal while something else goes on in another: a job of the session, or an undo.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    program::{Place, Run, files_beneath},
    skipped::skipped,
    terminal::{Home, Terminal},
    undo::{bash, session_of},
};

fn read(place: &Place, name: &str) -> Option<String> {
    std::fs::read_to_string(place.path("work").join(name)).ok()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} does not come");
}

fn start(place: &Place, arguments: &[&str]) -> Child {
    let mut tenon = place.tenon(arguments);
    tenon.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    tenon.spawn().unwrap()
}

/// A session whose job made `n`, which a call moved to `m`; the job goes on with `m` once `go` is there, and ends
/// with `end`, and so does a last call. Returns it while all of it runs.
fn session_with_job(place: &Place) -> Child {
    let wait = |name: &str| format!("until [ -e {name} ]; do sleep 0.02; done");
    let job =
        format!("echo 1 > n; : > made; {}; echo 2 >> m; : > changed; {}", wait("go"), wait("end"));
    let script = place.script(json!([
        {"calls": [{"name": "bash", "arguments": {"command": job, "background": true}}]},
        bash(&format!("{}; mv n m", wait("made"))),
        bash(&format!(": > ready; {}", wait("end"))),
        {"calls": [{"name": "jobs", "arguments": {"action": "wait", "job": 1}}]},
        {"text": "Over."},
    ]));
    let session = start(place, &["--model", &script, "go"]);
    wait_until("the last call", || place.path("work/ready").exists());
    session
}

#[test]
fn while_a_job_runs_calls_that_are_over_are_undone_and_what_it_changes_is_named() {
    let place = Place::new();
    place.write("work/f", "f\n");
    let session = session_with_job(&place);
    let undone = place.run(&["undo"]).ends_with(0);
    assert!(undone.out.contains("Still running, and not undone: bash echo 1 > n"), "{undone:?}");
    assert_eq!((read(&place, "n").as_deref(), read(&place, "m")), (Some("1\n"), None));
    place.run(&["redo"]).ends_with(0);
    assert_eq!((read(&place, "n"), read(&place, "m").as_deref()), (None, Some("1\n")));
    let restored = place.run(&["restore", "last", "--to", "2"]).ends_with(0);
    assert!(
        restored.out.contains("Still running, and not undone: bash echo 1 > n"),
        "{restored:?}"
    );
    place.run(&["redo"]).ends_with(0);
    place.write("work/go", "");
    wait_until("the job's change", || place.path("work/changed").exists());
    let refused = place.run(&["undo"]).ends_with(1);
    assert!(refused.error.contains("  m (changed by step 1, which still runs)"), "{refused:?}");
    assert_eq!(read(&place, "m").as_deref(), Some("1\n2\n"));
    place.write("work/end", "");
    Run::of(session.wait_with_output().unwrap()).ends_with(0);
    // The call that only waited.
    place.run(&["undo"]).ends_with(0);
    let refused = place.run(&["undo"]).ends_with(1);
    assert!(refused.error.contains("  m (changed by step 1 since)"), "{refused:?}");
    place.run(&["undo", "2"]).ends_with(0);
    let mut left: Vec<_> = files_beneath(&place.path("work"));
    left.sort();
    assert_eq!(left, ["end", "f", "go"].map(|name| place.path("work").join(name)));
}

fn lock_of(place: &Place) -> PathBuf {
    let stores = std::fs::read_dir(place.path("home/.local/state/tenon/undo")).unwrap();
    let mut locks = stores.map(|store| store.unwrap().path().join("lock"));
    locks.find(|lock| lock.exists()).unwrap()
}

/// An undo that waits for a stopped process, and that process. Returns once the undo said so.
fn waiting_undo(place: &Place) -> (Child, Child) {
    let lock = lock_of(place);
    let mut holds = Command::new("flock");
    holds.arg("--no-fork").arg(&lock).args(["sleep", "infinity"]);
    let holder = holds.spawn().unwrap();
    let held = format!("WRITE {} ", holder.id());
    wait_until("the lock", || std::fs::read_to_string("/proc/locks").unwrap().contains(&held));
    signal(&holder, Signal::STOP);
    let mut undo = start(place, &["undo"]);
    says_that_it_waits(&mut undo, holder.id());
    (undo, holder)
}

fn says_that_it_waits(undo: &mut Child, holder: u32) {
    let mut said = String::new();
    BufReader::new(undo.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains(&format!("waiting for process {holder},")), "{said}");
    assert!(said.contains("Ctrl-C ends the waiting"), "{said}");
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn an_undo_says_for_which_stopped_process_it_waits_and_goes_on_after_it() {
    let place = Place::new();
    session_of(&place, &["echo 1 > f"]);
    let (undo, mut holder) = waiting_undo(&place);
    assert_eq!(read(&place, "f").as_deref(), Some("1\n"));
    holder.kill().unwrap();
    holder.wait().unwrap();
    Run::of(undo.wait_with_output().unwrap()).ends_with(0);
    assert_eq!(read(&place, "f"), None);
}

/// Whether programs that are started here get no Ctrl-C, as those of a shell's background jobs.
fn is_deaf_to_ctrl_c() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() >> (Signal::INT.as_raw() - 1) & 1 == 1
}

#[test]
fn ctrl_c_ends_an_undo_that_waits_for_a_stopped_process() {
    if is_deaf_to_ctrl_c() {
        return skipped("SIGINT is ignored by whatever runs the tests");
    }
    let place = Place::new();
    session_of(&place, &["echo 1 > f"]);
    let (mut undo, mut holder) = waiting_undo(&place);
    signal(&undo, Signal::INT);
    let ended = undo.wait().unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(ended.signal(), Some(Signal::INT.as_raw()));
    assert_eq!(read(&place, "f").as_deref(), Some("1\n"));
}

#[test]
fn of_two_undos_at_once_one_is_done_and_the_other_says_that_it_is() {
    let place = Place::new();
    session_of(&place, &["echo 1 > f", "echo 2 > f"]);
    let lock = std::fs::File::open(lock_of(&place)).unwrap();
    lock.lock().unwrap();
    let undos = [start(&place, &["undo"]), start(&place, &["undo"])].map(|mut undo| {
        says_that_it_waits(&mut undo, std::process::id());
        undo
    });
    lock.unlock().unwrap();
    let mut runs = undos.map(|undo| Run::of(undo.wait_with_output().unwrap()));
    runs.sort_by_key(|run| run.status);
    let [done, other] = runs;
    assert!(done.ends_with(0).out.contains("Undone:"));
    assert!(other.ends_with(1).error.contains("was undone already"));
    assert_eq!(read(&place, "f").as_deref(), Some("1\n"));
    place.run(&["redo"]).ends_with(0);
    assert_eq!(read(&place, "f").as_deref(), Some("2\n"));
    place.run(&["undo", "2"]).ends_with(0);
    assert_eq!(read(&place, "f"), None);
}

#[test]
fn what_another_sessions_call_changed_since_names_that_session() {
    let place = Place::new();
    let first = session_of(&place, &["echo 1 > f"]);
    let second = session_of(&place, &["echo 2 > f"]);
    let refused = place.run(&["undo", "--session", &first]).ends_with(1);
    let said = format!("  f (changed by session {second} since)");
    assert!(refused.error.contains(&said), "{refused:?}");
    place.write("work/f", "mine\n");
    let refused = place.run(&["undo", "--session", &first]).ends_with(1);
    assert!(refused.error.contains("  f (changed since)"), "{refused:?}");
}

#[test]
fn where_only_a_job_changed_something_undo_says_that_it_still_runs() {
    let place = Place::new();
    let job = "echo 1 > n; : > made; until [ -e end ]; do sleep 0.02; done";
    let script = place.script(json!([
        {"calls": [{"id": "c1", "name": "bash", "arguments": {"command": job, "background": true}}]},
        {"calls": [{"name": "jobs", "arguments": {"action": "wait", "job": 1}}]},
        {"text": "Over."},
    ]));
    let session = start(&place, &["--model", &script, "go"]);
    wait_until("the job's file", || place.path("work/made").exists());
    let hint = "still running: bash echo 1 > n; : > made";
    let over = "what it changes can be undone once it is over";
    for arguments in [&["undo"][..], &["undo", "2"]] {
        let refused = place.run(arguments).ends_with(1).says(&[hint, over]);
        assert!(refused.error.contains("there is nothing to undo yet in "), "{refused:?}");
    }
    let said =
        "nothing can be put back as it was before step 1 yet: what still runs changed made, n";
    place.run(&["restore", "last", "--to", "1"]).ends_with(1).says(&[said, hint, over]);
    let call = &["restore", "last", "--to", "c1"];
    place.run(call).ends_with(1).says(&["as it was before call c1 yet", hint, over]);
    let mut chinese = place.tenon(&["undo"]);
    let said = Run::of(chinese.env("LANG", "zh_CN.UTF-8").output().unwrap());
    said.ends_with(1).says(&["中尚无可以撤销的改动", "在它结束后可以撤销"]);
    place.write("work/end", "");
    Run::of(session.wait_with_output().unwrap()).ends_with(0);
    place.run(&["undo"]).ends_with(0);
    assert_eq!(read(&place, "n"), None);
}

#[test]
fn of_what_another_call_moved_a_conflict_says_where_it_is_also_while_that_runs() {
    let place = Place::new();
    place.write("work/b", "1\n");
    place.write("work/d/x", "1\n");
    let first = session_of(&place, &["for f in b d/x gone; do echo 2 >> $f; done"]);
    let moves = "mv b b2; mv d d2; rm gone; : > made; until [ -e end ]; do sleep 0.02; done";
    let script = place.script(json!([bash(moves), {"text": "Over."}]));
    let session = start(&place, &["--model", &script, "go"]);
    wait_until("what is moved", || place.path("work/made").exists());
    let undo = || place.run(&["undo", "--session", &first]).ends_with(1);
    let second = place.run(&["changes"]).out;
    let second = second.split([' ', '\n']).nth(1).unwrap();
    let runs = format!("by session {second}, which still runs");
    undo().says(&[&format!(
        "  b (moved to b2 {runs})\n  d/x (moved to d2/x {runs})\n  gone (deleted {runs})\n"
    )]);
    place.write("work/end", "");
    Run::of(session.wait_with_output().unwrap()).ends_with(0);
    let over = format!("by session {second} since");
    undo().says(&[&format!("  b (moved to b2 {over})\n  d/x (moved to d2/x {over})\n")]);
    let mut chinese = place.tenon(&["undo", "--session", &first]);
    let said = Run::of(chinese.env("LANG", "zh_CN.UTF-8").output().unwrap()).ends_with(1);
    said.says(&[&format!("  d/x (此后被会话 {second} 移至 d2/x)\n")]);
}

#[test]
fn no_hint_points_to_the_command_that_was_typed_and_no_title_stands_alone() {
    let place = Place::new();
    let nothing = place.run(&["changes"]).ends_with(1).says(&["no call changed anything in "]);
    assert!(!nothing.error.contains("tenon changes"), "{nothing:?}");
    let id = session_of(&place, &["echo 1 > f", "echo 2 > g"]);
    place.run(&["restore", "last", "--to", "2"]).ends_with(0);
    let again = place.run(&["restore", "last", "--to", "2"]).ends_with(1);
    assert!(again.error.contains("the files are as they were before step 2 already"), "{again:?}");
    place.write("work/g", "mine\n");
    let refused = place.run(&["redo"]).ends_with(1);
    let title = format!("In session {id}:\n  bash echo 2 > g: 1 new\n");
    assert_eq!(refused.out, title, "{refused:?}");
}

#[test]
fn hints_in_a_session_name_what_can_be_typed_there() {
    for flags in [&["--plain"][..], &[]] {
        let home = Home::new(json!([]));
        let mut terminal = Terminal::start(&home, flags, 120, &[]);
        let wait = |terminal: &mut Terminal| match flags {
            [] => terminal.wait_for("Enter sends", 1),
            _ => terminal.wait_for_prompt(),
        };
        let cases = [
            ("/undo", "`/changes` lists what calls changed; `/resume` lists the sessions"),
            ("/resume nope", "`/resume` lists the sessions"),
        ];
        for (typed, hint) in cases {
            wait(&mut terminal);
            terminal.press(&format!("{typed}\r"));
            terminal.wait_for(&format!("hint: {hint}"), 1);
        }
        wait(&mut terminal);
        terminal.press("\x04");
        assert_eq!(terminal.exit_code(), 0, "{}", terminal.screen());
    }
}
