//! Ctrl-G: the draft in the person's own editor, which has the terminal meanwhile.

#![expect(clippy::disallowed_methods, reason = "the draft lies in tenon's own folder while edited")]

use std::{
    ffi::{OsStr, OsString},
    fs::OpenOptions,
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use tenon_sandbox::OutsideRoots;
use tokio::process::{Child, Command};

/// A longer draft is not taken back: it would not fit any model.
const DRAFT_BYTES_MAX: u64 = 4 << 20;

/// An editor that runs.
pub(crate) struct Editor {
    child: Child,
    file: PathBuf,
}

impl Editor {
    /// Starts `editor`, a command line, on `text` in a file in `folder` that nobody else can read. It has what of
    /// `environment` names nothing but what is `outside`, and is looked for there.
    ///
    /// # Errors
    /// If the file cannot be written or the editor not be started.
    pub(crate) fn start(
        editor: &str,
        text: &str,
        folder: &Path,
        (outside, environment): (&OutsideRoots, &[(OsString, OsString)]),
    ) -> io::Result<Self> {
        let file = folder.join(format!("draft-{}.md", std::process::id()));
        let mut opened =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&file)?;
        opened.write_all(text.as_bytes())?;
        // By a shell, because people put flags into these variables.
        let path = path_in(environment);
        let shell = outside.program("sh", path).unwrap_or_else(|| "/bin/sh".into());
        let program = editor.split_whitespace().next().unwrap_or_default();
        let mut command = Command::new(shell);
        for (name, _) in
            environment.iter().filter(|(name, value)| outside.is_led_inside(name, value))
        {
            command.env_remove(name);
        }
        let child = command
            .env("PATH", outside.search_path(path, &[program]))
            .arg("-c")
            .arg(format!("{editor} \"$0\""))
            .arg(&file)
            .spawn()
            .inspect_err(|_| drop(std::fs::remove_file(&file)))?;
        Ok(Self { child, file })
    }

    /// Waits for its end; returns the text, or why there is none.
    pub(crate) async fn wait(&mut self) -> Result<String, String> {
        let status = self.child.wait().await.map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(status.to_string());
        }
        let mut text = String::new();
        let file = std::fs::File::open(&self.file).map_err(|error| error.to_string())?;
        file.take(DRAFT_BYTES_MAX).read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text.trim_end().to_owned())
    }
}

/// Returns the first word of `editor`, a command line, and where it is, if the folders of PATH that are not `outside`
/// alone have it: it is not looked for there.
pub(crate) fn inside<'a>(
    editor: &'a str,
    (outside, environment): (&OutsideRoots, &[(OsString, OsString)]),
) -> Option<(&'a str, PathBuf)> {
    let name = editor.split_whitespace().next().filter(|name| !name.contains('/'))?;
    outside.program_inside(name, path_in(environment)).map(|found| (name, found))
}

fn path_in(environment: &[(OsString, OsString)]) -> &OsStr {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    path.map(|(_, path)| &**path).unwrap_or_default()
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Edits the word `some` in a folder, for a session in `root` whose PATH begins with that.
    fn start(editor: &str, folder: &Path, root: &Path) -> io::Result<Editor> {
        let links = folder.join("bin");
        let path = std::env::join_paths([root, &links, "/usr/bin".as_ref(), "/bin".as_ref()]);
        let environment =
            [("PATH".into(), path.unwrap()), ("BASH_ENV".into(), root.join("rc").into())];
        let outside = OutsideRoots::of(vec![root.canonicalize().unwrap()]);
        Editor::start(editor, "some", folder, (&outside, &environment))
    }

    #[tokio::test]
    async fn the_text_comes_back_as_it_was_saved_and_the_file_is_gone() {
        let [folder, root] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let start = |editor| start(editor, folder.path(), root.path());
        let mut editor = start("f() { printf ' more\\n' >> \"$1\"; }; f").unwrap();
        assert_eq!(editor.wait().await, Ok("some more".to_owned()));
        drop(editor);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut failing = start("false").unwrap();
        assert!(failing.wait().await.is_err());
    }

    #[tokio::test]
    async fn no_program_of_the_workspace_runs_for_it() {
        let [folder, root] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        for name in ["sh", "true"] {
            let path = root.path().join(name);
            std::fs::write(&path, "#!/bin/sh\necho evil > \"$0.ran\"").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let mut editor = start("env true", folder.path(), root.path()).unwrap();
        assert_eq!(editor.wait().await, Ok("some".to_owned()));
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        std::os::unix::fs::symlink(root.path().join("true"), folder.path().join("bin/edit"))
            .unwrap();
        let mut linked = start("edit", folder.path(), root.path()).unwrap();
        assert!(linked.wait().await.is_err());
        let mut told = start("f() { echo \"$BASH_ENV\" > \"$1\"; }; f", folder.path(), root.path());
        assert_eq!(told.as_mut().unwrap().wait().await, Ok(String::new()));
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2);
    }

    #[test]
    fn an_editor_that_only_a_folder_of_the_session_has_is_named() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().canonicalize().unwrap();
        for name in ["hx", "sh"] {
            std::fs::write(top.join(name), "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(top.join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        let path =
            std::env::join_paths([top.as_path(), "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
        let environment = [("PATH".into(), path)];
        let outside = OutsideRoots::of(vec![top.clone()]);
        let check = |editor: &str, expected: Option<&str>| {
            let expected = expected.map(|name| (name, top.join(name)));
            assert_eq!(inside(editor, (&outside, &environment)), expected, "{editor}");
        };
        check("hx", Some("hx"));
        check(" hx --vsplit", Some("hx"));
        check("sh -c x", None);
        check("no-such-editor", None);
        check(&top.join("hx").display().to_string(), None);
        check("", None);
    }
}
