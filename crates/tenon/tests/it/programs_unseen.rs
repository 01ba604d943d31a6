//! Programs that the user's own shell finds and commands do not: which folder hides them is told, and `tenon
//! doctor` names it.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::program::{Place, Run, check_only_wall};

/// Puts a program there that says `ok`.
fn program(place: &Place, name: &str) {
    let path = place.write(name, "#!/bin/sh\necho ok\n");
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Returns a home with programs in four folders of PATH, and that PATH.
fn home() -> (Place, String) {
    let place = Place::new();
    for name in [
        "home/bin/deploy",
        "home/tools/bin/conda",
        "home/tools/lint/bin/lint",
        "home/.local/share/pipx/venvs/ruff/bin/ruff",
        "home/bin/hidden-and-seen",
        "home/.local/bin/hidden-and-seen",
    ] {
        program(&place, name);
    }
    let link = |from: &str, to: &str| symlink(place.path(from), place.path(to)).unwrap();
    link("home/.local/share/pipx/venvs/ruff/bin/ruff", "home/.local/bin/ruff");
    link("home/tools/lint/bin/lint", "home/.local/bin/lint");
    let folders = ["bin", ".local/bin", "tools/bin"];
    let mut path: Vec<String> =
        folders.iter().map(|name| place.path("home").join(name).display().to_string()).collect();
    path.push("/usr/bin:/bin".into());
    (place, path.join(":"))
}

#[test]
fn a_program_of_path_that_commands_do_not_see_is_told_with_the_folder_that_hides_it() {
    let (place, path) = home();
    place.write("work/Makefile", "check:\n\t@conda --version\nfile:\n\t@cat deploy\n");
    let home = place.path("home").display().to_string();
    let seen = |folder: &str, name: &str| {
        format!(
            "[walls] programs: {name} is on the user's PATH {folder}, which commands do not see; \
             --add-dir "
        )
    };
    let of_bin = seen(&format!("in {home}/bin"), "deploy");
    let of_conda = seen(&format!("in {home}/tools/bin"), "conda");
    let of_link = format!("as {home}/.local/bin/lint, a link into {home}/tools/lint/bin");
    let rows = [
        ("ruff check", None),
        ("deploy", Some(&of_bin)),
        ("deploy || true", Some(&of_bin)),
        ("make check", Some(&of_conda)),
        ("env conda", Some(&of_conda)),
        ("echo x | xargs conda", Some(&of_conda)),
        ("sh -c 'deploy x'", Some(&of_bin)),
        ("which conda", Some(&of_conda)),
        ("command -v deploy > /dev/null || echo none", Some(&of_bin)),
        ("lint", Some(&of_link)),
        // The walls had no part in these.
        ("hidden-and-seen", None),
        ("nobody-has-this-program", None),
        ("PATH=/usr/bin; deploy", None),
        ("cat deploy", None),
        ("make file", None),
    ];
    let commands = rows.iter().map(|(command, _)| *command);
    let told = place.results_of(commands, &[], |it| it.env("PATH", &path)).unwrap();
    for ((command, expected), told) in rows.iter().zip(told) {
        check_only_wall(command, &told, expected.map(String::as_str));
    }
}

#[test]
fn outside_the_walls_no_program_of_the_workspace_runs_by_its_name_alone() {
    let place = Place::new();
    program(&place, "work/bin/doas");
    let bin = place.path("work/bin").display().to_string();
    let told = format!(
        "[walls] programs: doas is on the user's PATH in a folder of the session, or by a link into one, where a \
         command outside the walls looks for none; named as {bin}/doas it would run"
    );
    let allow = ["--allow", "bash(doas -n true)", "--allow", &format!("bash({bin}/doas -n true)")];
    std::fs::create_dir_all(place.path("home/bin")).unwrap();
    symlink(place.path("work/bin/doas"), place.path("home/bin/doas")).unwrap();
    let path = format!("{bin}:{}:/usr/bin:/bin", place.path("home/bin").display());
    let commands = ["doas -n true".to_owned(), format!("{bin}/doas -n true")];
    let results =
        place.results_of(commands.iter().map(String::as_str), &allow, |it| it.env("PATH", &path));
    let results = results.unwrap();
    check_only_wall("doas", &results[0], Some(&told));
    assert_eq!(results[1], "ok");
}

#[test]
fn doctor_names_the_folders_of_path_that_commands_do_not_see() {
    let (place, path) = home();
    let run = place.tenon(&["doctor"]).env("PATH", &path).output().unwrap();
    let home = place.path("home").display().to_string();
    let line = format!("in PATH, and not seen by commands: {home}/bin, {home}/tools/bin\n");
    let run = Run::of(run);
    assert!(run.out.contains(&line), "{run:?}");
}
