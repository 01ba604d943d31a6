//! What git writes stays; an index that has other names than it adds, and a step that it would not write, do not.

use super::{Guard, Journaled, ProtectedChangeKind, check, check_with, shell};

pub(super) const COMMITTED: &str = "git init -q -b main . && git config user.name a && git config user.email a@b && \
     echo a > a && mkdir d && echo b > d/b && git add . && git commit -qm one";

/// Writes an index of version 2 with one name: to which file, and which name.
const WRITE: &str = "write() { python3 -c 'import struct, sys
n = sys.argv[2].encode()
e = struct.pack(\">10I20sH\", *[0] * 6, 0o100644, *[0] * 3, bytes(20), len(n)) + n
open(sys.argv[1], \"wb\").write(b\"DIRC\" + struct.pack(\">II\", 2, 1) + e + bytes(8 - len(e) % 8) + bytes(20))' \"$@\"; }";

#[test]
fn what_git_writes_stays() {
    for work in [
        "echo c > c; git add c; git commit -qm two; git rm -q d/b",
        "git checkout -qb side; git checkout -q main; git worktree add -q w; git -C w rm -q a; git worktree remove -f w",
        "echo z > a; git stash -q; git stash pop -q; git reset -q --hard",
        "git update-index --index-version 4; echo 1 > 1; git add 1",
        "git update-index --split-index; echo 1 > 1; git add 1; git update-index --no-split-index",
        "rm .git/index; git reset -q; git clone -q . c; git clone -q --bare . b; git --git-dir=b read-tree main",
        "rm .git/index",
        "rm -rf .git; git init -q --object-format=sha256 .; git add .",
    ] {
        assert_eq!(check(COMMITTED, work, &[]), [""; 0], "{work}");
    }
    let sha256 = COMMITTED.replace("init", "init --object-format=sha256");
    let work = "echo c > c; git add c; git commit -qm two; git worktree add -q w; git -C w rm -q a";
    assert_eq!(check(&sha256, work, &[]), [""; 0]);
}

#[test]
fn an_index_with_other_names_is_put_back() {
    let setup = format!(
        "{COMMITTED}; git worktree add -q w; git clone -q --bare . b; mkdir -p .git/modules; git clone -q . m; \
         mv m/.git .git/modules/m; cp .git/index index-before; cp .git/worktrees/w/index w-before; cp .git/modules/m/index m-before"
    );
    for name in ["/etc/passwd", "../a", ".git/config", "d/.GIT/hooks/x"] {
        for (file, before) in [
            (".git/index", "index-before"),
            (".git/worktrees/w/index", "w-before"),
            (".git/modules/m/index", "m-before"),
            ("b/index", ""),
            (".git/sharedindex.0123", ""),
        ] {
            let attack = format!("{WRITE}; write {file} {name}");
            let told = check_with(&setup, &attack, |root| {
                #[expect(clippy::disallowed_methods, reason = "looks from outside")]
                let read = |name| std::fs::read(root.join(name)).ok();
                let was = if before.is_empty() { None } else { read(before) };
                assert!(read(file) == was, "{file} with {name}");
            });
            assert_eq!(told, [file], "{name}");
        }
    }
    let list = "printf '0123\\t/etc/passwd\\0' > .git/MERGE_RR";
    assert_eq!(check(COMMITTED, list, &[(".git/MERGE_RR", "-")]), [".git/MERGE_RR"]);
    assert_eq!(check(COMMITTED, "echo x > .git/index", &[]), [".git/index"]);
    // Written with the right names, too long to be kept.
    let long = "for n in $(seq 9000); do echo \"100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\t$(printf %0100d $n)\"; done | git update-index --index-info";
    assert_eq!(check(COMMITTED, long, &[]), [""; 0]);
    let attack = format!("{WRITE}; write .git/index ../a");
    let setup = format!("{COMMITTED}; {long}; test $(stat -c %s .git/index) -gt 1048576");
    assert_eq!(check(&setup, &attack, &[(".git/index", "-")]), [".git/index"]);
    let attack = "LC_ALL=C sed -i 's,\\x00d000,\\x00d../,' .git/index";
    assert_eq!(check(&setup, attack, &[(".git/index", "-")]), [".git/index"]);
}

/// Writes an index of version 2 with one name, and behind that so many bytes which git skips: to which file, which name.
pub(super) const WRITE_LONG: &str = "long() { python3 -c 'import struct, sys
name, length = sys.argv[2].encode(), int(sys.argv[3])
e = struct.pack(\">10I20sH\", *[0] * 6, 0o100644, *[0] * 3, bytes(20), len(name)) + name
out = open(sys.argv[1], \"wb\")
out.write(b\"DIRC\" + struct.pack(\">II\", 2, 1) + e + bytes(8 - len(e) % 8) + b\"ZZZZ\" + struct.pack(\">I\", length))
out.truncate(out.tell() + length + 20)' \"$@\"; }";

#[test]
fn a_long_index_is_judged_piece_by_piece() {
    let long = |file: &str, name: &str, length: u64| {
        format!("{WRITE_LONG}; mkdir -p x; long {file} {name} {length}; ")
    };
    let own = long(".git/index", "a", 65 << 20);
    let before = "cp .git/index index-before; ";
    let check_one = |setup: &str, attack: &str, stays: bool, told: &[&str]| {
        let (setup, attack) = (format!("{COMMITTED}; {setup}"), format!("{attack}true"));
        let found = check_with(&setup, &attack, |root| {
            assert_eq!(root.join(".git/index").exists(), stays, "{setup} {attack}");
        });
        assert_eq!(found, told, "{setup} {attack}");
    };
    check_one(before, &own, true, &[]);
    check_one(&own, "git add -A; git rm -q --cached a; ", true, &[]);
    check_one(before, &long(".git/index", "../a", 65 << 20), true, &[".git/index"]);
    check_one(&own, &long(".git/index", "../a", 66 << 20), false, &[".git/index"]);
    // Nobody touched it.
    check_one(&long(".git/index", "../a", 65 << 20), "echo b > b; ", true, &[]);
    // More than is read at a look, by itself or in all.
    check_one(&own, &long(".git/index", "a", (1 << 30) + 1), false, &[".git/index"]);
    let untouched = long(".git/index", "a", (1 << 30) + 1);
    check_one(&untouched, "echo b > b; ", true, &[]);
    let (one, other) =
        (long(".git/sharedindex.0", "a", 9 << 26), long(".git/sharedindex.1", "a", 9 << 26));
    check_one("", &format!("{one}{other}"), true, &[".git/sharedindex.1"]);
    check_one(&one, &other, true, &[]);
    // Another with the same kind of name does not make it silent.
    let decoy = "git init -q d; head -c 66M /dev/zero > d/.git/index; ";
    let attack = format!("{decoy}{}", long(".git/index", "../a", 65 << 20));
    check_one("", &attack, true, &[".git/index", "d/.git/index"]);
}

#[test]
fn a_long_list_of_conflicts_is_taken_out() {
    for first in [r"0123\t../home/.ssh/id_ed25519\0", ""] {
        let attack = format!(
            "(printf '{first}'; yes $'0123\\ta' | head -n 200000 | tr '\\n' '\\0') > .git/MERGE_RR"
        );
        assert_eq!(check(COMMITTED, &attack, &[(".git/MERGE_RR", "-")]), [".git/MERGE_RR"]);
    }
}

#[test]
fn an_index_is_judged_again_where_git_reads_it_in_another_way() {
    let folder = tempfile::tempdir().unwrap();
    let roots = [folder.path().canonicalize().unwrap()];
    let mut guard = Guard::default();
    let mut run = |script: &str| {
        guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
        #[expect(clippy::disallowed_methods, reason = "plays the command")]
        let status = std::process::Command::new("bash")
            .args(["-ec", script])
            .current_dir(&folder)
            .env("HOME", "/nonexistent")
            .status();
        assert!(status.unwrap().success(), "{script}");
        let mut changes = guard.end(None);
        changes.retain(|change| !super::is_lack(&change.kind));
        changes.into_iter().map(|change| change.kind).collect::<Vec<_>>()
    };
    assert_eq!(run("git init -q --object-format=sha256 .; echo > a; git add a"), []);
    let told = run("sed -i 's/sha256/sha1/' .git/config");
    assert_eq!(told, [ProtectedChangeKind::GitIndex { is_out: true }]);
}

#[test]
fn what_a_rebase_writes_stays() {
    let setup = format!(
        "{COMMITTED}; git checkout -qb side; for n in 1 2 3; do echo $n > a; git commit -qam $n; done; git checkout -q main; \
         echo z > a; git commit -qam z; git format-patch -q -1 -o p side; git worktree add -q w side"
    );
    for work in [
        "git checkout -q --detach side; ! git rebase -q main 2>/dev/null; test -s .git/rebase-merge/msgnum",
        "git checkout -q --detach side; ! git rebase -q --apply main 2>/dev/null; test -s .git/rebase-apply/next",
        "! git am -q p/* 2>/dev/null; test -s .git/rebase-apply/last",
        "! git -C w rebase -q main 2>/dev/null; test -s .git/worktrees/w/rebase-merge/end",
        "git -C w -c sequence.editor=true rebase -qi HEAD~2 -x true; ! git rebase -q side 2>/dev/null; git rebase --abort",
        "! git cherry-pick side~2 side~1 side 2>/dev/null; test -s .git/sequencer/todo -a -s .git/CHERRY_PICK_HEAD",
        "git checkout -q --detach side; ! git revert --no-edit HEAD~1 HEAD 2>/dev/null; test -s .git/REVERT_HEAD -a -s .git/sequencer/head",
        "! git merge -q side 2>/dev/null; test -s .git/MERGE_HEAD; git reset -q --hard; test -s .git/ORIG_HEAD",
        "git checkout -q --detach side; echo u > d/b; ! git rebase -q --autostash main 2>/dev/null; test -s .git/rebase-merge/autostash",
        "git checkout -q --detach side; ! git rebase -q -s ort -X patience -X subtree=d main 2>/dev/null; test -s .git/rebase-merge/strategy_opts",
        "git checkout -q --detach side; ! git rebase -q -s resolve main 2>/dev/null; test -s .git/rebase-merge/strategy",
        "! git cherry-pick -s -X find-renames=50% -X histogram side~2 side~1 2>/dev/null; grep -q histogram .git/sequencer/opts",
        "git bisect start -q side main 2>/dev/null; git bisect bad 2>/dev/null; test -s .git/BISECT_START -a -s .git/BISECT_LOG",
        "git bisect start -q --term-old a --term-new b side main 2>/dev/null; git bisect reset >/dev/null 2>&1; test ! -e .git/BISECT_START",
    ] {
        assert_eq!(check(&setup, work, &[]), [""; 0], "{work}");
    }
    let setup =
        format!("{setup}; ! git -C w rebase -q main 2>/dev/null; ! git am -q p/* 2>/dev/null");
    let work = "git -C w checkout -q --theirs a; git -C w add a; GIT_EDITOR=true git -C w rebase --continue; rm -r .git/rebase-apply";
    assert_eq!(check(&setup, work, &[]), [""; 0]);
    let setup = format!(
        "{COMMITTED}; git checkout -qb side; git checkout -qb f/a; echo 1 > 1; git add 1; git commit -qm '-x `a` \"b\"'; git checkout -q side; \
         echo 2 > 2; git add 2; git commit -qm two; git merge -q --no-edit f/a; echo 3 > 2; git commit -qam 'fixup! two'; git checkout -q main; \
         echo 4 > 2; git add 2; git commit -qm four; git checkout -q side"
    );
    for work in [
        "! git rebase -qr main 2>/dev/null; grep -q '^merge -C' .git/rebase-merge/git-rebase-todo; test -s .git/rebase-merge/stopped-sha",
        "! git rebase -qi --autosquash --update-refs --keep-empty main -x true 2>/dev/null; grep -q fixup .git/rebase-merge/git-rebase-todo",
        "! git rebase -q --apply main 2>/dev/null; test -s .git/rebase-apply/original-commit -a -s .git/rebase-apply/0002",
        "! GIT_SEQUENCE_EDITOR='sed -i \"s/^pick/edit/;1i # -x\"' git rebase -qi --root main 2>/dev/null; git checkout -q side; ! git rebase -qi --root --onto main 2>/dev/null; git rebase --abort",
        "GIT_SEQUENCE_EDITOR='sed -i \"0,/^pick/s//edit/\"' git rebase -qi HEAD~1 2>/dev/null; test -s .git/rebase-merge/amend; git rebase --continue",
        "git rebase -qi HEAD~1 -x 'test -e t' 2>/dev/null || touch t; git rebase --continue",
    ] {
        let work = format!("export GIT_EDITOR=true; {work}");
        assert_eq!(check(&setup, &work, &[]), [""; 0], "{work}");
    }
}

#[test]
fn references_that_replace_objects_are_taken_out_and_no_others() {
    let other = "git replace -f HEAD $(git commit-tree -m other HEAD^{tree})";
    let head = "git branch side; git tag -a v1 -m v1; git tag -a v2 -m v2";
    let is_own = |root: &std::path::Path| {
        shell(
            root,
            "test -z \"$(git replace)\" && test \"$(git log --format=%s)\" = one && git fsck",
        );
        shell(root, "test $(git tag | wc -l) = 0 || git rev-parse side v1 v2^{commit}");
    };
    let told = check_with(COMMITTED, &format!("{head}; {other}"), is_own);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told.iter().all(|path| path.starts_with(".git/refs/replace/")), "{told:?}");
    let packed = format!("{head}; {other}; git pack-refs --all; git tag v3 side");
    assert_eq!(check_with(COMMITTED, &packed, is_own), [".git/packed-refs"]);
    let deep = "mkdir -p .git/refs/replace/info; git rev-parse HEAD > .git/refs/replace/info/$(git rev-parse HEAD)";
    assert_eq!(check_with(COMMITTED, deep, is_own).len(), 1);
    assert_eq!(check(COMMITTED, &format!("{head}; git pack-refs --all; git gc -q"), &[]), [""; 0]);
    let own = format!("{COMMITTED}; {other}; git pack-refs --all");
    assert_eq!(check(&own, &format!("{head}; git pack-refs --all"), &[]), [""; 0]);
    let remote = "mkdir -p .git/remotes .git/branches; echo URL: /home/ada/notes > .git/remotes/origin; echo x > .git/branches/b";
    let out = [(".git/remotes/origin", "-"), (".git/branches/b", "-")];
    assert_eq!(check(COMMITTED, remote, &out), [".git/branches/b", ".git/remotes/origin"]);
}

#[test]
fn a_step_that_git_would_not_write_is_put_back() {
    let folders = [".git", ".git/worktrees/w", ".git/modules/m", "b"];
    let setup = format!(
        "{COMMITTED}; git worktree add -q w; git clone -q --bare . b; mkdir -p .git/modules; git clone -q --bare . .git/modules/m; \
         mkdir b/rebase-merge; echo 7 > b/rebase-merge/msgnum; rm .git/worktrees/w/ORIG_HEAD"
    );
    let steps =
        ["rebase-merge/msgnum", "rebase-merge/end", "rebase-apply/next", "rebase-apply/last"];
    let check_one = |file: &str, content: &str| {
        let was = if file == "b/rebase-merge/msgnum" { "7\n" } else { "-" };
        let folder = file.rsplit_once('/').unwrap().0;
        let attack = format!("mkdir -p {folder}; printf -- \"{content}\" > {file}");
        assert_eq!(check(&setup, &attack, &[(file, was)]), [file], "{content}");
    };
    for folder in folders {
        for step in steps {
            check_one(&format!("{folder}/{step}"), "\\$(id)");
        }
    }
    for content in ["1\n\\`id\\`", "\\${x@P}", "$(seq 400000)", "$(printf %040d 0)"] {
        check_one("b/rebase-merge/msgnum", content);
    }
    for (step, content) in [
        ("rebase-apply/rewritten", "--output=x\n--format=%%B\n0123\n"),
        ("rebase-apply/original-commit", "--output=/x/"),
        ("rebase-apply/orig-head", "/../x"),
        ("rebase-apply/0001", "From --output=x Mon\n"),
        ("rebase-apply/gpg_sign_opt", "--directory=x\n"),
        ("rebase-merge/gpg_sign_opt", "-S\nx"),
        ("rebase-merge/strategy_opts", "'' 'x}\\$(id)'\n"),
        ("sequencer/opts", "[options]\nstrategy = octopus\nstrategy-option = ours\n"),
        ("sequencer/opts", "[options]\nstrategy-option = \\$(id)\n"),
        ("rebase-merge/onto", "--output=x"),
        ("rebase-merge/head-name", "refs/heads/-x"),
        ("rebase-merge/stopped-sha", "0123\n-x"),
        ("rebase-merge/git-rebase-todo", "pick --output=x\n"),
        ("rebase-merge/done", "pick 0123 one\nfixup -C -x\n"),
        ("sequencer/head", "-x"),
        ("sequencer/todo", "revert -x y\n"),
    ] {
        for folder in folders {
            check_one(&format!("{folder}/{step}"), content);
        }
    }
    for head in ["CHERRY_PICK_HEAD", "MERGE_HEAD", "ORIG_HEAD", "REBASE_HEAD", "REVERT_HEAD"] {
        for folder in folders {
            check_one(&format!("{folder}/{head}"), "--output=x\n");
        }
    }
    for (step, content) in [("MERGE_AUTOSTASH", "0123"), ("BISECT_START", "main")] {
        for folder in folders {
            check_one(&format!("{folder}/{step}"), content);
        }
    }
    let both = "mkdir .git/rebase-merge; echo octopus > .git/rebase-merge/strategy; echo \\'ours\\' > .git/rebase-merge/strategy_opts";
    let gone = [(".git/rebase-merge/strategy", "-"), (".git/rebase-merge/strategy_opts", "-")];
    assert_eq!(check(&setup, both, &gone), gone.map(|(file, _)| file));
    let forced = "echo -f > .git/BISECT_START; echo '# bad' > .git/BISECT_LOG";
    let gone = [(".git/BISECT_START", "-")];
    assert_eq!(check(&setup, forced, &gone), [".git/BISECT_START"]);
    let long = "(echo 'From -x y'; head -c 67108865 /dev/zero) > .git/rebase-apply/0001";
    let attack = format!("mkdir .git/rebase-apply; {long}");
    let gone = [(".git/rebase-apply/0001", "-")];
    assert_eq!(check(&setup, &attack, &gone), [".git/rebase-apply/0001"]);
    let attack = "mkdir x; echo evil > x/end; mv x .git/rebase-merge; mkdir .git/rebase-apply; ln -s ../../evil .git/rebase-apply/next";
    let gone = [(".git/rebase-merge/end", "-"), (".git/rebase-apply/next", "-")];
    assert_eq!(check(&setup, attack, &gone), [".git/rebase-apply/next", ".git/rebase-merge/end"]);
    // A submodule can have any name.
    for name in ["lfs", "logs", "third_party/refs"] {
        let folder = format!(".git/modules/{name}");
        let setup = format!("{COMMITTED}; mkdir -p {folder}; git clone -q --bare . {folder}");
        let replacement = format!("{folder}/refs/replace/$(git rev-parse HEAD)");
        let attack = format!(
            "git rev-parse HEAD | tee {folder}/MERGE_AUTOSTASH > {folder}/ORIG_HEAD; \
             mkdir {folder}/refs/replace; git rev-parse HEAD > {replacement}"
        );
        let autostash = format!("{folder}/MERGE_AUTOSTASH");
        let told = check(&setup, &attack, &[(&autostash, "-")]);
        assert_eq!(told.len(), 2, "{told:?}");
    }
    // Where it lacks its `HEAD`, that may come back.
    let setup = "mkdir -p .git/modules/m/objects .git/modules/m/refs; echo 'ref: refs/heads/main' > .git/HEAD";
    let attack = "mkdir .git/modules/m/rebase-merge; echo evil > .git/modules/m/rebase-merge/end";
    let gone = [(".git/modules/m/rebase-merge/end", "-")];
    assert_eq!(check(setup, attack, &gone), [".git/modules/m/rebase-merge/end"]);
}

#[test]
fn what_is_left_alone_is_put_back_once_nothing_runs() {
    let setup = format!(
        "{COMMITTED}; cp .git/ORIG_HEAD .git/MERGE_HEAD 2>/dev/null || git rev-parse HEAD > .git/MERGE_HEAD; \
         git rev-parse HEAD > .git/MERGE_AUTOSTASH"
    );
    let gone = [(".git/MERGE_AUTOSTASH", "-")];
    assert_eq!(check(&setup, "rm .git/MERGE_HEAD", &gone), [".git/MERGE_AUTOSTASH"]);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    shell(&root, "git init -q .");
    let part = root.join(".git/BISECT_START");
    let mut guard = Guard::new(crate::GUARDED_FOLDERS_MAX, Default::default(), None);
    let roots = [root];
    guard.begin(&roots, &[], Journaled::Needless).unwrap();
    guard.begin(&roots, &[], Journaled::Needless).unwrap();
    shell(&roots[0], "echo main > .git/BISECT_START");
    assert!(guard.end(None).is_empty() && part.exists());
    assert_eq!((guard.end(None).len(), part.exists()), (1, false));
}
