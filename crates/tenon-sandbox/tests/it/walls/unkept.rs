//! What commands make in private places that a person takes for their own is told, once.

use std::path::PathBuf;
use std::time::Duration;

use tenon_sandbox::{Attended, Command, Jobs, Network, Tier, Wanted};

use super::{Place, as_ordinary_user, tier};
use crate::support::runtime;

/// A workspace in a folder of HOME, and nothing of what is above HOME.
fn place() -> Place {
    Place::at(&std::env::temp_dir(), "home/src/work", |settings| settings.readable.clear())
}

fn told_by(place: &Place, command: Command) -> Vec<String> {
    let unkept = place.try_command(command).unwrap().unkept;
    let top = place.top.path().canonicalize().unwrap();
    let beneath = |path: &PathBuf| path.strip_prefix(&top).unwrap().to_str().unwrap().to_owned();
    unkept.iter().map(beneath).collect()
}

#[track_caller]
fn check(place: &Place, script: &str, expected: &[&str]) {
    assert_eq!(told_by(place, place.command(script)), expected, "{script}");
}

#[test]
fn new_names_in_home_are_told_once() {
    let place = place();
    check(&place, "true", &[]);
    check(
        &place,
        "echo x > ~/.rc; mkdir -p ~/.config/tool ~/go/bin; mktemp; mktemp -p /var/tmp",
        &[],
    );
    check(&place, "echo x > inside; mkdir sub; echo x > /dev/shm/x", &[]);
    check(
        &place,
        "mkdir -p ~/Desktop/a; echo x > ~/notes.txt; ln -s /nowhere ~/link",
        &["home/Desktop", "home/link", "home/notes.txt"],
    );
    check(&place, "echo x > ~/Desktop/b; echo y > ~/notes.txt; rm ~/link", &[]);
    check(&place, "ln -s /nowhere ~/link", &[]);
    // As many files as before.
    check(&place, "echo report > /tmp/report", &[]);
    check(&place, "mv /tmp/report ~/report", &["home/report"]);
    check(&place, "touch ~/gone; rm ~/gone; exit 3", &[]);
    check(&place, "touch ~/late; chmod 0 ~; kill -9 $$", &["home/late"]);
}

#[test]
fn an_ordinary_user_is_told_of_new_names_in_home() {
    as_ordinary_user("unkept::new_names_in_home_are_told_once");
}

#[test]
fn new_names_beside_the_workspace_are_told() {
    if tier() == Tier::B {
        return println!("skipped: those folders are each command's own there");
    }
    let place = place();
    let script = "mkdir ../tree; echo x > ../.env; echo x > $TOP/above; echo x > $TOP/home/b";
    check(&place, script, &["above", "home/b", "home/src/.env", "home/src/tree"]);
    check(&place, "echo x > ../tree/x; rm -r ../tree; mkdir ../tree", &[]);
}

#[test]
fn an_ordinary_user_is_told_of_new_names_beside_the_workspace() {
    as_ordinary_user("unkept::new_names_beside_the_workspace_are_told");
}

#[test]
fn other_private_folders_of_the_session_tell_what_was_not_told() {
    let place = place();
    check(&place, "touch ~/first", &["home/first"]);
    let mut command = place.command("ls ~/first; touch ~/first ~/second");
    command.profile.network = Network::On;
    assert_eq!(told_by(&place, command), ["home/second"]);
}

#[test]
fn a_home_that_is_the_workspace_has_nothing_to_tell() {
    let place = Place::at(&std::env::temp_dir(), "home", |_| {});
    check(&place, "echo x > ~/notes.txt; mkdir ~/a", &[]);
}

#[test]
fn names_without_end_are_told_to_an_end() {
    let place = place();
    let many = "cd ~; for n in {1..9}; do touch {1000..1999}$n$'\\n\\e[2K'; done";
    assert_eq!(told_by(&place, place.command(many)).len(), 1_000);
    check(&place, "touch ~/another", &[]);
}

#[test]
fn a_job_tells_at_its_end() {
    let place = place();
    let jobs = Jobs::default();
    let told = runtime().block_on(async {
        let command = place.command("touch ~/of-a-job");
        let job = Attended::new(command, Some(place.sandbox.clone()), |_, _| {});
        let id = jobs.keep(job).unwrap();
        jobs.wait(id, Duration::from_secs(10)).await;
        let mut told = Vec::new();
        for _ in 0..2 {
            told.push(jobs.read(id).await.unwrap().status.end.unwrap().unkept);
        }
        told
    });
    assert_eq!(told, [vec![place.home().join("of-a-job")], Vec::new()]);
}

#[test]
fn in_tier_c_the_home_of_commands_tells() {
    let place = Place::at(&std::env::temp_dir(), "home/src/work", |settings| {
        settings.wanted = Wanted::Exactly(Tier::C);
    });
    let told = |script| place.try_run(script).unwrap().unkept;
    assert_eq!(told("echo x > ~/.rc"), Vec::<PathBuf>::new());
    let [path] = &told("echo x > ~/notes.txt")[..] else { panic!("not told") };
    assert!(path.ends_with("home/notes.txt") && path.exists(), "{path:?}");
    assert_eq!(told("echo x > ~/notes.txt"), Vec::<PathBuf>::new());
}
