//! `tenon changes`: what each call changed, for whoever reads it on a pipe or as JSON.

use serde_json::Value;

use crate::{program::Place, undo::session_of};

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
