//! A workspace that is the home folder, or holds it: where programs keep secrets is asked about by its name for
//! file tools, as is what they write in toolchains, and what is tenon's own is closed.

use std::{os::unix::fs::symlink, path::Path};

use serde_json::{Value, json};

use crate::{
    program::{Place, Run},
    skipped::skipped,
};

/// What nobody may see unasked, in files of which no value is known to be masked.
const SECRET: &str = "hush, says Ada";

const OUTPUT: [&str; 3] = ["-p", "--output-format", "stream-json"];

fn place() -> Place {
    let place = Place::new();
    let files = [".ssh/notes", ".aws/sso/cache", ".config/tenon/note", ".local/state/tenon/own"];
    for file in files.into_iter().chain([".cache/tenon/models/note"]) {
        place.write(&format!("home/{file}"), &format!("{SECRET}\n"));
    }
    place.write("home/src/a", "of the work\n");
    for (target, link) in [(".ssh/notes", "key"), (".ssh", "way"), ("../.ssh/notes", "src/up")] {
        symlink(target, place.path(&format!("home/{link}"))).unwrap();
    }
    place
}

/// Returns the results of these calls, each of which is a turn, in `folder`.
fn results(
    place: &Place,
    folder: &Path,
    arguments: &[&str],
    calls: &[(&str, Value)],
) -> Vec<String> {
    let model = place.script(turns(calls));
    let mut tenon = place.tenon(&[&OUTPUT[..], &["--model", &model, "go"], arguments].concat());
    results_of(&Run::of(tenon.current_dir(folder).output().unwrap()).ends_with(0))
}

fn turns(calls: &[(&str, Value)]) -> Value {
    let call = |(name, arguments): &(&str, Value)| json!({"calls": [{"name": name, "arguments": arguments}]});
    calls.iter().map(call).chain([json!({"text": "Done."})]).collect()
}

fn results_of(run: &Run) -> Vec<String> {
    let events = run.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let results = events.filter(|event| event["type"] == "tool_result");
    results.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

#[test]
fn places_of_secrets_and_what_is_tenons_own_are_closed_to_file_tools_by_every_way() {
    let place = place();
    let home = place.path("home");
    let absolute = home.join(".ssh/notes").display().to_string();
    let own = home.join(".local/state/tenon/own").display().to_string();
    let paths = [
        ".ssh/notes",
        "./.ssh/../.ssh/notes",
        "src/../.ssh/notes",
        ".ssh//./notes",
        "key",
        "way/notes",
        "src/up",
        "../home/.ssh/notes",
        &absolute,
        ".aws/sso/cache",
        ".config/tenon/note",
        ".local/state/tenon/own",
        ".cache/tenon/models/note",
        &own,
    ];
    for folder in [home.clone(), place.path("")] {
        let from = |path: &str| match path.starts_with('/') {
            true => path.to_owned(),
            false => home.join(path).strip_prefix(&folder).unwrap().display().to_string(),
        };
        let calls: Vec<_> = paths.iter().map(|path| read(&from(path))).collect();
        for (path, result) in paths.iter().zip(results(&place, &folder, &[], &calls)) {
            assert!(result.contains("Error: Closed: "), "{path}: {result}");
            assert!(!result.contains(SECRET), "{path}: {result}");
        }
        let searched: Vec<_> = [".ssh", "way", ".aws/sso", ".local/state/tenon", ".config/tenon"]
            .iter()
            .flat_map(|path| {
                let path = from(path);
                [
                    ("grep", json!({"pattern": "hush", "path": path})),
                    ("glob", json!({"pattern": "**/*", "path": path})),
                ]
            })
            .collect();
        for (call, result) in searched.iter().zip(results(&place, &folder, &[], &searched)) {
            assert!(result.contains("Error: Closed: "), "{call:?}: {result}");
        }
        let all = [
            ("grep", json!({"pattern": "hush|of the"})),
            ("glob", json!({"pattern": "**/*"})),
            ("glob", json!({"pattern": from(".s*/*")})),
        ];
        for (call, result) in all.iter().zip(results(&place, &folder, &[], &all)) {
            for name in ["ssh/notes", "sso", "tenon/", SECRET] {
                assert!(!result.contains(name), "{call:?}: {result}");
            }
            assert!(result.contains("left out") && result.contains(".ssh"), "{call:?}: {result}");
        }
    }
}

#[test]
fn nothing_is_written_where_programs_keep_secrets_and_a_rule_or_a_folder_lets_it_through() {
    let place = place();
    let home = place.path("home");
    let write = |path: &str| ("write_file", json!({"path": path, "content": "new\n"}));
    let edit = ("edit_file", json!({"path": "key", "old_text": "hush", "new_text": "loud"}));
    let own = [".local/state/tenon/new", ".cache/tenon/models/note"];
    let calls = [".ssh/new", "way/new"].into_iter().chain(own).map(write);
    let calls: Vec<_> = calls.chain([edit.clone()]).collect();
    for result in results(&place, &home, &[], &calls) {
        assert!(result.contains("Error: Closed: "), "{result}");
    }
    assert_eq!(std::fs::read_to_string(home.join(".ssh/notes")).unwrap(), format!("{SECRET}\n"));
    assert!(!home.join(".ssh/new").exists());

    let file = home.join(".ssh/notes").display().to_string();
    let refused = results(&place, &home, &[], &[read("key")]).remove(0);
    let flag = format!("--allow 'read({file})'");
    assert!(refused.contains(&format!("`{file}` is where programs keep secrets")), "{refused}");
    assert!(refused.contains(&flag), "{refused}");
    let allow = format!("read({file})");
    let allowed = ["--allow", &allow];
    let found = results(
        &place,
        &home,
        &allowed,
        &[read("key"), read(".ssh/notes"), read(".aws/sso/cache")],
    );
    assert!(found[0].contains(SECRET) && found[1].contains(SECRET), "{found:?}");
    assert!(!found[2].contains(SECRET), "{found:?}");

    let rule = format!("write({}/.ssh/**)", home.display());
    let found = results(&place, &home, &["--allow", &rule], &[write(".ssh/new"), edit]);
    assert!(found[0].starts_with("Wrote 4 bytes"), "{found:?}");
    assert!(home.join(".ssh/new").exists(), "{found:?}");
    let mut undo = place.tenon(&["undo", "2"]);
    Run::of(undo.current_dir(&home).output().unwrap()).ends_with(0);
    assert!(!home.join(".ssh/new").exists());
    assert_eq!(std::fs::read_to_string(home.join(".ssh/notes")).unwrap(), format!("{SECRET}\n"));

    let folder = home.join(".ssh").display().to_string();
    let grep = ("grep", json!({"pattern": "hush", "path": ".ssh"}));
    let found = results(&place, &home, &["--add-dir", &folder], &[read(".ssh/notes"), grep]);
    assert!(found.iter().all(|result| result.contains(SECRET)), "{found:?}");
    let own = home.join(".local/state/tenon/own").display().to_string();
    let rule = format!("read({own})");
    let found = results(&place, &home, &["--allow", &rule], &[read(&own)]);
    assert!(found[0].contains("tenon's own sessions and records lie there"), "{found:?}");
}

#[test]
fn long_results_are_read_in_a_home_as_everywhere() {
    let place = place();
    let home = place.path("home");
    let calls = [("bash", json!({"command": "seq 20000"}))];
    let result = results(&place, &home, &["--allow", "bash", "--sandbox", "off"], &calls).remove(0);
    let name = result.split_whitespace().find(|word| word.contains("/results/")).expect(&result);
    let file = name.trim_matches(|sign: char| !sign.is_ascii_alphanumeric() && sign != '/');
    let beside = Path::new(file).parent().unwrap().with_file_name("other/1.txt");
    let calls = [read(file), read(&beside.display().to_string())];
    let found = results(&place, &home, &["--continue"], &calls);
    assert!(found[0].contains("1\t1\n2\t2"), "{found:?}");
    assert!(found[1].contains("Error: Closed: "), "{found:?}");
}

#[test]
fn toolchains_are_written_by_name_alone_by_every_way_and_read_freely() {
    let place = Place::new();
    let home = place.path("home");
    for file in [".cargo/config.toml", ".local/bin/tool", "go/pkg/mod/x.go"] {
        place.write(&format!("home/{file}"), "as it was\n");
    }
    place.write("home/data/.rustup/settings.toml", "as it was\n");
    place.write("home/src/a", "of the work\n");
    for (target, link) in [
        (".cargo", "way"),
        (".cargo/config.toml", "file"),
        ("../.cargo", "src/up"),
        ("data/.rustup", ".rustup"),
    ] {
        symlink(target, home.join(link)).unwrap();
    }
    let absolute = home.join(".cargo/config.toml").display().to_string();
    let written = |path: &str| ("write_file", json!({"path": path, "content": "changed\n"}));
    let edited =
        |path: &str| ("edit_file", json!({"path": path, "old_text": "was", "new_text": "is"}));
    let paths = [
        (".cargo/config.toml", ".cargo/config.toml"),
        (".cargo/bin/new", ".cargo/bin/new"),
        ("src/../.cargo//./config.toml", ".cargo/config.toml"),
        ("way/config.toml", ".cargo/config.toml"),
        ("way/bin/new", ".cargo/bin/new"),
        ("file", ".cargo/config.toml"),
        ("src/up/config.toml", ".cargo/config.toml"),
        ("../home/.cargo/config.toml", ".cargo/config.toml"),
        (&absolute, ".cargo/config.toml"),
        (".local/bin/tool", ".local/bin/tool"),
        ("go/pkg/mod/x.go", "go/pkg/mod/x.go"),
    ];
    for folder in [home.clone(), place.path("")] {
        let from = |path: &str| match path.starts_with('/') {
            true => path.to_owned(),
            false => home.join(path).strip_prefix(&folder).unwrap().display().to_string(),
        };
        let calls: Vec<_> = paths.iter().map(|(path, _)| written(&from(path))).collect();
        for ((path, place), result) in paths.iter().zip(results(&place, &folder, &[], &calls)) {
            let place = from(place);
            let reason = format!("writing `{place}` can make other programs run code later");
            let flag = format!("--allow 'write_file({place})'");
            assert!(result.contains(&reason) && result.contains(&flag), "{path}: {result}");
        }
        let refused = results(&place, &folder, &[], &[edited(&from("file"))]).remove(0);
        assert!(refused.contains("can make other programs run code later"), "{refused}");
        let all = [
            read(&from("way/config.toml")),
            ("grep", json!({"pattern": "as it", "path": from(".cargo")})),
        ];
        for result in results(&place, &folder, &[], &all) {
            assert!(result.contains("as it was"), "{result}");
        }
        assert!(!home.join(".cargo/bin").exists());
        let read = |name: &str| std::fs::read_to_string(home.join(name)).unwrap();
        assert_eq!(read(".cargo/config.toml"), "as it was\n");
        // What commands write there, too, is the workspace's: behind a link, or beside toolchains.
        let free = [".rustup/new", "go/new"].map(|path| written(&from(path)));
        for result in results(&place, &folder, &[], &free) {
            assert!(result.starts_with("Wrote "), "{result}");
        }
        Run::of(place.tenon(&["undo", "2"]).current_dir(&folder).output().unwrap()).ends_with(0);

        // A yes is a rule that names the file, or the folder as one of the session.
        let way = [edited(&from("way/config.toml")), written(&from(".local/bin/tool"))];
        let found = results(&place, &folder, &["--allow", "write(~/.cargo/config.toml)"], &way);
        let refused = results(&place, &folder, &["--allow", "write(**)"], &way[1..]).remove(0);
        assert!(refused.contains("can make other programs run code later"), "{refused}");
        assert_eq!(read(".cargo/config.toml"), "as it is\n", "{found:?}");
        assert!(found[1].contains("can make other programs run code later"), "{found:?}");
        Run::of(place.tenon(&["undo"]).current_dir(&folder).output().unwrap()).ends_with(0);
        assert_eq!(read(".cargo/config.toml"), "as it was\n");
        let opened = home.join(".cargo").display().to_string();
        let found = results(&place, &folder, &["--add-dir", &opened], &way);
        assert_eq!(read(".cargo/config.toml"), "as it is\n", "{found:?}");
        assert!(found[1].contains("can make other programs run code later"), "{found:?}");
        Run::of(place.tenon(&["undo"]).current_dir(&folder).output().unwrap()).ends_with(0);
        assert_eq!(read(".cargo/config.toml"), "as it was\n");
    }
}

#[test]
fn commands_do_not_write_what_file_tools_ask_about_in_toolchains() {
    let place = Place::new();
    let home = place.path("home");
    for file in [".cargo/config.toml", ".local/bin/tool", "data/.rustup/settings.toml"] {
        place.write(&format!("home/{file}"), "as it was\n");
    }
    symlink("data/.rustup", home.join(".rustup")).unwrap();
    let files = [".cargo/config.toml", ".local/bin/tool", ".rustup/new", ".cargo/../a"];
    let write = |path: &&str| ("write_file", json!({"path": path, "content": "by a tool\n"}));
    let calls: Vec<_> = files.iter().map(write).collect();
    let tools = results(&place, &home, &[], &calls);
    let command = |path: &&str| ("bash", json!({"command": format!("echo by a command > {path}")}));
    let calls: Vec<_> = files.iter().map(command).collect();
    let commands = results(&place, &home, &["--sandbox", "a"], &calls);
    for (path, (tool, command)) in files.iter().zip(tools.iter().zip(&commands)) {
        let is_asked = tool.contains("can make other programs run code later");
        assert_eq!(is_asked, command.contains("Read-only file system"), "{path}: {tool} {command}");
    }
    let yes = "write_file writes there with the user's yes";
    assert!(commands[1].contains(yes), "{commands:?}");
}

#[test]
fn commands_neither_see_nor_make_what_other_sessions_compute_with() {
    let place = Place::new();
    let (home, model) = (place.path("home"), ".cache/tenon/models/m.gguf");
    place.write("home/src/a", "of the work\n");
    let command = format!("mkdir -p .cache/tenon/models; echo evil > {model}; ls -a .cache; true");
    let calls = [("bash", json!({ "command": command }))];
    let made = results(&place, &home, &["--sandbox", "a"], &calls).remove(0);
    assert!(!home.join(model).exists(), "{made}");
    place.write(&format!("home/{model}"), "good\n");
    let calls = [("bash", json!({"command": format!("{command}; mv .cache aside")}))];
    let changed = results(&place, &home, &["--sandbox", "a"], &calls).remove(0);
    assert_eq!(std::fs::read_to_string(home.join(model)).unwrap(), "good\n", "{changed}");
}

#[test]
fn where_variables_put_secrets_within_a_home_that_is_the_workspace_they_are_closed_too() {
    let place = Place::new();
    let home = place.path("home");
    let closed = ["cfg/gcloud/x", "cfg/rclone/y", "data/keyrings/z", "keys/trustdb.gpg", "typed"];
    for file in closed.iter().chain(&["keys/secring.gpg"]) {
        place.write(&format!("home/{file}"), &format!("{SECRET}\n"));
    }
    place.write("home/cfg/own/a", "of the work\n");
    let variables = [
        ("GNUPGHOME", "keys"),
        ("HISTFILE", "typed"),
        ("XDG_CONFIG_HOME", "cfg"),
        ("XDG_DATA_HOME", "data"),
    ];
    let calls: Vec<_> = closed.iter().map(|path| read(path)).collect();
    let all = ("grep", json!({"pattern": "hush|of the"}));
    let command = ("bash", json!({"command": "cat cfg/*/* data/*/* keys/* typed"}));
    let calls = [&calls[..], &[all, command]].concat();
    let model = place.script(turns(&calls));
    let mut tenon = place.tenon(&[&OUTPUT[..], &["--model", &model, "go"]].concat());
    tenon.envs(variables.map(|(name, folder)| (name, home.join(folder)))).current_dir(&home);
    let found = results_of(&Run::of(tenon.output().unwrap()).ends_with(0));
    for (call, result) in calls.iter().zip(&found) {
        assert!(!result.contains(SECRET), "{call:?}: {result}");
    }
    for (path, result) in closed.iter().zip(&found) {
        assert!(result.contains("Error: Closed: "), "{path}: {result}");
    }
    assert!(found[closed.len()..].iter().all(|it| it.contains("of the work")), "{found:?}");
}

#[test]
fn settings_of_toolchains_are_shown_without_what_is_secret_in_them() {
    let settings = [
        (".nvm/versions/node/v20/etc/npmrc", "prefix=/kept\n//r.example/:_authToken=hush\n"),
        (".pyenv/versions/3/pip.conf", "[global]\nindex-url = https://me:hush@kept.example/\n"),
        (
            ".cache/pre-commit/r/.git/config",
            "[remote \"a\"]\n\turl = https://me:hush@kept.example/a\n",
        ),
        (".asdf/plugins/x/.git/config", "[remote \"a\"]\n\turl = git@kept.example:a\n"),
    ];
    for tier in ["a", "b", "c"] {
        if tier == "b" && !Path::new("/usr/bin/bwrap").exists() {
            skipped("bubblewrap is not installed");
            continue;
        }
        for is_workspace in [false, true] {
            // Commands read all of such a workspace there.
            if tier == "c" && is_workspace {
                continue;
            }
            let place = Place::new();
            for (name, text) in settings {
                place.write(&format!("home/{name}"), text);
            }
            let folder = place.path(if is_workspace { "home" } else { "work" });
            let read =
                |(name, _): &(&str, &str)| ("bash", json!({"command": format!("cat ~/{name}")}));
            let calls: Vec<_> = settings.iter().map(read).collect();
            let found = results(&place, &folder, &["--sandbox", tier], &calls);
            for (number, ((name, _), result)) in settings.iter().zip(&found).enumerate() {
                assert!(!result.contains("hush"), "{tier} {name}: {result}");
                // A layer in front of the toolchain has copies, and so has HOME where it is new.
                let is_seen = number == 3 || tier != "b" && !is_workspace;
                assert_eq!(result.contains("kept"), is_seen, "{tier} {name}: {result}");
            }
        }
    }
}
