//! What a command did to protected names, as its result tells it: what was put back, and what stays
//! after all because a rule of the user's lets `write_file` write it, or a person says so.
//!
//! What stays is a file as `write_file` makes it: never a link, nor with the right to be run where it
//! did not have it before.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use tenon_sandbox::{ContentHash, Expected, ProtectedChange, ProtectedChangeKind, Workspace};

use super::{
    refused_files::{self, Never, Unwritten},
    said::Said,
    text_file::{counted, write_action},
    tool::ToolContext,
};
use crate::{
    input::Answer,
    policy::{Action, Decision, Verdict, in_one_line},
};

/// Changes that a result tells one by one, those that stay first.
const TOLD_MAX: usize = 20;

/// Flags that a result names. More would be a list of files, and a rule can name them all.
const FLAGS_MAX: usize = 3;

/// Stands before what let a file stay.
const KEPT: &str = "; kept: ";

/// Stands before a rule that lets files stay from now on.
const RULE: &str = "rule ";

/// Files that a person is asked about after one command. One that writes more is told the flags.
const ASKED_MAX: usize = 3;

/// The most of a file that is kept and looked at, as much as a change holds.
const BYTES_MAX: u64 = 1 << 20;

/// What would allow a change that was put back.
const FOR_TOOLS: &str = "protected: what is put back is not for commands to write; write_file and \
                         edit_file can, with the user's yes";

/// What would allow that a protected file goes: a rule lets commands write it, and no more.
const GOES: &str = "no rule lets commands remove it or move it away; the user can, and --sandbox off would \
                    let them";

/// The same of its permissions.
const SETS_MODE: &str =
    "no rule lets commands change its permissions; the user can, and --sandbox off would let them";

/// What would allow other permissions that were put back.
const FOR_USER: &str = "protected: permissions of what is protected are not for commands to change; the user can, and \
                        --sandbox off would let them";

/// What git makes of it.
const FOR_GIT: &str =
    "; what git tracks of it, git shows as deleted or changed: leave that out of commits";

/// The same of what git itself could not write: a checkout goes on without it, a merge may not.
const FOR_GIT_WITHOUT: &str =
    "; if git went on without it, git shows it as changed: leave that out of commits";

/// What is in the top folder of a work tree, and what a repository has that need not be called so.
const GIT: &str = ".git";
const REPOSITORY_HAS: [&str; 2] = ["HEAD", "objects"];

/// The folder of tenon's own settings, which no rule opens to commands.
const OWN: &str = ".tenon";

/// What rules, and a person, say of what a command wrote.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// What is there again, a line each.
    lines: Vec<String>,
    /// What would have kept the rest.
    flags: Vec<String>,
}

/// Whether what a command wrote stays.
enum Stays {
    /// With what allows it, and what is to be there until then.
    Yes(String, Expected),
    /// With what would have allowed it, and what a person said.
    No { flag: Option<String>, words: Option<String> },
}

/// Returns the protected files that rules let be written by their name: a command may write them, too,
/// and what it wrote is judged when it is over.
pub(super) fn lifted(context: &ToolContext) -> Vec<PathBuf> {
    let Some(judge) = context.progress.judge() else { return Vec::new() };
    let is_allowed = |path: &PathBuf| {
        let action = path.to_str().map(|path| write_action(path, &context.workspace));
        action.filter(is_protected).is_some_and(|it| judge.judge(&it).verdict == Verdict::Allow)
    };
    judge.named().into_iter().filter(is_allowed).collect()
}

/// Takes in which protected files a command could not change, as it says, and returns sentences that name
/// them with what would let it. None where no rule would, as none does for a job.
pub(super) fn unwritten(said: &Said<'_>) -> Vec<String> {
    let context = said.context;
    let Some(judge) = context.progress.judge() else { return Vec::new() };
    let (mut flags, mut paths) = (Vec::new(), Vec::new());
    let (mut gone, mut of_mode) = (Vec::new(), Vec::new());
    let refused = refused_files::protected(said);
    let git = for_git(&refused, &context.workspace);
    for Unwritten { path, never, is_file, .. } in refused {
        let action = write_action(&path, &context.workspace);
        let may_open = !said.is_job && is_file && never.is_none();
        let may_open = may_open && is_for_rules(&path, &action, &context.workspace);
        let decision = may_open.then(|| judge.judge(&action));
        let flag = decision.filter(|it| it.verdict == Verdict::Ask).and_then(|it| it.flag);
        judge.note_refused(&path, flag.as_deref());
        match (flag, never) {
            (Some(flag), _) => {
                flags.push(flag);
                paths.push(path);
            }
            (None, Some(Never::Go)) => gone.push(path),
            (None, Some(Never::SetMode)) => of_mode.push(path),
            (None, None) => {}
        }
    }
    let are = |paths: &[String]| {
        paths.join(", ") + if paths.len() == 1 { " is" } else { " are" } + " protected: "
    };
    flags.truncate(FLAGS_MAX);
    let written = (!flags.is_empty()).then(|| {
        let (are, flags) = (are(&paths), flags.join(" "));
        format!(
            "files: {are}write_file and edit_file write it with the user's yes, and commands with \
             {flags}{git}"
        )
    });
    let never = [(gone, GOES), (of_mode, SETS_MODE)].into_iter().filter_map(|(mut paths, why)| {
        paths.truncate(FLAGS_MAX);
        (!paths.is_empty()).then(|| format!("files: {}{why}", are(&paths)))
    });
    written.into_iter().chain(never).collect()
}

/// Returns what is added where git could not write one of these.
pub(super) fn for_git(refused: &[Unwritten], workspace: &Workspace) -> &'static str {
    let root = workspace.root();
    let is_told = |it: &Unwritten| it.by_git && is_in_work_tree(&root.join(&it.path));
    if refused.iter().any(is_told) { FOR_GIT_WITHOUT } else { "" }
}

/// Writes again what rules or a person let be written, and takes it out of `changes`.
pub(super) async fn keep(changes: &mut Vec<ProtectedChange>, context: &ToolContext) -> Kept {
    let (mut kept, mut asked) = (Kept::default(), 0);
    for change in std::mem::take(changes) {
        let said = match decision(&change, context) {
            Some(decision) => said(&change, decision, &mut asked, context).await,
            None => {
                note_refused(&change, None, context);
                Stays::No { flag: None, words: None }
            }
        };
        match said {
            Stays::Yes(why, expected) if write(&change, expected, context) => {
                let done = if is_made(&change) { "made" } else { "changed" };
                let path = change.path.display();
                kept.lines.push(format!("protected: {path} was {done}{KEPT}{why}"));
                continue;
            }
            Stays::Yes(..) => note_refused(&change, None, context),
            Stays::No { flag, words } => {
                kept.flags.extend(flag);
                let path = change.path.display();
                kept.lines.extend(words.map(|words| kept_out(path) + &words));
            }
        }
        changes.push(change);
    }
    kept
}

/// Returns what is told of `changes` and of what was `kept` besides, a line each.
pub(super) fn lines(changes: &[ProtectedChange], kept: &Kept) -> Vec<String> {
    let (done, not_done): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.put_back);
    let some_of_mode = done.iter().any(|change| is_of_mode(change));
    let some_put_back = !done.iter().all(|change| is_of_mode(change));
    let git_sees = |change: &&ProtectedChange| !is_of_mode(change) && is_in_work_tree(&change.path);
    let git = if done.iter().any(git_sees) { FOR_GIT } else { "" };
    let changes = not_done.into_iter().chain(done).map(ToString::to_string);
    let mut lines: Vec<String> = changes.chain(kept.lines.iter().cloned()).collect();
    if let Some(more @ 1..) = lines.len().checked_sub(TOLD_MAX) {
        lines.truncate(TOLD_MAX);
        lines.push(format!("protected: {} like these", counted(more as u64, "more name")));
    }
    if some_put_back {
        lines.push(format!("{FOR_TOOLS}{}{git}", kept.how_to_keep()));
    }
    lines.extend(some_of_mode.then(|| FOR_USER.to_owned()));
    lines
}

/// Returns what a person answered about `path`, as a command's `result` tells; `flag` is named where
/// there was nobody.
pub(crate) fn answer_in(result: &str, path: &str, flag: Option<&str>) -> Answer {
    let (path, flag) = (in_one_line(path), flag.map(in_one_line));
    let kept = format!("[walls] protected: {path} was ");
    let refused = format!("[walls] {}", kept_out(path));
    let mut kept = result.lines().filter(|line| line.starts_with(&kept));
    if let Some((_, why)) = kept.find_map(|line| line.split_once(KEPT)) {
        if why.starts_with(RULE) { Answer::AllowForSession } else { Answer::Allow }
    } else if let Some(words) = result.lines().find_map(|line| line.strip_prefix(&refused)) {
        Answer::Deny(Some(words.to_owned()))
    } else if flag.is_none_or(|flag| result.contains(&flag)) {
        Answer::Nobody
    } else {
        Answer::Deny(None)
    }
}

/// Returns where what was taken out of protected names is kept: while a job runs it may have been a
/// person who wrote it.
pub(super) fn where_kept(protected: &[ProtectedChange], workspace: &Workspace) -> String {
    let kept = protected.iter().filter_map(|change| {
        let found = change.found.as_ref().filter(|_| change.put_back)?;
        let path = workspace.spill_target()?.write(&String::from_utf8_lossy(found)).ok()?;
        let said = format!("what was in {} is in {}", change.path.display(), path.display());
        Some(format!("\n[walls] {}", in_one_line(&said)))
    });
    kept.collect()
}

fn kept_out(path: impl Display) -> String {
    format!("the user keeps {path} out and said: ")
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
    is_protected(&action)
        .then(|| context.progress.judge().map(|judge| judge.judge(&action)))
        .flatten()
}

/// Whether a rule can let commands make this write of a protected file at `path`.
pub(super) fn is_for_rules(path: &str, write: &Action, workspace: &Workspace) -> bool {
    let is_own = |name: &std::ffi::OsStr| name.eq_ignore_ascii_case(OWN);
    let by_name = workspace.locate(path).is_ok_and(|place| place.by_name);
    by_name && is_protected(write) && !Path::new(path).iter().any(is_own)
}

/// Whether it is a write to a protected file. By links it would be another file than the one that is
/// put back.
fn is_protected(action: &Action) -> bool {
    matches!(action, Action::Write { written: None, protected: true, .. })
}

/// Returns what becomes of `change` by a `decision` on it; `asked` counts the questions of a call.
async fn said(
    change: &ProtectedChange,
    decision: Decision,
    asked: &mut usize,
    context: &ToolContext,
) -> Stays {
    let no = Stays::No { flag: decision.flag.clone(), words: None };
    let lasting = decision.lifted_by.first().map(ToString::to_string);
    let (Some(expected), Some(judge)) = (expected(change, context), context.progress.judge())
    else {
        note_refused(change, decision.flag.as_deref(), context);
        return no;
    };
    match (decision.verdict, &change.found) {
        (Verdict::Allow, _) => Stays::Yes(RULE.to_owned() + &decision.rule, expected),
        (Verdict::Ask, Some(found)) if *asked < ASKED_MAX => {
            let answer = tokio::select! {
                answer = judge.ask(&change.path, found, decision) => answer,
                () = context.cancel.cancelled() => return no,
            };
            *asked += usize::from(answer != Answer::Nobody);
            match answer {
                Answer::AllowForSession | Answer::AllowAlways if let Some(rule) = lasting => {
                    Stays::Yes(RULE.to_owned() + &rule, expected)
                }
                Answer::Allow | Answer::AllowForSession | Answer::AllowAlways => {
                    Stays::Yes("the user's yes".into(), expected)
                }
                Answer::Deny(words) => Stays::No { flag: None, words },
                Answer::Nobody => no,
            }
        }
        _ => {
            note_refused(change, decision.flag.as_deref(), context);
            no
        }
    }
}

/// Takes in that `change` was put back without a question about it.
pub(super) fn note_refused(change: &ProtectedChange, flag: Option<&str>, context: &ToolContext) {
    if let Some(judge) = context.progress.judge().filter(|_| change.put_back) {
        judge.note_refused(&change.path.to_string_lossy(), flag);
    }
}

/// Returns what is at the place of `change` now, which the person who is asked goes by.
fn expected(change: &ProtectedChange, context: &ToolContext) -> Option<Expected> {
    if is_made(change) {
        return Some(Expected::Absent);
    }
    let bytes = context.workspace.read(change.path.to_str()?, BYTES_MAX).ok()?;
    Some(Expected::Hash(ContentHash::of(&bytes)))
}

/// Writes what the command wrote. The model has not seen it: that is left as it is.
fn write(change: &ProtectedChange, expected: Expected, context: &ToolContext) -> bool {
    let (Some(path), Some(found)) = (change.path.to_str(), &change.found) else { return false };
    let workspace = context.workspace.clone().with_lifted(&change.path, expected);
    let is_written = workspace.write(path, found, expected).is_ok();
    context.sandbox.accept(&workspace);
    is_written
}

fn is_made(change: &ProtectedChange) -> bool {
    change.kind == ProtectedChangeKind::Created
}

fn is_of_mode(change: &ProtectedChange) -> bool {
    change.kind == ProtectedChangeKind::Permissions
}

/// Whether git could track what is at `path`: what a repository keeps for itself it does not.
fn is_in_work_tree(path: &Path) -> bool {
    let is_work_tree = |folder: &Path| folder.join(GIT).exists();
    let has_all = |folder: &Path| REPOSITORY_HAS.iter().all(|name| folder.join(name).exists());
    let is_repository = |folder: &Path| folder.ends_with(GIT) || has_all(folder);
    let mut folders = path.ancestors().skip(1);
    let nearest = folders.find(|folder| is_work_tree(folder) || is_repository(folder));
    !path.ends_with(GIT) && nearest.is_some_and(is_work_tree)
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
    fn of_permissions_that_were_put_back_no_tool_is_offered() {
        let (content, mut mode) = (change("/w/.envrc", true), change("/w/.vscode", true));
        mode.kind = ProtectedChangeKind::Permissions;
        let told = lines(&[mode.clone()], &Kept::default());
        assert_eq!(
            told,
            ["protected: /w/.vscode got other permissions; put back as it was", FOR_USER]
        );
        assert_eq!(lines(&[content, mode], &Kept::default())[2..], [FOR_TOOLS, FOR_USER]);
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
