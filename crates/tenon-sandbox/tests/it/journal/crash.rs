//! The agent is killed in the middle: its log alone is enough.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use tenon_sandbox::{
    CheckpointId, CheckpointInfo, CheckpointKind, CheckpointState, Conflicts, Expected, Journal,
    JournalError, JournalOptions, Trouble, Undone,
};

use super::tree::difference;
use super::{Scene, Walls};

/// Names the folder of a scene to the process that is killed.
const FOLDER: &str = "TENON_TEST_SCENE";

/// Starts this program again for one test of this file, and kills it when it says so.
fn kill_in(test: &str, folder: &std::path::Path) {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("journal::crash::{test}"), "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.map_while(Result::ok).any(|line| line.contains("NOW"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said, "{test} ended early");
}

/// The part that is killed; does nothing in an ordinary run.
#[test]
fn killed_while_a_command_runs() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    change_until_killed(&Scene::in_folder(folder.as_ref(), Walls::None, |_| {}));
}

fn change_until_killed(scene: &Scene) {
    let checkpoint = scene.begin();
    let script = "rm -r dir; echo c > text; mv other moved; mkdir new; echo x > new/x; chmod 600 keep; sleep 0.1; touch done; sleep 60";
    let sandbox = scene.sandbox.recording(&checkpoint);
    let root = scene.root();
    std::thread::spawn(move || {
        while !root.join("done").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        println!("NOW");
    });
    scene.start(script, &sandbox);
}

#[test]
fn the_log_alone_undoes_a_command_whose_agent_was_killed() {
    let scene = Scene::new(Walls::None);
    scene.prepare(
        "echo one > text; echo two > other; echo k > keep; mkdir -p dir/in; echo f > dir/in/f",
    );
    let before = scene.tree();
    kill_in("killed_while_a_command_runs", scene.top.path());
    let infos = scene.journal.checkpoints().unwrap();
    assert_eq!(infos.len(), 1);
    // Whatever the command started ends with the agent; until then its log may be held.
    let changes = scene.journal.changes(infos[0].id).unwrap();
    assert!(changes.summary().ends_with("the list may be incomplete"), "{}", changes.summary());
    assert_eq!(infos[0].state, CheckpointState::Interrupted);
    scene.undo(infos[0].id);
    assert_eq!(difference(&before, &scene.tree()), "");
}

/// The part that is killed; does nothing in an ordinary run.
#[test]
fn killed_while_a_file_is_written() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let scene = Scene::in_folder(folder.as_ref(), Walls::None, |_| {});
    let root = scene.root();
    std::thread::spawn(move || {
        // The new bytes have no name until they are whole.
        let is_nameless = |to: std::path::PathBuf| {
            to.starts_with(&root) && to.to_string_lossy().ends_with(" (deleted)")
        };
        let is_writing = || {
            let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            open.filter_map(|handle| std::fs::read_link(handle.path()).ok()).any(is_nameless)
        };
        while !is_writing() {
            std::thread::yield_now();
        }
        println!("NOW");
    });
    let workspace = scene.workspace.recording(&scene.begin());
    workspace.write("text", &vec![0; 128 << 20], Expected::Any).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_file_tool_that_was_killed_leaves_nothing_behind() {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text");
    let before = scene.tree();
    kill_in("killed_while_a_file_is_written", scene.top.path());
    assert_eq!(difference(&before, &scene.tree()), "");
}

fn compared(options: &mut JournalOptions) {
    options.by_comparison = true;
}

/// The part that is killed; does nothing in an ordinary run.
#[test]
fn killed_while_a_command_is_compared() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    change_until_killed(&Scene::in_folder(folder.as_ref(), Walls::None, compared));
}

/// A scene in which an agent was killed while a command ran that is compared, and how it was before.
fn killed_when_compared() -> (Scene, super::Tree) {
    let scene = Scene::at(&std::env::temp_dir(), Walls::None, compared);
    scene.prepare(
        "echo one > text; echo two > other; echo k > keep; mkdir -p dir/in; echo f > dir/in/f",
    );
    let before = scene.tree();
    kill_in("killed_while_a_command_is_compared", scene.top.path());
    (scene, before)
}

/// What is kept of the commands that are compared.
fn manifests(scene: &Scene) -> Vec<std::path::PathBuf> {
    let store = std::fs::read_dir(scene.journal.folders().remove(0)).unwrap().next();
    let manifests = std::fs::read_dir(store.unwrap().unwrap().path().join("compared"));
    manifests.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// Opens the journal as the next start does after a kill: once nobody holds what is kept of the commands. Another thread
/// ends a command that is dropped, each in its own time, and a child that is started holds locks for a moment.
pub(super) fn opened_after_kill(scene: &Scene) -> Journal {
    let is_free = |path: &std::path::PathBuf| {
        std::fs::File::open(path).is_ok_and(|manifest| manifest.try_lock().is_ok())
    };
    let is_running = |info: &CheckpointInfo| info.state == CheckpointState::Running;
    loop {
        // Whoever opens it compares what is free by then.
        if manifests(scene).iter().all(is_free) {
            let journal = scene.opened_again();
            if manifests(scene).is_empty() && !journal.checkpoints().unwrap().iter().any(is_running)
            {
                return journal;
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_command_that_was_to_be_compared_when_its_agent_was_killed_is_undone() {
    let (scene, before) = killed_when_compared();
    let again = Scene::in_folder(scene.top.path(), Walls::None, compared);
    let infos = again.journal.checkpoints().unwrap();
    assert_eq!(infos.len(), 1);
    let changes = again.journal.changes(infos[0].id).unwrap();
    assert_eq!(changes.troubles, [Trouble::Compared, Trouble::Interrupted]);
    assert_eq!(manifests(&again), Vec::<std::path::PathBuf>::new());
    let after = again.tree();
    let undone = again.undo(infos[0].id);
    assert_eq!(difference(&before, &again.tree()), "");
    again.undo(undone);
    assert_eq!(difference(&after, &again.tree()), "");
}

#[test]
fn another_session_at_work_keeps_what_a_killed_one_needs() {
    let (scene, before) = killed_when_compared();
    scene.run("true");
    let infos = scene.journal.checkpoints().unwrap();
    assert_eq!(infos.len(), 1);
    scene.undo(infos[0].id);
    assert_eq!(difference(&before, &scene.tree()), "");
}

#[test]
fn what_changed_long_after_a_killed_agent_is_asked_about() {
    let (scene, _) = killed_when_compared();
    let [manifest] = &manifests(&scene)[..] else { panic!("not one") };
    // As if all of it had changed later.
    let early = std::time::SystemTime::now() - Duration::from_secs(60);
    std::fs::File::open(manifest).unwrap().set_modified(early).unwrap();
    let again = Scene::in_folder(scene.top.path(), Walls::None, compared);
    let id = again.journal.checkpoints().unwrap()[0].id;
    let after = again.tree();
    match again.journal.undo(&[id], "session", &Conflicts::Refuse).unwrap() {
        Undone::Conflicts(found) => {
            let paths = found.iter().map(|conflict| conflict.path.to_str().unwrap());
            let paths: Vec<&str> = paths.collect();
            let expected = [".", "dir", "done", "keep", "moved", "new", "new/x", "other", "text"];
            assert_eq!(paths, expected);
        }
        done => panic!("{done:?}"),
    }
    assert_eq!(difference(&after, &again.tree()), "");
}

/// The part that is killed; does nothing in an ordinary run.
#[test]
fn killed_while_an_undo_runs() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let scene = Scene::in_folder(folder.as_ref(), Walls::None, |_| {});
    let infos = scene.journal.checkpoints().unwrap();
    let id = infos.iter().rfind(|info| info.kind == CheckpointKind::Call).unwrap().id;
    // Another moment each time.
    let moment = Duration::from_millis(u64::from(std::process::id() % 40));
    std::thread::spawn(move || {
        std::thread::sleep(moment);
        println!("NOW");
    });
    let _ = scene.journal.undo(&[id], "session", &Conflicts::Refuse);
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn an_undo_that_was_killed_is_taken_back_and_done_again() {
    let scene = Scene::new(Walls::None);
    scene.prepare("for d in 1 2 3 4 5 6; do mkdir -p t/$d; for i in $(seq 300); do echo $i > t/$d/$i; done; done");
    let before = scene.tree();
    let mut half_done = 0;
    for kills in [1, 2, 3, 2, 3, 4] {
        let id = scene.change("rm -r t/1 t/2 t/3; for f in t/4/*; do echo changed > $f; done; mv t/5 five; mkdir t/7; mv t/6 t/7; echo n > n");
        let after = scene.tree();
        // From the second on while that is taken back.
        (0..kills).for_each(|_| kill_in("killed_while_an_undo_runs", scene.top.path()));
        let infos = scene.journal.checkpoints().unwrap();
        half_done += infos
            .iter()
            .filter(|info| matches!(info.kind, CheckpointKind::Undo { .. }))
            .filter(|info| info.state == CheckpointState::Interrupted)
            .count();
        let info = infos.iter().find(|info| info.id == id).unwrap();
        if let CheckpointState::Undone { by } = info.state {
            // It was quick enough.
            assert_eq!(difference(&before, &scene.tree()), "");
            scene.undo(by);
            assert_eq!(difference(&after, &scene.tree()), "");
        }
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Refuse);
        match outcome {
            Ok(Undone::Done { .. }) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(difference(&before, &scene.tree()), "");
    }
    println!("{half_done} were killed in the middle");
}

fn log(id: CheckpointId) -> String {
    format!("{:012}", id.number())
}

fn end(id: CheckpointId) -> String {
    format!("ends/{}", log(id))
}

/// Cuts a file of the only checkpoint to `bytes`, as a power loss may leave it on the disk.
fn cut(scene: &Scene, name: &str, bytes: impl Fn(u64) -> u64) {
    let mut folders = scene.journal.folders();
    // An end is called as its log is.
    let is_end = name.starts_with("ends/");
    let mut cut = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(name) && path.with_file_name("").ends_with("ends") == is_end {
                let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
                file.set_len(bytes(file.metadata().unwrap().len())).unwrap();
                cut += 1;
            }
        }
    }
    assert_eq!(cut, 1, "{name}");
}

/// Takes away what is in a kept file, as a power loss may: then undo fails.
pub(super) fn empty_object(scene: &Scene, name: &str) {
    cut(scene, name, |_| 0);
}

/// A call that removes, writes and makes something, and its checkpoint.
fn changed() -> (Scene, CheckpointId) {
    let scene = Scene::new(Walls::None);
    scene.prepare("echo one > text; echo two > other; mkdir dir; echo f > dir/f");
    let id = scene.change("rm -r dir; echo changed > text; echo changed > other; echo n > new");
    (scene, id)
}

#[test]
fn what_a_power_loss_cut_is_not_undone_by_half() {
    for bytes in [1, 60, 300] {
        let (scene, id) = changed();
        let after = scene.tree();
        cut(&scene, &log(id), |length| length - bytes);
        let damaged = |error| matches!(error, JournalError::Damaged { .. });
        assert!(damaged(scene.journal.changes(id).unwrap_err()));
        assert!(damaged(scene.journal.undo(&[id], "session", &Conflicts::Refuse).unwrap_err()));
        assert_eq!(difference(&after, &scene.tree()), "");
    }
    let (scene, id) = changed();
    let after = scene.tree();
    cut(&scene, "o2", |_| 0);
    let error = scene.journal.undo(&[id], "session", &Conflicts::Refuse).unwrap_err();
    assert!(matches!(error, JournalError::NotRestored { .. }), "{error}");
    assert_eq!(difference(&after, &scene.tree()), "");
}

#[test]
fn an_end_that_a_power_loss_emptied_is_found_out_again() {
    let (scene, id) = changed();
    cut(&scene, &end(id), |_| 0);
    assert_eq!(scene.journal.checkpoints().unwrap()[0].state, CheckpointState::Interrupted);
    assert!(scene.journal.changes(id).unwrap().troubles.contains(&Trouble::Interrupted));
    scene.undo(id);
    assert_eq!(std::fs::read_to_string(scene.root().join("dir/f")).unwrap(), "f\n");
    assert!(!scene.root().join("new").exists());
}

#[test]
fn what_a_call_changed_is_listed_also_where_nothing_can_be_written() {
    let (scene, id) = changed();
    let listed = scene.journal.changes(id).unwrap().files;
    cut(&scene, &end(id), |_| 0);
    let store = std::fs::read_dir(scene.journal.folders().remove(0)).unwrap().next().unwrap();
    // The end is written under this name first.
    let new = store.unwrap().path().join(end(id) + ".new");
    std::fs::create_dir(&new).unwrap();
    let changes = scene.journal.changes(id).unwrap();
    assert_eq!((changes.files, changes.troubles), (listed, vec![Trouble::Interrupted]));
    assert!(scene.journal.undo(&[id], "session", &Conflicts::Refuse).is_err());
    std::fs::remove_dir(&new).unwrap();
    scene.undo(id);
}

/// Starts this program again for one test of this file; the kernel ends it when it makes a file, its
/// log or another, longer than this: not below what an undo reserves. Returns whether that was so.
fn ended_at(kibibytes: u64, test: &str, folder: &std::path::Path) -> bool {
    let script = format!("ulimit -c 0; ulimit -f {kibibytes}; exec \"$@\"");
    let mut child = std::process::Command::new("bash")
        .args(["-c", &script, "bash"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("journal::crash::{test}"), "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.wait().unwrap().signal() == Some(rustix::process::Signal::XFSZ.as_raw())
}

/// The part that is ended; does nothing in an ordinary run.
#[test]
fn undone_with_short_files() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let scene = Scene::in_folder(folder.as_ref(), Walls::None, |_| {});
    let infos = scene.journal.checkpoints().unwrap();
    let call = infos.iter().find(|info| info.kind == CheckpointKind::Call).unwrap();
    let _ = scene.journal.undo(&[call.id], "session", &Conflicts::Refuse);
}

/// A call whose undo writes much, and that was killed in the middle of it; how all was before.
fn half_undone() -> (Scene, CheckpointId, super::Tree, super::Tree) {
    let scene = Scene::new(Walls::None);
    scene.prepare(
        "mkdir w m g; for i in $(seq 800); do echo $i | tee w/$i m/$i > g/$i; done; seq 3000 > big",
    );
    let before = scene.tree();
    let id = scene.change(
        "for f in w/*; do echo changed > $f; done; echo more >> big; rm -r g; mkdir n; \
        python3 -c \"import os; [os.rename('m/' + name, 'n/' + name) for name in os.listdir('m')]\"",
    );
    let after = scene.tree();
    assert!(ended_at(300, "undone_with_short_files", scene.top.path()));
    let now = scene.tree();
    assert_ne!(difference(&before, &now), "");
    assert_ne!(difference(&after, &now), "");
    (scene, id, before, after)
}

#[test]
fn taking_an_undo_back_can_be_cut_short_again_and_again() {
    let (scene, id, before, after) = half_undone();
    for kibibytes in [270, 300, 330, 360, 390, 300, 270] {
        let is_cut_short = ended_at(kibibytes, "undone_with_short_files", scene.top.path());
        let infos = scene.journal.checkpoints().unwrap();
        match infos.iter().find(|info| info.id == id).unwrap().state {
            CheckpointState::Done => assert!(is_cut_short, "{kibibytes}"),
            // That was enough for all of it, which differs by some.
            CheckpointState::Undone { by } if !is_cut_short && kibibytes > 300 => {
                assert_eq!(difference(&before, &scene.tree()), "");
                scene.undo(by);
                assert_eq!(difference(&after, &scene.tree()), "");
            }
            other => panic!("{kibibytes}: {other:?}"),
        }
    }
    let undone = scene.undo(id);
    assert_eq!(difference(&before, &scene.tree()), "");
    let redone = scene.undo(undone);
    assert_eq!(difference(&after, &scene.tree()), "");
    scene.undo(redone);
    assert_eq!(difference(&before, &scene.tree()), "");
}

/// What a person does to a file that an undo put back before it was killed: in its place, as an editor does,
/// or away with it.
const SINCE: [&str; 4] =
    ["echo mine >> F", "printf mine | dd of=F conv=notrunc", "echo mine > new; mv new F", "rm F"];

#[test]
fn what_a_person_changes_after_an_undo_was_killed_is_theirs() {
    for edit in SINCE {
        let (scene, id, before, _) = half_undone();
        // One whose bytes are back, and one that is back itself.
        let now = scene.tree();
        let find = |folder: &str| {
            let mut files =
                before.keys().filter(|at| at.parent().is_some_and(|at| at.ends_with(folder)));
            files.find(|at| before.get(*at) == now.get(*at)).cloned()
        };
        let back: Vec<std::path::PathBuf> = ["w", "g"].into_iter().filter_map(find).collect();
        assert!(!back.is_empty(), "nothing was put back");
        // Longer than a step of an undo takes.
        std::thread::sleep(Duration::from_millis(200));
        for at in &back {
            scene.prepare(&edit.replace('F', at.to_str().unwrap()));
        }
        let is_there = |at: &std::path::PathBuf| {
            let text = std::fs::read_to_string(scene.root().join(at)).unwrap_or_default();
            text.contains("mine")
        };
        let has_words = edit != "rm F";
        let refused = scene.journal.undo(&[id], "session", &Conflicts::Refuse).unwrap();
        assert!(matches!(refused, Undone::Conflicts(_)) || !has_words, "{edit}: {refused:?}");
        assert!(back.iter().all(|at| is_there(at) == has_words), "{edit}");
        if let Undone::Conflicts(_) = refused {
            let done = scene.journal.undo(&[id], "session", &Conflicts::Keep).unwrap();
            assert!(matches!(done, Undone::Done { .. }), "{edit}: {done:?}");
        }
        assert!(back.iter().all(|at| is_there(at) == has_words), "{edit}");
        let mut expected = before.clone();
        let mut found = scene.tree();
        for at in &back {
            // With its folder, whose time is another.
            for path in [at.as_path(), at.parent().unwrap()] {
                expected.remove(path);
                found.remove(path);
            }
        }
        assert_eq!(difference(&expected, &found), "", "{edit}");
    }
}

#[test]
fn an_undo_that_is_half_done_stays_so_when_its_changes_are_listed() {
    let (scene, id, before, _) = half_undone();
    for info in scene.journal.checkpoints().unwrap() {
        let changes = scene.journal.changes(info.id).unwrap();
        assert_eq!(changes.troubles.contains(&Trouble::Interrupted), info.id != id);
    }
    let half_done = scene.journal.checkpoints().unwrap().pop().unwrap();
    assert_eq!(half_done.state, CheckpointState::Interrupted);
    scene.undo(id);
    assert_eq!(difference(&before, &scene.tree()), "");
}

/// As if the process of an undo had ended before it could write its end.
fn make_half_done(scene: &Scene, undone: CheckpointId) {
    let mut folders = scene.journal.folders();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(end(undone)) {
                std::fs::remove_file(path).unwrap();
            }
        }
    }
}

/// What there is, a call, and what a person does with what an undo put back before it was killed.
const MOVED_SINCE: &[(&str, &str, &str, &[&str])] = &[
    ("mkdir d; echo 1 > d/1", "mv d n", "mv d e; echo mine > e/1", &["e", "e/1"]),
    ("mkdir d; echo 1 > d/1", "mv d n", "mv d e; echo mine > e/x", &["e", "e/1", "e/x"]),
    ("", "mkdir n; echo 1 > n/1", "mkdir n; echo mine > n/x", &["n", "n/x"]),
];

#[test]
fn a_folder_that_a_person_moves_after_an_undo_was_killed_stays_with_everything_in_it() {
    for (before, script, edit, expected) in MOVED_SINCE {
        let scene = Scene::new(Walls::None);
        scene.prepare(before);
        let id = scene.change(script);
        let undone = scene.undo(id);
        make_half_done(&scene, undone);
        std::thread::sleep(Duration::from_millis(200));
        scene.prepare(edit);
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Keep);
        let names: Vec<_> = scene.tree().into_keys().skip(1).collect();
        let expected: Vec<_> = expected.iter().map(std::path::PathBuf::from).collect();
        assert_eq!(names, expected, "{script}, then {edit}: {outcome:?}");
    }
}

/// What a person moved away after an undo was killed is no name of what the next one makes in its place.
#[test]
fn what_a_killed_undo_put_back_and_a_person_moved_is_no_link_of_what_the_next_one_makes() {
    for (before, script, edit, [theirs, own]) in [
        ("mkdir d; echo 1 > d/1", "rm -r d", "mv d e", ["e/1", "d/1"]),
        ("mkdir d; echo 1 > d/1", "rm d/1", "mv d/1 e", ["e", "d/1"]),
        ("echo 1 > a", "rm a", "mv a e", ["e", "a"]),
    ] {
        let scene = Scene::new(Walls::None);
        scene.prepare(before);
        let id = scene.change(script);
        let undone = scene.undo(id);
        make_half_done(&scene, undone);
        std::thread::sleep(Duration::from_millis(200));
        scene.prepare(edit);
        let outcome = scene.journal.undo(&[id], "session", &Conflicts::Keep);
        assert!(matches!(outcome, Ok(Undone::Done { .. })), "{script}: {outcome:?}");
        let tree = scene.tree();
        let [theirs, own] = [theirs, own].map(|path| tree.get(std::path::Path::new(path)));
        let theirs = theirs.unwrap_or_else(|| panic!("{script}: {outcome:?}"));
        // What was moved may be all there is of it.
        assert!(own.is_none_or(|own| !own.is_same_file(theirs)), "{script}: {outcome:?}");
    }
}
