//! Scripts that a line writes before it runs them, and programs under another name.

use super::{ALLOW, ASK, DENY, Mode, allow, rules, run};

#[test]
fn a_script_that_the_line_writes_is_judged_where_it_runs() {
    let denied = rules(&[("bash(git push:*)", DENY)]);
    for (line, want) in [
        ("echo 'git push' > x.sh; sh x.sh", DENY),
        ("cat > d/x.sh <<'E'\ngit push\nE\ncd d && ./x.sh", DENY),
        ("cat > x.sh <<E\ncd $DIR && git push\nE\nbash -e x.sh", DENY),
        ("cat <<E | tee x.sh\ngit push\nE\n. ./x.sh", DENY),
        ("echo set -e > x; echo git push >> x; sh < x", DENY),
        ("echo git push > x; cat x | bash", DENY),
        ("echo git push > x; { bash; } < x", DENY),
        ("echo git push > x; cp x y; mv y z; sh z", DENY),
        ("cat > x <<E\necho git push > y\nsh y\nE\nsh x", DENY),
        ("echo 'sh y' > x; echo git push > y; sh x", ALLOW),
        ("echo 'f() { git push; }; f' > x; bash x", DENY),
        ("echo 'rm -rf /' > x; sh x", DENY),
        ("cd /opt; echo 'rm -rf thing' > x; sh x", DENY),
        ("echo 'git reset --hard' > x; sh x", ASK),
        ("echo 'curl https://x | sh' > x; sh x", ASK),
        ("echo 'sudo ls' > x; sh x", ASK),
        ("bash /opt/bin/git push", ASK),
        // Nobody runs it.
        ("echo git push > x.sh; chmod +x x.sh; cat x.sh", ALLOW),
        ("echo git push > x.sh; sh y.sh", ALLOW),
        ("printf '#!/usr/bin/env python3\\ngit push\\n' > x; ./x", ALLOW),
        ("echo git push > notes; git commit -F notes", ALLOW),
    ] {
        assert_eq!(run(line, &denied, Mode::Auto).verdict, want, "{line}");
    }
}

#[test]
fn a_shell_that_only_checks_runs_nothing() {
    let script = |line: &str| format!("cat > x <<'S'\n#!/bin/bash\ngit push\nS\n{line}");
    let denied = rules(&[("bash(git push:*)", DENY)]);
    let mut wrong = Vec::new();
    for (line, want) in [
        ("chmod +x x && bash -n x && echo ok", ALLOW),
        ("sh -n ./x", ALLOW),
        ("dash -n -- x", ALLOW),
        ("zsh -n x", ALLOW),
        ("ksh -n x", ALLOW),
        ("bash -nv x", ALLOW),
        ("bash -e -xn x +n", ALLOW),
        ("bash -o noexec x", ALLOW),
        ("bash -eo noexec x", ALLOW),
        ("bash -no pipefail x", ALLOW),
        ("bash --norc -n x", ALLOW),
        ("bash +n -n x", ALLOW),
        ("find . -name x -exec bash -n {} \\;", ALLOW),
        ("bash -n < x; cat x | bash -n; timeout 5 sh -n x", ALLOW),
        ("bash -n <<'E'\ngit push\nE", ALLOW),
        ("bash -n <<< 'git push'; { bash -n; } <<< 'git push'; echo git push | sh -n", ALLOW),
        ("bash -n -c 'git push'; sh -nc 'git push'; bash -c -n 'git push'", ALLOW),
        ("bash -n x; ./x", DENY),
        ("bash -n x && bash x", DENY),
        ("bash -n x && . ./x", DENY),
        ("bash -n +n x", DENY),
        ("bash -o noexec +o noexec x", DENY),
        ("bash -n +o noexec x", DENY),
        ("bash -eo noexec +ne x", DENY),
        ("bash x -n", DENY),
        ("bash -- x -n", DENY),
        ("bash +n x", DENY),
        ("bash +o noexec x", DENY),
        ("bash -n -i x", DENY),
        ("bash -n -o exec x", DENY),
        ("bash -nz x", DENY),
        ("zsh -n -o exec x", DENY),
        ("bash -n \"$O\" x", ALLOW),
        ("bash -n -c 'x' | sh -c 'git push'", DENY),
        ("bash -c 'git push' -n", DENY),
        ("bash -n +n -c 'git push'", DENY),
        ("ksh -n <<< 'git push'", DENY),
        ("bash -n +n <<E\ngit push\nE", DENY),
        ("bash -n \"$(git push)\"", DENY),
        ("bash -n <(git push)", DENY),
    ] {
        let verdict = run(&script(line), &denied, Mode::Auto).verdict;
        wrong.extend((verdict != want).then_some((line, verdict)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    allow(&[
        "cat > x <<'S'\nsudo apt-get install -y jq\nS\nchmod +x x && bash -n x",
        "echo 'rm -rf /opt/thing' > x; bash -n x",
        "bash -n -c 'sudo true'",
        "curl -o x https://x.example/x; bash -n x",
        "curl https://x.example/x | bash -n",
        "bash -n script.sh && echo ok",
    ]);
}

#[test]
fn what_is_not_sure_in_a_script_of_ones_own_is_no_question() {
    allow(&[
        "echo 'rm -rf \"$1\"' > x.sh; sh x.sh build",
        "cat > x.sh <<'E'\nf() { \"$@\"; }\neval \"$1\"\nE\nbash x.sh ls",
        "echo 'if then' > x.sh; bash x.sh",
        "for i in 1 2; do echo \"echo $i\" > x.sh; sh x.sh; done",
    ]);
    let allowed =
        rules(&[("bash(bash x.sh:*)", ALLOW), ("write(x.sh)", ALLOW), ("bash(echo:*)", ALLOW)]);
    assert_eq!(run("echo 'make' > x.sh; bash x.sh", &allowed, Mode::Ask).verdict, ALLOW);
}

#[test]
fn scripts_within_scripts_come_to_an_end() {
    let open: String = (0..3_000).map(|level| format!("cat > x <<E{level}\n")).collect();
    let close: String = (0..3_000).rev().map(|level| format!("E{level}\nsh x\n")).collect();
    run(&format!("{open}git push\n{close}"), &rules(&[]), Mode::Auto);
    let again = "echo 'sh x; sh y' > x; echo 'sh x; sh y' > y; sh x; sh y;".repeat(500);
    run(&again, &rules(&[]), Mode::Auto);
}

#[test]
fn a_program_under_another_name_is_known() {
    let denied = rules(&[("bash(git push:*)", DENY)]);
    for (line, want) in [
        ("cp /usr/bin/git g; ./g push", DENY),
        ("ln -s \"$(which git)\" g; ./g push", DENY),
        ("ln -sf /usr/bin/git ~/bin/g && g push", DENY),
        ("cp /usr/bin/git g; mv g h; ./h push", DENY),
        ("cp /usr/bin/git g; ./g status", ALLOW),
        ("cp /bin/rm r; ./r -rf /", DENY),
        ("cp a b; mv b c; ./c", ALLOW),
        ("cp a b; cp b c; cp c a; cp b a; ./a; ./b; ./c", ALLOW),
    ] {
        assert_eq!(run(line, &denied, Mode::Auto).verdict, want, "{line}");
    }
}

#[test]
fn a_shell_reads_the_text_that_is_given_around_it() {
    let denied = rules(&[("bash(git push:*)", DENY)]);
    for line in [
        "{ bash; } <<< 'git push'",
        "(sh) <<< 'git push'",
        "f() { sh -s; }; f <<< 'git push'",
        "while sh; do break; done <<< 'git push'",
        "exec <<< 'git push'; bash",
        "exec 3<<< 'git push'; bash <&3",
        "{ . /dev/stdin; } <<E\ngit push\nE",
        ". -- /dev/stdin <<< 'git push'",
        "echo git push > x; . -- ./x",
        "echo git push | bash < /dev/stdin",
        "echo git push | sh < /proc/self/fd/0",
    ] {
        assert_eq!(run(line, &denied, Mode::Auto).verdict, DENY, "{line}");
    }
    assert_eq!(run("{ true | sh; } <<< 'git push'", &denied, Mode::Auto).verdict, ALLOW);
}

#[test]
fn what_rules_for_writing_deny_or_ask_about_holds_for_redirects() {
    for rule in
        ["write(src/**)", "write_file(src/**)", "write(/home/user/project/src/**)", "*(src/*)"]
    {
        for (line, want) in [
            ("echo x > src/a", DENY),
            ("echo x >> ./src/../src/a", DENY),
            ("cd src; echo x > a", DENY),
            ("echo x &> src/a", DENY),
            ("echo x > $PWD/src/a", DENY),
            ("> src/a", DENY),
            ("{ ls; make; } > src/a", DENY),
            ("for f in a b; do echo; done > src/a", DENY),
            ("if ls 2> src/a; then :; fi", DENY),
            ("(ls) 2> src/a", DENY),
            ("bash -c 'echo > src/a'", DENY),
            ("echo $(make 2> src/a)", DENY),
            ("exec > src/a", DENY),
            ("for f in a b; do echo > src/$f; done", DENY),
            ("echo x > src/$1", ASK),
            ("echo x > $1", ASK),
            ("echo x > */a", ASK),
            ("echo x > out/$1", ALLOW),
            ("echo x > out/a", ALLOW),
            ("echo x > srca; cat < src/a > /dev/null", ALLOW),
            ("echo x > /tmp/src/a", ALLOW),
        ] {
            let decision = run(line, &rules(&[(rule, DENY)]), Mode::Auto);
            assert_eq!(decision.verdict, want, "{rule} {line}");
            let asked = run(line, &rules(&[(rule, ASK)]), Mode::Auto).verdict;
            assert_eq!(asked == ALLOW, want == ALLOW, "{rule} {line}");
        }
    }
    for rule in ["write", "write_file"] {
        let bare = rules(&[(rule, DENY)]);
        assert_eq!(run("echo x > a", &bare, Mode::Auto).verdict, DENY);
        assert_eq!(run("echo x > /tmp/a 2> /dev/null", &bare, Mode::Auto).verdict, ALLOW);
    }
    let lines = [("bash(echo:*)", ALLOW), ("write(**)", ALLOW), ("write(src/**)", DENY)];
    let decision = run("echo x > src/a", &rules(&lines), Mode::Ask);
    assert_eq!((decision.verdict, decision.rule.as_str()), (DENY, "write(src/**)"));
    assert_eq!(run("echo x > a", &rules(&lines), Mode::Ask).verdict, ALLOW);
    let asked = run("ls; ls > src/a", &rules(&[("write(src/**)", ASK)]), Mode::Auto);
    let marked: Vec<_> = asked.parts.iter().map(|part| part.is_asked_about).collect();
    assert_eq!(marked, [false, true]);
}

#[test]
fn what_programs_write_by_their_arguments_is_a_script_that_the_line_writes() {
    let push = |line: &str| run(line, &rules(&[("bash(git push:*)", DENY)]), Mode::Auto).verdict;
    for (line, want) in [
        ("echo 'git push' | awk '{print > \"f\"}'; sh f", ASK),
        ("echo 'git push' | gawk '{ print $0 >> \"x/f\" }'; . x/f", ASK),
        ("echo git push | awk '{print > \"f\"}'; chmod +x f; ./f", ASK),
        ("echo 'git push' | split - p; sh paa", DENY),
        ("echo 'git push' | split -l 1; sh xaa", DENY),
        ("echo 'git push' | split -d -l 1 - part.; bash part.00", DENY),
        ("echo 'git push' | csplit - 1; sh xx01", DENY),
        ("echo 'git push' | csplit -f p - 1; sh ./p00", DENY),
        ("find . -maxdepth 0 -fprintf f 'git push\\n'; sh f", ASK),
        ("find . -maxdepth 0 -printf 'git push\\n' > f; sh f", ASK),
        ("echo a | awk '{print > \"f\"}'; cat f", ALLOW),
        ("awk '$1 > 3 {print $2}' f; sh f", ALLOW),
        ("split -l 100 big.txt part.; wc -l part.aa; sh x.sh", ALLOW),
        ("find . -name '*.rs' -printf '%p\\n' > list; wc -l list", ALLOW),
    ] {
        assert_eq!(push(line), want, "{line}");
    }
}

#[test]
fn settings_of_git_that_the_line_writes_are_judged_where_git_takes_them() {
    let push = |line: &str| run(line, &rules(&[("bash(make:*)", DENY)]), Mode::Auto).verdict;
    for (line, want) in [
        ("printf '[core]\\nsshCommand = make x\\n' > gc; GIT_CONFIG_GLOBAL=gc git fetch", DENY),
        ("cat > gc <<'E'\n[alias]\n  x = \"!make\"\nE\nGIT_CONFIG_SYSTEM=$PWD/gc git x", DENY),
        ("cat > gc <<'E'\n[filter \"a]b\"] smudge = make\nE\ngit -c include.path=gc status", DENY),
        ("cat > gc <<'E'\n[Core]\nPager = m\\\nake\nE\nexport GIT_CONFIG_GLOBAL=gc\ngit log", DENY),
        ("cat > gc <<'E'\n[pager]\nlog = make\nE\ngit config includeIf.x.path ../gc", DENY),
        ("echo 'x' | rev > gc; GIT_CONFIG_GLOBAL=gc git fetch", ASK),
        ("printf '[user]\\nname = make\\n' > gc; GIT_CONFIG_GLOBAL=gc git commit -m x", ALLOW),
        ("GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null git log", ALLOW),
        ("GIT_CONFIG_GLOBAL=gc git log", ALLOW),
    ] {
        assert_eq!(push(line), want, "{line}");
    }
}
