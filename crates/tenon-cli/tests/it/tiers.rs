//! What a session does with the walls that its machine gives, and what it says of them.

use serde_json::json;

use crate::{
    program::{Place, Run},
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
