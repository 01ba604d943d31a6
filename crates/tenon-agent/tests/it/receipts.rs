//! Receipts: what a turn says of the checks that ran since the last change.

mod no_check;

use std::{
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use serde_json::json;
use tenon_agent::{
    Answer, CoreToolOptions, EndReason, FrontEnd, Mode, ModelEvent, Origin, Question, Rule,
    SessionEvent, TurnLimits, TurnOutcome, Unproven, Update, Verdict, Verification, core_tools,
};
use tenon_sandbox::{Coverage, Journal, JournalOptions};
use tokio_util::sync::CancellationToken;

use crate::{
    skipped::skipped,
    support::{Bench, Reply, bench_with, calls, text},
};

const CHECK: &str = "sh check.sh";

fn write(content: &str) -> Reply {
    calls(&[("write_file", json!({"path": "new.txt", "content": content}))])
}

fn run(command: &str) -> Reply {
    calls(&[("bash", json!({ "command": command }))])
}

/// A project whose check ends with `exit_code`.
fn project(exit_code: i32, replies: Vec<Reply>) -> Bench {
    let tools = core_tools(CoreToolOptions::default());
    let bench = bench_with(replies, tools, |options| options.verify = vec![CHECK.into()]);
    std::fs::write(bench.folder.path().join("check.sh"), format!("exit {exit_code}")).unwrap();
    bench
}

async fn go(bench: &mut Bench) -> TurnOutcome {
    bench.agent.prompt("go", &CancellationToken::new()).await.unwrap()
}

fn requests(bench: &Bench) -> usize {
    bench.provider.requests.lock().unwrap().len()
}

fn state(outcome: &TurnOutcome) -> Option<Verification> {
    outcome.receipt.as_ref().map(|receipt| receipt.state)
}

#[tokio::test]
async fn a_change_that_was_checked_is_verified_and_nothing_is_asked() {
    let mut bench = project(0, vec![write("a"), run(CHECK), text("done")]);
    let outcome = go(&mut bench).await;
    assert_eq!((state(&outcome), requests(&bench)), (Some(Verification::Verified), 3));
    let receipt = outcome.receipt.unwrap();
    let run = &receipt.checks[0];
    assert_eq!((run.command.as_str(), run.exit_code), (CHECK, 0));
    assert_eq!(run.tree, receipt.tree);
}

#[tokio::test]
async fn the_receipt_says_when_a_check_ended_and_how_long_it_took() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let mut bench = project(0, vec![write("a"), run(CHECK), text("done")]);
    std::fs::write(bench.folder.path().join("check.sh"), "sleep 0.05").unwrap();
    let before = now();
    let receipt = go(&mut bench).await.receipt.unwrap();
    let run = &receipt.checks[0];
    assert!((before + run.duration_ms..=now()).contains(&run.ended_ms), "{before} {run:?}");
    assert!(run.duration_ms >= 50, "{run:?}");
}

#[tokio::test]
async fn what_a_file_tool_wrote_after_a_check_counts_wherever_it_lies() {
    for path in
        ["src/target/new.js", "node_modules/a/b.js", "__pycache__/x", "out/x", "new/.mypy_cache/x"]
    {
        let put =
            |content: &str| calls(&[("write_file", json!({"path": path, "content": content}))]);
        let edit = json!({"path": path, "old_text": "a", "new_text": "b"});
        let replies = vec![
            put("a"),
            run(CHECK),
            text("done"),
            calls(&[("edit_file", edit)]),
            text("done"),
            text("It was not run."),
            // What a command writes there does not.
            run(CHECK),
            run(&format!("echo > {path}.made")),
            text("done"),
        ];
        let mut bench = project(0, replies);
        std::fs::write(bench.folder.path().join(".gitignore"), "out/\n").unwrap();
        for expected in [Verification::Verified, Verification::Unverified, Verification::Verified] {
            assert_eq!(state(&go(&mut bench).await), Some(expected), "{path}");
        }
    }
}

#[tokio::test]
async fn a_check_that_failed_is_said_and_not_asked_for_again() {
    let mut bench = project(3, vec![write("a"), run(CHECK), text("done")]);
    let outcome = go(&mut bench).await;
    assert_eq!((state(&outcome), requests(&bench)), (Some(Verification::Failed), 3));
    assert_eq!(outcome.receipt.unwrap().checks[0].exit_code, 3);
}

#[tokio::test]
async fn a_check_that_could_not_start_did_not_run_and_is_not_asked_for_again() {
    for exit_code in [126, 127] {
        let mut bench = project(exit_code, vec![write("a"), run(CHECK), text("done")]);
        let outcome = go(&mut bench).await;
        assert_eq!((state(&outcome), requests(&bench)), (Some(Verification::Unverified), 3));
        assert!(outcome.receipt.unwrap().checks.is_empty());
    }
}

#[tokio::test]
async fn a_check_that_cannot_start_any_more_leaves_what_passed_on_the_same_files() {
    let mut bench = project(0, vec![write("a"), run(CHECK), run(CHECK), text("done")]);
    // Caches are no files of the project.
    let once = "mkdir target || exit 127";
    std::fs::write(bench.folder.path().join("check.sh"), once).unwrap();
    let outcome = go(&mut bench).await;
    assert_eq!((state(&outcome), requests(&bench)), (Some(Verification::Verified), 4));
}

/// A front end that nobody looks at.
struct NoPerson;

#[async_trait]
impl FrontEnd for NoPerson {
    fn update(&self, _: Update) {}

    async fn ask(&self, _: Question) -> Answer {
        Answer::Nobody
    }

    fn has_person(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn a_check_that_would_be_refused_is_not_asked_for() {
    let rule = |text: &str, verdict| Rule::parse(text, verdict, Origin::CommandLine).unwrap();
    let deny = |text| rule(text, Verdict::Deny);
    let mine = || rule("write_file", Verdict::Allow);
    let checks = || vec![CHECK.to_owned(), "make check".to_owned()];
    for (rules, mode, is_alone, verify, asked) in [
        (vec![], Mode::Auto, true, checks(), Some(CHECK)),
        (vec![deny("bash")], Mode::Auto, false, checks(), None),
        (vec![deny("bash(sh:*)")], Mode::Auto, false, vec![CHECK.into()], None),
        (vec![deny("bash(sh:*)")], Mode::Auto, false, checks(), Some("make check")),
        (vec![mine()], Mode::Ask, true, checks(), None),
        (vec![mine()], Mode::Ask, false, checks(), Some(CHECK)),
    ] {
        let replies = vec![write("a"), text("I made it."), text("It was not run.")];
        let tools = core_tools(CoreToolOptions::default());
        let shown = format!("{rules:?} {mode:?} {is_alone}");
        let mut bench = bench_with(replies, tools, |options| {
            (options.verify, options.mode) = (verify, mode);
            rules.into_iter().for_each(|rule| options.rules.add(rule));
            if is_alone {
                options.front = Arc::new(NoPerson);
            }
        });
        std::fs::write(bench.folder.path().join("check.sh"), "exit 0").unwrap();
        let outcome = go(&mut bench).await;
        assert_eq!(state(&outcome), Some(Verification::Unverified), "{shown}");
        let requests = bench.provider.requests.lock().unwrap();
        let last = requests.last().unwrap().conversation.last().unwrap().text();
        assert_eq!(requests.len(), if asked.is_some() { 3 } else { 2 }, "{shown}");
        if let Some(check) = asked {
            assert!(last.contains(&format!("Run `{check}` now")), "{shown}: {last}");
        }
    }
}

#[tokio::test]
async fn a_change_after_the_last_check_is_asked_about_once() {
    let replies = vec![run(CHECK), write("a"), text("I made it."), run(CHECK), text("It passes.")];
    let mut bench = project(0, replies);
    let outcome = go(&mut bench).await;
    assert_eq!((state(&outcome), requests(&bench)), (Some(Verification::Verified), 5));
    assert_eq!(outcome.answer, "I made it.\n\nIt passes.");
    let requests = bench.provider.requests.lock().unwrap();
    let asked = requests[3].conversation.last().unwrap().text();
    assert!(asked.contains("no check ran since") && asked.contains("`sh check.sh`"), "{asked}");
}

#[tokio::test]
async fn a_model_that_does_not_check_is_not_asked_twice() {
    let mut bench = project(0, vec![write("a"), text("done"), text("verified, all tests pass!")]);
    let outcome = go(&mut bench).await;
    assert_eq!((state(&outcome), requests(&bench)), (Some(Verification::Unverified), 3));
    assert_eq!(outcome.reason, EndReason::Finished);
}

#[tokio::test]
async fn a_check_whose_exit_code_is_hidden_proves_nothing() {
    let replies = vec![write("a"), run("sh check.sh | cat"), text("done"), text("no")];
    let mut bench = project(0, replies);
    assert_eq!(state(&go(&mut bench).await), Some(Verification::Unverified));
}

#[tokio::test]
async fn a_command_that_names_a_check_and_does_not_run_it_verifies_nothing() {
    for command in ["make -n test", "make -i test", "set -n && make test", "exit 0 && make test"] {
        let replies = vec![write("a"), run(command), text("done"), text("no")];
        let mut bench = bench_with(replies, core_tools(CoreToolOptions::default()), |_| {});
        std::fs::write(bench.folder.path().join("Makefile"), "test:\n\tfalse\n").unwrap();
        assert_eq!(state(&go(&mut bench).await), Some(Verification::Unverified), "{command}");
    }
}

#[tokio::test]
async fn a_check_that_writes_files_itself_counts_for_what_it_left() {
    let state_folder = tempfile::tempdir().unwrap();
    let replies = vec![write("a"), run(CHECK), text("done")];
    let mut coverage = Coverage::ByComparison;
    let mut bench = bench_with(replies, core_tools(CoreToolOptions::default()), |options| {
        let wanted = JournalOptions::new(state_folder.path());
        let journal = Journal::open(&options.workspace, wanted).unwrap();
        coverage = journal.coverage();
        options.journal = Some(journal);
        options.verify = vec![CHECK.into()];
    });
    if coverage == Coverage::ByComparison {
        return skipped("the kernel does not say here what a command writes");
    }
    let check = "sed -i s/a/A/ new.txt; echo passed > report.xml";
    std::fs::write(bench.folder.path().join("check.sh"), check).unwrap();
    let outcome = go(&mut bench).await;
    assert_eq!((state(&outcome), requests(&bench)), (Some(Verification::Verified), 3));
    assert_eq!(std::fs::read_to_string(bench.folder.path().join("new.txt")).unwrap(), "A");
}

#[tokio::test]
async fn what_a_command_changed_counts_and_what_none_changed_does_not() {
    let mut bench = project(0, vec![run("echo x > y"), text("done"), text("no")]);
    assert_eq!(state(&go(&mut bench).await), Some(Verification::Unverified));
    let mut bench = project(0, vec![run("true && env >/dev/null"), text("done")]);
    assert_eq!((state(&go(&mut bench).await), requests(&bench)), (None, 2));
    let mut bench =
        project(0, vec![write("a"), run(CHECK), run("echo z > z"), text("done"), text("no")]);
    assert_eq!(state(&go(&mut bench).await), Some(Verification::Unverified));
}

#[tokio::test]
async fn a_check_in_a_folder_beneath_counts_and_is_known_from_then_on() {
    let tools = core_tools(CoreToolOptions::default());
    let check = || run("cd sub && make check");
    let first = vec![write("a"), check(), text("done")];
    let second = vec![write("b"), text("done"), check(), text("checked")];
    let replies = [first, second].concat();
    let mut bench = bench_with(replies, tools, |_| {});
    std::fs::create_dir(bench.folder.path().join("sub")).unwrap();
    std::fs::write(
        bench.folder.path().join("sub/Makefile"),
        "check:\n\ttest a = $$(cat ../new.txt)\n",
    )
    .unwrap();
    assert_eq!((state(&go(&mut bench).await), requests(&bench)), (Some(Verification::Verified), 3));
    let outcome = go(&mut bench).await;
    assert_eq!((state(&outcome), requests(&bench)), (Some(Verification::Failed), 7));
    assert_eq!(outcome.answer, "done\n\nchecked");
}

#[tokio::test]
async fn a_limit_that_forbids_the_check_leaves_the_turn_finished() {
    let tools = core_tools(CoreToolOptions::default());
    let mut bench = bench_with(vec![write("a"), text("done")], tools, |options| {
        options.verify = vec![CHECK.into()];
        options.limits = TurnLimits { steps_max: Some(2), ..TurnLimits::default() };
    });
    let outcome = go(&mut bench).await;
    assert_eq!((outcome.reason, outcome.answer.as_str()), (EndReason::Finished, "done"));
    assert_eq!(state(&outcome), Some(Verification::Unverified));
}

#[tokio::test]
async fn a_turn_that_is_cancelled_at_its_end_asks_for_no_check() {
    let cancel = CancellationToken::new();
    let tools = core_tools(CoreToolOptions::default());
    let replies = vec![write("a"), text("done"), text("not asked for")];
    let mut bench = bench_with(replies, tools, |options| {
        options.verify = vec![CHECK.into()];
        options.front = Arc::new(CancelsAt("done", cancel.clone()));
    });
    let outcome = bench.agent.prompt("go", &cancel).await.unwrap();
    assert_eq!((outcome.reason, outcome.answer.as_str()), (EndReason::Cancelled, "done"));
    assert_eq!((state(&outcome), requests(&bench)), (Some(Verification::Unverified), 2));
}

/// Cancels once a reply with this text is in the log.
struct CancelsAt(&'static str, CancellationToken);

#[async_trait]
impl FrontEnd for CancelsAt {
    fn update(&self, update: Update) {
        if let Update::Stored(record) = update
            && let SessionEvent::Model(ModelEvent::AssistantMessage { message, .. }) = &record.event
            && message.text() == self.0
        {
            self.1.cancel();
        }
    }

    async fn ask(&self, _: Question) -> Answer {
        Answer::Allow
    }
}

#[tokio::test]
async fn a_file_that_git_tracks_counts_though_it_is_ignored() {
    let hide = "echo src.c >> .gitignore; echo good > src.c";
    let replies =
        vec![run(hide), run(CHECK), run("echo broken > src.c"), text("done"), text("done")];
    let mut bench = project(0, replies);
    let folder = bench.folder.path().to_path_buf();
    std::fs::write(folder.join("src.c"), "first").unwrap();
    std::fs::write(folder.join("notes.txt"), "ignored and not tracked").unwrap();
    std::fs::write(folder.join(".gitignore"), "notes.txt\n").unwrap();
    let script = "git init -q . && git add .";
    let git = std::process::Command::new("sh").args(["-c", script]).current_dir(&folder).status();
    assert!(git.unwrap().success());
    assert_eq!(state(&go(&mut bench).await), Some(Verification::Unverified));
    let mut bench = project(0, vec![run(CHECK), run("echo x > notes.txt"), text("done")]);
    std::fs::write(bench.folder.path().join(".gitignore"), "notes.txt\n").unwrap();
    assert_ne!(state(&go(&mut bench).await), Some(Verification::Unverified));
}

/// Makes `folder` a repository in which everything is added.
fn add_all(folder: &Path) {
    let script = "git init -q . && git add -f .";
    let git = std::process::Command::new("sh").args(["-c", script]).current_dir(folder).status();
    assert!(git.unwrap().success());
}

#[tokio::test]
async fn what_a_command_changes_in_an_added_folder_counts_as_in_the_first() {
    let cases = [
        ("echo broken > $LIB/l.py", true),
        ("echo broken > link/l.py", true),
        ("rm $LIB/l.py", true),
        ("echo q > $LIB/tracked.gen", true),
        ("echo q > $LIB/sub/target/x.rs", true),
        ("echo x > $LIB/made.gen", false),
        ("mkdir -p $LIB/build/a && echo x > $LIB/build/a/out", false),
        ("mkdir -p $LIB/target && echo x > $LIB/target/out", false),
        ("cat $LIB/l.py", false),
    ];
    for (command, counts) in cases {
        for checked in [true, false] {
            let added = tempfile::tempdir().unwrap();
            // Only what lies in the folder says what is a cache in it.
            let lib = added.path().canonicalize().unwrap().join("target/lib");
            std::fs::create_dir_all(lib.join("sub/target")).unwrap();
            for (name, content) in [
                ("l.py", "V = 1"),
                ("tracked.gen", ""),
                ("sub/target/x.rs", ""),
                (".gitignore", "*.gen\n/build/\n"),
            ] {
                std::fs::write(lib.join(name), content).unwrap();
            }
            add_all(&lib);
            let command = command.replace("$LIB", lib.to_str().unwrap());
            let first = if checked { vec![write("a"), run(CHECK)] } else { vec![] };
            let replies = [first, vec![run(&command), text("done"), text("no")]].concat();
            let tools = core_tools(CoreToolOptions::default());
            let mut bench = bench_with(replies, tools, |options| {
                options.verify = vec![CHECK.into()];
                options.workspace = options.workspace.clone().with_root(&lib).unwrap();
            });
            let folder = bench.folder.path();
            std::fs::write(folder.join("check.sh"), "exit 0").unwrap();
            std::os::unix::fs::symlink(&lib, folder.join("link")).unwrap();
            let expected = match (counts, checked) {
                (true, _) => Some(Verification::Unverified),
                (false, true) => Some(Verification::Verified),
                (false, false) => None,
            };
            assert_eq!(state(&go(&mut bench).await), expected, "{command} {checked}");
            let asked = requests(&bench) == if checked { 5 } else { 3 };
            assert_eq!(asked, counts, "{command} {checked}");
        }
    }
}

#[tokio::test]
async fn a_file_that_a_submodule_tracks_counts_though_it_ignores_it() {
    let git = "git -c protocol.file.allow=always -c user.name=a -c user.email=b@c";
    for (file, counts) in [("sub/in.c", true), ("sub/deep/in.c", true), ("sub/made.c", false)] {
        let break_it = run(&format!("echo broken > {file}"));
        let mut bench =
            project(0, vec![write("a"), run(CHECK), break_it, text("done"), text("no")]);
        let elsewhere = tempfile::tempdir().unwrap();
        let script = format!(
            "for name in deep sub; do
                git init -q {0}/$name; cd {0}/$name; echo '*.c' > .gitignore; echo good > in.c
                test $name = deep || {git} submodule --quiet add {0}/deep deep
                git add -f .; {git} commit -qm 1
            done
            cd {1}; git init -q .; {git} submodule --quiet add {0}/sub sub
            {git} submodule --quiet update --init --recursive; git add .",
            elsewhere.path().display(),
            bench.folder.path().display()
        );
        let shell = std::process::Command::new("sh").args(["-ec", &script]).status();
        assert!(shell.unwrap().success());
        let expected = if counts { Verification::Unverified } else { Verification::Verified };
        assert_eq!(state(&go(&mut bench).await), Some(expected), "{file}");
    }
}

/// How it is known what commands change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undo {
    Watches,
    Compares,
    Off,
}

/// As [`checked_with`], with commands watched where the kernel can.
async fn checked_while(own: &str, others: &str, then: Vec<Reply>) -> (TurnOutcome, bool, Coverage) {
    checked_with(Undo::Watches, own, others, then).await
}

/// Runs a turn whose check does `own`, then waits while a person does `others`, both in the workspace; at
/// its end the model does as `then` says, if it is asked. Returns the outcome, whether it was asked, and how
/// the journal learns what commands change.
async fn checked_with(
    undo: Undo,
    own: &str,
    others: &str,
    then: Vec<Reply>,
) -> (TurnOutcome, bool, Coverage) {
    let state_folder = tempfile::tempdir().unwrap();
    let waits = tempfile::tempdir().unwrap();
    let script = |folder: &Path, script: &str| {
        let mut shell = std::process::Command::new("sh");
        let status = shell.args(["-ec", script]).current_dir(folder).status();
        assert!(status.unwrap().success(), "{script}");
    };
    let replies = [vec![write("a"), run(CHECK), text("done")], then].concat();
    let mut journal = None;
    let mut bench = bench_with(replies, core_tools(CoreToolOptions::default()), |options| {
        let mut wanted = JournalOptions::new(state_folder.path());
        wanted.by_comparison = undo == Undo::Compares;
        journal = Some(Journal::open(&options.workspace, wanted).unwrap());
        options.journal = journal.clone().filter(|_| undo != Undo::Off);
        options.verify = vec![CHECK.into()];
    });
    let folder = bench.folder.path().to_path_buf();
    script(waits.path(), "mkfifo begun go");
    script(
        &folder,
        "mkdir -p old/sub target; for f in a.c b.c d.c old/sub/x; do echo 1 > $f; done
        ln b.c named; echo '*.log' > .gitignore; git init -q .",
    );
    // The first run of it waits.
    let at = waits.path().display();
    let wait = format!("if mv {at}/go {at}/going; then echo > {at}/begun; read x < {at}/going; fi");
    std::fs::write(folder.join("check.sh"), format!("set -e\n{own}\n{wait}\n")).unwrap();
    let others = format!("read x < {at}/begun; {others}\necho > {at}/going");
    let person = std::thread::spawn(move || script(&folder, &others));
    let outcome = go(&mut bench).await;
    person.join().unwrap();
    (outcome, requests(&bench) > 3, journal.unwrap().coverage())
}

#[tokio::test]
async fn what_others_change_while_a_check_runs_is_not_checked() {
    for (others, file) in [
        ("echo 2 >> a.c", "a.c"),
        ("rm a.c", "a.c"),
        ("echo 2 > z.c", "z.c"),
        ("mv old new", "new/sub/x"),
        ("ln -sfn a.c d.c", "d.c"),
        ("echo 2 >> new.txt", "new.txt"),
    ] {
        let (outcome, asked, coverage) =
            checked_while("echo 1 > made", others, vec![text("no")]).await;
        if coverage == Coverage::ByComparison {
            return skipped("the kernel does not say here what a command writes");
        }
        assert_eq!((state(&outcome), asked), (Some(Verification::Unverified), true), "{others}");
        let receipt = outcome.receipt.unwrap();
        let reason = Unproven::ChangedMeanwhile { file: file.into() };
        assert_eq!((receipt.reason, receipt.checks.len()), (Some(reason), 1), "{others}");
        let again = vec![run(CHECK), text("It passes.")];
        let (outcome, ..) = checked_while("echo 1 > made", others, again).await;
        assert_eq!(state(&outcome), Some(Verification::Verified), "{others}");
        assert_eq!(outcome.receipt.unwrap().reason, None, "{others}");
    }
}

#[tokio::test]
async fn what_a_check_wrote_itself_is_its_own_however_it_did_so() {
    for own in [
        "true",
        "echo 2 > a.c; echo 1 > made",
        "mkdir -p out/a/b && seq 300 | while read n; do echo $n > out/a/b/$n; done",
        "seq 300 | while read n; do echo $n > made$n; done",
        "cp a.c kept && cat kept > a.c",
        "touch a.c",
        "mv old new; echo 2 > new/sub/y",
        "mv a.c e.c; mv e.c a.c",
        "rm -r old",
        "echo 2 > b.c",
        "rm b.c",
        "ln a.c more",
        "chmod 600 a.c; ln -sfn a.c d.c",
        "sed -i s/1/2/ a.c b.c d.c",
        "(sleep 0.01; echo 2 > a.c) & wait",
        "echo 1 > target/x; echo 1 > x.log; git add -A",
        "truncate -s 0 a.c; dd if=/dev/zero of=d.c bs=1 count=9 conv=notrunc 2> /dev/null",
    ] {
        for others in ["true", "echo 2 > target/y; echo 2 > y.log; cat a.c || true"] {
            let (outcome, asked, coverage) = checked_while(own, others, vec![text("no")]).await;
            if coverage == Coverage::ByComparison {
                return skipped("the kernel does not say here what a command writes");
            }
            assert_eq!(outcome.receipt.as_ref().and_then(|it| it.reason.as_ref()), None, "{own}");
            assert_eq!((state(&outcome), asked), (Some(Verification::Verified), false), "{own}");
        }
    }
}

#[tokio::test]
async fn where_nobody_watches_what_changes_while_a_check_runs_is_not_checked() {
    for undo in [Undo::Compares, Undo::Off] {
        for (own, others, file) in [
            ("true", "echo 2 >> a.c", "a.c"),
            ("true", "rm a.c", "a.c"),
            ("true", "echo 2 > z.c", "z.c"),
            ("echo 1 > made", "true", "made"),
        ] {
            let (outcome, asked, _) = checked_with(undo, own, others, vec![text("no")]).await;
            let what = format!("{undo:?} {own} {others}");
            assert_eq!((state(&outcome), asked), (Some(Verification::Unverified), true), "{what}");
            let reason = Some(Unproven::NotToldApart { file: file.into() });
            assert_eq!(outcome.receipt.unwrap().reason, reason, "{what}");
        }
        let again = vec![run(CHECK), text("It passes.")];
        let (outcome, ..) = checked_with(undo, "true", "echo 2 >> a.c", again).await;
        assert_eq!(state(&outcome), Some(Verification::Verified), "{undo:?}");
        let kept = "echo 2 > y.log; chmod 600 a.c";
        let (outcome, asked, _) = checked_with(undo, "true", kept, vec![text("no")]).await;
        assert_eq!((state(&outcome), asked), (Some(Verification::Verified), false), "{undo:?}");
    }
}
