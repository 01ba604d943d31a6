//! Tier B: the same tests as for tier A, in namespaces that bubblewrap makes.
//!
//! They run once more in a process of their own, as an ordinary user, for whom the tier is. Where
//! bubblewrap is not installed they are skipped.

use std::sync::atomic::{AtomicBool, Ordering};

use tenon_sandbox::{CommandError, Missing, Settings, Tier, Wanted};

use super::{Place, ordinary_user, rustix_is_root};
use crate::skipped::skipped;
use crate::support::runtime;

/// What is about tier A alone, with the reason.
const NOT_HERE: &[&str] = &[
    // They name their tiers.
    "walls::tiers",
    "walls::later_secrets",
    "walls::ways",
    "walls::bubblewrap",
    // There is no helper between commands.
    "a_session_that_is_dropped_leaves_no_helper",
    "a_helper_that_was_killed_is_started_anew",
    "a_process_that_waits_for_a_command_may_end",
    // Private folders lie on the machine's disk (docs/security.md).
    "files_and_private_folders_do_not_grow_without_end",
    "all_private_folders_have_one_limit",
    // Each command has a network of its own (docs/security.md).
    "a_command_reaches_the_server_of_a_job",
    // The tests are an ordinary user's already.
    "ordinary_user",
    // Run by the tests that they are halves of.
    "::agent_",
];

/// Walls by bubblewrap; nothing where it is not installed.
fn enclosed(change: impl FnOnce(&mut Settings)) -> Option<Place> {
    if !std::path::Path::new("/usr/bin/bwrap").exists() {
        skipped("bubblewrap is not installed");
        return None;
    }
    Some(Place::with(|settings| {
        settings.wanted = Wanted::Exactly(Tier::B);
        change(settings);
    }))
}

#[test]
fn what_holds_in_tier_a_holds_with_bubblewrap() {
    if enclosed(|_| {}).is_none() {
        return;
    }
    if !rustix_is_root() {
        // Another user is not at hand; the rest of the tests is this one's.
        skipped("only root can be another user");
        return;
    }
    let mut arguments = vec!["walls::"];
    arguments.extend(NOT_HERE.iter().flat_map(|name| ["--skip", *name]));
    match ordinary_user(&arguments, &[("TENON_TEST_BUBBLEWRAP", "1")]) {
        // Nothing was left out by mistake.
        Ok(said) => {
            assert!(said.contains("names_that_run_programs_stay_as_they_are ... ok"), "{said}")
        }
        Err(reason) => skipped(format_args!("{reason}")),
    }
}

#[test]
fn the_tier_is_what_it_says() {
    let Some(place) = enclosed(|_| {}) else { return };
    assert_eq!(runtime().block_on(place.sandbox.tier()), Ok(Tier::B));
    let told = place.sandbox.describe(&place.profile);
    assert_eq!((told.tier, told.missing), (Tier::B, Vec::new()));
    assert_eq!(told.writable, [place.root()]);
    assert!(told.scratch.contains(&"/tmp".into()) && told.loopback);
}

#[test]
fn a_home_beneath_a_private_folder_is_there_and_its_settings_can_be_changed() {
    let Some(place) = enclosed(|settings| {
        let home = settings.home.clone().unwrap();
        std::fs::write(home.join(".gitconfig"), "[user]\n\tname = Ada\n").unwrap();
        // Each in a folder between: what comes last must not hide the first.
        std::fs::create_dir_all(home.join(".local/bin")).unwrap();
        settings.readable = vec![home.join(".local/bin")];
        settings.shown = vec![(home.join(".npmrc"), b"shown".to_vec())];
    }) else {
        return;
    };
    let script = "ls ~ && echo x > ~/x && cat ~/x ~/.npmrc && git config --global user.email a@b && \
                  git config --global user.name && cd ~ && echo done; ls -d ~/.local/bin";
    let (_, said) = place.run(script);
    assert!(said.contains("x\nshown") && said.contains("Ada\n") && said.contains("done"), "{said}");
    assert_eq!(place.run("cat ~/x; git config --global user.email").1, "x\na@b\n");
    assert!(!place.outside("home/.gitconfig").contains("a@b"));
}

/// Refuses mount_setattr (442) with ENOSYS, as Linux 5.11 would: tier A needs it, bubblewrap does
/// not. It stands for AppArmor, which lets only bubblewrap have namespaces.
const WITHOUT_TIER_A: &str = "
import ctypes, os, struct, sys
code = struct.pack('HBBIHBBIHBBIHBBI', 0x20, 0, 0, 0, 0x15, 0, 1, 442, 6, 0, 0, 0x50026,
                   6, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(code)
program = struct.pack('HxxxxxxP', 4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])";

#[test]
fn bubblewrap_is_used_where_tier_a_cannot_be_had_and_the_reason_is_told() {
    if enclosed(|_| {}).is_none() {
        return;
    }
    let output = std::process::Command::new("python3")
        .args(["-c", WITHOUT_TIER_A])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "walls::bubblewrap::agent_without_tier_a", "--nocapture"])
        .env("TENON_TEST_WITHOUT_TIER_A", "1")
        .output();
    let Ok(output) = output else { return skipped("python3 is not installed") };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}

/// The other half of the test above.
#[test]
fn agent_without_tier_a() {
    if std::env::var_os("TENON_TEST_WITHOUT_TIER_A").is_none() {
        println!("skipped: this is the other half of a test, which runs it");
        return;
    }
    let place = Place::with(|settings| settings.wanted = Wanted::Best);
    assert_eq!(place.run("echo a > /tmp/f; echo ran").1, "ran\n");
    assert_eq!(place.run("cat /tmp/f").1, "a\n");
    let told = place.sandbox.describe(&place.profile);
    assert_eq!(told.tier, Tier::B);
    let missing: Vec<_> = told.missing.iter().map(|error| (error.tier, &error.missing)).collect();
    assert!(matches!(missing[..], [(Tier::A, Missing::OldKernel { .. })]), "{missing:?}");
    let Err(CommandError::Walls(error)) = Place::new().try_run("true") else { panic!("it ran") };
    assert_eq!(error.tier, Tier::A);
}

#[test]
fn a_bubblewrap_that_others_can_change_is_not_taken() {
    if enclosed(|_| {}).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("bwrap");
    std::fs::write(&other, "#!/bin/sh\necho no walls >&2\n").unwrap();
    if !rustix_is_root() {
        return skipped("only root can put another program in its place");
    }
    for (mode, expected) in
        [("644", "NoBubblewrap"), ("777", "ForeignBubblewrap"), ("755", "bubblewrap ended")]
    {
        let script = format!(
            "chmod {mode} $1; mount --bind $1 /usr/bin/bwrap && \
             exec $0 --exact walls::bubblewrap::agent_with_another_bubblewrap --nocapture"
        );
        let output = std::process::Command::new("unshare")
            .args(["-m", "bash", "-c", &script])
            .arg(std::env::current_exe().unwrap())
            .arg(&other)
            .env("TENON_TEST_BUBBLEWRAP_IS", expected)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{mode}: {output:?}");
    }
}

/// The other half of the test above.
#[test]
fn agent_with_another_bubblewrap() {
    let Ok(expected) = std::env::var("TENON_TEST_BUBBLEWRAP_IS") else {
        println!("skipped: this is the other half of a test, which runs it");
        return;
    };
    let place = Place::with(|settings| settings.wanted = Wanted::Exactly(Tier::B));
    let Err(CommandError::Walls(error)) = place.try_run("true") else { panic!("it ran") };
    assert_eq!(error.tier, Tier::B);
    assert!(format!("{error} {:?}", error.missing).contains(&expected), "{error:?}");
    assert!(error.hint().is_some());
}

#[test]
fn commands_run_while_protected_names_come_and_go() {
    let Some(place) = enclosed(|_| {}) else { return };
    let folder = place.root().join(".vscode");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Somebody else may take it away or put it back meanwhile.
            while !is_over.load(Ordering::Relaxed) {
                let _ = std::fs::create_dir_all(&folder);
                let _ = std::fs::write(folder.join("tasks.json"), "x");
                let _ = std::fs::remove_dir_all(&folder);
                // With no moment of rest a busy machine tries in vain.
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        let said: Vec<_> =
            (0..8).map(|_| place.try_run("echo ran").map_err(|error| error.to_string())).collect();
        is_over.store(true, Ordering::Relaxed);
        said.into_iter().for_each(|said| assert!(said.is_ok(), "{:?}", said.err()));
    });
}

#[test]
fn private_folders_last_from_command_to_command_and_go_with_the_session() {
    let Some(place) = enclosed(|_| {}) else { return };
    let mark = format!("mark-{}", std::process::id());
    place.run(&format!("echo a > /tmp/{mark}; echo b > $HOME/{mark}; echo c > /var/tmp/{mark}"));
    let (_, said) = place.run(&format!("cat /tmp/{mark} $HOME/{mark} /var/tmp/{mark}"));
    assert_eq!(said, "a\nb\nc\n");
    let holds = |folder: &std::path::Path| {
        std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
            let beneath = std::fs::read_dir(entry.path()).into_iter().flatten().flatten();
            beneath.map(|entry| entry.file_name()).any(|name| name == *mark)
        })
    };
    let scratch: Vec<_> = std::fs::read_dir("/tmp")
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains("/tenon-") && holds(path))
        .collect();
    assert_eq!(scratch.len(), 1, "{scratch:?}");
    drop(place);
    assert!(!scratch[0].exists());
}

/// What bubblewrap would have to make never lies where a command can put a link: else the next
/// command's tree would be made in the real one.
#[test]
fn links_in_private_folders_lead_bubblewrap_nowhere() {
    let Some(place) = enclosed(|settings| settings.readable.clear()) else { return };
    let victim = place.top.path().canonicalize().unwrap().join("victim");
    std::fs::create_dir(&victim).unwrap();
    let first = place.root().ancestors().nth(1).unwrap().to_path_buf();
    for target in [format!("/oldroot{}", victim.display()), victim.display().to_string()] {
        let script = format!(
            "mv {first} /tmp/moved; rm -rf {first}; ln -sfn {target} {first}; \
             mv $HOME/.cargo $HOME/x; ln -sfn {target} $HOME/.cargo; ln -sfn {target} $HOME/.nvm; \
             ln -sfn {target}/made $HOME/.gitconfig; mv deep d; ln -sfn {target} .vscode; \
             rm -rf .git; ln -sfn {target} .git; echo end",
            first = first.display()
        );
        assert!(place.run(&script).1.contains("end\n"));
        let (_, said) = place.run("echo x > file; cat file");
        assert_eq!(said, "x\n");
    }
    assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 0);
    assert_eq!(place.outside("outside"), "OUTSIDE");
}
