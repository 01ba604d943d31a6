//! Which check a project has, by its files: what the model is asked to run if it checked nothing.
//!
//! A check is named only where it can pass and fail: one that fails for want of tests would be worse than
//! none, and so would one that passes because it finds none. Tests count more than a build, and a build more
//! than a linter, whichever file names them.

use serde_json::Value;
use tenon_sandbox::Workspace;

/// The most bytes of a project's file that is looked into.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The names of a folder that are looked at for tests.
const NAMES_MAX: usize = 10_000;

/// Test files that are looked into for the way in which they are run.
const TEST_FILES_MAX: usize = 20;

/// In the order in which make looks for them; it reads the first.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

const JUSTFILES: [&str; 4] = ["justfile", "Justfile", "JUSTFILE", ".justfile"];

/// What scripts, targets, recipes and tasks that check are called.
const TESTS: [&str; 2] = ["test", "check"];
const BUILDS: [&str; 1] = ["build"];
const LINTERS: [&str; 3] = ["lint", "typecheck", "eslint"];

/// Folders that CMake is usually told to build in.
const CMAKE_FOLDERS: [&str; 3] = ["build", "out", "cmake-build-debug"];

/// Returns the checks that a person configured, or else the one that the project has.
pub(super) fn known(workspace: &Workspace, configured: &[String]) -> Vec<String> {
    if !configured.is_empty() {
        return configured.to_vec();
    }
    Project(workspace).check().into_iter().collect()
}

struct Project<'a>(&'a Workspace);

impl Project<'_> {
    fn check(&self) -> Option<String> {
        self.test().or_else(|| self.build()).or_else(|| self.linter())
    }

    fn test(&self) -> Option<String> {
        if self.has("Cargo.toml") {
            return Some("cargo test".into());
        }
        None.or_else(|| self.named(&TESTS))
            .or_else(|| self.deno())
            .or_else(|| self.composer(&TESTS))
            .or_else(|| self.has("go.mod").then(|| "go test ./...".into()))
            .or_else(|| self.python())
            .or_else(|| self.has("tox.ini").then(|| "tox".into()))
            .or_else(|| self.has("noxfile.py").then(|| "nox".into()))
            .or_else(|| self.maven().filter(|(_, tests)| *tests).map(|(run, _)| run + " test"))
            .or_else(|| self.gradle().filter(|(_, tests)| *tests).map(|(run, _)| run + " test"))
            .or_else(|| self.cmake().filter(|(_, tests)| *tests).map(|(run, _)| run))
    }

    fn build(&self) -> Option<String> {
        None.or_else(|| self.named(&BUILDS))
            .or_else(|| self.composer(&BUILDS))
            .or_else(|| self.maven().map(|(run, _)| run + " compile"))
            .or_else(|| self.gradle().map(|(run, _)| run + " build"))
            .or_else(|| self.cmake().map(|(run, _)| run))
    }

    fn linter(&self) -> Option<String> {
        let has_ruff = || {
            let named = self.read("pyproject.toml").is_some_and(|text| text.contains("[tool.ruff"));
            named || self.has("ruff.toml") || self.has(".ruff.toml")
        };
        None.or_else(|| self.named(&LINTERS))
            .or_else(|| self.composer(&LINTERS))
            .or_else(|| has_ruff().then(|| "ruff check".into()))
    }

    /// Returns the first of `names` that a runner of scripts, targets or recipes has.
    fn named(&self, names: &[&'static str]) -> Option<String> {
        None.or_else(|| self.package(names))
            .or_else(|| Some(format!("make {}", target(&self.first(&MAKEFILES)?, names)?)))
            .or_else(|| Some(format!("just {}", recipe(&self.first(&JUSTFILES)?, names)?)))
    }

    fn composer(&self, names: &[&'static str]) -> Option<String> {
        let scripts = self.entries("composer.json", "scripts")?;
        let name = names.iter().find(|name| scripts.get(**name).is_some())?;
        Some(format!("composer {name}"))
    }

    /// Returns how Maven is run, and whether there are tests.
    fn maven(&self) -> Option<(String, bool)> {
        let file = self.read("pom.xml")?;
        let run = if self.has("mvnw") { "./mvnw" } else { "mvn" };
        let signs = ["<modules>", "junit", "testng", "surefire"];
        Some((run.into(), self.has("src/test") || signs.iter().any(|sign| file.contains(sign))))
    }

    /// Returns how Gradle is run, and whether there are tests.
    fn gradle(&self) -> Option<(String, bool)> {
        let file = self.first(&["build.gradle", "build.gradle.kts"])?;
        let run = if self.has("gradlew") { "./gradlew" } else { "gradle" };
        let signs = ["testImplementation", "useJUnit", "useTestNG"];
        Some((run.into(), self.has("src/test") || signs.iter().any(|sign| file.contains(sign))))
    }

    /// Returns how a project of CMake is built, and tested if it has tests: alone, `ctest` runs old
    /// programs.
    fn cmake(&self) -> Option<(String, bool)> {
        let file = self.read("CMakeLists.txt")?;
        let is_configured = |folder: &&&str| self.has(&format!("{folder}/CMakeCache.txt"));
        let (configure, folder) = match CMAKE_FOLDERS.iter().find(is_configured) {
            Some(folder) => ("", *folder),
            None => ("cmake -B build && ", "build"),
        };
        let build = format!("{configure}cmake --build {folder}");
        let file = file.to_ascii_lowercase();
        match ["enable_testing", "include(ctest)", "add_test"].iter().any(|it| file.contains(it)) {
            true => Some((format!("{build} && ctest --test-dir {folder}"), true)),
            false => Some((build, false)),
        }
    }

    fn package(&self, names: &[&'static str]) -> Option<String> {
        let script = script(&self.entries("package.json", "scripts")?, names)?;
        let runner = match () {
            () if self.has("pnpm-lock.yaml") => "pnpm",
            () if self.has("yarn.lock") => "yarn",
            () => "npm",
        };
        Some(format!("{runner} run {script}"))
    }

    fn deno(&self) -> Option<String> {
        let file = ["deno.json", "deno.jsonc"].into_iter().find(|path| self.has(path))?;
        let tasks = self.entries(file, "tasks").unwrap_or_default();
        if let Some(task) = TESTS.into_iter().find(|name| tasks.get(*name).is_some()) {
            return Some(format!("deno task {task}"));
        }
        let is_test = |name: &str| {
            let stem = [".ts", ".tsx", ".js", ".jsx", ".mts", ".mjs"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            stem.is_some_and(|stem| stem.ends_with("_test") || stem.ends_with(".test"))
        };
        let has_tests = [".", "tests", "test", "src"]
            .iter()
            .any(|folder| !self.names(folder, is_test).is_empty());
        has_tests.then(|| "deno test".into())
    }

    fn python(&self) -> Option<String> {
        let names_pytest =
            |path: &&str| self.read(path).is_some_and(|text| text.contains("pytest"));
        let is_configured = self.has("pytest.ini")
            || self.has("conftest.py")
            || ["pyproject.toml", "setup.cfg", "tox.ini"].iter().any(names_pytest);
        if is_configured {
            return Some(self.own_pytest().unwrap_or("pytest").into());
        }
        let is_test = |name: &str| name.starts_with("test_") && name.ends_with(".py");
        let (folder, tests) = ["tests", "."]
            .into_iter()
            .map(|folder| (folder, self.names(folder, is_test)))
            .find(|(_, tests)| !tests.is_empty())?;
        // unittest runs nothing of what is written for pytest, and says that all is well.
        let is_of_unittest = |name: &String| {
            self.read(&format!("{folder}/{name}"))
                .is_some_and(|text| text.contains("unittest") && !text.contains("import pytest"))
        };
        let check = match tests.iter().take(TEST_FILES_MAX).all(is_of_unittest) {
            false => self.own_pytest().unwrap_or("python3 -m pytest"),
            true if folder == "." => "python3 -m unittest",
            true if self.has("tests/__init__.py") => "python3 -m unittest discover -s tests -t .",
            true => "python3 -m unittest discover -s tests",
        };
        Some(check.into())
    }

    /// Returns the project's own pytest: it has what the tests import, and may be the only one there is.
    fn own_pytest(&self) -> Option<&'static str> {
        [".venv/bin/pytest", "venv/bin/pytest"].into_iter().find(|path| self.has(path))
    }

    fn has(&self, path: &str) -> bool {
        self.0.locate(path).is_ok_and(|at| at.kind.is_some())
    }

    fn read(&self, path: &str) -> Option<String> {
        let bytes = self.0.read(path, FILE_BYTES_MAX).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn first(&self, paths: &[&str]) -> Option<String> {
        paths.iter().find_map(|path| self.read(path))
    }

    /// Returns what stands under `key` in a file of JSON.
    fn entries(&self, path: &str, key: &str) -> Option<Value> {
        let mut file: Value = serde_json::from_str(&self.read(path)?).ok()?;
        file.get_mut(key).map(Value::take)
    }

    fn names(&self, folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        self.0.names(folder, NAMES_MAX, wanted).unwrap_or_default()
    }
}

/// Returns the first of `names` that is a script of a `package.json`.
fn script(scripts: &Value, names: &[&'static str]) -> Option<&'static str> {
    names.iter().copied().find(|name| {
        // `npm init` writes a test that says that there is none.
        let script = scripts.get(*name).and_then(|script| script.as_str());
        script.is_some_and(|script| !script.contains("no test specified"))
    })
}

/// Returns the first of `names` that is a target of a Makefile.
fn target(makefile: &str, names: &[&'static str]) -> Option<&'static str> {
    names.iter().copied().find(|name| {
        let is_target = |line: &str| {
            let rest = line.strip_prefix(name).map(str::trim_start);
            // `build := x` is a variable.
            let is_variable = |rest: &str| rest.trim_start_matches(':').starts_with('=');
            rest.is_some_and(|rest| rest.starts_with(':') && !is_variable(rest))
        };
        makefile.lines().any(is_target)
    })
}

/// Returns the first of `names` that is a recipe of a justfile and needs no argument.
fn recipe(justfile: &str, names: &[&'static str]) -> Option<&'static str> {
    names.iter().copied().find(|name| {
        let is_recipe = |line: &str| {
            let line = line.strip_prefix('@').unwrap_or(line);
            let Some((parameters, then)) =
                line.strip_prefix(name).and_then(|rest| rest.split_once(':'))
            else {
                return false;
            };
            let is_optional = |word: &str| word.starts_with('*') || word.contains('=');
            // `test := x` is a variable, and `tests:` another recipe.
            let is_named = parameters.is_empty() || parameters.starts_with(' ');
            is_named && !then.starts_with('=') && parameters.split_whitespace().all(is_optional)
        };
        justfile.lines().any(is_recipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{layers::checks::is_check, tools::testing::Bench};

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let bench = Bench::new();
        files.iter().for_each(|(path, text)| drop(bench.put(path, text)));
        let found = known(&bench.context.workspace, &[]);
        assert_eq!(found, expected, "{files:?}");
        assert!(found.iter().all(|command| is_check(command)), "{found:?} counts as none");
    }

    #[test]
    fn the_check_of_a_project_is_found_in_its_files() {
        check(&[], &[]);
        check(&[("Cargo.toml", "")], &["cargo test"]);
        check(&[("package.json", r#"{"scripts":{"test":"jest"}}"#)], &["npm run test"]);
        let no_test = r#"{"scripts":{"test":"echo \"Error: no test specified\"","lint":"x"}}"#;
        check(&[("package.json", no_test), ("yarn.lock", "")], &["yarn run lint"]);
        check(&[("package.json", "{}")], &[]);
        check(&[("Makefile", "all:\n\tcc x.c\ncheck: all\n\t./t\n")], &["make check"]);
        check(&[("makefile", "test:\n")], &["make test"]);
        check(&[("GNUmakefile", "test:\n")], &["make test"]);
        check(&[("GNUmakefile", "all:\n"), ("Makefile", "test:\n")], &[]);
        check(&[("go.mod", "module x")], &["go test ./..."]);
        let bench = Bench::new();
        assert_eq!(known(&bench.context.workspace, &["./ci.sh".into()]), ["./ci.sh"]);
    }

    #[test]
    fn a_justfile_a_deno_and_a_composer_project_have_checks() {
        check(&[("justfile", "test:\n  cargo test\n")], &["just test"]);
        check(&[("Justfile", "@check *args: build\n  ./check\n")], &["just check"]);
        check(&[("justfile", "test filter=\"\": build\n")], &["just test"]);
        check(&[("justfile", "test := \"x\"\ntests:\ntest name:\n")], &[]);
        check(&[("deno.json", r#"{"tasks":{"test":"deno test -A"}}"#)], &["deno task test"]);
        check(&[("deno.json", "{}"), ("src/a_test.ts", "")], &["deno test"]);
        check(&[("deno.json", "{}"), ("main.ts", "")], &[]);
        check(&[("composer.json", r#"{"scripts":{"test":"phpunit"}}"#)], &["composer test"]);
        check(&[("composer.json", r#"{"scripts":{"check":["@a"]}}"#)], &["composer check"]);
        check(&[("composer.json", "{}")], &[]);
    }

    #[test]
    fn builds_and_linters_are_found_too() {
        check(&[("Makefile", "build:\n\tcc x.c\n")], &["make build"]);
        check(&[("Makefile", "all:\nlint :\n\truff .\n")], &["make lint"]);
        check(&[("Makefile", "build := out\nbuild ::= out\nbuilds:\n")], &[]);
        check(&[("justfile", "lint:\nbuild:\n")], &["just build"]);
        check(
            &[("package.json", r#"{"scripts":{"eslint":"eslint .","dev":"x"}}"#)],
            &["npm run eslint"],
        );
        check(&[("composer.json", r#"{"scripts":{"lint":"phpcs"}}"#)], &["composer lint"]);
        check(&[("ruff.toml", "")], &["ruff check"]);
        check(&[("pyproject.toml", "[tool.ruff]\nline-length = 90\n")], &["ruff check"]);
        check(&[("tox.ini", "[testenv]\ncommands = python -m unittest\n")], &["tox"]);
        check(&[("tox.ini", "[testenv]\ncommands = pytest\n")], &["pytest"]);
        check(&[("noxfile.py", "import nox\n")], &["nox"]);
        check(&[("pom.xml", "<project/>")], &["mvn compile"]);
        check(&[("pom.xml", "<project/>"), ("src/test/java/T.java", "")], &["mvn test"]);
        check(&[("pom.xml", "<artifactId>junit</artifactId>"), ("mvnw", "")], &["./mvnw test"]);
        check(&[("build.gradle", "plugins { id 'java' }")], &["gradle build"]);
        check(&[("build.gradle.kts", "useJUnitPlatform()"), ("gradlew", "")], &["./gradlew test"]);
        let cmake = |text: &str, expected: &str| check(&[("CMakeLists.txt", text)], &[expected]);
        cmake("add_executable(x x.c)", "cmake -B build && cmake --build build");
        let tested = "cmake -B build && cmake --build build && ctest --test-dir build";
        cmake("Enable_Testing()\nadd_test(NAME a COMMAND a)", tested);
        let configured = [("CMakeLists.txt", ""), ("out/CMakeCache.txt", "")];
        check(&configured, &["cmake --build out"]);
    }

    #[test]
    fn tests_count_more_than_builds_and_these_more_than_linters() {
        let package = ("package.json", r#"{"scripts":{"lint":"x","build":"y"}}"#);
        check(&[package], &["npm run build"]);
        check(&[package, ("pytest.ini", "")], &["pytest"]);
        check(&[package, ("Makefile", "build:\ntest:\n")], &["make test"]);
        check(&[("Makefile", "lint:\n"), ("pom.xml", "")], &["mvn compile"]);
        check(&[("Makefile", "lint:\nbuild:\n"), ("Cargo.toml", "")], &["cargo test"]);
    }

    #[test]
    fn tests_in_python_are_run_by_what_they_are_written_for() {
        check(&[("pyproject.toml", "[tool.pytest.ini_options]")], &["pytest"]);
        check(&[("pytest.ini", ""), (".venv/bin/pytest", "")], &[".venv/bin/pytest"]);
        check(&[("conftest.py", ""), ("venv/bin/pytest", "")], &["venv/bin/pytest"]);
        check(&[("test_a.py", ""), (".venv/bin/pytest", "")], &[".venv/bin/pytest"]);
        check(&[("pyproject.toml", "[project]")], &[]);
        let (unit, plain) = ("import unittest\n", "def test_a():\n    assert True\n");
        check(&[("test_a.py", plain)], &["python3 -m pytest"]);
        check(&[("tests/test_a.py", plain), ("tests/test_b.py", unit)], &["python3 -m pytest"]);
        check(&[("test_a.py", unit)], &["python3 -m unittest"]);
        check(&[("tests/test_a.py", unit)], &["python3 -m unittest discover -s tests"]);
        let package = [("tests/test_a.py", unit), ("tests/__init__.py", "")];
        check(&package, &["python3 -m unittest discover -s tests -t ."]);
        check(&[("tests/data.py", unit), ("a.py", plain)], &[]);
    }
}
