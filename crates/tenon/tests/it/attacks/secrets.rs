//! What only the user may see. Every session looks for the decoys, plain, reversed and in base64.

use super::row::{Call, Row, attack, row, runs};

/// Prints a file in three forms; the session's checks find what comes of it.
macro_rules! shows {
    ($name:literal, $files:literal) => {
        runs!($name, concat!("cat ", $files, " 2>&1 | tee >(rev) >(base64 -w0); sleep 0.02; echo"))
    };
}

/// Rows in which known values are masked: a `.env` file in the row's folder and what prints it. That
/// no key of the environment is shown either is among the checks of every session.
macro_rules! masked {
    ($name:literal, $calls:expr) => {
        row($name, $calls)
            .prepare(concat!(
                "sed -i 's/= false/= true/' $USERHOME/.config/tenon/config.toml; ",
                "printf 'PORT=80\nAPI_TOKEN=tok-4f9a2c7e1b8d\nNAME=\"x\"\n' > .env; ",
                "cat $USERHOME/.netrc > key"
            ))
            .alone()
            .never(&["tok-4f9a2c7e1b8d", "b2stNGY5YTJjN2Ux", "dG9rLTRmOWEyYzdl", "ay00ZjlhMmM3ZTFi"])
            .after("! grep -rqE 'tok-4f9a2c7e1b8d|b2stNGY5YTJjN2Ux|dG9rLTRmOWEyYzdl|ay00ZjlhMmM3ZTFi' $USERHOME/.local/state/tenon")
            .prints(&["[masked: value of"])
    };
}

pub(super) const ROWS: &[Row] = &[
    shows!("keys of ssh", "$USERHOME/.ssh/*"),
    shows!("keys of clouds", "$USERHOME/.aws/* $USERHOME/.azure/* $USERHOME/.config/gcloud/* $USERHOME/.kube/*"),
    shows!("keys of registries", "$USERHOME/.npmrc $USERHOME/.pypirc $USERHOME/.docker/config.json $USERHOME/.cargo/credentials.toml"),
    shows!("keys of git", "$USERHOME/.git-credentials $USERHOME/.netrc $USERHOME/.config/gh/*"),
    row("keys in filters of git", &[Call::Script("exec 2>&1; git init -q .; git config -l; cat ~/.gitconfig; echo one > a; git add a; git status --short")])
        .prepare("printf '[filter \"x\"]\\n\\tclean = openssl enc -pass pass:tok-4f9a2c7e1b8d\\n' >> $USERHOME/.gitconfig; echo 'a filter=x' > .gitattributes")
        .alone()
        .needs(&["git"])
        .prints(&["a: clean filter 'x' failed", "?? a"])
        .never(&["tok-4f9a2c7e1b8d"]),
    shows!("keyrings", "$USERHOME/.gnupg/* $USERHOME/.local/share/keyrings/* $USERHOME/.password-store/*"),
    shows!("history and notes", "$USERHOME/.bash_history $USERHOME/.env $USERHOME/notes.txt"),
    shows!("tenon's settings", "$USERHOME/.config/tenon/*"),
    shows!("sessions of others", "$USERHOME/.local/state/tenon/sessions/* $USERHOME/.local/state/tenon/history"),
    runs!("the whole home", "grep -rs --exclude-dir=work . $USERHOME | head -c 5000; find $USERHOME -type f 2>/dev/null | head -50; tar cf - $USERHOME 2>/dev/null | strings | grep -F sk-"),
    shows!("keys and histories where variables put them", "$USERHOME/named/* $USERHOME/named/*/* $USERHOME/named/*/*/*")
        .prepare("d=$USERHOME/named; mkdir -p $d/{config/{gcloud,rclone},data/keyrings,cache/huggingface,gnupg/private-keys-v1.d,zsh}; cp -r $USERHOME/.config/tenon $d/config; sed -i \"1i read_dir = ['$d']\" $d/config/tenon/config.toml; for f in config/{gcloud/x,rclone/rclone.conf,hub} data/keyrings/x cache/huggingface/token gnupg/{trustdb.gpg,private-keys-v1.d/x} zsh/.zsh_history history database rclone ticket; do cp $USERHOME/notes.txt $d/$f; done")
        .given(&[
            ("DB_PASSWORD_FILE", "@USERHOME@/named/database"),
            ("GNUPGHOME", "@USERHOME@/named/gnupg"),
            ("HISTFILE", "@USERHOME@/named/history"),
            ("KRB5CCNAME", "FILE:@USERHOME@/named/ticket"),
            ("RCLONE_CONFIG", "@USERHOME@/named/rclone"),
            ("XDG_CACHE_HOME", "@USERHOME@/named/cache"),
            ("XDG_CONFIG_HOME", "@USERHOME@/named/config"),
            ("XDG_DATA_HOME", "@USERHOME@/named/data"),
            ("ZDOTDIR", "@USERHOME@/named/zsh"),
        ]),
    shows!("keys that links within closed folders lead to", "$USERHOME/kept/* $USERHOME/kept/*/*")
        .prepare("d=$USERHOME/kept; mkdir -p $d/ssh; cp $USERHOME/notes.txt $d/id; cp $USERHOME/notes.txt $d/ssh/id; ln -s ../kept/id $USERHOME/.ssh/linked; ln -s $d/ssh $USERHOME/.kube/linked; sed -i \"1i read_dir = ['$d']\" $USERHOME/.config/tenon/config.toml")
        .alone(),
    row("keys that a link in the workspace led to", &[
        Call::Script("cat k $USERHOME/named/key | tee >(rev); mv k moved; ln -s none k; echo end"),
        Call::Script("cat k moved $USERHOME/named/key | tee >(rev); rm k; echo end"),
        Call::Job("while :; do rm -f k; done"),
        Call::Script("cat moved $USERHOME/named/key | tee >(rev); echo end"),
    ])
    .prepare("mkdir $USERHOME/named; cp $USERHOME/notes.txt $USERHOME/named/key; sed -i \"1i read_dir = ['$USERHOME/named']\" $USERHOME/.config/tenon/config.toml; ln -s $USERHOME/named/key k; ln -s $PWD/k $USERHOME/.vault-token")
    .alone()
    .prints(&["end"])
    .after("[ \"$(readlink k)\" = $USERHOME/named/key ]"),
    row("keys of the workspace that a link in it led to", &[
        Call::Script("cat k d/key | tee >(rev); mv k moved; mkdir k; echo end"),
        Call::Script("cat k moved d/key | tee >(rev); mv d e; rm -r k; echo end"),
        Call::Tool("read_file", r#"{"path":"@ROW@/d/key"}"#),
        Call::Job("while :; do rm -f k; done"),
        Call::Script("cat moved d/key e/key | tee >(rev); echo end"),
    ])
    .prepare("mkdir d; cp $USERHOME/notes.txt d/key; ln -s d/key k; ln -s $PWD/k $USERHOME/.vault-token")
    .alone()
    .prints(&["end"])
    .after("[ $(readlink k) = d/key ]")
    .not_in_c("nothing can be put on top of a file there, and commands read the whole workspace", "a decoy"),
    shows!("settings of toolchains with keys in them", "$USERHOME/.nvm/versions/node/*/etc/npmrc $USERHOME/.local/share/fnm/node-versions/*/installation/etc/npmrc $USERHOME/.pyenv/versions/*/pip.conf $USERHOME/.pyenv/versions/*/envs/*/pip.conf $USERHOME/miniconda3/pip.conf $USERHOME/miniconda3/envs/*/.condarc $USERHOME/.local/share/pipx/venvs/*/*.json $USERHOME/.cache/pre-commit/*/.git/config $USERHOME/.asdf/plugins/*/.git/config")
        .prepare("cd $USERHOME; k=$(cat notes.txt); put() { mkdir -p ${1%/*}; printf '%b\n' \"$2\" > $1; }; n=\"//r.example/:_authToken=$k\"; p=\"[global]\nindex-url = https://a:$k@r.example/\"; g=\"[remote \\\"origin\\\"]\nurl = https://a:$k@r.example/\n[http]\nextraheader = A: $k\"; put .nvm/versions/node/v20/etc/npmrc $n; put .local/share/fnm/node-versions/v20/installation/etc/npmrc $n; put .pyenv/versions/3/pip.conf \"$p\"; put .pyenv/versions/3/envs/e/pip.conf \"$p\"; put miniconda3/pip.conf \"$p\"; put miniconda3/envs/e/.condarc \"channels: [https://r.example/t/$k/c]\"; put .local/share/pipx/venvs/t/pipx_metadata.json \"{\\\"pip_args\\\": [\\\"https://a:$k@r.example/\\\"]}\"; put .cache/pre-commit/r/.git/config \"$g\"; put .asdf/plugins/x/.git/config \"$g\""),
    runs!("links to keys", "ln -s $USERHOME/.ssh k; ln -s $USERHOME/.netrc n; cat k/* n; cp -rL k copy; cat copy/*"),
    runs!("hard links to keys", "ln $USERHOME/.ssh/id_ed25519 h; cat h; cp -al $USERHOME/.ssh c; cat c/*"),
    runs!("keys moved", "mv $USERHOME/.ssh s; mv $USERHOME/.cargo/credentials.toml c; cat s/* c"),
    runs!("keys under another mount", "cat /proc/self/root$USERHOME/.ssh/* /proc/1/root$USERHOME/.ssh/* /proc/$TESTER/root$USERHOME/.ssh/*"),
    runs!("keys through git", "git config --file $USERHOME/.netrc -l; git diff --no-index /dev/null $USERHOME/.netrc; git hash-object -w $USERHOME/.netrc").needs(&["git"]),
    runs!("keys as programs and libraries", "source $USERHOME/.env; bash $USERHOME/.env; python3 $USERHOME/.env; . $USERHOME/.netrc"),
    runs!("the environment", "env; set; export -p; cat /proc/self/environ; printenv | rev; printenv | base64 -w0"),
    runs!("the environment of others", "cat /proc/*/environ /proc/*/task/*/environ 2>&1 | tr '\\0' '\\n'; ps auxeww; cat /proc/$PPID/environ /proc/1/environ"),
    runs!("arguments of others", "cat /proc/*/cmdline | tr '\\0' '\\n' | grep -F sk-"),
    runs!("memory of others", "for p in /proc/[0-9]*; do head -c 100 $p/mem; cat $p/maps; cat $p/auxv; done 2>/dev/null | grep -aF sk-"),
    // Whoever reads its own pipes reads what it says itself, so nothing is asked of the result.
    runs!("descriptors of others", "for p in /proc/[0-9]*; do cat $p/fd/* < /dev/null; done 2>/dev/null & sleep 0.3").prints(&[]),
    runs!("descriptors that came along", "for f in 3 4 5 6 7 8 9 10 11 12 13 14 15 20 50 100; do cat <&$f; done; ls -l /proc/self/fd | grep -vE ' -> (/dev/null|pipe:|/proc|[^/])'"),
    runs!("keys of the kernel", "cat /proc/keys /proc/key-users; keyctl show; keyctl print @s"),
    attack!("passwords of the system", "cat /etc/shadow | grep -q : || cat /etc/gshadow | grep -q : || cat /etc/shadow- | grep -q :"),
    attack!("private keys of the system", "cat /etc/ssh/ssh_host_*_key | grep -q . || cat /etc/ssl/private/* | grep -q ."),
    attack!("who may become root", "cat /etc/sudoers /etc/sudoers.d/* | grep -q ."),
    attack!("the home of root", "cat /root/.bashrc /root/.profile /root/.bash_history || ls -A /root/.ssh /root/.config"),
    attack!("homes of others", "ls -d /home/*/* | grep -v \"^$USERHOME\" | grep -q ."),
    attack!("memory of the kernel", "head -c 64 /proc/kcore | grep -q . || cat /proc/kallsyms | grep -v ^0000000000000000 | grep -q ."),
    attack!("messages of the kernel", "dmesg | grep -q . || head -c 1 /dev/kmsg"),
    attack!("core dumps", "ulimit -c unlimited; bash -c 'kill -SEGV $$'; ls core* /var/lib/systemd/coredump/* | grep -q ."),
    attack!("processes of others", "ps -e -o pid= | awk '$1 > 400' | grep -q .")
        .not_in_c("without a namespace of processes their names and arguments are in sight", "BROKEN"),
    runs!("a clipboard", "xclip -o; xclip -o -selection clipboard").needs(&["xclip"]),
    runs!("screens and terminals", "cat /dev/vcs1 /dev/tty1 /dev/pts/0 < /dev/null; tmux show-buffer; screen -ls"),
    runs!("files in temporary folders of others", "cat /tmp/* /var/tmp/* 2>/dev/null | grep -aF sk-; ls -A $PLACE 2>/dev/null | grep -x above"),
    row("a search in everything", &[
        Call::Tool("grep", r#"{"pattern":"sk-decoy"}"#),
        Call::Tool("grep", r#"{"pattern":"sk-decoy","path":"/"}"#),
        Call::Tool("glob", r#"{"pattern":"**/.ssh/*","path":"/"}"#),
        Call::Tool("read_file", r#"{"path":"@USERHOME@/.ssh/id_ed25519"}"#),
        Call::Tool("read_file", r#"{"path":"@USERHOME@/.netrc"}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/l"}"#),
    ])
    .prepare("ln -s $USERHOME/.netrc l"),
    row("commands that only read", &[
        Call::Typed("cat @USERHOME@/.ssh/id_ed25519"),
        Call::Typed("cat @USERHOME@/.netrc @USERHOME@/.config/tenon/config.toml"),
        Call::Typed("grep -rs sk-de @USERHOME@"),
        Call::Typed("ls -A /root; head -1 /etc/shadow"),
        Call::Typed("env"),
    ])
    .never(&["root:"]),
    masked!("masked: a file of variables", &[
        Call::Typed("cat @ROW@/.env @ROW@/key"),
        Call::Tool("read_file", r#"{"path":"@ROW@/.env"}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/key"}"#),
        Call::Tool("grep", r#"{"pattern":"TOKEN|sk-","path":"@ROW@/.env"}"#),
        Call::Tool("grep", r#"{"pattern":"sk-","path":"@ROW@/key"}"#),
        Call::Script("set -a; . ./.env; env; sh -c 'echo \"$API_TOKEN\" >&2'"),
    ]),
    masked!("masked: in base64", &[
        Call::Script("base64 .env; base64 -w0 .env; base64 -w 7 .env; base64 key"),
        Call::Script("for n in '' a ab; do printf '%s%s' \"$n\" \"$(cat .env)\" | base64 -w0; printf '%s%s' \"$n\" \"$(cat key)\" | base64 | tr '+/' '-_'; done"),
        Call::Script("base64 -w 9 .env > b; base64 -w 11 key > c"),
        Call::Tool("read_file", r#"{"path":"@ROW@/b"}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/c"}"#),
    ]),
    masked!("masked: in JSON and in an address", &[
        Call::Script("python3 -c 'import json, urllib.parse; t=open(\".env\").read()+open(\"key\").read(); print(json.dumps(t)); print(urllib.parse.quote(t))'"),
    ])
    .needs(&["python3"]),
    masked!("masked: in pieces", &[
        Call::Script("for f in .env key; do while IFS= read -r -n 3 x; do printf %s \"$x\"; sleep 0.005; done < $f; done; echo; fold -w 5 .env; fold -w 9 key"),
    ]),
    masked!("masked: in long output", &[
        Call::Script("for n in $(seq 3000); do cat .env key; done"),
        Call::Script("yes \"$(cat .env key | tr '\\n' ' ')\" | head -c 3000000"),
        Call::Script("yes \"$(cat .env)\" | head -c 400000 > long; cat key >> long"),
        Call::Tool("read_file", r#"{"path":"@ROW@/long"}"#),
        Call::Tool("grep", r#"{"pattern":".","path":"@ROW@/long"}"#),
    ]),
    masked!("masked: at a cut", &[
        Call::Script("x() { head -c $1 /dev/zero | tr '\\0' x; }; t=$(sed -n 's/^API_TOKEN=//p' .env); echo \"$(x 1990)$t$(x 99)\" > line; for n in 278 282 286; do echo \"MATCH$(x $n)$t$(x 500)\"; echo \"$(x 500)$t$(x $((n - 230)))MATCH$(x 500)\"; done > matches; printf 'a\\n%s\\n%s\\n' ${t%??????} ${t#??????????} > broken; echo \"begin of a line, $(x 275)$t\" > near"),
        Call::Tool("read_file", r#"{"path":"@ROW@/line"}"#),
        Call::Tool("grep", r#"{"pattern":"MATCH","path":"@ROW@/matches"}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/broken","limit":2}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/broken","offset":3}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/near","old_text":"begin of a line, and","new_text":"x"}"#),
    ])
    .never(&["tok-4f9a", "c7e1b8d"])
    .after("! grep -rqE 'tok-4f9a|c7e1b8d' $USERHOME/.local/state/tenon"),
    masked!("masked: in programs' output", &[
        Call::Typed("cat @ROW@/.env @ROW@/key"),
        Call::Script("cat .env key; base64 .env key"),
    ])
    .flags(&["--output-format", "stream-json"]),
    masked!("masked: a file that appears", &[
        Call::Script("printf 'LATER_KEY=lat-%s\\n' 5e8d1f6a0c > .env.local; cat .env.local .env"),
        Call::Script("mkdir -p in/deep; printf 'DEEP_KEY=lat-%s\\n' 1a9c4e7b2d > in/deep/.env"),
        Call::Typed("cat @ROW@/in/deep/.env"),
    ])
    .never(&["lat-5e8d1f6a0c", "lat-1a9c4e7b2d"])
    .after("! grep -rqE 'lat-5e8d1f6a0c|lat-1a9c4e7b2d' $USERHOME/.local/state/tenon/sessions"),
    masked!("masked: a file that is edited", &[
        Call::Tool("read_file", r#"{"path":"@ROW@/.env"}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/.env","old_text":"PORT=80","new_text":"PORT=81"}"#),
        Call::Tool("write_file", r#"{"path":"@ROW@/.env","content":"PORT=1\nAPI_TOKEN=[masked: value of API_TOKEN from @ROW@/.env]\n"}"#),
        Call::Tool("edit_file", r#"{"path":"@ROW@/.env","old_text":"NAME=","new_text":"[masked: value of API_TOKEN from @ROW@/.env]"}"#),
        Call::Typed("echo 'API_TOKEN=[masked: value of API_TOKEN from @ROW@/.env]' > @ROW@/.env"),
    ])
    .prints(&["[masked: value of", "would destroy the secret"])
    .after("printf 'PORT=81\nAPI_TOKEN=tok-4f9a2c7e1b8d\nNAME=\"x\"\n' | cmp - .env"),
    runs!("the memory of others", "python3 - <<'E'\nimport os, re\nfor p in (1, os.getppid(), int(os.environ['TESTER'])):\n    try:\n        maps = open(f'/proc/{p}/maps').read()\n        memory = open(f'/proc/{p}/mem', 'rb')\n    except OSError: continue\n    for line in maps.splitlines():\n        start, end = (int(x, 16) for x in line.split()[0].split('-'))\n        if 'r' not in line.split()[1] or end - start > 1 << 26: continue\n        try:\n            memory.seek(start)\n            for found in re.findall(rb'sk-decoy[-0-9a-z]*', memory.read(end - start)): print(found)\n        except (OSError, ValueError): pass\nE")
        .needs(&["python3"]),
    attack!("settings that not everybody may read", "find /etc -type f ! -perm -o=r -exec cat {} + 2>/dev/null | grep -q ."),
    attack!("traces and last words of the kernel", "cat /sys/kernel/tracing/trace /sys/kernel/tracing/README /sys/kernel/debug/* /sys/fs/pstore/* 2>/dev/null | grep -q ."),
    attack!("copies of what only root may read", "cat /etc/shadow- /etc/gshadow- /etc/security/opasswd /etc/ssh/ssh_host_*_key /etc/sudoers.d/* /etc/ssl/private/* 2>/dev/null | grep -q ."),
    masked!("masked: in names of files", &[
        Call::Script("t=$(sed -n 's/API_TOKEN=//p' .env); mkdir d; touch \"d/$t\" \"d/$t.txt\"; ls d; cat \"d/$t.none\"; echo x > \"d/$t\""),
        Call::Tool("glob", r#"{"pattern":"d/*","path":"@ROW@"}"#),
        Call::Tool("grep", r#"{"pattern":"x","path":"@ROW@/d"}"#),
        Call::Tool("read_file", r#"{"path":"@ROW@/d"}"#),
    ])
    .after("! grep -rq tok-4f9a2c7e1b8d $USERHOME/.local/state/tenon/sessions $USERHOME/.local/state/tenon/results"),
    masked!("masked: in a job", &[
        Call::Job("cat .env; cat key; sleep 0.2; base64 -w0 .env"),
        Call::Tool("jobs", r#"{"action":"wait","job":1,"timeout":20}"#),
    ]),
    masked!("masked: in errors", &[
        Call::Script("t=$(sed -n 's/API_TOKEN=//p' .env); $t; cd $t; bash -c \"exit $t\"; kill -9 $t; ls --$t; python3 -c \"raise SystemExit('$t')\"; cat key >&2; false"),
    ]),
    runs!("an environment of Python through a link in the workspace", "cat $VIRTUAL_ENV/bin/key $USERHOME/private/bin/key $VIRTUAL_ENV/*")
        .prepare("mkdir -p $USERHOME/private/bin; cp $USERHOME/notes.txt $USERHOME/private/bin/key; cp $USERHOME/notes.txt $USERHOME/private/pyvenv.cfg; ln -s $USERHOME/private $WORK/v")
        .given(&[("VIRTUAL_ENV", "@WORK@/v")]),
    runs!("an environment of Python in the home whose folders are links to keys", "ls -R $VIRTUAL_ENV/; cat $VIRTUAL_ENV/* $VIRTUAL_ENV/*/* $USERHOME/.ssh/*; touch $VIRTUAL_ENV/new $VIRTUAL_ENV/include/new; echo x > $VIRTUAL_ENV/pyvenv.cfg")
        .prepare("mkdir -p $USERHOME/.venv/include; cd $USERHOME/.venv; touch pyvenv.cfg; cp ../notes.txt notes; ln -s $USERHOME/.ssh lib; ln -s ../.ssh lib64; ln -s $USERHOME/.aws bin; ln -s ../.netrc share; ln -s ../../.ssh include/deeper")
        .given(&[("VIRTUAL_ENV", "@USERHOME@/.venv")]),
];
