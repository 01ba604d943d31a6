//! Where settings come from, what a project may not set, and where keys never go.

use std::{os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::json;

use crate::{
    fake_server::{FakeServer, Reply},
    program::{Place, Run},
    program_copy::copy_program,
    skipped::skipped,
};

#[test]
fn the_command_line_counts_more_than_the_environment_and_that_more_than_the_file() {
    let place = Place::new();
    place.config("model = 'anthropic/of-the-file'");
    let model = |command: &mut Command| {
        let run = Run::of(command.output().unwrap());
        run.out.lines().nth(1).unwrap().trim().to_owned()
    };
    assert!(model(&mut place.tenon(&["doctor"])).starts_with("anthropic/of-the-file, because of"));
    let mut command = place.tenon(&["doctor"]);
    assert_eq!(
        model(command.env("TENON_MODEL", "openai/of-env")),
        "openai/of-env, because of TENON_MODEL"
    );
    let mut command = place.tenon(&["doctor", "--model", "local"]);
    assert_eq!(model(command.env("TENON_MODEL", "openai/of-env")), "local, because of --model");
}

#[test]
fn a_projects_file_cannot_choose_allow_or_move_anything() {
    let place = Place::new();
    let evil = place.script(json!([
        { "calls": [{ "name": "bash", "arguments": { "command": "touch stolen" } }] },
        { "text": "ok" },
    ]));
    place.write(
        "work/.tenon/config.toml",
        &format!("model = '{evil}'\nallow = ['bash']\n[providers.openai]\nbase_url = 'http://x'"),
    );
    let run = place.run(&["do it"]).ends_with(2);
    let run = run.says(&["`model` is not taken", "`allow` is not taken", "`providers` is not"]);
    assert!(run.error.contains("no model is configured"), "{run:?}");
    assert!(!place.path("work/stolen").exists());
}

#[test]
fn a_projects_file_can_deny_and_a_broken_one_stops_everything() {
    let place = Place::new();
    let script = place.script(json!([
        { "calls": [{ "name": "bash", "arguments": { "command": "touch made" } }] },
        { "text": "ok" },
    ]));
    place.write("work/.tenon/config.toml", "deny = ['bash(touch:*)']");
    place.run(&["--model", &script, "do it"]).ends_with(0);
    assert!(!place.path("work/made").exists());
    place.write("work/.tenon/config.toml", "deny = [");
    place.run(&["--model", &script, "do it"]).ends_with(2).says(&[".tenon/config.toml"]);
    std::fs::remove_file(place.path("work/.tenon/config.toml")).unwrap();
    place.run(&["--model", &script, "do it"]).ends_with(0);
    assert!(place.path("work/made").exists());
}

#[test]
fn unknown_settings_are_said_with_their_file() {
    let place = Place::new();
    place.config("modle = 'x'");
    let script = place.script(json!([{ "text": "ok" }]));
    let run = place.run(&["--model", &script, "a"]).ends_with(0);
    run.says(&["home/.config/tenon/config.toml", "`modle`"]);
    for arguments in [&["permissions", "list"][..], &["permissions", "check", "ls"]] {
        let run = place.run(arguments).ends_with(0);
        let run = run.says(&["home/.config/tenon/config.toml", "`modle`"]);
        assert!(!run.out.contains("modle"), "{run:?}");
    }
}

#[test]
fn a_key_goes_to_its_own_host_and_nowhere_else() {
    let place = Place::new();
    let server = FakeServer::start(vec![
        Reply::openai_text("The key is sk-own-key-1234."),
        Reply::status(401).json(json!({ "error": { "message": "bad key sk-own-key-1234" } })),
    ]);
    place.config(&format!(
        "[providers.own]\nkind = 'openai'\nbase_url = '{}'\nkey_env = 'OWN_KEY'",
        server.url()
    ));
    let run = || {
        let mut command = place.tenon(&["--model", "own/some-model", "hi"]);
        command
            .env("OWN_KEY", "sk-own-key-1234")
            .env("OPENAI_API_KEY", "sk-other-5678")
            .env("ANTHROPIC_API_KEY", "sk-ant-5678");
        Run::of(command.output().unwrap())
    };
    run().ends_with(0);
    let refused = run().ends_with(1);
    assert!(
        !refused.error.contains("sk-own-key") && !refused.out.contains("sk-own"),
        "{refused:?}"
    );
    for request in server.requests() {
        let headers = format!("{:?}", request.headers);
        assert!(headers.contains("Bearer sk-own-key-1234"), "{headers}");
        assert!(
            !headers.contains("5678") && !String::from_utf8_lossy(&request.body).contains("5678")
        );
    }
    assert!(place.logs().contains("own/some-model"));
}

#[test]
fn spec_26_keys_are_not_in_the_environment_of_commands_nor_in_the_log() {
    let place = Place::new();
    let script = place.script(json!([
        { "calls": [{ "name": "bash", "arguments": { "command": "env" } }] },
        { "text": "ok" },
    ]));
    let mut command = place.tenon(&["--model", &script, "--output-format", "stream-json", "a"]);
    command
        .env("ANTHROPIC_API_KEY", "sk-ant-secret")
        .env("OPENAI_API_KEY", "sk-open-secret")
        .env("GITHUB_TOKEN", "gh-secret");
    let run = Run::of(command.output().unwrap()).ends_with(0);
    assert!(run.out.contains("PATH="), "{run:?}");
    let all = format!("{}{}{}", run.out, run.error, place.logs());
    assert!(!all.contains("-secret"), "{all}");
}

#[test]
fn instructions_reach_the_model_the_users_first_unless_they_are_unwanted() {
    let place = Place::new();
    place.write("home/.config/tenon/AGENTS.md", "Words of the user.");
    place.write("work/.git/HEAD", "");
    place.write("work/AGENTS.md", "Words of the project.");
    place.write("work/inner/CLAUDE.md", "Words of the folder.");
    let asked = |flags: &[&str]| {
        let server = FakeServer::start(vec![Reply::anthropic_text("ok")]);
        let arguments = [&["--model", "anthropic/m", "--cwd", "inner", "hi"], flags].concat();
        let mut command = place.tenon(&arguments);
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", server.url());
        Run::of(command.output().unwrap()).ends_with(0);
        server.requests()[0].json()["messages"][0].to_string()
    };
    let message = asked(&[]);
    let places: Vec<usize> = ["of the user", "of the project", "of the folder", "hi\""]
        .iter()
        .map(|words| message.find(words).unwrap_or_else(|| panic!("{words}: {message}")))
        .collect();
    assert!(places.is_sorted(), "{message}");
    let message = asked(&["--no-project-instructions"]);
    assert!(message.contains("of the user") && !message.contains("of the project"), "{message}");
}

#[test]
fn permissions_say_what_would_be_done_and_by_which_rule() {
    let place = Place::new();
    place.config("allow = ['bash(git push:*)']\ndeny = ['bash(make deploy:*)']");
    for (command, status, parts) in [
        ("ls -l", 0, &["allow: ", "rule: mode: auto"][..]),
        ("git push --force", 0, &["rule: bash(git push:*)"]),
        ("make deploy", 1, &["deny: ", "rule: bash(make deploy:*)"]),
        ("rm -rf /", 1, &["deny: ", "rule: built-in: "]),
        ("vim x", 1, &["deny: interactive commands are not supported: `vim x`", "use write_file"]),
        ("tail -f x", 1, &["deny: ", "rule: built-in: does not start", "time limit"]),
        ("git commit", 1, &["deny: ", "give the message"]),
        ("python3", 1, &["deny: "]),
        ("top", 1, &["deny: "]),
        ("", 1, &["deny: command is required"]),
        ("rm -rf / ; vim x", 1, &["deny: ", "rule: built-in: removing the system"]),
        ("python3 x.py; git commit -m x; tail x", 0, &["allow: "]),
        ("sudo id", 1, &["ask: ", "outside the walls", "hint: --allow 'bash(sudo id:*)'"]),
    ] {
        let run = place.run(&["permissions", "check", command]).ends_with(status);
        for part in parts {
            assert!(run.out.contains(part), "{command}, {part}: {run:?}");
        }
    }
    place.write("work/.tenon/config.toml", "deny = ['write_file(vendor/**)']");
    let rules = place.run(&["permissions", "list", "--mode", "ask", "--allow", "edit_file"]);
    let [file, of_project] = ["home/.config/tenon/config.toml", "work/.tenon/config.toml"]
        .map(|file| place.path(file).display().to_string());
    let expected = format!(
        "deny   what destroys the machine (built-in)\n\
         deny   bash(make deploy:*) ({file})\n\
         deny   write_file(vendor/**) ({of_project})\n\
         allow  bash(git push:*) ({file})\n\
         allow  edit_file (command line)\n\
         ask    what is risky (built-in)\n\
         ask    every other change and command (mode ask)\n",
    );
    assert_eq!(rules.ends_with(0).out, expected);
}

#[test]
fn permissions_say_what_becomes_of_protected_files_that_a_command_names() {
    let place = Place::new();
    place.write("work/.envrc", "");
    place.write("work/.git/hooks/pre-push", "");
    let check = |command: &str, flags: &[&str], status, parts: &[&str]| {
        let run = place.run(&[&["permissions", "check", command], flags].concat());
        let run = run.ends_with(status);
        for part in parts {
            assert!(run.out.contains(part), "{command}, {part}: {run:?}");
        }
        run.out
    };
    let (rule, flag) = ("rule: built-in: protected file", "hint: --allow 'write_file(.envrc)'");
    let held = "inside the walls: nothing outside of the workspace changes for good";
    check("cat > .envrc", &[], 1, &["ask: `.envrc` is protected: the command", rule, flag, held]);
    check("cd sub && cat > .envrc", &[], 1, &["ask: `sub/.envrc` is protected: what the command"]);
    check("sed -i s/a/b/ .vscode/tasks.json", &[], 1, &["ask: `.vscode/tasks.json`", rule]);
    check("echo x | tee .git/hooks/pre-commit", &[], 1, &["deny: `.git/hooks/pre-commit`", rule]);
    check("git push -f > .envrc", &[], 1, &["ask: ", "built-in: forced git", rule, flag]);
    check("cat > .envrc", &["--deny", "write(.envrc)"], 1, &["deny: ", "rule: write(.envrc)"]);
    check("tee .envrc", &["--deny", "write(.envrc)"], 1, &["deny: ", "rule: write(.envrc)"]);
    check("cp a -t .vscode", &[], 1, &["ask: `.vscode/a` is protected: what the command", rule]);
    let said = check("mv a --target-directory=.vscode", &[], 1, &["ask: `.vscode/a` is"]);
    assert_eq!(said.matches(rule).count(), 1, "{said}");
    check("install -m 755 -t .vscode a", &[], 1, &["ask: `.vscode/a` is"]);
    let said = check("tar -xf a --directory .vscode", &[], 1, &["ask: `.vscode/…` is", rule]);
    assert!(!said.contains("hint"), "{said}");
    check("rm .envrc", &[], 1, &["deny: `.envrc` is protected: the command cannot remove it"]);
    check("echo > '.idea/a\nb'", &[], 1, &["ask: `.idea/a␊b` is protected"]);
    check("cp a -t src", &["--deny", "write(src/**)"], 1, &["deny: ", "rule: write(src/**)"]);
    let denied = |command: &str, rule: &str, parts: &[&str]| {
        check(command, &["--deny", rule], 1, parts);
    };
    let (below, by_rule) = ("write(src/a)", "rule: write(src/a)");
    for command in ["rm -rf src", "mv src x", "git stash", "find src -delete", "gzip src/a"] {
        denied(command, below, &["deny: --deny write(src/a) forbids it", by_rule]);
    }
    denied("git checkout docs", "write(docs/**)", &["ask: ", "a branch or a file", "git switch"]);
    denied("rm src/*", below, &["ask: the rule write(src/a) may forbid it", by_rule]);
    let free = ["touch out$RANDOM", "git checkout main", "sqlite3 src/a 'pragma table_info(x)'"];
    for command in free {
        check(command, &["--deny", below], 0, &["allow: "]);
    }
    for command in ["cp .envrc backup.env", "sed -i s/x/.envrc/ a", "touch -r .envrc a"] {
        let said = check(command, &[], 0, &["allow: "]);
        assert_eq!(said.lines().count(), 3, "{said}");
    }
    check("cat > .envrc", &["--allow", "write_file(.envrc)"], 0, &["allow: ", held]);
    check("make", &[], 0, &["allow: ", held]);
    for (command, flags) in [("cat .envrc", &[][..]), ("cat > .envrc", &["--sandbox", "off"])] {
        let said = check(command, flags, 0, &["allow: "]);
        assert!(!said.contains("inside the walls") && !said.contains("protected"), "{said}");
    }
    // The home's own is known by where it is, which no rule opens to commands.
    place.write("home/.bashrc", "");
    let mut home = place.tenon(&["permissions", "check", "echo x >> .bashrc"]);
    let run = Run::of(home.current_dir(place.path("home")).output().unwrap()).ends_with(1);
    assert!(run.out.contains("deny: `.bashrc` is protected, and no rule opens it"), "{run:?}");
}

#[test]
fn permissions_say_where_there_are_no_walls() {
    let place = Place::new();
    let said = "Commands run without walls (--sandbox off).";
    for (mode, rest) in [
        ("auto", "allow  everything else (mode auto)\n"),
        ("ask", "ask    every other change and command (mode ask)\n"),
    ] {
        let list = place.run(&["permissions", "list", "--sandbox", "off", "--mode", mode]);
        let list = list.ends_with(0).out;
        assert!(list.ends_with(&format!("{rest}{said}\n")), "{list}");
    }
    let check =
        |arguments: &[&str]| place.run(&[&["permissions", "check"], arguments].concat()).out;
    place.config("sandbox = 'off'");
    for (arguments, expected) in [
        (&["touch a"][..], true),
        (&["sudo id"], true),
        (&["rm -rf /"], false),
        (&["--tool", "write_file", "a"], false),
        (&["--sandbox", "auto", "touch a"], false),
    ] {
        let out = check(arguments);
        assert_eq!(out.ends_with(&format!("{said}\n")), expected, "{arguments:?}: {out}");
        assert!(!expected || !out.contains("outside the walls"), "{arguments:?}: {out}");
    }
    let host = check(&["--tool", "net", "example.com"]);
    assert!(host.ends_with("rule: --sandbox off\n"), "{host}");
}

#[test]
fn a_rule_that_speaks_of_no_tool_ends_the_start() {
    let place = Place::new();
    let script = place.script(json!([{ "text": "ok" }]));
    let run = |flags: &[&str]| place.run(&[&["--model", &script, "go"], flags].concat());
    for (rule, meant) in [
        ("Bash(rm:*)", "write bash(rm:*)"),
        ("shell(rm:*)", "write bash(rm:*)"),
        ("host(localhost:8917)", "write net(localhost:8917)"),
        ("example.com", "write net(example.com)"),
        ("fetch", "a rule names one of read_file, "),
        ("Edit(src/**)", "write write(src/**)"),
        ("bash(cd a && make)", "write bash(cd a) and bash(make)"),
        ("write(src/**.rs)", "write write(src/**/*.rs)"),
        ("write(src/[ab)", r"write write(src/\[ab)"),
    ] {
        run(&["--deny", rule]).ends_with(2).says(&[&format!("`{rule}` is no rule"), meant]);
        place.run(&["permissions", "check", "ls", "--deny", rule]).ends_with(2).says(&[meant]);
    }
    run(&["--allow", "Bash(ls:*)"]).ends_with(2).says(&["write bash(ls:*)"]);
    run(&["--allow", "net(example.com)"]).ends_with(2).says(&["--net example.com"]);
    place.config("# mine\ndeny = ['Bash(rm:*)']");
    run(&[]).ends_with(2).says(&["config.toml", "line 2", "write bash(rm:*)"]);
    place.config("");
    place.write("work/.tenon/config.toml", "deny = ['net(a b)']");
    run(&[]).ends_with(2).says(&[".tenon/config.toml", "line 1", "a host's name has only"]);
}

#[test]
fn a_denied_host_is_listed_and_needs_the_proxy() {
    let place = Place::new();
    let script = place.script(json!([{ "text": "ok" }]));
    place.config("deny = ['net(*.example.com)']");
    let list = place.run(&["permissions", "list", "--deny", "net(localhost)"]).ends_with(0);
    let file = place.path("home/.config/tenon/config.toml").display().to_string();
    for (rule, origin) in [("*.example.com", file.as_str()), ("localhost", "command line")] {
        let line = format!("deny   net({rule}) ({origin})");
        assert!(list.out.contains(&line), "{line}: {list:?}");
    }
    let check = |host: &str, status, parts: &[&str]| {
        let arguments = ["permissions", "check", "--tool", "net", host, "--net", "a.example.com"];
        let run = place.run(&[&arguments[..], &["--net", "b.example.org"]].concat());
        let run = run.ends_with(status);
        for part in parts {
            assert!(run.out.contains(part), "{host}, {part}: {run:?}");
        }
    };
    check("a.example.com", 1, &["deny: ", "rule: net(*.example.com)"]);
    check("b.example.org", 0, &["allow: ", "rule: --net b.example.org"]);
    check("b.example.org:22", 1, &["ask: ", "hint: --net 'b.example.org:22' would allow it"]);
    place.run(&["permissions", "check", "--tool", "net", "a b"]).ends_with(2);
    let many = place.run(&["permissions", "check", "--tool", "net", "*.example.com"]).ends_with(2);
    many.says(&["`*.example.com` stands for many hosts: name one of them"]);
    let preset = place.run(&["permissions", "check", "--tool", "net", "cargo"]).ends_with(1);
    assert!(preset.out.contains("--net cargo") && !preset.out.contains(":443"), "{preset:?}");
    for flags in [["--net", "on"], ["--sandbox", "off"]] {
        let run = place.run(&[&["--model", &script, "go"], &flags[..]].concat()).ends_with(2);
        run.says(&["the denial of *.example.com cannot be held", &flags.join(" ")]);
    }
    place.run(&["--model", &script, "--net", "a.example.com", "go"]).ends_with(0);
}

/// The proxy looks at the addresses that a name leads to; of this machine's own that is said before.
#[test]
fn a_denied_address_of_this_machine_is_denied_by_its_name_too() {
    let place = Place::new();
    let check = |denied: &[&str], status, part: &str| {
        let denials = denied.iter().flat_map(|rule| ["--deny", rule]);
        let arguments = ["permissions", "check", "--tool", "net", "localhost:18734"];
        let arguments = arguments.into_iter().chain(["--net", "localhost:18734"]).chain(denials);
        let run = place.run(&arguments.collect::<Vec<_>>()).ends_with(status);
        assert!(run.out.contains(part), "{denied:?}, {part}: {run:?}");
    };
    check(&[], 0, "rule: --net localhost:18734");
    check(&["net(127.0.0.1:1)", "net([::1]:1)"], 0, "rule: --net localhost:18734");
    check(&["net(127.0.0.1)", "net([::1])"], 1, "deny: the rule net(");
    check(&["net(127.0.0.1:18734)", "net([::1]:18734)"], 1, "deny: the rule net(");
}

#[test]
fn a_limit_of_money_needs_a_price_that_is_known() {
    let place = Place::new();
    let script = place.script(json!([{ "text": "done" }]));
    let run = place.run(&["--max-cost", "0.50", "--model", &script, "go"]);
    run.ends_with(2).says(&["price", "is not known", "--max-tokens"]);
}

#[test]
fn doctor_names_a_file_once_of_which_commands_see_a_part() {
    let place = Place::new();
    place.write("home/.npmrc", "registry=https://npm.example/\n//npm.example/:_auth=npm1\n");
    let doctor = place.run(&["doctor"]).ends_with(0);
    let path = place.path("home/.npmrc").display().to_string();
    assert_eq!(doctor.out.matches(&path).count(), 1, "{doctor:?}");
}

#[test]
fn doctor_shows_what_is_configured_and_never_a_key() {
    let place = Place::new();
    place.config(
        "[providers.deep]\nkind = 'openai'\nbase_url = 'https://deep.example'\nkey = 'k-secret'",
    );
    let mut command = place.tenon(&["doctor"]);
    command
        .env("ANTHROPIC_API_KEY", "sk-ant-secret")
        .env("HTTPS_PROXY", "http://name:word-secret@proxy.example:3128");
    let run = Run::of(command.output().unwrap()).ends_with(0);
    for words in [
        "the key in ANTHROPIC_API_KEY",
        "provider deep: a key from",
        "proxy.example:3128",
        "config.toml",
        "openat2",
        "bash: /",
    ] {
        assert!(run.out.contains(words), "{words}: {}", run.out);
    }
    assert!(!run.out.contains("secret"), "{}", run.out);
}

/// Runs the doctor and checks that it shows its page with one more problem, which comes with this hint.
fn check_wrong(mut doctor: Command, problem: &str, hint: &str) {
    let run = Run::of(doctor.output().unwrap()).ends_with(1);
    let told = format!("  ! {problem}\n    hint: {hint}\n");
    assert!(run.out.contains(&told), "{told}: {run:?}");
    for title in ["Model", "Configuration", "Network", "Commands", "Undo", "Kernel", "Programs"] {
        assert!(run.out.lines().any(|line| line.starts_with(title)), "{title}: {run:?}");
    }
    assert_eq!(run.error, "");
}

#[test]
fn doctor_shows_its_page_with_a_file_that_is_wrong_as_one_of_its_problems() {
    let place = Place::new();
    let path = place.path("home/.config/tenon/config.toml").display().to_string();
    std::fs::create_dir_all(&path).unwrap();
    let problem = format!("cannot read {path}: it is not a regular file");
    check_wrong(place.tenon(&["doctor"]), &problem, "make it a text file that you can read");
    std::fs::remove_dir(&path).unwrap();
    place.config("max_steps = 'many'");
    let run = place.run(&["doctor"]).ends_with(1);
    let settings = "    hint: docs/configuration.md lists the settings\n";
    assert!(run.out.contains(&format!("  ! {path}: ")) && run.out.contains(settings), "{run:?}");
    // Nobody else goes on without it.
    place.run(&["tools"]).ends_with(2);
    place.config("");
    let problem = "`bash(` is no rule: the pattern of the rule `bash(` does not end with )";
    let hint = "docs/configuration.md lists the settings";
    check_wrong(place.tenon(&["doctor", "--deny", "bash("]), problem, hint);
    place.config("");
    place.write("work/.tenon/config.toml", "max_steps = 'many'");
    let run = place.run(&["doctor"]).ends_with(1);
    assert!(run.out.contains(settings) && run.out.contains(&format!("read: {path}\n")), "{run:?}");
}

#[test]
fn doctor_says_whose_home_it_is_where_the_file_in_it_cannot_be_read() {
    if !rustix::process::geteuid().is_root() {
        return skipped("another user's home is given as root");
    }
    let place = Place::new();
    let (copy, home) = (place.path("tenon"), place.path("home"));
    copy_program(Path::new(env!("CARGO_BIN_EXE_tenon")), &copy);
    let given = Command::new("chown").args(["-R", "65534:65534"]).arg(place.path("")).status();
    assert!(given.unwrap().success());
    let theirs = Command::new("chown").args(["-R", "0:0"]).arg(&home).status();
    assert!(theirs.unwrap().success());
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).unwrap();
    let copy = copy.display().to_string();
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", &copy, "doctor"];
    let path = home.join(".config/tenon/config.toml").display().to_string();
    let problem = format!("cannot read {path}: Permission denied (os error 13)");
    let hint = "HOME belongs to another user; set HOME or XDG_CONFIG_HOME";
    check_wrong(place.program("setpriv", &user), &problem, hint);
}
