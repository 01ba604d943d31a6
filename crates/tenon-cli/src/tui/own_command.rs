//! `!command`: a command of the person's own, with their rights and no walls, whose output the
//! model sees with the next prompt. It has no input: the keyboard stays the composer's.

use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
};

/// The most bytes of output that are kept for the model: about as much as a tool's result.
const OUTPUT_BYTES_MAX: usize = 30_000;

/// A command that runs.
pub(crate) struct OwnCommand {
    command: String,
    child: Child,
    output: Vec<u8>,
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
        let child = Command::new("bash")
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
        Ok(Self { command: command.to_owned(), child, output: Vec::new(), skipped: 0 })
    }

    /// Returns the command line.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Waits for output or the end.
    pub(crate) async fn next(&mut self) -> Step {
        let mut bytes = [0; 8192];
        if let Some(stdout) = &mut self.child.stdout {
            match stdout.read(&mut bytes).await {
                Ok(read @ 1..) => {
                    let printed = bytes.get(..read).unwrap_or_default();
                    self.keep(printed);
                    return Step::Printed(String::from_utf8_lossy(printed).into_owned());
                }
                Ok(0) | Err(_) => self.child.stdout = None,
            }
        }
        let status = self.child.wait().await;
        let (status, succeeded) = match status {
            Ok(status) => (said(status), status.success()),
            Err(error) => (error.to_string(), false),
        };
        let output = String::from_utf8_lossy(&self.output);
        let output = match self.skipped {
            0 => output.into_owned(),
            skipped => format!("[the first {skipped} bytes are left out]\n{output}"),
        };
        Step::Ended(Ended { command: self.command.clone(), status, succeeded, output })
    }

    /// Ends it and what it started.
    pub(crate) fn stop(&self) {
        let pid = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(pid) = pid {
            // Gone already is as good.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
        let over = self.output.len().saturating_sub(OUTPUT_BYTES_MAX);
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
    use super::*;

    async fn run(command: &str) -> Ended {
        let environment = [("PATH".into(), "/usr/bin:/bin".into())];
        let mut own = OwnCommand::start(command, Path::new("/"), &environment).unwrap();
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
    async fn endless_output_keeps_its_end_and_a_stop_ends_all_of_it() {
        let ended = run("yes 汉字 | head -c 200000; echo end").await;
        assert!(ended.output.starts_with("[the first ") && ended.output.ends_with("end\n"));
        assert!(ended.output.len() < 2 * OUTPUT_BYTES_MAX);
        let environment = [("PATH".into(), "/usr/bin:/bin".into())];
        let mut own = OwnCommand::start("sleep 300 & wait", Path::new("/"), &environment).unwrap();
        own.stop();
        let Step::Ended(ended) = own.next().await else { panic!("printed") };
        assert_eq!(ended.status, "signal 9");
    }
}
