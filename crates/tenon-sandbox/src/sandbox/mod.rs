//! The walls of a session: what a command can read, write, reach and use, held by the kernel.
//!
//! A [`Sandbox`] costs nothing until the first confined command. That one starts a helper process
//! which holds namespaces and the file tree; each command then runs in a child of it. Where the
//! machine gives less, the tier says so, and a tier that was chosen is kept.

mod again;
mod alone;
mod closed;
mod describe;
mod git_settings;
mod homes;
mod left_behind;
mod linked;
mod listeners;
mod looks;
mod own_folders;
mod pins;
mod plan;
pub(crate) mod programs;
mod repositories;
mod scratch;
mod secrets;
mod settings;
mod sockets;
mod stamp;
mod state;
mod step_down;
mod toolchains;
mod unkept;
mod variables;
mod virtual_environment;
mod watched;
mod ways;
mod worktrees;

use std::cell::LazyCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use self::again::{Tries, is_of_number};
use self::alone::Alone;
pub use self::describe::{Description, OutOfSight};
pub use self::listeners::listens_on_loopback;
use self::own_folders::OwnFolders;
use self::plan::{closed_alone, plan, walls_inside};
pub use self::programs::{ProgramOutOfSight, has_rights_of_another};
use self::repositories::repositories;
pub use self::repositories::{is_in_repository_outside, repositories_outside};
use self::scratch::Scratch;
use self::secrets::OfSystem;
pub use self::secrets::{
    of_base as secrets_of_base, of_home as secrets_of_home, of_root_here as secrets_of_root,
};
pub use self::settings::Settings;
use self::state::{Planned, State, Tree};
pub use self::toolchains::toolchains_within;
use self::unkept::PrivateFolders;
use self::variables::put_behind_walls;
use self::watched::Watched;
use crate::command::{Command, CommandError, Exit, Launch, Output, Printed, Via, without_walls};
use crate::guard::{Guard, Journaled, Listings, ProtectedChange, list};
use crate::helper::{Begun, WarmHelper, bubblewrap};
use crate::journal::Checkpoint;
use crate::linux::openat::open_plain;
use crate::linux::request::{Confinement, Walls};
use crate::missing::{Missing, SandboxError};
use crate::mounts::Mounts;
use crate::network::{Proxy, Running, RunningId};
use crate::off_thread::{off_thread, off_thread_if_room};
use crate::output::Stream;
use crate::profile::{Network, Profile};
use crate::room::RoomLimit;
use crate::tier::{Tier, Wanted};

/// Plans that are kept with their helpers, one for each grant of a call's own; the oldest goes.
const PLANS_MAX: usize = 4;

/// The walls of one session. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
    /// Where what commands are about to change is saved.
    checkpoint: Option<Checkpoint>,
    /// Whose commands these are, for the proxy's log.
    caller: Option<Arc<str>>,
}

struct Shared {
    settings: Settings,
    /// What lets commands with [`Network::Proxied`] through to named hosts.
    proxy: Option<Proxy>,
    state: Mutex<State>,
    /// Goes through the workspace's folders ahead. Held by a command that waits for it.
    listing: Mutex<Option<JoinHandle<Listings>>>,
}

/// What a call is started with.
struct Prepared {
    launch: Launch,
    /// Where the proxy listens, inside.
    port: Option<u16>,
    /// HOME, where it is not what the command was given.
    home: Option<PathBuf>,
    /// Looked into when it has ended.
    private: Arc<PrivateFolders>,
    /// Private folders that must be there until it ends.
    _scratch: Option<Arc<Scratch>>,
}

impl Sandbox {
    /// Returns the walls for a session. Starts nothing.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self::made(settings, None)
    }

    /// Returns the walls for a session whose commands with [`Network::Proxied`] reach what `proxy`
    /// lets through. Starts nothing.
    #[must_use]
    pub fn with_proxy(settings: Settings, proxy: Proxy) -> Self {
        Self::made(settings, Some(proxy))
    }

    fn made(settings: Settings, proxy: Option<Proxy>) -> Self {
        Self { shared: Arc::new(Shared::new(settings, proxy)), checkpoint: None, caller: None }
    }

    /// Returns the same walls, behind which what a command is about to change is saved for undo
    /// first. A call whose change cannot be saved fails; the checkpoint's changes say so.
    #[must_use]
    pub fn recording(&self, checkpoint: &Checkpoint) -> Self {
        Self { checkpoint: Some(checkpoint.clone()), ..self.clone() }
    }

    /// Returns the same walls for the commands of `caller`: the hosts that they try are told with that
    /// name ([`Proxy::take_tried`]).
    #[must_use]
    pub fn called_by(&self, caller: Arc<str>) -> Self {
        Self { caller: Some(caller), ..self.clone() }
    }

    pub(crate) fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// Returns the proxy that commands with [`Network::Proxied`] reach.
    #[must_use]
    pub fn proxy(&self) -> Option<&Proxy> {
        self.shared.proxy.as_ref()
    }

    /// Returns what the walls are built from.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Runs a command inside the walls that its profile asks for. One with
    /// [`Profile::unconfined`] or [`Profile::reading`] runs as [`Command::run`] does.
    ///
    /// Needs a tokio runtime with I/O and time. A future that is dropped ends the command.
    ///
    /// # Errors
    /// [`CommandError`] when it did not run, [`CommandError::Walls`] when a wall does not stand.
    pub async fn run(
        &self,
        command: Command,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Output, CommandError> {
        let (printed, running) = (command.limits.printed(), self.begin(&command));
        let output = self.run_into(command, &printed, cancel, on_output).await?;
        Ok(self.with_blocked(output, running.as_ref().map(Running::id)))
    }

    /// Takes in that a command runs, as far as it can reach the proxy.
    pub(crate) fn begin(&self, command: &Command) -> Option<Running> {
        let is_inside = without_walls(&command.profile).is_none();
        Some(self.proxy().filter(|_| is_inside)?.begin(self.caller.clone()))
    }

    /// Adds to the output of a command the hosts that were not let through to it; they are then told.
    pub(crate) fn with_blocked(&self, output: Output, command: Option<RunningId>) -> Output {
        let blocked = self.proxy().zip(command).map(|(proxy, id)| proxy.take_blocked(id));
        Output { blocked: blocked.unwrap_or_default(), ..output }
    }

    /// Runs a command between [`Sandbox::begin`] and [`Sandbox::with_blocked`]; what it prints is kept in `printed`.
    pub(crate) async fn run_into(
        &self,
        command: Command,
        printed: &Printed,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Output, CommandError> {
        let mut tries = Tries::new();
        loop {
            let result = self.run_now(command.clone(), printed, cancel, on_output).await;
            let Some(wait) = tries.again_in(&result) else { return result };
            tokio::select! {
                () = cancel.cancelled() => return Ok(Output::new(Exit::Cancelled)),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    async fn run_now(
        &self,
        command: Command,
        printed: &Printed,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Output, CommandError> {
        command.roots.check()?;
        if without_walls(&command.profile).is_some() {
            return command.run_into(self.checkpoint.clone(), printed, cancel, on_output).await;
        }
        let mut tries = 0;
        loop {
            let prepared = tokio::select! {
                biased;
                prepared = self.prepare(&command) => prepared?,
                // The look through a large workspace takes a while.
                () = cancel.cancelled() => return Ok(Output::new(Exit::Cancelled)),
            };
            let (Prepared { mut launch, port, home, private, _scratch }, watched) = prepared;
            launch.checkpoint = self.checkpoint.clone();
            let mut attempt = command.clone();
            put_behind_walls(&mut attempt, self.shared.proxy.as_ref(), port, home.as_deref());
            match &launch.via {
                Via::Fresh => {
                    self.shared.lock().folders.iter().for_each(|own| own.give_to(&mut attempt));
                }
                Via::Warm(helper) if port.is_some() => helper.serve(self.shared.proxy.as_ref()),
                Via::Warm(_) => {}
            }
            let is_warm = matches!(launch.via, Via::Warm(_));
            let result = attempt.launch(launch, printed, cancel, on_output).await;
            let is_watched = watched.ends_with_a_look();
            let retry = match &result {
                // The helper died since the last call: a new one has the same walls.
                Err(CommandError::Helper { source })
                    if is_warm && tries == 0 && !is_of_number(source) =>
                {
                    self.shared.lock().plans.retain(|planned| !planned.is_held());
                    true
                }
                Err(CommandError::Walls(error)) => {
                    self.shared.step_down(&mut self.shared.lock(), error)
                }
                _ => false,
            };
            tries += 1;
            let mut changes = if is_watched { self.finish(&command).await } else { Vec::new() };
            if result.is_err() {
                // Nobody is told now.
                self.shared.lock().guard.tell_later(std::mem::take(&mut changes));
            }
            if retry && tries < 3 {
                continue;
            }
            return result.map(|mut output| {
                let mut state = self.shared.lock();
                state.proven = true;
                output.unkept = state.told.look(&private);
                output.protected.append(&mut changes);
                output
            });
        }
    }

    /// Makes ahead what the first command with `profile` would wait for, on a thread of its own. What
    /// cannot be made, that command tells.
    pub fn warm_up(&self, profile: &Profile) {
        // Held by somebody who makes it.
        let is_needed = self.shared.state.try_lock().is_ok_and(|state| state.is_new());
        if is_needed {
            let (shared, profile) = (Arc::clone(&self.shared), profile.clone());
            drop(off_thread_if_room(move || shared.warm_up(&profile)));
        }
    }

    /// Begins anew with private folders, as another process of the session does: what commands left in
    /// them (`/tmp`, HOME) is gone for those that come. None may be running.
    pub fn renew(&self) {
        self.shared.lock().renew();
    }

    /// Returns the tier, once a command ran in it.
    #[must_use]
    pub fn known_tier(&self) -> Option<Tier> {
        let state = self.shared.lock();
        state.tier.filter(|_| state.proven)
    }

    async fn prepare(&self, command: &Command) -> Result<(Prepared, Watched), CommandError> {
        let shared = Arc::clone(&self.shared);
        let (profile, folder) = (command.profile.clone(), command.folder.clone());
        let checkpoint = self.checkpoint.clone();
        if shared.is_quick(&profile) {
            let prepared = shared.prepare(&profile, &folder, checkpoint.as_ref());
            return prepared.map_err(CommandError::Walls);
        }
        let task = move || shared.prepare(&profile, &folder, checkpoint.as_ref());
        match off_thread(task).await {
            Ok(prepared) => prepared.map_err(CommandError::Walls),
            Err(_) => Err(CommandError::Helper { source: io::Error::other("its walls panicked") }),
        }
    }

    async fn finish(&self, command: &Command) -> Vec<ProtectedChange> {
        let shared = Arc::clone(&self.shared);
        let checkpoint = self.checkpoint.clone();
        if shared.is_quick(&command.profile) {
            return shared.lock().guard.end(checkpoint.as_ref());
        }
        let task = move || shared.lock().guard.end(checkpoint.as_ref());
        off_thread(task).await.unwrap_or_default()
    }
}

impl Shared {
    fn new(settings: Settings, proxy: Option<Proxy>) -> Self {
        let named = secrets::names(&settings, settings.home.as_deref());
        let shown = settings.shown.iter().map(|(path, _)| path.clone());
        let own = (settings.own.clone(), named.chain(shown).collect());
        let guard = Guard::new(settings.guarded_folders_max, own, settings.state.clone())
            .of_home(settings.home.clone());
        let state = Mutex::new(State { guard, ..State::default() });
        Self { settings, proxy, state, listing: Mutex::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // What is half done after a panic is done again or checked at the next call.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the look before and after a command is so short, and a helper there, that another
    /// thread would take longer than the look itself.
    fn is_quick(&self, profile: &Profile) -> bool {
        let key = self.plan_key(profile);
        // Held by another call that starts a helper: nothing that could be waited for here.
        self.state.try_lock().is_ok_and(|state| {
            let is_ready = |planned: &Planned| planned.key == key && planned.is_held();
            let is_known = state.alone.knows(profile);
            state.guard.is_small() && (is_known || state.plans.iter().any(is_ready))
        })
    }

    fn warm_up(&self, profile: &Profile) {
        let mut state = self.lock();
        let mut listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_new() || listing.is_some() {
            return;
        }
        let roots = self.watched_roots(&mut state);
        // Not waited for at the end of the program.
        let folders_max = self.settings.guarded_folders_max;
        *listing = thread::Builder::new().spawn(move || list(&roots, folders_max)).ok();
        drop(listing);
        if matches!(self.settings.wanted, Wanted::Best | Wanted::Exactly(Tier::A)) {
            // The command says why not.
            let _ = self.planned(&mut state, Tier::A, profile);
        }
    }

    /// What was found ahead; waits for the end of it.
    fn listed(&self) -> Option<Listings> {
        let mut listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        listing.take()?.join().ok()
    }

    fn session_profile(&self, network: Network) -> Profile {
        Profile {
            readable: Vec::new(),
            writable: self.settings.roots.clone(),
            lifted: Vec::new(),
            network,
        }
    }

    fn prepare(
        self: &Arc<Self>,
        profile: &Profile,
        folder: &Path,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<(Prepared, Watched), SandboxError> {
        let listed = self.listed();
        let mut state = self.lock();
        if let Some(listings) = listed {
            state.guard.know(listings);
        }
        let (prepared, mut frozen) = loop {
            let tier = *state.tier.get_or_insert(match self.settings.wanted {
                Wanted::Exactly(tier) => tier,
                Wanted::Best => Tier::A,
            });
            // A command put it there, and the walls would stand around what it leads to.
            let is_link = |root: &&PathBuf| matches!(open_plain(root), Err(Errno::LOOP));
            if let Some(path) = self.settings.roots.iter().find(is_link) {
                return Err(SandboxError::new(tier, Missing::Folder { path: path.clone() }));
            }
            let prepared = match tier {
                Tier::A | Tier::B => self.inside(&mut state, tier, profile, folder),
                Tier::C => self.alone(&mut state, profile).map(|prepared| (prepared, Vec::new())),
                Tier::D => {
                    let error = SandboxError::new(Tier::D, Missing::NoWalls);
                    return Err(state.missing.first().cloned().unwrap_or(error));
                }
            };
            match prepared {
                Ok(prepared) => break prepared,
                Err(error) if self.step_down(&mut state, &error) => {}
                Err(error) => return Err(error),
            }
        };
        // It changes nothing, so what changes meanwhile a person changed.
        if profile.writable.is_empty() && state.guard.is_idle() {
            return Ok((prepared, Watched::needless()));
        }
        let roots = self.watched_roots(&mut state);
        // What is written there meanwhile, the journal writes.
        frozen.extend(checkpoint.map(Checkpoint::own_folders).into_iter().flatten());
        let journaled = match checkpoint {
            Some(checkpoint) => {
                checkpoint.note_guarded();
                Journaled::By(checkpoint)
            }
            None if profile.writable.is_empty() => Journaled::Needless,
            None => Journaled::Nowhere,
        };
        state.guard.hold(self.settings.held_roots(&roots, profile));
        if let Err(errno) = state.guard.begin(&roots, &frozen, journaled) {
            let (tier, code) = (state.tier.unwrap_or(Tier::D), errno.raw_os_error());
            return Err(SandboxError::new(tier, Missing::Note { code }));
        }
        drop(state);
        Ok((prepared, Watched::begun(self)))
    }

    /// Returns what starts a call. It takes room on the machine's file systems in `folders`.
    fn launch(&self, walls: Walls, via: Via, tier: Tier, folders: Vec<PathBuf>) -> Launch {
        let confinement = Confinement::Walls(Box::new(walls));
        let limits = self.settings.limits;
        let room = Some(RoomLimit { folders, bytes_max: limits.disk_bytes_max });
        let (rules, limits, held) = (None, Some(limits), Vec::new());
        Launch { confinement, rules, limits, held, room, via, tier, checkpoint: None }
    }

    /// Returns a call in namespaces, and the names that are read-only for it.
    fn inside(
        &self,
        state: &mut State,
        tier: Tier,
        profile: &Profile,
        folder: &Path,
    ) -> Result<(Prepared, Vec<PathBuf>), SandboxError> {
        let Planned { plan, secrets, tree, private, .. } = self.planned(state, tier, profile)?;
        let found = (&plan, &secrets);
        let mut walls = walls_inside(found, &mut state.sockets, &self.settings, profile, folder);
        let (helper, _scratch) = match (tree, &mut walls.inside) {
            (Tree::Enclosed(scratch), Some(inside)) => {
                inside.is_enclosed = true;
                inside.mounted = inside.mounted_in_roots();
                walls.has_rules = false;
                walls.writable.retain(|path| !plan.layers.contains(path));
                let mut layout = plan.layout.clone();
                // Nothing is stacked there.
                inside.hidden.extend(layout.instead.drain(..).map(|file| file.path));
                let enclosure = scratch.enclosure(layout, inside.clone())?;
                (Arc::new(WarmHelper::enclose(&enclosure)?), Some(scratch))
            }
            (Tree::Held(helper), _) => (helper, None),
            (Tree::Enclosed(_), None) => return Err(SandboxError::new(tier, Missing::Helper)),
        };
        let port = match (profile.network, helper.listener()) {
            (Network::Proxied, Some(listener)) => {
                listener.local_addr().ok().map(|address| address.port())
            }
            _ => None,
        };
        // What else it writes is memory, or in tier B that folder.
        let mut folders = walls.writable.clone();
        folders.retain(|path| !plan.scratch().contains(path));
        folders.extend(_scratch.iter().map(|scratch| scratch.path().to_path_buf()));
        let launch = self.launch(walls, Via::Warm(helper), tier, folders);
        let launch = Launch { held: plan.held(), ..launch };
        let frozen = plan.frozen(&self.settings, &secrets, profile);
        Ok((Prepared { launch, port, home: plan.home_elsewhere, private, _scratch }, frozen))
    }

    fn alone(&self, state: &mut State, profile: &Profile) -> Result<Prepared, SandboxError> {
        // Without rules the proxy lets nothing through, and so does this tier. Where the machine gives no
        // other, nothing is let through either.
        let is_open = self.proxy.as_ref().is_none_or(|proxy| !proxy.allowed().is_empty());
        let is_chosen = self.settings.wanted != Wanted::Best;
        if profile.network == Network::Proxied && is_open && is_chosen {
            return Err(SandboxError::new(Tier::C, Missing::Proxy));
        }
        let repositories =
            state.repositories.get_or_insert_with(|| repositories(&self.settings)).clone();
        // Of the moment in which something is made.
        let (settings, mounts) = (&self.settings, LazyCell::new(Mounts::of_this_process));
        if state.folders.is_none() {
            let profile = self.session_profile(Network::Off);
            let plan = plan(settings, &profile, &repositories, &state.closed, &mounts).ok();
            state.folders = OwnFolders::new(settings, plan.as_ref(), &mounts).ok();
        }
        let scratch = state.folders.as_ref().and_then(OwnFolders::writable);
        let closed = &mut state.closed;
        let make = || {
            let found = closed.take_in(&closed_alone(settings));
            found.map_err(|missing| SandboxError::new(Tier::C, missing))?;
            Alone::new(settings, profile, &repositories, scratch, closed, &mounts)
        };
        let (walls, rules) = state.alone.of_a_call(profile, make)?;
        let folders = walls.writable.clone();
        let launch = self.launch(walls, Via::Fresh, Tier::C, folders);
        let launch = Launch { rules: Some(rules), ..launch };
        let private = state.folders.as_ref().map(|own| Arc::clone(own.private()));
        let private = private.unwrap_or_default();
        Ok(Prepared { launch, port: None, home: None, private, _scratch: None })
    }

    /// Returns what calls with a profile share, made if need be.
    fn planned(
        &self,
        state: &mut State,
        tier: Tier,
        profile: &Profile,
    ) -> Result<Planned, SandboxError> {
        let key = self.plan_key(profile);
        // A folder that was exchanged is mounted under its name no more.
        state.plans.retain(|planned| planned.plan.is_current());
        if let Some(planned) = state.plans.iter_mut().find(|planned| planned.key == key) {
            let of_system = || OfSystem::find(&self.settings.roots);
            let mounts = Mounts::of_this_process;
            let find = || planned.plan.secrets(of_system(), &mounts());
            planned.secrets.renew(find);
            return Ok(planned.clone());
        }
        let repositories =
            state.repositories.get_or_insert_with(|| repositories(&self.settings)).clone();
        if let Some(path) = key.writable.iter().chain(&key.readable).find(|path| !path.exists()) {
            let missing = Missing::Folder { path: path.clone() };
            return Err(SandboxError::new(tier, missing));
        }
        // Starts while it is planned what it is to make.
        let begun = if tier == Tier::A { Some(Begun::new()?) } else { None };
        let mounts = Mounts::of_this_process();
        let plan = plan(&self.settings, &key, &repositories, &state.closed, &mounts)?;
        let found = state.closed.take_in(plan.lasting());
        found.map_err(|missing| SandboxError::new(tier, missing))?;
        let of_system = OfSystem::begin(&self.settings);
        let making = begun.map(|begun| begun.make(&plan.layout)).transpose()?;
        // While it makes it.
        let of_system = OfSystem::found(of_system, &self.settings.roots);
        let secrets = plan.secrets(of_system, &mounts);
        let (tree, private) = match making {
            Some(making) => {
                let (helper, handles) = making.hold(&secrets.in_sight)?;
                let handles = handles.into_iter().map(Some);
                (Tree::Held(Arc::new(helper)), PrivateFolders::new(&plan.private, handles))
            }
            None => {
                bubblewrap()?;
                let scratch = Scratch::for_bubblewrap(&plan.layout, &self.settings)?;
                let listed = plan.layout.listed.iter();
                let handles = listed.map(|path| scratch.open(&plan.layout, path));
                let private = PrivateFolders::new(&plan.private, handles);
                (Tree::Enclosed(Arc::new(scratch)), private)
            }
        };
        if state.plans.len() >= PLANS_MAX {
            // Calls that run in it hold it until they end.
            state.plans.remove(0);
        }
        let planned = Planned { key, plan, secrets, tree, private: Arc::new(private) };
        state.plans.push(planned.clone());
        Ok(planned)
    }

    /// What of a profile the file tree depends on: roots that are only read are there all the same.
    fn plan_key(&self, profile: &Profile) -> Profile {
        let beyond = |path: &&PathBuf| !self.settings.roots.contains(path);
        Profile {
            readable: profile.readable.clone(),
            writable: profile.writable.iter().filter(beyond).cloned().collect(),
            lifted: Vec::new(),
            network: profile.network,
        }
    }
}
