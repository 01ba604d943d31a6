//! Values that hold no `/`: what is written beside them lies in a folder that is known.

use super::{ALLOW, ASK, DENY, check_writes};

#[test]
fn values_without_a_folder_are_asked_about_only_where_they_may_be_meant() {
    let lines = [
        "touch \"out$RANDOM\"",
        "touch out$RANDOM.txt",
        "touch src$$",
        "echo x > out$SECONDS",
        "echo x > log.$BASHPID.txt",
        "cp a b$UID",
        "cp a b-$EPOCHSECONDS-$PPID",
        "touch \"$(date +%s)\"",
        "cp a backup-$(date +%Y%m%d-%H%M%S).tar",
        "now=$(date -u +%FT%T); cp a \"b-$now\"; echo x > log-$now",
        "name=b-$(date +%s).txt; touch $name",
        "touch \"b $(date '+%F')\"",
        "touch out-$(git rev-parse --short HEAD)",
        "touch out-$(uname -m)-$(id -u)",
        "touch out$((RANDOM % 10)) out$[1 + 2] out${#x}",
        "n=3; m=$((n * 2)); touch out$m",
        "for i in 1 2 3; do touch out$i; done",
        "for i in {1..3}; do touch out$i; done",
        "for i in $(seq 3); do touch out$i; done",
        "for i in $(seq 1 9); do echo x > \"out$i\"; done",
        "for f in *.txt; do cp \"$f\" \"out/$f\"; done",
        "for f in *.txt; do sort \"$f\" > \"$f.sorted\"; done",
        "for f in *.txt; do cp \"$f\" \"${f%.txt}.md\"; done",
        "for f in a/*.txt; do cp \"$f\" \"out-${f##*/}\"; done",
        "cp \"$1\" \"b-${1##*/}\"",
        "for f in *.txt; do touch \"b-$f\"; done",
        "rm -rf \"build$RANDOM\"",
        "tar -xf a -C \"out$RANDOM\"",
    ];
    check_writes("write(src/**)", &lines.map(|line| (line, ALLOW)));
    check_writes("write(src/a/b)", &lines.map(|line| (line, ALLOW)));
    check_writes("write(**/.env)", &lines.map(|line| (line, ALLOW)));
}

#[test]
fn what_may_be_the_denied_name_is_asked_about() {
    check_writes(
        "write(out1)",
        &[
            ("touch \"out$RANDOM\"", ASK),
            ("touch out$((x))", ASK),
            ("echo x > \"out$(date +%s)\"", ASK),
            ("for i in $(seq 3); do touch out$i; done", ASK),
            ("for i in 1 2 3; do touch out$i; done", DENY),
            ("for f in o*; do cp \"$f\" \"./$f\"; done", ASK),
            ("touch \"out/$RANDOM\" \"b$RANDOM\"", ALLOW),
        ],
    );
    check_writes(
        "write(src/**)",
        &[
            ("touch \"src/out$RANDOM\"", ASK),
            ("touch \"s$(uname)rc/a\"", ASK),
            ("touch \"src$(date +%a)\"", ASK),
            ("touch \"src-$(whoami)\"", ALLOW),
            ("touch \"$(hostname)\"", ASK),
            ("for f in *.txt; do cp \"$f\" \"src/$f\"; done", DENY),
            ("for f in *; do echo x > \"$f\"; done", ASK),
        ],
    );
}

#[test]
fn values_that_may_hold_a_folder_stay_unknown() {
    check_writes(
        "write(src/**)",
        &[
            // The line, another shell or the surroundings may give it any value.
            ("RANDOM=src/a; touch $RANDOM", ASK),
            ("unset RANDOM; read RANDOM; touch $RANDOM", ASK),
            ("read SECONDS < x; touch $SECONDS", ASK),
            ("f() { local RANDOM=src/a; touch $RANDOM; }; f", ASK),
            ("sh -c 'touch $RANDOM'", ASK),
            ("touch \"$(date)\"", ASK),
            ("touch \"$(date +%D)\"", ASK),
            ("touch \"$(date \"+$x\")\"", ASK),
            ("touch \"$(date +%Y/%m)\"", ASK),
            ("touch \"$(cat x)\"", ASK),
            ("touch \"$(basename \"$x\")\"", ASK),
            ("touch \"$(git rev-parse --abbrev-ref HEAD)\"", ASK),
            ("x=$(date +%s); x=$y; touch \"$x\"", ASK),
            ("x=$(date +%s); if a; then x=$y; fi; touch \"$x\"", ASK),
            ("x=$(date +%s); x+=$y; touch \"$x\"", ASK),
            ("x=$(date +%s); touch \"${x:-src/a}\"", ASK),
            ("x=$(date +%s); touch \"${x/0/src\\/a}\"", ASK),
            ("for f in $x; do touch \"$f\"; done", ASK),
            ("for f in $(ls); do touch \"$f\"; done", ASK),
            ("for f in $(seq $x); do touch \"$f\"; done", ASK),
            ("touch \"${x%.txt}\"", ASK),
            ("for f in */a.txt; do touch \"${f%.txt}\"; done", ASK),
            ("f() { touch \"$1\"; }; f \"$x\"", ASK),
            ("IFS=5; touch s$(date +%s)", ASK),
            ("IFS=5; touch s$RANDOM", ASK),
            ("i=$x; for i in $(seq 0); do :; done; touch \"$i\"", ASK),
            // It is several words, and the second has no name in front.
            ("for x in \"$(seq 3)\"; do touch out$x; done", ASK),
        ],
    );
}
