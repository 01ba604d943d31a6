//! Tenon's own settings where the workspace holds them, and a tenon that is killed (-9).

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::json;

use crate::{
    program::{Place, Run},
    undo::bash,
};

const OWN: &str = "max_steps = 50\n";
const KILLED: &str = "tenon was killed while a command ran; your settings are as before";

/// Has tenon keep its state where no command of these tests can write.
fn apart<'a>(place: &Place, command: &'a mut Command) -> &'a mut Command {
    command.env("XDG_STATE_HOME", place.path("state"))
}

/// Starts a session in `folder` whose command runs, and waits until there is a file `started`.
fn start(place: &Place, tier: &str, folder: &str, script: &str) -> Child {
    let model = place.script(json!([bash(&format!("{script}; touch started; sleep 60"))]));
    let cwd = place.path(folder);
    let cwd = cwd.to_str().unwrap();
    let mut command =
        place.tenon(&["--print", "--sandbox", tier, "--model", &model, "--cwd", cwd, "go"]);
    let mut child =
        apart(place, &mut command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = place.path(folder).join("started");
    while !started.exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before the command ran");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    fs::remove_file(started).unwrap();
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Runs a session in a folder that has nothing to do with the others.
fn next(place: &Place) -> Run {
    fs::create_dir_all(place.path("elsewhere")).unwrap();
    let model = place.script(json!([bash("touch ../escaped || true"), {"text": "Done."}]));
    let mut command = place.tenon(&["--print", "--model", &model, "go"]);
    let command = apart(place, &mut command).current_dir(place.path("elsewhere"));
    let run = Run::of(command.output().unwrap()).ends_with(0);
    assert!(!place.path("escaped").exists(), "no walls: {run:?}");
    run
}

fn notes(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.path("state/tenon/own")).into_iter().flatten();
    let is_note = |path: &PathBuf| path.to_string_lossy().contains("/note-");
    entries.map(|entry| entry.unwrap().path()).filter(is_note).collect()
}

/// The folder of the message, with what is kept of `path` in it.
fn kept(run: &Run, path: &Path) -> String {
    let (_, rest) = run.error.split_once("is kept in ").unwrap();
    let (folder, _) = rest.split_once(':').unwrap();
    fs::read_to_string(Path::new(folder).join(path.strip_prefix("/").unwrap())).unwrap()
}

#[test]
fn what_a_killed_command_wrote_to_the_configuration_is_put_back_by_any_start() {
    const EVIL: &str = "sandbox = \"off\"\n";
    let write = "mkdir -p .config/tenon; printf 'sandbox = \"off\"\\n' > .config/tenon/config.toml";
    for tier in ["a", "c"] {
        let place = Place::new();
        let config = place.path("home/.config/tenon/config.toml");
        // None was there.
        kill(start(&place, tier, "home", write));
        assert_eq!(fs::read_to_string(&config).unwrap(), EVIL);
        assert_eq!(notes(&place).len(), 1);
        let run = next(&place).says(&[KILLED, "config.toml was made; put back as it was"]);
        assert_eq!(kept(&run, &config), EVIL);
        assert!(!config.exists() && notes(&place).is_empty(), "{tier}");
        assert!(!next(&place).error.contains("killed"));
        // One was there, and commands could write it.
        let place = Place::new();
        let config = place.path("home/.config/tenon/config.toml");
        place.config(OWN);
        kill(start(&place, tier, "home", &format!("{write}; true")));
        let run = next(&place);
        assert_eq!(fs::read_to_string(&config).unwrap(), OWN);
        if tier == "c" {
            assert_eq!(kept(&run.says(&["config.toml was changed; put back"]), &config), EVIL);
        }
        // Likewise for what shells start with.
        let place = Place::new();
        let profile = place.write("home/.profile", "mine\n");
        kill(start(&place, tier, "home", "echo evil > .profile; echo evil > .zshrc"));
        let run =
            next(&place).says(&[".profile was changed; put back", ".zshrc was made; put back"]);
        assert_eq!(kept(&run, &profile), "evil\n");
        assert_eq!(fs::read_to_string(&profile).unwrap(), "mine\n", "{tier}");
        assert!(!place.path("home/.zshrc").exists());
        // It is a link into the workspace.
        let place = Place::new();
        let config = place.write("work/dots/config.toml", OWN);
        fs::create_dir_all(place.path("home/.config/tenon")).unwrap();
        symlink(&config, place.path("home/.config/tenon/config.toml")).unwrap();
        let write = "printf 'sandbox = \"off\"\\n' > new; mv new dots/config.toml";
        kill(start(&place, tier, "work", write));
        let run = next(&place).says(&[KILLED, "dots/config.toml was changed; put back as it was"]);
        assert_eq!(kept(&run, &config), EVIL);
        assert_eq!(fs::read_to_string(&config).unwrap(), OWN, "{tier}");
    }
}

#[test]
fn what_a_person_writes_while_no_command_runs_stays_after_a_kill() {
    let place = Place::new();
    place.config(OWN);
    let model = place.script(json!([bash("true"), {"text": "Waiting.", "delay_ms": 60_000}]));
    let home = place.path("home").display().to_string();
    let log = place.path("state/tenon/sessions");
    let arguments = ["--print", "--sandbox", "c", "--model", &model, "--cwd", &home, "go"];
    let mut command = place.tenon(&arguments);
    let child = apart(&place, &mut command).stdout(Stdio::null()).stderr(Stdio::null());
    let child = child.spawn().unwrap();
    let has_result = || {
        let logs = fs::read_dir(&log).into_iter().flatten().flatten();
        let mut texts = logs.filter_map(|entry| fs::read_to_string(entry.path()).ok());
        texts.any(|text| text.contains("\"tool_result\""))
    };
    while !has_result() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(notes(&place).is_empty(), "nothing runs");
    place.config("max_steps = 60\n");
    kill(child);
    assert!(!next(&place).error.contains("killed"));
    let config = fs::read_to_string(place.path("home/.config/tenon/config.toml")).unwrap();
    assert_eq!(config, "max_steps = 60\n");
}

#[test]
fn of_two_sessions_the_one_that_lives_keeps_its_note() {
    let place = Place::new();
    let write = "mkdir -p .config/tenon; echo 'sandbox = \"off\"' > .config/tenon/config.toml";
    let dead = start(&place, "c", "home", write);
    let config = place.path("home/.config/tenon/config.toml");
    fs::remove_file(&config).unwrap();
    let lives = start(&place, "c", "home", "true");
    assert_eq!(notes(&place).len(), 2);
    kill(dead);
    fs::write(&config, "sandbox = \"off\"\n").unwrap();
    next(&place).says(&[KILLED]);
    assert!(!config.exists());
    assert_eq!(notes(&place).len(), 1);
    kill(lives);
    next(&place);
    assert!(notes(&place).is_empty());
}

#[test]
fn a_note_that_is_torn_or_that_others_could_write_does_not_count() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let write = "mkdir -p .config/tenon; echo 'max_steps = 9' > .config/tenon/config.toml";
    let config = place.path("home/.config/tenon/config.toml");
    for is_torn in [true, false] {
        kill(start(&place, "c", "home", write));
        let note = notes(&place).remove(0);
        if is_torn {
            let bytes = fs::read(&note).unwrap();
            fs::write(&note, &bytes[..bytes.len() - 1]).unwrap();
        } else {
            fs::set_permissions(&note, fs::Permissions::from_mode(0o622)).unwrap();
        }
        assert!(!next(&place).error.contains("killed"));
        assert!(config.exists() && notes(&place).is_empty());
        fs::remove_file(&config).unwrap();
    }
}

#[test]
fn where_commands_could_write_tenons_state_they_do_not_run() {
    let place = Place::new();
    let model = place.script(json!([bash("touch ran"), {"text": "Done."}]));
    let home = place.path("home").display().to_string();
    let arguments = ["--print", "--model", &model, "--cwd", &home, "--sandbox"];
    let run = place.run(&[&arguments[..], &["c", "go"]].concat()).ends_with(3);
    run.says(&["commands could write tenon's own state", "XDG_STATE_HOME"]);
    place.run(&[&arguments[..], &["a", "go"]].concat()).ends_with(0);
    assert!(fs::remove_file(place.path("home/ran")).is_ok());
    // A link could be exchanged in every tier.
    fs::rename(place.path("home/.local"), place.path("local")).unwrap();
    symlink(place.path("local"), place.path("home/.local")).unwrap();
    let run = place.run(&[&arguments[..], &["a", "go"]].concat()).ends_with(3);
    run.says(&["commands could write tenon's own state"]);
    assert!(!place.path("home/ran").exists());
}
