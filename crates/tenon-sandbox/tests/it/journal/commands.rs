//! Commands that change files in every way there is, each undone, redone and undone again.

use tenon_sandbox::{Exit, Trouble};

use super::tree::{Tree, difference};
use super::{Scene, Walls, as_ordinary_user};
use crate::skipped::skipped;
use crate::support::runtime;
use crate::walls::printed;

/// What is there before each command.
pub(super) const BEFORE: &str = r#"
set -e
mkdir -p src/deep/er empty tree locked
printf 'one\ntwo\nthree\n' > text
printf 'fn main() {}\n' > src/main.rs
head -c 300000 /dev/urandom > big
printf x > src/deep/er/leaf
ln -s text link; ln -s nowhere dangling; ln -s src folder-link
ln text hard; mkfifo pipe
printf '#!/bin/sh\n' > run.sh; chmod 755 run.sh
printf secret > private; chmod 600 private
printf a > $'odd \xff\n name'
for i in $(seq 40); do mkdir -p tree/d$((i % 5))/e$((i % 3)); echo $i > tree/d$((i % 5))/e$((i % 3))/f$i; done
printf locked > locked/file; chmod 500 locked
printf 'ignored\n' > .gitignore; printf i > ignored
printf 'a,b\n' > empty/.keep; rm empty/.keep
python3 -c "import os; os.setxattr('text','user.note',b'hello')"
touch -d '2001-02-03 04:05:06.789012345' text src empty
git init -q . && git add -A . 2>/dev/null; git commit -qm one
printf 'four\n' > four; git add four; git commit -qm two
git branch other HEAD~1
sqlite3 data.db "create table t(a); insert into t values (1),(2);"
touch -d '2002-03-04 05:06:07.000000001' tree/d1 src/deep big data.db
"#;

/// Programs that the command of a name needs and a machine may lack: it is skipped then.
const NEEDS: [(&str, &str); 5] = [
    ("fallocate hole", "fallocate"),
    ("zip", "zip"),
    ("rsync", "rsync"),
    ("cc", "cc"),
    ("node", "node"),
];

/// A name and what runs.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("truncating redirect", "echo new > text"),
    ("appending redirect", "echo more >> text; echo more >> big"),
    (
        "append then overwrite",
        "exec 3>>text; echo a >&3; python3 -c \"f=open('text','r+'); f.write('ZZ')\"",
    ),
    ("new file", "echo a > new; echo b > src/new"),
    ("sed -i", "sed -i s/two/2/ text"),
    ("sed -i through many", "sed -i s/1/one/ tree/d*/e*/f*"),
    ("perl -i", "perl -pi -e s/one/1/ text"),
    ("truncate", "truncate -s 5 text; truncate -s 1M big"),
    ("dd conv=notrunc", "dd if=/dev/zero of=big bs=1 seek=1000 count=10 conv=notrunc status=none"),
    ("dd", "dd if=/dev/zero of=big bs=1000 count=3 status=none"),
    (
        "mmap write",
        "python3 -c \"
import mmap
f=open('big','r+b'); m=mmap.mmap(f.fileno(),0); m[5000:5004]=b'MMAP'; m.close()\"",
    ),
    ("fallocate hole", "fallocate -p -o 4096 -l 8192 big && echo > text"),
    ("rm", "rm text"),
    ("rm a hard link", "rm hard; echo x >> text"),
    ("rm both hard links", "rm hard text"),
    ("rm and make again", "rm text; echo other > text"),
    ("rm -rf of a tree", "rm -rf tree"),
    ("rm -rf of all", "chmod -R u+w locked; rm -rf -- * .gitignore .git 2>/dev/null; true"),
    ("rmdir", "rmdir empty"),
    ("rmdir and file in its place", "rmdir empty; echo file > empty"),
    ("file to folder", "rm text; mkdir text; echo in > text/in"),
    ("mkdir -p", "mkdir -p a/b/c; touch a/b/c/d"),
    ("mv file", "mv text renamed"),
    ("mv over", "mv text src/main.rs"),
    ("mv over a link", "mv text link"),
    (
        "mv folder",
        "mv tree wood; echo x > wood/d1/e1/f1; rm wood/d2/e2/f2; mv wood/d3 .; rm -rf d3/e0",
    ),
    (
        "mv folder into new",
        "mkdir new; mv tree new/; rm -rf new/tree/d0; echo x >> new/tree/d1/e1/f1",
    ),
    ("mv folder and back", "mv tree wood; touch wood/extra; mv wood tree"),
    ("swap by three renames", "mv text tmp; mv big text; mv tmp big"),
    ("folder inside out", "mv src/deep/er inner; mv src/deep inner/; mv src inner/; mv inner src"),
    (
        "exchange rename",
        "python3 -c \"
import ctypes
libc=ctypes.CDLL(None)
assert libc.renameat2(-100,b'text',-100,b'big',2)==0
assert libc.renameat2(-100,b'src',-100,b'tree',2)==0\"; echo x > src/d1/e1/f1",
    ),
    ("cp over", "cp big text"),
    ("cp -a", "cp -a tree copy; rm copy/d1/e1/f1"),
    ("ln", "ln text again; ln -s again soft; echo z >> again"),
    ("ln -sf", "ln -sf big link"),
    ("write through link", "echo via > link"),
    ("write through dangling link", "echo via > dangling"),
    ("write through folder link", "echo via > folder-link/main.rs; touch folder-link/other"),
    ("replace folder link", "rm folder-link; mkdir folder-link"),
    ("chmod", "chmod 000 text; chmod 2777 src; chmod 751 run.sh"),
    ("chmod -R", "chmod -R go-rwx tree"),
    (
        "chmod then write",
        "chmod u+w locked; echo x > locked/file; echo y > locked/new; chmod 500 locked",
    ),
    ("touch", "touch text src; touch -d 1999-01-01 big tree/d1"),
    ("touch a link itself", "touch -h -d 1999-01-01 link"),
    ("chown to self", "chown $(id -u):$(id -g) text"),
    (
        "extended attributes",
        "python3 -c \"
import os
os.setxattr('text','user.new',b'v'); os.removexattr('text','user.note'); os.setxattr('src','user.d',b'1')\"",
    ),
    ("odd names", "echo b > $'odd \\xff\\n name'; mv $'odd \\xff\\n name' $'\\xfe'; mkdir $'\\n'"),
    ("mkfifo and rm fifo", "rm pipe; mkfifo other-pipe; chmod 600 other-pipe"),
    (
        "socket",
        "python3 -c \"
import socket
try: socket.socket(socket.AF_UNIX).bind('sock')
except PermissionError: open('sock', 'w').write('tier C gives none')\"",
    ),
    (
        "O_TMPFILE and link",
        "python3 -c \"
import os
f=os.open('.',os.O_TMPFILE|os.O_RDWR,0o644); os.write(f,b'tmp')
os.link('/proc/self/fd/%d'%f,'linked',src_dir_fd=0,follow_symlinks=True)\"",
    ),
    ("write by /proc/self/fd", "exec 3<text; echo changed > /proc/self/fd/3"),
    (
        "write by /dev/fd and stderr",
        "exec 4<>text; echo x > /dev/fd/4; echo note > /dev/stderr; echo y > /dev/null",
    ),
    ("deleted but open", "exec 5<>big; rm big; echo changed >&5; truncate -s 3 /proc/self/fd/5"),
    (
        "unlinked then written",
        "python3 -c \"
import os
f=open('text','a'); os.unlink('text'); f.write('x'); f.flush(); os.ftruncate(f.fileno(),1)\"",
    ),
    (
        "append flag removed",
        "python3 -c \"
import os,fcntl
f=os.open('text',os.O_WRONLY|os.O_APPEND); os.write(f,b'tail')
fcntl.fcntl(f,fcntl.F_SETFL,0); os.pwrite(f,b'HEAD',0)\"",
    ),
    (
        "descriptor calls",
        "python3 -c \"
import os
f=os.open('text',os.O_RDONLY); os.fchmod(f,0o640); os.utime(f,(1,2)); os.close(f)
f=os.open('big',os.O_RDWR); os.ftruncate(f,7); os.posix_fallocate(f,0,100)\"",
    ),
    (
        "from another folder",
        "cd src/deep; echo x > ../../text; rm er/leaf; cd ..; rmdir deep/er; mkdir -p ../tree/d9/x",
    ),
    ("cd to a folder that is removed", "cd tree/d1; rm -rf ../d1; touch here 2>/dev/null; true"),
    ("tar", "tar cf src.tar src tree; mkdir out; tar xf src.tar -C out; tar xf src.tar"),
    (
        "patch",
        "printf -- '--- text\\n+++ text\\n@@ -1,3 +1,3 @@\\n one\\n-two\\n+2\\n three\\n' | patch -s text",
    ),
    ("zip", "zip -qr a.zip src && echo > text"),
    ("rsync", "rsync -a --delete tree/ empty/ && echo > text"),
    ("find -delete", "find tree -name 'f1*' -delete; find tree -type d -empty -delete"),
    ("git add and commit", "echo x >> text; git add text; git commit -qm three"),
    ("git commit -a", "echo x >> four; git commit -qam three"),
    ("git checkout", "git checkout -q other"),
    ("git checkout -b", "git checkout -qb side; echo x > side; git add side; git commit -qm side"),
    ("git reset --hard", "chmod u+w locked; echo x > text; rm four; git reset -q --hard HEAD~1"),
    ("git clean", "touch stray; mkdir stray-folder; git clean -fdxq"),
    ("git stash", "echo x >> four; git stash -q; git stash pop -q"),
    (
        "git rebase",
        "git checkout -qb side other; echo s > side; git add side; git commit -qm side; git rebase -q master 2>/dev/null || git rebase -q main",
    ),
    (
        "git merge",
        "git checkout -q -b m other; echo m > m; git add m; git commit -qm m; git merge -q -m merged -",
    ),
    ("git gc", "git gc -q"),
    ("git rm and mv", "git rm -q four; git mv src/main.rs src/lib.rs"),
    ("git init", "mkdir sub; cd sub; git init -q; echo x > x; git add x; git commit -qm x"),
    ("git worktree", "git worktree add -q wt other"),
    ("sqlite", "sqlite3 data.db 'insert into t values (3); update t set a=9 where a=1; vacuum;'"),
    (
        "sqlite wal",
        "sqlite3 data.db 'pragma journal_mode=wal; insert into t values (4);' >/dev/null",
    ),
    ("python packages", "python3 -m py_compile $(printf 'x=1\\n' > m.py; echo m.py)"),
    (
        "make",
        "printf 'all:\\n\\techo built > out.o\\n\\tmkdir -p obj && cp text obj/\\n' > Makefile; make -s",
    ),
    ("cc", "printf 'int main(void){return 0;}' > m.c; cc -o m m.c && ./m"),
    (
        "node",
        "node -e \"const f=require('fs'); f.writeFileSync('text','n'); f.rmSync('tree',{recursive:true}); f.mkdirSync('x/y',{recursive:true})\"",
    ),
    ("background writer", "(sleep 0.2; echo late > late) & echo early > early; wait"),
    (
        "eight writers at once",
        "for w in 1 2 3 4 5 6 7 8; do (for i in $(seq 30); do echo $i > tree/d1/w$w-$i; echo $i >> text; mv tree/d1/w$w-$i tree/d2/; done; rm -f tree/d2/w$w-1*) & done; wait",
    ),
    (
        "four threads at once",
        "python3 -c \"
import threading,os
def work(n):
    for i in range(50):
        p='t%d-%d'%(n,i); open(p,'w').write('x'); os.rename(p,'src/'+p); os.chmod('src/'+p,0o600)
        os.path.exists('tree/d%d/e1/f%d'%(n,i)) and os.unlink('tree/d%d/e1/f%d'%(n,i))
ts=[threading.Thread(target=work,args=(n,)) for n in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]\"",
    ),
    (
        "from folder to folder",
        "python3 -c \"
import os
top=os.open('.',0)
for i in range(90):
    os.chdir('tree/d%d/e%d'%(i%5,i%3)); [open(n,'w').write('x') for n in os.listdir()]; open('new','a').write('x')
    os.fchdir(top) if i%2 else os.chdir('../../..')\"",
    ),
    (
        "another thread goes to another folder",
        "python3 -c \"
import os,threading
for i in range(40):
    t=threading.Thread(target=os.chdir,args=('tree/d%d/e%d'%(i%5,i%3),)); t.start(); t.join()
    [open(n,'w').write('x') for n in os.listdir()]; os.chdir('../../..')\"",
    ),
    (
        "deep tree",
        "p=.; for i in $(seq 60); do p=$p/n; done; mkdir -p $p; echo x > $p/x; mv n/n/n up; rm -rf n",
    ),
    ("two thousand files", "mkdir many; for i in $(seq 2000); do : > many/$i; done; rm many/1*"),
    (
        "everything at once",
        "sed -i s/o/0/ text; mv src s; rm -rf tree/d1; ln -sfn s folder-link; echo > s/main.rs; mkdir src; chmod 700 s; touch -d 2000-01-01 s",
    ),
    (
        "failed calls",
        "mkdir src 2>/dev/null; rmdir tree 2>/dev/null; rm nothing 2>/dev/null; ln text big 2>/dev/null; mv nothing x 2>/dev/null; echo > text",
    ),
];

/// docs/undo.md speaks of so many.
const _: () = assert!(COMMANDS.len() == 91);

fn torture(walls: Walls) {
    torture_in(|| Scene::new(walls), &[]);
}

fn by_comparison() -> Scene {
    Scene::at(&std::env::temp_dir(), Walls::None, |options| options.by_comparison = true)
}

fn torture_in(make: impl Fn() -> Scene, troubles: &[Trouble]) {
    let mut scene = make();
    scene.prepare(BEFORE);
    let mut failed = Vec::new();
    for (name, script) in COMMANDS {
        if lacks_program(&scene, name) {
            continue;
        }
        if let Err(what) = check(&scene, script, troubles) {
            failed.push(format!("{name}: {what}"));
            scene = make();
            scene.prepare(BEFORE);
        }
    }
    let count = COMMANDS.len();
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n"));
}

/// Whether the command `name` needs a program that is not there, which is then said.
pub(super) fn lacks_program(scene: &Scene, name: &str) -> bool {
    let Some((_, program)) = NEEDS.iter().find(|(needing, _)| *needing == name) else {
        return false;
    };
    let output = scene.start(&format!("command -v {program}"), &scene.sandbox);
    let lacks = output.exit != Exit::Code(0);
    if lacks {
        skipped(format_args!("{name}: there is no {program}"));
    }
    lacks
}

fn check(scene: &Scene, script: &str, troubles: &[Trouble]) -> Result<(), String> {
    check_as(scene, &Scene::tree, script, troubles)
}

/// Checks what is seen by `tree`.
pub(super) fn check_as(
    scene: &Scene,
    tree: &dyn Fn(&Scene) -> Tree,
    script: &str,
    troubles: &[Trouble],
) -> Result<(), String> {
    let before = tree(scene);
    let (output, changes) = scene.run(script);
    let said = printed(&output);
    if output.exit != Exit::Code(0) {
        return Err(format!("{:?} {said}", output.exit));
    }
    if changes.troubles != troubles || !changes.left_out.is_empty() {
        return Err(format!("{changes:?} {said}"));
    }
    let after = tree(scene);
    let Some(id) = changes.id else { return Err(format!("nothing was recorded: {said}")) };
    let mut step = id;
    for (what, expected) in [("undo", &before), ("redo", &after), ("second undo", &before)] {
        let outcome = scene.journal.undo(&[step], "session", &tenon_sandbox::Conflicts::Refuse);
        step = match outcome {
            Ok(tenon_sandbox::Undone::Done { id, .. }) => id,
            other => return Err(format!("{what}: {other:?}")),
        };
        let rest = difference(expected, &tree(scene));
        if !rest.is_empty() {
            return Err(format!("{what}: {rest}\nchanges {:?}\n{said}", Scene::listed(&changes)));
        }
    }
    Ok(())
}

#[test]
fn every_command_is_undone_without_walls() {
    torture(Walls::None);
}

#[test]
fn every_command_is_undone_by_comparison() {
    torture_in(by_comparison, &[Trouble::Compared]);
}

#[test]
fn every_command_is_undone_for_an_ordinary_user_by_comparison() {
    as_ordinary_user("commands::every_command_is_undone_by_comparison");
}

#[test]
fn every_command_is_undone_in_tier_a() {
    torture(Walls::A);
}

#[test]
fn every_command_is_undone_in_tier_b() {
    let scene = Scene::new(Walls::B);
    if let Err(error) = runtime().block_on(scene.sandbox.tier()) {
        return skipped(format_args!("{error}"));
    }
    torture(Walls::B);
}

#[test]
fn every_command_is_undone_in_tier_c() {
    torture(Walls::C);
}

#[test]
fn every_command_is_undone_for_an_ordinary_user_without_walls() {
    as_ordinary_user("commands::every_command_is_undone_without_walls");
}

#[test]
fn every_command_is_undone_for_an_ordinary_user_in_tier_a() {
    as_ordinary_user("commands::every_command_is_undone_in_tier_a");
}

#[test]
fn every_command_is_undone_for_an_ordinary_user_in_tier_c() {
    as_ordinary_user("commands::every_command_is_undone_in_tier_c");
}

/// As programs do that were built with musl.
#[test]
fn the_older_call_opens_a_file_without_a_name() {
    let script = "python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(2, b\".\", 0o20200002, 0o600) > 0)'";
    let (output, changes) = Scene::new(Walls::None).run(script);
    assert_eq!((printed(&output).as_str(), changes.files.len()), ("True\n", 0));
}
