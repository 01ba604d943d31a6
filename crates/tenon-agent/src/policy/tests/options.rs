//! Programs that run others by an option, a setting or a variable, and what may be such an option.

use super::{ALLOW, ASK, DENY, Mode, rules, run};

/// Lines that run `git push` by words that are known.
const KNOWN: &[&str] = &[
    "a=(-exec git push \\;); find . \"${a[@]}\"",
    "a=(-exec git); a+=(push \\;); find . \"${a[@]}\"",
    "a=(-exec git push \\;); find . ${a[*]}",
    "a=(-exec git push \\;); b=(. \"${a[@]}\"); find \"${b[@]}\"",
    "declare -a a=(git push); \"${a[@]}\"",
    "f() { local -a a=(git push); \"${a[@]}\" origin; }; f",
    "a=(); \"${a[@]}\" git push",
    "a=(push); for x in \"${a[@]}\"; do git \"$x\"; done",
    "a=(git push); \"${a[@]}\" && a=(ls)",
    "f() { \"$@\" git push; }; f",
    "x='-exec git push ;'; find . $x",
    "set -- -exec git push \\;; find . \"$@\"",
    "ssh -o ProxyCommand='git push' h",
    "ssh -oProxyCommand='git push' h",
    "scp -o 'LocalCommand git push' a h:",
    "rsync -e 'git push' a b",
    "rsync -avze 'git push' a b",
    "rsync --rsh='git push' a b",
    "tar --checkpoint=1 --checkpoint-action=exec='git push' -cf a b",
    "tar -I 'git push' -cf a b",
    "tar --use-compress-program='git push' -cf a b",
    "tar --to-command 'git push' -xf a",
    "split --filter='git push' f",
    "sort --compress-program 'git push' f",
    "man -P 'git push' ls",
    "zip -T -TT 'git push' a.zip f",
    "ncat --sh-exec 'git push' h 1",
    "socat - EXEC:'git push'",
    "socat TCP:h:1 system:'git push'",
    "fd -x git push",
    "uv run git push",
    "uv run --with x git push",
    "poetry run -- git push",
    "npx -c 'git push'",
    "npm exec -- git push",
    "bundle exec git push",
    "direnv exec . git push",
    "valgrind --leak-check=full git push",
    "ip netns exec x git push",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
    "tmux new-session -d 'git push'",
    "screen -dm git push",
    "hyperfine -w 1 'git push'",
    "echo 'git push' | at now",
    "at now <<< 'git push'",
    "vim -es -c '!git push' -c q",
    "gdb -batch -ex 'shell git push'",
    "git -c core.pager='git push' log",
    "git -C . -c Core.Pager='git push' log",
    "git -c pager.log='git push' log",
    "git -c core.editor='git push' commit",
    "git -c core.sshCommand='git push' fetch",
    "git -c diff.external='git push' diff",
    "git -c core.fsmonitor='git push' status",
    "git -c credential.helper='!git push' fetch",
    "git -c credential.https://h.helper='!git push' fetch",
    "git -c filter.x.clean='git push' add .",
    "git -c diff.x.textconv='git push' diff",
    "git -c merge.x.driver='git push' merge y",
    "git -c sequence.editor='git push' rebase -i main",
    "git -c gpg.program='git push' commit -S -m x",
    "git -c submodule.x.update='!git push' submodule update",
    "git clone -c core.sshCommand='git push' h:x",
    "git clone --config=core.sshCommand='git push' h:x",
    "git config core.pager 'git push'; git log",
    "git config --global core.pager 'git push'; git log",
    "git config set core.pager 'git push' && git log",
    "git config filter.x.smudge 'git push'",
    "git fetch --upload-pack='git push' h:x",
    "git clone -u 'git push' h:x y",
    "git grep -O'git push' x",
    "git filter-branch --tree-filter 'git push' HEAD",
    "git clone 'ext::git push' x",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='git push' git log",
    "GIT_PAGER='git push' git log",
    "PAGER='git push' git log",
    "env PAGER='git push' git log",
    "export GIT_PAGER='git push'; git log",
    "GIT_SSH_COMMAND='git push' git fetch",
    "GIT_EXTERNAL_DIFF='git push' git diff",
    "EDITOR='git push' git commit",
    "VISUAL='git push' crontab -e",
    "GIT_SEQUENCE_EDITOR='git push' git rebase -i main",
    "MANPAGER='git push' man ls",
    "LESSOPEN='|git push %s' less f",
    "LESSOPEN='||-git push %s' less f",
    "RSYNC_RSH='git push' rsync a h:b",
    "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='git push' cargo run",
];

#[test]
fn what_runs_by_an_option_or_a_setting_is_denied() {
    let denied = rules(&[("bash(git push:*)", DENY)]);
    let wrong: Vec<_> =
        KNOWN.iter().filter(|line| run(line, &denied, Mode::Auto).verdict != DENY).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Lines that may run anything, by words that are not known.
const NOT_KNOWN: &[&str] = &[
    "find . $x",
    "read -ra a <<< '-exec git push ;'; find . \"${a[@]}\"",
    "read -r a b c <<< '-exec git push'; find . \"$a\" \"$b\" \"$c\" \\;",
    "read -r a b c d <<< '-exec git push ;'; find . \"$a\" \"$b\" \"$c\" \"$d\"",
    "a=(-exec git push \\;); unset 'a[9]'; find . \"${a[@]}\"",
    "a=(x -exec git push \\;); find . \"${a[@]:1}\"",
    "find . $(cat args)",
    "set -- $(cat args); find . \"$@\"",
    "xargs $x",
    "xargs $x grep y",
    "echo '-exec git push ;' | xargs find .",
    "tar $x",
    "tar -cf a.tar $x",
    "read -r x <<< '--to-command=git push'; tar -xf a.tar \"$x\"",
    "git $x",
    "git -c \"$x\" log",
    "git rebase $x",
    "git config \"$k\" \"$v\"",
    "env $x",
    "env A=1 $x make",
    "ssh -o $x h ls",
    "rsync -e $x a b",
    "rsync -e \"$x\" a b",
    "tar --to-command \"$x\" -xf a.tar",
    "read -r x <<< 'git push'; GIT_PAGER=$x git log",
    "f() { g \"$@\"; }; g() { h \"$@\"; }; h() { i \"$@\"; }; i() { j \"$@\"; }; j() { find . \"$@\"; }; f -exec git push \\;",
];

#[test]
fn what_may_be_an_option_that_runs_what_a_rule_speaks_of_is_asked_about() {
    for verdict in [DENY, ASK] {
        let strict = rules(&[("bash(git push:*)", verdict)]);
        let wrong: Vec<_> = NOT_KNOWN
            .iter()
            .filter(|line| run(line, &strict, Mode::Auto).verdict == ALLOW)
            .collect();
        assert!(wrong.is_empty(), "{verdict:?} {wrong:#?}");
    }
    let decision = run("find . $x", &rules(&[("bash(git push:*)", ASK)]), Mode::Auto);
    let reason = "the rule bash(git push:*) may ask about it: not all of its words are known";
    assert_eq!((decision.reason.as_str(), decision.flag), (reason, None));
}

/// What is given as the name of a file or a folder, and settings as people have them.
const PLACES: &[&str] = &[
    "find . \"$@\"",
    "find \"$dir\" -name '*.rs'",
    "find . -name \"$x\" -type f",
    "find . -newer \"$stamp\" -exec grep -l x {} +",
    "find \"$a\" \"$b\" -name x -exec cat {} \\;",
    "for d in */; do find \"$d\" -name x; done",
    "while read -r d; do find \"$d\" -type f; done < dirs",
    "f() { find . \"$@\"; }; f -name x",
    "args=(-name '*.rs'); find . \"${args[@]}\" -print",
    "files=(a b c); tar czf a.tgz \"${files[@]}\"",
    "tar czf \"$out\" -C \"$dir\" .",
    "tar czf out.tgz \"$dir\"",
    "rsync -a \"$src\" \"$dst\"",
    "ssh $HOST make",
    "scp $f $HOST:",
    "rg \"$pattern\" $dir",
    "xargs -0 grep -l \"$x\" < list",
    "find . -name '*.c' | xargs grep \"$x\"",
    "git ls-files | xargs tar czf a.tgz",
    "git log \"$x..HEAD\"",
    "git commit -m \"$msg\"",
    "git fetch origin \"$branch\"",
    "git config user.email \"$MAIL\"",
    "git config core.editor \"$EDITOR\"",
    "git config --get core.pager",
    "git -c core.pager=cat log",
    "git -c core.pager='less -R' log",
    "git config credential.helper store",
    "GIT_PAGER=cat git log",
    "GIT_EDITOR=true git rebase --continue",
    "GIT_SSH_COMMAND=\"ssh -i $KEY -o StrictHostKeyChecking=no\" git fetch",
    "export EDITOR=vim PAGER=less VISUAL=\"$EDITOR\"",
    "env \"$x\" ls",
    "timeout $T make",
    "exec $CMD",
    "uv run pytest -q",
    "npx eslint . && npm exec -- tsc",
    "valgrind $FLAGS ./a.out",
    "rsync -avz -e 'ssh -p 22' a h:b",
    "tar -I zstd -cf a.tar.zst d",
    "ssh -o BatchMode=yes -o ConnectTimeout=5 h ls",
    "vim -es -c '%s/a/b/' -c wq f",
    "gdb -batch -ex run -ex bt ./a.out",
    "tmux new-session -d -s x 'make watch'",
];

#[test]
fn names_of_files_are_no_options() {
    let denied = rules(&[("bash(git push:*)", DENY), ("bash(rm -rf:*)", DENY)]);
    let wrong: Vec<_> =
        PLACES.iter().filter(|line| run(line, &denied, Mode::Auto).verdict != ALLOW).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_rule_for_a_program_covers_what_it_runs_besides() {
    for (rule, line, want) in [
        ("bash(uv run:*)", "uv run pytest", ALLOW),
        ("bash(pytest:*)", "uv run pytest", ASK),
        ("bash(uv run:*)", "uv run pytest; make", ASK),
        ("bash(rsync:*)", "rsync -e 'ssh -p 22' a b", ALLOW),
        ("bash(git config:*)", "git config core.pager 'less -R'", ALLOW),
        ("bash(uv run:*)", "uv run sudo ls", ASK),
        ("bash(uv run:*)", "uv run rm -rf /", DENY),
    ] {
        assert_eq!(run(line, &rules(&[(rule, ALLOW)]), Mode::Ask).verdict, want, "{rule} {line}");
    }
}

#[test]
fn the_built_in_rules_speak_of_settings_too() {
    for (line, want) in [
        ("git -c core.pager='rm -rf /' log", DENY),
        ("GIT_PAGER='sudo less' git log", ASK),
        ("tar --to-command='rm -rf ~' -xf a", DENY),
        ("a=(-rf /); rm \"${a[@]}\"", DENY),
        ("a=(build dist); rm -rf \"${a[@]}\"", ALLOW),
        ("a=(build); a+=(dist); rm -rf \"${a[@]}\"", ALLOW),
    ] {
        assert_eq!(run(line, &rules(&[]), Mode::Auto).verdict, want, "{line}");
    }
}
