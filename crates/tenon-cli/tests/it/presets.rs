//! What `--net cargo`, `npm`, `pip` and `go` ask and read: never what lies in a folder of the session.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

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
