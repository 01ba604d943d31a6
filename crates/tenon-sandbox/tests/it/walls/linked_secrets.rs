//! A workspace that is the home folder, in which keys are behind links, as where dotfiles are kept in a folder of their
//! own: what these lead to stays closed, whatever becomes of them.

use std::os::unix::fs::symlink;
use std::path::Path;

use tenon_sandbox::{Attended, Exit, Jobs, Sandbox, Settings, Tier, Wanted};
use tokio_util::sync::CancellationToken;

use super::Place;
use super::jobs::read_until;
use crate::skipped::skipped;
use crate::support::runtime;

const LINKS: [(&str, &str); 6] = [
    ("dotfiles/aws", ".aws"),
    ("dotfiles/config", ".config"),
    ("../dotfiles/docker.json", ".docker/config.json"),
    ("dotfiles/gpg", ".gnupg"),
    ("dotfiles/netrc", ".netrc"),
    ("dotfiles/pip.conf", ".pip.conf"),
];

const FILES: [&str; 6] = [
    "dotfiles/aws/credentials",
    "dotfiles/config/gh/hosts.yml",
    "dotfiles/docker.json",
    "dotfiles/gpg/private-keys-v1.d/a.key",
    "dotfiles/netrc",
    "dotfiles/pip.conf",
];

const NAMES: &str = ".aws .config .docker/config.json .gnupg .netrc .pip.conf";

const READ: &str = "find dotfiles x -type f -exec cat {} + 2>&1; echo end";

/// A home with such links, one of them at a name that a variable gives.
fn place(tier: Tier) -> Option<Place> {
    if tier == Tier::B && !Path::new("/usr/bin/bwrap").exists() {
        skipped("no bubblewrap");
        return None;
    }
    let choose = |settings: &mut Settings| {
        settings.wanted = Wanted::Exactly(tier);
        settings.hidden = settings.home.iter().map(|home| home.join(".pip.conf")).collect();
    };
    let place = Place::at(&std::env::temp_dir(), "home", choose);
    for file in FILES {
        let path = place.home().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "SECRET\n").unwrap();
    }
    std::fs::create_dir(place.home().join(".docker")).unwrap();
    for (target, link) in LINKS {
        symlink(target, place.home().join(link)).unwrap();
    }
    std::fs::write(place.home().join("dotfiles/vimrc"), "ordinary\n").unwrap();
    Some(place)
}

/// Runs these scripts, the last of which has the person's files in sight and no secrets.
fn check(place: &Place, scripts: &[&str]) {
    runtime().block_on(check_now(place, scripts));
}

async fn check_now(place: &Place, scripts: &[&str]) {
    let (cancel, mut all) = (CancellationToken::new(), String::new());
    for script in scripts {
        match place.sandbox.run(place.command(script), &cancel, &mut |_, _| {}).await {
            Ok(output) => all = super::printed(&output),
            Err(error) => return skipped(error),
        }
        assert!(!all.contains("SECRET"), "{script}: {all}");
    }
    assert!(all.contains("ordinary") && all.contains("end"), "{all}");
}

/// Does the same while a job runs `taking` again and again.
fn check_beside(place: &Place, taking: &str, scripts: &[&str]) {
    let jobs = Jobs::default();
    let script = format!("{taking}; echo ready; while :; do {taking}; done");
    let job = Attended::new(place.command(&script), Some(place.sandbox.clone()), |_, _| {});
    runtime().block_on(async {
        let id = jobs.keep(job).unwrap();
        read_until(&jobs, id, "ready").await;
        check_now(place, scripts).await;
        jobs.stop_all().await;
    });
}

fn check_links(place: &Place) {
    for (target, link) in LINKS {
        let found = std::fs::read_link(place.home().join(link));
        assert_eq!(found.ok().as_deref(), Some(Path::new(target)), "{link}");
    }
}

#[test]
fn what_a_link_led_to_stays_closed_when_a_command_takes_the_link_away() {
    for tier in [Tier::A, Tier::B] {
        let moves = format!("for n in {NAMES}; do mv -T $n x.${{n##*/}}; done; {READ}");
        let removes = format!("rm {NAMES}; {READ}");
        let others = format!("for n in {NAMES}; do ln -sfT empty $n; done; {READ}");
        let Some(place) = place(tier) else { continue };
        check(&place, &[READ, &moves, READ, &removes, READ, &others, READ]);
    }
}

#[test]
fn what_links_led_to_stays_closed_while_a_job_takes_them_away() {
    for tier in [Tier::A, Tier::B] {
        let Some(place) = place(tier) else { continue };
        check(&place, &[READ]);
        check_beside(&place, &format!("rm -f {NAMES}"), &[READ, READ, READ]);
    }
}

#[test]
fn links_to_secrets_are_put_back_so_that_the_next_session_knows_what_they_lead_to() {
    for tier in [Tier::A, Tier::B] {
        let made = "mkdir stash; ln -s stash .azure; ln -s ../stash/d .docker/daemon";
        let tries = [
            format!("for n in {NAMES}; do mv -T $n x.${{n##*/}}; done"),
            format!("rm {NAMES}"),
            format!("for n in {NAMES}; do ln -sfT empty $n; done"),
            format!("for n in {NAMES}; do rm $n; mkdir -p $n/a; done"),
            format!("for n in {NAMES}; do rm $n; touch $n; done"),
            made.to_owned(),
        ];
        for script in tries {
            let Some(mut place) = place(tier) else { continue };
            check(&place, &[READ]);
            let told = match place.try_run(&script) {
                Ok(output) => output.protected,
                Err(error) => return skipped(error),
            };
            assert!(!told.is_empty() && told.iter().all(|change| change.put_back), "{told:?}");
            check_links(&place);
            let found = |name: &str| std::fs::symlink_metadata(place.home().join(name)).is_ok();
            assert!(!found(".azure"), "{script}");
            assert_eq!(found(".docker/daemon"), script == made);
            place.sandbox = Sandbox::new(place.sandbox.settings().clone());
            check(&place, &[READ]);
        }
    }
}

#[test]
fn a_link_that_leads_out_of_the_workspace_is_as_good_in_every_tier() {
    for tier in [Tier::A, Tier::B, Tier::C] {
        let Some(place) = place(tier) else { continue };
        let outside = tempfile::tempdir_in("/opt");
        let Ok(outside) = outside else { return skipped("no folder can be made in /opt") };
        std::fs::write(outside.path().join("key"), "SECRET\n").unwrap();
        symlink(outside.path(), place.home().join(".azure")).unwrap();
        let read = format!("cat {}/key; cat dotfiles/vimrc; echo end", outside.path().display());
        let moved = format!("mv .azure x; {read}");
        check(&place, &[&read, &moved, &read]);
        check_beside(&place, "rm -f .azure", &[&read, &read]);
    }
}

#[test]
fn a_history_that_is_led_to_no_file_closes_no_device() {
    for tier in [Tier::A, Tier::B, Tier::C] {
        let Some(mut place) = place(tier) else { continue };
        if let Err(error) = place.try_run("true") {
            return skipped(error);
        }
        symlink("/dev/null", place.home().join(".bash_history")).unwrap();
        place.sandbox = Sandbox::new(place.sandbox.settings().clone());
        let (exit, said) = place.run("echo x > /dev/null && cat /dev/null dotfiles/vimrc");
        assert_eq!((exit, said.as_str()), (Exit::Code(0), "ordinary\n"), "{tier:?}");
    }
}

#[test]
fn an_ordinary_user_whose_keys_are_behind_links_is_as_safe() {
    for test in [
        "what_a_link_led_to_stays_closed_when_a_command_takes_the_link_away",
        "what_links_led_to_stays_closed_while_a_job_takes_them_away",
    ] {
        super::as_ordinary_user(&format!("linked_secrets::{test}"));
    }
}
