//! What `--net cargo`, `npm`, `pip` and `go` ask and read: never what lies in a folder of the session.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use serde_json::{Value, json};

use crate::program::{Place, Run};

/// A program that prints `text`.
fn program(place: &Place, name: &str, text: &str) {
    let path = place.write(name, &format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the doctor with a preset, the folders of the place in PATH, and variables; `@` stands for
/// the place. Returns what it prints of hosts.
fn hosts(place: &Place, preset: &str, path: &str, variables: &[(&str, &str)]) -> String {
    let top = place.path("").display().to_string();
    let whole = |text: &str| text.replace('@', top.trim_end_matches('/'));
    let mut doctor = place.tenon(&["--net", preset, "doctor"]);
    doctor.env("PATH", format!("{}:/usr/bin:/bin", whole(path)));
    for (name, value) in variables {
        doctor.env(name, whole(value));
    }
    let run = Run::of(doctor.output().unwrap());
    let lines = format!("{}\n{}", run.out, run.error);
    lines.lines().filter(|line| line.contains(".example")).collect::<Vec<_>>().join("\n")
}

const HELP: &str = "echo '--index-url <url> (default https://own.example/simple)'";
const EVIL_HELP: &str = "echo '--index-url <url> (default https://evil.example/simple)'";

#[test]
fn no_program_of_the_session_s_folders_is_asked() {
    let place = Place::new();
    program(&place, "work/.venv/bin/python3", EVIL_HELP);
    program(&place, "bin/python3", HELP);
    let check = |path: &str| {
        let found = hosts(&place, "pip", path, &[("VIRTUAL_ENV", "@/work/.venv")]);
        assert!(found.contains("own.example"), "{path}: {found}");
        assert!(!found.contains("evil.example"), "{path}: {found}");
    };
    check("@/work/.venv/bin:@/bin");
    // The folder of the session by another name, and a program that is a link into it.
    symlink(place.path("work"), place.path("other")).unwrap();
    check("@/other/.venv/bin:@/bin");
    fs::create_dir(place.path("links")).unwrap();
    symlink(place.path("work/.venv/bin/python3"), place.path("links/python3")).unwrap();
    check("@/links:@/bin");
    check("work/.venv/bin:@/bin");
}

#[test]
fn a_program_that_is_asked_reads_nothing_of_the_session_s_folders() {
    let place = Place::new();
    place.write("work/evil", "https://evil.example\n");
    program(&place, "work/run", "echo https://evil.example");
    let work = place.path("work").display().to_string();
    let reads = format!("echo $(cat {work}/evil; {work}/run; echo https://own.example)");
    program(&place, "bin/npm", &reads);
    let found = hosts(&place, "npm", "@/bin", &[]);
    assert!(found.contains("own.example") && !found.contains("evil.example"), "{found}");
}

#[test]
fn no_variable_leads_a_tool_into_the_session_s_folders() {
    let place = Place::new();
    let named =
        |variables: &str| format!("https://x$(echo \"{variables}\" | tr -c a-z0-9 -)x.example");
    program(
        &place,
        "bin/python3",
        &format!("{HELP}; echo index-url {}", named("$PYTHONPATH$PIP_CONFIG_FILE")),
    );
    program(
        &place,
        "bin/go",
        &format!("echo https://own.example,{}", named("$GOFLAGS$XDG_CONFIG_HOME")),
    );
    let check = |preset: &str, variables: &[(&str, &str)], kept: bool| {
        let found = hosts(&place, preset, "@/bin", variables);
        assert!(found.contains("own.example"), "{found}");
        assert_eq!(found.contains("work"), kept, "{variables:?}: {found}");
    };
    check("pip", &[("PYTHONPATH", "/usr/lib/x:@/work/lib")], false);
    check("pip", &[("PIP_CONFIG_FILE", "@/work/p")], false);
    check("go", &[("GOFLAGS", "-modfile=@/work/go.mod")], false);
    check("go", &[("XDG_CONFIG_HOME", "@/work")], false);
    // A neighbour with a longer name is another folder.
    check("go", &[("GOFLAGS", "@/work-2")], true);
}

#[test]
fn no_configuration_of_the_session_s_folders_is_read() {
    let place = Place::new();
    program(&place, "bin/npm", "echo https://own.example");
    program(&place, "bin/python3", HELP);
    program(&place, "bin/cargo", "true");
    let evil = "[source.crates-io]\nregistry = \"sparse+https://evil.example/\"\n";
    place.write("work/ch/config.toml", evil);
    place.write("work/ch/registry/index/evil.example-1/config.json", "{}");
    place.write("work/pip.conf", "[global]\nindex-url = https://evil.example/simple\n");
    place.write("work/npmrc", "registry=https://evil.example/\n");
    place.write("home/.cargo/config.toml", &evil.replace("evil", "own"));
    fs::create_dir_all(place.path("home/.config/pip")).unwrap();
    symlink(place.path("work/npmrc"), place.path("home/.npmrc")).unwrap();
    symlink(place.path("work/pip.conf"), place.path("home/.config/pip/pip.conf")).unwrap();
    for (preset, variables) in
        [("npm", &[][..]), ("pip", &[]), ("cargo", &[("CARGO_HOME", "@/work/ch")])]
    {
        let found = hosts(&place, preset, "@/bin", variables);
        assert!(found.contains("own.example"), "{preset}: {found}");
        assert!(!found.contains("evil.example"), "{preset}: {found}");
    }
}

#[test]
fn the_hosts_that_a_preset_opens_are_said_when_a_session_begins() {
    let place = Place::new();
    program(&place, "bin/npm", "echo https://own.example");
    let script = place.script(serde_json::json!([{ "text": "done" }]));
    let mut tenon = place.tenon(&["--net", "npm", "--model", &script, "-p", "go"]);
    tenon.env("PATH", format!("{}:/usr/bin:/bin", place.path("bin").display()));
    let run = Run::of(tenon.output().unwrap()).ends_with(0);
    assert!(run.error.contains("--net npm opens own.example"), "{}", run.error);
}

/// Where one host has the packages of several toolchains, a question is about the one that ran.
#[test]
fn the_preset_is_that_of_the_command_where_a_host_is_in_several() {
    let place = Place::new();
    place.write(
        "home/.cargo/config.toml",
        "[registries.own]\nindex = \"sparse+https://reg.example/cargo/\"\n",
    );
    place.write("home/.cargo/registry/index/reg.example-1/config.json", "{\"dl\":\"\"}");
    place.write("home/.npmrc", "registry=https://reg.example/npm/\n");
    place.write("home/.config/pip/pip.conf", "[global]\nindex-url = https://reg.example/pip\n");
    program(&place, "bin/npm", "exit 1");
    program(&place, "bin/python3", "exit 1");
    program(&place, "bin/go", "echo https://reg.example/go,direct");
    let asks = "exec bash -c 'p=${http_proxy##*[/@]}; exec 3<>/dev/tcp/${p%:*}/${p##*:}
        printf \"CONNECT reg.example:443 HTTP/1.1\\r\\nHost: reg.example:443\\r\\n\\r\\n\" >&3
        head -c 12 <&3'";
    for name in ["pip3.11", "npm", "cargo", "go", "uv", "pnpm", "yarn", "poetry", "python3", "sh"] {
        program(&place, &format!("work/tools/{name}"), asks);
    }
    let rows = [
        ("tools/pip3.11 install x", "pip"),
        ("echo cargo; env A=1 tools/uv sync; tools/cargo build", "pip"),
        ("tools/python3 -u -m pip install x", "pip"),
        ("tools/poetry install", "pip"),
        ("tools/npm install", "npm"),
        ("timeout 9 tools/pnpm install", "npm"),
        ("(cd . && tools/yarn | cat)", "npm"),
        ("tools/cargo build", "cargo"),
        ("tools/go mod download", "go"),
        // Nothing says which: the first that the host is one of.
        ("tools/sh", "cargo"),
    ];
    let call = |command: &str| json!({ "name": "bash", "arguments": { "command": command } });
    let mut turns: Vec<Value> =
        rows.iter().map(|(command, _)| json!({ "calls": [call(command)] })).collect();
    let job = json!({ "command": "tools/npm install", "background": true });
    turns.push(json!({ "calls": [{ "name": "bash", "arguments": job }] }));
    let wait = json!({ "action": "wait", "job": 1, "timeout": 20 });
    turns.push(json!({ "calls": [{ "name": "jobs", "arguments": wait }] }));
    turns.push(json!({ "text": "done" }));
    let script = place.script(Value::Array(turns));
    let mut tenon = place.tenon(&["--model", &script, "--output-format", "stream-json", "go"]);
    tenon.env("PATH", format!("{}:/usr/bin:/bin", place.path("bin").display()));
    let run = Run::of(tenon.output().unwrap()).ends_with(0);
    let events = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = events.filter(|event| event["type"] == "tool_result");
    let results: Vec<String> =
        results.map(|event| event["content"].as_str().unwrap().to_owned()).collect();
    let check = |command: &str, preset: &str, told: &str| {
        let said = format!("[walls] --net {preset} would open {preset} (reg.example)");
        assert!(told.contains(&said), "{command}: {told}");
        assert_eq!(told.matches("would open ").count(), 1, "{command}: {told}");
    };
    for ((command, preset), told) in rows.iter().zip(&results) {
        check(command, preset, told);
    }
    let of_job = results.iter().skip(rows.len()).map(String::as_str).collect::<String>();
    check("a job", "npm", &of_job);
}
