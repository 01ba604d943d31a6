//! `!command`: a command of the person's own, with their rights and no walls, whose output the
//! model sees with the next prompt. It has no input: the keyboard stays the composer's.

use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process_group};
use tenon_model::MaskStream;
use tenon_sandbox::Cleaner;
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
};

use crate::masked;

/// The most bytes of output that are kept for the model: about as much as a tool's result.
const OUTPUT_BYTES_MAX: usize = 30_000;

/// Where bash is. What stands on the search path under its name may be a file of the workspace.
const BASH: [&str; 2] = ["/bin/bash", "/usr/bin/bash"];

/// A command that runs.
pub(crate) struct OwnCommand {
    command: String,
    child: Child,
    /// Takes what terminals do not show out of the output: it may stand in the middle of a secret.
    cleaner: Cleaner,
    masks: MaskStream,
    /// What was printed, known secrets by name.
    output: String,
    /// Bytes that were left out in front of `output`.
    skipped: usize,
}

/// What happened next.
pub(crate) enum Step {
    /// It printed this.
    Printed(String),
    /// It is over.
    Ended(Ended),
}

/// A command that is over.
pub(crate) struct Ended {
    pub command: String,
    /// How it ended, as a person says it.
    pub status: String,
    pub succeeded: bool,
    pub output: String,
}

impl OwnCommand {
    /// Starts `command` in `folder`.
    ///
    /// # Errors
    /// If there is no bash.
    pub(crate) fn start(
        command: &str,
        folder: &Path,
        environment: &[(OsString, OsString)],
    ) -> std::io::Result<Self> {
        let bash = BASH.into_iter().find(|path| Path::new(path).exists());
        let child = Command::new(bash.unwrap_or("bash"))
            .arg("-c")
            // Both streams in one, in the order in which they were printed.
            .arg(format!("exec 2>&1\n{command}"))
            .current_dir(folder)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self {
            command: command.to_owned(),
            child,
            cleaner: Cleaner::default(),
            masks: masked::stream(),
            output: String::new(),
            skipped: 0,
        })
    }

    /// Returns the command line.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Waits for output or the end. A line comes when it is whole, what may be the beginning of a secret
    /// with what follows it.
    pub(crate) async fn next(&mut self) -> Step {
        let mut bytes = [0; 8192];
        while let Some(stdout) = &mut self.child.stdout {
            let printed = match stdout.read(&mut bytes).await {
                Ok(read @ 1..) => self.take_in(bytes.get(..read).unwrap_or_default()),
                Ok(0) | Err(_) => {
                    self.child.stdout = None;
                    self.take_in_rest()
                }
            };
            if !printed.is_empty() {
                self.keep(&printed);
                return Step::Printed(printed);
            }
        }
        let status = self.child.wait().await;
        let (status, succeeded) = match status {
            Ok(status) => (said(status), status.success()),
            Err(error) => (error.to_string(), false),
        };
        let output = match self.skipped {
            0 => self.output.clone(),
            1 => format!("[the first byte is left out]\n{}", self.output),
            skipped => format!("[the first {skipped} bytes are left out]\n{}", self.output),
        };
        Step::Ended(Ended { command: self.command.clone(), status, succeeded, output })
    }

    /// Returns what of the output is certain with these bytes.
    fn take_in(&mut self, bytes: &[u8]) -> String {
        let mut text = String::new();
        self.cleaner.push(bytes, &mut |part| text.push_str(part));
        self.masks.push(&text)
    }

    fn take_in_rest(&mut self) -> String {
        let mut text = String::new();
        self.cleaner.finish(&mut |part| text.push_str(part));
        self.masks.push(&text) + &self.masks.finish()
    }

    /// Ends it and what it started.
    pub(crate) fn stop(&self) {
        let pid = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(pid) = pid {
            // Gone already is as good.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    fn keep(&mut self, text: &str) {
        self.output.push_str(text);
        let over = self.output.len().saturating_sub(OUTPUT_BYTES_MAX);
        let over = self.output.ceil_char_boundary(over);
        self.output.drain(..over);
        self.skipped += over;
    }
}

impl Drop for OwnCommand {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Ended {
    /// Returns what the model is told in front of the next prompt.
    pub(crate) fn for_model(&self) -> String {
        let fence =
            "`".repeat(self.output.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2) + 1);
        let (command, status, output) = (&self.command, &self.status, self.output.trim_end());
        format!("I ran `{command}` myself ({status}):\n{fence}\n{output}\n{fence}")
    }
}

fn said(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tenon_agent::Masking;

    use super::*;

    fn start(command: &str) -> OwnCommand {
        let environment = [("PATH".into(), "/usr/bin:/bin".into())];
        OwnCommand::start(command, Path::new("/"), &environment).unwrap()
    }

    async fn run(command: &str) -> Ended {
        end(start(command)).await
    }

    async fn end(mut own: OwnCommand) -> Ended {
        loop {
            if let Step::Ended(ended) = own.next().await {
                return ended;
            }
        }
    }

    #[tokio::test]
    async fn output_of_both_streams_and_the_end_are_for_the_model() {
        let ended = run("echo one; echo '```' >&2; exit 3").await;
        assert_eq!(
            ended.for_model(),
            "I ran `echo one; echo '```' >&2; exit 3` myself (exit 3):\n````\none\n```\n````"
        );
        assert!(!ended.succeeded);
    }

    #[tokio::test]
    async fn a_secret_that_terminal_sequences_go_through_is_masked() {
        let masking = Masking::new(Vec::new);
        masking.learn(".env".as_ref(), "A_KEY=k-0123456789a\n");
        let masked = "it is [masked: value of A_KEY from .env].\n";
        for (printed, expected) in [
            ("it is k-0123\\033[1m456789a\\033[0m.\\n", masked),
            ("it is k-0123\\033]0;t\\007456789a.\\n", masked),
            ("it is k-0123x\\b456789a.\\n", masked),
            ("it was\\rit is k-0123456789a.\\n", masked),
            ("\\033[32m\\346\\261\\211\\033[m", "汉"),
        ] {
            let mut own = start(&format!("printf '{printed}'"));
            own.masks = masking.stream();
            assert_eq!(end(own).await.output, expected, "{printed}");
        }
    }

    #[tokio::test]
    async fn endless_output_keeps_its_end_and_a_stop_ends_all_of_it() {
        let ended = run("yes 汉字 | head -n 40000; echo end").await;
        assert!(ended.output.starts_with("[the first ") && ended.output.ends_with("end\n"));
        assert!(ended.output.len() < 2 * OUTPUT_BYTES_MAX && !ended.output.contains('\u{fffd}'));
        let mut own = start("sleep 300 & wait");
        own.stop();
        let Step::Ended(ended) = own.next().await else { panic!("printed") };
        assert_eq!(ended.status, "signal 9");
    }
}
