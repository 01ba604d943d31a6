//! Commands in the background: behind the same walls as any other, read while they run, ended with
//! the session.
//!
//! An [`Attended`] command runs as long as somebody waits for it; [`Jobs::keep`] takes it over, and
//! from then on it runs by itself. There are at most [`JOBS_RUNNING_MAX`] at a time, each with a
//! time and a bound of output. When the last clone of [`Jobs`] goes, so do they; when the process
//! dies, the helpers end them (see `linux/helper.rs`).

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::command::{Command, CommandError, Exit, LimitReached, Output, Printed};
use crate::guard::ProtectedChange;
use crate::journal::{Changes, Checkpoint, JournalError, OutsideWrite, Refused, RefusedMove};
use crate::network::{NetworkEvent, Running, RunningId};
use crate::off_thread::off_thread;
use crate::output::{Piece, Stream};
use crate::sandbox::Sandbox;

/// Jobs that run at the same time: a few servers and watchers. More are a loop that starts them.
pub const JOBS_RUNNING_MAX: usize = 8;

/// Jobs that are remembered, so that the end of one can be read after others were started.
const JOBS_KEPT_MAX: usize = 32;

/// A command that runs as long as [`Attended::end`] is waited for, and ends when this is dropped.
pub struct Attended {
    end: Pin<Box<dyn Future<Output = Result<Output, CommandError>> + Send>>,
    job: Job,
}

/// Which job, counted from 1 within a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u32);

/// The jobs of a session. Cheap to clone; clones share everything.
#[derive(Clone, Default)]
pub struct Jobs(Arc<Mutex<Table>>);

/// How a job is.
#[derive(Debug, Clone)]
pub struct JobStatus {
    /// Which.
    pub id: JobId,
    /// What it runs.
    pub script: String,
    /// From its start to its end, or to now.
    pub duration: Duration,
    /// How it ended; `None` while it runs.
    pub end: Option<JobEnd>,
}

/// How a job ended.
#[derive(Debug, Clone)]
pub struct JobEnd {
    /// Its exit, or why it did not run.
    pub exit: Result<Exit, Arc<CommandError>>,
    /// The limit that ended it, as far as that can be known; told by [`Jobs::read`], once.
    pub limit: Option<LimitReached>,
    /// What the look at its end found changed of protected names.
    pub protected: Vec<ProtectedChange>,
    /// System calls that the walls refused it, as in [`Output::refused`]; told by [`Jobs::read`], once.
    pub refused: Vec<&'static str>,
    /// What it tried to change where its walls let it write nothing, as in [`Output::outside`].
    pub outside: Option<Vec<OutsideWrite>>,
    /// Renames and hard links that the walls refused it, as in [`Output::moves`].
    pub moves: Vec<RefusedMove>,
    /// Names that are gone at the end of the session, as in [`Output::unkept`]; told by
    /// [`Jobs::read`] or [`Jobs::news`], once.
    pub unkept: Vec<PathBuf>,
    /// What it changed, if it was recorded.
    pub changes: Option<Changes>,
}

/// What there is to know of a job since it was last read.
#[derive(Debug, Clone)]
pub struct JobReading {
    /// How it is.
    pub status: JobStatus,
    /// What it printed, cleaned, in the order in which it arrived; head and tail of each stream. A
    /// line comes when it is complete.
    pub pieces: Vec<Piece>,
    /// How many bytes are in no piece.
    pub left_out_bytes: u64,
    /// The file with everything that it printed.
    pub spilled_to: Option<PathBuf>,
    /// What changed of protected names, and what was put back, but for what [`Jobs::news`] told. Commands
    /// that run at the same time share them.
    pub protected: Vec<ProtectedChange>,
    /// The last attempt at each host that was not let through, that it may have made and that nobody was told of.
    pub blocked: Vec<NetworkEvent>,
    /// System calls that the walls refused it until now, as in [`Output::refused`], but for those that
    /// [`Jobs::note_told`] counts as told.
    pub refused: Vec<&'static str>,
    /// What it tried until now to change where its walls let it write nothing, as in [`Output::outside`].
    pub outside: Option<Vec<OutsideWrite>>,
    /// Renames and hard links that the walls refused it until now, as in [`Output::moves`].
    pub moves: Vec<RefusedMove>,
    /// What it changed until now, if it was recorded and that is not what was said before.
    pub changes: Option<Changes>,
}

#[derive(Default)]
struct Table {
    last: u32,
    /// The newest last.
    jobs: Vec<(JobId, Kept)>,
}

struct Kept {
    job: Arc<Job>,
    task: AbortHandle,
    /// Nobody was told of its end yet.
    is_news: bool,
    /// It was ended with all others.
    is_stopped: bool,
}

struct Job {
    script: String,
    started_at: Instant,
    printed: Printed,
    walls: Option<Sandbox>,
    /// What names it to the proxy of its walls.
    running: Option<RunningId>,
    checkpoint: Option<Checkpoint>,
    stop: CancellationToken,
    over: CancellationToken,
    state: Mutex<State>,
}

struct State {
    end: Option<(JobEnd, Duration)>,
    /// Found by the look at its end.
    protected: Vec<ProtectedChange>,
    /// The changes that were told last.
    told: Option<Changes>,
    /// The refused system calls that were told while it ran.
    told_calls: Vec<&'static str>,
}

impl JobEnd {
    fn without_output(exit: Result<Exit, Arc<CommandError>>, changes: Option<Changes>) -> Self {
        let (protected, refused, unkept) = (Vec::new(), Vec::new(), Vec::new());
        let (outside, moves) = (None, Vec::new());
        Self { exit, limit: None, protected, refused, outside, moves, unkept, changes }
    }
}

impl Attended {
    /// Returns a command that begins to run when it is waited for: within `walls`, or as
    /// [`Command::run`] does. `on_output` gets what it prints, cleaned, as it comes.
    #[must_use]
    pub fn new(
        command: Command,
        walls: Option<Sandbox>,
        mut on_output: impl FnMut(Stream, &str) + Send + 'static,
    ) -> Self {
        let running = walls.as_ref().and_then(|walls| walls.begin(&command));
        // Lines about the job repeat the beginning of it, and a cut hides a value from the filter.
        let spill = command.limits.spill.as_ref();
        let job = Job {
            script: spill.map_or_else(|| command.script.clone(), |to| to.filtered(&command.script)),
            started_at: Instant::now(),
            printed: command.limits.printed(),
            checkpoint: walls.as_ref().and_then(Sandbox::checkpoint).cloned(),
            walls: walls.clone(),
            running: running.as_ref().map(Running::id),
            stop: CancellationToken::new(),
            over: CancellationToken::new(),
            state: Mutex::new(State {
                end: None,
                protected: Vec::new(),
                told: None,
                told_calls: Vec::new(),
            }),
        };
        let (printed, stop) = (job.printed.clone(), job.stop.clone());
        let end = Box::pin(async move {
            let _running = running;
            match walls {
                Some(walls) => walls.run_into(command, &printed, &stop, &mut on_output).await,
                None => command.run_into(None, &printed, &stop, &mut on_output).await,
            }
        });
        Self { end, job }
    }

    /// Runs the command until it ends. Can be dropped and called again before that.
    ///
    /// # Errors
    /// [`CommandError`] when it did not run.
    pub async fn end(&mut self) -> Result<Output, CommandError> {
        let output = self.end.as_mut().await?;
        Ok(match &self.job.walls {
            Some(walls) => walls.with_blocked(output, self.job.running),
            None => output,
        })
    }

    /// Asks the command to end; [`Attended::end`] says when it did.
    pub fn stop(&self) {
        self.job.stop.cancel();
    }
}

impl Jobs {
    /// Returns whether one more can run.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.running().len() < JOBS_RUNNING_MAX
    }

    /// Lets a command run by itself from now on, everything that it prints in a file. When no more
    /// can run the command ends, and there is no job.
    ///
    /// Needs a tokio runtime.
    #[must_use]
    pub fn keep(&self, attended: Attended) -> Option<JobId> {
        if !self.has_room() {
            return None;
        }
        let Attended { end, job } = attended;
        job.printed.spill();
        let job = Arc::new(job);
        let task = tokio::spawn({
            let job = Arc::clone(&job);
            async move {
                // Also if this panics or is dropped: nobody waits for what is over.
                let _over = job.over.clone().drop_guard();
                let result = end.await;
                let changes = job.changes(Checkpoint::finish).await;
                job.ended(result, changes);
            }
        });
        let mut table = self.lock();
        while table.jobs.len() >= JOBS_KEPT_MAX {
            // There is one: fewer run than are kept.
            let Some(oldest) = table.jobs.iter().position(|(_, kept)| !kept.job.is_running())
            else {
                break;
            };
            table.jobs.remove(oldest);
        }
        table.last += 1;
        let id = JobId(table.last);
        table
            .jobs
            .push((id, Kept { job, task: task.abort_handle(), is_news: true, is_stopped: false }));
        Some(id)
    }

    /// Returns the jobs that are remembered, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<JobStatus> {
        self.lock().jobs.iter().map(|(id, kept)| kept.job.status(*id)).collect()
    }

    /// Returns the jobs that run.
    #[must_use]
    pub fn running(&self) -> Vec<JobStatus> {
        self.list().into_iter().filter(|status| status.end.is_none()).collect()
    }

    /// Returns the jobs that ended and that nobody was told of, each once.
    #[must_use]
    pub fn news(&self) -> Vec<JobStatus> {
        let mut news = Vec::new();
        for (id, kept) in &mut self.lock().jobs {
            if kept.is_news && !kept.job.is_running() {
                kept.is_news = false;
                let status = kept.job.status_told(*id);
                kept.job.state().protected.clear();
                kept.job.not_told(status.end.as_ref().and_then(|end| end.changes.clone()));
                news.push(status);
            }
        }
        news
    }

    /// Returns the jobs that ended and of whose end somebody was told.
    #[must_use]
    pub fn told_ends(&self) -> Vec<JobStatus> {
        let table = self.lock();
        let told = table.jobs.iter().filter(|(_, kept)| !kept.is_news && !kept.job.is_running());
        told.map(|(id, kept)| kept.job.status(*id)).collect()
    }

    /// Returns what a job printed since this was last asked, and looks after protected names;
    /// `None` for a job that is not remembered.
    pub async fn read(&self, id: JobId) -> Option<JobReading> {
        let job = self.job(id)?;
        let is_running = job.is_running();
        let mut protected = match &job.walls {
            Some(walls) if is_running => walls.look().await,
            _ => Vec::new(),
        };
        let blocked = {
            let mut state = job.state();
            protected.append(&mut state.protected);
            job.blocked()
        };
        // First how it is, so that nothing is printed after what is returned with its end.
        let status = job.status_told(id);
        let (pieces, left_out_bytes) = job.printed.take();
        // After that: what it says of a refusal is no older.
        let (refused, outside, moves) = job.refused(status.end.as_ref()).await;
        if status.end.is_some() {
            self.told(id);
            job.state().end.iter_mut().for_each(|(end, _)| {
                end.refused.clear();
                end.limit = None;
            });
        }
        let spilled_to = job.printed.spilled_to();
        let changes = match &status.end {
            Some(end) => end.changes.clone(),
            None => job.changes(Checkpoint::changes_so_far).await,
        };
        let changes = job.not_told(changes);
        Some(JobReading {
            status,
            pieces,
            left_out_bytes,
            spilled_to,
            protected,
            blocked,
            refused,
            outside,
            moves,
            changes,
        })
    }

    /// Counts these refused system calls of a job as told: no later [`JobReading::refused`] has them.
    pub fn note_told(&self, id: JobId, calls: &[&'static str]) {
        if let Some(job) = self.job(id) {
            job.state().told_calls.extend(calls);
        }
    }

    /// Waits until a job ended, at most so long.
    pub async fn wait(&self, id: JobId, at_most: Duration) {
        if let Some(job) = self.job(id) {
            // Whether it ended shows when it is read.
            let _ = tokio::time::timeout(at_most, job.over.cancelled()).await;
        }
    }

    /// Ends a job and waits until nothing of it is left: it is asked to end, and killed two seconds
    /// later. One that ended already stays as it is.
    pub async fn stop(&self, id: JobId) {
        if let Some(job) = self.job(id) {
            job.stop.cancel();
            job.over.cancelled().await;
        }
    }

    /// Ends all jobs, waits until nothing of them is left, and returns those that were running, as
    /// they ended; the same when it is asked again.
    pub async fn stop_all(&self) -> Vec<JobStatus> {
        let mut stopped: Vec<(JobId, Arc<Job>)> = Vec::new();
        for (id, kept) in &mut self.lock().jobs {
            kept.is_stopped |= kept.job.is_running();
            stopped.extend(kept.is_stopped.then(|| (*id, Arc::clone(&kept.job))));
        }
        stopped.iter().for_each(|(_, job)| job.stop.cancel());
        for (_, job) in &stopped {
            job.over.cancelled().await;
        }
        stopped.iter().map(|(id, job)| job.status(*id)).collect()
    }

    /// Ends all jobs and forgets them, as the end of a session does: the next one is the first again.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let jobs = tenon_sandbox::Jobs::default();
    /// jobs.forget_all().await;
    /// assert!(jobs.list().is_empty());
    /// # }
    /// ```
    pub async fn forget_all(&self) {
        self.stop_all().await;
        *self.lock() = Table::default();
    }

    fn told(&self, id: JobId) {
        for (known, kept) in &mut self.lock().jobs {
            kept.is_news &= *known != id;
        }
    }

    fn job(&self, id: JobId) -> Option<Arc<Job>> {
        let table = self.lock();
        let (_, kept) = table.jobs.iter().find(|(known, _)| *known == id)?;
        Some(Arc::clone(&kept.job))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Nothing that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    fn is_running(&self) -> bool {
        !self.over.is_cancelled()
    }

    fn status(&self, id: JobId) -> JobStatus {
        let known = self.state().end.clone();
        let lost = JobEnd::without_output(Ok(Exit::Signal(libc::SIGKILL)), None);
        let (end, duration) = match known {
            Some((end, duration)) => (Some(end), duration),
            None => (self.over.is_cancelled().then_some(lost), self.started_at.elapsed()),
        };
        JobStatus { id, script: self.script.clone(), duration, end }
    }

    /// Returns how it is, for somebody who is told of it.
    fn status_told(&self, id: JobId) -> JobStatus {
        let status = self.status(id);
        if let Some((end, _)) = &mut self.state().end
            && status.end.is_some()
        {
            end.unkept.clear();
        }
        status
    }

    /// Returns what it changed, which `look` asks its checkpoint for.
    async fn changes(
        &self,
        look: fn(&Checkpoint) -> Result<Changes, JournalError>,
    ) -> Option<Changes> {
        let checkpoint = self.checkpoint.clone()?;
        let changes = off_thread(move || look(&checkpoint)).await;
        changes.ok()?.ok()
    }

    /// Returns what it was refused: at its `end`, or until now.
    async fn refused(
        &self,
        end: Option<&JobEnd>,
    ) -> (Vec<&'static str>, Option<Vec<OutsideWrite>>, Vec<RefusedMove>) {
        let (calls, outside, moves) = match (end.cloned(), self.checkpoint.clone()) {
            (Some(JobEnd { refused, outside, moves, .. }), _) => (refused, outside, moves),
            (None, None) => (Vec::new(), None, Vec::new()),
            (None, Some(checkpoint)) => {
                let refused = off_thread(move || checkpoint.refused_so_far()).await;
                match refused.ok().flatten() {
                    Some(Refused { calls, outside, moves }) => (calls, Some(outside), moves),
                    None => (Vec::new(), None, Vec::new()),
                }
            }
        };
        let told = &self.state().told_calls;
        (calls.into_iter().filter(|call| !told.contains(call)).collect(), outside, moves)
    }

    /// Returns `changes` unless they are none or were told before, and counts them as told.
    fn not_told(&self, changes: Option<Changes>) -> Option<Changes> {
        let changes = changes.filter(|changes| !changes.is_empty())?;
        let mut state = self.state();
        if state.told.as_ref() == Some(&changes) {
            return None;
        }
        state.told = Some(changes.clone());
        Some(changes)
    }

    fn ended(&self, result: Result<Output, CommandError>, changes: Option<Changes>) {
        let mut state = self.state();
        let end = match result {
            Ok(Output { exit, limit, protected, refused, outside, moves, unkept, .. }) => {
                state.protected.clone_from(&protected);
                let exit = Ok(exit);
                JobEnd { exit, limit, protected, refused, outside, moves, unkept, changes }
            }
            Err(error) => JobEnd::without_output(Err(Arc::new(error)), changes),
        };
        state.end = Some((end, self.started_at.elapsed()));
    }

    fn blocked(&self) -> Vec<NetworkEvent> {
        let proxy = self.walls.as_ref().and_then(Sandbox::proxy);
        proxy.zip(self.running).map(|(proxy, id)| proxy.take_blocked(id)).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // A task that is dropped ends its command.
        self.task.abort();
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
