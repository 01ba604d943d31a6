//! Where a redirect may write: a `cd` before it may have failed or not have run.

use super::{ALLOW, ASK, DENY, Mode, Rules, Verdict, rules, run};

/// Checks what is decided about lines where writing `secret.txt` at the workspace's top is denied.
fn check(lines: &[(&str, Verdict)]) {
    for rule in ["write_file(secret.txt)", "write(secret.txt)"] {
        for (line, want) in lines {
            let decision = run(line, &rules(&[(rule, DENY)]), Mode::Auto);
            assert_eq!(decision.verdict, *want, "{line}: {}", decision.reason);
            let asked = run(line, &rules(&[(rule, ASK)]), Mode::Auto).verdict;
            assert_eq!(asked == ALLOW, *want == ALLOW, "{line}");
        }
    }
}

#[test]
fn a_denial_holds_for_every_folder_that_a_redirect_may_be_in() {
    check(&[
        ("cd nowhere; echo x > secret.txt", DENY),
        ("cd nowhere\necho x > secret.txt", DENY),
        ("cd nowhere || echo x > secret.txt", DENY),
        ("cd nowhere & echo x > secret.txt", DENY),
        ("cd nowhere | cat; echo x > secret.txt", DENY),
        ("if test -d a; then cd a; fi; echo x > secret.txt", DENY),
        ("if test -d a; then cd a; else cd b; fi; echo x > secret.txt", DENY),
        ("case $1 in a) cd a;; b) cd b;; esac; echo x > secret.txt", DENY),
        ("false && cd a; echo x > secret.txt", DENY),
        ("false && cd a && make; echo x > secret.txt", DENY),
        ("[ -d a ] && cd a; echo x > secret.txt", DENY),
        ("cd a && false || echo x > secret.txt", DENY),
        ("cd a; cd b; cd c; echo x > secret.txt", DENY),
        ("cd a; echo x > ../secret.txt", DENY),
        ("cd a; cd ..; echo x > secret.txt", DENY),
        ("cd a && cd .. && echo x > secret.txt", DENY),
        ("cd ..; echo x > secret.txt", DENY),
        ("cd .. && echo x > project/secret.txt", DENY),
        ("! cd a && echo x > secret.txt", DENY),
        ("env cd a && echo x > secret.txt", DENY),
        ("(cd a); echo x > secret.txt", DENY),
        ("(cd a) && echo x > secret.txt", DENY),
        ("(cd a; echo x > secret.txt)", DENY),
        ("(cd a && echo x > ../secret.txt)", DENY),
        ("pushd a; echo x > secret.txt", DENY),
        ("pushd a; popd; echo x > secret.txt", DENY),
        ("pushd -n a && echo x > secret.txt", DENY),
        ("pushd a && popd && echo x > secret.txt", ASK),
        ("cd \"$X\"; echo x > secret.txt", DENY),
        ("cd \"$X\" && echo x > secret.txt", ASK),
        ("while read d; do cd \"$d\"; done; echo x > secret.txt", DENY),
        ("for d in a b; do cd $d; echo x > secret.txt; cd ..; done", DENY),
        ("until cd a; do echo x > secret.txt; done", DENY),
        ("f() { cd a; }; f; echo x > secret.txt", DENY),
        ("f() { test -f b && return; cd a; }; f && echo x > secret.txt", DENY),
        ("f() { echo x > secret.txt; }; cd a; f", DENY),
        ("cd() { :; }; cd a && echo x > secret.txt", DENY),
        ("eval 'cd a'; echo x > secret.txt", DENY),
        ("eval 'true || cd a' && echo x > secret.txt", DENY),
        ("bash -c 'cd a; echo x > secret.txt'", DENY),
        ("cd a; bash -c 'echo x > secret.txt'", DENY),
        ("cd a; cat > s.sh <<'E'\necho x > secret.txt\nE\nsh s.sh", DENY),
        ("cd a; echo 'cd b; echo x > secret.txt' > s.sh; sh s.sh", DENY),
        ("trap 'echo x > secret.txt' EXIT; cd a && make", DENY),
        ("cd a || exit; trap 'echo x > ../secret.txt' EXIT", DENY),
        ("trap 'cd a' ERR; echo x > secret.txt", DENY),
        ("{ cd a; make; } > secret.txt", DENY),
        ("{ cd a && make; } > secret.txt", DENY),
        ("x=$(cd a; echo y > secret.txt)", DENY),
        ("env -C a sh -c 'echo x > ../secret.txt'", DENY),
        ("env -C a timeout 5 env -C .. sh -c 'echo x > secret.txt'", DENY),
        ("while cd a; do { true && continue; cd ..; } || exit; done; echo > ../secret.txt", DENY),
        (
            "for d in 1 2; do cd a || exit; test -f b && break; cd .. || exit; done; echo x > ../secret.txt",
            DENY,
        ),
        ("cd a || { echo x > secret.txt; exit 1; }", DENY),
        ("exit() { :; }; cd a || exit; echo x > secret.txt", DENY),
        ("cd a || return; echo x > secret.txt", DENY),
    ]);
}

#[test]
fn a_denial_leaves_alone_what_is_written_elsewhere_for_sure() {
    check(&[
        ("cd a && echo x > secret.txt", ALLOW),
        ("cd a && cd b && make > secret.txt 2>&1", ALLOW),
        ("cd a && { make; echo x > secret.txt; }", ALLOW),
        ("(cd a && echo x > secret.txt)", ALLOW),
        ("bash -c 'cd a && echo x > secret.txt'", ALLOW),
        ("pushd a && echo x > secret.txt", ALLOW),
        ("cd a && make || echo x > a.txt", ALLOW),
        ("cd a || exit 1; echo x > secret.txt", ALLOW),
        ("cd a || { echo no >&2; exit 1; }; echo x > secret.txt", ALLOW),
        ("(cd a || exit; echo x > secret.txt)", ALLOW),
        ("for d in a b; do (cd $d && echo x > secret.txt); done", ALLOW),
        ("cd /tmp && echo x > secret.txt", ALLOW),
        ("env -C a sh -c 'echo x > secret.txt'", ALLOW),
        ("cd a; echo x > other.txt", ALLOW),
        ("cd a; cd b; cd c; echo x > other.txt", ALLOW),
        ("for d in a b; do cd $d; make > log; cd ..; done", ALLOW),
        ("cd a; echo x > /tmp/secret.txt", ALLOW),
    ]);
}

#[test]
fn behind_many_changes_of_folder_it_is_not_known_where_a_redirect_writes() {
    let line = |changes: usize| {
        let all: String = (0..changes).map(|at| format!("cd d{at}; ")).collect();
        format!("{all}echo x > other.txt")
    };
    let denied = rules(&[("write(secret.txt)", DENY)]);
    assert_eq!(run(&line(4), &denied, Mode::Auto).verdict, ALLOW);
    assert_eq!(run(&line(5), &denied, Mode::Auto).verdict, ASK);
    let here = rules(&[("write(other.txt)", DENY)]);
    assert_eq!(run(&line(1_000), &here, Mode::Auto).verdict, DENY);
    check(&[
        ("while read d; do cd \"$d\"; echo x > a; done", ASK),
        ("while make; do cd a; echo x > b; done", ASK),
        ("for d in */; do cd \"$d\"; make > log; cd ..; done", ASK),
        ("f() { cd a; f; }; f; echo x > b", ASK),
    ]);
    let some = rules(&[("write(src/log)", DENY)]);
    assert_eq!(run("for d in */; do (cd $d && make > log); done", &some, Mode::Auto).verdict, ASK);
}

#[test]
fn a_rule_for_writing_allows_only_what_it_names_in_every_folder() {
    let allowed = [("bash(make:*)", ALLOW), ("bash(cd:*)", ALLOW), ("write(src/**)", ALLOW)];
    for (line, want) in [
        ("cd src && make > log", ALLOW),
        ("cd src || exit 1; make > log", ASK),
        ("cd src; make > log", ASK),
        ("cd src; make > ../src/log", ASK),
        ("cd src; make > \"$PWD\"/log", ASK),
        ("(cd src && make > log)", ALLOW),
        ("if make; then cd src; fi; make > log", ASK),
        ("make > src/log; cd src", ALLOW),
    ] {
        let decision = run(line, &rules(&allowed), Mode::Ask);
        assert_eq!(decision.verdict, want, "{line}: {}", decision.reason);
    }
    let flag = run("cd src; make > log", &rules(&allowed), Mode::Ask).flag;
    assert_eq!(flag.as_deref(), Some("--allow 'write(/home/user/project/log)'"));
}

#[test]
fn without_rules_for_writing_no_cd_is_a_question() {
    for line in ["cd a; make > log", "while read d; do cd \"$d\"; make > log; done", "popd; ls > x"]
    {
        assert_eq!(run(line, &Rules::default(), Mode::Auto).verdict, ALLOW, "{line}");
    }
}

#[test]
fn a_home_that_the_line_sets_is_no_folder_that_is_known() {
    check(&[
        ("HOME=$PWD; cd && echo x > secret.txt", ASK),
        ("HOME=$PWD; echo x > ~/secret.txt", ASK),
        ("export HOME=$PWD; cd ~ && echo x > secret.txt", ASK),
        ("HOME=$PWD cd && echo x > secret.txt", ASK),
        ("HOME=$PWD bash -c 'echo x > ~/secret.txt'", ASK),
        ("env HOME=$PWD sh -c 'cd && echo x > secret.txt'", ASK),
        ("unset HOME; HOME+=$PWD; cd && echo x > secret.txt", ASK),
        ("read HOME <<< $PWD; cd && echo x > secret.txt", ASK),
        ("printf -v HOME %s $PWD; cd && echo x > secret.txt", ASK),
        ("PWD=$PWD/a; cd a && echo x > ~+/../secret.txt", ASK),
        ("HOME=$PWD; cd a && echo x > secret.txt", ALLOW),
        ("HOME=/tmp make > log.txt", ALLOW),
        ("cd ~ && echo x > secret.txt", ALLOW),
    ]);
}

#[test]
fn a_denial_is_not_passed_by_a_line_that_is_not_read_to_its_end() {
    for (denied, command) in [("write(secret.txt)", "echo x > secret.txt"), ("bash(rm:*)", "rm a")]
    {
        let rules = rules(&[("bash", ALLOW), (denied, DENY)]);
        for line in [format!("{}{command}", "true; ".repeat(15_000)), format!("x=$(; {command}")] {
            let decision = run(&line, &rules, Mode::Auto);
            assert_eq!(decision.verdict, ASK, "{denied}: {}", decision.reason);
            assert_eq!(decision.how_to_allow(), "", "{denied}");
        }
    }
}

#[test]
fn a_folder_in_a_variable_is_where_the_shell_was() {
    check(&[
        ("p=$PWD; cd a && echo x > $p/secret.txt", DENY),
        ("p=$(pwd); cd a && echo x > \"$p\"/secret.txt", DENY),
        ("p=~+; cd a && echo x > $p/secret.txt", DENY),
        ("p=$PWD; cd a && echo x > $p/a/secret.txt", ALLOW),
        ("p=$PWD/secret.txt; cd /tmp && echo x > $p", DENY),
        ("cd a && p=$PWD && cd .. && echo x > $p/../secret.txt", DENY),
        ("cd a && p=$PWD && cd .. && echo x > $p/secret.txt", ALLOW),
        ("cd a; p=$PWD; cd ..; echo x > $p/secret.txt", ASK),
        ("cd a; echo x > $PWD/secret.txt", DENY),
        ("for p in $PWD; do cd a && echo x > $p/secret.txt; done", DENY),
        ("f() { cd a && echo x > $1/secret.txt; }; f $PWD", DENY),
        ("set -- $PWD; cd a && echo x > $1/secret.txt", ASK),
        ("a=($PWD); cd a && echo x > ${a[@]}/secret.txt", DENY),
        ("p=$PWD; cd a && cd $p && echo x > secret.txt", DENY),
        ("p=$PWD; cd a && bash -c \"echo x > $p/secret.txt\"", DENY),
        ("p=$PWD; cd a && eval \"echo x > $p/secret.txt\"", DENY),
        ("echo \"echo x > $PWD/secret.txt\" > s.sh; cd a && sh ../s.sh", DENY),
        ("echo 'echo x > $PWD/secret.txt' > s.sh; cd a && sh ../s.sh", ALLOW),
        ("env -C a bash -c 'echo x > $0/secret.txt' $PWD", DENY),
        ("bash -c \"cd $PWD && make > log\"", ALLOW),
        ("d=$PWD; cd a && make > $d/log", ALLOW),
    ]);
}

#[test]
fn what_the_built_in_rules_forbid_holds_where_a_cd_failed() {
    let workspace = "built-in: removing the workspace";
    let system = "built-in: removing the system";
    let device = "built-in: writing to a device";
    let download = "built-in: download and run";
    for (line, verdict, rule) in [
        ("cd build; rm -rf *", ASK, workspace),
        ("cd build\nrm -rf .", ASK, workspace),
        ("false && cd build; rm -rf ./*", ASK, workspace),
        ("cd build && rm -rf *", ALLOW, "mode: auto"),
        ("cd build || exit 1; rm -rf *", ALLOW, "mode: auto"),
        ("cd a/b/c; rm -rf ../../..", DENY, system),
        ("false && cd a; rm -rf ..", DENY, system),
        ("cd src; rm -rf ../build", ALLOW, "mode: auto"),
        ("for d in a b; do cd $d; rm -rf target; cd ..; done", ALLOW, "mode: auto"),
        ("cd /dev; cd nowhere; echo x > sda", DENY, device),
        ("p=$PWD; cd / && rm -rf $p/build", ALLOW, "mode: auto"),
        ("p=$PWD; cd a && rm -rf \"$p\"", ASK, workspace),
        ("curl -o x https://x; false && cd a; sh \"$PWD\"/x", ASK, download),
    ] {
        let decision = run(line, &Rules::default(), Mode::Auto);
        assert_eq!((decision.verdict, decision.rule.as_str()), (verdict, rule), "{line}");
    }
}
