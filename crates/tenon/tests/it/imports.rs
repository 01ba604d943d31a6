//! Arrows between files: none runs upwards in tenon-agent, and nowhere do files import each other in a
//! circle, whatever stands between them: what both need goes below both. A module and its own submodules
//! are one thing here, since each sees the other anyway.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::{none, rust_files};

/// The floors of tenon-agent, from the ground (ARCHITECTURE.md, Inside tenon-agent).
const FLOORS: &[&[&str]] = &[
    &[
        "deadline",
        "event",
        "host_presets",
        "input",
        "masking",
        "outcome",
        "policy",
        "queue",
        "session_note",
        "stored_paths",
    ],
    &["session", "tools"],
    &["context", "layers"],
    &["turn"],
    &["agent", "options"],
    &["replay"],
];

/// A file, by the names of its modules from the crate's root on.
type Module = Vec<String>;

/// What each file imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// Returns the module that a file is, given its path beneath `src`.
fn module_of(path: &str) -> Module {
    let mut names: Module =
        path.trim_end_matches(".rs").split('/').map(ToOwned::to_owned).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// Returns the paths that a file's program names in `use` declarations and, from `super` and `crate` on, in
/// its midst; without its tests.
fn used(text: &str) -> Vec<Module> {
    let program = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let (mut paths, mut open) = (Vec::new(), None::<String>);
    for line in program.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let declared = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "];
        let begun = declared.iter().find_map(|words| line.strip_prefix(words)).map(str::to_owned);
        let Some(tree) = open.take().map(|open| open + line).or(begun) else {
            paths.extend(inline(line));
            continue;
        };
        match tree.strip_suffix(';') {
            Some(tree) => spread(&[], tree, &mut paths),
            None => open = Some(tree),
        }
    }
    paths
}

/// Returns the paths in a line of code that begin with `super` or `crate`.
fn inline(line: &str) -> Vec<Module> {
    let of_path = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':' | '$');
    let words = line.split(|letter| !of_path(letter));
    let paths = words.map(|word| word.split("::").map(str::to_owned).collect::<Module>());
    paths.filter(|path| path.len() > 1 && matches!(&*path[0], "super" | "crate")).collect()
}

/// Adds each path of the tree of one declaration.
fn spread(above: &[String], tree: &str, paths: &mut Vec<Module>) {
    let (head, inner) = match tree.split_once('{') {
        Some((head, rest)) => (head, rest.rsplit_once('}').map(|(inner, _)| inner)),
        None => (tree.split(" as ").next().unwrap_or_default(), None),
    };
    let names = head.split("::").map(str::trim).filter(|name| !name.is_empty());
    let path: Module = above.iter().cloned().chain(names.map(ToOwned::to_owned)).collect();
    let Some(inner) = inner else {
        paths.push(path);
        return;
    };
    let (mut depth, mut start) = (0_i32, 0);
    for (at, letter) in inner.char_indices().chain([(inner.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inner.get(start..at).unwrap_or_default().trim();
                if !part.is_empty() {
                    spread(&path, part, paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Returns what each file of a crate imports of the others; `files` are paths beneath `src` with texts.
fn imports(files: &[(&str, &str)]) -> Imports {
    let modules: BTreeSet<Module> = files.iter().map(|(path, _)| module_of(path)).collect();
    let mut imports = Imports::new();
    for (path, text) in files {
        let own = module_of(path);
        for used in used(text) {
            let steps_up = used.iter().take_while(|name| *name == "super").count();
            let mut full: Module = match used.first().map(String::as_str) {
                Some("crate") => Vec::new(),
                Some("self") => own.clone(),
                Some("super") => own[..own.len() - steps_up].to_vec(),
                _ => own.clone(),
            };
            let is_named = matches!(used.first().map(String::as_str), Some("crate" | "self"));
            full.extend(used.into_iter().skip(steps_up + usize::from(is_named)));
            while !modules.contains(&full) && full.pop().is_some() {}
            if !full.starts_with(&own) && !own.starts_with(&full) {
                imports.entry(own.clone()).or_default().insert(full);
            }
        }
    }
    imports
}

/// Returns the shortest way from a file back to itself, for each file that has one.
fn circles(imports: &Imports) -> BTreeSet<Vec<String>> {
    let mut circles = BTreeSet::new();
    for start in imports.keys() {
        let mut ways: Vec<Vec<&Module>> = vec![vec![start]];
        let mut seen = BTreeSet::new();
        let mut next = 0;
        while let Some(way) = ways.get(next).cloned() {
            next += 1;
            for to in way.last().and_then(|last| imports.get(*last)).into_iter().flatten() {
                if to == start {
                    let mut names: Vec<String> =
                        way.iter().map(|module| module.join("::")).collect();
                    let first = names.iter().enumerate().min_by_key(|(_, name)| (*name).clone());
                    let at = first.map_or(0, |(at, _)| at);
                    names.rotate_left(at);
                    circles.insert(names);
                } else if seen.insert(to) {
                    ways.push(way.iter().copied().chain([to]).collect());
                }
            }
        }
    }
    circles
}

/// Returns what the files of each crate import of their own crate.
fn all_imports() -> BTreeMap<String, Imports> {
    let mut crates: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (path, text) in rust_files() {
        let path = path.to_string_lossy().into_owned();
        let parts = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        let Some((name, beneath)) = parts else { continue };
        if !beneath.ends_with("tests.rs") && !beneath.contains("tests/") {
            crates.entry(name.to_owned()).or_default().push((beneath.to_owned(), text));
        }
    }
    let all = |(name, files): (String, Vec<(String, String)>)| {
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        (name, imports(&files))
    };
    let all: BTreeMap<String, Imports> = crates.into_iter().map(all).collect();
    let count: usize = all.values().flat_map(Imports::values).map(BTreeSet::len).sum();
    assert!(count > 1000, "imports were not read: {count}");
    all
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let told = |(name, imports): (String, Imports)| {
        let told = |circle: Vec<String>| format!("{name}: {}", circle.join(" → "));
        circles(&imports).into_iter().map(told).collect::<Vec<_>>()
    };
    none(all_imports().into_iter().flat_map(told).collect(), "files import each other in a circle");
}

#[test]
fn no_arrow_runs_upwards_in_the_agent() {
    let floor = |module: &Module| {
        let top = module.first()?.as_str();
        FLOORS.iter().position(|floor| floor.contains(&top))
    };
    let mut found = Vec::new();
    for (from, imported) in all_imports().remove("tenon-agent").unwrap() {
        for to in imported {
            let is_fine = floor(&from).zip(floor(&to)).is_some_and(|(from, to)| to <= from);
            if !is_fine {
                found.push(format!("{} → {}", from.join("::"), to.join("::")));
            }
        }
    }
    none(found, "an arrow runs upwards, or a file has no floor");
}

#[test]
fn circles_are_found_through_any_form_of_import() {
    let check = |files: &[(&str, &str)], expected: &[&str]| {
        let found: Vec<String> =
            circles(&imports(files)).into_iter().map(|circle| circle.join(" ")).collect();
        assert_eq!(found, expected, "{files:?}");
    };
    check(&[("a.rs", "use super::b::B;\n"), ("b.rs", "use std::fmt;\n")], &[]);
    check(&[("a.rs", "use super::b::B;\n"), ("b.rs", "use crate::a;\n")], &["a b"]);
    check(
        &[
            ("a.rs", "pub(super) fn f() {\n    g(&super::b::B)\n}\n"),
            ("b.rs", "type A = crate::a::A;\n"),
        ],
        &["a b"],
    );
    check(
        &[
            ("a.rs", "//! A.\n\nuse crate::{\n    c::{D, E as F},\n    b::one,\n};\n"),
            ("b/mod.rs", "use self::x::Y;\npub(crate) use super::c::Z;\n"),
            ("b/x.rs", "use super::B;\n"),
            ("c.rs", "fn f() {}\nuse crate::a::A;\n"),
        ],
        &["a b c", "a c"],
    );
    check(
        &[
            ("a.rs", "use crate::b::B;\n"),
            ("b.rs", "use super::c;\n"),
            ("c.rs", "use super::{a::A};\n#[cfg(test)]\nmod tests {\n    use crate::d::D;\n}\n"),
            ("d.rs", "use crate::c::C;\n"),
        ],
        &["a b c"],
    );
    check(&[("a/mod.rs", "mod b;\nuse b::B;\n"), ("a/b.rs", "use super::A;\n")], &[]);
}
