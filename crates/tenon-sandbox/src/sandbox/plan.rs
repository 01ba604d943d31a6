//! Decides what a command's file tree looks like and what it may touch, from what is on this
//! machine. Looks at names, links and owners; changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::closed::Closed;
use super::git_settings::git_settings;
use super::homes::{Homes, home_folder, real_home};
use super::pins::Pins;
use super::repositories::{foreign_in, parts_of};
use super::secrets::{OfSystem, Secrets};
use super::sockets::Covered;
use super::stamp::{Names, Stamp};
use super::toolchains::{self, TOOLCHAINS};
use super::unkept::{PrivateFolder, private_folders};
use super::virtual_environment::virtual_environment;
use super::{Settings, homes, linked, secrets, sockets, ways, worktrees};
use crate::file_system::{Identity, identity_of_folder};
use crate::linux::layout::{Instead, Layout, Part, Step};
use crate::linux::openat::open_plain;
use crate::linux::request::{Inside, Owner, Walls};
use crate::missing::{Missing, SandboxError};
use crate::mounts::Mounts;
use crate::profile::{Network, Profile};
use crate::tier::Tier;
use crate::workspace::{canonical, canonical_or_lexical, names_beneath};

/// Where other people's files, mail and other disks are, in a virtual machine also those of the machine around it:
/// homes and disks of macOS, the first disk of Windows.
pub(super) const COVERED: [&str; 9] = [
    "/home",
    "/root",
    "/Users",
    "/mnt",
    "/media",
    "/Volumes",
    "/c",
    "/var/mail",
    "/var/spool/mail",
];

/// Private for the session, with their modes.
pub(super) const PRIVATE: [(&str, u32); 3] =
    [("/tmp", 0o1777), ("/var/tmp", 0o1777), ("/run", 0o755)];

/// What of /run programs are found through on some systems.
const RUN_KEPT: [&str; 2] = ["/run/current-system", "/run/opengl-driver"];

/// What of /dev is read where it is the machine's.
const DEVICES: [&str; 3] = ["/dev/random", "/dev/urandom", "/dev/tty"];

/// Everything about one kind of call that does not change while the session lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) layout: Layout,
    /// Those that the layout has listed.
    pub(super) private: Vec<PrivateFolder>,
    /// Folders of toolchains outside of HOME that a layer is in front of where folders can be stacked.
    pub(super) layers: Vec<PathBuf>,
    /// The session's, where their names lead.
    own_roots: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
    /// What commands see of linked worktrees elsewhere.
    worktrees: Vec<PathBuf>,
    /// What was closed when it was planned.
    closed: BTreeSet<PathBuf>,
    /// Files that commands would have been given something else for, where that cannot be.
    concealed: Vec<PathBuf>,
    scratch: Vec<PathBuf>,
    /// HOME of commands where it is not at the place of the user's.
    pub(super) home_elsewhere: Option<PathBuf>,
    /// Folders in the roots that cannot be renamed.
    pub(super) pins: Pins,
    /// The folders that are mounted writable, and those that cannot be renamed, as they were found.
    roots: Vec<(PathBuf, Option<Identity>)>,
}

impl Plan {
    pub(super) fn scratch(&self) -> &[PathBuf] {
        &self.scratch
    }

    /// Whether the folders that are mounted are still the ones that are found by their names, what is closed is
    /// where it was, and no linked worktree came elsewhere or went.
    pub(super) fn is_current(&self) -> bool {
        self.roots.iter().all(|(path, identity)| identity_of_folder(path) == *identity)
            && self.pins.are_current()
            && worktrees::pointers_outside(&self.own_roots, &self.repositories) == self.worktrees
    }

    /// Returns the folders beneath the session's own that are read-only to commands: toolchains.
    pub(super) fn held(&self) -> Vec<PathBuf> {
        let is_in_root = |path: &Path| self.own_roots.iter().any(|root| path.starts_with(root));
        let steps = self.layout.steps.iter();
        let held = steps.filter(|step| step.part.is_only_read() && is_in_root(&step.path));
        held.map(|step| step.path.clone()).collect()
    }

    /// Returns the names that are read-only for a call that may write the roots.
    pub(super) fn frozen(
        &self,
        settings: &Settings,
        secrets: &Secrets,
        profile: &Profile,
    ) -> Vec<PathBuf> {
        let of_roots = self.own_roots.iter().flat_map(|root| {
            let names = names_beneath(root).chain([".git/hooks", ".git/info"]);
            // Folders alone count.
            let names = names.filter(|name| Path::new(name).extension().is_none());
            let paths = names.map(|name| root.join(name));
            paths.filter(|path| !profile.lifts(path)).collect::<Vec<_>>()
        });
        let of_repositories = self.repositories.iter();
        let of_repositories =
            of_repositories.flat_map(|path| ["hooks", "info"].map(|name| path.join(name)));
        // Where tenon's own is hidden, something else is in its place for the call.
        let own = settings.own.iter().map(|path| canonical_or_lexical(path));
        let own = own.filter(|path| secrets.in_sight.contains(path));
        of_roots.chain(of_repositories).chain(own).collect()
    }

    /// Looks for the rest of what no call sees.
    pub(super) fn secrets(&self, of_system: OfSystem, mounts: &Mounts) -> Secrets {
        let known = self.closed.iter().chain(&self.concealed).cloned().collect();
        Secrets::find(of_system, &known, &self.layout.steps, mounts)
    }

    /// Returns what of it stays closed, whatever is planned later.
    pub(super) fn lasting(&self) -> impl Iterator<Item = &PathBuf> {
        let is_in_root = |path: &&PathBuf| self.own_roots.iter().any(|root| path.starts_with(root));
        self.closed.iter().chain(self.concealed.iter().filter(is_in_root))
    }
}

/// Plans what tier A needs for calls with this profile, where some places were closed before.
pub(super) fn plan(
    settings: &Settings,
    profile: &Profile,
    repositories: &[PathBuf],
    closed: &Closed,
    mounts: &Mounts,
) -> Result<Plan, SandboxError> {
    // Tier B is held as well as tier A.
    settings.check_state(Tier::A, mounts)?;
    let own_roots = in_place(&settings.roots);
    let writable = in_place(&profile.writable);
    let roots = in_order(own_roots.iter().chain(&writable).chain(repositories));
    if roots.iter().any(|root| root == Path::new("/")) {
        return Err(SandboxError::new(Tier::A, Missing::WholeFileSystem));
    }
    let Homes { real, home, elsewhere } = Homes::new(settings, &roots);
    let place = home.as_ref().or(elsewhere.as_ref()).cloned();
    let mut parts = covers();
    let private = private_parts();
    parts.extend(private.clone());
    put_homes(settings, home.as_deref(), mounts, &mut parts);
    let mut scratch: Vec<PathBuf> = private.into_iter().map(|(path, _)| path).collect();
    scratch.extend(place.clone());
    parts.extend(place.clone().map(|place| (place, Part::Private { mode: 0o700 })));
    put_state(settings, mounts, &mut parts);
    keep(kept_paths(settings, profile, home.as_deref()), &mut parts);
    let worktrees = put_worktrees(&own_roots, repositories, &mut parts);
    put_foreign(repositories, &mut parts);
    let within = show(settings, real.as_deref().zip(place.as_deref()), &mut parts);
    // A file that is given in HOME must not be written through to a root that is HOME.
    parts.retain(|path, part| {
        !matches!(part, Part::File { .. }) || !roots.iter().any(|root| path.starts_with(root))
    });
    let closed = closed.with(linked::closed(settings, real.as_deref()));
    let pins = put_roots((settings, &closed), real.as_deref(), &roots, mounts, &mut parts);
    ways::put_links(settings, &mut parts);
    scratch.retain(|path| !roots.contains(path));
    scratch.extend(["/dev/shm", "/dev/pts", "/dev/tty"].map(PathBuf::from));
    let (of_home, layers) = layers(settings, &parts, &roots, real.as_deref(), mounts);
    scratch.extend_from_slice(&layers);
    let layered = [of_home, layers.clone()].concat();
    let steps: Vec<_> = parts.into_iter().map(|(path, part)| Step { path, part }).collect();
    let (instead, concealed) = stacked(within, &layered);
    let private = private_folders(&steps, place.as_deref());
    Ok(Plan {
        layout: Layout {
            steps,
            layered,
            instead,
            owner: owner(settings),
            temporary_bytes_max: settings.limits.temporary_bytes_max,
            processes_max: settings.limits.processes_max,
            own_network: profile.network != Network::On,
            listen: profile.network == Network::Proxied,
            writable: in_order(roots.iter().chain(&scratch)),
            listed: private.iter().map(|folder| folder.path.clone()).collect(),
        },
        private,
        layers,
        own_roots,
        repositories: repositories.to_vec(),
        worktrees,
        closed,
        concealed,
        scratch,
        roots: roots.into_iter().chain(pins.planned.iter().cloned()).map(with_identity).collect(),
        home_elsewhere: elsewhere,
        pins,
    })
}

/// Returns the private folders of every session.
fn private_parts() -> Vec<(PathBuf, Part)> {
    let there = PRIVATE.iter().flat_map(|(path, mode)| {
        canonical([Path::new(path)]).into_iter().map(|path| (path, Part::Private { mode: *mode }))
    });
    there.collect()
}

/// Puts what a call sees where something empty would be.
fn keep(kept: Vec<(PathBuf, PathBuf)>, parts: &mut BTreeMap<PathBuf, Part>) {
    let covered: Vec<PathBuf> = parts.keys().cloned().collect();
    for (path, source) in kept {
        if covered.iter().any(|covered| path.starts_with(covered) && path != *covered) {
            parts.insert(path, Part::Kept { source, writable: false });
        }
    }
}

/// Closes the homes of others.
fn put_homes(
    settings: &Settings,
    home: Option<&Path>,
    mounts: &Mounts,
    parts: &mut BTreeMap<PathBuf, Part>,
) {
    let known: Vec<PathBuf> = parts.keys().cloned().collect();
    let others = homes::closed(settings, home, &known, mounts);
    parts.extend(others.into_iter().map(|path| (path, Part::Cover)));
}

/// Closes tenon's state where commands would see it.
fn put_state(settings: &Settings, mounts: &Mounts, parts: &mut BTreeMap<PathBuf, Part>) {
    let mut states = settings.state_folders(mounts);
    let is_seen = |path: &Path| !path.ancestors().any(|above| parts.contains_key(above));
    states.retain(|state| settings.is_in_root(state) || is_seen(state));
    parts.extend(states.into_iter().map(|state| (state, Part::Cover)));
}

/// Makes read-only what lies in repositories and is none of git's.
fn put_foreign(repositories: &[PathBuf], parts: &mut BTreeMap<PathBuf, Part>) {
    for path in repositories.iter().flat_map(|repository| foreign_in(repository)) {
        let source = path.clone();
        parts.entry(path).or_insert(Part::Kept { source, writable: false });
    }
}

/// Shows where linked worktrees are, in what commands would find empty, and returns their files `.git`.
fn put_worktrees(
    roots: &[PathBuf],
    repositories: &[PathBuf],
    parts: &mut BTreeMap<PathBuf, Part>,
) -> Vec<PathBuf> {
    let pointers = worktrees::pointers_outside(roots, repositories);
    let hidden = worktrees::hidden(&pointers, parts);
    keep(hidden.into_iter().map(|path| (path.clone(), path)).collect(), parts);
    pointers
}

fn covers() -> BTreeMap<PathBuf, Part> {
    let covered = canonical(COVERED.iter().map(Path::new));
    covered.into_iter().map(|path| (path, Part::Cover)).collect()
}

/// Puts the roots where they are, and returns what in them cannot be renamed.
fn put_roots(
    (settings, secret): (&Settings, &BTreeSet<PathBuf>),
    home: Option<&Path>,
    roots: &[PathBuf],
    mounts: &Mounts,
    parts: &mut BTreeMap<PathBuf, Part>,
) -> Pins {
    let kept = |path: &PathBuf| {
        let source = path.clone();
        (path.clone(), Part::Kept { source, writable: true })
    };
    parts.extend(roots.iter().map(kept));
    let only_read = parts.iter().filter(|(_, part)| part.is_only_read());
    let mut closed: Vec<PathBuf> = secret.iter().cloned().collect();
    secrets::add_other_names(&mut closed, mounts);
    closed.extend(only_read.map(|(path, _)| path.clone()));
    closed.extend(settings.state_folders(mounts));
    // What is only read, or a part of its own, stays where it is.
    let is_writable = |path: &Path| {
        let nearest = path.ancestors().find_map(|above| parts.get_key_value(above));
        nearest.is_some_and(|(above, part)| {
            above != path && matches!(part, Part::Kept { writable: true, .. })
        })
    };
    let pins = Pins::new(&closed, secrets::names(settings, home), roots, is_writable);
    parts.extend(pins.planned.iter().map(kept));
    pins
}

/// Puts what commands see instead of files in HOME, the user's first, into theirs, and returns what is
/// within something that is shown.
fn show(
    settings: &Settings,
    homes: Option<(&Path, &Path)>,
    parts: &mut BTreeMap<PathBuf, Part>,
) -> Vec<Instead> {
    let (Some((real, place)), Some(named)) = (homes, &settings.home) else { return Vec::new() };
    for (name, bytes) in git_settings(real, &settings.roots) {
        parts.insert(place.join(name), Part::File { bytes });
    }
    let mut within = Vec::new();
    for (path, bytes) in &settings.shown {
        let Ok(name) = path.strip_prefix(named) else { continue };
        let (path, bytes) = (place.join(name), bytes.clone());
        if place != real {
            within.push(Instead { path: real.join(name), bytes: bytes.clone() });
        }
        let mut above = parts.iter().filter(|(above, _)| path.starts_with(above));
        if above.any(|(_, part)| matches!(part, Part::Kept { .. })) {
            within.push(Instead { path, bytes });
        } else {
            parts.insert(path, Part::File { bytes });
        }
    }
    within
}

/// Returns what a private folder in front of a toolchain has instead, and what must be hidden.
fn stacked(files: Vec<Instead>, layered: &[PathBuf]) -> (Vec<Instead>, Vec<PathBuf>) {
    // What a link leads to has another name besides.
    let (stacked, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| {
        layered.iter().any(|layer| file.path.starts_with(layer))
            && canonical_or_lexical(&file.path) == file.path
    });
    (stacked, others.iter().map(|file| canonical_or_lexical(&file.path)).collect())
}

/// Returns where private folders are put in front of toolchains: of those in HOME, and of those that variables name.
fn layers(
    settings: &Settings,
    parts: &BTreeMap<PathBuf, Part>,
    roots: &[PathBuf],
    home: Option<&Path>,
    mounts: &Mounts,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let of_home = layered(parts, roots, home);
    let mut named = toolchains::named_ones(settings, home, parts);
    named.retain(|path| !of_home.iter().any(|known| path.starts_with(known)));
    let places: Vec<&Path> = mounts.places().collect();
    let around = |folders| toolchains::around_mounts(folders, &places);
    (around(of_home), around(named))
}

/// Returns the toolchains that a private folder is put in front of: those that nothing else is put
/// in, and not where what is written is to stay.
fn layered(
    parts: &BTreeMap<PathBuf, Part>,
    roots: &[PathBuf],
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let is_kept = |path: &PathBuf| matches!(parts.get(path), Some(Part::Kept { source, writable: false }) if source.is_dir());
    let is_whole = |path: &PathBuf| {
        !parts.keys().any(|other| other != path && other.starts_with(path))
            && !roots.iter().any(|root| path.starts_with(root))
    };
    let toolchains = home.into_iter().flat_map(|home| TOOLCHAINS.map(|name| home.join(name)));
    toolchains.filter(|path| is_kept(path) && is_whole(path)).collect()
}

/// What a call sees that lies where something private is put: the path, and where it comes from.
fn kept_paths(
    settings: &Settings,
    profile: &Profile,
    home: Option<&Path>,
) -> Vec<(PathBuf, PathBuf)> {
    let mut kept: Vec<PathBuf> = RUN_KEPT.iter().map(PathBuf::from).collect();
    kept.extend(settings.readable.iter().chain(&profile.readable).cloned());
    if profile.network == Network::On
        && let Ok(resolver) = Path::new("/etc/resolv.conf").canonicalize()
    {
        kept.push(resolver);
    }
    let with_source = |path: PathBuf| {
        let source = canonical([&path]).pop()?;
        Some((path, source))
    };
    let toolchains = home.map(|home| toolchains::of_home(settings, home)).unwrap_or_default();
    let found = toolchains.into_iter().chain(kept.into_iter().filter_map(with_source));
    // The last name may be a link into another place; the folders above may not.
    let in_place = |(path, source): (PathBuf, PathBuf)| {
        let above = path.parent()?.canonicalize().ok()?;
        Some((above.join(path.file_name()?), source))
    };
    let mut kept: Vec<(PathBuf, PathBuf)> = found.filter_map(in_place).collect();
    let environment = home.map(|home| virtual_environment(settings, home)).unwrap_or_default();
    // What is shown as a whole has nothing put into it.
    let is_shown = |path: &Path| kept.iter().any(|(shown, _)| path.starts_with(shown));
    let more: Vec<_> = environment.into_iter().filter(|(path, _)| !is_shown(path)).collect();
    kept.extend(more);
    kept
}

/// Returns the walls of one call in tier A.
pub(super) fn walls_inside(
    (plan, secrets): (&Plan, &Secrets),
    covered: &mut Covered,
    settings: &Settings,
    profile: &Profile,
    folder: &Path,
) -> Walls {
    let roots = plan.own_roots.clone();
    let writes_roots = profile.writable == settings.roots;
    let allowed = if writes_roots { roots.clone() } else { in_place(&profile.writable) };
    let may_write = |root: &PathBuf| allowed.iter().any(|allowed| root.starts_with(allowed));
    // A worktree's repository is written when the worktree is.
    let repositories = if allowed.is_empty() { &[][..] } else { &plan.repositories[..] };
    let mut writable = allowed.clone();
    writable.extend_from_slice(repositories);
    writable.extend_from_slice(&plan.scratch);
    let mut read_only: Vec<PathBuf> =
        roots.iter().filter(|root| !may_write(root)).cloned().collect();
    if allowed.is_empty() {
        read_only.extend_from_slice(&plan.repositories);
    }
    let mut hidden = secrets.in_sight.clone();
    // With the whole network a person opened these too.
    if profile.network != Network::On {
        let steps = plan.layout.steps.iter();
        let kept = steps.filter(|step| matches!(step.part, Part::Kept { .. }));
        let kept = kept.map(|step| step.path.as_path());
        let kept: Vec<&Path> = kept.chain(plan.layers.iter().map(PathBuf::as_path)).collect();
        hidden.extend(covered.with(sockets::with_path(&plan.scratch, &kept)));
    }
    let mut inner_roots = roots;
    inner_roots.extend(allowed);
    inner_roots.sort();
    inner_roots.dedup();
    inner_roots.retain(|root| root.is_dir());
    Walls {
        readable: vec![PathBuf::from("/")],
        has_rules: in_order(&writable) == plan.layout.writable,
        writable,
        internet: true,
        only_reads: profile.writable.is_empty(),
        inside: Some(Inside {
            is_enclosed: false,
            folder: folder.to_path_buf(),
            owner: plan.layout.owner,
            roots: inner_roots,
            repositories: plan.repositories.clone(),
            pinned: plan.pins.later().cloned().collect(),
            read_only,
            lifted: profile.lifted.clone(),
            hidden,
            mounted: Vec::new(),
        }),
    }
}

/// Returns the walls of calls in tier C, where nothing can be put on top of anything: what must not
/// be read is left out of what may be. Also returns what that depends on.
pub(super) fn walls_alone(
    settings: &Settings,
    profile: &Profile,
    repositories: &[PathBuf],
    scratch: Option<&Path>,
    closed: &Closed,
    mounts: &Mounts,
) -> (Walls, Vec<(PathBuf, Option<Stamp>)>) {
    let home = settings.home.as_deref().and_then(home_folder);
    let mut left_out: Vec<PathBuf> = COVERED.iter().map(PathBuf::from).collect();
    left_out.extend(PRIVATE.iter().map(|(path, _)| PathBuf::from(path)));
    left_out.push(PathBuf::from("/dev"));
    left_out.extend(homes::closed(settings, home.as_deref(), &canonical(&left_out), mounts));
    left_out.extend(home.clone());
    let closed = closed.with(closed_alone(settings));
    let secret = Secrets::find(OfSystem::find(&settings.roots), &closed, &[], mounts).all;
    left_out.extend_from_slice(&secret);
    left_out.extend(settings.state_folders(mounts));
    let mut listing = Listing::default();
    listing.add_without(Path::new("/"), &canonical(&left_out));
    for (_, source) in kept_paths(settings, profile, home.as_deref()) {
        listing.look_at(&source);
        listing.add_without(&source, &secret);
    }
    let Listing { mut readable, mut looked_at } = listing;
    readable.extend(DEVICES.map(PathBuf::from));
    readable.extend(in_place(&settings.roots));
    let only_reads = profile.writable.is_empty();
    let mut writable = in_place(&profile.writable);
    if !writable.is_empty() {
        for (written, read) in repositories.iter().map(|repository| parts_of(repository)) {
            writable.extend(written);
            readable.extend(read);
        }
    }
    writable.extend(scratch.map(Path::to_path_buf));
    let tops = settings.roots.iter().chain(&writable);
    looked_at.extend(tops.map(|path| (path.clone(), Stamp::of(path, Names::Any))));
    let internet = profile.network == Network::On;
    (Walls { readable, writable, has_rules: false, internet, only_reads, inside: None }, looked_at)
}

/// Returns what is closed to calls in tier C now, besides what is root's.
pub(super) fn closed_alone(settings: &Settings) -> Vec<PathBuf> {
    let home = settings.home.as_deref().and_then(real_home);
    let shown = settings.shown.iter().map(|(path, _)| canonical_or_lexical(path));
    linked::closed(settings, home.as_deref()).into_iter().chain(shown).collect()
}

/// Names that may be read, and what was looked at to find them.
#[derive(Default)]
struct Listing {
    readable: Vec<PathBuf>,
    looked_at: Vec<(PathBuf, Option<Stamp>)>,
}

impl Listing {
    fn look_at(&mut self, path: &Path) {
        self.looked_at.push((path.to_path_buf(), Stamp::of(path, Names::Any)));
    }

    /// Adds `path` to what is readable, or the part of it that `left_out` is not in.
    fn add_without(&mut self, path: &Path, left_out: &[PathBuf]) {
        if left_out.iter().any(|out| path.starts_with(out)) {
            return;
        }
        if !left_out.iter().any(|out| out.starts_with(path)) {
            self.readable.push(path.to_path_buf());
            return;
        }
        // Before it is read: what changes meanwhile is seen by the next call.
        self.looked_at.push((path.to_path_buf(), Stamp::of(path, Names::Same)));
        #[expect(clippy::disallowed_methods, reason = "names of the system's folders")]
        let entries = std::fs::read_dir(path);
        for entry in entries.into_iter().flatten().flatten() {
            // A link's own place is not what is read; what it leads to has its own entry.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.add_without(&entry.path(), left_out);
            }
        }
    }
}

/// Returns those paths that lead to a folder without a link. They had none when the session began: a
/// root that lies in another one may have got one by a command, which nobody follows.
fn in_place(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().filter(|path| open_plain(path).is_ok()).cloned().collect()
}

fn with_identity(path: PathBuf) -> (PathBuf, Option<Identity>) {
    let identity = identity_of_folder(&path);
    (path, identity)
}

/// Root writes a workspace of somebody else's as that user.
fn owner(settings: &Settings) -> Owner {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let own = Owner { user: user.as_raw(), group: group.as_raw() };
    if !user.is_root() {
        return own;
    }
    let first = settings.roots.first().and_then(|root| std::fs::symlink_metadata(root).ok());
    first.map_or(own, |root| Owner { user: root.uid(), group: root.gid() })
}

fn in_order<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let paths: BTreeSet<&PathBuf> = paths.into_iter().collect();
    paths.into_iter().cloned().collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the folders that are looked at")]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_not_readable_and_its_neighbours_are() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for name in ["a/secret", "a/open", "b"] {
            std::fs::create_dir_all(top.join(name)).unwrap();
        }
        let mut listing = Listing::default();
        listing.add_without(&top, &[top.join("a/secret")]);
        listing.readable.sort();
        assert_eq!(listing.readable, [top.join("a/open"), top.join("b")]);
        let is_current = |listing: &Listing| {
            listing.looked_at.iter().all(|(path, stamp)| stamp.is_some_and(|it| it.holds(path)))
        };
        std::fs::write(top.join("a/open/file"), "").unwrap();
        assert!(is_current(&listing), "nobody listed that folder");
        std::fs::write(top.join("a/file"), "").unwrap();
        assert!(!is_current(&listing));
    }
}
