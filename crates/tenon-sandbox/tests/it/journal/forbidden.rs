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
    "mv -T src z",
    "mv src src2; ln -s other src; echo x > src/a",
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
    "python3 -c \"import ctypes; c = ctypes.CDLL(None); \
     exit(c.renameat2(-100, b'other', -100, b'src', 2))\"",
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
        let is_told = |trouble: &Trouble| matches!(trouble, Trouble::Forbidden { path, rule, .. } if rule == BY && !path.as_os_str().is_empty());
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

/// A rule that means something in a folder in a folder.
struct Deeper(std::path::PathBuf);

impl Forbids for Deeper {
    fn forbids(&self, path: &Path) -> Option<String> {
        (path == self.0).then(|| BY.to_owned())
    }

    fn may_forbid_beneath(&self, folder: &Path) -> bool {
        self.0.starts_with(folder)
    }
}

#[test]
fn no_folder_above_what_a_rule_names_goes_elsewhere_or_has_another_come_there() {
    for walls in [Walls::A, Walls::C, Walls::None] {
        for (script, rule) in [
            ("mv top z", "top/src/a"),
            ("mv -T top/src z", "top/src/a"),
            ("mv top other/", "top/src/a"),
            ("mv other top/src", "top/src/other/a"),
            ("mkdir z; mv top z/src; mv z top", "top/src/src/a"),
            (EXCHANGE, "top/src/a"),
            (EXCHANGE, "other/src/a"),
        ] {
            let scene = Scene::new(walls);
            scene.prepare("mkdir -p top/src other; echo old > top/src/a; echo other > other/a");
            let checkpoint = scene.begin();
            checkpoint.forbid(Arc::new(Deeper(scene.root().join(rule))));
            scene.start(script, &scene.sandbox.recording(&checkpoint));
            let changes = checkpoint.finish().unwrap();
            let path = rule.into();
            let told = Trouble::Forbidden { path, rule: BY.to_owned(), reads: false };
            assert_eq!(changes.troubles, [told], "{walls:?} {script}");
            assert_eq!(scene.root().join(rule).exists(), rule == "top/src/a", "{walls:?} {script}");
        }
    }
}

const EXCHANGE: &str = "python3 -c \"import ctypes; c = ctypes.CDLL(None); \
                        exit(c.renameat2(-100, b'other', -100, b'top', 2))\"";

/// Prints the error of each call: all of them fail.
const FAILS: &str = "cat > calls.py <<'END'\nimport ctypes, errno, os
def rename(flags, one, other):
    if ctypes.CDLL(None, use_errno=True).renameat2(-100, one.encode(), -100, other.encode(), flags):
        raise OSError(ctypes.get_errno(), '')
w, c, x, d = os.O_WRONLY, os.O_CREAT, os.O_EXCL, os.O_RDWR
for function, *arguments in [
    (os.mkdir, 'src'), (os.mkdir, 'src/deep'), (os.mkdir, 'src/none/x'), (os.mkdir, 'src/a/x'),
    (os.open, 'src', w), (os.open, 'src', d | c), (os.open, 'src/none', w), (os.open, 'src/a', w | c | x),
    (os.open, 'src/a/x', w | c), (os.truncate, 'src', 0), (os.truncate, 'src/none', 0),
    (os.unlink, 'src'), (os.unlink, 'src/none'), (os.rmdir, 'src'), (os.rmdir, 'src/a'),
    (os.rmdir, 'src/none'), (os.symlink, 'x', 'src/a'), (os.mkfifo, 'src/a'), (os.chmod, 'src/none', 0),
    (os.link, 'src/a', 'other/a'), (os.link, 'other/a', 'src/a'), (os.link, 'src', 'z'),
    (os.link, 'src/none', 'z'), (os.rename, 'src/none', 'z'), (os.rename, 'src', 'src/z'),
    (os.rename, 'src/a', 'src/deep'), (os.rename, 'src/deep', 'src/a'), (os.rename, 'src/empty', 'src/deep'),
    (os.rename, 'src/a', 'src'), (rename, 1, 'other/a', 'src/a'), (rename, 2, 'src/a', 'none'),
    (rename, 2, 'src', 'src/deep'),
]:
    try:
        print('done', function(*arguments))
    except OSError as error:
        print(function.__name__, *arguments, errno.errorcode[error.errno])
END
python3 calls.py; rm calls.py; mkdir -p src/deep; install -d src/deep";

/// All in `src`, and that itself.
struct AllOf(std::path::PathBuf);

impl Forbids for AllOf {
    fn forbids(&self, path: &Path) -> Option<String> {
        path.starts_with(&self.0).then(|| BY.to_owned())
    }

    fn may_forbid_beneath(&self, folder: &Path) -> bool {
        self.0.starts_with(folder)
    }
}

#[test]
fn what_would_have_failed_anyhow_fails_with_its_own_error_and_is_not_told() {
    for walls in [Walls::A, Walls::C, Walls::None] {
        let scene = Scene::new(walls);
        scene.prepare(
            "mkdir -p src/deep src/empty other; echo a > src/a; echo a > src/deep/a; echo a > other/a",
        );
        let (before, (free, _)) = (scene.tree(), scene.run(FAILS));
        let checkpoint = scene.begin();
        checkpoint.forbid(Arc::new(AllOf(scene.root().join("src"))));
        let held = scene.start(FAILS, &scene.sandbox.recording(&checkpoint));
        assert_eq!(shown(&held), shown(&free), "{walls:?}");
        assert!(!shown(&free).1.contains("done"), "{walls:?}: {}", printed(&free));
        assert_eq!(checkpoint.finish().unwrap().troubles, [], "{walls:?}");
        let src = |(path, _): &(std::path::PathBuf, _)| path.starts_with("src");
        let of = |tree: Tree| tree.into_iter().filter(src).collect::<Tree>();
        assert_eq!(super::tree::difference(&of(before), &of(scene.tree())), "", "{walls:?}");
    }
}

#[test]
fn a_file_that_is_opened_for_both_is_told_as_opened_and_can_be_read() {
    let scene = Scene::new(Walls::None);
    scene.prepare(SETTING);
    let reads = "import os\ntry: os.open('src/a', os.O_RDWR | os.O_CREAT)\nexcept PermissionError: \
                 print(open('src/a').read())";
    let (output, changes) = run(&scene, &format!("python3 -c \"{reads}\""));
    assert_eq!(shown(&output).1, "newer\n\n", "{}", printed(&output));
    let said = format!("opening src/a for writing was refused: the rule {BY} forbids it");
    assert_eq!(changes.summary(), said);

    scene.prepare("echo 'pragma journal_mode=wal; create table t(x); insert into t values(7)' | sqlite3 src/db.lock");
    let (output, changes) = run(&scene, "sqlite3 src/db.lock 'select x from t'");
    assert_eq!(shown(&output).1, "7\n", "{}", printed(&output));
    let said = format!("opening src/db.lock for writing was refused: the rule {BY} forbids it");
    assert!(changes.summary().starts_with(&said), "{changes:?}");
}

/// A file that is open for reading is enough to set them.
#[test]
fn flags_of_a_file_that_a_rule_forbids_to_change_are_not_set() {
    let sets = "python3 -c \"import fcntl, os, struct\nf = os.open('src/a', os.O_RDONLY)\n\
                try: fcntl.ioctl(f, REQUEST, struct.pack('7I', *[0] * 7))\n\
                except OSError as error: print(error.errno)\"";
    for walls in [Walls::A, Walls::None] {
        for request in ["0x40086602", "0x401c5820", "0x40087602"] {
            let scene = Scene::new(walls);
            scene.prepare(SETTING);
            let (output, changes) = run(&scene, &sets.replace("REQUEST", request));
            assert_eq!(shown(&output).1, "13\n", "{walls:?} {request}: {}", printed(&output));
            let said = format!("a change of src/a was refused: the rule {BY} forbids it");
            assert_eq!(changes.summary(), said, "{walls:?} {request}");
        }
    }
}

#[test]
fn a_denial_holds_in_a_workspace_that_a_command_has_moved() {
    let scene = Scene::new(Walls::None);
    scene.prepare(SETTING);
    let before = forbidden(&scene);
    let script = "mv ../work ../away; echo x > src/a; cd ../away/src; echo x > a; echo x > ../src/deep/x.lock; \
                  mv ../../away ../../work";
    let (output, changes) = run(&scene, script);
    assert_eq!(before, forbidden(&scene), "{}", printed(&output));
    assert_eq!(changes.troubles.len(), 2, "{changes:?}");
}
