//! What rules forbid to change stays as it is, whatever program a command runs.

use std::path::Path;
use std::sync::Arc;

use tenon_sandbox::{Changes, Exit, Forbids, Output, Trouble};

use super::tree::{Tree, tree};
use super::{Scene, Walls, as_ordinary_user};
use crate::support::shown;
use crate::walls::printed;

const BY: &str = "write(src/a)";

/// What is there before.
const SETTING: &str = "umask 022; mkdir -p src/deep other; echo old > src/a; echo free > src/b; \
                       echo lock > src/deep/x.lock; echo other > other/a; ln -s src way; \
                       git init -q .; git add src/a; git commit -qm one; echo newer > src/a; \
                       git commit -qam two";

/// `src/a`, and every file that ends in `.lock` and is not git's own.
struct Rules {
    root: std::path::PathBuf,
}

impl Rules {
    fn means(&self, path: &Path) -> bool {
        let beneath = path.strip_prefix(&self.root).unwrap_or(path);
        !beneath.starts_with(".git")
            && (beneath == Path::new("src/a") || path.extension().is_some_and(|it| it == "lock"))
    }
}

impl Forbids for Rules {
    fn forbids(&self, path: &Path) -> Option<String> {
        self.means(path).then(|| BY.to_owned())
    }

    fn may_forbid_beneath(&self, folder: &Path) -> bool {
        !folder.starts_with(self.root.join("other"))
    }
}

const WRITES: &[&str] = &[
    "echo x > src/a",
    "echo x >> src/a",
    "echo x >| way/a",
    "cd src && echo x > ./deep/../a",
    "exec 3< src/a; echo x > /proc/self/fd/3",
    "(sleep 0.05; echo x > src/a) & wait",
    "sed -i s/n/x/ src/a",
    "perl -i -pe s/n/x/ src/a",
    "truncate -s 0 src/a",
    "dd if=/dev/zero of=src/a count=1 conv=notrunc",
    "tee src/a < other/a",
    "cp other/a src/a",
    "cp --remove-destination other/a src/a",
    "install -m 600 other/a src/a",
    "python3 -c \"open('src/a', 'r+').write('x')\"",
    "python3 -c \"import os; os.truncate('src/a', 0)\"",
    IN_ROOT,
    BY_HANDLE,
    "python3 -c \"import mmap, os; m = mmap.mmap(os.open('src/a', os.O_RDWR), 0); m[0] = 0\"",
];

/// `/a` is the file in `src` here. Without that call programs look for the way themselves.
const IN_ROOT: &str = "python3 -c \"import ctypes, os\nhow = (ctypes.c_uint64 * 3)(os.O_WRONLY | os.O_APPEND, 0, \
                       0x10)\nd = os.open('src', os.O_RDONLY)\nf = ctypes.CDLL(None).syscall(437, d, b'/a', how, 24)\n\
                       os.write(f if f > 0 else os.open('src/a', os.O_WRONLY), b'x')\"";

/// Only root may, without walls.
const BY_HANDLE: &str = "python3 -c \"import ctypes, os, struct\nc = ctypes.CDLL(None)\nh = ctypes.create_string_buffer(136)\n\
                         struct.pack_into('i', h, 0, 128)\nc.name_to_handle_at(-100, b'src/a', h, ctypes.byref(\
                         ctypes.c_int()), 0)\nf = c.open_by_handle_at(os.open('.', os.O_RDONLY), h, os.O_WRONLY)\n\
                         os.write(f if f > 0 else os.open('src/a', os.O_WRONLY), b'x')\"";

const NAMES: &[&str] = &[
    "rm -f src/a",
    "rm -rf src",
    "find src -delete",
    "unlink src/a",
    "gzip src/a",
    "mv src/a z",
    "mv src z",
    "mv src/deep z",
    "mv other/a src/a",
    "mv src/b src/a",
    "mkdir z; touch z/a; rm -rf src; mv z src",
    "ln src/a alias",
    "ln -sf ../other/a src/a",
    "ln -f other/a src/a",
    "touch new.lock",
    "mkdir new.lock",
    "ln -s src/a new.lock",
    "cp -r src/deep copy",
    "mkfifo new.lock",
    "mkdir z; touch z/y; mv z/y z/y.lock",
    "python3 -c \"import os; os.replace('other/a', 'src/a')\"",
    "python3 -c \"import ctypes; c = ctypes.CDLL(None); exit(c.renameat2(-100, b'src', -100, b'other', 2))\"",
    "git checkout -q HEAD~1",
    "git rm -q src/a",
];

const RIGHTS: &[&str] = &[
    "chmod 600 src/a",
    "chmod -R go-r src",
    "touch src/a",
    "touch -d 2001-01-01 src/a",
    "python3 -c \"import os; os.setxattr('src/a', 'user.x', b'x')\"",
    "python3 -c \"import os; os.fchmod(os.open('src/a', os.O_RDONLY), 0o600)\"",
];

/// What these rules say nothing of.
const FREE: &[&str] = &[
    "cat src/a > copied; cp src/a also; grep new src/a",
    "echo x > src/b; mv src/b src/c; rm src/c; mkdir src/new; rmdir src/new",
    "mkdir -p src; test -w src/b; rm -f src/none other.lock; ! mv src/none src/a",
    "mv other o2; mv o2 other; chmod 700 src; git status; git add other; git commit -qm three",
];

fn run(scene: &Scene, script: &str) -> (Output, Changes) {
    let checkpoint = scene.begin();
    checkpoint.forbid(Arc::new(Rules { root: scene.root() }));
    let output = scene.start(script, &scene.sandbox.recording(&checkpoint));
    (output, checkpoint.finish().unwrap())
}

/// What is forbidden, as it is.
fn forbidden(scene: &Scene) -> Tree {
    let rules = Rules { root: scene.root() };
    tree(&scene.root())
        .into_iter()
        .filter(|(path, _)| rules.means(&scene.root().join(path)))
        .collect()
}

fn check(walls: Walls) {
    for script in [WRITES, NAMES, RIGHTS].concat() {
        let scene = Scene::new(walls);
        scene.prepare(SETTING);
        let before = forbidden(&scene);
        assert_eq!(before.len(), 2);
        let (output, changes) = run(&scene, script);
        assert_eq!(before, forbidden(&scene), "{walls:?} {script}: {}", printed(&output));
        let is_told = |trouble: &Trouble| matches!(trouble, Trouble::Forbidden { path, rule } if rule == BY && !path.as_os_str().is_empty());
        assert!(changes.troubles.iter().any(is_told), "{walls:?} {script}: {changes:?}");
        assert!(
            changes.summary().contains(&format!(" refused: the rule {BY} forbids it")),
            "{changes:?}"
        );
    }
    for script in FREE {
        let scene = Scene::new(walls);
        scene.prepare(SETTING);
        let (output, changes) = run(&scene, script);
        assert_eq!(output.exit, Exit::Code(0), "{walls:?} {script}: {}", printed(&output));
        assert_eq!(changes.troubles, [], "{walls:?} {script}");
    }
}

#[test]
fn what_rules_forbid_stays_as_it_is() {
    check(Walls::A);
}

#[test]
fn what_rules_forbid_stays_as_it_is_for_an_ordinary_user() {
    as_ordinary_user("forbidden::what_rules_forbid_stays_as_it_is");
}

#[test]
fn what_rules_forbid_stays_as_it_is_in_tier_c() {
    check(Walls::C);
}

#[test]
fn what_rules_forbid_stays_as_it_is_without_walls() {
    check(Walls::None);
}

#[test]
fn what_comes_in_with_a_folder_from_elsewhere_is_looked_at_file_by_file() {
    let scene = Scene::new(Walls::C);
    scene.prepare("mkdir other");
    let script = "t=$(mktemp -d); echo evil > $t/a; echo free > $t/b; mv $t src; echo evil > src/a; cat src/*";
    let (output, changes) = run(&scene, script);
    assert_eq!(shown(&output).1, "free\n", "{}", printed(&output));
    assert!(changes.summary().starts_with("a change of src/a was refused"), "{changes:?}");
}

#[test]
fn a_folder_with_more_in_it_than_is_looked_at_stays_where_a_rule_may_speak_of_it() {
    let scene = Scene::new(Walls::None);
    scene.prepare("mkdir many other; cd many; seq 50001 | xargs touch");
    let (_, changes) = run(&scene, "mv many moved");
    let said = changes.summary();
    assert_eq!(said, "a change of many was refused: a rule may forbid it for something in it");
    assert!(scene.root().join("many/1").exists());
    scene.prepare("mv many other/many");
    let (output, changes) = run(&scene, "mv other/many other/moved");
    assert_eq!((output.exit, changes.troubles), (Exit::Code(0), vec![]));
}
