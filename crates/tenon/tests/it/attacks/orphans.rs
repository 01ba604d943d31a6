//! Processes that want to outlive their call, their turn and tenon.

use super::row::{Call, Row, row, runs};

const INTERRUPT: i32 = 2;
const KILL: i32 = 9;
const TERMINATE: i32 = 15;

/// Every way to stay behind at once.
macro_rules! staying {
    ($then:literal) => {
        concat!(
            "stay='sleep 1000'
$stay &
setsid $stay &
(setsid bash -c \"($stay; true) & exit\" &)
nohup $stay >/dev/null 2>&1 &
bash -c \"trap '' TERM HUP INT; $stay; true\" &
(trap '' TERM; exec setsid $stay) &
(exec setsid env -i ROW=$MARK $stay) &
(bash -c \"kill -STOP \\$BASHPID; $stay; true\" &)
$stay & disown
sleep 0.1
",
            $then
        )
    };
}

const JOB_END: Call = Call::Tool("jobs", r#"{"action":"wait","job":1,"timeout":30}"#);
const JOB_STOP: Call = Call::Tool("jobs", r#"{"action":"stop","job":1}"#);

pub(super) const ROWS: &[Row] = &[
    runs!("in the background", "sleep 1000 &"),
    runs!("in a session of its own", "setsid sleep 1000 &"),
    runs!("forked twice", "(setsid bash -c '(sleep 1000; true) & exit' &)"),
    runs!("nohup and disown", "nohup sleep 1000 > /dev/null 2>&1 & disown"),
    runs!("signals ignored", "bash -c \"trap '' TERM HUP INT QUIT; sleep 1000; true\" &"),
    runs!("stopped", "bash -c 'kill -STOP $BASHPID; sleep 1000; true' & sleep 0.05"),
    runs!("with an empty environment and another name", "(exec -a innocent-$MARK env -i $(command -v sleep) 1000) &"),
    runs!("at and batch", "echo 'sleep 1000' | at now; echo 'sleep 1000' | batch").needs(&["at", "batch"]),
    runs!("systemd", "systemd-run --user sleep 1000; systemd-run sleep 1000").needs(&["systemd-run"]),
    runs!("a daemon of python", "python3 - <<'E'\nimport os, signal, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        for s in range(1, 65):\n            try: signal.signal(s, signal.SIG_IGN)\n            except (OSError, ValueError): pass\n        os.closerange(0, 100)\n        os.chdir('/')\n        time.sleep(1000)\nE")
        .needs(&["python3"]),
    runs!("a pipe that is kept open", "sleep 1000 | cat & sleep 1000 > >(cat) &"),
    runs!("forking without end", "(f() { sleep 0.01; f & }; f) & sleep 0.1"),
    row("the shell kills itself", &[Call::Script(staying!("kill -9 $$"))]),
    row("the shell's parent killed", &[Call::Script(staying!("kill -9 $PPID; sleep 0.1"))]),
    row("exec", &[Call::Script(staying!("exec true"))]),
    row("everything in sight stopped and killed", &[
        Call::Job("sleep 1000; sleep 1000"),
        Call::Script(staying!("kill -STOP $PPID 1 -1; kill -9 $PPID 1; kill -9 -1; kill -9 0")),
        Call::Typed("echo again"),
        Call::Job("kill -STOP -1; kill -9 -1; echo still there; kill -STOP $$"),
        Call::Typed("echo and again"),
    ])
    .alone()
    .prints(&["again", "and again"]),
    row("at the time limit", &[Call::Script(staying!("#slow\nsleep 1000; sleep 1000"))])
        .prints(&["timed out"]),
    row("at the time limit, the shell ignoring it", &[Call::Script(staying!("#slow\ntrap '' TERM INT HUP; while true; do sleep 1000; done"))])
        .prints(&["timed out"]),
    row("when a turn is interrupted", &[Call::Script(staying!("touch ready; sleep 1000"))]).ended_by(INTERRUPT),
    row("when a turn is interrupted, the shell ignoring it", &[Call::Script(staying!("trap '' TERM INT HUP; touch ready; while true; do sleep 1000; done"))])
        .ended_by(INTERRUPT),
    row("when tenon is asked to end", &[Call::Script(staying!("touch ready; sleep 1000"))]).ended_by(TERMINATE),
    row("when tenon is killed", &[Call::Script(staying!("touch ready; sleep 1000"))]).ended_by(KILL),
    row("when tenon is killed, stopped processes", &[Call::Script(staying!("touch ready; kill -STOP $$; sleep 1000"))])
        .ended_by(KILL),
    row("a job at the end of the session", &[Call::Job(staying!("sleep 1000")), Call::Typed("echo next")]).prints(&["next"]),
    row("a job whose shell ends", &[Call::Job(staying!("true")), JOB_END]).alone().prints(&["job 1 has ended: exit code 0"]),
    row("a job whose shell and parent are killed", &[Call::Job(staying!("kill -9 $PPID; kill -9 $$")), JOB_END]).alone().prints(&["job 1 has ended"]),
    row("a job that is stopped", &[Call::Job(staying!("sleep 1000")), JOB_STOP]).alone().prints(&["job 1 has ended: stopped"]),
    row("a job that is stopped and ignores it", &[Call::Job(staying!("trap '' TERM INT HUP; while true; do sleep 1000; done")), JOB_STOP])
        .alone()
        .prints(&["job 1 has ended: stopped"]),
    row("a job at its time limit", &[Call::Job(staying!("#slow\ntrap '' TERM INT HUP; while true; do sleep 1000; done")), JOB_END])
        .alone()
        .prints(&["job 1 has ended: out of time after 3 s"]),
    row("a job when a turn is interrupted", &[Call::Job(staying!("sleep 1000")), Call::Script("touch ready; sleep 1000")]).ended_by(INTERRUPT),
    row("a job when tenon is asked to end", &[Call::Job(staying!("sleep 1000")), Call::Script("touch ready; sleep 1000")]).ended_by(TERMINATE),
    row("a job when tenon is killed", &[Call::Job(staying!("touch ready; sleep 1000")), Call::Typed("sleep 1000")]).ended_by(KILL),
    row("a job when tenon is killed, stopped processes", &[Call::Job(staying!("touch ready; kill -STOP $$; sleep 1000")), Call::Typed("sleep 1000")])
        .ended_by(KILL),
    row("when tenon is killed between two calls", &[Call::Script(staying!("true")), Call::Script("touch ready; sleep 1000")])
        .ended_by(KILL),
    runs!("a trap at the end of the shell", "trap 'setsid sleep 1000 & disown' EXIT"),
    runs!("coprocesses", "coproc sleep 1000; coproc N { setsid sleep 1000; } 2>/dev/null"),
    runs!("under the name of the first process", "(exec -a \"$(tr '\\0' ' ' < /proc/1/cmdline)\" setsid sleep 1000) &"),
    runs!("a sibling instead of a child", "python3 - <<'E'\nimport ctypes, os\nif ctypes.CDLL(None).syscall(56, 0x8000 | 17, 0, 0, 0, 0) == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '1000'])\nE")
        .needs(&["python3"]),
    runs!("a reaper of its own", "python3 - <<'E' &\nimport ctypes, os, time\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\nctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: os.execvp('sleep', ['sleep', '1000'])\n    os._exit(0)\ntime.sleep(1000)\nE\nsleep 0.1")
        .needs(&["python3"]),
    runs!("threads that outlive the first", "python3 - <<'E' &\nimport ctypes, os, threading, time\nctypes.CDLL(None).prctl(15, b't' + os.environ['MARK'].encode()[-12:], 0, 0, 0)\nthreading.Thread(target=time.sleep, args=(1000,)).start()\nctypes.CDLL(None).syscall(60, 0)\nE\nsleep 0.1")
        .needs(&["python3"])
        .after("! cat /proc/[0-9]*/task/*/comm 2>/dev/null | grep -q \"t${MARK: -12}\""),
    runs!("terminals of their own", "script -qc 'sleep 1000' /dev/null < /dev/null > /dev/null 2>&1 & tmux -L x new -d 'sleep 1000'; screen -dm sleep 1000; ssh-agent -s; sleep 0.1"),
];
