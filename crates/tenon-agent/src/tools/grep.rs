//! `grep`: lines that match a regular expression, in every file beneath a folder.
//!
//! Ripgrep's own searcher on files that the workspace opens; binary files and what ignore files
//! name are left out. Files are searched on all cores, and come in the order of their names.

mod search;

use std::path::Path;

use globset::GlobSet;
use schemars::JsonSchema;
use serde::Deserialize;
use tenon_sandbox::{EntryKind, WalkEntry, WalkOptions, Workspace};
use tokio_util::sync::CancellationToken;

use self::search::{FileHits, HELD_BYTES_MAX, Search};
use super::{
    path_pattern::{self, Start},
    text_file::{blocking, failed, search_action, unnamed_action},
    tool::{Effect, Tool, ToolContext, ToolOutput},
};
use crate::policy::Action;

/// Matching lines (or files) shown unless the model asks for another number. The schema names it.
const LIMIT_DEFAULT: u64 = 200;

/// More matches (100,000) nobody reads.
const LIMIT_MAX: u64 = 100_000;

/// More lines around a match are a case for `read_file`.
const CONTEXT_LINES_MAX: u64 = 50;

/// So many files are searched before it is looked whether there is enough.
const BATCH_FILES: usize = 512;

/// Fewer files are searched sooner than a thread starts.
const THREAD_FILES_MIN: usize = 32;

/// More threads wait for the disk only.
const THREADS_MAX: usize = 8;

/// A walk is as long as the tree.
const UNKNOWN_BYTES: u64 = u64::MAX;

/// Finds lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grep;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct GrepArgs {
    /// Regular expression as ripgrep takes it
    pattern: String,
    /// File or folder
    path: Option<String>,
    /// Only files like *.rs or src/**
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    /// Lines around each match
    context: Option<u64>,
    /// Only names of files
    #[serde(default)]
    files_only: bool,
    /// Most matches, 200 if left out
    limit: Option<u64>,
}

impl Tool for Grep {
    type Args = GrepArgs;

    fn name(&self) -> &str {
        "grep"
    }

    fn description(&self) -> &str {
        "Search file contents. Answers PATH:LINE:TEXT; ignored files (.gitignore) are left out."
    }

    fn effect(&self, _args: &GrepArgs) -> Effect {
        Effect::Read
    }

    fn subject(&self, args: &GrepArgs) -> String {
        match (&args.path, &args.glob) {
            (Some(path), _) => format!("{} in {path}", args.pattern),
            (None, Some(glob)) => format!("{} in {glob}", args.pattern),
            (None, None) => args.pattern.clone(),
        }
    }

    fn action(&self, args: &GrepArgs, workspace: &Workspace) -> Action {
        let (folder, glob) = (args.path.as_deref(), args.glob.as_deref().unwrap_or_default());
        let start = Start::of(folder, glob, workspace.root());
        match (start.is_lost(), start.leaves) {
            (true, _) => unnamed_action(glob),
            (false, true) => search_action(&start.folder, workspace),
            (false, false) => search_action(folder.unwrap_or("."), workspace),
        }
    }

    async fn run(&self, args: GrepArgs, context: &ToolContext) -> Result<ToolOutput, String> {
        let context = context.clone();
        blocking(UNKNOWN_BYTES, move || grep(&args, &context)).await
    }
}

fn grep(args: &GrepArgs, context: &ToolContext) -> Result<ToolOutput, String> {
    let ToolContext { workspace, cancel, masking, .. } = context;
    let limit = args.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX) as usize;
    let search = Search {
        matcher: search::matcher(&args.pattern, args.ignore_case)?,
        context_lines: args.context.unwrap_or(0).min(CONTEXT_LINES_MAX) as usize,
        files_only: args.files_only,
        // One more than is shown tells that there are more.
        matches_max: limit.saturating_add(1),
        masking: masking.clone(),
    };
    let (start, filter) = start(args, workspace.root())?;
    let walk = workspace.walk(&start, WalkOptions::default()).map_err(failed)?;
    let is_over = cancel.clone();
    let mut walk = walk.until(move || is_over.is_cancelled());
    let base = path_pattern::shown_start(&start, workspace)?;
    let mut wanted = walk.by_ref().flatten().filter(|entry| {
        entry.kind == EntryKind::File
            && filter.as_ref().is_none_or(|filter| {
                let beneath = entry.path.strip_prefix(&base).unwrap_or(&entry.path);
                filter.is_match(&entry.path) || filter.is_match(beneath)
            })
    });
    let mut answer = Answer { limit, ..Answer::default() };
    while !answer.is_full() && !cancel.is_cancelled() {
        let batch: Vec<WalkEntry> = wanted.by_ref().take(BATCH_FILES).collect();
        if batch.is_empty() {
            break;
        }
        for hits in all_hits(&search, workspace, &batch, cancel) {
            answer.add(hits);
        }
    }
    drop(wanted);
    if cancel.is_cancelled() {
        return Err("cancelled".into());
    }
    answer.closed = path_pattern::closed_note(&walk);
    Ok(ToolOutput::text(answer.text(walk.is_cut())))
}

/// Returns the folder that is searched, and which files in it.
fn start(args: &GrepArgs, root: &Path) -> Result<(String, Option<GlobSet>), String> {
    let folder = args.path.as_deref();
    let Some(glob) = args.glob.as_deref() else {
        return Ok((folder.unwrap_or(".").to_owned(), None));
    };
    let start = Start::of(folder, glob, root);
    if start.is_lost() {
        return Err(path_pattern::lost(glob));
    }
    if start.leaves {
        let pattern = if start.pattern.is_empty() { "**" } else { start.pattern };
        return Ok((start.folder, Some(path_pattern::compiled(pattern)?)));
    }
    let inside = Path::new(glob).strip_prefix(root).ok().and_then(Path::to_str);
    let filter = filter(inside.unwrap_or_else(|| glob.trim_start_matches("./")))?;
    Ok((folder.unwrap_or(".").to_owned(), Some(filter)))
}

/// A pattern without a slash means names, wherever they are.
fn filter(glob: &str) -> Result<GlobSet, String> {
    match glob.trim_end_matches('/') {
        name if !name.contains('/') && name.len() == glob.len() => {
            path_pattern::compiled(&format!("**/{name}"))
        }
        folder if folder.len() < glob.len() => path_pattern::compiled(&format!("{folder}/**")),
        path => path_pattern::compiled(path),
    }
}

/// Searches `files` side by side and returns what was found in their order.
fn all_hits(
    search: &Search,
    workspace: &Workspace,
    files: &[WalkEntry],
    cancel: &CancellationToken,
) -> Vec<FileHits> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(THREADS_MAX).min(files.len() / THREAD_FILES_MIN);
    if threads < 2 {
        return search.files(workspace, files.iter(), cancel);
    }
    std::thread::scope(|scope| {
        let parts: Vec<_> = files
            .chunks(files.len().div_ceil(threads))
            .map(|part| {
                let look = move || search.files(workspace, part.iter(), cancel);
                // Jobs may leave no room for another thread.
                std::thread::Builder::new().spawn_scoped(scope, look).map_err(|_| look)
            })
            .collect();
        parts
            .into_iter()
            .flat_map(|part| match part {
                Ok(part) => part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(look) => look(),
            })
            .collect()
    })
}

/// What is found, up to the limit.
#[derive(Default)]
struct Answer {
    lines: Vec<String>,
    matches: usize,
    limit: usize,
    held: usize,
    has_more: bool,
    failures: Vec<String>,
    closed: Option<String>,
}

impl Answer {
    fn is_full(&self) -> bool {
        self.has_more
    }

    fn add(&mut self, hits: FileHits) {
        self.failures.extend(hits.failure);
        if self.has_more || hits.lines.is_empty() {
            return;
        }
        if hits.has_context && !self.lines.is_empty() {
            self.lines.push("--".into());
        }
        for line in hits.lines {
            if line.is_match && self.matches == self.limit || self.held > HELD_BYTES_MAX {
                self.has_more = true;
                return;
            }
            self.held += line.held();
            self.matches += usize::from(line.is_match);
            self.lines.push(line.text);
        }
        self.has_more = self.held > HELD_BYTES_MAX;
    }

    fn text(mut self, is_cut: bool) -> String {
        if self.lines.is_empty() {
            self.lines.push("(no matches)".into());
        }
        if self.has_more {
            let limit = match self.held > HELD_BYTES_MAX {
                true => format!("{} MiB", HELD_BYTES_MAX >> 20),
                false => self.limit.to_string(),
            };
            let more = format!("... (more matches than the limit of {limit}; narrow it down)");
            self.lines.push(more);
        }
        if let Some(first) = self.failures.first() {
            let count = self.failures.len();
            self.lines.push(format!("... (files that could not be searched: {count}; {first})"));
        }
        if is_cut {
            self.lines.push("... (too many files: not all were searched; name a folder)".into());
        }
        self.lines.extend(self.closed);
        self.lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::Bench;

    fn bench() -> Bench {
        let bench = Bench::new();
        bench.put("a.rs", "fn one() {}\nlet x = 1;\nfn two() {}\n");
        bench.put("src/b.rs", "FN three\n");
        bench.put("src/c.txt", "-fn\r\n");
        bench.put("target/d.rs", "fn ignored() {}\n");
        bench.put("binary", b"fn \0 x\n");
        bench.put(".gitignore", "target\n");
        bench
    }

    fn check(arguments: Value, expected: &[&str]) {
        assert_eq!(bench().call(&Grep, arguments).content, expected.join("\n"));
    }

    #[test]
    fn spec_33_matching_lines_with_path_and_number() {
        check(
            json!({"pattern": "fn"}),
            &["a.rs:1:fn one() {}", "a.rs:3:fn two() {}", "src/c.txt:1:-fn"],
        );
        check(json!({"pattern": "nothing"}), &["(no matches)"]);
        check(json!({"pattern": "fn", "path": "src"}), &["src/c.txt:1:-fn"]);
        check(json!({"pattern": "two", "path": "a.rs"}), &["a.rs:3:fn two() {}"]);
        check(json!({"pattern": "^fn t.o", "path": "./a.rs"}), &["a.rs:3:fn two() {}"]);
        check(json!({"pattern": "-fn$"}), &["src/c.txt:1:-fn"]);
        check(json!({"pattern": "^let.*;$"}), &["a.rs:2:let x = 1;"]);
        check(json!({"pattern": "^$|1;(\\s|$)"}), &["a.rs:2:let x = 1;"]);
        check(json!({"pattern": "fn three", "ignore_case": true}), &["src/b.rs:1:FN three"]);
        check(json!({"pattern": "fn", "files_only": true}), &["a.rs", "src/c.txt"]);
        check(
            json!({"pattern": "(?i)fn", "glob": "*.rs", "path": "src"}),
            &["src/b.rs:1:FN three"],
        );
        check(json!({"pattern": "fn", "glob": "src/**"}), &["src/c.txt:1:-fn"]);
        check(json!({"pattern": "fn", "glob": "src/"}), &["src/c.txt:1:-fn"]);
        check(json!({"pattern": "fn", "glob": "*.{txt,md}"}), &["src/c.txt:1:-fn"]);
    }

    #[test]
    fn spec_33_lines_around_a_match_and_the_limit() {
        check(
            json!({"pattern": "let", "context": 1}),
            &["a.rs-1-fn one() {}", "a.rs:2:let x = 1;", "a.rs-3-fn two() {}"],
        );
        check(
            json!({"pattern": "three|-fn", "context": 1}),
            &["src/b.rs:1:FN three", "--", "src/c.txt:1:-fn"],
        );
        check(
            json!({"pattern": "fn", "limit": 1}),
            &["a.rs:1:fn one() {}", "... (more matches than the limit of 1; narrow it down)"],
        );
        check(json!({"pattern": "let", "limit": 1}), &["a.rs:2:let x = 1;"]);
    }

    #[test]
    fn spec_18_nothing_outside_is_searched() {
        check(json!({"pattern": "root", "path": "/etc"}), &["Error: Path escapes workspace: /etc"]);
        check(json!({"pattern": "x", "path": ".."}), &["Error: Path escapes workspace: .."]);
        for (glob, start) in [("/etc/*", "/etc"), ("../*", ".."), ("/etc/", "/etc")] {
            let error = format!("Error: Path escapes workspace: {start}");
            check(json!({"pattern": "x", "glob": glob}), &[&error]);
        }
        let lost = bench().call(&Grep, json!({"pattern": "x", "glob": "*/../../*"})).content;
        assert!(lost.starts_with("Error: Path escapes workspace: */../../*\n"), "{lost}");
        let bench = bench();
        std::os::unix::fs::symlink("/etc", bench.root().join("out")).unwrap();
        assert_eq!(bench.call(&Grep, json!({"pattern": "root:"})).content, "(no matches)");
    }

    #[test]
    fn a_wrong_pattern_is_explained() {
        let output = bench().call(&Grep, json!({"pattern": "foo("}));
        assert!(output.content.starts_with("Error: invalid pattern: "), "{}", output.content);
        assert!(output.content.contains("unclosed group"), "{}", output.content);
    }

    #[test]
    fn many_files_are_searched_side_by_side_in_order() {
        let bench = Bench::new();
        let mut expected = Vec::new();
        for index in 0..300 {
            bench.put(&format!("f{index:03}"), format!("needle {index}\n"));
            expected.push(format!("f{index:03}:1:needle {index}"));
        }
        let output = bench.call(&Grep, json!({"pattern": "needle", "limit": 1000}));
        assert_eq!(output.content, expected.join("\n"));
    }

    #[test]
    fn what_is_held_is_bounded_whatever_the_limit() {
        let bench = Bench::new();
        bench.put("a", "\n".repeat(200_000));
        let all = json!({"pattern": "", "limit": u64::MAX});
        let content = bench.call(&Grep, all.clone()).content;
        let note = "\n... (more matches than the limit of 100000; narrow it down)";
        assert!(content.ends_with(note), "{}", &content[content.len() - 100..]);
        bench.put("a", format!("{}\n", "x".repeat(290)).repeat(80_000));
        let content = bench.call(&Grep, all).content;
        let note = "\n... (more matches than the limit of 16 MiB; narrow it down)";
        assert!(content.ends_with(note), "{}", &content[content.len() - 100..]);
        assert!(content.len() < 17 << 20);
    }
}
