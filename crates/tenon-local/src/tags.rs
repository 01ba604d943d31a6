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
    if written.is_empty() && !rest.starts_with("/>") || written.contains('\n') {
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
