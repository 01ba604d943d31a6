//! Ctrl-G: the draft in the person's own editor, which has the terminal meanwhile.

#![expect(clippy::disallowed_methods, reason = "the draft lies in tenon's own folder while edited")]

use std::{
    fs::OpenOptions,
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use tokio::process::{Child, Command};

/// A longer draft is not taken back: it would not fit any model.
const DRAFT_BYTES_MAX: u64 = 4 << 20;

/// An editor that runs.
pub(crate) struct Editor {
    child: Child,
    file: PathBuf,
}

impl Editor {
    /// Starts `editor`, a command line, on `text` in a file in `folder` that nobody else can read.
    ///
    /// # Errors
    /// If the file cannot be written or the editor not be started.
    pub(crate) fn start(editor: &str, text: &str, folder: &Path) -> io::Result<Self> {
        let file = folder.join(format!("draft-{}.md", std::process::id()));
        let mut opened =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&file)?;
        opened.write_all(text.as_bytes())?;
        // By a shell, because people put flags into these variables.
        let child = Command::new("sh")
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

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_text_comes_back_as_it_was_saved_and_the_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let editor = "f() { printf ' more\\n' >> \"$1\"; }; f";
        let mut editor = Editor::start(editor, "some", folder.path()).unwrap();
        assert_eq!(editor.wait().await, Ok("some more".to_owned()));
        drop(editor);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut failing = Editor::start("false", "some", folder.path()).unwrap();
        assert!(failing.wait().await.is_err());
    }
}
