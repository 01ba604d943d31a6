//! The blocks in which the small model speaks: printing and parsing.
//!
//! A reply is exactly one block. Nothing in it is escaped that a program could hold, so code
//! survives; only a block's own closing tag inside its text is written with a backslash
//! (`<\/bash>`), and attributes know four entities. Pure; `parse` takes whatever comes.

/// What the model wants: one tool call, or its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Run a command.
    Bash {
        /// The shell text.
        command: String,
    },
    /// Read a file.
    ReadFile {
        /// The file.
        path: String,
    },
    /// Write a whole file.
    WriteFile {
        /// The file.
        path: String,
        /// All of its text.
        content: String,
    },
    /// Replace text in a file.
    EditFile {
        /// The file.
        path: String,
        /// What stands there.
        old: String,
        /// What shall stand there.
        new: String,
    },
    /// Search in files.
    Grep {
        /// A regular expression.
        pattern: String,
        /// Where; all of the workspace if empty.
        path: String,
    },
    /// List files by name.
    Glob {
        /// A glob pattern.
        pattern: String,
    },
    /// Say something to the person and end the turn.
    Answer {
        /// What is said.
        text: String,
    },
}

const ENTITIES: [(&str, &str); 4] =
    [("&amp;", "&"), ("&quot;", "\""), ("&#10;", "\n"), ("&#13;", "\r")];

impl Block {
    /// Returns the block as the model writes it.
    pub fn print(&self) -> String {
        match self {
            Self::Bash { command } => format!("<bash>{}</bash>", body(command, &["bash"])),
            Self::ReadFile { path } => format!("<read_file path=\"{}\"/>", attribute(path)),
            Self::WriteFile { path, content } => format!(
                "<write_file path=\"{}\">\n{}</write_file>",
                attribute(path),
                shield(content, &["write_file"])
            ),
            Self::EditFile { path, old, new } => format!(
                "<edit_file path=\"{}\">\n<old>{}</old>\n<new>{}</new>\n</edit_file>",
                attribute(path),
                body(old, &["old"]),
                body(new, &["new"])
            ),
            Self::Grep { pattern, path } => {
                let (pattern, path) = (attribute(pattern), attribute(path));
                format!("<grep pattern=\"{pattern}\" path=\"{path}\"/>")
            }
            Self::Glob { pattern } => format!("<glob pattern=\"{}\"/>", attribute(pattern)),
            Self::Answer { text } => format!("<answer>{}</answer>", body(text, &["answer"])),
        }
    }
}

/// Returns the block that `text` is, or nothing where it is not exactly one block. Blanks around
/// it and between the parts of an edit are ignored.
pub fn parse(text: &str) -> Option<Block> {
    let text = text.trim_matches(['\n', ' ', '\r', '\t']);
    if let Some(rest) = text.strip_prefix("<bash>") {
        return Some(Block::Bash { command: unbody(whole(rest, "bash")?, "bash") });
    }
    if let Some(rest) = text.strip_prefix("<answer>") {
        return Some(Block::Answer { text: unbody(whole(rest, "answer")?, "answer") });
    }
    if let Some(rest) = text.strip_prefix("<read_file path=\"") {
        let (path, rest) = value(rest)?;
        return (rest == "/>").then_some(Block::ReadFile { path });
    }
    if let Some(rest) = text.strip_prefix("<glob pattern=\"") {
        let (pattern, rest) = value(rest)?;
        return (rest == "/>").then_some(Block::Glob { pattern });
    }
    if let Some(rest) = text.strip_prefix("<grep pattern=\"") {
        let (pattern, rest) = value(rest)?;
        if rest == "/>" {
            return Some(Block::Grep { pattern, path: String::new() });
        }
        if rest == " path=\"\"/>" {
            return Some(Block::Grep { pattern, path: String::new() });
        }
        let (path, rest) = value(rest.strip_prefix(" path=\"")?)?;
        return (rest == "/>").then_some(Block::Grep { pattern, path });
    }
    if let Some(rest) = text.strip_prefix("<write_file path=\"") {
        let (path, rest) = value(rest)?;
        let content = whole(rest.strip_prefix('>')?, "write_file")?;
        let content = content.strip_prefix('\n').unwrap_or(content);
        return Some(Block::WriteFile { path, content: unshield(content, "write_file") });
    }
    let (path, rest) = value(text.strip_prefix("<edit_file path=\"")?)?;
    let rest = rest.strip_prefix('>')?.trim_start().strip_prefix("<old>")?;
    let (old, rest) = rest.split_once("</old>")?;
    let rest = rest.trim_start().strip_prefix("<new>")?;
    let (new, rest) = rest.split_once("</new>")?;
    (rest.trim_start() == "</edit_file>").then(|| Block::EditFile {
        path,
        old: unbody(old, "old"),
        new: unbody(new, "new"),
    })
}

/// Returns the text before the first closing tag, which must end the reply.
fn whole<'t>(rest: &'t str, tag: &str) -> Option<&'t str> {
    let (text, after) = rest.split_once(&format!("</{tag}>"))?;
    after.is_empty().then_some(text)
}

fn value(rest: &str) -> Option<(String, &str)> {
    let (written, rest) = rest.split_once('"')?;
    if written.is_empty() || written.contains('\n') {
        return None;
    }
    let mut value = String::new();
    let mut left = written;
    while let Some(at) = left.find('&') {
        let (before, entity) = left.split_at(at);
        value.push_str(before);
        let known = ENTITIES.iter().find(|(name, _)| entity.starts_with(name));
        let (name, meaning) = known.copied().unwrap_or(("&", "&"));
        value.push_str(meaning);
        left = entity.strip_prefix(name).unwrap_or_default();
    }
    value.push_str(left);
    Some((value, rest))
}

fn attribute(value: &str) -> String {
    let mut written = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '&' => written.push_str("&amp;"),
            '"' => written.push_str("&quot;"),
            '\n' => written.push_str("&#10;"),
            '\r' => written.push_str("&#13;"),
            other => written.push(other),
        }
    }
    written
}

/// A text that begins or ends with a line end gets one more on either side, which is not part of
/// it: models put tags on lines of their own.
fn body(text: &str, tags: &[&str]) -> String {
    let shielded = shield(text, tags);
    if text.starts_with('\n') || text.ends_with('\n') {
        format!("\n{shielded}\n")
    } else {
        shielded
    }
}

fn unbody(written: &str, tag: &str) -> String {
    let text = match written.strip_prefix('\n') {
        Some(inner) => inner.strip_suffix('\n').unwrap_or(inner),
        None => written,
    };
    unshield(text, tag)
}

/// Writes each closing tag, and each already written so, with one more backslash.
fn shield(text: &str, tags: &[&str]) -> String {
    rewrite(text, tags, |backslashes| Some(backslashes + 1))
}

fn unshield(text: &str, tag: &str) -> String {
    rewrite(text, &[tag], |backslashes: usize| backslashes.checked_sub(1))
}

fn rewrite(text: &str, tags: &[&str], count: impl Fn(usize) -> Option<usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split('<');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        out.push('<');
        let rest = piece.trim_start_matches('\\');
        let is_tag = rest.strip_prefix('/').is_some_and(|name| {
            tags.iter().any(|tag| name.strip_prefix(tag).is_some_and(|end| end.starts_with('>')))
        });
        match count(piece.len() - rest.len()).filter(|_| is_tag) {
            Some(backslashes) => {
                out.extend(std::iter::repeat_n('\\', backslashes));
                out.push_str(rest);
            }
            None => out.push_str(piece),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grammar::{Allowed, Grammar};

    /// Text as programs and people write it, with everything that could be taken for a tag.
    fn text() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "a",
            " ",
            "\n",
            "\r\n",
            "\t",
            "\"",
            "'",
            "<",
            "</",
            ">",
            "\\",
            "&",
            "&quot;",
            "&amp;",
            "<bash>",
            "</bash>",
            "<\\/bash>",
            "</old>",
            "</new>",
            "<new>",
            "</write_file>",
            "</answer>",
            "<\\\\/answer>",
            "</edit_file>",
            "<answer>",
            "<![CDATA[x]]>",
            "中文。",
            "fn main() {\n    println!(\"{}\", 1 < 2);\n}\n",
            "<div class=\"x\">&nbsp;</div>",
            "😀",
        ]);
        prop::collection::vec(pieces, 1..12).prop_map(|pieces| pieces.concat())
    }

    /// Text that is not blank alone.
    fn some() -> impl Strategy<Value = String> {
        text().prop_filter("blank", |text| !text.trim().is_empty())
    }

    fn block() -> impl Strategy<Value = Block> {
        prop_oneof![
            some().prop_map(|command| Block::Bash { command }),
            text().prop_map(|path| Block::ReadFile { path }),
            (text(), text()).prop_map(|(path, content)| Block::WriteFile { path, content }),
            (text(), some(), text()).prop_map(|(path, old, new)| Block::EditFile {
                path,
                old,
                new
            }),
            (text(), text()).prop_map(|(pattern, path)| Block::Grep { pattern, path }),
            text().prop_map(|pattern| Block::Glob { pattern }),
            some().prop_map(|text| Block::Answer { text }),
        ]
    }

    proptest! {
        #[test]
        fn any_block_survives_printing_and_parsing(block in block()) {
            prop_assert_eq!(parse(&block.print()), Some(block));
        }

        #[test]
        fn any_prefix_of_a_block_is_accepted(block in block()) {
            let printed = block.print();
            let mut grammar = Grammar::new(Allowed::All);
            for (at, byte) in printed.bytes().enumerate() {
                prop_assert!(!grammar.is_done(), "done before byte {} of {}", at, printed);
                let forced = grammar.forced();
                prop_assert!(printed.as_bytes()[at..].starts_with(forced.as_bytes()), "{forced}");
                let next = grammar.after(&[byte]);
                prop_assert!(next.is_some(), "byte {} of {} is refused", at, printed);
                grammar = next.unwrap();
            }
            prop_assert!(grammar.is_done());
            prop_assert_eq!(grammar.after(b"x"), None);
        }

        #[test]
        fn what_the_grammar_completes_is_a_block(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut grammar = Grammar::new(Allowed::All);
            let mut written = Vec::new();
            for byte in bytes {
                let forced = grammar.forced();
                grammar = grammar.after(forced.as_bytes()).unwrap();
                written.extend_from_slice(forced.as_bytes());
                let Some(next) = grammar.after(&[byte]) else { continue };
                grammar = next;
                written.push(byte);
            }
            if grammar.is_done() {
                prop_assert!(parse(&String::from_utf8_lossy(&written)).is_some());
            }
        }

        #[test]
        fn parsing_never_fails_otherwise(text in ".*") {
            parse(&text);
        }
    }

    #[test]
    fn what_models_write_is_understood() {
        let check =
            |text: &str, expected: Option<Block>| assert_eq!(parse(text), expected, "{text}");
        let bash = |command: &str| Some(Block::Bash { command: command.into() });
        check("<bash>ls</bash>", bash("ls"));
        check("<bash>\nls -l\n</bash>\n", bash("ls -l"));
        check("<bash>ls", None);
        check("<bash>ls</bash><bash>ls</bash>", None);
        check("ls", None);
        check("<read_file path=\"\"/>", None);
        check("<grep pattern=\"\"/>", None);
        check(
            "<grep pattern=\"x\" path=\"\"/>",
            Some(Block::Grep { pattern: "x".into(), path: "".into() }),
        );
        check(
            "<grep pattern=\"a&quot;b && c\"/>",
            Some(Block::Grep { pattern: "a\"b && c".into(), path: "".into() }),
        );
        check(
            "<write_file path=\"a\">x\r\n</write_file>",
            Some(Block::WriteFile { path: "a".into(), content: "x\r\n".into() }),
        );
        check(
            "<edit_file path=\"a\"><old>x</old><new></new></edit_file>",
            Some(Block::EditFile { path: "a".into(), old: "x".into(), new: "".into() }),
        );
    }
}
