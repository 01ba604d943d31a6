//! The parts of a command line that a person is asked about.

use super::{Mode, Rules, Verdict, rules, run};

/// Checks the parts, a level as two spaces and a `!` in front of what is asked about.
fn check(command: &str, rules: &Rules, mode: Mode, expected: &[&str]) {
    let decision = run(command, rules, mode);
    let parts: Vec<String> = decision
        .parts
        .iter()
        .map(|part| {
            let sign = if part.is_asked_about { "!" } else { "" };
            format!("{}{sign}{}", "  ".repeat(part.level), part.text)
        })
        .collect();
    assert_eq!(parts, expected, "{command}");
}

#[test]
fn a_line_is_shown_in_parts_and_what_the_question_is_about_is_marked() {
    let none = Rules::default();
    let cases: [(&str, &[&str]); 7] = [
        ("git reset --hard", &["!git reset --hard"]),
        (
            "cd 'my app' && A=1 make > log 2>&1; git push --force | tee out &",
            &["cd 'my app'", "A=1 make > log", "!git push --force", "tee out"],
        ),
        ("sh -c 'git clean -fd; ls'", &["sh -c 'git clean -fd; ls'", "  !git clean -fd", "  ls"]),
        ("echo $(git reset --hard) \"$X\"", &["!git reset --hard", "echo … $X"]),
        ("ls && cargo test", &[]),
        ("rm -rf /", &[]),
        ("git reset --hard '", &[]),
    ];
    for (command, expected) in cases {
        check(command, &none, Mode::Auto, expected);
    }
    check("ls; make", &none, Mode::Ask, &["!ls", "!make"]);
    let asks = rules(&[("bash(ls:*)", Verdict::Allow), ("bash(make:*)", Verdict::Ask)]);
    check("ls; make all", &asks, Mode::Auto, &["ls", "!make all"]);
    let allowed = rules(&[("bash(ls:*)", Verdict::Allow)]);
    check("ls; make all", &allowed, Mode::Ask, &["ls", "!make all"]);
    check("ls; ls > a", &allowed, Mode::Ask, &["ls", "!ls > a"]);
    assert_eq!(run(&"a;".repeat(5_000), &none, Mode::Ask).parts.len(), 100);
}

#[test]
fn what_the_question_is_about_is_a_part_behind_however_many_others() {
    let line = format!("{}git reset --hard", "echo word; ".repeat(2_000));
    let parts = run(&line, &rules(&[]), Mode::Auto).parts;
    assert_eq!(parts.len(), 101);
    assert!(parts.last().is_some_and(|part| part.is_asked_about));
}
