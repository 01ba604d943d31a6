//! `write_file`: a whole file in one go, for new files and rewrites.
//!
//! A file that the model has not seen, or not as it is now, is not overwritten: it would be lost
//! unread. Parts of files are `edit_file`'s work.

use schemars::JsonSchema;
use serde::Deserialize;
use tenon_sandbox::{ContentHash, Expected, FileError, Workspace};

use super::{
    diff,
    text_file::{
        Encoding, WHOLE_BYTES_MAX, blocking, changed, counted, failed, in_place_note, readable,
        write_action,
    },
    tool::{Effect, Tool, ToolContext, ToolOutput},
};
use crate::{event::View, policy::Action};

/// The tool's name.
pub(crate) const WRITE_FILE: &str = "write_file";

/// Creates or overwrites a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct WriteFileArgs {
    path: String,
    content: String,
}

/// What stands where the file goes.
struct Before {
    expected: Expected,
    /// The text that is lost, where it is short enough to show what changed.
    text: Option<String>,
    /// What the new content has otherwise, though no line shows it.
    lost: Vec<&'static str>,
}

impl Tool for WriteFile {
    type Args = WriteFileArgs;

    fn name(&self) -> &str {
        WRITE_FILE
    }

    fn description(&self) -> &str {
        "Create a file, or overwrite one that you have read. Missing folders are made. To change \
         part of a file use edit_file."
    }

    fn effect(&self, _args: &WriteFileArgs) -> Effect {
        Effect::Write
    }

    fn subject(&self, args: &WriteFileArgs) -> String {
        args.path.clone()
    }

    fn action(&self, args: &WriteFileArgs, workspace: &Workspace) -> Action {
        write_action(&args.path, workspace)
    }

    async fn run(&self, args: WriteFileArgs, context: &ToolContext) -> Result<ToolOutput, String> {
        let workspace = context.workspace.clone();
        // What is overwritten is read.
        let old_bytes = workspace.open_file(&args.path).map_or(0, |file| file.len());
        let bytes = old_bytes.max(args.content.len() as u64);
        blocking(bytes, move || write(&args, &workspace)).await
    }
}

fn write(args: &WriteFileArgs, workspace: &Workspace) -> Result<ToolOutput, String> {
    let WriteFileArgs { path, content } = args;
    let before = before(path, content, workspace)?;
    let written = workspace.write(path, content.as_bytes(), before.expected).map_err(failed)?;
    workspace.note_seen(path, written.hash);
    let view = match before.text {
        Some(text) => View::whole_diff(path, diff::hunks(&text, content)),
        None => View::whole_text(content),
    };
    let note = in_place_note(&written);
    let lost = match before.lost.as_slice() {
        [] => String::new(),
        lost => format!(" (before, it had {}, which edit_file keeps)", lost.join(" and ")),
    };
    let said = format!("Wrote {} to {path}{note}{lost}", counted(written.bytes, "byte"));
    Ok(ToolOutput::text(said).with_view(view))
}

/// Returns what `old` had that no tool shows, and the new content has not.
fn lost(old: &[u8], content: &str) -> Vec<&'static str> {
    let has_mark = content.starts_with('\u{feff}');
    let encoding = Encoding::of(old).filter(|encoding| *encoding != Encoding::Bytes);
    let text = encoding.and_then(|encoding| encoding.utf16_text(old));
    let had_line_ends = match &text {
        Some(text) => text.contains("\r\n"),
        None => old.windows(2).any(|pair| pair == b"\r\n"),
    };
    let mut lost = Vec::new();
    if had_line_ends && !content.contains("\r\n") && content.contains('\n') {
        lost.push("CRLF line ends");
    }
    if text.is_some() {
        lost.push("UTF-16 encoding");
    } else if old.starts_with(b"\xef\xbb\xbf") && !has_mark {
        lost.push("a byte order mark");
    }
    lost
}

/// Looks at what would be overwritten.
fn before(path: &str, content: &str, workspace: &Workspace) -> Result<Before, String> {
    let file = match workspace.open_file(path) {
        Ok(file) => file,
        Err(FileError::NotFound { .. }) => {
            return Ok(Before { expected: Expected::Absent, text: None, lost: Vec::new() });
        }
        Err(error) => return Err(failed(error)),
    };
    let seen = workspace.seen(path);
    let not_read =
        || format!("{path} exists and you have not read it; read it first, or use edit_file");
    if file.len() > WHOLE_BYTES_MAX {
        // Whether it is as it was seen is looked at just before it is replaced.
        let expected = Expected::Hash(seen.ok_or_else(not_read)?);
        return Ok(Before { expected, text: None, lost: Vec::new() });
    }
    let bytes = workspace.read(path, WHOLE_BYTES_MAX).map_err(failed)?;
    let hash = ContentHash::of(&bytes);
    let is_harmless = bytes.is_empty() || bytes == content.as_bytes();
    match seen {
        Some(seen) if seen == hash => {}
        _ if is_harmless => {}
        Some(_) => return Err(changed(path)),
        None => return Err(not_read()),
    }
    Ok(Before {
        expected: Expected::Hash(hash),
        text: readable(&bytes),
        lost: lost(&bytes, content),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::{AnyTool, read_file::ReadFile, testing::Bench};

    const READ: ReadFile = ReadFile { chars_max: 50_000, shows_images: false };

    fn check(bench: &Bench, path: &str, content: &str, expected: &str) {
        let output = bench.call(&WriteFile, json!({"path": path, "content": content}));
        assert_eq!(output.content, expected);
        assert_eq!(output.is_error, expected.starts_with("Error: "));
        if !output.is_error {
            assert_eq!(bench.get(path), content.as_bytes());
        }
    }

    #[test]
    fn what_no_line_shows_and_is_lost_is_told() {
        let utf16: Vec<u8> = "\u{feff}a\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (old, content, expected) in [
            (&b"a\r\nb\r\n"[..], "a\n", &["CRLF line ends"][..]),
            (b"\xef\xbb\xbfa\n", "a\n", &["a byte order mark"]),
            (b"\xef\xbb\xbfa\r\n", "b\n", &["CRLF line ends", "a byte order mark"]),
            (&utf16, "a\n", &["CRLF line ends", "UTF-16 encoding"]),
            (b"a\r\n", "b\r\n", &[]),
            (b"a\n", "b\n", &[]),
            (b"a\r\n", "b", &[]),
        ] {
            assert_eq!(lost(old, content), expected, "{content:?}");
        }
        let bench = Bench::new();
        bench.put("dos.txt", "a\r\n");
        bench.call(&READ, json!({"path": "dos.txt"}));
        let told =
            "Wrote 2 bytes to dos.txt (before, it had CRLF line ends, which edit_file keeps)";
        check(&bench, "dos.txt", "b\n", told);
    }

    #[test]
    fn spec_29_files_and_folders_are_made_and_bytes_are_counted() {
        let bench = Bench::new();
        check(&bench, "greet.py", "print()\n", "Wrote 8 bytes to greet.py");
        check(&bench, "a/b/c.txt", "世界", "Wrote 6 bytes to a/b/c.txt");
        check(&bench, "empty", "", "Wrote 0 bytes to empty");
        check(&bench, "empty", "a", "Wrote 1 byte to empty");
        check(&bench, "a", "b", "Error: Is a directory: a");
        check(&bench, "../x", "b", "Error: Path escapes workspace: ../x");
    }

    #[test]
    fn spec_32_what_was_not_seen_or_changed_since_is_not_overwritten() {
        let bench = Bench::new();
        bench.put("a", "one");
        check(
            &bench,
            "a",
            "two",
            "Error: a exists and you have not read it; read it first, or use edit_file",
        );
        check(&bench, "a", "one", "Wrote 3 bytes to a");
        bench.put("a", "by somebody else");
        let changed = "Error: a changed on disk since it was last read; read it again";
        check(&bench, "a", "two", changed);
        assert_eq!(bench.get("a"), b"by somebody else");
        bench.call(&READ, json!({"path": "a"}));
        check(&bench, "a", "two", "Wrote 3 bytes to a");
        check(&bench, "./a", "three", "Wrote 5 bytes to ./a");
        bench.remove("a");
        check(&bench, "a", "again", "Wrote 5 bytes to a");
    }

    #[test]
    fn spec_32_a_large_file_that_changed_is_noticed() {
        let bench = Bench::new();
        let large = "1234567\n".repeat((WHOLE_BYTES_MAX / 8 + 1) as usize);
        bench.put("a", &large);
        bench.call(&READ, json!({"path": "a", "limit": 1}));
        bench.put("a", large.clone() + "more");
        let changed = "Error: a changed on disk since it was last read; read it again";
        check(&bench, "a", "b", changed);
        // Also where its length and its time are as they were.
        let file = bench.put("a", large.clone() + "more");
        let time = file.metadata().unwrap().modified().unwrap();
        bench.call(&READ, json!({"path": "a", "limit": 1}));
        bench.put("a", large.clone() + "less").set_modified(time).unwrap();
        check(&bench, "a", "b", changed);
        // With other permissions, a further name and another time it is what it was.
        bench.call(&READ, json!({"path": "a", "limit": 1}));
        std::fs::hard_link(bench.root().join("a"), bench.root().join("b")).unwrap();
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        check(&bench, "a", "b", "Wrote 1 byte to a");
    }

    #[test]
    fn a_protected_file_stands_in_the_action() {
        let bench = Bench::new();
        std::os::unix::fs::symlink(".git/hooks", bench.root().join("innocent")).unwrap();
        bench.put(".git/hooks/pre-commit.sample", "");
        bench.put("scripts/hook", "");
        for (target, link) in
            [("../../scripts/hook", ".git/hooks/pre-push"), ("scripts", ".claude"), ("a", "b")]
        {
            std::os::unix::fs::symlink(target, bench.root().join(link)).unwrap();
        }
        for (path, leads_to, protected) in [
            ("a", None, false),
            ("b", Some("a"), false),
            ("innocent/pre-commit", Some(".git/hooks/pre-commit"), true),
            (".git/hooks/pre-push", Some("scripts/hook"), true),
            (".claude/settings.json", Some("scripts/settings.json"), true),
            (".claude/notes", Some("scripts/notes"), false),
            ("scripts/hook", None, false),
        ] {
            let arguments = json!({"path": path, "content": ""});
            let prepared = WriteFile.prepare(&arguments, &bench.context.workspace).unwrap();
            let written = leads_to.map(|_| path.to_owned());
            let path = leads_to.unwrap_or(path).to_owned();
            assert_eq!(prepared.action, Action::Write { path, written, protected });
        }
    }

    #[test]
    fn people_see_the_diff_of_a_rewrite() {
        let bench = Bench::new();
        let write = |content| bench.call(&WriteFile, json!({"path": "a", "content": content}));
        assert_eq!(write("one\n").view, Some(View::text("one\n")));
        assert_eq!(write("two\n").view, Some(View::diff("a", "@@ -1 +1 @@\n-one\n+two\n")));
    }
}
