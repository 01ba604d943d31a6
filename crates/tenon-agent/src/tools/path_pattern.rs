//! Patterns for paths, as `glob` takes them and `grep` filters by them.

use std::path::{Component, Path, PathBuf};

use globset::{ErrorKind, GlobBuilder, GlobSet};
use tenon_sandbox::{Walk, Workspace};

/// The kernel's longest path, in bytes.
const PATTERN_BYTES_MAX: usize = 4096;

/// Places named in a note; the rest is counted.
const NAMED_MAX: usize = 5;

/// Returns what matches `pattern`; `*` stays within a folder, `**` does not.
///
/// # Errors
/// One sentence for the model.
pub(super) fn compiled(pattern: &str) -> Result<GlobSet, String> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!("invalid pattern: more than {PATTERN_BYTES_MAX} bytes"));
    }
    let glob = GlobBuilder::new(pattern).literal_separator(true).empty_alternates(true).build();
    // A set of one: where the library cannot compile a matcher, it panics.
    glob.and_then(|glob| GlobSet::new([glob])).map_err(|error| match error.kind() {
        ErrorKind::Regex(_) => "invalid pattern: too many or too deep alternatives".to_owned(),
        kind => format!("invalid pattern: {kind}"),
    })
}

/// Where a search by a pattern begins, and what it looks for there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Start<'a> {
    /// The folder, as a path for the workspace; it may lie outside.
    pub folder: String,
    /// The rest of the pattern, relative to that folder.
    pub pattern: &'a str,
    /// The pattern leads up, or away from the root.
    pub leaves: bool,
}

impl<'a> Start<'a> {
    /// Splits `pattern` into the folders in front, where the walk begins, and the rest. It is
    /// relative to `folder`, or absolute. A pattern that leads out of the workspace is a search of
    /// the folder that it leads to, so that a person is asked about that folder by its name.
    pub(super) fn of(folder: Option<&str>, pattern: &'a str, root: &Path) -> Self {
        let path = Path::new(pattern);
        let inside = path.strip_prefix(root).ok().and_then(Path::to_str);
        let relative = inside.unwrap_or_else(|| pattern.trim_start_matches("./"));
        // An absolute pattern says all by itself.
        let folder = folder.filter(|_| !path.is_absolute()).unwrap_or("");
        let leaves = leads_up(relative) || Path::new(relative).is_absolute();
        let (plain, rest) = folder_and_rest(relative);
        let trimmed = |text: &'a str| match text.trim_end_matches('/') {
            "" if text.starts_with('/') => "/",
            text => text,
        };
        let folder = match (folder.trim_end_matches('/'), trimmed(plain)) {
            ("", "") if folder.is_empty() => ".".to_owned(),
            ("", plain) if folder.is_empty() => plain.to_owned(),
            (_, "") => folder.to_owned(),
            (folder, plain) => format!("{folder}/{plain}"),
        };
        Self { folder, pattern: rest, leaves }
    }

    /// Returns whether the pattern leads up where no folder can be named.
    pub(super) fn is_lost(&self) -> bool {
        leads_up(self.pattern)
    }
}

fn leads_up(path: &str) -> bool {
    Path::new(path).components().any(|part| part == Component::ParentDir)
}

/// Says what is wrong with a pattern that [`Start::is_lost`].
pub(super) fn lost(pattern: &str) -> String {
    format!(
        "Path escapes workspace: {pattern}\n`..` there leads to no folder that has a name; give the \
         folder as `path`"
    )
}

/// Returns how a walk that begins at `path` shows its beginning.
///
/// # Errors
/// What is wrong with the path, for the model.
pub(super) fn shown_start(path: &str, workspace: &Workspace) -> Result<PathBuf, String> {
    let location = workspace.locate(path).map_err(|error| error.to_string())?;
    Ok(if location.root == 0 { location.beneath } else { location.absolute })
}

/// Says what a search came across and left out because it is closed; `None` where that is nothing.
pub(super) fn closed_note(walk: &Walk) -> Option<String> {
    let left_out = walk.left_out();
    let named: Vec<_> =
        left_out.iter().take(NAMED_MAX).map(|path| path.to_string_lossy()).collect();
    let more = match left_out.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = named.join(", ");
    (!left_out.is_empty()).then(|| {
        format!("... (left out, as places of secrets or tenon's own: {named}{more}; read_file asks the user for a file)")
    })
}

/// Splits the folders without wildcards off the front of `pattern`: a walk can begin there.
fn folder_and_rest(pattern: &str) -> (&str, &str) {
    let wild = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern.get(..wild).and_then(|plain| plain.rfind('/')) {
        Some(slash) => pattern.split_at(slash + 1),
        None => ("", pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_begins_in_the_folder_that_it_names() {
        let root = Path::new("/home/user/project");
        let check = |folder: Option<&str>, pattern: &str, expected: (&str, &str, bool)| {
            let Start { folder, pattern, leaves } = Start::of(folder, pattern, root);
            assert_eq!((folder.as_str(), pattern, leaves), expected);
        };
        check(None, "src/**/*.rs", ("src", "**/*.rs", false));
        check(None, "./a*", (".", "a*", false));
        check(None, "/home/user/project/src/*", ("src", "*", false));
        check(Some("docs/"), "*.md", ("docs/", "*.md", false));
        check(Some("docs"), "a/*.md", ("docs/a", "*.md", false));
        check(Some("docs"), "/home/user/project/src/*", ("src", "*", false));
        check(Some("/etc"), "*.conf", ("/etc", "*.conf", false));
        check(Some("/"), "*", ("/", "*", false));
        check(Some("/"), "etc/*", ("/etc", "*", false));
        // Those that lead out.
        check(None, "../*", ("..", "*", true));
        check(Some("src"), "../a/*", ("src/../a", "*", true));
        check(None, "src/../../a/*", ("src/../../a", "*", true));
        check(None, "/etc/*", ("/etc", "*", true));
        check(Some("src"), "/etc/*", ("/etc", "*", true));
        check(None, "/*", ("/", "*", true));
        check(None, "/home/user/project-evil/*.c", ("/home/user/project-evil", "*.c", true));
        assert!(Start::of(None, "*/../../a", root).is_lost());
        assert!(!Start::of(None, "../../a*", root).is_lost());
    }

    #[test]
    fn folders_in_front_are_split_off() {
        for (pattern, expected) in [
            ("src/a/*.rs", ("src/a/", "*.rs")),
            ("*.rs", ("", "*.rs")),
            ("src/{a,b}/c", ("src/", "{a,b}/c")),
            ("src/main.rs", ("src/", "main.rs")),
            ("src*/a", ("", "src*/a")),
        ] {
            assert_eq!(folder_and_rest(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn stars_and_braces_mean_what_people_expect() {
        let check = |pattern: &str, path: &str, expected: bool| {
            assert_eq!(compiled(pattern).unwrap().is_match(path), expected, "{pattern} {path}");
        };
        check("*.rs", "a.rs", true);
        check("*.rs", "src/a.rs", false);
        check("**/*.rs", "a.rs", true);
        check("**/*.rs", "src/b/a.rs", true);
        check("src/**", "src/b/a.rs", true);
        check("*.{ts,tsx}", "a.tsx", true);
        check("-x*", "-xy", true);
        let deep = |levels| "{a,".repeat(levels) + "b" + &"}".repeat(levels);
        check(&deep(20), "b", true);
        for wrong in ["[a", &"*".repeat(100_000), &deep(200)] {
            assert!(compiled(wrong).unwrap_err().starts_with("invalid pattern: "));
        }
        for long in ["*", "**/", "?", "{a,", "[!a]"] {
            // Whatever it is, it is no panic.
            let _ = compiled(&long.repeat(PATTERN_BYTES_MAX / long.len()));
        }
    }
}
