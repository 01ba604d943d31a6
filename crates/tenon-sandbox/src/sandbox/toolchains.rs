//! Where toolchains are: in a home, and where variables of the user's name folders for them.
//!
//! A private layer in front of such a folder takes in what toolchains fetch and unpack. A variable brings
//! nothing into sight, and no place of the system's, of people's, of secrets or of tenon's gets a layer by one.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Component, Path, PathBuf};

use super::{Settings, homes, secrets};
use crate::links::resolved;
use crate::linux::layout::Part;
use crate::linux::openat::open_plain;
use crate::workspace::{canonical, canonical_or_lexical};

/// Toolchains beneath HOME that a command may read, and what they have fetched and built; it may write there, where
/// folders can be stacked, for the time of the session: they fetch what is missing to where they are.
pub(super) const TOOLCHAINS: [&str; 65] = [
    ".cargo",
    ".rustup",
    ".pyenv",
    ".nvm",
    ".bun/bin",
    ".bun/install/cache",
    ".deno/bin",
    ".volta",
    ".fnm",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".local/share/mise",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".local/share/gem/ruby",
    ".local/share/virtualenvs",
    ".local/pipx",
    ".local/share/pipx",
    ".npm-global/bin",
    ".npm-global/lib",
    ".npm/_cacache",
    ".yarn/berry/cache",
    ".asdf",
    ".rbenv",
    ".rvm",
    ".gem/ruby",
    ".sdkman",
    ".jenv",
    ".ghcup",
    ".cabal/bin",
    ".cabal/packages",
    ".cabal/store",
    ".opam",
    ".elan",
    ".juliaup",
    ".dotnet",
    ".nuget/packages",
    ".m2/repository",
    ".m2/wrapper",
    ".gradle/caches",
    ".gradle/jdks",
    ".gradle/wrapper",
    ".composer/cache",
    ".hex/packages",
    ".pub-cache/hosted",
    ".conda/envs",
    ".conda/pkgs",
    "miniconda3",
    "anaconda3",
    "miniforge3",
    "go/pkg",
    "go/bin",
    ".cache/Cypress",
    ".cache/bazelisk",
    ".cache/composer",
    ".cache/deno",
    ".cache/electron",
    ".cache/go-build",
    ".cache/ms-playwright",
    ".cache/pip",
    ".cache/pre-commit",
    ".cache/pypoetry",
    ".cache/uv",
    ".cache/yarn",
];

/// Of a folder in which something is mounted, so many names are looked at.
const SPLIT_MAX: usize = 100;

/// Nothing in them is a toolchain's own folder.
const SYSTEM: [&str; 9] =
    ["/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys"];

/// Holds programs of the system, and within [`LOCAL`] those that its administrator adds.
const PROGRAMS: &str = "/usr";
const LOCAL: &str = "/usr/local";

/// Folders that many programs share: what is in them may be one's own.
const SHARED: [&str; 22] = [
    "/home",
    "/mnt",
    "/media",
    "/nix",
    "/opt",
    "/root",
    "/run",
    "/srv",
    "/tmp",
    "/usr/local/bin",
    "/usr/local/etc",
    "/usr/local/games",
    "/usr/local/include",
    "/usr/local/lib",
    "/usr/local/man",
    "/usr/local/sbin",
    "/usr/local/share",
    "/usr/local/src",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/tmp",
];

/// Returns the toolchains in HOME that commands see, each with where it is: what is there by its name, and what a link
/// leads to only where that is named like it and is nobody else's. Whoever writes in HOME can put a link there, and
/// exchange it at any time, so each is followed once.
pub(super) fn of_home(settings: &Settings, home: &Path) -> Vec<(PathBuf, PathBuf)> {
    let shown = |name: &str| {
        let path = home.join(name);
        if lies_within(&path, &settings.roots) {
            return is_in_place(&path).then(|| (path.clone(), path));
        }
        let real = canonical([&path]).pop()?;
        let is_shown = real == path || may_be_linked(&real, name, settings, home);
        is_shown.then_some((path, real))
    };
    TOOLCHAINS.into_iter().filter_map(shown).collect()
}

/// Returns the toolchains in the folder `home` that lie in one of `roots` and are not opened with it: those that are
/// there, by their names and not behind a link. Commands do not write them, and file tools with a yes alone
/// ([`crate::Workspace::with_toolchains`]). The roots are absolute and without links, as what is returned.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let home = folder.path().canonicalize()?;
/// std::fs::create_dir(home.join(".cargo"))?;
/// let held = |roots: &[_]| tenon_sandbox::toolchains_within(&home, roots);
/// assert_eq!(held(&[home.clone()]), [home.join(".cargo")]);
/// assert!(held(&[home.clone(), home.join(".cargo")]).is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn toolchains_within(home: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    let Some(home) = homes::home_folder(home) else { return Vec::new() };
    let mut held: Vec<PathBuf> = TOOLCHAINS.iter().map(|name| home.join(name)).collect();
    held.retain(|path| lies_within(path, roots) && is_in_place(path));
    held
}

/// Whether something is there, and not behind a link.
fn is_in_place(path: &Path) -> bool {
    open_plain(path).is_ok()
}

/// Whether a path lies in one of the roots and is none.
fn lies_within(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root)) && !roots.iter().any(|root| path == root)
}

/// Whether commands see what a link in HOME leads to, which a copy of a home has from somebody else, and a folder of
/// the session from its commands.
fn may_be_linked(real: &Path, name: &str, settings: &Settings, home: &Path) -> bool {
    let path = home.join(name);
    let is_in_root = settings.roots.iter().any(|root| path.starts_with(root));
    let without_dot = |part: &OsStr| part.to_string_lossy().trim_start_matches('.').to_owned();
    let names = Path::new(name).iter().rev().map(without_dot);
    let is_named_so =
        names.eq(real.iter().rev().take(Path::new(name).iter().count()).map(without_dot));
    let is_in_home = real.starts_with(home);
    let is_of_others = || {
        let others = homes::of_others(settings, Some(home), &[]);
        let mut others =
            homes::HOMES.iter().map(Path::new).chain(others.iter().map(PathBuf::as_path));
        others.any(|other| real.starts_with(other))
    };
    settings.covered.is_empty()
        && !is_in_root
        && is_named_so
        && place(real, settings, Some(home)).is_some()
        && (is_in_home || !is_of_others())
}

/// Returns those folders which variables name that a private layer is put in front of: commands see them and
/// cannot write them, and nothing else is put within.
pub(super) fn named_ones(
    settings: &Settings,
    home: Option<&Path>,
    parts: &BTreeMap<PathBuf, Part>,
) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = of_variables(settings, home).collect();
    found.retain(|folder| is_seen(folder, parts));
    found.sort();
    // The layer of the upper one is that of what lies in it, too.
    found.dedup_by(|lower, upper| lower.starts_with(&*upper));
    found
}

/// Returns `folders`, and in place of each that something is mounted within those in it of which that is not so:
/// the kernel puts no layer in front of mounts.
#[expect(clippy::disallowed_methods, reason = "folders of toolchains, outside of the workspace")]
pub(super) fn around_mounts(folders: Vec<PathBuf>, mounts: &[&Path]) -> Vec<PathBuf> {
    let is_around = |folder: &Path| {
        mounts.iter().any(|mounted| *mounted != folder && mounted.starts_with(folder))
    };
    let (split, mut whole): (Vec<_>, Vec<_>) =
        folders.into_iter().partition(|folder| is_around(folder));
    for folder in split {
        let inner = std::fs::read_dir(folder).into_iter().flatten().take(SPLIT_MAX).flatten();
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let inner = inner.filter(is_folder).map(|entry| entry.path()).collect();
        whole.extend(around_mounts(inner, mounts));
    }
    whole.sort();
    whole
}

/// Returns the folders which variables name that are toolchains' own by their places, seen by commands or not.
pub(super) fn of_variables(
    settings: &Settings,
    home: Option<&Path>,
) -> impl Iterator<Item = PathBuf> {
    settings.toolchains.iter().filter_map(move |named| place(named, settings, home))
}

/// Returns where a folder that a variable names is, if it is a toolchain's own by its place.
fn place(named: &Path, settings: &Settings, home: Option<&Path>) -> Option<PathBuf> {
    let is_plain =
        named.is_absolute() && !named.components().any(|part| part == Component::ParentDir);
    let (folder, links) = resolved(named).filter(|_| is_plain)?;
    let is_in_root = |path: &Path| settings.roots.iter().any(|root| path.starts_with(root));
    let is_above = |path: &Path| path.starts_with(&folder);
    let own = settings.roots.iter().map(PathBuf::as_path).chain(home);
    let tenons = settings.own.iter().chain(&settings.state).map(|path| canonical_or_lexical(path));
    let is_tenons = tenons.into_iter().any(|path| is_above(&path) || folder.starts_with(path));
    let of_home = home.into_iter().flat_map(secrets::of_home);
    let closed = of_home.chain(settings.hidden.iter().cloned()).chain(secrets::of_root());
    // A file of credentials within is hidden by itself.
    let is_closed = closed
        .map(|path| canonical_or_lexical(&path))
        .any(|path| folder.starts_with(&path) || is_above(&path) && path.is_dir());
    let is_own = folder.is_dir()
        && !is_of_system(&folder)
        && !own.chain(SHARED.iter().map(Path::new)).any(is_above)
        && !is_in_root(&folder)
        && !links.iter().any(|link| is_in_root(link))
        && !is_tenons
        && !is_closed;
    is_own.then_some(folder)
}

fn is_of_system(folder: &Path) -> bool {
    SYSTEM.iter().any(|known| folder.starts_with(known))
        || folder.starts_with(PROGRAMS) && !folder.starts_with(LOCAL)
}

fn is_seen(folder: &Path, parts: &BTreeMap<PathBuf, Part>) -> bool {
    let nearest = folder.ancestors().find_map(|above| parts.get(above));
    let is_whole = !parts.keys().any(|path| path != folder && path.starts_with(folder));
    is_whole && nearest.is_none_or(|part| matches!(part, Part::Kept { writable: false, .. }))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use super::*;

    #[test]
    fn layers_lie_around_what_is_mounted() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        for name in ["cargo/registry/src", "cargo/git/db", "cargo/bin", "go"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("cargo/config.toml"), "").unwrap();
        std::os::unix::fs::symlink(at("go"), at("cargo/link")).unwrap();
        let check = |mounts: &[&str], expected: &[&str]| {
            let mounts: Vec<_> = mounts.iter().map(|name| at(name)).collect();
            let places: Vec<_> = mounts.iter().map(PathBuf::as_path).collect();
            let found = around_mounts(vec![at("go"), at("cargo")], &places);
            assert_eq!(found, expected.iter().map(|name| at(name)).collect::<Vec<_>>());
        };
        check(&[], &["cargo", "go"]);
        check(&["cargo"], &["cargo", "go"]);
        check(&["cargo/registry"], &["cargo/bin", "cargo/git", "cargo/registry", "go"]);
        check(&["cargo/git/db", "other"], &["cargo/bin", "cargo/git/db", "cargo/registry", "go"]);
    }

    #[test]
    fn no_variable_puts_a_layer_where_a_toolchain_has_no_place_of_its_own() {
        let top = tempfile::tempdir_in("/var/lib").or_else(|_| tempfile::tempdir()).unwrap();
        let path = top.path().canonicalize().unwrap();
        let at = |name: &str| path.join(name);
        for name in [
            "cargo/registry",
            "go/src/work",
            "go/pkg/mod",
            "home/.ssh",
            "home/tools",
            "state",
            "keys",
            "config/sub",
        ] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("cargo/credentials.toml"), "").unwrap();
        std::fs::write(at("config/config.toml"), "").unwrap();
        std::os::unix::fs::symlink(at("cargo"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("cargo"), at("go/src/work/link")).unwrap();
        let kept = |writable| Part::Kept { source: at("x"), writable };
        let parts: BTreeMap<_, _> = [
            (at("home"), Part::Private { mode: 0o700 }),
            (at("home/.cargo"), kept(false)),
            (at("go/src/work"), kept(true)),
        ]
        .into();
        let check = |named: &[PathBuf], expected: &[&str]| {
            let settings = Settings {
                roots: vec![at("go/src/work")],
                home: Some(at("home")),
                ways: Vec::new(),
                covered: Vec::new(),
                readable: Vec::new(),
                toolchains: named.to_vec(),
                virtual_environment: None,
                hidden: vec![at("keys"), at("cargo/credentials.toml")],
                own: vec![at("config/config.toml")],
                state: Some(at("state")),
                shown: Vec::new(),
                wanted: crate::tier::Wanted::Best,
                limits: crate::profile::Limits::default(),
                guarded_folders_max: 0,
            };
            let found = named_ones(&settings, Some(&at("home")), &parts);
            assert_eq!(
                found,
                expected.iter().map(|name| at(name)).collect::<Vec<_>>(),
                "{named:?}"
            );
        };
        check(&[at("cargo"), at("cargo/registry"), at("link")], &["cargo"]);
        check(&[at("go/pkg"), at("cargo/./registry/")], &["cargo/registry", "go/pkg"]);
        for name in [
            "",
            "go",
            "go/src/work",
            "go/src/work/link",
            "go/src",
            "home",
            "home/.ssh",
            "home/tools",
            "none",
            "state",
            "keys",
            "config",
            "cargo/credentials.toml",
            "cargo/../go/pkg",
        ] {
            check(&[at(name)], &[]);
        }
        for path in [
            "/",
            "/etc",
            "/etc/ssl",
            "/usr",
            "/usr/local",
            "/usr/local/bin",
            "/usr/bin",
            "/usr/lib",
            "/opt",
            "/var",
            "/var/lib",
            "/srv",
            "/home",
            "/root",
            "/tmp",
            "/dev",
            "/proc/self",
            "/sys",
            "/run",
            "relative",
            "",
        ] {
            check(&[path.into()], &[]);
        }
    }
}
