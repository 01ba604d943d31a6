//! Files that the redirects of a command write.

use tenon_sandbox::Access;

use super::places::{Places, Target};
use super::rule::{Rules, Verdict};
use super::shell::{RedirectKind, SimpleCommand};

/// What is no file of its own: nothing, and what is open already.
const STREAMS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
const OPEN_ALREADY: &str = "/dev/fd/";

/// Returns where the redirects of a command write, but for streams.
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
    writes.map(|redirect| places.target(&redirect.target, command.folder.as_deref()))
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
    in_workspace.filter(|path| !is_named(path)).collect()
}
