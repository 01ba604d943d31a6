//! A tenon that is killed while a job and a call beside it run: what both did is looked after as one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenon_sandbox::{CheckpointId, Conflicts, LookedAfter, Sandbox, Undone, look_after_killed};
use tokio_util::sync::CancellationToken;

use super::crash::opened_after_kill;
use super::{Scene, Walls, as_ordinary_user};
use crate::support::runtime;

/// What a person had: `s/.envrc`, a repository `s/r`, an empty folder `t`.
const THERE: &str =
    "mkdir s t; echo own > s/.envrc; git init -q s/r; git -C s/r config user.name own";

/// Two commands that are killed: what the first one did, and then the second one beside it.
struct Case {
    job: &'static str,
    call: &'static str,
    /// What holds afterwards, besides that nothing evil is left.
    after: &'static str,
}

const fn case(job: &'static str, call: &'static str, after: &'static str) -> Case {
    Case { job, call, after }
}

const WRITE: &str = "echo evil > s/.envrc; git config -f s/r/.git/config core.fsmonitor evil";
const APPEND: &str =
    "echo evil >> s/.envrc; printf '[core]\\nfsmonitor=evil\\n' >> s/r/.git/config";
const IN_S: &str =
    "test \"$(cat s/.envrc)\" = own -a $(git config -f s/r/.git/config user.name) = own";
const IN_M: &str =
    "test \"$(cat m/.envrc)\" = own -a $(git config -f m/r/.git/config user.name) = own";
const MADE: &str = "mkdir n; echo evil > n/.envrc";

const CASES: &[Case] = &[
    case(WRITE, "echo x > x; mv x s/.envrc; cp s/r/.git/config x; mv x s/r/.git/config", IN_S),
    case(WRITE, "rm s/.envrc s/r/.git/config", IN_S),
    case(WRITE, "echo more >> s/.envrc; git config -f s/r/.git/config core.pager evil", IN_S),
    case(WRITE, "mv s m", IN_M),
    case("true", "echo evil > s/.envrc; mv s m", IN_M),
    case("true", "echo evil > e; mv e s/.envrc; mv s m", IN_M),
    case(APPEND, "mv s m", IN_M),
    case(APPEND, "mv s t/s; mv t m; mv m/s s2; rmdir m; mv s2 m", IN_M),
    case(APPEND, "mkdir k; mv s k/s; mv k/s m", IN_M),
    case("echo evil > e; mv e s/.envrc", "mv s m", IN_M),
    case("rm s/.envrc; echo evil > s/.envrc", "mv s m; echo evil > m/r/.envrc", IN_M),
    case("mv s m; echo evil > m/.envrc", "mv m s; echo evil >> s/.envrc", IN_S),
    case(
        "echo evil > s/.envrc",
        "mv s/.envrc t/.envrc",
        "test \"$(cat s/.envrc)\" = own -a ! -e t/.envrc",
    ),
    case("echo evil > s/.envrc", "ln s/.envrc t/.envrc", "test \"$(cat s/.envrc)\" = own"),
    case("echo evil > s/x", "mv s/x s/.envrc", "test \"$(cat s/.envrc)\" = own"),
    case("echo evil > t/.envrc", "mv t m", "test ! -e m/.envrc"),
    case(MADE, "mv n/.envrc t/.envrc", "test ! -e n/.envrc -a ! -e t/.envrc"),
    case(MADE, "mv n m", "test ! -e m/.envrc"),
    case(MADE, "mv n t/n", "test ! -e t/n/.envrc"),
    case(MADE, "mv n t/n; mv t m", "test ! -e m/n/.envrc"),
    case(
        "git config -f s/r/.git/config core.fsmonitor evil",
        "mkdir t/r; mv s/r/.git t/r/.git",
        "true",
    ),
    case("git init -q n; git config -f n/.git/config core.fsmonitor evil", "mv n t/n", "true"),
    case(
        "git init -q n; git config -f n/.git/config core.fsmonitor evil",
        "mv n/.git t/.git",
        "true",
    ),
];

/// What runs nothing any more.
const NOTHING_EVIL: &str = "! grep -rl evil . --include=.envrc --include=config";

fn ours(folder: &Path, script: &str) -> (bool, String) {
    let output = std::process::Command::new("bash")
        .args(["-c", script])
        .current_dir(folder)
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    let said = [&output.stdout[..], &output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

async fn until_there(file: PathBuf) {
    while !file.exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Whether both are of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sessions {
    One,
    Two,
}

/// Runs both in `folder` until the second did what it does, and kills whoever looks after them. Returns what whoever starts next
/// put back.
fn killed(scene: &Scene, folder: &Path, case: &Case, sessions: Sessions) -> LookedAfter {
    let job = scene.begin();
    let call = match sessions {
        Sessions::One => scene.begin(),
        Sessions::Two => scene.opened_again().begin("other", "call"),
    };
    let new = || Sandbox::new(scene.sandbox.settings().clone());
    let (sandbox, other) = match sessions {
        Sessions::One => {
            let sandbox = new();
            (sandbox.recording(&job), sandbox.recording(&call))
        }
        Sessions::Two => (new().recording(&job), new().recording(&call)),
    };
    let (wrote, done) = (scene.root().join("wrote"), scene.root().join("done"));
    let command = |does: &str, sign: &Path| {
        let sign = sign.display();
        scene.command(&format!("cd {}; {does}; touch {sign}; sleep 60", folder.display()))
    };
    let cancel = CancellationToken::new();
    let (mut show, mut show_other) = (|_, _: &str| {}, |_, _: &str| {});
    runtime().block_on(async {
        let running = sandbox.run(command(case.job, &wrote), &cancel, &mut show);
        tokio::pin!(running);
        tokio::select! {
            output = &mut running => panic!("{output:?}"),
            () = until_there(wrote.clone()) => {}
        }
        let beside = other.run(command(case.call, &done), &cancel, &mut show_other);
        tokio::select! {
            output = &mut running => panic!("{output:?}"),
            output = beside => panic!("{output:?}"),
            () = until_there(done.clone()) => {}
        }
    });
    drop((sandbox, other, job, call));
    std::fs::remove_file(wrote).unwrap();
    std::fs::remove_file(done).unwrap();
    look_after_killed(&opened_after_kill(scene), &|_| "put back".to_owned())
}

/// Runs a case in a folder of its own and says what does not hold.
fn fault(
    scene: &Scene,
    number: usize,
    case: &Case,
    (sessions, undoes): (Sessions, bool),
) -> Option<String> {
    let folder = number.to_string();
    let full = scene.root().join(&folder);
    std::fs::create_dir(&full).unwrap();
    let (made, said) = ours(&full, THERE);
    assert!(made, "{said}");
    let last = scene.journal.newest().unwrap().unwrap_or(CheckpointId::new(0));
    let found = killed(scene, Path::new(&folder), case, sessions);
    let told = format!("{} | {}, {sessions:?}: {found:?}", case.job, case.call);
    let (holds, said) = ours(&full, &format!("{NOTHING_EVIL} && {}", case.after));
    if !holds || found.changes.iter().any(|change| !change.put_back) {
        return Some(format!("{told}\n  {said}\n"));
    }
    if !undoes {
        return None;
    }
    let all = scene.journal.checkpoints_after(last).unwrap();
    let mut ids: Vec<CheckpointId> = all.iter().map(|info| info.id).collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    // The later one alone does not bring back what the job wrote.
    let (_, later) = ids.split_last().unwrap();
    let call = later.last().map(std::slice::from_ref);
    for without_job in [Some(later), call].into_iter().flatten() {
        if let Ok(Undone::Done { id, .. }) =
            scene.journal.undo(without_job, "session", &Conflicts::Refuse)
        {
            let (holds, said) = ours(&full, NOTHING_EVIL);
            if !holds {
                return Some(format!("{told}, undone without the job: {said}\n"));
            }
            scene.undo(id);
        }
    }
    // An undo of all of them may be refused, too.
    let undone = scene.journal.undo(&ids, "session", &Conflicts::Refuse);
    let (holds, said) = ours(&full, NOTHING_EVIL);
    (!holds).then(|| format!("{told}, undone: {undone:?} {said}\n"))
}

#[track_caller]
fn check(walls: Walls, by_comparison: bool, sessions: Sessions) {
    let scene = Scene::at(&std::env::temp_dir(), walls, |options| {
        options.by_comparison = by_comparison;
    });
    let cases = CASES.iter().enumerate();
    let faults: String = cases
        .filter_map(|(number, case)| fault(&scene, number, case, (sessions, !by_comparison)))
        .collect();
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn what_a_killed_job_wrote_beside_a_call_is_put_back() {
    check(Walls::A, false, Sessions::One);
}

#[test]
fn what_a_killed_job_wrote_beside_a_call_is_put_back_without_namespaces() {
    check(Walls::C, false, Sessions::One);
}

#[test]
fn what_a_killed_job_wrote_beside_a_call_is_put_back_for_an_ordinary_user() {
    as_ordinary_user(
        "killed_together::what_a_killed_job_wrote_beside_a_call_is_put_back_without_namespaces",
    );
}

#[test]
fn what_a_killed_job_wrote_beside_a_call_is_put_back_where_commands_are_compared() {
    check(Walls::A, true, Sessions::One);
}

#[test]
fn what_killed_sessions_wrote_beside_one_another_is_put_back() {
    check(Walls::A, false, Sessions::Two);
}
