//! What a command line is known to do: read only, need a terminal; and sizes.

use super::{Mode, Rules, Verdict, run};
use crate::policy::shell::{needs_terminal, only_reads, parse};

const READS: &[(&str, bool)] = &[
    ("ls -la src", true),
    ("cat a b | head -n 5", true),
    ("grep -rn x . | sort -u | uniq -c", true),
    ("rg --json x", true),
    ("rg --pre ./x y", false),
    ("find . -name '*.rs' -type f", true),
    ("find . -name '*.rs' -exec cat {} +", false),
    ("find . -delete", false),
    ("find . -fprint out", false),
    ("git status", true),
    ("git -C sub --no-pager log --oneline -5", true),
    ("git diff HEAD~1 --stat && git show HEAD", true),
    ("git diff --output=x", false),
    ("git diff --ext-diff", false),
    ("git -c core.pager=x log", false),
    ("git log $X", false),
    ("git log $X --", false),
    ("git branch", true),
    ("git branch new", false),
    ("git commit -m x", false),
    ("git grep -O x", false),
    ("sleep 1", true),
    ("echo hi", true),
    ("echo hi > f", false),
    ("echo hi >> f", false),
    ("ls 2>/dev/null", true),
    ("ls > /dev/null 2>&1", true),
    ("ls &> f", false),
    ("sort -o out in", false),
    ("sort -nro out in", false),
    ("sort --output=x in", false),
    ("sort in", true),
    ("sort $X", false),
    ("sort ./$X", true),
    ("wc -l < f", true),
    ("cat <<EOF\nx\nEOF", true),
    ("cat $X", true),
    ("$X f", false),
    ("./ls", false),
    ("/tmp/ls", false),
    ("echo $(cat f)", true),
    ("echo $(make)", false),
    ("cat <(ls)", true),
    ("(cd src && ls)", true),
    ("for f in a b; do cat $f; done", true),
    ("for f in a b; do rm $f; done", false),
    ("if [ -f x ]; then cat x; fi", true),
    ("x=5; echo $x", true),
    ("PATH=. ls", false),
    ("LD_PRELOAD=x ls", false),
    ("PATH=.; ls", false),
    ("for PATH in .; do ls; done", false),
    ("ls $((PATH=10)); ls", false),
    ("ls ${PATH:=.}; ls", false),
    ("for f in *; do ls $((n += 1)) ${x:=y}; done", true),
    ("LC_ALL=C sort f", true),
    ("timeout 5 cat f", true),
    ("timeout 5 make", false),
    ("time -o f ls", false),
    ("env", true),
    ("env ls", true),
    ("env PATH=. ls", false),
    ("find . | xargs grep x", true),
    ("find . | xargs sort", true),
    ("cat l | xargs sort", false),
    ("ls | xargs rm", false),
    ("bash -c 'ls; cat f'", true),
    ("bash -c 'rm f'", false),
    ("bash -c \"$X\"", false),
    ("bash f.sh", false),
    ("sed -n '1,20p' f", true),
    ("sed -n 'w x' f", false),
    ("sed -i s/a/b/ f", false),
    ("awk '{print}' f", false),
    ("python3 --version", true),
    ("python3 x.py", false),
    ("ls() { rm x; }; ls", false),
    ("ls & cat f", true),
    ("ls | tee f", false),
    ("uniq in out", false),
    ("date -s x", false),
    ("date +%s", true),
    ("which cargo && command -v go", true),
    ("ls 'open", false),
    ("", false),
    ("true; false; pwd; stat f; file f; wc f", true),
    ("go version", true),
    ("echo a > >(cat)", false),
];

#[test]
fn spec_4_commands_that_only_read_are_known() {
    for &(command, want) in READS {
        assert_eq!(only_reads(&parse(command)), want, "{command}");
    }
}

const TERMINAL: &[(&str, bool)] = &[
    ("vim f", true),
    ("nano", true),
    ("passwd ada", true),
    ("passwd -S", false),
    ("passwd --status ada", false),
    ("passwd -h", false),
    ("/usr/bin/vi f", true),
    ("git add . && vim f", true),
    ("emacs --batch -l x", false),
    ("less f", true),
    ("cat f | less", false),
    ("less f | head -3", false),
    ("vim f | cat", true),
    ("tmux", true),
    ("tmux -L x attach -t 0", true),
    ("tmux -L x new-session -d 'make'", false),
    ("tmux -L x kill-server", false),
    ("tmux capture-pane -p", false),
    ("man ls", false),
    ("git log", false),
    ("top", true),
    ("top -b -n 1", false),
    ("htop", true),
    ("watch ls", true),
    ("timeout 5 watch ls", false),
    ("tail -f log", true),
    ("tail -n 5 -F log", true),
    ("tail -nf log", true),
    ("timeout 5 tail -f log", false),
    ("tail -f log & sleep 1", false),
    ("tail -n 5 log", false),
    ("python", true),
    ("python3", true),
    ("python3 x.py", false),
    ("echo 1 | python3", false),
    ("python3 < x.py", false),
    ("python3 <<EOF\nprint(1)\nEOF", false),
    ("node", true),
    ("node -e 1", false),
    ("ssh host", true),
    ("ssh -p 22 -i key user@host", true),
    ("ssh host ls", false),
    ("git rebase -i HEAD~3", true),
    ("GIT_SEQUENCE_EDITOR=true git rebase -i HEAD~3", false),
    ("git rebase main", false),
    ("git commit", true),
    ("git commit -am x", false),
    ("git commit -m x", false),
    ("git commit --amend", true),
    ("git commit --amend --no-edit", false),
    ("git commit -F msg", false),
    ("git commit --fixup HEAD", false),
    ("git commit --fixup=HEAD", false),
    ("git commit --fixup amend:HEAD", true),
    ("git commit --fixup=reword:HEAD", true),
    ("git commit --squash=HEAD", true),
    ("tmux -V", false),
    ("top -v", false),
    ("watch --version", false),
    ("git add -p", true),
    ("git add -A", false),
    ("docker run -it x", true),
    ("docker run x", false),
    ("crontab -e", true),
    ("vim --version", false),
    ("echo vim", false),
    ("sh -c 'vim f'", true),
    ("psql -c 'select 1'", false),
    ("psql", true),
];

#[test]
fn spec_24_commands_that_need_a_terminal_are_known() {
    for &(command, want) in TERMINAL {
        let found = needs_terminal(&parse(command));
        assert_eq!(found.is_some(), want, "{command}: {found:?}");
    }
}

#[test]
fn a_long_pipeline_with_two_errors_is_read_to_its_end() {
    let stages = "bal x | ".repeat(30);
    let command =
        format!("ec{stages}| {stages}bala x | {stages}bal : | {stages}bash*od -R\ns*V\\i\\\n");
    assert_ne!(run(&command, &Rules::default(), Mode::Auto).verdict, Verdict::Allow);
}

fn check_repeated(bytes: usize, openings: &[&str]) {
    for opening in openings {
        let command = opening.repeat(bytes / opening.len());
        run(&command, &Rules::default(), Mode::Auto);
    }
}

#[test]
fn a_megabyte_of_anything_that_opens_is_read_to_its_end() {
    check_repeated(
        1 << 20,
        &[
            "(",
            "$(",
            "`",
            "{ ",
            "if ",
            "case x in a) ",
            "\"$(",
            "<<a ",
            "| |",
            "[[ ( ",
            "$((",
            "\n$((",
            "{",
            "x=$x$x;",
        ],
    );
}

#[test]
fn whatever_is_repeated_is_read_to_its_end() {
    check_repeated(
        1 << 17,
        &[
            "((",
            "\\`",
            "${",
            "${x:-",
            "if a; then ",
            "while ",
            "\"",
            "'",
            "$'",
            "<<a\n",
            "<(",
            "[[ ! ",
            "! ",
            "time ",
            "coproc ",
            "f() ",
            "function f ",
            "a=(",
            "a[",
            "$[",
            "\\\n",
            "#\n",
            ";",
            "&",
            ")",
            "\n)",
            "\n(",
            "\n'",
            "\n\"",
            "{a,",
            "{a..",
            "eval ",
            "env ",
            "for i in a b; do ",
            "for ((;;)) ",
            "a && ",
            "$x",
            "a ",
            "~",
            "*",
            "(a)|",
            "cd a;",
            "find a -exec ",
            "sh|",
            "<(a)",
            "x=a (a=b);",
            "f() { f; f; }; f;",
            "$(<<a\n",
            "é",
        ],
    );
}

#[test]
fn hostile_sizes_end_in_a_decision() {
    let nested = |open: &str, middle: &str, close: &str, depth: usize| {
        format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
    };
    for command in [
        nested("$(", "ls", ")", 3000),
        nested("(", "ls", ")", 20_000),
        nested("$(", "", "", 5000),
        nested("((", "", "", 5000),
        nested("${", "", "", 5000),
        nested("`", "", "", 5001),
        nested("{ ", "ls", "; }", 5000),
        nested("if a; then ", "ls", "; fi", 3000),
        nested("\"$(", "ls", ")\"", 3000),
        nested("$((", "1", "))", 3000),
        nested("((", "1", "))", 3000),
        nested("! ", "ls", "", 3000),
        nested("env ", "ls", "", 20_000),
        nested("eval ", "ls", "", 3000),
        nested("", "a", " && a", 20_000),
        nested("", "a", "|a", 3000),
        nested("", "a", ";a", 20_000),
        nested("<<A ", "", "", 3000),
        nested("{a,b}", "", "", 500),
        nested("for i in 1 2 3 4 5 6 7 8; do ", "ls", "; done", 8),
        "x".repeat(2 << 20),
        nested("f() { ", "ls", "; }", 200),
        nested("a+=(x \"$y\"); ", "find \"${a[@]}\"", "", 9_000),
        nested("a+=(\"${a[@]}\" x); ", "ls", "", 9_000),
        nested("a=(x); a+=(\"${a[@]}\"); ", "ls", "", 9_000),
        nested("find . ", "\"$x\" ", "\\;", 9_000),
        format!("read x <<< y; find {} \\;", "\"$x\" ".repeat(9_000)),
        nested("find $x; ", "ls", "", 9_000),
        nested("echo ls > x; sh x; ", "ls", "", 5_000),
        nested("cp a b; cp b a; ./a; ", "ls", "", 5_000),
        nested("uv run ", "ls", "", 20_000),
        nested("tmux new ", "ls", "", 3_000),
        nested("git -c core.pager='", "ls", "' log", 1_000),
    ] {
        let decision = run(&command, &Rules::default(), Mode::Auto);
        assert_ne!(decision.verdict, Verdict::Deny);
    }
    assert_eq!(
        run(&format!("echo {}", "x".repeat(200_000)), &Rules::default(), Mode::Auto).verdict,
        Verdict::Allow
    );
}
