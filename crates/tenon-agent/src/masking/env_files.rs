//! The `.env` files of a workspace: found once, looked at again before each result. Of a workspace that
//! was looked at before only the values are kept.
//!
//! Bounded, because this is on the way of every result: so many folders, files and bytes, and no
//! more. docs/security.md says the numbers.

use std::{
    collections::{HashSet, VecDeque},
    ffi::OsStr,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::Value;
use tenon_model::{KNOWN_VALUES_MAX, KnownValue, decoded, variable_values};
use tenon_sandbox::{EntryKind, WalkOptions, Workspace};

/// Folders that are walked through, once in a session: some tens of milliseconds.
const WALKED_FOLDERS_MAX: usize = 2_000;

/// Entries of the same walk.
const WALKED_ENTRIES_MAX: usize = 50_000;

/// Entries of a folder that are gone through for names.
const NAMES_MAX: usize = 10_000;

/// Folders that are looked at before each result, roots and those with `.env` files first.
const FOLDERS_MAX: usize = 64;

/// Files that are read.
const FILES_MAX: usize = 64;

/// A longer file (256 KiB) is no list of variables.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// Words of a command that may name a folder.
const WORDS_MAX: usize = 32;

/// Clocks of file systems are coarse: what changed so lately may have changed again since it was
/// read, with the same time.
const UNSURE: Duration = Duration::from_secs(1);

/// Ends of names of files that only show what belongs into a real one.
const PATTERN_ENDS: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];

/// What is known of the files.
#[derive(Debug, Default)]
pub(super) struct EnvFiles {
    /// The first root of the workspace whose folders and files these are.
    root: PathBuf,
    is_walked: bool,
    /// In the order in which they are given up: the roots last.
    folders: VecDeque<Watched>,
    files: Vec<Watched>,
    values: Vec<KnownValue>,
    known: HashSet<KnownLabel>,
}

/// Name and value of what was found, so that nothing is there twice.
type KnownLabel = (String, String);

/// A folder or file with the state in which it was last read.
#[derive(Debug)]
struct Watched {
    path: String,
    state: Option<(u64, SystemTime)>,
}

impl EnvFiles {
    pub(super) fn values(&self) -> impl Iterator<Item = &KnownValue> {
        self.values.iter()
    }

    /// Goes through the workspace for folders with `.env` files; returns whether values are new.
    pub(super) fn walk(&mut self, workspace: &Workspace) -> bool {
        self.turn_to(workspace);
        if std::mem::replace(&mut self.is_walked, true) {
            return false;
        }
        let mut folders = 0;
        for root in roots(workspace) {
            let options = WalkOptions { entries_max: WALKED_ENTRIES_MAX, ..WalkOptions::default() };
            let Ok(walk) = workspace.walk(&root, options) else { continue };
            let entries = walk.flatten().filter(|entry| entry.kind == EntryKind::Directory);
            for entry in entries.take(WALKED_FOLDERS_MAX.saturating_sub(folders)) {
                folders += 1;
                let Some(path) = entry.path.to_str() else { continue };
                // Mostly ignored, so the walk does not show them.
                if names(workspace, path).is_some_and(|names| !names.is_empty()) {
                    self.watch(path);
                }
            }
        }
        self.look(workspace, &[])
    }

    /// Looks at what is known and at the folders that `touched` names; returns whether values are
    /// new.
    pub(super) fn look(&mut self, workspace: &Workspace, touched: &[String]) -> bool {
        self.turn_to(workspace);
        roots(workspace).iter().for_each(|root| self.watch(root));
        for word in touched {
            self.watch_around(workspace, word);
        }
        for folder in &mut self.folders {
            let Ok(modified) = workspace.folder_modified(&folder.path) else { continue };
            if folder.is_as_it_was(0, modified) {
                continue;
            }
            folder.note(0, modified);
            for name in names(workspace, &folder.path).unwrap_or_default() {
                let path = match folder.path.as_str() {
                    "." => name,
                    folder => format!("{folder}/{name}"),
                };
                let is_known = self.files.iter().any(|file| file.path == path);
                if !is_known && self.files.len() < FILES_MAX {
                    self.files.push(Watched { path, state: None });
                }
            }
        }
        let mut found = Vec::new();
        for file in &mut self.files {
            let Ok(open) = workspace.open_file(&file.path) else { continue };
            if file.is_as_it_was(open.len(), open.modified()) {
                continue;
            }
            file.note(open.len(), open.modified());
            let Ok(bytes) = workspace.read(&file.path, FILE_BYTES_MAX) else { continue };
            found.extend(variable_values(&decoded(&bytes), &file.path));
        }
        self.add(found)
    }

    /// Takes in what a file held; returns whether values are new.
    pub(super) fn learn(&mut self, path: &Path, text: &str) -> bool {
        let is_wanted = path.file_name().and_then(OsStr::to_str).is_some_and(is_wanted);
        is_wanted && self.add(variable_values(text, &path.to_string_lossy()))
    }

    /// A value that was taken out of its file is still a secret.
    fn add(&mut self, found: Vec<KnownValue>) -> bool {
        let before = self.values.len();
        for value in found.into_iter().map(KnownValue::of_workspace) {
            let key = (value.label().to_owned(), value.secret().expose().to_owned());
            if self.values.len() < KNOWN_VALUES_MAX && self.known.insert(key) {
                self.values.push(value);
            }
        }
        self.values.len() > before
    }

    /// Forgets the folders and files of another workspace: they are called the same.
    fn turn_to(&mut self, workspace: &Workspace) {
        if self.root != workspace.root() {
            self.root = workspace.root().to_path_buf();
            self.is_walked = false;
            self.folders.clear();
            self.files.clear();
        }
    }

    fn watch(&mut self, path: &str) {
        if self.folders.iter().any(|folder| folder.path == path) {
            return;
        }
        if self.folders.len() >= FOLDERS_MAX {
            self.folders.pop_back();
        }
        self.folders.push_front(Watched { path: path.to_owned(), state: None });
    }

    /// Watches the folder that `word` names, or in which what it names lies.
    fn watch_around(&mut self, workspace: &Workspace, word: &str) {
        let Ok(location) = workspace.locate(word) else { return };
        if location.read_only {
            return;
        }
        let is_folder = location.kind == Some(EntryKind::Directory);
        let place = if location.root == 0 { location.beneath } else { location.absolute };
        let folder = if is_folder { Some(place.as_path()) } else { place.parent() };
        match folder.and_then(Path::to_str) {
            Some("") => {}
            Some(folder) => self.watch(folder),
            None => {}
        }
    }
}

impl Watched {
    fn is_as_it_was(&self, length: u64, modified: SystemTime) -> bool {
        self.state == Some((length, modified))
    }

    fn note(&mut self, length: u64, modified: SystemTime) {
        let is_sure = modified.elapsed().is_ok_and(|age| age > UNSURE);
        self.state = is_sure.then_some((length, modified));
    }
}

/// Returns the words in a call's arguments that may name files or folders.
pub(super) fn touched(arguments: &Value) -> Vec<String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let path = text("path").map(str::to_owned);
    let command = text("command").unwrap_or_default();
    let is_edge = |letter: char| letter.is_whitespace() || "\"'`;|&()<>={}$".contains(letter);
    let words = command.split(is_edge).filter(|word| !word.is_empty() && !word.starts_with('-'));
    path.into_iter().chain(words.take(WORDS_MAX).map(str::to_owned)).collect()
}

/// Returns the roots as paths of the workspace.
fn roots(workspace: &Workspace) -> Vec<String> {
    let further = workspace.roots().into_iter().skip(1);
    let further = further.filter_map(|root| root.to_str().map(str::to_owned));
    std::iter::once(".".to_owned()).chain(further).collect()
}

/// Whether a file of this name holds variables, and no examples of them.
pub(super) fn is_wanted(name: &str) -> bool {
    let is_env = name.starts_with(".env") || name.ends_with(".env");
    is_env && !PATTERN_ENDS.iter().any(|end| name.ends_with(end))
}

fn names(workspace: &Workspace, folder: &str) -> Option<Vec<String>> {
    workspace.names(folder, NAMES_MAX, is_wanted).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::Bench;

    fn labels(files: &EnvFiles) -> Vec<&str> {
        files.values().map(KnownValue::label).collect()
    }

    #[test]
    fn files_are_found_changed_and_created() {
        let bench = Bench::new();
        let workspace = &bench.context.workspace;
        bench.put(".env", "A_KEY=k-0123456789a\nPORT=80\n");
        bench.put(".env.example", "B_KEY=k-0123456789b\n");
        bench.put("deep/in/prod.env", "C_KEY=k-0123456789c\n");
        bench.put("data", "D_KEY=k-0123456789d\n");
        let mut files = EnvFiles::default();
        assert!(files.look(workspace, &[]));
        assert_eq!(labels(&files), ["[masked: value of A_KEY from .env]"]);
        assert!(files.walk(workspace) && !files.walk(workspace));
        assert_eq!(labels(&files).last(), Some(&"[masked: value of C_KEY from deep/in/prod.env]"));
        bench.put(".env", "A_KEY=k-0123456789e\n");
        assert!(files.look(workspace, &[]));
        bench.put(".env.local", "F_KEY=k-0123456789f\n");
        assert!(files.look(workspace, &[]) && !files.look(workspace, &[]));
        assert_eq!(labels(&files).len(), 4);
        bench.put("later/.env", "G_KEY=k-0123456789g\n");
        assert!(!files.look(workspace, &[]));
        let touched = touched(&json!({"command": "cd later && cat '.env'"}));
        assert!(files.look(workspace, &touched), "{touched:?}");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test sets the time of its own file")]
    fn files_of_another_workspace_are_others_though_they_look_the_same() {
        let (one, two) = (Bench::new(), Bench::new());
        let mut files = EnvFiles::default();
        for (bench, letter) in [(&one, 'a'), (&two, 'b'), (&one, 'c')] {
            bench.put(".env", format!("A_KEY=k-0123456789{letter}\n"));
            let file = std::fs::File::options().write(true).open(bench.root().join(".env"));
            file.unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
            assert!(files.look(&bench.context.workspace, &[]), "{letter}");
        }
        assert_eq!(files.values().count(), 3);
    }

    #[test]
    fn roots_are_never_given_up_for_long() {
        let bench = Bench::new();
        let workspace = &bench.context.workspace;
        let mut files = EnvFiles::default();
        for number in 0..100 {
            bench.put(&format!("folder{number}/file"), "");
            files.look(workspace, &[format!("folder{number}/file")]);
        }
        assert_eq!(files.folders.len(), FOLDERS_MAX);
        bench.put(".env", "A_KEY=k-0123456789a\n");
        assert!(files.look(workspace, &[]));
    }

    #[test]
    fn a_file_is_read_in_the_encoding_of_its_byte_order_mark() {
        let text = "\u{feff}A_KEY=k-0123456789a\nB_KEY=k-0123456789b\n";
        let utf16 = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect();
        for bytes in [text.as_bytes().to_vec(), utf16(u16::to_le_bytes), utf16(u16::to_be_bytes)] {
            let bench = Bench::new();
            bench.put(".env", bytes);
            let mut files = EnvFiles::default();
            assert!(files.look(&bench.context.workspace, &[]));
            assert_eq!(
                labels(&files),
                ["[masked: value of A_KEY from .env]", "[masked: value of B_KEY from .env]"]
            );
        }
    }
}
