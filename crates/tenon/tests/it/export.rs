//! A session is exported by the real program as Markdown and as one HTML file.

use std::{
    os::unix::fs::{PermissionsExt, symlink},
    process::Command,
};

use serde_json::json;

use crate::{
    program::{Place, Run},
    terminal::{Home, Terminal},
    undo::bash,
};

#[test]
fn a_session_is_exported_as_markdown_and_html() {
    let place = Place::new();
    place.write("work/.env", "API_KEY=s3cret-0123456789\n");
    let script = place.script(json!([
        {"text": "Ich schaue <b>nach</b> 汉字 🦀.", "calls": [
            {"name": "bash", "arguments": {"command": "cat .env; echo '<script>x</script>'"}}]},
        {"calls": [{"name": "write_file", "arguments": {"path": "new.txt", "content": "one\n"}}]},
        {"text": "Done."},
    ]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "go on, 请"]).ends_with(0);
    let markdown = place.run(&["export", "last"]).ends_with(0).out;
    for part in
        ["## You\n\n> go on, 请\n", "**`write_file`** `new.txt`", "content:\none\n", "\nDone.\n"]
    {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    place.run(&["export", "last", "-o", "out.html"]).ends_with(0);
    let path = place.path("work/out.html");
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"), "{page}");
    assert!(page.contains("&lt;b&gt;nach&lt;/b&gt; 汉字 🦀."), "{page}");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    for text in [&page, &markdown] {
        assert!(!text.contains("s3cret-0123456789") && text.contains("masked: value of API"));
    }
    assert!(!page.contains("<script"), "{page}");
    place.run(&["export", "nothing"]).ends_with(2);
    place.run(&["export", "last", "-o", "/nowhere/at/all"]).ends_with(1);
}

#[test]
fn what_lies_in_the_place_of_an_export_stays_until_the_new_one_is_whole() {
    let place = Place::new();
    let script = place.script(json!([{"text": "Done."}]));
    for n in 0..40_u64 {
        // What gzip cannot make shorter.
        let noise = (0..100)
            .map(|k| format!("{:x}", (n * 100 + k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        place.write(&format!("work/{n}"), &noise.collect::<String>());
    }
    place.run(&["-p", "--model", &script, "go"]).ends_with(0);
    let bundle = place.write("old.tar.gz", "old");
    let cut = |arguments: &[&str]| {
        let mut shell: Command = place.program("sh", &["-c", "ulimit -f 8; exec \"$@\"", "sh"]);
        shell.arg(env!("CARGO_BIN_EXE_tenon")).args(arguments);
        assert!(!shell.output().unwrap().status.success());
    };
    let bundled = ["export", "last", "--bundle", "../old.tar.gz"];
    cut(&bundled);
    assert_eq!(std::fs::read_to_string(&bundle).unwrap(), "old");
    std::fs::set_permissions(&bundle, PermissionsExt::from_mode(0o640)).unwrap();
    place.run(&bundled).ends_with(0);
    assert_eq!(bundle.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    place.run(&["replay", "../old.tar.gz"]).ends_with(0);
    // What is no file is written itself, and stays whatever comes of it. No link is followed: a model may have
    // put it there.
    place.run(&["export", "last", "-o", "/dev/full"]).ends_with(1).says(&["No space left"]);
    for target in ["/dev/full", "../old.tar.gz", "../nothing"] {
        let link = place.path("work/link");
        symlink(target, &link).unwrap();
        for to in ["--bundle", "-o"] {
            let said = [format!("link is a symbolic link to {target}")];
            place
                .run(&["export", "last", to, "link"])
                .ends_with(2)
                .says(&[&said[0], "name the file"]);
        }
        std::fs::remove_file(&link).unwrap();
    }
    assert!(!place.path("nothing").exists());
    let printed = place.tenon(&["export", "last", "-o", "/dev/stdout"]).output().unwrap();
    assert!(Run::of(printed).ends_with(0).out.contains("Done."));
}

#[test]
fn a_document_takes_the_place_of_one_with_the_longest_name() {
    let place = Place::new();
    let script = place.script(json!([{"text": "Done."}]));
    place.run(&["-p", "--model", &script, "go"]).ends_with(0);
    for name in ["n".repeat(255), "字".repeat(85)] {
        for to in ["-o", "--bundle", "--bundle", "-o"] {
            place.run(&["export", "last", to, &name]).ends_with(0);
        }
        assert!(std::fs::read_to_string(place.path("work").join(name)).unwrap().contains("Done."));
    }
}

#[test]
fn a_link_that_a_command_put_in_the_place_of_a_document_is_not_followed() {
    let home = Home::new(json!([{"text": "Done."}]));
    let mut terminal = Terminal::start(&home, &["--plain"], 200, &[]);
    terminal.wait_for("Ctrl-D ends.", 1);
    terminal.wait_for_prompt();
    terminal.press("go\r");
    terminal.wait_for("Done.", 1);
    terminal.wait_for_prompt();
    let id = home.logged("session_started", "session")[0].as_str().unwrap().to_owned();
    let theirs = home.work().with_file_name("theirs");
    std::fs::write(&theirs, "theirs").unwrap();
    let document = home.work().join(format!("tenon-{id}.md"));
    symlink(&theirs, &document).unwrap();
    terminal.press("/export\r");
    terminal.wait_for("Written: ", 1);
    terminal.wait_for_prompt();
    terminal.press("\x04");
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(std::fs::read_to_string(theirs).unwrap(), "theirs");
    assert!(!document.is_symlink() && std::fs::read_to_string(document).unwrap().contains("Done."));
}

#[test]
fn a_folder_that_a_command_made_a_link_leads_no_document_elsewhere() {
    let place = Place::new();
    place.write("outside/old.md", "mine");
    let command = format!("ln -s {} docs", place.path("outside").display());
    let script = place.script(json!([bash(&command), {"text": "Done."}]));
    place.run(&["-p", "--allow", "bash", "--model", &script, "go"]).ends_with(0);
    for to in ["-o", "--bundle"] {
        for name in ["docs/old.md", "docs/new.md"] {
            let run = place.run(&["export", "last", to, name]).ends_with(2);
            run.says(&["leads through the symbolic link", "/work/docs"]);
        }
    }
    let names: Vec<_> = std::fs::read_dir(place.path("outside")).unwrap().collect();
    assert_eq!(names.len(), 1);
    assert_eq!(std::fs::read_to_string(place.path("outside/old.md")).unwrap(), "mine");
    // The person's own link is followed.
    symlink(place.path("outside"), place.path("own")).unwrap();
    place.run(&["export", "last", "-o", "../own/new.md"]).ends_with(0);
    assert!(place.path("outside/new.md").exists());
}
