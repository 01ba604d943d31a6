//! A session is exported by the real program as Markdown and as one HTML file.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::program::Place;

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
