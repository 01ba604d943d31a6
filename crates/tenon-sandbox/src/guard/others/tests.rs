#![expect(clippy::disallowed_methods, reason = "plays the commands and the person")]

use std::fs;

use super::super::{Guard, Journaled, ProtectedChange};
use super::*;

/// A workspace, and guards of sessions in it or beneath it.
struct Place {
    top: tempfile::TempDir,
    root: PathBuf,
    guards: Vec<Guard>,
    roots: Vec<PathBuf>,
}

impl Place {
    fn new(setup: &str, roots: &[&str]) -> Self {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().canonicalize().unwrap();
        let (root, state) = (folder.join("work"), folder.join("state"));
        fs::create_dir_all(&root).unwrap();
        shell(&root, setup);
        let guard = |_: &&str| {
            Guard::new(crate::GUARDED_FOLDERS_MAX, Default::default(), Some(state.clone()))
        };
        let guards = roots.iter().map(guard).collect();
        let at = |beneath: &&str| match *beneath {
            "" => root.clone(),
            beneath => root.join(beneath),
        };
        let roots = roots.iter().map(at).collect();
        Self { top, root, guards, roots }
    }

    fn begin(&mut self, session: usize) {
        let root = self.roots[session].clone();
        self.guards[session].begin(&[root], &[], Journaled::Needless).unwrap();
    }

    fn end(&mut self, session: usize) -> Vec<ProtectedChange> {
        let changes = self.guards[session].end(None);
        assert!(changes.iter().all(|change| change.put_back), "{changes:?}");
        changes
    }

    /// What is in a file, but for space at its end.
    fn read(&self, name: &str) -> String {
        let text = fs::read_to_string(self.root.join(name)).unwrap_or_else(|_| "-".into());
        text.trim_end().to_owned()
    }

    fn running(&self) -> PathBuf {
        self.top.path().join("state").join(FOLDER).join(RUNNING)
    }
}

fn shell(folder: &Path, script: &str) {
    let status = std::process::Command::new("bash")
        .args(["-c", &format!("set -e; {script}")])
        .current_dir(folder)
        .env("HOME", "/nonexistent")
        .status();
    assert!(status.unwrap().success(), "{script}");
}

/// Sessions are in the folders `roots`. `A+` begins a command of the first one, `A-` ends it, everything
/// else is what somebody does in the workspace.
#[track_caller]
fn check(setup: &str, roots: &[&str], steps: &[&str], expected: &[(&str, &str)]) {
    let mut place = Place::new(setup, roots);
    for step in steps {
        let session = || usize::from(step.as_bytes()[0] - b'A');
        match step.strip_prefix(|letter: char| letter.is_ascii_uppercase()) {
            Some("+") => place.begin(session()),
            Some("-") => drop(place.end(session())),
            _ => shell(&place.root, step),
        }
    }
    let found: Vec<_> = expected.iter().map(|(name, _)| (*name, place.read(name))).collect();
    let found: Vec<_> = found.iter().map(|(name, text)| (*name, text.as_str())).collect();
    assert_eq!(found, expected, "{steps:?}");
}

const EVIL_FILES: &str = "echo evil > .envrc; echo evil > .mcp.json";

const EVIL: &str = "echo evil > .envrc; echo evil > .mcp.json; rm -f .zed/tasks.json; \
                    git config core.fsmonitor evil";

#[test]
fn what_another_session_writes_is_not_taken_for_what_was_there() {
    let setup = "git init -q; echo own > .envrc; mkdir .zed; echo own > .zed/tasks.json; \
                 printf '[core]\n\tbare = false\n' > .git/config";
    let kept = [
        (".envrc", "own"),
        (".mcp.json", "-"),
        (".zed/tasks.json", "own"),
        (".git/config", "[core]\n\tbare = false"),
    ];
    let of = |roots: &[&str], steps: &[&str]| check(setup, roots, steps, &kept);
    let two = ["", ""];
    of(&two, &["A+", EVIL, "B+", "A-", "B-"]);
    of(&two, &["A+", EVIL, "B+", "B-", "A-"]);
    of(&two, &["A+", "B+", EVIL, "A-", EVIL, "B-"]);
    // A chain in which none is there all the time.
    of(&["", "", ""], &["A+", EVIL, "B+", "A-", EVIL, "C+", "B-", EVIL, "A+", "C-", EVIL, "A-"]);
    // What one does again and again, another need not see.
    of(&two, &["A+", "A+", EVIL, "B+", "A-", EVIL, "B-", "B+", "A-", "B-"]);
    // A session that ended is not asked.
    of(&two, &["A+", EVIL, "A-", "B+", EVIL, "B-"]);
}

#[test]
fn commands_of_sessions_in_the_same_folders_run_beside() {
    let mut place = Place::new("mkdir -p a/b c", &["a", "a/b", "c"]);
    let beside = |place: &mut Place, session: usize| {
        let roots = [place.roots[session].clone()];
        place.guards[session].runs_beside(&roots)
    };
    place.begin(0);
    assert_eq!([0, 1, 2].map(|session| beside(&mut place, session)), [true, true, false]);
    shell(&place.root, "echo evil > a/b/.envrc");
    assert!(beside(&mut place, 1) && place.read("a/b/.envrc") == "-");
    assert_eq!(place.end(0).len() + place.guards[1].look().len(), 1);
    assert_eq!([0, 1, 2].map(|session| beside(&mut place, session)), [false; 3]);
}

#[test]
fn a_look_before_a_write_puts_back_what_another_session_wrote() {
    let mut place = Place::new("echo own > .envrc", &["", ""]);
    let (envrc, roots) = (place.root.join(".envrc"), [place.root.clone()]);
    place.begin(0);
    shell(&place.root, EVIL_FILES);
    let told = place.guards[1].look_first(&envrc, &roots).unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!([place.read(".envrc"), place.read(".mcp.json")], ["own", "-"]);
    place.end(0);
    // Of what a person writes when nothing runs nobody knows better.
    shell(&place.root, "echo mine > .envrc");
    assert_eq!(place.guards[1].look_first(&envrc, &roots).unwrap(), []);
    assert_eq!(place.read(".envrc"), "mine");
}

#[test]
fn what_a_person_changes_between_commands_is_the_new_state() {
    let two = ["", ""];
    let steps = ["A+", EVIL, "B+", "A-", "B-", "echo new > .envrc", "B+", "A+", EVIL, "B-", "A-"];
    check("git init -q", &two, &steps, &[(".envrc", "new"), (".mcp.json", "-")]);
    let steps = ["A+", "A-", "rm .envrc", "B+", EVIL, "A+", "B-", "A-"];
    check("git init -q; echo own > .envrc", &two, &steps, &[(".envrc", "-")]);
}

#[test]
fn sessions_above_and_below_one_another_know_of_one_another() {
    let setup = "mkdir -p a/b; git init -q a; echo own > a/.envrc; echo own > a/.git/hooks/own";
    let evil = "cd a; echo evil > .envrc; echo evil > b/.envrc; rm .git/hooks/own; \
                echo evil > .git/hooks/new; git config core.pager evil";
    let kept = [
        ("a/.envrc", "own"),
        ("a/b/.envrc", "-"),
        ("a/.git/hooks/own", "own"),
        ("a/.git/hooks/new", "-"),
    ];
    for roots in [["", "a"], ["a", ""], ["a/.git", ""], ["", "a/.git"]] {
        let is_all = !roots.contains(&"a/.git");
        let kept = if is_all { &kept[..] } else { &kept[2..] };
        let evil = if is_all {
            evil
        } else {
            &evil.replace("echo evil > .envrc; echo evil > b/.envrc;", "")
        };
        check(setup, &roots, &["A+", evil, "B+", "A-", "B-"], kept);
        check(setup, &roots, &["A+", evil, "B+", "B-", "A-"], kept);
    }
    // What one cannot write the other one found.
    check(
        setup,
        &["a/b", "a"],
        &["A+", "echo new > a/.envrc", "B+", "A-", "B-"],
        &[("a/.envrc", "new")],
    );
}

#[test]
fn what_settings_include_is_known_of_others_too() {
    let setup = "git init -q; git config include.path ../inc; echo '[user]' > inc; \
                 git config --add include.path ../none";
    let evil = "git config -f inc core.pager evil; git config -f none core.pager evil; \
                git config --add include.path ../more; git config -f more core.pager evil";
    let kept = [("inc", "[user]"), ("none", "")];
    for steps in [["A+", evil, "B+", "A-", "B-"], ["A+", evil, "B+", "B-", "A-"]] {
        check(setup, &["", ""], &steps, &kept);
    }
}

#[test]
fn ordinary_work_beside_one_another_stays() {
    let work = "git config user.name n; git config user.email e; git init -q sub; echo a > sub/a; \
                git -C sub config user.name m; rm -rf gone";
    let setup = "git init -q; git init -q gone; echo own > gone/.git/hooks/own";
    let kept = [("gone/.git/hooks/own", "-"), ("sub/a", "a")];
    for steps in [["A+", work, "B+", "A-", "B-"], ["A+", work, "B+", "B-", "A-"]] {
        check(setup, &["", ""], &steps, &kept);
    }
    let copies = [("b/.envrc", "own"), ("c/.envrc", "-")];
    let work = "cp -r a b; mkdir c; echo evil > c/.envrc";
    for steps in [["A+", work, "B+", "A-", "B-"], ["A+", work, "B+", "B-", "A-"]] {
        check("mkdir a; echo own > a/.envrc", &["", ""], &steps, &copies);
    }
    let moved = [("b/.git/hooks/own", "own"), ("gone/.git/hooks/own", "-")];
    check(setup, &["", ""], &["A+", "mv gone b", "B+", "A-", "B-"], &moved);
}

/// Adds every order in which three sessions do three things each to `orders`. Which of them is called
/// which does not matter.
fn add_orders(done: [u8; 3], order: &mut Vec<usize>, orders: &mut Vec<Vec<usize>>) {
    if done == [3; 3] {
        orders.push(order.clone());
    }
    for session in 0..3 {
        if done[session] < 3 && (session == 0 || done[session - 1] > 0) {
            let mut next = done;
            next[session] += 1;
            order.push(session);
            add_orders(next, order, orders);
            order.pop();
        }
    }
}

#[test]
fn nothing_stays_in_whatever_order_commands_begin_write_and_end() {
    let mut place = Place::new(
        "echo own > .envrc; echo own > tasks; mkdir .zed; mv tasks .zed/tasks.json",
        &["", "", ""],
    );
    let mut orders = Vec::new();
    add_orders([0; 3], &mut Vec::new(), &mut orders);
    assert_eq!(orders.len(), 280);
    for order in orders {
        let mut done = [0; 3];
        for session in &order {
            match done[*session] {
                0 => place.begin(*session),
                1 => {
                    fs::write(place.root.join(".envrc"), session.to_string()).unwrap();
                    fs::write(place.root.join(".mcp.json"), session.to_string()).unwrap();
                    let _ = fs::remove_file(place.root.join(".zed/tasks.json"));
                }
                _ => drop(place.end(*session)),
            }
            done[*session] += 1;
        }
        let found = [".envrc", ".mcp.json", ".zed/tasks.json"].map(|name| place.read(name));
        assert_eq!(found, ["own", "-", "own"], "{order:?}");
    }
}

#[test]
fn upper_folders_count_where_there_are_too_many() {
    let setup = "mkdir -p {1..30}/{1..3}";
    let mut place = Place::new(setup, &["", ""]);
    place.guards[0].most = super::super::Limits::before(40);
    place.begin(0);
    shell(&place.root, "echo evil > .envrc; echo evil > 7/.envrc");
    place.begin(1);
    place.end(1);
    assert_eq!([".envrc", "7/.envrc"].map(|name| place.read(name)), ["-", "-"]);
    place.guards[0].end(None);
}

#[test]
fn files_of_sessions_that_are_no_more_go_and_what_cannot_be_read_stops_others() {
    let mut place = Place::new("true", &["", ""]);
    let count = |place: &Place| fs::read_dir(place.running()).unwrap().count();
    place.begin(0);
    place.end(0);
    fs::write(place.running().join(format!("dead{FORM}")), "").unwrap();
    fs::write(place.running().join("form-of-another-version.2"), "").unwrap();
    place.begin(1);
    assert_eq!(count(&place), 3);
    place.end(1);
    place.guards.pop();
    assert_eq!(count(&place), 2);
    place.begin(0);
    place.end(0);
    let other = fs::File::create(place.running().join(format!("odd{FORM}"))).unwrap();
    flock(&other, FlockOperation::LockExclusive).unwrap();
    let root = place.roots[0].clone();
    let begun = place.guards[0].begin(&[root], &[], Journaled::Needless);
    assert_eq!(begun, Err(Errno::BADMSG));
}
