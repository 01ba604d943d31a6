//! Attached context: what a small model would otherwise have to look for, put in front of the
//! prompt: the list of files, the content of files that the prompt names, and the places where its
//! identifiers stand.
//!
//! Bounded, and without a sentence of its own: a small model copies what it reads. What is said of
//! it to people stands in [`Attached::lines`].

mod mentions;

use std::{collections::BTreeMap, path::Path};

use tenon_sandbox::{EntryKind, WalkOptions, Workspace};

use crate::{
    masking::Masking,
    tools::text_file::{self, WHOLE_BYTES_MAX, counted},
};

/// All of it: what is worth waiting for on two cores.
const TOKENS_MAX: usize = 800;

/// A token is taken to be three bytes.
const BYTES_MAX: usize = 3 * TOKENS_MAX;

/// Names in the list of files.
const NAMES_MAX: usize = 40;

/// The list of files gets a third of the room at most.
const NAMES_BYTES_MAX: usize = BYTES_MAX / 3;

/// Places of one identifier.
const PLACES_MAX: usize = 8;

/// Identifiers whose places are told.
const IDENTIFIERS_MAX: usize = 4;

/// A file that only an identifier leads to is shown up to this length.
const LED_TO_LINES_MAX: usize = 60;

/// Entries of the workspace that are looked at: a few milliseconds.
const ENTRIES_MAX: usize = 5_000;

/// Bytes that are searched for identifiers: about ten milliseconds.
const SEARCHED_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A longer file is not searched: it is hardly written by hand.
const SEARCHED_FILE_BYTES_MAX: u64 = 256 * 1024;

/// What is put in front of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attached {
    /// For the model.
    pub text: String,
    /// For people, a line for each part.
    pub lines: Vec<String>,
}

/// Returns what goes in front of `prompt`; `None` if the workspace cannot be looked at.
pub(crate) fn attach(prompt: &str, workspace: &Workspace, masking: &Masking) -> Option<Attached> {
    let files = Files::of(workspace)?;
    let named = mentions::files(prompt, &files.paths);
    let identifiers = places(prompt, workspace, &files);
    let mut attached = Attached { text: files.list(), lines: Vec::new() };
    if !files.paths.is_empty() {
        attached.lines.push(format!("attached: list of {}", files.count()));
    }
    let places: Vec<String> = identifiers.iter().map(Found::line).collect();
    let reserved: usize = places.iter().map(|line| line.len() + 2).sum();
    for path in &named {
        attached.add_content(path, workspace, masking, (reserved, None));
    }
    for path in identifiers.iter().filter_map(|found| found.only_file()) {
        if !named.contains(&path) {
            let room = (reserved, Some(LED_TO_LINES_MAX));
            attached.add_content(path, workspace, masking, room);
        }
    }
    for (line, found) in places.iter().zip(&identifiers) {
        if attached.text.len() + 2 + line.len() <= BYTES_MAX {
            attached.text.push_str("\n\n");
            attached.text.push_str(line);
            attached.lines.push(format!("attached: places of {}", found.name));
        }
    }
    Some(attached)
}

/// The files of a workspace.
struct Files {
    /// Sorted.
    paths: Vec<String>,
    lengths: Vec<u64>,
    is_cut: bool,
}

impl Files {
    fn of(workspace: &Workspace) -> Option<Self> {
        let options = WalkOptions { entries_max: ENTRIES_MAX, ..WalkOptions::default() };
        let mut walk = workspace.walk(".", options).ok()?;
        let sorted: BTreeMap<String, u64> = walk
            .by_ref()
            .flatten()
            .filter(|entry| entry.kind == EntryKind::File)
            .filter_map(|entry| Some((entry.path.to_str()?.to_owned(), entry.len)))
            .collect();
        let (paths, lengths) = sorted.into_iter().unzip();
        Some(Self { paths, lengths, is_cut: walk.is_cut() })
    }

    fn count(&self) -> String {
        let least = if self.is_cut { "at least " } else { "" };
        format!("{least}{}", counted(self.paths.len() as u64, "file"))
    }

    fn list(&self) -> String {
        let mut text = String::from("Files: ");
        let mut shown = 0;
        for path in self.paths.iter().take(NAMES_MAX) {
            if text.len() + path.len() > NAMES_BYTES_MAX {
                break;
            }
            text.push_str(if shown == 0 { "" } else { ", " });
            text.push_str(path);
            shown += 1;
        }
        match (shown, self.paths.len() - shown) {
            (0, 0) => text.push_str("none"),
            (_, 0) if !self.is_cut => {}
            (_, more) if self.is_cut => text.push_str(&format!(" (and more than {more} more)")),
            (_, more) => text.push_str(&format!(" (and {more} more)")),
        }
        text
    }
}

impl Attached {
    /// Adds the content of a file, as much as fits beside `reserved` bytes. With `lines_max`, a
    /// longer file is left out, and one that does not fit too.
    fn add_content(
        &mut self,
        path: &str,
        workspace: &Workspace,
        masking: &Masking,
        (reserved, lines_max): (usize, Option<usize>),
    ) {
        let Ok(bytes) = workspace.read(path, WHOLE_BYTES_MAX) else { return };
        let Some(content) = text_file::readable(&bytes) else { return };
        let content = content.replace("\r\n", "\n");
        let fence = if content.contains("```") { "````" } else { "```" };
        let head = format!("\n\nContent of {path}:\n{fence}\n");
        // The end of the fence and the line that counts what is left out.
        let frame = head.len() + fence.len() + 32;
        let room = BYTES_MAX.saturating_sub(self.text.len() + reserved + frame);
        let lines: Vec<&str> = content.lines().collect();
        let mut shown = 0;
        let mut length = 0;
        for line in &lines {
            length += line.len() + 1;
            if length > room {
                break;
            }
            shown += 1;
        }
        let is_whole = shown == lines.len();
        if lines_max.is_some_and(|max| lines.len() > max || !is_whole) || shown == 0 && !is_whole {
            return;
        }
        self.text.push_str(&head);
        let end: usize = lines.iter().take(shown).map(|line| line.len() + 1).sum();
        // A value may go on behind what is shown.
        self.text.push_str(&masking.part(&content, 0..end.min(content.len())));
        if end > content.len() {
            self.text.push('\n');
        }
        self.text.push_str(fence);
        if is_whole {
            workspace.note_seen(path, tenon_sandbox::ContentHash::of(&bytes));
            let shown = counted(shown as u64, "line");
            self.lines.push(format!("attached: {path} ({shown})"));
        } else {
            let more = counted((lines.len() - shown) as u64, "more line");
            self.text.push_str(&format!("\n[{more}]"));
            let all = counted(lines.len() as u64, "line");
            self.lines.push(format!("attached: {path} (first {shown} of {all})"));
        }
    }
}

/// Where an identifier of the prompt stands.
struct Found {
    name: String,
    places: Vec<(String, usize)>,
    /// It stands in further files, or may.
    is_cut: bool,
}

impl Found {
    fn line(&self) -> String {
        let places: Vec<String> =
            self.places.iter().map(|(path, line)| format!("{path}:{line}")).collect();
        format!("\"{}\" stands in: {}", self.name, places.join(", "))
    }

    fn only_file(&self) -> Option<&str> {
        let (first, _) = self.places.first()?;
        let is_only = !self.is_cut && self.places.iter().all(|(path, _)| path == first);
        is_only.then_some(first)
    }
}

/// Looks for the identifiers of `prompt`; those that stand nowhere are left out.
fn places(prompt: &str, workspace: &Workspace, files: &Files) -> Vec<Found> {
    let identifiers = mentions::identifiers(prompt);
    if identifiers.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<Found> = identifiers
        .iter()
        .map(|identifier| Found {
            name: identifier.clone(),
            places: Vec::new(),
            is_cut: files.is_cut,
        })
        .collect();
    let mut searched = 0;
    for (path, length) in files.paths.iter().zip(&files.lengths) {
        if *length > SEARCHED_FILE_BYTES_MAX {
            continue;
        }
        searched += length;
        if searched > SEARCHED_BYTES_MAX {
            found.iter_mut().for_each(|found| found.is_cut = true);
            break;
        }
        let Ok(bytes) = workspace.read(path, SEARCHED_FILE_BYTES_MAX) else { continue };
        let Some(text) = text_file::readable(&bytes) else { continue };
        for (identifier, found) in identifiers.iter().zip(&mut found) {
            found.add(identifier, path, &text);
        }
    }
    found.retain(|found| !found.places.is_empty());
    found.truncate(IDENTIFIERS_MAX);
    found
}

impl Found {
    fn add(&mut self, identifier: &str, path: &str, text: &str) {
        if !text.contains(identifier) {
            return;
        }
        for (index, line) in text.lines().enumerate() {
            if !mentions::has_word(line, identifier) {
                continue;
            }
            if self.places.len() == PLACES_MAX {
                self.is_cut |= self.places.iter().any(|(place, _)| place != path);
                return;
            }
            self.places.push((path.to_owned(), index + 1));
        }
    }
}

/// Returns the name of a file without its folders.
fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Bench;

    fn check(files: &[(&str, &str)], prompt: &str, expected: &[&str], lines: &[&str]) {
        let bench = Bench::new();
        for (path, content) in files {
            bench.put(path, content);
        }
        let attached = attach(prompt, &bench.context.workspace, &Masking::off()).unwrap();
        assert_eq!(attached.text, expected.join("\n\n"));
        assert_eq!(attached.lines, lines);
    }

    const GREET: (&str, &str) = ("greet.py", "def greet(name):\n    print(name)\n");

    #[test]
    fn files_that_the_prompt_names_are_shown() {
        check(
            &[GREET, ("README.md", "v1\r\n"), ("src/cart.py", "x = 1")],
            "Edit greet.py to add a docstring",
            &[
                "Files: README.md, greet.py, src/cart.py",
                "Content of greet.py:\n```\ndef greet(name):\n    print(name)\n```",
            ],
            &["attached: list of 3 files", "attached: greet.py (2 lines)"],
        );
        check(
            &[("README.md", "v1\r\n```\n")],
            "把README.md中的v1改成v2",
            &["Files: README.md", "Content of README.md:\n````\nv1\n```\n````"],
            &["attached: list of 1 file", "attached: README.md (2 lines)"],
        );
        check(&[], "hi", &["Files: none"], &[]);
    }

    #[test]
    fn places_of_identifiers_are_told_and_the_only_file_is_shown() {
        check(
            &[
                ("a.py", "total_price = 1\nx = total_price\n"),
                ("b.py", "from a import total_price\nmy_total_price = 1\n"),
                ("c.py", "def only_here():\n    pass\n"),
            ],
            "Rename `total_price`, and look at only_here() too",
            &[
                "Files: a.py, b.py, c.py",
                "Content of c.py:\n```\ndef only_here():\n    pass\n```",
                "\"total_price\" stands in: a.py:1, a.py:2, b.py:1",
                "\"only_here\" stands in: c.py:1",
            ],
            &[
                "attached: list of 3 files",
                "attached: c.py (2 lines)",
                "attached: places of total_price",
                "attached: places of only_here",
            ],
        );
    }

    #[test]
    fn a_long_file_is_cut_within_the_bound_and_is_not_noted_as_seen() {
        let bench = Bench::new();
        bench.put("long.txt", "line of text\n".repeat(1_000));
        for index in 0..60 {
            bench.put(&format!("folder/with/a/long/name/file{index:02}.txt"), "");
        }
        let attached = attach("read long.txt", &bench.context.workspace, &Masking::off()).unwrap();
        assert!(attached.text.len() <= BYTES_MAX, "{}", attached.text.len());
        assert!(attached.text.len() > BYTES_MAX - 100, "{}", attached.text.len());
        assert!(attached.text.ends_with(" more lines]"), "{}", attached.text);
        assert!(attached.text.contains(" more)\n\nContent of long.txt:\n"), "{}", attached.text);
        assert_eq!(bench.context.workspace.seen("long.txt"), None);
    }

    #[test]
    fn spec_32_a_file_that_was_shown_whole_counts_as_seen() {
        let bench = Bench::new();
        bench.put(GREET.0, GREET.1);
        attach("run greet", &bench.context.workspace, &Masking::off()).unwrap();
        let hash = tenon_sandbox::ContentHash::of(GREET.1.as_bytes());
        assert_eq!(bench.context.workspace.seen("greet.py"), Some(hash));
    }

    #[test]
    fn binary_and_ignored_files_are_not_shown() {
        check(
            &[("data.bin", "\0\x01"), (".gitignore", "secret.txt\n"), ("secret.txt", "x")],
            "show data.bin and secret.txt",
            &["Files: .gitignore, data.bin"],
            &["attached: list of 2 files"],
        );
    }
}
