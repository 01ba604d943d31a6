//! Which commands are checks: tests, builds, linters. Pure, but for the project's files, which are
//! read to find the check that the project has.
//!
//! A run counts only if its exit code is the check's own: behind a pipe, `;` or `||` it is not.

use tenon_sandbox::Workspace;

use crate::policy::shell::{self, SimpleCommand};

/// The most bytes of a project's file that is looked into.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Scripts of `package.json`, targets of a Makefile and words of build tools that check something.
const CHECKING_WORDS: [&str; 11] = [
    "test",
    "tests",
    "check",
    "build",
    "lint",
    "clippy",
    "vet",
    "verify",
    "typecheck",
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
const RUNNERS: [&str; 6] = ["cargo", "go", "dotnet", "swift", "zig", "mix"];

/// Programs whose first word, or the one behind `run`, says whether they check.
const SCRIPT_RUNNERS: [&str; 5] = ["npm", "pnpm", "yarn", "bun", "deno"];

/// Programs each of whose words may say so.
const TARGET_RUNNERS: [&str; 9] =
    ["make", "just", "ninja", "gradle", "gradlew", "mvn", "mvnw", "rake", "bazel"];

/// Modules of `python -m` that check.
const PYTHON_MODULES: [&str; 5] = ["pytest", "unittest", "mypy", "ruff", "tox"];

/// Says whether `command` is a line whose exit code is that of a check in it: one of `configured`,
/// or a known one, alone or joined to others by `&&`.
pub(super) fn is_check(command: &str, configured: &[String]) -> bool {
    let command = command.trim();
    if configured.iter().any(|check| check.trim() == command) {
        return true;
    }
    let parsed = shell::parse(command);
    let is_plain = parsed.doubt.is_none() && parsed.functions.is_empty();
    is_plain && has_own_exit_code(command) && parsed.commands.iter().any(checks)
}

/// Says whether the line is made of commands that all must succeed. Conservative: a sign in quotes
/// counts like one outside.
fn has_own_exit_code(command: &str) -> bool {
    let rest = command.replace("2>&1", "").replace("&>", "").replace("&&", "");
    !rest.contains(['|', ';', '&', '\n', '`', '!']) && !rest.contains("$(")
}

fn checks(command: &SimpleCommand) -> bool {
    let Some(program) = command.program() else { return false };
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
        _ if TARGET_RUNNERS.contains(&program) => named.any(is_checking),
        _ => false,
    }
}

/// Returns the checks that a person configured, or else the one that the project has.
pub(super) fn known(workspace: &Workspace, configured: &[String]) -> Vec<String> {
    if !configured.is_empty() {
        return configured.to_vec();
    }
    let read = |path: &str| {
        let bytes = workspace.read(path, FILE_BYTES_MAX).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let is_there = |path: &str| workspace.locate(path).is_ok_and(|at| at.kind.is_some());
    if is_there("Cargo.toml") {
        return vec!["cargo test".into()];
    }
    if let Some(check) = read("package.json").and_then(|text| script(&text)) {
        let runner = match () {
            () if is_there("pnpm-lock.yaml") => "pnpm",
            () if is_there("yarn.lock") => "yarn",
            () => "npm",
        };
        return vec![format!("{runner} run {check}")];
    }
    if let Some(target) = read("Makefile").and_then(|text| target(&text)) {
        return vec![format!("make {target}")];
    }
    if is_there("go.mod") {
        return vec!["go test ./...".into()];
    }
    let is_python = is_there("pytest.ini")
        || is_there("conftest.py")
        || ["pyproject.toml", "setup.cfg", "tox.ini"]
            .into_iter()
            .any(|path| read(path).is_some_and(|text| text.contains("pytest")));
    if is_python { vec!["pytest".into()] } else { Vec::new() }
}

/// Returns the script of a `package.json` that checks the most.
fn script(package: &str) -> Option<&'static str> {
    let package: serde_json::Value = serde_json::from_str(package).ok()?;
    let scripts = package.get("scripts")?;
    ["test", "check", "build", "lint"].into_iter().find(|name| {
        // `npm init` writes a test that says that there is none.
        let script = scripts.get(*name).and_then(|script| script.as_str());
        script.is_some_and(|script| !script.contains("no test specified"))
    })
}

/// Returns the target of a Makefile that checks the most.
fn target(makefile: &str) -> Option<&'static str> {
    ["test", "check"].into_iter().find(|name| {
        let is_target = |line: &str| {
            line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        makefile.lines().any(is_target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Bench;

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
        ];
        for command in yes {
            assert!(is_check(command, &[]), "{command}");
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
            "x=$(cargo test)",
            "",
        ];
        for command in no {
            assert!(!is_check(command, &[]), "{command}");
        }
        assert!(is_check(" ./ci.sh --fast ", &["./ci.sh --fast".into()]));
    }

    fn check_known(files: &[(&str, &str)], expected: &[&str]) {
        let bench = Bench::new();
        files.iter().for_each(|(path, text)| drop(bench.put(path, text)));
        assert_eq!(known(&bench.context.workspace, &[]), expected, "{files:?}");
    }

    #[test]
    fn the_check_of_a_project_is_found_in_its_files() {
        check_known(&[], &[]);
        check_known(&[("Cargo.toml", "")], &["cargo test"]);
        check_known(&[("package.json", r#"{"scripts":{"test":"jest"}}"#)], &["npm run test"]);
        let no_test = r#"{"scripts":{"test":"echo \"Error: no test specified\"","lint":"x"}}"#;
        check_known(&[("package.json", no_test), ("yarn.lock", "")], &["yarn run lint"]);
        check_known(&[("package.json", "{}")], &[]);
        check_known(&[("Makefile", "all:\n\tcc x.c\ncheck: all\n\t./t\n")], &["make check"]);
        check_known(&[("go.mod", "module x")], &["go test ./..."]);
        check_known(&[("pyproject.toml", "[tool.pytest.ini_options]")], &["pytest"]);
        check_known(&[("pyproject.toml", "[project]")], &[]);
        let bench = Bench::new();
        assert_eq!(known(&bench.context.workspace, &["./ci.sh".into()]), ["./ci.sh"]);
    }
}
