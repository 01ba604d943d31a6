//! What commands see at the names of toolchains in the home, where a command of another session can have put links.

use std::path::Path;

use tenon_sandbox::{CommandError, Missing, Sandbox, Settings, Tier};

use super::{Place, printed, tier};
use crate::races::while_swapping;

/// How many sessions begin while the names are exchanged: with two looks at a name one of some fifty was led astray.
const SESSIONS: usize = 150;

#[test]
fn a_link_at_a_toolchains_name_shows_no_more_than_a_toolchain_of_that_name() {
    let place = Place::new();
    let home = place.home();
    let beside = tempfile::tempdir_in("/var/lib").or_else(|_| tempfile::tempdir()).unwrap();
    let beside = beside.path().canonicalize().unwrap();
    for (folder, name) in
        [(&home, "Documents/file"), (&home, "dev/.rustup/settings"), (&beside, "cache/uv/wheel")]
    {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("in {name}\n")).unwrap();
    }
    std::fs::create_dir_all(home.join(".cache")).unwrap();
    let link = |target: &Path, name: &str| {
        std::os::unix::fs::symlink(target, home.join(name)).unwrap();
    };
    link(Path::new("/"), ".cache/deno");
    link(Path::new("/proc"), ".cache/go-build");
    link(Path::new("/run"), ".cache/yarn");
    link(&home.join("Documents"), ".cache/composer");
    link(&beside, ".cache/pip");
    link(&beside.join("cache/uv"), ".cache/uv");
    link(&home.join("dev/.rustup"), ".rustup");
    let (_, said) = place.run(
        "cd ~/.cache; for f in deno go-build yarn composer pip; do ls $f 2>&1 > /dev/null | wc -l; done; \
         cat composer/file deno/$HOME/Documents/file; cat uv/wheel ~/.rustup/settings; echo end",
    );
    assert!(
        said.starts_with("1\n1\n1\n1\n1\nin cache/uv/wheel\nin dev/.rustup/settings\nend\n"),
        "{said}"
    );
    // In a home that is a folder of the session they are what they are, and stop no command.
    let place = Place::with(|settings| {
        settings.roots = vec![home.clone()];
        settings.home = Some(home.clone());
    });
    let mut command = place.command("cat ~/.cache/uv/wheel; cat ~/.cache/composer/file; echo end");
    command.folder = home.clone();
    command.profile.writable = vec![home.clone()];
    command.environment.retain(|(name, _)| name != "HOME");
    command.environment.push(("HOME".into(), home.into()));
    let said = printed(&place.try_command(command).unwrap());
    assert!(said.contains("in Documents/file\nend\n"), "{said}");
}

/// Begins sessions while a toolchain's folder is exchanged for a link: in each one commands run, and see what the link
/// leads to in none. `change` gets the home.
fn check_exchanged(change: impl Fn(&mut Settings, &Path)) {
    let mut place = Place::new();
    let home = place.home();
    for (name, text) in [("Documents/file", "PRIVATE"), (".cache/deno/file", "plain")] {
        let file = home.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let (folder, link) = (home.join(".cache/deno"), home.join(".cache/link"));
    std::os::unix::fs::symlink(home.join("Documents"), &link).unwrap();
    let mut settings = place.sandbox.settings().clone();
    change(&mut settings, &home);
    place.profile.writable = settings.roots.clone();
    let is_root = settings.roots.contains(&home);
    let mut seen = 0;
    while_swapping(&folder, &link, |_| {
        for _ in 0..SESSIONS {
            place.sandbox = Sandbox::new(settings.clone());
            let output = match place.try_run("cat ~/.cache/deno/file; echo end") {
                // Bubblewrap looks at the name so often that it may not come to an end. It is no other tier for that.
                Err(CommandError::Walls(error)) if is_root && tier() == Tier::B => {
                    assert_eq!(error.missing, Missing::NamesChanged);
                    continue;
                }
                output => output.unwrap(),
            };
            let said = printed(&output);
            assert!(said.contains("end\n"), "{said}");
            // Where the home is a folder of the session, its commands see all of it.
            assert!(is_root || !said.contains("PRIVATE"), "{said}");
            seen += usize::from(said.contains("plain"));
        }
    });
    assert!(seen > 0, "nothing was seen in {SESSIONS} sessions");
}

#[test]
fn a_toolchain_that_is_exchanged_for_a_link_meanwhile_leads_nowhere_and_stops_no_command() {
    check_exchanged(|_, _| {});
}

#[test]
fn a_toolchain_in_a_home_that_is_the_workspace_stops_no_command_either() {
    check_exchanged(|settings, home| settings.roots = vec![home.to_path_buf()]);
}

#[test]
fn a_toolchain_in_a_home_that_is_the_workspace_stays_where_it_is() {
    let mut place = Place::new();
    let home = place.home();
    for name in ["go/bin/tool", ".local/share/pnpm/tool", "other/file"] {
        let file = home.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "real\n").unwrap();
    }
    let mut settings = place.sandbox.settings().clone();
    settings.roots = vec![home.clone()];
    place.profile.writable = settings.roots.clone();
    place.sandbox = Sandbox::new(settings);
    let (_, said) = place.run(
        "exec 2>/dev/null; cd ~; mv other moved && echo moved; mv go go2; mv .local/share .local/share2; mv .local .local2; \
         mkdir -p go/bin .local/share/pnpm; echo evil > go/bin/tool; echo evil > .local/share/pnpm/tool; \
         echo new > go/file; cat go/bin/tool .local/share/pnpm/tool go/file",
    );
    assert!(said.starts_with("moved\nreal\nreal\nnew\n"), "{said}");
    assert_eq!(std::fs::read_to_string(home.join("go/bin/tool")).unwrap(), "real\n");
}
