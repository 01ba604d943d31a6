//! What programs run that read it: from a text around them, a pipe, a file that the line writes, and what shells run
//! first.

use super::{ALLOW, ASK, DENY, Mode, rules, run};
use crate::policy::shell::{only_reads, parse};

#[test]
fn a_shell_with_a_file_to_run_first_does_not_count_as_reading() {
    for (line, want) in [
        ("bash --rcfile f -ic ls", false),
        ("bash -rcfile f -ic ls", false),
        ("bash --init-file f -ic ls", false),
        ("bash --init-file ./f.sh -i <<< ls", false),
        ("env timeout 5 bash --rcfile f -ic ls", false),
        ("bash -c 'bash --rcfile f -ic ls'", false),
        ("bash --rcfile \"$f\" -ic ls", false),
        ("bash --rcfile /dev/null -ic ls", true),
        ("bash --norc -ic ls", true),
        ("bash -ic ls", true),
        ("bash -lc ls", true),
        ("bash -lic 'ls | wc -l'", true),
        ("bash --login -c ls", true),
        ("sh -ic ls", true),
        ("bash -l <<< ls", true),
        ("bash -c ls", true),
    ] {
        assert_eq!(only_reads(&parse(line)), want, "{line}");
        let verdict = run(line, &rules(&[]), Mode::ReadOnly).verdict;
        assert_eq!(verdict, if want { ALLOW } else { DENY }, "{line}");
        assert_eq!(run(line, &rules(&[]), Mode::Auto).verdict, ALLOW, "{line}");
    }
}

#[test]
fn a_file_that_a_shell_runs_first_is_named_by_a_rule_for_that_or_for_the_shell() {
    let touch = rules(&[("bash(touch ok)", ALLOW)]);
    for (line, want) in [
        ("bash --rcfile f -ic 'touch ok'", ASK),
        ("timeout 5 bash --init-file f -ic 'touch ok'", ASK),
        ("bash -ic 'touch ok'", ALLOW),
        ("bash -lc 'touch ok'", ALLOW),
    ] {
        let decision = run(line, &touch, Mode::Ask);
        assert_eq!(decision.verdict, want, "{line}: {decision:?}");
    }
    let line = "bash --rcfile f -ic 'touch ok'";
    let shell = rules(&[("bash(touch ok)", ALLOW), ("bash(bash --rcfile f:*)", ALLOW)]);
    assert_eq!(run(line, &shell, Mode::Ask).verdict, ALLOW);
    let file = rules(&[("bash(bash f)", DENY)]);
    assert_eq!(run(line, &file, Mode::Auto).verdict, DENY);
}
