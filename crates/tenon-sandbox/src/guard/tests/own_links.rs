//! Links at which a person's programs start, into the workspace: what they lead to stays as it is.

use super::*;

const SETUP: &str = "mkdir -p work/d/conf.d work/old home/fish/deep home/git other; \
                     for f in rc fish deep d/x d/conf.d/y plain old/z; do echo own > work/$f; done; \
                     ln -s ../../work/fish home/fish/config.fish; \
                     ln -s ../../../work/deep home/fish/deep/a; ln -s $PWD/work/d home/fish/d; \
                     ln -s ../../work/none home/git/config; ln -s ../../work home/git/all";

const ATTACK: &str = "cd work; for f in rc fish deep d/x d/conf.d/y none plain; do echo evil > $f; done; \
                      echo evil > d/new; mv d/x d/x2; rm deep; ln -s plain deep";

/// Runs scripts of a person and, by `true`, of a command, in a folder with a home and a workspace, and returns what was put
/// back.
fn run(steps: &[(bool, &str)], look: impl FnOnce(&Path, &mut Guard)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    shell(&top, SETUP);
    let roots = [top.join("work")];
    let own = [".rc", "fish", "git", "none"].map(|name| top.join("home").join(name));
    let mut guard = Guard::new(GUARDED_FOLDERS_MAX, (own.to_vec(), Vec::new()), None);
    let mut changes = Vec::new();
    for (is_command, script) in steps {
        if *is_command {
            guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
        }
        shell(&top, script);
        if *is_command {
            changes.extend(guard.end(None));
        }
    }
    look(&top.join("work"), &mut guard);
    changes.retain(|change| !is_lack(&change.kind));
    assert!(changes.iter().all(|change| change.put_back), "{changes:?}");
    let name = |change: &ProtectedChange| {
        change.path.strip_prefix(&roots[0]).unwrap().display().to_string()
    };
    let mut names: Vec<String> = changes.iter().map(name).collect();
    names.sort();
    names.dedup();
    names
}

fn check_files(work: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        assert_eq!(found(&work.join(name)), *text, "{name}");
    }
}

#[test]
fn links_in_folders_protect_what_they_lead_to() {
    let told = run(&[(true, ATTACK)], |work, _| {
        check_files(
            work,
            &[
                ("fish", "own\n"),
                ("deep", "own\n"),
                ("d/x", "own\n"),
                ("d/conf.d/y", "own\n"),
                ("d/new", "-"),
                ("none", "-"),
                ("plain", "evil\n"),
                ("rc", "evil\n"),
            ],
        );
    });
    assert_eq!(told, ["d/conf.d/y", "d/new", "d/x", "d/x2", "deep", "fish", "none"]);
}

#[test]
fn links_that_a_person_makes_meanwhile_protect_what_they_lead_to() {
    let linked = "ln -s ../work/rc home/.rc; ln -s ../../work/plain home/fish/new; rm home/fish/d";
    let told = run(&[(true, ATTACK), (false, linked), (true, ATTACK)], |work, _| {
        // As they were when they were linked.
        check_files(work, &[("rc", "evil\n"), ("plain", "evil\n"), ("fish", "own\n")]);
    });
    assert!(told.contains(&"fish".to_owned()) && !told.contains(&"rc".to_owned()), "{told:?}");
    let again = "echo again | tee work/rc work/plain > work/d/x";
    let told = run(&[(true, "true"), (false, linked), (true, again)], |work, _| {
        check_files(work, &[("rc", "own\n"), ("plain", "own\n"), ("d/x", "again\n")]);
    });
    assert_eq!(told, ["plain", "rc"]);
}

#[test]
fn links_that_a_person_makes_while_a_command_runs_count_from_the_next_one_on() {
    run(&[(true, "true")], |work, guard| {
        let roots = [work.to_path_buf()];
        let top = work.parent().unwrap();
        guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
        shell(top, "echo before > work/rc; ln -s ../work/rc home/.rc");
        guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
        shell(top, "echo evil > work/rc");
        let changes = guard.end(None);
        assert!(changes.iter().any(|change| change.path == work.join("rc")), "{changes:?}");
        check_files(work, &[("rc", "before\n")]);
        shell(top, "echo evil > work/rc");
        guard.end(None);
        check_files(work, &[("rc", "before\n")]);
    });
}
