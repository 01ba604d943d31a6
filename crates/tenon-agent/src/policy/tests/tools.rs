//! Programs that print names, which a shell would run, and tools that run what an option, a setting or a
//! text that they read names.

use super::{ALLOW, ASK, DENY, Mode, rules, run};

/// Lines in which a shell runs names that a program prints.
const NAMES: &[&str] = &[
    "which uname | sh",
    "env which uname | sh",
    "which -a uname | head -1 | sh",
    "{ which uname; } | bash -s",
    "f() { which uname; }; f | sh",
    "ls /bin/uname | sh",
    "ls /usr/bin/unam? | sh",
    "find /bin/uname | sh",
    "fdfind -F uname /bin | sh",
    "rg --files /bin -g uname | sh",
    "realpath /bin/uname | bash",
    "readlink -f x | sh",
    "type -p uname | sh",
    "command -v uname | sh",
    "hash -t uname | sh",
    "compgen -c una | sh",
    "locate bin/uname | sh",
    "touch 'uname -s'; ls | sh",
    "touch 'uname -s'; git ls-files -o | sh",
    "git config x.y uname; git config x.y | sh",
    "git log -1 --format='uname -s' | sh",
    "git -C x show -s --pretty='uname -s' | sh",
    "seq -f 'uname' 1 | sh",
    "yes uname | sh",
    "printenv X | sh",
    "which uname | . /dev/stdin",
    "which uname | at now",
    "which uname > >(sh)",
];

#[test]
fn a_shell_that_reads_names_is_asked_about() {
    let denied = rules(&[("bash(uname:*)", DENY)]);
    for rules in [&denied, &rules(&[])] {
        let decided = |line: &&&str| run(line, rules, Mode::Auto).verdict != ASK;
        let wrong: Vec<_> = NAMES.iter().filter(decided).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// Lines that run `uname` by an option, a setting or a text.
const RUN: &[&str] = &[
    "install -s --strip-program=uname a b",
    "install --strip-program uname -s a b",
    "go run -exec uname x.go",
    "go run -exec='uname -s' x.go",
    "go test -exec uname ./...",
    "go test --exec=uname ./...",
    "go -C x test -exec uname ./...",
    "go build -toolexec uname",
    "go vet -vettool=/bin/uname",
    "go vet -vettool /bin/uname ./...",
    "GOFLAGS=-toolexec=uname go build",
    "GOFLAGS='-mod=mod -exec=uname' go test ./...",
    "gcc -wrapper uname x.c",
    "gcc -wrapper uname,-s x.c",
    "g++ -wrapper uname x.cc",
    "cc -wrapper uname x.c",
    "clang -wrapper uname x.c",
    "x86_64-linux-gnu-gcc-12 -c -wrapper uname x.c",
    "CC=uname make x",
    "CXX='uname -s' cmake .",
    "npm --script-shell=/bin/uname run x",
    "npm run --script-shell /bin/uname x",
    "npm_config_script_shell=uname npm run x",
    "npm config set script-shell uname",
    "npm config set script-shell=uname",
    "sqlite3 x '.shell uname'",
    "sqlite3 x '.system uname -s'",
    "sqlite3 x ' .sh uname'",
    "sqlite3 -cmd '.shell uname' x 'select 1'",
    "sqlite3 x '.once |uname' 'select 1'",
    "sqlite3 x '.import \"|uname -s\" t'",
    "sqlite3 x <<< '.shell uname'",
    "echo '.system uname' | sqlite3 x",
    "printf 'select 1;\\n.shell uname\\n' | sqlite3 x",
    "ed <<< '!uname'",
    "ed -s f <<< 'r !uname'",
    "ed f <<E\n1,2p\nw !uname -s\nE",
    "echo '!uname' | ed",
    "echo e '!uname' | ed f",
    "cargo --config build.rustc-wrapper=uname build",
    "cargo --config 'build.rustc-wrapper=\"uname\"' build",
    "cargo build --config=build.rustc='uname'",
    "cargo --config 'build.rustc-workspace-wrapper = \"uname\"' build",
    "cargo run --config target.x86_64-unknown-linux-gnu.runner='\"uname -s\"'",
    "cargo run --config 'target.\"cfg(unix)\".runner=[\"uname\", \"-s\"]'",
    "cargo --config target.x.linker=\"'uname'\" build",
    "cargo --config 'build={jobs=1, rustc-wrapper=\"uname\"}' build",
    "RUSTC=uname cargo build",
    "RUSTC_WRAPPER=uname cargo build",
    "RUSTC_WORKSPACE_WRAPPER=uname cargo build",
    "RUSTDOC=uname cargo doc",
    "CARGO_BUILD_RUSTC=uname cargo build",
    "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=uname cargo build",
    "just -c uname",
    "just --command uname -s",
    "just --shell uname x",
    "distcc uname",
    "distcc uname -s",
    "aa-exec -- uname",
    "aa-exec -p x uname -s",
    "bat --pager uname f",
    "batcat --pager='uname -s' f",
];

#[test]
fn what_tools_run_by_an_option_a_setting_or_a_text_is_denied_and_asked_about() {
    for verdict in [DENY, ASK] {
        let ruled = rules(&[("bash(uname:*)", verdict)]);
        let decided = |line: &&&str| run(line, &ruled, Mode::Auto).verdict != verdict;
        let wrong: Vec<_> = RUN.iter().filter(decided).collect();
        assert!(wrong.is_empty(), "not {verdict:?}: {wrong:#?}");
    }
}

#[test]
fn a_folder_of_programs_that_are_run_by_a_pattern_is_asked_about() {
    for (line, want) in [
        ("run-parts --regex '^uname$' /bin", ASK),
        ("run-parts --regex=. ./parts", ASK),
        ("run-parts /usr/bin", ASK),
        ("run-parts /bin/", ASK),
        ("run-parts --test --regex '^uname$' /bin", ALLOW),
        ("run-parts --list /usr/bin", ALLOW),
        ("run-parts ./parts", ALLOW),
        ("run-parts --arg=x -u 022 hooks.d", ALLOW),
    ] {
        assert_eq!(run(line, &rules(&[]), Mode::Auto).verdict, want, "{line}");
    }
}

/// Lines of the same programs that run nothing else, or nothing that matters.
const ORDINARY: &[&str] = &[
    "go test ./...",
    "go test -run 'TestX|TestY' -count=1 ./...",
    "go test ./... -args -exec uname",
    "go build -o x ./cmd/x",
    "go run -exec 'qemu-arm -L /x' x.go",
    "go vet ./...",
    "GOFLAGS=-mod=mod go build ./...",
    "cargo build",
    "cargo --config net.offline=true build",
    "cargo --config 'build.jobs=2' build",
    "cargo --config my.toml build",
    "cargo build --config 'build.rustc-wrapper=\"sccache\"'",
    "RUSTC_WRAPPER= cargo build",
    "RUSTC_WRAPPER=sccache cargo build",
    "CC=clang make",
    "CC='ccache gcc' CXX=\"$CXX\" ./configure",
    "export CC=gcc-12; make",
    "gcc -c x.c -o x.o",
    "gcc -Wall -Wl,-z,now x.c",
    "npm run x",
    "npm config set registry x",
    "npm config get script-shell",
    "npm --script-shell=bash run x",
    "sqlite3 x 'select 1'",
    "sqlite3 x .tables '.schema t'",
    "sqlite3 x '.show'",
    "sqlite3 x \"select '!uname'\"",
    "sqlite3 x < dump.sql",
    "sqlite3 x <<E\n.mode csv\n.import a.csv t\nselect 1;\nE",
    "ed -s f <<< $'1d\\nw\\nq'",
    "ed -s f <<E\n1i\nuname\n.\nw\nE",
    "install -D a b",
    "install -s -m 755 a b",
    "just build",
    "just --list",
    "distcc gcc -c x.c",
    "bat --paging=never f",
    "bat --pager 'less -RF' f",
    "find . | head",
    "ls | sort",
    "which sh",
    "which bash | xargs ls -l",
    "command -v sh | cat",
    "git log | cat",
    "git show HEAD:install.sh | sh",
    "cat install.sh | sh",
    "cat \"$(pwd)/install.sh\" | sh",
    "cat $(git rev-parse --show-toplevel)/install.sh | bash -s -- -x",
    "(cd x && git pull && cat y.sh) | bash",
    "env -i cat x.sh | sh",
    "{ set -e; cat x.sh; } | sh",
    "tail -n +3 x.sh | bash",
    "./configure | sh",
    "ls | while read -r f; do wc -l \"$f\"; done",
    "find . -name '*.sh' | xargs bash -n",
];

#[test]
fn ordinary_lines_of_tools_are_no_question() {
    let denied = rules(&[("bash(uname:*)", DENY), ("bash(rm:*)", ASK)]);
    for rules in [&denied, &rules(&[])] {
        let decided = |line: &&&str| run(line, rules, Mode::Auto).verdict != ALLOW;
        let wrong: Vec<_> = ORDINARY.iter().filter(decided).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
