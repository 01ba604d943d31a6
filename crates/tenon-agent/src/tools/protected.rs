//! What a command did to protected names, as its result tells it: what was put back, and what stays
//! after all because a rule of the user's lets `write_file` write it without a question.
//!
//! Nobody is asked here. What stays is a file as `write_file` makes it: never a link, nor with the
//! right to be run where it did not have it before.

use tenon_sandbox::{Expected, ProtectedChange, ProtectedChangeKind};

use super::{text_file::write_action, tool::ToolContext};
use crate::policy::{Action, Decision, Verdict};

/// Changes that a result tells one by one, those that stay first.
const TOLD_MAX: usize = 20;

/// Flags that a result names. More would be a list of files, and a rule can name them all.
const FLAGS_MAX: usize = 3;

/// What would allow a change that was put back.
const FOR_TOOLS: &str = "protected: what is put back is not for commands to write; write_file and \
                         edit_file can, with the user's yes";

/// What git makes of it.
const FOR_GIT: &str =
    "; what git tracks of it, git shows as deleted or changed: leave that out of commits";

/// The folder of tenon's own settings, which no rule opens to commands.
const OWN: &str = ".tenon";

/// Judges a write to a protected name as if `write_file` were to do it.
pub(crate) type JudgeWrite = dyn Fn(&Action) -> Decision + Send + Sync;

/// What rules say of what a command wrote.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// What is there again, a line each.
    lines: Vec<String>,
    /// What would have kept the rest.
    flags: Vec<String>,
    /// Whether git sees that something is not there.
    is_in_repository: bool,
}

/// Writes again what rules let be written, and takes it out of `changes`.
pub(super) fn keep(changes: &mut Vec<ProtectedChange>, context: &ToolContext) -> Kept {
    let mut kept = Kept::default();
    changes.retain(|change| {
        let decision = decision(change, context);
        let rule = decision.as_ref().filter(|decision| decision.verdict == Verdict::Allow);
        if let Some(decision) = rule.filter(|_| write(change, context)) {
            let done = if is_made(change) { "made" } else { "changed" };
            let (path, rule) = (change.path.display(), &decision.rule);
            kept.lines.push(format!("protected: {path} was {done}; kept: rule {rule}"));
            return false;
        }
        kept.flags.extend(decision.and_then(|decision| decision.flag));
        kept.is_in_repository |= change.by_name && change.put_back && is_in_repository(change);
        true
    });
    kept
}

/// Returns what is told of `changes` and of what was `kept` besides, a line each.
pub(super) fn lines(changes: &[ProtectedChange], kept: &Kept) -> Vec<String> {
    let (done, not_done): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.put_back);
    let some_put_back = !done.is_empty();
    let changes = not_done.into_iter().chain(done).map(ToString::to_string);
    let mut lines: Vec<String> = changes.chain(kept.lines.iter().cloned()).collect();
    if let Some(more @ 1..) = lines.len().checked_sub(TOLD_MAX) {
        lines.truncate(TOLD_MAX);
        lines.push(format!("protected: {more} more names like these"));
    }
    if some_put_back {
        let git = if kept.is_in_repository { FOR_GIT } else { "" };
        lines.push(format!("{FOR_TOOLS}{}{git}", kept.how_to_keep()));
    }
    lines
}

impl Kept {
    fn how_to_keep(&self) -> String {
        if self.flags.is_empty() {
            return String::new();
        }
        let more = if self.flags.len() > FLAGS_MAX { " and so on" } else { "" };
        let flags: Vec<_> = self.flags.iter().take(FLAGS_MAX).map(String::as_str).collect();
        format!("; {}{more} would have kept what the command wrote", flags.join(" "))
    }
}

/// Returns what policy says of a change that can be made again; nothing of any other.
fn decision(change: &ProtectedChange, context: &ToolContext) -> Option<Decision> {
    let is_tenons = |name: &std::ffi::OsStr| name.eq_ignore_ascii_case(OWN);
    let is_written = is_made(change) || change.kind == ProtectedChangeKind::Changed;
    if !(is_written && change.by_name && change.put_back)
        || change.found.is_none()
        || change.path.iter().any(is_tenons)
    {
        return None;
    }
    let action = write_action(change.path.to_str()?, &context.workspace);
    // By links it would be another file than the one that was put back.
    let is_this = matches!(action, Action::Write { written: None, protected: true, .. });
    is_this.then(|| context.progress.judge(&action)).flatten()
}

/// Writes what the command wrote. The model has not seen it: that is left as it is.
fn write(change: &ProtectedChange, context: &ToolContext) -> bool {
    let (Some(path), Some(found)) = (change.path.to_str(), &change.found) else { return false };
    let expected = if is_made(change) { Expected::Absent } else { Expected::Any };
    let workspace = context.workspace.clone().with_lifted(&change.path);
    let is_written = workspace.write(path, found, expected).is_ok();
    if is_written {
        context.sandbox.accept(&context.workspace, path);
    }
    is_written
}

fn is_made(change: &ProtectedChange) -> bool {
    change.kind == ProtectedChangeKind::Created
}

fn is_in_repository(change: &ProtectedChange) -> bool {
    change.path.ancestors().skip(1).any(|folder| folder.join(".git").exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, put_back: bool) -> ProtectedChange {
        ProtectedChange {
            path: path.into(),
            kind: ProtectedChangeKind::Created,
            found: None,
            by_name: true,
            put_back,
        }
    }

    #[test]
    fn of_many_protected_names_the_first_are_told_and_what_stays_before_all() {
        let lines = |changes: &[ProtectedChange]| lines(changes, &Kept::default());
        let changes: Vec<_> =
            (1..=2_000).map(|n| change(&format!("/w/.vscode/{n}"), n != 2_000)).collect();
        let told = lines(&changes);
        assert!(told[0].starts_with("protected: /w/.vscode/2000 was made; it could NOT"));
        assert_eq!(told[20..], ["protected: 1980 more names like these", FOR_TOOLS]);
        assert_eq!(lines(&changes[..20]).len(), 21);
        assert!(!lines(&changes[1_999..]).contains(&FOR_TOOLS.into()));
    }

    #[test]
    fn few_flags_are_named_and_none_where_none_would_help() {
        let line = |flags: usize| {
            let flags = (1..=flags).map(|n| format!("--allow {n}")).collect();
            let kept = Kept { flags, ..Kept::default() };
            lines(&[change("/w/.envrc", true)], &kept).pop().unwrap()
        };
        let would = "would have kept what the command wrote";
        assert_eq!(line(0), FOR_TOOLS);
        assert_eq!(line(1), format!("{FOR_TOOLS}; --allow 1 {would}"));
        let three = "--allow 1 --allow 2 --allow 3";
        assert_eq!(line(3), format!("{FOR_TOOLS}; {three} {would}"));
        assert_eq!(line(4), format!("{FOR_TOOLS}; {three} and so on {would}"));
    }
}
