//! A workspace that is the home folder, in which a person logs in somewhere while the session lasts: no command comes
//! to what is closed there by then, though nothing of it was there when the walls were made.

use std::os::unix::fs::symlink;
use std::path::Path;

use tenon_sandbox::{Settings, Tier, Wanted};

use super::Place;
use crate::skipped::skipped;

/// What a person does between two commands, in their home.
type Person = fn(&Path);

fn write(home: &Path, name: &str, text: &str) {
    let path = home.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn log_in(home: &Path) {
    write(home, ".docker/config.json", "SECRET");
    write(home, ".config/gh/hosts.yml", "SECRET");
    write(home, ".config/git/credentials", "SECRET");
    write(home, ".local/share/uv/credentials/a", "SECRET");
    write(home, ".netrc", "SECRET");
}

/// Runs commands with what a person does after each of them, in both tiers that have a file tree of their own.
fn check(steps: &[(&str, Person)], expected: &str) {
    for tier in [Tier::A, Tier::B] {
        if tier == Tier::B && !Path::new("/usr/bin/bwrap").exists() {
            skipped("no bubblewrap");
            continue;
        }
        let choose = |settings: &mut Settings| settings.wanted = Wanted::Exactly(tier);
        let place = Place::at(&std::env::temp_dir(), "home", choose);
        let mut all = String::new();
        for (script, person) in steps {
            match place.try_run(&format!("exec 2>&1; {script}")) {
                Ok(output) => all += &super::printed(&output),
                Err(error) => return skipped(error),
            }
            person(&place.home());
        }
        assert!(!all.contains("SECRET"), "{tier:?}: {all}");
        assert!(all.contains(expected), "{tier:?}: {all}");
    }
}

const READ: &str = "find . ! -path './.ssh*' ! -path './.cargo/cred*' -type f -exec cat {} +";

#[test]
fn the_folders_above_stay_at_their_names_from_the_next_command_on() {
    check(
        &[
            (
                "echo kept > /tmp/kept; mkdir .docker && mv .docker .docker2 && rmdir .docker2",
                log_in,
            ),
            (
                "mv .docker a; mv .config b; mv .config/git c; mv .local d; mv .local/share e; rm -r .docker",
                |_| {},
            ),
            (READ, |_| {}),
            ("echo more > .config/more; cat .config/more /tmp/kept; echo end", |_| {}),
        ],
        "more\nkept\nend\n",
    );
}

#[test]
fn a_folder_that_a_command_made_there_is_a_folder_above_as_well() {
    check(
        &[
            ("mkdir -p .docker .config/gh .config/git; echo a > .config/a", log_in),
            ("mv .docker a; mv .config b; rm .config/git/credentials", |_| {}),
            (READ, |_| {}),
            ("cat .config/a; echo end", |_| {}),
        ],
        "a\nend\n",
    );
}

#[test]
fn what_a_link_leads_to_that_a_command_put_there_is_closed() {
    check(
        &[
            (
                "mkdir stash far; ln -s stash .docker; ln -s far .config; ln -s stash/n .netrc",
                |_| {},
            ),
            // The walls are made anew, and of what is closed nothing is there yet.
            ("ls -A", log_in),
            (READ, |_| {}),
            ("mv stash stash2; mv far far2; mv far/gh gh", |_| {}),
            (READ, |_| {}),
            ("echo end", |_| {}),
        ],
        "end\n",
    );
}

#[test]
fn a_link_that_was_exchanged_for_a_folder_is_no_way_either() {
    check(
        &[
            ("mkdir far; ln -s far .config", |_| {}),
            ("ls .config; rm .config; mkdir .config", log_in),
            ("mv .config b; mv .docker a", |home| symlink("far", home.join("link")).unwrap()),
            (READ, |_| {}),
            ("echo end", |_| {}),
        ],
        "end\n",
    );
}

#[test]
fn an_ordinary_user_who_logs_in_later_is_as_safe() {
    super::as_ordinary_user(
        "later_secrets::the_folders_above_stay_at_their_names_from_the_next_command_on",
    );
    super::as_ordinary_user(
        "later_secrets::what_a_link_leads_to_that_a_command_put_there_is_closed",
    );
}
