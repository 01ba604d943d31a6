//! Commands in the background: what they can do, and that nothing of them is left.

use std::time::Duration;

use tenon_sandbox::{
    Attended, Exit, Expected, JOBS_RUNNING_MAX, JobId, JobReading, Jobs, Profile, SpillTarget,
    Stream,
};
use tokio_util::sync::CancellationToken;

use super::lifetime::{check_gone, mark, staying, wait_until_gone};
use super::{Place, as_ordinary_user, printed};
use crate::support::{TIMEOUT, runtime, text};

const SHORT: Duration = Duration::from_millis(500);

fn attend(place: &Place, script: &str) -> Attended {
    let mut command = place.command(script);
    command.limits.spill = Some(SpillTarget::new(&place.top.path().join("spill")));
    Attended::new(command, Some(place.sandbox.clone()), |_, _| {})
}

/// The same without walls.
fn attend_outside(place: &Place, script: &str) -> Attended {
    let mut command = place.command(script);
    command.profile = Profile::unconfined();
    Attended::new(command, None, |_, _| {})
}

fn said(reading: &JobReading) -> String {
    text(&reading.pieces, Stream::Out) + &text(&reading.pieces, Stream::Error)
}

fn exit(reading: &JobReading) -> Option<Exit> {
    reading.status.end.as_ref().map(|end| *end.exit.as_ref().unwrap())
}

/// Reads until a job said `wanted`.
pub(super) async fn read_until(jobs: &Jobs, id: JobId, wanted: &str) -> String {
    let mut all = String::new();
    while !all.contains(wanted) {
        let reading = jobs.read(id).await.unwrap();
        all += &said(&reading);
        assert!(reading.status.end.is_none() || all.contains(wanted), "{all}");
        jobs.wait(id, Duration::from_millis(5)).await;
    }
    all
}

#[test]
fn nothing_of_a_job_is_left_when_it_was_stopped() {
    let place = Place::new();
    let jobs = Jobs::default();
    for then in ["sleep 1000", "trap '' TERM HUP INT; while true; do sleep 1000; done"] {
        for attend in [attend, attend_outside] {
            let mark = mark();
            runtime().block_on(async {
                let job = attend(&place, &staying(&mark, &format!("echo ready; {then}")));
                let id = jobs.keep(job).unwrap();
                read_until(&jobs, id, "ready").await;
                jobs.stop(id).await;
                assert_eq!(exit(&jobs.read(id).await.unwrap()), Some(Exit::Cancelled));
            });
            check_gone(&mark);
        }
    }
}

#[test]
fn nothing_of_a_job_is_left_for_an_ordinary_user() {
    as_ordinary_user("jobs::nothing_of_a_job_is_left_when_it_was_stopped");
}

#[test]
fn nothing_of_a_job_is_left_when_its_shell_ends_its_time_is_up_or_the_session_goes() {
    let (place, jobs) = (Place::new(), Jobs::default());
    let (ended, timed_out, dropped) = (mark(), mark(), mark());
    runtime().block_on(async {
        let first = jobs.keep(attend(&place, &staying(&ended, "exit 3"))).unwrap();
        let mut command = place.command(&staying(&timed_out, "sleep 1000"));
        command.limits.timeout = SHORT;
        let second = Attended::new(command, Some(place.sandbox.clone()), |_, _| {});
        let second = jobs.keep(second).unwrap();
        jobs.wait(first, TIMEOUT).await;
        jobs.wait(second, TIMEOUT).await;
        check_gone(&ended);
        check_gone(&timed_out);
        let reading = jobs.read(first).await.unwrap();
        assert_eq!(exit(&reading), Some(Exit::Code(3)));
        // One was read; the other is news, once.
        let news: Vec<JobId> = jobs.news().iter().map(|status| status.id).collect();
        assert_eq!((news, jobs.news().len()), (vec![second], 0));
        let expected = Exit::TimedOut { after: SHORT };
        assert_eq!(exit(&jobs.read(second).await.unwrap()), Some(expected));
        let third =
            jobs.keep(attend(&place, &staying(&dropped, "echo ready; sleep 1000"))).unwrap();
        read_until(&jobs, third, "ready").await;
        drop(jobs);
    });
    wait_until_gone(&dropped);
}

#[test]
fn a_command_goes_on_as_a_job_and_loses_no_line() {
    let (place, jobs) = (Place::new(), Jobs::default());
    runtime().block_on(async {
        let mut attended = attend(&place, "echo one; sleep 0.6; echo two");
        let early = tokio::time::timeout(Duration::from_millis(300), attended.end()).await;
        assert!(early.is_err());
        let id = jobs.keep(attended).unwrap();
        jobs.wait(id, TIMEOUT).await;
        let reading = jobs.read(id).await.unwrap();
        assert_eq!((said(&reading).as_str(), exit(&reading)), ("one\ntwo\n", Some(Exit::Code(0))));
        let all = std::fs::read_to_string(reading.spilled_to.unwrap()).unwrap();
        assert_eq!(all, "one\ntwo\n");
    });
}

#[test]
fn a_command_reaches_the_server_of_a_job() {
    let (place, jobs) = (Place::new(), Jobs::default());
    let server = "exec python3 -c 'import socket
s = socket.create_server((\"127.0.0.1\", 18475)); print(\"up\", flush=True)
while True:
    c, _ = s.accept(); c.sendall(b\"hello from the job\"); c.close()'";
    let said = runtime().block_on(async {
        let id = jobs.keep(attend(&place, server)).unwrap();
        read_until(&jobs, id, "up").await;
        let client = place.command("exec 3<>/dev/tcp/127.0.0.1/18475 && cat <&3");
        let cancel = CancellationToken::new();
        let output = place.sandbox.run(client, &cancel, &mut |_, _| {}).await.unwrap();
        jobs.stop_all().await;
        printed(&output)
    });
    assert_eq!(said, "hello from the job");
}

#[test]
fn a_job_that_prints_without_end_is_bounded_and_holds_nothing_up() {
    let (place, jobs) = (Place::new(), Jobs::default());
    runtime().block_on(async {
        let mut command = place.command("exec yes 'a line that comes again and again'");
        let target = SpillTarget::new(&place.top.path().join("spill"));
        command.limits.spill = Some(target.with_bytes_max(100_000));
        let walls = Some(place.sandbox.clone());
        let id = jobs.keep(Attended::new(command, walls, |_, _| {})).unwrap();
        let cancel = CancellationToken::new();
        for _ in 0..5 {
            let beside = place.command("echo beside");
            let output = place.sandbox.run(beside, &cancel, &mut |_, _| {}).await.unwrap();
            assert_eq!(printed(&output), "beside\n");
        }
        let reading = jobs.read(id).await.unwrap();
        assert!(said(&reading).len() <= 40_000 && reading.left_out_bytes > 0);
        let file = std::fs::metadata(reading.spilled_to.unwrap()).unwrap();
        assert!(file.len() < 100_200, "{} bytes", file.len());
        jobs.stop(id).await;
    });
}

#[test]
fn only_so_many_jobs_run_and_the_ends_of_many_are_remembered() {
    let (place, jobs) = (Place::new(), Jobs::default());
    runtime().block_on(async {
        for _ in 0..40 {
            let id = jobs.keep(attend(&place, "true")).unwrap();
            jobs.wait(id, TIMEOUT).await;
        }
        assert!(jobs.list().len() <= 32 && jobs.read(JobId(1)).await.is_none());
        for _ in 0..JOBS_RUNNING_MAX {
            jobs.keep(attend(&place, "exec sleep 1000")).unwrap();
        }
        assert!(!jobs.has_room() && jobs.keep(attend(&place, "true")).is_none());
        assert_eq!(jobs.stop_all().await.len(), JOBS_RUNNING_MAX);
        assert!(jobs.running().is_empty());
    });
}

#[test]
fn what_a_job_does_to_protected_names_is_put_back_at_a_look_and_at_its_end() {
    let (place, jobs) = (Place::new(), Jobs::default());
    let there = |name: &str| place.root().join(name).exists();
    runtime().block_on(async {
        let script = "echo x > .envrc; while ! test -e go; do sleep 0.02; done
            mkdir .vscode; echo y > .vscode/tasks.json";
        let id = jobs.keep(attend(&place, script)).unwrap();
        while std::fs::read_to_string(place.root().join(".envrc")).unwrap_or_default() != "x\n" {
            jobs.wait(id, Duration::from_millis(5)).await;
        }
        let told = jobs.read(id).await.unwrap().protected;
        assert!(told[0].put_back && told[0].path.ends_with(".envrc"), "{told:?}");
        assert_eq!(told[0].found.as_deref(), Some(&b"x\n"[..]));
        assert!(!there(".envrc"));
        // What was written with leave meanwhile stays.
        let workspace = place.workspace.clone();
        let workspace = workspace.with_lifted(&place.root().join(".envrc"), Expected::Absent);
        workspace.write(".envrc", b"allowed", Expected::Absent).unwrap();
        place.sandbox.accept(&workspace.lifted_write().unwrap());
        std::fs::write(place.root().join("go"), "").unwrap();
        jobs.wait(id, TIMEOUT).await;
        let told = jobs.read(id).await.unwrap().protected;
        assert!(told.iter().any(|change| change.path.ends_with(".vscode/tasks.json")), "{told:?}");
        assert!(there(".envrc") && !there(".vscode/tasks.json"));
    });
}

#[test]
fn after_a_dropped_command_what_a_person_writes_stays_as_ever() {
    let place = Place::new();
    runtime().block_on(async {
        let mut dropped = attend(&place, "sleep 1000");
        assert!(tokio::time::timeout(SHORT, dropped.end()).await.is_err());
    });
    place.run("true");
    std::fs::write(place.root().join(".envrc"), "a person's").unwrap();
    place.run("true");
    assert!(place.root().join(".envrc").exists());
}

#[test]
fn after_a_command_that_is_dropped_or_cancelled_before_it_begins_what_a_person_writes_stays_as_ever()
 {
    let place = Place::new();
    let command = place.command("echo ran");
    runtime().block_on(async {
        let cancel = CancellationToken::new();
        let mut ignore = |_, _: &str| {};
        // Polled once: another thread makes the walls.
        let run = place.sandbox.run(command.clone(), &cancel, &mut ignore);
        assert!(tokio::time::timeout(Duration::ZERO, run).await.is_err());
        let other = Place::new();
        let run = other.sandbox.run(command, &cancel, &mut ignore);
        let (output, ()) = tokio::join!(run, async { cancel.cancel() });
        let output = output.unwrap();
        assert_eq!((output.exit, printed(&output)), (Exit::Cancelled, String::new()));
    });
    assert_eq!(place.run("echo ran").1, "ran\n");
    std::fs::write(place.root().join(".envrc"), "a person's").unwrap();
    place.run("true");
    assert!(place.root().join(".envrc").exists());
}
