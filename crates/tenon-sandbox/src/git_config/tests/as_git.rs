//! Whatever git reads in a file of settings is read here, too, or the file is not accepted.

#[path = "../../../../../tests/support/skipped.rs"]
mod skipped;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use self::skipped::skipped;
use super::entries;

static PARTS: [&str; 42] = [
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{a0}",
    "\u{3000}",
    "\u{feff}",
    "\"",
    "\"\"",
    "\"  \"",
    "\"a b\"",
    "\"#;\"",
    "\\",
    "\\\\",
    "\\\"",
    "\\n",
    "\\t",
    "\\b",
    "\\\n",
    "\\\r\n",
    "\\\r",
    "#",
    ";",
    "=",
    "a",
    "b-1",
    "é",
    "\n# c \\\n",
    "\n[a]\n",
    "\n[A \"b c\"]",
    "\n[a \"\\\"\\\\\"]\r\n",
    "\n[a.B]\n",
    "\n[a\t\"\"]",
    "\nv\n",
    "\nv = ",
    "\r\n\tV-2=",
    " \\\n  ",
];

static HEADS: [&str; 4] = ["[a]", "[a \"b\"]\n", "\u{feff}[a.B]\r\n", "[A \"\u{3000}\\b\"]\n"];

fn text() -> impl Strategy<Value = String> {
    let parts = proptest::collection::vec(proptest::sample::select(&PARTS[..]), 0..9);
    (proptest::sample::select(&HEADS[..]), parts)
        .prop_map(|(head, parts)| format!("{head}u ={}", parts.concat()))
}

/// Returns the names and values that git reads in each text; `None` where it does not accept it.
#[expect(clippy::disallowed_methods, reason = "has git read files that the test makes")]
fn read_by_git(texts: &[String]) -> Vec<Option<Vec<(String, String)>>> {
    let folder = tempfile::tempdir().unwrap();
    let file = |number: usize, ending: &str| folder.path().join(format!("{number}{ending}"));
    for (number, text) in texts.iter().enumerate() {
        std::fs::write(file(number, ""), text).unwrap();
    }
    let script = "for file in *; do git config -f $file -z --list >$file.read 2>/dev/null && mv $file.read $file.ok; done; true";
    let status = std::process::Command::new("bash")
        .args(["-c", script])
        .current_dir(&folder)
        .env("HOME", "/nonexistent")
        .status();
    assert!(status.unwrap().success());
    let read = |number| {
        let listed = std::fs::read(file(number, ".ok")).ok()?;
        let listed = String::from_utf8(listed).unwrap();
        let pair = |setting: &str| {
            let (name, value) = setting.split_once('\n').unwrap_or((setting, ""));
            (name.to_owned(), value.to_owned())
        };
        Some(listed.split_terminator('\0').map(pair).collect())
    };
    (0..texts.len()).map(read).collect()
}

#[expect(clippy::disallowed_methods, reason = "asks whether there is git")]
fn has_git() -> bool {
    std::process::Command::new("git").arg("--version").output().is_ok()
}

fn check(texts: &[String]) -> Result<usize, TestCaseError> {
    let mut agreed = 0;
    for (text, read) in texts.iter().zip(read_by_git(texts)) {
        if let (Some(read), Some(entries)) = (read, entries(text)) {
            let found: Vec<_> = entries.into_iter().map(|it| (it.shown(), it.value)).collect();
            prop_assert_eq!(found, read, "{:?}", text);
            agreed += 1;
        }
    }
    Ok(agreed)
}

#[test]
fn names_and_values_are_those_that_git_reads() {
    if !has_git() {
        return skipped("there is no git");
    }
    let config = ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() };
    let texts = proptest::collection::vec(text(), 40);
    let agree = |texts: Vec<String>| {
        prop_assert!(check(&texts)? > 0);
        Ok(())
    };
    TestRunner::new(config).run(&texts, agree).unwrap();
}

#[test]
fn blanks_are_those_of_git() {
    if !has_git() {
        return skipped("there is no git");
    }
    let values = [
        "\u{3000}origin",
        "origin\u{c}",
        "\u{b}a",
        "\u{a0}a\u{85}",
        "\\\n   file:///a",
        "\"\"  file:///a",
        "\"\" \"\" a",
        "a \\\n",
        "a \\\n  # c",
        "a \"\"",
        "a\tb ; c",
        "\" \" a",
        " \r a\r",
        "\" a \"  ",
    ];
    let texts = values.map(|value| format!("[a]\nu ={value}\n"));
    assert_eq!(check(&texts).unwrap(), texts.len());
}
