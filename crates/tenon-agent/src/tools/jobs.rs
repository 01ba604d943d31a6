//! `jobs`: looks after commands in the background: list, read what is new, wait for the end, stop.
//!
//! They were started by `bash`, which was judged then; so nothing here is asked about. The list of
//! tools is the same from the first request on: one that changed would break prompt caches.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use tenon_sandbox::{
    Changes, CommandError, Exit, JobEnd, JobId, JobReading, JobStatus, Jobs, Network, Output,
    ProtectedChange, Tier, Workspace,
};

use super::{
    bash::{Bash, Printed, ending, not_run, notes, only_reads},
    limits::of_limit,
    listed,
    protected::{Kept, lines, note_refused, where_kept},
    refused_calls::worth_telling,
    said::Said,
    tool::{Effect, Tool, ToolContext, ToolOutput},
    unkept, unseen,
};
use crate::{
    masking::Masking,
    policy::{Action, shell},
};

/// Seconds for `wait` unless the model asks for others; at most as many as a command has.
const WAIT_DEFAULT_S: u64 = 60;

/// The most characters of a job's command that a line about it repeats.
const SCRIPT_CHARS_MAX: usize = 80;

/// The result of a command that a person let go on: between these stand its seconds, behind them the
/// number of its job.
pub(super) const NOT_DONE: &str = "not done after ";
pub(super) const WENT_ON: &str = " s; the user let it go on as job ";

/// Looks after jobs. Shows output as the tool that starts them does.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobsTool(pub Bash);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct JobsArgs {
    action: JobAction,
    job: Option<u32>,
    /// Seconds for wait
    timeout: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum JobAction {
    List,
    Read,
    Wait,
    Stop,
}

/// Why a job is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It was just started.
    Started,
    /// It reached its time limit in the foreground.
    WentOn(Duration),
    /// The model asked what is new. One that asks again and again gets the same answer, which the
    /// loop guard notices; so there are no seconds in it.
    Asked,
    /// The same after a wait, which is no loop.
    Waited,
}

impl Tool for JobsTool {
    type Args = JobsArgs;

    fn name(&self) -> &str {
        "jobs"
    }

    fn description(&self) -> &str {
        "Background jobs of bash: list, read new output, wait for the end, stop."
    }

    fn effect(&self, args: &JobsArgs) -> Effect {
        if args.action == JobAction::Stop { Effect::Run } else { Effect::Read }
    }

    fn subject(&self, args: &JobsArgs) -> String {
        let action = match args.action {
            JobAction::List => "list",
            JobAction::Read => "read",
            JobAction::Wait => "wait",
            JobAction::Stop => "stop",
        };
        args.job.map_or_else(|| action.to_owned(), |job| format!("{action} {job}"))
    }

    fn action(&self, _args: &JobsArgs, _workspace: &Workspace) -> Action {
        Action::Read { paths: Vec::new() }
    }

    async fn run(&self, args: JobsArgs, context: &ToolContext) -> Result<ToolOutput, String> {
        let jobs = context.sandbox.jobs();
        if args.action == JobAction::List {
            return Ok(ToolOutput::text(list(jobs, &context.masking)));
        }
        let known: Vec<JobId> = jobs.list().into_iter().map(|status| status.id).collect();
        let id = match (args.job, known.as_slice()) {
            (Some(job), _) => JobId(job),
            (None, [only]) => *only,
            (None, _) => return Err(format!("`job` is required: {}", named(&known))),
        };
        if !known.contains(&id) {
            return Err(format!("there is no job {id}: {}", named(&known)));
        }
        match args.action {
            JobAction::Wait => {
                let seconds = args.timeout.unwrap_or(WAIT_DEFAULT_S).min(self.0.timeout_max_s);
                tokio::select! {
                    () = jobs.wait(id, Duration::from_secs(seconds)) => {}
                    () = context.cancel.cancelled() => {}
                }
            }
            JobAction::Stop => jobs.stop(id).await,
            JobAction::List | JobAction::Read => {}
        }
        let waited = args.action == JobAction::Wait && args.timeout != Some(0);
        read(&self.0, id, if waited { Why::Waited } else { Why::Asked }, context).await
    }
}

/// Returns what is new of a job.
pub(super) async fn read(
    bash: &Bash,
    id: JobId,
    why: Why,
    context: &ToolContext,
) -> Result<ToolOutput, String> {
    let jobs = context.sandbox.jobs();
    let Some(reading) = jobs.read(id).await else { return Err(format!("there is no job {id}")) };
    let JobReading { status, pieces, left_out_bytes, spilled_to, .. } = reading;
    let JobReading { protected, blocked, refused, outside, moves, changes, .. } = reading;
    let (first, is_error) = match first_line(&status, why, spilled_to.as_deref()) {
        Ok(first) => first,
        Err(error) => return Ok(not_run(error)),
    };
    let printed = Printed { pieces: &pieces, left_out_bytes, spilled_to: spilled_to.as_deref() };
    let text = bash.shown(&printed, &context.workspace);
    let text = match (text.trim_end(), why) {
        ("", Why::Asked | Why::Waited) => "(no new output)",
        ("", Why::Started | Why::WentOn(_)) => "(no output yet)",
        (text, _) => text,
    };
    let limit = status.end.as_ref().and_then(|end| end.limit.clone());
    let has_failed = status
        .end
        .as_ref()
        .is_some_and(|end| !matches!(end.exit, Ok(Exit::Code(0) | Exit::Cancelled)));
    let unkept = status.end.map(|end| end.unkept).unwrap_or_default();
    let script = status.script.as_str();
    let refused = worth_telling(refused, has_failed, text, script);
    jobs.note_told(id, &refused);
    let told = lines(&protected, &Kept::default());
    protected.iter().for_each(|change| note_refused(change, None, context));
    let mut notes =
        notes(&blocked, told, limit.as_ref()) + &where_kept(&protected, &context.workspace);
    let output =
        Output { pieces, blocked, refused, outside, moves, ..held_output(script, context) };
    let commands = shell::parse(script).commands;
    let said = Said::of((script, &commands), &output, (text, has_failed), context);
    let said = Said { is_job: true, ..said };
    let (told, mut held) = unseen::notes(&said);
    notes.push_str(&told);
    held.extend(limit.as_ref().and_then(|it| listed::of_limit(it, &of_limit(it))));
    notes.extend(unkept::sentence(&unkept).map(|sentence| format!("\n[walls] {sentence}")));
    let changes = changes.map(|changes| changed(&changes)).unwrap_or_default();
    let programs = said.programs();
    let Output { blocked, refused, .. } = output;
    let output = ToolOutput::text(format!("{first}\n{text}{notes}{changes}"));
    let job = matches!(why, Why::Started | Why::WentOn(_)).then_some(id.0);
    Ok(ToolOutput { is_error, job, blocked, programs, refused, held, ..output })
}

/// Returns what the walls are for a job, as in the output of a command that ended.
fn held_output(script: &str, context: &ToolContext) -> Output {
    let sandbox = &context.sandbox;
    let is_open = sandbox.network_within_walls() == Some(Network::On);
    let has_sockets = is_open || sandbox.tier() != Some(Tier::C.name());
    let only_reads = only_reads(&shell::parse(script));
    Output { has_sockets, only_reads, ..Output::new(Exit::Code(0)) }
}

/// Returns what a job changed until now, as a line; nothing if nothing is worth one.
fn changed(changes: &Changes) -> String {
    match changes.summary().as_str() {
        "" => String::new(),
        summary => format!("\n[changes] {summary}"),
    }
}

/// Returns the first line of a result, and whether it is an error, or why the job did not run.
fn first_line<'a>(
    status: &'a JobStatus,
    why: Why,
    spilled_to: Option<&Path>,
) -> Result<(String, bool), &'a CommandError> {
    let id = status.id;
    let all = spilled_to
        .map(|path| format!("; all that it prints is in {}", path.display()))
        .unwrap_or_default();
    Ok(match (&status.end, why) {
        (Some(JobEnd { exit: Err(error), .. }), _) => return Err(error),
        (Some(JobEnd { exit: Ok(exit), .. }), _) => {
            let is_error = !matches!(exit, Exit::Code(0) | Exit::Cancelled);
            (format!("job {id} has ended: {}", ending(*exit)), is_error && why == Why::Started)
        }
        (None, Why::Started) => (format!("job {id} runs in the background{all}"), false),
        (None, Why::WentOn(after)) => {
            let after = after.as_secs();
            (format!("{NOT_DONE}{after}{WENT_ON}{id}{all}"), false)
        }
        (None, Why::Asked) => (format!("job {id} is running"), false),
        (None, Why::Waited) => {
            (format!("job {id} is running ({} s)", status.duration.as_secs()), false)
        }
    })
}

/// Returns why no more can be started.
pub(super) fn full(jobs: &Jobs) -> String {
    let running: Vec<JobId> = jobs.running().into_iter().map(|status| status.id).collect();
    let (count, ids) = (running.len(), ids(&running));
    format!("{count} jobs run already, which is the most; stop one first: {ids}")
}

/// What the model is told of jobs that ended since it was last told.
pub(crate) struct News {
    pub(crate) text: String,
    /// What they wrote to protected names, and what was put back.
    pub(crate) put_back: Vec<PathBuf>,
}

/// Returns the news of jobs; nothing if none ended.
pub(crate) fn news(jobs: &Jobs, masking: &Masking, workspace: &Workspace) -> Option<News> {
    let news = jobs.news();
    let told = |status: &JobStatus| {
        let protected = status.end.as_ref().map_or(&[][..], |end| &end.protected);
        let changes = status.end.as_ref().and_then(|end| end.changes.as_ref());
        let changes = changes.map(changed).unwrap_or_default();
        let unkept = status.end.as_ref().and_then(|end| unkept::sentence(&end.unkept));
        let unkept = unkept.map(|said| format!("\n[walls] {said}")).unwrap_or_default();
        let told = lines(protected, &Kept::default());
        let notes = notes(&[], told, None) + &where_kept(protected, workspace) + &unkept;
        format!("[jobs] {}{notes}{changes}", line(status, masking))
    };
    let ends = news.iter().filter_map(|status| status.end.as_ref());
    let put_back = ends.flat_map(|end| &end.protected).filter(|change| change.put_back);
    let put_back = put_back.map(|change| change.path.clone()).collect();
    let text = news.iter().map(told).collect::<Vec<_>>().join("\n");
    (!news.is_empty()).then_some(News { text, put_back })
}

/// Returns what is told where something was put back before a file tool writes: lines of their own.
pub(crate) fn put_back_first(changes: &[ProtectedChange], workspace: &Workspace) -> String {
    let notes = notes(&[], lines(changes, &Kept::default()), None);
    (notes + &where_kept(changes, workspace)).trim_start().to_owned()
}

fn list(jobs: &Jobs, masking: &Masking) -> String {
    let lines: Vec<String> = jobs.list().iter().map(|status| line(status, masking)).collect();
    if lines.is_empty() { "(no jobs)".into() } else { lines.join("\n") }
}

fn line(status: &JobStatus, masking: &Masking) -> String {
    let seconds = status.duration.as_secs();
    let state = match &status.end {
        None => "running".into(),
        // It says by itself how long that was.
        Some(JobEnd { exit: Ok(exit @ Exit::TimedOut { .. }), .. }) => ending(*exit),
        Some(JobEnd { exit: Ok(exit), .. }) => format!("{} after {seconds} s", ending(*exit)),
        Some(JobEnd { exit: Err(error), .. }) => format!("did not run: {error}"),
    };
    let script = status.script.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = script.char_indices().nth(SCRIPT_CHARS_MAX).map_or(script.len(), |(end, _)| end);
    let cut = masking.part(&script, 0..end);
    let dots = if end < script.len() { "…" } else { "" };
    format!("job {}: {state}: {cut}{dots}", status.id)
}

fn named(known: &[JobId]) -> String {
    if known.is_empty() { "none was started".into() } else { format!("known are {}", ids(known)) }
}

fn ids(ids: &[JobId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::{AnyTool, bash::Endless, testing::Bench};

    const BASH: Bash = Bash {
        output_chars_max: 100,
        timeout_default_s: 60,
        timeout_max_s: 60,
        is_confined: false,
    };

    /// Starts jobs (a text) and makes calls of `jobs` in one session.
    fn results(calls: &[Value]) -> Vec<String> {
        results_of(&Bench::new(), calls)
    }

    fn results_of(bench: &Bench, calls: &[Value]) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut results = Vec::new();
            for one in calls {
                let output = match one {
                    Value::String(command) => start(command, &bench.context).await,
                    arguments => call(arguments, &bench.context).await,
                };
                results.push(output.content);
            }
            results
        })
    }

    async fn start(script: &str, context: &ToolContext) -> ToolOutput {
        let minute = Duration::from_secs(60);
        let command = BASH.command(script.into(), minute, Endless::Allowed, context).unwrap();
        let jobs = context.sandbox.jobs();
        let id = jobs.keep(context.sandbox.attend(command, |_, _| {})).unwrap();
        jobs.wait(id, Duration::from_millis(300)).await;
        read(&BASH, id, Why::Started, context).await.unwrap()
    }

    async fn call(arguments: &Value, context: &ToolContext) -> ToolOutput {
        match JobsTool(BASH).prepare(arguments, &context.workspace) {
            Ok(prepared) => AnyTool::run(&JobsTool(BASH), prepared.arguments, context).await,
            Err(error) => ToolOutput::error(error),
        }
    }

    #[test]
    fn a_job_is_waited_for_and_each_line_is_read_once() {
        let wait = json!({"action": "wait", "job": 1});
        let results = results(&[
            "echo one; sleep 0.6; echo two; exit 4".into(),
            json!({"action": "read", "job": 1}),
            wait.clone(),
            wait,
            json!({"action": "list"}),
        ]);
        assert!(results[0].ends_with("\none"), "{results:?}");
        assert!(results[1] == "job 1 is running\n(no new output)", "{results:?}");
        assert_eq!(results[2], "job 1 has ended: exit code 4\ntwo");
        assert_eq!(results[3], "job 1 has ended: exit code 4\n(no new output)");
        let line = "job 1: exit code 4 after 0 s: echo one; sleep 0.6; echo two; exit 4";
        assert_eq!(results[4], line);
    }

    #[test]
    fn a_job_that_is_read_hides_the_rest_of_a_secret_and_not_that_something_may_begin_one() {
        let bench = Bench::new().knowing("sk-0123456789");
        let results = results_of(
            &bench,
            &[
                "echo '3 files'; sleep 0.6; echo sk-0123; echo b >&2; sleep 1; echo 456789; echo 4"
                    .into(),
                json!({"action": "wait", "timeout": 1}),
                json!({"action": "wait"}),
            ],
        );
        assert!(results[0].ends_with("\n3 files"), "{results:?}");
        // Of what comes at the same time on both streams, either may be the first.
        assert!(
            ["\nsk-0123", "[stderr]\nb"].iter().all(|text| results[1].contains(text)),
            "{results:?}"
        );
        assert_eq!(
            results[2],
            "job 1 has ended: exit code 0\n[masked: value of KEY from here]\n\n4"
        );
    }

    #[test]
    fn what_ended_a_job_and_after_how_long_is_said_once() {
        let line = |exit| {
            let (protected, refused, unkept) = (Vec::new(), Vec::new(), Vec::new());
            let (exit, limit, changes) = (Ok(exit), None, None);
            let (outside, moves) = (None, Vec::new());
            let end = JobEnd { exit, limit, protected, refused, outside, moves, unkept, changes };
            let (id, duration) = (JobId(1), Duration::from_millis(6_100));
            let status = JobStatus { id, script: "yes".into(), duration, end: Some(end) };
            line(&status, &Masking::new(Vec::new))
        };
        let after = Duration::from_secs(6);
        assert_eq!(line(Exit::TimedOut { after }), "job 1: out of time after 6 s: yes");
        assert_eq!(line(Exit::Code(1)), "job 1: exit code 1 after 6 s: yes");
        assert_eq!(line(Exit::Cancelled), "job 1: stopped after 6 s: yes");
    }

    #[test]
    fn a_job_is_stopped_with_all_that_it_started() {
        let results = results(&[
            "trap 'echo asked; exit' TERM; sleep 60 & wait".into(),
            json!({"action": "stop"}),
            json!({"action": "wait", "job": 1, "timeout": 1}),
        ]);
        assert_eq!(results[1], "job 1 has ended: stopped\nasked");
        assert_eq!(results[2], "job 1 has ended: stopped\n(no new output)");
    }

    #[test]
    fn long_output_is_cut_and_the_file_has_all_of_it() {
        let results = results(&[
            "seq 1000; sleep 60".into(),
            "seq 1000".into(),
            json!({"action": "stop", "job": 1}),
        ]);
        for result in &results[..2] {
            let (_, path) = result.split_once("; all of it is in ").expect(result);
            let (path, _) = path.split_once(')').unwrap();
            assert!(Path::new(path).is_absolute() && result.contains("1000"), "{result}");
        }
    }

    #[test]
    fn jobs_that_are_not_there_are_named_as_such() {
        let check = |call: Value, expected: &str| assert_eq!(results(&[call])[0], expected);
        check(json!({"action": "list"}), "(no jobs)");
        check(json!({"action": "read"}), "Error: `job` is required: none was started");
        let missing = "Error: there is no job 7: none was started";
        check(json!({"action": "stop", "job": 7}), missing);
        let wrong = "Error: invalid arguments: `action` must be one of \"list\", \"read\", \
                     \"wait\", \"stop\", got string \"kill\"";
        check(json!({"action": "kill", "job": 7}), wrong);
    }
}
