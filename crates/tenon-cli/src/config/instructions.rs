//! Instructions for agents that a project and a user keep: AGENTS.md, or CLAUDE.md where a folder
//! has none, from the repository's root down to the workspace, and the user's own.
//!
//! A project's files are read beneath the repository's root and never outside of it, and what is
//! closed to file tools is closed here. A command may have made a link in the workspace: links are
//! followed only to files of instructions, and never from the workspace to above it, so that no link
//! puts into the first request what commands cannot read.

#![expect(clippy::disallowed_methods, reason = "finds the repository that the workspace is in")]

use std::{
    fmt::Display,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use tenon_agent::{INSTRUCTIONS_BYTES_MAX, Instruction};
use tenon_sandbox::{FileError, Workspace};

use crate::texts::{Sentence, Text};

const NAME: &str = "AGENTS.md";
/// Read where a folder of a project has no [`NAME`].
const NAME_OTHERWISE: &str = "CLAUDE.md";
/// What files of instructions are called, so that a link may lead to them.
const NAMES_LINKED: [&str; 4] = [NAME, NAME_OTHERWISE, "GEMINI.md", "copilot-instructions.md"];
/// How much of a file is read: more than is ever shown, so that what is cut can be counted.
const FILE_BYTES_MAX: u64 = 16 * INSTRUCTIONS_BYTES_MAX as u64;

/// Returns the user's instructions from `folder`.
pub(super) fn of_user(folder: &Path, notices: &mut Vec<Sentence>) -> Vec<Instruction> {
    // Most people have no such folder yet.
    let Ok(files) = Workspace::open(folder) else { return Vec::new() };
    read(&files, NAME, NAME, notices).into_iter().collect()
}

/// Returns the project's instructions, the repository's first, those of `workspace` last. `closed`
/// closes what is closed to file tools.
pub(super) fn of_project(
    workspace: &Path,
    closed: impl Fn(Workspace) -> Workspace,
    notices: &mut Vec<Sentence>,
) -> Vec<Instruction> {
    let root = repository(workspace);
    let opened = |folder: &Path| Workspace::open(folder).map(&closed);
    let (Ok(above), Ok(own)) = (opened(&root), opened(workspace)) else { return Vec::new() };
    let beneath = workspace.strip_prefix(&root).unwrap_or(Path::new(""));
    let mut instructions = Vec::new();
    // The workspace itself is its own first ancestor.
    let folders: Vec<&Path> = beneath.ancestors().skip(1).collect();
    for folder in folders.into_iter().rev() {
        instructions.extend(of_folder(&above, folder, Some(workspace), notices));
    }
    instructions.extend(of_folder(&own, Path::new(""), None, notices));
    instructions
}

fn of_folder(
    files: &Workspace,
    folder: &Path,
    not_in: Option<&Path>,
    notices: &mut Vec<Sentence>,
) -> Option<Instruction> {
    let mut read = |name: &str| read_linked(files, folder.join(name).to_str()?, not_in, notices);
    read(NAME).or_else(|| read(NAME_OTHERWISE))
}

/// Reads what `path` leads to, if that is a file of instructions that does not lie in `not_in`, where a
/// command could exchange it.
fn read_linked(
    files: &Workspace,
    path: &str,
    not_in: Option<&Path>,
    notices: &mut Vec<Sentence>,
) -> Option<Instruction> {
    let Ok(end) = files.locate(path) else { return read(files, path, path, notices) };
    let is_named = NAMES_LINKED.iter().any(|name| end.beneath.ends_with(name));
    if !is_named || not_in.is_some_and(|folder| end.absolute.starts_with(folder)) {
        let link = files.root().join(path);
        let linked: [(&str, &dyn Display); 2] =
            [("path", &link.display()), ("end", &end.absolute.display())];
        let why = Text::InstructionsLinked.with(&linked);
        notices.push(Sentence::from(Text::InstructionsUnread).with_more(why));
        return None;
    }
    read(files, end.beneath.to_str()?, path, notices)
}

/// Reads the file at `path`, which is known as `shown`.
fn read(
    files: &Workspace,
    path: &str,
    shown: &str,
    notices: &mut Vec<Sentence>,
) -> Option<Instruction> {
    let source = files.root().join(shown).display().to_string();
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
    use tenon_sandbox::Mounts;

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
        let instructions = of_project(&root.join("repo/a/b"), |files| files, &mut notices);
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
        assert_eq!(of_project(&root.join("repo"), |files| files, &mut notices), []);
        assert_eq!(notices.len(), 1, "{notices:?}");
    }

    #[test]
    fn a_link_is_followed_to_instructions_alone_and_never_where_commands_cannot_read_or_can_write()
    {
        let links = [
            ("ws/AGENTS.md", "CLAUDE.md", "of ws"),
            ("ws/AGENTS.md", "docs/AGENTS.md", "of docs"),
            ("ws/AGENTS.md", "history", ""),
            ("ws/AGENTS.md", "../history", ""),
            ("ws/AGENTS.md", "../other/AGENTS.md", ""),
            ("ws/AGENTS.md", "way/AGENTS.md", ""),
            ("ws/AGENTS.md", "closed/AGENTS.md", ""),
            ("AGENTS.md", "other/AGENTS.md", "of other"),
            ("AGENTS.md", "history", ""),
            ("AGENTS.md", "ws/CLAUDE.md", ""),
            ("AGENTS.md", "shut/AGENTS.md", ""),
        ];
        for (link, target, expected) in links {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            write(root.join(".git/HEAD"), "");
            write(root.join("history"), "secret");
            write(root.join("other/AGENTS.md"), "of other");
            write(root.join("shut/AGENTS.md"), "secret");
            write(root.join("ws/history"), "of a file");
            write(root.join("ws/docs/AGENTS.md"), "of docs");
            write(root.join("ws/closed/AGENTS.md"), "secret");
            write(root.join("ws").join("CLAUDE.md"), "of ws");
            std::os::unix::fs::symlink("../other", root.join("ws/way")).unwrap();
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
            let shut = [root.join("ws/closed"), root.join("shut")];
            let closed = |files: Workspace| files.with_secrets(&shut, &Mounts::of_this_process());
            let mut notices = Vec::new();
            let instructions = of_project(&root.join("ws"), closed, &mut notices);
            let found =
                instructions.iter().find(|one| one.source == root.join(link).display().to_string());
            assert_eq!(found.map_or("", |one| one.text.as_str()), expected, "{link} -> {target}");
            assert_eq!(notices.len(), usize::from(expected.is_empty()), "{target}: {notices:?}");
        }
    }

    #[test]
    fn without_a_repository_only_the_workspace_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(root.join("AGENTS.md"), "outside");
        write(root.join("a/AGENTS.md"), "inside");
        assert_eq!(texts(&of_project(&root.join("a"), |files| files, &mut Vec::new())), ["inside"]);
    }
}
