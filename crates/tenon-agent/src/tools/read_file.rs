//! `read_file`: lines of a file with their numbers, so that people and models can point at a
//! place.
//!
//! A large file streams through a small buffer, and the note on what was not shown is within the
//! limit of a result, so that no cut takes it away. Never guesses an encoding: what is neither
//! UTF-8 nor UTF-16 with a byte order mark is shown with its ASCII readable.

use std::io::{BufRead, BufReader, Read};

use schemars::JsonSchema;
use serde::Deserialize;
use tenon_model::Image;
use tenon_sandbox::{ContentHash, ContentHasher, OpenFile, Workspace};
use tokio_util::sync::CancellationToken;

use super::{
    text_file::{Encoding, WHOLE_BYTES_MAX, blocking, counted, failed, read_action},
    tool::{Effect, Tool, ToolContext, ToolOutput},
};
use crate::{masking::Masking, policy::Action};

/// Lines shown unless the model asks for another number. The schema names it.
const LINES_DEFAULT: u64 = 2_000;

/// A longer line is data, not text.
const LINE_CHARS_MAX: usize = 2_000;

/// What is kept around what is shown, to see whether the cut goes through a secret.
const AROUND_BYTES: usize = 1024;

/// Enough for [`LINE_CHARS_MAX`] characters of UTF-8, and for what is looked at behind them.
const LINE_BYTES_MAX: usize = 4 * LINE_CHARS_MAX + AROUND_BYTES;

/// Room for the notes at the end.
const NOTE_CHARS_MAX: usize = 400;

/// One pass over the file takes bites of this size.
const BUFFER_BYTES: usize = 64 * 1024;

/// UTF-16 is decoded as a whole; a longer file is not source.
const UTF16_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Shows lines of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadFile {
    /// The most characters of a result.
    pub chars_max: usize,
    /// Images are shown: the model sees them.
    pub shows_images: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadFileArgs {
    path: String,
    /// First line, from 1
    offset: Option<u64>,
    /// Number of lines, 2000 if left out
    limit: Option<u64>,
}

impl Tool for ReadFile {
    type Args = ReadFileArgs;

    fn name(&self) -> &str {
        "read_file"
    }

    fn description(&self) -> &str {
        "Read a text file. Each line comes as NUMBER<TAB>TEXT; the number is not part of the file."
    }

    fn effect(&self, _args: &ReadFileArgs) -> Effect {
        Effect::Read
    }

    fn subject(&self, args: &ReadFileArgs) -> String {
        match (args.offset, args.limit) {
            (None | Some(0 | 1), None) => args.path.clone(),
            (offset, None) => format!("{} from line {}", args.path, offset.unwrap_or(1)),
            (offset, Some(limit)) => {
                let first = offset.unwrap_or(1).max(1);
                let last = first.saturating_add(limit.saturating_sub(1));
                format!("{} lines {first}-{last}", args.path)
            }
        }
    }

    fn action(&self, args: &ReadFileArgs, workspace: &Workspace) -> Action {
        read_action(&args.path, workspace)
    }

    async fn run(&self, args: ReadFileArgs, context: &ToolContext) -> Result<ToolOutput, String> {
        let file = context.workspace.open_file(&args.path).map_err(failed)?;
        let (tool, context) = (*self, context.clone());
        blocking(file.len(), move || tool.read(file, &args, &context)).await
    }
}

impl ReadFile {
    fn read(
        self,
        file: OpenFile,
        args: &ReadFileArgs,
        context: &ToolContext,
    ) -> Result<ToolOutput, String> {
        let ToolContext { workspace, cancel, masking, .. } = context;
        let path = args.path.as_str();
        let io = |error: std::io::Error| format!("{path}: {error}");
        let length = file.len();
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        let head = reader.fill_buf().map_err(io)?;
        let Some(encoding) = Encoding::of(head) else {
            if Image::is_begun_by(head) {
                return self.read_image(reader, path);
            }
            return Err(format!(
                "{path} is a binary file ({}); look into it with bash (file, xxd)",
                counted(length, "byte")
            ));
        };
        let mut lines = Numbered::new(args, self.chars_max, masking.clone());
        let hash = match encoding {
            Encoding::Bytes if length > WHOLE_BYTES_MAX => {
                stream(reader, &mut lines, cancel).map_err(io)?.ok_or("cancelled")?
            }
            encoding => {
                if length > UTF16_BYTES_MAX {
                    return Err(format!(
                        "{path} is UTF-16 and larger than {UTF16_BYTES_MAX} bytes"
                    ));
                }
                let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
                reader.take(UTF16_BYTES_MAX).read_to_end(&mut bytes).map_err(io)?;
                if encoding == Encoding::Bytes {
                    lines.push(&bytes);
                } else {
                    let text = encoding.utf16_text(&bytes);
                    let text = text.ok_or_else(|| format!("{path} is a binary file"))?;
                    lines.push(text.as_bytes());
                }
                ContentHash::of(&bytes)
            }
        };
        workspace.note_seen(path, hash);
        lines.into_output(path, encoding)
    }

    /// Says what an image is, and shows it to a model that sees.
    fn read_image(self, reader: BufReader<OpenFile>, path: &str) -> Result<ToolOutput, String> {
        let mut bytes = Vec::new();
        let read = reader.take(Image::BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("{path}: {error}"))?;
        let image = Image::new(&bytes).map_err(|error| format!("{path} {error}"))?;
        let is = format!("{path} is a {}", image.in_words());
        Ok(match self.shows_images {
            true => ToolOutput { images: vec![image], ..ToolOutput::text(format!("({is})")) },
            false => ToolOutput::text(format!("({is}; it cannot be shown to you)")),
        })
    }
}

/// Reads to the end of the file; `None` when that was cancelled.
fn stream(
    mut reader: BufReader<OpenFile>,
    lines: &mut Numbered,
    cancel: &CancellationToken,
) -> std::io::Result<Option<ContentHash>> {
    let mut hasher = ContentHasher::default();
    while !cancel.is_cancelled() {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(Some(hasher.finish()));
        }
        lines.push(bytes);
        hasher.push(bytes);
        let count = bytes.len();
        reader.consume(count);
    }
    Ok(None)
}

/// Numbers the lines of a range and counts the others, whatever pieces the bytes come in.
struct Numbered {
    first: u64,
    /// The first line behind the range; lowered when the room for text is used up.
    end: u64,
    chars_left: usize,
    text: String,
    /// Number of the line that is read now.
    line: u64,
    /// Whether that line has bytes yet.
    is_begun: bool,
    current: Vec<u8>,
    current_left_out: usize,
    is_utf8: bool,
    masking: Masking,
    /// The end of what stands before the range.
    before: Vec<u8>,
    /// The beginning of what stands behind what is shown.
    after: Vec<u8>,
}

impl Numbered {
    fn new(args: &ReadFileArgs, chars_max: usize, masking: Masking) -> Self {
        let first = args.offset.unwrap_or(1).max(1);
        let limit = args.limit.unwrap_or(LINES_DEFAULT);
        Self {
            first,
            end: first.saturating_add(limit),
            // One line always fits.
            chars_left: chars_max.saturating_sub(NOTE_CHARS_MAX).max(LINE_CHARS_MAX + 100),
            text: String::new(),
            line: 1,
            is_begun: false,
            current: Vec::new(),
            current_left_out: 0,
            is_utf8: true,
            masking,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = if (self.first..self.end).contains(&self.line) {
                self.take_line(rest)
            } else {
                self.skip(rest)
            };
        }
    }

    fn take_line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let end = memchr::memchr(b'\n', bytes);
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(bytes);
        let room = LINE_BYTES_MAX - self.current.len();
        self.current.extend_from_slice(part.get(..room).unwrap_or(part));
        self.current_left_out += part.len().saturating_sub(room);
        self.is_begun = true;
        match end {
            Some(end) => {
                self.end_line();
                bytes.get(end + 1..).unwrap_or_default()
            }
            None => &[],
        }
    }

    /// Counts lines up to the range, or all of them behind it.
    fn skip<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if self.line < self.first {
            for newline in memchr::memchr_iter(b'\n', bytes) {
                self.line += 1;
                if self.line == self.first {
                    self.is_begun = false;
                    let (skipped, rest) = bytes.split_at(newline + 1);
                    self.note_before(skipped);
                    return rest;
                }
            }
            self.note_before(bytes);
        } else {
            self.note_after(bytes);
            self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        }
        self.is_begun = bytes.last() != Some(&b'\n');
        &[]
    }

    fn note_before(&mut self, skipped: &[u8]) {
        let last = skipped.len().saturating_sub(AROUND_BYTES);
        self.before.extend_from_slice(skipped.get(last..).unwrap_or_default());
        self.before.drain(..self.before.len().saturating_sub(AROUND_BYTES));
    }

    fn note_after(&mut self, skipped: &[u8]) {
        let room = AROUND_BYTES - self.after.len().min(AROUND_BYTES);
        self.after.extend_from_slice(skipped.get(..room).unwrap_or(skipped));
    }

    fn end_line(&mut self) {
        let line = self.line;
        self.line += 1;
        self.is_begun = false;
        let (shown, is_utf8) = self.shown();
        let chars = shown.chars().count() + line.to_string().len() + 2;
        if chars > self.chars_left {
            self.end = line;
            let rest = std::mem::take(&mut self.current);
            self.note_after(&rest);
            self.note_after(b"\n");
        } else {
            self.chars_left -= chars;
            self.is_utf8 &= is_utf8;
            self.text.push_str(&format!("{line}\t{shown}\n"));
        }
        self.current.clear();
        self.current_left_out = 0;
    }

    /// Returns the current line cut to its limit, and whether it is UTF-8.
    fn shown(&self) -> (String, bool) {
        let bytes = self.current.strip_suffix(b"\r").unwrap_or(&self.current);
        let (text, is_utf8) = match std::str::from_utf8(bytes) {
            Ok(text) => (text.into(), true),
            // A character that the cut went through.
            Err(error) if self.current_left_out > 0 && error.error_len().is_none() => {
                let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
                (String::from_utf8_lossy(whole), true)
            }
            Err(_) => (String::from_utf8_lossy(bytes), false),
        };
        match text.char_indices().nth(LINE_CHARS_MAX) {
            None if self.current_left_out == 0 => (text.into_owned(), is_utf8),
            cut => {
                let end = cut.map_or(text.len(), |(end, _)| end);
                let left_out = (bytes.len() + self.current_left_out).saturating_sub(end);
                let text = self.masking.part(&text, 0..end);
                let left_out = counted(left_out as u64, "more byte");
                (format!("{text}... ({left_out} in this line)"), is_utf8)
            }
        }
    }

    /// Masks values that go on from lines before the range, or into lines behind what is shown.
    fn mask_at_ends(&mut self) {
        let before = String::from_utf8_lossy(&self.before);
        let after = String::from_utf8_lossy(&self.after);
        let whole = format!("{before}{}{after}", self.text);
        self.text = self.masking.part(&whole, before.len()..before.len() + self.text.len());
    }

    fn into_output(mut self, path: &str, encoding: Encoding) -> Result<ToolOutput, String> {
        if self.is_begun && (self.first..self.end).contains(&self.line) {
            self.end_line();
            self.is_begun = false;
        }
        let lines = self.line - 1 + u64::from(self.is_begun);
        if lines == 0 {
            return Ok(ToolOutput::text(format!("({path} is empty)")));
        }
        if self.first > lines {
            let (first, has) = (self.first, counted(lines, "line"));
            return Err(format!("line {first} is past the end: {path} has {has}"));
        }
        self.mask_at_ends();
        match encoding {
            Encoding::Bytes if self.is_utf8 => {}
            Encoding::Bytes => self.text.push_str(&format!(
                "({path} is not UTF-8: what cannot be read is shown as \u{FFFD})\n"
            )),
            Encoding::Utf16Le | Encoding::Utf16Be => {
                self.text.push_str(&format!("({path} is UTF-16)\n"));
            }
        }
        if lines >= self.end {
            let more = counted(lines + 1 - self.end, "more line");
            self.text.push_str(&format!("... ({more})"));
        }
        Ok(ToolOutput::text(self.text.trim_end_matches('\n')))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::testing::Bench;

    const READ: ReadFile = ReadFile { chars_max: 50_000, shows_images: false };

    fn check(bytes: impl AsRef<[u8]>, arguments: Value, expected: &str) {
        let bench = Bench::new();
        bench.put("a.txt", bytes);
        let mut arguments = arguments;
        arguments["path"] = "a.txt".into();
        assert_eq!(bench.call(&READ, arguments).content, expected);
    }

    #[test]
    fn spec_28_lines_are_numbered_and_the_rest_is_counted() {
        check("a\nb\nc\n", json!({}), "1\ta\n2\tb\n3\tc");
        check("a\nb\nc", json!({}), "1\ta\n2\tb\n3\tc");
        check("a\nb\nc\n", json!({"limit": 1}), "1\ta\n... (2 more lines)");
        check("a\nb\nc", json!({"limit": 1}), "1\ta\n... (2 more lines)");
        check("a\nb\nc\n", json!({"limit": 3}), "1\ta\n2\tb\n3\tc");
        check("a\nb\nc\n", json!({"limit": 0}), "... (3 more lines)");
        check("a\nb\nc\nd", json!({"offset": 2, "limit": 2}), "2\tb\n3\tc\n... (1 more line)");
        check("a\nb\n", json!({"offset": 0}), "1\ta\n2\tb");
        check("a\r\nb\r\n", json!({}), "1\ta\n2\tb");
        check("\n\n", json!({}), "1\t\n2\t");
        check("", json!({}), "(a.txt is empty)");
        check("a\nb\n", json!({"offset": 3}), "Error: line 3 is past the end: a.txt has 2 lines");
        check("世\n", json!({}), "1\t世");
    }

    #[test]
    fn spec_28_very_long_lines_are_cut_with_a_note() {
        let long = "汉".repeat(3_000);
        let shown = "汉".repeat(2_000);
        check(
            format!("a\n{long}\nb\n"),
            json!({}),
            &format!("1\ta\n2\t{shown}... (3000 more bytes in this line)\n3\tb"),
        );
        let longer = "x".repeat(100_000);
        let shown = "x".repeat(2_000);
        check(longer, json!({}), &format!("1\t{shown}... (98000 more bytes in this line)"));
    }

    #[test]
    fn a_cut_shows_nothing_of_a_secret() {
        let label = "[masked: value of KEY from here]";
        let check = |bytes: &str, arguments: Value, expected: &str| {
            let bench = Bench::new().knowing("s3cret-word-0123");
            bench.put("a.txt", bytes);
            let mut arguments = arguments;
            arguments["path"] = "a.txt".into();
            assert_eq!(bench.call(&READ, arguments).content, expected);
        };
        let (x, y) = ("x".repeat(1_990), "y".repeat(90_000));
        check(
            &format!("{x}s3cret-word-0123{y}\n"),
            json!({}),
            &format!("1\t{x}{label}... (90006 more bytes in this line)"),
        );
        let wide = "汉".repeat(1_990);
        check(
            &format!("{wide}s3cret-word-0123\n"),
            json!({}),
            &format!("1\t{wide}{label}... (6 more bytes in this line)"),
        );
        let broken = "a\nb s3cret-\nword-0123 c\nd\n";
        let second = format!("2\tb {label}\n... (2 more lines)");
        check(broken, json!({"offset": 2, "limit": 1}), &second);
        let third = format!("3\t{label} c\n... (1 more line)");
        check(broken, json!({"offset": 3, "limit": 1}), &third);
    }

    #[test]
    fn spec_28_the_note_survives_the_limit_of_a_result() {
        let bench = Bench::new();
        bench.put("a.txt", ("x".repeat(79) + "\n").repeat(1_900));
        let output = bench.call(&READ, json!({"path": "a.txt"}));
        assert!(output.content.chars().count() <= 50_000);
        let shown = output.content.lines().count() - 1;
        assert!(shown > 500);
        assert!(output.content.ends_with(&format!("\n... ({} more lines)", 1_900 - shown)));
    }

    #[test]
    fn spec_28_each_failure_has_a_sentence_of_its_own() {
        let bench = Bench::new();
        bench.put("binary", b"\x7fELF\0\0");
        bench.put("folder/a", "a");
        for (path, expected) in [
            (
                "binary",
                "Error: binary is a binary file (6 bytes); look into it with bash (file, xxd)",
            ),
            ("folder", "Error: Is a directory: folder"),
            ("missing", "Error: No such file or directory: missing"),
        ] {
            let output = bench.call(&READ, json!({"path": path}));
            assert_eq!((output.content.as_str(), output.is_error), (expected, true));
        }
    }

    #[test]
    fn spec_16_what_is_outside_is_refused_as_the_model_wrote_it() {
        let bench = Bench::new();
        bench.put("src/main.py", "print()\n");
        std::os::unix::fs::symlink("/etc/passwd", bench.root().join("link")).unwrap();
        let inside = bench.root().join("src/main.py").to_str().unwrap().to_owned();
        for path in ["src/main.py", "./src/../src/main.py", &inside] {
            assert_eq!(bench.call(&READ, json!({"path": path})).content, "1\tprint()", "{path}");
        }
        let sibling = format!("../{}-evil/x", bench.root().file_name().unwrap().to_str().unwrap());
        for path in
            ["../secrets/passwords.txt", "/etc/passwd", "../../etc/passwd", &sibling, "link"]
        {
            let expected = format!("Error: Path escapes workspace: {path}");
            assert_eq!(bench.call(&READ, json!({"path": path})).content, expected);
        }
    }

    #[test]
    fn other_encodings_are_shown_and_named() {
        check(
            b"caf\xe9\nb\n",
            json!({}),
            "1\tcaf\u{FFFD}\n2\tb\n(a.txt is not UTF-8: what cannot be read is shown as \u{FFFD})",
        );
        check(
            b"\xff\xfea\0\r\0\n\0\x49\x6c",
            json!({"limit": 1}),
            "1\ta\n(a.txt is UTF-16)\n... (1 more line)",
        );
        check(b"\xff\xfea\0\n", json!({}), "Error: a.txt is a binary file");
    }

    #[test]
    fn spec_32_what_was_read_is_noted_whole_also_when_a_part_was_shown() {
        let bench = Bench::new();
        bench.put("a.txt", "a\nb\n");
        bench.call(&READ, json!({"path": "a.txt", "limit": 1}));
        assert_eq!(bench.context.workspace.seen("a.txt"), Some(ContentHash::of(b"a\nb\n")));
    }

    #[test]
    fn a_large_file_is_streamed() {
        let bench = Bench::new();
        let lines = WHOLE_BYTES_MAX / 8 + 100;
        let content = "1234567\n".repeat(lines as usize);
        bench.put("a.txt", &content);
        let output = bench.call(&READ, json!({"path": "a.txt", "offset": lines - 1, "limit": 1}));
        assert_eq!(output.content, format!("{}\t1234567\n... (1 more line)", lines - 1));
        let seen = bench.context.workspace.seen("a.txt");
        assert_eq!(seen, Some(ContentHash::of(content.as_bytes())));
    }

    #[test]
    fn half_of_a_large_file_is_neither_counted_nor_noted() {
        let bench = Bench::new();
        bench.put("a.txt", "1234567\n".repeat(WHOLE_BYTES_MAX as usize / 8 + 100));
        bench.context.cancel.cancel();
        let output = bench.call(&READ, json!({"path": "a.txt", "offset": 1_000_000_000}));
        assert_eq!(output.content, "Error: cancelled");
        assert_eq!(bench.context.workspace.seen("a.txt"), None);
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_same_lines(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
            offset in 1..6_u64,
            limit in 0..6_u64,
            piece in 1..9_usize,
        ) {
            let args = ReadFileArgs { path: String::new(), offset: Some(offset), limit: Some(limit) };
            let new = || Numbered::new(&args, 50_000, Masking::off());
            let (mut whole, mut pieces) = (new(), new());
            whole.push(&bytes);
            bytes.chunks(piece).for_each(|piece| pieces.push(piece));
            prop_assert_eq!(
                whole.into_output("p", Encoding::Bytes),
                pieces.into_output("p", Encoding::Bytes)
            );
        }
    }
}
