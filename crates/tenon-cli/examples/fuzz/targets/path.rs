//! The workspace: paths that models write.

use std::{fs, io::Read, os::unix::fs::symlink, path::PathBuf};

use tempfile::TempDir;
use tenon_sandbox::{Expected, WalkOptions, Workspace};

use super::{Check, Target, shape, temporary_folder};

/// What lies outside and must never be read or changed.
const SECRET: &str = "only outside the workspace";
/// A name outside that no input has: a list that holds it comes from there.
const UNSPOKEN: &str = "zq7-listed-only-from-outside";
/// Writes leave files behind; after so many the folder is made afresh.
const WRITES_MAX: usize = 2_000;

pub(crate) const TARGET: Target = Target {
    name: "path",
    promise: "no path reads, writes or lists anything outside the workspace",
    seeds: &[
        b"a.txt",
        b"folder/b.txt",
        b"../outside/secret.txt",
        b"/etc/passwd",
        b"./folder/../a.txt",
        b"link_in",
        b"link_out/secret.txt",
        b"link_absolute",
        b"loop/x",
        b"folder/up/../../outside/secret.txt",
        b"new/deep/file.txt",
        b"ROOT/a.txt",
        b"ROOT/../outside/secret.txt",
        b"~/x",
        b"$HOME/x",
        b"",
    ],
    words: &[
        "..",
        "../",
        "/",
        "//",
        "./",
        "a.txt",
        "folder",
        "link_in",
        "link_out",
        "link_absolute",
        "link_folder",
        "loop",
        "secret.txt",
        "outside",
        "ROOT",
        "/proc/self/root",
        "/proc/self/fd/0",
        "/dev/zero",
        "\0",
        "\n",
        "~",
        ".git/config",
        "汉",
        "\u{2024}\u{2024}/",
        "%2e%2e/",
        "\\..\\",
    ],
    start: || -> Check {
        let mut world = World::new();
        Box::new(move |input| {
            if world.writes > WRITES_MAX {
                world = World::new();
            }
            world.check(&String::from_utf8_lossy(input))
        })
    },
};

struct World {
    folder: TempDir,
    workspace: Workspace,
    writes: usize,
}

impl World {
    fn new() -> Self {
        let folder = temporary_folder();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        let made = || -> std::io::Result<()> {
            fs::create_dir_all(root.join("folder"))?;
            fs::create_dir(&outside)?;
            fs::write(outside.join("secret.txt"), SECRET)?;
            fs::write(outside.join(UNSPOKEN), "")?;
            fs::write(root.join("a.txt"), "a")?;
            fs::write(root.join("folder/b.txt"), "b")?;
            symlink("a.txt", root.join("link_in"))?;
            symlink("folder", root.join("link_folder"))?;
            symlink("../outside", root.join("link_out"))?;
            symlink(outside.join("secret.txt"), root.join("link_absolute"))?;
            symlink("loop", root.join("loop"))?;
            symlink("..", root.join("folder/up"))
        };
        assert!(made().is_ok(), "the folders cannot be made");
        let Ok(workspace) = Workspace::open(&root) else {
            panic!("the workspace cannot be opened")
        };
        Self { folder, workspace, writes: 0 }
    }

    fn check(&mut self, path: &str) -> u64 {
        let path = path.replace("ROOT", &self.workspace.root().to_string_lossy());
        let located = self.workspace.locate(&path);
        if let Ok(location) = &located {
            let root = self.workspace.root();
            assert!(
                location.absolute.starts_with(root),
                "{path:?} leads to {:?}",
                location.absolute
            );
            let plain = |part| matches!(part, std::path::Component::Normal(_));
            assert!(
                location.beneath.components().all(plain),
                "{path:?} is not resolved: {:?}",
                location.beneath
            );
        }
        let mut read = Vec::new();
        let opened =
            self.workspace.open_file(&path).map(|mut file| file.read_to_end(&mut read).is_ok());
        assert!(read != SECRET.as_bytes(), "{path:?} reads from outside");
        let walked = self.workspace.walk(&path, WalkOptions::default()).map(|walk| {
            walk.filter_map(Result::ok)
                .take(100)
                .inspect(|entry| {
                    assert!(!entry.path.ends_with(UNSPOKEN), "{path:?} lists outside");
                })
                .count()
                > 0
        });
        let written = self.workspace.write(&path, b"w", Expected::Any);
        self.writes += usize::from(written.is_ok());
        if written.is_ok() {
            let read = self.workspace.read(&path, 10);
            assert_eq!(
                read.ok().as_deref(),
                Some(&b"w"[..]),
                "{path:?} was written and reads otherwise"
            );
        }
        self.check_outside(&path);
        let kind = |error: &tenon_sandbox::FileError| {
            format!("{error:?}").split([' ', '{']).next().map(str::to_owned)
        };
        shape(&(
            (path.matches("..").count().min(3), path.matches("link").count().min(3)),
            located
                .as_ref()
                .map(|location| (location.beneath.components().count().min(3), location.protected))
                .map_err(kind),
            opened.as_ref().map_err(kind),
            walked.as_ref().map_err(kind),
            written.as_ref().map(|written| written.created).map_err(kind),
        ))
    }

    fn check_outside(&self, path: &str) {
        let outside = self.folder.path().join("outside");
        let secret = fs::read(outside.join("secret.txt")).unwrap_or_default();
        assert!(secret == SECRET.as_bytes(), "{path:?} changes what is outside");
        let names = |folder: PathBuf| fs::read_dir(folder).map(Iterator::count).unwrap_or_default();
        assert_eq!(
            (names(outside), names(self.folder.path().to_path_buf())),
            (2, 2),
            "{path:?} leaves something outside"
        );
    }
}
