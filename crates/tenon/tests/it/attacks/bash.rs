//! Commands that write outside of the workspace, by every means there is.

use super::row::{Call, Row, attack, row, runs};

/// Exchanges names of new files between the question about them and their making.
const PATHS_EXCHANGED: &str = "python3 - <<'E'\nimport ctypes, threading\nlibc = ctypes.CDLL(None)\nevil = int.from_bytes(b'.envrc\\0\\0', 'little')\nfor n in range(400):\n    buffer = ctypes.create_string_buffer(b'z/z/z/%09d/harmles\\0' % n, 24)\n    last = ctypes.c_uint64.from_buffer(buffer, 16)\n    thread = threading.Thread(target=lambda: libc.open(buffer, 0o101, 0o644))\n    thread.start()\n    for _ in range(n * 10): pass\n    last.value = evil\n    thread.join()\nE\necho end";

/// Has files that shells and git start with be links into the workspace, one of them to nothing yet.
const DOTFILES: &str = "mkdir -p $WORK/dots/fish $USERHOME/.config; \
    for f in bashrc gitconfig zshrc; do echo mine > $WORK/dots/$f; ln -sfn $WORK/dots/$f $USERHOME/.$f; done; \
    ln -sfn $WORK/dots/profile $USERHOME/.profile; ln -sfn $WORK/dots/fish $USERHOME/.config/fish";
const DOTFILES_HELD: &str = "for f in bashrc gitconfig zshrc; do \
    test \"$(cat $USERHOME/.$f)\" = mine -a ! -x $USERHOME/.$f || exit 1; done; test ! -e $USERHOME/.profile && \
    ! find -L $USERHOME/.config/fish -type f 2> /dev/null | grep .";

pub(super) const ROWS: &[Row] = &[
    attack!("redirection", "echo x > $TOP/outside"),
    attack!("append", "echo x >> $TOP/outside"),
    attack!("redirection without noclobber", "set -C; echo x >| $TOP/outside"),
    attack!("read-write redirection", "exec 5<> $TOP/outside && echo x >&5"),
    attack!("a new file beside the workspace", "touch ../../../new"),
    attack!("a new folder beside the workspace", "mkdir ../../../new"),
    attack!("dd", "dd if=/dev/zero of=$TOP/outside bs=1 count=1 conv=notrunc"),
    attack!("cp", "echo x > f; cp f $TOP/outside"),
    attack!("cp into a folder", "echo x > f; cp f $TOP/folder/"),
    attack!("mv out", "echo x > f; mv f $TOP/new"),
    attack!("mv over", "echo x > f; mv -f f $TOP/outside"),
    attack!("mv in", "mv $TOP/outside ."),
    attack!("install", "echo x > f; install -m 777 f $TOP/outside"),
    attack!("tee", "echo x | tee $TOP/outside"),
    attack!("truncate", "truncate -s 0 $TOP/outside"),
    attack!("rm", "rm -f $TOP/outside"),
    attack!("rmdir", "rm -rf $TOP/folder"),
    attack!("unlink in the home", "rm -rf $USERHOME/.cargo/top").alone(),
    attack!("sed -i", "sed -i s/O/x/ $TOP/outside"),
    attack!("perl -i", "perl -pi -e s/O/x/ $TOP/outside && grep -q xUTSIDE $TOP/outside").needs(&["perl"]),
    attack!("perl open", "perl -e 'open(F,\">\",\"$ENV{TOP}/outside\") or exit 1; print F 1'").needs(&["perl"]),
    attack!("python writes", "python3 -c \"open('$TOP/outside','w')\"").needs(&["python3"]),
    attack!("awk", "awk -v f=$TOP/outside 'BEGIN{print 1 > f}'"),
    attack!("tar out", "mkdir a; touch a/new; tar cf - a | tar xf - -C $TOP"),
    attack!("tar with parents", "echo x > f; tar cPf t.tar --transform s,f,$TOP/outside, f; tar xPf t.tar"),
    attack!("tar with a link inside", "ln -s $TOP l; mkdir m; echo x > m/new; tar cf t.tar l; tar rf t.tar --transform s,m,l, m/new; mkdir x; tar xf t.tar -C x; test -e $TOP/new"),
    attack!("cpio-like of git archive", "git init -q g; cd g; echo x > new; git add new; git -c user.name=a -c user.email=a commit -qm a; git archive HEAD | tar xf - -C $TOP").needs(&["git"]),
    attack!("gzip", "echo x > f; gzip -c f > $TOP/f.gz"),
    attack!("split", "echo xx | split -b 1 - $TOP/part"),
    attack!("sort -o", "echo x | sort -o $TOP/outside"),
    attack!("shuf -o", "echo x | shuf -o $TOP/outside"),
    attack!("csplit", "seq 4 | csplit -f $TOP/part - 2"),
    attack!("patch", "printf -- '--- a\\n+++ b\\n@@ -0,0 +1 @@\\n+x\\n' | patch -u $TOP/new").needs(&["patch"]),
    attack!("ex", "printf '%%d\\nwq\\n' | ex -s $TOP/outside").needs(&["ex"]),
    attack!("find -fprint", "find . -fprint $TOP/new"),
    attack!("curl -o", "echo x > f; curl -s file://$PWD/f -o $TOP/new").needs(&["curl"]),
    attack!("sqlite writes", "sqlite3 $TOP/new.db 'create table t(a)'").needs(&["sqlite3"]),
    attack!("compiler output", "echo 'int x;' > a.c; cc -c a.c -o $TOP/a.o").needs(&["cc"]),
    attack!("node writes", "node -e 'require(\"fs\").writeFileSync(process.env.TOP+\"/new\",\"x\")'").needs(&["node"]),
    attack!("make writes", "printf 'all:\\n\\techo x > $(TOP)/new\\n' > Makefile; make").needs(&["make"]),
    attack!("xargs", "echo $TOP/new | xargs touch"),
    attack!("find -exec", "find . -maxdepth 0 -exec touch $TOP/new ';'; test -e $TOP/new"),
    attack!("a link to a file", "ln -s $TOP/outside l && echo x > l"),
    attack!("a link to a folder", "ln -s $TOP d && touch d/new"),
    attack!("cd through a link", "ln -s $TOP d; cd -P d && touch new"),
    attack!("a hard link in", "ln $TOP/outside h && echo x > h"),
    attack!("a hard link out", "touch f; ln f $TOP/new"),
    attack!("a link of a link", "ln -P $TOP/outside h || cp -l $TOP/outside h"),
    attack!("reflink", "cp --reflink=always $TOP/outside r && echo x >> $TOP/outside"),
    attack!("a pipe file outside", "mkfifo $TOP/new"),
    attack!("a socket outside", "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('$TOP/new')\"").needs(&["python3"]),
    attack!("mode", "chmod 777 $TOP/folder/file"),
    attack!("set-user-id bit", "chmod u+s $TOP/folder/file"),
    attack!("times", "touch -d 2000-01-01 $TOP/folder/file"),
    attack!("attributes", "python3 -c \"import os; os.setxattr('$TOP/folder/file','user.x',b'y')\"")
        .needs(&["python3"]),
    attack!("owner", "chown 12345 $TOP/folder/file"),
    attack!("the workspace itself away", "mv $WORK $TOP/elsewhere || rmdir $WORK"),
    attack!("exchange with the workspace", "python3 -c \"import ctypes; import sys; sys.exit(ctypes.CDLL(None).renameat2(-100,b'$WORK',-100,b'$TOP/folder',2)!=0)\"").needs(&["python3"]),
    attack!("through the root of a process", "echo x > /proc/self/root$TOP/outside"),
    attack!("through the working folder of a process", "touch /proc/self/cwd/../../../new-x"),
    attack!("through a descriptor", "exec 7< $TOP/outside; echo x > /proc/self/fd/7"),
    attack!("through a descriptor of a folder", "exec 7< $TOP; touch /proc/self/fd/7/new"),
    attack!("through the first process", "touch /proc/1/root$TOP/new || touch /proc/1/cwd/../new"),
    attack!("through somebody else's process", "touch /proc/$TESTER/root$TOP/new || touch /proc/$TESTER/cwd/new-$MARK"),
    attack!("/dev/stdout led elsewhere", "exec 1<> $TOP/outside && echo x > /dev/stdout"),
    attack!("system folders", "touch /usr/new-$MARK || touch /etc/new-$MARK || touch /var/lib/new-$MARK || touch /opt/new-$MARK || touch /new-$MARK || touch /srv/new-$MARK"),
    attack!("programs", "cp /bin/true /usr/local/bin/new-$MARK || cp /bin/true /usr/bin/new-$MARK"),
    attack!("cron", "echo x > /etc/cron.d/new-$MARK || echo x > /var/spool/cron/new-$MARK || crontab <<< '* * * * * true'"),
    attack!("profile", "echo x >> /etc/profile || echo x >> /etc/bash.bashrc || echo x > /etc/profile.d/new-$MARK.sh"),
    attack!("library path", "echo $PWD > /etc/ld.so.conf.d/new-$MARK.conf || echo x > /etc/ld.so.preload"),
    attack!("toolchains of the home", "touch $USERHOME/.cargo/bin-new || mkdir $USERHOME/.cargo/bin || echo x > $USERHOME/.cargo/config.toml"),
    runs!("files of the home", "for f in .bashrc .profile .bash_profile .zshrc .gitconfig .ssh/authorized_keys .config/autostart/x .local/bin/ls .cargo/env; do mkdir -p $(dirname $HOME/$f); echo x >> $HOME/$f; done 2>/dev/null"),
    runs!("temporary folders of others", "for d in /tmp /var/tmp /dev/shm /run; do echo x > $d/new-$MARK; done 2>/dev/null"),
    runs!("TMPDIR and HOME changed", "export HOME=$USERHOME TMPDIR=$TOP; mktemp; cd; echo x > .bashrc"),
    runs!("BASH_ENV for the next call", "export BASH_ENV=$PWD/evil; echo 'touch $TOP/new' > evil; bash -c true"),
    row("nothing is left for the next call", &[
        Call::Script("export PATH=$PWD:$PATH LD_PRELOAD=$PWD/e.so BASH_ENV=$PWD/e; echo 'echo BRO''KEN' > e; echo 'echo BRO''KEN' > ls; chmod +x ls; cd /; alias true=false; f() { :; }; export -f f; echo first"),
        Call::Typed("pwd; test -z \"$LD_PRELOAD$BASH_ENV\" && ! declare -F f && echo second; ls > /dev/null"),
    ])
    .prints(&["first", "@WORK@\nsecond"]),
    attack!("LD_PRELOAD into a program with more rights", "cat > e.c <<'E'\n#include <stdlib.h>\n#include <fcntl.h>\n__attribute__((constructor)) void f(void){ creat(getenv(\"TARGET\"), 0600); }\nE\ncc -shared -fPIC -o e.so e.c; TARGET=$TOP/new LD_PRELOAD=$PWD/e.so su --version; TARGET=$TOP/new LD_PRELOAD=$PWD/e.so mount; test -e $TOP/new")
        .needs(&["cc"]),
    attack!("programs from memory", "python3 - <<'E'\nimport os\nf = os.memfd_create('x')\nos.write(f, b'#!/bin/bash\\necho x > \"$TOP/outside\"\\n')\nos.set_inheritable(f, True)\nos.execve(f'/proc/self/fd/{f}', ['x'], os.environ)\nE")
        .needs(&["python3"]),
    attack!("a program of the workspace", "printf '#!/bin/bash\\ntouch $TOP/new\\n' > p; chmod +x p; ./p"),
    attack!("a race between folder and link", "mkdir s; ln -s $TOP l\npython3 - <<'E' &\nimport ctypes\nc = ctypes.CDLL(None)\nfor _ in range(200000): c.renameat2(-100, b's', -100, b'l', 2)\nE\nfor n in $(seq 300); do echo x > s/new-$n; mkdir -p s/d-$n/e; echo x > s/outside; done; kill %1; ls $TOP | grep -q new-")
        .needs(&["python3"]),
    row("editor tasks, envrc and servers of tools", &[Call::Script(
        "mkdir -p .vscode .idea .tenon; for f in .vscode/tasks.json .idea/workspace.xml .tenon/config.toml .envrc .mcp.json .VSCODE; do echo '{}' > $f; done; cd $WORK; echo x > .envrc; mkdir -p .vscode; echo x > .vscode/tasks.json; echo x > .mcp.json; echo end",
    )])
    .prints(&["end", "put back as it was"])
    .after("for d in $WORK $PWD; do for f in .envrc .mcp.json .vscode/tasks.json .idea/workspace.xml .tenon/config.toml; do test ! -e $d/$f || exit 1; done; done; test ! -f .VSCODE"),
    row("startup files behind links, written", &[Call::Script(
        "cd $WORK/dots; echo evil >> bashrc; echo evil > profile; sed -i s/mine/evil/ gitconfig; chmod +x zshrc; mkdir -p fish/conf.d; echo evil | tee fish/config.fish fish/conf.d/a.fish; echo end",
    )])
    .prepare(DOTFILES)
    .alone()
    .prints(&["end", "bashrc was changed; put back as it was", "profile was made; put back as it was"])
    .after(DOTFILES_HELD),
    row("startup files behind links, exchanged", &[
        Call::Script("cd $WORK; mv dots d; mkdir dots; cp -r d/. dots; echo evil | tee dots/bashrc dots/gitconfig; echo evil > e; ln -s ../e dots/profile; echo first"),
        Call::Script("cd $WORK/dots; ln -sfn ../e zshrc; rm -f gitconfig; mkdir gitconfig; rmdir fish; ln -s ../d fish; echo end"),
    ])
    .prepare(DOTFILES)
    .alone()
    .prints(&["first", "end"])
    .after(DOTFILES_HELD),
    row("startup files behind links, by file tools", &[
        Call::Tool("write_file", r#"{"path":"@WORK@/dots/profile","content":"evil"}"#),
        Call::Tool("edit_file", r#"{"path":"@WORK@/dots/bashrc","old_text":"mine","new_text":"evil"}"#),
        Call::Tool("write_file", r#"{"path":"@WORK@/dots/fish/config.fish","content":"evil"}"#),
    ])
    .prepare(DOTFILES)
    .alone()
    .after(DOTFILES_HELD),
    row("protected names changed", &[Call::Script(
        "echo evil > .envrc; echo evil > .vscode/tasks.json; sed -i s/good/evil/ .mcp.json; chmod +x .envrc; echo end",
    )])
    .prepare("mkdir .vscode; echo good > .envrc; echo good > .vscode/tasks.json; echo good > .mcp.json")
    .prints(&["end"])
    .after("test \"$(cat .envrc .vscode/tasks.json .mcp.json)\" = $'good\\ngood\\ngood'"),
    row("protected names moved away and made again", &[Call::Script(
        "mv .vscode v; mkdir .vscode; echo evil > .vscode/tasks.json; mv .envrc e; ln -s e .envrc; echo evil > e; rm -rf .mcp.json; mkdir .mcp.json; echo end",
    )])
    .prepare("mkdir .vscode; echo good > .envrc; echo good > .vscode/tasks.json; echo good > .mcp.json")
    .prints(&["end"])
    .after("test \"$(cat .vscode/tasks.json .envrc .mcp.json)\" = $'good\\ngood\\ngood' && test ! -L .envrc"),
    row("protected names by rename of the folder above", &[Call::Script(
        "mkdir p; echo evil > p/tasks.json; mkdir q; mv p q/.vscode; mv q r; echo end",
    )])
    .prints(&["end"])
    .after("test ! -e r/.vscode/tasks.json"),
    row("protected names copied with more in them, or from further down", &[Call::Script(
        "cp -r p q; echo evil >> q/.envrc; cp -r p/n r; cp -r p/n/.vscode .; mkdir t; cp p/.envrc t/.mcp.json; echo evil > p/.envrc; cp p/.envrc t; echo end",
    )])
    .prepare("mkdir -p p/n/.vscode; echo only here > p/.envrc; echo mine > p/n/.vscode/tasks.json")
    .prints(&["end"])
    .after("test ! -e q/.envrc -a ! -e r/.vscode/tasks.json -a ! -e .vscode/tasks.json -a ! -e t/.mcp.json -a ! -e t/.envrc -a \"$(cat p/.envrc)\" = 'only here'"),
    row("no room left for what protected files were", &[
        Call::Script("cd $WORK; git init -q n; mkdir -p n/.git/hooks; cd n/.git/hooks; for n in {0..66}; do head -c 1000000 /dev/zero > $n.sample; done; cd $WORK/.git; for n in {0..60}; do head -c 1000000 /dev/zero | tr '\\0' '#' > config.$n; done; echo end"),
        Call::Script("cd $WORK; git config core.fsmonitor evil; echo evil > z/.envrc; rm .git/config.*; echo end"),
    ])
    .prepare("cd $WORK; git init -q .; mkdir z; echo own > z/.envrc")
    .alone()
    .needs(&["git"])
    .prints(&[".envrc was changed; put back"])
    .never(&["could NOT be put back"])
    .after("cd $WORK; ! grep evil .git/config && test $(cat z/.envrc) = own"),
    row("a protected file written late through a mapping", &[
        Call::Job(
            "python3 - <<'E'\nimport mmap, os, time\nf = open('.envrc', 'r+b')\nm = mmap.mmap(f.fileno(), 5)\nm[:1] = b'g'\nopen('mapped', 'w')\nwhile not os.path.exists('go'): time.sleep(0.02)\nm[:4] = b'evil'\nopen('written', 'w')\nE",
        ),
        // Its change time is no longer a recent one.
        Call::Script("until test -e mapped; do sleep 0.02; done; sleep 3.1"),
        Call::Script("touch go; until test -e written; do sleep 0.02; done"),
        Call::Script("echo end"),
    ])
    .prepare("echo good > .envrc")
    .alone()
    .needs(&["python3"])
    .prints(&[".envrc was changed; put back", "end"])
    .after("test \"$(cat .envrc)\" = good"),
    row("files of a dependency moved to the top", &[Call::Script(
        "cd $WORK; mv dependency/in/.envrc dependency/in/.vscode .; rm -r dependency; echo end",
    )])
    .prepare("mkdir -p $WORK/dependency/in/.vscode; cd $WORK/dependency/in; echo own > .envrc; echo own > .vscode/tasks.json")
    .alone()
    .prints(&[".envrc was made; put back", ".vscode/tasks.json was made; put back"])
    .after("cd $WORK; test ! -e .envrc -a ! -e .vscode/tasks.json"),
    row("protected names copied to be run", &[Call::Script(
        "cp -rp p q; chmod +x q/.claude/hooks/x.sh; chmod +x q/.envrc; mkdir r; ln -s ../p/.envrc r/.envrc; cp p/.envrc e; mkdir t; ln e t/.envrc; chmod +x p/.envrc; cp -rp p u; echo end",
    )])
    .prepare("mkdir -p p/.claude/hooks; echo plain > p/.envrc; echo plain > p/.claude/hooks/x.sh; chmod 644 p/.envrc p/.claude/hooks/x.sh")
    .prints(&["end"])
    .after("test ! -e q/.claude/hooks/x.sh -a ! -e q/.envrc -a ! -L r/.envrc -a ! -e t/.envrc -a ! -e u/.envrc -a ! -x p/.envrc"),
    row("protected names in the last moment of a call", &[Call::Script(
        "(while true; do echo evil > .envrc; mkdir -p .vscode; echo evil > .vscode/tasks.json; rm -f .envrc; done) 2>/dev/null & (while true; do ln -sf evil .mcp.json; done) & sleep 0.2; echo end",
    )])
    .prints(&["end"])
    .after("test ! -e .envrc -a ! -e .vscode/tasks.json -a ! -L .mcp.json"),
    row("protected names in a workspace made to look like a repository", &[Call::Script(
        "cd $WORK; mkdir objects refs hooks; echo 'ref: refs/heads/main' > HEAD; echo evil > .envrc; mkdir p; echo evil > p/.mcp.json; echo evil > hooks/pre-commit; echo end",
    )])
    .alone()
    .prints(&["end"])
    .after("cd $WORK; test ! -e .envrc -a ! -e p/.mcp.json -a ! -e hooks/pre-commit"),
    row("protected names in a folder made to look like a repository", &[Call::Script(
        "mkdir -p d/objects d/refs d/sub; echo 'ref: refs/heads/main' > d/HEAD; echo evil > d/.envrc; echo evil > d/sub/.mcp.json; echo end",
    )])
    .prints(&["end"])
    .after("test ! -e d/.envrc -a ! -e d/sub/.mcp.json"),
    row("protected names behind many folders", &[Call::Script(
        "mkdir -p a/{0..59}/{0..49} z/z/z/z; echo evil > z/z/z/z/.envrc; echo end",
    )])
    .alone()
    .prints(&["end", "put back as it was"])
    .after("test ! -e z/z/z/z/.envrc"),
    row("protected names behind many folders that were there", &[Call::Script(
        "echo evil > z/z/z/z/.envrc; echo end",
    )])
    .prepare("mkdir -p a/{0..59}/{0..49} z/z/z/z")
    .alone()
    .prints(&["end", "put back as it was"])
    .after("test ! -e z/z/z/z/.envrc"),
    row("protected names changed behind many folders that were there", &[Call::Script(
        "cd z/z/z/z; echo evil >> .envrc; sed -i s/good/evil/ .vscode/tasks.json; rm .mcp.json; ln .idea/w.xml w; echo evil > w; mv .claude c; mkdir .claude; echo evil > .claude/settings.json; echo end",
    )])
    .prepare("mkdir -p a/{0..59}/{0..49} z/z/z/z; cd z/z/z/z; mkdir .vscode .idea .claude; for f in .envrc .mcp.json .vscode/tasks.json .idea/w.xml .claude/settings.json; do echo good > $f; done")
    .alone()
    .prints(&["end", "put back as it was"])
    .never(&["could NOT"])
    .after("cd z/z/z/z; for f in .envrc .mcp.json .vscode/tasks.json .idea/w.xml .claude/settings.json; do test $(cat $f) = good || exit 1; done"),
    row("protected names behind folders of a call before", &[
        Call::Script("mkdir -p a/{0..59}/{0..49} z/z/z/x z/z/z/b/objects z/z/z/b/refs; echo evil > z/z/z/x/tasks.json; git config -f z/z/z/b/config core.fsmonitor evil; for n in {0..19}; do git init -q z/z/z/r$n; done; echo end"),
        Call::Script("cd z/z/z; echo evil > .envrc; mv x .vscode; echo evil > r9/.git/hooks/post-checkout; git -C r9 config core.pager evil; echo 'ref: refs/heads/m' > b/HEAD; mkdir w; echo 'gitdir: ../b' > w/.git; echo end"),
    ])
    .alone()
    .needs(&["git"])
    .prints(&["end", "put back as it was"])
    .after("cd z/z/z; test ! -e .envrc -a ! -e .vscode/tasks.json -a ! -e r9/.git/hooks/post-checkout && ! grep -q evil r9/.git/config b/config"),
    row("protected names deeper than a path can name, moved up", &[
        Call::Script("T=$PWD; mkdir b; cd b; for n in {1..300}; do mkdir bbbbbbbbbb; cd -P bbbbbbbbbb; done; echo evil > .envrc; mkdir .vscode; echo evil > .vscode/tasks.json; cd $T; mkdir a; cd a; for n in {1..300}; do mkdir aaaaaaaaaa; cd -P aaaaaaaaaa; done; mv $T/b b; echo end"),
        Call::Script("T=$PWD; cd a; while cd -P aaaaaaaaaa; do :; done 2>/dev/null; mv b $T/up; echo moved"),
    ])
    .alone()
    .prints(&["end", "moved", "put back as it was"])
    .after("cd up; while cd -P bbbbbbbbbb; do :; done 2>/dev/null; test $(pwd -P | wc -c) -gt 3300 -a ! -e .envrc -a ! -e .vscode/tasks.json"),
    row("protected names behind many folders, by a job", &[
        Call::Job("cd z/z/z/z; while true; do echo evil > .envrc; mkdir -p .vscode; echo evil > .vscode/tasks.json; sleep 0.1; done 2>/dev/null"),
        Call::Typed("until test -e @ROW@/z/z/z/z/.envrc -o $SECONDS -gt 60; do sleep 0.05; done; echo beside"),
        Call::Tool("jobs", r#"{"action":"read"}"#),
    ])
    .prepare("mkdir -p a/{0..59}/{0..49} z/z/z/z")
    .alone()
    .prints(&["beside", "protected: ", ".envrc"])
    .after("test ! -e z/z/z/z/.envrc -a ! -e z/z/z/z/.vscode/tasks.json"),
    row("protected names behind many folders, in a cache", &[
        Call::Script("mkdir -p c/x y; echo 'Signature: 8a477f597d28d172789f06886806bc55' > c/CACHEDIR.TAG; echo evil > y/tasks.json; echo end"),
        Call::Script("cd c; echo evil > .envrc; mv ../y .vscode; mkdir n; echo evil > n/.mcp.json; mv n x/m; echo end"),
    ])
    .prepare("mkdir -p a/{0..59}/{0..49}")
    .alone()
    .prints(&["end", "put back as it was"])
    .after("test ! -e c/.envrc -a ! -e c/.vscode/tasks.json -a ! -e c/x/m/.mcp.json"),
    row("protected names behind many folders, without undo", &[Call::Script(
        "echo evil > z/z/z/z/.envrc; echo end",
    )])
    .prepare("echo 'undo = false' >> $USERHOME/.config/tenon/config.toml; mkdir -p a/{0..59}/{0..49} z/z/z/z")
    .alone()
    .prints(&["end", "put back as it was"])
    .after("test ! -e z/z/z/z/.envrc"),
    row("protected names behind many folders, by a race with the journal", &[Call::Script(PATHS_EXCHANGED)])
    .prepare("mkdir -p a/{0..59}/{0..49}; seq -f z/z/z/%09g 0 399 | xargs mkdir -p")
    .alone()
    .needs(&["python3"])
    .prints(&["end"])
    .after("! ls z/z/z/*/.envrc 2>/dev/null | grep ."),
    row("protected names behind too many folders", &[Call::Script(
        "cd z/z/z/z; echo evil > .envrc; sed -i s/good/evil/ .mcp.json; mkdir n; echo evil > n/tasks.json; mv n .vscode; echo end",
    )])
    .prepare("mkdir -p a/{0..249}/{0..199} z/z/z/z; echo good > z/z/z/z/.mcp.json")
    .whole()
    .prints(&["end", "put back as it was"])
    .after("cd z/z/z/z; test ! -e .envrc -a ! -e .vscode/tasks.json && grep -q good .mcp.json"),
    row("protected names behind too many folders, without undo", &[Call::Script(
        "echo evil > z/z/z/z/.envrc; echo end",
    )])
    .prepare("echo 'undo = false' >> $USERHOME/.config/tenon/config.toml; mkdir -p a/{0..249}/{0..199} z/z/z/z")
    .whole()
    .prints(&["end", "more folders than are looked through"])
    .after("test ! -e z/z/z/z/.envrc")
    .nowhere("with `undo = false` nobody records what commands touch, and of more than 50,000 folders only the upper ones are looked through; that it is so is told once", "afterwards"),
    row("protected names behind too many folders, by a race with the journal", &[Call::Script(PATHS_EXCHANGED)])
    .prepare("mkdir -p a/{0..249}/{0..199}; seq -f z/z/z/%09g 0 399 | xargs mkdir -p")
    .whole()
    .by_a_race()
    .needs(&["python3"])
    .prints(&["end"])
    .after("! ls z/z/z/*/.envrc 2>/dev/null | grep .")
    .nowhere("what a command touches is known from what its calls say when they are asked about; a program that exchanges a path in that moment touches another, and only in the first 50,000 folders that is looked for", "afterwards"),
    row("protected names in folders that are closed", &[Call::Script(
        "mkdir -p d e/f; echo evil > d/.envrc; chmod 111 d; echo evil > e/f/.mcp.json; chmod 555 e/f; chmod 311 e; mkdir -p g/h/.vscode; echo evil > g/h/.vscode/tasks.json; chmod 0 g/h/.vscode g/h g; echo evil > i/j/.envrc; chmod 0 i/j i; rm k/.envrc; mkdir -p k/.envrc/x; chmod 0 k/.envrc/x k/.envrc k; echo end",
    )])
    .prepare("mkdir -p i/j k; echo good > i/j/.envrc; echo good > k/.envrc")
    .prints(&["end", "put back as it was"])
    .never(&["could NOT"])
    .after("test \"$(stat -c %a g i k | sort -u)\" = 0; r=$?; chmod u+rwx d e g g/h g/h/.vscode i i/j k; test $r = 0 -a ! -e d/.envrc -a ! -e e/f/.mcp.json -a ! -e g/h/.vscode/tasks.json && grep -q good i/j/.envrc && grep -q good k/.envrc; r=$?; chmod -R u+rwx d e k; exit $r"),
    row("protected names of other agents and editors", &[Call::Script(
        "mkdir -p x .cursor .zed .gemini .codex .devcontainer deep/.claude/hooks .Claude .opencode/plugin; for f in x/settings.json x/settings.local.json .cursor/mcp.json .cursor/hooks.json .zed/tasks.json .zed/settings.json .gemini/settings.json .codex/config.toml .devcontainer/devcontainer.json deep/.claude/hooks/a .Claude/Settings.json .opencode/plugin/a.js opencode.json; do echo evil > $f; done; mv x .claude; mkdir y; echo evil > y/mcp.json; ln -s ../y deep/.cursor; echo end",
    )])
    .prints(&["end", "put back as it was"])
    .never(&["could NOT"])
    .after("! find . -mindepth 2 -type f ! -path './y/*' | grep . && test ! -e opencode.json -a ! -L deep/.cursor"),
    row("protected names by another name of the file", &[
        Call::Script("ln .envrc e; ln .claude/settings.json s; echo end"),
        Call::Script("echo evil > e; echo evil > s; echo end"),
    ])
    .prepare("mkdir .claude; echo good > .envrc; echo good > .claude/settings.json")
    .prints(&["end"])
    .never(&["could NOT"])
    .after("test \"$(cat .envrc .claude/settings.json)\" = $'good\\ngood'"),
    row("protected names too long to keep", &[Call::Script("echo evil > .envrc; echo end")])
        .prepare("head -c 3000000 /dev/zero | tr '\\0' '\\n' > .envrc; echo good >> .envrc")
        .prints(&["end"])
        .after("test $(wc -c < .envrc) -gt 3000000")
        .nowhere("what is longer than 1 MiB is not kept to be put back, since a command could have many of them kept; that it changed is told", "afterwards"),
    row("protected names deep within", &[Call::Script(
        "mkdir -p .vscode/1/2/3/4/5/6/7; echo evil > .vscode/1/2/3/4/5/6/7/tasks.json; echo end",
    )])
    .prints(&["end"])
    .after("! find .vscode -type f 2>/dev/null | grep ."),
    row("protected names, by a job again and again", &[
        Call::Job("trap '' TERM; git init -q .; while true; do echo evil > .envrc; mkdir -p .vscode; echo evil > .vscode/tasks.json; git config core.pager evil; git config alias.x '!evil'; done 2>/dev/null"),
        Call::Typed("until test -e @ROW@/.envrc -o $SECONDS -gt 60; do sleep 0.05; done; echo beside"),
        Call::Tool("jobs", r#"{"action":"read"}"#),
    ])
    .alone()
    .needs(&["git"])
    .prints(&["beside", "protected: ", ".envrc"])
    .after("test ! -e .envrc -a ! -e .vscode/tasks.json && ! grep -q evil .git/config"),
    row("protected names behind a link", &[Call::Script(
        "ln -s $TOP/folder .vscode; echo x > .vscode/tasks.json; ln -s $TOP/folder .idea; echo end",
    )])
    .prints(&["end"])
    .after("test ! -e .vscode -a ! -L .vscode -a ! -L .idea"),
    attack!("history of the shell", "set -o history; history -s x; history -w $TOP/new; test -e $TOP/new"),
    attack!("what git writes beside a repository", "git init -q g; cd g; git -c user.name=a -c user.email=a commit -q --allow-empty -m a; git archive -o $TOP/new HEAD || git bundle create $TOP/new HEAD || git format-patch -q -o $TOP/new --root HEAD")
        .needs(&["git"]),
    attack!("lists of tar", "echo x > f; tar --listed-incremental=$TOP/new -cf t.tar f; tar -cvf t.tar --index-file=$TOP/new f; test -e $TOP/new"),
    attack!("traces and cookies of curl", "echo x > f; curl -s --trace $TOP/new -D $TOP/new -c $TOP/new file://$PWD/f; test -e $TOP/new").needs(&["curl"]),
    attack!("keys of openssl", "openssl rand -out $TOP/new 8").needs(&["openssl"]),
    attack!("what the compiler notes beside", "echo 'int x;' > a.c; cc -c a.c -o a.o -MD -MF $TOP/new; test -e $TOP/new").needs(&["cc"]),
    attack!("install, mktemp and cp --parents", "install -D /dev/null $TOP/new/deep || mktemp -p $TOP || mktemp -d -p $TOP || cp --parents said $TOP/folder"),
    attack!("space for a file", "fallocate -l 4096 $TOP/outside || fallocate -p -o 0 -l 4 $TOP/outside || fallocate -z -l 1 $TOP/folder/file").needs(&["fallocate"]),
    attack!("flags of a file", "chattr +d $TOP/folder/file || chattr +A $TOP/folder || chattr +i $TOP/outside").needs(&["chattr"]),
    attack!("lists of who may", "setfacl -m u:1:rwx $TOP/folder/file").needs(&["setfacl"]),
    attack!("a file without a name that gets one outside", "python3 -c \"import os; f=os.open('.', os.O_TMPFILE|os.O_RDWR, 0o600); os.write(f, b'x'); os.link(f'/proc/self/fd/{f}', os.environ['TOP']+'/new', follow_symlinks=True)\"")
        .needs(&["python3"]),
    attack!("what can be changed through a descriptor for reading", "python3 - <<'E'\nimport os\nf = os.open(os.environ['TOP'] + '/folder/file', os.O_RDONLY)\ndone = 0\nfor act in (lambda: os.fchmod(f, 0o777), lambda: os.utime(f, (1, 1)), lambda: os.fchown(f, 1, 1), lambda: os.setxattr(f, 'user.x', b'y'), lambda: os.ftruncate(f, 0)):\n    try:\n        act(); done += 1\n    except OSError: pass\nraise SystemExit(not done)\nE")
        .needs(&["python3"]),
    attack!("a database that is attached", "python3 -c \"import os, sqlite3; c=sqlite3.connect('d.db'); c.execute('attach ? as n', (os.environ['TOP']+'/new',)); c.execute('create table n.t(a)')\"").needs(&["python3"]),
    attack!("descriptors that were left open", "found=1; for n in $(ls /proc/$$/fd); do t=$(readlink /proc/$$/fd/$n); case $t in ''|/dev/null|pipe:*|*/.row-0.sh|*/said) ;; *) echo $n $t >&2; found=0;; esac; done; test $found = 0"),
    row("files with long results", &[
        Call::Script("seq 20000"),
        Call::Script("for f in $USERHOME/.local/state/tenon/results/*/* $USERHOME/.local/state/tenon/results/*; do { echo x >> $f || rm -r $f < /dev/null || mv $f $f.x || touch $f/new; } 2>/dev/null && echo BROKEN; done; echo end"),
    ])
    .prints(&["left out", "end"])
    .after("! ls $USERHOME/.local/state/tenon/results/* | grep -E 'new|[.]x$'"),
    row("what git starts for a command that only reads", &[Call::Typed("cd @ROW@ && git status --short"), Call::Typed("cd @ROW@ && git log --oneline && git diff")])
        .prepare("git init -q .; git -c user.name=a -c user.email=a commit -q --allow-empty -m a; printf '#!/bin/sh\\ntouch %s/made %s/new\\n' $PWD $TOP > p; chmod +x p; echo x > f; git add f; echo y > f; git config core.fsmonitor $PWD/p; git config diff.external $PWD/p; git config core.pager $PWD/p")
        .after("test ! -e made")
        .needs(&["git"]),
    row("a folder of the session that is behind a link now", &[
        Call::Script("mv a b && ln -s $TOP/folder a; echo first"),
        Call::Script("echo x > $TOP/folder/deep/file; touch $TOP/folder/deep/new; echo BROKEN"),
        Call::Tool("write_file", r#"{"path":"@WORK@/@ROW@/a/deep/other","content":"x"}"#),
        Call::Job("touch $TOP/folder/deep/new; echo BROKEN"),
    ])
    .prepare("mkdir -p a/deep; echo good > $TOP/folder/deep/.envrc")
    .flags(&["--add-dir", "@WORK@/@ROW@/a/deep"])
    .prints(&["first", "is another folder now than when this session began", "needs the user's yes"])
    .never(&["--sandbox off"]),
    row("protected names deeper than anybody looks", &[Call::Script(
        "d=$(printf 'a/%.0s' $(seq 90)); mkdir -p $d; cd $d; echo evil > .envrc; mkdir .vscode; echo evil > .vscode/tasks.json; echo end",
    )])
    .prints(&["end"])
    .after("! find a -name .envrc -o -name tasks.json | grep ."),
];
