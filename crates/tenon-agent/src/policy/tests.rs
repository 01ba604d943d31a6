//! Tables of command lines and what is decided about them.

mod benign;
mod denials;
mod downloads;
mod fed;
mod files;
mod folders;
mod forms;
mod functions;
mod hostile;
mod launchers;
mod made;
mod names;
mod options;
mod oracle;
mod parts;
mod properties;
mod questions;
mod reach;
mod rules;
mod shell;
mod tools;
mod twice;
mod unsure;
mod values;
mod ways;
mod work;
mod writers;

use tenon_sandbox::Access;

use super::action::{Action, OutsidePlace};
use super::places::{Places, is_plain};
use super::rule::{Origin, Rule, Rules, Verdict};
use super::shell::parse;
use super::{Decision, Mode, decide};

/// Checks what a denial of writing says of lines: whether they are asked about.
fn check_writes(rule: &str, lines: &[(&str, Verdict)]) {
    let mut wrong = Vec::new();
    for (line, want) in lines {
        let verdict = run(line, &rules(&[(rule, DENY)]), Mode::Auto).verdict;
        wrong.extend((verdict != *want).then(|| format!("{rule} {line}: {verdict:?}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn places() -> Places {
    Places {
        roots: vec!["/home/user/project".to_owned(), "/srv/shared".to_owned()],
        home: "/home/user".to_owned(),
        cwd: "/home/user/project".to_owned(),
        ..Places::default()
    }
}

fn rules(lines: &[(&str, Verdict)]) -> Rules {
    lines
        .iter()
        .map(|(text, verdict)| Rule::parse(text, *verdict, Origin::Config).expect(text))
        .collect()
}

fn run(command: &str, rules: &Rules, mode: Mode) -> Decision {
    let action = Action::Run { command: command.to_owned() };
    decide("bash", &action, rules, mode, &places())
}

/// Returns the rules that a flag names, as a shell reads it.
fn of_flag(flag: &str) -> Rules {
    let words = parse(flag).commands.remove(0).words;
    let named = words.iter().filter_map(|word| word.literal()).filter(|word| *word != "--allow");
    named.map(|text| Rule::parse(text, Verdict::Allow, Origin::CommandLine).expect(text)).collect()
}

/// Checks that each command gets this verdict by this rule, with no rules of a user's.
fn check(verdict: Verdict, rule: &str, commands: &[&str]) {
    let mut wrong = Vec::new();
    for command in commands {
        let decision = run(command, &Rules::default(), Mode::Auto);
        if decision.verdict != verdict || decision.rule != rule {
            wrong.push(format!("{command}\n    {:?} by {}", decision.verdict, decision.rule));
        }
        assert_eq!(decision.flag.is_some(), decision.verdict == Verdict::Ask, "{command}");
        if let Some(flag) = &decision.flag {
            let again = run(command, &of_flag(flag), Mode::Auto);
            assert_eq!(again.verdict, Verdict::Allow, "{command} with {flag}: {again:?}");
        }
    }
    assert!(wrong.is_empty(), "want {verdict:?} by {rule}\n{}", wrong.join("\n"));
}

fn deny(rule: &str, commands: &[&str]) {
    check(Verdict::Deny, &format!("built-in: {rule}"), commands);
}

fn ask(rule: &str, commands: &[&str]) {
    check(Verdict::Ask, &format!("built-in: {rule}"), commands);
}

fn allow(commands: &[&str]) {
    check(Verdict::Allow, "mode: auto", commands);
}

#[test]
fn rules_lift_questions_but_never_the_built_in_denials() {
    let check = |lines: &[(&str, Verdict)], command: &str, want: (Verdict, &str)| {
        let decision = run(command, &rules(lines), Mode::Auto);
        assert_eq!((decision.verdict, decision.rule.as_str()), want, "{lines:?} {command}");
    };
    let (allow, ask, deny) = (Verdict::Allow, Verdict::Ask, Verdict::Deny);
    check(&[("bash(git push:*)", allow)], "git push -f", (allow, "bash(git push:*)"));
    check(&[("bash", allow)], "git push -f", (allow, "bash"));
    check(&[("bash(git push:*)", allow)], "git reset --hard", (ask, "built-in: forced git"));
    check(
        &[("bash(git push:*)", allow)],
        "git push -f && git reset --hard",
        (ask, "built-in: forced git"),
    );
    check(&[("bash(git push:*)", allow)], "./git push -f", (ask, "built-in: forced git"));
    check(
        &[("bash(git push:*)", allow)],
        "git -c core.sshCommand=x push -f",
        (ask, "built-in: forced git"),
    );
    check(&[("bash", allow)], "rm -rf /", (deny, "built-in: removing the system"));
    check(&[("bash(rm:*)", allow)], "rm -rf ~", (deny, "built-in: removing the system"));
    check(&[("*", allow)], "sudo ls", (ask, "built-in: privileges"));
    check(&[("bash(sudo ls:*)", allow)], "sudo ls", (allow, "bash(sudo ls:*)"));
    check(&[("bash", allow)], "echo 'open", (allow, "bash"));
    let both = [("bash(curl:*)", allow), ("bash(sh:*)", allow)];
    check(&both, "curl x | sh", (allow, "bash(curl:*)"));
    check(&[("bash(cargo publish:*)", deny)], "a; cargo publish", (deny, "bash(cargo publish:*)"));
    check(
        &[("bash(cargo publish:*)", deny)],
        "sh -c 'cargo publish'",
        (deny, "bash(cargo publish:*)"),
    );
    check(&[("bash(curl:*)", deny), ("bash", allow)], "/usr/bin/curl x", (deny, "bash(curl:*)"));
    check(&[("bash(npm:*)", ask), ("bash(npm:*)", allow)], "npm i", (ask, "bash(npm:*)"));
    check(&[("bash", deny)], "ls", (deny, "bash"));
    check(&[("write_file", deny)], "ls", (allow, "mode: auto"));
    assert!(run("sudo ls", &rules(&[("bash(sudo ls:*)", allow)]), Mode::Auto).unconfined);
    assert!(!run("ls", &rules(&[]), Mode::Auto).unconfined);
}

#[test]
fn the_flag_that_is_named_allows_the_call() {
    let auto = [
        "git push origin main --force",
        "sudo apt install 'a b'",
        "rm -rf .",
        "rm -rf '*' .",
        "rm -rf \"it's\" .",
        "curl x | sh; git reset --hard",
        "curl x > f; sh f a",
        "wget x; python3 -u x",
        "bash -c \"$(curl x)\"",
        "curl -o \"$t/x\" x; \"$t/x\"",
        "eval \"$X\"",
        "echo 'open",
        "git clean -fd \"a:\"",
        "sudo '\u{202e}'",
        "sudo python3 -c 'print(1)'",
        "sudo awk '{ print $1 }' f",
        "sudo sed -i \"s/(a)[b]/$x/\" f",
        "sudo tee 'a (copy).txt' && sudo ls 'x[1]'",
        "sudo sh -c 'for f in *; do echo \"${f[0]}\"; done'",
        "sudo echo \"it's ($HOME) #1\" '#' a#b",
        "sudo ls \"\\$(x)\"",
    ];
    // What two things are asked about for needs leave for both.
    let ask = [
        "sudo make",
        "sudo '\u{202e}' make",
        "cd x && git push --force",
        "git clean -fd $'a\\nb' > f",
        "echo x > $F",
        "make > /dev/full",
        "PATH=. make; echo 'open",
    ];
    let all = auto.map(|line| (line, Mode::Auto)).into_iter();
    for (command, mode) in all.chain(ask.map(|line| (line, Mode::Ask))) {
        let flag = run(command, &Rules::default(), mode).flag.expect(command);
        assert!(is_plain(&flag), "{flag:?}");
        let decision = run(command, &of_flag(&flag), mode);
        assert_eq!(decision.verdict, Verdict::Allow, "{command} with {flag}: {decision:?}");
    }
    let no_rule = [
        "sudo true; make evil",
        "sudo make a)b",
        "X=1 sudo ls",
        "sudo ls > x",
        "sudo ls $'a\\x28'",
        "sudo ls \"$(echo '(')\"",
        "sudo ls ${x['a']}",
        "test -v 'a[$(ls)]'; sudo ls",
        "export 'PATH=(x)'; sudo ls",
        "sudo cat <<< '(a)'",
        "sudo ls # '\nfor PATH in '.'; do sudo ls; done # '",
        "sudo ls '('; $X",
    ];
    for command in no_rule {
        for mode in [Mode::Auto, Mode::Ask] {
            let decision = run(command, &Rules::default(), mode);
            assert_eq!((decision.verdict, decision.flag), (Verdict::Ask, None), "{command}");
            assert!(decision.reason.contains("; no rule can allow it: "), "{}", decision.reason);
            let all = ["bash", "bash(sudo:*)", "bash(ls:*)", "bash(test:*)", "bash(export:*)"];
            let all = rules(&all.map(|rule| (rule, Verdict::Allow)));
            assert_eq!(run(command, &all, mode).verdict, Verdict::Ask, "{command}");
        }
    }
}

#[test]
fn a_place_outside_is_allowed_by_the_rule_that_its_refusal_names() {
    let names = [
        "[a]", "a]", "it's", "\"q\"", "*", "a*b", "a?", "**", "(a)", "a)", ")", "a\\b", "\\*",
        "{x,y}", "$HOME", " a", "a:*", "汉 字", "~", "-x", "#", "a;b",
    ];
    for name in names {
        for (access, tool) in [(Access::Read, "read_file"), (Access::Write, "write_file")] {
            for is_folder in [false, true] {
                let path = format!("/opt/{name}");
                let outside = |path: &str| {
                    let path = path.to_owned();
                    let (written, closed) = (path.clone(), None);
                    let (protected, within) = (false, false);
                    Action::Outside(OutsidePlace {
                        written,
                        path,
                        access,
                        is_folder,
                        protected,
                        within,
                        closed,
                    })
                };
                let decide = |path: &str, rules: &Rules| {
                    decide(tool, &outside(path), rules, Mode::Auto, &places())
                };
                let flag = decide(&path, &Rules::default()).flag.expect(name);
                assert_eq!(decide(&path, &of_flag(&flag)).verdict, ALLOW, "{flag}");
                for other in [format!("/opt/x{name}"), format!("/opt/{name}x"), "/opt/b".into()] {
                    assert_eq!(decide(&other, &of_flag(&flag)).verdict, ASK, "{flag} {other}");
                }
            }
        }
    }
    for (name, why) in [("a ", "no rule can say its name"), ("a\nb", "does not show as it is")] {
        let path = format!("/opt/{name}");
        let (access, is_folder, protected) = (Access::Read, false, false);
        let place = OutsidePlace {
            written: path.clone(),
            path,
            access,
            is_folder,
            protected,
            within: false,
            closed: None,
        };
        let action = Action::Outside(place);
        let decision = decide("read_file", &action, &Rules::default(), Mode::Auto, &places());
        assert_eq!(decision.flag, None);
        assert!(decision.reason.contains(why), "{}", decision.reason);
    }
}

#[test]
fn modes_decide_what_no_rule_decides() {
    let check = |mode, command, want: Verdict| {
        assert_eq!(run(command, &Rules::default(), mode).verdict, want, "{mode:?} {command}");
    };
    check(Mode::ReadOnly, "git status && cat x", Verdict::Allow);
    check(Mode::ReadOnly, "cargo build", Verdict::Deny);
    check(Mode::ReadOnly, "cat x > y", Verdict::Deny);
    check(Mode::ReadOnly, "echo 'open", Verdict::Deny);
    let flag = |command: &str| run(command, &Rules::default(), Mode::ReadOnly).flag;
    assert_eq!(flag("cargo build").as_deref(), Some("--mode auto"));
    let forced = "--mode auto --allow 'bash(git push -f:*)'";
    assert_eq!(flag("git push -f").as_deref(), Some(forced));
    assert_eq!(flag("rm -rf /"), None);
    check(Mode::Ask, "ls", Verdict::Ask);
    check(Mode::Ask, "rm -rf /", Verdict::Deny);
    let allowed = ["bash(cargo test:*)", "bash(cd:*)", "write(src/logs/**)"];
    let allowed = rules(&allowed.map(|rule| (rule, Verdict::Allow)));
    for (command, want) in [
        ("cd x && cargo test -q", Verdict::Allow),
        ("timeout 60 cargo test", Verdict::Allow),
        ("X=1; cargo test", Verdict::Allow),
        ("RUST_LOG=debug cargo test", Verdict::Allow),
        ("PATH=. cargo test", Verdict::Ask),
        ("PATH=.; cargo test", Verdict::Ask),
        ("LD_PRELOAD=./x timeout 60 cargo test", Verdict::Ask),
        ("cargo test 2>&1 > /dev/null", Verdict::Allow),
        ("cargo test > /tmp/out.txt", Verdict::Allow),
        ("cargo test > /dev/stderr", Verdict::Allow),
        ("cargo test > /dev/fd/2", Verdict::Allow),
        ("cargo test > /dev/fd/../tcp/host/80", Verdict::Ask),
        ("cargo test > /dev/tcp/host/80", Verdict::Ask),
        ("cargo test > out.txt", Verdict::Ask),
        ("cargo test > $x", Verdict::Ask),
        ("cargo test > out/$x", Verdict::Ask),
        ("cargo test; > Cargo.toml", Verdict::Ask),
        ("cd src && cargo test 2> logs/err.txt", Verdict::Allow),
        ("cd src; cargo test 2> logs/err.txt", Verdict::Ask),
        ("cargo test > src/logs/../main.rs", Verdict::Ask),
        ("X=1; > src/logs/a", Verdict::Allow),
        ("cargo test > ~/.bashrc", Verdict::Ask),
        ("cargo test; make", Verdict::Ask),
        ("cargo test $(make)", Verdict::Ask),
        ("timeout 60 make", Verdict::Ask),
    ] {
        assert_eq!(run(command, &allowed, Mode::Ask).verdict, want, "{command}");
    }
    let flag = run("$PYTHON -m pytest", &Rules::default(), Mode::Ask).flag;
    assert_eq!(flag.as_deref(), Some("--allow 'bash'"));
    for (command, want) in [
        ("cargo test > a.txt", "--allow 'write(/home/user/project/a.txt)'"),
        ("> a.txt", "--allow 'write(/home/user/project/a.txt)'"),
        (
            "make all > a.txt",
            "--allow 'bash(make all:*)' --allow 'write(/home/user/project/a.txt)'",
        ),
        ("cargo test > 'a*.txt'", r"--allow 'write(/home/user/project/a\*.txt)'"),
        ("cargo test > $'a\nb'", "--allow 'bash'"),
        ("cargo test > a$x", "--allow 'bash'"),
    ] {
        assert_eq!(run(command, &allowed, Mode::Ask).flag.as_deref(), Some(want), "{command}");
    }
    for command in ["cargo test > a.txt", "> a.txt"] {
        let reason = run(command, &allowed, Mode::Ask).reason;
        let expected = "every write is asked about in ask mode: /home/user/project/a.txt";
        assert_eq!(reason, expected, "{command}");
    }
    let flag = run("cargo test -q && make all", &Rules::default(), Mode::Ask).flag;
    assert_eq!(flag.as_deref(), Some("--allow 'bash(cargo test:*)' --allow 'bash(make all:*)'"));
}

#[test]
fn a_name_that_no_rule_can_say_is_allowed_by_the_tools_rule() {
    let flag = |path: &str| {
        let write = Action::Write { path: path.into(), written: None, protected: false };
        decide("write_file", &write, &Rules::default(), Mode::Ask, &places()).flag
    };
    assert_eq!(flag("a.md").as_deref(), Some("--allow 'write_file(a.md)'"));
    assert_eq!(flag("docs/What?.md").as_deref(), Some(r"--allow 'write_file(docs/What\?.md)'"));
    assert_eq!(flag("a*b.txt").as_deref(), Some(r"--allow 'write_file(a\*b.txt)'"));
    assert_eq!(flag("~/x").as_deref(), Some("--allow 'write_file(./~/x)'"));
    for path in ["a ", "a\nb"] {
        assert_eq!(flag(path).as_deref(), Some("--allow 'write_file'"), "{path}");
    }
}

#[test]
fn what_may_be_forbidden_is_asked_about() {
    let denied = rules(&[("bash(git push:*)", DENY), ("bash(rm -rf:*)", DENY)]);
    for (command, want) in [
        ("git $1 origin", ASK),
        ("git ${x:-push}", ASK),
        ("git pu$x", ASK),
        ("git -c alias.p=push p", DENY),
        ("git -c Alias.p='!git push' p", DENY),
        ("rm $flags a", ASK),
        ("rm ./$x", ALLOW),
        ("git commit -m \"$x\"", ALLOW),
        ("git -C $x status", ALLOW),
        ("git", ALLOW),
    ] {
        assert_eq!(run(command, &denied, Mode::Auto).verdict, want, "{command}");
        let read_only = run(command, &denied, Mode::ReadOnly).verdict;
        assert_eq!(read_only == ALLOW, command == "git -C $x status", "{command}");
    }
}

const ALLOW: Verdict = Verdict::Allow;
const ASK: Verdict = Verdict::Ask;
const DENY: Verdict = Verdict::Deny;

fn write(path: &str) -> Action {
    Action::Write { path: path.to_owned(), written: None, protected: false }
}

fn write_protected(path: &str) -> Action {
    Action::Write { path: path.to_owned(), written: None, protected: true }
}

fn read(path: &str) -> Action {
    Action::Read { paths: vec![path.to_owned()] }
}

fn check_tool(
    lines: &[(&str, Verdict)],
    mode: Mode,
    tool: &str,
    action: &Action,
    verdict: Verdict,
    rule: &str,
) {
    let decision = decide(tool, action, &rules(lines), mode, &places());
    assert_eq!((decision.verdict, decision.rule.as_str()), (verdict, rule), "{lines:?} {action:?}");
}

#[test]
fn writes_are_decided_by_mode_rule_and_protection() {
    let check = |lines: &[(&str, Verdict)], mode, action, verdict, rule| {
        check_tool(lines, mode, "edit_file", &action, verdict, rule);
    };
    let protected = "built-in: protected file";
    check(&[], Mode::Auto, write("a.rs"), ALLOW, "mode: auto");
    check(&[], Mode::Ask, write("a.rs"), ASK, "mode: ask");
    check(&[], Mode::ReadOnly, write("a.rs"), DENY, "mode: read-only");
    check(&[], Mode::Auto, write_protected(".envrc"), ASK, protected);
    check(&[("edit_file", ALLOW)], Mode::Auto, write_protected(".envrc"), ASK, protected);
    check(&[("edit_file(**)", ALLOW)], Mode::Auto, write_protected(".envrc"), ASK, protected);
    let named = "edit_file(.envrc)";
    check(&[(named, ALLOW)], Mode::Auto, write_protected(".envrc"), ALLOW, named);
    let source = "edit_file(src/**)";
    check(&[(source, ALLOW)], Mode::Ask, write("src/a/b.rs"), ALLOW, source);
    check(&[(source, ALLOW)], Mode::Ask, write("src/../x"), ASK, "mode: ask");
    check(&[(source, DENY)], Mode::Auto, write("./src//x"), DENY, source);
    let action = write_protected(".envrc");
    let decision = decide("edit_file", &action, &Rules::default(), Mode::Auto, &places());
    assert_eq!(decision.flag.as_deref(), Some("--allow 'edit_file(.envrc)'"));
}

#[test]
fn a_link_is_judged_by_its_name_and_by_where_it_leads() {
    let linked = |written: &str, path: &str| Action::Write {
        path: path.into(),
        written: Some(written.into()),
        protected: false,
    };
    let check = |line, verdict, action, want, rule| {
        check_tool(&[(line, verdict)], Mode::Ask, "edit_file", &action, want, rule);
    };
    let out = || linked("src/out/x", "secrets/x");
    let asked = "mode: ask";
    check("write(src/**)", ALLOW, out(), ASK, asked);
    check("write(secrets/**)", ALLOW, out(), ALLOW, "write(secrets/**)");
    check("write(src/**)", DENY, out(), DENY, "write(src/**)");
    check("write(secrets/**)", DENY, out(), DENY, "write(secrets/**)");
    check("edit_file(secrets/*)", ASK, out(), ASK, "edit_file(secrets/*)");
    let read = Action::Read { paths: vec!["s/key".into(), "secrets/key".into()] };
    let denied = "read(secrets/**)";
    check_tool(&[(denied, DENY)], Mode::Auto, "read_file", &read, DENY, denied);
    let by_name = "read_file(s/**)";
    check_tool(&[(by_name, DENY)], Mode::Auto, "read_file", &read, DENY, by_name);
}

#[test]
fn reads_and_other_tools_are_decided_by_mode_and_rule() {
    let keys = "*(**/*.key)";
    let home = "read_file(~/**)";
    let hosts = "read_file(/etc/*)";
    let check = |lines: &[(&str, Verdict)], mode, action, verdict, rule| {
        check_tool(lines, mode, "read_file", &action, verdict, rule);
    };
    check(&[], Mode::ReadOnly, read("a.rs"), ALLOW, "mode: read-only");
    check(&[(keys, DENY)], Mode::Auto, read("a/b.key"), DENY, keys);
    check(&[(home, DENY)], Mode::Auto, read("a"), DENY, home);
    check(&[(hosts, ASK)], Mode::Auto, read("/etc/hosts"), ASK, hosts);
    let other = Action::Other { subject: "https://x/y".to_owned() };
    let pages = "fetch(https://x/*)";
    check_tool(&[], Mode::Auto, "fetch", &other, ALLOW, "mode: auto");
    check_tool(&[], Mode::ReadOnly, "fetch", &other, DENY, "mode: read-only");
    check_tool(&[(pages, DENY)], Mode::Auto, "fetch", &other, DENY, pages);
}

#[test]
fn a_question_about_what_a_link_leads_to_says_both_names() {
    let action = Action::Write {
        path: "config/envrc".into(),
        written: Some(".envrc".into()),
        protected: true,
    };
    let decision = decide("write_file", &action, &rules(&[]), Mode::Auto, &places());
    let expected = "writing `config/envrc` can make other programs run code later; the model named it `.envrc`";
    assert_eq!((decision.verdict, decision.reason.as_str()), (ASK, expected));
    assert_eq!(decision.flag.as_deref(), Some("--allow 'write_file(config/envrc)'"));
}

#[test]
fn what_is_asked_about_by_name_is_lifted_by_that_name_alone() {
    let place = |path: &str, access| OutsidePlace {
        written: "link".into(),
        path: path.into(),
        access,
        is_folder: false,
        protected: false,
        within: false,
        closed: None,
    };
    let outside = |path: &str, access| Action::Outside(place(path, access));
    let decision = |lines: &[(&str, Verdict)], mode, action: &Action| {
        decide("read_file", action, &rules(lines), mode, &places())
    };
    let read = outside("/etc/hosts", Access::Read);
    let asked = decision(&[], Mode::Auto, &read);
    assert_eq!((asked.verdict, asked.rule.as_str()), (ASK, "built-in: path outside"));
    assert_eq!(asked.flag.as_deref(), Some("--allow 'read(/etc/hosts)'"));
    assert_eq!(asked.always.as_ref().map(ToString::to_string).as_deref(), Some("read(/etc/hosts)"));
    assert!(asked.reason.contains("`link`"), "{}", asked.reason);
    for (rule, verdict, mode, want) in [
        ("read_file", ALLOW, Mode::Auto, ASK),
        ("*", ALLOW, Mode::Auto, ASK),
        ("read_file(/etc/hosts)", ALLOW, Mode::Auto, ASK),
        ("read(/etc/hosts)", ALLOW, Mode::Auto, ALLOW),
        ("read(/etc/hosts)", ALLOW, Mode::ReadOnly, ALLOW),
        ("read(/etc/**)", ALLOW, Mode::Ask, ALLOW),
        ("read_file(/etc/**)", DENY, Mode::Auto, DENY),
        ("read(link)", DENY, Mode::Auto, DENY),
        ("*", DENY, Mode::Auto, DENY),
    ] {
        assert_eq!(decision(&[(rule, verdict)], mode, &read).verdict, want, "{rule}");
    }
    let write = outside("/home/user/notes/a", Access::Write);
    assert_eq!(decision(&[("read(~/notes/**)", ALLOW)], Mode::Auto, &write).verdict, ASK);
    assert_eq!(decision(&[("write(~/notes/**)", ALLOW)], Mode::Auto, &write).verdict, ALLOW);
    assert_eq!(decision(&[("write(~/notes/**)", ALLOW)], Mode::ReadOnly, &write).verdict, DENY);
    let protected = Action::Outside(OutsidePlace {
        protected: true,
        ..place("/home/user/notes/.envrc", Access::Write)
    });
    assert_eq!(decision(&[("write(~/notes/**)", ALLOW)], Mode::Auto, &protected).verdict, ASK);
    assert_eq!(
        decision(&[("write(~/notes/.envrc)", ALLOW)], Mode::Auto, &protected).verdict,
        ALLOW
    );
    let closed = Action::Outside(OutsidePlace {
        closed: Some("it is the kernel's".into()),
        ..place("/proc/self/environ", Access::Read)
    });
    for action in [closed, outside("/a\u{202e}b", Access::Read), outside("/a\nb", Access::Read)] {
        let decision = decision(&[("read(/**)", ALLOW)], Mode::Auto, &action);
        assert_eq!((decision.verdict, decision.always), (DENY, None), "{action:?}");
    }
}

#[test]
fn a_protected_file_is_kept_under_its_own_name() {
    let asked =
        decide("edit_file", &write_protected(".envrc"), &Rules::default(), Mode::Auto, &places());
    let kept = asked.always.as_ref().map(ToString::to_string);
    assert_eq!(kept.as_deref(), Some("write(/home/user/project/.envrc)"));
    assert_eq!(asked.leaves, Some(super::Leaves::ProtectedFile));
    let rules: Rules = asked.lifted_by.into_iter().collect();
    let verdict =
        |tool, path| decide(tool, &write_protected(path), &rules, Mode::Auto, &places()).verdict;
    assert_eq!(verdict("write_file", ".envrc"), ALLOW);
    assert_eq!(verdict("write_file", "sub/.envrc"), ASK);
    assert_eq!(verdict("write_file", "/srv/shared/.envrc"), ASK);
}
