//! Files that a command writes by its redirects, and those that its arguments name, and what rules for
//! writing say of them.

use tenon_sandbox::Access;

use super::places::{Places, SOME_FOLDER, Target};
use super::rule::{Rule, Rules, Verdict};
use super::shell::{self, Folders, Parsed, Piece, RedirectKind, SimpleCommand, Word, WriteKind};

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
    let writes = command.redirects.iter().filter(|redirect| {
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

fn is_stream(path: &str) -> bool {
    let number = path.strip_prefix(OPEN_ALREADY);
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    STREAMS.contains(&path) || number.is_some_and(is_number)
}

/// Returns where a command writes because its arguments say so. Of a target that may be a folder only itself
/// is one; a pattern is its text, so that it is found by what it looks like.
fn named(command: &SimpleCommand, places: &Places) -> Vec<(WriteKind, Target)> {
    let as_text = |piece: &Piece| match piece {
        Piece::Glob(text) => Piece::Text(text.clone()),
        piece => piece.clone(),
    };
    let mut targets = Vec::new();
    for write in shell::named(command) {
        let path = match write.kind {
            WriteKind::Filled => write.path.joined(&Word::text("/*")),
            WriteKind::Changed | WriteKind::Removed => write.path,
        };
        if path.literal().is_some_and(is_stream) {
            continue;
        }
        let path = Word { pieces: path.pieces.iter().map(as_text).collect() };
        targets.extend(folders(command).map(|folder| (write.kind, places.target(&path, folder))));
    }
    targets
}

/// Returns where a command writes, by its redirects and by what its arguments say.
fn targets<'a>(
    command: &'a SimpleCommand,
    places: &'a Places,
) -> impl Iterator<Item = Target> + 'a {
    written(command, places).chain(named(command, places).into_iter().map(|(_, target)| target))
}

/// A path that a line names as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedWrite {
    /// From `/` on.
    pub(crate) path: String,
    /// Where it is written if the path is a folder.
    pub(crate) inside: Option<String>,
    pub(crate) kind: WriteKind,
}

/// Returns what a line says it writes, by redirects and by arguments of usual programs, each once. For what
/// is said of it: others are written besides.
pub(crate) fn named_writes(script: &str, places: &Places) -> Vec<NamedWrite> {
    let mut found: Vec<NamedWrite> = Vec::new();
    for command in &shell::parse(script).commands {
        for write in shell::writes(command) {
            for folder in folders(command) {
                let exact = |word: &Word| match places.target(word, folder) {
                    Target::Exact(path) if !path.contains(SOME_FOLDER) => Some(path),
                    _ => None,
                };
                let Some(path) = exact(&write.path) else { continue };
                let inside = write.inside.as_ref().and_then(exact);
                let one = NamedWrite { path, inside, kind: write.kind };
                if !found.contains(&one) && found.len() < NAMED_MAX {
                    found.push(one);
                }
            }
        }
    }
    found
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
    // A link is made, and removed, by its own name.
    let others = parsed.commands.iter().filter(|one| !makes_links(one));
    let named = others.flat_map(|one| named(one, places));
    let named = named.filter(|(kind, _)| *kind != WriteKind::Removed).map(|(_, target)| target);
    let redirected = parsed.commands.iter().flat_map(|one| written(one, places));
    !links.is_empty()
        && redirected.chain(named).any(|target| match target {
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

/// Says whether a rule for writing speaks of a file that a command writes by its redirects or names as
/// written. One without a path speaks of those in the workspace.
pub(super) fn touches_writes(rule: &Rule, command: &SimpleCommand, places: &Places) -> bool {
    is_for_writing(rule)
        && targets(command, places).any(|target| match target {
            Target::Exact(path) if rule.is_sweeping() => places.is_inside(&path),
            Target::Exact(path) => rule.matches_path(&path, places),
            Target::Beneath { .. } | Target::Unknown => false,
        })
}

/// Says whether a rule for writing speaks of such a file if what is not known of its name is such.
pub(super) fn may_touch_writes(rule: &Rule, command: &SimpleCommand, places: &Places) -> bool {
    is_for_writing(rule)
        && targets(command, places).any(|target| match target {
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
