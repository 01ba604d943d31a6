//! Repositories that lie deeper than anybody would put them.

use super::super::folder::open_folder_at;
use super::super::limits::Limits;
use super::super::scan::{Scan, Stamps};
use super::*;
use crate::journal::Came;

/// Makes a repository with settings and a hook, and returns where it is.
fn make(above: &str, depth: usize) -> (String, String) {
    let place = format!("{above}/{}x", "a/".repeat(depth));
    let script = format!(
        "git init -q n; mkdir -p {place}; cd {place}; mkdir hooks objects refs; echo 'ref: refs/heads/main' > HEAD; \
         echo '[core]fsmonitor=evil' > config; echo evil > hooks/post-update"
    );
    (script, place)
}

#[test]
fn a_repository_brings_nothing_that_runs_however_deep_it_is() {
    for (above, depth) in [
        (".git/modules", 70),
        // As deep as paths of 4,096 bytes go, but for the root's own.
        (".git/modules", 1_900),
        (".git/worktrees", 70),
        ("n/.git/modules/m", 70),
        (".vscode", 70),
        (".vscode", 1_900),
        ("n/.git/hooks", 70),
        ("n/.git/info", 70),
    ] {
        let (attack, place) = make(above, depth);
        check_with("git init -q .", &attack, |root| {
            for name in ["hooks/post-update", "config"] {
                let text = found(&root.join(&place).join(name));
                assert!(!text.contains("evil"), "{above}, {depth}: {text}");
            }
            shell(root, "rm -rf .git .vscode n");
        });
    }
    let pointer = format!(".git/worktrees/{}x", "a/".repeat(70));
    let attack = format!(
        "mkdir -p {pointer}; echo 'ref: refs/heads/main' > {pointer}/HEAD; echo /srv > {pointer}/commondir"
    );
    let pointer = format!("{pointer}/commondir");
    assert_eq!(check("git init -q .", &attack, &[(&pointer, "-")]), [pointer.as_str()]);
    let link = format!(".git/modules/{}x", "a/".repeat(70));
    let attack = format!("mkdir -p $(dirname {link}); ln -s /srv {link}");
    assert_eq!(check("git init -q .", &attack, &[(&link, "-")]), [link.as_str()]);
}

#[test]
fn a_folder_that_comes_into_a_repository_is_looked_through_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (script, place) = make(".git/k", 70);
    shell(&root, &format!("git init -q .; {script}"));
    let top = open_folder_at(&root).unwrap();
    let known = BTreeMap::new();
    let mut scan = Scan::new(&known, Stamps::HoldIn(&[]), Limits::TOUCHED);
    scan.place(&root, &top, Path::new(".git/k"), Came::Made);
    let hook = Path::new(&place).join("hooks/post-update");
    assert!(scan.found.keys().any(|place| place.beneath() == hook));
}
