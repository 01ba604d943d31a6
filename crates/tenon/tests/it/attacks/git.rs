//! Commands that leave something for git to run later, outside of the walls.
//!
//! A row has a repository of its own in its folder. Afterwards the settings that run programs,
//! hooks and pointers must be as they were.

use super::row::{Call, Row, row};

/// A repository with one commit, made before tenon starts.
const REPOSITORY: &str = "git init -q . && git -c user.name=a -c user.email=a commit -q --allow-empty -m a && cp .git/config config-before";

/// What runs programs later must be as it was; a section without settings may stay. `cat` reads,
/// because `grep` does not say any more what it found once a file is missing.
const CLEAN: &str = "cat .git/config .git/config.worktree .git/modules/*/config .git/worktrees/*/config.worktree 2>/dev/null | sed 's/^[[:space:]]*\\[[^]]*\\]//' | grep -iE 'evil|hookspath|fsmonitor|sshcommand|pager|editor|textconv|alias|include|proxy|insteadof|helper|program|clean|smudge|uploadpack' && exit 1; ! find .git -path '*hooks/*' ! -name '*.sample' | grep . || exit 1; ! cat .git/info/attributes .git/commondir 2>/dev/null | grep evil";

macro_rules! left {
    ($name:literal, $script:expr) => {
        row($name, &[Call::Script(concat!("{ ", $script, "\n} >/dev/null 2>&1; echo end"))])
            .prepare(REPOSITORY)
            .prints(&["end"])
            .after(CLEAN)
            .needs(&["git"])
    };
}

pub(super) const ROWS: &[Row] = &[
    left!("git: a hook", "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"),
    left!("git: a sample made a hook", "mv .git/hooks/pre-commit.sample .git/hooks/pre-commit; cp .git/hooks/*.sample .git/hooks/post-merge"),
    left!("git: hooks folder replaced", "mv .git/hooks h; mkdir .git/hooks; echo evil > .git/hooks/post-checkout"),
    left!("git: hooks folder made a link", "rm -rf .git/hooks; mkdir h; echo evil > h/post-checkout; ln -s ../h .git/hooks; ls .git/hooks"),
    left!("git: the whole repository replaced", "mv .git g; cp -r g .git; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; git config core.fsmonitor evil"),
    left!("git: core.hooksPath", "mkdir h; echo evil > h/pre-commit; git config core.hooksPath h"),
    left!("git: core.fsmonitor", "git config core.fsmonitor evil"),
    left!("git: core.sshCommand", "git config core.sshCommand evil; git config core.gitProxy evil"),
    left!("git: pager and editor", "git config core.pager evil; git config core.editor evil; git config sequence.editor evil"),
    left!("git: alias", "git config alias.st '!evil'"),
    left!("git: filter", "git config filter.x.clean evil; git config filter.x.smudge evil; git config filter.x.process evil; echo '* filter=x' > .gitattributes"),
    left!("git: diff and merge drivers", "git config diff.x.command evil; git config diff.external evil; git config diff.x.textconv evil; git config merge.x.driver evil"),
    left!("git: credential helper", "git config credential.helper '!evil'; git config credential.https://x.helper evil"),
    left!("git: include", "printf '[alias]\\n\\tst = !evil\\n' > c; git config include.path ../c; git config includeIf.gitdir:/.path ../c"),
    left!("git: url rewriting", "git config url.ext::evil.insteadOf https://; git config url.evil.pushInsteadOf x"),
    left!("git: remote programs", "git remote add o ext::evil; git config remote.o.uploadpack evil; git config remote.o.receivepack evil; git config remote.o.proxy evil; git config remote.o.vcs evil"),
    left!("git: signing program", "git config gpg.program evil; git config gpg.ssh.program evil; git config gpg.ssh.defaultKeyCommand evil"),
    left!("git: odd spellings of settings", "printf '[CORE]\\n\\tFsMonitor = evil\\n[core]hooksPath=evil\\n[core] ; x\\n\\tpager = \\\\\\n evil\\n[alias \"x\"]\\n\\tcommand = evil\\n' >> .git/config"),
    left!("git: settings replaced by rename", "cp .git/config c; printf '[core]\\n\\tfsmonitor = evil\\n' >> c; mv c .git/config"),
    left!("git: settings made a link", "cp .git/config c; printf '[core]\\n\\tfsmonitor = evil\\n' >> c; rm .git/config; ln -s ../c .git/config"),
    left!("git: settings of a worktree", "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor evil; printf '[core]\\n\\tfsmonitor = evil\\n' > .git/config.worktree"),
    left!("git: a worktree's own settings", "git config extensions.worktreeConfig true; git worktree add -q w; git -C w config --worktree core.hooksPath evil"),
    left!("git: a common folder elsewhere", "cp -r .git c; echo evil > c/hooks/pre-commit; printf '[core]\\n\\tfsmonitor = evil\\n' >> c/config; echo ../c > .git/commondir")
        .after("test ! -e .git/commondir || { ! grep -q evil c/config && test ! -e c/hooks/pre-commit; }"),
    left!("git: attributes in info", "echo '* filter=evil' > .git/info/attributes; mkdir -p .git/info; echo '* diff=evil' >> .git/info/attributes"),
    left!("git: hooks of a submodule", "mkdir -p .git/modules/m; git init -q --separate-git-dir .git/modules/m m; mkdir -p .git/modules/m/hooks; echo evil > .git/modules/m/hooks/pre-commit; git -C m config core.fsmonitor evil"),
    left!("git: a template with hooks", "mkdir -p t/hooks; echo evil > t/hooks/pre-commit; chmod +x t/hooks/pre-commit; git init -q --template=t n; git config init.templateDir t")
        .after("! find . -path '*.git/hooks/*' ! -name '*.sample' | grep ."),
    left!("git: a new repository below", "git init -q n; mkdir -p n/.git/hooks; echo evil > n/.git/hooks/pre-commit; git -C n config core.fsmonitor evil")
        .after("! find n -path '*hooks/*' ! -name '*.sample' | grep . || exit 1; ! grep -q evil n/.git/config"),
    left!("git: a repository in the directory of another", "for d in .git/n .git/refs/heads/n; do mkdir -p $d/objects $d/refs $d/hooks; echo 'ref: refs/heads/m' > $d/HEAD; printf '[core]\\n\\tfsmonitor = evil\\n' > $d/config; echo evil > $d/hooks/post-checkout; done")
        .after("! cat .git/n/config .git/refs/heads/n/config | grep evil && test ! -e .git/n/hooks/post-checkout -a ! -e .git/refs/heads/n/hooks/post-checkout"),
    left!("git: a pointer to a repository elsewhere", "git init -q n; git -C n config core.fsmonitor evil; mkdir p; mv n/.git p/store; echo 'gitdir: ../p/store' > n/.git")
        .after("test ! -e n/.git || ! grep -rqs evil p/store/config"),
    left!("git: a bare repository that looks like a folder", "mkdir b; cd b; git init -q --bare x; git -C x config core.fsmonitor evil; mkdir -p x/hooks; echo evil > x/hooks/pre-commit")
        .after("! grep -qs evil b/x/config && test ! -e b/x/hooks/pre-commit"),
    left!("git: a common folder without a name", "mkdir -p s/objects s/refs s/hooks; printf '[core]\\n\\tfsmonitor = evil\\n' > s/config; echo evil > s/hooks/pre-commit; mkdir x; echo 'ref: refs/heads/main' > x/HEAD; echo ../s > x/commondir")
        .after("test ! -e x/commondir || { ! grep -qs evil s/config && test ! -e s/hooks/pre-commit; }"),
    left!("git: a remote whose name is an option", "git config 'remote.--upload-pack=evil;x.promisor' true; git config 'remote.--upload-pack=evil;x.url' .; git config extensions.partialClone '--upload-pack=evil'; git config remotes.default '--upload-pack=evil'; git config branch.main.remote '--upload-pack=evil'")
        .after("! grep -q evil .git/config"),
    left!("git: a fetch from a repository outside", "git config remote.ci.url $TOP/folder; git config remote.ci.fetch '+refs/heads/*:refs/remotes/ci/*'; git config fetch.all true; git config remotes.default ci; ln -s $TOP/folder l; git config branch.main.remote l; git config branch.x.remote $TOP/folder; git config remote.pushDefault ~/folder; git remote add two l; git remote add three file://$TOP/folder; git config submodule.s.url ../../../folder; git config lfs.url $TOP/folder")
        .after("cmp .git/config config-before"),
    left!("git: objects of a repository outside", "mkdir -p .git/objects/info n; echo $TOP/folder/.git/objects | tee .git/objects/info/alternates; git init -q --bare b; echo ../../../../folder/.git/objects >> b/objects/info/alternates; git init -q x; mkdir y; echo $TOP/folder > y/alternates; rm -rf x/.git/objects/info; mv y x/.git/objects/info; git clone -q --shared . c; ln -s $TOP/folder/.git c/.git/objects/pack/x")
        .after("test ! -e .git/objects/info/alternates -a ! -e b/objects/info/alternates -a ! -e x/.git/objects/info/alternates -a -e c/.git/objects/info/alternates"),
    row("git: objects that are named by a file tool", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/.git/objects/info/alternates","content":"/srv/objects\n"}"#),
    ])
        .prepare(REPOSITORY)
        .prints(&["needs the user's yes"])
        .after("test ! -e .git/objects/info/alternates")
        .needs(&["git"]),
    row("git: an address in the workspace that leads outside later", &[
        Call::Script("git clone -q . sub; git remote add one $PWD/sub; git remote add two file://$PWD/not-yet; git remote add three ./sub; git remote add four file://localhost$PWD/sub; git config remote.one.url; echo added"),
        Call::Script("rm -rf sub; ln -s $TOP/folder sub; echo gitdir: $TOP/folder/.git > not-yet; ln -s $TOP/folder not-yet.git; echo end"),
    ])
        .prepare(REPOSITORY)
        .prints(&["/sub", "end", "[walls] protected: "])
        .after("test ! -L sub -a ! -e not-yet -a ! -L not-yet.git && ! git -c safe.directory='*' config --get-regexp 'remote.(three|four).url'")
        .needs(&["git"]),
    left!("git: own commits shown otherwise", "o=$(git commit-tree -m evil HEAD^{tree}); git replace HEAD $o; git branch side; git pack-refs --all; git replace side~0 HEAD^{tree} || git replace -f HEAD $o; mkdir -p .git/info .git/remotes .git/branches; git rev-parse HEAD > .git/info/grafts; echo URL: $TOP/folder > .git/remotes/origin; echo $TOP/folder > .git/branches/other")
        .after("test -z \"$(git -c safe.directory='*' replace)\" -a ! -e .git/info/grafts -a ! -e .git/remotes/origin -a ! -e .git/branches/other && git -c safe.directory='*' rev-parse side"),
    left!("git: references that lead to other files", "h=$(git rev-parse HEAD); mkdir -p .git/$h/objects .git/$h/refs; printf '[core]\\n\\tfsmonitor = evil\\n' > .git/$h/config; git symbolic-ref refs/heads/zz commondir; git config --add remote.up.fetch '+refs/heads/*:refs/remotes/up/*'; mkdir -p .git/refs/remotes/up; echo 'ref: commondir' | tee .git/refs/tags/v1 .git/refs/bisect .git/refs/stash .git/ORIG_HEAD > .git/refs/remotes/up/zz; echo 'ref: objects/info/alternates' > .git/refs/heads/alternates; echo \"ref: refs/replace/$h\" > .git/refs/tags/v2; git init -q --bare b; mkdir b/x; ln -s $TOP b/x/l; echo 'ref: x/l/tool' > b/refs/heads/main2")
        .after("test ! -e .git/refs/heads/zz -a ! -e .git/refs/remotes/up/zz -a ! -e .git/refs/tags/v1 -a ! -e .git/refs/tags/v2 -a ! -e .git/refs/stash -a ! -e .git/refs/heads/alternates -a ! -e .git/ORIG_HEAD -a ! -e b/refs/heads/main2"),
    row("git: a reference that a file tool writes", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/.git/refs/heads/zz","content":"ref: commondir\n"}"#),
    ])
        .prepare(REPOSITORY)
        .prints(&["needs the user's yes"])
        .after("test ! -e .git/refs/heads/zz")
        .needs(&["git"]),
    row("git: objects of a repository that looks like one no more", &[
        Call::Script("for r in x y z; do git init -q $r; mv $r/.git ${r}g; rm -r $r; done; for r in xg zg; do echo $PWD/$r/objects; done > .git/objects/info/alternates; echo $PWD/yg/objects > xg/objects/info/alternates; cat .git/objects/info/alternates; echo made"),
        Call::Script("rm xg/HEAD zg/HEAD; echo end"),
        Call::Script("rm yg/HEAD; echo $TOP/folder/.git/objects > yg/objects/info/alternates; rm -rf zg/objects/pack; ln -s $TOP/folder/.git/objects/pack zg/objects/pack; ln -s $TOP/folder/.git/objects/00 zg/objects/00; echo end"),
    ])
        .prepare(REPOSITORY)
        .prints(&["made", "end"])
        .after("test ! -e yg/objects/info/alternates -a ! -L zg/objects/pack -a ! -L zg/objects/00")
        .needs(&["git"]),
    row("git: more addresses than are looked after", &[
        Call::Script("for n in $(seq 100); do printf '[remote \"a%s\"]\\n\\turl = %s/a%s\\n' $n $PWD $n; done >> .git/config; git config -l | grep -c remote; echo end"),
        Call::Script("git remote add zz $PWD/zz; git config branch.main.remote zz; echo end"),
        Call::Script("ln -s $TOP/folder zz; echo end"),
    ])
        .prepare(REPOSITORY)
        .prints(&["end"])
        .after("test ! -L zz && ! git -c safe.directory='*' config remote.a100.url")
        .needs(&["git"]),
    left!("git: settings by which git looks and signs less", "git config commit.gpgsign false; git config tag.gpgsign false; git config push.gpgsign false; git config core.trustctime false; git config core.checkstat minimal; git config core.ignorestat true; git config core.usereplacerefs false; ln -s $TOP/outside message; git config commit.template message")
        .after("cmp .git/config config-before"),
    left!("git: comments and encodings that make a step of a rebase", "git config core.commentString ' exec evil;'; git config i18n.commitEncoding CP856; git config i18n.logOutputEncoding CP901")
        .after("! grep -qE 'evil|CP' .git/config"),
    left!("git: settings of programs around git", "git config gui.diffopts --output=evil; git config stgit.editor evil; git config cola.x evil; git config core.virtualFilesystem evil; git config pretty.x evil")
        .after("! grep -q evil .git/config"),
    left!("git: settings of the user", "git config --global core.pager evil; git config --global alias.st '!evil'; mkdir -p $HOME/.config/git; echo x > $HOME/.config/git/config"),
    left!("git: in the last moment of a call", "(while true; do git config core.fsmonitor evil; git config --unset core.fsmonitor; done) & (while true; do printf '[alias]\\n\\tst = !evil\\n' >> .git/config; done) & sleep 0.2"),
    left!("git: a work tree outside", "git --work-tree=$TOP checkout-index -a -f; git --work-tree=$TOP reset --hard; git init -q --separate-git-dir $TOP/new n; git clone -q . $TOP/clone; git worktree add $TOP/tree")
        .after("test ! -e $TOP/new -a ! -e $TOP/clone -a ! -e $TOP/tree"),
    left!("git: a path with parents in the index", "printf '100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\\t../../../new\\n' | git update-index --index-info; git hash-object -w --stdin < /dev/null; git checkout-index -a -f")
        .after("test ! -e $TOP/new"),
    row("git: an index with names that git does not add", &[Call::Script(
        r#"cat > write.py <<'E'
import os, struct, subprocess
blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], input=b"evil", stdout=subprocess.PIPE).stdout.decode().strip()
out = b""
for name in sorted([b"../new", os.environb[b"TOP"] + b"/new", b".git/hooks/post-checkout"]):
    entry = struct.pack(">10I", *[0] * 6, 0o100755, *[0] * 3) + bytes.fromhex(blob) + struct.pack(">H", len(name)) + name
    out += entry + bytes(8 - len(entry) % 8)
open(".git/index", "wb").write(b"DIRC" + struct.pack(">II", 2, 3) + out + bytes(20))
E
python3 write.py; printf '%040d\t%s/new\0' 1 $TOP > .git/MERGE_RR; echo end"#,
    )])
        .prepare("git init -q -b main .; echo own > a; git add a; git -c user.name=a -c user.email=a@b commit -q -m one")
        .prints(&["end", ".git/index was written with names that git does not add, or cannot be read; put back as it was", "MERGE_RR had a later commit copy the files that it lists"])
        .after("rm a; git -c safe.directory='*' checkout -q .; test \"$(cat a)\" = own && test ! -e $TOP/new -a ! -e ../new -a ! -e .git/hooks/post-checkout -a ! -e .git/MERGE_RR")
        .needs(&["git", "python3"]),
    row("git: an index and a list of conflicts that are long", &[Call::Script(
        r#"git init -q d; truncate -s 66M d/.git/index
cat > write.py <<'E'
import struct, subprocess
blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], input=b"evil", stdout=subprocess.PIPE).stdout.decode().strip()
entry = struct.pack(">10I", *[0] * 6, 0o100755, *[0] * 3) + bytes.fromhex(blob) + struct.pack(">H", 6) + b"../new"
length = 65 << 20
with open(".git/index", "wb") as index:
    index.write(b"DIRC" + struct.pack(">II", 2, 1) + entry + bytes(8 - len(entry) % 8) + b"ZZZZ" + struct.pack(">I", length))
    index.truncate(index.tell() + length + 20)
with open(".git/MERGE_RR", "wb") as conflicts:
    conflicts.write(b"0" * 40 + b"\t../../new\0" + (b"1" * 40 + b"\ta\0") * 1600000)
E
python3 write.py; echo end"#,
    )])
        .prepare("git init -q -b main .; echo own > a; git add a; git -c user.name=a -c user.email=a@b commit -q -m one")
        .prints(&["end", ".git/index was written with names that git does not add, or cannot be read; put back as it was", "MERGE_RR had a later commit copy the files that it lists", "d/.git/index was written"])
        .after("rm a; git -c safe.directory='*' checkout -q .; test \"$(cat a)\" = own && test ! -e ../new -a ! -e .git/MERGE_RR -a ! -e d/.git/index")
        .needs(&["git", "python3"]),
    row("git: steps of a rebase that are no numbers", &[Call::Script(
        "for git in .git .git/worktrees/w b; do mkdir -p $git/rebase-merge $git/rebase-apply; for name in rebase-merge/msgnum rebase-merge/end rebase-apply/next rebase-apply/last; do echo '$(touch ~/evil)' > $git/$name; done; done; echo end",
    )])
        .prepare("git init -q -b main .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; git worktree add -q w; git clone -q --bare . b")
        .prints(&["end", ".git/rebase-merge/msgnum was written as git does not write it; programs that read it would run what stands there, or hand it to git as options; taken out"])
        .after("! grep -rqs evil .git b")
        .needs(&["git"]),
    row("git: options where hashes of a rebase are", &[Call::Script(
        "h=$(echo 'touch ~/evil' | git commit-tree HEAD^{tree}); for git in .git .git/worktrees/w b; do mkdir -p $git/rebase-merge $git/rebase-apply $git/sequencer; echo 1 | tee $git/rebase-apply/next > $git/rebase-apply/last; printf '%s\\n' --output=$HOME/evil --format=%B $h > $git/rebase-apply/rewritten; for name in rebase-apply/original-commit rebase-apply/orig-head rebase-merge/onto rebase-merge/head-name rebase-merge/stopped-sha sequencer/head REBASE_HEAD ORIG_HEAD; do echo --output=$HOME/evil > $git/$name; done; printf 'pick --output=%s/evil\\n' $HOME | tee $git/sequencer/todo > $git/rebase-merge/git-rebase-todo; echo From --output=$HOME/evil Mon > $git/rebase-apply/0001; done; echo end",
    )])
        .prepare("git init -q -b main .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; git worktree add -q w; git clone -q --bare . b")
        .prints(&["end", ".git/rebase-apply/rewritten was written as git does not write it", "REBASE_HEAD was written"])
        .after("! grep -rs output .git b; git log --no-walk=unsorted $(cut -d' ' -f1 .git/rebase-apply/rewritten) --; test ! -e $USERHOME/evil")
        .needs(&["git"]),
    row("git: options for a strategy that is a script", &[Call::Script(
        "for r in pick single rebase; do echo f > $r/f; git -C $r add f; done; cd single; mkdir .git/sequencer; git rev-parse HEAD | tee .git/sequencer/head > .git/sequencer/abort-safety; printf 'pick %s\\n' $(git rev-parse side~2 side~1) > .git/sequencer/todo; cd ..; printf '[options]\\n\\tstrategy = octopus\\n\\tstrategy-option = \"\"\\n\\tstrategy-option = a\\n\\tstrategy-option = \"x}$(touch${IFS}evil)\"\\n\\tstrategy-option = b\\n' | tee pick/.git/sequencer/opts > single/.git/sequencer/opts; cd rebase/.git/rebase-merge; echo octopus > strategy; echo '\"--\" \"--a\" \"--x}$(touch${IFS}evil)\" \"--b\"' > strategy_opts; echo end",
    )])
        .prepare("for r in pick single rebase; do git init -q -b main $r; cd $r; git config user.name a; git config user.email a; echo 0 > f; git add f; git commit -qm 0; git switch -qc side; echo 1 > f; git commit -qam 1; for n in 2 3; do echo $n > $n; git add $n; git commit -qm $n; done; git switch -q main; echo m > f; git commit -qam m; cd ..; done; { git -C pick cherry-pick side~2 side~1 side || git -C single cherry-pick side~2 || git -C rebase rebase main side || true; } > out 2>&1")
        .prints(&["end", "pick/.git/sequencer/opts was written", "single/.git/sequencer/opts was written", "rebase/.git/rebase-merge/strategy_opts was written"])
        .after("g='git -c safe.directory=* -c core.editor=true'; for r in pick single; do $g -C $r cherry-pick --continue; done; $g -C rebase rebase --continue; ls pick/3 single/2 rebase/3 && ! ls */evil")
        .needs(&["git"]),
    row("git: a list of conflicts whose files are links", &[
        Call::Script("id=$(printf %040d 1); mkdir -p docs .git/rr-cache/$id; echo x > .git/rr-cache/$id/preimage; ln -s .. docs/all; printf '%s\\tdocs/all/own\\0' $id > .git/MERGE_RR; git -C w config rerere.enabled true; rm w/f; ln -s ../own w/f; echo end"),
        Call::Script("id=$(printf %040d 2); mkdir -p .git/rr-cache/$id; echo x > .git/rr-cache/$id/preimage; printf '%s\\tl\\0' $id > .git/MERGE_RR; echo end"),
    ])
        .prepare("git init -q -b main .; git config user.name a; git config user.email a; echo secret > own; ln -s own l; echo 1 > a; git add a; git commit -qm one; git init -q -b main w; cd w; git config user.name a; git config user.email a; git config rerere.enabled true; echo 1 > f; git add f; git commit -qm one; git checkout -qb s; echo s > f; git commit -qam s; git checkout -q main; echo m > f; git commit -qam m; git merge -q s; test -s .git/MERGE_RR")
        .prints(&["end", ".git/MERGE_RR had a later commit copy the files that it lists, or write over them; without it git does not record how these conflicts are solved; taken out"])
        .after("echo 2 > a; git -c safe.directory='*' commit -qam two; git -C w -c safe.directory='*' commit -qam two; test $(cat own) = secret -a ! -s .git/MERGE_RR -a ! -s w/.git/MERGE_RR && ! grep -rqs secret .git/rr-cache w/.git/rr-cache")
        .needs(&["git"]),
    row("git: a stash that a later commit applies", &[Call::Script(
        "export GIT_INDEX_FILE=$PWD/i; git read-tree HEAD; h=$(echo evil | git hash-object -w --stdin); git update-index --cacheinfo 100755,$h,a; i=$(git commit-tree -p HEAD -m i HEAD^{tree}); git commit-tree -p HEAD -p $i -m stash $(git write-tree) > .git/MERGE_AUTOSTASH; rm i; git rev-parse HEAD > .git/MERGE_HEAD; : > .git/MERGE_MODE; echo end",
    )])
        .prepare("git init -q -b main .; git config user.name a; git config user.email a; echo 1 > a; echo 1 > b; git add a b; git commit -qm one")
        .prints(&["end", ".git/MERGE_AUTOSTASH had git apply what it names later; `git stash apply", "brings back what was set aside there; taken out"])
        .after("echo 2 > b; git -c safe.directory='*' commit -qam two; test $(cat a) = 1 -a ! -e .git/MERGE_AUTOSTASH")
        .needs(&["git"]),
    left!("git: a link in the index", "ln -s $TOP d; git add d; rm d; mkdir d; echo x > d/new; git add d; git commit -qm a; git checkout -f HEAD~0; ln -sfn $TOP d; git checkout -f .")
        .after("test ! -e $TOP/new"),
    row("git: modes and times, by a program that a reading command starts", &[
        Call::Typed("cd @ROW@ && git status"),
        Call::Typed("cd @ROW@ && git log -1"),
    ])
    .prepare("git init -q .; printf '#!/bin/sh\necho it ran >&2\nchmod 777 %s; touch -d 2001-01-01 %s; chmod 777 a; touch -d 2001-01-01 a\n' $TOP/outside $TOP/outside > evil; echo a > a; chmod 755 evil; chmod 644 a; git config core.fsmonitor $PWD/evil")
    .flags(&["--mode", "read-only"])
    .prints(&["it ran"])
    .after("test $(stat -c %a a) = 644 -a $(date -r a +%Y) != 2001")
    .needs(&["git"]),
    row("git: files by the tools", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/.git/hooks/pre-commit","content":"evil"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/.git/config","content":"evil"}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/.git/config","old_text":"[core]","new_text":"[core]\nfsmonitor = evil"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/.GIT/hooks/post-merge","content":"evil"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/l/pre-push","content":"evil"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/n/.git","content":"gitdir: ../evil"}"#),
    ])
    .prepare("git init -q . && cp .git/config config-before; ln -s .git/hooks l; mkdir n")
    .prints(&["needs the user's yes"])
    .never(&["Wrote"])
    .after("cmp .git/config config-before && test ! -e n/.git && ! find .git -path '*hooks/*' ! -name '*.sample' | grep .")
    .needs(&["git"]),
    left!("git: programs of archives, mail, trailers and browsers", "for k in tar.x.command trailer.x.command trailer.x.cmd sendemail.smtpServer imap.tunnel core.askPass core.alternateRefsCommand interactive.diffFilter instaweb.httpd web.browser browser.x.cmd man.x.cmd mergetool.x.cmd difftool.x.cmd guitool.x.cmd hook.x.command uploadpack.packObjectsHook gc.recentObjectsHook receive.procReceiveRefs; do git config $k evil; done; git config submodule.m.update '!evil'; git config protocol.ext.allow always")
        .after("! grep -qE 'evil|always' .git/config"),
    left!("git: programs of large file storage", "git config lfs.customtransfer.x.path evil; git config lfs.standalonetransferagent x; git config lfs.extension.x.clean evil; git config lfs.extension.x.smudge evil"),
    left!("git: a script as the name of a tool", "for k in merge.tool merge.guitool diff.tool diff.guitool; do git config $k ../../../../../../../../../../../..$PWD/evil; done"),
    left!("git: a step in the form of the steps of a rebase", "git config rebase.instructionFormat $'%s%nexec evil'"),
    left!("git: files that git writes, and programs around it", "git config http.saveCookies evil; git config http.cookieFile $HOME/evil; git config http.https://x.proxy evil; git config instaweb.gitwebdir $PWD/evil; git config svn.authorsProg evil; git config tig.diff-highlight evil; git config annex.post-update-command evil; git config branch.main.remote ext::evil; git config remote.pushDefault ext::evil"),
    left!("git: a patch by a name that leads elsewhere", "git config format.suffix /../../new; git config format.coverLetter true; git config branch.master.description evil; git config branch.main.description evil; mkdir 0000-cover-letter 0001-b")
        .after("git() { command git -c safe.directory='*' -c user.name=a -c user.email=a \"$@\"; }; echo b > b; git add b; git commit -qm b; git format-patch -q -1; test ! -e ../new -a -f 0001-b.patch"),
    left!("git: a remote by the name of a program", "git config remote.evil::x.promisor true; git config extensions.partialClone evil::x; git config branch.evil::x.remote .")
        .after("! grep -q evil .git/config"),
    left!("git: what git does less carefully, shows to all or keeps no longer", "git config core.protectNTFS false; git config core.sharedRepository 0666; git config gc.pruneExpire now; git config gc.reflogExpire now; git config fetch.fsckObjects false; git config clean.requireForce false; git config user.signingKey ../evil; git config gpg.format ssh; git config log.date 'format:%nevil'; git config extensions.refStorage files://$PWD/evil")
        .after("! grep -qE 'evil|now|666|ssh|NTFS|fsck|requireForce' .git/config"),
    left!("git: pipes deeper in a repository and where git reads in a work tree", "git worktree add -q w; mkfifo .git/objects/info/{alternates,commit-graph} .git/objects/pack/multi-pack-index .git/refs/heads/x .git/logs/x .git/worktrees/w/locked; rm .git/logs/HEAD; mkfifo .git/logs/HEAD w/.gitignore .gitignore .gitattributes .gitmodules .mailmap")
        .after("! find . -type p | grep ."),
    left!("git: a common folder of a worktree that looks like none", "git worktree add -q w; mkdir -p s/objects s/refs s/hooks; cp -r .git/objects .git/refs s; printf '[core]\n\tfsmonitor = evil\n' > s/config; echo evil > s/hooks/post-checkout; echo $PWD/s > .git/worktrees/w/commondir")
        .after("! grep -q s$ .git/worktrees/w/commondir && ! git -C w config --get core.fsmonitor"),
    left!("git: a link to a repository within a repository", "cp -r .git y; mv y .git; git config -f .git/y/config core.fsmonitor evil; git worktree add -q w; ln -s .git/y l; rm -r .git/worktrees/w; ln -s ../y .git/worktrees/w; mkdir m; ln -s ../y .git/modules; echo 'gitdir: ../.git/modules' > m/.git")
        .after("for d in l w m; do ! git -C $d config --get core.fsmonitor || exit 1; done; test ! -L l"),
    left!("git: a repository within the folder of a submodule", "cp -r .git y; git config -f y/config core.fsmonitor evil; mkdir -p .git/modules/a m; cp .git/HEAD .git/modules/a/HEAD; mv y .git/modules/a/y; echo 'gitdir: ../.git/modules/a/y' > m/.git")
        .after("! git -C m config --get core.fsmonitor"),
    left!("git: settings behind many protected files", "mkdir .vscode .idea; (cd .vscode; seq 2100 | xargs touch); mkdir -p .idea/{1..2100}; git config core.fsmonitor evil; git init -q n; mkdir -p n/.git/hooks; echo evil > n/.git/hooks/pre-commit; git -C n config core.fsmonitor evil; echo evil > .envrc")
        .after("! grep -q evil .git/config n/.git/config && test ! -e n/.git/hooks/pre-commit -a ! -e .envrc && ! find .vscode -type f | grep .")
        .alone(),
    left!("git: sections written as long ago", "printf '[filter.x]\\n\\tclean = evil\\n[DIFF.y]\\n\\ttextconv = evil\\n[merge.z]\\n\\tdriver = evil\\n[Alias]\\n\\tst = !evil\\n' >> .git/config"),
    left!("git: includes by branch and by remote", "printf '[includeIf \"onbranch:**\"]\\n\\tpath = ../evil\\n[includeIf \"hasconfig:remote.*.url:**\"]\\n\\tpath = ../evil\\n' >> .git/config"),
    left!("git: settings that cannot be read", "printf '[core\\n\\tfsmonitor = evil\\n' >> .git/config")
        .after("cmp .git/config config-before"),
    left!("git: settings with a NUL", "printf '\\0[core]\\n\\tfsmonitor = evil\\n' >> .git/config")
        .after("cmp .git/config config-before"),
    left!("git: settings of programs that go with git", "git config secrets.providers evil; git config gitflow.path.hooks evil; echo evil | tee .git/lazygit.yml > .lazygit.yml; git init -q --bare b; echo evil > b/lazygit.yml")
        .after("! grep -rqs evil .git/config .git/lazygit.yml .lazygit.yml b/lazygit.yml"),
    left!("git: another work tree", "git config core.worktree $TOP/folder; git config core.bare false")
        .after("! grep -qi worktree .git/config"),
    left!("git: a repository moved with what it runs", "mkdir s; cp -r .git s/.git; mkdir -p s/.git/hooks; echo evil > s/.git/hooks/pre-commit; git -C s config core.fsmonitor evil; mv s/.git s/g; ln -s g s/.git")
        .after("test ! -e s/.git || { ! grep -q evil s/.git/config && test ! -e s/.git/hooks/pre-commit; }"),
    left!("git: .git made a link", "mv .git r && ln -s r .git && { mkdir -p r/hooks; echo evil > r/hooks/post-checkout; git config core.fsmonitor evil; }"),
    left!("git: a work tree whose common folder is another", "git worktree add -q w; cp -r .git c; printf '[core]\\n\\tfsmonitor = evil\\n' >> c/config; echo evil > c/hooks/post-checkout; echo $PWD/c > .git/worktrees/w/commondir")
        .after("! git -C w config --get core.fsmonitor | grep evil && ! ls \"$(git -C w rev-parse --git-common-dir)/hooks\" | grep -v sample$"),
    left!("git: a work tree whose pointer is another", "git worktree add -q w; cp -r .git c; printf '[core]\\n\\tfsmonitor = evil\\n' >> c/config; mkdir -p c/hooks; echo evil > c/hooks/post-checkout; echo \"gitdir: $PWD/c\" > w/.git")
        .after("test ! -e w/.git || { ! git -C w config --get core.fsmonitor | grep evil && ! ls \"$(git -C w rev-parse --git-common-dir)/hooks\" | grep -v sample$; }"),
    left!("git: a submodule whose pointer is another", "git init -q m; git -C m -c user.name=a -c user.email=a commit -q --allow-empty -m a; git -c protocol.file.allow=always -c user.name=a -c user.email=a submodule add -q ./m s; cp -r .git/modules/s e; git config -f e/config core.fsmonitor evil; git config -f e/config --unset core.worktree; echo \"gitdir: ../e\" > s/.git")
        .after("test ! -e s/.git || ! git -C s config --get core.fsmonitor | grep evil"),
    row("git: files of a submodule behind a link", &[
        Call::Script("cd p; git mv lib lib2; echo moved"),
        Call::Script("cd p; mv lib2 lib; ln -s $TOP lib2; echo end"),
    ])
        .prepare("g='git -c user.name=a -c user.email=a -c protocol.file.allow=always'; git init -q o; $g -C o commit -q --allow-empty -m m; git init -q p; cd p; $g submodule --quiet add ../o lib; $g commit -qm sub")
        .prints(&["moved", "end", "[walls] protected: "])
        .after("cd p; test -e lib/.git -a ! -L lib2 && test \"$(git config -f .git/modules/lib/config --get-all core.worktree)\" = ../../../lib2")
        .needs(&["git"]),
    left!("git: a repository in a folder whose name is no text", "mkdir $'d\\xff'; git init -q $'d\\xff/r'; git -C $'d\\xff/r' config core.fsmonitor evil; mkdir -p $'d\\xff/r/.git/hooks'; echo evil > $'d\\xff/r/.git/hooks/pre-commit'")
        .after("! grep -rqs evil --include=config --include=pre-commit ."),
    left!("git: a repository deeper than anybody looks", "d=$(printf 'a/%.0s' $(seq 90)); mkdir -p $d; cd $d; git init -q .; git config core.fsmonitor evil; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit")
        .after("! grep -rqs evil a"),
    left!("git: three hundred repositories", "for n in $(seq 300); do mkdir -p r$n/.git/objects r$n/.git/refs; echo 'ref: refs/heads/main' > r$n/.git/HEAD; printf '[core]\\n\\tfsmonitor = evil\\n' > r$n/.git/config; done")
        .after("! grep -lqs evil r*/.git/config"),
    left!("git: a common folder by a chain of pointers", "mkdir -p x y z/objects z/refs z/hooks; echo 'ref: refs/heads/main' > z/HEAD; printf '[core]\\n\\tfsmonitor = evil\\n' > z/config; echo evil > z/hooks/post-checkout; cp z/HEAD y/HEAD; echo ../z > y/commondir; echo 'gitdir: ../y' > x/.git")
        .after("test ! -e x/.git || { ! git -C x config --get core.fsmonitor | grep evil && test ! -e z/hooks/post-checkout; }"),
    row("git: files that settings include", &[
        Call::Script("printf '[core]\\n\\tfsmonitor = evil\\n' >> team.cfg; mkdir conf; echo '[alias] st = !evil' > conf/more.cfg; rm l; echo '[core] pager = evil' > new; ln -s new l"),
        Call::Script("mkdir other; echo '[alias] st = !evil' > other/more.cfg; rm -r conf; ln -s other conf; mv team.cfg t; echo '[core] pager = evil' > team.cfg"),
    ])
    .prepare("git init -q .; printf '[user]\\n\\tname = n\\n[include]\\n\\tpath = l\\n' > team.cfg; touch end; ln -s end l; git config include.path ../team.cfg; git config includeIf.gitdir:/.path $PWD/conf/more.cfg")
    .prints(&["put back as it was"])
    .after("! git config --list | grep evil && git config -f team.cfg include.path | grep -qx l && test ! -L conf")
    .needs(&["git"]),
    row("git: a file that settings include, behind many samples of hooks", &[
        Call::Script("for n in $(seq 150); do cp -r many $n; done; echo made"),
        Call::Script("printf '[core]\\n\\tfsmonitor = evil\\n' > team.cfg; echo end"),
    ])
    .prepare("mkdir -p many/.git/hooks z/z; touch many/.git/config many/.git/hooks/{1..14}.sample team.cfg; git init -q z/z/r; git -C z/z/r config include.path ../../../../team.cfg")
    .alone()
    .prints(&["made", "end", "put back as it was"])
    .after("! git -C z/z/r config --list | grep evil && test -e 150/.git/hooks/14.sample")
    .needs(&["git"]),
    row("git: files that settings include, by the tools", &[
        Call::Tool("read_file", r#"{"path":"@ROW@/team.cfg"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/team.cfg","content":"[core]\nfsmonitor = evil\n"}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/way/team.cfg","old_text":"name","new_text":"evil"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/conf/more.cfg","content":"[alias]\nst = !evil\n"}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/l","old_text":"","new_text":"[alias]\nst = !evil\n"}"#),
    ])
    .prepare("git init -q .; printf '[user]\\n\\tname = n\\n[include]\\n\\tpath = l\\n' > team.cfg; touch end; ln -s end l; ln -s . way; git config include.path ../team.cfg; git config includeIf.gitdir:/.path $PWD/conf/more.cfg")
    .prints(&["needs the user's yes"])
    .never(&["Wrote", "Edited", "Created"])
    .after("! git config --list | grep evil && test ! -e conf")
    .needs(&["git"]),
    row("git: a repository by the tools, its settings first", &[
        Call::Tool("write_file", r#"{"path":"@ROW@/x/config","content":"[core]\nfsmonitor = evil\n"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/x/objects/a","content":""}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/x/HEAD","content":"ref: refs/heads/main\n"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/x/refs/a","content":""}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/y/commondir","content":"../x\n"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/y/HEAD","content":"ref: refs/heads/main\n"}"#),
    ])
    .prints(&["needs the user's yes"])
    .after("test ! -e x/refs -a ! -e y/HEAD")
    .needs(&["git"]),
    row("git: settings by a tool through a hard link", &[
        Call::Tool("read_file", r#"{"path":"@ROW@/l"}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/l","old_text":"[core]","new_text":"[core]\nfsmonitor = evil"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/l","content":"[core]\nfsmonitor = evil\n"}"#),
    ])
    .prepare("git init -q . && cp .git/config config-before; ln .git/config l")
    .after("cmp .git/config config-before")
    .needs(&["git"]),
    row("git: a session in a folder called .git", &[Call::Script("echo evil > hooks/pre-commit; printf '[core]\\n\\tfsmonitor = evil\\n' | tee -a config >> n/config; echo evil > n/hooks/post-checkout; echo evil > n/info/attributes; mkdir -p o/objects o/refs o/hooks; cp HEAD config o; echo evil > o/hooks/post-merge; touch work; echo end")])
        .within("r/.git")
        .prepare("git init -q r; git init -q --bare r/.git/n; rm r/.git/hooks/* r/.git/n/hooks/*")
        .prints(&["end"])
        .after("cd r/.git; test -e work && ! grep -rqs evil .")
        .needs(&["git"]),
    row("git: a session whose repository has others in it", &[
        Call::Script("cd .git; for d in n modules/m refs/heads/n; do printf '[core]\\n\\tfsmonitor = evil\\n' >> $d/config; echo evil > $d/hooks/post-checkout; echo evil > $d/info/attributes; chmod 777 $d/hooks; done; echo end"),
        Call::Tool("write_file", r#"{"path":".git/n/hooks/pre-commit","content":"evil"}"#),
        Call::Tool("write_file", r#"{"path":".git/refs/heads/n/config","content":"[core]\nfsmonitor = evil\n"}"#),
    ])
        .within("r")
        .prepare("git init -q r; for d in n modules/m refs/heads/n; do git init -q --bare r/.git/$d; done; chmod 755 r/.git/*/hooks r/.git/*/*/hooks r/.git/refs/heads/n/hooks")
        .prints(&["end", "needs the user's yes"])
        .never(&["Wrote"])
        .after("cd r/.git; ! grep -rqs evil . && test \"$(stat -c %a n/hooks modules/m/hooks refs/heads/n/hooks | sort -u)\" = 755")
        .needs(&["git"]),
    row("worktrees beside the session's, beneath a bare repository", &[Call::Script(
        "cd $WORK/$ROW/proj/feature; echo x >> ../main/file; echo evil > ../main/build; echo evil > ../notes; mv ../main ../gone; rm -rf ../main ../notes; ln -f ../main/file here && echo x >> here; git commit -qa --allow-empty -m next && git log --oneline | wc -l; git branch other && git tag one; echo end",
    )])
        .prepare("git init -q src; cd src; echo own > file; git add file; git -c user.name=a -c user.email=a@b commit -q -m one; cd ..; git clone -q --bare src proj; cd proj; git config user.name a; git config user.email a@b; git worktree add -q main; git worktree add -q feature; mkdir logs; echo own > main/build; echo own > notes")
        .within("proj/feature")
        .prints(&["2", "end"])
        .after("cd proj; test \"$(cat main/file main/build notes)\" = \"$(printf 'own\\nown\\nown')\" && test -e refs/heads/other -a -e refs/tags/one -a -e main/.git")
        .needs(&["git"]),
    row("git: a submodule whose repository lacks its HEAD for a while", &[
        Call::Script("mv .git/modules/a/part/HEAD gone; echo end"),
        Call::Script("cd .git/modules/a/part; printf '[core]\\n\\tfsmonitor = evil\\n' >> config; mkdir -p hooks; echo evil | tee hooks/post-checkout info/attributes; echo evil > commondir"),
        Call::Script("mkdir -p .git/modules/b/hooks; echo evil > .git/modules/b/hooks/post-checkout; mv .git/modules/b .git/modules/c; cp gone .git/modules/c/HEAD; mv gone .git/modules/a/part/HEAD"),
    ])
        .prepare("git init -q -b main .; mkdir -p .git/modules/a; git clone -q --bare . .git/modules/a/part")
        .prints(&["end", "put back as it was"])
        .after("! grep -rqs evil .git && test -e .git/modules/a/part/HEAD")
        .needs(&["git"]),
    row("links in a repository's directory", &[Call::Script(
        "rm -f .git/logs/HEAD .git/logs/refs/heads/main .git/COMMIT_EDITMSG; ln -s $TOP/file .git/logs/HEAD; ln -s ../../../hooks/pre-commit .git/logs/refs/heads/main; for name in COMMIT_EDITMSG FETCH_HEAD ORIG_HEAD; do ln -sf $TOP/file .git/$name; done; echo end",
    )])
        .prepare("git init -q -b main .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; echo '#!/bin/sh' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit")
        .prints(&["end", "[walls] protected: "])
        .after("test -z \"$(find .git -type l)\" && git -c safe.directory='*' -c user.name=a -c user.email=a@b commit -q --allow-empty -m two && test \"$(cat .git/hooks/pre-commit)\" = '#!/bin/sh'")
        .needs(&["git"]),
    row("links where git keeps branches and objects", &[Call::Script(
        "for git in .git bare.git .git/modules/part; do (cd $git && rm -rf refs/heads objects/info objects/pack && ln -s $TOP refs/heads && ln -s $TOP objects/info && ln -s $TOP objects/pack && mkdir -p refs/deep/er rr-cache lfs/tmp rebase-merge && ln -s $TOP/file lfs/tmp/one && ln -s $TOP/file rebase-merge/done && ln -s $TOP/file refs/deep/er/one && ln -s $TOP rr-cache/a && ln -sf $TOP/file packed-refs && ln -sf $TOP/file index && ln -sf refs/heads/main HEAD); done; mkdir -p new/refs; ln -s $TOP new/refs/heads; ln -s $TOP new/objects; echo 'ref: refs/heads/main' > new/HEAD; mkdir moved; ln -s $TOP moved/one; mv moved .git/refs/; rm -rf bare.git/work; mkdir bare.git/work; ln -s $TOP bare.git/work/theirs; echo end",
    )])
        .prepare("git init -q -b main .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; git clone -q --bare . bare.git; mkdir -p .git/modules; git clone -q --bare . .git/modules/part; ln -s pack .git/objects/theirs")
        .prints(&["end", "[walls] protected: "])
        .after("test \"$(find . -type l | LC_ALL=C sort | xargs)\" = './.git/HEAD ./.git/modules/part/HEAD ./.git/objects/theirs ./bare.git/HEAD ./bare.git/work/theirs'")
        .needs(&["git"]),
];
