//! Writing to devices: disks would be lost in a moment.

use super::{Finding, operands, ways};
use crate::policy::places::{Places, Target};
use crate::policy::shell::{RedirectKind, SimpleCommand, Word};

/// Devices that swallow or show what is written.
const HARMLESS: &[&str] = &[
    "/dev/null",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/tty",
    "/dev/zero",
    "/dev/full",
];

pub(super) fn judge(command: &SimpleCommand, places: &Places) -> Option<Finding> {
    let redirected = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
    let mut written: Vec<Word> = redirected.map(|one| one.target.clone()).collect();
    let arguments = command.arguments();
    match command.program() {
        Some("dd") => {
            written.extend(arguments.iter().filter_map(|word| word.strip_prefix("of=")));
        }
        Some("tee" | "shred" | "wipefs" | "blkdiscard" | "sgdisk" | "mkswap" | "truncate") => {
            written.extend(operands(arguments).into_iter().cloned());
        }
        Some("fdisk" | "sfdisk" | "cfdisk" | "parted") => {
            let lists =
                |word: &Word| matches!(word.literal(), Some("-l" | "--list" | "-d" | "print"));
            if !arguments.iter().any(lists) {
                written.extend(operands(arguments).into_iter().cloned());
            }
        }
        Some("cp" | "mv" | "install" | "rsync" | "ln") => {
            written.extend(operands(arguments).last().copied().cloned());
        }
        _ => {}
    }
    let target = written.into_iter().find(|word| is_device(word, command, places))?;
    Some(Finding::deny(
        "writing to a device",
        format!("it would write to the device `{}`", target.shown()),
    ))
}

pub(super) fn is_device(word: &Word, command: &SimpleCommand, places: &Places) -> bool {
    ways(command).any(|way| is_target(&places.target(word, way)))
}

fn is_target(target: &Target) -> bool {
    match target {
        Target::Exact(path) => {
            let rest = path.strip_prefix("/dev/");
            let device = rest.is_some_and(|rest| {
                let folder = rest.split_once('/').map(|(folder, _)| folder);
                // `/dev/tcp/HOST/PORT` is a connection that bash makes.
                !matches!(folder, Some("fd" | "shm" | "pts" | "mqueue" | "tcp" | "udp"))
                    && !HARMLESS.contains(&path.as_str())
            });
            device || path == "/proc/sysrq-trigger"
        }
        Target::Beneath { folder, .. } => {
            folder == "/dev" || folder == "/dev/disk" || folder.starts_with("/dev/disk/")
        }
        Target::Unknown => false,
    }
}
