//! What a command is told that could start no further process or thread.
//!
//! Where the kernel counts, it refuses one more, and programs say what they always say of it. Which
//! limit it was nobody tells: that of the walls, the user's own, or a container's. So the sentence names
//! what raises the first, and that there are others.

/// What programs say of a process or thread that the kernel refused, in the same line.
const STARTED: [&str; 5] = ["fork", "clone", "spawn", "thread", "process"];
const REFUSED: [&str; 3] = ["resource temporarily unavailable", "eagain", "资源暂时不可用"];

/// What says it by itself: Python, Java, Go.
const IN_OTHER_WORDS: [&str; 3] =
    ["can't start new thread", "unable to create native thread", "failed to create new os thread"];

/// Python says what was refused in the line before.
const IN_PYTHON: &str = "[errno 11]";
const STARTED_IN_PYTHON: [&str; 3] = ["os.fork", "fork_exec", "posix_spawn"];

pub(super) const CROWDED: &str = "processes: if no further process or thread could be started, this command may have had as many \
                                  at once as the walls let it have, which processes_max in config.toml raises (the user's, or the project's that lowers it); the \
                                  user or a container may have a lower limit";

/// Whether what was printed, in small letters, speaks of a process or thread that could not be started.
pub(super) fn is_crowded(complaints: &str) -> bool {
    let says = |text: &str, words: &[&str]| words.iter().any(|words| text.contains(words));
    says(complaints, &IN_OTHER_WORDS)
        || complaints.contains(IN_PYTHON) && says(complaints, &STARTED_IN_PYTHON)
        || complaints.lines().any(|line| says(line, &STARTED) && says(line, &REFUSED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_refused_is_told_from_a_read_that_would_wait() {
        let check = |text: &str, expected| {
            assert_eq!(is_crowded(&text.to_lowercase()), expected, "{text}");
        };
        check("bash: fork: retry: Resource temporarily unavailable", true);
        check("bash: fork: retry: 资源暂时不可用", true);
        check("fatal: cannot create async thread: Resource temporarily unavailable", true);
        check("Error: spawn /bin/sh EAGAIN", true);
        check("RuntimeError: can't start new thread", true);
        check(
            "    pid = os.fork()\nBlockingIOError: [Errno 11] Resource temporarily unavailable",
            true,
        );
        check("    s.recv(1)\nBlockingIOError: [Errno 11] Resource temporarily unavailable", false);
        check("cat: -: Resource temporarily unavailable", false);
        check("the fork of the repository", false);
    }
}
