//! Caches that an undo left out are named as long as they may be newer than what it put back.

use std::time::{Duration, SystemTime};

use super::{Scene, Walls};

const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55";

/// A workspace in which everything is an hour old: sources, and caches at the top and beneath.
fn scene() -> Scene {
    let scene = Scene::new(Walls::None);
    scene.prepare(&format!(
        "mkdir -p app/src app/target out .pytest_cache src/d
         for cache in app/target out .pytest_cache; do echo '{TAG}' > $cache/CACHEDIR.TAG; done
         echo one > app/src/lib.rs; echo one > top.c; echo one > src/d/old.c
         find . -type f -exec touch -d '1 hour ago' {{}} +"
    ));
    scene
}

/// Returns each cache with a file that is older.
fn stale(scene: &Scene) -> Vec<String> {
    let stale = scene.journal.stale_caches();
    stale.iter().map(|it| format!("{} {}", it.folder.display(), it.file.display())).collect()
}

#[test]
fn a_cache_beside_or_above_what_was_put_back_is_named() {
    let cases: [(&str, &[&str]); 8] = [
        ("echo two > app/src/lib.rs", &["app/target app/src/lib.rs", "out app/src/lib.rs"]),
        ("echo two > top.c", &["out top.c"]),
        ("rm top.c", &["out top.c"]),
        ("mv top.c other.c", &["out top.c"]),
        ("rm -r src", &["out src/d/old.c"]),
        // What it made goes, and nothing else has another content.
        ("echo new > new.c", &[]),
        ("chmod 600 top.c", &[]),
        ("touch top.c", &[]),
    ];
    for (script, expected) in cases {
        let scene = scene();
        let call = scene.change(script);
        assert_eq!(stale(&scene), [""; 0], "{script}");
        let undo = scene.undo(call);
        assert_eq!(stale(&scene), expected, "{script}");
        assert!(scene.journal.stale_caches().iter().all(|it| it.by == undo), "{script}");
    }
}

#[test]
fn it_is_named_until_the_file_has_another_time_or_the_cache_is_made_anew() {
    let made_anew = "mkdir new; cp out/CACHEDIR.TAG new; rm -r out; mv new out";
    for (script, expected) in [
        ("true", true),
        ("echo x > out/made; chmod 600 top.c", true),
        ("touch top.c", false),
        ("echo two > top.c", false),
        ("rm top.c", false),
        ("rm -r out", false),
        ("rm out/CACHEDIR.TAG", false),
        (made_anew, false),
    ] {
        let scene = scene();
        let call = scene.change("echo two > top.c");
        scene.undo(call);
        if script == made_anew {
            // One that is made in the second of the undo is in doubt.
            std::thread::sleep(Duration::from_millis(1100));
        }
        scene.prepare(script);
        assert_eq!(!stale(&scene).is_empty(), expected, "{script}");
    }
}

#[test]
fn a_redo_gives_old_times_too() {
    let scene = scene();
    let call = scene.change("echo two > top.c");
    let file = std::fs::File::options().append(true).open(scene.root().join("top.c")).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    let undo = scene.undo(call);
    let redo = scene.undo(undo);
    let named = scene.journal.stale_caches();
    assert_eq!(named.iter().map(|it| it.by).collect::<Vec<_>>(), [redo]);
    assert_eq!(stale(&scene), ["out top.c"]);
}

#[test]
fn where_caches_are_recorded_none_is_stale() {
    let scene = scene();
    let call = scene.change("echo two > top.c");
    scene.undo(call);
    let other = scene.opened_with(|options| options.leave_out_caches = false);
    assert_eq!(other.stale_caches(), []);
}
