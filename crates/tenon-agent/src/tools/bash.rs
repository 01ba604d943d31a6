//! `bash`: a command line in the workspace's root, for everything the other tools do not do.
//!
//! What protects is the sandbox (process tree, environment, limits); the reading of the command
//! line here only tells what runs side by side and what would wait for a terminal. Head and tail
//! of long output are shown, the whole of it lies in a file that the result names.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use schemars::JsonSchema;
use serde::Deserialize;
use tenon_sandbox::{
    Command, CommandError, CommandLimits, Exit, LimitReached, Missing, NetworkEvent, Output, Piece,
    Stream, Workspace, confines_writes, signal_name,
};

use super::{
    limits::{of_limit, of_time},
    listed::{self, Held, WITHOUT_WALLS},
    protected,
    refused_calls::worth_telling,
    said::Said,
    streams::joined,
    text_file::counted,
    tool::{Effect, Tool, ToolContext, ToolOutput},
    unkept, unseen,
};
use crate::policy::{Action, in_one_line, shell};

/// The tool's name.
pub(crate) const BASH: &str = "bash";

/// Seconds for a command unless the model asks for others. Most builds and test runs fit.
pub(super) const TIMEOUT_DEFAULT_S: u64 = 120;

/// The most seconds that the model can ask for.
pub(super) const TIMEOUT_MAX_S: u64 = 600;

/// The most characters of a command's output in a result.
pub(super) const OUTPUT_CHARS_MAX: usize = 10_000;

/// How the result of a command begins that was ended at its time limit; the seconds follow.
pub(super) const TIMED_OUT: &str = "Error: command timed out after ";

macro_rules! description {
    ($endless:literal, $processes:literal) => {
        concat!(
            "Run a bash command in the workspace's root: builds, tests, git, scripts, counting. To \
             read, find or change files use the other tools.\n\
             Examples: `cargo test`, `git diff --stat`, `python3 -c 'print(6*7)'`.\n\
             Limits: each call is a new shell (no cd or variables are kept) with empty standard \
             input. Nothing interactive: no editors, pagers, prompts. ",
            $endless,
            $processes,
            " Long output is cut in the middle; the result names the file with all of it."
        )
    };
}
// Told before it is known which tier there is: only in tier C is TMPDIR set.
macro_rules! confined {
    ($endless:literal) => {
        description!(
            $endless,
            "Writes only in the workspace and a /tmp of the session's own ($TMPDIR if set); no \
             network but what the user allows. `ps` shows only own processes (all if TMPDIR is set)."
        )
    };
}
macro_rules! unconfined {
    ($endless:literal) => {
        description!($endless, "End only processes that you started.")
    };
}
const CONFINED: &str = confined!("`tail -f` or a server only under `timeout 10`. ");
const UNCONFINED: &str = unconfined!("`tail -f` or a server only under `timeout 10`. ");
pub(super) const CONFINED_WITH_JOBS: &str = confined!("Servers, watchers: `background`. ");
pub(super) const UNCONFINED_WITH_JOBS: &str = unconfined!("Servers, watchers: `background`. ");

/// A character of UTF-8 has at most so many bytes: what the sandbox keeps of each stream is never
/// less than what is shown.
const CHAR_BYTES_MAX: usize = 4;

/// Runs command lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bash {
    /// The most characters of output in a result.
    pub output_chars_max: usize,
    /// For a call that asks for no other time.
    pub timeout_default_s: u64,
    /// For any call.
    pub timeout_max_s: u64,
    /// Commands run inside walls, which the description then says.
    pub is_confined: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct BashArgs {
    pub command: String,
    /// Seconds, at most 600; 120 if left out
    pub timeout: Option<u64>,
}

impl Tool for Bash {
    type Args = BashArgs;

    fn name(&self) -> &str {
        BASH
    }

    fn description(&self) -> &str {
        if self.is_confined { CONFINED } else { UNCONFINED }
    }

    fn effect(&self, args: &BashArgs) -> Effect {
        if only_reads(&shell::parse(&args.command)) { Effect::Read } else { Effect::Run }
    }

    fn subject(&self, args: &BashArgs) -> String {
        args.command.clone()
    }

    fn action(&self, args: &BashArgs, _workspace: &Workspace) -> Action {
        Action::Run { command: args.command.clone() }
    }

    async fn run(&self, args: BashArgs, context: &ToolContext) -> Result<ToolOutput, String> {
        let timeout = self.timeout(args.timeout);
        let command = self.command(args.command.clone(), timeout, Endless::Refused, context)?;
        let mut show = |_: Stream, text: &str| context.progress.show(text);
        let output = context.sandbox.run(command, &context.cancel, &mut show).await;
        let output = match output {
            Ok(output) => output,
            Err(error) => return Ok(not_run(&error)),
        };
        let exit = output.exit;
        let mut result = self.result(&args.command, output, context).await;
        self.tell_time(exit, false, &mut result);
        Ok(result)
    }
}

/// Whether a command may run that never ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endless {
    Allowed,
    Refused,
}

/// Returns why `bash` would not start this command line in a call that waits for its end, whatever the
/// rules say.
///
/// ```
/// assert!(tenon_agent::why_not_started("vim notes.md").is_some());
/// assert_eq!(tenon_agent::why_not_started("cat notes.md"), None);
/// ```
pub fn why_not_started(script: &str) -> Option<String> {
    why_not(script, &shell::parse(script), Endless::Refused)
}

fn why_not(script: &str, parsed: &shell::Parsed, endless: Endless) -> Option<String> {
    if script.trim().is_empty() {
        return Some("command is required".into());
    }
    let found = shell::needs_terminal(parsed)
        .filter(|found| endless == Endless::Refused || !found.is_endless)?;
    let (command, hint) = (found.command, found.hint);
    Some(format!("interactive commands are not supported: `{command}`. Instead: {hint}"))
}

/// Whether the command is one that only reads, and the kernel can hold it to that.
pub(super) fn only_reads(parsed: &shell::Parsed) -> bool {
    confines_writes() && shell::only_reads(parsed)
}

/// The result of a command that did not run.
pub(super) fn not_run(error: &CommandError) -> ToolOutput {
    let CommandError::Walls(walls) = error else { return ToolOutput::error(error) };
    let hint = walls.hint().map(|hint| format!(" To mend it: {hint}.")).unwrap_or_default();
    let flag = match walls.missing {
        // That is no fault of the machine's, and a command may have made it so.
        Missing::Folder { .. } | Missing::Helper | Missing::Room | Missing::NamesChanged => None,
        _ => Some(WITHOUT_WALLS.to_owned()),
    };
    let offer = flag.as_ref().map(|flag| format!(" The user can run without walls: {flag}."));
    let offer = offer.unwrap_or_default();
    let held = Held { wall: "tier".to_owned(), what: in_one_line(&error.to_string()), flag };
    ToolOutput { held: vec![held], ..ToolOutput::error(format!("{error}.{hint}{offer}")) }
}

/// What the walls did to a command, a line each, for the model and for people.
pub(super) fn notes(
    blocked: &[NetworkEvent],
    protected: Vec<String>,
    limit: Option<&LimitReached>,
) -> String {
    let mut lines: Vec<String> = blocked.iter().map(ToString::to_string).collect();
    lines.extend(protected);
    lines.extend(limit.map(of_limit));
    lines.iter().map(|line| format!("\n[walls] {}", in_one_line(line))).collect()
}

/// How a command ended by itself.
pub(super) fn ending(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("ended by {}", signal_name(signal)),
        Exit::TimedOut { after } => format!("out of time after {} s", after.as_secs()),
        Exit::Cancelled => "stopped".into(),
    }
}

/// What a command printed, or a part of it.
pub(super) struct Printed<'a> {
    pub pieces: &'a [Piece],
    pub left_out_bytes: u64,
    /// The file with all of it.
    pub spilled_to: Option<&'a Path>,
}

impl Bash {
    /// Returns the time that a command has, which was `asked` for in seconds.
    pub(super) fn timeout(&self, asked: Option<u64>) -> Duration {
        let asked = asked.filter(|seconds| *seconds > 0);
        Duration::from_secs(asked.unwrap_or(self.timeout_default_s).min(self.timeout_max_s))
    }

    /// Returns what runs `script`, or why that cannot be.
    pub(super) fn command(
        &self,
        script: String,
        timeout: Duration,
        endless: Endless,
        context: &ToolContext,
    ) -> Result<Command, String> {
        let parsed = shell::parse(&script);
        if let Some(why) = why_not(&script, &parsed, endless) {
            return Err(why);
        }
        let limits = CommandLimits {
            timeout,
            output_bytes_max: self.output_chars_max.saturating_mul(CHAR_BYTES_MAX),
            spill: context.workspace.spill_target(),
        };
        let mut command = context.sandbox.command(&context.workspace, script, limits);
        command.environment = context.sandbox.environment_for(&parsed.commands);
        command.profile.lifted = protected::lifted(context);
        if only_reads(&parsed) {
            command.profile = context.sandbox.reading_profile();
        }
        Ok(command)
    }

    /// Says in the result of a command that was ended at its time limit what would give it more.
    pub(super) fn tell_time(&self, exit: Exit, has_jobs: bool, result: &mut ToolOutput) {
        let sentence = of_time(exit, self.timeout_max_s, has_jobs);
        result.content.extend(sentence.iter().map(|sentence| format!("\n[walls] {sentence}")));
        result.held.extend(sentence.and_then(|sentence| listed::listed(&sentence)));
    }

    pub(super) async fn result(
        &self,
        script: &str,
        mut output: Output,
        context: &ToolContext,
    ) -> ToolOutput {
        // A question to the user follows.
        let began = SystemTime::now().checked_sub(output.duration);
        let (first_line, is_error) = match output.exit {
            Exit::Code(0) => (None, false),
            exit @ (Exit::Code(_) | Exit::Signal(_)) => (Some(ending(exit)), true),
            Exit::TimedOut { after } => (Some(format!("{TIMED_OUT}{} s", after.as_secs())), true),
            Exit::Cancelled => (Some("Error: cancelled while it ran".into()), true),
        };
        let printed = Printed {
            pieces: &output.pieces,
            left_out_bytes: output.left_out_bytes,
            spilled_to: output.spilled_to.as_deref(),
        };
        let text = self.shown(&printed, &context.workspace);
        let content = match (first_line, text.trim_end()) {
            (None, "") => "(command completed with no output)".into(),
            (None, text) => text.to_owned(),
            (Some(first), "") => format!("{first}\n(no output)"),
            (Some(first), text) => format!("{first}\n{text}"),
        };
        let exit_code = match output.exit {
            Exit::Code(code) => Some(code),
            _ => None,
        };
        output.refused = worth_telling(output.refused, is_error, &text, script);
        let kept = protected::keep(&mut output.protected, context).await;
        let told = protected::lines(&output.protected, &kept);
        let mut notes = notes(&output.blocked, told, output.limit.as_ref());
        let commands = shell::parse(script).commands;
        let said = Said::of((script, &commands), &output, (&text, is_error), context);
        let said = Said { began, ..said };
        let (told, mut held) = unseen::notes(&said);
        notes.push_str(&told);
        held.extend(output.limit.as_ref().and_then(|it| listed::of_limit(it, &of_limit(it))));
        let unkept = unkept::sentence(&output.unkept).into_iter();
        let unkept = unkept.chain(told.is_empty().then(|| unkept::of_command(&said)).flatten());
        notes.extend(unkept.map(|said| format!("\n[walls] {said}")));
        if !context.sandbox.jobs().running().is_empty() {
            notes.push_str(&protected::where_kept(&output.protected, &context.workspace));
        }
        let programs = said.programs();
        let (blocked, refused) = (output.blocked, output.refused);
        let output = ToolOutput::text(content + &notes);
        ToolOutput { is_error, exit_code, blocked, programs, refused, held, ..output }
    }

    /// Returns what is shown of the output, with a note where something is left out.
    pub(super) fn shown(&self, printed: &Printed<'_>, workspace: &Workspace) -> String {
        let pieces = printed.pieces;
        let has = |stream| pieces.iter().any(|piece| piece.stream == stream);
        let labels = has(Stream::Out) && has(Stream::Error);
        let chars: usize = pieces.iter().map(|piece| piece.text.chars().count()).sum();
        let has_gap = pieces.iter().any(|piece| piece.left_out_bytes_before > 0);
        if !has_gap && chars <= self.output_chars_max {
            return joined(pieces.iter().map(|piece| (piece.stream, piece.text.as_str())), labels);
        }
        let tail_max = self.output_chars_max / 2;
        let head = head(pieces, self.output_chars_max - tail_max);
        let tail = tail(pieces, tail_max);
        let kept: usize = head.iter().chain(&tail).map(|(_, text)| text.len()).sum();
        let all: usize = pieces.iter().map(|piece| piece.text.len()).sum();
        let left_out = printed.left_out_bytes + (all - kept) as u64;
        let place = match printed.spilled_to {
            Some(path) => Some(path.to_path_buf()),
            // Kept by the sandbox as a whole, and still too long to show.
            None => workspace.spill_target().and_then(|target| {
                let pieces = pieces.iter().map(|piece| (piece.stream, piece.text.as_str()));
                target.write(&joined(pieces, labels)).ok()
            }),
        };
        let place = match place {
            Some(path) => format!("all of it is in {}", path.display()),
            None => "the rest could not be kept".into(),
        };
        let (head, tail) = (joined(head.into_iter(), labels), joined(tail.into_iter(), labels));
        let line_end = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        let left_out = counted(left_out, "byte");
        format!("{head}{line_end}... ({left_out} left out; {place})\n{tail}")
    }
}

/// Returns the text up to the first gap, at most `chars_max` characters of it.
fn head(pieces: &[Piece], chars_max: usize) -> Vec<(Stream, &str)> {
    let mut left = chars_max;
    let mut parts = Vec::new();
    for piece in pieces.iter().take_while(|piece| piece.left_out_bytes_before == 0) {
        let text = piece.text.as_str();
        match text.char_indices().nth(left) {
            Some((end, _)) => {
                parts.push((piece.stream, text.get(..end).unwrap_or(text)));
                break;
            }
            None => {
                left -= text.chars().count();
                parts.push((piece.stream, text));
            }
        }
    }
    parts
}

/// Returns the text behind the last gap, and what follows it, at most `chars_max` characters. Where
/// there is no gap, nothing of it is in [`head`] because the whole is longer than both.
fn tail(pieces: &[Piece], chars_max: usize) -> Vec<(Stream, &str)> {
    let mut left = chars_max;
    let mut parts = Vec::new();
    for piece in pieces.iter().rev() {
        let text = piece.text.as_str();
        let count = text.chars().count();
        let start = text.char_indices().nth(count.saturating_sub(left)).map(|(start, _)| start);
        let start = start.unwrap_or(text.len());
        parts.push((piece.stream, text.get(start..).unwrap_or_default()));
        left = left.saturating_sub(count);
        if start > 0 || left == 0 || piece.left_out_bytes_before > 0 {
            break;
        }
    }
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use super::*;
    use crate::tools::{
        AnyTool, Progress, read_file::ReadFile, testing::Bench, write_file::WriteFile,
    };

    #[test]
    fn a_limit_that_ended_a_command_is_told_with_what_lifts_it() {
        let check = |limit: LimitReached, expected: &str| {
            let told = notes(&[], Vec::new(), Some(&limit));
            assert_eq!(told, format!("\n[walls] ended: {expected}"));
        };
        let lifts = |size: &str, setting: &str| {
            format!(
                "; the limit of {size} is raised by {setting} in config.toml (the user's, or the project's that lowers it)"
            )
        };
        let memory = "its processes together used too much memory";
        let memory_bytes_max = 8 << 30;
        check(
            LimitReached::Memory { memory_bytes_max },
            &(memory.to_owned() + &lifts("8.0 GiB", "memory_bytes_max")),
        );
        let file = "a file became too large";
        let file_bytes_max = Some(16 << 30);
        check(
            LimitReached::FileSize { file_bytes_max },
            &(file.to_owned() + &lifts("16.0 GiB", "file_bytes_max")),
        );
        check(LimitReached::FileSize { file_bytes_max: None }, file);
    }

    const BASH: Bash = Bash {
        output_chars_max: OUTPUT_CHARS_MAX,
        timeout_default_s: TIMEOUT_DEFAULT_S,
        timeout_max_s: TIMEOUT_MAX_S,
        is_confined: false,
    };

    fn run(command: &str) -> ToolOutput {
        Bench::new().call(&BASH, json!({"command": command}))
    }

    fn check(command: &str, expected: &str) {
        assert_eq!(run(command).content, expected, "{command}");
    }

    #[test]
    fn spec_19_pipes_redirects_variables_and_lists_work_in_the_root() {
        check("printf 'b\\na\\n' | sort", "a\nb");
        check("X=1; echo $X > f && cat f || echo no", "1");
        check("cat <<END\nhi $((1+1))\nEND", "hi 2");
        check("cat; echo end", "end");
        let bench = Bench::new();
        let output = bench.call(&BASH, json!({"command": "pwd"}));
        assert_eq!(output.content, bench.root().to_str().unwrap());
    }

    #[test]
    fn spec_20_an_empty_command_is_an_error() {
        check("", "Error: command is required");
        check(" \n", "Error: command is required");
    }

    #[test]
    fn spec_21_a_timeout_is_told_first_and_the_partial_output_after_it() {
        let bench = Bench::new();
        let arguments = json!({"command": "echo begun; sleep 60", "timeout": 1});
        let output = bench.call(&BASH, arguments);
        let told =
            "[walls] limits: the call had 1 s; a timeout of at most 600 s would give it more";
        let expected = format!("Error: command timed out after 1 s\nbegun\n{told}");
        assert_eq!(output.content, expected);
        assert!(output.held.first().is_some_and(|it| it.wall == "limits" && it.flag.is_none()));
        assert!(output.is_error);
    }

    #[test]
    fn spec_21_a_longer_time_than_allowed_is_cut() {
        let bash = Bash { timeout_max_s: 1, ..BASH };
        let arguments = json!({"command": "sleep 60", "timeout": 5_000});
        let output = Bench::new().call(&bash, arguments);
        let told = "(no output)\n[walls] limits: the call had 1 s, the most there is";
        assert_eq!(output.content, format!("{TIMED_OUT}1 s\n{told}"));
    }

    #[test]
    fn spec_23_exit_codes_signals_and_both_streams_are_shown() {
        check("echo out", "out");
        check("echo out; exit 3", "exit code 3\nout");
        check("kill -SEGV $$", "ended by SIGSEGV\n(no output)");
        check("echo err >&2", "err");
        check("true", "(command completed with no output)");
        check("false", "exit code 1\n(no output)");
        check("echo a; sleep 0.3; echo b >&2; sleep 0.3; echo c", "a\n[stderr]\nb\n[stdout]\nc");
        let missing = run("foobar-that-is-missing");
        assert!(missing.content.starts_with("exit code 127\n"), "{}", missing.content);
        assert!(missing.content.ends_with("foobar-that-is-missing: command not found"));
        assert!(missing.is_error);
    }

    #[test]
    fn spec_24_what_needs_a_terminal_is_refused_with_a_hint() {
        let output = run("vim a.txt");
        let start = "Error: interactive commands are not supported: `vim a.txt`. Instead: ";
        assert!(output.content.starts_with(start), "{}", output.content);
        assert!(output.is_error);
    }

    #[test]
    fn spec_27_the_description_says_when_how_and_what_is_limited() {
        let confined = Bash { is_confined: true, ..BASH };
        for (bash, processes) in [(BASH, "End only"), (confined, "`ps` shows only own processes")] {
            let description = Tool::description(&bash);
            assert_eq!(description.contains("session's own ($TMPDIR if set)"), bash.is_confined);
            for part in ["Run a bash command", "Examples:", "interactive", "`tail -f`", processes] {
                assert!(description.contains(part), "{part}");
            }
        }
    }

    #[test]
    fn spec_35_long_output_keeps_head_and_tail_and_names_the_file_with_all_of_it() {
        let bench = Bench::new();
        let bash = Bash { output_chars_max: 20, ..BASH };
        for (command, expected_bytes) in [
            ("seq 1000", 3_893),
            ("seq 20", 51),
            ("for i in $(seq 9); do printf 汉汉汉汉; done", 108),
        ] {
            let output = bench.call(&bash, json!({"command": command})).content;
            let (shown, path) = output.split_once("; all of it is in ").unwrap();
            let (path, tail) = path.split_once(")\n").unwrap();
            let (head, left_out) = shown.split_once("\n... (").unwrap();
            assert!(head.chars().count() <= 10 && tail.chars().count() <= 10, "{output}");
            let all = String::from_utf8(bench.get(path)).unwrap();
            assert_eq!(all.len(), expected_bytes, "{command}");
            assert!(all.starts_with(head) && all.trim_end().ends_with(tail), "{output}");
            assert!(left_out.ends_with(" bytes left out"), "{output}");
            let read = bench.call(
                &ReadFile { chars_max: 50_000, shows_images: false },
                json!({"path": path, "limit": 1}),
            );
            assert!(read.content.starts_with("1\t"), "{}", read.content);
        }
        check("for i in $(seq 9); do printf 汉汉汉汉; done", &"汉".repeat(36));
    }

    #[test]
    fn spec_35_timeouts_are_cut_too() {
        let bash = Bash { output_chars_max: 20, ..BASH };
        let arguments = json!({"command": "seq 1000; sleep 60", "timeout": 1});
        let content = Bench::new().call(&bash, arguments).content;
        assert!(content.starts_with("Error: command timed out after 1 s\n1\n2\n3\n"), "{content}");
        assert!(content.contains("\n999\n1000\n[walls] limits: "), "{content}");
    }

    #[test]
    fn output_is_shown_while_it_comes() {
        let mut bench = Bench::new();
        let shown = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&shown);
        bench.context.progress = Progress::new(move |text| sink.lock().unwrap().push_str(text));
        bench.call(&BASH, json!({"command": "echo a; echo b"}));
        assert_eq!(*shown.lock().unwrap(), "a\nb\n");
    }

    #[test]
    fn what_may_begin_a_secret_stays_in_its_place() {
        let bench = Bench::new().knowing("sk-0123456789");
        let command = "echo '3 files' >&2; sleep 0.2; echo out; sleep 0.2; echo sk-0123 >&2; \
                       sleep 0.2; echo more; sleep 0.2; echo 456789s >&2";
        let expected = "[stderr]\n3 files\n[stdout]\nout\n[stderr]\n[masked: value of KEY from here]\n\
                        [stdout]\nmore\n[stderr]\ns";
        assert_eq!(bench.call(&BASH, json!({"command": command})).content, expected);
    }

    #[test]
    fn spec_05_a_cancelled_command_says_so_with_what_it_printed() {
        let mut bench = Bench::new();
        let cancel = bench.context.cancel.clone();
        bench.context.progress = Progress::new(move |_| cancel.cancel());
        let output = bench.call(&BASH, json!({"command": "echo begun; sleep 60"}));
        assert_eq!(output.content, "Error: cancelled while it ran\nbegun");
    }

    #[test]
    fn spec_32_a_file_that_a_command_changed_counts_as_changed() {
        let bench = Bench::new();
        let write = |content| bench.call(&WriteFile, json!({"path": "a", "content": content}));
        write("one");
        bench.call(&BASH, json!({"command": "echo two >> a"}));
        let sentence = "Error: a changed on disk since it was last read; read it again";
        assert_eq!(write("three").content, sentence);
    }

    #[test]
    fn spec_04_commands_that_only_read_count_as_reading() {
        let bench = Bench::new();
        let effect = |command: &str| {
            let arguments: Value = json!({"command": command});
            BASH.prepare(&arguments, &bench.context.workspace).unwrap().effect
        };
        assert_eq!(effect("git log --oneline | head -3"), Effect::Read);
        assert_eq!(effect("ls && rm x"), Effect::Run);
    }
}
