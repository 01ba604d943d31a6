//! Files that the redirects of a command write, and what rules for writing say of them.

use tenon_sandbox::Access;

use super::places::{Places, SOME_FOLDER, Target};
use super::rule::{Rule, Rules, Verdict};
use super::shell::{self, Folders, Parsed, RedirectKind, SimpleCommand, Word};

/// What is no file of its own: nothing, and what is open already.
const STREAMS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
const OPEN_ALREADY: &str = "/dev/fd/";
/// Beneath these the folders of processes are found under other names.
const OF_PROCESSES: [&str; 2] = ["/proc/", OPEN_ALREADY];
/// Files that a line names which are looked at, each on the disk.
const NAMED_MAX: usize = 1_000;
/// Rules for this tool speak of files that are written whole.
const WRITING_TOOL: &str = "write_file";

/// Returns where the redirects of a command may write, but for streams: from every folder that it may
/// run in.
pub(super) fn written<'a>(
    command: &'a SimpleCommand,
    places: &'a Places,
) -> impl Iterator<Item = Target> + 'a {
    let is_stream = |path: &str| {
        let number = path.strip_prefix(OPEN_ALREADY);
        let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        STREAMS.contains(&path) || number.is_some_and(is_number)
    };
    let writes = command.redirects.iter().filter(move |redirect| {
        redirect.kind == RedirectKind::Write && !redirect.target.literal().is_some_and(is_stream)
    });
    writes.flat_map(move |redirect| {
        let is_of_process = |path: &str| OF_PROCESSES.iter().any(|start| path.starts_with(start));
        let target = |folder| match places.target(&redirect.target, folder) {
            Target::Exact(path) if is_of_process(&path) => Target::Unknown,
            Target::Beneath { folder, .. } if is_of_process(&format!("{folder}/")) => {
                Target::Unknown
            }
            target => target,
        };
        folders(command).map(target).collect::<Vec<_>>()
    })
}

/// Returns the folders that a command may run in, each as changes of folder; `None` for one that is not
/// known.
fn folders(command: &SimpleCommand) -> impl Iterator<Item = Option<&[Word]>> {
    let done = command.folder.as_deref().map(Some);
    done.into_iter().chain(command.folders.iter().flat_map(Folders::ways))
}

/// Returns the files that a line says it writes, by redirects and by arguments of usual programs, as
/// absolute paths. For what is said of it, no decision: others are written besides.
pub(crate) fn named_writes(script: &str, places: &Places) -> Vec<String> {
    let mut paths = Vec::new();
    for command in &shell::parse(script).commands {
        for word in shell::writes(command) {
            for folder in folders(command) {
                let Target::Exact(path) = places.target(&word, folder) else { continue };
                let is_new = !path.contains(SOME_FOLDER) && !paths.contains(&path);
                if is_new && paths.len() < NAMED_MAX {
                    paths.push(path);
                }
            }
        }
    }
    paths
}

/// Says whether a line makes links and writes by a path with the name of one: where that leads is not
/// known.
pub(super) fn writes_by_links(parsed: &Parsed, places: &Places) -> bool {
    let makes_links = |command: &&SimpleCommand| match command.program() {
        Some("ln" | "link") => true,
        Some("cp") => command.arguments().iter().any(|word| {
            let letters = word.prefix().strip_prefix('-').unwrap_or_default();
            letters.starts_with("-symbolic") || letters.starts_with("-link") || {
                !letters.starts_with('-') && letters.contains(['s', 'l'])
            }
        }),
        _ => false,
    };
    let links: Vec<_> = parsed.commands.iter().filter(makes_links).collect();
    let names = links.iter().flat_map(|command| command.arguments());
    let names: Vec<_> =
        names.map(|word| word.literal().and_then(|_| Word::program(word))).collect();
    let is_by_link = |path: &str| {
        path.split('/').any(|part| names.iter().any(|name| name.is_none_or(|name| name == part)))
    };
    !links.is_empty()
        && parsed.commands.iter().flat_map(|one| written(one, places)).any(|target| match target {
            Target::Exact(path) => is_by_link(&path),
            Target::Beneath { .. } | Target::Unknown => true,
        })
}

/// Returns the files of the workspace that a command's redirects write and no rule for writing
/// names: the words of a rule for the command do not say that it writes them.
pub(super) fn open_writes(command: &SimpleCommand, rules: &Rules, places: &Places) -> Vec<String> {
    let in_workspace = written(command, places).filter_map(|target| match target {
        Target::Exact(path) if places.is_inside(&path) => Some(path),
        _ => None,
    });
    let is_named = |path: &String| {
        let mut writing =
            rules.with(Verdict::Allow).filter(|rule| rule.is_for_access(Access::Write));
        writing.any(|rule| rule.matches_path(path, places))
    };
    let mut open = Vec::new();
    for path in in_workspace.filter(|path| !is_named(path)) {
        if !open.contains(&path) {
            open.push(path);
        }
    }
    open
}

/// Says whether a rule for writing speaks of a file that the command's redirects write. One without a path
/// speaks of those in the workspace.
pub(super) fn touches_writes(rule: &Rule, command: &SimpleCommand, places: &Places) -> bool {
    is_for_writing(rule)
        && written(command, places).any(|target| match target {
            Target::Exact(path) if rule.is_sweeping() => places.is_inside(&path),
            Target::Exact(path) => rule.matches_path(&path, places),
            Target::Beneath { .. } | Target::Unknown => false,
        })
}

/// Says whether a rule for writing speaks of such a file if what is not known of its name is such.
pub(super) fn may_touch_writes(rule: &Rule, command: &SimpleCommand, places: &Places) -> bool {
    is_for_writing(rule)
        && written(command, places).any(|target| match target {
            Target::Exact(path) => match path.split_once(SOME_FOLDER) {
                Some((folder, _)) => rule.may_match_beneath(folder, places),
                None => false,
            },
            Target::Beneath { folder, .. } => rule.may_match_beneath(&folder, places),
            Target::Unknown => true,
        })
}

/// Says whether a rule speaks of files that are written.
pub(super) fn is_for_writing(rule: &Rule) -> bool {
    rule.is_for(WRITING_TOOL) || rule.is_for_access(Access::Write)
}
