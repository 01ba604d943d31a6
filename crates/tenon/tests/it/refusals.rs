//! What is told of refusals that another one would hide, that the command itself hides, or that only look
//! like one; in tiers A and C, as the user of the tests and as an ordinary one.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::fs::MetadataExt,
    path::Path,
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    program::{Place, Run, check_only_wall},
    program_copy::copy_program,
    skipped::skipped,
};

const TIERS: [&str; 2] = ["a", "c"];

/// Whose commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Tests,
    Ordinary,
}

/// Both, where the tests may become somebody else.
fn users() -> Vec<Who> {
    match rustix::process::geteuid().is_root() {
        true => vec![Who::Tests, Who::Ordinary],
        false => vec![Who::Tests],
    }
}

/// Each tier with each user.
fn ways() -> impl Iterator<Item = (&'static str, Who)> {
    TIERS.into_iter().flat_map(|tier| users().into_iter().map(move |who| (tier, who)))
}

/// Whether root's commands run.
fn is_root(who: Who) -> bool {
    who == Who::Tests && rustix::process::geteuid().is_root()
}

/// Runs commands one after another in one session and returns what the model is told of each.
fn told_of(place: &Place, (tier, who): (&str, Who), commands: &[&str]) -> Vec<String> {
    let call = |command: &&str| json!({ "calls": [{ "name": "bash", "arguments": { "command": command } }] });
    let turns: Vec<Value> = commands.iter().map(call).chain([json!({ "text": "done" })]).collect();
    let script = place.script(json!(turns));
    let flags = ["--model", &script, "--sandbox", tier, "--output-format", "stream-json", "go"];
    let run = match who {
        Who::Tests => place.run(&flags),
        Who::Ordinary => {
            let copy = place.path("tenon");
            // What an earlier session left may not have ended yet.
            if !copy.exists() {
                copy_program(Path::new(env!("CARGO_BIN_EXE_tenon")), &copy);
            }
            let mut own = Command::new("chown");
            assert!(
                own.args(["-R", "65534:65534"]).arg(place.path("")).status().unwrap().success()
            );
            let copy = copy.display().to_string();
            let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", &copy];
            Run::of(place.program("setpriv", &[&user[..], &flags].concat()).output().unwrap())
        }
    };
    let run = run.ends_with(0);
    let events = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = events.filter(|event| event["type"] == "tool_result");
    results.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

/// Each command is told all its `expected` parts, each in one line, and nothing besides.
fn check(place: &Place, how: (&str, Who), rows: &[(&str, &[&str])]) {
    let commands: Vec<&str> = rows.iter().map(|(command, _)| *command).collect();
    let told = told_of(place, how, &commands);
    assert_eq!(told.len(), rows.len(), "{told:?}");
    for ((command, expected), told) in rows.iter().zip(told) {
        if told.contains(": command not found") {
            skipped(format!("a program of `{command}` is not installed"));
            continue;
        }
        let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("[walls]")).collect();
        for words in *expected {
            let found = lines.iter().filter(|line| line.contains(words)).count();
            assert_eq!(found, 1, "{how:?} {command}: {words}: {told}");
        }
        assert_eq!(lines.len(), expected.len(), "{how:?} {command}: {told}");
    }
}

/// The kernel refuses these, and nothing changed, whatever was kept for undo before.
#[test]
fn a_protected_file_that_commands_do_not_remove_is_told_as_refused() {
    let written: &[&str] =
        &["files: .envrc is protected: write_file and edit_file write it with the \
                              user's yes, and commands with --allow 'write_file(.envrc)'"];
    let gone: &[&str] =
        &["files: .envrc is protected: no rule lets commands remove it or move it away"];
    let rows: &[(&str, &[&str])] = &[
        ("rm .envrc", gone),
        ("unlink .envrc || true", gone),
        ("mv .envrc z", gone),
        ("rm -r .vscode", &["files: .vscode/tasks.json is protected: no rule lets commands"]),
        ("mv .vscode v", &["files: .vscode is protected: no rule lets commands"]),
        ("chmod 700 .vscode", &["files: .vscode is protected: no rule lets commands change its"]),
        ("chmod 755 .envrc", &["files: .envrc is protected: no rule lets commands change its"]),
        ("cd .vscode && rm tasks.json", &["files: .vscode/tasks.json is protected: no rule lets"]),
        (
            "cd .vscode; echo > tasks.json",
            &["commands with --allow 'write_file(.vscode/tasks.json)'"],
        ),
        ("echo b > b; mv b .envrc", written),
        ("sed -i s/a/b/ .envrc", written),
        ("git checkout -q .envrc", written),
        ("rm .envrc", gone),
    ];
    for who in users() {
        let place = Place::new();
        place.write("work/.envrc", "committed\n");
        place.write("work/.vscode/tasks.json", "{}\n");
        let repository =
            "git init -q && git add . && git -c user.name=n -c user.email=e commit -qm m";
        let made = place.program("bash", &["-c", repository]).status().unwrap();
        assert!(made.success());
        let envrc = place.write("work/.envrc", "a\n");
        let before = std::fs::metadata(&envrc).unwrap().ino();
        check(&place, ("a", who), rows);
        assert_eq!(std::fs::read_to_string(&envrc).unwrap(), "a\n");
        assert_eq!(std::fs::metadata(&envrc).unwrap().ino(), before, "it was made anew");
    }
}

const PROCESSES: &str = "processes: a command sends signals to its own processes only";

#[test]
fn one_refusal_hides_no_other() {
    let home = "of the user's home commands see only toolchains";
    let elsewhere = "files: outside of the workspace commands";
    for (tier, who) in ways() {
        let place = Place::new();
        place.write("work/.envrc", "a\n");
        let all = "touch /opt/x; touch /opt/y; cat ~/notes.txt; renice 5 1; false";
        let with_root = "touch a; chown nobody a; touch /opt/x; true";
        let rights = "rights: inside the walls nothing has root's rights";
        let with_root: (&str, &[&str]) = match is_root(who) {
            true => (with_root, &[rights, elsewhere]),
            false => ("true", &[]),
        };
        check(&place, (tier, who), &[(all, &[elsewhere, home, PROCESSES]), with_root]);
        if tier == "a" {
            let rows: &[(&str, &[&str])] = &[(
                "rm .envrc; cat /home/nobody-here/x; touch /opt/x; true",
                &["no rule lets commands remove it", "the machine has in /home", elsewhere],
            )];
            check(&place, (tier, who), rows);
        }
    }
}

#[test]
fn other_processes_and_settings_of_the_kernel_are_told_as_such() {
    let settings = "files: commands change nothing in /proc and /sys";
    let python = "/usr/bin/python3 -c 'import os; os.setpriority(os.PRIO_PROCESS, 1, 5)'";
    for (tier, who) in ways() {
        let rows: &[(&str, &[&str])] = &[
            ("renice 5 1", &[PROCESSES]),
            ("prlimit --pid 1 --nofile=5", &[PROCESSES]),
            (python, &[PROCESSES]),
            ("PATH=$PATH:/usr/sbin:/sbin; sysctl -w kernel.panic=1", &[settings]),
            ("echo 1 > /proc/sys/kernel/panic", &[settings]),
            ("/usr/bin/python3 -c 'open(\"/proc/sys/kernel/panic\", \"w\")'", &[settings]),
        ];
        check(&Place::new(), (tier, who), rows);
    }
    let rows: &[(&str, &[&str])] = &[
        ("kill 4194200", &["processes: commands see only their own processes"]),
        ("sleep 0 & pid=$!; wait; kill $pid", &[]),
    ];
    check(&Place::new(), ("a", Who::Tests), rows);
}

#[test]
fn what_a_files_own_permissions_refuse_is_told_as_no_wall() {
    for (tier, who) in ways() {
        let place = Place::new();
        place.write("work/run.sh", "echo hi\n");
        place.write("work/own/in/file", "a\n");
        place.write("work/socket.js", "throw new Error('socket x')\n");
        place.write("work/closed.js", "require('fs').readFileSync('run.sh')\n");
        let rows: &[(&str, &[&str])] = &[
            ("./run.sh", &[]),
            ("chmod 000 run.sh", &[]),
            ("cat run.sh", &[]),
            ("node ./socket.js", &[]),
            ("node -e 'require(\"/none/socket.js\")'", &[]),
            ("node ./closed.js", &[]),
            ("cat run.sh | head -1; true", &[]),
            ("mkdir closed; chmod 555 closed; touch closed/x", &[]),
            ("cd own/in && chmod 000 file && cat file", &[]),
            ("cd own/in; cat file; true", &[]),
            ("chmod 000 own; cat own/in/file", &[]),
            ("cat own/in/file", &[]),
            ("ls own/in; touch own/new; rm -r own/in; true", &[]),
            ("cd own && ls", &[]),
            ("chmod 755 own", &[]),
        ];
        check(&place, (tier, who), rows);
    }
}

#[test]
fn what_a_user_may_not_do_without_walls_either_is_told_as_no_wall() {
    if !users().contains(&Who::Ordinary) {
        return skipped("the tests' own user may have leave for it");
    }
    let rows: &[(&str, &[&str])] = &[
        ("touch a; chown root a || true", &[]),
        ("chgrp root a", &[]),
        ("mknod d b 8 0", &[]),
        ("setpriv --reuid 0 true", &[]),
        ("/usr/bin/python3 -c 'import os; os.setuid(0)'", &[]),
        ("/usr/bin/python3 -c 'import os; os.chown(\"a\", 0, 0)'", &[]),
        ("/usr/bin/python3 -c 'open(\"/etc/shadow\")'", &[]),
        ("cat /etc/shadow; true", &[]),
        ("ip link add dummy0 type dummy", &[]),
        ("ip addr add 192.0.2.1/8 dev lo || true", &[]),
        ("date -s 12:00", &[]),
        ("hostname other", &[]),
        ("mount -t tmpfs none .", &[]),
        ("nice -n -5 true", &[]),
    ];
    for tier in TIERS {
        check(&Place::new(), (tier, Who::Ordinary), rows);
    }
}

#[test]
fn what_is_named_from_another_folder_is_told_by_where_it_lies() {
    let elsewhere: &[&str] = &["files: outside of the workspace commands"];
    let rows: &[(&str, &[&str])] = &[
        ("cd /etc && touch x", elsewhere),
        ("cd /etc; touch x; true", elsewhere),
        ("(cd /usr && mkdir x)", elsewhere),
        ("cd /etc && echo > x", elsewhere),
        ("cd /opt && /usr/bin/python3 -c 'open(\"x\", \"w\")'", elsewhere),
        (
            "cd / && cd etc && touch x 2>/dev/null; true",
            &["files: outside of the workspace commands"],
        ),
        ("cd sub && touch x", &[]),
        ("cd /etc && ls hosts", &[]),
    ];
    for way in ways() {
        let place = Place::new();
        place.write("work/sub/file", "");
        check(&place, way, rows);
    }
}

/// Where the home is out of sight nothing that is said to be missing there is known to be.
#[test]
fn what_is_missing_in_a_home_out_of_sight_is_told_by_whatever_name() {
    let home: &[&str] = &["of the user's home commands see only toolchains"];
    let rows: &[(&str, &[&str])] = &[
        ("cd && ls", home),
        ("cd && ls Documents", home),
        ("cd ~ && cat notes.txt", home),
        ("cd $HOME; head -1 notes", home),
        ("cd ~; cat 'my notes.txt' || true", home),
        ("cd ~ && cd Documents && ls", home),
        ("cd ~ && for name in a b; do cat $name; done", home),
        ("cd && sh -c none-such", &[]),
        ("cd sub && cat notes.txt; ls Documents", &[]),
        ("cd /etc && cat none.conf", &[]),
        ("cd ~ && /usr/bin/python3 -c 'import none_such'", &[]),
    ];
    for way in ways() {
        let place = Place::new();
        place.write("home/notes.txt", "a\n");
        place.write("home/Documents/a", "a\n");
        place.write("work/sub/file", "");
        check(&place, way, rows);
    }
}

/// Whom the system refuses the same without walls no flag helps.
#[test]
fn a_folder_is_offered_only_where_the_user_may_do_there_what_was_refused() {
    let closed = "the user's own permissions refuse this, too";
    for (tier, who) in ways() {
        let (elsewhere, of_root) = match (is_root(who), tier) {
            (true, "a") => ("; --add-dir FOLDER would add a", "there; --add-dir FOLDER would"),
            (true, _) => ("disks; --add-dir FOLDER would open", "there; --add-dir FOLDER would"),
            (false, "a") => (closed, "there; the user's own permissions close it, too"),
            (false, _) => (closed, closed),
        };
        let (elsewhere, of_root): (&[&str], &[&str]) = (&[elsewhere], &[of_root]);
        let rows: &[(&str, &[&str])] = &[
            ("touch /etc/x", elsewhere),
            ("mkdir -p /usr/x/y || true", elsewhere),
            ("cp /etc/hosts /usr/bin/h", elsewhere),
            ("rm /etc/hosts", elsewhere),
            ("mv /etc/hosts h", elsewhere),
            ("chmod 777 /etc/hosts", elsewhere),
            ("touch /etc/x 2>/dev/null; true", elsewhere),
            ("cat /root/notes", of_root),
        ];
        check(&Place::new(), (tier, who), rows);
    }
}

/// Without walls `chage` reads the list of passwords as the group `shadow`.
#[test]
fn a_program_that_lacks_the_rights_of_another_is_told_as_such() {
    for (tier, who) in ways().filter(|(_, who)| !is_root(*who)) {
        let lacks: &[&str] = &["rights: chage has the rights of another user or group where"];
        let perhaps: &[&str] = &["rights: chage, which perhaps failed by that, has the rights of"];
        let rows: &[(&str, &[&str])] = &[
            ("chage -l nobody", lacks),
            ("chage -l nobody || echo none", lacks),
            ("chage -l nobody; true", lacks),
            ("chage -l nobody 2>&1 | head -3", lacks),
            ("chage -l nobody 2>/dev/null", perhaps),
            ("chage -l nobody 2>/dev/null; true", &[]),
            ("chage -h | cat", &[]),
            ("echo chage; false", &[]),
            ("mkdir d; mount -t tmpfs none d", &[]),
            ("mount -t tmpfs none d 2>/dev/null", &[]),
            ("passwd -h > out", &[]),
        ];
        check(&Place::new(), (tier, who), rows);
        let own = told_of(
            &Place::new(),
            (tier, who),
            &["ssh-agent true", "chage -h > out; echo 'make: x: Permission denied' >&2"],
        );
        assert!(!own.concat().contains("rights of another"), "{own:?}");
        if Path::new("/usr/bin/crontab").exists() {
            let told = told_of(&Place::new(), (tier, who), &["crontab -l || echo none"]);
            assert!(
                told.concat().contains("rights: crontab has the rights of another"),
                "{told:?}"
            );
        }
    }
}

/// As ssh-agent and gpg-agent do, so that nobody else reads their keys.
#[test]
fn a_program_that_closes_itself_to_others_writes_in_the_workspace_as_any_other() {
    let writes = "/usr/bin/python3 -c 'import ctypes, os
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
number = os.open(\"made\", os.O_CREAT | os.O_WRONLY)
os.write(number, b\"written\")
os.fchmod(number, 0o600)
os.rename(\"made\", \"moved\")'; cat moved";
    for how in ways() {
        let told = told_of(&Place::new(), how, &[writes]).concat();
        assert!(told.starts_with("written\n[changes] 1 new"), "{how:?}: {told}");
    }
}

/// A program may ask whether it may write there, and not try, or say again what another one said.
#[test]
fn a_folder_that_a_line_alone_says_is_read_only_is_named_as_such() {
    if !rustix::process::geteuid().is_root() {
        return skipped("dpkg asks as root alone");
    }
    for (tier, told) in [
        (
            "a",
            "files: if it was tried: outside of the workspace commands write only in private temporary folders \
               (refused: /var/lib/dpkg)",
        ),
        ("c", "files: outside of the workspace"),
    ] {
        check(&Place::new(), (tier, Who::Tests), &[("dpkg -i none.deb", &[told])]);
    }
    let quote = "sh -c 'echo \"touch: cannot touch /opt/x: Read-only file system\" >&2; exit 1'";
    let told: &[&str] = &["files: if it was tried: outside of the workspace"];
    check(&Place::new(), ("a", Who::Tests), &[(quote, told)]);
}

/// It looks done, and the home that it is done in goes with the session.
#[test]
fn a_setting_for_good_is_told_as_private() {
    let private: &[&str] = &[
        "files: what git config --global writes to the home is private and gone at the end of the session",
    ];
    for how in ways() {
        let rows: &[(&str, &[&str])] = &[
            ("git config --global user.name x", private),
            ("git config --global user.name", &[]),
            ("git init -q . && git config user.name x", &[]),
            ("HOME=$PWD git config --global user.name x", &[]),
            ("GIT_CONFIG_GLOBAL=$PWD/g git config --global user.name x", &[]),
        ];
        check(&Place::new(), how, rows);
    }
}

/// The same words in a file are another's, be it that the command fails.
#[test]
fn what_stands_in_a_file_that_is_shown_is_told_as_no_refusal() {
    let log = "touch: cannot touch '/etc/x': Permission denied\n\
               touch: cannot touch '/etc/y': Read-only file system\n\
               chown: changing ownership of 'q': Operation not permitted\n\
               bash: fork: retry: Resource temporarily unavailable\n\
               curl: (6) Could not resolve host: log.example\n\
               cat: /root/x: No such file or directory\n\
               fatal: not a git repository (or any of the parent directories): .git\n";
    let elsewhere: &[&str] = &["files: outside of the workspace commands"];
    let rows: &[(&str, &[&str])] = &[
        ("diff a.log build.log", &[]),
        ("git diff --no-index a.log build.log", &[]),
        ("diff a.log build.log 2>&1 | head -n 20; false", &[]),
        ("grep -rn -e denied -e system -e such .; exit 3", &[]),
        ("cat none build.log", &[]),
        ("cat build.log 2>&1; exit 1", &[]),
        ("for log in *.log; do cat $log; done; false", &[]),
        ("tail -n 9 build.log; bash ./fails.sh", &[]),
        ("cat build.log; touch /opt/x", elsewhere),
        ("cat /etc/hosts > /opt/x 2>&1 | tail -n 1", elsewhere),
        ("bash ./writes.sh 2>&1 | tail -n 1", elsewhere),
        ("bash ./writes.sh > made.log 2>&1; cat made.log", elsewhere),
        // What a program starts shows files, too.
        ("bash ./shows.sh", &[]),
        ("make -f show.mk", &[]),
        ("make -f show.mk says", &[]),
        ("make -f write.mk", elsewhere),
        ("make -f write.mk logged", elsewhere),
    ];
    for way in ways() {
        let place = Place::new();
        place.write("work/build.log", log);
        place.write("work/a.log", "a\n");
        place.write("work/fails.sh", "exit 3\n");
        place.write("work/writes.sh", "touch /opt/x\n");
        place.write("work/shows.sh", "cat build.log\nexit 3\n");
        let says = "says:\n\t@echo \"touch: cannot touch '/opt/q': Permission denied\"; exit 1\n";
        place.write("work/show.mk", &format!("all:\n\tcat build.log; false\n{says}"));
        let logged = "logged:\n\t@touch /opt/z > new.log 2>&1 || { cat new.log; exit 1; }\n";
        place.write("work/write.mk", &format!("all:\n\ttouch /opt/x\n{logged}"));
        check(&place, way, rows);
    }
}

/// The kernel lets tier C do it, and it is put back.
#[test]
fn permissions_that_are_put_back_are_told_without_advice_for_content() {
    let user =
        "protected: permissions of what is protected are not for commands to change; the user";
    for who in users() {
        let place = Place::new();
        place.write("work/.envrc", "a\n");
        place.write("work/.vscode/tasks.json", "{}\n");
        let repository =
            "git init -q && git add . && git -c user.name=n -c user.email=e commit -qm m";
        assert!(place.program("bash", &["-c", repository]).status().unwrap().success());
        let rows: &[(&str, &[&str])] = &[
            ("chmod 700 .vscode", &[".vscode got other permissions; put back as it was", user]),
            ("chmod 755 .envrc", &[".envrc got other permissions; put back as it was", user]),
            ("git status --short", &[]),
        ];
        check(&place, ("c", who), rows);
    }
}

/// Nobody knows what was tried: told is what the line names, by where it lies.
#[test]
fn a_server_of_this_machine_that_commands_do_not_reach_is_named() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let said = format!(
        "[walls] network: localhost:{port}, if this machine's was meant, is out of reach, since commands have a \
         localhost of their own: --net localhost:{port} would open it to programs that use http_proxy"
    );
    let connect = |port| format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let (hidden, own) = (
        format!("({}) 2>/dev/null", connect(port)),
        "python3 -c \"import socket as s; a = s.create_server(('127.0.0.1', 0)); s.create_connection(a.getsockname())\"",
    );
    for who in users() {
        let rows: [(&str, &[&str]); 4] =
            [(&connect(port), &[&said]), (&hidden, &[&said]), (&connect(closed), &[]), (own, &[])];
        check(&Place::new(), ("a", who), &rows);
    }
}

/// A registry beside the session, which the way that is told opens to the programs that ask it.
#[test]
fn a_package_server_of_this_machine_is_named_with_the_way_that_reaches_it() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in server.incoming().filter_map(Result::ok) {
            let mut head = Vec::new();
            let mut reader = BufReader::new(&stream);
            while reader.read_until(b'\n', &mut head).is_ok_and(|bytes| bytes > 2) {}
            let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            // Whoever asked may be gone.
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    let rule = format!("localhost:{port}");
    let said = format!("--net {rule} would open it to programs that use http_proxy");
    let commands = [
        format!("/usr/bin/python3 -m pip download --retries 0 --index-url http://{rule}/ foo"),
        format!("npm view foo --registry http://{rule}/ --fetch-retries 0"),
        format!("curl -sSf http://{rule}/"),
    ];
    for (flags, expected) in [(&[][..], Some(said.as_str())), (&["--net", &rule], None)] {
        let commands = commands.iter().map(String::as_str);
        let told = Place::new().results_of(commands.clone(), flags, |it| it).unwrap();
        for (command, told) in commands.zip(told) {
            if told.contains("command not found") || told.contains("No module named pip") {
                skipped(format!("not installed: {command}"));
                continue;
            }
            check_only_wall(command, &told, expected);
            let is_reached = told.contains("404") || told.contains("No matching distribution");
            assert!(expected.is_some() || is_reached, "{command}: {told}");
        }
    }
}

#[test]
fn what_a_command_hides_of_a_refusal_is_told_as_far_as_its_line_names_it() {
    let keys = "home/.ssh is closed to commands";
    let perhaps_keys = "files: if it was tried: ";
    for (tier, who) in ways() {
        let place = Place::new();
        place.write("home/.ssh/id_rsa", "SECRET\n");
        let key = format!("cat {}", place.path("home/.ssh/id_rsa").display());
        let rows: &[(&str, &[&str])] = &[
            ("cat ~/.ssh/id_rsa 2>/dev/null; true", &[keys]),
            ("cat ~/.ssh/id_rsa 2>/dev/null; echo went on", &[perhaps_keys]),
            (&key, &["read_file asks the user for a file"]),
            ("cat ~/notes.txt 2>/dev/null; echo went on", &["if it was tried: of the user's home"]),
            ("ls /home/nobody-here 2>/dev/null || echo none", &["if it was tried: commands see"]),
            ("touch /opt/x 2>/dev/null; true", &["files: outside of the workspace commands"]),
            ("echo a > a 2>/dev/null; ls . /usr; echo went on", &[]),
            ("echo ~/.ssh/id_rsa; grep -c /home/x a || true", &[]),
        ];
        check(&place, (tier, who), rows);
        if is_root(who) {
            let rows: &[(&str, &[&str])] =
                &[("wc -c /etc/shadow; true", &["/etc/shadow is closed to commands"])];
            check(&place, (tier, who), rows);
        }
    }
}
