//! What the walls let a command do, in words for people and for the model.

use std::path::{Component, Path, PathBuf};

use super::closed::Closed;
use super::own_folders::OwnFolders;
use super::plan::{COVERED, PRIVATE, Plan, plan, walls_alone, walls_inside};
use super::repositories::repositories;
use super::secrets::OfSystem;
use super::sockets::Covered;
use super::toolchains::{self, TOOLCHAINS};
use super::{Sandbox, Settings, Shared, secrets};
use crate::helper::bubblewrap;
use crate::linux::bubblewrap::above;
use crate::linux::layout::{Part, Step};
use crate::linux::probe::probe;
use crate::missing::SandboxError;
use crate::mounts::Mounts;
use crate::profile::{Limits, Network, Profile};
use crate::tier::{Tier, Wanted};
use crate::workspace::canonical_or_lexical;

/// What a command can do, for `tenon doctor` and for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// How strong the walls are.
    pub tier: Tier,
    /// Why they are not stronger: each stronger tier that was tried, the strongest first.
    pub missing: Vec<SandboxError>,
    /// What may be read: `/` less what is hidden, or a list in tier C.
    pub readable: Vec<PathBuf>,
    /// What may be written and stays.
    pub writable: Vec<PathBuf>,
    /// What may only be read within it: toolchains.
    pub held: Vec<PathBuf>,
    /// What may be written and is thrown away.
    pub scratch: Vec<PathBuf>,
    /// The same of folders that are new for each session and that variables of commands name, where
    /// nothing can be put in the place of others: HOME and TMPDIR. Known from the first command on.
    pub named_scratch: Vec<(&'static str, PathBuf)>,
    /// Folders within what may be read that are empty for a command, but for what may be written and
    /// for `kept`: those of other people and disks, and those that are private.
    pub emptied: Vec<PathBuf>,
    /// What may be read within the folders that are empty otherwise.
    pub kept: Vec<PathBuf>,
    /// Files that a command gets something else for, where it finds that: settings of the user's without
    /// programs and secrets.
    pub copied: Vec<PathBuf>,
    /// What may be read by the list above and is not there for a command.
    pub hidden: Vec<PathBuf>,
    /// What may be reached.
    pub network: Network,
    /// Whether a server and a client on loopback in one command can talk.
    pub loopback: bool,
    /// What one command may use.
    pub limits: Limits,
}

/// What is in /dev in the tiers with a file tree of their own, in one of them at least.
const DEVICES: [&str; 15] = [
    "null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "stdin",
    "stdout", "stderr", "console", "core",
];

/// Settings in the user's home of which commands get what is no secret, where they are there.
const GIVEN: [&str; 8] = [
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".npmrc",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".cargo/config",
    ".cargo/config.toml",
];

/// Why what the machine has somewhere looks to a command as if it were not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutOfSight {
    /// It lies in this folder, of other people or disks, which is empty but for what is opened.
    Covered(PathBuf),
    /// It lies in the user's home, of which there are toolchains and what is opened.
    Home,
    /// It lies in this folder, in whose place the session has one of its own.
    Private(PathBuf),
    /// It is, or lies in, this secret of the user's or the system's, which no folder shows that is opened.
    Secret(PathBuf),
    /// It is, or lies in, this one of [`Settings::hidden`].
    Hidden(PathBuf),
    /// It lies in /dev, of which there are the usual devices.
    Device,
}

impl Sandbox {
    /// Returns why a command with `profile` does not see what the machine has at `path`, by where that
    /// lies and whatever is there. `None` where it does see it, and before the first command. In tier C it
    /// may also be refused.
    ///
    /// ```
    /// # use std::path::Path;
    /// # use tenon_sandbox::{OutOfSight, Profile, Sandbox};
    /// fn explain(sandbox: &Sandbox, profile: &Profile) -> Option<String> {
    ///     match sandbox.out_of_sight(profile, Path::new("/mnt/disk/data.csv"))? {
    ///         OutOfSight::Covered(folder) => Some(format!("{} is covered", folder.display())),
    ///         _ => None,
    ///     }
    /// }
    /// # let sandbox = Sandbox::new(tenon_sandbox::Settings {
    /// #     roots: Vec::new(),
    /// #     home: None,
    /// #     covered: Vec::new(),
    /// #     readable: Vec::new(),
    /// #     ways: Vec::new(),
    /// #     toolchains: Vec::new(),
    /// #     virtual_environment: None,
    /// #     hidden: Vec::new(),
    /// #     own: Vec::new(),
    /// #     state: None,
    /// #     shown: Vec::new(),
    /// #     wanted: tenon_sandbox::Wanted::Best,
    /// #     limits: tenon_sandbox::Limits::default(),
    /// #     guarded_folders_max: 0,
    /// # });
    /// assert_eq!(explain(&sandbox, &Profile::unconfined()), None);
    /// ```
    #[must_use]
    pub fn out_of_sight(&self, profile: &Profile, path: &Path) -> Option<OutOfSight> {
        let shared = &self.shared;
        let key = shared.plan_key(profile);
        let state = shared.lock();
        if state.tier == Some(Tier::C) {
            let repositories = state.repositories.clone().unwrap_or_default();
            let path = of_user(state.folders.as_ref(), path)?;
            let closed = state.closed.clone();
            drop(state);
            return out_of_sight_alone(&shared.settings, profile, &repositories, &closed, &path);
        }
        let planned = state.plans.iter().find(|planned| planned.key == key)?;
        out_of_sight(&shared.settings, &planned.plan.layout.steps, &planned.secrets.all, path)
    }

    /// Returns whether a path lies in a toolchain of the user's home, or in one that a variable names, and is no
    /// secret there, by its name.
    /// The home that commands have in tier C counts as the user's.
    ///
    /// ```
    /// # use std::path::Path;
    /// # use tenon_sandbox::Sandbox;
    /// fn is_shared(sandbox: &Sandbox) -> bool {
    ///     sandbox.is_in_toolchain(Path::new("/home/ada/.cargo/registry"))
    /// }
    /// ```
    #[must_use]
    pub fn is_in_toolchain(&self, path: &Path) -> bool {
        let Some(home) = &self.shared.settings.home else { return false };
        let (home, path) = (canonical_or_lexical(home), self.of_machine(path));
        let named = toolchains::of_variables(&self.shared.settings, Some(&home));
        let of_home = TOOLCHAINS.iter().map(|name| home.join(name));
        of_home.chain(named).any(|folder| path.starts_with(folder))
            && !secrets::of_home(&home).any(|secret| path.starts_with(secret))
            && hidden_at(&self.shared.settings, &[&path]).is_none()
    }

    /// Returns the folder of the toolchain of the user's home in which a path lies that a folder of the session is
    /// around, unless the path is a secret there, by its name. In tiers A and B commands do not write it; in tier C they
    /// do, and it counts as none.
    ///
    /// ```
    /// # use std::path::{Path, PathBuf};
    /// # use tenon_sandbox::Sandbox;
    /// fn read_only(sandbox: &Sandbox) -> Option<PathBuf> {
    ///     sandbox.toolchain_in_root(Path::new("/home/ada/.cargo/registry"))
    /// }
    /// ```
    #[must_use]
    pub fn toolchain_in_root(&self, path: &Path) -> Option<PathBuf> {
        let settings = &self.shared.settings;
        let (home, named) = (canonical_or_lexical(settings.home.as_ref()?), self.of_machine(path));
        let roots = settings.roots.iter().filter(|root| named.starts_with(root));
        // What lies in the inner one of two can be written.
        let root = roots.max_by_key(|root| root.as_os_str().len())?;
        let mut folders = TOOLCHAINS.iter().map(|name| home.join(name));
        let folder =
            folders.find(|it| named.starts_with(it) && it.starts_with(root) && it != root)?;
        let is_held = self.known_tier() != Some(Tier::C) && self.is_in_toolchain(path);
        is_held.then_some(folder)
    }

    /// Returns whether a folder of the session's stays at its name for a command with `profile`, since a toolchain or
    /// what no command may read lies, or would lie, beneath it. In tier C none does.
    ///
    /// ```
    /// # use std::path::Path;
    /// # use tenon_sandbox::{Profile, Sandbox};
    /// fn stays(sandbox: &Sandbox, profile: &Profile) -> bool {
    ///     sandbox.is_pinned(profile, Path::new("/home/ada/.local"))
    /// }
    /// ```
    #[must_use]
    pub fn is_pinned(&self, profile: &Profile, path: &Path) -> bool {
        let (key, path) = (self.shared.plan_key(profile), self.of_machine(path));
        let state = self.shared.lock();
        let mut plans = state.plans.iter().filter(|planned| planned.key == key);
        state.tier != Some(Tier::C) && plans.any(|planned| planned.plan.pins.hold(&path))
    }

    /// Returns whether commands in tier C do not list a folder of the user's home since a secret lies in it, or
    /// would lie there; what is beside that they read. The home that they have counts as the user's.
    ///
    /// ```
    /// # use std::path::Path;
    /// # use tenon_sandbox::Sandbox;
    /// fn is_read_by_name_alone(sandbox: &Sandbox) -> bool {
    ///     sandbox.is_unlisted(Path::new("/home/ada/.cargo"))
    /// }
    /// ```
    #[must_use]
    pub fn is_unlisted(&self, path: &Path) -> bool {
        let Some(home) = &self.shared.settings.home else { return false };
        let (home, path) = (canonical_or_lexical(home), self.of_machine(path));
        let hidden = self.shared.settings.hidden.iter().cloned();
        self.known_tier() == Some(Tier::C)
            && secrets::of_home(&home)
                .chain(hidden)
                .any(|secret| secret != path && secret.starts_with(&path))
    }

    /// Returns whether commands with `profile` read something in a folder by its name and do not list it, since something
    /// else in it is closed to them: so it is in tier C alone.
    ///
    /// ```
    /// # use std::path::Path;
    /// # use tenon_sandbox::{Profile, Sandbox};
    /// fn is_listed(sandbox: &Sandbox, profile: &Profile) -> bool {
    ///     !sandbox.is_open_in_part(profile, Path::new("/var"))
    /// }
    /// ```
    #[must_use]
    pub fn is_open_in_part(&self, profile: &Profile, path: &Path) -> bool {
        let path = canonical_or_lexical(&self.of_machine(path));
        let state = self.shared.lock();
        if state.tier != Some(Tier::C) {
            return false;
        }
        let (settings, mounts) = (&self.shared.settings, Mounts::of_this_process());
        let repositories = state.repositories.clone().unwrap_or_default();
        let closed = state.closed.clone();
        drop(state);
        let (walls, _) = walls_alone(settings, profile, &repositories, None, &closed, &mounts);
        let open = walls.readable.iter().chain(&walls.writable);
        let (above, beneath): (Vec<_>, Vec<_>) = open.partition(|open| path.starts_with(open));
        above.is_empty() && beneath.iter().any(|open| open.starts_with(&path))
    }

    /// Returns what a path of commands is on the machine.
    fn of_machine(&self, path: &Path) -> PathBuf {
        let named = without_dots(path);
        let of_user = self.shared.lock().folders.as_ref().and_then(|own| own.of_user(&named));
        of_user.unwrap_or_else(|| in_place(&named, &self.shared.settings))
    }

    /// Returns what a command with `profile` can do, in the tier that was decided, or in the one
    /// that the kernel's answers promise.
    #[must_use]
    pub fn describe(&self, profile: &Profile) -> Description {
        let shared = &self.shared;
        let state = shared.lock();
        let tier = state.tier.unwrap_or_else(|| shared.expected_tier());
        let repositories =
            state.repositories.clone().unwrap_or_else(|| repositories(&shared.settings));
        let (settings, mounts) = (&shared.settings, Mounts::of_this_process());
        let plan = plan(settings, profile, &repositories, &state.closed, &mounts).ok();
        let secrets = |plan: &Plan| plan.secrets(OfSystem::find(&settings.roots), &mounts);
        let inside = plan.map(|plan| (secrets(&plan), plan));
        let has_namespaces = matches!(tier, Tier::A | Tier::B);
        let (walls, scratch) = match &inside {
            Some((secrets, plan)) if has_namespaces => {
                let mut walls = walls_inside(
                    (plan, secrets),
                    &mut Covered::default(),
                    settings,
                    profile,
                    Path::new("/"),
                );
                walls.writable.retain(|path| !plan.scratch().contains(path));
                let layers = if tier == Tier::A { &[][..] } else { &plan.layers };
                let scratch = plan.scratch().iter().filter(|path| !layers.contains(path));
                (walls, scratch.cloned().collect())
            }
            _ => {
                let closed = &state.closed;
                let alone = walls_alone(settings, profile, &repositories, None, closed, &mounts);
                (alone.0, Vec::new())
            }
        };
        let (emptied, kept) = match &inside {
            Some((_, plan)) if has_namespaces => within_readable(plan),
            _ => Default::default(),
        };
        let is_held = |path: &PathBuf| walls.writable.iter().any(|root| path.starts_with(root));
        let (held, kept): (Vec<_>, Vec<_>) = kept.into_iter().partition(is_held);
        let copies = inside.as_ref().map(|(_, plan)| copies(plan)).unwrap_or_default();
        let own = state.folders.as_ref().filter(|_| tier == Tier::C);
        let place =
            |path: &PathBuf| own.and_then(|own| own.in_own(path)).unwrap_or_else(|| path.clone());
        Description {
            tier,
            missing: state.missing.clone(),
            readable: walls.readable,
            // In the place of a secret there may be a file with what of it is none.
            hidden: inside
                .iter()
                .flat_map(|(secrets, _)| &secrets.all)
                .filter(|path| {
                    !kept.contains(path) && !held.contains(path) && !copies.contains(path)
                })
                .filter(|path| std::fs::symlink_metadata(path).is_ok())
                .cloned()
                .collect(),
            writable: walls.writable,
            held,
            scratch,
            named_scratch: state.folders.as_ref().map(OwnFolders::named).unwrap_or_default(),
            emptied,
            kept,
            copied: copies.iter().map(place).collect(),
            network: profile.network,
            loopback: has_namespaces || profile.network == Network::On,
            limits: shared.settings.limits,
        }
    }
}

/// Returns the folders that are empty for a command, and what of them is there all the same to be read.
fn within_readable(plan: &Plan) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut emptied, mut kept) = (Vec::new(), Vec::new());
    for step in &plan.layout.steps {
        match step.part {
            Part::Cover | Part::Private { .. } => emptied.push(step.path.clone()),
            Part::Kept { writable: false, .. } => kept.push(step.path.clone()),
            Part::Kept { writable: true, .. } | Part::File { .. } | Part::Link { .. } => {}
        }
    }
    (emptied, kept)
}

/// Returns the files that a command gets something else for, by their names in the user's home.
fn copies(plan: &Plan) -> Vec<PathBuf> {
    let steps = plan.layout.steps.iter();
    let files = steps.filter(|step| matches!(step.part, Part::File { .. }));
    let instead = plan.layout.instead.iter().map(|file| &file.path);
    files.map(|step| &step.path).chain(instead).cloned().collect()
}

/// Returns what a path of a command without namespaces stands for; `None` in a folder of its own.
fn of_user(folders: Option<&OwnFolders>, path: &Path) -> Option<PathBuf> {
    let named = without_dots(path);
    let Some(own) = folders else { return Some(named) };
    own.of_user(&named).or_else(|| (!named.starts_with(own.path())).then_some(named))
}

/// Does what [`out_of_sight`] does where nothing is put on top of anything: the same is closed as in the
/// file tree that there would be, but for what lies in the roots.
pub(super) fn out_of_sight_alone(
    settings: &Settings,
    profile: &Profile,
    repositories: &[PathBuf],
    closed: &Closed,
    path: &Path,
) -> Option<OutOfSight> {
    let roots = settings.roots.iter().map(|root| canonical_or_lexical(root));
    if roots.chain(settings.roots.iter().cloned()).any(|root| path.starts_with(root)) {
        return None;
    }
    let mounts = Mounts::of_this_process();
    let plan = plan(settings, profile, repositories, closed, &mounts).ok()?;
    let secrets = plan.secrets(OfSystem::find(&settings.roots), &mounts).all;
    match out_of_sight(settings, &plan.layout.steps, &secrets, path)? {
        OutOfSight::Private(folder) => Some(OutOfSight::Covered(folder)),
        why => Some(why),
    }
}

/// Looks at nothing but the names of what the walls are made of, and whether settings are there that a command
/// would get: it sees that as well.
fn out_of_sight(
    settings: &Settings,
    steps: &[Step],
    secret: &[PathBuf],
    path: &Path,
) -> Option<OutOfSight> {
    let named = without_dots(path);
    let path = behind_links(in_place(&named, settings), steps);
    let exactly = steps.iter().find(|step| step.path == path);
    if exactly.is_some_and(|step| matches!(step.part, Part::File { .. }))
        || is_absent_setting(settings, &path)
    {
        return None;
    }
    let is_in = |folder: &&PathBuf| named.starts_with(folder) || path.starts_with(folder);
    if let Some(hidden) = hidden_at(settings, &[&named, &path]) {
        return Some(OutOfSight::Hidden(hidden.clone()));
    }
    let of_home = settings.home.iter().flat_map(|home| secrets::of_home(home));
    if let Some(secret) = of_home.chain(secret.iter().cloned()).find(|secret| is_in(&secret)) {
        return Some(OutOfSight::Secret(secret));
    }
    if let Ok(device) = path.strip_prefix("/dev") {
        let is_usual = |name: Component<'_>| DEVICES.iter().any(|it| name.as_os_str() == *it);
        return device
            .components()
            .next()
            .filter(|name| !is_usual(*name))
            .map(|_| OutOfSight::Device);
    }
    let step = exactly.or_else(|| above(steps, &path))?;
    let is_home = || settings.home.as_deref().map(canonical_or_lexical) == Some(step.path.clone());
    match step.part {
        Part::Cover => Some(OutOfSight::Covered(step.path.clone())),
        Part::Private { .. } if is_home() => Some(OutOfSight::Home),
        Part::Private { .. } => Some(OutOfSight::Private(step.path.clone())),
        Part::Kept { .. } | Part::File { .. } | Part::Link { .. } => None,
    }
}

/// Returns what is hidden and holds one of these paths, by the name that it was given or by where that leads.
fn hidden_at<'a>(settings: &'a Settings, paths: &[&Path]) -> Option<&'a PathBuf> {
    let holds = |hidden: &&PathBuf| {
        let led = canonical_or_lexical(hidden);
        paths.iter().any(|path| path.starts_with(hidden) || path.starts_with(&led))
    };
    settings.hidden.iter().find(holds)
}

/// Whether a path is that of settings of which a command would get what is no secret, and they are not there.
fn is_absent_setting(settings: &Settings, path: &Path) -> bool {
    let home = settings.home.as_deref().map(canonical_or_lexical);
    let is_setting = |home: PathBuf| GIVEN.iter().any(|name| home.join(name) == path);
    let is_absent = || {
        let found = std::fs::symlink_metadata(path);
        found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    home.is_some_and(is_setting) && is_absent()
}

/// Resolves `.` and `..` by name.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Returns where a path lies if the folder in which it is known to lie has another name. Other links
/// are not followed: whether they are there would be told by it.
fn in_place(path: &Path, settings: &Settings) -> PathBuf {
    let known = PRIVATE.iter().map(|(name, _)| *name).chain(COVERED).map(Path::new);
    let home = settings.home.as_deref().filter(|home| home.parent().is_some());
    let mut known = home.into_iter().chain(known);
    let found = known.find_map(|known| Some((known, path.strip_prefix(known).ok()?)));
    found.map_or_else(|| path.to_path_buf(), |(known, rest)| canonical_or_lexical(known).join(rest))
}

/// Returns where a path leads by those links that commands have; as it is if it names one itself.
fn behind_links(path: PathBuf, steps: &[Step]) -> PathBuf {
    let is_link = |step: &&Step| matches!(step.part, Part::Link { .. });
    let mut links = steps.iter().filter(is_link).map(|step| &step.path);
    let found = links.find_map(|link| Some((link, path.strip_prefix(link).ok()?)));
    match found {
        Some((link, rest)) if !rest.as_os_str().is_empty() => canonical_or_lexical(link).join(rest),
        _ => path,
    }
}

impl Shared {
    fn expected_tier(&self) -> Tier {
        let kernel = probe();
        match self.settings.wanted {
            Wanted::Exactly(tier) => tier,
            Wanted::Best if kernel.confines_inside() => Tier::A,
            Wanted::Best if kernel.confines_alone() && bubblewrap().is_ok() => Tier::B,
            Wanted::Best if kernel.confines_alone() => Tier::C,
            Wanted::Best => Tier::D,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_sight_is_told_by_where_it_lies() {
        let step = |path: &str, part| Step { path: path.into(), part };
        let kept = |path: &str| step(path, Part::Kept { source: path.into(), writable: false });
        let private = |path: &str| step(path, Part::Private { mode: 0o700 });
        let steps = [
            step("/home", Part::Cover),
            private("/home/nobody-has-this"),
            kept("/home/nobody-has-this/.cargo"),
            step("/home/nobody-has-this/.npmrc", Part::File { bytes: Vec::new() }),
            private("/tmp"),
            kept("/tmp/work"),
        ];
        let settings = Settings {
            roots: vec!["/tmp/work".into()],
            home: Some("/home/nobody-has-this".into()),
            covered: Vec::new(),
            readable: Vec::new(),
            ways: Vec::new(),
            toolchains: Vec::new(),
            virtual_environment: None,
            hidden: vec!["/tmp/work/keys".into()],
            own: Vec::new(),
            state: None,
            shown: Vec::new(),
            wanted: Wanted::Best,
            limits: Limits::default(),
            guarded_folders_max: 0,
        };
        let covered = || Some(OutOfSight::Covered("/home".into()));
        let secret = |path: &str| Some(OutOfSight::Secret(path.into()));
        for (path, expected) in [
            ("/home", covered()),
            ("/home/other/x", covered()),
            ("/usr/../home/other/./x", covered()),
            ("/home/nobody-has-this", Some(OutOfSight::Home)),
            ("/home/nobody-has-this/notes", Some(OutOfSight::Home)),
            ("/home/nobody-has-this/.cargo/bin", None),
            ("/home/nobody-has-this/.npmrc", None),
            // Not on the machine either.
            ("/home/nobody-has-this/.gitconfig", None),
            ("/home/nobody-has-this/.ssh/id_rsa", secret("/home/nobody-has-this/.ssh")),
            ("/tmp/x", Some(OutOfSight::Private("/tmp".into()))),
            ("/tmp/work/../x", Some(OutOfSight::Private("/tmp".into()))),
            ("/tmp/work/x", None),
            ("/tmp/work/keys/a", Some(OutOfSight::Hidden("/tmp/work/keys".into()))),
            ("/etc/shadow", secret("/etc/shadow")),
            ("/dev/kvm", Some(OutOfSight::Device)),
            ("/dev/tty", None),
            ("/dev/pts/0", None),
            ("/dev", None),
            ("/etc/hosts", None),
            ("/homes", None),
            ("/", None),
        ] {
            let found = out_of_sight(&settings, &steps, &["/etc/shadow".into()], Path::new(path));
            assert_eq!(found, expected, "{path}");
        }
    }
}
