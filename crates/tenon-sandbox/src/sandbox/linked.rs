//! What links within closed folders lead to (`~/.ssh/id_rsa` to a disk of keys): keys that nothing else closes where
//! they lie.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, RawDir};

use super::homes::is_of_system;
use super::toolchains::TOOLCHAINS;
use super::{Settings, secrets};
use crate::file_system::kind;
use crate::links::resolved;

/// How many names are looked at in all, the upper ones first: in a millisecond, and more than folders of keys have.
const NAMES_MAX: usize = 2_000;

/// How many of them in one folder, so that one of thousands leaves some to others.
const FOLDER_NAMES_MAX: usize = 500;

/// How many folders deep: browsers have thousands of names further down.
const DEPTH_MAX: usize = 3;

/// How many places are closed so. Each is a mount for each command.
const ENDS_MAX: usize = 200;

/// The least that is read of a folder at once.
const NAMES_BYTES: usize = 8 * 1024;

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Folders of programs that a system is made of, besides the usual ones.
const STORES: [&str; 2] = ["/gnu", "/nix"];

/// Returns what of HOME and of tenon's own no command may read ([`secrets::named_ones`]), and what links within it, and
/// within what these lead to, end at: of the folders in it 2,000 names are looked at, 500 in one, three folders deep.
/// Left out is what the session works in, unless that holds HOME, what a person lets commands read, and what everybody
/// may read of the system.
pub(super) fn closed(settings: &Settings, home: Option<&Path>) -> BTreeSet<PathBuf> {
    let mut closed: BTreeSet<_> = secrets::named_ones(settings, home).collect();
    let mut folders: VecDeque<_> = closed.iter().map(|path| (path.clone(), 0)).collect();
    let (mut names_left, mut ends_left) = (NAMES_MAX, ENDS_MAX);
    while let Some((folder, depth)) = folders.pop_front() {
        let found = links_and_folders(&folder, &mut names_left);
        let mut inner = Vec::new();
        for (path, is_link) in found {
            if !is_link {
                inner.push(path);
                continue;
            }
            let end = resolved(&path).map(|(end, _)| end);
            let end = end.filter(|end| ends_left > 0 && is_secret(end, settings, home));
            if let Some(end) = end.filter(|end| closed.insert(end.clone())) {
                ends_left -= 1;
                inner.push(end);
            }
        }
        if depth + 1 < DEPTH_MAX {
            folders.extend(inner.into_iter().map(|path| (path, depth + 1)));
        }
    }
    closed
}

/// Returns the links and folders in a folder, and which are links, as far as names are left to look at.
fn links_and_folders(folder: &Path, names_left: &mut usize) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    let Ok(handle) = rustix::fs::open(folder, FOLDER, Mode::empty()) else { return found };
    let mut room = Vec::with_capacity(NAMES_BYTES);
    let mut entries = RawDir::new(&handle, room.spare_capacity_mut());
    let least = names_left.saturating_sub(FOLDER_NAMES_MAX);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if *names_left == least {
            break;
        }
        *names_left -= 1;
        let name = OsStr::from_bytes(name.to_bytes());
        let kind = kind(&handle, name, entry.file_type());
        if kind.is_symlink() || kind.is_dir() {
            found.push((folder.join(name), kind.is_symlink()));
        }
    }
    found
}

/// Whether what a link in a closed folder leads to is closed, too.
fn is_secret(end: &Path, settings: &Settings, home: Option<&Path>) -> bool {
    let Ok(found) = end.metadata() else { return false };
    let (roots, readable) = (&settings.roots, &settings.readable);
    let mut is_known = roots.iter().chain(readable).map(PathBuf::as_path).chain(home);
    let is_around = is_known.any(|known| known.starts_with(end));
    let holds_home = |root: &Path| home.is_some_and(|home| home.starts_with(root));
    let is_worked_in = roots.iter().any(|root| end.starts_with(root) && !holds_home(root));
    let is_toolchain = || {
        let mut toolchains = home.into_iter().flat_map(|home| TOOLCHAINS.map(|it| home.join(it)));
        toolchains.any(|folder| folder.starts_with(end) || end.starts_with(folder))
    };
    let is_of_system = || is_of_system(end) || STORES.iter().any(|store| end.starts_with(store));
    if is_around || is_worked_in {
        false
    } else if found.is_dir() {
        !is_toolchain() && !is_of_system()
    } else {
        found.is_file() && (found.mode() & 0o004 == 0 || !is_of_system())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::profile::Limits;
    use crate::tier::Wanted;

    fn settings(home: &Path, roots: Vec<PathBuf>, readable: Vec<PathBuf>) -> Settings {
        Settings {
            roots,
            home: Some(home.into()),
            ways: Vec::new(),
            covered: Vec::new(),
            readable,
            toolchains: Vec::new(),
            virtual_environment: None,
            hidden: Vec::new(),
            own: Vec::new(),
            state: None,
            shown: Vec::new(),
            wanted: Wanted::Best,
            limits: Limits::default(),
            guarded_folders_max: 0,
        }
    }

    #[test]
    fn what_links_within_closed_folders_lead_to_is_closed() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let home = top.join("home");
        let put = |link: &str, target: &str| {
            std::fs::create_dir_all(top.join(link).parent().unwrap()).unwrap();
            symlink(target, top.join(link)).unwrap();
        };
        for file in ["disk/id", "disk/aws/credentials", "disk/gpg/k", "home/work/config", "x/y"] {
            std::fs::create_dir_all(top.join(file).parent().unwrap()).unwrap();
            std::fs::write(top.join(file), "").unwrap();
            let mode = PermissionsExt::from_mode(0o644);
            std::fs::set_permissions(top.join(file), mode).unwrap();
        }
        std::fs::create_dir_all(home.join(".cargo/bin")).unwrap();
        put("home/.ssh/id", "../../disk/id");
        put("home/.ssh/config", "../work/config");
        put("home/.ssh/up", "../..");
        put("home/.ssh/none", "gone");
        put("home/.ssh/null", "/dev/null");
        put("home/.kube/tool", "/usr/bin/env");
        put("home/.kube/bin", "../.cargo/bin");
        put("home/.aws", "../disk/aws");
        put("disk/aws/more", "../../x");
        put("x/again", "../disk/gpg/k");
        put("home/.gnupg/a/b/c/d", "../../../../../disk/gpg");
        let check = |roots: &[&str], readable: &[&str], expected: &[&str]| {
            let at = |names: &[&str]| names.iter().map(|name| top.join(name)).collect::<Vec<_>>();
            let settings = settings(&home, at(roots), at(readable));
            let named: BTreeSet<_> = secrets::named_ones(&settings, Some(&home)).collect();
            let found = closed(&settings, Some(&home));
            let found: Vec<_> = found.difference(&named).cloned().collect();
            assert_eq!(found, at(expected), "{roots:?} {readable:?}");
        };
        check(&["home/work"], &[], &["disk/gpg/k", "disk/id", "x"]);
        check(&["home"], &[], &["disk/gpg/k", "disk/id", "home/work/config", "x"]);
        check(&["disk"], &["x/y"], &["home/work/config"]);
    }

    #[test]
    fn a_folder_of_many_names_leaves_some_to_others() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        for number in 0..FOLDER_NAMES_MAX + 10 {
            symlink("x", top.join(number.to_string())).unwrap();
        }
        let mut left = NAMES_MAX;
        assert_eq!(links_and_folders(&top, &mut left).len(), FOLDER_NAMES_MAX);
        left = 10;
        assert_eq!((links_and_folders(&top, &mut left).len(), left), (10, 0));
    }
}
