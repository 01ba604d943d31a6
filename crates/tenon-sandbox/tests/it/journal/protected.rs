//! Protected names beneath more folders than are looked through: what the journal recorded is looked
//! at, put back, and undone like everything else.

use std::path::Path;
use std::time::Duration;

use tenon_sandbox::{
    CheckpointId, Conflict, ConflictReason, Conflicts, LookedAfter, ProtectedChange,
    ProtectedChangeKind, Sandbox, Settings, Undone, look_after_killed,
};
use tokio_util::sync::CancellationToken;

use super::crash::opened_after_kill;
use super::{Scene, Walls, as_ordinary_user};
use crate::support::runtime;

/// Deeper than the first 2,000 folders.
const DEEP: &str = "z/z/z/z";

/// A hostile model's calls in [`DEEP`], one after the other.
struct Case {
    /// What a person made there.
    there: &'static str,
    calls: &'static [&'static str],
    /// What holds there afterwards.
    after: &'static str,
}

const fn case(there: &'static str, calls: &'static [&'static str], after: &'static str) -> Case {
    Case { there, calls, after }
}

impl Case {
    fn is_about_caches(&self) -> bool {
        self.there.contains("CACHEDIR.TAG")
    }
}

const OWN: &str =
    "echo own > .envrc; chmod 640 .envrc; mkdir .vscode; echo own > .vscode/tasks.json";
const AS_OWN: &str =
    "test \"$(cat .envrc .vscode/tasks.json)\" = $'own\nown' -a $(stat -c %a .envrc) = 640";
const REPOSITORY: &str = "git init -q r; cd r; printf '#!/bin/sh\nok\n' > .git/hooks/pre-commit; \
                          git -c user.name=a -c user.email=a commit -q --allow-empty -m a --no-verify";

const CASES: &[Case] = &[
    case("", &["echo evil > .envrc"], "test ! -e .envrc"),
    case("", &["mkdir .vscode; echo evil > .vscode/tasks.json"], "test ! -e .vscode/tasks.json"),
    case(
        "",
        &["mkdir n; echo evil > n/.envrc; mkdir m; mv n m/o; mv m k"],
        "! find . -name .envrc | grep .",
    ),
    case(OWN, &["echo evil > .envrc; echo evil >> .vscode/tasks.json"], AS_OWN),
    case(OWN, &["sed -i s/own/evil/ .envrc .vscode/tasks.json; chmod 777 .envrc"], AS_OWN),
    case(OWN, &["echo evil > e; mv e .envrc; rm .vscode/tasks.json"], AS_OWN),
    case(
        OWN,
        &["mv .vscode v; mkdir .vscode; echo evil > .vscode/tasks.json; rm .envrc; mkdir .envrc"],
        AS_OWN,
    ),
    case(OWN, &["rm -rf .vscode .envrc"], AS_OWN),
    case(OWN, &["mv .vscode v; mv .envrc e"], AS_OWN),
    case(
        "mkdir .claude; echo own > .claude/settings.json",
        &["mv .claude c; mkdir .claude; echo evil > .claude/settings.json"],
        "grep own .claude/settings.json",
    ),
    case(OWN, &["ln .envrc e; ln .vscode/tasks.json t", "echo evil > e; echo evil > t"], AS_OWN),
    case(
        REPOSITORY,
        &["cd r; mkdir d; mkfifo .git/objects/info/alternates .git/refs/heads/p d/.gitignore d/p"],
        "test \"$(find r -type p)\" = r/d/p",
    ),
    case(
        "git init -q r; mkdir -p r/.git/objects/info; echo /srv/own > r/.git/objects/info/alternates; git init -q n",
        &[
            "echo /srv/evil >> r/.git/objects/info/alternates; echo /srv/evil > n/.git/objects/info/alternates; git init -q m; mkdir x; echo /srv/evil > x/alternates; rm -rf m/.git/objects/info; mv x m/.git/objects/info",
        ],
        "test \"$(cat */.git/objects/info/alternates)\" = /srv/own",
    ),
    // What was innocent gets a name that matters.
    case(
        "",
        &[
            "mkdir x; echo evil > x/settings.json; echo evil > x/tasks.json",
            "cp -r x y; mv x .claude; mv y .zed",
        ],
        "test ! -e .claude/settings.json -a ! -e .zed/tasks.json -a ! -e .zed/settings.json",
    ),
    case(
        "",
        &[
            "mkdir x; echo evil > x/settings.json",
            "mkdir n; mv x n/.claude; mv n m; chmod 600 m/.claude/settings.json; touch m/.claude/settings.json",
        ],
        "test ! -e m/.claude/settings.json",
    ),
    case(
        "",
        &[
            "mkdir x; echo evil > x/settings.json",
            "mv x .claude; cp .claude/settings.json s; mv s .claude/settings.json",
        ],
        "test ! -e .claude/settings.json",
    ),
    case(
        "",
        &["mkdir x; echo evil > x/settings.json", "ln -s x .claude; ln -s x .cursor"],
        "test ! -L .claude -a ! -L .cursor",
    ),
    case(
        "",
        &["echo evil > x", "ln x .envrc; ln -s x .mcp.json"],
        "test ! -e .envrc -a ! -L .mcp.json",
    ),
    // Settings and hooks of repositories.
    case(
        REPOSITORY,
        &[
            "cd r; git config core.fsmonitor evil; git config user.name n; echo evil > .git/hooks/post-merge; echo evil > .git/hooks/pre-commit",
        ],
        "cd r; ! grep -rq evil .git/config .git/hooks && git config user.name && grep -q ok .git/hooks/pre-commit",
    ),
    case(
        REPOSITORY,
        &[
            "cd r/.git; mv hooks h; mkdir hooks; echo evil > hooks/pre-push; ln config c",
            "cd r/.git; git config -f c core.pager evil; printf '[core]\\n\\tpager = evil\\n' >> c",
        ],
        "cd r/.git; grep -q ok hooks/pre-commit && test ! -e hooks/pre-push && ! grep -q evil config",
    ),
    case(
        "git init -q r; mkdir -p r/.git/modules; git init -q --bare r/.git/modules/s",
        &[
            "mv r/.git/modules/s/HEAD h",
            "cd r/.git/modules; mkdir -p s/hooks n/hooks; echo evil | tee s/hooks/post-checkout n/hooks/pre-push; git config -f s/config core.fsmonitor evil; mv n m",
        ],
        "cd r/.git/modules; test ! -e s/hooks/post-checkout -a ! -e m/hooks/pre-push && ! grep -q evil s/config",
    ),
    case(
        "",
        &[
            "mkdir -p x/objects x/refs x/hooks; git config -f x/config core.fsmonitor evil; echo evil > x/hooks/post-merge",
            "echo 'ref: refs/heads/m' > x/HEAD",
        ],
        "! grep -q evil x/config && test ! -e x/hooks/post-merge",
    ),
    case(
        "",
        &[
            "mkdir -p x/objects x/refs x/hooks; echo 'ref: refs/heads/m' > x/HEAD; git config -f x/config core.fsmonitor evil; echo evil > x/hooks/post-merge",
        ],
        "! grep -q evil x/config && test ! -e x/hooks/post-merge",
    ),
    case(
        "",
        &[
            "mkdir -p s/objects s/refs x; git config -f s/config core.fsmonitor evil; echo ../s > x/commondir",
            "echo 'ref: refs/heads/m' > x/HEAD",
        ],
        "test ! -e x/commondir",
    ),
    // What was there before was no setting, and no reference.
    case(
        "",
        &[
            "mkdir -p x/objects x/refs; git config -f x/config core.fsmonitor evil",
            "cp x/config c; cat c > x/config; rm c; echo 'ref: refs/heads/m' > x/HEAD",
        ],
        "! grep -q evil x/config",
    ),
    case(
        "",
        &[
            "git init -q --bare x; mv x/HEAD h; mkdir -p x/refs/remotes/o; echo 'ref: commondir' > x/refs/remotes/o/a",
            "mv h x/HEAD; echo 'ref: commondir ' > x/refs/remotes/o/a",
        ],
        "test ! -e x/refs/remotes/o/a",
    ),
    case(
        REPOSITORY,
        &[
            "cp -r r/.git y; git config -f y/config core.pager evil; mv y r/.git/y; ln -s r/.git/y l",
            "mkdir t; echo 'gitdir: ../r/.git/y' > t/.git",
        ],
        "test ! -L l -a ! -e t/.git && ! grep -q evil r/.git/y/config",
    ),
    case(
        REPOSITORY,
        &[
            "cp -r r/.git y; git config -f y/config core.pager evil; mkdir r/.git/modules; mv y r/.git/modules/y",
        ],
        "! grep -rq evil r/.git",
    ),
    case(
        "",
        &[
            "mkdir d e; echo evil > d/.envrc; chmod 111 d; echo evil > e/.envrc; chmod 000 e",
            "chmod 755 e",
        ],
        "test ! -e d/.envrc -a ! -e e/.envrc",
    ),
    // What is left out of undo as a cache.
    case(
        "mkdir c; printf 'Signature: 8a477f597d28d172789f06886806bc55' > c/CACHEDIR.TAG; mkdir c/o",
        &[
            "mkdir x; echo evil > x/tasks.json",
            "echo evil > c/.envrc; mkdir c/n; echo evil > c/n/.envrc; mv x c/.vscode; mkdir y; echo evil > y/.envrc; mv y c/o/y",
        ],
        "! find c -name .envrc -o -name tasks.json -o -name .mcp.json | grep .",
    ),
    case(
        "mkdir c; printf 'Signature: 8a477f597d28d172789f06886806bc55' > c/CACHEDIR.TAG",
        &["ln -s $PWD/c .vscode; cp -r c .idea"],
        "test ! -L .vscode -a ! -e .idea/CACHEDIR.TAG",
    ),
];

/// Ordinary work, of which nothing is told.
const WORK: &[(&str, &str)] = &[
    (
        REPOSITORY,
        "cd r; git config user.name n; git config user.email e; git worktree add -q ../t; git branch config-x; git branch hooks/y; git checkout -q -b z; git -c core.hooksPath=/nonexistent commit -q --allow-empty -m b; test -e ../t/.git",
    ),
    (
        REPOSITORY,
        "git clone -q --bare r b.git; git clone -q r c; git -C c checkout -q -b w; git init -q i; git -c protocol.file.allow=always -C r submodule --quiet add ../c sub 2>/dev/null; git -C r worktree add -q ../t; git -C r worktree remove ../t; test -e r/sub/.git",
    ),
    (
        "git init -q r; cd r; git -c user.name=n -c user.email=e commit -q --allow-empty -m a; git clone -q --bare . ../b.git; git -C ../b.git config core.pager own",
        "cd b.git; git worktree add -q ../t 2>/dev/null; git config user.name n; test $(git config core.pager) = own",
    ),
    (REPOSITORY, "rm -rf r"),
    ("mkdir p; cd p; echo own > .envrc", "rm -rf p"),
    (
        "mkdir -p p/.vscode; cd p; echo own > .envrc; echo own > .vscode/tasks.json; git init -q; echo own > .git/hooks/pre-push",
        "mv p q; mkdir o; mv q o/q; touch o/q/new",
    ),
    (
        "",
        "mkdir -p src/hooks src/config .claude/commands; echo x > src/hooks/a; echo x > src/config/b; echo x > .claude/commands/c.md; mv src lib; mkdir refs objects; touch HEADER",
    ),
];

fn small_scene(walls: Walls, by_comparison: bool) -> Scene {
    let scene = Scene::at(&std::env::temp_dir(), walls, |options| {
        options.by_comparison = by_comparison;
    });
    std::fs::create_dir_all(scene.root().join(DEEP)).unwrap();
    scene
}

/// A workspace with more folders than are looked through.
fn scene(walls: Walls, by_comparison: bool) -> Scene {
    let mut scene = small_scene(walls, by_comparison);
    let settings = Settings { guarded_folders_max: 2_000, ..scene.sandbox.settings().clone() };
    scene.sandbox = Sandbox::new(settings);
    for n in 0..2_100 {
        std::fs::create_dir_all(scene.root().join(format!("a/{}/{n}", n % 50))).unwrap();
    }
    scene
}

fn ours(folder: &Path, script: &str) -> (bool, String) {
    let output = std::process::Command::new("bash")
        .args(["-c", script])
        .current_dir(folder)
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[derive(Clone, Copy)]
enum Agent {
    Stays,
    /// While each call runs. Another looks after it.
    IsKilled,
}

/// Runs a script whose agent goes away before it can look after it; another one does. Returns what
/// that put back.
fn killed(scene: &Scene, script: &str) -> Vec<ProtectedChange> {
    let found = looked_after(scene, script);
    assert!(found.changed_since.is_empty() && found.unsure.is_empty(), "{found:?}");
    found.changes
}

pub(super) fn looked_after(scene: &Scene, script: &str) -> LookedAfter {
    looked_after_others(scene, script, || ())
}

/// The same, where somebody does `others` before the look.
fn looked_after_others(scene: &Scene, script: &str, others: impl FnOnce()) -> LookedAfter {
    let checkpoint = scene.begin();
    let sandbox = Sandbox::new(scene.sandbox.settings().clone()).recording(&checkpoint);
    let sign = scene.root().join("sign");
    let command = scene.command(&format!("{script}; touch {}; sleep 60", sign.display()));
    let (cancel, mut show) = (CancellationToken::new(), |_, _: &str| {});
    runtime().block_on(async {
        let run = sandbox.run(command, &cancel, &mut show);
        let is_there = async {
            while !sign.exists() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            output = run => panic!("{output:?}"),
            () = is_there => {}
        }
    });
    drop((sandbox, checkpoint));
    std::fs::remove_file(sign).unwrap();
    others();
    look_after_killed(&opened_after_kill(scene), &|_| "put back".to_owned())
}

/// Runs a case in a folder of its own and says what does not hold.
fn fault(scene: &Scene, number: usize, case: &Case, agent: Agent) -> Option<String> {
    let folder = Path::new(DEEP).join(number.to_string());
    let full = scene.root().join(&folder);
    std::fs::create_dir(&full).unwrap();
    let (made, said) = ours(&full, case.there);
    assert!(made, "{}: {said}", case.there);
    let before = super::tree::tree(&full);
    let (mut ids, mut told) = (Vec::new(), Vec::new());
    for call in case.calls {
        let call = format!("cd {}; {call}", folder.display());
        match agent {
            Agent::Stays => {
                let (output, changes) = scene.run(&call);
                ids.extend(changes.id);
                told.extend(output.protected);
            }
            Agent::IsKilled => {
                let last = scene.journal.newest().unwrap();
                told.extend(killed(scene, &call));
                let all = scene.journal.checkpoints_after(last.unwrap_or(CheckpointId::new(0)));
                ids.extend(all.unwrap().iter().map(|info| info.id));
            }
        }
    }
    let (holds, said) = ours(&full, case.after);
    if !holds || told.is_empty() || !told.iter().all(|change| change.put_back) {
        return Some(format!("{:?}: {said} {}\n", case.calls, lines(&told)));
    }
    if case.is_about_caches() {
        // They are not undone.
        return None;
    }
    ids.reverse();
    scene.undo_all(&ids);
    let difference = super::tree::difference(&before, &super::tree::tree(&full));
    (!difference.is_empty()).then(|| format!("{:?}, undone: {difference}\n", case.calls))
}

fn lines(told: &[ProtectedChange]) -> String {
    told.iter().map(|change| format!("\n  {change}")).collect()
}

#[track_caller]
fn check_cases(scene: &Scene, with_caches: bool, agent: Agent) {
    let cases = CASES.iter().filter(|case| with_caches || !case.is_about_caches()).enumerate();
    let faults: String = cases.filter_map(|(n, case)| fault(scene, n, case, agent)).collect();
    assert!(faults.is_empty(), "{faults}");
}

#[track_caller]
fn check(walls: Walls, by_comparison: bool) {
    let scene = scene(walls, by_comparison);
    // What a comparison leaves out is told, and nobody looks there.
    check_cases(&scene, !by_comparison, Agent::Stays);
    for (number, (there, work)) in WORK.iter().enumerate() {
        let folder = Path::new(DEEP).join(format!("w{number}"));
        let full = scene.root().join(&folder);
        std::fs::create_dir(&full).unwrap();
        assert!(ours(&full, there).0, "{there}");
        let (output, _) = scene.run(&format!("set -e; cd {}; {work}", folder.display()));
        assert_eq!(output.exit, tenon_sandbox::Exit::Code(0), "{work}: {:?}", output.pieces);
        assert_eq!(lines(&output.protected), "", "{work}");
    }
}

#[test]
fn names_behind_many_folders_stay_as_they_are() {
    check(Walls::A, false);
}

#[test]
fn names_behind_many_folders_are_put_back_without_namespaces() {
    check(Walls::C, false);
}

#[test]
fn names_behind_many_folders_are_put_back_for_an_ordinary_user() {
    as_ordinary_user("protected::names_behind_many_folders_are_put_back_without_namespaces");
}

#[test]
fn names_behind_many_folders_are_put_back_where_commands_are_compared() {
    check(Walls::A, true);
}

#[test]
fn names_are_put_back_after_a_kill() {
    check_cases(&small_scene(Walls::A, false), false, Agent::IsKilled);
}

#[test]
fn names_are_put_back_after_a_kill_without_namespaces() {
    check_cases(&small_scene(Walls::C, false), false, Agent::IsKilled);
}

#[test]
fn names_are_put_back_after_a_kill_for_an_ordinary_user() {
    as_ordinary_user("protected::names_are_put_back_after_a_kill_without_namespaces");
}

#[test]
fn names_are_put_back_after_a_kill_where_commands_are_compared() {
    check_cases(&small_scene(Walls::A, true), false, Agent::IsKilled);
}

#[test]
fn a_name_that_a_killed_call_had_leave_for_is_put_back() {
    let mut scene = Scene::new(Walls::A);
    scene.run("true");
    std::fs::write(scene.root().join(".envrc"), "own\n").unwrap();
    scene.profile.lifted = vec![scene.root().join(".envrc")];
    let told = killed(&scene, "echo x > .envrc");
    assert!(lines(&told).contains(".envrc"), "{}", lines(&told));
    assert_eq!(std::fs::read_to_string(scene.root().join(".envrc")).unwrap(), "own\n");
}

#[test]
fn what_somebody_put_back_after_a_killed_call_stays() {
    let scene = Scene::new(Walls::A);
    std::fs::create_dir(scene.root().join("sub")).unwrap();
    let file = scene.root().join("sub/.envrc");
    std::fs::write(&file, "own\n").unwrap();
    // As a session does whose command ends after the one that was killed.
    let put_back = || {
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "own\n").unwrap();
    };
    let found = looked_after_others(&scene, "echo evil > sub/.envrc", put_back);
    assert_eq!((found.changes.len(), found.changed_since.len()), (0, 0), "{found:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "own\n");
}

#[test]
fn what_was_put_back_after_a_kill_is_undone_alone_by_a_yes_only() {
    let scene = Scene::new(Walls::A);
    std::fs::create_dir(scene.root().join("sub")).unwrap();
    let file = scene.root().join("sub/.envrc");
    std::fs::write(&file, "own\n").unwrap();
    let told = killed(&scene, "echo evil > sub/.envrc; echo evil > sub/.mcp.json; echo x > made");
    assert_eq!(told.len(), 2, "{}", lines(&told));
    let as_before = || {
        let has_made = scene.root().join("sub/.mcp.json").exists();
        std::fs::read_to_string(&file).unwrap() == "own\n" && !has_made
    };
    let ids: Vec<_> = scene.journal.checkpoints().unwrap().iter().map(|info| info.id).collect();
    let (call, put_back) = (*ids.iter().min().unwrap(), *ids.iter().max().unwrap());
    let undo = |conflicts: &Conflicts| scene.journal.undo(&[put_back], "session", conflicts);
    let Ok(Undone::Conflicts(found)) = undo(&Conflicts::Refuse) else { panic!("it came back") };
    let is_asked = |conflict: &Conflict| conflict.reason == ConflictReason::Protected;
    assert!(found.len() == 2 && found.iter().all(is_asked), "{found:?}");
    assert!(as_before());
    // With the call it may be undone: that takes away what comes back.
    let undone = scene.undo_all(&[put_back, call]);
    assert!(as_before() && !scene.root().join("made").exists());
    scene.undo(undone);
    assert!(as_before() && scene.root().join("made").exists());
    assert!(matches!(undo(&Conflicts::Keep), Ok(Undone::Done { .. })));
    assert!(as_before());
}

#[test]
fn what_settings_of_git_include_is_put_back_after_a_kill() {
    let scene = Scene::new(Walls::A);
    let there = "git init -q; git config include.path ../shared; git config -f shared user.name a";
    assert!(ours(&scene.root(), there).0);
    let told =
        killed(&scene, "git config -f shared core.pager evil; git config -f other core.pager x");
    let put_back = "shared got settings that are not known to be harmless (core.pager); put back";
    assert!(told.len() == 1 && lines(&told).contains(put_back), "{}", lines(&told));
}

#[test]
fn names_behind_many_folders_that_a_call_made_are_looked_at_by_the_next() {
    let scene = Scene::new(Walls::A);
    scene.run("mkdir -p a/{0..49}/{0..49} z/z/z/z");
    let (output, _) =
        scene.run("echo evil > z/z/z/z/.envrc; mkdir z/z/z/z/.vscode; touch z/z/z/z/.vscode/t");
    assert!(!scene.root().join("z/z/z/z/.envrc").exists());
    assert_eq!(output.protected.len(), 2, "{}", lines(&output.protected));
}

#[test]
fn permissions_of_folders_that_are_put_back_are_no_change_of_the_call() {
    for walls in [Walls::A, Walls::C] {
        let scene = Scene::new(walls);
        scene.run("mkdir -p s/.vscode; chmod 750 s/.vscode");
        let before = scene.tree();
        let (output, changes) = scene.run("chmod 777 s/.vscode; touch s/a");
        assert!(lines(&output.protected).contains("s/.vscode got other permissions; put back"));
        assert_eq!(Scene::listed(&changes), ["created s/a"]);
        scene.undo(changes.id.unwrap());
        assert_eq!(scene.tree(), before);
    }
}

#[test]
fn without_undo_it_is_told_once_that_not_all_is_looked_at() {
    let scene = scene(Walls::A, false);
    let told = |output: tenon_sandbox::Output| -> Vec<ProtectedChangeKind> {
        output.protected.into_iter().map(|change| change.kind).collect()
    };
    // One that writes nothing need not be recorded.
    let mut command = scene.command("ls");
    command.profile = command.profile.read_only();
    let (cancel, mut show) = (CancellationToken::new(), |_, _: &str| {});
    let run = scene.sandbox.run(command, &cancel, &mut show);
    assert_eq!(told(runtime().block_on(run).unwrap()), []);
    assert_eq!(told(scene.start("true", &scene.sandbox)), [ProtectedChangeKind::NotRecorded]);
    assert_eq!(told(scene.start("true", &scene.sandbox)), []);
}

#[test]
fn with_undo_it_is_told_once_that_not_all_settings_of_git_are_looked_at() {
    let scene = small_scene(Walls::A, false);
    let (_, made) =
        ours(&scene.root(), "mkdir -p r{1..2100}/.git; echo r{1..2100}/.git/config | xargs touch");
    assert_eq!(made, "");
    let told = |command: &str| -> Vec<_> {
        scene.run(command).0.protected.into_iter().map(|change| change.kind).collect()
    };
    assert_eq!(told("touch a"), [ProtectedChangeKind::NotFollowed]);
    assert_eq!(told("touch b"), []);
}
