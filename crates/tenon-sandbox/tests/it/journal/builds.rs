//! Builds of whole projects, and very many new files, each undone, redone and undone again.

use std::path::Path;

use super::commands::check_as;
use super::{Scene, Walls, as_ordinary_user};
use crate::skipped::skipped;

/// A crate without dependencies, so that no registry is asked.
const CRATE: &str = r#"
mkdir -p src
printf '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml
printf 'fn main() { println!("one"); }\n' > src/main.rs
"#;

/// A package that another needs by its folder, and a build of its own.
const PACKAGE: &str = r#"
mkdir dep
printf '{"name":"dep","version":"1.0.0","main":"i.js"}' > dep/package.json
printf 'module.exports = 42;' > dep/i.js
printf '%s' '{"name":"tiny","version":"1.0.0","dependencies":{"dep":"file:./dep"},
  "scripts":{"build":"node build.js"}}' > package.json
printf '%s' 'const f = require("fs"); f.mkdirSync("dist/a", {recursive: true});
  f.writeFileSync("dist/a/out.js", String(require("dep")));' > build.js
"#;

/// What a folder with a `CACHEDIR.TAG` had before is saved, too: cargo puts one into `target`.
fn scene(prepared: &str) -> Scene {
    let caches = |options: &mut tenon_sandbox::JournalOptions| options.leave_out_caches = false;
    let scene = Scene::at(&std::env::temp_dir(), Walls::None, caches);
    scene.prepare(&format!("set -e; umask 022; {prepared}"));
    scene
}

fn check(scene: &Scene, script: &str) {
    let outcome = check_as(scene, &Scene::tree, script, &[]);
    assert_eq!(outcome, Ok(()), "{script}");
}

#[test]
fn a_cargo_build_is_undone() {
    // The program itself, not rustup's stand-in, which looks for a home of its own.
    let Some(cargo) = std::env::var_os("CARGO") else {
        return skipped("cargo did not start this test");
    };
    let cargo = Path::new(&cargo);
    if std::fs::File::open(cargo).is_err() {
        return skipped(format_args!("{} is closed to this user", cargo.display()));
    }
    let tools = cargo.parent().unwrap().display();
    let build = format!(
        "export PATH={tools}:$PATH CARGO_HOME=\"$HOME/.cargo\"; cargo build -q --offline && \
         ./target/debug/tiny"
    );
    let scene = scene(CRATE);
    check(&scene, &build);
    // Over what an earlier build left.
    scene.prepare(&build);
    check(&scene, &format!("sed -i s/one/two/ src/main.rs; {build}"));
}

#[test]
fn an_npm_install_and_build_are_undone() {
    if !Path::new("/usr/bin/npm").exists() {
        return skipped("there is no npm");
    }
    let build = "npm install --offline --no-audit --no-fund --silent && npm run build --silent && \
                 grep -q 42 dist/a/out.js";
    let scene = scene(PACKAGE);
    check(&scene, build);
    scene.prepare(build);
    check(&scene, &format!("printf 'module.exports = 420;' > dep/i.js; rm -rf dist; {build}"));
}

fn check_new_files(count: usize) {
    let scene = scene("mkdir there; echo a > there/a");
    let files = format!(
        "python3 -c \"
import os
os.mkdir('many')
for n in range({count}):
    with open('%s/%d' % ('there' if n % 2 else 'many', n), 'w') as file: file.write(str(n))\""
    );
    check(&scene, &files);
}

#[test]
fn twenty_thousand_new_files_are_undone() {
    check_new_files(20_000);
}

/// As many as an ordinary user makes here, too.
#[test]
fn four_thousand_new_files_are_undone() {
    check_new_files(4_000);
}

#[test]
fn a_cargo_build_is_undone_for_an_ordinary_user() {
    as_ordinary_user("builds::a_cargo_build_is_undone");
}

#[test]
fn an_npm_install_and_build_are_undone_for_an_ordinary_user() {
    as_ordinary_user("builds::an_npm_install_and_build_are_undone");
}

#[test]
fn four_thousand_new_files_are_undone_for_an_ordinary_user() {
    as_ordinary_user("builds::four_thousand_new_files_are_undone");
}
