//! What variables, names and folders are while a line runs: never a wrong value for a right one.

use super::{ALLOW, ASK, DENY, Mode, rules, run};
use crate::policy::shell::parse;

/// Lines that run `git push`.
const FOLLOWED: &[&str] = &[
    "z=push; f() { local z=status; }; f; git $z",
    "z=push; f() { declare z; z=status; }; f; git $z",
    "z=push; f() { typeset z=a; g; }; g() { z=status; }; f; git $z",
    "z=status; f() { local z=a; declare -g z=push; }; f; git $z",
    "z=push; (f() { z=status; }); f; git $z",
    "z=push; f() { z=status; }; unset -f f; f; git $z",
    "if true; then f() { z=push; }; else f() { z=status; }; fi; f; git $z",
    "z=push; trap z=status EXIT; git $z",
    "x=('git push'); trap \"${x[0]}\" EXIT",
    "set -- 'git push'; trap \"$1\" EXIT",
    "read -r x <<< 'git push'; trap \"$x\" EXIT",
    "echo 'git push' > f; trap \"$(cat f)\" EXIT",
    "z=status; trap 'git $z' EXIT; z=push",
    "z=status; (trap 'git $z' EXIT; z=push)",
    "trap z=push DEBUG; z=status; git $z",
    "z=status; until git $z; do z=push; done",
    "z=status; while git $z; [ $z = status ]; do z=push; done",
    "z=status; for i in 1 2; do git $z; z=push; done",
    "z=status; for ((i = 0; i < 2; i++)); do git $z; z=push; done",
    "for z in push status; do break; done; git $z",
    "z=status; true || z=push; false || z=push; git $z",
    "false && z=status; git $z push",
    "z=push; false && z=status; git $z",
    "z=push; if false; then z=status; fi; git $z",
    "z=push; case a in b) z=status;; esac; git $z",
    "z=status; read 'z[0]' <<< push; git $z",
    "z=status; read -az <<< push; git $z",
    "z=status; read -r \"z\" <<< push; git $z",
    "n=z; z=status; read \"$n$x\" <<< push; git $z",
    "z=status; printf -v 'z[0]' push; git $z",
    "z=status; printf -vz push; git $z",
    "z=status; declare 'z=push'; git $z",
    "z=status; export \"z$x=push\"; git $z",
    "REPLY=status; read <<< push; git $REPLY",
    "OPTARG=status; getopts a: x -a push; git $OPTARG",
    "BASH_REMATCH=status; [[ push =~ .* ]]; git $BASH_REMATCH",
    "_=status; true push; git $_",
    "declare -n r=x; x=push; git $r",
    "z=status; declare -n y=z; y=push; git $z",
    "f() { local -n y=$1; y=push; }; z=status; f z; git $z",
    "declare -l z; z=PUSH; git $z",
    "readonly z=push; declare z=status; git $z",
    "z=(push); git ${z[1]:-push}",
    "z=status; git ${z[1]:-push}",
    "z=status; sh -c 'z=status; z=push :; git $z'",
    "z=status; shopt -s lastpipe; echo push | read z; git $z",
    "set -k; git a z=push",
    "shopt -s nullglob; git nosuch* push",
    "a=status; b='c[$(git $a)]'; a=push; ((b))",
    "z=status; while git $z; do read \"$n\" <<< push; done",
    "set -o posix\nalias x='git push'\nx",
    "alias x='git push'\nset -o posix\nx",
    "shopt -so posix\nalias x='git push'\nx",
    "POSIXLY_CORRECT=1; alias x='git push'\nx",
    "sh -c \"alias x='git push'\nx\"",
    "dash -c \"alias x='git push'\nx\"",
    "bash --posix -c \"alias x='git push'\nx\"",
    "bash -o posix -c \"alias x='git push'\nx\"",
    "POSIXLY_CORRECT=1 bash -c \"alias x='git push'\nx\"",
    "env SHELLOPTS=posix bash -c \"alias x='git push'\nx\"",
    "sh -c \"BASH_ALIASES[x]='git push'\nx\"",
    "BASH_CMDS[ls]=/usr/bin/git; ls push",
    "declare -n r=BASH_CMDS; r[ls]=/usr/bin/git; ls push",
    "hash -p /usr/bin/git ls; ls push",
    "git config alias.p push; git p",
    "git config --global alias.p '!git push'; git p",
    "git config set alias.p push && git p",
    "git config Alias.p \"!git $x push\"; git p",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p",
    "GIT_CONFIG_PARAMETERS=\"'alias.p=push'\" git p",
    "P=push git --config-env=alias.p=P p",
    "P=push git --config-env alias.p=P p",
];

#[test]
fn a_denial_is_not_led_astray_by_variables_and_names() {
    let denied = rules(&[("bash(git push:*)", DENY)]);
    let is_allowed = |line: &&&str| {
        [Mode::Auto, Mode::ReadOnly].iter().any(|mode| run(line, &denied, *mode).verdict == ALLOW)
    };
    let wrong: Vec<_> = FOLLOWED.iter().filter(is_allowed).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// In loops within loops each way is read, and what variables are where ways meet.
#[test]
fn loops_within_loops_come_to_an_end() {
    let (loops, ends) = ("for i in a b; do ".repeat(90), "done; ".repeat(90));
    let assignments: String = (1..9_000).map(|one| format!("v{one}=$v{}; ", one - 1)).collect();
    for line in [format!("{loops}git $x; {assignments} {ends}"), format!("{loops}git $x; {ends}")] {
        assert_eq!(run(&line, &rules(&[]), Mode::Auto).verdict, ASK);
    }
}

#[test]
fn a_script_that_is_not_known_does_not_count_as_reading() {
    for (line, want) in [
        ("bash -c '(($1))' _ 'a[$(sh x.sh >&2)]'", DENY),
        ("xargs -I{} bash -c '(({}))' <<< 'a[$(sh x.sh)]'", DENY),
        ("bash -c \"ls $x\"", DENY),
        ("bash -c 'ls \"$1\"' _ src", ALLOW),
        ("ls | xargs cat", ALLOW),
    ] {
        assert_eq!(run(line, &rules(&[]), Mode::ReadOnly).verdict, want, "{line}");
    }
}

#[test]
fn a_folder_that_is_not_known_is_asked_about() {
    for line in [
        "CDPATH=/; cd etc; rm -rf *",
        "CDPATH=/ cd etc; rm -rf *",
        "read CDPATH <<< /; cd etc; rm -rf *",
        "cd() { :; }; cd build; rm -rf *",
        "trap 'cd /' DEBUG; rm -rf build",
        "trap 'rm -rf *' EXIT; cd src; cd ..",
        "shopt -s cdable_vars; build=/etc; cd build; rm -rf *",
        "enable -n cd; cd build; rm -rf *",
    ] {
        assert_ne!(run(line, &rules(&[]), Mode::Auto).verdict, ALLOW, "{line}");
    }
}

#[test]
fn what_is_surely_known_stays_known() {
    for line in [
        "D=build && cd src && rm -rf \"$D\"",
        "cd src && D=build && mkdir -p \"$D\" && rm -rf \"$D\"",
        "if [ -d build ]; then D=build; rm -rf \"$D\"; fi",
        "for f in a b; do out=build/$f; rm -rf \"$out\"; done",
        "while read -r line; do d=build; rm -rf \"$d\"; done",
        "f() { local d=build; rm -rf \"$d\"; }; f",
        "d=build; f() { local d=x; }; f; rm -rf \"$d\"",
        "readonly D=build; rm -rf \"$D\"",
        "D=build; for i in 1 2; do rm -rf \"$D/$i\"; done",
        "i=0; while ((i < 3)); do ((i++)); done; rm -rf build/$i",
        "CDPATH= cd build && rm -rf *",
        "t=$(mktemp -d); trap 'rm -rf \"$t\"' EXIT; x=1; cd src; make",
        "trap 'rm -f tmp' EXIT; trap 'echo failed; exit 1' ERR INT; make",
        "local x=1; declare -A m; m[key]=v; echo \"${m[key]}\" ${#m[@]}",
        "declare -i n=0; n+=1; declare -r V=1; export PATH=\"$PWD/bin:$PATH\"; echo $n",
        "export $(grep -v '^#' .env | xargs) && cargo run",
        "shopt -s nullglob globstar; for f in *.rs; do echo \"$f\"; done",
        "set -euo pipefail; set -- a b; echo \"$1\"; hash -r; enable",
        "sh -c 'cat alias.txt; echo \"alias x=y\"'; alias ll='ls -l'",
    ] {
        assert_eq!(run(line, &rules(&[]), Mode::Auto).verdict, ALLOW, "{line}");
    }
    let denied = rules(&[("bash(git push:*)", DENY)]);
    for (line, want) in [
        ("z=status; git $z", ALLOW),
        ("git config alias.st status; git config --get alias.p; git config user.name x", ALLOW),
        ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=a.b GIT_CONFIG_VALUE_0=push git log", ALLOW),
        ("z=push; git $z", DENY),
        ("z=status; for i in 1 2; do git $z; done; git $z", ALLOW),
        ("for z in status log; do git $z; done", ALLOW),
        ("for z in status push; do git $z; done", DENY),
        ("z=status; if true; then z=status; fi; git $z", ALLOW),
        ("z=status; (z=push); git $z", ALLOW),
        ("z=status; if true; then z=push; git $z; fi", DENY),
        ("z=status; true && z=push; git $z", ASK),
        ("a=(git push); \"${a[@]}\"", DENY),
        ("a=(git); a+=(push -u); \"${a[@]}\" origin", DENY),
        ("a=(-u origin); git push \"${a[@]}\"", DENY),
        ("a=(); \"${a[@]}\" git push", DENY),
        ("a=(''); a+=(push); git\"${a[@]}\"", DENY),
        ("a=(x); git${a[@]:+ push}", ASK),
        ("f() { local -a a=(push); git \"${a[*]}\"; }; f", DENY),
        ("a=(status); git \"${a[@]}\"", ALLOW),
        ("a=(-n 5); git log \"${a[@]}\"", ALLOW),
        ("a=(status); a=([1]=push); git \"${a[@]}\"", ASK),
        ("a=(status); a[0]=push; git \"${a[@]}\"", ASK),
        ("a=(status); read -ra a <<< push; git \"${a[@]}\"", ASK),
        ("a=(status); mapfile -t a <<< push; git \"${a[@]}\"", ASK),
        ("a=(status); true && a=(push); git \"${a[@]}\"", ASK),
        ("a=(status); for i in 1; do a=(push); done; git \"${a[@]}\"", ASK),
        ("a=(status); f() { local a=(push); }; f; git \"${a[@]}\"", ASK),
        ("a=(status); unset a; git \"${a[@]}\" push", ASK),
        ("a=(status); declare -n r=a; r=(push); git \"${a[@]}\"", ASK),
        ("IFS=; a=(git push); ${a[*]}", ASK),
    ] {
        assert_eq!(run(line, &denied, Mode::Auto).verdict, want, "{line}");
    }
}

#[test]
fn a_line_that_doubles_its_values_is_not_read_to_its_end() {
    let line = |runs| format!("x='rm -rf q; '; {}{runs}", "x=\"$x$x\"; ".repeat(40));
    for runs in [
        "eval \"$x\"",
        "echo ${x#rm}",
        "for i in $x; do rm -rf \"$i\"; done",
        "f() { rm -rf \"$@\"; }; f $x",
        "while read -r y; do rm \"$y\"; done <<< \"$x\"",
        "echo \"$x\" > s.sh; sh s.sh",
        "cd \"$x\"; cd \"$x\"; rm -rf a",
    ] {
        let doubt = parse(&line(runs)).doubt.unwrap_or_default();
        assert!(doubt.starts_with("its values are too long"), "{runs}: {doubt}");
    }
    let some = rules(&[("bash", ALLOW), ("bash(make:*)", DENY)]);
    assert_eq!(run(&line("rm -rf $x"), &some, Mode::Auto).verdict, ASK);
}
