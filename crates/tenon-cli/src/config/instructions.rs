//! Instructions for agents that a project and a user keep: AGENTS.md, or CLAUDE.md where a folder
//! has none, from the repository's root down to the workspace, and the user's own.
//!
//! A project's files are read beneath the repository's root and never outside of it, so that a
//! link in a repository cannot put a private file into the first request.

#![expect(clippy::disallowed_methods, reason = "finds the repository that the workspace is in")]

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use tenon_agent::{INSTRUCTIONS_BYTES_MAX, Instruction};
use tenon_sandbox::{FileError, Workspace};

use crate::texts::{Sentence, Text};

const NAME: &str = "AGENTS.md";
/// Read where a folder of a project has no [`NAME`].
const NAME_OTHERWISE: &str = "CLAUDE.md";
/// How much of a file is read: more than is ever shown, so that what is cut can be counted.
const FILE_BYTES_MAX: u64 = 16 * INSTRUCTIONS_BYTES_MAX as u64;

/// Returns the user's instructions from `folder`.
pub(super) fn of_user(folder: &Path, notices: &mut Vec<Sentence>) -> Vec<Instruction> {
    // Most people have no such folder yet.
    let Ok(files) = Workspace::open(folder) else { return Vec::new() };
    read(&files, NAME, notices).into_iter().collect()
}

/// Returns the project's instructions, the repository's first, those of `workspace` last.
pub(super) fn of_project(workspace: &Path, notices: &mut Vec<Sentence>) -> Vec<Instruction> {
    let root = repository(workspace);
    let Ok(files) = Workspace::open(&root) else { return Vec::new() };
    let beneath = workspace.strip_prefix(&root).unwrap_or(Path::new(""));
    let mut folder = PathBuf::new();
    let mut instructions: Vec<Instruction> =
        of_folder(&files, &folder, notices).into_iter().collect();
    for name in beneath {
        folder.push(name);
        instructions.extend(of_folder(&files, &folder, notices));
    }
    instructions
}

fn of_folder(files: &Workspace, folder: &Path, notices: &mut Vec<Sentence>) -> Option<Instruction> {
    let mut read = |name: &str| read(files, folder.join(name).to_str()?, notices);
    read(NAME).or_else(|| read(NAME_OTHERWISE))
}

fn read(files: &Workspace, path: &str, notices: &mut Vec<Sentence>) -> Option<Instruction> {
    let source = files.root().join(path).display().to_string();
    match files.read(path, FILE_BYTES_MAX) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Some(Instruction { source, text })
        }
        Err(FileError::NotFound { .. } | FileError::NotADirectory { .. }) => None,
        Err(error) => {
            let unread = Sentence::from(Text::InstructionsUnread);
            notices.push(unread.with_more(Sentence::of_library(&error)));
            None
        }
    }
}

/// Returns the nearest folder from `workspace` up that has a `.git`, or `workspace` itself.
/// Folders of somebody else are not looked into: whoever may write to /tmp is not the project.
fn repository(workspace: &Path) -> PathBuf {
    let owner = |folder: &Path| std::fs::metadata(folder).ok().map(|metadata| metadata.uid());
    let own = owner(workspace);
    workspace
        .ancestors()
        .take_while(|folder| owner(folder) == own)
        .find(|folder| std::fs::symlink_metadata(folder.join(".git")).is_ok())
        .unwrap_or(workspace)
        .to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn texts(instructions: &[Instruction]) -> Vec<&str> {
        instructions.iter().map(|instruction| instruction.text.as_str()).collect()
    }

    #[test]
    fn from_the_repositorys_root_down_one_file_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(root.join("AGENTS.md"), "outside");
        write(root.join("repo/.git/HEAD"), "");
        write(root.join("repo/AGENTS.md"), "root");
        write(root.join("repo/CLAUDE.md"), "not this");
        write(root.join("repo/a/CLAUDE.md"), "a");
        write(root.join("repo/a/b/c.txt"), "");
        write(root.join("repo/a/b/d/AGENTS.md"), "below");
        let mut notices = Vec::new();
        let instructions = of_project(&root.join("repo/a/b"), &mut notices);
        assert_eq!(texts(&instructions), ["root", "a"]);
        assert_eq!(instructions[1].source, root.join("repo/a/CLAUDE.md").display().to_string());
        assert!(notices.is_empty(), "{notices:?}");
    }

    #[test]
    fn a_link_out_of_the_repository_is_not_read_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(root.join("secret"), "key");
        write(root.join("repo/.git/HEAD"), "");
        std::os::unix::fs::symlink("../secret", root.join("repo/AGENTS.md")).unwrap();
        let mut notices = Vec::new();
        assert_eq!(of_project(&root.join("repo"), &mut notices), []);
        assert_eq!(notices.len(), 1, "{notices:?}");
    }

    #[test]
    fn without_a_repository_only_the_workspace_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(root.join("AGENTS.md"), "outside");
        write(root.join("a/AGENTS.md"), "inside");
        assert_eq!(texts(&of_project(&root.join("a"), &mut Vec::new())), ["inside"]);
    }
}
