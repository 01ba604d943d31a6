//! What of this machine no command may read, whatever folder it lies in.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};

use super::Settings;
use super::stamp::Stamp;
use crate::links::resolved;
use crate::linux::bubblewrap::shows;
use crate::linux::layout::{Part, Step};
use crate::mounts::{Mounts, unescaped};
use crate::workspace::canonical;

/// What HOME holds of secrets: hidden where a root or a readable folder shows it all the same.
const HOME_SECRETS: [&str; 43] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker/config.json",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/gh",
    ".config/gcloud",
    ".config/git/credentials",
    ".local/share/keyrings",
    ".local/share/uv/credentials",
    ".dotnet/corefx",
    ".password-store",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/hub",
    ".config/glab-cli",
    ".config/rclone",
    ".config/pypoetry/auth.toml",
    // Channels of packages have tokens in them.
    ".condarc",
    "miniconda3/.condarc",
    "anaconda3/.condarc",
    "miniforge3/.condarc",
    ".cache/huggingface/token",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    // What was typed has passwords in it.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
];

/// What only root may read, and a command run by root could: besides what [`closed_in`] finds.
const ROOT_SECRETS: [&str; 29] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/ppp/chap-secrets",
    "/etc/NetworkManager/system-connections",
    "/etc/mysql/debian.cnf",
    "/etc/kubernetes",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/spool/cron",
    "/var/backups",
    "/var/cache/debconf/passwords.dat",
    "/sys/fs/pstore",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
];

/// Where the kernel lists what it swaps memory to: a line of titles, and one for each with its path and kind.
const SWAPS: &str = "/proc/swaps";

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Most folders are read at once.
const NAMES_BYTES: usize = 32 * 1024;

/// What no command may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Secrets {
    /// Also what no command would see anyway.
    pub(super) all: Vec<PathBuf>,
    /// What commands would see in the file tree that is planned.
    pub(super) in_sight: Vec<PathBuf>,
    /// Folders in which there may be others by now if their names changed.
    looked_at: Vec<(PathBuf, Option<Stamp>)>,
}

impl Secrets {
    /// Looks for the rest of them, for a file tree of these steps. Some are known.
    pub(super) fn find(
        OfSystem { closed, looked_at }: OfSystem,
        known: &BTreeSet<PathBuf>,
        steps: &[Step],
        mounts: &Mounts,
    ) -> Self {
        let mut all: Vec<_> = known.iter().cloned().chain(closed).collect();
        add_other_names(&mut all, mounts);
        let in_sight = in_sight(&all, steps);
        Self { all, in_sight, looked_at }
    }

    /// Looks for them anew if names came or went where they were found.
    pub(super) fn renew(&mut self, find: impl FnOnce() -> Self) {
        if !self.are_current() {
            *self = find();
        }
    }

    fn are_current(&self) -> bool {
        self.looked_at.iter().all(|(path, stamp)| Stamp::of_names(path) == *stamp)
    }
}

/// Returns where programs keep secrets in the folder `home`: what no command may read, by name, whether or not
/// it is there.
///
/// ```
/// let secrets: Vec<_> = tenon_sandbox::secrets_of_home("/home/ann".as_ref()).collect();
/// assert!(secrets.contains(&"/home/ann/.ssh".into()));
/// ```
pub fn of_home(home: &Path) -> impl Iterator<Item = PathBuf> {
    HOME_SECRETS.iter().map(|name| home.join(name))
}

/// Returns where programs keep what they would have in the folder `base` of a home, of which no command may
/// read it, where a variable of the user's (`XDG_CONFIG_HOME`) says that `place` is that folder.
///
/// ```
/// let secrets: Vec<_> = tenon_sandbox::secrets_of_base(".config", "/srv/ann".as_ref()).collect();
/// assert!(secrets.contains(&"/srv/ann/gh".into()));
/// ```
pub fn of_base(base: &'static str, place: &Path) -> impl Iterator<Item = PathBuf> {
    let names = HOME_SECRETS.iter().filter_map(move |name| Path::new(name).strip_prefix(base).ok());
    names.map(|name| place.join(name))
}

/// Returns what only root may read and a process of root could, by name, files that memory is swapped to now
/// among it; nothing to others.
///
/// ```
/// let found = tenon_sandbox::secrets_of_root().any(|path| path == *"/etc/shadow");
/// assert_eq!(found, rustix::process::geteuid().is_root());
/// ```
pub fn of_root_here() -> impl Iterator<Item = PathBuf> {
    let is_root = rustix::process::geteuid().is_root();
    #[expect(clippy::disallowed_methods, reason = "a list of the kernel's")]
    let swaps = if is_root { std::fs::read(SWAPS).unwrap_or_default() } else { Vec::new() };
    of_root().filter(move |_| is_root).chain(swap_files(&swaps))
}

/// Returns the files in the kernel's list of what it swaps memory to; devices are not in sight.
fn swap_files(list: &[u8]) -> Vec<PathBuf> {
    let file = |line: &[u8]| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (path, kind) = (words.next()?, words.next()?);
        (kind == b"file").then(|| PathBuf::from(unescaped(path)))
    };
    list.split(|byte| *byte == b'\n').skip(1).filter_map(file).collect()
}

/// Returns what only root may read, by name.
pub(super) fn of_root() -> impl Iterator<Item = PathBuf> {
    ROOT_SECRETS.iter().map(PathBuf::from)
}

/// Adds the other paths at which the same is found.
pub(super) fn add_other_names(paths: &mut Vec<PathBuf>, mounts: &Mounts) {
    let named: Vec<_> = paths.iter().flat_map(|path| mounts.other_names(path)).collect();
    paths.extend(named);
}

/// Returns what of HOME and of tenon's own no command may read, as it is found or will be: a person may
/// log in somewhere while the session lasts.
pub(super) fn named_ones(
    settings: &Settings,
    home: Option<&Path>,
) -> impl Iterator<Item = PathBuf> {
    let end = |path: PathBuf| resolved(&path).map_or(path, |(end, _)| end);
    // Who wants no history has it lead to `/dev/null`.
    names(settings, home).map(end).filter(|end| !end.starts_with("/dev"))
}

/// Returns the same as it is named.
pub(super) fn names(settings: &Settings, home: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    let of_home = home.into_iter().flat_map(of_home);
    of_home.chain(settings.hidden.iter().cloned())
}

/// What only root may read; nothing, to others.
#[derive(Default)]
pub(super) struct OfSystem {
    closed: Vec<PathBuf>,
    looked_at: Vec<(PathBuf, Option<Stamp>)>,
}

impl OfSystem {
    /// Begins to look for it, on a thread of its own: it takes as long as to make a file tree.
    pub(super) fn begin(settings: &Settings) -> Option<JoinHandle<Self>> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let roots = settings.roots.clone();
        thread::Builder::new().spawn(move || Self::find(&roots)).ok()
    }

    /// Returns what was begun to be looked for; looks where nobody did.
    pub(super) fn found(begun: Option<JoinHandle<Self>>, roots: &[PathBuf]) -> Self {
        begun.and_then(|begun| begun.join().ok()).unwrap_or_else(|| Self::find(roots))
    }

    /// Looks for it, but for what is in or around a root.
    pub(super) fn find(roots: &[PathBuf]) -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self::default();
        }
        let (folder, mut closed) = (Path::new("/etc"), canonical(of_root_here()));
        closed_in(folder, &canonical(roots), &mut closed);
        Self { looked_at: stamps(folder, &closed), closed }
    }
}

/// Returns a folder, and those beneath it in which something is closed, as they are now. To look at
/// all others before each command would take longer than the rest of what is done then.
fn stamps(folder: &Path, closed: &[PathBuf]) -> Vec<(PathBuf, Option<Stamp>)> {
    let above = closed.iter().filter_map(|path| path.parent());
    let above = above.filter(|above| above.starts_with(folder)).chain([folder]);
    let above: BTreeSet<&Path> = above.collect();
    above.into_iter().map(|path| (path.to_path_buf(), Stamp::of_names(path))).collect()
}

/// Returns what of `hidden` would be seen in a file tree of these steps: under its own name, or
/// within something that is shown elsewhere than where it is.
fn in_sight(hidden: &[PathBuf], steps: &[Step]) -> Vec<PathBuf> {
    let elsewhere = steps.iter().filter_map(|step| match &step.part {
        Part::Kept { source, .. } if *source != step.path => Some((&step.path, source)),
        _ => None,
    });
    let moved = elsewhere.flat_map(|(path, source)| {
        hidden.iter().filter_map(move |one| Some(path.join(one.strip_prefix(source).ok()?)))
    });
    let shown = hidden.iter().filter(|path| shows(steps, path)).cloned();
    let mut found: Vec<PathBuf> = shown.chain(moved).collect();
    found.sort();
    // What lies in another one goes with it, and can have nothing put on it.
    found.dedup_by(|one, above| one.starts_with(&*above));
    found
}

/// Adds what is in `folder` that not everybody may read, but for what is in or around a root.
fn closed_in(folder: &Path, roots: &[PathBuf], closed: &mut Vec<PathBuf>) {
    if let Ok(handle) = rustix::fs::open(folder, FOLDER, Mode::empty()) {
        add_closed(&handle, &mut folder.to_path_buf(), roots, closed);
    }
}

/// Adds what is in an open folder. The first command of a session may wait for it: a few calls for
/// each folder, one for each file, and `path`, which is the folder's, grows and shrinks.
fn add_closed(folder: &OwnedFd, path: &mut PathBuf, roots: &[PathBuf], closed: &mut Vec<PathBuf>) {
    let has_roots = roots.iter().any(|root| root.starts_with(&*path));
    let mut names = Vec::with_capacity(NAMES_BYTES);
    let mut entries = RawDir::new(folder, names.spare_capacity_mut());
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name();
        // What a link leads to has its own entry, or is not a setting of the system's.
        if entry.file_type().is_symlink() || matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(found) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let is_folder = FileType::from_raw_mode(found.st_mode).is_dir();
        let wanted = if is_folder { 0o005 } else { 0o004 };
        let is_open = found.st_mode & wanted == wanted;
        if is_open && !is_folder {
            continue;
        }
        path.push(OsStr::from_bytes(name.to_bytes()));
        let is_within = has_roots && roots.iter().any(|root| path.starts_with(root));
        let is_around = has_roots && roots.iter().any(|root| root.starts_with(&*path));
        if is_within || closed.contains(path) {
            // The workspace's own, or known as a whole.
        } else if is_open || is_around {
            if let Ok(inner) = rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
                add_closed(&inner, path, roots, closed);
            }
        } else {
            closed.push(path.clone());
        }
        path.pop();
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use super::*;

    #[test]
    fn what_not_everybody_may_read_is_found_but_for_the_roots() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for (name, mode) in [
            ("key", 0o640),
            ("open", 0o644),
            ("private/in", 0o600),
            ("a/b", 0o600),
            ("known/key", 0o600),
        ] {
            let path = top.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        std::fs::set_permissions(top.join("private"), PermissionsExt::from_mode(0o700)).unwrap();
        std::os::unix::fs::symlink("/etc/shadow", top.join("link")).unwrap();
        let check = |roots: &[&str], expected: &[&str]| {
            let roots: Vec<_> = roots.iter().map(|name| top.join(name)).collect();
            let mut closed = vec![top.join("known")];
            closed_in(&top, &roots, &mut closed);
            closed.retain(|path| *path != top.join("known"));
            closed.sort();
            let expected: Vec<_> = expected.iter().map(|name| top.join(name)).collect();
            assert_eq!(closed, expected, "{roots:?}");
        };
        check(&[], &["a/b", "key", "private"]);
        check(&["a", "private/in"], &["key"]);
    }

    #[test]
    fn files_that_memory_is_swapped_to_are_known_and_devices_are_not() {
        let list = b"Filename\t\t\t\tType\t\tSize\n/swap\\040file                file\t\t1\t0\n\
                     /dev/zram0  partition\t1\n/swap.img file\t1\n";
        assert_eq!(swap_files(list), ["/swap file", "/swap.img"].map(PathBuf::from));
        assert!(swap_files(b"").is_empty());
    }

    #[test]
    fn a_new_name_where_something_is_closed_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for name in ["a", "b"] {
            std::fs::create_dir(top.join(name)).unwrap();
        }
        let closed = [top.join("a/key"), PathBuf::from("/var/key")];
        let check = |made: &str, is_current: bool| {
            let (all, in_sight) = (Vec::new(), Vec::new());
            let secrets = Secrets { all, in_sight, looked_at: stamps(&top, &closed) };
            assert!(secrets.are_current());
            std::fs::write(top.join(made), "").unwrap();
            assert_eq!(secrets.are_current(), is_current, "{made}");
        };
        check("new", false);
        check("a/new", false);
        check("b/new", true);
    }

    #[test]
    fn what_is_shown_under_another_name_is_hidden_there_too_and_nothing_within_what_is_hidden() {
        let kept = |path: &str, source: &str| Step {
            path: path.into(),
            part: Part::Kept { source: source.into(), writable: false },
        };
        let home = Step { path: "/home/u".into(), part: Part::Private { mode: 0 } };
        let steps = [home, kept("/home/u/.cargo", "/data/cargo"), kept("/home/u/go", "/home/u/go")];
        let hidden = [
            "/etc/sudoers.d/README",
            "/data/cargo/key",
            "/home/u/.ssh",
            "/home/u/go/key",
            "/etc/key",
            "/etc/sudoers.d",
        ];
        let found = in_sight(&hidden.map(PathBuf::from), &steps);
        let expected = [
            "/data/cargo/key",
            "/etc/key",
            "/etc/sudoers.d",
            "/home/u/.cargo/key",
            "/home/u/go/key",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }
}
