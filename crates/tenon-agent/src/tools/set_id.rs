//! What a command is told whose program has rights of another user or group (set-user-id, set-group-id) without
//! walls: inside them it has not.

use super::{
    outside::{ends_with_answer, is_silent},
    refused_calls::DENIED,
    refused_words::NOT_PERMITTED,
    said::{Said, first_words},
};

/// What such programs say, beside what all say that were refused something. Not what mount says, which refuses a
/// user without walls, too.
const WANTS_RIGHTS: [&str; 5] =
    ["cannot open", "cannot lock", "setuid", "authentication token", "authentication failure"];

/// Programs that miss nothing inside walls that they would do for an ordinary user without: the first two refuse one
/// by themselves, and the third has its rights only against being looked into.
const MISS_NOTHING: [&str; 3] = ["mount", "umount", "ssh-agent"];

/// Where the system's own files lie that such rights are for. crontab names the last from within the folder above.
const OF_SYSTEM: [&str; 4] = ["/etc/", "/var/", "/run/", "crontabs/"];

/// Returns what is said of the first such program of a command, if it complained of what it may have wanted those
/// rights for, in `complaints` in small letters, or if the command failed and all complaints were thrown away: then
/// with "perhaps". As root it is told what else was in the way.
pub(super) fn sentence(said: &Said<'_>, complaints: &str) -> Option<String> {
    let is_quiet = || {
        let has_failed = said.is_error && !said.is_job && !ends_with_answer(said);
        has_failed && said.throws_away() && is_silent(said)
    };
    let is_complaint = |line: &&str| {
        let says = |words: &&str| line.contains(words);
        DENIED.iter().chain(&WANTS_RIGHTS).chain(&[NOT_PERMITTED]).any(says)
    };
    let refused: Vec<&str> = complaints.lines().filter(is_complaint).collect();
    if said.as_root || refused.is_empty() && !is_quiet() || !said.may_complain() {
        return None;
    }
    let (sandbox, programs) = (&said.context.sandbox, said.programs());
    let may_miss = |name: &&String| {
        !MISS_NOTHING.contains(&name.as_str()) && sandbox.has_rights_of_another(name)
    };
    let (program, perhaps) = programs.iter().filter(may_miss).find_map(|name| {
        let is_its = |line: &&str| is_of(line, name, &programs);
        match refused.is_empty() {
            true => Some((name, ", which perhaps failed by that,")),
            false => refused.iter().any(is_its).then_some((name, "")),
        }
    })?;
    Some(format!(
        "rights: {program}{perhaps} has the rights of another user or group where there are no walls (set-user-id, \
         set-group-id), and inside them no program has; --sandbox off would leave it those"
    ))
}

/// Whether a complaint is the program's own, or is of a file of the system's and no other program of the line begins it.
fn is_of(line: &str, program: &str, programs: &[String]) -> bool {
    let speaker = line.split_once(": ").map_or("", |(speaker, _)| speaker.trim());
    let is_other = || speaker == "bash" || programs.iter().any(|name| name == speaker);
    let is_of_system =
        || first_words(line).any(|word| OF_SYSTEM.iter().any(|folder| word.starts_with(folder)));
    speaker == program || !is_other() && is_of_system()
}
