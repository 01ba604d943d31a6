//! The journal: whatever a call does to the files is undone, and redone, byte for byte.

#![expect(clippy::panic, reason = "a test that finds another outcome has failed")]

mod beside;
mod beside_undone;
mod builds;
mod changed_by;
mod closed;
mod commands;
mod compared;
mod conflicts;
mod crash;
mod cut;
mod depth;
mod direct;
mod forbidden;
mod foreign;
mod full;
mod fuzz;
mod git;
mod held;
mod home;
mod idle;
mod interleaved;
mod killed_together;
pub(crate) mod layers;
mod limits;
mod lists;
mod moved_roots;
mod not_kept;
mod other_folders;
mod person;
mod protected;
mod replaced_roots;
mod set_id;
mod several;
mod single;
mod stale;
mod theirs;
mod tree;
mod unchanged;
mod way_back;

use std::path::{Path, PathBuf};

use tenon_sandbox::{
    Changes, Checkpoint, CheckpointId, Command, CommandLimits, Conflicts, Exit,
    GUARDED_FOLDERS_MAX, Journal, JournalOptions, Limits, Output, Profile, Sandbox, Settings, Tier,
    Undone, Wanted, Workspace, child_environment,
};
use tokio_util::sync::CancellationToken;

use crate::support::{TIMEOUT, runtime};
use crate::walls::printed;
use tree::{Tree, tree};

/// How commands are held while they are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walls {
    A,
    B,
    C,
    None,
}

/// A workspace, its journal, and a sandbox.
pub(crate) struct Scene {
    pub(crate) top: tempfile::TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) journal: Journal,
    pub(crate) sandbox: Sandbox,
    pub(crate) profile: Profile,
}

impl Scene {
    pub(crate) fn new(walls: Walls) -> Self {
        Self::at(&std::env::temp_dir(), walls, |_| {})
    }

    pub(crate) fn at(above: &Path, walls: Walls, change: impl FnOnce(&mut JournalOptions)) -> Self {
        let top = tempfile::Builder::new().prefix("journal").tempdir_in(above).unwrap();
        for name in ["work", "home", "state"] {
            std::fs::create_dir(top.path().join(name)).unwrap();
        }
        Self::with(top, walls, change)
    }

    /// The scene that is in a folder already, which stays when this goes.
    pub(crate) fn in_folder(
        folder: &Path,
        walls: Walls,
        change: impl FnOnce(&mut JournalOptions),
    ) -> Self {
        let mut scene = Self::at(&std::env::temp_dir(), walls, |_| {});
        let other = Self::open(folder, walls, change);
        (scene.workspace, scene.journal, scene.sandbox, scene.profile) = other;
        scene
    }

    fn with(
        top: tempfile::TempDir,
        walls: Walls,
        change: impl FnOnce(&mut JournalOptions),
    ) -> Self {
        let (workspace, journal, sandbox, profile) = Self::open(top.path(), walls, change);
        Self { top, workspace, journal, sandbox, profile }
    }

    fn open(
        top: &Path,
        walls: Walls,
        change: impl FnOnce(&mut JournalOptions),
    ) -> (Workspace, Journal, Sandbox, Profile) {
        let path = top.canonicalize().unwrap();
        let workspace = Workspace::open(&path.join("work")).unwrap();
        let mut options = JournalOptions::new(path.join("state"));
        change(&mut options);
        let journal = Journal::open(&workspace, options).unwrap();
        let settings = Self::settings(&path, &workspace, &journal, walls);
        let profile = match walls {
            Walls::None => Profile::unconfined(),
            _ => Profile::workspace(&workspace),
        };
        (workspace, journal, Sandbox::new(settings), profile)
    }

    fn settings(top: &Path, workspace: &Workspace, journal: &Journal, walls: Walls) -> Settings {
        Settings {
            roots: workspace.roots(),
            home: Some(top.join("home")),
            covered: Vec::new(),
            readable: Vec::new(),
            ways: Vec::new(),
            toolchains: Vec::new(),
            virtual_environment: None,
            hidden: journal.folders(),
            own: Vec::new(),
            state: None,
            shown: Vec::new(),
            wanted: Wanted::Exactly(match walls {
                Walls::B => Tier::B,
                Walls::C => Tier::C,
                Walls::A | Walls::None => Tier::A,
            }),
            limits: Limits::default(),
            guarded_folders_max: GUARDED_FOLDERS_MAX,
        }
    }

    /// The same scene, whose commands see one more folder.
    pub(crate) fn seeing(mut self, walls: Walls, folder: &Path) -> Self {
        let top = self.top.path().canonicalize().unwrap();
        let mut settings = Self::settings(&top, &self.workspace, &self.journal, walls);
        settings.readable.push(folder.to_path_buf());
        self.sandbox = Sandbox::new(settings);
        self
    }

    /// The same journal as another process opens it.
    pub(crate) fn opened_again(&self) -> Journal {
        self.opened_with(|_| {})
    }

    pub(crate) fn opened_with(&self, change: impl FnOnce(&mut JournalOptions)) -> Journal {
        let state = self.top.path().canonicalize().unwrap().join("state");
        let mut options = JournalOptions::new(state);
        change(&mut options);
        Journal::open(&self.workspace, options).unwrap()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.workspace.root().to_path_buf()
    }

    pub(crate) fn tree(&self) -> Tree {
        tree(&self.root())
    }

    pub(crate) fn command(&self, script: &str) -> Command {
        let mut environment = child_environment(std::env::vars_os(), &[]);
        environment.retain(|(name, _)| !["HOME", "TMPDIR", "PATH"].iter().any(|set| name == set));
        environment.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into()));
        environment.push(("HOME".into(), self.top.path().join("home").into()));
        for (name, value) in [
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@b"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@b"),
        ] {
            environment.push((name.into(), value.into()));
        }
        Command {
            script: script.to_owned(),
            folder: self.root(),
            roots: self.workspace.open_roots(),
            environment,
            profile: self.profile.clone(),
            limits: CommandLimits { timeout: TIMEOUT, output_bytes_max: 20_000, spill: None },
        }
    }

    /// Runs a script without recording it.
    pub(crate) fn prepare(&self, script: &str) {
        let output = self.start(script, &self.sandbox);
        assert_eq!(output.exit, Exit::Code(0), "{}", printed(&output));
    }

    pub(crate) fn start(&self, script: &str, sandbox: &Sandbox) -> Output {
        let cancel = CancellationToken::new();
        runtime().block_on(sandbox.run(self.command(script), &cancel, &mut |_, _| {})).unwrap()
    }

    pub(crate) fn begin(&self) -> Checkpoint {
        self.journal.begin("session", "call")
    }

    /// Runs a script and returns what it printed and changed.
    pub(crate) fn run(&self, script: &str) -> (Output, Changes) {
        let checkpoint = self.begin();
        let output = self.start(script, &self.sandbox.recording(&checkpoint));
        (output, checkpoint.finish().unwrap())
    }

    /// Runs a script that must change something.
    pub(crate) fn change(&self, script: &str) -> CheckpointId {
        let (output, changes) = self.run(script);
        assert_eq!(output.exit, Exit::Code(0), "{script}: {}", printed(&output));
        changes.id.unwrap_or_else(|| panic!("{script} was not recorded"))
    }

    pub(crate) fn undo(&self, id: CheckpointId) -> CheckpointId {
        self.undo_all(&[id])
    }

    pub(crate) fn undo_all(&self, ids: &[CheckpointId]) -> CheckpointId {
        match self.journal.undo(ids, "session", &Conflicts::Refuse) {
            Ok(Undone::Done { id, .. }) => id,
            other => panic!("{other:?}"),
        }
    }

    /// The changes, one a line: kind and path.
    pub(crate) fn listed(changes: &Changes) -> Vec<String> {
        let line = |change: &tenon_sandbox::Change| {
            let kind = format!("{:?}", change.kind);
            let kind = kind.split([' ', '{']).next().unwrap().to_lowercase();
            format!("{kind} {}", change.path.display())
        };
        changes.files.iter().map(line).collect()
    }
}

/// Runs `test` of this module as an ordinary user in a process of its own.
pub(crate) fn as_ordinary_user(test: &str) {
    as_ordinary_user_with(test, &[]);
}

/// The same with these variables.
pub(crate) fn as_ordinary_user_with(test: &str, variables: &[(&str, &str)]) {
    crate::walls::as_ordinary_user_in("journal", test, variables);
}
