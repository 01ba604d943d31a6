//! No command gives a file the set-user-id or set-group-id bit, by whatever system call; folders may
//! have the second.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tenon_sandbox::{Output, SET_ID_BITS};

use super::{Scene, Walls, as_ordinary_user};
use crate::skipped::skipped;
use crate::walls::printed;

/// Tries each way with each mode, and prints those after which a file has one of the bits, then which
/// folders have one.
const WAYS: &str = r"python3 - <<'E'
import ctypes, os, struct
libc = ctypes.CDLL(None)
def call(*a): return libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
def how(flags, mode): return struct.pack('QQQ', flags, mode, 0)
def named(f, fd):
    if fd >= 0: call(265, -100, b'/proc/self/fd/%d' % fd, -100, f, 0x400)
os.umask(0)
CREATES, NAMELESS = 0o101, 0o20200001
EXISTING = {
    'chmod': lambda f, m: call(90, f, m),
    'fchmod': lambda f, m: call(91, os.open(f, os.O_RDONLY), m),
    'fchmodat': lambda f, m: call(268, -100, f, m),
    'fchmodat beneath a descriptor': lambda f, m: call(268, os.open('.', os.O_RDONLY), f, m),
    'fchmodat by procfs': lambda f, m: call(268, -100, b'/proc/self/fd/%d' % os.open(f, os.O_RDONLY), m),
    'fchmodat2': lambda f, m: call(452, -100, f, m, 0),
    'fchmodat2 of the name itself': lambda f, m: call(452, -100, f, m, 0x100),
    'fchmodat2 of a descriptor': lambda f, m: call(452, os.open(f, os.O_RDONLY), b'', m, 0x1000),
    'a link': lambda f, m: (os.path.lexists(f + b'.l') or os.symlink(f, f + b'.l'), call(90, f + b'.l', m)),
    'high bits': lambda f, m: call(90, f, m | 1 << 33),
}
NEW = {
    'creat': lambda f, m: call(85, f, m),
    'open': lambda f, m: call(2, f, CREATES, m),
    'openat': lambda f, m: call(257, -100, f, CREATES, m),
    'openat to read': lambda f, m: call(257, -100, f, 0o100, m),
    'openat2': lambda f, m: call(437, -100, f, how(CREATES, m), 24),
    'mknod': lambda f, m: call(133, f, 0o100000 | m, 0),
    'mknod without a kind': lambda f, m: call(133, f, m, 0),
    'mknodat': lambda f, m: call(259, -100, f, 0o100000 | m, 0),
    'openat without a name': lambda f, m: named(f, call(257, -100, b'.', NAMELESS, m)),
    'open without a name': lambda f, m: named(f, call(2, b'.', NAMELESS, m)),
    'openat2 without a name': lambda f, m: named(f, call(437, -100, b'.', how(NAMELESS, m), 24)),
}
def bits(f): return os.lstat(f).st_mode & 0o6000 if os.path.lexists(f) else 0
held, tried = [], 0
for mode in (0o4755, 0o2755, 0o6755, 0o7777, 0o4000, 0o2010):
    for kind, ways in (('f', EXISTING), ('n', NEW)):
        for name, way in ways.items():
            tried += 1
            f = b'f%d' % tried
            if kind == 'f': os.close(os.open(f, os.O_CREAT | os.O_WRONLY, 0o755))
            way(f, mode)
            if bits(f) != mode & 0o6000: held.append('%s %o' % (name, mode))
print('held', len(held), 'of', tried)
folders, owned = [], 0
for name, way in EXISTING.items():
    d = os.fsencode('d ' + name)
    os.mkdir(d, 0o6755)
    if bits(d): print('MADE')
    way(d, 0o4755)
    owned += bits(d) & 0o4000 != 0
    os.mkdir(d + b'/in')
    way(d, 0o2775)
    folders.append(os.lstat(d).st_mode & 0o7777 == 0o2775)
print('folders', sum(folders), 'of', len(folders), 'with the other', owned)
E";

fn run(scene: &Scene) -> (Output, String) {
    let (output, _) = scene.run(WAYS);
    let said = printed(&output);
    (output, said)
}

/// What is at hand of these.
fn tiers() -> Vec<Walls> {
    let has_b = Path::new("/usr/bin/bwrap").exists();
    if !has_b {
        skipped("tier B: bubblewrap is not installed");
    }
    [Walls::A, Walls::B, Walls::C].into_iter().filter(|walls| has_b || *walls != Walls::B).collect()
}

#[test]
fn no_call_gives_a_file_these_bits_and_folders_get_the_one_that_they_may_have() {
    for walls in tiers() {
        let (output, said) = run(&Scene::new(walls));
        assert_eq!(said, "held 126 of 126\nfolders 10 of 10 with the other 0\n", "{walls:?}");
        assert!(output.refused.contains(&SET_ID_BITS), "{walls:?}: {:?}", output.refused);
    }
}

#[test]
fn no_call_does_for_an_ordinary_user() {
    as_ordinary_user(
        "set_id::no_call_gives_a_file_these_bits_and_folders_get_the_one_that_they_may_have",
    );
}

#[test]
fn where_nobody_watches_folders_do_not_get_them_either() {
    for walls in tiers() {
        let scene = Scene::new(walls);
        let said = printed(&scene.start(WAYS, &scene.sandbox));
        assert_eq!(said, "held 126 of 126\nfolders 0 of 10 with the other 0\n", "{walls:?}");
    }
}

#[test]
fn where_nobody_watches_an_ordinary_user_does_not_either() {
    as_ordinary_user("set_id::where_nobody_watches_folders_do_not_get_them_either");
}

#[test]
fn without_walls_everything_is_as_ever() {
    let scene = Scene::new(Walls::None);
    let (output, said) = run(&scene);
    assert!(said == "held 0 of 126\nfolders 10 of 10 with the other 10\n", "{said}");
    assert!(!output.refused.contains(&SET_ID_BITS));
}

#[test]
fn a_folder_in_the_workspace_of_another_user_gets_the_bit() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only root can be somebody else");
    }
    for walls in [Walls::A, Walls::B] {
        if !tiers().contains(&walls) {
            continue;
        }
        let scene = Scene::new(walls);
        std::os::unix::fs::chown(scene.root(), Some(65_534), Some(65_534)).unwrap();
        let (output, _) = scene.run("mkdir d; chmod 2775 d; stat -c %a d");
        assert_eq!(printed(&output), "2775\n", "{walls:?}");
    }
}

/// What a path leads to is exchanged all the time between a file and a folder.
#[test]
fn a_file_that_takes_the_place_of_a_folder_does_not_get_the_bit() {
    let script = r"python3 - <<'E'
import ctypes, os, threading
libc = ctypes.CDLL(None)
os.mkdir('a'); open('b', 'w').close(); os.chmod('b', 0o755)
over = False
def exchange():
    while not over: libc.syscall(316, -100, b'a', -100, b'b', 2)
thread = threading.Thread(target=exchange)
thread.start()
set = 0
for _ in range(3000):
    set += libc.chmod(b'a', 0o2755) == 0
over = True
thread.join()
files = [name for name in 'ab' if os.path.isfile(name)]
print(len(files), set > 0, oct(os.stat(files[0]).st_mode & 0o7000))
E";
    for walls in [Walls::A, Walls::C] {
        let (output, _) = Scene::new(walls).run(script);
        assert_eq!(printed(&output), "1 True 0o0\n", "{walls:?}");
    }
}

#[test]
fn no_command_gives_a_file_capabilities() {
    let script = "cp /bin/true t; setcap cap_net_raw+ep t && echo BROKEN\n\
                  python3 - <<'E'\nimport os\n\
                  for version in (b'\\1\\0\\0\\2' + b'\\xff' * 16, b'\\1\\0\\0\\3' + b'\\xff' * 16 + b'\\0' * 4):\n    \
                  for set in (lambda: os.setxattr('t', 'security.capability', version), lambda: os.setxattr(os.open('t', os.O_RDONLY), 'security.capability', version)):\n        \
                  try: set(); print('BROKEN')\n        \
                  except OSError as error: print(error.errno)\nE";
    for walls in tiers() {
        let scene = Scene::new(walls);
        for said in [printed(&scene.run(script).0), printed(&scene.start(script, &scene.sandbox))] {
            assert!(
                said.starts_with("1\n1\n1\n1\n") && !said.contains("BROKEN"),
                "{walls:?}: {said}"
            );
        }
    }
}

#[test]
fn what_a_person_gave_such_a_bit_has_it_again_after_undo() {
    let mode = |scene: &Scene, name: &str| {
        scene.root().join(name).metadata().unwrap().permissions().mode() & 0o7777
    };
    for walls in [Walls::A, Walls::C] {
        let scene = Scene::new(walls);
        std::fs::create_dir(scene.root().join("folder")).unwrap();
        for name in ["written", "removed"] {
            let file = scene.root().join(name);
            std::fs::write(&file, "by a person").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o6755)).unwrap();
        }
        let id = scene.change("echo x > written; rm removed; chmod 2755 folder");
        assert_eq!((mode(&scene, "written"), mode(&scene, "folder")), (0o755, 0o2755), "{walls:?}");
        let undone = scene.undo(id);
        let modes = ["written", "removed", "folder"].map(|name| mode(&scene, name));
        assert_eq!(modes, [0o6755, 0o6755, 0o755], "{walls:?}");
        scene.undo(undone);
        assert_eq!((mode(&scene, "written"), mode(&scene, "folder")), (0o755, 0o2755), "{walls:?}");
    }
}
