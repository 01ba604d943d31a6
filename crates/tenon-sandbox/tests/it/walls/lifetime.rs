//! Nothing of a command outlives it, and it takes no more than its share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenon_sandbox::{CommandError, Exit, LimitReached, Limits};
use tokio_util::sync::CancellationToken;

use super::{Place, as_ordinary_user, printed};
use crate::skipped::skipped;
use crate::support::runtime;

const SHORT: Duration = Duration::from_secs(1);

/// Every way to stay behind that is known to work elsewhere. Each has its number as an argument.
const STAYING: &str = r#"
stay="sleep $mark"
$stay &
setsid $stay &
(setsid bash -c "($stay; true) & exit" &)
nohup $stay &
bash -c "trap '' TERM HUP INT; $stay; true" &
(trap '' TERM; exec setsid env -i $stay) &
(bash -c "kill -STOP \$BASHPID; $stay; true" &)
sleep 0.05
"#;

/// A number that only this test's processes have in their command line.
pub(super) fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", 100_000 + std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Command lines of processes that have the mark.
pub(super) fn left(mark: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(mark)).collect()
}

pub(super) fn check_gone(mark: &str) {
    assert_eq!(left(mark), Vec::<String>::new());
}

/// Waits for what ends in the background, at most as long as anything here may take.
pub(super) fn wait_until_gone(mark: &str) {
    for _ in 0..2000 {
        if left(mark).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    check_gone(mark);
}

pub(super) fn staying(mark: &str, then: &str) -> String {
    format!("mark={mark}\n{STAYING}\n{then}")
}

#[test]
fn everything_has_ended_when_a_command_returns() {
    let place = Place::new();
    for then in ["echo done", "exit 3", "kill -9 $$", "exec true"] {
        let mark = mark();
        place.run(&staying(&mark, then));
        check_gone(&mark);
    }
}

#[test]
fn everything_has_ended_for_an_ordinary_user() {
    as_ordinary_user("lifetime::everything_has_ended_when_a_command_returns");
}

#[test]
fn a_time_limit_ends_everything() {
    let (place, mark) = (Place::new(), mark());
    let mut endless =
        place.command(&staying(&mark, "trap 'echo asked' TERM; sleep 1000; sleep 1000"));
    endless.limits.timeout = SHORT;
    let output = place.try_command(endless).unwrap();
    assert_eq!(output.exit, Exit::TimedOut { after: SHORT });
    assert!(printed(&output).contains("asked"), "{output:?}");
    check_gone(&mark);
}

#[test]
fn cancelling_and_dropping_end_everything() {
    let (place, mark) = (Place::new(), mark());
    let command = place.command(&staying(&mark, "echo ready; sleep 1000"));
    let cancel = CancellationToken::new();
    let output = runtime().block_on(place.sandbox.run(command.clone(), &cancel, &mut |_, text| {
        if text.contains("ready") {
            cancel.cancel();
        }
    }));
    assert_eq!(output.unwrap().exit, Exit::Cancelled);
    check_gone(&mark);
    runtime().block_on(async {
        let never = CancellationToken::new();
        let mut ignore = |_, _: &str| {};
        let run = place.sandbox.run(command, &never, &mut ignore);
        assert!(tokio::time::timeout(SHORT, run).await.is_err());
    });
    wait_until_gone(&mark);
    // The session goes on.
    assert_eq!(place.run("echo again").1, "again\n");
}

#[test]
fn a_session_that_is_dropped_leaves_no_helper() {
    let place = Place::new();
    place.run("true");
    let helpers = || {
        let names = std::fs::read_dir("/proc").unwrap().flatten();
        let me = std::process::id().to_string();
        names
            .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
            .filter(|stat| stat.contains("(tenon-walls) ") && !stat.contains(") Z "))
            .filter(|stat| stat.rsplit(") ").next().unwrap().split(' ').nth(1) == Some(&me))
            .count()
    };
    assert!(helpers() >= 1);
    let before = helpers();
    drop(place);
    for _ in 0..2000 {
        if helpers() < before {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the helper is still there");
}

#[test]
fn agent_that_runs_an_endless_confined_command() {
    let Some(mark) = std::env::var_os("TENON_TEST_MARK") else {
        println!("skipped: this is the other half of a test, which runs it");
        return;
    };
    let place = Place::new();
    let mark = mark.to_str().unwrap().to_owned();
    place.run(&staying(&mark, "sleep 1000"));
}

#[test]
fn killing_the_agent_ends_everything() {
    let mark = mark();
    let program = std::env::current_exe().unwrap();
    // What is killed does not clean up.
    let folder = tempfile::tempdir().unwrap();
    let mut agent = std::process::Command::new(program)
        .args(["--exact", "walls::lifetime::agent_that_runs_an_endless_confined_command"])
        .env("TENON_TEST_MARK", &mark)
        .env("TMPDIR", folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while left(&mark).len() < 7 {
        assert!(agent.try_wait().unwrap().is_none(), "the agent ended early");
        std::thread::sleep(Duration::from_millis(5));
    }
    agent.kill().unwrap();
    agent.wait().unwrap();
    wait_until_gone(&mark);
}

#[test]
fn a_helper_that_was_killed_is_started_anew() {
    let place = Place::new();
    place.run("true");
    let me = std::process::id();
    let children: String = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .collect();
    for child in children.split_ascii_whitespace() {
        let command = std::fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
        // Those of other tests in this process come back likewise.
        if command == "tenon-walls\n" && std::env::var_os("TENON_TEST_ALONE").is_some() {
            std::process::Command::new("kill").args(["-9", child]).status().unwrap();
        }
    }
    if std::env::var_os("TENON_TEST_ALONE").is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "walls::lifetime::a_helper_that_was_killed_is_started_anew"])
            .env("TENON_TEST_ALONE", me.to_string())
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let output = place.try_run("touch $TOP/new; echo again").unwrap();
    assert!(printed(&output).contains("again"), "{output:?}");
    assert!(!place.top.path().join("new").exists());
}

/// The half that has the process to itself: kills whatever waits for a command.
fn kill_what_waits() {
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let read =
            |name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let is_ours = || read("environ").contains("TENON_TEST_ALONE=");
        if read("comm") == "tenon-init\n" && is_ours() {
            let pid = entry.file_name();
            std::process::Command::new("kill").arg("-9").arg(pid).status().unwrap();
        }
    }
}

#[test]
fn a_process_that_waits_for_a_command_may_end() {
    if std::env::var_os("TENON_TEST_ALONE").is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "walls::lifetime::a_process_that_waits_for_a_command_may_end"])
            .env("TENON_TEST_ALONE", "1")
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let place = Place::new();
    let end = |wait: u64| {
        std::thread::sleep(Duration::from_millis(wait));
        kill_what_waits();
    };
    for round in 0..30 {
        assert_eq!(place.run("echo a").1, "a\n");
        end(round % 3);
        assert_eq!(place.run("echo b").1, "b\n");
        // While one is on its way: it runs, or is told to have been ended, and nobody waits for ever.
        std::thread::scope(|scope| {
            scope.spawn(|| end(0));
            let _ = place.try_run("echo c");
        });
    }
    assert_eq!(place.run("echo d").1, "d\n");
}

#[test]
fn the_first_process_cannot_be_ended_from_inside() {
    let script = "kill -9 1; kill -STOP 1; kill 1; kill -INT 1; kill -9 -1 & sleep 0.1; echo alive";
    let (_, said) =
        Place::new().run(&format!("trap '' TERM; {}", script.replace("kill -9 -1 &", "")));
    assert!(said.contains("alive"), "{said}");
    assert_eq!(Place::new().run("kill -9 -1; sleep 1; echo alive").0, Exit::Code(0));
}

fn limited(change: impl FnOnce(&mut Limits)) -> Place {
    Place::with(|settings| change(&mut settings.limits))
}

#[test]
fn a_fork_bomb_is_contained() {
    let place = limited(|limits| limits.processes_max = 100);
    if !tenon_sandbox::probe().pid_max_in_namespace {
        skipped("this kernel has no pid_max for each namespace (Linux 6.14)");
        return;
    }
    let mark = mark();
    let script = format!(":(){{ sleep {mark} & : | : & }}; : 2>/dev/null; sleep 1000");
    let mut bomb = place.command(&script);
    bomb.limits.timeout = SHORT;
    let cancel = CancellationToken::new();
    let most = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            for _ in 0..20 {
                most = most.max(left(&mark).len());
                std::thread::sleep(Duration::from_millis(40));
            }
            most
        });
        let _ = runtime().block_on(place.sandbox.run(bomb, &cancel, &mut |_, _| {}));
        watch.join().unwrap()
    });
    assert!(most < 420, "{most} processes at once");
    wait_until_gone(&mark);
}

#[test]
fn files_and_private_folders_do_not_grow_without_end() {
    let place = limited(|limits| {
        limits.file_bytes_max = 1 << 20;
        limits.temporary_bytes_max = 2 << 20;
    });
    let output = place.try_run("head -c 3000000 /dev/zero > big").unwrap();
    assert_eq!(
        output.limit,
        Some(LimitReached::FileSize { file_bytes_max: Some(1 << 20) }),
        "{output:?}"
    );
    assert_eq!(std::fs::metadata(place.root().join("big")).unwrap().len(), 1 << 20);
    let script = "for i in 1 2 3 4; do head -c 900000 /dev/zero > /tmp/$i || exit 7; done";
    assert_eq!(place.run(script).0, Exit::Code(7));
}

#[test]
fn all_private_folders_have_one_limit() {
    let home = tempfile::tempdir().unwrap();
    let tools = [".cargo", ".rustup"].map(|name| home.path().join(name));
    tools.iter().for_each(|path| std::fs::create_dir(path).unwrap());
    let place = Place::with(|settings| {
        settings.home = Some(home.path().to_path_buf());
        settings.limits.temporary_bytes_max = 6 << 20;
    });
    let memory = ["/tmp", "/var/tmp", "/run", "/dev/shm"].map(PathBuf::from);
    let mut folders: Vec<PathBuf> = memory.into_iter().chain(tools).collect();
    folders.push(home.path().to_path_buf());
    let sizes = folders.iter().map(|folder| {
        let file = folder.join("new");
        let script = format!("head -c 1000000 /dev/zero > {0}; wc -c < {0}", file.display());
        // What one command writes, the next has.
        let size = place.run(&script).1.lines().last().and_then(|size| size.parse::<u32>().ok());
        assert!(!file.exists(), "{}", file.display());
        size.unwrap_or_default()
    });
    let sizes: Vec<u32> = sizes.collect();
    assert_eq!(sizes[..6], [1_000_000; 6], "{sizes:?}");
    assert!(sizes[6] < 1_000_000, "{sizes:?}");
}

#[test]
fn files_stay_closed_past_the_limit() {
    let place = limited(|limits| limits.open_files_max = 64);
    assert_eq!(place.run("ulimit -n; ulimit -c").1, "64\n0\n");
}

#[test]
fn a_folder_that_no_command_can_enter_is_an_error() {
    let place = Place::new();
    let mut command = place.command("echo BROKEN");
    command.folder = Path::new("/root/nothing").into();
    let result = place.try_command(command);
    assert!(matches!(result, Err(CommandError::Folder { .. })), "{result:?}");
}
