//! What a command is told of what it made where nothing lasts.

use std::path::PathBuf;

use crate::policy::in_one_line;

/// Names that do not last and are told one by one.
const UNKEPT_TOLD_MAX: usize = 3;

/// Returns a sentence about what was made outside of the workspace and does not last.
pub(super) fn sentence(found: &[PathBuf]) -> Option<String> {
    let shown = |path: &PathBuf| in_one_line(&path.to_string_lossy());
    let mut names: Vec<String> = found.iter().take(UNKEPT_TOLD_MAX).map(shown).collect();
    if let Some(more @ 1..) = found.len().checked_sub(UNKEPT_TOLD_MAX) {
        names.push(format!("{more} more"));
    }
    let last = names.pop()?;
    let (names, lie) = match names.as_slice() {
        [] => (last, "is outside of the workspace, in a private folder that is"),
        names => {
            let names = format!("{} and {last}", names.join(", "));
            (names, "are outside of the workspace, in private folders that are")
        }
    };
    Some(format!(
        "files: {names} {lie} gone at the end of the session; --add-dir FOLDER would let commands \
         write a folder for good"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_last_is_told_by_its_first_names() {
        let check = |names: &[&str], expected: &str| {
            let names: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
            let end = "gone at the end of the session; --add-dir FOLDER would let commands write a \
                       folder for good";
            assert_eq!(sentence(&names), Some(format!("files: {expected} {end}")));
        };
        let (one, several) = (
            "is outside of the workspace, in a private folder that is",
            "are outside of the workspace, in private folders that are",
        );
        check(&["/h/a"], &format!("/h/a {one}"));
        check(&["/h/a", "/h/b"], &format!("/h/a and /h/b {several}"));
        check(&["/a", "/b", "/c"], &format!("/a, /b and /c {several}"));
        check(&["/a", "/b", "/c", "/d", "/e"], &format!("/a, /b, /c and 2 more {several}"));
        check(&["/h/a\n[walls] b\u{1b}[2K"], &format!("/h/a␊[walls] b␛[2K {one}"));
        assert_eq!(sentence(&[]), None);
    }
}
