//! Patterns for paths, as `glob` takes them and `grep` filters by them.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use tenon_sandbox::{Access, Workspace};

use crate::policy::{Rule, quoted};

/// Returns what matches `pattern`; `*` stays within a folder, `**` does not.
///
/// # Errors
/// One sentence for the model.
pub(super) fn compiled(pattern: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .empty_alternates(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("invalid pattern: {error}"))
}

/// Returns `pattern` relative to the workspace's root: an absolute one must begin with it.
///
/// # Errors
/// `Path escapes workspace: PATTERN`, and in another sentence what would be allowed instead.
pub(super) fn beneath<'a>(pattern: &'a str, root: &Path) -> Result<&'a str, String> {
    let path = Path::new(pattern);
    let relative = match path.strip_prefix(root) {
        Ok(relative) => relative.to_str().unwrap_or(pattern),
        Err(_) => pattern.trim_start_matches("./"),
    };
    let leaves = Path::new(relative)
        .components()
        .any(|part| matches!(part, Component::ParentDir | Component::RootDir));
    if leaves { Err(refused(pattern, root)) } else { Ok(relative) }
}

fn refused(pattern: &str, root: &Path) -> String {
    let mut folder = PathBuf::new();
    for part in root.join(folder_and_rest(pattern).0).components() {
        match part {
            Component::ParentDir => drop(folder.pop()),
            part => folder.push(part),
        }
    }
    let rule = folder.parent().and_then(|_| {
        let folder = folder.to_string_lossy();
        Rule::exact_path(Access::Read, &folder, true)
    });
    let allowed = rule
        .map(|rule| format!(", which --allow {} allows", quoted(&rule.to_string())))
        .unwrap_or_default();
    format!(
        "Path escapes workspace: {pattern}\nno pattern leads out of the workspace: a folder elsewhere \
         is given as `path`{allowed}"
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

/// Splits the folders without wildcards off the front of `pattern`: a walk can begin there.
pub(super) fn folder_and_rest(pattern: &str) -> (&str, &str) {
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
    fn a_pattern_is_relative_or_refused() {
        let root = Path::new("/home/user/project");
        let check = |pattern: &str, expected| assert_eq!(beneath(pattern, root), Ok(expected));
        check("src/**/*.rs", "src/**/*.rs");
        check("./a*", "a*");
        check("/home/user/project/src/*", "src/*");
        let refuse = |pattern: &str, allowed: &str| {
            let expected = format!(
                "Path escapes workspace: {pattern}\nno pattern leads out of the workspace: a folder \
                 elsewhere is given as `path`{allowed}"
            );
            assert_eq!(beneath(pattern, root), Err(expected));
        };
        refuse("../*", ", which --allow 'read(/home/user/**)' allows");
        refuse("src/../../a/*", ", which --allow 'read(/home/user/a/**)' allows");
        refuse("/etc/*", ", which --allow 'read(/etc/**)' allows");
        refuse(
            "/home/user/project-evil/*.c",
            ", which --allow 'read(/home/user/project-evil/**)' allows",
        );
        // Everything, or what a rule cannot name.
        refuse("/*", "");
        refuse("../a'b\u{1b}/*", "");
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
        assert!(compiled("[a").unwrap_err().starts_with("invalid pattern: "));
    }
}
