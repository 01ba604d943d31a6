//! Nothing of a command outlives it, however it ends.
//!
//! A script writes the ids of the processes that try to stay into the file `pids`.

use std::path::Path;
use std::process::Command as Program;
use std::time::Duration;

use tenon_sandbox::{CommandError, Exit, Stream};
use tokio_util::sync::CancellationToken;

use crate::support::{command, run, runtime, shown, try_run};

const SHORT: Duration = Duration::from_secs(1);

/// Every way to stay behind that is known to work elsewhere. Each holds the output pipe.
const STAYING: &str = r#"
stay='echo $BASHPID >> pids; sleep 1000; sleep 1000'
bash -c "$stay" &
setsid bash -c "$stay" &
(setsid bash -c "($stay) & exit" &)
nohup bash -c "$stay" &
bash -c "trap '' TERM HUP INT; $stay" &
(trap '' TERM; exec setsid env -i bash -c "$stay") &
(bash -c "echo \$BASHPID >> pids; kill -STOP \$BASHPID; sleep 1000" &)
while [ "$(wc -l < pids 2>/dev/null || echo 0)" -lt 7 ]; do sleep 0.01; done
"#;

fn pids(folder: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(folder.join("pids")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// The process ended; one that nobody reaped yet counts as ended.
fn is_gone(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'),
        Err(_) => true,
    }
}

fn check_all_gone(folder: &Path, count: usize) {
    let pids = pids(folder);
    assert_eq!(pids.len(), count);
    let left: Vec<_> = pids.into_iter().filter(|pid| !is_gone(*pid)).collect();
    assert!(left.is_empty(), "still there: {left:?}");
}

#[test]
fn spec_21_timeout_ends_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let mut endless = command(folder.path(), &format!("echo begun\n{STAYING}\nsleep 1000"));
    endless.limits.timeout = SHORT;
    let output = run(endless);
    assert_eq!(output.exit, Exit::TimedOut { after: SHORT });
    assert!(shown(&output).1.starts_with("begun\n"));
    check_all_gone(folder.path(), 7);
}

#[test]
fn spec_21_a_command_may_clean_up_before_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.01; done";
    let mut endless = command(folder.path(), script);
    endless.limits.timeout = SHORT;
    let output = run(endless);
    let expected = (Exit::TimedOut { after: SHORT }, "cleaned\n".to_owned());
    assert_eq!((output.exit, shown(&output).1), expected);
}

#[test]
fn a_command_is_finished_when_its_shell_ends() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(command(folder.path(), &format!("{STAYING}\necho done; exit 5")));
    assert_eq!(output.exit, Exit::Code(5));
    assert!(shown(&output).1.ends_with("done\n"));
    check_all_gone(folder.path(), 7);
}

#[test]
fn cancelling_ends_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let endless = command(folder.path(), &format!("{STAYING}\necho ready\nsleep 1000"));
    let cancel = CancellationToken::new();
    let output = runtime().block_on(endless.run(&cancel, &mut |stream, text| {
        if stream == Stream::Out && text.contains("ready") {
            cancel.cancel();
        }
    }));
    assert_eq!(output.unwrap().exit, Exit::Cancelled);
    check_all_gone(folder.path(), 7);
}

#[test]
fn a_future_that_is_dropped_ends_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let endless = command(folder.path(), &format!("{STAYING}\necho ready\nsleep 1000"));
    runtime().block_on(async {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let cancel = CancellationToken::new();
        let mut on_output = |_: Stream, text: &str| {
            if text.contains("ready") {
                ready.send(()).unwrap();
            }
        };
        tokio::select! {
            _ = endless.run(&cancel, &mut on_output) => panic!("it never ends by itself"),
            () = async {
                while is_ready.try_recv().is_err() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            } => {}
        }
    });
    wait_until_gone(folder.path(), 7);
}

/// Waits for what goes on in the background, at most as long as anything here may take.
fn wait_until_gone(folder: &Path, count: usize) {
    for _ in 0..2000 {
        if pids(folder).len() == count && pids(folder).into_iter().all(is_gone) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    check_all_gone(folder, count);
}

/// A command that attacks the processes above it; `$watcher` is the outer, `$PPID` the inner.
fn check_attack(attack: &str, expected: Exit) {
    let folder = tempfile::tempdir().unwrap();
    let find = "watcher=$(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat)";
    let script = format!("{find}\n{STAYING}\n{attack}\nsleep 1000");
    let mut hostile = command(folder.path(), &script);
    hostile.limits.timeout = SHORT;
    assert_eq!(run(hostile).exit, expected, "{attack}");
    wait_until_gone(folder.path(), 7);
}

#[test]
fn killing_the_inner_helper_ends_the_command() {
    check_attack("kill -9 $PPID", Exit::Signal(9));
}

#[test]
fn killing_the_outer_helper_ends_the_command() {
    check_attack("kill -9 $watcher", Exit::Signal(9));
}

#[test]
fn terminating_the_helpers_ends_the_command() {
    check_attack("kill $PPID $watcher", Exit::Signal(9));
}

#[test]
fn a_stopped_helper_does_not_stop_the_time_limit() {
    check_attack("kill -STOP $PPID", Exit::TimedOut { after: SHORT });
}

#[test]
fn killing_both_helpers_ends_the_command_and_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let script = "watcher=$(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat)
        echo $$ >> pids
        (for i in $(seq 1000); do sleep 1000 & echo $! >> more; done) & echo $! >> pids
        kill -9 $watcher $PPID; sleep 1000";
    let output = run(command(folder.path(), script));
    assert_eq!(output.exit, Exit::Signal(9));
    wait_until_gone(folder.path(), 2);
    let session = pids(folder.path()).first().unwrap().to_string();
    for _ in 0..2000 {
        if session_members(&session).is_empty() {
            return;
        }
        // Killed processes take a moment to go.
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(session_members(&session), Vec::<String>::new());
}

fn session_members(session: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let is_member = |stat: &String| {
        let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_ascii_whitespace().collect();
        fields.first() != Some(&"Z") && fields.get(3) == Some(&session)
    };
    stats.filter(is_member).collect()
}

/// Runs one of the `agent_…` tests below in a process of its own, with `folder` to work in.
fn agent(program: &Path, role: &str, folder: &Path) -> Program {
    let mut agent = Program::new(program);
    agent.args(["--exact", &format!("processes::{role}"), "--nocapture", "--test-threads=1"]);
    agent.env("TENON_TEST_FOLDER", folder);
    agent
}

fn agent_folder() -> Option<std::path::PathBuf> {
    let folder = std::env::var_os("TENON_TEST_FOLDER").map(std::path::PathBuf::from);
    if folder.is_none() {
        println!("skipped: this is the other half of a test, which runs it");
    }
    folder
}

#[test]
fn agent_that_runs_an_endless_command() {
    let Some(folder) = agent_folder() else { return };
    run(command(&folder, &format!("{STAYING}\ntouch ready\nsleep 1000")));
}

#[test]
fn killing_the_agent_ends_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let role = "agent_that_runs_an_endless_command";
    let mut agent = agent(&program, role, folder.path()).spawn().unwrap();
    while !folder.path().join("ready").exists() {
        assert!(agent.try_wait().unwrap().is_none(), "the agent ended early");
        std::thread::sleep(Duration::from_millis(5));
    }
    agent.kill().unwrap();
    agent.wait().unwrap();
    wait_until_gone(folder.path(), 7);
}

#[test]
fn agent_whose_file_is_gone() {
    let Some(folder) = agent_folder() else { return };
    std::fs::remove_file(std::env::current_exe().unwrap()).unwrap();
    let output = run(command(&folder, "echo done > ran"));
    assert_eq!(output.exit, Exit::Code(0));
}

#[test]
fn commands_run_when_the_program_was_replaced_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    crate::program_copy::copy_program(&std::env::current_exe().unwrap(), &program);
    let status = agent(&program, "agent_whose_file_is_gone", folder.path()).status().unwrap();
    assert!(status.success());
    assert!(!program.exists());
    assert_eq!(std::fs::read_to_string(folder.path().join("ran")).unwrap(), "done\n");
}

#[test]
fn agent_that_reads_much_output() {
    let Some(folder) = agent_folder() else { return };
    let before = memory_kib("VmRSS");
    let script = "yes \"$(printf %0120d 0)\" | head -c 100000000";
    let mut loud = command(&folder, script);
    loud.limits.spill = Some(tenon_sandbox::SpillTarget::new(&folder.join("spill")));
    let output = run(loud);
    let more = memory_kib("VmHWM").saturating_sub(before);
    println!("100 MB of output took {more} KiB more memory");
    assert!(more < 20 * 1024, "{more} KiB");
    assert_eq!(output.bytes_total, 100_000_000);
    let spilled = std::fs::metadata(output.spilled_to.unwrap()).unwrap().len();
    assert_eq!(spilled, 100_000_000);
}

fn memory_kib(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn spec_22_much_output_neither_blocks_nor_grows_memory() {
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let role = "agent_that_reads_much_output";
    assert!(agent(&program, role, folder.path()).status().unwrap().success());
}

#[test]
fn an_environment_that_is_too_large_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut large = command(folder.path(), "true");
    large.environment.push(("LARGE".into(), "x".repeat(200_000).into()));
    let result = try_run(large);
    assert!(matches!(result, Err(CommandError::Shell { .. })), "{result:?}");
}

#[test]
fn agent_that_runs_many_commands() {
    let Some(folder) = agent_folder() else { return };
    for _ in 0..20 {
        run(command(&folder, "true"));
    }
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let children: String = tasks
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).unwrap())
        .collect();
    // The last ones may still be about to end.
    assert!(children.split_ascii_whitespace().count() < 10, "{children}");
}

#[test]
fn helpers_do_not_pile_up() {
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let status = agent(&program, "agent_that_runs_many_commands", folder.path()).status();
    assert!(status.unwrap().success());
}
