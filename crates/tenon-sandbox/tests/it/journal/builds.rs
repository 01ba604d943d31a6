//! Builds of whole projects, and very many new files, each undone, redone and undone again.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tenon_sandbox::{Exit, LeftOut, LeftOutReason};

use super::commands::check_as;
use super::tree::difference;
use super::{Scene, Walls, as_ordinary_user, as_ordinary_user_with};
use crate::skipped::skipped;
use crate::walls::printed;

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
fn scene(walls: Walls, prepared: &str) -> Scene {
    let caches = |options: &mut tenon_sandbox::JournalOptions| options.leave_out_caches = false;
    let scene = Scene::at(&std::env::temp_dir(), walls, caches);
    scene.prepare(&format!("set -e; umask 022; {prepared}"));
    scene
}

fn check(scene: &Scene, script: &str) {
    let outcome = check_as(scene, &Scene::tree, script, &[]);
    assert_eq!(outcome, Ok(()), "{script}");
}

/// Returns what builds a crate and runs it; says why and returns nothing where that cannot be.
fn cargo_build() -> Option<String> {
    // The program itself, not rustup's stand-in, which looks for a home of its own.
    let Some(cargo) = std::env::var_os("CARGO") else {
        skipped("cargo did not start this test");
        return None;
    };
    let cargo = Path::new(&cargo);
    if std::fs::File::open(cargo).is_err() {
        skipped(format_args!("{} is closed to this user", cargo.display()));
        return None;
    }
    let tools = cargo.parent()?.display();
    Some(format!(
        "export PATH={tools}:$PATH CARGO_HOME=\"$HOME/.cargo\"; cargo build -q --offline && \
         ./target/debug/tiny"
    ))
}

/// The scene with the toolchain, which lies in a home.
fn with_toolchain(scene: Scene, walls: Walls) -> Scene {
    let cargo = PathBuf::from(std::env::var_os("CARGO").unwrap_or_default());
    match cargo.parent().and_then(Path::parent) {
        Some(toolchain) => scene.seeing(walls, toolchain),
        None => scene,
    }
}

/// Returns a folder with the toolchain for everybody: it may lie in a home that is closed. Its files get further
/// names there, which takes neither time nor room; nothing where they cannot have them.
fn readable_toolchain() -> Option<TempDir> {
    let cargo = PathBuf::from(std::env::var_os("CARGO")?);
    let toolchain = cargo.parent()?.parent()?;
    let link = |place: &Path| {
        let folder = tempfile::Builder::new().prefix("toolchain").tempdir_in(place).ok()?;
        let bin = folder.path().join("bin");
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).ok()?;
        std::fs::create_dir(&bin).ok()?;
        let copy = |names: &[&str], to: &Path| {
            let files = names.iter().map(|name| toolchain.join(name));
            let done = Command::new("cp").arg("-al").args(files).arg(to).output();
            done.ok()?.status.success().then_some(())
        };
        copy(&["bin/cargo", "bin/rustc"], &bin)?;
        copy(&["lib"], folder.path())?;
        Some(folder)
    };
    [Path::new("/var/tmp"), &std::env::temp_dir()].into_iter().find_map(link)
}

fn check_cargo(walls: Walls) {
    let Some(build) = cargo_build() else { return };
    let scene = with_toolchain(scene(walls, CRATE), walls);
    check(&scene, &build);
    // Over what an earlier build left.
    scene.prepare(&build);
    check(&scene, &format!("sed -i s/one/two/ src/main.rs; {build}"));
}

const NPM_BUILD: &str = "npm install --offline --no-audit --no-fund --silent && npm run build --silent && \
                         grep -q 42 dist/a/out.js";

fn check_npm(scene: &Scene) {
    if !Path::new("/usr/bin/npm").exists() {
        return skipped("there is no npm");
    }
    check(scene, NPM_BUILD);
    scene.prepare(NPM_BUILD);
    check(scene, &format!("printf 'module.exports = 420;' > dep/i.js; rm -rf dist; {NPM_BUILD}"));
}

#[test]
fn a_cargo_build_is_undone() {
    check_cargo(Walls::None);
}

#[test]
fn an_npm_install_and_build_are_undone() {
    check_npm(&scene(Walls::None, PACKAGE));
}

#[test]
fn a_cargo_build_is_undone_in_tier_a() {
    check_cargo(Walls::A);
}

#[test]
fn an_npm_install_and_build_are_undone_in_tier_a() {
    check_npm(&scene(Walls::A, PACKAGE));
}

/// With the options as they usually are: what npm makes is no cache.
#[test]
fn an_npm_install_and_build_are_undone_in_tier_a_where_caches_are_left_out() {
    let scene = Scene::new(Walls::A);
    scene.prepare(&format!("set -e; umask 022; {PACKAGE}"));
    check_npm(&scene);
}

/// With the options as they usually are: what lies in a cache is left out and said so, and the rest is undone.
#[test]
fn of_a_cargo_build_in_tier_a_what_lies_in_target_is_left_out_and_the_rest_is_undone() {
    let Some(build) = cargo_build() else { return };
    let scene = with_toolchain(Scene::new(Walls::A), Walls::A);
    scene.prepare(&format!("set -e; umask 022; {CRATE}"));
    // A build that makes its `target` is undone with it.
    let before = scene.tree();
    let (output, changes) = scene.run(&build);
    assert_eq!(output.exit, Exit::Code(0), "{}", printed(&output));
    scene.undo(changes.id.unwrap());
    assert_eq!(difference(&before, &scene.tree()), "");
    scene.prepare(&build);
    let without_target = || {
        let mut tree = scene.tree();
        tree.retain(|path, _| !path.starts_with("target"));
        tree
    };
    let before = without_target();
    let (output, changes) = scene.run(&format!("sed -i s/one/two/ src/main.rs; {build}"));
    assert_eq!(output.exit, Exit::Code(0), "{}", printed(&output));
    let left_out = LeftOut { path: "target".into(), reason: LeftOutReason::Cache };
    assert_eq!(changes.left_out, [left_out]);
    let after = without_target();
    let undone = scene.undo(changes.id.unwrap());
    assert_eq!(difference(&before, &without_target()), "");
    scene.undo(undone);
    assert_eq!(difference(&after, &without_target()), "");
}

#[test]
fn twenty_thousand_new_files_are_undone() {
    let scene = scene(Walls::None, "mkdir there; echo a > there/a");
    let files = "python3 -c \"
import os
os.mkdir('many')
for n in range(20000):
    with open('%s/%d' % ('there' if n % 2 else 'many', n), 'w') as file: file.write(str(n))\"";
    check(&scene, files);
}

#[test]
fn a_cargo_build_is_undone_for_an_ordinary_user() {
    let toolchain = readable_toolchain();
    let cargo = toolchain.as_ref().map(|folder| folder.path().join("bin/cargo"));
    let variables = cargo.iter().filter_map(|cargo| Some(("CARGO", cargo.to_str()?)));
    as_ordinary_user_with("builds::a_cargo_build_is_undone", &variables.collect::<Vec<_>>());
}

#[test]
fn an_npm_install_and_build_are_undone_for_an_ordinary_user() {
    as_ordinary_user("builds::an_npm_install_and_build_are_undone");
}

#[test]
fn twenty_thousand_new_files_are_undone_for_an_ordinary_user() {
    as_ordinary_user("builds::twenty_thousand_new_files_are_undone");
}
