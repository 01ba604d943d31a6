//! Knows what was changed and checked: the state of the workspace's files before a turn first acts,
//! before and after each check and at the turn's end.
//!
//! Nothing is looked at where no check is known and none runs: what calls say that they changed counts there.
//! A check that may have taken old output for fresh, because an undo gave files old times beside a cache that it
//! left out, proves nothing. What a file tool wrote counts wherever it lies, also where files of commands do not.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tenon_sandbox::{Journal, Workspace, off_thread};

use super::{
    checks::{self, Says},
    own_changes::OwnChanges,
    project,
    tree::{Known, Tree, TreeId, is_cache},
};
use crate::{
    event::{CallChanges, CheckRun, Unproven},
    policy::Action,
    tools::{Effect, ToolOutput},
};

/// Larger trees are not looked at. A turn with one check takes up to four walks; four of 45,000 files in 450
/// folders took 0.8 s of processor time in a build without optimisation (two cores, 2026).
const ENTRIES_MAX: usize = 50_000;

/// Longer nobody waits for a look: an ignore file can have patterns that take seconds for each file.
const LOOK_MAX: Duration = Duration::from_secs(10);

/// With these bash says that a command cannot be run, or is not there.
const NOT_STARTED: [i32; 2] = [126, 127];

/// What a session knows of changes and checks.
pub(crate) struct Receipts {
    is_on: bool,
    configured: Vec<String>,
    /// Where undos are, if anything can be undone.
    journal: Option<Journal>,
    entries_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The checks of the project, once they were looked for.
    known: Option<Vec<String>>,
    /// The last check that ran: all that is known of a project whose files name none.
    ran: Option<String>,
    /// The files before the turn first acted.
    before: Option<TreeId>,
    /// A call may have changed something, or a check ran.
    acted: bool,
    /// A check ran in this turn.
    checked: bool,
    /// A check could not start in this turn.
    not_started: bool,
    /// The files before the call that runs, if it is a check.
    before_call: Option<Tree>,
    /// Why the files are not known, and whether a call may have changed any all the same.
    unseen: Option<Unproven>,
    changed_unseen: bool,
    /// A call of this turn says that it changed something.
    changed_told: bool,
    checks: Vec<Ran>,
    known_files: Known,
}

/// A check that ran, and why that proves nothing, if it is so.
struct Ran {
    run: CheckRun,
    reason: Option<Unproven>,
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
    /// Why checks prove nothing, if it is so.
    pub reason: Option<Unproven>,
    /// The state of the files; empty where it is not known.
    pub tree: String,
}

impl Ran {
    fn passed_before_a_change(&self) -> bool {
        let may_run_again = matches!(
            self.reason,
            Some(Unproven::ChangedMeanwhile { .. } | Unproven::NotToldApart { .. })
        );
        self.run.exit_code == 0 && may_run_again
    }
}

impl Receipts {
    pub(crate) fn new(is_on: bool, configured: Vec<String>, journal: Option<Journal>) -> Self {
        Self { is_on, configured, journal, entries_max: ENTRIES_MAX, state: Mutex::default() }
    }

    /// Forgets all but `ran`, the last check of a session that goes on.
    pub(crate) fn go_on(&self, ran: Option<String>) {
        *self.state() = State { ran, ..State::default() };
    }

    /// Takes in that a turn begins.
    pub(crate) fn begin(&self) {
        let mut state = self.state();
        (state.before, state.acted, state.checked) = (None, false, false);
        (state.not_started, state.unseen) = (false, None);
        (state.changed_unseen, state.changed_told) = (false, false);
    }

    /// Takes in that a call with `effect` is about to do `action`.
    pub(crate) async fn before(&self, effect: Effect, action: &Action, workspace: &Workspace) {
        if !self.is_on || effect == Effect::Read {
            return;
        }
        let (has_acted, says) = (self.state().acted, self.says(action, workspace));
        if !has_acted && says == Says::Nothing && self.known(workspace).is_empty() {
            return;
        }
        let is_check = says != Says::Nothing;
        if has_acted && !is_check {
            return;
        }
        let tree = self.tree(workspace).await;
        let mut state = self.state();
        if !has_acted {
            state.acted = true;
            match &tree {
                Ok(tree) => state.before = Some(tree.id()),
                Err(reason) => state.unseen = Some(reason.clone()),
            }
        }
        state.before_call = tree.ok().filter(|_| is_check);
    }

    fn says(&self, action: &Action, workspace: &Workspace) -> Says {
        match action {
            Action::Run { command } => checks::says(command, &self.configured, workspace.root()),
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
        match action {
            Action::Write { path, .. } if !output.is_error => {
                let mut state = self.state();
                state.known_files.written.insert(path.clone());
                (state.changed_unseen, state.changed_told) = (true, true);
            }
            Action::Run { .. } => {
                self.take_changes(&output.changed, workspace);
                // Without a journal nobody says what a command changed.
                self.state().changed_unseen |= self.journal.is_none();
            }
            _ => {}
        }
        let (Action::Run { command }, Some(exit_code)) = (action, output.exit_code) else { return };
        let says = self.says(action, workspace);
        if !self.state().acted || says == Says::Nothing {
            return;
        }
        let before = self.state().before_call.take();
        if NOT_STARTED.contains(&exit_code) {
            self.state().not_started = true;
            return;
        }
        self.state().checked = true;
        let (Some(before), Ok(tree)) = (before, self.tree(workspace).await) else { return };
        // One that failed proves nothing that a change behind it could make untrue.
        if says == Says::PassesIfUnchanged && exit_code == 0 && before.id() != tree.id() {
            return;
        }
        let ended = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = CheckRun {
            command: command.trim().to_owned(),
            exit_code,
            ended_ms: ended.as_millis() as u64,
            duration_ms: time.as_millis() as u64,
            tree: tree.id().to_string(),
        };
        let reason = match self.stale().await {
            None => self.meanwhile(before, tree, output, workspace).await,
            stale => stale,
        };
        let mut state = self.state();
        state.ran = Some(run.command.clone());
        // Only the last run of a command counts.
        state.checks.retain(|known| known.run.command != run.command);
        state.checks.push(Ran { run, reason });
    }

    /// Takes in what commands and jobs changed that ended.
    pub(crate) fn take_changes(&self, changed: &[CallChanges], workspace: &Workspace) {
        let roots = workspace.roots();
        let is_in_added = |path: &Path| {
            let beneath = roots.iter().skip(1).find_map(|root| path.strip_prefix(root).ok());
            beneath.is_some_and(|path| !is_cache(path))
        };
        let files = || changed.iter().flat_map(|changes| &changes.files);
        let in_added = files().any(|file| is_in_added(Path::new(&file.path)));
        let mut names = files().flat_map(|file| file.from.iter().chain([&file.path]));
        let is_told = names.any(|name| is_of_project(Path::new(name)));
        let mut state = self.state();
        state.changed_unseen |= !changed.is_empty();
        state.changed_told |= is_told;
        state.known_files.changes_in_added += u64::from(in_added);
    }

    /// Returns the state of the workspace's files, or why it is not known.
    async fn tree(&self, workspace: &Workspace) -> Result<Tree, Unproven> {
        let (workspace, entries_max) = (workspace.clone(), self.entries_max);
        let known = self.state().known_files.clone();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let look = off_thread(move || Tree::now(&workspace, entries_max, &known, &ends));
        let tree = tokio::time::timeout(LOOK_MAX, look).await;
        // Nobody waits for it any more.
        is_over.store(true, Ordering::Relaxed);
        tree.ok().and_then(Result::ok).unwrap_or(Err(Unproven::NotLookedAt))
    }

    /// Returns why a check that just ran proves nothing, if an undo made it so.
    async fn stale(&self) -> Option<Unproven> {
        let journal = self.journal.clone()?;
        let stale = off_thread(move || journal.stale_caches()).await;
        let stale = stale.ok()?.into_iter().next()?;
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        Some(Unproven::StaleCache { folder: shown(&stale.folder), file: shown(&stale.file) })
    }

    /// Returns why a check says nothing of the files as they are `now`, after it, if somebody else wrote
    /// one since they were as `before`, or may have.
    async fn meanwhile(
        &self,
        before: Tree,
        now: Tree,
        output: &ToolOutput,
        workspace: &Workspace,
    ) -> Option<Unproven> {
        if before.id() == now.id() {
            return None;
        }
        let (journal, changed) = (self.journal.clone(), output.changed.clone());
        let root = workspace.root().to_path_buf();
        let find = move || {
            let own = journal.and_then(|journal| OwnChanges::of(&journal, &changed, &root));
            let is_own = |path: &Path| own.as_ref().is_some_and(|own| own.has(path));
            let path = before.first_written(&now, is_own)?;
            let file = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
            Some(match own {
                Some(_) => Unproven::ChangedMeanwhile { file },
                None => Unproven::NotToldApart { file },
            })
        };
        off_thread(find).await.ok()?
    }

    /// Returns what there is at the end of a turn; `None` if it did nothing, or if nothing can be
    /// known.
    pub(crate) async fn stock(&self, workspace: &Workspace) -> Option<Stock> {
        if !self.state().acted {
            return self.stock_told(workspace);
        }
        let tree = self.tree(workspace).await;
        let mut state = self.state();
        let (before, tree) = match (state.unseen.clone(), tree) {
            (None, Ok(tree)) => (state.before?, tree.id()),
            (Some(reason), _) | (_, Err(reason)) => return state.stock_unseen(reason),
        };
        // What was checked before the last change says nothing any more.
        let id = tree.to_string();
        state.checks.retain(|ran| ran.run.tree == id);
        // Nor does what ran while something changed, once another check ran.
        if state.checks.iter().any(|ran| ran.reason.is_none()) {
            state.checks.retain(|ran| !ran.passed_before_a_change());
        }
        // Somebody else's work in an added folder is not this turn's.
        let is_changed = match state.changed_unseen {
            true => before != tree,
            false => before.first != tree.first,
        };
        // The check saw other files, also where they are again as they were when the turn began.
        let is_stale = state.checked && state.checks.is_empty();
        Some(Stock {
            changed: is_changed || is_stale,
            checks: state.checks.iter().map(|ran| ran.run.clone()).collect(),
            known: state.known(),
            not_started: state.not_started,
            reason: state.checks.iter().find_map(|ran| ran.reason.clone()),
            tree: id,
        })
    }

    /// Returns what there is at the end of a turn that did nothing while a check was known; `None` if it
    /// changed nothing.
    fn stock_told(&self, workspace: &Workspace) -> Option<Stock> {
        if !self.is_on || !self.state().changed_told {
            return None;
        }
        // What it did last may have given the project one.
        let known = self.known(workspace);
        let reason = known.is_empty().then_some(Unproven::NoCheckKnown);
        Some(Stock {
            changed: true,
            checks: Vec::new(),
            known,
            not_started: false,
            reason,
            tree: String::new(),
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

    /// Returns what there is where the files are not known; none if nothing was changed or checked.
    fn stock_unseen(&self, reason: Unproven) -> Option<Stock> {
        (self.changed_unseen || self.checked).then(|| Stock {
            changed: true,
            checks: Vec::new(),
            known: self.known(),
            not_started: self.not_started,
            reason: Some(reason),
            tree: String::new(),
        })
    }
}

/// Says whether what is at `path`, or was, is one of the project's own files.
fn is_of_project(path: &Path) -> bool {
    !is_cache(path) && !path.iter().any(|part| part == ".git")
}

/// Returns the checks that a session was set to that asked for `asked` and ran `ran`; none if they
/// are what its project shows by itself.
pub(crate) fn set_checks(workspace: &Workspace, asked: &[String], ran: &[String]) -> Vec<String> {
    let shown = project::known(workspace, &[]);
    let is_shown = |check: &String| shown.is_empty() || shown.contains(check);
    let all = asked.iter().chain(ran);
    if asked.iter().all(is_shown) && all.clone().all(|check| checks::is_check(check)) {
        return Vec::new();
    }
    all.cloned().collect()
}

#[cfg(test)]
mod tests {
    use tenon_sandbox::JournalOptions;

    use super::*;
    use crate::tools::testing::Bench;

    #[tokio::test]
    async fn where_there_is_too_much_to_look_at_a_turn_that_changed_something_says_so() {
        let bench = Bench::new();
        bench.put("a.txt", "one");
        bench.put("Makefile", "check:\n\ttrue\n");
        let (workspace, time) = (&bench.context.workspace, Duration::ZERO);
        let state = tempfile::tempdir().unwrap();
        let journal = JournalOptions::new(state.path());
        let journal = Journal::open(workspace, journal).unwrap();
        let receipts =
            Receipts { entries_max: 1, ..Receipts::new(true, Vec::new(), Some(journal)) };
        let run = |command: &str| Action::Run { command: command.into() };
        let output = |exit_code| ToolOutput { exit_code: Some(exit_code), ..ToolOutput::text("") };
        let changing = ToolOutput { changed: vec![CallChanges::unknown("1")], ..output(0) };
        for (command, output, is_told) in [
            ("ls", output(0), false),
            ("make check", output(0), true),
            ("rm a.txt", changing, true),
        ] {
            receipts.begin();
            receipts.before(Effect::Run, &run(command), workspace).await;
            receipts.after(&run(command), &output, time, workspace).await;
            let stock = receipts.stock(workspace).await;
            let reason = stock.and_then(|stock| stock.reason);
            let expected = is_told.then_some(Unproven::TooManyEntries { entries_max: 1 });
            assert_eq!(reason, expected, "{command}");
        }
    }
}
