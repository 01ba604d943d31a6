//! What rules speak of: a denial rather of too much, a permission of what it says.

use super::{ALLOW, DENY, Mode, Rules, Verdict, decide, places, read, rules, run, write};

/// Checks what is decided in the mode `ask` about what is not named, with one rule as a permission and
/// as a denial.
fn check(tool: &str, rule: &str, path: &str, allows: bool, denies: bool) {
    let action = if tool == "read_file" { read(path) } else { write(path) };
    let decided =
        |verdict: Verdict| decide(tool, &action, &rules(&[(rule, verdict)]), Mode::Ask, &places());
    let by_rule = |verdict| decided(verdict).rule == rule;
    assert_eq!(by_rule(ALLOW), allows, "{rule} allows {path}");
    assert_eq!(by_rule(DENY), denies, "{rule} denies {path}");
}

#[test]
fn a_path_is_understood_as_people_write_it() {
    for (rule, path, allows, denies) in [
        ("write(src/)", "src/a/b.rs", true, true),
        ("write(src/)", "srcs/a", false, false),
        ("write(./)", "a/b", true, true),
        ("write(.)", "a/b", true, true),
        ("write(\"src/**\")", "src/a", true, true),
        ("write('src/**')", "src/a", true, true),
        ("write(\"my folder\"/**)", "my folder/a", true, true),
        ("write(src/'a b'/*)", "src/a b/c", true, true),
        ("write(it's bob's/*)", "it's bob's/c", true, true),
        ("write({a,b}/**)", "b/x/y", true, true),
        ("write({a,b}/**)", "c/x", false, false),
        ("write(src/*.{rs,toml})", "src/x.toml", true, true),
        ("write({a,{b,c/d}}x)", "c/dx", true, true),
        ("write({a}/x)", "{a}/x", true, true),
        (r"write(src/\[id\]/**)", "src/[id]/page.tsx", true, true),
        (r"write(\{a,b\}/x)", "{a,b}/x", true, true),
        ("write(src/[id]/**)", "src/[id]/page.tsx", true, true),
        ("write(src/[id]/**)", "src/d/page.tsx", false, true),
        ("write(src/[!a-c].rs)", "src/d.rs", false, true),
        ("write(src/[!a-c].rs)", "src/b.rs", false, false),
        ("write([...slug]/a)", "[...slug]/a", true, true),
        ("write(~/project/a)", "a", true, true),
        ("write(~)", "a", false, true),
        ("write(src)", "src/a/b", false, true),
        ("write(src)", "src", true, true),
        ("write(**/node_modules)", "x/node_modules/y/z", false, true),
        ("write(src/*)", "src/a/b", false, false),
        ("write(src/a.rs)", "src/a.rsx", false, false),
    ] {
        if rule.contains("[!") {
            let denied =
                decide("write_file", &write(path), &rules(&[(rule, DENY)]), Mode::Auto, &places());
            assert_eq!(denied.verdict == DENY, denies, "{rule} denies {path}");
            continue;
        }
        check("write_file", rule, path, allows, denies);
    }
    let denied = rules(&[("read(~/.ssh)", DENY)]);
    let key = decide("read_file", &read("/home/user/.ssh/id"), &denied, Mode::Auto, &places());
    assert_eq!(key.verdict, DENY);
    let redirect = run("echo x > src/a", &rules(&[("write(src)", DENY)]), Mode::Auto);
    assert_eq!(redirect.verdict, DENY);
}

#[test]
fn a_denial_is_not_passed_by_what_is_only_known_when_it_runs() {
    let denied = rules(&[("bash", ALLOW), ("bash(rm:*)", DENY), ("write(secret.txt)", DENY)]);
    for line in [
        "declare -A m=([k]=rm); ${m[k]} victim",
        "bash <(echo rm victim)",
        "source <(echo rm victim)",
        "echo rm victim | xargs -I{} sh -c '{}'",
        "bash -c \"${x:-rm victim}\"",
        "${x:-rm} victim",
        ": ${x:=rm}; $x victim",
        "mapfile -t a <<< rm; \"${a[0]}\" victim",
        "\"$(command -v rm)\" victim",
        "IFS=_; x=rm_victim; $x",
        "set rm victim; $1 $2",
        "declare -n r=c; c=rm; $r victim",
        "c=rm; r=c; ${!r} victim",
        "while read -r c a; do $c $a; done <<< 'rm victim'",
        "echo '$(echo rm) victim' > s.sh; sh s.sh",
        "ln -s secret.txt k; echo x > k",
        "ln -s . k && echo x > k/secret.txt",
        "cp -s secret.txt k; echo x > k",
        "echo x > /proc/self/cwd/secret.txt",
        "echo x > /proc/$$/cwd/secret.txt",
        "exec 5<.; echo x > /dev/fd/5/secret.txt",
        "cd /proc/self/cwd && echo x > secret.txt",
        "echo 'rm victim' > k; read BASH_ENV <<< k; export BASH_ENV; bash -c :",
        "export BASH_ENV=k; echo 'rm victim' > k; bash -c :",
        "echo 'rm victim' > .bashrc; HOME=. bash -ic :",
        "mkfifo p; bash < p & echo rm victim > p; wait",
        "pushd a; echo x > ~1/secret.txt",
        "cat $(which rm) > k; chmod +x k; ./k victim",
        "dd if=/bin/rm of=k; chmod +x k; ./k victim",
        "k() { read c; $c victim; }; k <<< rm",
        "x=abrm; ${x: -2} victim",
        "for i in 1 2; do $c victim; c=rm; done",
        "mkfifo p; bash p & echo rm victim > p; wait",
    ] {
        let decision = run(line, &denied, Mode::Auto);
        assert_ne!(decision.verdict, ALLOW, "{line}");
        assert_eq!(decision.how_to_allow(), "", "{line}");
    }
    for line in [
        "$PYTHON -m pytest",
        "source venv/bin/activate && make > log",
        "ln -sf ../x bin/y && make > log",
        "make > /dev/fd/2",
        "bash script.sh",
    ] {
        assert_eq!(run(line, &denied, Mode::Auto).verdict, ALLOW, "{line}");
    }
}

#[test]
fn where_only_a_rule_for_all_commands_allows_a_line_its_question_says_why() {
    for (line, why) in [
        ("PATH=.:$PATH make", "it sets PATH, which may choose what runs"),
        ("HOME=/tmp/h; make", "it sets HOME, which may choose what runs"),
        ("export HOME=/tmp/h && make", "it sets HOME, which may choose what runs"),
        ("read PATH; make", "it sets a variable that may choose what runs"),
        ("make > $F", "it writes outside of the workspace, or where is only known when it runs"),
    ] {
        let decision = run(line, &Rules::default(), Mode::Ask);
        let said = decision.reason.split_once("; no narrower rule can allow it: ");
        assert_eq!(said.map(|(_, why)| why), Some(why), "{line}: {}", decision.reason);
        let flag = decision.flag.expect(line);
        assert!(flag.contains("--allow 'bash'"), "{line}: {flag}");
    }
    let decision = run("RUST_LOG=debug make > a", &Rules::default(), Mode::Ask);
    assert!(!decision.reason.contains("no narrower rule"), "{}", decision.reason);
}

#[test]
fn a_denial_of_a_command_speaks_rather_of_too_much() {
    for (rule, command, denies) in [
        ("bash(rm)", "rm -rf a", true),
        ("bash(rm *)", "rm -rf a b", true),
        ("bash(rm *)", "rm", true),
        ("bash(rm*)", "rm -rf a b", true),
        ("bash(npm run test*)", "npm run test:unit -- --watch", true),
        ("bash(git * main)", "git push origin main", true),
        ("bash(git * main)", "git push origin next", false),
        ("bash(git push)", "git push", true),
        ("bash(git push)", "git push origin", false),
        ("bash(/usr/bin/rm:*)", "rm a", true),
        ("bash(/usr/bin/rm:*)", "/bin/rm a", true),
        ("bash(./deploy.sh:*)", "$PWD/deploy.sh", true),
        ("bash(~/bin/deploy:*)", "~/bin/deploy now", true),
        ("bash(cat ~/.netrc)", "cat ~/.netrc", true),
        ("bash(cat ~/.netrc)", "cat $HOME/.netrc", true),
        ("bash(cargo publish:*)", "cargo +nightly publish", true),
        ("bash(cargo publish:*)", "cargo -q --manifest-path x/Cargo.toml publish", true),
        ("bash(npm run test:*)", "npm --prefix x run -s test", true),
        ("bash(rm -rf:*)", "rm -v -rf a", true),
        ("bash(rm -rf:*)", "rm -fr a", true),
        ("bash(rm -rf:*)", "rm -r a -f", true),
        ("bash(rm -rf:*)", "rm -r a", false),
        ("bash(git push --force:*)", "git push origin main --force", true),
        ("bash(git push --force:*)", "git push --force-with-lease", false),
        ("bash(git push -f:*)", "git push -uf origin", true),
        ("bash(git push:*)", "git log push", false),
        ("bash(docker rm:*)", "docker run image rm", false),
    ] {
        let denied = run(command, &rules(&[("bash", ALLOW), (rule, DENY)]), Mode::Auto);
        assert_eq!(denied.verdict == DENY, denies, "{rule}: {command}: {}", denied.reason);
    }
    for (rule, command) in [
        ("bash(rm)", "rm a"),
        ("bash(rm *)", "rm a b"),
        ("bash(/usr/bin/rm:*)", "rm a"),
        ("bash(cargo publish:*)", "cargo +nightly publish"),
        ("bash(cat '~/x')", "cat ~/x"),
    ] {
        let decision = run(command, &rules(&[(rule, ALLOW)]), Mode::Ask);
        assert_ne!(decision.verdict, ALLOW, "{rule}: {command}");
    }
    let home = run("cat ~/notes", &rules(&[("bash(cat ~/notes)", ALLOW)]), Mode::Ask);
    assert_eq!(home.verdict, ALLOW, "{}", home.reason);
    assert_eq!(
        run("cargo -q $x", &rules(&[("bash(cargo publish:*)", DENY)]), Mode::Auto).verdict,
        super::ASK
    );
    let denied = rules(&[("bash(git push --force:*)", DENY)]);
    assert_eq!(run("git push origin $x", &denied, Mode::Auto).verdict, super::ASK);
    assert_eq!(run("git push origin \"$x\"", &denied, Mode::Auto).verdict, ALLOW);
}
