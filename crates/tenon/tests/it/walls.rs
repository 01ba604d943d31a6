//! The walls as a user meets them: the real program, a hostile script, what became of the machine.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    program::{Place, Run, files_beneath},
    program_copy::copy_program,
    skipped::skipped,
};

/// Takes user namespaces away, as an administrator or a container does, and starts the program
/// that follows.
const TAKER: &str = "unshare";
const WITHOUT_NAMESPACES: &[&str] =
    &["-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\""];

/// A script that runs one command and is told its result.
fn running(place: &Place, command: &str) -> String {
    place.script(json!([
        { "calls": [{ "name": "bash", "arguments": { "command": command } }] },
        { "text": "done" },
    ]))
}

/// The results of tools in the session's log.
fn results(place: &Place) -> String {
    results_in(&place.path("home/.local/state/tenon/sessions"))
}

/// Returns them of a folder of logs.
fn results_in(folder: &Path) -> String {
    let logs: String =
        files_beneath(folder).iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let events = logs.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let results = events.filter(|event| event["type"] == "tool_result");
    results.map(|event| event["content"].as_str().unwrap_or_default().to_owned() + "\n").collect()
}

fn run(flags: &[&str], command: &str) -> (Place, Run) {
    let place = Place::new();
    let script = running(&place, command);
    let run = place.run(&[&["--print", "--model", &script], flags, &["go"]].concat());
    (place, run)
}

pub(crate) fn run_without_namespaces(place: &Place, arguments: &[&str]) -> Option<Run> {
    let able = std::process::Command::new(TAKER)
        .args([WITHOUT_NAMESPACES, &["true"]].concat())
        .output()
        .is_ok_and(|output| output.status.success());
    if !able {
        skipped("user namespaces cannot be taken away by unshare here");
        return None;
    }
    let output = place.tenon_by(TAKER, WITHOUT_NAMESPACES, arguments).output().unwrap();
    Some(Run::of(output))
}

#[test]
fn a_command_writes_in_the_workspace_and_nowhere_else() {
    let (place, run) =
        run(&[], "echo in > inside; echo out > ../outside; echo out > $HOME/outside; ls");
    run.ends_with(0);
    assert!(place.path("work/inside").exists());
    assert!(!place.path("outside").exists() && !place.path("home/outside").exists());
}

#[test]
fn a_home_that_is_the_workspace_keeps_its_configuration() {
    const OWN: &str = "max_steps = 50\n";
    for tier in ["a", "c"] {
        let place = Place::new();
        place.write("home/.config/tenon/config.toml", OWN);
        let command = "mv .config c; mkdir -p .config/tenon; \
                       echo 'sandbox = \"off\"' | tee .config/tenon/config.toml";
        let script = running(&place, command);
        let home = place.path("home").display().to_string();
        let flags = ["--print", "--model", &script, "--cwd", &home, "--sandbox", tier, "go"];
        // Without namespaces it may not be where commands can write.
        let mut command = place.tenon(&flags);
        let command = command.env("XDG_STATE_HOME", place.path("state"));
        Run::of(command.output().unwrap()).ends_with(0);
        let config = std::fs::read_to_string(place.path("home/.config/tenon/config.toml"));
        assert_eq!(config.unwrap(), OWN, "tier {tier}");
        let told = results_in(&place.path("state/tenon/sessions"));
        let says = ["config.toml was changed; put back as it was", "cannot move '.config'"];
        assert!(told.contains(says[usize::from(tier == "a")]), "{told}");
    }
}

/// Files that login, shells, editors, git and ssh start with stay as they are where the workspace is the home.
#[test]
fn in_a_home_that_is_the_workspace_startup_files_stay_as_they_are() {
    const COMMAND: &str = "echo evil >> .bashrc; echo evil > new; mv new .zshenv
        mkdir -p .config/autostart .config/fish && echo evil | tee .config/autostart/a .config/fish/config.fish .config/bash_completion
        d=.local/share/bash-completion/completions; mkdir -p $d && echo evil > $d/ls
        for f in .bashrc.d/a .config/{nvim/init.lua,direnv/direnvrc,plasma-workspace/env/a.sh,user-tmpfiles.d/a.conf} \\
            .local/share/{fish/vendor_conf.d/a.fish,dbus-1/services/a.service} .vim/plugin/a.vim .emacs.d/init.el; do mkdir -p $(dirname $f); echo evil > $f; done
        for f in .less .lesskey .direnvrc .gnomerc .tmux.conf .vimrc .emacs .xonshrc .zcompdump .zshrc.zwc .inputrc .bash_completion .cshrc .tcshrc .login .logout .kshrc .mkshrc; do echo evil > $f; done
        for f in .gdbinit .screenrc .psqlrc .my.cnf .oh-my-zsh/custom/a.zsh .ipython/profile_default/{db/dhist,startup/a.py} .sbclrc .tigrc \\
            .config/{gdb/gdbinit,starship.toml,kitty/kitty.conf,zed/tasks.json,i3/config,gh/config.yml,lazygit/config.yml,Code/User/tasks.json}; do mkdir -p $(dirname $f); echo evil > $f; done
        echo mine > .config/Code/User/state; echo mine > .ipython/profile_default/history
        git config --global alias.st '!evil'; git config --global user.name Ada; echo mine > .note";
    const MADE: &str = "\
        .bashrc.d/a .config/nvim/init.lua .config/direnv/direnvrc .config/plasma-workspace/env/a.sh \
        .config/user-tmpfiles.d/a.conf .local/share/fish/vendor_conf.d/a.fish \
        .local/share/dbus-1/services/a.service .vim/plugin/a.vim .emacs.d/init.el .direnvrc .gnomerc \
        .tmux.conf .vimrc .emacs .xonshrc .zcompdump .zshenv .zshrc.zwc .profile .config/autostart/a \
        .config/fish/config.fish .config/bash_completion .local/share/bash-completion/completions/ls \
        .inputrc .bash_completion .cshrc .tcshrc .login .logout .kshrc .mkshrc .less .lesskey .gdbinit .screenrc .psqlrc .my.cnf .oh-my-zsh/custom/a.zsh .ipython/profile_default/db/dhist .ipython/profile_default/startup/a.py .sbclrc .tigrc \
        .config/gdb/gdbinit .config/starship.toml .config/kitty/kitty.conf .config/zed/tasks.json .config/i3/config .config/gh/config.yml .config/lazygit/config.yml .config/Code/User/tasks.json";
    for tier in ["a", "c"] {
        let place = Place::new();
        place.write("home/.bashrc", "mine\n");
        place.write("home/.gitconfig", "[user]\n\tname = Eve\n");
        let write = json!({ "path": ".profile", "content": "evil" });
        let script = place.script(json!([
            { "calls": [{ "name": "bash", "arguments": { "command": COMMAND } }] },
            { "calls": [{ "name": "write_file", "arguments": write }] },
            { "text": "done" },
        ]));
        let home = place.path("home").display().to_string();
        let flags = ["--print", "--model", &script, "--cwd", &home, "--sandbox", tier, "go"];
        let mut command = place.tenon(&flags);
        Run::of(command.env("XDG_STATE_HOME", place.path("state")).output().unwrap());
        let read = |name: &str| std::fs::read_to_string(place.path("home").join(name)).ok();
        assert_eq!(read(".bashrc").unwrap(), "mine\n", "{tier}");
        assert_eq!(read(".gitconfig").unwrap(), "[user]\n\tname = Eve\n", "{tier}");
        for name in [".note", ".config/Code/User/state", ".ipython/profile_default/history"] {
            assert_eq!(read(name).unwrap(), "mine\n", "{tier} {name}");
        }
        for name in MADE.split_whitespace() {
            assert_eq!(read(name), None, "{tier} {name}");
        }
        let told = results_in(&place.path("state/tenon/sessions"));
        for name in [".bash_completion was made", ".bashrc was changed", ".bashrc.d/a was made"] {
            assert!(told.contains(&format!("{name}; put back as it was")), "{tier}: {told}");
        }
        assert!(told.contains("`.profile` can make other programs run code later"), "{told}");
    }
}

/// What commands must not come to, wherever they move what is above it, and what works all the same.
#[test]
fn in_a_home_that_is_the_workspace_nothing_brings_hidden_things_to_light() {
    const COMMAND: &str = "for d in .local .local/state .local/state/tenon .config; do \
        mv $d moved && echo MOVED $d; done
        mkdir -p .local/state/tenon/own && touch .local/state/tenon/own/note-1 && echo FORGED
        ls -a .local/state/tenon
        rm -rf .local/state/tenon .config/gh
        find . -name 'hosts.yml' -o -name config.yml -o -name .my.cnf -o -name '*.jsonl' | xargs cat
        echo 2 > .local/share/tool/b && mv .local/share/tool/a .local/share/tool/c && \
        mv .local/share/tool old && mv old/c .config/c && cat .config/c && echo end";
    for tier in ["a", "b"] {
        if tier == "b" && !Path::new("/usr/bin/bwrap").exists() {
            skipped("no bubblewrap");
            continue;
        }
        let place = Place::new();
        place.write("home/.config/gh/hosts.yml", "oauth_token: xyz\n");
        place.write("home/.config/gh/config.yml", "xyz\n");
        place.write("home/.my.cnf", "xyz\n");
        place.write("home/.local/share/tool/a", "1\n");
        let script = running(&place, COMMAND);
        let home = place.path("home").display().to_string();
        let flags = ["--print", "--model", &script, "--cwd", &home, "--sandbox", tier, "go"];
        place.run(&flags).ends_with(0);
        let told = results_in(&place.path("home/.local/state/tenon/sessions"));
        for word in ["MOVED", "FORGED", "sessions", "xyz", "user_message"] {
            assert!(!told.contains(word), "{tier} {word}: {told}");
        }
        assert!(told.contains("1\nend\n"), "{tier}: {told}");
        assert!(place.path("home/.config/gh/hosts.yml").exists());
        let mut undo = place.tenon(&["undo"]);
        Run::of(undo.current_dir(&home).output().unwrap()).ends_with(0);
        let tool = place.path("home/.local/share/tool/a");
        assert_eq!(std::fs::read_to_string(tool).unwrap(), "1\n", "{tier}");
        assert!(!place.path("home/old").exists() && !place.path("home/.config/c").exists());
    }
}

#[test]
fn a_host_that_was_blocked_is_named_with_what_would_allow_it() {
    let command = "exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}
        printf 'CONNECT example.com:443 HTTP/1.1\\r\\nHost: example.com:443\\r\\n\\r\\n' >&3
        head -1 <&3";
    let (place, run) = run(&[], command);
    run.ends_with(0);
    let told = results(&place);
    assert!(told.contains("HTTP/1.1 403"), "{told}");
    let sentence = "[walls] blocked: example.com:443 (no rule allows it; --net example.com would)";
    assert!(told.contains(sentence) && !told.contains("would open"), "{told}");
    place.write(
        "home/.cargo/config.toml",
        "[registries.a]\nindex = 'sparse+https://example.com/'\n\
         [registries.b]\nindex = 'https://b.example/'\n",
    );
    // Read before, so that Cargo is not asked where files are.
    place.write(
        "home/.cargo/registry/index/example.com-1/config.json",
        r#"{"dl":"https://b.example"}"#,
    );
    let script = running(&place, command);
    let run = place.run(&["--output-format", "json", "--model", &script, "go"]);
    assert_eq!(run.status, 0);
    assert!(run.out.contains(r#""flag":"--net cargo""#), "{run:?}");
    let told = results(&place);
    let sentence = "[walls] --net cargo would open cargo (example.com, b.example)";
    assert!(told.contains(sentence), "{told}");
}

#[test]
fn settings_of_toolchains_are_seen_without_what_proves_who_somebody_is() {
    let place = Place::new();
    // Too short to be masked: what is not shown was not there.
    place.write(
        "home/.cargo/config.toml",
        "[registries.own]\nindex = 'sparse+https://me:pw-1@own.example/'\ntoken = 'cio1'\n",
    );
    place.write("home/.npmrc", "registry=https://npm.example/\n//npm.example/:_auth=npm1\n");
    place
        .write("home/.config/pip/pip.conf", "[global]\nindex-url = https://u:pip1@pip.example/s\n");
    let command = "cat ~/.cargo/config.toml; echo x > ~/.cargo/new && echo written
        cat ~/.cargo/new ~/.npmrc ~/.pip/pip.conf ~/.config/pip/pip.conf
        mkdir -p ~/.config/tool && echo made; echo jobs > ~/.cargo/config.toml; echo end";
    let script = running(&place, command);
    for tier in ["a", "b", "c"] {
        if tier == "b" && !Path::new("/usr/bin/bwrap").exists() {
            skipped("bubblewrap is not installed");
            continue;
        }
        let run = place.run(&["--print", "--model", &script, "--sandbox", tier, "go"]);
        run.ends_with(0);
        let told = results(&place);
        for secret in ["cio1", "pw-1", "npm1", "pip1"] {
            assert!(!told.contains(secret), "{tier}: {secret}: {told}");
        }
        if tier == "a" {
            for shown in [
                "https://own.example/",
                "https://npm.example/",
                "https://pip.example/s",
                "written",
                "made",
            ] {
                assert!(told.contains(shown), "{shown}: {told}");
            }
        }
    }
    let config = std::fs::read_to_string(place.path("home/.cargo/config.toml")).unwrap();
    assert!(config.contains("cio1") && !place.path("home/.cargo/new").exists());
}

#[test]
fn files_of_credentials_that_a_variable_names_are_not_there() {
    for (tier, given) in [("a", ""), ("b", ""), ("c", ""), ("a", "environment = ['KUBECONFIG']")] {
        if tier == "b" && !Path::new("/usr/bin/bwrap").exists() {
            skipped("bubblewrap is not installed");
            continue;
        }
        let place = Place::new();
        // Too short to be masked: what is not shown was not there.
        place.write("keys/kube", "token: kube1\n");
        place.write("keys/credentials.toml", "token = 'cio1'\n");
        place.write("keys/other", "open1\n");
        let folder = place.path("keys").display().to_string();
        place.config(&format!("read_dir = ['{folder}']\n{given}\n"));
        let command = format!("cd {folder}; cat kube credentials.toml other");
        let script = running(&place, &command);
        let mut tenon = place.tenon(&["--print", "--sandbox", tier, "--model", &script, "go"]);
        tenon.env("KUBECONFIG", format!("/dev/null:{folder}/kube")).env("CARGO_HOME", folder);
        Run::of(tenon.output().unwrap()).ends_with(0);
        let told = results(&place);
        assert!(told.contains("open1") && !told.contains("cio1"), "{tier}: {told}");
        assert_eq!(told.contains("kube1"), !given.is_empty(), "{tier}: {told}");
    }
}

#[test]
fn what_runs_programs_later_is_put_back_and_told() {
    let place = Place::new();
    place.write("work/.git/HEAD", "ref: refs/heads/main\n");
    place.write("work/.git/config", "[core]\n\tbare = false\n");
    let script = running(
        &place,
        "printf '[core]\\n\\tbare = false\\n\\tfsmonitor = touch ../owned\\n' > .git/config
        echo '{}' > .mcp.json",
    );
    place.run(&["--print", "--model", &script, "go"]).ends_with(0);
    let config = std::fs::read_to_string(place.path("work/.git/config")).unwrap();
    assert!(!config.contains("fsmonitor") && !place.path("work/.mcp.json").exists(), "{config}");
    let told = results(&place);
    assert!(told.contains("(core.fsmonitor); put back") && told.contains(".mcp.json was made"));
}

#[test]
fn without_walls_is_said_in_red_and_only_on_request() {
    let (place, run) = run(&["--sandbox", "off"], "echo out > ../outside");
    run.ends_with(0);
    assert!(place.path("outside").exists());
    let script = running(&place, "true");
    let shown = place.run(&["--model", &script, "--sandbox", "off", "go"]).ends_with(0);
    assert!(shown.out.contains("Commands run without walls (--sandbox off)."), "{shown:?}");
    let shown = place.run(&["--model", &script, "go"]).ends_with(0);
    assert!(!shown.out.contains("without walls"), "{shown:?}");
}

#[test]
fn a_tier_that_was_asked_for_and_cannot_be_had_is_exit_code_3() {
    let place = Place::new();
    let script = running(&place, "echo ran > ran");
    let arguments = ["--print", "--model", &script, "--sandbox", "a", "go"];
    let Some(run) = run_without_namespaces(&place, &arguments) else { return };
    run.ends_with(3).says(&["tier A", "cannot be had", "hint: "]);
    for tier in ["a", "b"] {
        place.config(&format!("sandbox = '{tier}'"));
        let run = run_without_namespaces(&place, &["--print", "--model", &script, "go"]).unwrap();
        let named = format!("tier {}", tier.to_uppercase());
        run.ends_with(3).says(&[&named, "cannot be had", "hint: "]);
    }
    assert!(!place.path("work/ran").exists());
}

#[test]
fn single_hosts_in_tier_c_are_refused_before_the_turn_begins() {
    let place = Place::new();
    let script = running(&place, "echo ran > ran");
    let run =
        |flags: &[&str]| place.run(&[&["--print", "--model", &script], flags, &["go"]].concat());
    if run(&["--sandbox", "c"]).status != 0 {
        return skipped("there is no tier C here");
    }
    std::fs::remove_file(place.path("work/ran")).unwrap();
    let said = ["tier C", "single hosts cannot be let through", "hint: use tier A or B"];
    run(&["--sandbox", "c", "--net", "example.com"]).ends_with(3).says(&said);
    place.config("net = ['example.com']");
    run(&["--sandbox", "c"]).ends_with(3).says(&said);
    place.config("net = ['example.com']\nsandbox = 'c'");
    run(&[]).ends_with(3).says(&said);
    assert!(!place.path("work/ran").exists());
    run(&["--net", "on"]).ends_with(0);
}

#[test]
fn without_namespaces_the_next_tier_holds_and_doctor_says_so() {
    let place = Place::new();
    let script = running(&place, "echo in > inside; echo out > ../outside");
    let arguments = ["--print", "--model", &script, "go"];
    let Some(run) = run_without_namespaces(&place, &arguments) else { return };
    run.ends_with(0);
    assert!(place.path("work/inside").exists() && !place.path("outside").exists());
    let doctor = run_without_namespaces(&place, &["doctor"]).unwrap();
    assert!(doctor.out.contains("tier C (Landlock, seccomp)"), "{doctor:?}");
    assert!(doctor.out.contains("no more user namespaces are allowed"), "{doctor:?}");
    assert!(doctor.out.contains("sysctl user.max_user_namespaces"), "{doctor:?}");
    let own = doctor.out.lines().find(|line| line.contains("new for each session: HOME (/tmp/"));
    assert!(own.is_some_and(|line| line.contains("/home), TMPDIR (/tmp/")), "{doctor:?}");
}

#[test]
fn doctor_shows_what_commands_can_do() {
    let place = Place::new();
    let doctor = place.run(&["doctor", "--net", "example.com"]);
    let root = place.path("work").display().to_string();
    for part in ["tier A (own namespaces", &format!("written: {root}"), "reached: example.com"] {
        assert!(doctor.out.contains(part), "{part}: {doctor:?}");
    }
    // What tier A is made of, and the rest of the line.
    let kernel = doctor.out.lines().find(|line| line.contains("Landlock version ")).unwrap();
    let told: Vec<&str> = kernel.trim().split(", ").collect();
    assert_eq!(told[1..4], ["seccomp yes", "user namespaces yes", "mounts changed as a tree yes"]);
    for (told, name) in told[4..].iter().zip(["processes counted for each namespace", "overlayfs"])
    {
        let answers = ["yes", "no"].map(|answer| format!("{name} {answer}"));
        assert!(answers.contains(&(*told).to_owned()), "{kernel}");
    }
    let overlayfs = told[5].ends_with("yes");
    assert_eq!(overlayfs, tenon_sandbox::probe().overlayfs, "{kernel}");
    let home = place.path("home").display().to_string();
    let doctor = place.run(&["doctor", "--cwd", &home]);
    assert!(doctor.out.contains(&format!("written: {home}\n")), "{doctor:?}");
    assert!(doctor.out.contains("\n  read: /\n"), "{doctor:?}");
    assert!(doctor.out.contains("\n  reached: nothing; --net HOST opens a host\n"), "{doctor:?}");
    std::fs::create_dir_all(place.path("home/.cargo/bin")).unwrap();
    let doctor = place.run(&["doctor"]);
    let within = doctor.out.lines().find(|line| line.contains("read within them all the same: "));
    assert!(within.is_some_and(|line| line.contains(&format!("{home}/.cargo"))), "{doctor:?}");
    let doctor = place.run(&["doctor", "--cwd", &home]).out;
    assert!(
        doctor.contains(&format!(
            "\n  read-only in there, --add-dir with its path opens one: {home}/.cargo\n"
        )),
        "{doctor}"
    );
    assert!(!doctor.contains(&format!("the same: {home}/.cargo")), "{doctor}");
    let doctor = place.run(&["doctor", "--sandbox", "off"]);
    assert!(doctor.out.contains("! not confined: --sandbox off on the command line"), "{doctor:?}");
    place.config("mode = \"auto\"\n\nsandbox = \"off\"\n");
    let file = place.path("home/.config/tenon/config.toml").display().to_string();
    let line = format!("! not confined: sandbox = \"off\" in {file}, line 3\n");
    let doctor = place.run(&["doctor"]);
    assert!(doctor.out.contains(&line), "{line}: {doctor:?}");
}

#[test]
fn doctor_says_what_is_empty_for_commands_and_names_all_of_a_list_when_asked() {
    let place = Place::new();
    let names: Vec<String> = (10..24).map(|number| format!("added{number}")).collect();
    let mut arguments = vec!["doctor"];
    for name in &names {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let added: Vec<String> = names.iter().map(|name| format!("../{name}")).collect();
    arguments.extend(added.iter().flat_map(|path| ["--add-dir", path]));
    let doctor = place.run(&arguments).out;
    let line = |doctor: &str, start: &str| {
        let line = doctor.lines().find_map(|line| line.strip_prefix(start).map(str::to_owned));
        line.unwrap_or_else(|| panic!("{start}: {doctor}"))
    };
    let empty = line(&doctor, "  empty for commands, but for what may be written: ");
    let home = place.path("home").display().to_string();
    for path in [home.as_str(), "/tmp", "/home", "/root", "/mnt", "/media"] {
        let is_there = Path::new(path).is_dir();
        assert_eq!(empty.split(", ").any(|one| one == path), is_there, "{path}: {doctor}");
    }
    let written = line(&doctor, "  written: ");
    assert!(written.ends_with(" and 3 more (`tenon doctor --verbose` names all)"), "{doctor}");
    arguments.push("--verbose");
    let doctor = place.run(&arguments).out;
    let written = line(&doctor, "  written: ");
    assert!(names.iter().all(|name| written.contains(name)), "{doctor}");
    assert!(!doctor.contains(" more ("), "{doctor}");
}

#[test]
fn doctor_names_what_commands_are_given_of_the_users_settings() {
    for tier in ["a", "c"] {
        let place = Place::new();
        place.write("home/.npmrc", "registry=https://npm.example/\n");
        place.write("home/.config/pip/pip.conf", "[global]\nindex-url = https://pip.example/\n");
        let doctor = place.run(&["--sandbox", tier, "doctor", "--verbose"]);
        if doctor.out.contains("cannot be had") {
            return skipped(format!("there is no tier {tier} here"));
        }
        let line = |start: &str| doctor.out.lines().find(|line| line.contains(start));
        let given = line("given to commands, from your settings without programs and secrets: ");
        let given: Vec<&str> = given.unwrap().split([' ', ',']).collect();
        for name in ["/home/.npmrc", "/home/.pip/pip.conf"] {
            assert!(given.iter().any(|path| path.ends_with(name)), "{tier} {name}: {doctor:?}");
        }
        for start in ["not there: ", "read within them all the same: "] {
            let names = |line: &str| line.contains(".npmrc") || line.contains("pip.conf");
            assert!(!line(start).is_some_and(names), "{tier} {start}: {doctor:?}");
        }
    }
}

#[test]
fn doctor_names_the_python_that_a_script_starts() {
    const PYTHON: &str = "/usr/bin/python3";
    if !Path::new(PYTHON).exists() {
        return skipped("python3 is not installed");
    }
    let place = Place::new();
    let script = place.write("work/shims/python3", &format!("#!/bin/sh\nexec {PYTHON} \"$@\"\n"));
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, open).unwrap();
    let path = format!("{}:/usr/bin:/bin", place.path("work/shims").display());
    let doctor = |flags: &[&str]| {
        let mut doctor = place.tenon(&[flags, &["doctor"]].concat());
        Run::of(doctor.env("PATH", &path).output().unwrap()).out
    };
    let said = format!("  python3: {}, a script", script.display());
    let found = doctor(&[]);
    assert!(found.contains(&format!("{said}; commands run {PYTHON}")), "{found}");
    let outside = doctor(&["--sandbox", "off"]);
    assert!(outside.contains(&format!("{said}\n")), "{outside}");
}

/// Mounts two folders within the workspace, and runs what follows.
const WITH_MOUNTS: &str = "\
mkdir -p 'a b' ../elsewhere node_modules/sub
mount --bind ../elsewhere 'a b' && mount -t tmpfs none node_modules && echo mounted
exec \"$@\"";

#[test]
fn doctor_names_what_is_mounted_within_the_workspace() {
    let place = Place::new();
    let namespace = if rustix::process::geteuid().is_root() { "-m" } else { "-Urm" };
    let program = env!("CARGO_BIN_EXE_tenon");
    let doctor = |flags: &[&str]| {
        let arguments = [namespace, "sh", "-c", WITH_MOUNTS, "sh", program, "doctor"];
        let arguments = [&arguments[..], flags].concat();
        Run::of(place.program("unshare", &arguments).output().unwrap()).out
    };
    let found = doctor(&[]);
    if !found.starts_with("mounted\n") {
        return skipped(format_args!("no mount namespace can be had here: {found}"));
    }
    let work = place.path("work").display().to_string();
    let line = |found: &str, start: &str| {
        let line = found.lines().find_map(|line| line.strip_prefix(start).map(str::to_owned));
        line.unwrap_or_else(|| panic!("{start}: {found}"))
    };
    let read_only =
        "  mounted within, so read-only for commands (--add-dir with its path opens one): ";
    let both = line(&found, read_only);
    assert!(both.starts_with(&format!("{work}/a b (")), "{both}");
    assert!(both.ends_with(&format!("), {work}/node_modules (tmpfs)")), "{both}");
    assert!(found.contains("something there cannot be undone"), "{found}");
    let found = doctor(&["--add-dir", "node_modules"]);
    assert!(!line(&found, read_only).contains("node_modules"), "{found}");
    let found = doctor(&["--sandbox", "off"]);
    assert_eq!(line(&found, "  mounted within, and written like the rest: "), both);
    assert!(!place.run(&["doctor"]).out.contains("mounted within"));
}

#[test]
fn a_refused_file_is_told_with_what_would_allow_it() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("work/.git/hooks")).unwrap();
    let call = |command: &str| json!({ "calls": [{ "name": "bash", "arguments": { "command": command } }] });
    let script = place.script(json!([
        call("echo x > .git/hooks/pre-commit"),
        call("echo x > /etc/x"),
        call("echo x > .envrc; mkdir .vscode"),
        { "text": "done" },
    ]));
    let arguments = ["--model", &script, "--sandbox", "a", "--output-format", "stream-json", "go"];
    let run = place.run(&arguments).ends_with(0);
    let events = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = events.filter(|event| event["type"] == "tool_result");
    let results: Vec<String> =
        results.map(|event| event["content"].as_str().unwrap().to_owned()).collect();
    let protected = "write_file and edit_file write them with the user's yes";
    let put_back = "write_file and edit_file can, with the user's yes";
    let other = "files: outside of the workspace commands write only";
    for (result, said) in results.iter().zip([protected, other, put_back]) {
        for sentence in [protected, other, put_back] {
            let times = usize::from(sentence == said);
            assert_eq!(result.matches(sentence).count(), times, "{sentence}: {result}");
        }
    }
    assert_eq!(results.len(), 3, "{}", run.out);
}

#[test]
fn a_host_that_is_none_is_an_error_of_usage() {
    let (_, run) = run(&["--net", "http://user@example.com/path"], "true");
    run.ends_with(2).says(&["is no host for --net"]);
}

#[test]
fn the_whole_of_a_long_output_can_be_read_by_commands() {
    let place = Place::new();
    let script = place.script(json!([
        { "calls": [{ "name": "bash", "arguments": { "command": "seq 100000" } }] },
        { "calls": [{ "name": "bash", "arguments": {
            "command": "tail -n 1 $(find $HOME -path '*results*' -type f | head -1)",
        } }] },
        { "text": "done" },
    ]));
    place.run(&["--print", "--model", &script, "go"]).ends_with(0);
    assert!(results(&place).ends_with("\n100000\n"), "{}", results(&place));
}

#[test]
fn keys_in_the_programs_own_environment_are_closed_to_commands_without_walls_too() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    // It writes, too: a command that only reads is held by Landlock, which closes more.
    let command = "touch started; for each in /proc/[0-9]*; do
            [ \"$(cat $each/comm)\" = tenon ] && tr '\\0' '\\n' < $each/environ
        done; echo looked";
    let script = running(&place, command);
    let arguments = ["--print", "--model", &script, "--sandbox", "off", "--allow", "bash", "go"];
    // The kernel closes it to this user's programs, but not to root's.
    let mut tenon = place.tenon(&arguments);
    if std::fs::metadata("/proc/self")
        .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
    {
        let copy = place.path("tenon");
        copy_program(env!("CARGO_BIN_EXE_tenon").as_ref(), &copy);
        let opened = std::process::Command::new("chown")
            .args(["-R", "65534:65534"])
            .arg(place.path(""))
            .status();
        assert!(opened.unwrap().success());
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
        let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
        let copy = copy.display().to_string();
        tenon = place.program("setpriv", &[&user[..], &[&copy], &arguments].concat());
    }
    let run = Run::of(tenon.env("ANTHROPIC_API_KEY", "sk-decoy").output().unwrap());
    run.ends_with(0);
    let told = results(&place);
    assert!(told.contains("looked") && !told.contains("sk-decoy"), "{told}");
}
