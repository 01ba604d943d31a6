//! `tenon changes`: what each call changed, for whoever reads it on a pipe or as JSON.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::{
    program::Place,
    undo::{bash, session_of},
};

#[test]
fn every_file_of_a_call_is_listed_on_a_pipe_and_in_json() {
    let place = Place::new();
    session_of(&place, &["for n in $(seq 250); do echo > f$n; done", "echo > g"]);
    let listed = place.run(&["changes"]).ends_with(0).out;
    assert_eq!(listed.matches("  created  ").count(), 251, "{listed}");
    let json: Value =
        serde_json::from_str(&place.run(&["changes", "--json"]).ends_with(0).out).unwrap();
    let calls = json.as_array().unwrap();
    let files = calls.iter().map(|call| call["files"].as_array().unwrap().len());
    assert_eq!(files.collect::<Vec<_>>(), [250, 1], "{json}");
    assert!(calls.iter().all(|call| call.get("files_more").is_none()), "{json}");
    let none = Place::new();
    assert_eq!(none.run(&["changes", "--json"]).ends_with(0).out, "[]\n");
}

/// Returns a place with folders outside, and what a command that makes these links is told.
fn links_told(commands: &[&str]) -> (Place, String) {
    let place = Place::new();
    place.write("home/.profile", "own\n");
    place.write("work/f", "1\n");
    place.write("work/d/g", "1\n");
    place.write("other/f", "1\n");
    symlink(place.path("other"), place.path("work/there")).unwrap();
    let top = place.path("").display().to_string();
    let commands = commands.iter().map(|command| command.replace("{}", top.trim_end_matches('/')));
    let commands: Vec<String> = commands.collect();
    let told = place.results_of(commands.iter().map(String::as_str), &[], |it| it).unwrap();
    let told = told.concat().replace(top.trim_end_matches('/'), "{}");
    (place, told)
}

#[test]
fn links_that_lead_out_to_where_the_person_may_write_are_told() {
    let rows = [
        ("ln -s {}/home/.profile l", "l -> {}/home/.profile"),
        ("ln -s {}/home/.none l", "l -> {}/home/.none"),
        ("ln -s {}/other l", "l -> {}/other"),
        ("ln -s ../other/f l", "l -> ../other/f"),
        ("ln -s ../none/deep/f l", "l -> ../none/deep/f"),
        ("ln -s ../../home/.profile d/l", "d/l -> ../../home/.profile"),
        ("mkdir -p n/m; ln -s {}/other n/m/l", "n/m/l -> {}/other"),
        ("ln -s d/../../other/f l", "l -> d/../../other/f"),
        ("ln -s f l; ln -sf {}/other/f l", "l -> {}/other/f"),
        ("ln -s there/f l", "l -> there/f"),
        ("ln -s there/none l", "l -> there/none"),
        ("ln -sfn {}/home there", "there -> {}/home"),
        ("ln -s {}/other \"$(printf 'a\\033b')\"", "a␛b -> {}/other"),
    ];
    for (command, link) in rows {
        let (place, told) = links_told(&[command]);
        assert!(told.contains(&format!("[changes] link {link} (outside), ")), "{command}: {told}");
        let top = place.path("").display().to_string();
        let listed =
            place.run(&["changes"]).ends_with(0).out.replace(top.trim_end_matches('/'), "{}");
        let (path, target) = link.split_once(" -> ").unwrap();
        let row = listed.lines().find(|line| line.starts_with("  link "));
        let row = row.unwrap_or_else(|| panic!("{command}: {listed}"));
        assert!(
            row.ends_with(&format!(" -> {target} (outside)")) && !row.contains('\u{1b}'),
            "{row}"
        );
        let json = place.run(&["changes", "--json"]).ends_with(0).out;
        let json: Value = serde_json::from_str(&json).unwrap();
        let path_told = json[0]["links"][0]["path"].as_str().unwrap();
        assert!(path_told == path || path.starts_with('a'), "{json}");
    }
}

#[test]
fn ordinary_links_are_not_told() {
    let (place, told) = links_told(&[
        "ln -s f a; ln -s ../f d/b; ln -s d c; ln -s none e; ln -s /dev/null h",
        "mkdir -p .venv/bin node_modules/.bin node_modules/p; ln -s /usr/bin/env .venv/bin/python",
        "touch node_modules/p/cli.js; ln -s ../p/cli.js node_modules/.bin/p; ln -s {}/work/f i",
        "chmod 700 d; touch -h there; ln -s a j; mv j k",
    ]);
    assert!(told.contains("[changes] ") && !told.contains("link"), "{told}");
    let listed = place.run(&["changes"]).ends_with(0).out;
    assert!(!listed.contains("->"), "{listed}");
}

#[test]
fn of_very_many_links_the_first_are_told_by_name() {
    let (place, told) = links_told(&["for n in $(seq -w 200); do ln -s {}/other l$n; done"]);
    let first = "[changes] link l001 -> {}/other (outside), link l002 -> {}/other (outside), \
                 link l003 -> {}/other (outside), 197 more links to outside, 200 new";
    assert!(told.contains(first), "{told}");
    let listed = place.run(&["changes"]).ends_with(0).out;
    let links = listed.lines().filter(|line| line.starts_with("  link "));
    assert_eq!(links.count(), 100, "{listed}");
    assert!(listed.contains("  … and 100 more links to outside\n"), "{listed}");
}

#[test]
fn a_link_that_leads_out_is_said_to_the_person_at_the_call() {
    let place = Place::new();
    let link = format!("ln -s {} l", place.path("home").display());
    let script = place.script(json!([bash(&link), {"text": "ok"}]));
    let run = place.run(&["--model", &script, "go"]).ends_with(0);
    let shown = format!("{}{}", run.out, run.error).replace(['\n', '│', ' '], "");
    let said = format!("linkl->{}(outside),1new", place.path("home").display());
    assert!(shown.contains(&said), "{run:?}");
}
