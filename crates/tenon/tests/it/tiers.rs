//! What a session does with the walls that its machine gives, and what it says of them.

use serde_json::{Value, json};

use crate::{
    program::{Place, Run},
    program_copy::copy_program,
    skipped::skipped,
    walls::run_without_namespaces,
};

fn running(place: &Place, command: &str) -> String {
    let call = json!({ "name": "bash", "arguments": { "command": command } });
    place.script(json!([{ "calls": [call] }, { "text": "done" }]))
}

#[test]
fn where_the_machine_gives_tier_c_alone_hosts_stay_closed_and_commands_run() {
    let place = Place::new();
    place.config("net = ['example.com']");
    let command = "echo ran > ran; echo > /dev/tcp/127.0.0.1/9";
    let arguments = ["--output-format", "json", "--model", &running(&place, command), "go"];
    let Some(run) = run_without_namespaces(&place, &arguments) else { return };
    assert!(run.ends_with(0).out.contains(r#""sandbox":"c""#));
    assert!(place.path("work/ran").exists());
    let logs = place.logs();
    assert!(logs.contains("commands in tier C have no sockets"), "{logs}");
    assert!(!logs.contains("cannot be had"), "{logs}");
}

#[test]
fn where_no_walls_are_to_be_had_the_list_names_the_command_and_what_would_allow_it() {
    // The numbers of Landlock's system calls, which then are not there.
    let taker = "import ctypes, os, struct, sys
code = [(32, 0, 0, 0), (53, 0, 2, 444), (37, 1, 0, 446), (6, 0, 0, 0x50026), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *it) for it in code))
class Program(ctypes.Structure): _fields_ = [('count', ctypes.c_ushort), ('code', ctypes.c_void_p)]
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(Program(len(code) // 8, ctypes.addressof(code)))):
    sys.exit(99)
os.execv(sys.argv[1], sys.argv[1:])";
    let place = Place::new();
    for more in [json!({}), json!({ "background": true })] {
        let mut given = json!({ "command": "echo ran > ran" });
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let calls = json!([{ "name": "bash", "arguments": given }]);
        let script = place.script(json!([{ "calls": calls }, { "text": "done" }]));
        let arguments = ["--output-format", "json", "--model", &script, "go"];
        let Ok(output) = place.tenon_by("python3", &["-c", taker], &arguments).output() else {
            return skipped("there is no python3 here");
        };
        let run = Run::of(output);
        if run.status == 99 {
            return skipped("system calls cannot be taken away here");
        }
        let object: Value = serde_json::from_str(&run.ends_with(0).out).unwrap();
        let [entry] = object["refused"].as_array().unwrap().as_slice() else { panic!("{object}") };
        let told = |name: &str| entry[name].as_str().unwrap_or_default();
        assert_eq!(["tool", "rule", "flag"].map(told), ["walls", "walls: tier", "--sandbox off"]);
        assert_eq!(told("call_id"), "call_1_1");
        assert!(told("subject").contains("nothing was run"), "{entry}");
        assert!(!place.path("work/ran").exists());
    }
    let mut checked = place.tenon_by("python3", &["-c", taker], &["permissions", "check", "ls"]);
    let run = Run::of(checked.output().unwrap()).ends_with(1);
    for part in ["deny: ", "cannot be had", "rule: walls: tier", "--sandbox off"] {
        assert!(run.out.contains(part), "{part}: {run:?}");
    }
}

#[test]
fn without_room_for_a_thread_the_program_says_so_and_ends() {
    const LIMITED: [&str; 3] = ["bash", "-c", r#"ulimit -u 1 && exec "$0" "$@""#];
    let place = Place::new();
    let script = place.script(json!([{ "text": "done" }]));
    let arguments = ["--print", "--model", &script, "go"];
    let copy = place.path("tenon");
    copy_program(env!("CARGO_BIN_EXE_tenon").as_ref(), &copy);
    let copy = copy.display().to_string();
    let limited = [&LIMITED[..], &[&copy], &arguments].concat();
    // Root has no such limit.
    let mut tenon = if rustix::process::geteuid().is_root() {
        let all = place.path("");
        let given =
            std::process::Command::new("chown").args(["-R", "65534:65534"]).arg(all).status();
        assert!(given.unwrap().success());
        let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
        place.program("setpriv", &[&user[..], &limited].concat())
    } else {
        place.program("bash", &limited[1..])
    };
    let run = Run::of(tenon.output().unwrap()).ends_with(1);
    let said = "error: the program cannot start: there is no room for another thread\nhint: ";
    assert!(run.error.starts_with(said) && run.error.lines().count() == 2, "{}", run.error);
}

#[test]
fn a_turn_says_in_which_walls_its_commands_ran() {
    let place = Place::new();
    let ended = |flags: &[&str], script: &str| -> Run {
        let model = ["--output-format", "json", "--model", script];
        place.run(&[&model, flags, &["go"]].concat()).ends_with(0)
    };
    let plain = place.script(json!([{ "text": "done" }]));
    assert!(ended(&[], &plain).out.contains(r#""sandbox":null"#));
    let with_command = running(&place, "true");
    assert!(ended(&["--sandbox", "off"], &with_command).out.contains(r#""sandbox":"off""#));
    let out = ended(&[], &with_command).out;
    let walls = ["a", "b", "c"].map(|tier| format!(r#""sandbox":"{tier}""#));
    assert!(walls.iter().any(|walls| out.contains(walls) && place.logs().contains(walls)), "{out}");
}

#[test]
fn of_the_virtual_environment_in_the_home_commands_have_the_programs() {
    for sandbox in ["auto", "c"] {
        let place = Place::new();
        place.write("home/.virtualenvs/x/pyvenv.cfg", "home = /usr/bin\n");
        place.write("home/.virtualenvs/x/notes", "SECRET");
        for name in ["home/.virtualenvs/x/bin/tool", "home/other/bin/tool"] {
            place.write(name, "#!/bin/sh\necho from the environment\n");
            let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(place.path(name), open).unwrap();
        }
        let script = running(&place, "tool; cat $VIRTUAL_ENV/notes; echo > $VIRTUAL_ENV/bin/new");
        let arguments = ["--print", "--sandbox", sandbox, "--model", &script, "go"];
        let run = |active: &str| {
            let active = place.path(active);
            let path = format!("{}/bin:{}", active.display(), std::env::var("PATH").unwrap());
            let mut tenon = place.tenon(&arguments);
            Run::of(tenon.env("VIRTUAL_ENV", active).env("PATH", path).output().unwrap())
        };
        // What is none is not shown for its name's sake, and that is said.
        let none = run("home/other");
        if none.status == 3 {
            return skipped("there is no tier C here");
        }
        let said = "note: commands do not see the virtual environment";
        assert!(none.error.contains(said), "{sandbox}: {}", none.error);
        assert!(!place.logs().contains("from the environment"), "{sandbox}: {}", place.logs());
        let found = run("home/.virtualenvs/x");
        let logs = place.logs();
        assert!(!found.error.contains(said), "{sandbox}: {}", found.error);
        assert!(logs.contains("from the environment"), "{sandbox}: {logs}");
        assert!(!logs.contains("SECRET"), "{sandbox}: {logs}");
        assert!(!place.path("home/.virtualenvs/x/bin/new").exists());
    }
}

#[test]
fn the_way_by_which_the_user_came_to_the_workspace_is_one_for_commands() {
    for sandbox in ["auto", "c"] {
        let place = Place::new();
        let way = place.path("home/projects/by");
        std::fs::create_dir_all(way.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(place.path("work"), &way).unwrap();
        let tool = format!("#!{}/sh\necho by the way\n", way.display());
        place.write("work/tool", &tool);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(place.path("work/tool"), open).unwrap();
        std::os::unix::fs::symlink("/bin/sh", place.path("work/sh")).unwrap();
        let script = running(&place, "./tool");
        let arguments = ["--print", "--sandbox", sandbox, "--model", &script, "go"];
        let at = way.display().to_string();
        let by_flag = [&["--cwd", &at], &arguments[..]].concat();
        for (arguments, pwd) in [(&arguments[..], &*at), (&by_flag, "/")] {
            let mut tenon = place.tenon(arguments);
            let run = Run::of(tenon.env("PWD", pwd).output().unwrap());
            if run.status == 3 {
                return skipped("there is no tier C here");
            }
            let logs = place.logs();
            assert!(logs.contains(r#""content":"by the way""#), "{sandbox} {pwd}: {logs}");
            std::fs::remove_dir_all(place.path("home/.local")).unwrap();
        }
    }
}

#[test]
fn what_a_toolchain_fetches_to_where_its_variable_says_is_private() {
    let place = Place::new();
    place.write("tools/config", "");
    let tools = place.path("tools");
    place.config(&format!("read_dir = ['{}']", tools.display()));
    let script = running(&place, "mkdir $CARGO_HOME/registry && echo unpacked");
    let arguments = ["--print", "--sandbox", "a", "--model", &script, "go"];
    let run = Run::of(place.tenon(&arguments).env("CARGO_HOME", &tools).output().unwrap());
    if run.status == 3 {
        return skipped("there is no tier A here");
    }
    assert!(place.logs().contains(r#""content":"unpacked""#), "{}", place.logs());
    assert!(!tools.join("registry").exists());
}

#[test]
fn commits_need_no_key_and_know_who_commits_and_what_is_ignored() {
    for sandbox in ["auto", "c"] {
        let place = Place::new();
        let config = "[include]\n\tpath = ~/.gitconfig.local\n[commit]\n\tgpgSign = true\n\
                      [core]\n\texcludesFile = ~/.ignored\n";
        place.write("home/.gitconfig", config);
        place.write("home/.gitconfig.local", "[user]\n\tname = Ada\n\temail = ada@example.com\n");
        place.write("home/.ignored", "*.tmp\n");
        let command = "git init -q . && touch a.tmp b && git add -A && git commit -qm one && \
                       git log --format=%an && git show --stat --format=";
        let script = running(&place, command);
        let run = place.run(&["--print", "--sandbox", sandbox, "--model", &script, "go"]);
        if run.status == 3 {
            return skipped("there is no tier C here");
        }
        let logs = place.logs();
        assert!(logs.contains("Ada\\n b | 0"), "{sandbox}: {logs}");
    }
}
