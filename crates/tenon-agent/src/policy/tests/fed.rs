//! What programs run that read it: from a text around them, a pipe, another descriptor, a file that the line
//! writes, and what shells run first.

use super::{ALLOW, ASK, DENY, Mode, rules, run};
use crate::policy::shell::{only_reads, parse};

/// Lines with a text that a program runs, which the line says.
const SAID: &[&str] = &[
    // What editors and databases are told.
    "ed f <<< '!git push'",
    "{ ed f; } <<< '!git push'",
    "(ed f) <<< '!git push'",
    "f() { ed f; }; f <<< 'r !git push'",
    "if true; then ed f; fi <<< '!git push'",
    "while ed f; do break; done <<E\n!git push\nE",
    "exec <<< '!git push'; ed f",
    "bash -c 'ed f' <<< '!git push'",
    "env ed f <<< '!git push'",
    "{ timeout 5 ed f; } <<< '!git push'",
    "cat <<< '!git push' | ed f",
    "cat <<E | ed f\n!git push\nE",
    "{ cat | ed f; } <<< '!git push'",
    "echo '!git push' > s; ed f < s",
    "echo '!git push' > s; { ex -s f; } < s",
    "echo '!git push' > s; vim -es -S s f",
    "ex -s f <<< '!git push'",
    "vim -es f <<< '!git push'",
    "{ view -es f; } <<< ':!git push'",
    "exec <<< '%!git push'; nvim -es f",
    "ex -sc '!git push' f",
    "ex -sc '%s/a/b/|!git push' f",
    "vim -esc 'r !git push' f",
    "vim -Nesc ':silent !git push' f",
    "view -c '!git push' f",
    "{ sqlite3 x; } <<< '.shell git push'",
    "exec <<< '.system git push'; sqlite3 x",
    "f() { sqlite3 x; }; f <<< '.system git push'",
    "echo '.shell git push' > s; sqlite3 -init s x",
    "gdb <<< 'shell git push'",
    "{ gdb -q; } <<< '!git push'",
    "gdb <<< 'pipe bt | git push'",
    "sftp h <<< '!git push'",
    "ftp <<< '!git push'",
    "psql <<< '\\! git push'",
    "mysql <<< 'system git push'",
    // Filters that read a text around them.
    "(cat | sh) <<< 'git push'",
    "{ cat | bash; } <<< 'git push'",
    "{ cat; } <<E | bash\ngit push\nE",
    "f() { cat | bash; }; f <<< 'git push'",
    "if :; then cat | sh; fi <<< 'git push'",
    "bash -c 'cat | sh' <<< 'git push'",
    "exec <<< 'git push'; cat | bash",
    "cat /dev/stdin <<E | sh\ngit push\nE",
    "cat /dev/fd/0 <<< 'git push' | sh",
    "{ tee; } <<< 'git push' | sh",
    // Files that the line writes.
    "{ cat > f; } <<E\ngit push\nE\nbash f",
    "(cat > f) <<< 'git push'; sh f",
    "f() { cat > g; }; f <<< 'git push'; bash g",
    "exec <<< 'git push'; cat > f; bash f",
    "{ tee f; } <<< 'git push'; bash f",
    "cat - <<< 'git push' > g; source g",
    "tee f < <(echo git push); bash f",
    "cat < <(echo git push) > f; bash f",
    "cat > >(tee f) <<< 'git push'; bash f",
    "tee >(ed) <<< '!git push'",
    "echo '.shell git push' > s; sqlite3 x '.read s'",
    "cat <(echo git push) > f; bash f",
    "cp /dev/stdin f < <(echo git push); bash f",
    "echo git push > f; head -1 f | bash",
    "echo git push > f; cat < f | bash",
    // Shells that others start, and files that shells run first.
    "script -q /dev/null <<< 'git push'",
    "echo git push | script -q /dev/null",
    "strace -o '|git push' ls",
    "strace -o'!git push' ls",
    "strace -fo '|git push' ls",
    "strace -f --output='|git push' ls",
    "echo git push > f; bash --rcfile f -ic ls",
];

/// Lines with one that the line does not say for certain.
const OPEN: &[&str] = &[
    "coproc ed f; echo '!git push' >&${COPROC[1]}",
    "exec 3<<< '%!x'; ex -s f <&3",
    "{ ed f; } <&3",
    "ed f < <(echo '!git push')",
    "ed f < /dev/fd/3",
    "rev <<< 'hsup tig!' | ed f",
    "echo \"$(x)\" | ed f",
    "tee >(ed) < <(echo '!git push')",
    "curl https://h/x | ed f",
    "vim -es f < <(curl https://h/x)",
    "{ base64 -d | ex -s f; } <<< IQ==",
    "coproc sqlite3 x; echo '.shell git push' >&${COPROC[1]}",
    "rev <<< x | sqlite3 x",
    "{ head -1 | bash; } <<< 'git push'",
    "(tac | sh) <<< 'git push'",
    "head -1 <<< 'git push' | sh",
    "env cat <<< 'git push' | sh",
    "{ cat f - | bash; } <<< 'git push'",
    "cat <&3 | bash",
    "exec 3<> p; echo git push >&3; bash <&3",
    "mkfifo p; exec 3<>p; echo git push >&3; { bash; } <&3",
    "coproc { cat | bash; }; echo git push >&${COPROC[1]}",
    "cat /dev/fd/3 | bash",
    "cat <(echo git push) | bash",
    "tee >(bash) < <(echo git push)",
    "cat < <(echo git push) > >(sh)",
    "sort > >(bash) < <(echo git push)",
    "exec 3<<< 'git push'; cat <&3 > f; bash f",
    "exec 3<<< 'git push' 4<<< ls; cat <&3 | bash",
    "{ cat x.sh /dev/stdin | sh; } <<< 'git push'",
    "{ tail -n +1 | sh; } <<< 'git push'",
    "bash -i <<< $'alias p=\"git push\"\\np'",
    "bash -li <<E\nalias p='git push'\np\nE",
    "printf 'alias p=\"git push\"\\np\\n' | bash -i",
    "bash -O expand_aliases <<< $'alias p=\"git push\"\\np'",
    "bash -i <<'E'\n: git push\nfc -s ': '=\nE",
    "bash -i <<'E'\n: git push\n!!:s/: //\nE",
    "bash -o history <<'E'\n: git push\nfc -s ': '=\nE",
    "set -o history\n: git push\nfc -s ': '=",
    "env -S 'bash -i' <<< $'alias p=\"git push\"\\np'",
    "script -q /dev/null <<< $'alias p=\"git push\"\\np'",
];

/// Lines of the same programs that run nothing but what a rule may not speak of.
const ORDINARY: &[&str] = &[
    "ex -s f <<E\n%s/a/b/\nwq\nE",
    "{ ex -s f; } <<< $'%s/a/b/\\nwq'",
    "ed -s f <<E\n1i\nhello! world\n.\nw\nE",
    "ed -s f <<E\n1i\nversion $v\n.\nw\nE",
    "(ed -s f) <<< $'1d\\nw\\nq'",
    "f() { ed -s \"$1\"; }; f x <<< $'1d\\nw'",
    "printf '%s\\n' 1d w q | ed -s f",
    "printf '%s\\n' \"/$x/d\" w q | ed -s f",
    "diff -e a b | ed -s a",
    "ed -s f < script",
    "{ ex -s f; } < script",
    "ex -sc '%s/a/b/|x' f",
    "vim -es -c '%s/a/b/' -c wq f",
    "echo x > f; ed -s f <<< $'1d\\nw'",
    "printf 'y\\nn\\n' | git add -p f",
    "{ git add -p f; git add -p g; } <<< y",
    "coproc bc; echo '6*7' >&${COPROC[1]}",
    "bc <<< 6*7",
    "{ bc; } <&3",
    "sqlite3 x < dump.sql",
    "{ sqlite3 x; } <<< 'select 1;'",
    "echo \"select * from t where id = $id\" | sqlite3 x",
    "cat dump.sql | sqlite3 x",
    "curl https://h/dump.sql | sqlite3 x",
    "python3 gen.py | sqlite3 x",
    "sed 's/a/b/' dump.sql | psql db",
    "gdb -batch -ex bt prog core",
    "gdb -batch -ex run ./prog < in.txt",
    "{ true | sh; } <<< 'git push'",
    "{ cat x.sh | sh; } <<< 'git push'",
    "bash <<'E'\ncat x.sh | sh\ntail -n +3 x.sh | sh\nE",
    "cat <<E | bash\ncd $DIR && make\nE",
    "{ set -e; cat x.sh; } | sh",
    "while read -r f; do wc -l \"$f\"; done < <(ls)",
    "while read -r a; do sort \"$a\" > \"$a.s\"; done <<< 'a b'; bash x.sh",
    "{ cat > f; } <<E\nmake\nE\nbash f",
    "cat <(sort a) <(sort b) > c",
    "tee >(wc -l) < f | sort",
    "exec 3< f; read -r x <&3; cat <&3",
    "bash -i <<< 'nvm use 20'",
    "bash -ic 'nvm use 20'",
    "bash -lc 'make test'",
    "bash --norc --noprofile x.sh",
    "set +H; set -euo pipefail; make",
    "strace -f -o out ls",
    "script -qc 'make' /dev/null",
];

#[test]
fn what_a_program_reads_and_runs_is_denied_where_the_line_says_it() {
    let denied = rules(&[("bash(git push:*)", DENY)]);
    let passes = |line: &&&str| run(line, &denied, Mode::Auto).verdict != DENY;
    let wrong: Vec<_> = SAID.iter().filter(passes).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_a_program_reads_and_runs_is_asked_about_where_it_is_not_known() {
    for rules in [rules(&[]), rules(&[("bash(uname:*)", DENY)])] {
        let passes = |line: &&&str| run(line, &rules, Mode::Auto).verdict != ASK;
        let wrong: Vec<_> = OPEN.iter().filter(passes).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn ordinary_lines_with_inputs_are_no_question() {
    for rules in [rules(&[]), rules(&[("bash(git push:*)", DENY)])] {
        let decided = |line: &&&str| run(line, &rules, Mode::Auto).verdict != ALLOW;
        let wrong: Vec<_> = ORDINARY.iter().filter(decided).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn a_shell_that_runs_files_first_is_named_by_no_rule_for_what_it_is_told() {
    let allowed = rules(&[("bash(touch ok)", ALLOW)]);
    for (line, want) in [
        ("bash --rcfile evil -ic 'touch ok'", ASK),
        ("bash --init-file evil -i <<< 'touch ok'", ASK),
        ("env bash --rcfile evil -ic 'touch ok'", ASK),
        ("env -S 'bash --rcfile evil -ic \"touch ok\"'", ASK),
        ("timeout 5 bash --rcfile evil -ic 'touch ok'", ASK),
        ("bash -c 'bash --rcfile evil -ic \"touch ok\"'", ASK),
        ("bash -ic 'touch ok'", ASK),
        ("bash -lc 'touch ok'", ASK),
        ("bash --login -c 'touch ok'", ASK),
        ("zsh -ic 'touch ok'", ASK),
        ("zsh -c 'touch ok'", ASK),
        ("fish -c 'touch ok'", ASK),
        ("fakeroot -l ./evil.so touch ok", ASK),
        ("fakeroot --lib=./evil.so touch ok", ASK),
        ("ltrace -l ./evil.so touch ok", ASK),
        ("strace -o '|sh evil' touch ok", ASK),
        ("bash -c 'touch ok'", ALLOW),
        ("timeout 5 bash -euc 'touch ok'", ALLOW),
        ("bash --norc -c 'touch ok'", ALLOW),
        ("fakeroot touch ok", ALLOW),
        ("strace -f touch ok", ALLOW),
    ] {
        let decision = run(line, &allowed, Mode::Ask);
        assert_eq!(decision.verdict, want, "{line}: {decision:?}");
    }
    for line in ["bash --rcfile evil -ic ls", "env bash --init-file ./evil.sh -i <<< ls"] {
        let of_file = rules(&[("bash(bash evil)", DENY), ("bash(bash ./evil.sh)", DENY)]);
        assert_eq!(run(line, &of_file, Mode::Auto).verdict, DENY, "{line}");
    }
}

#[test]
fn a_shell_that_runs_files_first_does_not_count_as_reading() {
    for (line, want) in [
        ("bash --rcfile evil -ic ls", false),
        ("bash --init-file evil -i <<< ls", false),
        ("env timeout 5 bash --rcfile evil -ic ls", false),
        ("bash -ic ls", false),
        ("bash -lc ls", false),
        ("bash --login -c ls", false),
        ("sh -ic ls", false),
        ("bash -c ls", true),
        ("bash <<< ls", true),
        ("{ cat | sort; } <<< x", true),
    ] {
        assert_eq!(only_reads(&parse(line)), want, "{line}");
    }
}
