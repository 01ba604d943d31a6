//! What a command that failed on a wall is told: what was refused, by which wall, and what would allow
//! it; by real programs in each tier.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    program::{Place, Run},
    program_copy::copy_program,
    skipped::skipped,
    terminal::Home,
    tui::session_with,
    walls::run_without_namespaces,
};

fn script(place: &Place, commands: &[&str]) -> String {
    let call = |command: &&str| json!({ "name": "bash", "arguments": { "command": command } });
    let calls = commands.iter().map(|command| json!({ "calls": [call(command)] }));
    place.script(calls.chain([json!({ "text": "done" })]).collect())
}

/// Returns what stands in the result of each command.
fn told(run: &Run) -> Vec<String> {
    let events = run.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let results = events.filter(|event| event["type"] == "tool_result");
    results.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

/// Runs each command with `flags`; each must be told its `expected` part and nothing of another wall.
fn check(place: &Place, run: impl Fn(&[&str]) -> Option<Run>, rows: &[(&str, &str)]) {
    let commands: Vec<&str> = rows.iter().map(|(command, _)| *command).collect();
    let script = script(place, &commands);
    let Some(run) = run(&["--output-format", "stream-json", "--model", &script, "go"]) else {
        return;
    };
    let told = told(&run.ends_with(0));
    assert_eq!(told.len(), rows.len(), "{told:?}");
    for ((command, expected), told) in rows.iter().zip(told) {
        let program = command.split(' ').next().unwrap_or_default();
        if told.contains(&format!("{program}: command not found")) {
            skipped(format!("{program} is not installed"));
            continue;
        }
        let walls: Vec<&str> = told.lines().filter(|line| line.starts_with("[walls]")).collect();
        let [only] = walls.as_slice() else { panic!("{command}: {told}") };
        assert!(only.contains(expected), "{command}: {told}");
    }
}

/// What would allow it is by whether the user may.
const ELSEWHERE: &str = "files: outside of the workspace commands";

const PYTHON: &str =
    "/usr/bin/python3 -c 'import socket; socket.create_connection((\"py.example\", 443))'";

#[test]
fn a_host_is_named_that_a_program_looked_for_without_the_proxy() {
    let place = Place::new();
    let rows = [
        ("getent hosts getent.example", "getent.example, if it was tried, is out of reach"),
        (
            "node -e 'fetch(\"https://node.example/\")'",
            "node.example, if it was tried, is out of reach",
        ),
        (PYTHON, "network: py.example, if it was tried, is out of reach"),
        ("git clone -q git@git.example:a/b.git", "--net git.example would open it to programs"),
        (
            "curl -sS --noproxy '*' https://curl.example/",
            "curl.example, if it was tried, is out of reach",
        ),
        (
            "exec 3<>/dev/tcp/192.0.2.7/80",
            "network: 192.0.2.7:80, if it was tried, is out of reach",
        ),
        (
            "curl -sS --noproxy '*' https://gone.example/ || true",
            "gone.example, if it was tried, is out of reach",
        ),
        ("getent hosts intranet", "network: intranet, if it was tried, is out of reach"),
        ("getent hosts open.example", "open.example is open by http_proxy only"),
        (
            "getent hosts a.denied.example",
            "a.denied.example is closed: the rule net(*.denied.example)",
        ),
    ];
    let rules = ["--net", "open.example", "--deny", "net(*.denied.example)"];
    check(&place, |arguments| Some(place.run(&[&rules[..], arguments].concat())), &rows);
    // Nobody is asked about it, and no flag alone would allow it.
    let script = script(&place, &["getent hosts getent.example"]);
    let run = place.run(&["--output-format", "json", "--model", &script, "go"]).ends_with(0);
    let object: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(object["refused"], json!([]), "{object}");
}

#[test]
fn a_host_that_ssh_tried_is_named_where_the_line_cuts_its_complaint() {
    let place = Place::new();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        assert!(git.current_dir(place.path("work")).args(arguments).status().unwrap().success());
    };
    git(&["init", "-q", "-b", "master"]);
    let name = ["-c", "user.name=a", "-c", "user.email=a@b"];
    git(&[&name[..], &["commit", "-q", "--allow-empty", "-m", "a"]].concat());
    git(&["remote", "add", "origin", "git@git.example:a/b.git"]);
    git(&["init", "-q", "--bare", "near.git"]);
    git(&["remote", "add", "near", "./near.git"]);
    git(&["remote", "add", "gone", "./gone.git"]);
    git(&["remote", "add", "moved", "git@moved.example:a/b.git"]);
    git(&["config", "url../near.git.insteadOf", "git@moved.example:a/b.git"]);
    let git_told = "network: git.example, if it was tried, is out of reach";
    let web1 = "network: web1.example, if it was tried, is out of reach";
    let rows = [
        ("git push origin master 2>&1 | tail -3", git_told),
        ("git fetch 2>&1 | tail -2", git_told),
        ("git ls-remote 2>/dev/null | head -1", git_told),
        ("git push origin master 2>&1 | grep -v hostname", git_told),
        ("git fetch -q origin 2>/dev/null || echo going on", git_told),
        ("scp host deploy@web1.example: 2>&1 | tail -1", web1),
        ("ssh deploy@web1.example uptime 2>/dev/null && echo up || echo down", web1),
        (
            "h=$(cat host); ssh \"$h\" uptime 2>/dev/null || echo down",
            "network: ssh, if it was tried",
        ),
        (
            "printf 'x:\\n\\t@git fetch 2>&1 | tail -3\\n' > m; make -f m x",
            "network: ssh, if it was tried",
        ),
        (
            "curl -s --noproxy '*' https://x.example -o out; echo $?",
            "network: x.example, if it was tried",
        ),
    ];
    place.write("work/host", "web1.example\n");
    for tier in ["a", "b"] {
        let run = |arguments: &[&str]| {
            let run = place.run(&[&["--sandbox", tier], arguments].concat());
            (run.status != 3).then_some(run)
        };
        check(&place, run, &rows);
    }
    let silent = [
        "git fetch near 2>&1 | tail -2",
        "git push origin none 2>&1 | tail -2",
        "git ls-remote near 2>/dev/null | head -1",
        "git fetch gone 2>&1 | tail -2",
        "git push gone master 2>/dev/null || echo no",
        "echo ssh deploy@web1.example 2>&1 | tail -1",
        "ssh -V 2>&1 | head -1",
        "git log origin/master 2>/dev/null | head -1; git remote -v 2>&1 | head -1",
        "git -c user.name=a -c user.email=a@b commit --allow-empty \
         -m \"Explain 'fatal: Could not read from remote repository.'\"",
        "git reflog | head -1",
        "git format-patch -1 --stdout 2>&1 | head",
        "git ls-remote --get-url origin 2>/dev/null",
        "git remote show 2>/dev/null; git remote show -n origin 2>/dev/null | head",
        "git push -h 2>/dev/null | head -1",
        "rsync -a --chown www-data:www-data host out 2>/dev/null || cp host out",
        "git fetch moved 2>/dev/null",
    ];
    let script = script(&place, &silent);
    let run = place.run(&["--output-format", "stream-json", "--model", &script, "go"]);
    for (command, told) in silent.iter().zip(told(&run.ends_with(0))) {
        assert!(!told.contains("[walls] network"), "{command}: {told}");
    }
}

#[test]
fn what_walls_refused_is_on_the_screen_behind_output_of_any_length() {
    let command = "seq 1 9000; touch /opt/new; git init -q; git config core.pager x; false";
    let turns = json!([
        { "calls": [{ "name": "bash", "arguments": { "command": command } }] },
        { "text": "All said." },
    ]);
    let told = [
        "[walls] files: outside of the workspace commands write only in private temporary folders",
        "protected: what is put back is not for commands to write; write_file and edit_file can, \
         with the user's yes",
    ];
    // Rows end anywhere in the words, and in a box with its edge.
    let plain = |text: &str| text.replace([' ', '\n', '│'], "");
    let check = |screen: &str| {
        for words in told {
            assert!(plain(screen).contains(&plain(words)), "{words}: {screen}");
        }
        assert!(screen.contains("more lines") && !screen.contains("8999"), "{screen}");
    };
    let place = Place::new();
    let script = place.script(turns.clone());
    check(&place.run(&["--model", &script, "go"]).ends_with(0).out);
    let home = Home::new(turns);
    let mut terminal = session_with(&home, (40, 60), &[]);
    terminal.press("go\r");
    terminal.wait_for("All said.", 1);
    check(&terminal.everything());
}

#[test]
fn a_host_that_a_background_job_did_not_reach_is_named_once() {
    let place = Place::new();
    let command = "curl -sS --noproxy '*' https://job.example/";
    let script = place.script(json!([
        { "calls": [{ "name": "bash", "arguments": { "command": command, "background": true } }] },
        { "calls": [{ "name": "jobs", "arguments": { "action": "wait" } }] },
        { "text": "done" },
    ]));
    let run = place.run(&["--output-format", "stream-json", "--model", &script, "go"]);
    let told = told(&run.ends_with(0)).concat();
    if told.contains("curl: command not found") {
        return skipped("curl is not installed");
    }
    let sentence = "[walls] network: job.example, if it was tried, is out of reach";
    assert_eq!(told.matches(sentence).count(), 1, "{told}");
}

/// Runs each command as a job, waits for its end and reads it once more: what is told is told once.
#[test]
fn what_a_background_job_was_refused_is_told_where_its_output_is_read() {
    let python = "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_VSOCK)'";
    let files = ELSEWHERE;
    for (tier, protected, host) in [
        ("a", "files: protected names in the workspace", "job.example, if it was tried"),
        ("c", "protected: what is put back is not for commands", NO_NETWORK),
    ] {
        let place = Place::new();
        for name in [".envrc", ".git/objects/a", "a"] {
            place.write(&format!("work/{name}"), "");
        }
        let mut rows = vec![
            ("echo > /opt/new; sleep 0.5", files),
            ("sleep 0.5; chmod 700 /etc/hosts", files),
            ("touch /etc/x || true", files),
            ("echo x >> .envrc", protected),
            ("ls /proc/1/root", "files: the kernel's own memory"),
            ("curl -sS --noproxy '*' https://job.example/", host),
            (python, "the walls refuse sockets of other families"),
        ];
        if tier == "a" {
            rows.push(("ln a .git/b", "make no hard link (refused: "));
        }
        let calls = rows.iter().enumerate().flat_map(|(row, (command, _))| {
            let bash = json!({ "command": command, "background": true });
            let [wait, read] =
                ["wait", "read"].map(|action| json!({ "action": action, "job": row + 1 }));
            [("bash", bash), ("jobs", wait), ("jobs", read)]
        });
        let calls = calls.map(
            |(name, arguments)| json!({ "calls": [{ "name": name, "arguments": arguments }] }),
        );
        let script = place.script(calls.chain([json!({ "text": "done" })]).collect());
        let flags = ["--sandbox", tier, "--output-format", "stream-json", "--model", &script];
        let run = place.run(&[&flags[..], &["go"]].concat()).ends_with(0);
        let told = told(&run);
        for ((command, expected), told) in rows.iter().zip(told.chunks(3)) {
            let told = told.concat();
            if told.contains("curl: command not found") {
                skipped("curl is not installed");
                continue;
            }
            assert_eq!(told.matches(expected).count(), 1, "{tier} {command}: {told}");
        }
        let events = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_calls = events
            .filter(|event| event["type"] == "walls_refused" && event["wall"].is_null())
            .count();
        assert_eq!(of_calls, 1 + usize::from(tier == "c"));
    }
}

#[test]
fn what_the_kernel_keeps_to_itself_is_told_as_such() {
    let held = "files: the kernel's own memory and messages in /proc";
    let settings = "files: commands change nothing in /proc and /sys";
    for tier in ["a", "b", "c"] {
        let place = Place::new();
        let mut rows = vec![
            ("cat /proc/kcore", held),
            ("head -c 1 /proc/kcore || true", held),
            ("ls /proc/1/root", held),
            ("cat /proc/1/environ 2>&1 | tail -n 1", held),
            ("cat /proc/kmsg", held),
            ("echo 1 > /proc/sys/kernel/panic", settings),
        ];
        if tier != "c" {
            rows.extend([
                ("test -e /proc/kcore", held),
                ("cat /proc/1/environ 2> /dev/null", held),
            ]);
        }
        let run = |arguments: &[&str]| {
            let run = place.run(&[&["--sandbox", tier], arguments].concat());
            (run.status != 3).then_some(run)
        };
        check(&place, run, &rows);
    }
}

#[test]
fn a_complaint_in_a_pipe_and_a_repository_out_of_sight_are_told() {
    let place = Place::new();
    let rows = [
        ("touch /etc/x 2>&1 | tail -n 1", ELSEWHERE),
        ("touch /etc/x |& cat", ELSEWHERE),
        (
            "git status",
            "files: a repository that the workspace lies in, if there is one, is out of",
        ),
    ];
    check(&place, |arguments| Some(place.run(arguments)), &rows);
}

#[test]
fn a_host_that_the_proxy_refused_is_told_once() {
    let place = Place::new();
    let rows = [
        ("curl -sS https://curl.example/", "blocked: curl.example:443 (no rule"),
        ("curl -sS http://intranet/", "blocked: intranet:80 (no rule"),
    ];
    check(&place, |arguments| Some(place.run(arguments)), &rows);
}

const NO_NETWORK: &str = "network: commands in tier C have no sockets";

#[test]
fn sockets_with_a_path_and_terminals_of_tier_c_are_told_as_such() {
    let place = Place::new();
    let rows = [
        ("/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", "sockets: commands"),
        ("node -e 'require(\"net\").createServer().listen(\"./x.sock\")'", "sockets: commands"),
        ("script -qc true /dev/null", "terminals: commands in tier C"),
        ("/usr/bin/python3 -c 'import pty; pty.openpty()'", "terminals: commands in tier C"),
        ("ssh-agent true", "sockets: commands in tier C have no sockets with a path"),
        (
            "TMUX_TMPDIR=$TMPDIR tmux new -d",
            "sockets: commands in tier C have no sockets with a path",
        ),
        ("/usr/bin/python3 -c 'import multiprocessing as m; m.Lock()'", "make no shared memory"),
        ("/usr/bin/python3 -c 'import os; os.openpty()'", "terminals: commands in tier C"),
        (
            "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_VSOCK)'",
            "the walls refuse sockets of other families",
        ),
        ("curl -sS https://curl.example/", NO_NETWORK),
        ("curl -sS https://curl.example/ || true", NO_NETWORK),
        ("curl -sS https://curl.example/; echo went on", NO_NETWORK),
        ("curl -sS https://curl.example/ | cat", NO_NETWORK),
        ("curl -sS https://curl.example/ 2>&1 | tail -n 1", NO_NETWORK),
        ("exec 3<>/dev/tcp/127.0.0.1/1; echo after", NO_NETWORK),
        ("curl -s http://curl.example/ || true", NO_NETWORK),
        ("curl -s http://curl.example/ || echo failed", NO_NETWORK),
        ("/usr/bin/python3 -c 'import socket; socket.socket()' 2> /dev/null || true", NO_NETWORK),
    ];
    check(&place, |arguments| run_without_namespaces(&place, arguments), &rows);
}

#[test]
fn what_takes_rights_is_told_also_where_the_command_went_on() {
    if !rustix::process::geteuid().is_root() {
        return skipped("an ordinary user has no rights that walls take away");
    }
    let rights = "rights: inside the walls nothing has root's rights, also as root; --sandbox off";
    let bits = "rights: commands give no file the set-user-id or set-group-id bit";
    let families = "the walls refuse sockets of other families";
    let place = Place::new();
    let rows = [
        ("touch x; chown nobody x || true", rights),
        ("mknod d b 8 0 || true", rights),
        ("kill -9 1; echo", "processes: a command sends signals to its own processes only"),
        ("nice -n -5 true", rights),
        ("chown nobody . 2>&1 | tail -n 1", rights),
        ("/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_VSOCK)' || true", families),
        (
            "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_VSOCK)' 2>&1 | tail -n 1",
            families,
        ),
        ("cp /bin/true x; chmod 4755 x", bits),
        ("cp -p /usr/bin/passwd p || true", bits),
        ("install -m 2755 /bin/true y 2>&1 | tail -n 1", bits),
        ("cp /bin/true x; chmod u=rwxs x 2> /dev/null; echo after", bits),
        ("useradd foo", "files: outside of the workspace commands write only"),
    ];
    check(&place, |arguments| Some(place.run(arguments)), &rows);
}

#[test]
fn toolchains_that_are_read_only_are_told_as_such() {
    for tier in ["b", "c"] {
        let place = Place::new();
        place.write("home/.cargo/env", "");
        let rows = [
            ("echo > ~/.cargo/new", "files: the user's toolchains are read-only"),
            ("echo >> ~/.cargo/env", "a place of its own in the workspace (CARGO_HOME"),
            ("echo > /opt/new", ELSEWHERE),
        ];
        let run = |arguments: &[&str]| {
            let run = place.run(&[&["--sandbox", tier], arguments].concat());
            (run.status != 3).then_some(run)
        };
        check(&place, run, &rows);
        if tier == "c" {
            let unlisted = "files: commands in tier C do not list a toolchain's folder in HOME";
            let listed =
                "/usr/bin/python3 -c 'import os; os.listdir(os.environ[\"HOME\"] + \"/.cargo\")'";
            check(&place, run, &[("ls ~/.cargo", unlisted), (listed, unlisted)]);
            let unlisted = "files: commands in tier C do not list folders in which something is closed to them (refused: /);";
            let found = "find / -maxdepth 1 -name usr 2>&1 | head -2";
            check(&place, run, &[("ls /", unlisted), (found, unlisted)]);
        }
    }
}

#[test]
fn a_toolchains_file_of_another_group_is_told_with_the_way_to_change_it() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only root can give files to another group");
    }
    let place = Place::new();
    let env = place.write("home/.cargo/env", "");
    let copy = place.path("tenon");
    copy_program(Path::new(env!("CARGO_BIN_EXE_tenon")), &copy);
    let own = |who: &str, path: &Path| {
        let given = std::process::Command::new("chown").args(["-R", who]).arg(path).status();
        assert!(given.unwrap().success());
    };
    let rows = [("echo >> ~/.cargo/env", "the user's chgrp to that group")];
    let run = |arguments: &[&str]| {
        own("65534:65534", &place.path(""));
        own(":100", &env);
        let copy = copy.display().to_string();
        let user = ["--reuid", "65534", "--regid", "65534", "--groups", "65534,100", &copy];
        Some(Run::of(place.program("setpriv", &[&user[..], arguments].concat()).output().unwrap()))
    };
    check(&place, run, &rows);
}
