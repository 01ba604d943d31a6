//! What is written with a folder, what may be a branch, and what a database is only asked.

use super::{ALLOW, ASK, DENY, Mode, check_writes, rules, run};

#[test]
fn what_is_written_with_its_folder_is_denied() {
    let lines = [
        ("rm -rf src", DENY),
        ("rm -r ./src/", DENY),
        ("rm --recursive src", DENY),
        ("rm -r .", DENY),
        ("mv src x", DENY),
        ("mv -t x src", DENY),
        ("chmod -R a-w src", DENY),
        ("chmod --recursive 644 .", DENY),
        ("chown -R me src", DENY),
        ("cp -r other/. src", DENY),
        ("cp -a other/. .", DENY),
        ("cp -rT other src", DENY),
        ("cp other/a src", DENY),
        ("mv a src", DENY),
        ("install a src", DENY),
        ("rsync -a --delete x/ src/", DENY),
        ("rsync -a x/ src", DENY),
        ("find src -delete", DENY),
        ("find . -mindepth 1 -type f -delete", DENY),
        ("tar --remove-files -cf x.tar src", DENY),
        ("tar -xf x.tar -C src", DENY),
        ("zip -rm x.zip src", DENY),
        ("gzip -r src", DENY),
        ("git stash", DENY),
        ("git stash -u", DENY),
        ("git stash pop", DENY),
        ("git stash push -- src", DENY),
        ("git checkout-index -a", DENY),
        ("git checkout-index -af", DENY),
        ("git clean -fdx", DENY),
        ("git clean -fd src", DENY),
        ("git reset --hard HEAD~1", DENY),
        ("git checkout .", DENY),
        ("git checkout -- src", DENY),
        ("git checkout HEAD -- .", DENY),
        ("git checkout -f", DENY),
        ("git restore .", DENY),
        ("git rm -r src", DENY),
        ("git mv src x", DENY),
        ("cd src && git stash push .", DENY),
        // Nothing is written there, or by names that are not said.
        ("rm src", ALLOW),
        ("rm -rf srcs x/src target", ALLOW),
        ("chmod a-w src", ALLOW),
        ("cp other src/", ALLOW),
        ("cp other src", ALLOW),
        ("cp -r other src/", ALLOW),
        // If there is no `src`, the other one becomes it.
        ("cp -r other src", ASK),
        ("mv other src", ASK),
        ("cp -r src x", ALLOW),
        ("mv x src2", ALLOW),
        ("rsync -a src/ x/", ALLOW),
        ("find src -print", ALLOW),
        ("find x -delete", ALLOW),
        ("tar -cf x.tar src", ALLOW),
        ("tar -xf x.tar", ALLOW),
        ("git stash list", ALLOW),
        ("git stash show -p", ALLOW),
        ("git stash push -- x", ALLOW),
        ("git clean -n", ALLOW),
        ("git clean -id x", ALLOW),
        ("git reset HEAD src", ALLOW),
        ("git checkout-index x", ALLOW),
        ("git checkout x -- y", ALLOW),
        ("git add -A; git commit -m x; git status", ALLOW),
    ];
    check_writes("write(src/a)", &lines);
    check_writes("write(src/a/**)", &lines);
    check_writes("write(/home/user/project/src/a)", &lines);
    check_writes("write(src/a*)", &lines[..1]);
    assert_eq!(run("rm -rf src", &rules(&[("write(src/a)", ASK)]), Mode::Auto).verdict, ASK);
}

#[test]
fn a_rule_that_begins_with_a_pattern_speaks_of_all_that_is_there_alone() {
    check_writes(
        "write(**/*.lock)",
        &[
            ("rm -r .", DENY),
            ("mv . x", DENY),
            ("rm a.lock", DENY),
            ("rm -rf target", ALLOW),
            ("rm -rf target/*", ALLOW),
            ("mv src x", ALLOW),
            ("cp -r other/. src", ALLOW),
            ("cp -r a/. .", ALLOW),
            ("cp * out/", ALLOW),
            ("git stash", ALLOW),
            ("git stash pop", ALLOW),
            ("git checkout .", ALLOW),
            ("git checkout main", ALLOW),
            ("mkdir -p target/x", ALLOW),
            ("find target -delete", ALLOW),
        ],
    );
    check_writes("write(target/**/*.lock)", &[("rm -rf target", DENY), ("rm -rf src", ALLOW)]);
}

#[test]
fn what_find_removes_by_name_is_compared_by_that() {
    let by_name = [
        ("find . -name '*.o' -delete", ALLOW),
        ("find . -type f -name '*.o' -mtime +3 -print -delete", ALLOW),
        ("find lib src -name '*.o' -delete", ALLOW),
        ("cd src && find . -name 'b?.h' -delete", ALLOW),
        ("find . -name 'a*' -delete", ASK),
        ("find . -name '*' -delete", ASK),
        ("find src -name 'a.c' -delete", ASK),
        ("find . -name '?.?' -delete", ASK),
        // What is removed is not said by one pattern, or later.
        ("find . -name '*.o' -o -name a -delete", ASK),
        ("find . ! -name '*.o' -delete", ASK),
        ("find . -name \"$x\" -delete", ASK),
        ("find . $x -name '*.o' -delete", ASK),
        ("find . -name '[a-c].o' -delete", ASK),
        ("find . -iname '*.o' -delete", ASK),
        ("find . -mtime +3 -delete -name '*.o'", ASK),
        ("find . -mtime +3 -exec echo -name '*.o' \\; -delete", ASK),
    ];
    check_writes("write(src/*.c)", &by_name);
    // There may be a folder of that name.
    check_writes("write(src/a)", &[("find . -name '*.o' -delete", ASK)]);
    let by_end = [
        ("find . -name '*.o' -delete", ALLOW),
        ("find a/b -name '*.o' -delete", ALLOW),
        ("find . -name '*.lock' -delete", ASK),
        ("find a/b -name '*.l*' -delete", ASK),
        ("find a/b -name '.*' -delete", ASK),
    ];
    check_writes("write(**/*.lock)", &by_end);
    check_writes("write(a/b/*/c/*.lock)", &by_end[..1]);
    check_writes("write(a/b/*/c/*.lock)", &by_end[2..]);
}

#[test]
fn what_may_be_a_branch_is_asked_about_where_it_may_be_a_denied_file() {
    check_writes(
        "write(docs/**)",
        &[
            ("git checkout docs", ASK),
            ("git checkout docs/a", ASK),
            ("git checkout docs main", ASK),
            ("git checkout docs/", DENY),
            ("git checkout ./docs", DENY),
            ("git checkout -- docs", DENY),
            ("git checkout main docs", DENY),
            ("git checkout HEAD~1 docs/a", DENY),
            ("git checkout --theirs docs/a", DENY),
            ("git checkout docs/*.md", DENY),
            ("git checkout docs --", ALLOW),
            ("git switch docs", ALLOW),
            ("git checkout -b docs", ALLOW),
            ("git checkout -d docs", ALLOW),
            ("git checkout --track origin/docs", ALLOW),
            ("git checkout main", ALLOW),
            ("git checkout -", ALLOW),
        ],
    );
    check_writes("write(docs/a)", &[("git checkout docs", ASK), ("git checkout docs/b", ALLOW)]);
    check_writes("write(main)", &[("git checkout main", ASK), ("git checkout dev", ALLOW)]);
    let decision = run("git checkout main", &rules(&[("write(main)", DENY)]), Mode::Auto);
    assert!(decision.reason.contains("may be a branch or a file"), "{}", decision.reason);
    // Whatever it is, something is written.
    check_writes("write", &[("git checkout main", DENY), ("git checkout -b new", ALLOW)]);
}

#[test]
fn a_database_that_is_only_asked_is_not_written() {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for query in LOOKS {
        reads.push(format!("sqlite3 -header docs/db {}", super::super::quoted(query)));
    }
    for query in CHANGES {
        writes.push(format!("sqlite3 docs/db {}", super::super::quoted(query)));
    }
    let each = |lines: &[String], verdict| {
        let lines: Vec<_> = lines.iter().map(|line| (line.as_str(), verdict)).collect();
        check_writes("write(docs/**)", &lines);
    };
    each(&reads, ALLOW);
    each(&writes, DENY);
    check_writes(
        "write(docs/**)",
        &[
            ("sqlite3 -readonly docs/db 'drop table x'", ALLOW),
            ("sqlite3 docs/db 'select 1' .tables", ALLOW),
            ("sqlite3 -cmd '.mode csv' docs/db 'select 1'", ALLOW),
            ("sqlite3 -header docs/db 'drop table x'", DENY),
            ("sqlite3 docs/db 'select 1' 'drop table x'", DENY),
            ("sqlite3 -cmd 'drop table x' docs/db 'select 1'", DENY),
            ("sqlite3 -init x docs/db 'select 1'", DENY),
            ("sqlite3 docs/db \"$q\"", DENY),
            ("sqlite3 docs/db", DENY),
            ("sqlite3 docs/db < x", DENY),
        ],
    );
}

pub(super) const LOOKS: &[&str] = &[
    "pragma table_info(t)",
    "PRAGMA main.table_info('t');",
    "pragma user_version",
    "pragma foreign_keys = on; select x from t",
    "pragma integrity_check",
    "with n as (select x from t) select * from n",
    "with recursive n(i) as (select 1 union all select i+1 from n where i<3) select i from n",
    "select 'a; delete from t', replace(x, 'a', 'b') from t",
    "select x as \"update\" from t",
    "select 1; select 2;",
    "explain query plan delete from t",
    "values (1)",
    ".tables",
    ".schema t",
];

pub(super) const CHANGES: &[&str] = &[
    "pragma user_version = 5",
    "pragma journal_mode = wal",
    "with n as (select 1) insert into t select * from n",
    "with n as (select 1) delete from t",
    "with n as (select 1 as x) replace into t select x from n",
    "select 1; drop table t",
    "select 'a'; update t set x = 'b'",
    "select 1 /* ' */; delete from t /* ' */",
    "select \"'\"; delete from t; select \"'\"",
    "insert into t values (1)",
    "vacuum",
];

#[test]
fn programs_with_rows_of_their_own_are_denied_what_they_write() {
    let lines = [
        "rsync a src/a --timeout 9",
        "rsync a --bwlimit 9 src/a",
        "curl -O https://h/b -o src/a",
        "curl --output src/a --retry-delay 3 https://h/b",
        "tar --remove-files -cf x.tar src/a",
        "tar -C src --remove-files -cf x.tar a",
        "zip -m x.zip src/a",
        "zip --move src/a x",
        "gzip src/a",
        "gunzip src/a.gz",
        "gzip -d src/a.gz",
        "xz src/a",
        "bunzip2 -k src/a.bz2",
        "bzip2 -9 src/a",
        "zstd --rm src/a",
        "zstd x -o src/a",
        "unzstd src/a.zst",
        "gcc -O2 -Wall x.c -o src/a",
        "cc -osrc/a x.c",
        "g++ -MMD -MF src/a -c x.cc",
        "clang -Iinclude x.c -o src/a",
        "rustc x.rs -o src/a",
        "rustc --out-dir src x.rs",
        "find . -name x -fprint src/a",
        "find . -fls src/a",
        "find . -fprintf src/a %p",
        "tee -a src/a",
        "shred -u src/a",
        "unlink src/a",
        "rmdir src/a",
        "mkdir -p src/a/b",
        "mkfifo -m 600 src/a",
        "ln -sf b src/a",
        "ln a src",
        "chown me:us src/a",
        "git checkout-index --prefix=src/ a",
    ];
    check_writes("write(src/a)", &lines.map(|line| (line, DENY)));
    check_writes("write(src/a/**)", &lines.map(|line| (line, DENY)));
    check_writes(
        "write(src/a)",
        &[
            ("gzip -c src/a", ALLOW),
            ("gzip -kl src/a", ALLOW),
            ("xz --stdout src/a", ALLOW),
            ("gzip -k src/a", ALLOW),
            ("zstd src/a", ALLOW),
            ("gcc -fno-omit-frame-pointer src/a -c", ALLOW),
            ("gcc src/a -o x", ALLOW),
            ("zip x.zip src/a", ALLOW),
            ("mkdir -m 700 x src", ALLOW),
            ("rmdir src", ALLOW),
            ("split src/a; csplit src/a 5", ALLOW),
            ("split -b 9 x src/", ASK),
            ("csplit -f src/a x 5", ASK),
            ("rm src/*", ASK),
            ("rm src/b*", ALLOW),
            ("rm -rf s*", ASK),
        ],
    );
    check_writes("write(src/**)", &[("split x src/p", DENY), ("csplit -f src/p x 5", DENY)]);
}
