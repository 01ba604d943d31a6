//! The workspace that a replay begins with is the one that the session began with, whatever calls did
//! to its files.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::{
    program::{Place, Run},
    program_copy::copy_program,
};

/// Makes files by `prepare`, records `calls` and replays them.
fn check(prepare: &str, calls: &[&str]) {
    check_place(&recorded(prepare, calls), &format!("{prepare} / {calls:?}"));
}

/// Makes files by `prepare`, records `calls`, undoes and redoes the last of them, and replays them.
fn check_redone(prepare: &str, calls: &[&str]) {
    let place = recorded(prepare, calls);
    place.run(&["undo"]).ends_with(0);
    check_place(&place, &format!("{prepare} / {calls:?}, undone"));
    place.run(&["redo"]).ends_with(0);
    check_place(&place, &format!("{prepare} / {calls:?}, redone"));
}

fn check_place(place: &Place, said: &str) {
    let run = place.run(&["replay", "last"]);
    let is_same = run.out.contains("nothing differs") && run.error.is_empty();
    assert!(is_same, "{said}: {run:?}");
}

fn recorded(prepare: &str, calls: &[&str]) -> Place {
    recorded_by(prepare, calls, |place, arguments| place.run(arguments))
}

fn recorded_by(prepare: &str, calls: &[&str], run: impl Fn(&Place, &[&str]) -> Run) -> Place {
    let place = Place::new();
    let made = std::process::Command::new("sh")
        .args(["-ec", prepare])
        .current_dir(place.path("work"))
        .status();
    assert!(made.unwrap().success(), "{prepare}");
    let call =
        |command: &&str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let mut turns: Vec<_> = calls.iter().map(call).collect();
    turns.push(json!({"text": "Done."}));
    let script = place.script(turns.into());
    run(&place, &["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    place
}

#[test]
fn what_was_made_in_a_folder_that_was_renamed_is_not_there_before() {
    check("mkdir d; echo 1 > d/1", &["mv d e; echo z > e/z", "ls e"]);
    check("mkdir d; echo 1 > d/1", &["mv d/1 x; mv d e; echo z > e/z; ls -R", "ls e"]);
    check("mkdir d; echo 1 > d/1", &["mv d e; echo z >> e/1; rm e/1; ls e"]);
}

#[test]
fn folders_that_were_moved_into_one_another_are_where_they_were() {
    check("mkdir -p d/e; echo 1 > d/1; echo 2 > d/e/2", &["mv d/e x; mv d x/", "ls -R"]);
    check(
        "mkdir -p a/b/c; echo 1 > a/b/c/f",
        &[
            "mv a/b/c x; mv a y; mv x y/b/; ls -R; echo 3 >> y/b/x/f",
            "mv y/b/x a; cat a/f; rm -r y; ls -R",
        ],
    );
    check("mkdir d; echo 1 > d/1", &["mv d e; mkdir d; echo 2 > d/2; mv e/1 d/; ls -R"]);
    check(
        "mkdir -p d/s; echo 1 > d/s/1",
        &["mv d/s t; mv d e; mkdir d; mv t d/s; echo 2 >> d/s/1; ls -R"],
    );
}

#[test]
fn what_was_in_a_folder_that_another_took_the_place_of_is_there_before() {
    let look = "find . -printf '%p %m\\n' | sort; cat */* 2>&1; true";
    for (prepare, call) in [
        ("mkdir a b; echo 1 > a/e; cp -p a/e b/e", "rm -rf a; mv b a"),
        ("mkdir -p a/in/deep/er b/in; echo 1 > a/in/deep/er/k; touch b/in/k", "rm -rf a; mv b a"),
        ("mkdir -p n/sub o/sub; echo 1 > n/sub/b; echo 2 > o/sub/b", "mv o x; mv n o; rm -rf x"),
        (
            "mkdir -p s/sub; echo 1 > s/a; echo 2 > s/sub/b; cp -a s t; echo 3 > s/a",
            "rm -rf s; mv t s",
        ),
    ] {
        check(prepare, &[look, call, look]);
        let place = recorded(prepare, &[look, call, look]);
        check_bundle(&place);
    }
    check(
        "mkdir -p s/sub; echo 1 > s/a; echo 2 > s/sub/b",
        &[look, "cp -a s t; echo 3 > s/a", "rm -rf s; mv t s", look],
    );
}

#[test]
fn what_went_along_with_folders_of_a_call_is_where_it_was() {
    let prepare = "mkdir d e; echo 1 > d/1; echo 2 > d/2; echo 3 > e/1; echo 4 > f";
    check(prepare, &["mkdir n; mv d n/e; mv n m; rm m/e/1; ls -R", "cat m/e/2"]);
    check(prepare, &["ls -R; mv d t; mv e d; mv t e; rm e/1; cat d/*", "ls -R"]);
    check(prepare, &["mv d b; mkdir d; mv b d/; echo n >> d/b/1; ls -R", "cat d/b/*"]);
    check(prepare, &["mkdir n; mv f n/; echo 5 >> n/f; ls -R", "cat n/f; mv n/f d/1"]);
    check(prepare, &["mv d c; chmod 600 c/1; stat -c '%a %n' c/*", "rm -r c"]);
}

#[test]
fn a_folder_that_was_made_again_has_what_the_first_one_had() {
    check(
        "mkdir -p d/s; echo 1 > d/s/1",
        &["rm -rf d; mkdir -p d/s; echo 2 > d/s/1; echo 3 > d/s/2", "ls -R"],
    );
}

#[test]
fn folders_have_the_times_that_they_had() {
    let prepare =
        "mkdir -p d/e/g w x/y z; touch -d 2020-01-01 d/e/f d/e/g; touch -d 2021-01-01 d/e w
        touch -d 2022-01-01 d x/y; touch -d 1960-01-02T03:04:05.06 x; touch -d 2023-01-01 .";
    let look = "stat -c '%y %n' . d d/e d/e/g w x x/y; find . -newermt 2022-06-01 -o -not -newer d";
    let place = recorded(
        prepare,
        &[
            look,
            "rm d/e/f; mkdir w/n; touch w/n/g; mv w v; touch top",
            "rm -r d; mkdir -p d/e; rmdir x/y; touch x/other v/more; mv v x/v; ln top x/top",
            "chmod 700 x; rm -r x; mkdir x; mv z x/z; touch x/z/n",
        ],
    );
    check_place(&place, "here");
    place.run(&["export", "last", "--bundle", "../out.tar.gz"]).ends_with(0);
    let other = Place::new();
    let bundle = place.path("out.tar.gz").to_str().unwrap().to_owned();
    let run = other.run(&["replay", &bundle]);
    assert!(run.out.contains("nothing differs") && run.error.is_empty(), "{run:?}");
    // What one process did is as it was when the next began.
    let prepare = "mkdir -p d/s; touch d/s/f; touch -d 2020-01-01 d/s d";
    check(prepare, &["mv d e; touch e/s/g; touch -d 2020-01-01 e/s e; stat -c '%y %n' e e/s"]);
    check_redone(prepare, &["stat -c '%y %n' d d/s", "rm -r d"]);
}

#[test]
fn names_of_one_file_are_names_of_one_file() {
    check("echo 1 > a; ln a b", &["echo 2 > a; cat b", "cat a b; stat -c '%h %n' *"]);
    check("echo 1 > a; ln a b", &["rm a; echo x >> b; cat b"]);
    check("echo 1 > a; ln a b", &["rm a b; echo 2 > a; echo 3 > b", "cat a b; stat -c %h a b"]);
    check("mkdir d; echo 1 > d/1; ln d/1 d/h", &["stat -c '%h %n' d/*; rm -rf d"]);
    // Nor of one where they became that only later.
    check("echo 1 > a; echo 3 > c", &["cat a c; ln -f c a; cat a", "echo 4 >> a; cat c; rm a"]);
    check(
        "echo 1 > a; ln a b; ln a c",
        &["cat c; rm a; mv b d", "ls; echo 2 >> d; cat c", "sed -i s/1/3/ c"],
    );
    check(
        "echo 1 > a; ln a b; ln a c",
        &["cat c; echo 2 >> a; rm a", "cat b; echo 3 | dd conv=notrunc of=c status=none"],
    );
}

#[test]
fn what_was_undone_and_redone_is_as_before_the_call() {
    check_redone("echo 1 > a", &["cat a; sed -i s/1/2/ a"]);
    check_redone("echo 1 > a", &["cat a", "echo 2 >> a; mv a b; echo 3 > a"]);
    let prepare = "mkdir d; echo 1 > d/1; ln d/1 d/h";
    check_redone(prepare, &["cat d/1 d/h; rm -rf d"]);
    check_redone(prepare, &["cat d/1 d/h; echo x >> d/1", "rm -rf d"]);
    check_redone(prepare, &["cat d/1 d/h; echo x >> d/1; rm -rf d"]);
    check_redone(prepare, &["cat d/1 d/h; sed -i s/1/2/ d/1", "mv d/h h; rm -rf d"]);
    check_redone("echo 1 > a; ln a b", &["cat a b; echo 3 >> a; rm a b; echo 4 > a; ln a b"]);
}

#[test]
fn a_pipe_that_was_removed_is_there_before() {
    check("mkfifo -m 640 p", &["stat -c '%A %n' p; rm p", "ls"]);
    check("mkfifo -m 640 p", &["chmod 600 p", "ls -l; mv p q"]);
}

#[test]
fn a_bundle_says_what_it_has_of_pipes_and_of_further_names() {
    let place = Place::new();
    place.write("work/a", "one\n");
    std::fs::hard_link(place.path("work/a"), place.path("work/b")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(place.path("work/p")).status();
    assert!(made.unwrap().success());
    let call = json!({"calls": [{"name": "bash", "arguments": {"command": "cat a b"}}]});
    let script = place.script(json!([call, {"text": "Done."}]));
    place.run(&["-p", "--model", &script, "--allow", "bash", "go"]).ends_with(0);
    let run = place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    run.says(&["left out: p (it is a pipe)", "left out: b as a name of another file"]);
    place.run(&["replay", "out.tar.gz"]).ends_with(0);
}

/// Replays the last session from a bundle in another home.
fn check_bundle(place: &Place) {
    place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    let other = Place::new();
    std::fs::rename(place.path("work/out.tar.gz"), other.path("work/in.tar.gz")).unwrap();
    let run = other.run(&["replay", "in.tar.gz"]);
    assert!(run.out.contains("nothing differs") && run.error.is_empty(), "{run:?}");
}

#[test]
fn permissions_are_as_they_were_also_in_a_bundle() {
    let prepare = "mkdir ro st none sg; echo 1 > ro/f; echo 2 > st/f; echo 3 > none/f; \
                   chmod 400 ro/f; chmod 1777 st; chmod 2755 sg; chmod 555 ro; chmod 0 none";
    let look = "stat -c '%a %n' *";
    for change in ["true", "chmod 755 *; rm -rf *"] {
        let place = recorded(prepare, &[look, change]);
        check_place(&place, change);
        check_bundle(&place);
    }
    check_redone(prepare, &[look, "chmod 700 ro none; mv ro none/; chmod 500 none; rmdir st"]);
}

#[test]
fn extended_attributes_are_as_they_were_also_in_a_bundle() {
    const GET: &str = "python3 -c \"import os; [print(n, [(a, os.getxattr(n, a)) for a in os.listxattr(n)]) \
                       for n in ('f', 'd', 'ro')]\"";
    let set = |name: &str, value: &str| {
        format!("python3 -c \"import os; os.setxattr('{name}', 'user.k', b'{value}')\"")
    };
    let made = [set("f", "one"), set("d", "two"), set("ro", "three")].join("; ");
    let prepare = format!("echo 1 > f; echo 2 > ro; mkdir d; {made}; chmod 400 ro");
    for change in ["true", "rm -rf f d; chmod 600 ro", &set("f", "other")] {
        let place = recorded(&prepare, &[GET, change, GET]);
        assert!(place.logs().contains("b'three'"), "{}", place.logs());
        check_place(&place, change);
        check_bundle(&place);
    }
    check_redone(&prepare, &[GET, "rm -rf f d"]);
}

#[test]
fn a_bundle_gives_no_program_the_rights_of_its_owner() {
    let place =
        recorded("echo 1 > s; chmod 4755 s; mkdir d; chmod 2755 d", &["cat s; stat -c %a d"]);
    let run = place.run(&["export", "last", "--bundle", "out.tar.gz"]).ends_with(0);
    run.says(&["left out: s as setuid or setgid: it is neither"]);
    let listed = place.program("tar", &["tvzf", "out.tar.gz"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("-rwxr-xr-x") && listed.contains("drwxr-sr-x"), "{listed}");
    place.run(&["replay", "out.tar.gz"]).ends_with(0);
}

#[test]
fn times_before_1970_are_kept() {
    check(
        "echo 1 > a; touch -d '1960-05-05 05:05:05.25' a; echo 2 > b; touch -d 1955-01-01 b",
        &["stat -c '%y %n' a b; rm b; echo 3 >> a", "ls"],
    );
}

/// Runs the program as an ordinary user, to whom files can be closed.
fn by_an_ordinary_user(place: &Place, arguments: &[&str]) -> Run {
    if !rustix::process::geteuid().is_root() {
        return place.run(arguments);
    }
    let copy = place.path("tenon");
    if !copy.exists() {
        copy_program(env!("CARGO_BIN_EXE_tenon").as_ref(), &copy);
        std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).unwrap();
        let all = place.path("");
        let given =
            std::process::Command::new("chown").args(["-R", "65534:65534"]).arg(all).status();
        assert!(given.unwrap().success());
    }
    let copy = copy.display().to_string();
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups", &copy];
    Run::of(place.program("setpriv", &[&user[..], arguments].concat()).output().unwrap())
}

/// What there is before, and calls that are about what is closed to its owner.
const CLOSED: &[(&str, &[&str])] = &[
    ("mkdir d; echo x > d/f", &["ls d", "chmod 000 d"]),
    ("mkdir d; echo x > d/f", &["ls d", "chmod 300 d"]),
    ("echo x > f", &["cat f", "chmod 000 f"]),
    ("echo x > f; chmod 000 f", &["stat -c %a f", "chmod 600 f; cat f"]),
    (
        "mkdir -p d/e; echo x > d/e/f; ln -s f d/e/l; mkdir d/g; chmod 0 d/e/f d/e; chmod 500 d",
        &[
            "stat -c '%a %n' d d/*",
            "chmod -R u+rwX d; find d -printf '%m %l %p\\n' | sort; cat d/e/*",
        ],
    ),
    (
        "mkdir -p d/e/g; echo x > d/e/g/f; chmod 0 d/e/g d/e d",
        &["chmod 700 d; chmod 700 d/e; chmod 100 d/e/g; cat d/e/g/f; chmod 0 d/e/g d/e d"],
    ),
];

#[test]
fn what_is_closed_to_its_owner_is_in_a_replay_and_in_a_bundle() {
    for (prepare, calls) in CLOSED {
        let place = recorded_by(prepare, calls, by_an_ordinary_user);
        let modes = || {
            let listed = place.program("find", &[".", "-printf", "%m %p\n"]).output().unwrap();
            String::from_utf8(listed.stdout).unwrap()
        };
        let before = modes();
        let run = |arguments: &[&str]| {
            let run = by_an_ordinary_user(&place, arguments).ends_with(0);
            assert_eq!(run.error, "", "{prepare} / {calls:?}");
            assert_eq!(modes(), before, "{prepare} / {calls:?}: {arguments:?}");
        };
        run(&["replay", "last"]);
        run(&["export", "last", "--bundle", "../out.tar.gz"]);
        run(&["replay", "../out.tar.gz"]);
        // Else the test's own folder could not be removed.
        let opened = place.program("chmod", &["-R", "u+rwX", "."]).status();
        assert!(opened.unwrap().success());
    }
}
