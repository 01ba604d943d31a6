//! Functions and traps: what is read where they are defined, and what runs.

use super::{ALLOW, ASK, DENY, Mode, Rules, Verdict, allow, ask, deny, rules, run};

#[test]
fn a_function_is_judged_as_it_is_called() {
    allow(&[
        "clean() { rm -rf \"$D\"; }; D=build; clean",
        "build() { rm -rf \"$1\"; }; build out",
        "run() { \"$@\"; }; run make",
        "run() { echo \"+ $*\"; \"$@\"; }; run cargo test; run cargo build --release",
        "retry() { local n=0; until \"$@\"; do n=$((n+1)); [ $n -ge 3 ] && return 1; sleep 1; done; }; retry npm test",
        "fresh() { local d=$1; rm -rf \"$d\"; mkdir -p \"$d\"; }; fresh build && fresh out",
        "f() { rm -rf \"$1\"; }; echo done",
        "f() { eval \"$1\"; }; f 'make test'",
        "f() { git push --force; }; echo done",
        "f() { rm -rf \"$D\"; }; D=build; (f); f & f | cat; x=$(f)",
        "if test -f x; then f() { rm -rf \"$1\"; }; else f() { rm -r \"$1\"; }; fi; f build",
        "a() { b \"$1\"; }; b() { rm -rf \"$1\"; }; a build",
        "b() { rm -rf \"$1\"; }; a() { b \"$1\"; }; a build",
        "f() { rm -rf \"$1\"; }; f() { rm -r \"$1\"; }; f build",
        "f() { rm -rf \"$1\"; }; for d in a b; do f \"$d\"; done",
        "f() { rm -rf \"$1\"; }; eval 'f build'",
        "f() { rm -rf \"$1\"; }; f build; unset -f f",
        "run() { \"$@\"; }; f() { rm -rf \"$1\"; }; run f build",
        "run() { \"$@\"; }; run ls *.txt",
        "f() { rm -rf \"$1\"; }; f",
        "echo 'rm -rf \"$1\"' > x.sh; f() { sh x.sh \"$1\"; }; f build",
        "f() { rm -rf \"$1\"; }; set -euo pipefail; declare -a y=(1); \"$HOME\"/bin/x; f build",
    ]);
}

#[test]
fn a_function_is_judged_as_defined_where_a_call_may_be_missed() {
    ask(
        "removing an unknown place",
        &[
            "clean() { rm -rf \"$D\"; }; clean",
            "f() { rm -rf \"$1\"; }; f \"$x\"",
            "f() { rm -rf \"$2\"; }; f $x build",
            "f() { rm -rf \"$2\"; }; f *.txt",
            "f() { rm -rf \"$1\"; }; $g build",
            "f() { rm -rf \"$1\"; }; \"${g:-f}\" build",
            "f() { rm -rf \"$1\"; }; g=$(cat x); $g build",
            "f() { rm -rf \"$1\"; }; . ./lib.sh",
            "f() { rm -rf \"$1\"; }; source lib.sh; f build",
            "f() { rm -rf \"$1\"; }; export -f f; ./x",
            "f() { rm -rf \"$1\"; }; declare -fx f; make",
            "f() { rm -rf \"$1\"; }; x=-f; export $x f; make",
            "set -a; f() { rm -rf \"$1\"; }; make",
            "set -o allexport; f() { rm -rf \"$1\"; }; make",
            "f() { rm -rf \"$1\"; }; complete -F f x",
            "f() { rm -rf \"$2\"; }; mapfile -C f -c 1 x < y",
            "f() { rm -rf \"$1\"; }; declare -f > x; bash x",
            "f() { rm -rf \"$1\"; }; { declare -f f; cat y; } | bash",
            "f() { rm -rf \"$1\"; }; set | bash",
            "f() { rm -rf \"$1\"; }; type f | bash",
            "f() { rm -rf \"$1\"; f \"$1/x\"; }; f build",
            "f() { rm -rf \"$1\"; g; }; g() { f \"$x\"; }; f build",
            "command_not_found_handle() { rm -rf \"$1\"; }; xyz",
            "PROMPT_COMMAND=f; f() { rm -rf \"$1\"; }; f build",
            "while read -r l; do f; f() { rm -rf \"$l\"; }; done < x",
            "f() { :; }; while read -r l; do f; f() { rm -rf \"$l\"; }; done < x",
            "g() { f; }; f() { rm -rf \"$D\"; }; D=build; g; D=$(cat x); g",
            "f() { rm -rf \"$D\"; }; D=build; x='a[$(f)]'; D=$(cat y); ((x))",
            "f() { rm -rf \"$1\"; }; f build; shift; f \"$1\"",
            "f() { shift; rm -rf \"$1\"; }; f a b",
            "f() { rm -rf \"$D\"; }; D=build; f; for D in $(cat x); do f; done",
            "f() { rm -rf \"$D\"; }; D=build; while read -r D; do f; done < x",
            "f() { rm -rf \"$D\"; }; D=build; g() { D=$(cat x); }; g; f",
            "f() { rm -rf \"$D\"; }; D=build; printf -v D %s \"$(cat x)\"; f",
            "f() { rm -rf \"$D\"; }; D=build; . ./x; f",
            "f() { rm -rf \"$D\"; }; D=build; eval \"D=$(cat x)\"; f",
            "f() { rm -rf \"$D\"; }; D=build f; f",
            "f() { rm -rf \"${!1}\"; }; x=$(cat y); f x",
            "f() { cd \"$1\"; rm -rf build; }; f \"$(cat x)\"",
            "f() { rm -rf \"$1\"; }; coproc f \"$x\"",
            "f() { rm -rf \"$1\"; }; mapfile -t a < x; for i in \"${a[@]}\"; do f \"$i\"; done",
            "f() { rm -rf \"$D\"; }; D=build; (D=$(cat x); f)",
            "f() { rm -rf \"$D\"; }; D=build; f & D=$(cat x); f",
            "f() { rm -rf \"$D\"; }; D=build; { D=$(cat x); f; } | cat",
            "f() { rm -rf \"$D\"; }; D=build; case $x in a) D=$y;; esac; f",
            "f() { rm -rf \"$D\"; }; D=build; ((D=x)); f",
            "f() { rm -rf \"$D\"; }; D=build; getopts a: D; f",
            "f() { rm -rf \"$D\"; }; readonly D=$x; D=build; f",
            "f() { rm -rf \"$1\"; }; f() { g \"$1\"; }; g() { rm -rf \"$x\"; }; f build",
            "f() { rm -rf \"$D\"; }; D=build; trap 'D=$(cat x)' DEBUG; f",
            "f() { rm -rf \"$D\"; }; D=build; trap f EXIT; D=$(cat x)",
            "cd() { rm -rf \"$1\"; }; cd \"$x\"",
            "f() { rm -rf \"$1\"; }; 'f' \"$x\"; \\f \"$x\"",
            "f() { rm -rf \"$1\"; }; a[$(f \"$x\")]=1",
            "f() { rm -rf \"$1\"; }; cat <<E\n$(f \"$x\")\nE",
            "f() { rm -rf \"$D\"; }; D=build; D+=/../..; f",
            "f() { rm -rf \"$2\"; }; f $(cat x) build",
            "f() { rm -rf \"$2\"; }; f {1..3}",
            "f() { rm -rf \"$2\"; }; a=(x $(cat y)); f \"${a[@]}\"",
            "f() { rm -rf \"$2\"; }; f \"$@\" build",
            "f() { rm -rf \"$2\"; }; f \"${x[@]}\" build",
            "f() { rm -rf \"$2\"; }; f ${x:+a b} build",
            "IFS=x; f() { rm -rf \"$2\"; }; v=axb; f $v build",
            "shopt -s nullglob; f() { rm -rf \"$1\"; }; f *.zip build",
            "a() { b; }; b() { c; }; c() { d; }; d() { e; }; e() { rm -rf \"$x\"; }; a",
            "D=build; f() { rm -rf \"$D\"; }\n: $((1/0)); D=out\nD=$(cat x); f",
            "if $x; then f() { rm -rf \"$1\"; }; fi; f \"$y\"",
            "f() { rm -rf \"$1\"; }; f \"$x\" & wait",
            "f() { rm -rf \"$1\"; }; echo a | f \"$x\"",
            "bash -ac 'f() { rm -rf \"$1\"; }; ./x'",
            "f() { local d; rm -rf \"$d\"/x; read -r d < y; rm -rf \"$d\"; }; f",
        ],
    );
    ask(
        "hidden command",
        &[
            "f() { rm -rf build; }; eval \"$x\"",
            "run() { \"$@\"; }; run \"$(cat x)\"",
            "run() { \"$@\"; }; eval \"$(cat x)\"",
            "f() { \"$@\"; }; f f f f f f f sudo ls",
            "f() { \"$@\"; }; f eval \"$x\"",
            "f() { shift; \"$@\"; }; f x sudo ls",
            "f() { while [ $# -gt 0 ]; do \"$1\" ls; shift; done; }; f true sudo",
            "f() { (set -- \"${@:2}\"; \"$@\"); }; f x sudo ls",
        ],
    );
    for line in [
        "f() { sudo ls; }; f",
        "f() { sudo ls; }; (f)",
        "f() { sudo ls; }; $g",
        "f() { sudo ls; }; . ./x",
        "f() { sudo ls; }; trap f EXIT",
        "trap f EXIT; f() { sudo ls; }",
        "trap f EXIT; f() { sudo ls; }; f() { :; }",
        "f() { :; }; trap f USR1; f() { sudo ls; }; f() { :; }",
        "trap 'g() { sudo ls; }' USR1; kill -USR1 $$; g",
        "echo 'sudo ls' > x; f() { sh x; }; f",
        "echo 'f() { sudo ls; }' > x; . ./x; f",
        "f() { echo 'sudo ls' > x; sh x; }; f",
        "f() { \"$@\"; }; f f f sudo ls",
        "f() { $1; }; f 'sudo ls'",
        "f() { $*; }; f sudo ls",
        "f() { eval \"$@\"; }; f 'sudo' ls",
        "run() { local cmd=\"$*\"; eval \"$cmd\"; }; run sudo ls",
        "run() { bash -c \"$1\"; }; run 'sudo ls'",
        "f() { trap \"$1\" EXIT; }; f 'sudo ls'",
        "f() { for c in \"$@\"; do $c; done; }; f ls 'sudo ls'",
        "f() { a=(\"$@\"); \"${a[@]}\"; }; f sudo ls",
        "f() { g; }; g() { sudo ls; }; f",
        "f() { sudo ls; }\n: $((1/0)); f() { :; }\nf",
        "f() { sudo ls; }; f 2>/dev/null | cat",
        "f() { sudo ls; }; f & wait",
        "a() { b; }; b() { c; }; c() { d; }; d() { e; }; e() { sudo ls; }; a",
    ] {
        let decision = run(line, &Rules::default(), Mode::Auto);
        assert_eq!((decision.verdict, decision.unconfined), (ASK, true), "{line}");
    }
}

#[test]
fn what_is_denied_is_denied_in_a_function_too() {
    deny(
        "removing outside the workspace",
        &[
            "f() { rm -rf \"$1\"; }; f ~/Documents",
            "f() { rm -rf \"$D\"; }; D=~/Documents; f",
            "f() { rm -rf ~/Documents; }; echo done",
            "f() { rm -rf \"$D\"; }; trap f EXIT; D=~/Documents",
            "a() { b \"$1\"; }; b() { rm -rf \"$1\"; }; a ~/Documents",
        ],
    );
    let decide = |line: &str| run(line, &rules(&[("bash(git push:*)", DENY)]), Mode::Auto).verdict;
    for (line, want) in [
        ("f() { git push; }; f", DENY),
        ("f() { git push; }; echo done", DENY),
        ("run() { \"$@\"; }; run git push", DENY),
        ("run() { \"$@\"; }; run make", ALLOW),
        ("run() { env \"$@\"; }; run make", ALLOW),
        ("run() { env \"$@\"; }; $g make", ASK),
        ("run() { env \"$@\"; }; run $x", ASK),
        ("f() { git \"$2\"; }; f $x push", DENY),
        ("f() { git \"$2\"; }; f $x status", ASK),
    ] {
        assert_eq!(decide(line), want, "{line}");
    }
    let decide = |line: &str| run(line, &rules(&[("write(src/**)", DENY)]), Mode::Auto).verdict;
    for (line, want) in [
        ("f() { echo x > \"$1\"; }; f a.txt", ALLOW),
        ("f() { echo x > \"$1\"; }; f src/a", DENY),
        ("f() { echo x > \"$1\"; }; f \"$y\"", ASK),
    ] {
        assert_eq!(decide(line), want, "{line}");
    }
}

#[test]
fn in_ask_mode_a_function_is_named_by_what_its_calls_run() {
    let decide = |line: &str, names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| (*name, ALLOW)).collect();
        run(line, &rules(&names), Mode::Ask).verdict
    };
    let make = "run() { \"$@\"; }; run make";
    assert_eq!(decide(make, &["bash(run:*)", "bash(make:*)"]), Verdict::Allow);
    assert_eq!(decide(make, &["bash(run:*)"]), Verdict::Ask);
    let parts = run(make, &Rules::default(), Mode::Ask).parts;
    let texts: Vec<_> = parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(texts, ["run make", "make"]);
}

#[test]
fn a_trap_runs_with_what_was_set_when_the_line_ends() {
    allow(&[
        "cleanup() { rm -rf \"$TMP\"; }; trap cleanup EXIT; TMP=$(mktemp -d); ls \"$TMP\"",
        "trap 'rm -rf \"$TMP\"' EXIT; TMP=$(mktemp -d); ls \"$TMP\"",
        "trap 'rm -rf $TMP' EXIT INT TERM; TMP=$(mktemp -d); ls",
        "set -e; trap 'rm -rf \"$a\" \"$b\"' EXIT; a=$(mktemp -d); b=$(mktemp -d); make",
        "TMP=$(mktemp -d); trap cleanup EXIT; cleanup() { rm -rf \"$TMP\"; }; make",
        "(trap 'rm -rf \"$t\"' EXIT; t=$(mktemp -d) || exit 1; make)",
    ]);
    ask(
        "removing an unknown place",
        &[
            "trap 'rm -rf \"$TMP\"' EXIT; make",
            "trap 'rm -rf \"$TMP\"/*' EXIT; TMP=$(mktemp -d)",
            "trap 'rm -rf \"$TMP/x\"' EXIT; TMP=$(mktemp -d)",
            "cleanup() { rm -rf \"$TMP\"/*; }; trap cleanup EXIT; TMP=$(mktemp -d)",
            "trap cleanup EXIT; cleanup() { rm -rf \"$TMP\"/*; }; TMP=$(mktemp -d)",
            "trap 'rm -rf \"$TMP\"' EXIT; TMP=$(cat x)",
            "trap 'rm -rf \"$TMP\"' EXIT; read -r \"$n\" < x; TMP=$(mktemp -d)",
            "trap 'rm -rf \"$TMP\"' EXIT; test -f x && TMP=$(mktemp -d)",
            "trap 'rm -rf \"$TMP\"' EXIT; TMP=build; TMP=out",
            "trap 'rm -rf \"$TMP\"' EXIT; . ./x; TMP=build",
            "trap 'rm -rf \"$a/$b\"' EXIT; a=/tmp; b=x",
            "trap 'd=$TMP; rm -rf \"$d\"' EXIT; TMP=$(mktemp -d)",
            "trap 'rm -rf \"$t\"' EXIT; t=$(mktemp -d); t=$t/../../etc",
            "trap 'rm -rf \"$t\"' EXIT; for t in a b; do :; done",
            "trap 'rm -rf \"$t\"' EXIT; read -r t < x",
            "trap 'rm -rf \"$t\"' EXIT; f() { t=$1; }; f \"$(cat x)\"",
            "trap 'rm -rf \"$t\"' EXIT; f() { t=$1; }; f build; f out",
            "trap 'rm -rf \"$t\"' EXIT; (t=build)",
            "trap 'rm -rf \"$t\"' EXIT; t=build make",
            "trap 'rm -rf \"$D\"' USR1; g() { local D=$1; kill -USR1 $$; }; g build",
            "D=build; trap 'rm -rf \"$D\"' USR1; g() { local D=/etc; kill -USR1 $$; }; g",
            "trap 'rm -rf \"$XDG_CACHE_HOME\"' EXIT; make; XDG_CACHE_HOME=build",
            "trap 'rm -rf \"${TMP:-$x}\"' EXIT; TMP=$(mktemp -d)",
        ],
    );
    deny(
        "removing outside the workspace",
        &[
            "trap 'rm -rf \"$T\"' EXIT; T=~/Documents; make",
            "trap 'rm -rf $t' EXIT; t='build /opt/x'",
            "f() { rm -rf \"$D\"; }; trap 'D=/opt/x; f' EXIT; D=build; f",
            "f() { rm -rf \"$D\"; }; D=build; x='$(D=/opt/x f)'; eval \"echo $x\"",
        ],
    );
}
