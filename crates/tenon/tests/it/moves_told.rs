//! What a command is told that tried to move or to link something out of the workspace, or into it.

use crate::{
    program::{Place, check_only_wall},
    skipped::skipped,
    writes_told::{APART, check, check_around, started_by},
};

/// Moves and hard links of the file `n` and the folder `d` to a place that is read-only to commands.
const OUT: [&str; 8] = [
    "echo > n; mkdir d; mv n /usr/xy",
    "mv d /usr/xy",
    "mv n \"$(realpath --relative-to=. /usr)/xy\"",
    "mv n /usr/xy || true",
    "mv n /usr/xy 2>/dev/null; true",
    "ln n /usr/xy",
    "perl -e 'rename(\"n\", \"/usr/xy\") or die \"no: $!\\n\"'",
    "perl -e 'rename(\"n\", \"/usr/xy\") or exit 1'",
];

/// What a mere quote is, or would fail anyhow.
const OTHERS: [&str; 5] = [
    "mv none /usr/xy",
    "mv -n n /usr/bin/env",
    "echo \"mv: inter-device move failed: 'n' to '/usr/xy'; unable to remove target: Read-only file system\" > log; \
     cat log",
    "echo \"ln: failed to create hard link '/usr/xy' => 'n': Invalid cross-device link\" >&2; false",
    "mv n n2 && mv n2 n",
];

fn rows(told: &str) -> Vec<(&'static str, Option<&str>)> {
    let out = OUT.iter().map(|command| (*command, Some(told)));
    out.chain(OTHERS.iter().map(|command| (*command, None))).collect()
}

#[test]
fn a_move_out_of_the_workspace_is_told_with_its_path_and_what_would_allow_it() {
    let refused = "files: outside of the workspace commands write only in private temporary folders (refused: /usr/xy)";
    check(&Place::new(), &["a", "b"], &rows(refused));
    let in_c = "files: outside of the workspace commands in tier C write only in private temporary folders \
                (refused: /usr/xy)";
    check(&Place::new(), &["c"], &rows(in_c));
    let place = Place::new();
    let rows = rows(refused);
    let home = place.path("home");
    let state = place.path("state");
    let commands = rows.iter().map(|(command, _)| *command);
    let told = place.results_of(commands, &["--sandbox", "a"], |tenon| {
        tenon.current_dir(home).env("XDG_STATE_HOME", state)
    });
    let Some(told) = told else { return skipped("this machine gives no tier a") };
    for ((command, expected), told) in rows.iter().zip(&told) {
        check_only_wall(&format!("in the home: {command}"), told, *expected);
    }
}

#[test]
fn a_move_between_the_workspace_and_a_private_folder_is_told_with_both_paths() {
    let apart = |how: &str| {
        format!("{APART} (refused: {how}); a copy is possible, --sandbox off would let them")
    };
    let link = apart("{}/work/n as a link to {}/xy");
    let rename = apart("{}/work/n to {}/xy");
    let back = "{}/work/o); a copy is possible, --sandbox off would let them";
    let kept = "{}/l is outside of the workspace, in a private folder that is gone at the end";
    let rows = [
        ("echo > n; ln n {}/xy", Some(link.as_str())),
        (
            "for it in $(seq 60); do cp -l n {}/n$it; done",
            Some("(refused: {}/work/n as a link to {}/n1)"),
        ),
        ("perl -e 'rename(\"n\", \"{}/xy\") or die \"no: $!\\n\"'", Some(&rename)),
        (
            "perl -e 'rename($ARGV[0], \"o\") or warn \"no: $!\\n\"; unlink $ARGV[0]' \"$(mktemp -p {})\"",
            Some(back),
        ),
        ("mv \"$(mktemp -p {})\" o", None),
        ("ln n {}/l 2>/dev/null || cp n {}/l", Some(kept)),
        ("perl -e 'rename(\"none\", \"{}/xy\") or die \"no: $!\\n\"'", None),
        (
            "echo \"ln: failed to create hard link '{}/xy' => 'n': Invalid cross-device link\" >&2; false",
            None,
        ),
    ];
    check(&Place::new(), &["a"], &rows);
    let of_toolchain = "make no hard link (refused: ~/go/pkg/mod/x as a link to ";
    let rows = [
        ("for it in $(seq 60); do cp -l go/pkg/mod/x ~/../x$it; done", Some(of_toolchain)),
        (
            "echo \"cp: cannot create hard link '/tmp/x' to 'go/pkg/mod/x': Invalid cross-device link\" >&2; false",
            None,
        ),
    ];
    check_around("home", &[], &rows);
}

#[test]
fn a_write_outside_is_told_once_and_with_its_path_whatever_its_program_calls_it() {
    let refused = "write only in private temporary folders (refused: /usr/xy)";
    let write = "node -e 'require(\"fs\").writeFileSync(\"/usr/xy\", \"a\")'";
    let rename = "echo > n; node -e 'require(\"fs\").renameSync(\"n\", \"/usr/xy\")'";
    let rows = [
        (write, Some(refused)),
        (rename, Some(refused)),
        ("curl -sS -o /usr/xy file:///etc/hostname", Some("/usr/xy)")),
        ("mktemp -p /usr", Some("(refused: /usr/tmp.")),
    ];
    check(&Place::new(), &["a", "b"], &rows);
}

/// Of the names `info` in a repository the one next to `config` is protected.
#[test]
fn what_is_called_info_among_the_objects_of_a_repository_is_told_as_no_protected_name() {
    let apart = |path: &str, to: &str| {
        format!(
            "{APART} (refused: {{}}/work/.git/{path} as a link to {{}}/{to}); a copy is possible"
        )
    };
    let (packs, branch) = (apart("objects/info/packs", "p"), apart("refs/heads/config", "b"));
    let rows = [
        (
            "git init -q .; echo > .git/objects/info/packs; ln .git/objects/info/packs {}/p",
            Some(&*packs),
        ),
        ("echo > .git/refs/heads/config; ln .git/refs/heads/config {}/b", Some(&*branch)),
        ("ln .git/info/exclude {}/x", Some("files: protected names in the workspace (.git/hooks")),
    ];
    check(&Place::new(), &["a"], &rows);
}

#[test]
fn a_move_to_another_disk_of_the_machine_is_told_as_no_wall() {
    let place = Place::new();
    place.write("work/a", "");
    std::fs::create_dir_all(place.path("work/disk")).unwrap();
    let mount = "mount -t tmpfs none disk && exec \"$@\"";
    let probe = ["-m", "sh", "-c", mount, "sh", "true"];
    if !place.program("unshare", &probe).output().is_ok_and(|run| run.status.success()) {
        return skipped("no mount namespace can be had here");
    }
    let program = env!("CARGO_BIN_EXE_tenon");
    let front = ["unshare", "-m", "sh", "-c", mount, "sh", program];
    let commands = [
        "ln a disk/b",
        "perl -e 'rename \"a\", \"disk/b\"'",
        "perl -e 'rename \"a\", \"disk/b\" or exit 1'",
        "perl -e 'rename \"disk\", \"d2\" or exit 1'",
    ];
    let disk = place.path("work/disk").display().to_string();
    let flags = ["--sandbox", "a", "--add-dir", &disk];
    let told =
        place.results_of(commands.into_iter(), &flags, |tenon| started_by(&place, &front, tenon));
    let Some(told) = told else { return skipped("this machine gives no tier a") };
    commands.iter().zip(&told).for_each(|(command, told)| check_only_wall(command, told, None));
}
