//! Pictures from a prompt, from the command line and from a paste, as the servers get them.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    fake_server::{FakeServer, Turn},
    program::{Place, Run},
    terminal::{Home, Terminal},
};

const GIF: &[u8] = b"GIF89a\x20\x03\x58\x02\0\0\0";
const GIF_BASE64: &str = "R0lGODlhIANYAgAAAA==";
const CTRL_D: &str = "\x04";

pub(crate) fn png(path: &Path) {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 3, 8, 2, 0, 0, 0]);
    std::fs::write(path, bytes).unwrap();
}

fn ask(place: &Place, server: &FakeServer, arguments: &[&str]) -> Run {
    let mut command = place.tenon(arguments);
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", server.url());
    command.env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", server.url());
    Run::of(command.output().unwrap())
}

#[test]
fn both_dialects_get_pictures_of_the_prompt_and_of_the_command_line_and_again_after_a_resume() {
    let turns = || vec![Turn::text("A dot."), Turn::text("Still.")];
    for (model, server) in [
        ("anthropic/claude-sonnet-4-5", FakeServer::anthropic(turns())),
        ("openai/gpt-4o", FakeServer::openai(turns())),
    ] {
        let place = Place::new();
        std::fs::write(place.path("work/dot"), GIF).unwrap();
        png(&place.path("home/shot.png"));
        let shot = place.path("home/shot.png").display().to_string();
        let prompt = "what is @dot, and what this?";
        ask(&place, &server, &["-p", "--model", model, "--image", &shot, prompt]).ends_with(0);
        ask(&place, &server, &["-p", "-c", "--model", model, "and now?"]).ends_with(0);
        let sent = server.requests();
        let messages: Vec<Value> =
            sent.iter().map(|sent| sent.json()["messages"].clone()).collect();
        let place_of = |n: usize| if model.starts_with("openai") { n + 1 } else { n };
        let mut content = messages[0][place_of(0)]["content"].clone();
        // Marks for the cache are no part of what is said.
        content.as_array_mut().unwrap().iter_mut().for_each(|block| {
            block.as_object_mut().unwrap().remove("cache_control");
        });
        let blocks = content.as_array().unwrap();
        let (dot, last) = (&blocks[1], blocks.last().unwrap());
        assert_eq!(last["text"], prompt, "{model}");
        if model.starts_with("openai") {
            let url = format!("data:image/gif;base64,{GIF_BASE64}");
            assert_eq!(*dot, json!({"type": "image_url", "image_url": {"url": url}}));
        } else {
            let source = json!({"type": "base64", "media_type": "image/gif", "data": GIF_BASE64});
            assert_eq!(*dot, json!({"type": "image", "source": source}));
        }
        let marks = |sent: &str| sent.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
        let (before, after) = (marks(&sent[0].text()), marks(&sent[1].text()));
        let end = before.rfind("}]").unwrap();
        assert!(after.starts_with(&before[..end]), "{model}:\n{before}\n{after}");
        assert!(!place.logs().contains(GIF_BASE64) && place.logs().contains("\"sha256\""));
    }
}

#[test]
fn what_cannot_be_sent_is_refused_in_a_sentence_before_any_request() {
    let place = Place::new();
    let server = FakeServer::openai(vec![Turn::text("Words.")]);
    std::fs::write(place.path("work/dot.gif"), GIF).unwrap();
    place.write("work/words.png", "words");
    std::fs::File::create(place.path("work/large.gif"))
        .and_then(|mut file| {
            std::io::Write::write_all(&mut file, GIF)?;
            file.set_len(4 << 20)
        })
        .unwrap();
    for (model, arguments, said) in [
        ("openai/gpt-oss-20b", &["look at @dot.gif"][..], "openai/gpt-oss-20b sees no images"),
        ("openai/gpt-4o", &["--image", "words.png", "x"], "words.png is not a PNG, JPEG"),
        ("openai/gpt-4o", &["--image", "none.png", "x"], "none.png cannot be opened"),
        ("openai/gpt-4o", &["@large.gif"], "large.gif is too large to send: 4194304 bytes"),
    ] {
        ask(&place, &server, &[&["-p", "--model", model], arguments].concat())
            .ends_with(2)
            .says(&[said]);
    }
    assert!(server.requests().is_empty());
    // Nothing was said, so nothing is logged.
    let logs = std::fs::read_dir(place.path("home/.local/state/tenon/sessions")).unwrap();
    assert_eq!(logs.count(), 0);
    // A file of another kind is a name like any other.
    ask(&place, &server, &["-p", "--model", "openai/gpt-oss-20b", "read @words.png"]).ends_with(0);
}

#[test]
fn what_comes_through_a_pipe_names_no_pictures() {
    let place = Place::new();
    std::fs::write(place.path("work/dot.gif"), GIF).unwrap();
    let script = place.script(json!([{"text": "Read."}]));
    let run = place.run_with_input(&["-p", "--model", &script, "sum it up"], "see @dot.gif\n");
    run.ends_with(0);
    assert!(!place.logs().contains("\"image\""), "{}", place.logs());
}

#[test]
fn read_file_says_what_an_image_is() {
    let place = Place::new();
    std::fs::write(place.path("work/dot.gif"), GIF).unwrap();
    let call = json!({"name": "read_file", "arguments": {"path": "dot.gif"}});
    let script = place.script(json!([{"calls": [call]}, {"text": "Read."}]));
    place.run(&["-p", "--model", &script, "read it"]).ends_with(0);
    assert!(
        place.logs().contains("(dot.gif is a GIF image, 800 x 600 pixels, 13 bytes; it cannot")
    );
}

#[test]
fn a_model_that_sees_is_shown_what_it_reads_in_both_dialects_and_again_after_a_resume() {
    let read = || {
        Turn::of_call("read_file", json!({"path": "dot.gif"}))
            .call("read_file", json!({"path": "words"}))
    };
    let turns = || vec![read(), Turn::text("A dot."), Turn::text("Still.")];
    for (model, server) in [
        ("anthropic/claude-sonnet-4-5", FakeServer::anthropic(turns())),
        ("openai/gpt-4o", FakeServer::openai(turns())),
    ] {
        let place = Place::new();
        std::fs::write(place.path("work/dot.gif"), GIF).unwrap();
        place.write("work/words", "words");
        ask(&place, &server, &["-p", "--model", model, "look"]).ends_with(0);
        ask(&place, &server, &["-p", "-c", "--model", model, "and now?"]).ends_with(0);
        let sent = server.requests();
        let messages = sent[2].json()["messages"].as_array().unwrap().clone();
        let said = "(dot.gif is a GIF image, 800 x 600 pixels, 13 bytes)";
        if model.starts_with("openai") {
            let roles: Vec<_> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
            let expected =
                ["system", "user", "assistant", "tool", "tool", "user", "assistant", "user"];
            assert_eq!(roles, expected);
            assert_eq!(messages[3]["content"], said);
            let url = format!("data:image/gif;base64,{GIF_BASE64}");
            let image = json!({"type": "image_url", "image_url": {"url": url}});
            assert_eq!(messages[5]["content"], json!([image]));
        } else {
            let source = json!({"type": "base64", "media_type": "image/gif", "data": GIF_BASE64});
            let image = json!({"type": "image", "source": source});
            let content = &messages[2]["content"][0]["content"];
            assert_eq!(*content, json!([{"type": "text", "text": said}, image]));
        }
        let bodies: Vec<String> = sent
            .iter()
            .map(|sent| sent.text().replace(r#","cache_control":{"type":"ephemeral"}"#, ""))
            .collect();
        for pair in bodies.windows(2) {
            let end = pair[0].rfind("}]").unwrap();
            assert!(pair[1].starts_with(&pair[0][..end]), "{model}:\n{}\n{}", pair[0], pair[1]);
        }
        assert!(!place.logs().contains(GIF_BASE64));
    }
}

#[test]
fn a_pasted_path_becomes_a_name_and_the_picture_goes_along() {
    let home = Home::new(json!([{"text": "A dot."}]));
    std::fs::write(home.work().join("a dot.gif"), GIF).unwrap();
    let path = home.work().join("a dot.gif").display().to_string();
    let mut terminal = Terminal::start_sized(&home, &[], (200, 60), &[]);
    terminal.wait_for("scripted", 2);
    terminal.press("what is");
    terminal.press(&format!("\x1b[200~{}\x1b[201~", path.replace(' ', "\\ ")));
    terminal.wait_for(&format!("> what is @\"{path}\""), 1);
    terminal.press("then?\r");
    terminal.wait_for("GIF image, 800 x 600 pixels, 13 bytes", 1);
    terminal.wait_for("A dot.", 1);
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit_code(), 0);
    let prompt = format!("what is @\"{path}\" then?");
    assert_eq!(home.logged("user_message", "prompt"), [prompt]);
    assert_eq!(home.logged("user_message", "message")[0]["content"][0]["type"], "image");
}
