//! Ordinary work, which must run without a question.

use super::row::{Call, Row, row};

const SERVERS: (&str, &str) =
    ("sockets to other machines are refused as a whole, and those to this one with them", "lacks");

/// The toolchain that builds the tests, as the user's own.
const TOOLCHAIN: &str = "ln -sfn $TOOLCHAIN $USERHOME/.rustup";

/// What a repository may have at protected names.
const TRACKED: &str = "mkdir .vscode pkg; echo mine > .vscode/settings.json; echo own > pkg/.envrc";

macro_rules! toolchain {
    () => {
        "PATH=$USERHOME/.rustup/bin:$PATH; cargo -V > /dev/null || { echo SKIPPED: the toolchain cannot be linked into a folder for everybody; exit 0; }\n"
    };
}

macro_rules! submodule {
    () => {
        "export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e; git init -qb main o; git -C o commit -q --allow-empty -m m; git init -qb main p; cd p; git -c protocol.file.allow=always submodule --quiet add ../o lib; git commit -qm sub"
    };
}

/// A repository of the user's with a submodule.
const SUBMODULE: &str = concat!(submodule!(), "; mkdir deep");

/// What the user's own git finds where a command moved it, and that its repository says so once.
const MOVED: &str = "cd p; git() { command git -c safe.directory='*' \"$@\"; }; test -z \"$(git status --porcelain)\" && git submodule update && git -C \"$(git config -f .gitmodules submodule.lib.path)\" log --oneline && test $(git config -f .git/modules/lib/config --get-all core.worktree | wc -l) = 1";

macro_rules! works {
    ($name:literal, $script:expr, $prints:expr) => {
        row($name, &[Call::Script(concat!("exec 2>&1; set -e\n", $script))]).prints($prints)
    };
}

macro_rules! typed {
    ($name:literal, $command:expr, $prints:expr) => {
        row($name, &[Call::Typed(concat!("cd @ROW@ && ", $command))])
            .prints($prints)
            .never(&["needs the user's yes", "Error:"])
    };
}

macro_rules! git {
    ($name:literal, $script:literal, $prints:expr) => {
        works!(
            $name,
            concat!(
                "export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e
git init -qb main; echo a > a; git add .; git commit -qm first\n",
                $script
            ),
            $prints
        )
        .needs(&["git"])
        .never(&["[walls]", "fatal", "error:"])
    };
}

pub(super) const ROWS: &[Row] = &[
    row("all six tools", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/a/b.txt","content":"one\ntwo\n"}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/a/b.txt"}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/a/b.txt","old_text":"two","new_text":"three"}"#),
        Call::Tool("grep", r#"{"pattern":"three","path":"@ROW@"}"#),
        Call::Tool("glob", r#"{"pattern":"**/b.txt","path":"@ROW@"}"#),
        Call::Typed("cat @ROW@/a/b.txt"),
    ])
    .never(&["Error"])
    .prints(&["one\nthree"]),
    row("what other agents are told, which runs nothing", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/CLAUDE.md","content":"one\n"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/.claude/commands/review.md","content":"two\n"}"#),
        Call::Script("mkdir -p .cursor/rules .github/workflows; echo three > .cursor/rules/a.mdc; echo four >> .claude/commands/review.md; cat CLAUDE.md .claude/commands/review.md .cursor/rules/a.mdc"),
    ])
    .never(&["needs the user's yes", "protected: ", "Error"])
    .prints(&["one\ntwo\nfour\nthree"]),
    row("links within the workspace", &[
        Call::Script("mkdir d; echo x > d/f; ln -s d l; ln -s d/f g; ln d/f h; cat l/f g h; echo y > l/new"),
        Call::Tool("read_file", r#"{"path":"@ROW@/l/f"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/l/other","content":"z"}"#),
        Call::Tool("read_file", r#"{"path":"@WORK@/@ROW@/g"}"#),
    ])
    .never(&["Error"])
    .prints(&["x\nx\nx"]),
    typed!("pipes", "seq 1000 | sort -rn | head -1 | tr 0 x", &["1xxx"]),
    typed!("lists and tests", "mkdir -p d && test -d d && echo is || echo not", &["is"]),
    typed!("here documents", "cat > h <<E && cat h\n$((6*7))\nE\n", &["42"]),
    typed!("loops and functions", "f() { for n in 1 2 3; do echo $((n*n)); done; }; f | paste -sd+ | bc 2>/dev/null || f", &["1"]),
    typed!("sed in place", "echo aaa > s && sed -i s/a/b/g s && cat s", &["bbb"]),
    typed!("removing in the workspace", "mkdir -p x/y && touch x/y/z && rm -rf x && ls -A | wc -l", &["0"]),
    typed!("find and xargs", "touch a.c b.c && find . -name '*.c' -print0 | xargs -0 ls | wc -l", &["2"]),
    typed!("awk and cut", "printf 'a,b\\nc,d\\n' | awk -F, '{print $2}' | paste -sd-", &["b-d"]),
    typed!("chmod and run", "printf '#!/bin/sh\\necho ran\\n' > p && chmod +x p && ./p", &["ran"]),
    typed!("temporary files", "f=$(mktemp) && echo t > $f && cat $f && rm $f && d=$(mktemp -d) && touch $d/x && ls $d", &["t\nx"]),
    typed!("ps, df, date, locale, uname, nproc", "ps > /dev/null && df . > /dev/null && date +%Y > /dev/null && locale > /dev/null && uname -r > /dev/null && nproc > /dev/null && echo known", &["known"]),
    typed!("odd names", "touch -- '-n' '  ' 'ü' \"it's\" && ls | wc -l", &["4"]),
    works!("process substitution", "diff <(echo a) <(echo a) && echo same", &["same"]),
    works!("background jobs", "(sleep 0.05; echo job) & wait; echo after", &["job\nafter"]),
    works!("traps and signals", "trap 'echo caught' USR1; kill -USR1 $$; sleep 100 & kill $!; wait $! || echo $?", &["caught\n143"]),
    works!("time limits of one's own", "timeout 0.1 sleep 10 || echo $?", &["124"]),
    works!("tar and gzip", "mkdir t; echo a > t/f; tar czf t.tgz t; rm -r t; tar xzf t.tgz; cat t/f", &["a\n"]),
    works!("a named pipe", "mkfifo p; (echo through > p &); cat p", &["through"]),
    works!("locks", "exec 9> lock; flock 9; flock -n lock true || echo locked", &["locked"]),
    works!("files of the home for the session", "echo x > $HOME/.cache-of-a-tool; mkdir -p $HOME/.config/tool; cat $HOME/.cache-of-a-tool; echo kept", &["x\nkept"])
        .never(&["[walls]"]),
    row("git: a worktree in the home, which goes with the session", &[
        Call::Script("set -e; exec 2>&1; git init -qb main; git -c user.name=n -c user.email=e commit -q --allow-empty -m m; git worktree add -q ~/tree-of-a-row; echo made"),
        Call::Script("git -C ~/tree-of-a-row log --format=%s"),
    ])
    .prints(&["made", "tree-of-a-row is outside of the workspace, in a private folder that is gone at the end of the session", "\nm"])
    .never(&["fatal"])
    .needs(&["git"]),
    row("the user's own settings of git, where the workspace holds them", &[Call::Script(
        "HOME=$PWD/../../home git config --global user.name Ada; echo end",
    )])
    .prepare("mkdir -p $WORK/home; echo '[user]' > $WORK/home/gitconfig; ln -sfn $WORK/home/gitconfig $USERHOME/.gitconfig; ln -s gitconfig $WORK/home/.gitconfig")
    .alone()
    .needs(&["git"])
    .prints(&["end", "gitconfig was changed; put back as it was"]),
    works!("settings of the home", "git init -q .; echo a > a; git add .; git commit -qm first; git log --format=%an; git status --short; git branch b; bash -lc true; echo found", &["Ada Real", "found"])
        .needs(&["git"])
        .never(&["[walls]", "denied", "fatal"]),
    works!("git: filters and attributes of the home's settings", "git init -qb main; echo one > a.bin; git add .; git commit -qm one; git show HEAD:a.bin; git switch -qc side; echo two > a.bin; git commit -qam two; git switch -q main; cat a.bin; git status --short; echo abc > b.up; git add .; git show :b.up; rm b.up; git checkout -q b.up; cat b.up; echo end", &["tidy-one\none\nABC\nabc\nend"])
        .prepare("printf '[filter \"x\"]\\n\\tclean = sed s/^/tidy-/\\n\\tsmudge = sed s/^tidy-//\\n[core]\\n\\tattributesFile = ~/.attributes\\n[filter \"u\"]\\n\\tclean = tr a-z A-Z\\n[includeIf \"gitdir:/**\"]\\n\\tpath = ~/.more\\n' >> $USERHOME/.gitconfig; printf '*.bin filter=x\\n*.up filter=u\\n' > $USERHOME/.attributes; printf '[filter \"u\"]\\n\\tsmudge = tr A-Z a-z\\n' > $USERHOME/.more")
        .alone()
        .needs(&["git"])
        .never(&["[walls]", "denied", "fatal", "error:"]),
    works!("programs in a home with settings", "for p in 'npm --version' 'pip --version' 'python3 -c pass' 'node -e 0' 'make --version' 'curl --version' 'wget --version'; do command -v ${p%% *} > /dev/null || continue; $p > out 2>&1 || { echo $p; cat out; exit 1; }; done; cat out; echo all", &["all"])
        .never(&["[walls]", "denied"]),
    works!("a virtual terminal", "script -qc 'echo seen' /dev/null", &["seen"])
        .needs(&["script"])
        .not_in_c("the machine's terminals are not for commands there", "lacks"),
    git!("git: commit", "echo b >> a; git diff --stat | tail -1; git commit -qam second; git log --oneline | wc -l; git status --short -uno | wc -l", &["1 insertion", "2\n0\n"]),
    git!("git: branch and merge", "git switch -qc side; echo b > b; git add b; git commit -qm b; git switch -q main; git merge -q side; ls", &["a\nb\n"]),
    git!("git: rebase", "git switch -qc side; echo b > b; git add b; git commit -qm b; git switch -q main; echo c > c; git add c; git commit -qm c; git switch -q side; git rebase -q main; git log --oneline | wc -l", &["3\n"]),
    row("git: linked worktrees outside of the workspace stay known", &[Call::Script(
        "exec 2>&1; touch -d '4 months ago' .git/worktrees/*/*; git gc -q; git worktree prune; git worktree list | wc -l; { echo x > ../out/file; } 2> /dev/null; echo end",
    )])
    .prepare("git init -qb main r; cd r; git -c user.name=n -c user.email=e commit -q --allow-empty -m m; git worktree add -q ../out; git worktree add -q ../gone; rm -r ../gone; cd ../out; echo staged > s; git add s")
    .within("r")
    .prints(&["2\nend"])
    .never(&["fatal"])
    .after("test \"$(git -c safe.directory='*' -C out status --short)\" = 'A  s' -a \"$(ls out)\" = s")
    .needs(&["git"]),
    row("git: a worktree and a submodule in the next call", &[
        Call::Script("set -e; exec 2>&1; g='git -c user.name=n -c user.email=e -c protocol.file.allow=always'; git init -qb main; $g commit -q --allow-empty -m m; git init -q o; $g -C o commit -q --allow-empty -m m; git worktree add -q w; $g submodule --quiet add ./o s; echo made"),
        Call::Script("exec 2>&1; git -C w log --oneline | wc -l; git -C s log --oneline | wc -l; git -C s rev-parse --show-toplevel"),
    ])
    .prints(&["made", "1\n1\n"])
    .never(&["[walls]", "fatal"])
    .needs(&["git"]),
    git!("git: branches and remotes that are renamed into new folders", "git branch -m side/one; git branch -m side; git branch -m x/y/z; git remote add o https://h.invalid/a; git update-ref refs/remotes/o/main HEAD; git remote rename o up; git branch -a; mv a none/a || git status --short", &["* x/y/z\n  remotes/up/main\n"]),
    git!("git: worktree", "git worktree add -q w -b w; cd w; echo c > c; git add c; git commit -qm c; git log --oneline | wc -l; cd ..; git worktree remove w; git worktree prune", &["2\n"]),
    git!("git: worktree where protected names are tracked", "git worktree add -q w -b w; git -C w status --short; cat w/.vscode/settings.json w/pkg/.envrc; git worktree remove w; echo clean", &["mine\nown\nclean"])
        .prepare(TRACKED),
    works!("git: switching where settings of hook managers are tracked", "cd $WORK; git switch -q side; cat .pre-commit-config.yaml; rm .husky/_/husky.sh; echo own > .husky/_/husky.sh; git switch -q main; cat .pre-commit-config.yaml", &["theirs\nours"])
        .prepare("cd $WORK; export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e; git init -qb main .; mkdir -p .husky/_; echo own > .husky/_/husky.sh; echo ours > .pre-commit-config.yaml; git add .husky .pre-commit-config.yaml; git commit -qm a; git switch -qc side; echo theirs > .pre-commit-config.yaml; git commit -qam b; git switch -q main")
        .never(&["[walls]", "fatal", "error:"])
        .needs(&["git"])
        .alone(),
    git!("git: a clone that shares objects", "git clone -q --shared . b; git -C b log --format=%s; cd b; echo b > b; git add b; git commit -qm second; git fsck; git repack -adq; rm .git/objects/info/alternates; git log --oneline | wc -l", &["first\n", "2\n"]),
    row("git: clones of one another in the next call", &[
        Call::Script("set -e; exec 2>&1; g='git -c user.name=n -c user.email=e'; git init -qb main a; $g -C a commit -q --allow-empty -m one; git clone -q ./a ./b; git init -q --bare c.git; git -C b remote add c $PWD/c.git; git -C b push -q -u c main; git -C b config --rename-section remote.c remote.up; git -C b config branch.main.remote up; echo made"),
        Call::Script("exec 2>&1; git -c user.name=n -c user.email=e -C a commit -q --allow-empty -m two; git -C b pull -q $PWD/a; git -C b fetch -q --all; git -C b push -q; git -C b branch -q --set-upstream-to origin/main; git -C b status -sb; git -C c.git log --format=%s main; git -C b config fetch.prune true; git -C b remote"),
    ])
    .prints(&["made", "## main...origin/main", "two\none", "origin\nup"])
    .never(&["[walls]"])
    .needs(&["git"]),
    git!("git: clone and copy where protected names are tracked", "git clone -q . c; git -C c status --short; cp -r pkg other; cat c/.vscode/settings.json c/pkg/.envrc other/.envrc; echo clean", &["mine\nown\nown\nclean"])
        .prepare(TRACKED),
    git!("git: indexes of every kind", "git update-index --index-version 4; echo b > b; git add b; git update-index --split-index; echo c > c; git add c; git worktree add -q w; git stash -q; git checkout -q .; git stash pop -q; git commit -qm two; git status --short b c", &[""]),
    git!("git: rebases and patches with conflicts", "git switch -qc side; for n in 1 2; do echo $n > a; git commit -qam $n; done; git format-patch -q -1 -o p main..side; git switch -q main; echo z > a; git commit -qam z; git switch -q side; GIT_SEQUENCE_EDITOR=true git rebase -qi main 2> /dev/null || cat .git/rebase-merge/msgnum; git rebase --abort; git rebase -q --apply main > /dev/null 2>&1 || cat .git/rebase-apply/next; git rebase --abort; git switch -q main; git am -q p/* > /dev/null 2>&1 || cat .git/rebase-apply/last; git am --abort; git worktree add -q w side; git -C w rebase -q main > /dev/null 2>&1 || cat .git/worktrees/w/rebase-merge/end", &["1\n1\n1\n2\n"]),
    git!("git: a list of commits that an option edits", "for n in b c; do echo $n > $n; git add $n; git commit -qm $n; done; git -c sequence.editor='sed -i 1d' rebase -qi HEAD~2; git log --format=%s; printf 'y\\nn\\n' > answers; echo x >> a; echo x >> c; git add -p < answers > /dev/null; git diff --cached --name-only", &["c\nfirst\na\n"]),
    row("git: a submodule that moves", &[Call::Script("exec 2>&1; set -e; cd p; git mv lib lib2; git -c user.name=n -c user.email=e commit -qm moved; git status --short; echo end")])
        .prepare(SUBMODULE)
        .prints(&["end"])
        .never(&["[walls]", "fatal", "error:"])
        .after(MOVED)
        .needs(&["git"]),
    row("git: a submodule that moves to a name with other signs", &[
        Call::Script("exec 2>&1; set -e; cd p; git mv lib 'w\u{f6}rk + 1'; git -c user.name=n -c user.email=e commit -qm moved; git status --short; echo moved"),
        Call::Script("exec 2>&1; set -e; cd p; git status --short; git -C 'w\u{f6}rk + 1' status --short; echo end"),
    ])
        .prepare(SUBMODULE)
        .prints(&["moved\n", "end"])
        .never(&["[walls]", "fatal", "error:"])
        .after(MOVED)
        .needs(&["git"]),
    row("git: a submodule of a linked worktree that moves", &[
        Call::Script("exec 2>&1; set -e; cd p; git -C w mv lib deep; git -C w -c user.name=n -c user.email=e commit -qm moved; git -C w status --short; echo moved"),
        Call::Script("exec 2>&1; set -e; cd p; git -C w status --short; git -C w/deep log --format=%s; echo end"),
    ])
        .prepare(concat!(submodule!(), "; git worktree add -qb w w; git -C w -c protocol.file.allow=always submodule --quiet update --init"))
        .prints(&["moved\n", "m\nend"])
        .never(&["[walls]", "fatal", "error:"])
        .needs(&["git"]),
    row("git: clones in a folder with signs in its name", &[
        Call::Script("exec 2>&1; set -e; git clone -q . c; git clone -q --bare . b.git; git remote add b \"$PWD/b.git\"; git bundle create -q q.bundle --all; git clone -q q.bundle d; git init -qb main lib; git -C lib -c user.name=n -c user.email=e commit -q --allow-empty -m m; git submodule --quiet add \"$PWD/lib\" sub; echo made"),
        Call::Script("exec 2>&1; set -e; git push -q b main; git -C c fetch -q; git -C d pull -q; git -C sub fetch -q; git config submodule.sub.url; git remote; echo end"),
    ])
        .prepare("mkdir \"R&D (ada's) \\$x\"; cd R*; git init -qb main; git -c user.name=n -c user.email=e commit -q --allow-empty -m m; printf '[protocol \"file\"]\\n\\tallow = always\\n' >> $USERHOME/.gitconfig")
        .within("R&D (ada's) $x")
        .prints(&["made\n", "/lib\nb\nend"])
        .never(&["[walls]", "fatal", "protected:"])
        .needs(&["git"]),
    works!("git: scripts with the names of remotes", "cd $WORK; echo 'echo more' >> deploy; echo x > release; cat deploy release", &["echo first\necho more\nx"])
        .prepare("cd $WORK; git init -qb main .; git config remote.deploy.pushurl ssh://h.invalid/x; git config branch.main.pushRemote release; echo 'echo first' > deploy")
        .after("cd $WORK; grep -q more deploy && test -e release")
        .never(&["[walls]", "fatal", "protected:"])
        .needs(&["git"])
        .alone(),
    row("git: a submodule that moves into another folder", &[Call::Script("exec 2>&1; set -e; cd p; git mv lib deep/lib; git -c user.name=n -c user.email=e commit -qm moved; git status --short; echo end")])
        .prepare(SUBMODULE)
        .prints(&["end"])
        .never(&["[walls]", "fatal", "error:"])
        .after(MOVED)
        .needs(&["git"]),
    git!("git: stash and tag", "echo z > a; git stash -q; git stash pop -q; git tag t; git reset -q --hard t; cat a", &["a\n"]),
    git!("git: settings and remotes", "git config user.name x; git remote add o https://example.com/a; git branch -M trunk; git remote; git config user.name", &["o\nx"]),
    git!("git: clone and push", "git clone -q --bare . b.git; git clone -q b.git c; cd c; echo d > d; git add d; git commit -qm d; git push -q; git -C ../b.git log --oneline | wc -l", &["2\n"]),
    git!("git: gc and fsck", "git gc -q; git fsck 2>/dev/null; echo whole", &["whole"]),
    works!("cargo without a network", concat!(toolchain!(), "cargo init -q --vcs none --name tiny .; echo '#[test] fn t() { assert_eq!(6*7, 42); }' >> src/main.rs; cargo test -q --offline 2>&1 | tail -5; cargo run -q --offline"), &["1 passed", "Hello"])
        .prepare(TOOLCHAIN)
        .needs(&["cc"]),
    works!("rustc", concat!(toolchain!(), "echo 'fn main() { println!(\"{}\", 6*7) }' > m.rs; rustc m.rs; ./m"), &["42"])
        .prepare(TOOLCHAIN)
        .needs(&["cc"]),
    works!("compiler", "printf '#include <stdio.h>\\nint main(void){printf(\"%%d\\\\n\",6*7);return 0;}' > m.c; cc -O2 -o m m.c; ./m", &["42"]).needs(&["cc"]),
    works!("programs that look for leaks", "printf 'int main(void){return 0;}' > m.c; cc -fsanitize=address -o m m.c || { echo clean; exit 0; }; ./m && echo clean", &["clean"])
        .never(&["LeakSanitizer"])
        .needs(&["cc"]),
    works!("make", "printf 'all: b\\nb: a\\n\\tcp a b && echo built\\n' > Makefile; echo a > a; make -j2; make", &["built", "Nothing to be done"])
        .needs(&["make"]),
    works!("python's tests", "printf 'import unittest\\nclass T(unittest.TestCase):\\n  def test(self): self.assertEqual(6*7, 42)\\n' > test_x.py; python3 -m unittest -q", &["OK"])
        .needs(&["python3"]),
    works!("python's processes", "python3 -c 'from concurrent.futures import ProcessPoolExecutor as P\nwith P(2) as p: print(list(p.map(abs,[-1,-2])))'", &["[1, 2]"])
        .needs(&["python3"])
        .not_in_c("shared memory of the machine is not for commands there", "lacks"),
    works!("a virtual environment", "python3 -m venv --without-pip v; v/bin/python -c 'import sys; print(sys.prefix)'", &["/v\n"])
        .needs(&["python3"]),
    typed!("a virtual environment's own test runner", ".venv/bin/pytest -q", &["2 passed"])
        .prepare("PATH=/usr/local/bin:/usr/bin:/bin python3 -m venv --without-pip --system-site-packages .venv; printf '#!%s/.venv/bin/python\ntry: from pytest import console_main as main\nexcept ImportError: from runner import main\nmain()\n' $PWD > .venv/bin/pytest; chmod +x .venv/bin/pytest; printf 'import glob, importlib, os, sys\ndef main():\n    sys.path.insert(0, os.getcwd())\n    modules = [importlib.import_module(f[:-3]) for f in sorted(glob.glob(\"test_*.py\"))]\n    tests = [t for m in modules for n, t in vars(m).items() if n.startswith(\"test_\")]\n    for test in tests: test()\n    os.mkdir(\".pytest_cache\")\n    print(len(tests), \"passed\")\n' > $(echo .venv/lib/python*/site-packages)/runner.py; echo 'def twice(n): return 2 * n' > mine.py; printf 'import mine\ndef test_a(): assert mine.twice(2) == 4\ndef test_b(): assert mine.twice(0) == 0\n' > test_mine.py")
        .after("ls -d .pytest_cache __pycache__")
        .needs(&["python3"]),
    works!("sqlite through python", "python3 -c 'import sqlite3; c=sqlite3.connect(\"d.db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t(a)\"); c.execute(\"insert into t values(42)\"); c.commit(); print(c.execute(\"select a from t\").fetchone()[0])'", &["42"])
        .needs(&["python3"]),
    works!("node", "node -e 'console.log(6*7)'", &["42"]).needs(&["node"]),
    works!("npm scripts", "printf '{\"name\":\"x\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node -e \\\\\"console.log(6*7)\\\\\"\"}}' > package.json; npm test --silent", &["42"])
        .needs(&["npm", "node"]),
    works!("perl", "perl -e 'print 6*7'", &["42"]).needs(&["perl"]),
    works!("a server and a client", "python3 -m http.server 18473 --bind 127.0.0.1 > log 2>&1 &\nfor n in $(seq 100); do sleep 0.05; python3 -c 'import urllib.request as r; r.install_opener(r.build_opener(r.ProxyHandler({}))); print(r.urlopen(\"http://127.0.0.1:18473/\").status)' 2>/dev/null && break; done; kill %1", &["200"])
        .needs(&["python3"])
        .not_in_c(SERVERS.0, SERVERS.1),
    works!("a server by other names of loopback", "getent ahostsv4 $(hostname) | grep -q '^127\\.' || { echo 'SKIPPED: the name of the machine is not loopback'; exit 0; }\npython3 -m http.server 18475 --bind 127.0.0.1 > log 2>&1 &\nfor n in $(seq 100); do sleep 0.05; python3 -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).status)' http://$(hostname):18475/ 2>/dev/null && break; done; kill %1", &["200"])
        .needs(&["python3", "getent", "hostname"])
        .never(&["[walls]"])
        .not_in_c(SERVERS.0, SERVERS.1),
    works!("a server at the loopback of IPv6", "test -e /proc/net/if_inet6 || { echo 'SKIPPED: there is no loopback of IPv6'; exit 0; }\npython3 -m http.server 18476 --bind ::1 > log 2>&1 &\nfor n in $(seq 100); do sleep 0.05; python3 -c 'import urllib.request as r; print(r.urlopen(\"http://[::1]:18476/\").status)' 2>/dev/null && break; done; kill %1", &["200"])
        .needs(&["python3"])
        .never(&["[walls]"])
        .not_in_c(SERVERS.0, SERVERS.1),
    row("a server as a job, and a client", &[
        Call::Job("exec python3 -u -m http.server 18474 --bind 127.0.0.1"),
        Call::Script("for n in $(seq 50); do sleep 0.05; python3 -c 'import urllib.request as r; r.install_opener(r.build_opener(r.ProxyHandler({}))); print(r.urlopen(\"http://127.0.0.1:18474/\").status)' 2>/dev/null && break; done"),
        Call::Tool("jobs", r#"{"action":"stop"}"#),
    ])
    .alone()
    .prints(&["200", "GET / HTTP/1.1"])
    .needs(&["python3"])
    .not_in_b("each command has a network of its own there", "lacks")
    .not_in_c(SERVERS.0, SERVERS.1),
    row("a long build as a job", &[
        Call::Job("echo begun; sleep 0.6; echo built > result; echo ended"),
        Call::Tool("jobs", r#"{"action":"list"}"#),
        Call::Tool("jobs", r#"{"action":"wait","job":1}"#),
        Call::Typed("cat @ROW@/result"),
    ])
    .alone()
    .prints(&["\nbegun", "job 1: running: cd rows/", "job 1 has ended: exit code 0\nended", "built"]),
    works!("a server on a socket of the workspace", "python3 -c 'import socket,os\ns=socket.socket(socket.AF_UNIX); s.bind(\"s\"); s.listen()\nif os.fork()==0:\n  c=socket.socket(socket.AF_UNIX); c.connect(\"s\"); c.send(b\"hello\"); os._exit(0)\nprint(s.accept()[0].recv(9).decode())'", &["hello"])
        .needs(&["python3"])
        .not_in_c("sockets with a path are refused as a whole there", "lacks"),
    works!("a call after a command that failed", "false || echo went on; (exit 3) || echo $?", &["went on\n3"]),
    typed!("a message from a here document", "git init -q . && git -c user.name=a -c user.email=a commit -q --allow-empty -m \"$(cat <<'EOF'\nfix: don't run `rm -rf /` (really)\n\nsudo is not needed.\nEOF\n)\" && git log --format=%s", &["fix: don't run"]).needs(&["git"]),
    typed!("a script made and run", "cat > s.sh <<'EOF'\nset -euo pipefail\nfor f in \"$@\"; do echo \"<$f>\"; done\nEOF\nchmod +x s.sh && ./s.sh a 'b c' && bash s.sh d", &["<a>\n<b c>\n<d>"]),
    typed!("a shell that reads", "printf 'echo %s\\n' one two | bash && bash -s x <<< 'echo $1' && bash -c 'echo $0' y", &["one\ntwo\nx\ny"]),
    typed!("env, nice, timeout and xargs", "env A=1 nice -n 5 timeout 5 sh -c 'echo $A' && seq 3 | xargs -n1 -P2 echo | wc -l && env -u A printenv HOME > /dev/null", &["1\n3"]),
    typed!("substitutions and arithmetic", "a=(1 2 3); echo $(( ${#a[@]} * $(echo 7) )); [[ ${a[1]} -eq 2 ]] && diff <(seq 2) <(seq 2) && mapfile -t l < <(seq 4) && echo ${#l[@]}", &["21\n4"]),
    typed!("patterns in the workspace", "mkdir -p p/q && touch p/a.c p/q/b.c && ls p/*.c && find p -name '*.c' -exec wc -c {} + | tail -1", &["p/a.c"]),
    git!("git: cherry-pick, revert and bisect", "for n in 1 2 3 4; do echo $n > n; git add n; git commit -qm n$n; done; git revert --no-edit HEAD > /dev/null; cat n; git bisect start HEAD HEAD~3 > /dev/null; git bisect run sh -c 'test $(cat n) -lt 3' | grep -c 'is the first bad'; git bisect reset > /dev/null 2>&1", &["3\n1\n"]),
    git!("git: patches and archives", "echo b >> a; git commit -qam second; git format-patch -q -1 -o out; git reset -q --hard HEAD~1; git -c user.name=n -c user.email=e am -q out/*.patch; git archive HEAD | tar t; git blame a | wc -l", &["a\n2\n"]),
    works!("folders of a group", "umask 022; git init -q --shared s && mkdir -m 2775 m && mkdir g && chmod g+s g && cp -a m c && chmod u+rwx,g=rxs m && stat -c %a s/.git/objects g c m && test $(stat -c %G g) = $(id -gn) && cd s && echo x > a && git add a && git -c user.name=a -c user.email=e commit -qm a && git log --format=%s", &["2775\n2755\n2775\n2755\na\n"]).needs(&["git"]),
    works!("an archive of another user's", "mkdir t && echo x > t/f && tar czf t.tgz --owner=1000 --group=1000 t && rm -r t && tar xzf t.tgz && cd t && cat f && test -O f && echo mine", &["x\nmine\n"]),
    works!("perl in place and awk to a file", "echo aaa > f; perl -pi -e 's/a/b/' f; awk '{print > \"g\"}' f; cat g; sort -o f f; split -b 2 f part; ls part*", &["baa\npartaa\npartab"]).needs(&["perl"]),
    works!("keys and sums", "openssl rand -hex 8 > k; sha256sum k > s; sha256sum -c s; openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=x 2>/dev/null; ls *.pem", &["k: OK\ncert.pem\nkey.pem"]).needs(&["openssl"]),
    works!("rsync and cp within the workspace", "mkdir -p a/b; echo x > a/b/f; cp -a a c; ln -s a l; cp -rL l d; find c d -type f | sort; touch -d '2001-02-03' c/b/f; chmod 600 c/b/f; stat -c %a c/b/f", &["c/b/f\nd/b/f\n600"]),
    works!("a virtual environment of the home", "PATH=$VIRTUAL_ENV/bin:$PATH; python -c 'import sys, only_there; print(sys.prefix, only_there.x)'; $VIRTUAL_ENV/bin/tool", &["@USERHOME@/.virtualenvs/x 42\nits own tool"])
        .prepare("v=$USERHOME/.virtualenvs/x; PATH=/usr/local/bin:/usr/bin:/bin python3 -m venv --without-pip $v; echo 'x = 42' > $(echo $v/lib/python*/site-packages)/only_there.py; printf '#!/bin/sh\necho its own tool\n' > $v/bin/tool; chmod +x $v/bin/tool")
        .given(&[("VIRTUAL_ENV", "@USERHOME@/.virtualenvs/x")])
        .needs(&["python3"]),
];
