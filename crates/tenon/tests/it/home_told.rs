//! What a command is told where the user's home, beneath /home, is the workspace: the folder above is out of sight.

use crate::{
    program::{Place, check_only_wall},
    skipped::skipped,
};

/// The home is in a /home of its own.
const IN_HOME: &str = "\
mount -t tmpfs none /home && mkdir -p /home/ada/w/p /home/ada/w/lib && cd /home/ada || exit 1
echo hi > w/lib/a; echo hi > w/p/b; echo hi > notes
HOME=$PWD exec \"$@\"";

/// Runs each command; each must be told its part alone, or nothing of walls.
fn check(rows: &[(&str, Option<&str>)]) {
    let place = Place::new();
    let as_root = rustix::process::geteuid().is_root();
    let flags = if as_root { ["-m"].as_slice() } else { ["-Urm"].as_slice() };
    let probe = [flags, &["sh", "-c", "mount -t tmpfs none /mnt"]].concat();
    if !place.program("unshare", &probe).output().is_ok_and(|run| run.status.success()) {
        return skipped("no mount namespace can be had here");
    }
    let by = [flags, &["sh", "-c", IN_HOME, "sh"]].concat();
    let commands = rows.iter().map(|(command, _)| *command);
    let told = place.results_of(commands, &["--sandbox", "a"], |tenon| {
        let arguments: Vec<&str> = tenon.get_args().filter_map(|it| it.to_str()).collect();
        let enclosed = place.tenon_by("unshare", &by, &arguments);
        *tenon = enclosed;
        tenon
    });
    let told = told.unwrap();
    for ((command, expected), told) in rows.iter().zip(told) {
        if told.contains("command not found") {
            skipped(format!("not installed: {command}"));
            continue;
        }
        check_only_wall(command, &told, *expected);
    }
}

#[test]
fn a_name_that_leads_up_behind_a_change_of_folder_is_one_in_the_workspace() {
    let unseen = Some("commands see nothing of what the machine has in /home");
    check(&[
        ("cd w/p\nls ..", None),
        ("set -e\ncd w/p\ncp b ../lib/b\nls ../lib", None),
        ("cd w/p; cp ../lib/a . 2>/dev/null; ls", None),
        ("cd w/p; make -C ../lib", None),
        ("cd w/p; make -C ../lib 2>&1 | tail -n 3", None),
        ("cd w; cd p; ls ../lib", None),
        ("cd w; cd ..; ls w none", None),
        ("for d in w/p; do cd $d; ls ../lib; done", None),
        ("cd w/p; mv b ../c 2>&1; ls ..", None),
        ("cd w/p; mv none ../c 2>/dev/null || true; [ -f ../c ] && echo ok", None),
        ("cd w/p; diff ../lib/a ../c", None),
        ("cd w/p; diff ../lib/a none", None),
        ("pushd w/p >/dev/null; find .. -name '*.zz'; popd >/dev/null", None),
        ("cd w/p; touch ../z9 2>/dev/null; echo", None),
        ("cd w/p; mkdir -p ../bld 2>/dev/null && cd ../bld && touch ../p/k", None),
        ("cd w; ls .. 2>/dev/null", None),
        ("cd w/p && ls ..", None),
        ("cd w/p || exit 1; ls ../lib", None),
        ("cd w/p; cat ../none", None),
        ("cd none; cat ../x", unseen),
        ("cd none; ls ../x 2>/dev/null", unseen),
        ("cd w; ls ../../bob 2>/dev/null", unseen),
        ("cat ../x", unseen),
        ("ls ../bob 2>/dev/null || echo none", unseen),
    ]);
}

#[test]
fn a_change_beside_the_home_is_told_with_its_path_and_nothing_else() {
    let refused = |path: &str| {
        format!(
            "outside of the workspace commands write only in private temporary folders (refused: {path}); --add-dir"
        )
    };
    let [n, t, bob] = ["/home/n", "/home/t", "/home/bob"].map(refused);
    check(&[
        ("mv notes ../n", Some(&n)),
        ("mv notes ../n 2>/dev/null", Some(&n)),
        ("mv notes ../n 2>/dev/null || true", Some(&n)),
        ("mv notes /home/n 2>/dev/null || true", Some(&n)),
        ("cd w; mv p ../../n 2>/dev/null", Some(&n)),
        ("cp notes ../n 2>/dev/null || echo no", Some(&n)),
        ("touch ../t", Some(&t)),
        ("touch ../t 2>/dev/null || echo no", Some(&t)),
        ("echo x 2>/dev/null > ../t || echo no", Some(&t)),
        ("mkdir ../bob", Some(&bob)),
        ("mkdir -p ../bob 2>/dev/null; true", Some(&bob)),
        ("cat ../t 2>/dev/null", Some("commands see nothing of what the machine has in /home")),
    ]);
}
