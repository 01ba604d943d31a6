//! `edit_file`: replaces one exact text by another.
//!
//! Exact and unique, or nothing happens and the result says why: an edit by likeness or by line
//! number would one day change the wrong place. Only line ends are bridged, and the result says
//! so. The file's own bytes are spliced, so that whatever is outside the match stays as it is.

mod earlier;
mod find;
mod miss;

use schemars::JsonSchema;
use serde::Deserialize;
use tenon_sandbox::{ContentHash, Expected, FileError, Workspace};

pub(crate) use self::earlier::EarlierEdits;
use self::earlier::Replaced;
use self::find::{FileText, Obstacle, Places, Which};
use super::{
    diff,
    text_file::{
        WHOLE_BYTES_MAX, blocking, changed, counted, failed, in_place_note, readable, write_action,
    },
    tool::{Effect, Tool, ToolContext, ToolOutput},
};
use crate::{event::View, masking::Masking, policy::Action};

/// A larger file (16 MiB) is data: a stream editor is the right tool.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Line numbers that an error lists before it only counts.
const LISTED_LINES_MAX: usize = 10;

/// How the model calls it.
const EDIT_FILE: &str = "edit_file";

/// Replaces text in a file.
#[derive(Debug, Default)]
pub(super) struct EditFile {
    /// A single-line text that stands in several places is replaced in all of them, for models
    /// that cannot mend a refusal.
    is_forgiving: bool,
    earlier: EarlierEdits,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct EditFileArgs {
    path: String,
    old_text: String,
    new_text: String,
    /// Replace every occurrence
    #[serde(default)]
    replace_all: bool,
}

impl EditFileArgs {
    fn replaces_all(&self, is_forgiving: bool) -> bool {
        self.replace_all || is_forgiving && !self.old_text.trim().contains('\n')
    }

    /// Returns the file of these bytes and where the old text stands in it, be that one place or not.
    fn places<'a>(
        &self,
        bytes: &'a [u8],
        is_forgiving: bool,
    ) -> Result<(FileText<'a>, Places), Obstacle> {
        let which = match self.replaces_all(is_forgiving) {
            true => Which::Separate,
            false => Which::Overlapping,
        };
        let file = FileText::new(bytes)?;
        let places = file.places(&self.old_text, &self.new_text, which)?;
        Ok((file, places))
    }
}

impl EditFile {
    /// Returns the tool, which remembers its edits in `earlier`.
    pub(super) fn new(is_forgiving: bool, earlier: EarlierEdits) -> Self {
        Self { is_forgiving, earlier }
    }
}

impl Tool for EditFile {
    type Args = EditFileArgs;

    fn name(&self) -> &str {
        EDIT_FILE
    }

    fn description(&self) -> &str {
        "Replace old_text in a file by new_text. old_text is exact, blanks included, without line \
         numbers, and must occur once: take enough lines around it."
    }

    fn effect(&self, _args: &EditFileArgs) -> Effect {
        Effect::Write
    }

    fn subject(&self, args: &EditFileArgs) -> String {
        args.path.clone()
    }

    fn action(&self, args: &EditFileArgs, workspace: &Workspace) -> Action {
        write_action(&args.path, workspace)
    }

    fn would_hold(&self, args: &EditFileArgs, bytes: &[u8]) -> Option<Vec<u8>> {
        let (_, places) = args.places(bytes, self.is_forgiving).ok()?;
        let is_done = match places.ranges.len() {
            0 => false,
            1 => true,
            _ => args.replaces_all(self.is_forgiving),
        };
        is_done.then(|| find::spliced(bytes, &places))
    }

    async fn run(&self, args: EditFileArgs, context: &ToolContext) -> Result<ToolOutput, String> {
        let workspace = context.workspace.clone();
        let file = match workspace.open_file(&args.path) {
            Ok(file) => file,
            Err(FileError::NotFound { .. }) if args.old_text.is_empty() => {
                return create(&args, &workspace);
            }
            Err(error) => return Err(failed(error)),
        };
        let (is_forgiving, earlier) = (self.is_forgiving, self.earlier.clone());
        let masking = context.masking.clone();
        blocking(file.len(), move || {
            let (args, workspace, earlier) = (&args, &workspace, &earlier);
            Edit { args, workspace, is_forgiving, earlier, masking: &masking }.run()
        })
        .await
    }
}

fn create(args: &EditFileArgs, workspace: &Workspace) -> Result<ToolOutput, String> {
    let EditFileArgs { path, new_text, .. } = args;
    let written = workspace.write(path, new_text.as_bytes(), Expected::Absent).map_err(failed)?;
    workspace.note_seen(path, written.hash);
    let text = format!("Created {path} ({})", counted(written.bytes, "byte"));
    Ok(ToolOutput::text(text).with_view(View::whole_text(new_text)))
}

struct Edit<'a> {
    args: &'a EditFileArgs,
    workspace: &'a Workspace,
    is_forgiving: bool,
    earlier: &'a EarlierEdits,
    masking: &'a Masking,
}

impl Edit<'_> {
    fn run(&self) -> Result<ToolOutput, String> {
        let EditFileArgs { path, old_text, new_text, .. } = self.args;
        if old_text == new_text {
            return Err("old_text and new_text are the same: nothing to change".into());
        }
        let bytes = self.workspace.read(path, FILE_BYTES_MAX).map_err(failed)?;
        if self.workspace.seen(path).is_some_and(|seen| seen != ContentHash::of(&bytes)) {
            return Err(changed(path));
        }
        let places = if old_text.is_empty() { self.all_of(&bytes)? } else { self.places(&bytes)? };
        let result = find::spliced(&bytes, &places);
        if result == bytes {
            return Err(format!("{path} has this text already: nothing to change"));
        }
        let expected = Expected::Hash(ContentHash::of(&bytes));
        let written = self.workspace.write(path, &result, expected).map_err(failed)?;
        self.workspace.note_seen(path, written.hash);
        let mut text = format!("Edited {path}");
        if places.ranges.len() > 1 {
            text.push_str(&format!(": replaced all {} occurrences", places.ranges.len()));
        }
        if let Some(line_ends) = places.kept_line_ends {
            text.push_str(&format!(" (its {line_ends} line ends are kept)"));
        }
        text.push_str(in_place_note(&written));
        let shown = |bytes: &[u8]| {
            readable(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
        };
        let hunks = diff::hunks(&shown(&bytes), &shown(&result));
        text.push('\n');
        text.push_str(&diff::for_model(&hunks));
        self.remember(bytes, places, written.hash);
        Ok(ToolOutput::text(text).with_view(View::whole_diff(path, hunks)))
    }

    /// An empty text stands for the whole of an empty file.
    fn all_of(&self, bytes: &[u8]) -> Result<Places, String> {
        if !bytes.is_empty() {
            return Err(format!(
                "old_text is empty, and {} is not: give the text to replace",
                self.args.path
            ));
        }
        Ok(Places {
            ranges: std::iter::once(0..0).collect(),
            lines: vec![1],
            replacements: vec![self.args.new_text.as_bytes().to_vec()],
            kept_line_ends: None,
        })
    }

    fn places(&self, bytes: &[u8]) -> Result<Places, String> {
        let found = self.args.places(bytes, self.is_forgiving);
        let (file, places) = found.map_err(|obstacle| self.sentence(obstacle))?;
        match places.ranges.len() {
            0 => Err(self.miss(&file, bytes)),
            1 => Ok(places),
            _ if self.args.replaces_all(self.is_forgiving) => Ok(places),
            count => Err(format!(
                "Text found {count} times in {} ({}). Add lines around it to old_text so that \
                 it is unique, or set replace_all.",
                self.args.path,
                listed(&places.lines)
            )),
        }
    }

    fn sentence(&self, obstacle: Obstacle) -> String {
        let path = &self.args.path;
        match obstacle {
            Obstacle::NotUtf16 => format!("{path} is a binary file and cannot be edited"),
            Obstacle::OtherEncoding => format!(
                "{path} is not UTF-8, so only ASCII can be replaced by ASCII in it; for other text \
                 use bash (iconv, python3)"
            ),
            Obstacle::InsideCharacter(line) => format!(
                "{path} is not UTF-8, and at line {line} old_text may begin within a character; \
                 begin it at the beginning of a line"
            ),
            Obstacle::TooMany(places) => format!(
                "old_text stands in {places} places of {path} or more; nothing was replaced, use bash \
                 (sed, python3)"
            ),
            Obstacle::TooLong(bytes) => format!(
                "{path} would become longer than {} MiB; nothing was replaced, use bash (sed, python3)",
                bytes >> 20
            ),
        }
    }

    fn miss(&self, file: &FileText<'_>, bytes: &[u8]) -> String {
        let EditFileArgs { path, old_text, new_text, .. } = self.args;
        let mut text = format!("Text not found in {path}.");
        if let Some(Replaced { line, is_last }) = self.replaced(bytes) {
            text.push_str(&format!(
                " Your edit at line {line} earlier in this session replaced it"
            ));
            // Also where the file is as the edit left it: somebody may have put the text back and away again.
            text.push_str(if is_last { "." } else { "; the file was changed otherwise since." });
        }
        if file.text.len() as u64 > WHOLE_BYTES_MAX {
            text.push_str(" The file is too long to look for the nearest place; use grep.");
            return text;
        }
        let old_text = old_text.replace("\r\n", "\n");
        let file = String::from_utf8_lossy(&file.text);
        let new_text = new_text.replace("\r\n", "\n");
        text.push_str(&miss::diagnosis(&file, &old_text, &new_text, self.masking));
        text
    }

    fn remember(&self, bytes: Vec<u8>, places: Places, after: ContentHash) {
        if let Ok(location) = self.workspace.locate(&self.args.path) {
            self.earlier.remember(location.absolute, bytes, places, after);
        }
    }

    /// Returns the edit that replaced `old_text` in the file, which has these bytes now, if one did.
    fn replaced(&self, bytes: &[u8]) -> Option<Replaced> {
        let file = self.workspace.locate(&self.args.path).ok()?.absolute;
        self.earlier.replaced(&file, ContentHash::of(bytes), &self.args.old_text)
    }
}

fn listed(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(LISTED_LINES_MAX).map(usize::to_string).collect();
    let dots = if lines.len() > LISTED_LINES_MAX { ", …" } else { "" };
    format!("lines {}{dots}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::{Value, json};

    use super::*;
    use crate::tools::{read_file::ReadFile, testing::Bench};

    fn edit(path: &str, old: &str, new: &str) -> Value {
        json!({"path": path, "old_text": old, "new_text": new})
    }

    /// Edits a file of these bytes and compares the first line of the result and the bytes after.
    fn check(bytes: impl AsRef<[u8]>, old: &str, new: &str, result: &str, after: impl AsRef<[u8]>) {
        let bench = Bench::new();
        bench.put("a.txt", bytes);
        let output = bench.call(&EditFile::default(), edit("a.txt", old, new));
        assert_eq!(output.content.lines().next().unwrap_or_default(), result);
        assert_eq!(output.is_error, result.starts_with("Error: "));
        assert_eq!(
            String::from_utf8_lossy(&bench.get("a.txt")),
            String::from_utf8_lossy(after.as_ref())
        );
    }

    #[test]
    fn spec_30_the_only_place_is_replaced_and_the_changed_lines_shown() {
        let bench = Bench::new();
        bench.put("greet.py", "def greet(name):\n    print(name)\n");
        let tool = EditFile::default();
        let new = "def greet(name):\n    \"\"\"Greet.\"\"\"\n";
        let output = bench.call(&tool, edit("greet.py", "def greet(name):\n", new));
        let hunk = "@@ -1,2 +1,3 @@\n def greet(name):\n+    \"\"\"Greet.\"\"\"\n     print(name)";
        assert_eq!(output.content, format!("Edited greet.py\n{hunk}"));
        assert_eq!(output.view, Some(View::diff("greet.py", &format!("{hunk}\n"))));
    }

    #[test]
    fn spec_30_what_is_not_there_or_not_unique_leaves_the_file_untouched() {
        check(
            "a\n",
            "total",
            "x",
            "Error: Text not found in a.txt. No line of it is like old_text; read the file again.",
            "a\n",
        );
        check(
            "x = 1\nx = 1\n\nx = 1\n",
            "x = 1",
            "y",
            "Error: Text found 3 times in a.txt (lines 1, 2, 4). Add lines around it to old_text so \
             that it is unique, or set replace_all.",
            "x = 1\nx = 1\n\nx = 1\n",
        );
        check("a", "a", "a", "Error: old_text and new_text are the same: nothing to change", "a");
        check(
            "a",
            "",
            "b",
            "Error: old_text is empty, and a.txt is not: give the text to replace",
            "a",
        );
        check("", "", "b", "Edited a.txt", "b");
    }

    #[test]
    fn spec_30_replace_all_and_forgiving_edits_replace_every_place() {
        let bench = Bench::new();
        bench.put("a", "x y x\nx\n");
        let all = json!({"path": "a", "old_string": "x", "new_string": "z", "replace_all": true});
        let output = bench.call(&EditFile::default(), all);
        assert!(output.content.starts_with("Edited a: replaced all 3 occurrences\n@@"));
        assert_eq!(bench.get("a"), b"z y z\nz\n");
        let forgiving = EditFile::new(true, EarlierEdits::default());
        let output = bench.call(&forgiving, edit("a", "z", "w"));
        assert!(output.content.starts_with("Edited a: replaced all 3 occurrences\n@@"));
        bench.put("b", "p\nq\np\nq\n");
        let output = bench.call(&forgiving, edit("b", "p\nq", "r"));
        assert!(output.content.starts_with("Error: Text found 2 times in b (lines 1, 3)."));
    }

    #[test]
    fn spec_31_what_is_outside_the_match_stays() {
        check("\u{FEFF}a\r\nb\r\n", "b", "c", "Edited a.txt", "\u{FEFF}a\r\nc\r\n");
        check(
            "a\r\nb\r\nc",
            "a\nb",
            "x\ny\nz",
            "Edited a.txt (its CRLF line ends are kept)",
            "x\r\ny\r\nz\r\nc",
        );
        check("a", "a", "$& $1 \\0 $$", "Edited a.txt", "$& $1 \\0 $$");
        check(b"\xe9 a\n", "a", "b", "Edited a.txt", b"\xe9 b\n");
        check(
            b"\xe9 a\n",
            "a",
            "é",
            "Error: a.txt is not UTF-8, so only ASCII can be replaced by ASCII in it; for other \
             text use bash (iconv, python3)",
            b"\xe9 a\n",
        );
        check(b"\xff\xfea\0", "a", "b", "Edited a.txt", b"\xff\xfeb\0");
        check(b"\0\x01a\xff", "a", "b", "Edited a.txt", b"\0\x01b\xff");
    }

    #[test]
    fn spec_31_a_link_inside_the_workspace_is_followed_and_kept() {
        let bench = Bench::new();
        bench.put("real", "a");
        symlink("real", bench.root().join("link")).unwrap();
        bench.call(&EditFile::default(), edit("link", "a", "b"));
        assert_eq!(bench.get("real"), b"b");
        assert!(bench.root().join("link").is_symlink());
    }

    #[test]
    fn spec_32_a_file_that_changed_since_it_was_read_is_not_edited() {
        let bench = Bench::new();
        let tool = EditFile::default();
        bench.put("a", "one\n");
        bench.call(&ReadFile { chars_max: 50_000, shows_images: false }, json!({"path": "a"}));
        bench.put("a", "one two\n");
        let output = bench.call(&tool, edit("a", "one", "1"));
        let sentence = "Error: a changed on disk since it was last read; read it again";
        assert_eq!(output.content, sentence);
        assert_eq!(bench.get("a"), b"one two\n");
        // Never read: that it knows the text shows that it knows the file.
        bench.put("b", "one\n");
        assert!(!bench.call(&tool, edit("b", "one", "1")).is_error);
    }

    #[test]
    fn several_edits_of_one_file_all_land_or_say_why() {
        let bench = Bench::new();
        let tool = EditFile::default();
        bench.put("a", "one\ntwo\nthree\n");
        assert!(!bench.call(&tool, edit("a", "one\n", "1\n1\n")).is_error);
        assert!(!bench.call(&tool, edit("a", "three", "3")).is_error);
        assert_eq!(bench.get("a"), b"1\n1\ntwo\n3\n");
        let output = bench.call(&tool, edit("a", "one\ntwo", "x"));
        assert_eq!(
            output.content,
            "Error: Text not found in a. Your edit at line 1 earlier in this session replaced it. \
             Line 2, column 1: the file has 1, old_text has o. Lines 2-3 are:\n1\ntwo"
        );
    }

    #[test]
    fn an_edit_is_not_blamed_for_what_others_did_since() {
        let bench = Bench::new();
        let tool = EditFile::default();
        let read = || {
            let reads = ReadFile { chars_max: 50_000, shows_images: false };
            bench.call(&reads, json!({"path": "a"}));
        };
        let told = || {
            let output = bench.call(&tool, edit("a", "one", "x"));
            let told = output.content.strip_prefix("Error: Text not found in a. ").unwrap();
            told.split_inclusive('.').next().unwrap().to_owned()
        };
        bench.put("a", "one\ntwo\n");
        assert!(!bench.call(&tool, edit("a", "one", "1")).is_error);
        let replaced = "Your edit at line 1 earlier in this session replaced it.";
        assert_eq!(told(), replaced);
        // A person may have put it back and taken it away as the edit did.
        for text in ["one\ntwo\n", "1\ntwo\n"] {
            bench.put("a", text);
            read();
        }
        assert_eq!(told(), replaced);
        // A person may have put it back and taken it away.
        bench.put("a", "eins\ntwo\n");
        read();
        assert_eq!(
            told(),
            "Your edit at line 1 earlier in this session replaced it; the file was changed \
             otherwise since."
        );
        // And here surely did so, for it stood there behind the edit.
        bench.put("a", "one\ntwo\n");
        read();
        assert!(!bench.call(&tool, edit("a", "two", "2")).is_error);
        bench.put("a", "eins\n2\n");
        read();
        assert_eq!(told(), "No line of it is like old_text; read the file again.");
    }

    #[test]
    fn an_empty_text_creates_a_file_that_is_missing() {
        let bench = Bench::new();
        let output = bench.call(&EditFile::default(), edit("new/a", "", "b\n"));
        assert_eq!(
            (output.content.as_str(), bench.get("new/a")),
            ("Created new/a (2 bytes)", b"b\n".to_vec())
        );
        let output = bench.call(&EditFile::default(), edit("missing", "a", "b"));
        assert_eq!(output.content, "Error: No such file or directory: missing");
        let output = bench.call(&EditFile::default(), edit("../x", "", "b"));
        assert_eq!(output.content, "Error: Path escapes workspace: ../x");
    }

    #[test]
    fn an_edit_that_would_make_a_huge_file_is_refused_before_it_is_made() {
        let bench = Bench::new();
        bench.put("a.txt", "a".repeat(90_000));
        let new = "b".repeat(10_000);
        let all = json!({"path": "a.txt", "old_text": "a", "new_text": new, "replace_all": true});
        let output = bench.call(&EditFile::default(), all);
        let refused = "Error: a.txt would become longer than 32 MiB; nothing was replaced";
        assert!(output.content.starts_with(refused), "{}", output.content);
        assert_eq!(bench.get("a.txt").len(), 90_000);
    }
}
