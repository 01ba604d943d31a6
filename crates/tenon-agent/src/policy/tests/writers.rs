//! What usual programs write because their arguments name it: tables, and the programs themselves.

#![expect(clippy::disallowed_methods, reason = "the oracle is a process outside any workspace")]

use std::collections::BTreeMap;
use std::fs::{self, FileTimes};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use proptest::prelude::{ProptestConfig, Strategy, proptest};
use proptest::sample::{select, subsequence};
use proptest::test_runner::RngSeed;
use tempfile::TempDir;

use super::reach::{CHANGES, LOOKS};
use super::{ALLOW, ASK, Action, DENY, Mode, Places, decide, rules, run};
use crate::policy::quoted;
use crate::policy::shell::{self, WriteKind, parse};
use crate::policy::written::named_writes;

/// Checks what the arguments of each command name: `a` written, `-a` removed, `a/…` something in it, `a|b`
/// the second if the first is a folder, `a?` written unless it is a branch.
fn check(rows: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (line, expected) in rows {
        let commands = parse(line).commands;
        let writes = commands.iter().flat_map(shell::named);
        let found: Vec<String> = writes
            .map(|write| {
                let path = match write.kind {
                    WriteKind::Changed | WriteKind::Made => write.path.shown(),
                    WriteKind::Perhaps => format!("{}?", write.path.shown()),
                    WriteKind::Removed => format!("-{}", write.path.shown()),
                    WriteKind::Filled => format!("{}/…", write.path.shown()),
                };
                write.inside.map_or(path.clone(), |inside| format!("{path}|{}", inside.shown()))
            })
            .collect();
        wrong.extend((found != *expected).then(|| format!("{line}: {found:?}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_path_of_several_lines_is_named_in_one() {
    let reason = run("echo > 'a\nb'", &rules(&[("bash(echo:*)", ALLOW)]), Mode::Ask).reason;
    assert!(reason.contains("project/a␊b") && !reason.contains('\n'), "{reason}");
}

#[test]
fn copies_are_written_at_the_last_name_or_in_the_folder_of_an_option() {
    check(&[
        ("cp a b", &["b|b/a"]),
        ("cp x/tasks.json .vscode", &[".vscode|.vscode/tasks.json"]),
        ("cp a b c", &["c/a", "c/b"]),
        ("cp a b/", &["b//a"]),
        ("cp a ..", &["../a"]),
        ("cp a ~", &["~/a"]),
        ("cp a -t .vscode", &[".vscode/a"]),
        ("cp -t.vscode a", &[".vscode/a"]),
        ("cp -rt .vscode a", &[".vscode/a"]),
        ("cp -vat \"$d\" a", &["$d/a"]),
        ("mv a --target-directory=.vscode", &[".vscode/a", "-a"]),
        ("mv a b --target-directory .vscode", &[".vscode/a", ".vscode/b", "-a", "-b"]),
        ("install -m 755 -t .vscode a", &[".vscode/a"]),
        ("install --mode 755 --targ .vscode a", &[".vscode/a"]),
        ("install -d .vscode/x", &[".vscode/x"]),
        ("ln --t=.vscode ../a", &[".vscode/a"]),
        ("ln -s ../a", &["a"]),
        ("ln -sf .envrc name", &["name|name/.envrc"]),
        ("cp -T a .vscode", &[".vscode"]),
        ("cp --no-target-dir a .vscode", &[".vscode"]),
        ("cp --suffix .old a b", &["b|b/a"]),
        ("cp -S -t a b", &["b|b/a"]),
        ("cp -- -t b c", &["c/-t", "c/b"]),
        ("cp -r a/ b/.. c", &["c/a", "c/."]),
        ("cp *.js $x out/", &["out//*.js", "out//$x"]),
        ("cp .envrc backup.env", &["backup.env|backup.env/.envrc"]),
        ("mv .envrc x", &["x|x/.envrc", "-.envrc"]),
        ("cp a", &[]),
        ("rsync -a a b", &["b|b/a"]),
        ("rsync -a --exclude x a/ b", &["b/…"]),
        ("rsync -an a/ b; rsync -a a host:b; rsync a", &[]),
        ("rsync -e ssh host:x/.envrc sub/", &["sub//.envrc"]),
        ("scp -P 22 host:x/a b", &["b|b/a"]),
        ("link a b; unlink c; rm -rf d e", &["b", "-c", "-d", "-e"]),
        ("bash -c 'mv x .envrc'", &[".envrc|.envrc/x", "-x"]),
    ]);
}

#[test]
fn what_is_only_read_is_not_written() {
    check(&[
        ("touch -r .envrc a; touch --ref .envrc b; touch -d now c", &["a", "b", "c"]),
        ("truncate -r .envrc a; truncate --size=0 b", &["a", "b"]),
        ("chmod --reference .envrc a; chmod --reference=.envrc b", &["a", "b"]),
        ("chmod 600 a; chmod -x b; chmod -R u+x c", &["a", "b", "c"]),
        ("sed -i \"s/x/.envrc/\" a", &["a"]),
        ("sed -i -f .envrc a; sed -Ei.old -e p b; sed --in-place p c", &["a", "b", "c"]),
        ("sed s/a/b/ .envrc; sed -n --quiet p .envrc; sed -ne i .envrc", &[]),
        ("perl -pi -e s/a/b/ a; perl -0pi -e s/a/b/ b; perl -i.old script c", &["a", "b", "c"]),
        ("perl -pe s/a/b/ .envrc; perl script -i .envrc; perl -Mstrict -ne 1 .envrc", &[]),
        ("awk -i inplace 1 a; gawk -iinplace -f .envrc b; awk -v x=1 1 .envrc", &["a", "b"]),
        ("awk -i lib.awk 1 .envrc", &[]),
        ("tee -a a b; dd if=.envrc of=c bs=1", &["a", "b", "c"]),
        ("sort -k 1 -o a .envrc; sort -ro b; sort .envrc; shuf --out c", &["a", "b", "c"]),
        ("uniq .envrc; uniq -f 1 .envrc a; xxd -r -p .envrc b", &["a", "b"]),
        ("ed -s a <<< q; sqlite3 b 'insert x'; sqlite3 -cmd .x c", &["a", "b", "c"]),
        ("sqlite3 .envrc 'SELECT 1'; sqlite3 -readonly .envrc x; sqlite3 .envrc .dump", &[]),
        ("sqlite3 a 'select 1; drop table x;'", &["a"]),
        ("cat .envrc; make", &[]),
    ]);
}

#[test]
fn archives_patches_and_what_is_fetched_are_written_where_options_say() {
    check(&[
        ("tar -cf a.tar .envrc; tar czf b.tar -C d .envrc", &["a.tar", "b.tar"]),
        ("tar -xf .envrc -C d", &["d/./…"]),
        ("tar xzfC .envrc d; tar -xf .envrc", &["d/./…", "./…"]),
        ("tar --extract --file=x --directory d .envrc", &["d/.envrc"]),
        ("tar tf .envrc; tar -xOf .envrc; tar -cf - .envrc; tar -tC d -f .envrc", &[]),
        ("unzip -o .envrc -d d; unzip -l .envrc", &["d/./…"]),
        ("zip -r a.zip .envrc", &["a.zip"]),
        ("patch -o a .envrc x", &["a"]),
        ("patch a .envrc; patch -d d a; patch -d e -p1 < x", &["a", "d/a", "e/./…"]),
        ("patch --dry-run a; patch -p1 -i .envrc", &["./…"]),
        ("git -C d checkout -- a; git -C d -C e restore -s HEAD b", &["d/a", "d/e/b"]),
        ("git checkout -b .envrc; git restore --staged .envrc; git rm --cached .envrc", &[]),
        (
            "git checkout a -- b; git checkout \"$(git rev-parse HEAD)\" -- c; git checkout d",
            &["b", "c", "d?", "./…"],
        ),
        ("git restore -SW a; git restore --staged --worktree b; git restore c", &["a", "b", "c"]),
        ("git mv a b; git rm c; git clone u d", &["b|b/a", "-a", "-c", "d"]),
        ("git apply .envrc; git -C d apply x; git apply --stat x", &["./…", "d/./…"]),
        ("git apply --directory=d x; git diff --output=a .envrc", &["d/./…", "a"]),
        ("curl -so a http://h/.envrc; curl --output-dir d -o b u; curl u", &["a", "d/b"]),
        ("curl -H a -O http://h/x/b?q; curl -D c -o - u; curl -X PUT -T .envrc u", &["b", "c"]),
        ("curl --output-dir d --remote-name http://h/.envrc", &["d/.envrc"]),
        (
            "wget -O a http://h/.envrc; wget -P d http://h/b; wget http://h",
            &["a", "d/b", "index.html"],
        ),
        ("wget -qO- http://h/.envrc; wget --spider http://h/.envrc", &[]),
    ]);
}

#[test]
fn a_denial_of_writing_holds_for_what_arguments_name() {
    let denied = rules(&[("write(src/**)", DENY), ("write(**/.env)", DENY)]);
    let mut wrong = Vec::new();
    for (line, want) in [
        ("cp a src", DENY),
        ("cp a -t src", DENY),
        ("mv a --target-directory=src/x", DENY),
        ("mv src/a b", DENY),
        ("rm -r src/a", DENY),
        ("echo x | tee -a src/a", DENY),
        ("sed -i s/a/b/ src/*.rs", DENY),
        ("cd src && touch a", DENY),
        ("dd if=a of=src/b", DENY),
        ("tar -xf a -C src", DENY),
        ("unzip a -d src", DENY),
        ("rsync -a a/ src/", DENY),
        ("git -C src checkout -- a", DENY),
        ("curl -o src/a https://example.com", DENY),
        ("cp a/.env sub/", DENY),
        ("cp a/.env .", DENY),
        ("find . -name a -exec cp {} src \\;", DENY),
        ("cp a \"$d\"", ASK),
        ("cp a out/$1", ASK),
        ("ln -s a b; tee b", ASK),
        ("ln -s a b; rm b", ALLOW),
        ("git checkout src -- b", ALLOW),
        ("git checkout \"$(git rev-parse HEAD)\" -- b", ALLOW),
        ("git restore -SW src/a", DENY),
        ("cp src/a b", ALLOW),
        ("cp .env backup.env", ALLOW),
        ("ln -s src/a b", ALLOW),
        ("touch -r src/a b", ALLOW),
        ("sed -i s/a/b/ *.md", ALLOW),
        ("sed s/a/b/ src/a", ALLOW),
        ("sed -i 's/x/.env/' a", ALLOW),
        ("tar -czf a.tgz src", ALLOW),
        ("tar -xf a; git apply x; unzip a", ALLOW),
        ("rsync -a src/ host:dir", ALLOW),
        ("patch -o b src/a", ALLOW),
        ("cat src/a; grep -r x src", ALLOW),
    ] {
        let verdict = run(line, &denied, Mode::Auto).verdict;
        wrong.extend((verdict != want).then(|| format!("{line}: {verdict:?}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let folder = rules(&[("write(src/**)", DENY)]);
    assert_eq!(run("cp a out/$1; tar -xf \"$x\"", &folder, Mode::Auto).verdict, ALLOW);
    for rule in ["write", "write(**)"] {
        let bare = rules(&[(rule, DENY)]);
        assert_eq!(run("tar -xf a", &bare, Mode::Auto).verdict, DENY);
        assert_eq!(
            run("cp a /tmp/b; tee /dev/null; curl -o - u", &bare, Mode::Auto).verdict,
            ALLOW
        );
    }
    // A permission to write does not name the program.
    let allowed = rules(&[("write(src/**)", ALLOW)]);
    assert_eq!(run("cp a src/b", &allowed, Mode::Ask).verdict, ASK);
}

/// The files of a folder, and what shows that one was written.
type Seen = BTreeMap<String, (u32, u64, Option<SystemTime>, Vec<u8>)>;

fn look(root: &str, folder: &str, seen: &mut Seen) {
    for entry in fs::read_dir(format!("{root}{folder}")).expect("a folder").map(Result::unwrap) {
        let path = format!("{folder}/{}", entry.file_name().display());
        let kind = entry.metadata().expect("an entry");
        let is_file = !kind.is_dir();
        let content = if kind.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
        let modified = is_file.then(|| kind.modified().unwrap());
        seen.insert(path.clone(), (kind.mode(), kind.ino(), modified, content));
        if kind.is_dir() {
            look(root, &path, seen);
        }
    }
}

/// Makes files of which each has its own content, mode and time.
fn prepare(root: &Path) {
    fs::create_dir_all(root.join("d/in")).unwrap();
    fs::create_dir(root.join("e")).unwrap();
    for (index, name) in ["a", "b", "r", "d/a", "d/x", "d/in/y"].into_iter().enumerate() {
        let path = root.join(name);
        // One is a script of sed, too.
        fs::write(&path, format!("s/{index}/{}/\n", index + 1)).unwrap();
        let mode = if name == "r" { 0o640 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + index as u64);
        let file = fs::File::options().append(true).open(&path).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
    }
}

/// A line that was run in a folder of its own.
struct Ran {
    _folder: TempDir,
    places: Places,
    before: Seen,
    after: Seen,
    is_done: bool,
}

impl Ran {
    fn line(line: &str) -> Ran {
        Ran::after(":", line)
    }

    /// Runs a line in the folder that another one made.
    fn after(before: &str, line: &str) -> Ran {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().unwrap();
        prepare(&root);
        let text = root.display().to_string();
        let places = Places { roots: vec![text.clone()], cwd: text.clone(), ..Places::default() };
        let is_done = |line: &str| {
            let mut bash = Command::new("/bin/bash");
            let path = "/usr/local/bin:/usr/bin:/bin";
            bash.args(["-c", line]).current_dir(&root).env_clear().env("PATH", path);
            bash.env("HOME", "/nonexistent").stdin(Stdio::null());
            bash.stdout(Stdio::null()).stderr(Stdio::null());
            bash.status().expect("bash").success()
        };
        assert!(is_done(before), "{before}");
        let (mut before, mut after) = (Seen::new(), Seen::new());
        look(&text, "", &mut before);
        let is_done = is_done(line);
        look(&text, "", &mut after);
        Ran { _folder: folder, places, before, after, is_done }
    }

    /// Returns what the line changed.
    fn changed(&self) -> Vec<&String> {
        let all = self.before.keys().chain(self.after.keys());
        let changed = all.filter(|path| self.before.get(*path) != self.after.get(*path));
        changed.filter(|path| !path.starts_with("/.git")).collect()
    }

    /// Checks that each file which the line changed could have been denied to it.
    fn is_held(&self, line: &str) {
        let is_folder = |path: &String| {
            let seen = self.before.get(path).or(self.after.get(path));
            seen.is_some_and(|(_, _, modified, _)| modified.is_none())
        };
        for path in self.changed().into_iter().filter(|path| !is_folder(path)) {
            let rule = format!("write({})", path.trim_start_matches('/'));
            let action = Action::Run { command: line.to_owned() };
            let denied = rules(&[(&rule, DENY)]);
            let decision = decide("bash", &action, &denied, Mode::Auto, &self.places);
            assert_ne!(decision.verdict, ALLOW, "{line}: {path} is changed");
        }
    }
}

/// Runs a line; checks that all that it changed was named as written, and that what was named was changed where
/// it could be done.
fn as_named(line: &str) {
    let ran = Ran::line(line);
    ran.is_held(line);
    let root = &ran.places.cwd;
    let named = named_writes(line, &ran.places).into_iter().map(|write| match write.inside {
        Some(inside) if Path::new(&write.path).is_dir() => (inside, write.kind),
        _ => (write.path, write.kind),
    });
    let named: Vec<(String, WriteKind)> =
        named.map(|(path, kind)| (path.strip_prefix(root).unwrap().to_owned(), kind)).collect();
    let changed = ran.changed();
    let is_in = |path: &str, folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for path in &changed {
        // Folders above may be made, too.
        let is_named = named.iter().any(|(name, _)| is_in(path, name) || is_in(name, path));
        assert!(is_named, "{line}: {path} is changed, and only {named:?} are named");
    }
    for (name, kind) in named.iter().filter(|_| ran.is_done) {
        // What is not there can be removed, and of a folder that is there nothing is said.
        let is_free = match ran.before.get(name) {
            Some((_, _, modified, _)) => modified.is_none(),
            None => *kind == WriteKind::Removed || name.is_empty(),
        };
        let is_changed = changed.iter().any(|path| is_in(path, name));
        assert!(is_free || is_changed, "{line}: {name} is named, and only {changed:?} are changed");
    }
}

/// Lines of programs that write otherwise than by one name for each file.
const HELD: &[&str] = &[
    "gzip a; gzip -k b",
    "gzip a d/x && gunzip a.gz && gzip -d d/x.gz",
    "gzip -r d",
    "bzip2 a && bunzip2 a.bz2; bzip2 -k b",
    "xz a && unxz a.xz; xz -kz b",
    "zstd -q a; zstd -q --rm b; zstd -q r -o n && unzstd -q n -o m",
    "zip -m x.zip a d/x",
    "zip -rm x.zip d",
    "tar --remove-files -cf x.tar a d/in",
    "tar --remove-files -C d -cf x.tar x",
    "tar -cf x.tar a d && mkdir n && tar -xf x.tar -C n",
    "split -b 4 a d/p; split -b 4 b",
    "csplit -f d/p a 1; csplit b 1",
    "find d -delete",
    "find d/in -mindepth 1 -type f -delete",
    "find d -name x -delete; find . -name a -exec rm {} +",
    "find . -fprint n -fls d/n",
    "cp -r d/. e",
    "cp -r d e; cp -r d n",
    "cp -a d/in e/; cp a d; cp b e",
    "mv d e; mv a b e",
    "mv d/in n; mv -T e n/e",
    "rm -r d/in; rm -rf ./d",
    "rm -rf d/*; rm [ab]",
    "chmod -R go-r d; chmod --recursive o-r .",
    "cp *.x e; cp ? e; cp {a,b} d/in",
    "for f in a b; do cp \"$f\" \"e/$f\"; mv \"$f\" \"${f}1\"; done",
    "for f in *; do cp \"$f\" \"n-$f\"; done",
    "for f in d/*; do echo x > \"e/${f##*/}\"; done",
    "touch out$RANDOM out$$ \"$(date +%s)\"; for i in $(seq 2); do echo x > s$i; done",
    "x=n-$(date +%Y); touch \"$x\"; cp a \"e/$x\"",
    "cc -E -x c /dev/null -o n; cc -E -MD -MF d/n -x c /dev/null -oe/n",
    "shred -u a; unlink b; rmdir e",
    "mkdir -p n/n; mkdir -m 700 e/n; mkfifo d/n",
];

/// Lines of git in a folder in which all is kept, and then some of it is changed.
const OF_GIT: &[&str] = &[
    "git stash",
    "git stash -u && git stash pop",
    "git stash push -- d/x",
    "git clean -fdx",
    "git clean -fd n",
    "git checkout .",
    "git checkout a",
    "git checkout d",
    "git checkout HEAD d/x",
    "git checkout -- a",
    "git checkout -f",
    "git restore d a",
    "git restore -s HEAD .",
    "git reset --hard",
    "git checkout-index -af",
    "git checkout-index -f a",
    "git checkout-index -a --prefix=e/",
    "git rm -rqf d",
    "git mv d e; git mv b m",
];

/// Says whether the programs are there that lines run.
fn has(programs: &[&str]) -> bool {
    let is_there = |name: &str| {
        ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|it| Path::new(it).join(name).exists())
    };
    let missing: Vec<_> = programs.iter().filter(|name| !is_there(name)).collect();
    missing.iter().for_each(|name| println!("skipped: there is no {name}"));
    missing.is_empty()
}

#[test]
fn what_programs_write_can_be_denied() {
    for line in HELD {
        has(&[line.split(' ').next().unwrap_or_default()]);
        let ran = Ran::line(line);
        ran.is_held(line);
    }
}

#[test]
fn what_git_writes_can_be_denied() {
    if !has(&["git"]) {
        return;
    }
    let keep = "git init -q . && git add . && git -c user.name=a -c user.email=a commit -qm a && \
                echo y >> d/x; echo y >> a; echo > n; git config user.name a; git config user.email a";
    for line in OF_GIT {
        // What the first commands write is made before it is looked at what there is.
        let ran = Ran::after(keep, line);
        assert!(ran.is_done, "{line}");
        ran.is_held(line);
    }
}

#[test]
fn a_database_is_written_by_what_is_held_to_write_it() {
    if !has(&["sqlite3"]) {
        return;
    }
    let make = "sqlite3 db 'create table t(x); insert into t values (7)'";
    for (queries, is_written) in [(LOOKS, false), (CHANGES, true)] {
        for query in queries {
            let line = format!("sqlite3 db {}", quoted(query));
            let ran = Ran::after(make, &line);
            assert!(ran.is_done, "{line}");
            assert_eq!(ran.changed().contains(&&"/db".to_owned()), is_written, "{line}");
            ran.is_held(&line);
        }
    }
}

/// Programs, options, and what stands in front of the names.
const PROGRAMS: &[(&str, &[&str], &[&str])] = &[
    ("cp", COPY, &[""]),
    ("cp", &["-r", "-a", "-t e", "--sparse always", "-s", "--no-preserve=mode"], &[""]),
    ("mv", COPY, &[""]),
    ("ln", COPY, &[""]),
    ("ln", &["-s", "-sf", "-sft e", "-n", "-r -s"], &[""]),
    ("install", &["-m 600", "--mode 600", "-D", "-t e", "-pt e", "--mod=600", "-T"], &[""]),
    ("install", &["-d", "-m 700"], &["n/n", "e/z"]),
    ("touch", &["-r r", "--ref=r", "-d 2001-02-03", "--date 2001-02-03", "-m"], &[""]),
    ("truncate", &["-s 1", "--size=9", "-s9", "-r r", "--refer r"], &["-s 2", "-r r"]),
    ("echo x | tee", &["-a", "-i", "-ai", "--append"], &[""]),
    ("sort", &["-o n", "-on", "-ro n", "--output=n", "--out n", "-k 1", "-t :", "-u"], &[""]),
    ("shuf", &["-o n", "-n 1", "--head-count 1"], &[""]),
    ("uniq", &["-c", "-f 1", "-s1", "--skip-fields 1"], &[""]),
    ("sed", &["-i", "-ni", "-Ei", "--in-place", "-n", "-s"], &["s/./a/", "-e s/./a/", "-f r"]),
    ("chmod", &["-v", "-f"], &["600", "u+x", "-r", "--reference=r", "--ref r"]),
    ("rm", &["-f", "-r", "-rf", "-v", "--recursive"], &[""]),
    ("mkdir", &["-p", "-m 700", "--mode=700"], &[""]),
    ("rmdir", &["-v"], &[""]),
    ("mkfifo", &["-m 600"], &[""]),
    ("chmod", &["-R", "-Rv"], &["600", "go-r"]),
    ("dd", &["if=r", "bs=1", "of=n", "of=a"], &[""]),
    ("link", &[], &[""]),
    ("unlink", &[], &[""]),
];
const COPY: &[&str] =
    &["-f", "-v", "-T", "-t e", "-te", "-vte", "--target-directory=e", "--targ d", "--no-tar"];
const NAMES: &[&str] = &["./a", "b", "d/x", "d/a", "n", "e", "d/", "d/in"];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn programs_write_what_is_named_and_nothing_else(line in select(PROGRAMS).prop_flat_map(
        |(program, options, first)| (
            subsequence(options, 0..=options.len().min(2)),
            select(first),
            subsequence(NAMES, 1..4).prop_shuffle(),
            0..4usize,
        ).prop_map(move |(options, first, names, at)| {
            let options = options.join(" ");
            if program == "dd" {
                return format!("dd {options}");
            }
            // Options may stand behind names.
            let (before, behind) = names.split_at(at.min(names.len()));
            format!("{program} {first} {} {options} {}", before.join(" "), behind.join(" "))
        })
    )) {
        as_named(&line);
    }
}
