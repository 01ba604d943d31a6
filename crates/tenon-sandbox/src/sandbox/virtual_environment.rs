//! What commands see of the virtual environment of Python that is active, where it lies in the home: its
//! programs and libraries.
//!
//! A variable names it, and a repository may have had a hand in that or in what lies there. So nothing is
//! followed: no link in the home, none beside a folder of the session, and none right in the environment.

use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};

use super::homes::home_folder;
use super::toolchains::TOOLCHAINS;
use super::{Settings, secrets};
use crate::links::resolved;
use crate::linux::openat::openat2;
use crate::workspace::canonical_or_lexical;

/// Makes a folder one.
const MARK: &str = "pyvenv.cfg";

/// Folders that are shown.
const FOLDERS: [&str; 5] = ["bin", "include", "lib", "lib64", "share"];

/// Stands for `lib` on many systems.
const LIB64: &str = "lib64";

/// Returns what is shown of it beneath `home`, each with where that comes from; nothing where it is none, where
/// it is in sight by itself, or where something else would come into sight.
pub(super) fn virtual_environment(settings: &Settings, home: &Path) -> Vec<(PathBuf, PathBuf)> {
    let found = settings.virtual_environment.as_deref();
    let found = found.and_then(|named| place(named, settings, home));
    found.and_then(|folder| parts(&folder)).unwrap_or_default()
}

impl Settings {
    /// Returns the virtual environment that is active if it lies in HOME, or is named there, and commands do
    /// not see it: they have the system's programs then.
    #[must_use]
    pub fn environment_out_of_sight(&self) -> Option<&Path> {
        let (named, home) = (self.virtual_environment.as_deref()?, self.home.as_deref()?);
        let (place, real) = (named.canonicalize().ok()?, home_folder(home)?);
        let is_of_home = place.starts_with(&real) || named.starts_with(home);
        let toolchains = TOOLCHAINS.iter().map(|name| real.join(name));
        let mut seen = toolchains.chain(self.roots.iter().chain(&self.readable).cloned());
        let is_seen = seen.any(|folder| place.starts_with(folder));
        let is_out = is_of_home && !is_seen && virtual_environment(self, &real).is_empty();
        is_out.then_some(named)
    }
}

/// Returns where it lies, if that is a place of its own.
fn place(named: &Path, settings: &Settings, home: &Path) -> Option<PathBuf> {
    let is_plain =
        named.is_absolute() && !named.components().any(|part| part == Component::ParentDir);
    let (folder, links) = resolved(named).filter(|_| is_plain)?;
    let meets = |place: &Path| place.starts_with(&folder) || folder.starts_with(place);
    let is_in_root = |path: &Path| settings.roots.iter().any(|root| path.starts_with(root));
    let leads_elsewhere = links.iter().any(|link| link.starts_with(home) || is_in_root(link));
    let named = secrets::of_home(home).chain(settings.hidden.iter().cloned());
    let mut closed = named.chain(settings.own.iter().cloned()).chain(settings.state.clone());
    let is_closed = folder == home || closed.any(|path| meets(&canonical_or_lexical(&path)));
    let is_seen = TOOLCHAINS.iter().any(|name| folder.starts_with(home.join(name)));
    let is_one = folder.starts_with(home)
        && !leads_elsewhere
        && !is_closed
        && !is_seen
        && !settings.roots.iter().any(|root| meets(root));
    is_one.then_some(folder)
}

/// Returns what is shown of the environment in `folder`, if it is one.
fn parts(folder: &Path) -> Option<Vec<(PathBuf, PathBuf)>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let handle = openat2(rustix::fs::CWD, folder, flags, Mode::empty(), resolve).ok()?;
    let kind = |name: &str| {
        let found = rustix::fs::statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW);
        found.map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode))
    };
    let is_lib = || {
        let target = rustix::fs::readlinkat(&handle, LIB64, Vec::new());
        target.is_ok_and(|target| target.as_bytes() == b"lib") && kind("lib").is_dir()
    };
    if !kind(MARK).is_file() {
        return None;
    }
    let mut shown = vec![(folder.join(MARK), folder.join(MARK))];
    for name in FOLDERS {
        let source = match kind(name) {
            FileType::Directory => name,
            FileType::Symlink if name == LIB64 && is_lib() => "lib",
            _ => continue,
        };
        shown.push((folder.join(name), folder.join(source)));
    }
    Some(shown)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use super::*;

    /// What is shown of the environment `named` with these links, by name and what it comes from.
    #[track_caller]
    fn check(named: &str, links: &[(&str, &str)], expected: &[&str], is_told: bool) {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let home = top.join("home");
        for name in [
            "work/a",
            ".config/tenon",
            ".ssh/bin",
            ".venvs/x/bin",
            ".venvs/x/lib",
            ".venvs/x/secret",
            "x/bin",
        ] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        for name in [".venvs/x/", "work/", ".ssh/", ""] {
            std::fs::write(home.join(name).join(MARK), "home = /usr/bin\n").unwrap();
        }
        for (link, target) in links {
            let target = target.replace("~", home.to_str().unwrap());
            std::os::unix::fs::symlink(target, home.join(link)).unwrap();
        }
        let settings = Settings {
            roots: vec![home.join("work/a")],
            home: Some(home.clone()),
            covered: Vec::new(),
            readable: Vec::new(),
            ways: Vec::new(),
            toolchains: Vec::new(),
            virtual_environment: Some(PathBuf::from(named.replace("~", home.to_str().unwrap()))),
            hidden: vec![home.join(".config/tenon")],
            own: Vec::new(),
            state: None,
            shown: Vec::new(),
            wanted: crate::tier::Wanted::Best,
            limits: crate::profile::Limits::default(),
            guarded_folders_max: 0,
        };
        let found = virtual_environment(&settings, &home).into_iter().map(|(path, source)| {
            let name = |path: &Path| path.strip_prefix(&home).unwrap().display().to_string();
            let (path, source) = (name(&path), name(&source));
            if path == source { path } else { format!("{path} from {source}") }
        });
        assert_eq!(found.collect::<Vec<_>>(), expected, "{named} {links:?}");
        let out_of_sight = settings.environment_out_of_sight();
        assert_eq!(out_of_sight.is_some(), is_told, "{named} {links:?}");
    }

    #[test]
    fn of_an_environment_programs_and_libraries_are_shown() {
        let shown = [".venvs/x/pyvenv.cfg", ".venvs/x/bin", ".venvs/x/lib"];
        check("~/.venvs/x", &[], &shown, false);
        check("~/.venvs/./x/", &[], &shown, false);
        let more = [&shown[..], &[".venvs/x/lib64 from .venvs/x/lib"]].concat();
        check("~/.venvs/x", &[(".venvs/x/lib64", "lib")], &more, false);
    }

    #[test]
    fn no_link_brings_anything_else_into_sight() {
        let shown = [".venvs/x/pyvenv.cfg", ".venvs/x/bin", ".venvs/x/lib"];
        for target in ["../../.ssh", "~/.ssh", "lib/", "secret"] {
            check("~/.venvs/x", &[(".venvs/x/lib64", target)], &shown, false);
            check("~/.venvs/x", &[(".venvs/x/share", target)], &shown, false);
        }
        check("~/work/a/l", &[("work/a/l", "~/.venvs/x")], &[], true);
        check("~/work/a/l/x", &[("work/a/l", "../../.venvs")], &[], true);
        check("~/l", &[("l", ".venvs/x")], &[], true);
        check("~/l/x", &[("l", "work/a/l"), ("work/a/l", "~/.venvs")], &[], true);
    }

    #[test]
    fn what_is_no_environment_of_the_home_is_not_shown() {
        for named in
            ["~", "~/.ssh", "~/.config", "~/.config/tenon", "~/work", "~/x", "~/work/../.venvs/x"]
        {
            check(named, &[], &[], true);
        }
        // Elsewhere, or not there.
        for named in ["~/work/a", "~/none", "/", "/usr", ".venvs/x", ""] {
            check(named, &[], &[], false);
        }
    }
}
