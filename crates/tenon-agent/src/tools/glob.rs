//! `glob`: files by the pattern of their names, newest first.
//!
//! Walks by descriptors beneath the workspace and leaves out what ignore files name. Only the
//! newest are kept while it walks, so that a huge tree costs time and no memory.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    path::{Path, PathBuf},
    time::SystemTime,
};

use schemars::JsonSchema;
use serde::Deserialize;
use tenon_sandbox::{EntryKind, FileError, WalkOptions, Workspace};
use tokio_util::sync::CancellationToken;

use super::{
    path_pattern::{self, Start},
    text_file::{blocking, failed, search_action, unnamed_action},
    tool::{Effect, Tool, ToolContext, ToolOutput},
};
use crate::policy::Action;

/// The most paths of a result: more do not help a model to choose.
const PATHS_MAX: usize = 200;

/// A walk is as long as the tree.
const UNKNOWN_BYTES: u64 = u64::MAX;

/// Finds files by name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Glob {
    /// A pattern without `**` is looked for in every folder, for models that forget it.
    pub is_forgiving: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct GlobArgs {
    /// e.g. **/*.rs or src/*.{ts,tsx}
    pattern: String,
    /// Folder that the pattern is relative to
    path: Option<String>,
}

impl Tool for Glob {
    type Args = GlobArgs;

    fn name(&self) -> &str {
        "glob"
    }

    fn description(&self) -> &str {
        "Find files by name, newest first; ignored files (.gitignore) are left out."
    }

    fn effect(&self, _args: &GlobArgs) -> Effect {
        Effect::Read
    }

    fn subject(&self, args: &GlobArgs) -> String {
        match &args.path {
            Some(path) => format!("{} in {path}", args.pattern),
            None => args.pattern.clone(),
        }
    }

    fn action(&self, args: &GlobArgs, workspace: &Workspace) -> Action {
        let start = Start::of(args.path.as_deref(), &args.pattern, workspace.root());
        match start.is_lost() {
            true => unnamed_action(&args.pattern),
            false => search_action(&start.folder, workspace),
        }
    }

    async fn run(&self, args: GlobArgs, context: &ToolContext) -> Result<ToolOutput, String> {
        let (workspace, cancel) = (context.workspace.clone(), context.cancel.clone());
        let is_forgiving = self.is_forgiving;
        blocking(UNKNOWN_BYTES, move || {
            let found = find(&args, is_forgiving, &workspace, &cancel)?;
            Ok(ToolOutput::text(found.text()))
        })
        .await
    }
}

#[derive(Default)]
struct Found {
    /// The newest so far, the oldest of them on top.
    newest: BinaryHeap<Reverse<(SystemTime, Reverse<PathBuf>)>>,
    count: usize,
    is_cut: bool,
    closed: Option<String>,
}

fn find(
    args: &GlobArgs,
    is_forgiving: bool,
    workspace: &Workspace,
    cancel: &CancellationToken,
) -> Result<Found, String> {
    let start = Start::of(args.path.as_deref(), &args.pattern, workspace.root());
    if start.is_lost() {
        return Err(path_pattern::lost(&args.pattern));
    }
    let (start, rest) = (start.folder, start.pattern);
    let is_absolute = Path::new(&args.pattern).is_absolute();
    let folder = args.path.as_deref().filter(|path| !is_absolute && !path.is_empty());
    let wanted = match is_forgiving && !rest.contains("**") {
        true => path_pattern::compiled(&format!("**/{rest}"))?,
        false => path_pattern::compiled(rest)?,
    };
    let mut found = Found::default();
    let mut walk = match workspace.walk(&start, WalkOptions::default()) {
        Ok(walk) => walk,
        // The folders of the pattern need not exist; the folder argument must.
        Err(FileError::NotFound { .. } | FileError::NotADirectory { .. })
            if folder.is_none_or(|folder| {
                workspace.locate(folder).is_ok_and(|at| at.kind.is_some())
            }) =>
        {
            return Ok(found);
        }
        Err(error) => return Err(failed(error)),
    };
    let base = path_pattern::shown_start(&start, workspace)?;
    let is_over = cancel.clone();
    walk = walk.until(move || is_over.is_cancelled());
    for entry in walk.by_ref().flatten() {
        if cancel.is_cancelled() {
            return Err("cancelled".into());
        }
        let beneath = entry.path.strip_prefix(&base).unwrap_or(&entry.path);
        if entry.kind != EntryKind::Directory && wanted.is_match(beneath) {
            found.add(entry.modified, entry.path);
        }
    }
    (found.is_cut, found.closed) = (walk.is_cut(), path_pattern::closed_note(&walk));
    Ok(found)
}

impl Found {
    fn add(&mut self, modified: SystemTime, path: PathBuf) {
        self.count += 1;
        self.newest.push(Reverse((modified, Reverse(path))));
        if self.newest.len() > PATHS_MAX {
            self.newest.pop();
        }
    }

    fn text(self) -> String {
        let more = self.count - self.newest.len();
        let mut lines: Vec<String> = self
            .newest
            .into_sorted_vec()
            .into_iter()
            .map(|Reverse((_, Reverse(path)))| path.to_string_lossy().into_owned())
            .collect();
        if lines.is_empty() {
            lines.push("(no matches)".into());
        }
        if more > 0 {
            lines.push(format!("... ({more} older files; narrow the pattern)"));
        }
        if self.is_cut {
            lines.push("... (too many files: not all were looked at; name a folder)".into());
        }
        lines.extend(self.closed);
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::Bench;

    const GLOB: Glob = Glob { is_forgiving: false };

    /// Makes files, the later ones newer.
    fn bench(paths: &[&str]) -> Bench {
        let bench = Bench::new();
        for (index, path) in paths.iter().enumerate() {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 + index as u64);
            bench.put(path, "").set_modified(time).unwrap();
        }
        bench
    }

    fn check(bench: &Bench, arguments: Value, expected: &[&str]) {
        assert_eq!(bench.call(&GLOB, arguments).content, expected.join("\n"));
    }

    #[test]
    fn spec_34_newest_first_and_ignored_files_left_out() {
        let bench = bench(&["src/b.rs", "a.rs", "src/deep/c.rs", "target/d.rs", "e.txt"]);
        bench.put(".gitignore", "target/\n");
        check(&bench, json!({"pattern": "**/*.rs"}), &["src/deep/c.rs", "a.rs", "src/b.rs"]);
        check(&bench, json!({"pattern": "*.rs"}), &["a.rs"]);
        check(&bench, json!({"pattern": "src/**/*.rs"}), &["src/deep/c.rs", "src/b.rs"]);
        check(&bench, json!({"pattern": "src/*.rs"}), &["src/b.rs"]);
        check(&bench, json!({"pattern": "*.rs", "path": "src"}), &["src/b.rs"]);
        check(&bench, json!({"pattern": "**/c.rs", "path": "src/"}), &["src/deep/c.rs"]);
        check(&bench, json!({"pattern": "./*.{rs,txt}"}), &["e.txt", "a.rs"]);
        check(&bench, json!({"pattern": "src/deep/c.rs"}), &["src/deep/c.rs"]);
        check(&bench, json!({"pattern": "nowhere/*.rs"}), &["(no matches)"]);
        check(&bench, json!({"pattern": "-x*"}), &["(no matches)"]);
        let inside = format!("{}/src/*.rs", bench.root().display());
        check(&bench, json!({"pattern": inside}), &["src/b.rs"]);
    }

    #[test]
    fn a_hundred_thousand_files_are_answered_within_the_limit_of_a_result() {
        let bench = Bench::new();
        for number in 0..100_000 {
            bench.put(&format!("folder-{}/file-{}.txt", number / 1_000, number % 1_000), "");
        }
        let output = bench.call(&GLOB, json!({"pattern": "**/*.txt"}));
        assert!(output.content.ends_with("older files; narrow the pattern)"), "{}", output.content);
        assert!(output.content.len() < 50_000, "{} bytes", output.content.len());
        check(&bench, json!({"pattern": "folder-7/file-77.txt"}), &["folder-7/file-77.txt"]);
    }

    #[test]
    fn spec_18_nothing_outside_is_found() {
        let bench = bench(&["a"]);
        std::os::unix::fs::symlink("/etc", bench.root().join("out")).unwrap();
        for (pattern, start) in [("/etc/*", "/etc"), ("../*", ".."), ("/*", "/")] {
            let error = format!("Error: Path escapes workspace: {start}");
            check(&bench, json!({"pattern": pattern}), &[&error]);
        }
        let lost = bench.call(&GLOB, json!({"pattern": "*/../../*"})).content;
        assert!(lost.starts_with("Error: Path escapes workspace: */../../*\n"), "{lost}");
        check(
            &bench,
            json!({"pattern": "*", "path": ".."}),
            &["Error: Path escapes workspace: .."],
        );
        check(&bench, json!({"pattern": "**/passwd"}), &["(no matches)"]);
        let output = bench.call(&GLOB, json!({"pattern": "out/*"}));
        assert!(output.content.starts_with("Error: Path escapes workspace: out"), "{output:?}");
    }

    #[test]
    fn wrong_patterns_and_folders_are_named() {
        let bench = bench(&["a"]);
        let output = bench.call(&GLOB, json!({"pattern": "[a"}));
        assert!(output.content.starts_with("Error: invalid pattern: "), "{output:?}");
        check(
            &bench,
            json!({"pattern": "*", "path": "missing"}),
            &["Error: No such file or directory: missing"],
        );
    }

    #[test]
    fn a_forgiving_glob_looks_in_every_folder() {
        let bench = bench(&["src/a.py", "b.py"]);
        let output = bench.call(&Glob { is_forgiving: true }, json!({"pattern": "*.py"}));
        assert_eq!(output.content, "b.py\nsrc/a.py");
    }

    #[test]
    fn only_the_newest_of_many_are_shown_and_the_others_counted() {
        let mut found = Found::default();
        for second in 0..100_000 {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            found.add(time, PathBuf::from(second.to_string()));
        }
        let text = found.text();
        assert!(text.starts_with("99999\n99998\n"));
        assert!(text.ends_with("\n99800\n... (99800 older files; narrow the pattern)"), "{text}");
    }
}
