//! Ordinary work runs inside the walls as it does outside.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tenon_sandbox::{Exit, OpenRoots, Tier, Workspace};

use super::{Place, Row, as_ordinary_user, check_rows, printed, rustix_is_root, tier, works};
use crate::skipped::skipped;

/// Git asks for a name; the settings of this machine are not there.
macro_rules! git {
    ($name:literal, $script:literal, $prints:expr) => {
        works(
            $name,
            concat!(
                "set -e; export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n \
                 GIT_COMMITTER_EMAIL=e; rm -rf r; mkdir r; cd r; git init -qb main; echo a > a; \
                 git add a; git commit -qm first; ",
                $script
            ),
            $prints,
        )
    };
}

/// Skips where the program is not installed.
macro_rules! with {
    ($program:literal, $name:literal, $script:literal, $prints:expr) => {
        works(
            $name,
            concat!(
                "command -v ",
                $program,
                " >/dev/null || { echo SKIPPED no ",
                $program,
                "; exit; }\n",
                $script
            ),
            $prints,
        )
    };
}

const WORK: &[Row] = &[
    works(
        "files",
        "echo a > f && mkdir -p d/e && mv f d/e && cp -r d c && cat c/e/f && rm -r d c",
        &["a\n"],
    ),
    works("pipes", "seq 1000 | sort -rn | head -1", &["1000"]),
    works("heredocs", "cat <<E\n$((6*7))\nE\ncat <<'E'\n$x\nE", &["42\n$x\n"]),
    works("process substitution", "diff <(echo a) <(echo a) && echo same", &["same"]),
    works("jobs", "sleep 0.01 & wait $!; echo $?", &["0\n"]),
    works("sed -i", "echo a > s && sed -i s/a/b/ s && cat s", &["b\n"]),
    works(
        "tar",
        "mkdir -p t && echo a > t/f && tar czf t.tgz t && rm -r t && tar xzf t.tgz && cat t/f",
        &["a\n"],
    ),
    works("a named pipe", "mkfifo p && (echo through > p &) && cat p", &["through"]),
    works("links", "echo a > o && ln o h && ln -s o l && cat h l", &["a\na\n"]),
    works(
        "modes and times",
        "touch -d 2001-02-03 m && chmod 755 m && stat -c %a m && date -r m +%Y",
        &["755\n2001\n"],
    ),
    works(
        "odd names",
        "touch -- '-n' $'a\\nb' '  ' 'ü' && ls | wc -l >/dev/null && rm -- '-n' $'a\\nb' '  ' 'ü' && echo gone",
        &["gone"],
    ),
    works(
        "temporary files",
        "f=$(mktemp) && echo a > $f && cat $f && d=$(mktemp -d) && touch $d/x && echo made",
        &["a\nmade"],
    ),
    works("shared memory", "echo a > /dev/shm/x && cat /dev/shm/x", &["a\n"]),
    works(
        "devices",
        "head -c 4 /dev/urandom | wc -c; head -c 2 /dev/zero | wc -c; echo x > /dev/null; ls /dev/fd/ >/dev/null && echo ok > /dev/stderr",
        &["4\n2\n", "ok"],
    ),
    works("home", "echo x > $HOME/.cache-file && cat $HOME/.cache-file && cd && pwd", &["x\n"]),
    works("the home is kept for the session", "cat $HOME/.cache-file", &["x\n"]),
    works("toolchains of the home", "cat $HOME/.cargo/config.toml", &["ordinary"]),
    works("signals within", "sleep 100 & kill $!; wait $!; echo $?", &["143"]),
    works("a new session", "setsid echo ok | cat", &["ok"]),
    works(
        "processors and memory",
        "nproc >/dev/null && grep -q MemTotal /proc/meminfo && ls /sys/devices/system/cpu >/dev/null && echo seen",
        &["seen"],
    ),
    works("users and groups", "id -u >/dev/null && id >/dev/null && echo known", &["known"]),
    works("locks", "exec 9>lock; flock 9 && echo locked", &["locked"]),
    works("a big output", "seq 100000 | wc -l; seq 100000 | tail -1", &["100000\n100000"]),
    git!("git commit", "git log --oneline | wc -l; git status --short | wc -l", &["1\n0\n"]),
    git!(
        "git branch and merge",
        "git switch -qc side; echo b > b; git add b; git commit -qm b; git switch -q main; git merge -q side; ls",
        &["a\nb\n"]
    ),
    git!(
        "git worktree",
        "git worktree add -q ../tree -b tree; cd ../tree; echo c > c; git add c; git commit -qm c; git log --oneline | wc -l; cd ../r; git worktree remove ../tree; git worktree prune",
        &["2\n"]
    ),
    git!(
        "git config",
        "git config user.name x; git config user.name; git remote add o https://h/a; git remote",
        &["x\no\n"]
    ),
    git!(
        "git stash, tag, reset",
        "echo z > a; git stash -q; git stash pop -q; git tag t; git reset -q --hard t; cat a",
        &["a\n"]
    ),
    git!(
        "git clone and push",
        "cd ..; rm -rf bare clone; git clone -q --bare r bare; git clone -q bare clone; cd clone; echo d > d; git add d; git commit -qm d; git push -q; git -C ../bare log --oneline | wc -l",
        &["2\n"]
    ),
    git!("git gc", "git gc -q; git fsck; echo whole", &["whole"]),
    with!(
        "python3",
        "python",
        "python3 -c 'import json,subprocess,threading,multiprocessing,ssl; print(subprocess.run([\"echo\",\"sub\"],capture_output=True).stdout)'",
        &["sub"]
    ),
    with!(
        "python3",
        "python's processes",
        "python3 -c 'from concurrent.futures import ProcessPoolExecutor as P\nif __name__==\"__main__\":\n  with P(2) as p: print(list(p.map(abs,[-1,-2])))'",
        &["[1, 2]"]
    ),
    with!(
        "python3",
        "a terminal of its own",
        "python3 -c 'import pty; pty.spawn([\"echo\",\"seen\"])'",
        &["seen"]
    ),
    with!(
        "python3",
        "a virtual environment",
        "python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'",
        &["/v\n"]
    ),
    with!(
        "sqlite3",
        "sqlite",
        "sqlite3 d.db 'create table t(a); insert into t values(7); select a from t;'; sqlite3 d.db 'pragma journal_mode=wal; insert into t values(8); select sum(a) from t'",
        &["7\n", "15\n"]
    ),
    with!(
        "make",
        "make",
        "printf 'all: b\\nb: a\\n\\tcat a > b && echo built\\n' > Makefile; echo a > a; make -j2",
        &["built"]
    ),
    with!(
        "cc",
        "compiler",
        "echo 'int main(void){return 3;}' > m.c && cc -o m m.c && ./m; echo $?",
        &["3\n"]
    ),
    with!("perl", "perl", "perl -e 'print 6*7'", &["42"]),
];

#[test]
fn ordinary_work_runs() {
    check_rows(&Place::new(), WORK);
}

#[test]
fn ordinary_work_runs_for_an_ordinary_user() {
    as_ordinary_user("benign::ordinary_work_runs");
}

#[test]
fn a_workspace_may_have_any_name_and_lie_anywhere() {
    let odd = OsStr::from_bytes(b"a b\n'\"\\$x\xff,:=#%");
    let temporary = std::env::temp_dir();
    for (above, name) in [(&*temporary, odd), (&*temporary, OsStr::new("home/deep/work"))] {
        let place = Place::at(above, name, |_| {});
        let script = "set -e; pwd -P | grep -q walls; echo a > f; cat f; git init -q .; ls -A; touch $HOME/x";
        let (exit, said) = place.run(script);
        assert_eq!(exit, Exit::Code(0), "{name:?}: {said}");
        assert_eq!(std::fs::read_to_string(place.root().join("f")).unwrap(), "a\n");
        // Beneath the home everything else is private.
        let (_, said) = place.run("ls $HOME/.ssh; cat $HOME/.ssh/id_rsa; touch $HOME/deep/new");
        assert!(!said.contains("SECRET"), "{said}");
        assert!(!place.home().join("deep/new").exists() && !place.home().join("x").exists());
    }
}

#[test]
fn the_home_itself_may_be_the_workspace_and_its_secrets_are_hidden() {
    let place = Place::at(&std::env::temp_dir(), "home", |_| {});
    let (_, said) = place.run("echo a > f; cat .ssh/id_rsa; ls -A .ssh; cat .cargo/credentials.toml; touch .ssh/x; mv .ssh y");
    assert!(!said.contains("SECRET"), "{said}");
    assert_eq!(place.outside("home/f"), "a\n");
    assert_eq!(place.outside("home/.ssh/id_rsa"), "SECRET KEY");
}

#[test]
fn several_roots_are_writable_and_one_call_may_only_read() {
    let second = tempfile::tempdir().unwrap();
    let path = second.path().canonicalize().unwrap();
    let place = Place::with(|settings| settings.roots.push(path.clone()));
    let script = format!("echo a > f; echo b > {}/f; echo done", path.display());
    assert_eq!(place.run(&script).1, "done\n");
    assert_eq!(std::fs::read_to_string(path.join("f")).unwrap(), "b\n");
    let mut looking = place.command(&format!(
        "cat f; touch g; chmod 600 f; touch {}/g; touch /tmp/x && echo scratch",
        path.display()
    ));
    looking.profile = looking.profile.read_only();
    let output = place.try_command(looking).unwrap();
    assert!(printed(&output).starts_with("a\n") && printed(&output).contains("scratch\n"));
    assert!(!place.root().join("g").exists() && !path.join("g").exists());
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(place.root().join("f")).unwrap().permissions().mode();
    assert_ne!(mode & 0o777, 0o600);
}

#[test]
fn one_call_may_be_granted_a_folder_outside() {
    let granted = tempfile::tempdir().unwrap();
    std::fs::write(granted.path().join("seen"), "SEEN").unwrap();
    let place = Place::new();
    let path = granted.path().canonicalize().unwrap();
    let script = format!("cat {0}/seen; echo a > {0}/f", path.display());
    let (_, said) = place.run(&script);
    assert!(!said.contains("SEEN") && !path.join("f").exists(), "{said}");
    let mut reading = place.command(&script);
    reading.profile.readable.push(path.clone());
    let output = place.try_command(reading).unwrap();
    assert!(printed(&output).contains("SEEN") && !path.join("f").exists());
    let mut writing = place.command(&script);
    writing.profile.writable.push(path.clone());
    place.try_command(writing).unwrap();
    assert_eq!(std::fs::read_to_string(path.join("f")).unwrap(), "a\n");
    // Only that call.
    std::fs::remove_file(path.join("f")).unwrap();
    place.run(&script);
    assert!(!path.join("f").exists());
}

#[test]
fn calls_run_at_the_same_time() {
    let place = Place::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let place = &place;
                scope.spawn(move || {
                    let script = format!("echo {number} > f{number}; sleep 0.1; cat f{number}; ls -d /proc/[0-9]* | wc -l");
                    let (_, said) = place.run(&script);
                    let mut lines = said.lines();
                    assert_eq!(lines.next(), Some(&*number.to_string()), "{said}");
                    // Only its own processes: the first one, bash, ls, wc.
                    assert!(lines.next().unwrap().parse::<u32>().unwrap() <= 5, "{said}");
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_workspace_that_was_exchanged_is_found_again() {
    let place = Place::new();
    assert_eq!(place.run("echo a > f; echo done").1, "done\n");
    std::fs::rename(place.root(), place.root().with_file_name("old")).unwrap();
    std::fs::create_dir(place.root()).unwrap();
    // Where nobody asks that it be the one that was opened.
    let mut command = place.command("ls; echo b > f; echo done");
    command.roots = OpenRoots::default();
    assert_eq!(printed(&place.try_command(command).unwrap()), "done\n");
    assert_eq!(std::fs::read_to_string(place.root().join("f")).unwrap(), "b\n");
}

/// The other half of the test below: its mounts are its own.
#[test]
fn agent_with_a_mount_in_its_workspace() {
    let Some(folder) = std::env::var_os("TENON_TEST_MOUNT") else {
        println!("skipped: this is the other half of a test, which runs it");
        return;
    };
    let place = Place::with(|settings| settings.roots = vec![folder.clone().into()]);
    let mut command = place.command("cat m/f; touch m/new; touch new; umount m; mv m n; echo end");
    command.folder = folder.clone().into();
    command.profile.writable = Workspace::open(Path::new(&folder)).unwrap().roots();
    let said = printed(&place.try_command(command).unwrap());
    assert!(said.starts_with("inside\nend\n"), "{said}");
    assert!(!Path::new(&folder).join("m/new").exists() && Path::new(&folder).join("new").exists());
    // A layer in front of a toolchain would hide it.
    let home = Path::new(&folder).join("home");
    let place = Place::with(|settings| settings.home = Some(home.clone()));
    let tools = home.join(".cargo");
    let script =
        format!("cd {}; cat registry/f; touch new registry/new; echo end", tools.display());
    assert!(place.run(&script).1.starts_with("inside\nend\n"));
    assert!(!tools.join("new").exists() && !tools.join("registry/new").exists());
}

#[test]
fn a_mount_inside_the_workspace_or_a_toolchain_is_read_only() {
    if !rustix_is_root() {
        skipped("only root mounts");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("m")).unwrap();
    std::fs::create_dir_all(folder.path().join("home/.cargo/registry")).unwrap();
    let script = "cd $TENON_TEST_MOUNT && mount -t tmpfs none m && echo inside > m/f && \
                  mount --bind m home/.cargo/registry && cd / && \
                  exec $0 --exact walls::benign::agent_with_a_mount_in_its_workspace";
    let status = std::process::Command::new("unshare")
        .args(["-m", "bash", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("TENON_TEST_MOUNT", folder.path())
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_toolchain_in_the_home_builds_a_program() {
    let Some(home) = std::env::home_dir().filter(|home| home.join(".cargo/bin/cargo").exists())
    else {
        return skipped("no cargo in the home");
    };
    let place = Place::with(|settings| settings.home = Some(home.clone()));
    let script = "cargo init -q --vcs none --name built . && cargo build -q --offline && \
                  cargo run -q --offline; touch $HOME/.cargo/made-in-walls";
    let mut command = place.command(script);
    let bin = home.join(".cargo/bin").display().to_string();
    for (name, value) in &mut command.environment {
        if name == "PATH" {
            *value = format!("{bin}:/usr/local/bin:/usr/bin:/bin").into();
        } else if name == "HOME" {
            *value = home.clone().into();
        }
    }
    command.environment.retain(|(name, _)| !name.to_string_lossy().starts_with("CARGO_"));
    let said = printed(&place.try_command(command).unwrap());
    assert!(said.starts_with("Hello, world!\n"), "{said}");
    assert!(place.root().join("target/debug/built").exists());
    assert!(!home.join(".cargo/made-in-walls").exists());
}

/// Copies the newest `cfg-if` as it was fetched, not unpacked, and what the index says of it.
fn fill_registry(from: &Path, to: &Path) -> Option<String> {
    let script = "cd $0/registry && file=$(ls cache/*/cfg-if-1*.crate | sort -V | tail -1) && \
                  index=index/$(basename $(dirname $file)) && \
                  mkdir -p $1/registry && cp --parents $file $index/config.json \
                  $index/.cache/cf/g-/cfg-if $1/registry && basename $file .crate";
    let arguments = [from, to];
    let output = std::process::Command::new("bash").args(["-ec", script]).args(arguments).output();
    let output = output.unwrap();
    let name = String::from_utf8(output.stdout).unwrap();
    output.status.success().then(|| name.trim().trim_start_matches("cfg-if-").to_owned())
}

#[test]
fn a_crate_with_a_dependency_is_built_and_tested_from_the_registrys_cache() {
    if tier() == Tier::B {
        return skipped("toolchains are read-only in tier B");
    }
    let cargo = Path::new(env!("CARGO"));
    if std::fs::File::open(cargo).is_err() {
        return skipped("the toolchain is closed to this user");
    }
    let toolchain = cargo.ancestors().nth(2).unwrap();
    let place = Place::with(|settings| settings.readable.push(toolchain.to_path_buf()));
    let cargo_home = place.home().join(".cargo");
    std::fs::write(cargo_home.join("config.toml"), "").unwrap();
    let user = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let user = user.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).unwrap_or_default();
    let Some(version) = fill_registry(&user, &cargo_home) else {
        return skipped("no cfg-if in the registry's cache");
    };
    let script = format!(
        "unset ${{!CARGO*}} ${{!RUST*}}; PATH={}/bin:$PATH; cargo init -q --vcs none --name user . && \
         echo 'cfg-if = \"={version}\"' >> Cargo.toml && \
         echo 'cfg_if::cfg_if! {{ if #[cfg(unix)] {{ fn answer() -> u8 {{ 42 }} }} }} \
         fn main() {{ println!(\"{{}}\", answer()); }} \
         #[test] fn holds() {{ assert_eq!(answer(), 42); }}' > src/main.rs && \
         cargo build -q --offline && ./target/debug/user && cargo test -q --offline && \
         ls $HOME/.cargo/registry/src/*",
        toolchain.display()
    );
    let (_, said) = place.run(&script);
    assert!(said.starts_with("42\n") && said.contains("1 passed"), "{said}");
    assert!(said.contains(&format!("cfg-if-{version}")), "{said}");
    assert!(!cargo_home.join("registry/src").exists(), "unpacked in the user's own folder");
    as_ordinary_user(
        "benign::a_crate_with_a_dependency_is_built_and_tested_from_the_registrys_cache",
    );
}

#[test]
fn what_a_toolchain_fetches_is_there_for_the_session_and_nowhere_else() {
    if tier() == Tier::B {
        return skipped("toolchains are read-only in tier B");
    }
    let place = Place::new();
    let script = "cd $HOME/.cargo && mkdir registry && echo crate > registry/new && rm config.toml \
                  && mv bin tools && echo fetched; mv credentials.toml c; rm -f credentials.toml; \
                  cat c credentials.toml; ln credentials.toml l; cat l; cd ..; mv .cargo x";
    let (_, said) = place.run(script);
    assert!(said.contains("fetched\n") && !said.contains("SECRET"), "{said}");
    let (_, said) = place.run("cd $HOME/.cargo; cat registry/new; ls; cat c* l");
    assert!(said.starts_with("crate\n") && said.contains("tools"), "{said}");
    assert!(!said.contains("SECRET") && !said.contains("config.toml"), "{said}");
    let mut outside: Vec<_> = std::fs::read_dir(place.home().join(".cargo"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    outside.sort();
    assert_eq!(outside, ["bin", "config.toml", "credentials.toml"]);
    let other = Place::new();
    assert!(!other.run("ls $HOME/.cargo").1.contains("registry"));
}

#[test]
fn what_toolchains_fetched_and_built_before_is_seen_and_their_settings_are_not() {
    let place = Place::new();
    let home = place.home();
    for (name, text) in [
        (".cache/go-build/00/entry", "built"),
        (".cache/pip/wheel", "fetched"),
        (".cache/browser/history", "SECRET"),
        (".gradle/caches/modules-2/jar", "module"),
        (".gradle/gradle.properties", "SECRET"),
        (".conda/envs/x/bin/tool", "environment"),
        (".condarc", "SECRET"),
    ] {
        std::fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        std::fs::write(home.join(name), format!("{text}\n")).unwrap();
    }
    let (_, said) = place.run(
        "cd ~; cat .cache/go-build/00/entry .cache/pip/wheel .gradle/caches/modules-2/jar \
         .conda/envs/x/bin/tool; cat .cache/browser/history .gradle/gradle.properties .condarc; \
         rm -rf .cache/pip/wheel .gradle/caches/modules-2; echo end",
    );
    assert!(said.starts_with("built\nfetched\nmodule\nenvironment\n"), "{said}");
    assert!(said.contains("\nend\n") && !said.contains("SECRET"), "{said}");
    assert!(home.join(".cache/pip/wheel").exists());
    assert!(home.join(".gradle/caches/modules-2/jar").exists());
}

#[test]
fn what_a_toolchain_fetches_for_an_ordinary_user() {
    as_ordinary_user("benign::what_a_toolchain_fetches_is_there_for_the_session_and_nowhere_else");
}

#[test]
fn what_a_toolchain_fetches_to_where_a_variable_says_is_private_too() {
    let mut own = PathBuf::new();
    let place = Place::with(|settings| {
        own = settings.readable[0].join("cargo");
        std::fs::create_dir_all(own.join("registry/cache")).unwrap();
        std::fs::write(own.join("credentials.toml"), "SECRET TOKEN").unwrap();
        std::fs::write(own.join("config.toml"), "# ordinary").unwrap();
        settings.toolchains = vec![own.clone(), settings.readable[0].clone(), "/etc".into()];
        settings.hidden = vec![own.join("credentials.toml")];
    });
    let _server = std::os::unix::net::UnixListener::bind(own.join("socket")).unwrap();
    let told = place.sandbox.describe(&place.profile);
    assert_eq!(told.writable, [place.root()]);
    assert_eq!(told.scratch.contains(&own), tier() == Tier::A, "{:?}", told.scratch);
    let script = "cd $TOP/cargo && mkdir registry/src && echo crate > registry/src/new && rm config.toml && echo fetched; \
                  cat credentials.toml; cp credentials.toml c; mv credentials.toml d; ln credentials.toml l; cat c d l; \
                  cd ..; mv cargo x; echo x > outside; echo x > /etc/made; \
                  command -v python3 > /dev/null && \
                  python3 -c 'import os,socket; socket.socket(1).connect(os.environ[\"TOP\"] + \"/cargo/socket\"); print(\"SECRET\")'";
    let (_, said) = place.run(script);
    assert_eq!(said.contains("fetched\n"), tier() == Tier::A, "{said}");
    assert!(!said.contains("SECRET"), "{said}");
    let (_, said) = place.run("cd $TOP/cargo; cat registry/src/new; cat c* d l; ls");
    assert_eq!(said.starts_with("crate\n"), tier() == Tier::A, "{said}");
    assert!(!said.contains("SECRET"), "{said}");
    assert_eq!(place.outside("cargo/config.toml"), "# ordinary");
    assert_eq!(place.outside("outside"), "OUTSIDE");
    assert!(!own.join("registry/src").exists());
    assert!(place.sandbox.is_in_toolchain(&own.join("registry/src/new")));
    assert!(!place.sandbox.is_in_toolchain(Path::new("/etc/hosts")));
}

#[test]
fn what_a_toolchain_fetches_to_where_a_variable_says_for_an_ordinary_user() {
    as_ordinary_user("benign::what_a_toolchain_fetches_to_where_a_variable_says_is_private_too");
}
