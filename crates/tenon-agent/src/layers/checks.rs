//! Which commands are checks: tests, builds, linters. Pure. Which one a project has is in `project`.
//!
//! A run counts only if the line's exit code is the check's own: in front of a pipe, `;` or `||` it is not. It
//! says something of the files behind it only if no command after the check changed any. What keeps it
//! from running at all is in `hollow`.

use std::path::Path;

use super::hollow;
use crate::policy::shell::{self, Parsed, SimpleCommand};

/// Scripts of `package.json`, targets of a Makefile and words of build tools that check something.
const CHECKING_WORDS: [&str; 12] = [
    "test",
    "tests",
    "check",
    "build",
    "lint",
    "clippy",
    "vet",
    "verify",
    "typecheck",
    "eslint",
    "nextest",
    "compile",
];

/// Programs that check whatever their arguments are.
const CHECKERS: [&str; 15] = [
    "pytest",
    "tox",
    "nox",
    "mypy",
    "pyright",
    "ruff",
    "flake8",
    "tsc",
    "eslint",
    "jest",
    "vitest",
    "ctest",
    "rspec",
    "phpunit",
    "shellcheck",
];

/// Programs whose first word says whether they check.
const RUNNERS: [&str; 7] = ["bazel", "cargo", "go", "dotnet", "swift", "zig", "mix"];

/// Programs whose first word, or the one behind `run`, says whether they check.
const SCRIPT_RUNNERS: [&str; 5] = ["npm", "pnpm", "yarn", "bun", "deno"];

/// Programs each of whose words may say so.
const TARGET_RUNNERS: [&str; 8] =
    ["make", "just", "ninja", "gradle", "gradlew", "mvn", "mvnw", "rake"];

/// Folders where systems and toolchains keep programs.
const TOOL_FOLDERS: [&str; 8] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/usr/local/cargo/bin",
    "/usr/local/go/bin",
    "~/.cargo/bin",
    "~/.local/bin",
    "~/go/bin",
];

/// Folders where a package manager puts the checkers of a project.
const PROJECT_FOLDERS: [&str; 4] = ["node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin"];

/// Programs that stand in a project under their own name.
const WRAPPERS: [&str; 2] = ["gradlew", "mvnw"];

/// Modules of `python -m` that check.
const PYTHON_MODULES: [&str; 5] = ["pytest", "unittest", "mypy", "ruff", "tox"];

/// What a command line says of the files as they are after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// Nothing: it is no check.
    Nothing,
    /// Whether they pass the check in it.
    Passes,
    /// The same, if the line changed no file: a command behind the check might have.
    PassesIfUnchanged,
}

/// Says whether `command` is a line whose exit code is that of a check in it, as they are usually
/// called, alone or joined to others by `&&`, or the last behind `;` and on lines of their own.
pub(super) fn is_check(command: &str) -> bool {
    says(command, &[], Path::new("")) != Says::Nothing
}

/// Returns what a line says that ended well, where the checks of `configured`, which are for the folder
/// `root`, count like those that are known. Where it did not, nothing behind the check need have run.
pub(super) fn says(command: &str, configured: &[String], root: &Path) -> Says {
    let command = command.trim();
    if configured.iter().any(|check| check.trim() == command) {
        return Says::Passes;
    }
    let Some(command) = without_continuations(command) else { return Says::Nothing };
    let command = command.trim_end_matches([';', '\n', ' ']);
    let parsed = shell::parse(command);
    let is_plain =
        parsed.doubt.is_none() && parsed.functions.is_empty() && !parsed.chooses_programs;
    if !is_plain || !has_own_exit_code(command) || !hollow::is_without_compounds(command) {
        return Says::Nothing;
    }
    let Some(first) = first_of_last_list(command, &parsed) else { return Says::Nothing };
    if hollow::fails_always(&parsed, first) {
        return Says::Nothing;
    }
    let configured: Vec<Parsed> = configured.iter().map(|line| shell::parse(line)).collect();
    let is_configured =
        |command: &SimpleCommand| configured.iter().any(|line| is_the_one_of(command, line, root));
    let is_check = |at: &usize| {
        parsed.commands.get(*at).is_some_and(|command| checks(command) || is_configured(command))
    };
    let last =
        (first..parsed.commands.len()).rev().filter(is_check).find(|at| hollow::runs(&parsed, *at));
    match last {
        None => Says::Nothing,
        Some(at) if only_reads_behind(&parsed, at) => Says::Passes,
        Some(_) => Says::PassesIfUnchanged,
    }
}

/// Says whether a command is the only one of a configured line, in the folder that it is for.
fn is_the_one_of(command: &SimpleCommand, line: &Parsed, root: &Path) -> bool {
    let ([own], None) = (&*line.commands, &line.doubt) else { return false };
    let words = |command: &SimpleCommand| {
        let words = command.words.iter().map(|word| word.literal().map(str::to_owned));
        words.collect::<Option<Vec<_>>>().filter(|words| !words.is_empty())
    };
    let is_plain = own.assignments.is_empty() && own.redirects.is_empty();
    let stays = |to: &str| to == "." || Path::new(to) == root;
    let folders = command.folder.as_ref();
    is_plain
        && words(own).is_some_and(|own| words(command) == Some(own))
        && folders.is_some_and(|all| all.iter().all(|to| to.literal().is_some_and(stays)))
}

/// Says whether what stands behind the command `at` only reads: all but what starts that one and
/// what it starts.
fn only_reads_behind(parsed: &Parsed, at: usize) -> bool {
    let is_started_by = |mut index: usize, by: usize| loop {
        match parsed.commands.get(index).and_then(|command| command.launched_by) {
            // A command that starts itself there is not; no more steps than commands.
            Some(above) if above == by => return true,
            Some(above) if above != index => index = above,
            _ => return false,
        }
    };
    parsed.commands.iter().enumerate().skip(at + 1).all(|(index, command)| {
        is_started_by(at, index) || is_started_by(index, at) || shell::reads(command)
    })
}

/// Returns a line that goes on behind backslashes as one; `None` where one may stand within a word, which goes on
/// then too, or in a comment, which does not.
fn without_continuations(command: &str) -> Option<String> {
    const END: &str = "\\\n";
    if !command.contains(END) {
        return Some(command.to_owned());
    }
    let is_between = command
        .match_indices(END)
        .all(|(at, _)| command.get(..at).is_some_and(|front| front.ends_with([' ', '\t'])));
    (is_between && !command.contains('#')).then(|| command.replace(END, " "))
}

/// Says whether the line ends as its last list of commands does that all must succeed. Conservative: a sign
/// in quotes counts like one outside.
fn has_own_exit_code(command: &str) -> bool {
    // What is left on both sides of these is no sign of its own together.
    let rest = command.replace("2>&1", " ").replace("&>", " ").replace("&&", " ");
    // Signs can be written otherwise within `$'…'`.
    !rest.contains(['|', '&', '`', '!']) && !rest.contains("$(") && !rest.contains("$'")
}

/// Returns where the commands begin that stand behind the last `;` or on the last line; `None` where what stands
/// there is none: it is in quotes, in a here document, a comment.
fn first_of_last_list(command: &str, parsed: &Parsed) -> Option<usize> {
    let goes_on = |at: usize| command.get(..at).is_some_and(|it| it.trim_end().ends_with("&&"));
    let mut ends = command.rmatch_indices([';', '\n']);
    let Some((end, _)) = ends.find(|(at, end)| *end == ";" || !goes_on(*at)) else {
        return Some(0);
    };
    let last = shell::parse(command.get(end + 1..)?);
    let first = parsed.commands.len().checked_sub(last.commands.len())?;
    let words = |command: &SimpleCommand| command.words.iter().map(|word| word.shown()).collect();
    let alike = |(one, other)| -> bool { Vec::eq(&words(one), &words(other)) };
    let is_there =
        last.doubt.is_none() && parsed.commands.iter().skip(first).zip(&last.commands).all(alike);
    is_there.then_some(first)
}

fn checks(command: &SimpleCommand) -> bool {
    let Some(program) = command.program().filter(|name| is_its_own(name, command)) else {
        return false;
    };
    let words: Vec<String> = command.arguments().iter().map(|word| word.shown()).collect();
    let word = |index: usize| words.get(index).map(String::as_str).unwrap_or_default();
    let is_checking = |word: &str| {
        let name = word.split([':', '-']).next().unwrap_or_default();
        CHECKING_WORDS.contains(&name) || CHECKING_WORDS.contains(&word)
    };
    let mut named = words
        .iter()
        .map(String::as_str)
        .take_while(|word| *word != "--")
        .filter(|word| !word.starts_with(['-', '+']));
    match program {
        _ if CHECKERS.contains(&program) => true,
        "python" | "python3" => word(0) == "-m" && PYTHON_MODULES.contains(&word(1)),
        "npx" => CHECKERS.contains(&word(0)),
        _ if RUNNERS.contains(&program) => named.next().is_some_and(is_checking),
        _ if SCRIPT_RUNNERS.contains(&program) => match named.next() {
            Some("run" | "task") => named.next().is_some_and(is_checking),
            first => first.is_some_and(is_checking),
        },
        "composer" => match named.next() {
            Some("run" | "run-script") => named.next().is_some_and(is_checking),
            // It looks at the machine.
            Some("check-platform-reqs") => false,
            first => first.is_some_and(is_checking),
        },
        _ if TARGET_RUNNERS.contains(&program) => named.any(is_checking),
        "cmake" => builds(&words, is_checking),
        _ => false,
    }
}

/// Says whether CMake with these words builds all, or a target that checks. What stands behind `--` goes to
/// another program and may be anything; that it is told how many jobs to run is seen.
fn builds(words: &[String], is_checking: impl Fn(&str) -> bool) -> bool {
    let mut parts = words.split(|word| word == "--");
    let own = parts.next().unwrap_or_default();
    let is_jobs = |word: &String| {
        let number = word.strip_prefix("-j").unwrap_or(word);
        number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_target = |word: &String| word == "--target" || word == "-t";
    let targets = own.iter().skip_while(|word| !is_target(word)).skip(1);
    own.first().is_some_and(|word| word == "--build")
        && parts.all(|native| native.iter().all(is_jobs))
        && targets
            .take_while(|word| !word.starts_with('-'))
            .all(|target| target == "all" || is_checking(target))
}

/// Says whether the program is the one of that name: found by the name, where systems and toolchains
/// keep it, or by the path at which projects keep that one.
fn is_its_own(name: &str, command: &SimpleCommand) -> bool {
    let Some(word) = command.words.first() else { return false };
    let shown = word.shown();
    let Some(folder) = shown.strip_suffix(name).and_then(|path| path.strip_suffix('/')) else {
        return true;
    };
    let is_wrapper = WRAPPERS.contains(&name) && matches!(folder, "." | "..");
    let is_checker = CHECKERS.contains(&name) || matches!(name, "python" | "python3");
    let is_projects = |end: &str| {
        let rest = folder.strip_suffix(end);
        is_checker && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    TOOL_FOLDERS.contains(&folder)
        || is_wrapper
        || PROJECT_FOLDERS.iter().any(|end| is_projects(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_counts_only_where_its_exit_code_is_the_lines() {
        let yes = [
            "cargo test",
            "cargo +nightly test -p x -- --nocapture",
            "cd sub && RUST_BACKTRACE=1 cargo clippy --all-targets 2>&1",
            "npm test",
            "npm run test:unit",
            "yarn lint",
            "make -j8 check",
            "python3 -m pytest -q",
            "pytest tests/",
            "go vet ./... && go test ./...",
            "./gradlew test",
            "timeout 60 cargo build --release",
            "npx tsc --noEmit",
            "/usr/bin/make check",
            "/usr/bin/env make check",
            "~/.cargo/bin/cargo test",
            "\"$HOME/.cargo/bin/cargo\" test",
            "./node_modules/.bin/tsc --noEmit",
            ".venv/bin/python -m pytest",
            "app/venv/bin/pytest -q",
            "../gradlew test",
            "cd .; make check",
            "rm -f a; make check;",
            "set -e\ncd .\ntouch a\nmake check\n",
            "# all of them\ncargo test --workspace",
            "cargo test \\\n  --workspace \\\n --locked",
            "cat > f <<'E'\nmake it; now\nE\nmake check",
            "cargo fmt; cargo clippy && cargo test && echo ok",
            "make check <<'make check'\nx\nmake check",
            "cd x &&\nmake check",
            "false; cd x &&\nmake check",
            "false; make check",
            "false\nmake check",
            "true && make check",
            "make check && exit 0",
            "make check && exit",
            "xargs false < list && make check",
            "./false && make check",
            "echo false && make check",
        ];
        for command in yes {
            assert!(is_check(command), "{command}");
        }
        let no = [
            "cargo test | tail -5",
            "cargo test || true",
            "cargo test; echo done",
            "cargo test &",
            "! cargo test",
            "echo cargo test",
            "cargo run -- test",
            "cargo run test",
            "npm run start test",
            "cargo fmt",
            "npm install",
            "make install",
            "python3 build.py",
            "git commit -m 'test'",
            "./cargo test",
            "./10/cargo test",
            "10/cargo test",
            "\"$PWD/cargo\" test",
            "$X/cargo test",
            "~/cargo test",
            "/home/user/project/10/cargo test",
            "./make check",
            "venv/bin/make check",
            "./timeout 60 make check",
            "./bash -c 'make check'",
            "./.cargo/bin/cargo test",
            "x/gradlew test",
            "((PATH=10)) && cargo test",
            "true $((PATH=10)) && cargo test",
            "true ${PATH:=x} && cargo test",
            "echo ${x[PATH=10]} && cargo test",
            "BASH_CMDS[cargo]=x && cargo test",
            "x=$(cargo test)",
            "false && make check",
            "cd sub && /bin/false && make check",
            "true; false && make check",
            "make check && false",
            "bash -c 'false && make check'",
            "timeout 5 false && make check",
            "make check && exit 1",
            "false &&\nmake check",
            "true\nfalse && \n\n make check",
            "(make check && exit 3)",
            "make check; echo done",
            "make check\necho done",
            "true ||\nmake check",
            "true || # or\nmake check",
            "sleep 1 &\nmake check",
            "echo 'a; make check'",
            "echo 'a; make check #'",
            "echo \"a\nmake check\"",
            "cat <<E\na\nmake check\nE",
            "cat <<'make check'\na\nmake check",
            "make check <<'make check'; rm x\na\nmake check",
            "exit 0; make check",
            "[ -f x ] && exit 0; make check",
            "trap 'exit 0' EXIT\nmake check",
            "alias make=true\nmake check",
            "set -n\nmake check",
            "make() { true; }\nmake check",
            "{ make check; rm x; }",
            "if true; then\nexit 0\nfi\nmake check",
            "make check # all, see docs\\\ngit status",
            "ex\\\nit 0; make check",
            "A=\\\ncargo test x",
            "make check &2>&1& true",
            "make check >/dev/null 2>&1 &2>&1& true",
            "bash -c $'make check\\ntrue'",
            "bash -c $'make check\\x3b true'",
            "bash -c \"bash -c $'make check\\012true'\"",
            "; make check",
            ";",
            "",
        ];
        for command in no {
            assert!(!is_check(command), "{command}");
        }
    }

    #[test]
    fn a_configured_check_counts_in_a_line_as_the_known_ones_do() {
        let configured = ["./ci.sh --fast".to_owned(), "a && b".to_owned(), "A=1 x".to_owned()];
        let says = |command| says(command, &configured, Path::new("/work"));
        for command in [
            " ./ci.sh --fast ",
            "./ci.sh  --fast 2>&1",
            "./ci.sh --fast > out.txt",
            "cd . && ./ci.sh --fast",
            "cd /work && ./ci.sh '--fast' && echo ok",
            "set -e && export A=1 && timeout 9 ./ci.sh --fast",
            "a && b",
            "A=1 x",
        ] {
            assert_eq!(says(command), Says::Passes, "{command}");
        }
        assert_eq!(says("./ci.sh --fast && touch x"), Says::PassesIfUnchanged);
        for command in [
            "./ci.sh",
            "./ci.sh --fast --help",
            "cd sub && ./ci.sh --fast",
            "cd \"$X\" && ./ci.sh --fast",
            "./ci.sh --fast | tail",
            "./ci.sh --fast || true",
            "set -n && ./ci.sh --fast",
            "MAKEFLAGS=-n ./ci.sh --fast",
            "echo ./ci.sh --fast",
            "a",
            "x",
        ] {
            assert_eq!(says(command), Says::Nothing, "{command}");
        }
    }

    #[test]
    fn what_may_keep_a_check_from_running_makes_it_none() {
        let no = "make -n test|make -i test|make -ik test|make -t test|make -q test|make --dry-run test|make --just test\
            |make --version test|make test --help|make -v test|make -p -n test|make $X test|make SHELL=true test\
            |make MAKEFLAGS=-n test|MAKEFLAGS=-n make test|env MAKEFLAGS=-n make test|export MAKEFLAGS=-n && make test\
            |MAKEFLAGS=n && make test|PATH=/tmp/x:$PATH make test|export PATH=. && make test|BASH_ENV=x bash -c 'make test'\
            |set -n && make test|set -euo noexec && make test|set -t && make test|exit 0 && make test|exec true && make test\
            |return && make test|hash -p /bin/true make && make test|alias make=true && make test|eval exit && make test\
            |trap 'exit 0' EXIT && make test|enable -n test && make test|shopt -s extdebug && make test|$X && make test\
            |source ./x && make test|read MAKEFLAGS <<< -n && make test|printf -v PATH x && make test|kill $$ && make test\
            |(exit 0) && make test|declare -x MAKEFLAGS=-n && make test|builtin exit && make test|command exit 0 && make test\
            |make () ( true ) && make test|if (make test) then (true) fi|while (make test) do (true) done|coproc make test\
            |echo <(make test)|bash -n -c 'make test'|bash -nc 'make test'|bash --version -c 'make test'|xargs make test\
            |timeout --help make test|nice --version make test|env --help make test|setsid -f make test|sudo -l make test\
            |find . -exec make test {} +|cargo test --help|cargo test -h|cargo test -- --list|cargo -V test\
            |cargo test --no-run|cargo --config x.toml test|cargo help test|cargo nextest list|cargo build --build-plan\
            |CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=true cargo test|npm test --if-present|npm -v test\
            |npm_config_script_shell=true npm test|pytest --collect-only|pytest --co -q|pytest --fixtures|pytest -h|pytest -V\
            |PYTEST_ADDOPTS=--co pytest|python3 -m pytest --version|go test -n ./...|go test -c|go test -list .|go vet -h\
            |go test -exec true ./...|ruff format|ruff check --exit-zero .|ruff check -e|ruff clean|tsc --init|tsc --showConfig\
            |npx tsc -v|eslint --print-config x|jest --listTests|ctest -N|rspec --dry-run|just -n test|just --show test\
            |ninja -n test|ninja -t clean test|gradle -m test|gradle assemble -x test|mvn verify -DskipTests\
            |mvn test -Dmaven.test.failure.ignore=true|mvn -fn test|rake -T test|bazel help test|tox -l|tox list\
            |bazel query test|dotnet test --list-tests|cmake -B build|cmake --build build --target clean|cmake --build . -- -n\
            |cmake --build build -t help|cmake --help --build|cmake -E echo --build|./cmake --build build";
        let lines = no.split('|').map(str::trim);
        let wrong: Vec<&str> = lines.filter(|command| is_check(command)).collect();
        assert_eq!(wrong, Vec::<&str>::new());
    }

    #[test]
    fn what_leaves_a_check_a_check_does_not_count_against_it() {
        let yes = "cd x && make test|FOO=1 cargo test|make -j4 test|make -j 4 -C sub test|make -kj8 check CC=clang\
            |set -e && cargo test|set -euo pipefail && cargo test|bash -c 'make test'|bash -lc 'cd x && cargo test'\
            |env -u X FOO=1 cargo test|nice -n 5 make test|time make test|timeout -k 5 60 cargo test|(cd x && make test)\
            |mkdir -p out && make test > out/log 2>&1|export RUST_LOG=debug && cargo test|RUSTFLAGS='-D warnings' cargo check\
            |source .venv/bin/activate && pytest -x|. \"$HOME/.cargo/env\" && cargo test|test -f Makefile && make test\
            |export PATH=\"$HOME/.cargo/bin:$PATH\" && cargo test|PATH=$PATH:/usr/local/go/bin go test ./...\
            |make test && exit 0|echo start && cargo test -p a --lib name|pytest -n 4 -v --cov=x *.py|go test -v -run X ./...\
            |cargo nextest run|cargo test -- --nocapture --test-threads=1|ctest -V --output-on-failure|mvn -B -V test\
            |ruff check .|ruff format --check .|tsc --noEmit -p .|NODE_OPTIONS=--experimental-vm-modules npx jest\
            |python3 -m unittest -v|make check VERBOSE=1|bazel test //...|ninja -C out test\
            |cargo test --workspace --all-features --locked --verbose|dotnet test --no-build|git pull && make test\
            |make build|make lint|mvn compile|gradle build|tox|nox -s tests|npm run eslint|cmake --build build\
            |cmake -B build && cmake --build build -j 4 && ctest --test-dir build|cmake --build out -- -j8\
            |cmake --build build --target test|cmake --build build --target all check -j4|ruff check";
        let lines = yes.split('|').map(str::trim);
        let wrong: Vec<&str> = lines.filter(|command| !is_check(command)).collect();
        assert_eq!(wrong, Vec::<&str>::new());
    }

    #[test]
    fn what_is_behind_a_check_and_may_change_files_leaves_it_in_doubt() {
        let check = |lines: &str, expected: Says| {
            for line in lines.split('|').map(str::trim) {
                assert_eq!(
                    says(line, &["./ci && rm x".into()], Path::new("/work")),
                    expected,
                    "{line}"
                );
            }
        };
        check(
            "cargo fmt && cargo test|cd x && make test|sed -i s/a/b/ x && make test && echo done\
            |bash -c 'make test'|timeout 60 make test|make test > log 2>&1 && cat log|make test && ls && git diff\
            |cargo fmt; cargo test|rm x; cd x; make test && cat x\
            |cargo clippy && cargo test|bash -c 'cd x && make test' && true|time make test|./ci && rm x",
            Says::Passes,
        );
        check(
            "make test && sed -i s/ok/bug/ code.c|make test && rm code.c|make test && git apply p.diff\
            |cargo test && git commit -qam x|make test && echo x > code.c|make test && touch y\
            |bash -c 'make test && rm code.c'|bash -c 'make test' && rm code.c|(make test && true) > code.c\
            |cargo test && cargo fmt|make test && ./gen|make test && sh -c 'rm x'|timeout 9 make test && rm x\
            |make test && exit 0|make test && bash -c \"$X\"|cd x; make test && rm x",
            Says::PassesIfUnchanged,
        );
        check("make test; rm x|make test & rm x|rm x", Says::Nothing);
        assert_eq!(says("make test 2>&1 | tail", &[], Path::new("/work")), Says::Nothing);
    }
}
