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

/// Lines with a text that a shell runs, which comes to it by others.
const RUN: &[&str] = &[
    "(cat | sh) <<< 'git push'",
    "{ cat | bash; } <<< 'git push'",
    "{ cat; } <<E | bash\ngit push\nE",
    "f() { cat | bash; }; f <<< 'git push'",
    "if :; then cat | sh; fi <<< 'git push'",
    "bash -c 'cat | sh' <<< 'git push'",
    "exec <<< 'git push'; cat | bash",
    "exec 3<<< 'git push'; cat <&3 | bash",
    "exec 3<<< 'git push'; cat <&3 > f; bash f",
    "{ tee; } <<< 'git push' | sh",
    "{ head -1 | sh; } <<< 'git push'",
    "{ head -n 1 | sh; } <<< 'git push'",
    "head -1 <<< 'git push' | sh",
    "{ tail -n +1 | sh; } <<< 'git push'",
    "env cat <<< 'git push' | sh",
    "{ cat f - | bash; } <<< 'git push'",
    "{ cat > f; } <<E\ngit push\nE\nbash f",
    "(cat > f) <<< 'git push'; sh f",
    "f() { cat > g; }; f <<< 'git push'; bash g",
    "exec <<< 'git push'; cat > f; bash f",
    "{ tee f; } <<< 'git push'; bash f",
    "tee f < <(echo git push); bash f",
    "cat < <(echo git push) > f; bash f",
    "cat <(echo git push) > f; bash f",
    "fmt <<< 'git push' > g; sh g",
    "{ fmt; } <<< 'git push' > g; sh g",
    "echo git push | fmt > g; sh g",
    "nl -bn <<< 'git push' > g; sh g",
    "xargs <<< 'git push' > g; sh g",
    "echo git push > f; expand f | sh",
    "echo git push > f; head -1 f | bash",
    "echo git push > f; fmt f > g; sh g",
    "echo git push > f; tac f > g; sh g",
    "echo git push > f; paste f > g; sh g",
    "f() { cat; }; f <<< 'git push' > g; sh g",
    "{ at now; } <<< 'git push'",
    "ln -s /dev/stdin f; sh f <<< 'git push'",
    "ln -s /proc/self/fd/0 f; bash f <<< 'git push'",
    "tee >(bash) < <(printf 'git push')",
    "cat < <(echo git push) > >(sh)",
    "sort > >(bash) < <(echo git push)",
    "script -q /dev/null <<< 'git push'",
    "echo git push | script -q /dev/null",
    "fakeroot <<< 'git push'",
    "{ fakeroot; } <<< 'git push'",
    "echo git push | fakeroot",
    "unshare -r <<< 'git push'",
    "chroot / <<< 'git push'",
    "setarch x86_64 <<< 'git push'",
    "linux32 <<< 'git push'",
    "sg root <<< 'git push'",
];

/// Lines with a command that a program is told, by a text that comes to it by others or by an argument.
const TOLD: &[&str] = &[
    "{ ed f; } <<< '!git push'",
    "f() { ed f; }; f <<< 'r !git push'",
    "exec <<< '!git push'; ed f",
    "bash -c 'ed f' <<< '!git push'",
    "{ timeout 5 ed f; } <<< '!git push'",
    "{ cat | ed f; } <<< '!git push'",
    "tee >(ed f) <<< '!git push'",
    "ed f < <(echo '!git push')",
    "echo '!git push' > s; ed f < s",
    "echo '!git push' > s; cat s | ed f",
    "echo '!git push' > s; { cat s; } | ed f",
    "echo '!git push' > s; head -1 s | ex -s f",
    "echo '!git push' > s; { ex -s f; } < s",
    "echo '!git push' > s; vim -es -S s f",
    "ed '!git push' <<< q",
    "{ ex -s f; } <<< '!git push'",
    "{ view -es f; } <<< ':!git push'",
    "vim -es f <<< '!git push'",
    "vim.basic -es f <<< '!git push'",
    "vim -es -S <(echo '!git push') f",
    "echo '!git push' > s; ex -s f <<< 'so s'",
    "echo '!git push' > s; vim -es +'source s' f",
    "echo '.shell git push' > s; sqlite3 x '.read s'",
    "echo 'shell git push' > s; gdb -batch -x=s",
    "echo 'shell git push' > s; gdb -batch -ex 'source s'",
    "gdb -batch -ex 'target remote | git push'",
    "psql -o '|git push' -c 'select 1'",
    "ex -s f <<< '%s/a/b/|!git push'",
    "ex -s f <<< 'silent !git push'",
    "ex -s f <<< 'silent! !git push'",
    "ex -s f <<< 'exe \"!git push\"'",
    "ex -s f <<< 'g/x/!git push'",
    "ex -s f <<< 'norm :!git push'",
    "ex -s f <<< '1|!git push'",
    "ex -sc '!git push' f",
    "ex -sc '%s/a/b/|!git push' f",
    "vim -esc 'r !git push' f",
    "vim -Nesc ':silent !git push' f",
    "vim -es '+sil !git push' f",
    "view -c '!git push' f",
    "{ sqlite3 x; } <<< '.shell git push'",
    "exec <<< '.system git push'; sqlite3 x",
    "f() { sqlite3 x; }; f <<< '.system git push'",
    "g() { sqlite3 x < <(cat); }; g <<< '.shell git push'",
    "sqlite3 x < <(printf '.shell git push')",
    "sqlite3 x < <(printf '%s\\n' '.shell git push')",
    "sqlite3 x < <(cat <<< '.shell git push')",
    "tee >(sqlite3 x) < <(echo '.shell git push')",
    "echo '.shell git push' > s; cat s | sqlite3 x",
    "echo '.shell git push' > s; sqlite3 -init s x",
    "gdb <<< 'shell git push'",
    "gdb <<< 'she git push'",
    "{ gdb -q; } <<< '!git push'",
    "gdb <<< 'pipe bt | git push'",
    "gdb -batch -ex 'shel git push'",
    "gdb -batch --ex='shell git push'",
    "echo 'shell git push' > s; gdb -batch -x s",
    "lldb -b -O 'platform shell git push'",
    "psql <<< '\\! git push'",
    "psql < <(echo '\\! git push')",
    "psql -c '\\o |git push'",
    "mysql <<< 'system git push'",
    "mysql -e 'system git push'",
    "sftp h <<< '!git push'",
    "dc -e '!git push'",
    "strace -o '|git push' ls",
    "strace -fo '|git push' ls",
    "strace -o'!git push' ls",
    "strace -f --output='|git push' ls",
];

/// Lines of the same programs that are no question, whatever is denied of others.
const ORDINARY: &[&str] = &[
    "ex -s f <<E\n%s/a/b/\nwq\nE",
    "{ ex -s f; } <<< $'%s/a/b/\\nwq'",
    "ed -s f <<E\n1i\nhello! world\n.\nw\nE",
    "ed -s f <<E\n1i\nversion $v\n.\nw\nE",
    "ed -s README.md <<'E'\n1i\n![badge](http://x)\n.\nw\nq\nE",
    "ed -s a.js <<'E'\n5a\n!(function () { x(); })();\n.\nw\nE",
    "ed -s a.tf <<'E'\n/x/c\n!var.x ? 1 : (2)\n.\nw\nE",
    "ex -s README.md <<'E'\n1i\n![badge](http://x)\n.\nwq\nE",
    "printf '%s\\n' 1i '![badge](x)' . w q | ed -s README.md",
    "printf '%s\\n' 1d w q | ed -s f",
    "printf '%s\\n' \"/$x/d\" w q | ed -s f",
    "diff -e a b | ed -s a",
    "ed -s f < script",
    "{ ex -s f; } < script",
    "ex -sc x f",
    "ex -sc '%s/a/b/|x' f",
    "ex -sc \"%s/$a/$b!/|x\" f",
    "for f in *.c; do ex -sc '%s/a/b/|x' \"$f\"; done",
    "ls | while read -r f; do ex -sc x \"$f\"; done",
    "vim -es -c '%s/a/b/' -c wq f",
    "vim -esc 'if !has(\"python3\") | cq | endif' -c 'wq!'",
    "echo x > f; ed -s f <<< $'1d\\nw'",
    "echo \"1d\" > s; cat s | ed -s f",
    "printf 'y\\nn\\n' | git add -p f",
    "{ git add -p f; git add -p g; } <<< y",
    "sqlite3 x < dump.sql",
    "sqlite3 db \"SELECT 1\"",
    "{ sqlite3 x; } <<< 'select 1;'",
    "echo \"select * from t where id = $id\" | sqlite3 x",
    "printf 'insert into t values(%d);\\n' {1..100} | sqlite3 db",
    "while read -r id; do sqlite3 x \"select '!$id'\"; done < ids",
    "cat dump.sql | sqlite3 x",
    "python3 gen.py | sqlite3 x",
    "sed 's/a/b/' dump.sql | psql db",
    "sed 's/a/b/' < <(cat dump.sql) | psql db",
    "ls | while read -r h; do psql -c 'select 1'; done",
    "psql -Atc 'select 1' | while read -r x; do psql -c \"select $x\"; done",
    "while read -r h; do psql -h \"$h\" -c 'select 1 || 2'; done <<< 'a b'",
    "psql -f f.sql",
    "echo 'select 1;' > f.sql; psql -f f.sql",
    "mysql -e 'show tables'",
    "mysql db <<< \"select * from t where x = '$x'\"",
    "gdb -batch -ex bt prog core",
    "gdb -batch -ex run -ex bt ./prog < in.txt",
    "gdb -batch -ex \"break $f:10\" -ex run ./prog",
    "dc -e '2 3 + p'",
    "strace -f -o out ls",
    "strace -o \"$out\" ls",
    "{ true | sh; } <<< 'git status'",
    "{ cat x.sh | sh; } <<< 'a (b'",
    "cat x.sh | sh",
    "head -20 x.sh | sh",
    "bash <<'E'\ncat x.sh | sh\ntail -n +3 x.sh | sh\nE",
    "cat <<E | bash\ncd $DIR && make\nE",
    "{ set -e; cat x.sh; } | sh",
    "{ cat > f; } <<E\nmake\nE\nbash f",
    "{ cat > f.c; } <<'E'\nint main(void) { return !f(x); }\nE\ngcc f.c",
    "{ sed 's/X/1/' > a.sh; } <<'E'\necho X\nE\nbash a.sh",
    "echo make > f; cat f | sed 's/m/n/' > g; wc g",
    "sed 's/a/b/' < <(cat x) > f; bash f",
    "cat <(sort a) <(sort b) > c",
    "tee >(wc -l) < f | sort",
    "exec 3< f; read -r x <&3; cat <&3",
    "while read -r l; do sort \"$l\" > \"$l.s\"; done <<< 'a b'; bash x.sh",
    "while read -r f; do wc -l \"$f\"; done < <(ls)",
    "head -5 <<< 'what (is this' | sg run -p x --stdin",
    "fakeroot make install",
    "script -qc make /dev/null",
    "script -q log < x",
    "unshare -r make",
    "bash -i <<< 'nvm use 20'",
    "bash -ic 'nvm use 20'",
    "bash -lc 'make test'",
    "bash --norc --noprofile x.sh",
    "set -H; set -euo pipefail; make",
];

#[test]
fn a_text_that_comes_to_a_shell_by_others_is_judged() {
    assert_denied(RUN);
}

#[test]
fn a_command_that_a_program_is_told_is_judged() {
    assert_denied(TOLD);
}

fn assert_denied(lines: &[&str]) {
    let denied = rules(&[("bash(git push:*)", DENY)]);
    let passes = |line: &&&str| run(line, &denied, Mode::Auto).verdict != DENY;
    let wrong: Vec<_> = lines.iter().filter(passes).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
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
fn a_long_text_for_many_is_not_read_again_and_again() {
    let text = "x ".repeat(30_000);
    for program in ["cat | sh; ", "sqlite3 x; ", "ex -s f; "] {
        let line = format!("{{ {} }} <<< '{text}'", program.repeat(1000));
        assert_eq!(run(&line, &rules(&[]), Mode::Auto).verdict, ALLOW, "{program}");
    }
}
