//! A yes to every conflict that is named: the tree is as it was before the calls, but for what a person did
//! beside that, wherever they had moved things meanwhile; and a redo brings theirs back.
//!
//! `TENON_FUZZ_NAMED` and `TENON_FUZZ_SEED` say how many random chains there are, and from which seed.

#![expect(clippy::indexing_slicing, reason = "numbers below the length of a list")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tenon_sandbox::{CheckpointId, Conflicts, JournalError, Undone};

use super::fuzz::{Numbers, setting};
use super::tree::{Entry, Tree, difference};
use super::{Scene, Walls};

/// What there is, calls, and what a person does then.
type Case = (&'static str, &'static [&'static str], &'static str);

const EXCHANGED: &[Case] = &[
    ("echo 1 > a; echo 2 > b", &["echo 3 > a; echo 4 > b"], "mv a .x; mv b a; mv .x b"),
    ("echo 1 > a; echo 2 > b", &["echo 3 >> a; echo 4 >> b"], "mv a .x; mv b a; mv .x b"),
    ("echo 1 > a; echo 2 > b", &["chmod 600 a b"], "mv a .x; mv b a; mv .x b"),
    ("echo 1 > a; echo 2 > b", &["echo 3 >> a", "echo 4 > b"], "mv a .x; mv b a; mv .x b"),
    ("echo 1 > a; echo 2 > b", &["mv a c; echo 3 >> b"], "mv c .x; mv b c; mv .x b"),
    ("echo 1 > a; echo 2 > b", &["mv a c; mv b d"], "mv c .x; mv d c; mv .x d"),
    (
        "echo 1 > a; echo 2 > b; echo 3 > c",
        &["echo 4 > a; echo 5 >> b; chmod 600 c"],
        "mv a .x; mv b a; mv c b; mv .x c",
    ),
    ("ln -s 1 a; ln -s 2 b", &["touch -h a b"], "mv a .x; mv b a; mv .x b"),
    (
        "mkdir d e; echo 1 > d/f; echo 2 > e/g; echo 3 > d/h",
        &["echo 4 > d/f; echo 5 >> e/g; chmod 700 d e"],
        "mv d .x; mv e d; mv .x e",
    ),
    (
        "mkdir d e; echo 1 > d/f; echo 2 > e/g",
        &["echo 4 > d/n; rm e/g"],
        "mv d .x; mv e d; mv .x e",
    ),
    (
        "mkdir d e f; echo 1 > d/1; echo 2 > e/2; echo 3 > f/3",
        &["echo n > d/n; echo n > e/n", "chmod 700 f; mv f/3 f/4"],
        "mv d .x; mv e d; mv f e; mv .x f",
    ),
    ("mkdir d e; echo 1 > d/f; echo 2 > e/g", &["mv d n; mv e m"], "mv n .x; mv m n; mv .x m"),
    // Over a name that a call had made.
    ("echo 1 > a", &["echo 2 >> a; echo 3 > n"], "mv a n"),
    ("echo 1 > a", &["echo 2 >> a; mkdir n"], "mv a n/a"),
    ("mkdir d; echo 1 > d/f", &["echo 2 >> d/f; chmod 700 d; mkdir n"], "mv d n/d"),
    ("mkdir d; echo 1 > d/f", &["chmod 700 d", "mkdir n"], "mv d n/d"),
    ("echo 1 > a", &["echo 2 >> a", "mkdir n"], "mv a n/a"),
    // Of another kind.
    ("echo 1 > a", &["echo 2 > a"], "rm a; mkdir a; echo p > a/p"),
    ("mkdir d; echo 1 > d/f", &["echo 2 > d/f"], "rm d/f; mkdir d/f"),
    // A file with a folder of which no log speaks.
    (
        "mkdir d; echo 1 > a; echo 2 > d/f; echo 3 > d/g",
        &["echo 4 >> a; echo 5 >> d/f"],
        "mv a .x; mv d a; mv .x d",
    ),
    (
        "mkdir -p d/e; echo 1 > a; echo 2 > d/e/f; echo 3 > d/g",
        &["echo 4 > a; echo 5 > d/e/f"],
        "mv a .x; mv d a; mv .x d; echo p >> d; echo p >> a/e/f",
    ),
    ("mkdir d; echo 1 > a; echo 2 > d/f", &["echo 4 > a", "echo 5 >> d/f"], "rm a; mv d a"),
    ("mkdir d; echo 1 > d/f; echo 2 > d/g", &["echo 3 >> d/f; mkdir n"], "mv d n/d; echo p > d"),
    ("mkdir -p d/e; echo 1 > d/e/f", &["rm d/e/f"], "rm -r d; echo p > d"),
    // All of it.
    ("mkdir -p d/e; echo 1 > d/e/f", &["mv d n; echo 2 > n/e/f"], "rm -r n/e"),
    ("mkdir a", &["echo t > t; mv t a/f", "chmod 750 a"], "rm -rf a"),
];

/// The same where somebody's own things stay, and what they are.
const MOVED: &[(Case, &[&str])] = &[
    (("mkdir d; echo 1 > d/f", &["echo 2 > d/f"], "mv d/f m"), &["m"]),
    (("mkdir d; echo 1 > d/f", &["echo 2 >> d/f"], "mv d/f m"), &["m"]),
    (("mkdir d; echo 1 > d/f", &["chmod 600 d/f"], "mv d/f m"), &["m"]),
    (("mkdir d; echo 1 > d/f", &["echo 2 >> d/f"], "mv d m; ln -s m d"), &["m", "m/f"]),
    (("mkdir d; echo 1 > d/f", &["echo 2 > d/f"], "mv d/f m; echo 3 >> m"), &["m"]),
    (("mkdir d; echo 1 > d/f", &["mv d/f d/g"], "mv d/g m"), &["m"]),
    // What the call left as it was is nothing of the undo's.
    (("echo 1 > e; echo 2 > d", &["mv d x; mv e d; mv -T x d"], "mv d m"), &["d", "m"]),
    (("mkdir d; echo 1 > d/f", &["mv d e; echo 2 >> e/f"], "mv e/f m"), &["m"]),
    // The call did nothing to the folders, and nobody knows that they were exchanged.
    (
        (
            "mkdir d e; echo 1 > d/f; echo 2 > e/f; echo 3 > d/h",
            &["echo 4 > d/f; echo 5 >> e/f"],
            "mv d .x; mv e d; mv .x e",
        ),
        &["d/h", "e/h"],
    ),
    (("echo 1 > a; echo 2 > b", &["echo 3 > a"], "mv a .x; mv b a; mv .x b"), &["b"]),
    (("echo 1 > a; echo 2 > b", &["echo 3 >> a"], "mv a .x; mv b a; mv .x b"), &["b"]),
    // A call that failed to put something over a file has kept it.
    (("echo 1 > a; echo 2 > b", &["mv -T x/y b; echo n > n", "truncate -s 0 b"], "mv a b"), &["a"]),
    (("echo 1 > d", &["mv -T x/y d; echo n > n", "mkdir b"], "mv d c"), &["c", "d"]),
    (("echo 1 > d", &["mv -T x/y d; echo n > n", "echo 2 > d"], "mv d c"), &["c"]),
];

fn person(scene: &Scene, script: &str) {
    let mut command = std::process::Command::new("bash");
    let script = format!("umask 022; sleep 0.02; {script}");
    assert!(command.arg("-c").arg(script).current_dir(scene.root()).status().unwrap().success());
}

/// How things were before the calls, after them, and when a person had come.
struct Trees {
    before: Tree,
    called: Tree,
    theirs: Tree,
}

impl Trees {
    /// What is neither as it was nor somebody's own, in words.
    fn wrong(&self, now: &Tree, is_theirs: impl Fn(&Path) -> bool) -> String {
        let mut wanted = self.before.clone();
        let paths = self.before.keys().chain(self.theirs.keys());
        for path in paths.filter(|path| is_theirs(path)) {
            match self.theirs.get(path) {
                Some(theirs) => wanted.insert(path.clone(), theirs.clone()),
                None => wanted.remove(path),
            };
        }
        // When something in it was last changed nobody knows of a folder that no call changed.
        let times = |path: &Path| {
            let (before, called) = (self.before.get(path), self.called.get(path));
            before.zip(called).is_some_and(|(before, called)| !before.has_same_time(called))
        };
        let without = |tree: &Tree| -> Tree {
            let entry = |(path, entry): (&PathBuf, &Entry)| {
                let keeps = !entry.is_folder() || times(path);
                (path.clone(), if keeps { entry.clone() } else { entry.without_time() })
            };
            tree.iter().map(entry).collect()
        };
        difference(&without(&wanted), &without(now))
    }
}

fn undo(scene: &Scene, ids: &[CheckpointId], yes: &Conflicts) -> Result<Undone, JournalError> {
    scene.journal.undo(ids, "session", yes)
}

/// Undoes all with a yes to each conflict by its name.
fn undo_named(scene: &Scene, ids: &[CheckpointId]) -> (Vec<PathBuf>, Result<Undone, JournalError>) {
    let refused = undo(scene, ids, &Conflicts::Refuse);
    let Ok(Undone::Conflicts(found)) = refused else { return (Vec::new(), refused) };
    let named: Vec<PathBuf> = found.into_iter().map(|found| found.path).collect();
    let outcome = undo(scene, ids, &Conflicts::Overwrite(named.clone()));
    (named, outcome)
}

fn check((before, calls, edit): &Case, theirs: &[&str]) {
    let what = format!("{before}; {calls:?}, then {edit}");
    let scene = Scene::new(Walls::None);
    scene.prepare(&format!("umask 022; {before}; touch -d @1000000000 *"));
    let before = scene.tree();
    let ids: Vec<CheckpointId> =
        calls.iter().map(|call| scene.change(&format!("umask 022; {call}"))).collect();
    let called = scene.tree();
    person(&scene, edit);
    let trees = Trees { before, called, theirs: scene.tree() };
    let (named, outcome) = undo_named(&scene, &ids);
    let Ok(Undone::Done { id, .. }) = outcome else { panic!("{what}: {named:?} {outcome:?}") };
    let is_theirs = |path: &Path| theirs.iter().any(|theirs| Path::new(theirs) == path);
    let wrong = trees.wrong(&scene.tree(), is_theirs);
    assert!(wrong.is_empty(), "{what}: {named:?}\n{wrong}");
    let undone = scene.tree();
    let redone = scene.undo(id);
    assert_eq!(difference(&trees.theirs, &scene.tree()), "", "redo of {what}");
    scene.undo(redone);
    assert_eq!(difference(&undone, &scene.tree()), "", "undo again of {what}");
}

#[test]
fn what_a_person_exchanged_is_as_before_the_calls_after_a_yes_to_all_that_is_named() {
    for case in EXCHANGED {
        check(case, &[]);
    }
}

#[test]
fn what_a_person_moved_away_stays_as_it_is_and_its_place_gets_a_file_of_its_own() {
    for (case, theirs) in MOVED {
        check(case, theirs);
    }
}

#[test]
fn a_folder_that_a_person_exchanged_with_one_that_no_call_touched_has_its_name_again() {
    for call in ["echo 3 > d/f; echo 4 > d/n", "rm d/f", "chmod 700 d"] {
        let scene = Scene::new(Walls::None);
        scene.prepare("umask 022; mkdir d e; echo 1 > d/f; echo 2 > e/g; touch -d @1000000000 d");
        let before = scene.tree();
        let id = scene.change(&format!("umask 022; {call}"));
        person(&scene, "mv d .x; mv e d; mv .x e");
        let theirs = scene.tree();
        let (named, outcome) = undo_named(&scene, &[id]);
        let Ok(Undone::Done { id, .. }) = outcome else { panic!("{call}: {named:?} {outcome:?}") };
        let is_in_d = |(path, _): &(PathBuf, Entry)| path.starts_with("d");
        let in_d = |tree: Tree| -> Tree { tree.into_iter().filter(is_in_d).collect() };
        assert_eq!(difference(&in_d(before), &in_d(scene.tree())), "", "{call}: {named:?}");
        scene.undo(id);
        assert_eq!(difference(&theirs, &scene.tree()), "", "redo of {call}");
    }
}

/// So many calls are undone as one.
const CALLS: usize = 3;

/// Something that a call or a person does.
fn act(numbers: &mut Numbers, is_call: bool) -> String {
    let (one, two, number) = (numbers.name(), numbers.name(), numbers.next(1000));
    match numbers.next(16) {
        0..2 => format!("echo {number} > {one}"),
        2 => format!("echo {number} >> {one}"),
        3 => format!("mkdir -p {one}"),
        4 => format!("rm -rf {one}"),
        5 => format!("echo {number} > new; mv -T new {one} || rm new"),
        6..9 => format!("mv -T {one} {two}"),
        9 if is_call => format!(
            "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100,b'{one}',-100,b'{two}',2)\""
        ),
        9..12 => format!(
            "[[ ! -e {one} || ! -e {two} ]] || mv -T {one} .x && mv -T {two} {one}; mv -T .x {two} || mv -T .x {one}"
        ),
        12 => format!("chmod {} {one}", ["700", "755", "600", "750"][number % 4]),
        13 => format!("ln -sT {two} {one}"),
        14 => format!("touch -d @{number} {one}"),
        _ => format!("truncate -cs {} {one}", number % 5),
    }
}

/// What there is, what calls do, each followed by what a person does, and what one does in the end.
#[derive(Clone)]
struct Chain(Vec<Vec<String>>);

impl Chain {
    fn new(seed: u64) -> Self {
        let mut numbers = Numbers::new(seed);
        let mut acts = |count, is_call| -> Vec<String> {
            (0..count).map(|_| act(&mut numbers, is_call)).collect()
        };
        let mut parts = vec![acts(14, false)];
        for _ in 0..CALLS {
            parts.push(acts(3, true));
            // With half of them nobody comes between the calls.
            parts.push(if seed.is_multiple_of(2) { acts(2, false) } else { Vec::new() });
        }
        parts.push(acts(3, false));
        parts[0].push("mkdir -p a/b; echo 1 > a/b/c; echo 2 > d".to_owned());
        Self(parts)
    }

    fn script(&self, part: usize) -> String {
        format!("umask 022\nexec 2>/dev/null\n{}\ntrue", self.0[part].join("\n"))
    }

    /// Has all of it done.
    fn run(&self, scene: &Scene) -> (Vec<CheckpointId>, History) {
        let (mut ids, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        person(scene, &self.script(0));
        for call in 0..CALLS {
            before.push(scene.tree());
            ids.extend(scene.run(&self.script(2 * call + 1)).1.id);
            after.push(scene.tree());
            person(scene, &self.script(2 * call + 2));
        }
        person(scene, &self.script(2 * CALLS + 1));
        (ids, History { before, after, now: scene.tree() })
    }
}

/// How something was and is after each call and each person, by its path.
struct History {
    /// Before each call.
    before: Vec<Tree>,
    /// After each call.
    after: Vec<Tree>,
    now: Tree,
}

impl History {
    /// Whether something that an undo with a yes to all that is `named` left there is right: as it was before
    /// the first call that changed it, or before all. Of what no call changed no log speaks. It is as somebody
    /// had it, or it went along with its folder, or it made way.
    fn is_right(&self, path: &Path, undone: &Tree, named: &[PathBuf]) -> bool {
        let is = |tree: &Tree| is_alike(tree.get(path), undone.get(path));
        let mut calls = self.before.iter().zip(&self.after);
        let first = calls.find(|(before, after)| !is_alike(before.get(path), after.get(path)));
        let is_untouched = || {
            is(&self.now)
                || self.before.iter().skip(1).any(is)
                || match undone.get(path) {
                    Some(entry) => self.went_along(path, entry, undone),
                    None => self.made_way(path, undone, named),
                }
        };
        self.before.first().is_some_and(is)
            || self.is_nobodys(path, undone)
            || first.map_or_else(is_untouched, |(before, _)| is(before))
    }

    /// Whether something is where it was in a folder that somebody or a call had moved.
    fn went_along(&self, path: &Path, entry: &Entry, undone: &Tree) -> bool {
        let is = |now: &Entry| {
            let is_then = now.is_folder() || now.has_same_time(entry);
            is_then && now.has_same_bytes(entry) && now.has_same_rights(entry)
        };
        let is_same = |now: &Path| self.now.get(now).is_some_and(is);
        path.ancestors().skip(1).filter(|above| undone.contains_key(*above)).any(|above| {
            let rest = path.strip_prefix(above).unwrap();
            let mut folders = self.now.iter().filter(|(_, now)| now.is_folder());
            folders.any(|(folder, _)| folder != above && is_same(&folder.join(rest)))
        })
    }

    /// Whether something that is not there was gone, or somebody had moved it: it is there by another name
    /// still, or it was at one that a yes was said to.
    fn made_way(&self, path: &Path, undone: &Tree, named: &[PathBuf]) -> bool {
        let Some(was) = self.before[0].get(path).filter(|was| !was.is_folder()) else {
            return true;
        };
        let is = |now: &Entry| was.has_same_bytes(now) && was.has_same_time(now);
        let is_named = |now: &Path| named.iter().any(|named| now.starts_with(named));
        undone.values().any(is) || self.now.iter().all(|(path, now)| !is(now) || is_named(path))
    }

    /// Whether somebody wrote over a file, put another in its place, or removed something where a folder had
    /// taken it, while no call had changed or removed it: nobody has it.
    fn is_nobodys(&self, path: &Path, undone: &Tree) -> bool {
        let is_theirs = match undone.get(path) {
            Some(entry) => {
                let mut theirs = self.now.values();
                !entry.is_folder() && theirs.any(|now| now.has_same_bytes(entry))
            }
            None => true,
        };
        let is_lost = |was: &Entry| {
            let is = |entry: &Entry| was.has_same_bytes(entry) && was.has_same_time(entry);
            let has = |tree: &Tree| tree.values().any(is);
            let mut calls = self.before.iter().zip(&self.after);
            calls.all(|(before, after)| !has(before) || has(after)) && !has(&self.now)
        };
        is_theirs && self.before.iter().filter_map(|before| before.get(path)).any(is_lost)
    }
}

/// Whether both are alike, but for the time of a folder.
fn is_alike(one: Option<&Entry>, other: Option<&Entry>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) if one.is_folder() => one.without_time() == other.without_time(),
        (one, other) => one == other,
    }
}

/// Says whether all of it could be put back, and what is wrong.
fn random(chain: &Chain) -> Result<bool, String> {
    let scene = Scene::new(Walls::None);
    let (ids, history) = chain.run(&scene);
    let (named, outcome) = undo_named(&scene, &ids);
    let say = |what: &str| {
        let parts: Vec<String> = chain.0.iter().map(|part| part.join("\n")).collect();
        format!("{what} {named:?}\n{}", parts.join("\n---\n"))
    };
    let is = |expected: &Tree, what: &str| match difference(expected, &scene.tree()) {
        rest if rest.is_empty() => Ok(()),
        rest => Err(format!("{rest}\n{}", say(what))),
    };
    let id = match outcome {
        Ok(Undone::Done { id, .. }) => id,
        // What a person wrote over nobody has.
        Err(JournalError::NotRestored { .. }) => {
            return is(&history.now, &format!("untouched {outcome:?}")).map(|()| false);
        }
        other => return Err(format!("{other:?}\n{}", say("undo"))),
    };
    let undone = scene.tree();
    let paths: BTreeSet<&PathBuf> =
        history.before.iter().chain([&undone]).flat_map(Tree::keys).collect();
    let is_linked = |path: &PathBuf| {
        let entry = undone.get(path);
        let mut others = undone.iter().filter(|(other, _)| *other != path);
        entry.is_some_and(|entry| others.any(|(_, other)| other.is_same_file(entry)))
    };
    let is_wrong = |path: &&PathBuf| is_linked(path) || !history.is_right(path, &undone, &named);
    let wrong: Vec<&PathBuf> = paths.into_iter().filter(is_wrong).collect();
    if !wrong.is_empty() {
        let entries = |path: &PathBuf| {
            let trees = [&history.before[0], &history.now, &undone].map(|tree| tree.get(path));
            format!("{path:?} {trees:?}")
        };
        let wrong: Vec<String> = wrong.into_iter().map(entries).collect();
        return Err(say(&format!("wrong {}, named", wrong.join("\n"))));
    }
    let redo = |id, what: &str| match undo(&scene, &[id], &Conflicts::Refuse) {
        Ok(Undone::Done { id, .. }) => Ok(id),
        other => Err(format!("{other:?}\n{}", say(what))),
    };
    let redone = redo(id, "redo")?;
    is(&history.now, "redo")?;
    redo(redone, "undo again")?;
    is(&undone, "undo again")?;
    Ok(true)
}

#[test]
fn what_a_yes_names_is_as_before_the_calls_and_a_redo_brings_theirs_back() {
    let (count, seed) = (setting("TENON_FUZZ_NAMED", 40), setting("TENON_FUZZ_SEED", 1));
    let (mut done, mut wrong) = (0, Vec::new());
    for seed in seed..seed + count {
        match random(&Chain::new(seed)) {
            Ok(is_done) => done += u64::from(is_done),
            Err(why) => wrong.push(format!("seed {seed}: {why}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n======\n"));
    assert!(done * 10 >= count * 9, "{done} of {count} could be undone");
}
