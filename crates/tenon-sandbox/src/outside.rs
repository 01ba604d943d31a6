//! What does not lie in a folder of the session, where the model writes: programs to run without walls,
//! variables to hand them, files to read.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::environment::PATH_DEFAULT;
use crate::links::leads_into;
use crate::sandbox::programs::{folders, is_program};
use crate::sandbox::repositories_outside;

/// Everything but some folders.
///
/// ```
/// let outside = tenon_sandbox::OutsideRoots::of(vec!["/home/ada/project".into()]);
/// assert!(outside.has("/home/ada/other".as_ref()));
/// assert!(!outside.has("/home/ada/project/target".as_ref()));
/// let all = vec![("PATH".into(), "/home/ada/project/.venv/bin:/usr/bin".into())];
/// assert_eq!(outside.environment(all, &[]), [("PATH".into(), "/usr/bin".into())]);
/// ```
#[derive(Debug, Clone)]
pub struct OutsideRoots {
    roots: Vec<PathBuf>,
}

impl OutsideRoots {
    /// Returns what is outside of `roots`, which are absolute and have no links in them, and of the repositories
    /// whose linked worktrees or submodules they are, which commands write, too.
    #[must_use]
    pub fn of(mut roots: Vec<PathBuf>) -> Self {
        roots.extend(repositories_outside(&roots));
        Self { roots }
    }

    /// Whether `path` is outside, as it is written, where it leads, and all the way there.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        let is_inside = self.roots.iter().any(|root| path.starts_with(root));
        path.is_absolute() && !is_inside && !leads_into(path, &self.roots)
    }

    /// Returns `all` without the variables that lead inside, and of `PATH` the folders that are outside, as
    /// [`Self::search_path`] does.
    #[must_use]
    pub fn environment(
        &self,
        all: Vec<(OsString, OsString)>,
        programs: &[&str],
    ) -> Vec<(OsString, OsString)> {
        let outside = |(name, value): (OsString, OsString)| match name == "PATH" {
            true => {
                let value = self.search_path(&value, programs);
                Some((name, value))
            }
            false => (!self.is_led_inside(&name, &value)).then_some((name, value)),
        };
        all.into_iter().filter_map(outside).collect()
    }

    /// Returns the folders of `path`, which is written as PATH is, that are outside, but for those in which one of
    /// `programs` leads inside; the usual ones where none is left.
    #[must_use]
    pub fn search_path(&self, path: &OsStr, programs: &[&str]) -> OsString {
        let is_outside = |folder: &&[u8]| {
            let folder = Path::new(OsStr::from_bytes(folder));
            self.has(folder) && programs.iter().all(|program| self.has(&folder.join(program)))
        };
        let folders = path.as_bytes().split(|byte| *byte == b':').filter(is_outside);
        let left = OsString::from_vec(folders.collect::<Vec<_>>().join(&b':'));
        if left.is_empty() { PATH_DEFAULT.into() } else { left }
    }

    /// Returns where the program `name` is first in the folders of `path`, which is written as PATH is, that
    /// [`Self::search_path`] leaves with that name.
    #[must_use]
    pub fn program(&self, name: &str, path: &OsStr) -> Option<PathBuf> {
        let left = self.search_path(path, &[name]);
        folders(&left).map(|folder| folder.join(name)).find(|program| is_program(program))
    }

    /// Returns the program `name` as the folders of `path`, which is written as PATH is, have it first, if
    /// [`Self::search_path`] with that name leaves out all folders that have it.
    #[must_use]
    pub fn program_inside(&self, name: &str, path: &OsStr) -> Option<PathBuf> {
        let all = folders(path).map(|folder| {
            let program = folder.join(name);
            (self.has(&folder) && self.has(&program), program)
        });
        let mut found = all.filter(|(_, program)| is_program(program)).peekable();
        let first = found.peek()?.1.clone();
        found.all(|(is_outside, _)| !is_outside).then_some(first)
    }

    /// Whether the value of a variable may lead inside: it names a place there, alone, in a list, behind an option
    /// or in an address, or one that depends on the folder a program is started in.
    #[must_use]
    pub fn is_led_inside(&self, variable: &OsStr, value: &OsStr) -> bool {
        let Some(text) = value.to_str() else { return true };
        depends_on_folder(&variable.to_string_lossy(), text) || self.names_inside(text)
    }

    fn names_inside(&self, text: &str) -> bool {
        let names = |root: &PathBuf| {
            let root = root.to_string_lossy();
            let is_end =
                |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
            text.match_indices(&*root).any(|(at, _)| text.get(at + root.len()..).is_none_or(is_end))
        };
        let absolute = |piece: &str| {
            let start = piece.find('/').filter(|start| *start == 0 || piece.starts_with('-'));
            start
                .and_then(|start| piece.get(start..))
                .is_some_and(|path| !self.has(Path::new(path)))
        };
        self.roots.iter().any(names) || pieces(text).any(absolute)
    }

    /// Returns what there is to read outside: everything, as folders that none of the roots is in.
    #[must_use]
    pub fn readable(&self) -> Vec<PathBuf> {
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

/// How the names of variables end whose values are paths.
const OF_PATHS: [&str; 11] = [
    "PATH", "HOME", "DIR", "DIRS", "FILE", "ROOT", "PREFIX", "BUNDLE", "PRELOAD", "STARTUP", "LIB",
];

/// Others with such values.
const PATHS: [&str; 5] = ["BASH_ENV", "CC", "CXX", "ENV", "VIRTUAL_ENV"];

/// Their values have slashes and are no paths.
const NO_PATHS: [&str; 1] = ["TZ"];
const PROXY: &str = "_PROXY";

/// Whether a value has a path that is not absolute, or an empty one in a list, which is the folder that a program is
/// started in. A program by its name alone (`CC=gcc`) is none.
fn depends_on_folder(variable: &str, value: &str) -> bool {
    let name = variable.to_ascii_uppercase();
    if NO_PATHS.contains(&&*name) || name.ends_with(PROXY) || value.contains("://") {
        return false;
    }
    let is_program = ["CC", "CXX"].contains(&&*name);
    let is_of_paths = PATHS.contains(&&*name) || OF_PATHS.iter().any(|end| name.ends_with(end));
    let is_relative = |piece: &str| {
        let is_plain = !piece.starts_with(['/', '-']) && piece.contains('/');
        is_plain || piece == "." || piece == ".."
    };
    let is_absolute = |part: &str| part.starts_with('/');
    let mut parts = value.split(':').filter(|part| !is_absolute(part)).peekable();
    is_of_paths && !is_program && parts.peek().is_some()
        || parts.any(|part| pieces(part).any(is_relative))
}

fn pieces(value: &str) -> impl Iterator<Item = &str> {
    value.split([':', '=', ',', ';', ' ', '\n', '"', '\''])
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
        let outside = OutsideRoots::of(vec![top.join("work"), top.join("work/deep")]);
        for inside in
            ["work", "work/new", "work/deep/x", "link/x", "link/out", "none/../work", "dangling"]
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
        assert!(OutsideRoots::of(vec!["/".into()]).readable().is_empty());
    }

    #[test]
    fn programs_are_looked_for_outside() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for name in ["work/bin", "bin", "tools"] {
            std::fs::create_dir_all(top.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(top.join("work/bin"), top.join("link")).unwrap();
        std::os::unix::fs::symlink(top.join("work/bin/npm"), top.join("tools/npm")).unwrap();
        let outside = OutsideRoots::of(vec![top.join("work")]);
        let check = |folders: &[&str], programs: &[&str], expected: &[&str]| {
            let written = |names: &[&str]| {
                let names = names.iter().map(|name| top.join(name));
                std::env::join_paths(names).unwrap()
            };
            let found = outside.search_path(&written(folders), programs);
            assert_eq!(found, written(expected), "{folders:?} {programs:?}");
        };
        check(&["work/bin", "bin", "link", "tools"], &[], &["bin", "tools"]);
        check(&["work/bin", "bin", "link", "tools"], &["npm"], &["bin"]);
        assert_eq!(outside.search_path(top.join("work/bin").as_os_str(), &[]), PATH_DEFAULT);
        assert_eq!(outside.search_path("bin::.".as_ref(), &[]), PATH_DEFAULT);
    }

    #[test]
    fn values_that_lead_inside_are_left_out() {
        let outside = OutsideRoots::of(vec!["/w s/x".into()]);
        let kept =
            |value: &str| !outside.environment(vec![("V".into(), value.into())], &[]).is_empty();
        for value in ["/w s/x", "a:/w s/x/b", "-m=/w s/x/y", "file:///w s/x/", "/w s/x:"] {
            assert!(!kept(value), "{value}");
        }
        for value in ["", "1", "/usr/lib:/opt", "/w s/x-2", "https://host.example/w"] {
            assert!(kept(value), "{value}");
        }
        let led = |name: &str, value: &str| outside.is_led_inside(name.as_ref(), value.as_ref());
        for (name, value) in [
            ("PYTHONPATH", "src"),
            ("PYTHONPATH", "."),
            ("PYTHONPATH", "/usr/lib/x:"),
            ("LD_LIBRARY_PATH", ":/usr/lib"),
            ("SSL_CERT_FILE", "certs/ca.pem"),
            ("BASH_ENV", "e"),
            ("CC", "./cc"),
            ("CC", "ccache bin/cc"),
            ("MAKEFLAGS", "-j4 -I/w s/x/include"),
            ("RUSTFLAGS", "-L native=lib/x"),
            ("ANY", "../x"),
        ] {
            assert!(led(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("PYTHONPATH", "/usr/lib/x:/opt/y"),
            ("TZ", "Europe/Berlin"),
            ("no_proxy", "10.0.0.0/8,.example.com"),
            ("CC", "gcc -m32"),
            ("RUSTFLAGS", "-C linker=/usr/bin/ld"),
            ("MAKEFLAGS", "-j4"),
            ("LANG", "de_DE.UTF-8"),
            ("DISPLAY", ":0"),
        ] {
            assert!(!led(name, value), "{name}={value}");
        }
    }
}
