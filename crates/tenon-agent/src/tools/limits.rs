//! What a command is told whose programs were refused a larger file, or more room, by limits of the walls, and
//! that went on or ended by itself.
//!
//! Programs say what they always say of it. So the sentence names the limit, and where nobody knows which
//! file it was, that is said.

use std::path::Path;

use tenon_sandbox::{Exit, LimitReached, Limits, OutOfSight, Size, Tier, has_room};

use super::{
    ran_in,
    refused_files::{Place, place},
    said::Said,
};

/// What programs say of a file that the kernel lets become no larger: bash of one that was ended, and C, Python,
/// Rust and Node of the error, git of a program of its own that was ended.
const TOO_LARGE: [&str; 7] = [
    "File size limit exceeded",
    ": File too large",
    "[Errno 27]",
    "(os error 27)",
    "EFBIG",
    "died of signal 25",
    "文件过大",
];

/// What they say where there is no room left.
const FULL: [&str; 4] = ["No space left on device", "ENOSPC", "(os error 28)", "设备上没有空间"];

/// The kernel says the same of too many watched files.
const OF_WATCHES: &str = "watch";

/// Always says so.
const FULL_DEVICE: &str = "/dev/full";

/// In memory in each tier that has its own.
const SHARED_MEMORY: &str = "/dev/shm";

/// Lines of output that are looked at. The first lines tell.
const LINES_MAX: usize = 20;

/// Returns what is said of the limits that `printed` speaks of, once each.
pub(super) fn sentences(said: &Said<'_>, printed: &str) -> Vec<String> {
    let Some(limits) = said.context.sandbox.limits().filter(|_| said.output.limit.is_none()) else {
        return Vec::new();
    };
    let complains = |words: &'static [&'static str]| {
        let lines = printed.lines().filter(|line| words.iter().any(|it| line.contains(it)));
        lines.take(LINES_MAX)
    };
    let of_file = complains(&TOO_LARGE).next().and_then(|_| limits.of_file()).map(of_file);
    let full = complains(&FULL).filter(|line| !line.contains(OF_WATCHES));
    let mut of_room = full.filter_map(|line| of_room(said, limits, line));
    of_file.into_iter().chain(of_room.next()).collect()
}

/// What is said of the limit that ended a command.
pub(super) fn of_limit(limit: &LimitReached) -> String {
    match limit {
        LimitReached::Memory { memory_bytes_max } => format!(
            "ended: its processes together used too much memory; the limit of {} is raised by \
             memory_bytes_max in config.toml (the user's, or the project's that lowers it)",
            Size(*memory_bytes_max)
        ),
        LimitReached::Processes { processes_max } => format!(
            "ended: it had too many processes and threads at once; the limit of {processes_max} is \
             raised by processes_max in config.toml (the user's, or the project's that lowers it)"
        ),
        LimitReached::FileSize { file_bytes_max: Some(bytes) } => format!(
            "ended: a file became too large; the limit of {} is raised by file_bytes_max in config.toml \
             (the user's, or the project's that lowers it)",
            Size(*bytes)
        ),
        LimitReached::FileSize { file_bytes_max: None } => "ended: a file became too large".into(),
        LimitReached::Disk(taken) => taken.to_string(),
    }
}

/// What is said of a command that was ended at its time limit, where a call can ask for `most_s` seconds, or to be
/// a job if there are some.
pub(super) fn of_time(exit: Exit, most_s: u64, has_jobs: bool) -> Option<String> {
    let Exit::TimedOut { after } = exit else { return None };
    let had_s = after.as_secs();
    let more = match (had_s < most_s, has_jobs) {
        (true, true) => {
            format!("; a timeout of at most {most_s} s, or background, would give it more")
        }
        (true, false) => format!("; a timeout of at most {most_s} s would give it more"),
        (false, true) => ", the most there is; background would let it run on".into(),
        (false, false) => ", the most there is".into(),
    };
    Some(format!("limits: the call had {had_s} s{more}"))
}

fn of_file(bytes_max: u64) -> String {
    let size = Size(bytes_max);
    format!(
        "limits: commands write no file larger than {size}, which file_bytes_max in config.toml raises \
         (the user's, or the project's that lowers it)"
    )
}

/// Says of a line where no room was left that private folders have a limit, unless that was elsewhere.
fn of_room(said: &Said<'_>, limits: Limits, line: &str) -> Option<String> {
    let is_private = |path: &Path| is_private(said, path);
    let is_meant = match place(said, line) {
        _ if said.script.contains(FULL_DEVICE) => None,
        Place::Elsewhere(path) | Place::Toolchain(path) => is_private(&path).then_some(true),
        Place::Work | Place::Protected => None,
        // No other disks are written.
        Place::Unknown => {
            said.context.workspace.roots().iter().all(|root| has_room(root)).then(|| {
                let mut names = names(said).into_iter();
                names.any(|path| is_private(Path::new(&path)))
            })
        }
    };
    let which = if is_meant? { "" } else { "if it was there: " };
    let size = Size(limits.temporary_bytes_max);
    let raised = "which temporary_bytes_max in config.toml raises (the user's, or the project's that lowers it)";
    let tier = said.context.sandbox.tier()?;
    if tier == Tier::A.name() {
        Some(format!(
            "limits: {which}private folders (/tmp, /var/tmp, /run, {SHARED_MEMORY}, HOME) hold at most {size} \
             together, {raised}; --sandbox off would lift that, and a folder of the workspace (TMPDIR) has the disk's room"
        ))
    } else if tier == Tier::B.name() {
        Some(format!(
            "limits: {which}{SHARED_MEMORY} holds at most {size}, {raised}; --sandbox off would lift that"
        ))
    } else {
        None
    }
}

/// Whether a path lies in a private folder that has a limit, or in a layer in front of a toolchain.
fn is_private(said: &Said<'_>, path: &Path) -> bool {
    let sandbox = &said.context.sandbox;
    let is_shared = path.starts_with(SHARED_MEMORY);
    match sandbox.tier() {
        Some(tier) if tier == Tier::A.name() => {
            let of = sandbox.out_of_sight(path);
            is_shared
                || sandbox.is_in_toolchain(path)
                || matches!(of, Some(OutOfSight::Private(_) | OutOfSight::Home))
        }
        _ => is_shared,
    }
}

/// Returns where the words of the commands lead.
fn names(said: &Said<'_>) -> Vec<String> {
    let of_command = said.commands.iter().flat_map(|command| {
        let redirects = command.redirects.iter().map(|redirect| &redirect.target);
        let words = command.arguments().iter().chain(redirects);
        words.flat_map(|word| ran_in::led_to(command, word, said.context))
    });
    of_command.collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tenon_sandbox::{Profile, Sandbox as Walls, Settings};

    use super::*;
    use crate::{
        policy::shell,
        tools::{
            sandbox::{Sandbox, no_walls},
            testing::{Bench, printed},
        },
    };

    /// Walls that no command ran in yet: their tier is not known.
    fn bench() -> Bench {
        let mut bench = Bench::new();
        let walls = Walls::new(Settings {
            roots: bench.context.workspace.roots(),
            home: Some(PathBuf::from("/home/nobody-has-this")),
            ..no_walls()
        });
        let profile = Profile::workspace(&bench.context.workspace);
        bench.context.sandbox = Sandbox::within(walls, Vec::new(), profile);
        bench
    }

    #[test]
    fn a_file_that_may_not_become_larger_is_told_with_the_limit() {
        let bench = bench();
        let check = |text: &str, is_told: bool| {
            let output = printed(text, 0);
            let commands = shell::parse("x").commands;
            let said = Said::of(("x", &commands), &output, (text, false), &bench.context);
            let limit = Limits::default().of_file().filter(|_| is_told);
            let expected: Vec<String> = limit.map(of_file).into_iter().collect();
            assert_eq!(sentences(&said, text), expected, "{text}");
        };
        check("bash: line 1:     7 File size limit exceeded   truncate -s 20G s", true);
        check("OSError: [Errno 27] File too large", true);
        check("Error: EFBIG: file too large, write", true);
        check("dd: error writing 's': File too large", true);
        check("lint: a.json: file too large, skipped", false);
        assert!(of_file(16 << 30).contains("no file larger than 16.0 GiB, which file_bytes_max"));
    }
}
