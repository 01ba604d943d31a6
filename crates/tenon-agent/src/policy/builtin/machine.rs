//! Stopping the machine, formatting its disks, flooding it with processes.

use super::{Finding, device::is_device, operands};
use crate::policy::places::{Places, Target};
use crate::policy::shell::{Parsed, SimpleCommand, Word};

pub(super) fn judge(command: &SimpleCommand, places: &Places) -> Option<Finding> {
    let name = command.program()?;
    let arguments = command.arguments();
    let asks =
        arguments.iter().any(|word| matches!(word.literal(), Some("--help" | "--version" | "-V")));
    if asks {
        return None;
    }
    let first = operands(arguments).first().and_then(|word| word.literal()).unwrap_or_default();
    let stops = match name {
        "shutdown" => !arguments.iter().any(|word| word.literal() == Some("-c")),
        "reboot" | "halt" | "poweroff" => true,
        "init" | "telinit" => matches!(first, "0" | "1" | "6" | "s" | "S"),
        "systemctl" | "loginctl" => {
            matches!(
                first,
                "poweroff" | "reboot" | "halt" | "kexec" | "soft-reboot" | "emergency" | "rescue"
            )
        }
        _ => false,
    };
    if stops {
        return Some(Finding::deny(
            "stopping the machine",
            format!("{name} would stop the machine"),
        ));
    }
    let formats = name == "mkfs" || name.starts_with("mkfs.") || matches!(name, "mke2fs" | "newfs");
    // A file system in an ordinary file harms nothing. Behind it may stand its size.
    let may_be_disk = |word: &Word| {
        let folder = command.folder.as_deref();
        is_device(word, command, places) || places.target(word, folder) == Target::Unknown
    };
    let operands = operands(arguments);
    let erases = operands.is_empty() || operands.into_iter().any(may_be_disk);
    (formats && erases).then(|| {
        Finding::deny("making a file system", format!("{name} would erase what is on the disk"))
    })
}

/// Finds a function that starts itself twice and beside itself: `:(){ :|:& };:`.
pub(super) fn fork_bomb(parsed: &Parsed) -> Option<Finding> {
    parsed.functions.iter().find_map(|(name, body)| {
        let body_commands = parsed.commands.get(body.clone())?;
        let own: Vec<_> = body_commands
            .iter()
            .filter(|command| command.words.first().and_then(Word::literal) == Some(name))
            .collect();
        let piped = own.iter().any(|command| {
            command.piped_from.clone().is_some_and(|range| {
                parsed
                    .commands
                    .get(range)
                    .unwrap_or_default()
                    .iter()
                    .any(|feeder| feeder.words.first().and_then(Word::literal) == Some(name))
            })
        });
        let beside = own.len() >= 2 && own.iter().any(|command| command.background);
        (piped || beside).then(|| {
            let reason = format!("the function {name} starts itself without end");
            Finding { command: body.start, ..Finding::deny("fork bomb", reason) }
        })
    })
}
