use std::os::unix::fs::MetadataExt;

use super::*;
use crate::workspace::{ContentHash, Expected, FileError, Workspace};

/// A session in which a command runs.
struct Session {
    folder: tempfile::TempDir,
    guard: Guard,
}

impl Session {
    fn new(setup: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        shell(folder.path(), setup);
        let mut session = Self { folder, guard: Guard::default() };
        let roots = [session.root()];
        session.guard.begin(&roots, &[], Journaled::Nowhere).unwrap();
        session
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// Writes with leave, as a question about what is there now leads to; the command does `meanwhile` before the guard
    /// hears of it.
    fn write(&mut self, path: &str, meanwhile: &str) -> Result<(), FileError> {
        let workspace = Workspace::open(&self.root()).unwrap();
        let place = workspace.locate(path).unwrap().absolute;
        let found = workspace.read(path, 100).map(|bytes| Expected::Hash(ContentHash::of(&bytes)));
        let found = found.unwrap_or(Expected::Absent);
        let workspace = workspace.with_lifted(&place, found);
        let written = workspace.write(path, b"allowed\n", found);
        shell(&self.root(), meanwhile);
        if let Some(written) = workspace.lifted_write() {
            self.guard.accept(&written, None);
        }
        written.map(drop)
    }

    /// What the end of the command finds, and what is there then.
    #[track_caller]
    fn check(mut self, is_told: bool, expected: &[(&str, &str)]) {
        let mut changes = self.guard.end(None);
        changes.retain(|change| !is_lack(&change.kind));
        assert!(changes.iter().all(|change| change.put_back), "{changes:?}");
        assert_eq!(!changes.is_empty(), is_told, "{changes:?}");
        for (name, text) in expected {
            assert_eq!(found(&self.root().join(name)), *text, "{name}: {changes:?}");
        }
    }
}

const TWO: &str = "echo own > .envrc; mkdir pkg; git init -q";

#[test]
fn what_was_written_with_leave_is_what_should_be_there_whatever_a_command_makes_of_it() {
    for path in [".envrc", "pkg/.envrc"] {
        let mut session = Session::new(TWO);
        session.write(path, "true").unwrap();
        session.check(false, &[(path, "allowed\n")]);
        for meanwhile in [
            "echo evil > $it",
            "echo evil >> $it",
            "rm $it; echo evil > $it",
            "rm $it; ln -s ../.git $it",
            "chmod 777 $it",
            "ln $it other",
        ] {
            let mut session = Session::new(TWO);
            session.write(path, &meanwhile.replace("$it", path)).unwrap();
            let place = session.root().join(path);
            session.guard.look();
            let stat = std::fs::symlink_metadata(&place).unwrap();
            assert_eq!((stat.mode() & 0o133, stat.nlink()), (0, 1), "{path} after {meanwhile}");
            session.check(false, &[(path, "allowed\n")]);
        }
    }
    let mut session = Session::new(TWO);
    session.write(".envrc", "rm .envrc; mkdir .envrc").unwrap();
    session.check(true, &[(".envrc", "allowed\n")]);
}

#[test]
fn leave_for_one_file_is_none_for_what_is_beneath_or_beside_it_or_behind_a_link() {
    let mut session = Session::new(TWO);
    session.write(".git/hooks/pre-push", "echo evil > .git/hooks/pre-commit").unwrap();
    session.check(true, &[(".git/hooks/pre-push", "allowed\n"), (".git/hooks/pre-commit", "-")]);
    let config = "[core]\n\tbare = false\n";
    let setup = format!("{TWO}; printf '{config}' > .git/config");
    let evil = "printf '[core]\n\tfsmonitor = evil\n' >> .git/config";
    for path in [".envrc", "pkg/.envrc"] {
        let mut session = Session::new(&setup);
        session.write(path, &format!("rm {path}; ln -s $PWD/.git {path}; {evil}")).unwrap();
        session.check(true, &[(path, "allowed\n"), (".git/config", config)]);
    }
    let mut session = Session::new(&setup);
    session.write("pkg/.envrc", &format!("rm -r pkg; ln -s .git pkg; {evil}")).unwrap();
    session.check(true, &[(".git/config", config)]);
}

#[test]
fn where_the_write_failed_nothing_is_accepted() {
    let mut session = Session::new("mkdir -p .vscode; git init -q; rm .git/hooks/*");
    for (path, meanwhile) in [
        (".vscode", "echo evil > .vscode/tasks.json"),
        (".git/hooks", "echo evil > .git/hooks/pre-commit"),
    ] {
        let written = session.write(path, meanwhile);
        assert!(matches!(written, Err(FileError::IsDirectory { .. })), "{written:?}");
    }
    session.check(true, &[(".vscode/tasks.json", "-"), (".git/hooks/pre-commit", "-")]);
}

#[test]
fn a_look_comes_before_a_write_where_commands_ran_without_one() {
    let mut session = Session::new("echo own > .envrc");
    shell(&session.root(), "echo evil > .envrc");
    session.guard.abandon();
    let roots = [session.root()];
    let envrc = session.root().join(".envrc");
    let told = session.guard.look_first(&envrc, &roots).unwrap();
    assert!(told.iter().any(|change| change.path.ends_with(".envrc")), "{told:?}");
    assert_eq!(found(&envrc), "own\n");
    // What a person wrote since is no command's.
    shell(&session.root(), "echo mine > .envrc");
    assert_eq!(session.guard.look_first(&envrc, &roots).unwrap(), []);
    assert_eq!(found(&envrc), "mine\n");
}

/// A look leaves what may be half of a copy to a job that goes on.
#[test]
fn what_a_command_cut_off_is_not_what_a_question_is_made_from() {
    let mut session = Session::new("mkdir a b; printf 'one\\ntwo\\n' | tee a/.envrc > .envrc");
    let (root, roots) = (session.root(), [session.root()]);
    for path in [".envrc", "a/.envrc", "b/.envrc"] {
        shell(&root, &format!("echo one > {path}"));
        let looked = session.guard.look_first(&root.join(path), &roots);
        assert_eq!(looked.unwrap_err().to_string(), "a command that runs is writing it", "{path}");
    }
    shell(&root, "printf 'one\\ntwo\\n' > a/.envrc");
    session.guard.look_first(&root.join("a/.envrc"), &roots).unwrap();
}
