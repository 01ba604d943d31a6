//! What does not lie in a folder of the session, where the model writes: programs to ask, variables
//! to hand them, files to read.
//!
//! The kernel keeps a tool from reading and running anything of these folders, whichever way leads
//! there. Programs and variables are left out before, so that a tool of the user's own answers.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Component, Path, PathBuf},
};

/// Programs that answer, and those that they are run by. A folder where one of them leads into the
/// session's folders is not looked in.
const PROGRAMS: [&str; 5] = ["python3", "npm", "node", "cargo", "go"];

/// Everything but some folders.
pub(super) struct Outside {
    roots: Vec<PathBuf>,
}

impl Outside {
    /// Returns what is outside of `roots`, which are absolute and have no links in them.
    pub(super) fn of(roots: Vec<PathBuf>) -> Self {
        Self { roots }
    }

    /// Whether `path` is outside, as it is written and where it leads.
    pub(super) fn has(&self, path: &Path) -> bool {
        let is_inside = |path: &Path| self.roots.iter().any(|root| path.starts_with(root));
        path.is_absolute()
            && !is_inside(path)
            && resolved(path).is_some_and(|path| !is_inside(&path))
    }

    /// Returns `all` without the variables that lead inside, and a search path on which no program
    /// does.
    pub(super) fn environment(&self, all: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let outside = |(name, value): (OsString, OsString)| match name == "PATH" {
            true => {
                let value = self.search_path(&value);
                Some((name, value))
            }
            false => (!self.leads_inside(&value)).then_some((name, value)),
        };
        all.into_iter().filter_map(outside).collect()
    }

    fn search_path(&self, path: &OsStr) -> OsString {
        let is_outside = |folder: &&[u8]| {
            let folder = Path::new(OsStr::from_bytes(folder));
            self.has(folder) && PROGRAMS.iter().all(|program| self.has(&folder.join(program)))
        };
        let folders = path.as_bytes().split(|byte| *byte == b':').filter(is_outside);
        OsString::from_vec(folders.collect::<Vec<_>>().join(&b':'))
    }

    /// Whether a value names a place inside: alone, in a list, behind an option, in an address.
    fn leads_inside(&self, value: &OsStr) -> bool {
        let Some(text) = value.to_str() else { return true };
        let names = |root: &PathBuf| {
            let root = root.to_string_lossy();
            let is_end =
                |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
            text.match_indices(&*root).any(|(at, _)| text.get(at + root.len()..).is_none_or(is_end))
        };
        let mut pieces = text.split([':', '=', ',', ';', ' ', '\n', '"', '\'']);
        self.roots.iter().any(names)
            || pieces.any(|piece| piece.starts_with('/') && !self.has(Path::new(piece)))
    }

    /// Returns what there is to read outside: everything, as folders that none of the roots is in.
    pub(super) fn readable(&self) -> Vec<PathBuf> {
        let mut readable = Vec::new();
        self.add(Path::new("/"), &mut readable);
        readable
    }

    fn add(&self, path: &Path, readable: &mut Vec<PathBuf>) {
        if self.roots.iter().any(|root| path.starts_with(root)) {
            return;
        }
        if !self.roots.iter().any(|root| root.starts_with(path)) {
            return readable.push(path.to_path_buf());
        }
        #[expect(clippy::disallowed_methods, reason = "names beside the session's folders")]
        let entries = std::fs::read_dir(path);
        for entry in entries.into_iter().flatten().flatten() {
            // What a link leads to has an entry of its own.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.add(&entry.path(), readable);
            }
        }
    }
}

/// Returns where `path` leads, as far as it is there. Nothing if that cannot be told, as of a link to
/// what is not there.
fn resolved(path: &Path) -> Option<PathBuf> {
    let above = path.ancestors().find(|above| above.symlink_metadata().is_ok())?;
    let resolved = above.canonicalize().ok()?;
    let rest = path.strip_prefix(above).ok()?;
    let is_plain = |part| matches!(part, Component::Normal(_));
    rest.components().all(is_plain).then(|| resolved.join(rest))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own folders")]
mod tests {
    use super::*;

    #[test]
    fn places_are_outside_as_written_and_where_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for name in ["work/deep", "work-2"] {
            std::fs::create_dir_all(top.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(top.join("work"), top.join("link")).unwrap();
        std::os::unix::fs::symlink("/usr", top.join("work/out")).unwrap();
        std::os::unix::fs::symlink(top.join("work/later"), top.join("dangling")).unwrap();
        let outside = Outside::of(vec![top.join("work"), top.join("work/deep")]);
        for inside in
            ["work", "work/new", "work/deep/x", "link/x", "work/out", "none/../work", "dangling"]
        {
            assert!(!outside.has(&top.join(inside)), "{inside}");
        }
        for path in ["work-2", "work-2/new", "", "work/../work-2"] {
            let is_written_inside = path.starts_with("work/");
            assert_eq!(outside.has(&top.join(path)), !is_written_inside, "{path}");
        }
        assert!(!outside.has(Path::new("bin")));
        let readable = outside.readable();
        assert!(readable.contains(&top.join("work-2")) && readable.contains(&"/usr".into()));
        assert!(!readable.iter().any(|path| top.join("work").starts_with(path)));
        assert!(!readable.iter().any(|path| path.starts_with(top.join("work"))));
        assert!(Outside::of(vec!["/".into()]).readable().is_empty());
    }

    #[test]
    fn values_that_lead_inside_are_left_out() {
        let outside = Outside::of(vec!["/w s/x".into()]);
        let kept = |value: &str| !outside.environment(vec![("V".into(), value.into())]).is_empty();
        for value in ["/w s/x", "a:/w s/x/b", "-m=/w s/x/y", "file:///w s/x/", "/w s/x:"] {
            assert!(!kept(value), "{value}");
        }
        for value in ["", "1", "/usr/lib:/opt", "/w s/x-2", "https://host.example/w"] {
            assert!(kept(value), "{value}");
        }
    }
}
