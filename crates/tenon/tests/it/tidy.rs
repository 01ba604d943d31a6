//! What no compiler checks: sizes, lists, promises of ARCHITECTURE.md, the number of crates.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
/// Crates in the dependency tree on Linux, without the built-in model.
const CRATES_MAX: usize = 280;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

pub(crate) fn rust_files() -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().join("crates"), root().join("tests")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((path.strip_prefix(root()).unwrap().to_path_buf(), text));
            }
        }
    }
    assert!(files.len() > 30, "the source files were not found");
    files.sort();
    files
}

/// Returns how many lines the function takes that begins with the first of `lines`; 0 if none
/// begins there or it has no body.
fn function_lines(lines: &[&str]) -> usize {
    let code = lines[0].trim_start();
    let words: Vec<&str> = code.split_whitespace().take_while(|word| *word != "fn").collect();
    let is_function = code.split_whitespace().any(|word| word == "fn")
        && words.iter().all(|word| {
            word.starts_with("pub")
                || ["async", "const", "unsafe", "extern", "\"C\""].contains(word)
        });
    let signature_end = lines.iter().position(|line| line.ends_with(['{', ';', '}'])).unwrap_or(0);
    if !is_function || !lines[signature_end].ends_with('{') {
        return 0;
    }
    let end = format!("{}}}", &lines[0][..lines[0].len() - code.len()]);
    lines.iter().position(|line| *line == end).map_or(0, |last| last + 1)
}

pub(crate) fn none(found: Vec<String>, rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

#[test]
fn files_and_functions_fit_their_limits() {
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > FILE_LINES_MAX {
            found.push(format!("{}: {} lines", path.display(), lines.len()));
        }
        // Tests are tables; a table is as long as it is.
        let is_test = path.iter().any(|part| part == "tests");
        let program = lines.iter().take_while(|line| **line != "#[cfg(test)]").count();
        for (start, line) in lines.iter().enumerate().take(if is_test { 0 } else { program }) {
            let length = function_lines(&lines[start..]);
            if length > FUNCTION_LINES_MAX {
                found.push(format!("{}:{}: {length} lines: {line}", path.display(), start + 1));
            }
        }
    }
    none(found, "a file or a function is too long");
}

#[test]
fn the_loop_stays_small() {
    let loop_file = root().join("crates/tenon-agent/src/agent.rs");
    let lines = std::fs::read_to_string(loop_file).unwrap().lines().count();
    assert!(lines < 150, "{lines} lines");
}

#[test]
fn every_tool_provider_and_subcommand_is_listed_and_tested() {
    let mut found = Vec::new();
    let folders = [
        "crates/tenon-agent/src/tools",
        "crates/tenon-model/src/providers",
        "crates/tenon-cli/src/commands",
    ];
    let files = rust_files();
    let integration: String = files
        .iter()
        .filter(|(path, _)| path.components().any(|part| part.as_os_str() == "tests"))
        .map(|(_, text)| text.as_str())
        .collect();
    for folder in folders {
        let list = std::fs::read_to_string(root().join(folder).join("mod.rs")).unwrap();
        for (path, text) in
            files.iter().filter(|(path, _)| path.parent() == Some(Path::new(folder)))
        {
            let name = path.file_stem().unwrap().to_str().unwrap();
            if name == "mod" || list.contains(&format!("#[cfg(test)]\npub(crate) mod {name};")) {
                continue;
            }
            if !list.contains(&format!("mod {name};")) {
                found.push(format!("{}: not in the list of mod.rs", path.display()));
            }
            if !text.contains("#[test]")
                && !text.contains("#[tokio::test]")
                && !text.contains("mod tests;")
                && !integration.contains(&name.replace('_', "-"))
                && !integration.contains(name)
            {
                found.push(format!("{}: no test speaks of it", path.display()));
            }
        }
    }
    none(found, "forgotten files");
}

#[test]
fn every_file_of_an_integration_test_is_named_in_its_main() {
    let mut found = Vec::new();
    for (path, _) in rust_files() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_test =
            |parent: &Path| parent.ends_with("tests/it") || parent.ends_with("tests/tmux");
        if path.parent().is_some_and(is_test) && name != "main" {
            let main =
                std::fs::read_to_string(root().join(path.with_file_name("main.rs"))).unwrap();
            if !main.contains(&format!("mod {name};")) {
                found.push(path.display().to_string());
            }
        }
    }
    none(found, "a test file is never run");
}

#[test]
fn nothing_is_left_unfinished() {
    // Put together so that this file does not find itself.
    let marks =
        [["to", "do!("], ["unimple", "mented!("], ["FIX", "ME"], ["XX", "X "], ["#[igno", "re"]]
            .map(|parts| parts.concat());
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            if marks.iter().any(|mark| line.contains(mark.as_str())) {
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    none(found, "unfinished");
}

#[test]
fn paths_named_in_the_docs_exist() {
    let mut found = Vec::new();
    let pages = [
        "ARCHITECTURE.md",
        "STYLE.md",
        "CONTRIBUTING.md",
        "DEVELOPERS.md",
        "README.md",
        "README.zh-CN.md",
    ];
    for page in pages {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let quoted = text.split('`').skip(1).step_by(2);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for path in quoted.chain(links) {
            let path = path.split('#').next().unwrap();
            let is_path =
                ["crates/", "docs/", "benches/", "examples/", "evals/", "fuzz/", "tests/"]
                    .iter()
                    .any(|start| path.starts_with(start));
            if is_path && !path.contains(['*', ' ', '…']) && !root().join(path).exists() {
                found.push(format!("{page}: {path}"));
            }
        }
    }
    none(found, "the docs name what is not there");
}

#[test]
fn the_dependency_tree_stays_small_and_each_dependency_has_its_reason() {
    let cargo = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO")).current_dir(root()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let tree = cargo(&[
        "tree",
        "-e",
        "normal",
        "-p",
        "tenon",
        "--no-default-features",
        "--prefix",
        "none",
        "--offline",
        "--locked",
        "--target",
        "x86_64-unknown-linux-gnu",
    ]);
    let crates: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    assert!(crates.len() <= CRATES_MAX, "{} crates", crates.len());

    let reasons = std::fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let direct = cargo(&[
        "tree",
        "-e",
        "normal,dev",
        "--workspace",
        "--depth",
        "1",
        "--prefix",
        "none",
        "--offline",
        "--locked",
    ]);
    let missing: BTreeSet<&str> = direct
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| !name.is_empty() && !name.starts_with("tenon"))
        .filter(|name| !reasons.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "docs/dependencies.md says nothing of {missing:?}");
}
