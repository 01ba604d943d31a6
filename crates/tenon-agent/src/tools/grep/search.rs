//! One file searched by ripgrep's parts, its lines made ready for the answer.

use std::io;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use tenon_sandbox::{WalkEntry, Workspace};
use tokio_util::sync::CancellationToken;

use crate::masking::Masking;

/// The most characters of a line: enough to know whether to read the file.
const LINE_CHARS_MAX: usize = 300;

/// How many characters of a longer line stand before its match.
const BEFORE_MATCH_CHARS: usize = 60;

/// A file with a longer line (8 MiB) is not searched: the line has to be held in memory.
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What is found is held until it is told: no more than this (16 MiB), whatever the limit of matches.
pub(super) const HELD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What to look for and what to tell of it.
pub(super) struct Search {
    pub matcher: RegexMatcher,
    pub context_lines: usize,
    pub files_only: bool,
    pub matches_max: usize,
    pub masking: Masking,
}

/// What was found in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileHits {
    pub lines: Vec<Line>,
    pub has_context: bool,
    pub failure: Option<String>,
}

/// A line of the answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub text: String,
    /// It counts for the limit; lines around a match do not.
    pub is_match: bool,
}

impl Line {
    /// Returns how much memory it takes.
    pub(super) fn held(&self) -> usize {
        self.text.len() + size_of::<Line>()
    }
}

/// Returns what finds `pattern` in a line.
///
/// # Errors
/// One sentence for the model.
pub(super) fn matcher(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, String> {
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .multi_line(true)
        .crlf(true)
        .build(pattern)
        .map_err(|error| format!("invalid pattern: {error}"))
}

impl Search {
    /// Searches `files` one after another; those without a match are not in the result.
    pub(super) fn files<'a>(
        &self,
        workspace: &Workspace,
        files: impl Iterator<Item = &'a WalkEntry>,
        cancel: &CancellationToken,
    ) -> Vec<FileHits> {
        let mut searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(!self.files_only)
            .before_context(self.context_lines)
            .after_context(self.context_lines)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LINE_BYTES_MAX))
            .build();
        let mut found = Vec::new();
        let (mut matches, mut held) = (0, 0);
        for file in files {
            // Enough for the whole answer.
            let is_enough = matches >= self.matches_max || held > HELD_BYTES_MAX;
            if is_enough || cancel.is_cancelled() {
                break;
            }
            let hits = self.file(workspace, file, &mut searcher);
            held += hits.lines.iter().map(Line::held).sum::<usize>();
            matches += hits.lines.iter().filter(|line| line.is_match).count();
            if !hits.lines.is_empty() || hits.failure.is_some() {
                found.push(hits);
            }
        }
        found
    }

    fn file(&self, workspace: &Workspace, entry: &WalkEntry, searcher: &mut Searcher) -> FileHits {
        let path = entry.path.to_string_lossy();
        let mut sink = Hits {
            search: self,
            path: &path,
            found: FileHits::default(),
            matches: 0,
            held: 0,
            is_binary: false,
        };
        sink.found.has_context = self.context_lines > 0 && !self.files_only;
        let outcome = match workspace.open_entry(entry) {
            Ok(file) => searcher
                .search_reader(&self.matcher, file, &mut sink)
                .map_err(|error| format!("{path}: {error}")),
            Err(error) => Err(error.to_string()),
        };
        if sink.is_binary {
            return FileHits::default();
        }
        sink.found.failure = outcome.err();
        sink.found
    }
}

/// Collects the lines of one file.
struct Hits<'a> {
    search: &'a Search,
    path: &'a str,
    found: FileHits,
    matches: usize,
    held: usize,
    is_binary: bool,
}

impl Hits<'_> {
    /// Takes a line; returns whether there is room for more.
    fn add(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) -> bool {
        let number = number.unwrap_or_default();
        let end = bytes.trim_ascii_end().len();
        let line = bytes.get(..end).unwrap_or(bytes);
        let at = match mark {
            ':' => self.search.matcher.find(line).ok().flatten().map_or(0, |found| found.start()),
            _ => 0,
        };
        let text = format!("{}{mark}{number}{mark}{}", self.path, self.search.shortened(line, at));
        let line = Line { text, is_match: mark == ':' };
        self.held += line.held();
        self.found.lines.push(line);
        self.held <= HELD_BYTES_MAX
    }
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        if self.search.files_only {
            let text = self.path.to_owned();
            self.found.lines.push(Line { text, is_match: true });
            return Ok(false);
        }
        let has_room = self.add(':', found.line_number(), found.bytes());
        Ok(has_room && self.matches < self.search.matches_max)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.add('-', context.line_number(), context.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.found.lines.push(Line { text: "--".into(), is_match: false });
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

impl Search {
    /// Returns `line` for the answer, a long one cut around the byte `at` of its match.
    fn shortened(&self, line: &[u8], at: usize) -> String {
        let text = String::from_utf8_lossy(line);
        // Bytes are at least characters.
        let chars = if line.len() <= LINE_CHARS_MAX { line.len() } else { text.chars().count() };
        if chars <= LINE_CHARS_MAX {
            return text.into_owned();
        }
        // What is cut in two is shown as unreadable at most.
        let before = String::from_utf8_lossy(line.get(..at).unwrap_or_default());
        let skipped = before.chars().count().saturating_sub(BEFORE_MATCH_CHARS);
        let first = skipped.min(chars - LINE_CHARS_MAX);
        let place = |char: usize| text.char_indices().nth(char).map_or(text.len(), |(at, _)| at);
        let shown = self.masking.part(&text, place(first)..place(first + LINE_CHARS_MAX));
        let head = if first > 0 { "..." } else { "" };
        let tail = if first + LINE_CHARS_MAX < chars { "..." } else { "" };
        format!("{head}{shown}{tail} ({chars} characters)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Bench;

    fn search(masking: Masking) -> Search {
        let matcher = matcher("needle", false).unwrap();
        Search { matcher, context_lines: 0, files_only: false, matches_max: 100_000, masking }
    }

    #[test]
    fn long_lines_are_cut_around_their_match() {
        let search = search(Masking::off());
        let line = "x".repeat(500) + "needle" + &"汉".repeat(500);
        let text = search.shortened(line.as_bytes(), 500);
        let expected = "x".repeat(60) + "needle" + &"汉".repeat(234);
        assert_eq!(text, format!("...{expected}... (1006 characters)"));
        assert_eq!(search.shortened("汉".repeat(200).as_bytes(), 0), "汉".repeat(200));
        let end = search.shortened((("x").repeat(1_000)).as_bytes(), 999);
        assert_eq!(end, format!("...{} (1000 characters)", "x".repeat(300)));
    }

    #[test]
    fn a_cut_shows_nothing_of_a_secret() {
        let bench = Bench::new().knowing("s3cret-word-0123");
        let search = search(bench.context.masking.clone());
        let label = "[masked: value of KEY from here]";
        let behind = format!("needle{}s3cret-word-0123{}", "x".repeat(285), "y".repeat(500));
        let expected = format!("needle{}{label}... (807 characters)", "x".repeat(285));
        assert_eq!(search.shortened(behind.as_bytes(), 0), expected);
        let before = format!("{}s3cret-word-0123{}needle", "y".repeat(500), "x".repeat(50));
        let at = before.find("needle").unwrap();
        let before = before + &"z".repeat(500);
        let shown = search.shortened(before.as_bytes(), at);
        assert!(shown.starts_with(&format!("...{label}xxxxx")), "{shown}");
    }

    #[test]
    fn a_file_with_a_nul_anywhere_is_left_out() {
        let bench = Bench::new();
        bench.put("late", [b"needle\n".repeat(50_000).as_slice(), b"\0"].concat());
        bench.put("text", "needle\n");
        let search = search(Masking::off());
        let walk = bench.context.workspace.walk(".", Default::default()).unwrap();
        let files: Vec<WalkEntry> = walk.flatten().collect();
        let cancel = CancellationToken::new();
        let found = search.files(&bench.context.workspace, files.iter(), &cancel);
        let lines = vec![Line { text: "text:1:needle".into(), is_match: true }];
        assert_eq!(found, [FileHits { lines, ..FileHits::default() }]);
    }
}
