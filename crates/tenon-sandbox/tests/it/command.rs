//! Commands: what they print, how they end, and that nothing of them stays.

use std::path::Path;
use std::time::Duration;

use tenon_sandbox::{CommandError, Exit, Profile, Stream, Workspace, signal_name};
use tokio_util::sync::CancellationToken;

use crate::support::{command, run, runtime, shown, spilling, try_run};

fn check(script: &str, exit: Exit, out: &str, error: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = run(command(folder.path(), script));
    assert_eq!(shown(&output), (exit, out.to_owned(), error.to_owned()), "{script}");
}

#[test]
fn spec_19_a_script_runs_in_a_shell_with_empty_input() {
    check("printf 'b\\na\\n' | sort", Exit::Code(0), "a\nb\n", "");
    check("X=1; echo $X > f && cat f || echo no", Exit::Code(0), "1\n", "");
    check("cat <<E\none\nE", Exit::Code(0), "one\n", "");
    check("cat; echo end", Exit::Code(0), "end\n", "");
    check("echo $0 $# ${#BASH_SOURCE}", Exit::Code(0), "bash 0 0\n", "");
}

#[test]
fn spec_23_the_exit_is_a_code_or_a_signal() {
    check("exit 3", Exit::Code(3), "", "");
    check("kill -TERM $$", Exit::Signal(15), "", "");
    check("foobar", Exit::Code(127), "", "bash: line 1: foobar: command not found\n");
    check("echo a; echo b >&2", Exit::Code(0), "a\n", "b\n");
    assert_eq!(signal_name(15), "SIGTERM");
    assert_eq!(signal_name(64), "signal 64");
}

#[test]
fn a_command_runs_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let (_, out, _) = shown(&run(command(&path, "pwd; echo $PWD")));
    assert_eq!(out, format!("{0}\n{0}\n", path.display()));
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let result = try_run(command(Path::new("/no/such/folder"), "true"));
    assert!(matches!(result, Err(CommandError::Folder { .. })), "{result:?}");
}

#[test]
fn a_profile_that_cannot_be_enforced_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut confined = command(folder.path(), "touch ran");
    confined.profile = Profile::workspace(&Workspace::open(folder.path()).unwrap());
    let result = try_run(confined);
    assert!(matches!(result, Err(CommandError::NotConfined)), "{result:?}");
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn spec_4_a_command_that_only_reads_cannot_write() {
    assert!(tenon_sandbox::confines_writes(), "this kernel has no Landlock of version 3");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kept"), "kept").unwrap();
    let script = "cat kept; echo x 2>/dev/null >/dev/null; echo x > new; : > kept; rm kept; \
                  mv kept other; mkdir made; ln -s kept link; (setsid sh -c 'echo x > late')";
    let mut reading = command(folder.path(), script);
    reading.profile = Profile::reading();
    let output = try_run(reading).unwrap();
    assert!(output.pieces.iter().any(|piece| piece.text == "kept"), "{output:?}");
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["kept"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("kept")).unwrap(), "kept");
}

#[test]
fn a_script_longer_than_an_argument_runs_like_any_other() {
    let filler = format!("# {}\n", "x".repeat(300_000));
    check(&format!("{filler}echo $0 $# ${{#BASH_SOURCE}}"), Exit::Code(0), "bash 0 0\n", "");
    check(&format!("cat; foo() {{ return 4; }}\n{filler}foo"), Exit::Code(4), "", "");
    check(&format!("ls /proc/self/fd | wc -l\n{filler}"), Exit::Code(0), "4\n", "");
    check(&format!("{filler}cat <<E\n$((1+1))\nE"), Exit::Code(0), "2\n", "");
}

#[test]
fn a_nul_character_in_a_script_is_an_error() {
    let result = try_run(command(Path::new("/"), "echo a\0b"));
    assert!(matches!(result, Err(CommandError::NulCharacter)), "{result:?}");
}

#[test]
fn spec_35_the_whole_text_is_spilled_when_some_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let spill = folder.path().join("deep/spill");
    let output = run(spilling(folder.path(), "seq 1 10", &spill));
    assert_eq!((output.left_out_bytes, output.spilled_to), (0, None));
    assert!(!spill.exists());

    let output = run(spilling(folder.path(), "seq 1 20000; echo end >&2", &spill));
    let path = output.spilled_to.unwrap();
    let whole = std::fs::read_to_string(&path).unwrap();
    assert_eq!(whole.len() as u64, output.bytes_total);
    assert!(whole.contains("\n10000\n10001\n"));
    let mode = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode(&spill), mode(&path)), (0o700, 0o600));
    let kept: usize = output.pieces.iter().map(|piece| piece.text.len()).sum();
    assert_eq!(kept as u64 + output.left_out_bytes, output.bytes_total);
}

#[test]
fn what_is_in_the_pipes_is_read_however_late_that_is() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = CancellationToken::new();
    // Longer than the pipes are waited for once the shell ended, as on a busy machine.
    let mut is_busy = |_: Stream, _: &str| std::thread::sleep(Duration::from_millis(400));
    let mut both = command(folder.path(), "seq 1 5000; seq 1 5000 >&2");
    both.limits.output_bytes_max = 100_000;
    let output = runtime().block_on(both.run(&cancel, &mut is_busy)).unwrap();
    let lines: String = (1..=5000).map(|number| format!("{number}\n")).collect();
    assert!(shown(&output) == (Exit::Code(0), lines.clone(), lines), "{} B", output.bytes_total);
}
