//! What commands inside the walls may prepare for a line that runs outside of them.

use std::{os::unix::fs::PermissionsExt, time::Duration};

use serde_json::{Value, json};

use crate::{program::Place, terminal::Home, tui::session};

const RULES: [&str; 4] = ["--allow", "bash(sudo:*)", "--allow", "bash(cd:*)"];

fn bash(arguments: Value) -> Value {
    json!({"calls": [{"name": "bash", "arguments": arguments}]})
}

/// A place with files outside of the workspace, and a `sudo` that runs its words.
fn place() -> Place {
    let place = Place::new();
    let sudo = place.write("bin/sudo", "#!/bin/sh\nexec \"$@\"\n");
    std::fs::set_permissions(sudo, std::fs::Permissions::from_mode(0o755)).unwrap();
    place.write("outside/key", "of outside\n");
    place
}

fn results(place: &Place, turns: &[Value]) -> Vec<String> {
    let script = place.script(turns.iter().cloned().chain([json!({"text": "The end."})]).collect());
    let output = ["--output-format", "stream-json", "--model", &script, "go"];
    let mut tenon = place.tenon(&[&RULES[..], &output].concat());
    tenon.env("PATH", format!("{}:/usr/bin:/bin", place.path("bin").display()));
    let run = crate::program::Run::of(tenon.output().unwrap());
    let events = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = events.filter(|event| event["type"] == "tool_result");
    results.map(|result| result["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_line_outside_is_asked_about_where_a_word_leads_out_by_a_link() {
    let place = place();
    let outside = place.path("outside").display().to_string();
    let make = format!(
        "mkdir logs; ln -s {outside}/key logs/app.log; ln -s {outside} build; ln -s {outside}/new none; \
         ln -s logs/app.log again; ln -s .envrc hook; echo mine > plain; ln -s plain link"
    );
    let lines = [
        ("sudo cat logs/app.log", "outside/key"),
        ("sudo rm -rf build/*", "outside"),
        ("cd build && sudo rm key", "outside"),
        ("sudo cat build/../outside/key", "outside"),
        ("sudo tee none", "outside/new"),
        ("sudo dd if=again of=plain", "outside/key"),
        ("sudo sh -c 'cat again'", "outside/key"),
        ("sudo tee hook", ".envrc"),
        ("sudo tar -Cbuild -cf- key", "outside"),
    ];
    let mut turns = vec![bash(json!({"command": make}))];
    turns.extend(lines.iter().map(|(line, _)| bash(json!({"command": line}))));
    turns.push(bash(json!({"command": "sudo cat ?uild/key"})));
    turns.push(bash(json!({"command": "sudo cat $UNKNOWN/build/key"})));
    turns.push(bash(json!({"command": "sudo cat link plain"})));
    let results = results(&place, &turns);
    for ((line, leads), result) in lines.iter().zip(&results[1..]) {
        let said = result.contains("leads to ") && result.contains(leads);
        assert!(said && result.contains("no rule can allow that"), "{line}: {result}");
    }
    for result in &results[results.len() - 3..results.len() - 1] {
        assert!(result.contains("it names more than is looked at"), "{results:?}");
    }
    assert!(results.last().unwrap().starts_with("mine\nmine"), "{results:?}");
    assert_eq!(std::fs::read_to_string(place.path("outside/key")).unwrap(), "of outside\n");
    assert!(!place.path("outside/new").exists());
}

#[test]
fn no_rule_lets_a_line_out_while_a_job_runs() {
    let place = place();
    let stop = json!({"calls": [{"name": "jobs", "arguments": {"action": "stop", "job": 1}}]});
    let results = results(
        &place,
        &[
            bash(json!({"command": "sleep 300", "background": true})),
            bash(json!({"command": "sudo true"})),
            stop,
            bash(json!({"command": "sudo echo out"})),
        ],
    );
    assert!(
        results[1].contains("job 1 still runs and can change what it uses; no rule can allow that"),
        "{results:?}"
    );
    assert!(results[3].starts_with("out"), "{results:?}");
}

#[test]
fn no_rule_lets_a_line_out_while_a_command_of_another_session_runs() {
    let place = place();
    let written = "echo evil > .envrc; touch started; sleep 300";
    let script = place.script(json!([bash(json!({"command": written}))]));
    let mut other = place.tenon(&["-p", "--model", &script, "go"]).spawn().unwrap();
    while !place.path("work/started").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = results(&place, &[bash(json!({"command": "sudo cat .envrc"}))]);
    let left = place.path("work/.envrc").exists();
    other.kill().unwrap();
    other.wait().unwrap();
    let expected = "another command runs here and can change what it uses; no rule can allow that";
    assert!(said[0].contains(expected) && !left, "{said:?}");
}

#[test]
fn a_command_of_ones_own_is_said_to_run_beside_what_the_model_runs() {
    let home =
        Home::new(json!([bash(json!({"command": "touch x; sleep 300"})), {"text": "It ran."}]));
    let mut terminal = session(&home);
    terminal.press("go\r");
    terminal.wait_for("sleep 300", 1);
    terminal.wait_for("Running", 1);
    terminal.press("!echo $((40 + 2))\r");
    terminal.wait_for("│ 42", 1);
    let screen = terminal.screen();
    assert!(screen.contains("that runs here meanwhile"), "{screen}");
    terminal.press("\x03\x04");
}

#[test]
fn a_command_of_ones_own_is_said_to_run_beside_a_job() {
    let job = bash(json!({"command": "sleep 300", "background": true}));
    let home = Home::new(json!([job, {"text": "It runs."}]));
    let mut terminal = session(&home);
    terminal.press("go\r");
    terminal.wait_for("It runs.", 1);
    terminal.press("!echo $((40 + 2))\r");
    terminal.wait_for("│ 42", 1);
    let screen = terminal.screen();
    assert!(screen.contains("What you run is outside the walls, and what it uses"), "{screen}");
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
}
