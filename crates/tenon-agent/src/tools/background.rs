//! `bash` where commands can go to the background: a server, a watcher, a long build.
//!
//! In everything else it is [`Bash`]. A command that reaches its time limit is not ended at once: a
//! person is asked whether it goes on in the background, and it goes on while the question stands.
//! Nobody there means that it ends, as it does without jobs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use tenon_sandbox::{Attended, Command, CommandError, Exit, JobId, Output, Workspace};

use super::{
    bash::{Bash, BashArgs, CONFINED_WITH_JOBS, Endless, TIMED_OUT, UNCONFINED_WITH_JOBS, not_run},
    jobs::{self, NOT_DONE, WENT_ON},
    tool::{Effect, Overtime, Tool, ToolContext, ToolOutput},
};
use crate::policy::Action;

/// The time of a job, unless it is started with less: a working day. A session that goes on longer
/// starts it again.
const JOB_TIME_MAX: Duration = Duration::from_secs(8 * 60 * 60);

/// How long a job's first lines are waited for: what fails at once has failed then.
const FIRST_OUTPUT: Duration = Duration::from_millis(300);

/// The most bytes of a job's output that are kept in a file. A job prints for hours, and nobody may
/// ever look.
const JOB_SPILL_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What stands in front of the words with which a person ended a command.
const ENDED_WITH: &str = "\nthe user ended it and said: ";

/// Runs command lines, in the background too.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackgroundBash(pub Bash);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct BackgroundArgs {
    command: String,
    /// Seconds, at most 600; 120 if left out
    timeout: Option<u64>,
    /// Answer at once; `jobs` says more
    background: Option<bool>,
}

impl Tool for BackgroundBash {
    type Args = BackgroundArgs;

    fn name(&self) -> &str {
        Tool::name(&self.0)
    }

    fn description(&self) -> &str {
        if self.0.is_confined { CONFINED_WITH_JOBS } else { UNCONFINED_WITH_JOBS }
    }

    fn effect(&self, args: &BackgroundArgs) -> Effect {
        if args.background == Some(true) { Effect::Run } else { self.0.effect(&args.plain()) }
    }

    fn subject(&self, args: &BackgroundArgs) -> String {
        args.command.clone()
    }

    fn action(&self, args: &BackgroundArgs, workspace: &Workspace) -> Action {
        self.0.action(&args.plain(), workspace)
    }

    async fn run(&self, args: BackgroundArgs, context: &ToolContext) -> Result<ToolOutput, String> {
        let BackgroundArgs { command, timeout, background } = args;
        if background == Some(true) {
            let time = timeout.filter(|seconds| *seconds > 0).map(Duration::from_secs);
            let time = time.unwrap_or(JOB_TIME_MAX).min(JOB_TIME_MAX);
            let mut command = self.0.command(command, time, Endless::Allowed, context)?;
            let spill = command.limits.spill.take();
            command.limits.spill = spill.map(|target| target.with_bytes_max(JOB_SPILL_BYTES_MAX));
            return self.start(command, context).await;
        }
        let timeout = self.0.timeout(timeout);
        let command = self.0.command(command, JOB_TIME_MAX, Endless::Refused, context)?;
        self.attend(command, timeout, context).await
    }
}

impl BackgroundArgs {
    fn plain(&self) -> BashArgs {
        BashArgs { command: self.command.clone(), timeout: self.timeout }
    }
}

impl BackgroundBash {
    /// Starts a job and tells its first lines.
    async fn start(&self, command: Command, context: &ToolContext) -> Result<ToolOutput, String> {
        let jobs = context.sandbox.jobs();
        if !jobs.has_room() {
            return Err(jobs::full(jobs));
        }
        let id = keep(context.sandbox.attend(command, |_, _| {}), context)?;
        jobs.wait(id, FIRST_OUTPUT).await;
        jobs::read(&self.0, id, jobs::Why::Started, context).await
    }

    /// Runs a command to its end, or until its time is up and a person lets it go on.
    async fn attend(
        &self,
        command: Command,
        timeout: Duration,
        context: &ToolContext,
    ) -> Result<ToolOutput, String> {
        let script = command.script.clone();
        let is_shown = Arc::new(AtomicBool::new(true));
        let (progress, shown) = (context.progress.clone(), Arc::clone(&is_shown));
        let mut attended = context.sandbox.attend(command, move |_, text| {
            if shown.load(Ordering::Relaxed) {
                progress.show(text);
            }
        });
        let said = tokio::select! {
            biased;
            output = attended.end() => return Ok(self.ended(&script, output, context).await),
            () = context.cancel.cancelled() => None,
            () = tokio::time::sleep(timeout) => {
                // What it prints would stand in the middle of the question.
                is_shown.store(false, Ordering::Relaxed);
                let overtime = async {
                    match context.sandbox.jobs().has_room() {
                        true => context.progress.ask_overtime(timeout).await,
                        false => Overtime::End(None),
                    }
                };
                tokio::select! {
                    biased;
                    output = attended.end() => return Ok(self.ended(&script, output, context).await),
                    () = context.cancel.cancelled() => None,
                    said = overtime => Some(said),
                }
            }
        };
        let words = match said {
            Some(Overtime::GoOn) => {
                let id = keep(attended, context)?;
                return jobs::read(&self.0, id, jobs::Why::WentOn(timeout), context).await;
            }
            Some(Overtime::End(words)) => words,
            None => None,
        };
        attended.stop();
        let mut output = match attended.end().await {
            Ok(output) => output,
            Err(error) => return Ok(not_run_here(&error, context)),
        };
        if output.exit == Exit::Cancelled && !context.cancel.is_cancelled() {
            output.exit = Exit::TimedOut { after: timeout };
        }
        let exit = output.exit;
        let mut result = self.0.result(&script, output, context).await;
        match words {
            Some(words) => result.content.push_str(&format!("{ENDED_WITH}{words}")),
            None => self.0.tell_time(exit, true, &mut result),
        }
        Ok(result)
    }

    async fn ended(
        &self,
        script: &str,
        output: Result<Output, CommandError>,
        context: &ToolContext,
    ) -> ToolOutput {
        let output = match output {
            Ok(output) => output,
            Err(error) => return not_run_here(&error, context),
        };
        let exit = output.exit;
        let mut result = self.0.result(script, output, context).await;
        self.0.tell_time(exit, true, &mut result);
        result
    }
}

/// Returns the result of a command that did not run, which is taken in.
fn not_run_here(error: &CommandError, context: &ToolContext) -> ToolOutput {
    context.sandbox.note_run(false);
    not_run(error)
}

fn keep(attended: Attended, context: &ToolContext) -> Result<JobId, String> {
    let jobs = context.sandbox.jobs();
    jobs.keep(attended).ok_or_else(|| jobs::full(jobs))
}

/// Returns what became of a command at its time limit, as its result tells; `None` if it ended by itself.
pub(crate) fn overtime_in(result: &str) -> Option<Overtime> {
    // A log of an older version does not say otherwise that a job began.
    if result.starts_with(NOT_DONE) && result.contains(WENT_ON) {
        return Some(Overtime::GoOn);
    }
    // What is put behind a result by others begins like this.
    let words = |(_, behind): (&str, &str)| behind.split("\n[").next().map(str::to_owned);
    result
        .starts_with(TIMED_OUT)
        .then(|| Overtime::End(result.rsplit_once(ENDED_WITH).and_then(words)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::{
        AnyTool,
        bash::{OUTPUT_CHARS_MAX, TIMEOUT_DEFAULT_S, TIMEOUT_MAX_S},
        testing::Bench,
    };

    const BASH: BackgroundBash = BackgroundBash(Bash {
        output_chars_max: OUTPUT_CHARS_MAX,
        timeout_default_s: TIMEOUT_DEFAULT_S,
        timeout_max_s: TIMEOUT_MAX_S,
        is_confined: false,
    });

    fn bench(overtime: Option<Overtime>) -> Bench {
        let mut bench = Bench::new();
        if let Some(overtime) = overtime {
            let ask = move |_| -> futures::future::BoxFuture<'static, Overtime> {
                Box::pin(std::future::ready(overtime.clone()))
            };
            bench.context.progress = bench.context.progress.with_overtime(Arc::new(ask));
        }
        bench
    }

    #[test]
    fn in_the_foreground_it_is_the_same_tool() {
        let check = |command: &str, expected: &str| {
            let output = bench(None).call(&BASH, json!({"command": command}));
            assert_eq!(output.content, expected, "{command}");
        };
        check("echo out; exit 3", "exit code 3\nout");
        check("true", "(command completed with no output)");
        check("", "Error: command is required");
        let output =
            bench(None).call(&BASH, json!({"command": "echo begun; sleep 60", "timeout": 1}));
        let expected = "Error: command timed out after 1 s\nbegun\n[walls] limits: the call had 1 s; a timeout of at \
                        most 600 s, or background, would give it more";
        assert_eq!(output.content, expected);
        assert_eq!(output.held.len(), 1, "{:?}", output.held);
    }

    #[test]
    fn a_background_command_answers_with_its_first_lines() {
        let arguments = json!({"command": "echo up; sleep 60", "background": true});
        let output = bench(None).call(&BASH, arguments);
        let expected = "job 1 runs in the background; all that it prints is in ";
        assert!(output.content.starts_with(expected), "{}", output.content);
        assert!(output.content.ends_with("\nup"), "{}", output.content);
        assert!(!output.is_error);
    }

    #[test]
    fn a_background_command_that_fails_at_once_says_so() {
        let arguments = json!({"command": "echo no such port >&2; exit 3", "background": true});
        let output = bench(None).call(&BASH, arguments);
        assert_eq!(output.content, "job 1 has ended: exit code 3\nno such port");
        assert!(output.is_error);
    }

    #[test]
    fn what_never_ends_may_run_in_the_background_and_what_needs_a_terminal_may_not() {
        let call = |command: &str| {
            let bench = bench(None);
            bench.put("log", "a\n");
            bench.call(&BASH, json!({"command": command, "background": true})).content
        };
        assert!(call("tail -f log").starts_with("job 1 runs"), "{}", call("tail -f log"));
        assert!(call("vim log").starts_with("Error: interactive commands are not supported"));
    }

    #[test]
    fn at_its_time_limit_a_command_goes_on_if_a_person_says_so() {
        let arguments = json!({"command": "echo begun; sleep 60", "timeout": 1});
        let output = bench(Some(Overtime::GoOn)).call(&BASH, arguments.clone());
        let content = output.content;
        let expected =
            "not done after 1 s; the user let it go on as job 1; all that it prints is in ";
        assert!(content.starts_with(expected) && content.ends_with("\nbegun"), "{content}");
        let words = Overtime::End(Some("use less".into()));
        let output = bench(Some(words)).call(&BASH, arguments);
        let expected =
            "Error: command timed out after 1 s\nbegun\nthe user ended it and said: use less";
        assert_eq!(output.content, expected);
    }

    #[test]
    fn only_so_many_run_at_a_time() {
        let bench = bench(None);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let content = runtime.block_on(async {
            let arguments = json!({"command": "exec sleep 60", "background": true});
            for _ in 0..tenon_sandbox::JOBS_RUNNING_MAX {
                let output = AnyTool::run(&BASH, arguments.clone(), &bench.context).await;
                assert!(!output.is_error, "{}", output.content);
            }
            let output = AnyTool::run(&BASH, arguments, &bench.context).await;
            assert_eq!(bench.context.sandbox.jobs().stop_all().await.len(), 8);
            output.content
        });
        assert_eq!(
            content,
            "Error: 8 jobs run already, which is the most; stop one first: 1, 2, 3, 4, 5, 6, 7, 8"
        );
    }
}
