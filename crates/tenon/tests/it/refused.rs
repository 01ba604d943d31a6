//! Without anybody to ask: what is refused says which flag would allow it, in the result and in the
//! JSON's list of what was refused.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::program::{Place, Run};
use crate::skipped::skipped;

/// Makes one call and returns the JSON's entries and what the model was told.
fn refused(flags: &[&str], tool: &str, arguments: Value) -> (Vec<Value>, String) {
    let place = Place::new();
    let call = json!({ "calls": [{ "name": tool, "arguments": arguments }] });
    let script = place.script(json!([call, { "text": "done" }]));
    let arguments =
        |format| [&["--model", &script, "--output-format", format], flags, &["go"]].concat();
    let run = |format| place.run(&arguments(format)).ends_with(0);
    let object: Value = serde_json::from_str(&run("json").out).unwrap();
    let events = run("stream-json");
    let results = events.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let result = results.into_iter().find(|event| event["type"] == "tool_result").unwrap();
    let told = result["content"].as_str().unwrap().to_owned();
    (object["refused"].as_array().unwrap().clone(), told)
}

/// The call is refused by `rule`, and `flag` is named everywhere.
#[track_caller]
fn check(flags: &[&str], tool: &str, arguments: Value, rule: &str, flag: Option<&str>) {
    let (refused, told) = refused(flags, tool, arguments.clone());
    let [entry] = refused.as_slice() else { panic!("{arguments}: {refused:?}, {told}") };
    assert_eq!((entry["tool"].as_str(), entry["rule"].as_str()), (Some(tool), Some(rule)));
    assert_eq!(entry["flag"].as_str(), flag, "{entry}");
    if let Some(flag) = flag {
        assert!(told.contains(flag), "{told}");
    }
    assert!(told.starts_with("Error: "), "{told}");
}

#[test]
fn every_refusal_is_in_the_list_with_its_flag() {
    let outside = |pattern| json!({ "pattern": pattern });
    let (asked, closed) = ("built-in: path outside", "built-in: closed place");
    let etc = Some("--allow 'read(/etc/**)'");
    check(&[], "glob", outside("/etc/*"), asked, etc);
    check(&[], "glob", json!({ "pattern": "*.conf", "path": "/etc" }), asked, etc);
    check(&[], "glob", outside("*/../../x"), closed, None);
    check(&[], "grep", json!({ "pattern": "x", "glob": "/etc/*" }), asked, etc);
    check(&[], "read_file", json!({ "path": "/proc/self/environ" }), closed, None);
    check(&[], "read_file", json!({ "path": "none/../../../x" }), closed, None);
    let hosts = Some("--allow 'read(/etc/hosts)'");
    check(&[], "read_file", json!({ "path": "/etc/hosts" }), asked, hosts);
    let write = json!({ "path": "/opt/new", "content": "x" });
    check(&[], "write_file", write, asked, Some("--allow 'write(/opt/new)'"));
    let protected = json!({ "path": ".envrc", "content": "x" });
    let flag = Some("--allow 'write_file(.envrc)'");
    check(&[], "write_file", protected, "built-in: protected file", flag);
    for (path, flag) in [
        (".vscode/a*b.json", Some(r"--allow 'write_file(.vscode/a\*b.json)'")),
        (".vscode/a?b.json", Some(r"--allow 'write_file(.vscode/a\?b.json)'")),
        ("~/.envrc", Some("--allow 'write_file(./~/.envrc)'")),
        // Blanks at the end of a rule are cut off.
        (".vscode/a ", None),
    ] {
        let odd = json!({ "path": path, "content": "x" });
        check(&[], "write_file", odd, "built-in: protected file", flag);
    }
    let brackets = json!({ "path": ".vscode/[x].json", "content": "x" });
    let flag = Some("--allow 'write_file(.vscode/[x].json)'");
    check(&[], "write_file", brackets, "built-in: protected file", flag);
    let sudo = json!({ "command": "sudo true" });
    check(&[], "bash", sudo, "built-in: privileges", Some("--allow 'bash(sudo true:*)'"));
    let doubt = json!({ "command": "echo 'open" });
    check(&[], "bash", doubt, "built-in: doubtful command", Some("--allow 'bash'"));
    let system = json!({ "command": "rm -rf /" });
    check(&[], "bash", system, "built-in: removing the system", None);
    let denied = json!({ "command": "make x" });
    check(&["--deny", "bash(make:*)"], "bash", denied, "bash(make:*)", None);
}

#[test]
fn modes_name_the_flag_too() {
    let read_only = |tool, arguments, flag| {
        check(&["--mode", "read-only"], tool, arguments, "mode: read-only", flag);
    };
    read_only("bash", json!({ "command": "touch x" }), Some("--mode auto"));
    let forced = json!({ "command": "git push -f" });
    read_only("bash", forced, Some("--mode auto --allow 'bash(git push -f:*)'"));
    let file = || json!({ "path": "a", "content": "x" });
    read_only("write_file", file(), Some("--mode auto"));
    let flag = Some("--allow 'write_file(a)'");
    check(&["--mode", "ask"], "write_file", file(), "mode: ask", flag);
    let command = json!({ "command": "touch x" });
    check(&["--mode", "ask"], "bash", command, "mode: ask", Some("--allow 'bash(touch x:*)'"));
}

#[test]
fn each_flag_that_is_named_allows_what_was_refused() {
    let place = Place::new();
    let glob = json!({ "pattern": "/etc/host*" });
    let call = json!({ "calls": [{ "name": "glob", "arguments": glob }] });
    let script = place.script(json!([call, { "text": "done" }]));
    let run = place.run(&["--model", &script, "--allow", "read(/etc/**)", "go"]).ends_with(0);
    assert!(run.out.contains("/etc/hosts"), "{}", run.out);
    for (path, rule) in [
        (".vscode/a*b.json", r"write_file(.vscode/a\*b.json)"),
        ("~/.envrc", "write_file(./~/.envrc)"),
    ] {
        let arguments = json!({ "path": path, "content": "x" });
        let call = json!({ "calls": [{ "name": "write_file", "arguments": arguments }] });
        let script = place.script(json!([call, { "text": "done" }]));
        place.run(&["--model", &script, "--allow", rule, "go"]).ends_with(0);
        assert!(place.path("work").join(path).exists(), "{path}");
    }
}

/// The answer to the question about it is in `grants.rs`; what a preset opens is read from the
/// toolchains' own settings, so nothing is reached here.
#[test]
fn the_blocked_host_of_a_toolchain_is_named_with_its_preset() {
    let npm = "npm view nothing-here --fetch-retries=0";
    let pip = "/usr/bin/python3 -m pip download --retries 0 --no-deps -d . nothing-here";
    let has_pip = || {
        let mut pip = std::process::Command::new("/usr/bin/python3");
        pip.args(["-m", "pip", "--version"]).output().is_ok_and(|output| output.status.success())
    };
    for (preset, command, is_there) in
        [("npm", npm, std::path::Path::new("/usr/bin/npm").exists()), ("pip", pip, has_pip())]
    {
        if !is_there {
            skipped(format_args!("{preset} is not installed"));
            continue;
        }
        let (refused, told) = refused(&[], "bash", json!({ "command": command }));
        let [entry] = refused.as_slice() else { panic!("{preset}: {refused:?}, {told}") };
        assert_eq!((&entry["tool"], &entry["rule"]), (&json!("host"), &json!("walls: network")));
        assert_eq!(entry["flag"], format!("--net {preset}"), "{told}");
        assert!(told.contains(&format!("[walls] --net {preset} would open {preset} (")), "{told}");
    }
}

/// Each program says it in its own words; the kernel tells what it was.
#[test]
fn system_calls_that_the_walls_refuse_are_named_in_the_result_and_in_the_list() {
    for (program, command, what) in [
        ("unshare", "unshare -U true", "making or entering namespaces"),
        (
            "chroot",
            "PATH=$PATH:/usr/sbin:/sbin; chroot / true 2>/dev/null; true",
            "changing the root folder (chroot)",
        ),
        ("strace", "strace true", "tracing a process (ptrace)"),
        ("gdb", "gdb -batch -ex run /bin/true", "tracing a process (ptrace)"),
        ("bwrap", "bwrap --ro-bind / / true", "making or entering namespaces"),
        ("perf", "perf stat true", "performance counters (perf)"),
        ("dmesg", "dmesg", "the kernel's messages (dmesg)"),
        (
            "python3",
            "python3 -c 'import socket; socket.socket(socket.AF_VSOCK)'",
            "sockets of other families (vsock, packet and the like)",
        ),
    ] {
        let folders = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];
        if !folders.iter().any(|folder| std::path::Path::new(folder).join(program).exists()) {
            skipped(format_args!("{program} is not installed"));
            continue;
        }
        if program == "chroot" && !rustix::process::geteuid().is_root() {
            skipped("an ordinary user may not change the root folder without walls either");
            continue;
        }
        let (refused, told) = refused(&[], "bash", json!({ "command": command }));
        let sentence =
            format!("[walls] system calls: the walls refuse {what}; --sandbox off would lift them");
        assert!(told.ends_with(&sentence), "{command}: {told}");
        let [entry] = refused.as_slice() else { panic!("{command}: {refused:?}, {told}") };
        let expected = json!({
            "call_id": entry["call_id"], "tool": "system call", "subject": what,
            "rule": "walls: system calls", "flag": "--sandbox off",
        });
        assert_eq!(entry, &expected);
    }
    let tries = "python3 -c 'import socket; socket.socket(socket.AF_VSOCK)' 2>/dev/null; true";
    for command in ["false; echo traced", tries] {
        let (refused, told) = refused(&[], "bash", json!({ "command": command }));
        assert!(refused.is_empty() && !told.contains("[walls]"), "{command}: {told}");
    }
}

/// Runs commands one after another in one session and returns what the model is told of each.
fn told_of(place: &Place, tier: &str, commands: &[&str]) -> Vec<String> {
    let call = |command: &&str| json!({ "calls": [{ "name": "bash", "arguments": { "command": command } }] });
    let turns: Vec<Value> = commands.iter().map(call).chain([json!({ "text": "done" })]).collect();
    let script = place.script(json!(turns));
    let flags = ["--model", &script, "--sandbox", tier, "--output-format", "stream-json", "go"];
    let run = place.run(&flags).ends_with(0);
    let events = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = events.filter(|event| event["type"] == "tool_result");
    results.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

/// Said by where a path lies: nothing of what is named is there, but for one note.
#[test]
fn what_is_out_of_sight_of_commands_is_told_where_one_looks_for_it() {
    const OTHERS: &str = "[walls] files: commands see nothing of what the machine has in /";
    const HOME: &str = "[walls] files: of the user's home commands see only toolchains";
    const PRIVATE: &str = "[walls] files: commands have a /tmp of the session's own";
    const KEYS: &str = "home/.ssh is closed to commands, so it looks empty or as if it were not \
                        there; read_file asks";
    const OWN: &str = "home/.config/tenon is closed to commands, so it looks empty or as if it were \
                       not there; --sandbox off";
    const DEVICES: &str = "[walls] files: commands have a /dev of their own";
    const ROWS: &[(&str, Option<&str>)] = &[
        ("cat /dev/kvm", Some(DEVICES)),
        ("test -e /dev/vda", Some(DEVICES)),
        ("cat /dev/none || true", None),
        ("cat /home/nobody-here/data.csv", Some(OTHERS)),
        ("test -d /home/nobody-here/disk", Some(OTHERS)),
        ("cat ~/notes.txt", Some(HOME)),
        ("cat ~/notes.txt | head -1; true", Some(HOME)),
        ("ls ~", Some(HOME)),
        ("test -e \"$HOME/none\"", Some(HOME)),
        ("cat ~/.ssh/id_rsa", Some(KEYS)),
        ("cat ~/.config/tenon/config.toml", Some(OWN)),
        ("wc -l < /tmp/out-of-another-program", Some(PRIVATE)),
        ("echo a > /tmp/a; cat /tmp/a; mkdir -p ~/.config/d; rm -f /tmp/none", None),
        ("mkdir ~/.e", None),
        ("false > /tmp/log 2>&1", None),
        ("ls /tmp/none || echo went on", None),
        ("cat none /usr/none", None),
        ("grep -rq /home/nobody .", None),
        ("echo cat ~/notes.txt; false", None),
        ("ls . /usr > /dev/null", None),
        // Not on the machine either, where commands would get a copy.
        ("cat ~/.gitconfig ~/.npmrc", None),
        ("test -e ~/.config/git/ignore", None),
        ("git config --global --list", None),
        ("[ -d /home ] && echo yes", None),
        ("[ -d /home ] || true", None),
        ("ls -d /home /tmp", None),
        ("touch ~/made && test -e ~/made", Some("home/made is outside of the workspace")),
        ("test -e ~/made", None),
        ("test -e ~/none || echo none", None),
        ("test -e ~/none; echo none", None),
    ];
    for tier in ["a", "b"] {
        if tier == "b" && !std::path::Path::new("/usr/bin/bwrap").exists() {
            skipped("bubblewrap is not installed");
            continue;
        }
        let place = Place::new();
        place.write("home/notes.txt", "of the home\n");
        let commands: Vec<&str> = ROWS.iter().map(|(command, _)| *command).collect();
        let told = told_of(&place, tier, &commands);
        assert_eq!(told.len(), ROWS.len());
        for ((command, expected), told) in ROWS.iter().zip(told) {
            let said = told.matches("[walls]").count();
            assert_eq!(said, usize::from(expected.is_some()), "{tier} {command}: {told}");
            assert!(expected.is_none_or(|words| told.contains(words)), "{tier} {command}: {told}");
        }
    }
}

#[test]
fn without_sockets_a_command_that_failed_is_told_so_whatever_it_prints() {
    const SOCKETS: &str = "[walls] network: commands in tier C have no sockets to this machine or others; --net on \
                           would open the network";
    let rows = [
        ("curl", "curl -s https://example.com", true),
        ("wget", "wget -q https://example.com", true),
        ("python3", "python3 -m http.server 18475", true),
        ("python3", "python3 -c 'import socket; socket.getaddrinfo(\"a.example\", 80)'", true),
        ("node", "node -e 'require(\"http\").createServer().listen(18476)'", true),
        ("python3", "python3 -c 'import socket; socket.socket()' 2> /dev/null || echo none", false),
        ("bash", "exit 3", false),
    ];
    let is_there = |program: &str| {
        let folders = ["/usr/local/bin", "/usr/bin", "/bin"];
        folders.iter().any(|folder| std::path::Path::new(folder).join(program).exists())
    };
    let (rows, missing): (Vec<(&str, &str, bool)>, Vec<_>) =
        rows.into_iter().partition(|(program, ..)| is_there(program));
    for (program, ..) in missing {
        skipped(format_args!("{program} is not installed"));
    }
    let commands: Vec<&str> = rows.iter().map(|(_, command, _)| *command).collect();
    let told = told_of(&Place::new(), "c", &commands);
    for ((_, command, is_said), told) in rows.iter().zip(told) {
        let said: Vec<&str> = told.lines().filter(|line| line.starts_with("[walls]")).collect();
        let expected: &[&str] = if *is_said { &[SOCKETS] } else { &[] };
        assert_eq!(said, expected, "{command}: {told}");
    }
}

/// Answers every request on a port of loopback with what `page` returns for its path.
pub(crate) fn served(page: impl Fn(&str) -> String + Send + 'static) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut asked in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let length = asked.read(&mut head).unwrap_or_default();
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let page = page(head.split(' ').nth(1).unwrap_or_default());
            let head = format!("Content-Type: text/html\r\nContent-Length: {}", page.len());
            let _ = write!(asked, "HTTP/1.1 200 OK\r\n{head}\r\nConnection: close\r\n\r\n{page}");
        }
    });
    address
}

#[test]
fn the_preset_of_cargo_has_the_hosts_that_an_index_leads_to_which_it_never_read() {
    let cargo = std::path::Path::new(env!("CARGO"));
    if !cargo.exists() {
        return skipped("the cargo that built the tests is gone");
    }
    let place = Place::new();
    let index = served(|path| match path {
        "/config.json" => r#"{"dl":"http://files.example:8088/crates"}"#.to_owned(),
        _ => format!(
            r#"{{"name":"semver","vers":"1.0.0","deps":[],"cksum":"{}","features":{{}},"yanked":false}}"#,
            "0".repeat(64)
        ),
    });
    place.write(
        "home/.cargo/config.toml",
        &format!("[source.crates-io]\nreplace-with = 'm'\n[source.m]\nregistry = 'sparse+http://{index}/'\n"),
    );
    let mut doctor = place.tenon(&["--net", "cargo", "doctor"]);
    let path = format!("{}:/usr/bin:/bin", cargo.parent().unwrap().display());
    let run = Run::of(doctor.env("PATH", &path).output().unwrap());
    let hosts = format!("{index}, files.example:8088");
    assert!(run.out.contains(&hosts), "{} {}", run.out, run.error);
    assert!(!run.error.contains("another host"), "{}", run.error);
    // An index that was read before the source was replaced leads nowhere, and one at the mirror's host
    // may be another.
    let read = |host: &str, files: &str| {
        place.write(
            &format!("home/.cargo/registry/index/{host}-1949cf8c6b5b557f/config.json"),
            &format!("{{\"dl\":\"https://{files}/crates\"}}"),
        );
        let mut doctor = place.tenon(&["--net", "cargo", "doctor"]);
        Run::of(doctor.env("PATH", &path).output().unwrap())
    };
    let run = read("old.example", "old-files.example");
    assert!(run.out.contains(&hosts), "{} {}", run.out, run.error);
    assert!(!run.out.contains("old.") && !run.out.contains("old-"), "{}", run.out);
    assert!(!run.error.contains("another host"), "{}", run.error);
    let run = read("127.0.0.1", "other.example");
    let hosts = format!("{index}, other.example, files.example:8088");
    assert!(run.out.contains(&hosts), "{} {}", run.out, run.error);
    // Another source's replacement leaves the index in use.
    place.write(
        "home/.cargo/config.toml",
        "[source.vendored]\nreplace-with = 'm'\n[source.m]\ndirectory = '/none'\n",
    );
    let run = read("old.example", "old-files.example");
    assert!(run.out.contains("old.example, old-files.example"), "{} {}", run.out, run.error);
}

#[test]
fn the_preset_of_pip_has_the_hosts_that_its_index_leads_to() {
    let Ok(python) =
        std::process::Command::new("python3").args(["-m", "pip", "--version"]).output()
    else {
        return skipped("python3 is not installed");
    };
    if !python.status.success() {
        return skipped("pip is not installed");
    }
    let address = served(|_| {
        "<a href=\"http://files.example:8088/pip-1.0.tar.gz\">pip-1.0.tar.gz</a>".to_owned()
    });
    let place = Place::new();
    let mut doctor = place.tenon(&["--net", "pip", "doctor"]);
    let run =
        Run::of(doctor.env("PIP_INDEX_URL", format!("http://{address}/simple")).output().unwrap());
    assert!(
        run.out.contains(&format!("{address}, files.example:8088")),
        "{} {}",
        run.out,
        run.error
    );
    assert!(!run.error.contains("another host"), "{}", run.error);
}

/// Each result has one line of the walls, and the list one entry for it.
#[test]
fn what_a_wall_refused_a_command_is_in_the_list_with_what_would_allow_it() {
    let files = "outside of the workspace commands write only in private temporary folders";
    let add = Some("--add-dir FOLDER");
    let off = Some("--sandbox off");
    let is_root = rustix::process::geteuid().is_root();
    let elsewhere = if is_root { add } else { None };
    let mut rows = vec![
        ("echo x > /opt/new", "walls", "walls: files", files, elsewhere),
        ("ls /proc/1/root", "walls", "walls: files", "the kernel's own memory", off),
        ("kill -9 1", "walls", "walls: processes", "a command sends signals to its own", off),
        ("ulimit -v 100; ulimit -v 200", "walls", "walls: limits", "a command lowers", off),
        ("truncate -s 17G s; ls", "walls", "walls: limits", "no file larger than 16.0 GiB", None),
        ("truncate -s 17G s", "walls", "walls: limits", "ended: a file became too large", None),
        (
            "/usr/bin/python3 -c 'import os; open(\"f\", \"w\"); os.chmod(\"f\", 0o4755)'",
            "system call",
            "walls: system calls",
            "set-user-id",
            off,
        ),
    ];
    if is_root {
        rows.extend([
            (
                "touch q; chown 12:12 q",
                "walls",
                "walls: rights",
                "inside the walls nothing has",
                off,
            ),
            ("cat other", "walls", "walls: rights", "other belongs to user 65534", off),
        ]);
    } else {
        skipped("only root has rights that walls take, and gives files to others");
    }
    for (command, tool, rule, what, flag) in rows {
        let place = Place::new();
        let other = place.write("work/other", "x");
        if is_root {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&other, mode).unwrap();
            std::os::unix::fs::chown(&other, Some(65534), Some(65534)).unwrap();
        }
        let call = json!({ "calls": [{ "name": "bash", "arguments": { "command": command } }] });
        let script = place.script(json!([call, { "text": "done" }]));
        let run = place.run(&["--model", &script, "--output-format", "json", "go"]).ends_with(0);
        let object: Value = serde_json::from_str(&run.out).unwrap();
        let [entry] = object["refused"].as_array().unwrap().as_slice() else {
            panic!("{command}: {object}")
        };
        assert_eq!((entry["tool"].as_str(), entry["rule"].as_str()), (Some(tool), Some(rule)));
        assert_eq!(entry["flag"].as_str(), flag, "{command}: {entry}");
        assert!(entry["subject"].as_str().unwrap().contains(what), "{command}: {entry}");
        assert_eq!(entry["call_id"], "call_1_1", "{command}: {entry}");
    }
}

#[test]
fn a_host_that_a_denial_refuses_is_in_the_list_under_the_name_of_its_rule() {
    let connect = |target: &str| {
        format!(
            "(exec 3<>/dev/tcp/127.0.0.1/${{http_proxy##*:}}
            printf 'CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n' >&3; head -1 <&3)\n"
        )
    };
    let targets = ["a.example.com:443", "a.example.com:8443", "b.example:443", "c.example:80"];
    let command = targets.map(connect).concat();
    let deny = ["--deny", "net(*.example.com)", "--net", "a.example.com", "--sandbox", "a"];
    let (refused, told) = refused(&deny, "bash", json!({ "command": command }));
    let entry = |it: &Value| {
        let text = |name: &str| it[name].as_str().map(str::to_owned);
        assert_eq!(it["tool"], "host", "{it}");
        (text("subject").unwrap(), text("rule").unwrap(), text("flag"))
    };
    let expected = [
        ("a.example.com", "net(*.example.com)", None),
        ("a.example.com:8443", "net(*.example.com)", None),
        ("b.example", "walls: network", Some("--net b.example")),
        // A tunnel to the port of plain HTTP, which no flag opens.
        ("c.example", "walls: network", None),
    ];
    let expected = expected.map(|(subject, rule, flag)| {
        (subject.to_owned(), rule.to_owned(), flag.map(str::to_owned))
    });
    assert_eq!(refused.iter().map(entry).collect::<Vec<_>>(), expected, "{told}");
    let line = "[walls] blocked: a.example.com:443 (the rule net(*.example.com) denies it)";
    assert!(told.contains(line), "{told}");
}
