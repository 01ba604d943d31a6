//! Knows what was changed and checked: the state of the workspace's files before a turn first acts,
//! after each check and at the turn's end.
//!
//! Files are compared by name, length and time of change (the kernel's, which nobody can set back), so
//! that it does not matter who changed them and by what. Nothing is looked at where no check is known and
//! none runs.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tenon_sandbox::{EntryKind, WalkEntry, WalkOptions, Workspace};

use super::{
    checks::{self, Says},
    git_index, project,
};
use crate::{
    event::CheckRun,
    policy::Action,
    tools::{Effect, ToolOutput},
};

/// Larger trees are not looked at. A turn takes up to four walks; four of 45,000 files in 450
/// folders took 0.8 s of processor time in a build without optimisation (two cores, 2026).
const ENTRIES_MAX: usize = 50_000;

/// Folders that hold what tools make for themselves, also where no ignore file says so.
const CACHES: [&str; 6] =
    ["target", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];

/// Where git says what it tracks: about 100 bytes for each file, of which no more than these are looked at.
const INDEX: &str = ".git/index";
const INDEX_BYTES_MAX: u64 = 16 << 20;

/// With these bash says that a command cannot be run, or is not there.
const NOT_STARTED: [i32; 2] = [126, 127];

/// What a session knows of changes and checks.
pub(crate) struct Receipts {
    is_on: bool,
    configured: Vec<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The checks of the project, once they were looked for.
    known: Option<Vec<String>>,
    /// The last check that ran: all that is known of a project whose files name none.
    ran: Option<String>,
    /// The files before the turn first acted.
    before: Option<String>,
    /// A call may have changed something, or a check ran.
    acted: bool,
    /// A check ran in this turn.
    checked: bool,
    /// A check could not start in this turn.
    not_started: bool,
    /// The files before the call that runs, where that says whether a check in it counts.
    before_call: Option<String>,
    checks: Vec<CheckRun>,
}

/// What there is at the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stock {
    /// Files changed in this turn, also if they were changed back after a check.
    pub changed: bool,
    /// The runs since the last change, oldest first.
    pub checks: Vec<CheckRun>,
    /// The checks that the project has, and at the end of a turn those of them that may run.
    pub known: Vec<String>,
    /// A check could not start: to ask for it again would help nobody.
    pub not_started: bool,
    /// The state of the files.
    pub tree: String,
}

impl Receipts {
    pub(crate) fn new(is_on: bool, configured: Vec<String>) -> Self {
        Self { is_on, configured, state: Mutex::default() }
    }

    /// Takes in that a turn begins.
    pub(crate) fn begin(&self) {
        let mut state = self.state();
        (state.before, state.acted, state.checked) = (None, false, false);
        state.not_started = false;
    }

    /// Takes in that a call with `effect` is about to do `action`.
    pub(crate) async fn before(&self, effect: Effect, action: &Action, workspace: &Workspace) {
        if !self.is_on || effect == Effect::Read {
            return;
        }
        let (has_acted, says) = (self.state().acted, self.says(action));
        if !has_acted && says == Says::Nothing && self.known(workspace).is_empty() {
            return;
        }
        let is_in_doubt = says == Says::PassesIfUnchanged;
        if has_acted && !is_in_doubt {
            return;
        }
        let tree = tree(workspace).await;
        let mut state = self.state();
        state.before_call = tree.clone().filter(|_| is_in_doubt);
        if !has_acted {
            (state.before, state.acted) = (tree, true);
        }
    }

    fn says(&self, action: &Action) -> Says {
        match action {
            Action::Run { command } => checks::says(command, &self.configured),
            _ => Says::Nothing,
        }
    }

    /// Takes in that a call did `action` and gave `output` after `time`.
    pub(crate) async fn after(
        &self,
        action: &Action,
        output: &ToolOutput,
        time: Duration,
        workspace: &Workspace,
    ) {
        let (Action::Run { command }, Some(exit_code)) = (action, output.exit_code) else { return };
        let says = self.says(action);
        if !self.state().acted || says == Says::Nothing {
            return;
        }
        if NOT_STARTED.contains(&exit_code) {
            self.state().not_started = true;
            return;
        }
        let Some(tree) = tree(workspace).await else { return };
        let before = {
            let mut state = self.state();
            state.checked = true;
            state.before_call.take()
        };
        // One that failed proves nothing that a change behind it could make untrue.
        if says == Says::PassesIfUnchanged && exit_code == 0 && before.as_ref() != Some(&tree) {
            return;
        }
        let ended = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = CheckRun {
            command: command.trim().to_owned(),
            exit_code,
            ended_ms: ended.as_millis() as u64,
            duration_ms: time.as_millis() as u64,
            tree,
        };
        let mut state = self.state();
        state.ran = Some(run.command.clone());
        // Only the last run of a command counts.
        state.checks.retain(|known| known.command != run.command);
        state.checks.push(run);
    }

    /// Returns what there is at the end of a turn; `None` if it did nothing, or if nothing can be
    /// known.
    pub(crate) async fn stock(&self, workspace: &Workspace) -> Option<Stock> {
        if !self.state().acted {
            return None;
        }
        let tree = tree(workspace).await?;
        let mut state = self.state();
        let before = state.before.clone()?;
        // What was checked before the last change says nothing any more.
        state.checks.retain(|run| run.tree == tree);
        // The check saw other files, also where they are again as they were when the turn began.
        let is_stale = state.checked && state.checks.is_empty();
        Some(Stock {
            changed: before != tree || is_stale,
            checks: state.checks.clone(),
            known: state.known(),
            not_started: state.not_started,
            tree,
        })
    }

    fn known(&self, workspace: &Workspace) -> Vec<String> {
        let mut state = self.state();
        // A project that has none may get one at any call.
        if state.known.as_ref().is_none_or(Vec::is_empty) {
            state.known = Some(project::known(workspace, &self.configured));
        }
        state.known()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn known(&self) -> Vec<String> {
        let known = self.known.clone().unwrap_or_default();
        if known.is_empty() { self.ran.iter().cloned().collect() } else { known }
    }
}

/// Returns the checks that a session was set to that asked for `asked` and ran `ran`; none if they
/// are what its project shows by itself.
pub(crate) fn set_checks(workspace: &Workspace, asked: &[String], ran: &[String]) -> Vec<String> {
    let shown = project::known(workspace, &[]);
    let is_shown = |check: &String| shown.is_empty() || shown.contains(check);
    let all = asked.iter().chain(ran);
    if asked.iter().all(is_shown) && all.clone().all(|check| checks::is_check(check, &[])) {
        return Vec::new();
    }
    all.cloned().collect()
}

/// Returns the state of the workspace's files; `None` if there are too many.
async fn tree(workspace: &Workspace) -> Option<String> {
    let workspace = workspace.clone();
    tokio::task::spawn_blocking(move || tree_now(&workspace)).await.ok().flatten()
}

fn tree_now(workspace: &Workspace) -> Option<String> {
    let options = WalkOptions { entries_max: ENTRIES_MAX, ..WalkOptions::default() };
    let walk = workspace.walk(".", options).ok()?;
    let is_cache = |path: &Path| path.iter().any(|part| CACHES.iter().any(|cache| part == *cache));
    let mut walk = walk.only(move |path| !is_cache(path));
    let mut tracked = tracked(workspace);
    let mut hasher = DefaultHasher::new();
    let mut take = |entry: &WalkEntry| (&entry.path, entry.len, entry.changed).hash(&mut hasher);
    for entry in walk.by_ref().flatten() {
        if entry.kind != EntryKind::Directory && !is_cache(&entry.path) {
            tracked.remove(&entry.path);
            take(&entry);
        }
    }
    if walk.is_cut() {
        return None;
    }
    // What git tracks is the project's, though an ignore file names it.
    if !tracked.is_empty() {
        let options = WalkOptions { include_ignored: true, ..options };
        let on_the_way = |path: &Path, tracked: &BTreeSet<PathBuf>| {
            tracked.range(path.to_path_buf()..).next().is_some_and(|next| next.starts_with(path))
        };
        let wanted = tracked.clone();
        let walk = workspace.walk(".", options).ok()?;
        let mut walk = walk.only(move |path| on_the_way(path, &wanted));
        walk.by_ref()
            .flatten()
            .filter(|entry| tracked.contains(&entry.path))
            .for_each(|it| take(&it));
        if walk.is_cut() {
            return None;
        }
    }
    Some(format!("{:016x}", hasher.finish()))
}

/// Returns the files that git tracks, where the workspace is a repository's top.
fn tracked(workspace: &Workspace) -> BTreeSet<PathBuf> {
    let index = workspace.read(INDEX, INDEX_BYTES_MAX);
    index.map(|index| git_index::tracked(&index)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Bench;

    #[test]
    fn the_state_of_the_files_changes_with_them_and_not_with_caches() {
        let bench = Bench::new();
        let tree = || tree_now(&bench.context.workspace).unwrap();
        let empty = tree();
        bench.put("a.txt", "one");
        let one = tree();
        bench.put("target/debug/x", "made");
        bench.put("sub/__pycache__/x.pyc", "made");
        assert_ne!(empty, one);
        assert_eq!(one, tree());
        bench.put("a.txt", "three");
        assert_ne!(one, tree());
        // With its old time put back, it is changed all the same.
        let time = bench.put("a.txt", "three").metadata().unwrap().modified().unwrap();
        let three = tree();
        // Older kernels count time in ticks of 4 ms.
        std::thread::sleep(Duration::from_millis(10));
        bench.put("a.txt", "other").set_modified(time).unwrap();
        assert_ne!(three, tree());
        bench.remove("a.txt");
        assert_eq!(empty, tree());
    }
}
