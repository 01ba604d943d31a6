//! What a command is told that tried to change what lies outside of where the walls let it write: which path it
//! was and what would allow it, whatever words its program has for that.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    program::{Place, Run, check_only_wall},
    program_copy::copy_program,
    skipped::skipped,
};

/// Runs each command in the tiers and checks what it is told, where `{}` stands for the folder of the test.
pub(crate) fn check(place: &Place, tiers: &[&str], rows: &[(&str, Option<&str>)]) {
    let folder = place.path("").display().to_string();
    let folder = folder.trim_end_matches('/');
    for tier in tiers {
        let commands: Vec<String> =
            rows.iter().map(|(command, _)| command.replace("{}", folder)).collect();
        let arguments = ["--sandbox", *tier];
        let commands = commands.iter().map(String::as_str);
        let Some(told) = place.results_of(commands, &arguments, |it| it) else {
            skipped(format!("this machine gives no tier {tier}"));
            continue;
        };
        for ((command, expected), told) in rows.iter().zip(told) {
            if told.contains("command not found") {
                skipped(format!("not installed: {command}"));
                continue;
            }
            let expected = expected.map(|words| words.replace("{}", folder));
            check_only_wall(&format!("{tier} {command}"), &told, expected.as_deref());
        }
    }
}

const MKDIR: &str = "import os\ntry: os.mkdir('/usr/xy')\nexcept OSError as e: print('cannot prepare cache:', e.strerror)\nraise SystemExit(1)";
const QUIET: &str = "import os\ntry: os.mkdir('/usr/xy')\nexcept OSError: print('can' + 'not write cache')\nraise SystemExit(1)";
const FAILS: &str = "import os\ntry: os.mkdir('/usr/xy')\nexcept OSError: raise SystemExit(1)\n";
const SHRUGS: &str = "import os\ntry: os.mkdir('/usr/xy')\nexcept OSError: pass\n";

fn place() -> Place {
    let place = Place::new();
    for (name, text) in
        [("mkdir.py", MKDIR), ("quiet.py", QUIET), ("fails.py", FAILS), ("shrugs.py", SHRUGS)]
    {
        place.write(&format!("work/{name}"), text);
    }
    place
}

#[test]
fn a_write_outside_is_told_with_its_path_also_where_the_program_says_none() {
    let refused = "files: outside of the workspace commands write only in private temporary folders (refused: /usr/xy)";
    let perhaps = refused.replace("(refused: ", "(refused, perhaps in passing: ");
    let rows = [
        ("/usr/bin/python3 mkdir.py", Some(refused)),
        ("/usr/bin/python3 quiet.py", Some(&perhaps)),
        ("perl -e 'mkdir \"/usr/xy\" or die \"no: $!\\n\"'", Some(refused)),
        ("perl -e 'symlink(\"a\", \"/usr/xy\") or die \"no: $!\\n\"'", Some(refused)),
        ("perl -e 'open(F, \">\", \"/usr/xy\") or die \"no: $!\\n\"'", Some(refused)),
        ("cd /usr && perl -e 'mkdir \"xy\" or print \"no: $!\\n\"' 2>&1", Some(refused)),
        (
            "perl -e 'unlink(\"/usr/bin/env\") or die \"no: $!\\n\"'",
            Some("(refused: /usr/bin/env)"),
        ),
        (
            "perl -e 'rename(\"/usr/bin/env\", \"/usr/xy\") or die \"no: $!\\n\"'",
            Some("(refused: /usr/bin/env)"),
        ),
        ("perl -e 'truncate(\"/usr/bin/env\", 0) or die \"no: $!\\n\"'", Some("/usr/bin/env)")),
        ("perl -e 'utime(1, 1, \"/usr/bin/env\") or die \"no: $!\\n\"'", Some("/usr/bin/env)")),
        ("ln -sfn /usr out; perl -e 'mkdir \"out/xy\" or die \"no: $!\\n\"'", Some(refused)),
        ("touch /usr/xy 2>/dev/null; true", Some(refused)),
        ("touch /usr/xy 2>/dev/null || echo none", Some(refused)),
        ("python3 -c \"open('/usr/xy', 'w')\" 2>/dev/null || echo none", Some(refused)),
        (
            "python3 -c \"open('/usr/bin/env')\" 2>/dev/null; touch xy 2>/dev/null || echo none",
            None,
        ),
        ("python3 -c \"open('/tmp/xy', 'w'); open('/nowhere')\" 2>/dev/null || echo none", None),
        ("test -d none && touch /usr/xy 2>/dev/null; true", None),
        ("touch '/usr/x; --sandbox off'", Some("(refused: '/usr/x; --sandbox off')")),
        ("mkdir -p /usr/xy/z", Some(refused)),
        ("for n in $(seq 90); do echo > /usr/n$n; done 2> none; mkdir /usr/xy", Some(refused)),
        ("touch /usr/z 2> none; sqlite3 /usr/xy 'create table a(x)'", Some(refused)),
        (
            "touch /usr/xy 2> none; echo 'could not save order: price is negative' >&2; false",
            Some(&perhaps),
        ),
        ("touch /dev/xy", Some("the usual devices alone")),
        ("touch /dev/xy 2>/dev/null", Some("the usual devices alone")),
    ];
    check(&place(), &["a", "b"], &rows);
}

#[test]
fn an_error_that_node_calls_by_its_code_alone_is_told_too() {
    let refused = "files: outside of the workspace commands write only in private temporary folders (refused: /usr/xy)";
    let apart = "make no hard link (refused: ";
    let write = "node -e 'require(\"fs\").writeFileSync(\"/usr/xy\", \"\")' 2>&1";
    let rename = "node -e 'fs.writeFileSync(\"n\", \"\"); fs.renameSync(\"n\", \"/tmp/n\")' 2>&1";
    let with = |command: &str, filter: &str| format!("{command} | {filter}");
    let [code, last, code_of_move, last_of_move, other] = [
        with(write, "grep code"),
        with(write, "tail -n 8"),
        with(rename, "grep code"),
        with(rename, "tail -n 9"),
        with("touch /usr/xz 2> none", &with(&write.replace("xy", "xyz"), "tail -n 8")),
    ];
    check(
        &place(),
        &["a"],
        &[
            (&code, Some(refused)),
            (&last, Some(refused)),
            (write, Some(refused)),
            (&code_of_move, Some(apart)),
            (&last_of_move, Some(apart)),
            (rename, Some(apart)),
            (&other, Some("(refused: /usr/xyz)")),
            ("node -e 'console.log(\"  code: \\x27EROFS\\x27,\")' > log; cat log", None),
        ],
    );
}

#[test]
fn without_namespaces_too() {
    let refused = "files: outside of the workspace commands in tier C write only in private temporary folders (refused: /usr/xy)";
    let perhaps = refused.replace("(refused: ", "(refused, perhaps in passing: ");
    let rows = [
        ("/usr/bin/python3 mkdir.py", Some(refused)),
        ("/usr/bin/python3 quiet.py", Some(&perhaps)),
        ("perl -e 'mkdir \"/usr/xy\" or die \"no: $!\\n\"'", Some(refused)),
    ];
    check(&place(), &["c"], &rows);
}

#[test]
fn a_write_outside_is_told_of_a_command_that_fails_without_a_word() {
    let refused = "(refused: /usr/xy)";
    let perhaps = "(refused, perhaps in passing: /usr/xy)";
    let of_make = "(refused, perhaps in passing: /usr/make.txt)";
    let link = "files: commands make no hard link to a file outside of the workspace (refused: /usr/bin/env)";
    let link_perhaps = "(refused, perhaps in passing: /usr/bin/env); a copy is possible";
    let place = place();
    place.write("work/make.txt", "");
    let rows = [
        ("curl -s -o /usr/xy file:///etc/hostname", Some(refused)),
        ("perl -e 'open(F, \">\", \"/usr/xy\") or exit 1'", Some(refused)),
        ("bash -c 'f=/usr/xy; echo > $f' 2>/dev/null", Some(refused)),
        ("/usr/bin/python3 fails.py", Some(perhaps)),
        ("/usr/bin/python3 fails.py 2>&1 | cat; exit 3", Some(perhaps)),
        ("make -s -f- <<< $'all:\\n\\t@mkdir /usr/xy 2>/dev/null'", Some(refused)),
        ("make -s -f- <<< $'all:\\n\\t@cp make.txt /usr/ 2>/dev/null'", Some(of_make)),
        ("perl -e 'link(\"/usr/bin/env\", \"hard\") or exit 1'", Some(link)),
        ("f=/usr/bin; perl -e 'link(\"$ARGV[0]/env\", \"hard\") or exit 1' $f", Some(link_perhaps)),
    ];
    check(&place, &["a", "b", "c"], &rows);
}

#[test]
fn a_database_that_could_not_be_written_outside_is_told_also_where_the_command_goes_on() {
    let refused = Some("(refused: /usr/xy)");
    let python = |path: &str| {
        format!(
            "/usr/bin/python3 -c 'import sqlite3; sqlite3.connect(\"{path}\").execute(\"create table t(a)\")' || true"
        )
    };
    let [outside, missing] = ["/usr/xy", "none/x.db"].map(python);
    let rows = [
        ("sqlite3 /usr/xy 'create table t(a)'", refused),
        ("sqlite3 /usr/xy 'create table t(a)'; echo made", refused),
        ("cd /usr && sqlite3 xy 'create table t(a)'; echo made", refused),
        (&outside, refused),
        ("sqlite3 none/x.db 'create table t(a)'", None),
        ("sqlite3 none/x.db 'create table t(a)'; echo made", None),
        ("/usr/bin/python3 shrugs.py; sqlite3 none/x.db 'create table t(a)'; echo made", None),
        (&missing, None),
        ("sqlite3 r.db 'create table t(a)'", None),
        ("sqlite3 -readonly r.db 'insert into t values(1)'; echo made", None),
        ("echo 'attempt to write a readonly database' >&2", None),
    ];
    check(&place(), &["a", "b", "c"], &rows);
    let held = "read-only to commands also in the workspace (refused: ~/.cache/uv/wheel)";
    let rows = [
        ("sqlite3 ~/.cache/uv/wheel 'create table t(a)'; echo made", Some(held)),
        (
            "/usr/bin/python3 -c 'import sqlite3; sqlite3.connect(\".cache/uv/wheel\").execute(\"create table t(a)\")'",
            Some(held),
        ),
    ];
    check_around("home", &[], &rows);
}

#[test]
fn what_was_tried_in_passing_is_not_told() {
    let place = place();
    place.write("work/ro", "Read-only file system\n");
    let rows = [
        ("/usr/bin/python3 shrugs.py", None),
        ("/usr/bin/python3 shrugs.py; false", None),
        ("/usr/bin/python3 shrugs.py; grep -q none ro", None),
        ("/usr/bin/python3 shrugs.py; diff -q ro shrugs.py > none", None),
        ("/usr/bin/python3 fails.py || true", None),
        ("perl -e 'link(\"/usr/bin/env\", \"hard\")'; cp /usr/bin/env hard", None),
        ("perl -e 'link(\"/usr/bin/env\", \"ro\") or exit 1'", None),
        ("make -s -f- <<< $'all:\\n\\t@/usr/bin/python3 fails.py || true'", None),
        ("make -s -f- <<< $'all:\\n\\t@/usr/bin/python3 shrugs.py; echo no; exit 1'", None),
        ("/usr/bin/python3 fails.py; echo done; false", None),
        ("perl -e 'open(F, \">\", \"/usr/index\" . \".lock\"); exit 1'", None),
        ("/usr/bin/python3 shrugs.py; cat ro", None),
        ("/usr/bin/python3 shrugs.py; ls none", None),
        ("mkdir -p /usr; mkdir /usr", None),
        ("rm -f /usr/xy; test -w /usr/bin/env", None),
        ("echo x > /dev/full; echo 'cannot write cache'; false", None),
    ];
    check(&place, &["a", "b", "c"], &rows);
}

#[test]
fn a_protected_name_is_told_as_such_where_nothing_outside_was_tried() {
    let place = place();
    place.write("work/.envrc", "");
    let command = "perl -e 'open(F, \">\", \".en\" . \"vrc\") or die \"no: $!\\n\"'";
    check(&place, &["a", "b"], &[(command, Some("files: protected names in the workspace"))]);
}

#[test]
fn protected_names_of_the_repository_of_a_linked_worktree_are_told_as_such() {
    let place = Place::new();
    let main = place.path("main");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=A", "-c", "user.email=a@b", "-C"]).arg(&main).args(arguments);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    };
    std::fs::create_dir_all(&main).unwrap();
    git(&["init", "-q", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "1"]);
    std::fs::remove_dir_all(place.path("work")).unwrap();
    git(&["worktree", "add", "-q", "../work", "-b", "feature"]);
    let held = "protected names of a repository (.git/hooks, .git/config and the like) are closed to commands, \
                also where --add-dir adds it (refused: {}/main/.git/";
    let rows = [
        ("echo x > ../main/.git/hooks/post-commit", Some(held)),
        ("perl -e 'open(F, \">\", \"../main/.git/info/x\") or die \"no: $!\n\"'", Some(held)),
        ("git commit -q --allow-empty -m 2", None),
    ];
    check(&place, &["a", "b"], &rows);
}

/// Runs each command, or write of a file, in a tier and checks what its result tells and which flag the list for
/// programs has. A toolchain's folder `keys` holds a key of the user's, and the state of tenon where a row names it.
fn check_closed(tier: &str, rows: &[(Value, &str, Option<&str>)]) {
    let place = Place::new();
    let folder = place.path("k7x2m9q4/keys").display().to_string();
    place.write("k7x2m9q4/keys/credentials.toml", "token = 'a'\n");
    place.config(&format!("read_dir = ['{folder}']\n"));
    let call = |arguments: &Value| {
        let name = if arguments["command"].is_string() { "bash" } else { "write_file" };
        let arguments = arguments.to_string().replace("{}", &folder);
        let arguments: Value = serde_json::from_str(&arguments).unwrap();
        json!({"calls": [{"name": name, "arguments": arguments}]})
    };
    let mut turns: Vec<Value> = rows.iter().map(|(arguments, ..)| call(arguments)).collect();
    turns.push(json!({"text": "done"}));
    let script = place.script(turns.into());
    let arguments = ["--sandbox", tier, "--output-format", "stream-json", "--model", &script, "go"];
    let mut tenon = place.tenon(&arguments);
    tenon.env("CARGO_HOME", &folder);
    // No layer lies in front of a folder in which that of tenon is.
    if rows.iter().any(|(arguments, ..)| arguments.to_string().contains("{}/state")) {
        tenon.env("XDG_STATE_HOME", format!("{folder}/state"));
    }
    let run = Run::of(tenon.output().unwrap());
    if run.status == 3 {
        return skipped(format!("this machine gives no tier {tier}"));
    }
    let events = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events: Vec<Value> = events.collect();
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    let ids = of("call_started").map(|event| event["call"]["id"].clone());
    for (id, (arguments, expected, flag)) in ids.zip(rows) {
        let is_its = |event: &&Value| event["call_id"] == id;
        let told = of("tool_result").find(is_its).unwrap()["content"].as_str().unwrap();
        let expected = expected.replace("{}", &folder);
        let telling: Vec<&str> = told.lines().filter(|line| line.contains(&expected)).collect();
        assert_eq!(telling.len(), 1, "{tier} {arguments}: {told}");
        let is_closed = |line: &&str| line.contains("credentials.toml is closed to commands");
        assert!(told.lines().filter(is_closed).count() <= 1, "{tier} {arguments}: {told}");
        assert!(!told.contains("--add-dir FOLDER"), "{tier} {arguments}: {told}");
        let listed = of("walls_refused").chain(of("call_decided")).filter(is_its);
        let flags: Vec<&str> = listed.filter_map(|event| event["flag"].as_str()).collect();
        assert_eq!(flags, flag.iter().copied().collect::<Vec<_>>(), "{tier} {arguments}");
    }
}

#[test]
fn what_no_folder_opens_is_told_with_what_does() {
    let off = Some("--sandbox off");
    let run = |command: &str| json!({ "command": command });
    let key = "files: {}/credentials.toml is closed to commands; write_file asks the user for it, \
               --sandbox off would open it";
    let goes = "files: {}/credentials.toml is closed to commands; --sandbox off would open it";
    let own =
        "is tenon's own and closed to commands; no rule or --add-dir opens it, --sandbox off would";
    let looks = "{}/state/tenon/sessions is closed to commands, so it looks empty";
    for tier in ["a", "b"] {
        let rows = [
            (run("echo x > {}/credentials.toml"), key, off),
            (run("cp /etc/hostname {}/credentials.toml"), key, off),
            (run("mv {}/credentials.toml {}/c2"), goes, off),
            (run("rm -f {}/credentials.toml"), goes, off),
            (run("echo x > {}/state/tenon/undo/x"), own, off),
            (run("touch {}/state/tenon/sessions/x 2>/dev/null"), looks, off),
            (
                json!({"path": "{}/state/tenon/undo/x", "content": "x"}),
                "nobody is asked about that place, and no flag or rule allows it: tenon's own",
                None,
            ),
        ];
        check_closed(tier, &rows);
    }
    // In a layer names are made.
    let moved = [
        (run("mv {}/credentials.toml {}/c2"), goes, off),
        (run("cd {} && mv credentials.toml c2"), goes, off),
        (run("mv {}/credentials.toml c2"), goes, off),
        (run("rm {}/credentials.toml"), goes, off),
        (run("ln {}/credentials.toml {}/c3"), goes, off),
        (run("echo x > {}/new; mv {}/new {}/credentials.toml"), key, off),
    ];
    check_closed("a", &moved);
    let read = "{}/credentials.toml is closed to commands, so it is refused";
    let of_state = "is closed to commands, so it is refused";
    let rows = [
        (run("echo x > {}/credentials.toml"), read, off),
        (run("mv {}/credentials.toml {}/c2"), read, off),
        (run("perl -e 'mkdir \"{}/state/tenon/undo/x\" or die \"no: $!\\n\"'"), own, off),
        (run("echo x > {}/state/tenon/undo/x"), of_state, off),
    ];
    check_closed("c", &rows);
}

/// Runs each command in a folder that is around toolchains, with `flags`, and checks what it is told.
pub(crate) fn check_around(folder: &str, flags: &[&str], rows: &[(&str, Option<&str>)]) {
    for tier in ["a", "b"] {
        let place = Place::new();
        let names = [
            ".cargo/registry/index",
            ".cache/uv/wheel",
            ".local/bin/tool",
            ".local/share/uv/x",
            ".config/other",
            "go/pkg/mod/x",
            "go/src/x",
        ];
        for name in names {
            place.write(&format!("home/{name}"), "");
        }
        let flags: Vec<String> = flags
            .iter()
            .map(|flag| flag.replace("~", &place.path("home").display().to_string()))
            .collect();
        let flags: Vec<&str> =
            ["--sandbox", tier].into_iter().chain(flags.iter().map(String::as_str)).collect();
        let (work, state) = (place.path(folder), place.path("state"));
        let commands = rows.iter().map(|(command, _)| *command);
        let told = place.results_of(commands, &flags, |tenon| {
            tenon.current_dir(work).env("XDG_STATE_HOME", state)
        });
        let Some(told) = told else {
            skipped(format!("this machine gives no tier {tier}"));
            continue;
        };
        for ((command, expected), told) in rows.iter().zip(told) {
            if told.contains("command not found") {
                skipped(format!("not installed: {command}"));
                continue;
            }
            let home = place.path("home").display().to_string();
            let expected = expected.map(|words| words.replace("~", &home));
            check_only_wall(&format!("{tier} {command}"), &told, expected.as_deref());
            assert!(!told.contains("outside of the workspace"), "{tier} {command}: {told}");
        }
    }
}

#[test]
fn a_toolchain_that_the_workspace_is_around_is_told_as_such_with_what_opens_it() {
    let opens = "write_file writes there with the user's yes, --add-dir ~/.local/bin would open it";
    let opens_cache =
        "write_file writes there with the user's yes, --add-dir ~/.cache/uv would open it";
    let opens_modules =
        "write_file writes there with the user's yes, --add-dir ~/go/pkg would open it";
    let refused = "files: the user's toolchains are read-only to commands also in the workspace (refused: \
                   ~/.cargo/registry/new)";
    let rows = [
        ("echo x > ~/.cargo/registry/new", Some(refused)),
        ("cd ~/.cargo/registry && touch new", Some(refused)),
        ("perl -e 'mkdir \"$ENV{HOME}/.cargo/registry/new\" or die \"no: $!\\n\"'", Some(refused)),
        ("touch .cargo/registry/new 2>/dev/null; true", Some(refused)),
        ("touch ~/.cargo/registry/new 2>/dev/null || echo none", Some(refused)),
        ("rm ~/.cache/uv/wheel", Some("(refused: ~/.cache/uv/wheel)")),
        ("mv go/pkg/mod/x go/pkg/mod/y", Some("(refused: ~/go/pkg/mod/x)")),
        ("echo x > ~/.local/bin/tool", Some(opens)),
        ("touch go/pkg/mod/y 2>/dev/null || true", Some(opens_modules)),
        ("mv ~/.cache/uv ~/.cache/uv2", Some("a toolchain's folder in the workspace is not moved")),
        ("mkdir -p .cargo/registry; cat .cargo/registry/index", None),
        ("touch .cache/other go/new", None),
    ];
    check_around("home", &[], &rows);
    check_around("home/go", &[], &[("echo x > pkg/mod/x", Some("(refused: ~/go/pkg/mod/x)"))]);
    let rows = [("echo x > ~/.cache/uv/wheel", Some(opens_cache)), ("touch ~/.cache/other", None)];
    check_around("work", &["--add-dir", "~/.cache"], &rows);
    // What the sentence says.
    let rows = [
        ("echo x > ~/.cargo/registry/new", None),
        ("CARGO_HOME=~/own; mkdir $CARGO_HOME && echo > $CARGO_HOME/new", None),
    ];
    check_around("home", &["--add-dir", "~/.cargo"], &rows);
}

#[test]
fn a_folder_above_a_toolchain_or_a_closed_place_is_told_as_one_that_stays() {
    let stays = |name: &str| {
        format!(
            "files: folders in the workspace above toolchains and closed places (keys and the like) are not moved \
             or removed by commands (refused: ~/{name}); --sandbox off would let them"
        )
    };
    let renames = "python3 -c 'import os; os.rename(os.environ[\"HOME\"] + \"/.local\", \".l3\")'";
    let [go, local, share, config] = ["go", ".local", ".local/share", ".config"].map(stays);
    let if_tried = go.replacen("files: ", "files: if it was tried: ", 1);
    let rows = [
        ("mv go g2", Some(go.as_str())),
        ("cd go && mv ../go ../g2", Some(&go)),
        ("rmdir go", Some(&go)),
        ("mv -n go g2 2>&1 | cat", Some(&go)),
        ("mv ~/.local ~/.l2", Some(&local)),
        ("mv .local/share .local/s2", Some(&share)),
        ("mv ~/.config ~/.c2", Some(&config)),
        (renames, Some(&local)),
        ("mv go g2 2>/dev/null || echo none", Some(&if_tried)),
        (
            "rmdir .local/share 2>/dev/null; true",
            Some("if it was tried: folders in the workspace above"),
        ),
        ("mv go/src/x .config 2>/dev/null", None),
        ("mv go/src go/s2; mkdir go/src; mv go/s2 go/src", None),
        ("echo 'mv: cannot move go to g2: Device or resource busy' >> log; cat log", None),
    ];
    check_around("home", &[], &rows);
}

pub(crate) const APART: &str = "files: between folders that the walls mount by themselves (the session's, private temporary ones, \
                     toolchains, protected ones, those above them) commands rename nothing and make no hard link";

#[test]
fn a_move_between_mounts_of_the_walls_is_told_with_both_paths_and_none_that_was_made_up_for() {
    let apart =
        |how: &str| format!("{APART} ({how}); a copy is possible, --sandbox off would let them");
    let link = apart("refused: ~/a as a link to ~/.local/b");
    let rename = apart("refused: ~/a to ~/.local/b");
    let perhaps = apart("refused, perhaps in passing: ~/a to ~/.local/b");
    let stays = "are not moved or removed by commands (refused, perhaps in passing: ~/go)";
    let swallowed = "python3 -c 'import os
try: os.rename(\"a\", \".local/b\")
except OSError: pass'";
    let rows = [
        ("echo > a; ln a .local/b", Some(link.as_str())),
        ("cp -al a .local/b", Some(&link)),
        ("mkdir many; touch many/{1,2,3}; cp -al many .local/m", Some("(refused: ~/many/")),
        ("ln a .local/b 2>/dev/null; true", Some(&link)),
        ("perl -e 'rename(\"a\", \".local/b\") or die \"no: $!\\n\"'", Some(&rename)),
        ("perl -e 'rename(\"a\", \".local/b\") or exit 1'", Some(&rename)),
        ("perl -e 'rename \"a\", \".local/b\"'", Some(&perhaps)),
        (swallowed, Some(&perhaps)),
        (
            "perl -e '($a, $b) = (\"a\", \".local/\" . \"b\"); rename($a, $b) or exit 1'",
            Some(&perhaps),
        ),
        ("perl -e 'rename \"go\", \"g2\"'", Some(stays)),
        (
            "perl -e 'rename \"a\", \".cargo/b\"'",
            Some(
                "read-only to commands also in the workspace (refused, perhaps in passing: ~/.cargo",
            ),
        ),
        ("ln a .cargo/b", Some("read-only to commands also in the workspace")),
        (
            "mv a .cargo/b",
            Some("read-only to commands also in the workspace (refused: ~/.cargo/b)"),
        ),
    ];
    check_around("home", &[], &rows);
    let made_up_for = [
        ("echo > a; perl -e 'rename \"none\", \".local/b\"'", None),
        ("perl -e 'mkdir \"x\"; rename \"x\", \".local/share/uv\"' 2>/dev/null; rmdir x", None),
        ("perl -e 'rename(\"a\", \".local/b\") or system(\"cp a .local/b\")'", None),
        ("rm .local/b", None),
        ("ln a c && perl -e 'rename \"c\", \"d\"'", None),
        ("perl -e 'rename(\"a\", \".local/b\")'; echo done", None),
        ("perl -e '($a, $b) = (\"a\", \".local/\" . \"b\"); rename $a, $b'", None),
        ("perl -e '($a, $b) = (\"a\", \".local/\" . \"b\"); rename $a, $b'; false", None),
        ("ln a .local/b 2>/dev/null || cp a .local/b", None),
        ("cp -al a .local/b", None),
        ("echo > a; mv a .local/b; exit 3", None),
        ("echo > a; mv a .local/b; mv .local/b .local/c", None),
    ];
    check_around("home", &[], &made_up_for);
}

#[test]
fn a_move_of_a_protected_name_is_told_as_such_also_where_the_program_says_nothing() {
    let place = place();
    for name in [".envrc", ".git/HEAD", ".git/hooks/a", ".git/info/exclude", ".git/objects/a", "b"]
    {
        place.write(&format!("work/{name}"), "");
    }
    let goes = "files: protected names in the workspace are not moved away or linked to by commands (refused";
    let closed = "files: protected names in the workspace (.git/hooks, .envrc and the like) are closed to commands \
                  (refused, perhaps in passing: {}/work/.git/hooks/b)";
    let dies = "files: protected names in the workspace (.git/hooks, .envrc and the like) are closed to commands";
    let apart = format!("{APART} (refused, perhaps in passing: {{}}/work/b to {{}}/work/.git/b)");
    let rows = [
        ("perl -e 'rename \".envrc\", \"c\"'", Some(goes)),
        ("perl -e 'rename \".git/hooks/a\", \".git/hooks/b\"'", Some(goes)),
        ("perl -e 'rename \".git/hooks\", \".git/other\" or exit 1'", Some(goes)),
        ("perl -e 'rename \"b\", \".git/hooks/b\"'", Some(closed)),
        ("perl -e 'link(\"b\", \".git/hooks/b\") or die \"no: $!\\n\"'", Some(dies)),
        ("perl -e 'rename \"b\", \".git/b\"'", Some(&apart)),
        ("perl -e 'rename \".git\", \"g\"'", Some(goes)),
        ("perl -e 'rename \".git/objects\", \".git/o2\"'", None),
        ("perl -e 'rename \"b\", \"c\"; rename \"c\", \"b\"'", None),
    ];
    check(&place, &["a", "b"], &rows);
}

/// Has `tenon` started by the program that `front` begins with.
pub(crate) fn started_by<'a>(
    place: &Place,
    front: &[&str],
    tenon: &'a mut Command,
) -> &'a mut Command {
    let arguments = tenon.get_args().map(|it| it.to_str().unwrap().to_owned());
    let arguments: Vec<String> = arguments.collect();
    let (program, front) = front.split_first().unwrap();
    let arguments = front.iter().copied().chain(arguments.iter().map(String::as_str));
    *tenon = place.program(program, &arguments.collect::<Vec<_>>());
    tenon
}

#[test]
fn a_move_is_told_to_an_ordinary_user_too() {
    if !rustix::process::geteuid().is_root() {
        return skipped("every other test runs as an ordinary user already");
    }
    let place = Place::new();
    place.write("home/.local/bin/tool", "");
    place.write("home/a", "");
    let copy = place.path("tenon");
    copy_program(env!("CARGO_BIN_EXE_tenon").as_ref(), &copy);
    let mut own = Command::new("chown");
    assert!(own.args(["-R", "65534:65534"]).arg(place.path("")).status().unwrap().success());
    let copy = copy.display().to_string();
    let front = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", &copy];
    let commands =
        ["ln a .local/b", "perl -e 'rename \"a\", \".local/b\" or exit 1'", "mv a .local/b"];
    let (work, state) = (place.path("home"), place.path("state"));
    let told = place.results_of(commands.into_iter(), &["--sandbox", "a"], |tenon| {
        started_by(&place, &front, tenon).current_dir(work).env("XDG_STATE_HOME", state)
    });
    let Some(told) = told else { return skipped("this machine gives no tier a") };
    for ((command, told), expected) in
        commands.iter().zip(&told).zip([Some(APART), Some(APART), None])
    {
        check_only_wall(command, told, expected);
    }
}
